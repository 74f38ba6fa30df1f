//! The words that start this program again, for a server or a clean-up process.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Returns the words that start this program: its path or, in the Python package, the interpreter with the package.
pub(crate) fn words() -> io::Result<Vec<OsString>> {
    Ok(words_of(&std::env::current_exe()?))
}

fn words_of(program: &Path) -> Vec<OsString> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let package: &[&str] = if name.starts_with("python") { &["-m", "lanemark"] } else { &[] };
    std::iter::once(program.into()).chain(package.iter().map(OsString::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_starts_the_package() {
        assert_eq!(words_of(Path::new("/usr/bin/lanemark")), ["/usr/bin/lanemark"]);
        let words = ["/usr/bin/python3.11", "-m", "lanemark"];
        assert_eq!(words_of(Path::new("/usr/bin/python3.11")), words);
    }
}

//! Writes files to a private folder, so that the experiments can pass their paths to the laboratory.

use std::fs;
use std::path::Path;

use lanemark_files::private::write_step;

/// Writes a file to a private folder, and returns its path as text.
pub(crate) fn put(folder: &Path, name: &str, text: &str) -> std::io::Result<String> {
    let path = folder.join(name);
    write_step(|| {
        fs::create_dir_all(folder)?;
        fs::write(&path, text)
    })?;
    Ok(path.display().to_string())
}

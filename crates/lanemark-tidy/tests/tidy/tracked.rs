//! Tracked files are the project's own: they contain neither build products nor the path of a checkout.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns each tracked file that a build produced, or that contains the path of this checkout.
pub(crate) fn foreign(root: &Path) -> Vec<String> {
    // A source archive does not contain the list of tracked files.
    let Ok(listed) = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output() else {
        return Vec::new();
    };
    let here = root.display().to_string();
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names = names.split('\0').filter(|name| !name.is_empty());
    let fault = |name: &str| {
        if Path::new(name).iter().any(|part| part == "target") {
            return Some(format!("{name}: a build made it; remove it from version control"));
        }
        let text = fs::read_to_string(root.join(name)).unwrap_or_default();
        text.contains(&here).then(|| format!("{name}: names {here}, which only this machine has"))
    };
    names.filter_map(fault).collect()
}

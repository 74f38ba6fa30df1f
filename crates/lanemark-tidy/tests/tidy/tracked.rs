//! Tracked files are the project's own: they contain neither build products nor the path of a checkout.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::house;

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

/// Returns the source files that documents name and that do not exist. A name may omit the folders above it, or begin
/// with the short name of a crate, as in `sim/run/live.rs`.
pub(crate) fn missing(root: &Path) -> Vec<String> {
    let paths = |folder, extension| house::files_below(&root.join(folder), extension);
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let sources: Vec<String> = ["crates", "fuzz", "examples", "mutants"]
        .into_iter()
        .flat_map(|folder| paths(folder, "rs"))
        .map(|path| shown(&path))
        .collect();
    let exists = |name: &str| {
        let in_crate =
            name.split_once('/').map(|(room, rest)| format!("lanemark-{room}/src/{rest}"));
        let ends = [Some(name.to_owned()), in_crate];
        ends.iter()
            .flatten()
            .any(|end| sources.iter().any(|path| path == end || path.ends_with(&format!("/{end}"))))
    };
    let documents = ["ARCHITECTURE.md", "CONTRIBUTING.md", "METHOD.md", "README.md"];
    let documents = documents.map(|name| root.join(name)).into_iter().chain(paths("docs", "md"));
    let mut missing = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).unwrap_or_default();
        let quoted = text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"));
        let absent = quoted.filter(|name| !exists(name));
        missing.extend(absent.map(|name| format!("{}: `{name}` does not exist", shown(&document))));
    }
    missing
}

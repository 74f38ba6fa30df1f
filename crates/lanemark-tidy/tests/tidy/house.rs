//! House rules for every source file and folder, and the exceptions to them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::crates::Crate;
use super::source::Named;

/// Maximum number of lines of a file that can be read in one session; tests and data may be longer.
const LINES_MAX: usize = 560;
/// Names that are not permitted for files and folders.
const NAMELESS: [&str; 4] = ["utils", "helpers", "common", "manager"];
/// Macros that panic if their output is closed; for messages, use the command's `messages.rs` instead.
const PRINTING: [&str; 5] = ["eprintln", "eprint", "println", "print", "dbg"];

/// The files of programs that may print.
pub(crate) const MAY_PRINT: &[&str] = &["crates/lanemark-testbed/src/lib.rs"];
/// Calls that create a file or replace its content: functions that take a path, and methods.
const CREATING: [[&str; 2]; 4] =
    [["File", "create"], ["File", "create_new"], ["fs", "write"], ["fs", "copy"]];
const CREATING_BY_METHOD: [&str; 2] = ["create", "create_new"];

/// The program files that may create files, each with the reason why they cannot overwrite another program's file.
pub(crate) const MAY_CREATE: &[(&str, &str)] = &[
    ("crates/lanemark-trial/src/served_disk.rs", "in a private folder"),
    ("crates/lanemark-trial/src/trial/contents.rs", "O_EXCL in a private folder"),
    ("crates/lanemark-trial/src/trial/program.rs", "in a private folder"),
    ("crates/lanemark-files/src/companion.rs", "the opener of companions"),
    ("crates/lanemark-inspect/src/capture.rs", "O_EXCL in a private folder"),
    (
        "crates/lanemark-lab/src/reserved.rs",
        "O_EXCL and no links; content takes a name by a rename",
    ),
    (
        "crates/lanemark-lab/src/sweep/journal.rs",
        "the file that the user named, recognised by its first line",
    ),
    ("crates/lanemark-verify/src/journal.rs", "O_EXCL"),
    ("crates/lanemark-oltp/src/load.rs", "Backend::create"),
    ("crates/lanemark-serve/src/attach.rs", "a switch of sysfs"),
    ("crates/lanemark-serve/src/registry.rs", "named by the process, in its user's own folder"),
    ("crates/lanemark-serve/src/mount/mount_point.rs", "O_EXCL; folders in /run"),
    ("crates/lanemark-validation/src/scratch.rs", "in a private folder"),
];
/// The files that may be longer, each with its number of lines; these numbers may only decrease.
pub(crate) const MAY_BE_LONG: &[(&str, usize)] = &[];

/// Returns the files below `folder` that have `extension`, in order.
pub(crate) fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns every file and folder below `crates/` whose name, length or beginning breaks a rule.
pub(crate) fn breaches(root: &Path, may_be_long: &[(&str, usize)]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = BTreeSet::new();
    for (file, _) in may_be_long.iter().filter(|(file, _)| !root.join(file).exists()) {
        found.push(format!(
            "tests/tidy/house.rs: {file} may be long and does not exist; remove it from the list"
        ));
    }
    for path in files_below(&root.join("crates"), "rs") {
        let text = fs::read_to_string(&path).unwrap();
        let short = path.strip_prefix(root).unwrap();
        if !text.starts_with("//!") {
            found.push(format!("{}: begins without a module doc", short.display()));
        }
        let lines = text.lines().count();
        let recorded = may_be_long.iter().find(|(file, _)| short == Path::new(file));
        let most = recorded.map_or(LINES_MAX, |(_, most)| *most);
        if lines > most {
            found.push(format!("{}: {lines} lines; the maximum is {most}", short.display()));
        } else if recorded.is_some() && lines < most {
            let file = short.display();
            let than = if lines > LINES_MAX { "record it" } else { "remove it from the list" };
            found.push(format!(
                "tests/tidy/house.rs: {file} fell from {most} to {lines} lines; {than}"
            ));
        }
        folders.extend(short.ancestors().skip(1).map(Path::to_owned));
        if NAMELESS.contains(&short.file_stem().unwrap().to_str().unwrap()) {
            found.push(format!("{}: name the file after its contents", short.display()));
        }
    }
    for folder in folders {
        if folder.file_name().is_some_and(|name| NAMELESS.contains(&name.to_str().unwrap())) {
            found.push(format!("{}: name the folder after its contents", folder.display()));
        }
    }
    found
}

/// Returns every file below `crates/` that is not reached from any target of its crate through `mod`.
pub(crate) fn dead(root: &Path, crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    for one in crates {
        let files = one.targets.iter().flat_map(|target| &target.files);
        let alive: BTreeSet<PathBuf> =
            files.map(|file| file.path.canonicalize().unwrap()).collect();
        for path in files_below(&one.folder, "rs") {
            if !alive.contains(&path.canonicalize().unwrap()) {
                let short = path.strip_prefix(root).unwrap_or(&path);
                found.push(format!("{}: no `mod` reaches this file", short.display()));
            }
        }
    }
    found
}

/// Returns every program file that creates files but is not in `may`, and every file in `may` that does not create
/// files.
pub(crate) fn creating(root: &Path, crates: &[Crate], may: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    // Only tests use the testbed.
    let programs = crates.iter().filter(|one| one.name != "lanemark-testbed");
    let targets = programs.flat_map(|program| &program.targets);
    for file in targets.flat_map(|target| &target.files).filter(|file| !file.test) {
        let short = file.path.strip_prefix(root).unwrap_or(&file.path).display().to_string();
        for name in file.names.iter().filter(|name| !name.test) {
            let creates = match &name.what {
                Named::Path(path) => {
                    CREATING.iter().any(|call| path.ends_with(&call.map(str::to_owned)))
                }
                Named::Method(called) => CREATING_BY_METHOD.contains(&called.as_str()),
                _ => false,
            };
            let allowed = may.iter().any(|(file, _)| *file == short);
            if creates && used.insert(short.clone()) && !allowed {
                found.push(format!(
                    "{short}:{}: creates a file; use `lanemark_files` or `lanemark_lab::reserved`, which overwrite nothing of other programs",
                    name.line
                ));
            }
        }
    }
    for (file, _) in may.iter().filter(|(file, _)| !used.contains(*file)) {
        found.push(format!(
            "tests/tidy/house.rs: {file} may create files and does not; remove it from the list"
        ));
    }
    found
}

/// Returns every program file that prints but is not in `may`, and every file in `may` that does not print.
pub(crate) fn printing(root: &Path, crates: &[Crate], may: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for file in crates.iter().flat_map(|one| &one.targets).flat_map(|target| &target.files) {
        let short = file.path.strip_prefix(root).unwrap_or(&file.path).display().to_string();
        for name in file.names.iter().filter(|name| !name.test) {
            let Named::Macro(called) = &name.what else { continue };
            if PRINTING.contains(&called.trim_start_matches("std::"))
                && used.insert(short.clone())
                && !may.contains(&short.as_str())
            {
                found.push(format!("{short}:{}: `{called}!` panics if its reader is closed; use `messages` of the command", name.line));
            }
        }
    }
    for file in may.iter().filter(|file| !used.contains(**file)) {
        found.push(format!(
            "tests/tidy/house.rs: {file} may print and does not; remove it from the list"
        ));
    }
    found
}

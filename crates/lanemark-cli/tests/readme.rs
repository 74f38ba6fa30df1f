//! The README is correct: its commands run in an empty folder, print the quoted output, and create only files that it
//! names.
//!
//! `LANEMARK_DOCS=write` rewrites the quoted outputs. With `LANEMARK_INSTALLED` the commands run in the root of an
//! installed package (`make dist-test`).

use std::fs;

use lanemark_testbed::documents::{self, EmptyFolder, commands};
use lanemark_testbed::project;

/// Runs all commands of a document in an empty folder.
#[track_caller]
fn runs(document: &str, at_least: usize) {
    let text = fs::read_to_string(project().join(document)).unwrap();
    let commands = commands(&text);
    assert!(commands.len() >= at_least, "{document} shows only {} commands", commands.len());
    let folder = EmptyFolder::new(env!("CARGO_BIN_EXE_lanemark"), env!("CARGO_TARGET_TMPDIR"));
    if documents::is_writing() {
        fs::write(project().join(document), folder.rewritten(&text, &commands)).unwrap();
        return;
    }
    let wrong = folder.differences(&commands);
    assert!(wrong.is_empty(), "{document}:\n{}", wrong.join("\n"));
    let litter: Vec<String> =
        folder.names().into_iter().filter(|name| !text.contains(name.as_str())).collect();
    assert!(litter.is_empty(), "{document} leaves {litter:?}");
}

#[test]
fn every_command_of_the_readme_prints_the_shown_text() {
    runs("README.md", 5);
}

#[test]
fn the_readme_is_read_in_one_sitting() {
    let text = fs::read_to_string(project().join("README.md")).unwrap();
    assert!(text.lines().count() <= 120, "{} lines", text.lines().count());
}

//! README and tour tell the truth: their commands run, what is shown of their output is what they print, and nothing is
//! left in a checkout but what it ignores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanemark_testbed::documents::{squeezed, words};

/// A command of a document and the lines that it shows beneath; `…` stands for lines left out.
struct Shown {
    arguments: Vec<String>,
    lines: Vec<String>,
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The commands of a document: those of its table of tasks, and those of its blocks with the lines beneath them.
fn shown(document: &str) -> Vec<Shown> {
    let text = fs::read_to_string(project().join(document)).unwrap();
    let mut commands: Vec<Shown> = Vec::new();
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let told = row.split('`').skip(1).step_by(2);
        let told = told.filter_map(|told| told.strip_prefix("lanemark "));
        let of_row = told.map(|told| Shown { arguments: words(told), lines: Vec::new() });
        commands.extend(of_row);
    }
    for block in text.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            if let Some(arguments) = line.strip_prefix("$ lanemark ") {
                commands.push(Shown { arguments: words(arguments), lines: Vec::new() });
            } else if line != "…" {
                commands.last_mut().unwrap().lines.push(line.to_owned());
            }
        }
    }
    commands
}

/// Runs all commands of a document in a folder that stands for a checkout.
fn runs(document: &str, at_least: usize) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["studies", "library", "crates"] {
        std::os::unix::fs::symlink(project().join(name), folder.path().join(name)).unwrap();
    }
    let commands = shown(document);
    assert!(commands.len() >= at_least, "{document} shows only {} commands", commands.len());
    for command in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_lanemark"))
            .args(&command.arguments)
            .current_dir(folder.path())
            .env_remove("COLUMNS")
            .env_remove("LANEMARK_LIBRARY")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {errors}", command.arguments);
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<String> = printed.lines().map(squeezed).collect();
        for line in command.lines {
            assert!(
                printed.contains(&squeezed(&line)),
                "{:?} does not print `{line}` but\n{}",
                command.arguments,
                printed.join("\n")
            );
        }
    }
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["crates", "library", "results", "studies"], "{document} leaves litter");
}

#[test]
fn every_command_of_the_readme_runs_and_prints_what_is_shown() {
    runs("README.md", 5);
}

#[test]
fn every_command_of_the_tour_runs_and_prints_what_is_shown() {
    runs("docs/tour.md", 20);
}

#[test]
fn the_readme_is_read_in_one_sitting() {
    let text = fs::read_to_string(project().join("README.md")).unwrap();
    assert!(text.lines().count() <= 120, "{} lines", text.lines().count());
}

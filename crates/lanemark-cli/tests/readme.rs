//! The README tells the truth: its commands run, and what it shows of their output is what they print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of the README and the lines that it shows beneath; `…` stands for lines left out.
struct Shown {
    arguments: Vec<String>,
    lines: Vec<String>,
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn shown() -> Vec<Shown> {
    let text = fs::read_to_string(project().join("README.md")).unwrap();
    let mut commands: Vec<Shown> = Vec::new();
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

/// Splits at spaces outside double quotes.
fn words(text: &str) -> Vec<String> {
    let mut quoted = false;
    let mut words = vec![String::new()];
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

/// A line with its runs of spaces made one.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_command_of_the_readme_runs_and_prints_what_is_shown() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["studies", "library"] {
        std::os::unix::fs::symlink(project().join(name), folder.path().join(name)).unwrap();
    }
    let commands = shown();
    assert!(commands.len() >= 6, "the README shows only {} commands", commands.len());
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
}

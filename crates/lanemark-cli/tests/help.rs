//! The command line as users see it: help, completions, manual pages, and the files that `make install` installs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use lanemark_testbed::{lanemark, project};

/// The headings above lists of commands.
const LISTS: [&str; 6] = ["Commands:", "Measure:", "Model:", "Emulate:", "Databases:", "Show:"];

/// Returns the names of the commands in a help text.
fn commands(help: &str) -> Vec<String> {
    let lists = LISTS.iter().filter_map(|heading| help.split_once(&format!("\n{heading}\n")));
    let lines =
        lists.flat_map(|(_, after)| after.lines().take_while(|line| !line.trim().is_empty()));
    let named = lines.filter(|line| !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
}

/// Collects the words of all commands, each with its help.
fn all(words: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = lanemark!(&arguments).stdout();
    assert!(words.len() < 4, "{words:?}: a command below a command below a command");
    for name in commands(&help) {
        all(&[words, &[name]].concat(), found);
    }
    found.push((words.to_vec(), help));
}

#[test]
fn every_help_has_an_example_groups_and_lines_within_80_columns() {
    let mut found = Vec::new();
    all(&[], &mut found);
    assert!((20..30).contains(&found.len()), "{} commands", found.len());
    for (words, help) in &found {
        assert!(help.contains("Example"), "{words:?} lacks an example:\n{help}");
        let long =
            help.lines().find(|line| line.chars().count() > 80 && !line.contains("lanemark "));
        assert_eq!(long, None, "{words:?}");
        // A long list of options is divided into groups.
        let options = help.lines().filter(|line| line.trim_start().starts_with("--")).count();
        let groups = help.lines().filter(|line| !line.starts_with(' ') && line.ends_with(':'));
        assert!(options < 10 || groups.count() >= 4, "{words:?}: {options} options:\n{help}");
    }
    assert!(found.iter().any(|(words, _)| words.join(" ") == "oltp run"));
}

#[test]
fn completions_know_commands_and_options_and_the_shells_read_them() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, check) in [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"])] {
        let script = lanemark!(&["completions", shell]).stdout();
        for word in ["compare", "no-interval", "crystaldiskmark"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
        let file = folder.path().join(shell);
        fs::write(&file, script).unwrap();
        match Command::new(shell).args(check).arg(&file).output() {
            Ok(output) => {
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{shell}: {errors}");
            }
            Err(_) => lanemark_testbed::skipped(&format!("{shell} is not installed")),
        }
    }
    let refused = lanemark!(&["completions", "tcsh"]).output();
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn manual_pages_replace_only_manual_pages() {
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().join("share/man1");
    let written = || lanemark!(&["completions", "man", man.to_str().unwrap()]).output();
    for _ in 0..2 {
        assert!(written().status.success());
    }
    let page = fs::read_to_string(man.join("lanemark-oltp-run.1")).unwrap();
    for part in [".TH lanemark-oltp-run 1", ".SH NAME", "\\-\\-users", "Example"] {
        assert!(page.contains(part), "no {part} in\n{page}");
    }
    assert!(man.join("lanemark.1").exists() && !man.join("lanemark-help.1").exists());
    fs::write(man.join("lanemark-sim.1"), "notes").unwrap();
    let refused = written();
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
    assert_eq!(fs::read_to_string(man.join("lanemark-sim.1")).unwrap(), "notes");
    let nowhere = lanemark!(&["completions", "man", "/proc/nowhere"]).output();
    assert_eq!(nowhere.status.code(), Some(2));
}

#[test]
fn make_install_puts_everything_below_destdir_and_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let installed = Command::new("make")
        .args(["install", "-o", "build", "PREFIX=/usr"])
        .arg(format!("LANEMARK={}", env!("CARGO_BIN_EXE_lanemark")))
        .arg(format!("DESTDIR={}", folder.path().display()))
        .current_dir(project())
        .env_remove("MAKEFLAGS")
        .output()
        .unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let usr = folder.path().join("usr");
    let program = fs::metadata(usr.join("bin/lanemark")).unwrap();
    assert_eq!(program.permissions().mode() & 0o777, 0o755);
    for file in [
        "share/bash-completion/completions/lanemark",
        "share/zsh/site-functions/_lanemark",
        "share/fish/vendor_completions.d/lanemark.fish",
        "share/man/man1/lanemark.1",
        "share/man/man1/lanemark-sim.1",
    ] {
        assert!(fs::metadata(usr.join(file)).unwrap().len() > 500, "{file}");
    }
}

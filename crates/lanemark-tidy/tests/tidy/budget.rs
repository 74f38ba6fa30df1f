//! The budget of lines: each crate has a maximum number of lines of program and of test code, in ARCHITECTURE.md.
//!
//! A line counts if it contains code: not if it is empty or only a comment. Test code is code in `tests/` and
//! `benches/`, in files and folders that are named for tests, in modules below `#[cfg(test)]`, and the testbed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::house::files_below;
use super::map;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) program: usize,
    pub(crate) tests: usize,
}

/// Returns whether all code of the file at `path`, relative to its crate, is test code.
fn is_test_file(path: &Path) -> bool {
    path.iter().filter_map(|part| part.to_str()).any(|part| {
        let name = part.trim_end_matches(".rs");
        ["tests", "benches", "testing"].contains(&name) || name.ends_with("_tests")
    })
}

/// Counts the code of a file.
fn count(text: &str, is_test: bool) -> Lines {
    let mut lines = Lines::default();
    let mut begins_tests = false;
    let mut in_tests = is_test;
    for line in text.lines() {
        let code = line.trim();
        if code.is_empty() || code.starts_with("//") {
            continue;
        }
        if line == "#[cfg(test)]" {
            begins_tests = true;
        } else if begins_tests && line.starts_with("mod ") && line.ends_with('{') {
            in_tests = true;
            begins_tests = false;
        } else if !code.starts_with("#[") && !code.ends_with(';') {
            begins_tests = false;
        }
        if in_tests || begins_tests {
            lines.tests += 1;
        } else {
            lines.program += 1;
        }
        // rustfmt puts the end of a module at the beginning of a line.
        if !is_test && in_tests && line == "}" {
            in_tests = false;
        }
    }
    lines
}

/// Returns the lines of code of each crate.
fn count_crates(root: &Path) -> BTreeMap<String, Lines> {
    let mut found = BTreeMap::new();
    for path in files_below(&root.join("crates"), "rs") {
        let short = path.strip_prefix(root.join("crates")).unwrap();
        let name = short.iter().next().unwrap().to_str().unwrap().to_owned();
        let inside = short.strip_prefix(&name).unwrap();
        let is_test = name == "lanemark-testbed" || is_test_file(inside);
        let counted = count(&fs::read_to_string(&path).unwrap(), is_test);
        let lines: &mut Lines = found.entry(name).or_default();
        lines.program += counted.program;
        lines.tests += counted.tests;
    }
    found
}

/// Returns every crate that exceeds its budget, and the crates that differ between the tree and the table.
pub(crate) fn breaches(root: &Path) -> Vec<String> {
    compare(&count_crates(root), &map::budget(root))
}

fn compare(counted: &BTreeMap<String, Lines>, budget: &BTreeMap<String, Lines>) -> Vec<String> {
    let unknown = budget.keys().filter(|name| !counted.contains_key(*name));
    let mut found: Vec<String> = unknown
        .map(|name| format!("ARCHITECTURE.md: there is no crate for the budget of `{name}`"))
        .collect();
    for (name, lines) in counted {
        let Some(most) = budget.get(name) else {
            found.push(format!(
                "ARCHITECTURE.md: `{name}` lacks a budget: {} program and {} test lines",
                lines.program, lines.tests
            ));
            continue;
        };
        for (kind, now, most) in
            [("program", lines.program, most.program), ("test", lines.tests, most.tests)]
        {
            if now > most {
                found.push(format!(
                    "{name}: {now} {kind} lines; the budget is {most}. Remove code, or raise the \
                     budget in ARCHITECTURE.md and state the reason in its row"
                ));
            }
        }
    }
    found
}

#[test]
fn code_and_tests_are_counted_separately() {
    let text = "//! A module.\n\nuse std::fs;\n\n/// Adds.\nfn add() {}\n\n#[cfg(test)]\nmod tests {\n    \
                // A remark.\n    fn one() {}\n}\n\nfn after() {}\n";
    assert_eq!(count(text, false), Lines { program: 3, tests: 4 });
    assert_eq!(count(text, true), Lines { program: 0, tests: 7 });
    let other = "#[cfg(test)]\n#[path = \"job_tests.rs\"]\nmod tests;\nfn program() {}\n";
    assert_eq!(count(other, false), Lines { program: 1, tests: 3 });
    for (path, expected) in [
        ("src/job.rs", false),
        ("src/job_tests.rs", true),
        ("src/tests/load.rs", true),
        ("tests/served/main.rs", true),
        ("src/trial.rs", false),
    ] {
        assert_eq!(is_test_file(Path::new(path)), expected, "{path}");
    }
}

#[test]
fn a_crate_that_grows_beyond_its_budget_is_reported() {
    let of = |program, tests| BTreeMap::from([("a".to_owned(), Lines { program, tests })]);
    assert!(compare(&of(10, 5), &of(10, 6)).is_empty());
    let more = compare(&of(11, 7), &of(10, 6));
    assert!(more.len() == 2 && more[0].contains("11 program lines; the budget is 10"), "{more:?}");
    assert!(compare(&of(1, 1), &BTreeMap::new())[0].contains("lacks a budget"));
    assert!(compare(&BTreeMap::new(), &of(1, 1))[0].contains("there is no crate"));
}

//! Row names stay distinct at every terminal width, for the tests of all built-in workloads.

use std::collections::BTreeSet;

use lanemark_study::library::LibraryKind;
use lanemark_study::{Library, workload};
use lanemark_testbed::lanemark;
use serde_json::Value;

const SYSTEM: &str = "samsung-950-pro-512gb@workstation-z170:m2";

/// Returns the names of the rows in the first table: the text before the first number, over all lines of a row.
fn labels(table: &str) -> Vec<String> {
    let lines = table.lines().skip_while(|line| !line.starts_with('─')).skip(1);
    let mut labels: Vec<String> = Vec::new();
    for line in lines.take_while(|line| !line.is_empty() && !line.starts_with("no room")) {
        // Two spaces separate columns, and names do not contain two spaces.
        match line.split_once("  ") {
            Some((label, _)) => labels.push(label.to_owned()),
            None => {
                let label = labels.last_mut().unwrap_or_else(|| panic!("{table}"));
                *label += " ";
                *label += line;
            }
        }
    }
    labels
}

#[test]
fn rows_of_every_built_in_workload_are_distinct_at_every_width() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let library = Library::built_in();
    let sim = lanemark!(folder.path(), &["sim", SYSTEM, "quick"]).env("COLUMNS", 100.to_string());
    sim.with("--duration 1ms --repeats 1 --no-interval --out one.json").stdout();
    let text = std::fs::read_to_string(folder.path().join("one.json")).unwrap();
    let one: Value = serde_json::from_str(&text).unwrap();
    let mut checked = 0;
    for name in library.names(LibraryKind::Workload) {
        let tests = workload::open(&library, &name).unwrap().tests;
        // The figures of one run are used under the names of the workload's tests, in wide and in narrow tables.
        let mut run = one.clone();
        let figures = one["tests"].as_array().unwrap();
        let rows = tests.iter().zip(figures.iter().cycle()).map(|(test, figures)| {
            let mut row = figures.clone();
            row["test"]["name"] = test.name.as_str().into();
            row
        });
        run["tests"] = rows.collect();
        run["workload"]["tests"] =
            run["tests"].as_array().unwrap().iter().map(|row| row["test"].clone()).collect();
        std::fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
        let wanted: BTreeSet<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        for columns in [60, 80, 100] {
            let table = lanemark!(folder.path(), &["report", "run.json"])
                .env("COLUMNS", columns.to_string())
                .stdout();
            assert!(
                table.lines().all(|line| line.chars().count() <= columns),
                "{name}: {columns}: {table}"
            );
            let found = labels(&table);
            let distinct: BTreeSet<&String> = found.iter().collect();
            assert_eq!(
                (found.len(), distinct.len()),
                (tests.len(), wanted.len()),
                "{name}, {columns}: {table}"
            );
        }
        checked += tests.len();
    }
    assert!(checked > 100, "{checked} tests");
}

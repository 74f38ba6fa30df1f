//! Reads the tables of ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::budget::Lines;

/// A table's rows: the name in the first column, and the cells of the other columns.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// Names in alphabetical order.
pub(crate) type Names = BTreeSet<String>;

/// Returns the header and the rows of the table below the heading `## {heading}`.
fn table(root: &Path, heading: &str) -> Rows {
    let path = root.join("ARCHITECTURE.md");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().skip_while(|line| line.strip_prefix("## ") != Some(heading)).skip(1);
    let rows = lines
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with('|') && !line.starts_with("|--"));
    let mut found = Rows::new();
    for row in rows.skip(1) {
        let mut cells = row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        let name = cells.next().unwrap_or_default().trim_matches('`').to_owned();
        let before = found.insert(name.clone(), cells.collect());
        assert!(
            before.is_none(),
            "ARCHITECTURE.md: `{name}` is twice in the table of \"{heading}\""
        );
    }
    assert!(!found.is_empty(), "ARCHITECTURE.md: no table below \"## {heading}\"");
    found
}

/// Returns the names in a cell, which are separated by commas; `–` represents an empty list.
fn names(cell: &str) -> Names {
    let names = cell.split(',').map(|name| name.trim().trim_matches('`').to_owned());
    names.filter(|name| !name.is_empty() && name != "–").collect()
}

/// The crates of the workspace that a crate may import.
pub(crate) struct Imports {
    /// Crates that the program may import.
    pub(crate) normal: Names,
    /// Crates that only tests and benches may import.
    pub(crate) tests: Names,
}

/// Returns the table of crates; `all others` represents all crates that programs may import.
pub(crate) fn crates(root: &Path) -> BTreeMap<String, Imports> {
    let rows = table(root, "Crates, and who may import whom");
    let ours = |short: &str| format!("lanemark-{short}");
    let of_tests: Names = rows
        .iter()
        .filter(|(_, cells)| cells[0].contains("Imported only by tests"))
        .map(|(name, _)| name.clone())
        .collect();
    let mut found = BTreeMap::new();
    for (name, cells) in &rows {
        let read = |cell: &String| -> Names {
            if cell == "all others" {
                let others =
                    rows.keys().filter(|other| *other != name && !of_tests.contains(*other));
                return others.cloned().collect();
            }
            names(cell).iter().map(|short| ours(short)).collect()
        };
        found.insert(name.clone(), Imports { normal: read(&cells[1]), tests: read(&cells[2]) });
    }
    found
}

/// Returns the maximum lines of each crate.
pub(crate) fn budget(root: &Path) -> BTreeMap<String, Lines> {
    let read = |(name, cells): (String, Vec<String>)| {
        let number = |cell: &String| cell.replace(',', "").parse::<usize>();
        let (Ok(program), Ok(tests)) = (number(&cells[0]), number(&cells[1])) else {
            panic!("ARCHITECTURE.md: the budget of `{name}` is not two numbers");
        };
        (name, Lines { program, tests })
    };
    table(root, "The budget of lines").into_iter().map(read).collect()
}

/// Returns every external crate for which ARCHITECTURE.md states a reason.
pub(crate) fn dependencies(root: &Path) -> Names {
    let rows = table(root, "Dependencies, each with its reason");
    let bare = |name: &str| name.split('(').next().unwrap_or_default().trim().to_owned();
    // `mysql (minimal, in Rust)`: the text in parentheses describes the crate before it.
    let without_brackets = |cell: &str| {
        let parts = cell.split('(').enumerate();
        let kept = parts.map(|(at, part)| match at {
            0 => part,
            _ => part.split_once(')').map_or("", |(_, after)| after),
        });
        kept.collect::<String>()
    };
    rows.keys().flat_map(|cell| names(&without_brackets(cell))).map(|name| bare(&name)).collect()
}

/// Returns the rooms of a crate, each with the rooms that it may import; empty if there is no table of rooms.
pub(crate) fn rooms(root: &Path, name: &str) -> BTreeMap<String, Names> {
    let heading = format!("The rooms of `{name}`, and which may import which");
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    if !text.lines().any(|line| line.strip_prefix("## ") == Some(&heading)) {
        return BTreeMap::new();
    }
    table(root, &heading).into_iter().map(|(room, cells)| (room, names(&cells[1]))).collect()
}

//! Compares the public items of `virtual_drive`, the interface for other projects, with the saved list `door.txt`.
//! After an intended change, `LANEMARK_BLESS=1` rewrites the list.

use std::fs;
use std::path::Path;

const FILES: [&str; 3] = ["mod.rs", "revertible.rs", "silent_damage.rs"];

/// Returns the declarations of all public items, fields and variants, one per line.
fn public_items(source: &str) -> String {
    let program = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut items = String::new();
    let mut declaration = String::new();
    let mut is_public_enum = false;
    for line in program.lines().map(|line| line.split("//").next().unwrap_or_default()) {
        let text = line.trim();
        is_public_enum = text.starts_with("pub enum") || is_public_enum && line != "}";
        if declaration.is_empty() && !text.starts_with("pub ") && !is_public_enum {
            continue;
        }
        if text.is_empty() || text.starts_with("#[") {
            continue;
        }
        declaration += if declaration.is_empty() || declaration.ends_with('(') { "" } else { " " };
        declaration += text;
        if is_public_enum || text.ends_with(['{', ';', ',']) && balanced(&declaration) {
            items += declaration.trim_end_matches(['{', ' ']);
            items.push('\n');
            declaration.clear();
        }
    }
    items
}

/// Returns whether all parentheses of a declaration are closed.
fn balanced(declaration: &str) -> bool {
    declaration.matches('(').count() == declaration.matches(')').count()
        && (declaration.starts_with("pub use") <= declaration.ends_with(';'))
}

#[test]
fn the_interface_of_virtual_drives_is_the_saved_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(root.join("src/virtual_drive").join(file)).unwrap();
    let now: String =
        FILES.iter().map(|file| format!("{file}\n{}\n", public_items(&read(file)))).collect();
    let saved = root.join("tests/door.txt");
    if std::env::var_os("LANEMARK_BLESS").is_some() {
        fs::write(&saved, &now).unwrap();
    }
    assert_eq!(
        now,
        fs::read_to_string(saved).unwrap(),
        "LANEMARK_BLESS=1 saves an intended change"
    );
}

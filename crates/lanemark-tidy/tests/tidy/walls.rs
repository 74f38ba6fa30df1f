//! Tests of the rules: each violation in a small tree is reported in one sentence.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{Tree, crates, house, parameters, rooms};

const MAP: &str = "# The map\n
## Crates, and who may import whom\n
| crate | contents | imports | tests import too |\n|---|---|---|---|
| `lanemark-schema` | the schema | – | – |\n| `lanemark-study` | studies | schema | – |
| `lanemark-testbed` | for tests. Imported only by tests | – | – |
| `lanemark-cli` | the command | all others | testbed |\n
## The rooms of `lanemark-schema`, and which may import which\n
| room | contents | imports |\n|---|---|---|\n| `units` | units | – |\n| `sim` | stations | units |\n
## Dependencies, each with its reason\n
| crate | why |\n|---|---|\n| serde (derive), libm | why not |\n";

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
}

fn ours(name: &str) -> String {
    format!("{name} = {{ path = \"../{name}\" }}\n")
}

/// Writes a tree that satisfies every rule.
fn small() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| put(folder.path(), path, text);
    put("ARCHITECTURE.md", MAP);
    put("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n");
    put(
        "crates/lanemark-schema/Cargo.toml",
        &manifest("lanemark-schema", "[dependencies]\nlibm = \"0.2\"\nserde = \"1\"\n"),
    );
    put("crates/lanemark-schema/src/lib.rs", "//! Schema.\npub mod sim;\npub mod units;\n");
    put(
        "crates/lanemark-schema/src/units.rs",
        "//! Units.\nuse std::fmt;\n// std::fs::read\n/// f64::ln\npub struct Time(pub fmt::Error);\n",
    );
    put(
        "crates/lanemark-schema/src/sim/mod.rs",
        "//! Simulator.\nmod station;\npub use station::Station;\n",
    );
    put(
        "crates/lanemark-schema/src/sim/station.rs",
        "//! Stations.\nuse crate::units::Time;\npub struct Station(pub Time);\nfn law(x: f64) -> f64 { if !(x > 1.0) { libm::log(x.sqrt()) } else { f64::max(x, 2.0) } }\nconst SAID: &str = \"println!()\";\n",
    );
    let study = format!("[dependencies]\n{}", ours("lanemark-schema"));
    put("crates/lanemark-study/Cargo.toml", &manifest("lanemark-study", &study));
    put("crates/lanemark-study/src/lib.rs", "//! Studies.\nuse lanemark_schema::units::Time;\n");
    put("crates/lanemark-testbed/Cargo.toml", &manifest("lanemark-testbed", ""));
    put("crates/lanemark-testbed/src/lib.rs", "//! For tests.\n");
    let cli = format!(
        "[dependencies]\n{}{}[dev-dependencies]\n{}",
        ours("lanemark-schema"),
        ours("lanemark-study"),
        ours("lanemark-testbed")
    );
    put("crates/lanemark-cli/Cargo.toml", &manifest("lanemark-cli", &cli));
    put(
        "crates/lanemark-cli/src/main.rs",
        "//! The command.\nfn main() {}\n#[cfg(test)]\nmod tests;\n",
    );
    put("crates/lanemark-cli/src/tests.rs", "//! Tests.\n#[test]\nfn prints() { println!() }\n");
    folder
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn append(root: &Path, path: &str, text: &str) {
    let before = fs::read_to_string(root.join(path)).unwrap();
    put(root, path, &(before + text));
}

fn sentences(root: &Path) -> Vec<String> {
    let tree = Tree::at(root);
    [
        tree.purity().0,
        crates::breaches(root, &tree.metadata),
        tree.rooms(),
        rooms::circles(root, &tree.crates, &[]),
        house::breaches(root, &[]),
        house::dead(root, &tree.crates),
        house::printing(root, &tree.crates, &[]),
        house::creating(root, &tree.crates, &[]),
        parameters::tuples(root, &tree.crates),
    ]
    .concat()
}

/// Checks that tidy reports one sentence with all of `words` for a small tree that `spoil` has changed.
fn one_sentence(spoil: impl FnOnce(&Path), words: &[&str]) {
    let folder = small();
    spoil(folder.path());
    let faults = sentences(folder.path());
    assert_eq!(faults.len(), 1, "for {words:?}: {faults:#?}");
    for word in words {
        assert!(faults[0].contains(word), "no \"{word}\" in \"{}\"", faults[0]);
    }
}

#[test]
fn a_file_that_is_created_by_another_function_is_reported() {
    for call in [
        "fn f() { std::fs::write(\"a\", \"b\"); }",
        "use std::fs::File;\nfn f() { File::create(\"a\"); }",
        "fn f() { std::fs::OpenOptions::new().write(true).create(true).open(\"a\"); }",
    ] {
        let spoil = |root: &Path| append(root, "crates/lanemark-study/src/lib.rs", call);
        one_sentence(spoil, &["lanemark-study/src/lib.rs", "creates a file"]);
    }
}

#[test]
fn an_impure_call_is_reported() {
    let calls = [
        ("fn f() { let _ = std::time::UNIX_EPOCH; }", "std::time::UNIX_EPOCH"),
        ("use std::fs;\nfn f() { fs::read_dir(\"/\"); }", "std::fs"),
        ("fn f() { std::fs::read_dir(\"/\"); }", "std::fs::read_dir"),
        ("use std::{fmt, fs::{read_dir as fmt_of}};", "std::fs::read_dir"),
        ("use std as fmt;", "`std`"),
        ("use std::collections::*;", "std::collections::*"),
        ("use ::std::process::Command;", "std::process::Command"),
        ("fn f() { ::r#std::process::Command::new(\"ls\"); }", "std::process::Command"),
        ("fn f(x: f64) -> f64 { x.ln() }", ".ln()"),
        ("fn f(x: &[f64]) { x.iter().map(|x| x . powf (2.0)); }", ".powf()"),
        ("fn f(x: f64) -> f64 { f64::ln(x) }", "f64::ln"),
        ("fn f(x: &[f64]) { x.iter().copied().map(<f64>::exp); }", "<>::exp"),
        ("fn f() { println!(\"said\"); }", "println!"),
        ("fn f() -> &'static str { env!(\"HOME\") }", "env!"),
        ("fn f() { assert!(std::env::var(\"HOME\").is_ok()); }", "std::env::var"),
        ("fn f() { std::thread::scope(|_| ()); }", "std::thread::scope"),
        ("extern crate std as fmt;", "extern"),
        ("static mut SEEN: u64 = 0;", "static"),
        ("fn f() { unsafe { g() } }", "unsafe"),
        ("#[cfg(target_os = \"linux\")]\nfn f() {}", "target_os"),
        ("#[cfg(test)]\nmod tests { use std::collections::HashMap; }", "HashMap"),
        ("use std::fmt; macro_rules! now { () => { std::time::Instant::now() } }", "Instant"),
        ("use serde_core as s; fn f() { libm::log(1.0f64.sin()); }", ".sin()"),
    ];
    for (call, name) in calls {
        // Only the purity rule is checked, because a second rule also reports `println!`.
        let path = "crates/lanemark-schema/src/sim/station.rs";
        let folder = small();
        append(folder.path(), path, &format!("{call}\n"));
        let tree = Tree::at(folder.path());
        let faults = tree.purity().0;
        assert_eq!(faults.len(), 1, "{call}: {faults:#?}");
        assert!(
            faults[0].contains(name) && faults[0].contains("station.rs:"),
            "{call}: {faults:?}"
        );
    }
}

#[test]
fn an_unneeded_exception_is_reported() {
    let folder = small();
    let tree = Tree::at(folder.path());
    let (_, needless) = tree.purity();
    assert!(needless.iter().any(|fault| fault.contains("`std::ops`")), "{needless:?}");
    assert!(!needless.iter().any(|fault| fault.contains("`std::fmt`")), "{needless:?}");
    let fault = house::printing(folder.path(), &tree.crates, &["crates/lanemark-cli/src/main.rs"]);
    assert_eq!(fault.len(), 1);
    let long = house::breaches(folder.path(), &[("crates/lanemark-schema/src/lib.rs", 600)]);
    assert!(long.len() == 1 && long[0].contains("fell from 600 to 3"), "{long:?}");
    let fault = rooms::circles(folder.path(), &tree.crates, &[("lanemark-schema", 4)]);
    assert!(fault.len() == 1 && fault[0].contains("fell from 4 to 1"), "{fault:?}");
}

#[test]
fn a_forbidden_import_between_crates_is_reported() {
    for (section, how) in [
        ("dependencies", ""),
        ("dev-dependencies", "in tests"),
        ("build-dependencies", "in its build"),
    ] {
        let add = |root: &Path| {
            let text = format!("[{section}]\n{}", ours("lanemark-study"));
            append(root, "crates/lanemark-testbed/Cargo.toml", &text);
        };
        one_sentence(add, &["`lanemark-testbed` imports `lanemark-study`", how]);
    }
    one_sentence(
        |root| append(root, "crates/lanemark-study/Cargo.toml", "rand = \"1\"\n"),
        &["`rand`"],
    );
    one_sentence(
        |root| put(root, "crates/lanemark-study/Cargo.toml", &manifest("lanemark-study", "")),
        &["`lanemark-study` may import `lanemark-schema`"],
    );
    let other = manifest("lanemark-other", "");
    one_sentence(
        |root| {
            put(root, "crates/lanemark-other/Cargo.toml", &other);
            put(root, "crates/lanemark-other/src/lib.rs", "//! Another.\n");
        },
        &["`lanemark-other` is not in the table"],
    );
}

#[test]
fn a_forbidden_import_between_rooms_is_reported() {
    let units = "crates/lanemark-schema/src/units.rs";
    one_sentence(
        |root| {
            append(root, units, "fn f(_: &crate::sim::SystemSpec) {}\n");
            // The reverse import was removed, so there is no circle to report.
            put(
                root,
                "crates/lanemark-schema/src/sim/station.rs",
                "//! Stations.\npub struct Station(pub f64);\nfn f() -> f64 { libm::log(1.0) }\n",
            );
            put(root, "ARCHITECTURE.md", &MAP.replace("| stations | units |", "| stations | – |"));
        },
        &["units.rs", "room `units` of lanemark-schema imports `sim`"],
    );
    one_sentence(
        |root| {
            put(
                root,
                "ARCHITECTURE.md",
                &MAP.replace("| units | – |", "| units | – |\n| `sim/link` | links | – |"),
            );
        },
        &["no room `sim/link`"],
    );
    one_sentence(
        |root| {
            append(root, "crates/lanemark-schema/src/lib.rs", "pub mod plan;\n");
            put(root, "crates/lanemark-schema/src/plan.rs", "//! Plans.\n");
        },
        &["plan.rs lies in no room"],
    );
}

#[test]
fn rooms_that_may_import_one_another_are_reported() {
    let rooms = |imports: [&str; 3]| {
        let names = ["args", "model", "output"].map(str::to_owned);
        let imports = imports.map(|list| list.split_whitespace().map(str::to_owned).collect());
        rooms::room_circle(&names.into_iter().zip(imports).collect())
    };
    assert_eq!(rooms(["output", "args output", ""]), None);
    assert_eq!(rooms(["output", "args", "args"]).as_deref(), Some("args, output"));
}

#[test]
fn a_circle_of_imports_is_found_through_reexported_names() {
    // `units` names an item that `sim` re-exports from `station`, and `station` names `units`.
    one_sentence(
        |root| {
            put(root, "ARCHITECTURE.md", &MAP.replace("## The rooms of", "## Others:"));
            append(
                root,
                "crates/lanemark-schema/src/units.rs",
                "use crate::sim;\nfn f(_: &sim::Station) {}\n",
            );
        },
        &[
            "lanemark-schema: 2 files import one another in a circle, and 1 did",
            "src/sim/station.rs, src/units.rs",
        ],
    );
}

#[test]
fn a_tuple_in_place_of_parameters_is_reported_with_its_line() {
    let text = "fn f(\n    first: u8,\n    (second, third): (u8, u8),\n) {}\n";
    one_sentence(
        |root| append(root, "crates/lanemark-study/src/lib.rs", text),
        &["lanemark-study/src/lib.rs:5: a parameter of `f` is a tuple"],
    );
}

#[test]
fn names_lengths_and_dead_files_are_reported() {
    let tests = "crates/lanemark-cli/tests/shown.rs";
    one_sentence(
        |root| {
            put(root, tests, "//! Tests.\nmod common;\n");
            put(root, "crates/lanemark-cli/tests/common/mod.rs", "//! Shared parts.\n");
        },
        &["tests/common: name the folder"],
    );
    one_sentence(
        |root| {
            put(root, tests, "//! Tests.\nmod utils;\n");
            put(root, "crates/lanemark-cli/tests/utils.rs", "//! Shared parts.\n");
        },
        &["utils.rs: name the file"],
    );
    one_sentence(
        |root| put(root, "crates/lanemark-study/src/old.rs", "//! Old.\n"),
        &["old.rs: no `mod` reaches"],
    );
    one_sentence(|root| put(root, tests, "fn f() {}\n"), &["without a module doc"]);
    one_sentence(|root| put(root, tests, &"//! Long.\n".repeat(561)), &["561 lines"]);
    one_sentence(
        |root| append(root, "crates/lanemark-study/src/lib.rs", "fn f() { print!(\"\") }\n"),
        &["`print!` panics"],
    );
}

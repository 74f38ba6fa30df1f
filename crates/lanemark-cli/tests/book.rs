//! The book in docs/ tells the truth: its commands run and print what is shown, its contents list every page, and its
//! links and anchors lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanemark_testbed::documents::{squeezed, words};

/// Pages whose commands other tests run, or that show only what a cluster runs.
const RUN_ELSEWHERE: [&str; 4] = ["fio.md", "library.md", "python.md", "sweeps.md"];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All pages of the book, by their path below docs/.
fn pages() -> BTreeSet<String> {
    let docs = project().join("docs");
    let mut found = BTreeSet::new();
    let mut folders = vec![docs.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let name = path.strip_prefix(&docs).unwrap();
                found.insert(name.to_str().unwrap().to_owned());
            }
        }
    }
    found
}

fn text(page: &str) -> String {
    fs::read_to_string(project().join("docs").join(page)).unwrap()
}

/// The text of a page without its code blocks and the code in its lines.
fn prose(text: &str) -> String {
    let blocks = text.split("```").step_by(2).collect::<String>();
    blocks.split('`').step_by(2).collect()
}

/// The targets of the links and pictures of a page.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let ends = prose.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')').map(|(link, _)| link.to_owned())).collect()
}

/// The anchors of a page, as mdBook makes them of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let outside: String = text.split("```").step_by(2).collect();
    let headings = outside.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let kept = line.trim_start_matches('#').trim().to_lowercase();
            let kept =
                kept.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
        })
        .collect()
}

#[test]
fn the_contents_list_every_page_once() {
    let listed = links(&text("SUMMARY.md"));
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), once.len(), "a page is listed twice");
    let mut pages = pages();
    pages.remove("SUMMARY.md");
    assert_eq!(once, pages, "docs/SUMMARY.md (left) and the pages in docs/ (right) differ");
}

#[test]
fn every_link_of_the_book_leads_somewhere() {
    let docs = project().join("docs");
    let mut wrong = Vec::new();
    for page in pages() {
        for link in links(&text(&page)) {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = match file {
                "" => docs.join(&page),
                file => docs.join(&page).parent().unwrap().join(file),
            };
            if !path.exists() {
                wrong.push(format!("docs/{page}: {link}: no such file"));
            } else if !anchor.is_empty()
                && !anchors(&fs::read_to_string(&path).unwrap()).contains(anchor)
            {
                wrong.push(format!("docs/{page}: {link}: no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs the commands of a page in a folder of its own, one after the other, and returns what differs.
fn run(page: &str) -> (usize, Vec<String>) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["studies", "library"] {
        std::os::unix::fs::symlink(project().join(name), folder.path().join(name)).unwrap();
    }
    let samples = folder.path().join("samples");
    fs::create_dir(&samples).unwrap();
    for from in ["crates/lanemark-formats/tests/samples", "crates/lanemark-trace/tests/samples"] {
        for entry in fs::read_dir(project().join(from)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, samples.join(path.file_name().unwrap())).unwrap();
        }
    }
    let (mut count, mut wrong) = (0, Vec::new());
    let mut printed: Vec<String> = Vec::new();
    for block in text(page).split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            if let Some(arguments) = line.strip_prefix("$ lanemark ") {
                count += 1;
                let output = Command::new(env!("CARGO_BIN_EXE_lanemark"))
                    .args(words(arguments))
                    .current_dir(folder.path())
                    .env_remove("COLUMNS")
                    .env_remove("LANEMARK_LIBRARY")
                    .output()
                    .unwrap();
                if !output.status.success() {
                    let errors = String::from_utf8_lossy(&output.stderr);
                    wrong.push(format!("docs/{page}: {line}: {errors}"));
                }
                let stdout = String::from_utf8(output.stdout).unwrap();
                printed = stdout.lines().map(squeezed).collect();
            } else if line != "…" && !printed.contains(&squeezed(line)) {
                wrong.push(format!("docs/{page}: not printed: {line}"));
            }
        }
    }
    (count, wrong)
}

#[test]
fn every_command_of_the_book_runs_and_prints_what_is_shown() {
    let pages: Vec<String> =
        pages().into_iter().filter(|page| !RUN_ELSEWHERE.contains(&page.as_str())).collect();
    let told: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let halves: Vec<_> = (0..2)
            .map(|half| {
                let pages = pages.iter().skip(half).step_by(2);
                scope.spawn(move || pages.map(|page| run(page)).collect::<Vec<_>>())
            })
            .collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    let wrong: Vec<String> = told.iter().flat_map(|(_, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let count: usize = told.iter().map(|(count, _)| count).sum();
    assert!(count >= 25, "the book shows only {count} commands");
}

#[test]
fn every_page_with_rust_is_compiled_with_the_examples_of_the_lab() {
    let library = fs::read_to_string(project().join("crates/lanemark-lab/src/lib.rs")).unwrap();
    let with_rust: Vec<String> =
        pages().into_iter().filter(|page| text(page).contains("```rust")).collect();
    assert!(with_rust.contains(&"tasks/rust.md".to_owned()), "{with_rust:?}");
    for page in with_rust {
        let taken = format!("include_str!(\"../../../docs/{page}\")");
        assert!(library.contains(&taken), "docs/{page} has Rust that nobody compiles");
    }
}

/// Takes down the path of every value in a saved result; keys that are names of files become `*`.
fn paths(value: &serde_json::Value, at: &str, found: &mut BTreeSet<String>) {
    if !at.is_empty() {
        found.insert(at.to_owned());
    }
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                let is_name = key.starts_with(|first: char| first.is_ascii_lowercase())
                    && key.chars().all(|letter| {
                        letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'
                    });
                let key = if is_name { key } else { "*" };
                let below = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
                paths(value, &below, found);
            }
        }
        serde_json::Value::Array(all) => {
            all.iter().for_each(|value| paths(value, &format!("{at}[]"), found));
        }
        _ => (),
    }
}

#[test]
fn every_field_of_a_saved_run_stands_in_the_schema() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let system = "samsung-850-pro-1tb@workstation-z170:sata";
    let output = Command::new(env!("CARGO_BIN_EXE_lanemark"))
        .args(["sim", system, "quick", "--duration", "20ms", "--json", "--out", "one.json"])
        .current_dir(folder.path())
        .env_remove("LANEMARK_LIBRARY")
        .output()
        .unwrap();
    assert!(output.status.success());
    let mut found = BTreeSet::new();
    paths(&serde_json::from_slice(&output.stdout).unwrap(), "", &mut found);
    let schema = text("reference/results.md");
    let missing: Vec<&String> =
        found.iter().filter(|path| !schema.contains(&format!("| `{path}` |"))).collect();
    assert!(found.len() > 100 && missing.is_empty(), "not in the schema: {missing:?}");
}

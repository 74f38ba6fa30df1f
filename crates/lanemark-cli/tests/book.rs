//! The book in docs/ is correct: its commands run in an empty folder and print the quoted output, its table of contents
//! lists every page, and its links and anchors have targets.
//!
//! `LANEMARK_DOCS=write` rewrites the quoted outputs. With `LANEMARK_INSTALLED` the commands run in the root of an
//! installed package (`make dist-test`).

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use lanemark_testbed::documents::{self, EmptyFolder, QuotedCommand, commands};
use lanemark_testbed::{lanemark, project};

/// Pages with commands for a cluster, and a page with a table of commands without arguments.
const RUN_ELSEWHERE: [&str; 2] = ["python.md", "sweeps.md"];
/// Commands that need a client, a browser or root. `tests/serve`, `tests/trial`, `tests/ui_study.rs` and
/// `tests/oltp_live.rs` run them.
const NEED_MORE: [&str; 3] = ["serve", "trial", "ui"];

/// Returns all pages of the book, by their paths below docs/.
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

/// Returns the text of a page without its code blocks and code spans.
fn prose(text: &str) -> String {
    let blocks = text.split("```").step_by(2).collect::<String>();
    blocks.split('`').step_by(2).collect()
}

/// Returns the targets of the links and pictures on a page.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let ends = prose.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')').map(|(link, _)| link.to_owned())).collect()
}

/// Returns the anchors of a page, derived from its headings as in mdBook.
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

/// Returns the page's commands, except those that other tests run.
fn commands_of(page: &str) -> Vec<QuotedCommand> {
    let is_elsewhere = |command: &QuotedCommand| {
        NEED_MORE.iter().any(|words| {
            let words = words.split(' ');
            words.clone().count() <= command.arguments.len()
                && words.zip(&command.arguments).all(|(one, other)| one == other)
        })
    };
    commands(&text(page)).into_iter().filter(|command| !is_elsewhere(command)).collect()
}

/// Runs the commands of a page in an empty folder, in order, and returns the differences.
fn run(page: &str) -> (usize, Vec<String>) {
    let commands = commands_of(page);
    let folder = EmptyFolder::new(env!("CARGO_BIN_EXE_lanemark"), env!("CARGO_TARGET_TMPDIR"));
    if documents::is_writing() {
        let written = folder.rewritten(&text(page), &commands);
        fs::write(project().join("docs").join(page), written).unwrap();
        return (commands.len(), Vec::new());
    }
    let wrong = folder.differences(&commands);
    let wrong = wrong.into_iter().map(|wrong| format!("docs/{page}: {wrong}")).collect();
    (commands.len(), wrong)
}

#[test]
fn every_command_of_the_book_prints_the_shown_text() {
    let left = |page: &String| !RUN_ELSEWHERE.contains(&page.as_str());
    let mut pages: Vec<String> = pages().into_iter().filter(left).collect();
    // The longest pages come first, so that both threads end at about the same time.
    pages.sort_by_key(|page| std::cmp::Reverse(commands_of(page).len()));
    let next = AtomicUsize::new(0);
    let ran: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let work = || {
            let page = || pages.get(next.fetch_add(1, Ordering::Relaxed));
            std::iter::from_fn(page).map(|page| run(page)).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let wrong: Vec<String> = ran.iter().flat_map(|(_, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let count: usize = ran.iter().map(|(count, _)| count).sum();
    assert!(count >= 45, "the book shows only {count} commands");
}

#[test]
fn every_page_with_rust_is_compiled_with_the_examples_of_the_lab() {
    let library = fs::read_to_string(project().join("crates/lanemark-lab/src/lib.rs")).unwrap();
    let with_rust: Vec<String> =
        pages().into_iter().filter(|page| text(page).contains("```rust")).collect();
    assert!(with_rust.contains(&"tasks/rust.md".to_owned()), "{with_rust:?}");
    for page in with_rust {
        let taken = format!("include_str!(\"../../../docs/{page}\")");
        assert!(library.contains(&taken), "docs/{page} has Rust code that is not compiled");
    }
}

/// Collects the path of every value in a saved result; keys that are names of files become `*`.
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
fn every_field_of_a_saved_run_is_in_the_schema() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut found = BTreeSet::new();
    for (system, duration, name) in [
        ("samsung-850-pro-1tb@workstation-z170:sata", "20ms", "one.json"),
        ("aws-gp2-100gib@aws-m5-4xlarge:volume", "2s", "two.json"),
    ] {
        let sim = lanemark!(folder.path(), &["sim", system, "quick", "--json", "--out", name]);
        paths(&sim.with("--duration").with(duration).json(), "", &mut found);
    }
    let credits = "tests[].samples[].credits[].end_ns";
    assert!(found.contains(credits), "{found:?}");
    let schema = text("reference/results.md");
    let missing: Vec<&String> =
        found.iter().filter(|path| !schema.contains(&format!("| `{path}` |"))).collect();
    assert!(found.len() > 100 && missing.is_empty(), "not in the schema: {missing:?}");
}

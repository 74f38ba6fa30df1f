//! The form of comments and documents: the length of lines, and the first sentence of a doc comment.

use std::fs;
use std::path::Path;

use super::prose::{document, files, numbered};

/// Maximum number of characters in a line of a comment or a document.
const COLUMNS_MAX: usize = 120;
/// Documents with long lines: a page that `make library` writes, and a template whose placeholders are longer than
/// their values.
const LONG: &[&str] = &["docs/library.md", "reference/validation/accuracy.template.md"];
/// Openings of a doc comment that do not name the item.
const OPENERS: &[&str] = &[
    "As ",
    "How ",
    "In the same way",
    "It ",
    "Its ",
    "Like ",
    "That ",
    "The same ",
    "Those ",
    "What ",
    "When ",
    "Where ",
    "Who ",
];

/// Returns each comment and document line that is too long. Tables, links, and figures that a program writes may be
/// longer.
pub(crate) fn long_lines(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in files(root) {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).unwrap_or_default();
        let marks: &[&str] = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => &["//"],
            Some("toml" | "py" | "pyi") => &["#"],
            Some("md") if !LONG.contains(&name.as_str()) => &[""],
            _ => continue,
        };
        let lines = if marks == [""] { without_written(&document(&text)) } else { owned(&text) };
        for (number, line) in lines {
            let body = line.trim_start();
            let may_be_long = body.starts_with('|')
                || body.contains("//! |")
                || body.contains("http")
                || body.contains("](");
            let is_prose = marks.iter().any(|mark| body.starts_with(mark)) && !may_be_long;
            if is_prose && line.chars().count() > COLUMNS_MAX {
                found.push(format!(
                    "{name}:{number}: more than {COLUMNS_MAX} columns; break the line"
                ));
            }
        }
    }
    found
}

fn owned(text: &str) -> Vec<(usize, String)> {
    numbered(text).map(|(number, line)| (number, line.to_owned())).collect()
}

/// Returns the lines outside `<!-- validate:NAME -->` and `<!-- end -->`.
fn without_written(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    let mut is_written = false;
    let mut found = Vec::new();
    for (number, line) in lines {
        if line.starts_with("<!-- ") {
            is_written = !line.contains("<!-- end");
        } else if !is_written {
            found.push((*number, line.clone()));
        }
    }
    found
}

/// Returns each doc comment whose first paragraph does not end in a full stop, or whose opening does not name the item.
/// Doc comments that are help texts of the command line do not end in a full stop.
pub(crate) fn summaries(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in files(root) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        if path.extension().is_none_or(|extension| extension != "rs") || text.contains("clap::") {
            continue;
        }
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        for (number, summary) in doc_summaries(&text) {
            if !summary.ends_with(['.', ':', '?', '!']) {
                found.push(format!(
                    "{name}:{number}: the summary of a doc comment ends with a full stop"
                ));
            }
            if let Some(opener) = OPENERS.iter().find(|opener| summary.starts_with(**opener)) {
                found.push(format!("{name}:{number}: \"{opener}\" opens a summary; name the item"));
            }
        }
    }
    found
}

/// Returns the first paragraph of each doc comment, with the number of its first line.
fn doc_summaries(text: &str) -> Vec<(usize, String)> {
    let doc = |line: &str| {
        let body = line.trim_start();
        let body = body.strip_prefix("///").or_else(|| body.strip_prefix("//!"))?;
        Some(body.trim().to_owned()).filter(|_| !body.starts_with('/'))
    };
    let mut found: Vec<(usize, String)> = Vec::new();
    // Whether the previous line belongs to a doc comment, and whether its summary has ended.
    let mut in_doc = false;
    let mut has_ended = false;
    for (number, line) in numbered(text) {
        let Some(body) = doc(line) else {
            (in_doc, has_ended) = (false, false);
            continue;
        };
        if body.is_empty() || body.starts_with(['|', '#']) || body.starts_with("```") {
            (in_doc, has_ended) = (true, true);
        } else if !in_doc {
            (in_doc, has_ended) = (true, false);
            found.push((number, body));
        } else if let (false, Some((_, summary))) = (has_ended, found.last_mut()) {
            summary.push(' ');
            summary.push_str(&body);
        }
    }
    found
}

#[test]
fn summaries_are_first_paragraphs() {
    let text = "//! One\n//! two.\n//!\n//! Three\n\n/// Four\nfn f() {}\n//// Five\n";
    assert_eq!(doc_summaries(text), [(1, "One two.".to_owned()), (6, "Four".to_owned())]);
}

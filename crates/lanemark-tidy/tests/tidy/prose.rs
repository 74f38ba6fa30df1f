//! The prose of the tree, line by line: comments, strings and documents.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::house::files_below;

const FOLDERS: [&str; 10] = [
    "crates",
    "docs",
    "fuzz",
    "library",
    "mutants",
    "packaging",
    "python",
    "reference",
    "samples",
    "studies",
];
/// Files at the root with prose.
const FILES: [&str; 5] =
    ["ARCHITECTURE.md", "CHANGELOG.md", "METHOD.md", "README.md", "pyproject.toml"];
const EXTENSIONS: [&str; 9] = ["css", "html", "ipynb", "js", "md", "py", "pyi", "rs", "toml"];
/// Strings in data files with fewer words are treated as names.
const WORDS_MIN: usize = 5;

/// Lines of prose, each with its number.
pub(crate) type Lines = Vec<(usize, String)>;

pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let at_root = FILES.map(|name| root.join(name)).into_iter();
    let folders = FOLDERS.map(|name| root.join(name)).into_iter().filter(|folder| folder.exists());
    let below = folders.flat_map(|folder| {
        EXTENSIONS.into_iter().flat_map(move |extension| files_below(&folder, extension))
    });
    let is_built = |path: &Path| path.iter().any(|part| part == "target");
    at_root.filter(|path| path.exists()).chain(below.filter(|path| !is_built(path))).collect()
}

/// Returns the prose of every file, by path from `root`.
pub(crate) fn of_tree(root: &Path) -> Vec<(String, Lines)> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => rust(&text),
            Some("md") => document(&text),
            Some("toml") => data(&text),
            _ => numbered(&text).map(|(number, line)| (number, line.to_owned())).collect(),
        };
        (path.strip_prefix(root).unwrap_or(&path).display().to_string(), lines)
    };
    files(root).into_iter().map(read).collect()
}

/// Returns the lines of `text` with their numbers.
pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// Returns the comments of Rust source, and its strings of several words.
fn rust(text: &str) -> Lines {
    let mut found: Lines = numbered(text)
        .filter_map(|(number, line)| Some((number, line.split_once("//")?.1.to_owned())))
        .collect();
    if let Ok(tokens) = text.parse() {
        strings(tokens, &mut found);
    }
    found
}

/// Adds the lines of string literals. Doc comments are attributes with a string, and are already included.
fn strings(tokens: TokenStream, found: &mut Lines) {
    let mut after_hash = false;
    for token in tokens {
        match &token {
            TokenTree::Group(group) => {
                let first = group.stream().into_iter().next();
                let is_doc = first.is_some_and(|first| first.to_string() == "doc");
                if !(after_hash && is_doc && group.delimiter() == Delimiter::Bracket) {
                    strings(group.stream(), found);
                }
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let content = match (text.find('"'), text.rfind('"')) {
                    (Some(first), Some(last)) if first < last && !text.contains("'\"'") => {
                        text[first + 1..last].replace("\\\"", "\"").replace("\\n", " ")
                    }
                    _ => continue,
                };
                let start = literal.span().start().line;
                let lines =
                    content.lines().enumerate().filter(|(_, line)| line.trim().contains(' '));
                found.extend(lines.map(|(at, line)| (start + at, line.to_owned())));
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
        // `#[…]` and `#![…]`.
        after_hash = matches!(&token, TokenTree::Punct(mark)
            if mark.as_char() == '#' || mark.as_char() == '!' && after_hash);
    }
}

/// Returns the lines of a document outside its code blocks.
pub(crate) fn document(text: &str) -> Lines {
    let mut in_code = false;
    let mut found = Lines::new();
    for (number, line) in numbered(text) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            found.push((number, line.to_owned()));
        }
    }
    found
}

/// Returns the comments of a data file, and its strings that are sentences.
fn data(text: &str) -> Lines {
    let mut found = Lines::new();
    for (number, line) in numbered(text) {
        if line.trim_start().starts_with('#') {
            found.push((number, line.to_owned()));
            continue;
        }
        // The odd-numbered parts are inside quotes.
        for string in line.replace("\\\"", "'").split('"').skip(1).step_by(2) {
            if string.split_whitespace().count() >= WORDS_MIN {
                found.push((number, string.to_owned()));
            }
        }
    }
    found
}

#[test]
fn prose_is_comments_and_strings() {
    let text = "//! Top.\n/// Doc.\nfn f() -> (&'static str, char) {\n    (\"two \\\n     words\", '\"') // End\n}\n";
    let lines: Vec<_> =
        rust(text).into_iter().map(|(at, line)| (at, line.trim().to_owned())).collect();
    let expected = [(1, "! Top."), (2, "/ Doc."), (5, "End"), (4, "two \\")];
    assert_eq!(lines, expected.map(|(at, line)| (at, line.to_owned())));
    assert_eq!(document("a\n```\nb\n```\nc\n").len(), 2);
    assert_eq!(data("# One.\na = \"b\"\nc = \"one two three four five\"\n").len(), 2);
}

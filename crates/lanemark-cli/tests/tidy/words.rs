//! Words that comments and documents avoid, each with its replacement.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::crates::Crate;

/// A phrase, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("told", "reported, stated, printed, known"),
    ("tells", "reports, shows, returns, distinguishes"),
    ("asked for", "requested"),
    ("asked of", "requested"),
    ("comes to", "equals, reaches, amounts to"),
    ("goes with", "is removed with, belongs to"),
    ("goes on", "continues"),
    ("held against", "compared with"),
    ("held by", "enforced by, tested by"),
    ("stands for", "represents"),
    ("stands in", "is in, represents"),
    ("so many", "N, that many"),
    ("nobody", "name who: the user, another process"),
    ("somebody", "name who: the user, another process"),
    ("besides", "in addition"),
    ("anew", "again"),
    ("of its own", "its own, separate, dedicated"),
    ("of their own", "their own, separate, dedicated"),
    ("whatever", "regardless of, any"),
    ("in words", "as text"),
    ("left out", "omitted, skipped"),
    ("worth a word", "significant, reportable"),
    ("greatest", "maximum, largest"),
    ("has none", "lacks, does not have"),
    ("narrowest", "bottleneck"),
    ("a drive of its ratings", "a rated drive"),
    ("development half", "training set"),
    ("validation half", "held-out set"),
];

/// Phrases that each crate's comments still contain. A number may only fall. A crate that is not listed must be clean.
pub(crate) const REMAINING: &[(&str, usize)] = &[];

/// Documents that keep a phrase: generated pages and the studies' own words.
const DOCUMENTS_LEFT: &[&str] = &["docs/library.md", "docs/reference/results.md"];

/// Returns each phrase of the list in `text`, with its replacement.
fn phrases(text: &str) -> Vec<(&'static str, &'static str)> {
    let lower = text.to_lowercase();
    let is_letter = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let found = WORDS.iter().filter(|(phrase, _)| {
        lower.match_indices(phrase).any(|(at, _)| {
            !is_letter(lower[..at].chars().next_back())
                && !is_letter(lower[at + phrase.len()..].chars().next())
        })
    });
    found.copied().collect()
}

/// Returns each crate whose comments contain more phrases than recorded, or fewer.
pub(crate) fn in_comments(crates: &[Crate], remaining: &[(&str, usize)]) -> Vec<String> {
    let mut found = Vec::new();
    for one in crates {
        let mut places = BTreeMap::new();
        for file in one.targets.iter().flat_map(|target| &target.files) {
            let text = fs::read_to_string(&file.path).unwrap_or_default();
            for (number, line) in text.lines().enumerate() {
                let Some((_, comment)) = line.split_once("//") else { continue };
                for (phrase, instead) in phrases(comment) {
                    let path = file.path.strip_prefix(&one.folder).unwrap_or(&file.path);
                    let place = (path.to_owned(), number + 1);
                    places.insert(place, (phrase, instead));
                }
            }
        }
        let most =
            remaining.iter().find(|(name, _)| *name == one.name).map_or(0, |(_, most)| *most);
        let seen = places.len();
        if seen > most {
            let all = places.iter().map(|((path, line), (phrase, instead))| {
                format!("\n  {}:{line}: \"{phrase}\"; write: {instead}", path.display())
            });
            found.push(format!(
                "{}: {seen} comment lines have words of tests/tidy/words.rs, and {most} are recorded:{}",
                one.name,
                all.collect::<String>()
            ));
        } else if seen < most {
            found.push(format!(
                "{}: {most} recorded, {seen} seen; record it in tests/tidy/words.rs",
                one.name
            ));
        }
    }
    found
}

/// Returns each line of a document, outside its code blocks, with a phrase of the list.
pub(crate) fn in_documents(root: &Path) -> Vec<String> {
    let mut files: Vec<_> =
        ["README.md", "METHOD.md", "ARCHITECTURE.md", "CHANGELOG.md", "library/README.md"]
            .map(|name| root.join(name))
            .into();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut found = Vec::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if DOCUMENTS_LEFT.contains(&name.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut in_code = false;
        for (number, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            // Code spans and figures of commands keep their words.
            let prose: String = line.split('`').step_by(2).collect();
            for (phrase, instead) in phrases(&prose).into_iter().filter(|_| !in_code) {
                found.push(format!("{name}:{}: \"{phrase}\"; write: {instead}", number + 1));
            }
        }
    }
    found
}

#[test]
fn phrases_are_whole_words() {
    assert_eq!(phrases("It goes on."), [("goes on", "continues")]);
    assert!(phrases("retold, tollgates, canewood").is_empty());
    assert_eq!(phrases("Whatever stands for it").len(), 2);
}

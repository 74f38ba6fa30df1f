//! Words that comments, strings and documents avoid, each with its replacement.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::prose;

/// Phrases to avoid, their replacement, and the longer phrases in which they are correct.
struct Rule {
    phrases: &'static [&'static str],
    instead: &'static str,
    allowed: &'static [&'static str],
}

const fn rule(phrases: &'static [&'static str], instead: &'static str) -> Rule {
    Rule { phrases, instead, allowed: &[] }
}

/// The list of words. Some words are not listed, because they are correct in most sentences: `at most` states a bound,
/// and `behind` states the location of a drive below a switch.
const RULES: &[Rule] = &[
    rule(&["told"], "reported, stated, printed, known"),
    rule(&["tell", "tells"], "report, state, show, print, return, distinguish"),
    rule(&["asked for", "asked of", "is asked", "are asked", "was asked"], "requested, queried"),
    rule(&["comes to", "come to", "comes out to"], "equals, reaches, amounts to"),
    rule(&["goes with"], "is removed with, belongs to"),
    rule(&["goes on", "go on"], "continues"),
    rule(&["held against"], "compared with"),
    rule(&["held by"], "checked by, tested by"),
    rule(&["enforced by"], "checked by, tested by"),
    rule(&["until now"], "so far"),
    rule(&["counts from", "count from"], "is measured from"),
    rule(
        &["stands in", "stand in", "stands for", "stand for", "stands by", "stand by"],
        "is in, represents, appears in",
    ),
    rule(
        &["stands beside", "stand beside", "stands at", "stand at", "stands there"],
        "is next to, is at, exists",
    ),
    rule(&["so many", "so much"], "this many, N, the number of"),
    Rule {
        phrases: &["none"],
        instead: "a negative sentence: there is no X",
        // Values of keys and options, and names of files.
        allowed: &[
            "found none",
            "\"none\"",
            "'none'",
            ": none",
            "none()",
            "scheduler none",
            "disk is none",
            ",none,",
            "none, sync",
            "none or strided",
            "none, read",
            "host or none",
            "[none]",
            "none [mq",
            "none.toml",
            "none.json",
            "/none",
        ],
    },
    Rule {
        phrases: &["nobody", "somebody"],
        instead: "name who: the user, another process",
        // The name of a Unix account.
        allowed: &["postgres and nobody"],
    },
    Rule {
        phrases: &["beside"],
        instead: "next to, in parallel with, in addition to, compared with",
        // The value of a key in workload files.
        allowed: &["\"beside\""],
    },
    rule(&["besides"], "in addition"),
    rule(
        &["behind the other", "behind each other", "behind it", "behind them", "behind those"],
        "after, downstream of",
    ),
    rule(&["anew"], "again"),
    rule(&["of its own", "of their own"], "its own, their own, separate, dedicated"),
    rule(&["alone"], "only, by itself"),
    rule(&["whatever"], "regardless of, any"),
    rule(&["in words"], "as text"),
    rule(&["left out", "leave out", "leaves out"], "omitted, skipped"),
    rule(&["worth a word", "worth telling"], "significant, reportable"),
    rule(&["greatest"], "maximum, largest"),
    Rule {
        phrases: &["least"],
        instead: "minimum, smallest",
        allowed: &["at least", "least squares", "least-squares", "least recently", "at-least"],
    },
    Rule {
        phrases: &["has none", "has nothing", "has no", "have no"],
        instead: "lacks, does not have, there is no X",
        allowed: &[
            // Comments in library files: their text is part of the digests in results.
            "has no dram",
            "has no pseudo-slc cache",
            // Python's message about an unknown attribute.
            "has no attribute",
        ],
    },
    rule(&["that of", "those of"], "repeat the noun"),
    Rule {
        phrases: &[
            "what is",
            "what was",
            "what it",
            "what they",
            "what a",
            "what the",
            "what others",
            "what nobody",
            "what runs",
            "what ran",
            "what can",
            "what has",
            "what had",
        ],
        instead: "the noun that it represents",
        allowed: &["what is wrong"],
    },
    Rule {
        phrases: &[
            "where there",
            "where nothing",
            "where nobody",
            "where it",
            "where a",
            "where an",
            "where the",
            "where that",
            "where no",
        ],
        instead: "if, when (keep where for a location)",
        allowed: &["where the rest", "where the time"],
    },
    rule(&["of which"], "split the sentence"),
    rule(&["keeps no", "keeps nothing", "keeps none", "keep no", "keep nothing"], "does not keep"),
    rule(&["doubt", "doubts"], "warning"),
    rule(&["narrowest"], "bottleneck"),
    rule(&["a drive of its ratings"], "a rated drive"),
    rule(&["development half"], "training set"),
    rule(&["validation half", "held-out set"], "validation set"),
];

/// Lines that must keep a word of the list, by file and text, each with the reason.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("crates/lanemark-formats/tests/fio/limits.rs", "sync=none", "a value of fio's option")];

/// Parts of the paths of files whose text is foreign, or that a test compares with the project's text.
const FOREIGN: &[&str] = &["tests/saved/", "tests/snapshots/", ".min.js", "tests/tidy/words.rs"];

/// Returns each phrase of the list in `text`, with its replacement.
fn phrases(text: &str) -> Vec<(&'static str, &'static str)> {
    let lower = text.to_lowercase();
    let is_letter = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let mut found = Vec::new();
    for rule in RULES {
        for &phrase in rule.phrases {
            // `None` is a value.
            let searched = if phrase == "none" { text } else { lower.as_str() };
            let is_found = searched.match_indices(phrase).any(|(at, _)| {
                let end = at + phrase.len();
                let is_allowed = rule.allowed.iter().any(|allowed| {
                    lower
                        .match_indices(allowed)
                        .any(|(from, _)| from <= at && end <= from + allowed.len())
                });
                !is_letter(searched[..at].chars().next_back())
                    && !is_letter(searched[end..].chars().next())
                    && !is_allowed
            });
            if is_found {
                found.push((phrase, rule.instead));
            }
        }
    }
    found
}

/// Returns each comment, string and document line with a phrase of the list, and each exception that matches no line.
pub(crate) fn violations(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    let files = prose::of_tree(root).into_iter();
    for (path, lines) in files.filter(|(path, _)| !FOREIGN.iter().any(|part| path.contains(part))) {
        for (number, line) in lines {
            let hits = phrases(&without_code(&line));
            let exception =
                EXCEPTIONS.iter().position(|(file, text, _)| *file == path && line.contains(text));
            if let (Some(exception), false) = (exception, hits.is_empty()) {
                used.insert(exception);
                continue;
            }
            for (phrase, instead) in hits {
                found.push(format!("{path}:{number}: \"{phrase}\"; write: {instead}"));
            }
        }
    }
    for (at, (file, text, _)) in EXCEPTIONS.iter().enumerate() {
        if !used.contains(&at) {
            found.push(format!(
                "tests/tidy/words.rs: {file} does not have such a line, \"{text}\"; remove the exception"
            ));
        }
    }
    found
}

/// Returns each test whose name, read as words, contains a phrase of the list.
pub(crate) fn test_names(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in
        prose::files(root).iter().filter(|path| path.extension().is_some_and(|own| own == "rs"))
    {
        let text = fs::read_to_string(path).unwrap_or_default();
        for (number, name) in tests_in(&text) {
            for (phrase, instead) in phrases(&name.replace('_', " ")) {
                let path = path.strip_prefix(root).unwrap_or(path).display();
                found.push(format!("{path}:{number}: `{name}`: \"{phrase}\"; write: {instead}"));
            }
        }
    }
    found
}

/// Returns the name of each function after `#[test]`, with the number of its line.
fn tests_in(text: &str) -> Vec<(usize, &str)> {
    let mut is_test = false;
    let mut found = Vec::new();
    for (number, line) in prose::numbered(text) {
        let line = line.trim();
        if line == "#[test]" {
            is_test = true;
        } else if let (true, Some((_, rest))) = (is_test, line.split_once("fn ")) {
            found.extend(rest.split('(').next().map(|name| (number, name)));
            is_test = false;
        }
    }
    found
}

/// Returns `line` without its code spans and the arguments of a format.
fn without_code(line: &str) -> String {
    let prose: String = line.split('`').step_by(2).collect();
    let mut text = String::new();
    let mut depth = 0_u32;
    for letter in prose.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            letter if depth == 0 => text.push(letter),
            _ => {}
        }
    }
    text
}

#[test]
fn phrases_are_whole_words_outside_correct_phrases() {
    assert_eq!(phrases("It goes on."), [("goes on", "continues")]);
    assert!(phrases("retold, tollgates, canewood; None, at least").is_empty());
    assert_eq!(phrases("Whatever stands for it").len(), 2);
    assert_eq!(phrases("at least the least").len(), 1);
}

#[test]
fn code_and_arguments_are_not_prose() {
    assert_eq!(without_code("`told` {told} is {value:>3}"), "  is ");
}

#[test]
fn names_of_tests_are_read_as_words() {
    let text = "#[test]\n#[ignore]\nfn it_goes_on() {}\nfn told() {}\n";
    assert_eq!(tests_in(text), [(3, "it_goes_on")]);
}

//! Words of texts and names, and how well they match.

use crate::error::nearest;

/// Words that name no part.
const IGNORED: [&str; 24] = [
    "a",
    "an",
    "the",
    "in",
    "on",
    "at",
    "of",
    "to",
    "with",
    "and",
    "for",
    "into",
    "my",
    "is",
    "it",
    "by",
    "from",
    "drive",
    "put",
    "use",
    "computer",
    "board",
    "mainboard",
    "motherboard",
];
/// Maximum number of words.
const WORDS_MAX: usize = 24;
/// Maximum length of a word.
const WORD_MAX: usize = 40;
/// Minimum length of a word that may be misspelt.
const SPELLED_MIN: usize = 4;

/// The words of an entry's names.
#[derive(Clone, Debug)]
pub(super) struct NameWords {
    tokens: Vec<String>,
    /// All letters and digits of the names, with a space between the names' words removed.
    letters: String,
}

impl NameWords {
    pub(super) fn new(text: &str) -> Self {
        let mut tokens: Vec<String> = Vec::new();
        for token in split(text) {
            if !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        Self { letters: split(text).concat(), tokens }
    }

    /// Returns how well `word` matches: 1 for a whole word of the names, less for a part, 0 for no match.
    pub(super) fn quality(&self, word: &str) -> f64 {
        let length = word.chars().count();
        if self.tokens.iter().any(|token| token == word) {
            1.0
        } else if length >= 2 && self.tokens.iter().any(|token| token.starts_with(word)) {
            0.7
        } else if length >= 4 && self.letters.contains(word) {
            0.5
        } else {
            0.0
        }
    }

    pub(super) fn tokens(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(String::as_str)
    }

    /// Returns the number of words.
    pub(super) fn count(&self) -> usize {
        self.tokens.len()
    }
}

/// Returns the words of a text that can name a part, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("m.2", "m2").replace("u.2", "u2");
    let all = split(&text)
        .into_iter()
        .filter(|word| !IGNORED.contains(&word.as_str()) && word.chars().count() <= WORD_MAX);
    all.take(WORDS_MAX).collect()
}

/// Returns the word among `known` that `word` misspells by a letter, or by two if it is long.
pub(super) fn spelled<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let length = word.chars().count();
    let most = match length {
        0..SPELLED_MIN => return None,
        SPELLED_MIN..8 => 1,
        _ => 2,
    };
    // A number that differs in a digit is another model.
    let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let own = digits(word);
    let alike = known.filter(|other| {
        other.chars().count().abs_diff(length) <= most
            && digits(other) == own
            && strsim::damerau_levenshtein(word, other) <= most
    });
    nearest(word, alike).into_iter().next()
}

/// Returns the words of a text: letters and digits between all other characters.
fn split(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
}

//! Words of texts and names, and how well words match names.

use super::ports;
use crate::error::nearest;

/// Words that do not name a part.
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
const WORDS_MAX: usize = 24;
/// Maximum number of words of a text, including words that do not name a part.
const WORDS_ALL: usize = 200;
/// Maximum length of a word.
const WORD_MAX: usize = 40;
/// Minimum length of a word that may be misspelt.
const SPELLED_MIN: usize = 4;

/// The words of an entry's names.
#[derive(Clone, Debug)]
pub(super) struct NameWords {
    tokens: Vec<String>,
    /// All letters and digits of the names, without separators between words.
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

    /// Returns how well `word` matches the names: 1 for a whole word, less for a part of a word, and 0 for no match.
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

    pub(super) fn count(&self) -> usize {
        self.tokens.len()
    }
}

/// Returns the words of a text that may name a part, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let all = all(text).into_iter().filter(|word| !IGNORED.contains(&word.as_str()));
    all.take(WORDS_MAX).collect()
}

/// Returns all words of a text in lower case.
pub(super) fn all(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("m.2", "m2").replace("u.2", "u2");
    // The name of a port with its number is one word.
    let parts = text.split_whitespace().flat_map(|part| {
        let bare = part.trim_matches(|letter: char| !letter.is_alphanumeric());
        if ports::is_name(bare) { vec![bare.to_owned()] } else { split(part) }
    });
    parts.filter(|word| word.chars().count() <= WORD_MAX).take(WORDS_ALL).collect()
}

/// Returns the word among `known` that `word` misspells by one letter, or by two letters if it is long.
pub(super) fn nearest_spelling<'k>(
    word: &str,
    known: impl Iterator<Item = &'k str>,
) -> Option<&'k str> {
    let length = word.chars().count();
    let most = match length {
        0..SPELLED_MIN => return None,
        SPELLED_MIN..8 => 1,
        _ => 2,
    };
    // A number with a different digit belongs to another model.
    let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let own_digits = digits(word);
    let alike = known.filter(|other| {
        other.chars().count().abs_diff(length) <= most
            && digits(other) == own_digits
            && strsim::damerau_levenshtein(word, other) <= most
    });
    nearest(word, alike).into_iter().next()
}

/// Splits a text into its words: sequences of letters and digits.
fn split(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_matches_a_name_as_a_whole_as_a_beginning_or_inside_it() {
        let names = NameWords::new("samsung-980-pro-1tb Samsung 980 PRO 1TB");
        assert_eq!(names.tokens().collect::<Vec<_>>(), ["samsung", "980", "pro", "1tb"]);
        assert_eq!(names.count(), 4);
        for (word, quality) in [
            ("samsung", 1.0),
            ("pro", 1.0),
            ("sam", 0.7),
            ("sa", 0.7),
            ("1t", 0.7),
            ("s", 0.0),
            ("1", 0.0),
            // A part of a name must have four letters or more to match.
            ("980pro", 0.5),
            ("80pr", 0.5),
            ("80p", 0.0),
            ("970", 0.0),
            ("samsungs", 0.0),
        ] {
            assert_eq!(names.quality(word), quality, "{word}");
        }
    }

    #[test]
    fn words_that_name_no_part_and_words_beyond_the_bounds_are_dropped() {
        let text = "Put my 980 PRO in the M.2 slot, of a U.2-board!";
        assert_eq!(words(text), ["980", "pro", "m2", "slot", "u2"]);
        assert_eq!(words(" ,;"), [""; 0]);
        let kept = "x".repeat(WORD_MAX);
        let dropped = "x".repeat(WORD_MAX + 1);
        assert_eq!(words(&format!("{dropped} {kept}")), [kept]);
        assert_eq!(words(&"x ".repeat(WORDS_MAX)).len(), WORDS_MAX);
        assert_eq!(words(&"x ".repeat(WORDS_MAX + 1)).len(), WORDS_MAX);
    }

    #[test]
    fn a_misspelt_word_is_corrected_by_one_letter_or_two() {
        let known = ["samsung", "kioxia", "gold", "970", "b550", "ultrastar"];
        for (word, wanted) in [
            ("samsnug", Some("samsung")),
            ("samsun", Some("samsung")),
            ("kioxla", Some("kioxia")),
            ("glod", Some("gold")),
            ("ultrastra", Some("ultrastar")),
            ("ultraxxar", Some("ultrastar")),
            ("ultxxxar", None),
            ("samsungxx", Some("samsung")),
            ("samsungxxx", None),
            // A word with fewer than eight letters may have one wrong letter, and a word with fewer than four must be
            // exact.
            ("smasnug", None),
            ("gol", None),
            // A number with a different digit belongs to another model.
            ("b551", None),
            ("970x", Some("970")),
        ] {
            assert_eq!(nearest_spelling(word, known.into_iter()), wanted, "{word}");
        }
    }
}

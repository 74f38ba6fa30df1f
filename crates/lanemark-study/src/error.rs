//! Errors in files: what is wrong, where, and how to put it right.

use std::fmt;

/// How a message about a name that does not exist begins.
const UNKNOWN: &str = "unknown";

/// A place in a file, or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file as it was named, or what else the value came from.
    pub file: String,
    /// Line and column, from 1, where known.
    pub position: Option<(usize, usize)>,
}

/// Something wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub struct StudyError {
    /// Where it stands.
    pub location: Location,
    /// What is wrong, with the value.
    pub message: String,
    /// How to put it right.
    pub hint: Option<String>,
}

impl Location {
    /// A whole file, or something that has no lines.
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), position: None }
    }

    /// The place of byte `offset` of `text`.
    pub fn at(file: &str, text: &str, offset: usize) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
        Self { file: file.to_owned(), position: Some((line, column)) }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.file),
            None => write!(f, "{}", self.file),
        }
    }
}

impl StudyError {
    /// An error without a hint.
    pub fn new(location: Location, message: impl Into<String>) -> Self {
        Self { location, message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it is about a name that does not exist.
    pub fn is_unknown_name(&self) -> bool {
        self.message.starts_with(UNKNOWN)
    }

    /// An unknown name, with the nearest of those that exist.
    pub fn unknown<'a>(
        location: Location,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut known: Vec<&str> = known.into_iter().collect();
        known.sort_unstable();
        known.dedup();
        let error = Self::new(location, format!("{UNKNOWN} {what} `{name}`"));
        match nearest(name, known.iter().copied()) {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None if known.is_empty() => error,
            None => error.hint(format!("one of {}", known.join(", "))),
        }
    }
}

/// The name that is most like `name`, where any is like it at all.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(name.len()) / 2)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_from_one_in_characters() {
        let text = "a = 1\nµ = 2\n";
        let offset = text.find('2').unwrap();
        assert_eq!(Location::at("f.toml", text, offset).to_string(), "f.toml:2:5");
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest_and_a_wild_one_the_list() {
        let known = ["channels", "planes", "page"];
        assert_eq!(nearest("chanels", known), Some("channels"));
        assert_eq!(nearest("zzzzzzzz", known), None);
        let error = StudyError::unknown(Location::file("f"), "key", "zzzzzzzz", known);
        assert_eq!(error.hint.unwrap(), "one of channels, page, planes");
    }
}

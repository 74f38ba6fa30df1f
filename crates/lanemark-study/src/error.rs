//! Errors in files: a message, its location, and a hint on how to correct the error.

use std::fmt;

use lanemark_sim::SimError;

/// The first word of a message about an unknown name.
const UNKNOWN: &str = "unknown";

/// A location in a file or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file as the user named it, or another source of the value.
    pub file: String,
    /// The line and column, from 1, if known.
    pub position: Option<(usize, usize)>,
}

/// An error in a file, with all other errors in the same file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct StudyError {
    /// Location of the error.
    pub location: Location,
    /// Description of the error, including the value.
    pub message: String,
    /// Advice on how to correct the error.
    pub hint: Option<String>,
    /// Other errors in the file.
    pub beside: Vec<StudyError>,
}

impl fmt::Display for StudyError {
    /// Writes one line per error, with its location.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)?;
        self.beside.iter().try_for_each(|error| write!(f, "\n{error}"))
    }
}

impl Location {
    /// Creates the location of a whole file, or of a source that does not have lines.
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), position: None }
    }

    /// Creates the location of byte `offset` of `text`.
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

/// Returns advice for an error of a simulation.
pub(crate) fn simulation_hint(error: SimError) -> &'static str {
    match error {
        SimError::OutOfRange { .. } => "use a smaller span or offset, or a larger drive",
        SimError::OutOfVolume { .. } => "use a smaller span or offset, or larger drives",
        SimError::NoTarget { .. } => "address a drive of the system",
        SimError::NeverEnds | SimError::Cancelled => {
            "use a smaller volume or time, or a faster drive: a test ends after its volume or time"
        }
        SimError::Memory { .. } => {
            "use a smaller span or volume, larger blocks or a shorter time, or allow more with --memory; \
             simulations that run at the same time share this memory"
        }
        SimError::NotSimulated { .. } => {
            "give each concurrent test a duration or volume, or omit `start = \"beside\"`"
        }
    }
}

impl StudyError {
    /// Moves an error about an unknown name in a library to the location of this name.
    pub(crate) fn located_at(self, location: &Location) -> Self {
        if self.is_unknown_name() && self.location.position.is_none() {
            Self { location: location.clone(), ..self }
        } else {
            self
        }
    }

    /// Creates an error without a hint.
    pub fn new(location: Location, message: impl Into<String>) -> Self {
        Self { location, message: message.into(), hint: None, beside: Vec::new() }
    }

    /// Returns the error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the error with more advice after its hint.
    #[must_use]
    pub(crate) fn with_roomier(mut self, advice: &Option<String>) -> Self {
        if let Some(advice) = advice {
            self.hint = Some(match self.hint.take() {
                Some(hint) if hint.ends_with('?') => format!("{hint} Or, {advice}"),
                Some(hint) => format!("{hint}; {advice}"),
                None => advice.clone(),
            });
        }
        self
    }

    /// Returns whether the error is about a name that does not exist.
    pub fn is_unknown_name(&self) -> bool {
        self.message.starts_with(UNKNOWN)
    }

    /// Creates an error about an unknown name, with the most similar existing names.
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
        let like = nearest(name, known.iter().copied());
        if !like.is_empty() {
            return error.hint(format!("did you mean {}?", either_of(&like)));
        }
        match known.len() {
            0 => error,
            1..=LISTED_MAX => error.hint(format!("one of {}", known.join(", "))),
            many => {
                let first = known[..SUGGESTED_MAX].join(", ");
                error.hint(format!("there are {many}: {first} and so on"))
            }
        }
    }
}

/// The maximum number of names that are listed if no name is similar to the unknown one.
const LISTED_MAX: usize = 12;
/// The maximum number of suggested names.
const SUGGESTED_MAX: usize = 3;

/// Short words from the field and from other programs, each with the word that the library's names contain.
const ALIASES: [(&str, &str); 12] = [
    ("cdm", "crystaldiskmark"),
    ("kdm", "kdiskmark"),
    ("qd", "queue_depth"),
    ("iodepth", "queue_depth"),
    ("depth", "queue_depth"),
    ("numjobs", "threads"),
    ("bs", "block"),
    ("blocksize", "block"),
    ("rw", "pattern"),
    ("rwmixread", "read"),
    ("size", "span"),
    ("runtime", "duration"),
];

/// Maximum length of a name for which similar names are searched. The comparison takes the product of two lengths.
const COMPARED_MAX: usize = 256;

/// Returns up to three names that `name` may mean, the most likely first. The first rule that matches any name
/// determines the result: names that begin with `name`, names that end with `name` after a dot, names that contain
/// `name` or all of its words, names with `name` as an alias, and names that differ by a few typing errors.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > COMPARED_MAX {
        return Vec::new();
    }
    let known: Vec<&str> = known.into_iter().collect();
    let ranked = |rank: &dyn Fn(&str) -> Option<usize>| {
        let mut found: Vec<(usize, &'a str)> =
            known.iter().filter_map(|&candidate| Some((rank(candidate)?, candidate))).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    // Too many names begin with the same two letters for a useful suggestion.
    let as_beginning = |candidate: &str| {
        (name.len() > 2 && candidate.starts_with(name)).then_some(candidate.len())
    };
    let as_ending = |candidate: &str| {
        let rest = candidate.strip_suffix(name)?;
        (!name.is_empty() && rest.ends_with('.')).then_some(candidate.len())
    };
    let slipped = |candidate: &str| {
        let distance = strsim::damerau_levenshtein(name, candidate);
        (distance <= candidate.len().max(name.len()) / 2).then_some(distance)
    };
    let whole = letters(name);
    let words = words(name);
    let contained = |candidate: &str| {
        let candidate_letters = letters(candidate);
        let is_part = whole.len() > 2 && candidate_letters.contains(&whole);
        let has_words =
            || words.len() > 1 && words.iter().all(|word| candidate_letters.contains(word));
        (is_part || has_words()).then_some(candidate.len())
    };
    let as_alias = |candidate: &str| {
        let (_, word) = ALIASES.iter().find(|(alias, _)| *alias == whole)?;
        candidate.contains(word).then_some(candidate.len())
    };
    let mut found = ranked(&as_beginning);
    for rank in [&as_ending as &dyn Fn(&str) -> Option<usize>, &contained, &as_alias] {
        if found.is_empty() {
            found = ranked(rank);
        }
    }
    if found.is_empty() {
        found = ranked(&slipped);
        // A name that is much less similar than the best one is not suggested.
        let least = found.first().map_or(0, |(distance, _)| *distance);
        found.retain(|(distance, _)| *distance <= least + least / 2);
    }
    found.into_iter().take(SUGGESTED_MAX).map(|(_, candidate)| candidate).collect()
}

/// Returns the letters and digits of a name in lower case, without separators.
fn letters(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the words of a name in lower case, without `ssd`, which occurs in model names but not in the library's
/// names.
fn words(name: &str) -> Vec<String> {
    let words = name.split(|letter: char| !letter.is_alphanumeric()).map(letters);
    words.filter(|word| !word.is_empty() && word != "ssd").collect()
}

/// Returns "`a`", "`a` or `b`", "`a`, `b` or `c`".
fn either_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
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
    fn a_part_of_a_name_its_words_and_an_alias_find_it() {
        let drives = ["samsung-970-evo-1tb", "samsung-970-evo-plus-1tb", "samsung-980-pro-1tb"];
        assert_eq!(nearest("970evo", drives), ["samsung-970-evo-1tb", "samsung-970-evo-plus-1tb"]);
        assert_eq!(nearest("EVO 970 Plus", drives), ["samsung-970-evo-plus-1tb"]);
        assert_eq!(nearest("980 PRO SSD", drives), ["samsung-980-pro-1tb"]);
        assert_eq!(nearest("z170", ["workstation-z170", "amd-b450"]), ["workstation-z170"]);
        let tests = ["crystaldiskmark-8-nvme", "crystaldiskmark-8", "quick"];
        assert_eq!(nearest("cdm", tests), ["crystaldiskmark-8", "crystaldiskmark-8-nvme"]);
        assert_eq!(nearest("qd", ["queue_depth", "threads", "block"]), ["queue_depth"]);
        // A text that consists only of separators is not a name.
        assert!(nearest("--", ["a-b-c-d-e-f-g"]).is_empty());
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest_and_a_wild_one_the_list() {
        let known = ["channels", "planes", "page"];
        assert_eq!(nearest("chanels", known), ["channels"]);
        assert!(nearest("zzzzzzzz", known).is_empty());
        let error = StudyError::unknown(Location::file("f"), "key", "zzzzzzzz", known);
        assert_eq!(error.hint.unwrap(), "one of channels, page, planes");
    }

    #[test]
    fn a_beginning_goes_before_a_slip_and_an_end_of_a_place_too() {
        let drives = ["samsung-980-1tb", "samsung-980-pro-1tb", "samsung-980-pro-2tb"];
        assert_eq!(nearest("samsung-980-pro", drives), [drives[1], drives[2]]);
        let places = ["drive.flash.read", "drive.power.read", "drive.flash.erase"];
        assert_eq!(nearest("flash.read", places), ["drive.flash.read"]);
        assert_eq!(nearest("drive.flash.raed", places), ["drive.flash.read"]);
    }

    #[test]
    fn of_many_names_a_few_are_reported() {
        let names: Vec<String> = (0..60).map(|index| format!("drive.number{index}")).collect();
        let known = names.iter().map(String::as_str);
        let hint = StudyError::unknown(Location::file("f"), "parameter", "foo", known).hint;
        let hint = hint.unwrap();
        assert!(hint.starts_with("there are 60: ") && hint.len() < 80, "{hint}");
    }
}

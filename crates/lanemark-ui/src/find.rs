//! The search box of a page: finds the systems that a text may mean.

use lanemark_lab::LabError;
use lanemark_study::Library;
use lanemark_study::document::Document;
use lanemark_study::search::{FoundSystem, LibraryIndex, SearchResult};
use serde::{Deserialize, Serialize};

use crate::answer::upper;
use crate::machine;

/// Maximum number of systems in an answer.
const FOUND_MAX: usize = 8;
/// Maximum length of an unknown word in an answer.
const WORD_MAX: usize = 24;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindRequest {
    /// The text, such as `980 pro in the second slot of a B550`.
    pub text: String,
    /// The system that the text changes.
    #[serde(default)]
    pub present: Option<String>,
}

/// The systems to which a text may refer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindResponse {
    /// The systems, most likely first.
    found: Vec<FoundSystemJson>,
    /// Advice if the text has unknown words, or names parts that do not fit together.
    advice: Option<String>,
}

/// A system to which a text may refer.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct FoundSystemJson {
    system: String,
    /// The system's display name, such as `Samsung SSD 980 PRO 1TB · AMD B550 · m2-2`.
    name: String,
    /// The port's connector, and the links between the port and the processor.
    about: String,
}

/// Adds the running machine to an index.
///
/// # Errors
/// Returns an error if the machine's file is not a platform.
pub fn add_machine(index: &mut LibraryIndex, file: &Document) -> Result<(), LabError> {
    Ok(index.add_platform(machine::NAME, file)?)
}

/// Answers a search box.
pub fn find(index: &LibraryIndex, library: &Library, request: &FindRequest) -> FindResponse {
    let present = request.present.as_deref();
    let result = index.find(library, &request.text, present, FOUND_MAX + 1);
    let advice = advice(&result);
    let found = result.found.into_iter().take(FOUND_MAX).map(to_json).collect();
    FindResponse { advice, found }
}

fn to_json(found_system: FoundSystem) -> FoundSystemJson {
    let behind = match found_system.behind.as_slice() {
        [] => "connected to the processor".to_owned(),
        links => format!("via {}", links.join(", ")),
    };
    FoundSystemJson {
        name: format!("{} · {} · {}", found_system.drive, found_system.platform, found_system.port),
        about: format!("{}, {behind}", found_system.connector),
        system: found_system.system,
    }
}

fn advice(result: &SearchResult) -> Option<String> {
    if let Some(misfit) = &result.misfit {
        return Some(upper(&format!("{misfit}.")));
    }
    let shortened_word = |word: &String| -> String { word.chars().take(WORD_MAX).collect() };
    let words: Vec<String> = result.unknown.iter().take(3).map(shortened_word).collect();
    match (words.as_slice(), result.found.is_empty()) {
        ([], false) => (result.found.len() > FOUND_MAX)
            .then(|| format!("More than {FOUND_MAX} systems match; add a word to narrow them.")),
        ([], true) => Some(
            "No system matches these words. Name a drive, a platform and a port: 980 pro b550 \
             second slot."
                .to_owned(),
        ),
        (words, _) => {
            Some(format!("No drive or platform of the library is named {}.", words.join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str) -> FindResponse {
        let library = Library::built_in();
        let present = Some("samsung-950-pro-512gb@workstation-z170:m2".to_owned());
        find(
            &LibraryIndex::new(&library),
            &library,
            &FindRequest { text: text.to_owned(), present },
        )
    }

    #[test]
    fn words_without_a_meaning_are_named_and_cut() {
        let long = "q".repeat(39);
        let answer = ask(&format!("980 pro {long}"));
        assert!(answer.found.is_empty());
        let advice = answer.advice.unwrap();
        assert!(advice.contains(&format!("named {}.", "q".repeat(WORD_MAX))), "{advice}");
        let none = ask("qqqq zzzz");
        assert!(none.found.is_empty() && none.advice.unwrap().contains("qqqq zzzz"));
        assert!(ask("kioxia pm6 in a b550").advice.unwrap().starts_with("No port of AMD B550"));
        let many = ask("samsung");
        assert_eq!((many.found.len(), many.advice.unwrap().get(..11)), (8, Some("More than 8")));
        assert!(ask("\u{0}\u{7}").found.is_empty());
    }
}

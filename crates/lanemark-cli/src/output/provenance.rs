//! The provenance of results: the user, command line and machine.

use std::ffi::OsString;
use std::sync::OnceLock;

use lanemark_lab::results;
use lanemark_schema::result::Provenance;

/// The command line; the first word is the program's name.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Records the command line, unless one is already recorded, and returns the recorded command line.
pub(crate) fn words_are(words: impl IntoIterator<Item = OsString>) -> &'static [OsString] {
    WORDS.get_or_init(|| words.into_iter().collect())
}

fn command_words() -> Vec<String> {
    WORDS.get().into_iter().flatten().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the provenance of a result whose run starts now.
pub(crate) fn own_provenance(seed: u64) -> Provenance {
    let started_at = results::now();
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_words(),
        seed,
        finished_at: started_at.clone(),
        started_at,
        machine: Some(lanemark_measure::machine()),
        inputs: Default::default(),
        name: None,
    }
}

//! The provenance of the results: the information that is needed to reproduce them.

use lanemark_schema::result::Provenance;
use lanemark_schema::text::shell_word;
use maud::{Markup, html};

use crate::text::number::ABSENT;

/// Maximum number of results whose provenance is shown in full; the provenance of other results is collapsed under
/// their names.
const SHOWN: usize = 4;
/// The heading of the list of files.
const FILES: &str = "Library and study files with their SHA-256";

type HashedFile<'p> = (&'p str, &'p str);

/// Writes the provenance of each result under the result's name. If there are many results, the fields that they share
/// appear once.
pub(crate) fn provenances(results: &[(String, &Provenance)]) -> Markup {
    if results.len() <= SHOWN {
        return html! {
            @for (name, provenance) in results {
                h3 { (name) }
                (fields(provenance, &[]))
                (files(FILES, &list_hashed_files(provenance)))
            }
        };
    }
    let common = common(results);
    let agreed = common_files(results);
    html! {
        @if !common.is_empty() {
            p class="soft" { "All of these results:" }
            dl { @for (term, value) in &common { dt { (term) } dd { (value) } } }
        }
        @for (name, provenance) in results {
            @let remaining: Vec<HashedFile<'_>> = list_hashed_files(provenance).into_iter().filter(|file| !agreed.contains(file)).collect();
            details {
                summary { (name) }
                (fields(provenance, &common))
                (files(FILES, &remaining))
            }
        }
        (files("Library and study files of all results, with their SHA-256", &agreed))
    }
}

/// Returns the fields that have the same value in all results.
fn common(results: &[(String, &Provenance)]) -> Vec<(&'static str, String)> {
    let [(_, first), others @ ..] = results else { return Vec::new() };
    let mut common = values_of(first);
    for (_, other) in others {
        let other = values_of(other);
        common.retain(|field| other.contains(field));
    }
    common
}

/// Returns each file whose digest is the same in all results that contain the file.
fn common_files<'p>(results: &[(String, &'p Provenance)]) -> Vec<HashedFile<'p>> {
    let mut files: Vec<HashedFile<'p>> =
        results.iter().flat_map(|(_, provenance)| list_hashed_files(provenance)).collect();
    files.sort_unstable();
    files.dedup();
    let all = files.clone();
    files.retain(|(name, _)| all.iter().filter(|(other, _)| other == name).count() == 1);
    files
}

fn list_hashed_files(provenance: &Provenance) -> Vec<HashedFile<'_>> {
    provenance.inputs.iter().map(|(file, hash)| (file.as_str(), hash.as_str())).collect()
}

fn files(summary: &str, files: &[HashedFile<'_>]) -> Markup {
    html! {
        @if !files.is_empty() {
            details {
                summary { (summary) " (" (files.len()) ")" }
                ul { @for (file, hash) in files { li { code { (file) " " (hash) } } } }
            }
        }
    }
}

/// Returns all fields except the command, each with its value.
fn values_of(provenance: &Provenance) -> Vec<(&'static str, String)> {
    let machine = provenance.machine.as_ref().map(|machine| {
        format!(
            "{}, {} logical processors, {} of memory, {}",
            machine.cpu, machine.cores, machine.memory_bytes, machine.kernel
        )
    });
    vec![
        ("Version", or_dash(&provenance.version).to_owned()),
        ("Seed", provenance.seed.to_string()),
        ("Began", or_dash(&provenance.started_at).to_owned()),
        ("Written", or_dash(&provenance.finished_at).to_owned()),
        ("Machine", machine.unwrap_or_else(|| ABSENT.to_owned())),
    ]
}

/// Writes the fields of a provenance, except those in `before`.
fn fields(provenance: &Provenance, before: &[(&'static str, String)]) -> Markup {
    html! {
        dl {
            dt { "Command" } dd { code { (or_dash(&command(&provenance.command))) } }
            @for (term, value) in values_of(provenance).iter().filter(|field| !before.contains(field)) {
                dt { (term) } dd { (value) }
            }
        }
    }
}

/// Returns the command as a user would type it.
fn command(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { ABSENT } else { text }
}

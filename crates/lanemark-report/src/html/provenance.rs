//! The provenance of the results: enough to make them again.

use lanemark_core::result::Provenance;
use maud::{Markup, html};

use crate::number::ABSENT;

/// The provenance of each result under its name.
pub(crate) fn provenances(results: &[(String, &Provenance)]) -> Markup {
    html! {
        @for (name, provenance) in results {
            h3 { (name) }
            (fields(provenance))
        }
    }
}

fn fields(provenance: &Provenance) -> Markup {
    let machine = provenance.machine.as_ref().map(|machine| {
        format!(
            "{}, {} logical processors, {} of memory, {}",
            machine.cpu, machine.cores, machine.memory_bytes, machine.kernel
        )
    });
    html! {
        dl {
            dt { "Command" } dd { code { (or_dash(&command(&provenance.command))) } }
            dt { "Version" } dd { (or_dash(&provenance.version)) }
            dt { "Seed" } dd { (provenance.seed) }
            dt { "Began" } dd { (or_dash(&provenance.started_at)) }
            dt { "Written" } dd { (or_dash(&provenance.finished_at)) }
            dt { "Machine" } dd { (machine.as_deref().unwrap_or(ABSENT)) }
        }
        @if !provenance.inputs.is_empty() {
            details {
                summary { "Library and study files with their SHA-256 (" (provenance.inputs.len()) ")" }
                ul { @for (file, hash) in &provenance.inputs { li { code { (file) " " (hash) } } } }
            }
        }
    }
}

/// The command as one would type it.
fn command(words: &[String]) -> String {
    let quoted = |word: &String| {
        let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
        match !word.is_empty() && word.chars().all(safe) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { ABSENT } else { text }
}

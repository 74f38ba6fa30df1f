//! The evidence for the figures: errors, calibrated values, model values, notes and warnings.

use lanemark_schema::result::{FigureRole, RunResult, StudyOutcome, Target};
use maud::{Markup, html};

use super::grid::grid;
use super::shared;
use crate::study::calibration::settings;
use crate::study::error_summary::{ErrorSummary, role_name};
use crate::text::number::{ABSENT, fixed, or_absent};
use crate::text::table::{Cell, Column, Table};
use crate::text::target;

/// Writes the errors of the model, separately for predicted and calibrated figures.
pub(super) fn errors(outcome: &StudyOutcome) -> Markup {
    html! {
        @for role in [FigureRole::Predicted, FigureRole::Calibrated] {
            p {
                b { (capitalised(role_name(role))) ": " }
                (ErrorSummary::from_outcome(outcome, role).sentence(outcome))
            }
        }
    }
}

/// Lists the values that were set from figures, with the reasons; `None` if there are no such values.
pub(super) fn calibrations(outcome: &StudyOutcome) -> Option<Markup> {
    let settings = settings(outcome);
    (!settings.is_empty()).then(|| {
        html! {
            div class="scroll" role="region" aria-label="Calibrations" tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" { "parameter" } th scope="col" { "value" }
                        th scope="col" { "system" } th scope="col" { "set from" } th scope="col" { "why" }
                    } }
                    tbody {
                        @for setting in &settings {
                            @let calibration = setting.calibration;
                            tr {
                                th scope="row" { code { (calibration.parameter) } }
                                td class="text" { (calibration.value) }
                                td class="text" { (setting.systems.join(", ")) }
                                td class="prose" {
                                    (setting.figure.as_deref().unwrap_or("no published figure: a what-if"))
                                }
                                td class="prose" { (calibration.reason.as_deref().unwrap_or(ABSENT)) }
                            }
                        }
                    }
                }
            }
        }
    })
}

/// Counts the sourced, derived and assumed values of each model, and names the assumed values; `None` if no run was
/// simulated.
pub(super) fn models(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let models: Vec<_> = runs
        .iter()
        .filter_map(|(label, run)| match &run.target {
            Target::Simulated(target) => Some((label, target, target::settings(run))),
            Target::Measured(_) | Target::Database(_) => None,
        })
        .collect();
    let mut table = Table::new(vec![
        Column::name("system"),
        Column::name("drive"),
        Column::name("port"),
        Column::number("sourced", "values"),
        Column::number("derived", "values"),
        Column::number("assumed", "values"),
        Column::number("set", "values").optional(1),
    ]);
    for (label, target, _) in &models {
        table.push(vec![
            Cell::plain(*label),
            Cell::plain(&target.drive),
            Cell::plain(format!("{} of {}", target.port, target.platform)),
            Cell::plain(target.values_sourced.to_string()),
            Cell::plain(target.values_derived.to_string()),
            Cell::plain(target.values_assumed.len().to_string()),
            Cell::plain(or_absent(
                Some(target.overrides.len() as f64).filter(|&set| set > 0.0),
                |set| fixed(set, 0),
            )),
        ]);
    }
    let table = table.without_empty_columns();
    (!models.is_empty()).then(|| {
        html! {
            p class="soft" {
                "Sourced values are published, derived values are computed from published values, and assumed values lack a published source."
            }
            (grid(&table, "Model values"))
            (named_lists("values assumed", models.iter().map(|(label, target, _)| (*label, target.values_assumed.clone()))))
            (named_lists("values that differ from the library", models.iter().map(|(label, _, settings)| (*label, settings.clone()))))
        }
    })
}

/// Writes collapsed lists. A list that several runs share appears once, under the names of these runs; empty lists are
/// omitted.
fn named_lists<'n>(what: &str, of: impl Iterator<Item = (&'n String, Vec<String>)>) -> Markup {
    let mut all: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for (name, list) in of.filter(|(_, list)| !list.is_empty()) {
        match all.iter_mut().find(|(_, known)| *known == list) {
            Some((names, _)) => names.push(name),
            None => all.push((vec![name], list)),
        }
    }
    html! {
        @for (names, list) in &all {
            details {
                summary { (names.join(", ")) ": " (what) }
                ul { @for value in list { li { code { (value) } } } }
            }
        }
    }
}

/// Lists the published figures that no run covers, with the reasons; `None` if all are covered.
pub(super) fn not_modelled(outcome: &StudyOutcome) -> Option<Markup> {
    (!outcome.not_modelled.is_empty()).then(|| {
        html! {
            ul {
                @for entry in &outcome.not_modelled {
                    li { (entry.figures.join(", ")) ": " (entry.reason) }
                }
            }
        }
    })
}

/// Lists the contradictions in the document and the errors of the model; `None` if there are no notes.
pub(super) fn notes(outcome: &StudyOutcome) -> Option<Markup> {
    (!outcome.notes.is_empty())
        .then(|| html! { ul { @for note in &outcome.notes { li { (note) } } } })
}

/// Lists every warning with its advice. A warning about runs names all runs to which it applies. Returns `None` if
/// there are no warnings.
pub(super) fn warnings(
    study: Option<&StudyOutcome>,
    runs: &[(&str, &RunResult)],
) -> Option<Markup> {
    let mut listed: Vec<(String, Option<&'static str>)> =
        study.map(target::study_warnings).unwrap_or_default();
    let several = runs.len() > 1 || study.is_some();
    listed.extend(shared(runs, target::warnings).into_iter().map(|((warning, advice), names)| {
        let names = if several { format!("{}: ", names.join(", ")) } else { String::new() };
        (format!("{names}{warning}"), advice)
    }));
    (!listed.is_empty()).then(|| {
        html! {
            ul class="warnings" {
                @for (warning, advice) in target::with_advice(&listed) {
                    li { b { (with_code(warning)) } @if let Some(advice) = advice { ": " (with_code(advice)) "." } }
                }
            }
        }
    })
}

/// Returns a text in which each part between backticks is code.
fn with_code(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

pub(crate) fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

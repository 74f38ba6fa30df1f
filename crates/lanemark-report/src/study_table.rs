//! A study as terminal text: the figures, the errors of the model, the settings, and the answer.

use lanemark_schema::result::{Role, RunResult, StudyOutcome};

use crate::calibration::{Setting, settings};
use crate::error_summary::{ErrorSummary, role_name};
use crate::figure_table;
use crate::run_table::warnings;
use crate::table::Ink;
use crate::terminal::Sheet;
use crate::{Style, answer, beside, target, transactions};

/// Writes a study with its figures, error summary, calibrations, answer, notes and warnings.
///
/// `measured` is a run on this machine. If it has a test of the same name, its figure is shown next to the others
/// without an error, because it ran on other hardware.
pub fn study_table(outcome: &StudyOutcome, measured: Option<&RunResult>, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(&outcome.title);
    sheet.paragraph(&outcome.question);
    if !outcome.document.citation.is_empty() {
        sheet.aside(&outcome.document.citation);
    }
    let here: Vec<(String, &RunResult)> =
        measured.iter().map(|run| ("measured\nhere".to_owned(), *run)).collect();
    for metric in figure_table::metrics(outcome) {
        sheet.blank();
        sheet.heading(figure_table::heading(metric));
        sheet.blank();
        sheet.table(&figure_table::table(outcome, metric, &here));
    }
    let systems: Vec<(&str, &RunResult)> =
        outcome.systems.iter().map(|one| (one.label.as_str(), &one.run)).collect();
    if let Some(table) = transactions::by_test(&systems) {
        sheet.blank();
        sheet.heading("Transactions");
        sheet.blank();
        sheet.table(&table);
    }
    // A study without published figures lacks errors to summarise.
    if !outcome.document.citation.is_empty() {
        sheet.blank();
        for role in [Role::Predicted, Role::Calibrated] {
            let mark = format!("{:<12}", role_name(role));
            sheet.item(&mark, &ErrorSummary::of(outcome, role).sentence(outcome), Ink::Plain);
        }
    }
    calibrations(&mut sheet, &settings(outcome));
    if let Some(answer) = answer(outcome) {
        sheet.blank();
        sheet.heading("Answer");
        sheet.paragraph(&answer);
    }
    if !outcome.not_modelled.is_empty() {
        sheet.blank();
        sheet.heading("Published figures that no run here covers");
        for entry in &outcome.not_modelled {
            let line = format!("{}: {}", entry.figures.join(", "), entry.reason);
            sheet.item("- ", &line, Ink::Plain);
        }
    }
    let told: Vec<String> = (outcome.systems.iter())
        .flat_map(|system| {
            beside::sentences(&system.run).into_iter().map(|one| format!("{}: {one}", system.label))
        })
        .collect();
    if !told.is_empty() {
        sheet.blank();
        sheet.heading("Copies and concurrent tests");
        told.iter().for_each(|sentence| sheet.item("- ", sentence, Ink::Plain));
    }
    if !outcome.notes.is_empty() {
        sheet.blank();
        sheet.heading("Notes");
        outcome.notes.iter().for_each(|note| sheet.item("- ", note, Ink::Plain));
    }
    if let Some(run) = measured {
        sheet.blank();
        sheet.aside(&target::sentence(run));
    }
    doubts(&mut sheet, outcome, measured);
    sheet.finish()
}

fn calibrations(sheet: &mut Sheet, settings: &[Setting<'_>]) {
    if settings.is_empty() {
        return;
    }
    sheet.blank();
    sheet.heading("Calibrations: values that differ from the library");
    for Setting { calibration, systems, figure } in settings {
        let figure = figure.as_deref().unwrap_or("no figure, a what-if");
        let reason =
            calibration.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let systems = systems.join(", ");
        sheet.item(
            "- ",
            &format!("{} = {} in {systems}", calibration.parameter, calibration.value),
            Ink::Plain,
        );
        sheet.item("  ", &format!("from {figure}{reason}"), Ink::Faint);
    }
}

/// Writes the warnings about all systems, each once, then the warnings about the measured run.
fn doubts(sheet: &mut Sheet, outcome: &StudyOutcome, measured: Option<&RunResult>) {
    let mut all: Vec<(String, &'static str)> = target::study_doubts(outcome);
    let here = measured.map(target::doubts).unwrap_or_default();
    all.extend(here.into_iter().map(|(doubt, advice)| (format!("measured here: {doubt}"), advice)));
    warnings(sheet, &all);
}

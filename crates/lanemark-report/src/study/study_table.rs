//! A study as terminal text: the answer, the figures, the errors of the model, and the settings.

use lanemark_schema::result::{FigureRole, RunResult, StudyOutcome};

use super::calibration::{CalibratedSetting, settings};
use super::error_summary::{ErrorSummary, role_name};
use super::{answer, figure_table};
use crate::run::{concurrent, transactions};
use crate::terminal::warnings::write_warnings;
use crate::terminal::{Style, TerminalText};
use crate::text::metric::heading;
use crate::text::number::significant;
use crate::text::table::CellEmphasis;
use crate::text::target;

/// Writes the answer of a study, its figures, error summary and warnings; with `detail`, also its calibrations, its
/// notes, and the published figures that it does not simulate.
///
/// `measured` is a run on this machine. A test in it with the same name adds a figure next to the others, without an
/// error, because the run is from other hardware.
pub fn study_table(
    outcome: &StudyOutcome,
    measured: Option<&RunResult>,
    detail: bool,
    style: &Style,
) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&study_answer(outcome));
    sheet.heading(&outcome.title);
    sheet.paragraph(&outcome.question);
    if detail && !outcome.document.citation.is_empty() {
        sheet.minor_paragraph(&outcome.document.citation);
    }
    write_withheld_claims(&mut sheet, outcome);
    let here: Vec<(String, &RunResult)> =
        measured.iter().map(|run| ("measured\nhere".to_owned(), *run)).collect();
    for metric in figure_table::metrics(outcome) {
        sheet.blank();
        sheet.heading(heading(metric));
        sheet.blank();
        sheet.table(&figure_table::table(outcome, metric, &here));
    }
    let systems: Vec<(&str, &RunResult)> =
        outcome.systems.iter().map(|system| (system.label.as_str(), &system.run)).collect();
    if let Some(table) = transactions::by_test(&systems) {
        sheet.blank();
        sheet.heading("Transactions");
        sheet.blank();
        sheet.table(&table);
    }
    // A study without published figures does not have errors.
    if !outcome.document.citation.is_empty() {
        sheet.blank();
        for role in [FigureRole::Predicted, FigureRole::Calibrated] {
            let mark = format!("{:<12}", role_name(role));
            sheet.item(
                &mark,
                &ErrorSummary::from_outcome(outcome, role).sentence(outcome),
                CellEmphasis::Plain,
            );
        }
    }
    // The written answer precedes the ratios, which are its evidence.
    if let Some(answer) = answer(outcome).filter(|_| written(outcome).is_some()) {
        sheet.blank();
        sheet.paragraph(&answer);
    }
    if detail {
        write_calibrations(&mut sheet, &settings(outcome));
    }
    if detail && !outcome.not_modelled.is_empty() {
        sheet.blank();
        sheet.heading("Published figures that no run here covers");
        for entry in &outcome.not_modelled {
            let line = format!("{}: {}", entry.figures.join(", "), entry.reason);
            sheet.item("- ", &line, CellEmphasis::Plain);
        }
    }
    let sentences: Vec<String> = (outcome.systems.iter())
        .flat_map(|system| {
            concurrent::sentences(&system.run)
                .into_iter()
                .map(|sentence| format!("{}: {sentence}", system.label))
        })
        .collect();
    if !sentences.is_empty() {
        sheet.blank();
        sheet.heading("Copies and concurrent tests");
        sentences.iter().for_each(|sentence| sheet.item("- ", sentence, CellEmphasis::Plain));
    }
    if detail && !outcome.notes.is_empty() {
        sheet.blank();
        sheet.heading("Notes");
        outcome.notes.iter().for_each(|note| sheet.item("- ", note, CellEmphasis::Plain));
    }
    if let Some(run) = measured {
        sheet.blank();
        sheet.minor_paragraph(&target::sentence(run));
    }
    all_warnings(&mut sheet, outcome, measured);
    sheet.finish()
}

/// Returns the answer of a study: the written answer if its claims hold, otherwise the ratios or the errors.
pub fn study_answer(outcome: &StudyOutcome) -> String {
    if let Some(text) = written(outcome) {
        return text.to_owned();
    }
    if let Some(answer) = answer(outcome) {
        return answer;
    }
    let predicted = ErrorSummary::from_outcome(outcome, FigureRole::Predicted);
    match outcome.figures_of(FigureRole::Predicted).next() {
        Some(_) => format!("{}: {}", outcome.title, predicted.sentence(outcome)),
        None => {
            let systems = outcome.systems.len();
            let tests = figure_table::tests(outcome).len();
            let counted = |count: usize, noun: &str| match count {
                1 => format!("1 {noun}"),
                _ => format!("{count} {noun}s"),
            };
            let [tests, systems] = [counted(tests, "test"), counted(systems, "system")];
            format!("{}: {tests} on {systems}.", outcome.title)
        }
    }
}

/// Returns the written answer; `None` if one of its claims does not hold.
fn written(outcome: &StudyOutcome) -> Option<&str> {
    outcome.answer.as_ref().filter(|answer| answer.holds()).map(|answer| answer.text.as_str())
}

/// Writes the claims that do not hold; they are the reason why the written answer is not shown.
fn write_withheld_claims(sheet: &mut TerminalText, outcome: &StudyOutcome) {
    let claims = outcome.answer.iter().flat_map(|answer| &answer.claims);
    for claim in claims.filter(|claim| !claim.holds) {
        let bound = match (claim.from, claim.to) {
            (Some(from), Some(to)) => format!("from {from} to {to}"),
            (Some(from), None) => format!("at least {from}"),
            (None, Some(to)) => format!("at most {to}"),
            (None, None) => "bounded".to_owned(),
        };
        let value = significant(claim.value);
        sheet.item(
            "! ",
            &format!(
                "the written answer is not shown, because it claims that {} is {bound}, but here it is {value}",
                claim.claim
            ),
            CellEmphasis::Warning,
        );
    }
}

fn write_calibrations(sheet: &mut TerminalText, settings: &[CalibratedSetting<'_>]) {
    if settings.is_empty() {
        return;
    }
    sheet.blank();
    sheet.heading("Calibrations: values that differ from the library");
    for CalibratedSetting { calibration, systems, figure } in settings {
        let figure = figure.as_deref().unwrap_or("no published figure: a what-if");
        let reason =
            calibration.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let systems = systems.join(", ");
        sheet.item(
            "- ",
            &format!("{} = {} in {systems}", calibration.parameter, calibration.value),
            CellEmphasis::Plain,
        );
        sheet.item("  ", &format!("from {figure}{reason}"), CellEmphasis::Faint);
    }
}

/// Writes the warnings about all systems, each warning once, then the warnings about the measured run.
fn all_warnings(sheet: &mut TerminalText, outcome: &StudyOutcome, measured: Option<&RunResult>) {
    let mut all: Vec<(String, Option<&'static str>)> = target::study_warnings(outcome);
    let here = measured.map(target::warnings).unwrap_or_default();
    all.extend(
        here.into_iter().map(|(warning, advice)| (format!("measured here: {warning}"), advice)),
    );
    write_warnings(sheet, &all);
}

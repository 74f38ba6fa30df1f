//! Tests of the errors of a study: bounds and near repeats are not part of a mean, and coverage is shown with the width
//! of the intervals.

use lanemark_report::{Style, study_table};
use lanemark_schema::result::{BoundKind, FigureRole, PredictionInterval, StudyOutcome};

use crate::fixture;

const STYLE: Style = Style { width: 200, colour: false };

fn predicted_line(outcome: &StudyOutcome) -> String {
    let text = study_table(outcome, None, true, &STYLE);
    let line = text.lines().find(|line| line.starts_with("predicted")).unwrap_or_default();
    line.to_owned()
}

#[test]
fn a_bound_that_is_met_lowers_no_mean() {
    let mut outcome = fixture::study();
    let all = outcome.distinct(FigureRole::Predicted).len();
    let figure = outcome
        .figures
        .iter_mut()
        .find(|figure| figure.figure.role == FigureRole::Predicted)
        .unwrap();
    figure.figure.bound = BoundKind::AtMost;
    figure.error = 0.0;
    let distinct = outcome.distinct(FigureRole::Predicted);
    assert_eq!(distinct.len(), all - 1);
    let mean = distinct.iter().map(|one| one.error.abs()).sum::<f64>() / distinct.len() as f64;
    let line = predicted_line(&outcome);
    assert!(line.contains("1 bound, met"), "{line}");
    assert!(line.contains(&format!("mean {:.1}%", 100.0 * mean)), "{line}");
}

#[test]
fn a_near_repeat_counts_once_and_a_calibrated_figure_comes_first() {
    let mut outcome = fixture::study();
    let all = outcome.distinct(FigureRole::Predicted).len();
    let calibrated = outcome
        .figures
        .iter()
        .find(|figure| figure.figure.role == FigureRole::Calibrated)
        .unwrap()
        .clone();
    for (factor, counts) in [(1.015, false), (1.03, true)] {
        let mut outcome = outcome.clone();
        let mut repeat = calibrated.clone();
        repeat.figure.role = FigureRole::Predicted;
        repeat.figure.published *= factor;
        repeat.figure.id = "repeat".to_owned();
        // A second system has the same drive.
        let mut system = outcome
            .systems
            .iter()
            .find(|system| system.name == repeat.figure.system)
            .unwrap()
            .clone();
        system.name = "other".to_owned();
        repeat.figure.system = "other".to_owned();
        outcome.systems.push(system);
        outcome.figures.insert(0, repeat);
        let distinct = outcome.distinct(FigureRole::Predicted);
        assert_eq!(distinct.len(), all + usize::from(counts), "{factor}");
    }
    outcome.figures.retain(|figure| figure.figure.role == FigureRole::Calibrated);
    assert!(outcome.distinct(FigureRole::Predicted).is_empty());
}

#[test]
fn an_interval_that_predicts_little_is_marked() {
    let mut outcome = fixture::study();
    for (low_ratio, marked) in [(0.5, false), (0.001, true)] {
        for system in &mut outcome.systems {
            for test in &mut system.run.tests {
                let widest = None;
                test.interval = Some(PredictionInterval {
                    low_ratio,
                    high_ratio: 1.2,
                    widest,
                    percentiles: Vec::new(),
                });
            }
        }
        let text = study_table(&outcome, None, true, &STYLE);
        assert_eq!(text.contains(" !"), marked, "{text}");
        assert!(predicted_line(&outcome).contains("median width"), "{text}");
    }
}

#[test]
fn simulated_values_without_published_figures_have_their_interval() {
    let mut outcome = fixture::study();
    for test in outcome.systems.iter_mut().flat_map(|system| &mut system.run.tests) {
        test.interval = Some(PredictionInterval {
            low_ratio: 0.5,
            high_ratio: 2.0,
            widest: None,
            percentiles: Vec::new(),
        });
    }
    outcome.figures.truncate(1);
    let rows: usize = outcome.systems.iter().map(|system| system.run.tests.len()).sum();
    let text = study_table(&outcome, None, true, &STYLE);
    let ranges = text.lines().filter(|line| line.split("  ").any(is_range)).count();
    assert_eq!(ranges, rows, "{text}");
}

/// Returns whether a cell contains the bounds of an interval, such as `267–1,068`.
fn is_range(cell: &str) -> bool {
    let number = |text: &str| {
        !text.is_empty() && text.chars().all(|sign| sign.is_ascii_digit() || ",.".contains(sign))
    };
    cell.trim().split_once('–').is_some_and(|(low, high)| number(low) && number(high))
}

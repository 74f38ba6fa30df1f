//! Tests of the medians, worst figures and coverage of a study.

use lanemark_schema::result::{
    FigureMetric, PredictionInterval, Publication, PublishedFigure, Statistic, StudySystem,
};
use lanemark_schema::workload::AverageMethod;

use super::*;
use crate::run_tests::{interval, reads, run, test};

/// Returns the check of a published figure of 100 MB/s with the simulated value `simulated`.
fn check(test: &str, role: FigureRole, bound: BoundKind, simulated: f64) -> FigureCheck {
    let figure = PublishedFigure {
        id: test.to_owned(),
        system: "s".to_owned(),
        test: test.to_owned(),
        metric: FigureMetric::Throughput,
        published: 100.0,
        bound,
        over: None,
        place: "Table 1".to_owned(),
        role,
    };
    FigureCheck::new(figure, Statistic::from_values(&[simulated], AverageMethod::Mean))
}

/// Returns a study with two tests that read; `figures` may name other tests.
fn study(figures: Vec<FigureCheck>, interval: Option<&PredictionInterval>) -> StudyOutcome {
    // One request in ten milliseconds is about 110 MB/s or 160 MB/s.
    let known = |name: &str, kib: u64| {
        let mut known = test(name, vec![reads(10, kib, &[50])]);
        known.interval = interval.cloned();
        known
    };
    let run = run(vec![known("a", 1074), known("b", 1563)]);
    StudyOutcome {
        schema_version: run.schema_version,
        provenance: run.provenance.clone(),
        id: "study".to_owned(),
        title: "Study".to_owned(),
        question: "Question?".to_owned(),
        document: Publication { file: String::new(), citation: String::new() },
        systems: vec![StudySystem { name: "s".to_owned(), label: "System".to_owned(), run }],
        figures,
        comparison: None,
        answer: None,
        not_modelled: Vec::new(),
        notes: Vec::new(),
    }
}

fn predicted(errors: &[f64]) -> StudyOutcome {
    let all = errors.iter().enumerate();
    let of = |(index, simulated): (usize, &f64)| {
        check(&format!("only {index}"), FigureRole::Predicted, BoundKind::Exactly, *simulated)
    };
    study(all.map(of).collect(), None)
}

#[test]
fn the_median_is_the_middle_and_the_worst_has_its_sign() {
    let text_of = |errors: &[f64]| {
        let outcome = predicted(errors);
        ErrorSummary::from_outcome(&outcome, FigureRole::Predicted).sentence(&outcome)
    };
    let end = "; these test the model.";
    for (simulated, wanted) in [
        (&[][..], "no figures.".to_owned()),
        (
            &[107.0],
            format!(
                "1 figure, absolute error: median 7.0%, mean 7.0%, worst +7.0% (System only 0){end}"
            ),
        ),
        (
            &[110.0, 98.0],
            format!(
                "2 figures, absolute error: median 6.0%, mean 6.0%, worst +10.0% (System only 0){end}"
            ),
        ),
        (
            &[101.0, 70.0, 108.0],
            format!(
                "3 figures, absolute error: median 8.0%, mean 13.0%, worst -30.0% (System only 1){end}"
            ),
        ),
        (
            &[101.0, 70.0, 108.0, 104.0],
            format!(
                "4 figures, absolute error: median 6.0%, mean 10.8%, worst -30.0% (System only 1){end}"
            ),
        ),
    ] {
        assert_eq!(text_of(simulated), wanted);
    }
}

#[test]
fn bounds_and_near_repeats_are_counted_apart() {
    use BoundKind::{AtLeast, AtMost, Exactly};
    let of = |bounds: &[(BoundKind, f64)], role: FigureRole| {
        let bounds = bounds.iter().enumerate();
        let bounds = bounds.map(|(index, &(bound, simulated))| {
            check(&format!("bound {index}"), role, bound, simulated)
        });
        // Both tests have equal requests, and their figures are within 5% of each other, so the second figure is a near
        // repeat of the first.
        let exact = [("a", 110.0), ("b", 111.0)];
        let exact = exact.map(|(test, simulated)| check(test, role, Exactly, simulated));
        let outcome = study(exact.into_iter().chain(bounds).collect(), None);
        ErrorSummary::from_outcome(&outcome, role).sentence(&outcome)
    };
    let distinct = "absolute error of the 1 distinct figures: median 10.0%, mean 10.0%";
    let text = of(&[], FigureRole::Calibrated);
    assert!(
        text.starts_with(&format!("2 figures (including 1 near repeat), {distinct}")),
        "{text}"
    );
    assert!(text.ends_with("these set model values, so they do not test the model."), "{text}");
    let text = of(&[(AtLeast, 120.0)], FigureRole::Predicted);
    assert!(text.contains("3 figures (including 1 bound, met; 1 near repeat)"), "{text}");
    let text = of(&[(AtLeast, 120.0), (AtMost, 70.0), (AtMost, 125.0)], FigureRole::Predicted);
    assert!(text.contains("5 figures (including 3 bounds, 2 met; 1 near repeat)"), "{text}");
    assert!(text.contains("worst +25.0% (System bound 2)"), "{text}");
}

#[test]
fn figures_within_their_intervals_are_counted() {
    let text_of = |low_ratio: f64, high_ratio: f64| {
        let interval = interval(low_ratio, high_ratio);
        let exact = [("a", 110.0), ("b", 160.0)];
        let exact = exact
            .map(|(test, found)| check(test, FigureRole::Predicted, BoundKind::Exactly, found));
        let outcome = study(exact.to_vec(), Some(&interval));
        ErrorSummary::from_outcome(&outcome, FigureRole::Predicted).sentence(&outcome)
    };
    let width = |inside: u32, width: &str| {
        format!(", {inside} of 2 in their 80% intervals (median width, high over low: {width});")
    };
    let text = text_of(0.8, 1.2);
    assert!(text.contains(&width(1, "1.50")), "{text}");
    let text = text_of(0.5, 1.5);
    assert!(text.contains(&width(2, "3.00")), "{text}");
}

#[test]
fn roles_have_names() {
    assert_eq!(
        [FigureRole::Calibrated, FigureRole::Predicted].map(role_name),
        ["calibrated", "predicted"]
    );
}

//! The scores of known predictions and measurements equal values that were computed by hand.

use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Test;
use lanemark_validation::corpus::CorpusSet;
use lanemark_validation::figures::{
    ALL, GradeSelection, PublishedFigures, TAILS, WITHOUT_RESCTL_BENCH,
};
use lanemark_validation::prediction::{PredictedMeasurement, PredictionRatioInterval};
use lanemark_validation::published::Predictions;
use lanemark_validation::report;
use lanemark_validation::score::{Nearness, PredictionErrors, Score};

/// Ten predictions of a measurement of 100.
const PREDICTED: [f64; 10] = [100.0, 110.0, 90.0, 120.0, 80.0, 150.0, 50.0, 200.0, 100.0, 100.0];

/// Returns ten rows, for which the rule of thumb predicts 110, and the rule of limits 200. Eight rows have an interval
/// from 0.8 to 1.25.
fn ten() -> Vec<PredictedMeasurement> {
    let one = |(index, &predicted): (usize, &f64)| PredictedMeasurement {
        has_verified_ratings: index % 2 == 0,
        row: index,
        test: Test::of_blocks(Bytes::kibi(4)),
        path: None,
        rates: None,
        class: if index < 6 { "mix" } else { "saturated" }.to_owned(),
        grade: if index % 2 == 0 { "A" } else { "C" }.to_owned(),
        is_of_resctl_bench: index == 7,
        is_tail: index == 4,
        set: if index == 9 { CorpusSet::Training } else { CorpusSet::Validation },
        published: 100.0,
        predicted,
        interval: (index < 8).then(|| PredictionRatioInterval {
            low: 0.8,
            high: 1.25,
            widest: String::new(),
        }),
        rule: 110.0,
        limits: 200.0,
        line: format!("line {index}"),
    };
    PREDICTED.iter().enumerate().map(one).collect()
}

fn assert_near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9, "{one} and {other}");
}

#[test]
fn errors_are_those_computed_by_hand() {
    let rows = ten();
    let score = Score::from_rows(&rows.iter().collect::<Vec<_>>());
    assert_eq!(score.rows, 10);
    // The sorted errors are 0, 0, 0, 10, 10, 20, 20, 50, 50 and 100. The sixth error is the upper of the two middle
    // values.
    assert_near(score.model.median_percent, 20.0);
    assert_near(score.model.mean_percent, 26.0);
    // 1.1 / 0.9 * 1.2 / 0.8 * 1.5 / 0.5 * 2 = 11.
    assert_near(score.model.factor, 11f64.powf(0.1));
    // 1.1 * 0.9 * 1.2 * 0.8 * 1.5 * 0.5 * 2 = 1.4256.
    assert_near(score.bias.unwrap(), 1.4256f64.powf(0.1));
    assert_near(score.rule.median_percent, 10.0);
    assert_near(score.rule.mean_percent, 10.0);
    assert_near(score.rule.factor, 1.1);
    assert_near(score.limits.factor, 2.0);
}

#[test]
fn shares_and_coverage_are_those_computed_by_hand() {
    let rows = ten();
    let score = Score::from_rows(&rows.iter().collect::<Vec<_>>());
    // The model is exact for three rows, and equal to the rule for one row.
    assert_near(score.nearer_percent, 30.0);
    assert_near(score.tied_percent, 10.0);
    assert_near(score.rule_nearer_percent, 60.0);
    // These are the first five of the eight rows with an interval. The upper bound of the interval is 100 / 80, and the
    // interval includes its bounds.
    assert_near(score.coverage_percent.unwrap(), 62.5);
    assert_near(score.width.unwrap(), 1.5625);
}

#[test]
fn a_tie_is_a_difference_of_less_than_one_percent() {
    let standing = |predicted: f64| {
        let one = PredictedMeasurement { predicted, ..ten().swap_remove(0) };
        Nearness::compare(&one)
    };
    assert_eq!(standing(110.0 * 0.0099f64.exp()), Nearness::Tied);
    assert_eq!(standing(110.0 * 0.0101f64.exp()), Nearness::RuleNearer);
    assert_eq!(standing(110.0 * (-0.0101f64).exp()), Nearness::Nearer);
    assert_eq!(standing(0.0), Nearness::RuleNearer);
}

#[test]
fn an_empty_corpus_has_only_finite_figures() {
    let score = Score::from_rows(&[]);
    assert_eq!(
        score.model,
        PredictionErrors { median_percent: 0.0, mean_percent: 0.0, factor: 1.0 }
    );
    assert_eq!((score.coverage_percent, score.bias, score.width), (None, None, None));
    let none = Predictions { comparisons: Vec::new(), skipped: Vec::new() };
    assert!(!none.figures().text().contains("NaN"));
}

#[test]
fn scores_are_by_set_grades_and_class() {
    let predictions = Predictions { comparisons: ten(), skipped: vec!["T99: no value".into()] };
    let figures = predictions.figures();
    let rows = |set, grades, class| figures.score(set, grades, class).map(|figure| figure.rows);
    let validation = CorpusSet::Validation;
    assert_eq!(rows(validation, GradeSelection::All, "mix"), Some(6));
    assert_eq!(rows(validation, GradeSelection::All, "saturated"), Some(3));
    assert_eq!(rows(validation, GradeSelection::All, ALL), Some(9));
    assert_eq!(rows(validation, GradeSelection::All, WITHOUT_RESCTL_BENCH), Some(8));
    assert_eq!(rows(validation, GradeSelection::AAndB, ALL), Some(5));
    assert_eq!(rows(validation, GradeSelection::AAndB, TAILS), Some(1));
    assert_eq!(rows(CorpusSet::Training, GradeSelection::All, TAILS), None);
    assert_eq!(rows(CorpusSet::Training, GradeSelection::All, "mix"), None);
    assert_eq!(rows(CorpusSet::Training, GradeSelection::All, ALL), Some(1));
    let mut out = Vec::new();
    predictions.write(&mut out, true).unwrap();
    let text = String::from_utf8(out).unwrap();
    let head = "line 9\n10 rows compared, 1 skipped\nskipped: T99: no value\n";
    assert!(text.starts_with(head), "{text}");
    assert!(!text.contains("line 1\n"), "rows of the validation set are never listed");
    assert!(text.contains("\nvalidation set: 9 rows\n"), "{text}");
}

#[test]
fn saved_figures_give_the_tables_of_the_figures_themselves() {
    let figures = Predictions { comparisons: ten(), skipped: Vec::new() }.figures();
    let saved = PublishedFigures::parse(&figures.text()).unwrap();
    assert_eq!(saved.text(), figures.text());
    let table = report::published_table(&saved);
    // Without the tenth row, the errors are 0, 0, 10, 10, 20, 20, 50, 50 and 100. Their mean is 260 / 9, and the
    // geometric mean is the ninth root of 11.
    let all = "| all | validation | 9 | 20.0%, 28.9%, 1.31 | 10.0%, 10.0%, 1.10 | 100.0%, 100.0%, 2.00 | 22% | 11% | 67% | 62% |\n";
    assert!(table.contains(all), "{table}");
    let training = "| all | training | 1 | 0.0%, 0.0%, 1.00 | 10.0%, 10.0%, 1.10 | 100.0%, 100.0%, 2.00 | 100% | 0% | 0% | – |\n";
    assert!(table.contains(training), "{table}");
    assert!(table.contains("| mix, grades A and B | validation | 3 |"), "{table}");
    assert!(table.contains("| p99 latency, all classes | validation | 1 | 20.0%,"), "{table}");
}

#[test]
fn saved_figures_that_are_broken_are_errors_with_their_line() {
    let text = Predictions { comparisons: ten(), skipped: Vec::new() }.figures().text();
    let error = |text: &str| PublishedFigures::parse(text).unwrap_err().to_string();
    assert!(error("").contains("published.csv:1: the columns must be set,grades,class,rows"));
    let broken = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        error(&text.replacen(from, to, 1))
    };
    assert!(
        broken("training,all,saturated,1,", "training,all,saturated,-1,")
            .contains("`rows` is `-1`")
    );
    assert!(broken("training", "test").contains(":2: `set` is `test`, which is not known"));
    assert!(broken(",0.0,0.0,1.00,", ",NaN,0.0,1.00,").contains("`model_median_percent` is `NaN`"));
    assert!(
        error(&format!("{text}{}\n", text.lines().nth(1).unwrap()))
            .contains("an earlier line has the same")
    );
}

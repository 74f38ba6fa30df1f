//! The scores of a few cells of a grid equal values that were computed by hand, and several runs can be saved.

use lanemark_validation::figures::{ALL, GridFigures, GridScore};
use lanemark_validation::grids::score::{GridCell, by_kind};
use lanemark_validation::report;

fn cell(test: &str, predicted: f64, rule: f64, truth: f64) -> GridCell {
    GridCell {
        test: test.to_owned(),
        here: 100.0,
        truth,
        predicted,
        rule,
        interval: Some((0.9 * predicted, 1.25 * predicted)),
        same_limit: truth == 100.0,
        widest: String::new(),
        models: (100.0, predicted),
    }
}

fn four() -> Vec<GridCell> {
    vec![
        // The prediction is exact, while the rule is off by 20%.
        cell("randread-1-1", 100.0, 120.0, 100.0),
        // The prediction equals the rule, so neither is nearer, and both are off by 10%.
        cell("randread-4-8", 110.0, 110.0, 100.0),
        // The prediction is off by 50%, and the rule is exact. The truth is below the interval.
        cell("randwrite-1-1", 150.0, 100.0, 100.0),
        // The prediction is off by 20%, and the rule by 100%. The truth is the upper bound of the interval.
        cell("randwrite-64-64", 40.0, 100.0, 50.0),
    ]
}

#[test]
fn scores_are_those_computed_by_hand() {
    let score = GridScore::from_cells(&four());
    assert_eq!(score.cells, 4);
    let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one}, {other}");
    near(score.model_median_percent, 20.0);
    near(score.model_mean_percent, 20.0);
    near(score.rule_median_percent, 20.0);
    near(score.rule_mean_percent, 32.5);
    near(score.nearer_percent, 50.0);
    near(score.alike_percent.unwrap(), 25.0);
    near(score.coverage_percent, 75.0);
    near(score.below_percent.unwrap(), 25.0);
    near(score.above_percent.unwrap(), 0.0);
    near(score.width.unwrap(), 1.25 / 0.9);
}

#[test]
fn kinds_follow_from_their_cells() {
    let rows = by_kind("a run", 1, &four());
    let counts: Vec<(&str, usize)> =
        rows.iter().map(|row| (row.kind.as_str(), row.score.cells)).collect();
    let wanted = [
        ("reads", 2),
        ("writes", 2),
        ("one at a time", 2),
        ("limit stays", 3),
        ("limit moves", 1),
        ("slower there", 1),
        (ALL, 4),
    ];
    assert_eq!(counts, wanted);
}

#[test]
fn no_cells_have_a_score_of_zero() {
    let score = GridScore::from_cells(&[]);
    assert_eq!((score.cells, score.model_median_percent, score.coverage_percent), (0, 0.0, 0.0));
    assert!(!report::grid_line(&score).contains("NaN"));
}

#[test]
fn a_run_replaces_only_itself_and_its_table_shows_the_saved_figures() {
    let mut figures = GridFigures::default();
    figures.replace("first, of two", by_kind("first, of two", 1, &four()));
    figures.replace("second", by_kind("second", 2, &four()[..1]));
    figures.replace("first, of two", by_kind("first, of two", 3, &four()[..3]));
    let saved = GridFigures::parse(&figures.text()).unwrap();
    assert_eq!(saved.text(), figures.text());
    let table = report::grids_table(&saved);
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(rows.len(), 8, "{table}");
    let first = "| **first, of two**, 3 drives | 3 | 10.0%, 20.0% | 10.0%, 10.0% | 33% | 67% |";
    assert_eq!(rows[0], first);
    assert!(rows[1].starts_with("| first, of two, reads | 2 |"), "{table}");
    assert!(rows[4].starts_with("| **second**, 2 drives | 1 |"), "{table}");
}

#[test]
fn saved_grids_that_are_broken_are_errors_with_their_line() {
    let mut figures = GridFigures::default();
    figures.replace("run", by_kind("run", 1, &four()));
    let text = figures.text();
    let error = |text: &str| GridFigures::parse(text).unwrap_err().to_string();
    assert!(error("run,drives\n").contains("grids.csv:1: the columns must be run,drives,kind"));
    let huge = text.replacen("run,1,reads,2,", "run,1,reads,99999999999999999999999,", 1);
    assert!(error(&huge).contains("grids.csv:2: `cells` is `99999999999999999999999`"));
    let twice = format!("{text}{}\n", text.lines().nth(1).unwrap());
    assert!(error(&twice).contains("grids.csv:9: an earlier line has the same run and kind"));
}

//! Writes figures as tables, for a terminal and in Markdown for the documents.

use std::fmt::Write;

use crate::corpus::{CLASSES, CorpusSet};
use crate::figures::{
    ALL, FLUSHES, GradeSelection, GridFigures, GridRow, GridScore, PublishedFigures, PublishedRow,
    TAILS, VERIFIED_RATINGS, WITHOUT_RESCTL_BENCH,
};
use crate::score::{PredictionErrors, Score};

/// Kinds of cells in grids, in the order of the document's table.
const KINDS: [&str; 4] = [ALL, "reads", "writes", "one at a time"];

/// Returns the tables of published measurements for a terminal, by set and grades.
pub fn published_text(figures: &PublishedFigures) -> String {
    let mut text = String::new();
    for set in CorpusSet::ALL {
        for (grades, name) in
            [(GradeSelection::All, ""), (GradeSelection::AAndB, ", settings and machine known")]
        {
            let is_of_set = |row: &&PublishedRow| row.set == set && row.grades == grades;
            let rows: Vec<&PublishedRow> = figures.rows.iter().filter(is_of_set).collect();
            let count = rows.iter().find(|row| row.class == ALL).map_or(0, |row| row.score.rows);
            let _ = writeln!(text, "\n{} set{name}: {count} rows", set.name());
            let _ = writeln!(
                text,
                "{:<18} {:>4}  {:>22}  {:>22}  {:>22}  {:>6} {:>6} {:>6}  {:>8} {:>6} {:>6}",
                "class",
                "rows",
                "model: x, median, mean",
                "rule of thumb",
                "link and rating",
                "nearer",
                "tied",
                "rule",
                "coverage",
                "width",
                "bias"
            );
            rows.iter().for_each(|row| text += &terminal_line(&row.class, &row.score));
        }
    }
    text
}

fn terminal_line(class: &str, score: &Score) -> String {
    let cells = |errors: PredictionErrors| {
        let PredictionErrors { median_percent, mean_percent, factor } = errors;
        format!("{factor:>6.2} {median_percent:>6.1}% {mean_percent:>6.1}%")
    };
    let dash = || "–".to_owned();
    format!(
        "{class:<18} {:>4}  {:>22}  {:>22}  {:>22}  {:>5.0}% {:>5.0}% {:>5.0}%  {:>8} {:>6} {:>6}\n",
        score.rows,
        cells(score.model),
        cells(score.rule),
        cells(score.limits),
        score.nearer_percent,
        score.tied_percent,
        score.rule_nearer_percent,
        score.coverage_percent.map_or_else(dash, |share| format!("{share:.0}%")),
        score.width.map_or_else(dash, |width| format!("x{width:.1}")),
        score.bias.map_or_else(dash, |bias| format!("x{bias:.2}")),
    )
}

/// Returns the table of published measurements for a document: each class for both sets, followed by the classes of the
/// validation set for grades A and B.
pub fn published_table(figures: &PublishedFigures) -> String {
    let mut text = String::from(
        "| class | set | rows | model | rule | link and rating | nearer | tied | rule nearer | coverage |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let sets = CorpusSet::ALL;
    let mut line = |name: &str, set: CorpusSet, grades: GradeSelection, class: &str| {
        if let Some(score) = figures.score(set, grades, class) {
            text += &document_line(name, set, score);
        }
    };
    for class in CLASSES {
        sets.iter().for_each(|set| line(class, *set, GradeSelection::All, class));
    }
    for (class, name) in [
        (TAILS, "p99 latency, all classes"),
        (FLUSHES, "flushes, all classes"),
        (VERIFIED_RATINGS, "all with verified ratings"),
        (WITHOUT_RESCTL_BENCH, "all without resctl-bench"),
        (ALL, "all"),
    ] {
        sets.iter().for_each(|set| line(name, *set, GradeSelection::All, class));
    }
    for class in CLASSES {
        line(
            &format!("{class}, grades A and B"),
            CorpusSet::Validation,
            GradeSelection::AAndB,
            class,
        );
    }
    sets.iter().for_each(|set| line("all of grades A and B", *set, GradeSelection::AAndB, ALL));
    text
}

fn document_line(name: &str, set: CorpusSet, score: &Score) -> String {
    let cell = |errors: PredictionErrors| {
        let PredictionErrors { median_percent, mean_percent, factor } = errors;
        format!("{median_percent:.1}%, {mean_percent:.1}%, {factor:.2}")
    };
    format!(
        "| {name} | {} | {} | {} | {} | {} | {:.0}% | {:.0}% | {:.0}% | {} |\n",
        set.name(),
        score.rows,
        cell(score.model),
        cell(score.rule),
        cell(score.limits),
        score.nearer_percent,
        score.tied_percent,
        score.rule_nearer_percent,
        score.coverage_percent.map_or("–".to_owned(), |share| format!("{share:.0}%")),
    )
}

/// Returns the figures of cells of grids as a line for a terminal.
pub fn grid_line(score: &GridScore) -> String {
    let GridScore { cells, model_median_percent, model_mean_percent, .. } = score;
    let GridScore { rule_median_percent, rule_mean_percent, nearer_percent, .. } = score;
    let share = |share: Option<f64>| share.unwrap_or(f64::NAN);
    format!(
        "{cells:>5} cells  model {model_median_percent:>5.1}% {model_mean_percent:>6.1}%  rule {rule_median_percent:>5.1}% {rule_mean_percent:>6.1}%  nearer {nearer_percent:>3.0}% alike {:>3.0}%  within {:>3.0}% (below {:.0}%, above {:.0}%)  width {:.2}",
        share(score.alike_percent),
        score.coverage_percent,
        share(score.below_percent),
        share(score.above_percent),
        share(score.width),
    )
}

/// Returns the figures of a run by kind of cells for a terminal.
pub fn grids_text(rows: &[GridRow]) -> String {
    rows.iter().map(|row| format!("{:<14} {}\n", row.kind, grid_line(&row.score))).collect()
}

/// Returns the table of grids for a document. Runs with scores by kind are bold.
pub fn grids_table(figures: &GridFigures) -> String {
    let mut text = String::from(
        "| | cells | model: median, mean | rule: median, mean | nearer | within the 80% interval |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    let mut runs: Vec<&str> = figures.rows.iter().map(|row| row.run.as_str()).collect();
    runs.dedup();
    for run in runs {
        let rows: Vec<&GridRow> = figures.rows.iter().filter(|row| row.run == run).collect();
        for kind in KINDS {
            let Some(row) = rows.iter().find(|row| row.kind == kind) else { continue };
            let name = match (kind, rows.len()) {
                (ALL, 1) => format!("{run}, {} drives", row.drives),
                (ALL, _) => format!("**{run}**, {} drives", row.drives),
                (kind, _) => format!("{run}, {kind}"),
            };
            let score = &row.score;
            let _ = writeln!(
                text,
                "| {name} | {} | {:.1}%, {:.1}% | {:.1}%, {:.1}% | {:.0}% | {:.0}% |",
                score.cells,
                score.model_median_percent,
                score.model_mean_percent,
                score.rule_median_percent,
                score.rule_mean_percent,
                score.nearer_percent,
                score.coverage_percent,
            );
        }
    }
    text
}

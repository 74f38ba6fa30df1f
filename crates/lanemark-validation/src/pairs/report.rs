//! The scores of pairs as tables in Markdown. The terminal shows the same tables.

use std::fmt::Write;

use lanemark_schema::result::{ChangeKind, RequestGroup};

use super::{PairFigures, PairRow};
use crate::corpus::CorpusSet;
use crate::figures::{ALL, FLUSHES, GradeSelection, PublishedFigures};

/// Returns the tables of predicted ratios, of predictions from a measurement, of the order of drives, and of the
/// learned factors.
pub fn pairs_table(figures: &PairFigures) -> String {
    let mut text = String::from(
        "| what differs | requests | set | pairs | drives | direction right, rule | factor, rule, no difference | coverage, synthetic | \
         width | claims, right | above 25%, claimed |\n|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for kind in ChangeKind::ALL {
        for group in [None].into_iter().chain(RequestGroup::ALL.map(Some)) {
            for set in CorpusSet::ALL {
                let name = set.name();
                let row = figures.row(set, kind, group).filter(|row| row.score.pairs > 0);
                if let Some(row) = row {
                    text += &pair_line(row, name);
                }
            }
        }
    }
    text += "\n| a measurement of the first system predicts the second: what differs | set | typical factor | \
             coverage |\n|---|---|---:|---:|\n";
    for_each_row(figures, |row, name| {
        if let (None, Some(carried)) = (row.group, &row.carried) {
            let _ = writeln!(
                text,
                "| {} | {name} | x{:.2} | {:.0}% |",
                row.kind.name(),
                carried.median_factor,
                carried.coverage_percent
            );
        }
    });
    text += "\n| drives measured alike | set | pairs | right, wrong | rule: right, wrong |\n|---|---|---:|---:|---:|\n";
    for_each_row(figures, |row, name| {
        if let (Some(rank), true) = (&row.rank, row.score.pairs > 0) {
            let _ = writeln!(
                text,
                "| {} | {name} | {} | {:.0}%, {:.0}% | {:.0}%, {:.0}% |",
                row.group.map_or(ALL, RequestGroup::name),
                row.score.pairs,
                rank.right_percent,
                rank.wrong_percent,
                rank.rule_right_percent,
                rank.rule_wrong_percent
            );
        }
    });
    text + &omitted_table(figures)
}

/// Calls `each` with the rows by kind and requests, each with the name of its set.
fn for_each_row<'f>(figures: &'f PairFigures, mut each: impl FnMut(&'f PairRow, &'static str)) {
    for kind in ChangeKind::ALL {
        for group in [None].into_iter().chain(RequestGroup::ALL.map(Some)) {
            for set in CorpusSet::ALL {
                let name = set.name();
                if let Some(row) = figures.row(set, kind, group) {
                    each(row, name);
                }
            }
        }
    }
}

fn omitted_table(figures: &PairFigures) -> String {
    let mut text = format!(
        "\n| factor for omitted effects | {} |\n|---|---:|---:|---:|\n",
        RequestGroup::ALL.map(RequestGroup::name).join(" | ")
    );
    for kind in ChangeKind::ALL {
        let cells = RequestGroup::ALL.map(|group| {
            let row = figures.row(CorpusSet::Training, kind, Some(group));
            let factor = row.and_then(|row| row.omitted);
            factor.map_or("–".to_owned(), |factor| format!("{factor:.2}"))
        });
        let _ = writeln!(text, "| {} | {} |", kind.name(), cells.join(" | "));
    }
    text
}

fn pair_line(row: &PairRow, set: &str) -> String {
    let score = &row.score;
    let share = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{share:.0}%"));
    format!(
        "| {} | {} | {set} | {} | {} | {:.0}%, {:.0}% | x{:.2}, x{:.2}, x{:.2} | {}, {} | {} | {}, {} | {}, {} |\n",
        row.kind.name(),
        row.group.map_or(ALL, RequestGroup::name),
        score.pairs,
        score.units,
        score.right_percent,
        score.rule_right_percent,
        score.factor,
        score.rule_factor,
        score.equal_factor,
        share(score.coverage_percent),
        share(score.synthetic_percent),
        score.width.map_or("–".to_owned(), |width| format!("x{width:.2}")),
        score.claims,
        share(score.claims_right_percent),
        score.large,
        share(score.large_claimed_percent),
    )
}

/// Returns README's table: the questions of a buyer, with the typical error and the coverage of the validation set.
pub fn buyer_table(pairs: &PairFigures, published: &PublishedFigures) -> String {
    let mut text = String::from(
        "| your question | typical error | inside the interval | rows |\n|---|---:|---:|---:|\n",
    );
    let plain = Some(RequestGroup::Plain);
    let comparisons = [
        ("the same drive in another port: how many times as fast?", ChangeKind::Port, None),
        ("another drive in the same machine", ChangeKind::Drive, plain),
        ("more requests at once", ChangeKind::Depth, plain),
        ("larger requests", ChangeKind::BlockSize, plain),
        ("writes instead of reads", ChangeKind::Direction, plain),
    ];
    for (question, kind, group) in comparisons {
        let row = pairs.row(CorpusSet::Validation, kind, group);
        if let Some(PairRow { score, .. }) = row.filter(|row| row.score.pairs > 0) {
            let error = 100.0 * (score.median_factor - 1.0);
            text += &buyer_line(question, error, score.coverage_percent, score.pairs);
        }
    }
    let figures = [
        ("the rate of a path with a known limit", "path-limited"),
        ("one request at a time", "one-at-a-time"),
        ("a deep queue", "saturated"),
        ("writes that last, steady", "writes-steady"),
        ("writes after the cache is full", "writes-sustained"),
        ("reads and writes mixed", "mix"),
        ("writes that wait for a flush", FLUSHES),
    ];
    for (question, class) in figures {
        let score = published.score(CorpusSet::Validation, GradeSelection::All, class);
        if let Some(score) = score {
            text += &buyer_line(
                question,
                score.model.median_percent,
                score.coverage_percent,
                score.rows,
            );
        }
    }
    text
}

/// The number of measurements below which README states no accuracy.
const ROWS_MIN: usize = 5;

fn buyer_line(question: &str, error: f64, coverage: Option<f64>, rows: usize) -> String {
    if rows < ROWS_MIN {
        return format!("| {question} | too few rows | – | {rows} |\n");
    }
    let coverage = coverage.map_or("–".to_owned(), |share| format!("{share:.0}%"));
    format!("| {question} | {error:.0}% | {coverage} | {rows} |\n")
}

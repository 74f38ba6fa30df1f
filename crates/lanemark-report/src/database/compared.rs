//! Two runs compared as text, in lines of up to [`WIDTH`] columns.

use std::fmt::Write;

use lanemark_schema::result::RunResult;

use super::change::{FigureChange, compare, interval, warnings};
use super::text::{NO_TPC_RESULT, parts, push_line, title};
use super::wrapped::{WIDTH, wrapped};
use crate::number::{fixed, grouped, percent_whole};

/// Writes two runs on databases as a table: each figure with its change, followed by a line with the intervals and the
/// verdict. Returns `None` if one of the runs is not on a database.
pub fn database_compare_text(from: &RunResult, to: &RunResult) -> Option<String> {
    let changes = compare(from, to);
    let mut text = wrapped(&answer(from, to, &changes)?, 0);
    text.push('\n');
    for (side, run) in [("A", from), ("B", to)] {
        text += &wrapped(&format!("{side}  {}", title(parts(run)?.0)), 3);
    }
    let _ = writeln!(text, "\n{:<24}{:>12}{:>12}{:>12}", "", "A", "B", "change");
    for change in &changes {
        text += &row(change);
    }
    text += &wrapped("\nBelow each figure: the 95% confidence interval of its mean.", 0);
    let warnings = warnings(from, to);
    if !warnings.is_empty() {
        text.push('\n');
    }
    warnings.iter().for_each(|warning| text += &wrapped(&format!("warning: {warning}"), 7));
    text.push('\n');
    text += &wrapped(NO_TPC_RESULT, 0);
    Some(text)
}

/// Returns a text such as `B completes 12% more transactions a minute than A, 13,800 instead of 12,345 (PostgreSQL
/// 17.11 with 4 users)`.
fn answer(from: &RunResult, to: &RunResult, changes: &[FigureChange]) -> Option<String> {
    let (database, _, _) = parts(to)?;
    parts(from)?;
    let is_throughput = |change: &&FigureChange| change.name.starts_with("tpm");
    let product = &database.product;
    let Some(change) = changes.iter().find(is_throughput) else {
        return Some(format!(
            "A and B on {product}: transactions a minute are not known for both runs."
        ));
    };
    let [a, b] = [change.from.value, change.to.value].map(|rate| grouped(&fixed(rate, 0)));
    let by = percent_whole((change.to.value / change.from.value - 1.0).abs());
    let more = if change.to.value >= change.from.value { "more" } else { "fewer" };
    Some(match change.verdict.words() {
        None => format!(
            "B completes {by} {more} transactions a minute than A on {product}: {b} instead of {a}."
        ),
        Some(words) => {
            format!(
                "B completes {b} transactions a minute on {product}, and A completes {a}: {words}."
            )
        }
    })
}

fn row(change: &FigureChange) -> String {
    let a = change.from.value;
    let b = change.to.value;
    let digits = match a.max(b) {
        1_000.0.. => 0,
        100.0.. => 1,
        _ => 3,
    };
    let per_cent = change.per_cent.map_or("–".to_owned(), |per_cent| format!("{per_cent:+.1}%"));
    let formatted = |value| grouped(&fixed(value, digits));
    let mut text =
        format!("{:<24}{:>12}{:>12}{per_cent:>12}\n", change.name, formatted(a), formatted(b));
    let mean = |statistic| {
        let (low, high) = interval(statistic)?;
        // A figure here cannot be negative, although the interval of a few repeats may extend below zero.
        Some(format!("{} to {}", formatted(low.max(0.0)), formatted(high)))
    };
    let mut below = Vec::new();
    if let Some((a, b)) = mean(&change.from).zip(mean(&change.to)) {
        below.push(format!("A {a}, B {b}"));
    }
    if change.name.ends_with(", %") {
        below.push(format!("{:+.1} points", b - a));
    }
    below.extend(change.verdict.words().map(str::to_owned));
    let mut one = String::new();
    for part in below {
        if !one.is_empty() && 2 + one.chars().count() + 2 + part.chars().count() > WIDTH {
            push_line(&mut text, &format!("  {one}"));
            one.clear();
        }
        one += if one.is_empty() { "" } else { "; " };
        one += &part;
    }
    if !one.is_empty() {
        push_line(&mut text, &format!("  {one}"));
    }
    text
}

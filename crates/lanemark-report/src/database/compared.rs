//! Two runs compared as text.

use lanemark_schema::result::{RunResult, Statistic};

use super::change::{ChangeVerdict, FigureChange, compare, warnings};
use super::text::{NO_TPC_RESULT, parts, title};
use crate::terminal::{Style, TerminalText};
use crate::text::number::{fixed, or_absent, percent, percent_signed, percent_whole, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// Writes two runs on databases as a table: each figure with its interval, its change and its verdict. Returns `None`
/// if one of the runs is not on a database.
pub fn database_compare_text(from: &RunResult, to: &RunResult, style: &Style) -> Option<String> {
    let changes = compare(from, to);
    let mut sheet = TerminalText::new(style);
    sheet.answer(&answer(from, to, &changes)?);
    for (side, run) in [("A  ", from), ("B  ", to)] {
        sheet.item(side, &title(parts(run)?.0), CellEmphasis::Plain);
    }
    sheet.blank();
    sheet.table(&table(&changes));
    sheet.minor_paragraph("interval: the 95% confidence interval of the mean.");
    let verdicts = [ChangeVerdict::Indistinct, ChangeVerdict::NoSpread, ChangeVerdict::Others];
    for verdict in verdicts {
        let occurs = changes.iter().any(|change| change.verdict == verdict);
        if let Some(words) = verdict.words().filter(|_| occurs) {
            sheet.minor_paragraph(&format!("{}: {words}.", verdict.mark()));
        }
    }
    for warning in warnings(from, to) {
        sheet.item("warning: ", &warning, CellEmphasis::Warning);
    }
    sheet.blank();
    sheet.minor_paragraph(NO_TPC_RESULT);
    Some(sheet.finish())
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
    let [a, b] = [change.from.value, change.to.value].map(|rate| fixed(rate, 0));
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

/// Builds the table of the figures of both runs.
fn table(changes: &[FigureChange]) -> Table {
    let mut table = Table::new(vec![
        Column::name("figure"),
        Column::number("A", ""),
        Column::number("interval", "").optional(1),
        Column::number("B", ""),
        Column::number("interval", "").optional(1),
        Column::number("change", ""),
        Column::text("shown"),
    ]);
    for change in changes {
        let side = |statistic: &Statistic| {
            let half = statistic.interval_95.map(|(low, high)| (high - low) / 2.0);
            let share = half.filter(|_| statistic.value > 0.0).map(|half| half / statistic.value);
            let share = or_absent(share, |share| format!("±{}", percent(share)));
            [Cell::strong(significant(statistic.value)), Cell::inked(share, CellEmphasis::Faint)]
        };
        let mut cells = vec![Cell::plain(&change.name)];
        cells.extend([&change.from, &change.to].into_iter().flat_map(side));
        let by = or_absent(change.per_cent, |per_cent| percent_signed(per_cent / 100.0));
        cells.extend([Cell::plain(by), Cell::plain(change.verdict.mark())]);
        table.push(cells);
    }
    table
}

//! A run on a real database as text: its figures with their spread, the parts of a transaction's time, and each kind of
//! transaction.

use lanemark_schema::result::{
    DatabaseTarget, RunResult, Sample, Target, TestResult, TransactionFigures,
};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{DatabaseUsers, LoadKind, TransactionKind};

use super::{TimePart, TimeSplit, table};
use crate::terminal::warnings::write_warnings;
use crate::terminal::{Style, TerminalText};
use crate::text::block::Block;
use crate::text::number::{fixed, or_absent, percent, percent_whole, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use crate::text::target::warnings;

/// The disclaimer that every result contains.
pub(super) const NO_TPC_RESULT: &str =
    "TPC-C-derived workload; not a TPC result, and not comparable with other programs' figures.";

/// Returns the database of a run on a real database, with the test and its users; `None` for any other run.
pub(super) fn parts(run: &RunResult) -> Option<(&DatabaseTarget, &TestResult, &DatabaseUsers)> {
    let Target::Database(database) = &run.target else { return None };
    let test = run.tests.first()?;
    let LoadKind::Database(users) = &test.test.asks else { return None };
    Some((database, test, users))
}

/// Writes a run on a real database as tables; `None` for any other run, or if no repeat has ended.
pub fn database_text(run: &RunResult, style: &Style) -> Option<String> {
    let (database, test, _) = parts(run)?;
    let mut sheet = TerminalText::new(style);
    sheet.answer(&answer(database, test));
    sheet.paragraph(&title(database));
    let settings = database.settings.iter();
    let settings: Vec<String> = settings.map(|(name, value)| format!("{name} {value}")).collect();
    sheet.paragraph(&settings.join(", "));
    sheet.blank();
    sheet.table(&table(&[("mean", test)]));
    sheet.blank();
    sheet.blocks(&blocks(test));
    write_warnings(&mut sheet, &warnings(run));
    sheet.blank();
    sheet.minor_paragraph(NO_TPC_RESULT);
    Some(sheet.finish())
}

/// Returns the blocks of a test with transactions, in groups: the settings, the parts of a transaction's time, and the
/// kinds of transactions. Empty for any other test.
pub(crate) fn blocks(test: &TestResult) -> Vec<Vec<Block<'_>>> {
    let LoadKind::Database(users) = &test.test.asks else { return Vec::new() };
    let mut groups = vec![vec![Block::Text(settings_sentence(test, users))]];
    if let Some(split) = TimeSplit::from_test(test) {
        let measured = split.measured.map_or(String::new(), |(running, ready)| {
            let [running, ready] = [running, ready].map(significant);
            format!(
                "; measured: {running} ms on a processor, {ready} ms ready for one (part of every class)"
            )
        });
        groups.push(vec![
            Block::Text(format!("Time of a transaction, {}{measured}.", split.source)),
            Block::Table("Time of a transaction", parts_of_time(split.parts)),
        ]);
    }
    if TransactionKind::ALL.iter().any(|&kind| test.kind(kind).count > 0) {
        groups.push(vec![Block::Table("Kinds of transactions", transactions(test))]);
    }
    groups
}

/// Returns a sentence such as `PostgreSQL 17.11 completes 12,345 transactions a minute with 4 users: 19.4 ms each, 63%
/// of it in the device`.
fn answer(database: &DatabaseTarget, test: &TestResult) -> String {
    let product = &database.product;
    let version = database.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let users = match test.test.threads {
        1 => "1 user".to_owned(),
        users => format!("{users} users"),
    };
    let Some(rate) = test.transactions_per_minute().filter(|rate| rate.count > 0) else {
        return format!("{product}{version} completed no transaction with {users}.");
    };
    let mean = test.of_transactions(TransactionFigures::response_ms);
    let mean = mean.map_or(String::new(), |mean| format!(": {} ms each", significant(mean.value)));
    let share = test.over_samples(Sample::device_share).map(|statistic| statistic.value);
    let share = share.filter(|_| !mean.is_empty()).map_or(String::new(), |share| {
        format!(", {} of it in the device", percent_whole(share.min(1.0)))
    });
    let rate = fixed(rate.value, 0);
    format!("{product}{version} completes {rate} transactions a minute with {users}{mean}{share}.")
}

/// Returns a line such as `PostgreSQL 17.11 · postgres://host/shop`.
pub(super) fn title(database: &DatabaseTarget) -> String {
    let version = database.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    format!("{}{version} · {}", database.product, database.name)
}

/// States the settings of a test in a sentence.
fn settings_sentence(test: &TestResult, users: &DatabaseUsers) -> String {
    let part = match users.divisor {
        1 => String::new(),
        divisor => format!(" (scale 1/{divisor})"),
    };
    let think = match (users.think_times, users.pause) {
        (true, _) => "with think times".to_owned(),
        (false, Duration::ZERO) => "no think times".to_owned(),
        (false, pause) => format!("a pause of {pause}"),
    };
    let repeats = counted_noun(test.samples.len() as i64, "repeat");
    let length = test.test.duration.map_or(String::new(), |duration| {
        format!(" of {} s after a ramp of {} s", duration.as_seconds(), test.test.ramp.as_seconds())
    });
    format!(
        "Profile {}, {}{part}, {}, {think}; {repeats}{length}.",
        users.profile.name(),
        counted_noun(users.warehouses, "warehouse"),
        counted_noun(test.test.threads, "user"),
    )
}

/// Returns a number with its noun, such as `1 user` or `2 users`.
fn counted_noun(count: impl Into<i64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// Builds the table of the parts of a transaction's time.
fn parts_of_time(parts: Vec<TimePart>) -> Table {
    let mut table = Table::new(vec![
        Column::name("part"),
        Column::number("time", "ms"),
        Column::number("share", ""),
        Column::text(""),
    ]);
    for TimePart { name, ms, share, note, .. } in parts {
        table.push(vec![
            Cell::plain(name),
            Cell::plain(significant(ms)),
            Cell::plain(percent(share)),
            Cell::inked(note, CellEmphasis::Faint),
        ]);
    }
    table
}

/// Builds the table of the kinds of transactions.
fn transactions(test: &TestResult) -> Table {
    let mut table = Table::new(vec![
        Column::name("transaction"),
        Column::number("count", ""),
        Column::number("share", ""),
        Column::number("rolled back", "").optional(2),
        Column::number("retries", "").optional(2),
        Column::number("mean", "ms"),
        Column::number("50%", "ms").optional(1),
        Column::number("95%", "ms"),
        Column::number("99%", "ms"),
    ]);
    let uses = TransactionKind::ALL.map(|kind| (kind, test.kind(kind)));
    let all: u64 = uses.iter().map(|(_, usage)| usage.count).sum();
    for (kind, usage) in uses {
        let ms = |ns: Option<f64>| or_absent(ns, |ns| significant(ns / 1e6));
        let percentile =
            |percentile| ms(usage.latency.percentile_ns(percentile).map(|ns| ns as f64));
        let share = (all > 0).then(|| usage.count as f64 / all as f64);
        let cells = [
            kind.name().to_owned(),
            usage.count.to_string(),
            or_absent(share, percent),
            usage.rolled_back.to_string(),
            usage.retries.to_string(),
            ms(usage.latency.mean_known_ns()),
            percentile(50.0),
            percentile(95.0),
            percentile(99.0),
        ];
        table.push(cells.map(Cell::plain).to_vec());
    }
    table
}

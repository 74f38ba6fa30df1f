//! The latencies of a test as a table: a row per direction, and the 80% intervals of percentiles.

use lanemark_schema::result::{
    DirectionResult, LatencyHistogram, LiveDelivery, ReplayCounts, Sample, TestResult,
};

use crate::text::block::Block;
use crate::text::number::{ABSENT, LatencyUnit, latency_mean_ns, or_absent, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// Columns of the latency table other than mean and maximum, each with its rank in the order of omission.
const PERCENTILES: [(f64, &str, u8); 5] = [
    (50.0, "p50", 0),
    (90.0, "p90", 2),
    (99.0, "p99", 0),
    (99.9, "p99.9", 1),
    (99.99, "p99.99", 3),
];

/// Returns the latencies of a test, or the reason why they are not known.
pub(super) fn blocks(test: &TestResult) -> Vec<Block<'_>> {
    let latency = test.latency();
    let block = if test.samples.iter().any(Sample::is_counted_by_device) {
        Block::text("Individual requests are not known: only the device counted them.")
    } else if latency.count() == 0 {
        Block::text("No request was completed.")
    } else {
        Block::Table("Latency", table(test, &latency))
    };
    vec![block]
}

fn table(test: &TestResult, all: &LatencyHistogram) -> Table {
    let reads = direction(test, |sample| sample.reads.as_ref());
    let writes = direction(test, |sample| sample.writes.as_ref());
    let besides = |own: fn(&Sample) -> Option<&DirectionResult>,
                   of_replay: fn(&ReplayCounts) -> Option<&DirectionResult>| {
        direction(test, |sample| own(sample).or(sample.replay.as_ref().and_then(of_replay)))
    };
    let flushes = besides(|sample| sample.flushes.as_ref(), |replay| replay.flushes.as_ref());
    let trims = besides(|sample| sample.trims.as_ref(), |replay| replay.trims.as_ref());
    let mut rows: Vec<(&str, &LatencyHistogram)> = Vec::new();
    rows.extend(reads.as_ref().map(|reads| ("reads", reads)));
    rows.extend(writes.as_ref().map(|writes| ("writes", writes)));
    // Some programs count reads and writes only together.
    if rows.len() == 2 || test.samples.iter().any(|sample| sample.unified.is_some()) {
        rows.push(("all", all));
    }
    rows.extend(flushes.as_ref().map(|flushes| ("flushes", flushes)));
    rows.extend(trims.as_ref().map(|trims| ("trims", trims)));
    let delivered = |of: fn(&LiveDelivery) -> Option<&DirectionResult>| {
        direction(test, |sample| sample.live.as_ref().and_then(of))
    };
    let reads_delivered = delivered(|live| live.reads.as_ref());
    let writes_delivered = delivered(|live| live.writes.as_ref());
    rows.extend(reads_delivered.as_ref().map(|reads| ("reads, delivered", reads)));
    rows.extend(writes_delivered.as_ref().map(|writes| ("writes, delivered", writes)));
    let unit = LatencyUnit::fitting(rows.iter().map(|(_, latency)| latency.mean_ns()));
    let mut columns = vec![
        Column::text("latency"),
        Column::number("requests", "").optional(4),
        Column::number("mean", unit.name()),
    ];
    let percentile =
        |(_, name, rank): &(f64, &str, u8)| Column::number(name, unit.name()).optional(*rank);
    columns.extend(PERCENTILES.iter().map(percentile));
    columns.push(Column::number("max", unit.name()));
    let mut table = Table::new(columns);
    let time = |ns: Option<f64>| or_absent(ns, |ns| significant(unit.convert(ns)));
    for (name, latency) in rows {
        let mut cells = vec![
            Cell::plain(name),
            Cell::plain(latency.count().to_string()),
            Cell::strong(time(latency_mean_ns(latency))),
        ];
        cells.extend(PERCENTILES.iter().map(|(percentile, ..)| {
            Cell::plain(time(latency.percentile_ns(*percentile).map(|ns| ns as f64)))
        }));
        let longest = latency.max_ns().filter(|_| !latency.is_constant());
        cells.push(Cell::plain(time(longest.map(|ns| ns as f64))));
        table.push(cells);
    }
    for (name, end) in interval_rows(test) {
        let absent = || Cell::plain(ABSENT);
        let mut cells = vec![Cell::inked(name, CellEmphasis::Faint), absent(), absent()];
        cells.extend(PERCENTILES.iter().map(|(percentile, ..)| {
            Cell::inked(
                time(test.percentile_interval_ns(*percentile).map(end)),
                CellEmphasis::Faint,
            )
        }));
        cells.push(absent());
        table.push(cells);
    }
    table
}

/// Returns the bound of an interval that a row shows.
type IntervalEndGetter = fn((f64, f64)) -> f64;

/// Returns the rows for the 80% intervals of percentiles, each with its name and bound; empty if no percentile has an
/// interval.
fn interval_rows(test: &TestResult) -> Vec<(&'static str, IntervalEndGetter)> {
    if PERCENTILES.iter().any(|(at, ..)| test.percentile_interval_ns(*at).is_some()) {
        vec![("80% from", |(low, _)| low), ("80% to", |(_, high)| high)]
    } else {
        Vec::new()
    }
}

/// Returns the latency of one direction over all repeats; `None` if that direction had no requests.
fn direction(
    test: &TestResult,
    of: impl Fn(&Sample) -> Option<&DirectionResult>,
) -> Option<LatencyHistogram> {
    let mut merged = LatencyHistogram::new();
    test.samples.iter().filter_map(of).for_each(|direction| merged.merge(&direction.latency));
    (merged.count() > 0).then_some(merged)
}

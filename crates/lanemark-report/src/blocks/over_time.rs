//! A sample over time as sentences and as tables.
//!
//! Phases are reported only if the data shows them: the time during which no data was moved, and the time at which the
//! figures become steady by the rule of SNIA's specification (`lanemark_schema::result::steady`).

use lanemark_schema::result::DrivePhases;
use lanemark_schema::result::series::SeriesPoint;
use lanemark_schema::result::steady::{
    RANGE_MAX, RoundsOutcome, SLOPE_MAX, SteadyWindow, UnsteadyReason,
};
use lanemark_schema::result::{Sample, Series, SteadyState};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::TrackedFigure;

use crate::text::number::{
    LatencyUnit, fixed, grouped, or_absent, percent, percent_whole, significant,
};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use crate::text::time::{time_text, time_unit};

/// Maximum number of rows in a table of a series.
const ROWS: usize = 12;

/// The reason why equal figures of a drive are not steady.
const ERASED_FLASH: &str =
    "the drive still fills erased flash, and garbage collection has not begun";

/// Describes a sample over time in one or two sentences; empty if there is nothing to report.
pub(crate) fn sentences(sample: &Sample) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(steady) = &sample.steady {
        sentences.push(steadiness(steady));
    } else if let Some(series) = &sample.series {
        sentences.extend(phases(series));
    }
    sentences
}

/// Formats a mean of requests a second.
fn mean(value: f64) -> String {
    grouped(&fixed(value, 0))
}

fn steadiness(steady: &SteadyState) -> String {
    let length = steady.rule.length;
    let figures = match &steady.window {
        Some(window) => format!(": {}", spread(window, steady.rounds.len(), steady.rule.tracked)),
        None => String::new(),
    };
    match steady.outcome {
        RoundsOutcome::Reached { round } => format!(
            "Steady by SNIA's rule after round {round}, with rounds of {length}{figures}. The reported figures are from these rounds."
        ),
        RoundsOutcome::NotReached { reason: UnsteadyReason::ErasedFlash } => format!(
            "Not steady after {} rounds of {length}, because {ERASED_FLASH}{figures}. The reported figures are from these rounds.",
            steady.rounds.len(),
        ),
        RoundsOutcome::NotReached { .. } => format!(
            "Not steady after {} rounds of {length} by SNIA's rule, which allows a span of {} and a slope of {}{figures}. The reported figures are from these rounds.",
            steady.rounds.len(),
            percent_whole(RANGE_MAX),
            percent_whole(SLOPE_MAX),
        ),
    }
}

/// Returns a text such as `in rounds 5 to 9 the requests a second span 3.4% of their mean, and their best-fit line
/// falls by 1.2%`.
fn spread(window: &SteadyWindow, last: usize, tracked: TrackedFigure) -> String {
    let what = match tracked {
        TrackedFigure::Iops => "requests a second",
        TrackedFigure::Throughput => "bytes a second",
        TrackedFigure::Latency => "mean latencies",
    };
    let verb = if window.slope < 0.0 { "falls" } else { "rises" };
    format!(
        "in rounds {} to {last} the {what} span {} of their mean, and their best-fit line {verb} by {}",
        window.first_round,
        percent(window.range),
        percent(window.slope_range)
    )
}

fn phases(series: &Series) -> Option<String> {
    let phases = DrivePhases::from_series(series);
    let window = phases.window.filter(|_| series.points.len() > 1)?;
    let unmoved = match phases.nothing_moved.filter(|_| is_written(series)) {
        Some(time) if time >= series.elapsed() => "Collection moved nothing. ".to_owned(),
        Some(time) if time > Duration::ZERO => {
            format!("Garbage collection moved nothing in the first {}. ", time_text(time))
        }
        _ => String::new(),
    };
    let rounds = format!("By SNIA's rule in rounds of {}", time_text(phases.round));
    let amplification = phases.write_amplification.map_or(String::new(), |value| {
        format!(", at a write amplification of {}", significant(value))
    });
    let steady = match phases.steady_from {
        Some(from) => {
            let from = match from {
                Duration::ZERO => "the start".to_owned(),
                from => time_text(from),
            };
            let mean = mean(window.mean);
            format!(
                "the requests a second are steady from {from} on, {mean} in the last five{amplification}."
            )
        }
        None if phases.uses_up_flash => {
            format!("the requests a second are not steady at the end, because {ERASED_FLASH}.")
        }
        None => "the requests a second are not steady at the end.".to_owned(),
    };
    Some(format!("{unmoved}{rounds} {steady}"))
}

/// Returns whether any data was written; a drive without writes does not collect garbage.
pub(crate) fn is_written(series: &Series) -> bool {
    series.points.iter().any(|point| point.writes > 0)
}

/// Builds the table of the series with up to a dozen rows; a test that runs in rounds has one row per round.
pub(crate) fn table(sample: &Sample) -> Option<Table> {
    if let Some(steady) = &sample.steady {
        return Some(rounds(steady));
    }
    let series = sample.series.as_ref().filter(|series| series.points.len() > 1)?;
    let rows = series.condensed(ROWS);
    let (time, seconds) = time_unit(series.elapsed());
    let latencies = rows.points.iter().map(|point| point.latency_mean_ns);
    let latency = LatencyUnit::fitting(latencies);
    let mut table = Table::new(vec![
        Column::number("from", time),
        Column::number("IOPS", "1/s"),
        Column::number("MB/s", "10^6 B/s"),
        Column::number("mean", latency.name()).optional(2),
        Column::number("max", latency.name()).optional(1),
        Column::number("WA", "").optional(3),
    ]);
    let cell = |point: &SeriesPoint, ns: f64| {
        or_absent((point.requests() > 0).then_some(ns), |ns| significant(latency.convert(ns)))
    };
    for (index, point) in rows.points.iter().enumerate() {
        table.push(vec![
            Cell::plain(significant(rows.start(index).as_seconds() / seconds)),
            Cell::plain(fixed(rows.iops(index), 0)),
            Cell::strong(significant(rows.throughput(index) / 1e6)),
            Cell::plain(cell(point, point.latency_mean_ns)),
            Cell::plain(cell(point, point.latency_max_ns as f64)),
            Cell::plain(or_absent(point.write_amplification(), |value| fixed(value, 2))),
        ]);
    }
    Some(table.without_empty_columns())
}

/// Builds the table of all rounds; the rounds of the measurement window are in bold.
fn rounds(steady: &SteadyState) -> Table {
    let unit = LatencyUnit::fitting(steady.rounds.iter().map(|round| round.latency_mean_ns));
    let mut table = Table::new(vec![
        Column::number("round", ""),
        Column::number("IOPS", "1/s"),
        Column::number("MB/s", "10^6 B/s"),
        Column::number("mean", unit.name()).optional(2),
        Column::number("WA", "").optional(1),
    ]);
    let first = steady.window.map_or(u32::MAX, |window| window.first_round);
    for (number, round) in (1..).zip(&steady.rounds) {
        let ink = if number >= first { CellEmphasis::Strong } else { CellEmphasis::Plain };
        let cell = |text: String| Cell::inked(text, ink);
        let amplification = round.drive.and_then(|drive| drive.write_amplification());
        table.push(vec![
            cell(number.to_string()),
            cell(fixed(round.iops, 0)),
            cell(significant(round.throughput_bytes_per_second / 1e6)),
            cell(significant(unit.convert(round.latency_mean_ns))),
            cell(or_absent(amplification, |value| fixed(value, 2))),
        ]);
    }
    table.without_empty_columns()
}

#[cfg(test)]
mod tests;

//! The detail of one test: its figures, its latency, and the parts of a request's time.
//!
//! The time budget is averaged over repeats, and its rows sum to the mean latency. Utilisation is a property of one
//! hop; a busy hop may add little latency, and an idle hop may add much. A single run cannot show the gain from a
//! faster hop. The gain is reported if additional runs determined it ([`sensitivity`]).

use crate::wrong;
use lanemark_schema::result::{
    ClientDeviation, DeliveryEvidence, DirectionResult, LatencyHistogram, LiveDelivery,
    LiveVerdict, PathLimit, ReplayCounts, RunResult, Sample, StartContent, TestResult,
};
use lanemark_schema::units::Bytes;

use crate::Style;
use crate::budget::{Budget, HopShare};
use crate::energy;
use crate::explanation;
use crate::faults;
use crate::flash_writes;
use crate::number::{
    ABSENT, LatencyUnit, NO_SPREAD, fixed, known_value, latency_mean_ns, or_absent, percent,
    percent_whole, significant, spread,
};
use crate::over_time;
use crate::readings;
use crate::run_table::{cpu_ns, write_warnings};
use crate::sensitivity;
use crate::table::{Cell, CellEmphasis, Column, Table};
use crate::target;
use crate::terminal::TerminalText;

/// Utilisation from which a hop is called busy. Below this utilisation, by queueing theory, the waiting time of a
/// request is shorter than its service time or about as long, so the latency of an idle path is more informative.
const BUSY: f64 = 0.5;
/// Width of a utilisation bar in columns.
const BAR: usize = 10;
/// Columns of the latency table other than mean and maximum, each with its rank in the order of omission.
const PERCENTILES: [(f64, &str, u8); 5] = [
    (50.0, "p50", 0),
    (90.0, "p90", 2),
    (99.0, "p99", 0),
    (99.9, "p99.9", 1),
    (99.99, "p99.99", 3),
];

/// Writes one test of `run` in detail: throughput, latency and, if known, the time budget; then the target and every
/// warning about it.
pub fn test_detail(run: &RunResult, test: &TestResult, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    write_body(&mut sheet, run, test);
    sheet.blank();
    sheet.paragraph(&target::sentence(run));
    write_warnings(&mut sheet, &target::warnings(run));
    sheet.finish()
}

/// Writes all tests of `run` in detail, without the target and the warnings, for a page that already shows them.
pub fn test_details(run: &RunResult, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    for (index, test) in run.tests.iter().enumerate() {
        if index > 0 {
            sheet.blank();
        }
        write_body(&mut sheet, run, test);
    }
    sheet.finish()
}

fn write_body(sheet: &mut TerminalText, run: &RunResult, test: &TestResult) {
    sheet.heading(&format!("{}: {}", run.target_name(), test.test.name));
    sheet.paragraph(&figures(test));
    if let Some(sentence) = failure_text(test) {
        sheet.paragraph(&sentence);
    }
    for sentence in faults::sentences(test) {
        sheet.paragraph(&sentence);
    }
    for replay in test.samples.iter().filter_map(|sample| sample.replay.as_ref()) {
        sheet.paragraph(&replay_text(replay));
    }
    for live in test.samples.iter().filter_map(|sample| sample.live.as_ref()) {
        sheet.paragraph(&served_text(live));
    }
    sheet.blank();
    let latency = test.latency();
    if test.samples.iter().any(Sample::is_counted_by_device) {
        sheet.paragraph("Individual requests are not known: only the device counted them.");
    } else if latency.count() == 0 {
        sheet.paragraph("No request was completed.");
    } else {
        sheet.table(&latency_table(test, &latency));
    }
    sheet.blank();
    over_time(sheet, test);
    match Budget::from_result(test) {
        Some(budget) => {
            sheet.table(&budget_table(&budget));
            sheet.blank();
            match (&test.sensitivity, budget.busiest()) {
                (Some(_), _) => sensitivity::write_lines(sheet, test),
                (None, Some(hop)) => sheet.paragraph(&limit(hop, &budget, test)),
                (None, None) => {}
            }
        }
        None => match readings::sentences(test) {
            sentences if sentences.is_empty() => {
                sheet.paragraph("No time budget: only a simulated path has one.");
            }
            sentences => sentences.iter().for_each(|sentence| sheet.paragraph(sentence)),
        },
    }
    explanation::write_lines(sheet, test);
    if let Some(sentence) = flash_writes::sentence(test) {
        sheet.blank();
        sheet.paragraph(&sentence);
    }
    if let Some(sentence) = energy::sentence(test) {
        sheet.blank();
        sheet.paragraph(&sentence);
        sheet.blank();
        sheet.table(&energy::parts(test));
        sheet.blank();
        sheet.table(&energy::states(test));
    }
}

/// Writes the first repeat that has a series or rounds: a sentence, the throughput as a sparkline, and a table.
fn over_time(sheet: &mut TerminalText, test: &TestResult) {
    let has_series = |sample: &&Sample| sample.series.is_some() || sample.steady.is_some();
    let Some(sample) = test.samples.iter().find(has_series) else { return };
    let Some(table) = over_time::table(sample) else { return };
    for sentence in over_time::sentences(sample) {
        sheet.paragraph(&sentence);
    }
    let bars =
        sample.series.as_ref().and_then(|series| over_time::sparkline(series, sheet.width()));
    if let Some(bars) = bars {
        sheet.blank();
        sheet.paragraph(&bars);
    }
    sheet.blank();
    sheet.table(&table);
    sheet.blank();
}

/// Names the limit of the test: the busiest hop or, if no hop is busy, the latency, with the hop that contributes most
/// to it.
fn limit(hop: &HopShare, budget: &Budget, test: &TestResult) -> String {
    let own_time = test.samples.iter().any(comes_in_its_own_time);
    limit_of(hop, budget, own_time, test.test.population())
}

/// Names the limit of a path that was used, such as the path of a simulated test.
pub(crate) fn path_limit(limit: &PathLimit) -> Option<String> {
    let budget = Budget::of_paths(std::iter::once(&limit.path))?;
    let hop = budget.busiest()?;
    Some(limit_of(hop, &budget, false, limit.outstanding))
}

fn limit_of(hop: &HopShare, budget: &Budget, own_time: bool, population: u64) -> String {
    let total = budget.total_ns();
    let longest = budget.hops.iter().max_by(|a, b| a.total_ns().total_cmp(&b.total_ns()));
    let Some(longest) = longest.filter(|_| hop.utilisation < BUSY && total > 0.0) else {
        return hop_text(hop);
    };
    let limit = match (own_time, population) {
        (true, _) => "the requests arrive at given times".to_owned(),
        (false, 1) => "with 1 request outstanding, latency is the limit".to_owned(),
        (false, population) => {
            format!("with {population} requests outstanding, latency is the limit")
        }
    };
    let of = if limit.ends_with("limit") { "it" } else { "their latency" };
    format!(
        "No hop is busy (busiest: {}, {}): {limit}, and the largest part of {of}, {}, is in {}",
        hop.label(),
        percent_whole(hop.utilisation),
        percent(longest.total_ns() / total),
        longest.label(),
    )
}

/// Returns a text such as `SATA 6 Gb/s: 97% busy, carries at most 552 MB/s of this workload`.
pub(crate) fn hop_text(hop: &HopShare) -> String {
    let busy = format!("{}: {} busy", hop.label(), percent_whole(hop.utilisation));
    match hop.ceiling_megabytes {
        Some(ceiling) => {
            format!("{busy}, carries at most {} MB/s of this workload", significant(ceiling))
        }
        None => busy,
    }
}

/// Describes throughput, requests and processor time in a sentence.
fn figures(test: &TestResult) -> String {
    let throughput = &test.throughput_bytes_per_second;
    let rate = or_absent(known_value(throughput), |bytes| significant(bytes / 1e6));
    let iops = or_absent(known_value(&test.iops), |iops| fixed(iops, 0));
    let spread = match spread(throughput) {
        spread if spread == ABSENT || spread == NO_SPREAD => String::new(),
        spread => format!(" {spread}"),
    };
    let repeats = match test.samples.len() {
        1 => "1 repeat".to_owned(),
        count => format!("{count} repeats"),
    };
    let cpu = cpu_ns(test).map_or(String::new(), |ns| {
        format!(", {} µs of processor time per request", significant(ns / 1e3))
    });
    let sure = throughput.interval_95.filter(|(low, high)| low < high);
    let sure = sure.map_or(String::new(), |(low, high)| {
        format!(" (95% confident: {} to {})", significant(low / 1e6), significant(high / 1e6))
    });
    format!(
        "{rate} MB/s (10^6 bytes a second){spread}{sure}, {iops} requests a second over {repeats}{cpu}."
    )
}

/// Returns the number of failed requests by type, and their share of all requests.
fn failure_text(test: &TestResult) -> Option<String> {
    let errors = test.errors();
    let share = wrong::failed_share(test).unwrap_or(0.0);
    (!errors.is_empty()).then(|| {
        let requests = if errors.total() == 1 { "request" } else { "requests" };
        format!("{} {requests} failed, {} of all: {errors}.", errors.total(), percent(share))
    })
}

/// Returns whether requests were submitted at recorded times.
fn comes_in_its_own_time(sample: &Sample) -> bool {
    sample.replay.as_ref().is_some_and(|replay| replay.speed.is_some())
}

/// Describes the replay of a trace in a sentence.
fn replay_text(replay: &ReplayCounts) -> String {
    let pace = match (replay.speed, replay.span) {
        (Some(speed), Some(span)) => {
            let speed = match speed {
                1.0 => "as recorded".to_owned(),
                speed => format!("{speed} times as fast as recorded"),
            };
            format!("{speed}, over {} s", significant(span.as_seconds()))
        }
        _ => "as fast as possible".to_owned(),
    };
    let requests = match replay.requests {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    };
    format!(
        "{requests} of the trace, {pace}: {} outstanding on average, {} at most.",
        significant(replay.outstanding_mean),
        replay.outstanding_max
    )
}

/// Describes in a few sentences how a served system delivered its answers.
fn served_text(live: &LiveDelivery) -> String {
    let us = |latency: &LatencyHistogram, percentile| {
        let ns = latency.percentile_ns(percentile);
        ns.map_or("–".to_owned(), |ns| format!("{} µs", significant(ns as f64 / 1e3)))
    };
    let late = &live.lateness;
    let mut text = format!(
        "Served for {} s; a simulated second took {} s. Answers were {} late at the median, {} at \
         p99 and {} at p99.9.",
        significant(live.served.as_seconds()),
        significant(live.time_scale),
        us(late, 50.0),
        us(late, 99.0),
        us(late, 99.9),
    );
    text.extend(verdict(live));
    text.extend(live.content.map(content));
    for (name, direction) in [("Reads", &live.reads), ("Writes", &live.writes)] {
        if let Some(direction) = direction {
            let p50 = us(&direction.latency, 50.0);
            let p99 = us(&direction.latency, 99.0);
            text.push_str(&format!(
                " {name} were delivered within {p50} at the median and {p99} at p99."
            ));
        }
    }
    text
}

/// Returns the verdict, such as `The run is valid. A request's time at a client differed from the model's by +3% on
/// average and +4% at the median; …`.
fn verdict(live: &LiveDelivery) -> Option<String> {
    let ClientDeviation { median, mean } = live.deviation()?;
    let percent = |share: f64| match (share * 100.0).round() as i64 {
        0 => "0%".to_owned(),
        percent => format!("{percent:+}%"),
    };
    let DeliveryEvidence { drive_busy, server_busy, outside, .. } = live.evidence;
    let verdict = match live.verdict() {
        LiveVerdict::Valid if live.tail_holds() => "valid",
        LiveVerdict::Valid => "valid except for its 99th percentile",
        LiveVerdict::Late => "invalid, because answers were late",
        LiveVerdict::Early => "invalid, because answers were early",
        LiveVerdict::Saturated => "invalid, because the server was saturated",
    };
    let measured_at = if outside.is_some() { "at a client" } else { "in the server" };
    Some(format!(
        " The run is {verdict}. A request's time {measured_at} differed from the model's by {} on average \
         and {} at the median; the drive was busy for {} of the time, and the server for {}.",
        percent(mean),
        percent(median),
        percent_whole(drive_busy),
        percent_whole(server_busy),
    ))
}

/// Describes the initial content of the drive, such as `The drive started with 8 GiB of data, just written`.
fn content(start: StartContent) -> String {
    let StartContent { written_bytes, is_just_written } = start;
    match (written_bytes, is_just_written) {
        (Bytes::ZERO, _) => " The drive started empty.".to_owned(),
        (bytes, true) => format!(" The drive started with {bytes} of data, just written."),
        (bytes, false) => format!(" The drive started with {bytes} of data, written long before."),
    }
}

fn latency_table(test: &TestResult, all: &LatencyHistogram) -> Table {
    let reads = direction(test, |sample| sample.reads.as_ref());
    let writes = direction(test, |sample| sample.writes.as_ref());
    let besides = |own: fn(&Sample) -> Option<&DirectionResult>,
                   of_replay: fn(&ReplayCounts) -> Option<&DirectionResult>| {
        direction(test, |sample| own(sample).or(sample.replay.as_ref().and_then(of_replay)))
    };
    let flushes = besides(|sample| sample.flushes.as_ref(), |replay| replay.flushes.as_ref());
    let trims = besides(|sample| sample.trims.as_ref(), |replay| replay.trims.as_ref());
    let mut rows: Vec<(&str, &LatencyHistogram)> = match (&reads, &writes) {
        (Some(reads), Some(writes)) => vec![("reads", reads), ("writes", writes), ("all", all)],
        (None, Some(writes)) => vec![("writes", writes)],
        _ => vec![("reads", all)],
    };
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
        cells.push(Cell::plain(time(latency.max_ns().map(|ns| ns as f64))));
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

/// Builds the table of the hops and their shares, with a row for the sum.
fn budget_table(budget: &Budget) -> Table {
    let total = budget.total_ns();
    let unit = LatencyUnit::fitting(std::iter::once(total));
    // All rows have the same number of decimals, so that the sum of the shown values agrees.
    let decimals = match unit.convert(total) {
        total if total < 10.0 => 3,
        total if total < 100.0 => 2,
        total if total < 1000.0 => 1,
        _ => 0,
    };
    let time_cell = |ns: f64| Cell::plain(fixed(unit.convert(ns), decimals));
    let share = |ns: f64| Cell::plain(percent(ns / total));
    let mut table = Table::new(vec![
        Column::name("hop"),
        Column::text("busy").optional(2),
        Column::number("busy", ""),
        Column::number("ceiling", "MB/s"),
        Column::number("wait", unit.name()),
        Column::number("service", unit.name()),
        Column::number("both", unit.name()).optional(1),
        Column::number("share", ""),
    ]);
    table.columns[1].name = String::new();
    for hop in &budget.hops {
        table.push(vec![
            Cell::plain(hop.label()),
            Cell::plain(bar(hop.utilisation)),
            Cell::plain(percent_whole(hop.utilisation)),
            Cell::plain(or_absent(hop.ceiling_megabytes, significant)),
            time_cell(hop.wait_ns),
            time_cell(hop.service_ns),
            time_cell(hop.total_ns()),
            share(hop.total_ns()),
        ]);
    }
    let blank = || Cell::plain("");
    let mut sums = vec![
        Cell::strong("mean latency"),
        blank(),
        blank(),
        blank(),
        time_cell(budget.wait_ns()),
        time_cell(budget.service_ns()),
        time_cell(total),
        share(total),
    ];
    sums.iter_mut().for_each(|cell| cell.ink = CellEmphasis::Strong);
    table.push_ruled(sums);
    table
}

/// Draws a share as a heavy line on a light line.
fn bar(share: f64) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = (share * BAR as f64).round() as usize;
    format!("{}{}", "━".repeat(filled), "─".repeat(BAR - filled))
}

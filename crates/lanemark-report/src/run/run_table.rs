//! A run as an overview: one line per test, then the target and every warning.
//!
//! Percentiles cover all repeats together; the spread is half the range over repeats. The workload determines how the
//! mean latency is averaged over repeats. There is a column of failed requests if any request failed. The time budget
//! is not shown here; see `blocks`.

use lanemark_schema::result::{
    LimitingPart, PredictionInterval, RunResult, Sample, TestResult, Warning,
};

use super::{concurrent, lead, rate_phases, transactions};
use crate::blocks::explanation;
use crate::terminal::warnings::{write_items, write_warnings};
use crate::terminal::{Style, TerminalText};
use crate::text::number::{
    ABSENT, LatencyUnit, cpu_ns, fixed, grouped, has_latency, interval_text, is_wide, known_value,
    or_absent, percent, significant, spread,
};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use crate::text::target;

/// A percentile that has a column, and the column of its 80% interval. Both columns are omitted together.
struct ShownPercentile {
    percentile: f64,
    name: &'static str,
    /// Rank in the order of omission.
    rank: u8,
    /// Name of the interval's column.
    interval: Option<&'static str>,
}

/// The percentiles that have a column.
const SHOWN_PERCENTILES: [ShownPercentile; 3] = [
    ShownPercentile { percentile: 50.0, name: "p50", rank: 2, interval: None },
    ShownPercentile { percentile: 99.0, name: "p99", rank: 1, interval: Some("p99 interval") },
    ShownPercentile { percentile: 99.9, name: "p99.9", rank: 3, interval: Some("p99.9 interval") },
];

/// Writes the answer of a run as a sentence, its tests as a table, and the warnings with their advice.
///
/// Throughput is in MB/s (10^6 bytes a second). Latencies are in µs or ms, whichever suits the values in the table.
pub fn run_table(run: &RunResult, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&lead::run(run));
    sheet.heading(&run.workload.name);
    write_items(&mut sheet, &target::selected_warnings(run, is_assumed));
    sheet.blank();
    if !run.tests.is_empty() {
        let label = run.target_name();
        sheet.table(&figures(&[(&label, run)]));
        if let Some(table) = transactions::by_test(&[(&label, run)]) {
            sheet.blank();
            sheet.table(&table);
        }
        sheet.blank();
    }
    notes(run).iter().for_each(|note| sheet.paragraph(note));
    if !lead::is_simulated(run) {
        sheet.paragraph(&target::sentence(run));
    }
    for setting in target::settings(run) {
        sheet.item("- ", &setting, CellEmphasis::Faint);
    }
    write_warnings(&mut sheet, &target::selected_warnings(run, |warning| !is_assumed(warning)));
    sheet.finish()
}

/// Returns the notes on the table of a run, which the terminal and the page print below it.
pub(crate) fn notes(run: &RunResult) -> Vec<String> {
    // The first sentence contains the phases of a single test.
    let several = run.tests.iter().filter(|_| run.tests.len() > 1);
    let phases = several.filter_map(rate_phases::sentence);
    phases
        .chain(statistic(run))
        .chain(constant_latency_note(run))
        .chain(convergence_note(run))
        .chain(scaled_run_note(run))
        .chain(concurrent::sentences(run))
        .chain(wide_interval_note(run))
        .chain(explanation::closest(run))
        .collect()
}

/// Writes the evidence of a simulated run: the sources of its values, and the value that widens its intervals most.
/// Empty for other runs, because [`run_table`] contains their evidence.
pub fn run_evidence(run: &RunResult, style: &Style) -> String {
    if !lead::is_simulated(run) {
        return String::new();
    }
    let mut sheet = TerminalText::new(style);
    sheet.paragraph(&target::sentence(run));
    if let Some(sentence) = widest_interval_note(run) {
        sheet.paragraph(&sentence);
    }
    sheet.finish()
}

/// Returns whether a warning is among the warnings at the top of the output.
fn is_assumed(warning: &Warning) -> bool {
    matches!(warning, Warning::AssumedLimit { .. })
}

/// Returns the warnings about a run with their advice, in the order in which [`run_table`] prints them, and then the
/// reason for missing percentiles.
pub fn run_warnings(run: &RunResult) -> Vec<String> {
    let assumed = target::selected_warnings(run, is_assumed);
    let others = target::selected_warnings(run, |warning| !is_assumed(warning));
    let with_advice = |(warning, advice): (&str, Option<&str>)| match advice {
        Some(advice) => format!("{warning}: {advice}"),
        None => warning.to_owned(),
    };
    let listed = [assumed, others];
    let texts = listed.iter().flat_map(|listed| target::with_advice(listed)).map(with_advice);
    texts.chain(constant_latency_note(run)).collect()
}

/// Names the statistic of the figures; `None` if there is a single repeat.
fn statistic(run: &RunResult) -> Option<String> {
    let repeats =
        run.tests.iter().map(|test| test.samples.len()).max().filter(|&count| count > 1)?;
    let average = run.workload.average;
    Some(format!(
        "MB/s, IOPS and mean latency: {average} of {repeats} repeats; percentiles: all repeats together."
    ))
}

/// States why a test lacks percentiles above the median; `None` if each test has them.
fn constant_latency_note(run: &RunResult) -> Option<String> {
    run.tests.iter().any(|test| test.latency().is_constant()).then(|| {
        "p99 and beyond are not shown for requests that all take the same time in the model."
            .to_owned()
    })
}

/// Builds the table of figures for all tests of `runs`, ordered by test; with several runs, each row names its run. A
/// test that reads and writes has three rows: the total throughput, then each direction with its latencies.
pub(crate) fn figures(runs: &[(&str, &RunResult)]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for result in runs.iter().flat_map(|(_, run)| &run.tests) {
        if !names.contains(&result.test.name.as_str()) {
            names.push(&result.test.name);
        }
    }
    let latencies = runs.iter().flat_map(|(_, run)| &run.tests).flat_map(|test| &test.samples);
    let latencies = latencies.flat_map(|sample| {
        let directions = [&sample.reads, &sample.writes, &sample.unified];
        let means = directions.into_iter().flatten().map(|direction| direction.latency.mean_ns());
        let of_device = sample.is_counted_by_device().then(|| sample.latency_mean_ns());
        means.chain(of_device).collect::<Vec<f64>>()
    });
    let unit = LatencyUnit::fitting(latencies);
    let mut table = Table::new(columns(runs.len() > 1, unit));
    for name in names {
        let mut repeated = false;
        for (label, run) in runs {
            for result in run.tests.iter().filter(|result| result.test.name == name) {
                // If a single run contains two tests with the same name, both rows show the name.
                let mut cells = vec![Cell::plain(name).repeating(repeated && runs.len() > 1)];
                if runs.len() > 1 {
                    cells.push(Cell::plain(*label));
                }
                let directions = result.by_direction(&run.workload);
                cells.extend(figure_cells(result, unit, directions.is_empty()));
                table.push(cells);
                repeated = true;
                for (direction, part) in directions {
                    let mut cells = vec![Cell::plain(format!("{name}, {direction}"))];
                    if runs.len() > 1 {
                        cells.push(Cell::plain(*label));
                    }
                    cells.extend(figure_cells(&part, unit, true));
                    table.push(cells);
                }
            }
        }
    }
    table.without_empty_columns()
}

/// Formats the 80% interval of a simulated throughput, in MB/s.
fn interval(result: &TestResult) -> String {
    // The rate of a fixed load that the system serves is certain.
    let is_certain = |one: &&PredictionInterval| one.low_ratio == one.high_ratio;
    let Some(interval) = result.interval.as_ref().filter(|one| !is_certain(one)) else {
        return ABSENT.to_owned();
    };
    let value = result.throughput_bytes_per_second.value / 1e6;
    interval_text(value * interval.low_ratio, value * interval.high_ratio, significant)
}

/// Explains the mark of wide intervals; `None` if no interval is wide.
fn wide_interval_note(run: &RunResult) -> Option<String> {
    wide_of(run.tests.iter().filter_map(|test| test.interval.as_ref()))
}

/// Explains the mark of wide intervals; `None` if `intervals` do not contain a wide one.
pub(crate) fn wide_of<'i>(
    intervals: impl Iterator<Item = &'i PredictionInterval>,
) -> Option<String> {
    match intervals.filter(|interval| is_wide(interval.low_ratio, interval.high_ratio)).count() {
        0 => None,
        1 => Some(
            "One interval, marked !, spans more than a factor of ten and predicts little."
                .to_owned(),
        ),
        wide => Some(format!(
            "{wide} intervals, marked !, span more than a factor of ten and predict little."
        )),
    }
}

/// Names the value that widens the intervals of a run most.
pub(crate) fn widest_interval_note(run: &RunResult) -> Option<String> {
    widest_of(run.tests.iter().filter_map(|test| test.interval.as_ref()))
}

/// Names the value that widens `intervals` most.
pub(crate) fn widest_of<'i>(
    intervals: impl Iterator<Item = &'i PredictionInterval>,
) -> Option<String> {
    let mut shares: std::collections::BTreeMap<&str, (f64, u32)> = Default::default();
    for drawn in intervals.filter_map(|interval| interval.widest.as_ref()) {
        let entry = shares.entry(drawn.parameter.as_str()).or_default();
        (entry.0, entry.1) = (entry.0 + drawn.share, entry.1 + 1);
    }
    let (parameter, (_, tests)) =
        shares.into_iter().max_by(|drawn, two| drawn.1.0.total_cmp(&two.1.0))?;
    let of = match tests {
        1 => "one test".to_owned(),
        tests => format!("{tests} tests"),
    };
    Some(format!(
        "The intervals cover 80% of the systems that the values allow. {parameter} contributes most to the interval width in {of}."
    ))
}

fn columns(several: bool, unit: LatencyUnit) -> Vec<Column> {
    let mut columns = vec![Column::name("test")];
    if several {
        columns.push(Column::name("target"));
    }
    columns.extend([
        Column::number("MB/s", "10^6 B/s"),
        Column::text("80% interval"),
        Column::number("spread", "").optional(4),
        Column::number("IOPS", "1/s"),
        Column::number("mean", unit.name()),
    ]);
    for ShownPercentile { name, rank, interval, .. } in SHOWN_PERCENTILES {
        columns.push(Column::number(name, unit.name()).optional(rank));
        columns.extend(interval.map(|name| Column::text(name).optional(rank)));
    }
    columns.push(Column::number("failed", "").optional(1));
    columns.push(Column::number("CPU/IO", "µs").optional(5));
    columns.push(Column::text("limit").optional(6));
    columns
}

/// Formats the spread over repeats. A test that has converged does not show a spread, because a sentence states its
/// interval.
fn repeats_text(result: &TestResult) -> String {
    if result.samples.iter().any(|sample| sample.converged.is_some()) {
        ABSENT.to_owned()
    } else {
        spread(&result.throughput_bytes_per_second)
    }
}

/// States the simulated fraction of the tests, if long tests were shortened.
fn scaled_run_note(run: &RunResult) -> Option<String> {
    let samples = run.tests.iter().flat_map(|test| &test.samples);
    let shortened_samples = || samples.clone().filter_map(|sample| Some((sample, sample.similar?)));
    let (_, first) = shortened_samples().next()?;
    let is_alike = shortened_samples().all(|(_, other)| other.factor == first.factor);
    let drive = match (is_alike, first.drive_factor) {
        (false, _) => "smaller drives".to_owned(),
        (true, 1) => "the drive".to_owned(),
        (true, factor) => format!("a drive with 1/{factor} of the capacity"),
    };
    // The sentence about converged runs states the number of requests.
    if shortened_samples().all(|(one, _)| one.converged.is_some()) {
        let is_smaller = shortened_samples().any(|(_, similar)| similar.drive_factor > 1);
        return is_smaller.then(|| format!("Simulated on {drive}. --full simulates all requests."));
    }
    let simulated =
        |sample: &Sample| sample.converged.map_or(sample.operations(), |known| known.simulated);
    let all: u64 = shortened_samples().map(|(one, _)| simulated(one)).sum();
    let whole: u64 = shortened_samples().map(|(_, similar)| similar.requests).sum();
    let part = match (is_alike, first.drive_factor) {
        (false, _) => "a part of the time".to_owned(),
        (true, _) => format!("1/{} of the time", first.factor),
    };
    let drive = match (is_alike, first.drive_factor) {
        (true, 2..) => "a drive with the same fraction of the capacity",
        _ => drive.as_str(),
    };
    Some(format!(
        "Simulated {part} on {drive}: {} of {} requests. --full simulates all of them.",
        rounded(all),
        rounded(whole)
    ))
}

/// If tests converged, states how many requests were simulated and how well the rates are known.
fn convergence_note(run: &RunResult) -> Option<String> {
    let converged_samples =
        || run.tests.iter().flat_map(|test| &test.samples).filter_map(|sample| sample.converged);
    let half_width = converged_samples().map(|converged| converged.half_width).reduce(f64::max)?;
    let (simulated, requests) = converged_samples()
        .fold((0, 0), |(simulated, requests), sample| {
            (simulated + sample.simulated, requests + sample.requests)
        });
    let of = match (converged_samples().count(), run.tests.len()) {
        (count, tests) if count == tests => String::new(),
        (count, tests) => format!(" in {count} of {tests} tests"),
    };
    let within = match half_width {
        half_width if half_width < 0.0005 => "0.1%".to_owned(),
        half_width => percent(half_width),
    };
    if simulated == requests {
        return Some(format!("Rates are within ±{within} at 95% confidence{of}."));
    }
    Some(format!(
        "Converged after {} of {} requests{of}: rates within ±{within} at 95% confidence.",
        rounded(simulated),
        rounded(requests)
    ))
}

/// Formats a number of requests with about three significant digits, such as `162`, `21,000` or `1.4 million`.
fn rounded(count: u64) -> String {
    let significant = significant(count as f64 / 1e6);
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => grouped(&format!("{}", (count as f64 / 1e3).round() * 1e3)),
        _ => format!("{} million", grouped(&significant)),
    }
}

/// Returns the cells of a row. For a test that reads and writes, the latencies are in the rows of its directions.
fn figure_cells(result: &TestResult, unit: LatencyUnit, with_latencies: bool) -> Vec<Cell> {
    let latency = if with_latencies { result.latency() } else { Default::default() };
    let throughput = &result.throughput_bytes_per_second;
    let time = |ns: f64| significant(unit.convert(ns));
    // The statistic is zero both for a latency of zero and for a test without any requests.
    let mean =
        known_value(&result.latency_mean_ns).filter(|_| with_latencies && has_latency(result));
    let mut cells = vec![
        Cell::strong(or_absent(known_value(throughput), |bytes| significant(bytes / 1e6))),
        Cell::plain(interval(result)),
        Cell::inked(repeats_text(result), CellEmphasis::Faint),
        Cell::plain(or_absent(known_value(&result.iops), |iops| match iops {
            iops if iops < 100.0 => significant(iops),
            iops => fixed(iops, 0),
        })),
        Cell::plain(or_absent(mean, time)),
    ];
    for ShownPercentile { percentile, interval, .. } in SHOWN_PERCENTILES {
        let latency = latency.percentile_ns(percentile).map(|ns| ns as f64);
        cells.push(Cell::plain(or_absent(latency, time)));
        cells.extend(interval.map(|_| {
            let ends = result.percentile_interval_ns(percentile).filter(|_| with_latencies);
            Cell::plain(
                ends.map_or(ABSENT.to_owned(), |(low, high)| interval_text(low, high, time)),
            )
        }));
    }
    let failed = Some(result.errors().total() as f64).filter(|&failed| failed > 0.0);
    cells.push(Cell::inked(or_absent(failed, |failed| fixed(failed, 0)), CellEmphasis::Warning));
    cells.push(Cell::plain(or_absent(cpu_ns(result), |ns| significant(ns / 1e3))));
    let verdict = result.explanation.as_ref().map(|explanation| explanation.verdict);
    let decided = verdict.filter(|&verdict| verdict != LimitingPart::Undecided);
    let bottleneck = result.sensitivity.as_ref().and_then(|bottleneck| bottleneck.bottleneck());
    let limit = decided.map(LimitingPart::words).or(bottleneck.map(|gain| gain.hop.as_str()));
    cells.push(Cell::plain(limit.unwrap_or(ABSENT)));
    cells
}

#[cfg(test)]
mod tests;

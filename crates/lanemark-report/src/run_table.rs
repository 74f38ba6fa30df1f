//! A run at a glance: one line a test, then the target and every doubt.
//!
//! Percentiles are over all repeats together; spread is half the range over repeats. A mean latency
//! follows the workload's average over repeats. Requests that failed have a column where any did. Not shown: the time budget, see `test_detail`.

use lanemark_core::result::{PredictionInterval, RunResult, TestResult, Verdict};

use crate::Style;
use crate::beside;
use crate::explanation;
use crate::number::{
    ABSENT, LatencyUnit, fixed, has_latency, known, or_absent, significant, spread,
};
use crate::table::{Cell, Column, Ink, Table};
use crate::target;
use crate::terminal::Sheet;
use crate::transactions;

/// The percentiles that have a column.
const SHOWN_PERCENTILES: [(f64, &str, u8); 3] =
    [(50.0, "p50", 2), (99.0, "p99", 1), (99.9, "p99.9", 3)];

/// Writes the tests of a run as a table, the target in a sentence, and the warnings with their advice.
///
/// Throughput is in MB/s (10^6 bytes a second), latencies in us or ms, whichever fits the table.
pub fn run_table(run: &RunResult, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(&run.workload.name);
    sheet.blank();
    if run.tests.is_empty() {
        sheet.paragraph("No test has ended.");
    } else {
        sheet.table(&figures(&[(target::label(run), run)]));
        if let Some(table) = transactions::by_test(&[(target::label(run), run)]) {
            sheet.blank();
            sheet.table(&table);
        }
    }
    sheet.blank();
    sheet.paragraph(&target::sentence(run));
    for sentence in beside::sentences(run) {
        sheet.paragraph(&sentence);
    }
    if let Some(sentence) = widest(run) {
        sheet.paragraph(&sentence);
    }
    if let Some(sentence) = explanation::closest(run) {
        sheet.paragraph(&sentence);
    }
    for setting in target::settings(run) {
        sheet.item("- ", &setting, Ink::Faint);
    }
    warnings(&mut sheet, &target::doubts(run));
    sheet.finish()
}

/// The warnings, each with its advice, below an empty line; nothing where there are none.
pub(crate) fn warnings(sheet: &mut Sheet, doubts: &[(String, &'static str)]) {
    if doubts.is_empty() {
        return;
    }
    sheet.blank();
    for (doubt, advice) in doubts {
        sheet.item("! ", &format!("{doubt}: {advice}"), Ink::Doubt);
    }
}

/// The figures of all tests of `runs`, test by test; with several runs, each is named.
pub(crate) fn figures(runs: &[(&str, &RunResult)]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for result in runs.iter().flat_map(|(_, run)| &run.tests) {
        if !names.contains(&result.test.name.as_str()) {
            names.push(&result.test.name);
        }
    }
    let latencies =
        runs.iter().flat_map(|(_, run)| &run.tests).map(|test| test.latency_mean_ns.value);
    let unit = LatencyUnit::fitting(latencies);
    let mut table = Table::new(columns(runs.len() > 1, unit));
    for name in names {
        let mut repeated = false;
        for (label, run) in runs {
            for result in run.tests.iter().filter(|result| result.test.name == name) {
                // Two tests of one name in a single run are two rows, each with its name.
                let mut cells = vec![Cell::plain(name).repeating(repeated && runs.len() > 1)];
                if runs.len() > 1 {
                    cells.push(Cell::plain(*label));
                }
                cells.extend(figure_cells(result, unit));
                table.push(cells);
                repeated = true;
            }
        }
    }
    table.without_empty_columns()
}

/// The 80% interval of a simulated throughput, in MB/s.
fn interval(result: &TestResult) -> String {
    let Some(interval) = &result.interval else { return ABSENT.to_owned() };
    let at = |ratio: f64| significant(result.throughput_bytes_per_second.value / 1e6 * ratio);
    format!("{}–{}", at(interval.low_ratio), at(interval.high_ratio))
}

/// Returns the value that widens the intervals of a run most, in a sentence.
fn widest(run: &RunResult) -> Option<String> {
    widest_of(run.tests.iter().filter_map(|test| test.interval.as_ref()))
}

/// Returns the value that widens `intervals` most, in a sentence.
pub(crate) fn widest_of<'i>(
    intervals: impl Iterator<Item = &'i PredictionInterval>,
) -> Option<String> {
    let mut shares: std::collections::BTreeMap<&str, (f64, u32)> = Default::default();
    for one in intervals.filter_map(|interval| interval.widest.as_ref()) {
        let entry = shares.entry(one.parameter.as_str()).or_default();
        (entry.0, entry.1) = (entry.0 + one.share, entry.1 + 1);
    }
    let (parameter, (_, tests)) =
        shares.into_iter().max_by(|one, two| one.1.0.total_cmp(&two.1.0))?;
    let of = match tests {
        1 => "one test".to_owned(),
        tests => format!("{tests} tests"),
    };
    Some(format!(
        "80% of the systems that the values leave open lie in the intervals. {parameter} widens that of {of} most."
    ))
}

/// Processor time per request in ns, averaged over the repeats that know it.
pub(crate) fn cpu_ns(result: &TestResult) -> Option<f64> {
    let known: Vec<f64> = result
        .samples
        .iter()
        .filter_map(|sample| sample.cpu)
        .map(|cpu| cpu.user_ns_per_request + cpu.system_ns_per_request)
        .collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn columns(several: bool, unit: LatencyUnit) -> Vec<Column> {
    let mut columns = vec![Column::name("test")];
    if several {
        columns.push(Column::name("target"));
    }
    columns.extend([
        Column::number("MB/s", "10^6 B/s"),
        Column::text("80% in").optional(1),
        Column::number("spread", "").optional(4),
        Column::number("IOPS", "1/s"),
        Column::number("mean", unit.name()),
    ]);
    let percentile =
        |(_, name, rank): &(f64, &str, u8)| Column::number(name, unit.name()).optional(*rank);
    columns.extend(SHOWN_PERCENTILES.iter().map(percentile));
    columns.push(Column::number("failed", "").optional(1));
    columns.push(Column::number("CPU/IO", "us").optional(5));
    columns.push(Column::text("limit").optional(6));
    columns
}

fn figure_cells(result: &TestResult, unit: LatencyUnit) -> Vec<Cell> {
    let latency = result.latency();
    let throughput = &result.throughput_bytes_per_second;
    let told = |ns: f64| significant(unit.of(ns));
    // The statistic is zero both for no latency and for no request.
    let mean = known(&result.latency_mean_ns).filter(|_| has_latency(result));
    let mut cells = vec![
        Cell::strong(or_absent(known(throughput), |bytes| significant(bytes / 1e6))),
        Cell::plain(interval(result)),
        Cell::inked(spread(throughput), Ink::Faint),
        Cell::plain(or_absent(known(&result.iops), |iops| match iops {
            iops if iops < 100.0 => significant(iops),
            iops => fixed(iops, 0),
        })),
        Cell::plain(or_absent(mean, told)),
    ];
    cells.extend(SHOWN_PERCENTILES.iter().map(|(percentile, ..)| {
        Cell::plain(or_absent(latency.percentile_ns(*percentile).map(|ns| ns as f64), told))
    }));
    let failed = Some(result.errors().total() as f64).filter(|&failed| failed > 0.0);
    cells.push(Cell::inked(or_absent(failed, |failed| fixed(failed, 0)), Ink::Doubt));
    cells.push(Cell::plain(or_absent(cpu_ns(result), |ns| significant(ns / 1e3))));
    let verdict = result.explanation.as_ref().map(|one| one.verdict);
    let decided = verdict.filter(|&verdict| verdict != Verdict::Undecided);
    let asked = result.sensitivity.as_ref().and_then(|asked| asked.bottleneck());
    let limit = decided.map(Verdict::words).or(asked.map(|gain| gain.hop.as_str()));
    cells.push(Cell::plain(limit.unwrap_or(ABSENT)));
    cells
}

//! Compares two runs by test: the ratio of each figure, its 80% interval, and the verdict of the interval.

use lanemark_schema::result::{
    ComparedFigure, ComparedRun, ComparedRuns, FigureMetric, RatioEstimate, RatioVerdict,
    RunResult, SCHEMA_VERSION, Statistic, TestResult,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Pattern, Test};

use super::answer::answer;
use super::pair::{FigurePair, RunPair, TestPair, figure, shared_tests};
use crate::database;
use crate::terminal::warnings::write_warnings;
use crate::terminal::{Style, TerminalText};
use crate::text::metric::heading;
use crate::text::number::{ABSENT, known_value, or_absent, percent_whole, ratio, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use crate::text::target;
use crate::text::verdict::{NOT_SHOWN, SAME, is_shown};

/// Compares the common tests of two runs by throughput and mean latency, as the ratio of `b` to `a`: first the answer
/// in a sentence, then the figures. With `detail`, the text also compares percentiles and individual transactions, and
/// describes both targets.
pub fn compare_table(
    a: (&str, &RunResult),
    b: (&str, &RunResult),
    detail: bool,
    style: &Style,
) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&answer(a, b));
    for (side, (file, run)) in [("A  ", a), ("B  ", b)] {
        sheet.item(side, &format!("{file}: {}", target::subject(run)), CellEmphasis::Plain);
        if detail {
            sheet.item("   ", &target::sentence(run), CellEmphasis::Faint);
        }
    }
    let runs = RunPair::new(a.1, b.1);
    let shared = shared_tests(a.1, b.1);
    let parts = parts(a.1, b.1, &shared);
    let (rates, latencies) = rows(&shared, &parts);
    if shared.is_empty() {
        sheet.blank();
        sheet.paragraph("The runs contain no test in common.");
    } else {
        write_metric_section(
            &mut sheet,
            runs,
            "Throughput, MB/s = 10^6 bytes a second",
            FigureMetric::Throughput,
            &rates,
        );
        write_metric_section(
            &mut sheet,
            runs,
            "Mean latency, µs",
            FigureMetric::Latency,
            &latencies,
        );
        if detail {
            write_percentiles(&mut sheet, runs, &latencies);
        }
        for metric in OTHERS {
            if shared.iter().any(|(a, b)| has_metric(metric, a) && has_metric(metric, b)) {
                write_metric_section(&mut sheet, runs, heading(metric), metric, &shared);
            }
        }
        let have_transactions = |(a, b): &&(&TestResult, &TestResult)| {
            detail && a.has_transactions() && b.has_transactions()
        };
        for (own, other) in shared.iter().filter(have_transactions) {
            sheet.blank();
            sheet.heading(&format!("Transactions side by side: {}", own.test.name));
            sheet.blank();
            sheet.table(&database::table(&[("A", own), ("B", other)]));
        }
    }
    write_unmatched_tests(&mut sheet, a.1, b.1, &shared);
    let sides = [a.1, b.1].map(target::warnings);
    write_warnings(&mut sheet, &shared_warnings(sides, ["A", "B", "A and B"]));
    sheet.finish()
}

/// Metrics that are compared in addition to throughput and mean latency, for tests that have such a figure.
const OTHERS: [FigureMetric; 6] = [
    FigureMetric::Power,
    FigureMetric::BatteryLife,
    FigureMetric::Transactions,
    FigureMetric::ReadLatency,
    FigureMetric::WriteLatency,
    FigureMetric::ProcessorUse,
];

/// Returns whether a test has a value of `metric` that no other row shows.
fn has_metric(metric: FigureMetric, test: &TestResult) -> bool {
    // If the tests contain individual requests, other rows show the two directions.
    let both = matches!(metric, FigureMetric::ReadLatency | FigureMetric::WriteLatency);
    figure(metric, test).is_some_and(|found| found.count > 0) && (!both || test.has_transactions())
}

/// Returns the reads and the writes of each test that has both directions in both runs, as separate tests.
fn parts(
    a: &RunResult,
    b: &RunResult,
    shared: &[TestPair<'_>],
) -> Vec<Vec<(TestResult, TestResult)>> {
    shared.iter().map(|(own, other)| directions(a, own, b, other)).collect()
}

/// Returns the throughput rows and the latency rows. For a test that reads and writes, the latencies are in the rows of
/// its directions.
fn rows<'r>(
    shared: &[TestPair<'r>],
    parts: &'r [Vec<(TestResult, TestResult)>],
) -> (Vec<TestPair<'r>>, Vec<TestPair<'r>>) {
    let mut rates = Vec::new();
    let mut latencies = Vec::new();
    for (pair, parts) in shared.iter().zip(parts) {
        rates.push(*pair);
        rates.extend(parts.iter().map(|(own, other)| (own, other)));
        if parts.is_empty() {
            latencies.push(*pair);
        } else {
            latencies.extend(parts.iter().map(|(own, other)| (own, other)));
        }
    }
    (rates, latencies)
}

/// Compares two runs like [`compare_table`], and returns the comparison as data.
pub fn compare_runs(a: (&str, &RunResult), b: (&str, &RunResult)) -> ComparedRuns {
    let runs = RunPair::new(a.1, b.1);
    let shared = shared_tests(a.1, b.1);
    let parts = parts(a.1, b.1, &shared);
    let (rates, latencies) = rows(&shared, &parts);
    let mut figures = Vec::new();
    let mut add = |metric: FigureMetric, pairs: &[TestPair<'_>]| {
        for (one, other) in pairs {
            let pair = runs.figures(metric, one, other);
            let (Some((a, b)), Some(ratio)) = (pair.values(), pair.ratio) else { continue };
            figures.push(ComparedFigure {
                test: one.test.name.clone(),
                metric,
                unit: metric.unit().to_owned(),
                a,
                b,
                ratio,
            });
        }
    };
    add(FigureMetric::Throughput, &rates);
    add(FigureMetric::Latency, &latencies);
    for metric in OTHERS {
        let there = shared.iter().filter(|(a, b)| has_metric(metric, a) && has_metric(metric, b));
        add(metric, &there.copied().collect::<Vec<_>>());
    }
    let run = |(file, run): (&str, &RunResult)| ComparedRun {
        file: file.to_owned(),
        name: run.target_name(),
    };
    let tests_only_in = |own: &RunResult, other: &RunResult| {
        let names = own.tests.iter().map(|test| test.test.name.clone());
        names.filter(|name| other.test(name).is_none()).collect()
    };
    ComparedRuns {
        schema_version: SCHEMA_VERSION,
        answer: answer(a, b),
        a: run(a),
        b: run(b),
        figures,
        only_in_a: tests_only_in(a.1, b.1),
        only_in_b: tests_only_in(b.1, a.1),
    }
}

/// Returns the reads and the writes of a test that has both directions in both runs; the name of the test is part of
/// their names.
fn directions(
    a: &RunResult,
    test_result: &TestResult,
    b: &RunResult,
    other: &TestResult,
) -> Vec<(TestResult, TestResult)> {
    // Both directions of a test are proportional to its rate, so they have the interval of the test.
    let with_direction_name = |whole: &TestResult, direction: &str, mut part: TestResult| {
        part.test.name = format!("{}, {direction}", test_result.test.name);
        part.interval.clone_from(&whole.interval);
        part.drawn.clone_from(&whole.drawn);
        part
    };
    let pairs =
        test_result.by_direction(&a.workload).into_iter().zip(other.by_direction(&b.workload)).map(
            |((direction, own_part), (_, other_part))| {
                (
                    with_direction_name(test_result, direction, own_part),
                    with_direction_name(other, direction, other_part),
                )
            },
        );
    pairs.collect()
}

/// Returns the warnings of both sides, each once. The names are of the first side, of the second side, and of both.
pub(super) fn shared_warnings(
    [one, two]: [Vec<(String, Option<&'static str>)>; 2],
    [first, second, both]: [&str; 3],
) -> Vec<(String, Option<&'static str>)> {
    let own = one.iter().map(|warning| (if two.contains(warning) { both } else { first }, warning));
    let others =
        two.iter().filter(|warning| !one.contains(warning)).map(|warning| (second, warning));
    own.chain(others)
        .map(|(name, (warning, advice))| (format!("{name}: {warning}"), *advice))
        .collect()
}

/// Writes one metric of all shared tests, and a sentence that states the outcome.
fn write_metric_section(
    sheet: &mut TerminalText,
    runs: RunPair<'_>,
    heading: &str,
    metric: FigureMetric,
    shared: &[(&TestResult, &TestResult)],
) {
    sheet.blank();
    sheet.heading(heading);
    sheet.blank();
    let mut table = Table::new(vec![
        Column::name("test"),
        Column::number("A", metric.unit()),
        Column::number("B", metric.unit()),
        Column::number("B/A", ""),
        Column::text("its 80% interval"),
        Column::text("").optional(1),
    ]);
    let mut ratios = Vec::new();
    for (a, b) in shared {
        let pair = runs.figures(metric, a, b);
        ratios.push(pair.ratio);
        table.push(pair.cells(&a.test.name, metric));
    }
    sheet.table(&table);
    sheet.blank();
    sheet.paragraph(&summary(&ratios, metric));
}

impl FigurePair {
    fn cells(&self, name: &str, metric: FigureMetric) -> Vec<Cell> {
        let value = |side: &Option<Statistic>| {
            Cell::plain(or_absent(side.as_ref().and_then(known_value), significant))
        };
        let certain = self.ratio.is_some_and(is_shown);
        let ink = if certain { CellEmphasis::Strong } else { CellEmphasis::Faint };
        let interval = self.ratio.and_then(RatioEstimate::interval_80);
        let plain = |end: f64| ratio(end).trim_end_matches('x').to_owned();
        let ends = interval.map(|(low, high)| format!("{}–{}", plain(low), plain(high)));
        vec![
            Cell::plain(name),
            value(&self.a),
            value(&self.b),
            Cell::inked(
                or_absent(self.ratio.map(RatioEstimate::ratio), ratio),
                if certain { ink } else { CellEmphasis::Plain },
            ),
            Cell::inked(ends.unwrap_or_else(|| ABSENT.to_owned()), CellEmphasis::Faint),
            Cell::inked(self.ratio.map_or(ABSENT, |ratio| verdict_text(ratio, metric)), ink),
        ]
    }
}

/// Returns the verdict on a ratio of a metric, for a table.
fn verdict_text(ratio: RatioEstimate, metric: FigureMetric) -> &'static str {
    let (higher, lower) = match metric {
        FigureMetric::Latency | FigureMetric::ReadLatency | FigureMetric::WriteLatency => {
            ("B slower", "B quicker")
        }
        FigureMetric::ProcessorUse | FigureMetric::ProcessorShare => {
            ("B uses more of the processors", "B uses less of the processors")
        }
        FigureMetric::Power => ("B uses more", "B uses less"),
        FigureMetric::BatteryLife => ("B lasts longer", "B lasts a shorter time"),
        FigureMetric::Throughput
        | FigureMetric::Iops
        | FigureMetric::Gain
        | FigureMetric::Transactions => ("B faster", "B slower"),
    };
    match ratio.verdict() {
        RatioVerdict::Higher => higher,
        RatioVerdict::Lower => lower,
        RatioVerdict::Same => SAME,
        RatioVerdict::NotShown if ratio.interval_80().is_none() => "interval not known",
        RatioVerdict::NotShown => NOT_SHOWN,
    }
}

/// Returns a sentence that counts the tests by what their ratios show.
fn summary(ratios: &[Option<RatioEstimate>], metric: FigureMetric) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for ratio in ratios {
        let text = ratio.map_or("nothing to compare", |ratio| verdict_text(ratio, metric));
        match counts.iter_mut().find(|(other, _)| *other == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    let clauses = counts.into_iter().map(|(text, count)| match count {
        1 => format!("{text} in 1 test"),
        count => format!("{text} in {count} tests"),
    });
    format!("{}.", clauses.collect::<Vec<_>>().join("; "))
}

const PERCENTILES: [(f64, &str); 3] = [(50.0, "p50"), (99.0, "p99"), (99.9, "p99.9")];

/// Writes the percentiles of latency. Each percentile is computed per repeat and averaged over the repeats, with a 95%
/// confidence interval.
fn write_percentiles(
    sheet: &mut TerminalText,
    runs: RunPair<'_>,
    shared: &[(&TestResult, &TestResult)],
) {
    let mut table = Table::new(vec![
        Column::name("test"),
        Column::text(""),
        Column::number("A", "µs"),
        Column::text("95% in").optional(1),
        Column::number("B", "µs"),
        Column::text("95% in").optional(1),
        Column::number("B/A", ""),
        Column::text("its 80% interval"),
        Column::text("").optional(2),
    ]);
    for (a, b) in shared {
        let mut repeated = false;
        for (at, name) in PERCENTILES {
            let pair = runs.percentiles(at, a, b);
            if pair.values().is_none() {
                continue;
            }
            let sure = |side: &Option<Statistic>| {
                let ends = side.as_ref().and_then(|side| side.interval_95);
                let text =
                    ends.map(|(low, high)| format!("{}–{}", significant(low), significant(high)));
                Cell::inked(text.unwrap_or_else(|| ABSENT.to_owned()), CellEmphasis::Faint)
            };
            let mut cells = pair.cells(&a.test.name, FigureMetric::Latency);
            cells[0] = Cell::plain(&a.test.name).repeating(repeated);
            cells.insert(1, Cell::plain(name));
            cells.insert(3, sure(&pair.a));
            cells.insert(5, sure(&pair.b));
            table.push(cells);
            repeated = true;
        }
    }
    if table.rows.is_empty() {
        return;
    }
    sheet.blank();
    sheet.heading("Percentiles of latency, µs: averaged over the repeats");
    sheet.blank();
    sheet.table(&table);
}

/// Returns the settings in which two tests differ, such as `queue depth 8 and 32`.
fn differences(a: &Test, b: &Test) -> Vec<String> {
    let size = |size: Option<Bytes>| size.map_or("none".to_owned(), |size| size.to_string());
    let time = |time: Option<Duration>| time.map_or("none".to_owned(), |time| time.to_string());
    let settings = |test: &Test| {
        let pattern = match test.pattern() {
            Some(Pattern::Sequential) => "in order".to_owned(),
            Some(Pattern::Uniform) => "random".to_owned(),
            Some(other) => format!("{other:?}"),
            None if !test.unstated().is_empty() => "not stated".to_owned(),
            None => "not of single requests".to_owned(),
        };
        [
            ("block", test.block.to_string()),
            ("pattern", pattern),
            (
                "reads",
                test.read_share()
                    .map_or("not stated".to_owned(), |share| percent_whole(share.get())),
            ),
            (
                "queue depth",
                test.queue_depth().map_or("not stated".to_owned(), |depth| depth.to_string()),
            ),
            ("threads", test.threads.to_string()),
            ("span", test.span.to_string()),
            ("offset", test.offset.to_string()),
            ("volume", size(test.volume)),
            ("duration", time(test.duration)),
            ("ramp", time(Some(test.ramp))),
            ("alignment", test.alignment().to_string()),
            ("think time", time(Some(test.think()))),
            ("compressibility", percent_whole(test.compressibility.get())),
        ]
    };
    let pairs = settings(a).into_iter().zip(settings(b));
    let differ = pairs.filter(|((_, own), (_, other))| own != other);
    let mut clauses: Vec<String> =
        differ.map(|((what, own), (_, other))| format!("{what} {own} and {other}")).collect();
    if clauses.is_empty() {
        // Rounds, intervals, mixes and loads are omitted, because there is no short description of them.
        clauses.push("how load or recording changes over time".to_owned());
    }
    clauses
}

/// Writes the names of the tests that only one run contains, and of the pairs of tests that share a name but differ in
/// their settings.
fn write_unmatched_tests(
    sheet: &mut TerminalText,
    a: &RunResult,
    b: &RunResult,
    shared: &[(&TestResult, &TestResult)],
) {
    let tests_only_in = |run: &RunResult, other: &RunResult| {
        let missing = run.tests.iter().filter(|result| other.test(&result.test.name).is_none());
        missing.map(|result| result.test.name.clone()).collect::<Vec<_>>()
    };
    let unlike: Vec<String> = shared
        .iter()
        .filter(|(a, b)| a.test != b.test)
        .map(|(a, b)| format!("{} ({})", a.test.name, differences(&a.test, &b.test).join(", ")))
        .collect();
    let lists = [
        ("Only in A: ", tests_only_in(a, b)),
        ("Only in B: ", tests_only_in(b, a)),
        ("Same name, but different settings: ", unlike),
    ];
    let lists: Vec<_> = lists.into_iter().filter(|(_, names)| !names.is_empty()).collect();
    if !lists.is_empty() {
        sheet.blank();
    }
    for (title, names) in lists {
        sheet.item(title, &names.join(", "), CellEmphasis::Plain);
    }
}

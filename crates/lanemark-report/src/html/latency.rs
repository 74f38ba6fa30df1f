//! Latency distributions: percentiles up to the highest one that enough requests support, and the cumulative share.
//!
//! The horizontal axis of the percentile ladder is logarithmic in the share of slower requests, so that each additional
//! nine takes the same width. Whiskers extend from the smallest to the largest repeat. Both pictures combine all
//! repeats.

use lanemark_schema::result::{LatencyHistogram, RunResult, TestResult};
use maud::{Markup, html};

use crate::charts::lines::{LOOKS, LineAxis, LineChart, LineSeries, entries, legend};
use crate::charts::picture::{PanelPicture, TitledPanel};

/// The rungs of the percentile ladder. A rung is omitted if there are too few requests for its percentile.
const RUNGS: [f64; 12] =
    [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999, 99.9999, 99.99999];
/// Rungs with a tick.
const TICKS: [f64; 7] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];
/// Rungs with whiskers.
const WITH_RANGE: [f64; 3] = [50.0, 99.0, 99.9];
/// Minimum and maximum number of steps in a cumulative line.
const STEPS: (usize, usize) = (12, 48);
/// Number of steps that the lines of a picture share.
const STEPS_PICTURE: usize = 600;

/// Returns the content of the section; `None` if no test counted requests.
pub(super) fn distributions(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let names = tests(runs);
    (!names.is_empty()).then(|| {
        html! {
            p class="soft" {
                "All repeats together. Left: the latency that a share of the requests did not exceed, up to the highest percentile that enough requests support; whiskers extend from the minimum to the maximum repeat. Right: the share of requests that took this latency or less."
            }
            @if runs.len() > LOOKS {
                p class="soft" { "With this many runs, colours and dashes repeat from run " (LOOKS + 1) " on, and there are no whiskers." }
            }
            @if runs.len() > 1 {
                (legend(runs.iter().enumerate().map(|(index, (label, _))| (index, label.as_str()))))
            }
            @let (visible, folded) = split_by_difference(names.iter().map(|name| of_test(runs, name)).collect());
            div class="panels pairs" {
                @for (charts, _) in &visible { @for chart in charts { (chart.figure().draw()) } }
            }
            @if !folded.is_empty() {
                details class="folded" {
                    summary { (summary(&folded)) }
                    div class="panels pairs" {
                        @for (charts, _) in &folded { @for chart in charts { (chart.figure().draw()) } }
                    }
                }
            }
        }
    })
}

/// The charts of a test, and whether they show a difference.
type TestPanels = (Vec<LineChart>, PanelDifference);

/// The kind of difference that the charts of a test show.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PanelDifference {
    /// The systems differ; also used if there is only one system, because then no difference is expected.
    Visible,
    /// All requests of a system take the same time.
    Flat,
    /// The systems do not differ.
    Uniform,
    /// The distributions equal the distributions of an earlier test with this name.
    Like(String),
}

fn of_test(runs: &[(String, &RunResult)], name: &str) -> (String, LineChart, LineChart) {
    let results = results(runs, name);
    (name.to_owned(), percentile_chart(name, &results), cumulative(name, &results))
}

/// Separates the tests whose charts show a difference from the other tests.
fn split_by_difference(
    tests: Vec<(String, LineChart, LineChart)>,
) -> (Vec<TestPanels>, Vec<TestPanels>) {
    let mut kept: Vec<(String, LineChart)> = Vec::new();
    let mut visible = Vec::new();
    let mut folded = Vec::new();
    for (name, ladder, cumulative) in tests {
        let like = kept.iter().find(|(_, other)| ladder.is_like(other)).map(|(name, _)| name);
        let difference = match like {
            Some(other) => PanelDifference::Like(other.clone()),
            None if ladder.is_flat() => PanelDifference::Flat,
            None if ladder.is_uniform() && !kept.is_empty() => PanelDifference::Uniform,
            None => PanelDifference::Visible,
        };
        if difference == PanelDifference::Visible {
            kept.push((name, ladder.clone()));
        }
        let panels = ladder.parts().into_iter().chain(cumulative.parts()).collect();
        if difference == PanelDifference::Visible {
            visible.push((panels, difference));
        } else {
            folded.push((panels, difference));
        }
    }
    (visible, folded)
}

/// States why charts are folded, such as `12 tests in which all requests of a system take the same time, 1 test with
/// the distributions of an earlier test`.
fn summary(folded: &[TestPanels]) -> String {
    let count = |is: fn(&PanelDifference) -> bool| {
        folded.iter().filter(|(_, difference)| is(difference)).count()
    };
    let reasons = [
        (
            count(|difference| *difference == PanelDifference::Flat),
            "in which all requests of a system take the same time",
        ),
        (
            count(|difference| *difference == PanelDifference::Uniform),
            "in which the systems differ by less than 1%",
        ),
        (
            count(|difference| matches!(difference, PanelDifference::Like(_))),
            "with the distributions of an earlier test",
        ),
    ];
    let reason = |(count, why): &(usize, &str)| match count {
        0 => None,
        1 => Some(format!("1 test {why}")),
        count => Some(format!("{count} tests {why}")),
    };
    reasons.iter().filter_map(reason).collect::<Vec<_>>().join(", ")
}

/// Draws one kind of chart for all tests: percentiles, or cumulative shares.
pub(super) fn picture(runs: &[(String, &RunResult)], is_cumulative: bool) -> PanelPicture {
    let drawn = if is_cumulative { cumulative } else { percentile_chart };
    let figures = |name: &str| -> Vec<TitledPanel> {
        let parts = drawn(name, &results(runs, name)).parts();
        parts.iter().map(LineChart::figure).collect()
    };
    PanelPicture {
        entries: entries(
            runs.iter().enumerate().map(|(index, (label, _))| (index, label.as_str())),
        ),
        figures: tests(runs).into_iter().flat_map(figures).collect(),
    }
}

/// Returns the names of the tests that counted several requests.
fn tests<'r>(runs: &'r [(String, &RunResult)]) -> Vec<&'r str> {
    let mut names: Vec<&str> = Vec::new();
    for result in runs.iter().flat_map(|(_, run)| &run.tests) {
        if result.latency().count() > 1 && !names.contains(&result.test.name.as_str()) {
            names.push(&result.test.name);
        }
    }
    names
}

/// Returns the results of a test, each with the number and the label of its run.
fn results<'r>(
    runs: &'r [(String, &'r RunResult)],
    name: &str,
) -> Vec<(usize, &'r str, &'r TestResult)> {
    let of_run = |(index, (label, run)): (usize, &'r (String, &'r RunResult))| {
        Some((index, label.as_str(), run.test(name)?))
    };
    runs.iter().enumerate().filter_map(of_run).collect()
}

/// Returns the number of nines in a percentile, such as 1 for 90 and 2 for 99.
fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

/// Returns the rungs of `latency` that enough requests support, with latencies in ns times `factor`.
pub(super) fn points(latency: &LatencyHistogram, factor: f64) -> Vec<(f64, f64)> {
    let point = |&rung: &f64| Some((nines(rung), latency.percentile_ns(rung)? as f64 * factor));
    RUNGS.iter().filter_map(point).collect()
}

fn percentile_chart(name: &str, results: &[(usize, &str, &TestResult)]) -> LineChart {
    let line = |&(style, label, result): &(usize, &str, &TestResult)| {
        let latency = result.latency();
        let points = points(&latency, 1.0);
        let repeats: Vec<_> = result.samples.iter().map(|sample| sample.latency()).collect();
        let range = |rung: f64| {
            let all: Option<Vec<u64>> =
                repeats.iter().map(|repeat| repeat.percentile_ns(rung)).collect();
            let all = all.filter(|all| all.len() > 1)?;
            Some((nines(rung), *all.iter().min()? as f64, *all.iter().max()? as f64))
        };
        // With more lines the whiskers would hide each other.
        let ranged = WITH_RANGE.into_iter().filter(|_| results.len() <= LOOKS);
        let intervals = ranged.filter_map(range).collect();
        LineSeries { name: label.to_owned(), style, rings: false, points, intervals }
    };
    percentile_steps_chart(format!("{name}: percentiles"), results.iter().map(line).collect())
}

/// Returns a percentile chart of `lines`, up to the highest rung of any line.
pub(super) fn percentile_steps_chart(title: String, lines: Vec<LineSeries>) -> LineChart {
    let values: Vec<f64> = lines
        .iter()
        .flat_map(|line| {
            let ends = line.intervals.iter().flat_map(|&(_, low, high)| [low, high]);
            line.points.iter().map(|point| point.1).chain(ends)
        })
        .collect();
    let last =
        lines.iter().flat_map(|line| &line.points).map(|point| point.0).fold(nines(90.0), f64::max);
    let ticks = TICKS
        .iter()
        .filter(|&&tick| nines(tick) <= last + 1e-9)
        .map(|&tick| (nines(tick), tick.to_string()))
        .collect();
    LineChart {
        title,
        across: LineAxis {
            name: "percentile of requests, %".to_owned(),
            ends: (nines(50.0), last),
            logarithmic: false,
            ticks,
        },
        up: LineAxis::latency("latency (logarithmic)", values.into_iter()),
        lines,
        marks: Vec::new(),
    }
}

fn cumulative(name: &str, results: &[(usize, &str, &TestResult)]) -> LineChart {
    let steps = (STEPS_PICTURE / results.len().max(1)).clamp(STEPS.0, STEPS.1);
    let line = |&(style, label, result): &(usize, &str, &TestResult)| {
        let latency = result.latency();
        let all = latency.count() as f64;
        let mut so_far = 0;
        let mut points: Vec<(f64, f64)> = Vec::new();
        let bins: Vec<(u64, u64)> = latency.bins().collect();
        for (index, &(ns, count)) in bins.iter().enumerate() {
            so_far += count;
            let share = so_far as f64 / all * 100.0;
            let before = points.last().map_or(0.0, |point| point.1);
            let far = share - before >= 100.0 / steps as f64;
            if index == 0 || index + 1 == bins.len() || far {
                // The line has a step here, because no request had a latency between the two observed latencies.
                points.extend([(ns as f64, before), (ns as f64, share)]);
            }
        }
        LineSeries { name: label.to_owned(), style, rings: false, points, intervals: Vec::new() }
    };
    let lines: Vec<LineSeries> = results.iter().map(line).collect();
    let values: Vec<f64> =
        lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
    LineChart {
        title: format!("{name}: cumulative"),
        across: LineAxis::latency("latency (logarithmic)", values.into_iter()),
        up: LineAxis::from_zero("requests up to this latency, %", [100.0].into_iter()),
        lines,
        marks: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates the charts of a test with these latencies, one slice per line.
    fn test(name: &str, lines: &[&[f64]]) -> (String, LineChart, LineChart) {
        let line = |(style, values): (usize, &&[f64])| LineSeries {
            name: style.to_string(),
            style,
            rings: false,
            points: values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect(),
            intervals: Vec::new(),
        };
        let chart =
            percentile_steps_chart(name.to_owned(), lines.iter().enumerate().map(line).collect());
        (name.to_owned(), chart.clone(), chart)
    }

    #[test]
    fn panels_that_show_no_difference_are_folded() {
        let curved: &[f64] = &[100.0, 200.0, 400.0];
        let tests = vec![
            test("flat", &[&[100.0, 100.0], &[300.0, 301.0]]),
            test("first", &[curved, &[90.0, 180.0, 300.0]]),
            test("like first", &[&[100.5, 200.1, 401.0], &[90.0, 180.0, 300.0]]),
            test("uniform", &[&[50.0, 60.0], &[50.2, 60.1]]),
            test("other", &[curved, &[90.0, 180.0, 330.0]]),
            test("one system", &[curved]),
        ];
        let (visible, hidden) = split_by_difference(tests);
        let titles = |all: &[TestPanels]| -> Vec<String> {
            all.iter().map(|(charts, _)| charts[0].title.clone()).collect()
        };
        assert_eq!(titles(&visible), ["first", "other", "one system"]);
        assert_eq!(titles(&hidden), ["flat", "like first", "uniform"]);
        assert_eq!(hidden[1].1, PanelDifference::Like("first".to_owned()));
        let text = summary(&hidden);
        for part in ["1 test in which all requests", "1 test in which the systems", "1 test with"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_panel_has_up_to_six_lines_and_no_line_is_lost() {
        let curved: &[f64] = &[100.0, 200.0];
        for count in [1, 6, 7, 13, 24] {
            let (_, chart, _) = test("t", &vec![curved; count]);
            let ends = chart.up.ends;
            let parts = chart.parts();
            assert!(parts.iter().all(|part| part.lines.len() <= 6 && part.up.ends == ends));
            let styles: Vec<usize> =
                parts.iter().flat_map(|part| &part.lines).map(|line| line.style).collect();
            assert_eq!(styles, (0..count).collect::<Vec<_>>());
            assert_eq!(parts.len(), count.div_ceil(6));
        }
    }
}

//! Families of tests as lines: a figure over the number in which the tests differ, and latency over load.

use lanemark_schema::result::{FigureMetric, RunResult, StudyOutcome, TestResult};
use lanemark_schema::workload::Test;
use maud::{Markup, html};

use super::family::{FamilyAxis, TestFamily};
use super::grid::typeset;
use crate::charts::lines::{LineAxis, LineChart, LineSeries, VerticalMark, entries};
use crate::charts::picture::PanelPicture;
use crate::study::figure_table::rows;
use crate::text::metric::heading;
use crate::text::number::{grouped, known_value, significant};

/// Percentile that the whiskers of latency over load reach.
const TAIL: f64 = 99.0;

/// Returns the families among the tests of these runs.
pub(super) fn of_runs<'r>(runs: impl Iterator<Item = &'r RunResult>) -> Vec<TestFamily<'r>> {
    let mut tests: Vec<&Test> = Vec::new();
    for result in runs.flat_map(|run| &run.tests) {
        if tests.iter().all(|known| known.name != result.test.name) {
            tests.push(&result.test);
        }
    }
    TestFamily::all(&tests)
}

/// Draws the families of a study: simulated and measured values as lines, published values as rings.
pub(super) fn study(
    outcome: &StudyOutcome,
    measured: &[(String, &RunResult)],
    metric: FigureMetric,
    families: &[TestFamily<'_>],
) -> PanelPicture {
    let names = outcome.systems.iter().map(|system| system.label.as_str());
    let names = names.chain(measured.iter().map(|(label, _)| label.as_str()));
    picture(&study_charts(outcome, measured, metric, families), names)
}

/// Returns the charts of a study's families.
pub(super) fn study_charts(
    outcome: &StudyOutcome,
    measured: &[(String, &RunResult)],
    metric: FigureMetric,
    families: &[TestFamily<'_>],
) -> Vec<LineChart> {
    let figure_rows = rows(outcome, metric);
    let charts = families.iter().map(|family| {
        let mut lines = Vec::new();
        for (style, system) in outcome.systems.iter().enumerate() {
            let name = system.label.clone();
            let row_of_test = |test: &Test| {
                figure_rows.iter().find(|row| row.system == system.name && row.test == test.name)
            };
            let published = family.points(|test| {
                let figure = &row_of_test(test)?.check?.figure;
                Some(figure.published).filter(|value| value.is_finite())
            });
            if !published.is_empty() {
                let name = format!("{name}, published");
                lines.push(LineSeries {
                    name,
                    style,
                    rings: true,
                    points: published,
                    intervals: Vec::new(),
                });
            }
            lines.extend(family.line(name, style, |test| {
                let simulated = row_of_test(test)?.simulated?;
                let interval =
                    system.run.test(&test.name).and_then(|result| metric.interval(result));
                Some((known_value(&simulated)?, interval))
            }));
        }
        for (index, (label, run)) in measured.iter().enumerate() {
            let style = outcome.systems.len() + index;
            lines.extend(family.line(label.clone(), style, |test| {
                Some((known_value(&metric.value_in(run.test(&test.name)?))?, None))
            }));
        }
        family.chart(heading(metric), lines)
    });
    charts.flat_map(LineChart::parts).collect()
}

/// Draws the families of runs, with one line per run.
pub(super) fn runs(
    runs: &[(String, &RunResult)],
    metric: FigureMetric,
    families: &[TestFamily<'_>],
) -> PanelPicture {
    let charts = runs_charts(runs, metric, families);
    picture(&charts, runs.iter().map(|(label, _)| label.as_str()))
}

/// Returns the charts of the families of runs.
pub(super) fn runs_charts(
    runs: &[(String, &RunResult)],
    metric: FigureMetric,
    families: &[TestFamily<'_>],
) -> Vec<LineChart> {
    let charts = families.iter().map(|family| {
        let lines = runs.iter().enumerate().filter_map(|(style, (label, run))| {
            family.line(label.clone(), style, |test| {
                let result = run.test(&test.name)?;
                Some((known_value(&metric.value_in(result))?, metric.interval(result)))
            })
        });
        family.chart(heading(metric), lines.collect())
    });
    charts.flat_map(LineChart::parts).collect()
}

fn picture<'n>(charts: &[LineChart], names: impl Iterator<Item = &'n str>) -> PanelPicture {
    let is_style_used =
        |style: usize| charts.iter().flat_map(|chart| &chart.lines).any(|line| line.style == style);
    let named = names.enumerate().filter(|&(style, _)| is_style_used(style));
    PanelPicture {
        entries: entries(named),
        figures: charts.iter().map(LineChart::figure).collect(),
    }
}

/// Draws families on a page; draws nothing if there is no family.
pub(super) fn section(families: &PanelPicture, rings: bool) -> Markup {
    html! {
        @if !families.figures.is_empty() {
            (families.legend())
            @if rings { p class="soft" { "Rings are published figures; whiskers are 80% intervals." } }
            (families.panels("panels pairs"))
        }
    }
}

/// Builds the section on latency over requests a second, with a point per queue depth; `None` if no tests differ only
/// in queue depth.
pub(super) fn over_load(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let picture = load_picture(runs);
    (!picture.figures.is_empty()).then(|| {
        html! {
            p class="soft" {
                "The line shows the median latency, and the whisker reaches the 99th percentile. Each point is a queue depth. The vertical line is the ceiling: the throughput of the path's slowest hop if this hop were the only limit."
            }
            (picture.legend())
            (picture.panels("panels pairs"))
        }
    })
}

/// Draws latency over load.
pub(super) fn load_picture(runs: &[(String, &RunResult)]) -> PanelPicture {
    picture(&load_charts(runs), runs.iter().map(|(label, _)| label.as_str()))
}

/// Returns the charts of latency over load.
pub(super) fn load_charts(runs: &[(String, &RunResult)]) -> Vec<LineChart> {
    let families = of_runs(runs.iter().map(|(_, run)| *run));
    families
        .iter()
        .filter(|family| family.axis == FamilyAxis::Depth)
        .map(|family| load_chart(family, runs))
        .filter(|chart| !chart.lines.is_empty())
        .flat_map(LineChart::parts)
        .collect()
}

fn load_chart(family: &TestFamily<'_>, runs: &[(String, &RunResult)]) -> LineChart {
    let mut lines = Vec::new();
    let mut marks = Vec::new();
    for (style, (label, run)) in runs.iter().enumerate() {
        let results: Vec<&TestResult> =
            family.tests.iter().filter_map(|(_, test)| run.test(&test.name)).collect();
        let mut line = LineSeries {
            name: label.clone(),
            style,
            rings: false,
            points: Vec::new(),
            intervals: Vec::new(),
        };
        for result in &results {
            let latency = result.latency();
            let (Some(iops), Some(median)) =
                (known_value(&result.iops), latency.percentile_ns(50.0))
            else {
                continue;
            };
            line.points.push((iops, median as f64));
            if let Some(tail) = latency.percentile_ns(TAIL) {
                line.intervals.push((iops, median as f64, tail as f64));
            }
        }
        if line.points.len() > 1 {
            if let Some((iops, hop)) = results.last().and_then(|result| ceiling(result)) {
                let name = format!("{hop}: {}", grouped(&significant(iops)));
                marks.push(VerticalMark { at: iops, name, style });
            }
            lines.push(line);
        }
    }
    let across = lines.iter().flat_map(|line| &line.points).map(|point| point.0);
    let across: Vec<f64> = across.chain(marks.iter().map(|mark| mark.at)).collect();
    let up: Vec<f64> = lines
        .iter()
        .flat_map(|line| {
            let tails = line.intervals.iter().map(|interval| interval.2);
            line.points.iter().map(|point| point.1).chain(tails)
        })
        .collect();
    LineChart {
        title: format!("{}: latency over load", family.title()),
        across: LineAxis::from_zero("requests a second", across.into_iter()),
        up: LineAxis::latency("latency (logarithmic)", up.into_iter()),
        lines,
        marks,
    }
}

/// Returns the maximum requests a second of the bottleneck of a simulated test, and the bottleneck's name.
fn ceiling(result: &TestResult) -> Option<(f64, String)> {
    let path = result.samples.first()?.path.as_ref()?;
    let rates = path.hops.iter().filter_map(|hop| Some((hop.ceiling?.0 as f64, hop.name.clone())));
    let (rate, hop) = rates.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let block = result.test.block_mean();
    (block > 0.0 && rate > 0.0).then(|| (rate / block, hop))
}

impl TestFamily<'_> {
    fn points(&self, value: impl Fn(&Test) -> Option<f64>) -> Vec<(f64, f64)> {
        self.tests.iter().filter_map(|&(at, test)| Some((at, value(test)?))).collect()
    }

    /// Returns the line of one system; `None` if the system does not have a test of the family.
    fn line(
        &self,
        name: String,
        style: usize,
        value: impl Fn(&Test) -> Option<(f64, Option<(f64, f64)>)>,
    ) -> Option<LineSeries> {
        let points = self.points(|test| Some(value(test)?.0));
        let intervals = self.tests.iter().filter_map(|&(at, test)| {
            let (low, high) = value(test)?.1?;
            Some((at, low, high))
        });
        let intervals = intervals.collect();
        (!points.is_empty()).then_some(LineSeries { name, style, rings: false, points, intervals })
    }

    fn chart(&self, figure: &str, lines: Vec<LineSeries>) -> LineChart {
        let values: Vec<f64> = lines
            .iter()
            .flat_map(|line| {
                let ends = line.intervals.iter().map(|interval| interval.2);
                line.points.iter().map(|point| point.1).chain(ends)
            })
            .collect();
        LineChart {
            title: self.title(),
            across: self.axis.scale(self.tests.iter().map(|test| test.0)),
            up: LineAxis::from_zero(&typeset(figure), values.into_iter()),
            lines,
            marks: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{HopId, HopUse, PathUse};
    use lanemark_schema::units::{Bytes, BytesPerSecond};
    use lanemark_schema::workload::Workload;

    use super::*;
    use crate::run_tests::{reads, run};

    /// Returns a test of 4 KiB reads at this queue depth. Its requests take `latencies_us`, and the hops of its path
    /// have `ceilings` in MB/s.
    fn test(depth: u32, latencies_us: &[u64], ceilings: &[Option<u64>]) -> TestResult {
        let name = format!("Q{depth}");
        let test = Test { name, ..Test::of_blocks(Bytes::kibi(4)) };
        let test = test.with(|requests| requests.queue_depth = depth);
        let hop = |(number, ceiling): (usize, &Option<u64>)| HopUse {
            id: HopId::Link(number as u8),
            name: format!("hop {number}"),
            utilisation: 0.5,
            ceiling: ceiling.map(|megabytes| BytesPerSecond(megabytes * 1_000_000)),
            wait_ns: 0.0,
            service_ns: 1.0,
        };
        let path = PathUse::new(ceilings.iter().enumerate().map(hop).collect(), 1);
        let mut sample = reads(10, 4, latencies_us);
        sample.path = Some(path);
        TestResult::new(&Workload::of_test("w", "W", test.clone()), &test, vec![sample])
    }

    /// Returns a run with tests at the depths 1, 2, 4 and 8; each test has one request per latency in `latencies_us`.
    fn depths(latencies_us: [&[u64]; 4]) -> RunResult {
        let each = [1, 2, 4, 8].into_iter().zip(latencies_us);
        let ceilings = [Some(900), None, Some(500), Some(700)];
        run(each.map(|(depth, times)| test(depth, times, &ceilings)).collect())
    }

    #[test]
    fn latency_over_load_has_a_point_for_each_depth_and_the_ceiling_of_the_slowest_hop() {
        let around = |us: u64, count: usize| {
            let mut latencies = vec![us; count];
            latencies[0] -= us / 20;
            latencies
        };
        let [one, few, many, most] =
            [(50, 100), (100, 200), (200, 300), (400, 320)].map(|(us, count)| around(us, count));
        let first = depths([&one, &few, &many, &most]);
        // The 99th percentile is not known for fewer than a hundred requests.
        let second = depths([&[50; 99], &[], &[], &[]]);
        let third = depths([&[60; 50], &[70; 60], &[], &[]]);
        let runs = [("A".to_owned(), &first), ("B".to_owned(), &second), ("C".to_owned(), &third)];
        let charts = load_charts(&runs);
        assert_eq!(charts.len(), 1);
        let chart = &charts[0];
        assert_eq!(chart.title, "random read, 4 KiB: latency over load");
        // A single point does not form a line.
        let names: Vec<(&str, usize)> =
            chart.lines.iter().map(|line| (line.name.as_str(), line.style)).collect();
        assert_eq!(names, [("A", 0), ("C", 2)]);
        let points = &chart.lines[0].points;
        let rates: Vec<f64> = points.iter().map(|point| point.0.round()).collect();
        assert_eq!(rates, [10_000.0, 20_000.0, 30_000.0, 32_000.0]);
        for ((_, latency), us) in points.iter().zip([50.0, 100.0, 200.0, 400.0]) {
            assert!((latency / 1e3 / us - 1.0).abs() < 0.05, "{latency}");
        }
        assert_eq!((chart.lines[0].intervals.len(), chart.lines[1].intervals.len()), (4, 0));
        // A ceiling of 500 MB/s, in requests of 4 KiB.
        let marks: Vec<(f64, &str, usize)> = chart
            .marks
            .iter()
            .map(|mark| (mark.at.round(), mark.name.as_str(), mark.style))
            .collect();
        assert_eq!(marks, [(122_070.0, "hop 2: 122,070", 0), (122_070.0, "hop 2: 122,070", 2)]);
        let picture = load_picture(&runs);
        let entries: Vec<&str> = picture.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(entries, ["A", "C"]);
        assert!(over_load(&runs).is_some() && over_load(&runs[1..2]).is_none());
    }

    #[test]
    fn the_ceiling_of_a_path_is_its_lowest_known_one() {
        let of = |ceilings: &[Option<u64>]| ceiling(&test(1, &[9; 100], ceilings));
        let (iops, hop) = of(&[Some(900), Some(450), None]).unwrap();
        assert!((iops - 450e6 / 4096.0).abs() < 1e-6 && hop == "hop 1", "{iops} {hop}");
        assert_eq!(of(&[None, None]), None);
        assert_eq!(of(&[Some(0), Some(9)]), None);
        let mut unknown = test(1, &[9; 100], &[Some(9)]);
        unknown.samples[0].path = None;
        assert_eq!(ceiling(&unknown), None);
    }

    #[test]
    fn families_of_runs_have_a_line_for_each_run_with_its_tests() {
        let few = [100; 100];
        let more = [100; 200];
        let first = depths([&few, &few, &more, &more]);
        let second = run(vec![test(2, &more, &[])]);
        let none = run(vec![test(16, &[1; 9], &[])]);
        let runs = [("A".to_owned(), &first), ("B".to_owned(), &second), ("C".to_owned(), &none)];
        let families = of_runs(runs[..2].iter().map(|(_, run)| *run));
        assert_eq!((families.len(), families[0].tests.len()), (1, 4));
        let charts = runs_charts(&runs, FigureMetric::Iops, &families);
        assert_eq!(charts.len(), 1);
        let lines: Vec<(&str, usize, Vec<(f64, f64)>)> = charts[0]
            .lines
            .iter()
            .map(|line| {
                let round = |point: &(f64, f64)| (point.0, point.1.round());
                (line.name.as_str(), line.style, line.points.iter().map(round).collect())
            })
            .collect();
        let of_first = vec![(1.0, 10_000.0), (2.0, 10_000.0), (4.0, 20_000.0), (8.0, 20_000.0)];
        assert_eq!(lines, [("A", 0, of_first), ("B", 1, vec![(2.0, 20_000.0)])]);
        let drawn = super::runs(&runs, FigureMetric::Iops, &families);
        let entries: Vec<&str> = drawn.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!((entries, drawn.figures.len()), (vec!["A", "B"], 1));
        assert!(section(&drawn, true).into_string().contains("Rings are published figures"));
        assert!(!section(&drawn, false).into_string().contains("Rings"));
        let nothing = PanelPicture { entries: Vec::new(), figures: Vec::new() };
        assert_eq!(section(&nothing, true).into_string(), "");
    }
}

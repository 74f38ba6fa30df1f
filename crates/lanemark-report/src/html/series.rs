//! Tests over time: requests or bytes a second, and below them write amplification on the same time axis.
//!
//! A heat map of latency follows below. The panels of rates begin at zero. Time is linear: the width of a period is
//! proportional to its duration. Shaded areas are computed from the data. They show the time before the drive first
//! moves data, and the time after which the figures are steady by SNIA's rule. For a test that runs in rounds, they
//! show the rounds that determine the reported figures.

use lanemark_schema::result::{DrivePhases, DriveUse, RunResult, Sample, Series, Temperatures};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;
use maud::{Markup, html};

use super::grid::typeset;
use super::heat::{self, HeatMap};
use crate::blocks::over_time;
use crate::charts::axis::{Axis, step};
use crate::charts::picture::{self, PanelPicture, TitledPanel};
use crate::charts::svg::{SvgImage, block, image, num, text_width};
use crate::text::number::{grouped, significant};
use crate::text::time::{time_text, time_unit};

mod small;

/// Room for the labels of the vertical axes.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 24.0;
/// Height of the line above a plot.
const HEADING: f64 = 28.0;
/// Room for the names of the spans below the first heading.
const NAMES: f64 = 15.0;
const AXIS: f64 = 18.0;
/// Number of time ticks in a drawing as wide as a page.
const TICKS: f64 = 12.0;
/// Maximum number of drawings that a page shows at full size; a page with more shows small drawings, grouped by test.
const WHOLE_MOST: usize = 24;
/// Total number of steps in the lines on a page of small drawings, and of columns in its heat maps.
const STEPS_PAGE: usize = 20_000;
const COLUMNS_PAGE: usize = 8_000;
/// Minimum request size for which rates are shown in bytes rather than requests.
const LARGE: Bytes = Bytes::kibi(64);
/// Name of the periods at the temperature limit.
const HOT: &str = "at the temperature limit";

#[derive(Clone, Copy)]
struct DrawingSize {
    width: f64,
    /// Height of the plot of the rate.
    rate: f64,
    amplification: f64,
    /// Height of a row of a heat map.
    row: f64,
    /// Distance between the ticks of a plot.
    tick_height: f64,
    decimals: i32,
    /// Maximum number of steps in a line.
    steps: usize,
    columns: usize,
}

impl DrawingSize {
    /// A line does not need more steps than a page has pixels.
    const WHOLE: Self = Self {
        width: 900.0,
        rate: 210.0,
        amplification: 100.0,
        row: 7.0,
        tick_height: 45.0,
        decimals: 1,
        steps: 1000,
        columns: 120,
    };

    /// Returns the size of a drawing if there are `drawings` of them.
    fn for_drawings(drawings: usize) -> Self {
        match drawings {
            0..=WHOLE_MOST => Self::WHOLE,
            _ => Self {
                width: 340.0,
                rate: 84.0,
                amplification: 56.0,
                row: 4.0,
                tick_height: 56.0,
                decimals: 0,
                steps: (STEPS_PAGE / drawings).clamp(40, 240),
                columns: (COLUMNS_PAGE / drawings).clamp(20, 60),
            },
        }
    }

    fn is_small(&self) -> bool {
        self.width < Self::WHOLE.width
    }
}

/// A period of time with its description.
struct LabelledSpan {
    from: Duration,
    to: Duration,
    name: &'static str,
    class: &'static str,
}

/// A time at which an event begins or a fault occurs.
struct EventMark {
    at: Duration,
    name: String,
    class: &'static str,
}

/// A line over time.
struct TimePlot {
    heading: String,
    class: &'static str,
    height: f64,
    values: Vec<Option<f64>>,
}

/// A test over time, ready to draw.
struct TestSeries<'r> {
    label: &'r str,
    caption: String,
    test: &'r Test,
    sample: &'r Sample,
    series: &'r Series,
}

impl TestSeries<'_> {
    fn has_latencies(&self) -> bool {
        self.series.points.iter().any(|point| !point.latency_steps.is_empty())
    }
}

/// Returns the tests that have a series, each represented by its first sample with a series.
fn test_series<'r>(runs: &'r [(String, &'r RunResult)]) -> Vec<TestSeries<'r>> {
    let several = runs.len() > 1;
    let mut all = Vec::new();
    for (label, run) in runs {
        for result in &run.tests {
            let has_points = |sample: &&Sample| {
                sample.series.as_ref().is_some_and(|series| series.points.len() > 1)
            };
            let Some(sample) = result.samples.iter().find(has_points) else { continue };
            let Some(series) = &sample.series else { continue };
            let name = &result.test.name;
            let caption = if several { format!("{name}: {label}") } else { name.clone() };
            all.push(TestSeries { label, caption, test: &result.test, sample, series });
        }
    }
    all
}

/// Draws all tests over time.
pub(super) fn picture(runs: &[(String, &RunResult)]) -> PanelPicture {
    let all_series = test_series(runs);
    let heat = all_series.iter().any(TestSeries::has_latencies);
    let drawing = |series: &TestSeries<'_>| TitledPanel {
        title: series.caption.clone(),
        image: draw(series, DrawingSize::WHOLE),
    };
    PanelPicture {
        entries: if heat { heat::entries() } else { Vec::new() },
        figures: all_series.iter().map(drawing).collect(),
    }
}

/// Returns the content of the section; `None` if no run has a series.
pub(super) fn over_time(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let all_series = test_series(runs);
    (!all_series.is_empty()).then(|| {
        html! {
            @if all_series.iter().any(TestSeries::has_latencies) { (picture::legend(&heat::entries())) }
            @match DrawingSize::for_drawings(all_series.len()) {
                size if size.is_small() => (small::section(&all_series, size)),
                size => {
                    (picture::legend(&small::entries(&all_series, false)))
                    @for plotted in &all_series { (page_width_plot(plotted, size)) }
                },
            }
        }
    })
}

/// Draws a test over time at the full width of the page.
fn page_width_plot(plotted: &TestSeries<'_>, size: DrawingSize) -> Markup {
    html! {
        figure class="time" {
            figcaption {
                (plotted.caption)
                @if plotted.sample.evidence.as_ref().is_some_and(|evidence| evidence.temperatures.is_none()) {
                    span class="soft" { " (the temperature of the drive was not readable)" }
                }
            }
            (draw(plotted, size))
        }
    }
}

/// Draws a test over time.
fn draw(plotted: &TestSeries<'_>, size: DrawingSize) -> SvgImage {
    let TestSeries { ref caption, sample, series, .. } = *plotted;
    let condensed = series.condensed(size.steps);
    let (unit, seconds) = time_unit(series.elapsed());
    let longest = series.elapsed().as_seconds() / seconds;
    let time = Axis::with_ticks([longest].into_iter(), size.width - LEFT - RIGHT, TICKS);
    let x_of = |at: Duration| time.place(at.as_seconds() / seconds);
    let edges: Vec<f64> = (0..=condensed.points.len())
        .map(|index| x_of((condensed.interval * index as u64).min(condensed.elapsed())))
        .collect();
    let plots = plots(plotted, &condensed, size);
    let spans = spans(sample, series);
    let marks = marks(sample, series);
    let mut top = NAMES;
    let mut placed = Vec::new();
    for plot in &plots {
        placed.push((plot, top + HEADING));
        top += HEADING + plot.height;
    }
    let heat =
        HeatMap::from_series(series, size.columns, size.row).map(|heat| (heat, top + HEADING));
    if let Some((heat, at)) = &heat {
        top = at + heat.height();
    }
    let right = edges.last().copied().unwrap_or_default();
    let content = html! {
        g transform=(format!("translate({} 0)", num(LEFT))) {
            @for (index, (plot, top)) in placed.iter().enumerate() {
                (shading(&spans, &x_of, *top, plot.height, index == 0))
                @if index + 1 == placed.len() && heat.is_none() { (time.draw(*top, top + plot.height, &typeset(unit))) }
                @else { (time.lines(*top, top + plot.height)) }
                (plot.heading(top - 8.0 - if index == 0 { NAMES } else { 0.0 }))
                (plot.draw(*top, &edges, size))
                (draw_marks(&marks, &x_of, *top, plot.height, (index == 0).then_some(size)))
            }
            @if let Some((heat, top)) = &heat {
                (time.draw(*top, top + heat.height(), &typeset(unit)))
                text class="unit" x=(num(-LEFT)) y=(num(top - 8.0)) { (heat::HEADING) }
                (heat.draw(*top, right, &x_of))
                (draw_marks(&marks, &x_of, *top, heat.height(), None))
            }
        }
    };
    image(size.width, top + AXIS, &alt_text(caption, &plots, series), content)
}

/// Returns the plots of a series: the rate, and the write amplification and the temperature if they are known.
fn plots(plotted: &TestSeries<'_>, series: &Series, size: DrawingSize) -> Vec<TimePlot> {
    let points = 0..series.points.len();
    let large = plotted.test.block >= LARGE;
    let rate = |index: usize| {
        // A very short last interval does not yield a meaningful rate.
        let is_moment = index > 0 && series.length(index) < series.interval / 4;
        (!is_moment)
            .then(|| if large { series.throughput(index) / 1e6 } else { series.iops(index) })
    };
    let heading = if large { "MB/s (10⁶ bytes a second)" } else { "requests a second" };
    let mut plots = vec![TimePlot {
        heading: heading.to_owned(),
        class: "t0",
        height: size.rate,
        values: points.clone().map(rate).collect(),
    }];
    let amplification: Vec<Option<f64>> =
        points.clone().map(|index| series.points[index].write_amplification()).collect();
    if amplification.iter().any(Option::is_some) {
        plots.push(TimePlot {
            heading: "write amplification".to_owned(),
            class: "t1",
            height: size.amplification,
            values: amplification,
        });
    }
    if let Some(temperatures) = temperatures(plotted.sample) {
        let mut last = None;
        let value = |index: usize| {
            let from = series.start(index);
            // The temperature between two readings is the last reading.
            last = temperatures.max_between(from, from + series.length(index)).or(last);
            last
        };
        let limit = temperatures.limit_celsius;
        let limit = limit.map_or(String::new(), |limit| format!(", limit {limit:.0}"));
        plots.push(TimePlot {
            heading: format!("temperature (°C{limit})"),
            class: "t2",
            height: size.amplification,
            values: points.map(value).collect(),
        });
    }
    plots
}

fn temperatures(sample: &Sample) -> Option<&Temperatures> {
    sample.evidence.as_ref()?.temperatures.as_ref()
}

/// Returns the periods in which the drive was at its temperature limit.
fn hot_spans(sample: &Sample, series: &Series) -> Vec<LabelledSpan> {
    let Some(temperatures) = temperatures(sample) else { return Vec::new() };
    let mut spans: Vec<LabelledSpan> = Vec::new();
    let readings = &temperatures.readings;
    let next = readings.iter().skip(1).map(|reading| reading.at).chain([series.elapsed()]);
    for (reading, to) in readings.iter().zip(next) {
        let from = reading.at;
        match spans.last_mut() {
            _ if temperatures.is_at_limit(reading.celsius) != Some(true) => {}
            Some(span) if span.to == from => span.to = to,
            Some(_) | None => spans.push(LabelledSpan { from, to, name: HOT, class: "phase hot" }),
        }
    }
    spans
}

fn spans(sample: &Sample, series: &Series) -> Vec<LabelledSpan> {
    let phases = DrivePhases::from_series(series);
    let mut spans = Vec::new();
    let unmoved = phases.nothing_moved.filter(|&to| to > Duration::ZERO);
    if let Some(to) = unmoved.filter(|_| over_time::is_written(series)) {
        let name = "collection moves nothing";
        spans.push(LabelledSpan { from: Duration::ZERO, to, name, class: "phase early" });
    }
    spans.extend(hot_spans(sample, series));
    let steady = match &sample.steady {
        Some(steady) => steady.window.filter(|_| steady.reached()).map(|window| {
            let before = u64::from(window.first_round) - 1;
            (steady.rule.length * before, "measurement window")
        }),
        None => phases.steady_from.map(|from| (from, "steady by SNIA's rule")),
    };
    if let Some((from, name)) = steady {
        let from = from.max(phases.nothing_moved.unwrap_or_default()).min(series.elapsed());
        spans.push(LabelledSpan { from, to: series.elapsed(), name, class: "phase late" });
    }
    spans
}

/// Returns the times of the events that the sample records: the first writes out of the pseudo-SLC cache, the first
/// data that garbage collection moved, and the faults.
fn marks(sample: &Sample, series: &Series) -> Vec<EventMark> {
    let first_point_where = |moving: fn(&DriveUse) -> bool| {
        let point = series.points.iter().position(|point| point.drive.as_ref().is_some_and(moving));
        point.map(|index| series.start(index))
    };
    let mut marks = Vec::new();
    if let Some(at) = first_point_where(|drive| drive.folded > Bytes::ZERO) {
        let name = "pseudo-SLC folding begins here".to_owned();
        marks.push(EventMark { at, name, class: "mark" });
    }
    if let Some(at) = first_point_where(|drive| drive.moved > Bytes::ZERO) {
        marks.push(EventMark { at, name: "collection begins here".to_owned(), class: "mark" });
    }
    for fault in &sample.faults {
        let kind = fault.fault.split(' ').next().unwrap_or_default();
        marks.push(EventMark { at: fault.at, name: format!("fault: {kind}"), class: "mark fault" });
    }
    marks.retain(|mark| mark.at <= series.elapsed());
    marks
}

/// Draws `marks` as vertical lines. If `named` is the size of the drawing, each line is labelled with its name, on its
/// left if there is no room on its right.
fn draw_marks(
    marks: &[EventMark],
    x_of: &impl Fn(Duration) -> f64,
    top: f64,
    height: f64,
    named: Option<DrawingSize>,
) -> Markup {
    html! {
        @for (row, mark) in marks.iter().enumerate() {
            @let at = x_of(mark.at);
            path class=(mark.class) d=(format!("M{} {}v{}", num(at), num(top), num(height))) {}
            @if let Some(size) = named {
                @let fits = at + text_width(&mark.name) + 6.0 <= size.width - LEFT;
                text class="named" x=(num(if fits { at + 4.0 } else { at - 4.0 }))
                    y=(num(top + 12.0 + (row % 12) as f64 * 14.0)) text-anchor=(if fits { "start" } else { "end" }) {
                    (mark.name)
                }
            }
        }
    }
}

fn shading(
    spans: &[LabelledSpan],
    x_of: &impl Fn(Duration) -> f64,
    top: f64,
    height: f64,
    named: bool,
) -> Markup {
    html! {
        @for span in spans {
            @let from = x_of(span.from);
            @let to = x_of(span.to);
            @if to > from {
                path class=(span.class) d=(block(from, top, to - from, height)) {}
                // The name is above the plot, away from all lines, and moves to the left if its span is too narrow.
                @if named && text_width(span.name) <= to.max(0.0) {
                    @let fits = text_width(span.name) <= to - from;
                    text class="soft" x=(num(if fits { f64::midpoint(from, to) } else { to }))
                        y=(num(top - 5.0)) text-anchor=(if fits { "middle" } else { "end" }) {
                        (span.name)
                    }
                }
            }
        }
    }
}

impl TimePlot {
    fn heading(&self, y: f64) -> Markup {
        html! { text class=(format!("unit {}", self.class)) x=(num(-LEFT)) y=(num(y)) { (self.heading) } }
    }

    /// Draws the plot below `top`.
    fn draw(&self, top: f64, edges: &[f64], size: DrawingSize) -> Markup {
        let greatest = self.values.iter().flatten().copied().filter(|value| value.is_finite());
        let greatest = greatest.fold(0.0_f64, f64::max);
        let each =
            step(if greatest > 0.0 { greatest } else { 1.0 } / (self.height / size.tick_height));
        let count = (greatest / each * (1.0 - 1e-9)).floor() as usize + 1;
        let full = each * count as f64;
        let bottom = top + self.height;
        let y_of = |value: f64| bottom - (value / full).clamp(0.0, 1.0) * self.height;
        let decimals = (-each.log10().floor()).clamp(0.0, 9.0) as usize;
        let right = edges.last().copied().unwrap_or_default();
        let level = |tick: usize| format!("M0 {}H{}", num(y_of(each * tick as f64)), num(right));
        html! {
            path class="base" d=(level(0)) {}
            path class="grid" d=((1..=count).map(level).collect::<String>()) {}
            g class="soft end" {
                @for tick in 0..=count {
                    @let value = each * tick as f64;
                    text x="-6" y=(num(y_of(value) + 3.5)) { (grouped(&format!("{value:.decimals$}"))) }
                }
            }
            path class=(format!("trace {}", self.class)) d=(self.steps(edges, y_of, size.decimals)) {}
        }
    }

    /// Returns the values as steps, with gaps at unknown values.
    fn steps(&self, edges: &[f64], y_of: impl Fn(f64) -> f64, decimals: i32) -> String {
        let factor = 10f64.powi(decimals);
        let mut path = String::new();
        // The current step: its height, its start and its end.
        let mut step: Option<(String, f64, f64)> = None;
        for (value, ends) in self.values.iter().zip(edges.windows(2)) {
            let known = value.filter(|value| value.is_finite());
            let y = known.map(|value| num((y_of(value) * factor).round() / factor));
            if let (Some((known, _, to)), Some(y)) = (&mut step, &y)
                && known == y
            {
                *to = ends[1].round();
                continue;
            }
            let before = step.take().map(|(_, from, to)| path += &format!("h{}", to - from));
            if let Some(y) = y {
                let [from, to] = [ends[0], ends[1]].map(f64::round);
                path += &match before {
                    Some(()) => format!("V{y}"),
                    None => format!("M{from} {y}"),
                };
                step = Some((y, from, to));
            }
        }
        if let Some((_, from, to)) = step {
            path += &format!("h{}", to - from);
        }
        path
    }
}

/// Describes the picture as text.
fn alt_text(caption: &str, plots: &[TimePlot], series: &Series) -> String {
    let lines = plots.iter().map(|plot| {
        let known: Vec<f64> = plot.values.iter().flatten().copied().collect();
        let first = known.first().copied().unwrap_or(f64::NAN);
        let last = known.last().copied().unwrap_or(f64::NAN);
        format!("{}: first {}, last {}", plot.heading, significant(first), significant(last))
    });
    let lines = lines.collect::<Vec<_>>().join("; ");
    format!("{caption} over {}. {lines}", time_text(series.elapsed()))
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::series::SeriesPoint;
    use lanemark_schema::result::steady::{RoundsOutcome, SteadyWindow, UnsteadyReason};
    use lanemark_schema::result::{Evidence, SteadyState, TemperatureReading};
    use lanemark_schema::workload::RoundSettings;

    use super::*;

    #[test]
    fn only_a_short_interval_at_the_end_lacks_a_rate() {
        let second = Duration::from_seconds(1);
        let points = vec![SeriesPoint { reads: 100, ..SeriesPoint::default() }; 3];
        let test = Test::of_blocks(lanemark_schema::units::Bytes::kibi(4));
        let rates = |last, points: &[SeriesPoint]| {
            let series = Series { interval: second, last, points: points.to_vec() };
            let sample = &Sample::empty();
            let caption = String::new();
            let plotted = TestSeries { label: "", caption, test: &test, sample, series: &series };
            plots(&plotted, &series, DrawingSize::WHOLE)[0].values.clone()
        };
        assert_eq!(rates(second, &points), [Some(100.0); 3]);
        assert_eq!(rates(second / 2, &points), [Some(100.0), Some(100.0), Some(200.0)]);
        assert_eq!(rates(second / 5, &points), [Some(100.0), Some(100.0), None]);
        // A series of one interval does not have a second rate.
        assert_eq!(rates(second / 5, &points[..1]), [Some(500.0)]);
    }

    #[test]
    fn temperatures_are_drawn_and_the_time_at_the_limit_is_shaded() {
        let second = Duration::from_seconds(1);
        let points = vec![SeriesPoint { reads: 100, ..SeriesPoint::default() }; 4];
        let series = Series { interval: second, last: second, points };
        let reading = |at: u64, celsius: f64| TemperatureReading { at: second * at, celsius };
        let readings = vec![reading(0, 60.0), reading(1, 83.5), reading(2, 84.0)];
        let temperatures = Some(Temperatures { limit_celsius: Some(84.0), readings });
        let evidence = Some(Evidence { temperatures, ..Evidence::default() });
        let sample = &Sample { evidence, ..Sample::empty() };
        let test = &Test::of_blocks(Bytes::kibi(4));
        let plotted =
            TestSeries { label: "", caption: String::new(), test, sample, series: &series };
        let plots = plots(&plotted, &series, DrawingSize::WHOLE);
        assert_eq!(plots[1].heading, "temperature (°C, limit 84)");
        assert_eq!(plots[1].values, [60.0, 83.5, 84.0, 84.0].map(Some));
        let hot = &hot_spans(sample, &series)[0];
        assert_eq!((hot.from, hot.to), (second, second * 4));
    }

    #[test]
    fn the_measurement_window_is_shaded_from_the_beginning_of_its_first_round() {
        let second = Duration::from_seconds(1);
        let points = vec![SeriesPoint { reads: 1, ..SeriesPoint::default() }; 30];
        let series = Series { interval: second, last: second, points };
        let shaded = |first_round: u32, outcome: RoundsOutcome| -> Vec<(Duration, Duration)> {
            let rule = RoundSettings { length: second * 4, tracked: Default::default() };
            let window = Some(SteadyWindow {
                first_round,
                mean: 1.0,
                range: 0.0,
                slope: 0.0,
                slope_range: 0.0,
            });
            let steady = Some(SteadyState { rule, rounds: Vec::new(), outcome, window });
            let sample = Sample { steady, ..Sample::empty() };
            spans(&sample, &series).iter().map(|span| (span.from, span.to)).collect()
        };
        let reached = RoundsOutcome::Reached { round: 7 };
        for (first_round, from) in [(1, 0), (2, 4), (3, 8), (7, 24), (9, 30)] {
            assert_eq!(
                shaded(first_round, reached),
                [(second * from, second * 30)],
                "{first_round}"
            );
        }
        assert_eq!(shaded(3, RoundsOutcome::NotReached { reason: UnsteadyReason::Range }), []);
    }
}

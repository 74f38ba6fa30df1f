//! A sweep as one self-contained HTML file, with a drawing per panel that shows throughput above latency on one
//! horizontal axis.
//!
//! Both plots begin at zero. The horizontal axis is logarithmic if its values span more than a factor of eight: unlike
//! bars, lines do not suggest a length, and the values of a sweep usually double. A ring marks a knee.

use lanemark_schema::result::{Provenance, Sweep};
use maud::{Markup, html};

use super::curve::{Curve, CurvePanel, CurvePoint, Curves, Knee};
use super::{counted, curve_sentence, curves, errors, sentences, table, title};
use crate::charts::axis::step;
use crate::charts::lines::{LineAxis, LineChart, LineSeries, legend as legend_of, style};
use crate::charts::palette::SYSTEM_COLOURS;
use crate::charts::svg::{image, num, part_title, split, text_fitted_to, text_width};
use crate::html::evidence::capitalised;
use crate::html::provenance::provenances;
use crate::html::{grid, page, typeset};
use crate::text::number::{LatencyUnit, grouped};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 150.0;
const HEIGHT: f64 = 210.0;
const HEADING: f64 = 34.0;
const AXIS: f64 = 34.0;
/// Index of p99 among a point's percentiles.
const P99: usize = 1;
/// Maximum number of curves in a panel of latency over throughput; each curve has two lines there.
const CURVES: usize = 3;
/// Maximum number of panels on a page.
const PANELS: usize = 24;
/// Maximum number of rows in the table of a page.
const ROWS: usize = 2_000;

/// Writes one self-contained HTML file of a sweep: its knees as text, its curves, its points as numbers, and, if known,
/// its provenance.
pub fn sweep_html(sweep: &Sweep, made_by: Option<&Provenance>) -> String {
    let title = title(sweep);
    let mut systems: Vec<&str> = Vec::new();
    for point in &sweep.points {
        if !systems.contains(&point.system.as_str()) && systems.len() <= 3 {
            systems.push(&point.system);
        }
    }
    let systems = match systems.len() {
        0..=3 => systems.join(", "),
        _ => format!("{} and others", systems[..3].join(", ")),
    };
    let curves = curves(sweep);
    page(
        &title,
        &html! {
            header {
                h1 { (title) }
                p class="soft" { (sweep.points.len()) " points, simulated: " (systems) }
                @if let Some(curves) = &curves { (answer(curves)) }
            }
            @if let Some(curves) = &curves {
                section {
                    h2 { "Curves" }
                    @for panel in curves.panels.iter().take(PANELS) {
                        (figure(curves, panel))
                        @if curves.over_load() { (over_rate(curves, panel)) }
                    }
                    @if curves.panels.len() > PANELS {
                        p class="soft" { (curves.panels.len() - PANELS) " more panels are not drawn." }
                    }
                }
            } @else { p { "No point has figures." } }
            @let errors = errors(sweep);
            @if !errors.is_empty() {
                section {
                    h2 { "Points without figures" }
                    ul class="warnings" {
                        @for (error, count) in errors.iter().take(50) {
                            li { (counted(error, *count, sweep.points.len())) }
                        }
                    }
                }
            }
            @if curves.is_some() && sweep.points.len() <= ROWS {
                details {
                    summary { "Points as numbers" }
                    (grid::grid(&table(sweep), "Points"))
                }
            }
            @if let Some(made_by) = made_by {
                section {
                    h2 { "Provenance" }
                    (provenances(&[("Sweep".to_owned(), made_by)]))
                }
            }
        },
    )
}

/// Draws mean and p99 latency over throughput.
fn over_rate(curves: &Curves, panel: &CurvePanel) -> Markup {
    let charts = latency_over_rate(curves, panel);
    let names = panel.curves.iter().enumerate();
    let named = names.map(|(index, curve)| match &curves.by {
        Some(by) => (index, format!("{by} {}", curve.name)),
        None => (index, "mean".to_owned()),
    });
    let named: Vec<(usize, String)> = named.collect();
    html! {
        p class="soft" { "Solid: mean latency. Dashed: p99, the latency that 99% of the requests do not exceed." }
        @if curves.by.is_some() {
            (legend_of(named.iter().map(|(index, name)| (*index, name.as_str()))))
        }
        div class="panels wide" { @for chart in &charts { (chart.figure().draw()) } }
    }
}

fn latency_over_rate(curves: &Curves, panel: &CurvePanel) -> Vec<LineChart> {
    let rate = |curve_point: &CurvePoint| {
        if curves.data {
            curve_point.figures.bytes_per_second / 1e6
        } else {
            curve_point.figures.iops
        }
    };
    let mean = |curve_point: &CurvePoint| curve_point.figures.latency_mean_us * 1e3;
    let tail =
        |curve_point: &CurvePoint| Some(curve_point.figures.latency_percentiles_us[P99]? * 1e3);
    let name = |index: usize| match panel.curves[index].name.as_str() {
        "" => String::new(),
        name => format!("{name}, "),
    };
    let line =
        |index: usize, figure: &str, style: usize, of: &dyn Fn(&CurvePoint) -> Option<f64>| {
            let point = |curve_point: &CurvePoint| {
                Some((rate(curve_point), of(curve_point).filter(|ns| *ns > 0.0)?))
            };
            LineSeries {
                name: format!("{}{figure}", name(index)),
                style,
                rings: false,
                points: panel.curves[index].points.iter().filter_map(point).collect(),
                intervals: Vec::new(),
            }
        };
    // p99 has the colour of its mean, and is dashed.
    let style_pair = |index: usize| {
        let dashed = index % SYSTEM_COLOURS + SYSTEM_COLOURS;
        [
            line(index, "mean", index, &|curve_point| Some(mean(curve_point))),
            line(index, "p99", dashed, &tail),
        ]
    };
    let lines: Vec<LineSeries> = (0..panel.curves.len()).flat_map(style_pair).collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    let unit = if curves.data { "MB/s" } else { "requests a second" };
    let across = LineAxis::from_zero(unit, points().map(|point| point.0));
    let up = LineAxis::latency("latency (logarithmic)", points().map(|point| point.1));
    let title = match panel.name.as_str() {
        "" => "Mean and p99 over throughput".to_owned(),
        name => format!("{name}: mean and p99 over throughput"),
    };
    let ranges = split(panel.curves.len(), CURVES);
    let count = ranges.len();
    let chart = |(part, range): (usize, std::ops::Range<usize>)| LineChart {
        title: part_title(&title, part, count),
        across: across.clone(),
        up: up.clone(),
        lines: lines[2 * range.start..2 * range.end].to_vec(),
        marks: Vec::new(),
    };
    ranges.into_iter().enumerate().map(chart).collect()
}

/// Writes the knees, or the best points if no curve has a knee.
fn answer(curves: &Curves) -> Markup {
    let mut sentences = sentences(curves, |curve| curve_sentence(curves, curve));
    // If there is only one curve, its sentence does not begin with a name.
    if curves.by.is_none() && curves.panels.iter().all(|panel| panel.name.is_empty()) {
        sentences = sentences.iter().map(|sentence| capitalised(sentence)).collect();
    }
    html! {
        @if sentences.len() <= 8 {
            div class="answer" { @for sentence in &sentences { p { (sentence) } } }
        } @else {
            details {
                summary { (sentences.len()) " curves as text" }
                ul { @for sentence in &sentences { li { (sentence) } } }
            }
        }
        @if curves.over_load() {
            p class="soft" {
                "The knee is the point with the maximum ratio of throughput to mean latency (Kleinrock's power); a ring marks it."
            }
        }
    }
}

/// The horizontal axis of the curves.
struct SweptAxis<'c> {
    curves: &'c Curves,
    least: f64,
    most: f64,
    width: f64,
}

impl SweptAxis<'_> {
    fn place(&self, x: f64) -> f64 {
        let scaled = |x: f64| if self.curves.logarithmic { x.ln() } else { x };
        let span = scaled(self.most) - scaled(self.least);
        if span > 0.0 { (scaled(x) - scaled(self.least)) / span * self.width } else { 0.0 }
    }

    /// Returns the values for whose text there is room on the axis.
    fn ticks<'p>(&self, panel: &'p CurvePanel) -> Vec<(f64, &'p str)> {
        let mut all: Vec<(f64, &str)> = panel
            .curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| (self.place(point.x), point.text.as_str()))
            .collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut free = f64::NEG_INFINITY;
        all.retain(|(at, text)| {
            let half = text_width(text) / 2.0;
            let fits = at - half >= free;
            if fits {
                free = at + half + 8.0;
            }
            fits
        });
        all
    }
}

/// A plot of one figure over the horizontal axis.
struct FigurePlot<'p> {
    heading: String,
    top: f64,
    value: &'p dyn Fn(&CurvePoint) -> f64,
}

fn figure(curves: &Curves, panel: &CurvePanel) -> Markup {
    let xs = || panel.curves.iter().flat_map(|curve| &curve.points).map(|point| point.x);
    let across = SweptAxis {
        curves,
        least: xs().fold(f64::INFINITY, f64::min),
        most: xs().fold(f64::NEG_INFINITY, f64::max),
        width: WIDTH - LEFT - RIGHT,
    };
    let latencies = panel.curves.iter().flat_map(|curve| &curve.points);
    let unit = LatencyUnit::fitting(latencies.map(|point| point.figures.latency_mean_us * 1e3));
    let rate = |point: &CurvePoint| {
        if curves.data { point.figures.bytes_per_second / 1e6 } else { point.figures.iops }
    };
    let latency = |point: &CurvePoint| unit.convert(point.figures.latency_mean_us * 1e3);
    let heading = if curves.data { "MB/s (10⁶ bytes a second)" } else { "requests a second" };
    let plots = [
        FigurePlot { heading: heading.to_owned(), top: HEADING, value: &rate },
        FigurePlot {
            heading: format!("mean latency, {}", typeset(unit.name())),
            top: 2.0 * HEADING + HEIGHT,
            value: &latency,
        },
    ];
    let bottom = plots[1].top + HEIGHT;
    let drawn = html! {
        g transform=(format!("translate({} 0)", num(LEFT))) {
            @for plot in &plots { (plot.draw(&across, panel)) }
            @for (at, text) in across.ticks(panel) {
                text class="soft" x=(num(at)) y=(num(bottom + 14.0)) text-anchor="middle" { (text) }
            }
            text class="soft" x=(num(across.width / 2.0)) y=(num(bottom + 30.0)) text-anchor="middle" {
                (curves.x)
            }
            (legend(curves, panel, across.width + 16.0))
        }
    };
    let description = panel
        .curves
        .iter()
        .map(|curve| format!("{} {}", curve.name, super::curve_sentence(curves, curve)));
    let description = format!("{}. {}", panel.name, description.collect::<Vec<_>>().join(" "));
    html! {
        figure class="time" {
            @if !panel.name.is_empty() { figcaption { (panel.name) } }
            (image(WIDTH, bottom + AXIS, &description, drawn))
        }
    }
}

fn legend(curves: &Curves, panel: &CurvePanel, left: f64) -> Markup {
    html! {
        @if let Some(by) = &curves.by {
            text class="soft" x=(num(left)) y=(num(HEADING - 8.0)) { (text_fitted_to(by, RIGHT - 16.0)) }
            @for (index, curve) in panel.curves.iter().enumerate() {
                @let y = HEADING + 10.0 + index as f64 * 16.0;
                line class=(format!("trace {}", style(index))) x1=(num(left)) x2=(num(left + 14.0))
                    y1=(num(y - 4.0)) y2=(num(y - 4.0)) {}
                text x=(num(left + 20.0)) y=(num(y)) { (text_fitted_to(&curve.name, RIGHT - 36.0)) }
            }
        }
    }
}

impl FigurePlot<'_> {
    fn draw(&self, across: &SweptAxis<'_>, panel: &CurvePanel) -> Markup {
        let values = panel.curves.iter().flat_map(|curve| &curve.points).map(self.value);
        let greatest = values.filter(|value| value.is_finite()).fold(0.0_f64, f64::max);
        let tick_step = step(if greatest > 0.0 { greatest } else { 1.0 } / 5.0);
        let count = (greatest / tick_step * (1.0 - 1e-9)).floor() as usize + 1;
        let full = tick_step * count as f64;
        let bottom = self.top + HEIGHT;
        let y = |value: f64| bottom - (value / full).clamp(0.0, 1.0) * HEIGHT;
        let decimals = (-tick_step.log10().floor()).clamp(0.0, 9.0) as usize;
        html! {
            text class="unit" x=(num(-LEFT)) y=(num(self.top - 13.0)) { (self.heading) }
            @for tick in 0..=count {
                @let at = num(y(tick_step * tick as f64));
                line class=(if tick == 0 { "base" } else { "grid" }) x1="0" x2=(num(across.width)) y1=(at) y2=(at) {}
                text class="soft" x="-6" y=(num(y(tick_step * tick as f64) + 3.5)) text-anchor="end" {
                    (grouped(&format!("{:.decimals$}", tick_step * tick as f64)))
                }
            }
            @for (index, curve) in panel.curves.iter().enumerate() {
                (self.line(across, curve, &style(index), &y))
            }
        }
    }

    fn line(
        &self,
        across: &SweptAxis<'_>,
        curve: &Curve,
        colour: &str,
        y: &impl Fn(f64) -> f64,
    ) -> Markup {
        let points: Vec<(String, String, &CurvePoint)> = curve
            .points
            .iter()
            .map(|point| (num(across.place(point.x)), num(y((self.value)(point))), point))
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y, _)| format!("{x} {y}")).collect();
        let knee = match curve.knee().filter(|_| across.curves.over_load()) {
            Some(Knee::At(point)) => Some(point),
            _ => None,
        };
        html! {
            path class=(format!("trace {colour}")) d=(format!("M{}", path.join("L"))) {}
            @for (index, (x, y, point)) in points.iter().enumerate() {
                circle class=(format!("dot {colour}")) cx=(x) cy=(y) r="2.5" {
                    title { (across.curves.x) " " (point.text) ": " (format!("{:.3}", (self.value)(point))) }
                }
                @if knee == Some(index) { circle class=(format!("trace knee {colour}")) cx=(x) cy=(y) r="7" {} }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::SweepFigures;

    use super::*;

    /// Returns the curves of one panel, which contains one curve with these rates.
    fn curves_of(rates: &[f64]) -> Curves {
        let point_of = |(index, &iops): (usize, &f64)| {
            let figures = SweepFigures { iops, latency_mean_us: 100.0, ..Default::default() };
            CurvePoint { x: index as f64, text: index.to_string(), figures }
        };
        let points = rates.iter().enumerate().map(point_of).collect();
        let curve = Curve { name: "one".to_owned(), points };
        let panel = CurvePanel { name: String::new(), curves: vec![curve] };
        Curves {
            x: "queue_depth".to_owned(),
            by: None,
            logarithmic: false,
            data: false,
            panels: vec![panel],
        }
    }

    #[test]
    fn the_top_line_is_the_first_tick_that_no_value_exceeds() {
        for most in [0.002, 0.9, 1.0, 1.000_001, 4.9, 5.0, 5.1, 7.3, 99.0, 100.0, 101.0, 2.5e6] {
            let curves = curves_of(&[most / 3.0, most, f64::NAN]);
            let across = SweptAxis { curves: &curves, least: 0.0, most: 2.0, width: 100.0 };
            let value = |point: &CurvePoint| point.figures.iops;
            let plot = FigurePlot { heading: String::new(), top: 0.0, value: &value };
            let drawn = plot.draw(&across, &curves.panels[0]).into_string();
            let base = drawn.matches("\"base\"").count();
            let lines = drawn.matches("\"grid\"").count();
            assert_eq!((base, lines >= 1), (1, true), "{most}: {drawn}");
            let each = step(most / 5.0);
            let full = each * lines as f64;
            assert!(full >= most * (1.0 - 1e-6) && full - each < most, "{most}: {full}");
            // The maximum is drawn at its proportional height.
            let y = num(HEIGHT - most / full * HEIGHT);
            assert!(drawn.contains(&format!("cy=\"{y}\"")), "{most}: {y} in {drawn}");
        }
    }

    #[test]
    fn latency_is_below_throughput_and_both_fill_their_heights() {
        let curves = curves_of(&[1.0, 2.0]);
        let drawn = figure(&curves, &curves.panels[0]).into_string();
        let width = WIDTH - LEFT - RIGHT;
        let bottoms = [HEADING + HEIGHT, 2.0 * (HEADING + HEIGHT)];
        for bottom in bottoms {
            let line =
                format!("class=\"base\" x1=\"0\" x2=\"{width}\" y1=\"{bottom}\" y2=\"{bottom}\"");
            assert!(drawn.contains(&line), "{line} in {drawn}");
        }
        let box_of = format!("viewBox=\"0 0 {WIDTH} {}\"", bottoms[1] + AXIS);
        assert!(drawn.contains(&box_of), "{box_of} in {drawn}");
        // The two throughput values are drawn at the top and in the middle.
        for y in [HEADING, HEADING + HEIGHT / 2.0] {
            assert!(drawn.contains(&format!("cy=\"{y}\"")), "{y} in {drawn}");
        }
    }

    #[test]
    fn mean_and_p99_are_drawn_over_throughput() {
        let mut curves = curves_of(&[1000.0, 2000.0, 2000.0]);
        for (point, mean) in curves.panels[0].curves[0].points.iter_mut().zip([100.0, 120.0, 240.0])
        {
            point.figures.latency_mean_us = mean;
            point.figures.latency_percentiles_us[P99] = Some(1.5 * mean);
        }
        let charts = latency_over_rate(&curves, &curves.panels[0]);
        let [chart] = charts.as_slice() else { panic!("{} panels", charts.len()) };
        let [mean, p99] = chart.lines.as_slice() else { panic!("{} lines", chart.lines.len()) };
        assert_eq!(mean.points, [(1000.0, 100e3), (2000.0, 120e3), (2000.0, 240e3)]);
        assert_eq!(p99.points, [(1000.0, 150e3), (2000.0, 180e3), (2000.0, 360e3)]);
        // p99 has the colour of its mean.
        assert_eq!((style(mean.style).as_str(), style(p99.style).as_str()), ("c0 d0", "c0 d1"));
        // A point with too few requests for p99 shows only its mean.
        curves.panels[0].curves[0].points[0].figures.latency_percentiles_us[P99] = None;
        let charts = latency_over_rate(&curves, &curves.panels[0]);
        assert_eq!(charts[0].lines[1].points.len(), 2);
        // If there are many curves, they are split over several panels, and each panel has all lines of its curves.
        let curve = curves.panels[0].curves[0].clone();
        curves.panels[0].curves = vec![curve; 7];
        let charts = latency_over_rate(&curves, &curves.panels[0]);
        let counts: Vec<usize> = charts.iter().map(|chart| chart.lines.len()).collect();
        assert_eq!((counts.iter().sum::<usize>(), counts.iter().max()), (14, Some(&6)));
    }
}

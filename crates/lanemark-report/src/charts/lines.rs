//! Lines of several series on one pair of axes. Each axis is linear or logarithmic, and has a name and a unit.
//!
//! Series differ by colour and, from the seventh on, also by dashes. Whiskers are intervals. A line between two points
//! shows only that the points belong together; it does not show values between them.

use lanemark_schema::text::{grouped, significant};
use maud::{Markup, html};

use super::palette;
use super::picture::{self, LegendEntry, TitledPanel};
use super::svg::{
    SvgImage, image, num, part_title, shortened_list, split, text_fitted_to, text_width,
};

/// The width of a panel in drawing units, about as many pixels as half a page is wide.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 190.0;
/// Minimum room for the labels of the vertical axis.
const LEFT: f64 = 48.0;
/// Room above the plot, for the name of the vertical axis.
const TOP: f64 = 20.0;
const RIGHT: f64 = 14.0;
/// Room for the labels of the horizontal axis and its name.
const BOTTOM: f64 = 32.0;
/// Number of colours before they repeat with a different dash.
const COLOURS: usize = palette::SYSTEM_COLOURS;
/// Number of series that the description names in the second and later parts of a split panel.
const PART_TOLD: usize = 1;
/// Maximum number of series in a panel.
const LINES_MAX: usize = COLOURS;
/// Number of dash patterns before they repeat.
const DASHES: usize = 4;
/// Relative difference up to which two values are drawn at the same position.
const SAME: f64 = 0.01;
/// Number of distinct line styles.
pub(crate) const LOOKS: usize = COLOURS * DASHES;

/// One axis: its name with the unit, its range, and its ticks with their labels.
#[derive(Clone)]
pub(crate) struct LineAxis {
    pub(crate) name: String,
    pub(crate) ends: (f64, f64),
    pub(crate) logarithmic: bool,
    pub(crate) ticks: Vec<(f64, String)>,
}

/// A named series of points.
#[derive(Clone)]
pub(crate) struct LineSeries {
    pub(crate) name: String,
    /// Index of the series, which selects its colour and dash.
    pub(crate) style: usize,
    /// Whether the series, such as published values, is drawn as rings and not as a line.
    pub(crate) rings: bool,
    pub(crate) points: Vec<(f64, f64)>,
    /// Positions with the bounds of their intervals.
    pub(crate) intervals: Vec<(f64, f64, f64)>,
}

/// A vertical line at a value of the horizontal axis, in the colour of a series.
#[derive(Clone)]
pub(crate) struct VerticalMark {
    pub(crate) at: f64,
    pub(crate) name: String,
    pub(crate) style: usize,
}

/// A panel with its lines.
#[derive(Clone)]
pub(crate) struct LineChart {
    pub(crate) title: String,
    pub(crate) across: LineAxis,
    pub(crate) up: LineAxis,
    pub(crate) lines: Vec<LineSeries>,
    pub(crate) marks: Vec<VerticalMark>,
}

/// Returns the class of the series at `index`, which selects its colour and dash.
pub(crate) fn style(index: usize) -> String {
    format!("c{} d{}", index % COLOURS, index / COLOURS % DASHES)
}

/// Returns whether two series have the same points, except for differences too small to see.
fn same_points(one: &[(f64, f64)], other: &[(f64, f64)]) -> bool {
    let is_same_value = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| is_same_value(a.0, b.0) && is_same_value(a.1, b.1))
}

/// Writes the names of the lines, each next to a sample of the line.
pub(crate) fn legend<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> Markup {
    picture::legend(&entries(names))
}

/// Returns the legend entries of lines that are given by style and name.
pub(crate) fn entries<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> Vec<LegendEntry> {
    let entry = |(index, name)| {
        LegendEntry::new(
            html! { path class=(format!("trace {}", style(index))) d="M0 6H22" {} },
            name,
        )
    };
    names.map(entry).collect()
}

impl LineAxis {
    /// Creates a logarithmic axis of latencies in ns that contains all of `values`.
    pub(crate) fn latency(name: &str, values: impl Iterator<Item = f64>) -> Self {
        let known = values.filter(|value| value.is_finite() && *value > 0.0);
        let (least, most) = known
            .fold((f64::INFINITY, 0.0_f64), |ends, value| (ends.0.min(value), ends.1.max(value)));
        let (least, most) = if most > 0.0 { (least, most) } else { (1e3, 1e4) };
        let steps: Vec<f64> = (0..14)
            .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)))
            .collect();
        let low = steps.iter().rev().copied().find(|&step| step <= least).unwrap_or(least);
        let high = steps.iter().copied().find(|&step| step >= most).unwrap_or(most);
        let high = if high > low { high } else { low * 2.0 };
        let wide = (high / low).log10() > 1.7;
        let decade = |step: &f64| (step.log10() - step.log10().round()).abs() < 1e-6;
        let ticks = steps
            .iter()
            .filter(|&&step| step >= low && step <= high && (!wide || decade(&step)))
            .map(|&step| (step, round_time(step)))
            .collect();
        Self { name: name.to_owned(), ends: (low, high), logarithmic: true, ticks }
    }

    /// Creates a linear axis from zero to beyond the maximum of `values`.
    pub(crate) fn from_zero(name: &str, values: impl Iterator<Item = f64>) -> Self {
        let most = values.filter(|value| value.is_finite()).fold(0.0_f64, f64::max);
        let each = super::axis::step(if most > 0.0 { most } else { 1.0 } / 5.0);
        let count = (most / each * (1.0 - 1e-9)).floor() as usize + 1;
        let decimals = (-each.log10().floor()).clamp(0.0, 9.0) as usize;
        let label = |tick: f64| grouped(&format!("{tick:.decimals$}"));
        let ticks =
            (0..=count).map(|tick| each * tick as f64).map(|tick| (tick, label(tick))).collect();
        Self { name: name.to_owned(), ends: (0.0, each * count as f64), logarithmic: false, ticks }
    }

    /// Returns the relative position of `value` on the axis.
    fn share(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.logarithmic { value.max(1e-12).ln() } else { value };
        let low = scaled(self.ends.0);
        let high = scaled(self.ends.1);
        if high > low { ((scaled(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
    }
}

/// Formats a round latency in ns with a suitable unit.
pub(crate) fn time_label(ns: f64) -> String {
    let (unit, size) = match ns {
        ns if ns >= 0.999e9 => ("s", 1e9),
        ns if ns >= 0.999e6 => ("ms", 1e6),
        ns if ns >= 0.999e3 => ("µs", 1e3),
        _ => ("ns", 1.0),
    };
    format!("{} {unit}", grouped(&significant(ns / size)))
}

impl LineChart {
    /// Splits the panel into parts of up to [`LINES_MAX`] series. All parts have the same axes; a series and its
    /// published values stay together.
    pub(crate) fn parts(self) -> Vec<Self> {
        let mut styles: Vec<usize> = Vec::new();
        for line in &self.lines {
            if !styles.contains(&line.style) {
                styles.push(line.style);
            }
        }
        let ranges = split(styles.len(), LINES_MAX);
        let count = ranges.len();
        if count == 1 {
            return vec![self];
        }
        let chart_part = |(index, range): (usize, std::ops::Range<usize>)| {
            let part_styles = &styles[range];
            Self {
                title: part_title(&self.title, index, count),
                across: self.across.clone(),
                up: self.up.clone(),
                lines: self
                    .lines
                    .iter()
                    .filter(|one| part_styles.contains(&one.style))
                    .cloned()
                    .collect(),
                marks: self
                    .marks
                    .iter()
                    .filter(|mark| part_styles.contains(&mark.style))
                    .cloned()
                    .collect(),
            }
        };
        ranges.into_iter().enumerate().map(chart_part).collect()
    }

    /// Returns whether every series is constant, within [`SAME`].
    pub(crate) fn is_flat(&self) -> bool {
        let flat = |line: &LineSeries| {
            let values = || line.points.iter().map(|point| point.1);
            let least = values().fold(f64::INFINITY, f64::min);
            let most = values().fold(0.0, f64::max);
            most - least <= SAME * most
        };
        self.lines.iter().all(flat)
    }

    /// Returns whether all series have the same values as the first one, within [`SAME`].
    pub(crate) fn is_uniform(&self) -> bool {
        let Some((first, others)) = self.lines.split_first() else { return false };
        !others.is_empty() && others.iter().all(|line| same_points(&first.points, &line.points))
    }

    /// Returns whether the panel has the same series as the other panel, within [`SAME`].
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.lines.len() == other.lines.len()
            && self.lines.iter().zip(&other.lines).all(|(one, other)| {
                one.style == other.style && same_points(&one.points, &other.points)
            })
    }

    /// Draws the panel with its title.
    pub(crate) fn figure(&self) -> TitledPanel {
        TitledPanel { title: self.title.clone(), image: self.draw() }
    }

    fn draw(&self) -> SvgImage {
        let labels = self.up.ticks.iter().map(|(_, label)| text_width(label) + 7.0);
        let left = labels.fold(LEFT, f64::max);
        let width = WIDTH - left - RIGHT;
        let bottom = TOP + HEIGHT;
        let x = |value: f64| self.across.share(value) * width;
        let y = |value: f64| bottom - self.up.share(value) * HEIGHT;
        let mut free = f64::NEG_INFINITY;
        let mut placed = Vec::new();
        for (at, label) in &self.across.ticks {
            let at = self.across.share(*at) * width;
            let half = text_width(label) / 2.0;
            // A label at an end of the axis must not extend beyond the drawing.
            let centre = at.min(width + RIGHT - half).max(half - left);
            let fits = centre - half >= free;
            if fits {
                free = centre + half + 4.0;
            }
            placed.push((at, centre, fits.then_some(label)));
        }
        let level = |tick: &(f64, String)| format!("M0 {}h{}", num(y(tick.0)), num(width));
        let upright =
            |(at, ..): &(f64, f64, _)| format!("M{} {}v{}", num(*at), num(TOP), num(HEIGHT));
        let grid: String =
            self.up.ticks.iter().map(level).chain(placed.iter().map(upright)).collect();
        let drawn = html! {
            g transform=(format!("translate({} 0)", num(left))) {
                path class="grid" d=(grid) {}
                path class="base" d=(format!("M0 {}V{}H{}", num(TOP), num(bottom), num(width))) {}
                g class="soft" {
                    text x=(num(-left)) y="11" { (self.up.name) }
                    g class="middle" {
                        @for (_, centre, label) in &placed {
                            @if let Some(label) = label {
                                text x=(num(*centre)) y=(num(bottom + 13.0)) { (label) }
                            }
                        }
                    }
                    g class="end" {
                        @for (at, label) in &self.up.ticks {
                            text x="-5" y=(num(y(*at) + 3.5)) { (label) }
                        }
                        text x=(num(width)) y=(num(bottom + 27.0)) { (self.across.name) }
                    }
                }
                @for (row, mark) in self.marks.iter().enumerate() {
                    @let at = self.across.share(mark.at) * width;
                    path class=(format!("trace ceiling {}", style(mark.style)))
                        d=(format!("M{} {}V{}", num(at), num(TOP), num(bottom))) {}
                    text class="named" x=(num(at - 4.0)) y=(num(TOP + 10.0 + row as f64 * 12.0)) text-anchor="end" {
                        (text_fitted_to(&mark.name, at - 8.0))
                    }
                }
                @for line in &self.lines { (line.draw(&x, &y)) }
            }
        };
        image(WIDTH, bottom + BOTTOM, &self.alt_text(), drawn)
    }

    /// Describes the panel as text, with the first and the last point of each line.
    pub(crate) fn alt_text(&self) -> String {
        let label = |value: f64| {
            if self.up.logarithmic { time_label(value) } else { significant(value) }
        };
        let lines = self.lines.iter().filter_map(|line| {
            let first = line.points.first()?;
            let last = line.points.last()?;
            Some(format!("{}: from {} to {}", line.name, label(first.1), label(last.1)))
        });
        let marks = self.marks.iter().map(|mark| format!("ceiling {}", mark.name));
        // The description of a later part names only one series; the table lists all series.
        let is_later = self.lines.first().is_some_and(|line| line.style >= LINES_MAX);
        let few = if is_later { PART_TOLD } else { usize::MAX };
        let description = shortened_list(lines.take(few).chain(marks));
        format!("{}. {} over {}. {description}", self.title, self.up.name, self.across.name)
    }
}

impl LineSeries {
    fn draw(&self, x: &impl Fn(f64) -> f64, y: &impl Fn(f64) -> f64) -> Markup {
        let class = style(self.style);
        let whisker = |&(at, low, high): &(f64, f64, f64)| {
            let low = num(y(low));
            let high = num(y(high));
            (low != high).then(|| format!("M{} {low}V{high}", num(x(at))))
        };
        let whiskers: String = self.intervals.iter().filter_map(whisker).collect();
        html! {
            @if !whiskers.is_empty() { path class=(format!("trace thin {class}")) d=(whiskers) {} }
            @if self.rings {
                @for &(at, value) in &self.points {
                    circle class=(format!("ring {class}")) cx=(num(x(at))) cy=(num(y(value))) r="3.5" {}
                }
            } @else if self.points.len() == 1 {
                @for &(at, value) in &self.points {
                    circle class=(format!("dot {class}")) cx=(num(x(at))) cy=(num(y(value))) r="2.5" {}
                }
            } @else if !self.points.is_empty() {
                path class=(format!("trace {class}")) d=(trace(self.points.iter().map(|&(at, value)| (x(at), y(value))))) {}
            }
        }
    }
}

/// Returns a path through points in as few characters as possible: a step changes one coordinate and extends over all
/// points on the same line.
pub(crate) fn trace(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    // The current position of the path, and a step that may still be extended: its command, its offset in the path, and
    // whether it goes up.
    let mut before: Option<(String, String)> = None;
    let mut previous = (0.0, 0.0);
    let mut last: Option<(char, usize, bool)> = None;
    for (across, down) in points {
        let x = num(across);
        let y = num(down);
        let step = match &before {
            None => ('M', format!("{x} {y}"), false),
            Some((at, level)) if *at == x && *level == y => continue,
            Some((at, _)) if *at == x => ('V', y.clone(), down > previous.1),
            Some((_, level)) if *level == y => ('H', x.clone(), across > previous.0),
            Some(_) => ('L', format!("{x} {y}"), false),
        };
        let (command, text, up) = step;
        match last {
            Some((known, at, was_up)) if known == command && command != 'L' && up == was_up => {
                path.truncate(at);
            }
            _ => {}
        }
        last = Some((command, path.len(), up));
        path.push(command);
        path += &text;
        (before, previous) = (Some((x, y)), (across, down));
    }
    path
}

/// Formats a round latency in ns as a label: `100 µs`, `2 ms`.
fn round_time(ns: f64) -> String {
    let label = time_label(ns);
    let Some((number, unit)) = label.split_once(' ') else { return label };
    let short = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{short} {unit}")
}

#[cfg(test)]
mod tests;

//! Bars of one metric: one panel per test, each with its own linear axis from zero.
//!
//! Values of tests may differ by a factor of fifty. On one common axis the small values would be invisible, and on a
//! logarithmic axis the length of a bar would not represent its value. Separate panels avoid both problems; the text
//! above the panels states that the scales differ. Whiskers extend from the smallest to the largest repeat. Absent
//! values are not drawn. Tests that differ in only one number are drawn as lines over that number ([`family_chart`]).

use lanemark_schema::result::{
    FigureMetric, FigureRole, PublishedFigure, RunResult, Statistic, StudyOutcome,
};
use maud::{Markup, html};

use super::family::TestFamily;
use super::family_chart;
use super::grid::typeset;
use crate::charts::axis::Axis;
use crate::charts::palette;
use crate::charts::picture::{LegendEntry, PanelPicture, TitledPanel};
use crate::charts::svg::{SvgImage, block, image, named, num, part_title, shortened_list, split};
use crate::study::figure_table::{metrics, printed, rows, tests};
use crate::text::metric::heading;
use crate::text::number::{ERROR_LARGE, grouped, known_value, percent_signed, significant};

/// The width of a panel in drawing units; a unit is about one pixel.
const WIDTH: f64 = 340.0;
/// Width reserved for the values next to the bars.
const VALUES: f64 = 100.0;
/// The height of a line of text.
const LINE: f64 = 15.0;
const BAR: f64 = 11.0;
/// Maximum number of bars in a panel, so that the panel fits on a sheet of paper.
const GROUPS_MOST: usize = 25;
const BAR_GAP: f64 = 3.0;
const GROUP_GAP: f64 = 6.0;
/// Height of the tick labels under the plot.
const AXIS: f64 = 16.0;

pub(super) struct BarPanel {
    test: String,
    groups: Vec<BarGroup>,
}

/// The bars of one system or run.
struct BarGroup {
    label: String,
    colour: String,
    bars: Vec<Bar>,
}

struct Bar {
    kind: ChartKind,
    text: String,
    note: String,
    is_large_error: bool,
    value: f64,
    /// Smallest and largest repeat, or the bounds of the 80% interval.
    range: Option<(f64, f64)>,
    predicted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ChartKind {
    Published,
    Simulated,
    Measured,
}

/// Returns the class that colours the system at `index`.
pub(super) fn system_colour(index: usize) -> String {
    format!("s{}", palette::system(index))
}

/// Builds the section of a study, with the published, simulated and locally measured values of each system.
pub(super) fn study(outcome: &StudyOutcome, measured: &[(String, &RunResult)]) -> Markup {
    let (lines, bars) = study_pictures(outcome, measured);
    html! {
        (family_chart::section(&lines, true))
        @if !bars.figures.is_empty() { (section(&bars, metrics(outcome)[0])) }
    }
}

/// Draws the charts of a study: families of tests as lines, and the other tests as bars.
pub(super) fn study_pictures(
    outcome: &StudyOutcome,
    measured: &[(String, &RunResult)],
) -> (PanelPicture, PanelPicture) {
    let metric = metrics(outcome)[0];
    let families = family_chart::of_runs(outcome.systems.iter().map(|system| &system.run));
    let panels = study_panels(outcome, measured, metric, &families);
    let kinds = [ChartKind::Published, ChartKind::Simulated, ChartKind::Measured];
    let lines = family_chart::study(outcome, measured, metric, &families);
    (lines, bars_of(&panels, metric, &kinds))
}

/// Returns the panels of a study's tests that do not belong to a family.
fn study_panels(
    outcome: &StudyOutcome,
    measured: &[(String, &RunResult)],
    metric: FigureMetric,
    families: &[TestFamily<'_>],
) -> Vec<BarPanel> {
    let alone = tests(outcome).into_iter();
    alone
        .into_iter()
        .filter(|test| !families.iter().any(|family| family.has(test)))
        .map(|test| {
            let mut groups = study_groups(outcome, metric, test);
            groups.extend(measured.iter().filter_map(|(label, run)| {
                Some(BarGroup {
                    label: label.clone(),
                    colour: "neutral".to_owned(),
                    bars: vec![Bar::from_statistic(
                        ChartKind::Measured,
                        &metric.value_in(run.test(test)?),
                    )?],
                })
            }));
            BarPanel { test: test.to_owned(), groups }
        })
        .collect()
}

/// Builds the section of runs without a study.
pub(super) fn runs(runs: &[(String, &RunResult)]) -> Markup {
    let (lines, bars) = runs_pictures(runs);
    html! {
        (family_chart::section(&lines, false))
        @if !bars.figures.is_empty() { (section(&bars, FigureMetric::Throughput)) }
    }
}

/// Draws the charts of runs without a study: families of tests as lines, and the other tests with a bar for each run.
pub(super) fn runs_pictures(runs: &[(String, &RunResult)]) -> (PanelPicture, PanelPicture) {
    let families = family_chart::of_runs(runs.iter().map(|(_, run)| *run));
    let lines = family_chart::runs(runs, FigureMetric::Throughput, &families);
    (lines, bars_of(&runs_panels(runs, &families), FigureMetric::Throughput, &[]))
}

/// Returns the panels of the runs' tests that do not belong to a family.
fn runs_panels(runs: &[(String, &RunResult)], families: &[TestFamily<'_>]) -> Vec<BarPanel> {
    let mut names: Vec<&str> = Vec::new();
    for result in runs.iter().flat_map(|(_, run)| &run.tests) {
        let name = result.test.name.as_str();
        if !names.contains(&name) && !families.iter().any(|family| family.has(name)) {
            names.push(&result.test.name);
        }
    }
    let group = |(index, (label, run)): (usize, &(String, &RunResult)), test: &str| {
        let result = run.test(test)?;
        let bar =
            Bar::from_statistic(ChartKind::Measured, &FigureMetric::Throughput.value_in(result))?;
        let bar = bar.within(FigureMetric::Throughput.interval(result));
        Some(BarGroup { label: label.clone(), colour: system_colour(index), bars: vec![bar] })
    };
    let panel = |test: &str| BarPanel {
        test: test.to_owned(),
        groups: runs.iter().enumerate().filter_map(|run| group(run, test)).collect(),
    };
    names.into_iter().map(panel).collect()
}

fn study_groups(outcome: &StudyOutcome, metric: FigureMetric, test: &str) -> Vec<BarGroup> {
    let rows: Vec<_> = rows(outcome, metric).into_iter().filter(|row| row.test == test).collect();
    let group = |(index, system): (usize, &lanemark_schema::result::StudySystem)| {
        let rows = rows.iter().filter(|row| row.system == system.name);
        let bars: Vec<Bar> = rows
            .flat_map(|row| {
                let published = row.check.and_then(|check| Bar::published(&check.figure));
                let simulated = row.simulated.as_ref().and_then(|value| {
                    let mut bar = Bar::from_statistic(ChartKind::Simulated, value)?;
                    let result = system.run.test(test);
                    bar = bar.within(result.and_then(|result| metric.interval(result)));
                    if let Some(check) = row.check {
                        let calibrated = check.figure.role == FigureRole::Calibrated;
                        bar.is_large_error = !calibrated && check.error.abs() > ERROR_LARGE;
                        bar.note = if calibrated {
                            "calibrated".to_owned()
                        } else {
                            percent_signed(check.error).replace('-', "−")
                        };
                    }
                    Some(bar)
                });
                [published, simulated].into_iter().flatten()
            })
            .collect();
        let label = system.label.clone();
        (!bars.is_empty()).then(|| BarGroup { label, colour: system_colour(index), bars })
    };
    outcome.systems.iter().enumerate().filter_map(group).collect()
}

/// Returns the panel of one figure, with a coloured bar for each run; `None` if no run contains the figure.
pub(super) fn panel(
    figure: &str,
    unit: &str,
    runs: Vec<(String, String, Statistic)>,
) -> Option<BarPanel> {
    let group = |(label, colour, statistic): (String, String, Statistic)| {
        let bars = vec![Bar::from_statistic(ChartKind::Measured, &statistic)?];
        Some(BarGroup { label, colour, bars })
    };
    let groups: Vec<BarGroup> = runs.into_iter().filter_map(group).collect();
    let test = format!("{figure}, {}", typeset(unit));
    (!groups.is_empty()).then_some(BarPanel { test, groups })
}

fn bars_of(panels: &[BarPanel], metric: FigureMetric, kinds: &[ChartKind]) -> PanelPicture {
    let is_used = |kind: &&ChartKind| {
        let mut bars = panels.iter().flat_map(|panel| &panel.groups).flat_map(|group| &group.bars);
        bars.any(|bar| bar.kind == **kind)
    };
    let ranged = |predicted: bool| {
        let mut bars = panels.iter().flat_map(|panel| &panel.groups).flat_map(|group| &group.bars);
        bars.any(|bar| bar.range.is_some() && bar.predicted == predicted)
    };
    let whiskers = match (ranged(true), ranged(false)) {
        (true, true) => "80% interval of a simulation, or minimum to maximum repeat",
        (true, false) => "80% interval",
        (false, true) => "minimum to maximum repeat",
        (false, false) => "",
    };
    let mut entries: Vec<LegendEntry> = kinds
        .iter()
        .filter(is_used)
        .map(|kind| LegendEntry::new(kind.swatch(), kind.name()))
        .collect();
    if !whiskers.is_empty() {
        let swatch = html! { path class="whisker" d="M1 6H21M1 2V10M21 2V10" {} };
        entries.push(LegendEntry::new(swatch, whiskers));
    }
    let figures = panels.iter().flat_map(|panel| panel.figures(metric.unit()));
    PanelPicture { entries, figures: figures.collect() }
}

fn section(bars: &PanelPicture, metric: FigureMetric) -> Markup {
    html! {
        p class="soft" {
            (typeset(heading(metric)))
            ". Each panel has its own scale from zero."
        }
        (bars.legend())
        (bars.panels("panels"))
    }
}

impl ChartKind {
    fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Simulated => "simulated",
            Self::Measured => "measured here, on other hardware",
        }
    }

    /// Draws a sample of the bar, in the systems' colours if the bars use them.
    fn swatch(self) -> Markup {
        let colours = if self == Self::Measured { ["neutral"; 2] } else { ["s0", "s1"] };
        html! {
            @for (colour, x) in colours.into_iter().zip(["0.5", "11.5"]) {
                rect class=(format!("{} {colour}", self.class())) x=(x) y="0.5" width="10" height="11" {}
            }
        }
    }

    fn class(self) -> &'static str {
        if self == Self::Published { "published" } else { "solid" }
    }
}

impl Bar {
    fn from_statistic(kind: ChartKind, statistic: &Statistic) -> Option<Self> {
        let value = known_value(statistic)?;
        let range = (statistic.min, statistic.max);
        Some(Self {
            kind,
            text: significant(value),
            note: String::new(),
            is_large_error: false,
            value,
            range: (statistic.count > 1 && range.0.is_finite() && range.1.is_finite())
                .then_some(range),
            predicted: false,
        })
    }

    /// Returns the bar with the bounds of its 80% interval as whiskers, if it has an interval; otherwise the range of
    /// the repeats remains.
    fn within(self, interval: Option<(f64, f64)>) -> Self {
        match interval {
            Some(ends) => Self { range: Some(ends), predicted: true, ..self },
            None => self,
        }
    }

    fn published(figure: &PublishedFigure) -> Option<Self> {
        let value = figure.published;
        value.is_finite().then(|| Self {
            kind: ChartKind::Published,
            text: printed(figure),
            note: String::new(),
            is_large_error: false,
            value,
            range: None,
            predicted: false,
        })
    }

    fn end(&self) -> f64 {
        self.range.map_or(self.value, |(_, max)| self.value.max(max))
    }

    fn draw(&self, axis: &Axis, top: f64, colour: &str) -> Markup {
        let middle = top + BAR / 2.0;
        let label_at = axis.place(self.end()) + 6.0;
        let shape = block(0.0, top, axis.place(self.value), BAR);
        html! {
            // Published bars are translucent, and the grid must not show through them.
            @if self.kind == ChartKind::Published { path class="ground" d=(shape) {} }
            path class=(format!("{} {colour}", self.kind.class())) d=(shape) {}
            @if let Some((min, max)) = self.range {
                @let from = num(axis.place(min));
                @let to = num(axis.place(max));
                @let high = num(middle - 3.0);
                @let end = if from == to { String::new() } else { format!("M{to} {high}v6M{from} {}H{to}", num(middle)) };
                path class="whisker" d=(format!("M{from} {high}v6{end}")) {}
            }
            text x=(num(label_at)) y=(num(middle + 4.0)) {
                (grouped(&self.text))
                @if !self.note.is_empty() {
                    tspan class=(if self.is_large_error { "soft warning" } else { "soft" }) dx="5" {
                        (self.note)
                    }
                }
            }
        }
    }
}

/// Returns the top of the bar at `index` in a group that begins at `top`.
fn bar_top(top: f64, index: usize) -> f64 {
    top + LINE + index as f64 * (BAR + BAR_GAP)
}

impl BarPanel {
    /// Draws the panel with its title, split into several parts if it has many groups.
    pub(super) fn figures(&self, unit: &str) -> Vec<TitledPanel> {
        let ends = self.groups.iter().flat_map(|group| &group.bars).map(Bar::end);
        let axis = Axis::new(ends, WIDTH - VALUES);
        let parts = self.parts();
        let drawing = |(title, groups): &(String, &[BarGroup])| TitledPanel {
            title: title.clone(),
            image: draw(title, groups, &axis, unit),
        };
        parts.iter().map(drawing).collect()
    }

    pub(super) fn draw_all(&self, unit: &str) -> Markup {
        html! { @for figure in self.figures(unit) { (figure.draw()) } }
    }

    /// Splits the panel into titled parts with about the same number of groups.
    fn parts(&self) -> Vec<(String, &[BarGroup])> {
        let bars = self.groups.iter().map(|group| group.bars.len()).max().unwrap_or(1);
        let ranges = split(self.groups.len(), GROUPS_MOST / bars.max(1));
        let count = ranges.len();
        let panel_part = |(index, range): (usize, std::ops::Range<usize>)| {
            (part_title(&self.test, index, count), &self.groups[range])
        };
        ranges.into_iter().enumerate().map(panel_part).collect()
    }
}

/// Returns the top of each group, and the bottom of the last group.
fn bar_group_tops(groups: &[BarGroup]) -> (Vec<f64>, f64) {
    let mut top = 0.0;
    let mut tops = Vec::new();
    for group in groups {
        tops.push(top);
        top += LINE + group.bars.len() as f64 * (BAR + BAR_GAP) + GROUP_GAP;
    }
    (tops, top)
}

fn draw(title: &str, groups: &[BarGroup], axis: &Axis, unit: &str) -> SvgImage {
    let (tops, top) = bar_group_tops(groups);
    let content = html! {
        (axis.draw(0.0, top, &typeset(unit)))
        @for (group, &top) in groups.iter().zip(&tops) {
            text x="4" y=(num(top + LINE - 4.0)) { (named(&group.label, WIDTH - 8.0)) }
            @for (index, bar) in group.bars.iter().enumerate() {
                (bar.draw(axis, bar_top(top, index), &group.colour))
            }
        }
    };
    image(WIDTH, top + AXIS, &alt_text(title, groups, unit), content)
}

/// Describes a panel, or a part of it, as text.
fn alt_text(title: &str, groups: &[BarGroup], unit: &str) -> String {
    let groups = groups.iter().map(|group| {
        let bars = group.bars.iter().map(|bar| match bar.kind {
            ChartKind::Measured => format!("{} {unit}", bar.text),
            kind @ (ChartKind::Published | ChartKind::Simulated) => {
                format!("{} {} {unit}", kind.name(), bar.text)
            }
        });
        format!("{}: {}", group.label, bars.collect::<Vec<_>>().join(", "))
    });
    format!("{title}. {}", shortened_list(groups))
}

//! Charts of results as separate drawings: SVG files that do not need an external style sheet, font or script.

use lanemark_schema::result::{RunResult, StudyOutcome};
use maud::{Markup, PreEscaped, html};

use super::{budget, chart, family_chart, labelled, latency, series};
use crate::charts::picture::{LegendEntry, PanelPicture, SWATCH, TitledPanel};
use crate::charts::svg::{num, text_fitted_to, text_width};
use crate::charts::theme;

/// Space around a drawing.
const MARGIN: f64 = 16.0;
/// Space between the panels of a drawing.
const GAP: f64 = 28.0;
/// Height of the title of a panel.
const TITLE: f64 = 20.0;
/// Height of a line of the legend.
const LEGEND: f64 = 20.0;
/// Height of the heading of a drawing.
const HEADING: f64 = 46.0;
/// Maximum number of systems that the heading of a drawing names.
const SYSTEMS_NAMED: usize = 4;
/// Maximum number of panels in a drawing.
const PANELS_MAX: usize = 64;
/// A word near the beginning of every drawing of results, by which programs recognise the file.
pub const PLOT_MARK: &str = "lanemark-plot";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultChart {
    /// Throughput of each test: as bars, or as lines for tests that differ in only one number.
    Throughput,
    /// Latency by percentile.
    Percentiles,
    /// Share of the requests whose latency does not exceed the value on the axis.
    Cumulative,
    /// Latency over requests a second.
    Load,
    /// Rate, write amplification and latencies over time.
    Time,
    /// Mean latency by hop.
    Budget,
}

struct Heading {
    title: String,
    chart: &'static str,
    systems: String,
}

impl ResultChart {
    fn name(self) -> &'static str {
        match self {
            Self::Throughput => "Throughput",
            Self::Percentiles => "Latency by percentile",
            Self::Cumulative => "Cumulative latency",
            Self::Load => "Latency over load",
            Self::Time => "Over time",
            Self::Budget => "Where the time goes",
        }
    }
}

/// The look of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlotStyle {
    /// Whether the drawing has light marks on a dark background.
    pub dark: bool,
    /// Number of panels per row.
    pub columns: usize,
}

/// A drawing of results with its size.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultPlot {
    /// The drawing as an SVG file.
    pub svg: String,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
}

/// Draws a chart of a study, of runs, or of a study and runs: all panels, or only the panels whose title contains
/// `panel`. Returns `None` if the results do not contain data for the chart.
pub fn plot(
    study: Option<&StudyOutcome>,
    runs: &[&RunResult],
    chart: ResultChart,
    panel: Option<&str>,
    style: PlotStyle,
) -> Option<ResultPlot> {
    let runs = labelled(runs, study.is_some());
    let mut all: Vec<(String, &RunResult)> = Vec::new();
    if let Some(study) = study {
        all.extend(study.systems.iter().map(|system| (system.label.clone(), &system.run)));
    }
    all.extend(runs.iter().cloned());
    let picture = match chart {
        ResultChart::Throughput => {
            let (lines, bars) = match study {
                Some(study) => chart::study_pictures(study, &runs),
                None => chart::runs_pictures(&runs),
            };
            merged_pictures(lines, bars)
        }
        ResultChart::Percentiles => latency::picture(&all, false),
        ResultChart::Cumulative => latency::picture(&all, true),
        ResultChart::Load => family_chart::load_picture(&all),
        ResultChart::Time => series::picture(&all),
        ResultChart::Budget => budget::picture(&all),
    };
    let is_asked = |drawing: &TitledPanel| {
        panel.is_none_or(|panel| drawing.title.to_lowercase().contains(&panel.to_lowercase()))
    };
    let figures: Vec<TitledPanel> = picture.figures.into_iter().filter(is_asked).collect();
    let heading = Heading {
        title: match (study, runs.first()) {
            (Some(study), _) => study.title.clone(),
            (None, Some((_, run))) => run.workload.name.clone(),
            (None, None) => String::new(),
        },
        chart: chart.name(),
        systems: match all.len() {
            0..=SYSTEMS_NAMED => {
                all.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>().join(" · ")
            }
            count => format!("{count} systems"),
        },
    };
    let picture = PanelPicture { entries: picture.entries, figures };
    (!picture.figures.is_empty()).then(|| render(&picture, &heading, style))
}

/// Joins two pictures; a legend entry that both pictures contain appears once.
fn merged_pictures(mut first: PanelPicture, other: PanelPicture) -> PanelPicture {
    if !other.figures.is_empty() {
        first.entries.extend(other.entries);
    }
    first.figures.extend(other.figures);
    first
}

fn render(picture: &PanelPicture, heading: &Heading, style: PlotStyle) -> ResultPlot {
    let figures = &picture.figures[..picture.figures.len().min(PANELS_MAX)];
    let columns = style.columns.clamp(1, figures.len().max(1));
    let widest = figures.iter().map(|drawing| drawing.image.width).fold(0.0, f64::max);
    let width = 2.0 * MARGIN + columns as f64 * widest + (columns - 1) as f64 * GAP;
    let entries = legend_positions(&picture.entries, width - 2.0 * MARGIN);
    let legend_lines = entries.last().map_or(0.0, |(_, y, _)| y / LEGEND + 1.0);
    let mut top = MARGIN + HEADING + legend_lines * LEGEND;
    let mut placed = Vec::new();
    for row in figures.chunks(columns) {
        let tallest = row.iter().map(|drawing| drawing.image.height).fold(0.0, f64::max);
        for (column, drawing) in row.iter().enumerate() {
            placed.push((MARGIN + column as f64 * (widest + GAP), top, drawing));
        }
        top += TITLE + tallest + GAP;
    }
    let height = top - GAP + MARGIN;
    let size = |value: f64| num(value.ceil());
    let svg = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        svg xmlns="http://www.w3.org/2000/svg" class=(PLOT_MARK) width=(size(width)) height=(size(height))
            viewBox=(format!("0 0 {} {}", size(width), size(height)))
            role="img" aria-label=(format!("{}: {}. {}", heading.title, heading.chart, heading.systems)) {
            title { (heading.title) ": " (heading.chart) }
            style { (PreEscaped(theme::marks(style.dark))) "svg text { font-family: \"DejaVu Sans\", Arial, Helvetica, sans-serif; } text.title { font-size: 13px; font-weight: 600; } text.heading { font-size: 16px; font-weight: 600; }" }
            rect width="100%" height="100%" fill=(theme::page(style.dark)) {}
            text class="heading" x=(num(MARGIN)) y=(num(MARGIN + 13.0)) {
                (text_fitted_to(&format!("{}: {}", heading.title, heading.chart), (width - 2.0 * MARGIN) * 0.68))
            }
            text class="soft" x=(num(MARGIN)) y=(num(MARGIN + 31.0)) {
                (text_fitted_to(&heading.systems, width - 2.0 * MARGIN))
            }
            @for (x, y, entry) in &entries {
                (legend_label(MARGIN + x, MARGIN + HEADING + y, entry))
            }
            @for (x, y, drawing) in &placed {
                text class="title" x=(num(*x)) y=(num(y + 13.0)) { (text_fitted_to(&drawing.title, drawing.image.width * 0.85)) }
                svg x=(num(*x)) y=(num(y + TITLE)) width=(num(drawing.image.width))
                    height=(num(drawing.image.height)) overflow="visible" {
                    (drawing.image)
                }
            }
        }
    };
    ResultPlot { svg: svg.into_string(), width: width.ceil(), height: height.ceil() }
}

/// Returns the positions of the legend entries, row by row.
fn legend_positions(entries: &[LegendEntry], width: f64) -> Vec<(f64, f64, &LegendEntry)> {
    let mut x = 0.0;
    let mut y = 0.0;
    let arranged = |entry| {
        let taken = entry_width(entry);
        if x > 0.0 && x + taken > width {
            (x, y) = (0.0, y + LEGEND);
        }
        let at = (x, y, entry);
        x += taken + 16.0;
        at
    };
    entries.iter().map(arranged).collect()
}

fn entry_width(entry: &LegendEntry) -> f64 {
    let swatch = if entry.swatch.is_some() { SWATCH.0 + 6.0 } else { 0.0 };
    swatch + text_width(&entry.name)
}

fn legend_label(x: f64, y: f64, entry: &LegendEntry) -> Markup {
    html! {
        @if let Some(swatch) = &entry.swatch {
            svg x=(num(x)) y=(num(y)) width=(num(SWATCH.0)) height=(num(SWATCH.1)) viewBox="0 0 22 12" { (swatch) }
            text class="soft" x=(num(x + SWATCH.0 + 6.0)) y=(num(y + 10.0)) { (entry.name) }
        } @else {
            text class="soft" x=(num(x)) y=(num(y + 10.0)) { (entry.name) }
        }
    }
}

#[cfg(test)]
mod tests;

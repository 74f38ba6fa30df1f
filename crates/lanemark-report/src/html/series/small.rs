//! Small drawings over time, for pages with many drawings: the drawings of one test next to each other, with a common
//! legend.
//!
//! Marks and shaded areas are not labelled in the drawings, because the legend names them. The label at the end of the
//! axis states the time.

use lanemark_schema::units::Duration;
use maud::{Markup, html};

use super::super::heat::{self, HeatMap};
use super::{
    DrawingSize, LEFT, RIGHT, TestSeries, TimePlot, draw_marks, marks, plots, shading, spans,
};
use crate::charts::picture::{self, LegendEntry};
use crate::charts::svg::{SvgImage, image, num};
use crate::text::number::{grouped, significant};
use crate::text::time::time_unit;

/// Room above the first plot.
const TOP: f64 = 8.0;
/// Room above each of the other plots, for its heading.
const HEADING: f64 = 24.0;
const GAP: f64 = 8.0;
/// Room for the labels at the ends of the time axis.
const AXIS: f64 = 18.0;

/// Draws many tests over time: the runs of each test next to each other.
pub(super) fn section(all: &[TestSeries<'_>], size: DrawingSize) -> Markup {
    let mut groups: Vec<(&str, Vec<&TestSeries<'_>>)> = Vec::new();
    for plotted in all {
        let name = plotted.test.name.as_str();
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(plotted),
            None => groups.push((name, vec![plotted])),
        }
    }
    html! {
        (picture::legend(&entries(all, true)))
        p class="soft" {
            "Time runs from zero to the value at the right. Each drawing has its own scale from zero, and up to "
            (size.steps) " steps; each step is the mean of its period. SNIA's rule defines which periods are steady. A page with fewer runs shows more details of each run."
        }
        @for (name, group) in &groups {
            h3 { (name) }
            p class="soft" {
                (plots(group[0], group[0].series, size)[0].heading)
                @if group.iter().any(|plotted| plotted.has_latencies()) { ", and " (heat::HEADING) " below" }
            }
            div class="panels runs" {
                @for plotted in group {
                    figure {
                        figcaption { (plotted.label) }
                        (draw(plotted, size))
                    }
                }
            }
        }
    }
}

/// Returns the legend entries of the shaded areas of all drawings, each entry once, and of the marks if the drawings do
/// not label them.
pub(super) fn entries(all: &[TestSeries<'_>], with_marks: bool) -> Vec<LegendEntry> {
    let mut named: Vec<(String, &'static str, &'static str)> = Vec::new();
    for plotted in all {
        let shades = spans(plotted.sample, plotted.series).into_iter();
        let shades = shades.map(|span| (span.name.to_owned(), span.class, "M0 0H22V12H0z"));
        let lines = marks(plotted.sample, plotted.series).into_iter().filter(|_| with_marks);
        let lines = lines.map(|mark| (mark.name, mark.class, "M11 0V12"));
        for entry in shades.chain(lines) {
            if !named.contains(&entry) {
                named.push(entry);
            }
        }
    }
    let swatches = named.into_iter().map(|(name, class, shape)| {
        LegendEntry::new(html! { path class=(class) d=(shape) {} }, name)
    });
    swatches.collect()
}

/// Describes the drawing as text. The description of the first plot begins with the name of its group.
pub(super) fn alt_text(plotted: &TestSeries<'_>, plots: &[TimePlot]) -> String {
    let ends = plots.iter().enumerate().map(|(index, plot)| {
        let known: Vec<f64> = plot.values.iter().flatten().copied().collect();
        let [first, last] = [known.first(), known.last()]
            .map(|value| grouped(&significant(value.copied().unwrap_or(f64::NAN))));
        let name = if index == 0 { String::new() } else { format!("{} ", plot.heading) };
        format!("{name}{first} at the start, {last} at the end")
    });
    format!("{}: {}", plotted.caption, ends.collect::<Vec<_>>().join("; "))
}

/// Draws a test over time.
pub(super) fn draw(plotted: &TestSeries<'_>, size: DrawingSize) -> SvgImage {
    let series = plotted.series.condensed(size.steps);
    let all = plotted.series.elapsed();
    let width = size.width - LEFT - RIGHT;
    let x_of = |at: Duration| at.as_seconds() / all.as_seconds().max(1e-12) * width;
    let edges: Vec<f64> = (0..=series.points.len())
        .map(|index| x_of((series.interval * index as u64).min(series.elapsed())))
        .collect();
    let plots = plots(plotted, &series, size);
    let spans = spans(plotted.sample, plotted.series);
    let marks = marks(plotted.sample, plotted.series);
    let mut top = TOP;
    let mut placed = Vec::new();
    for (index, plot) in plots.iter().enumerate() {
        top += if index == 0 { 0.0 } else { HEADING };
        placed.push((index, plot, top));
        top += plot.height;
    }
    let heat =
        HeatMap::from_series(plotted.series, size.columns, size.row).map(|heat| (heat, top + GAP));
    if let Some((heat, at)) = &heat {
        top = at + heat.height();
    }
    let (unit, seconds) = time_unit(all);
    let end = significant(all.as_seconds() / seconds);
    let content = html! {
        @for (index, plot, top) in &placed {
            (shading(&spans, &x_of, *top, plot.height, false))
            @if *index > 0 { (plot.heading(top - GAP)) }
            (plot.draw(*top, &edges, size))
            (draw_marks(&marks, &x_of, *top, plot.height, None))
        }
        @if let Some((heat, top)) = &heat {
            (heat.draw(*top, width, &x_of))
            (draw_marks(&marks, &x_of, *top, heat.height(), None))
        }
        text class="soft end" x=(num(width)) y=(num(top + 13.0)) {
            (grouped(&end)) " " (super::typeset(unit))
        }
    };
    image(size.width, top + AXIS, &alt_text(plotted, &plots), content).from(LEFT)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::series::SeriesPoint;
    use lanemark_schema::result::{LatencySteps, Sample, Series};
    use lanemark_schema::units::Bytes;
    use lanemark_schema::workload::Test;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_drawing_is_as_high_as_its_plot_its_map_and_its_axis() {
        let test = Test::of_blocks(Bytes::kibi(4));
        let sample = Sample::empty();
        let second = Duration::from_seconds(1);
        for (rows, size) in [
            (0, DrawingSize::for_drawings(1)),
            (0, DrawingSize::for_drawings(100)),
            (1, DrawingSize::for_drawings(100)),
            (5, DrawingSize::for_drawings(1)),
            (5, DrawingSize::for_drawings(100)),
        ] {
            let steps: Vec<(u8, u64)> = (20..20 + rows).map(|step| (step, 3)).collect();
            let latency_steps: LatencySteps = serde_json::from_value(json!(steps)).unwrap();
            let point =
                SeriesPoint { reads: 3 * u64::from(rows), latency_steps, ..SeriesPoint::default() };
            let series = Series { interval: second, last: second, points: vec![point; 4] };
            let test_series = TestSeries {
                label: "run",
                caption: "a test".to_owned(),
                test: &test,
                sample: &sample,
                series: &series,
            };
            let image = draw(&test_series, size);
            let map = if rows > 0 { GAP + f64::from(rows) * size.row } else { 0.0 };
            assert_eq!(image.height, TOP + size.rate + map + AXIS, "{rows}");
            assert_eq!(image.width, size.width);
        }
    }
}

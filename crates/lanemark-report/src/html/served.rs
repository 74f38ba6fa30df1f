//! Modelled latencies of served systems, compared with the latencies that were delivered.
//!
//! Both are drawn in wall-clock time: modelled latencies are multiplied by the time scale. The distance between two
//! lines of one colour is the lateness of the server.

use lanemark_schema::result::{DirectionResult, LatencyHistogram, LiveDelivery, RunResult, Sample};
use maud::{Markup, html};

use super::latency::{percentile_steps_chart, points};
use crate::charts::lines::{LineChart, LineSeries, legend};

/// The lines of a picture, each with the index of its colour.
const LINES: [(usize, &str); 4] = [
    (0, "reads, modelled"),
    (1, "reads, delivered"),
    (2, "writes, modelled"),
    (3, "writes, delivered"),
];

type DirectionGetter = for<'s> fn(&'s Sample) -> Option<&'s DirectionResult>;

/// Returns the section's content; `None` if no run served a system and delivered requests.
pub(super) fn delivered_section(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let charts: Vec<LineChart> = runs.iter().flat_map(|(label, run)| charts(label, run)).collect();
    (!charts.is_empty()).then(|| {
        html! {
            p class="soft" {
                "The modelled time of a request, multiplied by the time scale, and the measured time from the request's arrival at the server to its answer. Each curve shows the latency that a share of \
                 the requests did not exceed, up to the highest percentile that enough requests support."
            }
            (legend(LINES.iter().map(|(style, name)| (*style, *name))))
            div class="panels pairs" {
                @for chart in &charts { (chart.figure().draw()) }
            }
        }
    })
}

fn charts(label: &str, run: &RunResult) -> Vec<LineChart> {
    let served =
        run.tests.iter().flat_map(|test| test.samples.iter().map(move |sample| (test, sample)));
    let chart = |(test, sample): (&lanemark_schema::result::TestResult, &Sample)| {
        let live = sample.live.as_ref()?;
        let lines = lines(sample, live);
        let title = format!("{label}, {}: modelled and delivered", test.test.name);
        (!lines.is_empty()).then(|| percentile_steps_chart(title, lines))
    };
    served.filter_map(chart).collect()
}

/// Returns the lines of each direction whose modelled and delivered latencies are known.
fn lines(sample: &Sample, live: &LiveDelivery) -> Vec<LineSeries> {
    let of_reads: [DirectionGetter; 2] =
        [|sample| sample.reads.as_ref(), |sample| sample.live.as_ref()?.reads.as_ref()];
    let of_writes: [DirectionGetter; 2] =
        [|sample| sample.writes.as_ref(), |sample| sample.live.as_ref()?.writes.as_ref()];
    let mut lines = Vec::new();
    for (first, of) in [(0, of_reads), (2, of_writes)] {
        let [Some(modelled), Some(delivered)] = of.map(|of| of(sample)) else { continue };
        let both = [(&modelled.latency, live.time_scale), (&delivered.latency, 1.0)];
        for (index, (latency, factor)) in both.into_iter().enumerate() {
            let (style, name) = LINES[first + index];
            lines.push(line(style, name, latency, factor));
        }
    }
    lines
}

fn line(style: usize, name: &str, latency: &LatencyHistogram, factor: f64) -> LineSeries {
    let points = points(latency, factor);
    LineSeries { name: name.to_owned(), style, rings: false, points, intervals: Vec::new() }
}

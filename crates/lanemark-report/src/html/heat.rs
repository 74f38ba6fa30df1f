//! Latency over time as a heat map: for each interval, the number of requests in each latency step.
//!
//! Rows are latency steps, two per doubling, so the axis is logarithmic. The colour of a cell is the cell's share of
//! the requests in its column, in five classes. An interval with few requests is therefore as visible as an interval
//! with many.

use lanemark_schema::result::{LatencySteps, Series};
use lanemark_schema::units::Duration;
use maud::{Markup, html};

use crate::charts::lines::time_label;
use crate::charts::picture::LegendEntry;
use crate::charts::svg::num;

/// Name of the map's axis.
pub(super) const HEADING: &str = "latency of requests";
/// Minimum height between the labels of two rows.
const LABEL: f64 = 14.0;
/// Minimum share of the column's requests for a cell of each class.
const SHARES: [f64; 5] = [0.0, 0.001, 0.01, 0.1, 0.4];
/// Names of the classes.
const NAMES: [&str; 5] = ["below 0.1%", "0.1 to 1%", "1 to 10%", "10 to 40%", "40% and more"];

pub(super) struct HeatMap {
    series: Series,
    /// First and last row.
    rows: (u8, u8),
    /// Height of a row.
    row: f64,
}

impl HeatMap {
    /// Returns the heat map of a series with up to `columns` columns and rows of height `row`; `None` if the latencies
    /// were not counted.
    pub(super) fn from_series(series: &Series, columns: usize, row: f64) -> Option<Self> {
        let series = series.condensed(columns);
        let steps = |series: &Series| {
            let all = series.points.iter().flat_map(|point| point.latency_steps.counts());
            all.map(|(step, _)| step).collect::<Vec<_>>()
        };
        let all = steps(&series);
        let rows = (*all.iter().min()?, *all.iter().max()?);
        Some(Self { series, rows, row })
    }

    pub(super) fn height(&self) -> f64 {
        f64::from(self.rows.1 - self.rows.0 + 1) * self.row
    }

    /// Draws the map below `top`, with times at the positions that `x_of` returns.
    pub(super) fn draw(&self, top: f64, right: f64, x_of: &impl Fn(Duration) -> f64) -> Markup {
        let bottom = top + self.height();
        let row_y = |row: u8| bottom - f64::from(row - self.rows.0) * self.row;
        let mut label_at = f64::INFINITY;
        let mut labels = Vec::new();
        // The even rows begin at a power of two. These values are not steps of 1, 2 and 5, so each label states its
        // exact value.
        for row in self.rows.0..=self.rows.1 + 1 {
            if label_at - row_y(row) >= LABEL {
                label_at = row_y(row);
                labels.push((label_at, time_label(LatencySteps::ends_ns(row).0)));
            }
        }
        let level = |(y, _): &(f64, String)| format!("M0 {}H{}", num(*y), num(right));
        html! {
            path class="grid" d=(labels.iter().map(level).collect::<String>()) {}
            g class="soft end" {
                @for (y, label) in &labels { text x="-6" y=(num(y + 3.5)) { (label) } }
            }
            g stroke-width=(num(self.row)) {
                @for (class, path) in self.paths(x_of, &row_y).iter().enumerate() {
                    @if !path.is_empty() { path class=(format!("q{class}")) d=(path) {} }
                }
            }
        }
    }

    /// Returns the cells of each class as a path of lines as thick as a row is high; adjacent cells of one row and
    /// class are joined.
    fn paths(
        &self,
        x_of: &impl Fn(Duration) -> f64,
        below: &impl Fn(u8) -> f64,
    ) -> [String; SHARES.len()] {
        let columns = self.series.points.len();
        let mut paths: [String; SHARES.len()] = Default::default();
        for row in self.rows.0..=self.rows.1 {
            // The end of the last cell of each class in this row; the next cell is drawn relative to it.
            let mut ends: [Option<f64>; SHARES.len()] = [None; SHARES.len()];
            let mut run: Option<(usize, usize)> = None;
            for column in 0..=columns {
                let class = (column < columns).then(|| self.class(column, row)).flatten();
                if let Some((from, of)) = run
                    && class != Some(of)
                {
                    let start = x_of(self.series.start(from)).round();
                    let end = if column == columns {
                        x_of(self.series.elapsed())
                    } else {
                        x_of(self.series.start(column))
                    };
                    let end = end.round();
                    let middle = num(below(row) - self.row / 2.0);
                    paths[of] += &match ends[of] {
                        Some(last) => format!("m{} 0h{}", start - last, end - start),
                        None => format!("M{start} {middle}h{}", end - start),
                    };
                    ends[of] = Some(end);
                    run = None;
                }
                run = run.or(class.map(|class| (column, class)));
            }
        }
        paths
    }

    /// Returns the class of a cell; `None` if the cell is empty.
    fn class(&self, column: usize, row: u8) -> Option<usize> {
        let point = &self.series.points[column];
        let (_, count) = point.latency_steps.counts().find(|&(step, _)| step == row)?;
        let share = count as f64 / point.requests().max(1) as f64;
        SHARES.iter().rposition(|&least| share >= least)
    }
}

/// Returns the classes of cells and their names, as legend entries.
pub(super) fn entries() -> Vec<LegendEntry> {
    let lead = LegendEntry {
        swatch: None,
        name: "Share of the requests of an interval with this latency:".to_owned(),
    };
    let classes = NAMES.iter().enumerate().map(|(class, name)| {
        let swatch = html! { path class=(format!("q{class}")) stroke-width="12" d="M0 6H22" {} };
        LegendEntry::new(swatch, *name)
    });
    std::iter::once(lead).chain(classes).collect()
}

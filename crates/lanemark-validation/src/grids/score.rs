//! Compares predictions of a grid's cells with the truth, and with a rule that does not use a model.

use lanemark_schema::result::{RunResult, WhatIf, WhatIfTest};

use super::truth::NOISE;
use crate::figures::{ALL, GridRow, GridScore};
use crate::score::{median_and_mean, percent};

/// A cell of a grid on the other path. Rates are in requests a second.
#[derive(Clone, Debug)]
pub struct GridCell {
    /// Name of the test: `randread-DEPTH-JOBS` or `randwrite-DEPTH-JOBS`.
    pub test: String,
    /// Measured rate on the first path.
    pub here: f64,
    /// True rate on the other path.
    pub truth: f64,
    /// Predicted rate on the other path.
    pub predicted: f64,
    /// Rate according to the rule without a model: the minimum of the measured rate and the rate of the links.
    pub rule: f64,
    /// Lower and upper bound of the 80% interval.
    pub interval: Option<(f64, f64)>,
    /// Whether the same part of the path is the limit on both paths.
    pub same_limit: bool,
    /// The parameter whose draws correlate most with the outcomes.
    pub widest: String,
    /// The model's rates on both paths.
    pub models: (f64, f64),
}

impl GridCell {
    /// Returns the cells of a what-if prediction, given the true run on the other path.
    pub fn from_whatif(result: &WhatIf, there: &RunResult) -> Vec<Self> {
        let truths: Vec<(&str, f64)> =
            there.tests.iter().map(|test| (test.test.name.as_str(), test.iops.value)).collect();
        let cell = |what_if_test: &WhatIfTest| {
            let truth = truths.iter().find(|(name, _)| *name == what_if_test.test)?.1;
            let here = what_if_test.measured.as_ref()?.iops;
            let block = what_if_test.measured.as_ref()?.bytes_per_second / here;
            let links = what_if_test.other.links_bytes_per_second.unwrap_or(f64::INFINITY) / block;
            let predicted = what_if_test.expected() / block;
            let ends = what_if_test.interval.as_ref();
            Some(Self {
                test: what_if_test.test.clone(),
                here,
                truth,
                predicted,
                rule: here.min(links),
                interval: ends
                    .map(|ends| (ends.low_ratio * predicted, ends.high_ratio * predicted)),
                same_limit: what_if_test.limit_stays(),
                widest: ends
                    .and_then(|ends| ends.widest.as_ref())
                    .map_or(String::new(), |widest| widest.parameter.clone()),
                models: (what_if_test.present.iops, what_if_test.other.iops),
            })
        };
        result.tests.iter().filter_map(cell).collect()
    }

    fn off(&self, value: f64) -> f64 {
        (value.max(1e-9) / self.truth).ln().abs()
    }

    fn is_nearer(&self) -> bool {
        self.off(self.predicted) < self.off(self.rule)
    }

    /// Returns whether the model and the rule differ by less than the noise of a measured figure.
    fn is_alike(&self) -> bool {
        (self.predicted / self.rule).ln().abs() < NOISE
    }

    fn is_inside(&self) -> Option<bool> {
        self.interval.map(|(low, high)| (low..=high).contains(&self.truth))
    }

    /// Returns the cell as a readable line.
    pub fn text(&self) -> String {
        let (low, high) = self.interval.unwrap_or_default();
        let inside = match self.is_inside() {
            Some(true) => "in",
            Some(false) => "OUT",
            None => "-",
        };
        format!(
            "{:<16} here {:>8.0} model {:>8.0} then {:>8.0} truth {:>8.0} predicted {:>8.0} {:>+6.1}% rule {:>+6.1}% {:>8.0}-{:<8.0} {inside} {} {}",
            self.test,
            self.here,
            self.models.0,
            self.models.1,
            self.truth,
            self.predicted,
            100.0 * (self.predicted / self.truth - 1.0),
            100.0 * (self.rule / self.truth - 1.0),
            low,
            high,
            if self.same_limit { "same" } else { "moved" },
            self.widest,
        )
    }
}

impl GridScore {
    pub fn from_cells<'c>(cells: impl IntoIterator<Item = &'c GridCell>) -> Self {
        let cells: Vec<&GridCell> = cells.into_iter().collect();
        let errors = |of: fn(&GridCell) -> f64| {
            let all = cells.iter().map(|cell| (of(cell) / cell.truth - 1.0).abs() * 100.0);
            median_and_mean(all.collect())
        };
        let share = |holds: &dyn Fn(&GridCell) -> bool| {
            percent(cells.iter().filter(|cell| holds(cell)).count(), cells.len())
        };
        let (model_median_percent, model_mean_percent) = errors(|cell| cell.predicted);
        let (rule_median_percent, rule_mean_percent) = errors(|cell| cell.rule);
        let intervals = cells.iter().filter_map(|cell| cell.interval);
        let widths: Vec<f64> = intervals.map(|(low, high)| high / low).collect();
        let below = |cell: &GridCell| cell.interval.is_some_and(|(low, _)| cell.truth < low);
        let above = |cell: &GridCell| cell.interval.is_some_and(|(_, high)| cell.truth > high);
        Self {
            cells: cells.len(),
            model_median_percent,
            model_mean_percent,
            rule_median_percent,
            rule_mean_percent,
            nearer_percent: share(&GridCell::is_nearer),
            alike_percent: Some(share(&GridCell::is_alike)),
            coverage_percent: share(&|cell| cell.is_inside() == Some(true)),
            below_percent: Some(share(&below)),
            above_percent: Some(share(&above)),
            width: Some(median_and_mean(widths).0),
        }
    }
}

/// Returns the scores of a run by kind of cell.
pub fn by_kind(run: &str, drives: u64, cells: &[GridCell]) -> Vec<GridRow> {
    type CellFilter = fn(&GridCell) -> bool;
    let kinds: [(&str, CellFilter); 7] = [
        ("reads", |cell| cell.test.starts_with("randread")),
        ("writes", |cell| cell.test.starts_with("randwrite")),
        ("one at a time", |cell| cell.test.ends_with("-1-1")),
        ("limit stays", |cell| cell.same_limit),
        ("limit moves", |cell| !cell.same_limit),
        ("slower there", |cell| cell.truth < 0.95 * cell.here),
        (ALL, |_| true),
    ];
    let row = |(kind, belongs): (&str, CellFilter)| GridRow {
        run: run.to_owned(),
        drives,
        kind: kind.to_owned(),
        score: GridScore::from_cells(cells.iter().filter(|cell| belongs(cell))),
    };
    kinds.into_iter().map(row).collect()
}

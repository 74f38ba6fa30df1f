//! Predictions of a grid's cells held against the truth, beside a rule that needs no model.

use std::fmt::Write;

use lanemark_core::result::{RunResult, WhatIf};

use super::rates;
use super::truth::NOISE;

/// A cell of a grid on the other path.
pub(super) struct Cell {
    test: String,
    /// What it did on the first path, and what it does on the other.
    here: f64,
    truth: f64,
    predicted: f64,
    /// The least of what it did and what the links allow.
    rule: f64,
    /// Ends of the 80% interval.
    interval: Option<(f64, f64)>,
    /// The same part of the path is the limit on both.
    same_limit: bool,
    widest: String,
    models: (f64, f64),
}

impl Cell {
    /// The cells of a what-if.
    pub(super) fn of(told: &WhatIf, there: &RunResult) -> Vec<Self> {
        let truths = rates(there);
        let cell = |one: &lanemark_core::result::WhatIfTest| {
            let truth = truths.iter().find(|(name, _)| *name == one.test)?.1;
            let here = one.measured.as_ref()?.iops;
            let block = one.measured.as_ref()?.bytes_per_second / here;
            let law = one.other.links_bytes_per_second.unwrap_or(f64::INFINITY) / block;
            let predicted = one.expected() / block;
            let ends = one.interval.as_ref();
            Some(Self {
                test: one.test.clone(),
                here,
                truth,
                predicted,
                rule: here.min(law),
                interval: ends
                    .map(|ends| (ends.low_ratio * predicted, ends.high_ratio * predicted)),
                same_limit: one.limit_stays(),
                widest: ends
                    .and_then(|ends| ends.widest.as_ref())
                    .map_or(String::new(), |widest| widest.parameter.clone()),
                models: (one.present.iops, one.other.iops),
            })
        };
        told.tests.iter().filter_map(cell).collect()
    }

    fn off(&self, value: f64) -> f64 {
        (value.max(1e-9) / self.truth).ln().abs()
    }

    fn is_nearer(&self) -> bool {
        self.off(self.predicted) < self.off(self.rule)
    }

    /// Whether the two differ by less than a measured figure is sure to.
    fn is_alike(&self) -> bool {
        (self.predicted / self.rule).ln().abs() < NOISE
    }

    fn is_inside(&self) -> Option<bool> {
        self.interval.map(|(low, high)| (low..=high).contains(&self.truth))
    }

    pub(super) fn text(&self) -> String {
        let (low, high) = self.interval.unwrap_or_default();
        let inside = match self.is_inside() {
            Some(true) => "in",
            Some(false) => "OUT",
            None => "-",
        };
        format!(
            "{:<16} here {:>8.0} model {:>8.0} then {:>8.0} truth {:>8.0} told {:>8.0} {:>+6.1}% rule {:>+6.1}% {:>8.0}-{:<8.0} {inside} {} {}",
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

/// The figures of some cells in a line.
pub(super) fn line(cells: &[Cell]) -> String {
    summary(&cells.iter().collect::<Vec<_>>())
}

fn summary(cells: &[&Cell]) -> String {
    let count = cells.len().max(1) as f64;
    let errors = |of: &dyn Fn(&Cell) -> f64| {
        let mut all: Vec<f64> =
            cells.iter().map(|cell| (of(cell) / cell.truth - 1.0).abs() * 100.0).collect();
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / count;
        (all.get(all.len() / 2).copied().unwrap_or(0.0), mean)
    };
    let (median, mean) = errors(&|cell| cell.predicted);
    let (rule_median, rule_mean) = errors(&|cell| cell.rule);
    let share = |holds: &dyn Fn(&Cell) -> bool| {
        100.0 * cells.iter().filter(|cell| holds(cell)).count() as f64 / count
    };
    let width = {
        let mut all: Vec<f64> =
            cells.iter().filter_map(|cell| cell.interval).map(|(low, high)| high / low).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    };
    format!(
        "{:>5} cells  model {median:>5.1}% {mean:>6.1}%  rule {rule_median:>5.1}% {rule_mean:>6.1}%  nearer {:>3.0}% alike {:>3.0}%  within {:>3.0}% (below {:.0}%, above {:.0}%)  width {width:.2}",
        cells.len(),
        share(&Cell::is_nearer),
        share(&Cell::is_alike),
        share(&|cell| cell.is_inside() == Some(true)),
        share(&|cell| cell.interval.is_some_and(|(low, _)| cell.truth < low)),
        share(&|cell| cell.interval.is_some_and(|(_, high)| cell.truth > high)),
    )
}

/// The table of all cells by kind.
pub(super) fn table(cells: &[Cell]) -> String {
    type Holds = fn(&Cell) -> bool;
    let kinds: [(&str, Holds); 7] = [
        ("reads", |cell| cell.test.starts_with("randread")),
        ("writes", |cell| cell.test.starts_with("randwrite")),
        ("one at a time", |cell| cell.test.ends_with("-1-1")),
        ("limit stays", |cell| cell.same_limit),
        ("limit moves", |cell| !cell.same_limit),
        ("slower there", |cell| cell.truth < 0.95 * cell.here),
        ("all", |_| true),
    ];
    let mut text = String::new();
    for (name, holds) in kinds {
        let own: Vec<&Cell> = cells.iter().filter(|cell| holds(cell)).collect();
        let _ = writeln!(text, "{name:<14} {}", summary(&own));
    }
    text
}

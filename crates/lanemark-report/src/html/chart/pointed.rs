//! Bars that show their values under the pointer, or when the arrow keys select them.

use lanemark_schema::result::{FigureMetric, RunResult, StudyOutcome};

use super::super::grid::typeset;
use super::super::{database, family_chart};
use super::{
    BAR, Bar, BarGroup, BarPanel, ChartKind, alt_text, bar_group_tops, bar_top, runs_panels,
    study_panels,
};
use crate::figure_table::metrics;
use crate::number::{grouped, significant};

/// A panel, and the tooltips of its bars.
pub(crate) struct InteractivePanel {
    /// Text description of the panel's drawing.
    pub(crate) label: String,
    /// Height of a bar.
    pub(crate) height: f64,
    /// The top of each bar, and its name and values, one per line.
    pub(crate) bars: Vec<(f64, String)>,
}

/// Returns the panels of a page about a study or about runs, including database transactions.
pub(crate) fn interactive_panels(
    study: Option<&StudyOutcome>,
    runs: &[(String, &RunResult)],
) -> Vec<InteractivePanel> {
    let (panels, metric) = match study {
        Some(outcome) => {
            let metric = metrics(outcome)[0];
            let systems = outcome.systems.iter().map(|system| &system.run);
            (study_panels(outcome, runs, metric, &family_chart::of_runs(systems)), metric)
        }
        None => {
            let families = family_chart::of_runs(runs.iter().map(|(_, run)| *run));
            (runs_panels(runs, &families), FigureMetric::Throughput)
        }
    };
    let mut all: Vec<InteractivePanel> =
        panels.iter().flat_map(|panel| panel.pointed(metric.unit())).collect();
    if study.is_none() {
        let named: Vec<(&str, &RunResult)> =
            runs.iter().map(|(label, run)| (label.as_str(), *run)).collect();
        let figures = database::panels(&named);
        all.extend(figures.iter().flat_map(|(panel, unit)| panel.pointed(unit)));
    }
    all
}

impl BarPanel {
    fn pointed(&self, unit: &str) -> Vec<InteractivePanel> {
        let part = |(title, groups): &(String, &[BarGroup])| {
            let mut bars = Vec::new();
            for (group, top) in groups.iter().zip(bar_group_tops(groups).0) {
                let tooltip = |(index, bar): (usize, &Bar)| {
                    (bar_top(top, index), format!("{}\n{}", group.label, bar.tooltip(unit)))
                };
                bars.extend(group.bars.iter().enumerate().map(tooltip));
            }
            InteractivePanel { label: alt_text(title, groups, unit), height: BAR, bars }
        };
        self.parts().iter().map(part).collect()
    }
}

impl Bar {
    /// Returns the bar's values, one per line.
    fn tooltip(&self, unit: &str) -> String {
        let unit = typeset(unit);
        let kind = match self.kind {
            ChartKind::Measured => String::new(),
            kind => format!("{} ", kind.name()),
        };
        let mut lines = vec![format!("{kind}{} {unit}", grouped(&self.text))];
        if let Some((least, greatest)) = self.range {
            let what = if self.predicted { "80% interval" } else { "repeats" };
            let [least, greatest] = [least, greatest].map(|value| grouped(&significant(value)));
            if least != greatest {
                lines.push(format!("{what}: from {least} to {greatest} {unit}"));
            }
        }
        match self.note.as_str() {
            "" => {}
            "calibrated" => lines.push(self.note.clone()),
            error => lines.push(format!("error: {error}")),
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_states_its_value_its_range_if_it_has_one_and_its_note() {
        let bar = |kind, range, predicted, note: &str| Bar {
            kind,
            text: "12500".to_owned(),
            note: note.to_owned(),
            is_large_error: false,
            value: 12_500.0,
            range,
            predicted,
        };
        let value = grouped("12500");
        let [low, high] = ["12000", "13000"].map(grouped);
        let range = |what: &str| format!("\n{what}: from {low} to {high} MB/s");
        let wide = Some((12_000.0, 13_000.0));
        for (bar, wanted) in [
            (bar(ChartKind::Measured, None, false, ""), format!("{value} MB/s")),
            (
                bar(ChartKind::Measured, wide, false, ""),
                format!("{value} MB/s{}", range("repeats")),
            ),
            (
                bar(ChartKind::Measured, wide, true, ""),
                format!("{value} MB/s{}", range("80% interval")),
            ),
            // If both bounds are printed alike, the text does not show a range.
            (
                bar(ChartKind::Measured, Some((12_500.0, 12_500.001)), false, ""),
                format!("{value} MB/s"),
            ),
            (
                bar(ChartKind::Simulated, None, false, "+3%"),
                format!("{} {value} MB/s\nerror: +3%", ChartKind::Simulated.name()),
            ),
            (
                bar(ChartKind::Published, None, false, "calibrated"),
                format!("{} {value} MB/s\ncalibrated", ChartKind::Published.name()),
            ),
        ] {
            assert_eq!(bar.tooltip("MB/s"), wanted);
        }
    }

    #[test]
    fn a_panel_shows_each_bar_with_the_name_of_its_group() {
        let bar = |value: f64| Bar {
            kind: ChartKind::Simulated,
            text: value.to_string(),
            note: String::new(),
            is_large_error: false,
            value,
            range: None,
            predicted: false,
        };
        let group = |label: &str, values: &[f64]| BarGroup {
            label: label.to_owned(),
            colour: String::new(),
            bars: values.iter().copied().map(bar).collect(),
        };
        let groups = vec![group("sata", &[500.0, 480.0]), group("nvme", &[2_000.0])];
        let panels = BarPanel { test: "reads".to_owned(), groups }.pointed("MB/s");
        assert_eq!(panels.len(), 1);
        let bars = &panels[0].bars;
        assert!(bars.is_sorted_by(|one, other| one.0 < other.0), "{bars:?}");
        let labels: Vec<&str> = bars.iter().filter_map(|(_, text)| text.lines().next()).collect();
        assert_eq!(labels, ["sata", "sata", "nvme"]);
        assert!(bars[2].1.contains(&grouped("2000")), "{bars:?}");
        assert!(panels[0].label.contains("reads") && panels[0].height > 0.0);
    }
}

//! Measured, simulated and published figures side by side, as a table and as CSV. Measured figures are converted to the
//! time of the study: rates are multiplied by the time scale, and latencies divided by it.

use lanemark_plan::servers_needed;
use lanemark_report::{Style, figure_rows, paragraph};
use lanemark_schema::result::{FigureCheck, FigureMetric, Sample, Statistic, StudyOutcome};
use lanemark_schema::text::csv_text;
use lanemark_schema::workload::AverageMethod;
use lanemark_trial::database::{DatabaseOutcome, SystemTurns, device};
use serde_json::Value;

use crate::output::outlets::LIVE;

/// The metrics of a database, in the order of the rows, with their display names.
const METRICS: [(FigureMetric, &str); 5] = [
    (FigureMetric::Transactions, "transactions a minute"),
    (FigureMetric::ReadLatency, "reads, ms"),
    (FigureMetric::WriteLatency, "writes, ms"),
    (FigureMetric::Latency, "all disk I/O, ms"),
    (FigureMetric::ProcessorUse, "processors busy, %"),
];

/// Returns whether the answers of all turns of a system were delivered in time.
fn is_valid(side: &SystemTurns) -> bool {
    side.holds.iter().all(|&holds| holds)
}

/// Returns the metric over all turns of a system, in its unit.
fn summarise(side: &SystemTurns, metric: FigureMetric, scale: f64) -> Statistic {
    let values: Vec<f64> = match metric {
        FigureMetric::ProcessorUse => side.busy.iter().map(|busy| 100.0 * busy).collect(),
        _ => side.samples.iter().filter_map(|sample| value(sample, metric, scale)).collect(),
    };
    Statistic::from_values(&values, AverageMethod::Mean)
}

/// Returns the metric of a turn, in its unit and in the time of the study.
fn value(sample: &Sample, metric: FigureMetric, scale: f64) -> Option<f64> {
    let mean_us = |time: f64, count: u64| (count > 0).then(|| time / count as f64 / scale);
    let disk = device(sample);
    match metric {
        FigureMetric::Transactions => Some(sample.transactions.as_ref()?.per_minute * scale),
        FigureMetric::ReadLatency => mean_us(disk?.read_time.as_microseconds(), disk?.reads),
        FigureMetric::WriteLatency => mean_us(disk?.write_time.as_microseconds(), disk?.writes),
        FigureMetric::Latency => {
            let time = disk?.read_time.as_microseconds() + disk?.write_time.as_microseconds();
            mean_us(time, disk?.reads + disk?.writes)
        }
        _ => None,
    }
}

/// The outcome of a database trial as a table.
pub(crate) struct TableInputs<'b> {
    pub(crate) outcome: &'b DatabaseOutcome,
    pub(crate) nodes: u32,
}

impl TableInputs<'_> {
    fn sides(&self) -> [&SystemTurns; 2] {
        self.outcome.sides.each_ref()
    }

    fn published(&self, system: &str, metric: FigureMetric) -> Option<&FigureCheck> {
        figure(&self.outcome.simulated, system, metric)
    }

    /// Returns the metric of a system under the workload of the first system's turns.
    fn predicted(&self, system: &str, metric: FigureMetric) -> Option<f64> {
        Some(figure(self.outcome.predicted.as_ref()?, system, metric)?.simulated.value)
    }

    pub(crate) fn text(&self, style: &Style) -> String {
        let mut rows = Vec::new();
        let mut notes = String::new();
        for side in &self.outcome.sides {
            rows.push(vec![side.label.clone()]);
            if !is_valid(side) {
                let note = format!(
                    "INVALID: {}: this machine was slower than the disk's model",
                    side.label
                );
                notes += &paragraph(&note, style);
            }
            rows.extend(METRICS.map(|(metric, name)| self.metric_row(side, metric, name)));
        }
        rows.push(vec![format!(
            "{} over {}",
            self.outcome.sides[1].label, self.outcome.sides[0].label
        )]);
        let gain = |ratio: f64| format!("{:+.1}%", 100.0 * (ratio - 1.0));
        rows.push(self.ratio_row("more transactions".to_owned(), gain));
        let saved = |ratio: f64| saved(self.nodes, ratio).to_string();
        rows.push(self.ratio_row(format!("servers saved of {}", self.nodes), saved));
        let columns = ["figure", "published", "simulated", "predicted", "measured", "of the turns"];
        figure_rows(&columns, &rows, style) + &notes
    }

    fn metric_row(&self, side: &SystemTurns, metric: FigureMetric, name: &str) -> Vec<String> {
        let check = self.published(&side.name, metric);
        let found = summarise(side, metric, self.outcome.time_scale);
        let values = [
            check.map(|check| check.figure.published),
            check.map(|check| check.simulated.value),
            self.predicted(&side.name, metric),
            (found.count > 0).then_some(found.value),
        ];
        let cell = |value: Option<f64>| {
            value.map_or("–".to_owned(), |value| format_figure(metric, value))
        };
        let range = match found.count {
            0 | 1 => String::new(),
            _ => format!(
                "{} to {}",
                format_figure(metric, found.min),
                format_figure(metric, found.max)
            ),
        };
        [vec![name.to_owned()], values.map(cell).to_vec(), vec![range]].concat()
    }

    /// Returns a row with a figure of the ratio of both systems' rates.
    fn ratio_row(&self, name: String, figure: impl Fn(f64) -> String) -> Vec<String> {
        let cells = self.rates().map(|pair| pair.map_or("–".to_owned(), |(a, b)| figure(b / a)));
        let range = self.ratio_range().map_or_else(String::new, |(least, most)| {
            format!("{} to {}", figure(least), figure(most))
        });
        [vec![name], cells.to_vec(), vec![range]].concat()
    }

    /// Returns the transactions a minute of both systems, as published, simulated, predicted and measured.
    fn rates(&self) -> [Option<(f64, f64)>; 4] {
        let checks =
            self.sides().map(|side| self.published(&side.name, FigureMetric::Transactions));
        let values_of_both = |of: fn(&FigureCheck) -> f64| Some((of(checks[0]?), of(checks[1]?)));
        let found = self
            .sides()
            .map(|side| summarise(side, FigureMetric::Transactions, self.outcome.time_scale));
        let measured = found.iter().all(|rate| rate.value > 0.0);
        let predicted =
            self.sides().map(|side| self.predicted(&side.name, FigureMetric::Transactions));
        [
            values_of_both(|check| check.figure.published),
            values_of_both(|check| check.simulated.value),
            predicted[0].zip(predicted[1]),
            measured.then(|| (found[0].value, found[1].value)),
        ]
    }

    /// Returns the minimum and the maximum ratio of two successive turns.
    fn ratio_range(&self) -> Option<(f64, f64)> {
        let rate = |sample: &Sample| Some(sample.transactions.as_ref()?.per_minute);
        let [first, second] = self.sides().map(|side| &side.samples);
        let ratios: Vec<f64> = first
            .iter()
            .zip(second)
            .filter_map(|(a, b)| Some((rate(a)?, rate(b)?)))
            .filter(|&(a, _)| a > 0.0)
            .map(|(a, b)| b / a)
            .collect();
        let least = ratios.iter().copied().reduce(f64::min)?;
        let most = ratios.iter().copied().reduce(f64::max)?;
        (ratios.len() > 1).then_some((least, most))
    }

    /// Returns the table as JSON: one object per row of the CSV, with the same names and units.
    pub(crate) fn json(&self) -> Value {
        let object = |row: [Value; COLUMNS]| {
            let names = column_names().map(str::to_owned);
            Value::Object(names.zip(row).collect())
        };
        Value::Array(self.rows().map(object).collect())
    }

    /// Returns the table as CSV, each figure in its metric's unit.
    pub(crate) fn csv(&self) -> String {
        let cell = |value: Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            Value::Number(number) if number.is_f64() => {
                format!("{:.6}", number.as_f64().unwrap_or_default())
            }
            other => other.to_string(),
        };
        let names: Vec<String> = column_names().map(str::to_owned).collect();
        let rows = self.rows().map(|row| row.map(cell).to_vec());
        csv_text(std::iter::once(names).chain(rows))
    }

    /// Returns the rows of the CSV and of the JSON.
    fn rows(&self) -> impl Iterator<Item = [Value; COLUMNS]> {
        let pairs =
            self.outcome.sides.iter().flat_map(|side| METRICS.map(|(metric, _)| (side, metric)));
        pairs.map(|(side, metric)| {
            let check = self.published(&side.name, metric);
            let found = summarise(side, metric, self.outcome.time_scale);
            let of = |value: f64| Value::from((found.count > 0).then_some(value));
            [
                Value::from(side.name.as_str()),
                serde_json::to_value(metric).unwrap_or_default(),
                Value::from(metric.unit()),
                Value::from(check.map(|check| check.figure.published)),
                Value::from(check.map(|check| check.simulated.value)),
                of(found.value),
                of(found.min),
                of(found.max),
                Value::from(found.count),
                Value::from(is_valid(side)),
                Value::from(self.predicted(&side.name, metric)),
            ]
        })
    }
}

/// Number of columns of the CSV.
const COLUMNS: usize = 11;

/// Returns the names of the columns of the CSV.
fn column_names() -> impl Iterator<Item = &'static str> {
    let more = ["measured_min", "measured_max", "turns", "valid", "predicted"];
    LIVE.mark.split(',').chain(more)
}

/// Returns the figure of a system's metric.
fn figure<'o>(
    outcome: &'o StudyOutcome,
    system: &str,
    metric: FigureMetric,
) -> Option<&'o FigureCheck> {
    let is_of_metric =
        |check: &&FigureCheck| check.figure.system == system && check.figure.metric == metric;
    outcome.figures.iter().find(is_of_metric)
}

/// Formats a value for display, in millions of transactions, milliseconds or per cent.
fn format_figure(metric: FigureMetric, value: f64) -> String {
    match metric {
        FigureMetric::Transactions => format!("{:.3} M", value / 1e6),
        FigureMetric::ProcessorUse => format!("{value:.0}"),
        _ => format!("{:.3}", value / 1e3),
    }
}

/// Returns how many of `nodes` servers can be saved if each server does `ratio` times as much work.
fn saved(nodes: u32, ratio: f64) -> i64 {
    i64::from(nodes) - servers_needed(f64::from(nodes), ratio) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style { width: 100, colour: false };

    #[test]
    fn servers_are_saved_whole() {
        let published = 1.71 / 1.37;
        assert_eq!([5, 6, 100].map(|nodes| saved(nodes, published)), [0, 1, 19]);
        assert_eq!((saved(5, 1.25), saved(4, 0.5)), (1, -4));
    }

    #[test]
    fn one_late_turn_makes_a_system_invalid() {
        let measured = |holds: &[bool]| SystemTurns {
            name: "a".to_owned(),
            label: "A".to_owned(),
            samples: Vec::new(),
            busy: vec![0.25, 0.75],
            holds: holds.to_vec(),
        };
        for (holds, wanted) in [
            (&[true, true][..], true),
            (&[true, false], false),
            (&[false, true], false),
            (&[false, false], false),
            (&[], true),
        ] {
            assert_eq!(is_valid(&measured(holds)), wanted, "{holds:?}");
        }
        let busy = summarise(&measured(&[]), FigureMetric::ProcessorUse, 7.0);
        assert_eq!((busy.value, busy.min, busy.max, busy.count), (50.0, 25.0, 75.0, 2));
        assert_eq!(summarise(&measured(&[]), FigureMetric::Transactions, 7.0).count, 0);
    }

    #[test]
    fn rates_grow_and_latencies_shrink_with_the_time_scale() {
        use lanemark_schema::result::{DeviceUse, Evidence, TransactionFigures};
        use lanemark_schema::units::Duration;
        let device = DeviceUse {
            reads: 10,
            read_time: Duration::from_microseconds(4_000),
            writes: 30,
            write_time: Duration::from_microseconds(24_000),
            ..DeviceUse::default()
        };
        let sample = Sample {
            transactions: Some(TransactionFigures {
                per_minute: 100.0,
                ..TransactionFigures::default()
            }),
            evidence: Some(Evidence { device: Some(device), ..Evidence::default() }),
            ..Sample::empty()
        };
        for (metric, wanted) in [
            (FigureMetric::Transactions, 400.0),
            (FigureMetric::ReadLatency, 100.0),
            (FigureMetric::WriteLatency, 200.0),
            (FigureMetric::Latency, 175.0),
        ] {
            assert_eq!(value(&sample, metric, 4.0), Some(wanted), "{metric:?}");
        }
    }

    #[test]
    fn values_are_printed_in_the_units_of_the_table() {
        assert_eq!(format_figure(FigureMetric::Transactions, 1.3712e6), "1.371 M");
        assert_eq!(format_figure(FigureMetric::ReadLatency, 440.0), "0.440");
        assert_eq!(format_figure(FigureMetric::ProcessorUse, 51.4), "51");
    }

    fn check(system: &str, metric: FigureMetric, published: f64, simulated: f64) -> FigureCheck {
        use lanemark_schema::result::{BoundKind, FigureRole, PublishedFigure};
        let figure = PublishedFigure {
            id: "id".to_owned(),
            system: system.to_owned(),
            test: "users".to_owned(),
            metric,
            published,
            bound: BoundKind::Exactly,
            over: None,
            place: "Table 1".to_owned(),
            role: FigureRole::Predicted,
        };
        FigureCheck::new(figure, Statistic::from_values(&[simulated], AverageMethod::Mean))
    }

    fn outcome_of(figures: Vec<FigureCheck>) -> StudyOutcome {
        StudyOutcome {
            schema_version: 1,
            provenance: Default::default(),
            id: String::new(),
            title: String::new(),
            question: String::new(),
            document: lanemark_schema::result::Publication {
                file: String::new(),
                citation: String::new(),
            },
            systems: Vec::new(),
            figures,
            comparison: None,
            answer: None,
            not_modelled: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns turns with these rates, in thousands of transactions a minute.
    fn turns(name: &str, rates: &[f64], busy: &[f64], late: bool) -> SystemTurns {
        use lanemark_schema::result::TransactionFigures;
        let sample = |&rate: &f64| {
            let per_minute = rate * 1e3;
            let use_of = TransactionFigures { per_minute, ..TransactionFigures::default() };
            Sample { transactions: Some(use_of), ..Sample::empty() }
        };
        SystemTurns {
            name: name.to_owned(),
            label: name.to_uppercase(),
            samples: rates.iter().map(sample).collect(),
            busy: busy.to_vec(),
            holds: vec![true, !late],
        }
    }

    /// Calls `check` with a table at a time scale of 4; one turn of the second system is late.
    fn with(first: &[f64], second: &[f64], check_of: impl Fn(&TableInputs<'_>)) {
        let simulated = outcome_of(vec![
            check("b", FigureMetric::Transactions, 1.71e6, 1.75e6),
            check("a", FigureMetric::ProcessorUse, 70.4, 71.6),
            check("a", FigureMetric::Transactions, 1.37e6, 1.40e6),
        ]);
        let predicted = outcome_of(vec![
            check("b", FigureMetric::Transactions, 1.71e6, 1.69e6),
            check("a", FigureMetric::Transactions, 1.37e6, 1.30e6),
        ]);
        let outcome = DatabaseOutcome {
            simulated,
            predicted: Some(predicted),
            sides: [turns("a", first, &[0.5, 0.6], false), turns("b", second, &[0.7], true)],
            results: [None, None],
            time_scale: 4.0,
            description: String::new(),
            remarks: String::new(),
            is_complete: true,
        };
        check_of(&TableInputs { outcome: &outcome, nodes: 1_000 });
    }

    #[test]
    fn systems_are_next_to_each_other_with_their_spread_and_their_gain() {
        with(&[340.0, 350.0], &[425.0, 441.0], |table| {
            let text = table.text(&STYLE);
            let words = |line: &str| {
                line.split("  ")
                    .map(str::trim)
                    .filter(|cell| !cell.is_empty())
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            let lines: Vec<Vec<String>> = text.lines().map(words).collect();
            for row in [
                &["figure", "published", "simulated", "predicted", "measured", "of the turns"][..],
                &["A"],
                &[
                    "transactions a minute",
                    "1.370 M",
                    "1.400 M",
                    "1.300 M",
                    "1.380 M",
                    "1.360 M to 1.400 M",
                ],
                &["reads, ms", "–", "–", "–", "–"],
                &["processors busy, %", "70", "72", "–", "55", "50 to 60"],
                &["B"],
                &[
                    "transactions a minute",
                    "1.710 M",
                    "1.750 M",
                    "1.690 M",
                    "1.732 M",
                    "1.700 M to 1.764 M",
                ],
                &["processors busy, %", "–", "–", "–", "70"],
                &["B over A"],
                &["more transactions", "+24.8%", "+25.0%", "+30.0%", "+25.5%", "+25.0% to +26.0%"],
                &["servers saved of 1000", "198", "200", "230", "203", "200 to 206"],
                &["INVALID: B: this machine was slower than the disk's model"],
            ] {
                assert!(lines.iter().any(|line| line == row), "{row:?}: {text}");
            }
        });
    }

    #[test]
    fn ratios_of_turns_need_two_turns_and_a_rate() {
        let each = |first: &[f64], second: &[f64]| {
            let seen = std::cell::Cell::new(None);
            with(first, second, |table| seen.set(table.ratio_range()));
            seen.get()
        };
        assert_eq!(each(&[100.0, 200.0, 50.0], &[150.0, 240.0]), Some((1.2, 1.5)));
        assert_eq!(each(&[100.0], &[150.0]), None);
        assert_eq!(each(&[100.0, 0.0], &[150.0, 240.0]), None);
        assert_eq!(each(&[], &[150.0]), None);
        with(&[], &[150.0], |table| {
            assert_eq!(
                table.rates(),
                [Some((1.37e6, 1.71e6)), Some((1.40e6, 1.75e6)), Some((1.30e6, 1.69e6)), None]
            );
            let text = table.text(&STYLE);
            let gains = text.lines().find(|line| line.contains("more transactions")).unwrap();
            let gains: Vec<&str> = gains.split_whitespace().skip(2).collect();
            assert_eq!(gains, ["+24.8%", "+25.0%", "+30.0%", "–"]);
        });
    }

    #[test]
    fn the_csv_and_the_json_have_every_figure_in_its_unit() {
        with(&[340.0, 350.0], &[425.0], |table| {
            let csv = table.csv();
            let lines: Vec<&str> = csv.lines().collect();
            assert_eq!(lines.len(), 11);
            assert!(
                lines[0].ends_with(",measured_min,measured_max,turns,valid,predicted"),
                "{}",
                lines[0]
            );
            let millions =
                "1370000.000000,1400000.000000,1380000.000000,1360000.000000,1400000.000000";
            assert_eq!(lines[1], format!("a,transactions,tpm,{millions},2,true,1300000.000000"));
            assert_eq!(lines[2], "a,read-latency,µs,,,,,,0,true,");
            let busy = "70.400000,71.600000,55.000000,50.000000,60.000000";
            assert_eq!(lines[5], format!("a,processor-use,%,{busy},2,true,"));
            let one = "1710000.000000,1750000.000000,1700000.000000,1700000.000000,1700000.000000";
            assert_eq!(lines[6], format!("b,transactions,tpm,{one},1,false,1690000.000000"));
            let json = table.json();
            let rows = json.as_array().unwrap();
            assert_eq!(rows.len(), 10);
            assert_eq!(rows[5]["turns"], serde_json::json!(1));
            assert_eq!(rows[5]["valid"], serde_json::json!(false));
            assert_eq!(rows[0]["valid"], serde_json::json!(true));
            assert_eq!(rows[0]["measured_max"], serde_json::json!(1.4e6));
            assert_eq!(rows[1]["measured_max"], serde_json::Value::Null);
            let first = lines[0].split(',').next().unwrap();
            assert_eq!(rows[5][first], serde_json::json!("b"));
        });
    }
}

//! The figures of database transactions that real and simulated runs share, and a table that compares runs.
//!
//! Rows are figures, and columns are runs. A figure that a run does not contain is shown as a dash: a real database
//! does not report single requests, and a simulated database does not distinguish kinds of transactions.

use lanemark_schema::result::{
    DatabaseCounter, DeviceUse, RunResult, Sample, TestResult, TransactionFigures,
};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Operation;

use crate::text::number::{ABSENT, known_value, or_absent, significant, spread};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// A figure of a sample with database transactions.
pub(crate) struct TransactionFigure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) of: fn(&Sample) -> Option<f64>,
    /// Whether a larger value is better.
    pub(crate) more: bool,
    /// Whether the comparison of two real runs contains the figure.
    pub(crate) compared: bool,
    /// Whether a page draws the figure.
    pub(crate) drawn: bool,
}

/// A figure that is neither drawn nor compared; smaller is better.
const PLAIN: TransactionFigure = TransactionFigure {
    name: "",
    unit: "",
    of: |_| None,
    more: false,
    compared: false,
    drawn: false,
};

/// All figures of a database run. The compared figures are in the order of the published chart.
pub(crate) const FIGURES: [TransactionFigure; 30] = [
    TransactionFigure {
        name: "tpm",
        unit: "1/min",
        of: |sample| Some(transactions(sample)?.per_minute),
        more: true,
        compared: true,
        drawn: true,
    },
    TransactionFigure {
        name: "counted by the database",
        unit: "1/min",
        of: |sample| transactions(sample)?.counted_per_minute,
        ..PLAIN
    },
    TransactionFigure {
        name: "count differs by",
        unit: "%",
        of: |sample| per_cent(transactions(sample)?.count_differs()),
        ..PLAIN
    },
    TransactionFigure {
        name: "NOPM",
        unit: "1/min",
        of: |sample| transactions(sample)?.new_orders_per_minute,
        more: true,
        compared: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "device read",
        unit: "µs",
        of: |sample| us(sample.mean_latency_ns(Operation::Read)),
        compared: true,
        drawn: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "device write",
        unit: "µs",
        of: |sample| us(sample.mean_latency_ns(Operation::Write)),
        compared: true,
        drawn: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "device overall",
        unit: "µs",
        of: |sample| us(Some(sample.latency_mean_ns()).filter(|&ns| ns > 0.0)),
        compared: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "processors busy",
        unit: "%",
        of: |sample| per_cent(transactions(sample)?.processor_busy),
        compared: true,
        drawn: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "of it by other programs",
        unit: "%",
        of: |sample| per_cent(transactions(sample)?.processor_others),
        ..PLAIN
    },
    TransactionFigure {
        name: "database CPU",
        unit: "µs each",
        of: |sample| {
            let all = transactions(sample)?;
            all.per_transaction(1e6 * all.processor_time.as_ref()?.server_s?)
        },
        compared: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "driver CPU",
        unit: "µs each",
        of: |sample| {
            let all = transactions(sample)?;
            all.per_transaction(1e6 * all.processor_time.as_ref()?.driver_s?)
        },
        ..PLAIN
    },
    TransactionFigure {
        name: "all CPU",
        unit: "µs each",
        of: |sample| transactions(sample)?.processor_us(),
        ..PLAIN
    },
    TransactionFigure {
        name: "device share of time",
        unit: "%",
        of: |sample| per_cent(sample.device_share()),
        more: true,
        compared: true,
        drawn: true,
    },
    TransactionFigure {
        name: "latency, mean",
        unit: "ms",
        of: |sample| transactions(sample)?.response_ms(),
        compared: true,
        drawn: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "latency, 95%",
        unit: "ms",
        of: |sample| Some(transactions(sample)?.response.percentile_ns(95.0)? as f64 / 1e6),
        ..PLAIN
    },
    TransactionFigure {
        name: "device reads",
        unit: "1/s",
        of: |sample| Some(sample.device_rates()?.reads),
        drawn: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "device read size",
        unit: "KiB",
        of: |sample| {
            let device = device(sample)?;
            kib_each(device.read_bytes, device.reads)
        },
        ..PLAIN
    },
    TransactionFigure {
        name: "device writes",
        unit: "1/s",
        of: |sample| Some(sample.device_rates()?.writes),
        drawn: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "device write size",
        unit: "KiB",
        of: |sample| {
            let device = device(sample)?;
            kib_each(device.written_bytes, device.writes)
        },
        ..PLAIN
    },
    TransactionFigure {
        name: "device flushes",
        unit: "1/s",
        of: |sample| Some(sample.device_rates()?.flushes),
        ..PLAIN
    },
    TransactionFigure {
        name: "buffer hits",
        unit: "%",
        of: |sample| per_cent(transactions(sample)?.buffer_hit_ratio),
        ..PLAIN
    },
    TransactionFigure {
        name: "messages",
        unit: "each",
        of: |sample| each(sample, DatabaseCounter::Messages),
        ..PLAIN
    },
    TransactionFigure {
        name: "statements",
        unit: "each",
        of: |sample| each(sample, DatabaseCounter::Statements),
        ..PLAIN
    },
    TransactionFigure {
        name: "log writes",
        unit: "each",
        of: |sample| transactions(sample)?.log_writes,
        drawn: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "log flushes",
        unit: "each",
        of: |sample| transactions(sample)?.log_flushes,
        ..PLAIN
    },
    TransactionFigure {
        name: "log",
        unit: "KiB each",
        of: |sample| Some(transactions(sample)?.log_bytes? / 1024.0),
        drawn: true,
        ..PLAIN
    },
    TransactionFigure {
        name: "whole pages in the log",
        unit: "each",
        of: |sample| each(sample, DatabaseCounter::WalFullPages),
        ..PLAIN
    },
    TransactionFigure {
        name: "checkpoints",
        unit: "",
        of: |sample| count(sample, DatabaseCounter::Checkpoints),
        ..PLAIN
    },
    TransactionFigure {
        name: "deadlocks",
        unit: "",
        of: |sample| count(sample, DatabaseCounter::Deadlocks),
        ..PLAIN
    },
    TransactionFigure {
        name: "temporary files",
        unit: "",
        of: |sample| count(sample, DatabaseCounter::TemporaryFiles),
        ..PLAIN
    },
];

fn transactions(sample: &Sample) -> Option<&TransactionFigures> {
    sample.transactions.as_ref()
}

fn device(sample: &Sample) -> Option<&DeviceUse> {
    sample.evidence.as_ref()?.device.as_ref()
}

fn kib_each(bytes: Bytes, count: u64) -> Option<f64> {
    (count > 0).then(|| bytes.get() as f64 / 1024.0 / count as f64)
}

/// Returns the count of a counter in a repeat.
fn count(sample: &Sample, counter: DatabaseCounter) -> Option<f64> {
    Some(transactions(sample)?.counters.get(counter)? as f64)
}

/// Returns the count of a counter per transaction.
fn each(sample: &Sample, counter: DatabaseCounter) -> Option<f64> {
    transactions(sample)?.per_transaction(count(sample, counter)?)
}

fn us(ns: Option<f64>) -> Option<f64> {
    ns.map(|ns| ns / 1e3)
}

fn per_cent(share: Option<f64>) -> Option<f64> {
    share.map(|share| 100.0 * share)
}

/// Transaction tests to compare, in groups with names.
pub(crate) type TestGroups<'a> = Vec<(String, Vec<(&'a str, &'a TestResult)>)>;

/// Groups the transaction tests by name. If no name occurs in two runs and each run has only one transaction test, all
/// tests form one group.
pub(crate) fn groups<'a>(runs: &[(&'a str, &'a RunResult)]) -> TestGroups<'a> {
    let mut groups: TestGroups<'a> = Vec::new();
    for (label, run) in runs {
        for test in run.tests.iter().filter(|test| test.has_transactions()) {
            match groups.iter_mut().find(|(name, _)| *name == test.test.name) {
                Some((_, members)) => members.push((label, test)),
                None => groups.push((test.test.name.clone(), vec![(label, test)])),
            }
        }
    }
    let transaction_tests =
        |run: &RunResult| run.tests.iter().filter(|test| test.has_transactions()).count();
    let alone = groups.iter().all(|(_, members)| members.len() == 1);
    if alone && groups.len() > 1 && runs.iter().all(|(_, run)| transaction_tests(run) <= 1) {
        let names: Vec<String> = groups.iter().map(|(name, _)| name.clone()).collect();
        let members = groups.into_iter().flat_map(|(_, members)| members).collect();
        return vec![(names.join(" · "), members)];
    }
    groups
}

/// Builds the table that compares the figures of tests, each with its spread if that is known.
pub(crate) fn table(tests: &[(&str, &TestResult)]) -> Table {
    let mut columns = vec![Column::name("figure"), Column::text("")];
    for (label, _) in tests {
        columns.extend([Column::number(label, ""), Column::number("spread", "").optional(1)]);
    }
    let mut table = Table::new(columns);
    for figure in &FIGURES {
        let cells: Vec<Cell> = tests
            .iter()
            .flat_map(|(_, test)| {
                let found = test.over_samples(figure.of).unwrap_or_default();
                let value = or_absent(known_value(&found), significant);
                [Cell::plain(value), Cell::inked(spread(&found), CellEmphasis::Faint)]
            })
            .collect();
        if cells.iter().any(|cell| cell.text != ABSENT) {
            let mut row =
                vec![Cell::plain(figure.name), Cell::inked(figure.unit, CellEmphasis::Faint)];
            row.extend(cells);
            table.push(row);
        }
    }
    table.without_empty_columns()
}

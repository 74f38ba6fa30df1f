//! Writes a result as Iometer's results file: comma-separated rows with 80 columns.
//!
//! A test has three rows, as if one manager on one machine had run it: `ALL`, `MANAGER`, and a `WORKER` for all of its
//! threads. All repeats of a test form one run. Response times are in ms, and raw times are in ns. The last 21 columns
//! contain the number of requests by latency.
//!
//! Columns for values that a result does not contain (transactions, connections, errors, the network) are 0, as in
//! Iometer's own files.

use std::fmt::Write as _;

use lanemark_schema::result::{DirectionResult, LatencyHistogram, RunResult, Sample, TestResult};
use lanemark_schema::text::is_shown;
use lanemark_schema::units::Duration;

/// The columns in three groups: figures, raw counters, and properties of the machine.
const COLUMNS: [&str; 59] = [
    "'Target Type",
    "Target Name",
    "Access Specification Name",
    "# Managers",
    "# Workers",
    "# Disks",
    "IOps",
    "Read IOps",
    "Write IOps",
    "MiBps (Binary)",
    "Read MiBps (Binary)",
    "Write MiBps (Binary)",
    "MBps (Decimal)",
    "Read MBps (Decimal)",
    "Write MBps (Decimal)",
    "Transactions per Second",
    "Connections per Second",
    "Average Response Time",
    "Average Read Response Time",
    "Average Write Response Time",
    "Average Transaction Time",
    "Average Connection Time",
    "Maximum Response Time",
    "Maximum Read Response Time",
    "Maximum Write Response Time",
    "Maximum Transaction Time",
    "Maximum Connection Time",
    "Errors",
    "Read Errors",
    "Write Errors",
    "Bytes Read",
    "Bytes Written",
    "Read I/Os",
    "Write I/Os",
    "Connections",
    "Transactions per Connection",
    "Total Raw Read Response Time",
    "Total Raw Write Response Time",
    "Total Raw Transaction Time",
    "Total Raw Connection Time",
    "Maximum Raw Read Response Time",
    "Maximum Raw Write Response Time",
    "Maximum Raw Transaction Time",
    "Maximum Raw Connection Time",
    "Total Raw Run Time",
    "Starting Sector",
    "Maximum Size",
    "Queue Depth",
    "% CPU Utilization",
    "% User Time",
    "% Privileged Time",
    "% DPC Time",
    "% Interrupt Time",
    "Processor Speed",
    "Interrupts per Second",
    "CPU Effectiveness",
    "Packets/Second",
    "Packet Errors",
    "Segments Retransmitted/Second",
];

/// The latency classes: the name of each, and its upper end in µs.
const CLASSES: [(&str, u64); 21] = [
    ("0 to 50 uS", 50),
    ("50 to 100 uS", 100),
    ("100 to 200 uS", 200),
    ("200 to 500 uS", 500),
    ("0.5 to 1 mS", 1_000),
    ("1 to 2 mS", 2_000),
    ("2 to 5 mS", 5_000),
    ("5 to 10 mS", 10_000),
    ("10 to 15 mS", 15_000),
    ("15 to 20 mS", 20_000),
    ("20 to 30 mS", 30_000),
    ("30 to 50 mS", 50_000),
    ("50 to 100 mS", 100_000),
    ("100 to 200 mS", 200_000),
    ("200 to 500 mS", 500_000),
    ("0.5 to 1 S", 1_000_000),
    ("1 to 2 s", 2_000_000),
    ("2 to 4.7 s", 4_700_000),
    ("4.7 to 5 s", 5_000_000),
    ("5 to 10 s", 10_000_000),
    (" >= 10 s", u64::MAX),
];

/// Returns the result as Iometer's results file.
pub fn write(run: &RunResult) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "'Test Type,Test Description\n0,{}", cell(&run.workload.name));
    let _ = writeln!(out, "'Version\n1.1.0");
    let _ = writeln!(out, "'Time Stamp\n{}", run.provenance.started_at);
    let _ = writeln!(out, "'Results");
    let classes = CLASSES.iter().map(|(name, _)| *name);
    let columns: Vec<&str> = COLUMNS.into_iter().chain(classes).collect();
    let _ = writeln!(out, "{}", columns.join(","));
    for result in &run.tests {
        let figures = TestFigures::of(result);
        for row in [RowKind::All, RowKind::Manager, RowKind::Worker] {
            let _ = writeln!(out, "{}", figures.row(row));
        }
    }
    let _ = writeln!(out, "'Time Stamp\n{}", run.provenance.finished_at);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowKind {
    All,
    Manager,
    Worker,
}

/// The figures of all repeats of a test.
struct TestFigures<'r> {
    result: &'r TestResult,
    elapsed: Duration,
    reads: DirectionResult,
    writes: DirectionResult,
    both: LatencyHistogram,
}

impl<'r> TestFigures<'r> {
    fn of(result: &'r TestResult) -> Self {
        let merged_direction = |of: fn(&Sample) -> &Option<DirectionResult>| {
            let mut sum = DirectionResult::new();
            for direction in result.samples.iter().filter_map(|sample| of(sample).as_ref()) {
                sum.bytes += direction.bytes;
                sum.latency.merge(&direction.latency);
            }
            sum
        };
        Self {
            elapsed: result.samples.iter().map(|sample| sample.elapsed).sum(),
            reads: merged_direction(|sample| &sample.reads),
            writes: merged_direction(|sample| &sample.writes),
            both: result.latency(),
            result,
        }
    }

    fn row(&self, row: RowKind) -> String {
        let test = &self.result.test;
        let seconds = self.elapsed.as_seconds();
        let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let real = |value: f64| format!("{value:.6}");
        let (reads, writes) = (&self.reads, &self.writes);
        let sides = [&self.both, &reads.latency, &writes.latency];
        let bytes = [reads.bytes + writes.bytes, reads.bytes, writes.bytes];
        let mut cells: Vec<String> = Vec::new();
        let (kind, name) = match row {
            RowKind::All => ("ALL", "All".to_owned()),
            RowKind::Manager => ("MANAGER", "Lanemark".to_owned()),
            RowKind::Worker => ("WORKER", cell(&test.name)),
        };
        cells.extend([kind.to_owned(), name, cell(&test.name)]);
        let cell_if = |there: bool, value: String| if there { value } else { String::new() };
        cells.push(cell_if(row == RowKind::All, "1".to_owned()));
        cells.push(cell_if(row != RowKind::Worker, test.threads.to_string()));
        cells.push("1".to_owned());
        cells.extend(sides.map(|side| real(rate(side.count() as f64))));
        cells.extend(bytes.map(|bytes| real(rate(bytes.get() as f64 / f64::from(1 << 20)))));
        cells.extend(bytes.map(|bytes| real(rate(bytes.get() as f64 / 1e6))));
        cells.extend([0.0, 0.0].map(real));
        cells.extend(sides.map(|side| real(side.mean_ns() / 1e6)));
        cells.extend([0.0, 0.0].map(real));
        cells.extend(sides.map(|side| real(side.max_ns().unwrap_or(0) as f64 / 1e6)));
        cells.extend([0.0, 0.0].map(real));
        cells.extend(["0"; 3].map(str::to_owned));
        cells.extend([reads.bytes, writes.bytes].map(|bytes| bytes.get().to_string()));
        cells.extend([reads, writes].map(|side| side.latency.count().to_string()));
        cells.extend(["0", "1"].map(str::to_owned));
        match row {
            RowKind::All => cells.extend([const { String::new() }; 9]),
            _ => cells.extend(self.raw()),
        }
        // The size of a target is in sectors, as in the settings.
        cells.push((test.offset.get() / 512).to_string());
        cells.push((test.span.get() / 512).to_string());
        cells.push(test.queue_depth().to_string());
        match row {
            RowKind::Worker => cells.extend([const { String::new() }; 5]),
            _ => cells.extend(self.processors().map(real)),
        }
        cells.push(cell_if(row != RowKind::All, real(0.0)));
        match row {
            RowKind::Worker => cells.extend([const { String::new() }; 5]),
            _ => cells.extend([0.0; 5].map(real)),
        }
        cells.extend(classes(&self.both).map(|count| count.to_string()));
        cells.join(",")
    }

    fn raw(&self) -> [String; 9] {
        let sum = |side: &DirectionResult| {
            (side.latency.mean_ns() * side.latency.count() as f64).round() as u64
        };
        let maximum = |side: &DirectionResult| side.latency.max_ns().unwrap_or(0);
        let (reads, writes) = (&self.reads, &self.writes);
        [
            sum(reads),
            sum(writes),
            0,
            0,
            maximum(reads),
            maximum(writes),
            0,
            0,
            self.elapsed.nanoseconds(),
        ]
        .map(|value| value.to_string())
    }

    /// Returns percentages of all processors: in use, by programs, by the kernel, by deferred calls, and by interrupts.
    fn processors(&self) -> [f64; 5] {
        let mut sum = [0.0; 5];
        let uses = self.result.samples.iter();
        let uses = uses.filter_map(|sample| sample.evidence.as_ref()?.processors);
        let mut count = 0.0;
        for usage in uses.filter(|usage| usage.cores > 0) {
            let share = |cores: f64| 100.0 * cores / f64::from(usage.cores);
            let busy = usage.user + usage.system + usage.interrupts;
            let shares = [busy, usage.user, usage.system, 0.0, usage.interrupts].map(share);
            for (sum, value) in sum.iter_mut().zip(shares) {
                *sum += value;
            }
            count += 1.0;
        }
        sum.map(|value| if count > 0.0 { value / count } else { 0.0 })
    }
}

fn classes(histogram: &LatencyHistogram) -> [u64; 21] {
    let mut counts = [0; 21];
    for (latency, count) in histogram.bins() {
        let class = CLASSES.iter().position(|(_, end)| latency < end.saturating_mul(1_000));
        counts[class.unwrap_or(CLASSES.len() - 1)] += count;
    }
    counts
}

/// Returns the text without the characters that would end a column or a row.
fn cell(text: &str) -> String {
    text.chars()
        .map(|letter| if letter == ',' || !is_shown(letter) { ';' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests;

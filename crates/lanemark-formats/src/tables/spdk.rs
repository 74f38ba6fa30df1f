//! The table of `spdk_nvme_perf`: requests a second, MiB/s and latencies in µs of each device on each core.
//!
//! The table states neither the direction nor the depth of the requests, which are read from the command line if the
//! text contains it. Each row is a test, and so is the sum of several rows.

use lanemark_schema::result::{LatencyHistogram, Sample, Warning};
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::Pattern;

use crate::error::{FormatError, shown};
use crate::stated::{RATES_FOR, ReportedRun, ReportedTest, direction, nanoseconds, of_mean, time};
use crate::words::{number, whole_number};

/// Maximum number of words of a command line that are read.
const WORDS_MAX: usize = 1000;
/// Maximum number of percentiles that are read; the program prints 17.
const PERCENTILES_MAX: usize = 100;

/// The settings of a command line.
#[derive(Clone, Debug, Default)]
struct CommandSettings {
    block: Option<Bytes>,
    depth: Option<u32>,
    seconds: Option<f64>,
    kind: Option<String>,
    read_percent: Option<f64>,
}

/// A row of the table.
struct Row<'t> {
    name: &'t str,
    iops: f64,
    mib: f64,
    mean_us: f64,
    min_us: f64,
    max_us: f64,
}

/// Returns whether the text contains the table.
pub(super) fn is_ours(text: &str) -> bool {
    text.lines().any(is_head)
}

fn is_head(line: &str) -> bool {
    line.trim_start().starts_with("Device Information") && line.contains("Average")
}

pub(super) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    let mut run = ReportedRun::new(file, "spdk_nvme_perf");
    run.direct = Some(true);
    let settings = text.lines().find_map(CommandSettings::read).unwrap_or_default();
    let stated = settings.seconds.filter(|seconds| *seconds >= 1.0);
    let stated = stated.and_then(|seconds| time(seconds, 1.0).ok());
    let elapsed = stated.unwrap_or(RATES_FOR);
    let mut rows: Vec<(u64, Row<'_>)> = Vec::new();
    let mut in_table = false;
    for (index, line) in text.lines().enumerate() {
        in_table |= is_head(line);
        if let Some(row) = row(line).filter(|_| in_table) {
            in_table = row.name != "Total";
            rows.push((index as u64 + 1, row));
        }
    }
    // The sum repeats the row of a single device.
    let devices = rows.iter().filter(|(_, row)| row.name != "Total").count();
    if devices == 1 {
        rows.retain(|(_, row)| row.name != "Total");
        run.path = rows.first().map(|(_, row)| shown(device(row.name)));
    }
    let percentiles = if devices == 1 { percentiles(text) } else { Vec::new() };
    for (line, row) in &rows {
        let wrong = |message: String| FormatError::at(file, *line, message);
        let seconds = elapsed.as_seconds();
        let ns = |us: f64| nanoseconds(us, 1e3);
        let histogram = |count: u64| match (ns(row.mean_us), ns(row.min_us), ns(row.max_us)) {
            (Some(mean), Some(min), Some(max)) if !percentiles.is_empty() && mean > 0.0 => {
                let least = min.min(mean).floor() as u64;
                let most = max.max(mean).ceil() as u64;
                LatencyHistogram::from_percentiles(percentiles.clone(), count, mean, least, most)
            }
            (mean, min, max) => of_mean(count, mean, min, max),
        };
        let bytes = row.mib * 1_048_576.0 * seconds;
        let count = row.iops * seconds;
        let bytes = match settings.block {
            Some(block) => block.get() as f64 * count,
            None => bytes,
        };
        let side = direction(bytes, count, histogram).map_err(wrong)?;
        let mut sample = Sample { elapsed, ..Sample::empty() };
        match settings.kind.as_deref() {
            Some("read" | "randread") => sample.reads = side,
            Some("write" | "randwrite") => sample.writes = side,
            _ => sample.unified = side,
        }
        run.add(ReportedTest { duration: stated, ..settings.test(row.name, sample) })?;
    }
    let program = "spdk_nvme_perf".to_owned();
    run.warnings.push(Warning::RatesOnly { program, time: elapsed });
    if settings.kind.is_none() {
        let note = "the table does not state whether the requests read or wrote";
        run.warnings.push(Warning::Imported { note: note.to_owned() });
    }
    Ok(run)
}

/// Reads a row such as `PCIE (0000:06:00.0) NSID 1 from core  0:  652439.48  2548.59  49.03  5.12  1617.14`.
fn row(line: &str) -> Option<Row<'_>> {
    let (name, values) = line.trim().rsplit_once(": ").or(line.trim().rsplit_once(':'))?;
    let values: Vec<f64> = values
        .split_whitespace()
        .take(6)
        .map(|value| number(value).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value))
        .collect::<Option<_>>()?;
    let &[iops, mib, mean_us, min_us, max_us] = values.as_slice() else { return None };
    Some(Row { name: name.trim(), iops, mib, mean_us, min_us, max_us })
}

/// Returns the name of the device in the name of a row.
fn device(name: &str) -> &str {
    name.split_once(" from core").map_or(name, |(device, _)| device).trim()
}

/// Returns the percentiles of `-L`, in lines such as ` 99.00000% :    78.336us`.
fn percentiles(text: &str) -> Vec<(f64, u64)> {
    let mut all: Vec<(f64, u64)> = Vec::new();
    let lines =
        text.lines().skip_while(|line| !line.trim_start().starts_with("Summary latency data"));
    for line in lines {
        let Some((percent, latency)) = line.trim().split_once("% :") else { continue };
        let both = percent.trim().parse::<f64>().ok().zip(
            number(latency)
                .filter(|(_, unit)| *unit == "us")
                .and_then(|(us, _)| nanoseconds(us, 1e3)),
        );
        if let Some((percent, ns)) = both.filter(|(percent, _)| *percent > 0.0 && *percent < 100.0)
            && all.last().is_none_or(|(last, _)| *last < percent)
            && all.len() < PERCENTILES_MAX
        {
            all.push((percent, ns as u64));
        }
    }
    all
}

impl CommandSettings {
    /// Reads a line that contains a command line of the program.
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().take(WORDS_MAX).collect();
        let is_program = |word: &&str| {
            ["spdk_nvme_perf", "perf"].contains(&word.rsplit('/').next().unwrap_or_default())
        };
        let start = words.iter().position(is_program)?;
        let mut settings = Self::default();
        let mut rest = words[start + 1..].iter();
        while let Some(word) = rest.next() {
            let (name, mut value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (*word, None),
            };
            let mut next = || value.take().or_else(|| rest.next().copied()).unwrap_or_default();
            match name {
                "-q" | "--io-depth" => {
                    settings.depth = whole_number(next()).filter(|depth| *depth > 0);
                }
                "-o" | "--io-size" => {
                    let bytes =
                        whole_number(next()).filter(|bytes| (512..=67_108_864).contains(bytes));
                    settings.block = bytes.map(|bytes| Bytes(u64::from(bytes)));
                }
                "-w" | "--io-pattern" => settings.kind = Some(next().to_owned()),
                "-M" | "--rwmixread" => {
                    settings.read_percent = number(next()).map(|(percent, _)| percent);
                }
                "-t" | "--time" => settings.seconds = number(next()).map(|(seconds, _)| seconds),
                _ => {}
            }
        }
        let known = ["read", "write", "randread", "randwrite", "rw", "randrw"];
        let is_known = settings.kind.as_deref().is_some_and(|kind| known.contains(&kind));
        is_known.then_some(settings)
    }

    /// Returns the test of a row.
    fn test(&self, name: &str, sample: Sample) -> ReportedTest {
        let mut test = ReportedTest::new(shown(name), sample);
        let Some(kind) = &self.kind else { return test };
        test.pattern =
            Some(if kind.starts_with("rand") { Pattern::Uniform } else { Pattern::Sequential });
        test.read_share = match kind.trim_start_matches("rand") {
            "read" => Some(Ratio::ONE),
            "write" => Some(Ratio::ZERO),
            _ => self.read_percent.and_then(|percent| Ratio::new(percent / 100.0)),
        };
        test.queue_depth = self.depth;
        test.block = self.block;
        test.threads = Some(1).filter(|_| name != "Total");
        test
    }
}

//! The table of elbencho: one phase after another, each with rows for the first and for the last finished thread.
//!
//! The column of the last thread is read, because it covers the whole phase. Rates are whole numbers, so the number of
//! requests is computed from the rate, the time and the amount of data. The settings come from the command line, if the
//! text contains it.

use lanemark_schema::result::{LatencyHistogram, Sample};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::Pattern;

use crate::error::{FormatError, shown};
use crate::stated::{ReportedRun, ReportedTest, direction, nanoseconds, of_mean, requests, time};
use crate::words::{number, size, whole_number};

/// Maximum number of words of a command line that are read.
const WORDS_MAX: usize = 1000;
/// Maximum number of percentiles of a phase.
const PERCENTILES_MAX: usize = 100;

/// The settings of a command line.
#[derive(Clone, Debug, Default)]
struct CommandSettings {
    block: Option<Bytes>,
    threads: Option<u32>,
    depth: Option<u32>,
    random: bool,
    direct: bool,
}

/// The rows of a phase.
#[derive(Debug, Default)]
struct Phase {
    line: u64,
    name: String,
    elapsed: Option<Duration>,
    iops: Option<f64>,
    files: Option<f64>,
    throughput_mib: Option<f64>,
    total_mib: Option<f64>,
    /// Minimum, mean and maximum in ns.
    latency: Option<(f64, f64, f64)>,
    percentiles: Vec<(f64, u64)>,
}

/// Returns whether the text contains a table of elbencho.
pub(super) fn is_ours(text: &str) -> bool {
    let is_head = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().take(7).collect();
        words == ["OPERATION", "RESULT", "TYPE", "FIRST", "DONE", "LAST", "DONE"]
    };
    text.lines().any(is_head)
}

pub(super) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    let mut run = ReportedRun::new(file, "elbencho");
    let mut command: Option<CommandSettings> = None;
    let mut phase: Option<Phase> = None;
    let mut skipped = 0_usize;
    let mut of_files = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(settings) = CommandSettings::read(line) {
            run.direct = Some(settings.direct);
            command = Some(settings);
            continue;
        }
        let Some((head, values)) = line.split_once(" : ").or(line.split_once(": [")) else {
            continue;
        };
        let begins = line.starts_with(|letter: char| letter.is_ascii_uppercase());
        if begins {
            finish(phase.take(), command.as_ref(), &mut run, &mut skipped, &mut of_files)?;
            let (name, _) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
            phase = Some(Phase { line: index as u64 + 1, name: shown(name), ..Phase::default() });
        }
        let Some(phase) = &mut phase else { continue };
        let label = if begins {
            head.split_once(char::is_whitespace).map_or("", |(_, rest)| rest)
        } else {
            head
        };
        phase
            .row(label.trim(), values)
            .map_err(|message| FormatError::at(file, index as u64 + 1, message))?;
    }
    finish(phase, command.as_ref(), &mut run, &mut skipped, &mut of_files)?;
    run.note("numbers of requests are computed from whole rates and times");
    if skipped > 0 {
        run.note(&format!("phases that transfer no data are omitted: {skipped}"));
    }
    if of_files {
        run.note("phases without IOPS are counted by files");
    }
    Ok(run)
}

/// Adds the test of a phase.
fn finish(
    phase: Option<Phase>,
    command: Option<&CommandSettings>,
    run: &mut ReportedRun,
    skipped: &mut usize,
    of_files: &mut bool,
) -> Result<(), FormatError> {
    let Some(phase) = phase else { return Ok(()) };
    let is_read = phase.name == "READ";
    if !is_read && phase.name != "WRITE" {
        *skipped += 1;
        return Ok(());
    }
    *of_files |= phase.iops.is_none();
    let wrong = |message: String| FormatError::at(&run.file, phase.line, message);
    let sample = phase.sample(command, is_read).map_err(wrong)?;
    let mut test = ReportedTest::new(phase.name.to_ascii_lowercase(), sample);
    test.read_share = Some(if is_read { Ratio::ONE } else { Ratio::ZERO });
    if let Some(command) = command {
        test.pattern = Some(if command.random { Pattern::Uniform } else { Pattern::Sequential });
        test.block = command.block.filter(|_| phase.iops.is_some());
        test.threads = Some(command.threads.unwrap_or(1));
        test.queue_depth = Some(command.depth.unwrap_or(1));
    }
    run.add(test)
}

impl Phase {
    /// Reads a row. Rows that are not needed are skipped.
    fn row(&mut self, label: &str, values: &str) -> Result<(), String> {
        if label.starts_with("IO lat") {
            return self.latencies(label, values);
        }
        let last = || values.split_whitespace().last().unwrap_or_default();
        let figure = || {
            let (figure, rest) = number(last())?;
            rest.is_empty().then_some(figure)
        };
        let wrong = || format!("{label}: `{}` is not a number", shown(last()));
        match label {
            "Elapsed ms" => self.elapsed = Some(time(figure().ok_or_else(wrong)?, 1e-3)?),
            "Elapsed time" => {
                let seconds =
                    seconds(last()).ok_or_else(|| format!("`{}` is not a time", shown(last())))?;
                self.elapsed = Some(time(seconds, 1.0)?);
            }
            "IOPS" => self.iops = Some(figure().ok_or_else(wrong)?),
            "Files total" | "Objects total" => self.files = Some(figure().ok_or_else(wrong)?),
            "Throughput MiB/s" => self.throughput_mib = Some(figure().ok_or_else(wrong)?),
            "Total MiB" => self.total_mib = Some(figure().ok_or_else(wrong)?),
            _ => {}
        }
        Ok(())
    }

    /// Reads `[ min=91 avg=120 max=1583 ]` or `[ 1%<=64 50%<=128 ]`.
    fn latencies(&mut self, label: &str, values: &str) -> Result<(), String> {
        let unit = if label.ends_with(" us") { Some(1e3) } else { None };
        let latency = |text: &str| {
            let (value, rest) = number(text)?;
            let ns_per_unit = match rest {
                "" => unit?,
                "us" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                _ => return None,
            };
            nanoseconds(value, ns_per_unit)
        };
        let words = || values.trim_matches(['[', ']', ' ']).split_whitespace();
        if label.contains('%') {
            for word in words().take(PERCENTILES_MAX) {
                let both = word
                    .split_once("%<=")
                    .and_then(|(percent, at)| Some((percent.parse().ok()?, latency(at)?)))
                    .filter(|(percent, _): &(f64, f64)| {
                        (0.0..100.0).contains(percent) && *percent > 0.0
                    });
                let (percent, ns) =
                    both.ok_or_else(|| format!("`{}` is not a percentile", shown(word)))?;
                if self.percentiles.last().is_none_or(|(last, _)| *last < percent) {
                    self.percentiles.push((percent, ns as u64));
                }
            }
        } else if label.starts_with("IO latency") {
            let value = |name: &str| words().find_map(|word| latency(word.strip_prefix(name)?));
            self.latency = value("min=")
                .zip(value("avg="))
                .zip(value("max="))
                .map(|((min, mean), max)| (min, mean, max));
        }
        Ok(())
    }

    fn sample(&self, command: Option<&CommandSettings>, is_read: bool) -> Result<Sample, String> {
        let elapsed = self.elapsed.ok_or("the phase does not state its time")?;
        let seconds = elapsed.as_seconds();
        let by_rate = |rate: f64| rate * seconds;
        let mib = self.total_mib.or(self.throughput_mib.map(by_rate));
        let bytes = mib.ok_or("the phase states neither throughput nor amount")? * 1_048_576.0;
        let block = command.and_then(|command| command.block).map(|block| block.get() as f64);
        let count = match (self.iops, block) {
            (Some(_), Some(block)) => (bytes / block).round(),
            (Some(iops), None) => requests(bytes, iops, elapsed),
            (None, _) => self.files.ok_or("the phase states neither IOPS nor files")?,
        };
        let side = direction(bytes, count, |count| self.histogram(count))?;
        let mut sample = Sample { elapsed, ..Sample::empty() };
        if is_read {
            sample.reads = side;
        } else {
            sample.writes = side;
        }
        Ok(sample)
    }

    fn histogram(&self, count: u64) -> LatencyHistogram {
        match self.latency {
            Some((min, mean, max)) if !self.percentiles.is_empty() && mean > 0.0 && max > 0.0 => {
                let least = min.min(mean).floor() as u64;
                let most = max.max(mean).ceil() as u64;
                LatencyHistogram::from_percentiles(
                    self.percentiles.clone(),
                    count,
                    mean,
                    least,
                    most,
                )
            }
            Some((min, mean, max)) => of_mean(count, Some(mean), Some(min), Some(max)),
            None => of_mean(count, None, None, None),
        }
    }
}

impl CommandSettings {
    /// Reads a line that contains a command line of elbencho.
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> =
            line.split_whitespace().take(WORDS_MAX).map(|word| word.trim_matches('"')).collect();
        let is_program = |word: &&str| *word == "elbencho" || word.ends_with("/elbencho");
        let start = words.iter().position(is_program)?;
        let mut settings = Self::default();
        let mut rest = words[start + 1..].iter();
        let mut any = false;
        while let Some(word) = rest.next() {
            let (name, mut value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (*word, None),
            };
            any |= name.starts_with('-');
            let mut next = || value.take().or_else(|| rest.next().copied());
            match name {
                "-b" | "--block" => settings.block = next().and_then(block),
                "-t" | "--threads" => settings.threads = next().and_then(whole_number),
                "--iodepth" => settings.depth = next().and_then(whole_number),
                "--rand" => settings.random = true,
                "--direct" => settings.direct = true,
                _ => {}
            }
        }
        any.then_some(settings)
    }
}

/// Returns a block size such as `4K` or `1048576`, in powers of 1024.
fn block(text: &str) -> Option<Bytes> {
    let plain = text.parse::<f64>().ok().filter(|bytes| bytes.is_finite());
    let bytes = plain.or_else(|| Some(size(text, false)?.0))?;
    (512.0..=67_108_864.0).contains(&bytes).then_some(Bytes(bytes as u64))
}

/// Returns the seconds in a time such as `2m5.755s`, `82ms` or `1h0m3s`.
fn seconds(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let (value, after) = number(rest)?;
        let (factor, length) = match after {
            _ if after.starts_with("ms") => (1e-3, 2),
            _ if after.starts_with("us") => (1e-6, 2),
            _ if after.starts_with('h') => (3600.0, 1),
            _ if after.starts_with('m') => (60.0, 1),
            _ if after.starts_with('s') => (1.0, 1),
            _ => return None,
        };
        sum += value * factor;
        rest = &after[length..];
    }
    (!text.is_empty()).then_some(sum)
}

//! Reads fio's normal output: one line per job with its options, then the figures of each job.
//!
//! ```text
//! a: (g=0): rw=randread, bs=(R) 4096B-4096B, …, ioengine=libaio, iodepth=32
//! a: (groupid=0, jobs=1): err= 0: pid=1: Mon Jul  3 22:30:33 2023
//!   read: IOPS=9999, BW=39.1MiB/s (41.0MB/s)(391MiB/10001msec)
//!     clat (usec): min=60, max=900, avg=95.10, stdev=20.00
//!     clat percentiles (usec):
//!      |  1.00th=[   70], 50.00th=[   92]
//!      issued rwts: total=100000,0,0,0 short=0,0,0,0 dropped=0,0,0,0
//! ```
//!
//! Version 2 prints `read : io=1024.0MB, bw=150208KB/s, iops=37552, runt=  6981msec`, and its KB are 1024 bytes.
//! The line `issued` contains the numbers of requests; if all requests have the same size, the bytes are computed from
//! these. With `--status-interval`, the figures are repeated, and only the last figures are used.
//!
//! The output does not state the path and size of the target, whether the page cache was bypassed, or the kind of
//! random offsets, which are assumed to be independent.

use std::collections::{HashMap, HashSet};

use lanemark_schema::result::{Sample, Warning};
use lanemark_schema::units::Duration;

use super::options::PrintedOptions;
use super::parts::{
    Latencies, SNAPSHOTS, add_clone, errors, parse_issued_counts, preferred_latencies,
    submission_ns,
};
use crate::error::{FormatError, shown};
use crate::phases::{PHASES, split_phases};
use crate::stated::{ReportedRun, ReportedTest, cpu, direction, nanoseconds, time};
use crate::words::{number, scaled_number, size, whole_number};

/// Maximum number of jobs in a run, including their clones.
const JOBS_MAX: usize = 100_000;
/// The index of the sum of reads and writes among the directions of an entry.
const MIXED: usize = 3;
/// Maximum relative difference between the bytes of all requests and the printed size that rounding can explain.
const ROUNDED: f64 = 0.02;
/// Maximum time in which fio prints the jobs of one run, in seconds.
const PRINTING: u32 = 2;
/// Maximum deviation of the sum of the depths' shares from 1 that rounding can explain.
const DEPTHS_ROUNDED: f64 = 0.005;

/// The figures of a direction, before the number of its requests is known.
#[derive(Clone, Debug, Default)]
struct DirectionFigures {
    bytes: f64,
    /// Maximum number of bytes that the printed size lacks because its decimals were cut.
    lost: f64,
    elapsed: Duration,
    iops: f64,
    completion: Latencies,
    whole: Latencies,
}

/// The kinds of latency to which a line of percentiles can belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LatencyKind {
    Submission,
    Completion,
    Whole,
    Flush,
}

/// The figures of one entry, which begins with a line such as `a: (groupid=0, jobs=1): err= 0`.
#[derive(Debug, Default)]
struct JobEntry {
    line: u64,
    name: String,
    group: u32,
    jobs: u32,
    errno: u32,
    pid: String,
    date: String,
    /// Reads, writes, trims, and the sum of reads and writes.
    sides: [Option<DirectionFigures>; 4],
    flushes: Option<Latencies>,
    /// Number of issued reads, writes, trims and flushes.
    issued: Option<[f64; 4]>,
    /// The sum of the shares of all depths in the line `IO depths`, in per cent of the reads, writes and trims.
    depths: Option<f64>,
    cpu: Option<(f64, f64)>,
}

/// Returns whether a line begins an entry of fio's normal output.
pub(crate) fn is_ours(text: &str) -> bool {
    text.lines().any(|line| entry(line, 1).is_some())
}

/// Reads the text. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error with the line number if a figure cannot be read.
pub(crate) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    let version = text.lines().map(str::trim).find(|line| is_version(line)).unwrap_or("fio");
    let mut run = ReportedRun::new(file, version);
    let mut reader = NormalOutputReader::default();
    for (index, line) in text.lines().enumerate() {
        reader
            .line(line.trim_end(), index as u64 + 1, &mut run)
            .map_err(|(line, message)| FormatError::at(file, line, message))?;
    }
    reader.end_run(&mut run).map_err(|(line, message)| FormatError::at(file, line, message))?;
    if reader.snapshots > 0 {
        run.note(SNAPSHOTS);
    }
    if !reader.date.is_empty() {
        run.note_local_time(&reader.date);
    }
    let mut engines = reader.engines;
    engines.sort();
    engines.dedup();
    run.engine = (!engines.is_empty()).then(|| engines.join(" and "));
    Ok(run)
}

fn is_version(line: &str) -> bool {
    line.strip_prefix("fio-").is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit()))
}

type LineError = (u64, String);

#[derive(Default)]
struct NormalOutputReader {
    options: Vec<PrintedOptions>,
    /// The finished entries of the run.
    entries: Vec<JobEntry>,
    entry: Option<JobEntry>,
    side: Option<usize>,
    /// Kind of the percentiles that follow, and their unit in ns.
    percentiles: Option<(LatencyKind, f64)>,
    in_flushes: bool,
    /// Whether the figures of the run have already ended once.
    ended: bool,
    snapshots: usize,
    date: String,
    engines: Vec<String>,
}

impl NormalOutputReader {
    fn line(&mut self, line: &str, at: u64, run: &mut ReportedRun) -> Result<(), LineError> {
        if let Some(options) = PrintedOptions::read(line) {
            // Options that follow figures begin another run.
            self.end_entry();
            if !self.entries.is_empty() {
                self.end_run(run)?;
            }
            if self.options.len() >= JOBS_MAX {
                return Err((at, format!("more than {JOBS_MAX} jobs")));
            }
            self.options.push(options);
        } else if line.starts_with("Run status group") {
            self.end_entry();
            self.ended = true;
        } else if let Some(entry) = entry(line, at) {
            self.end_entry();
            // Within a run, only the last entry is compared, because a run can have many.
            let compared = if self.ended { 0 } else { self.entries.len().saturating_sub(1) };
            if self.entries[compared..].iter().any(|earlier| earlier.is_of_earlier_run(&entry)) {
                self.end_run(run)?;
            } else if self.ended {
                // The figures of the same run are printed again.
                self.entries.clear();
                self.snapshots += 1;
            }
            self.ended = false;
            if self.entries.len() >= JOBS_MAX {
                return Err((at, format!("more than {JOBS_MAX} jobs")));
            }
            self.entry = Some(entry);
        } else {
            self.figures(line.trim_start()).map_err(|message| (at, message))?;
        }
        Ok(())
    }

    /// Reads a line of an entry.
    fn figures(&mut self, text: &str) -> Result<(), String> {
        let Some(entry) = &mut self.entry else { return Ok(()) };
        if let Some((index, side)) = parse_direction(text)? {
            entry.sides[index] = Some(side);
            (self.side, self.percentiles, self.in_flushes) = (Some(index), None, false);
        } else if text.starts_with("fsync/fdatasync") {
            (self.percentiles, self.in_flushes) = (None, true);
        } else if let Some(head) = percentiles_head(text) {
            self.percentiles = Some(head);
        } else if let Some(list) = text.strip_prefix('|') {
            let Some((kind, unit)) = self.percentiles else { return Ok(()) };
            if let Some(latencies) = latencies_of(entry, self.side, self.in_flushes, kind) {
                latencies.percentiles.extend(percentiles(list, unit)?);
                if latencies.percentiles.len() > 1000 {
                    return Err("more than 1000 percentiles".to_owned());
                }
            }
        } else if let Some((kind, ends)) = parse_latency_extremes(text)? {
            if let Some(latencies) = latencies_of(entry, self.side, self.in_flushes, kind) {
                latencies.ends = Some(ends);
            }
        } else if let Some(rest) = text.strip_prefix("issued") {
            entry.issued = parse_issued_counts(rest);
        } else if let Some(rest) = text.strip_prefix("IO depths") {
            // The last depth is `>=64=0.0%`.
            let share = |field: &str| Some(number(field.rsplit_once('=')?.1)?.0);
            let shares = rest.split(',').map(share);
            entry.depths = shares.sum();
        } else if text.starts_with("cpu ") {
            let percent = |name: &str| Some(number(text.split_once(name)?.1)?.0);
            entry.cpu = percent("usr=").zip(percent("sys="));
        }
        Ok(())
    }

    fn end_entry(&mut self) {
        self.entries.extend(self.entry.take());
        (self.side, self.percentiles, self.in_flushes) = (None, None, false);
    }

    /// Converts the entries to tests, and clears the entries and their options.
    fn end_run(&mut self, run: &mut ReportedRun) -> Result<(), LineError> {
        self.end_entry();
        let printed = self.entries.len();
        let entries = last_of_each_process(std::mem::take(&mut self.entries));
        self.snapshots += printed - entries.len();
        let options = std::mem::take(&mut self.options);
        self.ended = false;
        let mut by_name: HashMap<(u32, &str), &PrintedOptions> = HashMap::new();
        // The options of the first job in each group, and whether the other jobs have equal options.
        let mut groups: HashMap<u32, (&PrintedOptions, bool)> = HashMap::new();
        for option in &options {
            by_name.entry((option.group, &option.name)).or_insert(option);
            let (first, alike) = groups.entry(option.group).or_insert((option, true));
            *alike &= option.is_like(first);
        }
        let mut entries_of: HashMap<u32, usize> = HashMap::new();
        for entry in &entries {
            *entries_of.entry(entry.group).or_default() += 1;
        }
        // The index of the test of each job, for the job's clones.
        let mut tests: HashMap<(u32, String), usize> = HashMap::new();
        for entry in &entries {
            let wrong = |message: String| (entry.line, message);
            let options_of_job = by_name.get(&(entry.group, entry.name.as_str())).copied();
            let alike = groups.get(&entry.group).is_none_or(|(_, alike)| *alike);
            let is_sum = !alike && entries_of.get(&entry.group) == Some(&1) && entry.jobs > 1;
            let phases = entry.phases(options_of_job.filter(|_| !is_sum)).map_err(wrong)?;
            if let [_, _, ..] = &phases[..] {
                run.note(&format!("{}: {PHASES}", shown(&entry.name)));
            }
            for (phase, sample) in phases {
                let key = (entry.group, entry.name.clone() + phase);
                if let Some(&at) = tests.get(&key) {
                    add_clone(&mut run.tests[at], &sample);
                    continue;
                }
                let mut test = ReportedTest::new(shown(&key.1), sample);
                test.threads = Some(entry.jobs);
                test.submission_ns = entry.submission_ns();
                let contradiction = match options_of_job {
                    _ if is_sum => Some("the entry is a sum over jobs that differ".to_owned()),
                    Some(options) if phase.is_empty() => options.contradiction(&test.sample),
                    Some(_) | None => None,
                };
                match (options_of_job, contradiction) {
                    (_, Some(what)) => run
                        .warnings
                        .push(Warning::OptionsContradict { test: test.name.clone(), what }),
                    (Some(options_of_job), None) => options_of_job.describe(&mut test),
                    (None, None) => {}
                }
                tests.insert(key, run.tests.len());
                run.add(test).map_err(|error| (entry.line, error.message))?;
            }
            self.engines
                .extend(options_of_job.and_then(|options_of_job| options_of_job.engine.clone()));
            self.engines.dedup();
            if self.date.is_empty() {
                self.date.clone_from(&entry.date);
            }
        }
        Ok(())
    }
}

/// Returns the seconds since midnight in a date such as `Mon Jul  3 22:30:33 2023`.
fn time_of_day(date: &str) -> Option<u32> {
    let time = date.split_whitespace().find(|word| word.contains(':'))?;
    time.split(':')
        .try_fold(0, |sum: u32, part| sum.checked_mul(60)?.checked_add(part.parse::<u32>().ok()?))
}

/// Returns the last figures of each process.
fn last_of_each_process(mut entries: Vec<JobEntry>) -> Vec<JobEntry> {
    let mut seen = HashSet::new();
    entries.reverse();
    entries.retain(|entry| entry.process().is_none_or(|process| seen.insert(process)));
    entries.reverse();
    entries
}

/// Returns the latencies to which a line refers.
fn latencies_of(
    entry: &mut JobEntry,
    side: Option<usize>,
    in_flushes: bool,
    kind: LatencyKind,
) -> Option<&mut Latencies> {
    match (kind, in_flushes) {
        (LatencyKind::Flush, true) => Some(entry.flushes.get_or_insert_default()),
        (LatencyKind::Completion, false) => Some(&mut entry.sides[side?].as_mut()?.completion),
        (LatencyKind::Whole, false) => Some(&mut entry.sides[side?].as_mut()?.whole),
        _ => None,
    }
}

impl JobEntry {
    /// Returns whether `later` belongs to a later run: it has the same name, but is of another process, and was printed
    /// at another time.
    fn is_of_earlier_run(&self, later: &Self) -> bool {
        let is_other = (self.group, &self.name) == (later.group, &later.name)
            && !self.pid.is_empty()
            && !later.pid.is_empty()
            && self.pid != later.pid;
        let times = time_of_day(&self.date).zip(time_of_day(&later.date));
        is_other && times.is_some_and(|(own, other)| own.abs_diff(other) > PRINTING)
    }

    /// Returns the identity of the process, if its number is stated.
    fn process(&self) -> Option<(u32, String, String)> {
        (!self.pid.is_empty()).then(|| (self.group, self.name.clone(), self.pid.clone()))
    }

    /// Returns the maximum mean time of submission among latencies that do not include that time.
    fn submission_ns(&self) -> Option<f64> {
        let sides = self.sides.iter().flatten().filter(|side| {
            std::ptr::eq(preferred_latencies(&side.whole, &side.completion), &side.completion)
        });
        let times = sides.filter_map(|side| submission_ns(&side.whole, &side.completion));
        times.max_by(f64::total_cmp)
    }

    /// Returns the figures, divided into phases if the directions ran one after the other.
    fn phases(
        &self,
        options: Option<&PrintedOptions>,
    ) -> Result<Vec<(&'static str, Sample)>, String> {
        let mut sample =
            Sample { errors: errors(self.errno), complete: self.errno == 0, ..Sample::empty() };
        for (index, side) in self.sides.iter().enumerate() {
            let Some(side) = side else { continue };
            let issued = self.issued.map(|issued| match index {
                MIXED => issued[..3].iter().sum(),
                _ => issued[index],
            });
            let block = options.and_then(|options| options.block(index));
            let (bytes, count) = side.counts(issued, block);
            let known = preferred_latencies(&side.whole, &side.completion);
            let result = direction(bytes, count, |count| known.histogram(count))?;
            match index {
                0 => sample.reads = result,
                1 => sample.writes = result,
                2 => sample.trims = result,
                _ => sample.unified = result,
            }
            sample.elapsed = sample.elapsed.max(side.elapsed);
        }
        if let Some((flushes, count)) = self.flushes.as_ref().zip(self.flush_count()) {
            sample.flushes = direction(0.0, count, |count| flushes.histogram(count))?;
        }
        // The percentages of several clones are relative to a time that is not printed.
        if let (Some((user, system)), 1) = (self.cpu, self.jobs) {
            sample.cpu = cpu(&sample, user, system);
        }
        let [reads, writes, trims, _] = &self.sides;
        let times = [reads, writes, trims]
            .map(|side| side.as_ref().map_or(Duration::ZERO, |side| side.elapsed));
        // With unified_rw_reporting=both, fio prints both directions and their sum.
        if times != [Duration::ZERO; 3] {
            sample.unified = None;
        }
        Ok(split_phases(sample, times))
    }

    /// Returns the number of flushes. fio counts calls of fsync among the issued requests. Calls of fdatasync are only
    /// among the depths, whose shares then have a sum above 100%.
    fn flush_count(&self) -> Option<f64> {
        let issued = self.issued?;
        if issued[3] > 0.0 {
            return Some(issued[3]);
        }
        let more =
            self.depths.map(|sum| sum / 100.0 - 1.0).filter(|more| *more > DEPTHS_ROUNDED)?;
        Some((more * issued[..3].iter().sum::<f64>()).round())
    }
}

impl DirectionFigures {
    /// Returns the number of bytes and of requests. Both are computed from the issued requests if these agree with the
    /// rounded size; otherwise they are computed from the rounded size and the requests a second.
    fn counts(&self, issued: Option<f64>, block: Option<f64>) -> (f64, f64) {
        let by_rate = self.iops * self.elapsed.as_seconds();
        let is_near = |one: f64, other: f64| (one - other).abs() <= ROUNDED * other.max(1.0);
        // The printed bytes may lack up to `lost` bytes.
        let is_size = |bytes: f64| {
            is_near(bytes, self.bytes) || (self.bytes..self.bytes + self.lost).contains(&bytes)
        };
        match (issued.filter(|issued| *issued > 0.0), block) {
            (Some(issued), Some(block)) if is_size(issued * block) => (issued * block, issued),
            (Some(issued), None) if by_rate == 0.0 || is_near(issued, by_rate) => {
                (self.bytes, issued)
            }
            (_, Some(block)) if self.lost > 0.0 && is_size(by_rate * block) => {
                (by_rate.round() * block, by_rate.round())
            }
            (_, Some(block)) if block > 0.0 => (self.bytes, (self.bytes / block).round().max(1.0)),
            _ => (self.bytes, by_rate.round().max(f64::from(u8::from(self.bytes > 0.0)))),
        }
    }
}

/// Reads the first line of an entry.
fn entry(line: &str, at: u64) -> Option<JobEntry> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(", jobs=")?;
    let (jobs, rest) = rest.split_once(')')?;
    let (_, errno) = rest.split_once("err=")?;
    let process =
        errno.split_once("pid=").map(|(_, rest)| rest.split_once(':').unwrap_or((rest, "")));
    let (pid, date) = process.unwrap_or_default();
    Some(JobEntry {
        line: at,
        name: name.trim().to_owned(),
        group: group.trim().parse().ok()?,
        jobs: jobs.trim().parse().ok().filter(|jobs| *jobs > 0)?,
        errno: whole_number(errno)?,
        pid: pid.trim().to_owned(),
        date: date.trim().to_owned(),
        ..JobEntry::default()
    })
}

/// Reads the first line of a direction.
fn parse_direction(text: &str) -> Result<Option<(usize, DirectionFigures)>, String> {
    let Some((name, rest)) = text.split_once(':') else { return Ok(None) };
    let index = match name.trim_end() {
        "read" => 0,
        "write" => 1,
        "trim" => 2,
        "mixed" => MIXED,
        _ => return Ok(None),
    };
    let wrong = || format!("`{}` does not contain the figures of a direction", shown(text));
    let (size_text, rate_text, elapsed, iops) = match rest.split_once("IOPS=") {
        Some((_, iops)) => {
            let (iops, rest) = scaled_number(iops).ok_or_else(wrong)?;
            // The last pair of brackets contains the size and the time, as in (391MiB/10001msec).
            let (_, last) = rest.rsplit_once('(').ok_or_else(wrong)?;
            let (bytes, elapsed) = last.split_once('/').ok_or_else(wrong)?;
            (bytes, rest.split_once("BW=").map(|(_, rate)| rate), elapsed, iops)
        }
        // The line was written by version 2.
        None => {
            let field = |name: &str| rest.split_once(name).map(|(_, value)| value);
            let Some((bytes, elapsed)) = field("io=").zip(field("runt=")) else { return Ok(None) };
            let iops = field("iops=").and_then(scaled_number).map_or(0.0, |(iops, _)| iops);
            (bytes, field("bw="), elapsed, iops)
        }
    };
    let decimal = rest.contains("IOPS=");
    let (bytes, _) = size(size_text, decimal).ok_or_else(wrong)?;
    let (milliseconds, unit) = number(elapsed).ok_or_else(wrong)?;
    if !unit.trim_start().starts_with("msec") {
        return Err(wrong());
    }
    let elapsed = time(milliseconds, 1e-3)?;
    let lost = lost_decimals(size_text).unwrap_or(0.0) * bytes;
    let by_rate = rate_text.filter(|rate| lost_decimals(rate).is_none());
    let by_rate = by_rate.and_then(|rate| Some(size(rate, decimal)?.0 * elapsed.as_seconds()));
    let (bytes, lost) = match by_rate {
        Some(more) if (bytes * (1.0 + ROUNDED)..bytes + lost).contains(&more) => (more, 0.0),
        _ => (bytes, lost),
    };
    let figures = DirectionFigures { bytes, lost, elapsed, iops, ..DirectionFigures::default() };
    Ok(Some((index, figures)))
}

/// Returns the maximum share by which a printed number is too low. Versions 3.2 to 3.19 and others cut the decimals of
/// some numbers, and print 10.9 as 10.0.
fn lost_decimals(text: &str) -> Option<f64> {
    let (whole, rest) = text.trim_start().split_once('.')?;
    let decimals = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_cut = decimals > 0 && rest[..decimals].bytes().all(|digit| digit == b'0');
    let whole: f64 = whole.parse().ok().filter(|whole: &f64| *whole >= 1.0)?;
    is_cut.then_some(1.0 / whole)
}

/// Returns the kind of latency in a line, and its unit in ns.
fn kind(text: &str, suffix: &str) -> Option<(LatencyKind, f64)> {
    let (name, rest) = text.split_once(" (")?;
    let unit = match rest.split_once(')')? {
        ("nsec", _) => 1.0,
        ("usec", _) => 1e3,
        ("msec", _) => 1e6,
        ("sec", _) => 1e9,
        _ => return None,
    };
    let kind = match name.strip_suffix(suffix)? {
        "clat" => LatencyKind::Completion,
        "lat" => LatencyKind::Whole,
        "sync" => LatencyKind::Flush,
        "slat" => LatencyKind::Submission,
        _ => return None,
    };
    Some((kind, unit))
}

fn percentiles_head(text: &str) -> Option<(LatencyKind, f64)> {
    kind(text, " percentiles")
}

/// Reads the minimum, maximum and mean in ns from a line such as `clat (usec): min=60, max=900, avg=95.10,
/// stdev=20.00`.
fn parse_latency_extremes(text: &str) -> Result<Option<(LatencyKind, (f64, f64, f64))>, String> {
    let Some((kind, unit)) = kind(text, "") else { return Ok(None) };
    let value = |name: &str| {
        let (value, _) = scaled_number(text.split_once(name)?.1)?;
        nanoseconds(value, unit)
    };
    let Some(min) = value("min=") else { return Ok(None) };
    match value("max=").zip(value("avg=")) {
        Some((max, mean)) => Ok(Some((kind, (min, max, mean)))),
        None => Err(format!("`{}` does not contain latencies", shown(text))),
    }
}

/// Reads a line of percentiles in ns, such as `1.00th=[   70], 50.00th=[   92]`.
fn percentiles(list: &str, unit: f64) -> Result<Vec<(f64, f64)>, String> {
    let mut all = Vec::new();
    for field in list.split(']') {
        let Some((percent, latency)) = field.split_once("th=[") else { continue };
        let percent = number(percent.trim_start_matches([',', ' '])).map(|(percent, _)| percent);
        // Old versions print a limit with >=.
        let latency =
            number(latency.trim_start_matches(['>', '=', ' '])).map(|(latency, _)| latency);
        let both = percent.zip(latency.and_then(|latency| nanoseconds(latency, unit)));
        all.push(both.ok_or_else(|| format!("`{}` is not a percentile", shown(field)))?);
    }
    Ok(all)
}

#[cfg(test)]
mod line_tests;

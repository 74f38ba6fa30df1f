//! Results of programs that print figures without a complete description of their tests.
//!
//! A reader converts a text of this kind to a [`ReportedRun`]. A setting that the text does not state is absent, and no
//! default is assumed. A test without a pattern or a depth can describe a result, but cannot be simulated until the
//! user supplies the setting.

use lanemark_schema::result::{
    CpuUse, DirectionResult, LatencyHistogram, MeasuredTarget, Sample, Warning,
};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::bound::{BLOCK, QUEUE_DEPTH, THREADS};
use lanemark_schema::workload::{LoadKind, Pattern, SECTOR, Test};

use crate::error::{FormatError, shown};
use crate::imported::{
    ImportedResult, ImportedTest, NOT_STATED, ResultDraft, SuppliedSettings, TestNames, clean_name,
    target_at,
};
use crate::partly::load_kind;

/// Maximum number of tests in a file. A latency histogram takes 300 KB.
pub(crate) const TESTS_MAX: usize = 1024;
/// The time over which requests are counted if a program states rates but not the time of its runs.
pub(crate) const RATES_FOR: Duration = Duration::from_seconds(10);
/// Minimum number of requests for which the mean size is significant.
const COUNTED_MIN: u64 = 100;
/// Maximum relative difference between the stated and the counted request size that rounding can explain.
const SIZE_SLACK: f64 = 0.02;
/// Maximum count; a larger number cannot be a number of requests.
const COUNT_MAX: f64 = (1_u64 << 53) as f64;
/// Maximum number of bytes, one exbibyte, so that the sum of reads and writes does not overflow.
const BYTES_MAX: f64 = (1_u64 << 60) as f64;
/// The maximum run time and latency, in seconds: 200 days.
const SECONDS_MAX: f64 = 200.0 * 86_400.0;

/// A test as far as the source describes it.
#[derive(Clone, Debug)]
pub(crate) struct ReportedTest {
    pub(crate) name: String,
    pub(crate) pattern: Option<Pattern>,
    /// The size of each request; `None` if it is known only from the counts.
    pub(crate) block: Option<Bytes>,
    /// The share of reads among the requests; `None` if it is known only from the counts.
    pub(crate) read_share: Option<Ratio>,
    pub(crate) threads: Option<u32>,
    /// Number of outstanding requests per thread.
    pub(crate) queue_depth: Option<u32>,
    /// The size of the part of the target that the test uses.
    pub(crate) span: Option<Bytes>,
    /// The time after which the test ends.
    pub(crate) duration: Option<Duration>,
    /// The mean time of submission, if the latencies do not include that time.
    pub(crate) submission_ns: Option<f64>,
    pub(crate) sample: Sample,
}

/// The content of a file from another program.
#[derive(Clone, Debug)]
pub(crate) struct ReportedRun {
    /// The name of the file in errors.
    pub(crate) file: String,
    /// Further files with figures of the same run.
    pub(crate) further_files: Vec<String>,
    /// Program and version, such as `CrystalDiskMark 8.0.4`.
    pub(crate) program: String,
    /// Path of the target, if it is stated.
    pub(crate) path: Option<String>,
    pub(crate) engine: Option<String>,
    /// Whether the page cache was bypassed, if it is stated.
    pub(crate) direct: Option<bool>,
    /// Time at which the run began, in seconds since 1970, if it is stated with a time zone.
    pub(crate) timestamp: Option<u64>,
    pub(crate) tests: Vec<ReportedTest>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) notes: Vec<String>,
}

impl ReportedRun {
    pub(crate) fn new(file: &str, program: &str) -> Self {
        Self {
            file: file.to_owned(),
            further_files: Vec::new(),
            program: shown(program),
            path: None,
            engine: None,
            direct: None,
            timestamp: None,
            tests: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a test.
    ///
    /// # Errors
    /// Returns an error if there are too many tests.
    pub(crate) fn add(&mut self, test: ReportedTest) -> Result<(), FormatError> {
        if self.tests.len() >= TESTS_MAX {
            return Err(FormatError::file(&self.file, format!("more than {TESTS_MAX} tests")));
        }
        self.tests.push(test);
        Ok(())
    }

    /// Adds a note about the whole file.
    pub(crate) fn note(&mut self, text: &str) {
        self.notes.push(format!("{}: {text}", self.file));
    }

    /// Adds a note about a local time, because the file does not state the time zone.
    pub(crate) fn note_local_time(&mut self, time: &str) {
        let time = shown(time.trim());
        self.note(&format!("its time, {time}, is omitted because it lacks a time zone"));
    }

    /// Returns the result; `supplied` contains settings that the file does not state.
    ///
    /// # Errors
    /// Returns an error if there is no test, or if a figure is impossible.
    pub(crate) fn imported(
        self,
        supplied: &SuppliedSettings,
    ) -> Result<ImportedResult, FormatError> {
        let Self {
            file,
            further_files,
            program,
            path,
            engine,
            direct,
            timestamp,
            tests,
            warnings,
            notes,
        } = self;
        if tests.is_empty() {
            return Err(FormatError::file(&file, "no test with figures")
                .hint("check that the file is complete"));
        }
        let stem = stem(&file);
        let moved = tests.iter().map(|test| test.sample.bytes().get()).max().unwrap_or(0);
        let size = supplied.span.unwrap_or(Bytes(moved.max(1 << 20)));
        let mut draft = ResultDraft::new(&stem, &program, size, supplied);
        draft.warnings = warnings;
        draft.notes = notes;
        let mut names = TestNames::default();
        for mut one in tests {
            let name = names.take(clean_name(&one.name));
            let placed = one.span.is_some();
            let contradiction = one.size_contradiction().map(|what| {
                one.block = None;
                Warning::Imported { note: format!("{name}: {what}, and the counts are used") }
            });
            let test = Test { name, ..one.test(size, supplied) };
            let samples = vec![one.sample.clone()];
            draft.add(ImportedTest {
                test,
                samples,
                printed: &one.sample,
                contradiction,
                placed,
                submission_ns: one.submission_ns,
            });
        }
        let engine = engine.as_deref().unwrap_or(NOT_STATED);
        let target = MeasuredTarget {
            device: path.as_ref().map(|path| is_device(path)),
            engine: format!("{program}, {engine}"),
            direct,
            ..target_at(path.as_deref().unwrap_or(&stem))
        };
        let mut imported = draft.finish(&file, target)?;
        imported.files.extend(further_files);
        Ok(ImportedResult { timestamp, ..imported })
    }
}

impl ReportedTest {
    /// Creates a test without any settings.
    pub(crate) fn new(name: impl Into<String>, sample: Sample) -> Self {
        Self {
            name: name.into(),
            pattern: None,
            block: None,
            read_share: None,
            threads: None,
            queue_depth: None,
            span: None,
            duration: None,
            submission_ns: None,
            sample,
        }
    }

    /// Returns the contradiction between the stated request size and the counts, if there is one.
    fn size_contradiction(&self) -> Option<String> {
        let block = self.block?;
        let sides = [("read", &self.sample.reads), ("write", &self.sample.writes)];
        sides.into_iter().find_map(|(name, side)| {
            let side = side.as_ref().filter(|side| side.latency.count() >= COUNTED_MIN)?;
            let mean = side.bytes.get() as f64 / side.latency.count() as f64;
            let agrees = (mean / block.get() as f64 - 1.0).abs() <= SIZE_SLACK;
            (!agrees).then(|| {
                format!("the settings request {block} per {name}, but {mean:.0} B were counted")
            })
        })
    }

    /// Returns the test; `size` is the size of the target, for a test that does not state it.
    pub(crate) fn test(&self, size: Bytes, supplied: &SuppliedSettings) -> Test {
        let count = |side: &Option<DirectionResult>| {
            side.as_ref().map_or(0, |side| side.latency.count()) as f64
        };
        let sample = &self.sample;
        let reads = count(&sample.reads);
        let writes = count(&sample.writes);
        let operations = sample.operations() as f64;
        let mean = if operations > 0.0 { sample.bytes().get() as f64 / operations } else { 4096.0 };
        let rounded = Bytes((mean / 512.0).round().clamp(1.0, 131_072.0) as u64 * 512);
        let block = self.block.filter(|block| BLOCK.contains(block)).unwrap_or(rounded);
        let block = Bytes(block.get().next_multiple_of(SECTOR.get()));
        let counted = if count(&sample.unified) > 0.0 { 0.5 } else { reads / operations.max(1.0) };
        let read_share =
            self.read_share.unwrap_or_else(|| Ratio::new(counted).unwrap_or(Ratio::ZERO));
        let threads = THREADS.clamp(self.threads.unwrap_or(1));
        let pattern = self.pattern.clone().or_else(|| supplied.pattern.clone());
        let depth = self.queue_depth.or(supplied.queue_depth).map(|depth| QUEUE_DEPTH.clamp(depth));
        let mut asks = load_kind((pattern, depth), read_share, block);
        if let (LoadKind::Requests(requests), Some(trims)) = (&mut asks, &sample.trims) {
            let trimmed = trims.latency.count() as f64;
            let all = reads + writes + count(&sample.unified) + trimmed;
            requests.mix.trim_share = Ratio::new(trimmed / all.max(1.0)).unwrap_or(Ratio::ZERO);
        }
        if let (LoadKind::Requests(requests), Some(flushes)) = (&mut asks, &sample.flushes) {
            requests.mix.flush_every = writes_per_flush(writes, flushes.latency.count() as f64);
        }
        let moved = Bytes(sample.bytes().get().max(1 << 20));
        let least = Bytes(block.get() * u64::from(threads));
        Test {
            threads,
            span: self.span.unwrap_or(size).max(least),
            volume: self.duration.is_none().then_some(moved),
            duration: self.duration,
            asks,
            ..Test::of_blocks(block)
        }
    }
}

/// Returns the number of writes after which each flush followed, if the counts agree with a whole number.
fn writes_per_flush(writes: f64, flushes: f64) -> Option<u32> {
    let every = (writes / flushes.max(1.0)).round();
    let agrees = (every * flushes / writes.max(1.0) - 1.0).abs() <= SIZE_SLACK;
    (flushes >= 1.0 && (1.0..=1e6).contains(&every) && agrees).then_some(every as u32)
}

/// Returns the processor time of a job with one thread, from its `user` and `system` time in per cent.
pub(crate) fn cpu(sample: &Sample, user: f64, system: f64) -> Option<CpuUse> {
    let requests = sample.operations() as f64;
    let ns_per_request =
        |percent: f64| percent / 100.0 * sample.elapsed.as_seconds() * 1e9 / requests;
    let known = requests > 0.0 && [user, system].iter().all(|one| (0.0..=1e6).contains(one));
    known.then(|| CpuUse {
        user_ns_per_request: ns_per_request(user),
        system_ns_per_request: ns_per_request(system),
    })
}

/// Returns the result of one direction with `count` requests.
///
/// # Errors
/// Returns a description of the value that no run can produce.
pub(crate) fn direction(
    bytes: f64,
    count: f64,
    latency: impl FnOnce(u64) -> LatencyHistogram,
) -> Result<Option<DirectionResult>, String> {
    if !(0.0..=COUNT_MAX).contains(&count) {
        return Err(format!("{count} is not a number of requests"));
    }
    if !(0.0..=BYTES_MAX).contains(&bytes) {
        return Err(format!("{bytes} is not a number of bytes"));
    }
    let whole = count.round() as u64;
    let result = || DirectionResult { bytes: Bytes(bytes.round() as u64), latency: latency(whole) };
    Ok((whole > 0).then(result))
}

/// Returns a time of `value` units.
///
/// # Errors
/// Returns an error if the time is negative or longer than 200 days.
pub(crate) fn time(value: f64, seconds_per_unit: f64) -> Result<Duration, String> {
    let seconds = value * seconds_per_unit;
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        Ok(Duration::from_picoseconds((seconds * 1e12).round() as u64))
    } else {
        Err(format!("{value} is not a time"))
    }
}

/// Returns the number of requests that transferred `bytes`; the rate `iops` was truncated to a whole number.
pub(crate) fn requests(bytes: f64, iops: f64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_seconds();
    let least = (iops * seconds).max(1.0);
    let most = ((iops + 1.0) * seconds).max(1.0);
    let small = bytes / most;
    let large = bytes / least;
    // The size of the requests, if a power of two is possible.
    let power = (9..27).map(|power| f64::from(1_u32 << power));
    let block = power.rev().find(|block| (small * 0.999..=large * 1.001).contains(block));
    match block {
        Some(block) => (bytes / block).round().max(1.0),
        None => least.round(),
    }
}

/// Returns a latency in ns; `None` if it is not a valid latency.
pub(crate) fn nanoseconds(value: f64, ns_per_unit: f64) -> Option<f64> {
    let ns = value * ns_per_unit;
    (0.0..=SECONDS_MAX * 1e9).contains(&ns).then_some(ns)
}

/// Returns a histogram with a stated mean. A mean of 0 means that the latency was not measured.
pub(crate) fn of_mean(
    count: u64,
    mean_ns: Option<f64>,
    min_ns: Option<f64>,
    max_ns: Option<f64>,
) -> LatencyHistogram {
    match mean_ns.filter(|mean| *mean > 0.0) {
        None => LatencyHistogram::unmeasured(count),
        Some(mean) => {
            // The minimum and the maximum are printed with fewer digits than the mean.
            let min = min_ns.map(|min| min.min(mean).floor() as u64);
            let max = max_ns.filter(|max| *max > 0.0).map(|max| max.max(mean).ceil() as u64);
            LatencyHistogram::from_mean(count, mean, min, max)
        }
    }
}

/// Returns the name of a file without its folder and extension.
fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    let stem = clean_name(stem);
    match stem.as_str() {
        "" | "-" | "stdin" => "standard-input".to_owned(),
        _ => stem,
    }
}

fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") || path.starts_with('#') || path.starts_with(r"\\.\")
}

#[cfg(test)]
mod tests;

//! Simulates one row of the corpus according to the recipe, and compares the result with the measurement.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use lanemark_lab::interval::{DrawnSystem, DrawnTest};
use lanemark_lab::{Lab, Pool, assemble};
use lanemark_schema::result::{
    DirectionResult, ParameterOverride, PathUse, PredictionInterval, Sample,
};
use lanemark_schema::result::{DrawnRates, RequestGroup};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Test;
use lanemark_sim::run_test;
use lanemark_sim::spec::MediaSpec;
use lanemark_study::{Library, Location, System};

use crate::baseline::Baselines;
use crate::corpus::{CorpusRow, CorpusSet};
use crate::plug::{Connector, drive_plug};
use crate::recipe;
use crate::scratch;

/// The figures that a row may contain.
pub const FIGURES: [&str; 10] = [
    "iops",
    "read_iops",
    "write_iops",
    "throughput",
    "read_throughput",
    "write_throughput",
    "latency_mean",
    "latency_p50",
    "latency_p99",
    "latency_p99.9",
];
/// The bytes of a stripe on one drive.
const CHUNK: f64 = 65_536.0;
/// Maximum time of a simulated test, and of its ramp, in seconds.
const TIME_MAX: f64 = 600.0;
/// Minimum number of requests of a test.
const REQUESTS_MIN: f64 = 3_000.0;
/// Number of superblocks that are written before steady writes are counted, and also while they are counted.
const SUPERBLOCKS: f64 = 4.0;

#[derive(Clone, Debug)]
pub struct PredictedMeasurement {
    /// Number of the row in the corpus.
    pub row: usize,
    pub class: String,
    /// The simulated test.
    pub test: Test,
    pub path: Option<PathUse>,
    /// Grade of the row: A, B or C.
    pub grade: String,
    /// Whether the row comes from resctl-bench. The causes of these rows' errors are not known
    /// (`docs/validation/published.md`).
    pub is_of_resctl_bench: bool,
    /// Whether the drive has ratings, and all of them were found in an opened publication.
    pub has_verified_ratings: bool,
    /// Whether the figure is the 99th or a higher percentile of the latency.
    pub is_tail: bool,
    /// Half of the row's drive.
    pub set: CorpusSet,
    pub published: f64,
    /// The predicted figure, in the same unit.
    pub predicted: f64,
    /// The 80% interval of the prediction.
    pub interval: Option<PredictionRatioInterval>,
    /// The simulated rate in all draws of the uncertain values.
    pub rates: Option<DrawnRates>,
    /// The figure according to the rule of thumb.
    pub rule: f64,
    /// The minimum of the link's rate and the rated figure.
    pub limits: f64,
    /// The comparison as a readable line.
    pub line: String,
}

/// An 80% interval, as the ratios of its bounds to the prediction.
#[derive(Clone, Debug)]
pub struct PredictionRatioInterval {
    /// Ratio of the lower bound to the prediction.
    pub low: f64,
    /// Ratio of the upper bound to the prediction.
    pub high: f64,
    /// The parameter whose draws correlate most with the outcomes.
    pub widest: String,
}

impl PredictedMeasurement {
    /// Returns whether the published figure is in the interval, or `None` without an interval.
    pub fn is_covered(&self) -> Option<bool> {
        let PredictionRatioInterval { low, high, .. } = self.interval.as_ref()?;
        Some((*low..=*high).contains(&(self.published / self.predicted)))
    }

    /// Returns whether the writes of the test wait for flushes.
    pub fn waits_for_flushes(&self) -> bool {
        RequestGroup::of([&self.test; 2]) == RequestGroup::Flushed
    }

    /// Returns whether the row states its settings and its machine.
    pub fn is_of_a_known_machine(&self) -> bool {
        self.grade != "C"
    }
}

/// Simulates a row, and computes its interval if `intervals` is set. Files are written in the private folder `scratch`.
///
/// # Errors
/// Returns the reason why the row cannot be simulated.
pub fn compare(
    library: &Library,
    row: &CorpusRow,
    rated: Option<&CorpusRow>,
    scratch: &Path,
    intervals: bool,
) -> Result<PredictedMeasurement, String> {
    let published = row.number("value").ok_or("no value")?;
    let case = PredictionCase::prepare(library, row, rated, scratch)?;
    let PreparedSystem { system, name, settings, is_past_the_cache, into_the_cache } =
        case.prepared()?;
    let test = case.timed(&system, is_past_the_cache);
    let sample = simulate(&system, &test)?;
    let mut predicted = figure(row, &sample).ok_or("this figure is not simulated")?;
    if let Some((share, cached)) = into_the_cache {
        // The cache accepts its share at its own rate, and the flash accepts the rest.
        predicted = 1.0 / (share / cached + (1.0 - share) / predicted);
    }
    let mut interval = None;
    let mut rates = None;
    if intervals {
        (interval, rates) = case.drawn(&name, &settings, &test, &sample)?;
    }
    let mut comparison = PredictedMeasurement {
        row: 0,
        class: case.class().to_owned(),
        path: sample.path.clone(),
        test,
        grade: row.text("grade").to_owned(),
        is_of_resctl_bench: row.text("tool").contains("resctl-bench"),
        has_verified_ratings: rated.is_some_and(|rated| !rated.text("note").contains("unverified")),
        is_tail: tail_percentile(row.text("figure")).is_some(),
        set: row.set(),
        published,
        predicted,
        interval,
        rates,
        rule: case.baselines.rule,
        limits: case.baselines.limits,
        line: String::new(),
    };
    comparison.line = line(row, &comparison);
    Ok(comparison)
}

/// A row, and the files and test that the recipe creates from it.
struct PredictionCase<'c> {
    library: &'c Library,
    row: &'c CorpusRow,
    rated: Option<&'c CorpusRow>,
    folder: PathBuf,
    plug: Connector,
    port: Connector,
    drives: usize,
    /// Capacity of one drive, in bytes.
    capacity: f64,
    test: Test,
    baselines: Baselines,
}

/// A system that is ready for the test of a row.
struct PreparedSystem {
    system: System,
    name: String,
    settings: Vec<SystemSetting>,
    /// Whether the test begins with a full pseudo-SLC cache.
    is_past_the_cache: bool,
    /// Share of the drive that the cache accepts, and the figure during that time, if the whole drive is written.
    into_the_cache: Option<(f64, f64)>,
}

/// A value that is set in a system, and its origin.
type SystemSetting = (ParameterOverride, Location);

impl<'c> PredictionCase<'c> {
    fn prepare(
        library: &'c Library,
        row: &'c CorpusRow,
        rated: Option<&'c CorpusRow>,
        folder: &Path,
    ) -> Result<Self, String> {
        let drives = row.number("drives").unwrap_or(1.0) as usize;
        let plug = drive_plug(row, rated);
        let port = Connector::of_path(row, plug);
        let capacity = recipe::capacity(row.text("drive"));
        let test =
            recipe::test(row, usable(row, capacity, drives)).ok_or("its test is not stated")?;
        let baselines = Baselines::for_row(row, rated, plug, port, &test, drives as f64);
        let folder = folder.to_owned();
        Ok(Self { library, row, rated, folder, plug, port, drives, capacity, test, baselines })
    }

    fn class(&self) -> &str {
        self.row.text("class")
    }

    fn is_steady(&self) -> bool {
        self.class() == "writes-steady"
    }

    fn is_sustained(&self) -> bool {
        self.class() == "writes-sustained" || self.is_steady()
    }

    /// Returns the capacity of all drives, in bytes.
    fn size(&self) -> f64 {
        self.capacity * self.drives as f64
    }

    fn block(&self) -> f64 {
        self.test.block.get() as f64
    }

    fn drive_text(&self) -> String {
        let mut text = recipe::drive_file(self.row, self.rated);
        if self.is_steady() {
            text += "[state]\ncondition = \"random\"\n";
        } else if recipe::is_preconditioned(self.row) {
            text += "[state]\ncondition = \"sequential\"\nfilled = \"100%\"\n";
        } else if recipe::is_of_a_system_drive(self.row) {
            text += "[state]\ncondition = \"sequential\"\nfilled = \"50%\"\n";
        }
        text
    }

    fn put(&self, name: &str, text: &str) -> Result<String, String> {
        scratch::put(&self.folder, name, text).map_err(|error| error.to_string())
    }

    /// Writes the drive file and the platform file, and returns the system's name.
    fn named(&self) -> Result<String, String> {
        let drive = self.put("drive.toml", &self.drive_text())?;
        let platform = recipe::platform_file(self.row, self.plug, self.port, self.drives);
        let platform = self.put("platform.toml", &platform)?;
        let host = recipe::host(self.row);
        let ports: Vec<String> = (0..self.drives).map(|number| format!("p{number}")).collect();
        let volume = match self.drives {
            1 => "",
            _ if is_mirrored(self.row) => "mirror:",
            _ => "stripe-64KiB:",
        };
        Ok(format!("{volume}{drive}@{platform},{host}:{}", ports.join("+")))
    }

    fn assembled(&self, name: &str, settings: &[SystemSetting]) -> Result<System, String> {
        assemble(self.library, name, settings).map_err(|error| error.to_string())
    }

    fn prepared(&self) -> Result<PreparedSystem, String> {
        let name = self.named()?;
        let mut system = self.assembled(&name, &[])?;
        // Writes that last a minute stay in the pseudo-SLC cache if their span fits into it. Writes to a larger span
        // exceed the cache; their test begins with a full cache, which saves the time to fill it.
        let cache = cache_of(&system) * self.drives as f64;
        let is_beyond =
            self.test.span.get() as f64 > 0.8 * cache || recipe::is_of_a_system_drive(self.row);
        let is_past_the_cache = self.is_sustained() && cache > 0.0 && is_beyond;
        let mut into_the_cache = None;
        if is_past_the_cache {
            into_the_cache = self.share_of_the_cache(&system, cache)?;
            let small = self.drive_text().replace("[rated]\n", "[rated]\npseudo_slc = \"1 GB\"\n");
            self.put("drive.toml", &small)?;
            system = self.assembled(&name, &[])?;
        }
        let mut settings = Vec::new();
        if self.is_steady() {
            // Blocks that were never written are additional spare flash for garbage collection.
            let filled = (100.0 * self.test.span.get() as f64 / self.capacity).clamp(1.0, 100.0);
            let set = [format!("drive.state.filled={filled}%")];
            settings = lanemark_lab::settings(&set).map_err(|error| error.to_string())?;
            system = self.assembled(&name, &settings)?;
        }
        Ok(PreparedSystem { system, name, settings, is_past_the_cache, into_the_cache })
    }

    /// Returns the share of a whole drive that its cache accepts, and the figure during that time.
    fn share_of_the_cache(
        &self,
        system: &System,
        cache: f64,
    ) -> Result<Option<(f64, f64)>, String> {
        if !recipe::is_of_the_whole_drive(self.row, self.size()) {
            return Ok(None);
        }
        let figure = figure(self.row, &simulate(system, &self.test_in_cache(cache))?);
        Ok(figure.map(|figure| ((cache / self.size()).min(1.0), figure)))
    }

    /// Returns the row's test, limited to a time in which it stays in a `cache` of this many bytes.
    fn test_in_cache(&self, cache: f64) -> Test {
        let bytes_per_second = self.baselines.rule_rate() * self.block();
        Test { duration: Some(time_in_cache(cache, bytes_per_second)), ..self.test.clone() }
    }

    /// Returns the row's test with a ramp and a duration that are long enough for the required number of requests.
    fn timed(&self, system: &System, past_cache: bool) -> Test {
        let mut test = self.test.clone();
        let block = self.block();
        let outstanding = f64::from(test.issue_depth()) * f64::from(test.threads);
        let guess = self.baselines.rule_rate().max(1.0);
        let lot = SUPERBLOCKS * superblock_of(system);
        let counted = if self.is_steady() { lot } else { 0.0 };
        let requests = REQUESTS_MIN.max(6.0 * outstanding).max(counted / block);
        let warm = match self.row.text("drive_kind") {
            // The ramp fills the disk's cache.
            "hdd" => 64e6,
            // Garbage collection frees one superblock at a time.
            _ if self.is_steady() => lot,
            // The cache has whole superblocks, so it may be larger than stated.
            _ if past_cache => 1.6e9 + superblock_of(system),
            _ if self.is_sustained() => (2.0 * test.span.get() as f64).min(2e5 * block),
            _ => 0.0,
        };
        let first = if test.ceiling_read_share().get() < 1.0 {
            warm / block + 2.0 * outstanding
        } else {
            outstanding.min(2_000.0)
        };
        test.ramp = seconds((first / guess).min(TIME_MAX));
        test.duration = Some(seconds((requests / guess).min(TIME_MAX)));
        test
    }

    /// Returns the interval of the row's figure, and the rate in all draws.
    fn drawn(
        &self,
        name: &str,
        settings: &[SystemSetting],
        test: &Test,
        sample: &Sample,
    ) -> Result<(Option<PredictionRatioInterval>, Option<DrawnRates>), String> {
        let predicted = [(test.clone(), sample.iops())];
        let subject = DrawnSystem { library: self.library, name, settings, ranges: &[] };
        let lab = Lab { pool: Pool::new(NonZeroUsize::MIN), ..Lab::default() };
        let tests = lab.drawn_rates(&subject, &predicted, 1).map_err(|error| error.to_string())?;
        let Some(DrawnTest { interval, rates }) = tests.into_iter().next() else {
            return Ok((None, None));
        };
        let interval = interval.and_then(|interval| {
            let (low, high) = interval_ends(self.row.text("figure"), &interval)?;
            let widest = interval.widest.map_or(String::new(), |widest| widest.parameter);
            Some(PredictionRatioInterval { low, high, widest })
        });
        Ok((interval, rates))
    }
}

/// Returns whether all drives of a row contain the same data.
fn is_mirrored(row: &CorpusRow) -> bool {
    let path = row.text("path").to_lowercase();
    path.contains("raid 1") || path.contains("mirror")
}

/// Returns the bytes that a row's drives of `capacity` bytes offer together. A stripe has whole chunks.
fn usable(row: &CorpusRow, capacity: f64, drives: usize) -> f64 {
    match drives {
        1 => capacity,
        _ if is_mirrored(row) => capacity,
        _ => (capacity / CHUNK).floor() * CHUNK * drives as f64,
    }
}

/// Returns the bounds of the interval of a figure; `None` for a percentile with too few requests.
fn interval_ends(figure: &str, interval: &PredictionInterval) -> Option<(f64, f64)> {
    if let Some(percentile) = tail_percentile(figure) {
        let interval = interval.percentile(percentile)?;
        return Some((interval.low_ratio, interval.high_ratio));
    }
    // A higher rate means a lower latency.
    Some(if figure.starts_with("latency") {
        (1.0 / interval.high_ratio, 1.0 / interval.low_ratio)
    } else {
        (interval.low_ratio, interval.high_ratio)
    })
}

/// Returns the percentile that a figure names, if it is the 99th or higher.
fn tail_percentile(figure: &str) -> Option<f64> {
    match figure {
        "latency_p99" => Some(99.0),
        "latency_p99.9" => Some(99.9),
        _ => None,
    }
}

fn line(row: &CorpusRow, comparison: &PredictedMeasurement) -> String {
    let PredictedMeasurement { published, predicted, rule, .. } = comparison;
    let inside = match comparison.is_covered() {
        Some(true) => "in",
        Some(false) => "out",
        None => "",
    };
    let interval = comparison.interval.as_ref();
    format!(
        "{:<7} {:<17} {:<26.26} r{:>3} {:>4.4} {:>7} qd{:>3} x{:<3} {:<12} {:>11.1} {:>11.1} {:>+7.1}% rule {:>+7.1}% {inside} {} {}",
        row.text("id"),
        comparison.class,
        row.text("drive"),
        row.text("read_percent"),
        row.text("pattern"),
        row.text("block_bytes"),
        row.text("queue_depth"),
        row.text("threads"),
        row.text("figure"),
        published,
        predicted,
        100.0 * (predicted / published - 1.0),
        100.0 * (rule / published - 1.0),
        interval.map_or(String::new(), |range| format!("{:.2}..{:.2}", range.low, range.high)),
        interval.map_or("", |range| range.widest.as_str()),
    )
}

/// Returns the number of bytes that the first drive's pseudo-SLC cache accepts while there is erased flash.
fn cache_of(system: &System) -> f64 {
    match &system.spec.first().drive.media {
        MediaSpec::Flash(flash) => flash
            .translation
            .pseudo_slc
            .map_or(0.0, |cache| (cache.capacity + cache.growth).get() as f64),
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => 0.0,
    }
}

/// Returns the size of a superblock of the first drive, in bytes.
fn superblock_of(system: &System) -> f64 {
    match &system.spec.first().drive.media {
        MediaSpec::Flash(flash) => flash.superblock().get() as f64,
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => 0.0,
    }
}

/// Returns how long writes at `rate` bytes a second may last to fill only a fifth of a cache, so that they stay in the
/// cache.
fn time_in_cache(cache: f64, rate: f64) -> Duration {
    seconds(0.2 * cache / rate)
}

fn seconds(time: f64) -> Duration {
    Duration::from_picoseconds((time.max(1e-5) * 1e12) as u64)
}

fn simulate(system: &System, test: &Test) -> Result<Sample, String> {
    let key = StreamKey { seed: 1, test: 0, repeat: 0, thread: 0 };
    let test = test.clone().checked().map_err(|error| error.to_string())?;
    run_test(&system.spec, &test, key).map_err(|error| error.to_string())
}

/// Returns the figure that a row states, taken from a sample, in the row's unit.
fn figure(row: &CorpusRow, sample: &Sample) -> Option<f64> {
    let elapsed = sample.elapsed.as_seconds();
    let of = |one: &Option<DirectionResult>| {
        one.as_ref().map(|one| one.latency.count() as f64 / elapsed)
    };
    let bytes = |one: &Option<DirectionResult>| {
        one.as_ref().map(|one| one.bytes.get() as f64 / elapsed / 1e6)
    };
    let direction = sample.reads.as_ref().or(sample.writes.as_ref());
    Some(match row.text("figure") {
        "iops" => sample.iops(),
        "read_iops" => of(&sample.reads)?,
        "write_iops" => of(&sample.writes)?,
        "throughput" => sample.throughput().as_megabytes(),
        "read_throughput" => bytes(&sample.reads)?,
        "write_throughput" => bytes(&sample.writes)?,
        // A write that waits for a flush ends with the flush.
        "latency_mean" => {
            let flush = sample.flushes.as_ref().map_or(0.0, |flushes| flushes.latency.mean_ns());
            (direction?.latency.mean_ns() + flush) / 1e3
        }
        "latency_p50" => direction?.latency.recorded_percentile_ns(50.0)? as f64 / 1e3,
        "latency_p99" => direction?.latency.recorded_percentile_ns(99.0)? as f64 / 1e3,
        "latency_p99.9" => direction?.latency.recorded_percentile_ns(99.9)? as f64 / 1e3,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

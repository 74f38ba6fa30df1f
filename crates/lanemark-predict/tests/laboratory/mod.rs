//! Drives with known values. They are taken from the library, changed at random, run on the workload `fit`, and
//! "measured" by multiplying the results by noise.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};

use lanemark_lab::Pool;
use lanemark_predict::{Fit, FitInput, PredictError, WORK_MAX, fit};
use lanemark_schema::result::{
    DirectionResult, LatencyHistogram, ParameterOverride, Provenance, RunResult, Sample, TestResult,
};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Workload;
use lanemark_study::system::{NameLocations, SystemName};
use lanemark_study::{Library, Location, System, workload};

/// A library drive in which some values are changed.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    pub(crate) base: String,
    pub(crate) settings: Vec<(String, String)>,
}

/// The number of requests per test in a fit, and the maximum work of the fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) requests: u64,
    pub(crate) work_max: u64,
}

/// A platform and one of its ports.
pub(crate) type PlatformPort = (String, String);

pub(crate) fn library() -> Library {
    Library::in_folder(&project().join("library")).unwrap()
}

pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the setting of a small write buffer, which short simulations fill.
pub(crate) fn small_buffer() -> (String, String) {
    ("drive.buffer.capacity".to_owned(), "1 MiB".to_owned())
}

/// Returns the workload `fit` with short tests.
pub(crate) fn short_workload(library: &Library, milliseconds: u64) -> Workload {
    let mut workload = workload::open(library, "fit").unwrap();
    for test in &mut workload.tests {
        test.ramp = Duration::from_microseconds(150_000);
        test.duration = Some(Duration::from_microseconds(milliseconds * 1000));
    }
    workload
}

pub(crate) fn calibrations(settings: &[(String, String)]) -> Vec<(ParameterOverride, Location)> {
    let one = |(parameter, value): &(String, String)| {
        (
            ParameterOverride {
                parameter: parameter.clone(),
                value: value.clone(),
                figure: None,
                reason: None,
            },
            Location::file("test"),
        )
    };
    settings.iter().map(one).collect()
}

pub(crate) fn system(
    library: &Library,
    drive: &str,
    platform_port: &PlatformPort,
    settings: &[(String, String)],
) -> Option<System> {
    let (platform, port) = platform_port;
    let parts = SystemName {
        drive: drive.to_owned(),
        platform: platform.clone(),
        port: port.clone(),
        beside: Vec::new(),
        volume: None,
    };
    let at = NameLocations::all(&Location::file("test"));
    System::assemble(library, &parts, &at, &parts.to_string(), &calibrations(settings)).ok()
}

/// Runs the workload on the drive without noise.
pub(crate) fn run(system: &System, workload: &Workload, seed: u64) -> RunResult {
    let provenance = Provenance { seed, ..Provenance::default() };
    system.run(workload, provenance).unwrap()
}

/// Adds noise to a run: every repeat takes a different time, and `noise` is the standard deviation of the logarithm.
pub(crate) fn noisy(run: &RunResult, noise: f64, seed: u64) -> RunResult {
    let mut rng = Rng::new(StreamKey::from_seed(seed));
    let mut run = run.clone();
    for test in &mut run.tests {
        let samples = test
            .samples
            .iter()
            .map(|sample| slower(sample, (noise * normal(&mut rng)).exp()))
            .collect();
        *test = TestResult::new(&run.workload, &test.test, samples);
    }
    run
}

/// Returns a number from the standard normal distribution, as a sum of twelve uniform numbers.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

fn slower(sample: &Sample, factor: f64) -> Sample {
    let direction = |one: &Option<DirectionResult>| {
        one.as_ref().map(|one| DirectionResult {
            bytes: one.bytes,
            latency: stretched(&one.latency, factor),
        })
    };
    let elapsed = (sample.elapsed.picoseconds() as f64 * factor) as u64;
    Sample {
        elapsed: Duration::from_picoseconds(elapsed),
        reads: direction(&sample.reads),
        writes: direction(&sample.writes),
        ..sample.clone()
    }
}

/// Returns a histogram in which all latencies are multiplied by `factor`, made from the quantiles; the mean is exact.
fn stretched(latency: &LatencyHistogram, factor: f64) -> LatencyHistogram {
    let count = latency.count().min(4000);
    let quantile = |index: u64| {
        let share = (index as f64 + 0.5) / count as f64 * 100.0;
        latency.recorded_percentile_ns(share).or(latency.max_ns()).unwrap_or(1) as f64
    };
    let values: Vec<f64> = (0..count).map(quantile).collect();
    let mean = values.iter().sum::<f64>() / count.max(1) as f64;
    let scale = factor * latency.mean_ns() / mean;
    let mut all = LatencyHistogram::new();
    values.iter().for_each(|value| all.record_ns((value * scale).round().max(1.0) as u64));
    all
}

/// Fits a drive to its run at `platform_port`.
pub(crate) fn fitted(
    library: &Library,
    run: &RunResult,
    platform_port: &PlatformPort,
    like: Option<&str>,
    settings: &[(String, String)],
    requests: u64,
) -> Fit {
    outcome(library, std::slice::from_ref(run), platform_port, like, settings, requests).unwrap()
}

/// Fits a drive to its runs at `platform_port`, or returns the error.
pub(crate) fn outcome(
    library: &Library,
    runs: &[RunResult],
    platform_port: &PlatformPort,
    like: Option<&str>,
    settings: &[(String, String)],
    requests: u64,
) -> Result<Fit, PredictError> {
    bounded(library, runs, platform_port, like, settings, Bounds { requests, work_max: WORK_MAX })
}

/// Fits a drive like [`outcome`], with a number of requests per test and a maximum work.
pub(crate) fn bounded(
    library: &Library,
    runs: &[RunResult],
    platform_port: &PlatformPort,
    like: Option<&str>,
    settings: &[(String, String)],
    bounds: Bounds,
) -> Result<Fit, PredictError> {
    let (platform, port) = platform_port;
    let named = |(index, run): (usize, &RunResult)| (format!("{}.json", index + 1), run.clone());
    let results: Vec<(String, RunResult)> = runs.iter().enumerate().map(named).collect();
    let settings = calibrations(settings);
    let job = FitInput {
        results: &results,
        platform,
        port,
        like,
        settings: &settings,
        requests: bounds.requests,
        work_max: bounds.work_max,
        pool: Pool::default(),
        provenance: Provenance { seed: 0x0f17, ..Provenance::default() },
        cancel: Default::default(),
    };
    fit(library, &job, &mut |_| ())
}

/// Returns the number in a text such as `52.1 us` or `12%`.
pub(crate) fn number(text: &str) -> f64 {
    text.split([' ', '%']).next().and_then(|number| number.parse().ok()).unwrap()
}

/// Returns the median of an odd number of values, the 90th percentile, and the maximum.
pub(crate) fn middle_p90_most(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    (at(0.5), at(0.9), at(1.0))
}

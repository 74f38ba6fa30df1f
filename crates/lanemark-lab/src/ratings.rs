//! A rated drive compared with its own ratings, on the host that ratings assume.

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{Test, TestBuilder};
use lanemark_sim::run_test;
use lanemark_sim::spec::{CheckedSystem, MediaSpec, ProtocolKind};
use lanemark_study::Library;
use lanemark_study::rated::{BoxRatings, Market};
use serde::Serialize;

use crate::error::LabError;
use crate::lab::{Lab, assemble};

/// The platform that ratings assume.
const PLATFORM: &str = "data-sheet";
/// Number of counted requests, and number of requests before them, in addition to the outstanding requests.
const REQUESTS: f64 = 20_000.0;
/// The maximum share of a cache that the counted requests may write. The requests before them may write the same share.
const CACHE_SHARE: f64 = 0.4;
/// Relative error above which a rating is reported as not reached.
pub const REACHED: f64 = 0.01;

/// A rating and the model's figure for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatingComparison {
    /// The rated quantity, such as `random reads`.
    pub what: &'static str,
    /// The unit of both values.
    pub unit: &'static str,
    /// The rating.
    pub rated: f64,
    /// The model's figure.
    pub simulated: f64,
}

impl RatingComparison {
    /// Returns the relative error of the model's figure.
    pub fn error(&self) -> f64 {
        self.simulated / self.rated - 1.0
    }
}

impl Lab {
    /// Simulates each rating of the drive `name`. Steady-state ratings are omitted, because they require a drive that
    /// was written for hours.
    ///
    /// # Errors
    /// Returns an error if the drive does not fit any port of the platform.
    pub fn ratings_met(
        &self,
        library: &Library,
        name: &str,
        rated: &BoxRatings,
    ) -> Result<Vec<RatingComparison>, LabError> {
        let (port, threads) = match rated.protocol {
            ProtocolKind::Nvme => ("pcie", 16),
            ProtocolKind::SasHba => ("sas", 16),
            // Some drives from 2011 to 2015 use AHCI over PCI Express.
            ProtocolKind::Ahci if rated.link > 600e6 => ("pcie", 1),
            _ => ("sata", 1),
        };
        let system = assemble(library, &format!("{name}@{PLATFORM}:{port}"), &[])?;
        let cache = cache(&system.spec);
        let mut rated_tests: Vec<(RatingComparison, Test)> = Vec::new();
        let is_compressed = rated.compresses_to.is_some();
        let mut ask = |what, unit, value: Option<f64>, test: TestBuilder, rate: f64, most: f64| {
            let Some(rated) = value else { return };
            let outstanding = 32.0 * f64::from(threads);
            let requests = (REQUESTS + 4.0 * outstanding).min(most);
            let seconds = (requests / rate.max(1.0)).max(1e-4);
            let time = Duration::from_picoseconds((seconds * 1e12) as u64);
            let span = system.capacity().min(Bytes(1 << 30));
            let test = test.span(span).ramp(time).duration(time).build();
            let Ok(test) = test else { return };
            let mut test = test.into_test();
            if is_compressed {
                test.compressibility = Ratio::ONE;
            }
            rated_tests.push((RatingComparison { what, unit, rated, simulated: 0.0 }, test));
        };
        let block = 131_072.0;
        let sequential = |test: TestBuilder| test.queue_depth(32);
        let multithreaded = |test: TestBuilder| test.queue_depth(32).threads(threads);
        let mega = |rate: Option<f64>| rate.map(|rate| rate / 1e6);
        let micro = |time: Option<f64>| time.map(|time| time * 1e6);
        let rate = |rate: Option<f64>| rate.unwrap_or(1.0);
        let reads = sequential(Test::sequential_read("128 KiB"));
        ask(
            "sequential reads",
            "MB/s",
            mega(rated.read),
            reads,
            rate(rated.read) / block,
            f64::INFINITY,
        );
        let writes = sequential(Test::sequential_write("128 KiB"));
        // The write ratings of a drive with a pseudo-SLC cache describe the cache, which may be small.
        let most = CACHE_SHARE * cache.get() as f64 / block;
        ask(
            "sequential writes",
            "MB/s",
            mega(rated.write),
            writes,
            rate(rated.write) / block,
            most,
        );
        let reads = multithreaded(Test::random_read("4 KiB"));
        ask(
            "random reads",
            "1/s",
            rated.random_read,
            reads,
            rate(rated.random_read),
            f64::INFINITY,
        );
        if rated.market == Market::Client {
            let writes = multithreaded(Test::random_write("4 KiB"));
            ask(
                "random writes",
                "1/s",
                rated.random_write,
                writes,
                rate(rated.random_write),
                f64::INFINITY,
            );
        }
        let per_second = |time: Option<f64>| 1.0 / time.unwrap_or(1.0);
        let read = Test::random_read("4 KiB");
        ask(
            "one read at a time",
            "µs",
            micro(rated.one_read),
            read,
            per_second(rated.one_read),
            f64::INFINITY,
        );
        let write = Test::random_write("4 KiB");
        ask(
            "one write at a time",
            "µs",
            micro(rated.one_write),
            write,
            per_second(rated.one_write),
            f64::INFINITY,
        );
        let figures = self.pool.map(rated_tests.len(), |piece| {
            let (comparison, test) = &rated_tests[piece];
            simulated_figure(&system.spec, comparison.unit, test)
        });
        let comparison = rated_tests.into_iter().zip(figures);
        Ok(comparison
            .filter_map(|((comparison, _), figure)| {
                Some(RatingComparison { simulated: figure?, ..comparison })
            })
            .collect())
    }
}

/// Returns the capacity of a drive's pseudo-SLC cache, or the drive's capacity if it does not have a cache.
fn cache(spec: &CheckedSystem) -> Bytes {
    let drive = &spec.first().drive;
    let cache = match &drive.media {
        MediaSpec::Flash(flash) => flash.translation.pseudo_slc,
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => None,
    };
    cache.map_or(drive.capacity, |cache| Bytes(cache.capacity.get() + cache.growth.get()))
}

/// Returns the figure of a short test in `unit`, or `None` if the test does not fit the drive.
fn simulated_figure(spec: &CheckedSystem, unit: &str, test: &Test) -> Option<f64> {
    let key = StreamKey { seed: 1, test: 0, repeat: 0, thread: 0 };
    let sample = run_test(spec, &test.clone().checked().ok()?, key).ok()?;
    Some(match unit {
        "MB/s" => sample.throughput().as_megabytes(),
        "µs" => sample.latency_mean_ns() / 1e3,
        _ => sample.iops(),
    })
}

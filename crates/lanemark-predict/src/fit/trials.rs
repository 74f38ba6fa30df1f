//! The checked measurements as trials: each test has its figures, their uncertainty, and a short test that is simulated
//! instead of the measured test.
//!
//! The uncertainty of a figure has two parts. The first part is the spread over the repeats, averaged with the spread
//! of all tests, because three repeats are too few to determine it. The second part is a minimum error, because no
//! model is more accurate. In a closed loop, throughput and mean latency are one observation (Little's law), so each of
//! the two has half the weight.

use std::collections::BTreeSet;

use lanemark_schema::result::{FigureKind, FitWarning, RunResult, Sample, Target, TestResult};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;

use crate::PredictError;

/// The minimum relative errors that are assumed for throughput and mean latency, for the median, and for the 99th
/// percentile.
const FLOORS: [f64; 3] = [0.015, 0.06, 0.25];
/// The maximum number of tests that are simulated with the full number of requests. If there are more tests, each is
/// simulated with fewer requests.
const WHOLE_TESTS: u64 = 40;
/// Divisor of the full number of requests, which determines the minimum number of requests per test in a large grid.
const LEAST_SHARE: u64 = 8;
/// Minimum number of requests for which a measured 99th percentile is used.
const TAIL_MIN: u64 = 2000;

#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) test: Test,
    /// The short test that is simulated.
    pub(super) short: Test,
    pub(super) figures: Vec<MeasuredFigure>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MeasuredFigure {
    pub(super) kind: FigureKind,
    /// The mean over the repeats.
    pub(super) value: f64,
    /// Standard deviation of the logarithm of the value.
    pub(super) sd: f64,
}

/// The checked content of all results.
#[derive(Debug)]
pub(super) struct Measurements {
    /// Name of the drive that was measured.
    pub(super) drive: String,
    pub(super) trials: Vec<Trial>,
    pub(super) warnings: Vec<FitWarning>,
    /// Values of the host that were measured during the runs.
    pub(super) host: MeasuredHost,
}

/// Values of the host that were measured during runs on it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeasuredHost {
    /// Processor time of a small request if no other request is outstanding, in ns.
    pub(super) alone_ns: Option<f64>,
    /// Processor time of a small request if eight or more are outstanding, so that a core does not sleep, in ns.
    pub(super) deep_ns: Option<f64>,
    /// Number of logical processors during measured runs.
    pub(super) cores: Option<u32>,
}

impl Trial {
    pub(super) fn reads(&self) -> bool {
        self.test.reads()
    }

    pub(super) fn writes(&self) -> bool {
        self.test.writes()
    }

    /// Returns whether the test consists of small random reads at queue depth 1.
    fn reads_alone(&self) -> bool {
        !self.writes() && is_small_random(&self.test) && self.outstanding() == 1
    }

    /// Returns the measured figure of this kind.
    pub(super) fn figure(&self, kind: FigureKind) -> Option<f64> {
        self.figures.iter().find(|figure| figure.kind == kind).map(|figure| figure.value)
    }

    /// Returns the throughput, in bytes a second.
    pub(super) fn throughput(&self) -> f64 {
        self.figure(FigureKind::Throughput).unwrap_or_default()
    }

    /// Returns the requests a second.
    pub(super) fn iops(&self) -> f64 {
        self.throughput() / self.test.block_mean()
    }

    /// Returns the number of outstanding requests.
    pub(super) fn outstanding(&self) -> u64 {
        outstanding(&self.test)
    }

    /// Returns the number of requests in one simulation of the short test at the measured rate.
    fn work(&self) -> f64 {
        let counted = self.short.duration.map_or(0.0, Duration::as_seconds);
        (self.short.ramp.as_seconds() + counted) * self.iops()
    }

    /// Returns a key that places similar tests next to each other.
    fn similarity_key(&self) -> (bool, bool, bool, Bytes, u64) {
        let test = &self.test;
        (self.writes(), self.reads(), test.is_in_order(), test.block, self.outstanding())
    }
}

impl Measurements {
    /// Reads results and their names.
    pub(super) fn read(results: &[(String, RunResult)]) -> Result<Self, PredictError> {
        let Some((first_name, first)) = results.first() else {
            return Err(PredictError::NoResults);
        };
        let drive = identity(first);
        let mut fit_warnings = Vec::new();
        let mut groups: Vec<(Test, Vec<&Sample>)> = Vec::new();
        let mut warnings = 0;
        for (name, run) in results {
            if identity(run) != drive {
                return Err(PredictError::SeveralDrives {
                    one_result: first_name.clone(),
                    one: drive,
                    other_result: name.clone(),
                    other: identity(run),
                });
            }
            let ended =
                run.tests.iter().all(|test| test.samples.iter().all(|sample| sample.complete));
            if !run.complete || !ended {
                return Err(PredictError::CutShort {
                    result: name.clone(),
                    tests: run.tests.len(),
                    all: run.workload.tests.len(),
                });
            }
            warnings += run.warnings.len() as u32;
            for result in &run.tests {
                check_is_stated(name, result)?;
                if let Some(reason) = left_out(&result.test) {
                    fit_warnings.push(FitWarning::LeftOut {
                        test: result.test.name.clone(),
                        reason: reason.to_owned(),
                    });
                    continue;
                }
                check(name, result)?;
                match groups.iter_mut().find(|(test, _)| *test == result.test) {
                    Some((_, samples)) => samples.extend(&result.samples),
                    None => groups.push((result.test.clone(), result.samples.iter().collect())),
                }
            }
        }
        if let Target::Simulated(target) = &first.target {
            fit_warnings.insert(0, FitWarning::Simulated { system: target.system.clone() });
        } else if warnings > 0 {
            fit_warnings.push(FitWarning::Warned { warnings });
        }
        check_required_tests(&groups)?;
        if !groups.iter().any(|(test, _)| test.writes()) {
            fit_warnings.push(FitWarning::NoWrites);
        }
        let pooled = pooled_variance(&groups);
        let measured = matches!(first.target, Target::Measured(_));
        let machine = first.provenance.machine.as_ref().filter(|_| measured);
        let host = MeasuredHost {
            alone_ns: processor(&groups, |outstanding| outstanding == 1),
            deep_ns: processor(&groups, |outstanding| outstanding >= 8),
            cores: machine.map(|machine| machine.cores).filter(|&cores| cores > 0),
        };
        let trials = groups.iter().map(|(test, samples)| trial(test, samples, pooled)).collect();
        let is_named = measured || first.provenance.name.is_some();
        let drive = if is_named { first.target_name() } else { drive };
        Ok(Self { drive, trials, warnings: fit_warnings, host })
    }

    /// Removes the tests whose reads took less than `least`, the minimum time of flash over the path. These reads came
    /// from unwritten blocks or from a cache.
    ///
    /// # Errors
    /// Returns an error if no test of small random requests remains.
    pub(super) fn without_flash(&mut self, least: Duration) -> Result<(), PredictError> {
        let least_ns = least.as_seconds() * 1e9;
        let reads_alone = |trial: &&Trial| trial.reads_alone();
        let latency = |trial: &Trial| {
            let mean = trial.figure(FigureKind::ReadMean).unwrap_or(f64::INFINITY);
            (mean < least_ns).then(|| (trial.test.clone(), mean))
        };
        while let Some((test, read_ns)) = self.trials.iter().filter(reads_alone).find_map(latency) {
            let before = self.trials.len();
            let region = |test: &Test| (test.offset, test.span);
            self.trials.retain(|trial| !trial.reads() || region(&trial.test) != region(&test));
            if !self.trials.iter().any(|trial| is_small_random(&trial.test)) {
                return Err(PredictError::WithoutFlash {
                    test: test.name,
                    read_us: read_ns / 1e3,
                    least_us: least_ns / 1e3,
                });
            }
            let left_out = (before - self.trials.len()) as u32;
            let test = test.name;
            self.warnings.push(FitWarning::WithoutFlash { test, read_ns, least_ns, left_out });
        }
        Ok(())
    }

    /// Returns the mean time of a small random read at queue depth 1, and the name of the test.
    pub(super) fn read_alone(&self) -> Option<(&str, Duration)> {
        let trial = self.trials.iter().find(|trial| trial.reads_alone())?;
        let nanoseconds = trial.figure(FigureKind::ReadMean)?;
        let time = Duration::from_picoseconds((nanoseconds * 1e3) as u64);
        Some((&trial.test.name, time))
    }

    /// Shortens each test to about `requests` small requests, for a model with a write buffer of `buffer` bytes. The
    /// buffer of a disk is always filled first.
    pub(super) fn shorten(&mut self, buffer: Bytes, is_disk: bool, capacity: Bytes, requests: u64) {
        let fastest = |in_order: bool| {
            let writes = self.trials.iter().filter(|trial| trial.writes() && !trial.reads());
            let those = writes.filter(|trial| trial.test.is_in_order() == in_order);
            those.map(Trial::throughput).fold(0.0, f64::max)
        };
        let stored = fastest(true);
        let pass_max = requests * WHOLE_TESTS;
        let tests = self.trials.len().max(1) as u64;
        let requests = (requests * WHOLE_TESTS / tests).clamp(requests / LEAST_SHARE, requests);
        for trial in &mut self.trials {
            let count = match trial.test.block.get() {
                // A disk needs the full number of requests, because the time of the arm varies between requests, and
                // the simulation of a request needs few events.
                _ if is_disk => requests,
                0..=8192 => requests,
                8193..=65_536 => requests / 4,
                65_537..=262_144 => requests / 6,
                _ => requests / 16,
            };
            let count = count.max(30).max(4 * trial.outstanding());
            let mut ramp = 3.0 * trial.outstanding() as f64 / trial.iops();
            // If the writes are about as fast as the flash can store data, the buffer must be full before requests are
            // counted.
            if trial.writes() && is_disk {
                ramp += 1.5 * buffer.get() as f64 / trial.throughput();
            } else if trial.writes() && trial.throughput() > 0.7 * stored {
                ramp += 8.0 * buffer.get() as f64 / trial.throughput();
            }
            let seconds = |time: f64| Duration::from_picoseconds((time * 1e12) as u64);
            let counted = seconds(count as f64 / trial.iops());
            let short = &mut trial.short;
            (short.ramp, short.duration) = (seconds(ramp), Some(counted));
            (short.volume, short.interval, short.offset) = (None, None, Bytes::ZERO);
            let whole = capacity.get() / short.block.get().max(1) * short.block.get();
            short.span = short.span.min(Bytes(whole));
        }
        self.thin(pass_max);
    }

    /// Keeps enough tests that simulating each kept test once needs about `pass_max` requests. The kept tests are
    /// evenly spread over directions, lengths and depths, and include the single reads and the extremes from which a
    /// fit starts.
    fn thin(&mut self, pass_max: u64) {
        let all = self.trials.len();
        let work: f64 = self.trials.iter().map(Trial::work).sum();
        if work <= pass_max as f64 || all as u64 <= WHOLE_TESTS {
            return;
        }
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|&index| self.trials[index].similarity_key());
        let mut used: BTreeSet<usize> = self.anchors();
        let rest =
            pass_max as f64 - used.iter().map(|&index| self.trials[index].work()).sum::<f64>();
        let mut room = 0.0;
        let step = rest.max(0.0) / work;
        for index in order {
            let own_work = self.trials[index].work();
            room += step * own_work;
            if room >= own_work && used.insert(index) {
                room -= own_work;
            }
        }
        let mut index = 0;
        self.trials.retain(|_| {
            index += 1;
            used.contains(&(index - 1))
        });
        let used = self.trials.len();
        if used < all {
            self.warnings.push(FitWarning::Thinned { used: used as u32, all: all as u32 });
        }
    }

    /// Returns the tests from which a fit starts: single requests, and the fastest test of each kind.
    fn anchors(&self) -> BTreeSet<usize> {
        let kinds = [(true, false), (true, true), (false, false), (false, true)];
        let of_kind = |(reads, in_order): (bool, bool)| {
            let is_own = move |trial: &Trial| {
                (if reads { !trial.writes() } else { !trial.reads() })
                    && trial.test.is_in_order() == in_order
            };
            (0..self.trials.len()).filter(move |&index| is_own(&self.trials[index]))
        };
        let mut found = BTreeSet::new();
        for kind in kinds {
            let trial = |index: usize| &self.trials[index];
            let order_by = |figure: fn(&Trial) -> f64| {
                move |one: &usize, other: &usize| {
                    figure(trial(*one)).total_cmp(&figure(trial(*other)))
                }
            };
            found.extend(of_kind(kind).max_by(order_by(Trial::iops)));
            found.extend(of_kind(kind).max_by(order_by(Trial::throughput)));
            let single = of_kind(kind).filter(|&index| trial(index).outstanding() == 1);
            found.extend(single.min_by_key(|&index| trial(index).test.block));
        }
        found
    }
}

/// Returns the figure of this kind in a sample; `None` if too few requests were counted.
pub(super) fn figure(sample: &Sample, kind: FigureKind) -> Option<f64> {
    use FigureKind as K;
    let direction = match kind {
        K::Throughput => {
            let rate = sample.bytes().get() as f64 / sample.elapsed.as_seconds();
            return (rate.is_finite() && rate > 0.0).then_some(rate);
        }
        K::ReadMean | K::ReadMedian | K::ReadTail => sample.reads.as_ref()?,
        K::WriteMean | K::WriteMedian | K::WriteTail => sample.writes.as_ref()?,
    };
    let latency = &direction.latency;
    let value = match kind {
        K::ReadMean | K::WriteMean => latency.mean_ns(),
        K::ReadMedian | K::WriteMedian => latency.recorded_percentile_ns(50.0)? as f64,
        _ => latency.recorded_percentile_ns(99.0)? as f64,
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

fn outstanding(test: &Test) -> u64 {
    u64::from(test.issue_depth()) * u64::from(test.threads)
}

/// Returns the name of the drive that a result describes, either measured or simulated.
fn identity(run: &RunResult) -> String {
    match &run.target {
        Target::Simulated(target) => format!("{} in {}", target.drive, target.port),
        Target::Measured(target) => {
            target.block_device.clone().unwrap_or_else(|| target.path.clone())
        }
        Target::Database(target) => target.name.clone(),
    }
}

/// Returns the reason why a test cannot be compared with the model; `None` if it can.
fn left_out(test: &Test) -> Option<&'static str> {
    Some(match test {
        test if test.is_trace() => "a trace cannot be run again",
        test if test.rounds.is_some() => "a short simulation does not reach a steady state",
        test if test.start.beside => "it ran in parallel with another test",
        test if !test.is_closed() => "its requests were submitted at given times",
        test if !test.mix().is_plain() => "it contains several sizes, flushes or trims",
        _ => return None,
    })
}

fn is_small_random(test: &Test) -> bool {
    !test.is_in_order() && test.block <= Bytes::kibi(16)
}

/// Returns an error if a test does not state a setting that its simulation needs.
fn check_is_stated(result: &str, test: &TestResult) -> Result<(), PredictError> {
    match test.test.unstated().first().copied() {
        None => Ok(()),
        Some((what, option)) => Err(PredictError::NotStated {
            result: result.to_owned(),
            test: test.test.name.clone(),
            what,
            option,
        }),
    }
}

fn check(result: &str, test: &TestResult) -> Result<(), PredictError> {
    let fail = |figure, value| {
        Err(PredictError::Figure {
            result: result.to_owned(),
            test: test.test.name.clone(),
            figure,
            value,
        })
    };
    if test.samples.is_empty() {
        return fail("the number of repeats", 0.0);
    }
    for sample in &test.samples {
        let rate = sample.throughput().0 as f64;
        if sample.operations() == 0 || rate == 0.0 {
            return fail("the throughput of a repeat", rate);
        }
        let latency = sample.latency().mean_ns();
        if !latency.is_finite() || latency <= 0.0 {
            return fail("the mean latency of a repeat", latency);
        }
    }
    Ok(())
}

/// Checks for small random requests in one direction or in both, which every fit needs. If other tests are missing,
/// some values are not determined, and the table of values names the tests that would determine them.
fn check_required_tests(groups: &[(Test, Vec<&Sample>)]) -> Result<(), PredictError> {
    if groups.iter().any(|(test, _)| is_small_random(test)) {
        Ok(())
    } else {
        Err(PredictError::Missing {
            missing: vec!["small random requests (RND4K Q1T1 to Q32T1 read)"],
        })
    }
}

/// Returns the mean squared spread of the throughput over the repeats of all tests.
fn pooled_variance(groups: &[(Test, Vec<&Sample>)]) -> f64 {
    let variances: Vec<f64> = groups
        .iter()
        .filter_map(|(_, samples)| variance(samples, FigureKind::Throughput))
        .collect();
    variances.iter().sum::<f64>() / variances.len().max(1) as f64
}

/// Returns the variance of the logarithm of a figure over two or more samples.
fn variance(samples: &[&Sample], kind: FigureKind) -> Option<f64> {
    let logs: Vec<f64> =
        samples.iter().filter_map(|sample| figure(sample, kind)).map(f64::ln).collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (logs.len() > 1).then(|| squares / (count - 1.0))
}

fn trial(test: &Test, samples: &[&Sample], pooled: f64) -> Trial {
    use FigureKind as K;
    let kinds = [
        (K::Throughput, 0),
        (K::ReadMean, 0),
        (K::WriteMean, 0),
        (K::ReadMedian, 1),
        (K::WriteMedian, 1),
        (K::ReadTail, 2),
        (K::WriteTail, 2),
    ];
    let figures = kinds.into_iter().filter_map(|(kind, class)| {
        let values: Vec<f64> = samples.iter().filter_map(|sample| figure(sample, kind)).collect();
        if values.is_empty() || class == 2 && !has_tail(samples, kind) {
            return None;
        }
        let count = values.len() as f64;
        let value = (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp();
        let own_variance = variance(samples, kind).unwrap_or(pooled);
        let floor = FLOORS[class].powi(2);
        let halves = if class == 0 { 2.0 } else { 1.0 };
        let sd = (halves * (f64::midpoint(own_variance, pooled) / count + floor)).sqrt();
        Some(MeasuredFigure { kind, value, sd })
    });
    Trial { test: test.clone(), short: test.clone(), figures: figures.collect() }
}

fn has_tail(samples: &[&Sample], kind: FigureKind) -> bool {
    let has_counted = |sample: &&Sample| {
        let direction = if kind == FigureKind::ReadTail { &sample.reads } else { &sample.writes };
        direction.as_ref().map_or(0, |direction| direction.latency.count())
    };
    samples.iter().map(has_counted).sum::<u64>() >= TAIL_MIN
}

/// Returns the processor time of a small request in ns, as the minimum over the tests with a `wanted` number of
/// outstanding requests.
fn processor(groups: &[(Test, Vec<&Sample>)], wanted: fn(u64) -> bool) -> Option<f64> {
    let those =
        groups.iter().filter(|(test, _)| wanted(outstanding(test)) && test.block <= Bytes::kibi(4));
    let means = those.filter_map(|(_, samples)| {
        let values: Vec<f64> = samples
            .iter()
            .filter_map(|sample| sample.cpu)
            .map(|cpu| cpu.user_ns_per_request + cpu.system_ns_per_request)
            .filter(|ns| ns.is_finite() && *ns > 0.0)
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    });
    means.min_by(f64::total_cmp)
}

#[cfg(test)]
#[path = "measured_tests.rs"]
mod tests;

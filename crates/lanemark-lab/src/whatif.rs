//! A workload on two systems: both side by side, and how far a fitted drive may be off.

use lanemark_core::result::{
    Calibration, FittedDrive, Outlook, Provenance, RunResult, Standing, TestResult, WhatIf,
    WhatIfTest,
};
use lanemark_core::sim::spec::{AttachmentSpec, MediaSpec};
use lanemark_core::units::{Bytes, Duration};
use lanemark_core::workload::Workload;
use lanemark_study::{Library, Location, System};

use crate::error::LabError;
use crate::event::Watch;
use crate::lab::{Lab, Work, assemble, setting};

/// Small requests that count in a shortened test; fewer large ones are as good.
const REQUESTS: u64 = 16_000;

/// A system with the tests that it runs, and what they are called together.
#[derive(Clone, Debug)]
pub struct Side {
    /// Name for people.
    pub name: String,
    /// System of the side.
    pub system: System,
    /// The tests; both sides have the same by name.
    pub workload: Workload,
}

/// A fitted value with the systems that have it at either end of its interval.
type Ends = [System; 2];

/// A what-if before it is run.
#[derive(Clone, Debug)]
pub struct WhatIfJob<'j> {
    /// The system that there is.
    pub present: Side,
    /// The system that might be instead.
    pub other: Side,
    /// The other system at both ends of each value that a fit knows, one value at a time; see [`ends`].
    pub ends: Option<Vec<Ends>>,
    /// A measured result of the present one, with the name of its file.
    /// Its tests are simulated shortened where that tells the same.
    pub measured: Option<(&'j str, &'j RunResult)>,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Side {
    /// Refuses tests that reach beyond what they run on.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_places(&self) -> Result<(), LabError> {
        let capacity = self.system.spec.capacities().into_iter().min().unwrap_or_default();
        let Some(test) = self.workload.tests.iter().find(|test| test.end() > capacity) else {
            return Ok(());
        };
        let (end, name) = (test.end(), &self.name);
        Err(LabError::input(format!("{name}: test `{}` reaches to {end} of {capacity}", test.name))
            .hint("use a smaller --size"))
    }

    fn work(&self) -> Work<'_> {
        Work { system: &self.system, workload: &self.workload }
    }
}

/// The system `name` with `settings` and each fitted value that is known at both of its ends, one at a time.
///
/// # Errors
/// A value that the system does not have.
pub fn ends(
    library: &Library,
    name: &str,
    settings: &[(Calibration, Location)],
    fit: &FittedDrive,
) -> Result<Vec<Ends>, LabError> {
    let mut all = Vec::new();
    let known = fit.parameters.iter().filter(|one| one.standing == Standing::Identified);
    for parameter in known {
        let Some((low, high)) = &parameter.interval_95 else { continue };
        let at = |end: &str| {
            let mut set = settings.to_vec();
            set.push(setting(&format!("{}={end}", parameter.parameter))?);
            assemble(library, name, &set)
        };
        all.push([at(low)?, at(high)?]);
    }
    Ok(all)
}

impl Lab {
    /// Runs both sides and compares; none where that is cancelled.
    ///
    /// # Errors
    /// Where a test does not fit a system.
    pub fn what_if(
        &self,
        job: &WhatIfJob<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<WhatIf>, LabError> {
        let WhatIfJob { present, other, ends, measured, seed } = job;
        let (mut present, mut other) = (present.clone(), other.clone());
        let shortened: Vec<Option<u64>> = (0..present.workload.tests.len())
            .map(|at| measured.and_then(|(_, run)| shorten([&mut present, &mut other], at, run)))
            .collect();
        let mut works = vec![present.work(), other.work()];
        let systems = ends.iter().flatten().flatten();
        works.extend(systems.map(|system| Work { system, workload: &other.workload }));
        let provenance = Provenance { seed: *seed, ..Provenance::default() };
        let runs = self.run_all(&works, &provenance, watch)?;
        let [before, after, at_ends @ ..] = runs.as_slice() else { return Ok(None) };
        if !runs.iter().all(|run| run.complete) {
            return Ok(None);
        }
        let spread = ends.as_ref().map(|_| uncertainty(after, at_ends));
        let tests = before.tests.iter().zip(&after.tests).enumerate();
        let tests = tests.map(|(place, (one, two))| WhatIfTest {
            test: one.test.name.clone(),
            measured: measured.and_then(|(_, run)| run.test(&one.test.name)).map(Outlook::of),
            present: Outlook::of(one),
            other: Outlook::of(two),
            uncertainty: spread.as_ref().map(|spread| spread[place]),
            shortened_to: shortened.get(place).copied().flatten(),
        });
        Ok(Some(WhatIf {
            present: present.name.clone(),
            other: other.name.clone(),
            measured: measured.map(|(file, _)| file.to_owned()),
            tests: tests.collect(),
        }))
    }
}

/// Shortens test `at` of both sides to some ten thousand requests that count, and returns their number. Before these,
/// as many as may be outstanding go by several times, at the rate that was measured. A test stays whole where it is none
/// of reads that come one when another ends, where a buffer, a cache or a map would have to fill, or where it is short.
fn shorten(sides: [&mut Side; 2], at: usize, measured: &RunResult) -> Option<u64> {
    let whole = sides[0].workload.tests.get(at)?;
    let rate = measured.test(&whole.name).map(|result| result.iops.value);
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0)?;
    let plain = whole.mix().is_plain() && whole.is_closed() && whole.rounds.is_none();
    let settled = |drive: &AttachmentSpec| match &drive.drive.media {
        MediaSpec::Flash(flash) => flash.translation.map.is_none(),
        // Its rate depends on how far a test gets.
        MediaSpec::Disk(_) => false,
    };
    let even = |side: &&mut Side| {
        let faults = !side.workload.faults.is_empty() || !side.system.spec.faults.is_empty();
        !faults && side.system.spec.attachments.iter().all(settled)
    };
    if whole.writes() || whole.trims() || !plain || !sides.iter().all(even) {
        return None;
    }
    let outstanding = sides.iter().filter_map(|side| side.workload.tests.get(at));
    let outstanding =
        outstanding.map(|test| u64::from(test.queue_depth()) * u64::from(test.threads));
    let outstanding = outstanding.max()?;
    let small = match whole.block.get() {
        0..=8192 => REQUESTS,
        8193..=65_536 => REQUESTS / 2,
        65_537..=262_144 => REQUESTS / 4,
        _ => REQUESTS / 8,
    };
    let requests = small.max(100 * outstanding);
    let volume = Bytes(whole.block.get().checked_mul(requests)?);
    let ran = whole.duration.map_or(f64::INFINITY, Duration::as_seconds) * rate;
    let ran =
        ran.min(whole.volume.map_or(f64::INFINITY, |all| all.get() as f64 / whole.block_mean()));
    if ran < 2.0 * requests as f64 {
        return None;
    }
    let ramp = Duration::from_picoseconds((4e12 * outstanding as f64 / rate) as u64);
    for side in sides {
        let test = side.workload.tests.get_mut(at)?;
        (test.ramp, test.volume, test.duration) = (ramp, Some(volume), None);
        test.interval = None;
    }
    Some(requests)
}

/// Computes the uncertainty of each test of `base`: every fitted value at both ends of its interval, one at a time, and
/// the greater of both deviations added in squares. `at_ends` has the runs at the ends in pairs.
fn uncertainty(base: &RunResult, at_ends: &[RunResult]) -> Vec<f64> {
    let mut squares = vec![0.0; base.tests.len()];
    for pair in at_ends.chunks(2) {
        let mut worst = vec![0.0f64; squares.len()];
        for run in pair {
            for ((off, one), was) in worst.iter_mut().zip(&run.tests).zip(&base.tests) {
                let rate = |test: &TestResult| test.throughput_bytes_per_second.value;
                *off = off.max((rate(one) / rate(was) - 1.0).abs());
            }
        }
        squares.iter_mut().zip(worst).for_each(|(sum, off)| *sum += off * off);
    }
    squares.into_iter().map(f64::sqrt).collect()
}

//! A workload on two systems, which run in parallel, and the interval of each prediction.

mod deviation;
mod evidence;
#[cfg(feature = "machine")]
mod question;

use evidence::Evidence;
use lanemark_schema::result::{FittedDrive, Provenance, RunResult, Warning, WhatIf};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Test, Workload};
use lanemark_sim::spec::{AttachmentSpec, MediaSpec};
use lanemark_study::{System, UncertainValue};
#[cfg(feature = "machine")]
pub use question::{WhatIfQuestion, complete_name, is_result};

use crate::error::LabError;
use crate::event::EventObserver;
use crate::interval::{DrawnSystem, IntervalDraws};
use crate::lab::{Lab, LabRun};

/// Number of counted requests in a shortened test of small requests. Fewer large requests are sufficient.
const REQUESTS: u64 = 16_000;

/// One of the two systems, with its display name and its tests.
#[derive(Clone, Debug)]
pub struct WhatIfSide {
    /// The display name.
    pub name: String,
    /// System of the side.
    pub system: System,
    /// The tests, which have the same names on both sides.
    pub workload: Workload,
}

/// A what-if before it is run.
#[derive(Clone, Debug)]
pub struct WhatIfJob<'j> {
    /// The current system.
    pub present: WhatIfSide,
    /// The alternative system.
    pub other: WhatIfSide,
    /// Both systems with their uncertain values; `None` computes no intervals.
    pub subjects: Option<[DrawnSystem<'j>; 2]>,
    /// A measured result of the current system, and the name of its file. The tests of the result are simulated in
    /// shortened form if this does not change the figures.
    pub measured: Option<(&'j str, &'j RunResult)>,
    /// Whether tests are predicted although their measurement contradicts the model of the current system.
    pub is_forced: bool,
    /// The differences of the alternative system, as text for display.
    pub changed: Vec<String>,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl WhatIfSide {
    /// Rejects tests that exceed the capacity of their target.
    ///
    /// # Errors
    /// Returns an error that names the first such test.
    pub fn check_places(&self) -> Result<(), LabError> {
        let capacity = self.system.spec.capacities().into_iter().min().unwrap_or_default();
        let Some(test) = self.workload.tests.iter().find(|test| test.end() > capacity) else {
            return Ok(());
        };
        let end = test.end();
        let name = &self.name;
        Err(LabError::input(format!(
            "{name}: test `{}` reaches {end}, but the capacity is {capacity}",
            test.name
        ))
        .hint("use a smaller --size"))
    }

    fn work(&self) -> LabRun<'_> {
        LabRun { system: &self.system, workload: &self.workload }
    }
}

/// Returns the values of `fit` that are known within a range. If the model lacks a limit, and the measurements exclude
/// only low values of this limit, the limit is drawn below the upper bound of its range.
#[must_use]
pub fn fitted_ranges(fit: &FittedDrive) -> Vec<UncertainValue> {
    let ranged = fit.parameters.iter().filter_map(|parameter| {
        let (low, high) = parameter.range_80.as_ref()?;
        let value = parameter.value.as_ref().unwrap_or(high);
        UncertainValue::within(&parameter.parameter, value, [low, high])
    });
    ranged.collect()
}

impl Lab {
    /// Runs both sides and compares them. Returns `None` if the run is cancelled.
    ///
    /// # Errors
    /// Returns an error if a test does not fit a system.
    pub fn what_if(
        &self,
        job: &WhatIfJob<'_>,
        watch: &mut EventObserver<'_>,
    ) -> Result<Option<WhatIf>, LabError> {
        let WhatIfJob { present, other, subjects, measured, seed, .. } = job;
        let mut present = present.clone();
        let mut other = other.clone();
        let shortened: Vec<Option<u64>> = (0..present.workload.tests.len())
            .map(|at| measured.and_then(|(_, run)| shorten([&mut present, &mut other], at, run)))
            .collect();
        let works = [present.work(), other.work()];
        let provenance = Provenance { seed: *seed, ..Provenance::default() };
        let runs = self.run_all(&works, &provenance, watch)?;
        let [before, after] = runs.as_slice() else { return Ok(None) };
        if !runs.iter().all(|run| run.complete) {
            return Ok(None);
        }
        let draws = subjects
            .as_ref()
            .map(|subjects| self.both_drawn(*subjects, [before, after], *seed, watch));
        let draws = draws.transpose()?;
        let evidence = Evidence::new(
            [&present.system, &other.system],
            [before, after],
            measured.map(|(_, run)| run),
            draws.as_ref(),
        );
        let mut tests = Vec::new();
        let mut contradictions = Vec::new();
        for (place, result) in after.tests.iter().enumerate() {
            let contradiction = evidence.contradiction(place);
            let is_predicted = contradiction.is_none() || job.is_forced;
            contradictions.extend(contradiction);
            if !is_predicted {
                continue;
            }
            let mut test = evidence.test(place);
            test.shortened_to = shortened.get(place).copied().flatten();
            if let Some(path) = &mut test.other.path {
                path.loss = self.link_loss(&other.system, place, result, *seed)?;
            }
            tests.push(test);
        }
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        Ok(Some(WhatIf {
            present: present.name.clone(),
            other: other.name.clone(),
            changed: job.changed.clone(),
            measured: measured.map(|(file, _)| file.to_owned()),
            contradictions,
            tests,
            warnings: [before, after].map(warnings_of),
        }))
    }

    /// Simulates short versions of the tests of both systems, with the same values on both sides in each draw.
    fn both_drawn(
        &self,
        subjects: [DrawnSystem<'_>; 2],
        runs: [&RunResult; 2],
        seed: u64,
        watch: &mut EventObserver<'_>,
    ) -> Result<IntervalDraws, LabError> {
        let predicted = |run: &RunResult| -> Vec<(Test, f64)> {
            run.tests.iter().map(|test| (test.test.clone(), test.iops.value)).collect()
        };
        let [one, two] = runs.map(predicted);
        self.draws(&[(subjects[0], &one), (subjects[1], &two)], seed, watch)
    }
}

/// Returns the warnings about a run, without its assumed limits.
fn warnings_of(run: &RunResult) -> Vec<Warning> {
    let is_other = |warning: &&Warning| !matches!(warning, Warning::AssumedLimit { .. });
    run.warnings.iter().filter(is_other).cloned().collect()
}

/// Shortens test `at` of both sides to about ten thousand counted requests, and returns their number. Before these
/// requests, several times the number of outstanding requests run, at the measured rate. A test is not shortened if it
/// is already short, if it is not a closed loop of reads, or if it would have to fill a buffer, a cache or a map.
fn shorten(sides: [&mut WhatIfSide; 2], at: usize, measured: &RunResult) -> Option<u64> {
    let whole = sides[0].workload.tests.get(at)?;
    let rate = measured.test(&whole.name).map(|result| result.iops.value);
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0)?;
    let alone = sides[0].workload.is_alone(at);
    let plain = alone && whole.mix().is_plain() && whole.is_closed() && whole.rounds.is_none();
    let settled = |drive: &AttachmentSpec| match &drive.drive.media {
        MediaSpec::Flash(flash) => flash.translation.map.is_none(),
        // The rate of a disk depends on the position that the test has reached, and the rate of a volume depends on its
        // credits.
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => false,
    };
    let is_steady = |side: &&mut WhatIfSide| {
        let faults = !side.workload.faults.is_empty() || !side.system.spec.faults.is_empty();
        !faults && side.system.spec.attachments.iter().all(settled)
    };
    if whole.writes() || whole.trims() || !plain || !sides.iter().all(is_steady) {
        return None;
    }
    let outstanding = sides.iter().filter_map(|side| side.workload.tests.get(at));
    let outstanding =
        outstanding.map(|test| u64::from(test.issue_depth()) * u64::from(test.threads));
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

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{Provenance, RunResult};

    use super::*;
    use crate::{LabRun, assemble};

    #[test]
    fn a_shortened_test_has_a_ramp_of_four_times_its_outstanding_requests() {
        let library = lanemark_study::Library::built_in();
        let system = assemble(&library, "samsung-850-pro-1tb@workstation-z170:sata", &[]).unwrap();
        let mut workload = lanemark_study::workload::open(&library, "data-sheet").unwrap();
        workload.repeats = 1;
        workload.tests = vec![
            Test {
                duration: Some(Duration::from_seconds(5)),
                threads: 2,
                ..Test::of_blocks(Bytes::kibi(4))
            }
            .with(|requests| requests.queue_depth = 4),
        ];
        let work = LabRun { system: &system, workload: &workload };
        let measured: RunResult =
            Lab::default().run_all(&[work], &Provenance::default(), &mut |_| {}).unwrap().remove(0);
        let side = || WhatIfSide {
            name: String::new(),
            system: system.clone(),
            workload: workload.clone(),
        };
        let mut one = side();
        let mut other = side();
        let requests = shorten([&mut one, &mut other], 0, &measured).unwrap();
        let rate = measured.tests[0].iops.value;
        for side in [one, other] {
            let test = &side.workload.tests[0];
            assert_eq!(test.volume, Some(Bytes::kibi(4) * requests));
            let ramp = test.ramp.as_seconds();
            assert!((ramp * rate / 32.0 - 1.0).abs() < 1e-6, "{ramp} s at {rate}/s");
        }
    }
}

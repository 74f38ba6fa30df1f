//! The interval of a prediction, computed from the ranges of uncertain values.
//!
//! Every uncertain value of a system is drawn from its range many times. The draws are independent, except that the
//! times of a processor are drawn together, because a slow processor is slow in all its work. A value that two systems
//! share has the same deviations on both. A short version of each
//! test is simulated with each draw, and once with the values in the files. The ratios of these two rates form the
//! spread of the prediction. A factor for unmodelled effects widens the interval. The factor was measured on drives
//! that the library does not contain (`docs/model/intervals.md`).

use lanemark_schema::result::{
    DrawnRates, ParameterOverride, PredictionInterval, RunResult, TestResult,
};
use lanemark_schema::workload::{Load, LoadKind, Test, Workload};
use lanemark_study::{Library, Location, System, UncertainValue};

mod change;
mod draws;
mod short;
mod summary;
mod unmodelled;
mod work;

pub(crate) use change::is_same_system;
pub use change::{carried_share, host_share};
pub(crate) use draws::IntervalDraws;
use draws::{DrawnValues, UncertainColumn};
use short::ShortLength;
pub use unmodelled::amplification_factors;
pub use work::DRAWS;
pub(crate) use work::formula_margin;
use work::{DrawnOutcomes, DrawnSystems, NominalTest, PROBES, SCREENED, ShortRun};

use crate::error::LabError;
use crate::event::{Event, EventObserver};
use crate::lab::{Lab, assemble, setting};

/// Number of short runs of a test, including the probes and the runs with the values in the files.
const RUNS: usize = (1 + PROBES) + 1 + DRAWS;
/// Returns whether a short version of a test of `workload` shows how the test's rate depends on the values of the
/// system. This is not the case for a test that runs in parallel with another test.
pub(crate) fn may_be_drawn(workload: &Workload, test: &TestResult) -> bool {
    workload.runs_alone(&test.test)
        && matches!(test.test.asks, LoadKind::Requests(_) | LoadKind::Transactions(_))
        && test.iops.value > 0.0
}

/// Returns the interval of a test of the only side. A fixed load that the system serves in every draw determines the
/// rate, and the uncertain values do not.
fn interval_of(draws: &IntervalDraws, index: usize, test: &Test) -> Option<PredictionInterval> {
    let interval = draws.interval(0, index)?;
    if keeps_up(test, draws.rates(0, index).as_ref()) {
        return Some(PredictionInterval { low_ratio: 1.0, high_ratio: 1.0, ..interval });
    }
    Some(interval)
}

/// Returns whether the system serves the fixed load of a test in every draw.
fn keeps_up(test: &Test, rates: Option<&DrawnRates>) -> bool {
    let is_fixed =
        test.requests().is_some_and(|requests| matches!(requests.load, Load::Open { .. }));
    let in_time =
        |draw| rates.and_then(|rates| rates.log_ratio(draw)).is_some_and(|log| log > -0.01);
    is_fixed && (0..DRAWS).all(in_time)
}

/// Returns the number of short tests that the intervals of a result need: the draws and the run with the values in the
/// files, and the same again for the probes.
pub(crate) fn draws_of(result: &RunResult) -> usize {
    if !result.workload.faults.is_empty() || !result.complete {
        return 0;
    }
    let drawn = result.tests.iter().filter(|test| may_be_drawn(&result.workload, test));
    drawn.count() * RUNS
}

/// The interval of a test, and its rates in all draws.
#[derive(Clone, Debug)]
pub struct DrawnTest {
    /// The interval of the test's figures.
    pub interval: Option<PredictionInterval>,
    /// The rates in all draws.
    pub rates: Option<DrawnRates>,
}

impl Lab {
    /// Adds the interval of its figures to each test of a simulated `result`. Tests with faults or with a trace do not
    /// have an interval, and neither do the tests of a cancelled result. `watch` receives an event for each short test.
    ///
    /// # Errors
    /// Returns an error if the system cannot be assembled.
    pub fn add_intervals(
        &self,
        subject: &DrawnSystem<'_>,
        result: &mut RunResult,
        watch: &mut EventObserver<'_>,
    ) -> Result<(), LabError> {
        if !result.workload.faults.is_empty() || !result.complete {
            return Ok(());
        }
        let workload = &result.workload;
        let mut tests: Vec<&mut TestResult> =
            result.tests.iter_mut().filter(|test| may_be_drawn(workload, test)).collect();
        let predicted: Vec<(Test, f64)> =
            tests.iter().map(|test| (test.test.clone(), test.iops.value)).collect();
        let seed = result.provenance.seed;
        let sides = [(*subject, predicted.as_slice())];
        let draws = self.draws(&sides, seed, watch)?;
        for (index, test) in tests.iter_mut().enumerate() {
            test.interval = interval_of(&draws, index, &test.test);
            test.drawn = draws.rates(0, index);
        }
        Ok(())
    }

    /// Returns the interval of each test on `subject`, given the predicted requests a second of each test. The interval
    /// of a test is `None` if the run is cancelled.
    ///
    /// # Errors
    /// Returns an error if the system cannot be assembled.
    pub fn intervals(
        &self,
        subject: &DrawnSystem<'_>,
        predicted: &[(Test, f64)],
        seed: u64,
    ) -> Result<Vec<Option<PredictionInterval>>, LabError> {
        let draws = self.draws(&[(*subject, predicted)], seed, &mut |_| ())?;
        let tests = predicted.iter().enumerate();
        Ok(tests.map(|(index, (test, _))| interval_of(&draws, index, test)).collect())
    }

    /// Returns the interval of each test on `subject` and its rates in all draws, which may be compared with the rates
    /// of other systems that were drawn with the same seed. A test has neither if the run is cancelled.
    ///
    /// # Errors
    /// Returns an error if the system cannot be assembled.
    pub fn drawn_rates(
        &self,
        subject: &DrawnSystem<'_>,
        predicted: &[(Test, f64)],
        seed: u64,
    ) -> Result<Vec<DrawnTest>, LabError> {
        let draws = self.draws(&[(*subject, predicted)], seed, &mut |_| ())?;
        let of_test =
            |test| DrawnTest { interval: draws.interval(0, test), rates: draws.rates(0, test) };
        Ok((0..predicted.len()).map(of_test).collect())
    }

    /// Simulates short versions of the tests of each of `sides` with values drawn from their ranges.
    ///
    /// # Errors
    /// Returns an error if a system cannot be assembled.
    pub(crate) fn draws(
        &self,
        sides: &[(DrawnSystem<'_>, &[(Test, f64)])],
        seed: u64,
        watch: &mut EventObserver<'_>,
    ) -> Result<IntervalDraws, LabError> {
        let bases: Vec<System> =
            sides.iter().map(|(subject, _)| subject.system()).collect::<Result<_, _>>()?;
        let memory = self.memory_of_each(usize::MAX);
        let bases: Vec<System> = bases.iter().map(|base| base.with_memory(memory)).collect();
        let mut values: Vec<DrawnValues> = Vec::with_capacity(sides.len());
        let mut systems: Vec<Vec<Option<System>>> = Vec::with_capacity(sides.len());
        for ((subject, _), base) in sides.iter().zip(&bases) {
            let drawn = DrawnValues::draw(subject.uncertain(base), base, seed);
            let library = subject.library.keeping();
            let subject = DrawnSystem { library: &library, ..*subject };
            let assembled = drawn.deviations.iter().map(|row| {
                let drawn = subject.draw_system(&drawn.columns, row)?;
                Ok::<_, LabError>(drawn.map(|drawn| drawn.with_memory(memory)))
            });
            systems.push(assembled.collect::<Result<_, _>>()?);
            values.push(drawn);
        }
        let tests: Vec<&[(Test, f64)]> = sides.iter().map(|(_, tests)| *tests).collect();
        let work = DrawnSystems { bases: &bases, systems: &systems, sides: &tests, seed };
        let outcomes = self.outcomes(&work, watch);
        let whole = !self.cancel.is_cancelled();
        Ok(IntervalDraws { values, outcomes, whole })
    }

    /// Simulates the short tests of `work`, and returns their outcomes by side and test.
    fn outcomes(
        &self,
        work: &DrawnSystems<'_>,
        watch: &mut EventObserver<'_>,
    ) -> Vec<Vec<DrawnOutcomes>> {
        let originals = work.originals();
        let total = RUNS * work.sides.iter().map(|tests| tests.len()).sum::<usize>();
        let copies = originals.iter().flat_map(|side| side.iter().enumerate());
        let copies = copies.filter(|(test, original)| test != *original).count();
        // A test with the same short tests as another test runs only once, with the values in the files.
        let mut ended = (RUNS - 1) * copies;
        watch(Event::Drawn { ended, total });
        let probes = work.probes(&originals);
        let of_probes = self.each_run(work, &probes, &mut ended, total, watch);
        let lengths = work.lengths(&probes, &of_probes, &originals);
        let mut outcomes = work.no_outcomes(&probes, &of_probes, &lengths);
        keep(&mut outcomes, &probes, of_probes, &lengths);
        let is_original = |side: usize, test: usize| originals[side][test] == test;
        let screening = work.draws(0..SCREENED, &probes, &lengths, is_original);
        let of_screening = self.each_run(work, &screening, &mut ended, total, watch);
        keep(&mut outcomes, &screening, of_screening, &lengths);
        for of_test in outcomes.iter_mut().flatten() {
            of_test.is_unaffected = of_test.are_draws_without_effect();
        }
        let is_run = |side, test| is_original(side, test) && !outcomes[side][test].is_unaffected;
        let rest = work.draws(SCREENED..DRAWS, &probes, &lengths, is_run);
        let left_out = (0..outcomes.len()).flat_map(|side| {
            let tests = 0..outcomes[side].len();
            tests.filter(move |&test| is_original(side, test) && !is_run(side, test))
        });
        ended += left_out.count() * (DRAWS - SCREENED);
        let of_rest = self.each_run(work, &rest, &mut ended, total, watch);
        keep(&mut outcomes, &rest, of_rest, &lengths);
        for (of_side, originals) in outcomes.iter_mut().zip(&originals) {
            for (test, &original) in originals.iter().enumerate().filter(|(test, of)| test != *of) {
                let middle = of_side[test].middle;
                of_side[test] = DrawnOutcomes { middle, ..of_side[original].clone() };
            }
        }
        outcomes
    }

    /// Simulates each of `pieces`, and reports the number of ended pieces out of `total`.
    fn each_run(
        &self,
        work: &DrawnSystems<'_>,
        pieces: &[ShortRun],
        ended: &mut usize,
        total: usize,
        watch: &mut EventObserver<'_>,
    ) -> Vec<Option<NominalTest>> {
        let mut runs: Vec<Option<NominalTest>> = vec![None; pieces.len()];
        self.pool.run_pieces(
            pieces.len(),
            || (),
            |(), piece, tell| {
                tell(work.run(pieces[piece], &self.cancel));
            },
            |piece, run| {
                runs[piece] = run;
                *ended += 1;
                watch(Event::Drawn { ended: *ended, total });
                true
            },
        );
        runs
    }
}

/// Stores the outcome of each of `pieces` that has the length of its test.
fn keep(
    outcomes: &mut [Vec<DrawnOutcomes>],
    pieces: &[ShortRun],
    runs: Vec<Option<NominalTest>>,
    lengths: &[Vec<ShortLength>],
) {
    for (piece, run) in pieces.iter().zip(runs) {
        let of_test = &mut outcomes[piece.side][piece.test];
        let is_used = piece.length == lengths[piece.side][piece.test];
        match piece.draw {
            None => {
                if piece.length == ShortLength::Short {
                    of_test.middle = run;
                }
                if is_used {
                    of_test.base = run.map(|run| run.figures);
                }
            }
            Some(draw) if is_used => of_test.drawn[draw] = run.map(|run| run.figures),
            Some(_) => {}
        }
    }
}

/// A system whose values are drawn: its name, its settings, and the values for which a fit supplies ranges.
#[derive(Clone, Copy, Debug)]
pub struct DrawnSystem<'s> {
    /// The library of the system's parts.
    pub library: &'s Library,
    /// The name of the system, `drive@platform:port`.
    pub name: &'s str,
    /// Values that replace library values.
    pub settings: &'s [(ParameterOverride, Location)],
    /// Values with their own ranges, which replace the ranges in the files.
    pub ranges: &'s [UncertainValue],
}

impl DrawnSystem<'_> {
    /// Returns the system with the values in its files. A range for a value that the system lacks is an error.
    pub(crate) fn system(&self) -> Result<System, LabError> {
        if !self.ranges.is_empty() {
            let mut all = self.settings.to_vec();
            for value in self.ranges {
                all.push(setting(&format!("{}={}", value.parameter, value.text))?);
            }
            assemble(self.library, self.name, &all)?;
        }
        assemble(self.library, self.name, self.settings)
    }

    /// Returns the uncertain values of `system`. A value that is set is certain.
    fn uncertain(&self, system: &System) -> Vec<UncertainValue> {
        let is_not_overridden = |value: &&UncertainValue| {
            !self.ranges.iter().any(|other| other.parameter == value.parameter)
        };
        let is_free = |value: &UncertainValue| {
            !self.settings.iter().any(|(setting, _)| setting.parameter == value.parameter)
        };
        let all = system.uncertain.iter().filter(is_not_overridden).chain(self.ranges).cloned();
        all.filter(is_free).collect()
    }

    /// Returns the system with each uncertain value at its deviation, or `None` if the resulting system is not valid.
    fn draw_system(
        &self,
        columns: &[UncertainColumn],
        deviations: &[f64],
    ) -> Result<Option<System>, LabError> {
        let mut all = self.settings.to_vec();
        for (column, deviations) in columns.iter().zip(deviations) {
            let value = &column.value;
            all.push(setting(&format!("{}={}", value.parameter, value.at(*deviations)))?);
        }
        Ok(assemble(self.library, self.name, &all).ok())
    }
}

//! The interval of a prediction, computed from the ranges of uncertain values.
//!
//! Every uncertain value of a system is drawn from its range many times. The draws are independent, except that the
//! times of a processor are drawn together, because a slow processor is slow in all its work. A short version of each
//! test is simulated with each draw, and once with the values in the files. The ratios of these two rates form the
//! spread of the prediction. A factor for unmodelled effects widens the interval. The factor was measured on drives
//! that the library does not contain (`docs/model/intervals.md`).

use lanemark_schema::result::{
    ParameterOverride, PercentileInterval, PredictionInterval, RunResult, SIDES_80, TestResult,
};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::workload::{LoadKind, Test, Workload};
use lanemark_sim::spec::{CpuSpec, SystemSpec};
use lanemark_study::{Library, Location, System, UncertainValue};

mod short;
mod summary;
mod unmodelled;
mod work;

use short::ShortLength;
pub use summary::SHARE;
use summary::summary;
pub(crate) use unmodelled::OWN_LEFT_OUT;
use unmodelled::UnmodelledFactors;
pub use work::DRAWS;
use work::{
    DrawnOutcomes, DrawnSystems, NominalTest, PROBES, SCREENED, ShortFigures, ShortRun, TAILS,
    formula_margin,
};

use crate::error::LabError;
use crate::event::{Event, EventObserver};
use crate::lab::{Lab, assemble, setting};

/// The minimum number of usable draws for an interval. Some draws do not result in a valid system: in half of the draws
/// of a hard disk, a track has too few sectors to reach the disk's capacity. If fewer draws than this are usable, the
/// ranges contradict the rest of the system.
const DRAWS_TOLD: usize = DRAWS / 4;
/// Number of short runs of a test, including the probes and the runs with the values in the files.
const RUNS: usize = (1 + PROBES) + 1 + DRAWS;
/// Returns whether a short version of a test of `workload` shows how the test's rate depends on the values of the
/// system. This is not the case for a test that runs in parallel with another test.
pub(crate) fn may_be_drawn(workload: &Workload, test: &TestResult) -> bool {
    workload.runs_alone(&test.test)
        && matches!(test.test.asks, LoadKind::Requests(_) | LoadKind::Transactions(_))
        && test.iops.value > 0.0
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
        let draws = self.draws(&[(*subject, predicted.as_slice())], seed, watch)?;
        let intervals = (0..predicted.len()).map(|test| draws.interval(0, test));
        for (test, interval) in tests.iter_mut().zip(intervals) {
            test.interval = interval;
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
        Ok((0..predicted.len()).map(|test| draws.interval(0, test)).collect())
    }

    /// Simulates short versions of the tests of each of `sides` with values drawn from their ranges. In each draw, a
    /// value that several sides share is the same on all of them.
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
        let mut columns: Vec<UncertainColumn> = Vec::new();
        for ((subject, _), base) in sides.iter().zip(&bases) {
            for value in subject.uncertain(base) {
                let of = subject.part_of(&value.parameter);
                if !columns
                    .iter()
                    .any(|column| column.of == of && column.value.parameter == value.parameter)
                {
                    columns.push(UncertainColumn { of, value });
                }
            }
        }
        if sides.len() > 1 {
            // The draws do not depend on the order of the systems, so that the ratio of B to A is the inverse of the
            // ratio of A to B.
            let key =
                |column: &UncertainColumn| (column.of.clone(), column.value.parameter.clone());
            columns.sort_by_cached_key(key);
        }
        let key = |draw: u32| StreamKey { seed, test: u32::MAX, repeat: draw, thread: 0 };
        // A slow processor is slow in all its work, so its times are drawn together.
        let first_of_processor: Vec<usize> = columns
            .iter()
            .enumerate()
            .map(|(place, column)| {
                let is_same_processor =
                    |other: &UncertainColumn| other.of == column.of && other.is_of_processor();
                let first = columns.iter().position(is_same_processor);
                first.filter(|_| column.is_of_processor()).unwrap_or(place)
            })
            .collect();
        // One row of deviations per draw, and one column per value. Every second draw negates the deviations of the
        // previous draw, so that the centre of the draws is the prediction.
        let deviations: Vec<Vec<f64>> = (0..DRAWS as u32)
            .map(|draw| {
                let mut rng = Rng::new(key(draw / 2));
                let sign = if draw % 2 == 0 { 1.0 } else { -1.0 };
                let mut row: Vec<f64> = columns.iter().map(|_| sign * normal(&mut rng)).collect();
                for (column, &first) in first_of_processor.iter().enumerate() {
                    row[column] = row[first];
                }
                row
            })
            .collect();
        let mut systems: Vec<Vec<Option<System>>> = Vec::with_capacity(sides.len());
        for (subject, _) in sides {
            let library = subject.library.keeping();
            let subject = DrawnSystem { library: &library, ..*subject };
            let drawn = deviations.iter().map(|row| {
                let drawn = subject.draw_system(&columns, row)?;
                Ok::<_, LabError>(drawn.map(|drawn| drawn.with_memory(memory)))
            });
            systems.push(drawn.collect::<Result<_, _>>()?);
        }
        let tests: Vec<&[(Test, f64)]> = sides.iter().map(|(_, tests)| *tests).collect();
        let work = DrawnSystems { bases: &bases, systems: &systems, sides: &tests, seed };
        let originals = work.originals();
        let total = RUNS * tests.iter().map(|tests| tests.len()).sum::<usize>();
        let copies = originals.iter().flat_map(|side| side.iter().enumerate());
        let copies = copies.filter(|(test, original)| test != *original).count();
        // A test with the same short tests as another test runs only once, with the values in the files.
        let mut ended = (RUNS - 1) * copies;
        watch(Event::Drawn { ended, total });
        let probes = work.probes(&originals);
        let of_probes = self.each_run(&work, &probes, &mut ended, total, watch);
        let lengths = work.lengths(&probes, &of_probes, &originals);
        let mut outcomes = work.no_outcomes(&probes, &of_probes, &lengths);
        keep(&mut outcomes, &probes, of_probes, &lengths);
        let is_original = |side: usize, test: usize| originals[side][test] == test;
        let screening = work.draws(0..SCREENED, &probes, &lengths, is_original);
        let of_screening = self.each_run(&work, &screening, &mut ended, total, watch);
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
        let of_rest = self.each_run(&work, &rest, &mut ended, total, watch);
        keep(&mut outcomes, &rest, of_rest, &lengths);
        for (of_side, originals) in outcomes.iter_mut().zip(&originals) {
            for (test, &original) in originals.iter().enumerate().filter(|(test, of)| test != *of) {
                let middle = of_side[test].middle;
                of_side[test] = DrawnOutcomes { middle, ..of_side[original].clone() };
            }
        }
        let whole = !self.cancel.is_cancelled();
        Ok(IntervalDraws { columns, deviations, outcomes, whole })
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
    fn system(&self) -> Result<System, LabError> {
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

    /// Returns the name of the drive or platform to which `parameter` belongs.
    fn part_of(&self, parameter: &str) -> String {
        let (drive, rest) = self.name.split_once('@').unwrap_or((self.name, ""));
        let platform = rest.split_once(':').map_or(rest, |(platform, _)| platform);
        if parameter.starts_with("drive.") { drive } else { platform }.to_owned()
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
            if self.part_of(&value.parameter) == column.of {
                all.push(setting(&format!("{}={}", value.parameter, value.at(*deviations)))?);
            }
        }
        Ok(assemble(self.library, self.name, &all).ok())
    }
}

/// An uncertain value of one or several sides.
#[derive(Clone, Debug)]
struct UncertainColumn {
    /// The name of the drive or platform.
    of: String,
    value: UncertainValue,
}

impl UncertainColumn {
    /// Returns whether the value is a time for which the host's processor works on a request.
    fn is_of_processor(&self) -> bool {
        let key = self.value.parameter.rsplit('.').next();
        let is_time = |key: &str| key == "driver_time" || CpuSpec::REQUEST_TIMES.contains(&key);
        self.value.parameter.starts_with("platform.") && key.is_some_and(is_time)
    }
}

/// The evidence for a figure that is applied to another system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferredEvidence {
    /// The standard deviation of a figure's logarithm due to chance.
    pub(crate) chance: f64,
    /// Whether the other system is limited by a drive or link that also limited a measured test.
    pub(crate) is_full: bool,
}

/// Short tests with values drawn from their ranges.
#[derive(Clone, Debug)]
pub(crate) struct IntervalDraws {
    columns: Vec<UncertainColumn>,
    /// The deviations, one row per draw.
    deviations: Vec<Vec<f64>>,
    /// The outcomes, by side and test.
    outcomes: Vec<Vec<DrawnOutcomes>>,
    /// Whether all draws were simulated, that is, the run was not cancelled.
    whole: bool,
}

impl IntervalDraws {
    /// Returns the interval of test `test` of `side`.
    pub(crate) fn interval(&self, side: usize, test: usize) -> Option<PredictionInterval> {
        let outcomes = self.outcomes.get(side)?.get(test)?;
        let NominalTest { left_out, headroom, .. } = outcomes.middle?;
        let base = outcomes.base?;
        let drawn = |of: fn(&ShortFigures, usize) -> Option<f64>, tail: usize| {
            outcomes
                .drawn
                .iter()
                .map(move |drawn| Some(of(drawn.as_ref()?, tail)? / of(&base, tail)?))
        };
        let mut interval = self.summary(drawn(|figures, _| Some(figures.rate), 0), left_out)?;
        interval.high_ratio = interval.high_ratio.min(headroom).max(1.0);
        // A slower draw completes fewer requests in its time. Without the slow draws, the interval would be too narrow.
        let is_in_all = |tail: &usize| {
            let mut drawn = outcomes.drawn.iter().flatten();
            outcomes.has_tails[*tail] && drawn.all(|figures| figures.tails[*tail].is_some())
        };
        let known = (0..TAILS.len()).filter(is_in_all);
        interval.percentiles = known
            .filter_map(|tail| {
                let drawn = drawn(|figures, tail| figures.tails[tail], tail);
                let PredictionInterval { low_ratio, high_ratio, .. } =
                    self.summary(drawn, left_out.of_latency())?;
                Some(PercentileInterval { percentile: TAILS[tail], low_ratio, high_ratio })
            })
            .collect();
        Some(interval)
    }

    /// Returns the interval of the throughput of test `test` on side 1, given the measurement on side 0. With `ratio`,
    /// the interval describes side 1 divided by side 0, and the values that both sides share vary together.
    pub(crate) fn carried_interval(
        &self,
        test: usize,
        ratio: bool,
        known: TransferredEvidence,
    ) -> Option<PredictionInterval> {
        let left_out = if known.is_full { FULL_LEFT_OUT } else { OWN_LEFT_OUT };
        let left_out = left_out.ln().hypot(SIDES_80 * known.chance).exp();
        if ratio {
            return self.paired_interval(test, left_out);
        }
        let [_, two] = self.both_sides(test)?;
        let after = two.base?.rate;
        let ratios = (0..DRAWS).map(|draw| Some(two.figures(draw)?.rate / after));
        self.summary(ratios, UnmodelledFactors::on_either_side(left_out))
    }

    /// Returns the interval of side 1 divided by side 0 in test `test`, relative to the ratio of the predictions. The
    /// values that both sides share vary together. `left_out` is the factor for the effects that the model omits.
    pub(crate) fn paired_interval(&self, test: usize, left_out: f64) -> Option<PredictionInterval> {
        let [one, two] = self.both_sides(test)?;
        let before = one.base?.rate;
        let after = two.base?.rate;
        let ratios = (0..DRAWS).map(|draw| {
            Some((two.figures(draw)?.rate / after) / (one.figures(draw)?.rate / before))
        });
        self.summary(ratios, UnmodelledFactors::on_either_side(left_out))
    }

    fn both_sides(&self, test: usize) -> Option<[&DrawnOutcomes; 2]> {
        Some([self.outcomes.first()?.get(test)?, self.outcomes.get(1)?.get(test)?])
    }

    /// Summarises draws relative to the middle, if enough of them result in valid systems.
    fn summary(
        &self,
        ratios: impl Iterator<Item = Option<f64>>,
        left_out: UnmodelledFactors,
    ) -> Option<PredictionInterval> {
        let drawn = ratios.zip(&self.deviations);
        // The rate of a draw without a completed request is unknown.
        let usable = |ratio: f64| (ratio.is_finite() && ratio > 0.0).then_some(ratio);
        let drawn = drawn.filter_map(|(ratio, row)| Some((usable(ratio?)?, row)));
        let drawn: Vec<(f64, &Vec<f64>)> = drawn.collect();
        let is_reported = drawn.len() >= DRAWS_TOLD && self.whole;
        let parameters: Vec<String> =
            self.columns.iter().map(|column| column.value.parameter.clone()).collect();
        is_reported.then(|| summary(&drawn, &parameters, left_out))
    }
}

/// Returns a number from an approximately standard normal distribution: the sum of twelve uniform numbers, minus six.
/// The tails of this distribution end at six.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// The factor for a drive or link that is the limit on both systems. The factor covers 80% of 42 published pairs. Each
/// pair is two measurements of one drive model, at its limit, in two machines (`docs/model/what-if.md`).
pub(crate) const FULL_LEFT_OUT: f64 = 1.034;
/// The factor for the ratio of two queue depths (`docs/model/what-if.md`).
pub(crate) const OF_DEPTH_LEFT_OUT: f64 = 1.22;

/// Returns the factor by which a measured figure may exceed the link formulas of `system`, at 80%.
pub(crate) fn above_formulas(system: &SystemSpec, known: TransferredEvidence) -> f64 {
    formula_margin(system) * (SIDES_80 * known.chance).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the draws of a test whose rate varies by a factor of two on both systems together.
    fn shared_draws() -> IntervalDraws {
        let figures = |rate: f64| ShortFigures { rate, tails: [None; TAILS.len()] };
        let of = |scale: f64| DrawnOutcomes {
            middle: None,
            base: Some(figures(scale)),
            drawn: (0..DRAWS)
                .map(|draw| Some(figures(scale * (1.0 + draw as f64 / DRAWS as f64))))
                .collect(),
            has_tails: [false; TAILS.len()],
            is_unaffected: false,
        };
        IntervalDraws {
            columns: Vec::new(),
            deviations: vec![Vec::new(); DRAWS],
            outcomes: vec![vec![of(100.0)], vec![of(30_000.0)]],
            whole: true,
        }
    }

    /// If both systems vary together, their ratio is known within the factor for unmodelled effects.
    #[test]
    fn values_that_both_systems_share_do_not_widen_their_ratio() {
        let draws = shared_draws();
        let known = TransferredEvidence { chance: 0.0, is_full: false };
        let ratio = draws.carried_interval(0, true, known).unwrap();
        assert!((ratio.high_ratio / OWN_LEFT_OUT - 1.0).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.low_ratio * OWN_LEFT_OUT - 1.0).abs() < 1e-9, "{ratio:?}");
        let alone = draws.carried_interval(0, false, known).unwrap();
        assert!(alone.high_ratio > 1.8, "{alone:?}");
    }

    /// The random error of a figure and the unmodelled effects are independent, so their squares are added.
    #[test]
    fn random_error_of_a_measured_figure_widens_its_interval() {
        let draws = shared_draws();
        for (is_full, left_out) in [(false, OWN_LEFT_OUT), (true, FULL_LEFT_OUT)] {
            let known = TransferredEvidence { chance: 0.2, is_full };
            let ratio = draws.carried_interval(0, true, known).unwrap();
            let expected = left_out.ln().hypot(SIDES_80 * 0.2);
            assert!((ratio.high_ratio.ln() / expected - 1.0).abs() < 1e-9, "{ratio:?}");
            assert!((ratio.low_ratio.ln() / -expected - 1.0).abs() < 1e-9, "{ratio:?}");
        }
    }

    #[test]
    fn only_times_of_the_platform_are_of_the_processor() {
        let is = |parameter: &str| {
            let value = UncertainValue {
                parameter: parameter.to_owned(),
                text: "1 us".to_owned(),
                range: lanemark_study::origin::ValueRange { low: 0.5, high: 2.0 },
            };
            UncertainColumn { of: "a".to_owned(), value }.is_of_processor()
        };
        assert!(is("platform.cpu.request_submit") && is("platform.nvme.driver_time"));
        assert!(is("platform.cpu.write_submit") && is("platform.cpu.request_complete"));
        for other in
            ["platform.cpu.wake", "drive.cpu.request_submit", "drive.flash.read", "platform"]
        {
            assert!(!is(other), "{other}");
        }
    }
}

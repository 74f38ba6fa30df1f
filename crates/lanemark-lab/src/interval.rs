//! The interval of a prediction: what it would be with other values where the model's are known only within a range.
//!
//! Every uncertain value of a system is drawn from its range many times, all at once and each for itself (the times of a
//! processor together, since a slow one is slow in all that it does), and a short version of each test is simulated with
//! each draw. What these tests bring, over what a short test with the values of the files brings, is the spread of the
//! prediction. What the model leaves out widens it by a factor, which was measured on drives that the library does not
//! have (METHOD.md).

use lanemark_core::result::{
    Calibration, HopId, PredictionInterval, RunResult, Sample, TestResult, Widest,
};
use lanemark_core::rng::{Rng, StreamKey};
use lanemark_core::sim::run_test_watched;
use lanemark_core::sim::spec::{ProtocolKind, SystemSpec};
use lanemark_core::units::Duration;
use lanemark_core::workload::{Asks, Test, Workload};
use lanemark_study::{Library, Location, System, Uncertain};

mod left_out;

use left_out::{LeftOut, OWN_LEFT_OUT};

use crate::error::LabError;
use crate::event::{Event, Watch};
use crate::lab::{Lab, assemble, setting};

/// Draws of the uncertain values. Ends of an 80% interval lie near the fourth from either end.
pub const DRAWS: usize = 32;
/// Draws that an interval needs. Some make no system: a hard disk with fewer sectors in its tracks, half of the draws, does
/// not hold its capacity. Where hardly any are left, the ranges contradict the rest of the system and tell nothing.
const DRAWS_TOLD: usize = DRAWS / 4;
/// Requests of a short test, and as many before it counts for each that may be outstanding.
const REQUESTS: u64 = 2_000;
/// Data of a short test in bytes, where its requests are long, and the least requests that it has.
const DATA: f64 = REQUESTS as f64 * 131_072.0;
const LEAST: f64 = 16.0;
/// The share of predictions that an interval holds.
pub const SHARE: f64 = 0.8;

/// A test cut to some thousand requests, given what the whole test brought.
fn shortened(test: &Test, requests_per_second: f64) -> Test {
    let mut short = test.clone();
    let outstanding = u64::from(test.queue_depth()) * u64::from(test.threads);
    let enough = (REQUESTS as f64).min(DATA / test.block_mean()).max(4.0 * outstanding as f64);
    let whole = test.volume.map_or(f64::INFINITY, |volume| volume.get() as f64 / test.block_mean());
    let seconds = enough.max(LEAST).min(whole) / requests_per_second.max(1e-3);
    let time = Duration::from_picoseconds((seconds * 1e12) as u64);
    short.ramp = test.ramp.min(time);
    short.duration = Some(test.duration.map_or(time, |whole| whole.min(time)));
    short.volume = None;
    short.rounds = None;
    short.interval = None;
    short
}

/// Returns whether a short version of a test of `workload` tells how its rate goes with the values of the system; of one
/// that runs beside another it does not.
pub(crate) fn may_be_drawn(workload: &Workload, test: &TestResult) -> bool {
    workload.runs_alone(&test.test)
        && matches!(test.test.asks, Asks::Requests(_) | Asks::Transactions(_))
        && test.iops.value > 0.0
}

/// Returns how many short tests give the tests of a result their intervals.
pub(crate) fn draws_of(result: &RunResult) -> usize {
    if !result.workload.faults.is_empty() || !result.complete {
        return 0;
    }
    let drawn = result.tests.iter().filter(|test| may_be_drawn(&result.workload, test));
    drawn.count() * (DRAWS + 1)
}

impl Lab {
    /// Gives each test of a simulated `result` the interval of its figures. Tests with faults, with a database's users or
    /// with a trace have none, and neither has a result whose computing was cancelled. `watch` is told of each short test.
    ///
    /// # Errors
    /// Where the system cannot be assembled.
    pub fn add_intervals(
        &self,
        subject: &Subject<'_>,
        result: &mut RunResult,
        watch: &mut Watch<'_>,
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

    /// Returns the interval of each test on `subject`, given the requests a second that each was predicted to bring; none of
    /// a test where computing was cancelled.
    ///
    /// # Errors
    /// Where the system cannot be assembled.
    pub fn intervals(
        &self,
        subject: &Subject<'_>,
        predicted: &[(Test, f64)],
        seed: u64,
    ) -> Result<Vec<Option<PredictionInterval>>, LabError> {
        let draws = self.draws(&[(*subject, predicted)], seed, &mut |_| ())?;
        Ok((0..predicted.len()).map(|test| draws.interval(0, test)).collect())
    }

    /// Simulates short versions of the tests of each of `sides` with values drawn from their ranges. A value that several
    /// sides have is the same on all of them in one draw.
    ///
    /// # Errors
    /// Where a system cannot be assembled.
    pub(crate) fn draws(
        &self,
        sides: &[(Subject<'_>, &[(Test, f64)])],
        seed: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Draws, LabError> {
        let bases: Vec<System> =
            sides.iter().map(|(subject, _)| subject.system()).collect::<Result<_, _>>()?;
        let mut columns: Vec<Column> = Vec::new();
        for ((subject, _), base) in sides.iter().zip(&bases) {
            for value in subject.uncertain(base) {
                let of = subject.part_of(&value.parameter);
                if !columns.iter().any(|one| one.of == of && one.value.parameter == value.parameter)
                {
                    columns.push(Column { of, value });
                }
            }
        }
        let key = |draw: u32| StreamKey { seed, test: u32::MAX, repeat: draw, thread: 0 };
        // A slow processor is slow in all that it does: its times are drawn together.
        let first_of_processor: Vec<usize> = columns
            .iter()
            .enumerate()
            .map(|(place, column)| {
                let same = |other: &Column| other.of == column.of && other.is_of_processor();
                let first = columns.iter().position(same);
                first.filter(|_| column.is_of_processor()).unwrap_or(place)
            })
            .collect();
        // A row of deviations for each draw, a column for each value; those of a draw are taken back by the next, so that
        // the middle of the draws is the prediction.
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
            let subject = Subject { library: &library, ..*subject };
            let drawn = deviations.iter().map(|row| subject.drawn(&columns, row));
            systems.push(drawn.collect::<Result<_, _>>()?);
        }
        // Each piece is a side, a test of it, and the values of the files or a draw.
        let pieces: Vec<(usize, usize, usize)> = sides
            .iter()
            .enumerate()
            .flat_map(|(side, (_, tests))| {
                let tests = 0..tests.len();
                tests.flat_map(move |test| (0..=DRAWS).map(move |draw| (side, test, draw)))
            })
            .collect();
        let tests: Vec<&[(Test, f64)]> = sides.iter().map(|(_, tests)| *tests).collect();
        let simulated = |piece: usize| {
            if self.cancel.is_cancelled() {
                return None;
            }
            let (side, test, draw) = pieces[piece];
            let system = draw
                .checked_sub(1)
                .map_or(Some(&bases[side]), |draw| systems[side][draw].as_ref())?;
            let key = StreamKey { seed, test: test as u32, repeat: 0, thread: 0 };
            let (test, rate) = &tests[side][test];
            let test = shortened(test, *rate).checked().ok()?;
            let go_on = &mut |_: &_| !self.cancel.is_cancelled();
            let sample = run_test_watched(&system.spec, &test, key, go_on).ok()?;
            let left_out = LeftOut::of(system, &test, &sample, *rate);
            let headroom = headroom(system, &sample);
            Some(Middle { rate: sample.iops(), left_out, headroom })
        };
        let total = pieces.len();
        let mut runs: Vec<Option<Middle>> = vec![None; total];
        let mut ended = 0;
        watch(Event::Drawn { ended, total });
        self.pool.each(
            total,
            || (),
            |(), piece, tell| {
                tell(simulated(piece));
            },
            |piece, run| {
                (runs[piece], ended) = (run, ended + 1);
                watch(Event::Drawn { ended, total });
                true
            },
        );
        let mut rates: Vec<Vec<Rates>> = sides.iter().map(|_| Vec::new()).collect();
        for (&(side, _, draw), run) in pieces.iter().zip(runs) {
            match draw {
                0 => rates[side].push(Rates { middle: run, drawn: Vec::with_capacity(DRAWS) }),
                _ => {
                    if let Some(test) = rates[side].last_mut() {
                        test.drawn.push(run.map(|run| run.rate));
                    }
                }
            }
        }
        let whole = !self.cancel.is_cancelled();
        Ok(Draws { columns, deviations, rates, whole })
    }
}

/// A system whose values are drawn: its name, with settings, and values that a fit knows within ranges.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// Library of the system's parts.
    pub library: &'s Library,
    /// Name of the system, `drive@platform:port`.
    pub name: &'s str,
    /// Values that are set otherwise than the library has them.
    pub settings: &'s [(Calibration, Location)],
    /// Values with ranges of their own, which take the place of the files' ranges.
    pub ranges: &'s [Uncertain],
}

impl Subject<'_> {
    /// The system with the values of its files. A range of a value that the system does not have is an error.
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

    /// The uncertain values of `system`. What is set is certain.
    fn uncertain(&self, system: &System) -> Vec<Uncertain> {
        let own = |value: &&Uncertain| {
            !self.ranges.iter().any(|other| other.parameter == value.parameter)
        };
        let free = |value: &Uncertain| {
            !self.settings.iter().any(|(setting, _)| setting.parameter == value.parameter)
        };
        let all = system.uncertain.iter().filter(own).chain(self.ranges).cloned();
        all.filter(free).collect()
    }

    /// Name of the drive or platform that has `parameter`.
    fn part_of(&self, parameter: &str) -> String {
        let (drive, rest) = self.name.split_once('@').unwrap_or((self.name, ""));
        let platform = rest.split_once(':').map_or(rest, |(platform, _)| platform);
        if parameter.starts_with("drive.") { drive } else { platform }.to_owned()
    }

    /// The system with each uncertain value so many deviations from its middle; none where such a system cannot be.
    fn drawn(&self, columns: &[Column], deviations: &[f64]) -> Result<Option<System>, LabError> {
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

/// An uncertain value of one or more sides.
#[derive(Clone, Debug)]
struct Column {
    /// Name of the drive or platform.
    of: String,
    value: Uncertain,
}

impl Column {
    /// Whether the value is a time that the host's processor works for a request.
    fn is_of_processor(&self) -> bool {
        let times = ["request_submit", "write_submit", "request_complete", "driver_time"];
        let key = self.value.parameter.rsplit('.').next();
        self.value.parameter.starts_with("platform.") && key.is_some_and(|key| times.contains(&key))
    }
}

/// Requests a second of a short test.
#[derive(Clone, Debug)]
struct Rates {
    /// The short test with the values of the files.
    middle: Option<Middle>,
    /// Requests a second of each draw; none of a draw that makes no system.
    drawn: Vec<Option<f64>>,
}

/// A short test with the values of the files.
#[derive(Clone, Copy, Debug)]
struct Middle {
    /// Requests a second.
    rate: f64,
    /// Between which factors 80% of predictions are for what the model leaves out.
    left_out: LeftOut,
    /// The highest rate that the links may carry, over this one.
    headroom: f64,
}

/// What is known of a figure that goes over to another system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The standard deviation of the logarithm of a figure for chance.
    pub(crate) chance: f64,
    /// Drive or link is the limit on the other system, and what it brings as the limit was measured.
    pub(crate) is_full: bool,
}

/// Short tests with values drawn from their ranges.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    columns: Vec<Column>,
    /// A row of deviations for each draw.
    deviations: Vec<Vec<f64>>,
    /// By side and test.
    rates: Vec<Vec<Rates>>,
    /// Computing was not cancelled.
    whole: bool,
}

impl Draws {
    /// Returns the interval of test `test` of `side`.
    pub(crate) fn interval(&self, side: usize, test: usize) -> Option<PredictionInterval> {
        let rates = self.rates.get(side)?.get(test)?;
        let Middle { rate, left_out, headroom } = rates.middle?;
        let mut interval =
            self.summary(rates.drawn.iter().map(|drawn| Some((*drawn)? / rate)), left_out)?;
        interval.high_ratio = interval.high_ratio.min(headroom).max(1.0);
        Some(interval)
    }

    /// Returns the interval of what test `test` brings on side 1, given what was measured on side 0; with `ratio` that
    /// of side 1 over side 0, in which the values of both go together.
    pub(crate) fn carried_interval(
        &self,
        test: usize,
        ratio: bool,
        known: Known,
    ) -> Option<PredictionInterval> {
        let [one, two] = [0, 1].map(|side| self.rates.get(side).and_then(|side| side.get(test)));
        let (one, two) = one.zip(two)?;
        let (before, after) = (one.middle?.rate, two.middle?.rate);
        let pairs = one.drawn.iter().zip(&two.drawn);
        let ratios = pairs.map(|(one, two)| {
            let drawn = (*two)? / after;
            Some(if ratio { drawn / ((*one)? / before) } else { drawn })
        });
        let left_out = if known.is_full { FULL_LEFT_OUT } else { OWN_LEFT_OUT };
        let left_out = left_out.ln().hypot(SIDES * known.chance).exp();
        self.summary(ratios, LeftOut::on_either_side(left_out))
    }

    /// Summarizes draws relative to the middle, where enough of them make systems.
    fn summary(
        &self,
        ratios: impl Iterator<Item = Option<f64>>,
        left_out: LeftOut,
    ) -> Option<PredictionInterval> {
        let drawn = ratios.zip(&self.deviations);
        let usable = |ratio: f64| ratio.is_finite().then_some(ratio.max(1e-9));
        let drawn = drawn.filter_map(|(ratio, row)| Some((usable(ratio?)?, row)));
        let drawn: Vec<(f64, &Vec<f64>)> = drawn.collect();
        let told = drawn.len() >= DRAWS_TOLD && self.whole;
        told.then(|| summary(&drawn, &self.columns, left_out))
    }
}

/// A number of the standard normal distribution (the sum of twelve uniform ones, less six; tails end at six).
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// The interval of what draws brought relative to the middle, each with its deviations, widened by what the model leaves
/// out.
fn summary(
    drawn: &[(f64, &Vec<f64>)],
    columns: &[Column],
    left_out: LeftOut,
) -> PredictionInterval {
    let logs: Vec<f64> = drawn.iter().map(|(ratio, _)| ratio.ln()).collect();
    let count = logs.len().max(1) as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / count;
    let mut sorted = logs.clone();
    sorted.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        let at = share * (sorted.len().saturating_sub(1)) as f64;
        let (low, part) = (at.floor() as usize, at.fract());
        let next = sorted.get(low + 1).or(sorted.get(low));
        sorted.get(low).zip(next).map_or(0.0, |(one, two)| one + part * (two - one))
    };
    let (low, high) = (quantile((1.0 - SHARE) / 2.0), quantile((1.0 + SHARE) / 2.0));
    let share = |column: usize| {
        let covariance: f64 =
            drawn.iter().zip(&logs).map(|((_, row), log)| row[column] * (log - mean)).sum::<f64>()
                / count;
        let own: f64 = drawn.iter().map(|(_, row)| row[column].powi(2)).sum::<f64>() / count;
        covariance.powi(2) / (own * variance).max(1e-30)
    };
    let widest = (variance > 1e-6)
        .then(|| (0..columns.len()).rev().map(|column| (column, share(column))))
        .and_then(|shares| shares.max_by(|one, two| one.1.total_cmp(&two.1)))
        .map(|(column, share)| Widest {
            parameter: columns[column].value.parameter.clone(),
            share: share.min(1.0),
        });
    let low_ratio = (-low.min(0.0).hypot(left_out.low.ln())).exp();
    let high_ratio = high.max(0.0).hypot(left_out.high.ln()).exp();
    PredictionInterval { low_ratio, high_ratio, widest }
}

/// The factor of a drive or link that is the limit on both systems: 80% of 42 published pairs, of drives of one model at
/// their limit in two machines, are within it (METHOD.md).
const FULL_LEFT_OUT: f64 = 1.034;
/// Deviations of a normal distribution on either side that hold 80%.
const SIDES: f64 = 1.2816;

/// How far above the law of its links a path may be: what the laws of SATA and SAS are met within, and what the next size of
/// payload gives over PCIe, since platforms seldom tell theirs.
const LAW: f64 = 1.03;
const LAW_PCIE: f64 = 1.1;

/// Returns how far above the law of its links a system may be.
fn law(system: &SystemSpec) -> f64 {
    match system.first().protocol.kind {
        ProtocolKind::Nvme => LAW_PCIE,
        _ => LAW,
    }
}

/// Returns how far above the law of the links of `system` a figure may be measured, by 80%.
pub(crate) fn above_law(system: &SystemSpec, known: Known) -> f64 {
    law(system) * (SIDES * known.chance).exp()
}

/// Returns the highest rate that the links of `system` may carry, over that of `sample`.
fn headroom(system: &System, sample: &Sample) -> f64 {
    let hops = sample.path.as_ref().map_or(&[][..], |path| &path.hops);
    let links = hops.iter().filter(|hop| matches!(hop.id, HopId::Link(_) | HopId::SecondLink(_)));
    let busiest = links.map(|hop| hop.utilisation).fold(0.0, f64::max);
    law(&system.spec) / busiest.clamp(1e-9, 1.0)
}

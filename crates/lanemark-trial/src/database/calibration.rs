//! The values that are calibrated before the measurement: the buffer, the time scale and the time that users spend
//! elsewhere. As in the study, each value depends only on the study's first system.
//!
//! - **Time scale.** This machine has fewer processors than the study's server. Therefore the drives are slowed by a
//!   factor: the rate that the study's processors reach when all are busy, divided by the rate that this machine's
//!   processors reach. The first rate is computed from published figures: the transaction rate divided by the busy
//!   share of the processors. The second rate is computed from the processor time of a transaction on this machine, in
//!   the server and the users. A first measurement uses a disk without latency. Trials on the slowed disk follow,
//!   because sessions that sleep and wake take more processor time, and because the disk's server uses processors that
//!   the study's drives do not use. The trials adjust the time scale so that, at the published rate, the remaining
//!   processors are as busy as published.
//! - **Buffer.** The first size is the study's share of the pages in use. Probes then find the size at which a
//!   transaction reads as much from the disk as the simulated transaction, because a different database spreads the
//!   same rows over different pages.
//! - **Time elsewhere.** The initial value is the study's value. A trial then sets it to the published time of a
//!   transaction, minus the time that a transaction on this machine spends on processors, on the disk and waiting for
//!   locks.

use std::time::Duration;

use lanemark_lab::LabError;
use lanemark_schema::result::StudyOutcome;

use super::study_parts::StudyParts;
use super::turn::{
    LoadedContents, ProcessorCost, TurnEnvironment, TurnOutcome, TurnParameters, TurnTimes,
    processor_us,
};
use crate::event::{TrialEvent, TrialObserver};

/// Maximum number of trials on the slowed disk.
const TRIALS: u32 = 3;
/// Accepted difference between the last two time scales, as a share.
const SETTLED: f64 = 0.05;
/// Maximum number of buffer sizes to probe.
const PROBES: u32 = 3;
/// Accepted deviation of reads, as a share.
const NEAR: f64 = 0.1;
/// Ramp and counted time of a probe on a disk without latency.
const PROBE: TurnTimes =
    TurnTimes { ramp: Duration::from_secs(8), duration: Duration::from_secs(8) };

/// The values that all turns share.
#[derive(Clone, Copy)]
pub(super) struct TurnValues {
    pub(super) scale: f64,
    /// Time elsewhere, in wall-clock time.
    pub(super) pause: Duration,
    pub(super) loaded: LoadedContents,
    /// Processor time of a transaction for the time scale, in microseconds.
    pub(super) processor_us: f64,
}

/// The inputs of these values.
pub(super) struct TurnCalibration<'s> {
    pub(super) time_scale: Option<f64>,
    pub(super) is_short: bool,
    pub(super) parts: &'s StudyParts,
    /// Ramp and duration of a turn.
    pub(super) times: TurnTimes,
    pub(super) bench: &'s TurnEnvironment,
    pub(super) simulated: &'s StudyOutcome,
}

impl TurnCalibration<'_> {
    /// Sets all values; returns `None` if the command was stopped.
    pub(super) fn set(
        &self,
        loaded: LoadedContents,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<TurnValues>, LabError> {
        let Some((loaded, time)) = self.buffer(loaded, observer)? else { return Ok(None) };
        let mut set = self.first(loaded, time)?;
        let mut cost = ProcessorCost { database_us: time, disk_us: 0.0, busy: 0.0 };
        for number in 1..=TRIALS {
            if self.is_short {
                break;
            }
            let before = set;
            let Some(outcome) = self.trial(number, &set, observer)? else { return Ok(None) };
            cost = ProcessorCost::from_turn(&outcome, cores()).ok_or_else(unknown)?;
            self.adjust(&mut set, &outcome, cost);
            observer(TrialEvent::Remark(&format!(
                "trial {number}, at a time scale of {:.2}: a transaction takes {:.1} µs of processor time ({:.1} µs \
                 without latency), and {:.1} µs in the disk's server; users now pause {:.1} ms instead of {:.1} ms",
                before.scale,
                cost.database_us,
                time,
                cost.disk_us,
                set.pause.as_secs_f64() * 1e3,
                before.pause.as_secs_f64() * 1e3
            )));
            if is_settled(set.scale, before.scale) {
                break;
            }
        }
        if let Some((rate, busy)) = self.parts.published(self.simulated) {
            observer(TrialEvent::Remark(&format!(
                "time scale {:.2}: the study's {:.3} M transactions per minute keep {:.0}% of {} processors busy, \
                 {:.1} µs per transaction; here a transaction takes {:.1} µs, and {:.1} µs in the disk's server, so {} \
                 processors reach {:.3} M if the processors that the disk's server leaves free are as busy",
                set.scale,
                rate / 1e6,
                100.0 * busy,
                self.parts.cores,
                f64::from(self.parts.cores) * 60e6 * busy / rate,
                cost.database_us,
                cost.disk_us,
                cores(),
                cost.rate(cores(), busy) / 1e6
            )));
        }
        Ok(Some(set))
    }

    /// Finds the buffer; also returns the processor time of a transaction without latency.
    fn buffer(
        &self,
        mut loaded: LoadedContents,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<(LoadedContents, f64)>, LabError> {
        let wanted = self.reads().filter(|_| !self.is_short);
        // The nearest size with too many reads, and the nearest with too few.
        let mut small = None;
        let mut large = (loaded.data_mib as f64, 0.0);
        for probe in 1.. {
            let name = format!("{} MiB buffer, without latency", loaded.buffer_mib);
            let turn = self.of_first(
                name,
                None,
                Duration::ZERO,
                if self.is_short { self.times } else { PROBE },
            );
            let Some(outcome) = self.bench.turn(&turn, loaded, observer)? else { return Ok(None) };
            let time = time_of(&outcome)?;
            let reads = outcome.sample.transactions.as_ref().and_then(|all| all.page_reads);
            let (Some(wanted), Some(reads)) = (wanted, reads) else {
                return Ok(Some((loaded, time)));
            };
            observer(TrialEvent::Remark(&format!(
                "{} MiB buffer: {reads:.2} reads per transaction, simulated {wanted:.2}",
                loaded.buffer_mib
            )));
            if probe >= PROBES || (reads / wanted - 1.0).abs() < NEAR {
                return Ok(Some((loaded, time)));
            }
            let here = (loaded.buffer_mib as f64, reads);
            if reads > wanted {
                small = Some(here);
            } else {
                large = here;
            }
            loaded.buffer_mib = next_size(wanted, small, large);
        }
        Ok(None)
    }

    /// Returns the values before any trial; they are computed from the study and from a transaction's processor time.
    fn first(&self, loaded: LoadedContents, processor_us: f64) -> Result<TurnValues, LabError> {
        let scale = match (self.time_scale, self.parts.published(self.simulated)) {
            (Some(given), _) => given,
            (None, Some((rate, busy))) => {
                let alone = ProcessorCost { database_us: processor_us, disk_us: 0.0, busy: 0.0 };
                rounded(rate / alone.rate(cores(), busy))
            }
            (None, None) => {
                return Err(LabError::input("the study lacks figures for a time scale"));
            }
        };
        let pause = Duration::from_secs_f64(self.parts.elsewhere.as_seconds() * scale);
        Ok(TurnValues { scale, pause, loaded, processor_us })
    }

    /// Runs an uncounted turn of the first system.
    fn trial(
        &self,
        number: u32,
        set: &TurnValues,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<TurnOutcome>, LabError> {
        let times = TurnTimes { duration: self.times.duration / 2, ..self.times };
        let turn = self.of_first(format!("trial {number}"), Some(set.scale), set.pause, times);
        self.bench.turn(&turn, set.loaded, observer)
    }

    /// Sets the time scale from the cost of a trial, and the time elsewhere from the remaining time.
    fn adjust(&self, set: &mut TurnValues, outcome: &TurnOutcome, cost: ProcessorCost) {
        let tried = *set;
        let Some((published, busy)) = self.parts.published(self.simulated) else { return };
        if self.time_scale.is_none() {
            set.scale = rounded(published / cost.rate(cores(), busy));
        }
        let rate = outcome.sample.transactions.as_ref().map_or(0.0, |all| all.per_minute);
        if rate > 0.0 {
            let users = f64::from(self.parts.users);
            let inside = users * 60.0 / rate - tried.pause.as_secs_f64();
            // The time that is not processor time scales with the drives.
            let worked = (cost.database_us * 1e-6).min(inside);
            let inside = worked + (inside - worked) * set.scale / tried.scale;
            let left = users * 60.0 / published * set.scale - inside;
            set.pause = Duration::from_secs_f64(left.max(0.0));
        }
    }

    fn of_first(
        &self,
        name: String,
        scale: Option<f64>,
        pause: Duration,
        times: TurnTimes,
    ) -> TurnParameters<'_> {
        TurnParameters {
            name,
            system: &self.parts.sides[0].arguments,
            scale,
            pause,
            times,
            number: 0,
        }
    }

    /// Returns the disk reads of a simulated transaction of the first system.
    fn reads(&self) -> Option<f64> {
        let is_first = |system: &&lanemark_schema::result::StudySystem| {
            system.name == self.parts.sides[0].name
        };
        let run = &self.simulated.systems.iter().find(is_first)?.run;
        let reads = run.tests.first()?.samples.first()?.transactions.as_ref()?.page_reads?;
        (reads > 0.0).then_some(reads)
    }
}

/// Returns the number of processors that this command may use.
pub(super) fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1, usize::from) as f64
}

fn rounded(scale: f64) -> f64 {
    (scale * 100.0).round() / 100.0
}

fn time_of(outcome: &TurnOutcome) -> Result<f64, LabError> {
    let time = processor_us(&outcome.sample).filter(|&time| time > 0.0);
    time.ok_or_else(unknown)
}

fn unknown() -> LabError {
    LabError::run("the processor time of PostgreSQL is unknown on this machine")
}

/// Returns the buffer size, in MiB, at which a transaction should read `wanted` times. The size is interpolated between
/// the nearest size with too many reads and the nearest size with too few reads; each size is paired with its reads.
fn next_size(wanted: f64, small: Option<(f64, f64)>, large: (f64, f64)) -> u64 {
    // If no smaller size is known, half of the larger size is assumed to cause twice the target number of reads.
    let least = small.unwrap_or((large.0 / 2.0, 2.0 * wanted));
    let most = large;
    let share = ((least.1 - wanted) / (least.1 - most.1).max(1e-9)).clamp(0.05, 0.95);
    ((least.0 + share * (most.0 - least.0)).round() as u64).max(1)
}

/// Returns whether a trial changed the time scale so little that no further trial is needed.
fn is_settled(scale: f64, before: f64) -> bool {
    (scale / before - 1.0).abs() < SETTLED
}

#[cfg(test)]
pub(super) mod tests;

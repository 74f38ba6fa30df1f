//! The values that are set before anything is measured: buffer, time scale and the time that users spend elsewhere. Each follows
//! from the first system of the study alone, as in the study itself.
//!
//! - **Time scale.** A machine has not the processors of the study's server. So the drives are made slower by as much as
//!   all processors of the study do more transactions in a second than all of this machine. The first is what is
//!   published: the rate over the share of processors that was busy. The second follows from the processor time of a
//!   transaction here: at first of the server and the users on a disk without latency. Then, since one whose sessions
//!   sleep and wake takes more, and the disk's server has a part of this machine that no drive takes of the study's, in
//!   trials on the slowed disk: so that at the published rate the processors which the disk's server leaves are as busy as
//!   published.
//! - **Buffer.** It has the study's share of the pages that users go to, and then the size at which a transaction reads as
//!   much from the disk as the simulated one. A database of another kind spreads the same rows over other pages.
//! - **Time elsewhere.** It is the study's, and then what the trial leaves: the published time of a transaction less what
//!   it took here at processors, disk and locks.

use std::time::Duration;

use lanemark_core::result::StudyOutcome;

use super::asked::Asked;
use super::turn::{Bench, Cost, Loaded, Took, Turn, processor_us};
use crate::failure::Failure;
use crate::progress::Progress;

/// Trials on the slowed disk, and how far the last two time scales may lie apart, as a share.
const TRIALS: u32 = 3;
const SETTLED: f64 = 0.05;
/// Sizes of the buffer that are tried.
const PROBES: u32 = 3;
/// Deviation of reads at which a size is near enough, as a share.
const NEAR: f64 = 0.1;
/// Time of a probe without latency: until it counts, and that counts.
const PROBE: (Duration, Duration) = (Duration::from_secs(8), Duration::from_secs(8));

/// The values that turns run with.
#[derive(Clone, Copy)]
pub(super) struct Set {
    pub(super) scale: f64,
    /// Time elsewhere, by the wall clock.
    pub(super) pause: Duration,
    pub(super) loaded: Loaded,
    /// Processor time of a transaction that the time scale is set by, in microseconds.
    pub(super) processor_us: f64,
}

/// All that these values follow from.
pub(super) struct Setting<'s> {
    /// The time scale that was asked for.
    pub(super) time_scale: Option<f64>,
    pub(super) is_short: bool,
    pub(super) asked: &'s Asked,
    /// Ramp and duration of a turn.
    pub(super) times: (Duration, Duration),
    pub(super) bench: &'s Bench,
    pub(super) simulated: &'s StudyOutcome,
}

impl Setting<'_> {
    /// Sets everything; nothing where that was stopped.
    pub(super) fn set(
        &self,
        loaded: Loaded,
        progress: &mut Progress,
    ) -> Result<Option<Set>, Failure> {
        let Some((loaded, time)) = self.buffer(loaded, progress)? else { return Ok(None) };
        let mut set = self.first(loaded, time)?;
        let mut cost = Cost { database_us: time, disk_us: 0.0, busy: 0.0 };
        for number in 1..=TRIALS {
            if self.is_short {
                break;
            }
            let before = set;
            let Some(took) = self.trial(number, &set, progress)? else { return Ok(None) };
            cost = Cost::of(&took, cores()).ok_or_else(unknown)?;
            self.adjust(&mut set, &took, cost);
            progress.note(&format!(
                "trial {number}, at a time scale of {:.2}: {:.1} us of processors a transaction, {:.1} without latency, and \
                 {:.1} of the disk's server; users pause {:.1} ms, not {:.1}",
                before.scale,
                cost.database_us,
                time,
                cost.disk_us,
                set.pause.as_secs_f64() * 1e3,
                before.pause.as_secs_f64() * 1e3
            ));
            if (set.scale / before.scale - 1.0).abs() < SETTLED {
                break;
            }
        }
        if let Some((rate, busy)) = self.asked.published(self.simulated) {
            progress.note(&format!(
                "time scale {:.2}: published are {:.3} M transactions a minute with {:.0}% of {} processors busy, {:.1} us of \
                 them each; here each takes {:.1} us, and {:.1} of the disk's server, so with as much of what that leaves of {} \
                 processors {:.3} M are done",
                set.scale,
                rate / 1e6,
                100.0 * busy,
                self.asked.cores,
                f64::from(self.asked.cores) * 60e6 * busy / rate,
                cost.database_us,
                cost.disk_us,
                cores(),
                cost.rate(cores(), busy) / 1e6
            ));
        }
        Ok(Some(set))
    }

    /// Finds the buffer; returns the processor time of a transaction without latency too.
    fn buffer(
        &self,
        mut loaded: Loaded,
        progress: &mut Progress,
    ) -> Result<Option<(Loaded, f64)>, Failure> {
        let wanted = self.reads().filter(|_| !self.is_short);
        // A size at which too much is read, and one at which too little is.
        let (mut small, mut large) = (None, (loaded.data_mib as f64, 0.0));
        for probe in 1.. {
            let name = format!("a buffer of {} MiB without latency", loaded.buffer_mib);
            let turn = self.of_first(
                name,
                None,
                Duration::ZERO,
                if self.is_short { self.times } else { PROBE },
            );
            let Some(took) = self.bench.turn(&turn, loaded, progress)? else { return Ok(None) };
            let time = time_of(&took)?;
            let reads = took.sample.transactions.as_ref().and_then(|all| all.page_reads);
            let (Some(wanted), Some(reads)) = (wanted, reads) else {
                return Ok(Some((loaded, time)));
            };
            progress.note(&format!(
                "a buffer of {} MiB: {reads:.2} reads a transaction, simulated are {wanted:.2}",
                loaded.buffer_mib
            ));
            if probe >= PROBES || (reads / wanted - 1.0).abs() < NEAR {
                return Ok(Some((loaded, time)));
            }
            let here = (loaded.buffer_mib as f64, reads);
            match reads > wanted {
                true => small = Some(here),
                false => large = here,
            }
            // Without a smaller one, half of this.
            let (least, most) = (small.unwrap_or((large.0 / 2.0, 2.0 * wanted)), large);
            let share = ((least.1 - wanted) / (least.1 - most.1).max(1e-9)).clamp(0.05, 0.95);
            loaded.buffer_mib = ((least.0 + share * (most.0 - least.0)).round() as u64).max(1);
        }
        Ok(None)
    }

    /// The values before any trial, by the study and a transaction's processor time.
    fn first(&self, loaded: Loaded, processor_us: f64) -> Result<Set, Failure> {
        let scale = match (self.time_scale, self.asked.published(self.simulated)) {
            (Some(given), _) => given,
            (None, Some((rate, busy))) => {
                let alone = Cost { database_us: processor_us, disk_us: 0.0, busy: 0.0 };
                rounded(rate / alone.rate(cores(), busy))
            }
            (None, None) => return Err(Failure::input("there is nothing to set a time scale by")),
        };
        let pause = Duration::from_secs_f64(self.asked.elsewhere.as_seconds() * scale);
        Ok(Set { scale, pause, loaded, processor_us })
    }

    /// A turn of the first system that is not counted.
    fn trial(
        &self,
        number: u32,
        set: &Set,
        progress: &mut Progress,
    ) -> Result<Option<Took>, Failure> {
        let times = (self.times.0, self.times.1 / 2);
        let turn = self.of_first(format!("trial {number}"), Some(set.scale), set.pause, times);
        self.bench.turn(&turn, set.loaded, progress)
    }

    /// Sets the time scale anew by the cost of a trial, and the time elsewhere by what it left.
    fn adjust(&self, set: &mut Set, took: &Took, cost: Cost) {
        let tried = *set;
        let Some((published, busy)) = self.asked.published(self.simulated) else { return };
        if self.time_scale.is_none() {
            set.scale = rounded(published / cost.rate(cores(), busy));
        }
        let rate = took.sample.transactions.as_ref().map_or(0.0, |all| all.per_minute);
        if rate > 0.0 {
            let users = f64::from(self.asked.users);
            let inside = users * 60.0 / rate - tried.pause.as_secs_f64();
            // What takes no processor goes with the drives.
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
        (ramp, duration): (Duration, Duration),
    ) -> Turn<'_> {
        Turn {
            name,
            system: &self.asked.sides[0].arguments,
            scale,
            pause,
            ramp,
            duration,
            number: 0,
        }
    }

    /// Reads of the disk of a simulated transaction of the first system.
    fn reads(&self) -> Option<f64> {
        let own =
            |system: &&lanemark_core::result::StudySystem| system.name == self.asked.sides[0].name;
        let run = &self.simulated.systems.iter().find(own)?.run;
        let reads = run.tests.first()?.samples.first()?.transactions.as_ref()?.page_reads?;
        (reads > 0.0).then_some(reads)
    }
}

/// Processors that this command may use.
pub(super) fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1, usize::from) as f64
}

fn rounded(scale: f64) -> f64 {
    (scale * 100.0).round() / 100.0
}

fn time_of(took: &Took) -> Result<f64, Failure> {
    let time = processor_us(&took.sample).filter(|&time| time > 0.0);
    time.ok_or_else(unknown)
}

fn unknown() -> Failure {
    Failure::run("the processor time of PostgreSQL is not known here")
}

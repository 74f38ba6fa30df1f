//! A recorded trace replayed on a simulated system.
//!
//! In open loop a request is submitted at its recorded time, divided by the speed, whether or not those
//! before it are complete, and its latency counts from that time. At most [`OUTSTANDING_MAX`] requests, or
//! [`OUTSTANDING_BYTES_MAX`] of them, are outstanding; behind them the trace waits, and that waiting is part of
//! the latency and a hop of its own in the path. As fast as possible means closed loop: the next request is
//! submitted when one of those outstanding is complete, and times do not count.
//!
//! The trace is pulled one request at a time, so what is held does not grow with it. A request before
//! its predecessor comes with it.
//!
//! Not modelled: what the recorded requests waited for. A trace does not tell that a request was issued
//! only because another had ended, so a slower system gets in open loop what its users would not have asked.

mod run;

use std::str::FromStr;

use super::Progress;
use super::simulator::SimError;
use super::spec::CheckedSystem;
use crate::result::Sample;
use crate::units::{Bytes, Instant};
use crate::workload::{Arrival, BLOCK_MAX, QUEUE_DEPTH_MAX, Test};
use run::Run;

/// The most requests outstanding in open loop: as many as the deepest queue of a test.
pub const OUTSTANDING_MAX: u32 = QUEUE_DEPTH_MAX;
/// The most data of requests outstanding in open loop, though one request may be longer by itself: what is held
/// of a request grows with the commands that it is split into.
pub const OUTSTANDING_BYTES_MAX: Bytes = Bytes(8 << 30);
/// Number of requests that are replayed between two looks at whether to go on.
const WATCH_EVERY: u64 = 1 << 14;

/// Settings of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Pace of the requests.
    pub pace: Pace,
    /// Requests behind the end of their drive are moved into it, by the remainder of their offset.
    pub wrap: bool,
    /// Bytes of the volume or of each drive, from its start, that lie written when the replay begins.
    pub laid_out: Bytes,
    /// The seed of what happens by chance inside the drives.
    pub seed: u64,
}

/// The pace at which the requests of a trace are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Requests at their recorded times, made faster or slower.
    Recorded(Speed),
    /// Requests as soon as there is room.
    AsFastAsPossible {
        /// Requests outstanding.
        queue_depth: u32,
    },
}

/// Speed of a replay as a multiple of the recorded one, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(u64);

/// The outcome of a replay.
#[derive(Clone, Debug)]
pub struct ReplayRun {
    /// The figures.
    pub sample: Sample,
    /// The trace, summed up as a test.
    pub test: Test,
}

/// A reason why a replay cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError<E> {
    /// The trace cannot be read.
    Trace(E),
    /// A request cannot be submitted.
    Request {
        /// Line of the request in the trace.
        line: u64,
        /// Reason why the request cannot be submitted.
        fault: RequestFault,
    },
    /// The system cannot go on.
    Sim(SimError),
}

/// A reason why a request of a trace cannot be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// A request without a time, where times count.
    #[error("the request has no time")]
    Untimed,
    /// A request later than the simulation can tell.
    #[error("at this speed the request comes later than 200 days after the first")]
    TooLate,
    /// A request of a device that no drive stands for.
    #[error("the request is of the trace's device number {}, and the system has {drives}", device + 1)]
    NoDrive {
        /// Number of the device in the trace, from 0.
        device: u32,
        /// Drives of the system.
        drives: usize,
    },
    /// A request that ends behind the end of its drive.
    #[error("a request at {offset} of {length} ends behind the drive's {capacity}")]
    OutOfRange {
        /// Offset of the request.
        offset: Bytes,
        /// Length of the request.
        length: Bytes,
        /// Capacity of the drive.
        capacity: Bytes,
    },
    /// A request longer than any may be.
    #[error("a request of {length} is longer than {}", BLOCK_MAX)]
    TooLong {
        /// Length of the request.
        length: Bytes,
    },
}

impl Speed {
    /// The recorded speed.
    pub const RECORDED: Self = Self(1_000_000);

    /// The factor.
    pub fn factor(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns the instant `at` at this speed, where it can be told.
    fn scale(self, at: Instant) -> Option<Instant> {
        let scaled = u128::from(at.picoseconds()) * 1_000_000 / u128::from(self.0);
        let scaled = u64::try_from(scaled).ok().map(Instant::from_picoseconds)?;
        (scaled <= Instant::END).then_some(scaled)
    }
}

impl FromStr for Speed {
    type Err = String;

    /// Reads a factor and an x, `2x` or `0.5x`.
    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || "write it as a factor from 0.001x to 1000000x, such as 2x or 0.5x".to_owned();
        let factor = text.strip_suffix('x').ok_or_else(fail)?;
        let (whole, fraction) = factor.split_once('.').unwrap_or((factor, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 6 || whole.len() > 7 {
            return Err(fail());
        }
        let millionths = format!("{whole}{fraction:0<6}").parse().map_err(|_| fail())?;
        if !(1_000..=1_000_000_000_000).contains(&millionths) {
            return Err(fail());
        }
        Ok(Self(millionths))
    }
}

/// Replays `arrivals` on `spec`, device i of the trace on drive i, or the one device on the volume. `watch` sees now and then how far it is,
/// and ends the replay by returning false; what was complete by then is the result.
///
/// # Errors
/// [`ReplayError`] at the first request that cannot be read or submitted, or where the system cannot go on.
pub fn replay<E>(
    spec: &CheckedSystem,
    plan: &Replay,
    arrivals: impl IntoIterator<Item = Result<Arrival, E>>,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<ReplayRun, ReplayError<E>> {
    let mut run = Run::new(spec, plan);
    let mut complete = true;
    for arrival in arrivals {
        let arrival = arrival.map_err(ReplayError::Trace)?;
        run.submit(&arrival)?;
        let progress = run.progress();
        if progress.requests.is_multiple_of(WATCH_EVERY) && !watch(&progress) {
            complete = false;
            break;
        }
    }
    if complete {
        run.drain()?;
    }
    Ok(run.end(spec, complete))
}

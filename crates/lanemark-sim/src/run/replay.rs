//! A recorded trace replayed on a simulated system.
//!
//! In an open loop, a request is submitted at its recorded time, divided by the speed, regardless of whether earlier
//! requests are complete, and its latency is measured from that time. Up to [`OUTSTANDING_MAX`] requests and
//! [`OUTSTANDING_BYTES_MAX`] bytes can be outstanding; above these limits the trace waits, and this wait is part of the
//! latency and a separate hop in the path. The pace "as fast as possible" means a closed loop: the next request is
//! submitted when an outstanding request completes, and recorded times are ignored.
//!
//! The trace is read one request at a time, so memory use does not grow with the length of the trace. A request whose
//! time is before the time of its predecessor is submitted together with its predecessor.
//!
//! Not modelled: dependencies between the recorded requests. A trace does not show that a request was issued only
//! because another had ended, so in an open loop a slower system receives requests that its users would not have issued
//! yet.

mod run;

use std::str::FromStr;

use crate::run::progress::Progress;
use crate::simulator::SimError;
use crate::spec::CheckedSystem;
use lanemark_schema::result::Sample;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::bound::{BLOCK, QUEUE_DEPTH};
use lanemark_schema::workload::{Access, Test, TraceArrival};
use run::RunningReplay;

/// Maximum number of outstanding requests in an open loop: the maximum queue depth of a test.
pub const OUTSTANDING_MAX: u32 = QUEUE_DEPTH.max;
/// Maximum amount of data of the outstanding requests in an open loop; a single request may be longer. There is a limit
/// because the memory for a request grows with the number of its commands.
pub const OUTSTANDING_BYTES_MAX: Bytes = Bytes(8 << 30);
/// Number of requests replayed between two calls of `watch`.
const WATCH_EVERY: u64 = 1 << 14;
/// Number of requests replayed between two checks of the memory. A request may write a large amount of data.
const MEMORY_EVERY: u64 = 1 << 7;

/// Settings of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaySettings {
    /// Pace of the requests.
    pub pace: Pace,
    /// Whether requests beyond the end of their drive are wrapped: their offset is taken modulo the drive's capacity.
    pub wrap: bool,
    /// Length of the data, from the start of the volume or of each drive, that is already written when the replay
    /// begins.
    pub laid_out: Bytes,
    /// The seed of random events inside the drives.
    pub seed: u64,
}

/// The pace at which the requests of a trace are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Requests are submitted at their recorded times, divided by a speed.
    Recorded(Speed),
    /// Requests are submitted as soon as there is room.
    AsFastAsPossible {
        /// Number of outstanding requests.
        queue_depth: u32,
    },
}

/// Speed of a replay as a multiple of the recorded speed, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(u64);

/// The outcome of a replay.
#[derive(Clone, Debug)]
pub struct ReplayRun {
    /// The results of the replay.
    pub sample: Sample,
    /// A summary of the trace, as a test.
    pub test: Test,
}

/// A request of a trace that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedRequest {
    /// The time from which the latency is measured: when the request was due or, in a closed loop, submitted.
    pub at: Instant,
    /// The request.
    pub access: Access,
    /// Latency of the request; `None` if the request failed.
    pub latency: Option<Duration>,
}

/// A reason why a replay cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError<E> {
    /// The trace cannot be read.
    Trace(E),
    /// A request cannot be submitted.
    Request {
        /// Line of the request in the trace.
        line: u64,
        /// Reason why the request cannot be submitted.
        fault: RequestRefusal,
    },
    /// The simulation cannot continue.
    Sim(SimError),
}

/// A reason why a request of a trace cannot be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefusal {
    /// The request lacks a recorded time, but the replay uses recorded times.
    #[error("the request lacks a time")]
    Untimed,
    /// The time of the request is after the end of simulated time.
    #[error("at this speed the request is due more than 200 days after the first")]
    TooLate,
    /// There is no drive that corresponds to the device of the request.
    #[error("the request belongs to the trace's device number {}, but the system has {drives}", device + 1)]
    NoDrive {
        /// Number of the device in the trace, from 0.
        device: u32,
        /// Number of drives of the system.
        drives: usize,
    },
    /// The request ends after the end of its drive.
    #[error("a request at {offset} of {length} ends beyond the drive's {capacity}")]
    OutOfRange {
        /// Offset of the request.
        offset: Bytes,
        /// Length of the request.
        length: Bytes,
        /// Capacity of the drive.
        capacity: Bytes,
    },
    /// The request is longer than the maximum.
    #[error("a request of {length} is longer than {}", BLOCK.max)]
    TooLong {
        /// Length of the request.
        length: Bytes,
    },
}

impl Speed {
    /// The recorded speed.
    pub const RECORDED: Self = Self(1_000_000);

    /// Returns the speed as a factor.
    pub fn factor(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns the recorded instant `at` divided by the speed, unless the result overflows.
    fn scale(self, at: Instant) -> Option<Instant> {
        let scaled = u128::from(at.picoseconds()) * 1_000_000 / u128::from(self.0);
        let scaled = u64::try_from(scaled).ok().map(Instant::from_picoseconds)?;
        (scaled <= Instant::END).then_some(scaled)
    }
}

impl FromStr for Speed {
    type Err = String;

    /// Parses a factor followed by an x, such as `2x` or `0.5x`.
    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || "expected a factor from 0.001x to 1000000x, such as 2x or 0.5x".to_owned();
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

/// Replays `arrivals` on `spec`: device i of the trace on drive i, or the only device on the volume. `watch` receives
/// the progress at intervals, and can end the replay by returning false; the result then covers the requests completed
/// up to that point. `each` receives every request when it has ended.
///
/// # Errors
/// Returns a [`ReplayError`] at the first request that cannot be read or submitted, or if the simulation cannot
/// continue.
pub fn replay<E>(
    spec: &CheckedSystem,
    plan: &ReplaySettings,
    arrivals: impl IntoIterator<Item = Result<TraceArrival, E>>,
    watch: &mut dyn FnMut(&Progress) -> bool,
    each: &mut dyn FnMut(&ReplayedRequest),
) -> Result<ReplayRun, ReplayError<E>> {
    let mut run = RunningReplay::new(spec, plan, each);
    let mut complete = true;
    for arrival in arrivals {
        let arrival = arrival.map_err(ReplayError::Trace)?;
        run.submit(&arrival)?;
        let progress = run.progress();
        if progress.requests.is_multiple_of(MEMORY_EVERY) {
            run.check_memory()?;
        }
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

//! The source of a thread's requests and their due times: drawn from a test, or read from a trace.
//!
//! Another thread reads a trace, a few thousand requests ahead. If it is too slow, the requests are submitted late,
//! and the lateness is reported.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use lanemark_schema::rng::StreamKey;
use lanemark_schema::workload::{Access, Accesses, Arrival, Schedule, Test};

use crate::error::MeasureError;

/// Number of requests of a trace that are read in advance.
const AHEAD: usize = 8192;

/// The requests of one thread.
pub(crate) enum Source {
    Drawn { accesses: Accesses, schedule: Option<Schedule> },
    Trace(TraceSource),
}

/// The requests of a trace.
pub(crate) struct TraceSource {
    arrivals: Receiver<Arrival>,
    next: Option<Arrival>,
    /// Speed as a multiple of the recorded speed; `None` for as fast as possible.
    speed: Option<f64>,
}

/// Creates a channel for a trace and returns its sender and its source.
pub(crate) fn trace(speed: Option<f64>) -> (SyncSender<Arrival>, TraceSource) {
    let (sender, arrivals) = sync_channel(AHEAD);
    (sender, TraceSource { arrivals, next: None, speed })
}

impl Source {
    /// Creates the source of the requests that `test` defines.
    ///
    /// # Errors
    /// Returns [`MeasureError::Transactions`] or [`MeasureError::TraceAlone`] if the test defines no requests.
    pub(crate) fn of_test(test: &Test, key: StreamKey) -> Result<Self, MeasureError> {
        let accesses = Accesses::new(test, key).ok_or_else(|| MeasureError::unasked(test))?;
        Ok(Self::Drawn { accesses, schedule: Schedule::new(test, key) })
    }

    /// Returns whether requests have due times.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Drawn { schedule, .. } => schedule.is_some(),
            Self::Trace(trace) => trace.speed.is_some(),
        }
    }

    /// Returns the due time of the next request for a slot that is free from `rested_ns` on; `None` after the last
    /// request.
    pub(crate) fn due_ns(&mut self, begun_ns: u64, rested_ns: u64) -> Option<u64> {
        match self {
            Self::Drawn { accesses, schedule: Some(schedule) } if !accesses.is_flush_next() => {
                Some(begun_ns + schedule.next_due().nanoseconds())
            }
            Self::Drawn { .. } => Some(rested_ns),
            Self::Trace(trace) => {
                let next = trace.peek()?;
                let at_ns = next.at.map(|at| at.picoseconds() as f64 / 1e3);
                Some(match (trace.speed, at_ns) {
                    (Some(speed), Some(at_ns)) => begun_ns + (at_ns / speed) as u64,
                    _ => rested_ns,
                })
            }
        }
    }

    /// Takes the request that is due; one must exist.
    pub(crate) fn take(&mut self) -> Option<Access> {
        match self {
            Self::Drawn { accesses, schedule } => {
                if let Some(schedule) = schedule
                    && !accesses.is_flush_next()
                {
                    schedule.advance();
                }
                Some(accesses.next_access())
            }
            Self::Trace(trace) => {
                trace.peek()?;
                trace.next.take().map(|arrival| arrival.access)
            }
        }
    }
}

impl TraceSource {
    fn peek(&mut self) -> Option<Arrival> {
        if self.next.is_none() {
            // The reader has ended if the channel delivers no more requests.
            self.next = self.arrivals.recv().ok();
        }
        self.next
    }
}

//! The source of a thread's requests and their due times: drawn from a test, or read from a trace.
//!
//! A trace is read by another thread, some thousands of requests ahead; where it comes too late all the same, the
//! requests are late by their own fault and told to be so.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use lanemark_core::rng::StreamKey;
use lanemark_core::workload::{Access, Accesses, Arrival, Schedule, Test};

use crate::error::MeasureError;

/// Number of requests of a trace that are read ahead.
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
    /// Speed as a multiple of the recorded one; none for as fast as possible.
    speed: Option<f64>,
}

/// Creates a channel for a trace: its sending end, and its source.
pub(crate) fn trace(speed: Option<f64>) -> (SyncSender<Arrival>, TraceSource) {
    let (sender, arrivals) = sync_channel(AHEAD);
    (sender, TraceSource { arrivals, next: None, speed })
}

impl Source {
    /// The requests that `test` asks for by itself.
    ///
    /// # Errors
    /// [`MeasureError::Transactions`] or [`MeasureError::TraceAlone`] where it asks for none.
    pub(crate) fn drawn(test: &Test, key: StreamKey) -> Result<Self, MeasureError> {
        let accesses = Accesses::new(test, key).ok_or_else(|| MeasureError::unasked(test))?;
        Ok(Self::Drawn { accesses, schedule: Schedule::new(test, key) })
    }

    /// Whether requests have times of their own.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Drawn { schedule, .. } => schedule.is_some(),
            Self::Trace(trace) => trace.speed.is_some(),
        }
    }

    /// Returns the due time of the next request, for a slot that rested until or since `rested_ns`; none where there is
    /// no more.
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

    /// The request that is due; there must be one.
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
            // Whoever reads ahead has ended where nothing comes any more.
            self.next = self.arrivals.recv().ok();
        }
        self.next
    }
}

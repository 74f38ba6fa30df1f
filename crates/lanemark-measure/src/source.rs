//! The source of a thread's requests and due times, which are drawn from a test or read from a trace.
//!
//! Another thread reads the trace, a few thousand requests ahead. If this thread is too slow, requests are submitted
//! late, and the lateness is reported.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use lanemark_schema::rng::StreamKey;
use lanemark_schema::workload::{Access, Accesses, ArrivalSchedule, Test, TraceArrival};

use crate::error::MeasureError;

/// Number of requests of a trace that are read in advance.
const AHEAD: usize = 8192;

pub(crate) enum RequestSource {
    Drawn { accesses: Accesses, schedule: Option<ArrivalSchedule> },
    Trace(TraceSource),
}

pub(crate) struct TraceSource {
    arrivals: Receiver<TraceArrival>,
    next: Option<TraceArrival>,
    /// Speed as a multiple of the recorded speed; `None` for as fast as possible.
    speed: Option<f64>,
}

/// Creates a channel for a trace, and returns the sender and the source.
pub(crate) fn trace_channel(speed: Option<f64>) -> (SyncSender<TraceArrival>, TraceSource) {
    let (sender, arrivals) = sync_channel(AHEAD);
    (sender, TraceSource { arrivals, next: None, speed })
}

impl RequestSource {
    /// Creates the source of the requests that `test` defines.
    ///
    /// # Errors
    /// Returns [`MeasureError::Transactions`] or [`MeasureError::TraceAlone`] if the test does not define requests.
    pub(crate) fn of_test(test: &Test, key: StreamKey) -> Result<Self, MeasureError> {
        let accesses = Accesses::new(test, key).ok_or_else(|| MeasureError::unasked(test))?;
        Ok(Self::Drawn { accesses, schedule: ArrivalSchedule::new(test, key) })
    }

    /// Returns whether requests have due times.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Drawn { schedule, .. } => schedule.is_some(),
            Self::Trace(trace) => trace.speed.is_some(),
        }
    }

    /// Returns the due time of the next request for a slot that is free since `rested_ns`; `None` after the last
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
    fn peek(&mut self) -> Option<TraceArrival> {
        if self.next.is_none() {
            // When the channel delivers no more requests, the reader has ended.
            self.next = self.arrivals.recv().ok();
        }
        self.next
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::{Bytes, Duration, Instant};
    use lanemark_schema::workload::{ArrivalProcess, Load, Operation};

    use super::*;

    const KEY: StreamKey = StreamKey { seed: 3, test: 0, repeat: 0, thread: 0 };

    #[test]
    fn requests_of_a_trace_are_due_at_their_times_over_the_speed() {
        let arrival = |at_us: Option<u64>, block: u64| TraceArrival {
            at: at_us.map(|us| Instant::from_picoseconds(us * 1_000_000)),
            device: 0,
            thread: 0,
            line: 1,
            access: Access {
                operation: Operation::Write,
                offset: Bytes(block * 4_096),
                length: Bytes::kibi(4),
            },
        };
        for (speed, due) in [(Some(1.0), [7_000, 57_000]), (Some(4.0), [7_000, 19_500])] {
            let (sender, trace) = trace_channel(speed);
            sender.send(arrival(Some(0), 5)).unwrap();
            sender.send(arrival(Some(50), 6)).unwrap();
            sender.send(arrival(None, 7)).unwrap();
            drop(sender);
            let mut source = RequestSource::Trace(trace);
            assert!(source.is_open());
            for (block, due) in [5, 6].into_iter().zip(due) {
                // The request remains the next request until it is taken.
                assert_eq!(source.due_ns(7_000, 99), Some(due));
                assert_eq!(source.due_ns(7_000, 98), Some(due));
                assert_eq!(source.take().unwrap().offset, Bytes(block * 4_096));
            }
            assert_eq!(source.due_ns(7_000, 99), Some(99), "a request without a time");
            assert!(source.take().is_some());
            assert_eq!((source.due_ns(7_000, 99), source.take().is_none()), (None, true));
        }
        let (sender, trace) = trace_channel(None);
        sender.send(arrival(Some(50), 6)).unwrap();
        let mut source = RequestSource::Trace(trace);
        assert!(!source.is_open());
        assert_eq!(source.due_ns(7_000, 123), Some(123));
    }

    #[test]
    fn drawn_requests_are_due_when_a_slot_is_free_or_by_the_schedule() {
        let mut closed = Test::of_blocks(Bytes::kibi(4));
        closed.duration = Some(Duration::from_seconds(1));
        let open = closed.clone().with(|requests| {
            requests.load = Load::Open { rate_per_second: 1_000.0, process: ArrivalProcess::Even };
        });
        let mut source = RequestSource::of_test(&closed, KEY).unwrap();
        assert!(!source.is_open());
        assert_eq!((source.due_ns(5, 77), source.due_ns(5, 88)), (Some(77), Some(88)));
        let mut source = RequestSource::of_test(&open, KEY).unwrap();
        assert!(source.is_open());
        // There is one request a millisecond, regardless of the slots.
        let first = source.due_ns(500, 77).unwrap();
        assert_eq!(source.due_ns(500, 99), Some(first));
        source.take().unwrap();
        assert_eq!(source.due_ns(500, 77), Some(first + 1_000_000));
        assert_eq!(source.due_ns(600, 77), Some(first + 1_000_100));
    }
}

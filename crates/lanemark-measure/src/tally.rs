//! The counts of one thread: requests by operation and over time, and how well their times were kept.

use lanemark_core::result::series::Recorder;
use lanemark_core::result::{DirectionResult, LatencyHistogram, Punctuality, RequestErrors};
use lanemark_core::units::{Bytes, Duration};
use lanemark_core::workload::{Operation, Test};

use crate::clock::CpuTime;
use crate::error::MeasureError;
use crate::kernel_threads::KernelThreads;

/// Reading processor time takes some microseconds itself, so that it says nothing of a shorter time.
const SHARES_FROM_NS: u64 = 1_000_000;

/// The counts in one window of one thread, or of several together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) reads: Option<Box<DirectionResult>>,
    pub(crate) writes: Option<Box<DirectionResult>>,
    pub(crate) flushes: Option<Box<DirectionResult>>,
    pub(crate) trims: Option<Box<DirectionResult>>,
    pub(crate) punctuality: Option<Box<Punctuality>>,
    pub(crate) cpu: CpuTime,
    pub(crate) kernel: KernelThreads,
    /// Processor time of the busiest thread, as a share of one core.
    pub(crate) busiest: f64,
    /// Greatest share of its time that a thread was ready and had no core, where that is known.
    pub(crate) core_wait: Option<f64>,
    /// Requests that were submitted and not complete, added up over time.
    pub(crate) outstanding_ns: u64,
    /// Time of failed requests, in ns.
    pub(crate) failed_ns: u64,
}

/// The counts of a thread that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) tally: Tally,
    pub(crate) series: Option<Recorder>,
    /// Time at which the window closed.
    pub(crate) closed_ns: u64,
    /// Bytes of all requests, with those of the ramp.
    pub(crate) moved: u64,
    /// False where the thread was stopped before its limit.
    pub(crate) complete: bool,
    /// Reason why something was not registered that should be.
    pub(crate) refusal: Option<String>,
    /// The requests that failed, those of the ramp included.
    pub(crate) errors: RequestErrors,
    /// The failed request that ended the run.
    pub(crate) failure: Option<MeasureError>,
}

/// A request that is to be counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) operation: Operation,
    pub(crate) length: u64,
    pub(crate) latency_ns: u64,
}

impl Tally {
    /// Creates an empty tally with room for all that `test` asks for, so that counting allocates nothing.
    ///
    /// `open` says whether requests have times of their own.
    pub(crate) fn of(test: &Test, open: bool) -> Self {
        let is_trace = test.is_trace();
        let room = |wanted: bool| wanted.then(Default::default);
        let punctuality = Punctuality {
            lateness: LatencyHistogram::new(),
            held_back: 0,
            unsubmitted: 0,
            own_lateness: LatencyHistogram::new(),
        };
        Self {
            reads: room(test.reads()),
            writes: room(test.writes()),
            flushes: room(test.mix().flush_every.is_some() || is_trace),
            trims: room(test.trims() || is_trace),
            punctuality: open.then(|| Box::new(punctuality)),
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn count(&mut self, request: Counted) {
        let direction = match request.operation {
            Operation::Read => &mut self.reads,
            Operation::Write => &mut self.writes,
            Operation::Flush => &mut self.flushes,
            Operation::Trim => &mut self.trims,
        };
        if let Some(direction) = direction {
            direction.bytes += Bytes(request.length);
            direction.latency.record_ns(request.latency_ns);
        }
    }

    /// Adds what another thread or window counted.
    pub(crate) fn merge(&mut self, other: Self) {
        let pairs = [
            (&mut self.reads, other.reads),
            (&mut self.writes, other.writes),
            (&mut self.flushes, other.flushes),
            (&mut self.trims, other.trims),
        ];
        for (own, other) in pairs {
            match (own, other) {
                (Some(own), Some(other)) => {
                    own.bytes += other.bytes;
                    own.latency.merge(&other.latency);
                }
                (own @ None, Some(other)) => *own = Some(other),
                (_, None) => {}
            }
        }
        match (&mut self.punctuality, other.punctuality) {
            (Some(own), Some(other)) => {
                own.lateness.merge(&other.lateness);
                own.own_lateness.merge(&other.own_lateness);
                own.held_back += other.held_back;
                own.unsubmitted += other.unsubmitted;
            }
            (own @ None, Some(other)) => *own = Some(other),
            (_, None) => {}
        }
        self.cpu = self.cpu.and(other.cpu);
        self.kernel = self.kernel.and(other.kernel);
        self.busiest = self.busiest.max(other.busiest);
        self.core_wait = match (self.core_wait, other.core_wait) {
            (Some(own), Some(other)) => Some(own.max(other)),
            (own, other) => own.or(other),
        };
        self.outstanding_ns += other.outstanding_ns;
        self.failed_ns += other.failed_ns;
    }

    /// The latencies of all requests added up, in open loops from their submission on, with the time of those that
    /// failed: what must be `outstanding_ns`.
    pub(crate) fn accounted_ns(&self) -> f64 {
        let sum = |latency: &LatencyHistogram| latency.mean_ns() * latency.count() as f64;
        let all = [&self.reads, &self.writes, &self.flushes, &self.trims];
        let before = self.punctuality.as_ref().map_or(0.0, |kept| sum(&kept.lateness));
        all.into_iter().flatten().map(|one| sum(&one.latency)).sum::<f64>() + self.failed_ns as f64
            - before
    }

    /// Reads and writes.
    pub(crate) fn requests(&self) -> u64 {
        [&self.reads, &self.writes].into_iter().flatten().map(|one| one.latency.count()).sum()
    }

    /// Returns the bytes of the requests.
    pub(crate) fn bytes(&self) -> Bytes {
        let both = [&self.reads, &self.writes].into_iter().flatten();
        both.fold(Bytes::ZERO, |sum, one| sum + one.bytes)
    }

    /// Returns the latencies of all requests together.
    pub(crate) fn latency(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        [&self.reads, &self.writes].into_iter().flatten().for_each(|one| all.merge(&one.latency));
        all
    }

    /// Notes the processor time that one thread used within `length_ns`, which is too short for shares below
    /// [`SHARES_FROM_NS`].
    pub(crate) fn used(&mut self, cpu: CpuTime, length_ns: u64) {
        self.cpu = cpu;
        if length_ns >= SHARES_FROM_NS {
            let [busy, ready] = [Some(cpu.user_ns + cpu.system_ns), cpu.ready_ns]
                .map(|ns| ns.map(|ns| (ns as f64 / length_ns as f64).min(1.0)));
            self.busiest = busy.unwrap_or(0.0);
            self.core_wait = ready;
        }
    }
}

/// A direction as results have it: absent where nothing was counted.
pub(crate) fn counted(direction: Option<Box<DirectionResult>>) -> Option<DirectionResult> {
    direction.map(|direction| *direction).filter(|direction| direction.latency.count() > 0)
}

/// Counts a request in a series.
pub(crate) fn record(series: &mut Recorder, at: Duration, request: Counted) {
    if series.is_over(at) {
        series.close(at, None);
    }
    let latency = Duration::from_nanoseconds(request.latency_ns);
    series.record(request.operation, Bytes(request.length), latency);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_never_busier_than_a_core_and_a_moment_says_nothing() {
        let cpu = CpuTime { user_ns: 60_000, ready_ns: Some(7_000), ..CpuTime::default() };
        let mut tally = Tally::default();
        tally.used(cpu, 1);
        assert_eq!((tally.busiest, tally.core_wait), (0.0, None));
        tally.used(CpuTime { user_ns: 3_000_000, ..cpu }, 2_000_000);
        assert_eq!((tally.busiest, tally.core_wait), (1.0, Some(0.0035)));
    }
}

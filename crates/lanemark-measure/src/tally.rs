//! The counts of one thread: requests by operation and over time, and the lateness in open loops.

use lanemark_schema::result::series::SeriesRecorder;
use lanemark_schema::result::{DirectionResult, LatencyHistogram, Punctuality, RequestErrors};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Operation, Test};

use crate::clock::CpuTime;
use crate::error::MeasureError;
use crate::kernel_threads::KernelThreads;

/// Minimum time for which shares of processor time are computed. Reading the processor time takes a few microseconds,
/// so shares of a shorter time are not meaningful.
const SHARES_FROM_NS: u64 = 1_000_000;

/// The counts in one window of one thread, or of several threads together.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowCounts {
    pub(crate) reads: Option<Box<DirectionResult>>,
    pub(crate) writes: Option<Box<DirectionResult>>,
    pub(crate) flushes: Option<Box<DirectionResult>>,
    pub(crate) trims: Option<Box<DirectionResult>>,
    pub(crate) punctuality: Option<Box<Punctuality>>,
    pub(crate) cpu: CpuTime,
    pub(crate) kernel: KernelThreads,
    /// Processor time of the busiest thread, as a share of one core.
    pub(crate) busiest: f64,
    /// Maximum, over all threads, of the share of time that a thread waited for a core; absent if unknown.
    pub(crate) core_wait: Option<f64>,
    /// Number of outstanding requests, integrated over time.
    pub(crate) outstanding_ns: u64,
    /// Time of failed requests, in ns.
    pub(crate) failed_ns: u64,
}

/// The counts of a thread that ended.
#[derive(Debug)]
pub(crate) struct ThreadCounts {
    pub(crate) tally: WindowCounts,
    pub(crate) series: Option<SeriesRecorder>,
    /// Time when the window closed.
    pub(crate) closed_ns: u64,
    /// Bytes of all requests, including the ramp.
    pub(crate) moved: u64,
    /// False if the thread was stopped before its limit.
    pub(crate) complete: bool,
    /// Reason why a requested registration is missing.
    pub(crate) refusal: Option<String>,
    /// The failed requests, including the ramp.
    pub(crate) errors: RequestErrors,
    /// The failed request that ended the run.
    pub(crate) failure: Option<MeasureError>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedRequest {
    pub(crate) operation: Operation,
    pub(crate) length: u64,
    pub(crate) latency_ns: u64,
}

impl WindowCounts {
    /// Creates an empty tally with room for all counts of `test`, so that counting does not allocate memory.
    ///
    /// `open` states whether requests have due times.
    pub(crate) fn for_test(test: &Test, open: bool) -> Self {
        let is_trace = test.is_trace();
        let room = |wanted: bool| wanted.then(|| Box::new(DirectionResult::preallocated()));
        let punctuality = Punctuality {
            lateness: LatencyHistogram::preallocated(),
            held_back: 0,
            unsubmitted: 0,
            own_lateness: LatencyHistogram::preallocated(),
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
    pub(crate) fn count(&mut self, request: CountedRequest) {
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

    /// Adds the counts of another thread or window.
    pub(crate) fn merge(&mut self, other: Self) {
        let pairs = [
            (&mut self.reads, other.reads),
            (&mut self.writes, other.writes),
            (&mut self.flushes, other.flushes),
            (&mut self.trims, other.trims),
        ];
        for (sum, other) in pairs {
            match (sum, other) {
                (Some(sum), Some(other)) => {
                    sum.bytes += other.bytes;
                    sum.latency.merge(&other.latency);
                }
                (sum @ None, Some(other)) => *sum = Some(other),
                (_, None) => {}
            }
        }
        match (&mut self.punctuality, other.punctuality) {
            (Some(sum), Some(other)) => {
                sum.lateness.merge(&other.lateness);
                sum.own_lateness.merge(&other.own_lateness);
                sum.held_back += other.held_back;
                sum.unsubmitted += other.unsubmitted;
            }
            (sum @ None, Some(other)) => *sum = Some(other),
            (_, None) => {}
        }
        self.cpu = self.cpu.and(other.cpu);
        self.kernel = self.kernel.and(other.kernel);
        self.busiest = self.busiest.max(other.busiest);
        self.core_wait = match (self.core_wait, other.core_wait) {
            (Some(sum), Some(other)) => Some(sum.max(other)),
            (sum, other) => sum.or(other),
        };
        self.outstanding_ns += other.outstanding_ns;
        self.failed_ns += other.failed_ns;
    }

    /// Returns the sum of all latencies plus the time of failed requests, which must equal `outstanding_ns`. In open
    /// loops, latencies are measured from submission here.
    pub(crate) fn accounted_ns(&self) -> f64 {
        let sum = |latency: &LatencyHistogram| latency.mean_ns() * latency.count() as f64;
        let directions = [&self.reads, &self.writes, &self.flushes, &self.trims];
        let before = self.punctuality.as_ref().map_or(0.0, |kept| sum(&kept.lateness));
        directions.into_iter().flatten().map(|direction| sum(&direction.latency)).sum::<f64>()
            + self.failed_ns as f64
            - before
    }

    /// Returns the number of reads and writes.
    pub(crate) fn requests(&self) -> u64 {
        [&self.reads, &self.writes]
            .into_iter()
            .flatten()
            .map(|direction| direction.latency.count())
            .sum()
    }

    pub(crate) fn bytes(&self) -> Bytes {
        let both = [&self.reads, &self.writes].into_iter().flatten();
        both.fold(Bytes::ZERO, |sum, direction| sum + direction.bytes)
    }

    /// Returns the latencies of all requests in one histogram.
    pub(crate) fn latency(&self) -> LatencyHistogram {
        let mut merged = LatencyHistogram::new();
        [&self.reads, &self.writes]
            .into_iter()
            .flatten()
            .for_each(|direction| merged.merge(&direction.latency));
        merged
    }

    /// Sets the processor time that one thread used in `length_ns`; below [`SHARES_FROM_NS`], shares are not computed.
    pub(crate) fn set_processor_time(&mut self, cpu: CpuTime, length_ns: u64) {
        self.cpu = cpu;
        if length_ns >= SHARES_FROM_NS {
            let [busy, ready] = [Some(cpu.user_ns + cpu.system_ns), cpu.ready_ns]
                .map(|ns| ns.map(|ns| (ns as f64 / length_ns as f64).min(1.0)));
            self.busiest = busy.unwrap_or(0.0);
            self.core_wait = ready;
        }
    }
}

/// Returns a direction for a result, which is absent if no request was counted.
pub(crate) fn if_counted(direction: Option<Box<DirectionResult>>) -> Option<DirectionResult> {
    direction.map(|direction| *direction).filter(|direction| direction.latency.count() > 0)
}

pub(crate) fn record(series: &mut SeriesRecorder, at: Duration, request: CountedRequest) {
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
        let mut tally = WindowCounts::default();
        tally.set_processor_time(cpu, 1);
        assert_eq!((tally.busiest, tally.core_wait), (0.0, None));
        tally.set_processor_time(CpuTime { user_ns: 3_000_000, ..cpu }, 2_000_000);
        assert_eq!((tally.busiest, tally.core_wait), (1.0, Some(0.0035)));
    }

    /// Creates the tally of a thread. Each count differs from the corresponding count of thread `number` + 1.
    fn of_thread(number: u64) -> WindowCounts {
        let direction = |index: u64| {
            let mut direction =
                DirectionResult { bytes: Bytes(512 * number), ..Default::default() };
            direction.latency.record_ns(1000 * number + 100 * index);
            Some(Box::new(direction))
        };
        let late = |latency_ns: u64| {
            let mut late = LatencyHistogram::new();
            late.record_ns(latency_ns);
            late
        };
        WindowCounts {
            reads: direction(1),
            writes: direction(2),
            flushes: direction(3),
            trims: direction(4),
            punctuality: Some(Box::new(Punctuality {
                lateness: late(10 * number),
                held_back: 100 + number,
                unsubmitted: 200 + number,
                own_lateness: late(20 * number),
            })),
            cpu: CpuTime {
                user_ns: 300 + number,
                system_ns: 400 + number,
                switches_voluntary: 500 + number,
                switches_involuntary: 600 + number,
                ready_ns: Some(700 + number),
            },
            kernel: KernelThreads { punting: 800 + number, cpu_ns: 900 + number },
            busiest: [0.2, 0.9, 0.4][number as usize - 1],
            core_wait: [Some(0.1), None, Some(0.3)][number as usize - 1],
            outstanding_ns: 1000 + number,
            failed_ns: 1100 + number,
        }
    }

    #[test]
    fn counts_of_threads_add_up_in_any_order() {
        for order in [[1, 2, 3], [3, 1, 2], [2, 3, 1], [3, 2, 1]] {
            let mut all = WindowCounts::default();
            order.into_iter().map(of_thread).for_each(|one| all.merge(one));
            let of = |base: u64| 3 * base + 1 + 2 + 3;
            let kept = all.punctuality.as_ref().unwrap();
            assert_eq!((kept.held_back, kept.unsubmitted), (of(100), of(200)), "{order:?}");
            assert_eq!((kept.lateness.mean_ns(), kept.lateness.count()), (20.0, 3));
            assert_eq!((kept.own_lateness.mean_ns(), kept.own_lateness.count()), (40.0, 3));
            let cpu = all.cpu;
            assert_eq!((cpu.user_ns, cpu.system_ns), (of(300), of(400)));
            assert_eq!((cpu.switches_voluntary, cpu.switches_involuntary), (of(500), of(600)));
            assert_eq!((all.kernel.punting, all.kernel.cpu_ns), (of(800), of(900)));
            assert_eq!((all.busiest, all.core_wait), (0.9, Some(0.3)));
            assert_eq!((all.outstanding_ns, all.failed_ns), (of(1000), of(1100)));
            for (index, direction) in (1..).zip([&all.reads, &all.writes, &all.flushes, &all.trims])
            {
                let direction = direction.as_ref().unwrap();
                assert_eq!((direction.bytes, direction.latency.count()), (Bytes(512 * 6), 3));
                assert_eq!(direction.latency.mean_ns(), f64::from(2000 + 100 * index));
                assert_eq!(direction.latency.max_ns(), Some(3000 + 100 * index as u64));
            }
            // Flushes and trims do not move data, and count in neither direction.
            assert_eq!((all.requests(), all.bytes()), (6, Bytes(2 * 512 * 6)));
            assert_eq!((all.latency().count(), all.latency().mean_ns()), (6, 2150.0));
            let latencies = f64::from(4 * 3 * 2000 + 3 * (100 + 200 + 300 + 400));
            assert_eq!(all.accounted_ns(), latencies + of(1100) as f64 - 60.0);
        }
    }

    #[test]
    fn counts_that_one_thread_lacks_come_from_the_other() {
        let mut reader = WindowCounts { writes: None, punctuality: None, ..of_thread(1) };
        reader.merge(WindowCounts { reads: None, ..of_thread(2) });
        assert_eq!(reader.reads.as_ref().unwrap().bytes, Bytes(512));
        assert_eq!(reader.writes.as_ref().unwrap().bytes, Bytes(1024));
        assert_eq!(reader.punctuality.as_ref().unwrap().held_back, 102);
        // If one thread's waiting time for a processor is unknown, the sum is unknown.
        let unknown = CpuTime { ready_ns: None, ..CpuTime::default() };
        reader.merge(WindowCounts { cpu: unknown, ..WindowCounts::default() });
        assert_eq!((reader.cpu.ready_ns, reader.cpu.user_ns), (None, 603));
        // The sum over no windows is empty.
        assert_eq!(
            (WindowCounts::default().requests(), WindowCounts::default().accounted_ns()),
            (0, 0.0)
        );
    }
}

//! Delivery of replies: their lateness and latencies in wall-clock time, and the evidence for the verdict on a run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use lanemark_schema::result::{DirectionResult, LatencyHistogram, RequestErrors, Sample};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation};
use lanemark_sim::SilentDamage;

use crate::clock::Clock;
use crate::nbd::NbdError;
use crate::reading::{ThreadTime, UnreadSum};

/// The counts of all deliveries, shared by the threads that deliver.
#[derive(Debug, Default)]
pub struct DeliveryCounts {
    counts: Mutex<DeliveryTotals>,
    /// The threads that read requests.
    pub(crate) intake: ThreadTimeCounter,
    /// The thread that simulates.
    pub(crate) engine: ThreadTimeCounter,
    pub(crate) unread: UnreadAnswerSamples,
}

/// Wall-clock time that threads spent on work, and on waiting while requests were outstanding.
#[derive(Debug, Default)]
pub(crate) struct ThreadTimeCounter {
    worked_ns: AtomicU64,
    waited_ns: AtomicU64,
}

/// Samples of the number of answers that clients had not read when another answer was sent.
#[derive(Debug, Default)]
pub(crate) struct UnreadAnswerSamples {
    samples: AtomicU64,
    /// Sum of the samples, in thousandths.
    thousandths: AtomicU64,
}

/// The lateness and latencies of deliveries.
#[derive(Clone, Debug, Default)]
pub struct DeliveryTotals {
    /// Wall-clock time by which each request, from its arrival to its reply, took longer than modelled.
    pub lateness: LatencyHistogram,
    /// Reads, with the wall-clock time from the arrival of each request to its reply.
    pub reads: DirectionResult,
    /// Writes, measured like reads.
    pub writes: DirectionResult,
    /// Requests that the model completed, but whose answer was an error.
    pub failed: FailedAnswers,
}

/// Requests that the model completed, but whose answer was an error, with their modelled latencies.
#[derive(Clone, Debug, Default)]
pub struct FailedAnswers {
    reads: DirectionResult,
    writes: DirectionResult,
    flushes: DirectionResult,
    trims: DirectionResult,
    errors: RequestErrors,
    /// The errors of this machine.
    pub(crate) host_errors: RequestErrors,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DueCompletion {
    pub access: Access,
    /// Arrival of the request.
    pub came: Instant,
    /// Modelled instant of the completion.
    pub at: Instant,
    /// Modelled latency. If the request was submitted late, this is shorter than the time from `came` to `at`.
    pub modelled: Duration,
    /// The part of the modelled latency before a write's own flush; zero for all other requests.
    pub before_flush: Duration,
    pub damage: Option<SilentDamage>,
}

impl ThreadTimeCounter {
    /// Maximum counted length of one wait, because a client that pauses is not evidence of an idle server.
    const WAIT_MAX: Duration = Duration::from_microseconds(10_000);

    /// Counts work of this length.
    pub(crate) fn add_work(&self, time: Duration) {
        self.worked_ns.fetch_add(time.nanoseconds(), Ordering::Relaxed);
    }

    /// Counts a wait of this length, which began while requests were outstanding.
    pub(crate) fn add_wait(&self, time: Duration) {
        self.waited_ns.fetch_add(time.min(Self::WAIT_MAX).nanoseconds(), Ordering::Relaxed);
    }

    pub(crate) fn time(&self) -> ThreadTime {
        ThreadTime {
            worked_ns: self.worked_ns.load(Ordering::Relaxed),
            waited_ns: self.waited_ns.load(Ordering::Relaxed),
        }
    }
}

impl UnreadAnswerSamples {
    /// Counts a sample of this many unread answers.
    pub(crate) fn count(&self, answers: f64) {
        self.samples.fetch_add(1, Ordering::Relaxed);
        self.thousandths.fetch_add((answers * 1e3) as u64, Ordering::Relaxed);
    }

    /// Returns the sum of the samples so far.
    pub(crate) fn sum(&self) -> UnreadSum {
        UnreadSum {
            samples: self.samples.load(Ordering::Relaxed),
            thousandths: self.thousandths.load(Ordering::Relaxed),
        }
    }
}

impl DeliveryCounts {
    /// Counts a reply that was sent at the instant `sent`, or now if `sent` is not known.
    pub fn count(&self, due: &DueCompletion, sent: Option<Instant>, clock: &dyn Clock) {
        let now = sent.unwrap_or_else(|| clock.now()).max(due.at);
        let latency = clock.real(now.since(due.came.min(now)));
        let late = latency.saturating_sub(clock.real(due.modelled));
        let Access { operation, length, .. } = due.access;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.lateness.record(late);
        match operation {
            Operation::Read => counts.reads.record(length, latency),
            Operation::Write => counts.writes.record(length, latency),
            Operation::Flush | Operation::Trim => {}
        }
    }

    /// Counts a request that the model completed, but whose answer was an error.
    pub(crate) fn count_failure(&self, due: &DueCompletion, failure: AnswerFailure) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = &mut counts.failed;
        let Access { operation, length, .. } = due.access;
        let flush = due.modelled.saturating_sub(due.before_flush);
        match operation {
            Operation::Read => failed.reads.record(length, due.modelled),
            // The model counts a write with its own flush as a write and a flush.
            Operation::Write if due.before_flush > Duration::ZERO => {
                failed.writes.record(length, due.before_flush);
                failed.flushes.record(Bytes::ZERO, flush);
            }
            Operation::Write => failed.writes.record(length, due.modelled),
            Operation::Flush => failed.flushes.record(Bytes::ZERO, due.modelled),
            Operation::Trim => failed.trims.record(length, due.modelled),
        }
        failed.errors.record_errno(failure.error() as u32);
        if let AnswerFailure::Host(error) = failure {
            failed.host_errors.record_errno(error as u32);
        }
    }

    /// Counts a request that was answered immediately, in a server without latency.
    pub fn count_at_once(&self, operation: Operation, length: Bytes) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match operation {
            Operation::Read => counts.reads.bytes += length,
            Operation::Write => counts.writes.bytes += length,
            Operation::Flush | Operation::Trim => {}
        }
    }

    pub fn counts(&self) -> DeliveryTotals {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl FailedAnswers {
    /// Removes the failed requests from the completions of a sample, and adds their errors.
    pub(crate) fn remove_from(&self, sample: &mut Sample) {
        for (direction, failed) in [
            (&mut sample.reads, &self.reads),
            (&mut sample.writes, &self.writes),
            (&mut sample.flushes, &self.flushes),
            (&mut sample.trims, &self.trims),
        ] {
            if failed.latency.count() > 0 {
                let answered = direction.as_ref().map(|completed| completed.since(failed));
                *direction = answered.filter(|answered| answered.latency.count() > 0);
            }
        }
        sample.errors.merge(&self.errors);
    }
}

/// The reason for which a request failed although the model completed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerFailure {
    /// The modelled drive lost power.
    PowerLoss(NbdError),
    /// This machine could not access the data.
    Host(NbdError),
}

impl AnswerFailure {
    pub(crate) fn error(self) -> NbdError {
        match self {
            Self::PowerLoss(error) | Self::Host(error) => error,
        }
    }
}

impl From<NbdError> for AnswerFailure {
    fn from(error: NbdError) -> Self {
        if error == NbdError::Shutdown { Self::PowerLoss(error) } else { Self::Host(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn us(us: u64) -> Duration {
        Duration::from_microseconds(us)
    }

    #[test]
    fn a_request_that_was_submitted_late_is_late() {
        let counts = DeliveryCounts::default();
        let clock = ManualClock::default();
        let access =
            Access { operation: Operation::Read, offset: Bytes::ZERO, length: Bytes::kibi(4) };
        let at = |time: u64| Instant::ZERO + us(time);
        // The request arrived at 100, was submitted at 150, completed at 190, and was answered at 200.
        let due = DueCompletion {
            access,
            came: at(100),
            at: at(190),
            modelled: us(40),
            before_flush: us(0),
            damage: None,
        };
        clock.turn_to(at(200));
        counts.count(&due, None, &clock);
        counts.count(&due, Some(at(190)), &clock);
        let DeliveryTotals { lateness, reads, .. } = counts.counts();
        assert_eq!((lateness.max_ns(), reads.latency.max_ns()), (Some(60_000), Some(100_000)));
        assert_eq!((lateness.min_ns(), reads.latency.min_ns()), (Some(50_000), Some(90_000)));
    }

    #[test]
    fn a_failed_answer_is_an_error_and_not_a_completion() {
        let counts = DeliveryCounts::default();
        let direction = |latencies: &[u64], length: Bytes| {
            let mut direction = DirectionResult::new();
            latencies.iter().for_each(|&latency| direction.record(length, us(latency)));
            Some(direction)
        };
        let kib = Bytes::kibi(4);
        let mut sample = Sample {
            reads: direction(&[80], kib),
            writes: direction(&[10, 20, 30], kib),
            flushes: direction(&[500, 700], Bytes::ZERO),
            trims: direction(&[5], kib),
            ..Sample::empty()
        };
        let due = |operation, before_flush: u64, modelled: u64| DueCompletion {
            access: Access { operation, offset: Bytes::ZERO, length: kib },
            came: Instant::ZERO,
            at: Instant::ZERO,
            modelled: us(modelled),
            before_flush: us(before_flush),
            damage: None,
        };
        counts.count_failure(&due(Operation::Write, 0, 10), NbdError::NoSpace.into());
        // A write of 20 us with its own flush of 700 us.
        counts.count_failure(&due(Operation::Write, 20, 720), NbdError::Io.into());
        counts.count_failure(&due(Operation::Read, 0, 80), NbdError::Io.into());
        // A flush after a power cut that lost writes is part of the model.
        counts.count_failure(&due(Operation::Trim, 0, 5), AnswerFailure::PowerLoss(NbdError::Io));
        let failed = counts.counts().failed;
        failed.remove_from(&mut sample);
        let left = |direction: &Option<DirectionResult>| {
            let latency = |it: &DirectionResult| (it.latency.count(), it.latency.mean_ns());
            direction.as_ref().map(|it| (it.bytes, latency(it)))
        };
        assert_eq!(left(&sample.writes), Some((kib, (1, 30_000.0))));
        assert_eq!(left(&sample.flushes), Some((Bytes::ZERO, (1, 500_000.0))));
        assert_eq!((left(&sample.reads), left(&sample.trims)), (None, None));
        assert_eq!((sample.errors.total(), failed.host_errors.total()), (4, 3));
        assert!(
            sample.errors.to_string().contains("1 without space (ENOSPC)"),
            "{}",
            sample.errors
        );
    }

    #[test]
    fn a_thread_is_busy_for_the_share_in_which_it_worked() {
        let thread = ThreadTimeCounter::default();
        assert_eq!(thread.time().busy(), 0.0);
        thread.add_work(us(9_000));
        assert_eq!(thread.time().busy(), 1.0);
        thread.add_wait(us(1_000));
        assert_eq!(thread.time().busy(), 0.9);
        // A long pause counts only as long as the maximum.
        thread.add_wait(us(60_000_000));
        assert_eq!(thread.time().busy(), 0.45);
    }
}

//! The arrival of requests: the time at which their bytes reached the socket, even if the server reads them later.
//!
//! The time that a request waits in the socket is a part of its latency. A server that stamps requests when it handles
//! them would omit that time, and a slower server would omit more of it. The kernel does not stamp the bytes of Unix
//! sockets, and for TCP it reports only the time of the last byte of a read. The arrival is therefore estimated from
//! the reads:
//!
//! - If a read had to wait, the bytes arrived when the wait ended.
//! - If bytes were available immediately, they arrived after the last moment at which the socket was known to be empty:
//!   the end of the last wait, or of the last read that left room in its buffer. The estimate is the midpoint between
//!   that moment and the read. Its error is up to half of this period, in either direction.
//!
//! All requests that one read returns have the same arrival. Reading a payload or copying data does not change the
//! arrival.
//!
//! The thread's periods of work and of waiting also show whether the thread limits the rate. A wait counts only if it
//! began while the client was waiting for an answer; otherwise the client had nothing to send.

use std::sync::Arc;

use lanemark_schema::units::{Duration, Instant};

use crate::clock::Clock;
use crate::delivered::DeliveryCounts;

/// The reads of one connection, timed by the session's clock.
pub(crate) struct TimedReader {
    clock: Arc<dyn Clock>,
    delivered: Arc<DeliveryCounts>,
    /// Last moment when the socket was known to be empty.
    emptied: Instant,
    /// Last moment when the thread began to work.
    turned: Instant,
    /// The estimated arrival of the last read's bytes.
    came: Instant,
}

impl TimedReader {
    /// Creates the record of a connection whose socket is empty.
    pub(crate) fn new(clock: Arc<dyn Clock>, delivered: Arc<DeliveryCounts>) -> Self {
        let now = clock.now();
        Self { clock, delivered, emptied: now, turned: now, came: now }
    }

    /// Returns the estimated arrival of the last read's bytes.
    pub(crate) fn came(&self) -> Instant {
        self.came
    }

    /// Records a read that found bytes, and whether it left room in its buffer.
    pub(crate) fn record_read(&mut self, has_room: bool) {
        let now = self.work_until_now();
        let stretch = now.since_or_zero(self.emptied);
        self.came = now.min(self.emptied + stretch.scaled(1, 2));
        if has_room {
            self.emptied = now;
        }
    }

    /// Records that the socket is empty, and that the thread begins to wait.
    pub(crate) fn begin_wait(&mut self) {
        self.emptied = self.work_until_now();
    }

    /// Records the end of a wait, after which there are bytes. `is_awaited` states whether the client waited for an
    /// answer when the wait began.
    pub(crate) fn end_wait(&mut self, is_awaited: bool, has_room: bool) {
        let now = self.clock.now();
        if is_awaited {
            self.delivered.intake.add_wait(self.clock.real(now.since_or_zero(self.turned)));
        }
        (self.turned, self.came) = (now, now);
        if has_room {
            self.emptied = now;
        }
    }

    fn work_until_now(&mut self) -> Instant {
        let now = self.clock.now();
        self.delivered.intake.add_work(self.clock.real(now.since_or_zero(self.turned)));
        self.turned = now;
        now
    }
}

/// The calls with which the kernel passes requests of a mounted file, one request per call. FUSE does not report how
/// long requests waited. If a thread is called again immediately, a program was probably waiting, and the time between
/// the calls counts as work.
pub(crate) struct FuseCalls {
    clock: Arc<dyn Clock>,
    delivered: Arc<DeliveryCounts>,
    ended: Instant,
    began: Instant,
}

/// Maximum time until a thread receives its next call if programs do not pause.
const NEXT_CALL: Duration = Duration::from_microseconds(5);

impl FuseCalls {
    pub(crate) fn new(clock: Arc<dyn Clock>, delivered: Arc<DeliveryCounts>) -> Self {
        let now = clock.now();
        Self { clock, delivered, ended: now, began: now }
    }

    /// Begins a call, and returns its instant. `is_awaited` states whether programs wait for answers.
    pub(crate) fn begin(&mut self, is_awaited: bool) -> Instant {
        self.began = self.clock.now();
        let between = self.clock.real(self.began.since_or_zero(self.ended));
        if between < NEXT_CALL {
            self.delivered.intake.add_work(between);
        } else if is_awaited {
            self.delivered.intake.add_wait(between);
        }
        self.began
    }

    pub(crate) fn end(&mut self) {
        self.ended = self.clock.now();
        self.delivered.intake.add_work(self.clock.real(self.ended.since_or_zero(self.began)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, TimeScale};

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_microseconds(us)
    }

    fn bench() -> (Arc<ManualClock>, Arc<DeliveryCounts>, TimedReader) {
        scaled_bench(TimeScale::ONE)
    }

    fn scaled_bench(scale: TimeScale) -> (Arc<ManualClock>, Arc<DeliveryCounts>, TimedReader) {
        let clock = Arc::new(ManualClock::scaled(scale));
        let delivered = Arc::default();
        let arrivals = TimedReader::new(clock.clone(), Arc::clone(&delivered));
        (clock, delivered, arrivals)
    }

    #[test]
    fn bytes_that_were_there_came_between_the_empty_socket_and_the_read() {
        let (clock, _, mut arrivals) = bench();
        clock.turn_to(at(100));
        arrivals.begin_wait();
        clock.turn_to(at(200));
        arrivals.end_wait(true, true);
        // The thread handles the request for 60 µs, and other requests arrive during that time.
        clock.turn_to(at(260));
        arrivals.record_read(true);
        assert_eq!(arrivals.came(), at(230));
        // A full buffer does not show that the socket is empty.
        clock.turn_to(at(300));
        arrivals.record_read(false);
        assert_eq!(arrivals.came(), at(280));
        clock.turn_to(at(360));
        arrivals.record_read(true);
        assert_eq!(arrivals.came(), at(310));
    }

    #[test]
    fn a_read_that_ended_a_wait_and_filled_its_buffer_leaves_the_socket_full() {
        for (has_room, came) in [(true, 230), (false, 180)] {
            let (clock, _, mut arrivals) = bench();
            clock.turn_to(at(100));
            arrivals.begin_wait();
            clock.turn_to(at(200));
            arrivals.end_wait(true, has_room);
            assert_eq!(arrivals.came(), at(200));
            clock.turn_to(at(260));
            arrivals.record_read(true);
            assert_eq!(arrivals.came(), at(came), "has room: {has_room}");
        }
    }

    #[test]
    fn work_and_waits_are_in_real_time() {
        for (scale, quarters) in TimeScale::IN_TESTS {
            let (clock, delivered, mut arrivals) = scaled_bench(scale);
            clock.turn_to(at(500));
            arrivals.record_read(true);
            arrivals.begin_wait();
            clock.turn_to(at(1_200));
            arrivals.end_wait(true, true);
            let time = delivered.intake.time();
            assert_eq!((time.worked_ns, time.waited_ns), (125_000 * quarters, 175_000 * quarters));
            let delivered: Arc<DeliveryCounts> = Arc::default();
            let mut calls = FuseCalls::new(clock.clone(), Arc::clone(&delivered));
            // Four microseconds of simulated time take 4, 16 or 2 microseconds. Only the first and the last count as
            // work.
            clock.turn_to(at(1_204));
            calls.begin(true);
            clock.turn_to(at(1_212));
            calls.end();
            let between = 1_000 * quarters;
            let worked = if between < 5_000 { between } else { 0 };
            let time = delivered.intake.time();
            assert_eq!(time.worked_ns, worked + 2_000 * quarters);
            assert_eq!(time.waited_ns, between - worked);
        }
    }

    #[test]
    fn a_thread_without_waits_is_busy_and_a_client_without_requests_is_no_wait() {
        let (clock, delivered, mut arrivals) = bench();
        clock.turn_to(at(500));
        arrivals.record_read(true);
        clock.turn_to(at(900));
        arrivals.record_read(true);
        assert_eq!(delivered.intake.time().busy(), 1.0);
        arrivals.begin_wait();
        clock.turn_to(at(1_500));
        arrivals.end_wait(false, true);
        assert_eq!(delivered.intake.time().busy(), 1.0);
        arrivals.begin_wait();
        clock.turn_to(at(2_400));
        arrivals.end_wait(true, true);
        assert_eq!(delivered.intake.time().busy(), 0.5);
    }

    #[test]
    fn calls_without_a_pause_are_work() {
        let (clock, delivered): (Arc<ManualClock>, Arc<DeliveryCounts>) = Default::default();
        let mut calls = FuseCalls::new(clock.clone(), Arc::clone(&delivered));
        for time in [0, 12, 24] {
            clock.turn_to(at(time));
            assert_eq!(calls.begin(true), at(time));
            clock.turn_to(at(time + 8));
            calls.end();
        }
        assert_eq!(delivered.intake.time().busy(), 1.0);
        clock.turn_to(at(32 + 32));
        calls.begin(true);
        assert_eq!(delivered.intake.time().busy(), 0.5);
    }
}

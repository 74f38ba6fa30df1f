//! Tests a thread's loop in simulated time, with a scripted engine and clock, and with figures that are exact to the
//! nanosecond.
//!
//! The engine serves one request after another, each in the same time, and does not serve requests while it stalls. The
//! clock advances while the loop waits, but not while it works. The script therefore determines every figure, and no
//! test depends on the speed of the machine.

use std::cell::Cell;
use std::collections::VecDeque;

use super::*;
use crate::failures::{A_SECOND, IN_A_ROW};
use lanemark_schema::result::ErrorKind;
use lanemark_schema::workload::{ArrivalProcess, Load, RoundSettings, TrackedFigure};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A clock that advances only during a wait. It reports a tenth of the elapsed time as processor time.
#[derive(Clone, Copy)]
struct Scripted<'a>(&'a Cell<u64>);

impl ThreadClock for Scripted<'_> {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    fn sleep(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }

    fn used(&self) -> (CpuTime, KernelThreads) {
        let cpu = CpuTime { user_ns: self.0.get() / 10, ..CpuTime::default() };
        (cpu, KernelThreads { punting: 1, cpu_ns: self.0.get() / 5 })
    }
}

/// The scripted behaviour of the engine.
#[derive(Clone, Copy)]
struct Script {
    /// Service time of each request; requests are served one after the other.
    service_ns: u64,
    /// Period during which no request completes.
    stall_ns: (u64, u64),
    /// Function that returns the answer to the request with this number, from 0, and this length.
    answer: fn(u64, i32) -> i32,
}

impl Script {
    fn steady(service_ns: u64) -> Self {
        Self { service_ns, stall_ns: (0, 0), answer: |_, length| length }
    }
}

/// A device in scripted time.
struct Device<'a> {
    clock: Scripted<'a>,
    script: Script,
    buffers: Vec<Vec<u8>>,
    pushed: Vec<(u32, i32)>,
    /// Completion times, slots and results of the requests in flight.
    flying: VecDeque<(u64, u32, i32)>,
    taken: u64,
    free_ns: u64,
    seen_ns: u64,
}

impl Engine for Device<'_> {
    fn refusal(&self) -> Option<&str> {
        None
    }

    fn outstanding(&self) -> u32 {
        (self.pushed.len() + self.flying.len()) as u32
    }

    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        &mut self.buffers[slot as usize]
    }

    fn push(&mut self, slot: u32, transfer: EngineRequest) {
        self.pushed.push((slot, transfer.length as i32));
    }

    fn submit(&mut self) -> io::Result<()> {
        let stall_ns = self.script.stall_ns;
        for (slot, length) in std::mem::take(&mut self.pushed) {
            let mut done_ns = self.free_ns.max(self.clock.now_ns()) + self.script.service_ns;
            if (stall_ns.0..stall_ns.1).contains(&done_ns) {
                done_ns = stall_ns.1 + self.script.service_ns;
            }
            self.free_ns = done_ns;
            self.flying.push_back((done_ns, slot, (self.script.answer)(self.taken, length)));
            self.taken += 1;
        }
        Ok(())
    }

    fn submit_and_wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        self.submit()?;
        let first_ns = self.flying.front().map_or(u64::MAX, |first| first.0);
        let end_ns = timeout_ns.map_or(u64::MAX, |timeout_ns| self.clock.now_ns() + timeout_ns);
        let end_ns = end_ns.min(first_ns).max(self.clock.now_ns());
        assert!(end_ns < u64::MAX, "the loop waits for nothing, for ever");
        // A poll takes time, even if no request is outstanding.
        self.clock.0.set(end_ns.max(self.clock.now_ns() + u64::from(timeout_ns == Some(0))));
        self.seen_ns = self.clock.now_ns();
        Ok(())
    }

    fn next_completion(&mut self) -> Option<(u32, i32)> {
        let &(done_ns, slot, answer) = self.flying.front()?;
        (done_ns <= self.seen_ns).then(|| {
            self.flying.pop_front();
            (slot, answer)
        })
    }
}

/// Returns a test of 4 KiB reads for 400 ms at queue depth 16.
fn test() -> Test {
    Test {
        name: "scripted".to_owned(),
        span: Bytes::mebi(1),
        duration: Some(Duration::from_nanoseconds(400 * MS)),
        ..Test::of_blocks(Bytes(4096))
    }
    .with(|requests| requests.queue_depth = 16)
}

fn volume(requests: u64) -> Test {
    Test { volume: Some(Bytes(4096 * requests)), duration: None, ..test() }
}

fn open(rate_per_second: f64) -> Test {
    test().with(|requests| {
        requests.load = Load::Open { rate_per_second, process: ArrivalProcess::Even }
    })
}

/// The outcome of a thread: its end, its rounds, and the shared flags.
struct Done {
    ended: ThreadCounts,
    rounds: Vec<(usize, WindowCounts)>,
    /// Time for which requests were counted.
    elapsed_ns: u64,
    aborted: bool,
    /// Time when the thread returned.
    over_ns: u64,
}

/// Start time of every script, which is not zero, so that no figure is correct by chance.
const BEGUN: u64 = 7 * SECOND;

fn run(test: &Test, script: Script) -> Done {
    run_as(test, script, ErrorReaction::Stop, |_| ())
}

/// Runs `test`; `change` may set flags before the run.
fn run_as(
    test: &Test,
    script: Script,
    on_error: ErrorReaction,
    change: fn(&TestState<'_, Scripted<'_>>),
) -> Done {
    test.check().unwrap();
    let now = Cell::new(BEGUN);
    let clock = Scripted(&now);
    let stop = AtomicBool::new(false);
    let abort = AtomicBool::new(false);
    let shared = TestState {
        path: Path::new("device"),
        test,
        clock,
        stop: &stop,
        abort: &abort,
        over: AtomicBool::new(false),
        on_error,
    };
    change(&shared);
    let key = StreamKey { seed: 1, test: 0, repeat: 0, thread: 0 };
    let progress = ThreadProgress::default();
    let device = Device {
        clock,
        script,
        buffers: vec![vec![0; 4096]; test.issue_depth() as usize],
        pushed: Vec::new(),
        flying: VecDeque::new(),
        taken: 0,
        free_ns: 0,
        seen_ns: 0,
    };
    let rounds = std::cell::RefCell::new(Vec::new());
    let send = |number: usize, tally: WindowCounts| {
        rounds.borrow_mut().push((number, tally));
        if number == 2 {
            shared.over.store(true, Ordering::Relaxed);
        }
    };
    let sent: Option<&dyn Fn(usize, WindowCounts)> = match test.rounds {
        Some(_) => Some(&send),
        None => None,
    };
    let source = RequestSource::of_test(test, key).unwrap();
    let worker = Worker::new(&shared, &progress, device, key, source, sent);
    let ended = worker.run(BEGUN).unwrap();
    let elapsed_ns = ended.closed_ns - BEGUN - test.ramp.nanoseconds();
    Done {
        ended,
        rounds: rounds.into_inner(),
        elapsed_ns,
        aborted: abort.load(Ordering::Relaxed),
        over_ns: now.get(),
    }
}

/// Returns the minimum, mean and maximum latency in ns, which the histogram keeps exactly.
fn latencies(tally: &WindowCounts) -> (u64, f64, u64) {
    let all = tally.latency();
    (all.min_ns().unwrap(), all.mean_ns(), all.max_ns().unwrap())
}

fn assert_little(tally: &WindowCounts) {
    // The sum is computed from means and counts, so it is exact except for rounding.
    let apart = tally.accounted_ns() - tally.outstanding_ns as f64;
    assert!(apart.abs() < 0.01, "{apart} ns");
}

#[test]
fn a_volume_one_at_a_time_takes_its_service_times() {
    let done = run(&volume(10).with(|requests| requests.queue_depth = 1), Script::steady(100 * US));
    assert_eq!(done.elapsed_ns, 1_000 * US);
    let tally = &done.ended.tally;
    assert_eq!((tally.requests(), tally.bytes()), (10, Bytes(40_960)));
    assert_eq!(latencies(tally), (100 * US, 100e3, 100 * US));
    assert_eq!(tally.outstanding_ns, 1_000 * US);
    assert_little(tally);
    // The test's clock reports a tenth of the elapsed time as processor time.
    assert_eq!((tally.cpu.user_ns, tally.busiest), (100 * US, 0.1));
    assert_eq!((tally.kernel.punting, tally.kernel.cpu_ns), (1, 200 * US));
    assert!(done.ended.complete && !done.aborted);
}

#[test]
fn a_closed_loop_at_depth_waits_for_all_that_were_before() {
    let done = run(&test(), Script::steady(500 * US));
    let tally = &done.ended.tally;
    // At 400 ms, the 800th request is complete, and 15 outstanding requests are also counted.
    assert_eq!((tally.requests(), done.elapsed_ns), (815, 400 * MS + 15 * 500 * US));
    // The first sixteen requests wait for 1 to 16 service times, and all others for 16.
    assert_eq!(latencies(tally).0, 500 * US);
    assert_eq!(latencies(tally).2, 8 * MS);
    let sum = (1..=16u64).sum::<u64>() * 500 * US + 799 * 8 * MS;
    assert_eq!(tally.outstanding_ns, sum);
    assert_little(tally);
}

#[test]
fn a_ramp_is_load_that_does_not_count() {
    let ramp = Duration::from_nanoseconds(100 * MS);
    let done = run(&Test { ramp, ..test() }, Script::steady(500 * US));
    let tally = &done.ended.tally;
    assert_eq!(done.elapsed_ns, 400 * MS + 15 * 500 * US);
    // The request that completes as the window opens counts, and so do the next 815.
    assert_eq!((tally.requests(), latencies(tally)), (816, (8 * MS, 8e6, 8 * MS)));
    assert_eq!(done.ended.moved, 4096 * (200 + 815));
}

#[test]
fn a_stall_at_the_end_shows_in_the_slowest_and_in_the_time() {
    let script =
        Script { stall_ns: (BEGUN + 350 * MS, BEGUN + 700 * MS), ..Script::steady(MS / 2) };
    let done = run(&test(), script);
    let tally = &done.ended.tally;
    // 699 requests complete before 350 ms, and the sixteen outstanding requests complete after 700 ms.
    assert_eq!((tally.requests(), done.elapsed_ns), (699 + 16, 700 * MS + 16 * 500 * US));
    assert_eq!(latencies(tally).2, 350 * MS + 8 * MS + 500 * US);
    assert_eq!(tally.latency().percentile_ns(99.0), Some(latencies(tally).2));
    assert_little(tally);
}

#[test]
fn an_open_loop_measures_from_the_due_time() {
    let done =
        run(&open(500.0).with(|requests| requests.queue_depth = 2), Script::steady(100 * US));
    let tally = &done.ended.tally;
    let kept = tally.punctuality.as_ref().unwrap();
    // Requests are due at 0, 2, 4 … 398 ms. The loop polls the clock until then, so it is never late.
    assert_eq!((tally.requests(), kept.lateness.count()), (200, 200));
    assert_eq!(kept.lateness.max_ns(), Some(0));
    assert_eq!((kept.held_back, kept.unsubmitted), (0, 0));
    assert_eq!(latencies(tally), (100 * US, 100e3, 100 * US));
    assert_eq!(done.elapsed_ns, 400 * MS);
    assert_little(tally);
}

#[test]
fn requests_that_an_open_loop_could_not_submit_in_a_final_stall_are_waited_for() {
    let script =
        Script { stall_ns: (BEGUN + 200 * MS, BEGUN + 600 * MS), ..Script::steady(MS / 10) };
    let done = run(&open(500.0).with(|requests| requests.queue_depth = 2), script);
    let tally = &done.ended.tally;
    let kept = tally.punctuality.as_ref().unwrap();
    // All 200 requests that were due in 400 ms count. Half of them were due in the stall, and two of these were
    // submitted in time.
    assert_eq!((tally.requests(), kept.unsubmitted, kept.held_back), (200, 0, 98));
    assert_eq!(latencies(tally).2, 400 * MS + 100 * US);
    assert_eq!(done.elapsed_ns, 600 * MS + 100 * 100 * US);
    assert_eq!(kept.own_lateness.max_ns(), Some(0));
    assert_little(tally);
}

#[test]
fn an_open_loop_that_never_catches_up_ends_a_second_later_and_counts_unsubmitted_requests() {
    let done = run(&open(10_000.0).with(|requests| requests.queue_depth = 4), Script::steady(MS));
    let tally = &done.ended.tally;
    // There is one request a millisecond for 1.4 s, plus the four outstanding requests.
    assert_eq!(tally.requests(), 1_403);
    assert_eq!(tally.punctuality.as_ref().unwrap().unsubmitted, 4_000 - 1_403);
    assert_eq!(done.elapsed_ns, 1_403 * MS);
    assert_little(tally);
}

#[test]
fn think_time_goes_by_between_requests() {
    let think = Duration::from_nanoseconds(900 * US);
    let test = test().with(|requests| {
        requests.queue_depth = 1;
        requests.think = think;
    });
    let done = run(&test, Script::steady(100 * US));
    // There is one request a millisecond. The last request begins at 399 ms, so its think time does not matter.
    let tally = &done.ended.tally;
    assert_eq!((tally.requests(), latencies(tally)), (400, (100 * US, 100e3, 100 * US)));
    assert_eq!((tally.outstanding_ns, done.elapsed_ns), (400 * 100 * US, 400 * MS));
}

/// A burst of 20 requests takes 2 ms on a device that serves one request at a time, and the thread waits for 8 ms.
#[test]
fn a_thread_waits_for_its_burst_before_it_thinks() {
    let test = test().with(|requests| {
        requests.queue_depth = 8;
        requests.think = Duration::from_nanoseconds(8 * MS);
        requests.burst = 20;
    });
    let done = run(&test, Script::steady(100 * US));
    let tally = &done.ended.tally;
    assert_eq!((tally.requests(), latencies(tally).2), (40 * 20, 8 * 100 * US));
    assert_eq!(done.elapsed_ns, 400 * MS);
    assert_little(tally);
}

#[test]
fn rounds_lack_gaps_and_the_last_one_leaves_outstanding_requests() {
    let length = Duration::from_nanoseconds(100 * MS);
    let rounds = Some(RoundSettings { length, tracked: TrackedFigure::Iops });
    let done = run(
        &Test { duration: None, rounds, ..test() }.with(|requests| requests.queue_depth = 4),
        Script::steady(MS),
    );
    assert_eq!(done.rounds.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2]);
    // A request that completes exactly at the end of a round belongs to the next round.
    let counts: Vec<u64> = done.rounds.iter().map(|(_, tally)| tally.requests()).collect();
    assert_eq!(counts, [99, 100, 100]);
    for (number, tally) in &done.rounds {
        assert_eq!(tally.outstanding_ns, 400 * MS, "round {number}");
        assert_eq!(tally.cpu.user_ns, 10 * MS, "round {number}");
        assert_eq!(tally.kernel.cpu_ns, 20 * MS, "round {number}");
    }
    // The thread detects the end of the rounds when the next request completes. The request that completed at that
    // instant belongs to a round that is not collected. The thread waits for the four outstanding requests, and does
    // not count them.
    assert_eq!(done.ended.tally.requests(), 1);
    assert_eq!(done.over_ns, BEGUN + 300 * MS + 4 * MS);
}

#[test]
fn a_stop_ends_the_window_and_a_stop_in_the_ramp_leaves_nothing() {
    let done = run_as(&test(), Script::steady(MS), ErrorReaction::Stop, |shared| {
        shared.stop.store(true, Ordering::Relaxed);
    });
    assert_eq!((done.ended.tally.requests(), done.ended.complete), (0, false));
    assert_eq!(done.over_ns, BEGUN);
}

#[test]
fn a_request_that_is_answered_in_parts_is_one_request() {
    let script = Script {
        answer: |number, length| if number % 2 == 0 { 512 } else { length },
        ..Script::steady(MS)
    };
    let done = run(&volume(5).with(|requests| requests.queue_depth = 1), script);
    let tally = &done.ended.tally;
    assert_eq!((tally.requests(), latencies(tally)), (5, (2 * MS, 2e6, 2 * MS)));
    assert!(done.ended.errors.is_empty());
}

#[test]
fn a_failed_request_ends_the_run_with_its_results_so_far() {
    let answer = |number, length| if number == 20 { -libc::EIO } else { length };
    let done = run(&test(), Script { answer, ..Script::steady(MS) });
    let ThreadCounts { tally, errors, failure, complete, .. } = &done.ended;
    // Twenty requests complete before the end; the thread waits for fifteen outstanding requests and counts them.
    assert_eq!((tally.requests(), errors.total(), *complete), (35, 1, false));
    assert_eq!(done.elapsed_ns, 36 * MS);
    assert!(done.aborted, "all other threads end, too");
    let message = failure.as_ref().unwrap().to_string();
    assert!(message.starts_with("device: a read of 4 KiB at offset "), "{message}");
    assert!(message.ends_with(" failed: Input/output error (os error 5)"), "{message}");
    assert_little(tally);
}

#[test]
fn failed_requests_of_a_continued_run_are_counted_separately() {
    let answer = |number, length| match number % 10 {
        3 => -libc::ENODATA,
        7 => 0,
        _ => length,
    };
    for test in [
        test().with(|requests| requests.queue_depth = 1),
        open(1_000.0).with(|requests| requests.queue_depth = 2),
    ] {
        let script = Script { answer, ..Script::steady(MS) };
        let done = run_as(&test, script, ErrorReaction::Continue, |_| ());
        let ThreadCounts { tally, errors, failure, complete, .. } = &done.ended;
        assert!(*complete && failure.is_none() && !done.aborted);
        assert_eq!((tally.requests(), errors.total()), (320, 80));
        let kinds: Vec<_> =
            errors.counts().iter().map(|count| (count.kind, count.requests)).collect();
        assert_eq!(kinds, [(ErrorKind::Media, 40), (ErrorKind::Ended, 40)]);
        assert_eq!((tally.bytes(), tally.latency().count()), (Bytes(320 * 4096), 320));
        assert_eq!((tally.failed_ns, tally.outstanding_ns), (80 * MS, 400 * MS));
        assert_little(tally);
    }
}

#[test]
fn a_volume_is_counted_without_failed_requests() {
    let answer = |number, length| if number % 4 == 0 { -libc::EILSEQ } else { length };
    let script = Script { answer, ..Script::steady(MS) };
    let done = run_as(
        &volume(30).with(|requests| requests.queue_depth = 1),
        script,
        ErrorReaction::Continue,
        |_| (),
    );
    assert_eq!((done.ended.tally.requests(), done.ended.errors.total()), (30, 10));
    assert_eq!(done.elapsed_ns, 40 * MS);
}

#[test]
fn a_dead_device_gets_a_thousand_requests_a_second_for_at_most_ten_seconds() {
    let length = Duration::from_nanoseconds(3 * SECOND);
    let script = Script { answer: |_, _| -libc::ENODEV, ..Script::steady(US) };
    let short = Test { duration: Some(length), ..test() };
    let done = run_as(&short, script, ErrorReaction::Continue, |_| ());
    let most = 3 * u64::from(A_SECOND) + 3 * 16;
    assert!((2_900..=most).contains(&done.ended.errors.total()), "{:?}", done.ended.errors);
    assert!(done.ended.failure.is_none());
    let done = run_as(&volume(10), script, ErrorReaction::Continue, |_| ());
    let ThreadCounts { errors, failure, tally, .. } = &done.ended;
    let message = failure.as_ref().unwrap().to_string();
    assert!(message.ends_with("it was the last of 10000 consecutive failed requests"), "{message}");
    assert!(errors.total() < u64::from(IN_A_ROW) + 16 && tally.requests() == 0);
    assert!((9 * SECOND..11 * SECOND).contains(&(done.over_ns - BEGUN)), "{}", done.over_ns);
}

/// A success between failures restarts their count, before and after counting begins.
#[test]
fn failures_with_successes_between_them_do_not_end_a_run() {
    let answer = |number, length| if number % 5_000 == 0 { length } else { -libc::EIO };
    let script = Script { answer, ..Script::steady(US) };
    let twelve = Duration::from_nanoseconds(12 * SECOND);
    let counted = Test { duration: Some(twelve), ..test() };
    let done = run_as(&counted, script, ErrorReaction::Continue, |_| ());
    let ThreadCounts { errors, failure, .. } = &done.ended;
    assert!(failure.is_none() && !done.aborted, "{failure:?}");
    // There are about a thousand failures a second.
    assert!(errors.total() > u64::from(IN_A_ROW), "{}", errors.total());
    let in_the_ramp = Test { ramp: twelve, ..test() };
    let done = run_as(&in_the_ramp, script, ErrorReaction::Continue, |_| ());
    assert!(done.ended.failure.is_none() && !done.aborted, "{:?}", done.ended.failure);
}

#[test]
fn the_volume_is_split_to_the_last_request_and_rounded_up() {
    let split =
        Test { threads: 3, duration: None, ..test() }.with(|requests| requests.queue_depth = 1);
    let split = Test { volume: Some(Bytes(4096 * 10 - 512)), ..split };
    assert_eq!([0, 1, 2].map(|thread| quota(&split, thread) / 4096), [4, 3, 3]);
    let endless = Test { volume: None, ..split };
    assert_eq!(quota(&endless, 0), u64::MAX);
}

//! The loop of one thread over a device that serves one request after the other and can stall.

use std::collections::VecDeque;
use std::time::Instant;

use super::*;
use lanemark_core::units::Ratio;
use lanemark_core::workload::{Load, Mix, Pattern, Process, Start};

const MS: u64 = 1_000_000;

/// A device that takes `service_ns` for each request, one after the other, and does nothing while it stalls.
struct Device {
    buffers: Vec<Vec<u8>>,
    begun: Instant,
    service_ns: u64,
    stall_ns: (u64, u64),
    pushed: Vec<(u32, i32)>,
    /// What is to be complete, and when.
    flying: VecDeque<(u64, u32, i32)>,
    free_ns: u64,
    seen_ns: u64,
}

impl Device {
    fn new(slots: u32, service_ns: u64, stall_ns: (u64, u64)) -> Self {
        Self {
            buffers: vec![vec![0; 4096]; slots as usize],
            begun: Instant::now(),
            service_ns,
            stall_ns,
            pushed: Vec::new(),
            flying: VecDeque::new(),
            free_ns: 0,
            seen_ns: 0,
        }
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
}

impl Engine for Device {
    fn refusal(&self) -> Option<&str> {
        None
    }

    fn outstanding(&self) -> u32 {
        (self.pushed.len() + self.flying.len()) as u32
    }

    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        &mut self.buffers[slot as usize]
    }

    fn push(&mut self, slot: u32, transfer: Transfer) {
        self.pushed.push((slot, transfer.length as i32));
    }

    fn submit(&mut self) -> io::Result<()> {
        for (slot, answer) in std::mem::take(&mut self.pushed) {
            let mut done_ns = self.free_ns.max(self.now_ns()) + self.service_ns;
            if (self.stall_ns.0..self.stall_ns.1).contains(&done_ns) {
                done_ns = self.stall_ns.1 + self.service_ns;
            }
            self.free_ns = done_ns;
            self.flying.push_back((done_ns, slot, answer));
        }
        Ok(())
    }

    fn submit_and_wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        self.submit()?;
        let first_ns = self.flying.front().map_or(u64::MAX, |first| first.0);
        let end_ns = self.now_ns().saturating_add(timeout_ns.unwrap_or(u64::MAX)).min(first_ns);
        std::thread::sleep(std::time::Duration::from_nanos(end_ns.saturating_sub(self.now_ns())));
        self.seen_ns = self.now_ns();
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

fn test() -> Test {
    Test {
        name: "held".to_owned(),
        block: Bytes(4096),
        pattern: Pattern::Uniform,
        read_share: Ratio::ONE,
        queue_depth: 16,
        threads: 1,
        span: Bytes::mebi(1),
        offset: Bytes::ZERO,
        alignment: Bytes(4096),
        volume: None,
        duration: Some(Duration::from_microseconds(400_000)),
        rounds: None,
        interval: None,
        ramp: Duration::ZERO,
        think: Duration::ZERO,
        compressibility: Ratio::ZERO,
        mix: Mix::default(),
        load: Load::Closed,
        start: Start::default(),
    }
}

/// Runs `test` on a device, and gives how its thread ended and how long it counted, in ns.
fn run(test: &Test, service_ns: u64, stall_ns: (u64, u64)) -> (Ended, u64) {
    let (stop, abort) = (AtomicBool::new(false), AtomicBool::new(false));
    let shared = Shared {
        path: Path::new("device"),
        test,
        clock: Clock::plain(),
        stop: &stop,
        abort: &abort,
        over: AtomicBool::new(false),
        watched: false,
    };
    let key = StreamKey { seed: 1, test: 0, repeat: 0, thread: 0 };
    let progress = Progress::default();
    let device = Device::new(test.queue_depth, service_ns, stall_ns);
    let worker = Worker::new(&shared, &progress, device, key, Source::drawn(test, key), None);
    let begun_ns = shared.clock.now_ns();
    let ended = worker.run(begun_ns).unwrap();
    let elapsed_ns = ended.closed_ns - begun_ns - test.ramp.nanoseconds();
    (ended, elapsed_ns)
}

/// Throughput times latency, and how many were outstanding on average.
fn outstanding((ended, elapsed_ns): &(Ended, u64)) -> (f64, f64) {
    let over = |ns: f64| ns / *elapsed_ns as f64;
    (over(ended.tally.accounted_ns()), over(ended.tally.outstanding_ns as f64))
}

#[test]
fn throughput_times_latency_is_what_was_outstanding() {
    for ramp in [0, 100] {
        let test = Test { ramp: Duration::from_microseconds(ramp * 1000), ..test() };
        let done = run(&test, MS / 2, (0, 0));
        let (accounted, mean) = outstanding(&done);
        assert!((15.2..=16.4).contains(&accounted), "{accounted} of 16");
        assert!((accounted - mean).abs() < 0.5, "{accounted} and {mean}");
        // 2,000 a second at most; a busy machine wakes late and makes it slower.
        let latency_ms = done.0.tally.latency().mean_ns() / 1e6;
        let exact = 16.0 * done.1 as f64 / 1e6 / done.0.tally.requests() as f64;
        assert!(latency_ms > 7.5 && (latency_ms / exact - 1.0).abs() < 0.06, "{latency_ms}");
    }
}

#[test]
fn a_stall_at_the_end_shows_in_the_slowest_and_in_the_time() {
    let done = run(&test(), MS / 2, (350 * MS, 700 * MS));
    let latency = done.0.tally.latency();
    assert!(latency.max_ns().unwrap() > 300 * MS);
    assert!(latency.percentile_ns(99.0).unwrap() > 300 * MS, "{:?}", latency.percentile_ns(99.0));
    assert!(done.1 > 690 * MS, "{} ns", done.1);
    let (accounted, mean) = outstanding(&done);
    assert!(accounted > 15.2 && (accounted - mean).abs() < 0.5, "{accounted} and {mean}");
}

#[test]
fn what_an_open_loop_could_not_submit_in_a_stall_at_the_end_is_waited_for() {
    let load = Load::Open { rate_per_second: 500.0, process: Process::Even };
    let test = Test { load, queue_depth: 2, ..test() };
    let done = run(&test, MS / 10, (200 * MS, 600 * MS));
    let latency = done.0.tally.latency();
    // All 200 requests that were due in 400 ms, half of them in the stall.
    assert_eq!((latency.count(), done.0.tally.punctuality.unwrap().unsubmitted), (200, 0));
    assert!(latency.percentile_ns(90.0).unwrap() > 300 * MS);
}

#[test]
fn an_open_loop_that_never_catches_up_ends_and_tells_what_it_left() {
    let load = Load::Open { rate_per_second: 10_000.0, process: Process::Even };
    let test = Test { load, queue_depth: 4, ..test() };
    let (ended, elapsed_ns) = run(&test, MS, (0, 0));
    let submitted = ended.tally.requests();
    let left = ended.tally.punctuality.as_ref().unwrap().unsubmitted;
    assert!((1_390 * MS..3_000 * MS).contains(&elapsed_ns), "{elapsed_ns}");
    assert_eq!(submitted + left, 4_000);
    assert!(left > 2_000, "{left}");
}

#[test]
fn the_volume_is_split_to_the_last_request_and_rounded_up() {
    let split = Test { queue_depth: 1, threads: 3, duration: None, ..test() };
    let split = Test { volume: Some(Bytes(4096 * 10 - 512)), ..split };
    assert_eq!([0, 1, 2].map(|thread| quota(&split, thread) / 4096), [4, 3, 3]);
    let endless = Test { volume: None, ..split };
    assert_eq!(quota(&endless, 0), u64::MAX);
}

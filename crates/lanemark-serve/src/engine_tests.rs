//! Tests the engine without a server: the instants of completions, power cuts, the engine's thread, and failures of
//! this thread.

use super::*;
use crate::clock::{ManualClock, TimeScale, WallClock};
use lanemark_schema::result::ErrorKind;
use lanemark_schema::rng::StreamKey;
use lanemark_sim::SystemSpec;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A task that sends its outcome to the test.
struct ReportingTask(Sender<(RequestStatus, DueCompletion)>, bool);

impl RequestOwner for ReportingTask {
    fn completed(self: Box<Self>, status: RequestStatus, due: &DueCompletion) -> CompletionStep {
        if self.1 {
            return CompletionStep::Flush(Box::new(ReportingTask(self.0, false)));
        }
        self.0.send((status, *due)).unwrap();
        CompletionStep::Answered(None)
    }
}

struct Cut;

impl DataOwner for Cut {
    fn power_cut(&self) -> String {
        "cut".to_owned()
    }
}

fn live() -> LiveSystem {
    let system = SystemSpec::example().checked().unwrap().device_side();
    LiveSystem::new(&system, Bytes::mebi(64).into(), StreamKey::from_seed(1))
}

fn access(operation: Operation, page: u64) -> Access {
    Access { operation, offset: Bytes::kibi(4) * page, length: Bytes::kibi(4) }
}

fn after_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_microseconds(us)
}

struct Bench {
    core: SimulatedSystem,
    clock: Arc<ManualClock>,
    outcomes: Receiver<(RequestStatus, DueCompletion)>,
    tell: Sender<(RequestStatus, DueCompletion)>,
}

fn bench(faults: &[Fault]) -> Bench {
    scaled_bench(faults, TimeScale::ONE)
}

fn scaled_bench(faults: &[Fault], scale: TimeScale) -> Bench {
    let (tell, outcomes) = channel();
    let clock = Arc::new(ManualClock::scaled(scale));
    let mut live = live();
    for fault in faults {
        live.add_fault(fault.clone()).unwrap();
    }
    let held: Option<Box<dyn DataOwner>> = Some(Box::new(Cut));
    let core = SimulatedSystem::new(live, faults, held, Arc::default(), clock.clone());
    Bench { core, clock, outcomes, tell }
}

impl Bench {
    fn submit(&mut self, access: Access, flushed: bool) {
        self.core.submit(EngineRequest {
            access,
            thread: 0,
            came: self.clock.now(),
            work: Box::new(ReportingTask(self.tell.clone(), flushed)),
        });
    }

    fn turn_to(&mut self, at: Instant) -> Option<(RequestStatus, DueCompletion)> {
        self.clock.turn_to(at);
        while !self.core.advance_to_now() {}
        self.outcomes.try_recv().ok()
    }
}

#[test]
fn a_completion_is_handed_out_at_its_modelled_instant_and_not_before() {
    let mut alone = live();
    alone.submit(Submission::new(after_us(5), access(Operation::Read, 9))).unwrap();
    let due = alone.advance_until(Instant::END).unwrap().completed;
    let mut bench = bench(&[]);
    assert_eq!(bench.turn_to(after_us(5)), None);
    bench.submit(access(Operation::Read, 9), false);
    let before = Instant::from_picoseconds(due.picoseconds() - 1);
    assert_eq!(bench.turn_to(before), None);
    let (status, outcome) = bench.turn_to(due).unwrap();
    assert_eq!((status, outcome.came, outcome.at), (RequestStatus::Good, after_us(5), due));
    assert_eq!(bench.core.delivered.counts().lateness.max_ns(), Some(0));
}

#[test]
fn a_late_completion_is_counted_as_late_in_real_time() {
    for (scale, quarters) in TimeScale::IN_TESTS {
        let mut bench = scaled_bench(&[], scale);
        bench.submit(access(Operation::Read, 9), false);
        let (_, outcome) = bench.turn_to(after_us(10_000)).unwrap();
        let late = after_us(10_000).since(outcome.at).nanoseconds() * quarters / 4;
        let counts = bench.core.delivered.counts();
        let counted = counts.lateness.max_ns().unwrap();
        assert!(counted.abs_diff(late) * 100 < late, "{counted} {late}");
        let latency = counts.reads.latency.max_ns().unwrap();
        assert!(latency.abs_diff(2_500_000 * quarters) < 25_000 * quarters, "{latency}");
        assert_eq!(counts.reads.latency.count(), 1);
    }
}

#[test]
fn a_write_with_forced_unit_access_is_answered_when_the_cache_is_flushed() {
    let outcome = |flushed, scale| {
        let mut bench = scaled_bench(&[], scale);
        bench.turn_to(after_us(7));
        bench.submit(access(Operation::Write, 1), flushed);
        let mut us = 7;
        let outcome = loop {
            us += 1;
            if let Some((_, outcome)) = bench.turn_to(after_us(us)) {
                break outcome;
            }
        };
        // The modelled latency contains the write and the flush, so only the last microsecond is late.
        assert_eq!(outcome.modelled, outcome.at.since(outcome.came));
        let late = bench.core.delivered.counts().lateness.max_ns().unwrap();
        assert!(late <= 4_000, "{late} ns late");
        outcome.at
    };
    for (scale, _) in TimeScale::IN_TESTS {
        // The example system takes hundreds of microseconds to program a page, but only a few to write to its cache.
        assert!(outcome(true, scale) > outcome(false, scale) + Duration::from_microseconds(100));
    }
}

/// Pauses of clients, and the interval at which an idle drive is examined, are measured in real time.
#[test]
fn pauses_and_looks_at_an_idle_drive_are_in_real_time() {
    for (scale, quarters) in TimeScale::IN_TESTS {
        let mut bench = scaled_bench(&[], scale);
        bench.submit(access(Operation::Read, 9), false);
        let done = bench.turn_to(after_us(1_000)).unwrap().1.at;
        // The client pauses for 100 ms of real time. The first 20 ms of them count as active.
        let pause = Duration::from_microseconds(100_000).scaled(4, quarters);
        bench.turn_to(done + pause);
        bench.submit(access(Operation::Read, 9), false);
        let last = bench.turn_to(done + pause + Duration::from_microseconds(1_000)).unwrap().1.at;
        let paused = last.since(Instant::ZERO).saturating_sub(bench.core.active());
        assert_eq!(bench.clock.real(paused).nanoseconds() / 1_000, 80_000);
        let look = bench.core.idle_look().since(bench.clock.now());
        assert_eq!(bench.clock.real(look), IDLE_LOOK);
    }
}

#[test]
fn a_power_cut_is_after_complete_requests_and_before_the_others() {
    let cut: Fault = "power-cut at=100us boot=1ms".parse().unwrap();
    let mut bench = bench(&[cut]);
    bench.submit(access(Operation::Write, 1), false);
    assert_eq!(bench.turn_to(after_us(99)).unwrap().0, RequestStatus::Good);
    bench.submit(access(Operation::Read, 7), false);
    assert!(bench.core.lost().is_empty());
    let (status, due) = bench.turn_to(after_us(3_000)).unwrap();
    assert_eq!(status, RequestStatus::Failed(ErrorKind::DeviceGone));
    assert_eq!((due.at, bench.core.lost().len()), (after_us(100), 1));
    bench.submit(access(Operation::Read, 7), false);
    assert_eq!(bench.turn_to(after_us(9_000)).unwrap().0, RequestStatus::Good);
}

#[test]
fn an_added_fault_is_measured_from_now() {
    let mut bench = bench(&[]);
    bench.turn_to(after_us(500));
    bench.core.add_fault("power-cut at=100us boot=1ms".parse().unwrap()).unwrap();
    bench.turn_to(after_us(599));
    assert!(bench.core.lost().is_empty());
    bench.turn_to(after_us(601));
    assert_eq!(bench.core.lost(), ["cut"]);
}

#[test]
fn a_power_cut_that_is_cleared_before_it_begins_loses_nothing() {
    let mut bench = bench(&[]);
    let add = |bench: &mut Bench, text: &str| bench.core.add_fault(text.parse().unwrap()).unwrap();
    let cleared = add(&mut bench, "power-cut at=100us boot=1ms");
    add(&mut bench, "power-cut at=300us boot=1ms");
    bench.core.clear_fault(cleared).unwrap();
    bench.turn_to(after_us(200));
    assert!(bench.core.lost().is_empty());
    bench.turn_to(after_us(400));
    assert_eq!(bench.core.lost().len(), 1);
}

#[test]
fn a_fault_that_is_changed_ends_when_its_successor_begins() {
    use lanemark_sim::FaultPhase::{Active, Over};
    let mut bench = bench(&[]);
    let first = bench.core.add_fault("latency at=0s extra=1ms".parse().unwrap()).unwrap();
    bench.turn_to(after_us(10));
    let change =
        |bench: &mut Bench, fault: &str| bench.core.change_fault(first, fault.parse().unwrap());
    assert_eq!(change(&mut bench, "latency at=0s extra=2ms"), Ok(1));
    bench.turn_to(after_us(20));
    let phases: Vec<_> = bench.core.faults().iter().map(|state| state.phase).collect();
    assert_eq!(phases, [Over, Active]);
    // A fault that is over cannot be changed.
    assert!(change(&mut bench, "latency at=0s extra=3ms").is_err());
    assert_eq!(bench.core.faults().len(), 2);
}

/// The owner of data that records when the power is cut, in the order of the outcomes of requests.
struct OrderedCut(Sender<(RequestStatus, DueCompletion)>, DueCompletion);

impl DataOwner for OrderedCut {
    fn power_cut(&self) -> String {
        self.0.send((RequestStatus::Failed(ErrorKind::Other), self.1)).unwrap();
        "cut".to_owned()
    }
}

#[test]
fn a_completion_at_the_instant_of_a_power_cut_is_after_the_cut() {
    let mut bench = bench(&[]);
    bench.submit(access(Operation::Write, 1), false);
    let due = bench.turn_to(after_us(5_000)).unwrap().1;
    for (delay, comes_first) in [(0, true), (1, false)] {
        let mut bench = self::bench(&[]);
        bench.core.held = Some(Box::new(OrderedCut(bench.tell.clone(), due)));
        let cut = Fault {
            at: due.at + Duration::from_picoseconds(delay),
            ..Fault::at(
                Duration::ZERO,
                FaultKind::PowerCut { boot: Duration::from_microseconds(1) },
            )
        };
        bench.core.note_cut(&cut);
        bench.submit(access(Operation::Write, 1), false);
        let (first, _) = bench.turn_to(after_us(5_000)).unwrap();
        assert_eq!(first != RequestStatus::Good, comes_first, "{delay} ps");
    }
}

/// A request that reaches the engine late ends the pause of its client when it arrives, not when it is submitted.
#[test]
fn a_pause_ends_at_the_arrival_of_a_request() {
    let mut bench = bench(&[]);
    bench.submit(access(Operation::Read, 9), false);
    let done = bench.turn_to(after_us(1_000)).unwrap().1.at;
    let came = done + Duration::from_microseconds(30_000);
    bench.turn_to(came + Duration::from_microseconds(10_000));
    let work = Box::new(ReportingTask(bench.tell.clone(), false));
    let access = access(Operation::Read, 9);
    bench.core.submit(EngineRequest { access, thread: 0, came, work });
    let last = bench.turn_to(came + Duration::from_microseconds(20_000)).unwrap().1.at;
    let paused = last.since(Instant::ZERO).saturating_sub(bench.core.active());
    assert_eq!(paused, Duration::from_microseconds(10_000));
}

#[test]
fn a_request_beyond_the_drive_fails() {
    let mut bench = bench(&[]);
    bench.submit(access(Operation::Read, u64::MAX >> 20), false);
    let (status, _) = bench.outcomes.try_recv().unwrap();
    assert!(matches!(status, RequestStatus::Failed(_)));
}

/// Submits a request for a distant page, and sends its outcome to `outcomes`.
fn ask_for(engine: &Engine, outcomes: &Sender<(RequestStatus, DueCompletion)>, page: u64) {
    let work = Box::new(ReportingTask(outcomes.clone(), page.is_multiple_of(2)));
    engine.submit(EngineRequest {
        access: access(Operation::Read, page),
        thread: 0,
        came: engine.clock().now(),
        work,
    });
}

#[test]
fn an_engine_that_fails_answers_all_requests_with_an_error() {
    let (tell, outcomes) = channel();
    // The system is so slow that no request completes before the failure.
    let clock = Arc::new(WallClock::start("100000".parse().unwrap()));
    let core = SimulatedSystem::new(live(), &[], None, Arc::default(), clock);
    let (engine, thread) = Engine::start(core).unwrap();
    let failed = |outcomes: &Receiver<(RequestStatus, DueCompletion)>| {
        let (status, _) = outcomes.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        assert!(matches!(status, RequestStatus::Failed(_)), "{status:?}");
    };
    for page in 0..20 {
        ask_for(&engine, &tell, page);
    }
    assert_eq!(engine.ask(|core| core.live().outstanding()), Some(20));
    assert!(!engine.has_failed());
    assert_eq!(engine.ask(|_| -> u32 { panic!("a fault of the engine, as tests make it") }), None);
    (0..20).for_each(|_| failed(&outcomes));
    assert!(engine.has_failed());
    for page in 0..5 {
        ask_for(&engine, &tell, page);
        failed(&outcomes);
        assert_eq!(engine.ask(|_| ()), None);
    }
    engine.end();
    assert!(thread.join().unwrap().is_none(), "what failed gives nothing back");
}

//! Tests which writes a flush covers, at the level of requests to the modelled drive: the writes that were complete
//! when the flush arrived, and no later write.

use super::*;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use lanemark_schema::result::ErrorKind;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation};
use lanemark_sim::spec::WriteCacheMode;
use lanemark_sim::{LiveSystem, SystemSpec};

use crate::clock::{ManualClock, TimeScale};
use crate::data::{DriveCache, ExportRange, FlushCoverage};
use crate::engine::{EngineRequest, SimulatedSystem};

const SIZE: u64 = 8 << 20;
const CACHE: DriveCache = DriveCache { kind: WriteCacheMode::Volatile, size: 4 << 20 };
/// Length of a write that a helper thread performs.
const LONG: usize = AT_ONCE_MAX + 4096;
const SECOND: u64 = 4 << 20;

type Task = Box<dyn FnOnce() + Send>;

/// A helper thread whose tasks run when the test runs them.
#[derive(Clone, Default)]
struct QueuedTasks(Arc<Mutex<Vec<Task>>>);

impl TaskThread for QueuedTasks {
    fn later(&self, task: Task) {
        self.0.lock().unwrap().push(task);
    }
}

impl QueuedTasks {
    fn run(&self) {
        let tasks = std::mem::take(&mut *self.0.lock().unwrap());
        tasks.into_iter().for_each(|task| task());
    }
}

/// A requester that sends its name and the outcome to the test.
struct NamedRequester {
    name: char,
    replies: Sender<(char, Result<(), NbdError>)>,
    helper: QueuedTasks,
}

impl Requester for NamedRequester {
    fn answer(self, outcome: Result<Option<Vec<u8>>, NbdError>) {
        self.replies.send((self.name, outcome.map(drop))).unwrap();
    }

    fn helper(&self) -> Arc<dyn TaskThread> {
        Arc::new(self.helper.clone())
    }
}

/// A modelled drive with its data in memory.
struct Drive {
    core: SimulatedSystem,
    clock: Arc<ManualClock>,
    around: RequestContext,
    helper: QueuedTasks,
    tell: Sender<(char, Result<(), NbdError>)>,
    replies: Receiver<(char, Result<(), NbdError>)>,
}

impl Drive {
    fn new(seed: u64, scale: TimeScale) -> Self {
        let data = Arc::new(ExportData::memory(SIZE, CACHE, seed).unwrap());
        let system = SystemSpec::example().checked().unwrap().device_side();
        let live = LiveSystem::new(&system, Bytes(SIZE).into(), StreamKey::from_seed(seed));
        let clock = Arc::new(ManualClock::scaled(scale));
        let delivered = Arc::new(DeliveryCounts::default());
        // Data in memory is stored at once, without the thread.
        let (storing, _) = StoringThread::start(Arc::clone(&data)).unwrap();
        let around = RequestContext {
            data,
            storing,
            delivered: Arc::clone(&delivered),
            clock: clock.clone(),
        };
        let core = SimulatedSystem::new(live, &[], None, delivered, clock.clone());
        let (tell, replies) = channel();
        Self { core, clock, around, helper: QueuedTasks::default(), tell, replies }
    }

    fn requester(&self, name: char) -> NamedRequester {
        NamedRequester { name, replies: self.tell.clone(), helper: self.helper.clone() }
    }

    fn submit(&mut self, name: char, operation: Operation, range: (u64, u64), task: DataTask) {
        let asker = self.requester(name);
        let work = Box::new(RequestJob { around: self.around.clone(), asker, range, task });
        let access = Access { operation, offset: Bytes(range.0), length: Bytes(range.1) };
        let came = self.clock.now();
        self.core.submit(EngineRequest { access, thread: 0, came, work });
    }

    fn write(&mut self, name: char, offset: u64, length: usize, stored: bool) {
        let payload = vec![name as u8; length];
        let task = DataTask::Write { payload, stored };
        self.submit(name, Operation::Write, (offset, length as u64), task);
    }

    fn flush(&mut self, name: char, completion: Arc<FlushCompletion>) {
        self.submit(name, Operation::Flush, (0, 0), DataTask::Stored(completion));
    }

    /// Advances the clock by a microsecond.
    fn advance(&mut self) {
        self.clock.turn_to(self.clock.now() + Duration::from_microseconds(1));
        while !self.core.advance_to_now() {}
    }

    /// Advances until a reply arrives, and returns it.
    fn reply(&mut self) -> (char, Result<(), NbdError>) {
        for _ in 0..1_000_000 {
            self.advance();
            if let Ok(reply) = self.replies.try_recv() {
                return reply;
            }
        }
        panic!("no reply within a second");
    }

    /// Returns whether a sector of the write `name` is lost.
    fn has_lost(&self, name: char, offset: u64, length: usize) -> bool {
        let mut bytes = vec![0; length];
        self.around.data.read(offset, &mut bytes).unwrap();
        bytes.iter().any(|byte| *byte != name as u8)
    }
}

/// The request that makes the first write durable.
#[derive(Clone, Copy, Debug)]
enum DurableRequest {
    /// A flush that the model completes after the file.
    Flush,
    /// A flush that the file completes after the model.
    FlushWithSlowFile,
    /// The first write itself, with forced unit access.
    ForcedWrite { length: usize },
}

/// Writes A, flushes, and completes the write B while the flush is under way. Returns whether a power cut after the
/// flush loses A, and whether it loses B.
fn losses(request: DurableRequest, seed: u64, scale: TimeScale) -> [bool; 2] {
    let mut drive = Drive::new(seed, scale);
    let mut length = 4096;
    let slow_file = Arc::new(FlushCompletion::default());
    let mut mark: Option<FlushCoverage> = None;
    match request {
        DurableRequest::Flush | DurableRequest::FlushWithSlowFile => {
            drive.write('a', 0, length, false);
            assert_eq!(drive.reply(), ('a', Ok(())));
            let arrival = drive.around.data.mark();
            let completion = match request {
                DurableRequest::FlushWithSlowFile => Arc::clone(&slow_file),
                DurableRequest::Flush | DurableRequest::ForcedWrite { .. } => {
                    drive.around.storing.store(arrival)
                }
            };
            mark = Some(arrival);
            drive.flush('f', completion);
        }
        DurableRequest::ForcedWrite { length: forced } => {
            length = forced;
            drive.write('a', 0, length, true);
            // The write is complete in the model when its data is changed; its flush follows.
            while !is_written(&drive, length) {
                drive.advance();
                drive.helper.run();
            }
        }
    }
    drive.write('b', SECOND, 4096, false);
    assert_eq!(drive.reply(), ('b', Ok(())), "B completes during the flush");
    if let DurableRequest::FlushWithSlowFile = request {
        // The model completes the flush, and the reply waits for the file.
        for _ in 0..20_000 {
            drive.advance();
        }
        assert!(drive.replies.try_recv().is_err());
        slow_file.real(Ok(mark.unwrap()));
        assert_eq!(drive.replies.try_recv(), Ok(('f', Ok(()))));
    } else {
        let (_, outcome) = drive.reply();
        assert_eq!(outcome, Ok(()));
    }
    drive.around.data.apply_power_cut().unwrap();
    [drive.has_lost('a', 0, length), drive.has_lost('b', SECOND, 4096)]
}

fn is_written(drive: &Drive, length: usize) -> bool {
    let mut bytes = vec![0; length];
    drive.around.data.read(0, &mut bytes).unwrap();
    bytes.iter().all(|byte| *byte == b'a')
}

#[test]
fn a_flush_covers_the_writes_before_its_arrival_and_no_others() {
    for request in [
        DurableRequest::Flush,
        DurableRequest::FlushWithSlowFile,
        DurableRequest::ForcedWrite { length: 4096 },
        DurableRequest::ForcedWrite { length: LONG },
    ] {
        for (scale, _) in TimeScale::IN_TESTS {
            let losses: Vec<[bool; 2]> = (0..12).map(|seed| losses(request, seed, scale)).collect();
            assert!(losses.iter().all(|[a, _]| !a), "{request:?}: A is lost");
            assert!(losses.iter().any(|[_, b]| *b), "{request:?}: B is never lost");
        }
    }
}

#[test]
fn a_long_write_without_a_flush_may_be_lost() {
    let is_lost = |seed| {
        let mut drive = Drive::new(seed, TimeScale::ONE);
        drive.write('a', 0, LONG, false);
        while !is_written(&drive, LONG) {
            drive.advance();
            drive.helper.run();
        }
        drive.around.data.apply_power_cut().unwrap();
        drive.has_lost('a', 0, LONG)
    };
    assert!((0..12).any(is_lost));
}

/// Zeroes with forced unit access flush the cache like a write does, and leave a hole only if they may.
#[test]
fn zeroes_with_forced_unit_access_make_earlier_writes_durable() {
    for (hole, operation) in [(true, Operation::Trim), (false, Operation::Write)] {
        let is_lost = |stored: bool, seed| {
            let mut drive = Drive::new(seed, TimeScale::ONE);
            drive.write('a', 0, 4096, false);
            assert_eq!(drive.reply(), ('a', Ok(())));
            let task = DataTask::Zero { hole, stored };
            drive.submit('z', operation, (SECOND, 1 << 16), task);
            assert_eq!(drive.reply(), ('z', Ok(())));
            let stretches = drive.around.data.stretches(SECOND, 1 << 16, 1);
            assert_eq!(stretches, [ExportRange { length: 1 << 16, hole }]);
            drive.around.data.apply_power_cut().unwrap();
            drive.has_lost('a', 0, 4096)
        };
        assert!((0..12).all(|seed| !is_lost(true, seed)));
        assert!((0..12).any(|seed| is_lost(false, seed)));
    }
}

/// The data of a structured reply follows a head, which a drive does not damage.
#[test]
fn wrong_bits_are_in_the_data_and_not_in_the_head_of_a_reply() {
    for draw in 0..200 {
        let drive = Drive::new(1, TimeScale::ONE);
        let task = DataTask::Read(vec![0; 20 + 64]);
        let mut job = RequestJob {
            around: drive.around.clone(),
            asker: drive.requester('r'),
            range: (0, 64),
            task,
        };
        let kind = FaultKind::BitFlips { range: None, bits: 8 };
        job.apply_damage(&SilentDamage { kind, draw });
        let DataTask::Read(bytes) = &job.task else { panic!("a read") };
        assert!(bytes[..20].iter().all(|byte| *byte == 0), "{draw}");
        assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 8);
    }
}

#[test]
fn a_flush_whose_file_fails_has_failed() {
    for is_model_first in [false, true] {
        let mut drive = Drive::new(1, TimeScale::ONE);
        let completion = Arc::new(FlushCompletion::default());
        if !is_model_first {
            completion.real(Err(NbdError::NoSpace));
        }
        drive.flush('f', Arc::clone(&completion));
        if is_model_first {
            (0..20_000).for_each(|_| drive.advance());
            completion.real(Err(NbdError::NoSpace));
            assert_eq!(drive.replies.try_recv(), Ok(('f', Err(NbdError::NoSpace))));
        } else {
            assert_eq!(drive.reply(), ('f', Err(NbdError::NoSpace)));
        }
    }
}

/// A request that a power cut interrupts is torn; a request that fails for another reason changes nothing.
#[test]
fn only_a_write_that_a_power_cut_interrupts_is_stored_in_part() {
    let written = |kind: ErrorKind| {
        (0..20).any(|seed| {
            let drive = Drive::new(seed, TimeScale::ONE);
            let asker = drive.requester('a');
            let task = DataTask::Write { payload: vec![b'a'; 4096], stored: false };
            let range = (0, 4096);
            let job = Box::new(RequestJob { around: drive.around.clone(), asker, range, task });
            let access =
                Access { operation: Operation::Write, offset: Bytes(0), length: Bytes(4096) };
            let at = Instant::ZERO;
            let due = DueCompletion {
                access,
                came: at,
                at,
                modelled: Duration::ZERO,
                before_flush: Duration::ZERO,
                damage: None,
            };
            drop(job.completed(RequestStatus::Failed(kind), &due));
            assert!(drive.replies.try_recv().unwrap().1.is_err());
            let mut bytes = vec![0; 4096];
            drive.around.data.read(0, &mut bytes).unwrap();
            bytes.contains(&b'a')
        })
    };
    assert!(written(ErrorKind::DeviceGone));
    assert!(!written(ErrorKind::Other));
}

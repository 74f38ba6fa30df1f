//! Compares the busy time of a die's array, read at any instant, with the sum of the spans in which the array works.
//!
//! The times are the same as in `flash_tests.rs`: a command takes 1 µs, tR 50 µs, a program 600 µs, an erase 3,000 µs,
//! and data 10 µs.

use super::flash::Flash;
use super::operation::{DieSite, DieTask};
use crate::engine::event::Event;
use crate::engine::number::{DieNumber, DriveNumber, SuperblockNumber};
use crate::engine::schedule::EventSchedule;
use crate::engine::slab::Handle;
use crate::spec::{DieSpec, FlashSpec, SuspendSpec};
use crate::tests::runs::small_drive;
use crate::tests::us;
use lanemark_schema::units::{Bytes, BytesPerSecond, Instant};

const US: u64 = 1_000_000;

/// Returns the times in µs for which the array of a die has read, programmed and erased until `at`, and the busy time
/// of the channel. Each task begins at the given microsecond, and reads are repeated `retries` times.
fn worked(die: DieSpec, tasks: &[(u64, DieTask)], retries: u32, at: u64) -> [u64; 4] {
    let small = small_drive();
    let spec = FlashSpec {
        channels: 1,
        dies_per_channel: 1,
        channel_rate: BytesPerSecond(1_000_000_000),
        command_time: us(1),
        die,
        ..small.flash().clone()
    };
    let key = lanemark_schema::rng::StreamKey::from_seed(1);
    let mut flash = Flash::new(DriveNumber(0), &spec, 1.0, key);
    let mut events = EventSchedule::new();
    let mut tasks = tasks.iter().copied().peekable();
    let end = Instant::from_picoseconds(at * US);
    loop {
        let next = tasks.peek().map(|(at, _)| Instant::from_picoseconds(at * US));
        let event = events.next_at();
        if [next, event].into_iter().flatten().min().is_none_or(|soonest| soonest > end) {
            break;
        }
        if next.is_some_and(|next| event.is_none_or(|event| next <= event)) {
            let (at, task) = tasks.next().unwrap();
            let (time, bytes, retries) = match task {
                DieTask::Read { .. } => (50, 10_000, retries),
                DieTask::Erase { .. } => (3_000, 0, 0),
                _ => (600, 10_000, 0),
            };
            let site = DieSite { die: DieNumber(0), plane: 0, time: us(time), retries };
            flash.start(Instant::from_picoseconds(at * US), site, task, Bytes(bytes), &mut events);
        } else if let Some((now, Event::Media(_, handle))) = events.pop() {
            flash.step(now, handle, &mut events);
        }
    }
    let time = flash.array_time(end);
    let parts = [time.read, time.program, time.erase, time.channel];
    parts.map(|part| part.picoseconds() / US)
}

/// Returns the length of the part of `spans` before `at`.
fn length_before(at: u64, spans: &[(u64, u64)]) -> u64 {
    spans.iter().map(|&(start, end)| at.clamp(start, end) - start).sum()
}

const READ: DieTask = DieTask::Read { command: Handle::NONE };
const PROGRAM: DieTask = DieTask::Program { unit: 0, held: 0, epoch: 0 };
const ERASE: DieTask = DieTask::Erase { superblock: SuperblockNumber(0) };

fn suspending() -> DieSpec {
    let suspend = Some(SuspendSpec { enter: us(20), resume: us(10) });
    DieSpec { suspend, ..DieSpec::default() }
}

#[test]
fn each_attempt_of_a_read_senses_and_the_data_in_between_does_not() {
    for at in [0, 1, 2, 30, 51, 55, 61, 62, 100, 111, 120, 121, 140, 171, 175, 181, 200] {
        let seen = worked(DieSpec::default(), &[(0, READ)], 2, at);
        let spans = [(1, 51), (61, 111), (121, 171)];
        assert_eq!(seen[0], length_before(at, &spans), "read at {at} us");
        assert_eq!(seen[1..3], [0, 0]);
    }
    for at in [0, 1, 30, 51, 55, 61, 70] {
        let seen = worked(DieSpec::default(), &[(0, READ)], 0, at);
        assert_eq!(seen[0], length_before(at, &[(1, 51)]), "read at {at} us");
        assert_eq!(seen[3], length_before(at, &[(0, 1), (51, 61)]), "channel at {at} us");
    }
}

#[test]
fn suspended_operations_work_before_and_after_suspension() {
    let at_all = [0, 11, 12, 100, 111, 115, 131, 150, 181, 191, 195, 201, 202, 500, 700, 701, 800];
    for at in at_all {
        let seen = worked(suspending(), &[(0, PROGRAM), (111, READ)], 0, at);
        assert_eq!(seen[1], length_before(at, &[(11, 111), (201, 701)]), "program at {at} us");
        assert_eq!(seen[0], length_before(at, &[(131, 181)]), "read at {at} us");
    }
    for at in at_all.into_iter().chain([2_000, 3_100, 3_200]) {
        let seen = worked(suspending(), &[(0, ERASE), (111, READ)], 0, at);
        assert_eq!(seen[2], length_before(at, &[(1, 111), (201, 3_091)]), "erase at {at} us");
    }
    // The operation is suspended twice.
    for at in at_all.into_iter().chain([301, 310, 381, 390, 391, 392, 790, 791, 800]) {
        let seen = worked(suspending(), &[(0, PROGRAM), (111, READ), (301, READ)], 0, at);
        let spans = [(11, 111), (201, 301), (391, 791)];
        assert_eq!(seen[1], length_before(at, &spans), "program at {at} us");
        assert_eq!(seen[0], length_before(at, &[(131, 181), (321, 371)]), "read at {at} us");
    }
}

//! Tests each timing rule of a die in isolation: an operation is complete exactly at its time, and not a picosecond
//! earlier.
//!
//! A command takes 1 µs, a page 50 µs in the array (tR), a program 600 µs, an erase 3,000 µs, and the data of one
//! operation 10 µs on the channel. The expected times are sums of these numbers.

use super::flash::{Flash, READS_FIRST};
use super::operation::{DieSite, DieTask};
use crate::engine::event::Event;
use crate::engine::number::{DieNumber, DriveNumber, SuperblockNumber};
use crate::engine::schedule::EventSchedule;
use crate::engine::slab::Handle;
use crate::engine::trace::MediaTimes;
use crate::spec::{DieSpec, FlashSpec, SuspendSpec};
use crate::tests::runs::small_drive;
use crate::tests::{at, us};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, BytesPerSecond, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ask {
    /// A host read on a plane, with this many failed attempts.
    Read(u32, u32),
    /// A read of data to be moved.
    Move,
    Program,
    Erase,
}

use Ask::{Erase, Move, Program, Read};

/// A read of plane 0 that succeeds on the first attempt.
const READ: Ask = Read(0, 0);

fn ps(microseconds: f64) -> u64 {
    (microseconds * 1e6).round() as u64
}

/// Returns the end of each operation in ps. Each operation is submitted to one die at its time in microseconds.
fn ends(die: DieSpec, asks: &[(f64, Ask)], until: Option<u64>) -> Vec<Option<u64>> {
    let small = small_drive();
    let spec = FlashSpec {
        channels: 1,
        dies_per_channel: 1,
        planes: 2,
        channel_rate: BytesPerSecond(1_000_000_000),
        command_time: us(1),
        die,
        ..small.flash().clone()
    };
    let mut flash = Flash::new(DriveNumber(0), &spec, 1.0, StreamKey::from_seed(1));
    let mut events = EventSchedule::new();
    let mut done = vec![None; asks.len()];
    let mut submitted = 0;
    loop {
        let next = asks.get(submitted).map(|(at, _)| Instant::from_picoseconds(ps(*at)));
        let first = next.filter(|next| events.next_at().is_none_or(|at| *next <= at));
        if let Some(now) = first {
            let (_, ask) = asks[submitted];
            let number = submitted as u32;
            let (task, time, bytes) = match ask {
                Read(..) => (DieTask::Read { command: Handle::from_number(number) }, 50, 10_000),
                Move => (DieTask::Move { relocation: Handle::from_number(number) }, 50, 10_000),
                Program => (DieTask::Program { unit: number, held: 0, epoch: 0 }, 600, 10_000),
                Erase => (DieTask::Erase { superblock: SuperblockNumber(number) }, 3_000, 0),
            };
            let (plane, retries) =
                if let Read(plane, again) = ask { (plane, again) } else { (0, 0) };
            let site = DieSite { die: DieNumber(0), plane, time: us(time), retries };
            flash.start(now, site, task, Bytes(bytes), &mut events);
            submitted += 1;
            continue;
        }
        let Some((now, event)) = events.pop() else { break };
        if until.is_some_and(|until| now.picoseconds() > until) {
            break;
        }
        let Event::Media(_, handle) = event else { panic!("{event:?} is not an event of flash") };
        let ended = flash.step(now, handle, &mut events);
        if let Some(operation) = ended {
            let number = match operation.task {
                DieTask::Read { command } => command.number(),
                DieTask::Move { relocation } => relocation.number(),
                DieTask::Program { unit, .. } => unit,
                DieTask::Erase { superblock } => superblock.0,
                other => panic!("{other:?} was not requested"),
            };
            done[number as usize] = Some(now.picoseconds());
            let MediaTimes::Counted { media, channels } = operation.passage else {
                panic!("flash counts its times")
            };
            let accounted = media.wait + media.service + channels.wait + channels.service;
            let (at, _) = asks[number as usize];
            assert!(accounted.picoseconds() <= now.picoseconds() - ps(at), "{:?}", operation.task);
        }
    }
    if until.is_none() {
        let again = |ask: &Ask| if let Read(_, again) = ask { u64::from(*again) } else { 0 };
        let mut read = us(0);
        let mut program = us(0);
        let mut erase = us(0);
        for (_, ask) in asks {
            match ask {
                // Each attempt senses the page.
                Read(..) | Move => read += us(50) * (1 + again(ask)),
                Program => program += us(600),
                Erase => erase += us(3_000),
            }
        }
        let time = flash.array_time(Instant::from_picoseconds(u64::MAX / 2));
        assert_eq!((time.read, time.program, time.erase), (read, program, erase), "{asks:?}");
        // A die is busy from its first operation to its last, because there is no gap between them.
        let end = Instant::from_picoseconds(done.iter().flatten().copied().max().unwrap());
        let first = Instant::from_picoseconds(ps(asks[0].0));
        assert_eq!(flash.busy(end).1, [end.since(first)], "{asks:?}");
    }
    done
}

/// Checks that each of `asks` is complete exactly at its expected time in µs, and not a picosecond earlier.
#[track_caller]
fn done_at(die: DieSpec, asks: &[(f64, Ask)], expected: &[f64]) {
    let whole: Vec<f64> =
        ends(die, asks, None).iter().map(|end| end.unwrap() as f64 / 1e6).collect();
    assert_eq!(whole, expected, "us, for {asks:?}");
    for (number, at) in expected.iter().enumerate() {
        assert_eq!(ends(die, asks, Some(ps(*at) - 1))[number], None, "{asks:?}: {number} is early");
        assert!(ends(die, asks, Some(ps(*at)))[number].is_some(), "{asks:?}: {number} is late");
    }
}

/// Returns a die without optional capabilities, which executes one operation at a time and serves reads first.
fn plain() -> DieSpec {
    DieSpec::default()
}

fn suspending() -> DieSpec {
    DieSpec { suspend: Some(SuspendSpec { enter: us(20), resume: us(10) }), ..plain() }
}

#[test]
fn a_single_operation_takes_command_array_and_data_time() {
    done_at(plain(), &[(0.0, READ)], &[61.0]);
    done_at(plain(), &[(0.0, Move)], &[61.0]);
    done_at(plain(), &[(0.0, Program)], &[611.0]);
    done_at(plain(), &[(0.0, Erase)], &[3_001.0]);
    // Each failed attempt occupies the array and the channel once more.
    done_at(plain(), &[(0.0, Read(0, 2))], &[1.0 + 50.0 + 2.0 * 60.0 + 10.0]);
}

#[test]
fn a_die_does_one_thing_after_the_other() {
    done_at(plain(), &[(0.0, READ), (0.0, READ)], &[61.0, 122.0]);
    done_at(plain(), &[(0.0, READ), (0.0, Read(1, 0))], &[61.0, 122.0]);
    done_at(plain(), &[(0.0, Program), (5.0, READ)], &[611.0, 672.0]);
    done_at(plain(), &[(0.0, Program), (0.0, Program)], &[611.0, 1_222.0]);
    done_at(plain(), &[(0.0, Erase), (0.0, Program)], &[3_001.0, 3_612.0]);
    done_at(plain(), &[(0.0, READ), (10.0, Program)], &[61.0, 672.0]);
}

#[test]
fn reads_of_the_host_precede_moves() {
    let asks = [(0.0, Program), (1.0, Program), (2.0, Move), (3.0, READ)];
    done_at(plain(), &asks, &[611.0, 672.0 + 611.0, 1_283.0 + 61.0, 672.0]);
}

#[test]
fn reads_go_first_up_to_a_number_in_a_row() {
    let reads = READS_FIRST as usize;
    let mut asks = vec![(0.0, READ); reads + 2];
    asks.extend([(0.0, Program), (0.0, Program)]);
    let first = 61.0 * f64::from(READS_FIRST);
    let mut expected: Vec<f64> = (1..=READS_FIRST).map(|number| 61.0 * f64::from(number)).collect();
    let program = first + 611.0;
    expected.extend([program + 61.0, program + 122.0, program, program + 122.0 + 611.0]);
    done_at(plain(), &asks, &expected);
}

#[test]
fn a_program_or_erase_is_suspended_and_resumed() {
    // The program is in the array from 11 µs onward; 500 µs remain at 111 µs.
    done_at(suspending(), &[(0.0, Program), (111.0, READ)], &[191.0 + 10.0 + 500.0, 191.0]);
    done_at(suspending(), &[(0.0, Erase), (1_001.0, READ)], &[1_081.0 + 10.0 + 2_000.0, 1_081.0]);
    // Two reads use one suspension: the die is already suspended, so the second read does not wait for a suspension.
    let asks = [(0.0, Program), (111.0, READ), (111.0, READ)];
    done_at(suspending(), &asks, &[191.0 + 61.0 + 510.0, 191.0, 252.0]);
    // An operation that is suspended twice incurs the times of suspension and resumption twice.
    let asks = [(0.0, Program), (111.0, READ), (301.0, READ)];
    done_at(suspending(), &asks, &[381.0 + 10.0 + 400.0, 191.0, 381.0]);
    // A die with a suspended operation does not begin another program or erase.
    let asks = [(0.0, Program), (5.0, Erase), (111.0, READ)];
    done_at(suspending(), &asks, &[701.0, 3_702.0, 191.0]);
}

#[test]
fn a_nearly_complete_operation_is_not_suspended() {
    // Suspending and resuming take 30 µs, which is the remaining time at 581 µs.
    done_at(suspending(), &[(0.0, Program), (581.0, READ)], &[611.0, 672.0]);
    let just = 580.999_999;
    done_at(
        suspending(),
        &[(0.0, Program), (just, READ)],
        &[just + 80.0 + 10.0 + (611.0 - just), just + 80.0],
    );
}

#[test]
fn a_program_whose_data_come_in_is_suspended_when_the_array_begins() {
    // The array begins at 11 µs. If a read is already waiting at that time, no part of the program has been executed.
    for at in [0.5, 5.0, 10.999_999, 11.0] {
        done_at(suspending(), &[(0.0, Program), (at, READ)], &[91.0 + 10.0 + 600.0, 91.0]);
    }
}

#[test]
fn a_cache_register_senses_the_next_page_while_one_goes_out() {
    let cached = DieSpec { cache_read: true, ..plain() };
    done_at(cached, &[(0.0, READ), (0.0, READ), (0.0, READ)], &[61.0, 112.0, 163.0]);
    // A program needs both registers.
    done_at(cached, &[(0.0, READ), (0.0, Program)], &[61.0, 672.0]);
    // On the channel, the command of the third read precedes the data of the second. The second read is sensed together
    // with the first.
    let both = DieSpec { independent_planes: true, ..cached };
    let asks = [(0.0, READ), (0.0, Read(1, 0)), (0.0, READ), (0.0, Read(1, 0))];
    done_at(both, &asks, &[61.0, 72.0, 112.0, 122.0]);
}

#[test]
fn a_cache_register_takes_the_data_of_the_next_program() {
    let cached = DieSpec { cache_program: true, ..plain() };
    done_at(cached, &[(0.0, Program), (100.0, Program)], &[611.0, 1_211.0]);
    // The program is so late that its data has not arrived when the array is free.
    done_at(cached, &[(0.0, Program), (605.0, Program)], &[611.0, 1_216.0]);
    // An erase does not transfer data, and begins with its command.
    done_at(cached, &[(0.0, Program), (100.0, Erase)], &[611.0, 3_612.0]);
    // A loaded program waits for reads, but its data is not loaded again.
    let asks = [(0.0, Program), (100.0, Program), (200.0, READ)];
    done_at(cached, &asks, &[611.0, 672.0 + 600.0, 672.0]);
}

/// While an operation is suspended, the data of the next program does not delay the reads.
#[test]
fn the_next_program_is_not_loaded_while_one_is_suspended() {
    let die = DieSpec { cache_program: true, ..suspending() };
    // The read's data is transferred from 181 µs onward, and would wait for the data of the program that arrived at 175
    // µs.
    let asks = [(0.0, Program), (111.0, READ), (175.0, Program)];
    done_at(die, &asks, &[701.0, 191.0, 1_301.0]);
    // The data is loaded when the suspended program continues, and not again after its second suspension.
    let asks = [(0.0, Program), (111.0, READ), (175.0, Program), (301.0, READ)];
    done_at(die, &asks, &[791.0, 191.0, 1_391.0, 381.0]);
}

/// A suspended operation continues after `READS_FIRST` consecutive host reads, and is not suspended again.
#[test]
fn a_suspended_operation_continues_after_enough_reads() {
    let reads = READS_FIRST as usize;
    let mut asks = vec![(0.0, Program)];
    asks.extend(vec![(111.0, READ); reads + 1]);
    let first = |number: u32| 191.0 + 61.0 * f64::from(number);
    // The last read waits until the program has ended, 510 µs after its resumption.
    let ended = first(READS_FIRST - 1) + 510.0;
    let mut expected = vec![ended];
    expected.extend((0..READS_FIRST).map(first));
    expected.push(ended + 61.0);
    done_at(suspending(), &asks, &expected);
    // A read that arrives after the resumption does not suspend the program.
    asks[reads + 1].0 = ended - 300.0;
    done_at(suspending(), &asks, &expected);
}

#[test]
fn independent_planes_read_their_own_pages() {
    let apart = DieSpec { independent_planes: true, ..plain() };
    done_at(apart, &[(0.0, READ), (0.0, Read(1, 0)), (0.0, READ)], &[61.0, 71.0, 122.0]);
    // A program needs all planes.
    done_at(apart, &[(0.0, Read(1, 0)), (0.0, Program)], &[61.0, 672.0]);
    done_at(apart, &[(0.0, Program), (0.0, READ), (0.0, Read(1, 0))], &[611.0, 672.0, 682.0]);
}

#[test]
fn a_read_is_repeated_up_to_eight_times() {
    let key = StreamKey::from_seed(1);
    let mut flash = Flash::new(DriveNumber(0), small_drive().flash(), 1.0, key);
    assert_eq!((flash.draw_retry_count(1.0), flash.draw_retry_count(0.0)), (8, 0));
}

/// A die that loses power is busy until the cut, and idle after it.
#[test]
fn a_cut_ends_all_operations_and_returns_the_programs() {
    let key = StreamKey::from_seed(1);
    let mut flash = Flash::new(DriveNumber(0), small_drive().flash(), 1.0, key);
    let mut events = EventSchedule::new();
    let program = DieTask::Program { unit: 7, held: 3, epoch: 0 };
    for (die, task) in [(0, program), (1, DieTask::Erase { superblock: SuperblockNumber(0) })] {
        let site = DieSite { die: DieNumber(die), plane: 0, time: us(600), retries: 0 };
        flash.start(at(10), site, task, Bytes(0), &mut events);
    }
    assert_eq!(flash.power_cut(at(100)), [program]);
    assert!(flash.is_idle());
    let busy = flash.busy(at(500)).1;
    assert_eq!(busy[..3], [90, 90, 0].map(us));
}

//! Tests the timing rules of protocols and the guarantees of drives, each in isolation: an event happens exactly at its
//! time, and not a picosecond earlier.
//!
//! Other tests of this kind: dies in `drive/solid_state/flash_tests.rs`, links in `link/timing_tests.rs`, collection in
//! `drive/solid_state/translation/collection_tests.rs`.

use crate::spec::*;
use crate::tests::runs::{at_rest, nvme, run, sas, sata, small_drive, test, unlimited};
use crate::tests::{BLOCK, lasting, pseudo_slc, us};
use crate::*;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};

/// A request: its time, its thread and its access.
type Ask = (Duration, u32, Access);

/// Returns a read at `at`; each `place` belongs to a different unit.
fn read(at: Duration, thread: u32, place: u64) -> Ask {
    let offset = small_drive().flash().unit() * place;
    (at, thread, Access { operation: Operation::Read, offset, length: BLOCK })
}

fn flush(at: Duration) -> Ask {
    (at, 0, Access { operation: Operation::Flush, offset: Bytes::ZERO, length: Bytes::ZERO })
}

/// Returns a simulator to which all of `asks` have been submitted.
fn run_requests(system: &SystemSpec, asks: &[Ask]) -> Simulator {
    assert_eq!(system.check(), Ok(()));
    let mut simulator = at_rest(system, Bytes::mebi(32).into());
    for (tag, &(at, thread, access)) in asks.iter().enumerate() {
        let request = Submission::new(Instant::ZERO + at, access).by(thread);
        simulator.submit(request.tagged(tag as u64)).unwrap();
    }
    simulator
}

/// Returns the time from the start until the last of `asks` is complete.
fn last(system: &SystemSpec, asks: &[Ask]) -> Duration {
    let mut simulator = run_requests(system, asks);
    let tag = asks.len() as u64 - 1;
    let found = std::iter::from_fn(|| simulator.advance()).find(|done| done.tag == tag);
    found.unwrap().completed.since(Instant::ZERO)
}

/// Checks that the last of `asks` is complete exactly at `at`, and not a picosecond earlier.
#[track_caller]
fn complete_at(system: &SystemSpec, asks: &[Ask], at: Duration) {
    assert_eq!(last(system, asks), at, "the last of {asks:?}");
    let tag = asks.len() as u64 - 1;
    let by = |limit: Duration| {
        let mut simulator = run_requests(system, asks);
        let until = Instant::ZERO + limit;
        std::iter::from_fn(|| simulator.advance_until(until)).any(|done| done.tag == tag)
    };
    assert!(!by(at - Duration::from_picoseconds(1)) && by(at), "the last of {asks:?}");
}

/// Returns a drive that processes many commands in parallel, in a millisecond each.
fn slow() -> DriveSpec {
    let mut drive = small_drive();
    drive.front_end.read_latency = us(1_000);
    drive
}

#[test]
fn a_command_waits_for_a_slot_and_no_longer() {
    for mut system in [nvme(slow()), sata(slow()), sas(slow(), 1)] {
        let alone = last(&system, &[read(us(0), 0, 0)]);
        let asks: Vec<Ask> = (0..5).map(|place| read(us(100 * place), 0, place)).collect();
        system.attachments[0].protocol.queue_depth = 5;
        complete_at(&system, &asks, us(400) + alone);
        // With four slots, the fifth command is sent when the first command has completed.
        system.attachments[0].protocol.queue_depth = 4;
        complete_at(&system, &asks, alone + alone);
    }
}

#[test]
fn queues_of_nvme_have_their_own_slots() {
    let mut system = nvme(slow());
    let alone = last(&system, &[read(us(0), 0, 0)]);
    system.attachments[0].protocol.queue_depth = 1;
    complete_at(&system, &[read(us(0), 0, 0), read(us(10), 1, 1)], us(10) + alone);
    complete_at(&system, &[read(us(0), 0, 0), read(us(10), 4, 1)], alone + alone);
}

#[test]
fn ahci_lets_its_queue_run_empty_for_a_flush() {
    let system = sata(small_drive());
    let start = us(0);
    let read_alone = last(&system, &[read(start, 0, 0)]);
    let flush_alone = last(&system, &[flush(start)]);
    let asks = [read(start, 0, 0), flush(us(2)), read(us(4), 0, 1)];
    complete_at(&system, &asks[..2], read_alone + flush_alone);
    complete_at(&system, &asks, read_alone + flush_alone + read_alone);
    // NVMe queues the command with the other commands.
    let system = nvme(small_drive());
    complete_at(&system, &asks[..2], us(2) + last(&system, &[flush(start)]));
}

#[test]
fn the_arbiter_serves_queues_in_turn() {
    let mut system = nvme(unlimited());
    system.attachments[0].drive.front_end.read_time = us(10);
    let alone = last(&system, &[read(us(0), 0, 0)]);
    // Four commands are in one queue. A command in another queue arrives 5 µs later and waits for one of them or for
    // all of them.
    let mut asks: Vec<Ask> = (0..4).map(|place| read(us(0), 0, place)).collect();
    asks.push(read(us(5), 1, 9));
    complete_at(&system, &asks, alone + us(10));
    system.attachments[0].protocol.queues = 1;
    complete_at(&system, &asks, alone + us(40));
}

/// A thread that has had no request for a while finds its core in a deep idle state; other threads do not affect it.
#[test]
fn a_request_after_a_pause_waits_for_a_core_in_a_deep_idle_state() {
    let mut system = nvme(small_drive());
    let alone = last(&system, &[read(us(0), 0, 0)]);
    (system.cpu.deep_wake, system.cpu.deep_idle_after) = (us(40), us(600));
    let tick = Duration::from_picoseconds(1);
    // The first request ends at `alone`. A closed loop submits the next request then, and is never late.
    for (pause, exit) in [(us(0), us(0)), (us(600), us(0)), (us(600) + tick, us(40))] {
        let asks = [read(us(0), 0, 0), read(alone + pause, 0, 1)];
        complete_at(&system, &asks, alone + pause + alone + exit);
    }
    let asks = [read(us(0), 0, 0), read(us(900), 1, 1), read(us(1_000), 0, 2)];
    complete_at(&system, &asks, us(1_000) + alone + us(40));
    assert_eq!(last(&system, &[read(us(590), 0, 0)]), us(590) + alone, "as after power-on");
}

/// The core of a command is idle from its submission until the interrupt.
#[test]
fn a_core_sleeps_when_it_has_been_idle_for_its_time_and_not_before() {
    let mut system = nvme(small_drive());
    let alone = last(&system, &[read(us(0), 0, 0)]);
    let idle = alone - system.attachments[0].protocol.read_time;
    system.cpu.wake = us(40);
    let tick = Duration::from_picoseconds(1);
    for (idle_after, wakes) in
        [(us(0), true), (idle - tick, true), (idle, false), (idle + tick, false), (us(900), false)]
    {
        system.cpu.idle_after = idle_after;
        let wake = if wakes { system.cpu.wake } else { us(0) };
        complete_at(&system, &[read(us(0), 0, 0)], alone + wake);
        // The submission of a request does not wake a core, regardless of how long the core has slept.
        complete_at(&system, &[read(us(0), 0, 0), read(us(500), 0, 1)], us(500) + alone + wake);
    }
    // Work on the same core for another command counts; work on another core does not.
    system.cpu.idle_after = idle - us(20);
    complete_at(&system, &[read(us(30), 0, 1), read(us(0), 0, 0)], alone);
    complete_at(&system, &[read(us(30), 1, 1), read(us(0), 0, 0)], alone + system.cpu.wake);
    complete_at(&system, &[read(us(10), 0, 1), read(us(0), 0, 0)], alone + system.cpu.wake);
}

/// A request includes the application's time once before its first command and once after its last.
#[test]
fn a_request_pays_the_applications_part_once() {
    let mut system = nvme(slow());
    system.attachments[0].protocol.transfer_max = BLOCK;
    let of = |operation, blocks| {
        (us(0), 0, Access { operation, offset: Bytes::ZERO, length: BLOCK * blocks })
    };
    for (operation, blocks) in [Operation::Read, Operation::Write]
        .into_iter()
        .flat_map(|operation| [1, 2, 5].map(|blocks| (operation, blocks)))
    {
        system.cpu.request_submit = us(0);
        (system.cpu.request_complete, system.cpu.write_submit) = (us(0), us(0));
        let plain = last(&system, &[of(operation, blocks)]);
        (system.cpu.request_submit, system.cpu.request_complete) = (us(30), us(70));
        complete_at(&system, &[of(operation, blocks)], plain + us(100));
        system.cpu.write_submit = us(11);
        let write = if operation == Operation::Write { us(11) } else { us(0) };
        complete_at(&system, &[of(operation, blocks)], plain + us(100) + write);
    }
}

/// Without a free slot, only the application's work proceeds; the driver's work waits for the slot.
#[test]
fn the_application_does_its_part_while_a_command_waits_for_a_slot() {
    let mut system = nvme(slow());
    system.attachments[0].protocol.queue_depth = 1;
    let plain = last(&system, &[read(us(0), 0, 0)]);
    system.cpu.request_submit = us(100);
    complete_at(&system, &[read(us(0), 0, 0), read(us(0), 0, 1)], us(100) + plain + plain);
}

#[test]
fn a_request_may_not_cross_the_end_of_its_drive() {
    let system = nvme(small_drive());
    let capacity = system.attachments[0].drive.capacity;
    let accepted = |system: &SystemSpec, target: u16, offset: Bytes, length: Bytes| {
        let mut simulator = at_rest(system, Bytes::mebi(32).into());
        let access = Access { operation: Operation::Read, offset, length };
        simulator.submit(Submission::new(Instant::ZERO, access).to(target))
    };
    let last = capacity - BLOCK;
    assert_eq!(accepted(&system, 0, last, BLOCK), Ok(()));
    assert_eq!(accepted(&system, 0, Bytes::ZERO, capacity), Ok(()));
    for (offset, length) in
        [(last, BLOCK + Bytes(512)), (capacity, Bytes(512)), (Bytes(u64::MAX), BLOCK)]
    {
        let error = SimError::OutOfRange { offset, length, capacity };
        assert_eq!(accepted(&system, 0, offset, length), Err(error));
    }
    let target = 1;
    assert_eq!(accepted(&system, target, Bytes::ZERO, BLOCK), Err(SimError::NoTarget { target }));
}

/// A write that waits for its list arrives after a read that was sent later and does not need a list.
#[test]
fn commands_are_served_in_the_order_in_which_the_controller_has_them() {
    let mut system = nvme(small_drive());
    let front_end = &mut system.attachments[0].drive.front_end;
    (front_end.read_time, front_end.write_time) = (us(10), us(30));
    let alone = last(&system, &[read(us(0), 1, 1)]);
    let write = |length| Access { operation: Operation::Write, offset: Bytes::mebi(8), length };
    let nanoseconds = Duration::from_nanoseconds;
    // The list takes 800 ns.
    for (sent, first) in [(nanoseconds(790), true), (nanoseconds(810), false)] {
        let asks = [(us(0), 0, write(Bytes::kibi(64))), read(sent, 1, 1)];
        let wait = if first { us(0) } else { us(30) - nanoseconds(10) };
        complete_at(&system, &asks, sent + alone + wait);
        // Without a list the write precedes it.
        let asks = [(us(0), 0, write(Bytes::kibi(8))), read(sent, 1, 1)];
        complete_at(&system, &asks, us(30) + alone);
    }
}

/// Simulated time stops at the end, and commands that complete at that instant are complete.
#[test]
fn a_completion_at_the_end_of_simulated_time_counts() {
    let mut done = run_requests(&nvme(small_drive()), &[read(us(0), 0, 0)]).advance().unwrap();
    done.completed = Instant::END;
    assert_eq!(done.check_end(), Ok(()));
    done.completed = Instant::from_picoseconds(Instant::END.picoseconds() + 1);
    assert_eq!(done.check_end(), Err(SimError::NeverEnds));
}

/// Reads run one at a time. The test counts the reads that complete from the end of the ramp to the end of the test,
/// both instants included.
#[test]
fn a_test_counts_completions_between_its_ramp_and_its_end() {
    let system = nvme(small_drive());
    let one = last(&system, &[read(us(0), 0, 0)]);
    let tick = Duration::from_picoseconds(1);
    let near = |time: Duration| [time - tick, time, time + tick];
    for ramp in [vec![us(0), tick], near(one * 3).to_vec()].concat() {
        for duration in near(one * 10) {
            let asked = lasting(duration, test(BLOCK, Pattern::Uniform, true, 1));
            let asked = Test { ramp, ..asked };
            let sample = run(&system, &asked);
            let counts = |number: &u64| one * *number >= ramp && one * *number <= ramp + duration;
            let expected = (1..20).filter(counts).count() as u64;
            assert_eq!(sample.operations(), expected, "ramp {ramp}, {duration}");
        }
    }
}

/// Returns a drive that has been written randomly and has four erased superblocks of 2 MiB and a larger buffer.
fn nearly_full() -> SystemSpec {
    let mut drive = small_drive();
    drive.buffer = Bytes::mebi(32);
    drive.flash_mut().blocks_per_plane = 60;
    drive.flash_mut().condition = DriveCondition::Random;
    nvme(drive)
}

#[test]
fn a_flush_waits_for_data_that_is_not_in_flash() {
    const WRITTEN: u64 = 24;
    let mut simulator = at_rest(&nearly_full(), Bytes::mebi(64).into());
    let length = Bytes::mebi(1);
    for tag in 0..WRITTEN {
        let write = Access { operation: Operation::Write, offset: length * tag, length };
        simulator.submit(Submission::new(Instant::ZERO, write).tagged(tag)).unwrap();
    }
    for _ in 0..WRITTEN {
        simulator.advance().unwrap();
    }
    let mapped = simulator.drive_use().host_written;
    assert!(mapped < length * WRITTEN, "all of it has a place, and the flush is put to no test");
    let (_, _, access) = flush(us(0));
    simulator.submit(Submission::new(simulator.now(), access).tagged(WRITTEN)).unwrap();
    assert_eq!(simulator.advance().unwrap().tag, WRITTEN);
    assert_eq!(simulator.drive_use().host_written, length * WRITTEN);
}

#[test]
fn new_data_is_read_at_the_time_of_the_cache_that_holds_it() {
    let mut drive = small_drive();
    drive.capacity = Bytes::mebi(512);
    let flash = drive.flash_mut();
    (flash.technology, flash.blocks_per_plane) = (Technology::Tlc, 400);
    flash.read = PageTimes::alike(us(80));
    flash.translation.pseudo_slc = Some(pseudo_slc(Bytes::mebi(8), Bytes::mebi(56)));
    let mean = |drive: &DriveSpec, mebibytes| {
        let reads = Test {
            span: Bytes::mebi(mebibytes),
            volume: Some(Bytes::mebi(16)),
            ..test(Bytes::kibi(4), Pattern::Uniform, true, 1)
        };
        run(&nvme(drive.clone()), &reads).latency().mean_ns() / 1e3
    };
    let cached = mean(&drive, 32);
    let beyond = mean(&drive, 256);
    drive.flash_mut().condition = DriveCondition::Sequential;
    let old = mean(&drive, 32);
    assert!((old - cached - 60.0).abs() < 0.1, "{cached} us, and {old} us of old data");
    // A quarter of the map fits in the cache.
    assert!((old - beyond - 15.0).abs() < 2.0, "{beyond} us over a span four times the cache");
}

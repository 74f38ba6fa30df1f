//! Compares RAID adapters with a cache, in whole systems, with the closed form of their model.

use crate::simulator::{Completion, Simulator};
use crate::spec::submission::Submission;
use crate::spec::{AdapterCacheSpec, AdapterSpec, PageTimes, SystemSpec, WriteCacheMode};
use crate::tests::power::flash_power;
use crate::tests::runs::{at_rest, complete_all, retrying, run, sas, test, times, unlimited};
use crate::tests::{BLOCK, access, at, latency, us};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};

/// Time of a write in the drive's command engine, which processes one write at a time: 20,000 a second.
const WRITE: Duration = us(50);

/// Returns a SAS system with one drive and no cache. The drive processes 20,000 writes a second, regardless of their
/// length.
fn without_cache() -> SystemSpec {
    let mut system = sas(unlimited(), 4);
    let attachment = &mut system.attachments[0];
    let driver = Duration::from_nanoseconds(100);
    (attachment.protocol.read_time, attachment.protocol.write_time) = (driver, driver);
    (attachment.drive.front_end.engines, attachment.drive.front_end.write_time) = (1, WRITE);
    attachment.drive.write_cache = WriteCacheMode::Protected;
    let flash = attachment.drive.flash_mut();
    flash.blocks_per_plane = 4096;
    flash.program = PageTimes::alike(us(10));
    attachment.protocol.adapter =
        Some(AdapterSpec { command_time: us(1), crowded: None, cache: None });
    system
}

fn with_cache(size: Bytes, gather: Bytes) -> SystemSpec {
    let mut system = without_cache();
    let adapter = system.attachments[0].protocol.adapter.as_mut().unwrap();
    adapter.cache = Some(AdapterCacheSpec { size, gather, depth: 32 });
    system
}

fn writes(pattern: Pattern, depth: u32, volume: Bytes) -> Test {
    Test { volume: Some(volume), ..test(BLOCK, pattern, false, depth) }
}

fn simulator(system: &SystemSpec) -> Simulator {
    at_rest(system, Bytes::mebi(32).into())
}

fn complete_one(simulator: &mut Simulator, operation: Operation, offset: Bytes) -> Completion {
    let length = if operation == Operation::Flush { Bytes::ZERO } else { BLOCK };
    let access = Access { operation, offset, length };
    simulator.submit(Submission::new(simulator.now(), access).tagged(7)).unwrap();
    simulator.advance().unwrap()
}

#[test]
fn a_full_cache_takes_as_long_as_the_drive() {
    let system = with_cache(Bytes::mebi(1), BLOCK);
    let volume = Bytes::mebi(32);
    let seen = run(&system, &writes(Pattern::Uniform, 32, volume));
    // All writes reach the drive, except the writes that are in the cache at the end and the writes that were
    // overwritten while they waited. One in 33 writes replaces an older write to the same block, because 256 of 8,192
    // blocks are waiting.
    let held = Bytes::mebi(1).get() as f64 / volume.get() as f64;
    let model = 20_000.0 / (1.0 - held) / (1.0 - 256.0 / 8192.0);
    assert!((seen.iops() / model - 1.0).abs() < 0.02, "{} for {model}", seen.iops());
}

#[test]
fn the_time_budget_of_every_write_is_its_latency() {
    let mut cached = simulator(&with_cache(Bytes::kibi(512), Bytes::kibi(16)));
    let requests = (0..512u64).map(|block| {
        let write = access(Operation::Write, BLOCK * (block * 7 % 512), BLOCK);
        Submission::new(Instant::ZERO, write)
    });
    complete_all(&mut cached, requests);
    assert_eq!(cached.drive_use().host_written, Bytes::mebi(2), "all of it reaches the drive");
}

/// Returns a 192 KiB cache upstream of a drive that writes one request at a time in 10 ms.
fn crowded() -> SystemSpec {
    let mut system = with_cache(Bytes::kibi(192), Bytes::kibi(64));
    let attachment = &mut system.attachments[0];
    attachment.drive.front_end.write_time = us(10_000);
    attachment.protocol.adapter.as_mut().unwrap().cache.as_mut().unwrap().depth = 1;
    system
}

/// Submits `writes`, each given as (offset, length) in KiB, one per microsecond, and returns their latencies.
fn written(system: &SystemSpec, writes: &[(u64, u64)]) -> Vec<Duration> {
    let requests = (0..).zip(writes).map(|(number, &(offset, length))| {
        let write = access(Operation::Write, Bytes::kibi(offset), Bytes::kibi(length));
        Submission::new(at(number), write)
    });
    complete_all(&mut simulator(system), requests).iter().map(latency).collect()
}

#[test]
fn overwriting_makes_room_for_a_write_that_waits() {
    let soon = us(500);
    let drained = us(9_000);
    // The first write is in transit to the drive, the third overwrites the second, and the fourth then has room
    // immediately.
    let overwriting = written(&crowded(), &[(0, 64), (64, 64), (64, 64), (256, 64)]);
    assert!(overwriting.iter().all(|latency| *latency < soon), "{overwriting:?}");
    // If the third write does not overwrite the second, or only half of it, the fourth write waits for the drive.
    for third in [128, 96] {
        let seen = written(&crowded(), &[(0, 64), (64, 64), (third, 64), (256, 64)]);
        assert!(seen[..3].iter().all(|latency| *latency < soon), "{seen:?}");
        assert!(seen[3] > drained, "{seen:?}");
    }
    // A write that overwrites half of another frees half of the older write's room.
    let seen = written(&crowded(), &[(0, 64), (64, 64), (96, 64), (256, 32)]);
    assert!(seen[3] < soon, "{seen:?}");
    let seen = written(&crowded(), &[(0, 64), (64, 64), (96, 64), (256, 36)]);
    assert!(seen[3] > drained, "{seen:?}");
}

#[test]
fn writes_that_wait_for_room_go_in_the_order_of_their_arrival() {
    let drained = us(9_000);
    // The cache accepts a write that fills it exactly without delay.
    let seen = written(&crowded(), &[(0, 64), (128, 64), (256, 64)]);
    assert!(seen.iter().all(|latency| *latency < drained), "{seen:?}");
    // The fourth write is longer than the remaining 60 KiB. The fifth would fit, but waits for the fourth.
    let seen = written(&crowded(), &[(0, 64), (128, 64), (256, 4), (512, 64), (640, 4)]);
    assert!(seen[2] < drained && seen[3] > drained && seen[4] > drained, "{seen:?}");
    let seen = written(&crowded(), &[(0, 64), (128, 64), (256, 4), (640, 4)]);
    assert!(seen[3] < drained, "{seen:?}");
}

#[test]
fn tests_that_only_fill_the_cache_are_reported() {
    let filling = |size, volume| {
        let sample = run(&with_cache(size, BLOCK), &writes(Pattern::Sequential, 32, volume));
        sample.drive.unwrap().filling()
    };
    let share = filling(Bytes::mebi(64), Bytes::mebi(1));
    assert!(share > 0.5, "{share}: all except the drive's writes in that time");
    let share = filling(Bytes::mebi(1), Bytes::mebi(16));
    assert!((share - 1.0 / 16.0).abs() < 0.02, "{share}");
}

#[test]
fn only_commands_that_reach_a_drive_make_it_busy() {
    let mut system = with_cache(Bytes::mebi(64), BLOCK);
    system.attachments[0].drive.power = Some(flash_power());
    let mut cached = simulator(&system);
    for block in 0..100 {
        complete_one(&mut cached, Operation::Write, BLOCK * block);
        complete_one(&mut cached, Operation::Read, BLOCK * block);
        complete_one(&mut cached, Operation::Flush, Bytes::ZERO);
    }
    assert!(cached.advance().is_none());
    assert_eq!(cached.drive_use().host_written, BLOCK * 100);
}

#[test]
fn drives_share_the_cache() {
    // Four drives drain the cache four times as fast.
    let volume = Bytes::mebi(16);
    let system = times(with_cache(Bytes::mebi(1), BLOCK), 4);
    let four = run(&system, &writes(Pattern::Sequential, 32, volume)).iops();
    let alone =
        run(&with_cache(Bytes::mebi(1), BLOCK), &writes(Pattern::Sequential, 32, volume)).iops();
    assert!((four / (4.0 * alone) - 1.0).abs() < 0.1, "{four} for four times {alone}");
}

#[test]
fn faults_behind_a_cache_are_refused() {
    let mut system = with_cache(Bytes::mebi(64), BLOCK);
    system.faults.push(retrying(0.1));
    let fault = system.check().unwrap_err().to_string();
    assert!(fault.contains("not modelled behind the cache of an adapter"), "{fault}");
}

/// The adapter completes writes, flushes and reads of cached data over the host's link, without the drive's link.
#[test]
fn requests_that_end_at_the_adapter_use_only_host_links() {
    let at = |link: usize, delay: Duration, speed: u32| {
        let mut system = with_cache(Bytes::mebi(64), BLOCK);
        let link = &mut system.attachments[0].port_path.links[link];
        (link.latency, link.speed) = (delay, speed);
        let mut cached = simulator(&system);
        [Operation::Write, Operation::Read, Operation::Flush]
            .map(|operation| latency(&complete_one(&mut cached, operation, BLOCK)))
    };
    let host = 0;
    let drive = 1;
    let base = without_cache().attachments[0].port_path.links[host].latency;
    let plain = at(drive, Duration::ZERO, 1);
    assert_eq!(at(drive, us(30), 1), plain);
    assert_eq!(at(drive, Duration::ZERO, 4), plain);
    let [write, read, flush] = at(host, base + us(30), 1);
    for (slow, fast) in [(write, plain[0]), (read, plain[1]), (flush, plain[2])] {
        assert!(slow >= fast + us(30), "{slow} and {fast}");
    }
    let [write, read, _] = at(host, base, 4);
    assert!(write < plain[0] && read < plain[1], "{write} {read} {plain:?}");
}

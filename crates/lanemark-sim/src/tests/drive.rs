//! Tests the parts of a drive after the command engines against closed forms: dies with parallel operations, flushes
//! and trims, collection, the pseudo-SLC cache, and partly cached maps.

use crate::drive::write_amplification;
use crate::spec::*;
use crate::tests::runs::{
    at_rest, complete_all, megabytes, nvme, retrying, run, simulate, small_drive, test, unlimited,
};
use crate::tests::trajectory;
use crate::tests::{BLOCK, access, latency, pseudo_slc, us};
use crate::*;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant, Ratio};
use lanemark_schema::workload::{Access, Fault, Operation, Pattern, Test};

/// Returns a system whose drive has one die with two planes; all other parts take no time.
pub(crate) fn one_die(change: impl FnOnce(&mut FlashSpec)) -> SystemSpec {
    let mut drive = unlimited();
    let flash = drive.flash_mut();
    *flash = FlashSpec { channels: 1, dies_per_channel: 1, pages_per_block: 64, ..flash.clone() };
    flash.read = PageTimes::alike(us(50));
    flash.channel_rate = BytesPerSecond(400_000_000);
    change(flash);
    let mut system = nvme(drive);
    system.attachments[0].protocol.read_time = Duration::from_nanoseconds(10);
    system.attachments[0].protocol.write_time = Duration::from_nanoseconds(10);
    system.attachments[0].drive.front_end.write_time = Duration::from_nanoseconds(10);
    system.attachments[0].drive.front_end.write_latency = Duration::ZERO;
    system.cpu.cores = 1;
    system
}

/// Returns the latency of each of `accesses`, submitted at its time.
pub(crate) fn latencies(system: &SystemSpec, accesses: &[(Duration, Access)]) -> Vec<Duration> {
    let mut simulator = at_rest(system, Bytes::mebi(32).into());
    let requests = accesses.iter().map(|&(at, access)| Submission::new(Instant::ZERO + at, access));
    complete_all(&mut simulator, requests).iter().map(latency).collect()
}

#[test]
fn retries_cost_what_their_number_says() {
    let mean = |share: f64, cycles| {
        let mut system = one_die(|flash| flash.cycles = cycles);
        system.faults = vec![retrying(share)];
        let random = Test { volume: Some(BLOCK * 8_000), ..test(BLOCK, Pattern::Uniform, true, 1) };
        (run(&system, &random).latency().mean_ns(), system.attachments[0].drive.flash().clone())
    };
    let (fresh, flash) = mean(0.4, 0);
    assert_eq!(fresh, mean(0.0, 1000).0, "a block without cycles needs no repetition");
    let again = (us(50) + BLOCK / flash.channel_rate).nanoseconds() as f64;
    for cycles in [500, 1000] {
        // Each attempt fails with probability p, so a read needs p / (1 - p) more attempts on average.
        let p = 0.4 * libm::pow(f64::from(cycles) / 1000.0, 2.0);
        let expected = fresh + again * p / (1.0 - p);
        let seen = mean(0.4, cycles).0;
        assert!((seen / expected - 1.0).abs() < 0.01, "{cycles} cycles: {seen} for {expected}");
    }
}

#[test]
fn trimmed_data_needs_no_flash_and_one_command() {
    let system = nvme(small_drive());
    let whole = Bytes::mebi(32);
    let seen = latencies(
        &system,
        &[
            (us(0), access(Operation::Read, Bytes::mebi(1), BLOCK)),
            (us(500), access(Operation::Trim, Bytes::ZERO, whole)),
            (us(1000), access(Operation::Read, Bytes::mebi(1), BLOCK)),
        ],
    );
    assert!(seen[0] > us(60) && seen[2] < us(20), "{} and {}", seen[0], seen[2]);
    assert!(seen[1] < us(20), "{}", seen[1]);
}

/// Returns a drive in its steady state, whose flash exceeds its capacity by the share `spare`.
fn steady(spare: f64, change: impl FnOnce(&mut DriveSpec)) -> SystemSpec {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    flash.blocks_per_plane = 400;
    flash.condition = DriveCondition::Random;
    // The channel is so fast that dies do not wait for it.
    flash.channel_rate = BytesPerSecond(10_000_000_000);
    let raw = flash.capacity().get() as f64;
    drive.capacity = Bytes((raw / (1.0 + spare)) as u64 / 4096 * 4096);
    change(&mut drive);
    nvme(drive)
}

#[test]
fn steady_state_writes_go_at_the_rate_of_the_dies_over_write_amplification() {
    for spare in [0.15, 0.30] {
        let system = steady(spare, |drive| drive.buffer = Bytes::mebi(4));
        let writes = Test {
            span: system.attachments[0].drive.capacity,
            volume: Some(Bytes::mebi(600)),
            ..test(BLOCK, Pattern::Uniform, false, 32)
        };
        let sample = run(&system, &writes);
        let flash = system.attachments[0].drive.flash();
        let filled = f64::from(flash.blocks_per_plane - ERASED_MIN) - 0.5;
        let ratio = filled * flash.superblock().get() as f64
            / system.attachments[0].drive.capacity.get() as f64;
        let amplified = sample.drive.unwrap().write_amplification().unwrap();
        let theory = write_amplification(ratio);
        assert!((amplified / theory - 1.0).abs() < 0.05, "{amplified:.2} for {theory:.2}");
        // Each unit costs the time of its program. Moved data is read first, and a block is erased for each block
        // filled.
        let on_channel = flash.command_time + flash.unit() / flash.channel_rate;
        let program = flash.program.mean() + on_channel;
        let moved = (amplified - 1.0) / amplified;
        // A moved unit consists of the valid data of several units.
        let read = (flash.read.mean() + flash.command_time).as_seconds() / (1.0 - 1.0 / amplified)
            + (flash.unit() / flash.channel_rate).as_seconds();
        let erase = flash.erase.as_seconds() / f64::from(flash.pages_per_block);
        let per_unit = program.as_seconds() + moved * read + erase;
        let rate = flash.unit().get() as f64 * flash.dies() as f64 / per_unit / amplified / 1e6;
        let seen = megabytes(&sample);
        assert!((seen / rate - 1.0).abs() < 0.02, "{spare}: {seen:.2} for {rate:.2} MB/s");
        assert!(sample.path.unwrap().busiest == "flash dies");
    }
}

/// After an idle period the cache is empty again, and its data has been written a second time.
#[test]
fn a_pseudo_slc_cache_is_emptied_while_the_drive_is_idle() {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    flash.technology = Technology::Tlc;
    flash.blocks_per_plane = 400;
    flash.translation.idle_after = us(1000);
    flash.translation.pseudo_slc = Some(pseudo_slc(Bytes::mebi(16), Bytes::ZERO));
    let system = nvme(drive);
    let mut simulator = at_rest(&system, Bytes::ZERO.into());
    let burst = |simulator: &mut Simulator, at: Instant| {
        for index in 0..96 {
            let write = access(Operation::Write, Bytes::kibi(128) * index, Bytes::kibi(128));
            simulator.submit(Submission::new(at, write).tagged(index)).unwrap();
        }
        let mut last = at;
        while let Some(done) = simulator.advance() {
            last = done.completed;
        }
        last.since(at)
    };
    let first = burst(&mut simulator, Instant::ZERO);
    let folded = simulator.drive_use().folded;
    assert!(folded >= Bytes::mebi(10), "{folded} folded");
    let second = burst(&mut simulator, Instant::ZERO + us(10_000_000));
    assert!(second < first.scaled(11, 10), "{first} and {second}");
}

#[test]
fn an_uncached_map_costs_a_separate_read() {
    let mean = |map| {
        let mut system = nvme(small_drive());
        system.attachments[0].drive.flash_mut().translation.map = map;
        let random = Test {
            span: Bytes::mebi(64),
            volume: Some(BLOCK * 4000),
            ..test(BLOCK, Pattern::Uniform, true, 1)
        };
        run(&system, &random).latency().mean_ns() / 1e3
    };
    let whole = mean(None);
    // The map has sixteen pages and the cache four, so three of four reads miss.
    let four = Bytes::kibi(16);
    let flash = small_drive();
    let page = (flash.flash().command_time + flash.flash().read.mean()).as_microseconds()
        + (BLOCK / flash.flash().channel_rate).as_microseconds();
    let seen = mean(Some(MapSpec { cached: four, in_host: Bytes::ZERO })) - whole;
    assert!((seen / (0.75 * page) - 1.0).abs() < 0.03, "{seen} us for {}", 0.75 * page);
    let in_host = mean(Some(MapSpec { cached: four, in_host: Bytes::kibi(64) })) - whole;
    assert!(in_host < 2.0, "{in_host} us: a read of the host's memory, not of flash");
    // If there is room for all pages, only the first access to each page misses.
    let seen = mean(Some(MapSpec { cached: Bytes::kibi(64), in_host: Bytes::ZERO })) - whole;
    assert!((seen / (16.0 / 4000.0 * page) - 1.0).abs() < 0.05, "{seen} us");
}

#[test]
fn xpoint_is_written_in_place() {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    *flash = FlashSpec {
        technology: Technology::XPoint,
        planes: 1,
        page: BLOCK,
        pages_per_block: 512,
        // All flash belongs to the host: no superblock is kept erased, in any condition.
        blocks_per_plane: 8,
        condition: DriveCondition::Random,
        read: PageTimes::alike(us(2)),
        program: PageTimes::alike(us(4)),
        erase: Duration::ZERO,
        ..flash.clone()
    };
    let system = nvme(drive);
    assert_eq!(system.check(), Ok(()));
    let writes = Test {
        span: Bytes::mebi(64),
        volume: Some(Bytes::mebi(256)),
        ..test(BLOCK, Pattern::Uniform, false, 32)
    };
    let sample = run(&system, &writes);
    let written = sample.drive.unwrap();
    assert_eq!((written.host_written, written.moved), (Bytes::mebi(256), Bytes::ZERO));
    let read = run(&system, &test(BLOCK, Pattern::Uniform, true, 1)).latency().mean_ns();
    assert!(read < 25_000.0, "{read}");
}

/// Returns the end and the written data of a fixed run on a drive with one changed property.
fn fingerprint(
    faults: Vec<Fault>,
    change: impl FnOnce(&mut DriveSpec),
    read_share: f64,
) -> (u64, u64, u64, u64) {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    flash.blocks_per_plane = 60;
    flash.condition = DriveCondition::Random;
    change(&mut drive);
    let mixed = Test {
        span: Bytes::mebi(64),
        volume: Some(Bytes::mebi(48)),
        ..test(BLOCK, Pattern::Uniform, true, 16)
    }
    .with(|asked| asked.read_share = Ratio::new(read_share).unwrap());
    let system = SystemSpec { faults, ..nvme(drive) };
    let written = run(&system, &mixed).drive.unwrap().flash_written().get() / 4096;
    let (elapsed, events, hash) = trajectory::fingerprint(&system, &mixed);
    (elapsed, events, written, hash)
}

#[test]
fn the_trajectory_of_each_part_never_changes() {
    let die = |drive: &mut DriveSpec| {
        let die = &mut drive.flash_mut().die;
        *die = DieSpec { independent_planes: true, cache_read: true, cache_program: true, ..*die };
    };
    let suspend = |drive: &mut DriveSpec| {
        drive.flash_mut().die.suspend = Some(SuspendSpec { enter: us(20), resume: us(10) });
    };
    let map = |drive: &mut DriveSpec| {
        let map = MapSpec { cached: Bytes::kibi(16), in_host: Bytes::kibi(32) };
        drive.flash_mut().translation.map = Some(map);
    };
    let worn = |drive: &mut DriveSpec| drive.flash_mut().cycles = 800;
    let seen = [
        ("collection", fingerprint(Vec::new(), |_| {}, 0.0)),
        ("planes and cache registers", fingerprint(Vec::new(), die, 0.7)),
        ("suspend", fingerprint(Vec::new(), suspend, 0.7)),
        ("partial map", fingerprint(Vec::new(), map, 0.7)),
        ("retries", fingerprint(vec![retrying(0.3)], worn, 1.0)),
    ];
    assert_eq!(seen, FINGERPRINTS, "the model moved: say so in CHANGELOG and set the new ones");
}

const FINGERPRINTS: [(&str, (u64, u64, u64, u64)); 5] = [
    ("collection", (493821434199, 67877, 17316, 10249081197910203799)),
    ("planes and cache registers", (221893630666, 71945, 5296, 16068122843852659480)),
    ("suspend", (288189157123, 73741, 5368, 14147212302485474927)),
    ("partial map", (733901712399, 87771, 24792, 15680768020502152472)),
    ("retries", (254851856685, 73728, 0, 4089377596571161909)),
];

#[test]
fn repeated_reads_follow_the_seed_and_the_repeat_of_the_run() {
    let mut system = one_die(|flash| flash.cycles = 1_000);
    system.faults = vec![retrying(0.5)];
    // Single reads from an idle drive differ only in the number of their repetitions.
    let one = Test { volume: Some(BLOCK * 500), ..test(BLOCK, Pattern::Uniform, true, 1) };
    let elapsed = |seed: u64, repeat: u32| {
        let key = StreamKey { repeat, ..StreamKey::from_seed(seed) };
        simulate(&system, &one, key).unwrap().elapsed
    };
    assert_ne!(elapsed(1, 0), elapsed(2, 0));
    assert_ne!(elapsed(1, 0), elapsed(1, 1));
}

//! Compares hard disks with closed forms, and tests invariants of every disk.

use crate::link::LinkModel;
use crate::spec::*;
use crate::tests::runs::{at_rest, check_stages, sas, sata, share, simulate, times};
use crate::tests::trajectory::fingerprint;
use crate::tests::{assert_within, random_read, us};
use crate::*;
use lanemark_schema::result::Sample;
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};
use proptest::prelude::*;

/// Returns a 100 GB disk with one zone, whose command engine takes negligible time.
pub(crate) fn one_zone() -> DriveSpec {
    let disk = DiskSpec {
        heads: 4,
        zones: vec![DiskZone { cylinders: 40_000, sectors_per_track: 1_500 }],
        read_seek: SeekSpec {
            track_to_track: us(300),
            average: us(7_500),
            full_stroke: us(17_000),
        },
        write_seek: SeekSpec {
            track_to_track: us(500),
            average: us(8_500),
            full_stroke: us(18_000),
        },
        ..DiskSpec::example()
    };
    DriveSpec { capacity: disk.raw_capacity(), ..drive(disk) }
}

fn drive(disk: DiskSpec) -> DriveSpec {
    DriveSpec {
        capacity: Bytes::mebi(64),
        front_end: FrontEndSpec {
            engines: 1,
            read_time: us(1),
            write_time: us(1),
            read_latency: us(5),
            write_latency: us(5),
            ..FrontEndSpec::INSTANT
        },
        buffer: Bytes::mebi(8),
        write_cache: WriteCacheMode::default(),
        read_ahead: Bytes::ZERO,
        data_path_read: None,
        data_path_write: None,
        media: MediaSpec::Disk(disk),
        power: None,
    }
}

fn disk_of(drive: &mut DriveSpec) -> &mut DiskSpec {
    let MediaSpec::Disk(disk) = &mut drive.media else { unreachable!("a disk") };
    disk
}

fn changed(mut drive: DriveSpec, change: impl FnOnce(&mut DiskSpec)) -> DriveSpec {
    change(disk_of(&mut drive));
    drive
}

fn test(drive: &DriveSpec, block: Bytes, pattern: Pattern, read: bool, depth: u32) -> Test {
    Test {
        block,
        span: Bytes(drive.capacity.get() / block.get() * block.get()),
        volume: Some(block * 4_000),
        ..random_read()
    }
    .with(|asked| {
        asked.alignment = block;
        asked.pattern = pattern;
        asked.read_share = if read { Ratio::ONE } else { Ratio::ZERO };
        asked.queue_depth = depth;
    })
}

fn run(system: &SystemSpec, test: &Test) -> Sample {
    assert_eq!(system.check(), Ok(()));
    assert_eq!(test.check(), Ok(()));
    simulate(system, test, StreamKey::from_seed(1)).unwrap()
}

const SMALL: Bytes = Bytes::kibi(4);

/// Returns a test of requests of 4 KiB on the disk with one zone.
fn small(pattern: Pattern, read: bool, depth: u32) -> Test {
    test(&one_zone(), SMALL, pattern, read, depth)
}

/// Returns the time of a 4 KiB read, without the times of the arm and of the sectors.
fn overhead(system: &SystemSpec, command_overhead: Duration) -> Duration {
    let LinkModel::Sata(link) = system.attachments[0].port_path.links[1].model else {
        unreachable!("SATA")
    };
    let front_end = &system.attachments[0].drive.front_end;
    system.attachments[0].protocol.read_time
        + Duration::from_nanoseconds(150 + 2 * 800 + 150)
        + link.issue_time()
        + front_end.read_time
        + front_end.read_latency
        + command_overhead
        + link.read_data_time(SMALL, true)
        + link.completion_time()
}

#[test]
fn one_random_read_takes_a_seek_half_a_revolution_and_its_sectors() {
    let system = sata(one_zone());
    let test = Test { volume: Some(SMALL * 10_000), ..small(Pattern::Uniform, true, 1) };
    let MediaSpec::Disk(disk) = &system.attachments[0].drive.media else { unreachable!("a disk") };
    let turn = disk.revolution();
    // Only a few requests cross the end of a track.
    let sectors = turn.scaled(8, 1_500) + disk.track_skew.scaled(7, 1_500);
    let expected =
        disk.read_seek.average + turn / 2 + sectors + overhead(&system, disk.command_overhead);
    assert_within(run(&system, &test).iops(), 1.0 / expected.as_seconds(), 0.01);
}

#[test]
fn each_zone_delivers_its_track_each_revolution_less_the_skew() {
    let zones =
        [1_973, 1_017].map(|sectors_per_track| DiskZone { cylinders: 5_000, sectors_per_track });
    let mut drive = changed(one_zone(), |disk| disk.zones = zones.to_vec());
    drive.capacity = disk_of(&mut drive).raw_capacity();
    let outer = Bytes(512 * 1_973 * 4 * 5_000);
    for (zone, offset) in zones.into_iter().zip([Bytes::ZERO, outer]) {
        let rate = disk_of(&mut drive).sustained_rate(&zone).as_megabytes();
        for (block, depth) in [(Bytes::kibi(128), 1), (Bytes::mebi(1), 1), (Bytes::kibi(64), 32)] {
            let offset = Bytes(offset.get().next_multiple_of(block.get()));
            let sequential = Test {
                offset,
                span: Bytes::mebi(2_048),
                volume: Some(Bytes::mebi(256)),
                ..test(&drive, block, Pattern::Sequential, true, depth)
            };
            let seen = run(&sata(drive.clone()), &sequential);
            assert_within(seen.throughput().as_megabytes(), rate, 0.005);
            assert_eq!(seen.path.unwrap().busiest, "disk mechanics");
        }
        let written = Test {
            offset: Bytes(offset.get().next_multiple_of(1 << 17)),
            span: Bytes::mebi(2_048),
            volume: Some(Bytes::mebi(256)),
            ..test(&drive, Bytes::kibi(128), Pattern::Sequential, false, 4)
        };
        let seen = run(&sata(drive.clone()), &written);
        // The buffer accepts writes immediately until it is full.
        let drained = (seen.bytes() - drive.buffer) / seen.elapsed;
        assert_within(drained.as_megabytes(), rate, 0.005);
    }
}

#[test]
fn small_reads_in_order_go_at_the_rate_of_the_media() {
    let system = sata(one_zone());
    let zone = DiskZone { cylinders: 40_000, sectors_per_track: 1_500 };
    let rate = disk_of(&mut one_zone()).sustained_rate(&zone).as_megabytes();
    let small = Test { volume: Some(Bytes::mebi(256)), ..small(Pattern::Sequential, true, 1) };
    assert_within(run(&system, &small).throughput().as_megabytes(), rate, 0.005);
    // Without read-ahead, each request has just missed its sectors.
    let alone = sata(changed(one_zone(), |disk| disk.read_ahead = Bytes::ZERO));
    let small = Test { volume: Some(SMALL * 4_000), ..small };
    assert_within(run(&alone, &small).iops(), 120.0, 0.01);
}

#[test]
fn writes_in_order_without_a_cache_miss_a_revolution_each() {
    let system = sata(changed(one_zone(), |disk| disk.write_cache = false));
    let small = small(Pattern::Sequential, false, 1);
    assert_within(run(&system, &small).iops(), 120.0, 0.01);
    let queued = small.with(|asked| asked.queue_depth = 32);
    assert!(run(&system, &queued).iops() > 120.0 * 20.0, "the queue holds what comes next");
}

#[test]
fn a_margin_takes_the_gain_of_a_short_queue_and_a_part_of_a_long_one() {
    let gains = |margin: u64| {
        let system = sata(changed(one_zone(), |disk| disk.reorder_margin = us(margin)));
        let at = |depth| run(&system, &small(Pattern::Uniform, true, depth)).iops();
        let alone = at(1);
        (alone, at(4) / alone, at(32) / alone)
    };
    let none = gains(0);
    let some = gains(2_500);
    assert_eq!(none.0, some.0, "a single command leaves no choice");
    assert!(none.1 > 1.3 && (1.0..1.25).contains(&some.1), "{none:?} {some:?}");
    assert!((1.3..0.75 * none.2).contains(&some.2), "{none:?} {some:?}");
}

#[test]
fn the_trajectory_of_a_disk_never_changes() {
    let two = drive(DiskSpec::example());
    let mixed = test(&two, Bytes::kibi(16), Pattern::Uniform, true, 8)
        .with(|asked| asked.read_share = Ratio::new(0.7).unwrap());
    let uncached = changed(two.clone(), |disk| disk.write_cache = false);
    let sequential = test(&two, Bytes::kibi(32), Pattern::Sequential, true, 2);
    let seen = [
        fingerprint(&sata(two.clone()), &mixed),
        fingerprint(&sas(uncached, 1), &mixed),
        fingerprint(&sata(two), &sequential),
    ];
    assert_eq!(seen, GOLDEN, "the model moved: say so in CHANGELOG and set the new fingerprint");
}

const GOLDEN: [(u64, u64, u64); 3] = [
    (15258828824114, 31560, 5652679624518469640),
    (20507905386716, 31993, 6116940246289025119),
    (7937020675809, 32000, 2102863873799771872),
];

prop_compose! {
    fn any_disk()(
        rpm in 3_600u32..16_000, heads in 1u32..6, switch in 1u64..1_500, skew in 0u64..2_000,
        zones in proptest::collection::vec((1u32..200, 30u32..900), 1..5), average in 0.34f64..0.53,
        settle in 0u64..400, overhead in 0u64..300, segments in 1u32..5, segment in 1u64..9,
        ahead in 0u64..9, write_cache: bool, destage_window in 1u32..80, age in 20u64..400, margin in 0u64..3_000,
    ) -> DiskSpec {
        let seek = |more: u64| SeekSpec {
            track_to_track: us(200 + more),
            average: us(200 + more + (8_000.0 * average) as u64),
            full_stroke: us(8_200 + more),
        };
        let mut zones: Vec<DiskZone> = zones
            .into_iter()
            .map(|(cylinders, sectors_per_track)| DiskZone { cylinders, sectors_per_track })
            .collect();
        zones[0].cylinders += 16;
        DiskSpec {
            rpm, heads, zones, read_seek: seek(0), write_seek: seek(settle), head_switch: us(switch),
            track_skew: us(skew), cylinder_skew: us(skew), command_overhead: us(overhead), segments,
            segment: Bytes::kibi(64 * segment), read_ahead: Bytes::kibi(64 * ahead.min(segment)),
            write_cache, destage_window, age_max: us(1_000 * age),
            reorder_margin: us(margin),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any disk completes each request once. The stages sum to the latency, no hop is busy for longer than the run or
    /// carries more than its model allows, and the same seed results in the same run.
    #[test]
    fn any_disk_keeps_the_invariants(
        disk in any_disk(), over_sas: bool, beside in 0usize..2, blocks in 1u64..600, sequential: bool,
        read_share in prop_oneof![Just(0.0f64), Just(1.0), 0.0f64..=1.0], depth in 1u32..40,
        threads in 1u32..4, seed: u64,
    ) {
        let capacity = Bytes(disk.raw_capacity().get() / 512 * 512);
        let drive = DriveSpec { capacity, buffer: Bytes::kibi(512), ..drive(disk) };
        let block = Bytes(512 * blocks);
        prop_assume!(capacity.get() > block.get() * 4);
        let mut system = if over_sas { sas(drive.clone(), 1) } else { sata(drive.clone()) };
        share(&mut system, 1);
        let system = times(system, 1 + beside);
        prop_assert_eq!(system.check(), Ok(()));
        let pattern = if sequential { Pattern::Sequential } else { Pattern::Uniform };
        let volume = Some(block * 200);
        let test = Test { threads, volume, ..test(&drive, block, pattern, true, depth) }
            .with(|asked| {
                asked.alignment = if sequential { block } else { Bytes(512) };
                asked.read_share = Ratio::new(read_share).unwrap();
            });
        prop_assert_eq!(test.check(), Ok(()));
        let sample = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(sample.bytes(), block * 200 * (1 + beside as u64));
        check_stages(&sample)?;
        // Reads of cached data, and writes until the buffer is full, do not need the arm.
        let apart = if read_share == 1.0 { 0 } else { drive.buffer.get() };
        let carried = Bytes(sample.bytes().get().saturating_sub(apart)) / sample.elapsed;
        let pure = read_share == 0.0 || read_share == 1.0;
        let alone = if beside == 0 && pure { ceilings(&system, &test) } else { Vec::new() };
        for ceiling in alone {
            let most = ceiling.rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
            // The mean of 200 seeks and waits differs from the mean over all pairs by a few per cent.
            prop_assert!(carried.0 as f64 <= most * 1.15, "{}: {carried} of {most}", ceiling.name);
        }
        let again = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(again, sample);
    }

    /// Requests at any time and alignment complete once and in time.
    #[test]
    fn no_request_is_lost_or_doubled(disk in any_disk(), seed: u64, count in 1usize..120, spread in 1u64..400_000) {
        let capacity = disk.raw_capacity();
        let system = sata(DriveSpec { capacity, buffer: Bytes::kibi(256), ..drive(disk) });
        prop_assert_eq!(system.check(), Ok(()));
        let mut simulator = at_rest(&system, Bytes::ZERO.into());
        let mut rng = Rng::new(StreamKey::from_seed(seed));
        let mut expected = Vec::new();
        let mut at = Instant::ZERO;
        for tag in 0..count as u64 {
            let operation = match rng.below(8) {
                0 => Operation::Flush,
                1 => Operation::Trim,
                2..=4 => Operation::Write,
                _ => Operation::Read,
            };
            let length = Bytes((1 + rng.below(300_000)).min(capacity.get()));
            let close = rng.chance(0.5);
            let room = capacity.get() - length.get();
            let offset = Bytes(rng.below((if close { room.min(2_000_000) } else { room }) + 1));
            let length = if operation == Operation::Flush { Bytes::ZERO } else { length };
            at = at + Duration::from_picoseconds(rng.below(spread * 1_000_000));
            simulator.submit(Submission::new(at, Access { operation, offset, length }).by(tag as u32 % 3).tagged(tag)).unwrap();
            expected.push(tag);
        }
        let mut last = Instant::ZERO;
        let mut seen = Vec::new();
        while let Some(done) = simulator.advance() {
            prop_assert!(done.completed >= last && done.completed > done.submitted);
            prop_assert_eq!(done.budget.total(), done.completed.since(done.submitted));
            last = done.completed;
            seen.push(done.tag);
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(simulator.outstanding(), 0);
    }
}

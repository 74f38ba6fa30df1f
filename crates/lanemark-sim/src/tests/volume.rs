//! Tests volumes during a run: the gain from striping and mirroring, and the limit that a shared uplink sets.

use crate::engine::budget::Hop;
use crate::link::{LinkModel, LinkSpec, Pcie, PcieGeneration};
use crate::run::ceiling::ceilings;
use crate::simulator::SimError;
use crate::spec::SystemSpec;
use crate::spec::submission::Submission;
use crate::spec::*;
use crate::tests::runs::{
    megabytes, nvme, run, simulate, small_drive, storage_at_rest, test, times, unlimited,
};
use crate::tests::{assert_within, lasting, staged_ns, us};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};
use proptest::prelude::*;

const STRIPE: VolumeSpec = VolumeSpec::Stripe { chunk: Bytes::kibi(64) };

/// Returns a volume over `count` drives, each on a separate path.
pub(crate) fn build_volume(drive: &DriveSpec, count: usize, volume: VolumeSpec) -> SystemSpec {
    let mut system = nvme(drive.clone());
    system.cpu.cores = 16;
    SystemSpec { volume: Some(volume), ..times(system, count) }
}

/// Returns a volume over drives downstream of an uplink with this many PCIe 2.0 lanes.
fn behind(drive: &DriveSpec, count: usize, volume: VolumeSpec, lanes: u32) -> SystemSpec {
    let mut system = build_volume(drive, count, volume);
    let model = Pcie::new(PcieGeneration::Two, lanes, Bytes(128), Bytes(512));
    let latency = Duration::from_nanoseconds(150);
    let model = LinkModel::Pcie(model);
    let uplink = LinkSpec { name: "uplink".to_owned(), model, latency, speed: 1 };
    system.trunk = vec![uplink];
    system.attachments.iter_mut().for_each(|attachment| attachment.port_path.trunk = 1);
    system
}

fn without_volume(system: &SystemSpec) -> SystemSpec {
    let first = SystemSpec { volume: None, ..system.clone() };
    times(first, 1)
}

/// Returns the throughput of `test` on the volume, relative to `alone` on its first drive.
fn gain(system: &SystemSpec, test: &Test, alone: &Test) -> f64 {
    megabytes(&run(system, test)) / megabytes(&run(&without_volume(system), alone))
}

#[test]
fn a_stripe_of_two_carries_twice_of_one_in_order() {
    let system = build_volume(&small_drive(), 2, STRIPE);
    for read in [true, false] {
        let test = lasting(us(50_000), test(Bytes::kibi(128), Pattern::Sequential, read, 16));
        let test = Test { ramp: us(20_000), ..test };
        assert_within(gain(&system, &test, &test), 2.0, 0.03);
    }
}

#[test]
fn a_shared_uplink_is_all_that_a_stripe_carries_and_is_named() {
    for lanes in [1, 2] {
        let system = behind(&unlimited(), 2, STRIPE, lanes);
        let test = test(Bytes::kibi(128), Pattern::Sequential, true, 16);
        let sample = run(&system, &test);
        let model = Pcie::new(PcieGeneration::Two, lanes, Bytes(128), Bytes(512));
        let bound = (test.block / model.write_time(test.block)).as_megabytes();
        let seen = megabytes(&sample);
        assert!(seen < bound * 1.001 && seen > bound * 0.97, "x{lanes}: {seen} of {bound}");
        assert_eq!(sample.path.unwrap().busiest, "uplink");
    }
}

/// Returns the bottleneck according to the formulas, and its ceiling in MB/s.
fn bottleneck(system: &SystemSpec, test: &Test) -> (String, f64) {
    let known = ceilings(system, test).into_iter().filter_map(|hop| Some((hop.name, hop.rate?)));
    let least = known.min_by_key(|(_, rate)| *rate).unwrap();
    (least.0, least.1.as_megabytes())
}

#[test]
fn a_pair_behind_an_uplink_has_the_bottleneck_hop_by_law_that_it_has_in_a_run() {
    let own = build_volume(&unlimited(), 2, STRIPE).attachments[0].port_path.links[0].name.clone();
    // The drives share one PCIe 2.0 lane, twice that, or more than both need.
    for (lanes, drives, name) in [(1, 2, "uplink"), (2, 3, "uplink"), (16, 2, own.as_str())] {
        let system = SystemSpec { volume: None, ..behind(&unlimited(), drives, STRIPE, lanes) };
        let test = lasting(us(50_000), test(Bytes::kibi(128), Pattern::Sequential, true, 16));
        let (narrow, rate) = bottleneck(&system, &test);
        let sample = run(&system, &test);
        let path = sample.path.as_ref().unwrap();
        let seen = megabytes(&sample);
        assert_eq!((narrow.as_str(), path.busiest.as_str()), (name, name), "x{lanes}");
        assert!(seen <= rate * 1.001 && seen > rate * 0.93, "x{lanes}: {seen} of {rate}");
    }
}

#[test]
fn a_mirror_writes_like_its_slower_drive_and_reads_like_both() {
    let mut system = build_volume(&small_drive(), 2, VolumeSpec::Mirror);
    system.attachments[0].drive.flash_mut().program = PageTimes::alike(us(1200));
    let test = lasting(us(60_000), test(Bytes::kibi(64), Pattern::Uniform, false, 16));
    let test = Test { ramp: us(30_000), ..test };
    assert_within(gain(&system, &test, &test), 1.0, 0.05);
    let block = Bytes::kibi(4);
    // With a deep queue, each of the two drives has a queue as deep as the queue of the single drive.
    let test = Test { block, ..test }.with(|asked| {
        asked.read_share = Ratio::ONE;
        asked.alignment = block;
        asked.queue_depth = 64;
    });
    let half = test.clone().with(|asked| asked.queue_depth = 32);
    assert_within(gain(&system, &test, &half), 2.0, 0.05);
}

#[test]
fn a_mirror_reads_less_from_a_slower_drive() {
    let mut system = build_volume(&small_drive(), 2, VolumeSpec::Mirror);
    system.attachments[0].drive.flash_mut().read = PageTimes::alike(us(150));
    let mut storage = storage_at_rest(&system, Bytes::mebi(8).into());
    let read = |index: u64| Access {
        operation: Operation::Read,
        offset: Bytes::kibi(4 * (index * 37 % 2048)),
        length: Bytes::kibi(4),
    };
    for index in 0..16 {
        storage.submit(Submission::new(Instant::ZERO, read(index)).tagged(index)).unwrap();
    }
    for index in 16..2000 {
        let now = storage.advance().unwrap().completed;
        storage.submit(Submission::new(now, read(index)).tagged(index)).unwrap();
    }
    let busy = &storage.simulator().busy()[Hop::FrontEnd as usize];
    let ratio = busy[1].as_seconds() / busy[0].as_seconds();
    assert!(ratio > 1.5, "{ratio}");
}

/// The parts of a request run in parallel, and the last part determines the latency and the waiting times.
#[test]
fn a_request_takes_as_long_as_its_last_part() {
    let system = build_volume(&small_drive(), 2, STRIPE);
    let access =
        Access { operation: Operation::Read, offset: Bytes::kibi(32), length: Bytes::kibi(96) };
    let mut storage = storage_at_rest(&system, Bytes::mebi(1).into());
    storage.submit(Submission::new(Instant::ZERO, access).tagged(7)).unwrap();
    let seen = storage.advance().unwrap();
    assert_eq!((seen.tag, seen.access), (7, access));
    assert_eq!(seen.budget.total(), seen.completed.since(seen.submitted));
    assert!(storage.advance().is_none());
    let longest = Access { offset: Bytes::ZERO, length: Bytes::kibi(64), ..access };
    let mut one = storage_at_rest(&without_volume(&system), Bytes::mebi(1).into());
    one.submit(Submission::new(Instant::ZERO, longest)).unwrap();
    let part = one.advance().unwrap();
    // The parts share a core, which takes half a microsecond for the previous command.
    let more = seen.completed.since(part.completed);
    assert!(more <= Duration::from_nanoseconds(1_000), "{more}");
}

#[test]
fn a_flush_reaches_all_drives_and_the_end_is_checked() {
    let system = build_volume(&small_drive(), 3, STRIPE);
    let capacity = system.volume_capacity().unwrap();
    assert_eq!(capacity, Bytes::mebi(192));
    assert_eq!(system.capacities(), [capacity]);
    let mut storage = storage_at_rest(&system, Bytes::ZERO.into());
    let mut submit = |target: u16, operation, offset, length| {
        let access = Access { operation, offset, length };
        storage.submit(Submission::new(Instant::ZERO, access).to(target))
    };
    let first = 0;
    submit(first, Operation::Write, capacity - Bytes::kibi(4), Bytes::kibi(4)).unwrap();
    submit(first, Operation::Flush, Bytes::ZERO, Bytes::ZERO).unwrap();
    submit(first, Operation::Trim, Bytes::ZERO, capacity).unwrap();
    let offset = capacity;
    let length = Bytes::kibi(4);
    let error = submit(first, Operation::Read, offset, length).unwrap_err();
    assert_eq!(error, SimError::OutOfVolume { offset, length, capacity });
    assert!(submit(first, Operation::Read, Bytes(u64::MAX), length).is_err());
    let target = 1;
    let error = submit(target, Operation::Read, Bytes::ZERO, length).unwrap_err();
    assert_eq!(error, SimError::NoTarget { target });
    assert_eq!(std::iter::from_fn(|| storage.advance()).count(), 3);
}

#[test]
fn volumes_that_cannot_be_are_reported() {
    let says = |system: SystemSpec, expected: &str| {
        let seen = system.check().unwrap_err().to_string();
        assert!(seen.contains(expected), "{seen}");
    };
    assert_eq!(build_volume(&small_drive(), 2, STRIPE).check(), Ok(()));
    says(
        build_volume(&small_drive(), 1, STRIPE),
        "volume = 1 drive: a stripe of 64 KiB needs at least two",
    );
    for chunk in [Bytes::ZERO, Bytes(6000), Bytes::mebi(65)] {
        let system = build_volume(&small_drive(), 2, VolumeSpec::Stripe { chunk });
        says(system, "volume.chunk");
    }
}

fn any_volume() -> impl Strategy<Value = (usize, VolumeSpec)> {
    let chunk = (1u64..40).prop_map(|slots| VolumeSpec::Stripe { chunk: Bytes::kibi(4 * slots) });
    (2usize..5, prop_oneof![chunk, Just(VolumeSpec::Mirror)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Requested bytes equal reported bytes, budgets equal latencies, no rate is above its ceiling, and the same seed
    /// results in the same run.
    #[test]
    fn any_volume_keeps_the_invariants(
        (count, volume) in any_volume(), lanes in proptest::option::of(1u32..3),
        block in 1u64..80, read in prop_oneof![Just(0.0), Just(1.0), 0.0f64..1.0], depth in 1u32..24, sequential: bool,
    ) {
        let system = match lanes {
            Some(lanes) => behind(&small_drive(), count, volume, lanes),
            None => build_volume(&small_drive(), count, volume),
        };
        prop_assert_eq!(system.check(), Ok(()));
        let pattern = if sequential { Pattern::Sequential } else { Pattern::Uniform };
        let test = Test { volume: Some(Bytes::mebi(4)), ..test(Bytes::kibi(4 * block), pattern, true, depth) }
            .with(|asked| asked.read_share = Ratio::new(read).unwrap());
        let key = StreamKey::from_seed(3);
        let sample = simulate(&system, &test, key).unwrap();
        prop_assert_eq!(&sample, &simulate(&system, &test, key).unwrap());
        let requests = Bytes::mebi(4).get().div_ceil(test.block.get());
        prop_assert_eq!(sample.operations(), requests);
        prop_assert_eq!(sample.bytes(), test.block * requests);
        let path = sample.path.as_ref().unwrap();
        let mean = sample.latency().mean_ns();
        prop_assert!((staged_ns(&sample) / mean - 1.0).abs() < 0.02, "{} of {}", staged_ns(&sample), mean);
        // A mix has too few requests in each direction for this check, and the two directions of a link transfer data
        // in parallel.
        let pure = read == 0.0 || read == 1.0;
        for ceiling in ceilings(&system, &test).into_iter().filter(|_| pure) {
            // The buffers contain the data that the dies have not programmed yet.
            let buffered = matches!(ceiling.name.as_str(), "flash dies" | "flash channels");
            let Some(rate) = ceiling.rate.filter(|_| !buffered || read == 1.0) else { continue };
            let seen = megabytes(&sample);
            prop_assert!(seen <= rate.as_megabytes() * 1.01, "{}: {} of {:?}", ceiling.name, seen, rate);
        }
        for hop in &path.hops {
            prop_assert!(hop.utilisation <= 1.0, "{}: {}", hop.name, hop.utilisation);
        }
    }
}

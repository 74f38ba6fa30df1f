//! Compares cloud volumes with closed forms, and tests invariants of every volume.

use crate::spec::cloud::tests::plain_volume;
use crate::spec::submission::Submission;
use crate::spec::*;
use crate::tests::runs::{check_stages, checked, nvme, run, simulate, storage_at_rest, test};
use crate::tests::{assert_within, lasting, us};
use crate::*;
use lanemark_schema::result::{HopId, Reserve, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};
use proptest::prelude::*;

const SMALL: Bytes = Bytes::kibi(4);

fn system(volume: CloudSpec) -> SystemSpec {
    nvme(DriveSpec {
        capacity: Bytes::mebi(1024),
        front_end: FrontEndSpec::INSTANT,
        buffer: Bytes::mebi(1024),
        write_cache: WriteCacheMode::Off,
        read_ahead: Bytes::ZERO,
        data_path_read: None,
        data_path_write: None,
        media: MediaSpec::Cloud(volume),
        power: None,
    })
}

fn bursting(rate: u64, burst: u64, credits: u64) -> Option<CloudLimitSpec> {
    Some(CloudLimitSpec { rate, burst: Some(BurstCreditSpec { rate: burst, credits }) })
}

/// Returns a test of `count` requests at queue depth 32.
fn requests(block: Bytes, read: bool, count: u64) -> Test {
    Test { volume: Some(block * count), ..test(block, Pattern::Uniform, read, 32) }
}

/// Returns the time from the first start to the last start, in a run whose requests all wait for a limit.
fn between_starts(sample: &Sample) -> f64 {
    // The first request does not wait for a limit, so the minimum latency is the latency of this request.
    let all = [&sample.reads, &sample.writes];
    let shortest = all.into_iter().flatten().filter_map(|one| one.latency.min_ns()).min().unwrap();
    sample.elapsed.as_seconds() - shortest as f64 / 1e9
}

/// The start of the last of `n` requests is `(n - 1) / rate` after the start of the first. At 128 KiB, 125 MiB a second
/// is 1,000 requests a second; at 40 KiB, 3,000 requests a second is 117 MiB a second.
#[test]
fn a_saturated_volume_reaches_the_tighter_limit_exactly() {
    for (kib, rate) in [(4, 3_000.0), (40, 3_000.0), (128, 1_000.0)] {
        for read in [true, false] {
            let sample = run(&system(plain_volume()), &requests(Bytes::kibi(kib), read, 4_000));
            assert_within(between_starts(&sample), 3_999.0 / rate, 1e-4);
            if kib <= 16 {
                assert!(sample.path.unwrap().hop(HopId::Media).unwrap().utilisation > 0.999);
            }
        }
    }
}

/// With credits `C`, a burst rate `p` and a refill rate `r`, a saturated volume completes `C + r T` requests in a time
/// `T` that is longer than its credits last, `C / (p - r)`.
#[test]
fn credits_end_by_the_closed_form_and_the_refill_follows() {
    let refill = 300;
    let burst = 3_000;
    let credits = 5_400;
    let volume = CloudSpec { operations: bursting(refill, burst, credits), ..plain_volume() };
    for read in [true, false] {
        let whole = lasting(Duration::from_seconds(10), requests(SMALL, read, 1));
        let sample = run(&system(volume.clone()), &whole);
        assert_within(sample.operations() as f64, 5_400.0 + 300.0 * 10.0, 2e-3);
        let [found] = sample.credits.as_slice() else { panic!("one kind of credits") };
        assert_eq!((found.reserve, found.at_start), (Reserve::OperationCredits, credits));
        assert!(found.is_simulated);
        assert_within(found.end.unwrap().as_seconds(), 2.0, 2e-3);
        // A shorter run predicts the same end.
        let short = Test { duration: Some(Duration::from_seconds(1)), ..whole };
        let sample = run(&system(volume.clone()), &short);
        assert_within(sample.operations() as f64, 3_000.0, 2e-3);
        let credit = sample.credits[0];
        assert!(!credit.is_simulated);
        assert_within(credit.end.unwrap().as_seconds(), 2.0, 1e-6);
        assert_eq!(credit.refill_per_second, refill);
    }
}

#[test]
fn a_volume_may_start_without_credits() {
    let full = CloudSpec { operations: bursting(300, 3_000, 5_400), ..plain_volume() };
    for (share, operations) in [(0.0, 600.0), (0.5, 600.0 + 2_700.0), (1.0, 6_000.0)] {
        let volume = CloudSpec { credits_at_start: Ratio::new(share).unwrap(), ..full.clone() };
        let load = lasting(Duration::from_seconds(2), requests(SMALL, true, 1));
        assert_within(run(&system(volume), &load).operations() as f64, operations, 5e-3);
    }
}

/// Before and after the credits run out, the phases of a test have the burst rate and the refill rate.
#[test]
fn a_test_reports_the_phase_of_the_burst() {
    let volume = CloudSpec { operations: bursting(300, 3_000, 108_000), ..plain_volume() };
    let load = lasting(Duration::from_seconds(120), requests(SMALL, true, 1));
    let system = checked(&system(volume));
    let load = load.checked().unwrap();
    let key = StreamKey::from_seed(1);
    let length = RunLength::Converged;
    let sample = run_length_watched(&system, &load, key, length, &mut |_| true).unwrap();
    let [burst, refill] = sample.phases.as_slice() else { panic!("{:?}", sample.phases) };
    assert_eq!(burst.ended_by, Some(Reserve::OperationCredits));
    assert_within(burst.until.as_seconds(), 40.0, 0.01);
    assert_within(burst.iops, 3_000.0, 0.01);
    assert_within(refill.iops, 300.0, 0.1);
}

/// The latency of a request that does not wait for a limit is lognormal with the stated percentiles.
#[test]
fn latencies_have_the_stated_percentiles() {
    let limits = CloudSpec {
        operations: Some(CloudLimitSpec::steady(1_000_000)),
        bytes: None,
        ..plain_volume()
    };
    let load = |read, count| Test {
        volume: Some(SMALL * count),
        ..test(SMALL, Pattern::Uniform, read, 1)
    };
    for (read, median, p99) in [(true, 500, 1_000), (true, 300, 2_400), (false, 700, 910)] {
        let latency = LognormalLatency { median: us(median), tail: us(p99 - median) };
        let volume = CloudSpec { read_latency: latency, write_latency: latency, ..limits.clone() };
        let fixed = LognormalLatency { tail: Duration::ZERO, ..latency };
        let constant = CloudSpec { read_latency: fixed, write_latency: fixed, ..limits.clone() };
        let path =
            run(&system(constant), &load(read, 1_000)).latency().mean_ns() - median as f64 * 1e3;
        let sample = run(&system(volume), &load(read, 50_000));
        let at =
            |percentile| sample.latency().recorded_percentile_ns(percentile).unwrap() as f64 - path;
        assert_within(at(50.0), median as f64 * 1e3, 0.01);
        assert_within(at(99.0), p99 as f64 * 1e3, 0.03);
        // A lognormal distribution is symmetric in ratios: the median over the first percentile equals the 99th over
        // the median.
        assert_within(at(1.0), (median * median) as f64 * 1e3 / p99 as f64, 0.03);
    }
}

#[test]
fn the_seed_determines_every_latency() {
    let latency = LognormalLatency { median: us(500), tail: us(500) };
    let system = system(CloudSpec { read_latency: latency, ..plain_volume() });
    let load = requests(SMALL, true, 500);
    let of = |seed| simulate(&system, &load, StreamKey::from_seed(seed)).unwrap();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).latency(), of(2).latency());
}

fn submit(storage: &mut Storage, at: Duration, operation: Operation, length: Bytes) {
    let access = Access { operation, offset: Bytes::ZERO, length };
    storage.submit(Submission::new(Instant::ZERO + at, access)).unwrap();
}

#[test]
fn a_flush_lacks_work() {
    let mut storage = storage_at_rest(&system(plain_volume()), Bytes::mebi(32).into());
    submit(&mut storage, us(0), Operation::Write, SMALL);
    submit(&mut storage, us(10), Operation::Flush, Bytes::ZERO);
    let ends: Vec<_> = std::iter::from_fn(|| storage.advance())
        .map(|done| (done.access.operation, done.completed.since(done.submitted)))
        .collect();
    let [(Operation::Flush, flush), (Operation::Write, write)] = ends.as_slice() else {
        panic!("{ends:?}")
    };
    assert!(*flush < us(10) && *write > us(500), "{flush} {write}");
}

/// A write is stored when it is complete, so no data is lost in a power cut of the host. The test repeats the
/// interrupted requests afterwards, and the volume still has the rest of its credits.
#[test]
fn a_power_cut_loses_no_completed_write_and_no_credits() {
    let volume = CloudSpec { operations: bursting(100, 3_000, 50), ..plain_volume() };
    let mut cut = system(volume);
    cut.faults = vec!["power-cut at=30ms boot=1ms".parse().unwrap()];
    let mut storage = storage_at_rest(&cut, Bytes::mebi(32).into());
    for index in 0..40 {
        submit(&mut storage, us(1_000 * index), Operation::Write, SMALL);
    }
    let done: Vec<_> = std::iter::from_fn(|| storage.advance()).collect();
    assert_eq!(done.len(), 40);
    let [fault] = &storage.simulator().fault_uses()[..] else { panic!("one fault") };
    assert_eq!(fault.lost, Bytes::ZERO);
    let reserves = storage.simulator().reserves();
    let (_, left) = reserves.iter().find(|(one, _)| *one == Reserve::OperationCredits).unwrap();
    // 40 writes and the interrupted write have used credits, and four credits have been refilled.
    assert!((8..=15).contains(left), "{left}");
}

fn any_limit(low: u64, high: u64) -> impl Strategy<Value = Option<CloudLimitSpec>> {
    let steady = (low..high).prop_map(|rate| Some(CloudLimitSpec::steady(rate)));
    let burst = (low..high, 2..20u64, 1..5_000u64).prop_map(|(rate, factor, seconds)| {
        bursting(rate, rate * factor, rate * seconds / 1_000 + 1)
    });
    prop_oneof![steady, burst]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any volume completes each request once. The stages sum to the latency, no hop is busy for longer than the run or
    /// carries more than its ceiling, and the same seed results in the same run.
    #[test]
    fn any_volume_keeps_the_invariants(
        operations in any_limit(100, 20_000), bytes in any_limit(1_000_000, 1_000_000_000),
        unit in 1u64..300, merges: bool, whole_units: bool, share in 0.0f64..=1.0,
        tail in 0u64..2_000, blocks in 1u64..200, sequential: bool,
        read_share in prop_oneof![Just(0.0f64), Just(1.0), 0.0f64..=1.0],
        depth in 1u32..40, threads in 1u32..4, seed: u64,
    ) {
        let latency = LognormalLatency { median: us(400), tail: us(tail) };
        let volume = CloudSpec {
            operations,
            bytes,
            unit: SMALL * unit,
            merges,
            whole_units,
            credits_at_start: Ratio::new(share).unwrap(),
            read_latency: latency,
            write_latency: latency,
        };
        let system = system(volume);
        prop_assert_eq!(system.check(), Ok(()));
        let block = SMALL * blocks;
        let pattern = if sequential { Pattern::Sequential } else { Pattern::Uniform };
        let count = 300;
        let test = Test { threads, volume: Some(block * count), ..test(block, pattern, true, depth) }
            .with(|load| load.read_share = Ratio::new(read_share).unwrap());
        prop_assert_eq!(test.check(), Ok(()));
        let sample = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(sample.bytes(), block * count);
        check_stages(&sample)?;
        // The first request does not wait for a limit, and random offsets may be consecutive by chance.
        let slack = 1.0 + 1.0 / (count as f64 - 1.0) + if merges { 0.2 } else { 0.0 };
        let carried = sample.throughput().0 as f64;
        // The drawn share of reads in a mix differs from the stated share, which affects links with two directions.
        let is_mix = read_share > 0.0 && read_share < 1.0;
        let all = ceilings(&system, &test).into_iter();
        for ceiling in all.filter(|one| !is_mix || one.id == HopId::Media) {
            let most = ceiling.rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
            prop_assert!(carried <= most * slack, "{}: {carried} of {most}", ceiling.name);
        }
        let again = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(again, sample);
    }
}

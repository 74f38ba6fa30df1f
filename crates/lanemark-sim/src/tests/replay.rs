//! Compares replays with a closed loop and with Little's law, and tests replays at their limits.

use std::convert::Infallible;

use crate::run::progress::Progress;
use crate::run::replay::{
    OUTSTANDING_BYTES_MAX, OUTSTANDING_MAX, Pace, ReplayError, ReplayRun, ReplaySettings,
    RequestRefusal, Speed, replay,
};
use crate::spec::SystemSpec;
use crate::tests::runs::{checked, nvme, sata, simulate, small_drive, times};
use crate::tests::{assert_within, random_read, staged_ns, us};
use lanemark_schema::result::{ReplayCounts, Sample};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::bound::BLOCK;
use lanemark_schema::workload::{Access, Accesses, Operation, Test, TraceArrival};
use proptest::prelude::*;

/// Settings of a replay at the recorded times.
pub(crate) const RECORDED: ReplaySettings = ReplaySettings {
    pace: Pace::Recorded(Speed::RECORDED),
    wrap: false,
    laid_out: Bytes::mebi(64),
    seed: 1,
};

fn at_depth(queue_depth: u32) -> ReplaySettings {
    ReplaySettings { pace: Pace::AsFastAsPossible { queue_depth }, ..RECORDED }
}

/// Returns a request to the first device, this many microseconds after the first request.
fn arrival(at_us: u64, operation: Operation, offset: u64, length: u64) -> TraceArrival {
    TraceArrival {
        at: Some(Instant::ZERO + us(at_us)),
        device: 0,
        thread: 0,
        access: Access { operation, offset: Bytes(offset), length: Bytes(length) },
        line: at_us + 1,
    }
}

fn try_run(
    spec: &SystemSpec,
    plan: &ReplaySettings,
    arrivals: &[TraceArrival],
) -> Result<ReplayRun, ReplayError<Infallible>> {
    let arrivals = arrivals.iter().map(|arrival| Ok(*arrival));
    replay(&checked(spec), plan, arrivals, &mut |_| true, &mut |_| ())
}

fn run(
    spec: &SystemSpec,
    plan: &ReplaySettings,
    arrivals: &[TraceArrival],
) -> (Sample, ReplayCounts) {
    let sample = try_run(spec, plan, arrivals).unwrap().sample;
    let replay = sample.replay.clone().unwrap();
    (sample, replay)
}

/// Returns random reads at random times, `gap_us` apart on average.
fn random_arrivals(count: u64, gap_us: u64, seed: u64) -> Vec<TraceArrival> {
    let mut rng = Rng::new(StreamKey::from_seed(seed));
    let mut now = 0;
    let mut next = |_| {
        let place = rng.below(16_000) * 4096;
        let request = arrival(now, Operation::Read, place, 4096);
        now += rng.below(2 * gap_us + 1);
        request
    };
    (0..count).map(&mut next).collect()
}

#[test]
fn as_fast_as_possible_is_the_closed_loop_of_a_test() {
    for depth in [1, 8, 33] {
        let system = nvme(small_drive());
        let test = Test { span: Bytes::mebi(64), volume: Some(Bytes::mebi(4)), ..random_read() }
            .with(|asked| asked.queue_depth = depth);
        let key = StreamKey::from_seed(7);
        let expected = simulate(&system, &test, key).unwrap();
        let mut accesses = Accesses::new(&test, key).unwrap();
        let trace: Vec<TraceArrival> = (0..1024)
            .map(|line| {
                let access = accesses.next_access();
                TraceArrival { at: None, device: 0, thread: 0, access, line }
            })
            .collect();
        let (seen, replay) = run(&system, &at_depth(depth), &trace);
        assert_eq!((seen.elapsed, seen.reads), (expected.elapsed, expected.reads));
        assert_eq!(seen.path, expected.path);
        assert_eq!((replay.outstanding_max, replay.held_back), (u64::from(depth), 0));
    }
}

#[test]
fn requests_far_apart_take_as_long_as_a_single_one() {
    let alone = run(&nvme(small_drive()), &at_depth(1), &random_arrivals(200, 0, 3)).0;
    let apart = run(&nvme(small_drive()), &RECORDED, &random_arrivals(200, 50_000, 3)).0;
    assert_eq!(apart.latency().percentile_ns(50.0), alone.latency().percentile_ns(50.0));
}

#[test]
fn outstanding_is_rate_times_latency() {
    for gap_us in [200, 40, 5] {
        let (sample, replay) =
            run(&sata(small_drive()), &RECORDED, &random_arrivals(5_000, gap_us, 11));
        let model = sample.iops() * sample.latency().mean_ns() / 1e9;
        assert_within(replay.outstanding_mean, model, 1e-4);
        assert!((staged_ns(&sample) - sample.latency().mean_ns()).abs() < 0.51);
    }
}

#[test]
fn latency_is_measured_from_the_recorded_time_despite_waits() {
    let beyond = 3_000;
    let count = u64::from(OUTSTANDING_MAX) + beyond;
    let burst: Vec<TraceArrival> =
        (0..count).map(|line| arrival(0, Operation::Read, line % 1000 * 4096, 512)).collect();
    let (sample, replay) = run(&nvme(small_drive()), &RECORDED, &burst);
    assert_eq!((replay.held_back, replay.outstanding_max), (beyond, OUTSTANDING_MAX.into()));
    // All requests arrived at once, so the last request has waited for the whole run.
    let most = sample.latency().max_ns().unwrap();
    assert!(most.abs_diff(sample.elapsed.nanoseconds()) <= 1, "{most}");
    let path = sample.path.as_ref().unwrap();
    assert_eq!(path.hops[0].name, "not yet submitted");
    assert!((staged_ns(&sample) / sample.latency().mean_ns() - 1.0).abs() < 1e-6);
    let model = sample.iops() * sample.latency().mean_ns() / 1e9;
    assert!((replay.outstanding_mean / model - 1.0).abs() < 1e-4);
}

#[test]
fn long_requests_wait_before_they_fill_memory() {
    let long: Vec<TraceArrival> =
        (0..200).map(|_| arrival(0, Operation::Read, 0, BLOCK.max.get())).collect();
    let (sample, replay) = run(&nvme(small_drive()), &RECORDED, &long);
    let most = OUTSTANDING_BYTES_MAX.get() / BLOCK.max.get();
    assert_eq!((replay.outstanding_max, replay.held_back), (most, 200 - most));
    assert_eq!(sample.operations(), 200);
}

#[test]
fn twice_the_speed_is_half_the_time() {
    let trace = random_arrivals(500, 1_000, 5);
    let span = |speed: &str| {
        let pace = Pace::Recorded(speed.parse().unwrap());
        run(&nvme(small_drive()), &ReplaySettings { pace, ..RECORDED }, &trace).1.span.unwrap()
    };
    assert_eq!(span("1x"), span("2x") * 2);
    assert_eq!(span("0.5x"), span("1x") * 2);
    for bad in ["", "x", "2", "2xx", "-1x", ".5x", "1.x", "0x", "0.0001x", "1e3x", "99999999x"] {
        assert!(bad.parse::<Speed>().is_err(), "{bad}");
    }
}

#[test]
fn a_request_that_comes_before_its_predecessor_comes_with_it() {
    let mut trace = random_arrivals(3, 1_000, 5);
    trace[2].at = Some(Instant::ZERO);
    let (_, replay) = run(&nvme(small_drive()), &RECORDED, &trace);
    assert_eq!(replay.span.unwrap(), trace[1].at.unwrap().since(Instant::ZERO));
}

#[test]
fn flushes_and_trims_are_counted_apart() {
    let trace = [
        arrival(0, Operation::Write, 512, 1536),
        arrival(1, Operation::Flush, 0, 0),
        arrival(2, Operation::Trim, 4096, 65_536),
        arrival(3, Operation::Read, 4096, 0),
    ];
    let (sample, replay) = run(&nvme(small_drive()), &RECORDED, &trace);
    assert_eq!((sample.operations(), sample.bytes()), (1, Bytes(1536)));
    assert_eq!(replay.flushes.unwrap().latency.count(), 1);
    assert_eq!(replay.trims.unwrap().bytes, Bytes(65_536));
    assert_eq!((replay.requests, replay.empty), (3, 1));
}

#[test]
fn impossible_requests_are_reported_with_their_line() {
    let system = nvme(small_drive());
    let good = arrival(0, Operation::Read, 0, 4096);
    let with = |change: fn(&mut TraceArrival)| {
        let mut bad = arrival(41, Operation::Read, 0, 4096);
        change(&mut bad);
        match try_run(&system, &RECORDED, &[good, bad]).unwrap_err() {
            ReplayError::Request { line: 42, fault } => fault,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with(|bad| bad.at = None), RequestRefusal::Untimed);
    assert_eq!(with(|bad| bad.device = 1), RequestRefusal::NoDrive { device: 1, drives: 1 });
    let long = with(|bad| bad.access.length = Bytes::mebi(65));
    assert_eq!(long, RequestRefusal::TooLong { length: Bytes::mebi(65) });
    let behind = with(|bad| bad.access.offset = Bytes(u64::MAX));
    assert!(matches!(behind, RequestRefusal::OutOfRange { .. }), "{behind:?}");
    let late = with(|bad| bad.at = Some(Instant::from_picoseconds(u64::MAX)));
    assert_eq!(late, RequestRefusal::TooLate);
}

#[test]
fn an_endless_trace_is_pulled_as_it_is_replayed_and_can_be_ended() {
    let mut pulled = 0;
    let endless = std::iter::from_fn(|| {
        pulled += 1;
        Some(Ok::<_, Infallible>(arrival(pulled, Operation::Read, pulled % 9000 * 4096, 512)))
    });
    let mut looks = 0;
    let mut ended = 0;
    let mut watch = |progress: &Progress| {
        looks += 1;
        assert!(progress.now > Instant::ZERO);
        looks < 2
    };
    let system = checked(&nvme(small_drive()));
    let run = replay(&system, &at_depth(4), endless, &mut watch, &mut |request| {
        ended += u64::from(request.latency.is_some());
    });
    let sample = run.unwrap().sample;
    let replay = sample.replay.as_ref().unwrap();
    assert!(!sample.complete);
    assert_eq!(replay.requests, pulled);
    assert_eq!(sample.operations(), pulled - 4, "those under way are not counted");
    assert_eq!(ended, sample.operations());
}

#[test]
fn devices_of_a_trace_go_to_the_drives_of_a_system() {
    let system = times(nvme(small_drive()), 2);
    let mut trace = random_arrivals(400, 0, 9);
    let on_one = run(&system, &at_depth(32), &trace).0;
    trace.iter_mut().enumerate().for_each(|(index, one)| one.device = index as u32 % 2);
    let on_two = run(&system, &at_depth(32), &trace).0;
    assert!(on_two.elapsed < on_one.elapsed.scaled(3, 4), "{:?}", on_two.elapsed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For single sectors at any offset and in any order of time, all requests complete once, and their budgets sum to
    /// their latencies.
    #[test]
    fn any_trace_is_replayed_whole(
        requests in prop::collection::vec((0u64..2_000, 0u64..200_000, 1u64..300, 0u8..5), 1..200),
        depth in 0u32..9, seed: u64,
    ) {
        let capacity = small_drive().capacity;
        let trace: Vec<TraceArrival> = requests
            .iter()
            .map(|&(at, sector, sectors, kind)| {
                let operation = match kind {
                    0 => Operation::Write,
                    1 => Operation::Flush,
                    _ => Operation::Read,
                };
                arrival(at ^ (seed & 1023), operation, sector * 512, sectors * 512)
            })
            .collect();
        let plan = match depth {
            0 => ReplaySettings { wrap: true, ..RECORDED },
            depth => ReplaySettings { wrap: true, ..at_depth(depth) },
        };
        for system in [nvme(small_drive()), sata(small_drive())] {
            let (sample, replay) = run(&system, &plan, &trace);
            let moved = trace.iter().filter(|one| one.access.operation != Operation::Flush);
            let bytes: u64 = moved.clone().map(|one| one.access.length.get()).sum();
            prop_assert_eq!(sample.bytes(), Bytes(bytes));
            prop_assert_eq!(sample.operations(), moved.clone().count() as u64);
            prop_assert_eq!(replay.requests, trace.len() as u64);
            let behind = moved.filter(|one| one.access.offset + one.access.length > capacity);
            prop_assert_eq!(replay.wrapped, behind.count() as u64);
            prop_assert!((staged_ns(&sample) - sample.latency().mean_ns()).abs() < 0.51);
            let again = run(&system, &plan, &trace).0;
            prop_assert_eq!(again, sample);
        }
    }
}

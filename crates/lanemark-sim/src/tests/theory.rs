//! Compares a whole system in an open loop with queueing theory (M/D/1).

use crate::tests::runs::{nvme, simulate, test, unlimited};
use crate::tests::{staged_ns, us};
use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{ArrivalProcess, Load, Pattern, RequestMix, Test};

/// For Poisson arrivals at one engine that takes the same time for each arrival, W = rho s / 2 (1 - rho)
/// (Pollaczek-Khinchine). The test generates the arrivals, and its latencies include the wait.
#[test]
fn a_test_in_open_loop_waits_as_m_d_1_and_longer_where_its_queue_is_too_short() {
    let mut system = nvme(unlimited());
    let attachment = &mut system.attachments[0];
    (attachment.protocol.read_time, attachment.protocol.queues) = (Duration::ZERO, 1);
    attachment.protocol.queue_depth = 65_536;
    attachment.drive.front_end.read_time = us(10);
    let load = Load::Open { rate_per_second: 80_000.0, process: ArrivalProcess::Poisson };
    let block = Bytes::kibi(4);
    let test = Test { volume: Some(block * 100_000), ..test(block, Pattern::Uniform, true, 4096) }
        .with(|asked| asked.load = load);
    let key = StreamKey::from_seed(3);
    let sample = simulate(&system, &test, key).unwrap();
    let latency = sample.latency();
    let waited = latency.mean_ns() - latency.min_ns().unwrap() as f64;
    let formula = 0.8 * 10_000.0 / (2.0 * 0.2);
    assert!((waited / formula - 1.0).abs() < 0.04, "{waited} ns for {formula}");
    assert!((sample.iops() / 80_000.0 - 1.0).abs() < 0.01);
    let kept = sample.punctuality.as_ref().unwrap();
    assert_eq!((kept.held_back, kept.lateness.count()), (0, 100_000));
    // Stages are in picoseconds, while a latency is rounded to whole nanoseconds and is off by up to half a nanosecond.
    // All requests that do not wait have the same rounding error.
    let staged = |sample: &Sample| (staged_ns(sample) - sample.latency().mean_ns()).abs() <= 0.5;
    assert!(staged(&sample));
    // With two slots, all other requests wait in the host, and the latencies include that wait.
    let narrow = test.with(|asked| asked.queue_depth = 2);
    let narrow = simulate(&system, &narrow, key).unwrap();
    let kept = narrow.punctuality.as_ref().unwrap();
    assert!(kept.held_back > 25_000, "{} of 100000 held back", kept.held_back);
    assert!(narrow.latency().mean_ns() >= 0.95 * latency.mean_ns());
    assert!(staged(&narrow));
}

/// Flushes and trims of a test are counted separately, and its figures cover only reads and writes.
#[test]
fn flushes_and_trims_of_a_test_are_counted_apart() {
    let system = nvme(unlimited());
    let block = Bytes::kibi(4);
    let mix = RequestMix {
        flush_every: Some(10),
        trim_share: Ratio::new(0.1).unwrap(),
        ..RequestMix::default()
    };
    let test = Test { volume: Some(block * 10_000), ..test(block, Pattern::Uniform, false, 8) }
        .with(|asked| asked.mix = mix);
    let sample = simulate(&system, &test, StreamKey::from_seed(3)).unwrap();
    let count = |one: &Option<DirectionResult>| one.as_ref().unwrap().latency.count();
    let writes = count(&sample.writes);
    let flushes = count(&sample.flushes);
    let trims = count(&sample.trims);
    assert!((flushes as i64 - writes as i64 / 10).abs() <= 1, "{flushes} for {writes}");
    assert!((trims as f64 / (writes + trims) as f64 - 0.1).abs() < 0.01, "{trims} for {writes}");
    assert_eq!((sample.operations(), sample.bytes()), (writes, block * writes));
}

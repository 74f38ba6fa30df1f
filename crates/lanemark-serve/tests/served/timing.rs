//! Timing of a served system: answers are never early, and the figures report their lateness.

use std::time::{Duration, Instant};

use lanemark_schema::result::Reserve;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::{Access, Operation};
use lanemark_sim::spec::{
    BurstCreditSpec, CloudLimitSpec, CloudSpec, LognormalLatency, MediaSpec, WriteCacheMode,
};
use lanemark_sim::{LiveSystem, Submission, SystemSpec};

use super::{SIZE, Served, Wanted, example};

/// Returns the modelled latency of a single read from the example system.
fn modelled() -> Duration {
    let mut live =
        LiveSystem::new(&example().device_side(), Bytes(SIZE).into(), StreamKey::from_seed(1));
    let access = Access { operation: Operation::Read, offset: Bytes::ZERO, length: Bytes::kibi(4) };
    live.submit(Submission::new(lanemark_schema::units::Instant::ZERO, access)).unwrap();
    let done = live.advance_until(lanemark_schema::units::Instant::END).unwrap();
    Duration::from_nanos(done.completed.since(done.submitted).nanoseconds())
}

#[test]
fn a_read_takes_at_least_the_modelled_time_and_figures_account_for_the_rest() {
    let served = Served::new(Wanted::default());
    let modelled = modelled();
    let mut client = served.connect();
    let mut times = Vec::new();
    for page in 0..200u64 {
        let began = Instant::now();
        client.read(page * 4096, 4096).unwrap().unwrap();
        times.push(began.elapsed());
    }
    // If other programs delay the server's threads, the arrival of a request is an estimate, and a single answer may be
    // early.
    times.sort();
    let usual = times[100];
    assert!(usual >= modelled, "{usual:?} < {modelled:?}");
    let live = served.session().figures().sample.live.unwrap();
    let reads = live.reads.clone().unwrap();
    assert_eq!((live.lateness.count(), reads.latency.count()), (200, 200));
    let median = reads.latency.percentile_ns(50.0).unwrap();
    let late = live.lateness.percentile_ns(50.0).unwrap();
    // The delivered latency equals the modelled latency plus the lateness, within the resolution of histograms.
    assert!(median as f64 >= (modelled.as_nanos() as u64) as f64 * 0.99);
    assert!((median as f64) < (modelled.as_nanos() as f64 + late as f64) * 1.5 + 2_000.0);
    assert!(usual.as_nanos() as f64 > reads.latency.min_ns().unwrap() as f64 * 0.98);
}

#[test]
fn an_idle_server_takes_no_processor_time() {
    let served = Served::new(Wanted::default());
    let mut client = served.connect();
    client.write(0, &[1; 4096], false).unwrap().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    // Only the time of this engine is measured, because other tests run in the same process.
    let spent = || {
        let mut ticks = 0;
        for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
            let read = |name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            if read("comm").trim() == "engine" {
                let stat = read("schedstat");
                ticks += stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
            }
        }
        ticks
    };
    // Engines of other tests may run at the same time, so the sample with the minimum processor time counts.
    let quietest = (0..20).map(|_| {
        let before = spent();
        std::thread::sleep(Duration::from_millis(250));
        spent().saturating_sub(before)
    });
    let quietest = quietest.min().unwrap();
    assert!(quietest < 2_500_000, "{quietest} ns of 250 ms");
}

/// Returns a cloud volume with 200 operations a second, which starts with `credits` credits for 1,000 operations a
/// second.
fn volume(credits: u64) -> SystemSpec {
    let us = lanemark_schema::units::Duration::from_microseconds;
    let latency = LognormalLatency { median: us(200), tail: us(0) };
    let burst = Some(BurstCreditSpec { rate: 1_000, credits });
    let mut system = SystemSpec::example();
    let drive = &mut system.first_mut().drive;
    drive.write_cache = WriteCacheMode::Off;
    drive.media = MediaSpec::Cloud(CloudSpec {
        operations: Some(CloudLimitSpec { rate: 200, burst }),
        bytes: None,
        unit: Bytes::kibi(256),
        merges: false,
        whole_units: false,
        credits_at_start: Ratio::ONE,
        read_latency: latency,
        write_latency: latency,
    });
    system
}

/// After the credits have run out, `n` operations of a volume take `n / 200` s, times the time scale. The server is
/// never early, and reports when the credits ran out.
#[test]
fn a_served_volume_delivers_its_limit_at_any_scale_of_time() {
    for (scale, factor, requests) in [("1", 1.0, 200), ("0.25", 0.25, 400), ("3", 3.0, 60)] {
        let scale = Some(scale.parse().unwrap());
        let system = Some(volume(1));
        let served = Served::new(Wanted { system, scale, ..Wanted::default() });
        let mut client = served.connect();
        client.read(0, 4096).unwrap().unwrap();
        let began = Instant::now();
        for page in 1..=requests {
            client.read(page * 4096, 4096).unwrap().unwrap();
        }
        let elapsed = began.elapsed().as_secs_f64() / factor;
        let modelled = requests as f64 / 200.0;
        // The request before the first request may be late by the lateness of this machine.
        assert!(elapsed > modelled * 0.95, "{elapsed} s for {modelled} s");
        assert!(elapsed < modelled * 1.5 + 0.5, "{elapsed} s for {modelled} s");
        let credits = served.session().figures().sample.credits;
        assert_eq!(credits.len(), 1);
        assert_eq!((credits[0].reserve, credits[0].at_start), (Reserve::OperationCredits, 1));
        assert!(credits[0].is_simulated, "{credits:?}");
    }
}

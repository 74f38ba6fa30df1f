//! Compares whole systems with queueing theory: M/D/1 in an open loop, and mean-value analysis of a closed network.

use crate::link;
use crate::spec::SystemSpec;
use crate::spec::submission::Submission;
use crate::tests::runs::{at_rest, nvme, simulate, test, unlimited};
use crate::tests::{assert_within, staged_ns, us};
use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::{
    Access, ArrivalProcess, Load, Operation, Pattern, RequestMix, Test,
};

/// Returns a system whose drive contains no data, so that reads do not need flash. Only its command engine takes time.
fn idle(read_time: Duration) -> SystemSpec {
    let mut system = nvme(unlimited());
    let attachment = &mut system.attachments[0];
    (attachment.protocol.read_time, attachment.protocol.queues) = (Duration::ZERO, 1);
    attachment.protocol.queue_depth = 65_536;
    attachment.protocol.transfer_max = Bytes::mebi(16);
    attachment.drive.front_end.read_time = read_time;
    assert_eq!(system.check(), Ok(()));
    system
}

/// Several customers think and then read data of exponentially distributed lengths over one slow link. By mean-value
/// analysis (Reiser and Lavenberg, JACM 27(2), 1980) R(n) = S (1 + Q(n - 1)), X = n / (Z + R), Q = X R. The formulas
/// are exact for exponential service at the queue and any distribution of the delays.
#[test]
fn a_closed_network_carries_what_mean_value_analysis_says() {
    let think = us(400);
    let mean = 32.0 * 1024.0;
    let mut system = idle(Duration::ZERO);
    system.cpu.cores = 64;
    let model = link::Pcie::new(link::PcieGeneration::One, 1, Bytes(128), Bytes(512));
    system.attachments[0].port_path.links[0].model = link::LinkModel::Pcie(model);
    let link = link::Link::new(
        &system.attachments[0].port_path.links[0],
        crate::host::protocol::COMPLETION,
    );
    let position = link::BurstPosition { first: true, last: true };
    let run = |customers: u64| {
        let mut rng = Rng::new(StreamKey::from_seed(5));
        let mut simulator = at_rest(&system, Bytes::ZERO.into());
        let mut service = 0.0;
        let mut next = |service: &mut f64| {
            let sectors = (rng.exponential() * mean / 512.0).ceil().clamp(1.0, 8192.0);
            let length = Bytes(sectors as u64 * 512);
            *service += link.read_time(link::LinkBurst { bytes: length, position }).as_seconds();
            Access { operation: Operation::Read, offset: Bytes::ZERO, length }
        };
        for customer in 0..customers {
            let access = next(&mut service);
            let request = Submission::new(Instant::ZERO, access).by(customer as u32);
            simulator.submit(request.tagged(customer)).unwrap();
        }
        let mut count = 0u64;
        let mut latency = 0.0;
        while let Some(done) = simulator.advance() {
            count += 1;
            latency += done.completed.since(done.submitted).as_seconds();
            if count == 100_000 {
                break;
            }
            let access = next(&mut service);
            let again = Submission::new(done.completed + think, access).by(done.tag as u32);
            simulator.submit(again.tagged(done.tag)).unwrap();
        }
        let elapsed = simulator.now().since(Instant::ZERO).as_seconds();
        (count as f64 / elapsed, latency / count as f64, service / (count + customers) as f64)
    };
    let (_, alone, service) = run(1);
    let delay = think.as_seconds() + alone - service;
    let mut queue = 0.0;
    for customers in 1..=16 {
        let response = service * (1.0 + queue);
        let throughput = customers as f64 / (delay + response);
        queue = throughput * response;
        if [4, 16].contains(&customers) {
            let (seen, latency, _) = run(customers);
            assert!((seen / throughput - 1.0).abs() < 0.02, "{customers}: {seen} for {throughput}");
            assert_within(latency, response + alone - service, 0.02);
        }
    }
}

/// For Poisson arrivals at one engine that takes the same time for each arrival, W = rho s / 2 (1 - rho)
/// (Pollaczek-Khinchine). The test generates the arrivals, and its latencies include the wait.
#[test]
fn a_test_in_open_loop_waits_as_m_d_1_and_longer_where_its_queue_is_too_short() {
    let system = idle(us(10));
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

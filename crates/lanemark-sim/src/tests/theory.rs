//! Compares whole systems with queueing theory: M/D/1 in an open loop, mean-value analysis of a closed network, and
//! Little's law.

use crate::spec::*;
use crate::tests::runs::{at_rest, nvme, simulate, test, unlimited};
use crate::tests::{assert_within, staged_ns, us};
use crate::*;
use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};

/// Returns a system whose drive contains no data, so that reads do not need flash. It takes no time except the times
/// that `change` sets.
fn idle(change: impl FnOnce(&mut SystemSpec)) -> SystemSpec {
    let mut system = nvme(unlimited());
    system.attachments[0].protocol.read_time = Duration::ZERO;
    system.attachments[0].protocol.queues = 1;
    system.attachments[0].protocol.queue_depth = 65_536;
    system.attachments[0].protocol.transfer_max = Bytes::mebi(16);
    system.attachments[0].drive.front_end.read_time = Duration::ZERO;
    change(&mut system);
    assert_eq!(system.check(), Ok(()));
    system
}

fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    rng.exponential() * mean
}

fn read(offset: u64, length: Bytes) -> Access {
    Access { operation: Operation::Read, offset: Bytes(offset), length }
}

/// For Poisson arrivals at one engine that takes the same time for each arrival, W = rho s / 2 (1 - rho)
/// (Pollaczek-Khinchine).
#[test]
fn an_engine_under_poisson_arrivals_keeps_them_waiting_as_m_d_1() {
    let service = us(10);
    let system = idle(|system| system.attachments[0].drive.front_end.read_time = service);
    for load in [0.3, 0.6, 0.85] {
        let mut rng = Rng::new(StreamKey::from_seed(11));
        let mut simulator = at_rest(&system, Bytes::ZERO.into());
        let mut at = 0.0;
        let mut waited = 0.0;
        let mut shortest = f64::INFINITY;
        let mut count = 0u64;
        let mut outstanding = 0.0;
        let mut counted = 0.0;
        for tag in 0..600_000 {
            at += exponential(&mut rng, service.picoseconds() as f64 / load);
            let now = Instant::from_picoseconds(at as u64);
            while let Some(done) = simulator.advance_until(now) {
                let latency = done.completed.since(done.submitted).as_seconds();
                waited += latency;
                shortest = f64::min(shortest, latency);
                count += 1;
            }
            outstanding += simulator.outstanding() as f64;
            counted += 1.0;
            simulator.submit(Submission::new(now, read(0, Bytes(512))).tagged(tag)).unwrap();
        }
        let seen = waited / count as f64 - shortest;
        let formula = load * service.as_seconds() / (2.0 * (1.0 - load));
        assert!((seen / formula - 1.0).abs() < 0.02, "load {load}: {seen} s for {formula} s");
        // Arrivals see the time average (PASTA), which equals rate times waiting time (Little's law).
        let little = count as f64 / (at / 1e12) * waited / count as f64;
        let found = outstanding / counted;
        assert!((found / little - 1.0).abs() < 0.02, "load {load}: {found} found for {little}");
    }
}

/// Several customers think and then read data of exponentially distributed lengths over one slow link. By mean-value
/// analysis (Reiser and Lavenberg, JACM 27(2), 1980) R(n) = S (1 + Q(n - 1)), X = n / (Z + R), Q = X R. The formulas
/// are exact for exponential service at the queue and any distribution of the delays.
#[test]
fn a_closed_network_carries_what_mean_value_analysis_says() {
    let think = us(400);
    let mean = 32.0 * 1024.0;
    let system = idle(|system| {
        system.cpu.cores = 64;
        let model = link::Pcie::new(link::PcieGeneration::One, 1, Bytes(128), Bytes(512));
        system.attachments[0].port_path.links[0].model = link::LinkModel::Pcie(model);
    });
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
            let sectors = (exponential(&mut rng, mean) / 512.0).ceil().clamp(1.0, 8192.0);
            let length = Bytes(sectors as u64 * 512);
            *service += link.read_time(link::LinkBurst { bytes: length, position }).as_seconds();
            read(0, length)
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
            if count == 300_000 {
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
        if [2, 4, 8, 16].contains(&customers) {
            let (seen, latency, _) = run(customers);
            assert!((seen / throughput - 1.0).abs() < 0.02, "{customers}: {seen} for {throughput}");
            assert_within(latency, response + alone - service, 0.02);
        }
    }
}

/// The requests of a test with an open loop wait as the formula predicts: the test generates the arrivals, and its
/// latencies include the wait.
#[test]
fn a_test_in_open_loop_waits_as_m_d_1_and_longer_where_its_queue_is_too_short() {
    use lanemark_schema::workload::{ArrivalProcess, Load};
    let service = us(10);
    let system = idle(|system| system.attachments[0].drive.front_end.read_time = service);
    let load = Load::Open { rate_per_second: 80_000.0, process: ArrivalProcess::Poisson };
    let block = Bytes::kibi(4);
    let test = Test { volume: Some(block * 400_000), ..test(block, Pattern::Uniform, true, 4096) }
        .with(|asked| asked.load = load);
    let key = StreamKey::from_seed(3);
    let sample = simulate(&system, &test, key).unwrap();
    let latency = sample.latency();
    let waited = latency.mean_ns() - latency.min_ns().unwrap() as f64;
    let formula = 0.8 * 10_000.0 / (2.0 * 0.2);
    assert!((waited / formula - 1.0).abs() < 0.04, "{waited} ns for {formula}");
    assert!((sample.iops() / 80_000.0 - 1.0).abs() < 0.01);
    let kept = sample.punctuality.as_ref().unwrap();
    assert_eq!((kept.held_back, kept.lateness.count()), (0, 400_000));
    // Stages are in picoseconds, while a latency is rounded to whole nanoseconds and is off by up to half a nanosecond.
    // All requests that do not wait have the same rounding error.
    let staged = |sample: &Sample| (staged_ns(sample) - sample.latency().mean_ns()).abs() <= 0.5;
    assert!(staged(&sample));
    // With two slots, all other requests wait in the host, and the latencies include that wait.
    let narrow = test.with(|asked| asked.queue_depth = 2);
    let narrow = simulate(&system, &narrow, key).unwrap();
    let kept = narrow.punctuality.as_ref().unwrap();
    assert!(kept.held_back > 100_000, "{} of 400000 held back", kept.held_back);
    assert!(narrow.latency().mean_ns() >= 0.95 * latency.mean_ns());
    assert!(staged(&narrow));
}

/// Flushes and trims of a test are counted separately, and its figures cover only reads and writes.
#[test]
fn flushes_and_trims_of_a_test_are_counted_apart() {
    use lanemark_schema::workload::RequestMix;
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

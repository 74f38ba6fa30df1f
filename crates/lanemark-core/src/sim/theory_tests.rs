//! Whole systems against queueing theory: M/D/1 in open loop, a closed network by mean-value analysis, and Little's
//! law.

use super::spec::*;
use super::tests::{nvme, unlimited};
use super::*;
use crate::rng::{Rng, StreamKey};
use crate::units::{Bytes, Duration, Instant};
use crate::workload::{Access, Operation};

/// A system whose drive holds nothing, so that reads need no flash, and takes no time but what `change` says.
fn idle(change: impl FnOnce(&mut SystemSpec)) -> SystemSpec {
    let mut system = nvme(unlimited());
    system.protocol.read_time = Duration::ZERO;
    system.protocol.queues = 1;
    system.protocol.queue_depth = 65_536;
    system.protocol.transfer_max = Bytes::mebi(16);
    system.drive.front_end.read_time = Duration::ZERO;
    change(&mut system);
    assert_eq!(system.check(), Ok(()));
    system
}

fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -libm::log(1.0 - rng.unit()) * mean
}

fn read(offset: u64, length: Bytes) -> Access {
    Access { operation: Operation::Read, offset: Bytes(offset), length }
}

/// Poisson arrivals at one engine that takes the same time for each: W = rho s / 2 (1 - rho)
/// (Pollaczek-Khinchine).
#[test]
fn an_engine_under_poisson_arrivals_keeps_them_waiting_as_m_d_1() {
    let service = Duration::from_microseconds(10);
    let system = idle(|system| system.drive.front_end.read_time = service);
    for load in [0.3, 0.6, 0.85] {
        let mut rng = Rng::new(StreamKey::from_seed(11));
        let mut simulator = Simulator::new(&system, Bytes::ZERO.into());
        let (mut at, mut waited, mut shortest, mut count) = (0.0, 0.0, f64::INFINITY, 0u64);
        let (mut outstanding, mut counted) = (0.0, 0.0);
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
            simulator.submit(now, 0, read(0, Bytes(512)), 0, tag).unwrap();
        }
        let seen = waited / count as f64 - shortest;
        let formula = load * service.as_seconds() / (2.0 * (1.0 - load));
        assert!((seen / formula - 1.0).abs() < 0.02, "load {load}: {seen} s for {formula} s");
        // What an arrival finds is what there is on average (PASTA), and that is rate times time (Little).
        let little = count as f64 / (at / 1e12) * waited / count as f64;
        let found = outstanding / counted;
        assert!((found / little - 1.0).abs() < 0.02, "load {load}: {found} found for {little}");
    }
}

/// So many customers think, and read lengths that are exponentially distributed over one narrow link. By
/// mean-value analysis (Reiser and Lavenberg, JACM 27(2), 1980) R(n) = S (1 + Q(n - 1)), X = n / (Z + R),
/// Q = X R: exact for exponential service at the queue and any distribution of the delays.
#[test]
fn a_closed_network_carries_what_mean_value_analysis_says() {
    let think = Duration::from_microseconds(400);
    let mean = 32.0 * 1024.0;
    let system = idle(|system| {
        system.cpu.cores = 64;
        let law = link::Pcie::new(link::PcieGeneration::One, 1, Bytes(128), Bytes(512));
        system.links[0].law = link::LinkLaw::Pcie(law);
    });
    let link = link::Link::new(&system.links[0]);
    let whole = link::Place { first: true, last: true };
    let run = |customers: u64| {
        let mut rng = Rng::new(StreamKey::from_seed(5));
        let mut simulator = Simulator::new(&system, Bytes::ZERO.into());
        let mut service = 0.0;
        let mut next = |service: &mut f64| {
            let sectors = (exponential(&mut rng, mean) / 512.0).ceil().clamp(1.0, 8192.0);
            let length = Bytes(sectors as u64 * 512);
            *service += link.read_time(length, whole).as_seconds();
            read(0, length)
        };
        for customer in 0..customers {
            let access = next(&mut service);
            simulator.submit(Instant::ZERO, 0, access, customer as u32, customer).unwrap();
        }
        let (mut count, mut latency) = (0u64, 0.0);
        while let Some(done) = simulator.advance() {
            count += 1;
            latency += done.completed.since(done.submitted).as_seconds();
            if count == 300_000 {
                break;
            }
            let access = next(&mut service);
            simulator.submit(done.completed + think, 0, access, done.tag as u32, done.tag).unwrap();
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
            let expected = response + alone - service;
            assert!(
                (latency / expected - 1.0).abs() < 0.02,
                "{customers}: {latency} for {expected}"
            );
        }
    }
}

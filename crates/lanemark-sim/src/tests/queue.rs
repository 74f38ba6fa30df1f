//! Tests queues and interrupts in whole systems: shares, exact delays, and invariants.

use crate::simulator::Simulator;
use crate::spec::submission::Submission;
use crate::spec::{ProtocolKind, SystemSpec};
use crate::tests::runs::{
    at_rest, check_stages, complete_all, nvme, sata, simulate, small_drive, unlimited,
};
use crate::tests::{at, latency, random_read, us};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Instant, Ratio};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};
use proptest::prelude::*;

/// Returns a read of 4 KiB. Reads of adjacent positions use different dies.
fn read(place: u64) -> Access {
    let offset = small_drive().flash().unit() * (place % 1024);
    Access { operation: Operation::Read, offset, length: Bytes::kibi(4) }
}

/// Returns a system whose command engines are the bottleneck.
fn slow_front_end() -> SystemSpec {
    let mut system = nvme(unlimited());
    system.attachments[0].drive.front_end.read_time = us(10);
    system
}

/// Returns the number of completions of each thread among the first `count`. Each thread keeps its queue depth
/// outstanding.
fn count_served(system: &SystemSpec, depths: &[u32], count: u64) -> Vec<f64> {
    assert_eq!(system.check(), Ok(()));
    let mut simulator = at_rest(system, Bytes::mebi(32).into());
    let mut submitted = 0;
    let mut submit = |simulator: &mut Simulator, thread: u32| {
        let request = Submission::new(simulator.now(), read(submitted)).by(thread);
        simulator.submit(request.tagged(thread.into())).unwrap();
        submitted += 1;
    };
    for (thread, &depth) in depths.iter().enumerate() {
        (0..depth).for_each(|_| submit(&mut simulator, thread as u32));
    }
    let mut shares = vec![0.0; depths.len()];
    for _ in 0..count {
        let completion = simulator.advance().unwrap();
        assert_eq!(completion.budget.total(), latency(&completion));
        shares[completion.tag as usize] += 1.0 / count as f64;
        submit(&mut simulator, completion.tag as u32);
    }
    shares
}

#[track_caller]
fn assert_shares(seen: &[f64], expected: &[f64]) {
    for (seen, expected) in seen.iter().zip(expected) {
        assert!((seen / expected - 1.0).abs() < 0.01, "{seen} for {expected}");
    }
}

/// Returns the instants of completion of reads, in ascending order, and the number of interrupts. Each read is
/// submitted at its instant and to its thread.
fn completed(system: &SystemSpec, reads: &[(Instant, u32)]) -> (Vec<Instant>, u64) {
    let mut simulator = at_rest(system, Bytes::mebi(32).into());
    let requests =
        (0..).zip(reads).map(|(place, &(at, thread))| Submission::new(at, read(place)).by(thread));
    let completions = complete_all(&mut simulator, requests);
    let mut instants: Vec<Instant> = completions.iter().map(|done| done.completed).collect();
    instants.sort_unstable();
    (instants, simulator.interrupts())
}

#[test]
fn round_robin_gives_a_shallow_queue_the_share_of_a_deep_one() {
    let mut system = slow_front_end();
    assert_shares(&count_served(&system, &[64, 4], 10_000), &[0.5, 0.5]);
    // In the order of arrival, as with a single queue, the shares are proportional to the depths.
    system.attachments[0].protocol.queues = 1;
    assert_shares(&count_served(&system, &[60, 4], 10_000), &[60.0 / 64.0, 4.0 / 64.0]);
}

#[test]
fn every_nvme_completion_pays_its_interrupt() {
    let mut system = nvme(small_drive());
    let accesses = [(at(0), 0), (at(500), 1)];
    let (before, _) = completed(&system, &accesses);
    system.attachments[0].protocol.interrupt_time = us(3);
    let (after, interrupts) = completed(&system, &accesses);
    assert_eq!(interrupts, 2);
    assert_eq!(after, [before[0] + us(3), before[1] + us(3)]);
}

#[test]
fn one_ahci_interrupt_is_for_all_that_come_while_its_handler_runs() {
    let mut system = sata(small_drive());
    system.attachments[0].protocol.interrupt_time = us(50);
    let (_, interrupts) = completed(&system, &[(at(0), 0), (at(1_000), 0)]);
    assert_eq!(interrupts, 2, "far apart, each has its own");
    // The completions arrive within the 50 µs of the first handler, one frame after another.
    let (instants, interrupts) = completed(&system, &[(at(0), 0); 4]);
    assert_eq!(interrupts, 1);
    let complete = system.attachments[0].protocol.read_time / 2;
    assert_eq!(instants[3], instants[0] + complete * 3);
}

#[test]
fn a_queue_of_the_highest_number_works_like_any_other() {
    let mut system = nvme(small_drive());
    system.attachments[0].protocol.queues = 65_535;
    system.attachments[0].protocol.queue_depth = 65_536;
    let accesses: Vec<_> =
        (0..64).map(|index| (Instant::ZERO, if index % 2 == 0 { 65_534 } else { 1 })).collect();
    assert_eq!(completed(&system, &accesses).1, 64);
}

prop_compose! {
    fn any_queues()(
        queues in 1u32..6, depth in 1u32..40, interrupt_time in 0u64..20,
    ) -> SystemSpec {
        let mut system = nvme(small_drive());
        system.attachments[0].protocol.queues = queues;
        system.attachments[0].protocol.queue_depth = depth;
        system.attachments[0].protocol.interrupt_time = us(interrupt_time);
        system
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For any queues and interrupts, every request completes, its stages sum to its latency, and a second run has the
    /// same result.
    #[test]
    fn queues_and_interrupts_lose_nothing(
        system in any_queues(), engines in 1u32..4, front_end in 0u64..30, blocks in 1u64..70,
        read_share in 0.0f64..=1.0, threads in 1u32..7, depth in 1u32..20, seed: u64, over_sata: bool,
    ) {
        let mut system = system;
        system.attachments[0].drive.front_end.engines = engines;
        system.attachments[0].drive.front_end.read_time = us(front_end);
        system.attachments[0].drive.flash_mut().blocks_per_plane = 4096;
        if over_sata {
            let drive = system.attachments[0].drive.clone();
            system.attachments[0].port_path = sata(drive).attachments[0].port_path.clone();
            system.attachments[0].protocol.kind = ProtocolKind::Ahci;
            (system.attachments[0].protocol.queues, system.attachments[0].protocol.queue_depth) = (1, 32);
        }
        prop_assert_eq!(system.check(), Ok(()));
        let block = Bytes(blocks * 4096);
        let volume = Bytes(block.get() * 300);
        let test =
            Test { block, threads, span: Bytes::mebi(32), volume: Some(volume), ..random_read() }
                .with(|asked| {
                    asked.alignment = block;
                    asked.pattern = Pattern::Uniform;
                    asked.read_share = Ratio::new(read_share).unwrap();
                    asked.queue_depth = depth;
                });
        prop_assert_eq!(test.check(), Ok(()));
        let sample = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(sample.bytes(), volume);
        check_stages(&sample)?;
        let again = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(again, sample);
    }
}

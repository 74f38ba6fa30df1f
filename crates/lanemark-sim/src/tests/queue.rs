//! Tests queues and interrupts in whole systems: shares, exact delays, and invariants.

use crate::spec::SystemSpec;
use crate::spec::submission::Submission;
use crate::tests::runs::{at_rest, complete_all, nvme, sata, small_drive};
use crate::tests::{at, us};
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Access, Operation};

/// Returns a read of 4 KiB. Reads of adjacent positions use different dies.
fn read(place: u64) -> Access {
    let offset = small_drive().flash().unit() * (place % 1024);
    Access { operation: Operation::Read, offset, length: Bytes::kibi(4) }
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

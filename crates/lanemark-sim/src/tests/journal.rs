//! Compares syncs through a file system's journal with the same requests in explicit order.

use crate::simulator::Completion;
use crate::spec::submission::Submission;
use crate::spec::{JournalSpec, SystemSpec, VolumeSpec};
use crate::storage::Storage;
use crate::storage::journal::Journal;
use crate::tests::runs::{checked, nvme, run, sata, small_drive, storage_at_rest, test, unlimited};
use crate::tests::us;
use crate::tests::volume::build_volume;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation, Pattern};

const TICK: Duration = us(1000);

fn journaled(system: SystemSpec) -> SystemSpec {
    let journal =
        JournalSpec { records: Bytes::kibi(8), commit: Bytes::kibi(4), timestamp_step: TICK };
    SystemSpec { journal: Some(journal), ..system }
}

const FLUSH: Access =
    Access { operation: Operation::Flush, offset: Bytes::ZERO, length: Bytes::ZERO };

fn write(offset: Bytes, length: Bytes) -> Access {
    Access { operation: Operation::Write, offset, length }
}

/// Submits the first request at `from`, and each other request when the previous request is complete. Returns the
/// completions.
fn one_by_one(storage: &mut Storage, from: Instant, accesses: &[Access]) -> Vec<Completion> {
    let mut at = from;
    let one = |&access: &Access| {
        storage.submit(Submission::new(at, access).tagged(77)).unwrap();
        let completion = storage.advance().unwrap();
        at = completion.completed;
        completion
    };
    accesses.iter().map(one).collect()
}

#[test]
fn a_sync_is_the_writes_and_flushes_of_its_commit_one_after_the_other() {
    let data = write(Bytes::ZERO, Bytes::kibi(16));
    for system in [
        nvme(small_drive()),
        sata(small_drive()),
        build_volume(&unlimited(), 2, VolumeSpec::Mirror),
    ] {
        let capacity = system.capacities()[0];
        let middle = Bytes(capacity.get() / 2 / 4096 * 4096);
        let by_hand = [
            data,
            write(middle, Bytes::kibi(8)),
            FLUSH,
            write(middle + Bytes::kibi(8), Bytes::kibi(4)),
            FLUSH,
        ];
        let content = Bytes::mebi(1).into();
        let plain = one_by_one(&mut storage_at_rest(&system, content), Instant::ZERO, &by_hand);
        let mut storage = storage_at_rest(&journaled(system), content);
        let synced = one_by_one(&mut storage, Instant::ZERO, &[data, FLUSH]);
        assert_eq!(synced[1].completed, plain[4].completed);
        assert_eq!(synced[1].submitted, plain[1].submitted);
        assert_eq!((synced[1].tag, synced[1].access), (77, FLUSH));
        let latency = synced[1].completed.since(synced[1].submitted);
        assert_eq!(synced[1].budget.total(), latency, "stages must sum to the latency");
    }
}

#[test]
fn a_file_that_was_committed_in_this_tick_is_flushed_and_no_more() {
    let system = nvme(small_drive());
    let mut storage = storage_at_rest(&journaled(system), Bytes::mebi(1).into());
    let written = |storage: &Storage| storage.simulator().drive_use().host_written.get();
    let sync = |storage: &mut Storage, at| one_by_one(storage, Instant::ZERO + at, &[FLUSH]);
    sync(&mut storage, TICK * 8);
    assert_eq!(written(&storage), 12 << 10);
    sync(&mut storage, TICK * 8 + TICK / 2);
    assert_eq!(written(&storage), 12 << 10, "the same tick");
    sync(&mut storage, TICK * 9);
    assert_eq!(written(&storage), 24 << 10);
}

/// Checks the offset of each commit. The first commit begins in the middle of the target.
#[test]
fn a_commit_that_fills_the_journal_to_its_end_is_the_last_of_its_round() {
    // An eighth of the drive's 64 MiB is 2,048 blocks. Commits of four blocks fill it exactly, and commits of three
    // leave two blocks.
    for (records, a_round) in [(12, 512), (8, 682)] {
        let records = Bytes::kibi(records);
        let mut system = journaled(nvme(small_drive()));
        system.journal.as_mut().unwrap().records = records;
        let mut journal = Journal::for_system(&checked(&system)).unwrap();
        let commit = records + Bytes::kibi(4);
        for sync in 0..a_round * 2 + 3 {
            let at = Instant::ZERO + TICK * sync;
            let step = journal.accept(Submission::new(at, FLUSH));
            let place = Bytes::mebi(32) + commit * (sync % a_round);
            assert_eq!(step.access, write(place, records), "sync {sync} of {a_round} a round");
            journal.forget(step.tag);
        }
    }
}

#[test]
fn a_journal_does_not_change_reads_and_writes() {
    for read in [true, false] {
        let load = test(Bytes::kibi(4), Pattern::Uniform, read, 8);
        let with = run(&journaled(nvme(small_drive())), &load);
        let without = run(&nvme(small_drive()), &load);
        assert_eq!(with.elapsed, without.elapsed);
        assert_eq!(with.latency().mean_ns(), without.latency().mean_ns());
    }
}

#[test]
fn a_commit_of_no_length_or_of_half_a_block_is_refused() {
    for (records, commit, field) in [
        (0, 4096, "journal_records"),
        (8192, 512, "journal_commit"),
        (2 << 20, 4096, "journal_records"),
    ] {
        let mut system = journaled(nvme(small_drive()));
        system.journal.as_mut().unwrap().records = Bytes(records);
        system.journal.as_mut().unwrap().commit = Bytes(commit);
        let error = system.check().unwrap_err().to_string();
        assert!(error.contains(field) && error.contains("multiple of 4 KiB"), "{error}");
    }
}

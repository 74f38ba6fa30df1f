//! Controller latencies that apply only to some commands: flushes, and reads of data that was not read ahead.

use crate::spec::*;
use crate::tests::drive::latencies;
use crate::tests::runs::{nvme, run, sata, small_drive, test, times};
use crate::tests::{BLOCK, access, us};
use lanemark_schema::result::DirectionResult;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Operation, Pattern, Test};

#[test]
fn only_flushes_of_unprotected_buffers_wait_for_writes() {
    let submit = us(2);
    let flush = |system: fn(DriveSpec) -> SystemSpec, cache, latency, written: bool| {
        let mut drive = small_drive();
        (drive.write_cache, drive.front_end.flush_latency) = (cache, latency);
        let mut accesses = vec![(us(100), access(Operation::Flush, Bytes::ZERO, Bytes::ZERO))];
        if written {
            accesses.push((us(0), access(Operation::Write, Bytes::ZERO, BLOCK)));
        }
        let mut system = system(drive);
        system.cpu.request_submit = submit;
        latencies(&system, &accesses)[0]
    };
    let volatile = WriteCacheMode::Volatile;
    let protected = WriteCacheMode::Protected;
    let nothing = flush(nvme, volatile, us(0), false);
    assert!(nothing < us(20), "{nothing}");
    let waits = flush(nvme, volatile, us(0), true);
    assert!(waits > us(600) && waits < us(700), "{waits}: a program of one unit, filled or not");
    assert_eq!(flush(nvme, volatile, us(400), true), waits + us(400), "the map's journal");
    assert_eq!(flush(sata, protected, us(400), true), flush(sata, volatile, us(0), false));
    // Over NVMe, a protected drive reports that it does not have a volatile cache, and does not receive flushes. Only
    // the system call remains.
    let call = flush(nvme, protected, us(0), true);
    assert_eq!(call, submit);
}

/// A flush of buffered data contains the write that it writes back, and the same requests reach the drive.
#[test]
fn a_flush_that_writes_back_data_contains_its_write() {
    let system = nvme(small_drive());
    let means = |written_back| {
        let writes =
            Test { volume: Some(Bytes::mebi(1)), ..test(BLOCK, Pattern::Uniform, false, 1) }.with(
                |requests| {
                    (requests.mix.flush_every, requests.mix.written_back) = (Some(1), written_back);
                },
            );
        let sample = run(&system, &writes);
        let mean = |part: Option<DirectionResult>| part.unwrap().latency.mean_ns();
        (mean(sample.writes), mean(sample.flushes))
    };
    let (write, flush) = means(false);
    let (written, both) = means(true);
    assert!((write - written).abs() < 1.0, "{write} and {written}");
    assert!(write > 1_000.0 && (both - write - flush).abs() < 50.0, "{both}: {write} and {flush}");
}

/// Each of two drives has a thread with several outstanding requests, and its flushes contain only its own writes.
#[test]
fn a_flush_does_not_contain_the_writes_of_other_threads() {
    let one = nvme(small_drive());
    let flush = |system: &SystemSpec| {
        let writes =
            Test { volume: Some(Bytes::mebi(1)), ..test(BLOCK, Pattern::Sequential, false, 4) }
                .with(|requests| {
                    (requests.mix.flush_every, requests.mix.written_back) = (Some(1), true);
                });
        run(system, &writes).flushes.unwrap().latency.mean_ns()
    };
    let [alone, of_two] = [flush(&one), flush(&times(one.clone(), 2))];
    assert!((of_two / alone - 1.0).abs() < 0.01, "{of_two} and {alone}");
}

#[test]
fn a_read_waits_longer_if_nothing_was_read_ahead() {
    let read = |latency, place: u64| {
        let mut drive = small_drive();
        drive.read_ahead = Bytes::kibi(64);
        drive.front_end.miss_latency = latency;
        let in_order = (0..place).map(|index| {
            let offset = BLOCK * index;
            (us(1000 * index), access(Operation::Read, offset, BLOCK))
        });
        let all = latencies(&nvme(drive), &in_order.collect::<Vec<_>>());
        all[all.len() - 1]
    };
    assert_eq!(read(us(30), 1), read(us(0), 1) + us(30), "the first read of a stream");
    assert_eq!(read(us(30), 6), read(us(0), 6), "data that was read ahead");
    assert!(read(us(30), 6) + us(50) < read(us(30), 1));
}

//! Tests faults that affect a share of the requests, that are healed by writes, or that are silent, against closed
//! forms and counts.

use crate::fault::RequestStatus;
use crate::simulator::Completion;
use crate::spec::{PageTimes, SystemSpec, VolumeSpec, WriteCacheMode};
use crate::tests::fault::{failed, submitted, timed, with};
use crate::tests::runs::{nvme, run, sas, sata, small_drive, test, times};
use crate::tests::volume::build_volume;
use crate::tests::{BLOCK, access, at, latency, us};
use lanemark_schema::result::{ErrorKind, FaultImpact, Sample};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};

const MEDIA: RequestStatus = RequestStatus::Failed(ErrorKind::Media);

/// Checks that `count` of `all` independent events with this probability is within four standard deviations.
#[track_caller]
fn is_share(count: u64, all: u64, probability: f64) {
    let expected = all as f64 * probability;
    let bound = 4.0 * libm::sqrt(expected * (1.0 - probability)) + 0.5;
    assert!((count as f64 - expected).abs() < bound, "{count} for {expected} +/- {bound}");
}

fn volume(blocks: u64, read: bool) -> Test {
    Test { volume: Some(BLOCK * blocks), ..test(BLOCK, Pattern::Uniform, read, 4) }
}

#[test]
fn requests_are_drawn_and_not_their_commands() {
    // Each request has eight commands. If each command made a draw, 1 - 0.9^8 = 57% of the requests would fail.
    let block = Bytes::mebi(1);
    let reads = ["media-error share=10% recovery=0ps", "media-error share=20% recovery=0ps"];
    // The draws of two faults are independent: 1 - 0.9 * 0.8 = 28% of the requests fail.
    for (read, faults, share) in [
        (true, &reads[..1], 0.1),
        (true, &reads, 0.28),
        (false, &["write-error share=10% recovery=0ps"], 0.1),
    ] {
        let all = Test { volume: Some(block * 1_000), ..test(block, Pattern::Uniform, read, 2) };
        let sample = run(&with(&nvme(small_drive()), faults), &all);
        let bad = failed(&sample, ErrorKind::Media);
        is_share(bad, 1_000, share);
        assert_eq!(bad + sample.operations(), 1_000);
    }
}

fn block(operation: Operation, index: u64) -> Access {
    access(operation, BLOCK * index, BLOCK)
}

fn is_bad(done: &Completion) -> bool {
    assert!([RequestStatus::Good, MEDIA].contains(&done.status));
    done.status == MEDIA
}

#[test]
fn only_writes_heal_blocks() {
    use Operation::{Read, Trim, Write};
    for base in [nvme(small_drive()), sata(small_drive())] {
        let fault = "media-error range=16KiB..48KiB recovery=100us heal=write at=1ms";
        let system = with(&base, &[fault]);
        // A write before the fault does not heal any block. Blocks 4 to 11 are bad; block 6 and a part of block 9 are
        // written.
        let part = access(Write, BLOCK * 9, Bytes(512));
        let mut all = vec![(at(0), block(Write, 5))];
        let changes = [block(Write, 6), part, block(Trim, 7), block(Read, 8)];
        all.extend((2..).zip(changes).map(|(index, one)| (at(index * 1_000), one)));
        all.extend((0..16).map(|index| (at(20_000 + index * 1_000), block(Read, index))));
        all.push((at(40_000), part_of(part)));
        let (seen, uses) = submitted(&system, &all);
        let bad: Vec<bool> = seen[5..21].iter().map(is_bad).collect();
        let expected: Vec<bool> =
            (0..16).map(|index| (4..12).contains(&index) && index != 6).collect();
        assert_eq!(bad, expected);
        assert!(is_bad(&seen[4]) && !is_bad(&seen[21]));
        // The reads of 8 bad blocks before the writes and 7 after them are each delayed and fail.
        assert_eq!((uses[0].failed, uses[0].held), (8, 8));
        let never = with(&base, &[&fault.replace("heal=write ", "")]);
        assert!(is_bad(&submitted(&never, &all).0[11]));
    }
}

/// Returns a read of a written range.
fn part_of(write: Access) -> Access {
    Access { operation: Operation::Read, ..write }
}

#[test]
fn writes_to_a_bad_range_fail_after_the_drives_time_and_reads_succeed() {
    for base in [nvme(small_drive()), sata(small_drive()), sas(small_drive(), 1)] {
        let system = with(&base, &["write-error range=8KiB..12KiB recovery=300us"]);
        let writes = |operation| -> Vec<(Instant, Access)> {
            (0..4).map(|index| (at(index * 5_000), block(operation, index))).collect()
        };
        let (sound, _) = submitted(&base, &writes(Operation::Write));
        let (seen, uses) = submitted(&system, &writes(Operation::Write));
        assert_eq!(seen.iter().map(is_bad).collect::<Vec<_>>(), [false, false, true, false]);
        assert_eq!(seen[..2], sound[..2]);
        assert!(latency(&seen[2]) > us(300) && latency(&seen[2]) < us(300) + latency(&sound[2]));
        assert_eq!((uses[0].failed, uses[0].held), (1, 1));
        for operation in [Operation::Read, Operation::Trim] {
            let sound = submitted(&base, &writes(operation)).0;
            assert_eq!(submitted(&system, &writes(operation)).0, sound);
        }
    }
    // The fault affects a quarter of the span, and a fifth of the requests there.
    let system = with(&nvme(small_drive()), &["write-error range=0B..8MiB share=20% recovery=0ps"]);
    let sample = run(&system, &volume(8_000, false));
    is_share(failed(&sample, ErrorKind::Media), 8_000, 0.05);
}

/// Returns a drive whose media are so slow that all written data is still in its buffer.
fn slow_media(cache: WriteCacheMode) -> SystemSpec {
    let mut drive = small_drive();
    drive.write_cache = cache;
    drive.flash_mut().program = PageTimes::alike(us(50_000));
    nvme(drive)
}

/// Writes blocks, flushes if stated, and cuts the power after the last completion. Returns the last completion and the
/// outcomes of the faults.
fn cut_after(
    base: &SystemSpec,
    blocks: impl Iterator<Item = u64>,
    faults: &[&str],
    flushes: bool,
) -> (Completion, Vec<FaultImpact>) {
    let mut all: Vec<(Instant, Access)> = (0..)
        .zip(blocks)
        .map(|(index, one)| (at(index * 20), block(Operation::Write, one)))
        .collect();
    if flushes {
        let flush = access(Operation::Flush, Bytes::ZERO, Bytes::ZERO);
        all.push((at(all.len() as u64 * 20 + 100), flush));
    }
    let (done, _) = submitted(&with(base, faults), &all);
    let end = done.iter().map(|done| done.completed).max().unwrap();
    let cut = format!("power-cut at={}ps boot=1ms", end.picoseconds() + 1_000_000);
    let (done, uses) = submitted(&with(base, &[faults, &[&cut]].concat()), &all);
    assert!(done.iter().all(|done| done.status == RequestStatus::Good));
    (*done.last().unwrap(), uses)
}

#[test]
fn a_cut_loses_only_the_unflushed_data_of_volatile_buffers() {
    for count in [1, 7, 32] {
        for (cache, flushes, lost) in [
            (WriteCacheMode::Volatile, false, BLOCK * count),
            (WriteCacheMode::Volatile, true, Bytes::ZERO),
            (WriteCacheMode::Protected, false, Bytes::ZERO),
            (WriteCacheMode::Off, false, Bytes::ZERO),
        ] {
            let uses = cut_after(&slow_media(cache), 0..count, &[], flushes).1;
            assert_eq!(uses[0].lost, lost, "{cache:?}, {count} blocks, flush {flushes}");
        }
    }
}

#[test]
fn a_power_cut_loses_the_data_of_a_lying_flush() {
    let base = slow_media(WriteCacheMode::Volatile);
    for count in [1, 7, 32] {
        let (honest, uses) = cut_after(&base, 0..count, &[], true);
        assert_eq!(uses[0].lost, Bytes::ZERO);
        assert!(latency(&honest) > us(50_000) - us(count * 20 + 200), "{}", latency(&honest));
        let (lie, uses) = cut_after(&base, 0..count, &["lying-flush"], true);
        assert!(latency(&lie) < us(20), "{}", latency(&lie));
        assert_eq!((uses[0].silent, uses[0].failed), (1, 0));
        assert_eq!(uses[1].lost, BLOCK * count);
        // The fault ends before the flush.
        let (over, uses) = cut_after(&base, 0..count, &["lying-flush at=0s for=1us"], true);
        assert_eq!((latency(&over), uses[0].silent), (latency(&honest), 0));
    }
    // A flush that another fault delays is not stored either.
    let (lie, uses) = cut_after(&base, 0..7, &["lying-flush", "latency extra=2ms"], true);
    assert_eq!(uses[0].silent, 1);
    assert!(latency(&lie) > us(2_000) && latency(&lie) < us(2_020), "{}", latency(&lie));
}

#[test]
fn a_drive_without_a_volatile_cache_cannot_lie() {
    for cache in [WriteCacheMode::Protected, WriteCacheMode::Off] {
        let system = crate::tests::runs::checked(&slow_media(cache));
        let errors = system.with_faults(&["lying-flush".parse().unwrap()]).unwrap_err();
        assert!(errors[0].to_string().contains("lacks a volatile cache"), "{errors:?}");
    }
}

#[test]
fn of_the_flushes_a_share_lies() {
    let flushes: Vec<(Instant, Access)> = (0..3_000)
        .map(|index| (at(index * 100), access(Operation::Flush, Bytes::ZERO, Bytes::ZERO)))
        .collect();
    let system = with(&nvme(small_drive()), &["lying-flush share=30%"]);
    let (_, uses) = submitted(&system, &flushes);
    is_share(uses[0].silent, 3_000, 0.3);
}

/// Returns the sample without the outcome of its faults and the number of simulated events.
fn without_faults(sample: &Sample) -> Sample {
    let mut sample = Sample { faults: Vec::new(), ..sample.clone() };
    sample.path.iter_mut().for_each(|path| path.events = 0);
    sample
}

#[test]
fn silent_faults_are_counted_and_change_no_time() {
    for base in [nvme(small_drive()), times(sata(small_drive()), 2)] {
        for (read, fault) in [
            (true, "bit-flips share=2%"),
            (false, "lost-write share=2%"),
            (false, "misdirected-write share=2%"),
        ] {
            let all = volume(5_000, read);
            // A fault that does not begin makes both runs simulate the whole test.
            let sound = run(&with(&base, &["pause at=1000s for=1s"]), &all);
            let seen = run(&with(&base, &[fault]), &all);
            assert!(without_faults(&seen) == without_faults(&sound), "{fault}");
            let uses = &seen.faults[0];
            let requests = 5_000 * base.drives() as u64;
            is_share(uses.silent, requests, 0.02);
            assert_eq!((uses.failed, uses.held, uses.lost), (0, 0, Bytes::ZERO));
            // The other direction is not affected.
            let other = run(&with(&base, &[fault]), &volume(1_000, !read));
            assert_eq!(other.faults[0].silent, 0, "{fault}");
        }
    }
    // The fault affects a quarter of the span.
    let system = with(&nvme(small_drive()), &["lost-write range=0B..8MiB"]);
    is_share(run(&system, &volume(8_000, false)).faults[0].silent, 8_000, 0.25);
}

#[test]
fn a_request_that_fails_is_not_counted_as_silent() {
    let faults = ["bit-flips share=100%", "media-error range=0B..16MiB recovery=0ps"];
    let sample = run(&with(&nvme(small_drive()), &faults), &volume(4_000, true));
    assert_eq!(sample.faults[0].silent, sample.operations());
    assert_eq!(sample.errors.total() + sample.operations(), 4_000);
    // Requests that a power cut ends have failed, although their data was already in transit.
    let cut = ["lost-write share=100%", "power-cut at=5ms boot=1ms"];
    let sample = run(&with(&nvme(small_drive()), &cut), &timed(20, 8, false));
    assert!(sample.faults[0].silent.abs_diff(sample.operations()) <= 8);
    assert_eq!(failed(&sample, ErrorKind::DeviceGone), 8);
    assert_eq!(sample.faults[0].recovery.map(|time| time > Duration::ZERO), Some(true));
}

#[test]
fn on_a_volume_silent_faults_are_drawn_for_the_part_of_each_drive() {
    let stripe = build_volume(&small_drive(), 2, VolumeSpec::Stripe { chunk: Bytes::kibi(64) });
    let mirror = build_volume(&small_drive(), 2, VolumeSpec::Mirror);
    let row = Bytes::kibi(128);
    // The last two values are the number of parts of a request on the faulty drives, and the probability for each part.
    for (system, block, read, fault, parts, probability) in [
        (&stripe, BLOCK, true, "bit-flips share=2%", 1, 0.02),
        (&stripe, BLOCK, false, "lost-write share=2%", 1, 0.02),
        (&stripe, row, false, "misdirected-write share=2%", 2, 0.02),
        (&stripe, BLOCK, false, "lost-write share=100% drive=1", 1, 0.5),
        (&stripe, row, false, "lost-write share=100% drive=1", 1, 1.0),
        (&mirror, BLOCK, true, "bit-flips share=2%", 1, 0.02),
        (&mirror, BLOCK, false, "lost-write share=2%", 2, 0.02),
        (&mirror, BLOCK, false, "misdirected-write share=2% drive=0", 1, 0.02),
        (&mirror, BLOCK, false, "lost-write share=100% drive=1", 1, 1.0),
    ] {
        let requests = if block == row { 1_000 } else { 4_000 };
        let all = Test { volume: Some(block * requests), ..test(block, Pattern::Uniform, read, 4) };
        let sound = run(&with(system, &["pause at=1000s for=1s"]), &all);
        let seen = run(&with(system, &[fault]), &all);
        assert!(without_faults(&seen) == without_faults(&sound), "{fault}");
        assert_eq!(seen.operations(), requests, "{fault}");
        is_share(seen.faults[0].silent, requests * parts, probability);
    }
}

#[test]
fn of_a_volume_one_drive_lies_about_its_own_data_only() {
    let drive = slow_media(WriteCacheMode::Volatile).attachments[0].drive.clone();
    // Each chunk is a block, so even blocks are on the first drive and odd blocks on the second.
    let stripe = build_volume(&drive, 2, VolumeSpec::Stripe { chunk: BLOCK });
    let mirror = build_volume(&drive, 2, VolumeSpec::Mirror);
    let lie = ["lying-flush drive=1"];
    for count in [1, 5] {
        let odd = (0..count).map(|index| 2 * index + 1);
        let even = (0..count).map(|index| 2 * index);
        let (flush, uses) = cut_after(&stripe, odd, &lie, true);
        assert!(latency(&flush) < us(100), "{}", latency(&flush));
        assert_eq!((uses[0].silent, uses[1].lost), (1, BLOCK * count));
        // The other drives store their data at the usual time.
        for (system, lost) in [(&stripe, Bytes::ZERO), (&mirror, BLOCK * count)] {
            let (flush, uses) = cut_after(system, even.clone(), &lie, true);
            assert!(latency(&flush) > us(50_000) - us(count * 20 + 200), "{}", latency(&flush));
            assert_eq!((uses[0].silent, uses[1].lost), (1, lost));
        }
    }
}

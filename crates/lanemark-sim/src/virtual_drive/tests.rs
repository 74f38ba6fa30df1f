//! Tests of virtual drives: data, durability, silent faults, and requests out of bounds.

use super::drive_content::DriveContent;
use super::*;
use crate::tests::{BLOCK, at};
use std::collections::BTreeSet;

const BOOT: Duration = Duration::from_microseconds(1_000);

fn drive(seed: u64) -> VirtualDrive {
    VirtualDrive::new(&SystemSpec::example().checked().unwrap(), seed).unwrap()
}

fn write(block: u64, value: u8) -> DriveRequest {
    DriveRequest::Write { offset: BLOCK * block, data: vec![value; BLOCK.get() as usize] }
}

fn read(block: u64) -> DriveRequest {
    DriveRequest::Read { offset: BLOCK * block, length: BLOCK }
}

/// Performs requests one after the other, and returns the last completion.
fn perform(drive: &mut VirtualDrive, requests: &[DriveRequest]) -> DriveCompletion {
    let all = requests.iter().map(|request| drive.perform(drive.now(), request.clone()).unwrap());
    all.last().unwrap()
}

#[test]
fn content_equals_plain_memory() {
    let mut random = Rng::new(StreamKey::from_seed(3));
    let mut content = DriveContent::default();
    let mut plain = vec![0; 5 * 4096];
    for value in 1..200 {
        let offset = random.below(plain.len() as u64);
        let length = random.below(plain.len() as u64 - offset) + 1;
        let range = offset as usize..(offset + length) as usize;
        if random.chance(0.3) {
            content.zero(offset, length);
            plain[range].fill(0);
        } else {
            plain[range.clone()].fill(value);
            content.write(offset, &plain[range]);
        }
        assert!(content.read(0, plain.len() as u64) == plain, "{offset} {length}");
    }
    content.zero(0, 1 << 60);
    assert!(content.read(4096, 8192) == vec![0; 8192]);
}

/// Each seed writes block 0, flushes, overwrites block 0, writes block 1, and cuts the power while block 2 is in
/// flight.
#[test]
fn a_power_cut_reverts_only_unflushed_sectors_and_tears_writes_in_flight() {
    let outcome = |seed, cache| {
        let mut spec = SystemSpec::example();
        spec.first_mut().drive.write_cache = cache;
        let mut drive = VirtualDrive::new(&spec.checked().unwrap(), seed).unwrap();
        perform(&mut drive, &[write(0, 1), DriveRequest::Flush, write(0, 2), write(1, 3)]);
        let number = drive.submit(drive.now(), write(2, 4)).unwrap();
        let cut = drive.now() + Duration::from_picoseconds(1);
        drive.cut_power(cut, BOOT).unwrap();
        let failed = drive.advance_until(Instant::END).unwrap();
        assert_eq!((failed.number, failed.completed), (number, cut));
        assert_eq!(failed.data, Err(ErrorKind::DeviceGone));
        let done = drive.perform(cut, read(0)).unwrap();
        assert!(done.completed > cut + BOOT);
        let values = |block| drive.peek(BLOCK * block, BLOCK).into_iter().collect::<BTreeSet<u8>>();
        ([0, 1, 2].map(values), drive.power_cuts().to_vec())
    };
    let seen = |block: usize, cache| {
        (0..60).map(|seed| outcome(seed, cache).0[block].clone()).collect::<BTreeSet<_>>()
    };
    let sets = |all: &[&[u8]]| {
        all.iter().map(|one| one.iter().copied().collect()).collect::<BTreeSet<BTreeSet<u8>>>()
    };
    assert_eq!(seen(0, WriteCacheMode::Volatile), sets(&[&[1], &[1, 2], &[2]]));
    assert_eq!(seen(1, WriteCacheMode::Volatile), sets(&[&[0], &[0, 3], &[3]]));
    assert_eq!(seen(2, WriteCacheMode::Volatile), sets(&[&[0], &[0, 4], &[4]]));
    assert_eq!(seen(1, WriteCacheMode::Protected), sets(&[&[3]]));
    assert_eq!(seen(2, WriteCacheMode::Protected), sets(&[&[0], &[0, 4], &[4]]));
    assert_eq!(outcome(7, WriteCacheMode::Volatile), outcome(7, WriteCacheMode::Volatile));
    assert_eq!(outcome(7, WriteCacheMode::Volatile).1[0].writes, 2);
}

#[test]
fn a_flush_covers_writes_that_completed_before_it_without_an_advance() {
    for seed in 0..20 {
        let mut drive = drive(seed);
        drive.submit(at(0), write(0, 1)).unwrap();
        drive.submit(at(20_000), DriveRequest::Flush).unwrap();
        drive.submit(at(20_000), write(1, 1)).unwrap();
        drive.cut_power(at(60_000), BOOT).unwrap();
        let numbers: Vec<u64> =
            std::iter::from_fn(|| drive.advance_until(at(60_000))).map(|one| one.number).collect();
        assert_eq!((numbers.len(), numbers[0]), (3, 0));
        assert_eq!(drive.power_cuts()[0].writes, 1);
        assert!(drive.peek(Bytes::ZERO, BLOCK) == vec![1; 4096], "seed {seed}");
    }
}

#[test]
fn a_completion_that_another_call_passed_is_returned_at_its_instant() {
    let mut alone = drive(1);
    alone.submit(at(10), read(3)).unwrap();
    let expected = alone.advance_until(Instant::END).unwrap();
    let before = Instant::from_picoseconds(expected.completed.picoseconds() - 1);
    let mut drive = drive(1);
    assert_eq!(drive.submit(at(10), read(3)), Ok(expected.number));
    let later = drive.perform(at(1_000), write(9, 1)).unwrap();
    assert!(later.completed > at(1_000));
    assert_eq!((drive.advance_until(before), drive.next_at()), (None, Some(expected.completed)));
    assert_eq!(drive.advance_until(expected.completed), Some(expected));
}

#[test]
fn silent_faults_damage_data_without_an_error() {
    let faulty = |fault: &str| {
        let mut drive = drive(5);
        perform(&mut drive, &[write(1, 7), DriveRequest::Flush]);
        let begins = drive.now() + Duration::from_picoseconds(1);
        drive.add_fault(Fault { at: begins, ..fault.parse().unwrap() }).unwrap();
        drive
    };
    let mut lost = faulty("lost-write at=0s share=100%");
    assert!(perform(&mut lost, &[write(1, 8), read(1)]).data == Ok(vec![7; 4096]));
    let trim = DriveRequest::Trim { offset: BLOCK, length: BLOCK };
    assert!(perform(&mut lost, &[trim, read(1)]).data == Ok(vec![0; 4096]));
    let mut elsewhere = faulty("misdirected-write at=0s share=100%");
    perform(&mut elsewhere, &[write(1, 8)]);
    let all = elsewhere.peek(Bytes::ZERO, elsewhere.capacity());
    assert!(elsewhere.peek(BLOCK, BLOCK) == vec![7; 4096]);
    assert_eq!(all.iter().filter(|byte| **byte == 8).count(), 4096);
    let mut flipped = faulty("bit-flips at=0s share=100% bits=3");
    let bytes = perform(&mut flipped, &[read(1)]).data.unwrap();
    assert_eq!(bytes.iter().map(|byte| (byte ^ 7).count_ones()).sum::<u32>(), 3);
    assert!(flipped.peek(BLOCK, BLOCK) == vec![7; 4096]);
    let mut lying = faulty("lying-flush at=0s");
    perform(&mut lying, &[write(2, 9), DriveRequest::Flush]);
    lying.cut_power(lying.now(), BOOT).unwrap();
    perform(&mut lying, &[read(2)]);
    assert_eq!(lying.power_cuts()[0].writes, 1);
}

#[test]
fn requests_out_of_bounds_are_rejected_with_the_bound_and_change_nothing() {
    let mut drive = drive(1);
    let of = |offset, length| DriveRequest::Read { offset: Bytes(offset), length: Bytes(length) };
    for (request, words) in [
        (of(0, 0), "whole sectors"),
        (of(7, 512), "whole sectors"),
        (of(0, 513), "whole sectors"),
        (of(0, u64::MAX / 512 * 512), "64 MiB"),
        (of(u64::MAX / 512 * 512, 512), "ends beyond"),
        (of(64 << 20, 512), "ends beyond"),
        (DriveRequest::Write { offset: Bytes::ZERO, data: Vec::new() }, "whole sectors"),
        (DriveRequest::Trim { offset: Bytes(512), length: Bytes(u64::MAX / 512 * 512) }, "64 MiB"),
    ] {
        let error = drive.submit(at(1), request).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(
        drive.submit(Instant::END, DriveRequest::Flush),
        Err(DriveRequestError::Simulation(SimError::NeverEnds))
    );
    assert!(drive.add_fault("latency at=1ms extra=1ms drive=7".parse().unwrap()).is_err());
    assert_eq!(drive.advance_until(Instant::END), None);
    assert!(drive.peek(Bytes(u64::MAX), BLOCK).is_empty());
    let mut two = SystemSpec::example();
    two.attachments.push(two.first().clone());
    let error = VirtualDrive::new(&two.checked().unwrap(), 1).err().unwrap();
    assert_eq!(error.to_string(), "drives = 2: one drive");
}

#[test]
fn a_hard_disk_and_a_larger_drive_keep_data() {
    let mut large = SystemSpec::example();
    large.first_mut().drive = crate::spec::DriveSpec::example_of(Bytes::mebi(1_000));
    for spec in [SystemSpec::example_disk(), large] {
        let mut drive = VirtualDrive::new(&spec.checked().unwrap(), 1).unwrap();
        let last = drive.capacity().get() / BLOCK.get() - 1;
        let done = perform(&mut drive, &[write(last, 5), DriveRequest::Flush, read(last)]);
        assert!(done.data == Ok(vec![5; 4096]));
    }
}

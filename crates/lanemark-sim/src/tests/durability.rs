//! Tests the durability of whole systems: data that a flush has made durable survives a power cut, and the report of
//! the cut states the lost data.

use crate::fault::RequestStatus;
use crate::spec::submission::Submission;
use crate::spec::*;
use crate::tests::fault::with;
use crate::tests::runs::{nvme, sata, small_drive, storage_at_rest};
use crate::tests::us;
use crate::tests::volume::build_volume;
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation};
use proptest::prelude::*;

/// Returns a flash drive or a disk whose media are so slow that they do not store data before `store` has passed.
fn drive(is_disk: bool, cache: WriteCacheMode, store: Duration) -> DriveSpec {
    let mut drive = DriveSpec { write_cache: cache, ..small_drive() };
    let flash = drive.flash_mut();
    flash.program = PageTimes::alike(store);
    flash.blocks_per_plane = 60;
    if is_disk {
        let disk =
            DiskSpec { write_cache: cache == WriteCacheMode::Volatile, ..DiskSpec::example() };
        drive.media = MediaSpec::Disk(disk);
    }
    drive
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Each slot is written once, at any time before the cut. A flush makes durable all writes that were complete when
    /// it was submitted.
    #[test]
    fn a_power_cut_takes_what_no_flush_has_made_last_and_reports_it(
        seed: u64, count in 1u64..60, flushes in 0u64..4, cut_us in 50u64..40_000, is_disk: bool, cache in 0usize..3,
        volume in 0usize..3, drives in 2usize..4, slow: bool, over_sata: bool,
    ) {
        let cache = [WriteCacheMode::Volatile, WriteCacheMode::Protected, WriteCacheMode::Off][cache];
        let cache = if is_disk && cache == WriteCacheMode::Protected { WriteCacheMode::Off } else { cache };
        let store = if slow { us(80_000) } else { us(600) };
        let drive = drive(is_disk, cache, store);
        let stripe = VolumeSpec::Stripe { chunk: Bytes::kibi(16) };
        let (base, copies) = match volume {
            0 if over_sata => (sata(drive), 1),
            0 => (nvme(drive), 1),
            1 => (build_volume(&drive, drives, stripe), 1),
            _ => (build_volume(&drive, drives, VolumeSpec::Mirror), drives as u64),
        };
        let system = with(&base, &[&format!("power-cut at={cut_us}us boot=1ms")]);
        let mut storage = storage_at_rest(&system, Bytes::mebi(8).into());
        let mut rng = Rng::new(StreamKey::from_seed(seed));
        let cut = Instant::ZERO + us(cut_us);
        let block = Bytes::kibi(4);
        let mut submitted = Vec::new();
        for index in 0..count + flushes {
            let is_flush = index >= count;
            let access = if is_flush { Access { operation: Operation::Flush, offset: Bytes::ZERO, length: Bytes::ZERO } } else { // The writes have distinct offsets within 16 MiB.
Access {
                    operation: Operation::Write,
                    offset: block * (index * 1_237 % 4_096),
                    length: block,
                } };
            submitted.push((Instant::from_picoseconds(rng.below(cut.picoseconds())), access));
        }
        submitted.sort_by_key(|(at, _)| *at);
        for (tag, &(at, access)) in submitted.iter().enumerate() {
            storage.submit(Submission::new(at, access).tagged(tag as u64)).unwrap();
        }
        let mut completed = vec![None; submitted.len()];
        while let Some(done) = storage.advance() {
            if done.status == RequestStatus::Good && done.completed <= cut {
                completed[done.tag as usize] = Some(done.completed);
            }
        }
        let all = || submitted.iter().zip(&completed);
        let is_flush = |access: &Access| access.operation == Operation::Flush;
        // All writes that were complete at this instant are durable.
        let safe = all().filter(|((_, access), end)| is_flush(access) && end.is_some());
        let safe = safe.map(|((at, _), _)| *at).max().unwrap_or(Instant::ZERO);
        let writes = || all().filter(|((_, access), _)| !is_flush(access));
        let acknowledged = writes().filter(|(_, end)| end.is_some_and(|end| end > safe)).count() as u64;
        let incomplete = writes().filter(|(_, end)| end.is_none()).count() as u64;
        let lost = storage.simulator().fault_uses()[0].lost.get();
        prop_assert_eq!(lost % block.get(), 0);
        let lost = lost / block.get();
        let mut low = 0;
        let mut high = (acknowledged + incomplete) * copies;
        if cache != WriteCacheMode::Volatile {
            high = 0;
        } else if !is_disk && slow {
            // No data has been stored.
            low = acknowledged * copies;
        }
        prop_assert!((low..=high).contains(&lost), "{lost} slots lost, not {low} to {high}");
    }
}

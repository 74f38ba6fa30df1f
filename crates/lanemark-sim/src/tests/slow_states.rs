//! Tests of runs that must not end early, because the state of the drive changes after the first requests.

use crate::run::driver::{RunLength, run_length_watched};
use crate::spec::{DriveCondition, SystemSpec, Technology};
use crate::tests::runs::{checked, nvme, small_drive, test};
use crate::tests::{pseudo_slc, us};
use lanemark_schema::result::{Reserve, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Pattern, Test};

/// Returns a drive whose pseudo-SLC cache contains `cache_mib` MiB, with slow flash outside the cache.
fn with_cache(cache_mib: u64) -> SystemSpec {
    let mut drive = small_drive();
    drive.capacity = Bytes::mebi(640);
    let flash = drive.flash_mut();
    flash.technology = Technology::Tlc;
    flash.blocks_per_plane = 1_200;
    flash.read = crate::spec::PageTimes::alike(us(400));
    flash.translation.pseudo_slc = Some(pseudo_slc(Bytes::mebi(cache_mib), Bytes::ZERO));
    nvme(drive)
}

fn run(system: &SystemSpec, test: &Test, length: RunLength) -> Sample {
    let test = test.clone().checked().unwrap();
    let key = StreamKey::from_seed(1);
    run_length_watched(&checked(system), &test, key, length, &mut |_| true).unwrap()
}

/// Asserts that a run that may end early has the rate of the whole run, and returns both runs.
#[track_caller]
fn agree(system: &SystemSpec, test: &Test) -> (Sample, Sample) {
    let runs = [RunLength::Whole, RunLength::Converged].map(|length| run(system, test, length));
    let [whole, converged] = &runs;
    let difference = converged.iops() / whole.iops() - 1.0;
    assert!(difference.abs() < 0.01, "{difference} off, {:?}", converged.converged);
    runs.into()
}

fn sequential(read: bool, span_mib: u64, volume_mib: u64) -> Test {
    Test {
        span: Bytes::mebi(span_mib),
        volume: Some(Bytes::mebi(volume_mib)),
        ..test(Bytes::kibi(16), Pattern::Sequential, read, 1)
    }
}

/// A sequential reader leaves the data in the cache and continues at the rate of the rest.
#[test]
fn sequential_reads_do_not_end_in_the_cache() {
    let system = with_cache(96);
    let (whole, converged) = agree(&system, &sequential(true, 512, 512));
    let ended = |sample: &Sample| sample.phases.first().and_then(|phase| phase.ended_by);
    assert_eq!(ended(&converged), Some(Reserve::PseudoSlcBoundary));
    let rate = |index: usize| converged.phases[index].iops;
    assert!(rate(0) > 1.5 * rate(1), "{:?}", converged.phases);
    assert!(whole.latency().max_ns() > Some(400_000));
    // If the cache contains the whole span, the run ends early, and has one phase.
    let (_, converged) = agree(&with_cache(96), &sequential(true, 64, 512));
    assert!(converged.converged.is_some_and(|ended| ended.simulated < 16_384));
    assert!(converged.phases.len() <= 1, "{:?}", converged.phases);
}

/// Random reads find the same share of their data in the cache from the beginning to the end.
#[test]
fn random_reads_end_early_in_spite_of_the_cache() {
    let reads = test(Bytes::kibi(16), Pattern::Uniform, true, 1);
    let reads = Test { span: Bytes::mebi(512), volume: Some(Bytes::mebi(1_024)), ..reads };
    let (_, converged) = agree(&with_cache(96), &reads);
    assert!(converged.converged.is_some_and(|ended| ended.simulated < 32_768));
}

/// Writes in order replace the layout of random writes in their first pass, after which they need no collection.
#[test]
fn sequential_writes_after_random_writes_do_not_end_in_the_first_pass() {
    let mut drive = small_drive();
    drive.flash_mut().condition = DriveCondition::Random;
    let span_mib = drive.capacity.get() >> 23;
    let system = nvme(drive);
    let writes = sequential(false, span_mib, 24 * span_mib);
    let (_, converged) = agree(&system, &writes);
    if let Some(ended) = converged.converged {
        let pass = (span_mib << 20) / writes.block.get();
        assert!(ended.simulated > pass, "{} of {pass}", ended.simulated);
    }
}

//! The memory of simulations, compared with the peak that the kernel counts: the estimate before a run, and the bound
//! that a run keeps.
//!
//! The kernel counts the peak of the whole process, so this file contains one test.

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{CheckedTest, Test};
use lanemark_sim::spec::DriveCondition;
use lanemark_sim::{CheckedSystem, SimError, memory_needed, run_test};

mod systems;
use systems::with_settings;

/// Memory of a simulation in addition to the record of the written data: histograms, batches, requests in flight.
const OTHER: u64 = 24 << 20;

/// Returns the value of a line about the memory of this process.
fn resident(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Returns an empty drive of 2 TB without a pseudo-SLC cache.
fn system() -> CheckedSystem {
    let system = with_settings("samsung-990-pro-2tb@workstation-x570:m2", &[]).unwrap();
    let mut spec = system.spec.into_spec();
    let flash = spec.first_mut().drive.flash_mut();
    flash.condition = DriveCondition::Purged;
    spec.checked().unwrap()
}

fn test(is_random: bool, block: Bytes, span: u64, volume: u64) -> CheckedTest {
    let built = if is_random { Test::random_write(block) } else { Test::sequential_write(block) };
    built.queue_depth(4).span(Bytes(span)).volume(Bytes(volume)).build().unwrap()
}

/// Runs a test, and returns its outcome and the peak of its memory.
fn run(system: &CheckedSystem, test: &CheckedTest) -> (Result<(), SimError>, u64) {
    // This resets the peak to the current value.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = resident("VmRSS:");
    let outcome = run_test(system, test, StreamKey::from_seed(1)).map(drop);
    (outcome, resident("VmHWM:").saturating_sub(before))
}

#[test]
fn simulations_keep_their_bound_and_the_estimate_is_near_the_peak() {
    const SMALL: Bytes = Bytes::kibi(4);
    let system = system();
    // In order, 100 GB take 6 MB, and an entry for each slot would take 600 MB.
    let in_order = test(false, Bytes::mebi(1), 100 << 30, 100 << 30);
    let needed = memory_needed(&system, &in_order).get();
    let (outcome, grown) = run(&system, &in_order);
    assert_eq!(outcome, Ok(()));
    assert!(needed < 8 << 20 && grown < needed + OTHER, "{grown} bytes, estimate {needed}");

    // A test that would exceed its bound ends before it begins.
    let bounded = |bytes: u64| system.clone().with_memory(Bytes(bytes));
    let random = test(true, SMALL, 64 << 30, 8 << 30);
    let needed = memory_needed(&system, &random);
    let limit = needed.get() - 1;
    let refused = Err(SimError::Memory { needed, limit: Bytes(limit) });
    let (outcome, grown) = run(&bounded(limit), &random);
    assert_eq!(outcome, refused);
    assert!(grown < 8 << 20, "{grown} bytes for nothing");

    // The estimate of a test without a volume is unknown, so the run ends when it reaches its bound.
    let timed =
        Test { volume: None, duration: Some("60 s".parse().unwrap()), ..Test::clone(&random) };
    let timed = timed.checked().unwrap();
    assert_eq!(memory_needed(&system, &timed), Bytes::ZERO);
    let (outcome, grown) = run(&bounded(40 << 20), &timed);
    let needed = |error: SimError| match error {
        SimError::Memory { needed, .. } => needed.get(),
        other => panic!("{other}"),
    };
    assert!(needed(outcome.unwrap_err()) > 40 << 20);
    assert!(grown < (40 << 20) + OTHER, "{grown} bytes with a bound of 40 MiB");

    // A test that fits takes about as much as estimated.
    let fitting = test(true, SMALL, 64 << 30, 6 << 30);
    let needed = memory_needed(&system, &fitting).get();
    let (outcome, grown) = run(&system, &fitting);
    assert_eq!(outcome, Ok(()));
    assert!(grown + OTHER > needed && grown < 2 * needed, "{grown} bytes, estimate {needed}");
}

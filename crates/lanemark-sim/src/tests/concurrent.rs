//! Compares parallel tests with the same tests in separate runs, and copies with the time of a block.

use crate::run::driver::{RunLength, run_beside_watched};
use crate::simulator::SimError;
use crate::spec::SystemSpec;
use crate::tests::runs::{checked, megabytes, nvme, run, sata, small_drive, test, unlimited};
use crate::tests::transactions::{plain, users};
use crate::tests::{assert_within, lasting, us};
use lanemark_schema::result::Sample;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{
    ArrivalProcess, Load, Pattern, RoundSettings, Test, TestStart, TrackedFigure,
};

/// Runs one repeat of parallel tests, with the keys that a workload assigns to them.
fn beside(system: &SystemSpec, tests: &[Test]) -> Result<Vec<Sample>, SimError> {
    let key = |test: usize| StreamKey { test: test as u32, ..StreamKey::from_seed(1) };
    let tests: Vec<_> = (tests.iter().enumerate())
        .map(|(number, test)| (test.clone().checked().unwrap(), key(number)))
        .collect();
    run_beside_watched(&checked(system), &tests, RunLength::Whole, &mut |_| true)
}

fn reads(block: Bytes, depth: u32) -> Test {
    test(block, Pattern::Uniform, true, depth)
}

/// Returns a copy of 8 MiB to the space after its source, with this many buffers.
fn copy(buffers: u32) -> Test {
    let size = Bytes::mebi(8);
    let own = test(Bytes::kibi(64), Pattern::Sequential, true, buffers);
    Test { span: size, volume: Some(size), ..own }.with(|asked| {
        asked.read_share = Ratio::HALF;
        asked.mix.copy_to = Some(size);
    })
}

/// A test behaves as in a separate run if the next test begins long after the first has ended.
#[test]
fn a_test_is_unaffected_before_its_neighbour_begins() {
    let system = nvme(small_drive());
    let alone = Test { volume: Some(Bytes::mebi(1)), ..reads(Bytes::kibi(4), 4) };
    let start = TestStart { beside: true, delay: Duration::from_seconds(2) };
    let later = Test { start, ..alone.clone() };
    let found = beside(&system, &[alone.clone(), later]).unwrap();
    let expected = run(&system, &alone);
    assert_eq!(found[0].reads, expected.reads);
    assert_eq!((found[0].elapsed, found[0].drive), (expected.elapsed, expected.drive));
    let hops = |sample: &Sample| sample.path.clone().unwrap().hops;
    assert_eq!(hops(&found[0]), hops(&expected));
    // The test that began later completed the same work in about the same duration.
    assert_eq!(found[1].reads.as_ref().unwrap().bytes, Bytes::mebi(1));
    assert!(found[1].elapsed < Duration::from_seconds(3), "{:?}", found[1].elapsed);
    assert_eq!(found[0].energy, None);
}

#[test]
fn two_equal_tests_share_the_ceiling_of_a_link() {
    let system = sata(unlimited());
    let one = lasting(us(100_000), reads(Bytes::kibi(128), 8));
    let alone = megabytes(&run(&system, &one));
    let found = beside(&system, &[one.clone(), one]).unwrap();
    for sample in &found {
        assert!((megabytes(sample) / alone - 0.5).abs() < 0.02, "{} {alone}", megabytes(sample));
        let link = &sample.path.as_ref().unwrap().hops;
        let link = link.iter().find(|hop| hop.name.contains("SATA")).unwrap();
        assert!(link.utilisation > 0.95, "{}", link.utilisation);
        assert_within(link.ceiling.unwrap().as_megabytes(), alone, 0.05);
    }
}

#[test]
fn each_open_loop_has_its_own_times() {
    let system = nvme(small_drive());
    let paced = |rate: f64| {
        lasting(us(500_000), reads(Bytes::kibi(4), 4)).with(|asked| {
            asked.load = Load::Open { rate_per_second: rate, process: ArrivalProcess::Even };
        })
    };
    let found = beside(&system, &[paced(2000.0), paced(500.0)]).unwrap();
    let counts = found.iter().map(|sample| sample.reads.as_ref().unwrap().latency.count());
    assert_eq!(counts.collect::<Vec<_>>(), [1000, 250]);
    let alone = run(&system, &paced(500.0)).latency_mean_ns();
    assert_within(found[1].latency_mean_ns(), alone, 0.2);
}

/// The threads of parallel tests run on different cores, on each target of the system.
#[test]
fn parallel_tests_do_not_share_a_core_while_others_are_idle() {
    let mut system = nvme(unlimited());
    let second = system.attachments[0].clone();
    system.attachments.push(second);
    (system.cpu.cores, system.cpu.request_submit) = (4, us(50));
    let one = Test { volume: Some(Bytes::mebi(1)), ..reads(Bytes::kibi(4), 1) };
    let alone = run(&system, &one).latency_mean_ns();
    for sample in beside(&system, &[one.clone(), one]).unwrap() {
        assert_within(sample.latency_mean_ns(), alone, 0.02);
    }
}

#[test]
fn each_ends_by_its_own_volume_or_duration() {
    let system = nvme(small_drive());
    let short = Test { volume: Some(Bytes::kibi(256)), ..reads(Bytes::kibi(4), 1) };
    let duration = us(300_000);
    let long = lasting(duration, reads(Bytes::kibi(4), 1));
    let found = beside(&system, &[long, short]).unwrap();
    assert_eq!(found[0].elapsed, duration);
    assert_eq!(found[1].reads.as_ref().unwrap().bytes, Bytes::kibi(256));
    assert!(found[1].elapsed < us(100_000), "{:?}", found[1].elapsed);
}

/// Blocks are copied one at a time: each takes the time of its read and of its write.
#[test]
fn a_copy_with_one_buffer_takes_the_reads_and_the_writes_one_after_the_other() {
    let sample = run(&nvme(small_drive()), &copy(1));
    let reads = sample.reads.unwrap();
    let writes = sample.writes.unwrap();
    assert_eq!((reads.bytes, writes.bytes), (Bytes::mebi(8), Bytes::mebi(8)));
    let sum = [&reads, &writes].map(|one| one.latency.mean_ns() * one.latency.count() as f64);
    let sum = sum[0] + sum[1];
    let elapsed = sample.elapsed.as_seconds() * 1e9;
    assert!((sum / elapsed - 1.0).abs() < 1e-3, "{sum} ns in {elapsed}");
}

#[test]
fn more_buffers_copy_faster_and_others_slow_a_copy_down() {
    let system = nvme(small_drive());
    let rates = [1, 8].map(|buffers| megabytes(&run(&system, &copy(buffers))));
    assert!(1.05 * rates[0] < rates[1], "{rates:?}");
    // The copy is slower while other requests read from the same drive.
    let readers = lasting(Duration::from_seconds(2), reads(Bytes::kibi(64), 16));
    let found = beside(&system, &[copy(8), readers]).unwrap();
    assert!(megabytes(&found[0]) < 0.8 * rates[1], "{} {rates:?}", megabytes(&found[0]));
}

#[test]
fn exclusive_tests_are_refused_in_parallel() {
    let system = nvme(small_drive());
    let length = us(1000);
    let rounds = Some(RoundSettings { length, tracked: TrackedFigure::default() });
    let rounds = Test { volume: None, rounds, ..reads(Bytes::kibi(4), 1) };
    for other in [rounds, users(2, plain())] {
        let outcome = beside(&system, &[reads(Bytes::kibi(4), 1), other]);
        assert!(matches!(outcome, Err(SimError::NotSimulated { .. })), "{outcome:?}");
    }
}

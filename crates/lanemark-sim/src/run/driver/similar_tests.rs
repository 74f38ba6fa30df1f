//! Shortened tests next to whole tests of the same drive.

use super::*;
use crate::run::driver::{RunLength, run_length_watched};
use crate::spec::{Condition, MapSpec, PseudoSlcSpec};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Ratio;
use lanemark_schema::workload::Tracked;

/// A purged drive of 4,320 MiB in 160 superblocks, with a fifth of its flash to spare.
fn drive() -> SystemSpec {
    let mut spec = SystemSpec::example();
    let drive = &mut spec.first_mut().drive;
    drive.capacity = Bytes::mebi(4_320);
    let flash = drive.flash_mut();
    flash.pages_per_block = 256;
    flash.blocks_per_plane = 160;
    flash.condition = Condition::Purged;
    spec
}

/// Writes for long enough to overwrite the drive several times.
fn writes(pattern: Pattern, seconds: u64) -> Test {
    let mut test = Test {
        span: Bytes::mebi(4_320),
        duration: Some(Duration::from_seconds(seconds)),
        interval: Some(Interval::Fixed { interval: Duration::from_seconds(24) }),
        ..Test::of_blocks(Bytes::kibi(4))
    };
    if let LoadKind::Requests(requests) = &mut test.asks {
        requests.read_share = Ratio::ZERO;
        requests.queue_depth = 32;
        requests.pattern = pattern;
    }
    test
}

fn run(spec: &CheckedSystem, test: &CheckedTest, length: RunLength) -> Sample {
    run_length_watched(spec, test, StreamKey::from_seed(7), length, &mut |_| true).unwrap()
}

/// Returns both samples of a test: of the whole test, and of the test shortened by `factor`.
fn both(spec: SystemSpec, test: Test, factor: u32) -> (Sample, Sample) {
    let (spec, test) = (spec.checked().unwrap(), test.checked().unwrap());
    let similar = SimilarTest::by(factor, &spec, &test).unwrap();
    let short = run(&similar.spec, &similar.test, RunLength::Whole);
    (run(&spec, &test, RunLength::Whole), similar.enlarged(short, &test))
}

#[test]
fn a_smaller_drive_goes_through_the_same_states_in_less_time() {
    let mut skewed = drive();
    skewed.first_mut().drive.flash_mut().translation.hot_stream = true;
    let mut cached = drive();
    cached.first_mut().drive.flash_mut().translation.pseudo_slc = Some(PseudoSlcSpec {
        capacity: Bytes::mebi(256),
        growth: Bytes::ZERO,
        read: Duration::from_microseconds(20),
        program: Duration::from_microseconds(150),
        fold_when_full: false,
        emptied_when_idle: true,
    });
    let mut mapped = drive();
    mapped.first_mut().drive.flash_mut().translation.map =
        Some(MapSpec { cached: Bytes::mebi(1), in_host: Bytes::ZERO });
    let hot = Pattern::HotCold {
        hot_span: Ratio::new(0.2).unwrap(),
        hot_share: Ratio::new(0.8).unwrap(),
    };
    for (name, spec, pattern) in [
        ("uniform", drive(), Pattern::Uniform),
        ("in order", drive(), Pattern::Sequential),
        ("hot and cold", skewed, hot),
        ("pseudo-SLC", cached, Pattern::Uniform),
        ("partial map", mapped, Pattern::Uniform),
    ] {
        let (whole, short) = both(spec, writes(pattern, 240), 4);
        let (long, brief) = (whole.series.clone().unwrap(), short.series.clone().unwrap());
        assert_eq!((long.points.len(), long.elapsed()), (brief.points.len(), brief.elapsed()));
        // Each interval has the same rate and write amplification, from the first fill to the steady state. The first
        // interval contains the buffer, which does not shrink in proportion.
        for index in 1..long.points.len() {
            let ratio = brief.iops(index) / long.iops(index);
            assert!((0.965..=1.035).contains(&ratio), "{name}, interval {index}: {ratio}");
            let amplification = |series: &lanemark_schema::result::series::Series| {
                series.points[index].write_amplification().unwrap()
            };
            let ratio = amplification(&brief) / amplification(&long);
            assert!(
                (0.965..=1.035).contains(&ratio),
                "{name}, interval {index}: {ratio} of {}",
                amplification(&long)
            );
        }
        let ratio = short.iops() / whole.iops();
        assert!((0.98..=1.02).contains(&ratio), "{name}: {ratio}");
        let similar = short.similar.unwrap();
        assert_eq!((similar.factor, similar.drive_factor), (4, 4));
        assert_eq!(similar.elapsed, short.elapsed * 4);
        assert_eq!(similar.requests, short.operations() * 4);
    }
}

#[test]
fn reads_shorten_the_time_and_not_the_drive() {
    let mut test = writes(Pattern::Uniform, 24);
    if let LoadKind::Requests(requests) = &mut test.asks {
        requests.read_share = Ratio::ONE;
    }
    let (spec, checked) = (drive().checked().unwrap(), test.clone().checked().unwrap());
    let similar = SimilarTest::by(100, &spec, &checked).unwrap();
    assert_eq!((similar.factor, similar.drive_factor), (100, 1));
    assert_eq!(*similar.spec, *spec);
    assert_eq!(
        (similar.test.span, similar.test.duration),
        (test.span, test.duration.map(|time| time / 100))
    );
}

#[test]
fn only_long_tests_with_states_that_scale_are_shortened() {
    let spec = drive();
    // A drive of 4 GiB at 200 MB/s is overwritten thousands of times in a day.
    let day = writes(Pattern::Uniform, 86_400);
    assert!(is_shortened(&spec, &day));
    let short = writes(Pattern::Uniform, 60);
    assert!(!is_shortened(&spec, &short));
    for pattern in [Pattern::Zipf { theta: 0.99 }, Pattern::Pareto { h: 0.2 }] {
        assert!(!is_shortened(&spec, &writes(pattern, 86_400)));
    }
    let faulty = SystemSpec {
        faults: vec!["latency at=1s extra=1ms for=1s".parse().unwrap()],
        ..spec.clone()
    };
    assert!(!is_shortened(&faulty, &day));
    let mut open = day.clone();
    if let LoadKind::Requests(requests) = &mut open.asks {
        requests.mix.trim_share = Ratio::new(0.1).unwrap();
    }
    assert!(!is_shortened(&spec, &open));
    let mut coarse = spec.clone();
    coarse.first_mut().drive.flash_mut().pages_per_block = PAGES_MIN;
    coarse.first_mut().drive.flash_mut().blocks_per_plane = 640;
    assert!(!is_shortened(&coarse, &day), "blocks cannot lose pages");
    // The factor divides the pages, leaves enough of them, and keeps the buffer a small part of the span.
    let factor = factor(&spec, &day).unwrap();
    assert_eq!(256 % factor, 0);
    assert!(256 / factor >= PAGES_MIN);
}

#[test]
fn rounds_become_steady_at_the_same_rate() {
    let rounds = Rounds { length: Duration::from_seconds(12), tracked: Tracked::Iops };
    let test = Test {
        duration: None,
        interval: None,
        rounds: Some(rounds),
        ..writes(Pattern::Uniform, 1)
    };
    let mut steady = drive();
    steady.first_mut().drive.flash_mut().condition = Condition::Random;
    let (whole, short) = both(steady, test, 4);
    let ratio = short.iops() / whole.iops();
    assert!((0.98..=1.02).contains(&ratio), "{ratio}");
    let (long, brief) = (whole.steady.unwrap(), short.steady.unwrap());
    assert_eq!(long.rule, brief.rule);
    assert_eq!(long.outcome, brief.outcome);
}

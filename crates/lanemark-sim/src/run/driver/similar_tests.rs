//! Compares shortened tests with whole tests of the same drive.

use super::*;
use crate::run::driver::{RunLength, run_length_watched, run_requests};
use crate::spec::{DriveCondition, MapSpec, PseudoSlcSpec};
use crate::tests::pseudo_slc;
use lanemark_schema::result::series::Series;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Ratio;
use lanemark_schema::workload::TrackedFigure;

/// Returns a purged drive of 4,320 MiB with 160 superblocks; a fifth of its flash is spare.
fn drive() -> SystemSpec {
    let mut spec = SystemSpec::example();
    let drive = &mut spec.first_mut().drive;
    drive.capacity = Bytes::mebi(4_320);
    let flash = drive.flash_mut();
    flash.pages_per_block = 256;
    flash.blocks_per_plane = 160;
    flash.condition = DriveCondition::Purged;
    spec
}

/// Returns a pseudo-SLC cache for `mebi` MiB.
fn cache(mebi: u64) -> PseudoSlcSpec {
    PseudoSlcSpec { emptied_when_idle: true, ..pseudo_slc(Bytes::mebi(mebi), Bytes::ZERO) }
}

/// Returns a test of random writes for `seconds`, which overwrites the drive several times.
fn writes(pattern: Pattern, seconds: u64) -> Test {
    Test {
        span: Bytes::mebi(4_320),
        duration: Some(Duration::from_seconds(seconds)),
        interval: Some(SeriesInterval::Fixed { interval: Duration::from_seconds(24) }),
        ..Test::of_blocks(Bytes::kibi(4))
    }
    .with(|requests| {
        requests.read_share = Ratio::ZERO;
        requests.queue_depth = 32;
        requests.pattern = pattern;
    })
}

fn run(spec: &CheckedSystem, test: &CheckedTest, length: RunLength) -> Sample {
    run_length_watched(spec, test, StreamKey::from_seed(7), length, &mut |_| true).unwrap()
}

/// Returns the shortening of tests on a drive of `scale`.
fn shorten_on(scale: DriveScale) -> TimeScaling {
    TimeScaling { factor: scale.factor(), drive: scale }
}

const A_QUARTER_OF_THE_PAGES: DriveScale = DriveScale { pages: 4, superblocks: 1 };
const A_QUARTER_OF_THE_SUPERBLOCKS: DriveScale = DriveScale { pages: 1, superblocks: 4 };

/// Returns two samples of a test: of the whole test, and of the shortened test on a drive of `scale`.
fn run_both(spec: SystemSpec, test: Test, scale: DriveScale) -> (Sample, Sample) {
    let spec = spec.checked().unwrap();
    let test = test.checked().unwrap();
    let similar = ScaledTest::by(shorten_on(scale), &spec, &test).unwrap();
    let short = run(&similar.spec, &similar.test, RunLength::Whole);
    (run(&spec, &test, RunLength::Whole), similar.enlarged(short, &test))
}

/// Returns the sample of a test on a drive with a quarter of the pages, simulated until `end`.
fn run_until(spec: &CheckedSystem, test: &CheckedTest, end: EarlyEnd) -> Sample {
    let similar = ScaledTest::by(shorten_on(A_QUARTER_OF_THE_PAGES), spec, test).unwrap();
    let LoadKind::Requests(requests) = &similar.test.asks else { panic!("no requests") };
    let key = StreamKey::from_seed(7);
    let ran = run_requests(&similar.spec, &similar.test, requests, key, end, &mut |_| true);
    similar.enlarged(ran.unwrap(), test)
}

/// Returns the sample of a test on a drive with a quarter of the pages, simulated until its state is steady.
fn settled(spec: &CheckedSystem, test: &CheckedTest) -> Sample {
    let similar = ScaledTest::by(shorten_on(A_QUARTER_OF_THE_PAGES), spec, test).unwrap();
    run_until(spec, test, similar.end(RequiredFigures::Rate))
}

/// Returns the ratios of the rates and of the write amplifications in an interval of two series.
fn ratios_at(index: usize, one: &Series, other: &Series) -> [f64; 2] {
    let amplification = |series: &Series| series.points[index].write_amplification().unwrap();
    [one.iops(index) / other.iops(index), amplification(one) / amplification(other)]
}

#[test]
fn a_smaller_drive_goes_through_the_same_states_in_less_time() {
    let cached = |mebi: u64| {
        let mut spec = drive();
        spec.first_mut().drive.flash_mut().translation.pseudo_slc = Some(cache(mebi));
        spec
    };
    let mut mapped = drive();
    mapped.first_mut().drive.flash_mut().translation.map =
        Some(MapSpec { cached: Bytes::mebi(1), in_host: Bytes::ZERO });
    let hot = Pattern::HotCold {
        hot_span: Ratio::new(0.2).unwrap(),
        hot_share: Ratio::new(0.8).unwrap(),
    };
    // The same drive has four times as many superblocks.
    let fine = |mut spec: SystemSpec| {
        let flash = spec.first_mut().drive.flash_mut();
        flash.pages_per_block /= 4;
        flash.blocks_per_plane *= 4;
        (spec, A_QUARTER_OF_THE_SUPERBLOCKS)
    };
    let coarse = |spec: SystemSpec| (spec, A_QUARTER_OF_THE_PAGES);
    for (name, (spec, scale), pattern) in [
        ("uniform", coarse(drive()), Pattern::Uniform),
        ("in order", coarse(drive()), Pattern::Sequential),
        ("hot and cold", coarse(drive()), hot),
        ("Zipf", coarse(drive()), Pattern::Zipf { theta: 0.99 }),
        ("Pareto", coarse(drive()), Pattern::Pareto { h: 0.2 }),
        ("pseudo-SLC", coarse(cached(256)), Pattern::Uniform),
        ("partial map", coarse(mapped), Pattern::Uniform),
        ("uniform, superblocks", fine(drive()), Pattern::Uniform),
        ("pseudo-SLC, superblocks", fine(cached(128)), Pattern::Uniform),
    ] {
        let (whole, short) = run_both(spec, writes(pattern, 240), scale);
        let long = whole.series.clone().unwrap();
        let brief = short.series.clone().unwrap();
        assert_eq!((long.points.len(), long.elapsed()), (brief.points.len(), brief.elapsed()));
        // Each interval has the same rate and write amplification, from the first fill to the steady state. The first
        // interval includes the filling of the buffer, which does not shrink in proportion.
        let usual = 0.965..=1.035;
        for index in 1..long.points.len() {
            let ratios = ratios_at(index, &brief, &long);
            assert!(ratios.iter().all(|one| usual.contains(one)), "{name}, {index}: {ratios:?}");
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
fn a_drive_whose_cache_shrinks_keeps_its_superblocks() {
    let mut spec = drive();
    let flash = spec.first_mut().drive.flash_mut();
    flash.pages_per_block /= 4;
    flash.blocks_per_plane *= 4;
    for (mebi, is_scaled) in [(128, true), (256, false)] {
        let flash = spec.first_mut().drive.flash_mut();
        flash.translation.pseudo_slc = Some(cache(mebi));
        let drive = &spec.first().drive;
        let half = DriveScale { pages: 1, superblocks: 2 };
        assert_eq!(has_enough_superblocks(drive, drive.flash(), half), is_scaled, "{mebi}");
    }
}

#[test]
fn reads_shorten_the_time_and_not_the_drive() {
    let test = writes(Pattern::Uniform, 24).with(|asked| asked.read_share = Ratio::ONE);
    let spec = drive().checked().unwrap();
    let checked = test.clone().checked().unwrap();
    let hundredth = TimeScaling { factor: 100, drive: DriveScale::WHOLE };
    let similar = ScaledTest::by(hundredth, &spec, &checked).unwrap();
    assert_eq!(*similar.spec, *spec);
    assert_eq!(similar.end(RequiredFigures::Rate), EarlyEnd::Settled(0));
    assert_eq!(similar.test.span, test.span);
    assert_eq!(similar.test.duration, test.duration.map(|time| time / 100));
}

#[test]
fn only_long_tests_with_states_that_scale_are_shortened() {
    let spec = drive();
    // A 4 GiB drive at 200 MB/s is overwritten thousands of times in a day.
    let day = writes(Pattern::Uniform, 86_400);
    assert!(is_shortened(&spec, &day));
    let short = writes(Pattern::Uniform, 60);
    assert!(!is_shortened(&spec, &short));
    for pattern in [Pattern::Zipf { theta: 0.99 }, Pattern::Pareto { h: 0.2 }] {
        let skewed = writes(pattern, 86_400);
        assert!(is_shortened(&spec, &skewed));
        let mut mixed = skewed.clone();
        mixed.requests_mut().unwrap().read_share = Ratio::HALF;
        assert!(!is_shortened(&spec, &mixed), "reads of data in the buffer");
        mixed.requests_mut().unwrap().read_share = Ratio::ONE;
        assert!(is_shortened(&spec, &mixed));
        let mut mapped = spec.clone();
        let map = MapSpec { cached: Bytes::mebi(64), in_host: Bytes::ZERO };
        mapped.first_mut().drive.flash_mut().translation.map = Some(map);
        assert!(!is_shortened(&mapped, &skewed), "hot pages of the map");
    }
    let faulty = SystemSpec {
        faults: vec!["latency at=1s extra=1ms for=1s".parse().unwrap()],
        ..spec.clone()
    };
    assert!(!is_shortened(&faulty, &day));
    let trims = day.clone().with(|asked| asked.mix.trim_share = Ratio::new(0.1).unwrap());
    assert!(!is_shortened(&spec, &trims));
    let mut coarse = spec.clone();
    coarse.first_mut().drive.flash_mut().pages_per_block = PAGES_MIN;
    coarse.first_mut().drive.flash_mut().blocks_per_plane = 640;
    assert!(!is_shortened(&coarse, &day), "blocks cannot lose pages");
    // The factor divides the pages, leaves enough of them, and keeps the buffer a small part of the span.
    let TimeScaling { factor, drive } = time_scaling(&spec, &day).unwrap();
    assert_eq!((factor, drive), (4, A_QUARTER_OF_THE_PAGES), "superblocks cannot become fewer");
    // If blocks have few pages, the number of blocks is reduced instead. The share of spare flash remains the same.
    let mut fine = spec.clone();
    let flash = fine.first_mut().drive.flash_mut();
    (flash.pages_per_block, flash.blocks_per_plane) = (PAGES_MIN, 1280);
    fine.first_mut().drive.capacity = Bytes::mebi(8_640);
    let TimeScaling { factor, drive } = time_scaling(&fine, &day).unwrap();
    assert_eq!((factor, drive), (7, DriveScale { pages: 1, superblocks: 7 }));
    let spare = |spec: &SystemSpec| {
        let drive = &spec.first().drive;
        let used = 2 * drive.flash().blocks_per_plane - FIXED_HALVES;
        (drive.flash().superblock() * u64::from(used)).get() as f64 / drive.capacity.get() as f64
    };
    let mut smaller = fine.clone();
    shrink(&mut smaller.first_mut().drive, drive);
    assert!((spare(&smaller) / spare(&fine) - 1.0).abs() < 1e-4);
    assert!(smaller.first().drive.flash().blocks_per_plane >= SUPERBLOCKS_MIN);
}

#[test]
fn a_test_ends_when_its_state_is_steady() {
    for pattern in [Pattern::Uniform, Pattern::Sequential] {
        let spec = drive().checked().unwrap();
        let test = writes(pattern, 2_400).checked().unwrap();
        let whole = run_until(&spec, &test, EarlyEnd::Whole);
        let settled = settled(&spec, &test);
        let converged = settled.converged.unwrap();
        assert!(converged.simulated * 4 < converged.requests * 3 / 4, "{converged:?}");
        assert_eq!(converged.elapsed, settled.similar.unwrap().elapsed);
        assert_eq!(whole.similar.unwrap().elapsed, settled.similar.unwrap().elapsed);
        let ratio = settled.iops() / whole.iops();
        assert!((0.99..=1.01).contains(&ratio), "{ratio}");
        for percent in [50.0, 99.0, 99.9] {
            let at =
                |sample: &Sample| sample.latency().recorded_percentile_ns(percent).unwrap() as f64;
            let ratio = at(&settled) / at(&whole);
            assert!((0.95..=1.05).contains(&ratio), "p{percent}: {ratio}");
        }
        let long = whole.series.unwrap();
        let brief = settled.series.unwrap();
        assert_eq!((long.points.len(), long.elapsed()), (brief.points.len(), brief.elapsed()));
        for index in 0..long.points.len() {
            let ratios = ratios_at(index, &brief, &long);
            assert!(ratios.iter().all(|one| (0.97..=1.03).contains(one)), "{index}: {ratios:?}");
        }
    }
}

#[test]
fn the_whole_span_must_be_written_again() {
    let zones = |parts: [[f64; 2]; 3]| {
        let zone = |[span, share]: [f64; 2]| lanemark_schema::workload::PatternZone {
            span: Ratio::new(span).unwrap(),
            share: Ratio::new(share).unwrap(),
        };
        Pattern::Zones { zones: parts.map(zone).to_vec() }
    };
    let hot = |span: f64, share: f64| Pattern::HotCold {
        hot_span: Ratio::new(span).unwrap(),
        hot_share: Ratio::new(share).unwrap(),
    };
    for (pattern, wanted) in [
        (Pattern::Uniform, Some(1.0)),
        (hot(0.2, 0.8), Some(4.0)),
        (hot(0.2, 1.0), Some(0.2)),
        (zones([[0.5, 0.25], [0.25, 0.5], [0.25, 0.25]]), Some(2.0)),
        (zones([[0.1, 0.2], [0.1, 0.2], [0.2, 0.0]]), Some(0.5)),
        // The density of x^(1/p) at 1 is 1/p.
        (Pattern::Pareto { h: 0.2 }, Some(7.212_567)),
        (Pattern::Pareto { h: 0.6 }, None),
        (Pattern::Zipf { theta: 0.9 }, None),
    ] {
        let seen = slowest(&pattern);
        let is_near = seen.zip(wanted).map(|(one, two): (f64, f64)| (one - two).abs() < 1e-6);
        assert!(is_near.unwrap_or(seen == wanted), "{pattern:?}: {seen:?}");
    }
    // The test covers 4,320 MiB in 4 KiB blocks.
    let test = writes(Pattern::Uniform, 60);
    assert_eq!(turnover(&drive(), &test), Some(4_320 * 256));
    let mixed = test.clone().with(|asked| asked.read_share = Ratio::HALF);
    assert_eq!(turnover(&drive(), &mixed), None, "reads find more and more data");
    let mut used = drive();
    used.first_mut().drive.flash_mut().condition = DriveCondition::Sequential;
    assert_eq!(turnover(&used, &mixed), Some(4_320 * 256));
}

fn steady() -> SystemSpec {
    let mut spec = drive();
    spec.first_mut().drive.flash_mut().condition = DriveCondition::Random;
    spec
}

/// Returns a test of random writes in rounds of this many seconds.
fn in_rounds(seconds: u64) -> Test {
    let length = Duration::from_seconds(seconds);
    let rounds = Some(RoundSettings { length, tracked: TrackedFigure::Iops });
    Test { duration: None, interval: None, rounds, ..writes(Pattern::Uniform, 1) }
}

#[test]
fn rounds_become_steady_at_the_same_rate() {
    let (whole, short) = run_both(steady(), in_rounds(12), A_QUARTER_OF_THE_PAGES);
    let ratio = short.iops() / whole.iops();
    assert!((0.98..=1.02).contains(&ratio), "{ratio}");
    let long = whole.steady.unwrap();
    let brief = short.steady.unwrap();
    assert_eq!(long.rule, brief.rule);
    assert_eq!(long.outcome, brief.outcome);
}

#[test]
fn rounds_end_when_their_state_is_steady() {
    let spec = steady().checked().unwrap();
    let test = in_rounds(120).checked().unwrap();
    let whole = run_until(&spec, &test, EarlyEnd::Whole);
    let settled = settled(&spec, &test);
    let ratio = settled.iops() / whole.iops();
    assert!((0.985..=1.015).contains(&ratio), "{ratio}");
    let one = settled.steady.unwrap();
    let other = whole.steady.unwrap();
    assert_eq!((one.outcome, one.rule), (other.outcome, other.rule));
    assert_eq!(one.rounds.len(), 5);
    for (one, other) in one.rounds.iter().zip(&other.rounds) {
        assert!((one.iops / other.iops - 1.0).abs() < 0.03, "{one:?} {other:?}");
        let amplification = |round: &lanemark_schema::result::steady::Round| {
            round.drive.unwrap().write_amplification().unwrap()
        };
        let ratio = amplification(one) / amplification(other);
        assert!((ratio - 1.0).abs() < 0.03, "{one:?} {other:?}");
    }
    let long = whole.series.unwrap();
    let brief = settled.series.unwrap();
    assert_eq!((long.points.len(), long.elapsed()), (brief.points.len(), brief.elapsed()));
    let converged = settled.converged.unwrap();
    assert_eq!(converged.elapsed, one.rule.length * 5);
    assert!(converged.simulated * 4 * 10 < converged.requests * 8, "{converged:?}");
}

/// Map pages in the host's memory count like map pages in the drive.
#[test]
fn a_drive_with_too_small_a_map_cache_keeps_its_superblocks() {
    let least = MAP_PAGES_MIN * u64::from(A_QUARTER_OF_THE_SUPERBLOCKS.factor());
    let pages = |count: u64| SLOT * count;
    for (cached, in_host, becomes_smaller) in [
        (least, 0, true),
        (least - 1, 0, false),
        (least - 1, 1, true),
        (least / 2, least / 2, true),
        (1, least - 1, true),
        (1, least - 2, false),
    ] {
        let mut spec = drive();
        let flash = spec.first_mut().drive.flash_mut();
        flash.pages_per_block /= 16;
        flash.blocks_per_plane *= 16;
        flash.translation.map = Some(MapSpec { cached: pages(cached), in_host: pages(in_host) });
        let drive = &spec.first().drive;
        let found = has_enough_superblocks(drive, drive.flash(), A_QUARTER_OF_THE_SUPERBLOCKS);
        assert_eq!(found, becomes_smaller, "{cached} and {in_host} of {least}");
    }
}

#[test]
fn a_sample_without_a_steady_part_describes_as_many_times_its_length() {
    let spec = drive().checked().unwrap();
    let test = writes(Pattern::Uniform, 240).checked().unwrap();
    let similar = ScaledTest::by(shorten_on(A_QUARTER_OF_THE_PAGES), &spec, &test).unwrap();
    let short = Sample { elapsed: Duration::from_seconds(3), ..Sample::empty() };
    let run = similar.enlarged(short, &test).similar.unwrap();
    assert_eq!((run.elapsed, run.factor), (Duration::from_seconds(12), 4));
}

#[test]
fn a_fill_has_the_phases_of_the_whole_drive() {
    let mut spec = drive();
    spec.first_mut().drive.flash_mut().translation.pseudo_slc = Some(cache(200));
    let test = Test {
        block: Bytes::kibi(128),
        duration: None,
        volume: Some(Bytes::mebi(4_320)),
        interval: None,
        ..writes(Pattern::Sequential, 1)
    };
    let spec = spec.checked().unwrap();
    let test = test.checked().unwrap();
    let LoadKind::Requests(requests) = &test.asks else { panic!("no requests") };
    let end = EarlyEnd::Converged(RequiredFigures::Rate);
    let key = StreamKey::from_seed(7);
    let whole = run_requests(&spec, &test, requests, key, end, &mut |_| true).unwrap();
    let short = run_until(&spec, &test, end);
    assert_eq!(whole.phases.len(), 2);
    for (short, whole) in short.phases.iter().zip(&whole.phases) {
        assert_eq!(short.ended_by, whole.ended_by);
        let time = short.until.as_seconds() / whole.until.as_seconds();
        assert!((time - 1.0).abs() < 0.03, "{short:?}, {whole:?}");
        assert!((short.iops / whole.iops - 1.0).abs() < 0.03, "{short:?}, {whole:?}");
    }
    assert_eq!(short.phases.len(), whole.phases.len());
    assert!((short.elapsed.as_seconds() / whole.elapsed.as_seconds() - 1.0).abs() < 0.03);
}

//! Tests of the figures of trials, their spread, and the short tests that are simulated.

use lanemark_schema::result::{
    CpuUse, DirectionResult, Machine, MeasuredTarget, Provenance, Warning,
};
use lanemark_schema::workload::{
    ArrivalProcess, Load, RoundSettings, TestBuilder, TrackedFigure, Workload,
};

use super::*;
use lanemark_schema::units::Ratio;

fn test(builder: TestBuilder) -> Test {
    builder.duration("1 s").build().unwrap().into_test()
}

fn build_named(name: &str, builder: TestBuilder) -> Test {
    test(builder.named(name))
}

/// Returns the result of one direction with `count` requests of 4 KiB, which all have the same latency.
fn direction(count: u64, latency_ns: u64) -> DirectionResult {
    let mut direction = DirectionResult::new();
    for _ in 0..count {
        direction.record(Bytes::kibi(4), Duration::from_nanoseconds(latency_ns));
    }
    direction
}

/// Returns a sample of one second that contains reads.
fn reads(count: u64, latency_ns: u64) -> Sample {
    let reads = Some(direction(count, latency_ns));
    Sample { elapsed: Duration::from_seconds(1), reads, complete: true, ..Sample::empty() }
}

fn writes(count: u64, latency_ns: u64) -> Sample {
    let sample = reads(count, latency_ns);
    Sample { writes: sample.reads, reads: None, ..sample }
}

fn assert_near(value: f64, wanted: f64, what: &str) {
    assert!((value / wanted - 1.0).abs() < 1e-9, "{what}: {value}, expected {wanted}");
}

#[test]
fn a_figure_is_the_geometric_mean_with_the_spread_of_its_repeats_and_of_all_tests() {
    let test = test(Test::random_read("4 KiB"));
    // The geometric mean of 1,000 and 1,210 requests a second is 1,100.
    let samples = [reads(1_000, 10_000), reads(1_210, 14_400)];
    let samples: Vec<&Sample> = samples.iter().collect();
    let pooled = 0.02;
    let trial = trial(&test, &samples, pooled);
    let kinds: Vec<FigureKind> = trial.figures.iter().map(|figure| figure.kind).collect();
    let all = [FigureKind::Throughput, FigureKind::ReadMean, FigureKind::ReadMedian];
    assert_eq!(kinds[..3], all);
    assert_near(trial.throughput(), 1_100.0 * 4096.0, "throughput");
    assert_near(trial.iops(), 1_100.0, "requests");
    assert_near(trial.figure(FigureKind::ReadMean).unwrap(), 12_000.0, "latency");
    assert_eq!(trial.figure(FigureKind::WriteMean), None);
    // Both logarithms are `ln 1.1` from their mean, with one degree of freedom. The spread of two repeats is averaged
    // with the spread of all tests, and the rate and the mean latency each have half the weight.
    let own = 2.0 * 1.1_f64.ln().powi(2);
    let rate = (2.0 * (f64::midpoint(own, pooled) / 2.0 + 0.015_f64.powi(2))).sqrt();
    assert_near(trial.figures[0].sd, rate, "deviation of the rate");
    let latency = 2.0 * 1.2_f64.ln().powi(2);
    let mean = (2.0 * (f64::midpoint(latency, pooled) / 2.0 + 0.015_f64.powi(2))).sqrt();
    assert_near(trial.figures[1].sd, mean, "deviation of the mean");
    let median = variance(&samples, FigureKind::ReadMedian).unwrap();
    let median = (f64::midpoint(median, pooled) / 2.0 + 0.06_f64.powi(2)).sqrt();
    assert_near(trial.figures[2].sd, median, "deviation of the median");
}

#[test]
fn one_repeat_has_the_spread_of_all_tests() {
    let sample = writes(100, 50_000);
    let trial = trial(&test(Test::random_write("4 KiB")), &[&sample], 0.03);
    let kinds: Vec<FigureKind> = trial.figures.iter().map(|figure| figure.kind).collect();
    let all = [FigureKind::Throughput, FigureKind::WriteMean, FigureKind::WriteMedian];
    assert_eq!(kinds, all);
    assert_near(trial.figures[0].sd, (2.0 * (0.03 + 0.015_f64.powi(2))).sqrt(), "rate");
    assert_near(trial.figures[2].sd, (0.03 + 0.06_f64.powi(2)).sqrt(), "median");
}

#[test]
fn a_99th_percentile_needs_two_thousand_requests_of_its_direction() {
    let test = test(Test::random_read("4 KiB"));
    let tails = |samples: &[Sample]| -> Vec<FigureKind> {
        let samples: Vec<&Sample> = samples.iter().collect();
        let figures = trial(&test, &samples, 0.0).figures;
        let kinds = figures.into_iter().map(|figure| figure.kind);
        let is_tail =
            |kind: &FigureKind| matches!(kind, FigureKind::ReadTail | FigureKind::WriteTail);
        kinds.filter(is_tail).collect()
    };
    assert!(tails(&[reads(1_000, 9_000), reads(999, 9_000)]).is_empty());
    assert_eq!(tails(&[reads(1_000, 9_000), reads(1_000, 9_000)]), [FigureKind::ReadTail]);
    assert_eq!(tails(&[writes(2_000, 9_000)]), [FigureKind::WriteTail]);
    let both = Sample { writes: Some(direction(1_999, 9_000)), ..reads(2_000, 9_000) };
    assert_eq!(tails(&[both]), [FigureKind::ReadTail]);
}

#[test]
fn the_spread_of_all_tests_is_the_mean_of_those_with_repeats() {
    let test = test(Test::random_read("4 KiB"));
    let [slow, fast, faster] = [1_000, 1_100, 1_210].map(|count| reads(count, 9_000));
    let step = 1.1_f64.ln().powi(2);
    let of = |samples: &[&'_ Sample]| -> f64 { variance(samples, FigureKind::Throughput).unwrap() };
    assert_near(of(&[&slow, &fast]), step / 2.0, "one step");
    assert_near(of(&[&slow, &faster]), 2.0 * step, "two steps");
    assert_near(of(&[&slow, &fast, &faster]), step, "three repeats");
    let groups = vec![
        (test.clone(), vec![&slow, &fast]),
        (test.clone(), vec![&slow, &faster]),
        (test, vec![&slow]),
    ];
    assert_near(pooled_variance(&groups), 1.25 * step, "mean of two tests");
    assert_eq!(pooled_variance(&groups[2..]), 0.0);
    assert_eq!(variance(&[&slow], FigureKind::Throughput), None);
}

#[test]
fn processor_time_matches_the_cheapest_test_of_small_requests() {
    let sample = |user: f64, system: f64| {
        let cpu = CpuUse { user_ns_per_request: user, system_ns_per_request: system };
        Sample { cpu: Some(cpu), ..reads(1, 9_000) }
    };
    let of = |block: &str, depth: u32| test(Test::random_read(block).queue_depth(depth));
    let samples = [
        sample(1_000.0, 3_000.0),
        sample(2_000.0, 4_000.0),
        sample(0.0, 0.0),
        sample(f64::NAN, 1.0),
        sample(500.0, 500.0),
        sample(700.0, 800.0),
        reads(1, 9_000),
    ];
    let pick = |numbers: &[usize]| numbers.iter().map(|&number| &samples[number]).collect();
    let groups: Vec<(Test, Vec<&Sample>)> = vec![
        (of("4 KiB", 1), pick(&[0, 1, 2, 3, 6])),
        (of("8 KiB", 1), pick(&[4])),
        (of("4 KiB", 8), pick(&[1])),
        (of("512 B", 8), pick(&[5])),
        (of("4 KiB", 7), pick(&[4])),
        (of("4 KiB", 16), pick(&[2, 6])),
    ];
    assert_eq!(processor(&groups, |outstanding| outstanding == 1), Some(5_000.0));
    assert_eq!(processor(&groups, |outstanding| outstanding >= 8), Some(1_500.0));
    assert_eq!(processor(&groups, |outstanding| outstanding > 8), None);
}

#[test]
fn figures_need_a_time_and_requests() {
    let sample = reads(500, 20_000);
    assert_eq!(figure(&sample, FigureKind::Throughput), Some(500.0 * 4096.0));
    assert_eq!(figure(&sample, FigureKind::ReadMean), Some(20_000.0));
    let median = figure(&sample, FigureKind::ReadMedian).unwrap();
    assert!((median / 20_000.0 - 1.0).abs() < 0.05, "{median}");
    assert_eq!(figure(&sample, FigureKind::WriteTail), None);
    let timeless = Sample { elapsed: Duration::ZERO, ..sample.clone() };
    assert_eq!(figure(&timeless, FigureKind::Throughput), None);
    let none = Sample { reads: Some(DirectionResult::new()), ..sample };
    for kind in [FigureKind::Throughput, FigureKind::ReadMean, FigureKind::ReadTail] {
        assert_eq!(figure(&none, kind), None, "{kind:?}");
    }
    // Two of a hundred requests took a hundred times as long as the others.
    let mut slow = direction(98, 1_000);
    for _ in 0..2 {
        slow.record(Bytes::kibi(4), Duration::from_nanoseconds(100_000));
    }
    let slow = Sample { writes: Some(slow), ..Sample::empty() };
    assert_near(figure(&slow, FigureKind::WriteMean).unwrap(), 2_980.0, "mean");
    assert!(figure(&slow, FigureKind::WriteMedian).unwrap() < 1_100.0);
    assert!(figure(&slow, FigureKind::WriteTail).unwrap() > 90_000.0);
}

#[test]
fn tests_that_a_short_simulation_cannot_repeat_are_skipped() {
    let plain = || test(Test::random_read("4 KiB"));
    assert_eq!(left_out(&plain()), None);
    let mut beside = plain();
    beside.start.beside = true;
    let length = Duration::from_seconds(1);
    let rounds = Test {
        rounds: Some(RoundSettings { length, tracked: TrackedFigure::default() }),
        ..plain()
    };
    let open = plain().with(|requests| {
        requests.load = Load::Open { rate_per_second: 100.0, process: ArrivalProcess::Even };
    });
    let flushed = plain().with(|requests| requests.mix.flush_every = Some(1));
    for (test, reason) in [
        (beside, "it ran in parallel with another test"),
        (rounds, "a short simulation does not reach a steady state"),
        (open, "its requests were submitted at given times"),
        (flushed, "it contains several sizes, flushes or trims"),
    ] {
        assert_eq!(left_out(&test), Some(reason));
    }
}

/// Returns a trial with a throughput in bytes a second, and a mean latency of reads in ns.
fn trial_of(test: Test, throughput: f64, read_ns: Option<f64>) -> Trial {
    let figure = |kind, value| MeasuredFigure { kind, value, sd: 0.1 };
    let mut figures = vec![figure(FigureKind::Throughput, throughput)];
    figures.extend(read_ns.map(|value| figure(FigureKind::ReadMean, value)));
    Trial { short: test.clone(), test, figures }
}

fn measurements(trials: Vec<Trial>) -> Measurements {
    Measurements {
        drive: "sda".to_owned(),
        trials,
        warnings: Vec::new(),
        host: MeasuredHost::default(),
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_seconds()
}

#[test]
fn a_fit_begins_with_the_fastest_and_the_smallest_single_requests_of_each_kind() {
    let read = |block: &str, depth: u32| test(Test::random_read(block).queue_depth(depth));
    let write = |block: &str| test(Test::random_write(block).queue_depth(1));
    let in_order = |block: &str| test(Test::sequential_read(block).queue_depth(8));
    let mixed = read("4 KiB", 64).with(|requests| requests.read_share = Ratio::new(0.5).unwrap());
    let all = [
        // The anchors of each kind are marked: the most requests, the most data, and the smallest single requests.
        (read("4 KiB", 32), 100e3, true),
        (read("4 KiB", 4), 40e3, false),
        (read("128 KiB", 8), 5e3, true),
        (read("8 KiB", 1), 9e3, false),
        (read("4 KiB", 1), 10e3, true),
        (write("8 KiB"), 20e3, true),
        (write("4 KiB"), 30e3, true),
        (write("16 KiB"), 8e3, false),
        (in_order("64 KiB"), 20e3, true),
        (in_order("128 KiB"), 15e3, true),
        (in_order("32 KiB"), 19e3, false),
        // Tests with both directions do not belong to a kind.
        (mixed, 200e3, false),
    ];
    let anchors: Vec<usize> =
        (0..).zip(&all).filter(|(_, (.., is_anchor))| *is_anchor).map(|(index, _)| index).collect();
    let trials = all.map(|(test, iops, _)| {
        let throughput = iops * test.block_mean();
        trial_of(test, throughput, None)
    });
    assert_eq!(Vec::from_iter(measurements(trials.into()).anchors()), anchors);
}

#[test]
fn a_short_test_has_fewer_requests_the_larger_they_are() {
    let blocks = [
        ("4 KiB", 1),
        ("8 KiB", 1),
        ("12 KiB", 4),
        ("64 KiB", 4),
        ("128 KiB", 6),
        ("256 KiB", 6),
        ("512 KiB", 16),
    ];
    let test_of = |block: &str| {
        let mut test = test(Test::random_read(block).queue_depth(4).offset("1 MiB"));
        (test.volume, test.interval) = (Some(Bytes::mebi(64)), None);
        test
    };
    let trials = |copies: usize| {
        let all = std::iter::repeat_n(blocks, copies).flatten();
        // The rate is a thousand requests a second.
        let trial = |(block, _): (&str, i32)| {
            let test = test_of(block);
            let throughput = 1_000.0 * test.block_mean();
            trial_of(test, throughput, None)
        };
        measurements(all.map(trial).collect())
    };
    let capacity = Bytes::mebi(100) + Bytes(1_000);
    let short = |copies: usize, requests: u64, is_disk: bool| {
        let mut all = trials(copies);
        all.shorten(Bytes::mebi(8), is_disk, capacity, requests);
        all.trials
    };
    // Seven tests are simulated in full, 70 tests with four sevenths of the requests, and 700 tests with one eighth.
    for (copies, requests) in [(1, 5_600), (10, 3_200), (100, 700)] {
        for (trial, (block, part)) in short(copies, 5_600, false).iter().zip(blocks) {
            let count = f64::from(requests / part);
            let counted = seconds(trial.short.duration.unwrap()) * 1_000.0;
            assert!((counted - count).abs() < 1e-6, "{block} in {copies}: {counted}, {count}");
            // The ramp is three times as long as all outstanding requests take.
            assert!((seconds(trial.short.ramp) - 0.012).abs() < 1e-9, "{block}");
            let block = trial.short.block.get();
            assert_eq!(trial.short.span.get(), capacity.get() / block * block);
            assert_eq!((trial.short.offset, trial.short.volume), (Bytes::ZERO, None));
            assert_eq!(trial.test.offset, Bytes::mebi(1));
        }
    }
    // Tests of a disk have the full number of requests, and every test has some requests.
    for trial in short(1, 5_600, true) {
        assert!((seconds(trial.short.duration.unwrap()) - 5.6).abs() < 1e-9);
    }
    for trial in short(1, 10, false) {
        assert!((seconds(trial.short.duration.unwrap()) - 0.03).abs() < 1e-9);
    }
    let deep = trial_of(test(Test::random_read("4 KiB").queue_depth(16).threads(2)), 4_096e3, None);
    let mut deep = measurements(vec![deep]);
    deep.shorten(Bytes::mebi(8), false, capacity, 10);
    assert!((seconds(deep.trials[0].short.duration.unwrap()) - 0.128).abs() < 1e-9);
    assert!((seconds(deep.trials[0].short.ramp) - 0.096).abs() < 1e-9);
}

#[test]
fn writes_as_fast_as_the_flash_first_fill_the_buffer() {
    let buffer = Bytes(8_000_000);
    let test_of = |builder: TestBuilder| test(builder.span("64 MiB"));
    let ramps = |is_disk: bool| -> Vec<f64> {
        let mut all = measurements(vec![
            trial_of(test_of(Test::sequential_write("1 MiB")), 1e9, None),
            trial_of(test_of(Test::random_write("4 KiB")), 0.71e9, None),
            trial_of(test_of(Test::random_write("4 KiB")), 0.69e9, None),
            trial_of(test_of(Test::random_read("4 KiB")), 0.9e9, None),
            // Writes that are mixed with reads do not show the rate of the flash.
            trial_of(test_of(Test::sequential_write("1 MiB").read_share("50%")), 2e9, None),
        ]);
        all.shorten(buffer, is_disk, Bytes::mebi(512), 1_000);
        let own = |trial: &Trial| seconds(trial.short.ramp) - 3.0 / trial.iops();
        all.trials.iter().map(own).collect()
    };
    let wanted = [64e6 / 1e9, 64e6 / 0.71e9, 0.0, 0.0, 64e6 / 2e9];
    for (ramp, wanted) in ramps(false).into_iter().zip(wanted) {
        assert!((ramp - wanted).abs() < 1e-9, "{ramp}, expected {wanted}");
    }
    let wanted = [12e6 / 1e9, 12e6 / 0.71e9, 12e6 / 0.69e9, 0.0, 12e6 / 2e9];
    for (ramp, wanted) in ramps(true).into_iter().zip(wanted) {
        assert!((ramp - wanted).abs() < 1e-9, "{ramp}, expected {wanted}");
    }
}

#[test]
fn tests_of_a_region_without_flash_are_removed() {
    let at = |name: &str, offset: &str, builder: TestBuilder| {
        build_named(name, builder.offset(offset).span("1 GiB"))
    };
    let all = || {
        measurements(vec![
            trial_of(at("first", "0 B", Test::random_read("4 KiB")), 1e6, Some(60e3)),
            trial_of(at("cached", "2 GiB", Test::random_read("16 KiB")), 1e6, Some(5e3)),
            trial_of(at("same", "2 GiB", Test::sequential_read("1 MiB")), 1e6, Some(90e3)),
            trial_of(at("written", "2 GiB", Test::random_write("4 KiB")), 1e6, None),
            // Reads with more depth or a larger size do not show the time of one read.
            trial_of(at("deep", "0 B", Test::random_read("4 KiB").queue_depth(2)), 1e6, Some(1e3)),
            trial_of(at("large", "0 B", Test::random_read("32 KiB")), 1e6, Some(1e3)),
        ])
    };
    let mut some = all();
    some.without_flash(Duration::from_microseconds(28)).unwrap();
    let names: Vec<&str> = some.trials.iter().map(|trial| trial.test.name.as_str()).collect();
    assert_eq!(names, ["first", "written", "deep", "large"]);
    match some.warnings.as_slice() {
        [FitWarning::WithoutFlash { test, read_ns, least_ns, left_out }] => {
            assert_eq!((test.as_str(), *read_ns, *left_out), ("cached", 5e3, 2));
            assert_near(*least_ns, 28e3, "least");
        }
        others => panic!("{others:?}"),
    }
    let (name, time) = some.read_alone().unwrap();
    assert_eq!((name, time), ("first", Duration::from_microseconds(60)));
    // A read that takes exactly this time may come from flash.
    let mut exact = all();
    exact.without_flash(Duration::from_microseconds(5)).unwrap();
    assert_eq!((exact.trials.len(), exact.warnings.len()), (6, 0));
    // If all small random requests are too fast, no test of this kind remains.
    let mut none = measurements(vec![
        trial_of(at("a", "0 B", Test::random_read("4 KiB")), 1e6, Some(5e3)),
        trial_of(at("b", "0 B", Test::sequential_write("1 MiB")), 1e6, None),
    ]);
    match none.without_flash(Duration::from_microseconds(28)) {
        Err(PredictError::WithoutFlash { test, read_us, least_us }) => {
            assert_eq!((test.as_str(), read_us), ("a", 5.0));
            assert_near(least_us, 28.0, "least");
        }
        other => panic!("{other:?}"),
    }
}

fn measured_run(tests: &[(Test, Vec<Sample>)]) -> RunResult {
    let mut workload = Workload::of_test("w", "W", tests[0].0.clone());
    workload.tests = tests.iter().map(|(test, _)| test.clone()).collect();
    let machine = Machine {
        cpu: "a processor".to_owned(),
        cores: 12,
        memory_bytes: Bytes::mebi(1024),
        kernel: "Linux".to_owned(),
        host: None,
    };
    RunResult {
        schema_version: 1,
        provenance: Provenance { machine: Some(machine), ..Provenance::default() },
        target: Target::Measured(MeasuredTarget {
            path: "/mnt/file".to_owned(),
            device: Some(false),
            size_bytes: Some(Bytes::mebi(1024)),
            file_system: None,
            block_device: Some("nvme0n1".to_owned()),
            engine: "io_uring".to_owned(),
            direct: Some(true),
            served: None,
            host: None,
        }),
        tests: tests
            .iter()
            .map(|(test, samples)| TestResult::new(&workload, test, samples.clone()))
            .collect(),
        workload,
        complete: true,
        warnings: Vec::new(),
        inspection: None,
        power_cuts: Vec::new(),
    }
}

#[test]
fn results_of_one_drive_are_combined_with_their_warnings() {
    let small = build_named("small", Test::random_read("4 KiB"));
    let write = build_named("write", Test::random_write("4 KiB"));
    let mut parallel = build_named("parallel", Test::random_read("4 KiB"));
    parallel.start.beside = true;
    let cpu = CpuUse { user_ns_per_request: 1_000.0, system_ns_per_request: 2_000.0 };
    let timed = Sample { cpu: Some(cpu), ..reads(100, 9_000) };
    let read = |runs: &[RunResult]| {
        let named: Vec<(String, RunResult)> = runs
            .iter()
            .enumerate()
            .map(|(number, run)| (format!("{number}.json"), run.clone()))
            .collect();
        Measurements::read(&named)
    };
    let mut first = measured_run(&[(small.clone(), vec![timed.clone(), timed])]);
    let mut second = measured_run(&[
        (small.clone(), vec![reads(121, 9_000)]),
        (parallel, vec![reads(1, 9_000)]),
    ]);
    first.warnings = vec![Warning::FewRepeats { repeats: 2 }];
    second.warnings =
        vec![Warning::FewRepeats { repeats: 1 }, Warning::PageCache { reason: "r".to_owned() }];
    let all = read(&[first.clone(), second.clone()]).unwrap();
    assert_eq!(all.trials.len(), 1);
    let rate = (100.0_f64 * 100.0 * 121.0).cbrt() * 4096.0;
    assert_near(all.trials[0].throughput(), rate, "three repeats");
    let reason = "it ran in parallel with another test".to_owned();
    assert_eq!(
        all.warnings,
        [
            FitWarning::LeftOut { test: "parallel".to_owned(), reason },
            FitWarning::Warned { warnings: 3 },
            FitWarning::NoWrites,
        ]
    );
    let host = all.host;
    assert_eq!((host.alone_ns, host.deep_ns, host.cores), (Some(3_000.0), None, Some(12)));
    assert_eq!(all.drive, first.target_name());
    // The fit does not have warnings, and the run contains a write.
    let written =
        measured_run(&[(small.clone(), vec![reads(100, 9_000)]), (write, vec![writes(9, 9_000)])]);
    let all = read(std::slice::from_ref(&written)).unwrap();
    assert_eq!((all.warnings, all.trials.len()), (Vec::new(), 2));
    // The drive is named after the device, or after the path if the device is not known.
    assert_eq!(identity(&written), "nvme0n1");
    let mut elsewhere = written;
    if let Target::Measured(target) = &mut elsewhere.target {
        target.block_device = None;
    }
    assert_eq!(identity(&elsewhere), "/mnt/file");
}

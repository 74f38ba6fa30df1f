//! Loads other than a closed loop with one request size: open loops, mixes, flushes, trims, parallel tests, rounds and
//! other engines.

mod workloads;

use std::sync::atomic::AtomicBool;

use lanemark_measure::{Bench, EngineKind, Event, MeasureError, MeasureOutcome, MeasureSettings};
use lanemark_schema::result::steady::ROUNDS_MAX;
use lanemark_schema::result::{Sample, Warning};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{
    ArrivalProcess, Load, Pattern, RequestMix, RoundSettings, SeriesInterval, SizeShare, Test,
    TestOrder, TestStart, TrackedFigure, Workload,
};
use workloads::{read, workload, write};

const MS: Duration = Duration::from_microseconds(1000);

fn measure(workload: &Workload, settings: MeasureSettings) -> Result<MeasureOutcome, MeasureError> {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    Bench { settings, ..Bench::new(folder.path(), workload, 7, &stop) }.run(&mut |_| ())
}

fn sample(test: Test, settings: MeasureSettings) -> Sample {
    measure(&workload([test]), settings).unwrap().tests[0].samples[0].clone()
}

fn timed(test: Test, ms: u64) -> Test {
    Test { duration: Some(MS * ms), volume: None, ..test }
}

fn with(engine: EngineKind) -> MeasureSettings {
    MeasureSettings { engine, ..MeasureSettings::default() }
}

#[test]
fn an_open_loop_keeps_its_rate_and_reports_its_lateness() {
    for process in [ArrivalProcess::Even, ArrivalProcess::Poisson] {
        let load = Load::Open { rate_per_second: 2000.0, process };
        let test = Test { threads: 2, ..timed(read(), 1000) }.with(|requests| {
            requests.load = load;
            requests.queue_depth = 64;
        });
        let sample = sample(test, MeasureSettings::default());
        let iops = sample.iops();
        // Three standard deviations of a Poisson count are 7% here, and a slow machine adds to that.
        assert!((iops - 2000.0).abs() < 260.0, "{process:?}: {iops}");
        let kept = sample.punctuality.unwrap();
        assert!(kept.lateness.count() >= sample.reads.unwrap().latency.count());
        let late = kept.own_lateness.percentile_ns(50.0).unwrap();
        assert!(late < 2_000_000, "half of the requests were more than {late} ns late");
    }
}

#[test]
fn sizes_flushes_and_trims_come_in_their_shares() {
    let size = |kibi, share| SizeShare { block: Bytes::kibi(kibi), share };
    let mix = RequestMix {
        sizes: vec![size(4, 0.5), size(16, 0.5)],
        trim_share: Ratio::new(0.2).unwrap(),
        flush_every: Some(8),
        ..RequestMix::default()
    };
    let test = Test { block: Bytes::kibi(16), volume: Some(Bytes::mebi(16)), ..write() }.with(
        |requests| {
            requests.mix = mix;
            requests.read_share = Ratio::new(0.5).unwrap();
            requests.pattern = Pattern::Uniform;
        },
    );
    for engine in [EngineKind::IoUring, EngineKind::Synchronous] {
        let queue_depth = if engine == EngineKind::Synchronous { 1 } else { 8 };
        let sample =
            sample(test.clone().with(|requests| requests.queue_depth = queue_depth), with(engine));
        let [reads, writes, flushes, trims] =
            [&sample.reads, &sample.writes, &sample.flushes, &sample.trims]
                .map(|direction| direction.as_ref().unwrap());
        let mean = reads.bytes.get() as f64 / reads.latency.count() as f64;
        assert!((mean / 10_240.0 - 1.0).abs() < 0.15, "{mean} B a read");
        let count =
            |direction: &lanemark_schema::result::DirectionResult| direction.latency.count() as f64;
        assert!((count(flushes) - count(writes) / 8.0).abs() <= 2.0);
        let data = count(reads) + count(writes);
        assert!((count(trims) / (data + count(trims)) - 0.2).abs() < 0.05);
        assert_eq!(flushes.bytes, Bytes::ZERO);
        let moved = sample.bytes() + trims.bytes;
        assert!(moved >= Bytes::mebi(16) && moved < Bytes::mebi(17), "{moved}");
    }
}

#[test]
fn parallel_tests_overlap_and_delayed_ones_begin_later() {
    let first = Test { name: "first".to_owned(), ..timed(read(), 600) };
    let start = TestStart { beside: true, delay: MS * 200 };
    let second = Test { name: "second".to_owned(), start, ..timed(read(), 600) };
    let workload = workload([first, second]);
    let begun = std::time::Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut bench = Bench::new(folder.path(), &workload, 7, &stop);
    let outcome = bench.run(&mut |_| ()).unwrap();
    let whole = begun.elapsed().as_millis();
    assert!((780..1_150).contains(&whole), "{whole} ms for two tests of 600, one 200 later");
    for result in &outcome.tests {
        let elapsed = result.samples[0].elapsed.as_seconds();
        assert!((0.59..0.75).contains(&elapsed) && result.samples[0].complete, "{elapsed} s");
    }
    // The rounds of one test would have to end together with the rounds of the other.
    let rounds = Some(RoundSettings { length: MS * 50, tracked: TrackedFigure::Iops });
    let mut together = workload.clone();
    together.tests[0] = Test { rounds, duration: None, ..together.tests[0].clone() };
    bench.workload = &together;
    assert!(matches!(bench.run(&mut |_| ()), Err(MeasureError::RoundsBeside { .. })));
    // A copy's writes would have to wait for its reads.
    let mut copy = workload.clone();
    copy.tests[0] =
        copy.tests[0].clone().with(|requests| requests.mix.copy_to = Some(Bytes::mebi(64)));
    bench.workload = &copy;
    let refused = bench.run(&mut |_| ()).unwrap_err();
    assert!(matches!(refused, MeasureError::Copies { .. }), "{refused}");
    assert!(refused.hint().unwrap().contains("beside"), "{refused}");
}

#[test]
fn rounds_end_when_they_are_steady_or_there_are_too_many() {
    let rounds = Some(RoundSettings { length: MS * 60, tracked: TrackedFigure::Iops });
    let test = Test { rounds, volume: None, duration: None, threads: 2, ..read() };
    let workload = workload([test]);
    let outcome = measure(&workload, MeasureSettings::default()).unwrap();
    let sample = &outcome.tests[0].samples[0];
    let steady = sample.steady.as_ref().unwrap();
    assert!((5..=ROUNDS_MAX).contains(&steady.rounds.len()) && sample.complete);
    assert_eq!(sample.elapsed, MS * 300);
    let is_reported =
        outcome.warnings.iter().any(|warning| matches!(warning, Warning::NotSteady { .. }));
    assert_eq!(is_reported, !steady.reached());
    let window: f64 = steady.rounds[steady.rounds.len() - 5..].iter().map(|round| round.iops).sum();
    assert!((window / 5.0 / sample.iops() - 1.0).abs() < 1e-9);
}

#[test]
fn a_series_holds_every_request_of_every_thread() {
    let interval = Some(SeriesInterval::Fixed { interval: MS * 20 });
    let test = Test { interval, threads: 3, ..timed(read(), 200) };
    let sample = sample(test, MeasureSettings::default());
    let series = sample.series.as_ref().unwrap();
    let counted: u64 = series.points.iter().map(|point| point.requests()).sum();
    assert_eq!(counted, sample.operations());
    // The series has ten intervals, followed by the time until the outstanding requests completed.
    assert_eq!(series.elapsed(), sample.elapsed);
    assert_eq!(
        series.points.len() as u64,
        sample.elapsed.picoseconds().div_ceil((MS * 20).picoseconds())
    );
    assert!(sample.elapsed >= MS * 200 && series.points.len() >= 10);
}

#[test]
fn every_engine_except_the_null_engine_performs_its_requests() {
    for (_, engine) in EngineKind::NAMES {
        let outcome =
            measure(&workload([write().with(|requests| requests.queue_depth = 1)]), with(engine))
                .unwrap();
        let sample = &outcome.tests[0].samples[0];
        assert_eq!(outcome.target.engine, engine.name());
        assert_eq!(sample.bytes(), write().volume.unwrap());
        let asks_nothing = outcome.warnings.contains(&Warning::NothingRequested);
        assert_eq!(asks_nothing, engine == EngineKind::Null, "{:?}", outcome.warnings);
    }
    let deep = read().with(|requests| requests.queue_depth = 2);
    let error = measure(&workload([deep]), with(EngineKind::Synchronous)).unwrap_err();
    assert!(matches!(error, MeasureError::QueueDepth { most: 1, .. }), "{error}");
    assert!(error.hint().unwrap().contains("io_uring"));
}

#[test]
fn threads_of_the_kernel_that_take_submissions_are_counted() {
    let settings = MeasureSettings { submission_polled: true, ..MeasureSettings::default() };
    let sample = sample(timed(read(), 300), settings);
    let cpu = sample.cpu.unwrap();
    let used = (cpu.user_ns_per_request + cpu.system_ns_per_request) * sample.operations() as f64;
    // This time can only come from the kernel's thread, which polls for submissions.
    assert!(used > 0.2 * 300e6, "{used} ns of processor time in 300 ms");
}

#[test]
fn a_shuffled_order_takes_each_test_once_a_pass() {
    let name = |name: &str| Test { name: name.to_owned(), ..read() };
    let tests = ["a", "b", "c", "d", "e"];
    let mut workload = workload([name("a"), name("b"), name("c"), name("d"), name("e")]);
    (workload.repeats, workload.order) = (4, TestOrder::Shuffled);
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let bench = Bench::new(folder.path(), &workload, 1, &stop);
    let mut counts = Vec::new();
    let outcome = bench
        .run(&mut |event| {
            if let Event::SampleEnded { outcome } = event {
                counts.push(tests.map(|name| {
                    let result = outcome.tests.iter().find(|test| test.test.name == name);
                    result.map_or(0, |result| result.samples.len())
                }));
            }
        })
        .unwrap();
    assert!(outcome.complete && outcome.tests.iter().all(|test| test.samples.len() == 4));
    assert_eq!(counts.len(), 20);
    assert!(
        counts.iter().skip(4).step_by(5).enumerate().all(|(pass, count)| *count == [pass + 1; 5])
    );
    assert_ne!(counts[0], [1, 0, 0, 0, 0], "seed 1 begins with another test");
}

#[test]
fn flushes_do_not_take_the_turns_of_writes_in_an_open_loop() {
    let load = Load::Open { rate_per_second: 200.0, process: ArrivalProcess::Even };
    let mix = RequestMix { flush_every: Some(1), ..RequestMix::default() };
    let test = timed(write(), 1000).with(|requests| {
        requests.load = load;
        requests.mix = mix;
        requests.queue_depth = 32;
    });
    let sample = sample(test, MeasureSettings::default());
    let writes = sample.writes.unwrap().latency.count();
    assert!((150..=210).contains(&writes), "{writes} writes");
    assert!(sample.flushes.unwrap().latency.count() > writes * 3 / 4);
}

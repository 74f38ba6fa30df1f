//! Tests each warning about a sample just below, at, and just above the warning's bound. Each case makes one change to
//! a sample without warnings.

use lanemark_schema::result::{
    CgroupLimit, CgroupLimitKind, DeviceUse, DirectionResult, Evidence, LatencyHistogram,
    ProcessorUse, Punctuality, TemperatureReading, Temperatures, ThreadUse,
};

use lanemark_schema::units::Ratio;
use lanemark_schema::workload::{Pattern, RoundSettings, TrackedFigure};

use super::*;

/// Number of bytes that the test requested and the device moved.
const MOVED: u64 = 10_000 << 20;

/// A sample that does not raise a warning: for one second, 10,000 reads a second of 100 µs each, at queue depth 1.
struct Case {
    test: Test,
    engine: EngineKind,
    direct: bool,
    requested: u64,
    flash_read_least: Option<Duration>,
    history: Vec<(Duration, u64)>,
    sample: Sample,
}

fn latencies(latency_ns: u64, count: u64) -> LatencyHistogram {
    LatencyHistogram::from_bins([(latency_ns, count)], latency_ns as f64, latency_ns, latency_ns)
}

impl Case {
    fn new() -> Self {
        let reads = DirectionResult { bytes: Bytes(MOVED), latency: latencies(100_000, 10_000) };
        let evidence = Evidence {
            device: Some(DeviceUse { read_bytes: Bytes(MOVED), ..DeviceUse::default() }),
            processors: Some(ProcessorUse {
                cores: 4,
                own: Some(0.5),
                user: 0.3,
                system: 0.2,
                wakes: Some(0.0),
                is_virtual: true,
                ..ProcessorUse::default()
            }),
            threads: Some(ThreadUse { busiest: 0.5, ..ThreadUse::default() }),
            outstanding: Some(OutstandingRequests { mean: 1.0, accounted: 1.0 }),
            clock_drift: Some(0.0),
            ..Evidence::default()
        };
        let sample = Sample {
            elapsed: Duration::from_seconds(1),
            reads: Some(reads),
            evidence: Some(evidence),
            ..Sample::empty()
        };
        Self {
            test: Test::of_blocks(Bytes::kibi(4)),
            engine: EngineKind::IoUring,
            direct: true,
            requested: MOVED,
            flash_read_least: None,
            history: Vec::new(),
            sample,
        }
    }

    fn evidence(&mut self) -> &mut Evidence {
        self.sample.evidence.as_mut().unwrap()
    }

    fn warnings(&self) -> Vec<Warning> {
        let taking = SampleConditions {
            test: &self.test,
            engine: self.engine,
            direct: self.direct,
            moved: Bytes(self.requested),
            flash_read_least: self.flash_read_least,
            history: &self.history,
        };
        warnings_after_sample(&taking, &self.sample)
    }
}

/// Checks that the change raises the warning `wanted` and no other warning for the values that are paired with `true`,
/// and does not raise a warning for the other values.
fn bound(
    name: &str,
    wanted: fn(&Warning) -> bool,
    values: &[(f64, bool)],
    change: impl Fn(&mut Case, f64),
) {
    for &(value, is_reported) in values {
        let mut case = Case::new();
        change(&mut case, value);
        let warnings = case.warnings();
        assert_eq!(warnings.len(), usize::from(is_reported), "{name} {value}: {warnings:?}");
        assert!(warnings.iter().all(wanted), "{name} {value}: {warnings:?}");
    }
}

#[test]
fn an_unchanged_sample_raises_no_warning() {
    assert_eq!(Case::new().warnings(), []);
    let mut nothing = Case::new();
    nothing.engine = EngineKind::Null;
    assert_eq!(nothing.warnings(), [Warning::NothingRequested]);
}

#[test]
fn moved_bytes_are_compared_with_requested_bytes() {
    const MIB: f64 = (1 << 20) as f64;
    // If 10,000 MiB are requested, the device may count up to a tenth and 4 MiB less, or a tenth and 16 MiB more.
    let not_from_device = |w: &Warning| matches!(w, Warning::NotFromDevice { .. });
    let less = [(8996.0, false), (8995.9, true), (10_000.0, false)];
    let read = |case: &mut Case, mib: f64| {
        case.evidence().device.as_mut().unwrap().read_bytes = Bytes((mib * MIB) as u64);
    };
    bound("read too little", not_from_device, &less, read);
    // Both directions of the device count.
    bound("written too little", not_from_device, &less, |case, mib| {
        let device = case.evidence().device.as_mut().unwrap();
        (device.read_bytes, device.written_bytes) = (Bytes(0), Bytes((mib * MIB) as u64));
    });
    let other_use = |w: &Warning| matches!(w, Warning::OtherUse { .. });
    bound("too much", other_use, &[(11_016.0, false), (11_016.1, true)], read);
    // If no bytes are requested, up to 16 MiB of other programs' requests do not raise a warning.
    bound(
        "nothing requested",
        other_use,
        &[(0.0, false), (16.0, false), (16.1, true)],
        |case, mib| {
            case.requested = 0;
            case.evidence().device.as_mut().unwrap().read_bytes = Bytes((mib * MIB) as u64);
        },
    );
    // If the device does not move any of the requested bytes, there is a warning only if nine tenths of the bytes
    // exceed 4 MiB.
    bound("little", not_from_device, &[(4.4, false), (4.5, true)], |case, mib| {
        case.requested = (mib * MIB) as u64;
        case.evidence().device.as_mut().unwrap().read_bytes = Bytes(0);
    });
    // With the page cache, the device may move more bytes, and its count does not verify writes.
    bound("page cache, more", other_use, &[(20_000.0, false)], |case, mib| {
        case.direct = false;
        case.evidence().device.as_mut().unwrap().read_bytes = Bytes((mib * MIB) as u64);
    });
    bound("page cache, less", not_from_device, &[(0.0, true)], |case, mib| {
        case.direct = false;
        case.evidence().device.as_mut().unwrap().read_bytes = Bytes((mib * MIB) as u64);
    });
    bound("page cache, writes", not_from_device, &[(0.0, false)], |case, mib| {
        case.direct = false;
        case.test = case.test.clone().with(|requests| requests.read_share = Ratio::ZERO);
        case.evidence().device.as_mut().unwrap().read_bytes = Bytes((mib * MIB) as u64);
    });
}

#[test]
fn processors_used_or_taken_by_others_are_reported() {
    // A thread is busy if it uses more than nine tenths of a core.
    bound(
        "busiest",
        |w| matches!(w, Warning::GeneratorBound { .. }),
        &[(0.0, false), (0.9, false), (0.91, true), (1.0, true)],
        |case, share| case.evidence().threads.as_mut().unwrap().busiest = share,
    );
    bound(
        "stolen",
        |w| matches!(w, Warning::Stolen { .. }),
        &[(0.1, false), (0.11, true)],
        |case, cores| case.evidence().processors.as_mut().unwrap().stolen = cores,
    );
    bound(
        "wait for a core",
        |w| matches!(w, Warning::CoreWait { .. }),
        &[(0.0, false), (0.099, false), (0.1, true)],
        |case, share| case.evidence().threads.as_mut().unwrap().core_wait = Some(share),
    );
    // The bound is a quarter of a core or a twentieth of all cores, plus the error of the kernel's ticks: 0.15 times
    // the square root of (cores / seconds).
    let others = |w: &Warning| matches!(w, Warning::OthersBusy { .. });
    bound("others of 4", others, &[(0.549, false), (0.551, true)], |case, cores| {
        case.evidence().processors.as_mut().unwrap().user += cores;
    });
    bound("others of 64, 4 s", others, &[(3.79, false), (3.81, true)], |case, cores| {
        case.sample.elapsed = Duration::from_seconds(4);
        let processors = case.evidence().processors.as_mut().unwrap();
        (processors.cores, processors.user) = (64, processors.user + cores);
    });
    // The kernel's own threads are not counted as other programs.
    bound("kernel threads", others, &[(3.0, false)], |case, cores| {
        let processors = case.evidence().processors.as_mut().unwrap();
        (processors.kernel, processors.system) = (Some(cores), processors.system + cores);
    });
    // Wakes on a virtual machine raise a warning if there is one wake or more per two requests, and requests take less
    // than 200 µs.
    let asleep = |w: &Warning| matches!(w, Warning::Asleep { .. });
    bound("wakes", asleep, &[(4_999.0, false), (5_000.0, true)], |case, wakes| {
        case.evidence().processors.as_mut().unwrap().wakes = Some(wakes);
    });
    bound("wakes of a real machine", asleep, &[(10_000.0, false)], |case, wakes| {
        let processors = case.evidence().processors.as_mut().unwrap();
        (processors.wakes, processors.is_virtual) = (Some(wakes), false);
    });
    bound("wakes of long requests", asleep, &[(1.99, true), (2.0, false)], |case, outstanding| {
        case.evidence().processors.as_mut().unwrap().wakes = Some(10_000.0);
        case.evidence().outstanding =
            Some(OutstandingRequests { mean: outstanding, accounted: outstanding });
    });
}

#[test]
fn disagreeing_clocks_limits_and_counts_are_reported() {
    bound(
        "drift",
        |w| matches!(w, Warning::ClockDrift { .. }),
        &[(1e-3, false), (1.1e-3, true), (-1e-3, false), (-1.1e-3, true)],
        |case, share| case.evidence().clock_drift = Some(share),
    );
    bound(
        "Little's law",
        |w| matches!(w, Warning::Unaccounted { .. }),
        &[(0.949, true), (0.951, false), (1.049, false), (1.051, true)],
        |case, accounted| {
            case.evidence().outstanding = Some(OutstandingRequests { mean: 1.0, accounted });
        },
    );
    let throttled = |w: &Warning| matches!(w, Warning::Throttled { .. });
    bound("limit of a device", throttled, &[(0.89, false), (0.9, true)], |case, share| {
        let limit = CgroupLimit { text: "io.max".to_owned(), kind: CgroupLimitKind::Device, share };
        case.evidence().limits.push(limit);
    });
    bound("quota", throttled, &[(0.09, false), (0.1, true)], |case, share| {
        let limit =
            CgroupLimit { text: "cpu.max".to_owned(), kind: CgroupLimitKind::Processor, share };
        case.evidence().limits.push(limit);
    });
    bound("punted", |w| matches!(w, Warning::Punted { .. }), &[(0.0, true), (7.0, true)], {
        |case, workers| case.evidence().punted = Some(workers as u64)
    });
}

#[test]
fn halves_that_differ_by_more_than_a_tenth_are_reported() {
    // Each tenth of a second counts 100 requests in the first half, and `value` requests in the second half.
    let change = |case: &mut Case, value: f64| {
        let count = |tenth: u64| (tenth.min(15) * 100) + tenth.saturating_sub(15) * value as u64;
        let at = |tenth: u64| (Duration::from_microseconds(tenth * 100_000), count(tenth));
        case.history = (0..=31).map(at).collect();
    };
    let transient = |w: &Warning| matches!(w, Warning::Transient { .. });
    bound(
        "halves",
        transient,
        &[(100.0, false), (92.0, false), (89.0, true), (112.0, true)],
        change,
    );
    bound("rounds", transient, &[(50.0, false)], |case, value| {
        case.test.rounds =
            Some(RoundSettings { length: Duration::from_seconds(1), tracked: TrackedFigure::Iops });
        change(case, value);
    });
}

#[test]
fn a_rate_that_falls_at_the_temperature_limit_is_reported() {
    // The drive reaches its limit after five seconds, and then answers `value` requests a second.
    let hot = |limit: Option<f64>| {
        move |case: &mut Case, value: f64| {
            let count =
                |second: u64| second.min(5) * 1000 + second.saturating_sub(5) * value as u64;
            case.history =
                (0..=10).map(|second| (Duration::from_seconds(second), count(second))).collect();
            let reading = |second: u64| TemperatureReading {
                at: Duration::from_seconds(second),
                celsius: if second < 5 { 60.0 } else { 80.5 },
            };
            // The halves of a test in rounds may differ.
            case.test.rounds = Some(RoundSettings {
                length: Duration::from_seconds(1),
                tracked: TrackedFigure::Iops,
            });
            case.evidence().temperatures = Some(Temperatures {
                limit_celsius: limit,
                readings: (0..=10).map(reading).collect(),
            });
        }
    };
    let overheated = |w: &Warning| matches!(w, Warning::Overheated { .. });
    bound("heat", overheated, &[(950.0, false), (890.0, true)], hot(Some(81.0)));
    bound("another limit", overheated, &[(100.0, false)], hot(Some(84.0)));
    bound("no limit", overheated, &[(100.0, false)], hot(None));
}

#[test]
fn single_reads_faster_than_flash_are_reported() {
    let without = |w: &Warning| matches!(w, Warning::WithoutFlash { .. });
    let microseconds = |value: f64| Some(Duration::from_nanoseconds((value * 1e3) as u64));
    let values = &[(99.9, false), (100.0, false), (100.1, true)];
    bound("fastest read", without, values, |case, value| {
        case.flash_read_least = Some(Duration::from_nanoseconds((value * 1e3) as u64));
    });
    // Concurrent reads, sequential reads and reads through the page cache do not raise this warning.
    let changes: [fn(&mut Case); 4] = [
        |case| case.test = case.test.clone().with(|requests| requests.queue_depth = 2),
        |case| case.test.threads = 2,
        |case| {
            case.test = case.test.clone().with(|requests| requests.pattern = Pattern::Sequential);
        },
        |case| case.direct = false,
    ];
    for change in changes {
        let mut case = Case::new();
        case.flash_read_least = microseconds(1000.0);
        change(&mut case);
        assert_eq!(case.warnings(), []);
    }
}

#[test]
fn a_late_open_loop_is_reported() {
    let late = |w: &Warning| matches!(w, Warning::Late { .. });
    let kept = |own_ns: u64, held_back: u64, unsubmitted: u64| Punctuality {
        lateness: latencies(own_ns.max(1), 1000),
        held_back,
        unsubmitted,
        own_lateness: latencies(own_ns.max(1), 1000),
    };
    for (own_ns, held_back, unsubmitted, is_reported) in [
        (1, 0, 0, false),
        (99_000, 0, 0, false),
        (101_000, 0, 0, true),
        (1, 10, 0, false),
        (1, 11, 0, true),
        (1, 0, 1, true),
    ] {
        let mut case = Case::new();
        case.sample.punctuality = Some(kept(own_ns, held_back, unsubmitted));
        let warnings = case.warnings();
        assert_eq!(warnings.len(), usize::from(is_reported), "{own_ns} {held_back}: {warnings:?}");
        assert!(warnings.iter().all(late));
    }
}

//! Creates each cause of a misleading figure, which must raise its warning; without the cause, there must be no
//! warning.
//!
//! Mounts, loop devices and control groups require root. If the user is not permitted to set up a test, it reports this
//! and is skipped; in CI, it fails.

mod workloads;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lanemark_measure::{
    Bench, EngineKind, Event, MeasureOutcome, MeasureSettings, Preconditioning,
};
use lanemark_schema::result::Warning;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{ArrivalProcess, Load, Precondition, Test, Workload};
use lanemark_testbed::{Group, LoopDevice, Mounted, not_on_this_machine};
use workloads::{read, timed, workload, write};

const SPAN: Bytes = Bytes::mebi(64);

fn wide(test: Test) -> Test {
    Test { span: SPAN, ..test }
}

fn bench(path: &Path, test: Test, settings: MeasureSettings) -> MeasureOutcome {
    let workload = workload([test]);
    let stop = AtomicBool::new(false);
    Bench { settings, ..Bench::new(path, &workload, 5, &stop) }.run(&mut |_| ()).unwrap()
}

fn has_warning(outcome: &MeasureOutcome, wanted: fn(&Warning) -> bool) -> bool {
    outcome.warnings.iter().any(wanted)
}

fn tmpfs() -> Option<Mounted> {
    Mounted::with(&["-t", "tmpfs", "-o", "size=300m", "lanemark"])
}

/// Returns a loop device over a file with `SPAN` bytes of data.
fn loop_device(direct: bool) -> Option<LoopDevice> {
    LoopDevice::with_content(&vec![7; SPAN.get() as usize], direct)
}

#[test]
fn requests_that_the_kernel_hands_to_its_threads_are_reported_and_their_time_counted() {
    let Some(tmpfs) = tmpfs() else { return };
    let test = timed(wide(read().with(|requests| requests.queue_depth = 16)), 300);
    let outcome = bench(tmpfs.path(), test, MeasureSettings::default());
    assert!(
        has_warning(&outcome, |w| matches!(w, Warning::Punted { .. })),
        "{:?}",
        outcome.warnings
    );
    let sample = &outcome.tests[0].samples[0];
    let cpu = sample.cpu.unwrap();
    assert!(cpu.system_ns_per_request > 0.0 && sample.evidence.as_ref().unwrap().punted > Some(0));
    let folder = tempfile::tempdir().unwrap();
    let outcome = bench(folder.path(), timed(wide(read()), 300), MeasureSettings::default());
    assert!(
        !has_warning(&outcome, |w| matches!(w, Warning::Punted { .. })),
        "{:?}",
        outcome.warnings
    );
}

/// A workload that requires a preconditioned drive does not cause more writes than the user offered.
#[test]
fn a_target_that_was_not_preconditioned_raises_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own");
    fs::write(&path, vec![1; SPAN.get() as usize]).unwrap();
    let test = Test { volume: Some(Bytes::mebi(1)), ..wide(read()) };
    let required =
        Workload { precondition: Some(Precondition::Random), ..workload([test.clone()]) };
    let stop = AtomicBool::new(false);
    let outcome = Bench::new(&path, &required, 5, &stop).run(&mut |_| ()).unwrap();
    let not_written = |w: &Warning| matches!(w, Warning::NotPreconditioned { .. });
    assert!(outcome.warnings.iter().any(not_written), "{:?}", outcome.warnings);
    assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 1), "the run wrote");
    let plain = bench(&path, test.clone(), MeasureSettings::default());
    assert!(!plain.warnings.iter().any(not_written), "{:?}", plain.warnings);
    let settings =
        MeasureSettings { precondition: Some(Preconditioning::Snia), ..MeasureSettings::default() };
    let written = Bench { settings, ..Bench::new(folder.path(), &required, 5, &stop) };
    let written = written.run(&mut |_| ()).unwrap();
    assert!(!written.warnings.iter().any(not_written), "{:?}", written.warnings);
}

#[test]
fn a_file_that_was_never_written_raises_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse");
    let file = fs::File::create(&path).unwrap();
    file.set_len(SPAN.get()).unwrap();
    file.write_all_at(&vec![1; 16 << 20], 0).unwrap();
    file.sync_all().unwrap();
    let outcome = bench(&path, timed(wide(read()), 200), MeasureSettings::default());
    let share = outcome.warnings.iter().find_map(|warning| match warning {
        Warning::Holes { share, .. } => Some(*share),
        _ => None,
    });
    assert_eq!(share, Some(0.75), "{:?}", outcome.warnings);
    // The layout of the run does not leave holes.
    let outcome = bench(folder.path(), timed(wide(read()), 200), MeasureSettings::default());
    assert!(
        !has_warning(&outcome, |w| matches!(w, Warning::Holes { .. })),
        "{:?}",
        outcome.warnings
    );
}

#[test]
fn an_answer_from_the_page_cache_raises_a_warning() {
    let Some(device) = LoopDevice::with_content(&vec![0; 2 * SPAN.get() as usize], true) else {
        return;
    };
    let Some(mounted) = Mounted::ext4(device.node()) else { return };
    let path = mounted.path().join("cached");
    fs::write(&path, vec![3u8; SPAN.get() as usize]).unwrap();
    fs::File::open(&path).unwrap().sync_all().unwrap();
    let settings = MeasureSettings { buffered: true, ..MeasureSettings::default() };
    let test = wide(
        Test { volume: Some(Bytes::mebi(256)), ..read() }.with(|requests| requests.queue_depth = 8),
    );
    let outcome = bench(&path, test, settings);
    let is_cached = |w: &Warning| matches!(w, Warning::NotFromDevice { .. });
    assert!(has_warning(&outcome, is_cached), "{:?}", outcome.warnings);
    assert!(has_warning(&outcome, |w| matches!(w, Warning::PageCache { .. })));
    let direct = bench(&path, timed(wide(read()), 300), MeasureSettings::default());
    assert!(!has_warning(&direct, is_cached), "{:?}", direct.warnings);
}

#[test]
fn a_cache_under_a_loop_device_raises_a_warning() {
    for direct in [false, true] {
        let Some(device) = loop_device(direct) else { return };
        let outcome = bench(device.node(), timed(wide(read()), 200), MeasureSettings::default());
        let cache_below = outcome.warnings.iter().find(|w| matches!(w, Warning::CacheBelow { .. }));
        assert_eq!(cache_below.is_some(), !direct, "{:?}", outcome.warnings);
        let advice = "attach the file with direct I/O: losetup --direct-io=on";
        assert!(
            cache_below.is_none_or(|warning| warning.advice() == Some(advice)),
            "{cache_below:?}"
        );
    }
}

#[test]
fn another_user_of_the_device_raises_a_warning() {
    let Some(device) = loop_device(true) else { return };
    let over = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::File::open(device.node()).unwrap();
            let mut block = vec![0; 1 << 20];
            while !over.load(Ordering::Relaxed) {
                for index in 0..64 {
                    file.read_exact_at(&mut block, index << 20).unwrap();
                }
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
        });
        let load = Load::Open { rate_per_second: 200.0, process: ArrivalProcess::Even };
        let outcome = bench(
            device.node(),
            timed(wide(read().with(|requests| requests.load = load)), 800),
            MeasureSettings::default(),
        );
        over.store(true, Ordering::Relaxed);
        outcome
    });
    assert!(
        has_warning(&outcome, |w| matches!(w, Warning::OtherUse { .. })),
        "{:?}",
        outcome.warnings
    );
    let alone = bench(device.node(), timed(wide(read()), 300), MeasureSettings::default());
    assert!(
        !has_warning(&alone, |w| matches!(w, Warning::OtherUse { .. })),
        "{:?}",
        alone.warnings
    );
}

#[test]
fn a_thread_without_time_left_raises_a_warning() {
    let Some(tmpfs) = tmpfs() else { return };
    let settings =
        MeasureSettings { engine: EngineKind::Synchronous, ..MeasureSettings::default() };
    let test = timed(wide(read().with(|requests| requests.queue_depth = 1)), 500);
    let outcome = bench(tmpfs.path(), test, settings);
    let busiest = outcome.tests[0].samples[0].evidence.as_ref().unwrap().threads.unwrap().busiest;
    let is_reported = has_warning(&outcome, |w| matches!(w, Warning::GeneratorBound { .. }));
    // On a busy machine, a whole core may not be available to the thread.
    assert_eq!(is_reported, busiest > 0.9, "{:?}", outcome.warnings);
    let think = Duration::from_microseconds(2000);
    let resting = timed(
        wide(read().with(|requests| {
            requests.queue_depth = 1;
            requests.think = think;
        })),
        500,
    );
    let outcome = bench(tmpfs.path(), resting, settings);
    assert!(!has_warning(&outcome, |w| matches!(w, Warning::GeneratorBound { .. })));
}

#[test]
fn an_open_loop_that_is_held_back_raises_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let load = Load::Open { rate_per_second: 5e6, process: ArrivalProcess::Even };
    let test = timed(
        wide(write().with(|requests| {
            requests.load = load;
            requests.queue_depth = 2;
        })),
        300,
    );
    let outcome = bench(folder.path(), test, MeasureSettings::default());
    assert!(has_warning(&outcome, |w| matches!(w, Warning::Late { .. })), "{:?}", outcome.warnings);
}

#[test]
fn a_limit_and_a_sample_that_slows_down_raise_warnings() {
    let Some(device) = loop_device(true) else { return };
    let Some(limited) = Group::read_bytes_a_second(device.node(), 8 << 20) else { return };
    let outcome = bench(device.node(), timed(wide(read()), 300), MeasureSettings::default());
    let reported = outcome.warnings.iter().find_map(|warning| match warning {
        Warning::Throttled { limit } => Some(limit.clone()),
        _ => None,
    });
    assert!(reported.is_some_and(|limit| limit.contains("8388608")), "{:?}", outcome.warnings);
    let megabytes = outcome.tests[0].megabytes_per_second();
    assert!(megabytes < 12.0, "{megabytes} MB/s past a limit of 8");
    // The limit is removed in the middle of a sample.
    let workload = workload([timed(wide(read()), 3000)]);
    let stop = AtomicBool::new(false);
    let bench = Bench::new(device.node(), &workload, 5, &stop);
    let outcome = bench
        .run(&mut |event| {
            if let Event::Running(running) = event
                && running.elapsed > Duration::from_microseconds(1_500_000)
            {
                limited.set_read_bytes_a_second(device.node(), 0);
            }
        })
        .unwrap();
    let faster = outcome.warnings.iter().any(|warning| {
        matches!(warning, Warning::Transient { first_iops, second_iops, .. }
            if second_iops > first_iops)
    });
    assert!(faster, "{:?}", outcome.warnings);
}

/// Returns throughput times latency of the only sample, and its mean latency in ms.
fn little(outcome: &MeasureOutcome) -> (f64, f64) {
    let sample = &outcome.tests[0].samples[0];
    let latency = &sample.reads.as_ref().unwrap().latency;
    let seconds = sample.elapsed.as_seconds();
    let product = latency.count() as f64 * latency.mean_ns() / 1e9 / seconds;
    (product, latency.mean_ns() / 1e6)
}

#[test]
fn a_short_sample_of_a_rate_limited_device_has_its_latency() {
    let Some(device) = loop_device(true) else { return };
    let Some(_group) = Group::reads_a_second(device.node(), 2000) else { return };
    let mut latencies = Vec::new();
    for milliseconds in [400, 900] {
        let test = timed(wide(read().with(|requests| requests.queue_depth = 16)), milliseconds);
        let outcome = bench(device.node(), test, MeasureSettings::default());
        let (product, latency_ms) = little(&outcome);
        assert!((15.0..=16.8).contains(&product), "{product} of 16 in {milliseconds} ms");
        let is_reported = has_warning(&outcome, |w| matches!(w, Warning::Unaccounted { .. }));
        assert!(!is_reported, "{:?}", outcome.warnings);
        latencies.push(latency_ms);
    }
    // The kernel lets a few requests pass before it begins to count them.
    assert!(latencies.iter().all(|ms| (6.8..9.2).contains(ms)), "{latencies:?} ms, and 8 are true");
}

#[test]
fn a_stall_at_the_end_of_a_sample_shows() {
    let Some(device) = loop_device(true) else { return };
    let Some(group) = Group::reads_a_second(device.node(), 2000) else { return };
    let test = timed(wide(read().with(|requests| requests.queue_depth = 16)), 500);
    let workload = workload([test]);
    let stop = AtomicBool::new(false);
    let (sender, stalled) = std::sync::mpsc::channel();
    let outcome = std::thread::scope(|scope| {
        let group = &group;
        let device = &device;
        scope.spawn(move || {
            if stalled.recv().is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(900));
                group.set_reads_a_second(device.node(), 0);
            }
        });
        let mut once = Some(sender);
        let bench = Bench::new(device.node(), &workload, 5, &stop);
        bench.run(&mut |event| {
            if let Event::Running(running) = event
                && running.elapsed > Duration::from_microseconds(250_000)
                && let Some(sender) = once.take()
            {
                group.set_reads_a_second(device.node(), 1);
                sender.send(()).unwrap();
            }
        })
    });
    let outcome = outcome.unwrap();
    let latency = &outcome.tests[0].samples[0].reads.as_ref().unwrap().latency;
    let greatest_ms = latency.max_ns().unwrap() / 1_000_000;
    assert!(greatest_ms > 500, "the maximum is {greatest_ms} ms, after a stall of 900");
    let (product, _) = little(&outcome);
    assert!((15.0..=16.8).contains(&product), "{product} of 16");
}

#[test]
fn a_ramp_is_no_other_user_of_the_device() {
    let Some(device) = loop_device(true) else { return };
    let ramp = Duration::from_microseconds(600_000);
    // The counted part takes only a fraction of the duration of the ramp.
    let short = Test { ramp, volume: Some(Bytes::mebi(1)), ..wide(read()) }
        .with(|requests| requests.queue_depth = 16);
    let beside = Test { ramp: Duration::ZERO, ..timed(wide(read()), 300) };
    for test in [short, Test { ramp, ..beside }] {
        let outcome = bench(device.node(), test, MeasureSettings::default());
        assert!(
            !has_warning(&outcome, |w| matches!(w, Warning::OtherUse { .. })),
            "{:?}",
            outcome.warnings
        );
    }
}

#[test]
fn a_device_over_a_file_that_was_never_written_raises_a_warning() {
    let Some(device) = LoopDevice::sparse(SPAN.get()) else { return };
    let outcome = bench(device.node(), timed(wide(read()), 200), MeasureSettings::default());
    let reported = outcome.warnings.iter().find_map(|warning| match warning {
        Warning::Holes { share, below } => Some((*share, below.clone())),
        _ => None,
    });
    assert_eq!(reported, Some((1.0, Some(device.medium().display().to_string()))));
    let Some(full) = loop_device(true) else { return };
    let outcome = bench(full.node(), timed(wide(read()), 200), MeasureSettings::default());
    assert!(
        !has_warning(&outcome, |w| matches!(w, Warning::Holes { .. })),
        "{:?}",
        outcome.warnings
    );
}

#[test]
fn a_thread_without_its_own_requests_is_not_busy() {
    let folder = tempfile::tempdir().unwrap();
    let test = Test { volume: Some(Bytes::kibi(8)), threads: 8, ..wide(read()) };
    let outcome = bench(folder.path(), test, MeasureSettings::default());
    assert!(
        !has_warning(&outcome, |w| matches!(w, Warning::GeneratorBound { .. })),
        "{:?}",
        outcome.warnings
    );
}

#[test]
fn processors_that_are_kept_awake_need_no_waking() {
    let Some(device) = loop_device(true) else { return };
    let settings =
        MeasureSettings { engine: EngineKind::Synchronous, ..MeasureSettings::default() };
    let promise = Path::new("/dev/cpu_dma_latency");
    let states = Path::new("/sys/devices/system/cpu/cpu0/cpuidle");
    if !promise.exists() || !states.exists() {
        return not_on_this_machine("the kernel lacks idle states to avoid");
    }
    let wakes = |no_idle: bool| {
        let outcome = bench(
            device.node(),
            timed(wide(read().with(|requests| requests.queue_depth = 1)), 300),
            MeasureSettings { no_idle, ..settings },
        );
        let sample = &outcome.tests[0].samples[0];
        let used = sample.evidence.as_ref().unwrap().processors.unwrap();
        let wakes = used.wakes.unwrap() / sample.iops();
        let is_reported = has_warning(&outcome, |w| matches!(w, Warning::Asleep { .. }));
        // A physical machine may sleep; a wake-up is slow only under a hypervisor.
        assert!(!is_reported || used.is_virtual && wakes >= 0.5, "{wakes}: {:?}", outcome.warnings);
        wakes
    };
    wakes(false);
    assert!(wakes(true) < 0.05, "processors went idle though they were asked not to");
}

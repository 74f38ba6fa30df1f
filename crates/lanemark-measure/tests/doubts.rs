//! Each way to be fooled is caused here, and the warning must be there; and where nothing is wrong it must not.
//!
//! Mounts, loop devices and control groups need root; a test that this user may not set up says so and is skipped.

mod workloads;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use lanemark_core::result::Warning;
use lanemark_core::units::{Bytes, Duration};
use lanemark_core::workload::{Load, Process, Test};
use lanemark_measure::{Bench, EngineKind, Event, Outcome, Settings};
use workloads::{read, timed, workload, write};

const SPAN: Bytes = Bytes::mebi(64);

fn wide(test: Test) -> Test {
    Test { span: SPAN, ..test }
}

fn bench(path: &Path, test: Test, settings: Settings) -> Outcome {
    let (workload, stop) = (workload([test]), AtomicBool::new(false));
    Bench { settings, ..Bench::new(path, &workload, 5, &stop) }.run(&mut |_| ()).unwrap()
}

fn has(outcome: &Outcome, wanted: fn(&Warning) -> bool) -> bool {
    outcome.warnings.iter().any(wanted)
}

/// Runs a tool and gives what it printed.
fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    let done = Command::new(name).args(arguments).output().ok()?;
    if !done.status.success() {
        eprintln!("skipped: {name} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        return None;
    }
    Some(String::from_utf8(done.stdout).unwrap().trim().to_owned())
}

struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().to_str().unwrap().to_owned();
        tool("mount", &["-t", "tmpfs", "-o", "size=300m", "lanemark", &point])?;
        Some(Self(folder))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        tool("umount", &[self.0.path().to_str().unwrap()]);
    }
}

/// A loop device over a file with `SPAN` of data.
struct LoopDevice {
    _folder: tempfile::TempDir,
    node: PathBuf,
}

impl LoopDevice {
    fn new(direct: bool) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let medium = folder.path().join("medium");
        fs::write(&medium, vec![7u8; SPAN.get() as usize]).unwrap();
        let direct = format!("--direct-io={}", if direct { "on" } else { "off" });
        let node = tool("losetup", &["-f", "--show", &direct, medium.to_str().unwrap()])?;
        Some(Self { _folder: folder, node: PathBuf::from(node) })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        tool("losetup", &["-d", self.node.to_str().unwrap()]);
    }
}

#[test]
fn requests_that_the_kernel_hands_to_its_threads_are_told_and_their_time_counted() {
    let Some(tmpfs) = Tmpfs::new() else { return };
    let test = timed(wide(Test { queue_depth: 16, ..read() }), 300);
    let outcome = bench(tmpfs.0.path(), test, Settings::default());
    assert!(has(&outcome, |w| matches!(w, Warning::Punted { .. })), "{:?}", outcome.warnings);
    let sample = &outcome.tests[0].samples[0];
    let cpu = sample.cpu.unwrap();
    assert!(cpu.system_ns_per_request > 0.0 && sample.evidence.as_ref().unwrap().punted > Some(0));
    let folder = tempfile::tempdir().unwrap();
    let outcome = bench(folder.path(), timed(wide(read()), 300), Settings::default());
    assert!(!has(&outcome, |w| matches!(w, Warning::Punted { .. })), "{:?}", outcome.warnings);
}

#[test]
fn a_file_that_was_never_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse");
    let file = fs::File::create(&path).unwrap();
    file.set_len(SPAN.get()).unwrap();
    file.write_all_at(&vec![1; 16 << 20], 0).unwrap();
    file.sync_all().unwrap();
    let outcome = bench(&path, timed(wide(read()), 200), Settings::default());
    let share = outcome.warnings.iter().find_map(|warning| match warning {
        Warning::Holes { share } => Some(*share),
        _ => None,
    });
    assert_eq!(share, Some(0.75), "{:?}", outcome.warnings);
    // What the run itself lays out has no holes.
    let outcome = bench(folder.path(), timed(wide(read()), 200), Settings::default());
    assert!(!has(&outcome, |w| matches!(w, Warning::Holes { .. })), "{:?}", outcome.warnings);
}

#[test]
fn a_page_cache_that_answers_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cached");
    fs::write(&path, vec![3u8; SPAN.get() as usize]).unwrap();
    fs::File::open(&path).unwrap().sync_all().unwrap();
    let settings = Settings { buffered: true, ..Settings::default() };
    let test = wide(Test { volume: Some(Bytes::mebi(256)), queue_depth: 8, ..read() });
    let outcome = bench(&path, test, settings);
    if outcome.target.block_device.is_none() {
        eprintln!("skipped: the temporary folder lies on no block device");
        return;
    }
    let told = |w: &Warning| matches!(w, Warning::NotFromDevice { .. });
    assert!(has(&outcome, told), "{:?}", outcome.warnings);
    assert!(has(&outcome, |w| matches!(w, Warning::PageCache { .. })));
    let direct = bench(&path, timed(wide(read()), 300), Settings::default());
    assert!(!has(&direct, told), "{:?}", direct.warnings);
}

#[test]
fn a_cache_under_a_loop_device_is_told() {
    for direct in [false, true] {
        let Some(device) = LoopDevice::new(direct) else { return };
        let outcome = bench(&device.node, timed(wide(read()), 200), Settings::default());
        let told = has(&outcome, |w| matches!(w, Warning::CacheBelow { .. }));
        assert_eq!(told, !direct, "{:?}", outcome.warnings);
    }
}

#[test]
fn somebody_else_on_the_device_is_told() {
    let Some(device) = LoopDevice::new(true) else { return };
    let over = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::File::open(&device.node).unwrap();
            let mut block = vec![0; 1 << 20];
            while !over.load(Ordering::Relaxed) {
                for place in 0..64 {
                    file.read_exact_at(&mut block, place << 20).unwrap();
                }
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
        });
        let load = Load::Open { rate_per_second: 200.0, process: Process::Even };
        let outcome =
            bench(&device.node, timed(wide(Test { load, ..read() }), 800), Settings::default());
        over.store(true, Ordering::Relaxed);
        outcome
    });
    assert!(has(&outcome, |w| matches!(w, Warning::OtherUse { .. })), "{:?}", outcome.warnings);
    let alone = bench(&device.node, timed(wide(read()), 300), Settings::default());
    assert!(!has(&alone, |w| matches!(w, Warning::OtherUse { .. })), "{:?}", alone.warnings);
}

#[test]
fn a_thread_without_time_left_is_told() {
    let Some(tmpfs) = Tmpfs::new() else { return };
    let settings = Settings { engine: EngineKind::Synchronous, ..Settings::default() };
    let test = timed(wide(Test { queue_depth: 1, ..read() }), 500);
    let outcome = bench(tmpfs.0.path(), test, settings);
    let busiest = outcome.tests[0].samples[0].evidence.as_ref().unwrap().threads.unwrap().busiest;
    let told = has(&outcome, |w| matches!(w, Warning::GeneratorBound { .. }));
    // On a machine that others use the thread may not get its core.
    assert_eq!(told, busiest > 0.9, "{:?}", outcome.warnings);
    let think = Duration::from_microseconds(2000);
    let resting = timed(wide(Test { queue_depth: 1, think, ..read() }), 500);
    let outcome = bench(tmpfs.0.path(), resting, settings);
    assert!(!has(&outcome, |w| matches!(w, Warning::GeneratorBound { .. })));
}

#[test]
fn an_open_loop_that_is_held_back_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let load = Load::Open { rate_per_second: 5e6, process: Process::Even };
    let test = timed(wide(Test { load, queue_depth: 2, ..write() }), 300);
    let outcome = bench(folder.path(), test, Settings::default());
    assert!(has(&outcome, |w| matches!(w, Warning::Late { .. })), "{:?}", outcome.warnings);
}

/// A control group that limits reads of a device, with the calling thread in it.
struct Limited {
    group: PathBuf,
    limit: PathBuf,
}

impl Limited {
    fn new(device: &Path) -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup/blkio");
        let group = root.join(format!("lanemark-test-{}", std::process::id()));
        if fs::create_dir(&group).is_err() {
            eprintln!("skipped: this user may not make a group below {}", root.display());
            return None;
        }
        let limited = Self { limit: group.join("blkio.throttle.read_bps_device"), group };
        let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
        fs::write(limited.group.join("tasks"), thread).ok()?;
        limited.set(device, 8 << 20).then_some(limited)
    }

    fn set(&self, device: &Path, bytes_per_second: u64) -> bool {
        let number = rustix::fs::stat(device).unwrap().st_rdev;
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        fs::write(&self.limit, format!("{major}:{minor} {bytes_per_second}")).is_ok()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
        let _ = fs::write("/sys/fs/cgroup/blkio/tasks", thread);
        // A group whose last thread has just ended may be busy for a moment.
        for _ in 0..50 {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn a_limit_is_told_and_so_is_a_sample_that_slows_down() {
    let Some(device) = LoopDevice::new(true) else { return };
    let Some(limited) = Limited::new(&device.node) else { return };
    let outcome = bench(&device.node, timed(wide(read()), 300), Settings::default());
    let told = outcome.warnings.iter().find_map(|warning| match warning {
        Warning::Throttled { limit } => Some(limit.clone()),
        _ => None,
    });
    assert!(told.is_some_and(|limit| limit.contains("8388608")), "{:?}", outcome.warnings);
    let megabytes = outcome.tests[0].megabytes_per_second();
    assert!(megabytes < 12.0, "{megabytes} MB/s past a limit of 8");
    // The limit goes in the middle of a sample.
    let (workload, stop) = (workload([timed(wide(read()), 3000)]), AtomicBool::new(false));
    let bench = Bench::new(&device.node, &workload, 5, &stop);
    let outcome = bench
        .run(&mut |event| {
            if let Event::Running(running) = event
                && running.elapsed > Duration::from_microseconds(1_500_000)
            {
                limited.set(&device.node, 0);
            }
        })
        .unwrap();
    let faster = outcome.warnings.iter().any(|warning| {
        matches!(warning, Warning::Transient { first_iops, second_iops, .. }
            if second_iops > first_iops)
    });
    assert!(faster, "{:?}", outcome.warnings);
}

//! Tests each verdict on a real run with a deliberate cause: a limit, a quota, busy loops, one request at a time, or a
//! slow file system.
//!
//! All tests except the busy loops require an otherwise idle processor, so a disturbed run is repeated. If the machine
//! is always busy, the test asserts that the verdict is undecided.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lanemark_inspect::{Sysfs, explain, inspect};
use lanemark_measure::{Bench, EngineKind, MeasureSettings};
use lanemark_schema::result::{
    EvidenceItem, Explanation, LimitingPart, Provenance, RunResult, SCHEMA_VERSION, Target, Warning,
};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{Test, Workload};
use lanemark_testbed::{Group, LoopDevice, Mounted, tool, tool_or_skip};

const SPAN: Bytes = Bytes::mebi(64);
const TRIES: u32 = 6;

/// The tests run one at a time, because each would disturb the others.
static ALONE: Mutex<()> = Mutex::new(());

fn lock_processors() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reads(queue_depth: u32, milliseconds: u64) -> Test {
    Test {
        name: "read".to_owned(),
        span: SPAN,
        duration: Some(Duration::from_microseconds(milliseconds * 1000)),
        ..Test::of_blocks(Bytes::kibi(4))
    }
    .with(|requests| requests.queue_depth = queue_depth)
}

/// Runs `test` like `bench --explain`, and returns its explanation and the warnings.
fn explained(path: &Path, test: Test, engine: EngineKind) -> (Explanation, Vec<Warning>) {
    let workload = Workload::of_test("small", "Small", test);
    let stop = AtomicBool::new(false);
    let settings = MeasureSettings { engine, probe: true, ..MeasureSettings::default() };
    let bench = Bench { settings, ..Bench::new(path, &workload, 7, &stop) };
    let done = bench.run(&mut |_| ()).unwrap();
    let mut run = RunResult {
        schema_version: SCHEMA_VERSION,
        inspection: None,
        power_cuts: Vec::new(),
        provenance: Provenance::default(),
        target: Target::Measured(done.target),
        workload,
        tests: done.tests,
        complete: done.complete,
        warnings: done.warnings.clone(),
    };
    let device = match &run.target {
        Target::Measured(target) => target.block_device.clone(),
        Target::Simulated(_) | Target::Database(_) => None,
    };
    let sysfs = Sysfs::open(Path::new("/sys")).unwrap();
    let inspection = inspect(&sysfs, device.as_deref()).ok();
    explain(&mut run, inspection.as_ref());
    (run.tests[0].explanation.take().unwrap(), done.warnings)
}

/// Checks that the verdict is `wanted` when no other program uses the processors. Until then, it must be undecided,
/// because other programs may be the cause.
fn check_verdict(wanted: LimitingPart, mut take: impl FnMut() -> Explanation) {
    for _ in 0..TRIES {
        let explanation = take();
        if explanation.verdict == wanted {
            eprintln!("{wanted:?} was reported");
            return;
        }
        assert!(explanation.evidence.contains(&EvidenceItem::Crowded), "{explanation:?}");
        assert_eq!(explanation.verdict, LimitingPart::Undecided);
    }
    eprintln!("the machine was busy all the time, and the run said so");
}

/// Returns a loop device over a file with data.
fn device() -> Option<LoopDevice> {
    LoopDevice::with_content(&vec![7; SPAN.get() as usize], true)
}

#[test]
fn a_limit_on_the_device_holds_a_run_back() {
    let _alone = lock_processors();
    let Some(device) = device() else { return };
    for bytes in [false, true] {
        // With 64 outstanding requests, each takes 128 ms, so the limit is reached regardless of other programs.
        let group = if bytes {
            Group::read_bytes_a_second(device.node(), 2_000_000)
        } else {
            Group::reads_a_second(device.node(), 500)
        };
        let Some(_group) = group else { return };
        let (explanation, _) = explained(device.node(), reads(64, 1500), EngineKind::IoUring);
        assert_eq!(explanation.verdict, LimitingPart::HeldBack, "{explanation:?}");
        let met = explanation.evidence.iter().any(
            |sign| matches!(sign, EvidenceItem::DeviceLimit { share, .. } if (0.9..1.4).contains(share)),
        );
        assert!(met, "{explanation:?}");
    }
}

#[test]
fn a_quota_of_processor_time_holds_a_run_back() {
    let _alone = lock_processors();
    let Some(_group) = Group::processor_time(4000) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (explanation, warnings) = explained(folder.path(), reads(1, 1500), EngineKind::Synchronous);
    assert_eq!(explanation.verdict, LimitingPart::HeldBack, "{explanation:?}");
    let quota =
        |sign: &EvidenceItem| matches!(sign, EvidenceItem::Quota { share, .. } if *share > 0.1);
    assert!(explanation.evidence.iter().any(quota), "{explanation:?}");
    assert!(warnings.iter().any(|warning| matches!(warning, Warning::Throttled { .. })));
}

/// Busy loops, more than the number of processors.
struct BusyLoops(Vec<Child>);

impl BusyLoops {
    fn start() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, |count| count.get());
        let one = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            command.spawn().unwrap()
        };
        Self((0..2 * cores).map(one).collect())
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn other_programs_on_the_processors_make_the_verdict_undecided() {
    let _alone = lock_processors();
    let folder = tempfile::tempdir().unwrap();
    let Some(device) = device() else { return };
    let _loops = BusyLoops::start();
    for path in [device.node(), folder.path()] {
        let (explanation, warnings) = explained(path, reads(4, 1500), EngineKind::IoUring);
        // If the test's thread always had a core, other programs did not cause its processor time.
        let own = explanation
            .evidence
            .iter()
            .any(|sign| matches!(sign, EvidenceItem::ThreadBusy { share } if *share >= 0.9));
        let wanted = if own { LimitingPart::CpuBound } else { LimitingPart::Undecided };
        assert_eq!(explanation.verdict, wanted, "{explanation:?}");
        let is_busy = |warning: &Warning| matches!(warning, Warning::OthersBusy { used, cores, .. } if *used > 0.4 * f64::from(*cores));
        assert!(warnings.iter().any(is_busy), "{warnings:?}");
    }
}

#[test]
fn one_request_at_a_time_is_too_few() {
    let _alone = lock_processors();
    let Some(device) = device() else { return };
    check_verdict(LimitingPart::QueueStarved, || {
        explained(device.node(), reads(1, 800), EngineKind::IoUring).0
    });
}

#[test]
fn a_file_system_that_lets_requests_wait_is_found_out() {
    let _alone = lock_processors();
    let Some(device) = device() else { return };
    let Some(mounted) = Mounted::ext4(device.node()) else { return };
    let over = AtomicBool::new(false);
    let Some(_) = tool_or_skip("fsfreeze", &["--version"]) else { return };
    std::thread::scope(|scope| {
        // Writes to a frozen file system wait while the device under it is idle.
        scope.spawn(|| {
            let freeze = |how| tool("fsfreeze", &[how, mounted.path().to_str().unwrap()]).unwrap();
            while !over.load(Ordering::Relaxed) {
                freeze("-f");
                std::thread::sleep(std::time::Duration::from_millis(300));
                freeze("-u");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        let _end = SetOnDrop(&over);
        // Each write arrives while the file system is frozen, and waits for longer than other programs on the
        // processors could delay it. The verdict is therefore the same on a busy machine, unless the test's own thread
        // waits for a core.
        let think = Duration::from_microseconds(100_000);
        let written = Test { span: Bytes::mebi(8), ..reads(1, 3000) }
            .with(|requests| requests.read_share = Ratio::ZERO);
        check_verdict(LimitingPart::FileSystemBound, || {
            explained(
                mounted.path(),
                written.clone().with(|requests| requests.think = think),
                EngineKind::Synchronous,
            )
            .0
        });
    });
}

/// Sets a flag when this value is dropped, including after a panic.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

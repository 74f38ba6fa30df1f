//! Measures the processor times of the machine after the tests.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Bench;
use crate::engine::EngineKind;
use crate::event::{Event, MeasureOutcome};
use crate::host::HostProbe;
use crate::machine::machine;
use crate::target::Target;

/// The share of the time of all tests for which the machine's processor times are measured.
const SHARE: f64 = 0.05;
/// Minimum time for which processor times are measured.
const SHORTEST: Duration = Duration::from_secs(1);
/// Maximum time for which processor times are measured.
const LONGEST: Duration = Duration::from_secs(10);

/// Returns the time for which the machine is measured after tests that took `taken`, if they were long enough.
fn duration_after(taken: Duration) -> Option<Duration> {
    let duration = taken.mul_f64(SHARE).min(LONGEST);
    (duration >= SHORTEST).then_some(duration)
}

/// Returns the folder of the file at `path` if both are on the same file system, or `path` itself if it is a folder.
fn folder_of(path: &Path) -> Option<&Path> {
    if path.is_dir() {
        return Some(path);
    }
    let folder = path.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let device = |path: &Path| path.metadata().ok().map(|about| about.dev());
    // A file that does not exist would be created in the folder. A mounted file is on a different file system.
    let is_there = device(path).is_none_or(|own| Some(own) == device(folder));
    is_there.then_some(folder)
}

impl Bench<'_> {
    /// Returns the processor times of this machine as the text of a host file, after tests that took `taken`. A short
    /// run, a run that did not end normally, and a machine that cannot be measured do not have a host.
    pub(super) fn measured_host(
        &self,
        target: &Target,
        outcome: &MeasureOutcome,
        taken: Duration,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Option<String> {
        let is_wanted = self.settings.host && self.settings.engine == EngineKind::IoUring;
        let has_ended = outcome.failure.is_none() && !self.stop.load(Ordering::Relaxed);
        let duration = duration_after(taken).filter(|_| is_wanted && has_ended)?;
        on(Event::MeasuringHost);
        let path = if target.device { Some(self.path) } else { folder_of(self.path) };
        // Without direct I/O, the time of the driver cannot be measured.
        let target = path.filter(|_| target.page_cache.is_none());
        let figures = HostProbe { target, duration, stop: self.stop }.run(&mut |_| {}).ok()??;
        Some(figures.text("Measured host", &machine().description()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use lanemark_schema::units::Bytes;
    use lanemark_schema::workload::{Test, Workload};

    use super::*;
    use crate::host::MARK;

    #[test]
    fn a_host_takes_a_twentieth_of_the_time_and_ten_seconds_at_the_longest() {
        let seconds = |seconds: f64| Duration::from_secs_f64(seconds);
        for (taken, expected) in [
            (0.0, None),
            (19.9, None),
            (20.1, Some(1.005)),
            (100.0, Some(5.0)),
            (200.0, Some(10.0)),
            (86_400.0, Some(10.0)),
        ] {
            assert_eq!(duration_after(seconds(taken)), expected.map(seconds), "{taken}");
        }
    }

    #[test]
    fn a_file_is_measured_in_its_folder_unless_something_is_mounted_over_it() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = folder.path().join("file");
        assert_eq!(folder_of(folder.path()), Some(folder.path()));
        assert_eq!(folder_of(&file), Some(folder.path()));
        std::fs::write(&file, "x").unwrap();
        assert_eq!(folder_of(&file), Some(folder.path()));
        assert_eq!(folder_of(Path::new("file")), Some(Path::new(".")));
        assert_eq!(folder_of(Path::new("/proc")), Some(Path::new("/proc")));
        assert_eq!(
            folder_of(Path::new("/dev/shm/../../proc/uptime")),
            Some(Path::new("/dev/shm/../../proc"))
        );
    }

    #[test]
    fn only_a_completed_run_of_the_kernels_interface_has_a_host() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let test = Test {
            duration: None,
            volume: Some(Bytes::mebi(1)),
            ..Test::of_blocks(Bytes::kibi(4))
        };
        let workload = Workload::of_test("w", "W", Test { span: Bytes::mebi(1), ..test });
        let stop = AtomicBool::new(false);
        let mut bench = Bench::new(folder.path(), &workload, 1, &stop);
        let mut outcome = bench.run(&mut |_| ()).unwrap();
        assert_eq!(outcome.target.host, None, "the run is short");
        let mut events = 0;
        let mut host = |bench: &Bench<'_>, outcome: &MeasureOutcome, seconds: u64| {
            let allowed = crate::target::OverwritePermission { overwrite: None, offered: None };
            let target = Target::open(bench.path, bench.workload, allowed, false).unwrap();
            let taken = Duration::from_secs(seconds);
            let host = bench.measured_host(&target, outcome, taken, &mut |_| events += 1);
            target.finish().unwrap();
            host
        };
        let text = host(&bench, &outcome, 20).unwrap();
        assert!(text.starts_with(MARK) && text.contains("request_submit"), "{text}");
        assert_eq!(host(&bench, &outcome, 19), None);
        bench.settings.host = false;
        assert_eq!(host(&bench, &outcome, 20), None);
        bench.settings.host = true;
        bench.settings.engine = EngineKind::Null;
        assert_eq!(host(&bench, &outcome, 20), None);
        bench.settings.engine = EngineKind::IoUring;
        stop.store(true, Ordering::Relaxed);
        assert_eq!(host(&bench, &outcome, 20), None);
        stop.store(false, Ordering::Relaxed);
        outcome.failure =
            Some(crate::error::MeasureError::NothingToRun { workload: "w".to_owned() });
        assert_eq!(host(&bench, &outcome, 20), None);
        assert_eq!(events, 1);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

//! Safety of data: created files are removed, and existing files are kept or rejected.

mod workloads;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use lanemark_measure::{Bench, Event, MeasureError};
use lanemark_schema::result::Warning;
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::{
    DatabaseUsers, LoadKind, Pattern, Test, TraceSummary, TransactionProfile,
};
use lanemark_testbed::LoopDevice;
use workloads::{content, read, run, timed, workload, write};

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Returns a folder with a 2 MiB file, the path of the file, and its content.
fn folder_with_file() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious");
    let content = content(2 << 20);
    fs::write(&path, &content).unwrap();
    (folder, path, content)
}

#[test]
fn a_missing_target_is_created_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    for test in [read(), write()] {
        let outcome = run(&path, &workload([test]), None).unwrap();
        assert!(outcome.complete);
        assert_eq!(outcome.target.size_bytes, Some(Bytes::mebi(1)));
        assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
    }
}

#[test]
fn a_folder_gets_its_own_file_and_keeps_the_others() {
    let (folder, path, before) = folder_with_file();
    let workload = workload([write()]);
    let stop = AtomicBool::new(false);
    let bench = Bench::new(folder.path(), &workload, 1, &stop);
    let mut names = Vec::new();
    let outcome = bench.run(&mut |_| names = entries(folder.path())).unwrap();
    assert!(outcome.complete);
    let name = format!("lanemark-{}-", std::process::id());
    assert_eq!(names.len(), 2);
    assert!(
        names.iter().any(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&name))
    );
    assert_eq!(entries(folder.path()), std::slice::from_ref(&path));
    assert_eq!(fs::read(path).unwrap(), before);
}

#[test]
fn an_existing_file_is_refused_and_stays_as_it_is() {
    let (folder, path, before) = folder_with_file();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    for name in [&path, &link] {
        for tests in [vec![write()], vec![read(), write()]] {
            let error = run(name, &workload(tests), None).unwrap_err();
            assert!(matches!(error, MeasureError::Exists { .. }), "{error}");
            assert!(error.hint().unwrap().contains("--overwrite"));
        }
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_may_be_overwritten_is_kept_and_never_shortened() {
    let (_folder, path, before) = folder_with_file();
    let inode = fs::metadata(&path).unwrap().ino();
    let outcome = run(&path, &workload([write()]), Some(&path)).unwrap();
    assert!(outcome.complete);
    assert_eq!(outcome.target.size_bytes, Some(Bytes::mebi(2)));
    let after = fs::read(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    assert_eq!(after.len(), before.len());
    assert_ne!(after[..1 << 20], before[..1 << 20]);
    assert_eq!(after[1 << 20..], before[1 << 20..], "what no test reaches is not written");
}

#[test]
fn a_small_file_that_may_be_overwritten_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small");
    fs::write(&path, "some").unwrap();
    let outcome = run(&path, &workload([write()]), Some(&path)).unwrap();
    assert_eq!(outcome.target.size_bytes, Some(Bytes::mebi(1)));
    assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20);
}

#[test]
fn another_name_of_the_same_file_is_accepted() {
    let (folder, path, _) = folder_with_file();
    let link = folder.path().join("link");
    let hard = folder.path().join("hard");
    symlink(&path, &link).unwrap();
    fs::hard_link(&path, &hard).unwrap();
    for other in [&link, &hard] {
        assert!(run(&path, &workload([write()]), Some(other)).unwrap().complete);
    }
    assert!(link.is_symlink() && hard.exists() && path.exists());
}

#[test]
fn permission_to_overwrite_another_file_is_refused() {
    let (folder, path, before) = folder_with_file();
    let other = folder.path().join("other");
    fs::write(&other, &before).unwrap();
    let nothing = folder.path().join("nothing");
    for (path, overwrite) in
        [(&path, &other), (&path, &nothing), (&nothing, &path), (&nothing, &nothing)]
    {
        for test in [read(), write()] {
            let error = run(path, &workload([test]), Some(overwrite)).unwrap_err();
            assert!(matches!(error, MeasureError::OverwriteMismatch { .. }), "{error}");
        }
    }
    let error = run(folder.path(), &workload([write()]), Some(folder.path())).unwrap_err();
    assert!(matches!(error, MeasureError::OverwriteMismatch { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read(&other).unwrap(), before);
    assert!(!nothing.exists());
}

#[test]
fn a_file_under_a_loop_device_is_not_overwritten() {
    let (_folder, path, before) = folder_with_file();
    let attached = Command::new("losetup").args(["--find", "--show"]).arg(&path).output();
    let Some(attached) = attached.ok().filter(|attached| attached.status.success()) else {
        lanemark_testbed::skipped("this user cannot attach loop devices (losetup from util-linux)");
        return;
    };
    let device = String::from_utf8(attached.stdout).unwrap();
    let refused = run(&path, &workload([write()]), Some(&path));
    Command::new("losetup").args(["-d", device.trim()]).status().unwrap();
    let error = refused.unwrap_err();
    assert!(error.hint().unwrap().ends_with(&format!("losetup -d {}", device.trim())), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn nothing_is_created_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    let end = folder.path().join("end");
    symlink(&end, &link).unwrap();
    let error = run(&link, &workload([write()]), None).unwrap_err();
    assert!(matches!(error, MeasureError::DanglingLink { .. }), "{error}");
    assert!(link.is_symlink() && !end.exists());
}

#[test]
fn reading_leaves_an_existing_file_as_it_is() {
    let (_folder, path, before) = folder_with_file();
    let changed = fs::metadata(&path).unwrap().modified().unwrap();
    for overwrite in [None, Some(path.as_path())] {
        let outcome = run(&path, &workload([read()]), overwrite).unwrap();
        assert!(outcome.complete && outcome.target.size_bytes == Some(Bytes::mebi(2)));
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), changed);
    }
}

#[test]
fn a_file_that_another_program_has_locked_is_not_measured() {
    let (_folder, path, before) = folder_with_file();
    let server = fs::File::open(&path).unwrap();
    rustix::fs::flock(&server, rustix::fs::FlockOperation::LockExclusive).unwrap();
    for (test, overwrite) in [(write(), Some(path.as_path())), (read(), None)] {
        let error = run(&path, &workload([test]), overwrite).unwrap_err();
        assert!(matches!(error, MeasureError::Locked { .. }), "{error}");
        assert!(error.hint().unwrap().contains("lanemark serve"));
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    // If another test starts a child process at this moment, the child has a copy of the descriptor, so closing it here
    // would not suffice.
    rustix::fs::flock(&server, rustix::fs::FlockOperation::Unlock).unwrap();
    assert!(run(&path, &workload([write()]), Some(&path)).unwrap().complete);
}

#[test]
fn a_file_that_the_kernel_makes_up_is_no_target() {
    let path = Path::new("/proc/self/mem");
    for (test, overwrite) in [(read(), None), (write(), Some(path))] {
        let error = run(path, &workload([test]), overwrite).unwrap_err();
        assert!(matches!(error, MeasureError::WrongKind { .. }), "{error}");
    }
}

#[test]
fn a_file_too_small_to_be_read_is_refused_with_both_sizes() {
    let (_folder, path, before) = folder_with_file();
    let test = Test { span: Bytes::mebi(3), ..read() };
    let error = run(&path, &workload([read(), test]), None).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("has 2 MiB, but test `read` needs 3 MiB"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_test_without_requests_is_refused_before_creating_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let summary =
        TraceSummary { read_share: Ratio::ONE, queue_depth: 1, alignment: Bytes::kibi(4) };
    let users = DatabaseUsers {
        profile: TransactionProfile::Tpcc,
        warehouses: 1,
        divisor: 1,
        contents_seed: 1,
        think_times: false,
        pause: lanemark_schema::units::Duration::ZERO,
    };
    for (asks, expected) in [
        (LoadKind::Trace(summary), "only the trace contains the requests"),
        (LoadKind::Database(users), "consists of a database's transactions"),
    ] {
        let mut workload = workload([read()]);
        workload.tests[0].asks = asks;
        let error = run(&path, &workload, None).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().is_some(), "{error}");
        assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
    }
}

#[test]
fn without_room_nothing_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let vast = Test { span: Bytes(1 << 60), ..write() }
        .with(|requests| requests.pattern = Pattern::Sequential);
    for path in [&path, folder.path()] {
        let error = run(path, &workload([vast.clone()]), None).unwrap_err();
        assert!(matches!(error, MeasureError::NoSpace { .. }), "{error}");
        assert!(error.to_string().contains("free, but the workload needs"), "{error}");
        assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
    }
    let existing = folder.path().join("existing");
    fs::write(&existing, "some").unwrap();
    let error = run(&existing, &workload([vast]), Some(&existing)).unwrap_err();
    assert!(matches!(error, MeasureError::NoSpace { .. }), "{error}");
    assert_eq!(fs::read(&existing).unwrap(), b"some");
}

#[test]
fn stopped_while_laying_out_it_removes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let workload = workload([Test { span: Bytes::mebi(64), ..write() }]);
    let stop = AtomicBool::new(false);
    let bench = Bench::new(folder.path(), &workload, 1, &stop);
    let outcome = bench.run(&mut |_| stop.store(true, Ordering::Relaxed)).unwrap();
    assert!(!outcome.complete && outcome.tests.is_empty());
    assert!(outcome.warnings.contains(&Warning::Interrupted));
    assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
}

#[test]
fn after_an_error_the_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let workload = workload([Test { threads: 3, ..timed(read(), 20_000) }]);
    let stop = AtomicBool::new(false);
    let bench = Bench::new(&path, &workload, 1, &stop);
    let outcome = bench
        .run(&mut |event| {
            // Another program empties the file during the run, so the next read does not transfer data.
            if matches!(event, Event::Running { .. }) {
                fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            }
        })
        .expect("the figures until then are kept");
    let failure = outcome.failure.expect("the run failed");
    assert!(matches!(failure, MeasureError::Ended { .. }) && !outcome.complete, "{failure}");
    assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
}

#[test]
fn after_a_panic_the_file_is_removed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let workload = workload([timed(read(), 60_000)]);
    let stop = AtomicBool::new(false);
    let bench = Bench::new(folder.path(), &workload, 1, &stop);
    let begun = std::time::Instant::now();
    for at_layout in [true, false] {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            bench.run(&mut |event| {
                assert!(matches!(event, Event::LayingOut { .. }) != at_layout, "as planned");
            })
        }));
        assert!(ran.is_err());
        assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
    }
    assert!(begun.elapsed().as_secs() < 10);
}

#[test]
fn a_target_that_is_not_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let socket = folder.path().join("socket");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, kind) in
        [(Path::new("/dev/null"), "character device"), (&pipe, "pipe"), (&socket, "socket")]
    {
        for (test, overwrite) in [(read(), None), (write(), None), (write(), Some(path))] {
            let error = run(path, &workload([test]), overwrite).unwrap_err();
            assert!(
                error.to_string().ends_with(&format!("a {kind} cannot be measured")),
                "{error}"
            );
        }
    }
}

#[test]
fn a_block_device_is_read_and_not_written() {
    // The file is full of data, and belongs to the test.
    let Some(held) = LoopDevice::with_content(&vec![0x5a; 1 << 20], true) else { return };
    let device = held.node();
    for overwrite in [None, Some(device)] {
        let error = run(device, &workload([read(), write()]), overwrite).unwrap_err();
        let refused = matches!(
            error,
            MeasureError::DeviceInUse { .. } | MeasureError::DeviceNotOffered { .. }
        );
        assert!(refused, "{error}");
    }
    let outcome = run(device, &workload([read()]), None).unwrap();
    assert!(
        outcome.complete
            && outcome.target.device == Some(true)
            && outcome.target.direct == Some(true)
    );
    assert_eq!(outcome.target.file_system, None);
    assert!(outcome.target.block_device.is_some());
}

#[test]
fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let slash = PathBuf::from(format!("{}/", missing.display()));
    for path in [&missing.join("new"), &slash] {
        let error = run(path, &workload([write()]), None).unwrap_err();
        assert!(matches!(error, MeasureError::NoFolder { .. }), "{error}");
        assert!(error.hint().unwrap().starts_with("create it: mkdir -p "), "{error}");
    }
    // A file has this name, so no folder can be created.
    let file = tempfile::NamedTempFile::new().unwrap();
    for path in [file.path().join("new"), file.path().join("more/new")] {
        let error = run(&path, &workload([write()]), None).unwrap_err();
        let hint = error.hint().unwrap();
        assert!(hint.contains("is not a folder") && !hint.contains("mkdir"), "{error}: {hint}");
    }
    assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
}

#[test]
fn a_folder_that_takes_no_files_is_a_matter_of_permission() {
    // No user may create files in sysfs, including root.
    let error = run(Path::new("/sys/lanemark"), &workload([write()]), None).unwrap_err();
    assert!(matches!(error, MeasureError::Permission { .. }), "{error}");
}

#[test]
fn a_test_that_exceeds_the_machine_is_refused_before_anything_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let deep = read().with(|requests| requests.queue_depth = 40_000);
    let error = run(folder.path(), &workload([deep]), None).unwrap_err();
    assert!(error.to_string().contains("queue_depth = 40000: io_uring accepts up to 32768"));
    let block = Bytes::mebi(64);
    let wide = Test { threads: 1024, block, span: block, ..read() }
        .with(|requests| requests.queue_depth = 32_768);
    let error = run(folder.path(), &workload([wide]), None).unwrap_err();
    assert!(matches!(error, MeasureError::Memory { .. }), "{error}");
    let error = run(folder.path(), &workload([]), None).unwrap_err();
    assert!(matches!(error, MeasureError::NothingToRun { .. }), "{error}");
    assert_eq!(entries(folder.path()), [] as [PathBuf; 0]);
}

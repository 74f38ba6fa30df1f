//! Tests with low system limits. The limits apply to the whole process, so these tests are a separate program and run
//! one at a time.

mod workloads;

use std::fs;
use std::sync::{Mutex, PoisonError};

use lanemark_measure::MeasureError;
use lanemark_schema::result::Warning;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Test;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use workloads::{read, run, timed, workload, write};

static TURN: Mutex<()> = Mutex::new(());

/// Runs `act` with a lower limit.
fn limited<T>(resource: Resource, limit: u64, act: impl FnOnce() -> T) -> T {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = getrlimit(resource);
    setrlimit(resource, Rlimit { current: Some(limit), ..before }).unwrap();
    let outcome = act();
    setrlimit(resource, before).unwrap();
    outcome
}

#[test]
fn a_thread_that_gets_no_ring_ends_the_others_and_the_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let many = Test { threads: 100, ..timed(read(), 60_000) };
    let error =
        limited(Resource::Nofile, 60, || run(folder.path(), &workload([many]), None).unwrap_err());
    assert!(matches!(error, MeasureError::Ring { .. }), "{error}");
    assert!(error.hint().unwrap().contains("ulimit -n"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn without_locked_memory_it_measures_unregistered_and_says_so() {
    // Root may lock more memory than the limit, unless the thread drops this privilege.
    let mut capabilities = rustix::thread::capabilities(None).unwrap();
    capabilities.effective.remove(rustix::thread::CapabilitySet::IPC_LOCK);
    rustix::thread::set_capabilities(None, capabilities).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // The rings themselves need little memory, but the buffers of a test, 1 MiB, do not fit.
    let large = Bytes::kibi(256);
    let tests = [read(), write()]
        .map(|test| Test { block: large, ..test }.with(|requests| requests.alignment = large));
    let outcome = limited(Resource::Memlock, 128 << 10, || {
        run(folder.path(), &workload(tests), None).unwrap()
    });
    assert!(outcome.complete);
    let warned = |warning: &&Warning| matches!(warning, Warning::NotRegistered { .. });
    assert_eq!(outcome.warnings.iter().filter(warned).count(), 1, "{:?}", outcome.warnings);
    assert!(outcome.tests.iter().all(|test| test.samples[0].bytes() == Bytes::mebi(1)));
}

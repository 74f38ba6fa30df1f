//! `--fault` as a user sees it: the counts and the recovery of a fault, identical bytes for a seed, and all errors in
//! one message.

use std::path::Path;

use lanemark_schema::result::{RunResult, Sample};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_testbed::{Lanemark, lanemark};

const SYSTEM: &str = "samsung-850-pro-1tb@workstation-z170:sata";

fn sim(folder: &Path, workload: &str, more: &[&str]) -> Lanemark {
    let words = ["sim", SYSTEM, workload, "--duration", "400ms", "--repeats", "1", "--json"];
    lanemark!(folder, &[&words, more].concat())
}

fn sample_with(workload: &str, options: &[&str]) -> Sample {
    let folder = tempfile::tempdir().unwrap();
    let run = sim(folder.path(), workload, options).stdout();
    let mut run: RunResult = serde_json::from_str(&run).unwrap();
    run.check().unwrap();
    run.tests.remove(0).samples.remove(0)
}

const READS: &str = "quick:rnd4k-q32t1-read";
const WRITES: &str = "quick:rnd4k-q32t1-write";

fn ms(time: u64) -> Duration {
    Duration::from_microseconds(time * 1000)
}

#[test]
fn a_power_cut_fails_outstanding_requests_and_loses_buffered_data() {
    let cut = ["--fault", "power-cut at=200ms boot=100ms"];
    let sample = sample_with(WRITES, &cut);
    let fault = &sample.faults[0];
    assert_eq!((sample.errors.total(), fault.failed, fault.at), (32, 32, ms(200)));
    // The drive's buffer is volatile, so it has acknowledged more data than it has stored.
    assert!(fault.lost > Bytes::ZERO);
    let recovery = fault.recovery.unwrap();
    assert!(recovery >= ms(100) && recovery < ms(102), "{recovery}");
    let stored = ["--set", "drive.buffer.power_loss=stored"];
    let protected = sample_with(WRITES, &[cut, stored].concat());
    assert_eq!((protected.faults[0].failed, protected.faults[0].lost), (32, Bytes::ZERO));
}

#[test]
fn a_fault_after_the_end_of_all_tests_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let message =
        "the fault `power-cut boot=5s at=2s` did not begin: the longest test ended after 400 ms";
    sim(folder.path(), WRITES, &["--fault", "power-cut at=2s boot=5s"]).fails_saying(2, message);
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/file-server.iolog.gz");
    let replay = ["sim", SYSTEM, trace, "--fault", "power-cut at=9000s"];
    lanemark!(folder.path(), &replay)
        .fails_saying(2, "`power-cut boot=10s at=9000s` did not begin");
}

#[test]
fn requests_that_failed_silently_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["sim", SYSTEM, WRITES, "--no-save", "--fault", "lost-write share=1%"];
    let run = lanemark!(folder.path(), &words).with("--duration 50ms --repeats 1");
    let text = run.stdout().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("requests that failed silently: "), "{text}");
}

#[test]
fn a_drive_with_a_protected_cache_cannot_lie_about_a_flush() {
    let folder = tempfile::tempdir().unwrap();
    let protected = ["--fault", "lying-flush", "--set", "drive.buffer.power_loss=stored"];
    sim(folder.path(), WRITES, &protected).fails_saying(2, "lacks a volatile cache");
}

#[test]
fn the_seed_gives_the_bytes_and_another_seed_others() {
    let folder = tempfile::tempdir().unwrap();
    let run = |seed: &str| {
        let more = ["--fault", "link-errors rate=1e-8", "--seed", seed];
        let run = sim(folder.path(), READS, &more).stdout();
        let run: RunResult = serde_json::from_str(&run).unwrap();
        serde_json::to_string(&run.tests).unwrap()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn all_errors_are_reported_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = ["brownout", "link-errors rate=2", "media-error range=2GiB..1GiB"];
    let wrong: Vec<&str> = wrong.iter().flat_map(|fault| ["--fault", fault]).collect();
    let errors = sim(folder.path(), READS, &wrong).fails_with(2);
    for part in ["there is no fault `brownout`", "rate: `2` is not", "ends before it begins"] {
        assert!(errors.contains(part), "{part}:\n{errors}");
    }
    for fault in ["latency extra=1ms drive=4", "retrain lanes=3"] {
        sim(folder.path(), READS, &["--fault", fault]).fails_with(2);
    }
    assert!(!folder.path().join("results").exists());
}

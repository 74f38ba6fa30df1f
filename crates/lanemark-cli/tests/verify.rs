//! Verified writes and checks as a user sees them: exit codes, kills at any moment, and deliberate damage.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_testbed::{LoopDevice, lanemark};
use serde_json::Value;
use tempfile::TempDir;

/// Two threads of eight requests with overlapping sizes, flushes and trims.
const WORKLOAD: &str = r#"
[workload]
name    = "overlapping"
repeats = 1
average = "mean"

[defaults]
span     = "4 MiB"
duration = "400 ms"

[[test]]
name        = "overlap"
alignment   = "4 KiB"
pattern     = "random"
read        = "10%"
queue_depth = 8
threads     = 2
sizes       = ["4 KiB 50%", "32 KiB 50%"]
flush_every = 50
trim        = "2%"

[[test]]
name        = "read"
block       = "4 KiB"
pattern     = "random"
read        = "100%"
queue_depth = 1
"#;

/// A folder with a workload, on the checkout's disk, where direct I/O works.
struct WorkFolder(TempDir);

impl WorkFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        lanemark!(self.0.path(), &[&["verify"], arguments].concat()).command()
    }

    /// Runs a command, which must end with this exit code, and returns stdout and stderr.
    #[track_caller]
    fn ends(&self, arguments: &[&str], code: i32) -> (String, String) {
        lanemark!(self.0.path(), &[&["verify"], arguments].concat()).ends_with(code)
    }

    /// Runs a check, which must end with this exit code, and returns its output.
    #[track_caller]
    fn check(&self, extra: &[&str], code: i32) -> Value {
        let arguments = [&["check", "target", "--journal", "journal", "--json"], extra].concat();
        serde_json::from_str(&self.ends(&arguments, code).0).unwrap()
    }

    fn written() -> Self {
        let folder = Self::new();
        folder.ends(&WRITE, 0);
        folder
    }
}

const WRITE: [&str; 6] = ["write", "target", "--workload", "w.toml", "--journal", "journal"];

fn kinds(verified: &Value) -> Vec<&str> {
    let damage = verified["damage"].as_array().unwrap();
    damage.iter().map(|one| one["kind"].as_str().unwrap()).collect()
}

#[test]
fn written_data_is_intact_and_is_kept() {
    let folder = WorkFolder::new();
    let (written, _) = folder.ends(&[&WRITE[..], &["--json"]].concat(), 0);
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["complete"], true);
    assert!(written["warnings"].to_string().contains("tests-left-out"));
    assert_eq!(written["provenance"]["version"], env!("CARGO_PKG_VERSION"));
    let inputs = written["provenance"]["inputs"].as_object().unwrap();
    assert!(inputs.keys().any(|file| file.ends_with("w.toml")), "{written}");
    let before = folder.check(&[], 0)["provenance"]["inputs"]["journal"].clone();
    assert_eq!(before.as_str().unwrap().len(), 64);
    for extra in [&[][..], &["--engine", "sync"], &["--after", "power-cut"]] {
        let verified = folder.check(extra, 0);
        assert_eq!(verified["units"]["read"], 1024);
        assert!(verified["provenance"]["machine"]["cores"].as_u64() > Some(0));
        assert_eq!(verified["provenance"]["inputs"]["journal"], before, "the same journal");
        assert_eq!(verified["units"]["intact"], 1024);
        assert_eq!(verified["requests"]["acknowledged"], verified["requests"]["submitted"]);
    }
    let (text, _) = folder.ends(&["check", "target", "--journal", "journal"], 0);
    assert!(text.contains("target: intact"), "{text}");
}

#[test]
fn one_at_a_time_with_a_synced_journal_and_without_filling() {
    let folder = WorkFolder::new();
    let extra = ["--engine", "sync", "--journal-sync", "--no-fill", "--duration", "200ms"];
    folder.ends(&[&WRITE[..], &extra].concat(), 0);
    let verified = folder.check(&[], 0);
    assert_eq!(verified["units"]["wrong"], 0);
}

#[test]
fn nothing_of_anybody_is_written_over() {
    let folder = WorkFolder::written();
    // Neither the journal nor the target, which now exists, is overwritten.
    let (_, refused) = folder.ends(&[&WRITE[..], &["--overwrite", "target"]].concat(), 3);
    assert!(refused.contains("hint: use a different --journal"), "{refused}");
    let again = ["write", "target", "--workload", "w.toml", "--journal", "other"];
    let (_, refused) = folder.ends(&again, 3);
    assert!(refused.contains("--overwrite target"), "{refused}");
    assert!(!folder.path("other").exists());
    folder.check(&[], 0);
    folder.ends(&[&again[..], &["--overwrite", "target"]].concat(), 0);
    // The data of the first run is overwritten, and the first journal does not match the second run's units.
    let verified = folder.check(&[], 1);
    let foreign = kinds(&verified).iter().filter(|kind| **kind == "foreign").count();
    // The damage covers all units except for those that the second run trimmed.
    assert!(
        foreign > 300 && verified["units"]["wrong"].as_u64().unwrap() > 900,
        "{foreign} foreign"
    );
    folder.ends(&["check", "target", "--journal", "other"], 0);
}

#[test]
fn wrong_input_is_distinguished_from_damage() {
    let folder = WorkFolder::written();
    folder.ends(&["check", "target", "--journal", "missing"], 2);
    folder.ends(&["check", "missing", "--journal", "journal"], 2);
    assert!(!folder.path("missing").exists());
    folder.ends(&["check", "target", "--journal", "target"], 2);
    let reads = ["write", "new", "--workload", "w.toml:read", "--journal", "new-journal"];
    folder.ends(&reads, 2);
    assert!(!folder.path("new").exists() && !folder.path("new-journal").exists());
    // `verify write` rejects a database workload, because its requests depend on the drive.
    let users = ["write", "new", "--workload", "oltp-hammerdb-1000", "--journal", "new-journal"];
    let (_, refused) = folder.ends(&users, 2);
    assert!(refused.contains("consists of a database's transactions"), "{refused}");
    assert!(!folder.path("new").exists() && !folder.path("new-journal").exists());
    // Data is not judged with a damaged journal.
    let journal = File::options().write(true).open(folder.path("journal")).unwrap();
    journal.write_all_at(b"damage", 4800).unwrap();
    let (_, refused) = folder.ends(&["check", "target", "--journal", "journal"], 2);
    assert!(refused.contains("damaged at record 98"), "{refused}");
}

#[test]
fn a_file_that_was_cut_off_has_lost_data() {
    for length in [2 << 20, 4096 * 3 + 100, 0] {
        let folder = WorkFolder::written();
        let target = File::options().write(true).open(folder.path("target")).unwrap();
        target.set_len(length).unwrap();
        let verified = folder.check(&[], 1);
        assert!(
            kinds(&verified).iter().all(|kind| ["lost", "torn"].contains(kind)),
            "{:?}",
            kinds(&verified)
        );
        let damage = verified["damage"].as_array().unwrap();
        let first = damage.iter().map(|one| one["offset_bytes"].as_u64().unwrap()).min().unwrap();
        assert!(first >= length / 4096 * 4096, "{first} of {length}");
        assert_eq!(verified["units"]["read"], 1024);
        let warnings = verified["warnings"].to_string();
        assert!(
            warnings.contains(&format!("\"held_bytes\":{}", length / 4096 * 4096)),
            "{warnings}"
        );
        let (printed, _) = folder.ends(&["check", "target", "--journal", "journal"], 1);
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains("the rest of the data is lost"), "{printed}");
    }
}

#[test]
fn a_target_that_went_back_in_time_is_found_out() {
    let folder = WorkFolder::new();
    let mut child = spawn(&folder, &[]);
    std::thread::sleep(Duration::from_millis(250));
    let former = fs::read(folder.path("target")).unwrap();
    assert!(child.wait().unwrap().success());
    folder.check(&[], 0);
    let file = File::options().write(true).open(folder.path("target")).unwrap();
    file.write_all_at(&former[..1 << 20], 0).unwrap();
    let verified = folder.check(&[], 1);
    let kinds = kinds(&verified);
    let late = |kind: &&str| ["lost", "stale", "torn"].contains(kind);
    assert!(kinds.len() > 10 && kinds.iter().all(late), "{kinds:?}");
    let inside = |value: &Value| value["offset_bytes"].as_u64().unwrap() < 1 << 20;
    assert!(verified["damage"].as_array().unwrap().iter().all(inside));
    // All of the data had been flushed, so a power cut cannot explain the damage.
    folder.check(&["--after", "power-cut"], 1);
}

/// Starts a run, and returns after it has begun to write.
fn spawn(folder: &WorkFolder, extra: &[&str]) -> Child {
    let arguments = [&WRITE[..], extra].concat();
    let mut command = folder.command(&arguments);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while fs::metadata(folder.path("journal")).map_or(0, |journal| journal.len()) < 1000 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the run does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

#[test]
fn a_run_killed_at_any_moment_leaves_nothing_wrong() {
    let mut rng = Rng::new(StreamKey::from_seed(20));
    let mut open = 0;
    for number in 0..20 {
        let folder = WorkFolder::new();
        let engine = if number % 4 == 3 { "sync" } else { "io_uring" };
        let sync: &[&str] = if number % 5 == 4 { &["--journal-sync"] } else { &[] };
        let extra = [&["--engine", engine, "--duration", "20s"], sync].concat();
        let mut child = spawn(&folder, &extra);
        std::thread::sleep(Duration::from_micros(rng.below(300_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let verified = folder.check(&[], 0);
        assert!(verified["warnings"].to_string().contains("not-ended"), "{verified}");
        assert_eq!(verified["units"]["read"], 1024);
        let requests = &verified["requests"];
        let count = |name: &str| requests[name].as_u64().unwrap();
        open += count("submitted") - count("acknowledged");
    }
    assert!(open > 20, "the kills met only {open} requests under way");
}

#[test]
fn a_run_that_is_interrupted_can_be_checked() {
    let folder = WorkFolder::new();
    let child = spawn(&folder, &["--duration", "20s"]);
    std::thread::sleep(Duration::from_millis(100));
    let kill = ["-INT", &child.id().to_string()];
    assert!(Command::new("kill").args(kill).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    let verified = folder.check(&[], 0);
    assert!(!verified["warnings"].to_string().contains("not-ended"), "{verified}");
}

#[test]
fn an_offered_block_device_is_written_and_judged() {
    let folder = WorkFolder::new();
    let Some(device) = LoopDevice::with_content(&vec![7; 8 << 20], false) else { return };
    let node = device.node().to_str().unwrap();
    let write = ["write", node, "--workload", "w.toml", "--journal", "journal"];
    folder.ends(&write, 3);
    assert!(!folder.path("journal").exists());
    folder.ends(&[&write[..], &["--i-will-lose-all-data-on", node]].concat(), 0);
    let check = ["check", node, "--journal", "journal"];
    folder.ends(&check, 0);
    // Data after the span is unchanged.
    assert!(fs::read(node).unwrap()[4 << 20..].iter().all(|&byte| byte == 7));
    let file = File::options().write(true).open(node).unwrap();
    file.write_all_at(&[1; 512], 1 << 20).unwrap();
    file.sync_all().unwrap();
    folder.ends(&check, 1);
}

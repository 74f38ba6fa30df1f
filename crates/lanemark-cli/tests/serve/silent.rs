//! Silent faults of a served drive, which `lanemark verify` detects; and the commands that list, clear and change
//! faults.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::mounted::start;
use super::{Server, command, folder, stderr};

/// Overlapping writes of two sizes with flushes, over the whole drive.
const WORKLOAD: &str = r#"
[workload]
name    = "overlapping"
repeats = 1
average = "mean"

[[test]]
name        = "overlap"
span        = "4 MiB"
volume      = "16 MiB"
alignment   = "4 KiB"
pattern     = "random"
read        = "0%"
queue_depth = 8
sizes       = ["4 KiB 50%", "32 KiB 50%"]
flush_every = 50
"#;
const DRIVE: [&str; 5] = ["--memory", "--size", "4MiB", "--mount", "disk"];

/// Serves a drive with these faults; returns `None` if this machine cannot mount it.
fn serve(faults: &[&str]) -> Option<Server> {
    let folder = folder();
    fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    let faults = faults.iter().flat_map(|fault| ["--fault", fault]);
    start(folder, &DRIVE.into_iter().chain(faults).collect::<Vec<_>>())
}

#[track_caller]
fn write(folder: &Path) {
    let words = ["verify", "write", "disk", "--overwrite", "disk", "--workload", "w.toml"];
    let output = command(folder, &words).args(["--journal", "journal"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Reads all data back, and returns the kinds of damage.
#[track_caller]
fn check(folder: &Path, extra: &[&str]) -> Vec<String> {
    let words = ["verify", "check", "disk", "--journal", "journal", "--json"];
    let output = command(folder, &words).args(extra).output().unwrap();
    let verified: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    assert_eq!(verified["units"]["read"], 1024);
    let damage = verified["damage"].as_array().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!damage.is_empty())), "{}", stderr(&output));
    damage.iter().map(|one| one["kind"].as_str().unwrap().to_owned()).collect()
}

fn listed(server: &Server) -> String {
    let output = server.control(&["fault", "list"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_sound_drive_is_undamaged_with_and_without_power_cuts() {
    let Some(server) = serve(&[]) else { return };
    write(server.folder.path());
    assert!(check(server.folder.path(), &[]).is_empty());
    assert!(server.control(&["cut", "1ms"]).status.success());
    assert!(check(server.folder.path(), &["--after", "power-cut"]).is_empty());
}

#[test]
fn verify_detects_lost_and_misdirected_writes() {
    for (fault, always, possible) in [
        ("lost-write share=10%", "lost", &["lost", "stale", "torn", "corrupt"][..]),
        (
            "misdirected-write share=10%",
            "misplaced",
            &["misplaced", "lost", "stale", "torn", "corrupt"],
        ),
    ] {
        let Some(server) = serve(&[fault]) else { return };
        write(server.folder.path());
        let kinds = check(server.folder.path(), &[]);
        assert!(kinds.iter().any(|kind| kind == always), "{fault}: {kinds:?}");
        assert!(kinds.iter().all(|kind| possible.contains(&kind.as_str())), "{fault}: {kinds:?}");
        let list = listed(&server);
        assert!(list.contains(" active") && !list.contains(" 0 silent"), "{list}");
    }
}

#[test]
fn verify_detects_flipped_bits_until_the_fault_is_cleared() {
    let Some(server) = serve(&[]) else { return };
    write(server.folder.path());
    assert!(server.control(&["fault", "bit-flips", "share=100%"]).status.success());
    let kinds = check(server.folder.path(), &[]);
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| kind == "corrupt"), "{kinds:?}");
    assert!(server.control(&["fault", "clear", "1"]).status.success());
    assert!(check(server.folder.path(), &[]).is_empty());
}

#[test]
fn verify_detects_a_lying_flush_after_a_power_cut() {
    let Some(server) = serve(&["lying-flush"]) else { return };
    write(server.folder.path());
    assert!(check(server.folder.path(), &[]).is_empty(), "no data is lost yet");
    assert!(server.control(&["cut", "1ms"]).status.success());
    let kinds = check(server.folder.path(), &["--after", "power-cut"]);
    // Blocks that were never stored contain zeros.
    let possible = ["lost", "stale", "torn", "corrupt"];
    assert!(
        kinds.len() > 10 && kinds.iter().all(|kind| possible.contains(&kind.as_str())),
        "{kinds:?}"
    );
}

#[test]
fn faults_are_listed_cleared_and_changed_by_their_numbers() {
    let server = Server::start(folder(), &["--memory", "--size", "64MiB"]);
    assert_eq!(listed(&server), "there are no faults\n");
    let said_ok = |words: &[&str]| {
        let output = server.control(words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(said_ok(&["fault", "latency", "extra=1ms", "share=10%"]), "ok: fault 1\n");
    assert_eq!(said_ok(&["fault", "write-error", "range=0B..1MiB", "at=1h"]), "ok: fault 2\n");
    assert_eq!(said_ok(&["fault", "change", "1", "extra=2ms"]), "ok: fault 3\n");
    let list = listed(&server);
    let lines: Vec<&str> = list.lines().collect();
    for (line, (phase, fault)) in lines.iter().zip([
        ("1 over, from ", ": latency extra=1ms share=10% (0 failed, 0 delayed, 0 silent)"),
        ("2 pending, from ", ": write-error range=0B..1MiB recovery=7s (0 failed"),
        ("3 active, from ", ": latency extra=2ms share=10% (0 failed"),
    ]) {
        assert!(line.starts_with(phase) && line.contains(fault), "{list}");
    }
    assert_eq!(lines.len(), 3);
    for (words, wanted) in [
        (&["fault", "clear"][..], "expected a number, or all"),
        (&["fault", "clear", "0"], "`0` is not the number of a fault"),
        (&["fault", "clear", "4"], "no fault has this number"),
        (&["fault", "clear", "1"], "the fault is already over"),
        (&["fault", "clear", "1", "2"], "unexpected word `2`"),
        (&["fault", "list", "all"], "unexpected word `all`"),
        (&["fault", "change", "3"], "expected a number and keys"),
        (&["fault", "change", "9", "extra=1ms"], "no fault has this number"),
        (&["fault", "change", "3", "share=0%"], "affects no request"),
        (&["fault", "change", "3", "range=0B..1MiB"], "does not have a key `range`"),
        (&["fault", "media-error", "range=64MiB..65MiB"], "the export ends at 64 MiB"),
        (&["fault", "media-error", "range=0B..2TB"], "the drive ends at"),
        (&["fault", "bit-flips", "share=101%"], "100%"),
    ] {
        let output = server.control(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(wanted), "{words:?}: {}", stderr(&output));
    }
    assert_eq!(said_ok(&["fault", "clear", "all"]), "ok: 2 cleared\n");
    assert_eq!(said_ok(&["fault", "clear", "all"]), "ok: 0 cleared\n");
}

#[test]
fn a_volume_lacks_silent_faults_while_served() {
    let mirror = "mirror:samsung-850-pro-1tb@workstation-z170:sata+sata-2";
    let stripe = "stripe:samsung-850-pro-1tb@workstation-z170:sata+sata-2";
    let silent =
        ["lost-write share=1%", "misdirected-write share=1%", "bit-flips share=1%", "lying-flush"];
    let refused = |output: &std::process::Output| {
        let errors = stderr(output);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("can't damage the data of a volume"), "{errors}");
    };
    // Each command that serves a volume rejects the faults before it does anything else.
    for (volume, fault, words) in [
        (mirror, silent[0], &["serve", "--port", "0", "--memory"][..]),
        (stripe, silent[3], &["serve", "--port", "0", "--memory"]),
        (stripe, silent[1], &["trial", "--size", "64MiB"]),
        (mirror, silent[2], &["trial", "--size", "64MiB"]),
    ] {
        let mut all = vec![words[0], volume, "--fault", fault];
        all.extend(&words[1..]);
        all.extend((words[0] != "serve").then_some(["--", "true"]).into_iter().flatten());
        let folder = folder();
        let output = command(folder.path(), &all).env("TMPDIR", folder.path()).output().unwrap();
        refused(&output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{words:?}");
    }
    for volume in [mirror, stripe] {
        let arguments = ["--memory", "--size", "64MiB"];
        let server = Server::try_start_of(volume, folder(), &arguments);
        let server = server.unwrap_or_else(|output| panic!("{}", stderr(&output)));
        for fault in silent {
            let words: Vec<&str> = ["fault"].into_iter().chain(fault.split(' ')).collect();
            refused(&server.control(&words));
        }
        assert_eq!(listed(&server), "there are no faults\n");
        // Faults with errors are possible, but a mirror does not continue with its other drive.
        let one = server.control(&["fault", "media-error", "share=1%", "drive=1"]);
        assert_eq!(
            one.status.code(),
            Some(if volume == mirror { 2 } else { 0 }),
            "{}",
            stderr(&one)
        );
        assert_eq!(stderr(&one).contains("a mirror that continues"), volume == mirror);
        let all = server.control(&["fault", "media-error", "share=1%"]);
        assert_eq!(all.status.code(), Some(0), "{}", stderr(&all));
        assert!(listed(&server).contains("1 active"), "{}", listed(&server));
    }
}

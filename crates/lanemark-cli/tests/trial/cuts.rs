//! Power cuts: the outcome is kept, lost, or not known.

use std::fs;
use std::path::Path;

use lanemark_testbed::{MountFolder, Mounted, skipped, tool_or_skip};

use super::{ALONE, DISK, SATA, commits, in_front, is_root, left, program, root_folder, run, text};

/// Each line that the command printed after `fsync` is acknowledged and must be in the file after a cut.
const CHECK: &str = "n=$(wc -l <$LANEMARK_OUTPUT); m=$(wc -l <log 2>/dev/null || echo 0); \
    echo $n printed, $m stored; test $m -ge $n";

#[test]
fn power_cuts_lose_nothing_that_was_flushed() {
    let Some(folder) = root_folder() else { return };
    let script = commits(400);
    let words = [SATA, "--cuts", "4", "--check", CHECK, "--turns", "1", "--size", "64MiB"];
    let options = ["--time-scale", "1", "--json", "--", "python3", "-c", &script];
    let sound = run(&folder, &[&words[..], &options].concat());
    let printed = text(&sound.stdout);
    assert!(sound.status.success(), "{printed}{}", text(&sound.stderr));
    let outcome: serde_json::Value = serde_json::from_slice(&sound.stdout).unwrap();
    let cuts = outcome["runs"][0]["power_cuts"].as_array().unwrap();
    assert!(cuts.iter().all(|cut| cut["outcome"] == "kept"), "{printed}");
    // The moments of the cuts are random, and before the usual end of the command.
    let wall = outcome["runs"][0]["tests"][0]["samples"][0]["live"]["program"]["wall_ns"].as_f64();
    let mut moments: Vec<f64> = cuts.iter().map(|cut| cut["after_s"].as_f64().unwrap()).collect();
    assert!(moments.iter().all(|moment| *moment < wall.unwrap() / 1e9), "{printed}");
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    assert_eq!(moments.len(), 4, "{printed}");
    assert!(left(&folder).is_empty());
}

/// Writes numbered blocks all over the disk, and prints each number after a flush.
const BLOCKS: &str = "
import mmap, os
disk = os.open(os.environ['LANEMARK_DEVICE'], os.O_RDWR | os.O_DIRECT)
block = mmap.mmap(-1, 4096)
for number in range(3000):
  block[:8] = b'%08d' % number
  os.pwrite(disk, block, number * 2741 % 16384 * 4096)
  os.fsync(disk)
  print(number, flush=True)
";

/// Compares all blocks whose numbers were printed.
const CHECK_BLOCKS: &str = "python3 -c \"
import os, sys
disk = open(os.environ['LANEMARK_DEVICE'], 'rb')
lost = 0
for number in map(int, open(os.environ['LANEMARK_OUTPUT'])):
  disk.seek(number * 2741 % 16384 * 4096)
  lost += disk.read(8) != b'%08d' % number
print(lost, 'blocks are lost')
sys.exit(lost > 0)
\"";

/// A hard disk needs some milliseconds for each of these blocks, so its cache contains many blocks at any moment.
#[test]
fn power_cuts_lose_data_of_a_drive_that_lies_about_flushes() {
    let Some(folder) = root_folder() else { return };
    let words = [DISK, "--fs", "none", "--cuts", "2", "--check", CHECK_BLOCKS, "--turns", "1"];
    let options = ["--fault", "lying-flush", "--size", "64MiB", "--time-scale", "1"];
    let words = [&words[..], &options, &["--", "python3", "-c", BLOCKS]].concat();
    let output = run(&folder, &words);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}{}", text(&output.stderr));
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("ACKNOWLEDGED DATA WAS LOST in 2 of 2 power cuts"), "{printed}");
    assert!(words.contains("the drive had answered flushes without storing the data"), "{printed}");
    assert!(printed.contains("blocks are lost"), "{printed}");
}

#[test]
fn a_check_that_fails_without_a_cut_is_not_a_loss() {
    let Some(folder) = root_folder() else { return };
    for (check, why) in [
        ("no-such-program-of-lanemark", "ended with exit code 127"),
        ("echo row 7; exit 1", "ended with exit code 1: row 7"),
        ("echo row 7; exit 4", "ended with exit code 4: row 7"),
    ] {
        let words = [SATA, "--cuts", "1", "--check", check, "--turns", "1", "--size", "64MiB"];
        let words =
            [&words[..], &["--time-scale", "1", "--", "sh", "-c", "echo x >f; sync"]].concat();
        let output = run(&folder, &words);
        let printed = text(&output.stdout);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{check}: {printed}{errors}");
        assert!(errors.contains("--check: ") && errors.contains(why), "{check}: {errors}");
        assert!(!printed.contains("LOST"), "{check}: {printed}");
    }
    assert!(left(&folder).is_empty());
}

/// The check runs three times: without a cut, and after two cuts. It judges the data only the first time and the last.
#[test]
fn an_outcome_that_the_check_does_not_judge_is_not_known() {
    let Some(folder) = root_folder() else { return };
    let runs = folder.path().join("runs");
    let check = format!("echo x >>{0}; test $(wc -l <{0}) != 2 || exit 9", runs.display());
    let words = [SATA, "--cuts", "2", "--check", &check, "--turns", "1", "--size", "64MiB"];
    let options = ["--time-scale", "1", "--json", "--", "sh", "-c", "echo x >f; sync; sleep 0.2"];
    let output = run(&folder, &[&words[..], &options].concat());
    let printed = text(&output.stdout);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{printed}{errors}");
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cuts = &outcome["runs"][0]["power_cuts"];
    assert_eq!((&cuts[0]["outcome"], &cuts[1]["outcome"]), (&"unknown".into(), &"kept".into()));
    assert!(cuts[0]["cause"].as_str().unwrap().contains("exit code 9"), "{cuts}");
    assert_eq!(fs::read_to_string(&runs).unwrap().lines().count(), 3);
}

/// A command that fills the folder of its trial from its run with this number on, and then waits.
fn fill_from_run(number: u32, runs: &Path, full: &Path) -> String {
    format!(
        "echo x >>{0}; test $(wc -l <{0}) -lt {number} || head -c 1G /dev/zero >{1} 2>/dev/null
         echo x >f; sync; sleep 0.5",
        runs.display(),
        full.display()
    )
}

#[test]
fn a_folder_that_is_full_during_a_turn_is_named() {
    let Some(small) = Mounted::with(&["-t", "tmpfs", "-o", "size=48m", "lanemark"]) else { return };
    let folder = MountFolder::new();
    let command = fill_from_run(1, &folder.path().join("runs"), &small.path().join("full"));
    let words = [SATA, "--folder", small.path().to_str().unwrap(), "--turns", "1"];
    let options = ["--size", "32MiB", "--time-scale", "1", "--", "sh", "-c", &command];
    let output = run(&folder, &[&words[..], &options].concat());
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("is full; use a different folder"), "{errors}");
    assert!(!errors.contains("sent no requests"), "{errors}");
}

/// The disk of the trial becomes full in the fourth run of the command, which is the first run with a cut.
#[test]
fn a_full_disk_at_a_cut_is_not_a_loss() {
    let Some(small) = Mounted::with(&["-t", "tmpfs", "-o", "size=48m", "lanemark"]) else { return };
    let folder = MountFolder::new();
    let command = fill_from_run(4, &folder.path().join("runs"), &small.path().join("full"));
    let words = [SATA, "--folder", small.path().to_str().unwrap(), "--cuts", "2"];
    let options = ["--check", "test -e f", "--turns", "1", "--size", "32MiB", "--time-scale", "1"];
    let words = [&words[..], &options, &["--", "sh", "-c", &command]].concat();
    let output = run(&folder, &words);
    let printed = text(&output.stdout);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{printed}{errors}");
    assert!(printed.contains("It is not known in 2 of 2 power cuts"), "{printed}{errors}");
    assert!(!printed.contains("LOST"), "{printed}");
}

/// Python as the first process of a container waits only for its own child, so it never reaps an orphan.
#[test]
fn a_daemon_that_a_cut_ended_is_not_alive_in_a_container_without_init() {
    if !is_root() || tool_or_skip("unshare", &["--help"]).is_none() {
        return skipped("a disk, which only root can have");
    }
    let folder = MountFolder::new();
    let command = "setsid sleep 1000 & echo $! >pid; sync pid; sleep 0.2";
    let check = "! kill -0 $(cat pid 2>/dev/null || echo 4000000) 2>/dev/null";
    let words = [SATA, "--cuts", "2", "--check", check, "--turns", "1", "--size", "64MiB"];
    let words = [&words[..], &["--time-scale", "1", "--", "sh", "-c", command]].concat();
    let trial = program(folder.path(), &words);
    let init = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))";
    let container = ["unshare", "--pid", "--fork", "--mount-proc", "python3", "-c", init];
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let output = in_front(&container, &trial, folder.path()).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

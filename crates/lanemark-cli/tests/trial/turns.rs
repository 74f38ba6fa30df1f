//! The parameters and times of single turns.

use std::fs;

use super::{DISK, NVME, SATA, root_folder, run, saved, text};

/// Writes the seeds on the command lines of all servers that the parent process has started.
const SEEDS: &str = "
import os, sys
for number in filter(str.isdigit, os.listdir('/proc')):
  try:
    parent = open(f'/proc/{number}/stat').read().rsplit(')', 1)[1].split()[1]
    words = open(f'/proc/{number}/cmdline').read().split('\\0')
  except OSError:
    continue
  if parent == str(os.getppid()) and words[1] == 'serve':
    open(sys.argv[1], 'a').write(words[words.index('--seed') + 1] + '\\n')
f = os.open('log', os.O_WRONLY | os.O_CREAT)
os.write(f, b'x')
os.fsync(f)
";

#[test]
fn each_turn_has_its_own_seed_which_all_systems_share() {
    let Some(folder) = root_folder() else { return };
    let seeds = folder.path().join("seeds");
    let words = [SATA, NVME, "--turns", "2", "--seed", "40", "--size", "64MiB"];
    let command = ["--time-scale", "1", "--", "python3", "-c", SEEDS, seeds.to_str().unwrap()];
    let output = run(&folder, &[&words[..], &command].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = fs::read_to_string(&seeds).unwrap();
    // The uncounted turns have the seed of the first round.
    assert_eq!(lines.lines().collect::<Vec<_>>(), ["40", "40", "40", "40", "41", "41"]);
}

/// Mounting reads the file system, and the program does not.
#[test]
fn the_time_of_the_mount_is_not_the_programs() {
    let Some(folder) = root_folder() else { return };
    let words = [DISK, "--turns", "1", "--size", "64MiB", "--time-scale", "1", "--", "true"];
    let output = run(&folder, &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = saved(&folder, &[DISK]).remove(0);
    let live = result.tests[0].samples[0].live.as_ref().unwrap();
    let program = live.program.as_ref().unwrap();
    assert!(live.busy.as_seconds() > 0.0);
    assert!(program.busy.as_seconds() < 0.1 * live.busy.as_seconds(), "{live:?}");
}

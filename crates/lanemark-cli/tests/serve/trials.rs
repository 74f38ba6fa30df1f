//! `lanemark trial` with power cuts under SQLite on ext4.
//!
//! The writer prints the number of a row after SQLite has acknowledged its commit. After each cut, the check compares
//! the printed numbers with the rows. SQLite flushes its log before it acknowledges a commit, so each printed row must
//! exist. `tests/trial/cuts.rs` contains the control: a drive that lies about flushes loses data in the same cuts.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::PoisonError;

use lanemark_testbed::{skipped, tool_or_skip};
use serde_json::Value;

use super::mounted::DISKS;
use super::{SATA, command, count, folder, stderr};

const NVME: &str = "samsung-980-pro-1tb@workstation-x570:m2";
const WRITER: &str = r"
import sqlite3, sys
rows = sqlite3.connect('rows.db', isolation_level=None)
rows.execute('pragma journal_mode = wal')
rows.execute('pragma synchronous = full')
rows.execute('create table rows (number integer primary key, text text)')
for number in range(int(sys.argv[1])):
    rows.execute('insert into rows values (?, ?)', (number, str(number) * 100))
    print(number, flush=True)
";
/// Appends the numbers of acknowledged and lost rows to a file. A damaged database counts as losing all rows.
const CHECK: &str = r"
import os, sqlite3, sys
with open(os.environ['LANEMARK_OUTPUT']) as output:
    acknowledged = {int(line) for line in output if line.endswith('\n')}
rows = set()
try:
    table = sqlite3.connect('rows.db').execute('select number, text from rows')
    rows = {number for number, text in table if text == str(number) * 100}
except sqlite3.DatabaseError as error:
    print(error, file=sys.stderr)
lost = len(acknowledged - rows)
with open(sys.argv[1], 'a') as counts:
    print(len(acknowledged), lost, file=counts)
sys.exit(lost > 0)
";

/// The sums over all power cuts of a trial.
#[derive(Debug, Default)]
struct CutSum {
    exit_code: Option<i32>,
    cuts: u64,
    /// Number of cuts in which the drive lost writes that no flush had stored.
    lost_writes: u64,
    /// Number of cuts after which the check found all rows.
    kept: u64,
    /// Number of rows that were acknowledged before the cuts, and number of these rows that the cuts lost.
    acknowledged: u64,
    lost: u64,
}

/// Runs a trial in which the writer commits `rows` rows, with `cuts` power cuts of each system.
fn trial(folder: &Path, systems: &[&str], cuts: u64, rows: u64) -> CutSum {
    fs::write(folder.join("writer.py"), WRITER).unwrap();
    fs::write(folder.join("check.py"), CHECK).unwrap();
    let script = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let writer = script("writer.py");
    let counts = script("counts");
    let check = format!("python3 {} {counts}", script("check.py"));
    let cuts = cuts.to_string();
    let rows = rows.to_string();
    let fixed =
        ["--check", &check, "--turns", "1", "--size", "256MiB", "--time-scale", "1", "--json"];
    let program = ["--", "python3", &writer, &rows];
    let words = [&["trial"][..], systems, &["--cuts", &cuts], &fixed, &program].concat();
    let mut trial = command(folder, &words);
    trial.env("LANEMARK_RESULTS", folder.join("results")).env("TMPDIR", folder);
    let output = trial.output().unwrap();
    let outcome: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let mut sum = CutSum { exit_code: output.status.code(), ..CutSum::default() };
    let of = outcome["runs"].as_array().unwrap();
    assert_eq!(of.len(), systems.len(), "{outcome}");
    for (system, name) in of.iter().zip(systems) {
        assert_eq!(system["target"]["system"].as_str(), Some(*name));
        for cut in system["power_cuts"].as_array().unwrap() {
            sum.cuts += 1;
            sum.lost_writes += u64::from(cut["lost_writes"] == true);
            sum.kept += u64::from(cut["outcome"] == "kept");
        }
    }
    let counted = match fs::read_to_string(&counts) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        counted => counted.unwrap(),
    };
    // Before the cuts the check runs once without a cut, on each system.
    assert_eq!(counted.lines().count() as u64, sum.cuts + systems.len() as u64, "{outcome}");
    for line in counted.lines() {
        let (acknowledged, lost) = line.split_once(' ').unwrap();
        sum.acknowledged += acknowledged.parse::<u64>().unwrap();
        sum.lost += lost.parse::<u64>().unwrap();
    }
    let _ = fs::remove_file(counts);
    sum
}

#[test]
fn sqlite_keeps_acknowledged_rows_in_power_cuts() {
    let _alone = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skipped("a disk, which only root can have");
    }
    if tool_or_skip("python3", &["-c", "import sqlite3"]).is_none() {
        return;
    }
    let cuts = count(2, 10);
    let is_long = cuts == 10;
    let systems: &[&str] = if is_long { &[SATA, NVME] } else { &[SATA] };
    let all = cuts * systems.len() as u64;
    let folder = folder();
    let rows = count(200, 1_000);
    let sound = trial(folder.path(), systems, cuts, rows);
    println!("{sound:?}");
    assert_eq!((sound.exit_code, sound.cuts, sound.kept), (Some(0), all, all), "{sound:?}");
    assert!(sound.acknowledged > 0 && sound.lost == 0, "{sound:?}");
    assert!(!is_long || sound.lost_writes > 0, "no cut reached the drive's cache: {sound:?}");
}

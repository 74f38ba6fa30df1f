//! `lanemark trial --database` in its short form: both systems of the study, and cleanup regardless of how the command
//! ends. The tests are skipped, with a message, if root, FUSE, loop devices or PostgreSQL's programs are missing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use lanemark_oltp::managed;
use lanemark_testbed::{lanemark, skipped, tool_or_skip};

const STUDY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/oltp-value-sas.toml");
const OTHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/sata-express.toml");

fn command(folder: &Path, args: &[&str]) -> Command {
    lanemark!(folder, &[&["trial", "--database"], args].concat()).command()
}

fn stderr(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    both.concat()
}

/// Returns a folder that the server's account can access.
fn place() -> Option<tempfile::TempDir> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        skipped("a disk, which only root can have");
        return None;
    }
    tool_or_skip("chrt", &["--rr", "1", "true"])?;
    if !["/dev/fuse", "/dev/loop-control"].iter().all(|path| Path::new(path).exists()) {
        skipped("the kernel's FUSE or loop devices");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if managed::programs().is_none() {
        skipped("PostgreSQL is not installed (package postgresql)");
        return None;
    }
    Some(folder)
}

/// Returns the processes whose command lines name the folder, with their folders in `/proc`.
fn processes(folder: &Path) -> Vec<(PathBuf, String)> {
    let name = folder.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let lines = entries.filter_map(|entry| Some((fs::read(entry.join("cmdline")).ok()?, entry)));
    let lines = lines.map(|(line, own)| (own, String::from_utf8_lossy(&line).replace('\0', " ")));
    lines.filter(|(_, line)| line.contains(name)).collect()
}

/// Waits until no process runs in the folder.
fn gone(folder: &Path) {
    let begun = Instant::now();
    while !processes(folder).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", processes(folder));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_short_run_sets_three_columns_side_by_side_and_leaves_nothing() {
    let Some(folder) = place() else { return };
    let here = folder.path();
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    let common = [STUDY, "--short", "--folder", "work"];
    // A study without a database, and a disk without space, are reported before data is loaded.
    let output = command(here, &[OTHER, "--short"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("its tests do not use a database"), "{}", stderr(&output));
    fs::write(here.join("mine.csv"), "mine").unwrap();
    let output = command(here, &[&common[..], &["--csv", "mine.csv"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(here.join("mine.csv")).unwrap(), "mine");

    let outputs = ["--out", "out", "--csv", "table.csv"];
    let output = command(here, &[&common[..], &outputs].concat()).output().unwrap();
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{messages}");
    // The width of a column depends on the measured figures.
    let words = messages.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "published simulated predicted measured",
        "SATA S4500",
        "SAS RM5",
        "servers saved",
        "time scale",
    ] {
        assert!(words.contains(part), "{part}: {messages}");
    }
    let table = fs::read_to_string(here.join("table.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 11, "{table}");
    for row in &rows[1..] {
        assert_eq!(row.len(), rows[0].len(), "{table}");
        assert!(row[3..8].iter().all(|value| value.parse::<f64>().unwrap() > 0.0), "{table}");
    }
    assert_eq!(rows[1][..4], ["sata", "transactions", "tpm", "1370000.000000"]);
    // Each system's run is an ordinary result and can be compared.
    let mut saved: Vec<PathBuf> =
        fs::read_dir(here.join("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    saved.sort();
    let names: Vec<&str> = saved.iter().map(|path| path.to_str().unwrap()).collect();
    assert!(names.len() == 2 && names[0].contains("oltp-live-sas-"), "{names:?}");
    let run: serde_json::Value = serde_json::from_slice(&fs::read(&saved[1]).unwrap()).unwrap();
    let settings = &run["target"]["settings"];
    assert!(
        settings["served"].as_str().unwrap().starts_with("stripe-64KiB:intel-s4500-960gb@"),
        "{settings}"
    );
    let scale: f64 = settings["time_scale"].as_str().unwrap().parse().unwrap();
    let rate = run["tests"][0]["samples"][0]["transactions"]["per_minute"].as_f64().unwrap();
    let measured: f64 = rows[1][5].parse().unwrap();
    assert!((measured / (rate * scale) - 1.0).abs() < 1e-6, "{measured} {rate} {scale}");
    // The table marks the runs as valid if the saved runs are valid.
    let is_late = run["warnings"].to_string().contains("not-delivered");
    assert_eq!(rows[1][9] == "false", is_late, "{table}");
    assert_eq!(messages.contains("INVALID"), table.contains(",false"), "{messages}");
    lanemark!(&["compare", names[1], names[0]]).stdout();
    gone(&work);
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
}

#[test]
fn nothing_is_left_of_a_run_that_is_interrupted_or_killed() {
    let Some(folder) = place() else { return };
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(143)), ("-KILL", None)] {
        let work = folder.path().join(signal);
        fs::create_dir(&work).unwrap();
        let within = work.to_str().unwrap();
        let args = [STUDY, "--short", "--folder", within, "--out", "out"];
        let mut command = command(folder.path(), &args);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The test waits until the PostgreSQL server has started.
        let begun = Instant::now();
        while !processes(&work).iter().any(|(_, line)| line.contains("postgres")) {
            assert!(
                begun.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        let there = processes(&work);
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        gone(&work);
        // A zombie process does not have a command line.
        let begun = Instant::now();
        while let Some((own, line)) = there.iter().find(|(own, _)| own.join("status").exists()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}: {line}", own.display());
            std::thread::sleep(Duration::from_millis(50));
        }
        // After a kill, another process removes the folder.
        let begun = Instant::now();
        while fs::read_dir(&work).unwrap().count() > 0 {
            assert!(code.is_none() && begun.elapsed() < Duration::from_secs(60), "{signal}");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(!folder.path().join("out").exists() || code.is_none(), "{signal}");
    }
}

#[test]
fn without_root_it_says_so_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut command = command(folder.path(), &[STUDY, "--short"]);
    if is_root {
        std::os::unix::process::CommandExt::uid(&mut command, 65534);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return skipped(&format!("the program as another user: {error}")),
    };
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("requires root"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

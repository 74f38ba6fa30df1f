//! A signal ends any command within a second and delivers its partial result; the exit code identifies the signal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use lanemark_testbed::lanemark;
use serde_json::Value;
use tempfile::TempDir;

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
/// One second, plus the time that a busy machine may need to schedule a process.
const SOON: Duration = Duration::from_millis(2500);

/// Returns the saved result `r.json`.
fn result(folder: &TempDir) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path().join("r.json")).unwrap()).unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn wait_for(what: &str, there: impl Fn() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < Duration::from_secs(60), "no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn names(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// Sends a signal, after which the command must end soon. The caller's limit permits another attempt on a busy machine.
#[track_caller]
fn ends(child: Child, signal: &str, code: i32) -> Output {
    let id = child.id().to_string();
    Command::new("kill").args([signal, &id]).status().unwrap();
    let began = Instant::now();
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    // A command that does not end is killed, so that the test fails instead of hanging.
    let guard = std::thread::spawn(move || {
        if is_over.recv_timeout(SOON * 8).is_err() {
            let _ = Command::new("kill").args(["-KILL", &id]).status();
        }
    });
    let output = child.wait_with_output().unwrap();
    let elapsed = began.elapsed();
    let _ = over.send(());
    guard.join().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{messages}");
    assert!(elapsed < SOON, "{signal}: {elapsed:?}");
    assert!(!messages.contains("panicked"), "{messages}");
    output
}

#[test]
fn each_signal_has_its_exit_code_and_leaves_nothing_of_a_measurement() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let folder = folder();
        let arguments = ["bench", "target.dat", "--size", "4MiB", "--duration", "600s"];
        let child =
            lanemark!(folder.path(), &[&arguments[..], &["--out", "r.json"]].concat()).start();
        wait_for("target", || folder.path().join("target.dat").exists());
        std::thread::sleep(Duration::from_millis(500));
        ends(child, signal, code);
        // The result contains the counts of the first test up to the signal.
        assert_eq!(result(&folder)["complete"], false);
        assert_eq!(names(folder.path()), [folder.path().join("r.json")]);
    }
}

#[test]
fn a_long_simulated_test_is_left_with_the_tests_before_it() {
    let folder = folder();
    let text = "[workload]\nname = \"two\"\nrepeats = 1\naverage = \"mean\"\n\n[defaults]\nblock = \"4 KiB\"\n\
        pattern = \"random\"\nread = \"100%\"\nspan = \"1 MiB\"\nqueue_depth = 32\nthreads = 1\n\n\
        [[test]]\nname = \"short\"\nduration = \"1 ms\"\n\n[[test]]\nname = \"long\"\nduration = \"1 h\"\n";
    fs::write(folder.path().join("two.toml"), text).unwrap();
    let child =
        lanemark!(folder.path(), &["sim", NVME, "two.toml", "--out", "r.json", "--html", "p.html"])
            .start();
    wait_for("result", || folder.path().join("r.json").exists());
    let output = ends(child, "-TERM", 143);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("short") && printed.contains("interrupted"), "{printed}");
    let result = result(&folder);
    assert_eq!(result["tests"].as_array().unwrap().len(), 1);
    assert!(result["warnings"].to_string().contains("interrupted"), "{}", result["warnings"]);
    assert!(folder.path().join("p.html").exists());
    assert_eq!(names(folder.path()).len(), 3, "{:?}", names(folder.path()));
    // During the first test there is no result yet, so no file is written.
    let long = ["sim", NVME, "two.toml:long", "--out", "new/r.json"];
    let child = lanemark!(folder.path(), &long).start();
    wait_for("folder", || folder.path().join("new").exists());
    let output = ends(child, "-INT", 130);
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing is saved"));
    assert!(!folder.path().join("new").exists());
}

#[test]
fn a_study_that_ends_within_a_long_test_saves_the_ended_tests() {
    let folder = folder();
    let workload = "[workload]\nname = \"two\"\nrepeats = 1\naverage = \"mean\"\norder = \"listed\"\n\n\
        [defaults]\nblock = \"4 KiB\"\npattern = \"random\"\nread = \"100%\"\nspan = \"1 MiB\"\n\
        queue_depth = 32\nthreads = 1\n\n[[test]]\nname = \"short\"\nduration = \"1 ms\"\n\n\
        [[test]]\nname = \"long\"\nduration = \"5 h\"\n";
    fs::write(folder.path().join("two.toml"), workload).unwrap();
    let study = "[study]\ntitle = \"Two\"\nquestion = \"How long?\"\ndocument = \"none\"\n\
        citation = \"Author\"\nworkload = \"two.toml\"\nnotes = []\n\n[[system]]\nname = \"one\"\n\
        label = \"One\"\ndrive = \"samsung-950-pro-512gb\"\nplatform = \"workstation-z170\"\n\
        port = \"pcie-slot\"\n";
    fs::write(folder.path().join("study.toml"), study).unwrap();
    let words = ["study", "study.toml", "--full", "--out", "r.json", "--html", "p.html"];
    let child = lanemark!(folder.path(), &words).start();
    // The short test takes a moment, and the long test minutes.
    std::thread::sleep(Duration::from_millis(1500));
    let output = ends(child, "-TERM", 143);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("short") && printed.contains("interrupted"), "{printed}");
    let result = result(&folder);
    let run = &result["systems"][0]["run"];
    assert_eq!(
        (run["tests"].as_array().unwrap().len(), &run["complete"]),
        (1, &Value::from(false))
    );
    assert_eq!(run["tests"][0]["test"]["name"], "short");
    assert!(folder.path().join("p.html").exists());
}

#[test]
fn a_sweep_keeps_its_points_and_continues() {
    let folder = folder();
    let test = "crystaldiskmark-8:rnd4k-q32t1-read";
    let sweep = lanemark!(folder.path(), &["sweep", NVME, "--workload", test, "--full"]);
    let child = sweep.with("--axis queue_depth=1,2 --axis duration=1ms,1h --out s.csv").start();
    let rows = || fs::read_to_string(folder.path().join("s.csv")).unwrap_or_default();
    wait_for("row", || rows().lines().count() > 1);
    let output = ends(child, "-INT", 130);
    assert!(String::from_utf8_lossy(&output.stderr).contains("run the same command to continue"));
    assert!(rows().ends_with('\n') && rows().lines().count() > 1);
}

#[test]
fn commands_without_anything_to_keep_end_at_once() {
    let folder = folder();
    let child = lanemark!(folder.path(), &["compare", NVME, "--queue-depth", "2", "--full"])
        .with("--workload crystaldiskmark-8 --duration 1000s")
        .start();
    std::thread::sleep(Duration::from_millis(400));
    ends(child, "-HUP", 129);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_reader_that_does_not_read_cannot_keep_it_alive() {
    let folder = folder();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
    let arguments = ["sim", NVME, "crystaldiskmark-8", "--duration", "10ms", "--out", "r.json"];
    command.args(arguments).arg("--json").current_dir(folder.path()).stdout(writer);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    wait_for("result", || folder.path().join("r.json").exists());
    // The whole result does not fit in the pipe.
    std::thread::sleep(Duration::from_millis(1500));
    ends(child, "-TERM", 143);
    drop(reader);
    assert_eq!(names(folder.path()), [folder.path().join("r.json")]);
}

#[test]
fn a_hang_up_is_ignored_if_the_parent_ignores_it() {
    let folder = folder();
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_lanemark")).current_dir(folder.path());
    command.args(["bench", "target.dat", "--size", "4MiB", "--duration", "200ms"]);
    command.args(["--repeats", "1", "--out", "r.json"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    wait_for("target", || folder.path().join("target.dat").exists());
    Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn remains_of_a_killed_run_are_reported_by_the_next_run() {
    let folder = folder();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let arguments = ["bench", "disk", "--size", "4MiB", "--duration", "600s", "--out", "results"];
    let mut child = lanemark!(folder.path(), &arguments).start();
    wait_for("target", || !names(&folder.path().join("disk")).is_empty());
    // A running command has not left a file yet.
    let short = ["bench", "disk", "--size", "1MiB", "--duration", "10ms", "--repeats", "1"];
    let output = lanemark!(folder.path(), &short).start().wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("was left"));
    child.kill().unwrap();
    child.wait().unwrap();
    let left = names(&folder.path().join("disk"));
    assert_eq!(left.len(), 1);
    // The kernel may keep the file slightly longer, until it has released the ring.
    let began = Instant::now();
    let (output, messages) = loop {
        let output = lanemark!(folder.path(), &short).start().wait_with_output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if messages.contains("was left") || began.elapsed() > Duration::from_secs(20) {
            break (output, messages);
        }
    };
    let name = left[0].file_name().unwrap().to_str().unwrap();
    assert!(messages.contains("left by a run that was killed"), "{messages}");
    assert!(messages.contains(&format!("rm -- disk/{name}")), "{messages}");
    assert_eq!(output.status.code(), Some(0), "{messages}");
    assert!(left[0].exists(), "it is reported and not removed");
    let hidden = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with('.');
    assert!(
        !names(&folder.path().join("results")).iter().any(hidden),
        "locks of the killed are gone"
    );
}

/// The warden of a run removes the folder of a killed run and nothing else, regardless of its arguments.
#[test]
fn a_warden_removes_the_folder_of_a_killed_run_and_no_other() {
    for (name, heard, is_removed) in [
        ("lanemark-a", "b", true),
        ("lanemark-a", "bd", false),
        ("lanemark-a", "", false),
        ("lanemark-a", "x", false),
        ("mine", "b", false),
    ] {
        let folder = folder();
        let within = folder.path().join(name);
        fs::create_dir_all(within.join("deep")).unwrap();
        fs::write(within.join("deep/file"), "data").unwrap();
        // The cases are a folder with other files, and a process group that cannot exist.
        fs::write(folder.path().join("other"), "data").unwrap();
        std::os::unix::fs::symlink(folder.path(), within.join("link")).unwrap();
        fs::write(within.join("group"), "0").unwrap();
        let words = ["lanemark-warden", within.to_str().unwrap()];
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
        let mut child = command.args(words).stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), heard.as_bytes()).unwrap();
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(!within.exists(), is_removed, "{name} {heard}");
        assert!(folder.path().join("other").exists());
    }
}

//! `lanemark exact` as a program: the guest runs on the simulator's clock, regardless of the host's load.
//!
//! The tests do not build the kernel, because that takes ten minutes. If `make exact` has not been run, each test
//! reports that it was skipped.
#![cfg(feature = "serve")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";

/// Arguments for a drive whose reads all take the same time, because no part of it causes significant waiting.
const FIXED: [&str; 9] = [
    "samsung-950-pro-512gb@workstation-z170:m2",
    "--set",
    "drive.front_end.read_latency=420 us",
    "--set",
    "drive.front_end.read_time=0.1 us",
    "--set",
    "drive.flash.read=1 us",
    "--set",
    "drive.flash.channel_rate=4000 MB/s",
];

/// Returns the path of the kernel. If the kernel was not built, prints a message and returns `None`.
fn kernel() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/exact/linux");
    if path.is_file() {
        return Some(path);
    }
    eprintln!(
        "skipped: the kernel of the exact mode is not built; `make exact` builds it in ten minutes"
    );
    None
}

fn command(folder: &Path, kernel: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_lanemark"), "exact"]);
    command.args(words).current_dir(folder).env("LANEMARK_EXACT_KERNEL", kernel);
    command.env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs fio in a guest. Returns the mean of its completion latencies, and the modelled mean, in µs.
fn fio(kernel: &Path, depth: u32, requests: u32) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let (depth, requests) = (format!("--iodepth={depth}"), format!("--number_ios={requests}"));
    let words = ["--size", "64MiB", "--out", "result.json", "--", "fio", "--name=read"];
    let fio =
        ["--filename=/dev/vda", "--direct=1", "--rw=randread", "--bs=4k", "--ioengine=libaio"];
    // By default fio reads the clock of the host's processor.
    let more = ["--clocksource=clock_gettime", "--output-format=json", &depth, &requests];
    let words = [&FIXED[..], &words, &fio, &more].concat();
    let output = command(folder.path(), kernel, &words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let measured: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = std::fs::read_to_string(folder.path().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    let measured = measured["jobs"][0]["read"]["clat_ns"]["mean"].as_f64().unwrap();
    let modelled = &result["tests"][0]["samples"][0]["reads"]["latency"]["mean_ns"];
    (measured / 1e3, modelled.as_f64().unwrap() / 1e3)
}

/// Busy loops on every processor, until this value is dropped.
struct Load(Vec<std::process::Child>);

impl Load {
    fn start() -> Self {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..3).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_guest_measures_the_modelled_times_even_on_a_busy_host() {
    let Some(kernel) = kernel() else { return };
    if Command::new("fio").arg("--version").output().is_err() {
        eprintln!("skipped: apt-get install fio");
        return;
    }
    let alone = [(1, 1.0), (4, 1.0), (32, 2.0)].map(|(depth, bound)| {
        // The number of requests is a multiple of the depth: fio reports the completions of an incomplete last round
        // only when all of them have arrived.
        let (measured, modelled) = fio(&kernel, depth, if depth == 32 { 800 } else { 400 });
        let apart = (measured - modelled).abs();
        assert!(apart < bound, "depth {depth}: {measured} us measured, {modelled} us modelled");
        assert!(modelled > 400.0, "{modelled}");
        (measured, modelled)
    });
    let load = Load::start();
    let again = fio(&kernel, 4, 400);
    drop(load);
    // The values are identical to the last bit, because the host does not influence them.
    assert_eq!(again, alone[1]);
}

#[test]
fn a_commands_output_and_exit_code_are_its_own_and_nothing_is_left() {
    let Some(kernel) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = "echo out; echo error >&2; echo x >/etc/lanemark-exact && cat /etc/lanemark-exact; \
                  mkfs.ext4 -q /dev/vda && mount /dev/vda /mnt && echo kept >/mnt/file && sync && \
                  umount /mnt && mount /dev/vda /mnt && cat /mnt/file; sleep 1000; exit 7";
    let began = Instant::now();
    let words = [SATA, "--size", "64MiB", "--out", "result.json", "--", "sh", "-c", script];
    let output = command(folder.path(), &kernel, &words).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\nx\nkept\n");
    assert!(stderr(&output).contains("error\n"));
    assert!(!Path::new("/etc/lanemark-exact").exists());
    assert!(began.elapsed() < Duration::from_secs(300), "a guest's sleep takes no time");
    assert_eq!(left(&folder), ["result.json"]);
    let output =
        command(folder.path(), &kernel, &[SATA, "--", "no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127), "{}", stderr(&output));
}

/// PostgreSQL on ext4 on the modelled drive: its programs and clients wait only for each other and for the drive.
#[test]
fn a_database_in_a_guest_waits_for_the_drive_alone() {
    let Some(kernel) = kernel() else { return };
    let Some(programs) = postgres() else {
        eprintln!("skipped: apt-get install postgresql");
        return;
    };
    // PostgreSQL's programs refuse to run as root. A leader process that polls for workers would wait forever.
    let settings = "-k /tmp -c max_parallel_workers=0 -c max_parallel_maintenance_workers=0";
    let as_user = format!(
        "{programs}/initdb -D /mnt/d -A trust --no-sync >/dev/null && \
         {programs}/pg_ctl -D /mnt/d -o \"{settings}\" -w -l /tmp/log start >/dev/null && \
         {programs}/pgbench -h /tmp -i -s 1 -q postgres 2>/dev/null && \
         {programs}/pgbench -h /tmp -c 4 -t 50 --random-seed=1 postgres && \
         {programs}/pg_ctl -D /mnt/d -w stop >/dev/null"
    );
    let script = format!(
        "ip link set lo up; mkfs.ext4 -q /dev/vda && mount /dev/vda /mnt && mkdir /mnt/d && \
         chown postgres /mnt/d && cd /mnt && su postgres -s /bin/sh -c '{as_user}'"
    );
    let folder = tempfile::tempdir().unwrap();
    let words = [SATA, "--size", "1GiB", "--out", "result.json", "--", "sh", "-c", &script];
    let output = command(folder.path(), &kernel, &words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains("200/200"), "{stdout}");
    let latency = stdout.lines().find(|line| line.starts_with("latency average")).unwrap();
    let ms: f64 = latency.split([' ', '=']).filter_map(|word| word.parse().ok()).next().unwrap();
    // A commit waits for the log on the drive, but for no other slow operation.
    assert!((0.05..20.0).contains(&ms), "{latency}");
}

/// Returns Debian's folder of PostgreSQL programs.
fn postgres() -> Option<String> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let found = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    let found = found.filter(|path| path.join("pgbench").is_file()).max()?;
    Some(found.display().to_string())
}

/// The guest computes endlessly, and is no longer a child of this process after the run is killed.
#[test]
fn a_signal_or_a_kill_ends_the_guest_and_leaves_nothing() {
    let Some(kernel) = kernel() else { return };
    for (signals, code) in
        [(&["-INT"][..], Some(130)), (&["-INT", "-TERM"], Some(130)), (&["-KILL"], None)]
    {
        let folder = tempfile::tempdir().unwrap();
        let words =
            [SATA, "--size", "64MiB", "--out", "r", "--", "sh", "-c", "while :; do :; done"];
        let child = command(folder.path(), &kernel, &words).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(4));
        let id = child.id().to_string();
        for signal in signals {
            // The last of several signals may arrive after the run has ended.
            let _ = Command::new("kill").args([*signal, &id]).status().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code, "{signals:?}: {}", stderr(&output));
        // The command line of each guest process contains the folder of the guest's sockets.
        let marker = folder.path().to_string_lossy().into_owned();
        let is_gone = || {
            let found = Command::new("pgrep").args(["-f", &marker]).output().unwrap();
            found.stdout.is_empty()
                && left(&folder).iter().all(|name| !name.starts_with("lanemark"))
        };
        let ended = Instant::now();
        while !is_gone() {
            // Only the cleanup by a second process may take some time.
            assert!(
                *signals != ["-INT"] && ended.elapsed() < Duration::from_secs(20),
                "{signals:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn wrong_input_is_reported_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let none = Path::new("/no/kernel");
    for (words, wanted) in [
        (&[SATA, "--", "true"][..], "make exact"),
        (&[SATA, "--guest-memory", "1MiB", "--", "true"], "--guest-memory"),
        (&[SATA, "--size", "100", "--", "true"], "--size"),
        (&[SATA], "COMMAND"),
    ] {
        let output = command(folder.path(), none, words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(wanted), "{wanted}: {}", stderr(&output));
    }
}

fn left(folder: &TempDir) -> Vec<String> {
    let names = std::fs::read_dir(folder.path()).unwrap();
    names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

//! Processor time of whole commands, compared with the goals at which an answer feels immediate.
//!
//! Each command runs as a child process, and the kernel reports its processor time and its peak memory (wait4(2)). The
//! table shows the median of the runs, with their minimum and maximum. `LANEMARK_GOALS_ROUNDS` sets the number of runs.
//!
//! As part of the tests (without `--bench`), only the first command runs, once, so that this code is exercised.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

const DRIVE: &str = "samsung-980-pro-1tb@workstation-x570:m2";

/// A command, and the goal for its processor seconds.
struct Goal {
    command: String,
    seconds: f64,
}

fn goals() -> Vec<Goal> {
    let goal = |command: &str, seconds: f64| Goal { command: command.to_owned(), seconds };
    let of_drive = |rest: &str, seconds: f64| goal(&format!("sim {DRIVE} {rest}"), seconds);
    let study = |name: &str, seconds: f64| goal(&format!("study studies/{name}.toml"), seconds);
    vec![
        of_drive("crystaldiskmark-8:rnd4k-q32t1-read", 0.1),
        of_drive("crystaldiskmark-8", 0.5),
        of_drive("data-sheet", 0.5),
        goal(
            "compare samsung-850-pro-1tb@workstation-z170:sata samsung-950-pro-512gb@workstation-z170:m2 \
             --workload quick",
            0.5,
        ),
        goal(
            "sweep samsung-950-pro-512gb@workstation-z170:m2 --workload crystaldiskmark-8:rnd4k-q32t1-read \
             --axis queue_depth=1..256*2 --out sweep.csv",
            0.5,
        ),
        study("oltp-value-sas", 3.0),
        study("chipset-paths", 1.0),
        study("sata-ip", 1.0),
        study("hard-disk", 2.0),
        of_drive("crystaldiskmark-8 --bottleneck", 1.5),
        of_drive("vm-mix --bottleneck", 1.0),
        of_drive("snia-iops-client", 5.0),
        of_drive("random-write-24h", 10.0),
        of_drive("random-write-24h --set drive.state.condition=purged", 10.0),
    ]
}

/// The resources that one run of a command used.
struct Taken {
    seconds: f64,
    mebibytes: f64,
}

/// Runs a command of Lanemark in `folder` to its end.
#[expect(clippy::zombie_processes, reason = "it is waited for where its use is read")]
fn measure(goal: &Goal, folder: &Path) -> Taken {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let studies = studies.to_str().expect("a path of text");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
    for argument in goal.command.split_whitespace() {
        command.arg(argument.replacen("studies", studies, 1));
    }
    if !goal.command.starts_with("sweep") && !goal.command.starts_with("compare") {
        command.arg("--no-save");
    }
    let output = folder.join("output");
    let errors = folder.join("errors");
    let file = |path: &Path| std::fs::File::create(path).expect("a file");
    let child = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(file(&output))
        .stderr(file(&errors))
        .spawn()
        .expect("it runs");
    let (status, usage) = usage_of(&child);
    let printed = std::fs::read_to_string(&errors).expect("text");
    assert!(status.success(), "{}: {printed}", goal.command);
    assert!(output.metadata().expect("a file").len() > 0, "{} prints its answer", goal.command);
    // A second sweep into the same file would continue the first sweep instead of running again.
    std::fs::remove_file(folder.join("sweep.csv")).ok();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Taken {
        seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        mebibytes: usage.ru_maxrss as f64 / 1024.0,
    }
}

/// Waits for a child, and returns its exit status and its use of resources.
fn usage_of(child: &Child) -> (ExitStatus, libc::rusage) {
    let mut status = 0;
    let id = libc::pid_t::try_from(child.id()).expect("a process's number");
    // SAFETY: zero is a valid value of every field, and the call writes only to the two given locations.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(id, &raw mut status, 0, &raw mut usage), id);
        usage
    };
    (ExitStatus::from_raw(status), usage)
}

fn row(goal: &Goal, runs: &[Taken]) -> String {
    let mut seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let least = seconds[0];
    let most = seconds[seconds.len() - 1];
    let middle = seconds[seconds.len() / 2];
    let memory = runs.iter().map(|run| run.mebibytes).fold(0.0, f64::max);
    let command = &goal.command;
    format!(
        "| `{command}` | {middle:.2} | {least:.2}–{most:.2} | {} | {memory:.0} MiB |",
        goal.seconds
    )
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let rounds = std::env::var("LANEMARK_GOALS_ROUNDS").ok().and_then(|text| text.parse().ok());
    let (commands, rounds) = if full { (usize::MAX, rounds.unwrap_or(3)) } else { (1, 1) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let machine = lanemark_measure::machine();
    println!("{}, {} cores, {}", machine.cpu, machine.cores, machine.kernel);
    println!("\n| command | CPU seconds | range | goal | memory |\n|---|---:|---:|---:|---:|");
    for goal in goals().iter().take(commands) {
        let runs: Vec<Taken> = (0..rounds.max(1)).map(|_| measure(goal, folder.path())).collect();
        assert!(runs.iter().all(|run| run.seconds > 0.0 && run.mebibytes > 1.0));
        println!("{}", row(goal, &runs));
    }
}

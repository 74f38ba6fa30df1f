//! The cost of a request in the measuring program: its processor time compared with fio, and its start-up time.
//!
//! The target is a loop device with direct I/O over a file in memory (tmpfs), so that nearly all of the time is spent
//! in the program itself and in its path through the kernel. The cost is marginal: the difference in processor time
//! between a long and a short run, divided by the difference in requests. Therefore it does not include start-up. The
//! programs alternate. The minimum of each is printed next to the median, because other programs on a shared machine
//! only add time. Their load varies over seconds, so the ratios compare runs of the same round.
//!
//! fio runs with its fastest settings: registered buffers and file, batches in both directions, and full statistics,
//! which Lanemark also records. fio's own raw loop, `t/io_uring`, does not record latencies. `LANEMARK_RAW_IO_URING`
//! may contain its path. `LANEMARK_ENGINE_ROUNDS` sets the number of rounds.
//!
//! As part of the tests (without `--bench`), one tiny round runs, so that this code is exercised. Mounting and loop
//! devices need root; without root the target is a file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A case: the request size, the number of outstanding requests, and the number of requests in the short run.
struct Case {
    name: &'static str,
    kibi: u64,
    queue_depth: u32,
    requests: u64,
    target: &'static str,
}

const CASES: [Case; 4] = [
    Case {
        name: "4K random read QD128",
        kibi: 4,
        queue_depth: 128,
        requests: 400_000,
        target: "fio x 0.9, raw x 1.1",
    },
    Case {
        name: "4K random read QD32",
        kibi: 4,
        queue_depth: 32,
        requests: 400_000,
        target: "fio x 0.9, raw x 1.1",
    },
    Case {
        name: "4K random read QD1",
        kibi: 4,
        queue_depth: 1,
        requests: 100_000,
        target: "fio (psync) x 1",
    },
    Case {
        name: "1M sequential read QD8",
        kibi: 1024,
        queue_depth: 8,
        requests: 10_000,
        target: "fio x 1",
    },
];

/// A loop device over a file in memory, or a plain file if the user is not permitted to create a loop device.
struct Medium {
    folder: tempfile::TempDir,
    mounted: bool,
    node: Option<PathBuf>,
}

impl Medium {
    fn new(megabytes: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let size = format!("size={}m", megabytes + 16);
        let mounted = run("mount", &["-t", "tmpfs", "-o", &size, "lanemark", text(folder.path())]);
        let file = folder.path().join("medium");
        let block = vec![0x5a; 1 << 20];
        let mut medium = std::fs::File::create(&file).expect("a file");
        for _ in 0..megabytes {
            std::io::Write::write_all(&mut medium, &block).expect("room for the file");
        }
        let made = Command::new("losetup")
            .args(["-f", "--show", "--direct-io=on", text(&file)])
            .stderr(Stdio::null())
            .output();
        let node = made
            .ok()
            .filter(|made| made.status.success())
            .map(|made| PathBuf::from(String::from_utf8(made.stdout).expect("a path").trim()));
        Self { folder, mounted, node }
    }

    fn path(&self) -> PathBuf {
        self.node.clone().unwrap_or_else(|| self.folder.path().join("medium"))
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        if let Some(node) = &self.node {
            run("losetup", &["-d", text(node)]);
        }
        if self.mounted {
            run("umount", &[text(self.folder.path())]);
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let done = Command::new(program).args(arguments).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// The work of a program: the processor seconds of its threads and of the kernel on its behalf, and the bytes read.
#[derive(Clone, Copy)]
struct Done {
    seconds: f64,
    bytes: f64,
}

/// Runs a program to its end. `requested_bytes` is used if the medium is a file, which does not have a byte counter.
fn done(command: &mut Command, medium: &Path, requested_bytes: u64) -> Done {
    let bytes = bytes_of(medium);
    let seconds = of_children();
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output().expect("it runs");
    let seconds = of_children() - seconds;
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let counted =
        bytes.zip(bytes_of(medium)).map_or(requested_bytes, |(before, after)| after - before);
    Done { seconds, bytes: counted as f64 }
}

/// Returns the processor seconds of all children that have ended (getrusage(2)).
fn of_children() -> f64 {
    // SAFETY: zero is a valid value of every field, and the call writes only to the given structure.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Returns the total number of bytes read from a block device. The number of requests is not a suitable measure,
/// because the kernel splits large requests at page boundaries.
fn bytes_of(medium: &Path) -> Option<u64> {
    let name = medium.strip_prefix("/dev").ok()?;
    let counters = std::fs::read_to_string(Path::new("/sys/block").join(name).join("stat")).ok()?;
    let sectors: u64 = counters.split_whitespace().nth(2)?.parse().ok()?;
    Some(sectors * 512)
}

fn lanemark(case: &Case, medium: &Path, folder: &Path, requests: u64) -> Command {
    let workload = folder.join(format!("{requests}.toml"));
    let pattern = if case.kibi == 4 { "random" } else { "sequential" };
    let definition = format!(
        "[workload]\nname = \"cost\"\nrepeats = 1\naverage = \"mean\"\n[[test]]\nname = \"cost\"\n\
         block = \"{} KiB\"\npattern = \"{pattern}\"\nread = \"100%\"\nqueue_depth = {}\n\
         span = \"64 MiB\"\nvolume = \"{} KiB\"\n",
        case.kibi,
        case.queue_depth,
        requests * case.kibi
    );
    std::fs::write(&workload, definition).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
    command.args(["bench", text(medium), text(&workload), "--json", "--out"]);
    command.arg(folder.join("result.json"));
    if case.queue_depth == 1 {
        command.args(["--engine", "sync"]);
    }
    command
}

fn fio(case: &Case, medium: &Path, requests: u64) -> Command {
    let mut command = Command::new("fio");
    let rw = if case.kibi == 4 { "randread" } else { "read" };
    let depth = case.queue_depth;
    command
        .args(["--name=cost", "--direct=1", "--norandommap", "--size=64m", "--io_size=100t"])
        .arg(format!("--filename={}", text(medium)))
        .arg(format!("--rw={rw}"))
        .arg(format!("--bs={}k", case.kibi))
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--number_ios={requests}"))
        .arg("--output-format=json");
    if depth == 1 {
        command.arg("--ioengine=psync");
    } else {
        command
            .args(["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1", "--nonvectored=1"])
            .arg(format!("--iodepth_batch_submit={}", (depth / 4).max(1)))
            .arg("--iodepth_batch_complete_min=1")
            .arg(format!("--iodepth_batch_complete_max={depth}"));
    }
    command
}

/// Returns the command that runs fio's raw loop for this number of seconds.
fn raw(case: &Case, program: &str, medium: &Path, seconds: u64) -> Command {
    let depth = case.queue_depth;
    let batch = (depth / 4).max(1);
    let mut command = Command::new(program);
    command
        .args([format!("-d{depth}"), format!("-s{batch}"), format!("-c{batch}")])
        .args(["-p0", "-B1", "-F1", "-n1"])
        .arg(format!("-R{}", u8::from(case.kibi == 4)))
        .arg(format!("-b{}", case.kibi << 10))
        .arg(format!("-r{seconds}"))
        .arg(medium);
    command
}

/// Returns the median of the ratios of costs that were measured in succession.
fn ratio(ours: &[f64], others: &[f64]) -> String {
    let mut ratios: Vec<f64> = ours.iter().zip(others).map(|(own, other)| own / other).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).map_or("–".to_owned(), |middle| format!("{middle:.2}"))
}

/// Formats the minimum and the median of some costs, in µs.
fn least_and_median(mut costs: Vec<f64>) -> String {
    costs.sort_by(f64::total_cmp);
    match costs.len() {
        0 => "–".to_owned(),
        count => format!("{:.3} / {:.3}", costs[0], costs[count / 2]),
    }
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let requested = std::env::var("LANEMARK_ENGINE_ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds = if full { requested.unwrap_or(7) } else { 1 };
    let has_fio = Command::new("fio").arg("--version").output().is_ok();
    let raw_program = std::env::var("LANEMARK_RAW_IO_URING").ok();
    let medium = Medium::new(64);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let machine = lanemark_measure::machine();
    println!("{}, {} cores, {}", machine.cpu, machine.cores, machine.kernel);
    match &medium.node {
        Some(node) => println!("{}, direct I/O over tmpfs", node.display()),
        None => println!("a file: this user cannot create loop devices"),
    }
    println!(
        "us of processor time a request, minimum / median of {rounds}; ratios of one round, their median"
    );
    println!(
        "{:<26}{:>17}{:>17}{:>17}{:>8}{:>8}   target",
        "", "lanemark", "fio", "fio's raw loop", "/ fio", "/ raw"
    );
    let path = medium.path();
    for case in &CASES {
        let requests = if full { case.requests } else { case.requests / 100 };
        let block = case.kibi << 10;
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        let mut bare = Vec::new();
        let cost = |make: &dyn Fn(u64) -> Command| {
            let short = done(&mut make(requests), &path, requests * block);
            let long = done(&mut make(3 * requests), &path, 3 * requests * block);
            (long.seconds - short.seconds) / (long.bytes - short.bytes) * block as f64 * 1e6
        };
        for _ in 0..rounds {
            ours.push(cost(&|count| lanemark(case, &path, folder.path(), count)));
            if has_fio {
                theirs.push(cost(&|count| fio(case, &path, count)));
            }
            if let Some(program) = raw_program.as_deref().filter(|_| full && medium.node.is_some())
            {
                // The program stops after a fixed time, not after a fixed count. The cost of its start-up is below the
                // noise.
                let made = done(&mut raw(case, program, &path, 2), &path, 0);
                bare.push(made.seconds / made.bytes * block as f64 * 1e6);
            }
        }
        let beside_fio = ratio(&ours, &theirs);
        let beside_raw = ratio(&ours, &bare);
        println!(
            "{:<26}{:>17}{:>17}{:>17}{beside_fio:>8}{beside_raw:>8}   {}",
            case.name,
            least_and_median(ours),
            least_and_median(theirs),
            least_and_median(bare),
            case.target
        );
    }
    start_up(&medium.path(), folder.path(), if full { 21 } else { 1 });
}

/// Measures the duration of a run with one request. It uses the null engine, so the duration is only start-up time.
fn start_up(medium: &Path, folder: &Path, rounds: usize) {
    let case = Case { name: "", kibi: 4, queue_depth: 128, requests: 1, target: "" };
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            let mut command = lanemark(&case, medium, folder, 1);
            done(command.args(["--engine", "null"]), medium, 1);
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "one request from start to the saved result: {:.1} ms at the median, {:.1} ms at the minimum",
        times[times.len() / 2],
        times[0]
    );
    let many = folder.join("many.toml");
    let definition = "[workload]\nname = \"many\"\nrepeats = 1\naverage = \"mean\"\n[[test]]\n\
                      name = \"many\"\nblock = \"4 KiB\"\npattern = \"random\"\nread = \"100%\"\n\
                      queue_depth = 128\nthreads = 8\nspan = \"64 MiB\"\nvolume = \"64 MiB\"\n";
    std::fs::write(&many, definition).expect("a file");
    let output = Command::new("/usr/bin/env")
        .args(["time", "-f", "%M", env!("CARGO_BIN_EXE_lanemark"), "bench", text(medium)])
        .args([text(&many), "--json", "--out"])
        .arg(folder.join("many.json"))
        .stdout(Stdio::null())
        .output();
    let messages = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    let peak =
        messages.ok().and_then(|messages| messages.lines().last()?.trim().parse::<f64>().ok());
    match peak {
        Some(kibi) => println!("memory at 8 threads x QD128 of 4 KiB: {:.1} MiB", kibi / 1024.0),
        None => println!("memory: GNU time is not installed"),
    }
}

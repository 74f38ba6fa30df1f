//! `lanemark serve` compared with `nbdkit memory`, and its delivered latency compared with the modelled latency.
//!
//! Without latency, each server keeps the same gibibyte in memory and serves the same client, fio's nbd engine. The
//! servers alternate, so that the drift of a noisy machine affects both. The benchmark prints the median of the rounds
//! and the median of the ratios within a round. The benchmark runs twice: with processors that may become idle and, if
//! this user can change that, with processors that may not. fio's io_uring engine reads the mounted file, bypassing the
//! page cache. For comparison, it also reads the export of a null device by `qemu-storage-daemon`, if that program is
//! installed.
//!
//! With a model, each queue depth has a separate server, which receives up to 20,000 reads a second. The benchmark
//! prints the modelled and the delivered latency from the server's result, and fio's latency, which includes the
//! client's own time. The benchmark also serves systems that are ten times as slow, and compares fio's rates on them
//! with `lanemark sim`. Finally, it measures an idle server.
//!
//! As part of the tests (without `--bench`), each part runs once, briefly, if fio and nbdkit are installed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lanemark_schema::result::RunResult;
use lanemark_testbed::{skipped, tool};
use serde_json::Value;

const SYSTEM: &str = "samsung-850-pro-1tb@workstation-z170:sata";
/// The maximum number of requests a second that a modelled server receives.
const RATE: u32 = 20_000;

/// The load of a client: its name, and fio's direction, block size and depth.
const CASES: [(&str, &str, &str, u32); 5] = [
    ("4 KiB read, depth 1", "randread", "4k", 1),
    ("4 KiB read, depth 32", "randread", "4k", 32),
    ("4 KiB write, depth 32", "randwrite", "4k", 32),
    ("1 MiB read, depth 1", "read", "1m", 1),
    ("1 MiB write, depth 1", "write", "1m", 1),
];

/// A server that is stopped when this value is dropped.
struct Server(Child);

impl Server {
    fn lanemark(folder: &Path, arguments: &[&str]) -> Self {
        Self::start(SYSTEM, folder, arguments)
    }

    fn start(system: &str, folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
        command.args(["serve", system, "--memory"]).args(arguments).current_dir(folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server has ended");
        Self(child)
    }

    fn nbdkit(socket: &Path) -> Self {
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--exit-with-parent", "--unix"]).arg(socket);
        let child = command.args(["memory", "1G"]).stderr(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while !socket.exists() {
            assert!(began.elapsed() < Duration::from_secs(10), "nbdkit does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self(child)
    }

    /// Serves a null device as the file `at` with QEMU. Returns `None` if QEMU is not installed or lacks FUSE support.
    fn qemu(at: &Path) -> Option<Self> {
        fs::write(at, "").ok()?;
        let mut command = Command::new("qemu-storage-daemon");
        let device = format!("driver=null-co,node-name=null,size={},read-zeroes=on", 1 << 30);
        command.args(["--blockdev", &device]);
        let export = format!("fuse,id=file,node-name=null,writable=on,mountpoint={}", at.display());
        let child = command.args(["--export", &export]).stderr(Stdio::null()).spawn().ok()?;
        let mut server = Self(child);
        while fs::metadata(at).is_ok_and(|file| file.len() == 0) {
            if server.0.try_wait().is_ok_and(|ended| ended.is_some()) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}

/// The target of fio: an NBD server's socket, or a file.
enum At {
    Socket(PathBuf),
    File(PathBuf),
}

/// Requests a second, and the 50th and 99th percentiles of their latency in µs.
#[derive(Clone, Copy)]
struct Figures {
    iops: f64,
    p50: f64,
    p99: f64,
}

fn fio(at: &At, mode: &str, block: &str, depth: u32, more: &[&str]) -> Figures {
    let mut words = match at {
        At::Socket(path) => {
            vec!["--ioengine=nbd".into(), format!("--uri=nbd+unix:///?socket={}", path.display())]
        }
        At::File(path) => vec![
            "--ioengine=io_uring".into(),
            "--direct=1".into(),
            format!("--filename={}", path.display()),
        ],
    };
    words.extend(["--name=one", "--size=1g", "--output-format=json"].map(String::from));
    words.extend([format!("--rw={mode}"), format!("--bs={block}"), format!("--iodepth={depth}")]);
    words.extend(more.iter().map(|word| (*word).to_owned()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = tool("fio", &words).unwrap();
    // The engine prints another line first.
    let output: Value = serde_json::from_str(&output[output.find('{').unwrap()..]).unwrap();
    let side = if mode.contains("read") { "read" } else { "write" };
    let side = &output["jobs"][0][side];
    let at = |key: &str| side["clat_ns"]["percentile"][key].as_f64().unwrap_or(0.0) / 1e3;
    Figures { iops: side["iops"].as_f64().unwrap(), p50: at("50.000000"), p99: at("99.000000") }
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn without_latency(rounds: usize, runtime: &str) {
    let folder = tempfile::tempdir().unwrap();
    let ours = ["--size", "1GiB", "--no-latency", "--socket", "own", "--mount", "file"];
    let theirs = folder.path().join("nbdkit");
    let _servers = (Server::lanemark(folder.path(), &ours), Server::nbdkit(&theirs));
    let own = folder.path().join("own");
    let file = folder.path().join("file");
    let null = folder.path().join("null");
    let qemu = Server::qemu(&null);
    let mut targets = vec![At::Socket(own), At::Socket(theirs), At::File(file)];
    targets.extend(qemu.as_ref().map(|_| At::File(null)));
    for target in &targets[..2] {
        fio(target, "write", "1m", 4, &[]);
    }
    println!("requests a second, the middle of {rounds}; the ratio is of one round, its middle");
    let head = ["lanemark", "nbdkit", "ratio", "p50 us", "p50 us", "FUSE", "QEMU null"];
    println!("{:<24}{}", "", head.map(|name| format!("{name:>11}")).concat());
    for (name, mode, block, depth) in CASES {
        let mut results: [Vec<Figures>; 4] = Default::default();
        for _ in 0..rounds {
            for (at, results) in targets.iter().zip(&mut results) {
                results.push(fio(at, mode, block, depth, &["--time_based", runtime]));
            }
        }
        let iops = |at: usize| middle(results[at].iter().map(|result| result.iops).collect());
        let p50 = |at: usize| middle(results[at].iter().map(|result| result.p50).collect());
        let pairs = results[0].iter().zip(&results[1]);
        let ratio = middle(pairs.map(|(own, other)| own.iops / other.iops).collect());
        let own = iops(0);
        let other = iops(1);
        let file = iops(2);
        let null = if targets.len() > 3 { format!("{:.0}", iops(3)) } else { "-".to_owned() };
        let own_us = p50(0);
        let other_us = p50(1);
        println!(
            "{name:<24}{own:>11.0}{other:>11.0}{ratio:>11.2}{own_us:>11.1}{other_us:>11.1}{file:>11.0}{null:>11}"
        );
        assert!(own > 0.0 && other > 0.0 && file > 0.0);
    }
}

fn delivered(depths: &[u32], runtime: &str) {
    println!("\nus at p50 and p99 of 4 KiB reads of {SYSTEM}");
    let head = ["reads/s", "modelled", "", "delivered", "", "fio", "", "verdict"];
    println!("{:<10}{}", "depth", head.map(|name| format!("{name:>10}")).concat());
    for &depth in depths {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--size", "1GiB", "--socket", "own", "--out", "result.json"];
        let server = Server::lanemark(folder.path(), &arguments);
        let at = At::Socket(folder.path().join("own"));
        let rate = format!("--rate_iops={RATE}");
        let figures = fio(&at, "randread", "4k", depth, &["--time_based", runtime, &rate]);
        drop(server);
        let result = fs::read(folder.path().join("result.json")).unwrap();
        let saved: RunResult = serde_json::from_slice(&result).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        let sample = &result["tests"][0]["samples"][0];
        let us = |of: &Value| {
            ["50.0000", "99.0000"]
                .map(|at| of["latency"]["percentiles_ns"][at].as_f64().unwrap_or(f64::NAN) / 1e3)
        };
        let [model_50, model_99] = us(&sample["reads"]);
        let [own_50, own_99] = us(&sample["live"]["reads"]);
        let live = saved.tests[0].samples[0].live.as_ref().unwrap();
        let Figures { iops, p50, p99 } = figures;
        println!(
            "{depth:<10}{iops:>10.0}{model_50:>10.1}{model_99:>10.1}{own_50:>10.1}{own_99:>10.1}{p50:>10.1}{p99:>10.1}{:>10}",
            live.verdict().word()
        );
        // Histograms have a resolution of one per cent.
        assert!(own_50 >= model_50 * 0.99 && p50 >= model_50 * 0.99, "nothing comes early");
    }
}

/// Systems from document 002 and from the README whose served rates are compared with the simulator's rates.
const PATHS: [&str; 2] = [SYSTEM, "crucial-c300-256gb@intel-x58:sata"];
/// Tests of CrystalDiskMark 8 by name, with the corresponding fio options.
const TESTS: [(&str, &str, &str, u32); 6] = [
    ("SEQ1M Q8T1 read", "read", "1m", 8),
    ("SEQ1M Q8T1 write", "write", "1m", 8),
    ("RND4K Q32T1 read", "randread", "4k", 32),
    ("RND4K Q32T1 write", "randwrite", "4k", 32),
    ("RND4K Q1T1 read", "randread", "4k", 1),
    ("RND4K Q1T1 write", "randwrite", "4k", 1),
];
/// Time scale of the systems whose rates are compared with the simulator's rates.
const SLOWER: f64 = 10.0;

/// Compares fio's rates on served systems with `lanemark sim`, in the time of the model.
fn as_simulated(runtime: &str) {
    println!(
        "\nrequests a second of fio on served systems, {SLOWER} times as slow, compared with `lanemark sim`"
    );
    println!("{:<56}{:>10}{:>10}{:>10}", "", "fio", "sim", "apart");
    for system in PATHS {
        let folder = tempfile::tempdir().unwrap();
        let mut sim = Command::new(env!("CARGO_BIN_EXE_lanemark"));
        sim.args(["sim", system, "crystaldiskmark-8", "--size", "1GiB", "--no-interval"]);
        sim.args(["--out", "sim.json"]).current_dir(folder.path());
        assert!(sim.output().unwrap().status.success());
        let simulated = fs::read(folder.path().join("sim.json")).unwrap();
        let simulated: Value = serde_json::from_slice(&simulated).unwrap();
        for (test, mode, block, depth) in TESTS {
            let arguments = ["--size", "1GiB", "--socket", "own", "--time-scale", "10"];
            let server = Server::start(system, folder.path(), &arguments);
            let at = At::Socket(folder.path().join("own"));
            let iops = fio(&at, mode, block, depth, &["--time_based", runtime]).iops * SLOWER;
            drop(server);
            let tests = simulated["tests"].as_array().unwrap();
            let wanted = tests.iter().find(|one| one["test"]["name"] == test).unwrap();
            let wanted = wanted["iops"]["value"].as_f64().unwrap();
            let apart = 100.0 * (iops / wanted - 1.0);
            println!("{:<56}{iops:>10.0}{wanted:>10.0}{apart:>+9.1}%", format!("{system} {test}"));
        }
    }
}

/// Prints the processor time and memory of an idle server with a model, and of an idle server without latency.
fn at_rest(time: Duration) {
    println!("\nidle: processor time, and memory in addition to the data");
    for (name, more) in [("with a model", None), ("without latency", Some("--no-latency"))] {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments = vec!["--size", "1GiB", "--socket", "own"];
        arguments.extend(more);
        let server = Server::lanemark(folder.path(), &arguments);
        std::thread::sleep(Duration::from_millis(200));
        let of =
            |file: &str| fs::read_to_string(format!("/proc/{}/{file}", server.0.id())).unwrap();
        let ticks = || {
            let stat = of("stat");
            let fields = stat.rsplit(')').next().unwrap().split_whitespace();
            fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>()
        };
        let before = ticks();
        std::thread::sleep(time);
        // A tick is a hundredth of a second.
        let share = (ticks() - before) / time.as_secs_f64();
        let status = of("status");
        let kib = ["RssAnon:", "RssFile:"].map(|key| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
        });
        let megabytes = kib.iter().sum::<f64>() * 1024.0 / 1e6;
        println!("{name:<24}{share:>6.2}%{megabytes:>8.1} MB");
        assert!(megabytes < 60.0, "{megabytes} MB");
    }
}

fn main() {
    for program in ["fio", "nbdkit"] {
        if tool(program, &["--version"]).is_err() {
            return skipped(&format!("{program} is not installed"));
        }
    }
    if fs::metadata("/dev/fuse").is_err() {
        return skipped("there is no /dev/fuse");
    }
    let full = std::env::args().any(|arg| arg == "--bench");
    let machine = lanemark_measure::machine();
    println!("{}, {} cores, {}", machine.cpu, machine.cores, machine.kernel);
    let (rounds, runtime) = if full { (5, "--runtime=2") } else { (1, "--runtime=200ms") };
    without_latency(rounds, runtime);
    if full && let Ok(_awake) = lanemark_measure::AwakeProcessors::hold() {
        println!("\nthe same, while no processor may go idle");
        without_latency(rounds, runtime);
    }
    delivered(if full { &[1, 2, 4, 8, 16, 32] } else { &[1, 8] }, runtime);
    as_simulated(runtime);
    at_rest(Duration::from_millis(if full { 10_000 } else { 500 }));
}

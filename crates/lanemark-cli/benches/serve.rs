//! `lanemark serve` beside `nbdkit memory`, and what it delivers beside what it models.
//!
//! Without latency each server holds the same gibibyte in memory and answers the same client, fio's nbd engine, in turns,
//! so that the drift of a noisy machine meets both: told are the middle of the rounds, and the middle of the ratios of
//! one round. That is done twice: with processors that may go idle, and, where this user may, with such that may not. The
//! mounted file is read by fio's io_uring engine, past the page cache; it has no peer here.
//!
//! With a model each queue depth is a server of its own, asked for at most 20,000 reads a second. Told are the modelled
//! and the delivered latency of its result, and fio's, which has the client's own time in it too.
//!
//! As part of the tests (without `--bench`) each is run once and short where fio and nbdkit are installed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lanemark_testbed::{skipped, tool};
use serde_json::Value;

const SYSTEM: &str = "samsung-850-pro-1tb@workstation-z170:sata";
/// Requests a second that a modelled server is asked for at most.
const RATE: u32 = 20_000;

/// What a client asks: name, fio's direction, block and depth.
const CASES: [(&str, &str, &str, u32); 5] = [
    ("4 KiB read, depth 1", "randread", "4k", 1),
    ("4 KiB read, depth 32", "randread", "4k", 32),
    ("4 KiB write, depth 32", "randwrite", "4k", 32),
    ("1 MiB read, depth 1", "read", "1m", 1),
    ("1 MiB write, depth 1", "write", "1m", 1),
];

/// A server that ends when this is dropped.
struct Server(Child);

impl Server {
    fn lanemark(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
        command.args(["serve", SYSTEM, "--memory"]).args(arguments).current_dir(folder);
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

/// Requests a second and the percentiles 50 and 99 of their latency in us.
#[derive(Clone, Copy)]
struct Seen {
    iops: f64,
    p50: f64,
    p99: f64,
}

fn fio(at: &At, (way, block, depth): (&str, &str, u32), more: &[&str]) -> Seen {
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
    words.extend([format!("--rw={way}"), format!("--bs={block}"), format!("--iodepth={depth}")]);
    words.extend(more.iter().map(|word| (*word).to_owned()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let told = tool("fio", &words).unwrap();
    // The engine prints a line of its own before.
    let told: Value = serde_json::from_str(&told[told.find('{').unwrap()..]).unwrap();
    let side = if way.contains("read") { "read" } else { "write" };
    let side = &told["jobs"][0][side];
    let at = |key: &str| side["clat_ns"]["percentile"][key].as_f64().unwrap_or(0.0) / 1e3;
    Seen { iops: side["iops"].as_f64().unwrap(), p50: at("50.000000"), p99: at("99.000000") }
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
    let (own, file) = (folder.path().join("own"), folder.path().join("file"));
    let ways = [At::Socket(own), At::Socket(theirs), At::File(file)];
    for way in &ways[..2] {
        fio(way, ("write", "1m", 4), &[]);
    }
    println!("requests a second, the middle of {rounds}; the ratio is of one round, its middle");
    let head = ["lanemark", "nbdkit", "ratio", "p50 us", "p50 us", "FUSE"];
    println!("{:<24}{}", "", head.map(|name| format!("{name:>11}")).concat());
    for (name, way, block, depth) in CASES {
        let mut seen: [Vec<Seen>; 3] = Default::default();
        for _ in 0..rounds {
            for (at, seen) in ways.iter().zip(&mut seen) {
                seen.push(fio(at, (way, block, depth), &["--time_based", runtime]));
            }
        }
        let iops = |at: usize| middle(seen[at].iter().map(|one| one.iops).collect());
        let p50 = |at: usize| middle(seen[at].iter().map(|one| one.p50).collect());
        let pairs = seen[0].iter().zip(&seen[1]);
        let ratio = middle(pairs.map(|(own, other)| own.iops / other.iops).collect());
        let (own, other, file) = (iops(0), iops(1), iops(2));
        let (own_us, other_us) = (p50(0), p50(1));
        println!(
            "{name:<24}{own:>11.0}{other:>11.0}{ratio:>11.2}{own_us:>11.1}{other_us:>11.1}{file:>11.0}"
        );
        assert!(own > 0.0 && other > 0.0 && file > 0.0);
    }
}

fn delivered(depths: &[u32], runtime: &str) {
    println!("\nus at p50 and p99 of 4 KiB reads of {SYSTEM}");
    let head = ["reads/s", "modelled", "", "delivered", "", "fio", "", "holds"];
    println!("{:<10}{}", "depth", head.map(|name| format!("{name:>10}")).concat());
    for &depth in depths {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--size", "1GiB", "--socket", "own", "--out", "result.json"];
        let server = Server::lanemark(folder.path(), &arguments);
        let at = At::Socket(folder.path().join("own"));
        let rate = format!("--rate_iops={RATE}");
        let seen = fio(&at, ("randread", "4k", depth), &["--time_based", runtime, &rate]);
        drop(server);
        let result = fs::read(folder.path().join("result.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        let sample = &result["tests"][0]["samples"][0];
        let us = |of: &Value| {
            ["50.0000", "99.0000"]
                .map(|at| of["latency"]["percentiles_ns"][at].as_f64().unwrap_or(f64::NAN) / 1e3)
        };
        let ([model_50, model_99], [own_50, own_99]) =
            (us(&sample["reads"]), us(&sample["live"]["reads"]));
        let holds = own_50 - model_50 <= (model_50 * 0.02).max(10.0)
            && own_99 - model_99 <= (model_99 * 0.05).max(50.0);
        let Seen { iops, p50, p99 } = seen;
        println!(
            "{depth:<10}{iops:>10.0}{model_50:>10.1}{model_99:>10.1}{own_50:>10.1}{own_99:>10.1}{p50:>10.1}{p99:>10.1}{:>10}",
            if holds { "yes" } else { "no" }
        );
        // Histograms have a grain of a hundredth.
        assert!(own_50 >= model_50 * 0.99 && p50 >= model_50 * 0.99, "nothing comes early");
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
    if full && let Ok(_awake) = lanemark_measure::Awake::hold() {
        println!("\nthe same, while no processor may go idle");
        without_latency(rounds, runtime);
    }
    delivered(if full { &[1, 2, 4, 8, 16, 32] } else { &[1, 8] }, runtime);
}

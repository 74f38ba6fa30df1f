//! Simulated requests per CPU-second and peak memory, on the drives of the library.
//!
//! `cargo bench -p lanemark-cli` runs each workload three times for about a second of simulation and
//! prints the best and the median rate with the machine. As part of the tests (without `--bench`) it
//! runs once and short, so that it cannot rot.
//!
//! CPU seconds are those of the process (user and system), not wall time: other load on the machine
//! makes a run longer but not dearer. Start-up, which is assembling the system, is timed apart. Peak
//! memory is that of the whole process so far, so the rows are ordered by what they need.

use lanemark_core::rng::StreamKey;
use lanemark_core::sim::{Simulator, run_test};
use lanemark_core::units::{Bytes, Duration, Ratio};
use lanemark_core::workload::{Pattern, Test};
use lanemark_study::system::{NamedAt, SystemName};
use lanemark_study::{Library, Location, System};

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";

struct Case {
    name: &'static str,
    system: &'static str,
    block: Bytes,
    pattern: Pattern,
    read: f64,
    depth: u32,
    requests: u64,
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    println!("{}", machine());
    println!("{:<34}{:>12}{:>12}{:>11}{:>12}", "", "requests/", "median", "events/", "peak");
    println!("{:<34}{:>12}{:>12}{:>11}{:>12}", "workload", "CPU-s, best", "", "request", "memory");
    let random = |name, system, read, depth, requests| Case {
        name,
        system,
        block: Bytes::kibi(4),
        pattern: Pattern::Uniform,
        read,
        depth,
        requests,
    };
    let sequential = |name, system, block| Case {
        name,
        system,
        block,
        pattern: Pattern::Sequential,
        read: 1.0,
        depth: 32,
        requests: 200_000,
    };
    for case in [
        random("4 KiB random read QD32, NVMe", NVME, 1.0, 32, 2_000_000),
        random("4 KiB random read QD32, SATA", SATA, 1.0, 32, 2_000_000),
        random("4 KiB random read QD1, NVMe", NVME, 1.0, 1, 2_000_000),
        sequential("128 KiB sequential read QD32, NVMe", NVME, Bytes::kibi(128)),
        random("4 KiB random write QD32, NVMe", NVME, 0.0, 32, 1_000_000),
        random("4 KiB 70/30 QD32, NVMe", NVME, 0.7, 32, 1_000_000),
    ] {
        run(&case, full);
    }
    println!("start-up: {:.2} ms to assemble and lay out a 512 GB drive", startup_ms());
}

fn run(case: &Case, full: bool) {
    let system = assemble(case.system);
    let requests = if full { case.requests } else { 1_000 };
    let test = Test {
        name: case.name.to_owned(),
        block: case.block,
        pattern: case.pattern,
        read_share: Ratio::new(case.read).expect("a share"),
        queue_depth: case.depth,
        threads: 1,
        span: Bytes::mebi(1024),
        offset: Bytes::ZERO,
        alignment: case.block,
        volume: Some(Bytes(case.block.get() * requests)),
        duration: None,
        rounds: None,
        interval: None,
        ramp: Duration::ZERO,
        think: Duration::ZERO,
        compressibility: Ratio::ZERO,
    };
    let mut rates = Vec::new();
    let mut events = 0;
    for repeat in 0..if full { 5 } else { 1 } {
        let before = cpu_seconds();
        let key = StreamKey { repeat, ..StreamKey::from_seed(1) };
        let sample = run_test(&system.spec, &test, key).expect("the case fits its drive");
        let spent = cpu_seconds() - before;
        assert_eq!(sample.operations(), requests, "every request must have completed");
        events = sample.path.map_or(0, |path| path.events);
        rates.push(requests as f64 / spent.max(1e-9));
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "{:<34}{:>10.2} M{:>10.2} M{:>11.1}{:>8.1} MiB",
        case.name,
        rates[rates.len() - 1] / 1e6,
        rates[rates.len() / 2] / 1e6,
        events as f64 / requests as f64,
        peak_memory_mib(),
    );
}

fn startup_ms() -> f64 {
    let before = cpu_seconds();
    let system = assemble(NVME);
    std::hint::black_box(Simulator::new(&system.spec, Bytes::mebi(1024).into()).now());
    (cpu_seconds() - before) * 1e3
}

fn assemble(name: &str) -> System {
    let parts = SystemName::parse(name).expect("a system's name");
    let named_at = NamedAt::all(&Location::file(name));
    System::assemble(&Library::built_in(), &parts, &named_at, name, &[])
        .expect("a system of the library")
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn peak_memory_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(f64::NAN) / 1024.0
}

fn machine() -> String {
    let machine = lanemark_measure::machine();
    let memory = machine.memory_bytes.get() >> 30;
    format!("{}, {} cores, {memory} GiB, {}", machine.cpu, machine.cores, machine.kernel)
}

//! Measures simulated requests per CPU-second and peak memory, for drives of the library.
//!
//! `cargo bench -p lanemark-study --bench simulator` runs each workload five times and prints the best and the median
//! rate, with the machine. As part of the tests (without `--bench`) it runs once, briefly, so that this code is
//! exercised. The CPU time is the user and system time of the process, not wall time: other programs on the machine
//! make a run longer, but do not increase its CPU time. Start-up, which assembles the system, is timed separately. Each
//! workload runs in a separate process, so that its peak memory can be measured.
//!
//! Other simulators were measured on the first four workloads (`docs/benchmarks/simulators.md`).

use std::process::Command;

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Bytes;
use lanemark_sim::{Simulator, run_test};

mod load;
use load::{Case, cases};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    if let Some(index) = arguments.iter().position(|argument| argument == "--case") {
        let index: usize = arguments[index + 1].parse().expect("a number");
        return run(&cases()[index], full);
    }
    println!("{}", machine());
    println!("{:<40}{:>12}{:>11}{:>10}{:>12}", "", "requests/", "median", "events/", "peak");
    println!("{:<40}{:>12}{:>11}{:>10}{:>12}", "workload", "CPU-s, best", "", "request", "memory");
    let program = std::env::current_exe().expect("the bench knows itself");
    for index in 0..cases().len() {
        let mut bench = Command::new(&program);
        bench.args(["--case", &index.to_string()]).args(full.then_some("--bench"));
        let status = bench.status().expect("the bench runs itself");
        assert!(status.success(), "case {index} failed");
    }
    println!("start-up: {:.2} ms to assemble and lay out a 16 TB drive", startup_ms());
}

fn run(case: &Case, full: bool) {
    let system = case.system();
    let requests = if full { case.requests } else { 2_000 };
    let test = case.test(requests);
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
        "{:<40}{:>10.2} M{:>9.2} M{:>10.1}{:>8.1} MiB",
        case.name,
        rates[rates.len() - 1] / 1e6,
        rates[rates.len() / 2] / 1e6,
        events as f64 / requests as f64,
        peak_memory_mib(),
    );
}

fn startup_ms() -> f64 {
    let before = cpu_seconds();
    let largest = cases().into_iter().find(|case| case.name.ends_with("16 TB")).expect("a case");
    let system = largest.system();
    std::hint::black_box(
        Simulator::new(&system.spec, Bytes::mebi(1024).into(), StreamKey::from_seed(1)).now(),
    );
    (cpu_seconds() - before) * 1e3
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

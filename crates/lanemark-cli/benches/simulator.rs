//! Simulated requests per CPU-second and peak memory, on the drives of the library.
//!
//! `cargo bench -p lanemark-cli --bench simulator` runs each workload five times and prints the best and the
//! median rate with the machine. As part of the tests (without `--bench`) it runs once and short, so that it
//! cannot rot.
//!
//! CPU seconds are those of the process (user and system), not wall time: other load on the machine makes a run
//! longer but not dearer. Start-up, which is assembling the system, is timed apart. Each workload has a process
//! of its own, so that its peak memory is its own.
//!
//! The first four workloads are those on which other simulators were measured (`docs/simulators.md`).

use std::process::Command;

use lanemark_core::result::Calibration;
use lanemark_core::rng::StreamKey;
use lanemark_core::sim::{Simulator, run_test};
use lanemark_core::units::{Bytes, Duration, Ratio};
use lanemark_core::workload::{Load, Mix, Pattern, Start, Test};
use lanemark_study::system::{NamedAt, SystemName};
use lanemark_study::{Library, Location, System};

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";
/// The NVMe drive as one of 1 TB in steady state, with 12% to spare.
const STEADY: &[(&str, &str)] = &[
    ("drive.capacity", "1 TB"),
    ("drive.flash.blocks_per_plane", "4200"),
    ("drive.state.condition", "random"),
];
const WRITTEN: &[(&str, &str)] = &[
    ("drive.capacity", "1 TB"),
    ("drive.flash.blocks_per_plane", "4200"),
    ("drive.state.condition", "sequential"),
];

struct Case {
    name: String,
    system: &'static str,
    settings: Vec<(&'static str, String)>,
    test: Test,
    requests: u64,
}

fn case(name: &str, settings: &[(&'static str, &str)], read: f64, requests: u64) -> Case {
    let test = Test {
        name: name.to_owned(),
        block: Bytes::kibi(4),
        pattern: Pattern::Uniform,
        read_share: Ratio::new(read).expect("a share"),
        queue_depth: 32,
        threads: 1,
        // What the tests of other simulators touch; writes go everywhere.
        span: Bytes::mebi(1024),
        offset: Bytes::ZERO,
        alignment: Bytes::kibi(4),
        volume: None,
        duration: None,
        rounds: None,
        interval: None,
        ramp: Duration::ZERO,
        think: Duration::ZERO,
        compressibility: Ratio::ZERO,
        mix: Mix::default(),
        load: Load::Closed,
        start: Start::default(),
    };
    let settings = settings.iter().map(|&(key, value)| (key, value.to_owned())).collect();
    Case { name: name.to_owned(), system: NVME, settings, test, requests }
}

fn everywhere(case: Case) -> Case {
    Case { test: Test { span: Bytes(1_000_000_000_000 / 4096 * 4096), ..case.test }, ..case }
}

fn cases() -> Vec<Case> {
    let mut sequential = case("128 KiB sequential read QD32", WRITTEN, 1.0, 400_000);
    sequential.test.block = Bytes::kibi(128);
    sequential.test.alignment = Bytes::kibi(128);
    sequential.test.pattern = Pattern::Sequential;
    let mut cases = vec![
        case("4 KiB random read QD32", WRITTEN, 1.0, 2_000_000),
        sequential,
        everywhere(case("4 KiB random write QD32, steady state", STEADY, 0.0, 1_000_000)),
        everywhere(case("4 KiB 70/30 QD32, steady state", STEADY, 0.7, 1_000_000)),
        case("4 KiB random write QD32, fresh drive", &[], 0.0, 1_000_000),
        everywhere(case("4 KiB random read QD32, steady state", STEADY, 1.0, 1_000_000)),
        Case { system: SATA, ..case("4 KiB random read QD32, SATA", &[], 1.0, 2_000_000) },
    ];
    // The same drive with more of the same flash: reads go everywhere.
    for (capacity, blocks) in
        [("128 GB", "512"), ("512 GB", "2048"), ("2 TB", "8192"), ("16 TB", "64000")]
    {
        let settings = [("drive.capacity", capacity), ("drive.flash.blocks_per_plane", blocks)];
        let mut sized =
            case(&format!("4 KiB random read QD32, {capacity}"), &settings, 1.0, 1_000_000);
        let bytes: Bytes = capacity.parse().expect("a capacity");
        sized.test.span = Bytes(bytes.get() / 4096 * 4096);
        cases.push(sized);
    }
    for depth in [1, 1024, 65_536] {
        let queue = depth.max(1024).to_string();
        let settings = [("platform.nvme.queue_depth", queue.as_str())];
        let mut deep = case(&format!("4 KiB random read QD{depth}"), &settings, 1.0, 1_000_000);
        deep.test.queue_depth = depth;
        cases.push(deep);
    }
    for queues in [4, 64] {
        let count = queues.to_string();
        let settings =
            [("platform.nvme.queues", count.as_str()), ("platform.cpu.cores", count.as_str())];
        let name = format!("4 KiB random read QD16 x {queues} queues");
        let mut wide = case(&name, &settings, 1.0, 1_000_000);
        wide.test.queue_depth = 16;
        wide.test.threads = queues;
        cases.push(wide);
    }
    cases
}

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
    println!("start-up: {:.2} ms to assemble and lay out a drive of 16 TB", startup_ms());
}

fn run(case: &Case, full: bool) {
    let system = assemble(case);
    let requests = if full { case.requests } else { 2_000 };
    let volume = Some(Bytes(case.test.block.get() * requests));
    let test = Test { volume, ..case.test.clone() };
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
    let system = assemble(&largest);
    std::hint::black_box(Simulator::new(&system.spec, Bytes::mebi(1024).into()).now());
    (cpu_seconds() - before) * 1e3
}

fn assemble(case: &Case) -> System {
    let parts = SystemName::parse(case.system).expect("a system's name");
    let at = Location::file(case.system);
    let setting = |(parameter, value): &(&str, String)| {
        let (parameter, value) = ((*parameter).to_owned(), value.clone());
        (Calibration { parameter, value, figure: None, reason: None }, at.clone())
    };
    let settings: Vec<(Calibration, Location)> = case.settings.iter().map(setting).collect();
    System::assemble(&Library::built_in(), &parts, &NamedAt::all(&at), case.system, &settings)
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

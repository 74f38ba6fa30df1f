//! Measures the simulator's instructions and cache misses per request, which are counted rather than timed.
//!
//! `cargo bench -p lanemark-study --bench instructions` runs each load of `load` under valgrind's callgrind, once with
//! a few thousand requests and once with more. The difference is the cost of the additional requests, without start-up.
//! The same program has the same counts regardless of other programs on the machine. The counts are compared with
//! `benches/instructions.csv`: a count more than 3% above its recorded value is a failure, and a count more than 3%
//! below is reported. `-- --write "reason"` records the new counts with the reason for the change.
//!
//! The numbers of misses are from callgrind's model of this machine's caches, so they differ between machines. They are
//! recorded but not compared.
//!
//! As a part of the tests (without `--bench`), each load runs once, briefly and without valgrind, so that this code is
//! exercised.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lanemark_schema::rng::StreamKey;
use lanemark_sim::run_test;

mod load;
use load::{Case, cases};

/// Relative growth of a count above which a reason is required.
const GROWTH_MAX: f64 = 0.03;
/// Number of requests in the shorter run, which warms the caches, and in the longer run.
const REQUESTS: (u64, u64) = (4_000, 24_000);

/// The number of instructions per request of a load.
#[derive(Clone, Debug)]
struct Cost {
    name: String,
    instructions: f64,
    first_level_misses: f64,
    last_level_misses: f64,
    reason: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    if let (Some(index), Some(requests)) = (value("--case"), value("--requests")) {
        let index: usize = index.parse().expect("a number");
        run(&cases()[index], requests.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        cases().iter().for_each(|case| run(case, case.requests.min(500)));
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("valgrind is missing: apt-get install valgrind");
        return ExitCode::FAILURE;
    }
    let reason = value("--write");
    if reason.as_ref().is_some_and(|reason| reason.trim().is_empty() || reason.contains(',')) {
        eprintln!("--write needs the reason for the change, without commas");
        return ExitCode::FAILURE;
    }
    let known = recorded();
    let mut counted: Vec<Cost> = Vec::new();
    let mut grown = 0;
    println!(
        "{:<44}{:>12}{:>9}{:>10}{:>10}",
        "a request of", "instructions", "", "D1 misses", "LL misses"
    );
    for (index, case) in cases().iter().enumerate() {
        let mut cost = cost(index, case);
        let before = known.iter().find(|known| known.name == cost.name);
        let growth = before.map(|before| cost.instructions / before.instructions - 1.0);
        let growth_text =
            growth.map_or("new".to_owned(), |growth| format!("{:+.1}%", growth * 100.0));
        println!(
            "{:<44}{:>12.0}{:>9}{:>10.1}{:>10.2}",
            cost.name,
            cost.instructions,
            growth_text,
            cost.first_level_misses,
            cost.last_level_misses
        );
        let moved = growth.is_none_or(|growth| growth.abs() > 0.005);
        cost.reason = match (&reason, before) {
            (Some(reason), _) if moved => reason.clone(),
            (_, Some(before)) => before.reason.clone(),
            (_, None) => String::new(),
        };
        // A count that has hardly changed keeps its recorded value, so that the sum of small changes is reported
        // eventually.
        grown += usize::from(growth.is_none_or(|growth| growth > GROWTH_MAX));
        counted.push(match (moved, before) {
            (false, Some(before)) => before.clone(),
            _ => cost,
        });
    }
    if reason.is_some() {
        write(&counted);
        println!("recorded in {}", baseline().display());
        return ExitCode::SUCCESS;
    }
    if grown > 0 {
        eprintln!(
            "{grown} counts are new or more than {:.0}% above the recorded counts of {}: reduce them, or record them with \
             `cargo bench -p lanemark-study --bench instructions -- --write \"reason\"`",
            GROWTH_MAX * 100.0,
            baseline().display()
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run(case: &Case, requests: u64) {
    let system = case.system();
    let sample = run_test(&system.spec, &case.test(requests), StreamKey::from_seed(1));
    let sample = sample.expect("the load fits its drive");
    assert_eq!(sample.operations(), requests, "every request must have completed");
}

/// Computes the number of instructions per request from two runs of different lengths.
fn cost(index: usize, case: &Case) -> Cost {
    let (few, many) = REQUESTS;
    let [short, long] = [few, many].map(|requests| events(index, requests));
    let each =
        |at: fn(&Events) -> u64| (at(&long) as f64 - at(&short) as f64) / (many - few) as f64;
    Cost {
        name: case.name.clone(),
        instructions: each(|events| events.instructions),
        first_level_misses: each(|events| events.first_level_misses),
        last_level_misses: each(|events| events.last_level_misses),
        reason: String::new(),
    }
}

/// Callgrind's counts for a run.
struct Events {
    instructions: u64,
    first_level_misses: u64,
    last_level_misses: u64,
}

fn events(index: usize, requests: u64) -> Events {
    let program = std::env::current_exe().expect("the bench knows itself");
    let folder = tempfile::tempdir().expect("a folder for callgrind's file");
    let file = folder.path().join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--cache-sim=yes", "--error-exitcode=9"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(["--case", &index.to_string(), "--requests", &requests.to_string()])
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "case {index}: {said}");
    let text = fs::read_to_string(&file).expect("callgrind wrote its file");
    let line = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_else(|| panic!("callgrind's file lacks `{name}`")).split_whitespace()
    };
    let names: Vec<&str> = line("events:").collect();
    let values: Vec<u64> = line("summary:").map(|word| word.parse().expect("a count")).collect();
    let count = |name: &str| {
        let at = names.iter().position(|known| *known == name);
        at.and_then(|at| values.get(at).copied()).unwrap_or(0)
    };
    Events {
        instructions: count("Ir"),
        first_level_misses: count("D1mr") + count("D1mw"),
        last_level_misses: count("DLmr") + count("DLmw"),
    }
}

fn baseline() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.csv")
}

fn recorded() -> Vec<Cost> {
    let Ok(mut reader) = csv::Reader::from_path(baseline()) else { return Vec::new() };
    let cost = |record: csv::StringRecord| {
        let number = |at: usize| record[at].parse::<f64>().expect("a number");
        Cost {
            name: record[0].to_owned(),
            instructions: number(1),
            first_level_misses: number(2),
            last_level_misses: number(3),
            reason: record[4].to_owned(),
        }
    };
    reader.records().map(|record| cost(record.expect("a row"))).collect()
}

fn write(costs: &[Cost]) {
    let mut writer = csv::Writer::from_path(baseline()).expect("the baseline can be written");
    let head = ["load", "instructions", "d1_misses", "ll_misses", "reason"];
    writer.write_record(head).expect("a row");
    for cost in costs {
        let figures = [
            format!("{:.1}", cost.instructions),
            format!("{:.2}", cost.first_level_misses),
            format!("{:.3}", cost.last_level_misses),
        ];
        let [instructions, first, last] = &figures;
        let row = [&cost.name, instructions, first, last, &cost.reason];
        writer.write_record(row).expect("a row");
    }
    writer.flush().expect("the baseline can be written");
}

//! `lanemark bench` on served drives, compared with `lanemark sim --host` with this machine's measured host.
//!
//! The time of a served drive is known, because the model determines it. What remains is this machine's part of each
//! request, and the measured host states this part. The rates at depths 1, 4, 32 and 128 must agree to within 10%.
//! `make serve-verdict` compares all rows; the tests compare one drive, briefly.

use std::fs;
use std::path::Path;

use lanemark_schema::result::RunResult;
use lanemark_testbed::{skipped, times_disagree};

use super::{Server, command, folder, stderr};

/// Drives and volumes that this machine can serve in time.
const SYSTEMS: [&str; 4] = [
    "aws-gp3-1tib-16000@aws-m5-4xlarge:volume",
    "aws-gp3-1tib@aws-m5-4xlarge:volume",
    "samsung-850-pro-1tb@workstation-z170:sata",
    "samsung-860-qvo-1tb@workstation-z170:sata",
];
const DEPTHS: [u32; 4] = [1, 4, 32, 128];
/// Maximum difference between the two rates.
const BOUND: f64 = 0.1;
/// Number of attempts for each row, because other programs take processor time from the server.
const ATTEMPTS: u32 = 3;

/// Returns a workload file with one test of random reads per depth.
fn workload(milliseconds: u32, repeats: u32) -> String {
    let mut text = format!(
        "[workload]\nname = \"depths\"\nrepeats = {repeats}\naverage = \"mean\"\n\n[defaults]\nblock = \"4 KiB\"\n\
         pattern = \"random\"\nread = \"100%\"\nspan = \"256 MiB\"\nramp = \"100 ms\"\nduration = \"{milliseconds} ms\"\n"
    );
    for depth in DEPTHS {
        text += &format!("\n[[test]]\nname = \"depth {depth}\"\nqueue_depth = {depth}\n");
    }
    text
}

/// Runs a command that saves a result, and returns the rate of each test and the result's host.
fn rates(folder: &Path, words: &[&str]) -> (Vec<f64>, Option<String>) {
    let words = [words, &["--out", "one.json"]].concat();
    let output = command(folder, &words).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read(folder.join("one.json")).unwrap();
    let result: RunResult = serde_json::from_slice(&text).unwrap();
    let host = result.measured_host().map(str::to_owned);
    (result.tests.iter().map(|test| test.iops.value).collect(), host)
}

/// Measures a served system and this machine, simulates the system with the measured host, and returns the difference
/// of the rates at each depth. If `is_long`, the host comes from the measured result.
fn differences(system: &str, awake: &[&str], is_long: bool) -> Vec<f64> {
    let text = if is_long { workload(2_000, 3) } else { workload(400, 1) };
    let server = Server::try_start_of(
        system,
        folder(),
        &["--mount", "file", "--memory", "--size", "256MiB"],
    );
    let server = server.unwrap_or_else(|output| panic!("{}", stderr(&output)));
    let here = server.folder.path();
    fs::write(here.join("depths.toml"), text).unwrap();
    let bench = ["bench", "file", "./depths.toml", "--overwrite", "file"];
    let (measured, host) = rates(here, &[&bench[..], awake].concat());
    match host {
        Some(host) => fs::write(here.join("host.toml"), host).unwrap(),
        None => {
            assert!(!is_long, "a long run measures its host");
            let words = ["bench", "--duration", "1s", "--host-only", "host.toml"];
            let output = command(here, &words).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
        }
    }
    let sim = ["sim", system, "./depths.toml", "--host", "./host.toml", "--no-interval"];
    let (simulated, _) = rates(here, &sim);
    let differences: Vec<f64> =
        simulated.iter().zip(&measured).map(|(one, other)| one / other - 1.0).collect();
    for ((depth, difference), (measured, simulated)) in
        DEPTHS.iter().zip(&differences).zip(measured.iter().zip(&simulated))
    {
        println!(
            "{system:<52} {:<9} {depth:>4} | {measured:>8.0} {simulated:>8.0} | {:>+6.1}%",
            awake.first().unwrap_or(&""),
            100.0 * difference
        );
    }
    let (_folder, output) = server.stop();
    assert!(output.status.success(), "{}", stderr(&output));
    differences
}

#[test]
fn a_simulation_with_the_measured_host_agrees_with_a_measurement_at_every_depth() {
    if !Path::new("/dev/fuse").exists() {
        return skipped("/dev/fuse");
    }
    let agree = |all: &[f64]| all.iter().all(|difference| difference.abs() <= BOUND);
    let is_long = std::env::var_os("LANEMARK_SERVE_VERDICT").is_some();
    let check = |system: &str, awake: &[&str]| {
        let attempts: Vec<Vec<f64>> = (0..ATTEMPTS)
            .map(|_| differences(system, awake, is_long))
            .take_while(|all| !agree(all))
            .collect();
        if attempts.len() < ATTEMPTS as usize {
            return;
        }
        times_disagree(&format!("{system} {awake:?}: {attempts:?}"));
    };
    if !is_long {
        return check(SYSTEMS[0], &[]);
    }
    let root = rustix::process::geteuid().is_root();
    let awake: &[&[&str]] = if root { &[&[], &["--no-idle"]] } else { &[&[]] };
    for system in SYSTEMS {
        awake.iter().for_each(|awake| check(system, awake));
    }
}

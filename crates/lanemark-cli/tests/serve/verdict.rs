//! The verdict on served runs, compared with fio's figures.
//!
//! fio loads served drives through the socket, and `lanemark sim` runs the same test on the same drive from the same
//! state. A run must be invalid if fio's rate or its median latency differs from the simulated one by more than 10%,
//! and valid otherwise. Runs whose difference is close to 10% are shown but not judged. `make serve-verdict` compares
//! all rows; the tests compare some of them, briefly.

use std::fs;
use std::path::Path;
use std::process::Command;

use lanemark_schema::result::{DEVIATION_MAX, LiveVerdict, RunResult};
use lanemark_testbed::{NbdClient, Running, skipped, times_disagree, tool};
use serde_json::Value;

use super::{command, folder, stderr};

/// Library drives in ports of library platforms.
const SYSTEMS: [&str; 6] = [
    "crucial-t705-2tb@amd-x670e:m2",
    "samsung-980-pro-1tb@workstation-x570:m2",
    "intel-optane-p4800x-375gb@workstation-z170:pcie-slot",
    "samsung-850-pro-1tb@workstation-z170:sata",
    "crucial-c300-256gb@intel-x58:sata",
    "wd-black-1tb@workstation-z170:sata",
];
/// Rows of the short form, as indices of systems and loads.
const SHORT: [(usize, usize); 3] = [(0, 2), (2, 0), (5, 0)];
/// The range of differences that are too close to the bound to be judged, as factors of the bound.
const CLOSE: [f64; 2] = [0.6, 1.5];

/// A test: fio's direction, block size and depth, and the drive's content at the start.
#[derive(Clone, Copy)]
struct LoadRow {
    direction: &'static str,
    block: &'static str,
    depth: u32,
    start: &'static str,
}

const fn row(
    direction: &'static str,
    block: &'static str,
    depth: u32,
    start: &'static str,
) -> LoadRow {
    LoadRow { direction, block, depth, start }
}

const LOADS: [LoadRow; 8] = [
    row("randread", "4k", 1, "just-written"),
    row("randread", "4k", 4, "just-written"),
    row("randread", "4k", 32, "just-written"),
    row("randwrite", "4k", 1, "rested"),
    row("randwrite", "4k", 4, "rested"),
    row("randwrite", "4k", 32, "rested"),
    row("read", "128k", 8, "just-written"),
    row("write", "128k", 8, "empty"),
];

/// Requests a second, and their median latency in µs.
#[derive(Clone, Copy)]
struct Figures {
    iops: f64,
    p50: f64,
}

impl Figures {
    /// Returns the difference from `other` in the rate or in the median latency, whichever is larger.
    fn difference(self, other: Self) -> f64 {
        (self.iops / other.iops - 1.0).abs().max((self.p50 / other.p50 - 1.0).abs())
    }
}

impl LoadRow {
    fn reads(self) -> bool {
        self.direction.ends_with("read")
    }

    /// Returns the test as a workload file.
    fn workload(self, seconds: f64) -> String {
        let pattern = if self.direction.starts_with("rand") { "random" } else { "sequential" };
        let block = self.block.replace('k', " KiB");
        let read = if self.reads() { "100%" } else { "0%" };
        format!(
            "[workload]\nname = \"verdict\"\nrepeats = 1\naverage = \"mean\"\n\n[[test]]\nname = \"one\"\nspan = \"1 GiB\"\nduration = \"{} ms\"\n\
             block = \"{block}\"\npattern = \"{pattern}\"\nread = \"{read}\"\nqueue_depth = {}\n",
            (seconds * 1e3) as u64,
            self.depth
        )
    }

    fn simulated(self, system: &str, seconds: f64) -> Figures {
        let folder = folder();
        fs::write(folder.path().join("load.toml"), self.workload(seconds)).unwrap();
        let words = ["sim", system, "./load.toml", "--no-interval", "--out", "sim.json"];
        let output = command(folder.path(), &words).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let result: RunResult =
            serde_json::from_slice(&fs::read(folder.path().join("sim.json")).unwrap()).unwrap();
        let sample = &result.tests[0].samples[0];
        let p50 = sample.latency().percentile_ns(50.0).unwrap() as f64 / 1e3;
        Figures { iops: sample.iops(), p50 }
    }

    fn fio(self, socket: &Path, seconds: f64) -> Figures {
        let words = [
            "--name=one".to_owned(),
            "--ioengine=nbd".to_owned(),
            format!("--uri=nbd+unix:///?socket={}", socket.display()),
            "--size=1g".to_owned(),
            "--output-format=json".to_owned(),
            format!("--rw={}", self.direction),
            format!("--bs={}", self.block),
            format!("--iodepth={}", self.depth),
            "--time_based".to_owned(),
            format!("--runtime={}ms", (seconds * 1e3) as u64),
            "--norandommap".to_owned(),
        ];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let text = tool("fio", &words).unwrap();
        // The engine prints another line first.
        let report: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let side = &report["jobs"][0][if self.reads() { "read" } else { "write" }];
        let p50 = side["clat_ns"]["percentile"]["50.000000"].as_f64().unwrap() / 1e3;
        Figures { iops: side["iops"].as_f64().unwrap(), p50 }
    }
}

/// Serves a system to `load`, which receives the path of the socket. Returns the saved result and the notes.
fn serve(system: &str, start: &str, load: impl FnOnce(&Path)) -> (RunResult, String) {
    let folder = folder();
    let words = ["serve", system, "--socket", "nbd", "--control", "control", "--memory", "--size"];
    let words = [&words[..], &["1GiB", "--start", start, "--out", "result.json"]].concat();
    let mut child = Running::new(command(folder.path(), &words).spawn().unwrap());
    let mut line = String::new();
    let out = child.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    assert!(line.starts_with("nbd+unix"), "{}", stderr(&child.output()));
    load(&folder.path().join("nbd"));
    let stop = command(folder.path(), &["serve", "stop", "control"]).output().unwrap();
    assert!(stop.status.success(), "{}", stderr(&stop));
    let output = child.output();
    assert!(output.status.success(), "{}", stderr(&output));
    let result = fs::read(folder.path().join("result.json")).unwrap();
    (serde_json::from_slice(&result).unwrap(), stderr(&output))
}

enum Agreement {
    Agrees,
    /// The difference is close to the bound.
    Close,
    Differs,
}

/// Compares the verdict on a run with fio's figures, and prints a line of the table.
fn compare(system: &str, load: LoadRow, seconds: f64) -> Agreement {
    // On a disk with 32 outstanding requests, each request takes 0.13 s, and a short test omits the requests in flight
    // at its end.
    let seconds = if system.starts_with("wd-black") { 5.0 * seconds } else { seconds };
    let simulated = load.simulated(system, seconds);
    let mut figures = Figures { iops: 0.0, p50: 0.0 };
    let (result, _) = serve(system, load.start, |socket| figures = load.fio(socket, seconds));
    let live = result.tests[0].samples[0].live.as_ref().unwrap();
    let verdict = live.verdict();
    let difference = figures.difference(simulated);
    let is_close = (CLOSE[0]..CLOSE[1]).contains(&(difference / DEVIATION_MAX));
    let agrees = (verdict == LiveVerdict::Valid) == (difference <= DEVIATION_MAX);
    let deviation = live.deviation().unwrap();
    let drive = system.split('@').next().unwrap();
    println!(
        "{drive:<26} {:<9} {:>4} {:>2} | {:>8.0} {:>8.0} | {:>8.1} {:>8.1} | {:>6.1}% {:<9} | mean {:>+6.1}% p50 {:>+6.1}% \
         drive {:>3.0}% server {:>3.0}% unread {:>5.1} out {:>4.0}/{:.0} | {}",
        load.direction,
        load.block,
        load.depth,
        simulated.iops,
        figures.iops,
        simulated.p50,
        figures.p50,
        100.0 * difference,
        verdict.word(),
        100.0 * deviation.mean,
        100.0 * deviation.median,
        100.0 * live.evidence.drive_busy,
        100.0 * live.evidence.server_busy,
        live.evidence.unread.as_microseconds(),
        live.evidence.outside.map_or(0.0, |outside| outside.client.as_microseconds()),
        live.evidence.outside.map_or(0.0, |outside| outside.host.as_microseconds()),
        match (agrees, is_close) {
            (true, _) => "agrees",
            (false, true) => "close",
            (false, false) => "DIFFERS",
        }
    );
    match (agrees, is_close) {
        (true, _) => Agreement::Agrees,
        (false, true) => Agreement::Close,
        (false, false) => Agreement::Differs,
    }
}

#[test]
fn a_run_is_invalid_exactly_if_fio_sees_other_figures() {
    for program in ["fio"] {
        if tool(program, &["--version"]).is_err() {
            return skipped(&format!("{program} is not installed"));
        }
    }
    if !Command::new("fio")
        .arg("--enghelp=nbd")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return skipped("fio lacks an engine for NBD");
    }
    let full = std::env::var_os("LANEMARK_SERVE_VERDICT").is_some();
    let all = || (0..SYSTEMS.len()).flat_map(|system| (0..LOADS.len()).map(move |at| (system, at)));
    let rows: Vec<(usize, usize)> = if full { all().collect() } else { SHORT.to_vec() };
    let seconds = if full { 2.0 } else { 0.5 };
    println!(
        "drive, load | requests/s simulated, fio | p50 µs simulated, fio | difference, verdict"
    );
    let mut agrees = 0;
    let mut close = 0;
    let mut differs = 0;
    for (system, load) in rows {
        match compare(SYSTEMS[system], LOADS[load], seconds) {
            Agreement::Agrees => agrees += 1,
            Agreement::Close => close += 1,
            Agreement::Differs => differs += 1,
        }
    }
    println!("{agrees} agree, {close} are close to the bound, {differs} differ");
    if differs > 0 {
        times_disagree(&format!("{differs} verdicts differ from fio's figures"));
    }
}

#[test]
fn a_served_drive_starts_as_a_simulated_one() {
    let system = "samsung-980-pro-1tb@workstation-x570:m2";
    let p50 = |start: &str| {
        let (result, notes) = serve(system, start, |socket| {
            let mut client = NbdClient::connect(socket).unwrap();
            // The pages are far apart, so no two of them are read together.
            (0..200u64).for_each(|at| {
                client.read((at * 7_919) % 262_144 * 4096, 4096).unwrap().unwrap();
            });
        });
        assert!(notes.contains("note: the drive starts with 1 GiB of data"), "{notes}");
        assert!(notes.contains("note: this machine serves up to "), "{notes}");
        let sample = &result.tests[0].samples[0];
        let live = sample.live.as_ref().unwrap();
        assert_eq!(live.content.unwrap().is_just_written, start == "just-written");
        let host = live.evidence.outside.unwrap().host;
        (sample.latency().percentile_ns(50.0).unwrap() + host.nanoseconds()) as f64 / 1e3
    };
    let simulated = LOADS[0].simulated(system, 0.05).p50;
    let written = p50("just-written");
    let rested = p50("rested");
    assert!((written / simulated - 1.0).abs() < 0.03, "{written} us, simulated {simulated}");
    // The drive's pseudo-SLC cache is read in 25 µs, and its TLC flash in 45 µs.
    assert!((rested - written - 20.0).abs() < 2.0, "{written} us, rested {rested} us");
}

#[test]
fn a_small_part_of_a_disk_is_noted() {
    let disk = "wd-black-1tb@workstation-z170:sata";
    let read = |socket: &Path| {
        NbdClient::connect(socket).unwrap().read(0, 4096).unwrap().unwrap();
    };
    let (_, notes) = serve(disk, "just-written", read);
    assert!(notes.contains("note: the disk's heads move less within 0.1% of the disk"), "{notes}");
    assert!(!notes.contains("the drive starts"), "{notes}");
}

//! The requests of a job file equal fio's requests: fio runs the file with its null engine and records the requests.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use lanemark_formats::fio::{self, JobEnvironment};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Accesses, Operation};

/// A request: its kind, its offset and its length.
type Request = (Operation, u64, u64);

/// Returns fio's requests; `None` if fio is not installed.
fn by_fio(name: &str, options: &str) -> Option<Vec<Request>> {
    if Command::new("fio").arg("--version").output().is_err() {
        lanemark_testbed::skipped("fio is not installed (apt-get install fio)");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let job = folder.join(format!("{name}.fio"));
    let log = folder.join(format!("{name}.log"));
    let _ = fs::remove_file(&log);
    let text =
        format!("[job]\nioengine=null\nfilename=target\n{options}write_iolog={}\n", log.display());
    fs::write(&job, text).unwrap();
    let output = Command::new("fio").arg(&job).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(&log).unwrap();
    Some(log.lines().filter_map(request).collect())
}

/// Parses a line of an iolog, version 2 or 3.
fn request(line: &str) -> Option<Request> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [.., action, offset, length] = words[..] else { return None };
    let operation = match action {
        "read" => Operation::Read,
        "write" => Operation::Write,
        "trim" => Operation::Trim,
        "sync" => Operation::Flush,
        _ => return None,
    };
    Some((operation, offset.parse().ok()?, length.parse().ok()?))
}

/// Returns the requests that Lanemark makes for the job file.
fn by_us(options: &str, count: usize) -> Vec<Request> {
    let around = JobEnvironment {
        file: "job.fio",
        target_size: None,
        environment: &|_| None,
        include: &|_| Err("no request".to_owned()),
    };
    let text = format!("[job]\nioengine=null\nfilename=target\n{options}");
    let jobs = fio::read(&text, &around).unwrap_or_else(|errors| panic!("{errors}"));
    let mut accesses = Accesses::new(&jobs.workload.tests[0], StreamKey::from_seed(1)).unwrap();
    let mut next = || {
        let access = accesses.next_access();
        (access.operation, access.offset.get(), access.length.get())
    };
    (0..count).map(|_| next()).collect()
}

/// Returns the share of requests with a property.
fn share(requests: &[Request], holds: impl Fn(&Request) -> bool) -> f64 {
    requests.iter().filter(|request| holds(request)).count() as f64 / requests.len() as f64
}

#[track_caller]
fn assert_near(what: &str, fio: f64, ours: f64, within: f64) {
    assert!((fio - ours).abs() <= within, "{what}: {fio} of fio's, {ours} of ours");
}

#[test]
fn places_in_order_are_the_same_one_by_one() {
    for (name, options) in [
        ("forward", "rw=read\nbs=4k\nsize=1m\n"),
        ("backward", "rw=read:-8k\nbs=4k\nsize=1m\n"),
        ("gaps", "rw=write:12k\nbs=4k\nsize=1m\n"),
        ("offset", "rw=read\nbs=16k\nsize=1m\noffset=256k\nfilesize=4m\n"),
    ] {
        let Some(fio) = by_fio(name, options) else { return };
        // With gaps, fio passes over the file again for the remaining blocks, but the test compares only one pass.
        let once = fio.len().min(if name == "gaps" { 64 } else { usize::MAX });
        assert!(once > 30, "{name}: {once}");
        // In backward order, fio begins at 0 and then continues from the end.
        let from = usize::from(name == "backward");
        assert_eq!(fio[from..once], by_us(options, once)[from..], "{name}");
    }
}

#[test]
fn random_places_are_each_there_once() {
    let options = "rw=randread\nbs=4k\nsize=4m\n";
    let Some(fio) = by_fio("once", options) else { return };
    assert_eq!(fio.len(), 1024);
    let sorted = |mut requests: Vec<Request>| {
        requests.sort_unstable_by_key(|request| request.1);
        requests
    };
    assert_eq!(sorted(fio), sorted(by_us(options, 1024)));
}

#[test]
fn sizes_and_directions_have_the_same_shares() {
    const COUNT: &str = "number_ios=20000\nsize=1g\nnorandommap\n";
    for (name, options) in [
        ("mix", format!("rw=randrw\nrwmixread=70\nbs=4k\n{COUNT}")),
        ("split", format!("rw=randread\nbssplit=4k/60:16k/10:64k/30\n{COUNT}")),
        ("range", format!("rw=randread\nbsrange=4k-64k\n{COUNT}")),
        ("flush", format!("rw=randwrite\nbs=4k\nfsync=4\n{COUNT}")),
        ("aligned", format!("rw=randread\nbs=4k\nblockalign=64k\n{COUNT}")),
    ] {
        let Some(fio) = by_fio(name, &options) else { return };
        let ours = by_us(&options, 20_000);
        for operation in [Operation::Read, Operation::Write, Operation::Flush] {
            let of = |requests: &[Request]| share(requests, |request| request.0 == operation);
            assert_near(&format!("{name}, {operation:?}"), of(&fio), of(&ours), 0.015);
        }
        let lengths = |requests: &[Request]| {
            let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
            requests.iter().for_each(|request| *counts.entry(request.2).or_default() += 1);
            counts
        };
        let theirs = lengths(&fio);
        let own = lengths(&ours);
        for length in theirs.keys().chain(own.keys()) {
            let part = |of: &BTreeMap<u64, usize>, all: usize| {
                *of.get(length).unwrap_or(&0) as f64 / all as f64
            };
            let what = format!("{name}, {}", Bytes(*length));
            assert_near(&what, part(&theirs, fio.len()), part(&own, ours.len()), 0.015);
        }
        let unit = |requests: &[Request]| {
            requests.iter().map(|request| request.1).filter(|&at| at > 0).fold(0, gcd)
        };
        assert_eq!(unit(&fio), unit(&ours), "{name}: places are multiples of");
    }
}

#[test]
fn distributions_send_as_much_to_as_little() {
    const COUNT: &str = "rw=randread\nbs=4k\nio_size=200m\nsize=64m\nnorandommap\n";
    for distribution in ["zoned:50/5:30/15:20/", "zipf:1.1", "pareto:0.2", "normal:10"] {
        let options = format!("{COUNT}random_distribution={distribution}\n");
        let name = distribution.split(':').next().unwrap();
        let Some(fio) = by_fio(name, &options) else { return };
        let ours = by_us(&options, 51_200);
        assert_eq!(fio.len(), ours.len());
        // The share of requests that go to the most popular offsets, for this percentage of the offsets.
        for percent in [1, 5, 20, 50] {
            let to_most = |requests: &[Request]| {
                let mut counts = vec![0usize; 16_384];
                requests.iter().for_each(|request| counts[(request.1 / 4096) as usize] += 1);
                counts.sort_unstable_by(|a, b| b.cmp(a));
                let most: usize = counts[..counts.len() * percent / 100].iter().sum();
                most as f64 / requests.len() as f64
            };
            let what = format!("{distribution}, to {percent}% of the places");
            assert_near(&what, to_most(&fio), to_most(&ours), 0.03);
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

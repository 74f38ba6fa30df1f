//! The commands as a user sees them: exit codes, output on stdout and stderr, and the files that they create.

use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use lanemark_testbed::{lanemark, stderr};
use serde_json::Value;
use tempfile::TempDir;

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
/// A folder for results on the disk of the checkout, where direct I/O works.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

/// Returns the JSON without the times and the command in its provenance.
fn without_times(text: &str) -> Value {
    let mut value: Value = serde_json::from_str(text).unwrap();
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Object(provenance)) = object.get_mut("provenance") {
                provenance.retain(|key, _| !["started_at", "finished_at"].contains(&key.as_str()));
            }
            object.values_mut().for_each(strip);
        }
        Value::Array(array) => array.iter_mut().for_each(strip),
        _ => {}
    }
}

#[test]
fn one_seed_gives_one_result_and_another_differs_within_the_spread() {
    let folder = folder();
    let run = |seed: &str| {
        let run = lanemark!(folder.path(), &["sim", NVME, "crystaldiskmark-8"]);
        run.with("--duration 100ms --json --out sim.json --seed").with(seed).stdout()
    };
    let first = run("1");
    let again = run("1");
    let other = run("2");
    assert_eq!(without_times(&first), without_times(&again));
    let first: Value = without_times(&first);
    let other: Value = without_times(&other);
    assert_ne!(first["tests"], other["tests"]);
    for (one, two) in
        first["tests"].as_array().unwrap().iter().zip(other["tests"].as_array().unwrap())
    {
        let statistic = |test: &Value, key: &str| {
            test["throughput_bytes_per_second"][key].as_f64().unwrap_or(0.0)
        };
        // Each mean is over five repeats, so the difference of the two means varies like the repeats.
        let spread = 3.0 * (statistic(one, "deviation") + statistic(two, "deviation"));
        let apart = (statistic(one, "value") - statistic(two, "value")).abs();
        assert!(apart <= spread + 1.0, "{}: {apart} B/s apart", one["test"]["name"]);
    }
}

#[test]
fn a_path_is_shown_with_its_ceilings_and_drawn() {
    let folder = folder();
    let system = "crucial-c300-256gb@intel-x58:card-in-ich-x1";
    let inspect = || lanemark!(folder.path(), &["inspect", system]);
    let test = "iometer-2mb-4k-qd3:2mb-sequential-read";
    let text = inspect().with("--svg path.svg --workload").with(test).stdout();
    assert!(text.contains("The bottleneck is Marvell, PCIe 1.0 x1"), "{text}");
    assert!(text.contains("ICH10") && text.contains("port card-in-x16"), "{text}");
    assert!(fs::read_to_string(folder.path().join("path.svg")).unwrap().starts_with("<svg"));
    inspect().with("--svg path.svg").stdout();
    let message = inspect().with("--workload crystaldiskmark-5").fails_with(2);
    assert!(message.contains("has several tests") && message.contains("seq-read"), "{message}");
    fs::write(folder.path().join("notes.svg"), "<svg>mine</svg>").unwrap();
    inspect().with("--svg notes.svg").fails_with(3);
}

#[test]
fn wrong_input_is_reported_and_exits_with_2() {
    let folder = folder();
    let out = folder.path().to_str().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["study", "studies/nothing.toml"], "studies/nothing.toml: can't be read"),
        (&["study", "README.md"], "README.md:"),
        (&["sim", "nonsense", "crystaldiskmark-5"], "drive@platform:port"),
        (
            &["sim", NVME, "crystaldiskmark-7"],
            "did you mean `crystaldiskmark-5` or `crystaldiskmark-8`?",
        ),
        (&["sim", NVME, "crystaldiskmark-5", "--size", "1PB"], "is not a unit of data"),
        (&["sim", NVME, "crystaldiskmark-5", "--size", "1TB"], "ends beyond the drive's 512 GB"),
        (&["sim", NVME, "crystaldiskmark-5", "--size", "4KiB"], "span = 4 KiB: 1 MiB or more"),
        (&["sim", NVME, "crystaldiskmark-5", "--set", "drive.flash.read"], "PARAMETER=VALUE"),
        (&["compare", "README.md", "README.md"], "not a result in a known format"),
    ];
    for (arguments, expected) in cases {
        let mut arguments = arguments.to_vec();
        if arguments[0] != "compare" {
            arguments.extend(["--out", out]);
        }
        lanemark!(&arguments).fails_saying(2, expected);
    }
}

#[test]
fn measuring_makes_a_file_and_removes_it_and_keeps_the_result() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let run = |line: &str| lanemark!(folder.path(), &[]).with(line).stdout();
    let short = "--size 16MiB --duration 100ms --repeats 3";
    let text = run(&format!("bench bench.dat {short} --json --out bench.json"));
    assert!(!path("bench.dat").exists(), "the target must be gone");
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["tests"].as_array().unwrap().len(), 8);
    assert_eq!(result["complete"], true);
    let saved = fs::read_to_string(path("bench.json")).unwrap();
    assert_eq!(without_times(&saved), without_times(&text));
    let table = run("compare bench.json bench.json");
    assert!(table.contains("SEQ1M Q8T1 read") && table.contains("1.00"), "{table}");
    run("report bench.json --out page.html");
    assert!(fs::read_to_string(path("page.html")).unwrap().contains("SEQ1M Q8T1 read"));
    run("report bench.json --out page.html");
}

#[test]
fn a_file_of_the_users_is_refused_and_stays_unchanged() {
    let folder = folder();
    let file = folder.path().join("thesis.dat");
    fs::write(&file, "three years of work").unwrap();
    let path = file.to_str().unwrap();
    let out = folder.path().to_str().unwrap();
    lanemark!(&["bench", path, "--size", "1MiB", "--out", out]).fails_saying(3, "--overwrite");
    lanemark!(&["bench", path, "--size", "1MiB", "--overwrite", "README.md", "--out", out])
        .fails_with(3);
    // Neither a result nor a page overwrites this file.
    let json = folder.path().join("thesis.json");
    fs::write(&json, "{}").unwrap();
    lanemark!(&["sim", NVME, "crystaldiskmark-5:4k-read", "--out", json.to_str().unwrap()])
        .fails_with(3);
    // The file is not overwritten, even though it mentions Lanemark.
    let notes = folder.path().join("notes.html");
    fs::write(&notes, "<!DOCTYPE html>my notes on Lanemark").unwrap();
    let result = folder.path().join("run.json");
    let result = result.to_str().unwrap();
    lanemark!(&["sim", NVME, "crystaldiskmark-5:4k-read", "--out", result]).stdout();
    lanemark!(&["report", result, "--out", notes.to_str().unwrap()]).fails_with(3);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "<!DOCTYPE html>my notes on Lanemark");
    assert_eq!(fs::read_to_string(&file).unwrap(), "three years of work");
    assert_eq!(fs::read_to_string(&json).unwrap(), "{}");
}

#[test]
fn ctrl_c_ends_a_measurement_with_its_results_so_far() {
    let folder = folder();
    let target = folder.path().join("bench.dat");
    let out = folder.path().join("bench.json");
    let child = lanemark!(folder.path(), &["bench", "bench.dat"])
        .with("--size 16MiB --duration 1s --repeats 3 --out bench.json")
        .start();
    // The first test takes three seconds; its result is on disk as soon as it ends.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !out.exists() {
        assert!(Instant::now() < deadline, "no result was saved in a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(!target.exists(), "the target must be gone");
    let result: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(result["complete"], false);
    assert!(!result["tests"].as_array().unwrap().is_empty());
    assert!(stdout(&output).contains("interrupted"), "{}", stdout(&output));
}

/// Arguments for a drive like the 1 TB drive at a thousandth of its size, with more spare flash and without TurboWrite.
const SMALL: &str = "--set drive.pseudo_slc.capacity=0B --set drive.pseudo_slc.growth=0B --set drive.capacity=1GB \
    --set drive.flash.blocks_per_plane=76 --set drive.flash.pages_per_block=64";
/// The system that `SMALL` changes.
const QVO: &str = "samsung-860-qvo-1tb@workstation-z170:sata";

/// The one-day run of `make endurance`, on a drive of a thousandth of the size, in 90 seconds of simulated time.
#[test]
fn a_day_of_random_writes_approaches_the_steady_state() {
    let folder = folder();
    let run = |line: &str| lanemark!(folder.path(), &[]).with(line).with(SMALL);
    let file = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let day = "random-write-24h --size 860MB --duration 86s --interval 1s";
    let files = "--series day.csv --html day.html --out day.json";
    let text = run(&format!("sim {QVO} {day} --set drive.state.condition=purged {files}")).stdout();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Garbage collection moved nothing in the first"), "{text}");
    assert!(text.contains("requests a second are steady from"), "{text}");
    let rows = file("day.csv");
    let column = |name: &str| -> Vec<f64> {
        let mut lines = rows.lines();
        let index = lines.next().unwrap().split(',').position(|column| column == name).unwrap();
        lines.map(|line| line.split(',').nth(index).unwrap().parse().unwrap()).collect()
    };
    let iops = column("iops");
    let amplification = column("write_amplification");
    assert_eq!(iops.len(), 86);
    assert_eq!(amplification[1], 1.0);
    let last = iops[64..].iter().sum::<f64>() / 22.0;
    assert!(last < iops[1] / 2.0, "{last} of {}", iops[1]);
    let drawn = file("day.html");
    for text in
        ["Over time", "collection moves nothing", "steady by SNIA's rule", "write amplification"]
    {
        assert!(drawn.contains(text), "{text}");
    }
    // The page from the saved result is identical, and the saved result is unchanged.
    lanemark!(folder.path(), &["report", "day.json", "--out", "day.html"]).stdout();
    assert_eq!(file("day.html"), drawn);
}

#[test]
fn rounds_continue_until_they_are_steady() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let out = path("steady.json");
    let steady = |round: &str| {
        let run = lanemark!(&["sim", QVO, "random-write-24h", "--out", &out, "--steady", round]);
        let run = run.with("--size 1GB --track throughput --set drive.state.condition=random");
        run.with(SMALL).stdout()
    };
    let text = steady("4s");
    assert!(text.contains("Steady by SNIA's rule after round "), "{text}");
    let result: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    let sample = &result["tests"][0]["samples"][0];
    assert_eq!(sample["steady"]["outcome"]["kind"], "reached");
    assert_eq!(sample["elapsed_ns"], 20e9);

    // A round in which no request can complete is reported, and the run still has a result.
    let text = steady("1us");
    assert!(text.contains("not steady after 25 rounds"), "{text}");

    lanemark!(&["sim", QVO, "random-write-24h", "--steady", "0s", "--out", &out])
        .fails_saying(2, "--steady: test `4K random write`: round = 0");
    lanemark!(&["sim", QVO, "random-write-24h", "--steady", "1s", "--duration", "1s"])
        .fails_with(2);
    // The error names only the wrong option.
    let message = lanemark!(&["sim", QVO, "random-write-24h", "--size", "1GB", "--duration", "0s"])
        .fails_with(2);
    assert!(message.contains("--duration: test") && !message.contains("--size"), "{message}");
    let notes = path("notes.csv");
    fs::write(&notes, "my,notes").unwrap();
    lanemark!(&["sim", QVO, "random-write-24h", "--series", &notes, "--out", &out])
        .fails_saying(3, "is not a Lanemark series");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "my,notes");
}

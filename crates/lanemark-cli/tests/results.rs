//! Saved runs: stored, listed, compared and exported.

use std::fs;
use std::path::Path;

use lanemark_testbed::lanemark;
use serde_json::Value;
use tempfile::TempDir;

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:m2";
const READS: &str = "crystaldiskmark-8:rnd4k-q32t1-read";

/// Saves a short simulation to `out`.
fn simulated(folder: &TempDir, out: &str, more: &[&str]) {
    let usual = ["sim", NVME, READS, "--duration", "10ms", "--repeats", "3", "--no-interval"];
    lanemark!(folder.path(), &[&usual[..], &["--out", out], more].concat()).stdout();
}

#[test]
fn an_unsaved_result_is_only_printed() {
    let folder = tempfile::tempdir().unwrap();
    let usual = ["sim", NVME, READS, "--duration", "5ms", "--repeats", "1", "--no-interval"];
    let output = lanemark!(folder.path(), &[&usual[..], &["--no-save"]].concat()).output();
    assert!(output.status.success());
    assert!(
        !output.stdout.is_empty() && !String::from_utf8_lossy(&output.stderr).contains("saved")
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    lanemark!(folder.path(), &[&usual[..], &["--no-save", "--out", "x.json"]].concat())
        .fails_saying(2, "--no-save");
}

#[test]
fn results_are_listed_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    lanemark!(folder.path(), &["report", "none"]).fails_saying(2, "hint: ");
    assert_eq!(lanemark!(folder.path(), &["report"]).stdout(), "", "no result is saved yet");
    simulated(&folder, "results/one.json", &[]);
    simulated(&folder, "results/two.json", &["--seed", "7"]);
    fs::write(folder.path().join("results/other.json"), "{}").unwrap();
    fs::write(folder.path().join("results/broken.json"), "{").unwrap();
    let text = lanemark!(folder.path(), &["report"]).stdout();
    assert!(text.contains("one.json") && text.contains("two.json"), "{text}");
    assert!(!text.contains("other.json") && !text.contains("broken.json"), "{text}");
    assert!(text.contains("lanemark sim samsung-950-pro-512gb@workstation-z170:m2"), "{text}");
    let found = lanemark!(folder.path(), &["report", "--search", "SEED 7", "--json"]).json();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(found[0]["path"], "results/two.json");
    let none = lanemark!(folder.path(), &["report", "--search", "nothing of it"]).output();
    assert_eq!((none.status.code(), none.stdout.len()), (Some(0), 0));
}

#[test]
fn columns_are_exported_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    simulated(&folder, "one.json", &["--full"]);
    let text = lanemark!(folder.path(), &["report", "one.json", "--format", "csv"]).stdout();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let row = lines.next().unwrap();
    assert_eq!(names.len(), row.len());
    let at = |name: &str| row[names.iter().position(|known| *known == name).unwrap()];
    assert_eq!((at("test"), at("repeats"), at("block_bytes")), ("RND4K Q32T1 read", "3", "4096"));
    let iops: f64 = at("iops").parse().unwrap();
    assert!(iops > 100_000.0);
    let samples = ["report", "one.json", "--table", "samples"];
    let samples = [&samples[..], &["--out", "samples.csv"]].concat();
    let answer = lanemark!(folder.path(), &samples).stdout();
    assert!(answer.starts_with("Samsung SSD 950 PRO 512GB in m2"), "{answer}");
    let written = fs::read_to_string(folder.path().join("samples.csv")).unwrap();
    assert_eq!(written.lines().count(), 4);
    lanemark!(folder.path(), &samples).fails_saying(3, "exists");
    let hops = ["report", "one.json", "--format", "fio-json", "--table", "hops"];
    lanemark!(folder.path(), &hops).fails_saying(2, "--table applies only to CSV");
}

#[test]
fn a_target_is_answered_with_the_smallest_sufficient_depth() {
    let folder = tempfile::tempdir().unwrap();
    let usual = ["sweep", NVME, "--workload", READS, "--duration", "10ms", "--out", "s.csv"];
    let text = lanemark!(folder.path(), &[&usual[..], &["--target", "90%"]].concat()).stdout();
    let (_, answer) = text.split_once(": queue_depth ").unwrap();
    let depth: f64 = answer.split_whitespace().next().unwrap().parse().unwrap();
    let points = fs::read_to_string(folder.path().join("s.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(points.as_bytes());
    let names = reader.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|known| known == name).unwrap();
    let depths = at("queue_depth");
    let rates = at("bytes_per_second");
    let number = |row: &csv::StringRecord, column: usize| row[column].parse::<f64>().unwrap();
    let points: Vec<(f64, f64)> = reader
        .records()
        .map(Result::unwrap)
        .map(|row| (number(&row, depths), number(&row, rates)))
        .collect();
    let most = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let reach = points.iter().filter(|(_, rate)| *rate >= 0.9 * most).map(|(depth, _)| *depth);
    assert_eq!(depth, reach.fold(f64::INFINITY, f64::min));
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(" µs on average"), "{text}");
    for (more, reason) in [
        (&["--target", "0%"][..], "above 0%"),
        (&["--target", "110%"], "above 0%"),
        (&["--target", "90%", "--axis", "block=4KiB,8KiB"], "a load axis"),
    ] {
        let words = [&usual[..7], &["x.csv"], more].concat();
        lanemark!(folder.path(), &words).fails_saying(2, reason);
    }
}

#[test]
fn packed_traces_are_replayed_and_a_bomb_ends() {
    let folder = tempfile::tempdir().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lanemark-trace/tests/samples");
    let replay = |file: &Path| {
        let file = file.to_str().unwrap();
        let more = ["--device", "usr,0", "--wrap", "--no-save", "--json"];
        let arguments = [&["sim", NVME, file][..], &more].concat();
        lanemark!(folder.path(), &arguments).json()["tests"][0]["samples"].clone()
    };
    assert_eq!(replay(&samples.join("msr.csv.gz")), replay(&samples.join("msr.csv")));
    fs::write(folder.path().join("cut.gz"), &fs::read(samples.join("msr.csv.gz")).unwrap()[..60])
        .unwrap();
    let output = lanemark!(folder.path(), &["sim", NVME, "cut.gz", "--no-save"]).output();
    assert_ne!(output.status.code(), Some(0));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("as gzip") && !errors.contains("panicked"), "{errors}");
}

/// Multiplies the rates of the only test of a saved result by `factor`.
fn scale_rates(folder: &TempDir, file: &str, factor: f64) {
    let path = folder.path().join(file);
    let mut saved: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for key in ["throughput_bytes_per_second", "iops"] {
        let rate = &mut saved["tests"][0][key];
        for part in ["value", "min", "max"] {
            rate[part] = Value::from(rate[part].as_f64().unwrap() * factor);
        }
        rate["interval_95"] = Value::Null;
    }
    fs::write(&path, saved.to_string()).unwrap();
}

#[test]
fn a_baseline_grows_until_a_result_is_slower() {
    let folder = tempfile::tempdir().unwrap();
    let compare = |file: &str, more: &[&str]| {
        let gate = ["compare", file, "--baseline", "base", "--fail-if", "slower by 5%"];
        lanemark!(folder.path(), &[&gate[..], more].concat()).output()
    };
    let kept = || {
        fs::read_dir(folder.path().join("base")).map_or(0, |entries| {
            entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some()).count()
        })
    };
    for (number, factor) in [1.0, 1.01, 0.99, 1.005].into_iter().enumerate() {
        let file = format!("{number}.json");
        simulated(&folder, &file, &["--seed", &number.to_string()]);
        scale_rates(&folder, &file, factor);
        let output = compare(&file, &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{text}{errors}");
        assert_eq!(text.contains("contains no earlier result"), number == 0, "{text}");
        assert_eq!(kept(), number + 1);
    }
    simulated(&folder, "slow.json", &["--seed", "9"]);
    scale_rates(&folder, "slow.json", 0.8);
    let output = compare("slow.json", &["--json"]);
    assert_eq!((output.status.code(), kept()), (Some(1), 4));
    let compared: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(compared["figures"][0]["verdict"], "lower", "{compared}");
    assert_eq!(compared["a"]["name"], "4 earlier results");
    let reason = String::from_utf8_lossy(&output.stderr);
    assert!(reason.contains("which excludes a loss below 5.0%"), "{reason}");
    // Results of other tests are not earlier results of these.
    simulated(&folder, "deep.json", &["--size", "64MiB"]);
    let text = String::from_utf8_lossy(&compare("deep.json", &[]).stdout).into_owned();
    assert!(text.contains("contains no earlier result"), "{text}");
    // The same result is not its own baseline, and counts once.
    let added = kept();
    let text = String::from_utf8_lossy(&compare("deep.json", &[]).stdout).into_owned();
    assert!(text.contains("contains no earlier result"), "{text}");
    assert_eq!(kept(), added);
}

#[test]
fn rates_are_written_for_continuous_benchmarking() {
    let folder = tempfile::tempdir().unwrap();
    simulated(&folder, "one.json", &[]);
    let saved: Value =
        serde_json::from_slice(&fs::read(folder.path().join("one.json")).unwrap()).unwrap();
    let test = &saved["tests"][0];
    let name = test["test"]["name"].as_str().unwrap();
    let written = |format: &str| -> Value {
        lanemark!(folder.path(), &["report", "one.json", "--format", format]).json()
    };
    let bencher = written("bencher");
    assert_eq!(bencher[name]["throughput"]["value"], test["iops"]["value"]);
    assert_eq!(bencher[name]["throughput"]["lower_value"], test["iops"]["interval_95"][0]);
    assert_eq!(bencher[name]["latency"]["value"], test["latency_mean_ns"]["value"]);
    let action = written("github-benchmark");
    let rate = test["throughput_bytes_per_second"]["value"].as_f64().unwrap() / 1e6;
    assert_eq!((&action[0]["name"], &action[0]["unit"]), (&name.into(), &"MB/s".into()));
    assert_eq!(action[0]["value"].as_f64(), Some(rate));
    assert!(action[0]["range"].as_str().unwrap().starts_with("± "), "{action}");
}

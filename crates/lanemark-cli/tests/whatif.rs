//! `lanemark compare` of systems and `lanemark plan` as a user sees them.

use lanemark_testbed::lanemark;
use serde_json::{Value, json};

const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";
const NVME: &str = "samsung-950-pro-512gb@workstation-z170:m2";

#[track_caller]
fn answer(arguments: &[&str]) -> Value {
    lanemark!(arguments).json()
}

const LARGE: [&str; 5] =
    ["--workload", "crystaldiskmark-8:seq1m-q8t1-read", "--duration", "100ms", "--json"];

fn with(first: &[&str]) -> Value {
    let mut words = vec!["compare"];
    words.extend(first);
    words.extend(LARGE);
    answer(&words)
}

#[test]
fn an_undetermined_value_of_a_fit_widens_the_prediction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.json");
    let parameter = |name: &str, value: &str, range: [&str; 2], kind: Value| {
        json!({"parameter": name, "value": value, "interval_95": null, "range_80": range,
               "template": null, "standing": kind})
    };
    let identified = json!({"kind": "identified"});
    let fit = json!({
        "schema_version": 1, "provenance": {"version": "", "command": [], "seed": 1,
        "started_at": "", "finished_at": "", "machine": null, "inputs": {}},
        "measured": "m", "results": [], "template": "t", "platform": "p", "port": "p",
        "parameters": [
            parameter("drive.data_path.read", "2.5 GB/s", ["1.6 GB/s", "2.8 GB/s"], identified.clone()),
            // A value that no test uses does not have an effect.
            parameter("drive.flash.program", "600 us", ["400 us", "900 us"], identified),
        ],
        "host": [], "figures": [], "unseen": [], "warnings": [], "simulations": 0
    });
    std::fs::write(&path, fit.to_string()).unwrap();
    let result = with(&[SATA, "samsung-950-pro-512gb@:m2", "--fit", path.to_str().unwrap()]);
    let interval =
        |result: &Value, end: &str| result["tests"][0]["interval"][end].as_f64().unwrap();
    let known = with(&[SATA, "samsung-950-pro-512gb@:m2"]);
    // The lower bound comes from the fit's range; without the fit, it comes from the model's usual error.
    let low = interval(&result, "low_ratio");
    let before = interval(&known, "low_ratio");
    assert!((0.55..0.72).contains(&low), "{low}");
    assert!(before > 0.8, "{before}");
    assert_eq!(result["tests"][0]["interval"]["widest"]["parameter"], "drive.data_path.read");
    // A fit with a value that the drive lacks cannot be a fit of this drive.
    let other = std::fs::read_to_string(&path).unwrap().replace("data_path.read", "data_path.raed");
    std::fs::write(&path, other).unwrap();
    let words = ["compare", SATA, "samsung-950-pro-512gb@:m2", "--fit", path.to_str().unwrap()];
    lanemark!(&[&words[..], &LARGE].concat())
        .fails_saying(2, "unknown parameter `drive.data_path.raed`");
}

#[test]
fn an_answer_names_the_change_the_gain_and_the_cause() {
    let text_of = |arguments: &[&str]| {
        let run = lanemark!(&[&["compare"], arguments].concat());
        let text = run.with("--duration 50ms --no-interval").stdout();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let lanes = "platform.link.dmi.pcie.lanes=1";
    let more = ["--set", lanes, "--workload", "iometer-128k-qd32:128kb-sequential-read"];
    let text = text_of(&[&[SATA, ":sata+sata-2+sata-3"][..], &more].concat());
    assert!(text.contains("Changed: port sata+sata-2+sata-3 instead of sata"), "{text}");
    assert!(text.contains("Changed: platform.link.dmi.pcie.lanes = 1 instead of 4"), "{text}");
    assert!(
        text.contains("+44.4% without a known interval")
            && text.contains("Then: DMI 3.0: 100% busy"),
        "{text}"
    );
    let words = [&["compare", SATA, ":sata+sata-2+sata-3", "--json"][..], &more].concat();
    let found = answer(&[&words[..], &["--duration", "50ms", "--no-interval"]].concat());
    let other = &found["tests"][0]["other"];
    let loss = &other["path"]["loss"];
    let number = |value: &Value| value.as_f64().unwrap();
    let share = number(&loss["share"]);
    let with = number(&loss["bytes_per_second"]);
    assert!((1.0 - number(&other["bytes_per_second"]) / with - share).abs() < 1e-6, "{share}");
    // Three SATA links carry 1700 MB/s, and one PCIe 3.0 lane carries 827 MB/s.
    assert!((0.50..0.53).contains(&share), "{share}");
    let lost = format!(
        "You lose {:.0}% to DMI 3.0, which 3 drives share: if that link were 16 times as fast",
        100.0 * share
    );
    assert!(text.contains(&lost), "{text}");
    let random = ["--queue-depth", "4", "--workload", "crystaldiskmark-8:rnd4k-q32t1-read"];
    let text = text_of(&[&[NVME][..], &random].concat());
    assert!(text.contains("Changed: queue depth 4 for all tests"), "{text}");
    assert!(text.contains(" IOPS ") && text.contains("-7"), "{text}");
    assert!(text.contains("with 4 requests outstanding, latency is the limit"), "{text}");
}

#[test]
fn the_loss_to_a_drives_own_link_is_the_gain_of_the_faster_port() {
    let of = |system: &str, other: &str| {
        let words = ["compare", system, other, "--no-interval"];
        answer(&[&words[..], &LARGE].concat())
    };
    let found = of("samsung-850-pro-1tb@intel-p67:sata-6g", ":sata-3g");
    let test = &found["tests"][0];
    let rate = |side: &str| test[side]["bytes_per_second"].as_f64().unwrap();
    let loss = &test["other"]["path"]["loss"];
    let share = loss["share"].as_f64().unwrap();
    assert_eq!((&loss["own"], &loss["times"]), (&json!("SATA 6 Gb/s"), &json!(2)));
    assert!((share - (1.0 - rate("other") / rate("present"))).abs() < 0.01, "{share}");
}

#[test]
fn nothing_to_compare_and_a_drive_without_a_model_are_errors() {
    lanemark!(&["compare", SATA]).fails_saying(2, ":PORT");
    lanemark!(&["compare", SATA, "@dell-r730xd"]).fails_saying(2, "write @dell-r730xd:PORT");
    lanemark!(&["compare", SATA, ":satan"]).fails_saying(2, "sata");
}

#[test]
fn a_plan_names_the_values_of_an_example() {
    for (plan, options) in [
        ("battery", &["--system 9.6 W", "--lasts 5.2 h", "--drive 1.4 W", "--other 1.1 W"][..]),
        ("fleet", &["--present SATA=1.37e6", "--other SAS=1.71e6", "--nodes 5"]),
        ("bandwidth", &["--video 3840x2160", "--bits 12", "--frames 24"]),
    ] {
        let found = answer(&["plan", plan, "--json"]);
        assert_eq!(found["of_example"], serde_json::json!(options), "{plan}");
    }
    let given = ["--system", "9 W", "--lasts", "6 h", "--drive", "1 W", "--other", "2 W"];
    let found = answer(&[&["plan", "battery", "--json"][..], &given].concat());
    assert_eq!(found.get("of_example"), None);
    let given = answer(&["plan", "fleet", "--present", "A=1", "--demand", "7", "--json"]);
    assert_eq!(given["of_example"], serde_json::json!(["--other SAS=1.71e6"]));
}

#[test]
fn a_plan_refuses_impossible_inputs() {
    for args in [
        ["bandwidth", "--frames", "1e308"],
        ["bandwidth", "--frames", "inf"],
        ["bandwidth", "--bits", "4000000000"],
        ["bandwidth", "--video", "0x0"],
        ["fleet", "--demand", "1e308"],
        ["fleet", "--present", "A=nan"],
        ["fleet", "--years", "1e300"],
        ["fleet", "--watts", "1e300"],
        ["fleet", "--nodes", "0"],
    ] {
        let error = lanemark!(&[&["plan"], &args[..]].concat()).fails_with(2);
        let bound = ["from ", "must be", "is not in"].iter().any(|words| error.contains(words));
        assert!(bound, "{args:?}: {error}");
    }
}

/// Energy depends on the elapsed time, so only equal work in equal time is compared.
#[test]
fn a_battery_is_not_planned_by_results_of_different_work() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("a.json");
    let test = "crystaldiskmark-8:rnd4k-q1t1-read";
    let sim = lanemark!(&["sim", NVME, test, "--json", "--out", saved.to_str().unwrap()]);
    let mut run = sim.with("--repeats 1 --duration 20ms").json();
    let other = folder.path().join("b.json");
    let plan = ["plan", "battery", "--drive", saved.to_str().unwrap(), "--other"];
    let plan = [&plan[..], &[other.to_str().unwrap()]].concat();
    let rate = run["tests"][0]["iops"]["value"].as_f64().unwrap();
    let mut refused = |factor: f64, block: u64| {
        for key in ["value", "min", "max"] {
            run["tests"][0]["iops"][key] = (rate * factor).into();
        }
        run["tests"][0]["test"]["block_bytes"] = block.into();
        std::fs::write(&other, run.to_string()).unwrap();
        let output = lanemark!(&plan).output();
        let error = String::from_utf8(output.stderr).unwrap();
        (output.status.code() != Some(0)).then_some(error)
    };
    assert_eq!(refused(1.01, 4096), None);
    let error = refused(2.0, 4096).unwrap();
    assert!(error.contains("did not do the same work in the same time"), "{error}");
    let error = refused(1.0, 8192).unwrap();
    assert!(error.contains("different tests"), "{error}");
}

#[test]
fn a_question_that_changes_nothing_is_answered_so_at_the_top() {
    let text_of = |depth: &str| {
        let run = lanemark!(&["compare", SATA, "--queue-depth", depth]);
        let test = "--workload crystaldiskmark-8:rnd4k-q1t1-read";
        run.with("--no-interval --duration 20ms").with(test).stdout()
    };
    // Reads at queue depth 1 do not use the write buffer.
    let same = text_of("1");
    let answer = same.split("\n\n").next().unwrap().replace('\n', " ");
    let nothing = "nothing changes, because both are the same system with the same values.";
    assert_eq!(answer, format!("{SATA} at queue depth 1: {nothing}"));
    let other = text_of("8");
    assert!(!other.contains("nothing changes"), "{other}");
}

//! The hosts that `lanemark bench --host-only` measures, and the option `--host` of other commands.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lanemark_testbed::lanemark;
use serde_json::Value;

const SYSTEM: &str = "samsung-950-pro-512gb@workstation-z170:m2";
const SHORT: [&str; 4] = ["--duration", "50ms", "--no-interval", "--json"];

#[test]
fn a_measured_host_is_a_host_of_a_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let measure = |time: &str| {
        lanemark!(here, &["bench", "--duration", time, "--host-only", "h.toml"]).texts().1
    };
    let messages = measure("1500ms");
    assert!(
        messages.contains("submit a request") && messages.contains("wrote h.toml"),
        "{messages}"
    );
    let file = std::fs::read_to_string(here.join("h.toml")).unwrap();
    assert!(file.contains("range = ["), "{file}");
    // A second measurement replaces the file of the first measurement.
    measure("1s");
    let rate = |host: &str| {
        let test = "crystaldiskmark-8:rnd4k-q32t1-read";
        let mut words = vec!["sim", SYSTEM, test, "--host", host];
        words.extend(SHORT);
        let result = lanemark!(here, &words).json();
        assert!(result.to_string().contains("host"), "{result}");
        result["tests"][0].clone()
    };
    // A slow library host and a fast library host produce different figures.
    assert_ne!(rate("single-board"), rate("linux-block"));
    assert!(!rate("./h.toml").is_null());
}

#[test]
fn the_host_in_a_result_is_a_host_of_simulations_fits_and_predictions() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let here = folder.path();
    let test = ["crystaldiskmark-8:rnd4k-q1t1-read", "--size", "8MiB"];
    let bench = [&["bench", "file"], &test[..], &["--duration", "100ms", "--out", "r.json"]];
    lanemark!(here, &bench.concat()).stdout();
    let text = std::fs::read_to_string(here.join("r.json")).unwrap();
    let mut result: Value = serde_json::from_str(&text).unwrap();
    // A short run does not have a host.
    assert!(result["target"].get("host").is_none(), "{}", result["target"]);
    let refusal = lanemark!(here, &["sim", SYSTEM, "data-sheet", "--host", "r.json"]).fails_with(2);
    assert!(refusal.contains("lacks a measured host") && refusal.contains("20 s"), "{refusal}");

    // A host that is slower than every library host.
    let host = "[host]\nname = \"Slow\"\n\n[cpu]\nrequest_submit = { value = \"90 us\", source = \"measured\" }\n";
    result["target"]["host"] = host.into();
    std::fs::write(here.join("r.json"), result.to_string()).unwrap();
    let answer = |words: &[&str]| lanemark!(here, words).json();
    let sim = ["sim", SYSTEM, "crystaldiskmark-8:rnd4k-q1t1-read", "--no-save"];
    let mean = |result: &Value| {
        result["tests"][0]["samples"][0]["reads"]["latency"]["mean_ns"].as_f64().unwrap()
    };
    let plain = mean(&answer(&[&sim[..], &SHORT].concat()));
    let slow = mean(&answer(&[&sim[..], &SHORT, &["--host", "r.json"]].concat()));
    assert!(slow > plain + 80e3, "{plain} {slow}");

    let fit =
        ["drive", "fitted", "--from", "r.json", "--platform", "workstation-z170:m2", "--json"];
    let fitted = answer(&fit);
    assert!(fitted["platform"].as_str().unwrap().ends_with(", Slow"), "{fitted}");
    let fitted = answer(&[&fit[..], &["--host", "linux-block"]].concat());
    assert!(fitted["platform"].as_str().unwrap().contains("block device"), "{fitted}");
    let whatif = ["compare", "r.json", "--model", SYSTEM, ":pcie-slot", "--no-interval"];
    let sides = answer(&[&whatif[..], &["--json"]].concat());
    let drive = "samsung-950-pro-512gb";
    assert_eq!(sides["present"], format!("{drive}@workstation-z170,r.json:m2"), "{sides}");
    assert_eq!(sides["other"], format!("{drive}@workstation-z170,r.json:pcie-slot"), "{sides}");

    // Damaged hosts are refused.
    for damaged in
        ["", "[host", "[host]\nname = \"h\"\n[cpu]\nwake = { value = \"-1 us\", source = \"x\" }\n"]
    {
        result["target"]["host"] = damaged.into();
        std::fs::write(here.join("r.json"), result.to_string()).unwrap();
        lanemark!(here, &["sim", SYSTEM, "data-sheet", "--host", "r.json"])
            .fails_saying(2, "r.json");
        let refusal = lanemark!(here, &fit).fails_with(2);
        assert!(refusal.contains("r.json") && refusal.contains("name a host with"), "{refusal}");
        assert!(answer(&[&fit[..], &["--host", "linux-block"]].concat()).is_object());
    }
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let measure = |more: &[&'static str]| [&["bench"], more].concat();
    let begun = Instant::now();
    lanemark!(here, &measure(&["--duration", "10ms", "--host-only", "h.toml"]))
        .fails_saying(2, "expected 1 s to 600 s");
    lanemark!(here, &measure(&["--host-only", "host.json"]))
        .fails_saying(2, "expected a .toml file");
    // No user can create a file there, including root.
    lanemark!(here, &measure(&["--host-only", "/proc/host.toml"])).fails_with(1);
    std::fs::write(here.join("mine.toml"), "my notes").unwrap();
    lanemark!(here, &measure(&["--host-only", "mine.toml"])).fails_with(3);
    assert_eq!(std::fs::read_to_string(here.join("mine.toml")).unwrap(), "my notes");
    lanemark!(here, &["sim", "d@p,h:m2", "data-sheet", "--host", "linux-file"])
        .fails_saying(2, "already names the host `h`");
    let target = lanemark!(here, &measure(&["mine.toml", "--host-only", "new.toml"])).output();
    assert!(!target.status.success());
    let text = String::from_utf8_lossy(&target.stderr).into_owned();
    assert!(text.contains("expected a folder or a block device"), "{text}");
    assert!(!here.join("new.toml").exists());
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_interrupted_measurement_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = lanemark!(folder.path(), &[])
        .command()
        .args(["bench", "--duration", "60s", "--host-only", "h.toml"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let pid = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let status = running.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(!folder.path().join("h.toml").exists());
}

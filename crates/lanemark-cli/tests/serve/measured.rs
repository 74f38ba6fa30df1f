//! Measurements of served systems: they find the server and store its verdict.

use std::path::Path;

use serde_json::Value;

use super::mounted::start;
use super::{SATA, Server, command, folder, stderr};

/// Arguments for one test of 4 KiB requests at queue depth 1.
const TEST: [&str; 7] =
    ["quick:rnd4k-q1t1-read", "--duration", "300ms", "--repeats", "1", "--size", "16MiB"];

/// Runs `lanemark` in the server's folder and returns its output.
fn lanemark(server: &Server, words: &[&str]) -> std::process::Output {
    command(server.folder.path(), words).output().unwrap()
}

/// Measures the served file `disk` and returns the saved result.
fn measure(server: &Server, out: &str, more: &[&str]) -> Value {
    let words = [&["bench", "disk", "--overwrite", "disk", "--out", out], &TEST[..], more].concat();
    let output = lanemark(server, &words);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("the target is a modelled drive"), "{}", stderr(&output));
    json(&server.path(out))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn compared(server: &Server, one: &str, other: &str) -> String {
    let output = lanemark(server, &["compare", one, other]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_measurement_names_the_drive_and_has_the_servers_verdict() {
    let served = ["--memory", "--size", "64MiB", "--mount", "disk", "--time-scale", "4"];
    let Some(server) = start(folder(), &served) else { return };
    let result = measure(&server, "one.json", &[]);
    let target = &result["target"]["served"];
    assert_eq!((&target["system"], &target["time_scale"]), (&SATA.into(), &4.0.into()));
    assert_eq!(target["drive"], "Samsung SSD 850 PRO 1TB");
    assert!(target.get("faults").is_none());
    assert!(!result["warnings"].to_string().contains("holes"), "{}", result["warnings"]);
    let live = &result["tests"][0]["samples"][0]["live"];
    // The verdict covers only the reads of this sample. Their modelled latency is about 80 µs, and four times as long
    // at this time scale.
    let bytes = |reads: &Value| reads["bytes"].as_u64().unwrap();
    let own = bytes(&result["tests"][0]["samples"][0]["reads"]);
    assert!((1..=2 * own).contains(&bytes(&live["reads"])), "{live}");
    assert!(live["evidence"]["modelled_p50_ns"].as_f64().unwrap() > 2e5, "{live}");
    // The second measurement sees a fault, and its delivery does not include the requests of the first measurement.
    assert!(server.control(&["fault", "latency", "extra=1ms", "for=1min"]).status.success());
    let again = measure(&server, "two.json", &[]);
    let fault = again["target"]["served"]["faults"][0].as_str().unwrap();
    assert!(fault.starts_with("latency"), "{fault}");
    let live = &again["tests"][0]["samples"][0]["live"];
    assert!(live["evidence"]["modelled_p50_ns"].as_f64().unwrap() > 4e6, "{live}");
    let text = compared(&server, "one.json", "two.json");
    assert!(text.contains(&format!("{SATA}, served at a time scale of 4")), "{text}");
    let (_folder, output) = server.stop();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn late_runs_and_other_clocks_are_not_ranked() {
    let served = |scale| ["--memory", "--size", "64MiB", "--mount", "disk", "--time-scale", scale];
    // No machine can answer a read of a modelled SSD within a microsecond.
    let Some(server) = start(folder(), &served("0.01")) else { return };
    let late = measure(&server, "late.json", &[]);
    let warnings = late["warnings"].to_string();
    assert!(warnings.contains("not-delivered"), "{warnings}");
    measure(&server, "again.json", &["--seed", "2"]);
    let text = compared(&server, "late.json", "again.json");
    assert!(
        text.contains("cannot be ranked: the server of A did not keep to its model's times"),
        "{text}"
    );
    let (folder, _) = server.stop();
    let Some(server) = start(folder, &served("8")) else { return };
    measure(&server, "slow.json", &[]);
    let text = compared(&server, "late.json", "slow.json");
    assert!(text.contains("A was measured at a time scale of 0.01, and B at 8"), "{text}");
    server.stop();
}

#[test]
fn a_disk_is_found_and_a_socket_can_be_named() {
    let served = ["--memory", "--size", "64MiB", "--attach"];
    let Some(server) = start(folder(), &served) else { return };
    let node = server.addresses[1].clone();
    let words =
        [&["bench", &node, "--i-will-lose-all-data-on", &node, "--out", "disk.json"], &TEST[..]];
    let output = lanemark(&server, &words.concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(json(&server.path("disk.json"))["target"]["served"]["system"], SATA);
    // The folder is not on the drive, as in a virtual machine.
    let words = [&["bench", ".", "--out", "named.json"], &TEST[..]].concat();
    let named = [&words[..], &["--served", "control"]].concat();
    assert!(lanemark(&server, &named).status.success());
    assert_eq!(json(&server.path("named.json"))["target"]["served"]["system"], SATA);
    let unnamed = words.iter().map(|word| word.replace("named", "none")).collect::<Vec<_>>();
    let unnamed: Vec<&str> = unnamed.iter().map(String::as_str).collect();
    assert!(lanemark(&server, &unnamed).status.success());
    assert!(json(&server.path("none.json"))["target"].get("served").is_none());
    let nowhere = [&words[..], &["--served", "nowhere"]].concat();
    let output = lanemark(&server, &nowhere);
    assert!(!output.status.success());
    let messages = stderr(&output);
    assert!(messages.contains("--served nowhere") && messages.contains("--control"), "{messages}");
    let id = server.child.id();
    server.stop();
    assert!(!Path::new(&format!("/run/lanemark/served/{id}")).exists());
}

#[test]
fn a_killed_server_is_forgotten() {
    let served = ["--memory", "--size", "64MiB", "--mount", "disk"];
    let Some(server) = start(folder(), &served) else { return };
    let id = server.child.id();
    let folder = server.kill();
    // The next server removes the mount that the killed server left.
    let Some(server) = start(folder, &served) else { return };
    assert!(!Path::new(&format!("/run/lanemark/served/{id}")).exists());
    assert_eq!(measure(&server, "one.json", &[])["target"]["served"]["time_scale"], 1.0);
    server.stop();
}

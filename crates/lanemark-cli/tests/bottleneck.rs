//! `--bottleneck` as a person meets it: off by default, the same whenever it is asked, in every view.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn lanemark(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
    let output = command.args(arguments).current_dir(project()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn long_reads_over_sata_are_told_to_be_bound_by_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let (out, page) = (folder.path().join("run.json"), folder.path().join("page.html"));
    let (out, page) = (out.to_str().unwrap(), page.to_str().unwrap());
    let run = [
        "sim",
        "samsung-850-pro-1tb@workstation-z170:sata",
        "iometer-128k-qd32:128kb-sequential-read",
        "--out",
        out,
    ];
    let plain = lanemark(&run);
    assert!(
        !plain.contains("twice as fast") && plain.contains("SATA 6 Gb/s: 100% busy"),
        "{plain}"
    );
    let asked = lanemark(&[&run as &[&str], &["--bottleneck", "--html", page]].concat());
    let told = asked.replace('\n', " ");
    let sentence =
        "SATA 6 Gb/s, 100% busy: a link twice as fast would give +100%; twice the queue depth +0%";
    assert!(told.contains(sentence), "{asked}");
    assert!(std::fs::read_to_string(page).unwrap().contains("What would help"));
    // Saved, and the same whenever it is asked, on however many cores.
    let gains = |text: &str| serde_json::from_str::<Value>(text).unwrap()["tests"].clone();
    let saved = std::fs::read_to_string(out).unwrap();
    let again = lanemark(&[&run as &[&str], &["--bottleneck", "--json"]].concat());
    assert_eq!(gains(&saved), gains(&again));
    let first = gains(&again)[0]["sensitivity"].clone();
    let bottleneck = first["bottleneck"].as_u64().unwrap() as usize;
    assert_eq!(first["gains"][bottleneck]["hop"], "SATA 6 Gb/s");
}

#[test]
fn a_study_tells_the_bottleneck_of_each_cell() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study.json");
    let study = "studies/sata-vs-nvme-crystaldiskmark.toml";
    let run = ["study", study, "--bottleneck", "--out", out.to_str().unwrap()];
    let text = lanemark(&run);
    let from = text.find("Bottlenecks: ").unwrap_or_else(|| panic!("{text}"));
    let rows = text[from..].lines().filter(|line| line.ends_with('%')).count();
    assert_eq!(rows, 16, "{}", &text[from..]);
}

//! Tests of `--bottleneck` on the command line: off by default, the same gains in every run, shown in every view. Saved
//! results contain the identities of their hops.

use lanemark_schema::result::RunResult;
use lanemark_testbed::lanemark;
use serde_json::Value;

/// A saved simulation with its bottleneck.
const SAVED: &str = include_str!("saved/simulated.json");

#[test]
fn long_reads_over_sata_are_reported_as_bound_by_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.json");
    let page = folder.path().join("page.html");
    let out = out.to_str().unwrap();
    let page = page.to_str().unwrap();
    let sata = "samsung-850-pro-1tb@workstation-z170:sata";
    let run = ["sim", sata, "iometer-128k-qd32:128kb-sequential-read", "--out", out];
    let plain = lanemark!(&run).stdout();
    assert!(
        !plain.contains("twice as fast") && plain.contains("SATA 6 Gb/s: 100% busy"),
        "{plain}"
    );
    let output = lanemark!(&[&run as &[&str], &["--bottleneck", "--html", page]].concat()).stdout();
    let unwrapped = output.replace('\n', " ");
    let sentence = "SATA 6 Gb/s, 100% busy: a link twice as fast would change the throughput by +100%; twice the queue depth +0%";
    assert!(unwrapped.contains(sentence), "{output}");
    assert!(std::fs::read_to_string(page).unwrap().contains("What would help"));
    // The saved bottleneck equals the result of a later computation on any number of cores.
    let gains = |text: &str| serde_json::from_str::<Value>(text).unwrap()["tests"].clone();
    let saved = std::fs::read_to_string(out).unwrap();
    let again = lanemark!(&[&run as &[&str], &["--bottleneck", "--json"]].concat()).stdout();
    assert_eq!(gains(&saved), gains(&again));
    let first = gains(&again)[0]["sensitivity"].clone();
    let bottleneck = first["bottleneck"].as_u64().unwrap() as usize;
    assert_eq!(first["gains"][bottleneck]["hop"], "SATA 6 Gb/s");
    assert_eq!(first["gains"][bottleneck]["id"], "link1");
}

#[test]
fn a_study_shows_the_bottleneck_of_each_cell() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study.json");
    let study = "studies/sata-vs-nvme-crystaldiskmark.toml";
    let run = ["study", study, "--bottleneck", "--out", out.to_str().unwrap()];
    let text = lanemark!(&run).stdout();
    let from = text.find("Bottlenecks: ").unwrap_or_else(|| panic!("{text}"));
    let rows = text[from..].lines().filter(|line| line.ends_with('%')).count();
    assert_eq!(rows, 16, "{}", &text[from..]);
}

#[test]
fn impossible_hops_are_an_error() {
    let with = |hops: &str| SAVED.replace(r#"{"id":"link0","name":"DMI 3.0","#, hops);
    let of = |text: String| serde_json::from_str::<RunResult>(&text);
    let error = of(with(r#"{"id":"link999","name":"DMI 3.0","#)).unwrap_err().to_string();
    assert!(error.contains("`link999` is not a hop"), "{error}");
    let twice = of(with(r#"{"id":"cpu","name":"DMI 3.0","#)).unwrap().check().unwrap_err();
    let message = twice.to_string();
    assert!(message.contains("hops") && message.contains("cpu"), "{message}");
    let unnamed = of(with(r#"{"name":"DMI 3.0","#)).unwrap_err().to_string();
    assert!(unnamed.contains("missing field `id`"), "{unnamed}");
}

//! A page of the laboratory that is saved as a study: `lanemark study` runs the file, together with the file that
//! `inspect` writes next to it.

use lanemark_lab::Lab;
use lanemark_study::Library;
use lanemark_testbed::lanemark;
use lanemark_ui::request::{OffsetOrder, SystemRequest, TestRequest};
use lanemark_ui::{result_file, saved};
use serde_json::Value;

#[test]
fn a_page_that_is_saved_is_run_by_study() {
    let library = Library::built_in();
    let system = |name: &str, set: &[(&str, &str)]| SystemRequest {
        system: name.to_owned(),
        set: set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        faults: Vec::new(),
    };
    let systems = [
        system("samsung-950-pro-512gb@workstation-z170:m2", &[("drive.flash.read", "90 us")]),
        system("samsung-850-pro-1tb@workstation-z170:sata", &[]),
    ];
    let request = TestRequest {
        block: "4 KiB".to_owned(),
        pattern: OffsetOrder::Random,
        read_percent: 100.0,
        queue_depth: 2,
        threads: 1,
        span: "1 GiB".to_owned(),
    };
    let test = request.read().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = saved::study(&library, &systems, &request, &test).unwrap();
    std::fs::write(folder.path().join("page.toml"), text).unwrap();

    let output = lanemark!(folder.path(), &["study", "page.toml", "--json", "--no-save"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (index, one) in systems.iter().enumerate() {
        let result = &outcome["systems"][index]["run"]["tests"][0];
        assert_eq!(result["test"]["name"], Value::from(test.name.as_str()));
        // The laboratory runs the same test, as it does for a page.
        let own = one.assemble(&library).unwrap().system;
        let mut workload =
            lanemark_study::workload::open(&library, "quick:rnd4k-q1t1-read").unwrap();
        workload.tests[0].asks = test.asks.clone();
        workload.repeats = 1;
        let run = Lab::default().run(&own, &workload, &Default::default(), &mut |_| {}).unwrap();
        let ratio = result["iops"]["value"].as_f64().unwrap() / run.tests[0].iops.value;
        assert!((ratio - 1.0).abs() < 0.02, "{}: {ratio}", one.system);
    }
    // The outcome can be shown on a page again, with one column per system.
    let file = result_file::read(output.stdout).unwrap();
    let file = serde_json::to_value(file).unwrap();
    let labels: Vec<&str> = file["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["target"].as_str().unwrap())
        .collect();
    assert_eq!(labels.len(), 2);
    assert!(labels[0].starts_with("1: Samsung SSD 950 PRO"), "{labels:?}");
    // The text output does not mention published figures.
    let output =
        lanemark!(folder.path(), &["study", "page.toml", "--no-save", "--html", "page.html"])
            .output();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("How do these systems compare"),
        "{printed}"
    );
    assert!(printed.contains("950 PRO") && !printed.contains("no figures"), "{printed}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("950 PRO") && !page.contains("Compared with"), "{page:.300}");
}

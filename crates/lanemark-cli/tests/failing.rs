//! `lanemark bench` on a device that fails: the saved result, the messages and the exit code. The device is a loop
//! device whose file was truncated after the device was set up, which needs root.

use std::fs;
use std::path::Path;
use std::process::Command;

use lanemark_testbed::LoopDevice;
use serde_json::Value;

const WORKLOAD: &str = "\
[workload]
name = \"Half\"
repeats = 1
average = \"mean\"
order = \"listed\"
[defaults]
block = \"4 KiB\"
span = \"4 MiB\"
threads = 1
read = \"100%\"
[[test]]
name = \"first\"
pattern = \"sequential\"
queue_depth = 1
volume = \"1 MiB\"
[[test]]
name = \"second\"
pattern = \"sequential\"
queue_depth = 1
volume = \"4 MiB\"
duration = \"1 s\"
";

/// Runs `bench` on `device`, and returns the exit code, the saved result, stdout and stderr.
fn bench(folder: &Path, device: &Path, more: &[&str]) -> (Option<i32>, Value, String, String) {
    fs::write(folder.join("half.toml"), WORKLOAD).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_lanemark"))
        .arg("bench")
        .arg(device)
        .args(["half.toml", "--out", "r.json", "--html", "p.html"])
        .args(more)
        .current_dir(folder)
        .env_remove("LANEMARK_LIBRARY")
        .output()
        .unwrap();
    // Lines are wrapped to the width of the terminal.
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let saved = fs::read_to_string(folder.join("r.json")).unwrap_or_default();
    let saved = serde_json::from_str(&saved).unwrap_or(Value::Null);
    (done.status.code(), saved, text(&done.stdout), text(&done.stderr))
}

#[test]
fn a_failed_request_ends_the_run_with_its_results_so_far_or_is_counted() {
    let Some(device) = LoopDevice::with_content(&vec![7; 4 << 20], true) else { return };
    let medium = fs::File::options().write(true).open(device.medium()).unwrap();
    medium.set_len(2 << 20).unwrap();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (code, saved, printed, messages) = bench(folder.path(), device.node(), &[]);
    assert_eq!(code, Some(1), "{messages}");
    let error = format!(
        "{}: a read of 4 KiB at offset 2097152 failed: Input/output error",
        device.node().display()
    );
    assert!(messages.contains(&error) && messages.contains("saved r.json"), "{messages}");
    assert!(
        printed.contains("first") && printed.contains("one request failed (1 other error (EIO))"),
        "{printed}"
    );
    assert_eq!(
        (&saved["complete"], saved["tests"].as_array().unwrap().len()),
        (&Value::from(false), 2)
    );
    assert!(saved["tests"][0]["samples"][0].get("errors").is_none(), "no request failed there");
    let failed = serde_json::json!([{"kind": "other", "errno": 5, "requests": 1}]);
    assert_eq!(saved["tests"][1]["samples"][0]["errors"], failed);
    assert!(
        fs::read_to_string(folder.path().join("p.html")).unwrap().contains("1 other error (EIO)")
    );

    let (code, saved, printed, messages) =
        bench(folder.path(), device.node(), &["--on-error", "continue"]);
    assert_eq!(code, Some(0), "{messages}");
    let count = saved["tests"][1]["samples"][0]["errors"][0]["requests"].as_u64().unwrap();
    assert!(
        (1..=1_001).contains(&count) && printed.contains(&format!("{count} requests failed")),
        "{printed}"
    );
}

//! The laboratory as the tests ask it, and its page as a file.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod axe;
pub(crate) mod browser;
mod firefox;
pub(crate) mod laptop;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use lanemark_lab::LabError;
use lanemark_study::Library;
use lanemark_ui::Laboratory;
use lanemark_ui::file::{PageContents, html};
use serde_json::{Value, json};

/// The system that the tests use.
pub(crate) const SYSTEM: &str = "samsung-950-pro-512gb@workstation-z170:m2";

/// A test that can be simulated quickly.
pub(crate) static TEST: LazyLock<Value> = LazyLock::new(|| {
    json!({"block": "4 KiB", "pattern": "random", "read_percent": 100.0, "queue_depth": 32,
        "threads": 1, "span": "1 GiB"})
});

/// Answers a request.
pub(crate) fn ask(
    laboratory: &mut Laboratory,
    request: &str,
    body: &Value,
) -> Result<Value, LabError> {
    let answer = laboratory.answer(request, body.to_string().as_bytes())?;
    Ok(serde_json::from_str(&answer).unwrap())
}

/// Runs a simulation to its end, and returns the reports of its steps before the last.
pub(crate) fn steps(
    laboratory: &mut Laboratory,
    request: &str,
    body: &Value,
) -> Result<Vec<Value>, LabError> {
    let mut reports = Vec::new();
    let mut report = ask(laboratory, request, body)?;
    while report["stage"] != json!("done") {
        reports.push(report);
        report = ask(laboratory, "step", &Value::Null)?;
    }
    Ok(reports)
}

/// Returns the compressed module. Without it, a test is skipped; in CI it fails.
pub(crate) fn module() -> Option<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("module/lanemark.wasm.gz");
    let module = std::fs::read(path).ok();
    if module.is_none() {
        assert!(std::env::var_os("CI").is_none(), "missing: make page");
        eprintln!("skipped: make page");
    }
    module
}

/// Writes a page with `contents` to a folder, and returns its address. Returns `None` without the module.
pub(crate) fn page(folder: &Path, contents: &PageContents) -> Option<String> {
    let path: PathBuf = folder.join("laboratory.html");
    std::fs::write(&path, html(&module()?, contents)).unwrap();
    Some(format!("file://{}", path.display()))
}

/// Returns the file of a simulated run with two tests of three repeats each.
pub(crate) fn run_file() -> String {
    let library = Library::built_in();
    let system = lanemark_lab::assemble(&library, SYSTEM, &[]).unwrap();
    let mut workload = lanemark_study::workload::open(&library, "quick").unwrap();
    workload.tests.truncate(2);
    workload.repeats = 3;
    workload.tests.iter_mut().for_each(|test| test.duration = Some("20 ms".parse().unwrap()));
    let lab = lanemark_lab::Lab::default();
    let run = lab.run(&system, &workload, &Default::default(), &mut |_| {}).unwrap();
    serde_json::to_string(&run).unwrap()
}

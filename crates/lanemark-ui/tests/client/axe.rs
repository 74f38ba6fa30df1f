//! axe-core in a browser: the accessibility errors of a page.

use std::path::Path;

use serde_json::json;

use super::browser::Browser;

/// The version of axe-core that the Makefile downloads.
const AXE: &str = "4.14.1";

/// Returns the source of axe-core.
pub(crate) fn axe() -> Option<String> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let text = std::fs::read_to_string(tools.join(format!("axe-core-{AXE}/axe.min.js"))).ok();
    if text.is_none() {
        assert!(std::env::var_os("CI").is_none(), "missing: make axe");
        eprintln!("skipped: make axe");
    }
    text
}

/// Returns axe's errors in the page, each as `rule: element`.
pub(crate) fn violations(browser: &mut Browser, axe: &str) -> Vec<String> {
    if browser.value("typeof axe") == json!("undefined") {
        browser.value(axe);
    }
    let found = browser.value("axe.run(document, { resultTypes: ['violations'] })");
    // Without this check, a run that checked nothing would report no error.
    assert!(found["passes"].as_array().is_some_and(|passes| passes.len() > 3), "{found:.300}");
    let violations = found["violations"].as_array().unwrap().iter();
    let complaints = violations.flat_map(|violation| {
        let nodes = violation["nodes"].as_array().unwrap().iter();
        nodes.map(|node| {
            let why = node["failureSummary"].as_str().unwrap_or_default().replace('\n', " ");
            format!("{}: {} {why}", violation["id"], node["html"])
        })
    });
    complaints.collect()
}

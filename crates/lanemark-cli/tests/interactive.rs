//! `lanemark report --interactive`: charts in a browser, with pointing and zooming, and libraries that are rejected.
//!
//! The browser test needs Chromium and the library that `make charts` builds. If one of them is missing, the test is
//! skipped, or fails in CI.

#[path = "../../lanemark-ui/tests/client/axe.rs"]
mod axe;
#[path = "../../lanemark-ui/tests/client/browser.rs"]
#[allow(dead_code, reason = "the browser of another crate's tests, which use more of it")]
mod browser;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use browser::Browser;
use serde_json::json;

/// Tests that differ only in queue depth, and tests that differ only in request length.
const WORKLOAD: &str = "[workload]\nname = \"Families\"\nrepeats = 2\naverage = \"mean\"\n\n\
    [defaults]\nblock = \"4 KiB\"\npattern = \"random\"\nread = \"100%\"\nspan = \"1 GiB\"\n\
    duration = \"20 ms\"\n";
/// A JavaScript expression for the labels of the first chart's axes.
const LABELS: &str = "[...document.querySelector('.live').querySelectorAll('.role-axis-label text')].map((one) => one.textContent).sort().join()";
/// A JavaScript expression for the tip.
const TIP: &str = "document.getElementById('lanemark-tip')";

fn lanemark(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
    command.args(arguments).current_dir(folder).env_remove("LANEMARK_LIBRARY");
    command.stdin(Stdio::null()).output().unwrap()
}

/// Returns the chart library, if it is built.
fn library() -> Option<PathBuf> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/charts.js");
    if !library.exists() {
        lanemark_testbed::skipped("target/tools/charts.js is missing: make charts");
        return None;
    }
    Some(library.canonicalize().unwrap())
}

/// Writes the interactive page of `results` to `folder`, and returns its address.
fn page(folder: &Path, results: &[&str], library: &Path) -> String {
    let library = library.to_str().unwrap();
    let arguments = [&["report"], results, &["--html", "page.html", "--interactive", library]];
    let written = lanemark(folder, &arguments.concat());
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    format!("file://{}", folder.join("page.html").display())
}

/// Presses keys in order. Returns the tip's text after each key, and whether the tip is hidden.
fn pressed(browser: &mut Browser, keys: &[&str]) -> Vec<serde_json::Value> {
    let press = |key: &&str| {
        for kind in ["rawKeyDown", "keyUp"] {
            browser.ask("Input.dispatchKeyEvent", json!({"type": kind, "key": key}));
        }
        browser.value(&format!("[{TIP}.hidden, {TIP}.textContent]"))
    };
    keys.iter().map(press).collect()
}

/// Creates a folder with a result, `run.json`.
fn result() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut text = WORKLOAD.to_owned();
    for depth in [1, 2, 4, 8] {
        text += &format!("\n[[test]]\nname = \"QD{depth}\"\nqueue_depth = {depth}\n");
    }
    for kib in [8, 16, 32, 64] {
        text +=
            &format!("\n[[test]]\nname = \"{kib}k\"\nblock = \"{kib} KiB\"\nqueue_depth = 64\n");
    }
    fs::write(folder.path().join("families.toml"), text).unwrap();
    let system = "samsung-850-pro-1tb@workstation-z170:sata";
    let arguments =
        ["sim", system, "families.toml", "--no-interval", "--interval", "1ms", "--out", "run.json"];
    let ran = lanemark(folder.path(), &arguments);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    folder
}

#[test]
fn pointing_shows_values_and_the_wheel_zooms() {
    let Some(library) = library() else { return };
    let folder = result();
    let address = page(folder.path(), &["run.json"], &library);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("University of Washington Interactive Data Lab"), "no notice");

    let profile = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(profile.path()) else { return };
    browser.screen(1280, "light");
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait("document.querySelectorAll('.live[data-drawn]').length > 2");
    let counted = "[document.querySelectorAll('.live').length, window.lanemarkCharts.length]";
    let counts = browser.value(counted);
    // The page has two families, latency over load, and two charts and a series for each test.
    assert_eq!(counts, json!([3 + 8 * 3, 3 + 8 * 3]), "charts found, and charts there");
    assert_eq!(browser.value("document.querySelectorAll('.live:not([aria-label])').length"), 0);

    let middle = "(() => { const box = document.querySelector('.live').getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()";
    let point = browser.value(middle);
    let (x, y) = (point[0].as_f64().unwrap(), point[1].as_f64().unwrap());
    for step in 0..4 {
        let moved = json!({"type": "mouseMoved", "x": x + f64::from(step) * 3.0, "y": y});
        browser.ask("Input.dispatchMouseEvent", moved);
        sleep(Duration::from_millis(100));
    }
    browser.wait(&format!("!{TIP}.hidden"));
    let text = browser.value(&format!("{TIP}.textContent"));
    let text = text.as_str().unwrap();
    assert!(text.contains("sata\n") && text.contains("MB/s"), "{text}");

    let whole = browser.value(LABELS);
    // The wheel scrolls the page unless the chart has the focus.
    let wheel =
        |down: i32| json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": down});
    browser.ask("Input.dispatchMouseEvent", wheel(60));
    browser.wait("window.scrollY > 0");
    assert_eq!(browser.value(LABELS), whole, "a chart without the focus was zoomed");
    browser.value("window.scrollTo(0, 0)");
    browser.wait("window.scrollY === 0");
    for kind in ["mousePressed", "mouseReleased"] {
        let click = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
        browser.ask("Input.dispatchMouseEvent", click);
    }
    browser.wait("document.activeElement.className === 'live'");
    browser.ask("Input.dispatchMouseEvent", wheel(-400));
    browser.wait(&format!("{LABELS} !== {whole}"));
    for count in [1, 2] {
        for kind in ["mousePressed", "mouseReleased"] {
            let click =
                json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": count});
            browser.ask("Input.dispatchMouseEvent", click);
        }
    }
    browser.wait(&format!("{LABELS} === {whole}"));
    browser.picture("interactive-light");

    // The keyboard shows the same values.
    let away = json!({"type": "mouseMoved", "x": 2, "y": 2});
    browser.ask("Input.dispatchMouseEvent", away);
    browser.wait(&format!("{TIP}.hidden"));
    browser.value("document.querySelector('.live').focus()");
    let all = pressed(&mut browser, &["ArrowRight", "ArrowRight", "ArrowLeft", "Escape"]);
    let first = all[0][1].as_str().unwrap();
    assert!(first.contains(": 8 KiB\n") && first.contains("MB/s"), "{first}");
    assert!(all[1] != all[0] && all[2] == all[0], "{all:?}");
    assert_eq!(all[3][0], json!(true));
    if let Some(axe) = axe::axe() {
        assert_eq!(axe::violations(&mut browser, &axe), Vec::<String>::new());
    }

    // The page's policy forbids other scripts, code that is generated from text, and requests.
    let before = browser.events.len();
    browser.wait("new Promise((done) => fetch('https://example.org/').then(() => done(false), () => done(true)))");
    let ran = "(() => { const one = document.createElement('script'); one.textContent = 'window.other = 1'; document.body.append(one); return window.other === undefined; })()";
    browser.wait(ran);
    browser.events.truncate(before);
    let complaints = browser.complaints(&address);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));

    browser.screen(390, "dark");
    browser.ask("Page.reload", json!({}));
    browser.wait("document.querySelectorAll('.live[data-drawn]').length > 2");
    browser.wait("document.documentElement.scrollWidth <= 390");
    browser.picture("interactive-dark-390");
    assert!(browser.complaints(&address).is_empty(), "{:?}", browser.complaints(&address));
}

#[test]
fn bars_show_values_and_a_print_has_all_pictures() {
    let Some(library) = library() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (seed, name) in [("1", "one.json"), ("2", "two.json")] {
        let system = "samsung-850-pro-1tb@workstation-z170:sata";
        let arguments = ["sim", system, "crystaldiskmark-8", "--seed", seed, "--no-interval"];
        let scale = ["--duration", "50ms", "--repeats", "2", "--interval", "1ms", "--out", name];
        let ran = lanemark(folder.path(), &[arguments.as_slice(), &scale].concat());
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    let address = page(folder.path(), &["one.json", "two.json"], &library);
    let profile = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(profile.path()) else { return };
    browser.screen(1280, "dark");
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait(
        "document.querySelectorAll('.pointable').length === 8 && document.readyState === 'complete'",
    );
    browser.wait("document.querySelectorAll('.live').length > 0");

    // The bar below the pointer belongs to the second run.
    let point = browser.value(
        "(() => { const box = document.querySelector('.pointable .solid.s1').getBoundingClientRect(); return [box.x + 3, box.y + 3]; })()",
    );
    let moved = json!({"type": "mouseMoved", "x": point[0], "y": point[1]});
    browser.ask("Input.dispatchMouseEvent", moved);
    browser.wait(&format!("!{TIP}.hidden"));
    let text = browser.value(&format!("{TIP}.textContent"));
    let second = "samsung-850-pro-1tb@workstation-z170:sata (2)\n";
    assert!(text.as_str().unwrap().starts_with(second), "{text}");
    assert!(text.as_str().unwrap().contains(" MB/s"), "{text}");
    browser.ask("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": 2, "y": 2}));
    browser.wait(&format!("{TIP}.hidden"));
    browser.value("document.querySelector('.pointable').focus()");
    let all = pressed(&mut browser, &["ArrowDown", "ArrowDown", "ArrowUp", "Escape"]);
    assert!(all[1][1].as_str().unwrap().starts_with(second), "{all:?}");
    assert!(all[0] == all[2] && all[0] != all[1] && all[3][0] == json!(true), "{all:?}");

    // In print, each chart is a light picture, whether or not the chart was drawn, and no picture is truncated or
    // taller than a page.
    let charts = browser.value("document.querySelectorAll('.live').length").as_u64().unwrap();
    let drawn = "document.querySelectorAll('.live[data-drawn]').length";
    browser.value("window.scrollTo(0, 1500)");
    browser.wait(&format!("{drawn} > 0"));
    assert!(browser.value(drawn).as_u64().unwrap() < charts, "all charts are drawn by themselves");
    let sheet = json!({"width": 703, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
    browser.ask("Emulation.setDeviceMetricsOverride", sheet);
    let dark = json!([{"name": "prefers-color-scheme", "value": "dark"}]);
    browser.ask("Emulation.setEmulatedMedia", json!({"media": "print", "features": dark}));
    let pictures = "[...document.querySelectorAll('figure svg[role=img]')].map((svg) => svg.getBoundingClientRect())";
    let count = browser.value(&format!("{pictures}.length")).as_u64().unwrap();
    assert_eq!(count, charts + 8 + 8, "pictures of charts, bars and budgets");
    let whole =
        "(box) => box.height > 40 && box.height < 1000 && box.left >= 0 && box.right <= 704";
    assert_eq!(browser.value(&format!("{pictures}.every({whole})")), json!(true));
    assert_eq!(
        browser.value(
            "[...document.querySelectorAll('.live')].every((one) => !one.getClientRects().length)"
        ),
        true
    );
    let ground = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.value(ground), json!("rgb(255, 255, 255)"));
    let printed = browser.ask("Page.printToPDF", json!({"preferCSSPageSize": true}));
    assert!(printed["data"].as_str().is_some_and(|data| data.starts_with("JVBER")), "no PDF");
    assert!(browser.complaints(&address).is_empty(), "{:?}", browser.complaints(&address));
}

#[test]
fn another_script_and_the_page_of_a_sweep_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("other.js"), "alert(1)").unwrap();
    for (library, reason) in [("other.js", "is not the chart library"), ("none.js", "none.js")] {
        let arguments = ["report", "run.json", "--html", "page.html", "--interactive", library];
        let refused = lanemark(folder.path(), &arguments);
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && errors.contains(reason), "{errors}");
        assert!(errors.contains("make charts"), "{errors}");
        assert!(!folder.path().join("page.html").exists());
    }
}

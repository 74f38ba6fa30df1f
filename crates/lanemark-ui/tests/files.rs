//! Files that go into the page and come out of it: results that are dropped or chosen, and studies that are saved.
//!
//! Needs Chromium. Where it is missing the tests are skipped, and in CI fail.

mod client;

use std::path::Path;
use std::time::{Duration, Instant};

use client::Client;
use client::browser::Browser;
use serde_json::{Value, json};

/// True when the first system has its interval.
const SETTLED: &str = "!!document.querySelector('.result')?.textContent.includes('80% in')";
const COLUMNS: &str =
    "[...document.querySelectorAll('#beside thead th')].map((one) => one.textContent)";
/// The cells of the row of requests a second.
const IOPS: &str = "[...document.querySelectorAll('#beside tbody tr')].find((one) => one.cells[0].textContent === 'IOPS').textContent";

/// A page that has settled.
fn page(client: &Client, folder: &Path) -> Option<Browser> {
    let mut browser = Browser::start(folder)?;
    browser.ask("Page.navigate", json!({"url": client.address()}));
    browser.wait(SETTLED);
    Some(browser)
}

/// Drops a file in the middle of the page.
fn drop_on(browser: &mut Browser, path: &Path) {
    let data = json!({"items": [], "files": [path], "dragOperationsMask": 1});
    for kind in ["dragEnter", "dragOver", "drop"] {
        let event = json!({"type": kind, "x": 300, "y": 300, "data": data});
        browser.ask("Input.dispatchDragEvent", event);
    }
}

#[test]
fn a_result_that_is_dropped_stands_beside_the_systems_until_the_page_is_left() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = page(&client, &folder.path().join("browser")) else { return };
    let before = browser.value("location.href");
    let path = folder.path().join("run.json");
    let text = client::run_file();
    std::fs::write(&path, &text).unwrap();
    drop_on(&mut browser, &path);
    browser.wait(&format!("{COLUMNS}.length === 4"));
    let columns = browser.value(COLUMNS);
    assert_eq!(columns[2], json!(format!("{} (run.json)", client::SYSTEM)));
    let run: Value = serde_json::from_str(&text).unwrap();
    let iops = browser.value(IOPS).as_str().unwrap().to_owned();
    for test in run["tests"].as_array().unwrap() {
        let value = test["iops"]["value"].as_f64().unwrap();
        let shown = browser.value(&format!("import('/draw.js').then((it) => it.number({value}))"));
        let shown = shown.as_str().unwrap();
        assert!(iops.contains(shown), "{shown} in {iops}");
    }
    // Three repeats are too few for an interval of the median, so the page shows their range. The column of the
    // simulated system shows the interval of the prediction.
    assert!(iops.matches("repeats ").count() == 2 && iops.contains("80% in"), "{iops}");
    let text = browser.value("document.getElementById('beside').textContent");
    assert!(text.as_str().unwrap().contains("simulated here"), "{text}");
    // A test is taken out by the keyboard, and the file by its button.
    browser.value("document.querySelector('.file input').focus()");
    browser.press(" ", 32);
    browser.wait(&format!("{COLUMNS}.length === 3"));
    browser.value("document.querySelector('.file button').click()");
    browser.wait(&format!("{COLUMNS}.length === 2"));
    assert_eq!(browser.value("location.href"), before);
    let (own, _) = client.address().split_once("?token=").unwrap();
    assert_eq!(browser.complaints(own.trim_end_matches('/')), Vec::<String>::new());
}

#[test]
fn a_result_is_chosen_by_the_keyboard_and_what_is_none_is_told() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = page(&client, &folder.path().join("browser")) else { return };
    let good = folder.path().join("run.json");
    std::fs::write(&good, client::run_file()).unwrap();
    let bad = folder.path().join("photo.json");
    std::fs::write(&bad, [0xff, 0xd8, 0xff, 0xe0]).unwrap();
    browser.ask("Page.setInterceptFileChooserDialog", json!({"enabled": true}));
    browser.value("document.getElementById('results-file').focus()");
    browser.press(" ", 32);
    let began = Instant::now();
    let chooser = loop {
        let opened = |event: &&Value| event["method"] == json!("Page.fileChooserOpened");
        if let Some(event) = browser.events.iter().find(opened) {
            break event["params"]["backendNodeId"].clone();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "no chooser was opened");
        browser.value("1");
        std::thread::sleep(Duration::from_millis(50));
    };
    let files = json!({"files": [bad, good], "backendNodeId": chooser});
    browser.ask("DOM.setFileInputFiles", files);
    browser.wait(&format!("{COLUMNS}.length === 4"));
    let told = browser.value("document.getElementById('results-error').textContent");
    let told = told.as_str().unwrap();
    assert!(told.starts_with("photo.json: is a picture") && told.contains("Hint: "), "{told}");
    // Nothing of it outlives the page.
    let address = browser.value("location.href");
    browser.ask("Page.navigate", json!({"url": "about:blank"}));
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait(&format!("{SETTLED} && {COLUMNS}.length === 2"));
}

#[test]
fn the_page_is_saved_as_a_study_that_can_be_read() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = page(&client, &folder.path().join("browser")) else { return };
    let downloads = json!({"behavior": "allow", "downloadPath": folder.path()});
    browser.ask("Browser.setDownloadBehavior", downloads);
    browser.value("document.getElementById('add').click()");
    browser.value("document.getElementById('study').focus()");
    browser.press(" ", 32);
    browser.wait("document.getElementById('study-said').textContent.includes('lanemark study lanemark-study.toml')");
    let path = folder.path().join("lanemark-study.toml");
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing was saved");
        std::thread::sleep(Duration::from_millis(50));
    }
    let study = lanemark_study::Study::open(&lanemark_study::Library::built_in(), &path).unwrap();
    let names: Vec<&str> = study.systems().map(|(name, ..)| name).collect();
    assert_eq!(names, ["system-1", "system-2"]);
    let (own, _) = client.address().split_once("?token=").unwrap();
    assert_eq!(browser.complaints(own.trim_end_matches('/')), Vec::<String>::new());
}

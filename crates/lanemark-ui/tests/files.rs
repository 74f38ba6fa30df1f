//! Input and output files of the page: results that are dropped or chosen, and studies that are saved.
//!
//! The tests need Chromium. Without it they are skipped; in CI they fail.

mod client;

use std::path::Path;
use std::time::{Duration, Instant};

use client::browser::Browser;
use lanemark_ui::file::{PageContents, PageDocument};
use serde_json::{Value, json};

/// A JavaScript condition: the first system has its interval.
const SETTLED: &str = "!!document.querySelector('.result')?.textContent.includes('80% in')";
/// A JavaScript expression for the names of the results in the table of files.
const ROWS: &str = "[...document.querySelectorAll('#files-table tbody th[scope=row]')].map((one) => one.textContent)";
/// A JavaScript expression for the names of the tests.
const TESTS: &str =
    "[...document.querySelectorAll('#files-table tbody th.group')].map((one) => one.textContent)";
/// The name of the simulated system in the result file.
const NAME: &str = "Samsung SSD 950 PRO 512GB · Workstation, Intel Z170 · m2";
/// A JavaScript expression for the text of the table.
const TABLE: &str = "document.getElementById('files-table').textContent";

/// Returns a page whose figures no longer change.
fn page(folder: &Path, contents: &PageContents) -> Option<Browser> {
    let address = client::page(folder, contents)?;
    let mut browser = Browser::start(&folder.join("browser"))?;
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait(SETTLED);
    Some(browser)
}

/// Drops a file onto the middle of the page.
fn drop_on(browser: &mut Browser, path: &Path) {
    let data = json!({"items": [], "files": [path], "dragOperationsMask": 1});
    for kind in ["dragEnter", "dragOver", "drop"] {
        let event = json!({"type": kind, "x": 300, "y": 300, "data": data});
        browser.ask("Input.dispatchDragEvent", event);
    }
}

#[test]
fn a_result_that_is_dropped_is_compared_only_with_simulations_of_the_same_test() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = page(folder.path(), &PageContents::default()) else { return };
    let before = browser.value("location.href");
    let path = folder.path().join("run.json");
    let text = client::run_file();
    std::fs::write(&path, &text).unwrap();
    drop_on(&mut browser, &path);
    browser.wait(&format!("{ROWS}.length === 2"));
    assert_eq!(browser.value(ROWS)[0], json!(format!("{NAME} (run.json)")));
    let run: Value = serde_json::from_str(&text).unwrap();
    let table = browser.value(TABLE).as_str().unwrap().to_owned();
    for (index, test) in run["tests"].as_array().unwrap().iter().enumerate() {
        assert_eq!(browser.value(TESTS)[index], test["test"]["name"]);
        let value = test["iops"]["value"].as_f64().unwrap();
        let number = browser.value(&format!("page.draw.number({value})"));
        let number = number.as_str().unwrap();
        assert!(table.contains(number), "{number} in {table}");
    }
    // Three repeats are too few for an interval of the median, so the page shows their range.
    assert!(table.contains("repeats ") && !table.contains("simulated here"), "{table}");
    // The same tests run on the systems of the page, which adds one row per test and system.
    browser.value("document.getElementById('same').click()");
    browser.wait(&format!("{ROWS}.length === 6 && !document.getElementById('same').disabled"));
    let text = browser.value(TABLE);
    assert_eq!(text.as_str().unwrap().matches("simulated here").count(), 4, "{text}");
    // Other systems have different figures, so the old figures are removed.
    browser.value("document.querySelector('.system .plain').click()");
    browser.wait(&format!("{ROWS}.length === 2"));
    assert_ne!(browser.value("location.href"), before);
    let before = browser.value("location.href");
    // The remaining system is connected through the chipset, and another port of its computer is faster.
    browser.value("document.getElementById('ports').click()");
    browser.wait(&format!("{ROWS}.length === 4 && !document.getElementById('ports').disabled"));
    let text = browser.value(TABLE);
    assert_eq!(text.as_str().unwrap().matches("simulated in another port").count(), 2, "{text}");
    let said = browser.value("document.getElementById('ports-said').textContent");
    assert!(said.as_str().unwrap().contains("port m2-2"), "{said}");
    // The keyboard removes a test, and its button removes a file.
    browser.value("document.querySelector('.file input').focus()");
    browser.press(" ", 32);
    browser.wait(&format!("{ROWS}.length === 2"));
    browser.value("document.querySelector('.file button').click()");
    browser.wait("document.getElementById('files-region').hidden");
    assert_eq!(browser.value("location.href"), before);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_result_is_chosen_by_the_keyboard_and_an_invalid_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = page(folder.path(), &PageContents::default()) else { return };
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
    browser.wait(&format!("{ROWS}.length === 2"));
    let error = browser.value("document.getElementById('results-error').textContent");
    let error = error.as_str().unwrap();
    assert!(error.starts_with("photo.json: is a picture") && error.contains("Hint: "), "{error}");
    // The page does not keep data from the file after a reload.
    let address = browser.value("location.href");
    browser.ask("Page.navigate", json!({"url": "about:blank"}));
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait(&format!("{SETTLED} && {ROWS}.length === 0"));
}

#[test]
fn a_text_of_another_program_is_dropped_and_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = page(folder.path(), &PageContents::default()) else { return };
    let path = folder.path().join("CrystalDiskMark.txt");
    let text = include_str!("../../lanemark-formats/tests/foreign/crystaldiskmark-8.txt");
    std::fs::write(&path, text).unwrap();
    drop_on(&mut browser, &path);
    browser.wait(&format!("{ROWS}.length === 3"));
    assert_eq!(browser.value(TESTS)[0], json!("SEQ1M Q8T1 read"));
    browser.value("document.getElementById('same').click()");
    browser.wait(&format!("{ROWS}.length === 9"));
}

#[test]
fn the_page_is_saved_as_a_study_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = page(folder.path(), &PageContents::default()) else { return };
    let downloads = json!({"behavior": "allow", "downloadPath": folder.path()});
    browser.ask("Browser.setDownloadBehavior", downloads);
    browser.value("document.getElementById('add').click()");
    browser.value("document.getElementById('study').focus()");
    browser.press(" ", 32);
    browser.wait("document.getElementById('saved').textContent.includes('lanemark study lanemark-study.toml')");
    let path = folder.path().join("lanemark-study.toml");
    wait_for(&path);
    let study = lanemark_study::Study::open(&lanemark_study::Library::built_in(), &path).unwrap();
    let names: Vec<&str> = study.systems().map(|(name, ..)| name).collect();
    assert_eq!(names, ["system-1", "system-2", "system-3"]);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Waits until a file has been saved.
fn wait_for(path: &Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "{} was not saved", path.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn everything_on_the_page_is_saved_as_a_report_and_each_chart_as_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let document = PageDocument { name: "run.json".to_owned(), text: client::run_file() };
    let contents = PageContents { documents: vec![document], machine: None };
    let Some(mut browser) = page(folder.path(), &contents) else { return };
    let downloads = json!({"behavior": "allow", "downloadPath": folder.path()});
    browser.ask("Browser.setDownloadBehavior", downloads);
    browser.wait(&format!("{ROWS}.length === 2"));
    browser.value("document.querySelectorAll('.check input')[1].click()");
    let saved = "document.getElementById('saved').textContent";
    // A click before the simulations have ended only says so.
    browser.wait(&format!(
        "{saved} === 'Saved.' || ((!window.asked || {saved}.includes('not ended')) \
         && (window.asked = true, document.getElementById('report').click()), false)"
    ));
    let path = folder.path().join("lanemark-report.html");
    wait_for(&path);
    let text = std::fs::read_to_string(path).unwrap();
    // The page's two systems, and the run of the file without its second test, which is not shown.
    for part in ["AMD B550", "m2-2", "SEQ1M Q8T1 read", "950 PRO"] {
        assert!(text.contains(part), "no {part}");
    }
    let hidden = browser.value("document.querySelectorAll('.check label')[1].textContent");
    let hidden = hidden.as_str().unwrap().split(" on ").next().unwrap().to_owned();
    assert!(!text.contains(&hidden), "{hidden} is in the report");
    browser.wait("document.querySelectorAll('.curves .save button').length === 4");
    browser
        .value("for (const one of document.querySelectorAll('.curves .save button')) one.click()");
    for name in ["throughput-over-queue-depth", "latency-over-load"] {
        let drawing = folder.path().join(format!("{name}.svg"));
        wait_for(&drawing);
        let drawing = std::fs::read_to_string(drawing).unwrap();
        assert!(drawing.contains("stroke=\"rgb(") && !drawing.contains("class="), "{drawing:.500}");
        let picture = folder.path().join(format!("{name}.png"));
        wait_for(&picture);
        assert!(std::fs::read(picture).unwrap().starts_with(b"\x89PNG"));
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_text_of_lspci_is_shown_as_a_drawing_and_as_the_lines_of_inspect() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = page(folder.path(), &PageContents::default()) else { return };
    let path = folder.path().join("lspci.txt");
    let text = include_str!("../../lanemark-inspect/tests/samples/lspci-verbose.txt");
    std::fs::write(&path, text).unwrap();
    drop_on(&mut browser, &path);
    browser.wait("document.querySelector('.file .drawing')?.naturalWidth > 100");
    let shown = browser.value("document.querySelector('.file legend').textContent");
    assert!(shown.as_str().unwrap().contains("limit"), "{shown}");
    let lines = browser.value("document.querySelector('.file pre').textContent");
    assert!(lines.as_str().unwrap().contains("Advice: "), "{lines}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

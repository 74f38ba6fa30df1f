//! The pages satisfy axe-core's rules for WCAG and good practices, so that everyone can use them.
//!
//! The tests require Chromium, and axe-core, which `make axe` downloads. If one of them is missing, the tests are
//! skipped; in CI they fail. `LANEMARK_PICTURES=FOLDER` saves pictures of the checked pages.

mod client;

use client::axe::{axe, violations};
use client::browser::Browser;
use lanemark_ui::file::PageContents;
use lanemark_ui::laboratory::MachineFile;
use serde_json::{Value, json};

const SCREENS: [(u32, &str); 4] = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")];

/// Checks the page at each screen size.
fn judge(browser: &mut Browser, axe: &str, name: &str) {
    let mut all = Vec::new();
    for (width, scheme) in SCREENS {
        browser.screen(width, scheme);
        browser.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))");
        browser.picture(&format!("{name}-{width}-{scheme}"));
        let wide = browser.value("document.documentElement.scrollWidth").as_u64().unwrap();
        assert!(wide <= u64::from(width), "{name} is {wide} wide at {width}");
        let found = violations(browser, axe);
        all.extend(found.into_iter().map(|one| format!("{width} {scheme}: {one}")));
    }
    assert!(all.is_empty(), "{name}:\n{}", all.join("\n"));
}

#[test]
fn a_page_that_keeps_people_out_is_found() {
    let Some(axe) = axe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(&folder.path().join("browser")) else { return };
    let path = folder.path().join("wrong.html");
    let page = "<!doctype html><title>x</title><body style='background:#fff'><main><h1>x</h1>\
        <p style='color:#ccc'>pale</p><input><img src='data:,'><ul><p>y</p></ul></main>";
    std::fs::write(&path, page).unwrap();
    browser.ask("Page.navigate", json!({"url": format!("file://{}", path.display())}));
    browser.wait("document.readyState === 'complete'");
    let found = violations(&mut browser, &axe).join("\n");
    for rule in ["color-contrast", "html-has-lang", "image-alt", "label", "list"] {
        assert!(found.contains(&format!("\"{rule}\"")), "{rule} is not in {found}");
    }
}

#[test]
fn nothing_in_the_laboratory_keeps_anybody_out() {
    let Some(axe) = axe() else { return };
    let machine = tempfile::tempdir().unwrap();
    client::laptop::laptop(machine.path());
    let made = lanemark_lab::machine::platform(machine.path(), "This machine").unwrap();
    let file = MachineFile { text: made.text, left_out: made.left_out };
    let contents = PageContents { documents: Vec::new(), machine: Some(file) };
    let folder = tempfile::tempdir().unwrap();
    let Some(address) = client::page(folder.path(), &contents) else { return };
    let Some(mut browser) = Browser::start(&folder.path().join("browser")) else { return };
    // There are three systems: one uses this machine, and one is invalid.
    let own = |name: &str| json!({"system": name, "set": [], "faults": []});
    let systems = [client::SYSTEM, "samsung-950-pro-512gb@this-machine:nvme0n1", "x@y:z"].map(own);
    let state = json!({"test": *client::TEST, "systems": systems}).to_string();
    let escaped: String = state.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let url = format!("{address}#{escaped}");
    browser.ask("Page.navigate", json!({"url": url}));
    browser.wait("document.querySelectorAll('article').length === 3");
    browser.wait("[...document.querySelectorAll('.result')].slice(0, 2).every((one) => one.textContent.includes('80% in'))");
    browser
        .wait("document.querySelectorAll('article')[2].querySelector('.error').textContent !== ''");
    browser.wait("document.querySelectorAll('.curve').length === 2");
    judge(&mut browser, &axe, "ui");

    // The page shows all folded sections, a result file, and an error about a file that is not a result.
    let files: Vec<_> = [("run.json", client::run_file()), ("none.json", "{}".to_owned())]
        .into_iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let input = json!({"expression": "document.getElementById('results-file')"});
    let input = browser.ask("Runtime.evaluate", input)["result"]["objectId"].clone();
    browser.ask("DOM.setFileInputFiles", json!({"files": files, "objectId": input}));
    browser.value("for (const one of document.querySelectorAll('#parts section:first-child details')) one.open = true");
    browser.value("document.getElementById('eight').click()");
    browser.value("document.getElementById('study').click()");
    let copy = "[...document.querySelectorAll('#parts section:first-child button')].find((one) => one.textContent.startsWith('Copy')).click()";
    browser.value(copy);
    browser.wait("document.querySelectorAll('.values .field').length > 20");
    browser.wait("document.querySelector('.drawing')?.naturalWidth > 100");
    browser.wait("document.querySelectorAll('#files-table tbody th[scope=row]').length === 2");
    browser.wait("document.querySelectorAll('#eight-table tbody tr').length === 8 && !document.querySelector('#eight').disabled");
    browser.wait("!document.querySelector('#parts pre').hidden");
    judge(&mut browser, &axe, "ui-open");

    // The page shows the list of a search box, and a broken address.
    browser.value("document.querySelector('.pick input').focus()");
    browser.value("document.querySelector('.pick input').select()");
    browser.ask("Input.insertText", json!({"text": "980 pro b550"}));
    browser.wait("document.querySelector('[role=listbox]').children.length > 1");
    browser.value(
        "document.getElementById('broken').textContent = 'The address of this page is broken.'",
    );
    judge(&mut browser, &axe, "ui-search");
}

#[test]
fn nothing_in_a_report_keeps_anybody_out() {
    let Some(axe) = axe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(&folder.path().join("browser")) else { return };
    let runs: Vec<Value> =
        (0..2).map(|_| serde_json::from_str(&client::run_file()).unwrap()).collect();
    let runs: Vec<lanemark_schema::result::RunResult> =
        runs.into_iter().map(|run| serde_json::from_value(run).unwrap()).collect();
    let path = folder.path().join("report.html");
    for (name, runs) in [("report", &runs[..1]), ("report-of-two", &runs[..])] {
        let runs: Vec<_> = runs.iter().collect();
        std::fs::write(&path, lanemark_report::html(None, &runs)).unwrap();
        browser.ask("Page.navigate", json!({"url": format!("file://{}", path.display())}));
        browser.wait(
            "document.readyState === 'complete' && document.querySelectorAll('svg').length > 3",
        );
        // Folded sections are checked too.
        browser.value("for (const one of document.querySelectorAll('details')) one.open = true");
        judge(&mut browser, &axe, name);
    }
}

//! The page in a browser: it runs without errors, does not send requests to other servers, draws the answers, and can
//! be operated with the keyboard.
//!
//! The tests need Chromium. Without it they are skipped; in CI they fail. `LANEMARK_BROWSER=firefox` runs them in
//! Firefox.

mod client;

use client::browser::Browser;
use lanemark_ui::Laboratory;
use lanemark_ui::file::PageContents;
use lanemark_ui::laboratory::MachineFile;
use serde_json::{Value, json};
use std::path::Path;

const SYSTEMS: [&str; 2] =
    ["samsung-850-pro-1tb@workstation-z170:sata", "samsung-950-pro-512gb@workstation-z170:m2"];
/// A JavaScript condition: each system has its interval.
const SETTLED: &str = "(() => { const all = [...document.querySelectorAll('.result')]; return all.length > 0 && all.every((one) => one.textContent.includes('80% in')); })()";
/// A JavaScript expression for the displayed queue depth.
const DEPTH: &str = "document.querySelector('label[for=test-queue_depth] output').textContent";
/// A JavaScript expression for the main figure of the first system.
const FIRST: &str = "document.querySelector('.result .figure.main b').textContent";

/// Returns the test in the page's state.
fn test() -> Value {
    json!({"block": "4 KiB", "pattern": "random", "read_percent": 100, "queue_depth": 8, "threads": 1,
        "span": "1 GiB"})
}

/// Returns an address with two systems, as the page writes it.
fn with_state(address: &str) -> String {
    let system = |name: &&str| json!({"system": name, "set": [], "faults": []});
    let systems: Vec<Value> = SYSTEMS.iter().map(system).collect();
    let state = json!({"test": test(), "systems": systems}).to_string();
    let escaped = state.bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    format!("{address}#{}", escaped.collect::<String>())
}

/// Opens a page with two systems, and waits for their intervals.
fn settled_page(folder: &Path, contents: &PageContents) -> Option<Browser> {
    let address = client::page(folder, contents)?;
    let mut browser = Browser::start(folder)?;
    browser.navigate(&with_state(&address));
    browser.wait(SETTLED);
    Some(browser)
}

#[test]
fn the_page_draws_the_systems_of_its_address_and_keys_turn_them() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = settled_page(folder.path(), &PageContents::default()) else { return };

    let count = |browser: &mut Browser, what: &str| {
        browser.value(&format!("document.querySelectorAll('{what}').length")).as_u64().unwrap()
    };
    let test = test();
    let hops = |name: &&str| {
        let body = json!({"system": {"system": name}, "test": test});
        let first = client::ask(&mut Laboratory::default(), "simulate", &body).unwrap();
        first["figures"]["hops"].as_array().unwrap().len() as u64
    };
    assert_eq!(count(&mut browser, "article"), 2);
    assert_eq!(count(&mut browser, "li.hop"), SYSTEMS.iter().map(hops).sum::<u64>());
    assert!(count(&mut browser, "li.hop .hop-time .wait") >= 6);
    // The page shows the answer as a sentence, and both curves with a line for each system and its 99th percentile.
    browser.wait("/(faster than|as fast as|No difference between)/.test(document.getElementById('answer').textContent)");
    browser.wait("document.querySelectorAll('.curve').length === 2");
    browser.wait("document.querySelectorAll('.curve .point, .curve .now').length === 36");
    // Each system has the same colour in its row, its column and both curves.
    for colour in 0..SYSTEMS.len() {
        for selector in [".system .name", "#parts h3"] {
            assert_eq!(
                count(&mut browser, &format!("{selector} .s{colour}")),
                1,
                "{selector} {colour}"
            );
        }
        assert_eq!(count(&mut browser, &format!(".curve path.c{colour}")), 3, "{colour}");
    }

    let depth = browser.value(DEPTH);
    let before = browser.value(FIRST);
    assert_eq!(depth, json!("8"));
    browser.value("document.getElementById('test-queue_depth').focus()");
    for _ in 0..3 {
        browser.press("ArrowRight", 39);
    }
    browser.wait(&format!("{DEPTH} === '24'"));
    browser.wait(&format!("{FIRST} !== {before} && {SETTLED}"));
    assert!(browser.value("location.hash").as_str().unwrap().contains("queue_depth%22%3A24"));

    // The page shows the values of a system, its drawing and its command.
    browser.value("for (const one of document.querySelectorAll('#parts section:first-child .more details')) one.open = true");
    browser.wait("document.querySelectorAll('.values .field').length > 20");
    browser.wait("document.querySelector('.drawing')?.naturalWidth > 100");
    browser.value("document.querySelector('#add').click()");
    browser.wait(&format!("document.querySelectorAll('article').length === 3 && {SETTLED}"));
    browser.value("document.querySelector('#eight').click()");
    browser.wait("document.querySelectorAll('#eight-table tbody tr').length === 8 && !document.querySelector('#eight').disabled");

    if browser.is_offline {
        assert_eq!(browser.value("navigator.onLine"), json!(false));
    }
    // Every control has a name for users who cannot see it, and no element is wider than a phone's screen.
    let nameless = "[...document.querySelectorAll('input, select, button')].filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel)).length";
    assert_eq!(browser.value(nameless), json!(0));
    let ids = "(() => { const ids = [...document.querySelectorAll('[id]')].map((one) => one.id); return ids.length - new Set(ids).size; })()";
    assert_eq!(browser.value(ids), json!(0));
    browser.phone();
    browser.wait("document.documentElement.scrollWidth <= innerWidth");

    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn all_is_reached_by_tab_and_values_are_turned_by_keys() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = settled_page(folder.path(), &PageContents::default()) else { return };
    browser.value("document.querySelector('#parts .more details summary').focus()");
    browser.press(" ", 32);
    // The table of values is rendered again when the values are there, which replaces controls.
    browser.wait(&format!("document.querySelectorAll('.values .field').length > 20 && {SETTLED}"));

    // From each control, the Tab key moves the focus to the next one, and the focus is visible.
    browser.value("window.controls = () => [...document.querySelectorAll('a[href], input, select, button, summary')].filter((one) => one.checkVisibility() && !one.disabled); window.bare = []; addEventListener('focusin', (event) => requestAnimationFrame(() => { if (event.target === document.activeElement && getComputedStyle(event.target).outlineStyle === 'none') bare.push(event.target.outerHTML); }))");
    let count = browser.value("controls().length").as_u64().unwrap();
    assert!(count > 60, "{count} controls");
    for next in 1..count {
        // An answer that arrives renders controls again, and the focus is lost.
        let is_reached = (0..5).any(|_| {
            browser.value(&format!("controls()[{}].focus()", next - 1));
            browser.press("Tab", 9);
            browser.value(&format!("document.activeElement === controls()[{next}]")) == json!(true)
        });
        assert!(is_reached, "{}", browser.value(&format!("controls()[{next}].outerHTML")));
    }
    assert_eq!(browser.value("bare"), json!([]));

    // The test changes a value of the drive, and the rate of its link.
    let field = |name: &str| {
        format!(
            "[...document.querySelectorAll('.values code')].find((one) => one.textContent === '{name}').closest('.field')"
        )
    };
    let before = browser.value(FIRST);
    let read = field("drive.flash.read");
    browser.value(&format!("{read}.querySelector('input').focus()"));
    for _ in 0..8 {
        browser.press("ArrowRight", 39);
    }
    browser.wait(&format!("{FIRST} !== {before} && {SETTLED}"));
    assert!(browser.value("location.hash").as_str().unwrap().contains("drive.flash.read"));
    let between = browser.value(FIRST);
    let block = "document.getElementById('test-block')";
    browser.value(&format!("{block}.focus()"));
    browser.press("End", 35);
    browser.wait("document.querySelector('label[for=test-block] output').textContent === '4 MiB'");
    browser.wait(&format!("{FIRST} !== {between} && {SETTLED}"));
    let whole = browser.value(FIRST);
    let rate = field("platform.port.sata.sata");
    browser.value(&format!("{rate}.querySelector('select').focus()"));
    // The rate changes from 6 Gb/s to 1.5 Gb/s.
    browser.press("Home", 36);
    browser.wait(&format!("{rate}.querySelector('select').value === '1.5 Gb/s'"));
    browser.wait(&format!("{FIRST} !== {whole} && {SETTLED}"));
    // The number of 4 MiB requests a second, in MB/s.
    let rate = |value: &Value| {
        let requests: f64 = value.as_str().unwrap().replace(',', "").parse().unwrap();
        requests * 4.194_304
    };
    let slow = browser.value(FIRST);
    // 1.5 Gb/s with 8b/10b coding carries up to 150 MB/s.
    assert!(rate(&slow) <= 150.0 && rate(&whole) > 400.0, "{slow} of {whole}");
}

#[test]
fn the_machine_inside_the_page_is_chosen_by_keys_and_kept_in_the_address() {
    let machine = tempfile::tempdir().unwrap();
    client::laptop::laptop(machine.path());
    let made = lanemark_lab::machine::platform(machine.path(), "This machine").unwrap();
    let file = MachineFile { text: made.text, left_out: made.left_out };
    let contents = PageContents { documents: Vec::new(), machine: Some(file) };
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = settled_page(folder.path(), &contents) else { return };
    type_into(&mut browser, "article:nth-child(2) .pick input", "950 pro in this machine");
    browser.wait("!document.querySelector('article:nth-child(2) [role=listbox]').hidden");
    browser.press("Enter", 13);
    let here = "document.querySelector('article:nth-child(2) .pick input').value.endsWith('This machine · nvme0n1')";
    browser.wait(&format!("{here} && {SETTLED}"));
    let about = "document.querySelector('article:nth-child(2) .about').textContent";
    browser.wait(&format!(
        "{about}.startsWith('nvme0n1: PCIe 3.0 x2') && {about}.includes('Without a port: vda')"
    ));
    let address = browser.value("location.href");
    browser.navigate("about:blank");
    browser.navigate(address.as_str().unwrap());
    browser.wait(&format!("{SETTLED} && {here}"));
}

#[test]
fn each_change_is_a_step_of_the_history_and_a_broken_address_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = settled_page(folder.path(), &PageContents::default()) else { return };
    let steps = browser.value("history.length").as_u64().unwrap();
    browser.value("document.getElementById('test-queue_depth').focus()");
    // The keys of one turn of a slider are one step.
    browser.press("ArrowRight", 39);
    browser.press("ArrowRight", 39);
    browser.wait(&format!("{DEPTH} === '16' && {SETTLED}"));
    browser.value("document.querySelector('#presets button:last-child').click()");
    browser.wait(&format!("{DEPTH} === '16' && {SETTLED}"));
    assert_eq!(browser.value("history.length"), json!(steps + 2));
    browser.value("history.back()");
    browser.wait(&format!(
        "document.getElementById('test-name').textContent.includes('QD 16') && {SETTLED}"
    ));
    assert_eq!(
        browser.value("document.querySelector('#test-block').ariaValueText"),
        json!("4 KiB")
    );
    browser.value("history.back()");
    browser.wait(&format!("{DEPTH} === '8' && {SETTLED}"));
    let broken = "document.getElementById('broken').textContent";
    assert_eq!(browser.value(broken), json!(""));
    for hash in ["%7B", "%7B%22systems%22%3A%5B%5D%7D", "question=none"] {
        browser.value(&format!("location.hash = '#{hash}'"));
        browser.wait(&format!("{broken}.startsWith('The address of this page is broken')"));
        browser.wait("document.querySelectorAll('article').length === 2");
    }
}

#[test]
fn a_new_input_cancels_the_work_of_the_last_input() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = settled_page(folder.path(), &PageContents::default()) else { return };
    browser.value("document.getElementById('eight').click()");
    browser.wait("document.querySelectorAll('#eight-table tbody tr').length > 0");
    browser.value("document.querySelector('article:nth-child(2) .plain').click()");
    let ended = "document.getElementById('eight-region').hidden && !document.getElementById('eight').disabled";
    assert_eq!(browser.value(ended), json!(true));
    browser.value("document.getElementById('test-queue_depth').focus()");
    for _ in 0..7 {
        browser.press("ArrowRight", 39);
    }
    browser.wait(&format!("{DEPTH} === '96' && {SETTLED}"));
    let mut test = test();
    test["queue_depth"] = json!(96);
    let body = json!({"system": {"system": SYSTEMS[0]}, "test": test});
    let reports = client::steps(&mut Laboratory::default(), "simulate", &body).unwrap();
    let expected = reports.last().unwrap()["figures"]["iops"].as_f64().unwrap();
    // The figures of the last depth stay until the new ones are there.
    let shown = format!("Number({FIRST}.replaceAll(',', ''))");
    browser.wait(&format!("Math.abs({shown} / {expected} - 1) < 0.006"));
    assert_eq!(browser.value(ended), json!(true));
}

#[test]
fn a_question_is_a_link_and_its_sentence_has_figures_of_one_stage() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = settled_page(folder.path(), &PageContents::default()) else { return };
    let links = "document.querySelectorAll('#questions a')";
    assert_eq!(browser.value(&format!("{links}.length")), json!(8));
    browser.value("[...document.querySelectorAll('#questions a')].find((one) => one.hash === '#question=chipset-slot').click()");
    let answer = "document.getElementById('answer')";
    browser.wait(&format!("document.getElementById('test-name').textContent.startsWith('4 KiB random read, QD 1') && {SETTLED} && !{answer}.classList.contains('stale')"));
    browser.wait(&format!("{answer}.textContent.includes(' to ')"));
    assert_eq!(browser.value("location.hash"), json!("#question=chipset-slot"));
    let mut laboratory = Laboratory::default();
    let questions = lanemark_ui::questions::questions();
    let question = questions.iter().find(|question| question.id == "chipset-slot").unwrap();
    let named = question.systems.iter().zip(["Port m2", "Port m2-2"]).map(|(system, name)| {
        let body = json!({"system": system, "test": question.test});
        let reports = client::steps(&mut laboratory, "simulate", &body).unwrap();
        json!({"name": name, "figures": reports.last().unwrap()["figures"]})
    });
    let named: Vec<Value> = named.collect();
    let reply = client::ask(&mut laboratory, "answer", &json!({"systems": named})).unwrap();
    let sentence = reply["sentence"].as_str().unwrap().to_lowercase();
    let shown = browser.value(&format!("{answer}.textContent"));
    assert_eq!(shown.as_str().unwrap().to_lowercase(), sentence);
}

#[test]
fn one_box_finds_a_system_by_words() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = settled_page(folder.path(), &PageContents::default()) else { return };
    let list = "document.querySelector('article:first-child [role=listbox]')";
    type_into(&mut browser, ".pick input", "980 pro in the second slot of a B550");
    browser.wait(&format!("!{list}.hidden && {list}.children.length > 0"));
    // The arrow keys move the selection in the list, and a screen reader announces the selected entry.
    browser.press("ArrowDown", 40);
    let marked = format!("[...{list}.children].findIndex((one) => one.ariaSelected === 'true')");
    browser.wait(&format!("{marked} === 1"));
    browser.press("ArrowUp", 38);
    browser.wait(&format!("{marked} === 0"));
    let active = "document.querySelector('.pick input').getAttribute('aria-activedescendant')";
    browser.wait(&format!("{active} === {list}.children[0].id"));
    browser.press("Enter", 13);
    browser.wait("decodeURIComponent(location.hash).includes('samsung-980-pro-1tb@amd-b550:m2-2')");
    let name = "document.querySelector('.pick input').value";
    browser.wait(&format!("{name} === 'Samsung SSD 980 PRO 1TB · AMD B550 · m2-2' && {SETTLED}"));
    // Words without a match are reported, and the system stays unchanged.
    type_into(&mut browser, ".pick input", "qqqq zzzz");
    browser.wait("document.querySelector('.advice').textContent.includes('qqqq zzzz')");
    browser.press("Enter", 13);
    browser.press("Escape", 27);
    assert_eq!(browser.value(name), json!("Samsung SSD 980 PRO 1TB · AMD B550 · m2-2"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn presets_set_the_test_and_a_system_keeps_its_colour() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = settled_page(folder.path(), &PageContents::default()) else { return };
    let preset = "[...document.querySelectorAll('#presets button')].find((one) => one.textContent === 'Database')";
    browser.value(&format!("{preset}.click()"));
    browser.wait(&format!("{preset}.ariaPressed === 'true' && {SETTLED}"));
    browser.wait("document.getElementById('test-name').textContent.includes('8K') || document.getElementById('test-name').textContent.includes('8 KiB')");
    // The second system keeps its colour when the first system is removed, and a new system takes the free colour.
    let colours =
        "[...document.querySelectorAll('.system .name > .dot')].map((one) => one.classList[1])";
    assert_eq!(browser.value(colours), json!(["s0", "s1"]));
    browser.value("document.querySelector('.system .plain').click()");
    assert_eq!(browser.value(colours), json!(["s1"]));
    browser.value("document.getElementById('add').click()");
    assert_eq!(browser.value(colours), json!(["s1", "s0"]));
    browser.wait(SETTLED);
    let address = browser.value("location.href");
    browser.navigate("about:blank");
    browser.navigate(address.as_str().unwrap());
    browser.wait(SETTLED);
    assert_eq!(browser.value(colours), json!(["s1", "s0"]));
}

#[test]
fn faults_are_reported_as_failures_losses_and_recovery() {
    let folder = tempfile::tempdir().unwrap();
    let Some(address) = client::page(folder.path(), &PageContents::default()) else { return };
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    let fault = "power-cut at=5ms boot=1ms";
    let systems = json!([{"system": SYSTEMS[1], "set": [], "faults": [fault]}]);
    let state = json!({"test": test(), "systems": systems}).to_string();
    let escaped: String = state.bytes().map(|byte| format!("%{byte:02X}")).collect();
    browser.navigate(&format!("{address}#{escaped}"));
    let text = "document.querySelector('.fault')?.textContent ?? ''";
    browser.wait(&format!("({text}).includes('requests failed.')"));
    let text = browser.value(text);
    let text = text.as_str().unwrap();
    for part in ["Power cut", "at 5", "acknowledged data was lost.", "after the fault began."] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // The sentence leads with what went wrong.
    browser.wait(
        "/^.* (failed|lost) .* delivers /.test(document.getElementById('answer').textContent)",
    );
}

/// Types a text into the box that `selector` names, and replaces its content.
fn type_into(browser: &mut Browser, selector: &str, text: &str) {
    browser.value(&format!(
        "(() => {{ const box = document.querySelector('{selector}'); box.focus(); box.select(); }})()"
    ));
    browser.type_text(text);
}

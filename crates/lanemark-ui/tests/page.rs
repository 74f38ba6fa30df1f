//! The page in a browser: it runs without errors, does not send requests to other servers, draws the answers, and can
//! be operated with the keyboard.
//!
//! The tests need Chromium. Without it they are skipped; in CI they fail.

mod client;

use client::Client;
use client::browser::Browser;
use serde_json::{Value, json};

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

#[test]
fn the_page_draws_the_systems_of_its_address_and_keys_turn_them() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    browser.ask("Page.navigate", json!({"url": with_state(client.address())}));
    browser.wait(SETTLED);

    let count = |browser: &mut Browser, what: &str| {
        browser.value(&format!("document.querySelectorAll('{what}').length")).as_u64().unwrap()
    };
    let test = test();
    let hops = |name: &&str| {
        let body = json!({"page": "test", "slot": 0, "system": {"system": name}, "test": test});
        client.first_line("/api/simulate", &body)["figures"]["hops"].as_array().unwrap().len()
            as u64
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
    // The address now contains the state instead of the token.
    let address = browser.value("location.href").as_str().unwrap().to_owned();
    assert!(!address.contains("token=") && address.contains("samsung-850-pro"), "{address}");

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

    // Every control has a name for users who cannot see it, and no element is wider than a phone's screen.
    let nameless = "[...document.querySelectorAll('input, select, button')].filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel)).length";
    assert_eq!(browser.value(nameless), json!(0));
    let ids = "(() => { const ids = [...document.querySelectorAll('[id]')].map((one) => one.id); return ids.length - new Set(ids).size; })()";
    assert_eq!(browser.value(ids), json!(0));
    let phone = json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true});
    browser.ask("Emulation.setDeviceMetricsOverride", phone);
    assert_eq!(browser.value("document.documentElement.scrollWidth"), json!(390));

    let (own, _) = client.address().split_once("?token=").unwrap();
    assert_eq!(browser.complaints(own.trim_end_matches('/')), Vec::<String>::new());
}

#[test]
fn all_is_reached_by_tab_and_values_are_turned_by_keys() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    browser.ask("Page.navigate", json!({"url": with_state(client.address())}));
    browser.wait(SETTLED);
    browser.value("document.querySelector('#parts .more details summary').focus()");
    browser.press(" ", 32);
    // The table of values is rendered again when the values are there, which replaces controls.
    browser.wait(&format!("document.querySelectorAll('.values .field').length > 20 && {SETTLED}"));

    // The Tab key moves the focus to each control once, and the focus is visible.
    browser.value("document.activeElement.blur(); window.scrollTo(0, 0); window.seen = new Set(); window.bare = []; addEventListener('focusin', (event) => { seen.add(event.target); requestAnimationFrame(() => { if (event.target === document.activeElement && getComputedStyle(event.target).outlineStyle === 'none') bare.push(event.target.outerHTML); }); })");
    let reached = "[...document.querySelectorAll('a[href], input, select, button, summary')].filter((one) => one.checkVisibility() && !one.disabled && !seen.has(one)).map((one) => one.outerHTML)";
    for _ in 0..5 {
        for _ in 0..100 {
            browser.press("Tab", 9);
        }
        if browser.value(reached) == json!([]) {
            break;
        }
    }
    assert_eq!(browser.value(reached), json!([]));
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
fn this_machine_is_chosen_by_keys_and_comes_back_with_the_address() {
    let machine = tempfile::tempdir().unwrap();
    client::laptop::laptop(machine.path());
    let client = Client::on_machine(machine.path());
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    browser.ask("Page.navigate", json!({"url": with_state(client.address())}));
    browser.wait(SETTLED);
    type_into(&mut browser, "article:nth-child(2) .pick input", "950 pro in this machine");
    browser.press("Enter", 13);
    let here = "document.querySelector('article:nth-child(2) .pick input').value.endsWith('This machine · nvme0n1')";
    browser.wait(&format!("{here} && {SETTLED}"));
    let about = "document.querySelector('article:nth-child(2) .about').textContent";
    browser.wait(&format!(
        "{about}.startsWith('nvme0n1: PCIe 3.0 x2') && {about}.includes('Without a port: vda')"
    ));
    // If the address of a page contains this machine, the page first reads the machine.
    let address = browser.value("location.href");
    browser.ask("Page.navigate", json!({"url": "about:blank"}));
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait(&format!("{SETTLED} && {here}"));
}

#[test]
fn a_machine_that_cannot_be_read_is_reported_in_the_box() {
    let client = Client::on_machine(std::path::Path::new("/nowhere"));
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    browser.ask("Page.navigate", json!({"url": with_state(client.address())}));
    browser.wait(SETTLED);
    let before = browser.value("document.querySelector('.pick input').value");
    type_into(&mut browser, ".pick input", "950 pro in this machine");
    browser.wait("document.querySelector('.advice').textContent.includes('Hint: ')");
    browser.press("Escape", 27);
    assert_eq!(browser.value("document.querySelector('.pick input').value"), before);
    assert_eq!(browser.value("document.querySelector('.advice').textContent"), json!(""));
}

#[test]
fn one_box_finds_a_system_by_words() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    browser.ask("Page.navigate", json!({"url": with_state(client.address())}));
    browser.wait(SETTLED);
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
    let (own, _) = client.address().split_once("?token=").unwrap();
    assert_eq!(browser.complaints(own.trim_end_matches('/')), Vec::<String>::new());
}

#[test]
fn presets_set_the_test_and_a_system_keeps_its_colour() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    browser.ask("Page.navigate", json!({"url": with_state(client.address())}));
    browser.wait(SETTLED);
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
    browser.ask("Page.navigate", json!({"url": "about:blank"}));
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait(SETTLED);
    assert_eq!(browser.value(colours), json!(["s1", "s0"]));
}

#[test]
fn faults_are_reported_as_failures_losses_and_recovery() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    let fault = "power-cut at=5ms boot=1ms";
    let systems = json!([{"system": SYSTEMS[1], "set": [], "faults": [fault]}]);
    let state = json!({"test": test(), "systems": systems}).to_string();
    let escaped: String = state.bytes().map(|byte| format!("%{byte:02X}")).collect();
    browser.ask("Page.navigate", json!({"url": format!("{}#{escaped}", client.address())}));
    let text = "document.querySelector('.fault')?.textContent ?? ''";
    browser.wait(&format!("({text}).includes('requests failed.')"));
    let text = browser.value(text);
    let text = text.as_str().unwrap();
    for part in ["Power cut", "at 5", "acknowledged data was lost.", "after the fault began."] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_server_that_has_stopped_is_reported_and_the_last_figures_are_dimmed() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    browser.ask("Page.navigate", json!({"url": with_state(client.address())}));
    browser.wait(SETTLED);
    client.stop();
    browser.value("document.getElementById('test-queue_depth').focus()");
    browser.press("ArrowRight", 39);
    browser.wait(
        "document.getElementById('stopped').textContent.startsWith('The laboratory has stopped.')",
    );
    browser.wait("Number(getComputedStyle(document.querySelector('.result')).opacity) < 0.4");
    assert_eq!(
        browser.value("document.body.textContent.includes('Failed to fetch')"),
        json!(false)
    );
}

/// Types a text into the box that `selector` names, and replaces its content.
fn type_into(browser: &mut Browser, selector: &str, text: &str) {
    browser.value(&format!(
        "(() => {{ const box = document.querySelector('{selector}'); box.focus(); box.select(); }})()"
    ));
    browser.ask("Input.insertText", json!({"text": text}));
}

#[test]
fn a_page_without_the_token_says_how_to_come_in() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::start(folder.path()) else { return };
    let (address, _) = client.address().split_once("?token=").unwrap();
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait("document.body.textContent.includes('Open the address that')");
}

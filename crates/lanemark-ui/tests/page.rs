//! The page in a browser: it runs without an error, requests nothing elsewhere, draws the answers, and is operated by
//! keys.
//!
//! Needs Chromium. Where it is missing the tests are skipped, and in CI fail.

mod client;

use client::Client;
use client::browser::Browser;
use serde_json::{Value, json};

const SYSTEMS: [&str; 2] =
    ["samsung-850-pro-1tb@workstation-z170:sata", "samsung-950-pro-512gb@workstation-z170:m2"];
/// True when each system has its interval.
const SETTLED: &str = "(() => { const all = [...document.querySelectorAll('.result')]; return all.length > 0 && all.every((one) => one.textContent.includes('80% in')); })()";
const DEPTH: &str = "document.querySelector('label[for=test-queue_depth] output').textContent";
const FIRST: &str = "document.querySelector('.result .big b').textContent";

/// The test of the state.
fn test() -> Value {
    json!({"block": "4 KiB", "pattern": "random", "read_percent": 100, "queue_depth": 8, "threads": 1,
        "span": "1 GiB"})
}

/// An address with two systems, as the page writes it.
fn with_state(address: &str) -> String {
    let system = |name: &&str| json!({"system": name, "set": [], "faults": []});
    let systems: Vec<Value> = SYSTEMS.iter().map(system).collect();
    let state = json!({"test": test(), "systems": systems}).to_string();
    let escaped = state.bytes().map(|byte| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
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
    assert_eq!(count(&mut browser, "svg.path .hop"), SYSTEMS.iter().map(hops).sum::<u64>());
    assert!(count(&mut browser, "svg.budget .part") >= 6);
    // A column for the figures' names, and one for each system.
    assert_eq!(count(&mut browser, "#beside thead th"), 3);
    // The token is not in the address any more, and the state is.
    let address = browser.value("location.href").as_str().unwrap().to_owned();
    assert!(!address.contains("token=") && address.contains("samsung-850-pro"), "{address}");

    let (depth, before) = (browser.value(DEPTH), browser.value(FIRST));
    assert_eq!(depth, json!("8"));
    browser.value("document.getElementById('test-queue_depth').focus()");
    for _ in 0..3 {
        browser.press("ArrowRight", 39);
    }
    browser.wait(&format!("{DEPTH} === '24'"));
    browser.wait(&format!("{FIRST} !== {before} && {SETTLED}"));
    assert!(browser.value("location.hash").as_str().unwrap().contains("queue_depth%22%3A24"));

    // Values of a system, its drawing and its command.
    browser.value("for (const one of document.querySelectorAll('article:first-child details')) one.open = true");
    browser.wait("document.querySelectorAll('.values .field').length > 20");
    browser.wait("document.querySelector('.drawing')?.naturalWidth > 100");
    browser.value("document.querySelector('#add').click()");
    browser.wait(&format!("document.querySelectorAll('article').length === 3 && {SETTLED}"));
    browser.value("document.querySelector('#eight').click()");
    browser.wait("document.querySelectorAll('#eight-table tbody tr').length === 8 && !document.querySelector('#eight').disabled");

    // Every control has a name for users who cannot see it, and nothing is wider than a telephone.
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
    browser.value("document.querySelector('article details summary').focus()");
    browser.press(" ", 32);
    browser.wait("document.querySelectorAll('.values .field').length > 20");

    // Each control has the focus once on the way through the page, and shows it.
    browser.value("document.activeElement.blur(); window.scrollTo(0, 0); window.seen = new Set(); window.bare = []; addEventListener('focusin', (event) => { seen.add(event.target); requestAnimationFrame(() => { if (event.target === document.activeElement && getComputedStyle(event.target).outlineStyle === 'none') bare.push(event.target.outerHTML); }); })");
    let reached = "[...document.querySelectorAll('a[href], input, select, button, summary')].filter((one) => one.checkVisibility() && !one.disabled && !seen.has(one)).map((one) => one.outerHTML)";
    for _ in 0..200 {
        browser.press("Tab", 9);
    }
    assert_eq!(browser.value(reached), json!([]));
    assert_eq!(browser.value("bare"), json!([]));

    // A value of the drive, and the rate of its link.
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
    // From 6 Gb/s to 1.5.
    browser.press("Home", 36);
    browser.wait(&format!("{rate}.querySelector('select').value === '1.5 Gb/s'"));
    browser.wait(&format!("{FIRST} !== {whole} && {SETTLED}"));
    let number = |value: &Value| value.as_str().unwrap().replace(',', "").parse::<f64>().unwrap();
    let slow = browser.value(FIRST);
    // 1.5 Gb/s by 8b/10b is 150 MB/s at most.
    assert!(number(&slow) <= 150.0 && number(&whole) > 400.0, "{slow} of {whole}");
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
    let platform = "[...document.querySelectorAll('article:nth-child(2) .pick label')].find((one) => one.textContent.trim() === 'Platform').control";
    let ports = "[...document.querySelectorAll('article:nth-child(2) .pick label')].find((one) => one.textContent.trim() === 'Port').control";
    browser.value(&format!("{platform}.focus()"));
    // It is the first of the platforms.
    browser.press("Home", 36);
    browser.wait(&format!("{ports}.value === 'nvme0n1' && {SETTLED}"));
    let told = browser.value(&format!("{ports}.selectedOptions[0].textContent"));
    assert_eq!(told, json!("nvme0n1: PCIe 3.0 x2"));
    browser.wait("document.querySelector('article:nth-child(2) .pick').textContent.includes('Without a port: vda')");
    let heading = browser.value("document.querySelector('article:nth-child(2) h3').textContent");
    assert!(heading.as_str().unwrap().ends_with("at this machine:nvme0n1"), "{heading}");
    // A page that begins with it reads it first.
    let address = browser.value("location.href");
    browser.ask("Page.navigate", json!({"url": "about:blank"}));
    browser.ask("Page.navigate", json!({"url": address}));
    browser.wait(&format!("{SETTLED} && {ports}.value === 'nvme0n1'"));

    // Once it cannot be read, the page says so, and the system stays as it was.
    std::fs::remove_dir_all(machine.path()).unwrap();
    let first = platform.replace("nth-child(2)", "nth-child(1)");
    browser.value(&format!("{first}.focus()"));
    browser.press("Home", 36);
    browser.wait("document.querySelector('article .error').textContent.includes('Hint: ')");
    browser.wait(&format!("{first}.value === 'workstation-z170'"));
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

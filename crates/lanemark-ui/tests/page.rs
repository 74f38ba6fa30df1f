//! The page in a browser: it runs without an error, asks for nothing elsewhere, and draws what it was told.
//!
//! Needs Chromium. Where it is missing the test is skipped, and in CI fails.

mod client;

use std::path::Path;
use std::process::Command;

use client::Client;
use serde_json::{Value, json};

/// Runs Chromium on an address and returns the page as it is after some seconds, and what it logged.
fn open(address: &str, folder: &Path, options: &[&str]) -> Option<(String, String)> {
    let mut browser = Command::new("chromium");
    browser
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-background-networking", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", folder.display()))
        .args(options)
        .arg(address);
    match browser.output() {
        Ok(output) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Some((text(&output.stdout), text(&output.stderr)))
        }
        Err(_) => {
            assert!(
                std::env::var_os("CI").is_none(),
                "chromium is missing: apt-get install chromium"
            );
            None
        }
    }
}

/// The test of the state.
fn test() -> Value {
    json!({"block": "4 KiB", "pattern": "random", "read_percent": 100, "queue_depth": 8, "threads": 1,
        "span": "1 GiB"})
}

/// An address with a state, as the page writes it.
fn with_state(address: &str, systems: &[&str]) -> String {
    let systems: Vec<_> =
        systems.iter().map(|name| json!({"system": name, "set": [], "faults": []})).collect();
    let state = json!({"test": test(), "systems": systems}).to_string();
    let escaped: String = state
        .bytes()
        .map(|byte| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect();
    format!("{address}#{escaped}")
}

#[test]
fn the_page_draws_the_systems_of_its_address_without_an_error() {
    let client = Client::start();
    let systems =
        ["samsung-850-pro-1tb@workstation-z170:sata", "samsung-950-pro-512gb@workstation-z170:m2"];
    let address = with_state(client.address(), &systems);
    let folder = tempfile::tempdir().unwrap();
    let options = ["--virtual-time-budget=30000", "--timeout=60000", "--dump-dom"];
    let Some((page, log)) = open(&address, folder.path(), &options) else { return };
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(console, Vec::<&str>::new());
    let count = |text: &str| page.matches(text).count();
    assert_eq!(count("<article"), 2, "{page:.2000}");
    assert_eq!(count("class=\"path\""), 2, "{page:.4000}");
    let test = test();
    let hops = |name: &&str| {
        let system = json!({"system": name});
        let body = json!({"page": "test", "slot": 0, "system": system, "test": test});
        client.first_line("/api/simulate", &body)["figures"]["hops"].as_array().unwrap().len()
    };
    assert_eq!(count("class=\"hop\""), systems.iter().map(hops).sum::<usize>());
    assert!(count("class=\"part\"") >= 6, "{}", count("class=\"part\""));
    assert!(page.contains("narrowest hop"));
    assert!(page.contains("Samsung SSD 850 PRO") && page.contains("80% in"), "no interval");
    // Every field has a name for whoever does not see it.
    let fields = page.matches("<input ").count() + page.matches("<select ").count();
    assert!(fields > 15 && page.matches("<label for=").count() >= fields, "{fields} fields");
}

#[test]
fn a_page_without_the_token_says_how_to_come_in() {
    let client = Client::start();
    let (address, _) = client.address().split_once("?token=").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let Some((page, _)) = open(address, folder.path(), &["--dump-dom"]) else { return };
    assert!(page.contains("Open the address that"), "{page:.400}");
}

//! Firefox, controlled through Marionette: JSON messages over a socket, each after its length and a colon.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Firefox {
    child: Child,
    stream: BufReader<TcpStream>,
    number: u64,
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Firefox {
    /// Starts the browser, with its data in `folder`.
    pub(super) fn start(folder: &Path) -> Self {
        let profile = folder.join("firefox");
        std::fs::create_dir(&profile).unwrap();
        // The port was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let port_line = format!("user_pref(\"marionette.port\", {port});\n");
        std::fs::write(profile.join("user.js"), port_line).unwrap();
        let child = Command::new("firefox-esr")
            .args(["--headless", "--marionette", "--no-remote", "--profile"])
            .arg(&profile)
            .env("HOME", folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("apt-get install firefox-esr");
        let began = Instant::now();
        let stream = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => break stream,
                Err(error) => assert!(began.elapsed() < PATIENCE, "Firefox: {error}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let mut own = Self { child, stream: BufReader::new(stream), number: 0 };
        assert_eq!(own.message()["applicationType"], json!("gecko"));
        own.ask("WebDriver:NewSession", &json!({}));
        own
    }

    fn message(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).unwrap();
            if byte[0] == b':' {
                break;
            }
            length = 10 * length + usize::from(byte[0] - b'0');
        }
        let mut text = vec![0; length];
        self.stream.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Sends a request, and returns its answer.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let text = json!([0, self.number, method, params]).to_string();
        self.stream.get_mut().write_all(format!("{}:{text}", text.len()).as_bytes()).unwrap();
        let reply = self.message();
        assert_eq!((&reply[1], &reply[2]), (&json!(self.number), &Value::Null), "{method}");
        reply[3].clone()
    }

    pub(super) fn navigate(&mut self, address: &str) {
        self.ask("WebDriver:Navigate", &json!({"url": address}));
    }

    /// Returns the value of an expression in the page, or runs a loop.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let script = if expression.starts_with("for ") {
            format!("{expression};")
        } else {
            format!("return ({expression});")
        };
        let params = json!({"script": script, "args": []});
        self.ask("WebDriver:ExecuteScript", &params)["value"].clone()
    }

    /// Presses the keys of a text, or a key that WebDriver represents by a private character.
    pub(super) fn press(&mut self, keys: &str) {
        let press = |key: char| {
            ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()}))
        };
        let actions: Vec<Value> = keys.chars().flat_map(press).collect();
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.ask("WebDriver:PerformActions", &json!({"actions": [keyboard]}));
    }

    pub(super) fn set_width(&mut self, width: u32) {
        self.ask("WebDriver:SetWindowRect", &json!({"width": width, "height": 844}));
    }
}

/// Returns the character of a key's name.
pub(super) fn key(name: &str) -> &str {
    match name {
        "Tab" => "\u{e004}",
        "Enter" => "\u{e007}",
        "Escape" => "\u{e00c}",
        "End" => "\u{e010}",
        "Home" => "\u{e011}",
        "ArrowLeft" => "\u{e012}",
        "ArrowUp" => "\u{e013}",
        "ArrowRight" => "\u{e014}",
        "ArrowDown" => "\u{e015}",
        other => other,
    }
}

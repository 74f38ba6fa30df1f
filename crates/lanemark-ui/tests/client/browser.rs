//! Chromium without a network, controlled through its debugging pipe: JSON messages that end in a zero byte. If
//! `LANEMARK_BROWSER` is `firefox`, the functions that both browsers have use Firefox, which needs a local socket.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::firefox::{self, Firefox};

/// Time limit for the page to reach the expected state.
const PATIENCE: Duration = Duration::from_secs(60);

/// Height of a picture; a longer page is divided into several pictures.
const PICTURE_HEIGHT: usize = 1500;

pub(crate) struct Browser {
    engine: Engine,
    /// Whether the browser runs without a network.
    pub(crate) is_offline: bool,
    /// Events that the browser sent in addition to its answers.
    pub(crate) events: Vec<Value>,
}

enum Engine {
    Chromium(Chromium),
    Firefox(Firefox),
}

struct Chromium {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    number: u64,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the program and the options that start a command without network interfaces. Root needs no namespace of
/// users.
fn without_network() -> Option<Vec<&'static str>> {
    let ways = [["unshare", "--net"].as_slice(), &["unshare", "--map-root-user", "--net"]];
    let works = |way: &&[&str]| {
        let tried = Command::new(way[0]).args(&way[1..]).arg("true").stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    };
    ways.into_iter().find(works).map(<[_]>::to_vec)
}

impl Browser {
    /// Starts the browser, with its data in `folder`. Returns `None` if there is no browser; in CI this is a failure.
    pub(crate) fn start(folder: &Path) -> Option<Self> {
        if std::env::var_os("LANEMARK_BROWSER").is_some_and(|name| name == "firefox") {
            let engine = Engine::Firefox(Firefox::start(folder));
            return Some(Self { engine, is_offline: false, events: Vec::new() });
        }
        if Command::new("chromium").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "missing: apt-get install chromium");
            return None;
        }
        let network = without_network();
        assert!(network.is_some() || std::env::var_os("CI").is_none(), "unshare is not permitted");
        let is_offline = network.is_some();
        // The pipe is at descriptors 3 and 4 of the browser.
        let script = format!(
            "exec {} chromium \"$@\" 3<&0 4>&1 >/dev/null 2>&1",
            network.unwrap_or_default().join(" ")
        );
        let mut child = Command::new("sh")
            .args(["-c", &script, "chromium"])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let chromium = Chromium {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            session: String::new(),
            number: 0,
        };
        let engine = Engine::Chromium(chromium);
        let mut own = Self { engine, is_offline, events: Vec::new() };
        let made = own.ask("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": made["targetId"], "flatten": true});
        let session = own.ask("Target.attachToTarget", target);
        own.chromium().session = session["sessionId"].as_str().unwrap().to_owned();
        for part in ["Runtime", "Log", "Network", "Page"] {
            own.ask(&format!("{part}.enable"), json!({}));
        }
        Some(own)
    }

    fn chromium(&mut self) -> &mut Chromium {
        match &mut self.engine {
            Engine::Chromium(chromium) => chromium,
            Engine::Firefox(_) => panic!("only Chromium has this function"),
        }
    }

    /// Sends a request to Chromium, and returns its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let chromium = self.chromium();
        chromium.number += 1;
        let number = chromium.number;
        let mut message = json!({"id": number, "method": method});
        message["params"] = params;
        if !chromium.session.is_empty() {
            message["sessionId"] = json!(chromium.session);
        }
        chromium.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut line = Vec::new();
            let length = self.chromium().from.read_until(0, &mut line).unwrap();
            assert!(length > 0, "the browser has gone");
            let reply: Value = serde_json::from_slice(&line[..line.len() - 1]).unwrap();
            if reply["id"].as_u64() != Some(number) {
                self.events.push(reply);
            } else if reply["error"].is_null() {
                return reply["result"].clone();
            } else {
                panic!("{method}: {}", reply["error"])
            }
        }
    }

    /// Opens an address.
    pub(crate) fn navigate(&mut self, address: &str) {
        match &mut self.engine {
            Engine::Firefox(firefox) => firefox.navigate(address),
            Engine::Chromium(_) => {
                self.ask("Page.navigate", json!({"url": address}));
            }
        }
    }

    /// Returns the value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        if let Engine::Firefox(firefox) = &mut self.engine {
            return firefox.value(expression);
        }
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        self.ask("Runtime.evaluate", parameters)["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str) {
        let began = Instant::now();
        while self.value(expression) != json!(true) {
            if began.elapsed() > PATIENCE {
                let text = self.value("document.body.innerText");
                panic!(
                    "never true: {expression}; the page says: {}",
                    text.as_str().unwrap_or("nothing")
                );
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key, given its name and number.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        if let Engine::Firefox(firefox) = &mut self.engine {
            return firefox.press(firefox::key(key));
        }
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Types a text.
    pub(crate) fn type_text(&mut self, text: &str) {
        match &mut self.engine {
            Engine::Firefox(firefox) => firefox.press(text),
            Engine::Chromium(_) => {
                self.ask("Input.insertText", json!({"text": text}));
            }
        }
    }

    /// Shows the page on a phone.
    pub(crate) fn phone(&mut self) {
        match &mut self.engine {
            Engine::Firefox(firefox) => firefox.set_width(390),
            Engine::Chromium(_) => self.screen(390, "light"),
        }
    }

    /// Shows the page on a screen with this width, in light or dark colours.
    pub(crate) fn screen(&mut self, width: u32, scheme: &str) {
        let size =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let colours = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.ask("Emulation.setEmulatedMedia", colours);
    }

    /// Saves pictures of the whole page in the folder of `LANEMARK_PICTURES`, if it is set.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("LANEMARK_PICTURES") else { return };
        let size = self
            .value("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]");
        let width = size[0].as_u64().unwrap();
        let height = size[1].as_u64().unwrap();
        for (number, y) in (0..height).step_by(PICTURE_HEIGHT).enumerate() {
            let own = (height - y).min(PICTURE_HEIGHT as u64);
            let clip = json!({"x": 0, "y": y, "width": width, "height": own, "scale": 1});
            let parameters = json!({"captureBeyondViewport": true, "clip": clip});
            let taken = self.ask("Page.captureScreenshot", parameters)["data"].clone();
            let path = Path::new(&folder).join(format!("{name}-{}.png", number + 1));
            let mut decoder = Command::new("base64")
                .arg("-d")
                .stdin(Stdio::piped())
                .stdout(std::fs::File::create(path).unwrap())
                .spawn()
                .unwrap();
            decoder.stdin.take().unwrap().write_all(taken.as_str().unwrap().as_bytes()).unwrap();
            assert!(decoder.wait().unwrap().success());
        }
    }

    /// Returns errors on the page's console, and requested addresses that are not files or parts of the page.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let texts = self.events.iter().filter_map(|event| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => {
                    Some(params.to_string())
                }
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str()?;
                    let mut own = ["file:", "data:", "blob:"].iter();
                    let is_own = own.any(|scheme| url.starts_with(scheme));
                    (!is_own).then(|| url.to_owned())
                }
                _ => None,
            }
        });
        texts.collect()
    }
}

//! Chromium, controlled through its debugging pipe: JSON messages that end in a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Time limit for the page to reach the expected state.
const PATIENCE: Duration = Duration::from_secs(60);

/// Height of a picture; a longer page is divided into several pictures.
const PICTURE_HEIGHT: usize = 1500;

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    number: u64,
    /// Events that the browser sent in addition to its answers.
    pub(crate) events: Vec<Value>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts the browser, with its data in `folder`. Returns `None` if there is no browser; in CI this is a failure.
    pub(crate) fn start(folder: &Path) -> Option<Self> {
        if Command::new("chromium").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "missing: apt-get install chromium");
            return None;
        }
        // The pipe is at descriptors 3 and 4 of the browser.
        let mut child = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 >/dev/null 2>&1", "chromium"])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut own = Self {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            session: String::new(),
            number: 0,
            events: Vec::new(),
        };
        let made = own.ask("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": made["targetId"], "flatten": true});
        let session = own.ask("Target.attachToTarget", target);
        own.session = session["sessionId"].as_str().unwrap().to_owned();
        for part in ["Runtime", "Log", "Network", "Page"] {
            own.ask(&format!("{part}.enable"), json!({}));
        }
        Some(own)
    }

    /// Sends a request to the browser, and returns its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method});
        message["params"] = params;
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut line = Vec::new();
            assert!(self.from.read_until(0, &mut line).unwrap() > 0, "the browser has gone");
            let reply: Value = serde_json::from_slice(&line[..line.len() - 1]).unwrap();
            if reply["id"].as_u64() != Some(self.number) {
                self.events.push(reply);
            } else if reply["error"].is_null() {
                return reply["result"].clone();
            } else {
                panic!("{method}: {}", reply["error"])
            }
        }
    }

    /// Returns the value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
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
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.ask("Input.dispatchKeyEvent", event);
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

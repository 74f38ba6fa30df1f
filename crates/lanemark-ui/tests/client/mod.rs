//! An HTTP/1.1 client that can also send requests that no browser would send, and a server for it.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod axe;
pub(crate) mod browser;
pub(crate) mod laptop;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use lanemark_lab::CancelFlag;
use lanemark_study::Library;
use lanemark_ui::UiServer;
use lanemark_ui::machine::MachineSource;
use serde_json::{Value, json};

/// The system that the tests use.
pub(crate) const SYSTEM: &str = "samsung-950-pro-512gb@workstation-z170:m2";

/// A test that can be simulated quickly.
pub(crate) static TEST: LazyLock<Value> = LazyLock::new(|| {
    json!({"block": "4 KiB", "pattern": "random", "read_percent": 100.0, "queue_depth": 32,
        "threads": 1, "span": "1 GiB"})
});

/// A dedicated server, which is stopped when this value is dropped.
pub(crate) struct Client {
    host: String,
    token: String,
    address: String,
    cancel: CancelFlag,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Client {
    pub(crate) fn start() -> Self {
        Self::for_server(UiServer::new(0, Library::built_in()).unwrap())
    }

    /// Starts a server for which the sysfs tree at `path` is this machine.
    pub(crate) fn on_machine(path: &Path) -> Self {
        Self::for_server(
            UiServer::on_machine(0, Library::built_in(), MachineSource::at(path.to_owned()))
                .unwrap(),
        )
    }

    fn for_server(ui: UiServer) -> Self {
        let address = ui.address().to_owned();
        let rest = address.strip_prefix("http://").unwrap();
        let (host, token) = rest.split_once("/?token=").unwrap();
        let host = host.to_owned();
        let token = token.to_owned();
        let cancel = CancelFlag::default();
        let flag = cancel.clone();
        std::thread::spawn(move || ui.run(&flag).unwrap());
        Self { host, token, address, cancel }
    }

    /// Ends the server, and returns when its port no longer accepts connections.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
        while TcpStream::connect(&self.host).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the address with the access token.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a raw request, with `{host}`, `{port}` and `{token}` filled in, and returns status and answer.
    pub(crate) fn raw(&self, text: &str) -> (u16, String) {
        let port = self.host.rsplit(':').next().unwrap();
        let text = text
            .replace("{host}", &self.host)
            .replace("{port}", port)
            .replace("{token}", &self.token)
            .replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
        let mut stream = self.connect();
        let _ = stream.write_all(text.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.unwrap_or_else(|| panic!("no answer to {text:.80}: {answer:.80}")), answer)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: {{host}}\r\nX-Lanemark-Token: {{token}}\r\n\r\n"
        ))
    }

    pub(crate) fn get_json(&self, path: &str) -> Value {
        serde_json::from_str(body_of(&self.get(path).1)).unwrap()
    }

    fn question(path: &str, body: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nHost: {{host}}\r\nX-Lanemark-Token: {{token}}\r\nOrigin: http://{{host}}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    pub(crate) fn post_text(&self, path: &str, body: &str) -> (u16, String) {
        self.raw(&Self::question(path, body))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, String) {
        self.post_text(path, &body.to_string())
    }

    /// Sends a request, and returns the connection before the answer is read.
    pub(crate) fn begin(&self, path: &str, body: &Value) -> TcpStream {
        let text = Self::question(path, &body.to_string());
        let text = text.replace("{host}", &self.host).replace("{token}", &self.token);
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        stream
    }

    /// Sends a request, and returns the lines of JSON in the answer.
    pub(crate) fn lines(&self, path: &str, body: &Value) -> Vec<Value> {
        let (status, answer) = self.post(path, body);
        assert_eq!(status, 200, "{answer:.400}");
        let lines = answer.lines().filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Sends a request, and returns the first line of JSON without waiting for the rest.
    pub(crate) fn first_line(&self, path: &str, body: &Value) -> Value {
        let lines = BufReader::new(self.begin(path, body)).lines();
        let mut lines = lines.map(Result::unwrap).filter(|line| line.starts_with('{'));
        serde_json::from_str(&lines.next().unwrap()).unwrap()
    }
}

/// Returns the file of a simulated run with two tests of three repeats each.
pub(crate) fn run_file() -> String {
    let library = Library::built_in();
    let system = lanemark_lab::assemble(&library, SYSTEM, &[]).unwrap();
    let mut workload = lanemark_study::workload::open(&library, "quick").unwrap();
    workload.tests.truncate(2);
    workload.repeats = 3;
    workload.tests.iter_mut().for_each(|test| test.duration = Some("20 ms".parse().unwrap()));
    let lab = lanemark_lab::Lab::default();
    let run = lab.run(&system, &workload, &Default::default(), &mut |_| {}).unwrap();
    serde_json::to_string(&run).unwrap()
}

pub(crate) fn body_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

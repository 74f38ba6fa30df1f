//! The module answers like native code, to the byte: searches, systems, simulations and the built-in studies. It
//! answers every file with a result or an error, and then the next question.
//!
//! The tests need Node, and the module, which `make page` builds. Without them they are skipped; in CI they fail.

mod client;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use client::{SYSTEM, TEST};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_ui::Laboratory;
use lanemark_ui::questions::{presets, questions};
use serde_json::{Value, json};

/// Maximum time for a file.
const PATIENCE: Duration = Duration::from_secs(10);
const FILES: u32 = 2_000;

/// The module in Node.
struct Module {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Module {
    fn start() -> Option<Self> {
        client::module()?;
        let Ok(mut child) = Command::new("node")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/node/ask.mjs"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/module/lanemark.wasm.gz"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            assert!(std::env::var_os("CI").is_none(), "missing: apt-get install nodejs");
            eprintln!("skipped: apt-get install nodejs");
            return None;
        };
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        Some(Self { child, to, from })
    }

    /// Answers a request whose body is text, or an object with bytes.
    fn send(&mut self, request: &str, body: &Value) -> String {
        writeln!(self.to, "{}", json!([request, body])).unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn answer(&mut self, request: &str, body: &Value) -> String {
        self.send(request, &json!(body.to_string()))
    }
}

/// Compares the answers of the module and of native code, and returns the answer.
#[track_caller]
fn same(module: &mut Module, native: &mut Laboratory, request: &str, body: &Value) -> String {
    let of_module = module.answer(request, body);
    let of_native = match native.answer(request, body.to_string().as_bytes()) {
        Ok(json) => format!("{{\"ok\":{json}}}"),
        Err(error) => {
            let error = json!({"message": error.message, "hint": error.hint});
            let expected = json!({"error": error});
            assert_eq!(serde_json::from_str::<Value>(&of_module).unwrap(), expected);
            return of_module;
        }
    };
    let first = of_native.bytes().zip(of_module.bytes()).position(|(one, other)| one != other);
    let near = |text: &str| {
        let at = first.unwrap_or_default();
        String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(80)..text.len().min(at + 80)])
            .into_owned()
    };
    assert!(
        of_module == of_native,
        "{request} {body}:\n  module {}\n  native {}\nhint: if the module is older than the code, run `make page`",
        near(&of_module),
        near(&of_native)
    );
    of_native
}

#[test]
fn the_module_simulates_each_question_and_preset_like_native_code() {
    let Some(mut module) = Module::start() else { return };
    let mut native = Laboratory::default();
    let of_questions = questions().into_iter().flat_map(|question| {
        let test = question.test;
        question.systems.into_iter().map(move |system| (json!(system), test.clone()))
    });
    let presets = presets().into_iter().map(|preset| (json!({"system": SYSTEM}), preset.test));
    for (system, test) in of_questions.chain(presets) {
        let body = json!({"system": system, "test": test});
        let mut reply = same(&mut module, &mut native, "simulate", &body);
        let mut count = 0;
        while !reply.contains("\"stage\":\"done\"") {
            assert!(reply.starts_with("{\"ok\""), "{reply}");
            reply = same(&mut module, &mut native, "step", &Value::Null);
            count += 1;
        }
        assert!(count >= 2, "{system}");
    }
}

#[test]
fn the_module_answers_other_requests_like_native_code() {
    let Some(mut module) = Module::start() else { return };
    let mut native = Laboratory::default();
    let system = json!({"system": SYSTEM, "set": [["drive.flash.read", "60 us"]], "faults": ["power-cut at=1ms boot=1ms"]});
    for (request, body) in [
        ("find", json!({"text": "980 pro in the second slot of a B550", "present": SYSTEM})),
        ("find", json!({"text": "qqqq"})),
        ("system", json!({"system": system, "test": *TEST})),
        ("study", json!({"systems": [system], "test": *TEST})),
        ("simulate", json!({"system": {"system": "x@y:z"}, "test": *TEST})),
        ("simulate", json!({"system": system, "test": *TEST})),
        ("step", json!({})),
        ("curve", json!({"system": {"system": SYSTEM}, "test": *TEST})),
        ("step", json!({})),
        ("published", json!({"study": "none"})),
        ("none", json!({})),
    ] {
        same(&mut module, &mut native, request, &body);
    }
    let file = client::run_file();
    let of_module = module.send("result", &json!(file));
    let of_native = native.answer("result", file.as_bytes()).unwrap();
    assert_eq!(of_module, format!("{{\"ok\":{of_native}}}"));
}

#[test]
fn the_module_gives_the_outcome_of_each_study() {
    let Some(mut module) = Module::start() else { return };
    let mut native = Laboratory::default();
    let names = lanemark_study::studies::names();
    assert!(names.len() >= 5);
    for study in names {
        let reply = same(&mut module, &mut native, "published", &json!({"study": study}));
        assert!(reply.contains("\"answer\":"), "{study}: {reply:.200}");
    }
}

/// Returns the files of the fuzzers' seeds: samples of all formats that the page reads.
fn seeds() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = [
        "lanemark-formats/tests/foreign",
        "lanemark-cli/tests/saved",
        "lanemark-inspect/tests/samples",
    ];
    let mut files = vec![client::run_file().into_bytes()];
    for folder in folders {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            files.extend(path.is_file().then(|| std::fs::read(&path).unwrap()));
        }
    }
    files
}

#[test]
fn the_module_answers_hostile_files_and_then_the_next_question() {
    let Some(mut module) = Module::start() else { return };
    let seeds = seeds();
    assert!(seeds.len() > 20);
    let mut rng = Rng::new(StreamKey { seed: 19, test: 0, repeat: 0, thread: 0 });
    let mut read = 0;
    let mut refused = 0;
    for number in 0..FILES {
        let mut bytes = seeds[number as usize % seeds.len()].clone();
        for _ in 0..rng.below(6) {
            if bytes.is_empty() {
                break;
            }
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => bytes[at] = rng.below(256) as u8,
                1 => bytes.truncate(at),
                _ => {
                    let piece = bytes[at..bytes.len().min(at + 30)].to_vec();
                    bytes.splice(at..at, piece.repeat(1 + rng.below(30) as usize));
                }
            }
        }
        let began = Instant::now();
        let reply = module.send("result", &json!({"base64": BASE64_STANDARD.encode(&bytes)}));
        assert!(began.elapsed() < PATIENCE, "file {number}: {:?}", began.elapsed());
        if reply.starts_with("{\"ok\":") {
            read += 1;
        } else {
            refused += 1;
        }
        let is_answer = reply.starts_with("{\"ok\":") || reply.starts_with("{\"error\":");
        assert!(is_answer, "file {number}: {reply:.300}");
    }
    assert!(read > 100 && refused > 300, "{read} read and {refused} refused");
    let deep = format!("{{\"text\": {}", "[".repeat(60_000));
    for (request, body) in
        [("find", deep.as_str()), ("", ""), ("step", "\u{0}"), ("simulate", "{\"system\": 1}")]
    {
        assert!(module.send(request, &json!(body)).starts_with("{\"error\":"), "{request}");
    }
    let reply = module.answer("find", &json!({"text": "980 pro b550"}));
    assert!(reply.contains("samsung-980-pro-1tb@amd-b550"), "{reply}");
}

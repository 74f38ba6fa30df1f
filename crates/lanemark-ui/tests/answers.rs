//! The answers to a page: its search boxes, its sentence, its curves and its result files, for valid and hostile
//! requests.

mod client;

use std::time::{Duration, Instant};

use client::{SYSTEM, TEST, ask, steps};
use lanemark_lab::Lab;
use lanemark_lab::interval::DrawnSystem;
use lanemark_schema::result::{Provenance, RunResult};
use lanemark_study::Library;
use lanemark_ui::request::TestRequest;
use lanemark_ui::{Laboratory, command};
use serde_json::{Value, json};

/// Returns the message of the error of a request.
#[track_caller]
fn error(laboratory: &mut Laboratory, request: &str, body: &Value) -> String {
    ask(laboratory, request, body).unwrap_err().message
}

#[test]
fn a_search_box_finds_systems_and_bad_texts_find_nothing() {
    let mut laboratory = Laboratory::default();
    let mut find = |text: &str| {
        ask(&mut laboratory, "find", &json!({"text": text, "present": SYSTEM})).unwrap()
    };
    let found = find("980 pro in the second slot of a B550");
    assert_eq!(found["found"][0]["system"], json!("samsung-980-pro-1tb@amd-b550:m2-2"));
    assert_eq!(found["found"][0]["name"], json!("Samsung SSD 980 PRO 1TB · AMD B550 · m2-2"));
    assert_eq!(found["found"][0]["about"], json!("PCIe 3.0 x4, via chipset, PCIe 3.0 x4"));
    assert_eq!(found["advice"], Value::Null);
    let began = Instant::now();
    for text in
        ["\u{0}\u{1b}[31m", "\u{202e}\u{7f}", "//////", "zzzz qqqq", "/etc/passwd@/dev/zero:x"]
    {
        let found = find(text);
        assert_eq!(found["found"], json!([]), "{text:?}");
        assert!(found["advice"].is_string(), "{text:?}: {found}");
    }
    assert!(find(&"x".repeat(60_000))["found"].as_array().unwrap().is_empty());
    assert!(find(&"980 pro ".repeat(7_000))["found"].as_array().unwrap().len() <= 8);
    assert!(!find("")["found"].as_array().unwrap().is_empty());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // Each found system can be simulated.
    for one in found["found"].as_array().unwrap() {
        let body = json!({"system": {"system": one["system"]}, "test": *TEST});
        ask(&mut laboratory, "system", &body).unwrap();
    }
    // A request that is too long, or that has a different form, is rejected.
    let long = json!({"text": "x".repeat(70_000)});
    assert!(error(&mut laboratory, "find", &long).contains("longer than"));
    for body in [json!({"text": 5}), json!({"text": "", "more": 1}), Value::Null] {
        assert!(error(&mut laboratory, "find", &body).starts_with("the request: "), "{body}");
    }
    assert!(error(&mut laboratory, "fnd", &json!({})).contains("there is no request `fnd`"));
    assert!(error(&mut laboratory, "step", &json!({})).contains("no simulation has begun"));
}

#[test]
fn the_sentence_names_the_faster_system_and_the_others_limit() {
    let mut laboratory = Laboratory::default();
    let mut named = |name: &str, system: &str| {
        let test = json!({"block": "1 MiB", "pattern": "sequential", "read_percent": 100.0,
            "queue_depth": 8, "threads": 1, "span": "1 GiB"});
        let body = json!({"system": {"system": system}, "test": test});
        let reports = steps(&mut laboratory, "simulate", &body).unwrap();
        let stages: Vec<&Value> = reports.iter().map(|one| &one["figures"]["repeats"]).collect();
        assert_eq!(
            stages,
            [&json!(0), &json!(1), &json!(1)],
            "a first answer, a repeat, an interval"
        );
        json!({"name": name, "figures": reports[2]["figures"]})
    };
    let slow = named("Port m2-2", "samsung-980-pro-1tb@amd-b550:m2-2");
    let fast = named("Port m2", "samsung-980-pro-1tb@amd-b550:m2");
    let systems = json!([slow, fast]);
    let reply = ask(&mut laboratory, "answer", &json!({"systems": systems})).unwrap();
    let sentence = reply["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("Port m2 is ") && sentence.contains(" as fast as Port m2-2 ("),
        "{sentence}"
    );
    assert!(sentence.contains(" limits Port m2-2 (") && sentence.contains("busy"), "{sentence}");
    assert_eq!(reply["ratios"][0], Value::Null);
    assert_eq!(reply["ratios"][1]["text"], json!("2.00"));
    let interval = reply["ratios"][1]["interval"].as_str().unwrap();
    assert!(sentence.contains(&format!("({interval})")), "{sentence}: {interval}");
    let twice = json!({"systems": [fast, fast]});
    let reply = ask(&mut laboratory, "answer", &twice).unwrap();
    assert_eq!(reply["ratios"][1]["text"], json!("no difference shown"));
    let alone = ask(&mut laboratory, "answer", &json!({"systems": [fast]})).unwrap();
    assert!(alone["sentence"].as_str().unwrap().starts_with("Port m2 delivers "), "{alone}");

    assert_eq!(ask(&mut laboratory, "answer", &json!({"systems": []})).unwrap(), Value::Null);
    let five = json!({"systems": vec![json!({"name": "A", "figures": fast["figures"]}); 5]});
    assert!(ask(&mut laboratory, "answer", &five).is_err());
    assert!(ask(&mut laboratory, "answer", &json!({"systems": [{"name": "A"}]})).is_err());
    let mut odd = slow.clone();
    odd["figures"]["hops"] = json!([]);
    odd["figures"]["iops"] = json!(1e308);
    let reply = ask(&mut laboratory, "answer", &json!({"systems": [odd]})).unwrap();
    assert!(reply["sentence"].is_string());
}

#[test]
fn a_curve_has_a_point_for_each_depth_up_to_the_bounds_of_a_page() {
    let mut laboratory = Laboratory::default();
    let mut curve = |test: &Value| {
        let body = json!({"system": {"system": SYSTEM}, "test": test});
        let reports = steps(&mut laboratory, "curve", &body).unwrap();
        reports.iter().map(|report| report["point"].clone()).collect::<Vec<Value>>()
    };
    let points = curve(&TEST);
    let of = |point: &Value, key: &str| point[key].as_f64().unwrap();
    assert_eq!(points.len(), 9);
    for pair in points.windows(2) {
        assert_eq!(of(&pair[1], "queue_depth"), 2.0 * of(&pair[0], "queue_depth"));
        assert!(of(&pair[1], "iops") > 0.95 * of(&pair[0], "iops"), "{pair:?}");
        // According to Little's law, the mean latency of a closed loop is its depth divided by its rate.
        let expected = of(&pair[1], "queue_depth") / of(&pair[1], "iops") * 1e6;
        assert!((of(&pair[1], "latency_mean_us") / expected - 1.0).abs() < 0.05, "{pair:?}");
        assert!(of(&pair[1], "latency_p99_us") >= of(&pair[1], "latency_mean_us"), "{pair:?}");
    }
    // 64 threads with 256 requests each would exceed the limit of 4,096.
    let mut wide = TEST.clone();
    wide["threads"] = json!(64);
    assert_eq!(curve(&wide).len(), 7);
}

#[test]
fn tests_of_a_result_file_are_simulated_as_they_are() {
    let mut laboratory = Laboratory::default();
    let file = laboratory.answer("result", client::run_file().as_bytes()).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    let tests: Vec<Value> =
        file["tests"].as_array().unwrap().iter().map(|test| test["definition"].clone()).collect();
    let mut simulate = |tests: Value| {
        let body = json!({"system": {"system": SYSTEM}, "tests": tests});
        steps(&mut laboratory, "workload", &body)
    };
    let reports = simulate(json!(tests)).unwrap();
    for (index, own) in file["tests"].as_array().unwrap().iter().enumerate() {
        let figures = &reports[index]["figures"];
        assert_eq!(figures["test"], own["test"]);
        // The figures of each test follow again, with its interval.
        let refined = &reports[tests.len() + index]["figures"];
        assert!(refined["interval"].is_object() && figures["interval"].is_null(), "{refined}");
        assert_eq!((&refined["test"], &refined["iops"]), (&figures["test"], &figures["iops"]));
        // The same test on the same system has about the same rate; the run in the file is short.
        let ratio = figures["iops"].as_f64().unwrap() / own["iops"]["value"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    }
    let mut large = tests[0].clone();
    large["queue_depth"] = json!(65_536);
    let wrong = json!({"name": "t", "block": -1});
    for (tests, expected) in [
        (json!([]), "from 1 to 32"),
        (json!(vec![&tests[0]; 33]), "33 tests"),
        (json!([large]), "too large for the page"),
        (json!([wrong]), "the request: "),
    ] {
        let message = simulate(tests).unwrap_err().message;
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_report_of_a_page_is_the_report_of_the_command() {
    let library = Library::built_in();
    let mut laboratory = Laboratory::default();
    let mut reply =
        ask(&mut laboratory, "simulate", &json!({"system": {"system": SYSTEM}, "test": *TEST}));
    while reply.as_ref().unwrap()["stage"] != json!("done") {
        reply = ask(&mut laboratory, "step", &Value::Null);
    }
    let of_page = reply.unwrap()["result"].as_str().unwrap().to_owned();
    let file = client::run_file();
    let head = json!({"runs": [of_page.len()], "files": [{"length": file.len(), "tests": [0]}]});
    let body = format!("{head}\n{of_page}{file}");
    let answer: Value =
        serde_json::from_str(&laboratory.answer("report", body.as_bytes()).unwrap()).unwrap();

    let request: TestRequest = serde_json::from_value(TEST.clone()).unwrap();
    let workload = command::workload(&request, &[]).unwrap();
    let system = lanemark_lab::assemble(&library, SYSTEM, &[]).unwrap();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let provenance = Provenance { version, seed: 1, ..Provenance::default() };
    let lab = Lab::default();
    let mut run = lab.run(&system, &workload, &provenance, &mut |_| {}).unwrap();
    let subject = DrawnSystem { library: &library, name: SYSTEM, settings: &[], ranges: &[] };
    lab.add_intervals(&subject, &mut run, &mut |_| {}).unwrap();
    let mut of_file: RunResult = serde_json::from_str(&file).unwrap();
    // The warning of the hidden test is hidden, too.
    let hidden = of_file.tests.remove(1).test.name;
    let count = of_file.warnings.len();
    of_file.warnings.retain(|warning| warning.test() != Some(hidden.as_str()));
    assert!(of_file.warnings.len() < count);
    assert!(
        answer["html"].as_str().unwrap() == lanemark_report::html(None, &[&run, &of_file]),
        "the reports differ"
    );
    for body in ["", "{}", "{\"runs\":[9],\"files\":[]}\n", "{\"runs\":[],\"files\":[]}\n"] {
        assert!(laboratory.answer("report", body.as_bytes()).is_err(), "{body}");
    }
}

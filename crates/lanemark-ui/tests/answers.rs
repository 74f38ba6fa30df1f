//! The answers to a page: its search boxes, its sentence, its curves and its result files, for valid and hostile
//! requests.

mod client;

use std::time::{Duration, Instant};

use client::{Client, SYSTEM, TEST, body_of};
use serde_json::{Value, json};

fn answer(client: &Client, path: &str, body: &Value) -> Value {
    let (status, text) = client.post(path, body);
    assert_eq!(status, 200, "{text:.400}");
    serde_json::from_str(body_of(&text)).unwrap()
}

#[test]
fn a_search_box_finds_systems_and_bad_texts_find_nothing() {
    let client = Client::start();
    let find = |text: &str| answer(&client, "/api/find", &json!({"text": text, "present": SYSTEM}));
    let found = find("980 pro in the second slot of a B550");
    assert_eq!(found["found"][0]["system"], json!("samsung-980-pro-1tb@amd-b550:m2-2"));
    assert_eq!(found["advice"], Value::Null);
    // Each found system can be simulated.
    for one in found["found"].as_array().unwrap() {
        let body = json!({"system": {"system": one["system"]}, "test": *TEST});
        assert_eq!(client.post("/api/system", &body).0, 200, "{one}");
    }
    let began = Instant::now();
    for text in ["\u{0}\u{1b}[31m", "\u{202e}\u{7f}", "//////", "zzzz qqqq"] {
        let found = find(text);
        assert_eq!(found["found"], json!([]), "{text:?}");
        assert!(found["advice"].is_string(), "{text:?}: {found}");
    }
    assert!(find(&"x".repeat(60_000))["found"].as_array().unwrap().is_empty());
    assert!(find(&"980 pro ".repeat(7_000))["found"].as_array().unwrap().len() <= 8);
    assert!(!find("")["found"].as_array().unwrap().is_empty());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // A text that is too long for a request is rejected, and so is a request with a different form.
    assert_eq!(client.post("/api/find", &json!({"text": "x".repeat(70_000)})).0, 413);
    assert_eq!(client.post("/api/find", &json!({"text": 5})).0, 400);
    assert_eq!(client.post("/api/find", &json!({"text": "", "more": 1})).0, 400);
    assert_eq!(client.post_text("/api/find", "{\"text\": \"\u{0}\"").0, 400);
    // The server does not use texts as file names.
    assert_eq!(find("/etc/passwd@/dev/zero:x")["found"], json!([]));
}

#[test]
fn a_search_box_reads_the_machine_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    client::laptop::laptop(folder.path());
    let client = Client::on_machine(folder.path());
    let body = json!({"text": "950 pro in this machine", "present": SYSTEM});
    let found = answer(&client, "/api/find", &body);
    assert_eq!(found["found"][0]["system"], json!("samsung-950-pro-512gb@this-machine:nvme0n1"));
    let client = Client::on_machine(std::path::Path::new("/nowhere"));
    let (status, text) = client.post("/api/find", &body);
    assert!(status == 422 && text.contains("/nowhere"), "{text}");
}

#[test]
fn the_sentence_names_the_faster_system_and_the_others_limit() {
    let client = Client::start();
    let figures = |system: &str| {
        let test = json!({"block": "1 MiB", "pattern": "sequential", "read_percent": 100.0,
            "queue_depth": 8, "threads": 1, "span": "1 GiB"});
        let body = json!({"page": "p", "slot": 0, "system": {"system": system}, "test": test});
        let lines = client.lines("/api/simulate", &body);
        let last = lines.iter().rfind(|line| line["stage"] == json!("figures")).unwrap();
        last["figures"].clone()
    };
    let named = |name: &str, system: &str| json!({"name": name, "figures": figures(system)});
    let fast = "samsung-980-pro-1tb@amd-b550:m2";
    let slow = "samsung-980-pro-1tb@amd-b550:m2-2";
    let systems = json!([named("Port m2-2", slow), named("Port m2", fast)]);
    let reply = answer(&client, "/api/answer", &json!({"systems": systems}));
    let sentence = reply["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("Port m2 is ") && sentence.contains(" as fast as Port m2-2 ("),
        "{sentence}"
    );
    assert!(
        sentence.contains("The difference is lost in Port m2-2 at ") && sentence.contains("busy"),
        "{sentence}"
    );
    let alone = answer(&client, "/api/answer", &json!({"systems": [named("A", fast)]}));
    assert!(alone["sentence"].as_str().unwrap().starts_with("A delivers "), "{alone}");

    assert_eq!(answer(&client, "/api/answer", &json!({"systems": []})), Value::Null);
    let five: Vec<Value> = (0..5).map(|_| systems[0].clone()).collect();
    assert!([400, 413].contains(&client.post("/api/answer", &json!({"systems": five})).0));
    assert_eq!(client.post("/api/answer", &json!({"systems": [{"name": "A"}]})).0, 400);
    let mut odd = systems[0].clone();
    odd["figures"]["hops"] = json!([]);
    odd["figures"]["iops"] = json!(1e308);
    assert!(answer(&client, "/api/answer", &json!({"systems": [odd]}))["sentence"].is_string());
}

#[test]
fn a_curve_has_a_point_for_each_depth_up_to_the_bounds_of_a_page() {
    let client = Client::start();
    let curve = |test: &Value| {
        let body = json!({"page": "p", "slot": 0, "system": {"system": SYSTEM}, "test": test});
        let lines = client.lines("/api/curve", &body);
        assert_eq!(lines.last().unwrap()["stage"], json!("done"));
        let points = lines.iter().filter(|line| line["stage"] == json!("point"));
        points.map(|line| line["point"].clone()).collect::<Vec<Value>>()
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
    let client = Client::start();
    let file: Value =
        serde_json::from_str(body_of(&client.post_text("/api/result", &client::run_file()).1))
            .unwrap();
    let tests: Vec<Value> =
        file["tests"].as_array().unwrap().iter().map(|test| test["definition"].clone()).collect();
    let ask = |tests: &Value| {
        let body = json!({"page": "p", "slot": 0, "system": {"system": SYSTEM}, "tests": tests});
        client.lines("/api/workload", &body)
    };
    let lines = ask(&json!(tests));
    for (index, own) in file["tests"].as_array().unwrap().iter().enumerate() {
        let figures = &lines[index]["figures"];
        assert_eq!(figures["test"], own["test"]);
        // The same test on the same system has about the same rate; the run in the file is short.
        let ratio = figures["iops"].as_f64().unwrap() / own["iops"]["value"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    }
    let failed = |tests: Value, expected: &str| {
        let lines = ask(&tests);
        assert_eq!(lines[0]["stage"], json!("failed"), "{lines:?}");
        let text = lines[0]["message"].to_string();
        assert!(text.contains(expected), "{text}");
    };
    failed(json!([]), "from 1 to 32");
    failed(json!(vec![&tests[0]; 33]), "33 tests");
    let mut large = tests[0].clone();
    large["queue_depth"] = json!(65_536);
    failed(json!([large]), "too large for the page");
    let wrong = json!({"name": "t", "block": -1});
    let body = json!({"page": "p", "slot": 0, "system": {"system": SYSTEM}, "tests": [wrong]});
    assert_eq!(client.post("/api/workload", &body).0, 400);
}

#[test]
fn the_colours_of_the_page_match_reports() {
    let client = Client::start();
    let (status, text) = client.get("/colours.css");
    assert_eq!((status, body_of(&text)), (200, lanemark_report::palette::style()));
    let body = json!({"page": "p", "slot": 0, "system": {"system": SYSTEM}, "test": *TEST});
    let line = client.first_line("/api/simulate", &body);
    for hop in line["figures"]["hops"].as_array().unwrap() {
        let id = serde_json::from_value(hop["id"].clone()).unwrap();
        assert_eq!(hop["colour"], json!(lanemark_report::palette::hop(id)), "{hop}");
    }
}

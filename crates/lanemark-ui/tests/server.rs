//! The server as HTTP clients see it: the clients that it accepts, the requests that it rejects, and its ability to
//! keep running.

mod client;

use std::time::{Duration, Instant};

use client::{Client, SYSTEM, TEST};
use serde_json::{Value, json};

#[test]
fn visitors_without_a_token_are_refused() {
    let client = Client::start();
    let (status, text) = client.raw("GET /api/library HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert_eq!(status, 403);
    assert!(text.contains("The token is missing or wrong"), "{text}");
    let wrong = "GET / HTTP/1.1\r\nHost: {host}\r\nX-Lanemark-Token: 00112233445566778899aabbccddeeff\r\n\r\n";
    assert_eq!(client.raw(wrong).0, 403);
    let rebound = "GET /api/library HTTP/1.1\r\nHost: evil.example:{port}\r\nX-Lanemark-Token: {token}\r\n\r\n";
    let (status, text) = client.raw(rebound);
    assert!(status == 403 && text.contains("127.0.0.1"), "{text}");
    let foreign = "GET /api/library HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\nX-Lanemark-Token: {token}\r\n\r\n";
    let (status, text) = client.raw(foreign);
    assert!(status == 403 && text.contains("another page"), "{text}");
}

#[test]
fn the_address_sets_a_cookie_that_only_this_site_sends() {
    let client = Client::start();
    let (status, text) = client.raw("GET /?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert_eq!(status, 200);
    let head = text.to_lowercase();
    assert!(head.contains("samesite=strict") && head.contains("httponly"), "{head}");
    assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'"));
    let cookie = text.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let with = format!("GET /api/status HTTP/1.1\r\nHost: {{host}}\r\nCookie: {cookie}\r\n\r\n");
    assert_eq!(client.raw(&with).0, 200);
    for path in ["/ui.js", "/draw.js", "/pick.js", "/results.js", "/ui.css"] {
        let with = format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\nCookie: {cookie}\r\n\r\n");
        assert_eq!(client.raw(&with).0, 200, "{path}");
    }
}

#[test]
fn nothing_but_loopback_is_listened_on() {
    let library = lanemark_study::Library::built_in();
    let error = lanemark_ui::UiServer::at("0.0.0.0".parse().unwrap(), 0, library).unwrap_err();
    assert!(error.to_string().contains("not a loopback"), "{error}");
}

#[test]
fn a_body_that_is_too_long_or_not_json_is_refused() {
    let client = Client::start();
    let ask = |body: &str| client.post_text("/api/simulate", body);
    assert_eq!(ask("{").0, 400);
    assert_eq!(ask("[]").0, 400);
    assert_eq!(ask(&format!("{{\"page\": \"{}\"}}", "x".repeat(70_000))).0, 413);
    let (status, text) =
        ask(&json!({"page": "p", "slot": 9, "system": {"system": SYSTEM}, "test": *TEST})
            .to_string());
    assert!(status == 400 && text.contains("`slot` must be below 4"), "{text}");
    let no_type = "POST /api/system HTTP/1.1\r\nHost: {host}\r\nX-Lanemark-Token: {token}\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(client.raw(no_type).0, 400);
    let long =
        format!("GET / HTTP/1.1\r\nHost: {{host}}\r\nX-Long: {}\r\n\r\n", "x".repeat(40_000));
    assert_eq!(client.raw(&long).0, 431);
    assert_eq!(client.raw("\u{0}\u{1}nonsense\r\n\r\n").0, 400);
    assert_eq!(client.get("/api/nothing").0, 404);
    assert_eq!(client.get("/api/simulate").0, 405);
    assert_eq!(client.get("/api/status").0, 200);
}

#[test]
fn a_simulation_is_streamed_in_lines_and_ends_with_an_interval() {
    let client = Client::start();
    let body = json!({"page": "p", "slot": 0, "system": {"system": SYSTEM}, "test": *TEST});
    let lines = client.lines("/api/simulate", &body);
    // The lines are a first answer, the converged test, its interval, and the end.
    assert_eq!(lines.len(), 4, "{lines:?}");
    let first = &lines[0]["figures"];
    assert_eq!((&lines[0]["stage"], &first["repeats"]), (&json!("figures"), &json!(0)));
    let last = &lines[2]["figures"];
    assert_eq!(last["repeats"], json!(1));
    let of = |figures: &Value, key: &str| figures[key].as_f64().unwrap();
    let ratio = of(first, "iops") / of(last, "iops");
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    assert!(of(&last["interval"], "low_ratio") < 1.0 && of(&last["interval"], "high_ratio") > 1.0);
    let hops = last["hops"].as_array().unwrap();
    let total: f64 = hops.iter().map(|hop| of(hop, "wait_us") + of(hop, "service_us")).sum();
    let mean = of(last, "latency_mean_us");
    assert!((total / mean - 1.0).abs() < 0.05, "{total} of {mean}");
    assert!(hops.iter().any(|hop| hop["is_bottleneck"] == json!(true)));
    assert!(last["bottleneck"].as_str().unwrap().contains("bottleneck"));
    assert_eq!(lines[3]["stage"], json!("done"));
}

#[test]
fn the_eight_tests_of_crystaldiskmark_are_one_question() {
    let client = Client::start();
    let system = json!({"system": SYSTEM});
    let body = json!({"page": "p", "slot": 0, "system": system, "workload": "crystaldiskmark-8"});
    let lines = client.lines("/api/workload", &body);
    let names: Vec<&str> =
        lines.iter().filter_map(|line| line["figures"]["test"].as_str()).collect();
    assert_eq!(names.len(), 8);
    assert_eq!((names[0], names[7]), ("SEQ1M Q8T1 read", "RND4K Q1T1 write"));
    let unknown =
        json!({"page": "p", "slot": 0, "system": system, "workload": "crystaldiskmark-9"});
    let failed = &client.lines("/api/workload", &unknown)[0];
    assert_eq!(failed["stage"], json!("failed"));
    let hint = failed["hint"].to_string() + &failed["message"].to_string();
    assert!(hint.contains("crystaldiskmark-8"), "{hint}");
}

#[test]
fn a_value_that_is_set_changes_the_figures() {
    let client = Client::start();
    let figure = |set: Value| {
        let system = json!({"system": SYSTEM, "set": set});
        let test = json!({"block": "1 MiB", "pattern": "sequential", "read_percent": 100.0,
            "queue_depth": 8, "threads": 1, "span": "1 GiB"});
        let body = json!({"page": "p", "slot": 0, "system": system, "test": test});
        client.lines("/api/simulate", &body)[1]["figures"]["megabytes_per_second"].as_f64().unwrap()
    };
    let whole = figure(json!([]));
    let one_lane = figure(json!([["platform.port.m2.pcie.lanes", "1"]]));
    assert!(one_lane < whole * 0.5, "{one_lane} of {whole}");
}

#[test]
fn random_writes_of_a_disk_are_reported_behind_its_cache() {
    let client = Client::start();
    let system = json!({"system": "seagate-constellation-2-1tb@workstation-z170:sata"});
    let mut test = TEST.clone();
    test["read_percent"] = json!(0.0);
    let body = json!({"page": "p", "slot": 0, "system": system, "test": test});
    let lines = client.lines("/api/simulate", &body);
    let answers: Vec<&Value> = lines.iter().map(|line| &line["figures"]).collect();
    // The first answer fills the cache at the link's rate; a 7,200 rpm disk writes a few MB/s in random order.
    let of = |figures: &Value| figures["megabytes_per_second"].as_f64().unwrap();
    let last = answers[answers.len() - 2];
    assert!(of(answers[0]) > 50.0 && of(last) < 20.0, "{} and {}", of(answers[0]), of(last));
    // A warning states the small share of data that still fills the cache after a minute.
    let warnings = last["warnings"].as_array().unwrap();
    let is_of_cache =
        |warning: &Value| warning.as_str().unwrap().contains("filled the write buffer");
    assert!(warnings.len() <= 1 && warnings.iter().all(is_of_cache), "{warnings:?}");
}

#[test]
fn two_hundred_questions_at_once_are_answered() {
    let client = Client::start();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let ask = |number: usize| {
            let client = &client;
            scope.spawn(move || {
                let page = format!("page-{number}");
                let body =
                    json!({"page": page, "slot": 0, "system": {"system": SYSTEM}, "test": *TEST});
                client.first_line("/api/simulate", &body)
            })
        };
        let requests: Vec<_> = (0..200).map(ask).collect();
        for request in requests {
            let line = request.join().unwrap();
            assert!(line["figures"]["iops"].as_f64().unwrap() > 0.0, "{line}");
        }
    });
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn a_question_that_would_take_minutes_is_refused() {
    let client = Client::start();
    let ask = |block: &str, queue_depth: u32| {
        let test = json!({"block": block, "pattern": "random", "read_percent": 100.0,
            "queue_depth": queue_depth, "threads": 1, "span": "64 GiB"});
        let body = json!({"page": "p", "slot": 0, "system": {"system": SYSTEM}, "test": test});
        let began = Instant::now();
        let answer = client.first_line("/api/simulate", &body);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        answer
    };
    let refused = ask("64 MiB", 4096);
    assert!(refused["message"].as_str().unwrap().contains("in flight at a time"), "{refused}");
    // The first answer for the largest accepted request arrives within the time of a step.
    let answer = ask("64 MiB", 16);
    assert!(answer["figures"]["iops"].as_f64().unwrap() > 0.0, "{answer}");
}

#[test]
fn connections_without_the_token_exclude_no_other() {
    let client = Client::start();
    let idle: Vec<_> = (0..520).map(|_| client.connect()).collect();
    let began = Instant::now();
    assert_eq!(client.get("/api/library").0, 200);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    drop(idle);
}

#[test]
fn a_simulation_without_a_waiting_client_is_cancelled() {
    let client = Client::start();
    // There is half a minute of work, with the maximum number of requests in progress.
    let test = json!({"block": "256 KiB", "pattern": "random", "read_percent": 0.0,
        "queue_depth": 64, "threads": 64, "span": "200 GiB"});
    let body =
        |page: &str| json!({"page": page, "slot": 1, "system": {"system": SYSTEM}, "test": test});
    let cancelled = || client.get_json("/api/status")["cancelled"].as_u64().unwrap();
    let ends = |count: u64| {
        let began = Instant::now();
        while cancelled() < count {
            assert!(began.elapsed() < Duration::from_secs(10), "{} of {count}", cancelled());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    drop(client.begin("/api/simulate", &body("closed")));
    ends(1);
    let older = client.begin("/api/simulate", &body("page"));
    std::thread::sleep(Duration::from_millis(100));
    let newer = client.begin("/api/simulate", &body("page"));
    ends(2);
    drop((older, newer));
    ends(3);
}

#[test]
fn names_of_files_are_not_opened() {
    let client = Client::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    std::fs::write(&file, "[platform]\nname = \"secret\"\n").unwrap();
    let name = file.display();
    for system in [
        format!("samsung-950-pro-512gb@{name}:m2"),
        format!("{name}@workstation-z170:m2"),
        format!("samsung-950-pro-512gb@workstation-z170,{name}:m2"),
    ] {
        let body = json!({"system": {"system": system}, "test": *TEST});
        let (status, text) = client.post("/api/system", &body);
        assert_eq!(status, 422);
        assert!(text.contains("unknown") && !text.contains("secret"), "{text}");
    }
}

#[test]
fn a_system_is_returned_with_its_values_its_drawing_and_the_command() {
    let client = Client::start();
    let set = json!([["drive.flash.read", "60 us"]]);
    let body = json!({"system": {"system": SYSTEM, "set": set}, "test": *TEST});
    let (status, text) = client.post("/api/system", &body);
    assert_eq!(status, 200, "{text}");
    let system: Value = serde_json::from_str(client::body_of(&text)).unwrap();
    let values = system["values"].as_array().unwrap();
    let read = values.iter().find(|value| value["parameter"] == json!("drive.flash.read")).unwrap();
    assert_eq!((&read["text"], &read["origin"]), (&json!("60 us"), &json!("set")));
    assert!(system["drawing"].as_str().unwrap().starts_with("<svg"));
    let command = system["command"].as_str().unwrap();
    assert!(command.contains("--set 'drive.flash.read=60 us'"), "{command}");
}

#[test]
fn this_machine_is_a_platform_once_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    client::laptop::laptop(folder.path());
    let client = Client::on_machine(folder.path());
    let system = "samsung-950-pro-512gb@this-machine:nvme0n1";
    let body = json!({"system": {"system": system}, "test": *TEST});
    let (status, text) = client.post("/api/system", &body);
    assert!(status == 422 && text.contains("unknown platform `this-machine`"), "{text}");

    let machine = client.get_json("/api/machine");
    let port = &machine["platform"]["ports"][0];
    assert_eq!((&port["name"], &port["connector"]), (&json!("nvme0n1"), &json!("PCIe 3.0 x2")));
    assert_eq!(machine["platform"]["ports"].as_array().unwrap().len(), 1);
    assert!(machine["left_out"][0].as_str().unwrap().starts_with("vda: "), "{machine}");

    // The file is the same as the file that the command writes, except for its name.
    let file = lanemark_lab::machine::platform(folder.path(), "own").unwrap().text;
    let path = folder.path().join("own.toml");
    std::fs::write(&path, file).unwrap();
    let name = format!("samsung-950-pro-512gb@{}:nvme0n1", path.display());
    let own = lanemark_lab::assemble(&lanemark_study::Library::built_in(), &name, &[]).unwrap();
    let (status, text) = client.post("/api/system", &body);
    assert_eq!(status, 200, "{text}");
    let machine: Value = serde_json::from_str(client::body_of(&text)).unwrap();
    assert_eq!(machine["values"].as_array().unwrap().len(), own.values.len());
    assert!(machine["command"].as_str().unwrap().starts_with("lanemark inspect --as-platform "));

    let test = json!({"block": "1 MiB", "pattern": "sequential", "read_percent": 100.0,
        "queue_depth": 8, "threads": 1, "span": "1 GiB"});
    let body = json!({"page": "p", "slot": 0, "system": {"system": system}, "test": test});
    let lines = client.lines("/api/simulate", &body);
    let rate = lines[1]["figures"]["megabytes_per_second"].as_f64().unwrap();
    // Two lanes of PCIe generation 3 carry up to 1,969 MB/s before packet overhead.
    assert!((1500.0..1969.0).contains(&rate), "{rate}");
    // The last figures include the interval, whose systems are assembled again.
    assert!(lines.iter().any(|line| line["figures"]["interval"].is_object()), "{lines:?}");
}

#[test]
fn an_unreadable_machine_is_an_error_with_text() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("block")).unwrap();
    let error_of = |path: &std::path::Path| {
        let (status, text) = Client::on_machine(path).get("/api/machine");
        assert_eq!(status, 422, "{text}");
        serde_json::from_str::<Value>(client::body_of(&text)).unwrap()
    };
    for path in [folder.path(), std::path::Path::new("/nowhere")] {
        let error = error_of(path);
        assert!(
            error["message"].as_str().unwrap().contains(&*path.display().to_string()),
            "{error}"
        );
        assert!(!error["hint"].is_null(), "{error}");
    }
    client::laptop::laptop(folder.path());
    std::fs::remove_file(folder.path().join("block/nvme0n1")).unwrap();
    let error = error_of(folder.path());
    assert!(error["message"].as_str().unwrap().contains("vda: "), "{error}");
}

#[test]
fn a_result_file_is_summarised_and_one_that_is_too_long_or_invalid_is_refused() {
    let client = Client::start();
    let run = client::run_file();
    let (status, text) = client.post_text("/api/result", &run);
    assert_eq!(status, 200, "{text}");
    let summary: Value = serde_json::from_str(client::body_of(&text)).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    let tests = summary["tests"].as_array().unwrap();
    assert_eq!(tests.len(), run["tests"].as_array().unwrap().len());
    for (summary, own) in tests.iter().zip(run["tests"].as_array().unwrap()) {
        assert_eq!(
            (&summary["test"], &summary["how"]),
            (&own["test"]["name"], &json!("simulated"))
        );
        assert_eq!(summary["iops"]["value"], own["iops"]["value"]);
    }
    let (status, text) = client.post_text("/api/result", "nothing of that kind");
    assert!(status == 422 && text.contains("the file: not a result in a known format"), "{text}");
    // A body with an excessive length in its header is rejected before all of it has arrived.
    let most = lanemark_ui::result_file::FILE_MAX;
    let head = format!(
        "POST /api/result HTTP/1.1\r\nHost: {{host}}\r\nX-Lanemark-Token: {{token}}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        most + 1
    );
    assert_eq!(client.raw(&format!("{head}{}", " ".repeat(most + 1))).0, 413);
    assert_eq!(client.get("/api/status").0, 200);
}

#[test]
fn result_files_at_once_are_all_read() {
    let client = Client::start();
    let run = client::run_file();
    let padded = format!("{}{run}", " ".repeat(1 << 20));
    std::thread::scope(|scope| {
        let requests: Vec<_> =
            (0..16).map(|_| scope.spawn(|| client.post_text("/api/result", &padded).0)).collect();
        for request in requests {
            assert_eq!(request.join().unwrap(), 200);
        }
    });
}

#[test]
fn a_page_is_saved_as_a_study() {
    let client = Client::start();
    let system = json!({"system": SYSTEM, "set": [["drive.flash.read", "60 us"]]});
    let ask =
        |systems: Value| client.post("/api/study", &json!({"systems": systems, "test": *TEST}));
    let (status, text) = ask(json!([system, {"system": SYSTEM}]));
    assert_eq!(status, 200, "{text}");
    let reply: Value = serde_json::from_str(client::body_of(&text)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.toml");
    std::fs::write(&path, reply["text"].as_str().unwrap()).unwrap();
    let study = lanemark_study::Study::open(&lanemark_study::Library::built_in(), &path).unwrap();
    assert_eq!(study.systems().count(), 2);
    assert_eq!(ask(json!([])).0, 400);
    assert_eq!(ask(json!([system, system, system, system, system])).0, 400);
    assert_eq!(ask(json!([{"system": "nothing@nowhere:none"}])).0, 422);
}

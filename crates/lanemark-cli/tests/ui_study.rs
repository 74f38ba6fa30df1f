//! A page of the laboratory that is saved as a study: `lanemark study` runs the file, together with the file that
//! `inspect` writes next to it. The command that a page copies prints the figures of the page, and a dropped text has
//! the lines that `inspect` prints.

use std::path::Path;
use std::process::Command;

use lanemark_lab::Lab;
use lanemark_study::Library;
use lanemark_testbed::lanemark;
use lanemark_ui::Laboratory;
use lanemark_ui::questions::{presets, questions};
use lanemark_ui::request::{OffsetOrder, SystemRequest, TestRequest};
use lanemark_ui::{result_file, saved};
use serde_json::{Value, json};

#[test]
fn a_page_that_is_saved_is_run_by_study() {
    let library = Library::built_in();
    let system = |name: &str, set: &[(&str, &str)]| SystemRequest {
        system: name.to_owned(),
        set: set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        faults: Vec::new(),
    };
    let systems = [
        system("samsung-950-pro-512gb@workstation-z170:m2", &[("drive.flash.read", "90 us")]),
        system("samsung-850-pro-1tb@workstation-z170:sata", &[]),
    ];
    let request = TestRequest {
        block: "4 KiB".to_owned(),
        pattern: OffsetOrder::Random,
        read_percent: 100.0,
        queue_depth: 2,
        threads: 1,
        span: "1 GiB".to_owned(),
        ..TestRequest::default()
    };
    let test = request.read().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = saved::study(&library, &systems, &request, &test).unwrap();
    std::fs::write(folder.path().join("page.toml"), text).unwrap();

    let output = lanemark!(folder.path(), &["study", "page.toml", "--json", "--no-save"]).output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (index, one) in systems.iter().enumerate() {
        let result = &outcome["systems"][index]["run"]["tests"][0];
        assert_eq!(result["test"]["name"], Value::from(test.name.as_str()));
        // The laboratory runs the same test, as it does for a page.
        let own = one.assemble(&library).unwrap().system;
        let mut workload =
            lanemark_study::workload::open(&library, "quick:rnd4k-q1t1-read").unwrap();
        workload.tests[0].asks = test.asks.clone();
        workload.repeats = 1;
        let run = Lab::default().run(&own, &workload, &Default::default(), &mut |_| {}).unwrap();
        let ratio = result["iops"]["value"].as_f64().unwrap() / run.tests[0].iops.value;
        assert!((ratio - 1.0).abs() < 0.02, "{}: {ratio}", one.system);
    }
    // The outcome can be shown on a page again, with one column per system.
    let file = result_file::read(&Library::built_in(), output.stdout).unwrap();
    let file = serde_json::to_value(file).unwrap();
    let labels: Vec<&str> = file["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["target"].as_str().unwrap())
        .collect();
    assert_eq!(labels.len(), 2);
    assert!(labels[0].starts_with("1: Samsung SSD 950 PRO"), "{labels:?}");
    // The text output does not mention published figures.
    let output =
        lanemark!(folder.path(), &["study", "page.toml", "--no-save", "--html", "page.html"])
            .output();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("How do these systems compare"),
        "{printed}"
    );
    assert!(printed.contains("950 PRO") && !printed.contains("no figures"), "{printed}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("950 PRO") && !page.contains("Compared with"), "{page:.300}");
}

/// Texts of all programs that `inspect` reads, and texts without drives.
const TEXTS: [&str; 11] = [
    include_str!("../../lanemark-inspect/tests/samples/lspci-verbose.txt"),
    include_str!("../../lanemark-inspect/tests/samples/lspci-tree.txt"),
    include_str!("../../lanemark-inspect/tests/samples/lspci-controllers.txt"),
    "00:00.0 Host bridge: Maker Device 1234\n",
    "0001:04:00.0\n\tLnkCap: Port #0, Speed 5GT/s, Width x1\n\tLnkSta: Speed 2.5GT/s, Width x1\n",
    "smartctl 7.3\n=== START OF INFORMATION SECTION ===\nModel Number: WD_BLACK SN850X 1000GB\nPercentage Used: 97%\n",
    "Smart Log for NVME device:nvme0 x\ntemperature : 84 C\npercentage_used : 3%\n",
    "NAME MODEL TRAN SIZE ROTA\nsda Samsung SSD 870 EVO 1TB sata 931.5G 0\n",
    "/:  Bus 1\n |__ Port 1: Dev 2, If 0, Class=Mass Storage, Driver=usb-storage, 480M\n",
    "{\"blockdevices\": [{\"name\": \"sda\", \"type\": \"disk\", \"size\": 7, \"model\": \"Unknown\"}]}",
    "Personalities : [raid1]\n",
];

#[test]
fn a_dropped_text_has_the_lines_of_inspect() {
    let folder = tempfile::tempdir().unwrap();
    for content in TEXTS {
        std::fs::write(folder.path().join("text.txt"), content).unwrap();
        let output = lanemark!(folder.path(), &["inspect", "text.txt"]).output();
        let shown = match result_file::read(&Library::built_in(), content.into()) {
            Ok(file) => {
                let file = serde_json::to_value(file).unwrap();
                let lines = file["lines"].as_array().unwrap().iter();
                let lines: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
                let paths = file["paths"]["text"].as_str().unwrap_or_default();
                format!("{} {} {paths}", file["title"].as_str().unwrap(), lines.join(" "))
            }
            Err(error) => {
                let message = error.message.replace("the file", "text.txt");
                format!("error: {message} hint: {}", error.hint.unwrap_or_default())
            }
        };
        let printed = [output.stdout, output.stderr].concat();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&shown), words(&String::from_utf8(printed).unwrap()), "{content}");
    }
}

/// Runs the shell lines that the page copies, and returns the result as JSON.
fn run_copied(folder: &Path, command: &str) -> Value {
    let bin = Path::new(env!("CARGO_BIN_EXE_lanemark")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("{} --json --no-save", command.trim_end())])
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("LANEMARK_LIBRARY")
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_copied_command_prints_the_figures_of_the_page() {
    let mut laboratory = Laboratory::default();
    let mut ask = |request: &str, body: &Value| -> Value {
        let answer = laboratory.answer(request, body.to_string().as_bytes()).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let write = TestRequest { read_percent: 0.0, ..TestRequest::default() };
    let tests = presets().into_iter().map(|preset| preset.test);
    let tests: Vec<TestRequest> = tests.chain([TestRequest::default(), write]).collect();
    let systems = [
        "samsung-980-pro-1tb@amd-b550:m2",
        "samsung-850-pro-1tb@workstation-z170:sata",
        "seagate-barracuda-2tb@workstation-z170:sata",
    ];
    let of_presets = systems.iter().flat_map(|system| {
        tests.iter().map(move |test| (SystemRequest::named(system), test.clone()))
    });
    let of_questions =
        questions().into_iter().map(|question| (question.systems[0].clone(), question.test));
    let cut = vec!["power-cut at=2s boot=1s".to_owned()];
    let with_fault = SystemRequest { faults: cut, ..SystemRequest::named(systems[0]) };
    let with_fault = (with_fault, tests[0].clone());
    for (system, test) in of_presets.chain(of_questions).chain([with_fault]) {
        let body = json!({"system": system, "test": test});
        let mut report = ask("simulate", &body);
        let mut figures = Value::Null;
        while report["stage"] == json!("figures") {
            figures = report["figures"].take();
            report = ask("step", &Value::Null);
        }
        let folder = tempfile::tempdir().unwrap();
        let command = ask("system", &body)["command"].as_str().unwrap().to_owned();
        let run = run_copied(folder.path(), &command);
        let of_command = &run["tests"][0];
        for (own, other, unit) in [
            ("iops", "iops", 1.0),
            ("megabytes_per_second", "throughput_bytes_per_second", 1e6),
            ("latency_mean_us", "latency_mean_ns", 1e3),
        ] {
            let expected = of_command[other]["value"].as_f64().unwrap() / unit;
            assert_eq!(figures[own].as_f64().unwrap(), expected, "{own}: {command}");
        }
        let of_interval = |figures: &Value| {
            let ends = ["low_ratio", "high_ratio"].map(|end| figures["interval"][end].as_f64());
            (ends, figures["interval"]["percentiles"].clone())
        };
        assert_eq!(of_interval(&figures), of_interval(of_command), "{command}");
    }
}

/// Returns the numbers of the first interval in a sentence, such as `(1.65 to 3)`.
fn interval_in(sentence: &str) -> [f64; 2] {
    let (_, rest) = sentence.split_once('(').expect(sentence);
    let (interval, _) = rest.split_once(')').expect(sentence);
    let (low, high) = interval.split_once(" to ").expect(sentence);
    [low, high].map(|number| number.parse().expect(sentence))
}

#[test]
fn every_view_states_the_same_ratio_of_two_systems() {
    const SLOWER: &str = "seagate-barracuda-2tb@workstation-x570:sata";
    let test = TestRequest { queue_depth: 4, ..TestRequest::default() };
    let mut laboratory = Laboratory::default();
    let mut ask = |request: &str, body: &Value| -> Value {
        let answer = laboratory.answer(request, body.to_string().as_bytes()).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    for (one, two) in [
        ("samsung-850-pro-1tb@workstation-x570:sata", "samsung-980-pro-1tb@workstation-x570:m2"),
        ("samsung-980-pro-1tb@workstation-x570:m2-2", "samsung-980-pro-1tb@workstation-x570:m2"),
        // The files of both platforms state equal values for this port.
        ("samsung-980-pro-1tb@workstation-x570:m2", "samsung-980-pro-1tb@amd-b550:m2"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut of_page = Vec::new();
        for (system, file) in [(one, "one.json"), (two, "two.json")] {
            let body = json!({"system": {"system": system}, "test": test});
            let mut report = ask("simulate", &body);
            let mut figures = Value::Null;
            while report["stage"] == json!("figures") {
                figures = report["figures"].take();
                report = ask("step", &Value::Null);
            }
            of_page.push(json!({"name": system, "figures": figures}));
            let command = ask("system", &body)["command"].as_str().unwrap().to_owned();
            let run = run_copied(folder.path(), &command);
            std::fs::write(folder.path().join(file), run.to_string()).unwrap();
        }
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let workload = files.into_iter().find(|file| file.extension().unwrap() == "toml").unwrap();
        let workload = workload.to_str().unwrap();
        let compare = |sides: &[&str], more: &[&str]| -> Value {
            let arguments = [&["compare"], sides, more, &["--json"]].concat();
            serde_json::from_str(&lanemark!(folder.path(), &arguments).stdout()).unwrap()
        };
        let systems = compare(&[one, two], &["--workload", workload]);
        let ratio = &systems["tests"][0]["change"];
        let of_files = compare(&["one.json", "two.json"], &[]);
        let ranking = compare(&[one, SLOWER, two], &["--workload", workload]);
        for (view, other) in [
            ("saved results", &of_files["figures"][0]),
            ("ranking", &ranking["systems"][0]["to_next"]),
        ] {
            let same = |one: &Value, other: &Value| {
                let [one, other] = [one, other].map(|number| number.as_f64().unwrap());
                (one / other - 1.0).abs() < 1e-9
            };
            assert!(same(&ratio["ratio"], &other["ratio"]), "{view}: {ratio} {other}");
            for end in 0..2 {
                let ends = [ratio, other].map(|one| &one["ratio_interval_80"][end]);
                assert!(same(ends[0], ends[1]), "{view}: {ratio} {other}");
            }
            assert_eq!(ratio["verdict"], other["verdict"], "{view}");
        }
        let answer = ask("answer", &json!({"systems": of_page}));
        let is_shown = ratio["verdict"] == json!("higher");
        assert_eq!(answer["ratios"][1]["is_shown"], json!(is_shown), "{answer}");
        let sentence = answer["sentence"].as_str().unwrap();
        let beside_bar = answer["ratios"][1]["interval"].as_str().unwrap();
        assert!(sentence.contains(&format!("({beside_bar})")), "{answer}");
        for (end, printed) in interval_in(sentence).into_iter().enumerate() {
            let exact = ratio["ratio_interval_80"][end].as_f64().unwrap();
            assert!((printed / exact - 1.0).abs() < 0.03, "{sentence} {ratio}");
        }
    }
}

//! The answer comes first: the first line of every command states a figure and names its subject. Each task of the book
//! that does not need hardware takes one or two commands.

use std::fs;

use lanemark_schema::result::{ComparedRuns, RatioVerdict, Sweep};
use lanemark_testbed::lanemark;
use serde_json::Value;
use tempfile::TempDir;

const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";
const NVME: &str = "samsung-950-pro-512gb@workstation-z170:m2";
const TEST: &str = "quick:rnd4k-q1t1-read";

/// A user's question: the commands, and the expected parts of the first line of the last command.
struct Task {
    question: &'static str,
    commands: Vec<Vec<&'static str>>,
    parties: &'static [&'static str],
    figure: &'static str,
}

/// Saves two short results, and copies the samples that replace a user's files.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (system, out) in [(SATA, "one.json"), (NVME, "other.json")] {
        let more = ["quick", "--duration", "20ms", "--no-interval", "--out", out];
        lanemark!(folder.path(), &[&["sim", system][..], &more].concat()).stdout();
    }
    for sample in ["fio-3.33-plus.json", "msr.csv"] {
        lanemark!(folder.path(), &["library", sample, "--copy"]).stdout();
    }
    folder
}

fn tasks() -> Vec<Task> {
    let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
    let task = |question, line: &'static str, parties, figure| Task {
        question,
        commands: vec![words(line)],
        parties,
        figure,
    };
    let mut all = vec![
        task(
            "the same drive in another slot",
            "compare samsung-950-pro-512gb@workstation-z170:m2 :pcie-slot --workload quick --duration 20ms",
            &["samsung-950-pro-512gb", "pcie-slot", "m2"],
            "%",
        ),
        task(
            "a 3 Gb/s port",
            "compare samsung-850-pro-1tb@intel-p67:sata-6g :sata-3g --workload quick --duration 20ms",
            &["samsung-850-pro-1tb", "sata-3g", "sata-6g"],
            "%",
        ),
        task(
            "the queue depth for 90%",
            "sweep samsung-950-pro-512gb@workstation-z170:m2 --workload quick:rnd4k-q32t1-read --duration 10ms --target 90%",
            &["samsung-950-pro-512gb", "RND4K Q32T1 read"],
            "queue_depth ",
        ),
        task(
            "fio's JSON that contradicts the model",
            "compare fio-3.33-plus.json --model samsung-950-pro-512gb@workstation-z170:m2 :pcie-slot",
            // The sample is from a virtual disk.
            &["read is not predicted"],
            " IOPS",
        ),
        task(
            "four drives behind an uplink",
            "inspect samsung-850-pro-1tb@workstation-z170:sata+sata-2+sata-3+sata-4",
            &["samsung-850-pro-1tb@workstation-z170:sata+sata-2+sata-3+sata-4"],
            " MB/s",
        ),
        task(
            "is it faster",
            "compare one.json other.json",
            &["Samsung SSD 950 PRO 512GB", "Samsung SSD 850 PRO 1TB"],
            "x (",
        ),
        task(
            "a picture for others",
            "report one.json --out page.html",
            &["Samsung SSD 850 PRO 1TB"],
            " MB/s",
        ),
        task(
            "database servers",
            "plan fleet --present SATA=1.37e6 --other SAS=1.71e6 --nodes 100",
            &["SATA", "SAS"],
            " servers",
        ),
        task(
            "a recorded trace",
            "sim samsung-950-pro-512gb@workstation-z170:m2 msr.csv --device usr,0",
            &["Samsung SSD 950 PRO 512GB", "msr.csv"],
            " µs",
        ),
        task(
            "latency over load",
            "sweep samsung-850-pro-1tb@workstation-z170:sata --workload quick:rnd4k-q32t1-read --duration 10ms --axis queue_depth=1..32*2",
            &["samsung-850-pro-1tb", "RND4K Q32T1 read"],
            "queue_depth ",
        ),
    ];
    all.push(Task {
        question: "a drive from its box",
        commands: vec![
            [
                &["drive", "Maker Model 1TB"][..],
                &words("--protocol nvme --generation 3 --lanes 4 --year 2019"),
                &["--capacity", "1000 GB", "--read", "3400 MB/s", "--write", "3000 MB/s"],
            ]
            .concat(),
            words("sim ./maker-model-1tb.toml@raspberry-pi-5:m2 quick --duration 20ms"),
        ],
        parties: &["Maker Model 1TB", "m2"],
        figure: " MB/s",
    });
    all.push(Task {
        question: "battery life",
        commands: vec![vec![
            "plan", "battery", "--system", "9.6 W", "--lasts", "5.2 h", "--drive", "1.4 W",
            "--other", "1.1 W",
        ]],
        parties: &["battery"],
        figure: " h",
    });
    all
}

/// Returns whether a line contains a figure; digits in names do not count.
fn has_figure(line: &str, parties: &[&str], unit: &str) -> bool {
    let rest = parties.iter().fold(line.to_owned(), |rest, party| rest.replace(party, ""));
    rest.contains(unit) && rest.contains(|letter: char| letter.is_ascii_digit())
}

#[test]
fn every_task_takes_two_commands_and_its_answer_is_the_first_line() {
    let folder = folder();
    for Task { question, commands, parties, figure } in tasks() {
        assert!(commands.len() <= 2, "{question}");
        let mut printed = String::new();
        for command in &commands {
            printed = lanemark!(folder.path(), command).stdout();
        }
        let first = printed.lines().next().unwrap_or_default();
        for party in parties {
            assert!(first.contains(party), "{question}: no {party} in: {first}");
        }
        assert!(has_figure(first, parties, figure), "{question}: no figure in: {first}");
        let sentence = printed.split("\n\n").next().unwrap().trim_end();
        assert!(sentence.ends_with('.'), "{question}: not a sentence: {sentence}");
    }
}

#[test]
fn other_commands_answer_first_too() {
    let folder = folder();
    let platform = ["inspect", "workstation-z170"];
    let import = ["report", "fio-3.33-plus.json"];
    let bench =
        ["bench", ".", TEST, "--size", "1MiB", "--duration", "20ms", "--repeats", "1", "--explain"];
    let named = [&bench[..9], &["--name", "My drive"]].concat();
    let fit = ["drive", "fitted", "--from", "one.json", "--platform", "workstation-z170:sata"];
    for (arguments, parts) in [
        (
            &["sim", SATA, TEST, "--duration", "20ms", "--no-interval"][..],
            &["Samsung SSD 850 PRO 1TB in sata", " IOPS (", " MB/s)"][..],
        ),
        (&platform, &["Workstation, Intel Z170 has ", " ports"]),
        (&import, &["/data/file reads up to ", " MB/s"]),
        (&bench, &[" reads ", " IOPS (", " MB/s)"]),
        (&named, &["My drive reads ", " IOPS (", " MB/s)"]),
        (&fit, &["The fitted model of ", " tests; its largest error is ", "%"]),
        (
            &["library", "samsung-850-pro-1tb"],
            &["Samsung SSD 850 PRO 1TB: ", " stated", " assumed"],
        ),
        (&["report", "one.json", "--out", "one.svg"], &["Samsung SSD 850 PRO 1TB", " MB/s"]),
        (&["study", "sata-vs-nvme-datasheets", "--no-interval"], &["950 PRO", "850 PRO", " MB/s"]),
    ] {
        let printed = lanemark!(folder.path(), arguments).stdout();
        let sentence = printed.split("\n\n").next().unwrap().replace('\n', " ");
        for part in parts {
            assert!(sentence.contains(part), "{arguments:?}: no {part} in: {sentence}");
        }
        assert!(!sentence.starts_with(". "), "{sentence}");
    }
}

#[test]
fn evidence_is_printed_on_request_only() {
    let folder = folder();
    let sim = ["sim", SATA, "quick", "--duration", "10ms"];
    let whatif = ["compare", SATA, ":sata-2", "--workload", TEST, "--duration", "10ms"];
    for (arguments, option, evidence) in [
        (&sim[..], "--explain", &[" are sourced, ", "The intervals cover 80% of the systems"][..]),
        (&whatif, "--detail", &["The intervals cover 80% of the systems"]),
        (
            &["compare", "one.json", "other.json"],
            "--detail",
            &["Percentiles of latency", " are sourced, "],
        ),
        (
            &["study", "sata-vs-nvme-datasheets", "--no-interval"],
            "--explain",
            &["Notes - The paper"],
        ),
    ] {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let brief = lanemark!(folder.path(), arguments).stdout();
        let full = lanemark!(folder.path(), &[arguments, &[option]].concat()).stdout();
        for part in evidence {
            let part = squeeze(part);
            assert!(!squeeze(&brief).contains(&part), "{arguments:?}: {part} in {brief}");
            assert!(squeeze(&full).contains(&part), "{arguments:?}: no {part} in {full}");
        }
    }
}

#[test]
fn figures_are_printed_as_json_and_read_back() {
    let folder = folder();
    let json = |arguments: &[&str]| -> Value {
        lanemark!(folder.path(), &[arguments, &["--json"]].concat()).json()
    };
    let compared = json(&["compare", "one.json", "other.json"]);
    let runs: ComparedRuns = serde_json::from_value(compared).unwrap();
    let reads = runs.figures.iter().find(|figure| figure.test == "SEQ1M Q8T1 read").unwrap();
    // The results were saved without intervals, which the verdict requires.
    let ratio = reads.ratio.ratio();
    assert!(ratio > 3.0 && reads.b / reads.a == ratio, "{reads:?}");
    assert_eq!((reads.unit.as_str(), reads.ratio.verdict()), ("MB/s", RatioVerdict::NotShown));
    let sweep =
        ["sweep", NVME, "--workload", TEST, "--duration", "5ms", "--axis", "queue_depth=1,2"];
    let swept = json(&sweep);
    assert!(swept["answer"].as_str().unwrap().starts_with(NVME), "{swept}");
    let points: Sweep = serde_json::from_value(swept).unwrap();
    let rates: Vec<f64> =
        points.points.iter().map(|point| point.outcome.as_ref().unwrap().iops).collect();
    assert!(rates.len() == 2 && rates[1] > rates[0], "{rates:?}");
    let impossible = [&sweep[..6], &["--axis", "port=m2,sata"]].concat();
    assert!(json(&impossible)["points"][1]["error"].as_str().is_some());
    let drive = json(&["library", "samsung-850-pro-1tb"]);
    assert_eq!(drive["schema_version"], 1);
    let values = drive["values"].as_array().unwrap();
    assert!(
        values
            .iter()
            .any(|value| value["parameter"] == "drive.capacity" && value["origin"] == "sourced")
    );
    let rated = ["--capacity", "500 GB", "--read", "500 MB/s", "--write", "400 MB/s"];
    let new = [&["drive", "X", "--protocol", "sata", "--rate", "6 Gb/s"][..], &rated].concat();
    let made = json(&new);
    assert_eq!(made["ratings"][0]["rated"], 500.0, "{made}");
    assert!(fs::read_to_string(folder.path().join("x.toml")).unwrap().contains("# drive.flash."));
}

#[test]
fn the_page_of_a_study_begins_with_the_answer_of_the_command() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // The second study does not have a pair of systems whose ratios could be counted.
    for study in ["sata-vs-nvme-datasheets", "hard-disk", "sata-express"] {
        let arguments = ["study", study, "--no-interval", "--no-save", "--html", "page.html"];
        let printed = lanemark!(folder.path(), &arguments).stdout();
        let lines: Vec<&str> = printed.lines().take_while(|line| !line.is_empty()).collect();
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        let (_, rest) = page.split_once("<div class=\"answer\"><p>").expect(study);
        let (answer, _) = rest.split_once("</p>").unwrap();
        assert_eq!(answer, lines.join(" "), "{study}");
        fs::remove_file(folder.path().join("page.html")).unwrap();
    }
}

#[test]
fn a_study_whose_claims_fail_withholds_its_written_answer() {
    let folder = folder();
    lanemark!(folder.path(), &["library", "sata-vs-nvme-datasheets.toml", "--copy"]).stdout();
    let path = folder.path().join("sata-vs-nvme-datasheets.toml");
    let text = fs::read_to_string(&path).unwrap();
    let study = ["study", "./sata-vs-nvme-datasheets.toml", "--no-interval"];
    fs::write(&path, text.replace("from  = 3.0", "from  = 3.5")).unwrap();
    let printed = lanemark!(folder.path(), &study).stdout();
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("! the written answer is not shown, because it claims that"),
        "{printed}"
    );
    assert!(words.contains("is from 3.5 to 3.6, but here it is 3.26"), "{printed}");
    assert!(!printed.starts_with("The NVMe"), "{printed}");
    for (right, wrong, says) in [
        (
            "{nvme: Seq read}",
            "{nvme: Seq raed}",
            "`nvme: Seq raed`: no system of the study runs this test",
        ),
        ("{nvme: Seq read}", "{speed of nvme: Seq read}", "unknown metric `speed`"),
        ("{nvme: 4K read / sata: 4K read}", "{nvme: 4K read", "has a `{` without its `}`"),
        ("from  = 3.0", "from  = 4.0", "is above to = 3.6"),
        ("from  = 3.0\nto    = 3.6", "", "the claim does not have a bound"),
    ] {
        assert!(text.contains(right), "{right}");
        fs::write(&path, text.replacen(right, wrong, 1)).unwrap();
        lanemark!(folder.path(), &study).fails_saying(2, says);
    }
}

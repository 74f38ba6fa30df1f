//! Figures from other programs and assumed values in the command's output: every view shows the percentiles that the
//! program printed, a dash for each other percentile, and an assumed bottleneck before everything else.

use lanemark_testbed::{lanemark, project};
use serde_json::{Value, json};

/// Returns fio's output for 87 mixed requests, for which the rank of each percentile must be rounded up.
fn fio(percentiles: &Value) -> String {
    let side = |count: u64, factor: f64| {
        let mut latency =
            json!({"min": 10_000, "max": 9_000_000, "mean": 60_000.0 * factor, "N": count});
        if let Value::Object(all) = percentiles {
            let scaled = all.iter().map(|(percent, ns)| {
                (percent.clone(), json!((ns.as_f64().unwrap() * factor) as u64))
            });
            latency["percentile"] = Value::Object(scaled.collect());
        }
        json!({"io_bytes": count * 4096, "runtime": 1000, "total_ios": count, "clat_ns": latency})
    };
    let job = json!({
        "jobname": "mix", "groupid": 0, "error": 0, "job_runtime": 1000, "usr_cpu": 1.0, "sys_cpu": 1.0,
        "job options": {"rw": "randrw", "rwmixread": "70", "bs": "4k", "iodepth": "1", "size": "1g",
                        "filename": "/dev/nvme0n1", "direct": "1"},
        "read": side(61, 1.0), "write": side(26, 2.0),
    });
    json!({"fio version": "fio-3.36", "timestamp": 1_700_000_000, "jobs": [job]}).to_string()
}

#[test]
fn every_view_has_the_percentiles_that_fio_printed() {
    let folder = tempfile::tempdir().unwrap();
    let percentiles = json!({"50.000000": 43_210, "95.000000": 93_696, "99.000000": 140_288, "99.900000": 246_784});
    std::fs::write(folder.path().join("fio.json"), fio(&percentiles)).unwrap();
    let table = lanemark!(folder.path(), &["report", "fio.json", "--out", "r.json"]).stdout();
    let row = |direction: &str| {
        let line = table.lines().find(|line| line.starts_with(&format!("mix, {direction}")));
        line.unwrap_or_else(|| panic!("{table}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let reads = row("reads");
    let writes = row("writes");
    for (row, values) in
        [(&reads, ["60.0", "43.2", "140", "247"]), (&writes, ["120", "86.4", "281", "494"])]
    {
        assert_eq!(row[4..8], values, "{table}");
    }
    let saved: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("r.json")).unwrap())
            .unwrap();
    let listed = &saved["tests"][0]["samples"][0]["reads"]["latency"]["percentiles_ns"];
    assert_eq!((&listed["95.0000"], &listed["99.9000"]), (&json!(93_696), &json!(246_784)));
    let compared = lanemark!(folder.path(), &["compare", "r.json", "r.json", "--detail"]).stdout();
    assert!(compared.contains("mix, reads") && compared.contains("140"), "{compared}");
    let exported = lanemark!(folder.path(), &["report", "r.json", "--format", "fio-json"]).json();
    let listed = &exported["jobs"][0]["write"]["clat_ns"]["percentile"];
    assert_eq!(listed["95.000000"], json!(187_392));
    for arguments in [
        vec!["report", "r.json", "--out", "page.html"],
        vec!["report", "r.json", "--chart", "percentiles", "--out", "tails.svg"],
    ] {
        lanemark!(folder.path(), &arguments).stdout();
    }
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(
        page.contains("mix, writes") && page.contains(">494<"),
        "the page lacks the p99.9 of writes"
    );
}

#[test]
fn unmeasured_values_of_fio_are_a_dash_and_unstated_ones_are_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let bare = fio(&json!(null)).replace("\"job options\"", "\"other\"");
    std::fs::write(folder.path().join("fio.json"), bare).unwrap();
    let table = lanemark!(folder.path(), &["report", "fio.json", "--out", "r.json"]).stdout();
    assert!(!table.contains("p99") && table.contains("not stated"), "{table}");
    let whatif =
        ["compare", "r.json", "--model", "samsung-950-pro-512gb@workstation-z170:m2", ":pcie-slot"];
    let fit = ["drive", "fitted", "--from", "r.json", "--platform", "workstation-z170:m2"];
    for arguments in [&whatif[..], &fit[..]] {
        lanemark!(folder.path(), arguments).fails_saying(2, "--pattern");
    }
}

#[test]
fn an_assumed_bottleneck_stands_first_with_its_range() {
    let folder = tempfile::tempdir().unwrap();
    let drive = "samsung-980-pro-1tb@workstation-x570:m2";
    let test = "crystaldiskmark-8:rnd4k-q32t1-read";
    let sim = ["sim", drive, test, "--duration", "100ms", "--no-interval", "--no-save"];
    let text = lanemark!(folder.path(), &sim).stdout();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lead = words(&text.lines().skip(4).take(3).collect::<Vec<_>>().join(" "));
    assert!(lead.contains("limited by the host's time per request, which is assumed"), "{text}");
    assert!(lead.contains("platform.cpu.request_submit = 2 us, 1.43 us to 2.8 us"), "{text}");
    // A value that the user supplies is not assumed.
    let mut given = sim.to_vec();
    given.extend(["--set", "platform.cpu.request_submit=2us"]);
    assert!(
        !words(&lanemark!(folder.path(), &given).stdout()).contains("request_submit = 2 us, 1.43")
    );
}

fn foreign(name: &str) -> String {
    let samples = project().join("crates/lanemark-formats/tests/foreign");
    samples.join(name).to_str().unwrap().to_owned()
}

#[test]
fn results_of_other_programs_are_accepted_like_saved_ones() {
    let folder = tempfile::tempdir().unwrap();
    let text = foreign("crystaldiskmark-8.txt");
    let test = "SEQ1M Q8T1 read";
    lanemark!(folder.path(), &["report", &text, "--out", "saved.json"]).stdout();
    let compared = lanemark!(folder.path(), &["compare", &text, "saved.json"]).stdout();
    assert!(compared.contains(test) && compared.contains("1.00x"), "{compared}");
    lanemark!(folder.path(), &["report", &text, "--out", "page.html"]).stdout();
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains(test), "the page lacks the first test");
    let model = "samsung-950-pro-512gb@workstation-z170:m2";
    let whatif = ["compare", &text, "--model", model, ":pcie-slot", "--no-interval"];
    let answer = lanemark!(folder.path(), &whatif).stdout();
    assert!(answer.contains(test) && answer.contains("2,097"), "{answer}");
    // A request for a figure that the text does not state is rejected, and the error names the figure.
    let terse = foreign("fio-terse-3.txt");
    lanemark!(folder.path(), &["compare", &terse, "--model", model, ":pcie-slot"])
        .fails_saying(2, "--pattern");
}

#[test]
fn a_pipe_and_the_text_of_powershell_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(foreign("diskspd.txt")).unwrap();
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    std::fs::write(folder.path().join("wide.txt"), wide).unwrap();
    for path in ["wide.txt", "-", "/dev/stdin"] {
        let input = std::fs::File::open(foreign("diskspd.txt")).unwrap();
        let mut report = lanemark!(folder.path(), &["report", path]).command();
        let output = report.stdin(input).output().unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(table.contains("RND8K Q8T4 R75W25"), "{path}: {table}");
    }
}

#[test]
fn a_foreign_file_is_never_overwritten_by_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    std::fs::write(&file, fio(&json!(null))).unwrap();
    let before = std::fs::read(&file).unwrap();
    lanemark!(folder.path(), &["report", &foreign("fio-3.txt"), "--out", "mine.json"]).ends_with(3);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_command_line_of_fio_is_a_workload() {
    let folder = tempfile::tempdir().unwrap();
    let system = "samsung-950-pro-512gb@workstation-z170:m2";
    let rest =
        "--rw=randread --bs=4k --iodepth=32 --ioengine=libaio --direct=1 --size=1g --io_size=16m";
    let run = |words: &[&str]| lanemark!(folder.path(), &[&["sim", system], words].concat());
    let options = ["--no-save", "--no-interval", "--json"];
    let words = [&options[..], &["--", "fio", "--name=a b"]].concat();
    let result = run(&words).with(rest).json();
    let test = &result["tests"][0]["test"];
    assert_eq!((&test["name"], &test["queue_depth"]), (&json!("a b"), &json!(32)));
    // The same command line is used in quotes, as the workload of a command.
    let line = format!("fio --name='a b' {rest}");
    let again = run(&[&[line.as_str()], &options[..]].concat()).json();
    assert_eq!(again["tests"], result["tests"]);
    for (words, says) in [
        (
            vec!["sim", system, "--", "fio", "--rw=read", "job.fio"],
            "fio:3: `job.fio` is not an option",
        ),
        (vec!["sim", system, "--", "ddrescue", "x"], "is not a supported command line"),
        (vec!["sim", system, "--", "dd", "if=a", "of=b"], "dd copies between two files"),
        (vec!["sim", system, "quick", "--", "fio", "--rw=read"], "cannot be used with"),
        (vec!["sim", system, "--", "fio", "--rw=read", "--exec_prerun=true"], "exec_prerun"),
    ] {
        lanemark!(folder.path(), &words).fails_saying(2, says);
    }
}

#[test]
fn command_lines_of_other_programs_are_the_load_of_their_fio_line() {
    let folder = tempfile::tempdir().unwrap();
    let system = "samsung-950-pro-512gb@workstation-z170:m2";
    let figures = |line: &str| {
        let sim = lanemark!(folder.path(), &["sim", system]);
        let result = sim.with("--no-save --no-interval --json --").with(line).json();
        result["tests"][0]["samples"].clone()
    };
    let dd = "dd if=/dev/zero of=x bs=4k count=50 oflag=direct,dsync";
    let fio = "fio --name=dd --rw=write --bs=4k --size=200k --filename=x --direct=1 --ioengine=psync \
               --fdatasync=1 --zero_buffers=1";
    assert_eq!(figures(dd), figures(fio));
}

#[test]
fn a_file_for_another_command_is_named_with_that_command() {
    let folder = tempfile::tempdir().unwrap();
    let system = "samsung-950-pro-512gb@workstation-z170:m2";
    let kdiskmark =
        "KDiskMark (2.2.1)\n[Read]\nRandom 4 KiB (Q= 1, T= 1): 2.4 MB/s [ 602.6 IOPS]\n";
    let smart = "smartctl 7.3\nModel Number: A\nPercentage Used: 3%\n";
    for (file, text, command, name, other) in [
        ("a.txt", kdiskmark, "sim", "a result of another program", "lanemark report a.txt"),
        ("b.txt", smart, "sim", "text about drives", "lanemark inspect b.txt"),
        ("c.txt", kdiskmark, "inspect", "a result of another program", "lanemark report c.txt"),
        ("d.fio", "[a]\nrw=read\n", "inspect", "a workload", "lanemark sim SYSTEM d.fio"),
        (
            "e.csv",
            "0,R,4096,4096,1577808000000626\n",
            "inspect",
            "a trace",
            "lanemark sim SYSTEM e.csv",
        ),
        (
            "f.csv",
            "0,R,4096,4096,1577808000000626\n",
            "report",
            "a trace",
            "lanemark sim SYSTEM f.csv",
        ),
        ("g.txt", smart, "report", "text about drives", "lanemark inspect FILE"),
        (
            "h.csv",
            "Type,Write %,Block Size,Threads,Queue Depth/Thread,IOPS\n",
            "report",
            "ezFIO",
            "fio",
        ),
    ] {
        std::fs::write(folder.path().join(file), text).unwrap();
        let words: &[&str] =
            if command == "sim" { &["sim", system, file, "--no-save"] } else { &[command, file] };
        let message = lanemark!(folder.path(), words).fails_with(2);
        assert!(message.contains(name) && message.contains(other), "{command} {file}: {message}");
    }
}

/// A job file is recognised by its contents, and may be pasted.
#[test]
fn a_job_file_of_any_name_is_a_workload() {
    let folder = tempfile::tempdir().unwrap();
    let job =
        "; two sections\n[global]\nioengine=libaio\ndirect=1\nsize=16m\n\n[seq]\nrw=read\nbs=1m\n";
    let pasted = "$ cat job.fio\n[seq]\nrw=read\nbs=1m\nsize=16m\nioengine=libaio\ndirect=1\n";
    let quoted: String = pasted.lines().map(|line| format!("> {line}\r\n")).collect();
    let wide = quoted.encode_utf16().flat_map(u16::to_le_bytes);
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(wide).collect();
    for (name, bytes) in [
        ("job.txt", job.as_bytes()),
        ("job.fio", job.as_bytes()),
        ("job", job.as_bytes()),
        ("a.txt", pasted.as_bytes()),
        ("b.txt", quoted.as_bytes()),
        ("c.txt", &wide),
    ] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let sim = lanemark!(folder.path(), &["sim", "samsung-950-pro-512gb@workstation-z170:m2"]);
        let result = sim.with(name).with("--no-save --no-interval --json").json();
        assert_eq!(result["tests"][0]["test"]["name"], "seq", "{name}");
    }
}

#[test]
fn a_saved_import_keeps_every_warning() {
    let folder = tempfile::tempdir().unwrap();
    let samples = project().join("crates/lanemark-formats/tests/foreign");
    let mut warnings = 0;
    for entry in std::fs::read_dir(samples).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        // One of the files contains two results, and each saved file contains one.
        if name.ends_with(".rs") || name == "kbench-two.txt" {
            continue;
        }
        let file = file.to_str().unwrap();
        let saved = format!("{name}.json");
        let (read, messages) = lanemark!(folder.path(), &["report", file, "--out", &saved]).texts();
        let again = lanemark!(folder.path(), &["report", &saved]).stdout();
        assert!(!messages.contains("note:"), "{name}: {messages}");
        assert_eq!(read, again, "{name}");
        warnings += again.lines().filter(|line| line.starts_with("! ")).count();
    }
    assert!(warnings > 40, "{warnings}");
}

//! `lanemark sim SYSTEM TRACE` as a user sees it: its output, its saved results, its refusals and its termination.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lanemark_testbed::{Lanemark, lanemark, project, stderr};
use serde_json::Value;
use tempfile::TempDir;

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
const TWO: &str = "samsung-850-pro-1tb@workstation-z170:sata+sata-2";

fn sample(name: &str) -> String {
    let path = project().join("crates/lanemark-trace/tests/samples").join(name);
    path.to_str().unwrap().to_owned()
}

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn replay(arguments: &[&str]) -> Lanemark {
    lanemark!(&[&["sim"], arguments].concat())
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let mut arguments = arguments.to_vec();
    arguments.push("--json");
    replay(&arguments).json()
}

/// Writes a trace of random reads and some writes, 20 µs apart.
fn trace(folder: &TempDir, requests: u64) -> String {
    let path = folder.path().join("made.csv");
    let mut text = "time_us,operation,offset,length\n".to_owned();
    for line in 0..requests {
        let word = if line % 5 == 0 { "write" } else { "read" };
        let offset = line * 7_919 % 1_000_000 * 4096;
        writeln!(text, "{},{word},{offset},4096", line * 20).unwrap();
    }
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_trace_is_replayed_shown_and_saved_with_its_hash() {
    let folder = folder();
    let out = folder.path().join("replay.json");
    let trace = trace(&folder, 5_000);
    let out = out.to_str().unwrap();
    let text = replay(&[NVME, &trace, "--out", out]).stdout();
    for word in ["made.csv", "5000 requests of the trace, as recorded, over 0.1", "flash dies"] {
        assert!(text.contains(word), "no `{word}` in\n{text}");
    }
    let saved: Value = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    assert_eq!(saved["complete"], true);
    assert_eq!(saved["tests"][0]["test"]["pattern"], "trace");
    let replay = saved["tests"][0]["samples"][0]["replay"].clone();
    assert_eq!((&replay["requests"], &replay["speed"]), (&5_000.into(), &1.0.into()));
    assert_eq!(saved["provenance"]["inputs"][&trace].as_str().unwrap().len(), 64);
    // The views of saved results accept the result.
    let page = folder.path().join("page.html");
    lanemark!(&["report", out, "--out", page.to_str().unwrap()]).stdout();
}

#[test]
fn one_trace_gives_one_result_and_twice_the_speed_half_the_time() {
    let folder = folder();
    let out = folder.path().join("replay.json");
    let trace = trace(&folder, 4_000);
    let out = out.to_str().unwrap();
    let run = |speed: &str| json(&[NVME, &trace, "--speed", speed, "--out", out])["tests"].clone();
    let first = run("1x");
    let again = run("1x");
    let faster = run("2x");
    assert_eq!(first, again);
    let span = |tests: &Value| tests[0]["samples"][0]["replay"]["span_ns"].as_f64().unwrap();
    assert_eq!(span(&first), 2.0 * span(&faster));
    let fast = json(&[NVME, &trace, "--as-fast-as-possible", "--queue-depth", "4", "--out", out]);
    let replay = &fast["tests"][0]["samples"][0]["replay"];
    assert_eq!((&replay["queue_depth"], &replay["outstanding_max"]), (&4.into(), &4.into()));
}

#[test]
fn flushes_and_trims_are_replayed_and_one_device_is_selected() {
    let folder = folder();
    let out = folder.path().to_str().unwrap();
    let printed = replay(&[TWO, &sample("blkparse.txt"), "--out", out]).stdout();
    assert!(printed.contains("\nflushes ") && printed.contains("\ntrims "), "{printed}");
    let result = json(&[NVME, &sample("iolog-3.log"), "--out", out]);
    assert_eq!(result["tests"][0]["samples"][0]["replay"]["trims"]["bytes"], 4096);
    let result =
        json(&[NVME, &sample("msr.csv"), "--device", "src1,1", "--limit", "1", "--out", out]);
    assert_eq!(result["workload"]["tests"][0]["block_bytes"], 65_536);
    assert!(result["provenance"]["inputs"].get(sample("msr.csv")).is_none(), "not read to its end");
}

#[test]
fn the_time_of_each_request_is_a_file_that_is_a_trace_itself() {
    let folder = folder();
    let trace = trace(&folder, 200);
    let rows = folder.path().join("requests.csv");
    let rows = rows.to_str().unwrap();
    let result = json(&[NVME, &trace, "--no-save", "--series", rows]);
    let text = fs::read_to_string(rows).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_us,operation,offset,length,latency_us"));
    let reads: Vec<f64> = lines
        .filter(|line| line.contains(",read,"))
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    let latency = &result["tests"][0]["samples"][0]["reads"]["latency"];
    assert_eq!(reads.len(), 160);
    let mean = reads.iter().sum::<f64>() / 160.0;
    assert!((mean * 1e3 / latency["mean_ns"].as_f64().unwrap() - 1.0).abs() < 1e-3, "{latency}");
    let again = json(&[NVME, rows, "--no-save"]);
    assert_eq!(again["tests"][0]["samples"][0]["replay"]["requests"], 200);
}

#[test]
fn several_devices_are_put_on_one_drive_on_request() {
    let folder = folder();
    let out = folder.path().to_str().unwrap();
    replay(&[NVME, &sample("msr.csv"), "--out", out])
        .fails_saying(2, "use --as-one to replay all devices on one drive");
    // MQSim itself ignores the numbers of devices.
    for arguments in [vec!["msr.csv", "--as-one", "--wrap"], vec!["mqsim.trace"]] {
        let trace = sample(arguments[0]);
        let result = json(&[&[NVME, &trace], &arguments[1..], &["--out", out]].concat());
        assert_eq!(result["tests"][0]["samples"][0]["replay"]["requests"], 3, "{arguments:?}");
    }
}

#[test]
fn a_trace_that_is_piped_in_is_read_and_a_bench_says_that_it_reads_twice() {
    use std::io::Write;
    let folder = folder();
    let out = folder.path().to_str().unwrap();
    let given = |arguments: &[&str]| {
        let mut command = lanemark!(arguments).command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let text = fs::read(sample("mqsim.trace")).unwrap();
        // A command that rejects the pipe does not read it.
        let _ = child.stdin.take().unwrap().write_all(&text);
        child.wait_with_output().unwrap()
    };
    for name in ["-", "/dev/stdin"] {
        let output = given(&["sim", NVME, name, "--as-one", "--out", out]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
    }
    let target = folder.path().join("target.dat");
    let output = given(&["bench", target.to_str().unwrap(), "-", "--out", out]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("reads a trace twice"), "{}", stderr(&output));
}

#[test]
fn a_trace_without_replayable_events_is_an_error_that_names_its_events() {
    let folder = folder();
    let path = folder.path().join("complete.txt");
    let line = "259,0    0        7     0.000093000     0  C   R 8234952 + 8 [0]\n";
    fs::write(&path, line).unwrap();
    let out = folder.path().to_str().unwrap();
    let path = path.to_str().unwrap();
    let message = replay(&[NVME, path, "--out", out])
        .fails_saying(2, "the trace contains the events C (complete)");
    assert!(message.contains("add --action C"), "{message}");
    replay(&[NVME, path, "--action", "C", "--out", out]).stdout();
}

#[test]
fn whole_numbers_that_may_be_of_either_simulator_are_refused() {
    let folder = folder();
    let path = folder.path().join("whole.txt");
    fs::write(&path, "0 0 29320 8 1\n5 0 102400 16 0\n17 0 204800 8 1\n").unwrap();
    let out = folder.path().to_str().unwrap();
    let path = path.to_str().unwrap();
    replay(&[NVME, path, "--out", out])
        .fails_saying(2, "--trace-format mqsim or --trace-format disksim");
    let span = |format| {
        let result = json(&[NVME, path, "--trace-format", format, "--out", out]);
        result["tests"][0]["samples"][0]["replay"]["span_ns"].as_f64().unwrap()
    };
    assert!((17e6..18e6).contains(&span("disksim")), "{}", span("disksim"));
}

#[test]
fn warnings_are_reported() {
    let folder = folder();
    let out = folder.path().to_str().unwrap();
    let text = replay(&[TWO, &sample("msr.csv"), "--out", out]).stdout();
    assert!(
        text.contains("! one request had times before the previous line's, by up to 5.5 us"),
        "{text}"
    );
    let path = folder.path().join("far.csv");
    fs::write(&path, "op,offset,size\nread,9000000000000,4096\nread,0,0\n").unwrap();
    let far = path.to_str().unwrap();
    let text = replay(&[NVME, far, "--as-fast-as-possible", "--wrap", "--out", out]).stdout();
    assert!(text.contains("! one request lay beyond the end of the drive"), "{text}");
    assert!(text.contains("! one request had no length"), "{text}");
}

#[test]
fn wrong_input_is_reported_with_its_line_and_exits_with_2() {
    let folder = folder();
    let out = folder.path().to_str().unwrap();
    let path = folder.path().join("bad.csv");
    fs::write(&path, "time_us,op,offset,size\n1,read,0,4096\n2,reed,0,4096\n").unwrap();
    let bad = path.to_str().unwrap();
    let msr = sample("msr.csv");
    let iolog = sample("iolog-2.log");
    let readme = "README.md";
    let cases: [(&[&str], &str); 12] = [
        (&[NVME, bad], "bad.csv:3:3: op"),
        (&[NVME, readme], "README.md:3: `"),
        (&[NVME, readme, "--trace-format", "csv"], "there is no column operation"),
        (
            &[NVME, readme, "--trace-format", "cvs"],
            "expected one of msr, blkparse, iolog, mqsim, disksim, alibaba",
        ),
        (&[NVME, "nothing.csv"], "nothing.csv: can't be read"),
        (&[NVME, &msr], "msr.csv:3: the request belongs to the trace's device number 2"),
        (&[NVME, &msr, "--device", "usr,1"], "the trace contains requests for usr,0, src1,1"),
        (&[NVME, &iolog, "--device", "/dev/sda"], "iolog-2.log:5: the request lacks a time"),
        (&[NVME, bad, "--speed", "2"], "expected a factor"),
        (&[NVME, bad, "--speed", "2x", "--as-fast-as-possible"], "cannot be used with"),
        (&[NVME, bad, "--queue-depth", "4"], "--as-fast-as-possible"),
        (&["nonsense", bad], "drive@platform:port"),
    ];
    for (arguments, expected) in cases {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--out", out]);
        replay(&arguments).fails_saying(2, expected);
    }
    let far = folder.path().join("far.csv");
    fs::write(&far, "op,offset,size\nread,9000000000000,4096\n").unwrap();
    let message =
        replay(&[NVME, far.to_str().unwrap(), "--as-fast-as-possible", "--out", out]).fails_with(2);
    assert!(
        message.contains("far.csv:2: a request at") && message.contains("hint: use --wrap"),
        "{message}"
    );
}

#[test]
fn ctrl_c_saves_the_results_so_far() {
    let folder = folder();
    let out = folder.path().join("replay.json");
    // The trace comes through a pipe that is not closed, so the replay cannot end by itself.
    let arguments = [NVME, "/dev/stdin", "--out", out.to_str().unwrap()];
    let mut child = replay(&arguments)
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id().to_string();
    let mut pipe = child.stdin.take().unwrap();
    let (sender, taken) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        let mut text = "time_us,op,offset,size\n".to_owned();
        for line in 0u64.. {
            text += &format!("{},read,{},4096\n", line * 20, line % 1000 * 4096);
            if text.len() > 60_000 {
                // Either the replay has ended, or the test has.
                if pipe.write_all(text.as_bytes()).is_err() || sender.send(()).is_err() {
                    return;
                }
                text.clear();
            }
        }
    });
    // This is more data than the pipe and its reader can hold, so the replay is in progress.
    for _ in 0..40 {
        taken.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let saved: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(saved["complete"], false);
    assert!(saved["tests"][0]["samples"][0]["reads"]["latency"]["count"].as_u64().unwrap() > 0);
    assert!(String::from_utf8_lossy(&output.stdout).contains("interrupted"));
}

/// Writes a trace of 400 requests of 4 KiB, one per millisecond: three reads, then a write, and so on, over 8 MiB.
fn steady_trace(folder: &Path) {
    let lines: String = (0..400u64)
        .map(|index| {
            let kind = if index % 4 == 3 { "Write" } else { "Read" };
            let time = index * 10_000;
            let offset = index * 37 % 2048 * 4096;
            format!("{time},host,0,{kind},{offset},4096,100\n")
        })
        .collect();
    fs::write(folder.join("steady.csv"), lines).unwrap();
}

#[test]
fn a_trace_is_replayed_on_a_real_file_at_its_times_or_as_fast_as_possible() {
    let folder = tempfile::tempdir().unwrap();
    steady_trace(folder.path());
    let bench = |more: &str| {
        let run = lanemark!(folder.path(), &["bench", "target.dat", "steady.csv"]);
        let result = run.with("--trace-format msr --json --out out").with(more).json();
        assert!(!folder.path().join("target.dat").exists(), "the file was left");
        result
    };
    let only = |result: &Value| result["tests"][0]["samples"][0].clone();
    let recorded = bench("");
    let one = only(&recorded);
    assert_eq!(one["reads"]["latency"]["count"], 300);
    assert_eq!(one["writes"]["latency"]["count"], 100);
    let seconds = one["elapsed_ns"].as_f64().unwrap() / 1e9;
    assert!((0.39..0.8).contains(&seconds), "{seconds} s for a trace of 0.4");
    assert_eq!(one["punctuality"]["lateness"]["count"], 400);
    let twice = only(&bench("--speed 2x --limit 200"));
    let seconds = twice["elapsed_ns"].as_f64().unwrap() / 1e9;
    assert!((0.09..0.4).contains(&seconds), "{seconds} s for half of it at twice the speed");
    let fast = only(&bench("--as-fast-as-possible --queue-depth 4"));
    assert_eq!(fast["reads"]["latency"]["count"], 300);
    assert!(fast["punctuality"].is_null());
    let wrapped = bench("--as-fast-as-possible --wrap --size 1MiB");
    assert_eq!(wrapped["workload"]["tests"][0]["span_bytes"], 1 << 20);
}

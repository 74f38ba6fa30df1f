//! Files of other programs on the command line: Lanemark runs their workloads, and prints results in their formats.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lanemark_testbed::lanemark;
use serde_json::Value;
use tempfile::TempDir;

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
/// A sweep over queue depths, as short as a simulation can be.
const SWEEP: &str = "\
[global]
ioengine=io_uring
direct=1
rw=randread
bs=4k
size=64m
number_ios=2000
gtod_reduce=1
[q1]
iodepth=1
[q4]
stonewall
iodepth=4
[q16]
stonewall
iodepth=16
[q32]
stonewall
iodepth=32
";

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Creates a folder with the sweep as a job file, `sweep.fio`.
fn sweep() -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("sweep.fio"), SWEEP).unwrap();
    folder
}

/// Simulates the sweep, and saves the result as `saved.json`.
fn simulated() -> TempDir {
    let folder = sweep();
    lanemark!(folder.path(), &["sim", NVME, "sweep.fio", "--out", "saved.json"]).stdout();
    folder
}

#[test]
fn a_job_file_is_measured_and_reported_in_the_format_of_fio() {
    let folder = sweep();
    let arguments = ["bench", "target", "sweep.fio", "--format", "fio-json", "--out", "saved.json"];
    let (out, err) = lanemark!(folder.path(), &arguments).texts();
    let whole: Value = serde_json::from_str(&out).expect("nothing but JSON on stdout");
    let jobs = whole["jobs"].as_array().unwrap();
    let depths: Vec<&str> =
        jobs.iter().map(|job| job["job options"]["iodepth"].as_str().unwrap()).collect();
    assert_eq!(depths, ["1", "4", "16", "32"]);
    assert!(jobs.iter().all(|job| job["read"]["total_ios"].as_u64().unwrap() >= 2000), "{out}");
    assert!(err.contains("note: these options are not used here: gtod_reduce"), "{err}");
    assert!(!folder.path().join("target").exists());
}

#[test]
fn measurements_of_fio_are_imported_and_exported_again() {
    let folder = simulated();
    let out = lanemark!(folder.path(), &["report", "saved.json", "--format", "fio-json"]).stdout();
    let printed = format!("fio: a message before it\n{out}");
    fs::write(folder.path().join("printed.json"), printed).unwrap();
    let import = ["report", "printed.json", "--out", "again.json"];
    let (table, err) = lanemark!(folder.path(), &import).texts();
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("q16") && words.contains("skipped 1 line that is not JSON"), "{table}");
    assert!(err.contains("wrote "), "{err}");
    let compared = lanemark!(folder.path(), &["compare", "saved.json", "again.json"]).stdout();
    assert!(compared.contains("q32"), "{compared}");
}

#[test]
fn a_folder_of_fio_outputs_is_one_result_for_each_target() {
    let folder = simulated();
    let run = |line: &str| lanemark!(folder.path(), &[]).with(line);
    run("report saved.json --out grid/").stdout();
    fs::write(folder.path().join("grid/notes.txt"), "no JSON").unwrap();
    fs::create_dir(folder.path().join("grid/below.json")).unwrap();
    let table = run("report grid --out again.json").stdout();
    assert!(["q1", "q4", "q16", "q32"].iter().all(|test| table.contains(test)), "{table}");
    let compared = run("compare saved.json again.json").stdout();
    assert!(compared.contains("q32"), "{compared}");
    // A different target produces a different result.
    let text = fs::read_to_string(folder.path().join("grid/q1.json")).unwrap();
    let far = text.replace("\"name\" : \"q1\"", "\"name\" : \"q1\", \"filename\" : \"/dev/sdz\"");
    assert_ne!(far, text);
    fs::write(folder.path().join("far.json"), far).unwrap();
    let err = run("report grid far.json --out again.json").fails_with(2);
    assert!(
        err.contains("expected one run, but these are 2: ") && err.contains("/dev/sdz"),
        "{err}"
    );
    let both = run("report grid far.json --span 1TiB").stdout();
    assert!(both.contains("/dev/sdz"), "{both}");
    // All unreadable files are reported together, and no result is written.
    for name in ["a.json", "b.json"] {
        fs::write(folder.path().join("grid").join(name), "{}").unwrap();
    }
    let err = run("report grid lost.json --out none.json").fails_with(2);
    let reason = [
        "grid/a.json is not a Lanemark result",
        "grid/b.json",
        "lost.json is neither in the current folder",
    ];
    assert!(reason.iter().all(|reason| err.contains(reason)), "{err}");
    assert!(!folder.path().join("none.json").exists());
    run("report grid/below.json").fails_saying(2, "contains no .json file");
}

#[test]
fn one_test_of_a_job_file_goes_by_its_name() {
    let folder = sweep();
    let run = |line: &str| lanemark!(folder.path(), &["sim", NVME]).with(line);
    let out = run("sweep.fio:q4 --out saved.json --format csv").stdout();
    assert_eq!(out.lines().filter(|line| line.starts_with("q4,")).count(), 1, "{out}");
    let err = run("sweep.fio:q5 --out saved.json").fails_with(2);
    assert!(err.contains("there is no test `q5`") && err.contains("hint: one of q1, q4"), "{err}");
}

#[test]
fn errors_of_a_job_file_are_reported_with_their_line_and_a_hint() {
    let folder = folder();
    fs::write(folder.path().join("bad.fio"), "[a]\nsize=1m\nioengine=rbd\n").unwrap();
    let err = lanemark!(folder.path(), &["sim", NVME, "bad.fio"]).fails_with(2);
    assert!(
        err.contains("bad.fio:3: ioengine=rbd") && err.contains("hint: one of io_uring"),
        "{err}"
    );
    lanemark!(folder.path(), &["sim", NVME, "lost.icf"]).fails_saying(2, "lost.icf: can't be read");
    let err = lanemark!(folder.path(), &["report", "bad.fio"]).fails_with(2);
    assert!(err.contains("is a fio job file") && err.contains("hint: it is a workload"), "{err}");
}

/// Returns the path at which `make tools` puts fio-plot.
fn fio_plot() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fio-plot/bin/fio-plot");
    path.exists().then_some(path)
}

/// fio-plot reads a folder of files, one per depth, and draws them.
#[test]
fn fio_plot_draws_exported_results() {
    let Some(program) = fio_plot() else {
        lanemark_testbed::skipped("fio-plot is missing (make tools, which needs python3 and pip)");
        return;
    };
    let folder = simulated();
    lanemark!(folder.path(), &["report", "saved.json", "--out", "split/"]).stdout();
    lanemark!(folder.path(), &["report", "saved.json", "--out", "split/"])
        .fails_saying(3, "q1.json already exists");
    for (kind, name) in [("-l", "bars.png"), ("-L", "depths.png")] {
        let picture = folder.path().join(name);
        let mut command = Command::new(&program);
        command.args(["-i", "split", "-T", "Lanemark", "-r", "randread", kind]);
        command.args(["-d", "1", "4", "16", "32", "-n", "1", "-o"]).arg(&picture);
        if kind == "-L" {
            command.args(["-t", "iops"]);
        }
        let output = command.current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{messages}{}", String::from_utf8_lossy(&output.stdout));
        let bytes = fs::read(&picture).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{} bytes", bytes.len());
        if let Some(keep) = std::env::var_os("LANEMARK_KEEP_PICTURES") {
            fs::copy(&picture, Path::new(&keep).join(name)).unwrap();
        }
    }
}

#[test]
fn the_size_of_the_target_may_be_given_to_the_command() {
    let folder = folder();
    let job = "[whole]\nrw=randread\nbs=4k\nruntime=1\ntime_based\n";
    fs::write(folder.path().join("whole.fio"), job).unwrap();
    let run = |line: &str| lanemark!(folder.path(), &[]).with(line);
    let span = || saved(&folder)["workload"]["tests"][0]["span_bytes"].as_u64().unwrap();
    run("bench new.dat whole.fio --out out.json").fails_saying(2, "--size");
    run("bench new.dat whole.fio --size 8MiB --duration 50ms --out out.json").stdout();
    assert_eq!(span(), 8 << 20);
    // A modelled system has the size of its drive.
    run(&format!("sim {NVME} whole.fio --duration 5ms --out out.json")).stdout();
    assert!(span() > 500_000_000_000);
}

#[test]
fn options_of_a_trace_are_refused_without_a_replay() {
    let options: [&[&str]; 4] =
        [&["--speed", "2x"], &["--wrap"], &["--limit", "5"], &["--as-fast-as-possible"]];
    for option in options {
        let plain = ["bench", "./nothing-here.dat", "quick"];
        let err = lanemark!(&[&plain[..], option].concat()).fails_with(2);
        assert!(err.contains(option[0]) && err.contains("applies only to a trace"), "{err}");
    }
}

/// Returns the saved result `out.json`.
fn saved(folder: &TempDir) -> Value {
    serde_json::from_slice(&fs::read(folder.path().join("out.json")).unwrap()).unwrap()
}

/// Returns the warning of a result that the page cache is not modelled.
#[track_caller]
fn assumed(saved: &Value) -> &Value {
    let warnings = saved["warnings"].as_array().unwrap();
    warnings.iter().find(|warning| warning["kind"] == "cache-not-modelled").unwrap()
}

/// The disk check from etcd's documentation: requests for partial sectors, each followed by a flush.
#[test]
fn a_log_that_writes_no_whole_sectors_is_measured_and_simulated() {
    let folder = folder();
    let job = folder.path().join("etcd.fio");
    fs::write(&job, "[log]\nrw=write\nioengine=sync\nfdatasync=1\nsize=1m\nbs=2300\n").unwrap();
    let run = |line: &str| lanemark!(folder.path(), &[]).with(line);
    let requests = |saved: &Value, kind: &str| {
        saved["tests"][0]["samples"][0][kind]["latency"]["count"].as_u64().unwrap()
    };
    let (printed, messages) = run("bench log.dat etcd.fio --out out.json").texts();
    assert!(messages.contains("the page cache is used"), "{messages}");
    assert!(printed.contains("99% of the flushes (fsync or fdatasync) took up to"), "{printed}");
    let result = saved(&folder);
    let measured = (requests(&result, "writes"), requests(&result, "flushes"));
    assert_eq!(measured.0, 1_048_576_u64.div_ceil(2300));
    // A saved run is read again without differences.
    run("compare out.json out.json").stdout();

    let printed = run(&format!("sim {NVME} etcd.fio --no-interval --out out.json")).stdout();
    let begins = printed.lines().next().unwrap();
    assert!(begins.starts_with("Each flush (fsync or fdatasync) took"), "{printed}");
    assert!(printed.contains("the 10 ms that etcd requires"), "{printed}");
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("are rounded to whole pages of 4 KiB"), "{printed}");
    let result = saved(&folder);
    assert_eq!(assumed(&result)["whole_pages"], true);
    // The number of requests is close to the measured number. Each request randomly has one or two pages, so 456
    // requests of 6.4 KiB on average have a standard deviation of 1.5%.
    let simulated = requests(&result, "writes");
    assert!(simulated.abs_diff(measured.0) <= measured.0 / 16, "{simulated} and {measured:?}");
    assert_eq!(result["tests"][0]["test"]["block_bytes"], 8192);

    fs::write(job, "[log]\nrw=write\ndirect=1\nsize=1m\nbs=2300\n").unwrap();
    let err = lanemark!(folder.path(), &["sim", NVME, "etcd.fio"])
        .fails_saying(2, "etcd.fio:5: job `log`: block = 2.3 kB");
    assert!(err.contains("hint: without direct=1"), "{err}");
}

#[test]
fn a_simulated_job_without_direct_states_the_assumed_page_cache() {
    let folder = folder();
    let text = "[reads]\nrw=randread\nioengine=libaio\niodepth=32\nbs=4k\nsize=64m\n";
    let run = |text: &str| {
        fs::write(folder.path().join("cached.fio"), text).unwrap();
        let sim = lanemark!(folder.path(), &["sim", NVME, "cached.fio"]);
        let printed = sim.with("--no-interval --out out.json --duration 5ms").stdout();
        let saved = saved(&folder);
        (printed.split_whitespace().collect::<Vec<_>>().join(" "), saved)
    };
    let depth = |saved: &Value| saved["tests"][0]["test"]["queue_depth"].as_u64().unwrap();
    let (printed, saved) = run(text);
    assert_eq!(depth(&saved), 1, "libaio waits for each buffered read");
    assert!(printed.contains("! the requests would use the page cache"), "{printed}");
    assert!(printed.contains("one request outstanding per thread"), "{printed}");
    assert_eq!(assumed(&saved)["tests_at_depth_one"], 1);
    // io_uring does not wait, and direct I/O does not use the page cache.
    let (printed, saved) = run(&text.replace("libaio", "io_uring"));
    assert!(depth(&saved) == 32 && printed.contains("would use the page cache"), "{printed}");
    let (printed, saved) = run(&format!("{text}direct=1\n"));
    assert!(depth(&saved) == 32 && !printed.contains("page cache"), "{printed}");
}

/// fio 3.33 completes 725 requests a second on a drive, and 996 without the time of a request.
#[test]
fn a_think_time_of_fio_stops_the_modelled_job() {
    let folder = folder();
    for (depth, blocks, span) in [("32", "1", 900.0..1000.0), ("100", "100", 15_000.0..20_000.0)] {
        let line = format!(
            "fio --name=a --rw=randread --bs=4k --size=1g --direct=1 --ioengine=libaio \
             --iodepth={depth} --thinktime=1000 --thinktime_blocks={blocks} --runtime=1 --time_based"
        );
        let line = if blocks == "1" { line } else { line.replace("=1000 ", "=5000 ") };
        let sim =
            lanemark!(folder.path(), &["sim", "samsung-970-evo-plus-1tb@workstation-x570:m2"]);
        let result = sim.with("--no-interval --json --").with(&line).json();
        let rate = result["tests"][0]["iops"]["value"].as_f64().unwrap();
        assert!(span.contains(&rate), "{rate}");
    }
}

#[test]
fn a_job_without_a_size_or_an_end_is_an_error_for_a_modelled_drive() {
    let folder = folder();
    fs::write(folder.path().join("j.fio"), "[a]\nrw=randwrite\nioengine=sync\nfsync=1\n").unwrap();
    let sim = ["sim", "samsung-970-evo-plus-1tb@workstation-x570:m2", "j.fio", "--no-interval"];
    lanemark!(folder.path(), &sim)
        .fails_saying(2, "test `a`: the job states neither a size nor an end");
    lanemark!(folder.path(), &[&sim[..], &["--duration", "20ms"]].concat()).stdout();
}

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

/// Creates a folder with the sweep as a job file, and the folder for its results.
fn sweep() -> (TempDir, String, String) {
    let folder = folder();
    let job = folder.path().join("sweep.fio");
    fs::write(&job, SWEEP).unwrap();
    let saved = folder.path().join("saved.json").display().to_string();
    (folder, job.display().to_string(), saved)
}

#[test]
fn a_job_file_is_measured_and_reported_in_the_format_of_fio() {
    let (folder, job, saved) = sweep();
    let target = folder.path().join("target").display().to_string();
    let arguments = ["bench", &target, &job, "--format", "fio-json", "--out", &saved];
    let (out, err) = lanemark!(&arguments).texts();
    let whole: Value = serde_json::from_str(&out).expect("nothing but JSON on stdout");
    let jobs = whole["jobs"].as_array().unwrap();
    let depths: Vec<&str> =
        jobs.iter().map(|job| job["job options"]["iodepth"].as_str().unwrap()).collect();
    assert_eq!(depths, ["1", "4", "16", "32"]);
    assert!(jobs.iter().all(|job| job["read"]["total_ios"].as_u64().unwrap() >= 2000), "{out}");
    assert!(err.contains("note: these options are not used here: gtod_reduce"), "{err}");
    assert!(!Path::new(&target).exists());
}

#[test]
fn measurements_of_fio_are_imported_and_exported_again() {
    let (folder, job, saved) = sweep();
    lanemark!(&["sim", NVME, &job, "--out", &saved]).texts();
    let (out, _) = lanemark!(&["report", &saved, "--format", "fio-json"]).texts();
    let printed = folder.path().join("printed.json");
    fs::write(&printed, format!("fio: a message before it\n{out}")).unwrap();
    let printed = printed.display().to_string();
    let again = folder.path().join("again.json").display().to_string();
    let (table, err) = lanemark!(&["report", &printed, "--out", &again]).texts();
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("q16") && words.contains("skipped 1 line that is not JSON"), "{table}");
    assert!(err.contains("wrote "), "{err}");
    let (compared, _) = lanemark!(&["compare", &saved, &again]).texts();
    assert!(compared.contains("q32"), "{compared}");
}

#[test]
fn a_folder_of_fio_outputs_is_one_result_for_each_target() {
    let (folder, job, saved) = sweep();
    lanemark!(&["sim", NVME, &job, "--out", &saved]).texts();
    let grid = folder.path().join("grid").display().to_string();
    lanemark!(&["report", &saved, "--out", &format!("{grid}/")]).texts();
    fs::write(folder.path().join("grid/notes.txt"), "no JSON").unwrap();
    fs::create_dir(folder.path().join("grid/below.json")).unwrap();
    let again = folder.path().join("again.json").display().to_string();
    let (table, _) = lanemark!(&["report", &grid, "--out", &again]).texts();
    assert!(["q1", "q4", "q16", "q32"].iter().all(|test| table.contains(test)), "{table}");
    let (compared, _) = lanemark!(&["compare", &saved, &again]).texts();
    assert!(compared.contains("q32"), "{compared}");
    // A different target produces a different result.
    let text = fs::read_to_string(folder.path().join("grid/q1.json")).unwrap();
    let far = text.replace("\"name\" : \"q1\"", "\"name\" : \"q1\", \"filename\" : \"/dev/sdz\"");
    assert_ne!(far, text);
    let far_file = folder.path().join("far.json").display().to_string();
    fs::write(&far_file, far).unwrap();
    let err = lanemark!(&["report", &grid, &far_file, "--out", &again]).fails_with(2);
    assert!(
        err.contains("expected one run, but these are 2: ") && err.contains("/dev/sdz"),
        "{err}"
    );
    let both = lanemark!(&["report", &grid, &far_file, "--span", "1TiB"]).stdout();
    assert!(both.contains("/dev/sdz"), "{both}");
    // All unreadable files are reported together, and no result is written.
    for name in ["a.json", "b.json"] {
        fs::write(folder.path().join("grid").join(name), "{}").unwrap();
    }
    let none = folder.path().join("none.json").display().to_string();
    let err = lanemark!(&["report", &grid, "lost.json", "--out", &none]).fails_with(2);
    let reason = [
        "grid/a.json is not a Lanemark result",
        "grid/b.json",
        "lost.json is neither in the current folder",
    ];
    assert!(reason.iter().all(|reason| err.contains(reason)), "{err}");
    assert!(!Path::new(&none).exists());
    let err = lanemark!(&["report", &format!("{grid}/below.json")]).fails_with(2);
    assert!(err.contains("contains no .json file"), "{err}");
}

#[test]
fn one_test_of_a_job_file_goes_by_its_name() {
    let (_folder, job, saved) = sweep();
    let one = format!("{job}:q4");
    let (out, _) = lanemark!(&["sim", NVME, &one, "--out", &saved, "--format", "csv"]).texts();
    assert_eq!(out.lines().filter(|line| line.starts_with("q4,")).count(), 1, "{out}");
    let err = lanemark!(&["sim", NVME, &format!("{job}:q5"), "--out", &saved]).fails_with(2);
    assert!(err.contains("there is no test `q5`") && err.contains("hint: one of q1, q4"), "{err}");
}

#[test]
fn crystaldiskmark_gets_its_lines() {
    let (_folder, _, saved) = sweep();
    let arguments = ["sim", NVME, "crystaldiskmark-8", "--duration", "10ms", "--repeats", "2"];
    let more = ["--size", "64MiB", "--out", &saved, "--format", "crystaldiskmark"];
    let (out, _) = lanemark!(&[&arguments[..], &more[..]].concat()).texts();
    assert!(out.contains("[Read]\r\n  SEQ    1MiB (Q=  8, T= 1): "), "{out}");
    assert!(out.contains("[Write]\r\n"), "{out}");
}

#[test]
fn errors_of_a_job_file_are_reported_with_their_line_and_a_hint() {
    let folder = folder();
    let job = folder.path().join("bad.fio");
    fs::write(&job, "[a]\nsize=1m\nioengine=rbd\n").unwrap();
    let job = job.display().to_string();
    let err = lanemark!(&["sim", NVME, &job]).fails_with(2);
    assert!(
        err.contains("bad.fio:3: ioengine=rbd") && err.contains("hint: one of io_uring"),
        "{err}"
    );
    let err = lanemark!(&["sim", NVME, "lost.icf"]).fails_with(2);
    assert!(err.contains("lost.icf: can't be read"), "{err}");
    let err = lanemark!(&["report", &job]).fails_with(2);
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
    let (folder, job, saved) = sweep();
    lanemark!(&["sim", NVME, &job, "--out", &saved]).texts();
    let split = folder.path().join("split").display().to_string();
    lanemark!(&["report", &saved, "--out", &format!("{split}/")]).texts();
    let err = lanemark!(&["report", &saved, "--out", &format!("{split}/")]).fails_with(3);
    assert!(err.contains("q1.json already exists"), "{err}");
    for (kind, name) in [("-l", "bars.png"), ("-L", "depths.png")] {
        let picture = folder.path().join(name);
        let mut command = Command::new(&program);
        command.args(["-i", &split, "-T", "Lanemark", "-r", "randread", kind]);
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
    let job = folder.path().join("whole.fio");
    let target = folder.path().join("new.dat");
    fs::write(&job, "[whole]\nrw=randread\nbs=4k\nruntime=1\ntime_based\n").unwrap();
    let job = job.to_str().unwrap();
    let target = target.to_str().unwrap();
    let out = folder.path().join("out.json");
    let out = out.to_str().unwrap();
    let err = lanemark!(&["bench", target, job, "--out", out]).fails_with(2);
    assert!(err.contains("--size"), "{err}");
    let sized = ["--size", "8MiB", "--duration", "50ms", "--out", out];
    lanemark!(&[&["bench", target, job], &sized[..]].concat()).texts();
    let saved: Value = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    assert_eq!(saved["workload"]["tests"][0]["span_bytes"], 8 << 20);
    // A modelled system has the size of its drive.
    let run = ["--duration", "5ms", "--out", out];
    lanemark!(&[&["sim", NVME, job], &run[..]].concat()).texts();
    let saved: Value = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    assert!(saved["workload"]["tests"][0]["span_bytes"].as_u64().unwrap() > 500_000_000_000);
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
    let target = folder.path().join("log.dat");
    fs::write(&job, "[log]\nrw=write\nioengine=sync\nfdatasync=1\nsize=1m\nbs=2300\n").unwrap();
    let job = job.to_str().unwrap();
    let target = target.to_str().unwrap();
    let out = folder.path().join("out.json");
    let out = out.to_str().unwrap();
    let requests = |saved: &Value, kind: &str| {
        saved["tests"][0]["samples"][0][kind]["latency"]["count"].as_u64().unwrap()
    };
    let (printed, messages) = lanemark!(&["bench", target, job, "--out", out]).texts();
    assert!(messages.contains("the page cache is used"), "{messages}");
    assert!(printed.contains("99% of the flushes (fsync or fdatasync) took up to"), "{printed}");
    let saved: Value = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    let measured = (requests(&saved, "writes"), requests(&saved, "flushes"));
    assert_eq!(measured.0, 1_048_576_u64.div_ceil(2300));
    // A saved run is read again without differences.
    lanemark!(&["compare", out, out]).texts();

    let (printed, _) = lanemark!(&["sim", NVME, job, "--no-interval", "--out", out]).texts();
    let begins = printed.lines().next().unwrap();
    assert!(begins.starts_with("Each flush (fsync or fdatasync) took"), "{printed}");
    assert!(printed.contains("the 10 ms that etcd requires"), "{printed}");
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("are rounded to whole pages of 4 KiB"), "{printed}");
    let saved: Value = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    assert_eq!(assumed(&saved)["whole_pages"], true);
    // The number of requests is close to the measured number. Each request randomly has one or two pages, so 456
    // requests of 6.4 KiB on average have a standard deviation of 1.5%.
    let simulated = requests(&saved, "writes");
    assert!(simulated.abs_diff(measured.0) <= measured.0 / 16, "{simulated} and {measured:?}");
    assert_eq!(saved["tests"][0]["test"]["block_bytes"], 8192);

    fs::write(job, "[log]\nrw=write\ndirect=1\nsize=1m\nbs=2300\n").unwrap();
    let err = lanemark!(&["sim", NVME, job]).fails_with(2);
    assert!(err.contains("etcd.fio:5: job `log`: block = 2.3 kB"), "the line of bs: {err}");
    assert!(err.contains("hint: without direct=1"), "{err}");
}

#[test]
fn a_simulated_job_without_direct_states_the_assumed_page_cache() {
    let folder = folder();
    let job = folder.path().join("cached.fio");
    let out = folder.path().join("out.json");
    let out = out.to_str().unwrap();
    let text = "[reads]\nrw=randread\nioengine=libaio\niodepth=32\nbs=4k\nsize=64m\n";
    let run = |text: &str| {
        fs::write(&job, text).unwrap();
        let arguments = ["sim", NVME, job.to_str().unwrap(), "--no-interval", "--out", out];
        let (printed, _) = lanemark!(&[&arguments[..], &["--duration", "5ms"]].concat()).texts();
        let saved: Value = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
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
        let jobs: Vec<&str> = line.split_whitespace().collect();
        let sim =
            ["sim", "samsung-970-evo-plus-1tb@workstation-x570:m2", "--no-interval", "--json"];
        let printed = lanemark!(folder.path(), &[&sim[..], &["--"], &jobs].concat()).stdout();
        let result: Value = serde_json::from_str(&printed).unwrap();
        let rate = result["tests"][0]["iops"]["value"].as_f64().unwrap();
        assert!(span.contains(&rate), "{rate}");
    }
}

#[test]
fn a_job_without_a_size_or_an_end_is_an_error_for_a_modelled_drive() {
    let folder = folder();
    fs::write(folder.path().join("j.fio"), "[a]\nrw=randwrite\nioengine=sync\nfsync=1\n").unwrap();
    let sim = ["sim", "samsung-970-evo-plus-1tb@workstation-x570:m2", "j.fio", "--no-interval"];
    let output = lanemark!(folder.path(), &sim).output();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("test `a`: the job states neither a size nor an end"), "{message}");
    lanemark!(folder.path(), &[&sim[..], &["--duration", "20ms"]].concat()).stdout();
}

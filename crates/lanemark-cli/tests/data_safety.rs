//! The locations of results and input: data is not lost, commands do not block, and untrusted data does no harm.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use lanemark_testbed::lanemark;
use serde_json::Value;
use tempfile::TempDir;

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
const TEST: &str = "crystaldiskmark-5:4k-read";

/// A folder on the checkout's disk, in which commands run.
struct WorkFolder(TempDir);

impl WorkFolder {
    fn new() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        name.to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        lanemark!(self.0.path(), arguments).command()
    }

    /// Runs a command, which must end with this exit code within a few seconds, and returns stdout and stderr.
    #[track_caller]
    fn ends(&self, arguments: &[&str], code: i32) -> (String, String) {
        let began = Instant::now();
        let mut child = self.command(arguments);
        let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let id = child.id().to_string();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let output = receiver.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| {
            Command::new("kill").args(["-9", &id]).status().unwrap();
            panic!("{arguments:?} hangs since {:?}", began.elapsed())
        });
        let Output { status, stdout, stderr } = output.unwrap();
        let texts = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(status.code(), Some(code), "{arguments:?}: {texts:?}");
        assert!(!texts[1].contains("panicked"), "{}", texts[1]);
        texts.into()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the saved result of one test.
    fn result(&self) -> Value {
        self.ends(&["sim", NVME, TEST, "--out", "result.json"], 0);
        serde_json::from_str(&fs::read_to_string(self.path("result.json")).unwrap()).unwrap()
    }
}

#[test]
fn twelve_runs_at_once_are_twelve_results() {
    let folder = WorkFolder::new();
    let runs: Vec<_> = (0..12)
        .map(|seed: i32| {
            let seed = seed.to_string();
            let mut run = folder.command(&["sim", NVME, TEST, "--seed", &seed]);
            run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut saved_names: Vec<String> = Vec::new();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let messages = String::from_utf8(output.stderr).unwrap();
        let saved = messages.lines().find_map(|line| line.strip_prefix("saved results/")).unwrap();
        saved_names.push(saved.to_owned());
    }
    saved_names.sort();
    assert_eq!(folder.names("results"), saved_names, "each run has the file that it says");
    let seeds: std::collections::BTreeSet<u64> = saved_names
        .iter()
        .map(|name| {
            let text = fs::read_to_string(folder.path("results").join(name)).unwrap();
            let run: Value = serde_json::from_str(&text).unwrap();
            run["provenance"]["seed"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(seeds, (0..12).collect());
}

#[test]
fn a_file_has_one_writer_at_a_time() {
    let folder = WorkFolder::new();
    let mut slow = folder.command(&["sim", NVME, "crystaldiskmark-8", "--duration", "1000 s"]);
    let mut slow = slow.args(["--out", "one.json"]).stderr(Stdio::null()).spawn().unwrap();
    let lock = folder.path(".lanemark-one.json.lock");
    let began = Instant::now();
    while !lock.exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing takes the name");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (_, message) = folder.ends(&["sim", NVME, TEST, "--out", "one.json"], 2);
    assert!(message.contains("another run is writing it"), "{message}");
    slow.kill().unwrap();
    slow.wait().unwrap();
    // The run was killed. The next run removes the files that it left.
    folder.ends(&["sim", NVME, TEST, "--out", "one.json"], 0);
    assert_eq!(folder.names("."), ["one.json"]);
    // Two outputs of one run are two files.
    let both = ["sim", NVME, TEST, "--out", "a.json", "--html", "b", "--series", "b"];
    let (_, message) = folder.ends(&both, 2);
    assert!(message.contains("another run is writing it"), "{message}");
}

#[test]
fn unwritable_outputs_are_reported_before_anything_runs() {
    let folder = WorkFolder::new();
    folder.write("good.html", "mine");
    fs::create_dir(folder.path("folder")).unwrap();
    let target = ["bench", "target.dat", "--size", "1MiB", "--duration", "10s"];
    let system = ["sim", NVME, "crystaldiskmark-8", "--duration", "100 s"];
    for (option, where_to, code) in [
        ("--html", "nowhere/page.html", 1),
        ("--series", "nowhere/series.csv", 1),
        ("--html", "folder", 3),
        ("--html", "good.html", 3),
        ("--out", "/proc/results/a.json", 1),
        ("--series", "/dev/zero", 3),
    ] {
        for run in [&target[..], &system[..]] {
            let began = Instant::now();
            let (stdout, message) = folder.ends(&[run, &[option, where_to]].concat(), code);
            assert!(message.contains(where_to.trim_end_matches("/a.json")), "{message}");
            assert!(began.elapsed() < Duration::from_secs(5), "{option} {where_to}");
            assert_eq!(stdout, "");
        }
    }
    assert_eq!(fs::read_to_string(folder.path("good.html")).unwrap(), "mine");
    assert_eq!(folder.names("."), ["folder", "good.html"], "a run that fails leaves nothing");
}

#[test]
fn an_older_file_stays_until_the_new_one_is_whole() {
    let folder = WorkFolder::new();
    let page = folder.path("page.html");
    folder.ends(&["sim", NVME, TEST, "--html", "page.html"], 0);
    let old = fs::read_to_string(&page).unwrap();
    // The unknown port is reported only after the page has been checked.
    folder.ends(
        &["sim", "samsung-950-pro-512gb@workstation-z170:no", TEST, "--html", "page.html"],
        2,
    );
    folder.ends(&["sim", NVME, TEST, "--size", "1TB", "--html", "page.html"], 2);
    assert_eq!(fs::read_to_string(&page).unwrap(), old);
    folder.ends(&["sim", NVME, TEST, "--seed", "2", "--html", "page.html"], 0);
    assert_ne!(fs::read_to_string(&page).unwrap(), old);
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn files_are_written_whoever_reads_the_messages() {
    for (number, stderr) in ["full", "closed pipe"].into_iter().enumerate() {
        for stdout in ["full", "closed pipe"] {
            let folder = WorkFolder::new();
            let end = |what: &str| match what {
                "full" => Stdio::from(File::options().write(true).open("/dev/full").unwrap()),
                _ => {
                    let (reader, writer) = std::io::pipe().unwrap();
                    drop(reader);
                    writer.into()
                }
            };
            let files = ["--out", "r.json", "--html", "p.html", "--series", "s.csv"];
            let mut run = folder.command(&["sim", NVME, TEST, "--interval", "10ms"]);
            let status = run.args(files).stdout(end(stdout)).stderr(end(stderr)).status().unwrap();
            // A reader that closes the pipe has read enough, but data that a disk does not accept would be lost.
            let wanted = if stdout == "full" { 1 } else { 0 };
            assert_eq!(status.code(), Some(wanted), "{number} {stdout} {stderr}");
            assert_eq!(folder.names("."), ["p.html", "r.json", "s.csv"], "{stdout} {stderr}");
        }
    }
}

#[test]
fn a_result_that_can_no_longer_be_saved_is_printed() {
    let folder = WorkFolder::new();
    let target = ["bench", "t.dat", "--size", "1MiB", "--duration", "200ms", "--repeats", "1"];
    let mut run = folder.command(&[&target[..], &["--out", "gone"]].concat());
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !folder.path("t.dat").exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing is measured");
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::rename(folder.path("gone"), folder.path("other")).unwrap();
    let output = run.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(printed.contains("RND4K Q32T1 write") && !printed.contains("interrupted"), "{printed}");
    assert_eq!(messages.matches("the run continues").count(), 1, "{messages}");
    assert!(!messages.contains("\nsaved"), "{messages}");
}

#[test]
fn no_command_panics_without_a_stderr() {
    let folder = WorkFolder::new();
    folder.result();
    for arguments in [
        &["report", "result.json", "--out", "p.html"][..],
        &["report", "result.json", "--out", "parts/"],
        &["inspect", NVME, "--svg", "p.svg"],
        &["sweep", NVME, "--workload", TEST, "--axis", "queue_depth=1,2", "--out", "s.csv"],
        &["sim", "nonsense", TEST],
    ] {
        let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
        let status =
            folder.command(arguments).stdout(Stdio::null()).stderr(full()).status().unwrap();
        let wanted = if arguments[1] == "nonsense" { 2 } else { 0 };
        assert_eq!(status.code(), Some(wanted), "{arguments:?}");
    }
    for file in ["p.html", "parts", "p.svg", "s.csv"] {
        assert!(folder.path(file).exists(), "{file}");
    }
}

#[test]
fn a_special_file_is_refused_at_once() {
    let folder = WorkFolder::new();
    for name in ["pipe.json", "pipe.fio", "pipe.icf", "pipe.csv", "pipe.toml", "pipe"] {
        let made = Command::new("mkfifo").arg(folder.path(name)).status().unwrap();
        assert!(made.success());
    }
    std::os::unix::fs::symlink("/dev/zero", folder.path("zero.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path("zero.fio")).unwrap();
    folder.write("fit.json", "{}");
    for arguments in [
        &["compare", "pipe.json", "pipe.json"][..],
        &["compare", "zero.json", "zero.json"],
        &["report", "pipe.csv", "--out", "p.html"],
        &["report", "pipe.json"],
        &["report", "zero.json"],
        &["sim", NVME, "pipe.fio"],
        &["sim", NVME, "zero.fio"],
        &["sim", NVME, "pipe.icf"],
        &["sweep", "pipe.toml"],
        &["sweep", NVME, "--workload", TEST, "--axis", "queue_depth=1", "--out", "pipe.csv"],
        &["compare", NVME, "--queue-depth", "2", "--fit", "pipe.json"],
        &["compare", "pipe.json", "zero.json"],
        &["verify", "check", "fit.json", "--journal", "pipe"],
        &["bench", "pipe", "--size", "1MiB"],
        &["bench", "pipe", "--size", "1MiB", "--overwrite", "pipe"],
        &["bench", "pipe", "random-write-24h"],
    ] {
        let (stdout, message) = folder.ends(arguments, 2);
        assert!(
            stdout.is_empty() && message.contains("pipe") | message.contains("zero"),
            "{message}"
        );
    }
    let (_, message) = folder.ends(&["sim", NVME, TEST, "--out", "pipe.json"], 3);
    assert!(message.contains("is not a Lanemark result"), "{message}");
}

#[test]
fn a_job_file_includes_only_files_next_to_it_and_reveals_no_others() {
    let folder = WorkFolder::new();
    fs::create_dir(folder.path("jobs")).unwrap();
    folder.write("secret", "root:x:0:0\nhunter2\n");
    folder.write("jobs/words", "rw=randread\nhunter2\n");
    folder.write("jobs/part", "# depth\niodepth=4\n");
    std::os::unix::fs::symlink("../secret", folder.path("jobs/link")).unwrap();
    let with = |include: &str| {
        let text = format!(
            "[global]\nsize=16m\nruntime=1\ntime_based\n[a]\nrw=randread\ninclude {include}\n"
        );
        folder.write("jobs/job.fio", &text)
    };
    with("part");
    folder.ends(&["sim", NVME, "jobs/job.fio", "--duration", "10ms"], 0);
    let absolute = folder.path("secret");
    for include in
        ["../secret", absolute.to_str().unwrap(), "link", "/etc/passwd", "words", "nothing"]
    {
        with(include);
        let (_, message) = folder.ends(&["sim", NVME, "jobs/job.fio"], 2);
        assert!(!message.contains("hunter2") && !message.contains("root:"), "{include}: {message}");
        assert!(
            message.contains("jobs/job.fio:7") || message.contains("words:2"),
            "{include}: {message}"
        );
    }
}

#[test]
fn a_path_below_dev_that_is_no_device_is_refused() {
    let folder = WorkFolder::new();
    for path in ["/dev/lanemark-nonexist", "/dev/lanemark/nonexist", "/dev"] {
        let (_, message) = folder.ends(&["bench", path, "--size", "1MiB"], 2);
        assert!(message.contains("there is no such device"), "{message}");
    }
    assert!(!Path::new("/dev/lanemark-nonexist").exists());
}

#[test]
fn results_that_cannot_be_are_damaged() {
    let folder = WorkFolder::new();
    let good = folder.result();
    let said_of = |change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        folder.write("bad.json", &bad.to_string());
        folder.ends(&["report", "bad.json", "--out", "p.html"], 2).1
    };
    for (pointer, value, folder) in [
        ("/tests/0/samples/0/path/hops/0/utilisation", Value::from(-7.0), "utilisation"),
        ("/tests/0/samples/0/path/hops/0/utilisation", Value::from(7.0), "utilisation"),
        ("/tests/0/samples/0/elapsed_ns", Value::from(0.0), "tests[0].samples[0].elapsed_ns"),
        ("/tests/0/samples/0/reads/bytes", Value::from(u64::MAX), "bytes"),
        ("/tests/0/samples/0/reads/latency/min_ns", Value::from(u64::MAX), "min_ns"),
        ("/tests/0/samples", Value::from(Vec::<Value>::new()), "tests[0].samples"),
        ("/tests/0/iops/value", Value::from(-1.0), "tests[0].iops.value"),
        ("/tests/0/test/queue_depth", Value::from(0), "queue_depth"),
    ] {
        let message = said_of(&|bad| *bad.pointer_mut(pointer).unwrap() = value.clone());
        assert!(message.contains("damaged") && message.contains(folder), "{pointer}: {message}");
    }
    let error = |kind: &str, requests: u64| serde_json::json!({"kind": kind, "requests": requests});
    for (errors, of) in [
        (vec![error("media", 0)], "tests[0].samples[0].errors[0].requests"),
        (vec![error("media", u64::MAX)], "errors[0].requests"),
        (vec![error("timeout", 1), error("media", 1)], "errors is out of order"),
        (vec![error("media", 1), error("media", 1)], "errors is out of order"),
        (vec![error("sunspot", 1)], "sunspot"),
    ] {
        let message =
            said_of(&|bad| bad["tests"][0]["samples"][0]["errors"] = errors.clone().into());
        assert!(message.contains("damaged") && message.contains(of), "{of}: {message}");
    }
    assert!(!folder.path("p.html").exists());
    let sweep = ["sweep", NVME, "--workload", TEST, "--axis", "queue_depth=1", "--out", "s.csv"];
    folder.ends(&sweep, 0);
    let rows = fs::read_to_string(folder.path("s.csv")).unwrap();
    let row: Vec<&str> = rows.lines().nth(1).unwrap().split(',').collect();
    for (from, to) in [(row[5], "-7"), (row[5], "inf"), (row[6], "NaN")] {
        folder.write("bad.csv", &rows.replace(from, to));
        let (_, message) = folder.ends(&["report", "bad.csv", "--out", "p.html"], 2);
        assert!(message.contains("bad.csv"), "{message}");
    }
    // The unchanged result is drawn.
    folder.ends(&["report", "result.json", "--out", "p.html"], 0);
}

#[test]
fn written_results_can_be_read() {
    let folder = WorkFolder::new();
    let page = ["--out", "p.html"];
    // The test submits few requests in a very long time.
    let text = "[workload]\nname = \"slow\"\nrepeats = 1\naverage = \"mean\"\n\n[[test]]\nname = \"slow\"\n\
        block = \"4 KiB\"\npattern = \"random\"\nread = \"100%\"\nspan = \"1 MiB\"\nqueue_depth = 1\n\
        threads = 1\nthink = \"10 h\"\nvolume = \"16 KiB\"\nduration = \"LONG\"\n";
    for long in ["100 h", "999 h", "4999 h", "5001 h", "5100 h"] {
        folder.write("slow.toml", &text.replace("LONG", long));
        let run =
            folder.command(&["sim", NVME, "slow.toml", "--out", "slow.json"]).output().unwrap();
        let message = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!message.contains("panicked"), "{long}: {message}");
        // The command either rejects the result or writes a readable file.
        match run.status.code() {
            Some(0) => drop(folder.ends(&[&["report", "slow.json"][..], &page].concat(), 0)),
            code => assert!(matches!(code, Some(1 | 2)), "{long}: {code:?} {message}"),
        }
        assert!(!["100 h", "999 h"].contains(&long) || run.status.success(), "{message}");
    }
}

#[test]
fn names_do_nothing_to_a_terminal_or_a_table() {
    let folder = WorkFolder::new();
    let evil = "4K\u{1b}]0;pwned\u{7}\u{1b}[2J\u{202e}daer\u{2066}\r\n,x\u{9b}31m";
    let mut run = folder.result();
    run["tests"][0]["test"]["name"] = Value::from(evil);
    run["workload"]["name"] = Value::from(evil);
    run["target"]["system"] = Value::from(evil);
    run["target"]["drive"] = Value::from(evil);
    run["provenance"]["started_at"] = Value::from(evil);
    folder.write("evil.json", &run.to_string());
    let printed = |text: &str| {
        let bad =
            |letter: &char| !lanemark_schema::text::is_shown(*letter) && !"\r\n".contains(*letter);
        let found: Vec<char> = text.chars().filter(bad).collect();
        assert!(found.is_empty(), "{found:?} in {text:?}");
        assert!(!text.replace("\r\n", "").contains('\r'), "{text:?}");
    };
    let formats = ["--format=crystaldiskmark", "--format=csv", "--format=fio-json", "--json"];
    for form in std::iter::once(None).chain(formats.map(Some)) {
        let arguments: Vec<&str> = ["report", "evil.json"].into_iter().chain(form).collect();
        let (stdout, message) = folder.ends(&arguments, 0);
        printed(&stdout);
        printed(&message);
        if form == Some("--json") {
            let again: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(again["workload"]["name"], evil, "JSON loses nothing");
        }
    }
    for arguments in
        [&["compare", "evil.json", "evil.json"][..], &["compare", "evil.json", "result.json"]]
    {
        let (stdout, message) = folder.ends(arguments, 0);
        printed(&stdout);
        printed(&message);
    }
    let workload = format!(
        "[workload]\nname = \"w\"\nrepeats = 1\naverage = \"mean\"\n\n[[test]]\nname = {}\nblock = \"4 KiB\"\n\
         pattern = \"random\"\nread = \"100%\"\nspan = \"1 MiB\"\nqueue_depth = 1\nthreads = 1\n\
         duration = \"20 ms\"\n",
        "\"a\\u001b[2J\\u202eb\""
    );
    folder.write("w.toml", &workload);
    let run = ["sim", NVME, "w.toml", "--series", "s.csv", "--interval", "10 ms"];
    let (stdout, message) = folder.ends(&run, 0);
    let series = fs::read_to_string(folder.path("s.csv")).unwrap();
    assert!(series.lines().count() > 1);
    [stdout, message, series].iter().for_each(|text| printed(text));
    let (_, message) = folder.ends(&["sim", "a\u{1b}[2J\u{202e}@b:c", TEST], 2);
    printed(&message);
}

#[test]
fn the_next_run_removes_the_remains_of_a_killed_run() {
    let folder = WorkFolder::new();
    fs::create_dir(folder.path("results")).unwrap();
    for name in [".lanemark-x.json.lock", ".lanemark-x.json-7-0.tmp", ".tmpSomebody", "notes"] {
        folder.write(&format!("results/{name}"), "");
    }
    folder.ends(&["sim", NVME, TEST], 0);
    let names = folder.names("results");
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!((names[0].as_str(), names[1].as_str()), (".tmpSomebody", "notes"));
    // A failed run leaves no folder.
    let other = WorkFolder::new();
    other.ends(&["sim", NVME, TEST, "--size", "1TB"], 2);
    other.ends(&["bench", "/nonexistent/x", "--size", "1MiB"], 2);
    assert!(other.names(".").is_empty(), "{:?}", other.names("."));
}

#[test]
fn an_oltp_run_describes_itself() {
    let folder = WorkFolder::new();
    let run = ["oltp", "load", "--warehouses", "1", "--scale", "100"];
    folder.ends(&run, 0);
    let run = ["oltp", "run", "--duration", "300 ms", "--ramp", "0 s", "--out", "o.json"];
    folder.ends(&run, 0);
    for arguments in [
        &["report", "o.json", "--out", "p.html"][..],
        &["compare", "o.json", "o.json"],
        &["plan", "fleet", "--present", "o.json", "--other", "B=2"],
    ] {
        folder.ends(arguments, 0);
    }
    folder.result();
    let (_, message) = folder.ends(&["report", "result.json", "--out", "w.toml"], 2);
    assert!(message.contains("only a run on a database becomes a workload"), "{message}");
    // Another result may replace it.
    folder.ends(&["sim", NVME, TEST, "--out", "o.json"], 0);
}

#[test]
fn whatif_reports_errors_before_it_simulates() {
    let folder = WorkFolder::new();
    let long = ["--workload", "crystaldiskmark-8", "--duration", "1000 s"];
    folder.write("fit.json", "{}");
    for (change, part) in [
        (&[":no-such-port"][..], "no-such-port"),
        (&["no-such-drive"], "no-such-drive"),
        (&["--set", "drive.flash.no_such=1"], "no_such"),
        (&["--queue-depth", "2", "--fit", "fit.json"], "fit.json"),
        (&["samsung-850-pro-1tb@:sata", "--size", "600GB"], "but the capacity is"),
    ] {
        let began = Instant::now();
        let (_, message) = folder.ends(&[&["compare", NVME][..], change, &long].concat(), 2);
        assert!(message.contains(part), "{message}");
        assert!(began.elapsed() < Duration::from_secs(3), "{change:?}: {:?}", began.elapsed());
    }
}

#[test]
fn a_warning_is_reported_once_with_its_tests() {
    let folder = WorkFolder::new();
    let warnings = |text: &str| text.lines().filter(|line| line.starts_with("! ")).count();
    let (printed, _) =
        folder.ends(&["sim", NVME, TEST, "--repeats", "1", "--full", "--detail", "--explain"], 0);
    assert_eq!(printed.matches("only one repeat").count(), 1, "{printed}");
    assert_eq!(printed.matches("Simulated:").count(), 1, "{printed}");
    let mut run = folder.result();
    let warning = |test: &str| serde_json::json!({"kind": "punted", "test": test, "workers": 3});
    run["warnings"] = ["4K", "8K", "16K"].map(warning).to_vec().into();
    folder.write("warnings.json", &run.to_string());
    let (printed, _) = folder.ends(&["report", "warnings.json"], 0);
    assert_eq!(warnings(&printed), 1, "{printed}");
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        printed.contains("! 4K, 8K and 16K: requests were handed to 3 kernel threads"),
        "{printed}"
    );
    let (printed, _) = folder.ends(&["compare", "warnings.json", "warnings.json"], 0);
    assert!(printed.contains("are the same result"), "{printed}");
    assert_eq!(warnings(&printed), 1, "{printed}");
    let (_, message) =
        folder.ends(&["report", "warnings.json", "warnings.json", "--out", "p.html"], 0);
    assert!(message.contains("named twice"), "{message}");
}

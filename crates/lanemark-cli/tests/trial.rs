//! `lanemark trial` as a program: runs and times a user's command on served systems, with power cuts, with and without
//! root.
#![cfg(feature = "serve")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lanemark_schema::result::RunResult;
use lanemark_testbed::{skipped, tool_or_skip};
use tempfile::TempDir;

const DISK: &str = "seagate-barracuda-1tb@workstation-z170:sata";
const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";
const NVME: &str = "samsung-980-pro-1tb@workstation-x570:m2";
/// Loop devices and processors are shared, so one trial runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn is_root() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists()
}

fn program(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_lanemark"), "trial"]);
    command.args(words).current_dir(folder).env_remove("LANEMARK_LIBRARY");
    command.env("LANEMARK_RESULTS", folder.join("results")).env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &TempDir, words: &[&str]) -> Output {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    program(folder.path(), words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the remaining files in the folder for temporary files.
fn left(folder: &TempDir) -> Vec<String> {
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("lanemark-trial-")).collect()
}

/// Returns whether the machine answered too late for a comparison.
fn is_unranked(text: &str) -> bool {
    text.starts_with("The systems cannot be ranked") || text.contains(" is not known: this machine")
}

fn commits(count: u32) -> String {
    format!(
        "import os\nf = os.open('log', os.O_WRONLY | os.O_CREAT | os.O_APPEND)\nfor number in range({count}):\n  \
         os.write(f, b'%08d\\n' % number)\n  os.fsync(f)\n  print(number, flush=True)\n"
    )
}

#[test]
fn a_program_that_flushes_is_faster_on_the_faster_drive() {
    if !is_root() {
        return skipped("a disk, which only root can have");
    }
    let folder = tempfile::tempdir().unwrap();
    let script = commits(15);
    let words = [
        DISK,
        NVME,
        "--turns",
        "3",
        "--size",
        "256MiB",
        "--time-scale",
        "4",
        "--html",
        "page.html",
        "--",
        "python3",
        "-c",
        &script,
    ];
    let output = run(&folder, &words);
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    let first = printed.lines().next().unwrap();
    // On a busy machine the answers can be late; the systems are then not ranked.
    if !is_unranked(&printed) {
        assert!(first.starts_with(&format!("{NVME} finishes ")), "{printed}");
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(page.contains("sooner than"));
    }
    assert!(left(&folder).is_empty());
    // The results can be read again, and state their program.
    let results: Vec<RunResult> = fs::read_dir(folder.path().join("results"))
        .unwrap()
        .map(|entry| serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap())
        .collect();
    assert_eq!(results.len(), 2);
    for result in &results {
        assert_eq!(result.tests[0].samples.len(), 3);
        for sample in &result.tests[0].samples {
            let program = sample.live.as_ref().unwrap().program.as_ref().unwrap();
            assert!([DISK, NVME].contains(&program.system.as_str()));
            assert!(sample.flushes.as_ref().unwrap().latency.count() >= 15);
            assert!(program.busy <= program.wall);
        }
    }
}

/// Programs that people run on drives, each with a command for an empty folder.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "sqlite3",
        "sqlite3 a.db 'create table t(x)'; for i in $(seq 10); do sqlite3 a.db \"insert into t values($i)\"; done
         test $(sqlite3 a.db 'select count(*) from t') = 10",
    ),
    (
        "git",
        "git init -q one && cd one && seq 10000 >a && git add a && \
         git -c user.name=a -c user.email=a@example.com commit -qm one && cd .. && git clone -q one two && cmp one/a two/a",
    ),
    ("rsync", "mkdir one && seq 10000 >one/a && rsync -a --fsync one/ two && cmp one/a two/a"),
    ("cc", "echo 'int main(void) { return 0; }' >a.c && cc -o a a.c && ./a"),
];

#[test]
fn the_usual_programs_run_on_a_served_drive() {
    if !is_root() {
        return skipped("a disk, which only root can have");
    }
    for (name, command) in PROGRAMS {
        if tool_or_skip(name, &["--version"]).is_none() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let script = format!("set -e; {command}; sync");
        let words = [SATA, "--turns", "1", "--size", "64MiB", "--time-scale", "1"];
        let output = run(&folder, &[&words[..], &["--", "sh", "-c", &script]].concat());
        let (printed, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{name}: {printed}{errors}");
        assert!(
            is_unranked(&printed) || printed.starts_with("The command takes "),
            "{name}: {printed}"
        );
        let result = fs::read_dir(folder.path().join("results")).unwrap().next().unwrap().unwrap();
        let result: RunResult = serde_json::from_slice(&fs::read(result.path()).unwrap()).unwrap();
        let sample = &result.tests[0].samples[0];
        let program = sample.live.as_ref().unwrap().program.as_ref().unwrap();
        assert_eq!(program.exit_code, 0, "{name}");
        assert!(sample.writes.as_ref().unwrap().latency.count() > 0, "{name}");
        assert!(sample.flushes.is_some() && left(&folder).is_empty(), "{name}");
    }
}

/// Acknowledged lines, which the command printed after `fsync`, must be in the file after a cut.
const CHECK: &str = "n=$(wc -l <$LANEMARK_OUTPUT); m=$(wc -l <log 2>/dev/null || echo 0); \
    echo $n printed, $m stored; test $m -ge $n";

#[test]
fn power_cuts_lose_nothing_that_was_flushed_unless_barriers_are_off_or_the_drive_lies() {
    if !is_root() {
        return skipped("a disk, which only root can have");
    }
    let folder = tempfile::tempdir().unwrap();
    let script = commits(400);
    let trial = |options: &[&str]| {
        let cuts = [
            "--cuts",
            "4",
            "--check",
            CHECK,
            "--turns",
            "1",
            "--size",
            "64MiB",
            "--time-scale",
            "1",
        ];
        let words = [&[SATA][..], &cuts, options, &["--", "python3", "-c", &script]].concat();
        run(&folder, &words)
    };
    let sound = trial(&[]);
    let printed = text(&sound.stdout);
    assert!(sound.status.success(), "{printed}{}", text(&sound.stderr));
    assert!(
        printed.contains("4 power cuts on ") && printed.contains("no acknowledged data was lost"),
        "{printed}"
    );
    for options in [["--mount-options", "barrier=0"], ["--fault", "lying-flush"]] {
        let damaged = trial(&options);
        let printed = text(&damaged.stdout);
        assert_eq!(
            damaged.status.code(),
            Some(1),
            "{options:?}: {printed}{}",
            text(&damaged.stderr)
        );
        assert!(printed.contains("ACKNOWLEDGED DATA WAS LOST"), "{options:?}: {printed}");
    }
    assert!(left(&folder).is_empty());
}

#[test]
fn a_trial_needs_no_privileges() {
    let has = |program: &str| Command::new(program).arg("--help").output().is_ok();
    if !is_root() || !has("fuse2fs") || !has("fusermount3") || !Path::new("/dev/fuse").exists() {
        return skipped("fuse2fs, fusermount3 and root, who becomes another user");
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65_534), Some(65_534)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let inner = program(
        folder.path(),
        &[
            SATA,
            "--turns",
            "1",
            "--size",
            "64MiB",
            "--time-scale",
            "1",
            "--",
            "python3",
            "-c",
            &commits(20),
        ],
    );
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(folder.path());
    command.env("LANEMARK_RESULTS", folder.path().join("results")).env("TMPDIR", folder.path());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = command.output().unwrap();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    assert!(printed.starts_with("The command takes ") || is_unranked(&printed), "{printed}");
    assert!(left(&folder).is_empty());
}

#[test]
fn folders_and_images_are_the_contents_of_every_turn() {
    if !is_root() {
        return skipped("a disk, which only root can have");
    }
    let folder = tempfile::tempdir().unwrap();
    let contents = folder.path().join("contents");
    fs::create_dir(&contents).unwrap();
    fs::write(contents.join("file"), "as it was").unwrap();
    // Each turn finds the file as it was, and changes it.
    let script = "test \"$(cat file)\" = 'as it was' && echo changed >file && sync";
    let words = [
        SATA,
        "--from",
        "contents",
        "--turns",
        "2",
        "--size",
        "64MiB",
        "--time-scale",
        "1",
        "--json",
        "--",
        "sh",
        "-c",
        script,
    ];
    let output = run(&folder, &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = outcome["answer"].as_str().unwrap();
    assert!(answer.contains("takes") || is_unranked(answer), "{answer}");
    assert_eq!(outcome["runs"][0]["tests"][0]["samples"].as_array().unwrap().len(), 2);
    assert_eq!(fs::read_to_string(contents.join("file")).unwrap(), "as it was");
}

#[test]
fn a_failing_command_ends_the_trial_with_its_output() {
    if !is_root() {
        return skipped("a disk, which only root can have");
    }
    let folder = tempfile::tempdir().unwrap();
    let words = [SATA, "--size", "64MiB", "--", "sh", "-c", "echo this went wrong; exit 3"];
    let output = run(&folder, &words);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("exit code 3") && errors.contains("this went wrong"), "{errors}");
    assert!(left(&folder).is_empty());
}

#[test]
fn an_interrupted_trial_leaves_nothing_mounted() {
    if !is_root() {
        return skipped("a disk, which only root can have");
    }
    let folder = tempfile::tempdir().unwrap();
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for signal in ["-INT", "-KILL"] {
        let mark = folder.path().join(format!("started{signal}"));
        let script = format!("touch {}; sleep 1000", mark.display());
        let words = [SATA, "--size", "64MiB", "--", "sh", "-c", &script];
        let mut child = program(folder.path(), &words).spawn().unwrap();
        let begun = Instant::now();
        while !mark.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the command did not start");
            assert!(child.try_wait().unwrap().is_none(), "the trial has ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let status = child.wait().unwrap();
        if signal == "-INT" {
            assert_eq!(status.code(), Some(130));
        }
        let path = folder.path().display().to_string();
        let is_clean = || {
            let mounts = fs::read_to_string("/proc/mounts").unwrap();
            left(&folder).is_empty() && !mounts.contains(&path)
        };
        let begun = Instant::now();
        while !is_clean() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{signal}: {:?}", left(&folder));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    for (words, why) in [
        (&[SATA, SATA, "--", "true"][..], "is given twice"),
        (&[SATA, "--size", "100TiB", "--", "true"], "the smallest drive has only"),
        (&[SATA, "--from", "missing", "--", "true"], "--from missing"),
        (&[SATA, "--cuts", "3", "--", "true"], "--check"),
        (&[SATA], "COMMAND"),
        (&[SATA, "--fault", "latency", "--", "true"], "`latency` needs `extra`"),
        (&[SATA, "--fault", "lost-write range=0B..2TB", "--", "true"], "the drive ends at"),
        (&[SATA, "--fault", "pause for=1s drive=1", "--", "true"], "drives 0 to 0"),
        (&["no-such-drive@workstation-z170:sata", "--", "true"], "no-such-drive"),
    ] {
        let output = run(&folder, words);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {errors}");
        assert!(errors.contains(why), "{words:?}: {errors}");
    }
}

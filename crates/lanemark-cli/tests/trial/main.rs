//! `lanemark trial` as a program: it runs and times a user's command on served systems, with power cuts, with and
//! without root.

mod cuts;
mod turns;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lanemark_schema::result::RunResult;
use lanemark_testbed::{MountFolder, Running, lanemark, skipped, tool_or_skip};

const DISK: &str = "seagate-barracuda-1tb@workstation-z170:sata";
const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";
const NVME: &str = "samsung-980-pro-1tb@workstation-x570:m2";
/// A lock that lets only one trial run at a time, because trials share loop devices and processors.
static ALONE: Mutex<()> = Mutex::new(());

fn is_root() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/dev/loop-control").exists()
}

/// Returns a folder for a trial with disks, which only root can have.
fn root_folder() -> Option<MountFolder> {
    if is_root() {
        return Some(MountFolder::new());
    }
    skipped("a disk, which only root can have");
    None
}

fn program(folder: &Path, words: &[&str]) -> Command {
    let run = lanemark!(folder, &[&["trial"], words].concat());
    let run = run.env("LANEMARK_RESULTS", folder.join("results")).env("TMPDIR", folder);
    let mut command = run.command();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &MountFolder, words: &[&str]) -> Output {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    program(folder.path(), words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the files that remain in the folder for temporary files.
fn left(folder: &MountFolder) -> Vec<String> {
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("lanemark-trial-")).collect()
}

/// Returns whether the machine was slower than the model, so that the systems cannot be compared.
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
    let Some(folder) = root_folder() else { return };
    let script = commits(15);
    let options = ["--turns", "3", "--size", "256MiB", "--time-scale", "4", "--html", "page.html"];
    let words = [&[DISK, NVME], &options[..], &["--", "python3", "-c", &script]].concat();
    let output = run(&folder, &words);
    let printed = text(&output.stdout);
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    let first = printed.lines().next().unwrap();
    // On a busy machine, the answers can be late; in that case the systems are not ranked.
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

/// Typical programs, each with a command for an empty folder.
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
        let folder = MountFolder::new();
        let script = format!("set -e; {command}; sync");
        let words = [SATA, "--turns", "1", "--size", "64MiB", "--time-scale", "1"];
        let output = run(&folder, &[&words[..], &["--", "sh", "-c", &script]].concat());
        let printed = text(&output.stdout);
        let errors = text(&output.stderr);
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

/// A command mounts a folder of the user next to the folder of its system, over it, and over the trial's own folder.
#[test]
fn nothing_that_a_command_mounts_is_removed() {
    let mut methods = unprivileged();
    methods.retain(|(_, method)| method.ends_with(&IN_A_NAMESPACE));
    if is_root() {
        methods.push(("disks of root", Vec::new()));
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, method) in methods {
        let folder = folder_for(&method);
        let user = folder.path().join("user");
        fs::create_dir(&user).unwrap();
        fs::write(user.join("letter"), "text").unwrap();
        if method.starts_with(&AS_ANOTHER_USER) {
            std::os::unix::fs::chown(&user, Some(65_534), Some(65_534)).unwrap();
            std::os::unix::fs::chown(user.join("letter"), Some(65_534), Some(65_534)).unwrap();
        }
        let script = format!(
            "echo x >f; sync f; mkdir -p ../next && mount --bind {0} ../next && mount --bind {0} $PWD && mount --bind {0} ..",
            user.display()
        );
        let words = [SATA, "--size", "64MiB", "--turns", "2", "--time-scale", "1"];
        let trial = program(folder.path(), &[&words[..], &["--", "sh", "-c", &script]].concat());
        let output = in_front(&method, &trial, folder.path()).output().unwrap();
        let errors = text(&output.stderr);
        assert!(user.join("letter").exists(), "{name}: {errors}");
        assert!(output.status.success(), "{name}: {errors}");
        assert!(left(&folder).is_empty(), "{name}: {errors}");
    }
}

/// A program that starts another program as a user without privileges, which only root can do.
const AS_ANOTHER_USER: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
/// A program that starts another program as root of a new user namespace.
const IN_A_NAMESPACE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

/// Returns the methods by which a trial can be started without privileges, each with its name. A method needs an empty
/// folder of this user or of another user.
fn unprivileged() -> Vec<(&'static str, Vec<&'static str>)> {
    let fuse = ["fuse2fs", "fusermount3"];
    let is_missing = |program: &&str| Command::new(program).arg("--help").output().is_err();
    if fuse.iter().any(is_missing) || !Path::new("/dev/fuse").exists() {
        skipped("fuse2fs, fusermount3 or /dev/fuse");
        return Vec::new();
    }
    if tool_or_skip("unshare", &[&IN_A_NAMESPACE[1..], &["true"]].concat()).is_none() {
        return Vec::new();
    }
    let another =
        if rustix::process::geteuid().is_root() { AS_ANOTHER_USER.to_vec() } else { Vec::new() };
    let in_its_namespace = [&another[..], &IN_A_NAMESPACE].concat();
    let mut paths = vec![("another user", another), ("another user's namespace", in_its_namespace)];
    if rustix::process::geteuid().is_root() {
        paths.push(("a namespace of root", IN_A_NAMESPACE.to_vec()));
    }
    paths
}

/// Returns a folder for a trial that `way` starts.
fn folder_for(way: &[&str]) -> MountFolder {
    let folder = MountFolder::new();
    if way.starts_with(&AS_ANOTHER_USER) {
        std::os::unix::fs::chown(folder.path(), Some(65_534), Some(65_534)).unwrap();
    }
    folder
}

/// Returns the command that runs a trial through the programs of `method`.
fn in_front(method: &[&str], inner: &Command, folder: &Path) -> Command {
    let before = method.iter().map(std::ffi::OsStr::new);
    let mut all = before.chain([inner.get_program()]).chain(inner.get_args());
    let mut command = Command::new(all.next().unwrap());
    command.args(all).current_dir(folder);
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns the command lines of processes that name the folder.
fn processes_in(folder: &Path) -> Vec<String> {
    let lines = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        Some(text(&fs::read(entry.path().join("cmdline")).ok()?).replace('\0', " "))
    });
    lines.filter(|line| line.contains(folder.to_str().unwrap())).collect()
}

/// Returns the results of a trial in the order of `systems`.
fn saved(folder: &MountFolder, systems: &[&str]) -> Vec<RunResult> {
    let entries = fs::read_dir(folder.path().join("results")).unwrap();
    let read = |path: &Path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut results: Vec<RunResult> = entries.map(|entry| read(&entry.unwrap().path())).collect();
    results.sort_by_key(|result| {
        let live = result.tests[0].samples[0].live.as_ref().unwrap();
        systems.iter().position(|system| *system == live.program.as_ref().unwrap().system)
    });
    results
}

/// A shell command that runs the trial, and then writes the mounts of its namespace to a file.
const THEN_MOUNTS: &str = "\"$@\"; code=$?; cat /proc/self/mounts >mounts; exit $code";

#[test]
fn a_trial_needs_no_privileges() {
    for (name, method) in unprivileged() {
        let folder = folder_for(&method);
        // fuse2fs ignores an fsync of a file that is open only for reading, as in sync(1).
        let script = "for i in $(seq 8); do echo $i | dd of=log oflag=append conv=notrunc,fsync || exit 1; done";
        let systems = [DISK, SATA];
        let options =
            ["--turns", "1", "--size", "64MiB", "--time-scale", "1", "--html", "page.html"];
        let words = [&systems[..], &options, &["--", "sh", "-c", script]].concat();
        let mut trial = program(folder.path(), &words);
        trial.env("COLUMNS", "160");
        let method = [&method[..], &["sh", "-c", THEN_MOUNTS, "sh"]].concat();
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let output = in_front(&method, &trial, folder.path()).output().unwrap();
        let printed = text(&output.stdout);
        let errors = text(&output.stderr);
        assert!(output.status.success(), "{name}: {printed}{errors}");
        let results = saved(&folder, &systems);
        assert_eq!(results.len(), systems.len(), "{name}");
        let samples: Vec<_> = results.iter().map(|result| &result.tests[0].samples[0]).collect();
        // The sentence ranks the systems, unless this machine was slower than the model of one of them.
        let is_in_time = samples.iter().all(|sample| sample.is_served_in_time());
        let (sentence, table) = printed.split_once("\n\n").unwrap();
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        let ranked = format!("{DISK} takes ");
        assert_eq!(is_in_time, sentence.starts_with(&ranked), "{name}: {printed}");
        assert_eq!(!is_in_time, is_unranked(&printed), "{name}: {printed}");
        if is_in_time {
            assert!(sentence.contains(&format!("the time of {SATA} in one turn")), "{sentence}");
            assert!(sentence.contains("waits for the drive"), "{sentence}");
        }
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        for (system, sample) in systems.iter().zip(samples) {
            let rows: Vec<&str> = table.lines().filter(|line| line.starts_with(system)).collect();
            assert_eq!(rows.len(), 1, "{name}: {printed}");
            let live = sample.live.as_ref().unwrap();
            let time: f64 = rows[0].split_whitespace().nth(1).unwrap().parse().unwrap();
            let saved = live.program_s().unwrap();
            // The table has two digits or more.
            assert!((time / saved - 1.0).abs() < 0.06, "{name}: {time} s, saved {saved} s");
            let program = live.program.as_ref().unwrap();
            assert_eq!((program.system.as_str(), program.exit_code), (*system, 0), "{name}");
            assert!(sample.writes.as_ref().unwrap().latency.count() >= 8, "{name}");
            assert!(sample.flushes.as_ref().unwrap().latency.count() >= 8, "{name}");
            assert!(page.contains(system), "{name}");
        }
        assert!(left(&folder).is_empty(), "{name}");
        let mounts = fs::read_to_string(folder.path().join("mounts")).unwrap();
        let path = folder.path().to_str().unwrap();
        assert!(mounts.contains(" / ") && !mounts.contains(path), "{name}: {mounts}");
        assert_eq!(processes_in(folder.path()), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn folders_and_images_are_the_contents_of_every_turn() {
    let Some(folder) = root_folder() else { return };
    let contents = folder.path().join("contents");
    fs::create_dir(&contents).unwrap();
    fs::write(contents.join("file"), "as it was").unwrap();
    // Each turn finds the file in its original state, and changes it.
    let script = "test \"$(cat file)\" = 'as it was' && echo changed >file && sync";
    let options = ["--turns", "2", "--size", "64MiB", "--time-scale", "1", "--json"];
    let words = [&[SATA, "--from", "contents"], &options[..], &["--", "sh", "-c", script]].concat();
    let output = run(&folder, &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = outcome["answer"].as_str().unwrap();
    assert!(answer.contains("takes") || is_unranked(answer), "{answer}");
    assert_eq!(outcome["runs"][0]["tests"][0]["samples"].as_array().unwrap().len(), 2);
    assert_eq!(fs::read_to_string(contents.join("file")).unwrap(), "as it was");
}

/// A command that a signal ends is a failed command, too.
#[test]
fn a_failing_command_ends_the_trial_with_its_output() {
    let Some(folder) = root_folder() else { return };
    for (script, code, printed) in [
        ("echo this went wrong; exit 3", "exit code 3", "this went wrong"),
        ("echo before; kill -SEGV $$", "exit code 139", "before"),
    ] {
        let output = run(&folder, &[SATA, "--size", "64MiB", "--", "sh", "-c", script]);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(code) && errors.contains(printed), "{errors}");
        assert!(left(&folder).is_empty());
    }
}

#[test]
fn daemons_end_with_the_turn_that_started_them() {
    let Some(folder) = root_folder() else { return };
    // No turn finds a daemon of an earlier turn, whose file would contain its number.
    let pids = folder.path().join("daemons");
    let daemon = format!("setsid sh -c 'echo $$ >>{}; sleep 1000; true'", pids.display());
    let script = format!(
        "for id in $(cat {0} 2>/dev/null); do grep -q sleep /proc/$id/cmdline && exit 9; done
         echo x >f; sync; {daemon} & sleep 0.3",
        pids.display()
    );
    let words = [SATA, "--size", "64MiB", "--turns", "2", "--time-scale", "1"];
    let output = run(&folder, &[&words[..], &["--", "sh", "-c", &script]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    // There is one uncounted turn and two counted turns.
    assert_eq!(fs::read_to_string(&pids).unwrap().lines().count(), 3);
    assert_eq!(processes_in(folder.path()), Vec::<String>::new());
    assert!(left(&folder).is_empty());
}

#[test]
fn two_trials_at_once_do_not_disturb_each_other() {
    if !is_root() {
        return skipped("a disk, which only root can have");
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folders = [MountFolder::new(), MountFolder::new()];
    let script =
        "for i in 1 2 3; do test ! -e f$i && echo $i >f$i && sync; done && test $(cat f3) = 3";
    let start = |folder: &MountFolder| {
        let words = [DISK, SATA, "--size", "64MiB", "--turns", "1", "--time-scale", "1"];
        let words = [&words[..], &["--", "sh", "-c", script]].concat();
        Running::new(program(folder.path(), &words).spawn().unwrap())
    };
    let running: Vec<Running> = folders.iter().map(start).collect();
    for (child, folder) in running.into_iter().zip(&folders) {
        let output = child.output();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(saved(folder, &[DISK, SATA]).len(), 2);
        assert!(left(folder).is_empty());
        assert_eq!(processes_in(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn an_interrupted_trial_leaves_nothing_mounted() {
    if is_root() {
        interrupted("disks of root", &[]);
    } else {
        skipped("a disk, which only root can have");
    }
    unprivileged().iter().for_each(|(name, method)| interrupted(name, method));
}

/// Interrupts a trial that `method` starts, and kills a second trial.
fn interrupted(name: &str, method: &[&str]) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for signal in ["-INT", "-KILL"] {
        let folder = folder_for(method);
        let mark = folder.path().join("started");
        // A daemon's command line contains the folder.
        let daemon = format!("setsid sh -c 'touch {}; sleep 1000; true'", mark.display());
        let script = format!("{daemon} & sleep 1000");
        let words = [SATA, "--size", "64MiB", "--", "sh", "-c", &script];
        let trial = program(folder.path(), &words);
        let mut child = Running::new(in_front(method, &trial, folder.path()).spawn().unwrap());
        let begun = Instant::now();
        while !mark.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name}: no command started");
            assert!(child.try_wait().unwrap().is_none(), "{name}: the trial has ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let status = child.wait().unwrap();
        if signal == "-INT" {
            assert_eq!(status.code(), Some(130), "{name}");
        }
        let path = folder.path().display().to_string();
        let is_clean = || {
            let mounts = fs::read_to_string("/proc/mounts").unwrap();
            left(&folder).is_empty()
                && !mounts.contains(&path)
                && processes_in(folder.path()).is_empty()
        };
        let begun = Instant::now();
        while !is_clean() {
            let processes = processes_in(folder.path());
            let is_late = begun.elapsed() > Duration::from_secs(60);
            assert!(!is_late, "{name}, {signal}: {:?}, {processes:?}", left(&folder));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let folder = MountFolder::new();
    for (words, why) in [
        (&[SATA, SATA, "--", "true"][..], "is given twice"),
        (&[SATA, "--size", "100TiB", "--", "true"], "the smallest drive holds only"),
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

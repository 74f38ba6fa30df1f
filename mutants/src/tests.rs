//! Records the time of each test, and the switches that it reaches.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::tree::Tree;

/// Tests that take longer than this are skipped.
const LIMIT: Duration = Duration::from_secs(20);
/// Time limit for whole studies and for files of Python tests.
const SLOW_LIMIT: Duration = Duration::from_secs(90);
/// Test programs that are skipped because they check rules for the source, or take too long.
const LEFT_OUT: [&str; 2] = ["tidy", "ladders"];
/// The test program that compares every digit of whole studies. It runs last, and changes that no other test detects
/// are counted separately, because a changed digit does not show which value is correct.
const GOLDEN: &str = "golden";

#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    /// Folder of the program's crate, in which cargo runs the program.
    pub folder: PathBuf,
    pub kind: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Rust,
    /// The program [`GOLDEN`].
    Golden,
    /// pytest. Each test is a whole file, because each start of pytest takes seconds.
    Python,
}

/// A test that passes and reaches one or more switches.
#[derive(Clone, Debug)]
pub struct Test {
    pub program: usize,
    pub name: String,
    pub time: Duration,
    /// Numbers of the switches that the test reaches, counted from one.
    pub meets: BTreeSet<usize>,
}

/// All tests that reach one or more switches.
pub struct Suite {
    pub programs: Vec<Program>,
    pub tests: Vec<Test>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    TimedOut,
}

/// Builds all tests, and runs each test separately.
pub fn record(tree: &mut Tree) -> Result<Suite, String> {
    let messages = tree.cargo(&[
        "test",
        "--workspace",
        "--all-features",
        "--no-run",
        "--lib",
        "--bins",
        "--tests",
    ])?;
    let mut programs = Vec::new();
    for message in messages {
        if let Some(error) = message["message"]["rendered"].as_str()
            && message["message"]["level"] == "error"
        {
            return Err(format!("the tests do not compile: {error}"));
        }
        let (Some(path), Some(manifest)) =
            (message["executable"].as_str(), message["manifest_path"].as_str())
        else {
            continue;
        };
        let name = message["target"]["name"].as_str().unwrap_or_default();
        if message["profile"]["test"] == true && !LEFT_OUT.contains(&name) {
            let folder = Path::new(manifest).parent().unwrap_or(Path::new("/")).to_owned();
            let kind = if name == GOLDEN { ChangeKind::Golden } else { ChangeKind::Rust };
            programs.push(Program { path: PathBuf::from(path), folder, kind });
        }
    }
    let mut names = Vec::new();
    for (number, program) in programs.iter().enumerate() {
        let listed = Command::new(&program.path)
            .args(["--list", "--format", "terse"])
            .current_dir(&program.folder)
            .output()
            .map_err(|error| format!("{}: {error}", program.path.display()))?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
        names.extend(tests.map(|name| (number, name.to_owned())));
    }
    if let Some(pytest) = python(tree)? {
        let tests = fs::read_dir(pytest.folder.join("tests")).map_err(|error| error.to_string())?;
        for file in tests.flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.starts_with("test_") && name.ends_with(".py") {
                names.push((programs.len(), format!("tests/{name}")));
            }
        }
        programs.push(pytest);
    }
    let folder = tree.copy.join("../met");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let tests = Mutex::new(Vec::new());
    in_parallel(names.len(), |number| {
        let (program, name) = &names[number];
        let met = folder.join(number.to_string());
        let began = Instant::now();
        let limit = if programs[*program].kind == ChangeKind::Rust { LIMIT } else { SLOW_LIMIT };
        let ended = run(
            command(&programs[*program], &[name.as_str()]).env("LANEMARK_MUTANT_MET", &met),
            limit,
        );
        let time = began.elapsed();
        let text = fs::read_to_string(&met).unwrap_or_default();
        let meets: BTreeSet<usize> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if ended == Outcome::Passed && !meets.is_empty() {
            let test = Test { program: *program, name: name.clone(), time, meets };
            tests.lock().unwrap_or_else(|error| error.into_inner()).push(test);
        }
    });
    let mut tests = tests.into_inner().unwrap_or_else(|error| error.into_inner());
    tests.sort_by(|one, two| {
        let order = |test: &Test| (programs[test.program].kind == ChangeKind::Golden, test.time);
        order(one).cmp(&order(two)).then_with(|| one.name.cmp(&two.name))
    });
    Ok(Suite { programs, tests })
}

/// Builds the Python package in the copy. Without the environment that `make python` creates, its tests are skipped.
fn python(tree: &Tree) -> Result<Option<Program>, String> {
    let path = tree.root.join("target/python/bin/python");
    if !path.exists() {
        println!("Python's tests are skipped: `make python` creates their environment");
        return Ok(None);
    }
    tree.cargo(&["build", "--workspace", "--all-features", "--lib", "--bins"])?;
    tree.cargo(&["build", "-p", "lanemark-lab", "--all-features", "--example", "one_run"])?;
    let folder = tree.copy.join("python");
    fs::copy(tree.programs().join("lib_lanemark.so"), folder.join("lanemark/_lanemark.abi3.so"))
        .map_err(|error| format!("the Python extension: {error}"))?;
    Ok(Some(Program { path, folder, kind: ChangeKind::Python }))
}

/// Calls `work` for each number below `count`, on all processors.
pub fn in_parallel(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    work(number);
                }
            });
        }
    });
}

/// Returns the command that runs tests of a program, with its output discarded.
pub fn command(program: &Program, names: &[&str]) -> Command {
    let mut command = Command::new(&program.path);
    match program.kind {
        ChangeKind::Rust | ChangeKind::Golden => {
            command.arg("--exact").args(names).args(["--test-threads", "1", "--quiet"])
        }
        // Without `-p no:cacheprovider`, concurrent runs would write to the same folder.
        ChangeKind::Python => command
            .args(["-m", "pytest", "-x", "-p", "no:cacheprovider"])
            .args(names)
            .env("PYTHONPATH", &program.folder)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LANEMARK_PROGRAMS", program.folder.join("../../build/debug")),
    };
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command
}

/// Runs a command of [`command`]. After `limit`, it and all processes that it started are ended.
pub fn run(command: &mut Command, limit: Duration) -> Outcome {
    let Ok(mut child) = command.spawn() else { return Outcome::Failed };
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Outcome::Passed,
            Ok(Some(_)) | Err(_) => return Outcome::Failed,
            Ok(None) if began.elapsed() > limit => {
                let group = format!("-{}", child.id());
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                let _ = child.wait();
                return Outcome::TimedOut;
            }
            Ok(None) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

//! The location of results without `--out`: the folder that the environment variables name, never the current folder. A
//! failure to save never loses the figures.

use std::fs;
use std::path::{Path, PathBuf};

use lanemark_testbed::{Lanemark, Mounted, lanemark};
use tempfile::TempDir;

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:m2";
const TEST: &str = "quick:rnd4k-q1t1-read";
const SHORT: [&str; 4] = ["--duration", "5ms", "--repeats", "1"];

/// A folder in which commands run, and a home folder.
struct User {
    current: TempDir,
    home: TempDir,
    variables: Vec<(&'static str, PathBuf)>,
}

impl User {
    fn new() -> Self {
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { current: folder(), home: folder(), variables: Vec::new() }
    }

    fn with(variable: &'static str, value: impl Into<PathBuf>) -> Self {
        Self { variables: vec![(variable, value.into())], ..Self::new() }
    }

    fn lanemark(&self, arguments: &[&str]) -> Lanemark {
        let run = lanemark!(self.current.path(), arguments).env("HOME", self.home.path());
        let run = run.without("LANEMARK_RESULTS");
        self.variables.iter().fold(run, |run, (name, value)| run.env(name, value))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The exit code of a command that prints its figures but cannot save them.
const NOT_SAVED: i32 = 4;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the commands that save a result without `--out`, in short forms.
fn commands() -> Vec<Vec<&'static str>> {
    let sim = [&["sim", NVME, TEST, "--no-interval"][..], &SHORT].concat();
    let bench = [&["bench", "disk.dat", TEST, "--size", "1MiB"][..], &SHORT].concat();
    let sweep = ["sweep", NVME, "--workload", TEST, "--duration", "5ms", "--axis", "queue_depth=1"];
    vec![
        sim,
        bench,
        sweep.to_vec(),
        vec!["study", "sata-vs-nvme-datasheets", "--no-interval"],
        vec!["sim", NVME, "columns.csv", "--as-one", "--wrap"],
        vec!["oltp", "run", "--duration", "300 ms", "--ramp", "0 s", "--repeats", "1"],
    ]
}

/// Copies the commands' input files into the current folder, and returns the names of the files there.
fn prepare(user: &User) -> Vec<String> {
    user.lanemark(&["library", "columns.csv", "--copy"]).texts();
    user.lanemark(&["oltp", "load", "--warehouses", "1", "--scale", "100"]).texts();
    names(user.current.path())
}

#[test]
fn every_command_saves_in_the_state_folder_and_leaves_the_current_folder_as_it_was() {
    let user = User::new();
    let before = prepare(&user);
    let state = user.home.path().join(".local/state/lanemark");
    for (number, arguments) in commands().iter().enumerate() {
        let (stdout, stderr) = user.lanemark(arguments).texts();
        assert!(!stdout.is_empty(), "{arguments:?}");
        let saved = stderr.lines().find_map(|line| line.strip_prefix("saved "));
        let saved = saved.unwrap_or_else(|| panic!("{arguments:?}: {stderr}"));
        let saved = Path::new(saved.split(", which").next().unwrap());
        assert!(saved.starts_with(&state) && saved.is_file(), "{arguments:?}: {stderr}");
        assert!(names(&state).len() > number, "{arguments:?}");
    }
    let mut left = names(user.current.path());
    left.retain(|name| !name.contains(".db"));
    let before: Vec<_> = before.into_iter().filter(|name| !name.contains(".db")).collect();
    assert_eq!(left.len(), before.len(), "{left:?}");
    let (listed, _) = user.lanemark(&["report"]).texts();
    assert!(listed.contains(&state.display().to_string()), "{listed}");
}

#[test]
fn variables_name_the_folder() {
    let sim = &commands()[0];
    let state = TempDir::new().unwrap();
    let user = User::with("XDG_STATE_HOME", state.path());
    user.lanemark(sim).texts();
    assert_eq!(names(&state.path().join("lanemark")).len(), 1);
    // A relative path is not valid in that variable.
    let user = User::with("XDG_STATE_HOME", "state");
    user.lanemark(sim).texts();
    assert_eq!(names(&user.home.path().join(".local/state/lanemark")).len(), 1);
    let user = User::with("LANEMARK_RESULTS", "own/runs");
    user.lanemark(sim).texts();
    assert_eq!(names(&user.current.path().join("own/runs")).len(), 1);
    assert_eq!(names(user.home.path()), [""; 0]);
    // Only the requested file is written.
    user.lanemark(&[&sim[..], &["--out", "one.json"]].concat()).texts();
    user.lanemark(&[&sim[..], &["--no-save"]].concat()).texts();
    assert_eq!(names(&user.current.path().join("own/runs")).len(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_never_costs_the_figures() {
    // A file cannot contain a folder, and the kernel does not permit new files in /proc, even for root.
    let file = tempfile::NamedTempFile::new().unwrap();
    for folder in [file.path().join("results"), PathBuf::from("/proc/self/results")] {
        let user = User::with("LANEMARK_RESULTS", &folder);
        prepare(&user);
        for arguments in commands() {
            let output = user.lanemark(&arguments).output();
            let stdout = text(&output.stdout);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(NOT_SAVED), "{arguments:?}: {stderr}");
            assert!(stdout.lines().count() > 3, "{arguments:?}: {stdout}");
            assert!(stderr.contains("warning: the result is not saved: "), "{stderr}");
            assert!(stderr.contains("LANEMARK_RESULTS"), "{stderr}");
            let saved = stderr.lines().any(|line| line.starts_with("saved "));
            assert!(!saved, "{arguments:?}: {stderr}");
        }
        // A requested file must be writable, and the command fails before it runs.
        let requested = folder.join("one.json").display().to_string();
        let output = user.lanemark(&["sim", NVME, TEST, "--out", &requested]).output();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    }
    let (_, message) = User::new().lanemark(&["report"]).texts();
    assert!(message.contains("no result matches"), "{message}");
}

/// The test uses a folder of a few kilobytes, which the first results fill.
#[test]
fn a_full_folder_never_costs_the_figures() {
    let Some(small) = Mounted::with(&["-t", "tmpfs", "-o", "size=64k", "lanemark"]) else { return };
    fs::write(small.path().join("filler"), vec![0; 60 << 10]).unwrap();
    let user = User::with("LANEMARK_RESULTS", small.path());
    let sim = &commands()[0];
    let output = user.lanemark(sim).output();
    let stdout = text(&output.stdout);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(NOT_SAVED), "{stderr}");
    assert!(stdout.contains(" MB/s") && stderr.contains("warning: the result is not saved: "));
    // A requested file in the full folder is an error, but the figures are printed.
    let requested = small.path().join("one.json").display().to_string();
    let output = user.lanemark(&[&sim[..], &["--out", &requested]].concat()).output();
    let again = text(&output.stdout);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(again, stdout);
}

#[test]
fn a_bare_name_is_found_in_the_folder_of_results() {
    let user = User::new();
    let state = user.home.path().join(".local/state/lanemark");
    let one = state.join("one.json").display().to_string();
    user.lanemark(&[&commands()[0][..], &["--out", &one]].concat()).texts();
    fs::copy(&one, user.current.path().join("here.json")).unwrap();
    user.lanemark(&["compare", "one.json", "here.json"]).texts();
    for name in ["one.json", "one"] {
        user.lanemark(&["compare", name, "here.json"]).texts();
        user.lanemark(&["report", name, "here.json", "--out", "page.html"]).texts();
        user.lanemark(&["report", name, "--chart", "budget", "--out", "budget.svg"]).texts();
        user.lanemark(&["compare", name, ":pcie-slot", "--no-interval"]).texts();
        user.lanemark(&["report", name, "--format", "csv"]).texts();
    }
    // The current folder is searched first, and a path with a folder is used as it is.
    fs::write(user.current.path().join("one.json"), "{}").unwrap();
    let output = user.lanemark(&["compare", "one.json", "here.json"]).output();
    assert!(text(&output.stderr).contains("one.json is not a Lanemark result"));
    for (wrong, says) in
        [("two.json", "is neither in the current folder nor in "), ("./two.json", "can't be read")]
    {
        let output = user.lanemark(&["compare", "here.json", wrong]).output();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(says), "{wrong}: {stderr}");
        let names_both = stderr.contains(&state.display().to_string());
        assert_eq!(names_both, wrong == "two.json", "{stderr}");
    }
}

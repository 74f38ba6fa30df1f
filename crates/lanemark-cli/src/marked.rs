//! The processes that a program of a run leaves running, such as daemons. An environment variable of these processes
//! names the run's folder.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Name of the environment variable that contains the run's folder.
const MARK: &str = "LANEMARK_TRIAL";
/// Maximum time to end the processes.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Time between two attempts to end the processes.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns the variable that marks the programs of the run in `folder` and their descendants.
pub(crate) fn variable(folder: &Path) -> (&'static str, &OsStr) {
    (MARK, folder.as_os_str())
}

/// Kills the programs of the run in `folder` and their descendants, until there are no more. A process that has removed
/// the variable from its environment survives.
pub(crate) fn end(folder: &Path) {
    let (name, value) = variable(folder);
    let mut mark = OsString::from(name);
    mark.push("=");
    mark.push(value);
    let began = Instant::now();
    while began.elapsed() < TIME_MAX {
        let left = with_variable(&mark);
        if left.is_empty() {
            return;
        }
        for process in left {
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns the processes whose environment contains `variable`. The environment of a process that has ended is empty.
fn with_variable(variable: &OsStr) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has_it = |id: &i32| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    };
    numbers.filter(has_it).filter_map(Pid::from_raw).collect()
}

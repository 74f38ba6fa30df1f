//! The processes that a program of a run leaves running, such as daemons. An environment variable of these processes
//! names the run's folder.
//!
//! A trial also adopts the orphans among its descendants ([`adopt_orphans`]). It ends and reaps them after each
//! program, because a process that was not reaped still looks alive: after a power cut, a database server that finds
//! the number of its predecessor in a lock file would refuse to start. Not every container has an init process that
//! reaps orphans.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
};

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

/// Whether this process adopts orphans.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process the parent of every orphan among its descendants (`PR_SET_CHILD_SUBREAPER` of prctl(2)).
pub(crate) fn adopt_orphans() {
    let adopts = set_child_subreaper(Some(getpid())).is_ok();
    ADOPTS.store(adopts, Ordering::SeqCst);
}

/// Kills and reaps the orphans that this process has adopted. `others` are its own children, which stay. This does
/// nothing in a process that does not adopt orphans.
pub(crate) fn end_orphans(others: &[Pid]) {
    let began = Instant::now();
    while ADOPTS.load(Ordering::SeqCst) && began.elapsed() < TIME_MAX {
        let mut orphans = children();
        orphans.retain(|child| !others.contains(child));
        if orphans.is_empty() {
            return;
        }
        for orphan in orphans {
            let _ = kill_process(orphan, Signal::KILL);
            let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns the children of this process, including those that have ended and were not reaped yet.
pub(crate) fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().to_string();
    let is_child = |id: &i32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name of the program, in parentheses, may contain spaces; the state and the parent follow it.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        fields.split_whitespace().nth(1) == Some(own.as_str())
    };
    process_numbers().filter(is_child).filter_map(Pid::from_raw).collect()
}

fn process_numbers() -> impl Iterator<Item = i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
}

/// Returns the processes whose environment contains `variable`. The environment of a process that has ended is empty.
fn with_variable(variable: &OsStr) -> Vec<Pid> {
    let has_it = |id: &i32| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    };
    process_numbers().filter(has_it).filter_map(Pid::from_raw).collect()
}

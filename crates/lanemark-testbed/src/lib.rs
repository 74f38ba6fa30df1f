//! The fixtures that tests of several crates share: the command, tools, loop devices, mounts, control groups, programs
//! that mount, an NBD client, the commands in documents, and names of systems.
//!
//! [`skipped`] reports a missing tool or permission. In CI (if `CI` is set), it panics, so that no test is skipped
//! unnoticed; otherwise it prints a line on stderr, and the test ends. All fixtures are removed when they are dropped.
//!
//! Only tests use this crate.

pub mod documents;
mod group;
mod launcher;
mod loop_device;
mod nbd_client;
mod running;
pub mod systems;

use std::path::Path;
use std::process::Command;

pub use group::Group;
pub use launcher::{Lanemark, project, stderr};
pub use loop_device::{LoopDevice, Mounted};
pub use nbd_client::{Answer, NbdClient};
pub use running::{MountFolder, Running, mounts_in};

/// Prints that a test is skipped because `what` is missing.
///
/// # Panics
/// Panics in CI, because every requirement must be met there.
pub fn skipped(what: &str) {
    assert!(!is_ci(), "in CI no test is skipped: {what}");
    eprintln!("skipped: {what}");
}

/// Prints that a test is skipped because `what` is missing in this machine's kernel or hardware and cannot be
/// installed. Unlike [`skipped`], it does not fail in CI.
pub fn not_on_this_machine(what: &str) {
    eprintln!("skipped: {what}");
}

/// Maximum share of the processors that other programs may use while a test compares times.
const LOAD_MAX: f64 = 0.1;

/// Fails a test whose comparison of times disagrees, as `what` states. The test is [`not_on_this_machine`] instead if
/// other programs use the processors now, because they can delay either side.
///
/// # Panics
/// Panics if the processors are free.
pub fn times_disagree(what: &str) {
    let load = other_load();
    assert!(load > LOAD_MAX, "{what}");
    not_on_this_machine(&format!("{load:.2} of the processors are in use: {what}"));
}

/// Returns the share of the processors that other programs use, which is measured for half a second while the caller
/// waits.
///
/// # Panics
/// Panics if the kernel does not report the times of the processors.
fn other_load() -> f64 {
    let times = || -> Vec<f64> {
        let text = std::fs::read_to_string("/proc/stat").expect("times of the processors");
        let all =
            text.lines().next().expect("a line for all processors").split_whitespace().skip(1);
        all.take(8).map(|time| time.parse().expect("a number of ticks")).collect()
    };
    let before = times();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let spent: Vec<f64> = times().iter().zip(&before).map(|(now, before)| now - before).collect();
    // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
    let idle = spent[3] + spent[4];
    1.0 - idle / spent.iter().sum::<f64>().max(1.0)
}

/// Returns whether the test runs in CI.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// Runs a tool, and returns its output or a description of its failure.
pub fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(name).args(arguments).output();
    let done = done.map_err(|error| format!("{name}: {error}"))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    } else {
        let errors = String::from_utf8_lossy(&done.stderr);
        Err(format!("{name} {}: {}", arguments.join(" "), errors.trim()))
    }
}

/// Runs a tool, and returns its output; if the tool fails, the test is [`skipped`].
pub fn tool_or_skip(name: &str, arguments: &[&str]) -> Option<String> {
    tool(name, arguments).map_err(|why| skipped(&why)).ok()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

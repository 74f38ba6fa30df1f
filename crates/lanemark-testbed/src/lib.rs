//! The fixtures that tests of several crates share: tools, loop devices, mounts, control groups, programs that mount,
//! an NBD client, the commands in documents, and names of systems.
//!
//! [`skipped`] reports a missing tool or permission. In CI (if `CI` is set), it panics, so that no test is skipped
//! unnoticed; otherwise it prints a line on stderr, and the test ends. All fixtures are removed when they are dropped.
//!
//! Only tests use this crate.

pub mod documents;
mod group;
mod loop_device;
mod nbd_client;
mod running;
pub mod systems;

use std::path::Path;
use std::process::Command;

pub use group::Group;
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

/// Returns whether the test runs in CI.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// Runs a tool, and returns its output or a description of its failure.
pub fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(name).args(arguments).output();
    let done = done.map_err(|error| format!("{name}: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
        false => {
            let errors = String::from_utf8_lossy(&done.stderr);
            Err(format!("{name} {}: {}", arguments.join(" "), errors.trim()))
        }
    }
}

/// Runs a tool, and returns its output; if the tool fails, the test is [`skipped`].
pub fn tool_or_skip(name: &str, arguments: &[&str]) -> Option<String> {
    tool(name, arguments).map_err(|why| skipped(&why)).ok()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

//! The fixtures that tests of several crates share: tools, loop devices, mounts, control groups, an NBD client, commands as
//! documents show them, names of systems.
//!
//! Whatever a machine or user does not give is told by [`skipped`]: in CI (`CI` is set) that is a failure, so that no
//! test is left out there without anybody knowing; elsewhere it is a line on stderr, and the test ends. All that is made
//! here is taken away when it is dropped.
//!
//! Only tests import this crate.

pub mod documents;
mod group;
mod loop_device;
mod nbd_client;
pub mod systems;

use std::path::Path;
use std::process::Command;

pub use group::Group;
pub use loop_device::{LoopDevice, Mounted};
pub use nbd_client::{Answer, NbdClient};

/// Says that a test is skipped because of `what` is missing.
///
/// # Panics
/// In CI, where nothing may be missing.
pub fn skipped(what: &str) {
    assert!(!is_ci(), "in CI no test is skipped: {what}");
    eprintln!("skipped: {what}");
}

/// Returns whether this is CI.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// Runs a tool and gives what it printed; none where it failed.
pub fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(name).args(arguments).output();
    let done = done.map_err(|error| format!("{name}: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            Err(format!("{name} {}: {}", arguments.join(" "), said.trim()))
        }
    }
}

/// Runs a tool and gives what it printed; where it fails, the test is [`skipped`].
pub fn tool_or_skip(name: &str, arguments: &[&str]) -> Option<String> {
    tool(name, arguments).map_err(|why| skipped(&why)).ok()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

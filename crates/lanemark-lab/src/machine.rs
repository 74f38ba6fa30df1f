//! A real machine as a platform: its sysfs tree, or a capture of the tree, converted to a platform with a port for each
//! drive.

use std::path::Path;

use lanemark_inspect::{Sysfs, inspect};
use lanemark_study::inspected::{self, InspectedPlatform};

use crate::error::LabError;
use crate::input;

/// The path of the running machine's own tree.
pub const SYSFS: &str = "/sys";

/// Opens the sysfs tree at `path`: a folder, or a capture whose name ends in `.tar`.
///
/// # Errors
/// Returns an error if `path` cannot be read as a sysfs tree.
pub fn tree(path: &Path) -> Result<Sysfs, LabError> {
    let is_capture = path.extension().is_some_and(|extension| extension == "tar");
    if !is_capture || path.is_dir() {
        return Ok(Sysfs::open(path)?);
    }
    let to_error = |error| LabError::input(format!("{}: can't be read: {error}", path.display()));
    Ok(Sysfs::of_capture(input::open(path).map_err(to_error)?, path)?)
}

/// Returns the machine whose tree is at `path`, as a platform file named `name`. The call needs no privileges. Values
/// that only the superuser can read are assumed, and the file marks them as assumed.
///
/// # Errors
/// Returns an error if the tree cannot be read, or if no device is downstream of a link that a port could represent.
pub fn platform(path: &Path, name: &str) -> Result<InspectedPlatform, LabError> {
    let sysfs = tree(path)?;
    let inspection = inspect(&sysfs, None)?;
    Ok(inspected::platform_file(&inspection, name, sysfs.processors())?)
}

//! A real machine as a platform: its sysfs tree, or a capture of one, with a port for each drive.

use std::path::Path;

use lanemark_inspect::{Sysfs, inspect};
use lanemark_study::inspected::{self, InspectedPlatform};

use crate::error::LabError;
use crate::input;

/// The place of a running machine's own tree.
pub const SYSFS: &str = "/sys";

/// Opens the sysfs tree at `path`, a folder, or a capture where that ends in `.tar`.
///
/// # Errors
/// Where nothing there can be read as one.
pub fn tree(path: &Path) -> Result<Sysfs, LabError> {
    let is_capture = path.extension().is_some_and(|extension| extension == "tar");
    if !is_capture || path.is_dir() {
        return Ok(Sysfs::open(path)?);
    }
    let failed = |error| LabError::input(format!("{}: can't be read: {error}", path.display()));
    Ok(Sysfs::of_capture(input::open(path).map_err(failed)?, path)?)
}

/// The machine whose tree is at `path` as a platform file, called `name`. Needs no right that a user lacks; what only
/// the superuser is told is assumed, and the file says so.
///
/// # Errors
/// Where the tree cannot be read, or has no device behind a link that a port could stand for.
pub fn platform(path: &Path, name: &str) -> Result<InspectedPlatform, LabError> {
    let sysfs = tree(path)?;
    let inspection = inspect(&sysfs, None)?;
    Ok(inspected::platform_file(&inspection, name, sysfs.processors())?)
}

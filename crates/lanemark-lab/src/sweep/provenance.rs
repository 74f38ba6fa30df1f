//! The provenance of a sweep, stored next to its CSV as `NAME.csv.provenance.json`.
//!
//! The file is written when the sweep begins, and a continued sweep does not change it. The provenance file does not
//! contain times. Therefore an interrupted and continued sweep leaves the same bytes as an uninterrupted sweep, in this
//! file and in its rows.

use std::path::{Path, PathBuf};

use lanemark_schema::result::Provenance;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::{input, json, reserved};

/// The maximum length of a provenance file, which contains names and hashes of files, and a command line.
const LENGTH_MAX: u64 = 4 << 20;

/// The content of the provenance file.
#[derive(Serialize, Deserialize)]
pub(super) struct SweepProvenance {
    /// The hash that identifies the sweep: system, workload, library, seed, settings, axes and version.
    pub(super) sweep: String,
    /// The number of points of the whole sweep, even if the file is only a part; 0 if it is not recorded.
    #[serde(default)]
    pub(super) points: u64,
    /// Names of the sweep's axes.
    #[serde(default)]
    pub(super) axes: Vec<String>,
    pub(super) provenance: Provenance,
}

/// Records the provenance of a sweep with this hash, number of points and axes next to its file at `path`, unless it is
/// already recorded.
pub(super) fn note(
    path: &Path,
    sweep: &str,
    points: u64,
    axes: Vec<String>,
    mut provenance: Provenance,
) -> Result<(), LabError> {
    let beside = provenance_path(path);
    if std::fs::symlink_metadata(&beside).is_ok() {
        match read(&beside) {
            Some(there) if there.sweep == sweep => return Ok(()),
            // The CSV belongs to this sweep, but the provenance file belongs to an earlier sweep.
            Some(_) => {}
            None => {
                let message =
                    format!("{} exists and is not the provenance of a sweep", beside.display());
                return Err(
                    LabError::refused(message).hint("use a different --out, or remove the file")
                );
            }
        }
    }
    (provenance.started_at, provenance.finished_at) = (String::new(), String::new());
    let text = json::text(&SweepProvenance { sweep: sweep.to_owned(), points, axes, provenance })?;
    reserved::replace(&beside, text.as_bytes(), false)
        .map_err(|error| LabError::run(format!("{}: can't be written: {error}", beside.display())))
}

/// Returns the provenance of the sweep at `path`, if its file exists.
pub fn read_if_present(path: &Path) -> Option<Provenance> {
    read_complete(path).map(|there| there.provenance)
}

/// Returns the hash that identifies the sweep at `path`, if its provenance file exists.
pub fn hash_of(path: &Path) -> Option<String> {
    read_complete(path).map(|there| there.sweep)
}

/// Returns the complete provenance file of the sweep at `path`.
pub(super) fn read_complete(path: &Path) -> Option<SweepProvenance> {
    read(&provenance_path(path))
}

fn read(path: &Path) -> Option<SweepProvenance> {
    serde_json::from_str(&input::text(path, LENGTH_MAX).ok()?).ok()
}

/// Returns the path of the provenance file of the sweep at `path`.
pub(super) fn provenance_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".provenance.json");
    PathBuf::from(name)
}

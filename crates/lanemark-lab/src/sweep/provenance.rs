//! The provenance of a sweep, in a file beside its CSV, `NAME.csv.provenance.json`.
//!
//! The file is written when the sweep begins and stays when the sweep goes on, and holds no times: a sweep that was
//! interrupted comes to the same bytes as one that was not, here as in its rows.

use std::path::{Path, PathBuf};

use lanemark_core::result::Provenance;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::{input, json, reserved};

/// The longest such file: names and hashes of files, a command line.
const LENGTH_MAX: u64 = 4 << 20;

/// The content of the provenance file.
#[derive(Serialize, Deserialize)]
pub(super) struct Beside {
    /// The hash that tells the sweep from all others: system, workload, library, seed, settings, axes and version.
    pub(super) sweep: String,
    /// Number of points of the sweep, of which the file may be a part; 0 where that is not noted.
    #[serde(default)]
    pub(super) points: u64,
    /// Names of the sweep's axes.
    #[serde(default)]
    pub(super) axes: Vec<String>,
    pub(super) provenance: Provenance,
}

/// Notes beside the sweep's file at `path` who made the sweep of that hash, so many points and these axes, unless that
/// is noted already.
pub(super) fn note(
    path: &Path,
    (sweep, points, axes): (&str, u64, Vec<String>),
    mut provenance: Provenance,
) -> Result<(), LabError> {
    let beside = beside(path);
    if std::fs::symlink_metadata(&beside).is_ok() {
        match read(&beside) {
            Some(there) if there.sweep == sweep => return Ok(()),
            // The CSV is this sweep's, so that what lies beside it is of one that is gone.
            Some(_) => {}
            None => {
                let message =
                    format!("{}: exists and is no provenance of a sweep", beside.display());
                return Err(
                    LabError::refused(message).hint("give another --out, or remove the file")
                );
            }
        }
    }
    (provenance.started_at, provenance.finished_at) = (String::new(), String::new());
    let text = json::text(&Beside { sweep: sweep.to_owned(), points, axes, provenance })?;
    reserved::replace(&beside, text.as_bytes(), false)
        .map_err(|error| LabError::run(format!("{}: can't be written: {error}", beside.display())))
}

/// Returns the provenance of the sweep at `path`, where there is such a file.
pub fn of(path: &Path) -> Option<Provenance> {
    whole(path).map(|there| there.provenance)
}

/// Returns the hash that tells the sweep at `path` from all others, where there is such a file.
pub fn hash_of(path: &Path) -> Option<String> {
    whole(path).map(|there| there.sweep)
}

/// Returns the whole provenance file of the sweep at `path`.
pub(super) fn whole(path: &Path) -> Option<Beside> {
    read(&beside(path))
}

fn read(path: &Path) -> Option<Beside> {
    serde_json::from_str(&input::text(path, LENGTH_MAX).ok()?).ok()
}

/// The file beside the sweep at `path`.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".provenance.json");
    PathBuf::from(name)
}

//! Who made a sweep, with what: a file beside its CSV, `NAME.csv.provenance.json`.
//!
//! The file is written when the sweep begins and stays when the sweep goes on, and holds no times: a sweep that was
//! interrupted comes to the same bytes as one that was not, here as in its rows.

use std::path::{Path, PathBuf};

use lanemark_core::result::Provenance;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::{input, output, reserved};

/// The longest such file: names and hashes of files, a command line.
const LENGTH_MAX: u64 = 4 << 20;

/// What the file holds.
#[derive(Serialize, Deserialize)]
struct Beside {
    /// The hash that tells the sweep from all others: system, workload, library, seed, settings, axes and version.
    sweep: String,
    provenance: Provenance,
}

/// Notes beside the sweep's file at `path` who made the sweep, unless that is noted already.
pub(crate) fn note(path: &Path, sweep: &str, mut provenance: Provenance) -> Result<(), Failure> {
    let beside = beside(path);
    if std::fs::symlink_metadata(&beside).is_ok() {
        match read(&beside) {
            Some(there) if there.sweep == sweep => return Ok(()),
            // The CSV is this sweep's, so that what lies beside it is of one that is gone.
            Some(_) => {}
            None => {
                let message =
                    format!("{}: exists and is no provenance of a sweep", beside.display());
                let hint = Some("give another --out, or remove the file".to_owned());
                return Err(Failure::Refused { message, hint });
            }
        }
    }
    (provenance.started_at, provenance.finished_at) = (String::new(), String::new());
    let text = output::json(&Beside { sweep: sweep.to_owned(), provenance })?;
    reserved::replace(&beside, text.as_bytes(), false)
        .map_err(|error| Failure::run(format!("{}: can't be written: {error}", beside.display())))
}

/// Who made the sweep at `path`, where that is noted beside it.
pub(crate) fn of(path: &Path) -> Option<Provenance> {
    read(&beside(path)).map(|there| there.provenance)
}

fn read(path: &Path) -> Option<Beside> {
    serde_json::from_str(&input::text(path, LENGTH_MAX).ok()?).ok()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".provenance.json");
    PathBuf::from(name)
}

//! The file of a result: at the path that the user requests, or in the default folder.
//!
//! If a requested file cannot be written, the command fails before it runs anything. A problem with the default folder
//! must not lose the figures: if the folder is not writable, the command warns and prints the result, and its exit code
//! reports that the result is not saved.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use lanemark_lab::reserved::ReservedName;
use lanemark_lab::results::ResultFile;
use lanemark_lab::{LabError, default_folder};
use lanemark_schema::result::{RunResult, StudyOutcome};

use crate::output::failure::Failure;
use crate::output::messages::tell;

/// The location at which a command saves its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination<'a> {
    /// At the path that the user requests: a folder, or a file that ends in `.json`.
    Requested(&'a Path),
    /// In the default folder.
    Default,
    /// The result is not saved.
    Nowhere,
}

impl<'a> Destination<'a> {
    /// Returns the destination that the option `--out` names.
    pub(crate) fn from_out(out: Option<&'a Path>) -> Self {
        out.map_or(Self::Default, Self::Requested)
    }
}

/// The file of a result.
pub(crate) struct ResultSaver {
    /// `None` if the result is not saved.
    file: Option<ResultFile>,
    is_default: bool,
}

impl ResultSaver {
    /// Reserves the file. If the default folder is not writable, prints a warning.
    ///
    /// # Errors
    /// Returns an error if a requested file cannot be written.
    pub(crate) fn open(
        destination: Destination<'_>,
        what: &str,
        started_at: &str,
    ) -> Result<Self, Failure> {
        let is_default = destination == Destination::Default;
        let out = match destination {
            Destination::Nowhere => return Ok(Self { file: None, is_default }),
            Destination::Requested(path) => Ok(path.to_owned()),
            Destination::Default => default_folder::of_results(),
        };
        match out.and_then(|out| ResultFile::new(&out, what, started_at)) {
            Ok(file) => Ok(Self { file: Some(file), is_default }),
            Err(error) if is_default => {
                warn(&error);
                Ok(Self { file: None, is_default })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn save_run(&self, run: &RunResult) -> Result<(), LabError> {
        self.file.as_ref().map_or(Ok(()), |file| file.save_run(run))
    }

    pub(crate) fn save_study(&self, outcome: &StudyOutcome) -> Result<(), LabError> {
        self.file.as_ref().map_or(Ok(()), |file| file.save(outcome))
    }

    /// Prints the location of the saved result, or a warning if the default folder was not writable.
    ///
    /// # Errors
    /// Returns the error if a requested file could not be written.
    pub(crate) fn report(&self, saved: Result<(), LabError>) -> Result<(), Failure> {
        match (saved, &self.file) {
            (Ok(()), Some(file)) => tell!("saved {}", file.path().display()),
            (Ok(()), None) => {}
            (Err(error), _) if self.is_default => warn(&error),
            (Err(error), _) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Returns the default folder of results, after checking that it is writable.
///
/// # Errors
/// Returns an error if there is no default folder, or if it is not writable.
pub(crate) fn writable_default() -> Result<PathBuf, LabError> {
    let folder = default_folder::of_results()?;
    let name = |number: u32| format!("check-{}-{number}", std::process::id());
    drop(ReservedName::in_folder(&folder, name)?);
    Ok(folder)
}

/// Exit code of a command that printed its figures but could not save them.
pub(crate) const NOT_SAVED: u8 = 4;

/// Whether this process could not save its result.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Returns the exit code of a command that did not fail.
pub(crate) fn exit_code() -> u8 {
    if IS_LOST.load(Ordering::Relaxed) { NOT_SAVED } else { 0 }
}

/// Warns that the default folder is not writable.
pub(crate) fn warn(error: &LabError) {
    IS_LOST.store(true, Ordering::Relaxed);
    let variable = default_folder::VARIABLE;
    tell!("warning: the result is not saved: {error}");
    tell!(
        "hint: use --out to save it elsewhere, or set {variable} to a different folder for all results"
    );
}

//! The results that a user names: files of Lanemark and of other programs, and folders of them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use lanemark_formats::SuppliedSettings;
use lanemark_formats::foreign::ForeignRun;
use lanemark_schema::result::{RunResult, StudyOutcome, Target};

use crate::error::{ErrorCause, LabError};
use crate::foreign::{self, ForeignInput};
use crate::input;
use crate::results::{self, SavedResult};

/// Maximum number of files in one set.
const FILES_MAX: usize = 4096;

/// Up to one study, and any number of runs in the order in which they were named.
#[derive(Debug, Default)]
pub struct ResultSet {
    /// The study.
    pub study: Option<StudyOutcome>,
    /// The runs; files of other programs that describe one target are one run.
    pub runs: Vec<RunResult>,
    /// Sentences about the set, such as a file that was named twice.
    pub notes: Vec<String>,
}

/// A set that is being read.
struct ReadingState<'s> {
    set: ResultSet,
    supplied: &'s SuppliedSettings,
    /// Runs with the position of their first file.
    runs: Vec<(usize, RunResult)>,
    foreign: Vec<ForeignRun>,
    inputs: Vec<ForeignInput>,
    errors: Vec<LabError>,
    /// The length that further files of other programs may have. All of them together are limited to the maximum
    /// length of one file.
    room: u64,
}

impl ResultSet {
    /// Reads results by name: a file, `FILE#SYSTEM` for one system of a study, the name of a saved result, or a folder,
    /// whose `.json` files are read. `supplied` contains settings for tests of other programs that do not state them.
    ///
    /// # Errors
    /// Returns one error for all files that cannot be read.
    pub fn load(names: &[String], supplied: &SuppliedSettings) -> Result<Self, LabError> {
        let mut reading = ReadingState {
            set: Self::default(),
            supplied,
            runs: Vec::new(),
            foreign: Vec::new(),
            inputs: Vec::new(),
            errors: Vec::new(),
            room: input::RESULT_MAX,
        };
        let files = expand(names)?;
        for (position, name) in files.iter().enumerate() {
            if files[..position].contains(name) {
                reading.set.notes.push(format!("{name} was named twice; it is read once"));
            } else {
                let outcome = reading.read(position, name);
                reading.errors.extend(outcome.err());
            }
        }
        reading.finish()
    }

    /// Returns the only run of the set.
    ///
    /// # Errors
    /// Returns an error that names the runs or systems if there are several.
    pub fn only_run(&self) -> Result<&RunResult, LabError> {
        match (&self.study, self.runs.as_slice()) {
            (None, [run]) => Ok(run),
            (Some(study), []) => {
                let names: Vec<&str> = study.systems.iter().map(|one| one.name.as_str()).collect();
                Err(LabError::input("expected one run, but this is a study of several systems")
                    .hint(format!("name one of them, FILE#SYSTEM: {}", names.join(", "))))
            }
            (_, runs) => {
                let names: Vec<String> = runs.iter().map(target).collect();
                Err(LabError::input(format!(
                    "expected one run, but these are {}: {}",
                    runs.len() + usize::from(self.study.is_some()),
                    names.join("; ")
                ))
                .hint("name the files of one target at a time"))
            }
        }
    }
}

impl ReadingState<'_> {
    fn read(&mut self, position: usize, name: &str) -> Result<(), LabError> {
        let (file, system) = results::file_and_system(name);
        if system.is_some() {
            self.runs.push((position, results::load_run(name)?));
            return Ok(());
        }
        let path = results::find_result_file(Path::new(file))?;
        let name = path.display().to_string();
        let text = input::text(&path, self.room)?;
        if !foreign::is_foreign(&text) {
            return self.add_own(position, &name, &text);
        }
        self.room -= text.len() as u64;
        self.foreign.extend(foreign::read(&name, &text)?);
        self.inputs.push(ForeignInput::new(name, &text, position));
        Ok(())
    }

    fn add_own(&mut self, position: usize, name: &str, text: &str) -> Result<(), LabError> {
        match results::read_text(name, text)? {
            SavedResult::Run(run) => self.runs.push((position, *run)),
            SavedResult::Study(_) if self.set.study.is_some() => {
                return Err(LabError::input(format!("{name} is a second study"))
                    .hint("name up to one study and any number of runs"));
            }
            SavedResult::Study(study) => self.set.study = Some(*study),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ResultSet, LabError> {
        match self.errors.as_slice() {
            [] => {}
            [only] => return Err(only.clone()),
            [first, ..] => {
                let messages: Vec<&str> =
                    self.errors.iter().map(|one| one.message.as_str()).collect();
                let message = messages.join("\n  ");
                let hint = first.hint.clone();
                return Err(LabError { cause: ErrorCause::Input, message, hint });
            }
        }
        if self.inputs.is_empty() && *self.supplied != SuppliedSettings::default() {
            let message =
                "--span, --pattern and --queue-depth apply only to other programs' results";
            return Err(LabError::input(message).hint("remove these options"));
        }
        self.runs.extend(foreign::complete(self.foreign, self.supplied, &self.inputs)?);
        self.runs.sort_by_key(|(position, _)| *position);
        self.set.runs = self.runs.into_iter().map(|(_, run)| run).collect();
        Ok(self.set)
    }
}

/// Returns the named files, and the JSON files of named folders.
fn expand(names: &[String]) -> Result<Vec<String>, LabError> {
    let too_many = || LabError::input(format!("expected up to {FILES_MAX} files"));
    let mut all: Vec<String> = Vec::new();
    for name in names {
        let path = Path::new(name);
        if !path.is_dir() {
            all.push(name.clone());
            continue;
        }
        let unread = |error| LabError::input(format!("{name}: can't be read: {error}"));
        let mut inside: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(path).map_err(unread)? {
            let file = entry.map_err(unread)?.path();
            let ending = file.extension().map(OsStr::to_ascii_lowercase);
            if ending.as_deref() == Some(OsStr::new("json")) && !file.is_dir() {
                inside.push(file);
            }
            if inside.len() > FILES_MAX {
                return Err(too_many());
            }
        }
        if inside.is_empty() {
            return Err(LabError::input(format!("{name} contains no .json file"))
                .hint("subfolders are not read"));
        }
        inside.sort();
        all.extend(inside.iter().map(|file| file.display().to_string()));
    }
    if all.len() > FILES_MAX { Err(too_many()) } else { Ok(all) }
}

/// Returns the name of a run's target.
fn target(run: &RunResult) -> String {
    match &run.target {
        Target::Measured(target) => {
            let direct = if target.direct == Some(true) { ", direct" } else { "" };
            format!("{} ({}{direct})", target.path, target.engine)
        }
        Target::Simulated(_) | Target::Database(_) => run.workload.name.clone(),
    }
}

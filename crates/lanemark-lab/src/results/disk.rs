//! Results on disk. Each is written completely or not at all, and never replaces a file that is not a result.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lanemark_schema::result::{
    FittedDrive, OutOfRangeValue, RunResult, SCHEMA_VERSION, Sweep, Target,
};
use lanemark_study::sweep::rows;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{SavedResult, read_any, read_text};
use crate::error::LabError;
use crate::reserved::ReservedName;
use crate::{default_folder, input};

/// The file of a result, which is saved repeatedly while the result grows.
#[derive(Debug)]
pub struct ResultFile(ReservedName);

impl ResultFile {
    /// Reserves the file `out` if its name ends in `.json`; otherwise reserves a new file in the folder `out` whose
    /// name contains `what` and the time. No other run can take that name.
    pub fn new(out: &Path, what: &str, started_at: &str) -> Result<Self, LabError> {
        if out.extension().is_some_and(|extension| extension == "json") {
            refuse_other_file(out)?;
            return Ok(Self(ReservedName::with_folders(out)?));
        }
        let time: String = started_at.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = |number: u32| match number {
            1 => format!("{what}-{time}.json"),
            _ => format!("{what}-{time}-{number}.json"),
        };
        Ok(Self(ReservedName::in_folder(out, name)?))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Saves a run, after checking that it can be read again.
    pub fn save_run(&self, run: &RunResult) -> Result<(), LabError> {
        run.check().map_err(|error| unreadable(&error))?;
        self.save(run)
    }

    /// Saves `value`, including the time.
    pub fn save<T: Serialize>(&self, value: &T) -> Result<(), LabError> {
        let mut text = serde_json::to_string(value)
            .map_err(|error| LabError::run(format!("the result can't be written: {error}")))?;
        text.push('\n');
        if text.len() as u64 > input::RESULT_MAX {
            let name = self.path().display();
            let message = format!("{name}: the result is too long to be read again");
            return Err(LabError::run(message).hint("use fewer tests, or a longer --interval"));
        }
        self.0.write(text.as_bytes())
    }
}

/// Returns the time in the format of results.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Returns the error for a result that no reader would accept.
fn unreadable(error: &OutOfRangeValue) -> LabError {
    LabError::run(format!("the result can't be saved, because it could not be read again: {error}"))
}

/// A saved result, as described by the beginning of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedResult {
    /// Path of the file.
    pub path: PathBuf,
    /// The study's title, or the workload's name.
    pub title: String,
    /// The time at which the run began, in RFC 3339.
    pub started_at: String,
    /// Whether the result is the outcome of a study.
    pub study: bool,
    /// The command that created the result, without the program's name.
    pub command: Vec<String>,
    /// Whether the run ended normally.
    pub complete: bool,
}

/// Returns the results in `folder`, newest first. Other files, and results with a different schema version, are
/// omitted.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<ListedResult>, LabError> {
    let unread = |error| LabError::input(format!("{}: can't be read: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            found.extend(read_listed_result(path));
        }
    }
    found.sort_by(|one, other| (&other.started_at, &one.path).cmp(&(&one.started_at, &other.path)));
    Ok(found)
}

/// The runs in a folder with the target and the tests of a new run.
#[derive(Clone, Debug, Default)]
pub struct EarlierRuns {
    /// The complete runs, each once, the newest first.
    pub runs: Vec<RunResult>,
    /// Whether the folder contains the new run itself.
    pub has_new: bool,
}

/// Returns up to `count` complete runs in `folder` with the same target and tests as `new`. The folder need not exist.
///
/// # Errors
/// Returns an error if the folder or a result of the same workload cannot be read.
pub fn earlier_runs(folder: &Path, new: &RunResult, count: usize) -> Result<EarlierRuns, LabError> {
    let mut earlier = EarlierRuns::default();
    if !folder.exists() {
        return Ok(earlier);
    }
    for listed in list(folder)? {
        let is_candidate = listed.complete && !listed.study && listed.title == new.workload.name;
        if !is_candidate {
            continue;
        }
        let SavedResult::Run(run) = load(&listed.path)? else { continue };
        let is_same_work = run.workload.tests == new.workload.tests
            && run.target_name() == new.target_name()
            && !earlier.runs.contains(&run);
        earlier.has_new |= *run == *new;
        if is_same_work && *run != *new && earlier.runs.len() < count {
            earlier.runs.push(*run);
        }
    }
    Ok(earlier)
}

fn read_listed_result(path: PathBuf) -> Option<ListedResult> {
    let text = input::text(&path, input::RESULT_MAX).ok()?;
    let ListedHead { schema_version, workload, systems, title, provenance, complete } =
        serde_json::from_str(&text).ok()?;
    let title = match workload {
        _ if systems.is_some() => title?,
        Some(LookedUpName::Workload { name }) => name,
        _ => return None,
    };
    let known = schema_version? == u64::from(SCHEMA_VERSION);
    let RunProvenance { started_at, command } = provenance?;
    let study = systems.is_some();
    let command = command.into_iter().skip(1).collect();
    let complete = complete.unwrap_or(true);
    known.then_some(ListedResult { path, title, started_at, study, command, complete })
}

/// The fields that a list shows.
#[derive(Deserialize)]
struct ListedHead {
    schema_version: Option<u64>,
    title: Option<String>,
    provenance: Option<RunProvenance>,
    workload: Option<LookedUpName>,
    systems: Option<IgnoredAny>,
    complete: Option<bool>,
}

#[derive(Deserialize)]
struct RunProvenance {
    #[serde(default)]
    started_at: String,
    #[serde(default)]
    command: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LookedUpName {
    Workload { name: String },
    Other(IgnoredAny),
}

/// Reads a saved result.
///
/// # Errors
/// Returns an error if the file cannot be read, or the error of [`read_text`].
pub fn load(path: &Path) -> Result<SavedResult, LabError> {
    read_text(&path.display().to_string(), &input::text(path, input::RESULT_MAX)?)
}

/// Reads a saved result, or another program's result in a supported format. A bare file name that does not exist in the
/// current folder is looked up in the default folder of results.
///
/// # Errors
/// Returns an error if the file cannot be read, or the error of [`read_any`].
pub fn load_any(path: &Path) -> Result<SavedResult, LabError> {
    let path = &find_result_file(path)?;
    read_any(&path.display().to_string(), &input::text(path, input::RESULT_MAX)?)
}

/// Returns the path of a file that a command names. This is `path`, unless it is a bare name that exists, with or
/// without `.json`, only in the default folder of results.
///
/// # Errors
/// Returns an error that names both folders if neither contains the file.
pub fn find_result_file(path: &Path) -> Result<PathBuf, LabError> {
    let is_bare = path.file_name().is_some_and(|name| name == path.as_os_str() && name != "-");
    // If the file cannot be read, the code that reads it reports the error.
    if !is_bare || path.symlink_metadata().is_ok() {
        return Ok(path.to_owned());
    }
    let Ok(folder) = default_folder::of_results() else { return Ok(path.to_owned()) };
    let mut with_ending = path.as_os_str().to_owned();
    with_ending.push(".json");
    let mut inside = [folder.join(path), folder.join(with_ending)].into_iter();
    inside.find(|file| file.is_file()).ok_or_else(|| {
        let name = path.display();
        let folder = folder.display();
        LabError::input(format!("{name} is neither in the current folder nor in {folder}"))
            .hint("`lanemark report` lists the saved results")
    })
}

/// Reads the result of a run on a real database.
pub fn load_oltp(path: &Path) -> Result<RunResult, LabError> {
    let wrong_kind_error = || {
        LabError::input(format!("{} is not a result of an OLTP run", path.display()))
            .hint("use a file that `lanemark oltp run` saved")
    };
    match load(&find_result_file(path)?)? {
        SavedResult::Run(run) if matches!(run.target, Target::Database(_)) => Ok(*run),
        _ => Err(wrong_kind_error()),
    }
}

/// Reads the completed points of a sweep.
pub fn load_sweep(path: &Path) -> Result<Sweep, LabError> {
    let path = &find_result_file(path)?;
    let name = path.display();
    let text = input::text(path, input::RESULT_MAX)?;
    let sweep = rows::read(&text).map_err(|line| {
        LabError::input(format!("{name}:{line}: not a row of a sweep"))
            .hint("use only one file, written by `lanemark sweep`")
    })?;
    sweep.check().map_err(|error| LabError::input(format!("{name}: {error}")))?;
    Ok(sweep)
}

/// Reads a fit that `lanemark drive --from … --json` printed.
pub fn read_fit(path: &Path) -> Result<FittedDrive, LabError> {
    let name = path.display();
    let text = input::text(path, input::RESULT_MAX)?;
    serde_json::from_str(&text).map_err(|error| {
        LabError::input(format!("{name} is not a fit of a drive: {error}"))
            .hint("save the output of `lanemark drive NAME --from … --json`")
    })
}

/// Splits `FILE#SYSTEM`; the name of an existing file may also contain `#`.
pub(crate) fn file_and_system(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('#') {
        Some((file, system)) if !Path::new(name).exists() => (file, Some(system)),
        _ => (name, None),
    }
}

/// Reads a saved run or study, or another program's result; `FILE#SYSTEM` is the run of one system of a study.
///
/// # Errors
/// Returns the error of [`load_any`] or of [`load_run`].
pub fn load_named(name: &str) -> Result<SavedResult, LabError> {
    match file_and_system(name) {
        (_, Some(_)) => load_run(name).map(|run| SavedResult::Run(Box::new(run))),
        (file, None) => load_any(Path::new(file)),
    }
}

/// Reads a run that was saved or that another program wrote; `FILE#SYSTEM` is one system of a saved study.
pub fn load_run(name: &str) -> Result<RunResult, LabError> {
    let (file, system) = file_and_system(name);
    match (load_any(Path::new(file))?, system) {
        (SavedResult::Run(run), None) => Ok(*run),
        (SavedResult::Run(_), Some(_)) => {
            Err(LabError::input(format!("{file} is a single run, without systems")))
        }
        (SavedResult::Study(study), system) => {
            let names: Vec<&str> =
                study.systems.iter().map(|system| system.name.as_str()).collect();
            let found = study.systems.iter().find(|one| Some(one.name.as_str()) == system);
            found.map(|one| one.run.clone()).ok_or_else(|| {
                LabError::input(format!("{file} is a study of several systems"))
                    .hint(format!("name one of them: {file}#{}", names.join(&format!(", {file}#"))))
            })
        }
    }
}

/// A kind of file that may replace an older file of the same kind, but no other file.
#[derive(Debug)]
pub struct FileKind {
    /// The text that every file of this kind contains near its top.
    pub mark: &'static str,
    /// The name of this kind of file in messages.
    pub word: &'static str,
    /// The command-line option that names the file.
    pub option: &'static str,
}

/// A file of one kind, written once at the end of a run. The start of the run checks that the file can be written.
#[derive(Debug)]
pub struct OutputFile {
    reserved: ReservedName,
    kind: &'static FileKind,
}

impl OutputFile {
    /// Reserves the name `path`, if it is free or an older file of this kind. The older file stays until it is
    /// replaced.
    pub fn open(path: &Path, kind: &'static FileKind) -> Result<Self, LabError> {
        kind.refuse_other(path)?;
        Ok(Self { reserved: ReservedName::exactly(path)?, kind })
    }

    /// Reserves a file like [`Self::open`], if a path is given.
    pub fn open_if_given(
        path: Option<&Path>,
        kind: &'static FileKind,
    ) -> Result<Option<Self>, LabError> {
        path.map(|path| Self::open(path, kind)).transpose()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.reserved.path()
    }

    /// Writes the complete file.
    ///
    /// # Errors
    /// Returns an error if another process has put a different kind of file at the path, or if the file cannot be
    /// written.
    pub fn write(&self, text: &str) -> Result<(), LabError> {
        // Another process may have put a file there since the start.
        self.kind.refuse_other(self.path())?;
        self.reserved.write(text.as_bytes())
    }
}

impl FileKind {
    fn refuse_other(&self, path: &Path) -> Result<(), LabError> {
        if std::fs::symlink_metadata(path).is_err() {
            return Ok(());
        }
        let head = input::head(path, 1024).unwrap_or_default();
        if String::from_utf8_lossy(&head).contains(self.mark) {
            return Ok(());
        }
        let message = format!("{} exists and is not a Lanemark {}", path.display(), self.word);
        Err(LabError::refused(message).hint(format!("use a different {}", self.option)))
    }
}

/// Refuses to replace an existing file that is not a result.
fn refuse_other_file(path: &Path) -> Result<(), LabError> {
    if std::fs::symlink_metadata(path).is_err() || load(path).is_ok() {
        return Ok(());
    }
    let message = format!("{} exists and is not a Lanemark result", path.display());
    Err(LabError::refused(message).hint("use a different --out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_follows_the_last_number_sign_of_a_name_that_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("of#two.json"), "").unwrap();
        for (name, file, system) in [
            ("study.json#SATA", "study.json", Some("SATA")),
            ("absent#two#SATA", "absent#two", Some("SATA")),
            ("study.json#", "study.json", Some("")),
            ("study.json", "study.json", None),
            ("of#two.json", "of#two.json", None),
            ("of#two.json#SATA", "of#two.json", Some("SATA")),
        ] {
            assert_eq!(file_and_system(&path(name)), (path(file).as_str(), system), "{name}");
        }
    }
}

//! Results on disk: written whole or not at all, never over anything that is no result.

use std::path::Path;
use std::time::SystemTime;

use lanemark_core::result::{
    FittedDrive, OutOfRange, Provenance, RunResult, SCHEMA_VERSION, StudyOutcome, Sweep, Target,
};
use lanemark_oltp::former::{FORMER_MARK, FORMER_VERSION, FormerRun};
use lanemark_study::sweep::rows;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::input;
use crate::reserved::Reserved;

/// What a page of ours has near its top.
const PAGE_MARK: &str = "<meta name=\"generator\" content=\"Lanemark\">";

/// What a drawing of ours has near its top.
const DRAWING_MARK: &str = "lanemark-path";

/// A saved result of either kind.
pub(crate) enum Saved {
    Run(Box<RunResult>),
    Study(Box<StudyOutcome>),
}

/// Where one result is saved, again and again as it grows.
#[derive(Debug)]
pub(crate) struct Place(Reserved);

impl Place {
    /// The file `out` where that ends in `.json`, else a new file in the folder `out` that is named for
    /// `what` and the time. No other run has that name from now on.
    pub(crate) fn new(out: &Path, what: &str, started_at: &str) -> Result<Self, Failure> {
        if out.extension().is_some_and(|extension| extension == "json") {
            refuse_other_file(out)?;
            return Ok(Self(Reserved::with_folders(out)?));
        }
        let time: String = started_at.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = |number: u32| match number {
            1 => format!("{what}-{time}.json"),
            _ => format!("{what}-{time}-{number}.json"),
        };
        Ok(Self(Reserved::in_folder(out, name)?))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Saves a run, where it can be read again.
    pub(crate) fn save_run(&self, run: &RunResult) -> Result<(), Failure> {
        run.check().map_err(|error| unreadable(&error))?;
        self.save(run)
    }

    /// Saves `value` with the time.
    pub(crate) fn save<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        let mut text = serde_json::to_string(value)
            .map_err(|error| Failure::run(format!("the result can't be written: {error}")))?;
        text.push('\n');
        if text.len() as u64 > input::RESULT_MAX {
            let name = self.path().display();
            let message = format!("{name}: the result is too long to be read again");
            return Err(Failure::run(message).hint("use fewer tests, or a longer --interval"));
        }
        self.0.write(text.as_bytes())
    }
}

/// The time, as results tell it.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Provenance of a run that begins now.
pub(crate) fn provenance(seed: u64) -> Provenance {
    let started_at = now();
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        seed,
        finished_at: started_at.clone(),
        started_at,
        machine: Some(lanemark_measure::machine()),
        inputs: Default::default(),
    }
}

/// Why a result cannot be saved that no reader would take.
fn unreadable(error: &OutOfRange) -> Failure {
    Failure::run(format!("the result can't be saved, since it could not be read: {error}"))
}

/// What tells the kinds of saved files from each other.
#[derive(Deserialize)]
struct Head {
    schema_version: Option<u64>,
    /// A run's is an object; an OLTP run's was the name of one once.
    workload: Option<Named>,
    /// Studies have them.
    systems: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Name(String),
    Other(IgnoredAny),
}

/// Reads a saved result.
pub(crate) fn load(path: &Path) -> Result<Saved, Failure> {
    let name = path.display();
    let text = input::text(path, input::RESULT_MAX)?;
    let head = head(path, &text)?.filter(|head| head.schema_version.is_some());
    let Some(head) = head else {
        return Err(Failure::input(format!("{name}: is no Lanemark result"))
            .hint("give a file that `lanemark bench`, `sim` or `study` saved"));
    };
    let former = matches!(&head.workload, Some(Named::Name(name)) if name == FORMER_MARK);
    let newest = if former { FORMER_VERSION } else { SCHEMA_VERSION };
    let version = head.schema_version.unwrap_or_default();
    if version > u64::from(newest) {
        return Err(Failure::input(format!(
            "{name}: has schema {version}, and this program reads up to {newest}"
        ))
        .hint("use a newer lanemark"));
    }
    let damaged = |error: OutOfRange| {
        Failure::input(format!("{name}: is a damaged Lanemark result: {error}"))
    };
    match head.systems {
        Some(_) => {
            let study: StudyOutcome = read(path, &text)?;
            study.systems.iter().try_for_each(|one| one.run.check()).map_err(damaged)?;
            Ok(Saved::Study(Box::new(study)))
        }
        None => {
            let run: RunResult = match former {
                true => read::<FormerRun>(path, &text)?.into(),
                false => read(path, &text)?,
            };
            run.check().map_err(damaged)?;
            Ok(Saved::Run(Box::new(run)))
        }
    }
}

/// What `text` is by its first level; none where that is JSON and no object of ours.
fn head(path: &Path, text: &str) -> Result<Option<Head>, Failure> {
    match serde_json::from_str(text) {
        Ok(head) => Ok(Some(head)),
        Err(error) if error.is_data() => Ok(None),
        Err(error) => Err(Failure::input(format!("{}: is no JSON: {error}", path.display()))),
    }
}

/// Reads the result of a run on a real database.
pub(crate) fn load_oltp(path: &Path) -> Result<RunResult, Failure> {
    let other = || {
        Failure::input(format!("{}: is no result of an OLTP run", path.display()))
            .hint("give a file that `lanemark oltp run` saved")
    };
    match load(path)? {
        Saved::Run(run) if matches!(run.target, Target::Database(_)) => Ok(*run),
        _ => Err(other()),
    }
}

/// Reads the points of a sweep that have ended.
pub(crate) fn load_sweep(path: &Path) -> Result<Sweep, Failure> {
    let name = path.display();
    let text = input::text(path, input::RESULT_MAX)?;
    let sweep = rows::read(&text).map_err(|line| {
        Failure::input(format!("{name}:{line}: is no row of a sweep"))
            .hint("give a file that `lanemark sweep` wrote, alone")
    })?;
    sweep.check().map_err(|error| Failure::input(format!("{name}: {error}")))?;
    Ok(sweep)
}

/// Reads a fit as `lanemark fit --json` prints it.
pub(crate) fn read_fit(path: &Path) -> Result<FittedDrive, Failure> {
    let name = path.display();
    let text = input::text(path, input::RESULT_MAX)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::input(format!("{name}: is no fit of a drive: {error}"))
            .hint("save what `lanemark fit … --json` prints")
    })
}

/// Reads a saved run; `FILE#SYSTEM` is one system of a saved study.
pub(crate) fn load_run(name: &str) -> Result<RunResult, Failure> {
    let (file, system) = match name.rsplit_once('#') {
        Some((file, system)) if !Path::new(name).exists() => (file, Some(system)),
        _ => (name, None),
    };
    match (load(Path::new(file))?, system) {
        (Saved::Run(run), None) => Ok(*run),
        (Saved::Run(_), Some(_)) => {
            Err(Failure::input(format!("{file}: is a single run, and has no systems")))
        }
        (Saved::Study(study), system) => {
            let names: Vec<&str> = study.systems.iter().map(|one| one.name.as_str()).collect();
            let found = study.systems.iter().find(|one| Some(one.name.as_str()) == system);
            found.map(|one| one.run.clone()).ok_or_else(|| {
                Failure::input(format!("{file}: is a study of several systems"))
                    .hint(format!("name one of them: {file}#{}", names.join(&format!(", {file}#"))))
            })
        }
    }
}

/// A kind of file that is written over an older one of its kind but over nothing else.
#[derive(Debug)]
pub(crate) struct Kind {
    mark: &'static str,
    word: &'static str,
    option: &'static str,
}

/// An HTML page.
pub(crate) const PAGE: Kind = Kind { mark: PAGE_MARK, word: "page", option: "--html" };
/// A drawing.
pub(crate) const DRAWING: Kind = Kind { mark: DRAWING_MARK, word: "drawing", option: "--svg" };
/// A series as CSV.
pub(crate) const SERIES: Kind =
    Kind { mark: lanemark_report::SERIES_CSV_HEADER, word: "series", option: "--series" };
/// A fitted drive.
pub(crate) const DRIVE: Kind =
    Kind { mark: lanemark_predict::fit::FITTED_MARK, word: "fitted drive", option: "--out" };
/// The workload of a saved OLTP run.
pub(crate) const WORKLOAD: Kind =
    Kind { mark: lanemark_oltp::WORKLOAD_MARK, word: "workload of a run", option: "--out" };

/// A file of one kind that is to be written once all is known. That it can be is known from the start.
#[derive(Debug)]
pub(crate) struct Outlet {
    reserved: Reserved,
    kind: &'static Kind,
}

impl Outlet {
    /// Takes the name `path`, where nothing is or an older file of this kind, which stays until it is replaced.
    pub(crate) fn open(path: &Path, kind: &'static Kind) -> Result<Self, Failure> {
        kind.refuse_other(path)?;
        Ok(Self { reserved: Reserved::exactly(path)?, kind })
    }

    /// Opens a file's place as [`Self::open`] does, where a path was given.
    pub(crate) fn of(path: Option<&Path>, kind: &'static Kind) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open(path, kind)).transpose()
    }

    pub(crate) fn path(&self) -> &Path {
        self.reserved.path()
    }

    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        // Somebody may have put something there meanwhile.
        self.kind.refuse_other(self.path())?;
        self.reserved.write(text.as_bytes())
    }
}

impl Kind {
    fn refuse_other(&self, path: &Path) -> Result<(), Failure> {
        if std::fs::symlink_metadata(path).is_err() {
            return Ok(());
        }
        let head = input::head(path, 1024).unwrap_or_default();
        if String::from_utf8_lossy(&head).contains(self.mark) {
            return Ok(());
        }
        let message = format!("{}: exists and is no Lanemark {}", path.display(), self.word);
        let hint = Some(format!("give another {}", self.option));
        Err(Failure::Refused { message, hint })
    }
}

fn read<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::input(format!("{}: is a damaged Lanemark result: {error}", path.display()))
    })
}

/// An existing file is replaced only where it is a result itself.
fn refuse_other_file(path: &Path) -> Result<(), Failure> {
    if std::fs::symlink_metadata(path).is_err() || load(path).is_ok() {
        return Ok(());
    }
    let message = format!("{}: exists and is no Lanemark result", path.display());
    Err(Failure::Refused { message, hint: Some("give another --out".to_owned()) })
}

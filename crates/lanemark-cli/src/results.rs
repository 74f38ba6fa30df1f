//! Results on disk: written whole or not at all, never over anything that is no result.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lanemark_core::result::{
    FittedDrive, Provenance, RunResult, SCHEMA_VERSION, StudyOutcome, Sweep,
};
use lanemark_study::sweep::rows;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

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
pub(crate) struct Place {
    path: PathBuf,
}

impl Place {
    /// The file `out` where that ends in `.json`, else a new file in the folder `out` that is named for
    /// `what` and the time.
    pub(crate) fn new(out: &Path, what: &str, started_at: &str) -> Result<Self, Failure> {
        if out.extension().is_some_and(|extension| extension == "json") {
            refuse_other_file(out)?;
            if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                make_folder(folder)?;
            }
            return Ok(Self { path: out.to_owned() });
        }
        make_folder(out)?;
        let time: String = started_at.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = |suffix: u32| match suffix {
            1 => format!("{what}-{time}.json"),
            _ => format!("{what}-{time}-{suffix}.json"),
        };
        let free = (1..).map(|suffix| out.join(name(suffix))).find(|path| !path.exists());
        Ok(Self { path: free.unwrap_or_else(|| out.join(name(1))) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Saves `value` with the time.
    pub(crate) fn save<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        let mut text = serde_json::to_string(value)
            .map_err(|error| Failure::run(format!("the result can't be written: {error}")))?;
        text.push('\n');
        write_atomically(&self.path, &text)
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

/// Reads a saved result.
pub(crate) fn load(path: &Path) -> Result<Saved, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("{name}: can't be read: {error}")))?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::input(format!("{name}: is no JSON: {error}")))?;
    let version = value.get("schema_version").and_then(serde_json::Value::as_u64);
    match version {
        None => Err(Failure::input(format!("{name}: is no Lanemark result"))
            .hint("give a file that `lanemark bench`, `sim` or `study` saved")),
        Some(version) if version > u64::from(SCHEMA_VERSION) => Err(Failure::input(format!(
            "{name}: has schema {version}, and this program reads up to {SCHEMA_VERSION}"
        ))
        .hint("use a newer lanemark")),
        Some(_) if value.get("systems").is_some() => Ok(Saved::Study(Box::new(read(path, &text)?))),
        Some(_) => Ok(Saved::Run(Box::new(read(path, &text)?))),
    }
}

/// Reads the points of a sweep that have ended.
pub(crate) fn load_sweep(path: &Path) -> Result<Sweep, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("{name}: can't be read: {error}")))?;
    rows::read(&text).map_err(|line| {
        Failure::input(format!("{name}:{line}: is no row of a sweep"))
            .hint("give a file that `lanemark sweep` wrote, alone")
    })
}

/// Reads a fit as `lanemark fit --json` prints it.
pub(crate) fn read_fit(path: &Path) -> Result<FittedDrive, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("{name}: can't be read: {error}")))?;
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
struct Marked {
    mark: &'static str,
    word: &'static str,
    option: &'static str,
}

const PAGE: Marked = Marked { mark: PAGE_MARK, word: "page", option: "--html" };
const DRAWING: Marked = Marked { mark: DRAWING_MARK, word: "drawing", option: "--svg" };
const SERIES: Marked =
    Marked { mark: lanemark_report::SERIES_CSV_HEADER, word: "series", option: "--series" };

const DRIVE: Marked =
    Marked { mark: lanemark_predict::fit::FITTED_MARK, word: "fitted drive", option: "--out" };

const WORKLOAD: Marked =
    Marked { mark: lanemark_oltp::WORKLOAD_MARK, word: "workload of a run", option: "--out" };

/// Writes a fitted drive, over an older one but over nothing else.
pub(crate) fn write_drive(path: &Path, drive: &str) -> Result<(), Failure> {
    DRIVE.write(path, drive)
}

/// Whether a fitted drive may be written to `path`, to know before a long run.
pub(crate) fn refuse_other_drive(path: &Path) -> Result<(), Failure> {
    DRIVE.refuse_other(path)
}

/// Writes a workload, over an older one of ours but over nothing else.
pub(crate) fn write_workload(path: &Path, workload: &str) -> Result<(), Failure> {
    WORKLOAD.write(path, workload)
}

/// Writes an HTML page, over an older page of ours but over nothing else.
pub(crate) fn write_page(path: &Path, page: &str) -> Result<(), Failure> {
    PAGE.write(path, page)
}

/// Writes a drawing, over an older drawing of ours but over nothing else.
pub(crate) fn write_drawing(path: &Path, drawing: &str) -> Result<(), Failure> {
    DRAWING.write(path, drawing)
}

/// Writes a series as CSV, over an older one of ours but over nothing else.
pub(crate) fn write_series(path: &Path, series: &str) -> Result<(), Failure> {
    SERIES.write(path, series)
}

/// Whether a page may be written to `path`, to know before a long run.
pub(crate) fn refuse_other_page(path: &Path) -> Result<(), Failure> {
    PAGE.refuse_other(path)
}

/// Whether a series may be written to `path`, to know before a long run.
pub(crate) fn refuse_other_series(path: &Path) -> Result<(), Failure> {
    SERIES.refuse_other(path)
}

impl Marked {
    fn refuse_other(&self, path: &Path) -> Result<(), Failure> {
        let old = std::fs::read(path).unwrap_or_default();
        let ours = String::from_utf8_lossy(&old[..old.len().min(1024)]).contains(self.mark);
        if path.exists() && !ours {
            let message = format!("{}: exists and is no Lanemark {}", path.display(), self.word);
            let hint = Some(format!("give another {}", self.option));
            return Err(Failure::Refused { message, hint });
        }
        Ok(())
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        self.refuse_other(path)?;
        write_atomically(path, text)
    }
}

/// Writes `text` to `path` so that a reader sees the old file or the new one and nothing between.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new()
            .permissions(std::fs::Permissions::from_mode(0o644))
            .tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Failure::run(format!("{}: can't be written: {error}", path.display())))
}

fn read<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::input(format!("{}: is a damaged Lanemark result: {error}", path.display()))
    })
}

/// An existing file is replaced only where it is a result itself.
fn refuse_other_file(path: &Path) -> Result<(), Failure> {
    if !path.exists() || load(path).is_ok() {
        return Ok(());
    }
    let message = format!("{}: exists and is no Lanemark result", path.display());
    Err(Failure::Refused { message, hint: Some("give another --out".to_owned()) })
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::run(format!("{}: can't be made: {error}", folder.display())))
}

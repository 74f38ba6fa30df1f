//! Workloads by their name or file, also by files of other programs.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use lanemark_core::units::Bytes;
use lanemark_core::workload::Workload;
use lanemark_formats::fio::{self, Engine, FioSettings, Surroundings};
use lanemark_formats::{Note, iometer};
use lanemark_measure::{EngineKind, OnError};
use lanemark_study::{Library, workload};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use crate::error::LabError;
use crate::input;

/// A workload that was opened by its name or file.
pub struct Opened {
    /// The workload.
    pub workload: Workload,
    /// Settings of a job file for the engine.
    pub settings: Option<FioSettings>,
    /// Notes on settings of a foreign file that are only nearly kept, or needless.
    pub notes: Vec<Note>,
    /// The file with its hash, where it is none of the library.
    pub input: Option<(String, String)>,
}

/// Opens a workload: fio's or Iometer's where the file's name ends so, else one of the library.
///
/// # Errors
/// Where there is no such file or test, or whatever is wrong in it.
pub fn open(library: &Library, name: &str, target_size: Option<Bytes>) -> Result<Opened, LabError> {
    let (file, test) = match name.rsplit_once(':') {
        Some((file, test)) if is_foreign(file) => (file, Some(test)),
        _ => (name, None),
    };
    if !is_foreign(file) {
        let workload = workload::open(library, name)?;
        return Ok(Opened { workload, settings: None, notes: Vec::new(), input: None });
    }
    let text = input::text(Path::new(file), input::JOB_MAX)?;
    let mut opened = match file.ends_with(".icf") {
        true => {
            let read = iometer::read(&text, file, target_size)?;
            Opened { workload: read.workload, settings: None, notes: read.notes, input: None }
        }
        false => job_file(&text, file, target_size)?,
    };
    opened.input = Some((file.to_owned(), hash(text.as_bytes())));
    if let Some(wanted) = test {
        only(&mut opened.workload, file, wanted)?;
    }
    Ok(opened)
}

fn is_foreign(file: &str) -> bool {
    file.ends_with(".fio") || file.ends_with(".icf")
}

/// Computes the SHA-256 of `bytes`, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn job_file(text: &str, file: &str, target_size: Option<Bytes>) -> Result<Opened, LabError> {
    let folder = Path::new(file).parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let around = Surroundings {
        file,
        target_size,
        environment: &|name| std::env::var(name).ok(),
        include: &|path| included(&folder, path),
    };
    let jobs = fio::read(text, &around)?;
    Ok(Opened {
        workload: jobs.workload,
        settings: Some(jobs.settings),
        notes: jobs.notes,
        input: None,
    })
}

/// The text of a file that a job file includes: one that lies in the job file's folder or below.
fn included(folder: &Path, path: &str) -> Result<String, String> {
    let unread = |error: std::io::Error| format!("can't be read: {error}");
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    // Links may lead anywhere.
    let found = match inside {
        true => folder.join(path).canonicalize().map_err(unread)?,
        false => PathBuf::new(),
    };
    if !inside || !found.starts_with(folder.canonicalize().map_err(unread)?) {
        return Err("lies outside the job file's folder".to_owned());
    }
    let bytes = input::bytes(&found, input::JOB_MAX).map_err(unread)?;
    String::from_utf8(bytes).map_err(|_| "is no text".to_owned())
}

/// Leaves one test of a workload.
fn only(workload: &mut Workload, file: &str, wanted: &str) -> Result<(), LabError> {
    let wanted = workload::slug(wanted);
    let names: Vec<String> = workload.tests.iter().map(|test| workload::slug(&test.name)).collect();
    let Some(at) = names.iter().position(|name| *name == wanted) else {
        return Err(LabError::input(format!("{file}: there is no test `{wanted}`"))
            .hint(format!("one of {}", names.join(", "))));
    };
    workload.tests = vec![workload.tests.swap_remove(at)];
    Ok(())
}

/// The size of a file or block device that exists.
pub fn size_of(path: &Path) -> Option<Bytes> {
    let metadata = fs::metadata(path).ok()?;
    let kind = metadata.file_type();
    let size = match kind.is_file() {
        true => metadata.len(),
        // A block device has no length of its own, but an end. Opening a pipe would wait, and opening a tape wind it.
        false if kind.is_block_device() => {
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
            file.ok()?.seek(SeekFrom::End(0)).ok()?
        }
        false => return None,
    };
    (size > 0).then_some(Bytes(size))
}

impl Opened {
    /// The engine that a job file asks for.
    pub fn engine(&self) -> Option<EngineKind> {
        let asked = self.settings.as_ref()?.engine?;
        Some(match asked {
            Engine::IoUring => EngineKind::IoUring,
            Engine::Sync => EngineKind::Synchronous,
            Engine::Null => EngineKind::Null,
        })
    }

    /// Whether a job file says that requests go through the page cache.
    pub fn is_buffered(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.direct == Some(false))
    }

    /// Returns the job file's reaction to failed requests.
    pub fn on_error(&self) -> OnError {
        match self.settings.as_ref().and_then(|settings| settings.goes_on) {
            Some(true) => OnError::Continue,
            _ => OnError::Stop,
        }
    }
}

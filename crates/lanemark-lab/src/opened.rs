//! Workloads by name or file, including files of other programs.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use lanemark_formats::fio::{self, FioSettings, IoEngine, JobEnvironment};
use lanemark_formats::{OptionNote, command_lines, iometer, iostat};
use lanemark_measure::{EngineKind, ErrorReaction};
use lanemark_schema::result::Warning;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Test, Workload};
use lanemark_study::{Library, workload};
use rustix::fs::OFlags;

use crate::encoding::{decoded, hash};
use crate::error::LabError;
use crate::input;
use crate::scale::WorkloadScale;

/// Maximum number of bytes that are examined to recognise a file of another program.
const HEAD_MAX: u64 = 64 << 10;

/// A workload file of another program.
#[derive(Clone, Copy)]
enum ForeignWorkload {
    FioJobs,
    Iometer,
    Iostat,
}

/// A workload that was opened by its name or file.
pub struct OpenedWorkload {
    /// The workload.
    pub workload: Workload,
    /// The engine settings of a job file.
    pub settings: Option<FioSettings>,
    /// Notes on settings of another program's file that are only approximated, or that are not used.
    pub notes: Vec<OptionNote>,
    /// The file and its hash, if it is not a file of the library.
    pub input: Option<(String, String)>,
}

/// Opens a workload like [`open`] for simulated drives of `capacity`. The size in `scale` may be smaller.
///
/// # Errors
/// Returns the errors of [`open`], and an error if a job states neither a size nor an end.
pub fn open_simulated(
    library: &Library,
    name: &str,
    scale: &WorkloadScale,
    capacity: Bytes,
) -> Result<OpenedWorkload, LabError> {
    let opened = open(library, name, Some(scale.size.unwrap_or(capacity)))?;
    let endless = opened.settings.iter().flat_map(|jobs| &jobs.sized_by_target).next();
    match endless {
        Some(test) if (scale.size, scale.duration) == (None, None) => {
            let message = format!("test `{test}`: the job states neither a size nor an end");
            Err(LabError::input(message)
                .hint("set size= or runtime= in the job, or use --size or --duration"))
        }
        _ => Ok(opened),
    }
}

/// Opens a workload: a file of fio, Iometer or iostat by its extension or contents, the jobs of a command line, or
/// otherwise a workload of the library. The name of a test, or of a device in iostat's output, may follow a file.
///
/// # Errors
/// Returns an error if the file or test does not exist, or if the file is invalid.
pub fn open(
    library: &Library,
    name: &str,
    target_size: Option<Bytes>,
) -> Result<OpenedWorkload, LabError> {
    if command_lines::is_command(name) {
        return command_line(name, target_size);
    }
    let parts = name.rsplit_once(':').map(|(file, part)| (file, Some(part)));
    let named = [Some((name, None)), parts].into_iter().flatten();
    let foreign =
        named.filter_map(|(file, part)| Some((foreign_workload(file)?, file, part))).next();
    let Some((format, file, part)) = foreign else {
        let workload = workload::open(library, name)?;
        return Ok(OpenedWorkload { workload, settings: None, notes: Vec::new(), input: None });
    };
    let text = input::text(Path::new(file), input::JOB_MAX)?;
    let mut opened = match format {
        ForeignWorkload::Iometer => {
            let read = iometer::read(&text, file, target_size)?;
            OpenedWorkload {
                workload: read.workload,
                settings: None,
                notes: read.notes,
                input: None,
            }
        }
        ForeignWorkload::Iostat => iostat_load(&text, file, part, target_size)?,
        ForeignWorkload::FioJobs => job_file(&text, file, target_size)?,
    };
    opened.input = Some((file.to_owned(), hash(text.as_bytes())));
    if let (Some(wanted), ForeignWorkload::FioJobs | ForeignWorkload::Iometer) = (part, format) {
        keep_only_test(&mut opened.workload, file, wanted)?;
    }
    Ok(opened)
}

/// Returns the format of a workload file of another program, by its extension or contents.
fn foreign_workload(file: &str) -> Option<ForeignWorkload> {
    let path = Path::new(file);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("fio") => return Some(ForeignWorkload::FioJobs),
        Some("icf") => return Some(ForeignWorkload::Iometer),
        Some("toml") => return None,
        Some(_) | None => {}
    }
    if !path.is_file() {
        return None;
    }
    let mut head = Vec::new();
    fs::File::open(path).and_then(|file| file.take(HEAD_MAX).read_to_end(&mut head)).ok()?;
    // The last line may be cut. In UTF-16, a line feed has two bytes.
    if head.len() as u64 == HEAD_MAX && !head.starts_with(&[0xff, 0xfe]) {
        let whole = head.iter().rposition(|byte| *byte == b'\n').map_or(head.len(), |end| end + 1);
        head.truncate(whole);
    }
    let text = decoded(head).ok()?;
    if fio::is_job_file(&text) {
        return Some(ForeignWorkload::FioJobs);
    }
    iostat::is_ours(&text).then_some(ForeignWorkload::Iostat)
}

/// Returns whether a name denotes a workload file of another program, possibly followed by a test.
pub fn is_foreign(name: &str) -> bool {
    let before = name.rsplit_once(':').and_then(|(file, _)| foreign_workload(file));
    foreign_workload(name).or(before).is_some()
}

/// Reads the load of a device in iostat's output.
fn iostat_load(
    text: &str,
    file: &str,
    device: Option<&str>,
    target_size: Option<Bytes>,
) -> Result<OpenedWorkload, LabError> {
    let load = iostat::read(text, file, device)?;
    let mut opened = job_file(&load.text, file, target_size)?;
    opened.workload.name = format!("load of a device in {file}");
    opened.notes = load.notes;
    Ok(opened)
}

fn job_file(
    text: &str,
    file: &str,
    target_size: Option<Bytes>,
) -> Result<OpenedWorkload, LabError> {
    let folder = Path::new(file).parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let around = JobEnvironment {
        file,
        target_size,
        environment: &|name| std::env::var(name).ok(),
        include: &|path| included(&folder, path),
    };
    let jobs = fio::read(text, &around)?;
    Ok(OpenedWorkload {
        workload: jobs.workload,
        settings: Some(jobs.settings),
        notes: jobs.notes,
        input: None,
    })
}

/// Parses a command line of fio or of another program. In fio's errors, the line number is the number of a word.
fn command_line(text: &str, target_size: Option<Bytes>) -> Result<OpenedWorkload, LabError> {
    let program = text.split_whitespace().find(|word| *word != "sudo").unwrap_or_default();
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let command = command_lines::read(text, name)?;
    let mut opened = job_file(&command.text, name, target_size)?;
    opened.workload.name = format!("jobs of a {name} command line");
    opened.notes.extend(command.notes);
    Ok(opened)
}

/// Returns the text of a file that a job file includes. The file must be in the job file's folder or a subfolder.
fn included(folder: &Path, path: &str) -> Result<String, String> {
    let unread = |error: std::io::Error| format!("can't be read: {error}");
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    // A symbolic link may lead out of the folder.
    let found =
        if inside { folder.join(path).canonicalize().map_err(unread)? } else { PathBuf::new() };
    if !inside || !found.starts_with(folder.canonicalize().map_err(unread)?) {
        return Err("the file is outside the job file's folder".to_owned());
    }
    let bytes = input::bytes(&found, input::JOB_MAX).map_err(unread)?;
    String::from_utf8(bytes).map_err(|_| "the file is not text".to_owned())
}

/// Removes all tests of a workload except one.
fn keep_only_test(workload: &mut Workload, file: &str, wanted: &str) -> Result<(), LabError> {
    let wanted = workload::slug(wanted);
    let names: Vec<String> = workload.tests.iter().map(|test| workload::slug(&test.name)).collect();
    let Some(at) = names.iter().position(|name| *name == wanted) else {
        return Err(LabError::input(format!("{file}: there is no test `{wanted}`"))
            .hint(format!("one of {}", names.join(", "))));
    };
    workload.tests = vec![workload.tests.swap_remove(at)];
    Ok(())
}

/// Returns the size of an existing file or block device.
pub fn size_of(path: &Path) -> Option<Bytes> {
    let metadata = fs::metadata(path).ok()?;
    let kind = metadata.file_type();
    let size = if kind.is_file() {
        metadata.len()
    } else if kind.is_block_device() {
        // A block device does not report a length, but seeking to its end does. Opening a pipe would wait, and opening
        // a tape rewinds it.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        file.ok()?.seek(SeekFrom::End(0)).ok()?
    } else {
        return None;
    };
    (size > 0).then_some(Bytes(size))
}

impl OpenedWorkload {
    /// Adapts the workload to the simulator, which does not model a page cache. Tests that would wait for buffered
    /// reads run at queue depth 1, requests that are not multiples of 512 B become whole pages, and a flush writes back
    /// the data since the previous flush. Returns a warning about these assumptions, or `None` if no request would go
    /// through the page cache.
    pub fn simulate(&mut self) -> Option<Warning> {
        let whole_pages = self.workload.take_pages();
        let settings = self.settings.as_ref();
        let is_cached = |test: &Test| test.reads() || test.writes();
        let is_buffered = settings.is_some_and(|settings| {
            settings.direct != Some(true) && settings.engine != Some(IoEngine::Null)
        });
        if !(whole_pages || is_buffered && self.workload.tests.iter().any(is_cached)) {
            return None;
        }
        let waiting: &[String] = match settings {
            Some(settings) if is_buffered => &settings.wait_for_cache,
            _ => &[],
        };
        let mut tests_at_depth_one = 0;
        for test in &mut self.workload.tests {
            if let Some(requests) = test.requests_mut().filter(|_| is_buffered) {
                requests.mix.written_back = requests.mix.flush_every.is_some();
            }
            if waiting.contains(&test.name)
                && let Some(requests) = test.requests_mut()
            {
                requests.queue_depth = 1;
                tests_at_depth_one += 1;
            }
        }
        Some(Warning::CacheNotModelled { tests_at_depth_one, whole_pages })
    }

    /// Returns whether any test has requests that only the page cache accepts.
    pub fn needs_page_cache(&self) -> bool {
        self.workload.tests.iter().any(Test::needs_page_cache)
    }

    /// Returns the engine that a job file requests.
    pub fn engine(&self) -> Option<EngineKind> {
        let job_engine = self.settings.as_ref()?.engine?;
        Some(match job_engine {
            IoEngine::IoUring => EngineKind::IoUring,
            IoEngine::Sync => EngineKind::Synchronous,
            IoEngine::Null => EngineKind::Null,
        })
    }

    /// Returns whether requests go through the page cache, because the job file states it or because only the page
    /// cache accepts them.
    pub fn is_buffered(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.direct == Some(false))
            || self.needs_page_cache()
    }

    /// Returns the job file's reaction to failed requests.
    pub fn on_error(&self) -> ErrorReaction {
        match self.settings.as_ref().and_then(|settings| settings.goes_on) {
            Some(true) => ErrorReaction::Continue,
            _ => ErrorReaction::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_files_with_content_have_a_size() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for (content, size) in [("", None), ("five!", Some(Bytes(5)))] {
            fs::write(&file, content).unwrap();
            assert_eq!(size_of(&file), size);
        }
        for other in [folder.path(), Path::new("/dev/null"), &folder.path().join("nowhere")] {
            assert_eq!(size_of(other), None, "{}", other.display());
        }
    }

    #[test]
    fn a_pipe_is_not_opened_for_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let (done, opened) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The writer waits until the pipe is opened for reading.
                let writer = OpenOptions::new().write(true).open(&pipe);
                done.send(writer.is_ok())
            });
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(size_of(&pipe), None);
            let early = opened.recv_timeout(Duration::from_millis(50));
            let reader = OpenOptions::new().read(true).open(&pipe);
            assert!(early.is_err() && reader.is_ok(), "{early:?}");
        });
    }
}

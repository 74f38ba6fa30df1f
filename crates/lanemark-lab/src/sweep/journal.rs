//! The file of a sweep while it grows: completed points append rows, and the rows are sorted at the end. The command
//! and Python use the same file. Workers on other machines return their rows to the process that owns the file.
//!
//! A point with a row is never run again. Rows are written with one call, so a kill leaves up to one torn line at the
//! end, which is dropped. A crash of the machine may also leave zero bytes in place of rows; the line that contains the
//! first of them and all later lines are dropped. The key of a row identifies the sweep, and a file with rows from
//! another sweep is rejected. After the last point, the sorted rows are written to a temporary file that replaces the
//! original file.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lanemark_study::Sweep;
use lanemark_study::sweep::rows;
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::error::LabError;
use crate::{input, reserved};

/// A sweep's file, open and locked.
pub(crate) struct Journal<S> {
    path: PathBuf,
    file: File,
    sweep: S,
    done: Vec<bool>,
}

impl<S: Deref<Target = Sweep>> Journal<S> {
    /// Opens or creates the file of `sweep`, and reads its rows.
    pub(crate) fn open(path: &Path, sweep: S) -> Result<Self, LabError> {
        let fail = |error: std::io::Error| write_error(path, &error);
        let mut file = open_locked(path)?;
        let mut bytes = input::read_on(&file, input::RESULT_MAX).map_err(fail)?;
        let header = rows::header(&sweep.axes());
        if bytes.starts_with(header.as_bytes()) {
            bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
        }
        let mut done = vec![false; sweep.points() as usize];
        // A killed run may have left only the beginning of the first line.
        let mut kept_length = 0;
        if !header.as_bytes().starts_with(&bytes) || bytes.len() == header.len() {
            kept_length = whole_lines(path, &sweep, &bytes, &header, &mut done)?;
        }
        file.set_len(kept_length as u64).map_err(fail)?;
        file.seek(SeekFrom::End(0)).map_err(fail)?;
        if kept_length == 0 {
            file.write_all(header.as_bytes()).map_err(fail)?;
        }
        Ok(Self { path: path.to_owned(), file, sweep, done })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the points without a row.
    pub(crate) fn pending(&self) -> Vec<u64> {
        (0..).zip(&self.done).filter(|(_, done)| !**done).map(|(number, _)| number).collect()
    }

    /// Appends rows of points that ended. A row of a point that already has a row is dropped.
    pub(crate) fn append(&mut self, rows: &str) -> Result<(), LabError> {
        let axes = self.sweep.axes().len();
        let mut added = String::new();
        for line in rows.lines() {
            let id = rows::id(line, axes).filter(|id| is_of(&self.sweep, id));
            let Some(rows::PointId { number, .. }) = id else {
                let path = self.path.display();
                return Err(LabError::run(format!(
                    "{path}: a worker returned another row: {line}"
                )));
            };
            if !std::mem::replace(&mut self.done[number as usize], true) {
                added += line;
                added.push('\n');
            }
        }
        self.file.write_all(added.as_bytes()).map_err(|error| write_error(&self.path, &error))
    }

    /// Sorts the rows, and returns the whole text.
    pub(crate) fn finish(mut self) -> Result<String, LabError> {
        let fail = |error: std::io::Error| write_error(&self.path, &error);
        let mut text = String::new();
        self.file.rewind().map_err(fail)?;
        self.file.read_to_string(&mut text).map_err(fail)?;
        let mut lines = text.split_inclusive('\n');
        let header = lines.next().unwrap_or_default();
        let axes = self.sweep.axes().len();
        let number = |line: &str| rows::id(line.trim_end(), axes).map(|id| id.number);
        let mut rows: Vec<(Option<u64>, &str)> = lines.map(|line| (number(line), line)).collect();
        if !rows.is_sorted() {
            rows.sort();
        }
        let sorted: String =
            std::iter::once(header).chain(rows.iter().map(|(_, line)| *line)).collect();
        if sorted == text {
            self.file
                .sync_all()
                .and_then(|()| reserved::sync_folder_of(&self.path))
                .map_err(fail)?;
            return Ok(sorted);
        }
        reserved::replace(&self.path, sorted.as_bytes(), false).map_err(fail)?;
        Ok(sorted)
    }
}

/// Opens or creates the file of a sweep, and locks it against other writers.
pub(super) fn open_locked(path: &Path) -> Result<File, LabError> {
    let fail = |error: std::io::Error| write_error(path, &error);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let message = format!("{} is not a regular file", path.display());
        return Err(LabError::input(message).hint("use a different --out"));
    }
    // If a pipe has taken the file's name, opening it would block.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).custom_flags(flags);
    let file = file.open(path).map_err(fail)?;
    let locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    // A sweep that ends replaces the file, so the open file may be the old file.
    let is_same_file =
        |one: &Metadata, two: &Metadata| (one.dev(), one.ino()) == (two.dev(), two.ino());
    let open = file.metadata().map_err(fail)?;
    let still = std::fs::metadata(path).is_ok_and(|named| is_same_file(&open, &named));
    if !locked || !still {
        let message = format!("{}: another sweep is writing it", path.display());
        return Err(
            LabError::input(message).hint("wait until that sweep ends, or use a different --out")
        );
    }
    Ok(file)
}

/// Marks the points in `bytes` as complete, and returns the length of the complete lines.
fn whole_lines(
    path: &Path,
    sweep: &Sweep,
    bytes: &[u8],
    header: &str,
    done: &mut [bool],
) -> Result<usize, LabError> {
    let name = path.display();
    let refused = |message: String| {
        LabError::refused(message).hint("use a different --out, or remove the file")
    };
    if !bytes.starts_with(rows::MARK.as_bytes()) {
        return Err(refused(format!("{name} exists and is not a Lanemark sweep")));
    }
    if !bytes.starts_with(header.as_bytes()) {
        return Err(refused(format!("{name} is a sweep with different axes")));
    }
    let kept_length = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let lines = String::from_utf8_lossy(&bytes[header.len()..kept_length]);
    for (index, line) in lines.lines().enumerate() {
        let found = rows::id(line, sweep.axes().len());
        let is_known = found.as_ref().is_some_and(|id| is_of(sweep, id));
        let Some(rows::PointId { number, .. }) = found else {
            return Err(refused(format!("{name}:{}: not a row of a sweep", index + 2)));
        };
        let Some(place) = done.get_mut(number as usize).filter(|_| is_known) else {
            return Err(refused(format!(
                "{name} contains points of another sweep: system, workload, library, seed, \
                 settings, axes or version differ"
            )));
        };
        *place = true;
    }
    Ok(kept_length)
}

/// Returns whether a row with this identity belongs to `sweep`.
fn is_of(sweep: &Sweep, id: &rows::PointId) -> bool {
    id.number < sweep.points() && sweep.key(id.number) == id.key
}

pub(super) fn write_error(path: &Path, error: &std::io::Error) -> LabError {
    LabError::run(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/points.csv");
        let first = open_locked(&path).unwrap();
        for _ in 0..2 {
            let refused = open_locked(&path).unwrap_err().to_string();
            assert!(refused.contains("another sweep is writing it"), "{refused}");
        }
        // The file that replaces it at the end of a sweep is a different file.
        let other = folder.path().join("new/other.csv");
        std::fs::write(&other, "rows").unwrap();
        std::fs::rename(&other, &path).unwrap();
        let second = open_locked(&path).unwrap();
        drop(first);
        assert!(open_locked(&path).is_err());
        drop(second);
        let third = open_locked(&path).unwrap();
        assert_eq!(third.metadata().unwrap().len(), 4);
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), Path::new("/dev/null")] {
            let refused = open_locked(path).unwrap_err().to_string();
            assert!(refused.contains("is not a regular file"), "{refused}");
        }
    }
}

//! Opens the data of an export: checks its files, creates missing files, and reads the state that the last server left.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use lanemark_files::companion;
use rustix::fs::FlockOperation;

use super::backing::ExportBytes;
use super::block_map::{BlockMap, LOG_RECORDS, MAP_MARK};
use super::error::DataError;
use super::files::{CreatedFiles, OpenImage, lock, take};
use super::holes::stretch_of;
use super::journal::{
    self, BackingImage, DataState, FileIdentity, JOURNAL_MAX, Journal, JournalContent, ModifiedTime,
};
use super::renaming::{rename_away, replace_file};
use super::{DriveCache, ExportData};

/// Suffix of the journal's name.
const JOURNAL: &str = ".lanemark";

/// The location of the data, and the image under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlan {
    pub location: DataLocation,
    /// A read-only image that provides the content of unwritten blocks.
    pub over: Option<PathBuf>,
    /// Length of the export.
    pub size: u64,
    /// A file that may be used even though no server created it.
    pub overwrite: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataLocation {
    /// Memory, which is lost when the server ends.
    Memory,
    /// A sparse file.
    File(PathBuf),
}

#[derive(Debug)]
pub struct OpenedData {
    pub data: ExportData,
    /// Lines about the state that the last server left.
    pub notes: Vec<String>,
}

/// The state in which the last server left a data file.
struct PreviousState {
    /// The journal, open and locked.
    journal: File,
    /// The journal's content, if the data that it describes exists.
    content: Option<JournalContent>,
    /// Whether there is a journal whose data no longer exists.
    is_gone: bool,
}

/// The data of an earlier server in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EarlierData {
    /// There is no data: the file is new or empty.
    Missing,
    /// There is data, which the journal describes.
    Recorded,
    /// There may be data: the journal is missing, damaged or of a different version.
    Unrecorded,
}

impl DataPlan {
    /// Opens the data of a drive with this `cache`. The data lost in power cuts depends on `seed`.
    ///
    /// # Errors
    /// Returns an error if a file is rejected, does not match, or cannot be opened.
    pub fn open(&self, cache: DriveCache, seed: u64) -> Result<OpenedData, DataError> {
        let image = self.over.as_deref().map(OpenImage::open).transpose()?;
        if let Some(image) = image.as_ref().filter(|image| image.length() > self.size) {
            let length = image.length();
            let size = self.size;
            let why = format!(
                "the image has {length} bytes and is longer than the export, which has {size} bytes"
            );
            return Err(DataError::Misfit { path: image.path.clone(), why });
        }
        match &self.location {
            DataLocation::Memory => {
                let none = PathBuf::from("memory");
                let fail =
                    |source| DataError::System { path: none.clone(), action: "allocated", source };
                let backing = ExportBytes::memory(self.size).map_err(fail)?;
                let backing = match image {
                    Some(image) => backing.over(image.file, None, LOG_RECORDS).map_err(fail)?,
                    None => backing,
                };
                let data = ExportData::new(backing, None, cache, seed);
                Ok(OpenedData { data, notes: Vec::new() })
            }
            DataLocation::File(path) => self.open_file(path, image, cache, seed),
        }
    }

    fn open_file(
        &self,
        path: &Path,
        image: Option<OpenImage>,
        cache: DriveCache,
        seed: u64,
    ) -> Result<OpenedData, DataError> {
        let mut made = CreatedFiles::default();
        let file = take(path, image.as_ref(), &mut made)?;
        let fail =
            |action| move |source| DataError::System { path: path.to_owned(), action, source };
        let there = file.metadata().map_err(fail("examined"))?;
        let PreviousState { journal: old, content, is_gone } =
            self.former(path, &file, &mut made)?;
        let over = image.as_ref().map(|image| image.noted());
        let mut notes = Vec::new();
        if is_gone {
            notes.push(format!(
                "{}: the data that the journal next to this path records is missing; the export begins empty",
                path.display()
            ));
        }
        if let Some(content) = &content {
            self.check_former(path, content, over.as_ref())?;
            notes = left_by(content);
        }
        let earlier = match (&content, there.len()) {
            (Some(_), _) => EarlierData::Recorded,
            (None, 0) => EarlierData::Missing,
            (None, _) => EarlierData::Unrecorded,
        };
        let map_path = companion::path(path, ".map");
        let mut backing = ExportBytes::file(file, self.size);
        match image {
            Some(image) => {
                let map = self.map(path, &map_path, earlier, backing.own(), &mut made);
                let (map, note) = map?;
                notes.extend(note);
                let fail =
                    |source| DataError::System { path: map_path.clone(), action: "used", source };
                backing = backing.over(image.file, Some(map), LOG_RECORDS).map_err(fail)?;
            }
            None => notes.extend(check_lone_map(path, &map_path, earlier)?),
        }
        // The checks above leave a rejected file unchanged.
        let backing = backing.sized().map_err(fail("extended to the length of the export"))?;
        let data = FileIdentity { length: self.size, inode: there.ino() };
        let journal_path = companion::path(path, JOURNAL);
        let journal = Journal::begin(&journal_path, data, over.as_ref());
        let journal = journal.map_err(|source| DataError::System {
            path: journal_path,
            action: "written",
            source,
        })?;
        // The old journal was locked until the new one replaced it.
        drop(old);
        made.keep();
        let data = ExportData::new(backing, Some(journal), cache, seed);
        Ok(OpenedData { data, notes })
    }

    /// Returns whether the user allows the server to use the file at `path` unchanged.
    fn may_overwrite(&self, path: &Path) -> bool {
        self.overwrite.as_deref() == Some(path)
    }

    /// Returns the file of the map of `data`, and a line about a map that was renamed. A map with content is data, and
    /// is used or renamed.
    fn map(
        &self,
        path: &Path,
        map_path: &Path,
        earlier: EarlierData,
        data: &File,
        made: &mut CreatedFiles,
    ) -> Result<(File, Option<String>), DataError> {
        let fail =
            |action| move |source| DataError::System { path: map_path.to_owned(), action, source };
        let map = made.companion(map_path, MAP_MARK)?;
        lock(&map.file, FlockOperation::NonBlockingLockExclusive, map_path)?;
        let mut note = None;
        match (earlier, map.is_empty) {
            (EarlierData::Recorded | EarlierData::Unrecorded, false) => {
                return Ok((map.file, None));
            }
            (EarlierData::Recorded, true) => {
                let why = "the map of the data is missing: it states which blocks are in the data and which in the image";
                return Err(DataError::Misfit { path: map_path.to_owned(), why: why.to_owned() });
            }
            (EarlierData::Unrecorded, true) => {
                let length = data.metadata().map_err(fail("examined"))?.len();
                if stretch_of(data, 0, length) != (length, true) {
                    let name = map_path.display();
                    return Err(DataError::Refused {
                        path: path.to_owned(),
                        why: format!("contains data, and there is no map {name} of this data"),
                        hint: format!("restore {name}, or name a new file for --data"),
                    });
                }
            }
            (EarlierData::Missing, false) => note = Some(move_map_away(map_path)?),
            (EarlierData::Missing, true) => {}
        }
        let file = replace_file(map_path, |file| BlockMap::create(file, self.size, LOG_RECORDS));
        Ok((file.map_err(fail("written"))?, note))
    }

    /// Opens and reads the journal of `own`, or creates an empty journal.
    fn former(
        &self,
        path: &Path,
        own: &File,
        made: &mut CreatedFiles,
    ) -> Result<PreviousState, DataError> {
        let beside = companion::path(path, JOURNAL);
        let fail =
            |action| move |source| DataError::System { path: path.to_owned(), action, source };
        let length = own.metadata().map_err(fail("examined"))?.len();
        let is_new = made.is_made(path);
        let may_overwrite = self.may_overwrite(path);
        let journal = made.companion(&beside, journal::OURS)?;
        lock(&journal.file, FlockOperation::NonBlockingLockExclusive, &beside)?;
        let former = |file, content| Ok(PreviousState { journal: file, content, is_gone: false });
        let file = journal.file;
        if journal.is_empty && (length == 0 || may_overwrite) {
            return former(file, None);
        }
        let refused =
            |why: String, hint: String| DataError::Refused { path: path.to_owned(), why, hint };
        if journal.is_empty {
            let why = "contains data that no server wrote, or whose journal is missing".to_owned();
            return Err(refused(why, format!("name a new file, or {}", use_hint(path))));
        }
        let text = read_bounded(&file);
        match text.as_deref().ok().and_then(journal::read) {
            // The user has removed the file with its data.
            _ if is_new => Ok(PreviousState { journal: file, content: None, is_gone: true }),
            Some(content) => former(file, Some(content)),
            None if may_overwrite => former(file, None),
            None => Err(refused(
                format!("its journal {} has a different version or is damaged", beside.display()),
                use_hint(path),
            )),
        }
    }

    /// Compares the files with their record in the journal.
    fn check_former(
        &self,
        path: &Path,
        content: &JournalContent,
        over: Option<&BackingImage>,
    ) -> Result<(), DataError> {
        let of = |image: Option<&BackingImage>| image.map(|image| image.path.clone());
        let wrong = if content.data.length != self.size {
            Some(format!(
                "it was served with a size of {} bytes, not {}",
                content.data.length, self.size
            ))
        } else if of(content.over.as_ref()) != of(over) {
            Some(match of(content.over.as_ref()) {
                Some(named) => format!("it was served over {named}"),
                None => "it was served without an image".to_owned(),
            })
        } else {
            None
        };
        if let Some(why) = wrong {
            return Err(DataError::Misfit { path: path.to_owned(), why });
        }
        if self.may_overwrite(path) {
            return Ok(());
        }
        let there = std::fs::metadata(path).map_err(|source| DataError::System {
            path: path.to_owned(),
            action: "examined",
            source,
        })?;
        let data = FileIdentity { length: there.len(), inode: there.ino() };
        let image = content.over.as_ref().zip(over);
        let wrong = differs(content.data, data, "the file").or_else(|| {
            image.and_then(|(content, now)| {
                let differs = differs(content.extent, now.extent, "the image below it");
                differs
                    .or_else(|| is_modified(content.modified, now.modified, "the image below it"))
            })
        });
        let wrong = wrong.or_else(|| {
            is_modified(content.closed, Some(ModifiedTime::from_metadata(&there)), "the file")
        });
        match wrong {
            None => Ok(()),
            Some(why) => Err(DataError::Refused {
                path: path.to_owned(),
                why,
                hint: format!(
                    "restore the files of the last server, or use --overwrite {} to accept them \
                     as they are",
                    path.display()
                ),
            }),
        }
    }
}

/// Describes the difference between a file and the journal's record of it.
fn differs(recorded: FileIdentity, now: FileIdentity, what: &str) -> Option<String> {
    if recorded.length != now.length {
        return Some(format!(
            "the journal records {} bytes, but {what} has {}: missing data would read as zeroes",
            recorded.length, now.length
        ));
    }
    (recorded.inode != now.inode).then(|| {
        format!("{what} is not the file of the last server, but a copy or a different file")
    })
}

/// Describes a modification of a file after the journal recorded its time.
fn is_modified(
    recorded: Option<ModifiedTime>,
    now: Option<ModifiedTime>,
    what: &str,
) -> Option<String> {
    recorded
        .filter(|recorded| Some(*recorded) != now)
        .map(|_| format!("another program has written to {what} since the last server used it"))
}

/// Returns the advice to use a file without a valid journal.
fn use_hint(path: &Path) -> String {
    let path = path.display();
    format!("use --over {path} to leave it unchanged, or --overwrite {path} to use it as it is")
}

/// Renames a map whose data is not at its path any more, and returns a line about it.
fn move_map_away(map_path: &Path) -> Result<String, DataError> {
    let fail = |source| DataError::System { path: map_path.to_owned(), action: "renamed", source };
    let name = rename_away(map_path).map_err(fail)?;
    Ok(format!(
        "{}: the data of this map is missing; the map is now {}, and is needed to use that data",
        map_path.display(),
        name.display()
    ))
}

/// Checks a map next to data without an image, and returns a line about a map that was renamed. A file of another
/// program is ignored.
fn check_lone_map(
    path: &Path,
    map_path: &Path,
    earlier: EarlierData,
) -> Result<Option<String>, DataError> {
    let begins = std::fs::symlink_metadata(map_path).is_ok_and(|there| there.is_file())
        && File::open(map_path).is_ok_and(|map| {
            let mut begins = vec![0; MAP_MARK.len()];
            map.read_exact_at(&mut begins, 0).is_ok() && begins == MAP_MARK.as_bytes()
        });
    if !begins {
        return Ok(None);
    }
    match earlier {
        EarlierData::Missing => move_map_away(map_path).map(Some),
        // The journal states that there is no image.
        EarlierData::Recorded => Ok(None),
        EarlierData::Unrecorded => Err(DataError::Refused {
            path: path.to_owned(),
            why: format!("is layered over an image, according to its map {}", map_path.display()),
            hint: "name the image with --over".to_owned(),
        }),
    }
}

/// Returns lines about the state that the last server left.
fn left_by(content: &JournalContent) -> Vec<String> {
    let mut notes: Vec<String> = content.cuts.iter().map(|cut| format!("before: {cut}")).collect();
    match content.state {
        DataState::Closed => {}
        DataState::Open => notes.push(
            "the last server did not shut down cleanly, and it is unknown whether all writes were flushed: \
             unflushed writes are lost if the machine, or the disk of the data, has failed since"
                .to_owned(),
        ),
    }
    notes
}

fn read_bounded(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(JOURNAL_MAX + 1).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
#[path = "opened_tests.rs"]
mod tests;

//! Opens the data of an export: checks its files, creates missing files, and reads the state that the last server left.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lanemark_files::companion;
use rustix::fs::FlockOperation;

use super::backing::{ExportBytes, MAP_MARK};
use super::error::DataError;
use super::files::{CreatedFiles, OpenImage, lock, take};
use super::journal::{
    self, BackingImage, DataState, FileIdentity, JOURNAL_MAX, Journal, JournalContent,
};
use super::{DriveCache, ExportData};

/// Suffix of the journal's name.
const JOURNAL: &str = ".lanemark";

/// The location of the data, and the image under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlan {
    /// The location of the data.
    pub location: DataLocation,
    /// A read-only image that provides the content of unwritten blocks.
    pub over: Option<PathBuf>,
    /// Length of the export.
    pub size: u64,
    /// A file that may be used even though no server created it.
    pub overwrite: Option<PathBuf>,
}

/// The location of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataLocation {
    /// Memory, which is lost when the server ends.
    Memory,
    /// A sparse file.
    File(PathBuf),
}

/// Data that is open.
#[derive(Debug)]
pub struct OpenedData {
    /// The data.
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

impl DataPlan {
    /// Opens the data of a drive with this `cache`. The data lost in power cuts depends on `seed`.
    ///
    /// # Errors
    /// Returns an error if a file is rejected, does not match, or cannot be opened.
    pub fn open(&self, cache: DriveCache, seed: u64) -> Result<OpenedData, DataError> {
        let image = self.over.as_deref().map(OpenImage::open).transpose()?;
        if let Some(image) = image.as_ref().filter(|image| image.length() > self.size) {
            let (length, size) = (image.length(), self.size);
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
                    Some(image) => backing.over(image.file, None).map_err(fail)?,
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
        let inode = file.metadata().map_err(fail("examined"))?.ino();
        let PreviousState { journal, content, is_gone } = self.former(path, &file, &mut made)?;
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
        let mut backing = ExportBytes::file(file, self.size);
        if let Some(image) = image {
            let path = companion::path(path, ".map");
            let map = self.map(&path, content.is_some(), &mut made)?;
            let fail = |source| DataError::System { path: path.clone(), action: "used", source };
            backing = backing.over(image.file, Some(map)).map_err(fail)?;
        }
        // The checks above leave a rejected file unchanged.
        let backing = backing.sized().map_err(fail("extended to the length of the export"))?;
        let data = FileIdentity { length: self.size, inode };
        let journal = Journal::begin(journal, data, over.as_ref());
        let journal = journal.map_err(|source| DataError::System {
            path: companion::path(path, JOURNAL),
            action: "written",
            source,
        })?;
        made.keep();
        let data = ExportData::new(backing, Some(journal), cache, seed);
        Ok(OpenedData { data, notes })
    }

    /// Returns whether the user allows the server to use the file at `path` unchanged.
    fn may_overwrite(&self, path: &Path) -> bool {
        self.overwrite.as_deref() == Some(path)
    }

    /// Returns the file of the map. The map must have content if there is data of an earlier server (`has_former`).
    fn map(
        &self,
        path: &Path,
        has_former: bool,
        made: &mut CreatedFiles,
    ) -> Result<File, DataError> {
        let fail = |source| DataError::System { path: path.to_owned(), action: "opened", source };
        let map = made.companion(path, MAP_MARK)?;
        lock(&map.file, FlockOperation::NonBlockingLockExclusive, path)?;
        match has_former {
            true if map.is_empty => {
                let why = "the map of the data is missing: it states which blocks are in the data and which in the image";
                Err(DataError::Misfit { path: path.to_owned(), why: why.to_owned() })
            }
            true => Ok(map.file),
            // New data has written no blocks yet.
            false => map.file.set_len(0).map(|()| map.file).map_err(fail),
        }
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
        let (is_new, may_overwrite) = (made.is_made(path), self.may_overwrite(path));
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
            let hint = format!(
                "name a new file, or use --over {0} to leave it unchanged, or --overwrite {0}",
                path.display()
            );
            let why =
                "contains data that no server wrote: there is no journal next to it".to_owned();
            return Err(refused(why, hint));
        }
        let text = read_bounded(&file);
        match text.as_deref().ok().and_then(journal::read) {
            // The user has removed the file with its data.
            _ if is_new => Ok(PreviousState { journal: file, content: None, is_gone: true }),
            Some(content) => former(file, Some(content)),
            None if may_overwrite => former(file, None),
            None => Err(refused(
                format!("its journal {} has a different version or is damaged", beside.display()),
                format!("use --over {0} to leave it unchanged, or --overwrite {0}", path.display()),
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
                differs(content.extent, now.extent, "the image below it")
            })
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

/// Returns lines about the state that the last server left.
fn left_by(content: &JournalContent) -> Vec<String> {
    let mut notes: Vec<String> = content.cuts.iter().map(|cut| format!("before: {cut}")).collect();
    match content.state {
        DataState::Closed => {}
        DataState::Flushed => notes.push(
            "the last server did not shut down cleanly; everything was flushed, so no data is lost".to_owned(),
        ),
        DataState::Unflushed => notes.push(
            "the last server did not shut down cleanly, and some writes were not flushed: they are \
             lost only if the machine crashed"
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
mod tests {
    use super::*;
    use lanemark_sim::spec::WriteCacheMode;

    const CACHE: DriveCache = DriveCache { kind: WriteCacheMode::Volatile, size: 1 << 20 };

    fn plan(path: &Path) -> DataPlan {
        let location = DataLocation::File(path.to_owned());
        DataPlan { location, over: None, size: 1 << 20, overwrite: None }
    }

    fn refusal(plan: &DataPlan) -> String {
        plan.open(CACHE, 1).expect_err("refused").to_string()
    }

    #[test]
    fn a_file_is_there_again_and_says_how_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(&folder.path().join("disk"));
        let OpenedData { data, notes } = plan.open(CACHE, 1).unwrap();
        assert!(notes.is_empty());
        assert!(refusal(&plan).contains("locked"));
        data.write(4096, &[5; 512]).unwrap();
        drop(data);
        let OpenedData { data, notes } = plan.open(CACHE, 1).unwrap();
        assert!(notes[0].contains("not flushed"), "{notes:?}");
        let mut bytes = [0; 512];
        data.read(4096, &mut bytes).unwrap();
        assert_eq!(bytes, [5; 512]);
        data.flush(data.mark()).unwrap();
        drop(data);
        let OpenedData { data, notes } = plan.open(CACHE, 1).unwrap();
        assert!(notes[0].contains("no data is lost"), "{notes:?}");
        data.close().unwrap();
        drop(data);
        assert!(plan.open(CACHE, 1).unwrap().notes.is_empty());
    }

    #[test]
    fn data_lost_in_a_cut_is_reported_at_the_next_start() {
        use crate::engine::DataOwner;
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(&folder.path().join("disk"));
        let data = std::sync::Arc::new(plan.open(CACHE, 1).unwrap().data);
        (0..20).for_each(|at| data.write(at * 512, &[5; 512]).unwrap());
        let line = data.power_cut();
        assert!(line.contains("of 20 unflushed writes"), "{line}");
        data.close().unwrap();
        drop(data);
        assert_eq!(plan.open(CACHE, 1).unwrap().notes, [format!("before: {line}")]);
    }

    #[test]
    fn data_of_others_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("theirs");
        std::fs::write(&path, "important").unwrap();
        let mut plan = plan(&path);
        assert!(refusal(&plan).contains("no server wrote"));
        plan.overwrite = Some(folder.path().join("another"));
        assert!(refusal(&plan).contains("no server wrote"));
        assert_eq!(std::fs::read(&path).unwrap(), b"important");
        plan.overwrite = Some(path);
        assert!(plan.open(CACHE, 1).is_ok());
    }

    #[test]
    fn only_regular_files_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        assert!(refusal(&plan(folder.path())).contains("folder"));
        assert!(refusal(&plan(Path::new("/dev/null"))).contains("not a regular file"));
        let disk = Path::new("/dev/vda");
        if disk.exists() {
            assert!(refusal(&plan(disk)).contains("block device"));
        }
    }

    #[test]
    fn a_file_keeps_its_size_and_its_image() {
        let folder = tempfile::tempdir().unwrap();
        let (path, image) = (folder.path().join("disk"), folder.path().join("image"));
        std::fs::write(&image, vec![3; 9_000]).unwrap();
        let over = DataPlan { over: Some(image.clone()), ..plan(&path) };
        let data = over.open(CACHE, 1).unwrap().data;
        data.write(4096, &[1; 512]).unwrap();
        drop(data);
        assert!(refusal(&plan(&path)).contains("over"));
        assert!(refusal(&DataPlan { size: 1 << 21, ..over.clone() }).contains("size of 1048576"));
        let short = DataPlan { size: 8_192, location: DataLocation::Memory, ..over.clone() };
        assert!(refusal(&short).contains("longer than the export"));
        let data = over.open(CACHE, 1).unwrap().data;
        let mut bytes = [0; 1024];
        data.read(4096, &mut bytes).unwrap();
        assert!(bytes[..512] == [1; 512] && bytes[512..] == [3; 512]);
    }
    /// Returns the names in a folder.
    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn companions_of_others_are_refused_and_left_as_they_are() {
        for ending in [".map", JOURNAL] {
            let folder = tempfile::tempdir().unwrap();
            let in_folder = |name: &str| folder.path().join(name);
            std::fs::write(in_folder("image"), vec![3; 9_000]).unwrap();
            let disk = in_folder("disk");
            let over = DataPlan { over: Some(in_folder("image")), ..plan(&disk) };
            let beside = companion::path(&disk, ending);
            std::fs::write(&beside, "a map of the Alps").unwrap();
            assert!(refusal(&over).contains("not a Lanemark file"), "{ending}");
            assert_eq!(std::fs::read(&beside).unwrap(), b"a map of the Alps");
            std::fs::rename(&beside, in_folder("victim")).unwrap();
            std::os::unix::fs::symlink(in_folder("victim"), &beside).unwrap();
            assert!(refusal(&over).contains("symbolic link"), "{ending}");
            assert_eq!(std::fs::read(in_folder("victim")).unwrap(), b"a map of the Alps");
            // A rejected start leaves no new files.
            let beside = beside.file_name().unwrap().to_str().unwrap();
            assert_eq!(names(folder.path()), [beside, "image", "victim"]);
        }
    }

    /// Serves, flushes and closes data that consists of `byte`.
    fn serve_once(plan: &DataPlan, byte: u8) {
        let data = plan.open(CACHE, 1).unwrap().data;
        data.write(0, &vec![byte; plan.size as usize]).unwrap();
        data.close().unwrap();
    }

    #[test]
    fn data_that_was_cut_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let plan = plan(&path);
        serve_once(&plan, 7);
        for length in [4096, 0] {
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(length).unwrap();
            assert!(refusal(&plan).contains("read as zeroes"), "{length}");
            assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
        }
        let allowed = DataPlan { overwrite: Some(path.clone()), ..plan.clone() };
        assert!(allowed.open(CACHE, 1).is_ok());
        assert!(plan.open(CACHE, 1).is_ok());
        // A user who has removed the file no longer needs its data.
        std::fs::remove_file(&path).unwrap();
        assert!(plan.open(CACHE, 1).unwrap().notes[0].contains("is missing"));
    }

    #[test]
    fn another_file_in_its_place_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("disk"), folder.path().join("copy"));
        let plan = plan(&path);
        serve_once(&plan, 7);
        std::fs::copy(&path, &copy).unwrap();
        std::fs::rename(&copy, &path).unwrap();
        assert!(refusal(&plan).contains("not the file of the last server"));
        let allowed = DataPlan { overwrite: Some(path.clone()), ..plan.clone() };
        let mut bytes = [0; 512];
        allowed.open(CACHE, 1).unwrap().data.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 512]);
        assert!(plan.open(CACHE, 1).is_ok());
    }

    #[test]
    fn an_image_or_a_map_that_was_cut_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, image) = (folder.path().join("disk"), folder.path().join("image"));
        std::fs::write(&image, vec![3; 9_000]).unwrap();
        let plan = DataPlan { over: Some(image.clone()), ..plan(&path) };
        plan.open(CACHE, 1).unwrap().data.write(0, &[7; 4096]).unwrap();
        let cut = |path: &Path, length| {
            std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
        };
        cut(&image, 4_096);
        assert!(refusal(&plan).contains("the image below it has 4096"));
        cut(&image, 9_000);
        assert!(plan.open(CACHE, 1).is_ok());
        for length in [70, 0] {
            cut(&companion::path(&path, ".map"), length);
            let refused = refusal(&plan);
            assert!(refused.contains("map"), "{length}: {refused}");
        }
        std::fs::remove_file(companion::path(&path, ".map")).unwrap();
        assert!(refusal(&plan).contains("the map of the data is missing"));
    }

    #[test]
    fn an_image_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (path, image) = (folder.path().join("disk"), folder.path().join("image"));
        let (theirs, ours) = (plan(&image), DataPlan { over: Some(image.clone()), ..plan(&path) });
        serve_once(&theirs, 3);
        // The link is another name for the same file.
        let link = folder.path().join("link");
        std::fs::hard_link(&image, &link).unwrap();
        let both = DataPlan { over: Some(image.clone()), ..plan(&link) };
        assert!(refusal(&both).contains("is also the image of --over"));
        let writer = theirs.open(CACHE, 1).unwrap();
        assert!(refusal(&ours).contains("is locked by another program"));
        drop(writer);
        let readers = [ours.open(CACHE, 1).unwrap(), {
            let location = DataLocation::Memory;
            DataPlan { location, ..ours.clone() }.open(CACHE, 1).unwrap()
        }];
        assert!(refusal(&theirs).contains("is locked by another program"));
        drop(readers);
        assert!(theirs.open(CACHE, 1).is_ok());
    }

    #[test]
    fn neither_files_of_the_kernel_nor_ends_of_links_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Path::new("/proc/self/mem");
        assert!(refusal(&plan(memory)).contains("generated by the kernel"));
        let over = DataPlan {
            over: Some(memory.to_owned()),
            location: DataLocation::Memory,
            ..plan(memory)
        };
        assert!(refusal(&over).contains("generated by the kernel"));
        let (link, end) = (folder.path().join("link"), folder.path().join("end"));
        std::os::unix::fs::symlink(&end, &link).unwrap();
        assert!(refusal(&plan(&link)).contains("without a target"));
        assert!(!end.exists());
    }
}

//! The opening of data: what is refused, what is made, and what the last server left.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::backing::Backing;
use super::journal::{self, JOURNAL_MAX, Journal, Said, State};
use super::{Cache, Data};

/// Where data is, and what lies below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlan {
    /// The place of the data.
    pub place: Place,
    /// A read-only image that shows through where nothing was written.
    pub over: Option<PathBuf>,
    /// Length of the export.
    pub size: u64,
    /// A file that may be written over though no server made it.
    pub overwrite: Option<PathBuf>,
}

/// The place of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Memory, gone with the server.
    Memory,
    /// A sparse file.
    File(PathBuf),
}

/// Data that is open.
#[derive(Debug)]
pub struct Opened {
    /// The data.
    pub data: Data,
    /// Lines about what the last server left.
    pub told: Vec<String>,
}

/// A reason why data cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A target that is refused so that nothing is lost.
    #[error("{}: {why}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Reason of the refusal.
        why: String,
        /// A way out.
        hint: String,
    },
    /// A file that does not fit what was asked for.
    #[error("{}: {why}", path.display())]
    Misfit {
        /// The file.
        path: PathBuf,
        /// Reason why the file does not fit.
        why: String,
    },
    /// A file that cannot be opened, read or written.
    #[error("{}: can't be {action}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// Action that failed.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl DataPlan {
    /// Opens the data of a drive with this `cache`. What a power cut takes follows from `seed`.
    ///
    /// # Errors
    /// A file that is refused, does not fit, or cannot be opened.
    pub fn open(&self, cache: Cache, seed: u64) -> Result<Opened, DataError> {
        let image = self.over.as_deref().map(open_image).transpose()?;
        if let (Some((image, length)), Some(path)) = (&image, &self.over) {
            let _: &File = image;
            if *length > self.size {
                let why = format!(
                    "the image of {length} bytes is longer than the export of {}",
                    self.size
                );
                return Err(DataError::Misfit { path: path.clone(), why });
            }
        }
        match &self.place {
            Place::Memory => {
                let none = PathBuf::from("memory");
                let fail =
                    |source| DataError::System { path: none.clone(), action: "taken", source };
                let backing = Backing::memory(self.size).map_err(fail)?;
                let backing = match image {
                    Some((image, _)) => backing.over(image, None).map_err(fail)?,
                    None => backing,
                };
                let data = Data::new(backing, None, cache, seed);
                Ok(Opened { data, told: Vec::new() })
            }
            Place::File(path) => self.open_file(path, image.map(|(image, _)| image), cache, seed),
        }
    }

    fn open_file(
        &self,
        path: &Path,
        image: Option<File>,
        cache: Cache,
        seed: u64,
    ) -> Result<Opened, DataError> {
        let own = self.take(path)?;
        let fail =
            |action| move |source| DataError::System { path: path.to_owned(), action, source };
        let beside = beside(path, ".lanemark");
        let said = self.former(path, &own, &beside)?;
        let over = self.over.as_ref().map(|over| over.display().to_string());
        let mut told = Vec::new();
        if let Some(said) = &said {
            let wrong = if said.size != self.size {
                Some(format!("it is served with a size of {} bytes, not {}", said.size, self.size))
            } else if said.over != over {
                let named = said.over.as_deref().unwrap_or("no image");
                Some(format!("it is served over {named}"))
            } else {
                None
            };
            if let Some(why) = wrong {
                return Err(DataError::Misfit { path: path.to_owned(), why });
            }
            told = left_by(said);
        }
        let mut backing = Backing::file(own, self.size).map_err(fail("made as long"))?;
        if let Some(image) = image {
            let path = self::beside(path, ".map");
            let fail = |source| DataError::System { path: path.clone(), action: "opened", source };
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(said.is_none()).mode(0o600);
            let map = options.open(&path).map_err(fail)?;
            backing = backing.over(image, Some(map)).map_err(fail)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&beside);
        let journal = file.and_then(|file| Journal::begin(file, self.size, over.as_deref()));
        let journal = journal.map_err(|source| DataError::System {
            path: beside.clone(),
            action: "written",
            source,
        })?;
        let data = Data::new(backing, Some(journal), cache, seed);
        Ok(Opened { data, told })
    }

    /// Opens the file for this server alone.
    fn take(&self, path: &Path) -> Result<File, DataError> {
        let fail =
            |action| move |source| DataError::System { path: path.to_owned(), action, source };
        match std::fs::metadata(path) {
            Ok(there) if !there.is_file() => {
                let kind = there.file_type();
                let what = match (kind.is_block_device(), kind.is_dir()) {
                    (true, _) => "is a block device, and data is only kept in files",
                    (_, true) => "is a folder",
                    _ => "is no regular file",
                };
                return Err(DataError::Refused {
                    path: path.to_owned(),
                    why: what.to_owned(),
                    hint: "name a new file".to_owned(),
                });
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(fail("opened")(error));
            }
            _ => {}
        }
        let mut options = OpenOptions::new();
        // What has taken the name since must not keep anybody waiting.
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
        let file = options.open(path).map_err(fail("opened"))?;
        if !file.metadata().map_err(fail("opened"))?.is_file() {
            return Err(fail("opened")(io::Error::other("is no regular file")));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(DataError::Refused {
                path: path.to_owned(),
                why: "another program has locked it".to_owned(),
                hint: "end the other server, or name another file".to_owned(),
            }),
            // A file system without locks has none.
            _ => Ok(file),
        }
    }

    /// Content of the journal of a file that was there before; none of a new file.
    fn former(&self, path: &Path, own: &File, beside: &Path) -> Result<Option<Said>, DataError> {
        let length = own.metadata().map_err(|source| DataError::System {
            path: path.to_owned(),
            action: "looked at",
            source,
        })?;
        if length.len() == 0 {
            return Ok(None);
        }
        let text = read_bounded(beside);
        match text.as_deref().map(journal::read) {
            Ok(Some(said)) => Ok(Some(said)),
            _ if self.overwrite.as_deref() == Some(path) => Ok(None),
            _ => Err(DataError::Refused {
                path: path.to_owned(),
                why: "holds data that no server wrote: there is no journal beside it".to_owned(),
                hint: format!(
                    "name a new file; or --over {0} to leave it as it is; or --overwrite {0}",
                    path.display()
                ),
            }),
        }
    }
}

/// Lines about what the last server left.
fn left_by(said: &Said) -> Vec<String> {
    let mut told: Vec<String> = said.cuts.iter().map(|cut| format!("before: {cut}")).collect();
    match said.state {
        State::Closed => {}
        State::Flushed => told.push(
            "the last server did not end by itself; everything was flushed, nothing is lost".to_owned(),
        ),
        State::Unflushed => told.push(
            "the last server did not end by itself, and some writes were not flushed: a kill of the server lost \
             none of them, a crash of the machine may have"
                .to_owned(),
        ),
    }
    told
}

fn open_image(path: &Path) -> Result<(File, u64), DataError> {
    let fail = |source| DataError::System { path: path.to_owned(), action: "opened", source };
    let there = std::fs::metadata(path).map_err(fail)?;
    if !there.is_file() {
        let why = "an image is a regular file".to_owned();
        return Err(DataError::Misfit { path: path.to_owned(), why });
    }
    Ok((File::open(path).map_err(fail)?, there.len()))
}

/// The path with `ending` behind its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("is no regular file"));
    }
    File::open(path)?.take(JOURNAL_MAX + 1).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_core::sim::spec::WriteCache;

    const CACHE: Cache = Cache { kind: WriteCache::Volatile, size: 1 << 20 };

    fn plan(path: &Path) -> DataPlan {
        let place = Place::File(path.to_owned());
        DataPlan { place, over: None, size: 1 << 20, overwrite: None }
    }

    fn refusal(plan: &DataPlan) -> String {
        plan.open(CACHE, 1).expect_err("refused").to_string()
    }

    #[test]
    fn a_file_is_there_again_and_says_how_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(&folder.path().join("disk"));
        let Opened { data, told } = plan.open(CACHE, 1).unwrap();
        assert!(told.is_empty());
        assert!(refusal(&plan).contains("locked"));
        data.write(4096, &[5; 512]).unwrap();
        drop(data);
        let Opened { data, told } = plan.open(CACHE, 1).unwrap();
        assert!(told[0].contains("not flushed"), "{told:?}");
        let mut bytes = [0; 512];
        data.read(4096, &mut bytes).unwrap();
        assert_eq!(bytes, [5; 512]);
        data.flush(data.mark()).unwrap();
        drop(data);
        let Opened { data, told } = plan.open(CACHE, 1).unwrap();
        assert!(told[0].contains("nothing is lost"), "{told:?}");
        data.close().unwrap();
        drop(data);
        assert!(plan.open(CACHE, 1).unwrap().told.is_empty());
    }

    #[test]
    fn what_a_cut_took_is_told_at_the_next_start() {
        use crate::engine::Held;
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(&folder.path().join("disk"));
        let data = std::sync::Arc::new(plan.open(CACHE, 1).unwrap().data);
        (0..20).for_each(|at| data.write(at * 512, &[5; 512]).unwrap());
        let line = data.power_cut();
        assert!(line.contains("of 20 unflushed writes"), "{line}");
        data.close().unwrap();
        drop(data);
        assert_eq!(plan.open(CACHE, 1).unwrap().told, [format!("before: {line}")]);
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
        assert!(refusal(&plan(Path::new("/dev/null"))).contains("no regular file"));
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
        let short = DataPlan { size: 8_192, place: Place::Memory, ..over.clone() };
        assert!(refusal(&short).contains("longer than the export"));
        let data = over.open(CACHE, 1).unwrap().data;
        let mut bytes = [0; 1024];
        data.read(4096, &mut bytes).unwrap();
        assert!(bytes[..512] == [1; 512] && bytes[512..] == [3; 512]);
    }
}

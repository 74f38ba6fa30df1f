//! The journal next to a data file: the identity of its files, the state that the last server left, and the data lost
//! in power cuts.
//!
//! The journal consists of a few lines of text. The first line contains the state, which is overwritten in place:
//! `open` while a server uses the data, and `closed` after it has shut down cleanly. The next lines identify the files
//! of the journal by the length and inode number of the data, and of the image under it. The device number is not
//! recorded, because it can change when the machine restarts. The modification times of the image, and of the data
//! after a clean shutdown, show whether other programs have written to them since, unless such a program restores the
//! time.
//!
//! A new journal is written completely before it replaces the old journal, so a crash leaves one of the two. Whether
//! writes are flushed is not recorded: the record would have to be stored before each first write after a flush is
//! acknowledged, which would take the time of one more flush.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::renaming::replace_file;

/// The first bytes of a journal of any version.
pub(super) const OURS: &str = "lanemark-serve ";
/// The first bytes of a journal of this version; the state follows.
const MARK: &str = "lanemark-serve 3 ";
/// Length of the state, including the end of its line.
const STATE: usize = 7;
/// Maximum number of bytes that are read from a journal or written to it.
pub(super) const JOURNAL_MAX: u64 = 1 << 20;
/// Length that is reserved for the line of a clean shutdown.
const CLOSED_MAX: u64 = 64;

#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// Offset of the end of the written part.
    end: Mutex<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalContent {
    /// State that the last server left.
    pub(super) state: DataState,
    /// The data file, with the length of the export.
    pub(super) data: FileIdentity,
    /// Modification time of the data, if the server shut down cleanly.
    pub(super) closed: Option<ModifiedTime>,
    /// The image under the data, if there is one.
    pub(super) over: Option<BackingImage>,
    /// Lines about the data lost in power cuts.
    pub(super) cuts: Vec<String>,
}

/// The identity of a file: its length and its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    /// Length in bytes.
    pub(super) length: u64,
    pub(super) inode: u64,
}

/// The time of the last modification of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModifiedTime {
    seconds: i64,
    nanoseconds: i64,
}

impl ModifiedTime {
    pub(super) fn from_metadata(file: &Metadata) -> Self {
        Self { seconds: file.mtime(), nanoseconds: file.mtime_nsec() }
    }

    fn read(text: &str) -> Option<Self> {
        let (seconds, nanoseconds) = text.split_once(' ')?;
        Some(Self { seconds: seconds.parse().ok()?, nanoseconds: nanoseconds.parse().ok()? })
    }
}

impl fmt::Display for ModifiedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.seconds, self.nanoseconds)
    }
}

/// An image under the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackingImage {
    /// Length and inode number of the image.
    pub(super) extent: FileIdentity,
    /// Modification time of the image; `None` in a journal of an older server.
    pub(super) modified: Option<ModifiedTime>,
    /// Path of the image, as the user named it.
    pub(super) path: String,
}

impl fmt::Display for FileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.length, self.inode)
    }
}

impl FileIdentity {
    fn read(text: &str) -> Option<Self> {
        let (length, inode) = text.split_once(' ')?;
        Some(Self { length: length.parse().ok()?, inode: inode.parse().ok()? })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataState {
    /// The server shut down cleanly.
    Closed,
    /// A server is running, or it did not shut down cleanly.
    Open,
}

impl DataState {
    /// The states with the lines that represent them.
    const LINES: [(Self, &str); 2] = [(Self::Closed, "closed\n"), (Self::Open, "open  \n")];

    /// Reads the state from the start of a text.
    fn read(text: &str) -> Option<Self> {
        Self::LINES.iter().find(|(_, line)| text.starts_with(line)).map(|(state, _)| *state)
    }

    fn line(self) -> &'static str {
        match self {
            Self::Closed => Self::LINES[0].1,
            Self::Open => Self::LINES[1].1,
        }
    }
}

impl Journal {
    /// Starts a journal at `path`, which replaces the journal there.
    pub(super) fn begin(
        path: &Path,
        data: FileIdentity,
        over: Option<&BackingImage>,
    ) -> io::Result<Self> {
        let mut text = format!("{MARK}{}data {data}\n", DataState::Open.line());
        if let Some(BackingImage { extent, modified, path }) = over {
            text.push_str(&format!("over {extent} {path}\n"));
            text.extend(modified.map(|time| format!("over-modified {time}\n")));
        }
        let file = replace_file(path, |file| file.write_all_at(text.as_bytes(), 0))?;
        Ok(Self { file, end: Mutex::new(text.len() as u64) })
    }

    /// Records that the server has shut down cleanly, and when the data was last modified.
    pub(super) fn record_clean_shutdown(&self, closed: ModifiedTime) -> io::Result<()> {
        let end = self.end();
        self.file.write_all_at(format!("closed {closed}\n").as_bytes(), *end)?;
        self.file.write_all_at(DataState::Closed.line().as_bytes(), MARK.len() as u64)?;
        self.file.sync_data()
    }

    /// Records the data lost in a power cut.
    pub(super) fn record_power_cut(&self, line: &str) -> io::Result<()> {
        let mut end = self.end();
        let line = format!("cut {line}\n");
        if *end + line.len() as u64 + CLOSED_MAX > JOURNAL_MAX {
            return Ok(());
        }
        self.file.write_all_at(line.as_bytes(), *end)?;
        *end += line.len() as u64;
        self.file.sync_data()
    }

    fn end(&self) -> MutexGuard<'_, u64> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a journal; returns `None` if the text is not a journal.
pub(super) fn read(text: &str) -> Option<JournalContent> {
    // An incomplete last line is ignored.
    let rest = text.strip_prefix(MARK).filter(|rest| rest.ends_with('\n'))?;
    let state = DataState::read(rest)?;
    let mut lines = rest[STATE..].lines();
    let data = FileIdentity::read(lines.next()?.strip_prefix("data ")?)?;
    let mut over: Option<BackingImage> = None;
    let mut closed = None;
    let mut cuts = Vec::new();
    for line in lines {
        match line.split_once(' ')? {
            ("over", image) => {
                let mut parts = image.splitn(3, ' ');
                let length = parts.next()?;
                let inode = parts.next()?;
                let path = parts.next()?;
                let extent =
                    FileIdentity { length: length.parse().ok()?, inode: inode.parse().ok()? };
                over = Some(BackingImage { extent, modified: None, path: path.to_owned() });
            }
            ("over-modified", time) => over.as_mut()?.modified = Some(ModifiedTime::read(time)?),
            ("closed", time) => closed = Some(ModifiedTime::read(time)?),
            ("cut", line) => cuts.push(line.to_owned()),
            _ => return None,
        }
    }
    let closed = closed.filter(|_| state == DataState::Closed);
    Some(JournalContent { state, data, closed, over, cuts })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: FileIdentity = FileIdentity { length: 4096, inode: 77 };

    fn text(file: &File) -> String {
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    const CLOSED: ModifiedTime = ModifiedTime { seconds: 1_700_000_000, nanoseconds: 7 };

    #[test]
    fn a_journal_reads_back_its_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let image = BackingImage {
            extent: FileIdentity { length: 9, inode: 8 },
            modified: Some(ModifiedTime { seconds: -5, nanoseconds: 999_999_999 }),
            path: "/a b/c".to_owned(),
        };
        let journal = Journal::begin(&path, DATA, Some(&image)).unwrap();
        let content = |state, closed, cuts: &[&str]| {
            let cuts = cuts.iter().map(|&cut| cut.to_owned()).collect();
            Some(JournalContent { state, data: DATA, closed, over: Some(image.clone()), cuts })
        };
        let now = || read(&text(&File::open(&path).unwrap()));
        assert_eq!(now(), content(DataState::Open, None, &[]));
        journal.record_power_cut("one sector").unwrap();
        assert_eq!(now(), content(DataState::Open, None, &["one sector"]));
        journal.record_clean_shutdown(CLOSED).unwrap();
        assert_eq!(now(), content(DataState::Closed, Some(CLOSED), &["one sector"]));
        // A server that did not shut down cleanly has recorded no time for its state.
        let mut half = text(&File::open(&path).unwrap());
        half = half.replace(DataState::Closed.line(), DataState::Open.line());
        assert_eq!(read(&half), content(DataState::Open, None, &["one sector"]));
    }

    #[test]
    fn a_new_journal_replaces_the_old_one_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        Journal::begin(&path, DATA, None).unwrap().record_power_cut("one sector").unwrap();
        let old = File::open(&path).unwrap();
        let before = text(&old);
        let _journal = Journal::begin(&path, DATA, None).unwrap();
        assert_eq!(text(&old), before, "the old journal is replaced and not emptied");
        assert_eq!(read(&text(&File::open(&path).unwrap())).unwrap().cuts.len(), 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_journal_does_not_exceed_the_readable_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::begin(&path, DATA, None).unwrap();
        let line = "x".repeat(104_000);
        (0..20).for_each(|_| journal.record_power_cut(&line).unwrap());
        // The shortest line that fits; the line of the shutdown must fit after it.
        (1..9_000).rev().for_each(|length| journal.record_power_cut(&line[..length]).unwrap());
        journal.record_clean_shutdown(CLOSED).unwrap();
        let file = File::open(&path).unwrap();
        assert!(file.metadata().unwrap().len() <= JOURNAL_MAX);
        let content = read(&text(&file)).unwrap();
        assert_eq!((content.cuts.len() > 10, content.closed), (true, Some(CLOSED)));
    }

    #[test]
    fn other_texts_are_no_journals() {
        let good = "lanemark-serve 3 closed\ndata 512 77\n";
        assert!(read(good).is_some());
        for cut in 0..good.len() - 1 {
            assert_eq!(read(&good[..cut]), None, "{cut}");
        }
        for wrong in [
            "",
            "x",
            "lanemark-serve 3 closed\ndata -1 77\n",
            "lanemark-serve 3 closed\ndata 512\n",
            "lanemark-serve 3 closed\ndata 512 77\nover 9 /image\n",
            "lanemark-serve 1 closed\nsize 1\n",
        ] {
            assert_eq!(read(wrong), None);
        }
        assert_eq!(read(&format!("{good}other line\n")), None);
    }
}

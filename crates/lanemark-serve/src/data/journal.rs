//! The journal next to a data file: the identity of its files, the state that the last server left, and the data lost
//! in power cuts.
//!
//! The journal consists of a few lines of text. The first line contains the state, which is overwritten in place:
//! `closed`, `flushed` or `unflushed`. If the server is killed, the last written state remains. The next lines identify
//! the files of the journal by the length and inode number of the data, and of the image under it. The device number is
//! not recorded, because it can change when the machine restarts.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first bytes of a journal of any version.
pub(super) const OURS: &str = "lanemark-serve ";
/// The first bytes of a journal of this version; the state follows.
const MARK: &str = "lanemark-serve 2 ";
/// Length of the state, including the end of its line.
const STATE: usize = 10;
/// Maximum number of bytes that are read from a journal or written to it.
pub(super) const JOURNAL_MAX: u64 = 1 << 20;

/// A journal that this server writes.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// Offset of the end of the written part.
    end: Mutex<u64>,
}

/// Content of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalContent {
    /// State that the last server left.
    pub(super) state: DataState,
    /// The data file, with the length of the export.
    pub(super) data: FileIdentity,
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
    /// Inode number.
    pub(super) inode: u64,
}

/// An image under the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackingImage {
    /// Length and inode number of the image.
    pub(super) extent: FileIdentity,
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

/// The state of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataState {
    /// The server shut down cleanly.
    Closed,
    /// A server is running, or was killed, and all writes are flushed.
    Flushed,
    /// A server is running, or was killed, with unflushed writes.
    Unflushed,
}

impl DataState {
    fn text(self) -> &'static str {
        match self {
            Self::Closed => "closed   \n",
            Self::Flushed => "flushed  \n",
            Self::Unflushed => "unflushed\n",
        }
    }
}

impl Journal {
    /// Starts a journal in `file`, which replaces the content of the file.
    pub(super) fn begin(
        file: File,
        data: FileIdentity,
        over: Option<&BackingImage>,
    ) -> io::Result<Self> {
        let mut text = format!("{MARK}{}data {data}\n", DataState::Flushed.text());
        if let Some(BackingImage { extent, path }) = over {
            text.push_str(&format!("over {extent} {path}\n"));
        }
        file.set_len(0)?;
        file.write_all_at(text.as_bytes(), 0)?;
        file.sync_all()?;
        Ok(Self { file, end: Mutex::new(text.len() as u64) })
    }

    /// Records that there are unflushed writes.
    pub(super) fn record_unflushed(&self) -> io::Result<()> {
        let _end = self.end();
        self.state(DataState::Unflushed)
    }

    /// Records that all writes were flushed, unless newer writes are `unflushed`.
    pub(super) fn record_flush(&self, unflushed: &AtomicBool) -> io::Result<()> {
        let _end = self.end();
        match unflushed.load(Ordering::SeqCst) {
            true => Ok(()),
            false => self.state(DataState::Flushed),
        }
    }

    /// Records that the server has shut down cleanly.
    pub(super) fn record_clean_shutdown(&self) -> io::Result<()> {
        let _end = self.end();
        self.state(DataState::Closed)?;
        self.file.sync_data()
    }

    /// Records the data lost in a power cut.
    pub(super) fn record_power_cut(&self, line: &str) -> io::Result<()> {
        let mut end = self.end();
        let line = format!("cut {line}\n");
        if *end + line.len() as u64 > JOURNAL_MAX {
            return Ok(());
        }
        self.file.write_all_at(line.as_bytes(), *end)?;
        *end += line.len() as u64;
        Ok(())
    }

    fn end(&self) -> MutexGuard<'_, u64> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self, state: DataState) -> io::Result<()> {
        self.file.write_all_at(state.text().as_bytes(), MARK.len() as u64)
    }
}

/// Reads a journal; returns `None` if the text is not a journal.
pub(super) fn read(text: &str) -> Option<JournalContent> {
    // An incomplete last line is ignored.
    let rest = text.strip_prefix(MARK).filter(|rest| rest.ends_with('\n'))?;
    let all = [DataState::Closed, DataState::Flushed, DataState::Unflushed];
    let state = *all.iter().find(|state| rest.starts_with(state.text()))?;
    let mut lines = rest[STATE..].lines();
    let data = FileIdentity::read(lines.next()?.strip_prefix("data ")?)?;
    let (mut over, mut cuts) = (None, Vec::new());
    for line in lines {
        match line.split_once(' ')? {
            ("over", image) => {
                let mut parts = image.splitn(3, ' ');
                let (length, inode, path) = (parts.next()?, parts.next()?, parts.next()?);
                let extent =
                    FileIdentity { length: length.parse().ok()?, inode: inode.parse().ok()? };
                over = Some(BackingImage { extent, path: path.to_owned() });
            }
            ("cut", line) => cuts.push(line.to_owned()),
            _ => return None,
        }
    }
    Some(JournalContent { state, data, over, cuts })
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

    #[test]
    fn a_journal_reads_back_its_records() {
        let file = tempfile::tempfile().unwrap();
        let image = BackingImage {
            extent: FileIdentity { length: 9, inode: 8 },
            path: "/a b/c".to_owned(),
        };
        let journal = Journal::begin(file.try_clone().unwrap(), DATA, Some(&image)).unwrap();
        let content = |state, cuts: &[&str]| {
            let cuts = cuts.iter().map(|&cut| cut.to_owned()).collect();
            Some(JournalContent { state, data: DATA, over: Some(image.clone()), cuts })
        };
        assert_eq!(read(&text(&file)), content(DataState::Flushed, &[]));
        journal.record_unflushed().unwrap();
        journal.record_power_cut("one sector").unwrap();
        assert_eq!(read(&text(&file)), content(DataState::Unflushed, &["one sector"]));
        journal.record_flush(&AtomicBool::new(true)).unwrap();
        assert_eq!(read(&text(&file)), content(DataState::Unflushed, &["one sector"]));
        journal.record_flush(&AtomicBool::new(false)).unwrap();
        assert_eq!(read(&text(&file)), content(DataState::Flushed, &["one sector"]));
        journal.record_clean_shutdown().unwrap();
        assert_eq!(read(&text(&file)), content(DataState::Closed, &["one sector"]));
    }

    #[test]
    fn a_journal_does_not_exceed_the_readable_length() {
        let file = tempfile::tempfile().unwrap();
        let journal = Journal::begin(file.try_clone().unwrap(), DATA, None).unwrap();
        let line = "x".repeat(100_000);
        (0..20).for_each(|_| journal.record_power_cut(&line).unwrap());
        assert!(file.metadata().unwrap().len() <= JOURNAL_MAX);
        assert_eq!(read(&text(&file)).unwrap().cuts.len(), 10);
    }

    #[test]
    fn other_texts_are_no_journals() {
        let good = "lanemark-serve 2 closed   \ndata 512 77\n";
        assert!(read(good).is_some());
        for cut in 0..good.len() - 1 {
            assert_eq!(read(&good[..cut]), None, "{cut}");
        }
        for wrong in [
            "",
            "x",
            "lanemark-serve 2 closed   \ndata -1 77\n",
            "lanemark-serve 2 closed   \ndata 512\n",
            "lanemark-serve 2 closed   \ndata 512 77\nover 9 /image\n",
            "lanemark-serve 1 closed   \nsize 1\n",
        ] {
            assert_eq!(read(wrong), None);
        }
        assert_eq!(read(&format!("{good}other line\n")), None);
    }
}

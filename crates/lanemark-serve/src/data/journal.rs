//! The journal beside a data file: whose it is, how its last server ended, and what power cuts took.
//!
//! A text of a few lines. The first has the state at a fixed place, where it is written anew: `closed`, `flushed` or
//! `unflushed`. A kill of the server leaves what was written last.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The beginning of a journal, before the state.
const MARK: &str = "lanemark-serve 1 ";
/// Length of the state with the end of its line.
const STATE: usize = 10;
/// The most that is read of a journal, or written to it.
pub(super) const JOURNAL_MAX: u64 = 1 << 20;

/// A journal that is written.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// The end of what is written.
    end: Mutex<u64>,
}

/// Content of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// State in which the last server ended.
    pub(super) state: State,
    /// Length of the export.
    pub(super) size: u64,
    /// The image below, as it was named, where there is one.
    pub(super) over: Option<String>,
    /// Lines of what power cuts took.
    pub(super) cuts: Vec<String>,
}

/// The state of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The server ended in good order.
    Closed,
    /// A server is at work, or was killed, with nothing unflushed.
    Flushed,
    /// A server is at work, or was killed, with writes unflushed.
    Unflushed,
}

impl State {
    fn text(self) -> &'static str {
        match self {
            Self::Closed => "closed   \n",
            Self::Flushed => "flushed  \n",
            Self::Unflushed => "unflushed\n",
        }
    }
}

impl Journal {
    /// Begins a journal in `file`, whatever was in it.
    pub(super) fn begin(file: File, size: u64, over: Option<&str>) -> io::Result<Self> {
        let mut text = format!("{MARK}{}size {size}\n", State::Flushed.text());
        if let Some(over) = over {
            text.push_str(&format!("over {over}\n"));
        }
        file.set_len(0)?;
        file.write_all_at(text.as_bytes(), 0)?;
        file.sync_all()?;
        Ok(Self { file, end: Mutex::new(text.len() as u64) })
    }

    /// Something was written and not flushed.
    pub(super) fn unflushed(&self) -> io::Result<()> {
        let _end = self.end();
        self.state(State::Unflushed)
    }

    /// Everything was flushed, unless something is `unflushed` again.
    pub(super) fn flushed(&self, unflushed: &AtomicBool) -> io::Result<()> {
        let _end = self.end();
        match unflushed.load(Ordering::SeqCst) {
            true => Ok(()),
            false => self.state(State::Flushed),
        }
    }

    /// The server ends in good order.
    pub(super) fn closed(&self) -> io::Result<()> {
        let _end = self.end();
        self.state(State::Closed)?;
        self.file.sync_data()
    }

    /// Notes what a power cut took.
    pub(super) fn cut(&self, line: &str) -> io::Result<()> {
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

    fn state(&self, state: State) -> io::Result<()> {
        self.file.write_all_at(state.text().as_bytes(), MARK.len() as u64)
    }
}

/// Reads a journal; none where the text is not one.
pub(super) fn read(text: &str) -> Option<Said> {
    // A line that was not written to its end says nothing.
    let rest = text.strip_prefix(MARK).filter(|rest| rest.ends_with('\n'))?;
    let all = [State::Closed, State::Flushed, State::Unflushed];
    let state = *all.iter().find(|state| rest.starts_with(state.text()))?;
    let mut lines = rest[STATE..].lines();
    let size = lines.next()?.strip_prefix("size ")?.parse().ok()?;
    let (mut over, mut cuts) = (None, Vec::new());
    for line in lines {
        match line.split_once(' ')? {
            ("over", path) => over = Some(path.to_owned()),
            ("cut", line) => cuts.push(line.to_owned()),
            _ => return None,
        }
    }
    Some(Said { state, size, over, cuts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(file: &File) -> String {
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_journal_says_what_was_written_to_it() {
        let file = tempfile::tempfile().unwrap();
        let journal = Journal::begin(file.try_clone().unwrap(), 4096, Some("/a b/c")).unwrap();
        let said = |state, cuts: &[&str]| {
            let cuts = cuts.iter().map(|&cut| cut.to_owned()).collect();
            Some(Said { state, size: 4096, over: Some("/a b/c".to_owned()), cuts })
        };
        assert_eq!(read(&text(&file)), said(State::Flushed, &[]));
        journal.unflushed().unwrap();
        journal.cut("one sector").unwrap();
        assert_eq!(read(&text(&file)), said(State::Unflushed, &["one sector"]));
        journal.flushed(&AtomicBool::new(true)).unwrap();
        assert_eq!(read(&text(&file)), said(State::Unflushed, &["one sector"]));
        journal.flushed(&AtomicBool::new(false)).unwrap();
        assert_eq!(read(&text(&file)), said(State::Flushed, &["one sector"]));
        journal.closed().unwrap();
        assert_eq!(read(&text(&file)), said(State::Closed, &["one sector"]));
    }

    #[test]
    fn a_journal_does_not_grow_beyond_what_is_read() {
        let file = tempfile::tempfile().unwrap();
        let journal = Journal::begin(file.try_clone().unwrap(), 4096, None).unwrap();
        let line = "x".repeat(100_000);
        (0..20).for_each(|_| journal.cut(&line).unwrap());
        assert!(file.metadata().unwrap().len() <= JOURNAL_MAX);
        assert_eq!(read(&text(&file)).unwrap().cuts.len(), 10);
    }

    #[test]
    fn other_texts_are_no_journals() {
        let good = "lanemark-serve 1 closed   \nsize 512\n";
        assert!(read(good).is_some());
        for cut in 0..good.len() - 1 {
            assert_eq!(read(&good[..cut]), None, "{cut}");
        }
        for wrong in [
            "",
            "x",
            "lanemark-serve 1 closed   \nsize -1\n",
            "lanemark-serve 2 closed   \nsize 1\n",
        ] {
            assert_eq!(read(wrong), None);
        }
        assert_eq!(read(&format!("{good}other line\n")), None);
    }
}

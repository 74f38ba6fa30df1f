//! A second process that cleans up after a killed run.
//!
//! A process cannot react to SIGKILL. The warden reads a pipe whose write end only the run holds open. If the pipe is
//! closed without the final message, the run was killed. In that case the warden ends the processes of the run's
//! programs and of its guest, if there is one, and removes the run's folder.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lanemark_files::removal::remove_tree;
use lanemark_lab::LabError;

use crate::{marked, own_program};

/// The argument that precedes the folder on a warden's command line.
const WORD: &str = "lanemark-warden";
/// Prefix of the folders that a warden may remove.
const PREFIX: &str = "lanemark-";
/// Message of the run when it begins.
const BEGUN: u8 = b'b';
/// Message of the run when it is done.
const DONE: u8 = b'd';
/// Maximum time to end the run's processes and to remove its folder.
const TIME_MAX: Duration = Duration::from_secs(120);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// A running warden. Dropping it ends the warden without removing files.
pub(crate) struct CleanupProcess(Child);

impl CleanupProcess {
    /// Starts a warden for `folder`, whose name begins with `lanemark-`.
    ///
    /// # Errors
    /// Returns an error if the process cannot be started.
    pub(crate) fn start_for(folder: &Path) -> Result<Self, LabError> {
        Self::start(folder).map_err(|error| {
            LabError::run(format!("the clean-up process can't be started: {error}"))
        })
    }

    fn start(folder: &Path) -> io::Result<Self> {
        let words = own_program::words()?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(WORD).arg(folder).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // The warden must not receive the terminal's signals.
        let mut warden = Self(command.process_group(0).spawn()?);
        warden.send_word(BEGUN)?;
        Ok(warden)
    }

    fn send_word(&mut self, word: u8) -> io::Result<()> {
        self.0.stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&[word]))
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        // A warden that has ended does not need the message.
        let _ = self.send_word(DONE);
        let _ = self.0.wait();
    }
}

/// Runs as a warden if `words` request it, and returns `true` after the warden has ended; in that case the program does
/// nothing else.
pub fn ran_as_warden(words: &[OsString]) -> bool {
    let [_, word, folder] = words else { return false };
    if word != WORD {
        return false;
    }
    let mut heard = Vec::new();
    let read = io::stdin().take(2).read_to_end(&mut heard);
    let folder = Path::new(folder);
    let is_ours =
        folder.file_name().is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()));
    if read.is_ok() && heard == [BEGUN] && is_ours {
        clear(folder);
    }
    true
}

fn clear(folder: &Path) {
    let began = Instant::now();
    while began.elapsed() < TIME_MAX {
        // A process that was created during the previous search, or that has not ended yet, can still write.
        marked::end(folder);
        // The folder itself shows whether the work is done: an error or a success may concern only its contents.
        let _ = remove_tree(folder);
        if fs::symlink_metadata(folder).is_err() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_removed_with_its_files_and_a_missing_folder_takes_no_time() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("lanemark-run");
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(folder.join("inner/file"), "text").unwrap();
        let begun = Instant::now();
        clear(&folder);
        assert!(!folder.exists() && outer.path().exists());
        clear(&folder);
        assert!(begun.elapsed() < TIME_MAX / 4, "{:?}", begun.elapsed());
    }

    #[test]
    fn only_the_words_of_a_warden_make_one() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        for other in [
            &["lanemark"][..],
            &["lanemark", WORD],
            &["lanemark", "sim", "lanemark-folder"],
            &["lanemark", WORD, "lanemark-folder", "more"],
        ] {
            assert!(!ran_as_warden(&words(other)), "{other:?}");
        }
    }
}

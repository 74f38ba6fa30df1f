//! A second process, which clears away what a killed run has left.
//!
//! SIGKILL lets a process do nothing more. The warden reads a pipe that the run alone holds open for writing. A pipe that
//! ends without the word that all is done means that the run was killed: then the warden ends the guest's processes, where
//! the run has a guest, and removes its folder.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;

/// The word after which the program's name has the folder, where it is a warden.
const WORD: &str = "lanemark-warden";
/// How the name of any folder begins that a warden may remove.
const PREFIX: &str = "lanemark-";
/// What the run says when it begins, and when all is done.
const BEGUN: u8 = b'b';
const DONE: u8 = b'd';
/// Attempts to remove a folder that processes which are ending still write to, and the time between two.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// A warden at work. Dropped, it ends and leaves everything as it is.
pub(crate) struct Warden(Child);

impl Warden {
    /// Starts a warden of `folder`, whose name begins with `lanemark-`.
    ///
    /// # Errors
    /// Where no process can be started.
    pub(crate) fn of(folder: &Path) -> Result<Self, Failure> {
        Self::start(folder).map_err(|error| {
            Failure::run(format!(
                "the process that clears away after this one can't be started: {error}"
            ))
        })
    }

    fn start(folder: &Path) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(WORD).arg(folder).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A terminal's signals are not for it.
        let mut warden = Self(command.process_group(0).spawn()?);
        warden.say(BEGUN)?;
        Ok(warden)
    }

    fn say(&mut self, word: u8) -> io::Result<()> {
        self.0.stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&[word]))
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        // One that has ended has nothing to do either.
        let _ = self.say(DONE);
        let _ = self.0.wait();
    }
}

/// Runs as a warden where the words say so, and returns true when it has ended: the program has no other business then.
pub(crate) fn ran_as_one(words: &[OsString]) -> bool {
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
    #[cfg(feature = "exact")]
    lanemark_serve::exact::boot::kill_noted(folder);
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(PAUSE),
            _ => return,
        }
    }
}

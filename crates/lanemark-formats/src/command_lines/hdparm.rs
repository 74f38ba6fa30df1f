//! `hdparm -t` as a workload: it reads 2 MiB at a time from the start of the device for three seconds.

use super::draft::{JobDraft, unsupported};
use crate::error::{FormatError, shown};

/// Returns the job of the words of `hdparm`.
pub(super) fn job(words: &[String], file: &str) -> Result<JobDraft, FormatError> {
    let mut draft = JobDraft::default();
    let mut path = None;
    let mut direct = false;
    let mut is_timed = false;
    for word in words {
        match word.as_str() {
            "-t" => is_timed = true,
            "--direct" => direct = true,
            "-T" | "-tT" | "-Tt" => {
                return Err(unsupported(file, word, "-T measures the memory, not the drive"));
            }
            option if option.starts_with('-') => {
                return Err(unsupported(
                    file,
                    word,
                    "does not measure; only -t and --direct are read",
                ));
            }
            device if path.is_none() => path = Some(device),
            _ => return Err(unsupported(file, word, "only one device is read at a time")),
        }
    }
    let Some(path) = path.filter(|_| is_timed) else {
        return Err(FormatError::file(file, "hdparm measures a device only with -t")
            .hint("write -- hdparm -t --direct /dev/sda"));
    };
    draft.set("rw", "read");
    draft.set("bs", "2m");
    draft.set("filename", shown(path));
    draft.set("ioengine", "psync");
    draft.set("iodepth", "1");
    draft.set("direct", if direct { "1" } else { "0" });
    draft.set("runtime", "3");
    Ok(draft)
}

//! Files that were given to a command that does not read them: the failure names their contents, and the command that
//! reads them.

use std::path::Path;

use lanemark_formats::{RecognisedFormat, ResultFormat, fio, iostat, recognise};
use lanemark_lab::{encoding, input};
use lanemark_trace::{Options, Reader};

use crate::output::failure::Failure;

/// Maximum number of bytes that are examined.
const HEAD_MAX: u64 = 1 << 20;

/// Returns the failure for a file whose contents another command reads; `None` if they are not recognised.
pub(crate) fn failure(path: &Path) -> Option<Failure> {
    if input::is_piped(path) {
        return None;
    }
    let text = encoding::decoded(input::head(path, HEAD_MAX).ok()?).ok()?;
    let (name, advice) = contents(&text)?;
    let failure = Failure::input(format!("{}: is {name}", path.display()));
    Some(failure.hint(advice.replace("FILE", &path.display().to_string())))
}

/// Returns the name of a text, with the advice which command reads it.
fn contents(text: &str) -> Option<(&'static str, &'static str)> {
    if fio::is_job_file(text) || iostat::is_ours(text) {
        return Some(("a workload", "`lanemark sim SYSTEM FILE` runs it"));
    }
    match recognise(text) {
        // Any JSON may be a result of fio.
        RecognisedFormat::Result(ResultFormat::FioJson) if !text.contains("fio version") => None,
        RecognisedFormat::Result(_) => {
            Some(("a result of another program", "`lanemark report FILE` shows it"))
        }
        RecognisedFormat::Known(known) if known.name == "a Lanemark result" => {
            Some((known.name, "`lanemark report FILE` shows it"))
        }
        RecognisedFormat::Known(known) => Some((known.name, known.advice)),
        RecognisedFormat::Unknown => Reader::new("", text.as_bytes(), &Options::default())
            .is_ok()
            .then_some(("a trace", "`lanemark sim SYSTEM FILE` replays it")),
    }
}

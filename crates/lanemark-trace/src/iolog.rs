//! Reads fio's iolog, versions 2 and 3: the format that fio writes with `write_iolog` and reads with `read_iolog`.
//!
//! The first line is `fio version 2 iolog` or `fio version 3 iolog`. The other lines are `file action` with add, open
//! or close, and `file action offset length` with read, write, sync, datasync or trim, in bytes; version 3 has a
//! timestamp at the start of each of these lines (fio's HOWTO, "Trace file format"). The HOWTO does not state the unit
//! of a timestamp: fio writes microseconds (`utime_since_now` in `iolog.c`), and waits for this time when it reads a
//! log.
//!
//! Instead of timestamps, version 2 has lines `file wait time offset`, with a time that the HOWTO defines as
//! microseconds since the previous wait. The time of a request is the sum of the waits before it, so requests have a
//! time only after the first wait. (fio 3.33 interprets the same number as milliseconds since the start.) fio's rule
//! that waits below 100 µs are discarded is not applied, because simulated time does not have that granularity. Version
//! 3 does not have waits.
//!
//! A sync, datasync or sync_file_range is a flush. A file is a device; devices are numbered in the order in which files
//! are added. A file that was never added or opened is also accepted.
//!
//! A log without its first line, as people paste it, is recognised by its lines. Version 1 is not supported. The format
//! does not have comments. Names with spaces are not supported, and fio cannot read them either.

use lanemark_schema::workload::Operation;

use crate::field::{FieldError, Fields};
use crate::parsed::{ParsedLine, RecordedRequest};

/// Beginning of the first line.
pub(crate) const HEADER: &[u8] = b"fio version ";

/// Number of picoseconds in a microsecond.
const MICROSECOND: u128 = 1_000_000;

/// The state of a reader of this format.
#[derive(Clone, Debug, Default)]
pub(crate) struct IologParser {
    version: Option<Version>,
    /// The sum of all waits up to this line; `None` before the first wait.
    waited: Option<u128>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

impl IologParser {
    pub(crate) fn parse<'l>(&mut self, line: &'l [u8]) -> Result<ParsedLine<'l>, FieldError> {
        let version = match self.version {
            Some(version) => version,
            // The first line may be missing from a log that was pasted.
            None => match version_of_line(line) {
                Some(version) => *self.version.insert(version),
                None => {
                    self.version = Some(version(line)?);
                    return Ok(ParsedLine::Nothing);
                }
            },
        };
        let mut fields = Fields::new(line);
        let stamp = match version {
            Version::Two => None,
            Version::Three => Some(u128::from(fields.word("timestamp")?.integer()?) * MICROSECOND),
        };
        let file = fields.word("file name")?;
        let action = fields.word("action")?;
        let operation = match action.text {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"trim" => Operation::Trim,
            b"sync" | b"datasync" | b"sync_file_range" => Operation::Flush,
            b"add" | b"open" | b"close" | b"unlink" => return Ok(ParsedLine::Device(file.text)),
            b"wait" if version == Version::Two => {
                let time = u128::from(fields.word("wait time")?.integer()?);
                self.waited = Some(self.waited.unwrap_or(0) + time * MICROSECOND);
                return Ok(ParsedLine::Nothing);
            }
            b"wait" => {
                return Err(action
                    .fault("no wait in version 3")
                    .hint("remove the line; the timestamps define the times of requests"));
            }
            _ => {
                return Err(
                    action.fault("read, write, sync, datasync, trim, wait, add, open or close")
                );
            }
        };
        let offset = fields.word("offset")?.integer()?;
        let length = fields.word("length")?.integer()?;
        let (offset, length) = match operation {
            Operation::Flush => (0, 0),
            _ => (offset, length),
        };
        Ok(ParsedLine::Request(RecordedRequest {
            time: stamp.or(self.waited),
            device: file.text,
            thread: 0,
            operation,
            offset,
            length,
            flush_first: false,
        }))
    }
}

/// Returns the version of a log whose first line is missing, from its second line: `file action`, with a timestamp
/// before it in version 3.
fn version_of_line(line: &[u8]) -> Option<Version> {
    let mut fields = Fields::new(line);
    let words: Vec<&[u8]> =
        std::iter::from_fn(|| fields.optional_word("word")).map(|word| word.text).take(6).collect();
    let is_line = |words: &[&[u8]]| match words {
        [_, b"add" | b"open" | b"close"] => true,
        [file, action, rest @ ..] => {
            const ACTIONS: [&[u8]; 7] =
                [b"read", b"write", b"trim", b"sync", b"datasync", b"sync_file_range", b"wait"];
            let is_number = |word: &&[u8]| word.iter().all(u8::is_ascii_digit);
            ACTIONS.contains(action)
                && !is_number(file)
                && rest.len() == 2
                && rest.iter().all(is_number)
        }
        _ => false,
    };
    match words.as_slice() {
        words if is_line(words) => Some(Version::Two),
        [stamp, rest @ ..] if stamp.iter().all(u8::is_ascii_digit) && is_line(rest) => {
            Some(Version::Three)
        }
        _ => None,
    }
}

/// Returns whether a line is a line of a log whose first line is missing.
pub(crate) fn is_line(line: &[u8]) -> bool {
    version_of_line(line).is_some()
}

fn version(line: &[u8]) -> Result<Version, FieldError> {
    match line.trim_ascii() {
        b"fio version 2 iolog" => Ok(Version::Two),
        b"fio version 3 iolog" => Ok(Version::Three),
        other => {
            let cleaned = crate::field::shown_text(other);
            let message = format!("the first line is `{cleaned}`; expected `fio version 2 iolog`");
            Err(FieldError::line(message)
                .hint("versions 2 and 3 are supported, but version 1 is not"))
        }
    }
}

//! `dd` as a workload: one stream of blocks, one at a time.
//!
//! Sizes have the suffixes of the manual: `kB` is 1000 bytes and `K` is 1024. A copy between two files has two targets
//! and is not read.

use super::draft::{JobDraft, unsupported};
use crate::error::{FormatError, SupportLevel, shown};

/// Maximum size of a request that a test may have.
const BLOCK_MAX: u64 = 64 << 20;
/// The suffixes of a number, each with its factor.
const SUFFIXES: [(&str, u64); 16] = [
    ("", 1),
    ("c", 1),
    ("w", 2),
    ("b", 512),
    ("kB", 1000),
    ("K", 1024),
    ("KiB", 1024),
    ("k", 1024),
    ("MB", 1_000_000),
    ("M", 1 << 20),
    ("MiB", 1 << 20),
    ("m", 1 << 20),
    ("GB", 1_000_000_000),
    ("G", 1 << 30),
    ("GiB", 1 << 30),
    ("g", 1 << 30),
];

/// The note about a flush at the end of the program.
const UNFLUSHED: &str = "nothing is flushed after a test";

/// Returns the job of the operands of `dd`.
pub(super) fn job(words: &[String], file: &str) -> Result<JobDraft, FormatError> {
    let mut draft = JobDraft::default();
    let mut input = None;
    let mut output = None;
    let mut block = 512;
    let mut count = None;
    let mut direct = false;
    let mut sync = None;
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(unsupported(file, word, "is not an operand of dd"));
        };
        let number = || {
            number(value)
                .ok_or_else(|| unsupported(file, word, "is not a number that is supported"))
        };
        match name {
            "if" => input = Some(value),
            "of" => output = Some(value),
            "bs" | "ibs" | "obs" => {
                block = number()?;
                if !(1..=BLOCK_MAX).contains(&block) {
                    return Err(unsupported(file, word, "a request has 1 B to 64 MiB"));
                }
            }
            "count" => count = Some(number()?),
            "status" => {
                draft.note(file, word, SupportLevel::Needless, "it does not change the requests");
            }
            "iflag" | "oflag" | "conv" => {
                for flag in value.split(',') {
                    match (name, flag) {
                        ("iflag" | "oflag", "direct") => direct = true,
                        ("oflag", "dsync") => sync = Some("dsync"),
                        ("oflag", "sync") => sync = Some("sync"),
                        ("iflag", "fullblock") | ("conv", "notrunc" | "noerror") => {}
                        ("conv", "fsync" | "fdatasync") => {
                            draft.note(file, word, SupportLevel::Nearly, UNFLUSHED);
                        }
                        _ => return Err(unsupported(file, word, "lacks an equivalent")),
                    }
                }
            }
            _ => return Err(unsupported(file, word, "lacks an equivalent")),
        }
    }
    let (rw, path) = target(input, output, file)?;
    let size = count.and_then(|count| count.checked_mul(block)).filter(|size| *size > 0);
    let size = size.ok_or_else(|| {
        FormatError::file(file, "dd without `count=` continues to the end of the device")
            .hint("add count=, the number of blocks")
    })?;
    draft.set("rw", rw);
    draft.set("bs", block.to_string());
    draft.set("size", size.to_string());
    draft.set("filename", shown(path));
    draft.set("ioengine", "psync");
    draft.set("iodepth", "1");
    draft.set("direct", if direct { "1" } else { "0" });
    if let Some(sync) = sync {
        draft.set("sync", sync);
    }
    if input == Some("/dev/zero") {
        draft.set("zero_buffers", "1");
    }
    Ok(draft)
}

/// Returns the direction and the target, which is the operand that is not a source or sink of the system.
fn target<'w>(
    input: Option<&'w str>,
    output: Option<&'w str>,
    file: &str,
) -> Result<(&'static str, &'w str), FormatError> {
    let sources = ["/dev/zero", "/dev/urandom", "/dev/random"];
    match (input, output) {
        (Some(input), Some(output)) if sources.contains(&input) => Ok(("write", output)),
        (Some(input), None | Some("/dev/null")) => Ok(("read", input)),
        _ => {
            let message = "dd copies between two files, which are two targets";
            let hint = "use if=/dev/zero for writes or of=/dev/null for reads; the workload copy-10gb copies";
            Err(FormatError::file(file, message).hint(hint))
        }
    }
}

fn number(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let (_, factor) = SUFFIXES.iter().find(|(known, _)| *known == suffix)?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

//! `diskspd` as a workload: the requests of one target.
//!
//! The manual states the defaults: 64 KiB, two requests per thread, one thread, sequential reads, 10 s after a
//! warm-up of 5 s. Options that only change the report are ignored.

use super::draft::{JobDraft, unsupported};
use crate::error::{FormatError, SupportLevel, shown};
use crate::words::size;

/// Options that do not change the requests.
const NEEDLESS: [&str; 7] = ["L", "D", "R", "C", "z", "Z", "v"];

/// Returns the job of the words of `diskspd`.
pub(super) fn job(words: &[String], file: &str) -> Result<JobDraft, FormatError> {
    let mut draft = JobDraft::default();
    let mut settings = Settings::default();
    for word in words {
        let Some(option) = word.strip_prefix(['-', '/']).filter(|option| !option.is_empty()) else {
            if settings.path.replace(word).is_some() {
                return Err(unsupported(file, word, "only one target is supported"));
            }
            continue;
        };
        let name_end = option.chars().next().map_or(0, char::len_utf8);
        let (name, value) = option.split_at(name_end);
        if NEEDLESS.contains(&name) {
            draft.note(file, word, SupportLevel::Needless, "it does not change the requests");
            continue;
        }
        let read = settings.read(name, value);
        read.ok_or_else(|| unsupported(file, word, "lacks an equivalent, or is out of bounds"))?;
        if name == "S" && value.contains(['h', 'w']) {
            let reason = "the page cache is bypassed, but the drive's write cache stays on";
            draft.note(file, word, SupportLevel::Nearly, reason);
        }
    }
    let path = settings.path.ok_or_else(|| {
        FormatError::file(file, "diskspd lacks a target")
            .hint("add the name of the file at the end")
    })?;
    let rw = match settings.writes {
        0 => "read",
        100 => "write",
        _ => "rw",
    };
    draft.set("rw", if settings.random { format!("rand{rw}") } else { rw.to_owned() });
    if rw == "rw" {
        draft.set("rwmixwrite", settings.writes.to_string());
    }
    if settings.random {
        // The offsets are independent, and may repeat.
        draft.set("norandommap", "1");
    }
    draft.set("bs", settings.block.to_string());
    if let Some(alignment) = settings.alignment {
        draft.set("blockalign", alignment.to_string());
    }
    draft.set("iodepth", settings.depth.to_string());
    draft.set("numjobs", settings.threads.to_string());
    draft.set("runtime", settings.seconds.to_string());
    draft.set("time_based", "1");
    if settings.warm_up > 0 {
        draft.set("ramp_time", settings.warm_up.to_string());
    }
    draft.set("direct", if settings.direct { "1" } else { "0" });
    draft.set("ioengine", "libaio");
    draft.set("filename", shown(path));
    if let Some(span) = settings.span {
        draft.set("size", span.to_string());
    }
    Ok(draft)
}

struct Settings<'w> {
    block: u64,
    alignment: Option<u64>,
    depth: u64,
    threads: u64,
    writes: u64,
    seconds: u64,
    warm_up: u64,
    span: Option<u64>,
    random: bool,
    direct: bool,
    path: Option<&'w String>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            block: 65_536,
            alignment: None,
            depth: 2,
            threads: 1,
            writes: 0,
            seconds: 10,
            warm_up: 5,
            span: None,
            random: false,
            direct: false,
            path: None,
        }
    }
}

impl Settings<'_> {
    /// Reads an option; `None` if it lacks an equivalent.
    fn read(&mut self, name: &str, value: &str) -> Option<()> {
        let number = |most: u64| value.parse::<u64>().ok().filter(|number| *number <= most);
        match name {
            "b" => self.block = bytes(value).filter(|bytes| (512..=64 << 20).contains(bytes))?,
            "c" => self.span = Some(bytes(value)?),
            "d" => self.seconds = number(86_400)?,
            "W" => self.warm_up = number(86_400)?,
            "F" | "t" => self.threads = number(1024).filter(|threads| *threads > 0)?,
            "o" => self.depth = number(1024).filter(|depth| *depth > 0)?,
            "w" => self.writes = if value.is_empty() { 10 } else { number(100)? },
            "h" if value.is_empty() => self.direct = true,
            "r" => {
                self.random = true;
                self.alignment = if value.is_empty() { None } else { Some(bytes(value)?) };
            }
            "S" => match value {
                "" | "h" | "u" | "uw" | "wu" => self.direct = true,
                "b" => self.direct = false,
                _ => return None,
            },
            _ => return None,
        }
        Some(())
    }
}

/// Returns a size such as `8K` or `4096`.
fn bytes(text: &str) -> Option<u64> {
    let bytes = match text.parse::<u64>() {
        Ok(bytes) => bytes as f64,
        Err(_) => {
            let (bytes, rest) = size(text, false)?;
            rest.is_empty().then_some(bytes)?
        }
    };
    (1.0..1e18).contains(&bytes).then_some(bytes as u64)
}

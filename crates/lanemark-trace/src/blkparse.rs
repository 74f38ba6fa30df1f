//! Reads the text that blkparse prints for a blktrace recording, in its default format.
//!
//! A line is `"%D %2c %8s %5T.%9t %5p %2a %3d"` (blkparse(1), "Default output"): device as major,minor; processor;
//! sequence number; seconds and nanoseconds; process; action; and the kind of the request (RWBS). For the actions that
//! this module reads, `sector + count [process]` follows, in sectors of 512 bytes (`process_default` in blktrace's
//! `blkparse_fmt.c`). RWBS is an optional F (flush first), then R, W, D (discard) or N (no data), then F (forced unit
//! access), A (read-ahead), S (synchronous) and M (metadata).
//!
//! Only one action is read. The default is Q, a request that an application or a file system queued; the other actions
//! report the same request at other stages. A discard is a trim. A flush without data is a flush, and a write with a
//! preceding flush is a flush and a write. The processor counts as the thread. The statistics at the end, and the lines
//! between them, are skipped.
//!
//! The reader ignores forced unit access, priorities and processes. It also ignores other kinds of requests (N without
//! a flush, packet commands, zones), and does not support other output formats (`-f`, `-F`).

use lanemark_schema::workload::Operation;

use crate::columns::SECOND;
use crate::field::{FieldError, Fields};
use crate::mqsim::sectors;
use crate::parsed::{ParsedLine, RecordedRequest};
use crate::rwbs::direction;

/// Beginnings of lines in the statistics at the end, or before the first event.
const ASIDES: [&[u8]; 6] = [b"CPU", b"Total", b"Throughput", b"Events", b"Skips", b"Input file"];

/// The events that can be read, each with its description.
const ACTIONS: [(u8, &str); 5] = [
    (b'Q', "queued"),
    (b'G', "request allocated"),
    (b'I', "inserted"),
    (b'D', "issued to the device"),
    (b'C', "complete"),
];

/// The stage of a request that is replayed, as one of blkparse's action letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlkparseAction(u8);

impl Default for BlkparseAction {
    /// Returns `Q`, queued.
    fn default() -> Self {
        Self(b'Q')
    }
}

impl BlkparseAction {
    /// The end of a request.
    pub const COMPLETE: Self = Self(b'C');

    /// Returns the letter of the event.
    pub(crate) fn letter(self) -> u8 {
        self.0
    }

    /// Returns the description of an event.
    pub(crate) fn word(letter: u8) -> &'static str {
        ACTIONS.iter().find(|(known, _)| *known == letter).map_or("other", |(_, word)| word)
    }
}

impl std::str::FromStr for BlkparseAction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.as_bytes() {
            [letter] if ACTIONS.iter().any(|(known, _)| known == letter) => Ok(Self(*letter)),
            _ => Err(
                "use Q (queued), G (request allocated), I (inserted), D (issued to the device) \
                      or C (complete)"
                    .to_owned(),
            ),
        }
    }
}

/// The state of a reader of this format.
#[derive(Clone, Debug)]
pub(crate) struct BlkparseParser {
    action: BlkparseAction,
    /// Whether the statistics have begun.
    aside: bool,
    /// The events that were found, as bits in the order of [`ACTIONS`].
    met: u8,
}

impl BlkparseParser {
    pub(crate) fn new(action: BlkparseAction) -> Self {
        Self { action, aside: false, met: 0 }
    }

    /// Returns the letters of the events that were found but not read, each with its description.
    pub(crate) fn other_actions(&self) -> Vec<(char, &'static str)> {
        let found_actions = ACTIONS.iter().enumerate().filter(|(at, _)| self.met >> at & 1 == 1);
        found_actions.map(|(_, (letter, word))| (char::from(*letter), *word)).collect()
    }

    pub(crate) fn parse<'l>(&mut self, line: &'l [u8]) -> Result<ParsedLine<'l>, FieldError> {
        let mut fields = Fields::new(line);
        let device = fields.word("device")?;
        if !is_device(device.text) {
            let text = line.trim_ascii_start();
            self.aside |= ASIDES.iter().any(|start| text.starts_with(start));
            return if self.aside {
                Ok(ParsedLine::Nothing)
            } else {
                Err(device.fault("the device as major,minor"))
            };
        }
        let cpu = fields.word("processor")?;
        fields.word("sequence number")?;
        let time = fields.word("time")?;
        fields.word("process")?;
        let action = fields.word("action")?;
        if action.text != [self.action.0] {
            let at = ACTIONS.iter().position(|(letter, _)| action.text == [*letter]);
            self.met |= at.map_or(0, |at| 1 << at);
            return Ok(ParsedLine::Nothing);
        }
        let kind = fields.word("RWBS")?;
        let thread = u32::try_from(cpu.integer()?).map_err(|_| cpu.fault("a processor"))?;
        let time = Some(time.decimal(SECOND)?);
        let (flush_first, operation) = direction(kind.text);
        let range = match operation {
            Some(_) => extent(&mut fields)?,
            None => None,
        };
        let request = |operation, (offset, length), flush_first| {
            let device = device.text;
            ParsedLine::Request(RecordedRequest {
                time,
                device,
                thread,
                operation,
                offset,
                length,
                flush_first,
            })
        };
        Ok(match (operation, range) {
            (Some(operation), Some(range)) => request(operation, range, flush_first),
            _ if flush_first => request(Operation::Flush, (0, 0), false),
            _ => ParsedLine::Nothing,
        })
    }
}

/// Reads `sector + count` in bytes. Returns `None` if a different text follows: only a process, because there is no
/// data, or the payload of a packet command.
fn extent(fields: &mut Fields<'_>) -> Result<Option<(u64, u64)>, FieldError> {
    let sector = fields.word("sector")?;
    if !sector.text[0].is_ascii_digit() {
        return Ok(None);
    }
    let plus = fields.word("`+`")?;
    match plus.text {
        b"+" => {}
        [b'(' | b'[', ..] => return Ok(None),
        _ => return Err(plus.fault("`+` between sector and count")),
    }
    let count = fields.word("count")?;
    // The process, or the error of a completion, ends the line. Without it, the count may have been truncated.
    fields.word("process")?;
    Ok(Some((sectors(&sector)?, sectors(&count)?)))
}

/// Returns whether a word has the form `major,minor`.
pub(crate) fn is_device(word: &[u8]) -> bool {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let comma = word.iter().position(|&byte| byte == b',');
    comma.is_some_and(|comma| digits(&word[..comma]) && digits(&word[comma + 1..]))
}

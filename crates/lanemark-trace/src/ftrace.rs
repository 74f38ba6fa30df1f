//! Reads the kernel's block events as `trace-cmd report`, `perf script` and `/sys/kernel/tracing/trace` print them.
//!
//! ```text
//! app-1234  [000] .... 100.000100: block_rq_issue: 259,0 R 4096 () 8234952 + 8 [app]
//! ```
//!
//! The time in seconds precedes the event, and the processor is in brackets (`include/trace/events/block.h` in Linux).
//! The events are the stages of blkparse, and only one of them is read: the stage that the user chose or, if this is
//! the default, the stage of the first event in the trace.

use lanemark_schema::workload::Operation;

use crate::blkparse::{BlkparseAction, is_device};
use crate::columns::SECOND;
use crate::field::{Field, FieldError, Fields};
use crate::mqsim::sectors;
use crate::parsed::{ParsedLine, RecordedRequest};
use crate::rwbs::direction;

/// Maximum number of words of a line.
const WORDS_MAX: usize = 64;

/// The events, each with the letter of its stage.
const EVENTS: [(&[u8], u8); 5] = [
    (b"block_bio_queue:", b'Q'),
    (b"block_getrq:", b'G'),
    (b"block_rq_insert:", b'I'),
    (b"block_rq_issue:", b'D'),
    (b"block_rq_complete:", b'C'),
];

/// The state of a reader of this format.
#[derive(Clone, Debug)]
pub(crate) struct FtraceParser {
    /// The letter of the stage that is read; `None` before the first event.
    stage: Option<u8>,
    /// The stages that were found but not read.
    others: Vec<u8>,
}

impl FtraceParser {
    pub(crate) fn new(action: BlkparseAction) -> Self {
        let stage = (action != BlkparseAction::default()).then_some(action.letter());
        Self { stage, others: Vec::new() }
    }

    /// Returns the letters of the stages that were found but not read.
    pub(crate) fn other_stages(&self) -> &[u8] {
        &self.others
    }

    pub(crate) fn parse<'l>(&mut self, line: &'l [u8]) -> Result<ParsedLine<'l>, FieldError> {
        let words = words(line);
        let Some((at, stage)) = event(&words) else { return Ok(ParsedLine::Nothing) };
        if *self.stage.get_or_insert(stage) != stage {
            if !self.others.contains(&stage) {
                self.others.push(stage);
            }
            return Ok(ParsedLine::Nothing);
        }
        let cut = || FieldError::line("the event ends before its sectors");
        let time = words[..at].last().ok_or_else(cut)?;
        let time = Field { text: time.text.strip_suffix(b":").unwrap_or(time.text), ..*time };
        let device = words.get(at + 1).ok_or_else(cut)?;
        let kind = words.get(at + 2).ok_or_else(cut)?;
        if !is_device(device.text) {
            return Err(device.fault("the device as major,minor"));
        }
        let (flush_first, operation) = direction(kind.text);
        let plus = words.iter().position(|word| word.text == b"+").filter(|plus| *plus > at + 2);
        let range = match (operation, plus) {
            (Some(_), Some(plus)) => {
                let count = words.get(plus + 1).ok_or_else(cut)?;
                Some((sectors(&words[plus - 1])?, sectors(count)?))
            }
            (Some(_), None) => return Err(cut()),
            (None, _) => None,
        };
        let processor = words[..at].iter().rev().find_map(|word| {
            let digits = word.text.strip_prefix(b"[")?.strip_suffix(b"]")?;
            u32::try_from(Field { text: digits, ..*word }.integer().ok()?).ok()
        });
        let request = |operation, (offset, length), flush_first| {
            Ok(ParsedLine::Request(RecordedRequest {
                time: Some(time.decimal(SECOND)?),
                device: device.text,
                thread: processor.unwrap_or(0),
                operation,
                offset,
                length,
                flush_first,
            }))
        };
        match (operation, range) {
            // Some kernels print an empty range for a flush.
            (Some(operation), Some((offset, length))) if length > 0 => {
                request(operation, (offset, length), flush_first)
            }
            _ if flush_first => request(Operation::Flush, (0, 0), false),
            _ => Ok(ParsedLine::Nothing),
        }
    }
}

/// Returns whether a line contains a block event.
pub(crate) fn is_line(line: &[u8]) -> bool {
    event(&words(line)).is_some()
}

fn words(line: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Fields::new(line);
    std::iter::from_fn(|| fields.optional_word("word")).take(WORDS_MAX).collect()
}

/// Returns the index of the word that names an event, and the letter of its stage.
fn event(words: &[Field<'_>]) -> Option<(usize, u8)> {
    words.iter().enumerate().find_map(|(at, word)| {
        let name = word.text.strip_prefix(b"block:").unwrap_or(word.text);
        let (_, stage) = EVENTS.iter().find(|(event, _)| *event == name)?;
        (at > 0).then_some((at, *stage))
    })
}

//! The history of each unit according to a journal, in the order of submission.
//!
//! Positions are numbers of records, and therefore define an order of events (see `journal`). A request that was
//! answered with an error, or was not answered, is *open*: the device may have executed it, in part or in full, at any
//! time after the request.

use std::collections::HashMap;
use std::path::Path;

use lanemark_schema::result::{AcknowledgedChange, RequestCounts};
use lanemark_schema::units::{Bytes, Duration};

use super::error::VerifyError;
use super::journal::Header;
use super::record::{Record, RecordKind};

/// The position of an answer that never arrived.
const NEVER: u64 = u64::MAX;

/// A write or a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) generation: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) trim: bool,
    /// Whether the acknowledgement states that the change is on the media.
    durable: bool,
    submitted: u64,
    answered: u64,
    answered_ns: u64,
}

impl Change {
    pub(super) fn is_acknowledged(&self) -> bool {
        self.answered != NEVER
    }

    /// Returns whether `later` was requested after this change was acknowledged.
    pub(super) fn is_before(&self, later: &Self) -> bool {
        self.answered < later.submitted
    }
}

#[derive(Debug)]
pub(super) struct History {
    pub(super) header: Header,
    pub(super) changes: Vec<Change>,
    /// Pairs of a unit and the number of a change that touches it, in order.
    touches: Vec<(u32, u32)>,
    /// Position of the request of the last acknowledged flush.
    flushed: Option<u64>,
    /// The highest requested generation.
    pub(super) generation_last: u64,
    /// Whether the run reached its end.
    pub(super) ended: bool,
    /// Whether requests may have been submitted that the journal does not contain.
    pub(super) tail_missing: bool,
}

pub(super) struct HistoryReader<'a> {
    history: History,
    path: &'a Path,
    /// Unanswered requests, by generation: a change, or the position of a flush.
    open: HashMap<u64, UnansweredRequest>,
}

enum UnansweredRequest {
    Change(u32),
    Flush(u64),
}

impl<'a> HistoryReader<'a> {
    pub(super) fn new(header: Header, path: &'a Path) -> Self {
        let history = History {
            header,
            changes: Vec::new(),
            touches: Vec::new(),
            flushed: None,
            generation_last: 0,
            ended: false,
            tail_missing: false,
        };
        Self { history, path, open: HashMap::new() }
    }

    /// Adds the record at `position`.
    ///
    /// # Errors
    /// Returns an error if a run cannot have written this record.
    pub(super) fn take(&mut self, position: u64, record: Record) -> Result<(), VerifyError> {
        let history = &mut self.history;
        let damaged =
            || VerifyError::JournalDamaged { path: self.path.to_owned(), record: position };
        let fresh = match record.kind {
            RecordKind::Write | RecordKind::DurableWrite | RecordKind::Trim => {
                if !history.header.holds(&record) {
                    return Err(damaged());
                }
                let number = u32::try_from(history.changes.len()).map_err(|_| damaged())?;
                history.changes.push(Change {
                    generation: record.generation,
                    offset: record.offset,
                    length: record.length,
                    trim: record.kind == RecordKind::Trim,
                    durable: record.kind == RecordKind::DurableWrite,
                    submitted: position,
                    answered: NEVER,
                    answered_ns: 0,
                });
                UnansweredRequest::Change(number)
            }
            RecordKind::Flush => UnansweredRequest::Flush(position),
            RecordKind::Failed => {
                return self.open.remove(&record.generation).map(drop).ok_or_else(damaged);
            }
            RecordKind::Acknowledged => {
                match self.open.remove(&record.generation).ok_or_else(damaged)? {
                    UnansweredRequest::Flush(at) => history.flushed = history.flushed.max(Some(at)),
                    UnansweredRequest::Change(number) => {
                        let change = &mut history.changes[number as usize];
                        (change.answered, change.answered_ns) = (position, record.at_ns);
                    }
                }
                return Ok(());
            }
            RecordKind::End => {
                history.ended = true;
                return Ok(());
            }
        };
        history.generation_last = history.generation_last.max(record.generation);
        match self.open.insert(record.generation, fresh) {
            Some(_) => Err(damaged()),
            None => Ok(()),
        }
    }

    /// Returns the completed history. `tail_missing` states whether the journal may have lost its end.
    pub(super) fn finish(self, tail_missing: bool) -> History {
        let mut history = self.history;
        history.tail_missing = tail_missing && !history.ended;
        let from = history.header.from;
        let unit = u64::from(history.header.unit);
        let mut touches = Vec::new();
        for (number, change) in (0u32..).zip(&history.changes) {
            let first = ((change.offset - from) / unit) as u32;
            let count = (u64::from(change.length) / unit) as u32;
            touches.extend((first..first + count).map(|unit| (unit, number)));
        }
        touches.sort_unstable();
        history.touches = touches;
        history
    }
}

impl Header {
    /// Returns whether a change is inside the written range, in whole units.
    fn holds(&self, change: &Record) -> bool {
        let unit = u64::from(self.unit);
        let inside = change.offset >= self.from
            && change.offset <= self.to
            && u64::from(change.length) <= self.to - change.offset;
        inside
            && change.length > 0
            && u64::from(change.length).is_multiple_of(unit)
            && (change.offset - self.from).is_multiple_of(unit)
    }

    pub(super) fn units(&self) -> u64 {
        (self.to - self.from) / u64::from(self.unit)
    }
}

impl History {
    /// Returns the numbers of the changes that touch a unit, in the order of their requests.
    pub(super) fn at(&self, unit: u32) -> impl DoubleEndedIterator<Item = u32> + Clone {
        let first = self.touches.partition_point(|(touched, _)| *touched < unit);
        let rest = &self.touches[first..];
        let count = rest.partition_point(|(touched, _)| *touched == unit);
        rest[..count].iter().map(|(_, number)| *number)
    }

    pub(super) fn change(&self, number: u32) -> &Change {
        &self.changes[number as usize]
    }

    /// Returns whether the change was acknowledged and survives a later loss of power.
    pub(super) fn is_durable(&self, change: &Change) -> bool {
        let flushed = || self.flushed.is_some_and(|flush| change.answered < flush);
        change.is_acknowledged() && (change.durable || flushed())
    }

    /// Returns the change in the form of a result.
    pub(super) fn acknowledged(&self, number: u32) -> AcknowledgedChange {
        let change = self.change(number);
        AcknowledgedChange {
            generation: change.generation,
            offset_bytes: Bytes(change.offset),
            length_bytes: Bytes(change.length.into()),
            trim: change.trim,
            durable: self.is_durable(change),
            acknowledged: Duration::from_nanoseconds(change.answered_ns),
        }
    }

    /// Counts requests by their outcome; `held` is the number of units that contain each change.
    pub(super) fn counts(&self, held: &[u32]) -> RequestCounts {
        let mut counts = RequestCounts::default();
        for (change, held) in self.changes.iter().zip(held) {
            counts.submitted += 1;
            if change.is_acknowledged() {
                counts.acknowledged += 1;
                counts.flushed += u64::from(self.is_durable(change));
            } else if !change.trim {
                match (*held, change.length / self.header.unit) {
                    (0, _) => counts.unacknowledged_absent += 1,
                    (held, all) if held < all => counts.unacknowledged_partly += 1,
                    _ => counts.unacknowledged_whole += 1,
                }
            }
        }
        counts
    }
}

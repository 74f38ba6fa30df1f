//! The ended transactions of all users of a repeat.
//!
//! A histogram takes 200 KB, and there is one per transaction type, so separate histograms for a thousand users would
//! take a gigabyte. Each user collects its transactions in a short list, and adds the list to the shared histograms.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::profile::TransactionKind;
use lanemark_schema::result::TransactionKindFigures;

/// Number of transactions that a user collects before it adds them to the shared histograms.
const NOTES: usize = 128;

#[derive(Default)]
pub(crate) struct SharedHistograms {
    uses: Mutex<BTreeMap<TransactionKind, TransactionKindFigures>>,
}

pub(crate) struct EndedTransaction {
    pub(crate) kind: TransactionKind,
    pub(crate) rolled_back: bool,
    pub(crate) retries: u64,
    pub(crate) latency: Duration,
}

/// The ended transactions of one user. The transactions are added to the shared histograms when the list is full and
/// when this value is dropped.
pub(crate) struct TransactionLog<'a> {
    all: &'a SharedHistograms,
    ended: Vec<EndedTransaction>,
}

impl SharedHistograms {
    /// Returns an empty list for a user.
    pub(crate) fn notes(&self) -> TransactionLog<'_> {
        TransactionLog { all: self, ended: Vec::new() }
    }

    /// Returns the recorded transactions by type.
    pub(crate) fn into_uses(self) -> BTreeMap<TransactionKind, TransactionKindFigures> {
        self.uses.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl TransactionLog<'_> {
    pub(crate) fn add(&mut self, ended: EndedTransaction) {
        self.ended.push(ended);
        if self.ended.len() >= NOTES {
            self.flush_to_shared();
        }
    }

    fn flush_to_shared(&mut self) {
        let mut uses = self.all.uses.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for note in self.ended.drain(..) {
            let entry = uses.entry(note.kind).or_default();
            entry.count += 1;
            entry.rolled_back += u64::from(note.rolled_back);
            entry.retries += note.retries;
            entry.latency.record_ns(note.latency.as_nanos() as u64);
        }
    }
}

impl Drop for TransactionLog<'_> {
    fn drop(&mut self) {
        self.flush_to_shared();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_noted_is_lost() {
        let all = SharedHistograms::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut notes = all.notes();
                    for micros in 0..1_000 {
                        notes.add(EndedTransaction {
                            kind: TransactionKind::Payment,
                            rolled_back: micros < 10,
                            retries: 2,
                            latency: Duration::from_micros(micros),
                        });
                    }
                });
            }
        });
        let uses = all.into_uses();
        let found = &uses[&TransactionKind::Payment];
        assert_eq!((found.count, found.rolled_back, found.retries), (4_000, 40, 8_000));
        assert_eq!(found.latency.count(), 4_000);
    }
}

//! The counters that a database keeps, and their difference between two readings.
//!
//! A counter that a database does not report is absent and is not replaced by another value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A counter of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseCounter {
    /// Transactions that were committed or rolled back, for a database that does not report the two separately.
    Transactions,
    /// Transactions that were committed, including the transactions of other programs on the server.
    Commits,
    /// Transactions that were rolled back.
    Rollbacks,
    /// Pages that were found in the database's buffer.
    BufferHits,
    /// Pages that were missing from the buffer and were read from the system's page cache or the drive.
    BufferMisses,
    /// Records of the write-ahead log.
    WalRecords,
    /// Bytes of the log.
    WalBytes,
    /// Whole pages in the log, which the first change of a page after a checkpoint writes.
    WalFullPages,
    /// Writes of the log to its file.
    WalWrites,
    /// Flushes of the log to the drive.
    WalFlushes,
    /// Checkpoints that began; before version 17 of PostgreSQL, checkpoints that ended.
    Checkpoints,
    /// Deadlocks that were found.
    Deadlocks,
    /// Files that queries wrote because their memory was insufficient.
    TemporaryFiles,
    /// Statements that users sent for their transactions, including those that begin and end them.
    Statements,
    /// Messages that carried statements to the server; each is one round trip.
    Messages,
}

/// A set of counters. Unless stated otherwise, the values are differences between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DatabaseCounters(BTreeMap<DatabaseCounter, u64>);

impl DatabaseCounters {
    /// Returns a counter if the database reports it.
    pub fn get(&self, counter: DatabaseCounter) -> Option<u64> {
        self.0.get(&counter).copied()
    }

    /// Sets a counter.
    pub fn set(&mut self, counter: DatabaseCounter, value: u64) {
        self.0.insert(counter, value);
    }

    /// Returns all counters that the database reports.
    pub fn iter(&self) -> impl Iterator<Item = (DatabaseCounter, u64)> + '_ {
        self.0.iter().map(|(counter, value)| (*counter, *value))
    }

    /// Returns whether the database reports no counter.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the increase since `earlier`, for the counters that both readings contain.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let added = |(counter, later): (&DatabaseCounter, &u64)| {
            // The counters restart at zero after a server has crashed.
            Some((*counter, later.saturating_sub(earlier.get(*counter)?)))
        };
        Self(self.0.iter().filter_map(added).collect())
    }

    /// Adds the counters of another reading.
    pub fn add(&mut self, other: &Self) {
        for (counter, value) in &other.0 {
            *self.0.entry(*counter).or_default() += value;
        }
    }

    /// Returns the number of transactions that ended, whether committed or rolled back.
    pub fn transactions(&self) -> Option<u64> {
        let either =
            || Some(self.get(DatabaseCounter::Commits)? + self.get(DatabaseCounter::Rollbacks)?);
        self.get(DatabaseCounter::Transactions).or_else(either)
    }

    /// Returns the share of pages that were found in the buffer, from 0 to 1.
    pub fn buffer_hit_ratio(&self) -> Option<f64> {
        let hits = self.get(DatabaseCounter::BufferHits)?;
        let misses = self.get(DatabaseCounter::BufferMisses)?;
        (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
    }
}

impl FromIterator<(DatabaseCounter, u64)> for DatabaseCounters {
    fn from_iter<I: IntoIterator<Item = (DatabaseCounter, u64)>>(counters: I) -> Self {
        Self(counters.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_only_one_reading_has_is_absent() {
        let early: DatabaseCounters =
            [(DatabaseCounter::Commits, 5), (DatabaseCounter::BufferHits, 7)].into_iter().collect();
        let late: DatabaseCounters =
            [(DatabaseCounter::Commits, 9), (DatabaseCounter::Rollbacks, 1)].into_iter().collect();
        let between = late.since(&early);
        assert_eq!(
            (between.get(DatabaseCounter::Commits), between.get(DatabaseCounter::Rollbacks)),
            (Some(4), None)
        );
        assert_eq!(between.transactions(), None);
        assert_eq!(late.transactions(), Some(10));
        assert_eq!(early.buffer_hit_ratio(), None);
        let all: DatabaseCounters =
            [(DatabaseCounter::BufferHits, 3), (DatabaseCounter::BufferMisses, 1)]
                .into_iter()
                .collect();
        assert_eq!(all.buffer_hit_ratio(), Some(0.75));
    }
}

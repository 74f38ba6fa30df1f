//! The time that transactions spend waiting, by the event for which their sessions wait, measured by sampling.
//!
//! A server that reports the current wait of each session is queried at a fixed period. The share of queries that found
//! a class, multiplied by the mean response time, is the time that a transaction spends in that class. Each session in
//! a query is a sample. The certainty of a share depends on the number of samples. Waits that are shorter than the
//! period still contribute in proportion to their length.
//!
//! Some waits are not visible. A session without a reported wait is treated as running on the processor. This includes
//! time during which it waits for a free processor, or for the system to read a page into its page cache.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kind of wait of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitClass {
    /// The session is working, or is ready to work when a processor is free.
    Processor,
    /// The session waits for a data read, its own or another session's read.
    Read,
    /// The session waits for data to be written or flushed.
    Write,
    /// The session waits for the log: for its write, for its flush to the drive, or for free space in it.
    Log,
    /// The session waits for a lock that another transaction holds.
    Lock,
    /// The session waits for another session inside the server: latches, pins, group commits.
    Latch,
    /// The session waits for the next statement of its user.
    Client,
    /// The session waits for another event.
    Other,
}

impl WaitClass {
    /// All classes, in display order.
    pub const ALL: [Self; 8] = [
        Self::Processor,
        Self::Read,
        Self::Write,
        Self::Log,
        Self::Lock,
        Self::Latch,
        Self::Client,
        Self::Other,
    ];

    /// Returns the display name of the class.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Read => "read wait",
            Self::Write => "write wait",
            Self::Log => "log wait",
            Self::Lock => "locks",
            Self::Latch => "latches",
            Self::Client => "driver",
            Self::Other => "other",
        }
    }
}

/// The waits of the sessions during the counted part of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionWaits {
    /// The period of the queries, in milliseconds.
    pub period_ms: u64,
    /// Number of queries.
    pub looks: u64,
    /// Number of samples in each class: sessions found in it, over all queries.
    pub samples: BTreeMap<WaitClass, u64>,
}

impl SessionWaits {
    /// Returns the number of samples.
    pub fn total(&self) -> u64 {
        self.samples.values().sum()
    }

    /// Returns the share of a class from 0 to 1, and its standard error if the samples are independent.
    pub fn share(&self, class: WaitClass) -> Option<(f64, f64)> {
        let total = self.total();
        let share = self.samples.get(&class).copied().unwrap_or(0) as f64 / total as f64;
        (total > 0).then(|| (share, (share * (1.0 - share) / total as f64).sqrt()))
    }

    /// Counts `sessions` that were found in `class`.
    pub fn count_sessions(&mut self, class: WaitClass, sessions: u64) {
        *self.samples.entry(class).or_default() += sessions;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_samples_and_say_how_sure_they_are() {
        let mut waits = SessionWaits::default();
        assert_eq!(waits.share(WaitClass::Read), None);
        waits.count_sessions(WaitClass::Read, 25);
        waits.count_sessions(WaitClass::Processor, 75);
        let (share, error) = waits.share(WaitClass::Read).unwrap();
        assert!((share - 0.25).abs() < 1e-12 && (error - 0.0433).abs() < 1e-4, "{share} {error}");
        assert_eq!(waits.share(WaitClass::Lock).unwrap().0, 0.0);
        let all: f64 = WaitClass::ALL.iter().map(|&class| waits.share(class).unwrap().0).sum();
        assert!((all - 1.0).abs() < 1e-12);
    }
}

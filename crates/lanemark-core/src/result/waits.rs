//! The time of transactions by what sessions wait for, found by sampling.
//!
//! A server that says what each session waits for at a moment is asked at a fixed period. The share of looks that
//! found a class, times the mean response time, is the time of a transaction in it. A look is a sample: its share is
//! as sure as the number of samples lets it be, and what is shorter than the period still shows in proportion.
//!
//! Waits that are not seen: a session that waits for nothing that the server knows of counts as the processor's, also while
//! it waits for one to become free, or for a page that the system fetches behind a read of its own page cache.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The wait in which a session was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitClass {
    /// The session works, or would if a processor were free.
    Processor,
    /// The session waits for data to be read, by itself or by another session.
    Read,
    /// The session waits for data to be written or flushed.
    Write,
    /// The session waits for the log: to be written, to reach the drive, to have room.
    Log,
    /// The session waits for a lock that another transaction holds.
    Lock,
    /// The session waits for another session inside the server: latches, pins, group commits.
    Latch,
    /// The session waits for its user, who has the next statement to send.
    Client,
    /// The session waits for something else.
    Other,
}

impl WaitClass {
    /// All classes, in the order in which they are shown.
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

    /// Returns the class's name for people.
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

/// The waits in which sessions were found while counting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionWaits {
    /// The period of looks in milliseconds.
    pub period_ms: u64,
    /// Looks that were taken.
    pub looks: u64,
    /// Sessions that were found at each, over all looks: the samples.
    pub samples: BTreeMap<WaitClass, u64>,
}

impl SessionWaits {
    /// Returns the number of samples.
    pub fn total(&self) -> u64 {
        self.samples.values().sum()
    }

    /// The share of a class from 0 to 1, and its standard error where samples are taken to be independent.
    pub fn share(&self, class: WaitClass) -> Option<(f64, f64)> {
        let total = self.total();
        let share = self.samples.get(&class).copied().unwrap_or(0) as f64 / total as f64;
        (total > 0).then(|| (share, (share * (1.0 - share) / total as f64).sqrt()))
    }

    /// Takes `sessions` down that were found at something.
    pub fn found(&mut self, class: WaitClass, sessions: u64) {
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
        waits.found(WaitClass::Read, 25);
        waits.found(WaitClass::Processor, 75);
        let (share, error) = waits.share(WaitClass::Read).unwrap();
        assert!((share - 0.25).abs() < 1e-12 && (error - 0.0433).abs() < 1e-4, "{share} {error}");
        assert_eq!(waits.share(WaitClass::Lock).unwrap().0, 0.0);
        let all: f64 = WaitClass::ALL.iter().map(|&class| waits.share(class).unwrap().0).sum();
        assert!((all - 1.0).abs() < 1e-12);
    }
}

//! The limit on the work of a fit, in simulated requests.
//!
//! A large grid of measurements could keep a search busy for many minutes. The limit applies to the work instead of the
//! time, so that a fit has the same result on each machine and with any number of threads. The searches may use the
//! share [`SEARCHES`] of the work, and determining the precision of the values uses the rest. When its share is used
//! up, a search returns the best values so far. If the range of a value was not examined, it is the range of the prior.

use std::sync::atomic::{AtomicU64, Ordering};

/// The work of creating and checking the system for a simulation, in addition to its requests.
const SIMULATION: u64 = 500;
/// The share of the work that the searches may use.
const SEARCHES: f64 = 0.6;
/// The share of the work after which no more values are fixed.
const PRECISION: f64 = 0.85;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FitStage {
    /// The searches for the best values.
    Search,
    /// The separation of the determined values from the other values.
    Identify,
    /// The ranges of the values that are not determined.
    Ranges,
}

/// The work that a fit has done, and the limit.
#[derive(Debug)]
pub(super) struct WorkBudget {
    done: AtomicU64,
    work_max: u64,
    stage: FitStage,
}

impl WorkBudget {
    pub(super) fn new(work_max: u64) -> Self {
        Self { done: AtomicU64::new(0), work_max, stage: FitStage::Search }
    }

    /// Adds the work of a simulation with this many requests.
    pub(super) fn add(&self, requests: u64) {
        self.done.fetch_add(requests.saturating_add(SIMULATION), Ordering::Relaxed);
    }

    /// Begins a stage, and applies its share of the work.
    pub(super) fn begin(&mut self, stage: FitStage) {
        self.stage = stage;
    }

    /// Returns the work done so far.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns whether the present stage has used up its share of the work.
    pub(super) fn is_spent(&self) -> bool {
        let share = match self.stage {
            FitStage::Search => SEARCHES,
            FitStage::Identify => PRECISION,
            FitStage::Ranges => 1.0,
        };
        self.done() as f64 >= share * self.work_max as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_ends_at_its_share_of_the_work() {
        let mut budget = WorkBudget::new(100_000);
        let stages =
            [(FitStage::Search, 60_000), (FitStage::Identify, 85_000), (FitStage::Ranges, 100_000)];
        for (stage, end) in stages {
            budget.begin(stage);
            let rest = end - budget.done();
            budget.add(rest - SIMULATION - 1);
            assert!(!budget.is_spent(), "{stage:?}");
            // The smallest simulation does not have requests.
            budget.add(0);
            assert!(budget.is_spent(), "{stage:?}");
            budget = WorkBudget::new(100_000);
            budget.add(end - SIMULATION);
        }
        budget.add(u64::MAX);
    }
}

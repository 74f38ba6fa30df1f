//! The bound on the work of a fit, in simulated requests.
//!
//! A large grid of measurements could keep a search busy for many minutes. The work is counted instead of the time, so
//! that a fit has the same result on each machine and with any number of threads. The searches may do the share
//! [`SEARCHES`] of the work, and the precision of each value takes the rest. If the work is done, a search returns its
//! best values so far, and the range of a value that was not examined is its prior's.

use std::sync::atomic::{AtomicU64, Ordering};

/// The work of a simulation in addition to its requests: the system is created and checked.
const SIMULATION: u64 = 500;
/// The share of the work that the searches may do.
const SEARCHES: f64 = 0.6;
/// The share of the work after which no other value is fixed.
const PRECISION: f64 = 0.85;

/// A part of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FitStage {
    /// The searches for the best values.
    Search,
    /// The separation of the determined values from the others.
    Identify,
    /// The ranges of the values that are not determined.
    Ranges,
}

/// The work that a fit has done, and its bound.
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

    /// Adds a simulation of this many requests.
    pub(super) fn add(&self, requests: u64) {
        self.done.fetch_add(requests.saturating_add(SIMULATION), Ordering::Relaxed);
    }

    /// Begins a stage, whose share of the work then applies.
    pub(super) fn begin(&mut self, stage: FitStage) {
        self.stage = stage;
    }

    /// Returns the work done so far.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns whether the work up to the end of the present stage is done.
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
            // The smallest simulation is one without requests.
            budget.add(0);
            assert!(budget.is_spent(), "{stage:?}");
            budget = WorkBudget::new(100_000);
            budget.add(end - SIMULATION);
        }
        budget.add(u64::MAX);
    }
}

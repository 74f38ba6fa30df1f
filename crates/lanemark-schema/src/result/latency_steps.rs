//! Latencies of an interval, counted in coarse steps. Charts of latency over time draw these counts, which take only a
//! few numbers per interval.

use serde::{Deserialize, Serialize};

/// Number of steps. The last step contains all latencies of 2^39 x 1.5 ns, about 14 minutes, or more.
const STEPS: usize = 80;

/// Request counts by latency, in two steps per doubling: from 2^n ns, and from 1.5 x 2^n ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LatencySteps(Vec<(u8, u64)>);

/// Counts of all steps of the current interval.
#[derive(Clone, Debug)]
pub(super) struct StepCounts([u64; STEPS]);

impl LatencySteps {
    /// Returns the non-empty steps in ascending order, each with its number of requests.
    pub fn counts(&self) -> impl Iterator<Item = (u8, u64)> {
        self.0.iter().copied()
    }

    /// Returns whether no request was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the bounds of a step in ns: the lower bound is included, the upper bound is not.
    pub fn ends_ns(step: u8) -> (f64, f64) {
        let start = |step: u8| {
            let octave = (1u64 << (step / 2).min(62)) as f64;
            if step.is_multiple_of(2) { octave } else { 1.5 * octave }
        };
        (start(step), start(step + 1))
    }

    /// Returns the sum of two interval counts.
    #[must_use]
    pub(super) fn with(&self, other: &Self) -> Self {
        let mut counting = StepCounts::default();
        for (step, count) in self.counts().chain(other.counts()) {
            if let Some(sum) = counting.0.get_mut(usize::from(step)) {
                *sum = sum.saturating_add(count);
            }
        }
        counting.take()
    }

    /// Returns the steps with `factor` times as many requests.
    pub(super) fn times(self, factor: u64) -> Self {
        let multiplied = |(step, count): (u8, u64)| (step, count.saturating_mul(factor));
        Self(self.0.into_iter().map(multiplied).collect())
    }

    /// Returns the steps with the same shares and `requests` requests in total, rounded so that the running sums are
    /// accurate to half a request.
    pub(super) fn scaled_to(&self, requests: u64) -> Self {
        let all: u64 = self.counts().map(|(_, count)| count).sum();
        let factor = requests as f64 / all.max(1) as f64;
        let mut before = 0;
        let mut kept = 0;
        let scaled = self.counts().map(|(step, count)| {
            before += count;
            let sum = (before as f64 * factor).round() as u64;
            let own_count = sum - kept;
            kept = sum;
            (step, own_count)
        });
        Self(scaled.filter(|(_, count)| *count > 0).collect())
    }

    /// Returns whether the steps are in ascending order and count `requests` in total.
    pub(super) fn counts_all(&self, requests: u64) -> bool {
        let ordered = self.0.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let known = self.0.iter().all(|&(step, count)| usize::from(step) < STEPS && count > 0);
        let sum = self.0.iter().try_fold(0u64, |sum, &(_, count)| sum.checked_add(count));
        ordered && known && sum == Some(requests)
    }
}

impl Default for StepCounts {
    fn default() -> Self {
        Self([0; STEPS])
    }
}

impl StepCounts {
    #[inline]
    pub(super) fn count(&mut self, latency_ns: u64) {
        self.count_all(latency_ns, 1);
    }

    /// Counts `requests` requests with the same latency.
    #[inline]
    pub(super) fn count_all(&mut self, latency_ns: u64, requests: u64) {
        self.0[step_of(latency_ns)] += requests;
    }

    /// Returns the counts and resets them.
    pub(super) fn take(&mut self) -> LatencySteps {
        let counted = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        let steps = counted.map(|(step, &count)| (step as u8, count)).collect();
        self.0 = [0; STEPS];
        LatencySteps(steps)
    }
}

/// Returns the step of a latency in ns.
#[inline]
fn step_of(latency_ns: u64) -> usize {
    let octave = latency_ns.max(1).ilog2();
    // The bit after the leading bit selects the half of the octave.
    let upper = (latency_ns >> octave.saturating_sub(1)) & u64::from(octave > 0);
    (2 * octave as usize + upper as usize).min(STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_lies_within_the_ends_of_its_step() {
        let latencies = (0..39).flat_map(|octave| {
            let one = 1u64 << octave;
            [one, one + one / 3, one + one / 2, 2 * one - 1]
        });
        for latency in latencies {
            let (from, below) = LatencySteps::ends_ns(step_of(latency) as u8);
            assert!((from..below).contains(&(latency as f64)), "{latency}: {from} to {below}");
        }
        assert_eq!((step_of(0), step_of(u64::MAX)), (0, STEPS - 1));
    }

    #[test]
    fn sums_have_the_counts_of_both() {
        let counted = |all: &[u64]| {
            let mut counting = StepCounts::default();
            all.iter().for_each(|&ns| counting.count(ns));
            counting.take()
        };
        let sum = counted(&[100, 5_000]).with(&counted(&[101, 1_000_000]));
        assert!(sum.counts_all(4) && !sum.counts_all(3));
        assert_eq!(sum.counts().map(|(_, count)| count).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(sum, counted(&[1_000_000, 101, 5_000, 100]));
        // The steps are scaled to half of the four requests, and to many times their number.
        assert!(sum.scaled_to(2).counts_all(2) && sum.scaled_to(4_000_001).counts_all(4_000_001));
        let shares: Vec<u64> = sum.scaled_to(4_000).counts().map(|(_, count)| count).collect();
        assert_eq!(shares, [2_000, 1_000, 1_000]);
        assert!(sum.scaled_to(0).is_empty() && LatencySteps::default().scaled_to(7).is_empty());
        assert!(!LatencySteps(vec![(3, 1), (2, 1)]).counts_all(2));
        assert!(!LatencySteps(vec![(80, 1)]).counts_all(1));
        assert!(!LatencySteps(vec![(1, u64::MAX), (2, 2)]).counts_all(1));
    }
}

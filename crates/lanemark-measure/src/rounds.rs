//! The rounds of a measured test, added up over its threads.
//!
//! Each thread delivers its rounds in order, and a round is complete when every thread has delivered it. Workers
//! continue in the meantime, so the decision that the test is over is made shortly after the end of its last round;
//! requests that are counted after that round are discarded.

use std::collections::VecDeque;

use lanemark_schema::result::steady::{Round, SteadyState, WINDOW};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::RoundSettings;

use crate::tally::WindowCounts;

#[derive(Debug)]
pub(crate) struct RoundsRun {
    rule: RoundSettings,
    threads: u32,
    state: SteadyState,
    /// Rounds that some threads have not yet delivered, each with the number of threads that have delivered it.
    pending: VecDeque<(WindowCounts, u32)>,
    /// Counts of the last rounds, up to the length of a window.
    window: VecDeque<WindowCounts>,
    over: bool,
}

impl RoundsRun {
    pub(crate) fn new(rule: RoundSettings, threads: u32) -> Self {
        Self {
            rule,
            threads,
            state: SteadyState::new(rule),
            pending: VecDeque::new(),
            window: VecDeque::new(),
            over: false,
        }
    }

    /// Adds a thread's counts of round `number`, which starts at 0, and returns whether the test is over.
    pub(crate) fn is_over_with(&mut self, number: usize, part: WindowCounts) -> bool {
        let index = number - self.state.rounds.len();
        while self.pending.len() <= index {
            self.pending.push_back(Default::default());
        }
        let (sum, parts) = &mut self.pending[index];
        sum.merge(part);
        *parts += 1;
        while !self.over && self.pending.front().is_some_and(|(_, parts)| *parts == self.threads) {
            let whole = self.pending.pop_front().unwrap_or_default().0;
            self.end(whole);
        }
        self.over
    }

    fn end(&mut self, whole: WindowCounts) {
        let seconds = self.rule.length.as_seconds();
        let round = Round {
            iops: whole.requests() as f64 / seconds,
            throughput_bytes_per_second: whole.bytes().get() as f64 / seconds,
            latency_mean_ns: whole.latency().mean_ns(),
            drive: None,
        };
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(whole);
        self.over = self.state.push(round);
    }

    /// Returns the merged counts of the last rounds, with their length and outcome. If no round has ended, the function
    /// returns `rest` and the length `whole`.
    pub(crate) fn finish(
        self,
        rest: WindowCounts,
        whole: Duration,
    ) -> (WindowCounts, Duration, Option<SteadyState>) {
        let elapsed = self.rule.length * self.window.len() as u64;
        let sum = self.window.into_iter().reduce(|mut sum, round| {
            sum.merge(round);
            sum
        });
        match sum {
            Some(sum) => (sum, elapsed, Some(self.state)),
            None => (rest, whole, Some(self.state)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::CountedRequest;
    use lanemark_schema::workload::{Operation, TrackedFigure};

    fn part(requests: u64) -> WindowCounts {
        let mut tally = WindowCounts { reads: Some(Default::default()), ..WindowCounts::default() };
        let request = CountedRequest { operation: Operation::Read, length: 4096, latency_ns: 1000 };
        (0..requests).for_each(|_| tally.count(request));
        tally
    }

    #[test]
    fn a_thread_that_is_ahead_does_not_end_a_round_of_another() {
        let rule =
            RoundSettings { length: Duration::from_seconds(1), tracked: TrackedFigure::Iops };
        let mut rounds = RoundsRun::new(rule, 2);
        for number in 0..4 {
            assert!(!rounds.is_over_with(number, part(60)));
        }
        assert!(rounds.state.rounds.is_empty());
        for number in 0..4 {
            assert!(!rounds.is_over_with(number, part(40)));
        }
        assert!(!rounds.is_over_with(4, part(60)));
        assert!(rounds.is_over_with(4, part(41)));
        // Counts that arrive late are discarded.
        assert!(rounds.is_over_with(5, part(1000)));
        let (sum, elapsed, steady) = rounds.finish(part(9), Duration::from_seconds(9));
        assert_eq!((sum.requests(), elapsed), (501, Duration::from_seconds(5)));
        assert!(steady.unwrap().reached());
    }
}

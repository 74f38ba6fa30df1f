//! Converts the times of a trace to instants since its first request.

use lanemark_schema::units::{Duration, Instant};

/// Converts absolute times to instants that never decrease.
#[derive(Clone, Debug, Default)]
pub(crate) struct TraceClock {
    /// The time of the first request.
    first: Option<u128>,
    last: Instant,
    /// Number of requests with an earlier time than the previous request.
    pub(crate) backward: u64,
    /// The largest step back in time.
    pub(crate) backward_most: Duration,
}

impl TraceClock {
    /// Returns the instant of `time`, which is in picoseconds since any origin; `None` if it is too far from the first
    /// time to be represented.
    ///
    /// A time before the previous time counts as equal to it. Traces from several processors are merged from buffers,
    /// and some traces are written in the order of completions, so small steps back are common. Sorting would require
    /// the whole trace, and a sliding window would correct only small steps.
    pub(crate) fn instant(&mut self, time: u128) -> Option<Instant> {
        let first = *self.first.get_or_insert(time);
        let since = u64::try_from(time.saturating_sub(first)).ok()?;
        let behind = first.saturating_sub(time) + u128::from(self.last.picoseconds());
        let behind = behind.saturating_sub(u128::from(since));
        if behind > 0 {
            self.backward += 1;
            let step = Duration::from_picoseconds(u64::try_from(behind).unwrap_or(u64::MAX));
            self.backward_most = self.backward_most.max(step);
            return Some(self.last);
        }
        self.last = Instant::from_picoseconds(since);
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_begin_at_zero_and_never_decrease() {
        let mut clock = TraceClock::default();
        let times: Vec<u64> = [1_000, 1_500, 1_400, 900, 1_600]
            .map(|time| clock.instant(time).unwrap().picoseconds())
            .to_vec();
        assert_eq!(times, [0, 500, 500, 500, 600]);
        assert_eq!((clock.backward, clock.backward_most.picoseconds()), (2, 600));
        assert_eq!(clock.instant(1 << 70), None);
    }
}

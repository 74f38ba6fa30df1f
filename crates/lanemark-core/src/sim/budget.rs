//! Where the time of a request went: waiting and service at each hop, summing to the latency exactly.
//!
//! A request is followed along its critical path. Each stage takes the time from the last mark to its
//! own end and splits it into waiting and service, so nothing is lost or counted twice: a test holds
//! the sum against the latency to the picosecond. Work that is off the critical path (all bursts of a
//! command but the last to arrive) occupies the hops and shows in their utilisation, not here.

use super::station::Span;
use crate::units::{Duration, Instant};

/// The most links on the way from the host to a drive.
pub const LINKS_MAX: usize = 4;
/// Hops of a path, links included; the way to a drive's second port has links of its own behind the first's.
pub const HOPS: usize = Hop::FirstLink as usize + 2 * LINKS_MAX;

/// A place where a request can spend time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Hop {
    /// A processor core: system call, driver, interrupt.
    Cpu,
    /// The host protocol: waiting for a command slot, the controller fetching the command.
    Protocol,
    /// The drive on its way out of a power state.
    Power,
    /// The drive's command decoding and firmware.
    FrontEnd,
    /// Room in the drive's write buffer.
    Buffer,
    /// The drive's flash channels.
    Channel,
    /// The flash dies, or the arm of a hard disk.
    Die,
    /// The drive's internal data path.
    DataPath,
    /// The link nearest to the host; the others follow.
    FirstLink,
}

/// Waiting and service of one request at each hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    wait: [Duration; HOPS],
    service: [Duration; HOPS],
}

impl Budget {
    /// Splits the time from `mark` to `span.end` into waiting before `span.start` and service after,
    /// and returns the new mark, `span.end`.
    pub fn spend(&mut self, hop: usize, mark: Instant, span: Span) -> Instant {
        let start = span.start.max(mark);
        let end = span.end.max(mark);
        self.wait[hop] += start.since(mark);
        self.service[hop] += end.since(start);
        end
    }

    /// Adds waiting and service that were taken down elsewhere.
    pub fn add(&mut self, hop: Hop, wait: Duration, service: Duration) {
        self.wait[hop as usize] += wait;
        self.service[hop as usize] += service;
    }

    /// Adds all of `other`.
    #[inline]
    fn accumulate(&mut self, other: &Self) {
        for hop in 0..HOPS {
            self.wait[hop] += other.wait[hop];
            self.service[hop] += other.service[hop];
        }
    }

    /// Waiting at a hop.
    pub fn wait(&self, hop: usize) -> Duration {
        self.wait[hop]
    }

    /// Service at a hop.
    pub fn service(&self, hop: usize) -> Duration {
        self.service[hop]
    }

    /// Everything together.
    pub fn total(&self) -> Duration {
        self.wait.iter().chain(&self.service).copied().sum()
    }
}

/// The budgets of any number of requests: a whole trace can wait for longer than a [`Duration`] holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct BudgetSum {
    wait: [u128; HOPS],
    service: [u128; HOPS],
    /// The sum of the latest budgets, and how much more of them it holds for certain.
    latest: Budget,
    room: u64,
}

impl BudgetSum {
    /// Adds the budget of a request, which took `latency` in all.
    #[inline]
    pub fn add(&mut self, budget: &Budget, latency: Duration) {
        if latency.picoseconds() > self.room {
            self.settle();
        }
        self.room = self.room.saturating_sub(latency.picoseconds());
        self.latest.accumulate(budget);
    }

    #[cold]
    fn settle(&mut self) {
        for hop in 0..HOPS {
            self.wait[hop] += u128::from(self.latest.wait[hop].picoseconds());
            self.service[hop] += u128::from(self.latest.service[hop].picoseconds());
        }
        self.latest = Budget::default();
        self.room = u64::MAX;
    }

    /// Adds those of other requests.
    pub fn merge(&mut self, other: &Self) {
        self.settle();
        for hop in 0..HOPS {
            let (wait, service) = (other.latest.wait[hop], other.latest.service[hop]);
            self.wait[hop] += other.wait[hop] + u128::from(wait.picoseconds());
            self.service[hop] += other.service[hop] + u128::from(service.picoseconds());
        }
    }

    /// Waiting at a hop, in nanoseconds.
    pub fn wait_ns(&self, hop: usize) -> f64 {
        (self.wait[hop] + u128::from(self.latest.wait[hop].picoseconds())) as f64 / 1e3
    }

    /// Service at a hop, in nanoseconds.
    pub fn service_ns(&self, hop: usize) -> f64 {
        (self.service[hop] + u128::from(self.latest.service[hop].picoseconds())) as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(picoseconds: u64) -> Instant {
        Instant::from_picoseconds(picoseconds)
    }

    #[test]
    fn spending_covers_the_time_since_the_mark_without_gaps() {
        let mut budget = Budget::default();
        let mark = budget.spend(Hop::Cpu as usize, at(10), Span { start: at(15), end: at(20) });
        // A span that began before the mark overlapped the stage before: only the rest counts.
        let mark = budget.spend(Hop::Die as usize, mark, Span { start: at(12), end: at(27) });
        assert_eq!(mark, at(27));
        assert_eq!(budget.wait(Hop::Cpu as usize), Duration::from_picoseconds(5));
        assert_eq!(budget.service(Hop::Die as usize), Duration::from_picoseconds(7));
        assert_eq!(budget.total(), at(27).since(at(10)));
    }
}

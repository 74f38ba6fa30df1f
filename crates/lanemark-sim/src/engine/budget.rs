//! The time budget of a request: waiting and service at each hop, whose sum equals the latency exactly.
//!
//! The budget follows the critical path of a request. Each stage splits the time from the last mark to its own end into
//! waiting and service, so no time is lost or counted twice. A test compares the sum with the latency to the
//! picosecond. Work off the critical path (all bursts of a command except the last to arrive) occupies hops and appears
//! in their utilisation, but not in the budget.

use super::station::ServiceSpan;
use lanemark_schema::units::{Duration, Instant};

/// Maximum number of links on the path from the host to a drive.
pub(crate) const LINKS_MAX: usize = 4;
/// Number of hops of a path, including links. The path to a drive's second port has separate links, whose numbers
/// follow the numbers of the first path's links.
pub const HOPS: usize = Hop::Power as usize + 1;

/// A hop at which a request can spend time.
///
/// The hops are ordered by the number of requests that cross them, so the hops of nearly every request are adjacent.
/// Links are numbered from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Hop {
    /// A processor core: system calls, driver, interrupts.
    Cpu,
    /// The host protocol: the wait for a command slot, and the controller's fetch of the command.
    Protocol,
    /// The drive's command engines: decoding and firmware.
    FrontEnd,
    /// The drive's flash channels.
    Channel,
    /// The flash dies, or the arm of a hard disk.
    Die,
    /// The drive's controller data path.
    DataPath,
    /// The link nearest to the host; the other links follow.
    FirstLink,
    /// Room in the drive's write buffer.
    Buffer = Hop::FirstLink as u8 + 2 * LINKS_MAX as u8,
    /// The drive's exit from a power state.
    Power,
}

/// Number of hops that nearly every request passes: all hops up to the first link.
pub(crate) const NEAR: usize = Hop::FirstLink as usize + 1;
/// Number of other hops.
pub(crate) const FAR: usize = HOPS - NEAR;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HopTime {
    /// Time before the service.
    pub wait: Duration,
    /// Time of the service.
    pub service: Duration,
}

impl HopTime {
    /// Zero waiting and service.
    pub(crate) const NOTHING: Self = Self { wait: Duration::ZERO, service: Duration::ZERO };

    /// Splits the time from `mark` to `span.end` into waiting before `span.start` and service after,
    /// and returns the new mark, `span.end`.
    #[inline]
    pub(crate) fn since(mark: Instant, span: ServiceSpan) -> (Self, Instant) {
        let start = span.start.max(mark);
        let end = span.end.max(mark);
        (Self { wait: start.since(mark), service: end.since(start) }, end)
    }

    #[inline]
    pub(crate) fn add(&mut self, more: Self) {
        self.wait += more.wait;
        self.service += more.service;
    }
}

/// Waiting and service of one request at each hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    near: [HopTime; NEAR],
    far: [HopTime; FAR],
}

impl Budget {
    /// A budget in which all times are zero.
    pub(crate) const NONE: Self =
        Self { near: [HopTime::NOTHING; NEAR], far: [HopTime::NOTHING; FAR] };

    /// Creates a budget from the times at the near hops and at the far hops.
    #[inline]
    pub(crate) fn new(near: [HopTime; NEAR], far: [HopTime; FAR]) -> Self {
        Self { near, far }
    }

    #[inline]
    pub(crate) fn accumulate(&mut self, other: &Self) {
        for (sum, &more) in self.near.iter_mut().zip(&other.near) {
            sum.add(more);
        }
        for (sum, &more) in self.far.iter_mut().zip(&other.far) {
            sum.add(more);
        }
    }

    fn at(&self, hop: usize) -> HopTime {
        self.near.get(hop).copied().unwrap_or_else(|| self.far[hop - NEAR])
    }

    /// Returns the waiting time at a hop; `hop` is the number of a [`Hop`].
    ///
    /// # Panics
    /// Panics if `hop` is [`HOPS`] or larger.
    pub fn wait(&self, hop: usize) -> Duration {
        self.at(hop).wait
    }

    /// Returns the service time at a hop; `hop` is the number of a [`Hop`].
    ///
    /// # Panics
    /// Panics if `hop` is [`HOPS`] or larger.
    pub fn service(&self, hop: usize) -> Duration {
        self.at(hop).service
    }

    pub(crate) fn wait_more(&mut self, hop: usize, wait: Duration) {
        let spent = HopTime { wait, service: Duration::ZERO };
        match self.near.get_mut(hop) {
            Some(near) => near.add(spent),
            None => self.far[hop - NEAR].add(spent),
        }
    }

    /// Returns the sum of all waiting and service times.
    pub fn total(&self) -> Duration {
        self.near.iter().chain(&self.far).map(|spent| spent.wait + spent.service).sum()
    }
}

/// The sum of the budgets of any number of requests. The total wait of a whole trace can exceed the maximum of a
/// [`Duration`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BudgetSum {
    wait: [u128; HOPS],
    service: [u128; HOPS],
    /// The sum of the latest budgets, which have not been added to `wait` and `service`.
    latest: Budget,
    /// The latency that can still be added to `latest` without overflow, in picoseconds.
    room: u64,
}

impl BudgetSum {
    /// Adds the budget of a request whose total latency is `latency`.
    #[inline]
    pub(crate) fn add(&mut self, budget: &Budget, latency: Duration) {
        if latency.picoseconds() > self.room {
            self.settle();
        }
        self.room = self.room.saturating_sub(latency.picoseconds());
        self.latest.accumulate(budget);
    }

    #[cold]
    fn settle(&mut self) {
        for hop in 0..HOPS {
            self.wait[hop] += u128::from(self.latest.wait(hop).picoseconds());
            self.service[hop] += u128::from(self.latest.service(hop).picoseconds());
        }
        self.latest = Budget::default();
        self.room = u64::MAX;
    }

    /// Adds the sum of other requests.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.settle();
        for hop in 0..HOPS {
            let wait = other.latest.wait(hop);
            let service = other.latest.service(hop);
            self.wait[hop] += other.wait[hop] + u128::from(wait.picoseconds());
            self.service[hop] += other.service[hop] + u128::from(service.picoseconds());
        }
    }

    /// Returns the sum multiplied by `factor`.
    pub(crate) fn thinned(&self, factor: f64) -> Self {
        let mut thinned = *self;
        thinned.settle();
        for time in thinned.wait.iter_mut().chain(&mut thinned.service) {
            *time = (*time as f64 * factor).round() as u128;
        }
        thinned
    }

    /// Returns the waiting time at a hop, in nanoseconds.
    pub(crate) fn wait_ns(&self, hop: usize) -> f64 {
        (self.wait[hop] + u128::from(self.latest.wait(hop).picoseconds())) as f64 / 1e3
    }

    /// Returns the service time at a hop, in nanoseconds.
    pub(crate) fn service_ns(&self, hop: usize) -> f64 {
        (self.service[hop] + u128::from(self.latest.service(hop).picoseconds())) as f64 / 1e3
    }
}

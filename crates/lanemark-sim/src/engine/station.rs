//! Stations that serve in the order of arrival. A station is represented by the instant at which it is next free.
//!
//! If arrivals are in time order, `start = max(arrival, free)` and `free = start + service` describe a single
//! first-in-first-out server exactly, without an event for the end of service. The simulator calls a station at the
//! instant of arrival, so arrivals are in time order.

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant, Ratio};

/// A single server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Station {
    free: Instant,
    busy: Duration,
}

/// The start and the end of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceSpan {
    /// Instant at which the server begins the service.
    pub start: Instant,
    /// Instant at which the server ends the service.
    pub end: Instant,
}

impl Station {
    /// Serves a request that arrives at `arrival`, for the time `service`.
    pub(crate) fn serve(&mut self, arrival: Instant, service: Duration) -> ServiceSpan {
        let start = arrival.max(self.free);
        let end = start + service;
        self.free = end;
        self.busy = self.busy.saturating_add(service);
        ServiceSpan { start, end }
    }

    /// Forwards a stream that arrives during `inflow` and occupies this station for `service`.
    ///
    /// The station forwards data while more data arrives (cut-through): it finishes no earlier than the inflow, and is
    /// busy for `service` in total. A station slower than the inflow starts when the first data arrives; a faster
    /// station starts late enough to end together with the inflow.
    pub(crate) fn forward(&mut self, inflow: ServiceSpan, service: Duration) -> ServiceSpan {
        let latest = inflow.end.picoseconds().saturating_sub(service.picoseconds());
        let arrival = inflow.start.max(Instant::from_picoseconds(latest));
        self.serve(arrival, service)
    }

    /// Uses `service` of the station's time, from `now` onward, for small traffic that does not delay its own request.
    /// `now` must be the present, because a later booking would delay arrivals before it.
    pub(crate) fn charge(&mut self, now: Instant, service: Duration) {
        self.serve(now, service);
    }

    /// Cancels the last service, which must not have begun.
    pub(crate) fn take_back(&mut self, last: ServiceSpan) {
        debug_assert_eq!(self.free, last.end, "only the last service can be taken back");
        self.free = last.start;
        self.busy = self.busy - last.end.since(last.start);
    }

    pub(crate) fn free_at(&self) -> Instant {
        self.free
    }

    /// Returns the busy time so far.
    pub(crate) fn busy(&self) -> Duration {
        self.busy
    }
}

/// Several identical servers with one queue: each arrival takes the server that becomes free first.
#[derive(Clone, Debug)]
pub(crate) struct Servers(Vec<Station>);

impl Servers {
    /// Creates `count` servers; `count` must be 1 or more.
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![Station::default(); count.max(1)])
    }

    /// Serves a request that arrives at `arrival`, for the time `service`, on the server that becomes free first.
    pub(crate) fn serve(&mut self, arrival: Instant, service: Duration) -> ServiceSpan {
        self.first_free().serve(arrival, service)
    }

    /// Forwards a stream like [`Station::forward`], on the server that becomes free first.
    pub(crate) fn forward(&mut self, inflow: ServiceSpan, service: Duration) -> ServiceSpan {
        self.first_free().forward(inflow, service)
    }

    /// Uses `service` of a server's time, from `now` onward, for small traffic that does not delay its own request.
    pub(crate) fn charge(&mut self, now: Instant, service: Duration) {
        self.first_free().charge(now, service);
    }

    /// Returns the first instant at which a server is free.
    pub(crate) fn free_at(&self) -> Instant {
        self.0.iter().map(Station::free_at).min().unwrap_or_default()
    }

    /// Returns the busy time so far, averaged over the servers.
    pub(crate) fn busy(&self) -> Duration {
        let total: Duration = self.0.iter().map(Station::busy).sum();
        total / self.0.len() as u64
    }

    /// Changes the number of servers to `count`, which must be 1 or more. The utilisation so far does not change.
    pub(crate) fn resize(&mut self, count: usize) {
        let busy = self.busy();
        self.0.resize(count.max(1), Station::default());
        self.0.iter_mut().for_each(|station| station.busy = busy);
    }

    #[inline]
    fn first_free(&mut self) -> &mut Station {
        let mut first = 0;
        let mut free_at = self.0[0].free;
        for (index, station) in self.0.iter().enumerate().skip(1) {
            if station.free < free_at {
                (first, free_at) = (index, station.free);
            }
        }
        &mut self.0[first]
    }
}

/// The times for which a read and a write occupy a station.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// The time of a read.
    pub read: Duration,
    /// The time of a write.
    pub write: Duration,
}

impl Demand {
    /// Returns the throughput of `servers` for requests of size `block`, if the share `reads` of the requests are
    /// reads; `None` if the requests take no time.
    pub(crate) fn rate(self, block: Bytes, reads: Ratio, servers: u64) -> Option<BytesPerSecond> {
        let share = reads.get();
        let seconds = self.read.as_seconds() * share + self.write.as_seconds() * (1.0 - share);
        let rate = block.get() as f64 * servers as f64 / seconds;
        rate.is_finite().then_some(BytesPerSecond(rate as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(microseconds: u64) -> Duration {
        Duration::from_microseconds(microseconds)
    }

    fn at(microseconds: u64) -> Instant {
        Instant::ZERO + us(microseconds)
    }

    #[test]
    fn a_faster_station_ends_with_its_inflow_and_a_slower_one_starts_with_it() {
        let inflow = ServiceSpan { start: at(10), end: at(20) };
        assert_eq!(Station::default().forward(inflow, us(4)).end, at(20));
        assert_eq!(
            Station::default().forward(inflow, us(30)),
            ServiceSpan { start: at(10), end: at(40) }
        );
    }

    #[test]
    fn servers_that_come_or_go_leave_the_share_of_time_that_was_busy() {
        for (before, after) in [(2, 4), (4, 2), (1, 8), (3, 0)] {
            let mut servers = Servers::new(before);
            (0..before).for_each(|index| _ = servers.serve(at(0), us(10 * (1 + index as u64))));
            let busy = servers.busy();
            servers.resize(after);
            assert_eq!(
                (servers.busy(), servers.0.len()),
                (busy, after.max(1)),
                "{before} to {after}"
            );
            // Work in progress continues, and an added server is free.
            let free = if after > before { at(0) } else { at(10) };
            assert_eq!(servers.free_at(), free, "{before} to {after}");
        }
    }
}

//! Stations that serve in the order of arrival, kept as the instant at which they are next free.
//!
//! Where arrivals come in time order, `start = max(arrival, free)` and `free = start + service` are
//! exactly a first-in-first-out single server, without an event for the end of service. The simulator
//! calls a station at the instant of arrival, so that order holds.

use crate::units::{Bytes, BytesPerSecond, Duration, Instant, Ratio};

/// A single server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Station {
    free: Instant,
    busy: Duration,
}

/// The start and end of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Instant at which the server begins the service.
    pub start: Instant,
    /// Instant at which the server ends it.
    pub end: Instant,
}

impl Station {
    /// Serves what arrives at `arrival` for `service`.
    pub(super) fn serve(&mut self, arrival: Instant, service: Duration) -> Span {
        let start = arrival.max(self.free);
        let end = start + service;
        self.free = end;
        self.busy = self.busy.saturating_add(service);
        Span { start, end }
    }

    /// Passes on a stream that flows in during `inflow` and takes `service` of this station.
    ///
    /// The station forwards what it has while more comes in (cut-through): it is done no earlier than
    /// the inflow, and holds itself for `service` in all. A slower station starts when the first data
    /// arrives; a faster one is counted as starting so that it ends with the inflow.
    pub(super) fn forward(&mut self, inflow: Span, service: Duration) -> Span {
        let latest = inflow.end.picoseconds().saturating_sub(service.picoseconds());
        let arrival = inflow.start.max(Instant::from_picoseconds(latest));
        self.serve(arrival, service)
    }

    /// Takes `service` of the station's time from `now` on for small traffic that nobody waits for. `now`
    /// must be the present: booked for later, it would make what comes before it wait.
    pub(super) fn charge(&mut self, now: Instant, service: Duration) {
        self.serve(now, service);
    }

    /// Takes the last service back, which must not have begun.
    pub(super) fn take_back(&mut self, last: Span) {
        debug_assert_eq!(self.free, last.end, "only the last service can be taken back");
        self.free = last.start;
        self.busy = self.busy - last.end.since(last.start);
    }

    /// Returns the instant from which the server is free.
    pub(super) fn free_at(&self) -> Instant {
        self.free
    }

    /// The time served so far.
    pub(super) fn busy(&self) -> Duration {
        self.busy
    }
}

/// Several equal servers behind one queue: each arrival takes the one that is free first.
#[derive(Clone, Debug)]
pub(super) struct Servers(Vec<Station>);

impl Servers {
    /// `count` servers, at least one.
    pub(super) fn new(count: usize) -> Self {
        Self(vec![Station::default(); count.max(1)])
    }

    /// Serves what arrives at `arrival` for `service`, on the server that is free first.
    pub(super) fn serve(&mut self, arrival: Instant, service: Duration) -> Span {
        self.first_free().serve(arrival, service)
    }

    /// Passes on a stream as [`Station::forward`] does, on the server that is free first.
    pub(super) fn forward(&mut self, inflow: Span, service: Duration) -> Span {
        self.first_free().forward(inflow, service)
    }

    /// Takes `service` of a server's time from `now` on for small traffic that nobody waits for.
    pub(super) fn charge(&mut self, now: Instant, service: Duration) {
        self.first_free().charge(now, service);
    }

    /// The instant from which one of them can serve.
    pub(super) fn free_at(&self) -> Instant {
        self.0.iter().map(Station::free_at).min().unwrap_or_default()
    }

    /// The time served so far, averaged over the servers.
    pub(super) fn busy(&self) -> Duration {
        let total: Duration = self.0.iter().map(Station::busy).sum();
        total / self.0.len() as u64
    }

    /// Becomes `count` servers, at least one. The share of time that they were busy stays what it was.
    pub(super) fn resize(&mut self, count: usize) {
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

/// The time that one request keeps a station, reading and writing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// The time of a read.
    pub read: Duration,
    /// The time of a write.
    pub write: Duration,
}

impl Demand {
    /// The rate at which `servers` carry requests of `block`, of which the share `reads` are reads; none where nothing
    /// keeps them.
    pub(super) fn rate(self, block: Bytes, reads: Ratio, servers: u64) -> Option<BytesPerSecond> {
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
    fn a_busy_station_makes_the_next_one_wait() {
        let mut station = Station::default();
        assert_eq!(station.serve(at(5), us(10)), Span { start: at(5), end: at(15) });
        assert_eq!(station.serve(at(7), us(10)), Span { start: at(15), end: at(25) });
        assert_eq!(station.serve(at(40), us(10)), Span { start: at(40), end: at(50) });
        assert_eq!(station.busy(), us(30));
    }

    #[test]
    fn a_faster_station_ends_with_its_inflow_and_a_slower_one_starts_with_it() {
        let inflow = Span { start: at(10), end: at(20) };
        assert_eq!(Station::default().forward(inflow, us(4)).end, at(20));
        assert_eq!(Station::default().forward(inflow, us(30)), Span { start: at(10), end: at(40) });
    }

    #[test]
    fn two_servers_take_two_at_once() {
        let mut servers = Servers::new(2);
        let ends: Vec<Instant> = (0..3).map(|_| servers.serve(at(0), us(10)).end).collect();
        assert_eq!(ends, [at(10), at(10), at(20)]);
    }
}

//! Observes a run from the thread that started it: the machine and the database when counting begins and ends, the
//! waits of sessions between them, and the progress.
//!
//! The database's counters are read at the two edges: the instants at which counting begins and ends. At an edge, each
//! user causes the database to add the user's work to the counters, between two transactions. The observer reads the
//! counters when all users have passed the edge, but before any session may report again by itself.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::database::Database;
use crate::device::DeviceWork;
use crate::device::{BlockDevice, work_between};
use crate::error::OltpError;
use crate::observer::DatabaseObserver;
use crate::processor::{ProcessFamily, ProcessorTime, own_s, share_of_others};
use crate::progress::{CounterSums, ProgressSnapshot};
use crate::repeat_state::{RepeatState, RepeatTimes};
use crate::user::User;
use lanemark_schema::result::DatabaseCounters;
use lanemark_schema::result::SessionWaits;

/// Period at which waits are sampled and all other observations are made.
const PERIOD: Duration = Duration::from_millis(20);
/// Period of progress reports.
const SHOWN_EACH: Duration = Duration::from_secs(1);
/// Maximum time for all users to pass an edge; a session of a server reports again after a second.
const EDGE_MAX: Duration = Duration::from_millis(900);

#[derive(Default)]
pub(crate) struct RepeatObservations {
    pub(crate) device: Option<DeviceWork>,
    pub(crate) processor_busy: Option<f64>,
    pub(crate) processor_others: Option<f64>,
    pub(crate) server_s: Option<f64>,
    pub(crate) driver_s: Option<f64>,
    pub(crate) waits: Option<SessionWaits>,
    /// Counters of the database; until the repeat is finished, their values at the first edge.
    pub(crate) counters: DatabaseCounters,
    /// Number of users that had passed the first edge when its counters were read.
    pub(crate) past: u32,
    /// Number of transactions between the two readings that only served to report work.
    pub(crate) reports: u64,
}

impl RepeatObservations {
    /// Returns the processor time of the server and the driver together. If `within` is set, the server runs inside the
    /// driver and does not have separate time. Returns `None` if the server's time is not known, for example because
    /// the server runs on another machine.
    fn ours_s(&self, within: bool) -> Option<f64> {
        let server_s = if within { Some(0.0) } else { self.server_s };
        Some(server_s? + self.driver_s?)
    }
}

/// The machine's counters at one edge.
struct MachineCounters {
    processor: Option<ProcessorTime>,
    device: Option<DeviceWork>,
    server_s: Option<f64>,
    driver_s: Option<f64>,
}

pub(crate) struct RunObserver {
    observer: Box<dyn DatabaseObserver>,
    device: Option<BlockDevice>,
    family: Option<ProcessFamily>,
    sessions: Vec<i64>,
    /// Whether the database runs inside the driver.
    within: bool,
    think_times: bool,
    /// Counters at the last edge, if the database updates its counters immediately.
    last: Option<DatabaseCounters>,
}

impl RunObserver {
    /// Registers the users before they begin.
    pub(crate) fn new(
        database: &Database,
        users: &mut [User],
        think_times: bool,
    ) -> Result<Self, OltpError> {
        let observer = database.backend().observe()?;
        let family = observer.family();
        let within = database.backend().is_embedded();
        let here = (!within).then_some(family.is_some());
        let sessions: Result<Vec<Option<i64>>, OltpError> =
            users.iter_mut().map(|user| user.meet_server(here)).collect();
        let device = database.data_path().and_then(|path| BlockDevice::containing(&path));
        let sessions = sessions?.into_iter().flatten().collect();
        Ok(Self { observer, device, family, sessions, within, think_times, last: None })
    }

    /// Returns whether users must make the database count their work at the edges.
    pub(crate) fn wants_reports(&self) -> bool {
        self.observer.counts_late()
    }

    fn look(&self) -> MachineCounters {
        MachineCounters {
            device: self.device.as_ref().and_then(BlockDevice::read),
            server_s: self.family.and_then(|family| family.seconds()),
            driver_s: own_s(),
            processor: ProcessorTime::now(),
        }
    }

    /// Observes the run until it ends.
    pub(crate) fn look_on(
        &mut self,
        shared: &RepeatState<'_>,
        show: &mut dyn FnMut(&ProgressSnapshot),
    ) -> Result<RepeatObservations, OltpError> {
        let RepeatTimes { begins, counts_from, ends } = shared.span;
        let mut printer =
            ProgressPrinter::new(false, (begins, counts_from), shared, self.look().device);
        while !shared.stopped() && Instant::now() < counts_from {
            printer.when_due(shared, self.device.as_ref(), show);
            std::thread::sleep(PERIOD.min(counts_from.saturating_duration_since(Instant::now())));
        }
        let first = self.look();
        printer.tell(shared, first.device.clone(), show);
        let mut printer =
            ProgressPrinter::new(true, (counts_from, ends), shared, first.device.clone());
        let mut observations = RepeatObservations::default();
        let mut waits = SessionWaits::default();
        let mut edge_read = false;
        let mut next = counts_from;
        waits.period_ms = PERIOD.as_millis() as u64;
        while !shared.stopped() && Instant::now() < ends {
            edge_read = edge_read || self.first_edge(shared, &mut observations)?;
            let mut count_waits = |class, sessions| waits.count_sessions(class, sessions);
            if self.observer.look(&self.sessions, self.think_times, &mut count_waits)? {
                waits.looks += 1;
            }
            printer.when_due(shared, self.device.as_ref(), show);
            // Missed samples are not taken later, because they would all describe the same moment.
            next = (next + PERIOD).max(Instant::now());
            std::thread::sleep(next.min(ends).saturating_duration_since(Instant::now()));
        }
        let last = self.look();
        if edge_read && !self.wants_reports() {
            self.last = Some(self.observer.counters()?);
        }
        printer.tell(shared, last.device.clone(), show);
        observations.device = first.device.zip(last.device).map(|(a, b)| work_between(&a, &b));
        observations.processor_busy =
            first.processor.zip(last.processor).and_then(|(a, b)| b.busy_since(a));
        let added = |(a, b): (f64, f64)| (b - a).max(0.0);
        observations.server_s = first.server_s.zip(last.server_s).map(added);
        observations.driver_s = first.driver_s.zip(last.driver_s).map(added);
        let ours_s = observations.ours_s(self.within);
        let processors = first.processor.zip(last.processor).zip(ours_s);
        observations.processor_others =
            processors.and_then(|((a, b), ours_s)| share_of_others(b, a, ours_s));
        observations.waits = (waits.looks > 0).then_some(waits);
        Ok(observations)
    }

    /// Reads the database's counters at the first edge when they are due; returns whether they were read.
    fn first_edge(
        &mut self,
        shared: &RepeatState<'_>,
        observations: &mut RepeatObservations,
    ) -> Result<bool, OltpError> {
        let users = shared.tallies.len() as u32;
        let past = shared.past.load(Ordering::Acquire);
        let waited = shared.span.counts_from.elapsed();
        if self.wants_reports() && past < users && waited < EDGE_MAX {
            return Ok(false);
        }
        observations.counters = self.observer.counters()?;
        observations.past = past;
        Ok(true)
    }

    /// Reads the database's counters at the last edge, after all users have passed it.
    pub(crate) fn finish(
        &mut self,
        shared: &RepeatState<'_>,
        observations: &mut RepeatObservations,
    ) -> Result<(), OltpError> {
        if self.wants_reports() {
            // Each user reports at the last edge; late users also reported at the first edge after its reading.
            let late = shared.past.load(Ordering::Acquire) - observations.past;
            observations.reports = u64::from(late) + shared.tallies.len() as u64;
        }
        let last = match self.last.take() {
            Some(last) => last,
            None => self.observer.counters()?,
        };
        // If the first edge was not read, the counters are empty and so is the difference.
        observations.counters = last.since(&observations.counters);
        Ok(())
    }
}

struct ProgressPrinter {
    counts: bool,
    span: (Instant, Instant),
    before: CounterSums,
    device: Option<DeviceWork>,
    next: Instant,
}

impl ProgressPrinter {
    fn new(
        counts: bool,
        span: (Instant, Instant),
        shared: &RepeatState<'_>,
        device: Option<DeviceWork>,
    ) -> Self {
        let before = CounterSums::from_tallies(&shared.tallies);
        Self { counts, span, before, device, next: span.0 + SHOWN_EACH }
    }

    fn when_due(
        &mut self,
        shared: &RepeatState<'_>,
        device: Option<&BlockDevice>,
        show: &mut dyn FnMut(&ProgressSnapshot),
    ) {
        if Instant::now() >= self.next {
            self.next = Instant::now() + SHOWN_EACH;
            self.tell(shared, device.and_then(BlockDevice::read), show);
        }
    }

    fn tell(
        &self,
        shared: &RepeatState<'_>,
        device: Option<DeviceWork>,
        show: &mut dyn FnMut(&ProgressSnapshot),
    ) {
        let (from, to) = self.span;
        let device = self.device.as_ref().zip(device).map(|(a, b)| work_between(a, &b));
        let now = CounterSums::from_tallies(&shared.tallies);
        show(&ProgressSnapshot::new(
            self.counts,
            from.elapsed(),
            to - from,
            self.before,
            now,
            device,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_processor_time_is_the_time_of_server_and_driver() {
        for (server_s, driver_s, within, wanted) in [
            (Some(3.0), Some(1.5), false, Some(4.5)),
            (Some(3.0), Some(1.5), true, Some(1.5)),
            (None, Some(1.5), true, Some(1.5)),
            // A server on another machine.
            (None, Some(1.5), false, None),
            (Some(3.0), None, false, None),
            (None, None, true, None),
        ] {
            let observations =
                RepeatObservations { server_s, driver_s, ..RepeatObservations::default() };
            assert_eq!(observations.ours_s(within), wanted, "{server_s:?} {driver_s:?} {within}");
        }
    }
}

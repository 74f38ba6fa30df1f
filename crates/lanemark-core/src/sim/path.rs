//! The way of data between host memory and the drive's buffer: the links and the drive's data path.
//!
//! Stations along the way pass a burst on while it flows in (cut-through), so its time is that of the
//! slowest and not the sum. All stations of a path that only this drive uses see its bursts in one
//! order, so the whole way is worked out when the burst sets off.

use super::budget::{HOPS, Hop};
use super::link::{Link, Place};
use super::spec::SystemSpec;
use super::station::{Span, Station};
use super::trace::Trace;
use crate::units::{Bytes, BytesPerSecond, Duration, Instant};

/// The links to a drive and its data path.
#[derive(Clone, Debug)]
pub struct Path {
    links: Vec<Link>,
    read: DataPath,
    write: DataPath,
}

/// One direction of a drive's internal path, which may be no limit at all.
#[derive(Clone, Debug)]
struct DataPath {
    rate: Option<BytesPerSecond>,
    station: Station,
}

impl Path {
    /// The idle path of a system.
    pub fn new(spec: &SystemSpec) -> Self {
        let path = |rate| DataPath { rate, station: Station::default() };
        Self {
            links: spec.links.iter().map(Link::new).collect(),
            read: path(spec.drive.data_path_read),
            write: path(spec.drive.data_path_write),
        }
    }

    /// The time of a small packet between host and controller: through all links that carry packets.
    pub fn message_latency(&self) -> Duration {
        self.links.iter().filter(|link| !link.issues_by_frames()).map(Link::latency).sum()
    }

    /// Whether the drive gets its commands by frames, after the controller has fetched them.
    pub fn issues_by_frames(&self) -> bool {
        self.links.iter().any(Link::issues_by_frames)
    }

    /// Takes the links' time for the packets of a command's doorbell and fetches.
    pub fn charge_issue(&mut self, now: Instant, entry: Bytes, fetches: u64) {
        self.links.iter_mut().for_each(|link| link.charge_issue(now, entry, fetches));
    }

    /// Sends the frames of a command that the controller has fetched, and returns when the drive has it.
    pub fn issue_frames(&mut self, now: Instant, trace: &mut Trace) -> Instant {
        for (index, link) in self.links.iter_mut().enumerate() {
            let span = link.issue_frames(now);
            trace.spend(Hop::FirstLink as usize + index, span);
        }
        trace.mark()
    }

    /// Sends read data from the drive to host memory, the completion behind the last of it, and returns
    /// when it is there.
    pub fn carry_read(
        &mut self,
        now: Instant,
        bytes: Bytes,
        place: Place,
        trace: &mut Trace,
    ) -> Instant {
        let mut span = self.read.carry(Span { start: now, end: now }, bytes, trace);
        for (index, link) in self.links.iter_mut().enumerate().rev() {
            span = delayed(link.carry_read(now, span, bytes, place), link.latency());
            trace.spend(Hop::FirstLink as usize + index, span);
        }
        span.end
    }

    /// Tells the host that a write is complete, and returns when its interrupt is there.
    pub fn complete_write(&mut self, now: Instant, trace: &mut Trace) -> Instant {
        let mut at = now;
        for (index, link) in self.links.iter_mut().enumerate().rev() {
            let span = delayed(link.complete_write(at), link.latency());
            trace.spend(Hop::FirstLink as usize + index, span);
            at = span.end;
        }
        at
    }

    /// Sends write data from host memory to the drive and returns when it is there.
    pub fn carry_write(
        &mut self,
        now: Instant,
        bytes: Bytes,
        place: Place,
        trace: &mut Trace,
    ) -> Instant {
        let mut span = Span { start: now, end: now };
        for (index, link) in self.links.iter_mut().enumerate() {
            span = delayed(link.carry_write(now, span, bytes, place), link.latency());
            trace.spend(Hop::FirstLink as usize + index, span);
        }
        self.write.carry(span, bytes, trace).end
    }

    /// Adds the time busy of links and data path.
    pub fn add_busy(&self, busy: &mut [Vec<Duration>; HOPS]) {
        busy[Hop::DataPath as usize] =
            vec![self.read.station.busy().max(self.write.station.busy())];
        for (index, link) in self.links.iter().enumerate() {
            busy[Hop::FirstLink as usize + index] = vec![link.busy()];
        }
    }
}

impl DataPath {
    fn carry(&mut self, inflow: Span, bytes: Bytes, trace: &mut Trace) -> Span {
        let Some(rate) = self.rate else {
            return inflow;
        };
        let span = self.station.forward(inflow, bytes / rate);
        trace.spend(Hop::DataPath as usize, span);
        span
    }
}

/// The same span seen from the far end of a link; the latency counts as time in the link.
fn delayed(span: Span, latency: Duration) -> Span {
    Span { start: span.start, end: span.end + latency }
}

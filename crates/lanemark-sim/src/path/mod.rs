//! The path of data between host memory and a drive's buffer: links, and the drive's controller data path.
//!
//! Stations along the path forward a burst while it arrives (cut-through), so the burst takes the time of the slowest
//! station and not the sum of all times. All links of a drive's own part of the path receive its bursts in the same
//! order, so this part is computed in one step. Links that several drives share are booked when a burst reaches them.
//! Bursts of different drives take turns in the order of their arrival. A drive's own link delivers one burst after
//! another, so bursts of the same drive keep their order. A bridge delays commands for longer than the frames that
//! follow, so the link after the bridge is also booked when the commands reach it.

pub(crate) mod multipath;
pub(crate) mod shared;

use crate::engine::budget::{HOPS, Hop, LINKS_MAX};
use crate::engine::number::PathNumber;
use crate::engine::station::{ServiceSpan, Station};
use crate::engine::trace::BudgetTrace;
use crate::link::{Link, LinkBurst, LinkModel, ProtocolAccesses};
use crate::spec::{AttachmentSpec, PortPathSpec};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant};
use lanemark_schema::workload::Operation;

/// A drive's paths to the host, one for each port, and its controller data path, which the ports share.
#[derive(Clone, Debug)]
pub(super) struct HostPath {
    port_paths: Vec<PortPath>,
    read: DataPath,
    write: DataPath,
}

/// A drive's own links to one port, which follow the shared links.
#[derive(Clone, Debug)]
pub(super) struct PortPath {
    /// Number of shared links on the path, counted from the host.
    shared: usize,
    /// Position of the path's own links in the list of all links.
    place: usize,
    links: Vec<Link>,
    /// Number of the path's links in the first step of a command: the links up to a bridge, or all links.
    first_step: usize,
    /// Whether any of the path's links carries accesses of a protocol. A link never changes its kind.
    carries_accesses: bool,
    /// Whether any of the path's links issues commands in dedicated frames.
    issues_by_frames: bool,
    /// Latency of the packet links in the first step.
    latency: Duration,
}

/// A direction of a drive's controller data path, which may be unlimited.
#[derive(Clone, Debug)]
struct DataPath {
    rate: Option<BytesPerSecond>,
    station: Station,
}

impl HostPath {
    /// Creates the idle path of a drive, over which the drive's protocol ends commands with the accesses `end`.
    pub(super) fn new(attachment: &AttachmentSpec, end: ProtocolAccesses) -> Self {
        let drive = &attachment.drive;
        let path = |rate| DataPath { rate, station: Station::default() };
        // The hop numbers of a second path follow the numbers of the longest possible first path.
        let places = [attachment.port_path.trunk, LINKS_MAX];
        let port_paths = attachment
            .port_paths()
            .zip(places)
            .map(|(port_path, place)| PortPath::new(port_path, place, end));
        Self {
            port_paths: port_paths.collect(),
            read: path(drive.data_path_read),
            write: path(drive.data_path_write),
        }
    }

    pub(super) fn port_path(&mut self, port_path: PathNumber) -> &mut PortPath {
        &mut self.port_paths[usize::from(port_path)]
    }

    /// Sends read data from the drive over the links that belong only to `port_path`, with the completion after the
    /// last burst. Returns the span in which the data leaves these links.
    pub(super) fn carry_read(
        &mut self,
        port_path: PathNumber,
        now: Instant,
        burst: LinkBurst,
        trace: &mut BudgetTrace,
    ) -> ServiceSpan {
        let mut span = self.read.carry(ServiceSpan { start: now, end: now }, burst.bytes, trace);
        let port_path = &mut self.port_paths[usize::from(port_path)];
        for (index, link) in port_path.links.iter_mut().enumerate().rev() {
            span = delayed_span(link.carry_read(now, span, burst), link.latency());
            trace.account_service(Hop::FirstLink as usize + port_path.place + index, span);
        }
        span
    }

    /// Sends write data from host memory to the drive, and returns the instant of its arrival. All data for links near
    /// the drive crosses the links near the host in the same order, so the whole path is computed in one step.
    pub(super) fn carry_write(
        &mut self,
        port_path: PathNumber,
        shared: &mut [Link],
        now: Instant,
        burst: LinkBurst,
        trace: &mut BudgetTrace,
    ) -> Instant {
        let hops = self.port_paths[usize::from(port_path)].hops(shared);
        let span = write_over(hops, now, burst, trace);
        self.write.carry(span, burst.bytes, trace).end
    }

    /// Sends data from an adapter's cache to the drive, and returns the instant of its arrival.
    #[cold]
    pub(super) fn carry_write_from_adapter(
        &mut self,
        port_path: PathNumber,
        now: Instant,
        burst: LinkBurst,
        trace: &mut BudgetTrace,
    ) -> Instant {
        let hops = self.port_paths[usize::from(port_path)].own_hops().filter(is_behind_adapter);
        let span = write_over(hops, now, burst, trace);
        self.write.carry(span, burst.bytes, trace).end
    }

    /// Sends write data from host memory to the cache of an adapter, and returns the instant of its arrival.
    #[cold]
    pub(super) fn carry_write_to_adapter(
        &mut self,
        port_path: PathNumber,
        shared: &mut [Link],
        now: Instant,
        burst: LinkBurst,
        trace: &mut BudgetTrace,
    ) -> Instant {
        let hops = self.port_paths[usize::from(port_path)].hops(shared);
        write_over(hops.filter(|hop| !is_behind_adapter(hop)), now, burst, trace).end
    }

    /// Sends data from the cache of an adapter over the drive's own links between adapter and host, and returns the
    /// span in which the data leaves these links.
    #[cold]
    pub(super) fn carry_read_from_adapter(
        &mut self,
        port_path: PathNumber,
        now: Instant,
        burst: LinkBurst,
        trace: &mut BudgetTrace,
    ) -> ServiceSpan {
        let mut span = ServiceSpan { start: now, end: now };
        let hops = self.port_paths[usize::from(port_path)].own_hops().rev();
        for (hop, link) in hops.filter(|hop| !is_behind_adapter(hop)) {
            span = delayed_span(link.carry_read(now, span, burst), link.latency());
            trace.account_service(hop, span);
        }
        span
    }

    /// Adds the busy time of the controller data path and of the path's own links.
    pub(super) fn add_busy(&self, busy: &mut [Vec<Duration>; HOPS]) {
        let data_path = self.read.station.busy().max(self.write.station.busy());
        busy[Hop::DataPath as usize].push(data_path);
        for port_path in &self.port_paths {
            for (index, link) in port_path.links.iter().enumerate() {
                busy[Hop::FirstLink as usize + port_path.place + index].push(link.busy());
            }
        }
    }
}

impl PortPath {
    fn new(port_path: &PortPathSpec, place: usize, end: ProtocolAccesses) -> Self {
        let links: Vec<Link> = port_path.links.iter().map(|link| Link::new(link, end)).collect();
        let bridge =
            port_path.links.iter().position(|link| matches!(link.model, LinkModel::Bridge(_)));
        let first_step = bridge.map_or(links.len(), |bridge| bridge + 1);
        let carrying = |link: &&Link| !link.issues_by_frames();
        Self {
            shared: port_path.trunk,
            place,
            first_step,
            carries_accesses: links.iter().any(|link| !link.issues_by_frames()),
            issues_by_frames: links.iter().any(Link::issues_by_frames),
            latency: links[..first_step].iter().filter(carrying).map(Link::latency).sum(),
            links,
        }
    }

    /// Returns one of the path's own links; `number` is counted from the host.
    pub(super) fn link(&mut self, number: usize) -> &mut Link {
        &mut self.links[number]
    }

    /// Returns whether one of the path's own links has corrupted data that the host must request again, and clears this
    /// mark.
    pub(super) fn take_spoilt(&mut self) -> bool {
        self.links.iter_mut().fold(false, |spoilt, link| link.take_spoilt() | spoilt)
    }

    pub(super) fn shared(&self) -> usize {
        self.shared
    }

    /// Returns the time of a small packet between host and controller: the latency of all links that carry packets.
    pub(super) fn message_latency(&self, shared: &[Link]) -> Duration {
        let shared = shared[..self.shared].iter().filter(|link| !link.issues_by_frames());
        shared.map(Link::latency).sum::<Duration>() + self.latency
    }

    /// Returns whether the drive receives its commands in frames, after the controller has fetched them.
    pub(super) fn issues_by_frames(&self) -> bool {
        self.issues_by_frames
    }

    /// Occupies the links for accesses of the protocol.
    pub(super) fn charge(&mut self, shared: &mut [Link], now: Instant, accesses: ProtocolAccesses) {
        shared[..self.shared].iter_mut().for_each(|link| link.charge(now, accesses));
        if self.carries_accesses {
            self.links.iter_mut().for_each(|link| link.charge(now, accesses));
        }
    }

    /// Returns whether there is a bridge on the path, in which case the frames of a command travel in two steps.
    pub(super) fn has_bridge(&self) -> bool {
        self.first_step < self.links.len()
    }

    /// Sends the frames of a command that the controller has fetched, or that a bridge forwards, and returns the
    /// instant at which the drive or the bridge has received the command.
    pub(super) fn issue_frames(
        &mut self,
        now: Instant,
        operation: Operation,
        bridged: bool,
        trace: &mut BudgetTrace,
    ) -> Instant {
        let (skipped, links) = if bridged {
            (self.first_step, &mut self.links[self.first_step..])
        } else {
            (0, &mut self.links[..self.first_step])
        };
        let mut at = now;
        for (index, link) in (skipped..).zip(links) {
            let span = link.issue_frames(at, operation);
            if span.end > span.start {
                at = span.end + link.latency();
            }
            trace.account_service(
                Hop::FirstLink as usize + self.place + index,
                ServiceSpan { end: at, ..span },
            );
        }
        trace.mark()
    }

    /// Sends the end of a command that sent no data to the host, and returns the instant at which its interrupt
    /// arrives.
    pub(super) fn complete(
        &mut self,
        shared: &mut [Link],
        now: Instant,
        operation: Operation,
        trace: &mut BudgetTrace,
    ) -> Instant {
        complete_over(self.hops(shared).rev(), now, operation, trace)
    }

    /// Sends the end of a command that the adapter itself completed, and returns the instant at which its interrupt
    /// arrives.
    #[cold]
    pub(super) fn complete_from_adapter(
        &mut self,
        shared: &mut [Link],
        now: Instant,
        operation: Operation,
        trace: &mut BudgetTrace,
    ) -> Instant {
        let hops = self.hops(shared).rev().filter(|hop| !is_behind_adapter(hop));
        complete_over(hops, now, operation, trace)
    }

    /// Sends the end of a command from the adapter's cache to the adapter, and returns the instant of its arrival.
    #[cold]
    pub(super) fn complete_to_adapter(
        &mut self,
        now: Instant,
        operation: Operation,
        trace: &mut BudgetTrace,
    ) -> Instant {
        let hops = self.own_hops().rev().filter(is_behind_adapter);
        complete_over(hops, now, operation, trace)
    }

    /// Returns the path's own links, each with its hop.
    fn own_hops(&mut self) -> impl DoubleEndedIterator<Item = (usize, &mut Link)> {
        let first = Hop::FirstLink as usize + self.place;
        self.links.iter_mut().enumerate().map(move |(index, link)| (first + index, link))
    }

    /// Returns all links from the host to the drive, each with its hop.
    fn hops<'l>(
        &'l mut self,
        shared: &'l mut [Link],
    ) -> impl DoubleEndedIterator<Item = (usize, &'l mut Link)> {
        let above = shared[..self.shared].iter_mut().enumerate();
        let place = self.place;
        let own_links = self.links.iter_mut().enumerate();
        above
            .chain(own_links.map(move |(index, link)| (place + index, link)))
            .map(|(index, link)| (Hop::FirstLink as usize + index, link))
    }
}

/// Returns whether a link is between an adapter and a drive. This is the case if the link uses frames, because adapters
/// communicate with drives in frames.
fn is_behind_adapter(hop: &(usize, &mut Link)) -> bool {
    hop.1.issues_by_frames()
}

/// Sends write data over links, the nearest to the host first, and returns the span in which the data leaves the last
/// link.
#[inline(always)]
fn write_over<'l>(
    hops: impl Iterator<Item = (usize, &'l mut Link)>,
    now: Instant,
    burst: LinkBurst,
    trace: &mut BudgetTrace,
) -> ServiceSpan {
    let mut span = ServiceSpan { start: now, end: now };
    for (hop, link) in hops {
        span = delayed_span(link.carry_write(now, span, burst), link.latency());
        trace.account_service(hop, span);
    }
    span
}

/// Sends the completion of a command that sent no data to the host over `hops`, starting with the link nearest to the
/// drive, and returns the instant at which the completion arrives.
#[inline(always)]
fn complete_over<'l>(
    hops: impl Iterator<Item = (usize, &'l mut Link)>,
    now: Instant,
    operation: Operation,
    trace: &mut BudgetTrace,
) -> Instant {
    let mut at = now;
    for (hop, link) in hops {
        let span = delayed_span(link.complete(at, operation), link.latency());
        trace.account_service(hop, span);
        at = span.end;
    }
    at
}

/// Sends read data that arrives during `inflow` over the shared link `index`.
pub(super) fn carry_shared(
    link: &mut Link,
    index: usize,
    now: Instant,
    burst: LinkBurst,
    inflow: ServiceSpan,
    trace: &mut BudgetTrace,
) -> ServiceSpan {
    let inflow = ServiceSpan { start: now, end: inflow.end.max(now) };
    let span = delayed_span(link.carry_read(now, inflow, burst), link.latency());
    trace.account_service(Hop::FirstLink as usize + index, span);
    span
}

impl DataPath {
    fn carry(&mut self, inflow: ServiceSpan, bytes: Bytes, trace: &mut BudgetTrace) -> ServiceSpan {
        let Some(rate) = self.rate else {
            return inflow;
        };
        let span = self.station.forward(inflow, bytes / rate);
        trace.account_service(Hop::DataPath as usize, span);
        span
    }
}

/// Returns `span` as it appears at the far end of a link: `latency` later.
fn delayed_span(span: ServiceSpan, latency: Duration) -> ServiceSpan {
    ServiceSpan { start: span.start, end: span.end + latency }
}

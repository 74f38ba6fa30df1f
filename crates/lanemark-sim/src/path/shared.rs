//! A link that several drives share on their path to the host: the uplink of a chipset or switch.
//!
//! Bursts toward the host wait in one queue for each port of origin, and the ports take turns (round robin, PCI Express
//! Base Specification 5.0, 6.3.3). A drive with many bursts in flight therefore does not receive a larger share than a
//! drive with few. A burst is ready when enough of it has arrived for it to pass without a gap. In the direction of the
//! drives there is no choice: all data comes from the host in one order.
//!
//! Not modelled: weighted port arbitration and virtual channels; credits that would delay a burst in the previous link
//! (the queues here are unbounded).

use crate::engine::number::{DriveNumber, PathNumber};
use crate::engine::slab::{CommandHandle, Linked, Slab, SlabQueue, TransferHandle, Transfers};
use crate::engine::station::ServiceSpan;
use crate::link::{Link, LinkBurst};
use lanemark_schema::units::Instant;

/// Returns the port of a shared link to which a path of a drive leads; each drive has two of these ports.
pub(crate) fn port_of(drive: DriveNumber, port_path: PathNumber) -> u16 {
    drive.0 * 2 + u16::from(port_path.0)
}

/// A burst of read data in transit over shared links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedTransfer {
    /// The command to which the burst belongs.
    pub command: CommandHandle,
    /// The port of the burst; each drive has two ports.
    pub port: u16,
    /// The burst.
    pub burst: LinkBurst,
    /// Span in which the burst arrives at the link.
    pub inflow: ServiceSpan,
    /// The number of the link, counted from the host.
    pub link: usize,
    /// The next burst in the queue of the port.
    pub next: TransferHandle,
}

impl Linked for SharedTransfer {
    type Kind = Transfers;
    fn next(&mut self) -> &mut TransferHandle {
        &mut self.next
    }
}

/// The state of a shared link, with the queues of its ports.
#[derive(Clone, Debug)]
pub(crate) struct SharedLink {
    queues: Vec<SlabQueue<Transfers>>,
    /// The port whose turn it is.
    turn: usize,
    waiting: usize,
    /// Whether a burst occupies the link; an event will occur when the link is free.
    busy: bool,
}

impl SharedLink {
    /// Creates an idle link with `ports` ports.
    pub(crate) fn new(ports: usize) -> Self {
        Self { queues: vec![SlabQueue::EMPTY; ports], turn: 0, waiting: 0, busy: false }
    }

    /// Returns the instant from which `transfer` can pass `link` without a gap.
    pub(crate) fn ready(link: &Link, transfer: &SharedTransfer) -> Instant {
        let service = link.read_time(transfer.burst);
        let latest = transfer.inflow.end.picoseconds().saturating_sub(service.picoseconds());
        transfer.inflow.start.max(Instant::from_picoseconds(latest))
    }

    /// Queues a burst; returns true if the link is free to take a burst.
    pub(crate) fn queue(
        &mut self,
        transfers: &mut Slab<SharedTransfer, Transfers>,
        handle: TransferHandle,
    ) -> bool {
        let port = usize::from(transfers[handle].port);
        self.queues[port].push(transfers, handle);
        self.waiting += 1;
        !self.busy
    }

    /// Removes the bursts that wait in the queue of a port.
    pub(crate) fn forget(&mut self, transfers: &mut Slab<SharedTransfer, Transfers>, port: u16) {
        while let Some(handle) = self.queues[usize::from(port)].pop(transfers) {
            transfers.free(handle);
            self.waiting -= 1;
        }
    }

    /// Frees the link, and removes and returns the next burst in turn, if a burst is waiting.
    pub(crate) fn next(
        &mut self,
        transfers: &mut Slab<SharedTransfer, Transfers>,
    ) -> Option<TransferHandle> {
        self.busy = self.waiting > 0;
        if self.waiting == 0 {
            return None;
        }
        let ports = self.queues.len();
        let port = (0..ports)
            .map(|step| (self.turn + step) % ports)
            .find(|&port| !self.queues[port].is_empty())?;
        self.turn = (port + 1) % ports;
        self.waiting -= 1;
        self.queues[port].pop(transfers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::slab::Handle;
    use crate::link::BurstPosition;
    use lanemark_schema::units::Bytes;

    #[test]
    fn ports_take_turns_however_many_bursts_each_has() {
        let mut transfers = Slab::new();
        let mut link = SharedLink::new(3);
        for port in [0u16, 0, 0, 0, 2] {
            let now = ServiceSpan { start: Instant::ZERO, end: Instant::ZERO };
            let position = BurstPosition { first: true, last: true };
            let transfer = SharedTransfer {
                command: Handle::NONE,
                port,
                burst: LinkBurst { bytes: Bytes(1), position },
                inflow: now,
                link: 0,
                next: Handle::NONE,
            };
            let handle = transfers.insert(transfer);
            link.queue(&mut transfers, handle);
        }
        let mut order = Vec::new();
        while let Some(handle) = link.next(&mut transfers) {
            order.push(transfers[handle].port);
        }
        assert_eq!(order, [0, 2, 0, 0, 0]);
    }

    /// A burst is sent immediately if the link is slower than the inflow; otherwise it is sent when the rest can follow
    /// without a gap.
    #[test]
    fn a_burst_is_ready_when_the_link_can_pass_it_on_without_a_gap() {
        use crate::host::protocol::COMPLETION;
        use crate::link::{LinkModel, LinkSpec, Pcie, PcieGeneration};
        use lanemark_schema::units::Duration;
        let model = Pcie::new(PcieGeneration::Two, 1, Bytes(128), Bytes(512));
        let bytes = Bytes::kibi(4);
        let start = Instant::from_picoseconds(1_000);
        for (speed, last) in [1, 2, 5].into_iter().flat_map(|one| [(one, false), (one, true)]) {
            let link = LinkSpec {
                name: String::new(),
                model: LinkModel::Pcie(model),
                latency: Duration::ZERO,
                speed,
            };
            let link = Link::new(&link, COMPLETION);
            let end = if last {
                model.write_time(Bytes(16)) + model.write_time(Bytes(4))
            } else {
                Duration::ZERO
            };
            let service = (model.write_time(bytes) + end) / u64::from(speed);
            let inflows =
                [Duration::ZERO, service, service + Duration::from_picoseconds(1), service * 3];
            for inflow in inflows {
                let position = BurstPosition { first: true, last };
                let transfer = SharedTransfer {
                    command: Handle::NONE,
                    port: 0,
                    burst: LinkBurst { bytes, position },
                    inflow: ServiceSpan { start, end: start + inflow },
                    link: 0,
                    next: Handle::NONE,
                };
                let wait = inflow.saturating_sub(service);
                assert_eq!(SharedLink::ready(&link, &transfer), start + wait, "speed {speed}");
            }
        }
    }
}

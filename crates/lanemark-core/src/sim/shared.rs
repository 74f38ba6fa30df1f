//! A link that several drives share on their way to the host: a chipset's uplink, a switch's.
//!
//! Bursts towards the host queue by the port that they come from, and the ports take turns (round robin,
//! PCI Express Base Specification 5.0, 6.3.3): a drive with many bursts under way gets no more than one
//! with few. A burst is ready when so much of it has flowed in that it will go through without a gap.
//! Towards the drives there is nothing to choose: all data comes from the host, in one order.
//!
//! Not modelled: weighted port arbitration and virtual channels; credits that would hold a burst back in
//! the link before (the queues here are as long as they get).

use super::link::{Link, Place};
use super::number::{DriveNumber, WayNumber};
use super::slab::{Chain, CommandHandle, Linked, Slab, TransferHandle, Transfers};
use super::station::Span;
use crate::units::{Bytes, Instant};

/// The port of a shared link that a way of a drive goes to: each drive has two.
pub(super) fn port_of(drive: DriveNumber, way: WayNumber) -> u16 {
    drive.0 * 2 + u16::from(way.0)
}

/// A burst of read data on its way over shared links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// The command of the burst.
    pub command: CommandHandle,
    /// The port that the burst comes from, of which each drive has two.
    pub port: u16,
    /// Length of the burst.
    pub bytes: Bytes,
    /// Burst position in its command.
    pub place: Place,
    /// Time in which the burst flows into the link.
    pub inflow: Span,
    /// The link, counted from the host.
    pub link: usize,
    /// The next burst in the queue of the port.
    pub next: TransferHandle,
}

impl Linked for Transfer {
    type Kind = Transfers;
    fn next(&mut self) -> &mut TransferHandle {
        &mut self.next
    }
}

/// A shared link with the queues of its ports.
#[derive(Clone, Debug)]
pub(super) struct SharedLink {
    queues: Vec<Chain<Transfers>>,
    /// The port whose turn it is.
    turn: usize,
    waiting: usize,
    /// A burst goes through, and an event will tell when the link is free.
    busy: bool,
}

impl SharedLink {
    /// An idle link with so many ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { queues: vec![Chain::EMPTY; ports], turn: 0, waiting: 0, busy: false }
    }

    /// The instant from which `transfer` can go through `link` without a gap.
    pub(super) fn ready(link: &Link, transfer: &Transfer) -> Instant {
        let service = link.read_time(transfer.bytes, transfer.place);
        let latest = transfer.inflow.end.picoseconds().saturating_sub(service.picoseconds());
        transfer.inflow.start.max(Instant::from_picoseconds(latest))
    }

    /// Queues a burst; true where the link is free to take one.
    pub(super) fn queue(
        &mut self,
        transfers: &mut Slab<Transfer, Transfers>,
        handle: TransferHandle,
    ) -> bool {
        let port = usize::from(transfers[handle].port);
        self.queues[port].push(transfers, handle);
        self.waiting += 1;
        !self.busy
    }

    /// Forgets the bursts that wait in the queue of a port.
    pub(super) fn forget(&mut self, transfers: &mut Slab<Transfer, Transfers>, port: u16) {
        while let Some(handle) = self.queues[usize::from(port)].pop(transfers) {
            transfers.free(handle);
            self.waiting -= 1;
        }
    }

    /// The link is free: the next burst in turn, where one waits.
    pub(super) fn next(
        &mut self,
        transfers: &mut Slab<Transfer, Transfers>,
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
    use super::super::slab::Handle;
    use super::*;

    #[test]
    fn ports_take_turns_however_many_bursts_each_has() {
        let mut transfers = Slab::new();
        let mut link = SharedLink::new(3);
        for port in [0u16, 0, 0, 0, 2] {
            let now = Span { start: Instant::ZERO, end: Instant::ZERO };
            let place = Place { first: true, last: true };
            let burst = Transfer {
                command: Handle::NONE,
                port,
                bytes: Bytes(1),
                place,
                inflow: now,
                link: 0,
                next: Handle::NONE,
            };
            let handle = transfers.insert(burst);
            link.queue(&mut transfers, handle);
        }
        let mut order = Vec::new();
        while let Some(handle) = link.next(&mut transfers) {
            order.push(transfers[handle].port);
        }
        assert_eq!(order, [0, 2, 0, 0, 0]);
    }
}

//! Links: what a frame or packet costs on the wire, and the wire as a station.
//!
//! A burst is charged as the sum of its frames or packets, in one event. `sata::tests` and
//! `pcie::tests` show that the sum is the same as one frame or packet after the other.

pub mod pcie;
pub mod sas;
pub mod sata;

use super::station::{Servers, Span};
use std::fmt;

use crate::units::{Bytes, BytesPerSecond, Duration, Instant};

pub use pcie::{Pcie, PcieGeneration};
pub use sas::{Sas, SasRate};
pub use sata::{Sata, SataCommands, SataRate};

/// A link by name, as a system is assembled from it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Its name in reports, `DMI 3.0`.
    pub name: String,
    /// Its law.
    pub law: LinkLaw,
    /// The time that anything takes through it besides its own length: serialiser, buffers, a switch.
    pub latency: Duration,
    /// When it trains anew, and what to: a link that falls back, or recovers.
    pub retrain: Option<(Instant, LinkLaw)>,
}

/// The law of a link. A new kind of link is one module and one arm here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkLaw {
    /// PCI Express, and the chipset uplinks that are PCI Express by another name (DMI).
    Pcie(Pcie),
    /// Serial ATA.
    Sata(Sata),
    /// Serial Attached SCSI.
    Sas(Sas),
}

/// The place of a burst among those of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Nothing of the command was sent before.
    pub first: bool,
    /// Nothing of it will be sent after.
    pub last: bool,
}

/// A doorbell write.
const DOORBELL: Bytes = Bytes(4);

/// What tells the host of a completion: a 16-byte entry and a 4-byte MSI-X message.
fn completion_packets(pcie: &Pcie) -> Duration {
    pcie.write_time(Bytes(16)) + pcie.write_time(Bytes(4))
}

impl LinkLaw {
    /// Bytes a second one way after the line code, before frames and packets.
    pub fn rate(&self) -> BytesPerSecond {
        match self {
            Self::Pcie(pcie) => pcie.rate(),
            Self::Sata(sata) => BytesPerSecond(sata.rate().line_rate().0 / 10),
            Self::Sas(sas) => sas.port_rate(),
        }
    }

    /// Connections that it carries side by side.
    fn phys(&self) -> u32 {
        match self {
            Self::Pcie(_) | Self::Sata(_) => 1,
            Self::Sas(sas) => sas.phys(),
        }
    }
}

impl fmt::Display for LinkLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pcie(pcie) => write!(
                f,
                "PCIe {}.0 x{}, packets of {}",
                pcie.generation().number(),
                pcie.lanes(),
                pcie.payload_max()
            ),
            Self::Sata(sata) => write!(f, "{}, frames of 8 KiB", sata.rate().line_rate()),
            Self::Sas(sas) => {
                write!(f, "{} x{}, frames of 1 KiB", sas.rate().line_rate(), sas.phys())
            }
        }
    }
}

/// A link in use: a station for each direction, or one for both where it is half duplex.
#[derive(Clone, Debug)]
pub struct Link {
    law: LinkLaw,
    latency: Duration,
    retrain: Option<(Instant, LinkLaw)>,
    to_host: Servers,
    to_drive: Servers,
}

impl Link {
    /// An idle link.
    pub fn new(spec: &LinkSpec) -> Self {
        let servers = Servers::new(spec.law.phys() as usize);
        Self {
            law: spec.law,
            latency: spec.latency,
            retrain: spec.retrain,
            to_host: servers.clone(),
            to_drive: servers,
        }
    }

    /// The time through it besides the length of what is sent.
    pub fn latency(&self) -> Duration {
        self.latency
    }

    /// How long `bytes` of read data keep the link. SATA announces a command's first burst with a DMA
    /// Setup frame; behind the last one comes the completion.
    pub fn read_time(&self, bytes: Bytes, place: Place) -> Duration {
        let (data, end) = match &self.law {
            LinkLaw::Pcie(pcie) => (pcie.write_time(bytes), completion_packets(pcie)),
            LinkLaw::Sata(sata) => {
                (sata.read_data_time(bytes, place.first), sata.completion_time())
            }
            LinkLaw::Sas(sas) => (sas.read_data_time(bytes), sas.response_behind_data_time()),
        };
        if place.last { data + end } else { data }
    }

    /// Trains anew when the time for that has come. What is under way by then goes on as it began.
    fn train(&mut self, now: Instant) {
        if let Some((at, law)) = self.retrain
            && now >= at
        {
            self.law = law;
            self.retrain = None;
        }
    }

    /// Sends `bytes` of read data towards the host while they flow in during `inflow`.
    pub fn carry_read(&mut self, now: Instant, inflow: Span, bytes: Bytes, place: Place) -> Span {
        self.train(now);
        match &self.law {
            LinkLaw::Pcie(pcie) if place.last => {
                self.to_drive.charge(now, pcie.write_time(DOORBELL));
            }
            LinkLaw::Sas(sas) => self.to_drive.charge(now, sas.data_acknowledge_time(bytes)),
            LinkLaw::Pcie(_) | LinkLaw::Sata(_) => {}
        }
        let service = self.read_time(bytes, place);
        self.to_host.forward(inflow, service)
    }

    /// The instant from which the direction to the host is free.
    pub fn free_at(&self) -> Instant {
        self.to_host.free_at()
    }

    /// Sends `bytes` of write data towards the drive while they flow in during `inflow`. The drive asks
    /// for them first: with read requests over PCIe, with DMA Setup and DMA Activate frames over SATA.
    /// Over SATA the frame that ends the command goes behind its data, before another command's.
    pub fn carry_write(&mut self, now: Instant, inflow: Span, bytes: Bytes, place: Place) -> Span {
        self.train(now);
        match &self.law {
            LinkLaw::Pcie(pcie) => {
                self.to_host.charge(now, pcie.read_request_time(bytes));
                self.to_drive.forward(inflow, pcie.completion_time(bytes))
            }
            LinkLaw::Sata(sata) => {
                let data = sata.write_data_time(bytes, place.first);
                let end = if place.last { sata.completion_time() } else { Duration::ZERO };
                self.to_host.forward(inflow, data + end)
            }
            LinkLaw::Sas(sas) => {
                let asked = sas.transfer_ready_time() + sas.data_acknowledge_time(bytes);
                self.to_host.charge(now, asked);
                self.to_drive.forward(inflow, sas.write_data_time(bytes))
            }
        }
    }

    /// Tells the host that a write is complete; over SATA the frame for it has gone already.
    pub fn complete_write(&mut self, now: Instant) -> Span {
        match &self.law {
            LinkLaw::Pcie(pcie) => {
                self.to_drive.charge(now, pcie.write_time(DOORBELL));
                self.to_host.serve(now, completion_packets(pcie))
            }
            LinkLaw::Sata(_) => Span { start: now, end: now },
            LinkLaw::Sas(sas) => {
                self.to_drive.charge(now, sas.frame_acknowledge_time());
                self.to_host.serve(now, sas.response_time())
            }
        }
    }

    /// Carries what it takes to hand a command over: the doorbell and the reads of `entry` bytes in
    /// `fetches` requests over PCIe, which nobody waits for longer than the protocol says.
    pub fn charge_issue(&mut self, now: Instant, entry: Bytes, fetches: u64) {
        if let LinkLaw::Pcie(pcie) = &self.law {
            self.to_drive.charge(now, pcie.write_time(DOORBELL) + pcie.completion_time(entry));
            self.to_host.charge(now, pcie.read_request_time(Bytes(64)) * fetches);
        }
    }

    /// Sends the frames that issue a command, where the link has such.
    pub fn issue_frames(&mut self, now: Instant) -> Span {
        self.train(now);
        match &self.law {
            LinkLaw::Pcie(_) => Span { start: now, end: now },
            LinkLaw::Sata(sata) => self.to_host.serve(now, sata.issue_time()),
            LinkLaw::Sas(sas) => {
                self.to_host.charge(now, sas.frame_acknowledge_time());
                self.to_drive.serve(now, sas.command_time())
            }
        }
    }

    /// Whether commands are issued by frames of their own.
    pub fn issues_by_frames(&self) -> bool {
        matches!(self.law, LinkLaw::Sata(_) | LinkLaw::Sas(_))
    }

    /// Time busy: of the direction that was busier, where there are two.
    pub fn busy(&self) -> Duration {
        self.to_host.busy().max(self.to_drive.busy())
    }
}

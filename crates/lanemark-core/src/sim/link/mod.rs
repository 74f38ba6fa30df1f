//! Links: what a frame or packet costs on the wire, and the wire as a station.
//!
//! A burst is charged as the sum of its frames or packets, in one event. `sata::tests` and
//! `pcie::tests` show that the sum is the same as one frame or packet after the other.

mod bit_errors;
mod frame_turns;
mod pcie;
mod sas;
mod sata;
#[cfg(test)]
mod timing_tests;

use super::memo::Memo;
use super::station::{Servers, Span};
use bit_errors::BitErrors;
use frame_turns::FrameTurns;
use std::fmt;

use crate::rng::Rng;
use crate::units::{Bytes, BytesPerSecond, Duration, Instant};
use crate::workload::Operation;
use crate::workload::fault::Training;

pub use pcie::{Pcie, PcieAddress, PcieGeneration, PcieSetup};
pub use sas::{Sas, SasRate};
pub use sata::{FRAME_FIFO_MIN, PIO_BLOCK_MAX, SECTOR, Sata, SataCommands, SataRate};

/// A link by name, as a system is assembled from it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Its name in reports, `DMI 3.0`.
    pub name: String,
    /// Its law.
    pub law: LinkLaw,
    /// The time that anything takes through it besides its own length: serialiser, buffers, a switch.
    pub latency: Duration,
    /// How many times as fast as its law it is; 1 but for a link that is asked what another would give.
    pub speed: u32,
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

/// Bits on the wire of a byte that is coded 8b/10b, which SATA and SAS up to 12 Gb/s do.
const LINE_BITS: u64 = 10;

/// A doorbell write.
const DOORBELL: Bytes = Bytes(4);

/// What tells the host of a completion: a 16-byte entry and a 4-byte MSI-X message.
fn completion_packets(pcie: &Pcie) -> Duration {
    pcie.write_time(Bytes(16)) + pcie.write_time(Bytes(4))
}

/// What is left of `time` on a link that is `speed` times as fast as its law.
fn at_speed(speed: u32, time: Duration) -> Duration {
    match speed {
        1 => time,
        _ => time / u64::from(speed.max(1)),
    }
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

    /// How long `bytes` of read data keep the link. SATA announces a command's first burst with a DMA
    /// Setup frame; behind the last one comes the completion.
    pub fn read_time(&self, bytes: Bytes, place: Place) -> Duration {
        let (data, end) = match self {
            Self::Pcie(pcie) => (pcie.post_time(bytes), completion_packets(pcie)),
            Self::Sata(sata) => {
                (sata.read_data_time(bytes, place.first), sata.read_completion_time())
            }
            Self::Sas(sas) => (sas.read_data_time(bytes), sas.response_behind_data_time()),
        };
        if place.last { data + end } else { data }
    }

    /// The law after the link has trained anew; nothing where it cannot train to that.
    pub fn trained(&self, to: Training) -> Option<Self> {
        let Training { lanes, generation, speed } = to;
        match self {
            Self::Pcie(pcie) => {
                let lanes = lanes.unwrap_or(pcie.lanes());
                let generation = match generation {
                    Some(number) => PcieGeneration::new(number.into())?,
                    None => pcie.generation(),
                };
                let fits = speed.is_none() && lanes.is_power_of_two() && lanes <= 16;
                fits.then(|| Self::Pcie(pcie.trained(generation, lanes)))
            }
            Self::Sata(sata) => {
                let fits = lanes.is_none() && generation.is_none();
                Some(Self::Sata(sata.trained(SataRate::new(speed.filter(|_| fits)?)?)))
            }
            Self::Sas(sas) => {
                let phys = lanes.unwrap_or(sas.phys());
                let rate = speed.map_or(Some(sas.rate()), SasRate::new)?;
                let fits = generation.is_none() && [1, 2, 4].contains(&phys);
                fits.then(|| Self::Sas(sas.trained(rate, phys)))
            }
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
            Self::Pcie(pcie) => pcie.fmt(f),
            Self::Sata(sata) => sata.fmt(f),
            Self::Sas(sas) => {
                write!(f, "{} x{}, frames of 1 KiB", sas.rate().line_rate(), sas.phys())
            }
        }
    }
}

/// A link in use: a station for each direction, or one for both where it is half duplex.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    law: LinkLaw,
    latency: Duration,
    speed: u32,
    to_host: Servers,
    to_drive: Servers,
    /// What is booked of a SATA link, whose one station is `to_host`.
    turns: FrameTurns,
    /// For a burst of a read, its time towards the host and what goes the other way for it.
    read: Memo<(Bytes, Place), (Duration, Duration)>,
    /// For a burst of a write, its time towards the drive and what goes the other way for it.
    write: Memo<(Bytes, Place), (Duration, Duration)>,
    /// For an entry and its fetches, what goes to the drive and to the host.
    issue: Memo<(Bytes, u64), (Duration, Duration)>,
    /// What spoils its data, where anything does.
    errors: Option<Box<BitErrors>>,
}

impl Link {
    /// An idle link.
    pub(crate) fn new(spec: &LinkSpec) -> Self {
        let servers = Servers::new(spec.law.phys() as usize);
        Self {
            law: spec.law,
            latency: spec.latency,
            speed: spec.speed,
            to_host: servers.clone(),
            to_drive: servers,
            turns: FrameTurns::default(),
            read: Memo::new(),
            write: Memo::new(),
            issue: Memo::new(),
            errors: None,
        }
    }

    /// The time through it besides the length of what is sent.
    pub(crate) fn latency(&self) -> Duration {
        self.latency
    }

    /// How long `bytes` of read data keep the link.
    pub(crate) fn read_time(&self, bytes: Bytes, place: Place) -> Duration {
        at_speed(self.speed, self.law.read_time(bytes, place))
    }

    /// Trains anew. What is under way by then goes on as it began.
    pub(crate) fn train(&mut self, law: LinkLaw) {
        for servers in [&mut self.to_host, &mut self.to_drive] {
            if law.phys() != self.law.phys() {
                servers.resize(law.phys() as usize);
            }
        }
        self.law = law;
        (self.read, self.write, self.issue) = (Memo::new(), Memo::new(), Memo::new());
    }

    /// Lets a share of bits be wrong from now on, by the draws of `rng`; none where there is no share.
    pub(crate) fn disturb(&mut self, rate: Option<f64>, rng: Rng) {
        self.errors = rate.map(|rate| Box::new(BitErrors::new(rate, rng)));
    }

    /// Whether the data that it carried last has to be sent again by the host's command.
    pub(crate) fn take_spoilt(&mut self) -> bool {
        self.errors.as_mut().is_some_and(|errors| errors.take_spoilt())
    }

    /// The time of data on a link that may spoil some of it: a packet of PCI Express goes again at once, a frame of
    /// SATA or SAS with its command.
    #[inline]
    fn disturbed(&mut self, bytes: Bytes, service: Duration) -> Duration {
        let Some(errors) = &mut self.errors else { return service };
        match &self.law {
            LinkLaw::Pcie(pcie) => {
                let replays = errors.hits(pcie.write_bytes(bytes) * 8);
                service + at_speed(self.speed, pcie.replay_time()) * replays
            }
            LinkLaw::Sata(_) | LinkLaw::Sas(_) => {
                errors.spoil(bytes.get() * LINE_BITS);
                service
            }
        }
    }

    /// Sends `bytes` of read data towards the host while they flow in during `inflow`.
    pub(crate) fn carry_read(
        &mut self,
        now: Instant,
        inflow: Span,
        bytes: Bytes,
        place: Place,
    ) -> Span {
        let mut memo = self.read;
        let (service, back) = memo.answer((bytes, place), || {
            let back = match &self.law {
                LinkLaw::Pcie(pcie) if place.last => pcie.write_time(DOORBELL),
                LinkLaw::Sas(sas) => sas.data_acknowledge_time(bytes),
                LinkLaw::Pcie(_) | LinkLaw::Sata(_) => Duration::ZERO,
            };
            (self.read_time(bytes, place), at_speed(self.speed, back))
        });
        self.read = memo;
        let service = self.disturbed(bytes, service);
        if back > Duration::ZERO {
            self.to_drive.charge(now, back);
        }
        self.book(inflow, service)
    }

    /// Sends data towards the host, over SATA in either direction.
    #[inline]
    fn book(&mut self, inflow: Span, service: Duration) -> Span {
        let free = self.to_host.free_at();
        let span = self.to_host.forward(inflow, service);
        self.turns.booked(free, span);
        span
    }

    /// The instant from which the direction to the host is free.
    pub(crate) fn free_at(&self) -> Instant {
        self.to_host.free_at()
    }

    /// Sends `bytes` of write data towards the drive while they flow in during `inflow`. The drive asks
    /// for them first: with read requests over PCIe, with DMA Setup and DMA Activate frames over SATA.
    /// Over SATA the frame that ends the command goes behind its data, before another command's.
    pub(crate) fn carry_write(
        &mut self,
        now: Instant,
        inflow: Span,
        bytes: Bytes,
        place: Place,
    ) -> Span {
        let (law, speed) = (&self.law, self.speed);
        let times = || match law {
            LinkLaw::Pcie(pcie) => (pcie.fetch_time(bytes), pcie.read_request_time(bytes)),
            LinkLaw::Sata(sata) => {
                let data = sata.write_data_time(bytes, place.first);
                let end = if place.last { sata.completion_time() } else { Duration::ZERO };
                (data + end, Duration::ZERO)
            }
            LinkLaw::Sas(sas) => {
                let asked = sas.transfer_ready_time() + sas.data_acknowledge_time(bytes);
                (sas.write_data_time(bytes), asked)
            }
        };
        let (service, asked) = self.write.answer((bytes, place), || {
            let (service, asked) = times();
            (at_speed(speed, service), at_speed(speed, asked))
        });
        let service = self.disturbed(bytes, service);
        // Over SATA both directions are one, and asking is part of the data's time.
        if let LinkLaw::Sata(_) = self.law {
            return self.book(inflow, service);
        }
        self.to_host.charge(now, asked);
        self.to_drive.forward(inflow, service)
    }

    /// Tells the host that a command which brought it no data is complete; over SATA the frame for it has gone
    /// behind the data, where there was any.
    pub(crate) fn complete(&mut self, now: Instant, operation: Operation) -> Span {
        let time = |time| at_speed(self.speed, time);
        match &self.law {
            LinkLaw::Pcie(pcie) => {
                self.to_drive.charge(now, time(pcie.write_time(DOORBELL)));
                self.to_host.serve(now, time(completion_packets(pcie)))
            }
            LinkLaw::Sata(sata) if operation == Operation::Flush => {
                self.to_host.serve(now, time(sata.register_time()))
            }
            LinkLaw::Sata(_) => Span { start: now, end: now },
            LinkLaw::Sas(sas) => {
                self.to_drive.charge(now, time(sas.frame_acknowledge_time()));
                self.to_host.serve(now, time(sas.response_time()))
            }
        }
    }

    /// Carries what it takes to hand a command over: the doorbell and the reads of `entry` bytes in
    /// `fetches` requests over PCIe, which nobody waits for longer than the protocol says.
    pub(crate) fn charge_issue(&mut self, now: Instant, entry: Bytes, fetches: u64) {
        let speed = self.speed;
        if let LinkLaw::Pcie(pcie) = &self.law {
            let (down, up) = self.issue.answer((entry, fetches), || {
                let down = pcie.write_time(DOORBELL) + pcie.completion_time(entry);
                let up = pcie.read_request_time(Bytes(64)) * fetches;
                (at_speed(speed, down), at_speed(speed, up))
            });
            self.to_drive.charge(now, down);
            self.to_host.charge(now, up);
        }
    }

    /// Sends the frames that issue a command, where the link has such. FLUSH CACHE and DATA SET MANAGEMENT
    /// are not queued over SATA: the drive does not release the bus in between.
    pub(crate) fn issue_frames(&mut self, now: Instant, operation: Operation) -> Span {
        let time = |time| at_speed(self.speed, time);
        match &self.law {
            LinkLaw::Pcie(_) => Span { start: now, end: now },
            LinkLaw::Sata(sata) if !operation.moves_data() => {
                self.to_host.serve(now, time(sata.register_time()))
            }
            LinkLaw::Sata(sata) => {
                let (length, data_frame) = (time(sata.issue_time()), time(sata.data_frame_time()));
                let free = self.to_host.free_at();
                let booked = self.to_host.serve(now, length);
                match free > now {
                    true => self.turns.enter(now, free, data_frame, length),
                    false => {
                        self.turns.booked(free, booked);
                        booked
                    }
                }
            }
            LinkLaw::Sas(sas) => {
                self.to_host.charge(now, time(sas.frame_acknowledge_time()));
                self.to_drive.serve(now, time(sas.command_time()))
            }
        }
    }

    /// Whether commands are issued by frames of their own.
    pub(crate) fn issues_by_frames(&self) -> bool {
        matches!(self.law, LinkLaw::Sata(_) | LinkLaw::Sas(_))
    }

    /// Time busy: of the direction that was busier, where there are two.
    pub(crate) fn busy(&self) -> Duration {
        self.to_host.busy().max(self.to_drive.busy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Bytes = Bytes::kibi(4);
    const ENTRY: Bytes = Bytes(64);
    const WHOLE: Place = Place { first: true, last: true };

    /// An idle link of generation 3 x4 with MPS 128 and MRRS 512, changed by `change`.
    fn link(change: impl FnOnce(&mut PcieSetup)) -> (Pcie, Link) {
        let mut setup = PcieSetup::new(Bytes(128), Bytes(512));
        change(&mut setup);
        let pcie = Pcie::with_setup(PcieGeneration::Three, 4, Duration::ZERO, &setup);
        let spec = LinkSpec {
            name: String::new(),
            law: LinkLaw::Pcie(pcie),
            latency: Duration::ZERO,
            speed: 1,
        };
        (pcie, Link::new(&spec))
    }

    /// Issues `count` NVMe commands of 4 KiB at the start, and carries their data and completions.
    fn carry(link: &mut Link, count: u64, read: bool) {
        let now = Instant::ZERO;
        let inflow = Span { start: now, end: now };
        for _ in 0..count {
            link.charge_issue(now, ENTRY, 1);
            if read {
                link.carry_read(now, inflow, BLOCK, WHOLE);
            } else {
                link.carry_write(now, inflow, BLOCK, WHOLE);
                link.complete(now, Operation::Write);
            }
        }
    }

    /// Whether a direction was busy without a gap until `count` times `bytes` were through.
    fn filled(pcie: &Pcie, direction: &Servers, count: u64, bytes: u64) -> bool {
        let wire = pcie.wire_time(count * bytes).picoseconds();
        let busy = direction.busy().picoseconds();
        // Eight or fewer times a command are rounded to the picosecond.
        direction.free_at().picoseconds() == busy && busy.abs_diff(wire) <= count * 8
    }

    #[test]
    fn read_data_fills_one_direction_and_write_data_the_other() {
        const COUNT: u64 = 1_000;
        // What one command costs each way: data with its packets, requests, entry and MSI-X up, doorbells
        // and the fetched entry down.
        let read_up = 24 + (4096 + 32 * 24) + (16 + 24) + (4 + 24);
        let read_down = 2 * (4 + 24) + (64 + 20);
        let write_up = 24 + 8 * 24 + (16 + 24) + (4 + 24);
        let write_down = 2 * (4 + 24) + (64 + 20) + (4096 + 32 * 20);

        let (pcie, mut reads) = link(|_| ());
        carry(&mut reads, COUNT, true);
        assert!(filled(&pcie, &reads.to_host, COUNT, read_up));
        assert!(filled(&pcie, &reads.to_drive, COUNT, read_down));
        let (_, mut writes) = link(|_| ());
        carry(&mut writes, COUNT, false);
        assert!(filled(&pcie, &writes.to_host, COUNT, write_up));
        assert!(filled(&pcie, &writes.to_drive, COUNT, write_down));

        let (_, mut both) = link(|_| ());
        carry(&mut both, COUNT, true);
        carry(&mut both, COUNT, false);
        assert!(filled(&pcie, &both.to_host, COUNT, read_up + write_up));
        assert!(filled(&pcie, &both.to_drive, COUNT, read_down + write_down));
        // Both at once take little longer than one of them: the other's small packets.
        let slowed = both.busy().as_seconds() / reads.busy().as_seconds();
        let formula = (read_up + write_up) as f64 / read_up as f64;
        assert!((slowed - formula).abs() < 1e-4 && slowed < 1.06, "{slowed} for {formula}");
    }

    #[test]
    fn a_bound_on_one_direction_leaves_the_other_its_wire() {
        const COUNT: u64 = 1_000;
        let trip = Duration::from_microseconds(10);
        let carried = |tags, posted_credits| {
            let (_, mut link) = link(|setup| {
                let round_trip = Some(trip);
                *setup = PcieSetup { tags, posted_credits, round_trip, ..*setup };
            });
            carry(&mut link, COUNT, true);
            carry(&mut link, COUNT, false);
            (link.to_host.busy(), link.to_drive.busy())
        };
        let (up, down) = carried(None, None);
        // 8 KiB under way: a round trip for two blocks of 4 KiB, instead of their time on the wire.
        let (pcie, _) = link(|_| ());
        let paced = trip * (COUNT / 2);
        let tagged = down - pcie.completion_time(BLOCK) * COUNT + paced;
        assert_eq!(carried(Some(16), None), (up, tagged));
        let credited = up - pcie.write_time(BLOCK) * COUNT + paced;
        assert_eq!(carried(None, Some(Bytes::kibi(8))), (credited, down));
    }
}

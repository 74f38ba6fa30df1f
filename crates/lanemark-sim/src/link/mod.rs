//! Links: the cost of frames and packets on the wire, and the wire as a station.
//!
//! A burst is charged as the sum of its frames or packets, in one event. `sata::tests` and `pcie::tests` show that the
//! sum equals a simulation of successive frames or packets.

mod bit_errors;
pub(super) mod formulas;
mod frame_turns;
mod pcie;
mod sas;
mod sata;
#[cfg(test)]
mod timing_tests;
mod usb;

use crate::engine::memo::Memo;
use crate::engine::station::{Servers, ServiceSpan};
use bit_errors::BitErrors;
pub(crate) use formulas::LinkBurst;
use formulas::{LinkFormulas, LinkLoad};
use frame_turns::FrameArbitration;
use std::fmt;

use lanemark_schema::rng::Rng;
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant};
use lanemark_schema::workload::Operation;
use lanemark_schema::workload::fault::TrainedRate;

pub use formulas::{BurstPosition, CommandPhase, PhaseTime, ProtocolAccesses};
pub use pcie::{Pcie, PcieAddress, PcieGeneration, PcieSetup};
pub use sas::{Sas, SasRate};
pub use sata::{Sata, SataCommands, SataRate};
pub use usb::{Bridge, Usb, UsbRate, UsbTransport};

/// A named link, from which a system is assembled.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Name of the link in reports, such as `DMI 3.0`.
    pub name: String,
    /// Model of the link.
    pub model: LinkModel,
    /// Latency of the link in addition to the transfer time of the data: serialiser, buffers, a switch.
    pub latency: Duration,
    /// Speed as a multiple of the model's speed: 1, unless the gain of a faster link is being determined.
    pub speed: u32,
}

/// The model of a link. A new kind of link needs one folder, one variant here, and one arm in each of the two functions
/// that follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkModel {
    /// PCI Express, including chipset uplinks that are PCI Express under another name (DMI).
    Pcie(Pcie),
    /// Serial ATA.
    Sata(Sata),
    /// Serial Attached SCSI.
    Sas(Sas),
    /// Universal Serial Bus 3.2.
    Usb(Usb),
    /// A bridge between USB and a drive's own link.
    Bridge(Bridge),
}

/// Number of bits on the wire for a byte in 8b/10b code, which SATA uses, and SAS up to 12 Gb/s.
const LINE_BITS: u64 = 10;

impl LinkModel {
    fn kind(&self) -> &dyn LinkFormulas {
        match self {
            Self::Pcie(model) => model,
            Self::Sata(model) => model,
            Self::Sas(model) => model,
            Self::Usb(model) => model,
            Self::Bridge(model) => model,
        }
    }

    /// Returns the model after the link has trained to `to`, or `None` if the link cannot train to this rate.
    pub fn trained(&self, to: TrainedRate) -> Option<Self> {
        match self {
            Self::Pcie(model) => model.train(to).map(Self::Pcie),
            Self::Sata(model) => model.train(to).map(Self::Sata),
            Self::Sas(model) => model.train(to).map(Self::Sas),
            Self::Usb(model) => model.train(to).map(Self::Usb),
            Self::Bridge(model) => model.train(to).map(Self::Bridge),
        }
    }

    /// Returns the values to which the link can train, as text.
    pub(crate) fn trainings(&self) -> &'static str {
        self.kind().trainings()
    }

    /// Returns the rate in one direction after the line code, before the overhead of frames and packets.
    pub fn rate(&self) -> BytesPerSecond {
        self.kind().rate()
    }

    /// Returns the time for which a phase of a command occupies each direction.
    pub fn cost(&self, phase: CommandPhase) -> PhaseTime {
        self.kind().cost(phase)
    }

    /// Returns the maximum throughput of the link for the requests.
    pub(super) fn ceiling(&self, load: LinkLoad<'_>) -> BytesPerSecond {
        self.kind().ceiling(load)
    }
}

impl fmt::Display for LinkModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

/// Returns the cost of a burst toward the host, plus the end of the command if the burst is the last one.
fn read_cost(model: &LinkModel, end: PhaseTime, burst: LinkBurst) -> PhaseTime {
    let data = model.cost(CommandPhase::ToHost(burst.bytes, burst.position));
    if burst.position.last { data + end } else { data }
}

/// A simulated link: a station for each direction, or one shared station if the link is half duplex.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    model: LinkModel,
    latency: Duration,
    speed: u32,
    to_host: Servers,
    to_drive: Servers,
    /// Whether the link carries accesses of a protocol, rather than commands in dedicated frames.
    carries_accesses: bool,
    /// Time of a full data frame if the link is half duplex; then `to_host` is the only station.
    half_duplex_frame: Option<Duration>,
    /// The bookings of a half-duplex link.
    turns: FrameArbitration,
    /// The accesses that end a command of the protocol.
    end: ProtocolAccesses,
    /// Cost of `end` at the model's own speed.
    end_cost: PhaseTime,
    /// The cost of a burst to the host.
    read: Memo<LinkBurst, PhaseTime>,
    /// The cost of a burst to the drive.
    write: Memo<LinkBurst, PhaseTime>,
    /// The cost of accesses of the protocol.
    accesses: Memo<ProtocolAccesses, PhaseTime>,
    command: Memo<Operation, PhaseTime>,
    /// The cost of a command's end.
    completion: Memo<Operation, PhaseTime>,
    /// Bit errors of the link, if a fault causes any.
    errors: Option<Box<BitErrors>>,
}

impl Link {
    /// Creates an idle link, over which a protocol ends its commands with the accesses `end`.
    pub(crate) fn new(spec: &LinkSpec, end: ProtocolAccesses) -> Self {
        let servers = Servers::new(spec.model.kind().connections() as usize);
        let mut link = Self {
            model: spec.model,
            latency: spec.latency,
            speed: spec.speed,
            to_host: servers.clone(),
            to_drive: servers,
            carries_accesses: false,
            half_duplex_frame: None,
            turns: FrameArbitration::default(),
            end,
            end_cost: PhaseTime::NONE,
            read: Memo::new(),
            write: Memo::new(),
            accesses: Memo::new(),
            command: Memo::new(),
            completion: Memo::new(),
            errors: None,
        };
        link.train(spec.model);
        link
    }

    /// Returns the latency of the link in addition to the transfer time of the data.
    pub(crate) fn latency(&self) -> Duration {
        self.latency
    }

    /// Returns the time for which a burst of read data occupies the link.
    pub(crate) fn read_time(&self, burst: LinkBurst) -> Duration {
        read_cost(&self.model, self.end_cost, burst).at_speed(self.speed).to_host
    }

    /// Trains the link again. Transfers in progress continue unchanged.
    pub(crate) fn train(&mut self, model: LinkModel) {
        let connections = model.kind().connections();
        for servers in [&mut self.to_host, &mut self.to_drive] {
            if connections != self.model.kind().connections() {
                servers.resize(connections as usize);
            }
        }
        self.model = model;
        self.carries_accesses = model.kind().carries_accesses();
        let frame = model.kind().half_duplex_frame();
        self.half_duplex_frame = frame.map(|frame| formulas::at_speed(self.speed, frame));
        self.end_cost = model.cost(CommandPhase::Accesses(self.end));
        (self.read, self.write, self.accesses) = (Memo::new(), Memo::new(), Memo::new());
        (self.command, self.completion) = (Memo::new(), Memo::new());
    }

    /// Corrupts bits with the probability `rate` from now on, with draws from `rng`; without a rate, bits are not
    /// corrupted.
    pub(crate) fn set_bit_error_rate(&mut self, rate: Option<f64>, rng: Rng) {
        self.errors = rate.map(|rate| Box::new(BitErrors::new(rate, rng)));
    }

    /// Returns whether the link has corrupted data that the host must request again, and clears this mark.
    pub(crate) fn take_spoilt(&mut self) -> bool {
        self.errors.as_mut().is_some_and(|errors| errors.take_spoilt())
    }

    /// Returns the time of data on a link that may corrupt bits. Some kinds of links repeat corrupted data themselves;
    /// on all others, the host repeats the command.
    #[inline]
    fn time_with_bit_errors(&mut self, bytes: Bytes, service: Duration) -> Duration {
        let Some(errors) = &mut self.errors else { return service };
        let bits = self.model.kind().bits(bytes);
        match self.model.kind().replay_time() {
            Some(replay) => {
                service + formulas::at_speed(self.speed, replay) * errors.count_wrong_bits(bits)
            }
            None => {
                errors.spoil(bits);
                service
            }
        }
    }

    /// Sends read data toward the host while it arrives during `inflow`.
    pub(crate) fn carry_read(
        &mut self,
        now: Instant,
        inflow: ServiceSpan,
        burst: LinkBurst,
    ) -> ServiceSpan {
        let model = &self.model;
        let end = self.end_cost;
        let speed = self.speed;
        let cost = self.read.answer(burst, || read_cost(model, end, burst).at_speed(speed));
        let service = self.time_with_bit_errors(burst.bytes, cost.to_host);
        if cost.to_drive > Duration::ZERO {
            self.to_drive.charge(now, cost.to_drive);
        }
        self.book(inflow, service)
    }

    /// Sends data toward the host; on a half-duplex link, in either direction.
    #[inline]
    fn book(&mut self, inflow: ServiceSpan, service: Duration) -> ServiceSpan {
        let free = self.to_host.free_at();
        let span = self.to_host.forward(inflow, service);
        self.turns.record_booking(free, span);
        span
    }

    /// Returns the instant from which the direction to the host is free.
    pub(crate) fn free_at(&self) -> Instant {
        self.to_host.free_at()
    }

    /// Sends write data toward the drive, which has requested it, while it arrives during `inflow`.
    pub(crate) fn carry_write(
        &mut self,
        now: Instant,
        inflow: ServiceSpan,
        burst: LinkBurst,
    ) -> ServiceSpan {
        let LinkBurst { bytes, position } = burst;
        let model = &self.model;
        let speed = self.speed;
        let cost = self
            .write
            .answer(burst, || model.cost(CommandPhase::ToDrive(bytes, position)).at_speed(speed));
        let service = self.time_with_bit_errors(bytes, cost.to_drive);
        if self.half_duplex_frame.is_some() {
            return self.book(inflow, service);
        }
        self.to_host.charge(now, cost.to_host);
        self.to_drive.forward(inflow, service)
    }

    /// Sends the end of a command that sent no data to the host, unless it followed data to the drive.
    pub(crate) fn complete(&mut self, now: Instant, operation: Operation) -> ServiceSpan {
        let model = &self.model;
        let end = self.end_cost;
        let speed = self.speed;
        let PhaseTime { to_host, to_drive } = self.completion.answer(operation, || {
            (model.cost(CommandPhase::Completion(operation)) + end).at_speed(speed)
        });
        if to_host == Duration::ZERO {
            return ServiceSpan { start: now, end: now };
        }
        if to_drive > Duration::ZERO {
            self.to_drive.charge(now, to_drive);
        }
        self.to_host.serve(now, to_host)
    }

    /// Carries accesses of the protocol, which occupy the link. The delay of the request is computed by the protocol.
    pub(crate) fn charge(&mut self, now: Instant, accesses: ProtocolAccesses) {
        if self.issues_by_frames() {
            return;
        }
        let model = &self.model;
        let speed = self.speed;
        let PhaseTime { to_host, to_drive } = self
            .accesses
            .answer(accesses, || model.cost(CommandPhase::Accesses(accesses)).at_speed(speed));
        self.to_drive.charge(now, to_drive);
        self.to_host.charge(now, to_host);
    }

    /// Sends the frames that issue a command, if the link uses such frames.
    pub(crate) fn issue_frames(&mut self, now: Instant, operation: Operation) -> ServiceSpan {
        let model = &self.model;
        let speed = self.speed;
        let PhaseTime { to_host, to_drive } = self
            .command
            .answer(operation, || model.cost(CommandPhase::Command(operation)).at_speed(speed));
        if to_drive == Duration::ZERO {
            return ServiceSpan { start: now, end: now };
        }
        let Some(data_frame) = self.half_duplex_frame else {
            self.to_host.charge(now, to_host);
            return self.to_drive.serve(now, to_drive);
        };
        let free = self.to_host.free_at();
        let booked = self.to_host.serve(now, to_drive);
        if operation.moves_data() && free > now {
            return self.turns.enter(now, free, data_frame, to_drive);
        }
        if operation.moves_data() {
            self.turns.record_booking(free, booked);
        }
        booked
    }

    /// Returns whether the link issues commands in dedicated frames.
    pub(crate) fn issues_by_frames(&self) -> bool {
        !self.carries_accesses
    }

    /// Returns the busy time, for the busier direction if there are two.
    pub(crate) fn busy(&self) -> Duration {
        self.to_host.busy().max(self.to_drive.busy())
    }
}

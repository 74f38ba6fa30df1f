//! PCI Express: what packets cost on lanes of each generation.
//!
//! Law. Per lane and direction, generations 1 and 2 carry 2.5 and 5 GT/s with 8b/10b, generations 3 to
//! 5 carry 8, 16 and 32 GT/s with 128b/130b (PCI Express Base Specification 5.0, 4.2). A transaction
//! layer packet costs its payload and, in all generations alike, 8 bytes of framing, sequence number
//! and LCRC (STP 1 + sequence 2 + LCRC 4 + END 1 in the first two, a 4-byte token + LCRC 4 later), and
//! a header of 12 bytes, or 16 with a 64-bit address; completions have 12. A digest (ECRC) adds 4 bytes
//! to each (2.2.1, 2.7.1). Payload is at most MPS a packet, a read request asks for at most MRRS.
//!
//! A link also carries SKP sets, 4 symbols in 1,538, and packets that answer what the other direction brings: ACK
//! and flow-control packets of 8 bytes, one each per acknowledgement interval of ((MPS + 28) · factor / N + {19,
//! 70, 115}) symbol times for generations 1, 2 and from 3 on (tables 3-7 to 3-9). Answers go against the data, so
//! data in one direction pays for SKP sets alone, raw · (1 - 4/1538) · MPS/(MPS + overhead), and takes 16 bytes an
//! interval of the other direction. Where data fills both directions each pays for the answers to the other, which
//! is the formula of pcie-bench (Neugebauer et al., SIGCOMM 2018): raw · (1 - 8/(ACK·N) - 8/(FC·N) - 4/1538) ·
//! MPS/(MPS + overhead), but for the square of the answers' share, 0.5% on the narrowest link: an interval is of
//! data here, and of data and answers there. Not modelled: answers to read requests and to a protocol's accesses.
//!
//! *Completions.* Whoever answers a read may cut the data wherever an address is a multiple of the read
//! completion boundary, 64 or 128 bytes at a root complex (2.3.1.1). Policy: data begins at such an
//! address, and the completer cuts each request into pieces of `completion_payload`, by default MPS, the
//! fewest. Root complexes that answer a cache line at a time send 64 bytes, others 128 or 256.
//!
//! *What is under way.* A device has at most so many requests unanswered as it has tags: 32, 256 with
//! extended tags, 768 with 10-bit tags (2.2.6.2). So a fetch of write data has at most tags · MRRS under
//! way for a round trip. Posted writes need credits of the receiver (2.6.1), and get them back a round trip
//! later. Both are bounds of rate: a burst keeps its direction for the longer of its time on the wire and
//! bytes / (bytes under way) · round trip. A link's setup gives the bounds where they are known; by default
//! there are none. The round trip is by default twice the link's latency and 200 ns at the host; a
//! device's tags come back over all links between it and memory, so that behind a switch or chipset it is
//! for the setup to say.
//!
//! *Tunnels.* Thunderbolt and USB4 carry the packets of a PCI Express link, without its line code, in packets of their own
//! (USB4 Specification 2.0, 11). What they leave for data is less than the link's law by then and is given as
//! `rate_max`: data one way in full packets of MPS, which headers and small packets take their part of as on the wire.
//!
//! While a bound holds a burst back the direction counts as taken, for small packets too. Doorbells,
//! completion entries, MSI-X and the fetching of commands cost their time on the wire alone.
//!
//! Not modelled: retries, header and data credits apart, credits for completions (endpoints advertise them
//! without end, 2.6.1), the shorter first piece of an unaligned read, tags and credits that other devices
//! or commands' own packets take, per-packet arbitration between directions.

mod generation;
mod setup;
mod table;
#[cfg(test)]
mod tests;

pub use generation::PcieGeneration;
pub use setup::{PcieAddress, PcieSetup};

use std::fmt;

use crate::units::{Bytes, BytesPerSecond, Duration};

/// Framing, sequence number and LCRC of a packet, in bytes.
const PACKET_FRAME: u64 = 8;
/// The header of a completion, in bytes.
const COMPLETION_HEADER: u64 = 12;
/// The digest of a packet, in bytes.
const ECRC: u64 = 4;
/// An ACK or flow-control packet, in bytes.
const DLLP: f64 = 8.0;
/// The share of symbols that are SKP sets.
const SKIP_SHARE: f64 = 4.0 / 1538.0;

/// A trained PCI Express link: its law with everything worked out once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pcie {
    generation: PcieGeneration,
    lanes: u32,
    payload_max: u64,
    read_request_max: u64,
    completion_payload: u64,
    /// Symbols of a write or request besides its payload.
    request_overhead: u64,
    /// Symbols of a completion besides its payload.
    completion_overhead: u64,
    /// Bound of unanswered data that a device has asked for.
    fetch_window: Option<Window>,
    /// Bound of posted data under way.
    post_window: Option<Window>,
    /// Picoseconds a byte, SKP sets included, in 2^-20 ps.
    byte_time: u64,
    /// The share of a time on the wire that its answers take of the other direction, in 2^-20.
    answers: u64,
    /// Latency that the link was set up with, for training anew.
    latency: Duration,
    setup: PcieSetup,
}

/// So many bytes may be under way; each makes room for another one a round trip later.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    in_flight: u64,
    round_trip: Duration,
}

impl Pcie {
    /// A link of `lanes` lanes that carries at most `payload_max` bytes a packet and is asked for at
    /// most `read_request_max` a request, otherwise set up as usual.
    pub fn new(
        generation: PcieGeneration,
        lanes: u32,
        payload_max: Bytes,
        read_request_max: Bytes,
    ) -> Self {
        let setup = PcieSetup::new(payload_max, read_request_max);
        Self::with_setup(generation, lanes, Duration::ZERO, &setup)
    }

    /// A link of `lanes` lanes with `latency` each way. The caller has checked that lanes are one of 1, 2,
    /// 4, 8, 16, that sizes are in their bounds, and that neither tags nor credits are zero.
    pub fn with_setup(
        generation: PcieGeneration,
        lanes: u32,
        latency: Duration,
        setup: &PcieSetup,
    ) -> Self {
        let width = f64::from(lanes);
        let interval = generation.acknowledge_interval(lanes, setup.payload_max);
        let digest = if setup.ecrc { ECRC } else { 0 };
        let request_overhead = PACKET_FRAME + setup.address.header() + digest;
        let payload_max = setup.payload_max.get();
        let wire = generation.lane_rate().0 as f64 * width * (1.0 - SKIP_SHARE);
        let rate = setup.rate_max.map_or(wire, |data| {
            wire.min(data.0 as f64 * (payload_max + request_overhead) as f64 / payload_max as f64)
        });
        // An ACK and a flow-control packet of the other direction in each interval.
        let answers = 2.0 * DLLP / (interval * width);
        let byte_time = (1e12 / rate * f64::from(1u32 << 20)).round() as u64;
        let round_trip = setup.round_trip.unwrap_or(PcieSetup::usual_round_trip(latency));
        let window = |in_flight| Window { in_flight, round_trip };
        let read_request_max = setup.read_request_max.get();
        Self {
            generation,
            lanes,
            payload_max,
            read_request_max,
            // A completion answers one request.
            completion_payload: setup.completion_payload.get().min(read_request_max),
            request_overhead,
            completion_overhead: PACKET_FRAME + COMPLETION_HEADER + digest,
            fetch_window: setup.tags.map(|tags| window(u64::from(tags) * read_request_max)),
            post_window: setup.posted_credits.map(|credits| window(credits.get())),
            byte_time,
            answers: (answers * f64::from(1u32 << 20)).round() as u64,
            latency,
            setup: *setup,
        }
    }

    /// The link after it has trained to other lanes or another generation, set up as it was.
    #[must_use]
    pub fn trained(&self, generation: PcieGeneration, lanes: u32) -> Self {
        Self::with_setup(generation, lanes, self.latency, &self.setup)
    }

    /// Time that a packet with a wrong LCRC costs (PCI Express Base Specification 5.0, 3.6): the packet goes again, behind the time
    /// in which the NAK comes back. What was sent until then is thrown away and goes again in order, so that
    /// the link carries nothing of use for the round trip.
    pub(crate) fn replay_time(&self) -> Duration {
        let packet = self.wire_time(self.payload_max + self.request_overhead);
        packet + self.wire_time(DLLP as u64) + self.latency * 2
    }

    /// The generation it trained to.
    pub fn generation(&self) -> PcieGeneration {
        self.generation
    }

    /// The lanes it trained to.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// The most data of a packet.
    pub fn payload_max(&self) -> Bytes {
        Bytes(self.payload_max)
    }

    /// Bytes a second one way after the line code, before packets; through a tunnel the most data, where that is less.
    pub fn rate(&self) -> BytesPerSecond {
        let wire = BytesPerSecond(self.generation.lane_rate().0 * u64::from(self.lanes));
        self.setup.rate_max.map_or(wire, |most| wire.min(most))
    }

    /// Bytes on the wire for posted writes of `payload` in all: data to memory, doorbells, MSI-X.
    pub fn write_bytes(&self, payload: Bytes) -> u64 {
        let packets = payload.get().div_ceil(self.payload_max);
        payload.get() + packets * self.request_overhead
    }

    /// Bytes on the wire for the completions that bring `payload` back to a reader.
    pub(crate) fn completion_bytes(&self, payload: Bytes) -> u64 {
        // Sizes are powers of two, so that only the last request's last completion can be a short one.
        let packets = payload.get().div_ceil(self.completion_payload);
        payload.get() + packets * self.completion_overhead
    }

    /// Bytes on the wire for the requests that ask for `payload`.
    pub(crate) fn read_request_bytes(&self, payload: Bytes) -> u64 {
        payload.get().div_ceil(self.read_request_max) * self.request_overhead
    }

    /// The time of [`Self::write_bytes`].
    pub fn write_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.write_bytes(payload))
    }

    /// The time of [`Self::completion_bytes`].
    pub(crate) fn completion_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.completion_bytes(payload))
    }

    /// The time of [`Self::read_request_bytes`].
    pub(crate) fn read_request_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.read_request_bytes(payload))
    }

    /// How long `payload` in posted writes keeps its direction: its time on the wire, or the time in
    /// which credits for it come back if that is longer.
    pub fn post_time(&self, payload: Bytes) -> Duration {
        longer(self.write_time(payload), self.post_window, payload)
    }

    /// How long the completions with `payload` keep their direction: their time on the wire, or the time
    /// in which tags to ask for it come back if that is longer.
    pub(crate) fn fetch_time(&self, payload: Bytes) -> Duration {
        longer(self.completion_time(payload), self.fetch_window, payload)
    }

    /// The time that ACK and flow-control packets take of one direction while `bytes` on the wire fill the other.
    pub(crate) fn answer_time(&self, bytes: u64) -> Duration {
        Duration::from_picoseconds((self.wire_time(bytes).picoseconds() * self.answers) >> 20)
    }

    /// The time of so many bytes on the wire. Up to 64 MiB a call stay inside 64 bits.
    pub(crate) fn wire_time(&self, bytes: u64) -> Duration {
        Duration::from_picoseconds((bytes * self.byte_time + (1 << 19)) >> 20)
    }
}

impl fmt::Display for Pcie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lanes, fetch_window, post_window, .. } = self;
        let generation = self.generation.number();
        write!(f, "PCIe {generation}.0 x{lanes}, packets of {}", self.payload_max())?;
        if let Some(most) = self.setup.rate_max {
            write!(f, ", {most} through its tunnel")?;
        }
        for (window, what) in [(fetch_window, "fetched"), (post_window, "posted")] {
            if let Some(Window { in_flight, round_trip }) = window {
                write!(f, ", {} {what} in {round_trip}", Bytes(*in_flight))?;
            }
        }
        Ok(())
    }
}

/// The longer of the time on the wire and that of a window, where there is one.
fn longer(on_wire: Duration, window: Option<Window>, payload: Bytes) -> Duration {
    window.map_or(on_wire, |Window { in_flight, round_trip }| {
        on_wire.max(round_trip.scaled(payload.get(), in_flight))
    })
}

//! PCI Express: the cost of packets on lanes of each generation.
//!
//! Model. Per lane and direction, generations 1 and 2 carry 2.5 and 5 GT/s with 8b/10b, generations 3 to 5 carry 8, 16
//! and 32 GT/s with 128b/130b (PCI Express Base Specification 5.0, 4.2). A transaction layer packet consists of its
//! payload, 8 bytes of framing, sequence number and LCRC in every generation (STP 1 + sequence 2 + LCRC 4 + END 1 in
//! the first two, a 4-byte token + LCRC 4 later), and a header of 12 bytes, or 16 with a 64-bit address; the header of
//! a completion has 12 bytes. MPS limits the payload of a packet, and MRRS the data of a read request.
//!
//! A link also carries SKP sets, 4 symbols in 1,538, and packets that answer the other direction: ACK and flow-control
//! packets of 8 bytes, one of each per acknowledgement interval of ((MPS + 28) · factor / N + k) symbol times. The
//! constant k is 19 for generation 1, 70 for generation 2 and 115 for generation 3 or later (tables 3-7 to 3-9).
//! Answers travel in the opposite direction to the data, so data in one direction loses time only to SKP sets, raw ·
//! (1 - 4/1538) · MPS/(MPS + overhead), and its answers take 16 bytes of the other direction in each interval. If data
//! fills both directions, each direction also carries the answers to the data of the other direction. This is the
//! formula of pcie-bench (Neugebauer et al., SIGCOMM 2018): raw · (1 - 8/(ACK·N) - 8/(FC·N) - 4/1538) · MPS/(MPS +
//! overhead), except for the square of the answers' share, 0.5% on the slowest link: an interval covers only data in
//! this model, and data and answers in pcie-bench. Not modelled: answers to read requests and to a protocol's accesses.
//!
//! *Completions.* The completer of a read may split the data at any address that is a multiple of the read completion
//! boundary, 64 or 128 bytes at a root complex (2.3.1.1). The model's policy: data begins at such an address, and the
//! completer splits each request into the minimum number of pieces of up to `completion_payload` (default: MPS). Root
//! complexes that answer one cache line at a time send pieces of 64 bytes; others send 128 or 256.
//!
//! *Tunnels.* Thunderbolt and USB4 carry the packets of a PCI Express link, without its line code, inside their packets
//! (USB4 Specification 2.0, 11). The throughput in a tunnel is lower than the link's model predicts. `rate_max` states
//! the throughput for data in one direction in full packets of MPS. Headers and small packets use a part of this rate,
//! as on the wire.
//!
//! Not modelled: retries, limits on the data in flight by tags (2.2.6.2) and credits (2.6.1), end-to-end checksums
//! (ECRC), the shorter first piece of an unaligned read, per-packet arbitration between directions.

mod generation;
mod setup;
mod table;
#[cfg(test)]
mod tests;

pub use generation::PcieGeneration;
pub use setup::{PcieAddress, PcieSetup};

use std::fmt;

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};

/// Framing, sequence number and LCRC of a packet, in bytes.
const PACKET_FRAME: u64 = 8;
/// The header of a completion, in bytes.
const COMPLETION_HEADER: u64 = 12;
/// An ACK or flow-control packet, in bytes.
const DLLP: f64 = 8.0;
/// The share of symbols that are SKP sets.
const SKIP_SHARE: f64 = 4.0 / 1538.0;

/// A trained PCI Express link: its model with all constants computed once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pcie {
    generation: PcieGeneration,
    lanes: u32,
    payload_max: u64,
    read_request_max: u64,
    completion_payload: u64,
    /// Symbols of a write or request in addition to its payload.
    request_overhead: u64,
    /// Symbols of a completion in addition to its payload.
    completion_overhead: u64,
    /// Time per byte, including SKP sets, in units of 2^-20 ps.
    byte_time: u64,
    /// Time for which the answers to data occupy the other direction, as a share of the data's time on the wire, in
    /// units of 2^-20.
    answers: u64,
    /// Latency from the link's setup, for retraining.
    latency: Duration,
    setup: PcieSetup,
}

impl Pcie {
    /// Creates a link of `lanes` lanes with up to `payload_max` bytes per packet and up to `read_request_max` bytes per
    /// request, and default values for the rest of the setup.
    pub fn new(
        generation: PcieGeneration,
        lanes: u32,
        payload_max: Bytes,
        read_request_max: Bytes,
    ) -> Self {
        let setup = PcieSetup::new(payload_max, read_request_max);
        Self::with_setup(generation, lanes, Duration::ZERO, &setup)
    }

    /// Creates a link of `lanes` lanes with `latency` in each direction. The caller must have checked that `lanes` is
    /// 1, 2, 4, 8 or 16, and that sizes are within their bounds.
    pub fn with_setup(
        generation: PcieGeneration,
        lanes: u32,
        latency: Duration,
        setup: &PcieSetup,
    ) -> Self {
        let width = f64::from(lanes);
        let interval = generation.acknowledge_interval(lanes, setup.payload_max);
        let request_overhead = PACKET_FRAME + setup.address.header();
        let payload_max = setup.payload_max.get();
        let wire = generation.lane_rate().0 as f64 * width * (1.0 - SKIP_SHARE);
        let rate = setup.rate_max.map_or(wire, |data| {
            wire.min(data.0 as f64 * (payload_max + request_overhead) as f64 / payload_max as f64)
        });
        // Each interval carries an ACK and a flow-control packet for the other direction.
        let answers = 2.0 * DLLP / (interval * width);
        let byte_time = (1e12 / rate * f64::from(1u32 << 20)).round() as u64;
        let read_request_max = setup.read_request_max.get();
        Self {
            generation,
            lanes,
            payload_max,
            read_request_max,
            // A completion answers one request.
            completion_payload: setup.completion_payload.get().min(read_request_max),
            request_overhead,
            completion_overhead: PACKET_FRAME + COMPLETION_HEADER,
            byte_time,
            answers: (answers * f64::from(1u32 << 20)).round() as u64,
            latency,
            setup: *setup,
        }
    }

    /// Returns the link after it has trained to `lanes` lanes of `generation`, with the same setup.
    #[must_use]
    pub fn trained(&self, generation: PcieGeneration, lanes: u32) -> Self {
        Self::with_setup(generation, lanes, self.latency, &self.setup)
    }

    /// Returns the time that a packet with a wrong LCRC costs (PCI Express Base Specification 5.0, 3.6): the sender
    /// repeats the packet after the NAK has arrived. The receiver discards all packets that were sent in the meantime,
    /// and the sender repeats them in order, so the link carries no useful data for the round trip.
    pub(crate) fn replay_time(&self) -> Duration {
        let packet = self.wire_time(self.payload_max + self.request_overhead);
        packet + self.wire_time(DLLP as u64) + self.latency * 2
    }

    /// Returns the generation to which the link trained.
    pub fn generation(&self) -> PcieGeneration {
        self.generation
    }

    /// Returns the number of lanes to which the link trained.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Returns the maximum payload of a packet.
    pub fn payload_max(&self) -> Bytes {
        Bytes(self.payload_max)
    }

    /// Returns the rate in one direction after the line code, before the overhead of packets; in a tunnel, the maximum
    /// data rate if that is lower.
    pub fn rate(&self) -> BytesPerSecond {
        let wire = BytesPerSecond(self.generation.lane_rate().0 * u64::from(self.lanes));
        self.setup.rate_max.map_or(wire, |most| wire.min(most))
    }

    /// Returns the number of bytes on the wire for posted writes with a total of `payload` bytes: data to memory,
    /// doorbells, MSI-X.
    pub fn write_bytes(&self, payload: Bytes) -> u64 {
        let packets = payload.get().div_ceil(self.payload_max);
        payload.get() + packets * self.request_overhead
    }

    /// Returns the number of bytes on the wire for the completions that return `payload` bytes to a reader.
    pub(crate) fn completion_bytes(&self, payload: Bytes) -> u64 {
        // Sizes are powers of two, so only the last completion of the last request can be short.
        let packets = payload.get().div_ceil(self.completion_payload);
        payload.get() + packets * self.completion_overhead
    }

    /// Returns the number of bytes on the wire for the requests that read `payload` bytes.
    pub(crate) fn read_request_bytes(&self, payload: Bytes) -> u64 {
        payload.get().div_ceil(self.read_request_max) * self.request_overhead
    }

    /// Returns the time of [`Self::write_bytes`].
    pub fn write_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.write_bytes(payload))
    }

    /// Returns the time of [`Self::completion_bytes`].
    pub(crate) fn completion_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.completion_bytes(payload))
    }

    /// Returns the time of [`Self::read_request_bytes`].
    pub(crate) fn read_request_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.read_request_bytes(payload))
    }

    /// Returns the time for which ACK and flow-control packets occupy one direction while `bytes` on the wire fill the
    /// other.
    pub(crate) fn answer_time(&self, bytes: u64) -> Duration {
        Duration::from_picoseconds((self.wire_time(bytes).picoseconds() * self.answers) >> 20)
    }

    /// Returns the time of `bytes` on the wire. The product fits 64 bits for calls of up to 64 MiB.
    pub(crate) fn wire_time(&self, bytes: u64) -> Duration {
        Duration::from_picoseconds((bytes * self.byte_time + (1 << 19)) >> 20)
    }
}

impl fmt::Display for Pcie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generation = self.generation.number();
        let lanes = self.lanes;
        write!(f, "PCIe {generation}.0 x{lanes}, packets of {}", self.payload_max())?;
        if let Some(most) = self.setup.rate_max {
            write!(f, ", {most} through its tunnel")?;
        }
        Ok(())
    }
}

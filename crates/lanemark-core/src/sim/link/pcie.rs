//! PCI Express: what packets cost on lanes of each generation.
//!
//! Law. Per lane and direction, generations 1 and 2 carry 2.5 and 5 GT/s with 8b/10b, generations 3 to
//! 5 carry 8, 16 and 32 GT/s with 128b/130b (PCI Express Base Specification 5.0, 4.2). A transaction
//! layer packet costs its payload and, in all generations alike, 8 bytes of framing, sequence number
//! and LCRC (STP 1 + sequence 2 + LCRC 4 + END 1 in the first two, a 4-byte token + LCRC 4 later), and
//! a header of 12 bytes, or 16 with a 64-bit address; completions have 12. Payload is at most MPS a
//! packet, a read request asks for at most MRRS.
//!
//! A link also carries ACK and flow-control packets of 8 bytes, one each per acknowledgement interval
//! of ((MPS + 28) · factor / N + {19, 70, 115}) symbol times for generations 1, 2 and 3 (tables 3-7 to
//! 3-9), and SKP sets, 4 symbols in 1,538. With all lanes counted, as pcie-bench (Neugebauer et al.,
//! SIGCOMM 2018) writes it: raw · (1 - 8/(ACK·N) - 8/(FC·N) - 4/1538) · MPS/(MPS + overhead).
//!
//! Not modelled: retries, credit and tag exhaustion, completions split below MPS at the read completion
//! boundary, per-packet arbitration between directions.

use crate::units::{Bytes, BytesPerSecond, Duration};

/// Framing, sequence number and LCRC of a packet, in bytes.
const PACKET_FRAME: u64 = 8;
/// The header of a completion, in bytes.
const COMPLETION_HEADER: u64 = 12;
/// An ACK or flow-control packet, in bytes.
const DLLP: f64 = 8.0;
/// The share of symbols that are SKP sets.
const SKIP_SHARE: f64 = 4.0 / 1538.0;

/// A PCI Express generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PcieGeneration {
    /// 2.5 GT/s.
    One,
    /// 5 GT/s.
    Two,
    /// 8 GT/s.
    Three,
    /// 16 GT/s.
    Four,
    /// 32 GT/s.
    Five,
}

/// A trained PCI Express link: its law with everything worked out once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pcie {
    generation: PcieGeneration,
    lanes: u32,
    payload_max: u64,
    read_request_max: u64,
    request_header: u64,
    /// Picoseconds a byte, maintenance traffic included, in 2^-20 ps.
    byte_time: u64,
}

impl PcieGeneration {
    /// The generation `number`, 1 to 5.
    pub fn new(number: u64) -> Option<Self> {
        [Self::One, Self::Two, Self::Three, Self::Four, Self::Five]
            .get(usize::try_from(number).ok()?.checked_sub(1)?)
            .copied()
    }

    /// 1 to 5.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// Bytes a second of one lane in one direction, after the line code.
    pub fn lane_rate(self) -> BytesPerSecond {
        BytesPerSecond(match self {
            Self::One => 250_000_000,
            Self::Two => 500_000_000,
            Self::Three => 984_615_385,
            Self::Four => 1_969_230_769,
            Self::Five => 3_938_461_538,
        })
    }

    /// The fixed part of the acknowledgement interval in symbol times. Generations 4 and 5 keep the
    /// value of 3: no published table tells otherwise.
    fn ack_latency(self) -> f64 {
        match self {
            Self::One => 19.0,
            Self::Two => 70.0,
            Self::Three | Self::Four | Self::Five => 115.0,
        }
    }
}

/// The factor of the acknowledgement interval: how many packets one ACK may stand for.
fn ack_factor(payload_max: Bytes, lanes: u32) -> f64 {
    match (payload_max.get(), lanes) {
        (..512, ..=4) => 1.4,
        (..512, ..=8) => 2.5,
        (..512, _) => 3.0,
        (_, ..=8) => 1.0,
        (_, _) => 2.0,
    }
}

impl Pcie {
    /// A link of `lanes` lanes that carries at most `payload_max` bytes a packet and is asked for at
    /// most `read_request_max` a request, with 64-bit addresses. The caller has checked that sizes are
    /// powers of two from 128 to 4096 and lanes one of 1, 2, 4, 8, 16.
    pub fn new(
        generation: PcieGeneration,
        lanes: u32,
        payload_max: Bytes,
        read_request_max: Bytes,
    ) -> Self {
        let width = f64::from(lanes);
        let factor = ack_factor(payload_max, lanes);
        let interval =
            (payload_max.get() as f64 + 28.0) * factor / width + generation.ack_latency();
        let maintenance = 2.0 * DLLP / (interval * width) + SKIP_SHARE;
        let rate = generation.lane_rate().0 as f64 * width * (1.0 - maintenance);
        let byte_time = (1e12 / rate * f64::from(1u32 << 20)).round() as u64;
        Self {
            generation,
            lanes,
            payload_max: payload_max.get(),
            read_request_max: read_request_max.get(),
            request_header: 16,
            byte_time,
        }
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

    /// Bytes a second one way after the line code, before packets.
    pub fn rate(&self) -> BytesPerSecond {
        BytesPerSecond(self.generation.lane_rate().0 * u64::from(self.lanes))
    }

    /// Bytes on the wire for posted writes of `payload` in all: data to memory, doorbells, MSI-X.
    pub fn write_bytes(&self, payload: Bytes) -> u64 {
        let packets = payload.get().div_ceil(self.payload_max);
        payload.get() + packets * (PACKET_FRAME + self.request_header)
    }

    /// Bytes on the wire for the completions that bring `payload` back to a reader.
    pub fn completion_bytes(&self, payload: Bytes) -> u64 {
        let packets = payload.get().div_ceil(self.payload_max);
        payload.get() + packets * (PACKET_FRAME + COMPLETION_HEADER)
    }

    /// Bytes on the wire for the requests that ask for `payload`.
    pub fn read_request_bytes(&self, payload: Bytes) -> u64 {
        payload.get().div_ceil(self.read_request_max) * (PACKET_FRAME + self.request_header)
    }

    /// The time of [`Self::write_bytes`].
    pub fn write_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.write_bytes(payload))
    }

    /// The time of [`Self::completion_bytes`].
    pub fn completion_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.completion_bytes(payload))
    }

    /// The time of [`Self::read_request_bytes`].
    pub fn read_request_time(&self, payload: Bytes) -> Duration {
        self.wire_time(self.read_request_bytes(payload))
    }

    /// The time of so many bytes on the wire. Up to 64 MiB a call stay inside 64 bits.
    pub fn wire_time(&self, bytes: u64) -> Duration {
        Duration::from_picoseconds((bytes * self.byte_time + (1 << 19)) >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(generation: u64, lanes: u32, payload_max: u64) -> Pcie {
        let generation = PcieGeneration::new(generation).unwrap();
        Pcie::new(generation, lanes, Bytes(payload_max), Bytes(512))
    }

    fn rate(bytes: Bytes, time: Duration) -> f64 {
        (bytes / time).as_megabytes()
    }

    /// The design's worked figures: 7.05 GB/s written and 7.15 GB/s read over generation 4 x4.
    #[test]
    fn generation_4_x4_meets_the_closed_form() {
        let pcie = link(4, 4, 256);
        let block = Bytes::mebi(1);
        assert!((rate(block, pcie.write_time(block)) - 7_050.0).abs() < 7.0);
        assert!((rate(block, pcie.completion_time(block)) - 7_150.0).abs() < 7.0);
    }

    /// Seen in the field: 78 to 79% of 1000 MB/s on generation 2 x2, 192 of 250 MB/s on 1 x1.
    #[test]
    fn narrow_old_links_lose_about_a_fifth_to_packets() {
        let block = Bytes::mebi(1);
        let two_by_two = rate(block, link(2, 2, 128).write_time(block));
        assert!((760.0..810.0).contains(&two_by_two), "{two_by_two} MB/s");
        let one_by_one = rate(block, link(1, 1, 128).write_time(block));
        assert!((188.0..197.0).contains(&one_by_one), "{one_by_one} MB/s");
    }

    #[test]
    fn saturated_throughput_is_the_formula_within_a_thousandth() {
        for (generation, lane_rate, ack) in [
            (1, 250e6, 19.0),
            (2, 500e6, 70.0),
            (3, 8e9 / 8.0 * 128.0 / 130.0, 115.0),
            (4, 16e9 / 8.0 * 128.0 / 130.0, 115.0),
            (5, 32e9 / 8.0 * 128.0 / 130.0, 115.0),
        ] {
            for lanes in [1u32, 2, 4] {
                for payload in [128u64, 256] {
                    let (n, mps) = (f64::from(lanes), payload as f64);
                    let interval = (mps + 28.0) * 1.4 / n + ack;
                    let share = 1.0 - 16.0 / (interval * n) - 4.0 / 1538.0;
                    let formula = lane_rate * n * share * mps / (mps + 24.0) / 1e6;
                    let block = Bytes::mebi(4);
                    let seen = rate(block, link(generation, lanes, payload).write_time(block));
                    assert!((seen / formula - 1.0).abs() < 0.001, "{seen} for {formula} MB/s");
                }
            }
        }
    }

    /// A 4 KiB NVMe read by the documents: 140 B down, 4,956 / 4,572 / 4,380 B up.
    #[test]
    fn a_4k_nvme_read_costs_what_is_published() {
        for (payload, up) in [(128, 4956), (256, 4572), (512, 4380)] {
            let pcie = link(3, 4, payload);
            let to_drive = pcie.write_bytes(Bytes(4)) * 2 + pcie.completion_bytes(Bytes(64));
            let to_host = pcie.write_bytes(Bytes(4096))
                + pcie.write_bytes(Bytes(16))
                + pcie.write_bytes(Bytes(4))
                + pcie.read_request_bytes(Bytes(64));
            assert_eq!((to_drive, to_host), (140, up));
        }
    }

    #[test]
    fn a_burst_costs_the_same_as_its_packets_one_by_one() {
        let pcie = link(3, 4, 128);
        let burst = pcie.write_time(Bytes(32_768)).picoseconds();
        let packets = pcie.write_time(Bytes(128)).picoseconds() * 256;
        assert!(burst.abs_diff(packets) <= 256, "rounding is at most half a picosecond a packet");
    }
}

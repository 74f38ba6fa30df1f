//! The setup of a PCI Express link: the settings on which its two ends and software agreed, in addition to speed and
//! width.

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};

/// Time that a request waits at the host, in addition to its travel time. Derived: a 64 B read of host memory takes
/// about 500 ns (Neugebauer et al., SIGCOMM 2018); a link of 150 ns accounts for 300 ns of this.
const TURN_AROUND: Duration = Duration::from_nanoseconds(200);

/// Settings of a PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcieSetup {
    /// Maximum data in a packet (MPS), a power of two from 64 B to 4 KiB.
    pub payload_max: Bytes,
    /// Maximum data of one read request (MRRS), a power of two from 64 B to 4 KiB.
    pub read_request_max: Bytes,
    /// The address length in writes and requests.
    pub address: PcieAddress,
    /// Whether every packet ends in a digest that is checked end to end.
    pub ecrc: bool,
    /// Maximum data of one completion, a power of two from 64 B to `payload_max`.
    pub completion_payload: Bytes,
    /// Maximum number of unanswered requests, if this is a limit: the device's tags, or the host's non-posted credits
    /// if there are fewer.
    pub tags: Option<u32>,
    /// Maximum posted data in flight, if this is a limit: the host's data credits of 16 B each, or `payload_max` for
    /// each header credit if that is less.
    pub posted_credits: Option<Bytes>,
    /// Time from the sending of a request or packet until its tag or credit has returned, if a better value is known
    /// than twice the link's latency plus a turn-around.
    pub round_trip: Option<Duration>,
    /// Maximum data rate in one direction in full packets, if the link is tunnelled through a link that carries less.
    pub rate_max: Option<BytesPerSecond>,
}

/// The length of addresses in packet headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcieAddress {
    /// 32 bits, in a header of 3 dwords.
    Short,
    /// 64 bits, in a header of 4 dwords.
    Long,
}

impl PcieSetup {
    /// Returns 64-bit addresses, no ECRC, completions of the maximum packet size, and neither tags nor credits as a
    /// limit.
    pub fn new(payload_max: Bytes, read_request_max: Bytes) -> Self {
        Self {
            payload_max,
            read_request_max,
            address: PcieAddress::Long,
            ecrc: false,
            completion_payload: payload_max,
            tags: None,
            posted_credits: None,
            round_trip: None,
            rate_max: None,
        }
    }

    /// Limits packets, including completions, to `payload`: the smaller payload of the two ends applies (PCI Express
    /// Base Specification 5.0, 7.5.3.4).
    #[must_use]
    pub fn at_most(self, payload: Bytes) -> Self {
        let payload_max = self.payload_max.min(payload);
        let completion_payload = self.completion_payload.min(payload);
        Self { payload_max, completion_payload, ..self }
    }

    /// Returns the round trip over a link that takes `latency` each way, if no better value is known.
    pub(crate) fn usual_round_trip(latency: Duration) -> Duration {
        latency * 2 + TURN_AROUND
    }
}

impl PcieAddress {
    /// Returns the bytes of the header with such an address.
    pub(super) fn header(self) -> u64 {
        match self {
            Self::Short => 12,
            Self::Long => 16,
        }
    }
}

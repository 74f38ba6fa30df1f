//! The setup of a PCI Express link: the settings on which its two ends and the software have agreed, in addition to
//! speed and width.

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};

/// Time that a request waits at the host, in addition to its travel time. Derived: a 64 B read of host memory takes
/// about 500 ns (Neugebauer et al., SIGCOMM 2018), and a link with a latency of 150 ns accounts for 300 ns of this
/// time.
const TURN_AROUND: Duration = Duration::from_nanoseconds(200);

/// Settings of a PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcieSetup {
    /// Maximum payload of a packet (MPS), a power of two from 64 B to 4 KiB.
    pub payload_max: Bytes,
    /// Maximum size of one read request (MRRS), a power of two from 64 B to 4 KiB.
    pub read_request_max: Bytes,
    /// The length of addresses in writes and requests.
    pub address: PcieAddress,
    /// Whether every packet ends in a digest that is checked end to end.
    pub ecrc: bool,
    /// Maximum payload of one completion, a power of two from 64 B to `payload_max`.
    pub completion_payload: Bytes,
    /// Maximum number of unanswered requests, if it is limited: the smaller of the device's tags and the host's
    /// non-posted credits.
    pub tags: Option<u32>,
    /// Maximum amount of posted data in flight, if it is limited: the smaller of the host's data credits (16 B each)
    /// and its header credits (`payload_max` each).
    pub posted_credits: Option<Bytes>,
    /// Time from the sending of a request or packet until its tag or credit has returned, if a better value is known
    /// than the default: twice the link's latency plus a turn-around.
    pub round_trip: Option<Duration>,
    /// Maximum data rate in one direction in full packets, if the link is tunnelled through a slower link.
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
    /// Returns a setup with 64-bit addresses, no ECRC, completions of the maximum packet size, and no limits from tags
    /// or credits.
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

    /// Limits packets, including completions, to `payload`: the smaller maximum payload of the two ends applies (PCI
    /// Express Base Specification 5.0, 7.5.3.4).
    #[must_use]
    pub fn at_most(self, payload: Bytes) -> Self {
        let payload_max = self.payload_max.min(payload);
        let completion_payload = self.completion_payload.min(payload);
        Self { payload_max, completion_payload, ..self }
    }

    /// Returns the round trip over a link that takes `latency` in each direction, for use if no better value is known.
    pub(crate) fn usual_round_trip(latency: Duration) -> Duration {
        latency * 2 + TURN_AROUND
    }
}

impl PcieAddress {
    /// Returns the size in bytes of a header with an address of this length.
    pub(super) fn header(self) -> u64 {
        match self {
            Self::Short => 12,
            Self::Long => 16,
        }
    }
}

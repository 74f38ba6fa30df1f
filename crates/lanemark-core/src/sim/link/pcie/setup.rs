//! How a PCI Express link was set up: what its two ends and software agreed on, beside speed and width.

use crate::units::{Bytes, BytesPerSecond, Duration};

/// Time that a request waits at the host, besides its way there and back. Derived: a 64 B read of host memory
/// takes about 500 ns (Neugebauer et al., SIGCOMM 2018), of which a link of 150 ns is 300 ns.
const TURN_AROUND: Duration = Duration::from_nanoseconds(200);

/// Settings of a PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcieSetup {
    /// The most data in a packet (MPS), a power of two from 64 B to 4 KiB.
    pub payload_max: Bytes,
    /// The most data that one request asks for (MRRS), a power of two from 64 B to 4 KiB.
    pub read_request_max: Bytes,
    /// How writes and requests say where.
    pub address: PcieAddress,
    /// Whether every packet ends in a digest that is checked end to end.
    pub ecrc: bool,
    /// The most data that one completion brings, a power of two from 64 B to `payload_max`.
    pub completion_payload: Bytes,
    /// The requests that may be unanswered at once, where that is a limit: the device's tags, or the host's
    /// non-posted credits if they are fewer.
    pub tags: Option<u32>,
    /// The posted data that may be under way at once, where that is a limit: the host's data credits of
    /// 16 B each, or `payload_max` for each header credit if that is less.
    pub posted_credits: Option<Bytes>,
    /// From the sending of a request or packet until its tag or credit is there again, where that is known
    /// better than by twice the link's latency and a time to turn around.
    pub round_trip: Option<Duration>,
    /// The most data a second one way in full packets, where the link is tunnelled through one that carries less.
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
    /// 64-bit addresses, no ECRC, completions as large as packets may be, and neither tags nor credits
    /// a limit.
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

    /// Lets packets carry at most `payload`, completions too: the smaller payload of the two ends binds (PCI Express Base
    /// Specification 5.0, 7.5.3.4).
    #[must_use]
    pub fn at_most(self, payload: Bytes) -> Self {
        let payload_max = self.payload_max.min(payload);
        let completion_payload = self.completion_payload.min(payload);
        Self { payload_max, completion_payload, ..self }
    }

    /// The round trip over a link that takes `latency` each way, where nothing better is known.
    pub(crate) fn usual_round_trip(latency: Duration) -> Duration {
        latency * 2 + TURN_AROUND
    }
}

impl PcieAddress {
    /// Bytes of the header that holds such an address.
    pub(super) fn header(self) -> u64 {
        match self {
            Self::Short => 12,
            Self::Long => 16,
        }
    }
}

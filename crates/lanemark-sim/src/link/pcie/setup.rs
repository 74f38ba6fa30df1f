//! The setup of a PCI Express link: the settings on which its two ends and the software have agreed, in addition to
//! speed and width.

use lanemark_schema::units::{Bytes, BytesPerSecond};

/// Settings of a PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcieSetup {
    /// Maximum payload of a packet (MPS), a power of two from 64 B to 4 KiB.
    pub payload_max: Bytes,
    /// Maximum size of one read request (MRRS), a power of two from 64 B to 4 KiB.
    pub read_request_max: Bytes,
    /// The length of addresses in writes and requests.
    pub address: PcieAddress,
    /// Maximum payload of one completion, a power of two from 64 B to `payload_max`.
    pub completion_payload: Bytes,
    /// Maximum data rate in one direction in full packets, if the link is tunnelled through a slower link.
    pub rate_max: Option<BytesPerSecond>,
}

lanemark_schema::named_enum! {
    /// The length of addresses in packet headers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PcieAddress {
        /// 32 bits, in a header of 3 dwords.
        Short = "32-bit",
        /// 64 bits, in a header of 4 dwords.
        Long = "64-bit",
    }
}

impl PcieSetup {
    /// Returns a setup with 64-bit addresses and completions of the maximum packet size.
    pub fn new(payload_max: Bytes, read_request_max: Bytes) -> Self {
        Self {
            payload_max,
            read_request_max,
            address: PcieAddress::Long,
            completion_payload: payload_max,
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

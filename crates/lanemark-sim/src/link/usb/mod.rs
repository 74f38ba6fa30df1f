//! Universal Serial Bus, 2.0 and 3.2: the cost of packets that carry the commands and data of storage, and the bridge
//! to the drive.
//!
//! Model (USB 3.2 Specification, revision 1.0). Generation 1 carries 5 GT/s with 8b/10b, one SKP ordered set of two
//! symbols in 354 (6.4.3.1). Generation 2 carries 10 GT/s with 128b/132b, one block of SKP symbols after 40 others
//! (6.4.3.2), on one lane or on two. The lanes of one direction carry the symbols in turn (6.13).
//!
//! - A header packet is 20 symbols: framing 4, header 12, CRC-16 2, link control word 2 (7.2.1.1). A data packet is a
//!   header packet, framing 4, up to 1,024 B of data, CRC-32 4 and framing 4 (7.2.1.2; 8.12.1 for bulk endpoints). In
//!   generation 2 its header ends in two replicas of its length, which are 4 additional symbols.
//! - Link commands are 8 symbols (7.2.2.1). For each header packet, the other direction carries two: LGOOD and LCRD
//!   (7.2.4.1). An ACK transaction packet, which also requests the next data packets, answers each data packet; link
//!   commands answer the ACK itself (8.11, 8.12.1.2). Bursts of 16 packets (9.6.7) follow each other without a gap: 16
//!   KiB in flight for less than their time on the wire.
//! - A transfer begins when the device is ready: ERDY to the host, and for data to the host the ACK that requests it
//!   (8.10.1). With streams both name the command's stream (8.12.1.4).
//!
//! USB 2.0 (revision 2.0) at 480 Mb/s has one pair of wires for both directions. A bulk transaction carries up to 512
//! B of data and 55 B of overhead: token, data and handshake packets, and the gaps between them (table 5-10). A
//! microframe of 125 µs has room for 7,500 B, and 13 such transactions use 7,371 B.
//!
//! Commands. Bulk-only transport (USB Mass Storage Class, Bulk-Only Transport 1.0): a wrapper of 31 B, the data, a
//! status wrapper of 13 B. USB Attached SCSI (UAS-2): a command unit of 32 B, the data, a sense unit of 16 B.
//!
//! [`Bridge`] is the chip that connects USB on one side with SATA or PCI Express on the other.
//!
//! Not modelled: isochronous timestamps (20 symbols in 125 µs) and other devices on the bus, hubs, NRDY and retries
//! except for bit errors, the host controller's time to answer ERDY, TRBs that it fetches late, data packets shorter
//! than 1,024 B inside a transfer, link power states, and for USB 2.0 PING and NAK, with which a device that is not
//! ready is polled.

mod bridge;
mod table;
#[cfg(test)]
mod tests;

pub use bridge::Bridge;

use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond, Duration};

/// Maximum data of a packet of USB 3.2, and of USB 2.0.
const DATA_PACKET: u64 = 1024;
const DATA_PACKET_2: u64 = 512;
/// Bytes of a bulk transaction of USB 2.0 in addition to its data.
const TRANSACTION: u64 = 55;
/// Bytes of a microframe, and full transactions in it.
const MICROFRAME: (u64, u64) = (7500, 13);
/// A header packet; a transaction packet consists of it only.
const HEADER_PACKET: u64 = 20;
/// Bytes of a data packet in addition to its header packet and data: framing before and after, CRC-32.
const DATA_FRAME: u64 = 4 + 4 + 4;
/// The replicas of the length in a data packet's header, from generation 2 on.
const LENGTH_REPLICAS: u64 = 4;
/// Bytes that the other direction carries for each header packet: LGOOD and LCRD.
const LINK_COMMANDS: u64 = 2 * 8;

/// A USB line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsbRate {
    /// 480 Mb/s: high speed of USB 2.0, one direction at a time.
    High,
    /// 5 Gb/s: generation 1, one lane.
    Gen1,
    /// 10 Gb/s: generation 2, one lane.
    Gen2,
    /// 20 Gb/s: generation 2, two lanes.
    Gen2x2,
}

/// The transport of storage commands over USB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsbTransport {
    /// Bulk-only transport, one command at a time.
    BulkOnly,
    /// USB Attached SCSI, several commands at a time.
    AttachedScsi,
}

/// A trained USB link: its model with all constants computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usb {
    rate: UsbRate,
    transport: UsbTransport,
    /// Picoseconds per symbol, including SKP ordered sets, in units of 2^-20 ps.
    symbol_time: u64,
}

/// Symbols of each direction.
#[derive(Clone, Copy)]
struct SymbolCounts {
    /// Symbols in the direction of the packets.
    forth: u64,
    /// Symbols in the opposite direction.
    back: u64,
}

impl SymbolCounts {
    const NONE: Self = Self { forth: 0, back: 0 };
}

impl UsbRate {
    /// Returns the rate for a line rate, if USB has it.
    pub fn new(line_rate: BitsPerSecond) -> Option<Self> {
        [Self::High, Self::Gen1, Self::Gen2, Self::Gen2x2]
            .into_iter()
            .find(|rate| rate.line_rate() == line_rate)
    }

    /// Returns the bits a second on all lanes of a direction.
    pub fn line_rate(self) -> BitsPerSecond {
        BitsPerSecond(match self {
            Self::High => 480_000_000,
            Self::Gen1 => 5_000_000_000,
            Self::Gen2 => 10_000_000_000,
            Self::Gen2x2 => 20_000_000_000,
        })
    }

    /// Returns the bits on the wire and the symbols of 8 bits that they carry.
    fn line_code(self) -> (u64, u64) {
        match self {
            Self::High => (8, 1),
            Self::Gen1 => (10, 1),
            Self::Gen2 | Self::Gen2x2 => (132, 16),
        }
    }

    /// Returns the symbols from one SKP ordered set to the next, or of a microframe, and how many of them carry
    /// traffic.
    fn skip_interval(self) -> (u64, u64) {
        match self {
            Self::High => (MICROFRAME.0, MICROFRAME.1 * (DATA_PACKET_2 + TRANSACTION)),
            Self::Gen1 => (354, 352),
            Self::Gen2 | Self::Gen2x2 => (41 * 16, 40 * 16),
        }
    }

    /// Returns the maximum data of a packet.
    fn data_packet(self) -> u64 {
        match self {
            Self::High => DATA_PACKET_2,
            Self::Gen1 | Self::Gen2 | Self::Gen2x2 => DATA_PACKET,
        }
    }

    /// Returns the bytes that a data packet needs in addition to its data: in its own direction, including the link
    /// commands for its ACK, and in the other.
    fn data_packet_overhead(self) -> SymbolCounts {
        let replicas = match self {
            Self::High => return SymbolCounts { forth: TRANSACTION, back: 0 },
            Self::Gen1 => 0,
            Self::Gen2 | Self::Gen2x2 => LENGTH_REPLICAS,
        };
        SymbolCounts {
            forth: HEADER_PACKET + replicas + DATA_FRAME + LINK_COMMANDS,
            back: HEADER_PACKET + LINK_COMMANDS,
        }
    }
}

impl UsbTransport {
    /// The unit that issues a command.
    fn command(self) -> Bytes {
        Bytes(match self {
            Self::BulkOnly => 31,
            Self::AttachedScsi => 32,
        })
    }

    /// The unit that ends a successful command.
    fn status(self) -> Bytes {
        Bytes(match self {
            Self::BulkOnly => 13,
            Self::AttachedScsi => 16,
        })
    }
}

impl std::ops::Add for SymbolCounts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { forth: self.forth + other.forth, back: self.back + other.back }
    }
}

impl Usb {
    /// The link at a rate, with storage commands of one transport.
    pub fn new(rate: UsbRate, transport: UsbTransport) -> Self {
        let ((bits, symbols), (all, useful)) = (rate.line_code(), rate.skip_interval());
        let picoseconds = 1e12 * (bits * all) as f64 / (symbols * useful) as f64;
        let one = picoseconds / rate.line_rate().0 as f64;
        Self { rate, transport, symbol_time: (one * f64::from(1u32 << 20)) as u64 }
    }

    /// Returns the rate to which the link trained.
    pub fn rate(&self) -> UsbRate {
        self.rate
    }

    /// Returns the bytes a second in one direction after the line code, before packets.
    fn symbol_rate(&self) -> BytesPerSecond {
        let (bits, symbols) = self.rate.line_code();
        BytesPerSecond(self.rate.line_rate().0 * symbols / bits)
    }

    /// Returns the time of `symbols`. The product fits 64 bits for calls of up to 64 MiB.
    fn time(&self, symbols: u64) -> Duration {
        Duration::from_picoseconds((symbols * self.symbol_time + (1 << 19)) >> 20)
    }

    /// Data packets with their answers.
    fn data(&self, bytes: Bytes) -> SymbolCounts {
        let packets = bytes.get().div_ceil(self.rate.data_packet());
        let SymbolCounts { forth, back } = self.rate.data_packet_overhead();
        SymbolCounts { forth: bytes.get() + packets * forth, back: packets * back }
    }

    /// The beginning of a transfer to the host: ERDY, and the ACK that requests data. USB 2.0 has neither.
    fn ask_in(&self) -> SymbolCounts {
        let one = HEADER_PACKET + LINK_COMMANDS;
        match self.rate {
            UsbRate::High => SymbolCounts::NONE,
            _ => SymbolCounts { forth: one, back: one },
        }
    }

    /// The beginning of a transfer to the drive: ERDY, which travels against it. USB 2.0 does not have it.
    fn ask_out(&self) -> SymbolCounts {
        match self.rate {
            UsbRate::High => SymbolCounts::NONE,
            _ => SymbolCounts { forth: LINK_COMMANDS, back: HEADER_PACKET },
        }
    }

    /// The command unit, for which the device is always ready.
    fn command(&self) -> SymbolCounts {
        self.data(self.transport.command())
    }

    fn status(&self) -> SymbolCounts {
        self.ask_in() + self.data(self.transport.status())
    }
}

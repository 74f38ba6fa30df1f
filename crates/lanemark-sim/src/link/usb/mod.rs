//! Universal Serial Bus, 2.0 and 3.2: the cost of the packets that carry storage commands and data, and the bridge to
//! the drive.
//!
//! Model (USB 3.2 Specification, revision 1.0). Generation 1 carries 5 GT/s with 8b/10b, one SKP ordered set of two
//! symbols in 354 (6.4.3.1). Generation 2 carries 10 GT/s with 128b/132b, one block of SKP symbols after 40 other
//! blocks (6.4.3.2), on one lane or two lanes. The lanes of one direction carry the symbols in turn (6.13).
//!
//! - A header packet is 20 symbols: framing 4, header 12, CRC-16 2, link control word 2 (7.2.1.1). A data packet is a
//!   header packet, framing 4, up to 1,024 B of data, CRC-32 4 and framing 4 (7.2.1.2; 8.12.1 for bulk endpoints). In
//!   generation 2, the header of a data packet ends with two replicas of the length, which take 4 additional symbols.
//! - Link commands are 8 symbols (7.2.2.1). For each header packet, the other direction carries two link commands:
//!   LGOOD and LCRD (7.2.4.1). Each data packet is answered by an ACK transaction packet, which also requests the next
//!   data packets; the ACK itself is answered by link commands (8.11, 8.12.1.2). Bursts of 16 packets (9.6.7) follow
//!   each other without a gap, because the round trip is shorter than the time of their 16 KiB on the wire.
//! - A transfer begins when the device is ready: ERDY to the host, and for data to the host the ACK that requests it
//!   (8.10.1). With streams, both packets name the command's stream (8.12.1.4).
//!
//! USB 2.0 (revision 2.0) at 480 Mb/s has one pair of wires for both directions. A bulk transaction carries up to 512 B
//! of data and 55 B of overhead: token, data and handshake packets, and the gaps between them (table 5-10). A
//! microframe of 125 µs has room for 7,500 B; 13 full transactions use 7,371 B.
//!
//! Commands. Bulk-only transport (USB Mass Storage Class, Bulk-Only Transport 1.0): a 31 B command wrapper, the data,
//! and a 13 B status wrapper. USB Attached SCSI (UAS-2): a 32 B command unit, the data, and a 16 B sense unit.
//!
//! [`Bridge`] is the chip that connects USB on one side with SATA or PCI Express on the other.
//!
//! Not modelled: isochronous timestamps (20 symbols in 125 µs) and other devices on the bus, hubs, NRDY and retries
//! except for bit errors, the host controller's time to answer ERDY, TRBs that it fetches late, data packets shorter
//! than 1,024 B inside a transfer, link power states, and the polling (PING and NAK) of a USB 2.0 device that is not
//! ready.

mod bridge;
mod table;
#[cfg(test)]
mod tests;

pub use bridge::Bridge;

use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond, Duration};

/// Maximum payload of a USB 3.2 packet, in bytes.
const DATA_PACKET: u64 = 1024;
/// Maximum payload of a USB 2.0 packet, in bytes.
const DATA_PACKET_2: u64 = 512;
/// Overhead of a USB 2.0 bulk transaction in addition to its data, in bytes.
const TRANSACTION: u64 = 55;
/// Number of bytes, and of full transactions, in a microframe.
const MICROFRAME: (u64, u64) = (7500, 13);
/// Length of a header packet in symbols; a transaction packet consists of only a header packet.
const HEADER_PACKET: u64 = 20;
/// Bytes of a data packet in addition to its header packet and data: framing before and after the data, and the CRC-32.
const DATA_FRAME: u64 = 4 + 4 + 4;
/// Bytes of the length replicas in the header of a data packet, in generation 2 and later.
const LENGTH_REPLICAS: u64 = 4;
/// Bytes that the other direction carries per header packet: LGOOD and LCRD.
const LINK_COMMANDS: u64 = 2 * 8;

/// A USB line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsbRate {
    /// 480 Mb/s: USB 2.0 high speed, one direction at a time.
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
    /// Time per symbol, including SKP ordered sets, in units of 2^-20 ps.
    symbol_time: u64,
}

/// Numbers of symbols in each direction.
#[derive(Clone, Copy)]
struct SymbolCounts {
    /// Number of symbols in the direction of the packets.
    forth: u64,
    /// Number of symbols in the opposite direction.
    back: u64,
}

impl SymbolCounts {
    const NONE: Self = Self { forth: 0, back: 0 };
}

impl UsbRate {
    /// Returns the USB rate with the line rate `line_rate`, if there is one.
    pub fn new(line_rate: BitsPerSecond) -> Option<Self> {
        [Self::High, Self::Gen1, Self::Gen2, Self::Gen2x2]
            .into_iter()
            .find(|rate| rate.line_rate() == line_rate)
    }

    /// Returns the bit rate of all lanes of a direction together.
    pub fn line_rate(self) -> BitsPerSecond {
        BitsPerSecond(match self {
            Self::High => 480_000_000,
            Self::Gen1 => 5_000_000_000,
            Self::Gen2 => 10_000_000_000,
            Self::Gen2x2 => 20_000_000_000,
        })
    }

    /// Returns the line code: a number of bits on the wire, and the number of 8-bit symbols that they carry.
    fn line_code(self) -> (u64, u64) {
        match self {
            Self::High => (8, 1),
            Self::Gen1 => (10, 1),
            Self::Gen2 | Self::Gen2x2 => (132, 16),
        }
    }

    /// Returns the number of symbols from one SKP ordered set to the next, or in a microframe, and the number of these
    /// that carry traffic.
    fn skip_interval(self) -> (u64, u64) {
        match self {
            Self::High => (MICROFRAME.0, MICROFRAME.1 * (DATA_PACKET_2 + TRANSACTION)),
            Self::Gen1 => (354, 352),
            Self::Gen2 | Self::Gen2x2 => (41 * 16, 40 * 16),
        }
    }

    /// Returns the maximum payload of a packet.
    fn data_packet(self) -> u64 {
        match self {
            Self::High => DATA_PACKET_2,
            Self::Gen1 | Self::Gen2 | Self::Gen2x2 => DATA_PACKET,
        }
    }

    /// Returns the overhead of a data packet in addition to its data: in its own direction, including the link commands
    /// for its ACK, and in the other direction.
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
    /// Returns the length of the unit that issues a command.
    fn command(self) -> Bytes {
        Bytes(match self {
            Self::BulkOnly => 31,
            Self::AttachedScsi => 32,
        })
    }

    /// Returns the length of the unit that ends a successful command.
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
    /// Creates a link at `rate` that carries storage commands over `transport`.
    pub fn new(rate: UsbRate, transport: UsbTransport) -> Self {
        let (bits, symbols) = rate.line_code();
        let (all, useful) = rate.skip_interval();
        let picoseconds = 1e12 * (bits * all) as f64 / (symbols * useful) as f64;
        let one = picoseconds / rate.line_rate().0 as f64;
        Self { rate, transport, symbol_time: (one * f64::from(1u32 << 20)) as u64 }
    }

    /// Returns the rate to which the link trained.
    pub fn rate(&self) -> UsbRate {
        self.rate
    }

    /// Returns the rate in one direction after the line code, before the overhead of packets.
    fn symbol_rate(&self) -> BytesPerSecond {
        let (bits, symbols) = self.rate.line_code();
        BytesPerSecond(self.rate.line_rate().0 * symbols / bits)
    }

    /// Returns the time of `symbols`. The product fits 64 bits for calls of up to 64 MiB.
    fn time(&self, symbols: u64) -> Duration {
        Duration::from_picoseconds((symbols * self.symbol_time + (1 << 19)) >> 20)
    }

    /// Returns the symbols of data packets and their answers.
    fn data(&self, bytes: Bytes) -> SymbolCounts {
        let packets = bytes.get().div_ceil(self.rate.data_packet());
        let SymbolCounts { forth, back } = self.rate.data_packet_overhead();
        SymbolCounts { forth: bytes.get() + packets * forth, back: packets * back }
    }

    /// Returns the symbols at the beginning of a transfer to the host: ERDY, and the ACK that requests data. USB 2.0
    /// has neither.
    fn ask_in(&self) -> SymbolCounts {
        let header_symbols = HEADER_PACKET + LINK_COMMANDS;
        match self.rate {
            UsbRate::High => SymbolCounts::NONE,
            UsbRate::Gen1 | UsbRate::Gen2 | UsbRate::Gen2x2 => {
                SymbolCounts { forth: header_symbols, back: header_symbols }
            }
        }
    }

    /// Returns the symbols at the beginning of a transfer to the drive: ERDY, which travels in the opposite direction.
    /// USB 2.0 does not have ERDY.
    fn ask_out(&self) -> SymbolCounts {
        match self.rate {
            UsbRate::High => SymbolCounts::NONE,
            UsbRate::Gen1 | UsbRate::Gen2 | UsbRate::Gen2x2 => {
                SymbolCounts { forth: LINK_COMMANDS, back: HEADER_PACKET }
            }
        }
    }

    /// Returns the symbols of the command unit, for which the device is always ready.
    fn command(&self) -> SymbolCounts {
        self.data(self.transport.command())
    }

    fn status(&self) -> SymbolCounts {
        self.ask_in() + self.data(self.transport.status())
    }
}

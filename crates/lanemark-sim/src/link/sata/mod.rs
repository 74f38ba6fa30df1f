//! Serial ATA: the cost of frames at each line rate.
//!
//! Model (Serial ATA Revision 3.0, chapters 9 and 10). The line code is 8b/10b, so a dword takes 40 bit times. A frame
//! consists of start, its content, CRC and end: 3 dwords more than its content. X_RDY and R_RDY precede each frame, and
//! WTRM and R_OK follow it; together they count as one *turn-around*. The turn-around is a fixed number of bit times:
//! 1.0 µs at 3 Gb/s and 0.5 µs at 6 Gb/s, derived from the published 286.6 MB/s for long reads at 3 Gb/s. Two dwords in
//! 256 are ALIGN. A Data frame contains one header dword and up to 2048 dwords of data.
//!
//! Queued commands (NCQ): Register Host-to-Device and the drive's release issue the command; DMA Setup precedes the
//! data; Set Device Bits ends the command. Unqueued commands (READ and WRITE DMA, with 28-bit or 48-bit addresses):
//! Register Host-to-Device issues the command, Register Device-to-Host ends it, and there is only one command at a
//! time. The drive requests each Data frame of a write with DMA Activate.
//!
//! PIO (READ and WRITE SECTORS; PIO data-in and data-out protocols): one command at a time.
//! Data travels in blocks of one sector, for which the drive raises DRQ; each block is a Data frame after a PIO Setup
//! frame. The last PIO Setup of a read contains its ending status; a write ends with Register Device-to-Host.
//! Each burst from the flash begins a new block. Commands with 28-bit addresses carry up to 256 sectors, and commands
//! with 48-bit addresses carry up to 65,536; these numbers determine a drive's `transfer_max`. The path of the data
//! beyond the host's registers is not modelled: AHCI and similar controllers move the data to memory like DMA data.
//!
//! The link is half duplex: only one direction carries frames at a time, so the link is one station. Commands are sent
//! between the Data frames of other commands (`frame_turns`).
//!
//! Not modelled: PIO blocks of several sectors (READ and WRITE MULTIPLE), a drive that pauses frames with HOLD because
//! its FIFO is smaller than a frame (9.4.7), flash that cannot deliver data fast enough within a frame, retransmission,
//! power states of the link, and the rule that a drive sends a command's data in order (bursts leave in the order in
//! which they arrive from the flash).

mod table;

use std::fmt;

use lanemark_schema::units::{BitsPerSecond, Bytes, Duration};
use lanemark_schema::workload::SECTOR;

const DWORD_BITS: u64 = 40;
/// Number of dwords of a frame in addition to its content: start, CRC, end.
const FRAME_DWORDS: u64 = 3;
/// Number of bit times of a turn-around: 0.5 µs at 6 Gb/s.
const TURN_AROUND_BITS: u64 = 3_000;
/// Maximum payload of a Data frame, in bytes.
const DATA_FRAME: u64 = 8192;
/// Number of dwords of a Register or Set Device Bits frame.
const REGISTER: u64 = 5;
/// Number of dwords of a DMA Setup frame.
const DMA_SETUP: u64 = 7;
/// Number of dwords of a DMA Activate frame.
const DMA_ACTIVATE: u64 = 1;
const PIO_SETUP: u64 = 5;
const SET_DEVICE_BITS: u64 = 2;

/// A SATA line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SataRate {
    /// 1.5 Gb/s, revision 1.
    Gen1,
    /// 3 Gb/s, revision 2.
    Gen2,
    /// 6 Gb/s, revision 3.
    Gen3,
}

lanemark_schema::named_enum! {
    /// The kind of commands on a SATA link.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SataCommands {
        /// READ and WRITE FPDMA QUEUED, up to 32 at a time.
        Queued = "queued",
        /// READ and WRITE DMA, one at a time.
        Unqueued = "unqueued",
        /// READ and WRITE SECTORS, one at a time, with a block of one sector per DRQ.
        Pio = "pio",
    }
}

/// A trained SATA link: its model with all constants computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sata {
    rate: SataRate,
    /// Maximum payload of a Data frame, in bytes.
    frame_max: u64,
    issue: Duration,
    announcement: Duration,
    read: DataFrames,
    write: DataFrames,
    read_completion: Duration,
    completion: Duration,
    /// The kind of commands, for retraining.
    commands: SataCommands,
    /// Time of an STP connection, for retraining.
    connection: Option<Duration>,
}

/// The Data frames of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DataFrames {
    /// Time before each frame.
    setup: Duration,
    /// Time of a full frame, including `setup`.
    full: Duration,
}

impl SataRate {
    /// Returns the SATA rate with the line rate `line_rate`, if there is one.
    pub fn new(line_rate: BitsPerSecond) -> Option<Self> {
        [Self::Gen1, Self::Gen2, Self::Gen3].into_iter().find(|rate| rate.line_rate() == line_rate)
    }

    /// Returns the bit rate on the wire.
    pub fn line_rate(self) -> BitsPerSecond {
        BitsPerSecond(match self {
            Self::Gen1 => 1_500_000_000,
            Self::Gen2 => 3_000_000_000,
            Self::Gen3 => 6_000_000_000,
        })
    }

    /// Returns the time of `count` dwords, including their share of ALIGN.
    fn dwords(self, count: u64) -> Duration {
        self.line_rate().time(count * DWORD_BITS).scaled(256, 254)
    }

    /// Returns the time of a frame of `dwords`, including its turn-around.
    fn frame(self, dwords: u64) -> Duration {
        self.dwords(dwords + FRAME_DWORDS) + self.line_rate().time(TURN_AROUND_BITS)
    }

    /// Returns the time of a Data frame with `bytes` of data.
    fn data_frame(self, bytes: u64) -> Duration {
        self.frame(1 + bytes.div_ceil(4))
    }
}

impl Sata {
    /// Creates a link at `rate` with one kind of commands.
    pub fn new(rate: SataRate, commands: SataCommands) -> Self {
        let frame_max = match commands {
            SataCommands::Queued | SataCommands::Unqueued => DATA_FRAME,
            SataCommands::Pio => SECTOR.get(),
        };
        let queued = commands == SataCommands::Queued;
        let issue = rate.frame(REGISTER);
        let completion = rate.frame(if queued { SET_DEVICE_BITS } else { REGISTER });
        let nothing = Duration::ZERO;
        let (read_setup, write_setup, read_completion) = match commands {
            SataCommands::Queued | SataCommands::Unqueued => {
                (nothing, rate.frame(DMA_ACTIVATE), completion)
            }
            SataCommands::Pio => (rate.frame(PIO_SETUP), rate.frame(PIO_SETUP), nothing),
        };
        let frames = |setup| DataFrames { setup, full: setup + rate.data_frame(frame_max) };
        Self {
            rate,
            frame_max,
            issue: if queued { issue * 2 } else { issue },
            announcement: if queued { rate.frame(DMA_SETUP) } else { nothing },
            read: frames(read_setup),
            write: frames(write_setup),
            read_completion,
            completion,
            commands,
            connection: None,
        }
    }

    /// Returns the link after it has trained to `rate`.
    #[must_use]
    pub fn trained(&self, rate: SataRate) -> Self {
        let plain = Self::new(rate, self.commands);
        self.connection.map_or(plain, |connection| plain.over_stp(connection))
    }

    /// Returns the link tunnelled through SAS (STP). One connection surrounds the frames that issue a command, and
    /// another surrounds the command's data and end; each takes `connection` to open and close.
    #[must_use]
    pub fn over_stp(self, connection: Duration) -> Self {
        Self {
            issue: self.issue + connection,
            read_completion: self.read_completion + connection,
            completion: self.completion + connection,
            connection: Some(connection),
            ..self
        }
    }

    /// Returns the rate to which the link trained.
    pub fn rate(&self) -> SataRate {
        self.rate
    }

    /// Returns the time of a Register frame in either direction. The frame issues an unqueued command or ends a
    /// command.
    pub(crate) fn register_time(&self) -> Duration {
        self.rate.frame(REGISTER)
    }

    /// Returns the time to issue a command, up to the drive's release of a queued command.
    pub(crate) fn issue_time(&self) -> Duration {
        self.issue
    }

    pub(crate) fn data_frame_time(&self) -> Duration {
        self.read.full
    }

    /// Returns the time to end a read after its last data. The status of a PIO read precedes the last data and takes no
    /// time here.
    pub(crate) fn read_completion_time(&self) -> Duration {
        self.read_completion
    }

    /// Returns the time to end any other command.
    pub(crate) fn completion_time(&self) -> Duration {
        self.completion
    }

    /// Returns the time of the Data frames for `bytes` of a read. With PIO, a setup frame precedes each Data frame;
    /// with queued commands, a setup frame precedes the first burst.
    pub(crate) fn read_data_time(&self, bytes: Bytes, first: bool) -> Duration {
        self.data_time(bytes, first, &self.read)
    }

    /// Returns the time of the Data frames for `bytes` of a write, including the drive's request for each frame. With
    /// queued commands, a setup frame precedes the first burst.
    pub(crate) fn write_data_time(&self, bytes: Bytes, first: bool) -> Duration {
        self.data_time(bytes, first, &self.write)
    }

    fn data_time(&self, bytes: Bytes, first: bool, frames: &DataFrames) -> Duration {
        let announcement = if first { self.announcement } else { Duration::ZERO };
        let full = announcement + frames.full * (bytes.get() / self.frame_max);
        match bytes.get() % self.frame_max {
            0 => full,
            rest => full + frames.setup + self.rate.data_frame(rest),
        }
    }
}

impl fmt::Display for Sata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let setup = if self.read.setup > Duration::ZERO { "PIO, " } else { "" };
        write!(f, "{}, {setup}frames of {}", self.rate.line_rate(), Bytes(self.frame_max))
    }
}

#[cfg(test)]
mod tests;

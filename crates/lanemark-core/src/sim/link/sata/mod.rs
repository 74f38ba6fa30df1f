//! Serial ATA: what frames cost at each line rate.
//!
//! Law (Serial ATA Revision 3.0, chapters 9 and 10). 8b/10b, so a dword is 40 bit times. A frame is
//! start, its dwords, CRC and end, so 3 dwords more than it holds; before it go X_RDY and R_RDY and
//! after it WTRM and R_OK, counted as one *turn-around*. The turn-around is a fixed number of bit times:
//! 1.0 us at 3 Gb/s and 0.5 us at 6 Gb/s, from the published 286.6 MB/s of long reads at 3 Gb/s. Two
//! dwords in 256 are ALIGN. A Data frame holds one dword of header and at most 2048 of data.
//!
//! Queued commands (NCQ): Register Host-to-Device and the drive's release to issue; DMA Setup before the
//! data; Set Device Bits at the end. Others (READ and WRITE DMA, with 28 or 48-bit addresses): Register
//! Host-to-Device to issue, Register Device-to-Host at the end, one command at a time. A write's Data
//! frames are each asked for by DMA Activate.
//!
//! PIO (READ and WRITE SECTORS, READ and WRITE MULTIPLE; PIO data-in and data-out protocols): one command at a
//! time. Data goes in blocks for which the drive raises DRQ, of one sector or of up to 16, each a Data frame
//! behind a PIO Setup frame. The last PIO Setup of a read holds its ending status; a write ends with Register
//! Device-to-Host. A burst off the flash begins with a block of its own. Commands with 28-bit addresses carry up
//! to 256 sectors, those with 48-bit ones up to 65,536: a drive's `transfer_max`. Where the data goes from the
//! host's registers on is not modelled: AHCI and the like move it to memory as they do for DMA.
//!
//! The link is half duplex: one direction carries frames at a time, so it is one station.
//!
//! Not modelled: HOLD and HOLDA inside a frame, retransmission, power states of the link, and the rule
//! that a drive sends a command's data in order (bursts go as they come off the flash).

use std::fmt;

use crate::units::{BitsPerSecond, Bytes, Duration};

/// The dwords that a frame has beside what it holds: start, CRC, end.
const FRAME_DWORDS: u64 = 3;
/// Bit times of a turn-around: 0.5 us at 6 Gb/s.
const TURN_AROUND_BITS: u64 = 3_000;
/// The most data of one Data frame.
const DATA_FRAME: u64 = 8192;
/// Dwords of the frames that are not data.
const REGISTER: u64 = 5;
const DMA_SETUP: u64 = 7;
const DMA_ACTIVATE: u64 = 1;
const PIO_SETUP: u64 = 5;
const SET_DEVICE_BITS: u64 = 2;

/// A sector, the least that PIO carries.
pub const SECTOR: Bytes = Bytes(512);
/// The largest block of PIO: what one Data frame holds.
pub const PIO_BLOCK_MAX: Bytes = Bytes(DATA_FRAME);

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

/// Which commands go over a SATA link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SataCommands {
    /// READ and WRITE FPDMA QUEUED, 32 at a time.
    Queued,
    /// READ and WRITE DMA, one at a time.
    Unqueued,
    /// READ and WRITE SECTORS or MULTIPLE, one at a time.
    Pio {
        /// The data of one DRQ block: a power of two of sectors, at most [`PIO_BLOCK_MAX`].
        block: Bytes,
    },
}

/// A trained SATA link: its law with everything worked out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sata {
    rate: SataRate,
    /// The most data of one Data frame, and how long such a frame takes.
    frame_max: u64,
    full_data_frame: Duration,
    issue: Duration,
    announcement: Duration,
    /// What goes before each Data frame, reading and writing.
    read_setup: Duration,
    write_setup: Duration,
    read_completion: Duration,
    completion: Duration,
}

impl SataRate {
    /// The rate that is written so, if it is one of SATA's.
    pub fn new(line_rate: BitsPerSecond) -> Option<Self> {
        [Self::Gen1, Self::Gen2, Self::Gen3].into_iter().find(|rate| rate.line_rate() == line_rate)
    }

    /// Bits a second on the wire.
    pub fn line_rate(self) -> BitsPerSecond {
        BitsPerSecond(match self {
            Self::Gen1 => 1_500_000_000,
            Self::Gen2 => 3_000_000_000,
            Self::Gen3 => 6_000_000_000,
        })
    }

    /// The time of a frame that holds `dwords`, with its turn-around.
    fn frame(self, dwords: u64) -> Duration {
        let bits = (dwords + FRAME_DWORDS) * 40;
        let aligned = self.line_rate().time(bits).scaled(256, 254);
        aligned + self.line_rate().time(TURN_AROUND_BITS)
    }
}

impl Sata {
    /// The link at a rate, with a kind of commands. The caller has checked the block of PIO.
    pub fn new(rate: SataRate, commands: SataCommands) -> Self {
        let frame_max = match commands {
            SataCommands::Queued | SataCommands::Unqueued => DATA_FRAME,
            SataCommands::Pio { block } => block.get(),
        };
        let queued = commands == SataCommands::Queued;
        let issue = rate.frame(REGISTER);
        let completion = rate.frame(if queued { SET_DEVICE_BITS } else { REGISTER });
        let nothing = Duration::ZERO;
        let (read_setup, write_setup, read_completion) = match commands {
            SataCommands::Queued | SataCommands::Unqueued => {
                (nothing, rate.frame(DMA_ACTIVATE), completion)
            }
            SataCommands::Pio { .. } => (rate.frame(PIO_SETUP), rate.frame(PIO_SETUP), nothing),
        };
        Self {
            rate,
            frame_max,
            full_data_frame: rate.frame(1 + frame_max.div_ceil(4)),
            issue: if queued { issue * 2 } else { issue },
            announcement: if queued { rate.frame(DMA_SETUP) } else { nothing },
            read_setup,
            write_setup,
            read_completion,
            completion,
        }
    }

    /// The same link carried through SAS (STP): a connection is opened and closed, which takes
    /// `connection`, around the frames that issue a command and around its data and end.
    #[must_use]
    pub fn over_stp(self, connection: Duration) -> Self {
        Self {
            issue: self.issue + connection,
            read_completion: self.read_completion + connection,
            completion: self.completion + connection,
            ..self
        }
    }

    /// The rate that it trained to.
    pub fn rate(&self) -> SataRate {
        self.rate
    }

    /// Issuing a command, up to the drive's release of a queued one.
    pub fn issue_time(&self) -> Duration {
        self.issue
    }

    /// Ending a read behind its last data; the status of a PIO read came before it.
    pub fn read_completion_time(&self) -> Duration {
        self.read_completion
    }

    /// Ending any other command.
    pub fn completion_time(&self) -> Duration {
        self.completion
    }

    /// Data frames for `bytes` of a read, with PIO each set up; the first burst of a queued command is
    /// announced.
    pub fn read_data_time(&self, bytes: Bytes, first: bool) -> Duration {
        self.data_time(bytes, first, self.read_setup)
    }

    /// Data frames for `bytes` of a write, each asked for; the first burst of a queued command is
    /// announced.
    pub fn write_data_time(&self, bytes: Bytes, first: bool) -> Duration {
        self.data_time(bytes, first, self.write_setup)
    }

    fn data_time(&self, bytes: Bytes, first: bool, setup: Duration) -> Duration {
        let announcement = if first { self.announcement } else { Duration::ZERO };
        let frames = (setup + self.full_data_frame) * (bytes.get() / self.frame_max);
        match bytes.get() % self.frame_max {
            0 => announcement + frames,
            rest => announcement + frames + setup + self.rate.frame(1 + rest.div_ceil(4)),
        }
    }
}

impl fmt::Display for Sata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let setup = if self.read_setup > Duration::ZERO { "PIO, " } else { "" };
        write!(f, "{}, {setup}frames of {}", self.rate.line_rate(), Bytes(self.frame_max))
    }
}

#[cfg(test)]
mod tests;

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
//! The link is half duplex: one direction carries frames at a time, so it is one station.
//!
//! Not modelled: HOLD and HOLDA inside a frame, retransmission, power states of the link, and the rule
//! that a drive sends a command's data in order (bursts go as they come off the flash).

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

/// Which commands go over a SATA link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SataCommands {
    /// READ and WRITE FPDMA QUEUED, 32 at a time.
    Queued,
    /// READ and WRITE DMA, one at a time.
    Unqueued,
}

/// A trained SATA link: its law with everything worked out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sata {
    rate: SataRate,
    full_data_frame: Duration,
    issue: Duration,
    announcement: Duration,
    dma_activate: Duration,
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
    /// The link at a rate, with a kind of commands.
    pub fn new(rate: SataRate, commands: SataCommands) -> Self {
        let (issue, announcement, completion) = match commands {
            SataCommands::Queued => {
                (rate.frame(REGISTER) * 2, rate.frame(DMA_SETUP), rate.frame(SET_DEVICE_BITS))
            }
            SataCommands::Unqueued => (rate.frame(REGISTER), Duration::ZERO, rate.frame(REGISTER)),
        };
        Self {
            rate,
            full_data_frame: rate.frame(1 + DATA_FRAME / 4),
            issue,
            announcement,
            dma_activate: rate.frame(DMA_ACTIVATE),
            completion,
        }
    }

    /// The same link carried through SAS (STP): a connection is opened and closed, which takes
    /// `connection`, around the frames that issue a command and around its data and end.
    #[must_use]
    pub fn over_stp(self, connection: Duration) -> Self {
        Self { issue: self.issue + connection, completion: self.completion + connection, ..self }
    }

    /// The rate that it trained to.
    pub fn rate(&self) -> SataRate {
        self.rate
    }

    /// Issuing a command, up to the drive's release of a queued one.
    pub fn issue_time(&self) -> Duration {
        self.issue
    }

    /// Ending a command.
    pub fn completion_time(&self) -> Duration {
        self.completion
    }

    /// Data frames for `bytes` of a read; the first burst of a queued command is announced.
    pub fn read_data_time(&self, bytes: Bytes, first: bool) -> Duration {
        let announcement = if first { self.announcement } else { Duration::ZERO };
        announcement + self.data_time(bytes)
    }

    /// Data frames for `bytes` of a write, each asked for; the first burst of a queued command is
    /// announced.
    pub fn write_data_time(&self, bytes: Bytes, first: bool) -> Duration {
        let announcement = if first { self.announcement } else { Duration::ZERO };
        let frames = bytes.get().div_ceil(DATA_FRAME);
        announcement + self.dma_activate * frames + self.data_time(bytes)
    }

    fn data_time(&self, bytes: Bytes) -> Duration {
        let full = self.full_data_frame * (bytes.get() / DATA_FRAME);
        match bytes.get() % DATA_FRAME {
            0 => full,
            rest => full + self.rate.frame(1 + rest.div_ceil(4)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(rate: SataRate) -> Sata {
        Sata::new(rate, SataCommands::Queued)
    }

    fn megabytes(bytes: Bytes, time: Duration) -> f64 {
        (bytes / time).as_megabytes()
    }

    /// Published: 286.6 MB/s for 32 MiB reads of an FPGA host at 3 Gb/s.
    #[test]
    fn long_reads_at_3_gigabits_meet_the_published_rate() {
        let block = Bytes::mebi(32);
        let seen = megabytes(block, queued(SataRate::Gen2).read_data_time(block, false));
        assert!((seen - 286.7).abs() < 0.1, "{seen} MB/s");
    }

    #[test]
    fn a_command_that_is_not_queued_has_two_frames_less() {
        let rate = SataRate::Gen3;
        let (queued, plain) = (queued(rate), Sata::new(rate, SataCommands::Unqueued));
        let whole = |sata: &Sata| {
            let data = sata.read_data_time(Bytes::kibi(4), true);
            sata.issue_time() + data + sata.completion_time()
        };
        let fewer = rate.frame(REGISTER) + rate.frame(DMA_SETUP) + rate.frame(SET_DEVICE_BITS)
            - rate.frame(REGISTER);
        assert_eq!(whole(&queued) - whole(&plain), fewer);
    }

    #[test]
    fn ncq_reads_of_128k_at_6_gigabits_carry_568() {
        let sata = queued(SataRate::Gen3);
        let block = Bytes::kibi(128);
        let time = sata.issue_time() + sata.read_data_time(block, true) + sata.completion_time();
        assert!((megabytes(block, time) - 568.0).abs() < 1.0);
    }

    #[test]
    fn ncq_reads_of_4k_at_6_gigabits_reach_104_thousand() {
        let sata = queued(SataRate::Gen3);
        let block = Bytes::kibi(4);
        let time = sata.issue_time() + sata.read_data_time(block, true) + sata.completion_time();
        let iops = 1.0 / time.as_seconds();
        assert!((103_500.0..104_500.0).contains(&iops), "{iops} IOPS");
    }

    #[test]
    fn a_burst_costs_the_same_as_its_frames_one_by_one() {
        for rate in [SataRate::Gen1, SataRate::Gen2, SataRate::Gen3] {
            let sata = queued(rate);
            let frames = sata.read_data_time(Bytes(8192), false) * 16
                + sata.read_data_time(Bytes(4096), false);
            assert_eq!(sata.read_data_time(Bytes(16 * 8192 + 4096), false), frames);
        }
    }

    #[test]
    fn everything_takes_twice_as_long_at_half_the_rate() {
        let (fast, slow) = (queued(SataRate::Gen3), queued(SataRate::Gen2));
        let block = Bytes::kibi(128);
        let ratio = slow.write_data_time(block, true).as_seconds()
            / fast.write_data_time(block, true).as_seconds();
        assert!((ratio - 2.0).abs() < 1e-6, "{ratio}");
    }
}

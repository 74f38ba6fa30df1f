//! Faults: the failures of a simulated system under load, and their times.
//!
//! A plan is a list of [`Fault`]s, each with its time. The plan is plain data: it is read from `[[fault]]` tables and
//! from `--fault`, which share one grammar (`text`), and is stored in a [`Workload`](super::Workload) or a system. The
//! simulator (`sim/fault`, `sim/simulator/faults.rs`) models the effect of each fault on requests, with formulas and
//! their sources.
//!
//! A *silent* fault corrupts, misdirects or loses data without failing a request.
//!
//! Not modelled: faults that are caused by age or heat.

mod text;

pub use text::{FaultError, read};

use serde::{Deserialize, Serialize};

use crate::units::{BitsPerSecond, Bytes, Duration, Instant, Ratio};

/// Maximum number of faults in a plan.
pub const FAULTS_MAX: usize = 1_000;
/// Maximum delay, timeout or restart time of a fault.
const FAULT_TIME_MAX: Duration = Duration::from_seconds(3_600);
/// Maximum share of bits that a link corrupts. Above this share, no long packet arrives intact.
const BIT_ERRORS_MAX: f64 = 1e-5;
/// Maximum number of commands that one fault leaves unanswered.
const STUCK_MAX: u32 = 65_536;
/// Maximum number of wrong bits in one read.
const BITS_MAX: u32 = 64;
/// Time that a host waits for the answer to a command: 30 s for SCSI disks and for NVMe in Linux (`SD_TIMEOUT`,
/// `nvme_core.io_timeout`).
pub const COMMAND_TIMEOUT: Duration = Duration::from_seconds(30);

/// A fault of the system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fault {
    /// Time at which the fault begins.
    pub at: Instant,
    /// Length of the fault; permanent if absent.
    pub length: Option<Duration>,
    /// Number of the faulty drive, counted from 0; all drives if absent.
    pub drive: Option<u16>,
    /// Share of the requests that the fault affects; all if absent.
    pub share: Option<Ratio>,
    /// Kind of the fault.
    pub kind: FaultKind,
}

/// The kind of a fault. A new kind needs a variant here, its keys in `text`, and its effect: in `sim/fault/mod.rs` for
/// a fault of the media, and in `sim/simulator/faults.rs` for other faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// Some flash reads must be repeated with different thresholds.
    ReadRetries(ReadRetries),
    /// A range of the drive cannot be read.
    MediaError {
        /// The range; the whole drive if absent.
        range: Option<ByteRange>,
        /// Time that the drive retries before it returns an error.
        recovery: Duration,
        /// Whether a write makes the written part of the range readable again.
        heals: bool,
    },
    /// A range of the drive cannot be written.
    WriteError {
        /// The range; the whole drive if absent.
        range: Option<ByteRange>,
        /// Time that the drive retries before it returns an error.
        recovery: Duration,
    },
    /// Reads return wrong bits without an error. The data on the media is correct.
    BitFlips {
        /// The affected range; the whole drive if absent.
        range: Option<ByteRange>,
        /// Number of wrong bits in each affected read.
        bits: u32,
    },
    /// Writes are acknowledged but not executed.
    LostWrite {
        /// The affected range; the whole drive if absent.
        range: Option<ByteRange>,
    },
    /// Writes are executed at a different offset.
    MisdirectedWrite {
        /// The affected range; the whole drive if absent.
        range: Option<ByteRange>,
    },
    /// Flushes are acknowledged but do not store anything.
    LyingFlush,
    /// Each command takes longer on the media.
    Latency {
        /// Additional time of each command.
        extra: Duration,
    },
    /// The media do not accept commands.
    Pause,
    /// Commands are not answered.
    Stuck(StuckCommands),
    /// A link corrupts bits.
    LinkErrors {
        /// The link.
        link: LinkSelector,
        /// The share of bits that are corrupted.
        rate: f64,
        /// Time from a command's error until the host sends it again, over SATA and SAS.
        recovery: Duration,
    },
    /// A link trains to a different width or rate.
    Retrain {
        /// The link.
        link: LinkSelector,
        /// Rate and width to which the link trains.
        to: TrainedRate,
    },
    /// A port returns no answers.
    PortLoss {
        /// Number of the port; 0 is the first port.
        port: u8,
        /// Time that the host waits for an answer; if absent, the timeout of its multipath layer.
        timeout: Option<Duration>,
    },
    /// The drive rejects writes.
    ReadOnly {
        /// Bytes that the drive accepts from the host before it rejects writes, counted from the beginning of the run.
        written: Bytes,
    },
    /// The power fails, and returns immediately.
    PowerCut {
        /// Time until requests can be submitted again.
        boot: Duration,
    },
}

/// A range of bytes on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte of the range.
    pub start: Bytes,
    /// First byte after the range.
    pub end: Bytes,
}

/// Reads that must be repeated because too many bits were wrong.
///
/// The share of reads that need a retry is `unworn + share * (cycles / endurance)^2`, up to 95%. The same share of the
/// retried reads needs a second retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadRetries {
    /// The share of retries in a block without program and erase cycles.
    pub unworn: Ratio,
    /// Increase of the share due to wear, at the end of the drive's life.
    pub share: Ratio,
    /// Rated program and erase cycles of a block.
    pub endurance: u32,
}

/// Commands that the drive does not answer, and the host's reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StuckCommands {
    /// Number of commands that are not answered.
    pub commands: u32,
    /// Time that the host waits for an answer.
    pub timeout: Duration,
    /// Time of an abort that ends an unanswered command; if absent, the host resets the drive.
    pub abort: Option<Duration>,
    /// Time of a reset.
    pub reset: Duration,
    /// Whether the host sends the command again; otherwise the request fails.
    pub again: bool,
}

/// A link on a path to a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSelector {
    /// Number of the drive's port; 0 is the first port.
    pub port: u8,
    /// Number of the link on the path; 0 is the link nearest to the host. If absent, the last link, which ends at the
    /// drive.
    pub number: Option<u8>,
}

/// The rate and width to which a link trains. Absent values do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrainedRate {
    /// Number of PCI Express lanes or SAS phys.
    pub lanes: Option<u32>,
    /// PCI Express generation.
    pub generation: Option<u32>,
    /// SATA or SAS line rate.
    pub speed: Option<BitsPerSecond>,
}

impl ByteRange {
    /// All bytes of any drive.
    pub const WHOLE: Self = Self { start: Bytes::ZERO, end: Bytes(u64::MAX) };

    /// Returns whether the range contains any byte between `start`, included, and `end`, excluded.
    pub fn overlaps(&self, start: Bytes, end: Bytes) -> bool {
        self.start < end && start < self.end
    }
}

impl FaultKind {
    /// Returns the range of a fault; `None` if it affects the whole drive.
    pub fn range(&self) -> Option<ByteRange> {
        match *self {
            Self::MediaError { range, .. }
            | Self::WriteError { range, .. }
            | Self::BitFlips { range, .. }
            | Self::LostWrite { range }
            | Self::MisdirectedWrite { range } => range,
            Self::ReadRetries(_)
            | Self::Latency { .. }
            | Self::Pause
            | Self::Stuck(_)
            | Self::LinkErrors { .. }
            | Self::Retrain { .. }
            | Self::PortLoss { .. }
            | Self::ReadOnly { .. }
            | Self::PowerCut { .. }
            | Self::LyingFlush => None,
        }
    }

    /// Returns whether requests succeed even though the fault makes their data wrong.
    pub fn is_silent(&self) -> bool {
        match self {
            Self::BitFlips { .. }
            | Self::LostWrite { .. }
            | Self::MisdirectedWrite { .. }
            | Self::LyingFlush => true,
            Self::ReadRetries(_)
            | Self::MediaError { .. }
            | Self::WriteError { .. }
            | Self::Latency { .. }
            | Self::Pause
            | Self::Stuck(_)
            | Self::LinkErrors { .. }
            | Self::Retrain { .. }
            | Self::PortLoss { .. }
            | Self::ReadOnly { .. }
            | Self::PowerCut { .. } => false,
        }
    }
}

impl ReadRetries {
    /// The default endurance.
    pub const ENDURANCE: u32 = 3_000;

    /// Returns the share of reads that must be repeated in a block with `cycles` program and erase cycles.
    pub fn probability(&self, cycles: u32) -> f64 {
        let age = f64::from(cycles) / f64::from(self.endurance.max(1));
        (self.unworn.get() + self.share.get() * age * age).min(0.95)
    }

    /// Returns whether any read is repeated.
    pub fn repeats_any(&self) -> bool {
        self.unworn > Ratio::ZERO || self.share > Ratio::ZERO
    }
}

impl Default for StuckCommands {
    /// Returns a fault that affects one command, with Linux's timeout and an assumed reset time of 1 s.
    fn default() -> Self {
        Self {
            commands: 1,
            timeout: COMMAND_TIMEOUT,
            abort: None,
            reset: Duration::from_seconds(1),
            again: true,
        }
    }
}

impl Fault {
    /// Returns a fault that affects all requests of all drives from `at`.
    pub fn at(at: Duration, kind: FaultKind) -> Self {
        Self { at: Instant::ZERO + at, length: None, drive: None, share: None, kind }
    }

    /// Returns whether the fault affects `drive`.
    pub fn hurts(&self, drive: u16) -> bool {
        self.drive.is_none_or(|faulty| faulty == drive)
    }

    /// Returns the time at which the fault ends, if it ends.
    pub fn over_at(&self) -> Option<Instant> {
        if let FaultKind::PowerCut { boot } = self.kind {
            Some(self.at + boot)
        } else {
            self.length.map(|length| self.at + length)
        }
    }
}

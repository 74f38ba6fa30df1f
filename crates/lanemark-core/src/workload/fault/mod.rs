//! Faults: what goes wrong in a simulated system while it is under load, and when.
//!
//! A plan is a list of [`Fault`]s, each with its time. It is plain data, read from `[[fault]]` tables and from
//! `--fault` (one grammar for both, in `text`), and carried by a [`Workload`](super::Workload) or a system. What each
//! does to requests is the simulator's (`sim/fault`, `sim/simulator/faults.rs`), where the laws and their sources are.
//!
//! Not modelled: faults that come by themselves with age or heat, data that is wrong without an error.

mod text;

pub use text::{FaultError, read};

use serde::{Deserialize, Serialize};

use crate::units::{BitsPerSecond, Bytes, Duration, Instant, Ratio};

/// Greatest number of faults of a plan.
pub const FAULTS_MAX: usize = 1_000;
/// The longest delay, timeout or restart of a fault.
const FAULT_TIME_MAX: Duration = Duration::from_seconds(3_600);
/// The highest share of bits that a link spoils: at more, no long packet comes through.
const BIT_ERRORS_MAX: f64 = 1e-5;
/// Greatest number of commands that one fault holds.
const STUCK_MAX: u32 = 65_536;
/// Time that a host waits for the answer to a command: 30 s for SCSI disks and for NVMe in Linux (`SD_TIMEOUT`,
/// `nvme_core.io_timeout`).
pub const COMMAND_TIMEOUT: Duration = Duration::from_seconds(30);

/// A fault: something that goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fault {
    /// Time at which the fault begins.
    pub at: Instant,
    /// Length of the fault; for good where there is none.
    pub length: Option<Duration>,
    /// Number of the drive at fault, from 0; all drives where there is none.
    pub drive: Option<u16>,
    /// Kind of the fault.
    pub kind: FaultKind,
}

/// The kind of a fault. A new kind is an arm here, its keys in `text`, and what it does in `sim/simulator/faults.rs`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// Flash reads have to be repeated with other thresholds.
    ReadRetries(ReadRetries),
    /// A range of the drive cannot be read.
    MediaError {
        /// First byte of the range.
        start: Bytes,
        /// First byte after the range.
        end: Bytes,
        /// Time that the drive tries before it gives up.
        recovery: Duration,
    },
    /// Each command takes longer on the media.
    Latency {
        /// Additional time of each command.
        extra: Duration,
    },
    /// The media take no command.
    Pause,
    /// Commands are not answered.
    Stuck(Stuck),
    /// Bits are spoilt on a link.
    LinkErrors {
        /// The link.
        link: LinkPlace,
        /// The share of bits that are wrong.
        rate: f64,
        /// Time from a command's error until the host sends it again, over SATA and SAS.
        recovery: Duration,
    },
    /// A link trains to other lanes or to another rate.
    Retrain {
        /// The link.
        link: LinkPlace,
        /// Rate and width that the link trains to.
        to: Training,
    },
    /// No answer comes over a port.
    PortLoss {
        /// The port, 0 for the first.
        port: u8,
        /// Time that the host waits for an answer; as long as its multipath layer does where there is none.
        timeout: Option<Duration>,
    },
    /// The drive takes no writes.
    ReadOnly {
        /// Bytes that the drive takes from the host before that, from the beginning of the run on.
        written: Bytes,
    },
    /// The power fails, and comes back at once.
    PowerCut {
        /// Time until requests can be submitted again.
        boot: Duration,
    },
}

/// Reads that have to be repeated because too many bits were wrong.
///
/// The share of reads that need a further one is `share * (cycles / endurance)^2`, and of those that need
/// a second one likewise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadRetries {
    /// The share at the end of the drive's life.
    pub share: Ratio,
    /// Program and erase cycles that a block is good for.
    pub endurance: u32,
}

/// Commands that the drive does not answer, and what the host does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Number of commands that are not answered.
    pub commands: u32,
    /// Time that the host waits for an answer.
    pub timeout: Duration,
    /// Time of an abort that ends such a command; the host resets the drive where there is none.
    pub abort: Option<Duration>,
    /// Time of a reset.
    pub reset: Duration,
    /// Whether the host sends again what it gave up, or lets its request fail.
    pub again: bool,
}

/// A link on the way to a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkPlace {
    /// The drive's port, 0 for the first.
    pub port: u8,
    /// Number of the link on the path, 0 for the nearest to the host; the last, at the drive, where there is none.
    pub number: Option<u8>,
}

/// The rate and width that a link trains to. What is left out stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Training {
    /// Lanes of PCI Express, phys of SAS.
    pub lanes: Option<u32>,
    /// The generation of PCI Express.
    pub generation: Option<u32>,
    /// The line rate of SATA or SAS.
    pub speed: Option<BitsPerSecond>,
}

impl ReadRetries {
    /// The endurance where none is told.
    pub const ENDURANCE: u32 = 3_000;

    /// Returns the share of reads to repeat in a block with `cycles` program and erase cycles.
    pub(crate) fn probability(&self, cycles: u32) -> f64 {
        let age = f64::from(cycles) / f64::from(self.endurance.max(1));
        (self.share.get() * age * age).min(0.95)
    }
}

impl Default for Stuck {
    /// A fault of one command, with Linux's timeout, and a reset of 1 s, which is assumed.
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
    /// A fault that all drives have from `at` on.
    pub fn at(at: Duration, kind: FaultKind) -> Self {
        Self { at: Instant::ZERO + at, length: None, drive: None, kind }
    }

    /// Returns whether the fault affects `drive`.
    pub(crate) fn hurts(&self, drive: u16) -> bool {
        self.drive.is_none_or(|own| own == drive)
    }

    /// Returns the time at which the fault is over, where it ever is.
    pub(crate) fn over_at(&self) -> Option<Instant> {
        match self.kind {
            FaultKind::PowerCut { boot } => Some(self.at + boot),
            _ => self.length.map(|length| self.at + length),
        }
    }
}

//! The model of a link: a table of the times for which each phase of a command occupies each direction.
//!
//! Each kind of link has its own folder, in which `table.rs` fills the table. This file also defines the values to
//! which the link trains, the cost of a wrong bit and the maximum throughput. [`Link`](super::Link) turns the table
//! into stations and does not depend on the kind.

use std::fmt;

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::fault::TrainedRate;
use lanemark_schema::workload::{Operation, Test};

/// The position of a burst among the bursts of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstPosition {
    /// Whether the burst is the first burst of the command.
    pub first: bool,
    /// Whether the burst is the last burst of the command.
    pub last: bool,
}

/// A burst of data on its path over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkBurst {
    /// Length of the burst.
    pub(crate) bytes: Bytes,
    /// Position of the burst in its command.
    pub(crate) position: BurstPosition,
}

/// A phase of a command on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandPhase {
    /// The command, if the link issues it in dedicated frames.
    Command(Operation),
    /// A burst of data to the host; the frames that end the command follow the last burst.
    ToHost(Bytes, BurstPosition),
    /// A burst of data to the drive, which requests it first.
    ToDrive(Bytes, BurstPosition),
    /// The end of a command that sent no data to the host, unless it followed data to the drive.
    Completion(Operation),
    /// Accesses of a protocol to memory and registers, if the link carries them.
    Accesses(ProtocolAccesses),
}

/// Accesses of a protocol to memory and registers, in addition to a command's data. The protocol determines their
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolAccesses {
    /// Length of a write by the host to the device.
    pub host_writes: Bytes,
    /// Lengths of the writes by the device to the host's memory.
    pub device_writes: [Bytes; 2],
    /// Bytes that the device reads from the host's memory, and the number of requests for them.
    pub device_reads: (Bytes, u64),
}

/// The time for which a phase occupies each direction. On a half-duplex link the two directions share the wire, and
/// their times are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTime {
    /// The direction to the host.
    pub to_host: Duration,
    /// The direction to the drive.
    pub to_drive: Duration,
}

impl PhaseTime {
    /// The cost of a phase that the link does not carry.
    pub(super) const NONE: Self = Self { to_host: Duration::ZERO, to_drive: Duration::ZERO };

    /// Returns the cost on a link that is `speed` times as fast as its model.
    pub(super) fn at_speed(self, speed: u32) -> Self {
        let Self { to_host, to_drive } = self;
        Self { to_host: at_speed(speed, to_host), to_drive: at_speed(speed, to_drive) }
    }
}

/// Returns `time` on a link that is `speed` times as fast as its model.
pub(super) fn at_speed(speed: u32, time: Duration) -> Duration {
    match speed {
        1 => time,
        _ => time / u64::from(speed.max(1)),
    }
}

impl std::ops::Add for PhaseTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { to_host: self.to_host + other.to_host, to_drive: self.to_drive + other.to_drive }
    }
}

/// The requests of a test on a link, from which the link's ceiling is computed.
#[derive(Clone, Copy)]
pub(crate) struct LinkLoad<'t> {
    /// The test.
    pub test: &'t Test,
    /// Maximum length of the commands into which requests are split.
    pub transfer_max: Bytes,
    /// Minimum amount of data that leaves the media at once.
    pub least: Bytes,
    /// Accesses that end a command.
    pub end: ProtocolAccesses,
}

/// A kind of link.
pub(crate) trait LinkFormulas: fmt::Display {
    /// Returns the time for which a phase occupies each direction, at the model's own speed.
    fn cost(&self, phase: CommandPhase) -> PhaseTime;

    /// Returns the rate in one direction after the line code, before the overhead of frames and packets.
    fn rate(&self) -> BytesPerSecond;

    /// Returns the maximum throughput of the link for the requests.
    fn ceiling(&self, load: LinkLoad<'_>) -> BytesPerSecond;

    /// Returns the model after the link has trained to `to`, or `None` if the link cannot train to this rate.
    fn train(&self, to: TrainedRate) -> Option<Self>
    where
        Self: Sized;

    /// Returns the values to which the link can train, as text.
    fn trainings(&self) -> &'static str;

    /// Returns the number of bits on the wire for `bytes` of data.
    fn bits(&self, bytes: Bytes) -> u64;

    /// Returns the time that a wrong bit costs if the link itself repeats the data, or `None` if the command must be
    /// repeated.
    fn replay_time(&self) -> Option<Duration> {
        None
    }

    /// Returns the time of a full data frame of a half-duplex link; a command can be sent between two such frames.
    fn half_duplex_frame(&self) -> Option<Duration> {
        None
    }

    /// Returns the number of connections that the link carries in parallel.
    fn connections(&self) -> u32 {
        1
    }

    /// Returns whether the link carries accesses to memory, rather than commands in dedicated frames.
    fn carries_accesses(&self) -> bool {
        false
    }
}

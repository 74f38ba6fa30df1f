//! The law of a link: a table of what each phase of a command takes of each direction.
//!
//! Each kind of link fills the table in a folder of its own (`table.rs`), and says there to what it trains, what a wrong
//! bit costs and what it carries at most. [`Link`](super::Link) makes stations of the table and knows no kind.

use std::fmt;

use crate::units::{Bytes, BytesPerSecond, Duration};
use crate::workload::fault::Training;
use crate::workload::{Operation, Test};

/// The place of a burst among those of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether nothing of the command was sent before.
    pub first: bool,
    /// Whether nothing of the command will be sent after.
    pub last: bool,
}

/// A phase of a command on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The command, where the link issues it by frames of its own.
    Command(Operation),
    /// A burst of data to the host; behind the last one goes what ends the command.
    ToHost(Bytes, Place),
    /// A burst of data to the drive, which asks for it first.
    ToDrive(Bytes, Place),
    /// The end of a command that brought the host no data, where it did not go behind data to the drive.
    Completion(Operation),
    /// Accesses of a protocol to memory and registers, where the link carries such.
    Accesses(Accesses),
}

/// Accesses of a protocol to memory and registers beside a command's data. Their bytes are the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accesses {
    /// A write of the host to the device.
    pub host_writes: Bytes,
    /// Writes of the device to the host's memory.
    pub device_writes: [Bytes; 2],
    /// Bytes that the device reads from the host's memory, and in how many requests.
    pub device_reads: (Bytes, u64),
}

/// The time that a phase takes of each direction. Of a half-duplex link both are one, and their times add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The direction to the host.
    pub to_host: Duration,
    /// The direction to the drive.
    pub to_drive: Duration,
}

impl Cost {
    /// The cost of what the link does not carry.
    pub(super) const NONE: Self = Self { to_host: Duration::ZERO, to_drive: Duration::ZERO };

    /// Returns the cost on a link that is `speed` times as fast as its law.
    pub(super) fn at_speed(self, speed: u32) -> Self {
        let Self { to_host, to_drive } = self;
        Self { to_host: at_speed(speed, to_host), to_drive: at_speed(speed, to_drive) }
    }
}

/// Returns `time` on a link that is `speed` times as fast as its law.
pub(super) fn at_speed(speed: u32, time: Duration) -> Duration {
    match speed {
        1 => time,
        _ => time / u64::from(speed.max(1)),
    }
}

impl std::ops::Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (to_host, to_drive) = (self.to_host + other.to_host, self.to_drive + other.to_drive);
        Self { to_host, to_drive }
    }
}

/// Requests of a test on a link, for its ceiling.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'t> {
    /// The test.
    pub test: &'t Test,
    /// The largest command that requests are cut into.
    pub transfer_max: Bytes,
    /// The least data that comes off the media at once.
    pub least: Bytes,
    /// Accesses that end a command.
    pub end: Accesses,
}

/// A kind of link.
pub(crate) trait Law: fmt::Display {
    /// The table: what a phase takes of each direction, at the law's own speed.
    fn cost(&self, phase: Phase) -> Cost;

    /// Bytes a second one way after the line code, before frames and packets.
    fn rate(&self) -> BytesPerSecond;

    /// The most that the link carries of what is asked.
    fn ceiling(&self, asked: Asked<'_>) -> BytesPerSecond;

    /// The law after the link has trained anew; nothing where it cannot train to that.
    fn train(&self, to: Training) -> Option<Self>
    where
        Self: Sized;

    /// The values that the link trains to, in words.
    fn trainings(&self) -> &'static str;

    /// Bits on the wire for `bytes` of data.
    fn bits(&self, bytes: Bytes) -> u64;

    /// Returns the time that a wrong bit costs where the link itself sends again; nothing where the command has to.
    fn replay_time(&self) -> Option<Duration> {
        None
    }

    /// A full frame of data of a half-duplex link, between two of which a command gets in.
    fn half_duplex_frame(&self) -> Option<Duration> {
        None
    }

    /// Connections that the link carries side by side.
    fn connections(&self) -> u32 {
        1
    }

    /// Whether the link carries accesses to memory, rather than commands in frames of its own.
    fn carries_accesses(&self) -> bool {
        false
    }
}

//! A bridge: the chip in an enclosure that receives commands over USB and passes them to a drive with another
//! interface.
//!
//! Model. Each command occupies the bridge's processor for `command_time`; data passes at `rate` in each direction.
//! Written data and commands take turns, like all traffic from the host. The latency of the bridge's link represents
//! the time through the bridge, including the storage of frames until they are checked: a read incurs this latency
//! twice, and a write three times (command, data, status). Command time and rate are properties of the chip, taken from
//! published data.
//!
//! Not modelled: data that the bridge reads ahead or caches, several processors, a sector size different from the
//! sector size of the drive, the drive's queue downstream of an NVMe bridge (its time is part of `command_time`).

use std::fmt;

use crate::link::formulas::{CommandPhase, LinkFormulas, LinkLoad, PhaseTime};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::fault::TrainedRate;

/// A bridge between USB and a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// Time for which each command occupies the bridge.
    pub command_time: Duration,
    /// Maximum data rate in one direction.
    pub rate: BytesPerSecond,
}

impl LinkFormulas for Bridge {
    fn cost(&self, phase: CommandPhase) -> PhaseTime {
        match phase {
            CommandPhase::Command(_) => {
                PhaseTime { to_drive: self.command_time, ..PhaseTime::NONE }
            }
            CommandPhase::ToHost(bytes, _) => {
                PhaseTime { to_host: bytes / self.rate, ..PhaseTime::NONE }
            }
            CommandPhase::ToDrive(bytes, _) => {
                PhaseTime { to_drive: bytes / self.rate, ..PhaseTime::NONE }
            }
            CommandPhase::Completion(_) | CommandPhase::Accesses(_) => PhaseTime::NONE,
        }
    }

    fn rate(&self) -> BytesPerSecond {
        self.rate
    }

    fn ceiling(&self, LinkLoad { test, transfer_max, .. }: LinkLoad<'_>) -> BytesPerSecond {
        let share = test.ceiling_read_share().get();
        let count = test.block.get().div_ceil(transfer_max.get());
        let data = (test.block / self.rate).as_seconds();
        let to_drive = (self.command_time * count).as_seconds() + data * (1.0 - share);
        BytesPerSecond((test.block.get() as f64 / to_drive.max(data * share)) as u64)
    }

    fn train(&self, _: TrainedRate) -> Option<Self> {
        None
    }

    fn trainings(&self) -> &'static str {
        "no other rate, because it is a chip"
    }

    fn bits(&self, bytes: Bytes) -> u64 {
        bytes.get() * 8
    }
}

impl fmt::Display for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} a command, {} each way", self.command_time, self.rate)
    }
}

//! Phases of a sample: parts during which the rate is constant.

use serde::{Deserialize, Serialize};

use super::range::{FIGURE_MAX, RangeCheck, TIME_MAX_NS, ValuePath, check_within};
use crate::units::Duration;

/// A reserve of a system that a load uses up, after which the system behaves differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserve {
    /// Free space in the cache of a host bus adapter.
    AdapterCache,
    /// Free space in the write buffer of a drive.
    WriteBuffer,
    /// Free space in the pseudo-SLC cache of a drive.
    PseudoSlc,
    /// Data between a sequential reader and the next boundary of the drive's pseudo-SLC cache.
    PseudoSlcBoundary,
    /// Erased flash that the host can fill before garbage collection begins.
    ErasedFlash,
    /// Free space for pages of the map in the memory of a drive.
    DriveMap,
    /// Free space for pages of the map in the memory that the host lends to a drive.
    HostMap,
    /// Burst credits of a cloud volume for operations.
    OperationCredits,
    /// Burst credits of a cloud volume for bytes.
    ThroughputCredits,
}

impl Reserve {
    /// Returns the event that ends a phase, as the end of a sentence.
    pub fn end(self) -> &'static str {
        match self {
            Self::AdapterCache => "the adapter's cache is full",
            Self::WriteBuffer => "the write buffer is full",
            Self::PseudoSlc => "the pseudo-SLC cache is full",
            Self::PseudoSlcBoundary => "the reads cross the boundary of the pseudo-SLC cache",
            Self::ErasedFlash => "erased flash is used up",
            Self::DriveMap => "the drive's map memory is full",
            Self::HostMap => "the host's memory for the map is full",
            Self::OperationCredits => "the I/O credits are used up",
            Self::ThroughputCredits => "the throughput credits are used up",
        }
    }
}

/// A part of a sample during which the rate is constant; a phase ends when a reserve is used up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatePhase {
    /// End of the phase, counted from the start of the sample.
    #[serde(rename = "until_ns")]
    pub until: Duration,
    /// Completed requests a second in the phase.
    pub iops: f64,
    /// The reserve that was used up at the end of the phase; absent for the last phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<Reserve>,
}

impl RatePhase {
    pub(super) fn check(&self, at: &ValuePath) -> RangeCheck {
        check_within(&at.key("until_ns"), self.until.nanoseconds() as f64, TIME_MAX_NS)?;
        check_within(&at.key("iops"), self.iops, FIGURE_MAX)
    }
}

//! The kinds of media that hold the data of a drive.

use super::bounds::SpecError;
use super::disk::DiskSpec;
use super::flash::{FlashSpec, SLOT};
use super::power::MediaPower;
use crate::units::Bytes;

/// The media that hold the data of a drive. A new kind is one arm here and in `sim::drive`.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaSpec {
    /// NAND flash or its like.
    Flash(FlashSpec),
    /// Platters under an arm.
    Disk(DiskSpec),
}

impl MediaSpec {
    /// Checks all bounds that the model relies on, for a drive of `capacity`.
    ///
    /// # Errors
    /// The first value that is out of its bounds.
    pub fn check(&self, capacity: Bytes) -> Result<(), SpecError> {
        match self {
            Self::Flash(flash) => flash.check(capacity),
            Self::Disk(disk) => disk.check(capacity),
        }
    }

    /// Returns whether `power` is that of such media.
    pub(super) fn takes(&self, power: &MediaPower) -> bool {
        matches!(
            (self, power),
            (Self::Flash(_), MediaPower::Flash { .. }) | (Self::Disk(_), MediaPower::Disk { .. })
        )
    }

    /// The room that the write buffer needs besides a burst, and why.
    pub(super) fn buffer_min(&self) -> (Bytes, &'static str) {
        match self {
            Self::Flash(flash) => (flash.unit() * 2, "a burst and two flash units"),
            // A burst that is not aligned takes a slot more at either end.
            Self::Disk(_) => (SLOT * 2, "a burst that is not aligned"),
        }
    }
}

//! The journal of a file system.

use super::bounds::{SpecError, check_step_times};
use super::flash::SLOT;
use crate::units::{Bytes, Duration};

/// The journal of a file system, in which a sync of a file commits the changes of its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalSpec {
    /// Data that a commit writes first: its descriptor and the blocks of metadata that have changed.
    pub records: Bytes,
    /// Data that it writes when those are stored: the commit block.
    pub commit: Bytes,
    /// Step of the clock by which a file's time of change is kept: a file that was changed and committed in the same
    /// step has nothing to commit.
    pub timestamp_step: Duration,
}

/// The most data of one part of a commit.
const PART_MAX: Bytes = Bytes::mebi(1);

impl JournalSpec {
    /// Checks what the simulator relies on.
    ///
    /// # Errors
    /// A value out of its bound.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        for (field, part) in [("journal_records", self.records), ("journal_commit", self.commit)] {
            if part < SLOT || part > PART_MAX || !part.get().is_multiple_of(SLOT.get()) {
                let bound = format!("a multiple of {SLOT} up to {PART_MAX}");
                return Err(SpecError { field, value: part.to_string(), bound });
            }
        }
        check_step_times([("timestamp_step", self.timestamp_step)])
    }
}

//! The journal of a file system.

use super::bounds::{SpecError, check_step_times};
use super::flash::SLOT;
use lanemark_schema::units::{Bytes, Duration};

/// The journal of a file system, in which a sync of a file commits the changes of its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalSpec {
    /// Amount of data that a commit writes first: its descriptor and the changed metadata blocks.
    pub records: Bytes,
    /// Amount of data that a commit writes after the records are stored: the commit block.
    pub commit: Bytes,
    /// Resolution of the clock that timestamps a file's changes: a file that was changed and committed in the same time
    /// step does not need another commit.
    pub timestamp_step: Duration,
}

/// Maximum length of one part of a commit.
const PART_MAX: Bytes = Bytes::mebi(1);

impl JournalSpec {
    /// Checks the bounds on which the simulator relies.
    ///
    /// # Errors
    /// Returns an error if a value is out of bounds.
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

//! Outcomes of a drive: completed steps of its media, after which the path to the host continues.
//!
//! Media of every kind emit the same few outcomes. The simulator processes the outcomes in order, regardless of their
//! source.

use crate::engine::slab::CommandHandle;
use crate::engine::station::ServiceSpan;
use crate::engine::trace::MediaTimes;
use lanemark_schema::units::Bytes;

/// An outcome of a drive's work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DriveOutcome {
    /// Data of a read has left the media and is sent to the host.
    Data {
        /// The command to which the data belongs.
        command: CommandHandle,
        /// Length of the data.
        bytes: Bytes,
        /// Times of the data in the media.
        passage: MediaTimes,
    },
    /// A page of the map, for which a command waited, has arrived.
    Map {
        /// The command that waited.
        command: CommandHandle,
        /// Times of the page in the media.
        passage: MediaTimes,
    },
    /// The firmware has prepared the media for a command; this work follows the command's decoding.
    Prepared(CommandHandle),
    /// A burst of a write is on the media, and its command waits for it.
    Stored {
        /// The command that waits.
        command: CommandHandle,
        /// Time of the burst in the media.
        span: ServiceSpan,
    },
    /// Room has been released in the write buffer.
    Room(Bytes),
    /// A command has waited for its last condition and completes.
    Done(CommandHandle),
    /// There is no outcome for the host.
    Nothing,
}

/// Unprocessed outcomes, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutcomeQueue {
    all: Vec<DriveOutcome>,
    /// Number of processed outcomes.
    taken: usize,
}

impl OutcomeQueue {
    #[inline]
    pub(crate) fn emit(&mut self, outcome: DriveOutcome) {
        self.all.push(outcome);
    }

    /// Returns whether all outcomes were processed.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn take(&mut self) -> Option<DriveOutcome> {
        let next = self.all.get(self.taken).copied();
        match next {
            Some(_) => self.taken += 1,
            None => {
                self.all.clear();
                self.taken = 0;
            }
        }
        next
    }
}

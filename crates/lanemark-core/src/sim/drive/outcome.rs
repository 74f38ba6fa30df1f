//! Outcomes of a drive: what its media have done that the way to the host goes on with.
//!
//! Media of every kind emit the same few. The simulator acts on them in their order, and does not know what emits them.

use crate::sim::budget::Spent;
use crate::sim::slab::CommandHandle;
use crate::sim::station::Span;
use crate::units::{Bytes, Instant};

/// An outcome of a drive's work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// Data of a read is off the media, and goes to the host.
    Data {
        /// The command of the data.
        command: CommandHandle,
        /// Length of the data.
        bytes: Bytes,
        /// Times of the data in the media.
        passage: Passage,
    },
    /// A page of the map is there, for which a command waited.
    Map {
        /// The command that waited.
        command: CommandHandle,
        /// Times of the page in the media.
        passage: Passage,
    },
    /// The firmware has prepared the media for a command, beyond its decoding.
    Prepared(CommandHandle),
    /// A burst of a write is on the media, for which its command waits.
    Stored {
        /// The command that waits.
        command: CommandHandle,
        /// Time of the burst in the media.
        span: Span,
    },
    /// Room has come back in the write buffer.
    Room(Bytes),
    /// A command has nothing more to wait for: it completes.
    Done(CommandHandle),
    /// There is nothing for the host.
    Nothing,
}

/// Times in the media, as a command's time budget has them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passage {
    /// Media were at work in a span, and before it the command waited.
    Span(Span),
    /// Media and channels counted the time since the command got there.
    Counted {
        /// Time at the media.
        media: Spent,
        /// Time at the channels.
        channels: Spent,
    },
}

impl Passage {
    /// The command waited for the media until `now`, where others had their work done.
    pub(crate) fn waited(now: Instant) -> Self {
        Self::Span(Span { start: now, end: now })
    }

    /// The media worked for the command until `now`.
    pub(crate) fn worked(now: Instant) -> Self {
        Self::Span(Span { start: Instant::ZERO, end: now })
    }
}

/// Outcomes that nobody has acted on, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    all: Vec<Outcome>,
    /// Number of the outcomes that were acted on already.
    taken: usize,
}

impl Outcomes {
    /// Adds an outcome.
    #[inline]
    pub(crate) fn emit(&mut self, outcome: Outcome) {
        self.all.push(outcome);
    }

    /// Returns whether all outcomes were acted on.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes the next outcome.
    pub(crate) fn take(&mut self) -> Option<Outcome> {
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

//! The streams of writes, and the numbers of slots that they write.

/// A write stream: data that shares superblocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteStream {
    /// Data that the host writes.
    Host,
    /// Data that the host writes and is expected to overwrite soon.
    Hot,
    /// Data that collection moves.
    Moved,
    /// Data that collection moves and the host is expected to overwrite soon.
    MovedHot,
    /// Data that the host writes to the pseudo-SLC cache.
    PseudoSlc,
}

pub(super) const STREAMS: usize = 5;

impl WriteStream {
    pub(super) const ALL: [Self; STREAMS] =
        [Self::Host, Self::Hot, Self::Moved, Self::MovedHot, Self::PseudoSlc];

    /// Returns whether the stream contains data that collection moves.
    pub(super) fn is_moved(self) -> bool {
        matches!(self, Self::Moved | Self::MovedHot)
    }
}

/// Numbers of slots written to flash, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotsWritten {
    /// Slots written by the host.
    pub host: u64,
    /// Slots moved by collection and wear levelling.
    pub moved: u64,
    /// Slots moved out of the pseudo-SLC cache.
    pub folded: u64,
    /// Slots left empty because a unit had to be stored before it was full.
    pub padded: u64,
}

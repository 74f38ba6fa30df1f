//! The streams of writes, and the numbers of slots that they write.

/// A write stream: data that shares superblocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteStream {
    /// Data that the host writes.
    Host,
    /// Data that collection moves.
    Moved,
    /// Data that the host writes to the pseudo-SLC cache.
    PseudoSlc,
}

/// Number of write streams.
pub(super) const STREAMS: usize = 3;

impl WriteStream {
    pub(super) const ALL: [Self; STREAMS] = [Self::Host, Self::Moved, Self::PseudoSlc];
}

/// Numbers of slots written to flash, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotsWritten {
    /// Slots written by the host.
    pub host: u64,
    /// Slots moved by collection.
    pub moved: u64,
    /// Slots moved out of the pseudo-SLC cache.
    pub folded: u64,
    /// Slots left empty because a unit had to be stored before it was full.
    pub padded: u64,
}

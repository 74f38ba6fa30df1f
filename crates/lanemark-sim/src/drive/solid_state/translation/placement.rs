//! Mappings in the order in which they are made, for tests that follow the data.

/// A slot that was mapped to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) slot: u32,
    pub(crate) place: u32,
    /// The place from which the slot was moved; `None` for data that the host wrote.
    pub(crate) from: Option<u32>,
}

//! Mappings in chronological order, for tests that track the data.

/// The mapping of a logical slot to a flash slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotPlacement {
    pub(crate) slot: u32,
    pub(crate) place: u32,
    /// The flash slot from which the data was moved; `None` for data that the host wrote.
    pub(crate) from: Option<u32>,
}

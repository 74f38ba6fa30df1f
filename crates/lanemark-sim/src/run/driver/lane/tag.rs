//! The tag of a request, which names its owner.

/// The owner of a request: a lane, and a slot in the lane; in a closed loop, the slot is a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneTag {
    pub(crate) lane: u32,
    pub(super) slot: u32,
}

impl LaneTag {
    /// Decodes the tag of a completion.
    pub(crate) fn decode(tag: u64) -> Self {
        Self { lane: (tag >> 32) as u32, slot: tag as u32 }
    }

    /// Encodes the tag of a submission.
    pub(super) fn number(self) -> u64 {
        u64::from(self.lane) << 32 | u64::from(self.slot)
    }
}

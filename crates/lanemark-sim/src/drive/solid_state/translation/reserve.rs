//! The amounts of flash that the host can write before the behaviour of the drive changes.

use lanemark_schema::result::Reserve;

use super::layout::InitialLayout;
use super::{NOT_LENT, Translation, WriteStream};
use crate::spec::{ERASED_MIN, kept_pseudo_slc};

/// Maximum number of superblocks that collection erases ahead of its required number.
const COLLECTED_AHEAD: usize = 2;

impl Translation {
    /// Returns the number of slots from `slot` to the next boundary between data that is in the pseudo-SLC cache and
    /// other data, if the layout before the run contains such a boundary. After the last slot with data, a sequential
    /// reader continues at the first slot.
    pub(crate) fn data_before_boundary(&self, slot: u64) -> Option<u64> {
        let InitialLayout::InOrder { slots, cached } = &self.layout else { return None };
        let cached = u64::from(cached.slots());
        let slots = u64::from(*slots);
        if cached == 0 || cached >= slots {
            return None;
        }
        let boundary = if slot < cached { cached } else { slots };
        Some(boundary.saturating_sub(slot))
    }

    /// Returns the number of superblocks that the pseudo-SLC cache always has with the present amount of data.
    pub(super) fn kept_pseudo_slc(&self) -> usize {
        let fixed = self.pseudo_slc_fixed;
        // Most caches leave enough flash to collection even on a full drive.
        if fixed <= self.reserve / 2 {
            return fixed;
        }
        let filled = self.superblocks.valid().div_ceil(self.slots_per_superblock.max(1).into());
        let spare = (self.superblocks.len() as u64).saturating_sub(filled);
        kept_pseudo_slc(fixed as u64, spare) as usize
    }

    /// Returns the number of erased slots that were used up, apart from the slots that collection maintains.
    pub(crate) fn erased_used(&self) -> u64 {
        self.erased_before.saturating_sub(self.erased_beyond_collection())
    }

    /// Returns the number of erased slots that collection does not maintain: it does not begin before they are used up.
    pub(super) fn erased_beyond_collection(&self) -> u64 {
        let erased = self.superblocks.erased() + self.superblocks.coming;
        let beyond = erased.saturating_sub(ERASED_MIN as usize + COLLECTED_AHEAD) as u64;
        let open = self.frontiers.iter().flatten();
        let open: u64 = open.map(|frontier| u64::from(frontier.end - frontier.next)).sum();
        if beyond > 0 { beyond * u64::from(self.slots_per_superblock) + open } else { 0 }
    }

    /// Appends the number of slots left in the pseudo-SLC cache, and the number of erased slots that the host can fill
    /// before collection begins.
    pub(crate) fn reserves(&self, left: &mut Vec<(Reserve, u64)>) {
        let open_slots = |stream: WriteStream| {
            let frontier = self.frontiers[stream as usize].as_ref();
            frontier.map_or(0, |frontier| u64::from(frontier.end - frontier.next))
        };
        let erased = self.superblocks.erased() + self.superblocks.coming;
        let least = ERASED_MIN as usize;
        let used = self.pseudo_slc_used;
        let kept = self.pseudo_slc_kept;
        let lent = self.reserve.saturating_sub(kept).max(least + NOT_LENT);
        let own_free_slots = kept.saturating_sub(used);
        let cache = match self.pseudo_slc_max {
            0 => 0,
            most => own_free_slots.max(most.saturating_sub(used).min(erased.saturating_sub(lent))),
        };
        let cache =
            cache as u64 * u64::from(self.pseudo_slc_each) + open_slots(WriteStream::PseudoSlc);
        left.push((Reserve::PseudoSlc, cache));
        let free = erased.saturating_sub(least) as u64 * u64::from(self.slots_per_superblock);
        left.push((
            Reserve::ErasedFlash,
            free + open_slots(WriteStream::Host) + open_slots(WriteStream::PseudoSlc),
        ));
    }
}

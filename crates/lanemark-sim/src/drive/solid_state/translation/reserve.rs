//! The amounts of flash that the host can write before the behaviour of the drive changes.

use lanemark_schema::result::Reserve;

use super::layout::InitialLayout;
use super::{NOT_LENT, Translation, WriteStream};
use crate::spec::ERASED_MIN;

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

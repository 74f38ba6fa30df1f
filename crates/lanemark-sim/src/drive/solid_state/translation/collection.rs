//! Garbage collection: valid data is moved out of superblocks so that they can be erased.
//!
//! When fewer than [`ERASED_MIN`] superblocks are erased, each unit that the host writes triggers moves of enough valid
//! data to keep this number constant. If v of the S slots of a victim are valid, v slots are moved for every S - v
//! slots written, and more if fewer erased superblocks are left. The pseudo-SLC cache is folded by the same rule, with
//! a victim from the cache.

use super::layout::EMPTY;
use super::superblock::SuperblockState;
use super::victim::{UPCOMING, Victim, VictimCursor};
use super::{FullUnit, Translation, WriteStream};
use crate::engine::number::SuperblockNumber;
use crate::spec::ERASED_MIN;

/// Data that is moved: a number of slots in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MovedSlots {
    /// The unit that is read.
    pub unit: u32,
    /// Number of slots that are moved.
    pub slots: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectionStep {
    /// A unit must be programmed after its moved data has been read.
    Filled(FullUnit),
    /// A superblock no longer contains valid data, and no unit has been filled.
    Emptied,
    /// There is no data to move, or no erased flash for it yet.
    Nothing,
}

/// The next step that makes room for data of the host that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoomStep {
    /// Fold a superblock of the pseudo-SLC cache.
    Fold,
    /// Collect another superblock.
    Collect,
    /// Store the moved data: a superblock waits for it before it can be erased.
    Store,
}

impl Translation {
    /// Returns the next step that makes room for data of the host that waits. A cache into which all data must go is
    /// folded by one superblock at a time, so that collection keeps pace with the folded data; a cache that writes
    /// bypass remains full.
    pub(crate) fn room_step(&self) -> RoomStep {
        let waits_for_cache = self.spec.pseudo_slc.is_some_and(|cache| cache.fold_when_full);
        let open = usize::from(self.frontiers[WriteStream::PseudoSlc as usize].is_some());
        let filled = self.pseudo_slc.len() + open;
        let ready = self.superblocks.erased() + self.superblocks.coming;
        if self.pseudo_slc_used > self.pseudo_slc_kept {
            RoomStep::Fold
        } else if !waits_for_cache || ready < ERASED_MIN as usize {
            RoomStep::Collect
        } else if filled == self.pseudo_slc_used || self.victim.is_some() {
            RoomStep::Fold
        } else {
            RoomStep::Store
        }
    }

    /// Returns whether collection is slower than its required pace, after the host has filled `filled` more slots.
    pub(crate) fn is_collection_behind(&mut self, filled: u32) -> bool {
        let ready = (self.superblocks.erased() + self.superblocks.coming) as u32;
        if ready >= ERASED_MIN {
            self.debt = 0.0;
            return false;
        }
        let Some(victim) = self.choose_victim(false) else { return false };
        let size = f64::from(self.slots_per_superblock);
        let valid = f64::from(victim.valid);
        // A fully valid victim frees no space, so its move is not urgent.
        let pace = if valid < size { valid / (size - valid) } else { 1.0 };
        let behind = 1.0 + f64::from(ERASED_MIN - ready - 1) / f64::from(ERASED_MIN);
        self.debt += f64::from(filled) * pace * behind;
        self.debt >= f64::from(self.slots_per_unit) || valid == 0.0
    }

    /// Returns whether an idle drive has data to move: data in its pseudo-SLC cache.
    pub(crate) fn works_when_idle(&self) -> bool {
        !self.pseudo_slc.is_empty()
    }

    /// Returns the superblock that is being emptied, or the next victim.
    pub(super) fn choose_victim(&mut self, fold: bool) -> Option<Victim> {
        if let Some(victim) = self.victim {
            return Some(victim);
        }
        // If erased flash is scarce, superblocks that were lent to the cache are returned first.
        let fold = fold || self.pseudo_slc_used > self.pseudo_slc_kept;
        let folded = if fold { self.pseudo_slc.pop_front() } else { None };
        let chosen = folded
            .or_else(|| self.superblocks.victim(self.slots_per_superblock))
            .or_else(|| self.pseudo_slc.pop_front());
        self.upcoming = VictimCursor::START;
        self.victim = chosen.map(|superblock| {
            let valid = self.superblocks.get(superblock).valid;
            Victim { superblock, next: 0, valid }
        });
        self.victim
    }

    /// Moves valid data until a unit is full or a superblock is empty, and adds the necessary reads to `sources`. With
    /// `fold`, collection empties the pseudo-SLC cache first.
    pub(crate) fn relocate(&mut self, fold: bool, sources: &mut Vec<MovedSlots>) -> CollectionStep {
        let Some(mut victim) = self.choose_victim(fold) else {
            return self.pad_moved();
        };
        let open = self.frontiers[WriteStream::Moved as usize].is_some();
        let stream = (open || self.open(WriteStream::Moved)).then_some(WriteStream::Moved);
        // While a superblock is about to be erased, the data of the victim waits for it.
        if stream.is_none()
            && victim.valid > 0
            && self.superblocks.coming == 0
            && let Some(empty) = self.change_to_empty_victim(victim)
        {
            victim = empty;
        }
        let (filled, next) = match stream {
            Some(stream) => self.move_from(victim, stream, sources),
            // A victim without valid data is erased even if there is no erased flash for moved data.
            None if self.superblocks.get(victim.superblock).valid == 0 => {
                (None, self.slots_per_superblock)
            }
            None => return self.pad_moved(),
        };
        self.victim = Some(Victim { next, ..victim });
        if next == self.slots_per_superblock || self.superblocks.get(victim.superblock).valid == 0 {
            self.victim = None;
            self.superblocks.coming += 1;
            let emptied = self.superblocks.get_mut(victim.superblock);
            emptied.state = SuperblockState::Emptied;
            // Some of the superblock's units may be in transit, if it was filled only recently.
            if emptied.pins == 0 && emptied.unstored == 0 {
                self.release(victim.superblock);
            }
        }
        let Some(filled) = filled else { return CollectionStep::Emptied };
        self.debt = (self.debt - f64::from(filled.slots)).max(0.0);
        CollectionStep::Filled(filled)
    }

    /// Replaces `victim`, for whose data there is no erased flash, with a superblock without valid data, if one exists.
    /// The new victim can be erased at once, after which the data of the old victim can be moved.
    fn change_to_empty_victim(&mut self, victim: Victim) -> Option<Victim> {
        let superblock = self.superblocks.without_valid_data()?;
        if self.superblocks.get(victim.superblock).pseudo_slc {
            self.pseudo_slc.push_front(victim.superblock);
        }
        self.pseudo_slc.retain(|&index| index != superblock);
        self.upcoming = VictimCursor::START;
        self.victim = Some(Victim { superblock, next: 0, valid: 0 });
        self.victim
    }

    /// Ends a partial unit of moved data, because superblocks cannot be erased until this data is stored.
    pub(crate) fn pad_moved(&mut self) -> CollectionStep {
        self.pad(WriteStream::Moved).map_or(CollectionStep::Nothing, CollectionStep::Filled)
    }

    /// Moves valid data from `victim` to `stream` until the destination unit is full.
    fn move_from(
        &mut self,
        victim: Victim,
        stream: WriteStream,
        sources: &mut Vec<MovedSlots>,
    ) -> (Option<FullUnit>, u32) {
        let Victim { superblock, mut next, .. } = victim;
        let start = superblock.0 * self.slots_per_superblock;
        let folded = self.superblocks.get(superblock).pseudo_slc;
        let as_found = self.superblocks.get(superblock).as_found;
        while self.superblocks.get(superblock).valid > 0 {
            if self.upcoming.next + UPCOMING / 2 >= self.upcoming.end {
                self.find_more(superblock);
            }
            let VictimCursor { found, next: first, end, .. } = &mut self.upcoming;
            if first == end {
                return (None, self.slots_per_superblock);
            }
            let (place, slot) = found[*first];
            next = place - start + 1;
            // Unchanged data is still at its original location; the table contains the data that the run wrote.
            let valid =
                slot != EMPTY && self.overrides.get(slot).map_or(as_found, |at| at == place);
            if !valid {
                self.upcoming.next += 1;
                continue;
            }
            let Some(frontier) = &self.frontiers[stream as usize] else {
                return (None, place - start);
            };
            self.upcoming.next += 1;
            self.overrides.set(slot, frontier.next);
            let unit = place / self.slots_per_unit;
            match sources.last_mut() {
                Some(source) if source.unit == unit => source.slots += 1,
                _ => sources.push(MovedSlots { unit, slots: 1 }),
            }
            if folded {
                self.written.folded += 1;
            } else {
                self.written.moved += 1;
            }
            if let Some(filled) = self.record_placement(stream, slot, place) {
                return (Some(filled), next);
            }
        }
        (None, next)
    }

    /// Finds more valid data in the victim, and prefetches its map entries.
    fn find_more(&mut self, superblock: SuperblockNumber) {
        let one = self.superblocks.get(superblock);
        let VictimCursor { found, next, end, within } = &mut self.upcoming;
        found.copy_within(*next..*end, 0);
        (*next, *end) = (0, *end - *next);
        let free = &mut found[*end..];
        let size = self.slots_per_superblock;
        let start = superblock.0 * size;
        let count = if one.as_found {
            self.layout.valid_slots(superblock.into(), size, *within, free)
        } else {
            one.slots.find(*within, start, free)
        };
        let more = &found[*end..*end + count];
        self.overrides.touch(more.iter().map(|&(_, slot)| slot));
        self.overrides.touch(self.expected.drain(..));
        if let Some(&(last, _)) = more.last() {
            *within = last - start + 1;
        }
        *end += count;
    }
}

//! Collection: valid data is moved out of superblocks so that they can be erased.
//!
//! When fewer than `erased_min` superblocks are erased, each unit that the host writes pays for moving as
//! much valid data as keeps their number where it is: v slots for every S - v of a victim with v of S valid,
//! and more the fewer are left. Folding the pseudo-SLC cache is the same with a victim of that cache.

use super::layout::EMPTY;
use super::superblock::State;
use super::victim::{UPCOMING, Upcoming, Victim};
use super::{Filled, Stream, Translation};
use crate::sim::number::SuperblockNumber;

/// Data that is moved: so many slots of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The unit that is read.
    pub unit: u32,
    /// Slots that are moved.
    pub slots: u32,
}

/// The outcome of a step of collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A unit is to be programmed when what was moved there has been read.
    Filled(Filled),
    /// A superblock holds nothing valid any more, and no unit is full.
    Emptied,
    /// There is nothing to move, or nowhere to move it yet.
    Nothing,
}

impl Translation {
    /// Whether collection has fallen behind, now that the host has filled `filled` slots more.
    pub(crate) fn owes(&mut self, filled: u32) -> bool {
        let ready = (self.superblocks.erased() + self.superblocks.coming) as u32;
        let least = self.spec.erased_min;
        if ready >= least {
            self.debt = 0.0;
            return false;
        }
        let Some(victim) = self.choose_victim(false) else { return false };
        let (size, valid) = (f64::from(self.slots_per_superblock), f64::from(victim.valid));
        // A full one is moved for its wear and frees nothing: it has time.
        let pace = if valid < size { valid / (size - valid) } else { 1.0 };
        let behind = 1.0 + f64::from(least - ready - 1) / f64::from(least);
        self.debt += f64::from(filled) * pace * behind;
        self.debt >= f64::from(self.slots_per_unit) || valid == 0.0
    }

    /// Whether a drive with nothing else to do has something to move.
    pub(crate) fn works_when_idle(&self) -> bool {
        !self.pseudo_slc.is_empty()
            || (self.superblocks.erased() < self.spec.erased_idle as usize
                && (self.victim.is_some()
                    || self.superblocks.victim(&self.spec, self.slots_per_superblock).is_some()))
    }

    /// The superblock that is being emptied, or the next.
    pub(super) fn choose_victim(&mut self, fold: bool) -> Option<Victim> {
        if let Some(victim) = self.victim {
            return Some(victim);
        }
        // What the cache has borrowed goes back first where erased flash is short.
        let fold = fold || self.pseudo_slc_used > self.pseudo_slc_kept;
        let folded = if fold { self.pseudo_slc.pop_front() } else { None };
        let chosen = folded
            .or_else(|| self.superblocks.choose_victim(&self.spec, self.slots_per_superblock))
            .or_else(|| self.pseudo_slc.pop_front());
        self.upcoming = Upcoming::START;
        self.victim = chosen.map(|superblock| {
            let valid = self.superblocks.get(superblock).valid;
            Victim { superblock, next: 0, valid }
        });
        self.victim
    }

    /// Moves valid data until a unit is full, or a superblock is empty; what has to be read for it is added
    /// to `sources`. With `fold` the pseudo-SLC cache is emptied first.
    pub(crate) fn relocate(&mut self, fold: bool, sources: &mut Vec<Source>) -> Progress {
        let Some(victim) = self.choose_victim(fold) else {
            return self.pad_moved();
        };
        let Some(stream) = self.stream_of_moved(victim) else { return self.pad_moved() };
        let (filled, next) = self.move_from(victim, stream, sources);
        self.victim = Some(Victim { next, ..victim });
        if next == self.slots_per_superblock || self.superblocks.get(victim.superblock).valid == 0 {
            self.victim = None;
            self.superblocks.coming += 1;
            let emptied = self.superblocks.get_mut(victim.superblock);
            emptied.state = State::Emptied;
            if emptied.pins == 0 {
                self.release(victim.superblock);
            }
        }
        let Some(filled) = filled else { return Progress::Emptied };
        self.debt = (self.debt - f64::from(filled.slots)).max(0.0);
        Progress::Filled(filled)
    }

    /// Ends a unit of moved data that is not full, since the data in it keeps superblocks from being erased.
    fn pad_moved(&mut self) -> Progress {
        let padded = self.pad(Stream::Moved).or_else(|| self.pad(Stream::MovedHot));
        padded.map_or(Progress::Nothing, Progress::Filled)
    }

    /// Returns the stream for the data of `victim`: the hot has one of its own as long as there is erased flash to
    /// spare.
    pub(super) fn stream_of_moved(&mut self, victim: Victim) -> Option<Stream> {
        let hot = self.superblocks.get(victim.superblock).hot;
        let open = self.frontiers[Stream::MovedHot as usize].is_some();
        if hot && (open || (self.superblocks.erased() > 1 && self.open(Stream::MovedHot))) {
            return Some(Stream::MovedHot);
        }
        let open = self.frontiers[Stream::Moved as usize].is_some();
        (open || self.open(Stream::Moved)).then_some(Stream::Moved)
    }

    /// Moves what is valid from `victim` on to `stream` until the unit it goes to is full.
    fn move_from(
        &mut self,
        victim: Victim,
        stream: Stream,
        sources: &mut Vec<Source>,
    ) -> (Option<Filled>, u32) {
        let Victim { superblock, mut next, .. } = victim;
        let start = superblock.0 * self.slots_per_superblock;
        let folded = self.superblocks.get(superblock).pseudo_slc;
        let as_found = self.superblocks.get(superblock).as_found;
        while self.superblocks.get(superblock).valid > 0 {
            if self.upcoming.next + UPCOMING / 2 >= self.upcoming.end {
                self.find_more(superblock);
            }
            let Upcoming { found, next: first, end, .. } = &mut self.upcoming;
            if first == end {
                return (None, self.slots_per_superblock);
            }
            let (place, slot) = found[*first];
            next = place - start + 1;
            // What was not changed lies where it was found; what the run wrote is in the table.
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
                _ => sources.push(Source { unit, slots: 1 }),
            }
            match folded {
                true => self.written.folded += 1,
                false => self.written.moved += 1,
            }
            if let Some(filled) = self.placed(stream, slot, place) {
                return (Some(filled), next);
            }
        }
        (None, next)
    }

    /// Finds what lies in the victim behind what was found of it, and brings near what the map holds of that.
    fn find_more(&mut self, superblock: SuperblockNumber) {
        let one = self.superblocks.get(superblock);
        let Upcoming { found, next, end, within } = &mut self.upcoming;
        found.copy_within(*next..*end, 0);
        (*next, *end) = (0, *end - *next);
        let free = &mut found[*end..];
        let size = self.slots_per_superblock;
        let start = superblock.0 * size;
        let count = if one.as_found {
            self.layout.held(superblock.into(), size, *within, free)
        } else {
            let slots = one.slots.get(*within as usize..).unwrap_or_default();
            let places = start + *within..;
            free.iter_mut()
                .zip(places.zip(slots))
                .map(|(free, (place, &slot))| *free = (place, slot))
                .count()
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

//! Superblocks, the unit of erasing: one block from every plane of every die.
//!
//! Wear levelling. *Dynamic*: the erased superblock with the fewest cycles is filled next. *Static*: a filled
//! superblock whose data is never overwritten does not wear. When the most worn superblock exceeds the cycles of this
//! superblock by a given number, the data is moved to a worn superblock, so that the blocks of this superblock are
//! used.

use super::slot_list::SlotList;
use crate::engine::number::SuperblockNumber;
use crate::spec::{CollectionPolicy, TranslationSpec};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SuperblockState {
    /// Erased: the superblock can be filled.
    Erased,
    /// Being filled.
    Open,
    /// Full, or closed before it was full.
    Closed,
    /// Without valid data: all data has been moved, but some is not yet stored at its new location.
    Emptied,
    /// Being erased.
    Erasing,
}

#[derive(Clone, Debug)]
pub(crate) struct Superblock {
    /// State of the superblock.
    pub state: SuperblockState,
    /// Whether the superblock is written with one bit per cell.
    pub pseudo_slc: bool,
    /// Number of slots with valid data.
    pub valid: u32,
    /// Number of slots whose old content is in this superblock and whose new content is not stored yet.
    pub pins: u32,
    /// Number of full units of the superblock that are not stored yet.
    pub unstored: u32,
    /// Number of superblocks that were opened before this one.
    pub sequence: u32,
    /// Number of slots that the host had written when the superblock was opened.
    pub opened_at: u64,
    /// Whether the data was expected to be overwritten soon.
    pub hot: bool,
    /// Whether the data has survived the collection of an earlier superblock.
    pub settled: bool,
    /// Whether the data was moved here from other superblocks.
    pub moved: bool,
    /// Number of program and erase cycles.
    pub cycles: u32,
    /// Logical slot of each flash slot that the run wrote.
    pub slots: SlotList,
    /// Whether the superblock still contains the data of the initial layout.
    pub as_found: bool,
}

/// The purpose for which a superblock is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuperblockPurpose {
    /// Whether the superblock will be written with one bit per cell.
    pub(crate) pseudo_slc: bool,
    /// Whether the superblock is for data that is expected to be overwritten soon.
    pub(crate) hot: bool,
    /// Whether the superblock is for data that has survived the collection of another superblock.
    pub(crate) settled: bool,
    /// Whether the superblock is for data that collection moves.
    pub(crate) moved: bool,
    /// Whether the most worn superblock is opened rather than the superblock with the fewest cycles.
    pub(crate) worn: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Superblocks {
    all: Vec<Superblock>,
    erased: Vec<SuperblockNumber>,
    opened: u32,
    cycles_max: u32,
    /// Number of erases that have ended.
    pub erases: u64,
    /// Number of superblocks that will soon be erased: they have been emptied or are being erased.
    pub coming: usize,
    /// Number of victims chosen so far.
    chosen: u32,
}

/// Interval, in chosen victims, at which one victim may be chosen because of wear.
const WEAR_TURN: u32 = 4;

impl Superblocks {
    /// Creates a superblock for each count of valid slots in `valid`; the first `filled` superblocks contain data.
    pub(crate) fn new(valid: impl Iterator<Item = u32>, filled: usize, cycles: u32) -> Self {
        let all: Vec<Superblock> = valid
            .enumerate()
            .map(|(index, valid)| Superblock {
                state: if index < filled {
                    SuperblockState::Closed
                } else {
                    SuperblockState::Erased
                },
                pseudo_slc: false,
                valid,
                pins: 0,
                unstored: 0,
                sequence: index.min(filled) as u32,
                opened_at: 0,
                hot: false,
                settled: true,
                moved: false,
                cycles,
                slots: SlotList::default(),
                as_found: index < filled,
            })
            .collect();
        // Superblocks are taken from the end, so the first are filled first.
        let erased = (filled as u32..all.len() as u32).rev().map(SuperblockNumber).collect();
        Self {
            all,
            erased,
            opened: filled as u32,
            cycles_max: cycles,
            erases: 0,
            coming: 0,
            chosen: 0,
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: SuperblockNumber) -> &Superblock {
        &self.all[usize::from(index)]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: SuperblockNumber) -> &mut Superblock {
        &mut self.all[usize::from(index)]
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the size of all slot lists in memory, in bytes.
    pub(crate) fn list_bytes(&self) -> u64 {
        self.all.iter().map(|superblock| superblock.slots.bytes()).sum()
    }

    pub(crate) fn erased(&self) -> usize {
        self.erased.len()
    }

    /// Opens an erased superblock for `slots` slots when the host has written `opened_at` slots. Opens the superblock
    /// with the fewest cycles, or, for data that is not expected to be overwritten soon, the superblock with the most
    /// cycles.
    pub(crate) fn open(
        &mut self,
        purpose: SuperblockPurpose,
        slots: u32,
        opened_at: u64,
    ) -> Option<SuperblockNumber> {
        let last = self.erased.len().checked_sub(1)?;
        let key = |&place: &usize| {
            let cycles = self.all[usize::from(self.erased[place])].cycles;
            if purpose.worn { u32::MAX - cycles } else { cycles }
        };
        // The search takes the first minimum from the end, so that equally worn superblocks are opened in the order in
        // which they were erased.
        let place = (0..=last).rev().min_by_key(key).unwrap_or(last);
        let index = self.erased.remove(place);
        let superblock = &mut self.all[usize::from(index)];
        *superblock = Superblock {
            state: SuperblockState::Open,
            pseudo_slc: purpose.pseudo_slc,
            valid: 0,
            pins: 0,
            unstored: 0,
            sequence: self.opened,
            opened_at,
            hot: purpose.hot,
            settled: purpose.settled,
            moved: purpose.moved,
            cycles: superblock.cycles,
            slots: SlotList::new(slots),
            as_found: false,
        };
        self.opened += 1;
        Some(index)
    }

    /// Returns the number of superblocks that have been opened since superblock `index`.
    pub(crate) fn age(&self, index: SuperblockNumber) -> u32 {
        self.opened - self.all[usize::from(index)].sequence
    }

    /// Records that an erase has ended.
    pub(crate) fn erased_now(&mut self, index: SuperblockNumber) {
        let superblock = &mut self.all[usize::from(index)];
        superblock.state = SuperblockState::Erased;
        superblock.pseudo_slc = false;
        superblock.as_found = false;
        superblock.slots = SlotList::default();
        superblock.cycles += 1;
        self.cycles_max = self.cycles_max.max(superblock.cycles);
        self.erases += 1;
        self.coming -= 1;
        self.erased.insert(0, index);
    }

    /// Returns the superblock to collect next, if its collection gains space; each superblock contains `size` slots.
    pub(crate) fn choose_victim(
        &mut self,
        spec: &TranslationSpec,
        size: u32,
    ) -> Option<SuperblockNumber> {
        self.chosen = self.chosen.wrapping_add(1);
        self.victim(spec, size)
    }

    /// Returns a filled superblock that contains no valid data and no data in transit to the flash, if there is one.
    pub(crate) fn without_valid_data(&self) -> Option<SuperblockNumber> {
        let is_empty = |one: &Superblock| {
            one.state == SuperblockState::Closed && one.valid == 0 && one.unstored == 0
        };
        let index = self.all.iter().position(is_empty)?;
        Some(SuperblockNumber(index as u32))
    }

    /// Returns the superblock that collection would choose next, without counting it as chosen.
    pub(crate) fn victim(&self, spec: &TranslationSpec, size: u32) -> Option<SuperblockNumber> {
        let closed = || {
            let candidates = self.all.iter().enumerate();
            // Superblocks with data in transit to the flash are not candidates; otherwise the same data would move from
            // one superblock to the next.
            candidates.filter(|(_, one)| {
                one.state == SuperblockState::Closed && !one.pseudo_slc && one.unstored == 0
            })
        };
        if let Some(gap) = spec.wear_gap.filter(|_| self.chosen.is_multiple_of(WEAR_TURN)) {
            let coldest = closed().min_by_key(|(_, one)| (one.cycles, one.sequence));
            if let Some((index, _)) = coldest.filter(|(_, one)| one.cycles + gap < self.cycles_max)
            {
                return Some(SuperblockNumber(index as u32));
            }
        }
        let gains = |(_, one): &(usize, &Superblock)| one.valid < size;
        let least_valid = |(_, one): &(usize, &Superblock)| (one.valid, one.sequence);
        let chosen = match spec.policy {
            CollectionPolicy::Greedy => closed().filter(gains).min_by_key(least_valid),
            CollectionPolicy::Windowed(window) => {
                let mut oldest: Vec<(usize, &Superblock)> = closed().filter(gains).collect();
                oldest.sort_unstable_by_key(|(_, one)| one.sequence);
                oldest.truncate(window.max(1) as usize);
                oldest.into_iter().min_by_key(least_valid)
            }
            CollectionPolicy::CostBenefit => {
                let benefit = |(index, one): &(usize, &Superblock)| {
                    let used = f64::from(one.valid) / f64::from(size);
                    let age = f64::from(self.age(SuperblockNumber(*index as u32)));
                    (1.0 - used) / (2.0 * used).max(1e-9) * age
                };
                closed().filter(gains).max_by(|a, b| benefit(a).total_cmp(&benefit(b)))
            }
        };
        chosen.map(|(index, _)| SuperblockNumber(index as u32))
    }
}

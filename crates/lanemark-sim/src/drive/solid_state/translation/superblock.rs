//! Superblocks, the unit of erasing: one block from every plane of every die.
//!
//! Wear levelling: the erased superblock with the fewest cycles is filled next.

use super::slot_list::SlotList;
use crate::engine::number::SuperblockNumber;

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
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SuperblockPurpose {
    /// Whether the superblock will be written with one bit per cell.
    pub(crate) pseudo_slc: bool,
    /// Whether the superblock is for data that collection moves.
    pub(crate) moved: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Superblocks {
    all: Vec<Superblock>,
    erased: Vec<SuperblockNumber>,
    opened: u32,
    /// Number of erases that have ended.
    pub erases: u64,
    /// Number of superblocks that will soon be erased: they have been emptied or are being erased.
    pub coming: usize,
}

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
                moved: false,
                cycles,
                slots: SlotList::default(),
                as_found: index < filled,
            })
            .collect();
        // Superblocks are taken from the end, so the first are filled first.
        let erased = (filled as u32..all.len() as u32).rev().map(SuperblockNumber).collect();
        Self { all, erased, opened: filled as u32, erases: 0, coming: 0 }
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

    /// Returns the number of slots with valid data.
    pub(crate) fn valid(&self) -> u64 {
        self.all.iter().map(|superblock| u64::from(superblock.valid)).sum()
    }

    /// Returns the size of all slot lists in memory, in bytes.
    pub(crate) fn list_bytes(&self) -> u64 {
        self.all.iter().map(|superblock| superblock.slots.bytes()).sum()
    }

    pub(crate) fn erased(&self) -> usize {
        self.erased.len()
    }

    /// Opens the erased superblock with the fewest cycles for `slots` slots.
    pub(crate) fn open(
        &mut self,
        purpose: SuperblockPurpose,
        slots: u32,
    ) -> Option<SuperblockNumber> {
        let last = self.erased.len().checked_sub(1)?;
        let key = |&place: &usize| self.all[usize::from(self.erased[place])].cycles;
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
            moved: purpose.moved,
            cycles: superblock.cycles,
            slots: SlotList::new(slots),
            as_found: false,
        };
        self.opened += 1;
        Some(index)
    }

    /// Records that an erase has ended.
    pub(crate) fn erased_now(&mut self, index: SuperblockNumber) {
        let superblock = &mut self.all[usize::from(index)];
        superblock.state = SuperblockState::Erased;
        superblock.pseudo_slc = false;
        superblock.as_found = false;
        superblock.slots = SlotList::default();
        superblock.cycles += 1;
        self.erases += 1;
        self.coming -= 1;
        self.erased.insert(0, index);
    }

    /// Returns a filled superblock that contains no valid data and no data in transit to the flash, if there is one.
    pub(crate) fn without_valid_data(&self) -> Option<SuperblockNumber> {
        let is_empty = |one: &Superblock| {
            one.state == SuperblockState::Closed && one.valid == 0 && one.unstored == 0
        };
        let index = self.all.iter().position(is_empty)?;
        Some(SuperblockNumber(index as u32))
    }

    /// Returns the superblock to collect next, if its collection gains space: the superblock with the smallest amount
    /// of valid data, and of equals the oldest. Each superblock contains `size` slots.
    pub(crate) fn victim(&self, size: u32) -> Option<SuperblockNumber> {
        let candidates = self.all.iter().enumerate();
        // Superblocks with data in transit to the flash are not candidates; otherwise the same data would move from one
        // superblock to the next.
        let closed = candidates.filter(|(_, one)| {
            one.state == SuperblockState::Closed && !one.pseudo_slc && one.unstored == 0
        });
        let gains = closed.filter(|(_, one)| one.valid < size);
        let chosen = gains.min_by_key(|(_, one)| (one.valid, one.sequence));
        chosen.map(|(index, _)| SuperblockNumber(index as u32))
    }
}

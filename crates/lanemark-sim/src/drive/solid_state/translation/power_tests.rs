//! Tests the state after a power cut against values computed by hand: the data that counts as lost, and the superblocks
//! that streams continue to fill.

use super::tests::{Machine, drive};
use super::*;

/// Fills a superblock with host data, and stores the units whose last slot `is_stored` selects.
fn fill_superblock(
    translation: &mut Translation,
    is_stored: impl Fn(u32) -> bool,
) -> SuperblockNumber {
    assert!(translation.open(WriteStream::Host));
    let superblock = translation.frontiers[WriteStream::Host as usize].as_ref().unwrap().superblock;
    for slot in 0..translation.slots_per_superblock {
        let filled = translation.append(WriteStream::Host, u64::from(slot));
        if let Some(filled) = filled.filter(|_| is_stored(slot)) {
            translation.note_unit_stored(filled.unit);
        }
    }
    superblock
}

/// Returns a drive and a full victim of host data. One unit of the victim has been moved.
fn one_unit_moved() -> (Machine, u32, u32) {
    let drive = drive(40, 12, |_| {});
    let mut machine = Machine::new(&drive, drive.capacity);
    machine.at_once = false;
    let translation = &mut machine.translation;
    let superblock = fill_superblock(translation, |_| true);
    translation.victim =
        Some(Victim { superblock, next: 0, valid: translation.slots_per_superblock });
    translation.upcoming = VictimCursor::START;
    let before = translation.place_of(0);
    assert!(matches!(translation.relocate(false, &mut Vec::new()), CollectionStep::Filled(_)));
    let after = translation.place_of(0);
    assert_ne!(before, after);
    (machine, before, after)
}

#[test]
fn data_that_was_only_moved_is_not_lost() {
    let (mut machine, before, after) = one_unit_moved();
    let translation = &mut machine.translation;
    let target = translation.superblock_of(after);
    assert!(translation.power_cut(false).is_empty(), "it is in its former place");
    assert_eq!(translation.place_of(0), before);
    let frontier = translation.frontiers[WriteStream::Moved as usize].as_ref().unwrap();
    assert_eq!((frontier.superblock, frontier.next), (target, after), "as good as erased");
    machine.places();
}

/// A full superblock of moved data whose last unit is lost is reopened for moved data, and for no other data.
#[test]
fn a_superblock_of_moved_data_continues_its_stream() {
    let (mut machine, _, first) = one_unit_moved();
    let translation = &mut machine.translation;
    let target = translation.superblock_of(first);
    let size = translation.slots_per_superblock;
    translation.note_unit_stored(first / 8);
    for slots in (16..=size).step_by(8) {
        let CollectionStep::Filled(filled) = translation.relocate(false, &mut Vec::new()) else {
            panic!("a unit of the victim")
        };
        if slots < size {
            translation.note_unit_stored(filled.unit);
        }
    }
    assert_eq!(translation.superblocks.get(target).state, SuperblockState::Closed);
    assert!(translation.power_cut(false).is_empty());
    let frontier = translation.frontiers[WriteStream::Moved as usize].as_ref().unwrap();
    assert_eq!((frontier.superblock, frontier.next), (target, (target.0 + 1) * size - 8));
    assert!(translation.frontiers[WriteStream::Host as usize].is_none());
    machine.places();
}

/// Host data that was not stored is lost even if collection has moved it.
#[test]
fn data_that_was_moved_before_it_was_stored_is_lost() {
    let drive = drive(40, 12, |_| {});
    let mut machine = Machine::new(&drive, drive.capacity);
    let translation = &mut machine.translation;
    let found = translation.place_of(0);
    let size = translation.slots_per_superblock;
    // All units except the first are stored.
    let superblock = fill_superblock(translation, |slot| slot >= 8);
    translation.victim = Some(Victim { superblock, next: 0, valid: size });
    translation.upcoming = VictimCursor::START;
    for _ in 0..2 {
        assert!(matches!(translation.relocate(false, &mut Vec::new()), CollectionStep::Filled(_)));
    }
    assert_eq!(translation.power_cut(false), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(translation.place_of(0), found);
    assert_eq!(translation.place_of(8), superblock.0 * size + 8);
    machine.places();
}

/// A full superblock whose last unit was stored is not reopened, even if an earlier unit was not stored.
#[test]
fn a_superblock_whose_end_is_stored_stays_closed() {
    for lost_last in [false, true] {
        let drive = drive(40, 12, |_| {});
        let mut machine = Machine::new(&drive, drive.capacity);
        let translation = &mut machine.translation;
        let size = translation.slots_per_superblock;
        let lost = if lost_last { size - 1 } else { 7 };
        let superblock = fill_superblock(translation, |slot| slot != lost);
        assert_eq!(translation.power_cut(false).len(), 8);
        let frontier = &translation.frontiers[WriteStream::Host as usize];
        let next = frontier.as_ref().map(|frontier| frontier.next);
        assert_eq!(next, lost_last.then(|| superblock.0 * size + size - 8));
        machine.places();
    }
}

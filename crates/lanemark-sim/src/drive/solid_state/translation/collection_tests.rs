//! Tests the choice of the superblock to collect, and the rate of collection, against values computed by hand.

use super::superblock::{SuperblockPurpose, SuperblockState, Superblocks};
use super::*;
use crate::engine::number::SuperblockNumber as N;
use crate::spec::DriveCondition;
use crate::tests::runs::small_drive;

/// Returns superblocks of 10 slots with the given numbers of valid slots, filled in this order.
fn filled(valid: &[u32]) -> Superblocks {
    Superblocks::new(valid.iter().copied(), valid.len(), 0)
}

#[test]
fn of_equal_victims_the_oldest_is_taken() {
    assert_eq!(filled(&[8, 7, 3, 2]).victim(10), Some(N(3)));
    assert_eq!(filled(&[9, 4, 4, 4]).victim(10), Some(N(1)));
    // The age depends on the time at which a superblock was opened, not on its number.
    let mut all = filled(&[9, 4, 4, 4]);
    (all.get_mut(N(1)).sequence, all.get_mut(N(3)).sequence) = (3, 1);
    assert_eq!(all.victim(10), Some(N(3)));
}

#[test]
fn a_full_or_open_superblock_is_not_a_victim() {
    assert_eq!(filled(&[10, 10]).victim(10), None, "there is nothing to gain");
    assert_eq!(filled(&[10, 9]).victim(10), Some(N(1)));
    for state in [
        SuperblockState::Erased,
        SuperblockState::Open,
        SuperblockState::Emptied,
        SuperblockState::Erasing,
    ] {
        let mut all = filled(&[1, 9]);
        all.get_mut(N(0)).state = state;
        assert_eq!(all.victim(10), Some(N(1)), "{state:?}");
    }
    let mut all = filled(&[1, 9]);
    all.get_mut(N(0)).pseudo_slc = true;
    assert_eq!(all.victim(10), Some(N(1)));
    // Data in transit to the flash is not moved again.
    let mut all = filled(&[1, 9]);
    all.get_mut(N(0)).unstored = 1;
    assert_eq!(all.victim(10), Some(N(1)));
}

#[test]
fn the_superblock_with_the_fewest_erasures_is_filled_next() {
    let mut all = Superblocks::new([0; 4].into_iter(), 0, 3);
    all.get_mut(N(1)).cycles = 5;
    let order = [(); 4].map(|()| all.open(SuperblockPurpose::default(), 10));
    assert_eq!(order, [Some(N(0)), Some(N(2)), Some(N(3)), Some(N(1))]);
    assert_eq!(all.open(SuperblockPurpose::default(), 10), None);
}

#[test]
fn superblocks_are_filled_in_the_order_in_which_they_were_erased() {
    let mut all = Superblocks::new([5, 5, 5, 0, 0].into_iter(), 3, 0);
    // All superblocks are equally worn.
    (all.get_mut(N(3)).cycles, all.get_mut(N(4)).cycles) = (1, 1);
    for index in [2, 0, 1] {
        all.coming += 1;
        all.erased_now(N(index));
    }
    let order = [(); 6].map(|()| all.open(SuperblockPurpose::default(), 10));
    assert_eq!(order, [Some(N(3)), Some(N(4)), Some(N(2)), Some(N(0)), Some(N(1)), None]);
    assert_eq!((all.erases, all.coming, all.get(N(2)).cycles), (3, 0, 1));
}

/// Returns a drive in its steady state.
fn steady() -> Translation {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    flash.blocks_per_plane = 60;
    flash.condition = DriveCondition::Random;
    Translation::new(&drive, Bytes::mebi(64).into())
}

#[test]
fn the_host_pays_at_the_pace_that_maintains_erased_flash() {
    let opened = |streams: &[WriteStream]| {
        let mut translation = steady();
        let unit = translation.slots_per_unit;
        // With four erased superblocks there is nothing to do.
        assert!(!translation.is_collection_behind(unit * 1_000));
        for &stream in streams {
            assert!(translation.open(stream));
        }
        translation
    };
    for (streams, behind) in [
        (&[WriteStream::Host][..], 1.0),
        (&[WriteStream::Host, WriteStream::Moved][..], 1.25),
        (&[WriteStream::Host, WriteStream::Moved, WriteStream::PseudoSlc][..], 1.5),
    ] {
        let mut translation = opened(streams);
        let unit = translation.slots_per_unit;
        let size = translation.slots_per_superblock;
        let victim = translation.superblocks.victim(size).unwrap();
        let valid = f64::from(translation.superblocks.get(victim).valid);
        let pace = valid / (f64::from(size) - valid) * behind;
        // One host unit is too coarse to distinguish the paces.
        let slots = (f64::from(unit) / pace).ceil() as u32;
        assert!(slots > 2, "{slots}");
        for slot in 1..slots {
            assert!(!translation.is_collection_behind(1), "{slot} of {slots} slots, {behind}");
        }
        assert!(translation.is_collection_behind(1), "after {slots} slots, {behind}");
    }
}

#[test]
fn an_empty_victim_is_due_at_once_and_a_full_one_has_time() {
    let mut translation = steady();
    translation.open(WriteStream::Host);
    let victim = translation.superblocks.victim(translation.slots_per_superblock);
    let superblock = translation.superblocks.get_mut(victim.unwrap());
    superblock.valid = 0;
    assert!(translation.is_collection_behind(0), "it can be erased without moving anything");
}

/// Returns a drive that reserves two superblocks for its pseudo-SLC cache. The cache contains data in `used`
/// superblocks.
fn cached(used: usize) -> Translation {
    let mut translation = steady();
    for index in 0..used as u32 {
        translation.superblocks.get_mut(N(index)).pseudo_slc = true;
        translation.pseudo_slc.push_back(N(index));
    }
    translation.pseudo_slc_fixed = 2;
    (translation.pseudo_slc_kept, translation.pseudo_slc_max) = (2, 8);
    translation.pseudo_slc_used = used;
    translation
}

/// Makes all data of every superblock valid.
fn fill(translation: &mut Translation) {
    for index in 0..translation.superblocks.len() as u32 {
        translation.superblocks.get_mut(N(index)).valid = translation.slots_per_superblock;
    }
}

#[test]
fn under_pressure_a_pseudo_slc_cache_returns_borrowed_superblocks() {
    for used in [1, 2] {
        let mut translation = cached(used);
        let victim = translation.choose_victim(false).unwrap().superblock;
        let victim = translation.superblocks.get(victim);
        assert!(!victim.pseudo_slc, "{used} of the two kept superblocks are used");
        assert_eq!(translation.pseudo_slc.len(), used);
    }
    let mut translation = cached(3);
    assert_eq!(translation.choose_victim(false).unwrap().superblock, N(0), "the oldest");
    assert_eq!(translation.pseudo_slc, [N(1), N(2)]);
    assert_eq!(translation.choose_victim(true).unwrap().superblock, N(0), "it is not given up");
}

#[test]
fn a_cache_is_folded_on_request_or_as_the_last_choice() {
    assert_eq!(cached(2).choose_victim(true).unwrap().superblock, N(0));
    let mut translation = cached(2);
    fill(&mut translation);
    assert_eq!(translation.choose_victim(false).unwrap().superblock, N(0));
    let mut translation = cached(0);
    fill(&mut translation);
    assert!(translation.choose_victim(false).is_none());
}

#[test]
fn collection_pays_back_the_slots_that_it_moves() {
    let mut translation = steady();
    translation.open(WriteStream::Host);
    let unit = translation.slots_per_unit;
    while !translation.is_collection_behind(unit) {}
    let debt = translation.debt;
    assert!(debt >= f64::from(unit));
    let mut progress = translation.relocate(false, &mut Vec::new());
    while !matches!(progress, CollectionStep::Filled(_)) {
        progress = translation.relocate(false, &mut Vec::new());
    }
    assert!((translation.debt - (debt - f64::from(unit))).abs() < 1e-9, "a unit is moved");
    assert_eq!(translation.written().moved, u64::from(unit));
}

#[test]
fn a_cache_grows_only_into_superblocks_that_nothing_else_needs() {
    let mut translation = cached(0);
    for index in 0..40 {
        translation.superblocks.coming += 1;
        translation.superblocks.erased_now(N(index));
    }
    // The drive's data leaves 22 superblocks free. Two of these belong to the cache, and collection needs fewer.
    translation.reserve = 22;
    while translation.superblocks.erased() > 21 {
        translation.superblocks.open(SuperblockPurpose::default(), 0);
    }
    let has = |translation: &mut Translation, used| {
        translation.pseudo_slc_used = used;
        translation.has_room_in_pseudo_slc()
    };
    assert_eq!([1, 2, 7, 8].map(|used| has(&mut translation, used)), [true, true, true, false]);
    translation.superblocks.open(SuperblockPurpose::default(), 0);
    assert_eq!([1, 2, 7, 8].map(|used| has(&mut translation, used)), [true, false, false, false]);
    // With a small reserve, collection and the streams determine the number: four superblocks, plus one for each of
    // five streams.
    translation.reserve = 5;
    while translation.superblocks.erased() > 10 {
        assert!(has(&mut translation, 2));
        translation.superblocks.open(SuperblockPurpose::default(), 0);
    }
    assert!(has(&mut translation, 2));
    translation.superblocks.open(SuperblockPurpose::default(), 0);
    assert!(!has(&mut translation, 2));
}

#[test]
fn a_full_unit_keeps_its_superblock_from_collection_until_it_is_stored() {
    let mut translation = steady();
    let stream = translation.stream_for_host().unwrap();
    let index = translation.frontiers[stream as usize].as_ref().unwrap().superblock;
    let mut filled = Vec::new();
    for slot in 0..u64::from(2 * translation.slots_per_unit()) {
        filled.extend(translation.append(stream, slot));
    }
    let unstored = |translation: &Translation| translation.superblocks.get(index).unstored;
    assert_eq!((filled.len(), unstored(&translation)), (2, 2));
    translation.note_unit_stored(filled[1].unit);
    assert_eq!(unstored(&translation), 1);
    // Storing a unit a second time does not change the state.
    translation.note_unit_stored(filled[1].unit);
    assert_eq!(unstored(&translation), 1);
    translation.power_cut(true);
    assert_eq!((unstored(&translation), translation.has_unstored()), (0, false));
}

/// A superblock cannot be erased until the data that was moved out of it is stored, so without a victim the partial
/// unit is ended.
#[test]
fn without_a_victim_a_partial_unit_of_moved_data_is_ended() {
    let mut translation = steady();
    assert!(translation.open(WriteStream::Moved));
    assert_eq!(translation.place_next(WriteStream::Moved, 0), None);
    fill(&mut translation);
    let step = translation.relocate(false, &mut Vec::new());
    assert!(matches!(step, CollectionStep::Filled(FullUnit { slots: 1, .. })), "{step:?}");
    assert_eq!(translation.relocate(false, &mut Vec::new()), CollectionStep::Nothing);
}

#[test]
fn a_victim_without_valid_data_is_erased_although_nothing_is_erased() {
    let mut translation = steady();
    while translation.superblocks.erased() > 0 {
        translation.superblocks.open(SuperblockPurpose::default(), 0);
    }
    assert_eq!(translation.relocate(false, &mut Vec::new()), CollectionStep::Nothing);
    let victim = translation.choose_victim(false).unwrap().superblock;
    translation.superblocks.get_mut(victim).valid = 0;
    assert_eq!(translation.relocate(false, &mut Vec::new()), CollectionStep::Emptied);
    assert_eq!(translation.next_to_erase(), Some(victim));
}

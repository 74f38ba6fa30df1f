//! Tests the choice of the superblock to collect, and the rate of collection, against values computed by hand.

use super::superblock::{SuperblockPurpose, SuperblockState, Superblocks};
use super::*;
use crate::engine::number::SuperblockNumber as N;
use crate::spec::{CollectionPolicy, DriveCondition, TranslationSpec};
use crate::tests::runs::small_drive;
use proptest::prelude::*;

/// The purpose of a superblock for the writes of a host.
const PLAIN: SuperblockPurpose =
    SuperblockPurpose { pseudo_slc: false, hot: false, settled: false, moved: false, worn: false };

/// Returns superblocks of 10 slots with the given numbers of valid slots, filled in this order.
fn filled(valid: &[u32]) -> Superblocks {
    Superblocks::new(valid.iter().copied(), valid.len(), 0)
}

fn by(policy: CollectionPolicy) -> TranslationSpec {
    TranslationSpec { policy, ..TranslationSpec::default() }
}

#[test]
fn of_equal_victims_the_oldest_is_taken() {
    for policy in
        [CollectionPolicy::Greedy, CollectionPolicy::Windowed(8), CollectionPolicy::CostBenefit]
    {
        assert_eq!(filled(&[9, 4, 4, 4]).victim(&by(policy), 10), Some(N(1)), "{policy:?}");
        // The age depends on the time at which a superblock was opened, not on its number.
        let mut all = filled(&[9, 4, 4, 4]);
        (all.get_mut(N(1)).sequence, all.get_mut(N(3)).sequence) = (3, 1);
        assert_eq!(all.victim(&by(policy), 10), Some(N(3)), "{policy:?}");
    }
}

#[test]
fn each_policy_has_its_own_victim() {
    let valid = [8, 7, 3, 2];
    assert_eq!(filled(&valid).victim(&by(CollectionPolicy::Greedy), 10), Some(N(3)));
    assert_eq!(
        filled(&valid).victim(&by(CollectionPolicy::Windowed(0)), 10),
        Some(N(0)),
        "the window is one or more"
    );
    assert_eq!(filled(&valid).victim(&by(CollectionPolicy::Windowed(2)), 10), Some(N(1)));
    assert_eq!(filled(&valid).victim(&by(CollectionPolicy::Windowed(3)), 10), Some(N(2)));
    // The values of (1 - u) / 2u times the age are 4 / 8, 3 * 3 / 14, 2 * 7 / 6 and 8 / 4.
    assert_eq!(filled(&valid).victim(&by(CollectionPolicy::CostBenefit), 10), Some(N(2)));
}

#[test]
fn full_and_open_superblocks_are_no_victims() {
    let greedy = by(CollectionPolicy::Greedy);
    assert_eq!(filled(&[10, 10]).victim(&greedy, 10), None, "there is nothing to gain");
    assert_eq!(filled(&[10, 9]).victim(&greedy, 10), Some(N(1)));
    for state in [
        SuperblockState::Erased,
        SuperblockState::Open,
        SuperblockState::Emptied,
        SuperblockState::Erasing,
    ] {
        let mut all = filled(&[1, 9]);
        all.get_mut(N(0)).state = state;
        assert_eq!(all.victim(&greedy, 10), Some(N(1)), "{state:?}");
    }
    let mut all = filled(&[1, 9]);
    all.get_mut(N(0)).pseudo_slc = true;
    assert_eq!(all.victim(&greedy, 10), Some(N(1)));
    // Data in transit to the flash is not moved again.
    let mut all = filled(&[1, 9]);
    all.get_mut(N(0)).unstored = 1;
    assert_eq!(all.victim(&greedy, 10), Some(N(1)));
}

#[test]
fn every_fourth_victim_may_be_chosen_for_its_wear() {
    let spec = TranslationSpec { wear_gap: Some(5), ..by(CollectionPolicy::Greedy) };
    let mut all = filled(&[9, 4, 10]);
    // The most worn superblock has 6 cycles more than the newest, which is above the limit of 5.
    all.get_mut(N(0)).cycles = 5;
    all.get_mut(N(1)).cycles = 5;
    all.coming = 1;
    all.erased_now(N(1));
    all.get_mut(N(1)).state = SuperblockState::Closed;
    let chosen: Vec<_> = (0..8).map(|_| all.choose_victim(&spec, 10)).collect();
    let worn = Some(N(2));
    let gains = Some(N(1));
    assert_eq!(chosen, [gains, gains, gains, worn, gains, gains, gains, worn]);
    all.get_mut(N(2)).cycles = 1;
    assert_eq!(
        (0..4).filter_map(|_| all.choose_victim(&spec, 10)).filter(|one| *one == N(2)).count(),
        0
    );
}

#[test]
fn the_freshest_superblock_is_filled_next_in_order_of_erasure() {
    let all = || {
        let mut all = Superblocks::new([0; 4].into_iter(), 0, 3);
        all.get_mut(N(1)).cycles = 5;
        all
    };
    let mut plain = all();
    let order = [(); 4].map(|()| plain.open(PLAIN, 10, 0));
    assert_eq!(order, [Some(N(0)), Some(N(2)), Some(N(3)), Some(N(1))]);
    assert_eq!(plain.open(PLAIN, 10, 0), None);
    assert_eq!(all().open(SuperblockPurpose { worn: true, ..PLAIN }, 10, 0), Some(N(1)));
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
    let order = [(); 6].map(|()| all.open(PLAIN, 10, 0));
    assert_eq!(order, [Some(N(3)), Some(N(4)), Some(N(2)), Some(N(0)), Some(N(1)), None]);
    assert_eq!((all.erases, all.coming, all.get(N(2)).cycles), (3, 0, 1));
}

proptest! {
    /// Compares each policy with a search over all superblocks in integer arithmetic.
    #[test]
    fn the_victim_is_the_best_of_all_by_the_policys_own_measure(
        all in proptest::collection::vec((0u32..=20, 0u32..1_000, 0usize..8, any::<bool>()), 1..40),
        opened in 0usize..30, window in 1u32..12,
    ) {
        const SIZE: u32 = 20;
        let states = [SuperblockState::Erased, SuperblockState::Open, SuperblockState::Emptied, SuperblockState::Erasing];
        let mut superblocks = filled(&all.iter().map(|(valid, ..)| *valid).collect::<Vec<_>>());
        // The ages are in any order: the superblocks were opened in the order of random keys.
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|&index| (all[index].1, index));
        for (sequence, &index) in order.iter().enumerate() {
            let one = superblocks.get_mut(N(index as u32));
            one.sequence = sequence as u32;
            one.state = *states.get(all[index].2).unwrap_or(&SuperblockState::Closed);
            one.pseudo_slc = all[index].3 && all[index].2 == 7;
        }
        for _ in 0..opened {
            superblocks.coming += 1;
            superblocks.erased_now(N(0));
            superblocks.open(PLAIN, 0, 0);
        }
        let total = (all.len() + opened) as u64;
        let candidates: Vec<(u32, u64, u64)> = (0..all.len() as u32)
            .map(|index| (index, superblocks.get(N(index))))
            .filter(|(_, one)| one.state == SuperblockState::Closed && !one.pseudo_slc && one.valid < SIZE)
            .map(|(index, one)| (index, one.valid.into(), one.sequence.into()))
            .collect();
        let least = |among: &[(u32, u64, u64)]| {
            among.iter().min_by_key(|(_, valid, sequence)| (*valid, *sequence)).map(|one| N(one.0))
        };
        let victim = |policy| superblocks.victim(&by(policy), SIZE);
        prop_assert_eq!(victim(CollectionPolicy::Greedy), least(&candidates));
        let mut oldest = candidates.clone();
        oldest.sort_by_key(|(.., sequence)| *sequence);
        oldest.truncate(window as usize);
        prop_assert_eq!(victim(CollectionPolicy::Windowed(window)), least(&oldest));
        // (1 - u) / 2u * age equals age * (size - valid) / 2 valid; the fractions are compared by cross-multiplication.
        let mut best: Option<(u32, u64, u64)> = None;
        let mut is_tied = false;
        for (index, valid, sequence) in candidates {
            let gain = (total - sequence) * (u64::from(SIZE) - valid);
            let (more, less) = match best {
                None => (true, false),
                // Two empty superblocks are compared by age.
                Some((_, other, 0)) if valid == 0 => (gain > other, gain < other),
                Some((_, other, cost)) => (gain * cost > other * valid, gain * cost < other * valid),
            };
            is_tied = if more { false } else { is_tied || !less };
            if more {
                best = Some((index, gain, valid));
            }
        }
        if !is_tied {
            prop_assert_eq!(victim(CollectionPolicy::CostBenefit), best.map(|(index, ..)| N(index)));
        }
    }
}

/// Returns a drive in its steady state whose collection keeps `least` superblocks erased.
fn steady(least: u32) -> Translation {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    flash.blocks_per_plane = 60;
    flash.condition = DriveCondition::Random;
    flash.translation.erased_min = least;
    Translation::new(&drive, Bytes::mebi(64).into())
}

#[test]
fn the_host_pays_at_the_pace_that_maintains_erased_flash() {
    let opened = |streams: &[WriteStream]| {
        let mut translation = steady(4);
        let unit = translation.slots_per_unit;
        assert!(
            !translation.is_collection_behind(unit * 1_000),
            "with four erased there is nothing to do"
        );
        for &stream in streams {
            assert!(translation.open(stream));
        }
        translation
    };
    for (streams, behind) in [
        (&[WriteStream::Host][..], 1.0),
        (&[WriteStream::Host, WriteStream::Hot][..], 1.25),
        (&[WriteStream::Host, WriteStream::Hot, WriteStream::Moved][..], 1.5),
    ] {
        let mut translation = opened(streams);
        let unit = translation.slots_per_unit;
        let size = translation.slots_per_superblock;
        let victim = translation.superblocks.victim(&translation.spec, size).unwrap();
        let valid = f64::from(translation.superblocks.get(victim).valid);
        let pace = valid / (f64::from(size) - valid) * behind;
        // One host unit is too coarse to distinguish the paces.
        let slots = (f64::from(unit) / pace).ceil() as u32;
        assert!(slots > 2, "{slots}");
        for slot in 1..slots {
            assert!(
                !translation.is_collection_behind(1),
                "after {slot} of {slots} slots, {behind}"
            );
        }
        assert!(translation.is_collection_behind(1), "after {slots} slots, {behind}");
    }
}

#[test]
fn an_empty_victim_is_due_at_once_and_a_full_one_has_time() {
    let mut translation = steady(4);
    translation.open(WriteStream::Host);
    let victim =
        translation.superblocks.victim(&translation.spec, translation.slots_per_superblock);
    let superblock = translation.superblocks.get_mut(victim.unwrap());
    superblock.valid = 0;
    assert!(translation.is_collection_behind(0), "it can be erased without moving anything");
}

#[test]
fn the_last_erased_superblock_is_for_moved_data() {
    for (erased, expected) in [(2, WriteStream::MovedHot), (1, WriteStream::Moved)] {
        let mut translation = steady(4);
        while translation.superblocks.erased() > erased {
            translation.superblocks.open(PLAIN, 0, 0);
        }
        let victim = translation.choose_victim(false).unwrap();
        translation.superblocks.get_mut(victim.superblock).hot = true;
        assert_eq!(translation.stream_of_moved(victim), Some(expected), "{erased} erased");
    }
}

/// Returns a drive that reserves two superblocks for its pseudo-SLC cache. The cache contains data in `used`
/// superblocks.
fn cached(used: usize) -> Translation {
    let mut translation = steady(4);
    for index in 0..used as u32 {
        translation.superblocks.get_mut(N(index)).pseudo_slc = true;
        translation.pseudo_slc.push_back(N(index));
    }
    (translation.pseudo_slc_kept, translation.pseudo_slc_max) = (2, 8);
    translation.pseudo_slc_used = used;
    translation
}

#[test]
fn under_pressure_a_pseudo_slc_cache_returns_borrowed_superblocks() {
    for used in [1, 2] {
        let mut translation = cached(used);
        let victim = translation.choose_victim(false).unwrap().superblock;
        assert!(
            !translation.superblocks.get(victim).pseudo_slc,
            "{used} of the two kept superblocks are used"
        );
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
    let full = |translation: &mut Translation| {
        for index in 0..translation.superblocks.len() as u32 {
            translation.superblocks.get_mut(N(index)).valid = translation.slots_per_superblock;
        }
    };
    let mut translation = cached(2);
    full(&mut translation);
    assert_eq!(translation.choose_victim(false).unwrap().superblock, N(0));
    let mut translation = cached(0);
    full(&mut translation);
    assert!(translation.choose_victim(false).is_none());
}

#[test]
fn an_idle_drive_works_until_enough_is_erased_and_its_cache_is_empty() {
    let works = |idle: u32, cached_superblocks: usize| {
        let mut translation = cached(cached_superblocks);
        translation.spec.erased_idle = idle;
        translation.works_when_idle()
    };
    let erased = steady(4).superblocks.erased() as u32;
    assert_eq!([erased - 1, erased, erased + 1].map(|idle| works(idle, 0)), [false, false, true]);
    assert!(works(0, 1), "its cache is to be folded");
    // If moving data would not free a unit, the drive rests, unless it has already begun to move a victim.
    let mut translation = cached(0);
    translation.spec.erased_idle = erased + 1;
    translation.choose_victim(false);
    for index in 0..translation.superblocks.len() as u32 {
        translation.superblocks.get_mut(N(index)).valid = translation.slots_per_superblock;
    }
    assert!(translation.works_when_idle());
    translation.victim = None;
    assert!(!translation.works_when_idle());
}

#[test]
fn collection_pays_back_the_slots_that_it_moves() {
    let mut translation = steady(4);
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
        translation.superblocks.open(PLAIN, 0, 0);
    }
    let has = |translation: &mut Translation, used| {
        translation.pseudo_slc_used = used;
        translation.has_room_in_pseudo_slc()
    };
    assert_eq!([1, 2, 7, 8].map(|used| has(&mut translation, used)), [true, true, true, false]);
    translation.superblocks.open(PLAIN, 0, 0);
    assert_eq!([1, 2, 7, 8].map(|used| has(&mut translation, used)), [true, false, false, false]);
    // With a small reserve, collection and the streams determine the number: four superblocks, plus one for each of
    // five streams.
    translation.reserve = 5;
    while translation.superblocks.erased() > 10 {
        assert!(has(&mut translation, 2));
        translation.superblocks.open(PLAIN, 0, 0);
    }
    assert!(has(&mut translation, 2));
    translation.superblocks.open(PLAIN, 0, 0);
    assert!(!has(&mut translation, 2));
}

#[test]
fn a_full_unit_keeps_its_superblock_from_collection_until_it_is_stored() {
    let mut translation = steady(4);
    let stream = translation.stream_for(0).unwrap();
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

#[test]
fn an_idle_drive_does_not_work_for_less_than_a_unit() {
    let mut translation = steady(4);
    translation.spec.erased_idle = u32::MAX;
    let size = translation.slots_per_superblock;
    let unit = translation.slots_per_unit();
    for (valid, works) in [(size, false), (size - unit + 1, false), (size - unit, true), (0, true)]
    {
        for index in 0..translation.superblocks.len() {
            translation.superblocks.get_mut(N(index as u32)).valid = valid;
        }
        assert_eq!(translation.works_when_idle(), works, "{valid} of {size} slots are valid");
    }
}

/// A superblock cannot be erased until the data that was moved out of it is stored, so without a victim the partial
/// unit of either stream is ended.
#[test]
fn without_a_victim_partial_units_of_hot_and_cold_data_are_ended() {
    for stream in [WriteStream::Moved, WriteStream::MovedHot] {
        let mut translation = steady(4);
        assert!(translation.open(stream));
        assert_eq!(translation.place_next(stream, 0), None);
        for index in 0..translation.superblocks.len() as u32 {
            translation.superblocks.get_mut(N(index)).valid = translation.slots_per_superblock;
        }
        let step = translation.relocate(false, &mut Vec::new());
        assert!(matches!(step, CollectionStep::Filled(FullUnit { slots: 1, .. })), "{step:?}");
        assert_eq!(translation.relocate(false, &mut Vec::new()), CollectionStep::Nothing);
    }
}

#[test]
fn a_victim_without_valid_data_is_erased_although_nothing_is_erased() {
    let mut translation = steady(4);
    while translation.superblocks.erased() > 0 {
        translation.superblocks.open(PLAIN, 0, 0);
    }
    assert_eq!(translation.relocate(false, &mut Vec::new()), CollectionStep::Nothing);
    let victim = translation.choose_victim(false).unwrap().superblock;
    translation.superblocks.get_mut(victim).valid = 0;
    assert_eq!(translation.relocate(false, &mut Vec::new()), CollectionStep::Emptied);
    assert_eq!(translation.next_to_erase(), Some(victim));
}

//! Which superblock is collected, and how fast, by hand.

use super::superblock::{Purpose, State, Superblocks};
use super::*;
use crate::sim::number::SuperblockNumber as N;
use crate::sim::spec::{Condition, Policy, TranslationSpec};
use crate::sim::tests::small_drive;

/// Superblocks of 10 slots with so many valid, all filled in the order in which they stand here.
fn filled(valid: &[u32]) -> Superblocks {
    Superblocks::new(valid.iter().copied(), valid.len(), 0)
}

fn by(policy: Policy) -> TranslationSpec {
    TranslationSpec { policy, ..TranslationSpec::default() }
}

#[test]
fn of_equal_victims_the_oldest_is_taken() {
    for policy in [Policy::Greedy, Policy::Windowed(8), Policy::CostBenefit] {
        assert_eq!(filled(&[9, 4, 4, 4]).victim(&by(policy), 10), Some(N(1)), "{policy:?}");
        // Age is when a superblock was opened, and not its number.
        let mut all = filled(&[9, 4, 4, 4]);
        (all.get_mut(N(1)).sequence, all.get_mut(N(3)).sequence) = (3, 1);
        assert_eq!(all.victim(&by(policy), 10), Some(N(3)), "{policy:?}");
    }
}

#[test]
fn each_policy_has_its_own_victim() {
    let valid = [8, 7, 3, 2];
    assert_eq!(filled(&valid).victim(&by(Policy::Greedy), 10), Some(N(3)));
    assert_eq!(filled(&valid).victim(&by(Policy::Windowed(2)), 10), Some(N(1)));
    assert_eq!(filled(&valid).victim(&by(Policy::Windowed(3)), 10), Some(N(2)));
    // (1 - u) / 2u times the age: 4 / 8, 3 * 3 / 14, 2 * 7 / 6 and 8 / 4.
    assert_eq!(filled(&valid).victim(&by(Policy::CostBenefit), 10), Some(N(2)));
}

#[test]
fn what_is_full_or_open_is_no_victim() {
    let greedy = by(Policy::Greedy);
    assert_eq!(filled(&[10, 10]).victim(&greedy, 10), None, "there is nothing to gain");
    assert_eq!(filled(&[10, 9]).victim(&greedy, 10), Some(N(1)));
    for state in [State::Erased, State::Open, State::Emptied, State::Erasing] {
        let mut all = filled(&[1, 9]);
        all.get_mut(N(0)).state = state;
        assert_eq!(all.victim(&greedy, 10), Some(N(1)), "{state:?}");
    }
    let mut all = filled(&[1, 9]);
    all.get_mut(N(0)).pseudo_slc = true;
    assert_eq!(all.victim(&greedy, 10), Some(N(1)));
}

#[test]
fn every_fourth_victim_may_be_chosen_for_its_wear() {
    let spec = TranslationSpec { wear_gap: Some(5), ..by(Policy::Greedy) };
    let mut all = filled(&[9, 4, 10]);
    // The most worn has 6 cycles more than the least worn, which is more than 5.
    all.get_mut(N(0)).cycles = 5;
    all.get_mut(N(1)).cycles = 5;
    all.coming = 1;
    all.erased_now(N(1));
    all.get_mut(N(1)).state = State::Closed;
    let chosen: Vec<_> = (0..8).map(|_| all.choose_victim(&spec, 10)).collect();
    let (worn, gains) = (Some(N(2)), Some(N(1)));
    assert_eq!(chosen, [gains, gains, gains, worn, gains, gains, gains, worn]);
    all.get_mut(N(2)).cycles = 1;
    assert_eq!(
        (0..4).filter_map(|_| all.choose_victim(&spec, 10)).filter(|one| *one == N(2)).count(),
        0
    );
}

#[test]
fn the_least_worn_is_filled_next_and_of_equals_the_first_that_was_erased() {
    let purpose = Purpose { pseudo_slc: false, hot: false, settled: false, worn: false };
    let all = || {
        let mut all = Superblocks::new([0; 4].into_iter(), 0, 3);
        all.get_mut(N(1)).cycles = 5;
        all
    };
    let mut plain = all();
    let order = [(); 4].map(|()| plain.open(purpose, 10, 0));
    assert_eq!(order, [Some(N(0)), Some(N(2)), Some(N(3)), Some(N(1))]);
    assert_eq!(plain.open(purpose, 10, 0), None);
    assert_eq!(all().open(Purpose { worn: true, ..purpose }, 10, 0), Some(N(1)));
}

/// A drive in steady state, of which collection keeps `least` superblocks erased.
fn steady(least: u32) -> Translation {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    flash.blocks_per_plane = 60;
    flash.condition = Condition::Random;
    flash.translation.erased_min = least;
    Translation::new(&drive, Bytes::mebi(64).into())
}

#[test]
fn the_host_pays_for_a_victim_at_the_pace_that_keeps_erased_flash_where_it_is() {
    let opened = |streams: &[Stream]| {
        let mut translation = steady(4);
        let unit = translation.slots_per_unit;
        assert!(!translation.owes(unit * 1_000), "with four erased there is nothing to do");
        for &stream in streams {
            assert!(translation.open(stream));
        }
        translation
    };
    for (streams, behind) in [
        (&[Stream::Host][..], 1.0),
        (&[Stream::Host, Stream::Hot][..], 1.25),
        (&[Stream::Host, Stream::Hot, Stream::Moved][..], 1.5),
    ] {
        let mut translation = opened(streams);
        let (unit, size) = (translation.slots_per_unit, translation.slots_per_superblock);
        let victim = translation.superblocks.victim(&translation.spec, size).unwrap();
        let valid = f64::from(translation.superblocks.get(victim).valid);
        let pace = valid / (f64::from(size) - valid) * behind;
        // A unit of the host's at a time is too coarse to tell one pace from another.
        let slots = (f64::from(unit) / pace).ceil() as u32;
        assert!(slots > 2, "{slots}");
        for slot in 1..slots {
            assert!(!translation.owes(1), "after {slot} of {slots} slots, {behind}");
        }
        assert!(translation.owes(1), "after {slots} slots, {behind}");
    }
}

#[test]
fn an_empty_victim_is_due_at_once_and_a_full_one_has_time() {
    let mut translation = steady(4);
    translation.open(Stream::Host);
    let victim =
        translation.superblocks.victim(&translation.spec, translation.slots_per_superblock);
    let superblock = translation.superblocks.get_mut(victim.unwrap());
    superblock.valid = 0;
    assert!(translation.owes(0), "it can be erased without moving anything");
}

#[test]
fn the_last_erased_superblock_is_for_what_is_moved_hot_or_not() {
    for (erased, expected) in [(2, Stream::MovedHot), (1, Stream::Moved)] {
        let mut translation = steady(4);
        while translation.superblocks.erased() > erased {
            let purpose = Purpose { pseudo_slc: false, hot: false, settled: false, worn: false };
            translation.superblocks.open(purpose, 0, 0);
        }
        let victim = translation.choose_victim(false).unwrap();
        translation.superblocks.get_mut(victim.superblock).hot = true;
        assert_eq!(translation.stream_of_moved(victim), Some(expected), "{erased} erased");
    }
}

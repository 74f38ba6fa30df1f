//! Tests the translation against a simple model of the data that a drive must keep, and against theory.

use super::*;
use crate::spec::{FlashSpec, PseudoSlcSpec, Technology};
use crate::tests::runs::small_drive;
use crate::tests::{assert_within, pseudo_slc};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::Ratio;
use lanemark_schema::workload::one_pass::OnePass;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Returns a drive with this many superblocks of 64 units of 8 slots. `spare` superblocks exceed its capacity.
pub(super) fn drive(
    superblocks: u32,
    spare: u32,
    change: impl FnOnce(&mut FlashSpec),
) -> DriveSpec {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    flash.blocks_per_plane = superblocks;
    change(flash);
    let superblock = drive.flash().superblock();
    let spare = u64::from(spare).max(drive.flash().superblocks_spare());
    drive.capacity = superblock * (u64::from(superblocks) - spare);
    assert_eq!(drive.flash().check(drive.capacity), Ok(()));
    drive
}

#[test]
fn media_that_are_written_in_place_never_have_maps() {
    use crate::spec::DriveCondition::{Fresh, Purged, Random, Sequential};
    for condition in [Fresh, Purged, Sequential, Random] {
        for technology in [Technology::XPoint, Technology::Mlc] {
            let mut drive = small_drive();
            let flash = drive.flash_mut();
            (flash.technology, flash.condition) = (technology, condition);
            let translation = Translation::new(&drive, Bytes::mebi(8).into());
            let is_empty = matches!(translation.layout, InitialLayout::InOrder { slots: 0, ref cached } if cached.superblocks == 0);
            let wanted = technology == Technology::XPoint || condition == Purged;
            assert_eq!(is_empty, wanted, "{technology:?}, {condition:?}");
        }
    }
}

/// A translation whose dies complete programs immediately or on request.
pub(super) struct Machine {
    pub(super) translation: Translation,
    /// Units whose programs have not ended.
    under_way: VecDeque<u32>,
    pub(super) at_once: bool,
}

impl Machine {
    pub(super) fn new(drive: &DriveSpec, written: Bytes) -> Self {
        let translation = Translation::new(drive, written.into());
        Self { translation, under_way: VecDeque::new(), at_once: true }
    }

    fn program(&mut self, filled: FullUnit) {
        self.under_way.push_back(filled.unit);
        if self.at_once {
            self.settle();
        }
    }

    fn end_one(&mut self) {
        if let Some(unit) = self.under_way.pop_front() {
            self.translation.note_unit_stored(unit);
        }
        while let Some(superblock) = self.translation.next_to_erase() {
            self.translation.note_erased(superblock);
        }
    }

    fn settle(&mut self) {
        while !self.under_way.is_empty() {
            self.end_one();
        }
        self.end_one();
    }

    fn relocate(&mut self, fold: bool) -> bool {
        let progress = self.translation.relocate(fold, &mut Vec::new());
        if let CollectionStep::Filled(filled) = progress {
            self.program(filled);
        }
        self.end_one();
        progress != CollectionStep::Nothing
    }

    fn write(&mut self, slot: u64) {
        let mut tries = 0;
        let stream = loop {
            if let Some(stream) = self.translation.stream_for_host() {
                break stream;
            }
            tries += 1;
            assert!(tries < 100_000, "no room for slot {slot}, and no room can be made");
            if !self.relocate(true) {
                self.settle();
                for stream in [WriteStream::Host, WriteStream::PseudoSlc] {
                    if let Some(filled) = self.translation.pad(stream) {
                        self.program(filled);
                    }
                }
            }
        };
        if let Some(filled) = self.translation.append(stream, slot) {
            self.program(filled);
            let mut owes = self.translation.is_collection_behind(filled.slots);
            while owes && self.relocate(false) {
                owes = self.translation.is_collection_behind(0);
            }
        }
    }

    /// Checks that locations and counts agree, and returns the location of every slot.
    pub(super) fn places(&self) -> BTreeMap<u32, u32> {
        let translation = &self.translation;
        let mut slot_at = BTreeMap::new();
        for slot in 0..translation.slots {
            let place = translation.place_of(slot);
            if place != EMPTY {
                let shared = slot_at.insert(place, slot);
                assert_eq!(shared, None, "slot {slot} shares place {place}");
                let superblock = translation.superblocks.get(translation.superblock_of(place));
                let kept = if superblock.as_found {
                    translation.layout.slot(place)
                } else {
                    let slots = &superblock.slots;
                    slots.get(place % translation.slots_per_superblock).unwrap()
                };
                assert_eq!(kept, slot, "the superblock knows whose place {place} is");
                let state = superblock.state;
                let unused = [SuperblockState::Erased, SuperblockState::Erasing];
                assert!(!unused.contains(&state), "place {place} of slot {slot} is {state:?}");
            }
        }
        for index in 0..translation.superblocks.len() {
            let size = translation.slots_per_superblock;
            let range = index as u32 * size..(index as u32 + 1) * size;
            let valid = slot_at.range(range).count();
            let superblock = translation.superblocks.get(SuperblockNumber(index as u32));
            assert_eq!(superblock.valid as usize, valid, "superblock {index}");
        }
        let all = || (0..translation.superblocks.len() as u32).map(SuperblockNumber);
        let all = || all().map(|index| translation.superblocks.get(index));
        let coming = all()
            .filter(|one| matches!(one.state, SuperblockState::Emptied | SuperblockState::Erasing));
        assert_eq!(translation.superblocks.coming, coming.count(), "to be erased");
        let erased = all().filter(|one| one.state == SuperblockState::Erased);
        assert_eq!(translation.superblocks.erased(), erased.count());
        let cached = all().filter(|one| one.pseudo_slc);
        assert_eq!(translation.pseudo_slc_used, cached.count(), "of the pseudo-SLC cache");
        slot_at.into_iter().map(|(place, slot)| (slot, place)).collect()
    }
}

/// The writes of `bench --precondition fast` leave the distribution of valid data that the condition `random` has.
#[test]
fn one_pass_of_writes_leaves_the_valid_data_of_the_steady_state() {
    use crate::spec::DriveCondition::{Purged, Random};
    for spare in [30, 60, 120] {
        let valid = |machine: &Machine| {
            let superblocks = &machine.translation.superblocks;
            let all = (0..superblocks.len() as u32).map(SuperblockNumber);
            let mut valid: Vec<f64> = all.map(|one| superblocks.get(one).valid.into()).collect();
            valid.sort_by(f64::total_cmp);
            valid
        };
        let machine = |condition| {
            let drive = drive(400, spare, |flash| flash.condition = condition);
            Machine::new(&drive, drive.capacity)
        };
        let steady = valid(&machine(Random));
        let mut passed = machine(Purged);
        let size = f64::from(passed.translation.slots_per_superblock);
        let filled = steady.iter().filter(|valid| **valid > 0.0).count() as f64;
        let slots = passed.translation.slots;
        let share = filled * size / f64::from(slots) - 1.0;
        let rng = Rng::new(StreamKey::from_seed(1));
        OnePass::new(slots.into(), share, rng).for_each(|slot| passed.write(slot));
        let written = valid(&passed);
        let apart = steady.iter().zip(&written).map(|(one, two)| (one - two).abs());
        let mean = apart.sum::<f64>() / (steady.len() as f64 * size);
        assert!(mean < 0.02, "{spare} spare superblocks: {mean}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u64, u64),
    Trim(u64, u64),
    TrimAll,
    End(u32),
    Collect,
    Flush,
    PowerCut { protected: bool },
}

fn any_step(slots: u64) -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..slots, 1u64..200).prop_map(|(first, count)| Step::Write(first, count)),
        2 => (0..slots, 1u64..400).prop_map(|(first, count)| Step::Trim(first, count)),
        1 => Just(Step::TrimAll),
        6 => (1u32..40).prop_map(Step::End),
        3 => Just(Step::Collect),
        2 => Just(Step::Flush),
        1 => any::<bool>().prop_map(|protected| Step::PowerCut { protected }),
    ]
}

prop_compose! {
    fn any_drive()(
        spare in 8u32..14,
        cache in proptest::option::of((1u64..5, 0u64..5, any::<bool>())), condition in 0usize..3, planes in 1u32..3,
    ) -> DriveSpec {
        drive(24, spare, |flash| {
            flash.planes = planes;
            flash.translation.pseudo_slc = cache.map(|(mebibytes, growth, fold_when_full)| PseudoSlcSpec {
                fold_when_full,
                ..pseudo_slc(Bytes::mebi(mebibytes), Bytes::mebi(growth))
            });
            flash.condition = [DriveCondition::Fresh, DriveCondition::Sequential, DriveCondition::Random][condition];
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// After any sequence of writes, trims, collections and power cuts, each written slot has a separate location,
    /// trimmed slots do not have a location, and stored data is not lost.
    #[test]
    fn no_slot_is_lost_or_doubled(
        drive in any_drive(), steps in proptest::collection::vec(any_step(10_000), 1..120),
        is_just_written: bool,
    ) {
        let mut machine = Machine::new(&drive, Bytes::mebi(8));
        let content = PriorContent { is_just_written, ..PriorContent::from(Bytes::mebi(8)) };
        machine.translation = Translation::new(&drive, content);
        machine.at_once = false;
        let slots = u64::from(machine.translation.slots);
        let mut written: BTreeMap<u64, bool> =
            machine.places().into_keys().map(|slot| (slot.into(), true)).collect();
        // Slots that have a stored version, regardless of later versions.
        let mut trimmed_since_flush = false;
        for step in steps {
            match step {
                Step::Write(first, count) => {
                    for slot in first..(first + count).min(slots) {
                        machine.write(slot);
                        written.entry(slot).or_insert(false);
                    }
                }
                Step::Trim(first, count) => {
                    let end = (first + count).min(slots);
                    machine.translation.trim(first, end.max(first));
                    written.retain(|slot, _| !(first..end).contains(slot));
                    trimmed_since_flush = true;
                }
                Step::TrimAll => {
                    machine.translation.trim(0, slots);
                    written.clear();
                    trimmed_since_flush = true;
                }
                Step::End(count) => (0..count).for_each(|_| machine.end_one()),
                Step::Collect => _ = machine.relocate(true),
                Step::Flush => {
                    for stream in [WriteStream::Host, WriteStream::PseudoSlc] {
                        if let Some(filled) = machine.translation.pad(stream) {
                            machine.program(filled);
                        }
                    }
                    machine.settle();
                    written.values_mut().for_each(|safe| *safe = true);
                    trimmed_since_flush = false;
                }
                Step::PowerCut { protected } => {
                    machine.translation.power_cut(protected);
                    machine.under_way.clear();
                    machine.end_one();
                    let places = machine.places();
                    for (&slot, &safe) in &written {
                        let there = places.contains_key(&(slot as u32));
                        prop_assert!(there || !(safe || protected), "slot {} is lost", slot);
                    }
                    for &slot in places.keys() {
                        prop_assert!(written.contains_key(&slot.into()) || trimmed_since_flush);
                    }
                    written = places.into_keys().map(|slot| (slot.into(), true)).collect();
                }
            }
            let places = machine.places();
            prop_assert!(places.keys().map(|&slot| u64::from(slot)).eq(written.keys().copied()));
        }
    }
}

/// Returns the write amplification of uniform random writes over a whole drive, after the influence of the initial
/// state has vanished.
fn amplification(drive: &DriveSpec, rounds: u64) -> f64 {
    let mut machine = Machine::new(drive, drive.capacity);
    let slots = u64::from(machine.translation.slots);
    let mut rng = Rng::new(StreamKey::from_seed(7));
    let mut run = |machine: &mut Machine, writes: u64| {
        let before = machine.translation.written();
        (0..writes).for_each(|_| machine.write(rng.below(slots)));
        let after = machine.translation.written();
        let total =
            |written: SlotsWritten| written.host + written.moved + written.folded + written.padded;
        (total(after) - total(before)) as f64 / (after.host - before.host) as f64
    };
    run(&mut machine, slots * rounds);
    run(&mut machine, slots * 2)
}

/// Returns the theoretical write amplification for the superblocks that contain data, excluding the superblocks that
/// collection keeps erased.
fn theory(drive: &DriveSpec) -> f64 {
    let flash = drive.flash();
    // Two streams fill one superblock each, which is half full on average, and one or two superblocks are erased.
    let filled = f64::from(flash.blocks_per_plane - ERASED_MIN) - 0.5;
    let filled = filled * flash.superblock().get() as f64;
    write_amplification(filled / drive.capacity.get() as f64)
}

#[test]
fn random_writes_amplify_as_the_theory_of_greedy_collection_says() {
    for spare in [22, 32, 56] {
        let drive = drive(200, spare, |flash| flash.pages_per_block = 128);
        let seen = amplification(&drive, 4);
        let expected = theory(&drive);
        assert!((seen / expected - 1.0).abs() < 0.05, "{spare} spare: {seen:.3} for {expected:.3}");
    }
}

#[test]
fn the_steady_state_is_steady_from_the_first_write() {
    for spare in [22, 56] {
        let at = |condition, rounds| {
            let drive = drive(200, spare, |flash| {
                flash.pages_per_block = 128;
                flash.condition = condition;
            });
            amplification(&drive, rounds)
        };
        // The model is in the state that a run reaches after a while.
        assert_within(at(DriveCondition::Random, 0), at(DriveCondition::Sequential, 5), 0.05);
    }
}

#[test]
fn sequential_rewrites_move_nothing() {
    let drive = drive(40, 8, |_| {});
    let mut machine = Machine::new(&drive, drive.capacity);
    for _ in 0..4 {
        (0..u64::from(machine.translation.slots)).for_each(|slot| machine.write(slot));
    }
    assert_eq!(machine.translation.written().moved, 0);
    assert!(machine.translation.erases() > 90);
}

/// Writes random slots below `slots`, and returns the write amplification.
fn random_writes(machine: &mut Machine, slots: u64, writes: u64) -> f64 {
    let mut rng = Rng::new(StreamKey::from_seed(3));
    (0..writes).for_each(|_| machine.write(rng.below(slots)));
    let written = machine.translation.written();
    (written.host + written.moved) as f64 / written.host as f64
}

#[test]
fn trimmed_space_is_as_good_as_spare() {
    let drive = drive(200, 22, |flash| flash.pages_per_block = 64);
    let mut machine = Machine::new(&drive, drive.capacity);
    let slots = u64::from(machine.translation.slots);
    machine.translation.trim(slots / 2, slots);
    let seen = random_writes(&mut machine, slots / 2, slots * 3);
    assert_within(seen, write_amplification(196.0 / 89.0), 0.06);
}

#[test]
fn data_that_compresses_needs_less_flash_and_leaves_more_spare() {
    let amplified = |compressibility: f64| {
        let drive = drive(100, 10, |flash| {
            flash.translation.compression = Ratio::new(0.4).unwrap();
        });
        let content = PriorContent {
            compressibility: Ratio::new(compressibility).unwrap(),
            ..PriorContent::from(drive.capacity)
        };
        let mut machine = Machine::new(&drive, Bytes::ZERO);
        machine.translation = Translation::new(&drive, content);
        let slots = u64::from(machine.translation.slots);
        random_writes(&mut machine, slots, slots * 4)
    };
    let random = amplified(0.0);
    let half = amplified(0.5);
    assert!(
        random > 3.0 && half < 1.4,
        "{random:.2} for random data, {half:.2} for data that halves"
    );
}

/// Returns a cache whose fixed part takes 4 superblocks, and which grows by 30 superblocks.
fn growing_cache() -> PseudoSlcSpec {
    let superblocks = |count: f64| Bytes((count * 2.0 / 3.0 * f64::from(1 << 20)) as u64);
    pseudo_slc(superblocks(4.0), superblocks(30.0))
}

/// The cache grows only into the host's free space: an empty drive has the whole cache, and a full drive has only the
/// fixed part.
#[test]
fn a_pseudo_slc_cache_grows_as_far_as_the_host_left_space() {
    let data = 100u32;
    let cached = |change: &dyn Fn(&mut FlashSpec), content: Bytes| {
        let drive = drive(data + 40, 40, |flash| {
            flash.technology = Technology::Tlc;
            flash.translation.pseudo_slc = Some(growing_cache());
            change(flash);
        });
        let mut machine = Machine::new(&drive, Bytes::ZERO);
        machine.translation = Translation::new(&drive, content.into());
        let slots = u64::from(machine.translation.slots);
        for slot in 0..slots {
            if machine.translation.stream_for_host() != Some(WriteStream::PseudoSlc) {
                break;
            }
            machine.write(slot);
        }
        machine.translation.pseudo_slc_used
    };
    let superblock = drive(data + 40, 40, |_| ()).flash().superblock();
    let all = cached(&|_| (), Bytes::ZERO);
    let fixed = cached(&|flash| flash.condition = DriveCondition::Sequential, Bytes::ZERO);
    let half = Ratio::new(0.5).unwrap();
    assert_eq!(cached(&|flash| flash.condition = DriveCondition::Purged, Bytes::ZERO), all);
    let written = cached(&|_| (), superblock * u64::from(data));
    assert_eq!(written, fixed, "fresh, with all of it written");
    assert!(all > fixed + 20, "{all} superblocks on an empty drive, {fixed} on a full one");
    let filled = |share: Ratio| {
        let change = |flash: &mut FlashSpec| {
            (flash.condition, flash.filled) = (DriveCondition::Sequential, share);
        };
        cached(&change, Bytes::ZERO)
    };
    assert_eq!(filled(half), all, "half of the drive is more than the cache takes");
    // A tenth of the drive is lent as a whole: ten superblocks, each with a third of its normal amount of data.
    let seen = filled(Ratio::new(0.9).unwrap()) - fixed;
    assert!((9..=10).contains(&seen), "{seen}");
}

/// An idle drive has moved all data out of the growing part of the cache before a run begins.
#[test]
fn an_idle_drive_has_emptied_the_growth_of_its_cache() {
    let cached = |emptied_when_idle| {
        let drive = drive(140, 40, |flash| {
            flash.technology = Technology::Tlc;
            flash.translation.pseudo_slc =
                Some(PseudoSlcSpec { emptied_when_idle, ..growing_cache() });
        });
        let content = PriorContent { is_just_written: true, ..PriorContent::from(Bytes::mebi(60)) };
        Translation::new(&drive, content).pseudo_slc_used
    };
    let kept = cached(true);
    let all = cached(false);
    assert!(kept < all && (4..=5).contains(&kept) && all > 20, "{kept} of {all} superblocks");
}

/// A fixed cache of 20 superblocks would leave six of 26 spare superblocks to collection.
#[test]
fn a_fixed_cache_leaves_half_of_the_spare_flash_to_collection() {
    let drive = |condition| {
        drive(126, 0, |flash| {
            flash.technology = Technology::Tlc;
            flash.condition = condition;
            let capacity = Bytes(flash.superblock().get() * 20 / 3);
            flash.translation.pseudo_slc = Some(pseudo_slc(capacity, Bytes::ZERO));
        })
    };
    let random = Machine::new(&drive(DriveCondition::Random), Bytes::ZERO).translation;
    assert_eq!((random.pseudo_slc_used, random.superblocks.erased()), (13, ERASED_MIN as usize));
    // While the drive fills, the cache shrinks to the same size.
    let mut machine = Machine::new(&drive(DriveCondition::Purged), Bytes::ZERO);
    let slots = u64::from(machine.translation.slots);
    let used = |machine: &mut Machine, filled: u64| {
        (filled - slots / 4..filled).for_each(|slot| machine.write(slot));
        (filled - slots / 4..filled).for_each(|slot| machine.write(slot));
        machine.translation.pseudo_slc_used
    };
    let quarters = [1, 2, 3, 4].map(|quarter| used(&mut machine, slots * quarter / 4));
    // A superblock in one-bit mode stores a third of its pages, rounded down.
    assert_eq!(quarters, [21, 21, 21, 13]);
}

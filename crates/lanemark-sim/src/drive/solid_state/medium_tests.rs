//! Tests of flash as a medium: background work on an idle drive, the range of a trim, pages of the map, and the loss of
//! in-place writes in a power cut.

use super::*;
use crate::drive::medium::{Medium, PowerCutData, WriteBurst};
use crate::drive::outcome::{DriveOutcome, OutcomeQueue};
use crate::engine::slab::Handle;
use crate::spec::{MapSpec, Technology};
use crate::tests::runs::small_drive;
use crate::tests::{pseudo_slc, us};

fn medium(change: impl FnOnce(&mut DriveSpec)) -> SolidState {
    let mut drive = small_drive();
    change(&mut drive);
    let key = StreamKey::from_seed(1);
    SolidState::new(DriveNumber(0), drive.flash(), &drive, Bytes::mebi(8).into(), key)
}

/// Lets the media complete all operations in progress.
fn drain(medium: &mut SolidState, events: &mut EventSchedule) {
    let mut outcomes = OutcomeQueue::default();
    while let Some((now, event)) = events.pop() {
        if let Event::Media(_, handle) = event {
            medium.step(now, handle, events, &mut outcomes);
        }
    }
}

/// Returns a drive that, after 100 µs without commands, folds its pseudo-SLC cache, which contains `written`.
fn folding(written: Bytes) -> SolidState {
    let mut drive = small_drive();
    let flash = drive.flash_mut();
    (flash.technology, flash.blocks_per_plane) = (Technology::Tlc, 60);
    flash.translation.idle_after = us(100);
    flash.translation.pseudo_slc = Some(pseudo_slc(Bytes::mebi(4), Bytes::ZERO));
    let content = PriorContent { is_just_written: true, ..PriorContent::from(written) };
    SolidState::new(DriveNumber(0), drive.flash(), &drive, content, StreamKey::from_seed(1))
}

#[test]
fn an_idle_drive_works_after_its_time_and_not_sooner() {
    let start = Instant::ZERO + us(50);
    let begins = |after: Duration, takes: u32| {
        let mut medium = folding(Bytes::mebi(2));
        let mut events = EventSchedule::new();
        medium.note_commands(1);
        assert_eq!(medium.note_answered(start), Some(start + us(100)));
        if takes > 0 {
            medium.note_commands(takes);
        }
        medium.idle(start + after, &mut events);
        medium.is_working(start + after)
    };
    assert!(!begins(us(100) - Duration::from_picoseconds(1), 0));
    assert!(begins(us(100), 0) && begins(us(200), 0));
    assert!(!begins(us(200), 1), "it has a command");
}

#[test]
fn a_drive_looks_for_idle_work_when_its_last_command_is_done() {
    let mut medium = folding(Bytes::mebi(2));
    medium.note_commands(2);
    assert_eq!(medium.note_answered(Instant::ZERO), None, "one is left");
    assert_eq!(medium.note_answered(Instant::ZERO), Some(Instant::ZERO + us(100)));
    medium.note_commands(3);
    medium.power_cut(Instant::ZERO + us(10));
    medium.note_commands(1);
    let at = Instant::ZERO + us(20);
    assert_eq!(medium.note_answered(at), Some(at + us(100)), "a cut ends all commands");
    // A drive without background work does not schedule an idle event.
    let mut empty = folding(Bytes::ZERO);
    empty.note_commands(1);
    assert_eq!(empty.note_answered(Instant::ZERO), None, "there is nothing to fold");
}

#[test]
fn a_command_ends_the_work_of_an_idle_drive_before_its_goal() {
    for interrupted in [false, true] {
        let mut medium = folding(Bytes::mebi(3));
        let mut events = EventSchedule::new();
        medium.note_commands(1);
        let at = medium.note_answered(Instant::ZERO).unwrap();
        medium.idle(at, &mut events);
        if interrupted {
            medium.note_commands(1);
        }
        drain(&mut medium, &mut events);
        assert_eq!(medium.translation.works_when_idle(), interrupted, "interrupted: {interrupted}");
        assert!(medium.flash.is_idle());
    }
}

#[test]
fn a_trim_forgets_whole_slots_only() {
    for (offset, length, trimmed) in [
        (4096, 4096, 1..2),
        (4095, 4097, 1..2),
        (4097, 4096, 0..0),
        (4097, 8191, 2..3),
        (4097, 8190, 0..0),
        (512, 8192, 1..2),
        (0, 12_288, 0..3),
        (100, 200, 0..0),
    ] {
        let mut medium = medium(|_| ());
        medium.trim(Bytes(offset), Bytes(length), &mut OutcomeQueue::default());
        let left: Vec<bool> =
            (0..4).map(|slot| medium.locate(slot, slot + 1).0 != SlotLocation::Nowhere).collect();
        let expected: Vec<bool> = (0..4).map(|slot| !trimmed.contains(&slot)).collect();
        assert_eq!(left, expected, "{length} bytes from {offset}");
    }
}

#[test]
fn read_ahead_data_is_held_per_slot() {
    let mut medium = medium(|drive| drive.read_ahead = SLOT * 8);
    let mut events = EventSchedule::new();
    for first in [0, 4] {
        medium.read(Instant::ZERO, Handle::from_number(0), SLOT * first, SLOT * 4, &mut events);
    }
    let held = [SLOT * 7, SLOT * 8 - Bytes(1), SLOT * 8, SLOT * 16 - Bytes(1)];
    assert_eq!(held.map(|offset| medium.holds(offset)), [false, false, true, true]);
    assert!(!medium.holds(SLOT * 16), "nothing is read beyond the window");
    medium.power_cut(Instant::ZERO);
    assert!(!medium.holds(SLOT * 8));
}

#[test]
fn pages_of_the_map_come_from_flash_or_the_host_and_go_when_they_changed() {
    let four = Bytes::mebi(4);
    for in_host in [false, true] {
        let mut events = EventSchedule::new();
        let mut medium = medium(|drive| {
            let in_host = if in_host { Bytes::kibi(8) } else { Bytes::ZERO };
            drive.flash_mut().translation.map = Some(MapSpec { cached: Bytes::kibi(4), in_host });
        });
        let mut look = |page: u64, pages: u64, changes| {
            let now = Instant::ZERO;
            let command = Handle::from_number(0);
            let offset = four * page;
            let length = four * pages;
            let misses = medium.look_up(now, command, offset, length, changes, &mut events);
            (misses.from_media, misses.from_host, medium.usage().map_written)
        };
        let unit = small_drive().flash().unit();
        let none = Bytes::ZERO;
        assert_eq!(look(0, 1, true), (1, 0, none));
        assert_eq!(look(0, 1, false), (0, 0, none), "at hand");
        let stored = if in_host { none } else { unit };
        assert_eq!(look(1, 1, false), (1, 0, stored), "the changed one leaves");
        let back = if in_host { (0, 1, none) } else { (1, 0, unit) };
        assert_eq!(look(0, 1, false), back);
        assert_eq!(look(4, 3, false).0, 3, "each page of a long range");
    }
}

#[test]
fn a_cut_takes_in_place_writes_that_were_not_stored() {
    for cache in [WriteCacheMode::Volatile, WriteCacheMode::Protected, WriteCacheMode::Off] {
        for done in [0u64, 1, 5, 12] {
            let mut events = EventSchedule::new();
            let mut medium = medium(|drive| {
                drive.write_cache = cache;
                let flash = drive.flash_mut();
                (flash.technology, flash.planes, flash.page) = (Technology::XPoint, 1, SLOT);
                flash.pages_per_block = 512;
            });
            let mut outcomes = OutcomeQueue::default();
            // Another write to the same slot does not add a lost slot; the last write has not been stored.
            for (number, slot) in (0u32..12).zip(0u64..).chain([(12, 11)]) {
                let command = Handle::from_number(number);
                let burst = WriteBurst { command, offset: SLOT * slot, length: SLOT, last: true };
                medium.write(Instant::ZERO, burst, &mut events, &mut outcomes);
            }
            let mut ended = 0;
            let mut now = Instant::ZERO;
            while ended < done {
                let Some((at, Event::Media(_, handle))) = events.pop() else { unreachable!() };
                now = at;
                if medium.step(now, handle, &mut events, &mut outcomes).is_some() {
                    ended += 1;
                }
            }
            let rooms = std::iter::from_fn(|| outcomes.take());
            let room: u64 = rooms
                .map(|outcome| match outcome {
                    DriveOutcome::Room(bytes) => bytes.get() / SLOT.get(),
                    _ => 0,
                })
                .sum();
            assert_eq!(room, done, "each gives its room back as it is stored");
            let lost = if cache == WriteCacheMode::Volatile {
                SLOT * (12 - done).max(1)
            } else {
                Bytes::ZERO
            };
            let loss = medium.power_cut(now);
            assert_eq!(loss, PowerCutData { lost, held: Bytes::ZERO }, "{cache:?}, {done} stored");
        }
    }
}

//! Tests of read-ahead: the stream of a read, the lifetime of data that was read ahead, and the eviction of streams.

use super::*;
use proptest::prelude::*;

/// Returns the stream of the reads of slots 0 to 8 and 8 to 16, with a window of 64 slots.
fn second_read() -> (ReadAhead, usize) {
    let mut ahead = ReadAhead::new(64);
    assert_eq!(ahead.stream(0, 8), None);
    let stream = ahead.stream(8, 16).unwrap();
    (ahead, stream)
}

#[test]
fn the_second_read_in_a_row_is_read_ahead() {
    let (mut ahead, stream) = second_read();
    assert_eq!(ahead.find(stream, 8, 16), ReadAheadHit::Not(16));
    assert_eq!(ahead.slots_to_read_ahead(stream, 1000), 16..80);
    let stretch = ahead.begin(stream, 16, 24);
    assert_eq!(ahead.stream(16, 20), Some(stream));
    assert_eq!(ahead.find(stream, 16, 20), ReadAheadHit::Coming(20, stretch));
    ahead.wait(stretch, CommandHandle::from_number(5), Bytes(4096));
    assert_eq!(ahead.on_stretch_arrived(stretch), [(CommandHandle::from_number(5), Bytes(4096))]);
    assert_eq!(ahead.find(stream, 20, 28), ReadAheadHit::Here(24));
}

/// Reads that overtake each other belong to one stream: data that was read ahead for them is not read again.
#[test]
fn reads_that_overtake_each_other_stay_in_their_stream() {
    let (mut ahead, stream) = second_read();
    assert_eq!(ahead.slots_to_read_ahead(stream, 1000), 16..80);
    let stretches: Vec<_> =
        (16..80).step_by(8).map(|first| ahead.begin(stream, first, first + 8)).collect();
    // The reads from 16 and from 24 are late.
    assert_eq!(ahead.stream(32, 40), Some(stream));
    assert_eq!(ahead.slots_to_read_ahead(stream, 1000), 80..104);
    assert_eq!(ahead.find(stream, 32, 40), ReadAheadHit::Coming(40, stretches[2]));
    assert_eq!(ahead.stream(24, 32), Some(stream));
    assert_eq!(ahead.find(stream, 24, 32), ReadAheadHit::Coming(32, stretches[1]));
    assert_eq!(ahead.streams[stream].gaps.front(), Some(&(16..24)));
    assert_eq!(ahead.stream(16, 24), Some(stream));
    assert_eq!(ahead.find(stream, 16, 24), ReadAheadHit::Coming(24, stretches[0]));
    assert!(ahead.streams[stream].gaps.is_empty());
    ahead.slots_to_read_ahead(stream, 1000);
    assert_eq!(ahead.find(stream, 16, 24), ReadAheadHit::Not(24), "read once, it is dropped");
    assert_eq!(ahead.stream(16, 24), None, "a second read of it is not of the stream");
}

#[test]
fn read_ahead_stops_at_the_end_of_the_drive() {
    let (mut ahead, stream) = second_read();
    assert_eq!(ahead.slots_to_read_ahead(stream, 40), 16..40);
}

/// Returns a stream that has been read up to slot 16. Slots 16 to 80 are read ahead in stretches of 8, with a window of
/// 64 slots.
fn followed() -> (ReadAhead, usize) {
    let (mut ahead, stream) = second_read();
    for first in ahead.slots_to_read_ahead(stream, 1000).step_by(8) {
        ahead.begin(stream, first, first + 8);
    }
    (ahead, stream)
}

/// Reads all wanted slots ahead in one stretch, which arrives immediately.
fn read_on(ahead: &mut ReadAhead, stream: usize) {
    let wanted = ahead.slots_to_read_ahead(stream, 1 << 40);
    if !wanted.is_empty() {
        ahead.begin(stream, wanted.start, wanted.end);
    }
}

#[test]
fn a_write_invalidates_only_the_slots_that_it_changes() {
    for (first, end) in [(0, 16), (80, 90), (0, 17), (79, 80), (40, 41), (30, 50), (0, 90)] {
        let (mut ahead, stream) = followed();
        ahead.note_changed_slots(first, end);
        for slot in 0..100 {
            let held = (16..80).contains(&slot) && !(first..end).contains(&slot);
            assert_eq!(ahead.holds(slot), held, "{first}..{end}: {slot}");
        }
        assert_eq!(ahead.stream(16, 24), Some(stream), "{first}..{end}");
        assert_eq!(ahead.stream(32, 40), Some(stream), "{first}..{end}");
    }
}

/// A change is forgotten once the stream has passed it, so the list of changes stays short.
#[test]
#[expect(clippy::single_range_in_vec_init, reason = "lists of changes")]
fn a_read_finds_all_data_around_the_changed_slots() {
    let (mut ahead, stream) = followed();
    let stretches: Vec<_> = ahead.streams[stream].stretches.iter().copied().collect();
    stretches.iter().for_each(|&stretch| _ = ahead.on_stretch_arrived(stretch));
    for (first, end) in [(30, 31), (22, 23), (20, 22), (20, 21)] {
        ahead.note_changed_slots(first, end);
    }
    assert_eq!(ahead.streams[stream].changed, [20..23, 30..31]);
    assert_eq!(ahead.stream(16, 40), Some(stream));
    use ReadAheadHit::{Here, Not};
    let parts = [Here(20), Not(23), Here(24), Here(30), Not(31), Here(32), Here(40)];
    let mut slot = 16;
    for part in parts {
        assert_eq!(ahead.find(stream, slot, 40), part);
        let (Here(next) | Not(next)) = part else { unreachable!() };
        slot = next;
    }
    ahead.note_changed_slots(60, 61);
    ahead.slots_to_read_ahead(stream, 1000);
    assert_eq!(ahead.streams[stream].changed, [60..61]);
}

/// A stream that replaces an earlier stream does not inherit its gaps or its changed slots.
#[test]
fn a_stream_begins_without_the_past_of_the_one_before() {
    let (mut ahead, stream) = followed();
    assert_eq!(ahead.stream(24, 32), Some(stream));
    ahead.note_changed_slots(75, 76);
    (1..=15).for_each(|other| assert_eq!(ahead.stream(other << 20, (other << 20) + 8), None));
    assert_eq!(ahead.stream(56, 64), None);
    assert_eq!(ahead.stream(64, 72), Some(stream), "it took the place");
    read_on(&mut ahead, stream);
    assert!(ahead.holds(75));
    assert_eq!(ahead.stream(16, 24), None);
}

#[test]
fn data_on_its_way_is_held_like_data_that_arrived() {
    let (mut ahead, stream) = second_read();
    let stretch = ahead.begin(stream, 16, 24);
    for here in [false, true] {
        let held = [15, 16, 23, 24].map(|slot| ahead.holds(slot));
        assert_eq!(held, [false, true, true, false], "here: {here}");
        ahead.on_stretch_arrived(stretch);
    }
    assert_eq!(ahead.find(stream, 15, 24), ReadAheadHit::Not(24));
    assert_eq!(ahead.find(stream, 23, 40), ReadAheadHit::Here(24));
    assert_eq!(ahead.find(stream, 16, 20), ReadAheadHit::Here(20));
    assert_eq!(ahead.find(stream, 24, 40), ReadAheadHit::Not(40));
}

#[test]
fn a_stretch_is_kept_until_all_of_it_was_requested() {
    for (end, kept) in [(23, 16), (24, 24), (25, 24)] {
        let (mut ahead, stream) = followed();
        assert_eq!(ahead.stream(16, end), Some(stream));
        assert_eq!(ahead.slots_to_read_ahead(stream, 1000), 80..end + 64);
        assert!(ahead.holds(kept) && !ahead.holds(kept - 1), "read up to {end}");
    }
}

/// A dropped stretch is removed when its data arrives, or immediately if the data has already arrived.
#[test]
fn dropped_stretches_are_forgotten() {
    let (mut ahead, stream) = followed();
    let stretches: Vec<_> = ahead.streams[stream].stretches.iter().copied().collect();
    ahead.wait(stretches[1], CommandHandle::from_number(3), Bytes(512));
    ahead.on_stretch_arrived(stretches[0]);
    assert_eq!(ahead.stretches.live(), 8);
    (1..=8).for_each(|other| assert_eq!(ahead.stream(other << 20, (other << 20) + 8), None));
    assert_eq!(ahead.stretches.live(), 7, "the seven on their way");
    let waited = ahead.on_stretch_arrived(stretches[1]);
    assert_eq!(waited, [(CommandHandle::from_number(3), Bytes(512))]);
    assert_eq!(ahead.stretches.live(), 6);
    stretches[2..]
        .iter()
        .for_each(|&stretch| assert!(ahead.on_stretch_arrived(stretch).is_empty()));
    assert_eq!(ahead.stretches.live(), 0);
}

#[test]
fn a_read_overtakes_only_within_the_read_ahead_data() {
    for (first, overtakes) in [(17, true), (79, true), (80, false), (81, false)] {
        let (mut ahead, stream) = followed();
        let expected = overtakes.then_some(stream);
        assert_eq!(ahead.stream(first, first + 4), expected, "from {first}");
        if overtakes {
            assert_eq!(ahead.streams[stream].gaps.front(), Some(&(16..first)));
            assert_eq!(ahead.streams[stream].gaps.len(), 1);
            assert_eq!(ahead.streams[stream].next, first + 4);
        }
    }
}

#[test]
#[expect(clippy::single_range_in_vec_init, reason = "lists of gaps")]
fn a_read_into_a_gap_keeps_the_rest_of_the_gap() {
    for (first, end, left) in [
        (24, 32, vec![16..24, 32..40]),
        (16, 24, vec![24..40]),
        (32, 40, vec![16..32]),
        (16, 40, vec![]),
        (32, 48, vec![16..32]),
    ] {
        let (mut ahead, stream) = followed();
        assert_eq!(ahead.stream(40, 48), Some(stream));
        assert_eq!(ahead.stream(first, end), Some(stream));
        assert_eq!(ahead.streams[stream].gaps, left, "{first}..{end}");
        assert_eq!(ahead.streams[stream].next, 48, "the stream does not go back");
    }
    let (mut ahead, stream) = followed();
    assert_eq!(ahead.stream(40, 48), Some(stream));
    assert_eq!(ahead.stream(15, 20), None, "it begins before the gap");
}

#[test]
fn a_gap_is_kept_until_the_stream_is_a_window_further() {
    for (end, kept) in [(87, true), (88, false), (89, false)] {
        let (mut ahead, stream) = followed();
        assert_eq!(ahead.stream(24, 32), Some(stream));
        assert_eq!(ahead.stream(32, end), Some(stream));
        ahead.slots_to_read_ahead(stream, 1000);
        // The gap is from 16 to 24, and the window is 64 slots.
        assert_eq!(ahead.holds(16), kept, "read up to {end}");
    }
}

proptest! {
    /// The drive tracks eight streams and evicts the least recently used stream. It reads ahead exactly for the streams
    /// that continue.
    #[test]
    fn the_stream_that_was_idle_longest_makes_way(
        steps in proptest::collection::vec((0u64..12, 0u32..8), 1..200),
    ) {
        const APART: u64 = 1 << 20;
        let mut ahead = ReadAhead::new(64);
        // The streams in the order of their last read, each with its region, its next slot, and whether data was read
        // ahead for it.
        let mut model: Vec<Option<(u64, u64, bool)>> = vec![None; 8];
        let mut next = [0u64; 12];
        for (region, kind) in steps {
            let first = region * APART + next[region as usize];
            let known = model.iter().position(|one| one.is_some_and(|(of, ..)| of == region));
            if kind == 0 {
                // A write changes data that was read ahead, if there is any, and the stream continues.
                ahead.note_changed_slots(first + 1, first + 2);
                let held = known.is_some_and(|at| model[at].is_some_and(|(.., held)| held));
                prop_assert_eq!(ahead.holds(first), held);
                prop_assert!(!ahead.holds(first + 1));
                continue;
            }
            next[region as usize] += 8;
            let found = ahead.stream(first, first + 8);
            prop_assert_eq!(found.is_some(), known.is_some());
            model.remove(known.unwrap_or(0));
            model.push(Some((region, next[region as usize], known.is_some())));
            if let Some(stream) = found {
                read_on(&mut ahead, stream);
            }
            for region in 0..12 {
                let one = model.iter().flatten().find(|(of, ..)| *of == region);
                let held = ahead.holds(region * APART + next[region as usize]);
                prop_assert_eq!(held, one.is_some_and(|(.., held)| *held), "region {}", region);
            }
        }
    }
}

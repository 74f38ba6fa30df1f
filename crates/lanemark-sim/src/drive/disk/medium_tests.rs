//! Compares a disk's medium with simple models: the order in which buffered writes reach the platters, reads from the
//! cache and from the media, the extent of read-ahead, and the data that a power cut destroys.

use super::arm_state::ArmWork;
use super::bench::{Bench, DiskEvent, after_a_read, at};
use super::sweep::Mechanics;
use super::*;
use crate::drive::medium::{Medium, PowerCutData};
use lanemark_schema::units::Instant;
use proptest::prelude::*;

/// A buffered write in the simple model.
#[derive(Clone, Copy, Debug)]
struct Dirty {
    first: u64,
    end: u64,
    before_flush: bool,
}

/// Returns the instant at which each buffered write is on the platters, and its end sector, for writes that arrive
/// together.
///
/// Among the oldest `destage_window` writes, the firmware chooses the write that begins at the end of the last write
/// or, if there is no such write, the write whose first sector it expects to reach first. Writes that arrived before a
/// flush take precedence.
fn destaged(spec: &DiskSpec, mut waiting: Vec<Dirty>) -> Vec<(Instant, u64)> {
    let mechanics = Mechanics::new(spec);
    let mut now = Instant::ZERO;
    let mut track = mechanics.outermost();
    let mut ended = 0;
    let mut order = Vec::new();
    // The arm is idle when the first write arrives.
    let mut window = 1;
    while !waiting.is_empty() {
        let flushes = waiting.iter().any(|one| one.before_flush);
        let allowed = |one: &&(usize, Dirty)| !flushes || one.1.before_flush;
        let all: Vec<(usize, Dirty)> = waiting.iter().copied().enumerate().collect();
        let choice: Vec<(usize, Dirty)> =
            all.iter().filter(allowed).take(window).copied().collect();
        let expected = |dirty: &Dirty| {
            let sweep = mechanics.reach(now, &track, dirty.first, true);
            let spare = sweep.at.since(now + mechanics.motion(&track, &sweep.track, true));
            let misses = spare < spec.reorder_margin;
            sweep.at + if misses { spec.revolution() } else { Duration::ZERO }
        };
        let goes_on = choice.iter().find(|(_, one)| one.first == ended);
        let soonest = || choice.iter().min_by_key(|(_, one)| expected(one)).unwrap();
        let (place, one) = *goes_on.unwrap_or_else(soonest);
        waiting.remove(place);
        let mut sweep = mechanics.reach(now, &track, one.first, true);
        now = mechanics.pass(&mut sweep, one.end);
        (track, ended) = (sweep.track, one.end);
        order.push((now, one.end));
        window = spec.destage_window as usize;
    }
    order
}

proptest! {
    /// The arm empties the write cache in the order of the simple model, with or without a flush.
    #[test]
    fn the_arm_empties_the_write_cache_by_shortest_positioning_time(
        places in proptest::collection::vec((0u64..16_000, 1u64..5, any::<bool>()), 1..24),
        window in 1u32..20, margin in 0u64..4_000, flush in proptest::option::of(1usize..24),
    ) {
        let spec = DiskSpec {
            destage_window: window,
            reorder_margin: Duration::from_microseconds(margin),
            ..DiskSpec::example()
        };
        let mut bench = Bench::new(&spec, Bytes::mebi(8));
        let mut model: Vec<Dirty> = Vec::new();
        for (command, (slot, slots, goes_on)) in (0..).zip(places) {
            // Some writes begin at the end of the last write.
            let first = match model.last() {
                Some(last) if goes_on => last.end,
                _ => slot * 8,
            };
            let before_flush = flush.is_some_and(|flush| model.len() < flush);
            model.push(Dirty { first, end: first + slots * 8, before_flush });
            bench.write(command, first, first + slots * 8);
            prop_assert!(bench.instant_of(DiskEvent::Done(command)) == Some(Instant::ZERO), "in the buffer");
            if flush == Some(model.len()) {
                bench.flush(1_000);
            }
        }
        if flush.is_some_and(|flush| flush > model.len()) {
            bench.flush(1_000);
        }
        let expected = destaged(&spec, model.clone());
        for &(instant, end) in &expected {
            bench.until(instant);
            prop_assert_eq!(bench.rooms().last().copied(), Some(instant));
            prop_assert_eq!(bench.disk.ended, end);
        }
        bench.drain();
        let flushed = model.iter().filter(|one| one.before_flush).count();
        if flushed > 0 {
            prop_assert_eq!(bench.instant_of(DiskEvent::Done(1_000)), Some(expected[flushed - 1].0));
        }
        let room: Bytes = bench.seen.iter().fold(Bytes::ZERO, |sum, (_, seen)| match seen {
            DiskEvent::Room(room) => sum + *room,
            _ => sum,
        });
        let written = model.iter().fold(Bytes::ZERO, |sum, one| sum + SECTOR * (one.end - one.first));
        prop_assert_eq!((room, bench.disk.written), (written, written));
        prop_assert_eq!((bench.disk.dirty, bench.disk.dirty_room), (0, Bytes::ZERO));
        prop_assert_eq!(bench.disk.operations.live(), 0);
    }

    /// A power cut destroys the buffered writes that are not on the platters, and no other data.
    #[test]
    fn a_power_cut_takes_only_unwritten_data(
        places in proptest::collection::vec((0u64..16_000, 1u64..5), 1..24), cut_us in 0u64..200_000,
    ) {
        let spec = DiskSpec::example();
        let writes: Vec<Dirty> = places
            .into_iter()
            .map(|(slot, slots)| Dirty { first: slot * 8, end: (slot + slots) * 8, before_flush: false })
            .collect();
        for cached in [true, false] {
            let spec = DiskSpec { write_cache: cached, ..spec.clone() };
            let mut bench = Bench::new(&spec, Bytes::mebi(8));
            (0..).zip(&writes).for_each(|(command, one)| bench.write(command, one.first, one.end));
            bench.read_sectors(500, 100_000, 100_008);
            bench.until(at(cut_us));
            let written = bench.disk.written;
            let all = writes.iter().fold(Bytes::ZERO, |sum, one| sum + SECTOR * (one.end - one.first));
            let lost = if cached { all - written } else { Bytes::ZERO };
            let loss = bench.disk.power_cut(bench.now);
            prop_assert_eq!(loss, PowerCutData { lost, held: Bytes::ZERO });
            prop_assert_eq!((bench.disk.dirty, bench.disk.dirty_room), (0, Bytes::ZERO));
            let track = bench.disk.mechanics.outermost();
            prop_assert!(matches!(bench.disk.arm, ArmWork::Resting(at) if at == track));
            prop_assert!(!bench.disk.is_working(bench.now));
        }
    }
}

#[test]
fn a_read_takes_its_beginning_from_the_cache_and_only_the_rest_from_the_platters() {
    for (into, length, rest, bursts) in [
        (0u64, 24 * 512, 0, 1),
        (100, 24 * 512 - 100, 0, 1),
        (0, 25 * 512, 1, 2),
        (100, 24 * 512 - 99, 1, 2),
        (100, (24 + 256) * 512, 257, 3),
        (0, (24 + 256) * 512, 256, 2),
        (0, (24 + 257) * 512, 257, 3),
    ] {
        let mut bench = after_a_read(Bytes::ZERO);
        let offset = SECTOR * 40 + Bytes(into);
        let mut alone = bench.clone();
        assert_eq!(bench.read(1, offset, Bytes(length)), bursts, "{into} {length}");
        bench.drain();
        let data = bench.data_of(1);
        assert_eq!(data.len() as u32, bursts);
        let held = if rest == 0 { Bytes(length) } else { SECTOR * 64 - offset };
        assert_eq!(data[0], (at(30_000), held), "{into} {length}: at once");
        let total = data.iter().fold(Bytes::ZERO, |sum, (_, bytes)| sum + *bytes);
        assert_eq!(total, Bytes(length));
        if rest > 0 {
            alone.read(2, SECTOR * 64, Bytes(length) - held);
            alone.drain();
            // The data arrives as if only the rest was read.
            assert_eq!(data[1..], alone.data_of(2), "{into} {length}");
        }
    }
}

#[test]
fn a_read_comes_from_the_write_buffer_where_one_write_has_all_of_it() {
    for (first, end, buffered) in [
        (104, 112, true),
        (104, 111, true),
        (105, 112, true),
        (103, 112, false),
        (104, 113, false),
        (112, 113, false),
    ] {
        let mut bench = Bench::new(&DiskSpec::example(), Bytes::mebi(8));
        // The arm first processes another request.
        bench.write(0, 100_000, 100_008);
        bench.write(1, 104, 112);
        bench.read_sectors(2, first, end);
        bench.until(Instant::ZERO);
        let seen = bench.data_of(2);
        let expected = [(Instant::ZERO, SECTOR * (end - first))];
        assert_eq!(seen, if buffered { &expected[..] } else { &[] }, "{first}..{end}");
    }
    // Once stored on the platters, the write is no longer in the buffer.
    let mut bench = Bench::new(&DiskSpec::example(), Bytes::mebi(8));
    bench.write(1, 104, 112);
    bench.read_sectors(2, 104, 112);
    bench.until(at(30_000));
    bench.read_sectors(3, 104, 112);
    bench.until(at(30_000));
    assert_eq!((bench.data_of(2).len(), bench.data_of(3).len()), (1, 0));
}

#[test]
fn reading_ahead_stops_at_its_distance_and_at_the_end_of_the_drive() {
    let bench = Bench::new(&DiskSpec::example(), Bytes::mebi(8));
    let sectors = Bytes::mebi(64).get() / 512;
    let ahead = 1024;
    for (end, limit) in [
        (8, 8 + ahead),
        (sectors - ahead - 1, sectors - 1),
        (sectors - ahead, sectors),
        (sectors - ahead + 1, sectors),
        (sectors - 1, sectors),
        (sectors, sectors),
    ] {
        assert_eq!(bench.disk.limit_behind(end), limit, "after {end}");
    }
    let mut bench = Bench::new(&DiskSpec::example(), Bytes::mebi(8));
    bench.read_sectors(0, sectors - 100, sectors - 92);
    bench.until(at(500_000));
    assert_eq!(bench.ahead(), Some((sectors, sectors)));
    let held = bench.disk.segments.held_from(sectors - 100).map(|(_, end)| end);
    assert_eq!(held, Some(sectors), "read-ahead stops at the end of the disk");
}

#[test]
fn a_disk_reads_on_when_half_of_its_read_ahead_is_taken() {
    for (taken, limit) in
        [(64 + 511, 64 + 1024), (64 + 512, 64 + 512 + 1024), (64 + 513, 64 + 513 + 1024)]
    {
        let mut bench = after_a_read(Bytes::kibi(512));
        bench.until(at(500_000));
        assert_eq!(bench.ahead(), Some((64 + 1024, 64 + 1024)));
        assert_eq!(bench.read_sectors(1, 64, taken), 1, "all of it is in the cache");
        assert_eq!(bench.ahead().unwrap().1, limit, "taken up to {taken}");
        bench.until(at(1_000_000));
        assert_eq!(bench.ahead(), Some((limit, limit)));
    }
    // A disk that is reading ahead extends the limit immediately.
    let mut bench = after_a_read(Bytes::kibi(512));
    let (sector, limit) = bench.ahead().unwrap();
    assert!(sector > 80 && sector < limit && limit == 64 + 1024, "{sector} of {limit}");
    bench.read_sectors(1, 64, 72);
    assert_eq!(bench.ahead().unwrap().1, 72 + 1024);
}

#[test]
fn a_read_joins_only_at_the_next_sector() {
    for (skipped, joins) in [(0, true), (1, false)] {
        let mut bench = after_a_read(Bytes::kibi(512));
        let (sector, _) = bench.ahead().unwrap();
        bench.read_sectors(1, sector + skipped, sector + skipped + 16);
        assert_eq!(bench.disk.operations.live() == 0, joins, "{skipped} sectors are skipped");
        bench.drain();
        assert_eq!(bench.data_of(1).len(), 1);
    }
    // A second read joins at the end of a read that has joined, but not after a gap.
    for (skipped, joins) in [(0, true), (1, false)] {
        let mut bench = after_a_read(Bytes::kibi(512));
        let (sector, _) = bench.ahead().unwrap();
        bench.read_sectors(1, sector, sector + 100);
        bench.read_sectors(2, sector + 100 + skipped, sector + 116 + skipped);
        assert_eq!(bench.disk.operations.live() == 0, joins, "{skipped} sectors after the first");
        bench.drain();
        assert!(bench.data_of(1)[0].0 < bench.data_of(2)[0].0);
    }
    // Without read-ahead there is no stream to join, and the read waits for the arm.
    let mut bench = after_a_read(Bytes::ZERO);
    bench.read_sectors(1, 64, 72);
    assert_eq!(bench.disk.operations.live(), 1);
}

/// Overwritten sectors are not in the cache, and a read-ahead that passes them does not cache them again.
#[test]
fn a_write_takes_its_sectors_out_of_the_cache() {
    let held = |first: u64, end: u64, sector: u64| {
        let mut bench = after_a_read(Bytes::kibi(512));
        let (head, _) = bench.ahead().unwrap();
        assert!(head > 120, "{head}");
        bench.write(1, first, end);
        let at_once = bench.disk.segments.held_from(sector).is_some();
        bench.until(at(60_000));
        assert_eq!(bench.disk.segments.held_from(sector).is_some(), at_once);
        at_once
    };
    assert!(!held(20, 24, 20) && !held(20, 24, 23));
    assert!(!held(0, 1, 0) && !held(63, 65, 64));
    assert!(held(100_000, 100_008, 0) && held(100_000, 100_008, 100));
}

/// A read-ahead for which commands wait continues, and ends before the first sector that a write replaces.
#[test]
fn a_write_ends_the_read_ahead_at_its_first_sector() {
    // The offsets of the write, and of the new end of the read-ahead, are relative to the sector up to which a command
    // waits.
    for (first, end, limit) in [
        (1023, 1031, 1023),
        (1024, 1032, 1024),
        (1100, 1108, 1024),
        (10, 18, 10),
        (0, 8, 0),
        // The command receives all its sectors.
        (-10, -2, 0),
        (-300, -299, 0),
        // The head has already passed these sectors.
        (-308, -300, 1024),
        (-320, -310, 1024),
    ] {
        let mut bench = after_a_read(Bytes::kibi(512));
        let (sector, _) = bench.ahead().unwrap();
        let promised = sector + 300;
        bench.read_sectors(1, sector, promised);
        assert_eq!(bench.ahead(), Some((sector, promised + 1024)));
        let at = |offset: i64| promised.checked_add_signed(offset).unwrap();
        bench.write(2, at(first), at(end));
        assert_eq!(bench.ahead(), Some((sector, at(limit))), "a write to {first}..{end}");
    }
}

/// Returns whether a buffered write is served before a read if the write begins at the arm's position. `slots` of the
/// eight slots of the buffer contain waiting data; with `flush`, a flush also waits.
fn write_goes_first(slots: u64, flush: bool) -> bool {
    let mut bench = Bench::new(&DiskSpec::example(), Bytes::kibi(4) * 8);
    bench.write(0, 50_000, 50_008);
    bench.write(1, 50_008, 50_008 + slots * 8);
    if flush {
        bench.flush(9);
    }
    bench.read_sectors(2, 100_000, 100_008);
    bench.drain();
    *bench.rooms().last().unwrap() < bench.data_of(2)[0].0
}

#[test]
fn buffered_writes_wait_for_the_host_until_half_of_the_buffer_is_full_or_a_flush_waits() {
    let by_slots = [1, 3, 4, 5].map(|slots| write_goes_first(slots, false));
    assert_eq!(by_slots, [false, false, true, true]);
    assert_eq!([1, 3].map(|slots| write_goes_first(slots, true)), [true, true]);
}

/// A read that has waited for `age_max` is served before a nearer read.
#[test]
fn a_read_that_waited_for_the_bound_is_first() {
    let first_of = |age_max: Duration| {
        let spec = DiskSpec { age_max, read_ahead: Bytes::ZERO, ..DiskSpec::example() };
        let mut bench = Bench::new(&spec, Bytes::mebi(8));
        bench.read_sectors(0, 50_000, 50_064);
        bench.until(at(500));
        // One read is far away, and one is at the arm's position.
        bench.read_sectors(1, 100_000, 100_008);
        bench.until(at(600));
        bench.read_sectors(2, 50_064, 50_072);
        bench.drain();
        let [arm, far, near] = [0, 1, 2].map(|read| bench.data_of(read)[0].0);
        (arm, far < near)
    };
    let (free, far_first) = first_of(Duration::from_seconds(5));
    assert!(!far_first, "the nearer goes first");
    // The read waits for the arm after the command overhead of the firmware.
    let waited = free.since(at(500) + DiskSpec::example().command_overhead);
    assert!(first_of(waited).1);
    assert!(!first_of(waited + Duration::from_picoseconds(1)).1);
}

#[test]
fn a_write_without_a_cache_is_stored_by_the_arm() {
    let spec = DiskSpec { write_cache: false, ..DiskSpec::example() };
    let mut bench = Bench::new(&spec, Bytes::mebi(8));
    bench.write(0, 50_000, 50_008);
    assert_eq!((bench.seen.len(), bench.disk.dirty), (0, 0));
    bench.flush(1);
    assert_eq!(bench.instant_of(DiskEvent::Done(1)), Some(Instant::ZERO), "nothing is buffered");
    bench.drain();
    let mechanics = Mechanics::new(&spec);
    let mut sweep = mechanics.reach(Instant::ZERO, &mechanics.outermost(), 50_000, true);
    let end = mechanics.pass(&mut sweep, 50_008);
    assert_eq!(bench.instant_of(DiskEvent::Stored(0)), Some(end));
    assert_eq!(bench.instant_of(DiskEvent::Done(0)), None);
}

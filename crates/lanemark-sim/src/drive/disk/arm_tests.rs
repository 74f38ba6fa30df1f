//! Tests of the arm: reads that no longer need it, predicted times of reads that join a stream, and the arm's busy
//! times.

use super::arm_state::ArmWork;
use super::bench::{Bench, DiskEvent, after_a_read, at};
use super::sweep::Mechanics;
use super::*;
use crate::drive::medium::Medium;
use lanemark_schema::units::Instant;

/// A read that waits for the arm is complete when another read transfers all of its sectors.
#[test]
fn sectors_read_in_the_meantime_need_no_arm() {
    for (end, needs_arm) in [(63, false), (64, false), (65, true)] {
        let spec = DiskSpec { read_ahead: Bytes::ZERO, ..DiskSpec::example() };
        let mut bench = Bench::new(&spec, Bytes::mebi(8));
        bench.read_sectors(0, 0, 64);
        bench.read_sectors(1, 0, end);
        bench.drain();
        let first = bench.data_of(0)[0].0;
        let second = bench.data_of(1)[0];
        assert_eq!(second.0 > first, needs_arm, "up to {end}");
        assert_eq!(second.1, SECTOR * end);
        assert_eq!(bench.disk.operations.live(), 0);
    }
}

#[test]
fn a_write_waits_for_the_reads_that_were_promised_their_sectors() {
    let read = |writes: bool| {
        let mut bench = after_a_read(Bytes::kibi(512));
        let (sector, _) = bench.ahead().unwrap();
        bench.read_sectors(1, sector, sector + 100);
        if writes {
            bench.write(2, 50_000, 50_008);
        }
        bench.drain();
        let written = bench.instant_of(DiskEvent::Room(Bytes::kibi(4)));
        (bench.data_of(1), written)
    };
    let (alone, _) = read(false);
    let (with, written) = read(true);
    assert_eq!(with, alone);
    assert!(written.unwrap() > with[0].0);
}

/// After the disk has read ahead to its limit, the head must wait for the next sector to return.
#[test]
fn a_read_after_the_read_ahead_limit_takes_the_rest_of_the_turn() {
    for wait in [500_000, 503_000, 507_777] {
        let mut bench = after_a_read(Bytes::kibi(512));
        bench.until(at(wait));
        let (sector, limit) = bench.ahead().unwrap();
        assert_eq!((sector, limit), (64 + 1024, 64 + 1024));
        let ArmWork::Streaming(stream) = bench.disk.arm else { unreachable!() };
        let mechanics = Mechanics::new(&DiskSpec::example());
        let mut sweep = mechanics.reach(at(wait), &stream.sweep.track, sector, false);
        let end = mechanics.pass(&mut sweep, sector + 16);
        bench.read_sectors(1, sector, sector + 16);
        bench.until(end);
        assert_eq!(bench.data_of(1), [(end, SECTOR * 16)]);
        assert_eq!(bench.ahead().unwrap().1, sector + 16 + 1024);
    }
}

/// The arm seeks until it is on its track, and transfers from the first sector onward. The time between the two counts
/// as neither.
#[test]
fn the_arm_has_sought_and_transferred_as_far_as_it_is() {
    let spec = DiskSpec::example();
    let mechanics = Mechanics::new(&spec);
    let from = mechanics.outermost();
    let mut sweep = mechanics.reach(Instant::ZERO, &from, 50_000, true);
    let seek = mechanics.motion(&from, &sweep.track, true);
    let reached = sweep.at;
    let end = mechanics.pass(&mut sweep, 50_064);
    assert!(reached > Instant::ZERO + seek && end > reached);
    let one = Duration::from_picoseconds(1);
    let half = Instant::ZERO + seek / 2;
    for now in [Instant::ZERO, half, Instant::ZERO + seek, reached, reached + one, end, end + seek]
    {
        let mut bench = Bench::new(&spec, Bytes::mebi(8));
        bench.write(0, 50_000, 50_064);
        bench.until(now);
        let transferred = now.min(end).since_or_zero(reached);
        let sought = now.since(Instant::ZERO).min(seek);
        assert_eq!(bench.disk.worked(now), [sought, transferred], "at {now:?}");
        assert_eq!(bench.disk.arm_busy(now), now.min(end).since(Instant::ZERO));
        assert_eq!(bench.disk.is_working(now), now < end);
    }
}

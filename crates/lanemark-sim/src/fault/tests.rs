//! Tests the fault plan without a simulator: active faults, the steps of a reset, and the recovery of a drive.

use super::*;
use crate::tests::at;
use crate::tests::fault::with;
use crate::tests::runs::{nvme, small_drive, times};

fn just_before(at: Instant) -> Instant {
    Instant::from_picoseconds(at.picoseconds() - 1)
}

/// Returns the faults of a system with two drives.
fn faults(texts: &[&str]) -> Box<Faults> {
    seeded(texts, 1)
}

fn seeded(texts: &[&str], seed: u64) -> Box<Faults> {
    let system = with(&times(nvme(small_drive()), 2), texts);
    Faults::for_system(&system, StreamKey::from_seed(seed)).unwrap()
}

/// Returns the media access of a command of the first request.
fn command(drive: DriveNumber, operation: Operation, start: u64, length: u64) -> MediaAccess {
    let request = RequestHandle::from_number(0);
    MediaAccess { request, drive, operation, start: Bytes(start), end: Bytes(start + length) }
}

#[test]
fn a_reset_may_lengthen_the_one_before_and_not_shorten_it() {
    for (first, second, until) in
        [(10, 30, 30), (30, 10, 30), (20, 20, 20), (21, 20, 21), (20, 21, 21)]
    {
        let mut drive = DriveFaults::default();
        drive.begin_reset(at(1), at(first), false, 3);
        let reset = DriveReset { at: at(1), until: at(first), again: false, fault: 3 };
        assert_eq!(drive.reset, Some(reset));
        drive.begin_reset(at(2), at(second), true, 4);
        let reset = DriveReset { at: at(2), until: at(until), again: true, fault: 4 };
        assert_eq!(drive.reset, Some(reset), "{first} and {second}");
    }
}

#[test]
fn the_last_fault_that_began_holds_from_its_time_until_it_is_over() {
    let is = |kind: &FaultKind| matches!(kind, FaultKind::Latency { .. });
    let mut plan = faults(&[
        "latency extra=1us at=10us for=30us",
        "latency extra=2us at=20us for=10us drive=1",
        "pause at=25us for=100us",
    ]);
    let last = |plan: &Faults, drive, now| plan.last(DriveNumber(drive), now, is);
    for (drive, now, expected) in [
        (0, just_before(at(10)), None),
        (0, at(10), Some(0)),
        (1, at(10), Some(0)),
        (0, at(20), Some(0)),
        (1, just_before(at(20)), Some(0)),
        (1, at(20), Some(1)),
        (1, just_before(at(30)), Some(1)),
        (1, at(30), Some(0)),
        (1, just_before(at(40)), Some(0)),
        (1, at(40), None),
    ] {
        assert_eq!(last(&plan, drive, now), expected, "drive {drive} at {now:?}");
    }
    // This fault is added last but begins first.
    let added = plan.add("latency extra=3us at=5us for=100us".parse().unwrap());
    assert_eq!(last(&plan, 0, at(15)), Some(0));
    assert_eq!(last(&plan, 0, at(7)), Some(added));
    assert_eq!(last(&plan, 0, at(50)), Some(added));
    // If two faults begin together, the later one in the plan applies.
    let added = plan.add("latency extra=3us at=10us for=100us".parse().unwrap());
    assert_eq!(last(&plan, 0, at(15)), Some(added));
}

#[test]
fn a_drive_has_recovered_when_a_request_of_it_succeeds_that_came_after_the_fault() {
    let done = |plan: &mut Faults, drive, status, submitted, completed| {
        plan.record_outcome(DriveNumber(drive), status, 0, submitted, completed);
    };
    let failed = RequestStatus::Failed(ErrorKind::Media);
    let recovery =
        |plan: &Faults| plan.uses(at(1_000)).iter().map(|one| one.recovery).collect::<Vec<_>>();
    let mut plan = faults(&["pause at=10us for=1us drive=0", "pause at=20us for=1us"]);
    plan.begin(0);
    done(&mut plan, 1, RequestStatus::Good, at(12), at(15));
    done(&mut plan, 0, RequestStatus::Good, just_before(at(10)), at(16));
    done(&mut plan, 0, failed, at(12), at(17));
    assert_eq!(recovery(&plan), [None, None]);
    plan.begin(1);
    // The command arrived after one fault and before the other.
    done(&mut plan, 0, RequestStatus::Good, at(10), at(18));
    let first = Some(Duration::from_microseconds(8));
    assert_eq!(recovery(&plan), [first, None]);
    done(&mut plan, 1, RequestStatus::Good, at(20), at(25));
    let second = Some(Duration::from_microseconds(5));
    assert_eq!(recovery(&plan), [first, second]);
    // Later requests do not change the recovery time.
    done(&mut plan, 0, RequestStatus::Good, at(30), at(90));
    assert_eq!(recovery(&plan), [first, second]);
    assert_eq!(plan.uses(at(1_000))[0].failed, 1);
}

#[test]
fn a_fault_is_reported_from_its_time_on() {
    let plan = faults(&["pause at=10us for=1us", "pause at=20us for=1us"]);
    let reported = |now| plan.uses(now).len();
    let instants = [just_before(at(10)), at(10), just_before(at(20)), at(20)];
    assert_eq!(instants.map(reported), [0, 1, 1, 2]);
}

#[test]
fn a_range_is_unreadable_from_its_first_byte_to_its_last() {
    let mut plan = faults(&[
        "media-error range=8KiB..16KiB recovery=3us at=0s",
        "media-error range=12KiB..20KiB recovery=9us at=1us",
    ]);
    let drive = DriveNumber(0);
    plan.look(drive, at(2), None);
    let mut meet = |operation, start: u64, length: u64| match plan.effect_on(
        at(5),
        &command(drive, operation, start, length),
        || Bytes::ZERO,
    ) {
        FaultEffect::Held { until, error, fault } => {
            assert_eq!(error, Some(ErrorKind::Media));
            Some((until.since(at(5)).nanoseconds() / 1_000, fault))
        }
        FaultEffect::Nothing => None,
        FaultEffect::Stuck(_) => unreachable!(),
    };
    for (start, length, expected) in [
        (8_191, 1, None),
        (8_191, 2, Some((3, 0))),
        (8_192, 1, Some((3, 0))),
        (0, 65_536, Some((3, 0))),
        (16_383, 1, Some((3, 0))),
        (16_384, 1, Some((9, 1))),
        (20_479, 1, Some((9, 1))),
        (20_480, 1, None),
        (0, 8_192, None),
    ] {
        assert_eq!(meet(Operation::Read, start, length), expected, "{length} at {start}");
        for other in [Operation::Write, Operation::Trim, Operation::Flush] {
            assert_eq!(meet(other, start, length), None);
        }
    }
}

#[test]
fn a_drive_refuses_writes_when_it_has_taken_its_data() {
    let drive = DriveNumber(1);
    let mut plan = faults(&["read-only written=8KiB at=1us drive=1"]);
    plan.look(drive, at(1), None);
    let mut meet = |operation, written: u64| {
        plan.effect_on(at(5), &command(drive, operation, 0, 4096), || Bytes(written))
    };
    let refused = FaultEffect::Held { until: at(5), error: Some(ErrorKind::ReadOnly), fault: 0 };
    for operation in [Operation::Write, Operation::Trim] {
        assert_eq!(meet(operation, 8_191), FaultEffect::Nothing);
        assert_eq!(meet(operation, 8_192), refused);
        assert_eq!(meet(operation, 8_193), refused);
    }
    for operation in [Operation::Read, Operation::Flush] {
        assert_eq!(meet(operation, 1 << 30), FaultEffect::Nothing);
    }
}

#[test]
fn a_fault_holds_its_number_of_commands_until_it_is_over() {
    let drive = DriveNumber(0);
    let mut plan =
        faults(&["stuck commands=2 at=1us", "stuck commands=3 at=9us", "pause at=1us for=50us"]);
    let meet = |plan: &mut Faults| match plan.effect_on(
        at(20),
        &command(drive, Operation::Flush, 0, 4096),
        || Bytes::ZERO,
    ) {
        FaultEffect::Stuck(fault) => Some(fault),
        _ => None,
    };
    plan.look(drive, at(1), Some(0));
    plan.look(drive, at(1), Some(1));
    assert_eq!([(); 3].map(|()| meet(&mut plan)), [Some(0), Some(0), None]);
    plan.look(drive, at(9), Some(2));
    assert_eq!(meet(&mut plan), Some(2));
    // The end of another fault does not affect the stuck commands; only the end of the fault that stuck them does.
    plan.end_stuck(drive, 0);
    assert_eq!(meet(&mut plan), Some(2));
    plan.end_stuck(drive, 2);
    assert_eq!(meet(&mut plan), None);
}

#[test]
fn of_several_pauses_the_one_that_lasts_longest_counts() {
    let mut plan = faults(&[
        "pause at=1us for=20us drive=0",
        "pause at=2us for=5us",
        "pause at=3us for=50us drive=1",
    ]);
    for (now, first, second) in [
        (at(1), Some((0, at(21))), None),
        (at(2), Some((0, at(21))), Some((1, at(7)))),
        (at(3), Some((0, at(21))), Some((2, at(53)))),
        (just_before(at(21)), Some((0, at(21))), Some((2, at(53)))),
        (at(21), None, Some((2, at(53)))),
        (at(53), None, None),
    ] {
        [0, 1].into_iter().for_each(|drive| plan.look(DriveNumber(drive), now, None));
        assert_eq!(plan.paused(DriveNumber(0)), first, "{now:?}");
        assert_eq!(plan.paused(DriveNumber(1)), second, "{now:?}");
    }
}

/// Submits `count` requests in order, and returns the requests that the only fault delays.
fn delayed(plan: &mut Faults, count: u32) -> Vec<u32> {
    let drive = DriveNumber(0);
    plan.look(drive, at(1), None);
    let all = (0..count).filter(|number| {
        let request = RequestHandle::from_number(number % 7);
        plan.note_submission(request);
        let access = MediaAccess { request, ..command(drive, Operation::Read, 0, 4096) };
        let mut met = || plan.effect_on(at(5), &access, || Bytes::ZERO);
        let first = met();
        // Every command of a request has the same outcome.
        assert_eq!(met(), first);
        first != FaultEffect::Nothing
    });
    all.collect()
}

#[test]
fn a_share_selects_as_many_requests_as_it_says_and_a_seed_selects_the_same() {
    const COUNT: u32 = 20_000;
    for (share, expected) in [("1%", 200.0), ("30%", 6_000.0), ("100%", 20_000.0)] {
        let text = format!("latency extra=1us share={share} at=1us");
        let chosen = delayed(&mut seeded(&[&text], 3), COUNT);
        let p = expected / f64::from(COUNT);
        // The bound is four standard deviations of a binomial distribution.
        let bound = 4.0 * libm::sqrt(expected * (1.0 - p)) + 0.1;
        assert!((chosen.len() as f64 - expected).abs() < bound, "{share}: {}", chosen.len());
        assert_eq!(chosen, delayed(&mut seeded(&[&text], 3), COUNT));
        let other = delayed(&mut seeded(&[&text], 4), COUNT);
        assert!(share == "100%" || chosen != other, "{share}");
        // Two independent selections overlap by the product of their shares.
        let common = chosen.iter().filter(|number| other.contains(number)).count() as f64;
        assert!((common - expected * p).abs() < 4.0 * libm::sqrt(expected * p) + 0.1, "{common}");
    }
}

#[test]
fn a_request_from_before_the_first_fault_is_in_no_share() {
    let mut plan = faults(&["latency extra=1us share=100% at=1us", "lost-write share=100% at=1us"]);
    let drive = DriveNumber(0);
    plan.look(drive, at(1), None);
    let write = command(drive, Operation::Write, 0, 4096);
    assert_eq!(plan.effect_on(at(5), &write, || Bytes::ZERO), FaultEffect::Nothing);
    assert!(!plan.execute(&write));
    plan.note_answer(write.request, RequestStatus::Good);
    assert_eq!(plan.damage(), None);
    plan.note_submission(write.request);
    assert_ne!(plan.effect_on(at(5), &write, || Bytes::ZERO), FaultEffect::Nothing);
    assert!(!plan.execute(&write));
    plan.note_answer(write.request, RequestStatus::Good);
    assert!(matches!(plan.damage().unwrap().kind, FaultKind::LostWrite { range: None }));
}

#[test]
fn of_several_delays_the_last_that_affects_the_request_applies() {
    let texts = ["latency extra=1us at=1us", "latency extra=5us share=20% at=2us"];
    let mut plan = faults(&texts);
    let drive = DriveNumber(0);
    plan.look(drive, at(2), None);
    let mut counts = [0, 0];
    for _ in 0..1_000 {
        let access = command(drive, Operation::Write, 0, 4096);
        plan.note_submission(access.request);
        match plan.effect_on(at(5), &access, || Bytes::ZERO) {
            FaultEffect::Held { until, error: None, fault } => {
                assert_eq!(until, [at(6), at(10)][usize::from(fault)]);
                counts[usize::from(fault)] += 1;
            }
            other => unreachable!("{other:?}"),
        }
    }
    assert!(counts[0] + counts[1] == 1_000 && (150..250).contains(&counts[1]), "{counts:?}");
}

#[test]
fn a_lost_or_misdirected_write_does_not_heal() {
    for (silent, heals) in
        [("pause at=9s for=1s", true), ("lost-write range=0B..4KiB at=1us", false)]
    {
        let mut plan = faults(&["media-error range=0B..8KiB heal=write at=1us", silent]);
        let drive = DriveNumber(1);
        plan.look(drive, at(1), Some(0));
        let fails = |plan: &mut Faults, start| {
            let read = command(drive, Operation::Read, start, 512);
            plan.effect_on(at(5), &read, || Bytes::ZERO) != FaultEffect::Nothing
        };
        for start in [0, 4_096] {
            let write = command(drive, Operation::Write, start, 512);
            plan.note_submission(write.request);
            assert!(!plan.execute(&write));
        }
        let failed = [0, 512, 4_096, 4_608].map(|start| fails(&mut plan, start));
        assert_eq!(failed, [!heals, true, false, true]);
        // The other drive has its own bad bytes.
        plan.look(DriveNumber(0), at(1), Some(0));
        let read = command(DriveNumber(0), Operation::Read, 4_096, 512);
        assert_ne!(plan.effect_on(at(5), &read, || Bytes::ZERO), FaultEffect::Nothing);
    }
}

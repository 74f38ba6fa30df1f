//! Tests each verdict with the minimum evidence for it, and with evidence against it.

use super::*;

/// A device that is busy all the time, with all other evidence far from its limit, and no gain from a deeper queue.
fn drive() -> TestEvidence {
    TestEvidence {
        kind: RequestDestination::File,
        ceiling_share: Some((0.5, 0.5)),
        thread_busy: Some(0.3),
        core_wait: Some(0.01),
        machine: Some((3.2, 4)),
        others: Some((0.05, 0.25)),
        device: Some(("sda".to_owned(), 0.99)),
        times: Some((90_000.0, 100_000.0, 5_000.0)),
        deeper: Some((32, 1.01)),
        ..TestEvidence::default()
    }
}

fn limit(kind: LimitKind, share: f64) -> Option<Limit> {
    Some(Limit { text: "a limit".to_owned(), kind, share })
}

fn is(verdict: Verdict, cases: &[fn(&mut TestEvidence)]) {
    for (number, spoil) in cases.iter().enumerate() {
        let mut seen = drive();
        spoil(&mut seen);
        assert_eq!(seen.verdict(), verdict, "case {number}: {seen:?}");
    }
}

fn slow_file_system(seen: &mut TestEvidence) {
    seen.device = Some(("sda".to_owned(), 0.4));
    seen.times = Some((20_000.0, 100_000.0, 5_000.0));
}

fn crowd(seen: &mut TestEvidence) {
    (seen.machine, seen.others) = (Some((3.99, 4)), Some((3.5, 0.25)));
}

#[test]
fn each_verdict_needs_its_evidence() {
    is(
        Verdict::DriveBound,
        &[
            |_| (),
            // A device that is busy all the time may execute requests in turn, so its own time is no evidence in that
            // case.
            |seen| seen.times = Some((20_000.0, 100_000.0, 0.0)),
            |seen| seen.limit = limit(LimitKind::Device, 0.7),
            |seen| seen.limit = limit(LimitKind::Processor, 0.02),
        ],
    );
    is(Verdict::LinkBound, &[|seen| seen.ceiling_share = Some((0.97, 0.97))]);
    is(
        Verdict::CpuBound,
        &[
            |seen| seen.thread_busy = Some(0.98),
            |seen| seen.machine = Some((3.9, 4)),
            |seen| (seen.machine, seen.core_wait) = (Some((3.9, 4)), Some(0.6)),
        ],
    );
    is(
        Verdict::QueueStarved,
        &[
            |seen| seen.deeper = Some((1, 1.9)),
            |seen| seen.deeper = Some((1, 1.497)),
            // A single request spends most of its time outside the device, which is not the file system's fault.
            |seen| {
                slow_file_system(seen);
                seen.deeper = Some((1, 1.497));
            },
        ],
    );
    is(
        Verdict::FileSystemBound,
        &[
            slow_file_system,
            |seen| {
                slow_file_system(seen);
                seen.deeper = None;
            },
            // Other programs on the processors do not make a request wait that long.
            |seen| {
                slow_file_system(seen);
                crowd(seen);
                seen.times = Some((1e6, 151e6, 5_000.0));
            },
        ],
    );
    is(
        Verdict::Undecided,
        &[
            |seen| {
                slow_file_system(seen);
                crowd(seen);
            },
            |seen| {
                slow_file_system(seen);
                crowd(seen);
                seen.times = Some((1e6, 100e6, 5_000.0));
            },
            |seen| {
                slow_file_system(seen);
                seen.times = Some((1e6, 151e6, 5_000.0));
                seen.core_wait = Some(0.2);
            },
            |seen| {
                crowd(seen);
                seen.deeper = Some((1, 1.9));
            },
        ],
    );
    is(
        Verdict::Undecided,
        &[
            |seen| seen.deeper = None,
            |seen| seen.device = None,
            |seen| seen.deeper = Some((4, 1.2)),
            // The program's own processor time is not the file system's.
            |seen| {
                slow_file_system(seen);
                seen.times = Some((20_000.0, 100_000.0, 70_000.0));
            },
        ],
    );
}

#[test]
fn a_limit_that_is_met_comes_before_all_else() {
    is(
        Verdict::HeldBack,
        &[
            |seen| seen.limit = limit(LimitKind::Device, 0.99),
            |seen| seen.limit = limit(LimitKind::Processor, 0.4),
            |seen| {
                seen.limit = limit(LimitKind::Device, 1.0);
                seen.thread_busy = Some(1.0);
            },
        ],
    );
}

#[test]
fn others_on_the_processors_take_away_what_they_could_explain() {
    let crowd = |seen: &mut TestEvidence| {
        (seen.machine, seen.others) = (Some((3.9, 4)), Some((3.1, 0.25)));
    };
    for spoil in
        [(|_| ()) as fn(&mut TestEvidence), slow_file_system, |seen| seen.deeper = Some((1, 1.9))]
    {
        let mut seen = drive();
        spoil(&mut seen);
        assert_ne!(seen.verdict(), Verdict::Undecided);
        crowd(&mut seen);
        assert_eq!(seen.verdict(), Verdict::Undecided);
        assert!(seen.signs().contains(&EvidenceItem::Crowded));
        let mut seen = drive();
        spoil(&mut seen);
        seen.core_wait = Some(0.4);
        assert_eq!(seen.verdict(), Verdict::Undecided);
        // Programs that were active only while deeper queues were tried invalidate the result of these queues.
        let mut seen = drive();
        spoil(&mut seen);
        let told_by_times = seen.verdict() == Verdict::FileSystemBound;
        seen.deeper_crowded = true;
        assert_eq!(seen.verdict() == Verdict::Undecided, !told_by_times);
        assert_eq!(seen.signs().contains(&EvidenceItem::Crowded), !told_by_times);
    }
    // The evidence that they cannot explain remains: the program's own core, a full link, a limit.
    let own: [(fn(&mut TestEvidence), Verdict); 3] = [
        (|seen| seen.thread_busy = Some(0.97), Verdict::CpuBound),
        (|seen| seen.ceiling_share = Some((0.95, 0.95)), Verdict::LinkBound),
        (|seen| seen.limit = limit(LimitKind::Device, 1.0), Verdict::HeldBack),
    ];
    for (spoil, verdict) in own {
        let mut seen = drive();
        crowd(&mut seen);
        spoil(&mut seen);
        assert_eq!(seen.verdict(), verdict);
    }
}

#[test]
fn a_rule_applies_to_targets_of_its_kind_alone() {
    is(
        Verdict::Undecided,
        &[
            |seen| {
                slow_file_system(seen);
                seen.kind = RequestDestination::Device;
            },
            |seen| {
                slow_file_system(seen);
                seen.kind = RequestDestination::NoDevice;
            },
            |seen| seen.kind = RequestDestination::NoDevice,
            |seen| {
                (seen.kind, seen.ceiling_share) =
                    (RequestDestination::NoDevice, Some((0.97, 0.97)));
            },
        ],
    );
}

#[test]
fn no_verdict_rests_on_a_ceiling_that_is_not_known() {
    // The link would be full with 128 B of data in a packet, but not with 4 KiB.
    is(Verdict::Undecided, &[|seen| seen.ceiling_share = Some((0.82, 0.99))]);
    // The link is full for any packet size.
    is(Verdict::LinkBound, &[|seen| seen.ceiling_share = Some((0.92, 1.1))]);
    // Data that arrives faster than the link allows came from another source.
    is(Verdict::DriveBound, &[|seen| seen.ceiling_share = Some((0.6, 0.7))]);
    is(Verdict::Undecided, &[|seen| seen.ceiling_share = Some((3.0, 3.0))]);
}

#[test]
fn what_is_missing_is_said() {
    let signs = TestEvidence::default().signs();
    assert_eq!(
        signs,
        [EvidenceItem::NoCeiling, EvidenceItem::NoDevice, EvidenceItem::NoQueueProbe]
    );
    assert_eq!(drive().signs().len(), 8);
}

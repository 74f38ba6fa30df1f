//! Tests each verdict with the minimum evidence for it, and with evidence against it.

use super::*;

/// Returns evidence of a device that is always busy, with all other evidence far from its limits, and without a gain
/// from a deeper queue.
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

fn limit(kind: CgroupLimitKind, share: f64) -> Option<CgroupLimit> {
    Some(CgroupLimit { text: "a limit".to_owned(), kind, share })
}

fn check_verdict(verdict: LimitingPart, cases: &[fn(&mut TestEvidence)]) {
    for (number, spoil) in cases.iter().enumerate() {
        let mut evidence = drive();
        spoil(&mut evidence);
        assert_eq!(evidence.verdict(), verdict, "case {number}: {evidence:?}");
    }
}

fn slow_file_system(evidence: &mut TestEvidence) {
    evidence.device = Some(("sda".to_owned(), 0.4));
    evidence.times = Some((20_000.0, 100_000.0, 5_000.0));
}

fn crowd(evidence: &mut TestEvidence) {
    (evidence.machine, evidence.others) = (Some((3.99, 4)), Some((3.5, 0.25)));
}

#[test]
fn each_verdict_needs_its_evidence() {
    check_verdict(
        LimitingPart::DriveBound,
        &[
            |_| (),
            // A device that is always busy may execute requests one after another, so its own time is not evidence in
            // that case.
            |evidence| evidence.times = Some((20_000.0, 100_000.0, 0.0)),
            |evidence| evidence.limit = limit(CgroupLimitKind::Device, 0.7),
            |evidence| evidence.limit = limit(CgroupLimitKind::Processor, 0.02),
        ],
    );
    check_verdict(
        LimitingPart::LinkBound,
        &[|evidence| evidence.ceiling_share = Some((0.97, 0.97))],
    );
    check_verdict(
        LimitingPart::CpuBound,
        &[
            |evidence| evidence.thread_busy = Some(0.98),
            |evidence| evidence.machine = Some((3.9, 4)),
            |evidence| (evidence.machine, evidence.core_wait) = (Some((3.9, 4)), Some(0.6)),
        ],
    );
    check_verdict(
        LimitingPart::QueueStarved,
        &[
            |evidence| evidence.deeper = Some((1, 1.9)),
            |evidence| evidence.deeper = Some((1, 1.497)),
            // A single request spends most of its time outside the device, but the file system is not the cause.
            |evidence| {
                slow_file_system(evidence);
                evidence.deeper = Some((1, 1.497));
            },
        ],
    );
    check_verdict(
        LimitingPart::FileSystemBound,
        &[
            slow_file_system,
            |evidence| {
                slow_file_system(evidence);
                evidence.deeper = None;
            },
            // Other programs on the processors do not delay a request by so large a time.
            |evidence| {
                slow_file_system(evidence);
                crowd(evidence);
                evidence.times = Some((1e6, 151e6, 5_000.0));
            },
        ],
    );
    check_verdict(
        LimitingPart::Undecided,
        &[
            |evidence| {
                slow_file_system(evidence);
                crowd(evidence);
                evidence.times = Some((1e6, 100e6, 5_000.0));
            },
            |evidence| {
                slow_file_system(evidence);
                evidence.times = Some((1e6, 151e6, 5_000.0));
                evidence.core_wait = Some(0.2);
            },
        ],
    );
    check_verdict(
        LimitingPart::Undecided,
        &[
            |evidence| evidence.deeper = None,
            |evidence| evidence.device = None,
            |evidence| evidence.deeper = Some((4, 1.2)),
            // The program's own processor time is not attributed to the file system.
            |evidence| {
                slow_file_system(evidence);
                evidence.times = Some((20_000.0, 100_000.0, 70_000.0));
            },
        ],
    );
}

#[test]
fn a_limit_that_is_met_comes_before_all_else() {
    check_verdict(
        LimitingPart::HeldBack,
        &[
            |evidence| evidence.limit = limit(CgroupLimitKind::Device, 0.99),
            |evidence| evidence.limit = limit(CgroupLimitKind::Processor, 0.4),
            |evidence| {
                evidence.limit = limit(CgroupLimitKind::Device, 1.0);
                evidence.thread_busy = Some(1.0);
            },
        ],
    );
}

#[test]
fn other_programs_on_the_processors_remove_the_verdicts_that_they_could_explain() {
    let crowd = |evidence: &mut TestEvidence| {
        (evidence.machine, evidence.others) = (Some((3.9, 4)), Some((3.1, 0.25)));
    };
    for spoil in [(|_| ()) as fn(&mut TestEvidence), slow_file_system, |evidence| {
        evidence.deeper = Some((1, 1.9));
    }] {
        let mut evidence = drive();
        spoil(&mut evidence);
        assert_ne!(evidence.verdict(), LimitingPart::Undecided);
        crowd(&mut evidence);
        assert_eq!(evidence.verdict(), LimitingPart::Undecided);
        assert!(evidence.signs().contains(&EvidenceItem::Crowded));
        let mut evidence = drive();
        spoil(&mut evidence);
        evidence.core_wait = Some(0.4);
        assert_eq!(evidence.verdict(), LimitingPart::Undecided);
        // Programs that were active only while deeper queues were tried invalidate the result of these queues.
        let mut evidence = drive();
        spoil(&mut evidence);
        let told_by_times = evidence.verdict() == LimitingPart::FileSystemBound;
        evidence.deeper_crowded = true;
        assert_eq!(evidence.verdict() == LimitingPart::Undecided, !told_by_times);
        assert_eq!(evidence.signs().contains(&EvidenceItem::Crowded), !told_by_times);
    }
    // Evidence that other programs cannot explain remains valid: the program's own core, a full link, or a limit.
    let own: [(fn(&mut TestEvidence), LimitingPart); 3] = [
        (|evidence| evidence.thread_busy = Some(0.97), LimitingPart::CpuBound),
        (|evidence| evidence.ceiling_share = Some((0.95, 0.95)), LimitingPart::LinkBound),
        (|evidence| evidence.limit = limit(CgroupLimitKind::Device, 1.0), LimitingPart::HeldBack),
    ];
    for (spoil, verdict) in own {
        let mut evidence = drive();
        crowd(&mut evidence);
        spoil(&mut evidence);
        assert_eq!(evidence.verdict(), verdict);
    }
}

#[test]
fn a_rule_applies_only_to_targets_of_its_kind() {
    check_verdict(
        LimitingPart::Undecided,
        &[
            |evidence| {
                slow_file_system(evidence);
                evidence.kind = RequestDestination::Device;
            },
            |evidence| {
                slow_file_system(evidence);
                evidence.kind = RequestDestination::NoDevice;
            },
            |evidence| evidence.kind = RequestDestination::NoDevice,
            |evidence| {
                (evidence.kind, evidence.ceiling_share) =
                    (RequestDestination::NoDevice, Some((0.97, 0.97)));
            },
        ],
    );
}

#[test]
fn no_verdict_rests_on_a_ceiling_that_is_not_known() {
    // The link would be full with 128 B of data per packet, but not with 4 KiB.
    check_verdict(
        LimitingPart::Undecided,
        &[|evidence| evidence.ceiling_share = Some((0.82, 0.99))],
    );
    // The link is full for any packet size.
    check_verdict(
        LimitingPart::LinkBound,
        &[|evidence| evidence.ceiling_share = Some((0.92, 1.1))],
    );
    // Data that arrives faster than the link allows came from another source.
    check_verdict(
        LimitingPart::DriveBound,
        &[|evidence| evidence.ceiling_share = Some((0.6, 0.7))],
    );
    check_verdict(LimitingPart::Undecided, &[|evidence| evidence.ceiling_share = Some((3.0, 3.0))]);
}

#[test]
fn missing_evidence_is_named() {
    let signs = TestEvidence::default().signs();
    assert_eq!(
        signs,
        [EvidenceItem::NoCeiling, EvidenceItem::NoDevice, EvidenceItem::NoQueueProbe]
    );
    assert_eq!(drive().signs().len(), 8);
}

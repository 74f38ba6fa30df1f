//! Tests of ceilings, verdicts and evidence as text.

use lanemark_schema::units::BytesPerSecond;

use super::*;
use crate::run_tests::{reads, run, test};

fn ceiling(megabytes: u64, most: Option<u64>) -> HopCeiling {
    let rate = |megabytes: u64| BytesPerSecond(megabytes * 1_000_000);
    HopCeiling {
        hop: "0000:01:00.0".to_owned(),
        link: "PCIe 3.0 x4".to_owned(),
        rate: rate(megabytes),
        rate_most: most.map(rate),
    }
}

fn explained(share: Option<f64>, bottleneck: Option<usize>) -> Explanation {
    Explanation {
        ceilings: vec![ceiling(3_000, None), ceiling(800, Some(1_000))],
        bottleneck,
        ceiling_share: share,
        verdict: LimitingPart::Undecided,
        evidence: Vec::new(),
    }
}

#[test]
fn every_piece_of_evidence_is_a_text_with_its_figures() {
    let text = |text: &str| text.to_owned();
    for (item, wanted) in [
        (
            EvidenceItem::CeilingShare { link: text("SATA"), share: 0.57, share_most: None },
            "throughput is 57% of SATA's ceiling for this test",
        ),
        (
            EvidenceItem::CeilingShare { link: text("SATA"), share: 0.57, share_most: Some(0.69) },
            "throughput is 57 to 69% of SATA's ceiling for this test (packet size unknown)",
        ),
        (
            EvidenceItem::DeviceLimit { limit: text("rbps=7"), share: 0.98 },
            "the device reached 98% of a limit: rbps=7",
        ),
        (
            EvidenceItem::Quota { limit: text("50000 100000"), share: 0.31 },
            "the program was kept off the processors 31% of the time: 50000 100000",
        ),
        (
            EvidenceItem::NoDevice,
            "some or all of the requests were answered before they reached a device",
        ),
        (EvidenceItem::CoreWait { share: 0.12 }, "a thread waited for a core 12% of the time"),
        (EvidenceItem::OthersBusy { used: 1.256, cores: 4 }, "other programs used 1.26 of 4 cores"),
        (EvidenceItem::Crowded, "the processor use of other programs could explain the result"),
        (EvidenceItem::NoCeiling, "no link of the path reports its trained rate"),
        (EvidenceItem::ThreadBusy { share: 0.43 }, "the busiest thread took 43% of a core"),
        (EvidenceItem::ThreadBusy { share: 1.2 }, "the busiest thread took 100% of a core"),
        (EvidenceItem::MachineBusy { used: 2.5, cores: 8 }, "the machine used 2.50 of 8 cores"),
        (
            EvidenceItem::DeviceBusy { device: text("vda"), share: 0.66 },
            "vda was busy 66% of the time",
        ),
        (
            EvidenceItem::DeviceTime { device_ns: 12_300.0, request_ns: 45_600.0 },
            "requests took 12.3 µs at the device, and 45.6 µs for the program",
        ),
        (
            EvidenceItem::DeeperQueue { queue_depth: 7, gain: 1.35 },
            "14 outstanding requests instead of 7 gave +35.0%",
        ),
        (EvidenceItem::NoQueueProbe, "a deeper queue was not tried"),
    ] {
        assert_eq!(evidence_text(&item), wanted);
    }
}

#[test]
fn a_verdict_has_its_reason() {
    let text_of = |verdict, evidence| {
        super::verdict(&Explanation { verdict, evidence, ..explained(None, None) })
    };
    for (verdict, wanted) in [
        (LimitingPart::LinkBound, "link-bound; the path's slowest link was full."),
        (LimitingPart::DriveBound, "drive-bound; the device was at its limit."),
        (LimitingPart::CpuBound, "CPU-bound; the processors were fully busy."),
        (
            LimitingPart::QueueStarved,
            "queue-starved; more outstanding requests increase the throughput.",
        ),
        (
            LimitingPart::FileSystemBound,
            "file-system-bound; most of the latency arose before a request reached the device.",
        ),
        (LimitingPart::HeldBack, "held back; a limit of a control group was reached."),
        (LimitingPart::Undecided, "undecided; no observed part was at its limit."),
    ] {
        assert_eq!(text_of(verdict, Vec::new()), format!("Verdict: {wanted}"));
    }
    let crowded = EvidenceItem::Crowded;
    let unprobed = EvidenceItem::NoQueueProbe;
    let text = text_of(LimitingPart::Undecided, vec![unprobed.clone(), crowded.clone()]);
    assert!(text.ends_with("other programs on the processors could explain the result."), "{text}");
    let text = text_of(LimitingPart::Undecided, vec![unprobed]);
    assert!(text.ends_with("--explain tries a deeper queue, which may find the limit."), "{text}");
    assert!(text_of(LimitingPart::CpuBound, vec![crowded]).ends_with("fully busy."));
}

#[test]
fn the_test_closest_to_its_ceiling_is_reported() {
    let with = |name: &str, explanation: Option<Explanation>| {
        let mut test = test(name, vec![reads(10, 64, &[50; 100])]);
        test.explanation = explanation;
        test
    };
    let tests = vec![
        with("a", Some(explained(Some(0.2), Some(0)))),
        with("b", Some(explained(Some(0.6), Some(1)))),
        with("c", Some(explained(None, None))),
        with("d", None),
    ];
    // The share is relative to the upper bound of 1,000 MB/s; relative to 800 MB/s, it is a quarter higher.
    let text = closest(&run(tests.clone())).unwrap();
    let wanted = "b: measured 655 MB/s = 60 to 75% of the bottleneck's ceiling (PCIe 3.0 x4 to \
                  0000:01:00.0, 800 to 1,000 MB/s).";
    assert_eq!(text, wanted);
    let text = closest(&run(tests[..1].to_vec())).unwrap();
    assert!(
        text.contains("= 20% of the bottleneck's ceiling") && text.contains("3,000 MB/s)"),
        "{text}"
    );
    assert_eq!(closest(&run(tests[2..].to_vec())), None);
    assert_eq!((shares(0.5, Some(0.502)), shares(0.5, None)), ("50%".to_owned(), "50%".to_owned()));
}

#[test]
fn ceilings_are_a_table_with_a_remark_about_ranges() {
    let style = Style { width: 200, colour: false };
    let text = ceilings_text("4K", &[ceiling(3_000, None)], &style);
    assert!(text.starts_with("Ceilings for 4K\n") && text.contains("3,000"), "{text}");
    assert!(!text.contains("is a range"), "{text}");
    let text = ceilings_text("4K", &[ceiling(3_000, None), ceiling(800, Some(1_000))], &style);
    assert!(text.contains("800 to 1,000") && text.contains("is a range"), "{text}");
    assert!(ceilings_text("4K", &[], &style).contains("No link of this path reports"));
}

//! Volumes on library drives: their notation, their throughput over a shared uplink, and invalid volumes.

use lanemark_schema::result::{Provenance, RunResult};
use lanemark_schema::units::Bytes;
use lanemark_sim::CHUNK;
use lanemark_sim::VolumeSpec;
use lanemark_study::system::SystemName;
use lanemark_study::{Library, workload};

mod systems;
use systems::with_settings;

const DRIVE: &str = "samsung-980-pro-1tb@workstation-x570";

fn run(text: &str, test: &str) -> RunResult {
    let workload = workload::open(&Library::built_in(), &format!("data-sheet:{test}")).unwrap();
    with_settings(text, &[]).unwrap().run(&workload, Provenance::default()).unwrap()
}

fn megabytes(result: &RunResult) -> f64 {
    result.tests[0].megabytes_per_second()
}

#[test]
fn a_volume_is_written_before_the_first_drive_and_printed_as_read() {
    let stripe = |chunk| Some(VolumeSpec::Stripe { chunk });
    for (prefix, volume) in [
        ("", None),
        ("mirror:", Some(VolumeSpec::Mirror)),
        ("stripe:", stripe(CHUNK)),
        ("stripe-64KiB:", stripe(Bytes::kibi(64))),
    ] {
        let text = format!("{prefix}{DRIVE}:m2+m2-2");
        let parts = SystemName::parse(&text).unwrap();
        assert_eq!((parts.volume, parts.to_string()), (volume, text.clone()));
        let system = with_settings(&text, &[]).unwrap();
        assert_eq!(system.spec.targets().len(), if volume.is_some() { 1 } else { 2 });
        let kind = volume.map_or_else(String::new, |volume| format!("{volume}: "));
        assert!(
            system.target.drive.starts_with(&format!("{kind}Samsung")),
            "{}",
            system.target.drive
        );
    }
}

/// Drives in an M.2 slot on the processor and one on the chipset double the throughput; drives in two slots on the
/// chipset share the chipset's four lanes.
#[test]
fn a_stripe_below_one_uplink_runs_at_its_rate() {
    let read = "seq128k-q32t1-read";
    let one = megabytes(&run(&format!("{DRIVE}:m2"), read));
    let apart = megabytes(&run(&format!("stripe-64KiB:{DRIVE}:m2+m2-2"), read));
    let together = run(&format!("stripe-64KiB:{DRIVE}:m2-2+m2-3"), read);
    assert!((apart / one / 2.0 - 1.0).abs() < 0.05, "{}", apart / one);
    let ratio = megabytes(&together) / one;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    let path = together.tests[0].samples[0].path.as_ref().unwrap();
    assert_eq!(path.busiest, "chipset, PCIe 4.0 x4");
}

#[test]
fn a_mirror_reads_like_two_and_writes_like_one() {
    let gain = |test| {
        let two = megabytes(&run("mirror:samsung-850-pro-1tb@workstation-x570:sata+sata-2", test));
        two / megabytes(&run("samsung-850-pro-1tb@workstation-x570:sata", test))
    };
    let reads = gain("rnd4k-q32t4-read");
    let writes = gain("rnd4k-q32t4-write");
    assert!((reads / 2.0 - 1.0).abs() < 0.05, "{reads}");
    assert!((writes - 1.0).abs() < 0.05, "{writes}");
}

#[test]
fn volumes_that_cannot_be_are_reported() {
    let says = |text: &str, expected: &str| {
        let error = with_settings(text, &[]).unwrap_err();
        let seen = format!("{error} | {}", error.hint.as_deref().unwrap_or_default());
        assert!(seen.contains(expected), "{text}: {seen}");
    };
    let hint = "| write stripe-64KiB:drive@platform:port+port";
    says(&format!("strip:{DRIVE}:m2+m2-2"), "`strip:` is neither `stripe:` nor `mirror:`");
    says(&format!("mirror-64KiB:{DRIVE}:m2+m2-2"), hint);
    says(&format!("stripe-64:{DRIVE}:m2+m2-2"), "`stripe-64`: `64` lacks a unit");
    says(&format!("stripe-:{DRIVE}:m2+m2-2"), hint);
    says(&format!("mirror:{DRIVE}:m2"), "volume = 1 drive: a mirror needs at least two drives");
    says(&format!("stripe-6KiB:{DRIVE}:m2+m2-2"), "volume.chunk = 6 KiB: a multiple of 4 KiB");
    says(&format!("stripe-0B:{DRIVE}:m2+m2-2"), "volume.chunk = 0 B: a multiple of 4 KiB");
    says(&format!("stripe-4TiB:{DRIVE}:m2+m2-2"), "the smallest drive");
}

#[test]
fn a_test_behind_the_end_of_a_volume_is_reported() {
    let system = with_settings(&format!("mirror:{DRIVE}:m2+m2-2"), &[]).unwrap();
    let mut workload = workload::open(&Library::built_in(), "data-sheet:rnd4k-q1t1-read").unwrap();
    workload.tests[0].offset = Bytes(1_000_000_000_000);
    let error = system.run(&workload, Provenance::default()).unwrap_err();
    assert!(error.to_string().contains("beyond the volume's"), "{error}");
}

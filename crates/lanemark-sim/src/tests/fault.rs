//! Compares the effects of faults with closed-form results: the number of failed requests, the latency of the other
//! requests, and the time at which requests continue.

use crate::fault::LINK_RETRIES;
use crate::fault::RequestStatus;
use crate::link::{UsbRate, UsbTransport};
use crate::simulator::Completion;
use crate::spec::SystemSpec;
use crate::tests::link::{dual, enclosed};
use crate::tests::pairs::{Ask, outcomes};
use crate::tests::runs::{checked, nvme, run, sas, sata, simulate, small_drive, test, times};
use crate::tests::{BLOCK, access, at, lasting, latency, ms, us};
use lanemark_schema::result::{ErrorKind, FaultImpact, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::fault::Fault;
use lanemark_schema::workload::{Access, Operation, Pattern, Test};
use proptest::prelude::*;

/// Returns `system` with these faults.
pub(crate) fn with(system: &SystemSpec, faults: &[&str]) -> SystemSpec {
    let faults: Vec<Fault> = faults.iter().map(|text| text.parse().unwrap()).collect();
    checked(system).with_faults(&faults).unwrap().into_spec()
}

/// Submits `accesses` at their times, and returns their completions and the outcome of the faults.
pub(crate) fn submitted(
    system: &SystemSpec,
    accesses: &[(Instant, Access)],
) -> (Vec<Completion>, Vec<FaultImpact>) {
    let ask = |&(at, access): &(Instant, Access)| (at.since(Instant::ZERO), 0, access);
    let asks: Vec<Ask> = accesses.iter().map(ask).collect();
    outcomes(system, &asks)
}

pub(crate) fn timed(milliseconds: u64, depth: u32, read: bool) -> Test {
    lasting(ms(milliseconds), test(BLOCK, Pattern::Uniform, read, depth))
}

pub(crate) fn failed(sample: &Sample, kind: ErrorKind) -> u64 {
    let counts = sample.errors.counts().iter();
    counts.filter(|count| count.kind == kind).map(|count| count.requests).sum()
}

/// Tests the time of stuck commands, with resets and with aborts.
#[test]
fn a_stuck_command_costs_timeout_reset_and_its_own_time() {
    let only = [(at(0), access(Operation::Read, Bytes::ZERO, BLOCK))];
    for (base, timeouts) in
        [(nvme(small_drive()), 2), (sata(small_drive()), 1), (sas(small_drive(), 1), 1)]
    {
        let alone = latency(&submitted(&base, &only).0[0]);
        let submit = Duration::from_nanoseconds(500);
        let reset = with(&base, &["stuck timeout=30ms reset=5ms at=0s"]);
        let (seen, uses) = submitted(&reset, &only);
        assert_eq!(seen[0].status, RequestStatus::Good);
        assert_eq!(latency(&seen[0]), submit + us(30_000) * timeouts + us(5_000) + alone);
        assert_eq!(uses[0].recovery, Some(latency(&seen[0])));
        let abort = with(&base, &["stuck timeout=30ms abort=2ms at=0s"]);
        assert_eq!(latency(&submitted(&abort, &only).0[0]), submit + us(32_000) + alone);
        let fails = with(&base, &["stuck timeout=30ms abort=2ms then=fail at=0s"]);
        let (seen, uses) = submitted(&fails, &only);
        assert_eq!(seen[0].status, RequestStatus::Failed(ErrorKind::Timeout));
        // Half of the driver's time precedes the command, and half follows it.
        assert_eq!(latency(&seen[0]), submit * 2 + us(32_000));
        assert_eq!((uses[0].failed, uses[0].recovery), (1, None));
    }
}

#[test]
fn a_reset_sends_again_or_fails_all_that_are_outstanding() {
    let base = sata(small_drive());
    // One command is stuck, and later commands arrive during a pause of the media that lasts beyond the reset.
    let all: Vec<(Instant, Access)> =
        (0..8).map(|index| (at(index), access(Operation::Read, BLOCK * index, BLOCK))).collect();
    let pause = "pause at=0s for=31ms";
    let again = with(&base, &["stuck timeout=30ms reset=5ms", pause]);
    let (seen, uses) = submitted(&again, &all);
    assert!(
        seen.iter().all(|done| done.status == RequestStatus::Good && done.completed > at(35_000))
    );
    assert_eq!((uses[0].held, uses[0].failed), (8, 0), "one stuck, seven sent again");
    let fail = with(&base, &["stuck timeout=30ms reset=5ms then=fail", pause]);
    let (seen, uses) = submitted(&fail, &all);
    assert_eq!(seen[0].status, RequestStatus::Failed(ErrorKind::Timeout));
    assert!(seen[1..].iter().all(|done| done.status == RequestStatus::Failed(ErrorKind::Aborted)));
    assert_eq!(uses[0].failed, 8);
    // Commands that arrive during the reset wait for its end.
    let late = [(at(0), all[0].1), (at(32_000), all[1].1)];
    let (seen, _) = submitted(&with(&base, &["stuck timeout=30ms reset=5ms"]), &late);
    assert!(seen[1].completed > at(35_000) && latency(&seen[1]) < us(5_000));
}

/// There is one read command at a time. A frame error costs the command one transmission and its recovery.
#[test]
fn spoilt_frames_are_sent_again_as_often_as_the_bit_error_ratio_says() {
    let count = 10_000;
    let reads = Test { volume: Some(BLOCK * count), ..test(BLOCK, Pattern::Uniform, true, 1) };
    for base in [sata(small_drive()), sas(small_drive(), 1)] {
        let spoilt = with(&base, &["link-errors rate=5e-7 recovery=100us"]);
        let sound = run(&base, &reads);
        let seen = run(&spoilt, &reads);
        let bits = (BLOCK.get() * 10) as f64;
        // A command is sent until it succeeds, p / (1 - p) additional times on average.
        let p = 1.0 - libm::exp(-5e-7 * bits);
        let expected = count as f64 * p / (1.0 - p);
        let held = seen.faults[0].held as f64;
        assert!((held - expected).abs() < 4.0 * libm::sqrt(expected), "{held} for {expected}");
        assert_eq!(seen.errors.total(), 0);
        let again = (seen.elapsed - sound.elapsed).as_seconds() / held;
        let one = us(100).as_seconds() + sound.latency().mean_ns() / 1e9;
        assert!((again / one - 1.0).abs() < 0.02, "{again} for {one}");
        let other = simulate(&spoilt, &reads, StreamKey::from_seed(2)).unwrap();
        assert_ne!(other.faults[0].held, seen.faults[0].held, "another seed, other draws");
    }
}

#[test]
fn a_link_that_spoils_nearly_all_fails_commands_after_their_retries() {
    // With 128 KiB of 10-bit bytes at an error rate of 1e-5, the share of commands that succeed is e^-13.
    let base = sas(small_drive(), 1);
    let spoilt = with(&base, &["link-errors rate=1e-5 recovery=0ps"]);
    let long =
        Test { volume: Some(Bytes::mebi(4)), ..test(Bytes::kibi(128), Pattern::Uniform, true, 1) };
    let sample = run(&spoilt, &long);
    assert_eq!(failed(&sample, ErrorKind::Link), 32);
    assert_eq!(sample.faults[0].held, 32 * u64::from(LINK_RETRIES));
}

#[test]
fn a_queued_sata_command_that_is_spoilt_takes_all_others_with_it() {
    let base = sata(small_drive());
    let spoilt = with(&base, &["link-errors rate=3e-7 recovery=100us"]);
    let reads = Test { volume: Some(BLOCK * 5_000), ..test(BLOCK, Pattern::Uniform, true, 8) };
    let held = |system: &SystemSpec| run(system, &reads).faults[0].held;
    let single = reads.clone().with(|read| read.queue_depth = 1);
    let alone = run(&spoilt, &single).faults[0].held;
    assert!(held(&spoilt) > alone * 4, "{} for {alone}", held(&spoilt));
    let sas = with(&sas(small_drive(), 1), &["link-errors rate=3e-7 recovery=100us"]);
    assert!(held(&sas) < alone * 2, "SAS sends one command again");
}

#[test]
fn a_power_cut_fails_outstanding_requests_and_the_load_continues_later() {
    for (depth, base) in
        [(1, nvme(small_drive())), (16, sata(small_drive())), (4, dual(&small_drive()))]
    {
        for read in [true, false] {
            let cut = with(&base, &["power-cut boot=20ms at=10ms"]);
            let test = timed(60, depth, read);
            let sound = run(&base, &test);
            let sample = run(&cut, &test);
            assert_eq!(failed(&sample, ErrorKind::DeviceGone), u64::from(depth));
            assert_eq!(sample.errors.total(), u64::from(depth));
            let recovery = sample.faults[0].recovery.unwrap();
            assert!(recovery > us(20_000) && recovery < us(21_000), "{recovery}");
            if read {
                let share = sample.operations() as f64 / sound.operations() as f64;
                assert!((share * 1.5 - 1.0).abs() < 0.03, "{share}");
            }
            assert_eq!(run(&cut, &test), sample, "the same seed gives the same");
        }
    }
}

#[test]
fn one_drive_of_two_fails_without_the_other() {
    let base = times(nvme(small_drive()), 2);
    // Reads fail continuously. The last read completes after the end of the test and is not counted.
    for (text, kind, late) in [
        ("power-cut boot=10ms at=5ms drive=1", ErrorKind::DeviceGone, 0),
        ("media-error range=0B..32MiB recovery=10us drive=1", ErrorKind::Media, 1),
    ] {
        let sample = run(&with(&base, &[text]), &timed(20, 1, true));
        let sound = run(&base, &timed(20, 1, true));
        let errors = failed(&sample, kind);
        assert_eq!(sample.errors.total(), errors);
        assert_eq!(sample.faults[0].failed, errors + late, "{text}");
        assert!(sample.operations() >= sound.operations() / 2, "the other continues");
        assert!(sample.operations() < sound.operations() * 4 / 5);
    }
}

#[test]
fn faults_that_do_not_fit_are_reported_all_at_once() {
    let base = sata(small_drive());
    let faults = [
        "pause for=1s drive=3",
        "media-error range=1GiB..2GiB",
        "port-loss port=1",
        "retrain lanes=2",
        "retrain link=0 lanes=3",
        "link-errors rate=1e-9 link=7",
        "retrain speed=3Gb/s",
        "write-error range=1MiB..65MiB",
        "lost-write range=64MiB..65MiB",
    ];
    let faults: Vec<Fault> = faults.iter().map(|text| text.parse().unwrap()).collect();
    let errors = checked(&base).with_faults(&faults).unwrap_err();
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "fault = pause at=0ps for=1s drive=3: the system has drives 0 to 0",
            "fault = media-error range=1GiB..2GiB recovery=7s at=0ps: the drive ends at 64 MiB",
            "fault = port-loss port=1 at=0ps: a port of the drive, which has 1, counted from 0",
            "fault = retrain lanes=2 at=0ps: `SATA 6 Gb/s` trains to a speed of 1.5, 3 or 6 Gb/s",
            "fault = retrain link=0 lanes=3 at=0ps: `PCIe 3.0 x4` trains to lanes of 1, 2, 4, 8 or 16, and a generation",
            "fault = link-errors rate=1e-9 link=7 recovery=1ms at=0ps: the path has links 0 to 1",
            "fault = write-error range=1MiB..65MiB recovery=7s at=0ps: the drive ends at 64 MiB",
            "fault = lost-write range=64MiB..65MiB at=0ps: the drive ends at 64 MiB",
        ]
    );
    assert_eq!(SystemSpec { faults, ..base }.checked().unwrap_err().to_string(), errors[0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any faults at any time, every request completes once, its budget sums to its latency, and the same seed
    /// leads to the same result.
    #[test]
    fn every_request_completes_under_any_fault(
        texts in proptest::collection::vec((0usize..10, 0u64..4_000, 1u64..3_000), 1..5),
        kind in 0usize..6, depth in 1u32..40, read in 0usize..3, seed: u64,
    ) {
        let mut drive = small_drive();
        drive.flash_mut().condition = crate::spec::DriveCondition::Random;
        drive.flash_mut().blocks_per_plane = 60;
        drive.read_ahead = Bytes::kibi(64);
        let base = match kind {
            0 => nvme(drive),
            1 => sata(drive),
            2 => dual(&drive),
            3 => enclosed(&drive, UsbRate::Gen1, UsbTransport::AttachedScsi),
            4 => enclosed(&drive, UsbRate::Gen1, UsbTransport::BulkOnly),
            _ => times(sas(drive, 1), 2),
        };
        let faults: Vec<Fault> = texts.iter().map(|(what, at, length)| {
            let text = match what {
                0 => format!("media-error range=0B..4MiB recovery=1ms for={length}us"),
                1 => format!("latency extra=300us for={length}us"),
                2 => format!("pause for={length}us"),
                3 => format!("stuck timeout=1ms reset={length}us commands=2"),
                4 => format!("stuck timeout=1ms abort={length}us commands=3 then=fail"),
                5 => "link-errors rate=1e-6 recovery=50us".to_owned(),
                6 => format!("port-loss timeout=1ms for={length}us"),
                7 => "read-only".to_owned(),
                8 => format!("power-cut boot={length}us"),
                _ => format!("power-cut boot={length}us drive=0"),
            };
            format!("{text} at={at}us").parse().unwrap()
        }).collect();
        let system = checked(&base).with_faults(&faults).unwrap().into_spec();
        let count = 600;
        let test = Test { volume: Some(BLOCK * count), ..test(BLOCK, Pattern::Uniform, true, depth) }
            .with(|asked| asked.read_share = Ratio::new([0.0, 0.5, 1.0][read]).unwrap());
        let sample = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        prop_assert_eq!(sample.operations() + sample.errors.total(), count * system.drives() as u64);
        let by_fault: u64 = sample.faults.iter().map(|fault| fault.failed).sum();
        prop_assert_eq!(by_fault, sample.errors.total());
        prop_assert_eq!(&simulate(&system, &test, StreamKey::from_seed(seed)).unwrap(), &sample);
    }
}

//! Tests pairs of link and port faults, and pairs of these faults and states of a drive.

use crate::fault::RequestStatus;
use crate::link::{Sata, SataCommands, SataRate};
use crate::spec::WriteCacheMode;
use crate::tests::fault::with;
use crate::tests::link::{dual, read_of};
use crate::tests::pairs::{Ask, HALF, alone, block, end, outcomes, read};
use crate::tests::runs::{nvme, sata, small_drive, times, uplink};
use crate::tests::{BLOCK, latency, ms, us};
use lanemark_schema::result::ErrorKind;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::fault::COMMAND_TIMEOUT;
use lanemark_schema::workload::{Access, Operation};

/// With 128 KiB and a bit error rate of 1e-5, one command in a million succeeds.
const SPOILING: &str = "link-errors rate=1e-5";

#[test]
fn a_command_that_was_spoilt_is_sent_again_though_the_link_is_sound_by_then() {
    let base = sata(small_drive());
    let length = Bytes::kibi(128);
    let alone = alone(&base, length);
    // The plan lists another fault first.
    let errors = format!("{SPOILING} recovery=100us for={}ps", alone.picoseconds() - 100_000_000);
    let system = with(&base, &["pause for=1us", &errors]);
    let (seen, uses) = outcomes(&system, &[(us(0), 0, read_of(length))]);
    assert_eq!(seen[0].status, RequestStatus::Good);
    assert_eq!(latency(&seen[0]), alone * 2 - HALF + us(100));
    assert_eq!((uses[0].held, uses[1].held), (0, 1));
}

#[test]
fn a_reset_sends_a_spoilt_command_again_once() {
    let base = sata(small_drive());
    let asks = [0, 1].map(|index| (us(index), 0, read_of(Bytes::kibi(128))));
    let errors = format!("{SPOILING} recovery=10ms for=5ms");
    let (seen, uses) = outcomes(&with(&base, &[&errors]), &asks);
    assert!(seen.iter().all(|done| done.status == RequestStatus::Good && end(done) < ms(13)));
    assert_eq!((uses[0].held, uses[0].failed), (2, 0));
}

#[test]
fn the_ranges_of_a_trim_are_spoilt_as_data_are() {
    let count = 1_000;
    let trim = |index| (us(index * 100), 0, block(Operation::Trim, index));
    let trims: Vec<Ask> = (0..count).map(trim).collect();
    let system = with(&sata(small_drive()), &[&format!("{SPOILING} recovery=0ps")]);
    let (seen, uses) = outcomes(&system, &trims);
    assert!(seen.iter().all(|done| done.status == RequestStatus::Good));
    // A command carries 512 bytes of ten bits each.
    let p = 1.0 - libm::exp(-1e-5 * 5_120.0);
    let expected = count as f64 * p / (1.0 - p);
    let held = uses[0].held as f64;
    assert!((held - expected).abs() < 4.0 * libm::sqrt(expected), "{held} for {expected}");
}

#[test]
fn errors_of_a_link_that_stand_come_back_after_others_of_the_same_link() {
    let other = "link-errors link=1 rate=1e-12 at=20ms for=20ms";
    let system = with(&sata(small_drive()), &[&format!("{SPOILING} recovery=0ps"), other]);
    let asks: Vec<Ask> = (0..60).map(|index| read(ms(index), index)).collect();
    let (seen, _) = outcomes(&system, &asks);
    let alone = alone(&sata(small_drive()), BLOCK);
    // A third of the commands must be sent again.
    let again: Vec<usize> = seen
        .chunks(20)
        .map(|part| part.iter().filter(|done| latency(done) > alone).count())
        .collect();
    assert!(again[0] > 2 && again[1] == 0 && again[2] > 2, "{again:?}");
}

/// A drive without a volatile cache does not receive flushes, so a flush does not show whether the drive works, unless
/// the drive is gone.
#[test]
fn a_flush_of_the_host_is_no_recovery_and_fails_with_a_drive_that_is_gone() {
    let mut drive = small_drive();
    drive.write_cache = WriteCacheMode::Protected;
    let base = nvme(drive);
    let flush = |at| (at, 0, Access { operation: Operation::Flush, ..read_of(Bytes::ZERO) });
    let (seen, uses) = outcomes(&with(&base, &["pause at=1ms for=4ms"]), &[flush(ms(2))]);
    assert_eq!((seen[0].status, uses[0].recovery), (RequestStatus::Good, None));
    let lost = with(&base, &["port-loss timeout=1ms at=1ms"]);
    let seen = outcomes(&lost, &[read(ms(2), 0), flush(ms(5))]).0;
    assert_eq!(seen[1].status, RequestStatus::Failed(ErrorKind::DeviceGone));
}

#[test]
fn a_command_on_the_port_that_is_lost_goes_over_the_other_after_its_time() {
    let base = dual(&small_drive());
    for (port, lost) in [(0, 0), (1, 1)] {
        let fault = format!("port-loss port={port} timeout=2ms at=1ms");
        let asks = [read(us(990), 0), read(us(991), 1), read(ms(5), 2), read(ms(6), 3)];
        let (seen, uses) = outcomes(&with(&base, &[&fault]), &asks);
        for (index, done) in seen.iter().enumerate() {
            assert_eq!(done.status, RequestStatus::Good);
            assert_eq!(latency(done) > ms(2), index == lost, "port {port}, read {index}");
        }
        assert_eq!((uses[0].held, uses[0].failed), (1, 0));
    }
}

#[test]
fn a_port_is_lost_for_as_long_as_a_loss_of_it_holds() {
    let base = nvme(small_drive());
    let alone = alone(&base, BLOCK);
    let losses = ["port-loss timeout=1ms at=1ms for=3ms", "port-loss at=3ms timeout=2ms for=5ms"];
    let asks = [read(ms(1), 0), read(ms(5), 1), read(ms(8) - HALF, 2), read(ms(9), 3)];
    let (seen, uses) = outcomes(&with(&base, &losses), &asks);
    let fails = |kind, at: Duration| (RequestStatus::Failed(kind), at);
    let seen: Vec<(RequestStatus, Duration)> =
        seen.iter().map(|done| (done.status, end(done))).collect();
    // The host detects the loss when its timer expires, and then rejects new commands.
    assert_eq!(seen[0], fails(ErrorKind::Timeout, ms(1) + HALF + ms(1) + HALF));
    assert_eq!(seen[1], fails(ErrorKind::DeviceGone, ms(5) + us(2)));
    assert_eq!(seen[2], (RequestStatus::Good, ms(8) - HALF + alone));
    assert_eq!(seen[3], (RequestStatus::Good, ms(9) + alone));
    assert_eq!((uses[0].failed, uses[1].failed), (2, 0));
    // The timeout of one loss does not apply to a later loss.
    let later = ["port-loss timeout=1ms at=1ms for=1ms", "port-loss at=3ms for=60s"];
    let seen = outcomes(&with(&base, &later), &[read(ms(4), 0)]).0;
    assert_eq!(end(&seen[0]), ms(4) + HALF + COMMAND_TIMEOUT + HALF);
}

#[test]
fn each_link_has_separate_errors() {
    let system = with(&times(sata(small_drive()), 2), &["link-errors rate=1e-5 recovery=0ps"]);
    let asks: Vec<Ask> = (0..80)
        .map(|index| (ms(index / 2), (index % 2) as u16, block(Operation::Read, index * 8)))
        .collect();
    let seen = outcomes(&system, &asks).0;
    let again = |drive: usize| {
        let of = seen.iter().skip(drive).step_by(2);
        of.map(|done| latency(done) > us(100)).collect::<Vec<_>>()
    };
    assert!(again(0).contains(&true) && again(1).contains(&true));
    assert_ne!(again(0), again(1));
}

/// Over SATA a failed command ends with a Register frame, and its data is not sent.
#[test]
fn a_command_that_fails_over_sata_ends_with_a_register_frame() {
    let base = sata(small_drive());
    let uplink = uplink(&base);
    let link = Sata::new(SataRate::Gen3, SataCommands::Queued);
    let front_end = base.attachments[0].drive.front_end;
    let fetched = Duration::from_nanoseconds(150 + 2 * 800) + link.issue_time();
    let entry = uplink.write_time(Bytes(16)) + uplink.write_time(Bytes(4));
    let around =
        HALF + fetched + link.register_time() + entry + Duration::from_nanoseconds(150) + HALF;
    let end = |fault: &str, operation| {
        let seen = outcomes(&with(&base, &[fault]), &[(us(0), 0, block(operation, 0))]).0;
        assert_ne!(seen[0].status, RequestStatus::Good);
        latency(&seen[0])
    };
    let read = front_end.read_time + front_end.read_latency;
    let unreadable = "media-error range=0B..1MiB recovery=300us at=0s";
    assert_eq!(end(unreadable, Operation::Read), around + read + us(300));
    let write = front_end.write_time + front_end.write_latency;
    assert_eq!(end("read-only at=0s", Operation::Write), around + write);
}

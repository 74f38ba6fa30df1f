//! Compares the Serial ATA model with published figures and closed forms.

use super::*;

fn queued(rate: SataRate) -> Sata {
    Sata::new(rate, SataCommands::Queued)
}

fn megabytes(bytes: Bytes, time: Duration) -> f64 {
    (bytes / time).as_megabytes()
}

/// The published rate is 286.6 MB/s for 32 MiB reads by an FPGA host at 3 Gb/s.
#[test]
fn long_reads_at_3_gigabits_meet_the_published_rate() {
    let block = Bytes::mebi(32);
    let seen = megabytes(block, queued(SataRate::Gen2).read_data_time(block, false));
    assert!((seen - 286.7).abs() < 0.1, "{seen} MB/s");
}

#[test]
fn a_command_that_is_not_queued_has_two_frames_less() {
    let rate = SataRate::Gen3;
    let queued = queued(rate);
    let plain = Sata::new(rate, SataCommands::Unqueued);
    let whole = |sata: &Sata| {
        let data = sata.read_data_time(Bytes::kibi(4), true);
        sata.issue_time() + data + sata.completion_time()
    };
    let fewer = rate.frame(REGISTER) + rate.frame(DMA_SETUP) + rate.frame(SET_DEVICE_BITS)
        - rate.frame(REGISTER);
    assert_eq!(whole(&queued) - whole(&plain), fewer);
}

#[test]
fn ncq_reads_at_6_gigabits_carry_568_megabytes_or_104_thousand_requests() {
    let sata = queued(SataRate::Gen3);
    let time =
        |block| sata.issue_time() + sata.read_data_time(block, true) + sata.completion_time();
    let long = megabytes(Bytes::kibi(128), time(Bytes::kibi(128)));
    assert!((long - 568.0).abs() < 1.0, "{long} MB/s");
    let iops = 1.0 / time(Bytes::kibi(4)).as_seconds();
    assert!((103_500.0..104_500.0).contains(&iops), "{iops} IOPS");
}

const RATES: [SataRate; 3] = [SataRate::Gen1, SataRate::Gen2, SataRate::Gen3];

/// Returns the time in µs of a frame of `dwords` according to the formula: 40 bit times per dword, 256 dwords sent for
/// every 254, and a turn-around of 3,000 bit times.
fn frame_us(rate: SataRate, dwords: f64) -> f64 {
    ((dwords + 3.0) * 40.0 * 256.0 / 254.0 + 3_000.0) / (rate.line_rate().0 as f64 / 1e6)
}

/// The frames are the command's Register frame, a PIO Setup and a Data frame for each sector, and for a write the
/// Register Device-to-Host frame.
#[test]
fn pio_meets_its_closed_form_at_every_rate() {
    for rate in RATES {
        let pio = Sata::new(rate, SataCommands::Pio);
        let length = Bytes::kibi(128);
        let data = 256.0 * (frame_us(rate, 5.0) + frame_us(rate, 129.0));
        let read = pio.issue_time() + pio.read_data_time(length, true) + pio.read_completion_time();
        let write = pio.issue_time() + pio.write_data_time(length, true) + pio.completion_time();
        let formula = frame_us(rate, 5.0) + data;
        assert!((read.as_microseconds() - formula).abs() < 1e-3, "{read} for {formula} us");
        let formula = formula + frame_us(rate, 5.0);
        assert!((write.as_microseconds() - formula).abs() < 1e-3, "{write} for {formula} us");
    }
}

#[test]
fn a_pio_read_ends_with_its_data() {
    let pio = Sata::new(SataRate::Gen3, SataCommands::Pio);
    assert_eq!(pio.read_completion_time(), Duration::ZERO);
    let stp = pio.over_stp(Duration::from_microseconds(1));
    assert_eq!(stp.read_completion_time(), Duration::from_microseconds(1));
}

/// Returns the time in µs of `bytes` in Data frames of up to `frame_max` bytes. A frame of `announcement` dwords
/// precedes all other frames, and a frame of `setup` dwords precedes each Data frame; both are optional.
fn data_us(
    rate: SataRate,
    bytes: u64,
    frame_max: u64,
    setup: Option<f64>,
    announcement: Option<f64>,
) -> f64 {
    let mut sum = announcement.map_or(0.0, |dwords| frame_us(rate, dwords));
    let mut left = bytes;
    while left > 0 {
        let data = left.min(frame_max);
        sum += setup.map_or(0.0, |dwords| frame_us(rate, dwords));
        sum += frame_us(rate, 1.0 + (data as f64 / 4.0).ceil());
        left -= data;
    }
    sum
}

/// Every Data frame of a write, even a short one, is requested with DMA Activate (one dword) or PIO Setup (five
/// dwords). A queued command is announced once, with DMA Setup (seven dwords).
#[test]
fn data_of_any_length_meets_the_closed_form_frame_by_frame() {
    for rate in RATES {
        for (commands, frame_max, read_setup, write_setup, announcement) in [
            (SataCommands::Queued, 8_192, None, Some(1.0), Some(7.0)),
            (SataCommands::Unqueued, 8_192, None, Some(1.0), None),
            (SataCommands::Pio, 512, Some(5.0), Some(5.0), None),
        ] {
            let sata = Sata::new(rate, commands);
            for bytes in [0, 4, 512, 4_096, 8_188, 8_192, 8_196, 12_288, 16_384, 131_072, 131_584] {
                for first in [true, false] {
                    let announced = announcement.filter(|_| first);
                    for (time, setup) in [
                        (sata.read_data_time(Bytes(bytes), first), read_setup),
                        (sata.write_data_time(Bytes(bytes), first), write_setup),
                    ] {
                        let formula = data_us(rate, bytes, frame_max, setup, announced);
                        let off = (time.as_microseconds() - formula).abs();
                        assert!(off < 1e-3, "{commands:?}: {time} for {formula} us");
                    }
                }
            }
        }
    }
}

/// An unqueued command is issued by one Register frame, and a flush ends with one. A queued read or write ends with Set
/// Device Bits after its last data.
#[test]
fn phases_of_a_command_take_their_frames_and_one_direction() {
    use crate::link::formulas::{BurstPosition, CommandPhase, LinkFormulas, PhaseTime};
    use lanemark_schema::workload::Operation::{Flush, Read, Trim, Write};
    for rate in RATES {
        let sata = queued(rate);
        let is = |phase, to_host: &[f64], to_drive: &[f64]| {
            let sum =
                |frames: &[f64]| frames.iter().map(|dwords| frame_us(rate, *dwords)).sum::<f64>();
            let PhaseTime { to_host: up, to_drive: down } = sata.cost(phase);
            let off = [(up, sum(to_host)), (down, sum(to_drive))]
                .map(|(seen, expected)| (seen.as_microseconds() - expected).abs());
            assert!(off[0] < 1e-3 && off[1] < 1e-3, "{phase:?} at {rate:?}: {up} {down}");
        };
        for operation in [Read, Write] {
            is(CommandPhase::Command(operation), &[], &[5.0, 5.0]);
            is(CommandPhase::Completion(operation), &[], &[]);
        }
        for operation in [Flush, Trim] {
            is(CommandPhase::Command(operation), &[], &[5.0]);
        }
        is(CommandPhase::Completion(Flush), &[5.0], &[]);
        let sector = |first, last| (Bytes(512), BurstPosition { first, last });
        let (bytes, place) = sector(true, true);
        is(CommandPhase::ToHost(bytes, place), &[7.0, 129.0, 2.0], &[]);
        is(CommandPhase::ToDrive(bytes, place), &[], &[7.0, 1.0, 129.0, 2.0]);
        let (bytes, place) = sector(false, false);
        is(CommandPhase::ToHost(bytes, place), &[129.0], &[]);
        is(CommandPhase::ToDrive(bytes, place), &[], &[1.0, 129.0]);
        let (bytes, place) = sector(false, true);
        is(CommandPhase::ToHost(bytes, place), &[129.0, 2.0], &[]);
        is(CommandPhase::ToDrive(bytes, place), &[], &[1.0, 129.0, 2.0]);
    }
}

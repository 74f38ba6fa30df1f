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
fn ncq_reads_of_128k_at_6_gigabits_carry_568() {
    let sata = queued(SataRate::Gen3);
    let block = Bytes::kibi(128);
    let time = sata.issue_time() + sata.read_data_time(block, true) + sata.completion_time();
    assert!((megabytes(block, time) - 568.0).abs() < 1.0);
}

#[test]
fn ncq_reads_of_4k_at_6_gigabits_reach_104_thousand() {
    let sata = queued(SataRate::Gen3);
    let block = Bytes::kibi(4);
    let time = sata.issue_time() + sata.read_data_time(block, true) + sata.completion_time();
    let iops = 1.0 / time.as_seconds();
    assert!((103_500.0..104_500.0).contains(&iops), "{iops} IOPS");
}

#[test]
fn a_burst_costs_the_same_as_its_frames_one_by_one() {
    for rate in RATES {
        let sata = queued(rate);
        let frames =
            sata.read_data_time(Bytes(8192), false) * 16 + sata.read_data_time(Bytes(4096), false);
        assert_eq!(sata.read_data_time(Bytes(16 * 8192 + 4096), false), frames);
    }
}

#[test]
fn everything_takes_twice_as_long_at_half_the_rate() {
    let fast = queued(SataRate::Gen3);
    let slow = queued(SataRate::Gen2);
    let block = Bytes::kibi(128);
    let ratio = slow.write_data_time(block, true).as_seconds()
        / fast.write_data_time(block, true).as_seconds();
    assert!((ratio - 2.0).abs() < 1e-6, "{ratio}");
}

const RATES: [SataRate; 3] = [SataRate::Gen1, SataRate::Gen2, SataRate::Gen3];

/// Returns the time in µs of a frame of `dwords` according to the formula: 40 bit times per dword, 256 dwords sent for
/// every 254, and a turn-around of 3,000 bit times.
fn frame_us(rate: SataRate, dwords: f64) -> f64 {
    ((dwords + 3.0) * 40.0 * 256.0 / 254.0 + 3_000.0) / (rate.line_rate().0 as f64 / 1e6)
}

/// Tests blocks of one sector and of 16 sectors. The frames are the command's Register frame, a PIO Setup and a Data
/// frame for each block, and for a write the Register Device-to-Host frame.
#[test]
fn pio_meets_its_closed_form_at_every_rate() {
    for rate in RATES {
        for sectors in [1u64, 2, 4, 8, 16] {
            let pio = Sata::new(rate, SataCommands::Pio { block: SECTOR * sectors });
            let length = Bytes::kibi(128);
            let blocks = (256 / sectors) as f64;
            let data =
                blocks * (frame_us(rate, 5.0) + frame_us(rate, 1.0 + 128.0 * sectors as f64));
            let read =
                pio.issue_time() + pio.read_data_time(length, true) + pio.read_completion_time();
            let write =
                pio.issue_time() + pio.write_data_time(length, true) + pio.completion_time();
            let formula = frame_us(rate, 5.0) + data;
            assert!((read.as_microseconds() - formula).abs() < 1e-3, "{read} for {formula} us");
            let formula = formula + frame_us(rate, 5.0);
            assert!((write.as_microseconds() - formula).abs() < 1e-3, "{write} for {formula} us");
        }
    }
}

/// With one sector per block, a 6 Gb/s link carries 260 MB/s; with full frames, it is as fast as with unqueued DMA
/// writes.
#[test]
fn pio_by_the_sector_takes_more_than_half_of_a_link() {
    let carried = |block| {
        let pio = Sata::new(SataRate::Gen3, SataCommands::Pio { block });
        megabytes(Bytes::mebi(32), pio.read_data_time(Bytes::mebi(32), true))
    };
    let formula = 512.0 / (frame_us(SataRate::Gen3, 5.0) + frame_us(SataRate::Gen3, 129.0));
    assert!((carried(SECTOR) - formula).abs() < 0.01, "{} MB/s", carried(SECTOR));
    assert!((260.0..270.0).contains(&formula), "{formula} MB/s");
    assert!(carried(PIO_BLOCK_MAX) > 2.0 * carried(SECTOR));
}

#[test]
fn pio_reads_end_with_data_in_whole_blocks() {
    let pio = Sata::new(SataRate::Gen3, SataCommands::Pio { block: Bytes::kibi(8) });
    assert_eq!(pio.read_completion_time(), Duration::ZERO);
    let odd = pio.read_data_time(Bytes(3 * 8192 + 512), false);
    let blocks = pio.read_data_time(Bytes(8192), false) * 3 + pio.read_data_time(SECTOR, false);
    assert_eq!(odd, blocks);
    let stp = pio.over_stp(Duration::from_microseconds(1));
    assert_eq!(stp.read_completion_time(), Duration::from_microseconds(1));
}

const FIFO_RATES: [BytesPerSecond; 2] = [BytesPerSecond(50_000_000), BytesPerSecond(100_000_000)];

/// Returns links with both kinds of commands, each with the number of dwords that request a Data frame. A FIFO pauses
/// the frames of both directions.
fn held(rate: SataRate, fifo: u64, moved: BytesPerSecond) -> [(f64, Sata); 2] {
    let model =
        |commands| Sata::new(rate, commands).with_fifo(Bytes(fifo), Some(moved), Some(moved));
    // DMA Activate (one dword) requests a queued write; a PIO block has a PIO Setup (five dwords).
    [(1.0, model(SataCommands::Queued)), (5.0, model(SataCommands::Pio { block: PIO_BLOCK_MAX }))]
}

/// A delayed frame takes the dwords of a frame without its data, (L - F) / r, and 20 dwords.
#[test]
fn a_held_frame_meets_its_closed_form_at_every_rate() {
    for rate in RATES {
        for (fifo, moved) in [128, 2048, 4096].into_iter().flat_map(|f| FIFO_RATES.map(|r| (f, r)))
        {
            let megabits = rate.line_rate().0 as f64 / 1e6;
            let data = (8192 - fifo) as f64 / (moved.0 as f64 / 1e6);
            let on_wire = 2048.0 * 40.0 * 256.0 / 254.0 / megabits;
            let answered = if data > on_wire { 20.0 * 40.0 / megabits } else { 0.0 };
            let frame = frame_us(rate, 1.0) + data.max(on_wire) + answered;
            for (setup, sata) in held(rate, fifo, moved) {
                let seen = |time: Duration| time.as_microseconds();
                let block = Bytes(8192);
                let reading = if setup == 1.0 { frame } else { frame + frame_us(rate, setup) };
                let read = seen(sata.read_data_time(block, false));
                assert!((read - reading).abs() < 1e-3, "{read} for {reading} us");
                let writing = frame + frame_us(rate, setup);
                let write = seen(sata.write_data_time(block, false));
                assert!((write - writing).abs() < 1e-3, "{write} for {writing} us");
            }
        }
    }
}

#[test]
fn held_bursts_cost_the_same_as_their_frames_one_by_one() {
    for rate in RATES {
        for (_, sata) in held(rate, 1024, FIFO_RATES[0]) {
            for time in [Sata::read_data_time, Sata::write_data_time] {
                let frames = time(&sata, Bytes(8192), false) * 16 + time(&sata, Bytes(4096), false);
                assert_eq!(time(&sata, Bytes(16 * 8192 + 4096), false), frames);
            }
        }
    }
}

/// At high rates, the data of a frame takes less time on the wire than the drive needs, and the frame is paused.
#[test]
fn only_drives_slower_than_the_wire_hold_frames() {
    let plain = queued(SataRate::Gen3);
    let frame = |model: &Sata, bytes| model.read_data_time(Bytes(bytes), false);
    let with = |fifo, moved| plain.with_fifo(Bytes(fifo), Some(BytesPerSecond(moved)), None);
    // Half a frame passes while a whole frame is on the wire.
    let even = (300e6 * 2.0 * 254.0 / 256.0 / 2.0) as u64;
    assert_eq!(frame(&with(4096, even + 1_000), 8192), frame(&plain, 8192));
    let hold = frame(&with(4096, even - 1_000), 8192) - frame(&plain, 8192);
    let answered = 20.0 * 40.0 / 6e3;
    assert!((hold.as_microseconds() - answered).abs() < 1e-3, "{hold}");
    // Data that fits in the FIFO is never paused, and with a whole frame in the FIFO there are no pauses.
    assert_eq!(frame(&with(4096, 1_000_000), 4096), frame(&plain, 4096));
    assert_eq!(frame(&with(8192, 1_000_000), 8192), frame(&plain, 8192));
    // The other direction is not limited here.
    let block = Bytes(8192);
    assert_eq!(
        with(128, 1_000_000).write_data_time(block, true),
        plain.write_data_time(block, true)
    );
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
            (SataCommands::Pio { block: Bytes(2_048) }, 2_048, Some(5.0), Some(5.0), None),
        ] {
            let sata = Sata::new(rate, commands);
            for bytes in [0, 4, 512, 4_096, 8_188, 8_192, 8_196, 12_288, 16_384, 131_072, 131_584] {
                for first in [true, false] {
                    let announced = announcement.filter(|_| first);
                    let formula = |setup| data_us(rate, bytes, frame_max, setup, announced);
                    let read = sata.read_data_time(Bytes(bytes), first).as_microseconds();
                    let expected = formula(read_setup);
                    assert!(
                        (read - expected).abs() < 1e-3,
                        "{commands:?}: {read} for {expected} us"
                    );
                    let write = sata.write_data_time(Bytes(bytes), first).as_microseconds();
                    let expected = formula(write_setup);
                    assert!(
                        (write - expected).abs() < 1e-3,
                        "{commands:?}: {write} for {expected} us"
                    );
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

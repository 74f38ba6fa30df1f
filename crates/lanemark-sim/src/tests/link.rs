//! Tests links in whole systems: the latency and the throughput of a drive's port, unloaded and saturated.

use crate::engine::budget::Hop;
use crate::link::{
    Bridge, LinkModel, LinkSpec, Pcie, PcieGeneration, Sas, SasRate, Sata, SataCommands, SataRate,
    Usb, UsbRate, UsbTransport,
};
use crate::run::ceiling::ceilings;
use crate::spec::PageTimes;
use crate::spec::submission::Submission;
use crate::spec::{DriveSpec, ProtocolKind, SecondPort, SystemSpec};
use crate::tests::runs::{
    at_rest, media_read_time, megabytes, run, sas, sata, share, small_drive, test, unlimited,
    uplink,
};
use crate::tests::{assert_within, us};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};

const SAS_RATES: [SasRate; 4] = [SasRate::Gen1, SasRate::Gen2, SasRate::Gen3, SasRate::Gen4];

/// Returns a read from the start of the drive.
pub(crate) fn read_of(length: Bytes) -> Access {
    Access { operation: Operation::Read, offset: Bytes::ZERO, length }
}

/// Returns a SATA system with the link `model` at its port, and a command queue of depth `depth`.
fn over_sata(drive: &DriveSpec, model: Sata, depth: u32) -> SystemSpec {
    let mut system = sata(drive.clone());
    system.attachments[0].protocol.queue_depth = depth;
    system.attachments[0].port_path.links[1].model = LinkModel::Sata(model);
    system
}

/// Returns a system with a drive that uses PIO.
pub(crate) fn pio(drive: &DriveSpec) -> SystemSpec {
    over_sata(drive, Sata::new(SataRate::Gen3, SataCommands::Pio), 1)
}

/// Returns a SAS drive with two ports of one phy each, `a` and `b`, on one adapter.
pub(crate) fn dual(drive: &DriveSpec) -> SystemSpec {
    let mut system = sas(drive.clone(), 1);
    share(&mut system, 1);
    let first = &mut system.attachments[0];
    let mut port_path = first.port_path.clone();
    first.port_path.links[0].name = "SAS 12 Gb/s, port a".to_owned();
    port_path.links[0].name = "SAS 12 Gb/s, port b".to_owned();
    first.second = Some(SecondPort { port_path });
    system
}

#[test]
fn a_saturated_sata_link_carries_its_closed_form() {
    let link = Sata::new(SataRate::Gen3, SataCommands::Queued);
    for (block, depth) in [(Bytes::kibi(4), 32), (Bytes::kibi(128), 8)] {
        let frames = link.issue_time() + link.read_data_time(block, true) + link.completion_time();
        // 128 KiB arrive in four bursts of 32 KiB. The bursts consist of equal Data frames, so the sum is the same.
        let formula = (block / frames).as_megabytes();
        let seen = megabytes(&run(&sata(unlimited()), &test(block, Pattern::Uniform, true, depth)));
        assert!((seen / formula - 1.0).abs() < 0.002, "{block}: {seen} for {formula} MB/s");
    }
}

/// Returns the time of a single request over SATA.
fn alone_over_sata(system: &SystemSpec, operation: Operation, length: Bytes) -> Duration {
    let mut simulator = at_rest(system, Bytes::mebi(32).into());
    let access = Access { operation, ..read_of(length) };
    simulator.submit(Submission::new(Instant::ZERO, access)).unwrap();
    simulator.advance().unwrap().completed.since(Instant::ZERO)
}

/// DMA Activate requests a short last frame like any other frame.
#[test]
fn one_sata_write_takes_the_sum_of_its_stages() {
    let mut system = sata(small_drive());
    system.attachments[0].protocol.transfer_max = Bytes::mebi(1);
    let link = Sata::new(SataRate::Gen3, SataCommands::Queued);
    // The longest writes take several bursts. Only the first burst is announced, and only the last burst ends the
    // command.
    for length in [512, 4_096, 8_192, 12_288, 131_072, 135_168, 520_192].map(Bytes) {
        let data = link.write_data_time(length, true);
        let expected = buffered_over_sata(&system, link.issue_time() + data);
        assert_eq!(alone_over_sata(&system, Operation::Write, length), expected, "{length}");
    }
}

/// A command is announced once and ended once, regardless of the number of dies that deliver its data.
#[test]
fn one_sata_command_keeps_its_link_for_its_frames() {
    let mut system = sata(small_drive());
    system.attachments[0].protocol.transfer_max = Bytes::mebi(1);
    let link = Sata::new(SataRate::Gen3, SataCommands::Queued);
    for length in [4_096, 131_072, 524_288].map(Bytes) {
        for operation in [Operation::Read, Operation::Write] {
            let data = match operation {
                Operation::Read => link.read_data_time(length, true),
                _ => link.write_data_time(length, true),
            };
            let mut simulator = at_rest(&system, Bytes::mebi(32).into());
            let access = Access { operation, ..read_of(length) };
            simulator.submit(Submission::new(Instant::ZERO, access)).unwrap();
            while simulator.advance().is_some() {}
            let busy = simulator.busy()[Hop::FirstLink as usize + 1][0];
            let frames = link.issue_time() + data + link.completion_time();
            assert_eq!(busy, frames, "{operation:?} of {length}");
        }
    }
}

/// A trim of any length sends one block of ranges. DMA Activate requests this block; a trim is unqueued and does not
/// need DMA Setup.
#[test]
fn one_trim_over_sata_takes_the_sum_of_its_stages() {
    let system = sata(small_drive());
    let link = Sata::new(SataRate::Gen3, SataCommands::Queued);
    for length in [4_096, 8_192, 65_536, 1 << 20].map(Bytes) {
        let ranges = link.write_data_time(Bytes(512), false);
        let expected = buffered_over_sata(&system, link.register_time() + ranges);
        assert_eq!(alone_over_sata(&system, Operation::Trim, length), expected, "{length}");
    }
}

/// Returns the time of a command whose data the drive buffers, if its frames to the drive take `frames`.
fn buffered_over_sata(system: &SystemSpec, frames: Duration) -> Duration {
    let front_end = system.attachments[0].drive.front_end;
    let uplink = uplink(system);
    system.attachments[0].protocol.write_time
        + Duration::from_nanoseconds(150 + 2 * 800) // doorbell, header and table fetched
        + frames
        + front_end.write_time
        + front_end.write_latency
        + Sata::new(SataRate::Gen3, SataCommands::Queued).completion_time()
        + uplink.write_time(Bytes(16))
        + uplink.write_time(Bytes(4))
        + Duration::from_nanoseconds(150)
}

#[test]
fn one_pio_read_takes_the_sum_of_its_stages() {
    let system = pio(&small_drive());
    let uplink = uplink(&system);
    let link = Sata::new(SataRate::Gen3, SataCommands::Pio);
    let block = Bytes::kibi(4);
    let drive = &system.attachments[0].drive;
    let completion = uplink.write_time(Bytes(16)) + uplink.write_time(Bytes(4));
    let data = link.read_data_time(block, true).max(uplink.write_time(block) + completion);
    let expected = system.attachments[0].protocol.read_time
        + Duration::from_nanoseconds(150 + 2 * 800) // doorbell, header and table fetched
        + link.issue_time()
        + media_read_time(drive)
        + data
        + Duration::from_nanoseconds(150);
    // The drive processes one command at a time, regardless of the number outstanding.
    for depth in [1, 8] {
        let sample = run(&system, &test(block, Pattern::Uniform, true, depth));
        let seen = sample.elapsed.as_seconds() * 1e6 / sample.operations() as f64;
        assert!((seen - expected.as_microseconds()).abs() < 0.01, "{seen} us for {expected}");
    }
}

/// Returns a SAS system with the link `model` at its port, after an uplink that is not a limit.
fn over_sas(drive: &DriveSpec, model: Sas) -> SystemSpec {
    let mut system = sas(drive.clone(), 1);
    let uplink = Pcie::new(PcieGeneration::Five, 16, Bytes(512), Bytes(4096));
    system.attachments[0].port_path.links[0].model = LinkModel::Pcie(uplink);
    system.attachments[0].port_path.links[1].model = LinkModel::Sas(model);
    system
}

/// At queue depth 1, the time of a read is the sum of its stages at every rate, whether connections are opened for the
/// read or are already open. A single read does not benefit from the phys of a wide port.
#[test]
fn one_sas_read_takes_the_sum_of_its_stages() {
    let block = Bytes::kibi(4);
    for (rate, phys) in SAS_RATES.into_iter().flat_map(|rate| [1, 4].map(|phys| (rate, phys))) {
        for link in [Sas::new(rate, phys), Sas::new(rate, phys).kept_open()] {
            let system = over_sas(&small_drive(), link);
            let few =
                Test { volume: Some(Bytes::mebi(1)), ..test(block, Pattern::Uniform, true, 1) };
            let sample = run(&system, &few);
            let drive = &system.attachments[0].drive;
            // The uplink is faster, and forwards data and completion while they arrive.
            let expected = system.attachments[0].protocol.read_time
                + Duration::from_nanoseconds(150 + 800) // doorbell, request fetched
                + link.command_time()
                + media_read_time(drive)
                + link.read_data_time(block)
                + link.response_behind_data_time()
                + Duration::from_nanoseconds(150);
            assert_eq!(sample.latency().min_ns(), Some(expected.nanoseconds()), "{rate:?} x{phys}");
            assert_eq!(sample.latency().max_ns(), Some(expected.nanoseconds()), "{rate:?} x{phys}");
        }
    }
}

/// Tests data and the other traffic of the same direction on all phys at once, for each generation and width, in both
/// directions.
#[test]
fn a_saturated_sas_port_carries_its_closed_form_at_every_rate_and_width() {
    let block = Bytes::kibi(128);
    let mut drive = unlimited();
    drive.flash_mut().program = PageTimes::alike(Duration::from_nanoseconds(10));
    drive.buffer = Bytes::mebi(32);
    for (rate, phys) in SAS_RATES.into_iter().flat_map(|rate| [1, 2, 4].map(|phys| (rate, phys))) {
        let link = Sas::new(rate, phys).kept_open();
        let port_paths = [
            (true, link.read_data_time(block) + link.response_behind_data_time()),
            (false, link.command_time() + link.write_data_time(block)),
        ];
        for (read, time) in port_paths {
            let formula = (block / time).as_megabytes() * f64::from(phys);
            let sample = run(&over_sas(&drive, link), &test(block, Pattern::Sequential, read, 32));
            let seen = megabytes(&sample);
            let what = format!("{rate:?} x{phys}, read {read}");
            assert!((seen / formula - 1.0).abs() < 0.02, "{what}: {seen} for {formula} MB/s");
        }
    }
}

/// Returns a SATA drive in an enclosure, whose bridge is connected to a USB port with `rate`.
pub(crate) fn enclosed(drive: &DriveSpec, rate: UsbRate, transport: UsbTransport) -> SystemSpec {
    let bulk_only = transport == UsbTransport::BulkOnly;
    let commands = if bulk_only { SataCommands::Unqueued } else { SataCommands::Queued };
    let mut system = over_sata(drive, Sata::new(SataRate::Gen3, commands), 30);
    let attachment = &mut system.attachments[0];
    attachment.protocol.kind = if bulk_only { ProtocolKind::BulkOnly } else { ProtocolKind::Uasp };
    attachment.protocol.queue_depth = if bulk_only { 1 } else { 30 };
    let link =
        |name: &str, model, latency| LinkSpec { name: name.to_owned(), model, latency, speed: 1 };
    let bytes_per_second = 2_000_000_000;
    let bridge = Bridge { command_time: us(20), rate: BytesPerSecond(bytes_per_second) };
    let latency = us(5);
    let bridge = link("bridge", LinkModel::Bridge(bridge), latency);
    let usb = link("USB", LinkModel::Usb(Usb::new(rate, transport)), Duration::ZERO);
    attachment.port_path.links.splice(1..1, [usb, bridge]);
    system
}

/// USB is the bottleneck at 5 Gb/s, and the drive's SATA link is the bottleneck at 10 Gb/s.
#[test]
fn an_enclosure_carries_what_its_narrower_link_does() {
    let block = Bytes::kibi(128);
    let test = test(block, Pattern::Uniform, true, 16);
    for (rate, bottleneck) in [(UsbRate::Gen1, 1), (UsbRate::Gen2, 3)] {
        let system = enclosed(&unlimited(), rate, UsbTransport::AttachedScsi);
        let ceiling = ceilings(&system, &test)[2 + bottleneck].rate.unwrap().as_megabytes();
        let seen = megabytes(&run(&system, &test));
        assert!(seen <= ceiling && seen > ceiling * 0.995, "{seen} for {ceiling} MB/s");
    }
}

/// The bridge sends short commands at its own rate, regardless of the rate of the next link.
#[test]
fn a_bridge_limits_commands_and_does_not_hold_data_up() {
    let system = enclosed(&unlimited(), UsbRate::Gen2, UsbTransport::AttachedScsi);
    let seen = megabytes(&run(&system, &test(Bytes::kibi(4), Pattern::Uniform, true, 30)));
    assert_within(seen, 4096.0 / 20.0, 0.002);
}

/// A read crosses the bridge twice and a write crosses it three times, and each crossing costs the latency of the
/// bridge.
#[test]
fn a_bridge_s_latency_is_paid_at_every_pass() {
    let slower = |latency| {
        let mut system = enclosed(&unlimited(), UsbRate::Gen2, UsbTransport::AttachedScsi);
        system.attachments[0].port_path.links[2].latency = us(latency);
        system
    };
    for (reading, passes) in [(true, 2.0), (false, 3.0)] {
        let time = |latency| {
            let test = test(Bytes::kibi(4), Pattern::Uniform, reading, 1);
            4096.0 / megabytes(&run(&slower(latency), &test))
        };
        let seen = (time(105) - time(5)) / 100.0;
        assert!((seen - passes).abs() < 0.02, "{seen} of {passes}");
    }
}

//! Computes the USB formula independently: symbols are counted by hand, and rates are computed from the formula.

use super::*;
use crate::link::formulas::{BurstPosition, CommandPhase, LinkFormulas, PhaseTime};
use lanemark_schema::workload::Operation;

const MIDDLE: BurstPosition = BurstPosition { first: false, last: false };
const WHOLE: BurstPosition = BurstPosition { first: true, last: true };

fn uasp(rate: UsbRate) -> Usb {
    Usb::new(rate, UsbTransport::AttachedScsi)
}

fn megabytes(bytes: Bytes, time: Duration) -> f64 {
    (bytes / time).as_megabytes()
}

/// Returns the number of symbols in a time at 5 Gb/s: each takes 2 ns, and 354 are sent for every 352.
fn symbols(time: Duration) -> f64 {
    time.as_seconds() * 500e6 * 352.0 / 354.0
}

/// 1,024 of 1,072 symbols are data in generation 1, and 1,024 of 1,076 in generation 2.
#[test]
fn long_transfers_meet_the_closed_form_in_both_directions() {
    for (rate, coded, packet, skips, expected) in [
        (UsbRate::Gen1, 500.0, 1024.0 + 32.0 + 16.0, 352.0 / 354.0, 474.9),
        (UsbRate::Gen2, 10_000.0 / 8.0 * 128.0 / 132.0, 1024.0 + 36.0 + 16.0, 40.0 / 41.0, 1_125.4),
        (
            UsbRate::Gen2x2,
            20_000.0 / 8.0 * 128.0 / 132.0,
            1024.0 + 36.0 + 16.0,
            40.0 / 41.0,
            2_250.8,
        ),
    ] {
        let formula: f64 = coded * 1024.0 / packet * skips;
        assert!((formula - expected).abs() < 0.1, "{formula} MB/s");
        let block = Bytes::mebi(32);
        let read = uasp(rate).cost(CommandPhase::ToHost(block, MIDDLE)).to_host;
        let write = uasp(rate).cost(CommandPhase::ToDrive(block, MIDDLE)).to_drive;
        assert_eq!(read, write);
        let seen = megabytes(block, read);
        assert!((seen / formula - 1.0).abs() < 1e-4, "{seen} for {formula} MB/s");
    }
}

/// Thirteen transactions of 512 B per microframe of 125 µs carry 53.248 MB/s (USB 2.0, table 5-10), in either direction
/// or in both together.
#[test]
fn usb_2_carries_thirteen_transactions_in_a_microframe() {
    use crate::link::LinkModel;
    use crate::run::ceiling::over_link;
    use lanemark_schema::units::Ratio;
    use lanemark_schema::workload::Test;
    let link = Usb::new(UsbRate::High, UsbTransport::BulkOnly);
    let block = Bytes::mebi(13);
    let PhaseTime { to_host, to_drive } = link.cost(CommandPhase::ToHost(block, MIDDLE));
    assert!((megabytes(block, to_host) - 53.248).abs() < 1e-3);
    let written = link.cost(CommandPhase::ToDrive(block, MIDDLE)).to_drive;
    assert_eq!((to_drive, written), (Duration::ZERO, to_host));
    // Counted by hand, the command, eight transactions and the status are 86 + 8 * 567 + 68 B at 60 MB/s, with 7,500 B
    // sent for every 7,371.
    let by_hand = Duration::from_nanoseconds((4690.0 / 0.06 * 7500.0 / 7371.0) as u64);
    let cost = link.cost(CommandPhase::Command(Operation::Read))
        + link.cost(CommandPhase::ToHost(Bytes::kibi(4), WHOLE));
    let seen = cost.to_host + cost.to_drive;
    assert!(seen.nanoseconds().abs_diff(by_hand.nanoseconds()) <= 2, "{seen} for {by_hand}");
    let model = LinkModel::Usb(link);
    let mixed = |share| {
        let test = Test::random_read("4 KiB").volume("1 GiB").build().unwrap();
        let test = Test::clone(&test).with(|asked| asked.read_share = Ratio::new(share).unwrap());
        over_link(&model, Bytes::kibi(120), &test).as_megabytes()
    };
    let reads = mixed(1.0);
    let half = mixed(0.5);
    let writes = mixed(0.0);
    assert!((reads - 4096.0 / 4690.0 * 60.0 * 7371.0 / 7500.0).abs() < 0.01, "{reads}");
    assert!((half - reads).abs() < 0.01 && (writes - reads).abs() < 0.01, "{half}, {writes}");
    assert_eq!(link.replay_time(), link.half_duplex_frame());
    assert_eq!(Usb::new(UsbRate::Gen1, UsbTransport::BulkOnly).half_duplex_frame(), None);
    assert_eq!(model.to_string(), "USB 480 Mb/s, bulk-only, packets of 512 B");
}

#[test]
fn a_read_and_a_write_of_4k_have_the_symbols_that_are_counted_by_hand() {
    for (transport, command, status) in
        [(UsbTransport::AttachedScsi, 32.0, 16.0), (UsbTransport::BulkOnly, 31.0, 13.0)]
    {
        let link = Usb::new(UsbRate::Gen1, transport);
        let PhaseTime { to_host, to_drive } = link.cost(CommandPhase::Command(Operation::Read));
        assert!((symbols(to_drive) - (command + 32.0 + 16.0)).abs() < 0.01);
        assert!((symbols(to_host) - 36.0).abs() < 0.01);
        // ERDY and its link commands precede the data and the status; each is a separate packet.
        let PhaseTime { to_host, to_drive } =
            link.cost(CommandPhase::ToHost(Bytes::kibi(4), WHOLE));
        let up = 36.0 + 4.0 * 1072.0 + 36.0 + (status + 48.0);
        assert!((symbols(to_host) - up).abs() < 0.01);
        assert!((symbols(to_drive) - (36.0 + 4.0 * 36.0 + 36.0 + 36.0)).abs() < 0.01);
        let PhaseTime { to_host, to_drive } =
            link.cost(CommandPhase::ToDrive(Bytes::kibi(4), WHOLE));
        assert!((symbols(to_drive) - (16.0 + 4.0 * 1072.0)).abs() < 0.01);
        assert!((symbols(to_host) - (20.0 + 4.0 * 36.0)).abs() < 0.01);
        let PhaseTime { to_host, .. } = link.cost(CommandPhase::Completion(Operation::Write));
        assert!((symbols(to_host) - (36.0 + status + 48.0)).abs() < 0.01);
    }
}

/// A bridge takes its own time for each command and for data, and the smaller of the two rates is its ceiling.
#[test]
fn a_bridge_is_bound_by_commands_where_they_are_short_and_by_data_where_they_are_long() {
    use crate::link::LinkModel;
    use crate::run::ceiling::over_link;
    use lanemark_schema::workload::Test;
    let model = LinkModel::Bridge(Bridge {
        command_time: Duration::from_microseconds(20),
        rate: BytesPerSecond(400_000_000),
    });
    let at = |block: &str| {
        over_link(
            &model,
            Bytes::mebi(1),
            &Test::random_read(block).volume("1 GiB").build().unwrap(),
        )
    };
    assert!(at("4 KiB").0.abs_diff(4096 * 50_000) <= 1);
    assert!(at("1 MiB").0.abs_diff(400_000_000) <= 1);
}

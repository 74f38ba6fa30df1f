//! Tests links as stations: the waits between transfers, to the picosecond, and the effect of retraining.

use super::*;
use crate::host::protocol::COMPLETION;
use crate::tests::BLOCK;

const WHOLE: BurstPosition = BurstPosition { first: true, last: true };

fn block(position: BurstPosition) -> LinkBurst {
    LinkBurst { bytes: BLOCK, position }
}
const START: Instant = Instant::ZERO;
const ISSUE: ProtocolAccesses = ProtocolAccesses {
    host_writes: Bytes(4),
    device_writes: [Bytes::ZERO; 2],
    device_reads: (Bytes(64), 1),
};

fn link(model: LinkModel, speed: u32) -> Link {
    Link::new(&LinkSpec { name: String::new(), model, latency: Duration::ZERO, speed }, COMPLETION)
}

fn pcie(lanes: u32) -> LinkModel {
    LinkModel::Pcie(Pcie::new(PcieGeneration::Three, lanes, Bytes(128), Bytes(512)))
}

fn sata(rate: SataRate) -> LinkModel {
    LinkModel::Sata(Sata::new(rate, SataCommands::Queued))
}

fn sas(rate: SasRate, phys: u32) -> LinkModel {
    LinkModel::Sas(Sas::new(rate, phys).kept_open())
}

fn here(now: Instant) -> ServiceSpan {
    ServiceSpan { start: now, end: now }
}

fn read(link: &mut Link, now: Instant) -> Instant {
    link.carry_read(now, here(now), block(WHOLE)).end
}

fn write(link: &mut Link, now: Instant) -> Instant {
    link.carry_write(now, here(now), block(WHOLE)).end
}

/// Returns the time of a read and a write of 4 KiB on an idle link of `model`.
fn alone(model: LinkModel) -> (Duration, Duration) {
    let mut one = link(model, 1);
    let mut other = link(model, 1);
    (read(&mut one, START).since(START), write(&mut other, START).since(START))
}

#[test]
fn the_same_direction_waits_and_over_sata_the_other_too() {
    for model in [pcie(4), sata(SataRate::Gen3), sas(SasRate::Gen3, 1)] {
        let (reads, writes) = alone(model);
        let mut one = link(model, 1);
        read(&mut one, START);
        assert_eq!(read(&mut one, START), START + reads * 2, "{model}");
        // The time of an idle gap cannot be used later.
        let later = START + reads * 5;
        assert_eq!(read(&mut one, later), later + reads, "{model}");
        let mut one = link(model, 1);
        read(&mut one, START);
        let back = one.to_drive.free_at().since(START);
        let behind = write(&mut one, START).since(START);
        match model {
            LinkModel::Sata(_) => assert_eq!(behind, reads + writes),
            // The acknowledgement of the read precedes it.
            _ => assert_eq!(behind, back + writes, "{model}"),
        }
    }
}

#[test]
fn times_match_the_model() {
    let LinkModel::Pcie(model) = pcie(4) else { unreachable!() };
    assert_eq!(
        alone(pcie(4)).0,
        model.write_time(BLOCK) + model.write_time(Bytes(16)) + model.write_time(Bytes(4))
    );
    assert_eq!(alone(pcie(4)).1, model.completion_time(BLOCK));
    let LinkModel::Sata(model) = sata(SataRate::Gen2) else { unreachable!() };
    let (reads, writes) = alone(sata(SataRate::Gen2));
    assert_eq!(reads, model.read_data_time(BLOCK, true) + model.read_completion_time());
    assert_eq!(writes, model.write_data_time(BLOCK, true) + model.completion_time());
    let LinkModel::Sas(model) = sas(SasRate::Gen3, 1) else { unreachable!() };
    let (reads, writes) = alone(sas(SasRate::Gen3, 1));
    assert_eq!(reads, model.read_data_time(BLOCK) + model.response_behind_data_time());
    assert_eq!(writes, model.write_data_time(BLOCK));
}

#[test]
fn each_phy_of_a_port_carries_its_own_transfer() {
    let (reads, _) = alone(sas(SasRate::Gen3, 2));
    let mut wide = link(sas(SasRate::Gen3, 2), 1);
    let ends = [(); 4].map(|()| read(&mut wide, START));
    assert_eq!(ends, [reads, reads, reads * 2, reads * 2].map(|time| START + time));
}

#[test]
fn the_first_burst_and_the_last_cost_what_only_they_have() {
    let model = sata(SataRate::Gen3);
    let LinkModel::Sata(own) = model else { unreachable!() };
    let time = |first, last| {
        let place = BurstPosition { first, last };
        link(model, 1).carry_read(START, here(START), block(place)).end.since(START)
    };
    let announced = own.read_data_time(BLOCK, true) - own.read_data_time(BLOCK, false);
    assert_eq!(time(true, false) - time(false, false), announced);
    assert_eq!(time(false, true) - time(false, false), own.read_completion_time());
    // The same burst at another position takes a different time on the same link.
    let mut one = link(model, 1);
    for (first, last) in [(true, false), (false, false), (false, false), (false, true)] {
        let free = one.free_at();
        let end = one.carry_read(free, here(free), block(BurstPosition { first, last })).end;
        assert_eq!(end.since(free), time(first, last));
    }
}

/// Returns the time in each direction of all kinds of transfers, each on an idle link.
fn times(model: LinkModel, speed: u32) -> Vec<(&'static str, Duration, Duration)> {
    let mut all = Vec::new();
    let mut note = |name, step: &dyn Fn(&mut Link)| {
        let mut one = link(model, speed);
        step(&mut one);
        let connections = u64::from(model.kind().connections());
        all.push((name, one.to_host.busy() * connections, one.to_drive.busy() * connections));
    };
    for (first, last) in [(true, true), (true, false), (false, true), (false, false)] {
        let data = block(BurstPosition { first, last });
        note("read", &|link| _ = link.carry_read(START, here(START), data));
        note("write", &|link| _ = link.carry_write(START, here(START), data));
    }
    for operation in [Operation::Read, Operation::Write, Operation::Flush, Operation::Trim] {
        note("command", &|link| _ = link.issue_frames(START, operation));
        note("completion", &|link| _ = link.complete(START, operation));
    }
    note("accesses", &|link| link.charge(START, ISSUE));
    all
}

fn every_kind() -> Vec<LinkModel> {
    let usb = LinkModel::Usb(Usb::new(UsbRate::Gen1, UsbTransport::AttachedScsi));
    let closed = LinkModel::Sas(Sas::new(SasRate::Gen2, 2));
    let pio = LinkModel::Sata(Sata::new(SataRate::Gen3, SataCommands::Pio));
    vec![pcie(4), sata(SataRate::Gen3), pio, sas(SasRate::Gen3, 1), closed, usb]
}

#[test]
fn a_faster_link_takes_a_share_of_the_time_for_all_that_it_carries() {
    for (model, speed) in
        every_kind().into_iter().flat_map(|model| [2, 3, 10].map(|speed| (model, speed)))
    {
        let plain = times(model, 1);
        let fast = times(model, speed);
        assert!(plain.iter().any(|(_, to_host, to_drive)| *to_host + *to_drive > Duration::ZERO));
        for ((name, to_host, to_drive), (_, fast_to_host, fast_to_drive)) in plain.iter().zip(fast)
        {
            let factor = u64::from(speed);
            for (plain, fast) in [(*to_host, fast_to_host), (*to_drive, fast_to_drive)] {
                // Half-duplex links and connections add times that are each rounded down to the picosecond.
                let off = (plain / factor).picoseconds().abs_diff(fast.picoseconds());
                assert!(off <= 4, "{model} at {speed} times its speed: {name} {fast} of {plain}");
            }
        }
        for last in [true, false] {
            let burst = block(BurstPosition { first: true, last });
            let time = link(model, speed).read_time(burst);
            let end = link(model, speed).carry_read(START, here(START), burst).end;
            assert_eq!(START + time, end, "{model} at {speed} times its speed");
        }
    }
}

/// On a half-duplex link a command is sent at the end of a Data frame, which is earlier on a faster link.
#[test]
fn a_command_gets_in_between_the_frames_of_a_faster_link() {
    let LinkModel::Sata(model) = sata(SataRate::Gen3) else { unreachable!() };
    for speed in [1, 2, 4] {
        let mut one = link(sata(SataRate::Gen3), speed);
        let position = BurstPosition { first: false, last: false };
        one.carry_read(START, here(START), LinkBurst { bytes: Bytes::kibi(128), position });
        let frame = model.data_frame_time() / u64::from(speed);
        let span =
            one.issue_frames(START + frame * 2 + Duration::from_picoseconds(1), Operation::Read);
        assert_eq!(span.start, START + frame * 3, "speed {speed}");
        assert_eq!(span.end.since(span.start), model.issue_time() / u64::from(speed));
    }
}

#[test]
fn the_frame_of_a_command_is_acknowledged_the_other_way() {
    for operation in [Operation::Read, Operation::Write, Operation::Flush] {
        let LinkModel::Sas(model) = sas(SasRate::Gen3, 1) else { unreachable!() };
        let mut one = link(sas(SasRate::Gen3, 1), 1);
        assert_eq!(one.issue_frames(START, operation).end, START + model.command_time());
        assert_eq!(one.to_host.busy(), model.frame_acknowledge_time());
        one.complete(START, operation);
        assert_eq!(one.to_host.busy(), model.frame_acknowledge_time() + model.response_time());
        assert_eq!(one.to_drive.busy(), model.command_time() + model.frame_acknowledge_time());
    }
}

#[test]
fn a_link_is_as_busy_as_its_busier_direction() {
    let LinkModel::Pcie(model) = pcie(4) else { unreachable!() };
    let mut reads = link(pcie(4), 1);
    let mut writes = link(pcie(4), 1);
    read(&mut reads, START);
    write(&mut writes, START);
    assert_eq!(reads.busy(), alone(pcie(4)).0);
    assert_eq!(writes.busy(), model.completion_time(BLOCK));
    assert!(reads.to_drive.busy() < reads.busy() && writes.to_host.busy() < writes.busy());
}

/// Bit errors belong to the wire: they continue after the link retrains, and each costs a replay at the new rate.
#[test]
fn a_link_that_trains_again_continues_to_spoil_bits() {
    use lanemark_schema::rng::{Rng, StreamKey};
    let rate = 1e-5;
    let count = 500u64;
    let LinkModel::Pcie(narrow) = pcie(1) else { unreachable!() };
    let extra = |rate: Option<f64>| {
        let mut one = link(pcie(4), 1);
        one.set_bit_error_rate(rate, Rng::new(StreamKey::from_seed(4)));
        one.train(pcie(1));
        (0..count).for_each(|_| _ = read(&mut one, START));
        one.to_host.busy()
    };
    let seen = (extra(Some(rate)) - extra(None)).as_seconds() / narrow.replay_time().as_seconds();
    let expected = rate * (narrow.write_bytes(BLOCK) * 8 * count) as f64;
    assert!((seen - libm::round(seen)).abs() < 1e-6, "{seen} whole replays of the new link");
    assert!((seen - expected).abs() < 4.0 * libm::sqrt(expected), "{seen} for {expected}");
    // A link records once that the command must repeat its data. A link that replays packets itself does not record
    // wrong bits.
    for (model, notes) in
        [(sata(SataRate::Gen3), true), (sas(SasRate::Gen3, 1), true), (pcie(4), false)]
    {
        let mut one = link(model, 1);
        assert!(!one.take_spoilt());
        one.set_bit_error_rate(Some(1e-2), Rng::new(StreamKey::from_seed(4)));
        read(&mut one, START);
        assert_eq!((one.take_spoilt(), one.take_spoilt()), (notes, false), "{model}");
        write(&mut one, START);
        assert_eq!((one.take_spoilt(), one.take_spoilt()), (notes, false), "{model}");
        write(&mut one, START);
        one.set_bit_error_rate(None, Rng::new(StreamKey::from_seed(4)));
        assert!(!one.take_spoilt(), "{model}");
    }
}

#[test]
fn a_link_trains_to_what_its_kind_has_and_stays_set_up_as_it_was() {
    use lanemark_schema::units::BitsPerSecond;
    let to = |lanes, generation, speed: Option<u64>| TrainedRate {
        lanes,
        generation,
        speed: speed.map(|gigabits| BitsPerSecond(gigabits * 1_000_000_000)),
    };
    let narrow = Pcie::new(PcieGeneration::One, 2, Bytes(128), Bytes(512));
    assert_eq!(pcie(4).trained(to(Some(2), Some(1), None)), Some(LinkModel::Pcie(narrow)));
    for nothing in [to(Some(3), None, None), to(None, Some(9), None), to(None, None, Some(6))] {
        assert_eq!(pcie(4).trained(nothing), None);
    }
    let connection = Duration::from_nanoseconds(700);
    let made = |rate| LinkModel::Sata(Sata::new(rate, SataCommands::Queued).over_stp(connection));
    assert_eq!(made(SataRate::Gen3).trained(to(None, None, Some(3))), Some(made(SataRate::Gen2)));
    assert_eq!(made(SataRate::Gen3).trained(to(Some(1), None, Some(3))), None);
    assert_eq!(made(SataRate::Gen3).trained(to(None, None, Some(12))), None);
    let narrow = sas(SasRate::Gen3, 2).trained(to(Some(1), None, Some(6)));
    assert_eq!(narrow, Some(sas(SasRate::Gen2, 1)));
    let [closed, slower] =
        [SasRate::Gen3, SasRate::Gen1].map(|rate| LinkModel::Sas(Sas::new(rate, 1)));
    assert_eq!(closed.trained(to(None, None, Some(3))), Some(slower));
    assert_eq!(closed.trained(to(Some(3), None, None)), None);
}

/// A corrupted packet is sent again after its NAK, and the link carries no other data until then.
#[test]
fn a_spoilt_packet_takes_the_link_a_packet_and_a_round_trip_more() {
    use lanemark_schema::rng::{Rng, StreamKey};
    let latency = Duration::from_nanoseconds(150);
    let setup = PcieSetup::new(Bytes(128), Bytes(512));
    let model = Pcie::with_setup(PcieGeneration::Three, 4, latency, &setup);
    assert_eq!(model.replay_time(), model.wire_time(128 + 24) + model.wire_time(8) + latency * 2);
    let rate = 1e-6;
    let count = 20_000;
    for (to_host, speed) in
        [true, false].into_iter().flat_map(|port_path| [1, 2, 4].map(|one| (port_path, one)))
    {
        let busy = |rate: Option<f64>| {
            let mut one = link(LinkModel::Pcie(model), speed);
            one.set_bit_error_rate(rate, Rng::new(StreamKey::from_seed(3)));
            for _ in 0..count {
                if to_host {
                    read(&mut one, START)
                } else {
                    write(&mut one, START)
                };
            }
            if to_host { one.to_host.busy() } else { one.to_drive.busy() }
        };
        let expected = rate * (model.write_bytes(BLOCK) * 8 * count) as f64;
        let replay = model.replay_time() / u64::from(speed);
        let seen = (busy(Some(rate)) - busy(None)).as_seconds() / replay.as_seconds();
        assert!((seen - expected).abs() < 4.0 * libm::sqrt(expected), "{seen} for {expected}");
        assert!((seen - libm::round(seen)).abs() < 1e-6, "whole replays");
    }
}

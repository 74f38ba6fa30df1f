//! Compares host bus adapters in whole systems with the closed form of their model.

use crate::run::sensitivity;
use crate::spec::{AdapterSpec, OverloadCost, SystemSpec};
use crate::tests::runs::{ceiling_of, checked, run, sas, test, times, unlimited};
use crate::tests::us;
use lanemark_schema::result::HopId;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Pattern, Test};

/// Returns a SAS system with one fast drive and a fast core. The adapter processes 200,000 commands a second, or
/// 125,000 with more than 64 outstanding.
fn behind_an_adapter() -> SystemSpec {
    let mut system = without_adapter();
    system.attachments[0].protocol.adapter = Some(AdapterSpec {
        command_time: us(5),
        crowded: Some(OverloadCost { above: 64, command_time: us(8) }),
        cache: None,
    });
    system
}

fn without_adapter() -> SystemSpec {
    let mut system = sas(unlimited(), 4);
    let protocol = &mut system.attachments[0].protocol;
    protocol.read_time = Duration::from_nanoseconds(100);
    protocol.write_time = protocol.read_time;
    system
}

fn reads(depth: u32) -> Test {
    test(Bytes::kibi(4), Pattern::Uniform, true, depth)
}

#[test]
fn one_read_takes_the_adapters_time_more() {
    let with = run(&behind_an_adapter(), &reads(1));
    let without = run(&without_adapter(), &reads(1));
    let more = with.latency().mean_ns() - without.latency().mean_ns();
    assert!((more - 5_000.0).abs() < 1.0, "{more} ns");
    let protocol = with.path.as_ref().unwrap().hop(HopId::Protocol).unwrap();
    let share = with.iops() * 5e-6;
    assert!((protocol.utilisation - share).abs() < 0.01, "{} for {share}", protocol.utilisation);
}

/// The commands of all drives count: with 32 outstanding for each, four drives have 128.
#[test]
fn an_adapter_carries_as_many_commands_as_its_time_allows_and_fewer_when_crowded() {
    for (drives, depth, model) in [
        (1, 16, 200_000.0),
        (1, 64, 200_000.0),
        (1, 128, 125_000.0),
        (1, 256, 125_000.0),
        (2, 32, 200_000.0),
        (4, 32, 125_000.0),
    ] {
        let seen = run(&times(behind_an_adapter(), drives), &reads(depth)).iops();
        let share = (seen / model - 1.0).abs();
        assert!(share < 0.01, "{seen} for {model}: {drives} drives at depth {depth}");
    }
}

#[test]
fn another_drives_adapter_does_not_delay_a_drive() {
    let mut system = times(without_adapter(), 2);
    system.attachments[1].protocol.adapter = behind_an_adapter().attachments[0].protocol.adapter;
    let alone = run(&without_adapter(), &reads(1)).iops();
    let both = run(&system, &reads(1)).iops();
    let slow = run(&behind_an_adapter(), &reads(1)).iops();
    assert!((both / (alone + slow) - 1.0).abs() < 0.01, "{both} for {alone} and {slow}");
}

#[test]
fn the_adapters_ceiling_holds_and_a_faster_adapter_gains() {
    let system = behind_an_adapter();
    let load = reads(32);
    let hop = ceiling_of(&system, &load, HopId::Protocol);
    assert!(hop.rate.unwrap().0.abs_diff(200_000 * 4096) <= 1, "{:?}", hop.rate);
    let costs = "5 us each, 8 us with more than 64 outstanding";
    assert!(hop.formula.ends_with(costs), "{}", hop.formula);
    // Requests of four commands move as much data in four times the time.
    let mut divided = system.clone();
    divided.attachments[0].protocol.transfer_max = Bytes::kibi(4);
    let long = Test { block: Bytes::kibi(16), ..load.clone() };
    let hop = ceiling_of(&divided, &long, HopId::Protocol);
    assert!(hop.rate.unwrap().0.abs_diff(200_000 * 4096) <= 1, "{:?}", hop.rate);
    let key = StreamKey::from_seed(1);
    let told = sensitivity(&checked(&system), &load.checked().unwrap(), key).unwrap();
    let gain = told.gains.iter().find(|gain| gain.change == "an adapter twice as fast").unwrap();
    assert!(gain.throughput_gain > 0.9, "{gain:?}");
}

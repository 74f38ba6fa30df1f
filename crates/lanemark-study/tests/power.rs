//! The library's drives use their specified power, and a faster drive extends battery life.

use lanemark_schema::result::EnergyUse;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Test;
use lanemark_sim::run_test;
use lanemark_study::{Library, workload};

mod systems;
use systems::with_settings;

fn energy(name: &str, test: &Test) -> EnergyUse {
    let system = with_settings(name, &[]).unwrap();
    let test = test.clone().checked().unwrap();
    run_test(&system.spec, &test, StreamKey::from_seed(1)).unwrap().energy.unwrap()
}

fn sequential(index: usize) -> Test {
    workload::open(&Library::built_in(), "iometer-128k-qd32").unwrap().tests[index].clone()
}

#[test]
fn drives_take_their_published_power() {
    let read = 0;
    let write = 1;
    for (name, test, watts) in [
        ("samsung-950-pro-512gb@laptop-2014:m2", read, 5.7),
        ("samsung-950-pro-512gb@laptop-2014:m2", write, 7.0),
        ("samsung-850-pro-1tb@laptop-2014:sata", write, 3.0),
        ("intel-s4500-960gb@workstation-z170:sata", write, 5.6),
        ("seagate-cheetah-15k7-450gb@dell-r730xd:sas", read, 11.68),
    ] {
        let seen = energy(name, &sequential(test)).power_mean_watts;
        assert!((seen / watts - 1.0).abs() < 0.03, "{seen} W of {watts}: {name}");
    }
}

/// There is one 4 KiB read every two seconds, and between two reads the NVMe drive reaches its deepest state.
#[test]
fn a_drive_that_rests_takes_what_its_states_take() {
    let rare = Test { volume: None, duration: Some(Duration::from_seconds(100)), ..sequential(0) }
        .with(|asked| {
            asked.queue_depth = 1;
            asked.think = Duration::from_seconds(2);
        });
    let seen = energy("samsung-950-pro-512gb@laptop-2014:m2", &rare);
    // In every 2.022 s, the drive is awake for 0.2755 s, in PS3 until 1.202 s, in PS4 for 0.798 s, and waking up for 22
    // ms.
    let expected = (0.2755 + 0.022 + 0.9265 * 0.070 + 0.798 * 0.005) / 2.022;
    assert!((seen.power_mean_watts / expected - 1.0).abs() < 0.02, "{}", seen.power_mean_watts);
    // The test ends during the fiftieth rest, before the drive reaches the deep state.
    let reached = |name: &str| seen.states.iter().find(|state| state.name == name).unwrap().reached;
    assert_eq!((reached("PS3"), reached("PS4")), (Some(50), Some(49)));
    let hours = seen.platform.unwrap().battery_hours.unwrap();
    assert!((hours - 50.0 / (8.2 + seen.power_mean_watts)).abs() < 1e-9, "{hours}");
}

//! The setup of a PCI Express link affects the simulation and the ceilings.

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::Test;
use lanemark_sim::{ceilings, run_test};
use lanemark_study::{Library, System, workload};
use lanemark_testbed::systems::NVME;

mod systems;
use systems::with_settings;

fn sequential(read: bool) -> Test {
    let workload = workload::open(&Library::built_in(), "crystaldiskmark-5").unwrap();
    Test { span: Bytes::mebi(64), volume: Some(Bytes::mebi(64)), ..workload.tests[0].clone() }.with(
        |asked| {
            asked.read_share = if read { Ratio::ONE } else { Ratio::ZERO };
            asked.queue_depth = 8;
        },
    )
}

/// Returns the simulated MB/s, and the ceiling of the link `hop`.
fn carried(system: &System, test: &Test, hop: &str) -> (f64, f64) {
    let checked = test.clone().checked().unwrap();
    let sample = run_test(&system.spec, &checked, StreamKey::from_seed(1)).unwrap();
    let ceiling = ceilings(&system.spec, test).into_iter().find(|it| it.name == hop).unwrap();
    (sample.throughput().as_megabytes(), ceiling.rate.unwrap().as_megabytes())
}

#[track_caller]
fn meets(seen: f64, formula: f64) {
    assert!((seen / formula - 1.0).abs() < 0.002, "{seen} for {formula} MB/s");
}

#[test]
fn a_completer_that_sends_cache_lines_slows_only_written_data() {
    let settings = [("platform.port.pcie-slot.completion_payload", "64 B")];
    let system = with_settings(NVME, &settings).unwrap();
    let free = with_settings(NVME, &[]).unwrap();
    let ceiling = |system, read| carried(system, &sequential(read), "PCIe 3.0 x4").1;
    // The overhead is 20 bytes per 64 bytes instead of per 128 bytes.
    meets(ceiling(&system, false) / ceiling(&free, false), (64.0 / 84.0) / (128.0 / 148.0));
    meets(ceiling(&system, true) / ceiling(&free, true), 1.0);
}

/// The packet size is the minimum of both ends. In a port with 256 bytes, the overhead is 24 bytes per 128 bytes for a
/// drive with 128 bytes, and 24 bytes per 256 bytes for a drive with 512 bytes.
#[test]
fn the_smaller_payload_of_drive_and_port_binds() {
    let drive = |own| ("drive.port.pcie.payload_max", own);
    let most = |settings: &[(&str, &str)], read| {
        carried(&with_settings(NVME, settings).unwrap(), &sequential(read), "PCIe 3.0 x4").1
    };
    for (own, payload) in [("128 B", 128.0), ("256 B", 256.0), ("512 B", 256.0)] {
        let settings = [drive(own)];
        // The completion entry and the interrupt of a read have 68 bytes, for 128 KiB of data, which is below the
        // tolerance.
        let line = 8e3 / 8.0 * 128.0 / 130.0 * 4.0 * 1534.0 / 1538.0;
        meets(most(&settings, true), line * payload / (payload + 24.0));
        meets(most(&settings, false), line * payload / (payload + 20.0));
    }
    // Completions that were already shorter do not change.
    let lines = ("platform.port.pcie-slot.completion_payload", "64 B");
    let gain = most(&[lines, drive("128 B")], false) / most(&[drive("256 B")], false);
    meets(gain, (64.0 / 84.0) / (256.0 / 276.0));
}

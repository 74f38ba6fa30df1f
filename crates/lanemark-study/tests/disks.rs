//! The simulated figures of the library's hard disks agree with the disks' manuals.

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Pattern, Test};
use lanemark_sim::run_test;
use lanemark_study::{Library, System, workload};

mod systems;
use systems::with_settings;

const SATA: &str = "seagate-constellation-2-1tb@workstation-z170:sata";
const SAS: &str = "seagate-cheetah-15k7-450gb@dell-r730xd:sas";

/// Returns MB/s and requests a second of reads that are random, or sequential over the first or last 2 GB.
fn reads(system: &System, pattern: Pattern, at_end: bool) -> (f64, f64) {
    let workload = workload::open(&Library::built_in(), "crystaldiskmark-5").unwrap();
    let capacity = system.spec.attachments[0].drive.capacity;
    let small = pattern == Pattern::Uniform;
    let block = if small { Bytes::kibi(4) } else { Bytes::mebi(1) };
    let span = if small { capacity } else { Bytes(2_000_000_000) };
    let offset = if at_end { capacity - span } else { Bytes::ZERO };
    let whole = |bytes: Bytes| Bytes(bytes.get() / block.get() * block.get());
    let test = Test {
        block,
        span: whole(span),
        offset: whole(offset),
        volume: Some(block * if small { 10_000 } else { 1_000 }),
        duration: None,
        ..workload.tests[0].clone()
    }
    .with(|asked| {
        asked.alignment = block;
        asked.pattern = pattern;
    });
    let sample = run_test(&system.spec, &test.checked().unwrap(), StreamKey::from_seed(1)).unwrap();
    (sample.throughput().as_megabytes(), sample.iops())
}

fn close(seen: f64, published: f64, within: f64) {
    assert!((seen / published - 1.0).abs() < within, "{seen} for {published}");
}

#[test]
fn the_cheetah_delivers_its_sustained_rates() {
    let system = with_settings(SAS, &[]).unwrap();
    close(reads(&system, Pattern::Sequential, false).0, 204.0, 0.01);
    close(reads(&system, Pattern::Sequential, true).0, 122.0, 0.01);
}

#[test]
fn the_constellation_slows_down_inwards_as_its_internal_rates_do() {
    let system = with_settings(SATA, &[]).unwrap();
    let outer = reads(&system, Pattern::Sequential, false).0;
    let inner = reads(&system, Pattern::Sequential, true).0;
    close(outer / inner, 163.0 / 84.0, 0.01);
}

#[test]
fn a_random_read_takes_the_published_access_time() {
    // Read access time in ms, including controller overhead and half a revolution. The outer tracks have more sectors,
    // so seeks are shorter than the mean over all cylinders; the host and the link add about 20 µs.
    for (name, access) in [(SATA, 7.7 + 4.17), (SAS, 3.4 + 0.2 + 2.0)] {
        let system = with_settings(name, &[]).unwrap();
        let rate = reads(&system, Pattern::Uniform, false).1;
        let mean = 1e3 / rate;
        assert!((0.92..1.0).contains(&(mean / access)), "{mean} ms for {access}: {name}");
    }
}

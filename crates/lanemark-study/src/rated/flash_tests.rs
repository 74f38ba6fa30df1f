//! Solid-state drives from their ratings, against the model of collection.

use lanemark_sim::spec::{FlashSpec, MediaSpec};

use super::printed::PAGE;
use super::spare::amplification;
use super::*;

/// Returns the flash and the capacity of a drive with these ratings.
fn flash(rated: &str) -> (FlashSpec, f64) {
    let text = format!(
        "[drive]\nname = \"a drive\"\nkind = \"ssd\"\ncapacity = \"960 GB\"\n\
         port = {{ protocol = \"nvme\", pcie = {{ generation = 4, lanes = 4 }} }}\n\
         [rated]\nread = \"3000 MB/s\"\n{rated}"
    );
    let (ledger, overrides) = (Ledger::default(), Overrides::default());
    let context = Context { ledger: &ledger, overrides: &overrides };
    let file = Document::parse("the drive file", &text).unwrap();
    let completed = complete(&file, &Library::built_in(), context).unwrap().unwrap();
    let spec = Drive::read(&completed, context).unwrap().spec;
    let MediaSpec::Flash(flash) = spec.media else { panic!("a disk") };
    (flash, spec.capacity.get() as f64)
}

/// Returns the random writes of 4 KiB a second that collection leaves if all dies program all the time.
fn steady(flash: &FlashSpec, capacity: f64) -> f64 {
    let superblock = flash.superblock().get() as f64;
    let blocks = f64::from(flash.blocks_per_plane);
    let spare = blocks - (capacity / superblock).ceil();
    let units = flash.dies() as f64 / flash.program.mean().as_seconds();
    units * flash.unit().get() as f64 / (PAGE * amplification(blocks, spare))
}

#[test]
fn rated_steady_random_writes_leave_the_dies_a_twentieth_of_their_time() {
    for rate in [300_000.0, 450_000.0, 600_000.0] {
        for ratings in [
            format!("market = \"client\"\nwrite = \"3000 MB/s\"\nsteady_random_write = {rate}\n"),
            format!("market = \"data-center\"\nrandom_write = {rate}\n"),
        ] {
            let (flash, capacity) = flash(&ratings);
            let margin = steady(&flash, capacity) / rate;
            assert!((margin - 1.05).abs() < 2e-3, "{ratings}: {margin}");
        }
    }
}

#[test]
fn rated_sequential_writes_leave_the_dies_a_fiftieth_of_their_time() {
    for write in [300, 500, 1000] {
        for ratings in [
            format!(
                "market = \"client\"\nwrite = \"2000 MB/s\"\nsteady_write = \"{write} MB/s\"\n"
            ),
            format!("market = \"data-center\"\nwrite = \"{write} MB/s\"\n"),
        ] {
            let (flash, _) = flash(&ratings);
            let units = flash.dies() as f64 / flash.program.mean().as_seconds();
            let margin = units * flash.unit().get() as f64 / (f64::from(write) * 1e6);
            assert!((margin - 1.02).abs() < 2e-3, "{ratings}: {margin}");
        }
    }
}

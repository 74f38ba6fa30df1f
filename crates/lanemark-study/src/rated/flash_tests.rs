//! Tests of solid-state drives that are completed from ratings, with the model of collection as the reference.

use lanemark_sim::spec::{FlashSpec, MediaSpec};

use super::printed::PAGE;
use super::spare::amplification;
use super::*;
/// Returns the flash and the capacity of an NVMe drive with these ratings.
fn flash(rated: &str) -> (FlashSpec, f64) {
    let drive = drive(&nvme(4), "960 GB", &format!("read = \"3000 MB/s\"\n{rated}"));
    (flash_of(&drive), drive.capacity.get() as f64)
}

/// Returns the rate of random 4 KiB writes in steady state, with collection, if all dies program all the time.
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

/// Returns the specification of a drive with this port, this capacity and these ratings.
fn drive(port: &str, capacity: &str, rated: &str) -> lanemark_sim::spec::DriveSpec {
    let text = format!(
        "[drive]\nname = \"a drive\"\nkind = \"ssd\"\ncapacity = \"{capacity}\"\nport = {{ {port} }}\n[rated]\n{rated}"
    );
    let context = Context { ledger: &Ledger::default(), overrides: &Overrides::default() };
    let file = Document::parse("the drive file", &text).unwrap();
    let completed = complete(&file, &Library::built_in(), context).unwrap().unwrap();
    Drive::read(&completed, context).unwrap().spec
}

fn flash_of(drive: &lanemark_sim::spec::DriveSpec) -> FlashSpec {
    let MediaSpec::Flash(flash) = &drive.media else { panic!("a disk") };
    flash.clone()
}

/// Returns the port of an NVMe drive.
fn nvme(generation: u32) -> String {
    format!("protocol = \"nvme\", pcie = {{ generation = {generation}, lanes = 4 }}")
}

#[test]
fn a_new_drive_with_an_old_link_has_the_controller_of_that_link() {
    let reads = |generation: u32, year: u32| {
        let drive =
            drive(&nvme(generation), "1000 GB", &format!("market = \"client\"\nyear = {year}\n"));
        1e6 / drive.front_end.read_time.as_microseconds()
    };
    let [third, fourth, fifth] = [3, 4, 5].map(|generation| reads(generation, 2024));
    assert!(third < 0.6 * fourth && fourth < 0.7 * fifth, "{third} {fourth} {fifth}");
    // The year does not change a link. For a link that is older than all priors, the oldest prior is used.
    assert!((reads(3, 2017) / third - 1.0).abs() < 1e-3);
    assert!((reads(2, 2017) / third - 1.0).abs() < 1e-3);
    assert!((reads(4, 2019) / fourth - 1.0).abs() < 1e-3);
    // A drive with AHCI is faster over PCIe than over SATA.
    let ahci = |port: &str| {
        let drive = drive(
            &format!("protocol = \"ahci\", {port}"),
            "512 GB",
            "market = \"client\"\nyear = 2014\n",
        );
        1e6 / drive.front_end.read_time.as_microseconds()
    };
    let [sata, pcie] = ["sata = \"6 Gb/s\"", "pcie = { generation = 2, lanes = 4 }"].map(ahci);
    assert!(pcie > 1.1 * sata, "{sata} {pcie}");
}

#[test]
fn an_unrated_data_path_has_the_rate_of_its_prior_unless_its_link_is_slower() {
    let paths = |port: &str, rated: &str| {
        let drive = drive(port, "1000 GB", &format!("market = \"client\"\nyear = 2018\n{rated}"));
        let paths = [drive.data_path_read, drive.data_path_write];
        paths.map(|rate| rate.map(|rate| rate.0 / 1_000_000))
    };
    let two_lanes = |generation: u32| {
        format!("protocol = \"nvme\", pcie = {{ generation = {generation}, lanes = 2 }}")
    };
    // The rates are from `library/priors/controllers.toml`, from the generation of the link or the nearest generation.
    assert_eq!(paths(&nvme(3), ""), [Some(3000), Some(2000)]);
    assert_eq!(paths(&nvme(4), ""), [Some(6500), Some(5000)]);
    // The links carry 1,969 MB/s and 1,000 MB/s.
    assert_eq!(paths(&two_lanes(3), ""), [None, None]);
    assert_eq!(paths(&two_lanes(2), ""), [None, None]);
    assert_eq!(paths(&two_lanes(2), "read = \"900 MB/s\"\n"), [Some(900), None]);
    assert_eq!(paths(&two_lanes(2), "write = \"800 MB/s\"\n"), [None, Some(800)]);
}

#[test]
fn data_that_compresses_to_nothing_is_refused() {
    let text = "[drive]\nname = \"d\"\nkind = \"ssd\"\ncapacity = \"120 GB\"\nport = { protocol = \"ahci\", sata = \"6 Gb/s\" }\n[rated]\ncompresses_to = \"0%\"\n";
    let wrong = check(&Library::built_in(), text).unwrap_err().to_string();
    assert!(wrong.contains("must be above 0%"), "{wrong}");
}

#[test]
fn an_own_ratio_of_pages_replaces_the_ratio_of_the_generation() {
    let is_alike = |own: &str| {
        let rated = format!("market = \"client\"\nyear = 2020\nnand = \"tlc\"\n{own}");
        let read = flash_of(&drive(&nvme(3), "1000 GB", &rated)).read;
        (0..12).all(|page| read.page_time(page) == read.page_time(0))
    };
    assert!(!is_alike("") && is_alike("[flash]\nread_ratio = \"1:1:1\"\n"));
}

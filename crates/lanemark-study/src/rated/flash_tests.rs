//! Tests of solid-state drives that are completed from ratings, with the model of collection as the reference.

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
    let context = Context { ledger: &Ledger::default(), overrides: &Overrides::default() };
    let file = Document::parse("the drive file", &text).unwrap();
    let completed = complete(&file, &Library::built_in(), context).unwrap().unwrap();
    let spec = Drive::read(&completed, context).unwrap().spec;
    let MediaSpec::Flash(flash) = spec.media else { panic!("a disk") };
    (flash, spec.capacity.get() as f64)
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
fn the_fixed_part_of_a_cache_holds_the_span_of_ratings_and_the_rest_is_emptied() {
    for (capacity, nand) in [("250 GB", "tlc"), ("1000 GB", "tlc"), ("2000 GB", "qlc")] {
        let rated =
            format!("market = \"client\"\nyear = 2021\nnand = \"{nand}\"\nrandom_read = 600000\n");
        let drive = drive(&nvme(4), capacity, &rated);
        let cache = flash_of(&drive).translation.pseudo_slc.unwrap();
        assert!(cache.emptied_when_idle, "{capacity} {nand}");
        assert!(cache.capacity.get() >= 1 << 30, "{capacity} {nand}: {}", cache.capacity);
        assert!(cache.read < flash_of(&drive).read.mean(), "{capacity} {nand}");
    }
    // A drive without a cache does not empty a cache.
    let none = "market = \"client\"\nyear = 2021\npseudo_slc = \"0 B\"\n";
    assert_eq!(flash_of(&drive(&nvme(4), "1000 GB", none)).translation.pseudo_slc, None);
}

#[test]
fn ratings_of_data_that_compresses_leave_the_dies_slower() {
    let program = |more: &str| {
        let rated = format!(
            "market = \"client\"\nyear = 2011\nnand = \"mlc\"\nwrite = \"515 MB/s\"\n{more}"
        );
        let drive = drive("protocol = \"ahci\", sata = \"6 Gb/s\"", "120 GB", &rated);
        let flash = flash_of(&drive);
        (flash.program.mean().as_microseconds(), flash.translation.compression.get())
    };
    let (plain, all) = program("");
    let (compressed, share) = program("compresses_to = \"40%\"\n");
    assert_eq!((all, share), (1.0, 0.4));
    assert!(compressed > 2.0 * plain, "{plain} us, {compressed} us");
    let text = "[drive]\nname = \"d\"\nkind = \"ssd\"\ncapacity = \"120 GB\"\nport = { protocol = \"ahci\", sata = \"6 Gb/s\" }\n[rated]\ncompresses_to = \"0%\"\n";
    let wrong = check(&Library::built_in(), text).unwrap_err().to_string();
    assert!(wrong.contains("must be above 0%"), "{wrong}");
}

#[test]
fn the_arm_of_a_desktop_disk_lingers_for_a_quarter_of_a_revolution() {
    let overhead = |market: &str| {
        let text = format!(
            "[drive]\nname = \"d\"\nkind = \"hdd\"\ncapacity = \"2000 GB\"\nport = {{ protocol = \"ahci\", sata = \"6 Gb/s\" }}\n[rated]\nrpm = 7200\nmarket = \"{market}\"\n"
        );
        let context = Context { ledger: &Ledger::default(), overrides: &Overrides::default() };
        let file = Document::parse("the drive file", &text).unwrap();
        let completed = complete(&file, &Library::built_in(), context).unwrap().unwrap();
        let MediaSpec::Disk(disk) = Drive::read(&completed, context).unwrap().spec.media else {
            panic!("flash")
        };
        disk.command_overhead.as_microseconds()
    };
    assert!((overhead("data-center") - 200.0).abs() < 1e-6);
    assert!((overhead("client") - (200.0 + 60e6 / 7200.0 / 4.0)).abs() < 1.0);
}

/// The mean time of reads outside the cache is divided among the pages of a cell in their ratio. In a drive without a
/// cache, the ratings apply to these pages, so all pages take the same time.
#[test]
fn data_outside_the_cache_has_the_pages_of_its_generation() {
    let read = |own: &str, rated: &str| {
        let rated = format!("year = 2020\nread = \"3000 MB/s\"\nwrite = \"2500 MB/s\"\n{rated}");
        flash_of(&drive(&nvme(3), "1000 GB", &format!("{rated}{own}"))).read
    };
    let client = |technology: &str| format!("market = \"client\"\nnand = \"{technology}\"\n");
    for (technology, ratio, mean) in
        [("tlc", &[113, 155, 212][..], 66), ("qlc", &[59, 85, 127, 170], 156)]
    {
        let mean = lanemark_schema::units::Duration::from_microseconds(mean);
        let seen = read("", &client(technology));
        assert_eq!(seen, lanemark_sim::spec::PageTimes::in_ratio(mean, ratio), "{technology}");
    }
    let alike = |read: lanemark_sim::spec::PageTimes| {
        (0..12).all(|page| read.page_time(page) == read.page_time(0))
    };
    assert!(alike(read("", "market = \"data-center\"\nnand = \"tlc\"\n")));
    assert!(alike(read("", "market = \"client\"\nnand = \"mlc\"\n")));
    let own = "[flash]\nread_ratio = \"1:1:1\"\n";
    assert!(alike(read(own, &client("tlc"))));
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

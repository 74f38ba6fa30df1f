//! Every error in a file is reported with its position and a correction.

use std::fs;
use std::path::Path;

use lanemark_schema::result::Warning;
use lanemark_schema::units::Duration;
use lanemark_study::system::SystemName;
use lanemark_study::{Library, Study, workload};
use lanemark_testbed::systems::{DRIVE, NVME, SATA};

mod spoilt;
use spoilt::{Spoilt, system_says};

const PLATFORM: &str = "library/platforms/workstation-z170.toml";

#[test]
fn wrong_values_of_a_drive_are_reported_with_their_correction() {
    for (from, to, expected) in [
        (
            "channels         =",
            "chanels = 8\nchannels         =",
            "library/drives/samsung-850-pro-1tb.toml:28:1: unknown key `chanels` | did you mean",
        ),
        ("\"10 us\"", "\"10\"", "`10` lacks a unit; write it with one of ps, ns, us"),
        ("\"16 KiB\"", "\"16 us\"", "`us` is not a unit of data; use one of B, kB"),
        ("\"400 MB/s\"", "400", "`400` lacks a unit; write it with one of B/s"),
        (
            "{ value = 8,",
            "{ value = 8000,",
            "channels = 8000: must be a whole number from 1 to 256",
        ),
        // A misspelt source is not an assumption.
        (
            "\"400 MB/s\", source",
            "\"400 MB/s\", sourc",
            "unknown key `sourc` | did you mean `source`?",
        ),
        (
            "\"1024 GB\"",
            "\"2 TB\"",
            "samsung-850-pro-1tb.toml:8:12: drive.capacity = 2 TB: at most",
        ),
        ("\"16 MiB\"", "\"64 KiB\"", "drive.buffer = 64 KiB: at least 192 KiB"),
        (
            "source   = \"Samsung SSD 850 PRO data sheet, 2014\"",
            "source = = 3",
            "samsung-850-pro-1tb.toml:7:",
        ),
    ] {
        system_says(SATA, DRIVE, from, to, expected);
    }
}

#[test]
fn impossible_hard_disks_are_reported_with_their_bounds() {
    const FILE: &str = "library/drives/seagate-constellation-2-1tb.toml";
    const DISK: &str = "seagate-constellation-2-1tb@workstation-z170:sata";
    let says = |from: &str, to: &str, expected: &str| system_says(DISK, FILE, from, to, expected);
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE));
    let line = |wanted: &str| {
        let lines = text.as_ref().unwrap().lines();
        1 + lines.take_while(|line| !line.starts_with(wanted)).count()
    };
    let place = |wanted: &str, column: u32| format!("{FILE}:{}:{column}: ", line(wanted));
    says(
        "value = 7200,",
        "value = 72,",
        &(place("rpm", 20) + "drive.disk.rpm = 72: from 1000 to 50000"),
    );
    says(
        "\"0.45 ms\", derived = \"slightly",
        "\"9 ms\", derived = \"slightly",
        "drive.disk.track_skew = 9 ms: less than a",
    );
    says("value = \"on\"", "value = \"yes\"", "write_cache = yes: must be \"on\" or \"off\"");
    says("\"7.5 ms\"", "\"12 ms\"", "an average from 5.840 to 9.206 ms");
    says("sectors_inner", "sectors_inside", "`sectors_inner` is missing");
    says(
        "value = 1950,",
        "value = 1900,",
        "drive.capacity = 1 TB: at most 986.628 GB, the capacity of the tracks",
    );
    says("kind     = \"hdd\"", "kind     = \"hd\"", "unknown kind `hd` | did you mean `hdd`?");
}

#[test]
fn impossible_priors_are_reported_with_their_location() {
    const RATED: &str = "adata-sx8200-pro-1tb@workstation-z170:pcie-slot";
    let nand = |from: &str, to: &str, expected: &str| {
        system_says(RATED, "library/priors/nand.toml", from, to, expected);
    };
    nand("[priors]", "[prior]", "nand.toml:5:2: unknown key `prior` | did you mean `priors`?");
    nand("[[nand]]", "[[nands]]", "unknown");
    nand("\"4 KiB\"", "\"0 B\"", "page = 0 B: must be a power of two");
    nand("pages_per_block    = ", "pages_per_block    = -", "from 1 to 65536");
    nand("technology         = \"slc\"", "technology         = \"plc\"", "plc");
    let controller = |from: &str, to: &str, expected: &str| {
        system_says(RATED, "library/priors/controllers.toml", from, to, expected);
    };
    controller("\"260 MB/s\"", "\"0 MB/s\"", ": not a quantity above zero");
    controller("= \"4 MiB\"", "= \"16 XB\"", "`XB` is not a unit");
    controller("[\"220 MB/s\", \"270 MB/s\"]", "[\"270 MB/s\", \"220 MB/s\"]", "range");
    controller("value = 35000", "value = -35000", "-35000");
    let caches = |from: &str, to: &str, expected: &str| {
        system_says(RATED, "library/priors/caches.toml", from, to, expected);
    };
    let nothing = "after      = { value = \"0%\"";
    caches("after      = { value = \"45%\"", nothing, "`after`: 0%: not a quantity above zero");
    let disks = |from: &str, to: &str, expected: &str| {
        system_says(RATED, "library/priors/disks.toml", from, to, expected);
    };
    disks("from           = 1998", "from           = 10", "from 1990 to 2100");
    let wild = "die                = { value = \"1 B\"";
    nand("die                = { value = \"32 GiB\"", wild, "dies_per_channel");
}

#[test]
fn an_impossible_pcie_setup_is_reported_with_the_bounds() {
    // The first latency in the file belongs to the DMI link, and other keys of this link may precede it.
    let says = |line: &str, expected: &str| {
        let from = "latency          =";
        let to = format!("{line}\nlatency          =");
        system_says(NVME, PLATFORM, from, &to, expected);
    };
    says("address = \"46-bit\"", "34:11: unknown address `46-bit` | did you mean");
    for size in ["96 B", "32 B", "256 B"] {
        let line = format!("completion_payload = \"{size}\"");
        let expected = "must be a power of two from 64 B to 128 B";
        says(&line, &format!("34:22: completion_payload = {size}: {expected}"));
    }
    says("completion_payload = 64", "34:22: completion_payload = 64: `64` lacks a unit");
}

#[test]
fn wrong_values_of_a_platform_are_reported_with_their_correction() {
    let place = "library/platforms/workstation-z170.toml:20:";
    let unit = format!("{place}18: interrupt_time = 2: `2` lacks a unit");
    let key = format!("{place}1: unknown key `interupt_time` | did you mean `interrupt_time`?");
    for (system, from, to, expected) in [
        (NVME, "lanes = 16", "lanes = 12", "lanes = 12: must be 1, 2, 4, 8 or 16"),
        // A SATA port does not have the set-up of a PCIe port.
        (SATA, "sata   = {", "address = \"64-bit\"\nsata   = {", "unknown key `address`"),
        (
            SATA,
            "behind = [\"dmi\"]",
            "behind = [\"dmj\"]",
            "unknown link `dmj` | did you mean `dmi`?",
        ),
        (NVME, "[nvme]\n", "[nvme]\ninterrupt_time = 2\n", unit.as_str()),
        (NVME, "[nvme]\n", "[nvme]\ninterupt_time = \"2 us\"\n", key.as_str()),
    ] {
        system_says(system, PLATFORM, from, to, expected);
    }
}

#[test]
fn interrupt_times_are_read_as_written() {
    let written = Spoilt::new(PLATFORM, "[nvme]\n", "[nvme]\ninterrupt_time = \"1 us\"\n");
    let protocol = written.system(NVME).unwrap().spec.first().protocol.clone();
    assert_eq!(protocol.interrupt_time, Duration::from_microseconds(1));
    let plain = Spoilt::new(PLATFORM, "[nvme]\n", "[nvme]\n").system(NVME).unwrap();
    assert_eq!(plain.spec.first().protocol.interrupt_time, Duration::ZERO);
    let ahci = Spoilt::new(PLATFORM, "[ahci]\n", "[ahci]\ninterrupt_time = \"2 us\"\n");
    let protocol = ahci.system(SATA).unwrap().spec.first().protocol.clone();
    assert_eq!(protocol.interrupt_time, Duration::from_microseconds(2));
}

#[test]
fn a_drive_in_a_port_of_another_kind_names_both_ends_and_the_ports_that_fit() {
    let spoilt = Spoilt::new(DRIVE, "mlc", "mlc");
    let error = spoilt.system("samsung-950-pro-512gb@workstation-z170:sata").unwrap_err();
    let seen = spoilt.shown(&error);
    assert!(
        seen.ends_with(
            "Samsung SSD 950 PRO 512GB has PCIe 3.0 x4 and does not fit port `sata` of Workstation, \
             Intel Z170, which is SATA 6 Gb/s | it fits pcie-slot, m2"
        ),
        "{seen}"
    );
}

#[test]
fn a_port_a_platform_and_a_drive_that_are_not_there_get_the_nearest_name() {
    let spoilt = Spoilt::new(DRIVE, "mlc", "mlc");
    for (system, hint) in [
        ("samsung-850-pro-1tb@workstation-z170:sato", "did you mean `sata`?"),
        ("samsung-850-pro-1tb@workstation-z710:sata", "did you mean `workstation-z170`?"),
        ("samsung-850-pro-2tb@workstation-z170:sata", "did you mean `samsung-850-pro-1tb`?"),
    ] {
        let printed = spoilt.system(system).unwrap_err().hint.unwrap();
        assert!(printed.starts_with(hint), "{system}: {printed}");
    }
    for text in ["a@b", "a:b", "@b:c", "a@:c", "a@b:"] {
        assert!(SystemName::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_narrower_port_trains_the_drive_down_and_says_so() {
    let spoilt = Spoilt::new(PLATFORM, "generation = 3, lanes = 16", "generation = 2, lanes = 1");
    let system = spoilt.system(NVME).unwrap();
    assert_eq!(
        system.warnings,
        [Warning::TrainedDown { drive: "PCIe 3.0 x4".to_owned(), port: "PCIe 2.0 x1".to_owned() }]
    );
    assert_eq!(system.spec.attachments[0].port_path.links.last().unwrap().name, "PCIe 2.0 x1");
}

#[test]
fn a_sas_drive_fits_no_sata_port_but_a_sata_drive_fits_a_sas_port() {
    let spoilt = Spoilt::new(DRIVE, "mlc", "mlc");
    let error = spoilt.system("kioxia-rm5-960gb@dell-r730xd:sata").unwrap_err();
    let seen = spoilt.shown(&error);
    assert!(seen.contains("has SAS 12 Gb/s x2 and does not fit port `sata`"), "{seen}");
    assert!(seen.contains("it fits sas, sas-2"), "{seen}");
    let system = spoilt.system("intel-s4500-960gb@dell-r730xd:sas").unwrap();
    assert_eq!(
        system.spec.attachments[0].protocol.queue_depth, 32,
        "a SATA drive queues no more behind SAS"
    );
    assert_eq!(system.spec.attachments[0].port_path.links.last().unwrap().name, "SATA 6 Gb/s");
}

#[test]
fn a_port_takes_one_drive() {
    let spoilt = Spoilt::new(DRIVE, "mlc", "mlc");
    let several = "samsung-850-pro-1tb@workstation-z170:sata+sata-2+samsung-950-pro-512gb:m2";
    let system = spoilt.system(several).unwrap();
    let shared: Vec<usize> =
        system.spec.attachments.iter().map(|attachment| attachment.port_path.trunk).collect();
    assert_eq!(shared, [1, 1, 1], "all three stand behind the chipset's uplink");
    assert_eq!(SystemName::parse(several).unwrap().to_string(), several);
    assert!(SystemName::parse("a@b:c+").is_err());
}

const WORKLOAD: &str = "library/workloads/crystaldiskmark-5.toml";

#[track_caller]
fn workload_says(from: &str, to: &str, expected: &str) {
    let spoilt = Spoilt::new(WORKLOAD, from, to);
    let seen = spoilt.shown(&workload::open(&spoilt.library(), "crystaldiskmark-5").unwrap_err());
    assert!(seen.contains(expected), "\n  seen: {seen}\nwanted: {expected}");
}

#[test]
fn an_impossible_workload_is_reported_with_its_location() {
    for (from, to, expected) in [
        ("\"sequential\"", "\"sequentail\"", "18:11: unknown pattern `sequentail` | did you mean"),
        ("\"1 MiB\"", "\"1 MB\"", "block = 1 MB: a multiple of 512 B"),
        ("queue_depth = 1", "queue_depth = 0", "queue_depth = 0: must be a whole number from 1"),
        ("\"1000 MiB\"", "\"512 KiB\"", "span = 512 KiB: 1 MiB or more"),
        ("repeats = 5", "repeats = 0", "repeats = 0: must be a whole number from 1 to 1000"),
        ("\"512K read\"", "\"Seq read\"", "test `Seq read` is defined twice"),
        ("read    = \"100%\"", "read    = \"101%\"", "read = 101%"),
    ] {
        workload_says(from, to, expected);
    }
    let add = |keys: &str, expected: &str| {
        workload_says("read    = \"100%\"", &format!("read    = \"100%\"\n{keys}"), expected);
    };
    add("track = \"iops\"", "a figure can be tracked only over rounds");
    add("round = \"1 s\"\ntrack = \"iop\"", "unknown track `iop`");
    add("round = \"1 s\"", "not together with `round`");
    add(
        "interval = \"often\"",
        "interval = often: must be a time such as \"1 s\", or \"automatic\"",
    );
    add("interval = \"0 s\"", "interval = 0 ps: more than 0 s");
}

#[test]
fn one_test_of_a_workload_goes_by_its_name_as_typed() {
    let library = Library::built_in();
    let one = workload::open(&library, "crystaldiskmark-5:4k-qd32-read").unwrap();
    assert_eq!(one.tests.len(), 1);
    assert_eq!(one.tests[0].name, "4K QD32 read");
    let error = workload::open(&library, "crystaldiskmark-5:4k-qd23-read").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `4k-qd32-read`?"));
}

const STUDY: &str = "studies/sata-vs-nvme-crystaldiskmark.toml";

#[track_caller]
fn study_says(from: &str, to: &str, expected: &str) {
    let spoilt = Spoilt::new(STUDY, from, to);
    let error = Study::open(&spoilt.library(), &spoilt.path(STUDY)).unwrap_err();
    let seen = spoilt.shown(&error);
    assert!(seen.contains(expected), "\n  seen: {seen}\nwanted: {expected}");
}

#[test]
fn an_inconsistent_study_is_reported_with_its_location() {
    for (from, to, expected) in [
        (
            "test   = \"Seq read\"",
            "test   = \"Seq reed\"",
            "unknown test `Seq reed` | did you mean",
        ),
        ("system = \"sata\"", "system = \"stat\"", "unknown system `stat`"),
        ("figure    = \"NV002\"", "figure    = \"NV099\"", "unknown figure `NV099`"),
        ("id     = \"NV003\"", "id     = \"NV001\"", "figure `NV001` is defined twice"),
        ("value  = \"533 MB/s\"", "value  = \"0 MB/s\"", "must be above zero"),
        (
            "[\"sata\", \"nvme\"]",
            "[\"sata\", \"nvne\"]",
            "unknown system `nvne` | did you mean `nvme`?",
        ),
        ("drive.flash.program", "drive.flash.progarm", "unknown parameter `drive.flash.progarm`"),
        ("\"733 us\"", "\"733 MB\"", "`MB` is not a unit of time"),
        (
            "\"pcie-slot\"",
            "\"sata\"",
            "sata-vs-nvme-crystaldiskmark.toml:32:12: Samsung SSD 950 PRO 512GB has PCIe 3.0 x4 and does not fit",
        ),
        ("\"pcie-slot\"", "\"pcie-slit\"", ":32:12: unknown port `pcie-slit` | did you mean"),
        ("\"samsung-850-pro-1tb\"", "\"samsung-850\"", ":23:12: unknown drive `samsung-850`"),
        ("metric = \"throughput\"", "metric = \"speed\"", "unknown metric `speed`"),
        (
            "\"crystaldiskmark-5\"",
            "\"crystaldiskmark-6\"",
            "sata-vs-nvme-crystaldiskmark.toml:12:12: unknown workload",
        ),
    ] {
        study_says(from, to, expected);
    }
}

#[test]
fn power_that_cannot_be_is_reported_with_its_place() {
    let says = |from: &str, to: &str, expected: &str| {
        system_says(NVME, "library/drives/samsung-950-pro-512gb.toml", from, to, expected);
    };
    says("\"70 mW\"", "\"70 mWh\"", "`mWh` is not a unit of power; use one of uW, mW, W, kW");
    says("\"70 mW\"", "\"2 W\"", "drive.power.state.power = 2 W: at most 1 W");
    says("\"1.2 s\"", "\"200 ms\"", "drive.power.state.after = 200 ms: at least 275.5 ms");
    says("name  = \"PS4\"", "name  = \"PS3\"", "state `PS3` is defined twice");
    says("name  = \"PS4\"", "name  = \"idle\"", "are reserved names");
    says("entry = {", "entrance = {", "unknown key `entrance`");
    let laptop = "samsung-850-pro-1tb@laptop-2014:sata";
    let file = "library/platforms/laptop-2014.toml";
    system_says(laptop, file, "\"50 Wh\"", "\"50 W\"", "`W` is not a unit of energy");
    system_says(laptop, file, "\"50 Wh\"", "\"0 Wh\"", "platform.power.battery = 0 uJ: above zero");
}

#[test]
fn figures_about_power_need_drives_and_platforms_whose_power_is_known() {
    let from = "metric = \"throughput\"\nvalue  = \"533 MB/s\"";
    for (metric, expected) in [
        ("battery-life", "Workstation, Intel Z170 does not have a battery"),
        ("power", "`h` is not a unit of power"),
    ] {
        study_says(from, &format!("metric = \"{metric}\"\nvalue  = \"5 h\""), expected);
    }
}

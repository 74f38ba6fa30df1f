//! What a drive's port can be, as files say it: commands, FIFOs, namespaces, second ports.

use std::fs;

use lanemark_core::result::Provenance;
use lanemark_core::sim::link::{LinkLaw, Sata, SataCommands, SataRate};
use lanemark_core::units::{Bytes, BytesPerSecond};
use lanemark_study::workload;

mod spoilt;
use spoilt::{DRIVE, NVME, SATA, Spoilt, system_says};

#[test]
fn pio_is_read_as_written_and_only_for_sata() {
    let port = |keys: &str| format!("protocol = \"ahci\", {keys}, sata");
    let from = "protocol = \"ahci\", sata";
    for (keys, block) in [("", 512), (", pio_block = \"4 KiB\"", 4096)] {
        let spoilt = Spoilt::new(DRIVE, from, &port(&format!("commands = \"pio\"{keys}")));
        let spec = spoilt.system(SATA).unwrap().spec;
        assert_eq!(spec.protocol.queue_depth, 1);
        let commands = SataCommands::Pio { block: Bytes(block) };
        assert_eq!(spec.links[1].law, LinkLaw::Sata(Sata::new(SataRate::Gen3, commands)));
    }
    let says = |keys: &str, expected: &str| system_says(SATA, DRIVE, from, &port(keys), expected);
    says("commands = \"poi\"", "unknown commands `poi` | did you mean `pio`?");
    let expected = "pio_block = 4 KiB: the drive's commands are not PIO | add `commands = \"pio\"`";
    says("pio_block = \"4 KiB\"", expected);
    for size in ["256 B", "1536 B", "16 KiB"] {
        let keys = format!("commands = \"pio\", pio_block = \"{size}\"");
        says(&keys, "must be a power of two from 512 B to 8 KiB");
    }
    says("commands = \"pio\", pio_block = 1", "pio_block = 1: `1` has no unit");
    let nvme = "library/drives/samsung-950-pro-512gb.toml";
    let to = "protocol = \"nvme\", commands = \"pio\",";
    let expected = "PIO is SATA's and does not run over PCIe 3.0 x4";
    system_says(NVME, nvme, "protocol = \"nvme\",", to, expected);
}

#[test]
fn a_frame_fifo_is_read_as_written_and_needs_a_rate() {
    let from = "protocol = \"ahci\", sata";
    let port = |fifo: &str| format!("protocol = \"ahci\", frame_fifo = {fifo}, sata");
    let unlimited = "library/drives/unlimited-sata.toml";
    let system = "unlimited-sata@workstation-z170:sata";
    let spoilt = Spoilt::new(unlimited, from, &port("\"2 KiB\""));
    let expected = "frame_fifo = 2 KiB: no rate of [data_path] is given | give the rates";
    let seen = spoilt.shown(&spoilt.system(system).unwrap_err());
    assert!(seen.contains(expected), "{seen}");
    let path = spoilt.path(unlimited);
    let text = fs::read_to_string(&path).unwrap() + "\n[data_path]\nread = \"200 MB/s\"\n";
    fs::write(path, text).unwrap();
    let plain = Sata::new(SataRate::Gen3, SataCommands::Queued);
    let held = plain.with_fifo(Bytes::kibi(2), Some(BytesPerSecond(200_000_000)), None);
    assert_eq!(spoilt.system(system).unwrap().spec.links[1].law, LinkLaw::Sata(held));
    let says = |fifo: &str, expected: &str| system_says(SATA, DRIVE, from, &port(fifo), expected);
    says("\"64 B\"", "frame_fifo = 64 B: must be a multiple of 4 B from 128 B to 8 KiB");
    says("\"16 KiB\"", "must be a multiple of 4 B from 128 B to 8 KiB");
    says("2048", "frame_fifo = 2048: `2048` has no unit");
    let nvme = "library/drives/samsung-950-pro-512gb.toml";
    let to = "protocol = \"nvme\", frame_fifo = \"2 KiB\",";
    let expected = "frame_fifo = 2 KiB: frames over PCIe 3.0 x4 are never held";
    system_says(NVME, nvme, "protocol = \"nvme\",", to, expected);
}

const NVME_DRIVE: &str = "library/drives/samsung-950-pro-512gb.toml";

#[test]
fn namespaces_are_read_as_written_and_only_for_nvme() {
    let from = "kind     = \"ssd\"";
    let to = |value: &str| format!("{from}\nnamespaces = {value}");
    let spoilt = Spoilt::new(NVME_DRIVE, from, &to("[\"256 GB\", \"100 GB\"]"));
    let system = spoilt.system(NVME).unwrap();
    assert_eq!(system.spec.namespaces, [Bytes(256_000_000_000), Bytes(100_000_000_000)]);
    assert_eq!(system.spec.targets().len(), 2);
    let label = "Samsung SSD 950 PRO 512GB, namespaces of 256 GB and 100 GB";
    assert_eq!(system.target.drive, label);
    let says =
        |value: &str, expected: &str| system_says(NVME, NVME_DRIVE, from, &to(value), expected);
    let expected = "namespaces take 612 GB together: must be at most 512 GB | make one shorter";
    says("[\"512 GB\", \"100 GB\"]", expected);
    says("[]", "0 namespaces: must be from 1 to 128");
    says("[\"100\"]", "namespaces: 100: `100` has no unit");
    says("[\"0 B\"]", "namespaces: 0 B: must be a multiple of 512 B up to the capacity of 512 GB");
    says("[\"1000 B\"]", "namespaces: 1000 B: must be a multiple of 512 B");
    says("[\"2 TB\"]", "namespaces: 2 TB: must be a multiple of 512 B up to");
    says("[100]", "`namespaces` must be a list of texts");
    says("\"100 GB\"", "`namespaces` must be a list of texts");
    let expected = "`namespaces`: AHCI has none, only NVMe | leave it out";
    system_says(SATA, DRIVE, from, &to("[\"256 GB\"]"), expected);
}

#[test]
fn a_test_that_does_not_fit_a_namespace_is_told_with_it() {
    let from = "kind     = \"ssd\"";
    let to = format!("{from}\nnamespaces = [\"2 GB\", \"128 MiB\"]");
    let spoilt = Spoilt::new(NVME_DRIVE, from, &to);
    let workload = workload::open(&spoilt.library(), "crystaldiskmark-5:seq-read").unwrap();
    let system = spoilt.system(NVME).unwrap();
    let error = system.run(&workload, Provenance::default(), &mut |_| true).unwrap_err();
    let seen = spoilt.shown(&error);
    assert!(seen.contains("ends behind the 128 MiB of namespace 2 | use a smaller span"), "{seen}");
}

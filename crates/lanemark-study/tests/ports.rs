//! What a drive's port can be, as files say it: commands, FIFOs, namespaces, second ports.

use std::fs;

use lanemark_core::sim::link::{LinkLaw, Sata, SataCommands, SataRate};
use lanemark_core::units::{Bytes, BytesPerSecond};

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

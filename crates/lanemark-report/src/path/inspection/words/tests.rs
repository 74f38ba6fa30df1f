//! Tests of the descriptions of hops, links and devices.

use lanemark_schema::result::{InspectedPartition, PataLink, PcieRate, SasLink, SataLink, UsbLink};

use super::*;

const GIGABIT: u64 = 1_000_000_000;

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn identity(vendor: Option<&str>, model: Option<&str>) -> DeviceIdentity {
    let own = |text: Option<&str>| text.map(str::to_owned);
    DeviceIdentity { vendor: own(vendor), model: own(model), ..DeviceIdentity::default() }
}

#[test]
fn capacities_have_the_units_of_the_market() {
    for (bytes, wanted) in [
        (999, "999 B"),
        (1_000, "1.00 kB"),
        (999_999, "1,000 kB"),
        (1_000_000, "1.00 MB"),
        (512_110_190_592, "512 GB"),
        (1_000_000_000, "1.00 GB"),
        (1_000_000_000_000, "1.00 TB"),
    ] {
        assert_eq!(capacity(Bytes(bytes)), wanted);
    }
}

#[test]
fn a_link_is_reported_with_its_speed_and_its_capability() {
    let pcie = |current, upper_max, lower_max| {
        InspectedLink::Pcie(PcieLink { current, upper_max, lower_max, ..PcieLink::default() })
    };
    let rate = |generation, lanes| Some(PcieRate { generation, lanes });
    let sata = |negotiated, limit, port, drive| {
        let known = |rate: u64| Some(rate * GIGABIT).filter(|&rate| rate > 0);
        InspectedLink::Sata(SataLink {
            negotiated_bits_per_second: known(negotiated),
            limit_bits_per_second: known(limit),
            port_bits_per_second: known(port),
            drive_bits_per_second: known(drive),
            ..SataLink::default()
        })
    };
    let sas = |negotiated: u64, capable: u64, phys| {
        InspectedLink::Sas(SasLink {
            negotiated_bits_per_second: Some(negotiated * GIGABIT),
            capable_bits_per_second: Some(capable * GIGABIT),
            phys,
            ..SasLink::default()
        })
    };
    for (of, wanted) in [
        (pcie(rate(3, 4), rate(4, 8), rate(4, 4)), "PCIe 3.0 x4 of 4.0 x4"),
        (pcie(rate(4, 2), rate(4, 8), rate(4, 4)), "PCIe 4.0 x2 of x4"),
        (pcie(rate(4, 2), None, rate(4, 4)), "PCIe 4.0 x2"),
        (pcie(None, rate(4, 8), rate(3, 4)), "PCIe, of 3.0 x4"),
        (pcie(None, None, None), "PCIe"),
        (sata(3, 0, 6, 0), "SATA 3 Gb/s of 6 Gb/s"),
        (sata(3, 0, 3, 6), "SATA 3 Gb/s of 6 Gb/s"),
        (sata(3, 6, 0, 3), "SATA 3 Gb/s of 6 Gb/s"),
        (sata(6, 0, 6, 3), "SATA 6 Gb/s"),
        (sata(3, 0, 0, 0), "SATA 3 Gb/s"),
        (sata(0, 0, 6, 6), "SATA link"),
        (InspectedLink::Pata(PataLink { ultra_dma: Some(5), line: None }), "PATA, Ultra DMA 5"),
        (InspectedLink::Pata(PataLink::default()), "PATA"),
        (sas(6, 12, 4), "SAS 6 Gb/s of 12 Gb/s x4"),
        (sas(12, 12, 2), "SAS 12 Gb/s x2"),
        (sas(12, 12, 1), "SAS 12 Gb/s"),
        (
            InspectedLink::Usb(UsbLink { bits_per_second: Some(480_000_000), line: None }),
            "USB 480 Mb/s",
        ),
    ] {
        assert_eq!(link(&of), wanted);
    }
}

#[test]
fn a_link_has_its_usable_rate_or_its_raw_rate() {
    let megabytes = |rate: u64| Some(BytesPerSecond(rate * 1_000_000));
    let pcie = |usable, least, most, line, payload: Option<u64>| {
        InspectedLink::Pcie(PcieLink {
            usable,
            usable_least: least,
            usable_most: most,
            line,
            payload_max: payload.map(Bytes),
            ..PcieLink::default()
        })
    };
    for (link, wanted) in [
        (pcie(megabytes(700), None, None, megabytes(985), Some(256)), "PCIe, 700 MB/s, MPS 256 B"),
        (
            pcie(None, megabytes(650), megabytes(780), megabytes(985), None),
            "PCIe, 650 to 780 MB/s, payload unknown",
        ),
        (pcie(None, None, None, megabytes(985), None), "PCIe, 985 MB/s raw"),
        (pcie(None, None, None, None, None), "PCIe"),
    ] {
        assert_eq!(link_with_rate(&link), wanted);
    }
}

#[test]
fn a_hop_is_reported_with_its_function_and_its_driver() {
    let pci = |role, driver: Option<&str>, chipset| InspectedHopKind::Pci {
        role,
        vendor: None,
        device: None,
        driver: driver.map(str::to_owned),
        chipset,
    };
    let nvme = |transport, state| InspectedHopKind::NvmeController {
        identity: identity(None, Some("SSD 9")),
        transport: text(transport),
        address: text("10.0.0.7"),
        state: text(state),
        queues: None,
    };
    for (hop, wanted) in [
        (pci(PciFunctionKind::RootPort, Some("pcieport"), false), "root port"),
        (pci(PciFunctionKind::UpstreamPort, Some("pcieport"), false), "switch, upstream port"),
        (pci(PciFunctionKind::DownstreamPort, None, true), "switch, downstream port, chipset"),
        (pci(PciFunctionKind::Bridge, Some("x"), false), "bridge"),
        (pci(PciFunctionKind::Nvme, Some("nvme"), false), "NVMe controller (nvme)"),
        (pci(PciFunctionKind::Ahci, Some("ahci"), true), "SATA controller, chipset (ahci)"),
        (pci(PciFunctionKind::Ide, None, false), "ATA controller"),
        (pci(PciFunctionKind::Sas, None, false), "SAS adapter"),
        (pci(PciFunctionKind::Raid, None, false), "RAID controller"),
        (pci(PciFunctionKind::Storage, None, false), "storage controller"),
        (pci(PciFunctionKind::Usb, None, false), "USB controller"),
        (pci(PciFunctionKind::FibreChannel, None, false), "Fibre Channel adapter"),
        (pci(PciFunctionKind::Network, None, false), "network adapter"),
        (pci(PciFunctionKind::VolumeManagement, None, false), "volume management device"),
        (pci(PciFunctionKind::Virtio, None, false), "virtio device"),
        (pci(PciFunctionKind::Other, None, false), "PCI device"),
        (InspectedHopKind::AtaPort, "port"),
        (InspectedHopKind::ScsiHost { driver: text("ahci") }, "SCSI host (ahci)"),
        (
            InspectedHopKind::SasExpander { identity: identity(Some("LSI"), Some("X36")) },
            "expander LSI X36",
        ),
        (
            InspectedHopKind::ScsiDevice {
                identity: identity(Some("ATA"), Some("SSD")),
                sas_address: None,
            },
            "SSD",
        ),
        (nvme("pcie", "live"), "SSD 9, 10.0.0.7"),
        (nvme("tcp", "connecting"), "SSD 9, NVMe over tcp, 10.0.0.7, connecting"),
        (
            InspectedHopKind::Usb {
                hub: true,
                identity: identity(None, Some("Hub 3")),
                driver: None,
            },
            "hub Hub 3",
        ),
        (
            InspectedHopKind::Usb {
                hub: false,
                identity: DeviceIdentity::default(),
                driver: text("uas"),
            },
            "USB device (uas)",
        ),
        (InspectedHopKind::Virtio { driver: text("virtio_blk") }, "virtio_blk"),
        (InspectedHopKind::Virtio { driver: None }, "virtio"),
        (InspectedHopKind::Other { bus: "mmc".to_owned(), driver: text("mmcblk") }, "mmc (mmcblk)"),
    ] {
        assert_eq!(part(&hop), wanted);
    }
    let vendors = [
        (Some("Samsung"), Some("SSD"), "Samsung SSD"),
        (Some("Samsung"), Some("Samsung SSD"), "Samsung SSD"),
        (Some("ATA"), None, ""),
        (None, None, ""),
    ];
    for (vendor, own, wanted) in vendors {
        assert_eq!(model(&identity(vendor, own)), wanted);
    }
}

#[test]
fn a_device_is_reported_with_its_kind_and_its_size() {
    let words_of = |kind: BlockDeviceKind, size: Option<u64>| {
        device(&InspectedDevice {
            name: "x".to_owned(),
            number: None,
            kind,
            size: size.map(Bytes),
            removable: None,
            read_only: None,
            identity: DeviceIdentity {
                model: text("M1"),
                firmware: text("1.2"),
                ..DeviceIdentity::default()
            },
            queue: QueueLimits::default(),
            paths: Vec::new(),
            below: Vec::new(),
            partitions: Vec::new(),
        })
    };
    let mapper = |name: Option<&str>, maker: Option<&str>| BlockDeviceKind::DeviceMapper {
        mapped_name: name.map(str::to_owned),
        maker: maker.map(str::to_owned),
    };
    let md = |degraded| BlockDeviceKind::Md {
        level: text("raid5"),
        members: Some(3),
        chunk: Some(Bytes::kibi(64)),
        degraded,
    };
    let chunk = Bytes::kibi(64);
    let partition = InspectedPartition {
        name: "x1".to_owned(),
        start: None,
        size: None,
        alignment_offset_bytes: None,
    };
    for (kind, wanted) in [
        (BlockDeviceKind::Disk, String::new()),
        (BlockDeviceKind::NvmeNamespace { namespace: Some(1), subsystem: None }, String::new()),
        (BlockDeviceKind::Partition(partition), "partition, ".to_owned()),
        (mapper(Some("vg-root"), Some("LVM")), "vg-root, logical volume, ".to_owned()),
        (mapper(None, Some("CRYPT")), "encrypted, ".to_owned()),
        (mapper(None, Some("mpath")), "multipath, ".to_owned()),
        (mapper(None, Some("DRBD")), "mapped by DRBD, ".to_owned()),
        (mapper(None, None), "mapped, ".to_owned()),
        (md(Some(0)), format!("raid5, 3 members, chunks of {chunk}, ")),
        (md(Some(1)), format!("raid5, 3 members, chunks of {chunk}, 1 missing, ")),
        (
            BlockDeviceKind::Md { level: None, members: None, chunk: None, degraded: None },
            "RAID, ".to_owned(),
        ),
        (BlockDeviceKind::Loop { backing_file: text("/a.img") }, "loop on /a.img, ".to_owned()),
        (BlockDeviceKind::Loop { backing_file: None }, "loop, ".to_owned()),
        (BlockDeviceKind::Zram, "compressed memory, ".to_owned()),
        (BlockDeviceKind::Ram, "memory, ".to_owned()),
        (BlockDeviceKind::Virtual, "virtual, ".to_owned()),
    ] {
        assert_eq!(words_of(kind, Some(2_000_000)), format!("M1, {wanted}2.00 MB, firmware 1.2"));
    }
    assert_eq!(words_of(BlockDeviceKind::Disk, None), "M1, firmware 1.2");
}

#[test]
fn a_queue_is_reported_with_its_limits() {
    let limits = QueueLimits {
        rotational: Some(true),
        scheduler: text("bfq"),
        write_cache: Some(WriteCache::WriteBack),
        requests_max: Some(64),
        queue_depth: Some(32),
        hardware_queues: Some(1),
        transfer_max: Some(Bytes::kibi(512)),
        logical_block: Some(Bytes(512)),
        physical_block: Some(Bytes(4096)),
        ..QueueLimits::default()
    };
    let logical = Bytes(512);
    let physical = Bytes(4096);
    let most = Bytes::kibi(512);
    let rest = format!("queue depth 32, 64 requests, 1 queue, at most {most} each");
    assert_eq!(
        queue(&limits),
        format!("blocks of {logical} in {physical}, scheduler bfq, write back, rotational, {rest}")
    );
    let flash = QueueLimits {
        rotational: Some(false),
        write_cache: Some(WriteCache::WriteThrough),
        physical_block: Some(Bytes(512)),
        hardware_queues: Some(7),
        scheduler: None,
        ..limits
    };
    let text = queue(&flash);
    assert!(text.starts_with(&format!("blocks of {logical}, write through, queue")), "{text}");
    assert!(text.contains("7 queues") && !text.contains("rotational"), "{text}");
    assert_eq!(queue(&QueueLimits::default()), "");
}

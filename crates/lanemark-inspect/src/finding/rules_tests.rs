//! Tests each rule on both sides of its bounds, with a different value at each end of a link.

use lanemark_schema::result::{
    BlockDeviceKind, DeviceIdentity, Finding, InspectedDevice, InspectedFinding, InspectedHop,
    InspectedHopKind, InspectedLink, InspectedPartition, InspectedPath, PataLink, PciFunctionKind,
    PcieLink, PcieRate, QueueLimits, SasLink, SataLink, UsbLink, WriteCache,
};
use lanemark_schema::units::{Bytes, BytesPerSecond};

use super::{device, find, link, shared};

const GIGABIT: u64 = 1_000_000_000;

fn hop(name: &str, part: InspectedHopKind, link: Option<InspectedLink>) -> InspectedHop {
    InspectedHop {
        name: name.to_owned(),
        place: format!("devices/{name}"),
        part,
        link,
        numa_node: None,
    }
}

fn pci(name: &str, role: PciFunctionKind, link: Option<InspectedLink>) -> InspectedHop {
    let part =
        InspectedHopKind::Pci { role, vendor: None, device: None, driver: None, chipset: false };
    hop(name, part, link)
}

fn scsi(vendor: &str, link: Option<InspectedLink>) -> InspectedHop {
    let identity = DeviceIdentity { vendor: Some(vendor.to_owned()), ..DeviceIdentity::default() };
    hop("0:0:3:0", InspectedHopKind::ScsiDevice { identity, sas_address: None }, link)
}

fn drive(name: &str, hops: Vec<InspectedHop>) -> InspectedDevice {
    InspectedDevice {
        paths: vec![InspectedPath { hops, ..InspectedPath::default() }],
        ..InspectedDevice::new(name, BlockDeviceKind::Disk)
    }
}

fn rate(generation: u8, lanes: u8) -> PcieRate {
    PcieRate { generation, lanes }
}

/// Returns a link that carries between `least` and `most` bytes a second, depending on the size of its packets.
fn carries(least: u64, most: u64) -> Option<InspectedLink> {
    Some(InspectedLink::Pcie(PcieLink {
        usable_least: Some(BytesPerSecond(least)),
        usable_most: Some(BytesPerSecond(most)),
        ..PcieLink::default()
    }))
}

#[test]
fn a_pcie_link_is_compared_with_both_of_its_ends() {
    let port = pci("port", PciFunctionKind::RootPort, None);
    let of = |current, upper_max, lower_max, role, above| {
        let link = PcieLink { current, upper_max, lower_max, ..PcieLink::default() };
        link::rules(above, &pci("drive", role, None), &InspectedLink::Pcie(link), true)
    };
    let nvme =
        |current, upper, lower| of(current, upper, lower, PciFunctionKind::Nvme, Some(&port));
    let hop = || "drive".to_owned();
    assert_eq!(
        nvme(Some(rate(3, 4)), Some(rate(4, 8)), Some(rate(5, 4))),
        [
            Finding::PcieBelowCapability { hop: hop(), current: rate(3, 4), capable: rate(4, 4) },
            Finding::SlotBelowDevice {
                hop: hop(),
                port: "port".to_owned(),
                device_max: rate(5, 4),
                port_max: rate(4, 8)
            },
        ]
    );
    let narrow =
        Finding::PcieBelowCapability { hop: hop(), current: rate(4, 2), capable: rate(4, 4) };
    assert_eq!(nvme(Some(rate(4, 2)), Some(rate(4, 8)), Some(rate(4, 4))), [narrow]);
    assert_eq!(nvme(Some(rate(4, 4)), Some(rate(4, 8)), Some(rate(4, 4))), []);
    let one_end =
        Finding::LinkBelowDevice { hop: hop(), current: rate(3, 2), device_max: rate(3, 4) };
    assert_eq!(nvme(Some(rate(3, 2)), None, Some(rate(3, 4))), [one_end]);
    assert_eq!(nvme(Some(rate(3, 4)), None, Some(rate(3, 4))), []);
    assert_eq!(nvme(None, None, Some(rate(3, 4))), []);
    let slot = Finding::SlotBelowDevice {
        hop: hop(),
        port: "port".to_owned(),
        device_max: rate(4, 4),
        port_max: rate(3, 4),
    };
    for (role, is_storage) in [
        (PciFunctionKind::Nvme, true),
        (PciFunctionKind::Ahci, true),
        (PciFunctionKind::Sas, true),
        (PciFunctionKind::Raid, true),
        (PciFunctionKind::Storage, true),
        (PciFunctionKind::FibreChannel, true),
        (PciFunctionKind::Ide, false),
        (PciFunctionKind::Usb, false),
        (PciFunctionKind::Network, false),
        (PciFunctionKind::UpstreamPort, false),
        (PciFunctionKind::Virtio, false),
        (PciFunctionKind::Other, false),
    ] {
        let ends = (Some(rate(3, 4)), Some(rate(3, 4)), Some(rate(4, 4)));
        let found = of(ends.0, ends.1, ends.2, role, Some(&port));
        let wanted = if is_storage { vec![slot.clone()] } else { Vec::new() };
        assert_eq!(found, wanted, "{role:?}");
        assert_eq!(of(ends.0, ends.1, ends.2, role, None), [], "no port is known");
    }
    for (payload, capable, is_small) in
        [(Some(128), Some(256), true), (Some(256), Some(256), false), (None, Some(256), false)]
    {
        let link = PcieLink {
            payload_max: payload.map(Bytes),
            payload_capable: capable.map(Bytes),
            ..PcieLink::default()
        };
        let found = link::rules(None, &port, &InspectedLink::Pcie(link), false);
        let small = Finding::PayloadSmall {
            hop: "port".to_owned(),
            payload: Bytes(128),
            capable: Bytes(256),
        };
        assert_eq!(found, if is_small { vec![small] } else { Vec::new() }, "{payload:?}");
    }
}

#[test]
fn a_sata_link_is_compared_with_its_port_and_its_drive() {
    let port = hop("ata3", InspectedHopKind::AtaPort, None);
    let disk = scsi("ATA", None);
    let gigabits = |tenths: u64| tenths * GIGABIT / 10;
    let slow = |drive, port| {
        Some(Finding::SataPortSlow {
            hop: "ata3".to_owned(),
            drive_bits_per_second: gigabits(drive),
            port_bits_per_second: gigabits(port),
        })
    };
    let below = |negotiated, capable, drive_known| {
        Some(Finding::SataBelowCapability {
            hop: "ata3".to_owned(),
            negotiated_bits_per_second: gigabits(negotiated),
            capable_bits_per_second: gigabits(capable),
            drive_known,
        })
    };
    // The rates of port, limit, drive and link are in tenths of a gigabit a second; 0 means unknown.
    for (rates, wanted) in [
        ([30, 0, 60, 30], slow(60, 30)),
        ([0, 15, 30, 15], slow(30, 15)),
        ([60, 15, 30, 30], None),
        ([60, 0, 60, 30], below(30, 60, true)),
        ([60, 0, 30, 15], below(15, 30, true)),
        ([60, 0, 30, 30], None),
        ([60, 0, 0, 30], below(30, 60, false)),
        ([60, 0, 0, 60], None),
        ([60, 0, 60, 0], None),
        ([0, 0, 60, 30], None),
    ] {
        let known = rates.map(|rate| Some(gigabits(rate)).filter(|&rate| rate > 0));
        let link = InspectedLink::Sata(SataLink {
            port_bits_per_second: known[0],
            limit_bits_per_second: known[1],
            drive_bits_per_second: known[2],
            negotiated_bits_per_second: known[3],
            ..SataLink::default()
        });
        let found = link::rules(Some(&port), &disk, &link, false);
        assert_eq!(found, wanted.clone().into_iter().collect::<Vec<_>>(), "{rates:?}");
        assert_eq!(link::rules(Some(&port), &disk, &link, true), [], "a disc is slow by itself");
        // Without a port, the finding names the drive.
        let own = link::rules(None, &port, &link, false);
        assert_eq!(own, wanted.into_iter().collect::<Vec<_>>(), "{rates:?}");
    }
}

#[test]
fn sas_and_usb_links_are_compared_with_their_capability() {
    let sas = |negotiated: u64, capable: u64, vendor: &str| {
        let known = |rate: u64| Some(rate * GIGABIT).filter(|&rate| rate > 0);
        let link = SasLink {
            negotiated_bits_per_second: known(negotiated),
            capable_bits_per_second: known(capable),
            phys: 3,
            ..SasLink::default()
        };
        link::rules(None, &scsi(vendor, None), &InspectedLink::Sas(link), true)
    };
    let slow = Finding::SasBelowCapability {
        hop: "0:0:3:0".to_owned(),
        negotiated_bits_per_second: 6 * GIGABIT,
        capable_bits_per_second: 12 * GIGABIT,
    };
    assert_eq!(sas(6, 12, "SEAGATE"), [slow]);
    for (negotiated, capable, vendor) in
        [(6, 12, "ATA"), (12, 12, "SEAGATE"), (0, 12, "SEAGATE"), (6, 0, "SEAGATE")]
    {
        assert_eq!(sas(negotiated, capable, vendor), [], "{negotiated} {capable} {vendor}");
    }
    let usb = |bits: u64| {
        InspectedLink::Usb(UsbLink { bits_per_second: Some(bits), ..UsbLink::default() })
    };
    let part =
        || InspectedHopKind::Usb { hub: true, identity: DeviceIdentity::default(), driver: None };
    let hub = |bits| hop("1-2", part(), Some(usb(bits)));
    let stick = |bits| hop("1-2.3", part(), Some(usb(bits)));
    let of = |above: Option<u64>, bits: u64, optical: bool| {
        link::rules(above.map(hub).as_ref(), &stick(bits), &usb(bits), optical)
    };
    for bits in [480_000_000, 5 * GIGABIT - 1] {
        let slow = Finding::UsbSlow { hop: "1-2.3".to_owned(), bits_per_second: bits };
        assert_eq!(of(None, bits, false), std::slice::from_ref(&slow));
        assert_eq!(of(Some(5 * GIGABIT), bits, false), [slow]);
        assert_eq!(of(Some(480_000_000), bits, false), [], "the hub is the cause");
        assert_eq!(of(None, bits, true), []);
    }
    assert_eq!(of(None, 5 * GIGABIT, false), []);
    let cable = InspectedLink::Pata(PataLink { ultra_dma: Some(2), line: None });
    assert_eq!(link::rules(None, &scsi("ATA", None), &cable, false), []);
}

#[test]
fn a_volume_of_an_adapter_hides_its_drives_unless_they_are_passed_on() {
    let adapter = || pci("0000:03:00.0", PciFunctionKind::Raid, None);
    let hidden = [Finding::DrivesHidden { adapter: "0000:03:00.0".to_owned() }];
    let sas = Some(InspectedLink::Sas(SasLink::default()));
    let sata = Some(InspectedLink::Sata(SataLink::default()));
    for (name, hops, is_hidden) in [
        ("sda", vec![adapter(), scsi("DELL", None)], true),
        ("sda", vec![adapter(), scsi("DELL", carries(7, 7))], true),
        ("sda", vec![adapter(), scsi("ATA ", None)], false),
        ("sda", vec![adapter(), scsi("DELL", sas)], false),
        ("sda", vec![adapter(), scsi("DELL", sata)], false),
        ("sr0", vec![adapter(), scsi("DELL", None)], false),
        ("sda", vec![pci("0000:03:00.0", PciFunctionKind::Sas, None), scsi("DELL", None)], false),
    ] {
        let found = device::rules(&drive(name, hops.clone()));
        assert_eq!(found, if is_hidden { &hidden[..] } else { &[] }, "{name} {hops:?}");
    }
    let vmd = Some("Intel Corporation Volume Management Device".to_owned());
    let mut listed = drive("raid-0", vec![adapter()]);
    listed.identity.model = vmd;
    assert_eq!(device::rules(&listed), []);
}

#[test]
fn a_drive_is_searched_for_its_queue_and_its_cache() {
    let port = || hop("ata3", InspectedHopKind::AtaPort, None);
    let link = |queueing| Some(InspectedLink::Sata(SataLink { queueing, ..SataLink::default() }));
    let found = |hops: &[InspectedHop], queue: QueueLimits, read_only: Option<bool>| {
        let queue_of = InspectedDevice { queue, read_only, ..drive("sda", hops.to_vec()) };
        device::rules(&queue_of)
    };
    let depth = |depth| QueueLimits { queue_depth: Some(depth), ..QueueLimits::default() };
    let without =
        |queue_depth, drive_capable| vec![Finding::WithoutQueueing { queue_depth, drive_capable }];
    let known = [port(), scsi("ATA", link(Some(true)))];
    assert_eq!(found(&known, depth(1), None), without(1, Some(true)));
    assert_eq!(found(&known, depth(2), None), []);
    let incapable = [port(), scsi("ATA", link(Some(false)))];
    assert_eq!(found(&incapable, depth(0), None), without(0, Some(false)));
    assert_eq!(found(&[port(), scsi("ATA", None)], depth(1), None), without(1, None));
    assert_eq!(found(&[scsi("ATA", link(Some(true)))], depth(1), None), []);

    let cache = |kind| QueueLimits { write_cache: Some(kind), ..QueueLimits::default() };
    let off = || cache(WriteCache::WriteThrough);
    let plain = [port(), scsi("ATA", None)];
    assert_eq!(found(&plain, off(), None), [Finding::WriteCacheOff]);
    assert_eq!(found(&plain, off(), Some(false)), [Finding::WriteCacheOff]);
    assert_eq!(found(&plain, off(), Some(true)), []);
    assert_eq!(found(&plain, cache(WriteCache::WriteBack), None), []);
    assert_eq!(found(&[port()], off(), None), [], "without a SCSI device");
    let other = |part| [hop("between", part, None), scsi("QEMU", None)];
    assert_eq!(found(&other(InspectedHopKind::Virtio { driver: None }), off(), None), []);
    let session = InspectedHopKind::Other { bus: "iscsi".to_owned(), driver: None };
    assert_eq!(found(&other(session), off(), None), []);
    let volume = [pci("0000:03:00.0", PciFunctionKind::Raid, None), scsi("DELL", None)];
    let hidden = Finding::DrivesHidden { adapter: "0000:03:00.0".to_owned() };
    assert_eq!(found(&volume, off(), None), [hidden]);
}

#[test]
fn a_scheduler_suits_the_kind_of_drive() {
    let found = |kind: BlockDeviceKind, scheduler: &str, rotational: Option<bool>| {
        let queue = QueueLimits {
            scheduler: Some(scheduler.to_owned()),
            rotational,
            ..QueueLimits::default()
        };
        device::rules(&InspectedDevice { kind, queue, ..drive("sda", vec![scsi("ATA", None)]) })
    };
    let unsuited = |scheduler: &str, suited: &str, drive: &str| Finding::SchedulerUnsuited {
        scheduler: scheduler.to_owned(),
        suited: suited.to_owned(),
        drive: drive.to_owned(),
    };
    let nvme = || BlockDeviceKind::NvmeNamespace { namespace: Some(1), subsystem: None };
    for scheduler in ["bfq", "mq-deadline", "deadline", "cfq"] {
        let wanted = unsuited(scheduler, "none", "an NVMe drive");
        assert_eq!(found(nvme(), scheduler, None), [wanted]);
        assert_eq!(found(BlockDeviceKind::Disk, scheduler, Some(true)), []);
    }
    for scheduler in ["none", "noop"] {
        let wanted = unsuited(scheduler, "mq-deadline or bfq", "a hard disk");
        assert_eq!(found(nvme(), scheduler, Some(true)), []);
        assert_eq!(found(BlockDeviceKind::Disk, scheduler, Some(true)), [wanted]);
        assert_eq!(found(BlockDeviceKind::Disk, scheduler, Some(false)), []);
        assert_eq!(found(BlockDeviceKind::Disk, scheduler, None), []);
        assert_eq!(found(BlockDeviceKind::Ram, scheduler, Some(true)), []);
    }
    assert_eq!(found(nvme(), "kyber", None), []);
}

#[test]
fn a_partition_is_aligned_to_physical_blocks() {
    let found = |start: Option<u64>, told: Option<i64>, block: Option<u64>| {
        let mut of = drive("sr0", vec![scsi("ATA", None)]);
        of.queue.physical_block = block.map(Bytes);
        of.partitions.push(InspectedPartition {
            name: "sr0p1".to_owned(),
            start: start.map(Bytes),
            size: None,
            alignment_offset_bytes: told,
        });
        device::rules(&of)
    };
    let off = |offset_bytes, block: Option<u64>| {
        vec![Finding::PartitionMisaligned {
            partition: "sr0p1".to_owned(),
            offset_bytes,
            physical_block: block.map(Bytes),
        }]
    };
    // Sector 63 is at an offset of seven 4 KiB blocks and 3,584 bytes.
    assert_eq!(found(Some(63 * 512), None, Some(4096)), off(3584, Some(4096)));
    assert_eq!(found(Some(1 << 20), None, Some(4096)), []);
    assert_eq!(found(Some(1 << 20), Some(512), Some(4096)), off(512, Some(4096)));
    assert_eq!(found(Some(63 * 512), Some(0), Some(4096)), []);
    assert_eq!(found(None, Some(-1), None), off(-1, None));
    assert_eq!(found(Some(63 * 512), None, Some(0)), []);
    assert_eq!(found(None, None, Some(4096)), []);
}

#[test]
fn an_uplink_is_shared_if_the_links_below_it_carry_more() {
    let below = |name: &str, uplink: u64, own: (u64, u64)| {
        let hops = vec![
            pci("switch", PciFunctionKind::UpstreamPort, carries(uplink, uplink)),
            pci("middle", PciFunctionKind::DownstreamPort, None),
            pci(name, PciFunctionKind::Nvme, carries(own.0, own.1)),
            hop("nvme", InspectedHopKind::AtaPort, None),
        ];
        drive(name, hops)
    };
    let pair = |uplink, first, second| {
        shared::find(&[below("nvme10n1", uplink, first), below("nvme2n1", uplink, second)])
    };
    let wanted = |uplink, sum, bounds| {
        vec![InspectedFinding {
            devices: vec!["nvme2n1".to_owned(), "nvme10n1".to_owned()],
            finding: Finding::SharedUplink {
                hop: "switch".to_owned(),
                uplink: BytesPerSecond(uplink),
                below: BytesPerSecond(sum),
                bounds,
            },
        }]
    };
    assert_eq!(pair(3_000, (2_000, 2_000), (1_001, 1_001)), wanted(3_000, 3_001, false));
    assert_eq!(pair(3_000, (2_000, 2_000), (1_000, 1_000)), []);
    // If the packet size of a drive is unknown, the minimum of the drive is used.
    assert_eq!(pair(3_000, (2_000, 2_500), (1_001, 1_001)), wanted(3_000, 3_001, true));
    assert_eq!(pair(3_000, (1_000, 2_500), (2_000, 2_000)), []);
    let alone = below("nvme2n1", 3_000, (4_000, 4_000));
    assert_eq!(shared::find(std::slice::from_ref(&alone)), []);
    assert_eq!(shared::find(&[alone.clone(), alone]), [], "both are on one link");
    // A hard disk uses up to 300 MB/s.
    let disks = [("sda", Some(true)), ("sdb", Some(true))].map(|(name, rotational)| {
        let mut disk = below(name, 599_999_999, (600_000_000, 600_000_000));
        disk.queue.rotational = rotational;
        disk
    });
    let [found] = &shared::find(&disks)[..] else { panic!() };
    let Finding::SharedUplink { below, .. } = found.finding else { panic!("{found:?}") };
    assert_eq!(below, BytesPerSecond(600_000_000));
}

#[test]
fn uplinks_are_listed_in_the_order_of_their_devices_and_the_chipset_last() {
    let on = |uplink: &str, name: &str, own: u64, chipset: bool| {
        let mut first =
            pci(uplink, PciFunctionKind::RootPort, carries(1_000_000_000, 1_000_000_000));
        if let InspectedHopKind::Pci { chipset: is, .. } = &mut first.part {
            *is = chipset;
        }
        drive(name, vec![first, pci(name, PciFunctionKind::Nvme, carries(own, own))])
    };
    let named = |chipset: bool| -> Vec<(String, Vec<String>)> {
        let devices = [
            on("b", "sda", 500_000_000, chipset),
            on("b", "sdb", 500_000_001, chipset),
            on("a", "sdc", 599_999_999, chipset),
            on("a", "sdd", 500_000_000, false),
        ];
        let found = shared::find(&devices).into_iter();
        found
            .map(|one| match one.finding {
                Finding::SharedUplink { hop, .. } => (hop, one.devices),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let b = ("b".to_owned(), names(&["sda", "sdb"]));
    let a = ("a".to_owned(), names(&["sdc", "sdd"]));
    assert_eq!(named(false), [b.clone(), a.clone()]);
    // The three drives on the chipset use exactly the minimum throughput of its uplink.
    assert_eq!(named(true), [b, a]);
    let over = [
        on("b", "sda", 700_000_000, true),
        on("b", "sdb", 500_000_001, true),
        on("a", "sdc", 400_000_000, true),
        on("a", "sdd", 1, false),
    ];
    let chipset = shared::find(&over).pop().unwrap();
    let below = Some(BytesPerSecond(1_600_000_001));
    assert_eq!(chipset.finding, Finding::BehindChipset { below });
    assert_eq!(chipset.devices, ["sda", "sdb", "sdc"]);
}

#[test]
fn devices_with_the_same_finding_share_it_and_notes_are_last() {
    let slow = || {
        Some(InspectedLink::Pcie(PcieLink {
            current: Some(rate(3, 4)),
            upper_max: Some(rate(4, 4)),
            lower_max: Some(rate(4, 8)),
            payload_max: Some(Bytes(128)),
            payload_capable: Some(Bytes(512)),
            ..PcieLink::default()
        }))
    };
    let on = |name: &str, adapter: &str| {
        drive(name, vec![pci(adapter, PciFunctionKind::Usb, slow()), scsi("DELL", None)])
    };
    let found = find(&[on("sda", "one"), on("sdb", "one"), on("sdc", "two")]);
    let told: Vec<(bool, Vec<String>)> =
        found.into_iter().map(|one| (one.finding.is_note(), one.devices)).collect();
    let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let both = names(&["sda", "sdb"]);
    let last = names(&["sdc"]);
    let wanted = [(false, both.clone()), (false, last.clone()), (true, both), (true, last)];
    assert_eq!(told, wanted);
}

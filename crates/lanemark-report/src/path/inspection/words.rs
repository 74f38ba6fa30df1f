//! Short descriptions of hops, links and devices.

use lanemark_schema::result::{
    BlockDeviceKind, DeviceIdentity, InspectedDevice, InspectedHopKind, InspectedLink, LineRate,
    PciFunctionKind, PcieLink, QueueLimits, WriteCache,
};
use lanemark_schema::units::{Bytes, BytesPerSecond};

use crate::text::number::{rate_text, significant};

/// Formats a rate, such as `1000 MB/s`.
pub(super) fn rate(rate: BytesPerSecond) -> String {
    rate_text(rate.0 as f64)
}

/// Formats a capacity in the decimal units that drive makers use.
pub(super) fn capacity(size: Bytes) -> String {
    let bytes = size.get() as f64;
    let (unit, name) = match size.get() {
        1_000_000_000_000.. => (1e12, "TB"),
        1_000_000_000.. => (1e9, "GB"),
        1_000_000.. => (1e6, "MB"),
        1_000.. => (1e3, "kB"),
        _ => (1.0, "B"),
    };
    format!("{} {name}", significant(bytes / unit))
}

/// Formats the type of a link, its trained speed and its capability, such as `PCIe 3.0 x4 of 4.0 x4`.
pub(super) fn link(link: &InspectedLink) -> String {
    let rate_phrase = |name: &str, now: Option<u64>, could: Option<u64>| match (now, could) {
        (Some(now), Some(could)) if now < could => {
            format!("{name} {} of {}", LineRate(now), LineRate(could))
        }
        (Some(now), _) => format!("{name} {}", LineRate(now)),
        (None, _) => format!("{name} link"),
    };
    match link {
        InspectedLink::Pcie(link) => pcie(link),
        InspectedLink::Sata(link) => {
            let port = link.port_bits_per_second.or(link.limit_bits_per_second);
            let could = match (port, link.drive_bits_per_second) {
                (Some(port), Some(drive)) => Some(port.max(drive)),
                (port, drive) => port.or(drive),
            };
            rate_phrase("SATA", link.negotiated_bits_per_second, could)
        }
        InspectedLink::Pata(link) => match link.ultra_dma {
            Some(mode) => format!("PATA, Ultra DMA {mode}"),
            None => "PATA".to_owned(),
        },
        InspectedLink::Sas(link) => {
            let rate =
                rate_phrase("SAS", link.negotiated_bits_per_second, link.capable_bits_per_second);
            if link.phys > 1 { format!("{rate} x{}", link.phys) } else { rate }
        }
        InspectedLink::Usb(link) => rate_phrase("USB", link.bits_per_second, None),
    }
}

fn pcie(link: &PcieLink) -> String {
    match (link.current, link.capable()) {
        (Some(current), Some(capable)) if current.generation == capable.generation => {
            format!("{current} of x{}", capable.lanes)
        }
        (Some(current), Some(capable)) => {
            format!("{current} of {}.0 x{}", capable.generation, capable.lanes)
        }
        (Some(current), None) => current.to_string(),
        (None, Some(capable)) => format!("PCIe, of {}.0 x{}", capable.generation, capable.lanes),
        (None, None) => "PCIe".to_owned(),
    }
}

/// Formats the link with its rate: the usable rate if there is a model for it, otherwise the rate after the line code.
pub(super) fn link_with_rate(inspected: &InspectedLink) -> String {
    let mut text = link(inspected);
    match (inspected.range(), inspected.usable()) {
        (Some((least, most)), _) if least != most => {
            text += &format!(
                ", {} to {}, payload unknown",
                significant(least.as_megabytes()),
                rate(most)
            );
        }
        (_, Some(usable)) => text += &format!(", {}", rate(usable)),
        (Some((line, _)), None) => text += &format!(", {} raw", rate(line)),
        (None, None) => {}
    }
    if let InspectedLink::Pcie(PcieLink { payload_max: Some(payload), .. }) = inspected {
        text += &format!(", MPS {payload}");
    }
    text
}

/// Formats the type and name of a hop in plain terms, without the kernel's name.
pub(super) fn part(part: &InspectedHopKind) -> String {
    let driven = |what: &str, driver: &Option<String>| match driver {
        Some(driver) => format!("{what} ({driver})"),
        None => what.to_owned(),
    };
    match part {
        InspectedHopKind::Pci { role, driver, chipset, .. } => {
            let chipset_text = if *chipset { ", chipset" } else { "" };
            if matches!(
                role,
                PciFunctionKind::RootPort
                    | PciFunctionKind::UpstreamPort
                    | PciFunctionKind::DownstreamPort
                    | PciFunctionKind::Bridge
            ) {
                format!("{}{chipset_text}", self::role(*role))
            } else {
                driven(&format!("{}{chipset_text}", self::role(*role)), driver)
            }
        }
        InspectedHopKind::AtaPort => "port".to_owned(),
        InspectedHopKind::ScsiHost { driver } => driven("SCSI host", driver),
        InspectedHopKind::SasExpander { identity } => named("expander", identity),
        InspectedHopKind::ScsiDevice { identity, .. } => named("", identity),
        InspectedHopKind::NvmeController { identity, transport, address, state, .. } => {
            let mut parts = vec![named("", identity)];
            if let Some(transport) = transport.as_ref().filter(|transport| *transport != "pcie") {
                parts.push(format!("NVMe over {transport}"));
            }
            parts.extend(address.clone());
            parts.extend(state.clone().filter(|state| state != "live"));
            joined(&parts)
        }
        InspectedHopKind::Usb { hub, identity, driver } => {
            driven(&named(if *hub { "hub" } else { "USB device" }, identity), driver)
        }
        InspectedHopKind::Virtio { driver } => {
            driver.clone().unwrap_or_else(|| "virtio".to_owned())
        }
        InspectedHopKind::Other { bus, driver } => driven(bus, driver),
    }
}

/// Formats the vendor and the model.
pub(super) fn model(identity: &DeviceIdentity) -> String {
    named("", identity)
}

fn role(role: PciFunctionKind) -> &'static str {
    match role {
        PciFunctionKind::RootPort => "root port",
        PciFunctionKind::UpstreamPort => "switch, upstream port",
        PciFunctionKind::DownstreamPort => "switch, downstream port",
        PciFunctionKind::Bridge => "bridge",
        PciFunctionKind::Nvme => "NVMe controller",
        PciFunctionKind::Ahci => "SATA controller",
        PciFunctionKind::Ide => "ATA controller",
        PciFunctionKind::Sas => "SAS adapter",
        PciFunctionKind::Raid => "RAID controller",
        PciFunctionKind::Storage => "storage controller",
        PciFunctionKind::Usb => "USB controller",
        PciFunctionKind::FibreChannel => "Fibre Channel adapter",
        PciFunctionKind::Network => "network adapter",
        PciFunctionKind::VolumeManagement => "volume management device",
        PciFunctionKind::Virtio => "virtio device",
        PciFunctionKind::Other => "PCI device",
    }
}

fn named(kind: &str, identity: &DeviceIdentity) -> String {
    // A model name may begin with the vendor's name. On an ATA host, the kernel reports the host as the vendor.
    let vendor = identity.vendor.as_deref().filter(|vendor| {
        *vendor != "ATA"
            && !identity.model.as_deref().is_some_and(|model| model.starts_with(vendor))
    });
    let words: Vec<&str> =
        [Some(kind).filter(|kind| !kind.is_empty()), vendor, identity.model.as_deref()]
            .into_iter()
            .flatten()
            .collect();
    words.join(" ")
}

/// Describes a device on the line above its path.
pub(super) fn device(device: &InspectedDevice) -> String {
    let identity = named("", &device.identity);
    let kind = match &device.kind {
        BlockDeviceKind::Disk | BlockDeviceKind::NvmeNamespace { .. } => String::new(),
        BlockDeviceKind::Partition(_) => "partition".to_owned(),
        BlockDeviceKind::DeviceMapper { mapped_name, maker } => joined(&[
            mapped_name.clone().unwrap_or_default(),
            match maker.as_deref() {
                Some("CRYPT") => "encrypted".to_owned(),
                Some("LVM") => "logical volume".to_owned(),
                Some("mpath") => "multipath".to_owned(),
                Some(maker) => format!("mapped by {maker}"),
                None => "mapped".to_owned(),
            },
        ]),
        BlockDeviceKind::Md { level, members, chunk, degraded } => joined(&[
            level.clone().unwrap_or_else(|| "RAID".to_owned()),
            members.map_or(String::new(), |members| format!("{members} members")),
            chunk.map_or(String::new(), |chunk| format!("chunks of {chunk}")),
            degraded.filter(|&n| n > 0).map_or(String::new(), |n| format!("{n} missing")),
        ]),
        BlockDeviceKind::Loop { backing_file } => match backing_file {
            Some(file) => format!("loop on {file}"),
            None => "loop".to_owned(),
        },
        BlockDeviceKind::Zram => "compressed memory".to_owned(),
        BlockDeviceKind::Ram => "memory".to_owned(),
        BlockDeviceKind::Virtual => "virtual".to_owned(),
    };
    let firmware = device.identity.firmware.as_ref().map(|version| format!("firmware {version}"));
    joined(&[
        identity,
        kind,
        device.size.map_or(String::new(), capacity),
        firmware.unwrap_or_default(),
    ])
}

/// Describes the limits and settings of a device's request queue.
pub(super) fn queue(queue: &QueueLimits) -> String {
    let blocks = match (queue.logical_block, queue.physical_block) {
        (Some(logical), Some(physical)) if logical != physical => {
            format!("blocks of {logical} in {physical}")
        }
        (Some(logical), _) => format!("blocks of {logical}"),
        (None, _) => String::new(),
    };
    let cache = match queue.write_cache {
        Some(WriteCache::WriteBack) => "write back",
        Some(WriteCache::WriteThrough) => "write through",
        None => "",
    };
    let clause = |value: Option<u32>, text: fn(u32) -> String| value.map_or(String::new(), text);
    joined(&[
        blocks,
        queue.scheduler.as_ref().map_or(String::new(), |name| format!("scheduler {name}")),
        cache.to_owned(),
        if queue.rotational == Some(true) { "rotational".to_owned() } else { String::new() },
        clause(queue.queue_depth, |depth| format!("queue depth {depth}")),
        clause(queue.requests_max, |requests| format!("{requests} requests")),
        clause(queue.hardware_queues, |queues| match queues {
            1 => "1 queue".to_owned(),
            queues => format!("{queues} queues"),
        }),
        queue.transfer_max.map_or(String::new(), |most| format!("at most {most} each")),
    ])
}

/// Joins the non-empty parts with commas.
pub(super) fn joined(parts: &[String]) -> String {
    let stated: Vec<&str> =
        parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    stated.join(", ")
}

#[cfg(test)]
mod tests;

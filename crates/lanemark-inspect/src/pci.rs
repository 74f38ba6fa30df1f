//! The PCI functions on a path, and the links between them.
//!
//! The speed and width of a link are in `current_link_speed` and similar attributes of the functions at both ends. The
//! type of a port is in its configuration space. If that cannot be read, bridges are assumed to alternate: the bridge
//! below a root port is a switch's upstream port, and the bridge below an upstream port is a downstream port. There is
//! no link between the two ports of a switch.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use lanemark_schema::result::{InspectedHopKind, PciFunctionKind, PcieLink, PcieRate};
use lanemark_schema::units::Bytes;

use crate::pcie_config::{PcieConfig, UNPRIVILEGED};
use crate::rate;
use crate::sysfs::{DevicePosition, Sysfs};
use crate::value::{
    hexadecimal, is_numbered, is_pci_address, pcie_generation, pcie_lanes, pcie_rate,
};

/// Vendor id of Intel.
const INTEL: u32 = 0x8086;
/// First device on bus 0 that belongs to an Intel chipset.
const CHIPSET_DEVICES: u32 = 0x10;
/// Address of an Intel chipset's bridge to slow buses.
const CHIPSET_BRIDGE: &str = "1f.0";
/// Subsystem vendor id of QEMU's model of an Intel chipset, which lacks an uplink.
const QEMU_SUBSYSTEM: u32 = 0x1af4;
/// Vendor id of QEMU's root ports, which lack lanes.
const QEMU: u16 = 0x1b36;

#[derive(Debug)]
pub(crate) struct PciFunction {
    vendor: Option<u16>,
    device: Option<u16>,
    class: Option<u32>,
    driver: Option<String>,
    chipset: bool,
    current: Option<PcieRate>,
    max: Option<PcieRate>,
    config: Option<PcieConfig>,
}

/// A cache of functions, so that a function above many devices is read once.
#[derive(Debug, Default)]
pub(crate) struct PciFunctionCache(RefCell<BTreeMap<DevicePosition, Rc<PciFunction>>>);

impl PciFunctionCache {
    /// Returns the function at `position`.
    pub(crate) fn at(&self, sysfs: &Sysfs, position: &DevicePosition) -> Rc<PciFunction> {
        if let Some(known) = self.0.borrow().get(position) {
            return Rc::clone(known);
        }
        let function = Rc::new(PciFunction::read(sysfs, position));
        self.0.borrow_mut().insert(position.clone(), Rc::clone(&function));
        function
    }
}

impl PciFunction {
    fn read(sysfs: &Sysfs, at: &DevicePosition) -> Self {
        let word =
            |name| sysfs.value(at, name, hexadecimal).and_then(|value| u16::try_from(value).ok());
        let speed = |name| sysfs.value(at, name, pcie_generation).flatten();
        let width = |name| sysfs.value(at, name, pcie_lanes).flatten();
        let config = sysfs.bytes(at, "config");
        if let Some(bytes) = config.as_ref().filter(|bytes| bytes.len() <= UNPRIVILEGED) {
            sysfs.record_partial_read(at, "config", bytes.len());
        }
        Self {
            vendor: word("vendor"),
            device: word("device"),
            class: sysfs.value(at, "class", hexadecimal),
            driver: sysfs.link_name(at, "driver"),
            chipset: is_in_chipset(sysfs, at),
            current: pcie_rate(speed("current_link_speed"), width("current_link_width")),
            max: pcie_rate(speed("max_link_speed"), width("max_link_width")),
            config: config.and_then(|bytes| PcieConfig::parse(&bytes)),
        }
    }

    /// Returns the role of the function below a function with the role `above`. If a capture does not contain the
    /// class, the role is derived from `next`, the name of the component below the function.
    pub(crate) fn role(&self, above: Option<PciFunctionKind>, next: &str) -> PciFunctionKind {
        let class = self.class.unwrap_or_else(|| class_before(next, self.driver.as_deref())) >> 8;
        if class == 0x0604 {
            return match (self.config.map(|config| config.port_type), above) {
                (Some(4), _) => PciFunctionKind::RootPort,
                (Some(5), _) => PciFunctionKind::UpstreamPort,
                (Some(6), _) => PciFunctionKind::DownstreamPort,
                (Some(_), _) => PciFunctionKind::Bridge,
                (None, None | Some(PciFunctionKind::VolumeManagement)) => PciFunctionKind::RootPort,
                (None, Some(PciFunctionKind::UpstreamPort)) => PciFunctionKind::DownstreamPort,
                (None, Some(PciFunctionKind::RootPort | PciFunctionKind::DownstreamPort)) => {
                    PciFunctionKind::UpstreamPort
                }
                (None, Some(_)) => PciFunctionKind::Bridge,
            };
        }
        match (self.driver.as_deref(), class) {
            (Some("vmd"), _) => PciFunctionKind::VolumeManagement,
            (Some("virtio-pci"), _) => PciFunctionKind::Virtio,
            (_, 0x0108) => PciFunctionKind::Nvme,
            (_, 0x0106) => PciFunctionKind::Ahci,
            (_, 0x0101) => PciFunctionKind::Ide,
            (_, 0x0107) => PciFunctionKind::Sas,
            (_, 0x0104) => PciFunctionKind::Raid,
            (_, 0x0c03) => PciFunctionKind::Usb,
            (_, 0x0c04) => PciFunctionKind::FibreChannel,
            _ if class >> 8 == 0x01 => PciFunctionKind::Storage,
            _ if class >> 8 == 0x02 => PciFunctionKind::Network,
            _ if is_numbered(next, "virtio") => PciFunctionKind::Virtio,
            _ => PciFunctionKind::Other,
        }
    }

    pub(crate) fn part(&self, role: PciFunctionKind) -> InspectedHopKind {
        InspectedHopKind::Pci {
            role,
            vendor: self.vendor,
            device: self.device,
            driver: self.driver.clone(),
            chipset: self.chipset,
        }
    }

    /// Returns the link from the function `above` to this function. Without a function above, the link contains only
    /// this function's attributes.
    pub(crate) fn link(&self, above: Option<&Self>) -> Option<PcieLink> {
        // The functions of a chipset report a link inside the chipset.
        if above.is_none() && self.chipset {
            return None;
        }
        // The ports of a virtual machine report lanes that do not exist.
        if self.vendor == Some(QEMU) || above.is_some_and(|above| above.vendor == Some(QEMU)) {
            return None;
        }
        let upper = above.and_then(|above| above.current);
        let current = match (upper, self.current) {
            (Some(upper), Some(lower)) => Some(upper.lesser(lower)),
            (upper, lower) => lower.or(upper),
        };
        let lesser = |value: fn(&PcieConfig) -> Option<Bytes>| {
            let upper = above.and_then(|above| above.config.as_ref()).and_then(value);
            let lower = self.config.as_ref().and_then(value);
            match above {
                Some(_) => Some(upper?.min(lower?)),
                None => lower,
            }
        };
        let payload_max = lesser(|config| config.payload_max);
        let carries =
            |payload| current.map_or((None, None), |current| rate::pcie(current, payload));
        let (line, least) = carries(payload_max.unwrap_or(rate::PAYLOADS.0));
        let (_, most) = carries(payload_max.unwrap_or(rate::PAYLOADS.1));
        let known = payload_max.is_some();
        let link = PcieLink {
            current,
            upper_max: above.and_then(|above| above.max),
            lower_max: self.max,
            payload_max,
            // The maximum that both ends support is known only if both ends report it.
            payload_capable: above.and_then(|_| lesser(|config| config.payload_capable)),
            read_request_max: self.config.and_then(|config| config.read_request_max),
            line,
            usable: least.filter(|_| known),
            usable_least: least.filter(|_| !known),
            usable_most: most.filter(|_| !known),
        };
        (link.current.is_some() || link.upper_max.is_some() || link.lower_max.is_some())
            .then_some(link)
    }
}

/// Returns the class of a function that has `next` below it. A function with an ATA port may be parallel or serial;
/// only its driver distinguishes these.
fn class_before(next: &str, driver: Option<&str>) -> u32 {
    match next {
        next if is_pci_address(next) => 0x06_0400,
        "nvme" => 0x01_0802,
        next if is_numbered(next, "ata") => match driver {
            Some("ahci") => 0x01_0601,
            Some(driver) if driver.starts_with("sata_") => 0x01_0601,
            Some(driver) if driver.starts_with("pata_") => 0x01_0100,
            _ => 0x01_8000,
        },
        next if is_numbered(next, "host") => 0x01_0000,
        next if is_numbered(next, "usb") => 0x0c_0330,
        _ => 0,
    }
}

/// Returns whether a function's address is an address that Intel assigns to functions of a chipset.
fn is_in_chipset(sysfs: &Sysfs, at: &DevicePosition) -> bool {
    let name = at.name();
    let Some((domain, address)) = name.split_once(':') else { return false };
    let device = address.strip_prefix("00:").and_then(|rest| rest.split('.').next());
    let device = device.and_then(|device| u32::from_str_radix(device, 16).ok());
    if device.is_none_or(|device| device < CHIPSET_DEVICES) {
        return false;
    }
    let bridge = format!("{domain}:00:{CHIPSET_BRIDGE}");
    let Some(bridge) = sysfs.resolve_from(&at.parent(), bridge) else { return false };
    let value = |attribute| sysfs.value(&bridge, attribute, hexadecimal);
    value("vendor") == Some(INTEL)
        && value("class").is_some_and(|class| class >> 8 == 0x0601)
        && value("subsystem_vendor") != Some(QEMU_SUBSYSTEM)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::BytesPerSecond;

    use super::*;

    const BRIDGE: u32 = 0x06_0400;

    fn function(class: Option<u32>, driver: Option<&str>) -> PciFunction {
        PciFunction {
            vendor: Some(0x144d),
            device: Some(0xa802),
            class,
            driver: driver.map(str::to_owned),
            chipset: false,
            current: None,
            max: None,
            config: None,
        }
    }

    fn config(port_type: u8, payload: Option<u64>) -> PcieConfig {
        PcieConfig {
            port_type,
            payload_max: payload.map(Bytes),
            payload_capable: payload.map(|payload| Bytes(2 * payload)),
            read_request_max: payload.map(|payload| Bytes(4 * payload)),
        }
    }

    #[test]
    fn a_function_has_the_role_of_its_class_or_of_its_driver() {
        for (class, driver, next, role) in [
            (0x01_0802, None, "", PciFunctionKind::Nvme),
            (0x01_0601, Some("ahci"), "", PciFunctionKind::Ahci),
            (0x01_0180, None, "", PciFunctionKind::Ide),
            (0x01_0700, None, "", PciFunctionKind::Sas),
            (0x01_0400, None, "", PciFunctionKind::Raid),
            (0x01_0000, None, "", PciFunctionKind::Storage),
            (0x01_8000, None, "", PciFunctionKind::Storage),
            (0x02_0000, None, "virtio0", PciFunctionKind::Network),
            (0x0c_0330, None, "", PciFunctionKind::Usb),
            (0x0c_0400, None, "", PciFunctionKind::FibreChannel),
            (0x01_0400, Some("vmd"), "", PciFunctionKind::VolumeManagement),
            (0x01_0000, Some("virtio-pci"), "", PciFunctionKind::Virtio),
            (0x03_0000, None, "virtio3", PciFunctionKind::Virtio),
            (0x03_0000, None, "", PciFunctionKind::Other),
        ] {
            assert_eq!(function(Some(class), driver).role(None, next), role, "{class:x} {next}");
        }
    }

    #[test]
    fn a_function_without_a_class_has_its_childs_role() {
        for (next, driver, role) in [
            ("0000:02:00.0", None, PciFunctionKind::RootPort),
            ("nvme", None, PciFunctionKind::Nvme),
            ("ata3", Some("ahci"), PciFunctionKind::Ahci),
            ("ata3", Some("sata_nv"), PciFunctionKind::Ahci),
            ("ata3", Some("pata_via"), PciFunctionKind::Ide),
            ("ata3", Some("ata_piix"), PciFunctionKind::Storage),
            ("ata3", None, PciFunctionKind::Storage),
            ("host0", None, PciFunctionKind::Storage),
            ("usb2", None, PciFunctionKind::Usb),
            ("virtio1", None, PciFunctionKind::Virtio),
            ("net", None, PciFunctionKind::Other),
        ] {
            assert_eq!(function(None, driver).role(None, next), role, "{next} {driver:?}");
        }
    }

    #[test]
    fn a_bridge_has_its_port_type_or_alternates_with_the_bridges_above() {
        use PciFunctionKind::{Bridge, DownstreamPort, RootPort, UpstreamPort, VolumeManagement};
        let bridge = |port_type: Option<u8>, above| {
            let config = port_type.map(|port_type| config(port_type, None));
            PciFunction { config, ..function(Some(BRIDGE), None) }.role(above, "")
        };
        for (port_type, role) in
            [(4, RootPort), (5, UpstreamPort), (6, DownstreamPort), (7, Bridge)]
        {
            for above in [None, Some(RootPort), Some(UpstreamPort)] {
                assert_eq!(bridge(Some(port_type), above), role, "{port_type} below {above:?}");
            }
        }
        for (above, role) in [
            (None, RootPort),
            (Some(VolumeManagement), RootPort),
            (Some(RootPort), UpstreamPort),
            (Some(UpstreamPort), DownstreamPort),
            (Some(DownstreamPort), UpstreamPort),
            (Some(Bridge), Bridge),
        ] {
            assert_eq!(bridge(None, above), role, "below {above:?}");
        }
    }

    fn rate(generation: u8, lanes: u8) -> Option<PcieRate> {
        Some(PcieRate { generation, lanes })
    }

    fn end(current: Option<PcieRate>, max: Option<PcieRate>, payload: Option<u64>) -> PciFunction {
        let config = payload.map(|payload| config(0, Some(payload)));
        PciFunction { current, max, config, ..function(Some(BRIDGE), None) }
    }

    #[test]
    fn a_link_has_the_lesser_values_of_both_ends() {
        let upper = end(rate(4, 2), rate(5, 4), Some(512));
        let lower = end(rate(3, 4), rate(3, 8), Some(256));
        let lesser = PcieRate { generation: 3, lanes: 2 };
        let (line, usable) = rate::pcie(lesser, Bytes(256));
        assert!(line > usable && usable > Some(BytesPerSecond(1_500_000_000)));
        let wanted = PcieLink {
            current: Some(lesser),
            upper_max: rate(5, 4),
            lower_max: rate(3, 8),
            payload_max: Some(Bytes(256)),
            payload_capable: Some(Bytes(512)),
            read_request_max: Some(Bytes(1024)),
            line,
            usable,
            usable_least: None,
            usable_most: None,
        };
        assert_eq!(lower.link(Some(&upper)), Some(wanted.clone()));
        // A single end shows only its own values, and not the values that both ends support.
        let own = PcieRate { generation: 3, lanes: 4 };
        let (line, usable) = rate::pcie(own, Bytes(256));
        let alone = PcieLink {
            current: Some(own),
            upper_max: None,
            payload_capable: None,
            line,
            usable,
            ..wanted.clone()
        };
        assert_eq!(lower.link(None), Some(alone));
        // If the payload of one end is unknown, the throughput is between the values for the smallest and the largest
        // payload.
        let silent = end(rate(4, 2), None, None);
        let bounded = PcieLink {
            upper_max: None,
            payload_max: None,
            payload_capable: None,
            usable: None,
            usable_least: rate::pcie(lesser, Bytes(128)).1,
            usable_most: rate::pcie(lesser, Bytes(4096)).1,
            ..wanted.clone()
        };
        assert!(bounded.usable_least < bounded.usable_most);
        assert_eq!(lower.link(Some(&silent)), Some(bounded));
        // The rate of either end is used if the other end does not report its rate.
        for (upper, lower) in [(rate(3, 2), None), (None, rate(3, 2))] {
            let link = end(lower, None, None).link(Some(&end(upper, None, None))).unwrap();
            assert_eq!(link.current, rate(3, 2));
        }
        assert_eq!(end(None, None, Some(256)).link(Some(&end(None, None, Some(256)))), None);
        let most = end(None, rate(4, 4), None);
        assert!(most.link(None).is_some() && end(None, None, None).link(Some(&most)).is_some());
    }

    #[test]
    fn links_inside_a_chipset_and_of_virtual_machines_are_omitted() {
        let lower = || end(rate(3, 4), rate(3, 4), Some(256));
        let chipset = PciFunction { chipset: true, ..lower() };
        assert_eq!(chipset.link(None), None);
        assert!(chipset.link(Some(&lower())).is_some());
        let virtual_port = || PciFunction { vendor: Some(QEMU), ..lower() };
        assert_eq!(virtual_port().link(None), None);
        assert_eq!(lower().link(Some(&virtual_port())), None);
        assert_eq!(virtual_port().link(Some(&lower())), None);
        let part = chipset.part(PciFunctionKind::Nvme);
        let wanted = InspectedHopKind::Pci {
            role: PciFunctionKind::Nvme,
            vendor: Some(0x144d),
            device: Some(0xa802),
            driver: None,
            chipset: true,
        };
        assert_eq!(part, wanted);
    }
}

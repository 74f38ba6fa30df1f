//! Finds the path from the processor down to a device, with a hop for each part of the device's position in the tree.
//!
//! `/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda` is read from left to right. A part that
//! belongs to another component (the SCSI host of an adapter, a target, a root hub) is not a hop. A component with an
//! unknown name is a hop if it has a driver.

use std::rc::Rc;

use lanemark_schema::result::{
    DeviceIdentity, InspectedHop, InspectedHopKind, InspectedLink, InspectedPath, PciFunctionKind,
};

use crate::pci::{PciFunction, PciFunctionCache};
use crate::sysfs::{DevicePosition, Sysfs};
use crate::value::{is_numbered, is_pci_address, node};
use crate::{ata, nvme, sas, scsi, usb};

const HOPS_MAX: usize = 64;

/// The kind of a component of a path in the device tree, which its name determines.
enum ComponentKind {
    Pci,
    AtaPort,
    ScsiHost,
    SasPort,
    SasExpander,
    SasEndDevice,
    ScsiDevice,
    NvmeController,
    UsbDevice,
    Virtio,
    /// A component that is a part of the component above it.
    Within,
    Unknown,
}

/// A path under construction.
struct PathWalk<'a> {
    sysfs: &'a Sysfs,
    functions: &'a PciFunctionCache,
    hops: Vec<InspectedHop>,
    /// The last PCI function on the path so far, with its role.
    pci: Option<(Rc<PciFunction>, PciFunctionKind)>,
    /// The last ATA or SAS port on the path, to which the next device is attached.
    port: Option<(DevicePosition, ComponentKind)>,
    sas_address: Option<String>,
}

/// Returns the path to the device at `position`; the name and state of the path are not set.
pub(crate) fn walk(
    sysfs: &Sysfs,
    functions: &PciFunctionCache,
    position: &DevicePosition,
) -> InspectedPath {
    let hops = Vec::new();
    let mut walk = PathWalk { sysfs, functions, hops, pci: None, port: None, sas_address: None };
    let steps = position.steps();
    for (index, step) in steps.iter().enumerate().take(steps.len().saturating_sub(1)) {
        if walk.hops.len() == HOPS_MAX {
            break;
        }
        walk.step(step, steps.get(index + 1));
    }
    InspectedPath { name: None, state: None, hops: walk.hops }
}

impl PathWalk<'_> {
    fn step(&mut self, at: &DevicePosition, next: Option<&DevicePosition>) {
        let sysfs = self.sysfs;
        match classify(at) {
            ComponentKind::Pci => self.pci(at, &next.map(DevicePosition::name).unwrap_or_default()),
            part @ ComponentKind::AtaPort => {
                self.push(at, InspectedHopKind::AtaPort, None);
                self.port = Some((at.clone(), part));
            }
            ComponentKind::ScsiHost => {
                if self.hops.is_empty() {
                    let driver = sysfs
                        .text(at, &format!("scsi_host/{}/proc_name", at.name()))
                        .filter(|name| name != "<NULL>");
                    self.push(at, InspectedHopKind::ScsiHost { driver }, None);
                }
            }
            part @ ComponentKind::SasPort => self.port = Some((at.clone(), part)),
            ComponentKind::SasExpander => {
                let link = self.sas_link();
                self.push(
                    at,
                    InspectedHopKind::SasExpander { identity: sas::expander(sysfs, at) },
                    link,
                );
            }
            ComponentKind::SasEndDevice => self.sas_address = sas::address(sysfs, at),
            ComponentKind::ScsiDevice => self.scsi(at),
            ComponentKind::NvmeController => {
                self.push(at, nvme::controller(sysfs, at), None);
            }
            ComponentKind::UsbDevice => {
                let interface = next.filter(|next| usb::is_interface(&next.name()));
                let link = usb::link(sysfs, at).map(InspectedLink::Usb);
                self.push(at, usb::part(sysfs, at, interface), link);
            }
            ComponentKind::Virtio => {
                let driver = sysfs.link_name(at, "driver");
                self.push(at, InspectedHopKind::Virtio { driver }, None);
            }
            ComponentKind::Within => {}
            ComponentKind::Unknown => self.unknown(at),
        }
    }

    fn pci(&mut self, at: &DevicePosition, next: &str) {
        let function = self.functions.at(self.sysfs, at);
        let above = self.pci.as_ref().map(|(_, role)| *role);
        let role = function.role(above, next);
        let inside_switch =
            role == PciFunctionKind::DownstreamPort && above == Some(PciFunctionKind::UpstreamPort);
        let begins = matches!(above, None | Some(PciFunctionKind::VolumeManagement));
        let link = if inside_switch || (begins && role == PciFunctionKind::RootPort) {
            None
        } else {
            let above = self.pci.as_ref().filter(|_| !begins).map(|(above, _)| above.as_ref());
            function.link(above).map(InspectedLink::Pcie)
        };
        self.push(at, function.part(role), link);
        self.pci = Some((function, role));
    }

    fn scsi(&mut self, at: &DevicePosition) {
        // For a device on a USB bridge or on virtio, the identity comes from the block device itself.
        if matches!(self.hops.last().map(|hop| &hop.part), Some(InspectedHopKind::Usb { .. })) {
            return;
        }
        let name = at.name();
        let mut identity = scsi::identity(self.sysfs, at);
        let link = match (&self.port, scsi::address(&name)) {
            (Some((port, ComponentKind::AtaPort)), Some([_, channel, target, _])) => {
                let host = self.pci.as_ref().map(|(_, role)| *role);
                let (link, drive) = ata::link(self.sysfs, port, host, channel, target);
                identity = merged_identity(identity, drive);
                link
            }
            _ => self.sas_link(),
        };
        let sas_address = self.sas_address.take();
        self.push(at, InspectedHopKind::ScsiDevice { identity, sas_address }, link);
        self.port = None;
    }

    fn sas_link(&mut self) -> Option<InspectedLink> {
        match self.port.take() {
            Some((port, ComponentKind::SasPort)) => {
                sas::link(self.sysfs, &port).map(InspectedLink::Sas)
            }
            _ => None,
        }
    }

    /// Adds a component with an unknown name as a hop if it has a driver or if its bus is listed here.
    fn unknown(&mut self, at: &DevicePosition) {
        let Some(bus) = self.sysfs.link_name(at, "subsystem") else { return };
        let driver = self.sysfs.link_name(at, "driver");
        match (bus.as_str(), &driver) {
            (_, Some(_)) | ("mmc_host" | "fc_remote_ports" | "iscsi_session", _) => {
                self.push(at, InspectedHopKind::Other { bus, driver }, None);
            }
            _ => {}
        }
    }

    fn push(&mut self, at: &DevicePosition, part: InspectedHopKind, link: Option<InspectedLink>) {
        let position = at.text();
        // In addition to PCI functions, NVMe controllers and namespaces of persistent memory report a node.
        let numa_node = self.sysfs.value(at, "numa_node", node).flatten();
        self.hops.push(InspectedHop { name: at.name(), place: position, part, link, numa_node });
    }
}

fn classify(at: &DevicePosition) -> ComponentKind {
    let name = at.name();
    match name.as_str() {
        name if is_pci_address(name) => ComponentKind::Pci,
        name if is_numbered(name, "ata") => ComponentKind::AtaPort,
        name if is_numbered(name, "host") => ComponentKind::ScsiHost,
        name if name.starts_with("port-") => ComponentKind::SasPort,
        name if name.starts_with("expander-") => ComponentKind::SasExpander,
        name if name.starts_with("end_device-") => ComponentKind::SasEndDevice,
        name if scsi::address(name).is_some() => ComponentKind::ScsiDevice,
        name if nvme::is_controller(name) => ComponentKind::NvmeController,
        name if is_numbered(name, "virtio") => ComponentKind::Virtio,
        name if usb::is_device(name) => ComponentKind::UsbDevice,
        name if usb::is_interface(name)
            || is_numbered(name, "usb")
            || name.starts_with("target")
            || name.starts_with("pci") =>
        {
            ComponentKind::Within
        }
        _ => ComponentKind::Unknown,
    }
}

/// Merges the drive's own identity with its SCSI identity, whose fields are shorter.
fn merged_identity(scsi: DeviceIdentity, drive: Option<DeviceIdentity>) -> DeviceIdentity {
    let drive = drive.unwrap_or_default();
    DeviceIdentity {
        vendor: scsi.vendor,
        model: drive.model.or(scsi.model),
        serial: drive.serial.or(scsi.serial),
        firmware: drive.firmware.or(scsi.firmware),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drives_own_identity_takes_precedence() {
        let text = |text: &str| Some(text.to_owned());
        let scsi = DeviceIdentity {
            vendor: text("ATA"),
            model: text("Samsung SSD 850 "),
            serial: None,
            firmware: text("2B6Q"),
        };
        let drive = DeviceIdentity {
            vendor: text("ignored"),
            model: text("Samsung SSD 850 PRO 1TB"),
            serial: text("S1"),
            firmware: None,
        };
        let wanted = DeviceIdentity {
            vendor: text("ATA"),
            model: text("Samsung SSD 850 PRO 1TB"),
            serial: text("S1"),
            firmware: text("2B6Q"),
        };
        assert_eq!(merged_identity(scsi.clone(), Some(drive)), wanted);
        assert_eq!(merged_identity(scsi.clone(), None), scsi);
    }
}

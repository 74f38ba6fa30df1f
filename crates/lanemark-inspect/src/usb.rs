//! USB hubs and devices: names, speeds and the driver of a storage interface.
//!
//! `2-1.3` is port 3 of the hub at port 1 of bus 2, and `2-1.3:1.0` is one of its interfaces. A root hub, such as
//! `usb2`, is a part of its controller and not a separate hop.

use lanemark_schema::result::{DeviceIdentity, InspectedHopKind, UsbLink};

use crate::rate;
use crate::sysfs::{DevicePosition, Sysfs};
use crate::value::{is_decimal, usb_rate};

/// The class of hubs.
const HUB: &str = "09";

/// Returns whether `name` is the name of a hub or device.
pub(crate) fn is_device(name: &str) -> bool {
    name.split_once('-')
        .is_some_and(|(bus, ports)| is_decimal(bus) && ports.split('.').all(is_decimal))
}

/// Returns whether `name` is the name of an interface.
pub(crate) fn is_interface(name: &str) -> bool {
    name.split_once(':').is_some_and(|(device, interface)| {
        is_device(device) && interface.split('.').all(is_decimal)
    })
}

/// Returns the hub or device at `at` as a hop, with the driver of the interface on the path.
pub(crate) fn part(
    sysfs: &Sysfs,
    at: &DevicePosition,
    interface: Option<&DevicePosition>,
) -> InspectedHopKind {
    InspectedHopKind::Usb {
        hub: sysfs.text(at, "bDeviceClass").as_deref() == Some(HUB),
        identity: DeviceIdentity {
            vendor: sysfs.text(at, "manufacturer"),
            model: sysfs.text(at, "product"),
            serial: sysfs.text(at, "serial"),
            firmware: None,
        },
        driver: interface.and_then(|interface| sysfs.link_name(interface, "driver")),
    }
}

/// Reads the link that leads to the device.
pub(crate) fn link(sysfs: &Sysfs, at: &DevicePosition) -> Option<UsbLink> {
    let bits_per_second = sysfs.value(at, "speed", usb_rate)?;
    Some(UsbLink { bits_per_second: Some(bits_per_second), line: Some(rate::usb(bits_per_second)) })
}

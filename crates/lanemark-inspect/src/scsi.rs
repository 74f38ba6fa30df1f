//! SCSI devices: their addresses and identities.

use lanemark_schema::result::DeviceIdentity;

use crate::sysfs::{DevicePosition, Sysfs};
use crate::value::is_decimal;

/// Parses the host, channel, target and unit in an address such as `0:0:3:0`.
pub(crate) fn address(name: &str) -> Option<[&str; 4]> {
    let parts: Vec<&str> = name.split(':').collect();
    let parts: [&str; 4] = parts.try_into().ok()?;
    parts.iter().all(|part| is_decimal(part)).then_some(parts)
}

/// Reads the identity of the device at `at`. The kernel truncates the model names of ATA drives to 16 characters here.
pub(crate) fn identity(sysfs: &Sysfs, at: &DevicePosition) -> DeviceIdentity {
    DeviceIdentity {
        vendor: sysfs.text(at, "vendor"),
        model: sysfs.text(at, "model"),
        serial: serial(sysfs, at),
        firmware: sysfs.text(at, "rev"),
    }
}

/// Returns the serial number in page 80h, which consists of a header of four bytes and text.
fn serial(sysfs: &Sysfs, at: &DevicePosition) -> Option<String> {
    let page = sysfs.bytes(at, "vpd_pg80")?;
    let text = std::str::from_utf8(page.get(4..)?).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

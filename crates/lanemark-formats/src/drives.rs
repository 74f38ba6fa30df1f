//! A machine's drives as its administrator's tools list them: models, sizes, wear and temperature.
//!
//! | file | contents |
//! |---|---|
//! | `nvme_list` | `nvme list`, its table and `-o json` |
//! | `smartctl` | `smartctl -j`, of one drive |
//! | `lsblk` | `lsblk -J` |
//! | `lstopo` | `lstopo --of xml`, with the PCI bridges above each drive |
//!
//! Values that a tool does not print are absent.

mod lsblk;
mod lstopo;
mod nvme_list;
mod smartctl;

use serde::Serialize;
use serde_json::Value;

use crate::error::FormatError;

/// Maximum number of drives of a file.
const DRIVES_MAX: usize = 10_000;
/// Maximum length of a name or model.
const TEXT_MAX: usize = 200;

/// A drive as a tool describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DescribedDrive {
    /// The kernel's name, `nvme0n1`.
    pub name: Option<String>,
    /// Model that the drive reports.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Size of the drive.
    pub size_bytes: Option<u64>,
    /// The unit of addressing.
    pub sector_bytes: Option<u64>,
    /// Whether the drive has platters.
    pub rotational: Option<bool>,
    /// The interface, `nvme`, `sata`, `usb`.
    pub transport: Option<String>,
    /// The speed of the link and its maximum, as the tool prints them: `3.0 Gb/s` of `6.0 Gb/s`.
    pub link: Option<(String, String)>,
    /// PCI functions and bridges from the processor to the drive, each with the rate of its link in GB/s, 10^9 bytes a
    /// second.
    pub pci: Vec<(String, Option<f64>)>,
    /// Temperature in °C.
    pub temperature: Option<f64>,
    /// Used share of the rated endurance in per cent; it may exceed 100.
    pub endurance_used: Option<f64>,
    /// Observations that need attention, as text.
    pub findings: Vec<String>,
}

/// Returns whether the text is a list of drives that [`read`] reads.
pub fn is_ours(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match text.starts_with('{') {
        true => ["\"Devices\"", "\"json_format_version\"", "\"blockdevices\""]
            .iter()
            .any(|key| text.contains(key)),
        false => lstopo::is_ours(text) || nvme_list::is_table(text),
    }
}

/// Reads the drives in the output of a tool. `file` is its name in errors.
///
/// # Errors
/// Returns an error if the text is no such output, or if it lists no drive.
pub fn read(text: &str, file: &str) -> Result<Vec<DescribedDrive>, FormatError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut drives = if lstopo::is_ours(text) {
        lstopo::read(text).map_err(|(line, message)| FormatError::at(file, line, message))?
    } else if nvme_list::is_table(text) {
        nvme_list::table(text)
    } else {
        let root: Value = serde_json::from_str(text).map_err(|error| {
            FormatError::at(file, error.line() as u64, format!("is no JSON: {error}")).hint(HINT)
        })?;
        if let Some(devices) = root.get("blockdevices") {
            lsblk::read(devices)
        } else if let Some(devices) = root.get("Devices") {
            nvme_list::json(devices)
        } else if root.get("json_format_version").is_some() {
            smartctl::read(&root)
        } else {
            return Err(FormatError::file(file, "lists no drives").hint(HINT));
        }
    };
    if drives.is_empty() {
        return Err(FormatError::file(file, "lists no drives").hint(HINT));
    }
    if drives.len() > DRIVES_MAX {
        let message = format!("lists {} drives; at most {DRIVES_MAX} are read", drives.len());
        return Err(FormatError::file(file, message));
    }
    drives.iter_mut().for_each(DescribedDrive::judge);
    Ok(drives)
}

const HINT: &str = "give the output of `nvme list`, `nvme list -o json`, `smartctl -j -a`, `lsblk -J -O` or `lstopo --of xml`";

impl DescribedDrive {
    /// Adds the findings that follow from the values of any tool.
    fn judge(&mut self) {
        if let Some(used) = self.endurance_used.filter(|used| *used >= 90.0) {
            self.findings.push(format!("{used:.0}% of the rated endurance is used"));
        }
        if let Some((now, most)) = &self.link
            && gigabits(now).zip(gigabits(most)).is_some_and(|(now, most)| now < most)
        {
            self.findings.push(format!("the link runs at {now}, and the drive allows {most}"));
        }
    }
}

/// Returns the Gb/s of `6.0 Gb/s`.
fn gigabits(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Returns a text of a JSON value, without surrounding space.
fn text(value: Option<&Value>) -> Option<String> {
    let text: String = value?.as_str()?.trim().chars().take(TEXT_MAX).collect();
    (!text.is_empty()).then_some(text)
}

/// Returns a count of a JSON value; lsblk prints numbers as texts in old versions.
fn count(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns the kernel's name of a device's path, `nvme0n1` of `/dev/nvme0n1`.
fn device_name(path: &str) -> Option<String> {
    let name = path.trim().rsplit('/').next()?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.!:".contains(letter);
    (!name.is_empty() && name.len() <= 64 && name.chars().all(is_name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lists_no_drive_is_an_error() {
        for text in [
            "",
            "{}",
            "{\"Devices\": []}",
            "{\"Devices\": 7}",
            "{\"blockdevices\": [{\"name\": 3, \"type\": \"disk\"}, 5, null]}",
            "{\"json_format_version\": [1, 0], \"smartctl\": {}}",
            "{\"blockdevices\":",
            "<topology><object type=\"Machine\"/></topology>",
            "<topology>",
        ] {
            assert!(read(text, "f").is_err(), "{text}");
        }
        let deep = format!("{{\"blockdevices\": {}", "[".repeat(100_000));
        assert!(read(&deep, "f").is_err());
    }
}

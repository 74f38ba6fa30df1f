//! A drive as a tool describes it, and functions that read values in descriptions.

use serde::Serialize;
use serde_json::Value;

/// Maximum number of drives in a file.
pub(super) const DRIVES_MAX: usize = 10_000;
/// Maximum length of a name or model name.
pub(super) const TEXT_MAX: usize = 200;

/// A drive as a tool describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DescribedDrive {
    /// The kernel's name, such as `nvme0n1`.
    pub name: Option<String>,
    /// Model name that the drive reports.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Size of the drive.
    pub size_bytes: Option<u64>,
    /// The size of an addressable sector.
    pub sector_bytes: Option<u64>,
    /// Whether the drive has platters.
    pub rotational: Option<bool>,
    /// The interface, such as `nvme`, `sata` or `usb`.
    pub transport: Option<String>,
    /// The speed of the link and its maximum as the tool prints them, such as `3.0 Gb/s` and `6.0 Gb/s`.
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

impl DescribedDrive {
    /// Adds the findings that can be derived from the values, regardless of the tool.
    pub(super) fn judge(&mut self) {
        if let Some(used) = self.endurance_used.filter(|used| *used >= 90.0) {
            self.findings.push(format!("{used:.0}% of the rated endurance is used"));
        }
        if let Some((now, most)) = &self.link
            && gigabits(now).zip(gigabits(most)).is_some_and(|(now, most)| now < most)
        {
            self.findings.push(format!("the link runs at {now}, but the drive supports {most}"));
        }
    }
}

/// Returns the number of Gb/s, such as 6 for `6.0 Gb/s`.
fn gigabits(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Returns the string in a JSON value, without leading and trailing space.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    let text: String = value?.as_str()?.trim().chars().take(TEXT_MAX).collect();
    (!text.is_empty()).then_some(text)
}

/// Returns the count in a JSON value; old versions of lsblk print numbers as strings.
pub(super) fn count(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns the kernel's name in the path of a device, such as `nvme0n1` for `/dev/nvme0n1`.
pub(super) fn device_name(path: &str) -> Option<String> {
    let name = path.trim().rsplit('/').next()?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.!:".contains(letter);
    (!name.is_empty() && name.len() <= 64 && name.chars().all(is_name)).then(|| name.to_owned())
}

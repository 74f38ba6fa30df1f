//! The drives of a machine as administration tools list them: models, sizes, wear and temperature.
//!
//! | file | contents |
//! |---|---|
//! | `described` | a drive, and functions for values in descriptions |
//! | `nvme_list` | `nvme list`, as a table and with `-o json` |
//! | `smartctl` | `smartctl -j`, for one drive |
//! | `lsblk` | `lsblk -J` |
//! | `lstopo` | `lstopo --of xml`, with the PCI bridges above each drive |
//! | `pasted` | texts that people paste: `smartctl -a`, `nvme smart-log`, `dmesg`, `lsusb -t`, `lsblk`, CrystalDiskInfo |
//!
//! Values that a tool does not print are absent.

mod described;
mod lsblk;
mod lstopo;
mod nvme_list;
mod pasted;
mod smartctl;

use serde_json::Value;

use crate::error::FormatError;
use described::DRIVES_MAX;
pub use described::{DescribedDrive, ReportedHealth, ReportedUsage};

/// Keys of JSON that [`read`] reads.
const KEYS: [&str; 5] = [
    "\"Devices\"",
    "\"json_format_version\"",
    "\"blockdevices\"",
    "\"critical_warning\"",
    "\"tnvmcap\"",
];

/// Returns whether the text is a list of drives that [`read`] reads, or a text for which it names another command.
pub fn is_ours(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('{') {
        KEYS.iter().any(|key| text.contains(key))
    } else {
        lstopo::is_ours(text)
            || nvme_list::is_table(text)
            || pasted::is_ours(text)
            || pasted::instead_of(text).is_some()
    }
}

/// Reads the drives in the output of a tool. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error if the text is not the output of a supported tool, or if it does not list a drive.
pub fn read(text: &str, file: &str) -> Result<Vec<DescribedDrive>, FormatError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut drives = if lstopo::is_ours(text) {
        lstopo::read(text).map_err(|(line, message)| FormatError::at(file, line, message))?
    } else if nvme_list::is_table(text) {
        nvme_list::table(text)
    } else if let Some(instead) = pasted::instead_of(text) {
        return Err(FormatError::file(file, "no drives are listed").hint(instead));
    } else if let Some(drives) = pasted::read(text) {
        drives
    } else {
        let root: Value = serde_json::from_str(text).map_err(|error| {
            FormatError::at(file, error.line() as u64, format!("not JSON: {error}")).hint(HINT)
        })?;
        if let Some(devices) = root.get("blockdevices") {
            lsblk::read(devices)
        } else if let Some(devices) = root.get("Devices") {
            nvme_list::json(devices)
        } else if root.get("json_format_version").is_some() {
            smartctl::read(&root)
        } else if let Some(drives) = pasted::json(&root) {
            drives
        } else {
            return Err(FormatError::file(file, "no drives are listed").hint(HINT));
        }
    };
    if drives.is_empty() {
        return Err(FormatError::file(file, "no drives are listed").hint(HINT));
    }
    if drives.len() > DRIVES_MAX {
        let message = format!("{} drives; the maximum is {DRIVES_MAX}", drives.len());
        return Err(FormatError::file(file, message));
    }
    drives.iter_mut().for_each(DescribedDrive::judge);
    Ok(drives)
}

/// Outputs that can be read, for hints.
pub const HINT: &str = "use the output of `nvme list`, `nvme smart-log`, `smartctl -a`, `lsblk -J -O`, `lsusb -t`, `dmesg`, \
                        `sudo lspci -vvv` or `lstopo --of xml`, or the text of CrystalDiskInfo";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_drives_is_an_error() {
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

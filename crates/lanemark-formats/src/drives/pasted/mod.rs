//! Drives in texts that people paste: the outputs of tools for people, and the log of the kernel.
//!
//! | file | contents |
//! |---|---|
//! | `keyed` | lines of a key and a value |
//! | `smart_text` | `smartctl -a`, `nvme smart-log` and `nvme id-ctrl`, as text and as JSON |
//! | `kernel_log` | `dmesg` or `journalctl -k` |
//! | `lsusb` | `lsusb -t` |
//! | `lsblk_text` | `lsblk` as a table |
//! | `crystal_disk_info` | the text that CrystalDiskInfo copies |

mod crystal_disk_info;
mod kernel_log;
mod keyed;
mod lsblk_text;
mod lsusb;
mod smart_text;

use serde_json::Value;

use super::described::DescribedDrive;

/// A reader of one kind of text, with the function that recognises the text.
type PastedReader = (fn(&str) -> bool, fn(&str) -> Vec<DescribedDrive>);

/// All readers. The first one that recognises a text reads it.
const READERS: [PastedReader; 6] = [
    (crystal_disk_info::is_ours, crystal_disk_info::read),
    (smart_text::is_ours, smart_text::read),
    (lsusb::is_ours, lsusb::read),
    (lsblk_text::is_ours, lsblk_text::read),
    (kernel_log::is_ours, kernel_log::read),
    (smart_text::is_health_log, smart_text::read_health_log),
];

/// Returns whether a reader recognises the text.
pub(super) fn is_ours(text: &str) -> bool {
    READERS.iter().any(|(is_ours, _)| is_ours(text))
}

/// Reads the drives in a text; `None` if no reader recognises it.
pub(super) fn read(text: &str) -> Option<Vec<DescribedDrive>> {
    let (_, read) = READERS.iter().find(|(is_ours, _)| is_ours(text))?;
    Some(read(text))
}

/// Reads the JSON of `nvme smart-log` or `nvme id-ctrl`; `None` if the object is something else.
pub(super) fn json(root: &Value) -> Option<Vec<DescribedDrive>> {
    smart_text::json(root)
}

/// Returns the command whose output can be read instead of a text that is recognised but does not describe drives.
pub(super) fn instead_of(text: &str) -> Option<&'static str> {
    text.trim_start().starts_with("Personalities :").then_some(
        "this is /proc/mdstat, which lists arrays without their drives; use the output of `lsblk -J -O`",
    )
}

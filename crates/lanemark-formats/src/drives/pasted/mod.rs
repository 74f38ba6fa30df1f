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

/// Returns whether the text is a log of the kernel.
pub(super) fn is_kernel_log(text: &str) -> bool {
    kernel_log::is_ours(text)
}

/// Reads the JSON of `nvme smart-log` or `nvme id-ctrl`; `None` if the object is something else.
pub(super) fn json(root: &Value) -> Option<Vec<DescribedDrive>> {
    smart_text::json(root)
}

#[cfg(test)]
mod tests {
    use super::super::read as read_any;

    /// Every cut and every changed byte of a text gives drives or an error, and a text with too many drives an error.
    #[test]
    fn hostile_texts_end_in_drives_or_errors() {
        let texts = [
            "smartctl 7.3\nModel Number: A\nUser Capacity: 1,0 bytes\nSATA Version is: 3, 6 (current: 3)\n",
            "Smart Log for NVME device:nvme0 x\ntemperature : 9e999 C\npercentage_used : 3%\n",
            "{\"critical_warning\":1e300,\"percent_used\":3,\"temperature\":-1,\"tnvmcap\":1e40}",
            "NAME MODEL TRAN SIZE ROTA\nsda A B sata 1e99G 0\n",
            "CrystalDiskInfo 8\n Model : A\n Interface : B\n Health Status : Good ((%)\n",
            "/:  Bus 1\n |__ Port 1: Class=Mass Storage, Driver=uas, 99999999999M\n",
            "[ 1.0] ata1: SATA link up 6.0 Gbps\n[ 1.1] ata1.00: 99999999999999999999 sectors, x\n",
        ];
        for text in texts {
            for at in 0..text.len() {
                let _ = read_any(&text[..at], "f");
                for byte in ["\0", "\u{e9}", ":", "-", "\n"] {
                    let _ = read_any(&format!("{}{byte}{}", &text[..at], &text[at + 1..]), "f");
                }
            }
        }
        let bridge = " |__ Port 1: Class=Mass Storage, Driver=uas, 5M\n".repeat(20_000);
        assert!(read_any(&format!("/:  Bus 1\n{bridge}"), "f").is_err());
    }
}

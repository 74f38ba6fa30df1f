//! The drives of a machine as administration tools list them: models, sizes, wear and temperature.
//!
//! | file | contents |
//! |---|---|
//! | `described` | a drive, and functions for values in descriptions |
//! | `nvme_list` | `nvme list`, as a table and with `-o json` |
//! | `smartctl` | `smartctl -j`, for one drive |
//! | `smart_attributes` | the attributes of ATA drives, in text and JSON |
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
mod smart_attributes;
mod smartctl;

use lanemark_schema::pasted::{after_prompt, restored};
use serde_json::{Deserializer, Value};

use crate::error::FormatError;
use crate::known;
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

/// Returns whether the text is a list of drives that [`read`] reads.
pub fn is_ours(text: &str) -> bool {
    let text = &*restored(text);
    parts(text).any(is_part) || is_part(text)
}

/// Returns whether a text without prompts is the output of a tool.
fn is_part(text: &str) -> bool {
    json_start(text).is_some()
        || lstopo::is_ours(text)
        || nvme_list::is_table(text)
        || pasted::is_ours(text)
}

/// Reads the drives in the output of a tool, or of several tools if each output follows the prompt of a shell. `file`
/// is the name of the text in errors.
///
/// # Errors
/// Returns an error if the text is not the output of a supported tool, or if it does not list a drive.
pub fn read(text: &str, file: &str) -> Result<Vec<DescribedDrive>, FormatError> {
    let text = &*restored(text);
    let outputs: Vec<&str> = parts(text).filter(|part| is_part(part)).collect();
    let mut drives = Vec::new();
    let mut first_error = None;
    for output in outputs.iter().copied() {
        match read_part(output, file) {
            Ok(listed) => drives.extend(listed),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if outputs.is_empty() {
        drives = read_part(text, file)?;
    }
    if drives.is_empty() {
        let nothing = || FormatError::file(file, "no drives are listed").hint(HINT);
        return Err(first_error.unwrap_or_else(nothing));
    }
    if drives.len() > DRIVES_MAX {
        let message = format!("{} drives; the maximum is {DRIVES_MAX}", drives.len());
        return Err(FormatError::file(file, message));
    }
    drives.iter_mut().for_each(DescribedDrive::judge);
    Ok(drives)
}

/// Returns the outputs of the commands in a text from a terminal: the lines from one prompt to the next.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let lines = rest.split_inclusive('\n').skip(1);
        let lengths = lines.take_while(|line| after_prompt(line).is_none()).map(str::len);
        let first = rest.split_inclusive('\n').next().map_or(0, str::len);
        let (part, after) = rest.split_at(first + lengths.sum::<usize>());
        rest = after;
        // The command itself may contain a word by which another tool's output is recognised.
        Some(if after_prompt(part).is_some() { &part[first..] } else { part })
    })
}

/// Reads the output of one tool.
fn read_part(text: &str, file: &str) -> Result<Vec<DescribedDrive>, FormatError> {
    if lstopo::is_ours(text) {
        return lstopo::read(text).map_err(|(line, message)| FormatError::at(file, line, message));
    }
    if nvme_list::is_table(text) {
        return Ok(nvme_list::table(text));
    }
    if let Some(start) = json_start(text) {
        return json_documents(text, start, file);
    }
    let listed = pasted::read(text).unwrap_or_default();
    if !listed.is_empty() {
        return Ok(listed);
    }
    Err(match known::find(text) {
        Some(known) => FormatError::file(file, format!("is {}", known.name)).hint(known.advice),
        None if pasted::is_kernel_log(text) => {
            let message = "the log does not mention a drive's link, errors or health";
            FormatError::file(file, message).hint(
                "`sudo smartctl -a /dev/sda` states the health, and `sudo lspci -vvv` the links",
            )
        }
        None => FormatError::file(file, "no drives are listed").hint(HINT),
    })
}

/// Returns the position of the first object in a text with keys that [`read`] reads. Warnings may precede the object.
fn json_start(text: &str) -> Option<usize> {
    let is_known = KEYS.iter().any(|key| text.contains(key));
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').map(|line| {
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        (start, line.trim_start())
    });
    is_known.then(|| lines.find(|(_, line)| line.starts_with('{'))).flatten().map(|(at, _)| at)
}

/// Reads the objects from `start`, one after another.
fn json_documents(
    text: &str,
    start: usize,
    file: &str,
) -> Result<Vec<DescribedDrive>, FormatError> {
    let mut drives = Vec::new();
    let mut at = start;
    while let Some(next) = json_start(&text[at..]) {
        at += next;
        let mut values = Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let root = match values.next() {
            Some(Ok(root)) => root,
            Some(Err(error)) => {
                let line = text[..at].lines().count() + error.line();
                return Err(if error.is_eof() {
                    FormatError::at(file, line as u64, "the JSON ends before it is complete")
                        .hint("use the whole output of the command")
                } else {
                    FormatError::at(file, line as u64, format!("not JSON: {error}")).hint(HINT)
                });
            }
            None => break,
        };
        at += values.byte_offset();
        drives.extend(json_drives(&root));
    }
    Ok(drives)
}

/// Returns the drives in an object.
fn json_drives(root: &Value) -> Vec<DescribedDrive> {
    if let Some(devices) = root.get("blockdevices") {
        lsblk::read(devices)
    } else if let Some(devices) = root.get("Devices") {
        nvme_list::json(devices)
    } else if root.get("json_format_version").is_some() {
        smartctl::read(root)
    } else {
        pasted::json(root).unwrap_or_default()
    }
}

/// Outputs that can be read, for hints.
pub const HINT: &str = "use the output of `nvme list`, `nvme smart-log`, `smartctl -a`, `lsblk -J -O`, `lsusb -t`, `dmesg`, \
                        `sudo lspci -vvv` or `lstopo --of xml`, or the text that CrystalDiskInfo copies";

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

    #[test]
    fn each_output_after_a_prompt_is_read_by_its_own_reader() {
        let text = "user@box:~$ lsusb -t\n/:  Bus 02.Port 1: Dev 1, Class=root_hub, Driver=xhci_hcd/4p, 5000M\n    \
                    |__ Port 1: Dev 3, If 0, Class=Mass Storage, Driver=[none], 20000M/x2\n\
                    user@box:~$ df -h\nFilesystem Size Used Avail Use% Mounted on\n\
                    user@box:~$ sudo nvme smart-log -o json /dev/nvme0\nwarning: x\n{\"critical_warning\":0,\n\
                    \"percent_used\":3,\"temperature\":354}\n{\"critical_warning\":4,\"percent_used\":9}\nuser@box:~$ \n";
        let drives = read(text, "f").unwrap();
        let used: Vec<_> = drives.iter().map(|drive| drive.endurance_used).collect();
        assert_eq!(used, [None, Some(3.0), Some(9.0)]);
        assert_eq!(drives[0].transport.as_deref(), Some("usb, 20 Gb/s"));
        assert_eq!(drives[0].findings, ["no driver has claimed it"]);
        assert_eq!(drives[2].findings, ["the drive reports that its reliability is degraded"]);
        let quoted = text.lines().map(|line| format!("> {line}\r\n")).collect::<String>();
        assert_eq!(read(&quoted, "f").unwrap(), drives);
    }

    #[test]
    fn a_text_that_does_not_describe_drives_names_the_command_that_does() {
        for (text, found, advice) in [
            (
                "smartctl 7.3\n\nSmartctl open device: /dev/nvme0 failed: Permission denied\n",
                "could not open",
                "sudo",
            ),
            (
                "/:  Bus 02.Port 1: Dev 1, Class=root_hub, Driver=x, 5000M\n",
                "without a mass storage device",
                "lsusb",
            ),
            ("[    0.1] Linux version 6\n[    0.2] x\n", "does not mention", "smartctl"),
            ("{\"json_format_version\": [1,\n", "ends before", "whole output"),
        ] {
            assert!(is_ours(text), "{text}");
            let error = read(text, "f").unwrap_err();
            assert!(error.to_string().contains(found), "{text}: {error}");
            assert!(error.hint.as_ref().is_some_and(|hint| hint.contains(advice)), "{text}");
        }
    }
}

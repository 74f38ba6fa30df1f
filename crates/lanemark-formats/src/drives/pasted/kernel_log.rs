//! The log of the kernel (`dmesg`, `journalctl -k`): drives with the links that the kernel reports and slows down.

use super::super::described::{DescribedDrive, TEXT_MAX};
use super::lsusb::BULK_ONLY;

/// Length of the vendor in SCSI's inquiry data.
const VENDOR: usize = 8;
/// Maximum number of drives and links that are remembered.
const LINKS_MAX: usize = 1_000;
/// Share of a SATA link's rate after 8b/10b coding that frames of 8 KiB leave for data.
const SATA_DATA_SHARE: f64 = 0.945;

/// A link, with the statements of the log about it.
#[derive(Debug, Default)]
struct LoggedLink {
    /// Name of the link: `ata1`, `0000:01:00.0`, `2-1`.
    name: String,
    drive: DescribedDrive,
    /// The first and the last rate of a SATA link, in Gb/s.
    rates: Option<(f64, f64)>,
    /// Whether the kernel limited the speed of the SATA link.
    is_limited: bool,
    resets: u32,
    failed_requests: u32,
    is_mass_storage: bool,
    notes: Vec<String>,
}

/// Parts of messages by which a log without times is recognised.
const MESSAGES: [&str; 5] = [
    "SATA link up",
    "limiting SATA link speed",
    "available PCIe bandwidth",
    "USB Mass Storage device detected",
    "I/O error, dev ",
];

pub(super) fn is_ours(text: &str) -> bool {
    let is_message = |line: &str| {
        let message = message(line);
        message != line.trim_start() || line.contains(" kernel: ")
    };
    text.lines().take(50).filter(|line| is_message(line)).count() >= 2
        || text.lines().take(50).any(|line| MESSAGES.iter().any(|part| line.contains(part)))
}

/// Returns the message of a line, without its time and the name of the host. The time is `[ 5.195416]`, `[Mon Apr 3
/// 21:10:11 2023]` or, in ISO 8601, a word.
fn message(line: &str) -> &str {
    let line = line.split_once(" kernel: ").map_or(line, |(_, message)| message).trim_start();
    let is_time = |text: &str| {
        text.contains([':', '.'])
            && text.bytes().any(|byte| byte.is_ascii_digit())
            && text.chars().all(|letter| letter.is_alphanumeric() || " :.,+-".contains(letter))
    };
    // `dmesg -r` begins with the level, such as `<6>`.
    let line = match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((level, rest)) if level.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => line,
    };
    let timed = match line.strip_prefix('[') {
        Some(rest) => rest.split_once(']'),
        None => line.split_once(' ').filter(|(time, _)| time.get(4..5) == Some("-")),
    };
    match timed {
        Some((time, message)) if is_time(time) => message.trim_start(),
        _ => line,
    }
}

pub(super) fn read(text: &str) -> Vec<DescribedDrive> {
    let mut links: Vec<LoggedLink> = Vec::new();
    for line in text.lines() {
        note(&mut links, message(line));
    }
    links.into_iter().filter_map(LoggedLink::finish).collect()
}

fn note(links: &mut Vec<LoggedLink>, message: &str) {
    if let Some((_, rest)) = message.split_once("I/O error, dev ") {
        // `blk_update_request: I/O error, dev sda, sector 123456 op 0x0:(READ)`
        let name = rest.split([',', ' ']).next().unwrap_or_default();
        if let Some(link) = link(links, name) {
            link.failed_requests += 1;
        }
        return;
    }
    let Some((source, rest)) = message.split_once(": ") else { return };
    let words: Vec<&str> = source.split_whitespace().collect();
    match words.as_slice() {
        [port] if port.starts_with("ata") => {
            // `ata1.00` is the device of the link `ata1`.
            let name = port.split('.').next().unwrap_or(port);
            if let Some(link) = link(links, name) {
                link.note_ata(rest);
            }
        }
        [driver, address]
            if matches!(*driver, "nvme" | "pci" | "ahci" | "mpt3sas") && address.contains(':') =>
        {
            if rest.contains("available PCIe bandwidth")
                && let Some(link) = link(links, address)
            {
                link.drive.transport = (*driver == "nvme").then(|| "nvme".to_owned());
                link.notes.push(limit_of_pcie(rest));
            }
        }
        [controller] | ["nvme", controller] if controller.starts_with("nvme") => {
            if let Some(address) = rest.strip_prefix("pci function ") {
                // Later messages name the controller instead of its address.
                if let Some(link) = links.iter_mut().find(|link| link.name == address.trim()) {
                    link.name = controller.chars().take(64).collect();
                }
            } else if (rest.contains("timeout")
                || rest.contains("Device not ready")
                || rest.contains("controller is down"))
                && let Some(link) = link(links, controller)
            {
                link.drive.transport = Some("nvme".to_owned());
                link.resets += 1;
            }
        }
        ["usb" | "usb-storage" | "scsi" | "uas", position, ..] => {
            note_usb(links, position.split(':').next().unwrap_or(position), rest);
        }
        _ => {}
    }
}

/// Returns the link of this name, which is created if necessary and possible.
fn link<'l>(links: &'l mut Vec<LoggedLink>, name: &str) -> Option<&'l mut LoggedLink> {
    let name: String = name.chars().take(64).collect();
    match links.iter().position(|link| link.name == name) {
        Some(at) => links.get_mut(at),
        None if links.len() < LINKS_MAX => {
            links.push(LoggedLink { name, ..LoggedLink::default() });
            links.last_mut()
        }
        None => None,
    }
}

/// Records a message about a USB device, or about a drive that the last USB device provides.
fn note_usb(links: &mut Vec<LoggedLink>, position: &str, rest: &str) {
    if let Some(model) = rest.strip_prefix("Direct-Access") {
        // `scsi 0:0:0:0: Direct-Access     ATA      Samsung SSD 850  2B6Q PQ: 0 ANSI: 5`
        let identity = model.split(" PQ:").next().unwrap_or(model);
        let words: Vec<&str> = identity.split_whitespace().collect();
        let model = words.split_last().map(|(_, model)| model).unwrap_or_default();
        // SCSI has 8 characters for the vendor, and bridges continue the model in the next field.
        let is_continued = model.first().is_some_and(|vendor| vendor.len() == VENDOR);
        let model = match model {
            [vendor, rest @ ..] if is_continued => vendor.to_string() + &rest.join(" "),
            words => words.join(" "),
        };
        if let Some(usb) =
            links.iter_mut().rev().find(|link| link.is_mass_storage && link.drive.model.is_none())
        {
            usb.drive.model = Some(model.chars().take(TEXT_MAX).collect());
        }
        return;
    }
    let Some(link) = link(links, position) else { return };
    if rest.contains("UAS is blacklisted") || rest.contains("UAS is ignored") {
        link.is_mass_storage = true;
        link.notes.push(format!("the kernel does not use UAS for this bridge: {BULK_ONLY}"));
    } else if rest.contains("USB Mass Storage device detected") {
        link.is_mass_storage = true;
        if link.notes.is_empty() {
            link.notes.push(BULK_ONLY.to_owned());
        }
    } else if rest.starts_with("new high-speed USB device")
        || rest.starts_with("new full-speed USB device")
    {
        link.drive.transport = Some("usb, 0.48 Gb/s or less".to_owned());
    } else if let Some(kind) =
        rest.strip_prefix("new ").and_then(|rest| rest.split(" USB device").next())
        && kind.starts_with("Super")
    {
        link.drive.transport = Some(format!("usb, {}", kind.chars().take(40).collect::<String>()));
    } else if rest.contains("reset ") && rest.contains(" USB device") {
        link.resets += 1;
    }
}

/// Returns `12.6 Gb/s of 31.5 Gb/s, limited by 2.5 GT/s PCIe x4 link at 0000:00:1c.0`.
fn limit_of_pcie(message: &str) -> String {
    let available = message.split(" available").next().unwrap_or_default();
    let limit = message.split("limited by ").nth(1).unwrap_or_default();
    let (limit, capable) = limit.split_once(" (capable of ").unwrap_or((limit, ""));
    let capable = capable.split(" with ").next().unwrap_or_default();
    let of = if capable.is_empty() { String::new() } else { format!(" of {capable}") };
    let text = format!("the path has {available}{of}, limited by {limit}");
    text.chars().take(TEXT_MAX).collect()
}

impl LoggedLink {
    fn note_ata(&mut self, message: &str) {
        if let Some(rate) = message.strip_prefix("SATA link up ").and_then(first_number) {
            let (first, _) = self.rates.unwrap_or((rate, rate));
            self.rates = Some((first.max(rate), rate));
            self.is_limited = message.split("SControl ").nth(1).is_some_and(has_speed_limit);
        } else if let Some(rate) =
            message.strip_prefix("limiting SATA link speed to ").and_then(first_number)
        {
            let (first, _) = self.rates.unwrap_or((rate, rate));
            self.rates = Some((first, rate));
        } else if message.starts_with("NCQ disabled due to excessive errors") {
            self.notes.push("the kernel disabled queued commands (NCQ) after errors".to_owned());
        } else if let Some(mode) = message.strip_prefix("limiting speed to ") {
            let mode: String = mode.chars().take(TEXT_MAX).collect();
            self.notes.push(format!("the kernel limits the transfers to {mode}: check the cable"));
        } else if message.starts_with("hard resetting link")
            || message.contains("link is slow to respond")
        {
            self.resets += 1;
        } else if let Some((_, identity)) =
            message.starts_with("ATA").then(|| message.split_once(": ")).flatten()
        {
            // `ATA-9: Samsung SSD 850 EVO 250GB, EMT01B6Q, max UDMA/133`
            let mut parts = identity.split(", ");
            let mut part = || Some(parts.next()?.trim().chars().take(TEXT_MAX).collect::<String>());
            self.drive.model = part();
            self.drive.firmware = part();
        } else if let Some((sectors, rest)) = message.split_once(" sectors") {
            self.drive.size_bytes =
                sectors.trim().parse::<u64>().ok().and_then(|count| count.checked_mul(512));
            if rest.contains("NCQ (not used)") || rest.contains("NCQ (depth 0/") {
                self.notes.push("the kernel does not use queued commands (NCQ)".to_owned());
            }
        }
    }

    /// Returns the drive with its findings; `None` if the log states nothing about a drive on this link.
    fn finish(self) -> Option<DescribedDrive> {
        let is_usb = self.drive.transport.as_deref().is_some_and(|name| name.starts_with("usb"));
        if self.drive.model.is_none()
            && self.rates.is_none()
            && self.notes.is_empty()
            && self.resets == 0
            && self.failed_requests == 0
            || is_usb && !self.is_mass_storage
        {
            return None;
        }
        let mut drive = self.drive;
        if let Some((first, last)) = self.rates {
            drive.transport = Some(format!("sata, {last:.1} Gb/s"));
            if last < first {
                let carries = last * 100.0 * SATA_DATA_SHARE;
                drive.findings.push(format!(
                    "the link fell from {first:.1} to {last:.1} Gb/s after {}, and carries about {:.0} MB/s: check the \
                     cable and the port",
                    times(self.resets, "reset"),
                    (carries / 10.0).floor() * 10.0
                ));
            } else if self.is_limited {
                drive.findings.push(format!(
                    "the kernel limits the link to {last:.1} Gb/s: check the cable, the port, and the kernel's options \
                     (libata.force)"
                ));
            }
        }
        if self.resets > 0 && drive.findings.is_empty() {
            let resets = match self.resets {
                1 => "1 reset or timeout".to_owned(),
                count => format!("{count} resets or timeouts"),
            };
            drive.findings.push(format!("{resets} of the link or the drive"));
        }
        if self.failed_requests > 0 {
            drive.findings.push(times(self.failed_requests, "failed request"));
        }
        drive.findings.extend(self.notes);
        drive.name = Some(self.name);
        Some(drive)
    }
}

/// Returns whether the register SControl, such as `320)`, limits the speed: the middle digit is the generation of the
/// limit, and 0 is no limit (Serial ATA specification, SControl, field SPD).
fn has_speed_limit(register: &str) -> bool {
    register
        .trim_end_matches(')')
        .chars()
        .rev()
        .nth(1)
        .is_some_and(|digit| ('1'..='9').contains(&digit))
}

fn times(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|rate: &f64| (0.1..1000.0).contains(rate))
}

#[cfg(test)]
mod tests {
    use super::super::super::read as read_any;

    #[test]
    fn a_sata_link_that_the_kernel_slowed_down_is_found() {
        let text = "[    5.5] ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)\n\
                    [    5.6] ata1.00: ATA-9: Samsung SSD 850 EVO 250GB, EMT01B6Q, max UDMA/133\n\
                    [    5.7] ata1.00: 488397168 sectors, multi 1: LBA48 NCQ (depth 31/32), AA\n\
                    [    5.8] ata2: SATA link up 3.0 Gbps (SStatus 123 SControl 300)\n\
                    [  812.1] ata1: hard resetting link\n[  812.4] ata1: limiting SATA link speed to 3.0 Gbps\n\
                    [  812.8] ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 320)\n";
        let drives = read_any(text, "f").unwrap();
        assert_eq!(drives.len(), 2);
        assert_eq!(drives[0].model.as_deref(), Some("Samsung SSD 850 EVO 250GB"));
        assert_eq!(drives[0].size_bytes, Some(250_059_350_016));
        let finding = &drives[0].findings[0];
        assert!(
            finding.contains("from 6.0 to 3.0 Gb/s after 1 reset, and carries about 280 MB/s"),
            "{finding}"
        );
        assert!(drives[1].findings.is_empty());
        // The times of `dmesg -T`, of `dmesg --time-format iso` and of `dmesg -r`, and a log without times.
        for time in
            ["[Mo Apr  3 21:10:11 2023] ", "2023-04-03T21:10:11,123+02:00 ", "<6>[    5.5] ", ""]
        {
            let other = text.lines().map(|line| {
                let (_, message) = line.split_once("] ").unwrap();
                format!("{time}{message}\n")
            });
            assert_eq!(read_any(&other.collect::<String>(), "f").unwrap(), drives, "{time}");
        }
        let failed =
            "[6411199.1] blk_update_request: I/O error, dev sda, sector 123456 op 0x0:(READ)\n";
        assert_eq!(read_any(failed, "f").unwrap()[0].findings, ["1 failed request"]);
        // The kernel had reduced the speed before the log begins.
        let limited = "[ 2.1] ata3: SATA link up 1.5 Gbps (SStatus 113 SControl 310)\n[ 2.2] ata3.00: configured for UDMA/133\n";
        let drives = read_any(limited, "f").unwrap();
        assert!(
            drives[0].findings[0].starts_with("the kernel limits the link to 1.5 Gb/s"),
            "{drives:?}"
        );
    }

    #[test]
    fn a_controller_and_its_address_are_one_drive_and_reduced_modes_are_findings() {
        let text = "[    1.000000] nvme 0000:01:00.0: 7.876 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x1 \
                    link at 0000:00:1c.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)\n\
                    [    1.100000] nvme nvme0: pci function 0000:01:00.0\n\
                    [    2.000000] nvme nvme0: I/O 5 QID 1 timeout, aborting\n\
                    [    3.000000] ata3.00: NCQ disabled due to excessive errors\n\
                    [    3.100000] ata3.00: limiting speed to UDMA/100:PIO4\n";
        let drives = read_any(text, "f").unwrap();
        assert_eq!(drives.len(), 2, "{drives:?}");
        let findings = drives[1].findings.join("; ");
        assert!(findings.contains("(NCQ) after errors"), "{findings}");
        assert!(findings.contains("UDMA/100:PIO4"), "{findings}");
    }

    #[test]
    fn a_pcie_limit_and_a_usb_bridge_are_found() {
        let text = "Nov 1 12:00:00 host kernel: nvme 0000:01:00.0: 7.876 Gb/s available PCIe bandwidth, limited by \
                    8.0 GT/s PCIe x1 link at 0000:00:1c.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)\n\
                    Nov 1 12:00:01 host kernel: usb 2-1: new SuperSpeed Gen 1 USB device number 3 using xhci_hcd\n\
                    Nov 1 12:00:01 host kernel: usb 2-1: UAS is blacklisted for this device, using usb-storage instead\n\
                    Nov 1 12:00:01 host kernel: usb-storage 2-1:1.0: USB Mass Storage device detected\n\
                    Nov 1 12:00:02 host kernel: scsi 0:0:0:0: Direct-Access     CT240BX5 00SSD1   3202 PQ: 0 ANSI: 6\n\
                    Nov 1 12:00:03 host kernel: usb 1-2: new high-speed USB device number 4 using xhci_hcd\n";
        let drives = read_any(text, "f").unwrap();
        assert_eq!(drives.len(), 2, "{drives:?}");
        assert_eq!(
            drives[0].findings,
            [
                "the path has 7.876 Gb/s of 31.504 Gb/s, limited by 8.0 GT/s PCIe x1 link at 0000:00:1c.0"
            ]
        );
        assert_eq!(drives[1].model.as_deref(), Some("CT240BX500SSD1"));
        assert_eq!(drives[1].findings.len(), 1);
        assert!(drives[1].findings[0].contains("one request outstanding"));
    }
}

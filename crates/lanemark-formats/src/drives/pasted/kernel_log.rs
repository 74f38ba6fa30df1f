//! The log of the kernel (`dmesg`, `journalctl -k`): drives with the links that the kernel reports and slows down.

use super::super::described::{DescribedDrive, TEXT_MAX, is_drive_name};
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
    /// Number of errors of the PCI Express link.
    link_errors: u32,
    is_mass_storage: bool,
    /// Whether the kernel names the function as a controller of a drive.
    is_controller: bool,
    /// Whether the function's class shows that it is not a drive.
    is_other: bool,
    /// The message with which the kernel gave the drive up.
    given_up: Option<String>,
    notes: Vec<String>,
}

/// Parts of messages by which a log without times is recognised.
const MESSAGES: [&str; 8] = [
    "SATA link up",
    "limiting SATA link speed",
    "available PCIe bandwidth",
    "USB Mass Storage device detected",
    "I/O error, dev ",
    " error, dev sd",
    "I/O Error (sct",
    "PCIe Bus Error: ",
];
/// Messages with which the kernel gives a drive up.
const GIVEN_UP: [&str; 4] = [
    "giving up",
    "detaching (SCSI",
    "Disabling device after reset failure",
    "Removing after probe failure",
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

/// Returns the drive whose request failed: `critical medium error, dev sda, sector 123456` or
/// `nvme0n1: I/O Cmd(0x2) @ LBA 9, 8 blocks, I/O Error (sct 0x2 / sc 0x81)`.
fn failed_drive(message: &str) -> Option<&str> {
    let name = match message.split_once(" error, dev ") {
        Some((_, rest)) => rest.split([',', ' ']).next()?,
        None => {
            message.split_once(": I/O Cmd(").filter(|(_, rest)| rest.contains("I/O Error (sct"))?.0
        }
    };
    let name = name.rsplit(' ').next()?;
    // A namespace belongs to its controller.
    let number = name.strip_prefix("nvme").and_then(|rest| rest.split('n').next());
    let name = number.map_or(name, |number| &name[.."nvme".len() + number.len()]);
    is_drive_name(name).then_some(name)
}

fn note(links: &mut Vec<LoggedLink>, message: &str) {
    if message.contains(" error, dev ") || message.contains("I/O Error (sct") {
        if let Some(link) = failed_drive(message).and_then(|name| link(links, name)) {
            link.failed_requests += 1;
        }
        return;
    }
    if let Some((array, rest)) = message.split_once(": Disk failure on ") {
        // `md/raid1:md0: Disk failure on sdb1, disabling device.`
        let name = rest.split([',', ' ']).next().unwrap_or_default();
        if let Some(link) = link(links, name) {
            link.give_up(&format!("{} failed it", array.rsplit(':').next().unwrap_or(array)));
        }
        return;
    }
    if message.contains("uas_eh_")
        && let Some(usb) = links.iter_mut().rev().find(|link| link.is_usb())
    {
        usb.is_mass_storage = true;
        usb.resets += 1;
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
                // `ata2.00: error: { UNC }`: the drive could not read a sector.
                let errors = rest.strip_prefix("error: {").unwrap_or_default();
                link.failed_requests += u32::from(errors.split(' ').any(|error| error == "UNC"));
            }
        }
        [driver, address]
            if matches!(*driver, "nvme" | "pci" | "ahci" | "mpt3sas") && address.contains(':') =>
        {
            note_function(links, driver, address, rest);
        }
        [controller] | ["nvme", controller] if controller.starts_with("nvme") => {
            note_nvme(links, controller, rest);
        }
        ["scsi", host] if host.starts_with("host") && rest == "uas" => {
            if let Some(usb) = links.iter_mut().rev().find(|link| link.is_usb()) {
                usb.is_mass_storage = true;
            }
        }
        ["usb" | "usb-storage" | "scsi" | "uas", position, ..] => {
            note_usb(links, position.split(':').next().unwrap_or(position), rest);
        }
        _ => {}
    }
}

/// Returns whether the kernel gives the drive of a message up, as in `ata3.00: disabled`.
fn gives_up(message: &str) -> bool {
    message == "disabled" || GIVEN_UP.iter().any(|part| message.contains(part))
}

/// Records a message about a PCI function.
fn note_function(links: &mut Vec<LoggedLink>, driver: &str, address: &str, rest: &str) {
    let class = rest.split(" class 0x").nth(1);
    let is_limit = rest.contains("available PCIe bandwidth, limited by ");
    let is_error = rest.contains("PCIe Bus Error: ");
    if class.is_none() && !is_limit && !(is_error && driver == "nvme") {
        return;
    }
    let Some(link) = link(links, address) else { return };
    if let Some(class) = class {
        link.is_other = !class.starts_with("01");
    }
    if driver == "nvme" {
        link.drive.transport = Some("nvme".to_owned());
    }
    if is_limit {
        link.notes.push(limit_of_pcie(rest));
    }
    link.link_errors += u32::from(is_error);
}

/// Records a message about an NVMe controller.
fn note_nvme(links: &mut Vec<LoggedLink>, controller: &str, rest: &str) {
    if let Some(address) = rest.strip_prefix("pci function ") {
        // Later messages name the controller instead of its address.
        if let Some(link) = link(links, address.trim()) {
            link.name = controller.chars().take(64).collect();
            link.is_controller = true;
            link.is_other = false;
        }
        return;
    }
    let is_reset = ["timeout", "Device not ready", "controller is down"];
    let is_given_up = gives_up(rest);
    if !is_given_up && !is_reset.iter().any(|part| rest.contains(part)) {
        return;
    }
    let Some(link) = link(links, controller) else { return };
    link.drive.transport = Some("nvme".to_owned());
    if is_given_up {
        link.give_up(rest);
    } else {
        link.resets += 1;
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
    fn is_usb(&self) -> bool {
        self.drive.transport.as_deref().is_some_and(|name| name.starts_with("usb"))
    }

    /// Records that the kernel no longer uses the drive.
    fn give_up(&mut self, message: &str) {
        self.given_up = Some(message.chars().take(TEXT_MAX).collect());
    }

    fn note_ata(&mut self, message: &str) {
        // The ports without a drive are down, too.
        let is_down = message.starts_with("SATA link down")
            && (self.rates.is_some() || self.drive.model.is_some());
        if is_down || gives_up(message) {
            self.give_up(message);
        } else if let Some(rate) = message.strip_prefix("SATA link up ").and_then(first_number) {
            self.given_up = None;
            let (first, _) = self.rates.unwrap_or((rate, rate));
            self.rates = Some((first.max(rate), rate));
            self.is_limited = message.split("SControl ").nth(1).is_some_and(has_speed_limit);
        } else if let Some(rate) =
            message.strip_prefix("limiting SATA link speed to ").and_then(first_number)
        {
            match self.rates {
                Some((first, _)) => self.rates = Some((first, rate)),
                None => self.notes.push(format!("the kernel limits the link to {rate:.1} Gb/s")),
            }
        } else if message.starts_with("NCQ disabled due to excessive errors") {
            self.notes.push("the kernel disabled queued commands (NCQ) after errors".to_owned());
        } else if let Some(mode) = message.strip_prefix("limiting speed to ") {
            let mode: String = mode.chars().take(TEXT_MAX).collect();
            self.notes.push(format!("the kernel limits the transfers to {mode}: check the cable"));
        } else if message.starts_with("hard resetting link")
            || message.starts_with("COMRESET failed")
            || message.starts_with("softreset failed")
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
        if self.drive.model.is_none()
            && self.given_up.is_none()
            && self.link_errors == 0
            && !self.is_controller
            && self.rates.is_none()
            && self.notes.is_empty()
            && self.resets == 0
            && self.failed_requests == 0
            || self.is_usb() && !self.is_mass_storage
            || self.is_other
        {
            return None;
        }
        let mut drive = self.drive;
        if let Some(message) = &self.given_up {
            drive.findings.push(format!("the kernel no longer uses it: {message}"));
        } else if let Some((first, last)) = self.rates {
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
        if self.link_errors > 0 {
            drive.findings.push(times(self.link_errors, "error") + " of the PCI Express link");
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
    fn drives_that_the_kernel_gave_up_come_first_and_other_devices_are_no_drives() {
        for (text, name, finding) in [
            (
                "[1.0] ata4: COMRESET failed (errno=-16)\n[2.0] ata4: limiting SATA link speed to 1.5 Gbps\n\
                 [3.0] ata4: reset failed, giving up\n",
                "ata4",
                "the kernel no longer uses it: reset failed, giving up",
            ),
            (
                "[1.0] ata3: SATA link up 6.0 Gbps (SStatus 133 SControl 300)\n[2.0] ata3: SATA link down (SStatus 0)\n\
                 [2.1] ata5: SATA link down (SStatus 0 SControl 300)\n",
                "ata3",
                "the kernel no longer uses it: SATA link down",
            ),
            (
                "[1.0] nvme nvme1: controller is down\n[2.0] nvme nvme1: Disabling device after reset failure: -19\n",
                "nvme1",
                "the kernel no longer uses it: Disabling device",
            ),
            (
                "[1.0] ata2.00: failed command: READ FPDMA QUEUED\n[1.0] ata2.00: error: { UNC }\n[2.0] a: b\n",
                "ata2",
                "1 failed request",
            ),
            (
                "[1.0] critical medium error, dev sdc, sector 99 op 0x0\n[2.0] I/O error, dev fd0, sector 0\n",
                "sdc",
                "1 failed request",
            ),
            (
                "[1.0] nvme1n1: I/O Cmd(0x2) @ LBA 9, 8 blocks, I/O Error (sct 0x2 / sc 0x81) MORE\n[2.0] a: b\n",
                "nvme1",
                "1 failed request",
            ),
            (
                "[1.0] nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer\n\
                 [2.0] nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer\n",
                "0000:01:00.0",
                "2 errors of the PCI Express link",
            ),
            (
                "[1.0] md/raid1:md0: Disk failure on sdb1, disabling device.\n[2.0] a: b\n",
                "sdb1",
                "the kernel no longer uses it: md0 failed it",
            ),
            (
                "[1.0] pci 0000:05:00.0: [17cb:1101] type 00 class 0x028000\n\
                 [1.1] pci 0000:05:00.0: 4.0 Gb/s available PCIe bandwidth, limited by x (capable of 7.8 Gb/s)\n\
                 [1.2] pci 0000:06:00.0: 31.504 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x4 link)\n\
                 [1.3] nvme nvme0: pci function 0000:06:00.0\n",
                "nvme0",
                "",
            ),
        ] {
            let drives = read_any(text, "f").unwrap();
            assert_eq!(drives.len(), 1, "{drives:?}");
            assert_eq!(drives[0].name.as_deref(), Some(name));
            let first = drives[0].findings.first().map_or("", String::as_str);
            assert!(first.starts_with(finding), "{first}");
            assert_eq!(first.is_empty(), finding.is_empty(), "{first}");
        }
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

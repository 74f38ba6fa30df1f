//! A platform file for an inspected machine, with a port for each drive and the links on the path to it.
//!
//! Values from sysfs have `source = "sysfs…"`: generations, lanes, rates, payloads, queues. All other values are
//! assumed, with a reason; the processor times are from the most similar host of the library. If the drive limited the
//! link of a port, the file states the maximum rate of the port's own end. For other ports, and for links inside the
//! machine, the file states the rate to which the link trained. The file omits devices on buses that no port represents
//! (USB, virtio, parallel ATA), ports without a drive, and the width of a SAS expander's uplink.

use std::collections::BTreeSet;
use std::fmt::Write;

use lanemark_schema::result::{
    InspectedDevice, InspectedHop, InspectedHopKind, InspectedLink, InspectedPath, Inspection,
    PciFunctionKind, PcieLink, PcieRate, SataLink,
};
use lanemark_schema::units::Bytes;

use crate::document::Document;
use crate::error::{Location, StudyError};
use crate::library::{Library, LibraryKind};
use crate::rated::FileValue;
use crate::system::{NameLocations, System, SystemName};

/// The words with which a file of this kind begins.
pub const INSPECTED_MARK: &str = "# An inspected platform,";

/// NVMe drive of the library that fits into any port of its kind.
const GENERIC_NVME: &str = "samsung-950-pro-512gb";
/// SATA drive of the library that fits into any port of its kind.
const GENERIC_SATA: &str = "samsung-850-pro-1tb";
/// Latency of a link, as the file states it.
const LATENCY: &str = "{ value = \"150 ns\", assumed = \"like a PCIe switch, 100 to 150 ns\" }";

/// The text of a platform file, before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedPlatform {
    /// The file's text.
    pub text: String,
    /// Names of the ports, in order.
    pub ports: Vec<String>,
    /// Devices that do not have a port, each with the reason.
    pub left_out: Vec<String>,
}

/// The path to a device, as the file describes it.
struct WrittenPath<'i> {
    device: &'i InspectedDevice,
    hops: &'i [InspectedHop],
    /// Position of the hop at the lower end of the port's own link.
    end: usize,
    /// Key and value of the port's connector.
    plug: String,
    pcie: Option<&'i PcieLink>,
    sas: bool,
}

/// Returns the platform file of an inspection under the name `name`, for a machine with `cores` processors if the
/// number is known. As a check, the file is read again, and a library drive is plugged into each of its ports.
///
/// # Errors
/// Returns an error if no device is attached by a link that a port can represent, or if a system cannot be assembled
/// from the file.
pub fn platform_file(
    inspection: &Inspection,
    name: &str,
    cores: Option<u32>,
) -> Result<InspectedPlatform, StudyError> {
    let mut port_paths = Vec::new();
    let mut left_out = Vec::new();
    let mut places = BTreeSet::new();
    for device in &inspection.devices {
        for port_path in &device.paths {
            match WrittenPath::from_device(device, port_path) {
                // Namespaces of one drive share its port.
                Ok(port_path) if !places.insert(&port_path.hops[port_path.end].place) => {}
                Ok(port_path) => port_paths.push(port_path),
                Err(reason) => left_out.push(format!("{}: {reason}", device.name)),
            }
        }
    }
    if port_paths.is_empty() {
        let message = format!("no device is attached by a link that a port can represent{}", {
            let reasons = left_out.join("; ");
            if reasons.is_empty() { reasons } else { format!(" ({reasons})") }
        });
        return Err(StudyError::new(Location::file("the inspection"), message));
    }
    let mut file = String::new();
    write_head(&mut file, &port_paths, name, cores)?;
    let mut ports: Vec<String> = Vec::new();
    let mut links = BTreeSet::new();
    let mut list = String::new();
    for port_path in &port_paths {
        let behind = port_path.links(&mut file, &mut links);
        let port = free(&ports, &slug(&port_path.device.name));
        port_path.port(&mut list, &port, &behind);
        ports.push(port);
    }
    file += &list;
    check(&file, &port_paths, &ports)?;
    Ok(InspectedPlatform { text: file, ports, left_out })
}

/// Reads the file again, and plugs a drive into each port.
fn check(file: &str, port_paths: &[WrittenPath<'_>], ports: &[String]) -> Result<(), StudyError> {
    let library = Library::built_in();
    let document = Document::parse("the platform file", file)?;
    for (port_path, port) in port_paths.iter().zip(ports) {
        let drive = if port_path.pcie.is_some() { GENERIC_NVME } else { GENERIC_SATA };
        let name = format!("{drive}@platform:{port}");
        let parts = SystemName::parse(&name)?;
        let named_at = NameLocations::all(&Location::file(&name));
        System::assemble_on(&library, &document, &parts, &named_at, &name, &[])?;
    }
    Ok(())
}

/// Returns whether a PCI host belongs to a Broadcom BCM2712 (Raspberry Pi 5) or a Rockchip RK3588, whose processors are
/// three times as fast as the processors of earlier boards.
fn is_of_a_fast_board(place: &str) -> bool {
    let hosts = [
        "1000100000.pcie",
        "1000110000.pcie",
        "1000120000.pcie",
        "a40000000.pcie",
        "a40800000.pcie",
        "a40c00000.pcie",
        "a41000000.pcie",
        "fe150000.pcie",
    ];
    hosts.iter().any(|host| place.contains(host))
}

/// Writes the tables that precede the links and ports.
fn write_head(
    file: &mut String,
    port_paths: &[WrittenPath<'_>],
    name: &str,
    cores: Option<u32>,
) -> Result<(), StudyError> {
    let has_hop = |is_wanted: fn(&str) -> bool| {
        let mut hops = port_paths.iter().flat_map(|port_path| port_path.hops);
        hops.any(|hop| is_wanted(&hop.place))
    };
    // The PCI hosts of single-board computers are on the platform bus.
    let host = if !has_hop(|place| place.contains("/platform/")) {
        "linux-block"
    } else if has_hop(is_of_a_fast_board) {
        "single-board-a76"
    } else {
        "single-board"
    };
    let host_file = Library::built_in().open(LibraryKind::Host, host)?;
    let times = |table: &str| -> String {
        let values = host_file.values(table).into_iter();
        values.map(|(key, value)| format!("{key} = {value}\n")).collect()
    };
    let cores = match cores.filter(|cores| (1..=1024).contains(cores)) {
        Some(cores) => format!("{{ value = {cores}, source = \"sysfs: processors online\" }}"),
        None => "{ value = 8, assumed = \"not shown by sysfs\" }".to_owned(),
    };
    let memory = "{ value = \"500 ns\", assumed = \"Neugebauer et al., SIGCOMM 2018: round trip of a 64 B DMA read\" }";
    let of = |pcie: bool, sas: bool| {
        let fits = move |port_path: &&WrittenPath<'_>| {
            port_path.pcie.is_some() == pcie && port_path.sas == sas
        };
        port_paths.iter().find(fits)
    };
    let transfer = |port_path: Option<&WrittenPath<'_>>, usual: &str| {
        transfer(port_path.and_then(|port_path| port_path.device.queue.transfer_max), usual)
    };
    let nvme = of(true, false);
    let queues = nvme.and_then(|port_path| {
        port_path.hops.iter().find_map(|hop| {
            if let InspectedHopKind::NvmeController { queues, .. } = &hop.part {
                queues.and_then(|all| all.checked_sub(1))
            } else {
                None
            }
        })
    });
    let attribute_line = |value: Option<u32>, most: u32, usual: u32, attribute: &str| match value
        .filter(|value| (1..=most).contains(value))
    {
        Some(value) => format!("{{ value = {value}, source = \"sysfs: {attribute}\" }}"),
        None => {
            format!("{{ value = {usual}, assumed = \"usual, because sysfs does not show it\" }}")
        }
    };
    let queues = attribute_line(queues, 65_535, 8, "queue_count");
    let depth = attribute_line(
        nvme.and_then(|port_path| port_path.device.queue.requests_max),
        65_536,
        1023,
        "nr_requests",
    );
    let name = FileValue::Text(name.to_owned());
    let half =
        |percent: u32, why: &str| format!("{{ value = \"{percent}%\", assumed = \"{why}\" }}");
    let before = half(50, "half before the command leaves the host, half after");
    let most = half(60, "register reads, and about a third of the remaining time");
    let _ = write!(
        file,
        "{INSPECTED_MARK} written by `lanemark inspect --as-platform`: one port for each drive of the machine.\n\
         # Processor times come from library/hosts/{host}.toml.\n\n\
         [platform]\nname = {name}\n\n\
         [cpu]\ncores = {cores}\n{}\n\
         [ahci]\n{}submit_share = {most}\ntransfer_max = {}\nmemory_read = {memory}\n\n\
         [nvme]\nqueues = {queues}\nqueue_depth = {depth}\n{}submit_share = {before}\ntransfer_max = {}\n\
         memory_read = {memory}\n",
        times("cpu"),
        times("ahci"),
        transfer(of(false, false), "128 KiB"),
        times("nvme"),
        transfer(nvme, "1 MiB"),
    );
    if let Some(port_path) = of(false, true) {
        let _ = write!(
            file,
            "\n[sas]\n{}submit_share = {before}\ntransfer_max = {}\nmemory_read = {memory}\n",
            times("sas"),
            transfer(Some(port_path), "256 KiB"),
        );
    }
    Ok(())
}

impl<'i> WrittenPath<'i> {
    /// Returns the path to a device, or the reason why no port can represent the end of the path.
    fn from_device(
        device: &'i InspectedDevice,
        port_path: &'i InspectedPath,
    ) -> Result<Self, String> {
        let hops = port_path.hops.as_slice();
        let new_path = |end, plug, pcie, sas| Self { device, hops, end, plug, pcie, sas };
        let nvme = |hop: &InspectedHop| {
            matches!(hop.part, InspectedHopKind::Pci { role: PciFunctionKind::Nvme, .. })
        };
        if let Some(end) = hops.iter().position(nvme) {
            let Some(InspectedLink::Pcie(link)) = &hops[end].link else {
                return Err("sysfs shows nothing about its link".to_owned());
            };
            let (rate, source) =
                port_rate(link).ok_or("sysfs does not show generation and lanes")?;
            return Ok(new_path(end, pcie(rate, source), Some(link), false));
        }
        let told = |hop: &InspectedHop| {
            hop.link.is_some() && !matches!(hop.part, InspectedHopKind::SasExpander { .. })
        };
        let last = hops.iter().rposition(told);
        let end = last.ok_or("sysfs shows no link to it")?;
        match &hops[end].link {
            Some(InspectedLink::Sata(link)) => {
                let (rate, source) =
                    sata_rate(link).ok_or("sysfs does not show the rate of its link")?;
                let plug =
                    format!("sata = {{ value = \"{}\", source = \"{source}\" }}", gigabits(rate));
                Ok(new_path(end, plug, None, false))
            }
            Some(InspectedLink::Sas(link)) => {
                let rate = link.capable_bits_per_second.or(link.negotiated_bits_per_second);
                let rate = rate.ok_or("sysfs does not show the rate of its link")?;
                let phys = port_phys(link.phys);
                let plug = format!(
                    "sas = {{ rate = \"{}\", phys = {phys}, source = \"sysfs: phys of the port\" }}",
                    gigabits(rate)
                );
                Ok(new_path(end, plug, None, true))
            }
            Some(InspectedLink::Usb(_)) => Err("is attached by USB".to_owned()),
            Some(InspectedLink::Pata(_)) => Err("is attached by a parallel cable".to_owned()),
            _ => Err("sysfs shows no link to it".to_owned()),
        }
    }

    /// Adds the links on the path that the file does not contain yet, and returns the names of all links on the path.
    fn links(&self, file: &mut String, written: &mut BTreeSet<String>) -> Vec<String> {
        let mut behind = Vec::new();
        let before = &self.hops[..self.end];
        let mut link = |behind: &mut Vec<String>,
                        name: String,
                        to: &str,
                        plug: &str,
                        setup: &str| {
            if written.insert(name.clone()) {
                let label = text(&format!("link to {to}"));
                let to = text(to);
                let _ = write!(
                    file,
                    "\n[[link]]\nname = \"{name}\"\nto = {to}\nlabel = {label}\n{plug}\n{setup}latency = {LATENCY}\n"
                );
            }
            behind.push(name);
        };
        let assumed =
            |why: &str| format!("pcie = {{ generation = 3, lanes = 4, assumed = \"{why}\" }}");
        let in_chipset =
            |hop: &InspectedHop| matches!(hop.part, InspectedHopKind::Pci { chipset: true, .. });
        if before.iter().chain([&self.hops[self.end]]).any(in_chipset) {
            let plug = assumed("usual since 2015; sysfs does not show the uplink of a chipset");
            link(&mut behind, "chipset".to_owned(), "the chipset", &plug, &setup(None));
        }
        for hop in before {
            if let Some(InspectedLink::Pcie(told)) = &hop.link
                && let Some((rate, source)) = link_rate(told)
            {
                link(
                    &mut behind,
                    slug(&hop.name),
                    &hop.name,
                    &pcie(rate, source),
                    &setup(Some(told)),
                );
            }
        }
        // A SATA or SAS port is downstream of its controller's link.
        if self.pcie.is_none() && behind.is_empty() {
            let host =
                before.iter().rev().find(|hop| matches!(hop.part, InspectedHopKind::Pci { .. }));
            let host = host.map_or("host", |hop| hop.name.as_str());
            let plug =
                assumed("the path to a controller inside a processor, which sysfs does not show");
            link(&mut behind, slug(host), host, &plug, &setup(None));
        }
        behind
    }

    fn port(&self, file: &mut String, name: &str, behind: &[String]) {
        let model = &self.device.identity.model;
        let model =
            model.as_ref().map_or(String::new(), |model| format!(" has {}", printable_text(model)));
        let _ = write!(
            file,
            "\n# {}{model}.\n[[port]]\nname = \"{name}\"\n{}\n",
            self.device.name, self.plug
        );
        if !behind.is_empty() {
            let names: Vec<String> = behind.iter().map(|name| format!("\"{name}\"")).collect();
            let _ = writeln!(file, "behind = [{}]", names.join(", "));
        }
        if let Some(link) = self.pcie {
            let _ = writeln!(file, "{}latency = {LATENCY}", setup(Some(link)));
        }
    }
}

/// Returns the payload and read request sizes of a link, if they are known.
fn setup(link: Option<&PcieLink>) -> String {
    let setting_line = |value: Option<Bytes>, usual: u32, attribute: &str| {
        let fits = |size: &Bytes| (128..=4096).contains(&size.get());
        match value.filter(fits) {
            Some(size) => {
                format!("{{ value = \"{} B\", source = \"sysfs: {attribute}\" }}", size.get())
            }
            None => format!(
                "{{ value = \"{usual} B\", assumed = \"usual; sysfs shows it only to root\" }}"
            ),
        }
    };
    let payload = setting_line(link.and_then(|link| link.payload_max), 256, "config, MPS");
    let request = setting_line(link.and_then(|link| link.read_request_max), 512, "config, MRRS");
    format!("payload_max = {payload}\nread_request_max = {request}\n")
}

/// Returns the rate that a port can reach: its own maximum if the other end limited the link, otherwise the trained
/// rate.
fn port_rate(link: &PcieLink) -> Option<(PcieRate, &'static str)> {
    let trained = "sysfs: the trained rate of the link";
    let most = "sysfs: the capability of the port";
    let (rate, source) = match (link.current, link.upper_max, link.lower_max) {
        (Some(current), Some(upper), Some(lower)) => {
            let pick =
                |now: u8, upper: u8, lower: u8| if now == lower { upper.max(now) } else { now };
            let rate = PcieRate {
                generation: pick(current.generation, upper.generation, lower.generation),
                lanes: pick(current.lanes, upper.lanes, lower.lanes),
            };
            (rate, if rate == current { trained } else { most })
        }
        (Some(current), ..) => (current, trained),
        (None, Some(upper), _) => (upper, most),
        (None, None, _) => return None,
    };
    Some((nearest_valid_rate(rate), source))
}

/// Returns the trained rate of a link inside the machine, because its device cannot be exchanged.
fn link_rate(link: &PcieLink) -> Option<(PcieRate, &'static str)> {
    let trained =
        link.current.map(|rate| (nearest_valid_rate(rate), "sysfs: the trained rate of the link"));
    trained.or_else(|| port_rate(link))
}

/// Returns the maximum transfer that sysfs shows, or `usual` if sysfs does not show a valid value.
fn transfer(shown: Option<Bytes>, usual: &str) -> String {
    let shown = shown.filter(|size| size.get() > 0 && size.get().is_multiple_of(4096));
    match shown.filter(|size| *size <= Bytes::mebi(4)) {
        Some(size) => format!(
            "{{ value = \"{} KiB\", source = \"sysfs: max_sectors_kb\" }}",
            size.get() / 1024
        ),
        None => {
            format!(
                "{{ value = \"{usual}\", assumed = \"usual, because sysfs does not show it\" }}"
            )
        }
    }
}

/// Returns the nearest rate that the model supports: up to generation 5 and 16 lanes, with a power of two as the width.
fn nearest_valid_rate(rate: PcieRate) -> PcieRate {
    let lanes = 1 << rate.lanes.clamp(1, 16).ilog2();
    PcieRate { generation: rate.generation.clamp(1, 5), lanes }
}

fn sata_rate(link: &SataLink) -> Option<(u64, &'static str)> {
    let now = link.negotiated_bits_per_second;
    let own = link.port_bits_per_second;
    let drive = link.drive_bits_per_second;
    match (now, own) {
        (Some(now), Some(own)) if drive.is_none_or(|drive| now == drive) && own > now => {
            Some((own, "sysfs: the capability of the port"))
        }
        (Some(now), _) => Some((now, "sysfs: the trained rate of the link")),
        (None, own) => own.map(|own| (own, "sysfs: the capability of the port")),
    }
}

fn pcie(rate: PcieRate, source: &str) -> String {
    let PcieRate { generation, lanes } = rate;
    format!("pcie = {{ generation = {generation}, lanes = {lanes}, source = \"{source}\" }}")
}

fn gigabits(bits_per_second: u64) -> String {
    format!("{} Gb/s", bits_per_second as f64 / 1e9)
}

fn text(words: &str) -> FileValue {
    FileValue::Text(printable_text(words))
}

/// Returns the printable characters of a string that the device reported.
fn printable_text(words: &str) -> String {
    words.chars().filter(|&letter| lanemark_schema::text::is_shown(letter)).take(80).collect()
}

/// Returns the name in a form that is valid in system names and settings.
fn slug(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().take(80).map(letter).collect()
}

/// Returns the width of a SAS port with `phys` phys: the largest power of two up to this number, and up to 8.
fn port_phys(phys: u32) -> u32 {
    1 << phys.clamp(1, 8).ilog2()
}

fn free(used_names: &[String], name: &str) -> String {
    let others = (2..).map(|count| format!("{name}-{count}"));
    let mut all = std::iter::once(name.to_owned()).chain(others);
    all.find(|name| !used_names.contains(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_whole_pages_up_to_4_mib_or_the_usual_one() {
        for (shown, kib) in [
            (Some(Bytes(4096)), Some(4)),
            (Some(Bytes::kibi(1280)), Some(1280)),
            (Some(Bytes::mebi(4)), Some(4096)),
            (Some(Bytes(0)), None),
            (Some(Bytes(4095)), None),
            (Some(Bytes(4608)), None),
            (Some(Bytes::mebi(4) + Bytes(4096)), None),
            (None, None),
        ] {
            let wanted = match kib {
                Some(kib) => {
                    format!("{{ value = \"{kib} KiB\", source = \"sysfs: max_sectors_kb\" }}")
                }
                None => {
                    "{ value = \"1 MiB\", assumed = \"usual, because sysfs does not show it\" }"
                        .to_owned()
                }
            };
            assert_eq!(transfer(shown, "1 MiB"), wanted, "{shown:?}");
        }
    }

    #[test]
    fn a_sata_port_has_its_own_rate_only_if_the_drive_limited_the_link() {
        let slow = Some(3_000_000_000);
        let fast = Some(6_000_000_000);
        for (negotiated, port, drive, rate, is_trained) in [
            (slow, fast, slow, fast, false),
            (slow, fast, None, fast, false),
            // The drive is as fast as the port, so a third component limits the link.
            (slow, fast, fast, slow, true),
            (fast, fast, fast, fast, true),
            (fast, slow, fast, fast, true),
            (slow, None, slow, slow, true),
            (None, fast, slow, fast, false),
            (None, None, fast, None, false),
        ] {
            let link = SataLink {
                negotiated_bits_per_second: negotiated,
                limit_bits_per_second: None,
                port_bits_per_second: port,
                drive_bits_per_second: drive,
                queueing: None,
                line: None,
                usable: None,
            };
            let found = sata_rate(&link);
            assert_eq!(found.map(|(rate, _)| rate), rate, "{link:?}");
            if let Some((_, source)) = found {
                assert_eq!(source.contains("trained"), is_trained, "{link:?}");
            }
        }
    }

    #[test]
    fn a_sas_port_has_a_power_of_two_of_phys_up_to_eight() {
        let widths: Vec<u32> = (0..10).map(port_phys).collect();
        assert_eq!(widths, [1, 1, 2, 2, 4, 4, 4, 4, 8, 8]);
        assert_eq!([15, 16, u32::MAX].map(port_phys), [8, 8, 8]);
    }

    #[test]
    fn boards_are_distinguished_by_their_pci_hosts() {
        assert!(is_of_a_fast_board("/sys/devices/platform/axi/1000110000.pcie/pci0001:00"));
        assert!(!is_of_a_fast_board("/sys/devices/platform/scb/fd500000.pcie/pci0000:00"));
        assert!(!is_of_a_fast_board("/sys/devices/pci0000:00/0000:00:1d.0"));
    }
}

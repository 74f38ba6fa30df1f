//! The texts of `lspci -vvv` and `lspci -tv` (pciutils), as far as they tell of storage.
//!
//! The text is made a sysfs tree of the functions that it names, and inspected as one. Of `-vvv` come bridges with the buses
//! below them, classes, drivers, what each link can do and trained to (`LnkCap`, `LnkSta`) and payload sizes (`DevCap`,
//! `DevCtl`); of `-tv` where each function hangs, and its name. Neither tells of drives: an NVMe function is taken for one
//! drive with one namespace, and what hangs on a SATA, SAS, RAID or USB controller stands as one device that is named after the
//! controller. Not read: `-x` dumps, and trees of other options.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

/// Most lines that are read.
const LINES_MAX: usize = 200_000;
/// Most functions that are made.
const FUNCTIONS_MAX: usize = 4096;
/// Most bridges above a function.
const DEPTH_MAX: usize = 32;

/// A function as a text tells it.
#[derive(Debug, Default)]
struct Function {
    /// Class as lspci words it, `PCI bridge`; unknown in trees.
    class: Option<u32>,
    name: String,
    driver: Option<String>,
    /// Bus below a bridge.
    below: Option<u8>,
    capable: Option<(String, String)>,
    trained: Option<(String, String)>,
    /// Kind of port as the PCI Express capability numbers it, with its payloads and read requests as codes of 128 B
    /// shifted left.
    port_type: Option<u8>,
    payload_capable: Option<u16>,
    payload: Option<u16>,
    read_request: Option<u16>,
}

/// Kinds of controllers that drives hang on: name, and class with its lowest byte left out.
const CONTROLLERS: [(&str, u32); 7] = [
    ("ide", 0x01_01),
    ("ata", 0x01_05),
    ("raid", 0x01_04),
    ("sata", 0x01_06),
    ("sas", 0x01_07),
    ("storage", 0x01_80),
    ("usb", 0x0c_03),
];

/// The address of a function: domain, bus, and device with its function.
type Address = (u32, u8, String);

/// Makes a sysfs tree of a text, in a folder that goes with what is returned; none where it is neither of the two.
pub(crate) fn tree(text: &str) -> io::Result<Option<TempDir>> {
    let is_tree = text.lines().any(|line| line.starts_with("-[") || line.starts_with("-+-["));
    let functions = if is_tree { of_tree(text) } else { of_verbose(text) };
    if functions.is_empty() {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("lanemark-lspci-").tempdir()?;
    let root = folder.path();
    fs::create_dir_all(root.join("block"))?;
    let mut drives = 0;
    for (address, function) in &functions {
        let Some(place) = place(&functions, address) else { continue };
        let at = root.join(&place);
        fs::create_dir_all(&at)?;
        if let Some(class) = function.class {
            write(&at, "class", &format!("{class:#08x}"))?;
        }
        for (rates, speed, width) in [
            (&function.trained, "current_link_speed", "current_link_width"),
            (&function.capable, "max_link_speed", "max_link_width"),
        ] {
            if let Some((rate, lanes)) = rates {
                write(&at, speed, &format!("{rate} GT/s PCIe"))?;
                write(&at, width, lanes)?;
            }
        }
        if let Some(driver) = &function.driver {
            symlink(format!("../../bus/pci/drivers/{driver}"), at.join("driver"))?;
        }
        if function.class == Some(0x01_0802) {
            let (controller, block) = (format!("nvme{drives}"), format!("nvme{drives}n1"));
            let below = format!("nvme/{controller}/{block}");
            fs::create_dir_all(at.join(&below))?;
            write(&at.join("nvme").join(&controller), "model", &function.name)?;
            symlink(format!("../{place}/{below}"), root.join("block").join(block))?;
            drives += 1;
        }
        if let Some(config) = function.config() {
            fs::write(at.join("config"), config)?;
        }
        let class = function.class.map(|class| class >> 8);
        if let Some((kind, _)) = CONTROLLERS.iter().find(|(_, known)| Some(*known) == class) {
            let (domain, bus, rest) = address;
            let block = format!("{kind}-{domain:04x}:{bus:02x}:{rest}");
            let device = at.join(&block).join("device");
            fs::create_dir_all(&device)?;
            write(&device, "model", &format!("not told by lspci, on {}", function.name))?;
            symlink(format!("../{place}/{block}"), root.join("block").join(block))?;
        }
    }
    Ok(Some(folder))
}

impl Function {
    /// The configuration space with what the text tells of the PCI Express capability; none where it tells nothing.
    fn config(&self) -> Option<Vec<u8>> {
        let (capable, set) = (self.payload_capable?, self.payload?);
        let mut config = vec![0; 256];
        // A list of capabilities with one, at 40h: id, end of the list, flags, what it can do, and as set.
        config[0x06] = 0x10;
        config[0x34] = 0x40;
        config[0x40] = 0x10;
        config[0x42] = self.port_type? << 4 | 2;
        config[0x44..0x46].copy_from_slice(&capable.to_le_bytes());
        // A code that is not told is one of those that mean nothing.
        let control = set << 5 | self.read_request.unwrap_or(7) << 12;
        config[0x48..0x4a].copy_from_slice(&control.to_le_bytes());
        Some(config)
    }
}

/// The code of a size in bytes, 0 for 128 to 5 for 4096.
fn code(text: &str) -> Option<u16> {
    (0..=5).find(|code| text == (128 << code).to_string())
}

/// The kind of port in `Express (v2) Root Port (Slot+), MSI 00`.
fn port_type(text: &str) -> Option<u8> {
    const KINDS: [(&str, u8); 8] = [
        ("Legacy Endpoint", 1),
        ("Root Complex Integrated Endpoint", 9),
        ("Endpoint", 0),
        ("Root Port", 4),
        ("Upstream Port", 5),
        ("Downstream Port", 6),
        ("PCI-Express to PCI", 7),
        ("PCI/PCI-X to PCI-Express", 8),
    ];
    let kind = text.split_once("Express ")?.1;
    let kind =
        kind.strip_prefix('(').and_then(|kind| Some(kind.split_once(") ")?.1)).unwrap_or(kind);
    KINDS.iter().find(|(known, _)| kind.starts_with(known)).map(|(_, number)| *number)
}

fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::write(folder.join(name), format!("{text}\n"))
}

/// The place of a function: below the bridge that has its bus, and so on up to a bus that no bridge has.
fn place(functions: &BTreeMap<Address, Function>, address: &Address) -> Option<String> {
    let mut steps = vec![address];
    for _ in 0..DEPTH_MAX {
        let (domain, bus, _) = steps.last()?;
        let is_above = |(other, function): &(&Address, &Function)| {
            other.0 == *domain && other.1 < *bus && function.below == Some(*bus)
        };
        match functions.iter().find(is_above) {
            Some((bridge, _)) => steps.push(bridge),
            None => {
                let names = steps.iter().rev();
                let names =
                    names.map(|(domain, bus, rest)| format!("{domain:04x}:{bus:02x}:{rest}"));
                let path = names.collect::<Vec<_>>().join("/");
                return Some(format!("devices/pci{domain:04x}:{bus:02x}/{path}"));
            }
        }
    }
    None
}

/// The functions of `lspci -vvv`, with or without `-nn` and `-D`.
fn of_verbose(text: &str) -> BTreeMap<Address, Function> {
    let mut functions = BTreeMap::new();
    let mut current: Option<Address> = None;
    for line in text.lines().take(LINES_MAX) {
        if !line.starts_with([' ', '\t']) {
            current = head(line).filter(|_| functions.len() < FUNCTIONS_MAX).map(
                |(address, function)| {
                    functions.insert(address.clone(), function);
                    address
                },
            );
            continue;
        }
        let Some(function) = current.as_ref().and_then(|address| functions.get_mut(address)) else {
            continue;
        };
        let line = line.trim();
        // Sizes of DevCtl stand on a line of their own, below its switches.
        let size = |key: &str| after(line, key, "").and_then(|size| code(&size));
        let link = |rest: &str| Some((after(rest, "Speed ", "GT/s")?, after(rest, "Width x", "")?));
        if let Some(rest) = line.strip_prefix("Bus: ") {
            function.below =
                after(rest, "secondary=", "").and_then(|bus| u8::from_str_radix(&bus, 16).ok());
        } else if let Some(rest) = line.strip_prefix("LnkCap:") {
            function.capable = link(rest);
        } else if let Some(rest) = line.strip_prefix("LnkSta:") {
            function.trained = link(rest).filter(|(_, lanes)| lanes != "0");
        } else if line.starts_with("Capabilities: ") && line.contains("] Express ") {
            function.port_type = port_type(line);
        } else if line.starts_with("DevCap:") {
            function.payload_capable = size("MaxPayload ");
        } else if line.starts_with("MaxPayload ") {
            function.payload = size("MaxPayload ");
            function.read_request = size("MaxReadReq ");
        } else if let Some(driver) = line.strip_prefix("Kernel driver in use: ") {
            let plain = driver.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            function.driver = (plain && !driver.is_empty()).then(|| driver.to_owned());
        }
    }
    functions
}

/// Reads `01:00.0 Non-Volatile memory controller [0108]: Samsung …`.
fn head(line: &str) -> Option<(Address, Function)> {
    let (at, rest) = line.split_once(' ')?;
    let (class, name) = rest.split_once(": ")?;
    let name = name.split(" (rev ").next().unwrap_or(name).to_owned();
    let number = class
        .rsplit_once(" [")
        .and_then(|(_, code)| u32::from_str_radix(code.strip_suffix(']')?, 16).ok());
    let class = class_of(class, number);
    Some((address(at)?, Function { class, name, ..Function::default() }))
}

/// The class of a function with its interface, of which the words tell no more than is needed.
fn class_of(words: &str, number: Option<u32>) -> Option<u32> {
    const WORDS: [(&str, u32); 8] = [
        ("PCI bridge", 0x06_0400),
        ("Non-Volatile memory controller", 0x01_0802),
        ("SATA controller", 0x01_0601),
        ("RAID bus controller", 0x01_0400),
        ("Serial Attached SCSI controller", 0x01_0700),
        ("IDE interface", 0x01_0100),
        ("USB controller", 0x0c_0330),
        ("Mass storage controller", 0x01_8000),
    ];
    let known =
        |class: u32| WORDS.iter().find(|(_, known)| known >> 8 == class).map(|(_, known)| *known);
    match number {
        Some(class) if class <= 0xffff => Some(known(class).unwrap_or(class << 8)),
        _ => WORDS.iter().find(|(known, _)| words.starts_with(known)).map(|(_, class)| *class),
    }
}

/// `0000:01:00.0`, or `01:00.0` of domain 0.
fn address(text: &str) -> Option<Address> {
    let (rest, device) = text.rsplit_once(':')?;
    let (domain, bus) = rest.split_once(':').unwrap_or(("0", rest));
    Some((u32::from_str_radix(domain, 16).ok()?, u8::from_str_radix(bus, 16).ok()?, slot(device)?))
}

/// `00.0`, a device with its function.
fn slot(text: &str) -> Option<String> {
    let (device, function) = text.split_once('.')?;
    let is = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    (is(device, 2) && is(function, 1)).then(|| text.to_owned())
}

/// The word after `key` in `text`, without `end`: of `Speed 8GT/s` and `GT/s` it is 8, as sysfs writes it 8.0.
fn after(text: &str, key: &str, end: &str) -> Option<String> {
    let word = text.split_once(key)?.1;
    let word = word.split([',', ' ', '(', ';']).next()?.strip_suffix(end)?;
    let plain = !word.is_empty()
        && word.len() <= 8
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.');
    plain.then(|| {
        if end == "GT/s" && !word.contains('.') { format!("{word}.0") } else { word.to_owned() }
    })
}

/// The class of a function that a tree names, by words that makers use for their controllers.
fn class_of_name(name: &str) -> Option<u32> {
    const WORDS: [(&str, u32); 10] = [
        ("NVMe", 0x01_0802),
        ("Non-Volatile", 0x01_0802),
        ("MegaRAID", 0x01_0400),
        ("RAID", 0x01_0400),
        ("AHCI", 0x01_0601),
        ("SATA", 0x01_0601),
        ("SAS", 0x01_0700),
        ("Fusion-MPT", 0x01_0700),
        ("xHCI", 0x0c_0330),
        ("USB", 0x0c_0330),
    ];
    WORDS.iter().find(|(word, _)| name.contains(word)).map(|(_, class)| *class)
}

/// The functions of `lspci -t` or `-tv`. A branch stands in the column of the bus that it is on.
fn of_tree(text: &str) -> BTreeMap<Address, Function> {
    let mut functions = BTreeMap::new();
    // Columns of branches, each with its bus.
    let mut branches: Vec<(usize, u32, u8)> = Vec::new();
    for line in text.lines().take(LINES_MAX) {
        let bytes: Vec<char> = line.chars().collect();
        let mut rest = 0;
        while rest < bytes.len() && matches!(bytes[rest], ' ' | '|' | '-' | '+' | '\\') {
            rest += 1;
        }
        let begin = bytes[..rest].iter().rposition(|c| matches!(c, '+' | '\\'));
        let (mut domain, mut bus) =
            match begin.and_then(|at| branches.iter().find(|one| one.0 == at)) {
                Some((_, domain, bus)) => (*domain, *bus),
                None => (0, 0),
            };
        if let Some(at) = begin {
            branches.retain(|one| one.0 <= at);
        }
        loop {
            let tail: String = bytes[rest.min(bytes.len())..].iter().collect();
            if let Some((inside, _)) = tail.strip_prefix('[').and_then(|tail| tail.split_once(']'))
            {
                let range = inside.split('-').next().unwrap_or(inside);
                let (of, own) = match range.split_once(':') {
                    Some((of, own)) => (u32::from_str_radix(of, 16).unwrap_or(domain), own),
                    None => (domain, range),
                };
                let Ok(own) = u8::from_str_radix(own, 16) else { break };
                (domain, bus) = (of, own);
                rest += inside.chars().count() + 2;
            } else if let Some(found) = tail.get(..4).and_then(slot) {
                if functions.len() >= FUNCTIONS_MAX {
                    return functions;
                }
                rest += 4;
                let tail: String = bytes[rest..].iter().collect();
                let bridge = tail.strip_prefix("-[");
                let below = bridge.and_then(|tail| u8::from_str_radix(tail.get(..2)?, 16).ok());
                let name = if bridge.is_none() { tail.trim().to_owned() } else { String::new() };
                let class = match below {
                    Some(_) => Some(0x06_0400),
                    None => class_of_name(&name),
                };
                functions.insert(
                    (domain, bus, found),
                    Function { class, name, below, ..Function::default() },
                );
                if below.is_none() {
                    break;
                }
                rest += 1;
                continue;
            } else {
                break;
            }
            while rest < bytes.len() && bytes[rest] == '-' {
                rest += 1;
            }
            if rest < bytes.len() && matches!(bytes[rest], '+' | '\\') {
                branches.retain(|one| one.0 < rest);
                branches.push((rest, domain, bus));
                rest += 1;
                while rest < bytes.len() && bytes[rest] == '-' {
                    rest += 1;
                }
            }
        }
    }
    functions
}

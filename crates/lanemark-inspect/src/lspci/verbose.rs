//! Reads the functions in the output of `lspci -vvv`, with or without `-nn`, `-n` and `-D`.
//!
//! A function begins at its address, followed by its class and name. The following text is searched for lspci's own
//! keys (`LnkCap:`, `LnkSta:`, `Bus: primary=`) at any position, because pasted text loses line breaks and indentation,
//! and mail programs wrap lines. The value of a key ends at the next key. Since pciutils 3, a link's speed has the unit
//! GT/s and its keys are `LnkCap:` and `LnkSta:`. Older versions print `Link: Supported Speed 2.5Gb/s` and `Link: Speed
//! 2.5Gb/s`, which are also read. The words `(ok)`, `(downgraded)` and `(overdriven)`, which only newer versions print,
//! are ignored.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::function::{FUNCTIONS_MAX, FunctionAddress, LspciFunction, hexadecimal, slot};

/// Maximum length of the text that is read for one function, in bytes; lspci prints up to about 10 kB.
const BODY_MAX: usize = 64 << 10;
/// Maximum length of a key's value, in bytes.
const VALUE_MAX: usize = 400;
/// Maximum length of a function's class, in bytes.
const CLASS_MAX: usize = 80;
/// Maximum length of a function's name, in characters.
const NAME_MAX: usize = 120;

/// Keys of lspci. Each key ends the value of the previous key.
const KEYS: [&str; 35] = [
    "Bus: primary=",
    "Capabilities:",
    "Control:",
    "Status:",
    "Subsystem:",
    "DeviceName:",
    "Flags:",
    "Latency:",
    "Interrupt:",
    "NUMA node:",
    "IOMMU group:",
    "Physical Slot:",
    "Memory behind bridge:",
    "Region 0:",
    "BridgeCtl:",
    "DevCap:",
    "DevCtl:",
    "DevSta:",
    "LnkCap:",
    "LnkCtl:",
    "LnkSta:",
    "SltCap:",
    "RootCap:",
    "DevCap2:",
    "DevCtl2:",
    "LnkCap2:",
    "LnkCtl2:",
    "LnkSta2:",
    "Device: Supported:",
    "Device: MaxPayload",
    "Link: Supported",
    "Link: Speed",
    "Link: Latency",
    "Kernel driver in use:",
    "Kernel modules:",
];

/// Reads the functions of `text`. A function that appears twice, for example in a list and in a detailed description,
/// is read as one function.
pub(super) fn read(text: &str) -> BTreeMap<FunctionAddress, LspciFunction> {
    let mut functions: BTreeMap<FunctionAddress, LspciFunction> = BTreeMap::new();
    let mut heads = heads(text).peekable();
    while let Some(head) = heads.next() {
        let end = heads.peek().map_or(text.len(), |next| next.start);
        let body = truncated(&text[head.name..end], BODY_MAX);
        let mut function = LspciFunction {
            class: class_of(head.class),
            lacks_class: head.class.is_empty(),
            ..LspciFunction::default()
        };
        function.read_body(body);
        if functions.len() >= FUNCTIONS_MAX {
            break;
        }
        match functions.entry(head.address) {
            Entry::Vacant(entry) => drop(entry.insert(function)),
            Entry::Occupied(mut entry) => entry.get_mut().complete(function),
        }
    }
    functions
}

/// Returns whether a text contains lines about links, which belong to a function.
pub(super) fn has_links(text: &str) -> bool {
    text.contains("LnkCap:") || text.contains("LnkSta:")
}

/// The heading of a function, such as `01:00.0 Non-Volatile memory controller [0108]: Samsung …`.
struct FunctionHeading<'t> {
    address: FunctionAddress,
    class: &'t str,
    /// Offset of the heading in the text.
    start: usize,
    /// Offset of the function's name in the text.
    name: usize,
}

/// Returns the headings of all functions. A heading may be within a line if the pasted text has lost the line break.
fn heads(text: &str) -> impl Iterator<Item = FunctionHeading<'_>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        while next < text.len() {
            let rest = &text[next..];
            let start = next + (rest.len() - rest.trim_start().len());
            let word = text[start..].split_whitespace().next()?;
            next = start + word.len();
            let Some(address) = address(word.trim_start_matches('`')) else { continue };
            if let Some((class, name)) = class_before_name(&text[next..]) {
                let name = next + name;
                next = name;
                return Some(FunctionHeading { address, class, start, name });
            }
        }
        None
    })
}

/// Returns the class at the start of `text`, and the offset of the name that follows the class. The class is empty if
/// the description of the function follows its address directly.
fn class_before_name(text: &str) -> Option<(&str, usize)> {
    let window = truncated(text, CLASS_MAX);
    if KEYS.iter().any(|key| window.trim_start().starts_with(key)) {
        // The heading was written by hand, and does not state the class.
        return Some(("", 0));
    }
    let end = window.find(": ").or_else(|| window.find(":\n"))?;
    let class = window[..end].trim();
    let begins = class.starts_with(|c: char| c.is_ascii_uppercase())
        || (class.len() == 4 && class.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -/.,()[]".contains(c);
    (begins && class.chars().all(is_plain)).then_some((class, end + 2))
}

impl LspciFunction {
    /// Reads the text that follows the class.
    fn read_body(&mut self, body: &str) {
        let line = body.lines().next().unwrap_or_default();
        let end = [" (rev ", " (prog-if "].iter().filter_map(|mark| line.find(mark)).min();
        let line = &line[..end.unwrap_or(line.len()).min(first_key(line))];
        self.name = line.trim().chars().take(NAME_MAX).collect();
        self.below = value(body, "Bus: primary=")
            .and_then(|bus| text_after(&bus, "secondary=", &[""]))
            .and_then(|bus| hexadecimal(&bus, 2))
            .and_then(|bus| u8::try_from(bus).ok());
        let first_value = |keys: [&str; 2]| keys.iter().find_map(|key| value(body, key));
        let link = |keys: [&str; 2]| {
            let text = first_value(keys)?;
            let speed = text_after(&text, "Speed ", &["GT/s", "Gb/s"])?;
            let speed = if speed.contains('.') { speed } else { format!("{speed}.0") };
            Some((speed, text_after(&text, "Width x", &[""])?))
        };
        self.capable = link(["LnkCap:", "Link: Supported Speed"]);
        self.trained = link(["LnkSta:", "Link: Speed"]).filter(|(_, lanes)| lanes != "0");
        let express = body.find("] Express ").map(|at| truncated(&body[at..], VALUE_MAX));
        self.port_type = express.and_then(port_type);
        let size = |text: &str, key| {
            text_after(text, key, &[""]).and_then(|size| payload_size_code(&size))
        };
        let capable = first_value(["DevCap:", "Device: Supported:"]);
        self.payload_capable = capable.and_then(|text| size(&text, "MaxPayload "));
        // The configured sizes are in a separate line, after the switches of DevCtl.
        if let Some(control) = first_value(["DevCtl:", "Device: MaxPayload"]) {
            self.payload = size(&control, "MaxPayload ");
            self.read_request = size(&control, "MaxReadReq ");
        }
        self.denied = body.contains("Capabilities: <access denied>");
        let key = "Kernel driver in use:";
        let driver = value(body, key).unwrap_or_default();
        let driver = driver.strip_prefix(key).unwrap_or_default();
        let driver = driver.split_whitespace().next().unwrap_or_default();
        let plain = driver.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        self.driver = (plain && !driver.is_empty()).then(|| driver.to_owned());
    }

    /// Adds the values that only the text `other` about the same function contains.
    pub(super) fn complete(&mut self, other: Self) {
        if self.name.is_empty() {
            self.name = other.name;
        }
        self.class = self.class.or(other.class);
        self.driver = self.driver.take().or(other.driver);
        self.below = self.below.or(other.below);
        self.capable = self.capable.take().or(other.capable);
        self.trained = self.trained.take().or(other.trained);
        self.port_type = self.port_type.or(other.port_type);
        self.payload_capable = self.payload_capable.or(other.payload_capable);
        self.payload = self.payload.or(other.payload);
        self.read_request = self.read_request.or(other.read_request);
        self.lacks_class &= other.lacks_class;
        self.denied |= other.denied;
    }
}

/// Returns up to `most` bytes from the start of `text`.
fn truncated(text: &str, most: usize) -> &str {
    let fits = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..fits.unwrap_or(0)]
}

/// Returns the offset of the first key in `text`, or the text's length.
fn first_key(text: &str) -> usize {
    let position_of = |key: &&str| text.find(key).filter(|&at| begins_word(text, at));
    KEYS.iter().filter_map(position_of).min().unwrap_or(text.len())
}

/// Returns whether a word begins at `at`, so that `Link:` is not found in `Uplink:`.
fn begins_word(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric())
}

/// Returns the text from `key` to the next key, with single spaces.
fn value(body: &str, key: &str) -> Option<String> {
    let at = body.match_indices(key).map(|(at, _)| at).find(|&at| begins_word(body, at))?;
    let window = truncated(&body[at..], VALUE_MAX);
    let end = key.len() + first_key(&window[key.len()..]);
    Some(window[..end].split_whitespace().collect::<Vec<&str>>().join(" "))
}

/// Returns the class of a function and its interface, as far as the text determines them.
fn class_of(class: &str) -> Option<u32> {
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
    // `-nn` prints `SATA controller [0106]`, `-n` prints `0106`, and older versions print `Class 0106`.
    let (words, number) = match class.rsplit_once(" [") {
        Some((words, code)) => (words, code.strip_suffix(']')),
        None => (class, Some(class.strip_prefix("Class ").unwrap_or(class))),
    };
    let number = number.and_then(|code| hexadecimal(code, 4));
    let known =
        |class: u32| WORDS.iter().find(|(_, known)| known >> 8 == class).map(|(_, known)| *known);
    match number {
        Some(class) => Some(known(class).unwrap_or(class << 8)),
        None => WORDS.iter().find(|(known, _)| words.starts_with(known)).map(|(_, class)| *class),
    }
}

/// Parses `0000:01:00.0`, or `01:00.0` in domain 0.
fn address(text: &str) -> Option<FunctionAddress> {
    let (rest, device) = text.rsplit_once(':')?;
    let (domain, bus) = rest.split_once(':').unwrap_or(("0", rest));
    let bus = u8::try_from(hexadecimal(bus, 2)?).ok()?;
    Some((hexadecimal(domain, 8)?, bus, slot(device)?))
}

/// Returns the word after `key` in `text`, up to the first string of `ends` in the word: for example, `8` for `Speed
/// 8GT/s` with the end `GT/s`.
fn text_after(text: &str, key: &str, ends: &[&str]) -> Option<String> {
    let word = text.split_once(key)?.1;
    let word = word.split([',', ' ', '(', ';']).next()?;
    let word = ends.iter().find_map(|end| word.strip_suffix(end))?;
    let plain = !word.is_empty()
        && word.len() <= 8
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.');
    plain.then(|| word.to_owned())
}

/// Returns the code of a size in bytes, from 0 for 128 to 5 for 4096.
fn payload_size_code(text: &str) -> Option<u16> {
    (0..=5).find(|code| text == (128 << code).to_string())
}

/// Returns the port type in a text such as `Express (v2) Root Port (Slot+), MSI 00`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_domain_a_bus_and_a_device() {
        let of = |domain, bus, rest: &str| Some((domain, bus, rest.to_owned()));
        for (text, wanted) in [
            ("01:02.3", of(0, 1, "02.3")),
            ("0002:3b:1f.7", of(2, 0x3b, "1f.7")),
            ("10000:e1:00.0", of(0x1_0000, 0xe1, "00.0")),
            ("01:02", None),
            ("01:2.3", None),
            ("101:02.3", None),
            ("g1:02.3", None),
            ("123456789:01:02.3", None),
        ] {
            assert_eq!(address(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_word_follows_its_key_up_to_its_unit() {
        for (text, key, ends, wanted) in [
            ("Speed 8GT/s, Width x4", "Speed ", &["GT/s", "Gb/s"][..], Some("8")),
            ("Speed 2.5Gb/s (ok)", "Speed ", &["GT/s", "Gb/s"], Some("2.5")),
            ("Speed 8GT/s, Width x16;", "Width x", &[""], Some("16")),
            ("Speed unknown", "Speed ", &[""], None),
            ("Speed 8Mb/s", "Speed ", &["GT/s", "Gb/s"], None),
            ("Width x,", "Width x", &[""], None),
            ("Width x12345678", "Width x", &[""], Some("12345678")),
            ("Width x123456789", "Width x", &[""], None),
            ("Width 4", "Width x", &[""], None),
        ] {
            assert_eq!(text_after(text, key, ends).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn sizes_and_ports_have_their_codes() {
        let sizes = ["128", "256", "512", "1024", "2048", "4096", "8192", "64", "0128"];
        let codes = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), None, None, None];
        assert_eq!(sizes.map(payload_size_code), codes);
        for (text, wanted) in [
            ("] Express (v2) Endpoint, MSI 00", Some(0)),
            ("] Express Legacy Endpoint, MSI 00", Some(1)),
            ("] Express (v2) Root Port (Slot+), MSI 00", Some(4)),
            ("] Express (v1) Upstream Port, MSI 00", Some(5)),
            ("] Express (v2) Downstream Port (Slot-)", Some(6)),
            ("] Express PCI-Express to PCI/PCI-X Bridge", Some(7)),
            ("] Express PCI/PCI-X to PCI-Express Bridge", Some(8)),
            ("] Express (v2) Root Complex Integrated Endpoint", Some(9)),
            ("] Express (v2) Unknown type", None),
            ("] MSI: Enable+", None),
        ] {
            assert_eq!(port_type(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_class_follows_from_its_number_or_its_words() {
        for (text, wanted) in [
            ("SATA controller [0106]", Some(0x01_0601)),
            ("0108", Some(0x01_0802)),
            ("Class 0604", Some(0x06_0400)),
            ("Ethernet controller [0200]", Some(0x02_0000)),
            ("Non-Volatile memory controller", Some(0x01_0802)),
            ("USB controller", Some(0x0c_0330)),
            ("IDE interface", Some(0x01_0100)),
            ("RAID bus controller [0104]", Some(0x01_0400)),
            ("Serial Attached SCSI controller", Some(0x01_0700)),
            ("Mass storage controller [0180]", Some(0x01_8000)),
            ("Ethernet controller", None),
            ("SATA controller [zz]", Some(0x01_0601)),
        ] {
            assert_eq!(class_of(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_key_begins_a_word_and_ends_the_value_before_it() {
        let body = "Uplink: no\n LnkCap: Port #0, Speed 8GT/s,\n   Width x4\n LnkSta: Speed 5GT/s";
        let wanted = "LnkCap: Port #0, Speed 8GT/s, Width x4";
        assert_eq!(value(body, "LnkCap:").as_deref(), Some(wanted));
        assert_eq!(value(body, "LnkSta:").as_deref(), Some("LnkSta: Speed 5GT/s"));
        assert_eq!(value(body, "link:"), None);
        assert_eq!(first_key(body), body.find("LnkCap:").unwrap());
        assert_eq!(first_key("no key at all"), 13);
        assert_eq!(
            (truncated("abcd", 3), truncated("ab", 3), truncated("aé", 2)),
            ("abc", "ab", "a")
        );
        assert_eq!(class_before_name("SATA controller: Intel"), Some(("SATA controller", 17)));
        assert_eq!(class_before_name(" 0106: 8086:a102"), Some(("0106", 7)));
        for text in ["sata controller: Intel", "010: x", "010g: x", "SATA_controller: x", "SATA"] {
            assert_eq!(class_before_name(text), None, "{text}");
        }
        assert!(has_links("a LnkCap: b") && has_links("LnkSta:") && !has_links("Lnk"));
    }

    #[test]
    fn a_driver_is_a_word_of_letters_digits_hyphens_and_underscores() {
        for (text, wanted) in [
            ("nvme", Some("nvme")),
            ("mpt3sas", Some("mpt3sas")),
            ("xhci_hcd", Some("xhci_hcd")),
            ("vfio-pci", Some("vfio-pci")),
            ("nvme and more", Some("nvme")),
            ("nvme;reboot", None),
            ("a.b", None),
            ("<b>", None),
            ("pci\u{e9}", None),
            ("", None),
        ] {
            let body = format!("Vendor\n\tKernel driver in use: {text}\n\tKernel modules: other");
            let mut function = LspciFunction::default();
            function.read_body(&body);
            assert_eq!(function.driver.as_deref(), wanted, "{text}");
            assert_eq!(function.name, "Vendor");
        }
    }

    #[test]
    fn the_values_of_two_texts_about_a_function_complete_each_other() {
        let whole = || LspciFunction {
            class: Some(7),
            name: "whole".to_owned(),
            driver: Some("nvme".to_owned()),
            below: Some(3),
            capable: Some(("8.0".to_owned(), "4".to_owned())),
            trained: Some(("5.0".to_owned(), "2".to_owned())),
            port_type: Some(4),
            payload_capable: Some(2),
            payload: Some(1),
            read_request: Some(5),
            lacks_class: false,
            denied: true,
        };
        let debug_text = |function: &LspciFunction| format!("{function:?}");
        let mut empty = LspciFunction::default();
        empty.complete(whole());
        assert_eq!(debug_text(&empty), debug_text(&whole()));
        let mut full = whole();
        full.complete(LspciFunction {
            name: "other".to_owned(),
            class: Some(9),
            ..LspciFunction::default()
        });
        assert_eq!(debug_text(&full), debug_text(&whole()));
        let mut neither = LspciFunction::default();
        neither.complete(LspciFunction::default());
        assert!(!neither.denied);
    }
}

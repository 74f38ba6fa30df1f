//! Parsers of the kernel's text values: numbers, line rates, link speeds, PCI addresses, and the order of names.
//!
//! Every parser takes trimmed text, and returns `None` if the text has a different form.

use std::cmp::Ordering;
use std::str::FromStr;

use lanemark_schema::result::PcieRate;
use lanemark_schema::units::Bytes;

/// Number of characters in a truncated value.
const CUT: usize = 40;

pub(crate) fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

pub(crate) fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Parses a number in KiB.
pub(crate) fn kibibytes(text: &str) -> Option<Bytes> {
    Some(Bytes(number::<u64>(text)?.checked_mul(1024)?))
}

/// Parses a number of sectors, which sysfs counts in units of 512 bytes regardless of the device's sector size.
pub(crate) fn sectors(text: &str) -> Option<Bytes> {
    Some(Bytes(number::<u64>(text)?.checked_mul(512)?))
}

/// Parses a hexadecimal number such as `0x8086`.
pub(crate) fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Parses a NUMA node; -1 means that there is no node.
pub(crate) fn node(text: &str) -> Option<Option<u32>> {
    match text {
        "-1" => Some(None),
        text => number(text).map(Some),
    }
}

/// Parses a selection such as `[none] mq-deadline kyber`, or the single name that older kernels print.
pub(crate) fn bracketed_choice(text: &str) -> Option<String> {
    if let Some((_, rest)) = text.split_once('[') {
        return Some(rest.split_once(']')?.0.to_owned()).filter(|name| !name.is_empty());
    }
    (text.split_whitespace().count() == 1).then(|| text.to_owned())
}

/// Parses the generation in a speed such as `16.0 GT/s PCIe`; the inner value is `None` for `Unknown`.
pub(crate) fn pcie_generation(text: &str) -> Option<Option<u8>> {
    if text.starts_with("Unknown") {
        return Some(None);
    }
    match text.split_once(" GT/s")?.0 {
        "2.5" => Some(Some(1)),
        "5" | "5.0" => Some(Some(2)),
        "8" | "8.0" => Some(Some(3)),
        "16" | "16.0" => Some(Some(4)),
        "32" | "32.0" => Some(Some(5)),
        "64" | "64.0" => Some(Some(6)),
        _ => None,
    }
}

/// Parses a number of lanes; the inner value is `None` for 0 and 255, the kernel's codes for unknown.
pub(crate) fn pcie_lanes(text: &str) -> Option<Option<u8>> {
    match number::<u8>(text)? {
        0 | 255 => Some(None),
        lanes @ (1 | 2 | 4 | 8 | 12 | 16 | 32) => Some(Some(lanes)),
        _ => None,
    }
}

/// Returns both values if both are known.
pub(crate) fn pcie_rate(generation: Option<u8>, lanes: Option<u8>) -> Option<PcieRate> {
    Some(PcieRate { generation: generation?, lanes: lanes? })
}

/// Parses the bits a second of a rate such as `6.0 Gbps` (ATA) or `12.0 Gbit` (SAS). The inner value is `None` for
/// `<unknown>` and for the strings of a SAS phy without a rate, such as `Phy disabled`.
pub(crate) fn line_rate(text: &str) -> Option<Option<u64>> {
    let Some((figure, unit)) = text.split_once(' ') else {
        return (text.eq_ignore_ascii_case("<unknown>") || text == "Unknown").then_some(None);
    };
    if !matches!(unit, "Gbps" | "Gbit") {
        return text.chars().next()?.is_ascii_alphabetic().then_some(None);
    }
    Some(Some(decimal(figure, 1_000_000_000)?))
}

/// Parses the bits a second of a USB device's `speed` in Mb/s, such as `480` or `1.5`.
pub(crate) fn usb_rate(text: &str) -> Option<u64> {
    decimal(text, 1_000_000)
}

/// Returns `figure` times `unit`, for figures from 0.1 to 10,000 with up to one decimal.
fn decimal(figure: &str, unit: u64) -> Option<u64> {
    let (whole, tenths) = figure.split_once('.').unwrap_or((figure, "0"));
    let whole: u64 = number(whole)?;
    let tenths: u64 = number(tenths)?;
    let value = (whole <= 10_000 && tenths <= 9).then_some(whole * unit + tenths * (unit / 10))?;
    (value > 0).then_some(value)
}

/// Returns whether `name` is the address of a PCI function, such as `0000:01:00.0`; domains have four to eight digits.
pub(crate) fn is_pci_address(name: &str) -> bool {
    let Some((address, function)) = name.split_once('.') else { return false };
    let parts: Vec<&str> = address.split(':').collect();
    let [domain, bus, device] = parts.as_slice() else { return false };
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (4..=8).contains(&domain.len())
        && (bus.len(), device.len(), function.len()) == (2, 2, 1)
        && [*domain, *bus, *device, function].into_iter().all(is_hexadecimal)
}

/// Returns whether `name` consists of `prefix` and a decimal number.
pub(crate) fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(is_decimal)
}

/// Returns whether `text` consists of digits.
pub(crate) fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Compares names so that nvme2 precedes nvme10.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let mut left = a;
    let mut right = b;
    loop {
        let (text_a, rest_a) = split_at_digit(left);
        let (text_b, rest_b) = split_at_digit(right);
        let (digits_a, after_a) = split_after_digits(rest_a);
        let (digits_b, after_b) = split_after_digits(rest_b);
        let trimmed_a = digits_a.trim_start_matches('0');
        let trimmed_b = digits_b.trim_start_matches('0');
        let order = text_a
            .cmp(text_b)
            .then(trimmed_a.len().cmp(&trimmed_b.len()))
            .then(trimmed_a.cmp(trimmed_b));
        if order.is_ne() {
            return order;
        }
        if after_a.is_empty() || after_b.is_empty() {
            return after_a.len().cmp(&after_b.len()).then(a.cmp(b));
        }
        (left, right) = (after_a, after_b);
    }
}

fn split_at_digit(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len()))
}

fn split_after_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

pub(crate) fn truncated_text(text: &str) -> String {
    text.chars().take(CUT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_speeds_are_generations() {
        let cases = [
            ("2.5 GT/s PCIe", Some(Some(1))),
            ("5.0 GT/s PCIe", Some(Some(2))),
            ("8 GT/s", Some(Some(3))),
            ("16.0 GT/s PCIe", Some(Some(4))),
            ("32.0 GT/s PCIe", Some(Some(5))),
            ("64.0 GT/s PCIe", Some(Some(6))),
            ("Unknown", Some(None)),
            ("Unknown speed", Some(None)),
            ("16.0", None),
            ("7.0 GT/s PCIe", None),
        ];
        for (text, generation) in cases {
            assert_eq!(pcie_generation(text), generation, "{text}");
        }
        assert_eq!(pcie_lanes("0"), Some(None));
        assert_eq!(pcie_lanes("255"), Some(None));
        assert_eq!(pcie_lanes("4"), Some(Some(4)));
        assert_eq!(pcie_lanes("3"), None);
        assert_eq!(pcie_lanes("-4"), None);
    }

    #[test]
    fn line_rates_are_bits_a_second() {
        let cases = [
            ("6.0 Gbps", Some(Some(6_000_000_000))),
            ("1.5 Gbps", Some(Some(1_500_000_000))),
            ("22.5 Gbit", Some(Some(22_500_000_000))),
            ("<unknown>", Some(None)),
            ("Unknown", Some(None)),
            ("Phy disabled", Some(None)),
            ("0.0 Gbps", None),
            ("6.0", None),
            ("99999999999999999999 Gbps", None),
        ];
        for (text, rate) in cases {
            assert_eq!(line_rate(text), rate, "{text}");
        }
        assert_eq!(usb_rate("480"), Some(480_000_000));
        assert_eq!(usb_rate("1.5"), Some(1_500_000));
        assert_eq!(usb_rate("-1"), None);
    }

    #[test]
    fn pci_addresses_may_have_long_domains() {
        for name in ["0000:01:00.0", "10000:e1:00.0", "0001abcd:ff:1f.7"] {
            assert!(is_pci_address(name), "{name}");
        }
        for name in ["pci0000:00", "0:0:0:0", "0000:01:00:0", "000000000:01:00.0", "0000.01:00.0"] {
            assert!(!is_pci_address(name), "{name}");
        }
    }

    #[test]
    fn names_are_in_the_order_of_people() {
        let mut names = ["nvme10n1", "sda", "nvme2n10", "nvme2n2", "nvme02n2", "nvme2", "", "7"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["", "7", "nvme2", "nvme02n2", "nvme2n2", "nvme2n10", "nvme10n1", "sda"]);
    }

    #[test]
    fn the_scheduler_is_the_one_in_brackets() {
        assert_eq!(bracketed_choice("none [mq-deadline] kyber").as_deref(), Some("mq-deadline"));
        assert_eq!(bracketed_choice("none").as_deref(), Some("none"));
        assert_eq!(bracketed_choice("a b"), None);
        assert_eq!(bracketed_choice("[none"), None);
    }
}

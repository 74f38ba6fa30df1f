//! A PCI function in a text, its address, and limits on the input.

pub(super) const LINES_MAX: usize = 200_000;
/// Maximum number of functions that are created.
pub(super) const FUNCTIONS_MAX: usize = 4096;

/// Address of a function: the domain, the bus, and the device with its function number.
pub(super) type FunctionAddress = (u32, u8, String);

/// A PCI function as the text describes it.
#[derive(Debug, Default)]
pub(super) struct LspciFunction {
    /// Class of the function, which lspci prints as text such as `PCI bridge`; unknown in trees.
    pub(super) class: Option<u32>,
    pub(super) name: String,
    pub(super) driver: Option<String>,
    /// Number of the bus below a bridge.
    pub(super) below: Option<u8>,
    pub(super) capable: Option<(String, String)>,
    pub(super) trained: Option<(String, String)>,
    /// Port type, as the PCI Express capability encodes it. Payloads and read requests are stored as codes: the size is
    /// 128 B shifted left by the code.
    pub(super) port_type: Option<u8>,
    pub(super) payload_capable: Option<u16>,
    pub(super) payload: Option<u16>,
    pub(super) read_request: Option<u16>,
    /// Whether the heading of the function does not state its class.
    pub(super) lacks_class: bool,
    /// Whether lspci could not read the function's capabilities.
    pub(super) denied: bool,
}

/// Parses up to `digits` hexadecimal digits.
pub(super) fn hexadecimal(text: &str, digits: usize) -> Option<u32> {
    let plain = !text.is_empty()
        && text.len() <= digits
        && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

/// Parses a device with its function number, such as `00.0`.
pub(super) fn slot(text: &str) -> Option<String> {
    let (device, function) = text.split_once('.')?;
    let is = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    (is(device, 2) && is(function, 1)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_slots_have_their_lengths() {
        for (text, digits, wanted) in [
            ("1f", 2, Some(0x1f)),
            ("f", 2, Some(0xf)),
            ("1f0", 2, None),
            ("", 2, None),
            ("+1", 2, None),
            ("ffffffff", 8, Some(u32::MAX)),
        ] {
            assert_eq!(hexadecimal(text, digits), wanted, "{text}");
        }
        for text in ["00.0", "1f.7", "ab.f"] {
            assert_eq!(slot(text).as_deref(), Some(text));
        }
        for text in ["0.0", "000.0", "00.00", "00.", "g0.0", "00.g", "000"] {
            assert_eq!(slot(text), None, "{text}");
        }
    }
}

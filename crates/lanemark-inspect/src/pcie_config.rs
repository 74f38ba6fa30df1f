//! Reads the PCI Express capability in configuration space: the port type, the payload and the read request size.
//!
//! The layout follows PCI Express Base Specification, 7.5.3. The capability with id 10h contains the port type (offset
//! 2, bits 7:4), the supported payload (offset 4, bits 2:0), and the settings of the payload (offset 8, bits 7:5) and
//! the read request (bits 14:12), with sizes encoded as left shifts of 128 B. The pointer in byte 34h leads to the
//! first capability. All capabilities are at 40h or above, which unprivileged users cannot read.

use lanemark_schema::units::Bytes;

/// Number of bytes of configuration space that the kernel shows to unprivileged users.
pub(crate) const UNPRIVILEGED: usize = 64;

const STATUS: usize = 0x06;
const STATUS_HAS_LIST: u8 = 0x10;
const LIST: usize = 0x34;
const PCI_EXPRESS: u8 = 0x10;
/// Maximum number of capabilities that fit into the configuration space.
const CAPABILITIES_MAX: usize = 48;

/// The content of the capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PcieConfig {
    /// Port type, as the capability encodes it.
    pub(crate) port_type: u8,
    /// Configured maximum payload of a packet (MPS).
    pub(crate) payload_max: Option<Bytes>,
    /// Maximum payload that the device supports.
    pub(crate) payload_capable: Option<Bytes>,
    /// Configured maximum size of a read request (MRRS).
    pub(crate) read_request_max: Option<Bytes>,
}

impl PcieConfig {
    /// Reads the capability from `config` if it is complete.
    pub(crate) fn parse(config: &[u8]) -> Option<Self> {
        if config.get(STATUS)? & STATUS_HAS_LIST == 0 {
            return None;
        }
        let mut at = usize::from(config.get(LIST)? & !3);
        for _ in 0..CAPABILITIES_MAX {
            if at < UNPRIVILEGED {
                return None;
            }
            if *config.get(at)? == PCI_EXPRESS {
                let word = |offset: usize| {
                    Some(u16::from_le_bytes([
                        *config.get(at + offset)?,
                        *config.get(at + offset + 1)?,
                    ]))
                };
                let flags = word(2)?;
                let capabilities = word(4)?;
                let control = word(8)?;
                return Some(Self {
                    port_type: (flags >> 4 & 0xf) as u8,
                    payload_capable: size(capabilities & 7),
                    payload_max: size(control >> 5 & 7),
                    read_request_max: size(control >> 12 & 7),
                });
            }
            at = usize::from(config.get(at + 1)? & !3);
        }
        None
    }
}

/// Returns the size for a code, from 128 B to 4 KiB; codes 6 and 7 are reserved.
fn size(code: u16) -> Option<Bytes> {
    (code <= 5).then(|| Bytes(128 << code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Vec<u8> {
        let mut config = vec![0; 256];
        config[STATUS] = STATUS_HAS_LIST;
        config[LIST] = 0x40;
        (config[0x40], config[0x41]) = (0x01, 0x70);
        config[0x70] = PCI_EXPRESS;
        config[0x72] = 0x42;
        config[0x74] = 0x02;
        (config[0x78], config[0x79]) = (0x20, 0x20);
        config
    }

    #[test]
    fn lists_that_are_cut_or_go_round_end() {
        assert_eq!(PcieConfig::parse(&config()[..UNPRIVILEGED]), None);
        assert_eq!(PcieConfig::parse(&config()[..0x75]), None);
        assert_eq!(PcieConfig::parse(&[]), None);
        assert_eq!(PcieConfig::parse(&[0xff; 256]), None);
        let mut round = config();
        round[0x70] = 0x05;
        round[0x71] = 0x40;
        assert_eq!(PcieConfig::parse(&round), None);
    }

    #[test]
    fn each_field_is_read_from_its_own_bits() {
        let wanted = |code: u8| (code <= 5).then(|| Bytes(128 << code));
        for code in 0..8 {
            let capable = code;
            let set = (code + 1) % 8;
            let request = (code + 2) % 8;
            for port_type in [code, code + 8] {
                let mut config = config();
                // All other bits of the three words are set.
                (config[0x72], config[0x73]) = (port_type << 4 | 0xf, 0xff);
                (config[0x74], config[0x75]) = (capable | 0xf8, 0xff);
                (config[0x78], config[0x79]) = (set << 5 | 0x1f, request << 4 | 0x8f);
                let expected = PcieConfig {
                    port_type,
                    payload_max: wanted(set),
                    payload_capable: wanted(capable),
                    read_request_max: wanted(request),
                };
                assert_eq!(PcieConfig::parse(&config), Some(expected), "{code}");
            }
        }
    }

    #[test]
    fn the_list_begins_above_the_header_and_its_pointers_are_multiples_of_four() {
        let plain = PcieConfig::parse(&config());
        assert!(plain.is_some());
        let mut uneven = config();
        (uneven[LIST], uneven[0x41]) = (0x43, 0x73);
        assert_eq!(PcieConfig::parse(&uneven), plain);
        let mut without_list = config();
        without_list[STATUS] = !STATUS_HAS_LIST;
        assert_eq!(PcieConfig::parse(&without_list), None);
        let mut in_header = config();
        in_header[0x41] = 0x3c;
        in_header[0x3c] = PCI_EXPRESS;
        assert_eq!(PcieConfig::parse(&in_header), None);
        let mut first = config();
        first[LIST] = 0x70;
        assert_eq!(PcieConfig::parse(&first), plain);
        let mut at_once = config();
        at_once.copy_within(0x70..0x80, 0x40);
        assert_eq!(PcieConfig::parse(&at_once), plain);
        // The capability ends with its control word.
        assert_eq!(PcieConfig::parse(&config()[..0x7a]), plain);
        assert_eq!(PcieConfig::parse(&config()[..0x79]), None);
    }
}

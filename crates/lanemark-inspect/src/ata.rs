//! SATA and PATA links, and the identity that drives report in their IDENTIFY data.
//!
//! A port `ata1` of a host has a link `link1`, or with a port multiplier the links `link1.0` and so on. `sata_spd` is
//! the trained speed, `hw_sata_spd_limit` is the port's maximum, and `sata_spd_limit` is the kernel's limit after
//! errors. A drive answers with 256 words (ATA8-ACS, 7.16). In word 76, bits 1, 2 and 3 mean 1.5, 3 and 6 Gb/s, and bit
//! 8 means queued commands. Words 10–19 are the serial number, 23–26 the firmware, 27–46 the model, with two characters
//! per word. If bit 2 of word 53 is set, bits 8–14 of word 88 are the selected Ultra DMA mode.
//!
//! The link is SATA if the kernel reports its speed, or if the drive has word 76. Otherwise the host's PCI class
//! decides: 0101 means parallel, and 0106 means serial. For any other class, the kind is unknown, and no link is
//! reported.

use lanemark_schema::result::{DeviceIdentity, InspectedLink, PataLink, PciFunctionKind, SataLink};

use crate::rate;
use crate::sysfs::{DevicePosition, Sysfs};
use crate::value::line_rate;

const WORDS: usize = 256;

/// A drive's answer to IDENTIFY DEVICE.
struct IdentifyData(Vec<u16>);

/// Returns the link from the port at `port` to the drive with this `channel` and `target` in its SCSI address, and the
/// drive's identity.
pub(crate) fn link(
    sysfs: &Sysfs,
    port: &DevicePosition,
    host: Option<PciFunctionKind>,
    channel: &str,
    target: &str,
) -> (Option<InspectedLink>, Option<DeviceIdentity>) {
    let number = port.name().trim_start_matches("ata").to_owned();
    // With a port multiplier, the channel selects one of the multiplier's links.
    let candidates = [
        (format!("link{number}"), format!("dev{number}.{target}")),
        (format!("link{number}.{channel}"), format!("dev{number}.{channel}.0")),
    ];
    let found = candidates.iter().find_map(|(link, device)| {
        let inside = sysfs.resolve_from(port, format!("{link}/ata_link/{link}"));
        let at = inside.or_else(|| sysfs.position(format!("class/ata_link/{link}")))?;
        Some((at, link, device))
    });
    let Some((at, link, device)) = found else { return (None, None) };
    let identify = sysfs
        .resolve_from(port, format!("{link}/{device}/ata_device/{device}"))
        .or_else(|| sysfs.position(format!("class/ata_device/{device}")))
        .and_then(|at| sysfs.value(&at, "id", IdentifyData::parse));
    let speed = |name| sysfs.value(&at, name, line_rate).flatten();
    let negotiated = speed("sata_spd");
    let (line, usable) = negotiated.map_or((None, None), rate::sata);
    let sata = SataLink {
        negotiated_bits_per_second: negotiated,
        limit_bits_per_second: speed("sata_spd_limit"),
        port_bits_per_second: speed("hw_sata_spd_limit"),
        drive_bits_per_second: identify.as_ref().and_then(IdentifyData::rate),
        queueing: identify.as_ref().and_then(IdentifyData::queueing),
        line,
        usable,
    };
    let speeds = [sata.negotiated_bits_per_second, sata.limit_bits_per_second];
    let speeds = speeds.into_iter().chain([sata.port_bits_per_second, sata.drive_bits_per_second]);
    let link = match (speeds.flatten().next(), host) {
        (Some(_), _) | (None, Some(PciFunctionKind::Ahci)) => Some(InspectedLink::Sata(sata)),
        (None, Some(PciFunctionKind::Ide)) => {
            let ultra_dma = identify.as_ref().and_then(IdentifyData::ultra_dma);
            let line = ultra_dma.and_then(rate::pata);
            Some(InspectedLink::Pata(PataLink { ultra_dma, line }))
        }
        (None, _) => None,
    };
    (link, identify.map(|identify| identify.identity()))
}

impl IdentifyData {
    /// Parses 256 words in hexadecimal, in the kernel's format.
    fn parse(text: &str) -> Option<Self> {
        let words: Option<Vec<u16>> =
            text.split_whitespace().map(|word| u16::from_str_radix(word, 16).ok()).collect();
        words.filter(|words| words.len() == WORDS).map(Self)
    }

    /// Returns word 76, unless it is invalid because all its bits are equal.
    fn sata(&self) -> Option<u16> {
        Some(self.0[76]).filter(|word| !matches!(word, 0 | 0xffff))
    }

    fn rate(&self) -> Option<u64> {
        let word = self.sata()?;
        [(3, 6_000_000_000), (2, 3_000_000_000), (1, 1_500_000_000)]
            .into_iter()
            .find(|(bit, _)| word >> bit & 1 == 1)
            .map(|(_, rate)| rate)
    }

    fn queueing(&self) -> Option<bool> {
        Some(self.sata()? >> 8 & 1 == 1)
    }

    /// Returns the selected Ultra DMA mode: the only bit set in the upper half of word 88.
    fn ultra_dma(&self) -> Option<u8> {
        let selected = self.0[88] >> 8 & 0x7f;
        let valid = self.0[53] != 0xffff && self.0[53] >> 2 & 1 == 1;
        (valid && selected.count_ones() == 1).then(|| selected.trailing_zeros() as u8)
    }

    fn identity(&self) -> DeviceIdentity {
        DeviceIdentity {
            vendor: None,
            model: self.characters(27, 46),
            serial: self.characters(10, 19),
            firmware: self.characters(23, 26),
        }
    }

    fn characters(&self, first: usize, last: usize) -> Option<String> {
        let bytes: Vec<u8> =
            self.0[first..=last].iter().flat_map(|word| word.to_be_bytes()).collect();
        let text = String::from_utf8(bytes).ok()?;
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_distinguish_rate_queueing_and_name() {
        let mut words = vec![0_u16; WORDS];
        words[76] = 0x010e;
        (words[53], words[88]) = (0x0006, 0x203f);
        words[27] = u16::from_be_bytes(*b"SS");
        words[28] = u16::from_be_bytes(*b"D ");
        let text: Vec<String> = words.iter().map(|word| format!("{word:04x}")).collect();
        let identify = IdentifyData::parse(&text.join(" ")).unwrap();
        assert_eq!(identify.rate(), Some(6_000_000_000));
        assert_eq!(identify.queueing(), Some(true));
        assert_eq!(identify.ultra_dma(), Some(5));
        assert_eq!(identify.identity().model.as_deref(), Some("SSD"));
        assert_eq!(identify.identity().serial, None);
    }

    #[test]
    fn too_few_words_are_rejected() {
        assert!(IdentifyData::parse("0040 3fff").is_none());
        assert!(IdentifyData::parse(&"zzzz ".repeat(WORDS)).is_none());
        let silent = IdentifyData(vec![0xffff; WORDS]);
        assert_eq!((silent.rate(), silent.queueing()), (None, None));
    }
}

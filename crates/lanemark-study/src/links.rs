//! A link inside a platform, and the setup of a PCI Express link.

use lanemark_schema::units::{Bytes, BytesPerSecond};
use lanemark_sim::link::{LinkSpec, PcieAddress, PcieSetup};

use crate::document::Section;
use crate::drive::packet_size;
use crate::error::StudyError;

/// A bound that is far below the throughput of any tunnel, and large enough that every burst ends.
const RATE_MAX_LEAST: BytesPerSecond = BytesPerSecond(1_000_000);

/// A link inside a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLink {
    /// The name of the link in the platform file.
    pub name: String,
    /// The chip at the link's far end.
    pub to: String,
    /// Specification of the link.
    pub spec: LinkSpec,
}

/// Reads the setup of a PCI Express link: `payload_max`, `read_request_max` and optional keys. The minimum payload that
/// a link can be set to is 128 B. The value 64 B represents a device that ends its packets at cache lines.
pub(crate) fn packets(section: &Section<'_>) -> Result<PcieSetup, StudyError> {
    let size = |key| packet_size(section, key, section.quantity(key)?, Bytes::kibi(4));
    let usual = PcieSetup::new(size("payload_max")?, size("read_request_max")?);
    let address = if section.has("address") {
        section.choice("address", &PcieAddress::NAMES)?
    } else {
        usual.address
    };
    let completion_payload = match section.optional_quantity("completion_payload")? {
        Some(size) => packet_size(section, "completion_payload", size, usual.payload_max)?,
        None => usual.completion_payload,
    };
    let rate_max = section.optional_quantity("rate_max")?;
    if let Some(most) = rate_max.filter(|most| *most < RATE_MAX_LEAST) {
        let message = format!("rate_max = {most}: must be at least {RATE_MAX_LEAST}");
        return Err(section.error("rate_max", message));
    }
    Ok(PcieSetup { address, completion_payload, rate_max, ..usual })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn read(keys: &str) -> PcieSetup {
        let text = format!("payload_max = \"256 B\"\nread_request_max = \"512 B\"\n{keys}");
        let document = Document::parse("p.toml", &text).unwrap();
        let section = document.root("platform", None);
        let setup = packets(&section).unwrap();
        section.finish().unwrap();
        setup
    }

    #[test]
    fn an_unstated_setup_is_the_usual_one() {
        let usual = PcieSetup::new(Bytes(256), Bytes(512));
        assert_eq!(read(""), usual);
        assert_eq!(read("address = \"64-bit\"\n"), usual);
    }

    #[test]
    fn every_key_of_a_setup_is_read() {
        let keys = "address = \"32-bit\"\ncompletion_payload = \"64 B\"\n\
                    rate_max = \"2750 MB/s\"\n";
        let expected = PcieSetup {
            payload_max: Bytes(256),
            read_request_max: Bytes(512),
            address: PcieAddress::Short,
            completion_payload: Bytes(64),
            rate_max: Some(BytesPerSecond(2_750_000_000)),
        };
        assert_eq!(read(keys), expected);
    }
}

//! A link inside a platform, and the setup of a PCI Express link.

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::fault::TrainedRate;
use lanemark_sim::link::{LinkSpec, PcieAddress, PcieSetup};

use crate::document::Section;
use crate::drive::packet_size;
use crate::error::StudyError;

/// The number of requests that 10-bit tags can distinguish (PCI Express Base Specification 5.0, 2.2.6.2).
const TAGS_MAX: u64 = 768;
/// The unit in which posted data is credited (2.6.1).
const CREDIT: Bytes = Bytes(16);
/// The maximum amount of posted data that scaled flow control permits: 32,752 units (3.4.2).
const POSTED_CREDITS_MAX: Bytes = Bytes(32_752 * CREDIT.0);
/// A bound that is far above the time of any path to memory, and small enough that no sum of times overflows.
const ROUND_TRIP_MAX: Duration = Duration::from_microseconds(1000);
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
    /// The time at which the link retrains, and the result of the new training.
    pub retrain: Option<(Duration, TrainedRate)>,
}

/// Reads the setup of a PCI Express link: `payload_max`, `read_request_max` and optional keys. The minimum payload that
/// a link can be set to is 128 B. The value 64 B represents a device that ends its packets at cache lines.
pub(crate) fn packets(section: &Section<'_>) -> Result<PcieSetup, StudyError> {
    let size = |key| packet_size(section, key, section.quantity(key)?, Bytes::kibi(4));
    let usual = PcieSetup::new(size("payload_max")?, size("read_request_max")?);
    let address = if section.has("address") {
        section
            .choice("address", &[("64-bit", PcieAddress::Long), ("32-bit", PcieAddress::Short)])?
    } else {
        usual.address
    };
    let ecrc = if section.has("ecrc") {
        section.choice("ecrc", &[("on", true), ("off", false)])?
    } else {
        usual.ecrc
    };
    let completion_payload = match section.optional_quantity("completion_payload")? {
        Some(size) => packet_size(section, "completion_payload", size, usual.payload_max)?,
        None => usual.completion_payload,
    };
    let tags = section.optional_integer("tags", 1, TAGS_MAX)?.map(|tags| tags as u32);
    let posted_credits = posted_credits(section, usual.payload_max)?;
    let round_trip = round_trip(section, tags.is_some() || posted_credits.is_some())?;
    let rate_max = section.optional_quantity("rate_max")?;
    if let Some(most) = rate_max.filter(|most| *most < RATE_MAX_LEAST) {
        let message = format!("rate_max = {most}: must be at least {RATE_MAX_LEAST}");
        return Err(section.error("rate_max", message));
    }
    let setup = PcieSetup { tags, posted_credits, round_trip, rate_max, ..usual };
    Ok(PcieSetup { address, ecrc, completion_payload, ..setup })
}

/// Reads `posted_credits`, which must suffice for one packet.
fn posted_credits(section: &Section<'_>, least: Bytes) -> Result<Option<Bytes>, StudyError> {
    let key = "posted_credits";
    let credits: Option<Bytes> = section.optional_quantity(key)?;
    if let Some(size) = credits
        && (!size.get().is_multiple_of(CREDIT.get())
            || !(least..=POSTED_CREDITS_MAX).contains(&size))
    {
        let most = POSTED_CREDITS_MAX.get();
        let message =
            format!("{key} = {size}: must be a multiple of {CREDIT} from {least} to {most} B");
        return Err(section.error(key, message));
    }
    Ok(credits)
}

/// Reads `round_trip`, which has an effect only if tags or credits are limited, as `bounded` states.
fn round_trip(section: &Section<'_>, bounded: bool) -> Result<Option<Duration>, StudyError> {
    let key = "round_trip";
    let round_trip: Option<Duration> = section.optional_quantity(key)?;
    match round_trip {
        Some(time) if !(Duration::from_nanoseconds(1)..=ROUND_TRIP_MAX).contains(&time) => {
            let message = format!("{key} = {time}: must be from 1 ns to {ROUND_TRIP_MAX}");
            Err(section.error(key, message))
        }
        Some(time) if !bounded => {
            let message =
                format!("{key} = {time} has an effect only with `tags` or `posted_credits`");
            Err(section
                .error(key, message)
                .hint("state the amount that may be in flight for that time"))
        }
        _ => Ok(round_trip),
    }
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
        assert_eq!(read("address = \"64-bit\"\necrc = \"off\"\n"), usual);
    }

    #[test]
    fn every_key_of_a_setup_is_read() {
        let keys = "address = \"32-bit\"\necrc = \"on\"\ncompletion_payload = \"64 B\"\ntags = 32\n\
                    posted_credits = \"8 KiB\"\nround_trip = \"1.5 us\"\nrate_max = \"2750 MB/s\"\n";
        let expected = PcieSetup {
            payload_max: Bytes(256),
            read_request_max: Bytes(512),
            address: PcieAddress::Short,
            ecrc: true,
            completion_payload: Bytes(64),
            tags: Some(32),
            posted_credits: Some(Bytes::kibi(8)),
            round_trip: Some(Duration::from_nanoseconds(1_500)),
            rate_max: Some(BytesPerSecond(2_750_000_000)),
        };
        assert_eq!(read(keys), expected);
    }
}

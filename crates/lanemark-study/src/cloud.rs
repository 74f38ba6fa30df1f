//! The `[cloud]` table of a drive file: the limits, burst credits and latency of a cloud volume.

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};
use lanemark_sim::spec::{
    BurstCreditSpec, CLOUD_IOPS, CLOUD_UNIT, CloudLimitSpec, CloudSpec, DriveSpec, FrontEndSpec,
    LognormalLatency, MediaSpec, WriteCacheMode,
};

use crate::document::Section;
use crate::error::StudyError;

/// The capacity for data of writes in flight, which does not limit a volume.
const IN_FLIGHT: Bytes = Bytes::mebi(1024);

/// A cloud volume, and its maximum command length if the volume limits it.
pub(crate) struct CloudVolume {
    /// The model of the volume.
    pub(crate) spec: DriveSpec,
    /// The maximum length of a command.
    pub(crate) transfer_max: Option<Bytes>,
}

/// Reads the table `[cloud]` of a volume of `capacity`. The model checks whether the values are in bounds.
///
/// # Errors
/// Returns the first error in the table.
pub(crate) fn read(section: &Section<'_>, capacity: Bytes) -> Result<CloudVolume, StudyError> {
    let operations = LimitKeys { rate: "iops", burst: "burst_iops", credits: "iops_credits" };
    let operations = limit(
        section,
        &operations,
        |key| section.optional_integer(key, 1, CLOUD_IOPS.1),
        |key| section.optional_integer(key, 1, u64::MAX >> 4),
    )?;
    let bytes =
        LimitKeys { rate: "throughput", burst: "burst_throughput", credits: "throughput_credits" };
    let bytes = limit(
        section,
        &bytes,
        |key| Ok(section.optional_quantity::<BytesPerSecond>(key)?.map(|rate| rate.0)),
        |key| Ok(section.optional_quantity::<Bytes>(key)?.map(Bytes::get)),
    )?;
    let switches = [("on", true), ("off", false)];
    let counts = [("bytes", false), ("units", true)];
    let cloud = CloudSpec {
        operations,
        bytes,
        unit: section.optional_quantity("unit")?.unwrap_or(CLOUD_UNIT.1),
        merges: section.setting("merging", &switches)?.unwrap_or(false),
        whole_units: section.setting("throughput_counts", &counts)?.unwrap_or(false),
        credits_at_start: section.optional_quantity("credits_at_start")?.unwrap_or(Ratio::ONE),
        read_latency: latency(section, "read_latency", "read_tail")?,
        write_latency: latency(section, "write_latency", "write_tail")?,
    };
    let transfer_max = section.optional_quantity("transfer_max")?;
    section.finish()?;
    let spec = DriveSpec {
        capacity,
        front_end: FrontEndSpec::INSTANT,
        buffer: IN_FLIGHT,
        write_cache: WriteCacheMode::Off,
        read_ahead: Bytes::ZERO,
        data_path_read: None,
        data_path_write: None,
        media: MediaSpec::Cloud(cloud),
        power: None,
    };
    Ok(CloudVolume { spec, transfer_max })
}

struct LimitKeys {
    rate: &'static str,
    burst: &'static str,
    credits: &'static str,
}

/// Reads a limit; a burst requires both a rate and credits.
fn limit(
    section: &Section<'_>,
    keys: &LimitKeys,
    rate_at: impl Fn(&'static str) -> Result<Option<u64>, StudyError>,
    amount_at: impl Fn(&'static str) -> Result<Option<u64>, StudyError>,
) -> Result<Option<CloudLimitSpec>, StudyError> {
    let rate = rate_at(keys.rate)?;
    let burst = rate_at(keys.burst)?;
    let credits = amount_at(keys.credits)?;
    let needs = |key: &str, other: &str| {
        let message = format!("`{key}` does not apply without `{other}`");
        Err(section.error(key, message).hint(format!("add `{other}`, or remove `{key}`")))
    };
    match (rate, burst, credits) {
        (Some(rate), Some(burst), Some(credits)) => {
            Ok(Some(CloudLimitSpec { rate, burst: Some(BurstCreditSpec { rate: burst, credits }) }))
        }
        (rate, None, None) => Ok(rate.map(CloudLimitSpec::steady)),
        (None, Some(_), _) => needs(keys.burst, keys.rate),
        (_, None, Some(_)) => needs(keys.credits, keys.burst),
        (Some(_), Some(_), None) => needs(keys.burst, keys.credits),
    }
}

fn latency(
    section: &Section<'_>,
    median: &'static str,
    tail: &'static str,
) -> Result<LognormalLatency, StudyError> {
    let median: Duration = section.quantity(median)?;
    let tail = section.optional_quantity(tail)?.unwrap_or(Duration::ZERO);
    Ok(LognormalLatency { median, tail })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    const LATENCY: &str = "read_latency = \"500 us\"\nwrite_latency = \"600 us\"\n";

    fn volume(keys: &str) -> Result<CloudSpec, String> {
        let document = Document::parse("d.toml", &format!("[cloud]\n{LATENCY}{keys}")).unwrap();
        let root = document.root("drive", None);
        let read = read(&root.table("cloud").unwrap(), Bytes::mebi(1024));
        let media = read.map_err(|error| error.to_string())?.spec.media;
        let MediaSpec::Cloud(cloud) = media else { panic!("a volume") };
        Ok(cloud)
    }

    #[test]
    fn every_key_of_a_volume_is_read() {
        let keys = "iops = 300\nburst_iops = 3_000\niops_credits = 5_400_000\n\
                    throughput = \"40 MiB/s\"\nburst_throughput = \"250 MiB/s\"\n\
                    throughput_credits = \"1 TiB\"\nunit = \"256 KiB\"\nmerging = \"on\"\n\
                    throughput_counts = \"units\"\ncredits_at_start = \"25%\"\n\
                    read_tail = \"400 us\"\nwrite_tail = \"0 us\"\n";
        let us = Duration::from_microseconds;
        let limit = |rate, burst, credits| {
            Some(CloudLimitSpec { rate, burst: Some(BurstCreditSpec { rate: burst, credits }) })
        };
        let expected = CloudSpec {
            operations: limit(300, 3_000, 5_400_000),
            bytes: limit(40 << 20, 250 << 20, 1 << 40),
            unit: Bytes::kibi(256),
            merges: true,
            whole_units: true,
            credits_at_start: Ratio::new(0.25).unwrap(),
            read_latency: LognormalLatency { median: us(500), tail: us(400) },
            write_latency: LognormalLatency { median: us(600), tail: Duration::ZERO },
        };
        assert_eq!(volume(keys), Ok(expected));
    }

    #[test]
    fn a_volume_without_options_has_neither_credits_nor_a_tail() {
        let plain = volume("iops = 3000\n").unwrap();
        assert_eq!((plain.operations, plain.bytes), (Some(CloudLimitSpec::steady(3_000)), None));
        assert_eq!((plain.unit, plain.merges, plain.whole_units), (CLOUD_UNIT.1, false, false));
        assert_eq!((plain.credits_at_start, plain.read_latency.tail), (Ratio::ONE, Duration::ZERO));
    }

    #[test]
    fn keys_without_effect_and_wrong_values_are_named() {
        for (keys, named) in [
            ("burst_iops = 3000\n", "`burst_iops` does not apply without `iops`"),
            ("iops = 300\nburst_iops = 3000\n", "without `iops_credits`"),
            ("iops = 300\niops_credits = 9\n", "without `burst_iops`"),
            ("throughput_credits = \"1 TiB\"\n", "without `burst_throughput`"),
            ("iops = 0\n", "iops = 0"),
            ("iops = -1\n", "iops = -1"),
            ("iops = 1e999\n", "iops"),
            ("iops = 99999999999999999999\n", "iops = 99999999999999999999"),
            ("iops = \"3000 IOPS\"\n", "iops = 3000 IOPS"),
            ("throughput = \"125\"\n", "throughput = 125"),
            ("throughput = \"-125 MiB/s\"\n", "throughput = -125 MiB/s"),
            ("credits_at_start = \"101%\"\n", "credits_at_start = 101%"),
            ("merging = \"maybe\"\n", "merging"),
            ("throughput_counts = 3\n", "throughput_counts"),
            ("queue = 3\n", "queue"),
        ] {
            let error = volume(keys).unwrap_err();
            assert!(error.contains(named), "{keys}: {error}");
        }
    }
}

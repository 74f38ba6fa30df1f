//! Determines whether a simulated figure depends on an assumed value.
//!
//! A hop that is busy nearly all the time is the bottleneck. The speed of most hops is determined by one or a few
//! values, which are listed here for each hop. If the most influential of these values is assumed, the figure is also
//! an assumption, with the range of the value.

use lanemark_schema::result::{AssumedLimit, HopId, Sample};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Test;

use crate::origin::UncertainValue;

/// The utilisation above which a hop is the bottleneck.
const BUSY: f64 = 0.9;

/// Returns the names of the values that determine the speed of `hop`, for reads or for writes.
fn values(hop: HopId, reads: bool) -> &'static [&'static str] {
    match (hop, reads) {
        (HopId::Cpu, true) => &[
            "platform.cpu.request_submit",
            "platform.cpu.request_complete",
            "platform.cpu.read_work",
            "platform.nvme.driver_time",
            "platform.ahci.driver_time",
            "platform.scsi.driver_time",
        ],
        (HopId::Cpu, false) => &[
            "platform.cpu.request_submit",
            "platform.cpu.write_submit",
            "platform.cpu.request_complete",
            "platform.cpu.write_work",
            "platform.nvme.driver_time",
            "platform.ahci.driver_time",
            "platform.scsi.driver_time",
        ],
        (HopId::FrontEnd, true) => &["drive.front_end.read_time"],
        (HopId::FrontEnd, false) => &["drive.front_end.write_time"],
        (HopId::DataPath, true) => &["drive.data_path.read"],
        (HopId::DataPath, false) => &["drive.data_path.write"],
        (HopId::Channels, _) => &["drive.flash.channel_rate"],
        (HopId::Media, true) => &["drive.flash.read"],
        (HopId::Media, false) => &["drive.flash.program"],
        _ => &[],
    }
}

/// Returns the value among `assumed` that determines the figures of `test`, with the value's range from `uncertain`.
pub(crate) fn limit(
    test: &Test,
    sample: &Sample,
    uncertain: &[UncertainValue],
    assumed: &[String],
    is_nvme: bool,
) -> Option<AssumedLimit> {
    let path = sample.path.as_ref()?;
    let busiest = path.hops.iter().max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))?;
    if busiest.utilisation < BUSY {
        return None;
    }
    let reads = test.ceiling_read_share().get() >= 0.5;
    let other_protocol = |name: &str| {
        if is_nvme {
            name.starts_with("platform.ahci.") || name.starts_with("platform.scsi.")
        } else {
            name.starts_with("platform.nvme.")
        }
    };
    let own = values(busiest.id, reads).iter().filter(|name| !other_protocol(name));
    let own: Vec<&UncertainValue> =
        own.filter_map(|name| uncertain.iter().find(|one| one.parameter == *name)).collect();
    // Among several times, the longest has the most influence. For a rate, there is only one value.
    let weight = |uncertain_value: &UncertainValue| {
        uncertain_value.text.parse::<Duration>().map_or(0, |time| time.picoseconds())
    };
    let longest = own.into_iter().max_by_key(|one| weight(one))?;
    let is_assumed = |uncertain_value: &UncertainValue| {
        assumed.iter().any(|parameter| {
            parameter
                .split_whitespace()
                .next()
                .is_some_and(|name| name == uncertain_value.parameter)
        })
    };
    is_assumed(longest).then(|| AssumedLimit {
        hop: busiest.name.clone(),
        parameter: longest.parameter.clone(),
        value: longest.shown(),
        range: longest.ends(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::ValueRange;
    use lanemark_schema::result::{HopUse, PathUse};
    use lanemark_schema::units::{Bytes, Ratio};

    fn sample(hops: &[(HopId, f64)]) -> Sample {
        let hop = |&(id, utilisation): &(HopId, f64)| HopUse {
            id,
            name: format!("{id:?}"),
            utilisation,
            ceiling: None,
            wait_ns: 0.0,
            service_ns: 0.0,
        };
        let path = Some(PathUse::new(hops.iter().map(hop).collect(), 1));
        Sample { path, ..Sample::empty() }
    }

    fn uncertain(parameter: &str, text: &str) -> UncertainValue {
        let range = ValueRange { low: 0.5, high: 2.0 };
        UncertainValue { parameter: parameter.to_owned(), text: text.to_owned(), range }
    }

    /// Returns the value that limits reads or writes whose hops are this busy, if all values except `sourced` are
    /// assumed.
    fn limit_of(hops: &[(HopId, f64)], reads: f64, sourced: &str, nvme: bool) -> Option<String> {
        let all = [
            uncertain("platform.cpu.request_submit", "2 us"),
            uncertain("platform.nvme.driver_time", "3 us"),
            uncertain("platform.ahci.driver_time", "6 us"),
            uncertain("drive.flash.read", "50 us"),
            uncertain("drive.flash.program", "600 us"),
            uncertain("drive.front_end.write_time", "4 us"),
        ];
        let assumed: Vec<String> = all
            .iter()
            .filter(|one| one.parameter != sourced)
            .map(|one| format!("{} = {}", one.parameter, one.text))
            .collect();
        let test = Test::of_blocks(Bytes::kibi(4))
            .with(|requests| requests.read_share = Ratio::new(reads).unwrap());
        limit(&test, &sample(hops), &all, &assumed, nvme).map(|limit| limit.parameter)
    }

    #[test]
    fn a_hop_is_the_limit_from_nine_tenths_of_the_time_on() {
        for (busy, is_limit) in [(0.0, false), (0.899, false), (BUSY, true), (1.0, true)] {
            let found = limit_of(&[(HopId::Cpu, 0.0), (HopId::Media, busy)], 1.0, "", true);
            assert_eq!(found.is_some(), is_limit, "{busy}");
        }
        assert_eq!(limit_of(&[], 1.0, "", true), None);
    }

    #[test]
    fn the_longest_own_value_of_the_busiest_hop_is_the_limit() {
        let own = |hop, reads, sourced, nvme| {
            limit_of(&[(HopId::Buffer, 0.95), (hop, 0.99)], reads, sourced, nvme)
        };
        for (hop, reads, nvme, wanted) in [
            (HopId::Media, 1.0, true, Some("drive.flash.read")),
            (HopId::Media, 0.5, true, Some("drive.flash.read")),
            (HopId::Media, 0.49, true, Some("drive.flash.program")),
            (HopId::FrontEnd, 0.0, true, Some("drive.front_end.write_time")),
            (HopId::FrontEnd, 1.0, true, None),
            (HopId::Cpu, 1.0, true, Some("platform.nvme.driver_time")),
            (HopId::Cpu, 0.0, false, Some("platform.ahci.driver_time")),
            (HopId::Link(0), 1.0, true, None),
        ] {
            assert_eq!(own(hop, reads, "", nvme).as_deref(), wanted, "{hop:?}, {reads}, {nvme}");
        }
        // A sourced value is not an assumption, even if a shorter time is assumed.
        assert_eq!(own(HopId::Cpu, 1.0, "platform.nvme.driver_time", true), None);
        let other = own(HopId::Cpu, 1.0, "platform.cpu.request_submit", true);
        assert_eq!(other.as_deref(), Some("platform.nvme.driver_time"));
    }

    /// The work of kernel threads or of a hypervisor belongs to the processor, for its own direction.
    #[test]
    fn work_on_data_is_a_limit_of_the_processor() {
        for (reads, expected) in [(1.0, "platform.cpu.read_work"), (0.0, "platform.cpu.write_work")]
        {
            let all = [
                uncertain("platform.cpu.read_work", "7 us"),
                uncertain("platform.cpu.write_work", "8 us"),
                uncertain("platform.nvme.driver_time", "3 us"),
            ];
            let assumed: Vec<String> = all.iter().map(|one| one.parameter.clone()).collect();
            let test = Test::of_blocks(Bytes::kibi(4))
                .with(|requests| requests.read_share = Ratio::new(reads).unwrap());
            let found = limit(&test, &sample(&[(HopId::Cpu, 1.0)]), &all, &assumed, true).unwrap();
            assert_eq!(found.parameter, expected);
            assert!(found.is_of_host() && found.advice().contains("--host-only"));
        }
    }
}

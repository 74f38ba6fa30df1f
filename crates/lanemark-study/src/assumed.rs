//! Decides whether an assumed value determines a simulated figure.
//!
//! A hop is the bottleneck if it is busy nearly all the time. The speed of most hops follows from one or a few values,
//! listed here for each hop. If the largest of these is assumed, the figure is an assumption too, with the value's
//! range.

use lanemark_schema::result::{AssumedLimit, HopId, Sample};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Test;

use crate::origin::Uncertain;

/// The share of the time from which on a busy hop is the bottleneck.
const BUSY: f64 = 0.9;

/// Returns the values that determine the speed of `hop`, for reads or writes.
fn values(hop: HopId, reads: bool) -> &'static [&'static str] {
    match (hop, reads) {
        (HopId::Cpu, true) => &[
            "platform.cpu.request_submit",
            "platform.cpu.request_complete",
            "platform.nvme.driver_time",
            "platform.ahci.driver_time",
            "platform.scsi.driver_time",
        ],
        (HopId::Cpu, false) => &[
            "platform.cpu.request_submit",
            "platform.cpu.write_submit",
            "platform.cpu.request_complete",
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

/// Returns the value among `assumed` that determines the figures of `test`, with its range from `uncertain`.
pub(crate) fn limit(
    test: &Test,
    sample: &Sample,
    uncertain: &[Uncertain],
    assumed: &[String],
    is_nvme: bool,
) -> Option<AssumedLimit> {
    let path = sample.path.as_ref()?;
    let busiest = path.hops.iter().max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))?;
    if busiest.utilisation < BUSY {
        return None;
    }
    let reads = test.read_share().get() >= 0.5;
    let other_protocol = |name: &str| match is_nvme {
        true => name.starts_with("platform.ahci.") || name.starts_with("platform.scsi."),
        false => name.starts_with("platform.nvme."),
    };
    let own = values(busiest.id, reads).iter().filter(|name| !other_protocol(name));
    let own: Vec<&Uncertain> =
        own.filter_map(|name| uncertain.iter().find(|one| one.parameter == *name)).collect();
    // Among several times, the longest has the most weight. A rate has only one value.
    let weight =
        |one: &Uncertain| one.text.parse::<Duration>().map_or(0, |time| time.picoseconds());
    let longest = own.into_iter().max_by_key(|one| weight(one))?;
    let is_assumed = |one: &Uncertain| {
        assumed.iter().any(|parameter| {
            parameter.split_whitespace().next().is_some_and(|name| name == one.parameter)
        })
    };
    is_assumed(longest).then(|| AssumedLimit {
        hop: busiest.name.clone(),
        parameter: longest.parameter.clone(),
        value: longest.text.clone(),
        range: longest.ends(),
    })
}

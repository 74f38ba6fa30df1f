//! The request mix of a test, the arrival of its requests, and its start.

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};
use lanemark_schema::workload::{ArrivalProcess, Load, RequestMix, SizeShare, TestStart};

use super::TestTables;
use crate::error::StudyError;

/// Reads `sizes`, `trim`, `flush_every` and `copy_to`.
pub(super) fn mix(layers: &TestTables<'_, '_>) -> Result<RequestMix, StudyError> {
    let section = layers.table_with("sizes");
    let size = |text: &String| {
        let parts = text.rsplit_once(' ').and_then(|(block, share)| {
            let share: Ratio = share.parse().ok()?;
            Some(SizeShare { block: block.trim().parse::<Bytes>().ok()?, share: share.get() })
        });
        parts.ok_or_else(|| {
            let error =
                section.error("sizes", format!("sizes: `{text}` is not a size with a share"));
            error.hint("write both, \"4 KiB 67%\"")
        })
    };
    let sizes = section.texts("sizes")?.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    if !sizes.is_empty() && layers.own.has("block") {
        return Err(layers.own.error("block", "block: the test already has sizes"));
    }
    Ok(RequestMix {
        sizes,
        trim_share: layers.quantity("trim")?.unwrap_or(Ratio::ZERO),
        flush_every: layers
            .table_with("flush_every")
            .optional_integer("flush_every", 1, u32::MAX.into())?
            .map(|every| every as u32),
        written_back: false,
        copy_to: layers.quantity("copy_to")?,
    })
}

/// Reads `rate`, in requests or bytes a second, and `arrivals`, the distribution of arrival times; `mean` is the mean
/// length of a request.
pub(super) fn load(layers: &TestTables<'_, '_>, mean: f64) -> Result<Load, StudyError> {
    let section = layers.table_with("arrivals");
    let process = if section.has("arrivals") {
        Some(section.choice("arrivals", &ArrivalProcess::NAMES)?)
    } else {
        None
    };
    let bound = "requests or bytes a second, \"5000/s\" or \"20 MB/s\"";
    let rate = layers.table_with("rate").optional_parsed("rate", bound, |text| {
        let requests = text.strip_suffix("/s").and_then(|number| number.trim().parse::<f64>().ok());
        requests.or_else(|| {
            let bytes: BytesPerSecond = text.parse().ok()?;
            Some(bytes.0 as f64 / mean)
        })
    })?;
    match (rate, process) {
        (Some(rate_per_second), process) => {
            Ok(Load::Open { rate_per_second, process: process.unwrap_or_default() })
        }
        (None, None) => Ok(Load::Closed),
        (None, Some(_)) => Err(section
            .error("arrivals", "there is no rate at which requests could arrive".to_owned())
            .hint("add rate, \"5000/s\" for example")),
    }
}

/// Reads `start` and `delay`.
pub(super) fn start(layers: &TestTables<'_, '_>) -> Result<TestStart, StudyError> {
    let section = layers.table_with("start");
    let beside = if section.has("start") {
        section.choice("start", &[("after", false), ("beside", true)])?
    } else {
        false
    };
    Ok(TestStart { beside, delay: layers.quantity("delay")?.unwrap_or(Duration::ZERO) })
}

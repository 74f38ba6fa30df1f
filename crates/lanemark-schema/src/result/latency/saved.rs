//! A latency histogram in JSON: its non-empty buckets, and figures for other readers.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::range::ValuePath;
use super::{LatencyDetail, LatencyHistogram, PERCENTILES, record_count};

/// The histogram in JSON. The percentiles are for other readers.
#[derive(Serialize, Deserialize)]
struct SavedHistogram {
    count: u64,
    sum_ns: f64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    #[serde(skip_deserializing)]
    mean_ns: f64,
    #[serde(skip_deserializing)]
    percentiles_ns: std::collections::BTreeMap<String, u64>,
    /// Number of requests that support each percentile: the requests whose latency is the percentile's or longer.
    #[serde(skip_deserializing)]
    percentiles_support: std::collections::BTreeMap<String, u64>,
    /// The bins, each as its maximum latency and its count.
    bins: Vec<(u64, u64)>,
    /// Detail in which the latencies are known.
    #[serde(default, skip_serializing_if = "LatencyDetail::is_distribution")]
    detail: LatencyDetail,
    /// Percentiles as another program stated them: per cent and ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stated_percentiles_ns: Vec<(f64, u64)>,
}

/// Maximum number of percentiles that a result states; fio's own bound is 20.
const STATED_MAX: usize = 1000;

impl Serialize for LatencyHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = |percentile: f64| format!("{percentile:07.4}");
        let stated = self.stated.iter().map(|(percentile, _)| *percentile);
        let percentiles = PERCENTILES
            .into_iter()
            .chain(stated)
            .filter_map(|percentile| Some((name(percentile), self.percentile_ns(percentile)?)));
        let support = PERCENTILES.iter().filter_map(|&percentile| {
            Some((name(percentile), self.support(percentile).filter(|&support| support > 0)?))
        });
        SavedHistogram {
            count: self.count(),
            sum_ns: self.sum_ns,
            min_ns: self.min_ns(),
            max_ns: self.max_ns(),
            mean_ns: self.mean_ns(),
            percentiles_ns: percentiles.collect(),
            percentiles_support: support.collect(),
            bins: self
                .buckets
                .iter_recorded()
                .map(|bin| (bin.value_iterated_to(), bin.count_at_value()))
                .collect(),
            detail: self.detail,
            stated_percentiles_ns: self.stated.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LatencyHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = SavedHistogram::deserialize(deserializer)?;
        let mut histogram = Self::new();
        for (latency_ns, count) in stored.bins {
            record_count(&mut histogram.buckets, latency_ns, count);
        }
        if histogram.count() != stored.count {
            return Err(serde::de::Error::custom(format!(
                "a latency histogram states {} requests, but its bins contain {}",
                stored.count,
                histogram.count()
            )));
        }
        if stored.stated_percentiles_ns.len() > STATED_MAX {
            return Err(serde::de::Error::custom(format!(
                "stated_percentiles_ns: more than {STATED_MAX} percentiles"
            )));
        }
        histogram.detail = stored.detail;
        histogram.stated = stored.stated_percentiles_ns;
        histogram.sum_ns = stored.sum_ns;
        histogram.min_ns = stored.min_ns.unwrap_or(u64::MAX);
        histogram.max_ns = stored.max_ns.unwrap_or(0);
        histogram.check(&ValuePath::from_root("latency")).map_err(serde::de::Error::custom)?;
        Ok(histogram)
    }
}

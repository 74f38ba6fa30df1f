//! The figures of a test as a page has them: plain numbers with their units in their names.

use lanemark_core::result::{
    FILLING_MAX, HopId, LatencyHistogram, PERCENTILES, PredictionInterval, Sample, Statistic,
    Warning,
};
use lanemark_core::workload::{Average, Test};
use lanemark_lab::LabError;
use lanemark_report::path_sentence;
use lanemark_study::{System, path};
use serde::Serialize;

/// The figures of one test, of as many repeats as have ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The test's name.
    pub test: String,
    /// Repeats that the figures are of; 0 of a first answer, which is of few requests.
    pub repeats: usize,
    /// Requests that were counted, over all repeats.
    pub requests: u64,
    /// Simulated time that was counted, over all repeats.
    pub simulated_seconds: f64,
    /// Throughput in MB/s, 10^6 bytes a second.
    pub megabytes_per_second: f64,
    /// Requests a second.
    pub iops: f64,
    /// Half the range of the repeats over their mean.
    pub spread: f64,
    /// Mean latency.
    pub latency_mean_us: f64,
    /// Percentiles that enough requests support, each with its latency.
    pub latency_us: Vec<(f64, f64)>,
    /// The 80% interval, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<PredictionInterval>,
    /// The hops in the order of the path.
    pub hops: Vec<HopFigures>,
    /// The narrowest hop in a sentence.
    pub narrowest: String,
    /// Requests that failed.
    pub failed: u64,
    /// Doubts about the figures.
    pub doubts: Vec<String>,
}

/// The figures of one hop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HopFigures {
    /// The hop's identity.
    pub id: HopId,
    /// The hop's name.
    pub name: String,
    /// The law that the hop follows.
    pub law: String,
    /// Share of the time for which the hop is busy.
    pub utilisation: f64,
    /// The rate that the hop carries if it alone is the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling_megabytes_per_second: Option<f64>,
    /// Mean time that a request waits at it.
    pub wait_us: f64,
    /// Mean time that it takes for a request.
    pub service_us: f64,
    /// Whether no other has a lower ceiling.
    pub is_narrowest: bool,
}

/// Returns the doubts about `samples`.
fn doubts(test: &Test, samples: &[Sample]) -> Vec<String> {
    let filling = |sample: &Sample| sample.drive.map_or(0.0, |drive| drive.filling());
    let share = samples.iter().map(filling).fold(0.0, f64::max);
    let doubt = Warning::BufferFilling { test: test.name.clone(), share };
    (share > FILLING_MAX).then(|| doubt.to_string()).into_iter().collect()
}

impl Figures {
    /// Makes the figures of `samples`; `is_first` where they are a first answer.
    ///
    /// # Errors
    /// Where there is no sample.
    pub fn of(
        system: &System,
        test: &Test,
        samples: &[Sample],
        is_first: bool,
    ) -> Result<Self, LabError> {
        let over = |value: fn(&Sample) -> f64| {
            let values: Vec<f64> = samples.iter().map(value).collect();
            Statistic::of(&values, Average::Mean)
        };
        let last = samples.last().ok_or_else(|| LabError::run("no request came to its end"))?;
        let throughput = over(|sample| sample.throughput().0 as f64);
        let mut latency = LatencyHistogram::new();
        samples.iter().for_each(|sample| latency.merge(&sample.latency()));
        let view = path::view(system, test, Some(last.throughput()));
        let least = view.hops.iter().filter_map(|hop| Some(hop.ceiling?.0)).min();
        let used = last.path.iter().flat_map(|path| &path.hops);
        let hops = used.map(|hop| {
            let law = view.hops.iter().find(|own| own.id == hop.id);
            let ceiling = law.and_then(|law| law.ceiling).or(hop.ceiling);
            HopFigures {
                id: hop.id,
                name: hop.name.clone(),
                law: law.map_or_else(String::new, |law| law.law.clone()),
                utilisation: hop.utilisation,
                ceiling_megabytes_per_second: ceiling.map(|rate| rate.as_megabytes()),
                wait_us: hop.wait_ns / 1e3,
                service_us: hop.service_ns / 1e3,
                is_narrowest: least.is_some() && ceiling.map(|rate| rate.0) == least,
            }
        });
        let supported = PERCENTILES.into_iter().filter_map(|percentile| {
            Some((percentile, latency.percentile_ns(percentile)? as f64 / 1e3))
        });
        Ok(Self {
            test: test.name.clone(),
            repeats: if is_first { 0 } else { samples.len() },
            requests: samples.iter().map(Sample::operations).sum(),
            simulated_seconds: samples.iter().map(|sample| sample.elapsed.as_seconds()).sum(),
            megabytes_per_second: throughput.value / 1e6,
            iops: over(Sample::iops).value,
            spread: throughput.spread(),
            latency_mean_us: latency.mean_ns() / 1e3,
            latency_us: supported.collect(),
            interval: None,
            hops: hops.collect(),
            narrowest: path_sentence(&view),
            doubts: doubts(test, samples),
            failed: samples.iter().map(|sample| sample.errors.total()).sum(),
        })
    }
}

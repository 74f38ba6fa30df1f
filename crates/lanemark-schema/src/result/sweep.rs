//! A sweep: one test on one system at many points, each with its own values of the swept parameters.
//!
//! The types are plain data for views. A point contains the figures that curves show, but not the samples.

use serde::{Deserialize, Serialize};

use super::{DirectionResult, DriveUse, LatencyHistogram, Sample, Statistic};
use crate::workload::AverageMethod;

/// The points of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The names of the swept parameters; the last parameter changes fastest from point to point.
    pub axes: Vec<String>,
    /// The completed points, in order.
    pub points: Vec<SweepPoint>,
}

/// A point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Number of the point in the sweep, counted from 0.
    pub number: u64,
    /// The system, `drive@platform:port`.
    pub system: String,
    /// The test's name.
    pub test: String,
    /// The value of each axis as text.
    pub values: Vec<String>,
    /// Figures of the point, or the reason why they are missing.
    #[serde(flatten, with = "outcome")]
    pub outcome: Result<SweepFigures, String>,
}

/// The figures of a point, over its repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepFigures {
    /// Requests a second.
    pub iops: f64,
    /// Throughput, in bytes a second.
    pub bytes_per_second: f64,
    /// Mean latency, in µs.
    pub latency_mean_us: f64,
    /// Percentiles of the latency, 50, 99 and 99.9, if enough requests support them.
    pub latency_percentiles_us: [Option<f64>; 3],
    /// Maximum latency, in µs.
    pub latency_max_us: Option<f64>,
    /// The busiest hop and its utilisation.
    pub busiest: Option<(String, f64)>,
    /// The reads, if there were any.
    pub reads: Option<DirectionFigures>,
    /// The writes, if there were any.
    pub writes: Option<DirectionFigures>,
    /// Flash writes divided by host writes; `None` if the host wrote nothing.
    pub write_amplification: Option<f64>,
}

/// The figures of a test's reads, or of its writes, over the test's repeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionFigures {
    /// Requests a second.
    pub iops: f64,
    /// Throughput, in bytes a second.
    pub bytes_per_second: f64,
    /// Mean latency, in µs.
    pub latency_mean_us: f64,
    /// Percentiles of the latency, 50, 99 and 99.9, if enough requests support them.
    pub latency_percentiles_us: [Option<f64>; 3],
    /// Maximum latency, in µs.
    pub latency_max_us: Option<f64>,
}

/// The outcome of a point, stored as a field `figures` or a field `error`.
mod outcome {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::SweepFigures;

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Outcome {
        Figures(Box<SweepFigures>),
        Error(String),
    }

    pub(super) fn serialize<S: Serializer>(
        outcome: &Result<SweepFigures, String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match outcome {
            Ok(figures) => Outcome::Figures(Box::new(figures.clone())).serialize(serializer),
            Err(error) => Outcome::Error(error.clone()).serialize(serializer),
        }
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Result<SweepFigures, String>, D::Error> {
        Ok(match Outcome::deserialize(deserializer)? {
            Outcome::Figures(figures) => Ok(*figures),
            Outcome::Error(error) => Err(error),
        })
    }
}

impl DirectionFigures {
    /// Returns the figures of one direction of `samples`, averaged by `average`; `None` if the samples do not contain
    /// requests in that direction.
    pub fn from_samples<'s>(
        samples: &'s [Sample],
        direction: impl Fn(&'s Sample) -> Option<&'s DirectionResult>,
        average: AverageMethod,
    ) -> Option<Self> {
        let mut latency = LatencyHistogram::new();
        let mut rates = Vec::new();
        let mut means = Vec::new();
        for sample in samples {
            let seconds = sample.elapsed.as_seconds();
            let own = direction(sample).filter(|own| own.latency.count() > 0);
            rates.push(match own {
                Some(own) if seconds > 0.0 => {
                    (own.latency.count() as f64 / seconds, own.bytes.get() as f64 / seconds)
                }
                _ => (0.0, 0.0),
            });
            if let Some(own) = own {
                latency.merge(&own.latency);
                means.push(own.latency.mean_ns() / 1e3);
            }
        }
        let statistic_over = |values: &[f64]| Statistic::from_values(values, average).value;
        let rate =
            |of: fn(&(f64, f64)) -> f64| statistic_over(&rates.iter().map(of).collect::<Vec<_>>());
        let us = |ns: u64| ns as f64 / 1e3;
        (latency.count() > 0).then(|| Self {
            iops: rate(|(iops, _)| *iops),
            bytes_per_second: rate(|(_, bytes)| *bytes),
            latency_mean_us: statistic_over(&means),
            latency_percentiles_us: [50.0, 99.0, 99.9]
                .map(|at| latency.recorded_percentile_ns(at).map(us)),
            latency_max_us: latency.max_ns().map(us),
        })
    }
}

/// Returns the flash writes divided by the host writes of all `samples`; `None` if the host wrote nothing, or if the
/// flash writes are unknown.
pub fn write_amplification(samples: &[Sample]) -> Option<f64> {
    let mut all: Option<DriveUse> = None;
    for drive in samples.iter().filter_map(|sample| sample.drive) {
        all.get_or_insert_default().add(&drive);
    }
    all?.write_amplification()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_read_back_from_json_with_figures_and_errors() {
        let point = |number, outcome| SweepPoint {
            number,
            system: "a@b:c".to_owned(),
            test: "reads".to_owned(),
            values: vec![number.to_string()],
            outcome,
        };
        let figures = SweepFigures {
            iops: 1.5,
            latency_percentiles_us: [Some(2.0), None, None],
            busiest: Some(("link".to_owned(), 0.5)),
            reads: Some(DirectionFigures::default()),
            ..SweepFigures::default()
        };
        let points = vec![point(0, Ok(figures)), point(1, Err("no port".to_owned()))];
        let sweep = Sweep { axes: vec!["port".to_owned()], points };
        let text = serde_json::to_string(&sweep).unwrap();
        assert_eq!(serde_json::from_str::<Sweep>(&text).unwrap(), sweep);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["points"][0]["figures"]["iops"], 1.5);
        assert_eq!(json["points"][1]["error"], "no port");
    }
    use crate::units::{Bytes, Duration};

    #[test]
    fn figures_of_a_direction_are_means_over_repeats_in_microseconds() {
        let sample = |count: u64, latency_ns: u64| {
            let bins = [(latency_ns, count)];
            let mean_ns = latency_ns as f64;
            let latency = LatencyHistogram::from_bins(bins, mean_ns, latency_ns, latency_ns);
            let bytes = Bytes(4096 * count);
            let reads = Some(DirectionResult { bytes, latency });
            Sample { elapsed: Duration::from_seconds(2), reads, ..Sample::empty() }
        };
        let samples = [sample(200, 100_000), sample(600, 300_000)];
        let reads =
            DirectionFigures::from_samples(&samples, |one| one.reads.as_ref(), AverageMethod::Mean)
                .unwrap();
        assert_eq!((reads.iops, reads.bytes_per_second), (200.0, 200.0 * 4096.0));
        assert_eq!((reads.latency_mean_us, reads.latency_max_us), (200.0, Some(300.0)));
        assert_eq!(
            DirectionFigures::from_samples(
                &samples,
                |one| one.writes.as_ref(),
                AverageMethod::Mean
            ),
            None
        );
    }
}

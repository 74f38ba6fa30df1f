//! The figures that serving a modelled system to real programs adds to a sample.

use serde::{Deserialize, Serialize};

use super::direction::DirectionResult;
use super::latency::LatencyHistogram;
use crate::units::Duration;

/// The delivery of modelled completions to real programs: the late completions, and whether the run holds.
///
/// Latencies and rates of the sample are modelled, in simulated time. All times here are of the wall clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveUse {
    /// Wall-clock time of a second of simulated time.
    pub time_scale: f64,
    /// Time that the system was served.
    #[serde(rename = "served_ns")]
    pub served: Duration,
    /// Delay from each completion's modelled instant to the delivery of its answer.
    pub lateness: LatencyHistogram,
    /// Reads as delivered, from the request's arrival to its answer, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<DirectionResult>,
    /// Writes as delivered, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<DirectionResult>,
    /// Maximum of the median lateness and of its 99th percentile for the run to hold.
    #[serde(rename = "bounds_ns")]
    pub bounds: (Duration, Duration),
    /// Processor time of the server in seconds.
    pub processor_s: f64,
}

impl LiveUse {
    /// Returns whether answers were delivered within the bounds of lateness.
    pub fn holds(&self) -> bool {
        let within = |percentile, bound: Duration| {
            self.lateness.percentile_ns(percentile).is_none_or(|late| late <= bound.nanoseconds())
        };
        within(50.0, self.bounds.0) && within(99.0, self.bounds.1)
    }
}

/// Returns the bounds of lateness for answers whose modelled latencies are `latency`, on a clock that takes
/// `time_scale` seconds for a simulated second. The bounds are 2% of the median or 10 us, and 5% of the 99th percentile
/// or 50 us; the larger of each pair applies.
pub fn lateness_bounds(latency: &LatencyHistogram, time_scale: f64) -> (Duration, Duration) {
    let bound = |percentile, share: f64, least_us: u64| {
        let modelled = latency.percentile_ns(percentile).unwrap_or(0) as f64 * time_scale;
        Duration::from_nanoseconds((modelled * share) as u64)
            .max(Duration::from_microseconds(least_us))
    };
    (bound(50.0, 0.02, 10), bound(99.0, 0.05, 50))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(late_us: u64, modelled_us: u64) -> LiveUse {
        let (mut lateness, mut latency) = (LatencyHistogram::new(), LatencyHistogram::new());
        for _ in 0..1_000 {
            lateness.record(Duration::from_microseconds(late_us));
            latency.record(Duration::from_microseconds(modelled_us));
        }
        let bounds = lateness_bounds(&latency, 1.0);
        let (reads, writes) = (None, None);
        let served = Duration::from_seconds(1);
        LiveUse { time_scale: 1.0, served, lateness, reads, writes, bounds, processor_s: 0.0 }
    }

    #[test]
    fn a_run_holds_up_to_ten_microseconds_or_two_percent_of_lateness() {
        assert!(served(9, 100).holds() && !served(12, 100).holds());
        assert!(served(190, 10_000).holds() && !served(210, 10_000).holds());
    }

    #[test]
    fn a_slower_clock_allows_more() {
        let mut latency = LatencyHistogram::new();
        (0..1_000).for_each(|_| latency.record(Duration::from_microseconds(1_000)));
        let (once, ten) = (lateness_bounds(&latency, 1.0), lateness_bounds(&latency, 10.0));
        assert!(once.0 < Duration::from_microseconds(21));
        assert!(
            ten.0 > Duration::from_microseconds(199) && ten.1 > Duration::from_microseconds(499)
        );
    }
}

//! Determines whether a program on a served system takes as long as on the modelled system.

use super::latency::LatencyHistogram;
use super::{DEVIATION_MAX, RequestErrors, Sample};
use crate::units::Duration;

/// Returns the sum of all latencies in ns.
fn total_ns(latency: &LatencyHistogram) -> f64 {
    latency.mean_ns() * latency.count() as f64
}

impl Sample {
    /// Returns the requests that the model of a served system completed, but that this machine answered with an error;
    /// `None` if there are no such requests. The figures of a sample with them do not describe the modelled system.
    pub fn host_errors(&self) -> Option<&RequestErrors> {
        self.live.as_ref().map(|live| &live.host_errors).filter(|errors| !errors.is_empty())
    }

    /// Returns whether the answers of a served system were prompt enough for a program to take as long as on the
    /// modelled system. This is the case if the run is valid, or if the total lateness is up to [`DEVIATION_MAX`] of
    /// the modelled time of all requests. Short late requests do not affect a program that mostly waits for flushes.
    pub fn is_served_in_time(&self) -> bool {
        let Some(live) = &self.live else { return true };
        let late_ns = total_ns(&live.lateness);
        let all = [&self.reads, &self.writes, &self.flushes, &self.trims];
        // The latencies of a simulated sample are modelled, and the latencies of a measured sample are not.
        let own_ns =
            || all.into_iter().flatten().map(|direction| total_ns(&direction.latency)).sum::<f64>();
        let modelled_ns = match live.evidence.modelled_total {
            Duration::ZERO => own_ns() * live.time_scale,
            total => total.nanoseconds() as f64,
        };
        live.holds() || late_ns <= DEVIATION_MAX * modelled_ns
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DeliveryEvidence, DirectionResult, LiveDelivery};
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn a_program_that_waits_for_flushes_does_not_notice_late_writes() {
        let sample = |flushes: u64| {
            let direction = |count: u64, time: Duration| {
                let mut one = DirectionResult::new();
                (0..count).for_each(|_| one.record(Bytes::kibi(4), time));
                Some(one)
            };
            let mut lateness = LatencyHistogram::new();
            let mut latency = LatencyHistogram::new();
            for _ in 0..1_000 {
                lateness.record(Duration::from_microseconds(40));
                latency.record(Duration::from_microseconds(20));
            }
            let live = LiveDelivery {
                time_scale: 1.0,
                host_errors: Default::default(),
                served: Duration::from_seconds(1),
                lateness,
                reads: None,
                writes: direction(1_000, Duration::from_microseconds(60)),
                evidence: DeliveryEvidence::of_modelled(&latency, 1.0),
                content: None,
                processor_s: 0.0,
                busy: Duration::ZERO,
                program: None,
            };
            Sample {
                writes: direction(1_000, Duration::from_microseconds(20)),
                flushes: direction(flushes, Duration::from_microseconds(1_000)),
                live: Some(live),
                ..Sample::empty()
            }
        };
        // 1,000 answers are each late by 40 µs, 40 ms in total, and the writes take 20 ms.
        assert!(!sample(0).is_served_in_time());
        assert!(!sample(379).is_served_in_time());
        assert!(sample(381).is_served_in_time());
        assert!(Sample::empty().is_served_in_time());
        // In a measured sample, the server states the modelled time of all requests, here 400 ms.
        let mut measured = sample(0);
        let us = Duration::from_microseconds;
        for (total, is_in_time) in [(us(399_000), false), (us(401_000), true)] {
            if let Some(live) = &mut measured.live {
                live.evidence.modelled_total = total;
            }
            assert_eq!(measured.is_served_in_time(), is_in_time);
        }
    }
}

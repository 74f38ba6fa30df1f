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
    /// Simulated time during which the system had at least one request.
    #[serde(rename = "busy_ns", default)]
    pub busy: Duration,
    /// The program that used the system, if it was served for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramUse>,
}

/// A program that ran on a served system. Times are of the wall clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramUse {
    /// Name of the system, `drive@platform:port`.
    pub system: String,
    /// Time from the start of the program to its end.
    #[serde(rename = "wall_ns")]
    pub wall: Duration,
    /// Simulated time during which the system had at least one request and the program ran.
    #[serde(rename = "busy_ns")]
    pub busy: Duration,
    /// Additional time until all data of the program were on the drive.
    #[serde(rename = "sync_ns")]
    pub sync: Duration,
    /// Processor time of the program and its children in seconds, in steps of 10 ms.
    pub processor_s: f64,
    /// Exit code of the program; 128 and the signal's number after a signal.
    pub exit_code: i32,
}

impl LiveUse {
    /// Returns the time that the program would take if simulated time passed as fast as real time, in seconds; `None`
    /// if no program is known.
    ///
    /// A time scale stretches only the time in which the system had requests. The conversion treats the program's other
    /// work as if it never overlapped with requests. It is exact at a time scale of 1, and for programs that wait for
    /// each of their requests.
    pub fn program_s(&self) -> Option<f64> {
        let program = self.program.as_ref()?;
        Some(program.wall.as_seconds() - self.busy_s(program) * (self.time_scale - 1.0))
    }

    /// Returns the share of the program's time, as of [`LiveUse::program_s`], in which the system had requests.
    pub fn waiting_share(&self) -> Option<f64> {
        let whole = self.program_s()?;
        let busy = self.busy_s(self.program.as_ref()?);
        (whole > 0.0).then(|| (busy / whole).min(1.0))
    }

    /// Returns the simulated time with requests, in seconds. The instants of its two readings can differ slightly from
    /// the start and the end of the program.
    fn busy_s(&self, program: &ProgramUse) -> f64 {
        program.busy.as_seconds().min(program.wall.as_seconds() / self.time_scale)
    }
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
        LiveUse {
            time_scale: 1.0,
            served,
            lateness,
            reads,
            writes,
            bounds,
            processor_s: 0.0,
            busy: Duration::ZERO,
            program: None,
        }
    }

    #[test]
    fn a_time_scale_stretches_only_the_time_with_requests() {
        let program = |wall_s: f64, busy| ProgramUse {
            busy,
            system: "drive@platform:port".to_owned(),
            wall: Duration::from_nanoseconds((wall_s * 1e9) as u64),
            sync: Duration::ZERO,
            processor_s: 0.0,
            exit_code: 0,
        };
        // (time scale, wall time, busy simulated time) and (converted time, share with requests), all in seconds. The
        // second case: 8 s of the 10 s are 2 simulated seconds, and 2 s remain as they are.
        for ((time_scale, wall, busy_ms), (converted, share)) in [
            ((1.0, 10.0, 2_000), (10.0, 0.2)),
            ((4.0, 10.0, 2_000), (4.0, 0.5)),
            ((4.0, 10.0, 0), (10.0, 0.0)),
            // The busy time was read after the program's end.
            ((4.0, 10.0, 3_000), (2.5, 1.0)),
        ] {
            let program = Some(program(wall, Duration::from_microseconds(1_000 * busy_ms)));
            let live = LiveUse { time_scale, program, ..served(0, 100) };
            assert!((live.program_s().unwrap() - converted).abs() < 1e-9, "{live:?}");
            assert!((live.waiting_share().unwrap() - share).abs() < 1e-9, "{live:?}");
        }
        assert_eq!(served(0, 100).program_s(), None);
        assert_eq!(served(0, 100).waiting_share(), None);
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

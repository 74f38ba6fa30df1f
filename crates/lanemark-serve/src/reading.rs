//! The counters of a served system at an instant. Two readings determine the figures of the time between them, so that
//! there is a separate verdict on each measurement of the system.

use lanemark_schema::result::{
    DeliveryEvidence, DirectionResult, LatencyHistogram, LiveDelivery, OutsideTime, RequestErrors,
    StartContent,
};
use lanemark_schema::units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

/// Maximum time in the evidence, in ns: three months.
const TIME_MAX_NS: f64 = 8e15;
/// Maximum time scale of a reading.
const SCALE_MAX: f64 = 1e6;

/// A served system with its counters, as its server reports them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemReading {
    /// Name of the system, `drive@platform:port`.
    pub system: String,
    /// Display name of the drive.
    pub drive: String,
    /// The faults so far, written as on a command line.
    pub faults: Vec<String>,
    pub counters: SessionCounters,
}

/// All counters of a session since its start. Times are wall-clock times unless stated otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionCounters {
    /// Wall-clock time of a second of simulated time.
    pub time_scale: f64,
    #[serde(rename = "served_ns")]
    pub served: Duration,
    /// Simulated time without the times during which all clients paused.
    #[serde(rename = "active_ns")]
    pub active: Duration,
    /// Simulated time with outstanding requests.
    #[serde(rename = "busy_ns")]
    pub busy: Duration,
    /// Number of requests, including flushes and trims.
    pub requests: u64,
    /// Sum of the modelled latencies of all requests, in ns of simulated time.
    pub modelled_total_ns: f64,
    /// Modelled latencies of reads and writes, in simulated time.
    pub modelled: LatencyHistogram,
    /// Time by which each request took longer than modelled.
    pub lateness: LatencyHistogram,
    pub reads: DirectionResult,
    pub writes: DirectionResult,
    /// Requests that this machine answered with an error.
    #[serde(default)]
    pub host_errors: RequestErrors,
    /// Busy time of each hop on the drive's path, in ns of simulated time.
    pub hops_busy_ns: Vec<f64>,
    /// The threads that read requests.
    pub intake: ThreadTime,
    /// The thread that simulates.
    pub engine: ThreadTime,
    /// The answers that clients had not read.
    pub unread: UnreadSum,
    /// Time of a request outside the server, if it is known.
    pub outside: Option<OutsideTime>,
    /// The drive's content at the start, unless its condition determines it.
    pub content: Option<StartContent>,
    /// Processor time of the server in seconds.
    pub processor_s: f64,
}

/// Time in ns that threads spent on work, and on waiting while requests were outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTime {
    pub worked_ns: u64,
    pub waited_ns: u64,
}

/// Samples of the number of unread answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadSum {
    pub samples: u64,
    /// Sum of the samples, in thousandths of an answer.
    pub thousandths: u64,
}

impl SystemReading {
    /// Returns whether figures can be computed from the counters.
    pub fn is_possible(&self) -> bool {
        self.counters.time_scale > 0.0 && self.counters.time_scale <= SCALE_MAX
    }
}

impl ThreadTime {
    /// Returns the share of work in the counted time; 0 if no time was counted.
    pub fn busy(self) -> f64 {
        self.worked_ns as f64 / (self.worked_ns as f64 + self.waited_ns as f64).max(1.0)
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            worked_ns: self.worked_ns.saturating_sub(earlier.worked_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }
}

impl UnreadSum {
    /// Returns the mean of the samples; 0 without samples.
    pub fn mean(self) -> f64 {
        self.thousandths as f64 / 1e3 / (self.samples as f64).max(1.0)
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            samples: self.samples.saturating_sub(earlier.samples),
            thousandths: self.thousandths.saturating_sub(earlier.thousandths),
        }
    }
}

impl SessionCounters {
    /// Returns the counters for the time between `earlier` and this reading of the same session.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let then = earlier.hops_busy_ns.iter().copied().chain(std::iter::repeat(0.0));
        let hops = self.hops_busy_ns.iter().zip(then).map(|(now, then)| (now - then).max(0.0));
        Self {
            time_scale: self.time_scale,
            served: self.served.saturating_sub(earlier.served),
            active: self.active.saturating_sub(earlier.active),
            busy: self.busy.saturating_sub(earlier.busy),
            requests: self.requests.saturating_sub(earlier.requests),
            modelled_total_ns: (self.modelled_total_ns - earlier.modelled_total_ns).max(0.0),
            modelled: self.modelled.since(&earlier.modelled),
            lateness: self.lateness.since(&earlier.lateness),
            reads: self.reads.since(&earlier.reads),
            writes: self.writes.since(&earlier.writes),
            host_errors: self.host_errors.since(&earlier.host_errors),
            hops_busy_ns: hops.collect(),
            intake: self.intake.since(earlier.intake),
            engine: self.engine.since(earlier.engine),
            unread: self.unread.since(earlier.unread),
            outside: self.outside,
            content: self.content,
            processor_s: (self.processor_s - earlier.processor_s).max(0.0),
        }
    }

    /// Returns the figures of delivery, with the evidence for the verdict.
    pub fn live(&self) -> LiveDelivery {
        let if_any = |direction: &DirectionResult| {
            (direction.bytes > Bytes::ZERO).then(|| direction.clone())
        };
        LiveDelivery {
            time_scale: self.time_scale,
            served: self.served,
            evidence: self.evidence(),
            content: self.content,
            lateness: self.lateness.clone(),
            reads: if_any(&self.reads),
            writes: if_any(&self.writes),
            host_errors: self.host_errors.clone(),
            processor_s: self.processor_s,
            busy: self.busy,
            program: None,
        }
    }

    fn evidence(&self) -> DeliveryEvidence {
        let active_ns = self.active.nanoseconds() as f64;
        let rate = self.requests as f64 / (active_ns * self.time_scale / 1e9).max(1e-9);
        // Little's law: the number of unread answers equals their rate times the waiting time of an answer.
        let unread_s = self.unread.mean() / rate.max(1e-9);
        let busiest = self.hops_busy_ns.iter().copied().fold(0.0, f64::max);
        DeliveryEvidence {
            modelled_total: bounded_duration(self.modelled_total_ns * self.time_scale),
            outside: self.outside,
            unread: bounded_duration(unread_s * 1e9),
            drive_busy: (busiest / active_ns.max(1e-3)).min(1.0),
            server_busy: self.intake.busy().max(self.engine.busy()),
            ..DeliveryEvidence::of_modelled(&self.modelled, self.time_scale)
        }
    }
}

/// Returns `ns` as a duration, limited to [`TIME_MAX_NS`], because a server may report any number.
fn bounded_duration(ns: f64) -> Duration {
    Duration::from_nanoseconds(ns.min(TIME_MAX_NS) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::result::LiveVerdict;

    fn us(us: u64) -> Duration {
        Duration::from_microseconds(us)
    }

    /// Counters after `parts`; each part is a number of reads of 100 µs and their lateness in µs.
    fn counted(parts: &[(u64, u64)]) -> SessionCounters {
        let mut modelled = LatencyHistogram::new();
        let mut lateness = LatencyHistogram::new();
        let mut reads = DirectionResult::new();
        for (requests, late) in parts {
            for _ in 0..*requests {
                modelled.record(us(100));
                lateness.record(us(*late));
                reads.record(Bytes::kibi(4), us(100 + late));
            }
        }
        let requests: u64 = parts.iter().map(|(requests, _)| requests).sum();
        SessionCounters {
            time_scale: 1.0,
            served: us(1_000 * requests),
            active: us(100 * requests),
            busy: us(100 * requests),
            requests,
            modelled_total_ns: modelled.mean_ns() * requests as f64,
            modelled,
            lateness,
            reads,
            writes: DirectionResult::new(),
            host_errors: RequestErrors::default(),
            hops_busy_ns: vec![50_000.0 * requests as f64, 20_000.0 * requests as f64],
            intake: ThreadTime { worked_ns: 10 * requests, waited_ns: 90 * requests },
            engine: ThreadTime { worked_ns: 30 * requests, waited_ns: 70 * requests },
            unread: UnreadSum { samples: requests, thousandths: 500 * requests },
            outside: None,
            content: None,
            processor_s: requests as f64 * 1e-5,
        }
    }

    #[test]
    fn a_measurement_gets_the_verdict_of_its_time() {
        let early = counted(&[(1_000, 60)]);
        let all = counted(&[(1_000, 60), (2_000, 0)]);
        assert_eq!(early.live().verdict(), LiveVerdict::Late);
        let mut interval = all.since(&early);
        interval.unread = UnreadSum::default();
        let live = interval.live();
        assert_eq!(live.verdict(), LiveVerdict::Valid);
        assert_eq!(live.reads.as_ref().unwrap().latency.count(), 2_000);
        assert_eq!(live.reads.as_ref().unwrap().bytes, Bytes::kibi(8_000));
        assert_eq!((live.writes, live.lateness.count()), (None, 2_000));
        assert_eq!(
            (interval.served, interval.active, interval.busy),
            (us(2_000_000), us(200_000), us(200_000))
        );
        assert!((interval.processor_s - 0.02).abs() < 1e-9);
    }

    #[test]
    fn evidence_is_of_the_time_between_two_readings() {
        let evidence = counted(&[(3_000, 0)]).since(&counted(&[(1_000, 0)])).live().evidence;
        assert!((evidence.drive_busy - 0.5).abs() < 1e-9, "{evidence:?}");
        assert!((evidence.server_busy - 0.3).abs() < 1e-9, "{evidence:?}");
        // On average, half an answer waits, and there is one answer per 100 µs.
        assert_eq!(evidence.unread, us(50));
        let total_ms = evidence.modelled_total.as_seconds() * 1e3;
        assert!((total_ms - 200.0).abs() < 1e-6, "{evidence:?}");
        let idle = counted(&[(5, 0)]);
        let nothing = idle.since(&idle).live();
        assert_eq!((nothing.deviation(), nothing.evidence.drive_busy), (None, 0.0));
    }

    #[test]
    fn evidence_is_in_real_time() {
        for (scale, quarters) in crate::clock::TimeScale::IN_TESTS {
            let time_scale = scale.factor();
            let evidence = SessionCounters { time_scale, ..counted(&[(2_000, 0)]) }.live().evidence;
            let near = |time: Duration, us_at_one: u64| {
                let expected = us_at_one as f64 * quarters as f64 / 4.0;
                assert!((time.as_microseconds() / expected - 1.0).abs() < 0.01, "{evidence:?}");
            };
            near(evidence.unread, 50);
            near(evidence.modelled_total, 200_000);
            near(evidence.modelled_mean, 100);
        }
    }

    #[test]
    fn no_reported_number_ends_the_measurement() {
        for extreme in [f64::MAX, f64::INFINITY, f64::NAN, -1.0, 0.0] {
            let mut reading = counted(&[(3, 0)]);
            (reading.modelled_total_ns, reading.hops_busy_ns, reading.processor_s) =
                (extreme, vec![extreme], extreme);
            reading.unread = UnreadSum { samples: 1, thousandths: u64::MAX };
            reading.requests = 0;
            for counters in
                [reading.since(&counted(&[])), counted(&[]).since(&reading), reading.clone()]
            {
                let live = counters.live();
                live.verdict();
                assert!(live.evidence.unread <= bounded_duration(TIME_MAX_NS));
            }
            let counters = SessionCounters { time_scale: extreme, ..reading };
            assert!(
                !SystemReading {
                    system: String::new(),
                    drive: String::new(),
                    faults: Vec::new(),
                    counters
                }
                .is_possible()
            );
        }
    }
}

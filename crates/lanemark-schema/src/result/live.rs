//! The figures that serving a modelled system to real programs adds to a sample, and the verdict on them.
//!
//! A run is valid if a client observes the rate and the median latency of the model. A client's request takes the time
//! in the server, from its arrival to its answer, and the time outside the server: system calls, wake-ups, and waits of
//! answers in the client's socket. In the model, a request takes the latency of the drive and its path, and the time of
//! the modelled host. [`LiveDelivery::verdict`] compares the two sums.
//!
//! If the drive is busy, the lateness of answers only shortens its queue: a client with several outstanding requests
//! still receives the drive's full rate. A drive that was busy for 90% of the time could have delivered only a ninth
//! more. Therefore such a run has a valid rate regardless of its lateness.

use serde::{Deserialize, Serialize};

use super::direction::DirectionResult;
use super::errors::RequestErrors;
use super::latency::LatencyHistogram;
use crate::units::{Bytes, Duration};

/// Maximum deviation of a client's rate and median latency from the model's figures.
pub const DEVIATION_MAX: f64 = 0.1;
/// Busy share from which the server is considered to limit the rate.
const SERVER_BUSY: f64 = 0.9;

/// The delivery of modelled completions to real programs: the late completions, and whether the run is valid.
///
/// Latencies and rates of the sample are modelled, in simulated time. All times here are wall-clock times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveDelivery {
    /// Seconds of wall-clock time per simulated second.
    pub time_scale: f64,
    /// Time for which the system was served.
    #[serde(rename = "served_ns")]
    pub served: Duration,
    /// Excess of each request's time, from arrival to answer, over the modelled time.
    pub lateness: LatencyHistogram,
    /// Reads as delivered, from the request's arrival to its answer, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<DirectionResult>,
    /// Writes as delivered, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<DirectionResult>,
    /// Requests that the model completed, but that this machine answered with an error, for example because the disk
    /// with the data was full. The sample's errors contain them too.
    #[serde(default, skip_serializing_if = "RequestErrors::is_empty")]
    pub host_errors: RequestErrors,
    /// The evidence for the verdict.
    #[serde(default)]
    pub evidence: DeliveryEvidence,
    /// The drive's content at the start, unless its condition determines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<StartContent>,
    /// Processor time of the server in seconds.
    pub processor_s: f64,
    /// Simulated time during which the system had outstanding requests.
    #[serde(rename = "busy_ns", default)]
    pub busy: Duration,
    /// The program for which the system was served, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramRun>,
}

/// A program that ran on a served system. Times are wall-clock times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// Name of the system, `drive@platform:port`.
    pub system: String,
    /// Time from the start of the program to its end.
    #[serde(rename = "wall_ns")]
    pub wall: Duration,
    /// Simulated time during which the system had outstanding requests while the program ran.
    #[serde(rename = "busy_ns")]
    pub busy: Duration,
    /// Additional time until all of the program's data was on the drive.
    #[serde(rename = "sync_ns")]
    pub sync: Duration,
    /// Processor time of the program and its children in seconds, in steps of 10 ms.
    pub processor_s: f64,
    /// Exit code of the program, or 128 plus the signal's number if a signal ended it.
    pub exit_code: i32,
}

impl LiveDelivery {
    /// Returns the time that the program would take if simulated time passed as fast as real time, in seconds; `None`
    /// if no program is known.
    ///
    /// A time scale stretches only the time during which the system had outstanding requests. The conversion assumes
    /// that the program's other work never overlaps with requests. The conversion is exact at a time scale of 1, and
    /// for programs that wait for each of their requests.
    pub fn program_s(&self) -> Option<f64> {
        let program = self.program.as_ref()?;
        Some(program.wall.as_seconds() - self.busy_s(program) * (self.time_scale - 1.0))
    }

    /// Returns the share of the program's time, as returned by [`LiveDelivery::program_s`], during which the system had
    /// outstanding requests.
    pub fn waiting_share(&self) -> Option<f64> {
        let whole = self.program_s()?;
        let busy = self.busy_s(self.program.as_ref()?);
        (whole > 0.0).then(|| (busy / whole).min(1.0))
    }

    /// Returns the simulated time with outstanding requests, in seconds. The times of its two readings can differ
    /// slightly from the start and the end of the program.
    fn busy_s(&self, program: &ProgramRun) -> f64 {
        program.busy.as_seconds().min(program.wall.as_seconds() / self.time_scale)
    }
}

/// A modelled system that `lanemark serve` served during a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServedTarget {
    /// Name of the system, `drive@platform:port`.
    pub system: String,
    /// Display name of the drive.
    pub drive: String,
    /// Seconds of wall-clock time per simulated second. The system's rates are the measured rates multiplied by this
    /// factor.
    pub time_scale: f64,
    /// The faults of the server until the end of the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

/// The content of a served drive when the server starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartContent {
    /// Length of the written data.
    pub written_bytes: Bytes,
    /// Whether the content was just written, so that a pseudo-SLC cache still contains as much of it as fits.
    pub is_just_written: bool,
}

/// The evidence for the verdict on a served run. Times are wall-clock times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliveryEvidence {
    /// Median modelled latency of reads and writes, multiplied by the time scale.
    #[serde(rename = "modelled_p50_ns")]
    pub modelled_p50: Duration,
    /// 99th percentile of these latencies.
    #[serde(rename = "modelled_p99_ns")]
    pub modelled_p99: Duration,
    /// Mean of these latencies.
    #[serde(rename = "modelled_mean_ns")]
    pub modelled_mean: Duration,
    /// Sum of the modelled latencies of all requests, flushes and trims included; zero if it is not known.
    #[serde(rename = "modelled_total_ns")]
    pub modelled_total: Duration,
    /// A request's time outside the server and in the modelled host; absent if no self-test measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideTime>,
    /// Mean time for which an answer waited in the client's socket.
    #[serde(rename = "unread_ns")]
    pub unread: Duration,
    /// Busy share of the busiest hop of the drive's path while requests were outstanding.
    pub drive_busy: f64,
    /// Share of the time with outstanding requests in which the busier part of the server was working instead of
    /// waiting. One part is the threads that read requests, and the other part is the thread that simulates.
    pub server_busy: f64,
}

/// The time of a request outside the server, and the time in the modelled host that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideTime {
    /// Median time of a 4 KiB request outside the server, as the self-test measured it.
    #[serde(rename = "client_ns")]
    pub client: Duration,
    /// Time of such a request in the modelled host, multiplied by the time scale.
    #[serde(rename = "host_ns")]
    pub host: Duration,
}

/// The verdict on a served run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LiveVerdict {
    /// A client observes the rate and the median latency of the model.
    Valid,
    /// Answers were later than modelled.
    Late,
    /// Answers were earlier than modelled: this machine takes less time for a request than the modelled host.
    Early,
    /// Answers were later than modelled, because a part of the server was never idle.
    Saturated,
}

impl LiveVerdict {
    /// Returns the verdict as a display word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Late => "late",
            Self::Early => "early",
            Self::Saturated => "saturated",
        }
    }
}

/// The deviation of a client's figures from the model's figures, as shares. Positive values mean that the client is
/// slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientDeviation {
    /// Deviation of the median latency.
    pub median: f64,
    /// Deviation of a request's mean time, which determines the rate of a client that keeps a constant number of
    /// requests outstanding.
    pub mean: f64,
}

impl LiveDelivery {
    /// Returns the delivered latencies of reads and writes.
    pub fn delivered(&self) -> LatencyHistogram {
        let mut merged = LatencyHistogram::new();
        [&self.reads, &self.writes]
            .into_iter()
            .flatten()
            .for_each(|direction| merged.merge(&direction.latency));
        merged
    }

    /// Returns the deviation of a client's figures from the model's figures; `None` without reads and writes, or
    /// without evidence.
    pub fn deviation(&self) -> Option<ClientDeviation> {
        let delivered = self.delivered();
        let evidence = &self.evidence;
        if evidence.modelled_mean == Duration::ZERO {
            return None;
        }
        let median = delivered.recorded_percentile_ns(50.0)? as f64;
        let ns = |time: Duration| time.nanoseconds() as f64;
        let (client, host) =
            evidence.outside.map_or((0.0, 0.0), |outside| (ns(outside.client), ns(outside.host)));
        let deviation_of = |delivered: f64, modelled: Duration| {
            let wanted = ns(modelled) + host;
            (delivered + client + ns(evidence.unread) - wanted) / wanted.max(1.0)
        };
        Some(ClientDeviation {
            median: deviation_of(median, evidence.modelled_p50),
            mean: deviation_of(delivered.mean_ns(), evidence.modelled_mean),
        })
    }

    /// Returns the verdict on the run.
    pub fn verdict(&self) -> LiveVerdict {
        let Some(ClientDeviation { median, mean }) = self.deviation() else {
            return LiveVerdict::Valid;
        };
        // A closed loop that takes 1.11 times as long has 0.9 times the rate, unless the drive limits the rate.
        let is_drive_bound = self.evidence.drive_busy >= 1.0 - DEVIATION_MAX;
        let slow_rate = !is_drive_bound && mean > DEVIATION_MAX / (1.0 - DEVIATION_MAX);
        let in_queue = is_drive_bound && self.evidence.is_median_queued();
        let slow = slow_rate || !in_queue && median > DEVIATION_MAX;
        // The maximum accepted rate is 1.1 times the model's rate.
        let fast = median < -DEVIATION_MAX || mean < -DEVIATION_MAX / (1.0 + DEVIATION_MAX);
        match (slow, fast) {
            (true, _) if self.evidence.server_busy >= SERVER_BUSY => LiveVerdict::Saturated,
            (true, _) => LiveVerdict::Late,
            (false, true) => LiveVerdict::Early,
            (false, false) => LiveVerdict::Valid,
        }
    }

    /// Returns whether a client observes the rate and the median latency of the model.
    pub fn holds(&self) -> bool {
        self.verdict() == LiveVerdict::Valid
    }

    /// Returns whether the 99th percentile of the lateness is up to the 99th percentile of the modelled latencies. The
    /// verdict does not include this condition, because another program on the processors can delay a few answers by a
    /// long time.
    pub fn tail_holds(&self) -> bool {
        let bound = self.evidence.modelled_p99.nanoseconds();
        self.lateness.recorded_percentile_ns(99.0).is_none_or(|late| late <= bound)
    }
}

impl DeliveryEvidence {
    /// Returns whether the median request waits for a busy drive as long as the mean request. If only a few requests
    /// wait for a long time, such as writes that find a full cache, the median does not include the drive's queue.
    fn is_median_queued(&self) -> bool {
        self.modelled_mean.nanoseconds() <= 2 * self.modelled_p50.nanoseconds()
    }

    /// Returns the evidence that the modelled latencies of reads and writes provide, for a clock that takes
    /// `time_scale` seconds per simulated second. All other evidence is absent.
    pub fn of_modelled(latency: &LatencyHistogram, time_scale: f64) -> Self {
        // The limit is three months, because a longer time does not fit a duration.
        let scaled = |ns: f64| Duration::from_nanoseconds((ns * time_scale).min(8e15) as u64);
        let percentile_at =
            |percentile| scaled(latency.recorded_percentile_ns(percentile).unwrap_or(0) as f64);
        let modelled_mean = match latency.count() {
            0 => Duration::ZERO,
            _ => scaled(latency.mean_ns()),
        };
        Self {
            modelled_p50: percentile_at(50.0),
            modelled_p99: percentile_at(99.0),
            modelled_mean,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_microseconds(us)
    }

    /// Returns a run whose reads took `modelled` us and were late by `late` us.
    fn served(modelled: u64, late: u64, outside: Option<(u64, u64)>) -> LiveDelivery {
        let mut lateness = LatencyHistogram::new();
        let mut latency = LatencyHistogram::new();
        let mut reads = DirectionResult::new();
        for _ in 0..1_000 {
            lateness.record(us(late));
            latency.record(us(modelled));
            reads.record(Bytes::kibi(4), us(modelled + late));
        }
        let outside =
            outside.map(|(client, host)| OutsideTime { client: us(client), host: us(host) });
        LiveDelivery {
            time_scale: 1.0,
            host_errors: Default::default(),
            served: Duration::from_seconds(1),
            lateness,
            reads: Some(reads),
            writes: None,
            evidence: DeliveryEvidence { outside, ..DeliveryEvidence::of_modelled(&latency, 1.0) },
            content: None,
            processor_s: 0.0,
            busy: Duration::ZERO,
            program: None,
        }
    }

    #[test]
    fn a_time_scale_stretches_only_the_time_with_requests() {
        let program = |wall_s: f64, busy| ProgramRun {
            busy,
            system: "drive@platform:port".to_owned(),
            wall: Duration::from_nanoseconds((wall_s * 1e9) as u64),
            sync: Duration::ZERO,
            processor_s: 0.0,
            exit_code: 0,
        };
        // Each case is (time scale, wall time, busy simulated time) and (converted time, share with requests), with all
        // times in seconds except for the busy time in ms. In the second case, 8 s of the 10 s are 2 simulated seconds,
        // and 2 s remain unchanged.
        for ((time_scale, wall, busy_ms), (converted, share)) in [
            ((1.0, 10.0, 2_000), (10.0, 0.2)),
            ((4.0, 10.0, 2_000), (4.0, 0.5)),
            ((4.0, 10.0, 0), (10.0, 0.0)),
            // The busy time was read after the end of the program.
            ((4.0, 10.0, 3_000), (2.5, 1.0)),
        ] {
            let program = Some(program(wall, Duration::from_microseconds(1_000 * busy_ms)));
            let live = LiveDelivery { time_scale, program, ..served(100, 0, None) };
            assert!((live.program_s().unwrap() - converted).abs() < 1e-9, "{live:?}");
            assert!((live.waiting_share().unwrap() - share).abs() < 1e-9, "{live:?}");
        }
        assert_eq!(served(100, 0, None).program_s(), None);
        assert_eq!(served(100, 0, None).waiting_share(), None);
    }

    #[test]
    fn bounds_are_shares_of_the_modelled_latency() {
        for modelled in [20, 100, 10_000] {
            assert_eq!(served(modelled, modelled / 11, None).verdict(), LiveVerdict::Valid);
            assert_eq!(served(modelled, modelled / 6, None).verdict(), LiveVerdict::Late);
        }
    }

    #[test]
    fn time_outside_the_server_counts_against_the_modelled_host() {
        let verdict = |client, host| served(40, 3, Some((client, host))).verdict();
        assert_eq!(verdict(6, 6), LiveVerdict::Valid);
        assert_eq!(verdict(25, 6), LiveVerdict::Late);
        assert_eq!(verdict(1, 20), LiveVerdict::Early);
    }

    #[test]
    fn a_mean_counts_even_if_the_median_is_right() {
        let mut run = served(100, 0, None);
        let mut reads = DirectionResult::new();
        (0..1_000)
            .for_each(|at| reads.record(Bytes::kibi(4), us(if at % 10 == 0 { 400 } else { 100 })));
        run.reads = Some(reads);
        assert_eq!(run.verdict(), LiveVerdict::Late);
    }

    #[test]
    fn answers_that_a_client_has_not_read_are_late() {
        let mut run = served(100, 1, None);
        run.evidence.unread = us(30);
        assert_eq!(run.verdict(), LiveVerdict::Late);
    }

    #[test]
    fn a_busy_drive_hides_lateness_and_a_busy_server_explains_it() {
        let mut run = served(100, 50, None);
        run.evidence.server_busy = 0.95;
        assert_eq!(run.verdict(), LiveVerdict::Saturated);
        run.evidence.drive_busy = 0.89;
        assert_eq!(run.verdict(), LiveVerdict::Saturated);
        run.evidence.drive_busy = 0.9;
        assert_eq!(run.verdict(), LiveVerdict::Valid);
        // Most requests are fast, and the other requests wait for the drive.
        run.evidence.modelled_mean = us(300);
        assert_eq!(run.verdict(), LiveVerdict::Saturated);
        // A server that never pauses is acceptable as long as its answers are on time.
        let mut punctual = served(100, 1, None);
        punctual.evidence.server_busy = 1.0;
        assert_eq!(punctual.verdict(), LiveVerdict::Valid);
    }

    #[test]
    fn the_tail_is_judged_separately() {
        let mut run = served(100, 0, None);
        assert!(run.tail_holds() && run.holds());
        (0..20).for_each(|_| run.lateness.record(us(150)));
        assert!(!run.tail_holds() && run.holds());
    }

    #[test]
    fn a_slower_clock_allows_more() {
        let mut latency = LatencyHistogram::new();
        (0..1_000).for_each(|_| latency.record(us(1_000)));
        let ten = DeliveryEvidence::of_modelled(&latency, 10.0);
        let close = |time: Duration| time.nanoseconds().abs_diff(10_000_000) < 100_000;
        assert!(close(ten.modelled_p50) && close(ten.modelled_p99) && close(ten.modelled_mean));
    }

    #[test]
    fn a_run_of_flushes_only_is_valid() {
        let mut run = served(100, 50, None);
        run.reads = None;
        assert_eq!((run.deviation(), run.verdict()), (None, LiveVerdict::Valid));
    }
}

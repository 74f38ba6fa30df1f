//! The simulated rate and latency that clients expect from a drive, for random 4 KiB reads at queue depths 1 and 32.

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;
use lanemark_sim::run_test;
use lanemark_sim::spec::CheckedSystem;

/// Number of requests in one simulation.
const REQUESTS: u64 = 8_000;

/// The figures that a machine must reach to serve a drive. Times are simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveNeeds {
    /// Requests a second at queue depth 32.
    pub rate: f64,
    /// Latency at queue depth 1, in the drive and on its path.
    pub latency: Duration,
    /// Time of a request in the modelled host, at queue depth 1.
    pub host: Duration,
}

impl DriveNeeds {
    /// Simulates `system` with reads over the first `span` bytes; returns `None` if the system does not support these
    /// reads.
    pub fn simulate(system: &CheckedSystem, span: Bytes) -> Option<Self> {
        let whole = latency(system, span)?;
        let latency = latency(&system.device_side(), span)?;
        let host = whole.saturating_sub(latency);
        Some(Self { rate: trial(system, span, 32, REQUESTS)?.iops(), latency, host })
    }
}

/// Returns the mean latency at queue depth 1 of random 4 KiB reads over the first `span` bytes; `None` if the system
/// does not support these reads.
pub fn latency(system: &CheckedSystem, span: Bytes) -> Option<Duration> {
    let mean_ns = trial(system, span, 1, REQUESTS / 8)?.latency_mean_ns();
    Some(Duration::from_picoseconds((mean_ns * 1e3) as u64))
}

fn trial(
    system: &CheckedSystem,
    span: Bytes,
    depth: u32,
    requests: u64,
) -> Option<lanemark_schema::result::Sample> {
    let block = Bytes::kibi(4);
    let span = Bytes(span.get() / block.get() * block.get());
    let test = Test::random_read(block).span(span).volume(block * requests).queue_depth(depth);
    run_test(system, &test.build().ok()?, StreamKey::from_seed(1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_sim::SystemSpec;

    #[test]
    fn needs_match_the_drive_and_the_host() {
        let mut spec = SystemSpec::example();
        spec.cpu.request_submit = Duration::from_microseconds(2);
        spec.cpu.request_complete = Duration::from_microseconds(3);
        let needs = DriveNeeds::simulate(&spec.checked().unwrap(), Bytes::mebi(64)).unwrap();
        // For a read, the application takes 2 µs and 3 µs, and the driver takes 1 µs.
        assert_eq!(needs.host, Duration::from_microseconds(6));
        let one_at_a_time = 1.0 / (needs.latency + needs.host).as_seconds();
        assert!(needs.rate > 2.0 * one_at_a_time && needs.rate < 32.0 * one_at_a_time, "{needs:?}");
        assert_eq!(
            DriveNeeds::simulate(&SystemSpec::example().checked().unwrap(), Bytes(512)),
            None
        );
    }
}

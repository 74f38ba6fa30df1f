//! A cloud volume: limits on operations and bytes with burst credits, and a random latency.
//!
//! ```text
//!  request ─► account (operations, bytes) ─► both limits, in the order of arrival ─► latency ─► data, or completion
//! ```
//!
//! A request waits until both limits permit it (`bucket`), and delays the requests after it; it is never rejected. A
//! permitted request then takes its own random latency, during which later requests may overtake it. The latency is
//! lognormal: `m exp(s z)` with the median `m`, a standard normal `z` and `s = ln(p99 / m) / 2.326`. This latency
//! covers everything beyond the links of the host: the network, the provider's servers and their media.
//!
//! A write is complete once it is stored, so a flush completes immediately. `docs/model/cloud-volumes.md` lists the
//! sources.

mod account;
mod bucket;
mod formulas;
mod medium;

use self::account::{ChargedAmounts, SequentialRun};
use self::bucket::TokenBucket;
use crate::engine::number::DriveNumber;
use crate::engine::slab::{CommandHandle, Operations, Slab};
use crate::engine::station::ServiceSpan;
use crate::spec::{CloudSpec, LognormalLatency, STEP_TIME_MAX};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Instant};

/// 99th percentile of the standard normal distribution.
const NORMAL_99: f64 = 2.326_347_874_040_841;

#[derive(Clone, Debug)]
pub(crate) struct Cloud {
    /// Number of the drive in the system, for the drive's events.
    drive: DriveNumber,
    spec: CloudSpec,
    operations: Slab<CloudOperation, Operations>,
    /// The limit on operations.
    iops: Option<TokenBucket>,
    /// The limit on bytes.
    throughput: Option<TokenBucket>,
    run: SequentialRun,
    rng: Rng,
    busy: Duration,
    /// End of the time that is counted as busy.
    busy_until: Instant,
    written: Bytes,
}

/// A request, or a burst of a write, in progress.
#[derive(Clone, Copy, Debug)]
struct CloudOperation {
    command: CommandHandle,
    writes: bool,
    bytes: Bytes,
    /// Room in the buffer that the operation releases.
    room: Bytes,
    span: ServiceSpan,
}

impl Cloud {
    /// Creates the idle volume of drive `drive`. Its latencies are drawn from a stream that the run's `key` determines.
    pub(crate) fn new(drive: DriveNumber, spec: &CloudSpec, key: StreamKey) -> Self {
        let bucket = |limit| TokenBucket::new(limit, spec.credits_at_start);
        Self {
            drive,
            operations: Slab::new(),
            iops: spec.operations.map(bucket),
            throughput: spec.bytes.map(bucket),
            run: SequentialRun::NONE,
            rng: Rng::new(key.of_drive(drive.0)),
            busy: Duration::ZERO,
            busy_until: Instant::ZERO,
            written: Bytes::ZERO,
            spec: spec.clone(),
        }
    }

    /// Returns the first instant from `now` onward at which both limits permit a request, and charges the request to
    /// both limits.
    fn admit(&mut self, now: Instant, charge: ChargedAmounts) -> Instant {
        let ChargedAmounts { operations, bytes } = charge;
        let both = [(&mut self.iops, operations), (&mut self.throughput, bytes)];
        let mut start = now;
        for (bucket, amount) in &both {
            start =
                bucket.as_ref().map_or(start, |bucket| bucket.earliest_admission(start, *amount));
        }
        let mut free = start;
        for (bucket, amount) in both {
            let Some(bucket) = bucket else { continue };
            bucket.pass(start, amount);
            free = free.max(bucket.busy_until(amount));
        }
        self.busy += free.since_or_zero(start.max(self.busy_until));
        self.busy_until = self.busy_until.max(free);
        start
    }

    fn draw(&mut self, latency: LognormalLatency) -> Duration {
        if latency.tail == Duration::ZERO {
            return latency.median;
        }
        let ratio = latency.p99().as_seconds() / latency.median.as_seconds();
        let deviation = libm::log(ratio) / NORMAL_99;
        let factor = libm::exp(deviation * self.rng.normal());
        latency.median.times(factor).min(STEP_TIME_MAX)
    }
}

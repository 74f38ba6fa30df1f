//! The specification of a cloud volume: plain values, checked.

use super::bounds::{STEP_TIME_MAX, SpecError, check_within};
use super::flash::SLOT;
use lanemark_schema::units::{Bytes, Duration, Ratio};

/// A block volume of a cloud provider: limits on operations and bytes, burst credits, and a latency.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudSpec {
    /// Limit on the operations per second, if there is one.
    pub operations: Option<CloudLimitSpec>,
    /// Limit on the bytes per second, if there is one.
    pub bytes: Option<CloudLimitSpec>,
    /// Maximum length of one operation. A longer request counts as several operations.
    pub unit: Bytes,
    /// Whether a request that begins at the end of the previous request first uses the unused rest of that request's
    /// last unit.
    pub merges: bool,
    /// Whether the limit on bytes counts each operation as a whole unit.
    pub whole_units: bool,
    /// Share of the maximum burst credits that is available at the start.
    pub credits_at_start: Ratio,
    /// Latency of a read that does not wait for a limit.
    pub read_latency: LognormalLatency,
    /// Latency of a write that does not wait for a limit.
    pub write_latency: LognormalLatency,
}

/// A limit of a cloud volume, in operations or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloudLimitSpec {
    /// The provisioned rate per second, at which credits are also refilled.
    pub rate: u64,
    /// The burst rate and its credits, if the volume can exceed `rate`.
    pub burst: Option<BurstCreditSpec>,
}

/// The rate of a volume while it has credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstCreditSpec {
    /// The rate per second.
    pub rate: u64,
    /// Maximum number of credits, in operations or bytes.
    pub credits: u64,
}

/// A lognormal latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LognormalLatency {
    /// The median latency.
    pub median: Duration,
    /// Time by which the 99th percentile exceeds the median. If this time is zero, all latencies are equal.
    pub tail: Duration,
}

/// Minimum and maximum number of operations per second.
pub const CLOUD_IOPS: (u64, u64) = (10, 10_000_000);
/// Minimum and maximum number of bytes per second.
pub const CLOUD_RATE: (u64, u64) = (1_000_000, 1_000_000_000_000);
/// Minimum and maximum length of one operation.
pub const CLOUD_UNIT: (Bytes, Bytes) = (SLOT, Bytes::mebi(16));
/// Maximum time in which empty credits are refilled, in seconds: 30 days.
const REFILL_MAX: u64 = 30 * 86_400;
/// Maximum 99th percentile, as a multiple of the median.
const TAIL_MAX: u64 = 1_000;

impl CloudLimitSpec {
    /// Returns a limit without a burst.
    pub const fn steady(rate: u64) -> Self {
        Self { rate, burst: None }
    }

    /// Returns the maximum rate: the burst rate if there is one.
    pub(crate) fn peak(&self) -> u64 {
        self.burst.map_or(self.rate, |burst| burst.rate)
    }

    fn check(&self, fields: [&'static str; 3], bounds: (u64, u64)) -> Result<(), SpecError> {
        let [rate, burst_rate, credits] = fields;
        check_within(rate, self.rate, bounds.0, bounds.1)?;
        let Some(burst) = self.burst else { return Ok(()) };
        check_within(burst_rate, burst.rate, self.rate.saturating_add(1), bounds.1)?;
        check_within(credits, burst.credits, 1, self.rate.saturating_mul(REFILL_MAX))
    }
}

impl LognormalLatency {
    /// Returns the 99th percentile.
    pub fn p99(&self) -> Duration {
        self.median + self.tail
    }

    fn check(&self, fields: [&'static str; 2]) -> Result<(), SpecError> {
        let [median, tail] = fields;
        if self.median == Duration::ZERO || self.median > STEP_TIME_MAX {
            let bound = format!("above zero, at most {STEP_TIME_MAX}");
            return Err(SpecError { field: median, value: self.median.to_string(), bound });
        }
        let most = (self.median * TAIL_MAX).min(STEP_TIME_MAX);
        if self.tail > most {
            let bound = format!("at most {most}");
            return Err(SpecError { field: tail, value: self.tail.to_string(), bound });
        }
        Ok(())
    }
}

impl CloudSpec {
    /// Returns whether the volume has burst credits.
    pub(crate) fn has_credits(&self) -> bool {
        [self.operations, self.bytes].into_iter().flatten().any(|limit| limit.burst.is_some())
    }

    /// Returns the number of operations that are charged for a request of `bytes`.
    pub(crate) fn units(&self, bytes: Bytes) -> u64 {
        bytes.get().div_ceil(self.unit.get().max(1))
    }

    /// Checks all bounds on which the model relies, for a volume of `capacity`.
    ///
    /// # Errors
    /// Returns an error for the first value that is out of bounds, with the bound.
    pub fn check(&self, capacity: Bytes) -> Result<(), SpecError> {
        let fail = |field, value: String, bound: String| Err(SpecError { field, value, bound });
        if capacity < SLOT {
            return fail("drive.capacity", capacity.to_string(), format!("at least {SLOT}"));
        }
        if self.operations.is_none() && self.bytes.is_none() {
            let bound = "a limit on operations (iops), on bytes (throughput), or on both";
            return fail("drive.cloud.iops", "absent".to_owned(), bound.to_owned());
        }
        if let Some(limit) = self.operations {
            let fields = ["drive.cloud.iops", "drive.cloud.burst_iops", "drive.cloud.iops_credits"];
            limit.check(fields, CLOUD_IOPS)?;
        }
        if let Some(limit) = self.bytes {
            let fields = [
                "drive.cloud.throughput",
                "drive.cloud.burst_throughput",
                "drive.cloud.throughput_credits",
            ];
            limit.check(fields, CLOUD_RATE)?;
        }
        let (least, most) = CLOUD_UNIT;
        let slots = self.unit.get().is_multiple_of(SLOT.get());
        if !slots || !(least..=most).contains(&self.unit) {
            let bound = format!("a multiple of {SLOT} from {least} to {most}");
            return fail("drive.cloud.unit", self.unit.to_string(), bound);
        }
        self.read_latency.check(["drive.cloud.read_latency", "drive.cloud.read_tail"])?;
        self.write_latency.check(["drive.cloud.write_latency", "drive.cloud.write_tail"])
    }
}

/// Returns the time in which `amount` passes at `rate` per second, rounded up so that a limit is not exceeded.
pub(crate) fn time_of(amount: u64, rate: u64) -> Duration {
    let picoseconds = (u128::from(amount) * 1_000_000_000_000).div_ceil(u128::from(rate.max(1)));
    Duration::from_picoseconds(u64::try_from(picoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a volume with 3,000 operations and 125 MiB per second, a constant latency, and no credits.
    pub(crate) fn plain_volume() -> CloudSpec {
        let latency =
            LognormalLatency { median: Duration::from_microseconds(500), tail: Duration::ZERO };
        CloudSpec {
            operations: Some(CloudLimitSpec::steady(3_000)),
            bytes: Some(CloudLimitSpec::steady(125 << 20)),
            unit: Bytes::kibi(256),
            merges: false,
            whole_units: false,
            credits_at_start: Ratio::ONE,
            read_latency: latency,
            write_latency: latency,
        }
    }

    #[test]
    fn each_value_out_of_bounds_is_named() {
        let capacity = Bytes::mebi(64);
        assert_eq!(plain_volume().check(capacity), Ok(()));
        let field = |change: fn(&mut CloudSpec)| {
            let mut spec = plain_volume();
            change(&mut spec);
            spec.check(capacity).unwrap_err().field
        };
        let burst = |rate, credits| {
            Some(CloudLimitSpec { rate: 300, burst: Some(BurstCreditSpec { rate, credits }) })
        };
        assert_eq!(field(|spec| (spec.operations, spec.bytes) = (None, None)), "drive.cloud.iops");
        for rate in [0, 9, 10_000_001, u64::MAX] {
            let operations = Some(CloudLimitSpec::steady(rate));
            let spec = CloudSpec { operations, ..plain_volume() };
            assert_eq!(spec.check(capacity).unwrap_err().field, "drive.cloud.iops", "{rate}");
            let bytes = Some(CloudLimitSpec::steady(rate.min(999_999)));
            let spec = CloudSpec { bytes, ..plain_volume() };
            assert_eq!(spec.check(capacity).unwrap_err().field, "drive.cloud.throughput", "{rate}");
        }
        for (rate, credits, wrong) in [
            (299, 1, Some("drive.cloud.burst_iops")),
            (300, 1, Some("drive.cloud.burst_iops")),
            (301, 1, None),
            (u64::MAX, 1, Some("drive.cloud.burst_iops")),
            (3_000, 0, Some("drive.cloud.iops_credits")),
            (3_000, 300 * REFILL_MAX, None),
            (3_000, 300 * REFILL_MAX + 1, Some("drive.cloud.iops_credits")),
            (3_000, u64::MAX, Some("drive.cloud.iops_credits")),
        ] {
            let spec = CloudSpec { operations: burst(rate, credits), ..plain_volume() };
            let found = spec.check(capacity).err().map(|error| error.field);
            assert_eq!(found, wrong, "{rate} with {credits}");
        }
        assert_eq!(field(|spec| spec.unit = Bytes::ZERO), "drive.cloud.unit");
        assert_eq!(field(|spec| spec.unit = Bytes(4_097)), "drive.cloud.unit");
        assert_eq!(field(|spec| spec.unit = Bytes::mebi(17)), "drive.cloud.unit");
        let none = |spec: &mut CloudSpec| spec.read_latency.median = Duration::ZERO;
        assert_eq!(field(none), "drive.cloud.read_latency");
        let long = |spec: &mut CloudSpec| spec.write_latency.median = STEP_TIME_MAX * 2;
        assert_eq!(field(long), "drive.cloud.write_latency");
        let tail = |spec: &mut CloudSpec| spec.write_latency.tail = Duration::from_seconds(1);
        assert_eq!(field(tail), "drive.cloud.write_tail");
        assert_eq!(plain_volume().check(Bytes(1)).unwrap_err().field, "drive.capacity");
    }

    #[test]
    fn a_time_never_exceeds_its_rate() {
        assert_eq!(time_of(1, 3), Duration::from_picoseconds(333_333_333_334));
        assert_eq!(time_of(3, 3), Duration::from_seconds(1));
        assert_eq!(time_of(0, 3), Duration::ZERO);
        assert_eq!(time_of(u64::MAX, 1), Duration::from_picoseconds(u64::MAX));
    }
}

//! The ceiling of a volume: its maximum throughput, computed without simulation.

use crate::drive::formulas::{MediaDemand, MediumFormulas};
use crate::engine::station::Demand;
use crate::spec::{BurstCreditSpec, CloudLimitSpec, CloudSpec, LognormalLatency};
use lanemark_schema::result::HopId;
use lanemark_schema::units::{BytesPerSecond, Duration, Ratio};
use lanemark_schema::workload::{Pattern, Test};

impl MediumFormulas for CloudSpec {
    fn demands(&self, test: &Test) -> Vec<MediaDemand> {
        let (operations, bytes) = self.amounts(test);
        let share = self.credits_at_start;
        let time = |limit: Option<CloudLimitSpec>, amount: f64| {
            limit.map_or(0.0, |limit| amount / limit.mean_rate(share, test, amount))
        };
        let seconds = time(self.operations, operations).max(time(self.bytes, bytes));
        let time_per_request = Duration::from_picoseconds((seconds * 1e12) as u64);
        vec![MediaDemand {
            id: HopId::Media,
            name: self.name(true),
            formula: self.text(),
            demand: Demand { read: time_per_request, write: time_per_request },
            servers: 1,
            latency: Some(self.read_latency.median),
        }]
    }

    fn name(&self, _alone: bool) -> &'static str {
        "volume limits"
    }

    fn double_media(&mut self) {
        // All values are named, so that adding a value is a compile error here. `demands` must also account for the new
        // value.
        let Self {
            operations,
            bytes,
            unit: _,
            merges: _,
            whole_units: _,
            credits_at_start: _,
            read_latency,
            write_latency,
        } = self;
        for CloudLimitSpec { rate, burst } in [operations, bytes].into_iter().flatten() {
            *rate *= 2;
            if let Some(BurstCreditSpec { rate, credits: _ }) = burst {
                *rate *= 2;
            }
        }
        for LognormalLatency { median, tail } in [read_latency, write_latency] {
            (*median, *tail) = (*median / 2, *tail / 2);
        }
    }
}

impl CloudLimitSpec {
    /// Returns an upper bound on the mean rate over `test`, whose requests count as `amount` each: the peak rate while
    /// the credits last, then the refill rate.
    fn mean_rate(&self, share: Ratio, test: &Test, amount: f64) -> f64 {
        let refill = self.rate as f64;
        let peak = self.peak() as f64;
        let Some(burst) = self.burst else { return refill };
        let credits = burst.credits as f64 * share.get();
        let of_time = test.duration.map(|time| refill + credits / time.as_seconds());
        let of_volume = test.volume.map(|volume| {
            let total = volume.get() as f64 / test.block.get() as f64 * amount;
            if total <= credits * peak / (peak - refill) {
                peak
            } else {
                total * refill / (total - credits)
            }
        });
        // The test ends after its time or its volume, whichever is reached first.
        of_time.into_iter().chain(of_volume).reduce(f64::max).map_or(peak, |rate| rate.min(peak))
    }
}

impl CloudSpec {
    /// Returns the minimum numbers of operations and bytes that are charged for a request of `test`.
    fn amounts(&self, test: &Test) -> (f64, f64) {
        let block = test.block.get() as f64;
        let unit = self.unit.get() as f64;
        let shares_units = self.merges && test.pattern() == Some(&Pattern::Sequential);
        let operations = if shares_units { block / unit } else { self.units(test.block) as f64 };
        (operations, if self.whole_units { operations * unit } else { block })
    }

    fn text(&self) -> String {
        let operations = self.operations.map(|CloudLimitSpec { rate, burst }| {
            let steady = format!("{rate} operations/s of up to {}", self.unit);
            with_burst(steady, burst.map(|burst| burst.rate.to_string()))
        });
        let bytes = self.bytes.map(|CloudLimitSpec { rate, burst }| {
            let rate_text = |rate| BytesPerSecond(rate).to_string();
            with_burst(rate_text(rate), burst.map(|burst| rate_text(burst.rate)))
        });
        operations.into_iter().chain(bytes).collect::<Vec<_>>().join("; ")
    }
}

fn with_burst(steady: String, burst: Option<String>) -> String {
    match burst {
        Some(burst) => format!("{steady}, {burst} while credits last"),
        None => steady,
    }
}

//! Derived figures of samples and tests: energy, database transactions, and rounds.

use super::steady::{RoundsOutcome, SteadyState};
use super::{
    DeviceRates, DeviceUse, DirectionResult, Sample, Statistic, TestResult, TransactionFigures,
    TransactionKindFigures, Warning,
};
use crate::workload::{AverageMethod, Operation, TransactionKind, Workload};

impl Sample {
    /// Returns the energy per 10^9 bytes in J, if the drives' energy is known and data was transferred.
    pub fn joules_per_gigabyte(&self) -> Option<f64> {
        let rate = self.throughput().0 as f64 / 1e9;
        let watts = self.energy.as_ref()?.power_mean_watts;
        (rate > 0.0).then(|| watts / rate)
    }

    /// Returns requests a second per watt, if the drives' power is known and above zero.
    pub fn iops_per_watt(&self) -> Option<f64> {
        let watts = self.energy.as_ref()?.power_mean_watts;
        (watts > 0.0).then(|| self.iops() / watts)
    }

    /// Returns whether a database submitted the requests, and only the device counted them.
    pub fn is_counted_by_device(&self) -> bool {
        self.transactions.is_some() && self.reads.is_none() && self.writes.is_none()
    }

    /// Returns the rate of requests to the drives, if known.
    pub fn device_rates(&self) -> Option<DeviceRates> {
        let seconds = Some(self.elapsed.as_seconds()).filter(|&seconds| seconds > 0.0)?;
        let rates = |reads: u64, writes: u64, flushes: u64| {
            let [reads, writes, flushes] =
                [reads, writes, flushes].map(|count| count as f64 / seconds);
            DeviceRates { reads, writes, flushes }
        };
        if self.is_counted_by_device() {
            let device = self.counted_device()?;
            return Some(rates(device.reads, device.writes, device.flushes));
        }
        let count = |direction: &Option<DirectionResult>| {
            direction.as_ref().map_or(0, |direction| direction.latency.count())
        };
        Some(rates(count(&self.reads), count(&self.writes), count(&self.flushes)))
    }

    /// Returns the mean latency of reads or writes in ns, from the requests or from the device's counters.
    pub fn mean_latency_ns(&self, operation: Operation) -> Option<f64> {
        let device = self.counted_device();
        let (direction, counted) = match operation {
            Operation::Read => (&self.reads, device.and_then(DeviceUse::mean_read_ns)),
            Operation::Write => (&self.writes, device.and_then(DeviceUse::mean_write_ns)),
            Operation::Flush | Operation::Trim => return None,
        };
        direction.as_ref().map(|one| one.latency.mean_ns()).or(counted)
    }

    /// Returns the summed time of the drives' requests divided by the summed time of the transactions. The ratio
    /// exceeds 1 if requests overlap.
    pub fn device_share(&self) -> Option<f64> {
        let response = &self.transactions.as_ref()?.response;
        let responses_ns = response.mean_ns() * response.count() as f64;
        let device_ns = if self.is_counted_by_device() {
            self.counted_device()?.request_time_ns()
        } else {
            [&self.reads, &self.writes, &self.flushes]
                .into_iter()
                .flatten()
                .map(|direction| direction.latency.mean_ns() * direction.latency.count() as f64)
                .sum()
        };
        (responses_ns > 0.0).then(|| device_ns / responses_ns)
    }

    /// Returns the device's counters if they represent the requests.
    pub(super) fn counted_device(&self) -> Option<&DeviceUse> {
        self.evidence.as_ref()?.device.as_ref().filter(|_| self.is_counted_by_device())
    }
}

impl TestResult {
    /// Returns reads and writes as separate results, named `reads` and `writes`; returns an empty list unless the test
    /// counted both. Throughput, requests and latencies are per direction. Figures of the whole test, such as the time
    /// budget and the processor time, are absent.
    pub fn by_direction(&self, workload: &Workload) -> Vec<(&'static str, TestResult)> {
        let has_requests = |of: fn(&Sample) -> &Option<DirectionResult>| {
            self.samples.iter().any(|direction| {
                of(direction).as_ref().is_some_and(|direction| direction.latency.count() > 0)
            })
        };
        if self.has_transactions()
            || !has_requests(|direction| &direction.reads)
            || !has_requests(|direction| &direction.writes)
        {
            return Vec::new();
        }
        let one_direction = |keeps_reads: bool| {
            let samples = self.samples.iter().map(|sample| Sample {
                elapsed: sample.elapsed,
                reads: sample.reads.clone().filter(|_| keeps_reads),
                writes: sample.writes.clone().filter(|_| !keeps_reads),
                complete: sample.complete,
                ..Sample::empty()
            });
            TestResult::new(workload, &self.test, samples.collect())
        };
        vec![("reads", one_direction(true)), ("writes", one_direction(false))]
    }

    /// Returns the bounds of the 80% interval of a latency percentile over all requests, in ns.
    pub fn percentile_interval_ns(&self, percentile: f64) -> Option<(f64, f64)> {
        let interval = self.interval.as_ref()?.percentile(percentile)?;
        let latency = self.latency().percentile_ns(percentile)? as f64;
        Some((latency * interval.low_ratio, latency * interval.high_ratio))
    }

    /// Returns the mean power of the drives over the repeats, if it is known for each repeat.
    pub fn power_mean_watts(&self) -> Option<Statistic> {
        self.over(|sample| Some(sample.energy.as_ref()?.power_mean_watts))
    }

    /// Returns the energy per 10^9 bytes in J over the repeats, if it is known for each repeat.
    pub fn joules_per_gigabyte(&self) -> Option<Statistic> {
        self.over(Sample::joules_per_gigabyte)
    }

    /// Returns requests a second per watt over the repeats, if the power is known for each repeat.
    pub fn iops_per_watt(&self) -> Option<Statistic> {
        self.over(Sample::iops_per_watt)
    }

    /// Returns the battery life of the platform in hours over the repeats, if it is known for each repeat.
    pub fn battery_hours(&self) -> Option<Statistic> {
        self.over(|sample| sample.energy.as_ref()?.platform?.battery_hours)
    }

    fn over(&self, value: impl Fn(&Sample) -> Option<f64>) -> Option<Statistic> {
        let values: Option<Vec<f64>> = self.samples.iter().map(value).collect();
        values
            .filter(|values| !values.is_empty())
            .map(|values| Statistic::from_values(&values, AverageMethod::Mean))
    }

    /// Returns a figure of the transactions over the repeats, or `None` if no repeat contains it.
    pub fn of_transactions(
        &self,
        figure: impl Fn(&TransactionFigures) -> Option<f64>,
    ) -> Option<Statistic> {
        self.over_samples(|sample| sample.transactions.as_ref().and_then(&figure))
    }

    /// Returns transactions a minute over the repeats, or `None` for a test without transactions.
    pub fn transactions_per_minute(&self) -> Option<Statistic> {
        self.of_transactions(|all| Some(all.per_minute))
    }

    /// Returns whether a database submitted the requests of the test.
    pub fn has_transactions(&self) -> bool {
        self.samples.iter().any(|sample| sample.transactions.is_some())
    }

    /// Returns the figures of one kind of transaction over all repeats.
    pub fn kind(&self, kind: TransactionKind) -> TransactionKindFigures {
        let mut all = TransactionKindFigures::default();
        let uses = self.samples.iter().filter_map(|sample| sample.transactions.as_ref());
        uses.filter_map(|usage| usage.kinds.get(&kind)).for_each(|usage| all.merge(usage));
        all
    }

    /// Returns the mean latency of reads over the repeats, in ns.
    pub(crate) fn read_latency_ns(&self) -> Option<Statistic> {
        self.over_samples(|sample| sample.mean_latency_ns(Operation::Read))
    }

    /// Returns the mean latency of writes over the repeats, in ns.
    pub(crate) fn write_latency_ns(&self) -> Option<Statistic> {
        self.over_samples(|sample| sample.mean_latency_ns(Operation::Write))
    }

    /// Returns a figure over the repeats that contain it, or `None` if no repeat contains it.
    pub fn over_samples(&self, figure: impl Fn(&Sample) -> Option<f64>) -> Option<Statistic> {
        let values: Vec<f64> = self.samples.iter().filter_map(figure).collect();
        (!values.is_empty()).then(|| Statistic::from_values(&values, AverageMethod::Mean))
    }
}

impl SteadyState {
    /// Returns the warning about `test` if the test did not become steady.
    pub fn warning(&self, test: &str) -> Option<Warning> {
        let RoundsOutcome::NotReached { reason } = self.outcome else { return None };
        let window = self.window;
        Some(Warning::NotSteady {
            test: test.to_owned(),
            rounds: self.rounds.len() as u32,
            reason,
            range: window.map_or(0.0, |window| window.range),
            slope_range: window.map_or(0.0, |window| window.slope_range),
        })
    }
}

#[cfg(test)]
mod counted_tests {
    use super::*;
    use crate::result::TransactionFigures;

    #[test]
    fn only_a_database_without_counted_requests_relies_on_the_device() {
        let direction = || Some(DirectionResult::new());
        for (has_transactions, reads, writes, wanted) in [
            (true, None, None, true),
            (true, direction(), None, false),
            (true, None, direction(), false),
            (false, None, None, false),
            (false, direction(), direction(), false),
        ] {
            let transactions = has_transactions.then(TransactionFigures::default);
            let sample = Sample { transactions, reads, writes, ..Sample::empty() };
            assert_eq!(sample.is_counted_by_device(), wanted, "{sample:?}");
        }
    }
}

//! The sample of a run of transactions.

use super::TransactionRun;
use crate::engine::budget::Hop;
use crate::run::driver::tally::Tally;
use crate::run::path_use::{HopBusyTimes, busy_since, path_use};
use crate::spec::SystemSpec;
use lanemark_schema::result::{
    DirectionResult, RequestsInFlight, Sample, ServerProcessorTime, TransactionFigures,
};
use lanemark_schema::units::Duration;

impl TransactionRun<'_> {
    pub(super) fn end(mut self, spec: &SystemSpec) -> Sample {
        let simulator = self.storage.simulator();
        self.metering.end(simulator, self.deadline);
        let tally = self.tally.take().unwrap_or_else(|| Tally::since(simulator));
        let elapsed = self.deadline.since(self.counting_from);
        let whole = self.convergence.take();
        let whole = whole
            .and_then(|mut rule| rule.steady_run(self.deadline, &self.response, Duration::ZERO));
        let in_flight = self.storage.in_flight().into_iter();
        let ages = in_flight.filter(|(_, submitted)| *submitted <= self.deadline);
        let ages: Vec<Duration> = ages.map(|(_, at)| self.deadline.since(at)).collect();
        let in_flight = RequestsInFlight::from_ages(&ages, tally.longest());
        let drive = simulator.drive_use();
        let busy = busy_since(simulator, &tally.busy_before);
        let requests = tally.requests();
        let bytes = tally.bytes();
        let path = path_use(spec, simulator, &busy, &tally.budget, requests, bytes, elapsed);
        // The threads of a hypervisor follow the cores.
        let sum = |busy: &HopBusyTimes| {
            busy[Hop::Cpu as usize].iter().take(self.cores as usize).copied().sum::<Duration>()
        };
        let core = sum(&simulator.busy());
        let core_before = sum(&tally.busy_before);
        let own = (self.processors.busy() - self.busy_before) * u64::from(self.cores);
        let all = elapsed.as_seconds() * f64::from(self.cores);
        let busy_s = (own + (core - core_before)).as_seconds();
        let count = self.response.count();
        let per_transaction = |requests: u64| requests as f64 / count.max(1) as f64;
        let reads = tally.reads.latency.count();
        let page_writes = tally.writes.latency.count().saturating_sub(self.log_writes);
        let transactions = TransactionFigures {
            count,
            per_minute: count as f64 / elapsed.as_seconds() * 60.0,
            processor_busy: Some((busy_s / all).min(1.0)),
            processor_time: Some(ServerProcessorTime {
                server_s: Some(busy_s),
                ..ServerProcessorTime::default()
            }),
            buffer_hit_ratio: self.buffer.hit_ratio,
            page_reads: Some(per_transaction(reads)),
            page_writes: Some(per_transaction(page_writes)),
            log_writes: Some(per_transaction(self.log_writes)),
            commits_per_log_write: Some(self.committed as f64 / self.log_writes.max(1) as f64),
            log_bytes: Some(per_transaction(self.committed) * self.load.log.record.get() as f64),
            log_flushes: Some(per_transaction(tally.flushes.latency.count())),
            response: self.response,
            ..TransactionFigures::default()
        };
        let if_counted =
            |direction: DirectionResult| (direction.latency.count() > 0).then_some(direction);
        Sample {
            elapsed,
            drive: Some(drive.since(&tally.drive_before)),
            reads: if_counted(tally.reads),
            writes: if_counted(tally.writes),
            flushes: if_counted(tally.flushes),
            in_flight,
            path: Some(path),
            energy: self.metering.energy(spec),
            errors: self.errors,
            faults: self.storage.simulator().fault_uses(),
            credits: self.storage.simulator().credits(),
            converged: self.converged.or(whole),
            similar: None,
            series: self.series.map(|series| series.finish(elapsed, Some(drive))),
            transactions: Some(transactions),
            ..Sample::empty()
        }
    }
}

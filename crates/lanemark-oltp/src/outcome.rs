//! The result of a run, in the schema that all runs use: its target, its workload, and a sample for each repeat.

use std::collections::BTreeMap;

use lanemark_schema::result::{
    DatabaseCounter, DatabaseCounters, DatabaseTarget, DeviceUse, Evidence, LatencyHistogram,
    Provenance, RunResult, SCHEMA_VERSION, Sample, ServerProcessorTime, SessionWaits, Target,
    TestResult, TransactionFigures, TransactionKindFigures, Warning,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{
    AverageMethod, DatabaseUsers, LoadKind, Test, TestOrder, TransactionKind, Workload,
};

use crate::database::Database;
use crate::device::DeviceWork;
use crate::error::OltpError;
use crate::options::RunOptions;
use crate::schema::Scale;

/// The workload's name in results.
pub const WORKLOAD_ID: &str = "tpc-c-derived";
/// Page size of PostgreSQL in bytes, which is used for all databases, although SQLite's pages are half that size.
pub(crate) const PAGE: u64 = 8 << 10;
/// Minimum number of repeats for a spread.
const REPEATS_FEW: usize = 3;
/// Share of the machine's processors above which the use by other programs raises a warning.
const OTHERS: f64 = 0.05;

#[derive(Default)]
pub(crate) struct RepeatCounts {
    pub(crate) seconds: f64,
    pub(crate) kinds: BTreeMap<TransactionKind, TransactionKindFigures>,
    pub(crate) device: Option<DeviceWork>,
    pub(crate) processor_busy: Option<f64>,
    pub(crate) processor_others: Option<f64>,
    pub(crate) processor_time: Option<ServerProcessorTime>,
    pub(crate) counters: DatabaseCounters,
    pub(crate) waits: Option<SessionWaits>,
    pub(crate) counted_per_minute: Option<f64>,
    pub(crate) looked_on: u64,
}

impl RepeatCounts {
    pub(crate) fn sample(self) -> Sample {
        let elapsed = duration(self.seconds);
        let minute =
            |count: u64| if self.seconds > 0.0 { count as f64 * 60.0 / self.seconds } else { 0.0 };
        let sum_over_kinds = |count: fn(&TransactionKindFigures) -> u64| {
            self.kinds.values().map(count).fold(0, u64::saturating_add)
        };
        let count = sum_over_kinds(|kind| kind.count);
        let entered = self
            .kinds
            .get(&TransactionKind::NewOrder)
            .map_or(0, |orders| orders.count.saturating_sub(orders.rolled_back));
        let per_transaction = |sum: u64| (count > 0).then(|| sum as f64 / count as f64);
        let counter_mean = |counter| self.counters.get(counter).and_then(per_transaction);
        let log_writes = self.counters.get(DatabaseCounter::WalWrites);
        let device = self.device.as_ref();
        let changing = changing_transactions(&self.kinds);
        let mut response = LatencyHistogram::new();
        self.kinds.values().for_each(|kind| response.merge(&kind.latency));
        let transactions = TransactionFigures {
            count,
            per_minute: minute(count),
            new_orders_per_minute: Some(minute(entered)),
            processor_busy: self.processor_busy,
            processor_others: self.processor_others,
            processor_time: self.processor_time,
            buffer_hit_ratio: self.counters.buffer_hit_ratio(),
            page_reads: device.and_then(|device| per_transaction(device.reads)),
            page_writes: device
                .zip(log_writes)
                .and_then(|(device, log)| per_transaction(device.writes.saturating_sub(log))),
            log_writes: counter_mean(DatabaseCounter::WalWrites),
            commits_per_log_write: log_writes
                .filter(|&writes| writes > 0)
                .map(|writes| changing as f64 / writes as f64),
            log_bytes: counter_mean(DatabaseCounter::WalBytes),
            log_flushes: counter_mean(DatabaseCounter::WalFlushes),
            response,
            kinds: self.kinds,
            waits: self.waits,
            counters: self.counters,
            counted_per_minute: self.counted_per_minute,
            looked_on: self.looked_on,
        };
        let device = self.device.map(|work| device_use(&work, elapsed));
        Sample {
            errors: Default::default(),
            faults: Vec::new(),
            elapsed,
            reads: None,
            writes: None,
            unified: None,
            flushes: None,
            trims: None,
            cpu: None,
            evidence: device.map(|device| Evidence { device: Some(device), ..Evidence::default() }),
            in_flight: None,
            punctuality: None,
            path: None,
            drive: None,
            energy: None,
            converged: None,
            similar: None,
            phases: Vec::new(),
            credits: Vec::new(),
            live: None,
            replay: None,
            series: None,
            steady: None,
            transactions: Some(transactions),
            complete: true,
        }
    }
}

/// Returns the number of transactions that changed data and were not rolled back.
pub(crate) fn changing_transactions(
    kinds: &BTreeMap<TransactionKind, TransactionKindFigures>,
) -> u64 {
    let changes = kinds.iter().filter(|(kind, _)| !kind.only_reads());
    changes
        .fold(0, |sum: u64, (_, one)| sum.saturating_add(one.count.saturating_sub(one.rolled_back)))
}

/// Returns seconds as a duration, or zero if the number is invalid.
pub(crate) fn duration(seconds: f64) -> Duration {
    Duration::from_picoseconds((seconds * 1e12).round() as u64)
}

fn device_use(work: &DeviceWork, elapsed: Duration) -> DeviceUse {
    let time = |ms: u64| Duration::from_picoseconds(ms.saturating_mul(1_000_000_000));
    DeviceUse {
        name: work.device.clone(),
        reads: work.reads,
        writes: work.writes,
        flushes: work.flushes,
        trims: 0,
        read_bytes: Bytes(work.read_bytes),
        written_bytes: Bytes(work.write_bytes),
        read_time: time(work.read_ms),
        write_time: time(work.write_ms),
        flush_time: time(work.flush_ms),
        busy: time(work.busy_ms),
        elapsed,
    }
}

/// Returns a database as the target of a run, with the settings that affect its figures, and the size of the loaded
/// data.
///
/// # Errors
/// Returns the database's error if it does not answer.
pub fn target(database: &Database) -> Result<(DatabaseTarget, Bytes), OltpError> {
    let mut settings: BTreeMap<String, String> = database.settings()?.into_iter().collect();
    let (cache, data) = database.cache_and_data()?;
    let over = cache as f64 / data.max(1) as f64;
    settings.insert("cache_over_data".to_owned(), format!("{over:.2}"));
    let target = DatabaseTarget {
        served: None,
        product: database.kind().to_owned(),
        version: settings.remove("version"),
        name: database.name(),
        place: database
            .data_path()
            .map(|path| path.canonicalize().unwrap_or(path).display().to_string()),
        settings,
    };
    Ok((target, Bytes(data)))
}

/// Returns the workload of a run: one test, whose threads are the users and whose span is the loaded data.
pub fn workload(scale: &Scale, options: &RunOptions, data: Bytes, repeats: u32) -> Workload {
    let time = |time: std::time::Duration| duration(time.as_secs_f64());
    let users = DatabaseUsers {
        profile: options.profile,
        warehouses: scale.warehouses,
        divisor: scale.divisor,
        contents_seed: scale.seed,
        think_times: options.think_times,
        pause: time(options.pause),
    };
    let ramp = time(options.ramp);
    let duration = time(options.duration);
    workload_of(users, options.users, ramp, duration, data, repeats)
}

pub(crate) fn workload_of(
    users: DatabaseUsers,
    count: u32,
    ramp: Duration,
    duration: Duration,
    data: Bytes,
    repeats: u32,
) -> Workload {
    let test = Test {
        name: format!("{count} users"),
        threads: count,
        span: Bytes(data.get().max(1).next_multiple_of(PAGE)),
        duration: Some(duration),
        ramp,
        asks: LoadKind::Database(users),
        ..Test::of_blocks(Bytes(PAGE))
    };
    Workload {
        faults: Vec::new(),
        id: WORKLOAD_ID.to_owned(),
        name: format!("TPC-C-derived, profile {}", users.profile.name()),
        repeats,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        precondition: None,
        tests: vec![test],
    }
}

/// Returns the result of the ended repeats, with every warning about them.
pub fn result(
    provenance: Provenance,
    target: DatabaseTarget,
    workload: Workload,
    samples: Vec<Sample>,
) -> RunResult {
    let cores = provenance.machine.as_ref().map(|machine| machine.cores);
    let tests: Vec<TestResult> = match (workload.tests.first(), samples.is_empty()) {
        (Some(test), false) => vec![TestResult::new(&workload, test, samples)],
        _ => Vec::new(),
    };
    let cut = tests.iter().flat_map(|test| &test.samples).any(|sample| !sample.complete);
    let complete = !cut && tests.iter().any(|test| test.samples.len() >= workload.repeats as usize);
    let of_tests = tests.iter().flat_map(|test| test_warnings(test, complete, cores));
    let warnings = cut.then_some(Warning::Interrupted).into_iter().chain(of_tests).collect();
    RunResult {
        schema_version: SCHEMA_VERSION,
        provenance,
        target: Target::Database(target),
        workload,
        tests,
        complete,
        warnings,
        inspection: None,
        power_cuts: Vec::new(),
    }
}

fn test_warnings(test: &TestResult, complete: bool, cores: Option<u32>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if complete && test.samples.len() < REPEATS_FEW {
        warnings.push(Warning::FewRepeats { repeats: test.samples.len() as u32 });
    }
    let shares =
        test.samples.iter().filter_map(|sample| sample.transactions.as_ref()?.processor_others);
    let most = shares.reduce(f64::max).filter(|&share| share > OTHERS);
    if let Some((share, cores)) = most.zip(cores) {
        let used = share * f64::from(cores);
        warnings.push(Warning::OthersBusy { test: test.test.name.clone(), used, cores });
    }
    warnings
}

#[cfg(test)]
mod tests;

//! Derives the requests that a run sent to its drive, as a workload for a simulated system.
//!
//! The run counts all inputs of this derivation per transaction: processor time of server and driver, requests to the
//! device that stores the data, and bytes of the log. The time from one transaction of a user to the next consists of
//! processor time, storage time, waits for locks and a remainder. The remainder is time on the network or time spent
//! waiting for a processor; the model assumes that it is the same with a different drive. Waits for locks grow with the
//! duration of transactions, because a transaction holds its locks until its end; they are longer on a slower drive.
//! The users of the model write the pages whose writing delays a session; background processes write the other pages.
//! The waits for locks and these pages are only known if the run sampled the waits of sessions; without samples, waits
//! for locks are part of the remainder.
//!
//! If the run sampled waits, storage time is the time in which the server's sessions waited for data and log. Storage
//! time then includes waits that the block device does not see: a commit that waits for the flush of an earlier commit,
//! and a request that a throttle delays before it reaches the device. Without samples, storage time is the device's own
//! time for the requests.
//!
//! The counters cover the whole device, so they include requests of other programs. A request may span several pages.

use lanemark_schema::result::{
    DatabaseCounter, DatabaseTarget, RunResult, Sample, Target, WaitClass,
};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::LoadKind;

use crate::error::OltpError;
use crate::outcome::{PAGE, changing_transactions};

/// First line of the files that [`workload`] creates.
pub const WORKLOAD_MARK: &str = "# Written by `lanemark report`";
/// Number of bytes in a warehouse, according to the specification's row sizes.
const WAREHOUSE: u64 = 100_000_000;
/// Size of the part of the span that the log overwrites cyclically.
const LOG_AREA: u64 = 1 << 30;

#[derive(Default)]
struct RepeatSums {
    transactions: u64,
    changing: u64,
    seconds: f64,
    processor_s: f64,
    reads: u64,
    read_s: f64,
    writes: u64,
    write_s: f64,
    flushes: u64,
    flush_s: f64,
    wal_bytes: Option<u64>,
    wal_writes: Option<u64>,
    /// Sampled sessions by wait class.
    samples: SampledSessions,
}

/// Sampled sessions of all observations, by wait class.
#[derive(Clone, Copy, Default)]
struct SampledSessions {
    all: u64,
    storage: u64,
    /// Number of sampled sessions that waited until a page was written.
    page_writes: u64,
    locks: u64,
    processor: u64,
}

/// Wait classes of a session that waits for a request at a drive, or at a throttle in front of the drive.
const STORAGE: [WaitClass; 3] = [WaitClass::Read, WaitClass::Write, WaitClass::Log];

impl RepeatSums {
    fn add(&mut self, sample: &Sample) -> Option<()> {
        let transactions = sample.transactions.as_ref()?;
        let device = sample.evidence.as_ref()?.device.as_ref()?;
        let processor = transactions.processor_time.as_ref()?;
        self.transactions = self.transactions.saturating_add(transactions.count);
        self.changing = self.changing.saturating_add(changing_transactions(&transactions.kinds));
        self.seconds += sample.elapsed.as_seconds();
        self.processor_s += processor.server_s.unwrap_or(0.0) + processor.driver_s.unwrap_or(0.0);
        self.reads = self.reads.saturating_add(device.reads);
        self.read_s += device.read_time.as_seconds();
        self.writes = self.writes.saturating_add(device.writes);
        self.write_s += device.write_time.as_seconds();
        self.flushes = self.flushes.saturating_add(device.flushes);
        self.flush_s += device.flush_time.as_seconds();
        if let Some(waits) = &transactions.waits {
            let waited = |class: WaitClass| waits.samples.get(&class).copied().unwrap_or(0);
            let found = &mut self.samples;
            for (sum, more) in [
                (&mut found.all, waits.total()),
                (&mut found.storage, STORAGE.map(waited).iter().sum()),
                (&mut found.page_writes, waited(WaitClass::Write)),
                (&mut found.locks, waited(WaitClass::Lock)),
                (&mut found.processor, waited(WaitClass::Processor)),
            ] {
                *sum = sum.saturating_add(more);
            }
        }
        for (sum, counter) in [
            (&mut self.wal_bytes, DatabaseCounter::WalBytes),
            (&mut self.wal_writes, DatabaseCounter::WalWrites),
        ] {
            if let Some(count) = transactions.counters.get(counter) {
                *sum = Some(sum.unwrap_or(0).saturating_add(count));
            }
        }
        Some(())
    }
}

/// Returns the workload of a run as the text of a workload file.
///
/// # Errors
/// Returns [`OltpError::Unknown`] if the run's target is not a database, or if the run does not contain the counters of
/// its device, its processors or its log.
pub fn workload(result: &RunResult) -> Result<String, OltpError> {
    let unknown = |what: &'static str| OltpError::Unknown { what };
    let (Target::Database(database), [test]) = (&result.target, result.tests.as_slice()) else {
        return Err(unknown("requests from the users of a database"));
    };
    let LoadKind::Database(database_load) = &test.test.asks else {
        return Err(unknown("the number of database users"));
    };
    let users = test.test.threads;
    let mut sums = RepeatSums::default();
    for sample in &test.samples {
        sums.add(sample).ok_or(unknown("the counters of its device and processors"))?;
    }
    let wal_bytes = sums.wal_bytes.ok_or(unknown("the number of bytes that it logged"))?;
    if sums.transactions == 0 || sums.changing == 0 {
        return Err(unknown("transactions that changed data"));
    }
    let all = sums.transactions as f64;
    let each = |sum: u64| sum as f64 / all;
    let mean_us =
        |seconds: f64, count: u64| if count > 0 { seconds * 1e6 / count as f64 } else { 0.0 };
    let share = sums.changing as f64 / all;
    let record = wal_bytes.div_ceil(sums.changing).max(1);
    // If a database does not count its log writes, one write per commit is assumed.
    let log_writes = sums.wal_writes.unwrap_or(sums.changing).min(sums.writes);
    let reads = each(sums.reads);
    let writes = each(sums.writes - log_writes);
    let flushes = sums.flushes > 0;
    let processor_us = sums.processor_s * 1e6 / all;
    let cycle_us = f64::from(users) * sums.seconds * 1e6 / all;
    let stored_us = mean_us(sums.write_s, sums.writes) + mean_us(sums.flush_s, sums.flushes);
    let device_us = reads * mean_us(sums.read_s, sums.reads) + share * stored_us;
    let found = sums.samples;
    let part = |sessions: u64| sessions as f64 / found.all.max(1) as f64;
    let (storage_us, storage) = match found.all {
        0 => (device_us, "the drive's time for its requests"),
        _ => (cycle_us * part(found.storage), "waits for data and log, as sessions reported them"),
    };
    let locks_us = cycle_us * part(found.locks);
    // A session that holds a lock is working or waiting for storage.
    let holding = found.storage + found.processor;
    let locks = if holding > 0 { found.locks as f64 / holding as f64 } else { 0.0 };
    let write_us = mean_us(sums.write_s, sums.writes);
    let awaited = if write_us > 0.0 {
        (cycle_us * part(found.page_writes) / write_us).min(writes)
    } else {
        0.0
    };
    let elsewhere_us = (cycle_us - processor_us - storage_us - locks_us).max(0.0);
    let data =
        (database_load.warehouses as u64).saturating_mul(WAREHOUSE / database_load.divisor as u64);
    let span = Bytes(data.next_multiple_of(PAGE).max(PAGE) + LOG_AREA);
    let write_max = record.next_multiple_of(512).max(64 << 10);
    let name = format!("{} on {}", database_load.profile.name(), database.product);
    Ok(format!(
        "{WORKLOAD_MARK} from a run of {users} users: {count} transactions in {seconds:.0} s.\n\
         # {note}\n\n\
         [workload]\nname    = \"{name}, {users} users, as measured\"\nrepeats = 3\naverage = \"mean\"\n\n\
         [transactions]\n\
         elsewhere    = {{ value = \"{elsewhere_us:.1} us\", derived = \"{cycle_us:.0} µs from one transaction of a user to the next, minus the processor time, {locks_us:.0} µs of locks and {storage_us:.0} µs of {storage}\" }}\n\
         locks        = {{ value = {locks:.4}, derived = \"sessions that waited for a lock, per session that worked or waited for storage\" }}\n\
         processor    = {{ value = \"{processor_us:.1} us\", derived = \"server and driver during the run\" }}\n\
         page_writers = {{ value = 32, assumed = \"pages that are written concurrently\" }}\n\
         reads        = {{ value = {reads:.4}, derived = \"{counted_reads} reads from the device during the run\" }}\n\
         writes       = {{ value = {writes:.4}, derived = \"{counted_writes} writes to the device during the run, {log_writes} of them to the log\" }}\n\
         awaited      = {{ value = {awaited:.4}, derived = \"sessions that waited for a page to be written, divided by the drive's time for a write, {write_us:.0} µs\" }}\n\n\
         [transactions.log]\n\
         share       = {{ value = \"{percent:.2}%\", derived = \"transactions that changed data\" }}\n\
         record      = {{ value = \"{record} B\", derived = \"bytes logged per transaction that changed data\" }}\n\
         write_max   = {{ value = \"{write_max} B\", assumed = \"the maximum of one write\" }}\n\
         outstanding = {{ value = 1, source = \"{kind}: one session writes the log while the others wait\" }}\n\
         flush       = {{ value = \"{flush}\", derived = \"{flush_count} flushes of the device during the run\" }}\n\
         area        = {{ value = \"{LOG_AREA} B\", assumed = \"log files that are reused\" }}\n\n\
         [[test]]\nname     = \"{users} users\"\nthreads  = {users}\nblock    = \"8 KiB\"\n\
         span     = \"{span} B\"\nramp     = \"1 s\"\nduration = \"5 s\"\n",
        count = sums.transactions,
        seconds = sums.seconds,
        note = note(database),
        counted_reads = sums.reads,
        counted_writes = sums.writes,
        percent = 100.0 * share,
        kind = database.product,
        flush = if flushes { "after-each-write" } else { "never" },
        flush_count = sums.flushes,
        span = span.get(),
    ))
}

/// Returns the remark about this database for readers of the workload file.
fn note(database: &DatabaseTarget) -> &'static str {
    match database.product.as_str() {
        "SQLite" => {
            "SQLite lets one user write at a time; here, the wait for other writers is part of `elsewhere`."
        }
        _ => "The requests include all requests to the device that stores the data.",
    }
}

#[cfg(test)]
mod tests;

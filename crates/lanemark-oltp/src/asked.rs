//! What a run asked of its drive, as a workload that a simulated system can be given.
//!
//! Everything is counted in the run, for each transaction: processor time of server and driver, requests of the device
//! below the data, bytes of the log. What is left of the time between two transactions of a user, after processor
//! and drive, is spent elsewhere: locks, the network, waiting for a processor. A change of drive does not change it in the
//! model, though locks are held for less time on a faster one.
//!
//! Requests are those of the whole device, so what else used it is in them, and a request may be of several pages.

use lanemark_core::units::Bytes;

use crate::counters::Counter;
use crate::error::OltpError;
use crate::profile::TransactionKind;
use crate::result::{OltpRepeat, OltpResult};

/// What the files that [`workload`] makes begin with.
pub const WORKLOAD_MARK: &str = "# Written by `lanemark oltp workload`";
/// The pages of the databases here; SQLite's are half as long.
const PAGE: u64 = 8 << 10;
/// A warehouse's data, of the specification's row sizes.
const WAREHOUSE: u64 = 100_000_000;
/// The part of the span in which the log goes round.
const LOG_AREA: u64 = 1 << 30;

/// Sums of all repeats.
#[derive(Default)]
struct Sums {
    transactions: u64,
    changing: u64,
    seconds: f64,
    processor_s: f64,
    reads: u64,
    read_ms: u64,
    writes: u64,
    write_ms: u64,
    flushes: u64,
    flush_ms: u64,
    wal_bytes: Option<u64>,
    wal_writes: Option<u64>,
}

impl Sums {
    fn add(&mut self, repeat: &OltpRepeat) -> Option<()> {
        let count =
            |kind: TransactionKind| repeat.transactions.get(&kind).map_or(0, |one| one.count);
        let rolled_back: u64 = repeat.transactions.values().map(|one| one.rolled_back).sum();
        let (device, processor) = (repeat.device.as_ref()?, repeat.processor.as_ref()?);
        let reading = count(TransactionKind::OrderStatus) + count(TransactionKind::StockLevel);
        self.transactions += repeat.count();
        self.changing += repeat.count() - reading - rolled_back;
        self.seconds += repeat.seconds;
        self.processor_s += processor.server_s.unwrap_or(0.0) + processor.driver_s.unwrap_or(0.0);
        self.reads += device.reads;
        self.read_ms += device.read_ms;
        self.writes += device.writes;
        self.write_ms += device.write_ms;
        self.flushes += device.flushes;
        self.flush_ms += device.flush_ms;
        for (sum, counter) in
            [(&mut self.wal_bytes, Counter::WalBytes), (&mut self.wal_writes, Counter::WalWrites)]
        {
            if let Some(told) = repeat.counters.get(counter) {
                *sum = Some(sum.unwrap_or(0) + told);
            }
        }
        Some(())
    }
}

/// The workload of a run as the text of a workload file.
///
/// # Errors
/// [`OltpError::Unknown`] where the run does not know its device, its processors or its log.
pub fn workload(result: &OltpResult) -> Result<String, OltpError> {
    let unknown = |what: &'static str| OltpError::Unknown { what };
    let mut sums = Sums::default();
    for repeat in &result.repeats {
        sums.add(repeat).ok_or(unknown("what its device and processors did"))?;
    }
    let wal_bytes = sums.wal_bytes.ok_or(unknown("how much it logged"))?;
    if sums.transactions == 0 || sums.changing == 0 {
        return Err(unknown("any transaction that changed something"));
    }
    let all = sums.transactions as f64;
    let each = |sum: u64| sum as f64 / all;
    let mean_us =
        |ms: u64, count: u64| if count > 0 { ms as f64 * 1e3 / count as f64 } else { 0.0 };
    let share = sums.changing as f64 / all;
    let record = wal_bytes.div_ceil(sums.changing).max(1);
    // Who does not count writes of the log makes one for each commit.
    let log_writes = sums.wal_writes.unwrap_or(sums.changing).min(sums.writes);
    let (reads, writes) = (each(sums.reads), each(sums.writes - log_writes));
    let flushes = sums.flushes > 0;
    let processor_us = sums.processor_s * 1e6 / all;
    let cycle_us = f64::from(result.users) * sums.seconds * 1e6 / all;
    let stored_us = mean_us(sums.write_ms, sums.writes) + mean_us(sums.flush_ms, sums.flushes);
    let device_us = reads * mean_us(sums.read_ms, sums.reads) + share * stored_us;
    let elsewhere_us = (cycle_us - processor_us - device_us).max(0.0);
    let data =
        (result.scale.warehouses as u64).saturating_mul(WAREHOUSE / result.scale.divisor as u64);
    let span = Bytes(data.next_multiple_of(PAGE).max(PAGE) + LOG_AREA);
    let write_max = record.next_multiple_of(512).max(64 << 10);
    let name = format!("{} on {}", result.profile.name(), result.database.kind);
    Ok(format!(
        "{WORKLOAD_MARK} from a run of {users} users: {count} transactions in {seconds:.0} s.\n\
         # {note}\n\n\
         [workload]\nname    = \"{name}, {users} users, as measured\"\nrepeats = 3\naverage = \"mean\"\n\n\
         [transactions]\n\
         elsewhere    = {{ value = \"{elsewhere_us:.1} us\", derived = \"{cycle_us:.0} us from one transaction of a user to the next, less processor and drive\" }}\n\
         processor    = {{ value = \"{processor_us:.1} us\", derived = \"server and driver in the run\" }}\n\
         page_writers = {{ value = 32, assumed = \"pages that are written at once\" }}\n\
         reads        = {{ value = {reads:.4}, derived = \"{counted_reads} reads of the device in the run\" }}\n\
         writes       = {{ value = {writes:.4}, derived = \"{counted_writes} writes of the device in the run, {log_writes} of them the log's\" }}\n\n\
         [transactions.log]\n\
         share       = {{ value = \"{percent:.2}%\", derived = \"transactions that changed something\" }}\n\
         record      = {{ value = \"{record} B\", derived = \"bytes logged by each of them\" }}\n\
         write_max   = {{ value = \"{write_max} B\", assumed = \"what goes with one write\" }}\n\
         outstanding = {{ value = 1, source = \"{kind}: one writes the log while the others wait\" }}\n\
         flush       = {{ value = \"{flush}\", derived = \"{flush_count} flushes of the device in the run\" }}\n\
         area        = {{ value = \"{LOG_AREA} B\", assumed = \"files of the log that are used again\" }}\n\n\
         [[test]]\nname     = \"{users} users\"\nthreads  = {users}\nblock    = \"8 KiB\"\n\
         span     = \"{span} B\"\nramp     = \"1 s\"\nduration = \"5 s\"\n",
        users = result.users,
        count = sums.transactions,
        seconds = sums.seconds,
        note = note(result),
        counted_reads = sums.reads,
        counted_writes = sums.writes,
        percent = 100.0 * share,
        kind = result.database.kind,
        flush = if flushes { "after-each-write" } else { "never" },
        flush_count = sums.flushes,
        span = span.get(),
    ))
}

/// What a reader must know of this database.
fn note(result: &OltpResult) -> &'static str {
    match result.database.kind.as_str() {
        "SQLite" => {
            "SQLite lets one user write at a time; here that is part of the time elsewhere."
        }
        _ => "Requests are those of the whole device below the data.",
    }
}

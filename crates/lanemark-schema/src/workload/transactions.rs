//! The load of a simulated database: users that run transactions in succession, a page buffer, and a log with group
//! commit.
//!
//! A transaction begins with processor time. The reads of the pages that are not in the buffer divide this time into
//! parts that are equal on average; each read starts after the previous one. A transaction with changes ends when its
//! log record is stored. Afterwards its user spends some time elsewhere: in the client, on the network, and waiting for
//! locks if these are not modelled separately. Changed pages are written in the background, or by the user that needs
//! their space.
//!
//! The buffer determines the pages that a transaction reads and writes ([`TransactionLoad::buffer_use`]).

use serde::{Deserialize, Serialize};

use super::bound::{BLOCK, PAGE_WRITERS};
use super::error::TestError;
use crate::units::{Bytes, Duration, Ratio};

/// Maximum number of kinds of pages.
const PAGE_CLASSES_MAX: usize = 64;
/// Maximum number of visits to pages of one kind, per transaction.
const VISITS_MAX: f64 = 10_000.0;
/// Maximum time that waits for locks may take, as a multiple of the other time of a transaction.
const LOCKS_MAX: f64 = 1000.0;

/// The transactions that each user runs. The test's number of threads is the number of users, the block is a page, and
/// the log is at the end of the span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransactionLoad {
    /// Mean time between two transactions of a user; exponentially distributed.
    #[serde(rename = "elsewhere_ns")]
    pub elsewhere: Duration,
    /// Mean processor time of a transaction without the processor time of its requests; its parts are exponentially
    /// distributed.
    #[serde(rename = "processor_ns")]
    pub processor: Duration,
    /// Memory that the database uses as its page buffer.
    #[serde(rename = "buffer_bytes")]
    pub buffer: Bytes,
    /// Maximum time between two writes of a changed page.
    #[serde(rename = "checkpoint_ns")]
    pub checkpoint: Duration,
    /// Maximum number of outstanding page writes.
    pub page_writers: u32,
    /// Maximum size of a write of adjacent changed pages; with 0 B, each page is written separately.
    #[serde(rename = "gather_bytes", default, skip_serializing_if = "is_alone")]
    pub gather: Bytes,
    /// Share of the pages that users visit. If each user stays at one warehouse, it is the share of the warehouses in
    /// use.
    pub in_use: Ratio,
    /// Classes of pages that a transaction visits.
    pub pages: Vec<PageClass>,
    /// Counted reads and writes per transaction; if they are known, buffer and pages are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<RequestsPerTransaction>,
    /// Waits for locks, as a multiple of the time that a transaction spends on the processor and on storage, because a
    /// transaction holds its locks for that time.
    #[serde(default, skip_serializing_if = "is_none")]
    pub locks: f64,
    /// Log of the database, which makes transactions durable.
    pub log: DatabaseLog,
}

/// A class of pages with equal visit rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageClass {
    /// Name of the content of the pages.
    pub name: String,
    /// Total size of all pages of the class.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Mean number of visits per transaction; each page is equally likely, regardless of earlier visits.
    pub visits: f64,
    /// The share of visits that change the page.
    pub changed: Ratio,
}

/// The database's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseLog {
    /// The share of transactions that commit a change.
    pub share: Ratio,
    /// Size of a transaction's log record.
    #[serde(rename = "record_bytes")]
    pub record: Bytes,
    /// Maximum size of a write.
    #[serde(rename = "write_max_bytes")]
    pub write_max: Bytes,
    /// Maximum number of outstanding log writes. Records that arrive in the meantime wait for the next write (group
    /// commit). A write takes effect when all earlier writes have ended.
    pub outstanding: u32,
    /// Whether a flush follows each write.
    pub flush: bool,
    /// The part of the span that contains the circular log.
    #[serde(rename = "area_bytes")]
    pub area: Bytes,
}

/// Mean numbers of requests per transaction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestsPerTransaction {
    /// Number of pages read.
    pub reads: f64,
    /// Number of changed pages written.
    pub writes: f64,
    /// Number of page writes for which the user waits, to free space for the page that it reads next; the other writes
    /// run in the background.
    #[serde(default, skip_serializing_if = "is_none")]
    pub awaited: f64,
}

fn is_none(number: &f64) -> bool {
    *number == 0.0
}

fn is_alone(gather: &Bytes) -> bool {
    *gather == Bytes::ZERO
}

impl TransactionLoad {
    /// Checks the load of a test with pages of `page` in `span`.
    pub(super) fn check(&self, page: Bytes, span: Bytes) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        let log = &self.log;
        if !(0.0..=LOCKS_MAX).contains(&self.locks) {
            return fail("locks", self.locks.to_string(), "from 0 to 1000");
        }
        if let Some(RequestsPerTransaction { reads, writes, awaited }) = self.counted {
            if !(0.0..=writes).contains(&awaited) {
                return fail("awaited", awaited.to_string(), "from 0 to `writes`");
            }
            for (field, value) in [("reads", reads), ("writes", writes)] {
                if !(0.0..=VISITS_MAX).contains(&value) {
                    return fail(field, value.to_string(), "from 0 to 10000");
                }
            }
        } else if self.pages.is_empty() || self.pages.len() > PAGE_CLASSES_MAX {
            return fail("pages", format!("{} kinds", self.pages.len()), "from 1 to 64 kinds");
        }
        for class in &self.pages {
            if !(0.0..=VISITS_MAX).contains(&class.visits) {
                return fail("visits", class.visits.to_string(), "from 0 to 10000");
            }
        }
        let pages: u64 = self.pages.iter().map(|class| class.size.get()).sum();
        let room = span.get().saturating_sub(log.area.get());
        if pages > room {
            let bound = format!("up to {}: the span without the log", Bytes(room));
            return fail("size", Bytes(pages).to_string(), &bound);
        }
        if self.in_use == Ratio::ZERO {
            return fail("in_use", self.in_use.to_string(), "above 0%");
        }
        if !PAGE_WRITERS.contains(&self.page_writers) {
            return fail("page_writers", self.page_writers.to_string(), &PAGE_WRITERS.to_string());
        }
        if self.gather != Bytes::ZERO {
            let whole = page != Bytes::ZERO && self.gather.get().is_multiple_of(page.get());
            if !whole || self.gather > BLOCK.max || self.counted.is_some() {
                let bound =
                    "a multiple of the page up to 64 MiB, if reads and writes are not counted";
                return fail("gather", self.gather.to_string(), bound);
            }
        }
        if log.outstanding == 0 || log.outstanding > 1024 {
            return fail("outstanding", log.outstanding.to_string(), "from 1 to 1024");
        }
        let whole = |bytes: Bytes| bytes.get() > 0 && bytes.get().is_multiple_of(512);
        if !whole(log.write_max) || log.write_max > BLOCK.max {
            return fail(
                "write_max",
                log.write_max.to_string(),
                "a multiple of 512 B up to 64 MiB",
            );
        }
        if log.record == Bytes::ZERO || log.record > log.write_max {
            return fail("record", log.record.to_string(), "above 0 and up to write_max");
        }
        if !whole(log.area) || log.area < log.write_max || log.area >= span {
            let bound = "a multiple of 512 B, from write_max to less than the span";
            return fail("area", log.area.to_string(), bound);
        }
        if self.processor == Duration::ZERO {
            return fail("processor", self.processor.to_string(), "above zero");
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::tests::random_read;
    use super::super::{LoadKind, Test};
    use super::*;

    fn class(name: &str, mebi: u64, visits: f64, changed: f64) -> PageClass {
        let changed = Ratio::new(changed).unwrap();
        PageClass { name: name.to_owned(), size: Bytes::mebi(mebi), visits, changed }
    }

    /// Returns two kinds of 8 KiB pages, and a log with one write at a time.
    pub(crate) fn transactions() -> TransactionLoad {
        TransactionLoad {
            elsewhere: Duration::from_microseconds(500),
            processor: Duration::from_microseconds(100),
            buffer: Bytes::mebi(16),
            checkpoint: Duration::from_microseconds(60_000_000),
            page_writers: 8,
            gather: Bytes::ZERO,
            in_use: Ratio::ONE,
            pages: vec![class("hot", 8, 3.0, 0.5), class("cold", 48, 1.0, 1.0)],
            counted: None,
            locks: 0.0,
            log: DatabaseLog {
                share: Ratio::ONE,
                record: Bytes(512),
                write_max: Bytes::kibi(64),
                outstanding: 1,
                flush: false,
                area: Bytes::mebi(4),
            },
        }
    }

    /// Returns a test of sixteen users that run the transactions `transactions`.
    pub(crate) fn users(transactions: TransactionLoad) -> Test {
        Test {
            block: Bytes::kibi(8),
            threads: 16,
            span: Bytes::mebi(60),
            volume: None,
            duration: Some(Duration::from_microseconds(2_000_000)),
            ramp: Duration::from_microseconds(200_000),
            asks: LoadKind::Transactions(Box::new(transactions)),
            ..random_read()
        }
    }

    #[test]
    fn each_bound_is_named() {
        let cases: [(&str, fn(&mut TransactionLoad)); 13] = [
            ("reads", |t| {
                t.counted = Some(RequestsPerTransaction { reads: -1.0, writes: 0.0, awaited: 0.0 });
            }),
            ("awaited", |t| {
                t.counted = Some(RequestsPerTransaction { reads: 1.0, writes: 2.0, awaited: 2.5 });
            }),
            ("locks", |t| t.locks = f64::NAN),
            ("pages", |t| t.pages.clear()),
            ("visits", |t| t.pages[0].visits = f64::NAN),
            ("size", |t| t.pages[0].size = Bytes::mebi(50)),
            ("page_writers", |t| t.page_writers = 0),
            ("gather", |t| t.gather = Bytes::kibi(12)),
            ("gather", |t| t.gather = Bytes::mebi(128)),
            ("outstanding", |t| t.log.outstanding = 0),
            ("record", |t| t.log.record = Bytes::mebi(1)),
            ("area", |t| t.log.area = Bytes(512)),
            ("processor", |t| t.processor = Duration::ZERO),
        ];
        assert_eq!(users(transactions()).check(), Ok(()));
        for (field, spoil) in cases {
            let mut own = transactions();
            spoil(&mut own);
            assert_eq!(users(own).check().unwrap_err().field, field);
        }
    }
}

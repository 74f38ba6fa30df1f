//! A database under transactions, as a load: users that ask for one after another, pages that its buffer holds or not,
//! and a log that commits together.
//!
//! A transaction begins with processor time, cut into equal parts (in the mean) by the reads of the pages that the
//! buffer does not hold, which come one after the other; where it has changed anything it ends when its log
//! record is stored. Then its user is elsewhere for a while: the client's own time, the network, and, where they are not
//! told apart, locks. Changed pages are written in the background, or by the user that needs their room.
//!
//! The pages that a transaction reads and writes follow from the buffer ([`Transactions::buffer_use`]).

use serde::{Deserialize, Serialize};

use super::error::TestError;
use crate::units::{Bytes, Duration, Ratio};

/// Greatest number of kinds of pages.
const PAGE_CLASSES_MAX: usize = 64;
/// Greatest number of visits of a transaction to pages of a kind.
const VISITS_MAX: f64 = 10_000.0;
/// Greatest multiple of a transaction's time that waits for locks may take.
const LOCKS_MAX: f64 = 1000.0;

/// The transactions that each user runs. How many users there are is the test's number of threads; a page is its block;
/// the log lies at the end of its span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transactions {
    /// Mean time between two transactions of a user; exponentially distributed.
    #[serde(rename = "elsewhere_ns")]
    pub elsewhere: Duration,
    /// Mean processor time of a transaction without that of its requests; its parts are exponentially distributed.
    #[serde(rename = "processor_ns")]
    pub processor: Duration,
    /// Memory that the database uses as its page buffer.
    #[serde(rename = "buffer_bytes")]
    pub buffer: Bytes,
    /// Every changed page is written at least that often.
    #[serde(rename = "checkpoint_ns")]
    pub checkpoint: Duration,
    /// Writes of pages outstanding at once.
    pub page_writers: u32,
    /// Share of the pages that users visit: of the warehouses, where each user keeps to one warehouse.
    pub in_use: Ratio,
    /// Classes of pages that a transaction visits.
    pub pages: Vec<PageClass>,
    /// Reads and writes counted for each transaction, where known: then buffer and pages are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
    /// Waits for locks, as a multiple of the time that a transaction takes at processor and storage: whoever holds a
    /// lock holds it for that time.
    #[serde(default, skip_serializing_if = "is_none")]
    pub locks: f64,
    /// Log of the database, which makes transactions durable.
    pub log: Log,
}

/// Pages that are visited alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageClass {
    /// Name of the pages' content.
    pub name: String,
    /// Size of all pages of the class together.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Visits of a transaction, in the mean; each page is as likely as any other, whatever was visited before.
    pub visits: f64,
    /// The share of visits that change the page.
    pub changed: Ratio,
}

/// The database's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// The share of transactions that have something to commit.
    pub share: Ratio,
    /// Size of a transaction's log record.
    #[serde(rename = "record_bytes")]
    pub record: Bytes,
    /// The longest write.
    #[serde(rename = "write_max_bytes")]
    pub write_max: Bytes,
    /// Writes outstanding at once. What comes meanwhile waits and goes with the next (group commit); a write counts
    /// when all before it have ended.
    pub outstanding: u32,
    /// Whether a flush follows each write.
    pub flush: bool,
    /// The part of the span that it goes round in.
    #[serde(rename = "area_bytes")]
    pub area: Bytes,
}

/// Requests of a transaction, in the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Pages read.
    pub reads: f64,
    /// Changed pages written.
    pub writes: f64,
    /// Page writes that the user itself waits for, to have room for the page that it reads next; the other writes go in the
    /// background.
    #[serde(default, skip_serializing_if = "is_none")]
    pub awaited: f64,
}

fn is_none(number: &f64) -> bool {
    *number == 0.0
}

/// The reads and writes that the buffer leaves to the drives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BufferUse {
    /// The share of visits that find their page, where it follows from them.
    pub hit_ratio: Option<f64>,
    /// Reads of a transaction.
    pub reads: f64,
    /// Writes of changed pages, for each transaction.
    pub writes: f64,
    /// Page writes of a transaction that its user waits for.
    pub awaited: f64,
}

impl Transactions {
    /// Computes the reads and writes of a least recently used buffer with pages of `page` at `rate` transactions a
    /// second.
    ///
    /// Law: the approximation of Che, Tung and Wang (IEEE JSAC 20(7), 2002). A page stays for the time T in which as many
    /// different pages are visited as there is room for: the sum of `1 - exp(-l T)` over all pages is the
    /// buffer's, and a visit misses with probability `exp(-l T)`, where l is the page's rate of visits. A
    /// page is written when it is dropped after a change, or when a checkpoint finds it changed, whichever is more
    /// often. Where everything fits nothing is read: what was loaded at first is not counted.
    pub fn buffer_use(&self, page: Bytes, rate: f64) -> BufferUse {
        if let Some(Counted { reads, writes, awaited }) = self.counted {
            return BufferUse { hit_ratio: None, reads, writes, awaited };
        }
        let room = self.buffer.get() as f64 / page.get() as f64;
        let classes: Vec<(f64, f64, f64)> = self
            .pages
            .iter()
            .filter(|class| class.visits > 0.0)
            .map(|class| {
                let used = class.size.get() as f64 * self.in_use.get();
                let pages = (used / page.get() as f64).max(1.0);
                (pages, class.visits, class.changed.get())
            })
            .collect();
        let visits: f64 = classes.iter().map(|(_, visits, _)| visits).sum();
        let stay = stay(&classes, room);
        let between_checkpoints = rate * self.checkpoint.as_seconds();
        let mut total = BufferUse::default();
        for (pages, visits, changed) in classes {
            let missed = libm::exp(-visits / pages * stay);
            let unchanged = (1.0 - changed) * missed / (missed + changed * (1.0 - missed));
            let dropped = visits * missed * (1.0 - if missed > 0.0 { unchanged } else { 0.0 });
            let changes = visits / pages * changed * between_checkpoints;
            let checkpointed = match between_checkpoints > 0.0 {
                true => pages * (1.0 - missed) * -libm::expm1(-changes) / between_checkpoints,
                false => 0.0,
            };
            total.reads += visits * missed;
            total.writes += f64::max(dropped, checkpointed);
        }
        total.hit_ratio = Some(if visits > 0.0 { 1.0 - total.reads / visits } else { 1.0 });
        total
    }

    pub(super) fn check(&self, span: Bytes) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        let log = &self.log;
        if !(0.0..=LOCKS_MAX).contains(&self.locks) {
            return fail("locks", self.locks.to_string(), "from 0 to 1000");
        }
        if let Some(Counted { reads, writes, awaited }) = self.counted {
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
            let bound = format!("at most {}: the span without the log", Bytes(room));
            return fail("size", Bytes(pages).to_string(), &bound);
        }
        if self.in_use == Ratio::ZERO {
            return fail("in_use", self.in_use.to_string(), "above 0%");
        }
        if self.page_writers == 0 || self.page_writers > 65_536 {
            return fail("page_writers", self.page_writers.to_string(), "from 1 to 65536");
        }
        if log.outstanding == 0 || log.outstanding > 1024 {
            return fail("outstanding", log.outstanding.to_string(), "from 1 to 1024");
        }
        let whole = |bytes: Bytes| bytes.get() > 0 && bytes.get().is_multiple_of(512);
        if !whole(log.write_max) || log.write_max > super::BLOCK_MAX {
            return fail("write_max", log.write_max.to_string(), "a multiple of 512 B to 64 MiB");
        }
        if log.record == Bytes::ZERO || log.record > log.write_max {
            return fail("record", log.record.to_string(), "above 0 and at most write_max");
        }
        if !whole(log.area) || log.area < log.write_max || log.area >= span {
            let bound = "a multiple of 512 B, at least write_max, and less than the span";
            return fail("area", log.area.to_string(), bound);
        }
        if self.processor == Duration::ZERO {
            return fail("processor", self.processor.to_string(), "above zero");
        }
        Ok(())
    }
}

/// The time, in transactions, for which a page stays without a visit; without end where all fit.
fn stay(classes: &[(f64, f64, f64)], room: f64) -> f64 {
    let held = |stay: f64| -> f64 {
        classes.iter().map(|(pages, visits, _)| -pages * libm::expm1(-visits / pages * stay)).sum()
    };
    let all: f64 = classes.iter().map(|(pages, ..)| pages).sum();
    if all <= room {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while held(high) < room {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if held(middle) < room { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::tests::random_read;
    use super::super::{Asks, Test};
    use super::*;
    use crate::rng::{Rng, StreamKey};

    fn class(name: &str, mebi: u64, visits: f64, changed: f64) -> PageClass {
        let changed = Ratio::new(changed).unwrap();
        PageClass { name: name.to_owned(), size: Bytes::mebi(mebi), visits, changed }
    }

    /// Two kinds of pages of 8 KiB, and a log whose writes are one at a time.
    pub(crate) fn transactions() -> Transactions {
        Transactions {
            elsewhere: Duration::from_microseconds(500),
            processor: Duration::from_microseconds(100),
            buffer: Bytes::mebi(16),
            checkpoint: Duration::from_microseconds(60_000_000),
            page_writers: 8,
            in_use: Ratio::ONE,
            pages: vec![class("hot", 8, 3.0, 0.5), class("cold", 48, 1.0, 1.0)],
            counted: None,
            locks: 0.0,
            log: Log {
                share: Ratio::ONE,
                record: Bytes(512),
                write_max: Bytes::kibi(64),
                outstanding: 1,
                flush: false,
                area: Bytes::mebi(4),
            },
        }
    }

    /// Sixteen users of [`transactions`].
    pub(crate) fn users(transactions: Transactions) -> Test {
        Test {
            block: Bytes::kibi(8),
            threads: 16,
            span: Bytes::mebi(60),
            volume: None,
            duration: Some(Duration::from_microseconds(2_000_000)),
            ramp: Duration::from_microseconds(200_000),
            asks: Asks::Transactions(Box::new(transactions)),
            ..random_read()
        }
    }

    /// A buffer of that many pages, page by page, against the law.
    #[test]
    fn the_buffer_misses_and_drops_as_the_law_says() {
        let own = Transactions { checkpoint: Duration::ZERO, ..transactions() };
        let law = own.buffer_use(Bytes::kibi(8), 1000.0);
        let mut rng = Rng::new(StreamKey::from_seed(3));
        let room = 16 * 128;
        // The last visit of each page, those held in the order of it, and whether it is changed.
        let mut last = std::collections::BTreeMap::new();
        let mut held = std::collections::BTreeMap::new();
        let (mut visits, mut missed, mut written, mut counted) = (0u64, 0u64, 0u64, 0u64);
        for transaction in 0..60_000 {
            let counts = transaction > 20_000;
            counted += u64::from(counts);
            for (class, page) in [(0, 8 * 128), (0, 8 * 128), (0, 8 * 128), (1, 48 * 128)] {
                let page = (class, rng.below(page));
                visits += 1;
                let mut changed = class == 1 || rng.chance(0.5);
                match last.insert(page, visits) {
                    Some(before) => {
                        let (_, was) = held.remove(&before).unwrap();
                        changed |= was;
                    }
                    None => {
                        missed += u64::from(counts);
                        if held.len() == room {
                            let (_, (dropped, was)) = held.pop_first().unwrap();
                            last.remove(&dropped);
                            written += u64::from(counts && was);
                        }
                    }
                }
                held.insert(visits, (page, changed));
            }
        }
        let (reads, writes) = (missed as f64 / counted as f64, written as f64 / counted as f64);
        assert!((reads / law.reads - 1.0).abs() < 0.02, "{reads} reads, {law:?}");
        assert!((writes / law.writes - 1.0).abs() < 0.02, "{writes} writes, {law:?}");
        assert!((1.0 - reads / 4.0 - law.hit_ratio.unwrap()).abs() < 0.01, "{law:?}");
    }

    #[test]
    fn what_fits_is_not_read_and_is_written_at_checkpoints() {
        let own = Transactions { buffer: Bytes::mebi(64), ..transactions() };
        let law = own.buffer_use(Bytes::kibi(8), 10_000.0);
        assert_eq!((law.reads, law.hit_ratio), (0.0, Some(1.0)));
        // In a minute every page is changed: 7168 writes for 600,000 transactions.
        assert!((law.writes * 600_000.0 - 7168.0).abs() < 1.0, "{law:?}");
        let never = Transactions { checkpoint: Duration::ZERO, ..own };
        assert_eq!(never.buffer_use(Bytes::kibi(8), 10_000.0).writes, 0.0);
    }

    #[test]
    fn each_bound_is_named() {
        let cases: [(&str, fn(&mut Transactions)); 11] = [
            ("reads", |t| t.counted = Some(Counted { reads: -1.0, writes: 0.0, awaited: 0.0 })),
            ("awaited", |t| t.counted = Some(Counted { reads: 1.0, writes: 2.0, awaited: 2.5 })),
            ("locks", |t| t.locks = f64::NAN),
            ("pages", |t| t.pages.clear()),
            ("visits", |t| t.pages[0].visits = f64::NAN),
            ("size", |t| t.pages[0].size = Bytes::mebi(50)),
            ("page_writers", |t| t.page_writers = 0),
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

//! The requests that a database's page buffer leaves to the drives.

use super::transactions::{RequestsPerTransaction, TransactionLoad};
use crate::rng::Rng;
use crate::units::Bytes;

/// The reads and writes that the buffer leaves to the drives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BufferTraffic {
    /// The share of visits that find their page, if the model determines it.
    pub hit_ratio: Option<f64>,
    /// Reads per transaction.
    pub reads: f64,
    /// Writes of changed pages per transaction; one write may contain several adjacent pages.
    pub writes: f64,
    /// Page writes per transaction for which the user waits.
    pub awaited: f64,
    /// Numbers of neighbours that are written together with a page, by kind of page; empty if each page is written
    /// separately.
    runs: Vec<PageRuns>,
    /// Maximum number of pages in one write.
    pages_max: u32,
}

/// The writes of one kind of page, and their lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PageRuns {
    /// Writes per transaction.
    writes: f64,
    /// The probability that the next neighbour is also changed.
    changed: f64,
    /// Whether neighbours on both sides are written together, as when a page is dropped, or only neighbours on one
    /// side, as when a checkpoint scans all pages in order.
    both_sides: bool,
}

/// A kind of page, as an input of the model.
#[derive(Clone, Copy, Debug)]
struct PageClassInput {
    pages: f64,
    /// Visits per transaction.
    visits: f64,
    /// The share of visits that change the page.
    changed: f64,
}

/// The writes of one kind of page.
#[derive(Clone, Copy, Debug, Default)]
struct PageClassWrites {
    /// Number of pages written per transaction.
    pages: f64,
    runs: PageRuns,
}

impl TransactionLoad {
    /// Computes the reads and writes of an LRU buffer with pages of size `page`, at `rate` transactions a second.
    ///
    /// The model is the approximation of Che, Tung and Wang (IEEE JSAC 20(7), 2002). A page stays in the buffer for the
    /// time T in which the number of different visited pages equals the size of the buffer. Let l be the visit rate of
    /// a page. The sum of `1 - exp(-l T)` over all pages is the size of the buffer, and a visit misses with probability
    /// `exp(-l T)`. A page is written when it is dropped after a change, or when a checkpoint finds it changed,
    /// whichever is more frequent. If all pages fit, there are no reads, because the initial loading is not counted.
    ///
    /// If neighbours are written together, a dropped page is written with its changed neighbours, on both sides up to
    /// the first unchanged page. The neighbours stay in the buffer as unchanged pages, and many of them are later
    /// changed and written again. A checkpoint writes the changed pages in order, each run of adjacent pages with one
    /// write.
    pub fn buffer_use(&self, page: Bytes, rate: f64) -> BufferTraffic {
        self.buffer_model(page).at(rate)
    }

    /// Returns the model of [`TransactionLoad::buffer_use`] for any rate.
    pub fn buffer_model(&self, page: Bytes) -> BufferModel<'_> {
        let room = self.buffer.get() as f64 / page.get() as f64;
        let kinds: Vec<PageClassInput> = self
            .pages
            .iter()
            .filter(|class| class.visits > 0.0 && self.counted.is_none())
            .map(|class| {
                let used = class.size.get() as f64 * self.in_use.get();
                let pages = (used / page.get() as f64).max(1.0);
                PageClassInput { pages, visits: class.visits, changed: class.changed.get() }
            })
            .collect();
        let stay = mean_residence(&kinds, room);
        let pages_max = (self.gather.get() / page.get()).max(1) as u32;
        let with_dropped = |kind: PageClassInput| (kind, kind.dropped(stay, pages_max));
        let kinds = kinds.into_iter().map(with_dropped).collect();
        BufferModel { load: self, kinds, stay, pages_max }
    }
}

/// The requests that a buffer leaves to the drives, for any transaction rate.
#[derive(Clone, Debug)]
pub struct BufferModel<'t> {
    load: &'t TransactionLoad,
    /// The kinds of pages, each with the writes that dropped pages cause.
    kinds: Vec<(PageClassInput, PageClassWrites)>,
    stay: f64,
    pages_max: u32,
}

impl BufferModel<'_> {
    /// Computes the reads and writes at `rate` transactions a second.
    pub fn at(&self, rate: f64) -> BufferTraffic {
        let &Self { load, ref kinds, stay, pages_max } = self;
        if let Some(RequestsPerTransaction { reads, writes, awaited }) = load.counted {
            return BufferTraffic { reads, writes, awaited, ..BufferTraffic::default() };
        }
        let visits: f64 = kinds.iter().map(|(kind, _)| kind.visits).sum();
        let between_checkpoints = rate * load.checkpoint.as_seconds();
        let mut total = BufferTraffic { pages_max, ..BufferTraffic::default() };
        for &(kind, dropped) in kinds {
            let checkpointed = kind.checkpointed(stay, between_checkpoints, pages_max);
            let written = if checkpointed.pages > dropped.pages { checkpointed } else { dropped };
            total.reads += kind.visits * kind.missed(stay);
            total.writes += written.runs.writes;
            if pages_max > 1 && written.runs.writes > 0.0 {
                total.runs.push(written.runs);
            }
        }
        total.hit_ratio = Some(if visits > 0.0 { 1.0 - total.reads / visits } else { 1.0 });
        total
    }
}

impl BufferTraffic {
    /// Draws the number of pages in one write: a page and its changed neighbours.
    pub fn draw_pages(&self, rng: &mut Rng) -> u32 {
        let all: f64 = self.runs.iter().map(|runs| runs.writes).sum();
        let mut left = rng.unit() * all;
        let chosen = self.runs.iter().find(|runs| {
            left -= runs.writes;
            left < 0.0
        });
        let Some(runs) = chosen.or(self.runs.last()) else { return 1 };
        let mut pages = 1;
        for _side in 0..if runs.both_sides { 2 } else { 1 } {
            while pages < self.pages_max && rng.chance(runs.changed) {
                pages += 1;
            }
        }
        pages
    }
}

impl PageClassInput {
    /// Returns the number of visits to one page per transaction.
    fn page_visits(&self) -> f64 {
        self.visits / self.pages
    }

    /// Returns the share of visits that do not find their page in the buffer.
    fn missed(&self, stay: f64) -> f64 {
        libm::exp(-self.page_visits() * stay)
    }

    /// Returns the writes caused by dropping changed pages; each write has up to `pages_max` pages.
    ///
    /// Writes of neighbours clean a changed page at a rate g. After a visit, the page is changed with probability `p =
    /// c / (1 - (1 - c) s)`. Here c is the share of visits that change the page, and `s = l / (l + g) (1 - exp(-(l + g)
    /// T))` is the probability that the page is visited again before it is dropped or cleaned. After a visit, the page
    /// is dropped while changed with probability `exp(-l T) p exp(-g T)`; at any time it is changed with probability `p
    /// s`. If a page is dropped while changed, its neighbour has not been cleaned in the time T, because the page would
    /// have been cleaned with it. Therefore the neighbour is changed if a visit within T changed it, or if it was
    /// changed before and has stayed changed. The rate g is the rate at which the number of cleaned pages equals the
    /// number of pages in all writes.
    fn dropped(&self, stay: f64, pages_max: u32) -> PageClassWrites {
        if self.changed == 0.0 {
            return PageClassWrites::default();
        }
        let visits = self.page_visits();
        let missed = self.missed(stay);
        let at = |cleaning: f64| {
            let rate = visits + cleaning;
            let again = visits / rate * -libm::expm1(-rate * stay);
            let after_visit = self.changed / (1.0 - (1.0 - self.changed) * again);
            let changed = after_visit * again;
            let unchanged_in_stay = libm::exp(-visits * self.changed * stay);
            let held_before = if missed < 1.0 { changed / (1.0 - missed) } else { 0.0 };
            let beside = (1.0 - unchanged_in_stay) + (unchanged_in_stay - missed) * held_before;
            let writes = if missed > 0.0 {
                visits * missed * after_visit * libm::exp(-cleaning * stay)
            } else {
                0.0
            };
            (writes, changed, beside)
        };
        let mut cleaning = 0.0;
        if pages_max > 1 && missed > 0.0 && self.changed > 0.0 {
            // Above that rate, no page stays changed from one visit to the next.
            let mut low = 0.0;
            let mut high = visits * 1000.0;
            for _ in 0..60 {
                cleaning = f64::midpoint(low, high);
                let (writes, changed, beside) = at(cleaning);
                let with_it = run_both_sides(beside, pages_max) - 1.0;
                if writes * with_it > cleaning * changed { low = cleaning } else { high = cleaning }
            }
        }
        let (writes, _, beside) = at(cleaning);
        let writes = writes * self.pages;
        PageClassWrites {
            pages: writes * run_both_sides(beside, pages_max),
            runs: PageRuns { writes, changed: beside, both_sides: true },
        }
    }

    /// Returns the writes of a checkpoint every `between` transactions, which writes changed pages in order.
    ///
    /// If pages are changed with probability d, `d (1 - d)` of them begin a run. The number of writes for a run of R
    /// pages is R divided by the longest write, rounded up. The mean is `1 / (1 - d^K)` for a longest write of K pages.
    fn checkpointed(&self, stay: f64, between: f64, pages_max: u32) -> PageClassWrites {
        if between <= 0.0 {
            return PageClassWrites::default();
        }
        let changes = self.page_visits() * self.changed * between;
        let changed = (1.0 - self.missed(stay)) * -libm::expm1(-changes);
        let pages = self.pages * changed / between;
        let share = match pages_max {
            1 => 1.0,
            _ if changed < 1.0 => {
                (1.0 - changed) / (1.0 - libm::pow(changed, f64::from(pages_max)))
            }
            _ => 1.0 / f64::from(pages_max),
        };
        PageClassWrites {
            pages,
            runs: PageRuns { writes: pages * share, changed, both_sides: false },
        }
    }
}

/// Returns the mean number of pages in a run that extends from one page in both directions, up to `pages_max`. Each
/// next page belongs to the run with probability `next`.
fn run_both_sides(next: f64, pages_max: u32) -> f64 {
    let mut pages = 1.0;
    let mut reached = 1.0;
    for further in 1..pages_max {
        reached *= next;
        // The probability that both sides together extend to this length.
        let more = reached * (1.0 + f64::from(further) * (1.0 - next));
        if more < 1e-12 {
            break;
        }
        pages += more;
    }
    pages
}

/// Returns the time, in transactions, for which a page stays in the buffer without a visit; infinite if all pages fit.
fn mean_residence(kinds: &[PageClassInput], room: f64) -> f64 {
    let pages_held = |stay: f64| -> f64 {
        kinds.iter().map(|kind| -kind.pages * libm::expm1(-kind.page_visits() * stay)).sum()
    };
    let all: f64 = kinds.iter().map(|kind| kind.pages).sum();
    if all <= room {
        return f64::INFINITY;
    }
    let mut low = 0.0;
    let mut high = 1.0;
    while pages_held(high) < room {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if pages_held(middle) < room { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::PageClass;
    use super::super::transactions::tests::transactions;
    use super::*;
    use crate::rng::StreamKey;
    use crate::units::{Duration, Ratio};

    /// A page, as its kind and its number.
    type Page = (usize, u64);

    /// An LRU buffer, page by page.
    #[derive(Default)]
    struct Buffer {
        /// The last visit of each buffered page.
        last: BTreeMap<Page, u64>,
        /// The buffered pages in the order of their last visits, and whether each is changed.
        held: BTreeMap<u64, (Page, bool)>,
    }

    impl Buffer {
        /// Cleans a page; returns whether it was changed.
        fn clean(&mut self, page: Page) -> bool {
            let held = self.last.get(&page).and_then(|visit| self.held.get_mut(visit));
            held.is_some_and(|(_, changed)| std::mem::take(changed))
        }

        /// Drops the page with the oldest last visit; returns the number of pages that are written with it.
        fn drop_oldest(&mut self, pages_max: u64) -> u64 {
            let (_, (page, changed)) = self.held.pop_first().unwrap();
            self.last.remove(&page);
            if !changed {
                return 0;
            }
            let (kind, number) = page;
            let mut written = 1;
            let mut next = number + 1;
            while written < pages_max && self.clean((kind, next)) {
                (written, next) = (written + 1, next + 1);
            }
            let mut next = number;
            while written < pages_max && next > 0 && self.clean((kind, next - 1)) {
                (written, next) = (written + 1, next - 1);
            }
            written
        }
    }

    /// Returns the reads, writes and written pages per transaction with these visits to each kind, counted page by
    /// page.
    fn count(kinds: &[(u64, u32, f64)], room: usize, pages_max: u64) -> (f64, f64, f64) {
        let mut rng = Rng::new(StreamKey::from_seed(3));
        let mut buffer = Buffer::default();
        let mut visits = 0u64;
        let mut reads = 0u64;
        let mut writes = 0u64;
        let mut pages = 0u64;
        let mut counted = 0u64;
        for transaction in 0..60_000 {
            let counts = u64::from(transaction > 20_000);
            counted += counts;
            for (kind, &(size, times, share)) in kinds.iter().enumerate() {
                for _ in 0..times {
                    visits += 1;
                    let page = (kind, rng.below(size));
                    let mut changed = rng.chance(share);
                    match buffer.last.insert(page, visits) {
                        Some(before) => changed |= buffer.held.remove(&before).unwrap().1,
                        None => {
                            reads += counts;
                            if buffer.held.len() == room {
                                let written = buffer.drop_oldest(pages_max);
                                pages += counts * written;
                                writes += counts * u64::from(written > 0);
                            }
                        }
                    }
                    buffer.held.insert(visits, (page, changed));
                }
            }
        }
        let each = |number: u64| number as f64 / counted as f64;
        (each(reads), each(writes), each(pages))
    }

    fn near(counted: f64, law: f64, within: f64) {
        assert!((law / counted - 1.0).abs() < within, "{law} by the formula, {counted} counted");
    }

    #[test]
    fn the_buffer_misses_and_drops_as_the_law_says() {
        let own = TransactionLoad { checkpoint: Duration::ZERO, ..transactions() };
        let law = own.buffer_use(Bytes::kibi(8), 1000.0);
        let (reads, writes, _) = count(&[(8 * 128, 3, 0.5), (48 * 128, 1, 1.0)], 16 * 128, 1);
        near(reads, law.reads, 0.02);
        near(writes, law.writes, 0.02);
        near(1.0 - reads / 4.0, law.hit_ratio.unwrap(), 0.01);
    }

    /// The model treats neighbours as independent. This is an approximation, because a write leaves a run of unchanged
    /// pages.
    #[test]
    fn neighbours_go_with_a_dropped_page_as_the_law_says() {
        for (buffer, shares) in
            [(16, (0.5, 1.0)), (32, (0.5, 1.0)), (48, (1.0, 1.0)), (24, (0.2, 0.1))]
        {
            for pages_max in [2, 8, 128] {
                let mut own = TransactionLoad { checkpoint: Duration::ZERO, ..transactions() };
                own.buffer = Bytes::mebi(buffer);
                own.gather = Bytes::kibi(8 * pages_max);
                own.pages[0].changed = Ratio::new(shares.0).unwrap();
                own.pages[1].changed = Ratio::new(shares.1).unwrap();
                let law = own.buffer_use(Bytes::kibi(8), 1000.0);
                let kinds = [(8 * 128, 3, shares.0), (48 * 128, 1, shares.1)];
                let (_, writes, pages) = count(&kinds, buffer as usize * 128, pages_max);
                near(writes, law.writes, 0.15);
                let mut rng = Rng::new(StreamKey::from_seed(5));
                let drawn: u32 = (0..20_000).map(|_| law.draw_pages(&mut rng)).sum();
                near(pages / writes, f64::from(drawn) / 20_000.0, 0.25);
            }
        }
    }

    /// Frequently visited pages that never change are neither dropped nor written, even if the probabilities are tiny.
    #[test]
    fn unchanged_pages_are_not_written() {
        let mut own = transactions();
        own.pages[0] =
            PageClass { size: Bytes::kibi(8), changed: Ratio::ZERO, ..own.pages[0].clone() };
        let with = own.buffer_use(Bytes::kibi(8), 1000.0);
        own.pages.remove(0);
        let without = own.buffer_use(Bytes::kibi(8), 1000.0);
        assert!(with.writes > 0.0 && with.writes.is_finite(), "{with:?}");
        near(without.writes, with.writes, 0.001);
    }

    #[test]
    fn data_that_fits_is_not_read_and_is_written_at_checkpoints() {
        let own = TransactionLoad { buffer: Bytes::mebi(64), ..transactions() };
        let law = own.buffer_use(Bytes::kibi(8), 10_000.0);
        assert_eq!((law.reads, law.hit_ratio), (0.0, Some(1.0)));
        // In a minute, every page is changed, so 600,000 transactions cause 7168 writes.
        near(7168.0, law.writes * 600_000.0, 1e-4);
        // If all pages are changed, the number of writes is their number divided by the maximum pages per write.
        let gathered = TransactionLoad { gather: Bytes::kibi(256), ..own.clone() };
        let law = gathered.buffer_use(Bytes::kibi(8), 10_000.0);
        near(7168.0 / 32.0, law.writes * 600_000.0, 1e-3);
        let mut rng = Rng::new(StreamKey::from_seed(5));
        assert_eq!(law.draw_pages(&mut rng), 32);
        let never = TransactionLoad { checkpoint: Duration::ZERO, ..own };
        assert_eq!(never.buffer_use(Bytes::kibi(8), 10_000.0).writes, 0.0);
    }

    /// A checkpoint writes each run of adjacent changed pages with as few writes as the maximum length allows.
    #[test]
    fn a_checkpoint_writes_runs_of_changed_pages() {
        let mut own = TransactionLoad { buffer: Bytes::mebi(64), ..transactions() };
        own.pages.truncate(1);
        own.gather = Bytes::kibi(64);
        own.checkpoint = Duration::from_microseconds(1_000_000);
        // Each of 700 transactions changes a mean of 1.5 of the 1,024 pages, so 64% of the pages are changed at the
        // checkpoint.
        let law = own.buffer_use(Bytes::kibi(8), 700.0);
        let mut rng = Rng::new(StreamKey::from_seed(3));
        let mut writes = 0;
        let mut pages = 0;
        for _checkpoint in 0..300 {
            let mut changed = [false; 1024];
            for _ in 0..1050 {
                changed[rng.below(1024) as usize] = true;
            }
            for run in changed.split(|changed| !changed).filter(|run| !run.is_empty()) {
                writes += run.len().div_ceil(8);
                pages += run.len();
            }
        }
        near(f64::from(writes as u32) / 300.0, law.writes * 700.0, 0.01);
        let drawn: u32 = (0..20_000).map(|_| law.draw_pages(&mut rng)).sum();
        near(pages as f64 / writes as f64, f64::from(drawn) / 20_000.0, 0.02);
    }
}

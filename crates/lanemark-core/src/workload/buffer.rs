//! The requests that a database's page buffer leaves to the drives.

use super::transactions::{Counted, Transactions};
use crate::rng::Rng;
use crate::units::Bytes;

/// The reads and writes that the buffer leaves to the drives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BufferUse {
    /// The share of visits that find their page, where it follows from them.
    pub hit_ratio: Option<f64>,
    /// Reads of a transaction.
    pub reads: f64,
    /// Writes of changed pages, for each transaction; one of them may hold several pages that lie beside each other.
    pub writes: f64,
    /// Page writes of a transaction that its user waits for.
    pub awaited: f64,
    /// How many neighbours go with a page, by kind of pages; none where pages are written one at a time.
    runs: Vec<Runs>,
    /// Pages of the longest write.
    pages_max: u32,
}

/// Writes of one kind of pages and their lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Runs {
    /// Writes of a transaction.
    writes: f64,
    /// The chance that the next neighbour is changed too.
    changed: f64,
    /// Whether neighbours are looked for on both sides, as when a page is dropped, or on one, as when a checkpoint goes over all
    /// pages in order.
    both_sides: bool,
}

/// A kind of pages as the law sees it.
#[derive(Clone, Copy, Debug)]
struct Kind {
    pages: f64,
    /// Visits of a transaction.
    visits: f64,
    /// The share of them that change the page.
    changed: f64,
}

/// Writes of a kind of pages.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    /// Pages written for a transaction.
    pages: f64,
    runs: Runs,
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
    ///
    /// Where neighbours are gathered, changed pages beside the one that is dropped go with it, on both sides up to the
    /// first that is not changed; they stay in the buffer unchanged, and many of them are changed and written again. A checkpoint
    /// writes the changed pages in order, each run of them at once.
    pub fn buffer_use(&self, page: Bytes, rate: f64) -> BufferUse {
        self.buffer_law(page).at(rate)
    }

    /// The law of [`Transactions::buffer_use`] for any rate.
    pub(crate) fn buffer_law(&self, page: Bytes) -> BufferLaw<'_> {
        let room = self.buffer.get() as f64 / page.get() as f64;
        let kinds: Vec<Kind> = self
            .pages
            .iter()
            .filter(|class| class.visits > 0.0 && self.counted.is_none())
            .map(|class| {
                let used = class.size.get() as f64 * self.in_use.get();
                let pages = (used / page.get() as f64).max(1.0);
                Kind { pages, visits: class.visits, changed: class.changed.get() }
            })
            .collect();
        let stay = stay(&kinds, room);
        let pages_max = (self.gather.get() / page.get()).max(1) as u32;
        let with_dropped = |kind: Kind| (kind, kind.dropped(stay, pages_max));
        let kinds = kinds.into_iter().map(with_dropped).collect();
        BufferLaw { load: self, kinds, stay, pages_max }
    }
}

/// What a buffer leaves to the drives at any rate of transactions.
#[derive(Clone, Debug)]
pub(crate) struct BufferLaw<'t> {
    load: &'t Transactions,
    /// The kinds of pages, and what is written of each when pages are dropped.
    kinds: Vec<(Kind, Written)>,
    stay: f64,
    pages_max: u32,
}

impl BufferLaw<'_> {
    /// Computes the reads and writes at `rate` transactions a second.
    pub(crate) fn at(&self, rate: f64) -> BufferUse {
        let &Self { load, ref kinds, stay, pages_max } = self;
        if let Some(Counted { reads, writes, awaited }) = load.counted {
            return BufferUse { reads, writes, awaited, ..BufferUse::default() };
        }
        let visits: f64 = kinds.iter().map(|(kind, _)| kind.visits).sum();
        let between_checkpoints = rate * load.checkpoint.as_seconds();
        let mut total = BufferUse { pages_max, ..BufferUse::default() };
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

impl BufferUse {
    /// Draws the number of pages of one write: a page and its changed neighbours.
    pub(crate) fn draw_pages(&self, rng: &mut Rng) -> u32 {
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

impl Kind {
    /// Visits of a transaction to one page.
    fn page_visits(&self) -> f64 {
        self.visits / self.pages
    }

    /// The share of visits that do not find their page.
    fn missed(&self, stay: f64) -> f64 {
        libm::exp(-self.page_visits() * stay)
    }

    /// Writes that come from dropping changed pages, of `pages_max` pages at most.
    ///
    /// Neighbours' writes clean a changed page at a rate g. It is changed after a visit with the chance
    /// `p = c / (1 - (1 - c) s)`, where c is the share of visits that change it and
    /// `s = l / (l + g) (1 - exp(-(l + g) T))` the chance that it is visited again before it is dropped or cleaned; it is changed
    /// when dropped in `exp(-l T) p exp(-g T)` of its visits, and at any time with `p s`. A neighbour of a page that is
    /// dropped changed has not been cleaned in the time T, since the page would have been cleaned with it. So it is
    /// changed where a visit within T changed it, or where it was before and has stayed. The rate g is the one at which
    /// as many pages are cleaned as all writes hold.
    fn dropped(&self, stay: f64, pages_max: u32) -> Written {
        if self.changed == 0.0 {
            return Written::default();
        }
        let (visits, missed) = (self.page_visits(), self.missed(stay));
        let at = |cleaning: f64| {
            let rate = visits + cleaning;
            let again = visits / rate * -libm::expm1(-rate * stay);
            let after_visit = self.changed / (1.0 - (1.0 - self.changed) * again);
            let changed = after_visit * again;
            let unchanged_in_stay = libm::exp(-visits * self.changed * stay);
            let held_before = if missed < 1.0 { changed / (1.0 - missed) } else { 0.0 };
            let beside = (1.0 - unchanged_in_stay) + (unchanged_in_stay - missed) * held_before;
            let writes = match missed > 0.0 {
                true => visits * missed * after_visit * libm::exp(-cleaning * stay),
                false => 0.0,
            };
            (writes, changed, beside)
        };
        let mut cleaning = 0.0;
        if pages_max > 1 && missed > 0.0 && self.changed > 0.0 {
            // Beyond that no page stays changed from one visit to the next.
            let (mut low, mut high) = (0.0, visits * 1000.0);
            for _ in 0..60 {
                cleaning = f64::midpoint(low, high);
                let (writes, changed, beside) = at(cleaning);
                let with_it = run_both_sides(beside, pages_max) - 1.0;
                if writes * with_it > cleaning * changed { low = cleaning } else { high = cleaning }
            }
        }
        let (writes, _, beside) = at(cleaning);
        let writes = writes * self.pages;
        Written {
            pages: writes * run_both_sides(beside, pages_max),
            runs: Runs { writes, changed: beside, both_sides: true },
        }
    }

    /// Writes of a checkpoint each `between` transactions, which writes changed pages in order.
    ///
    /// Of pages that are changed with the chance d, `d (1 - d)` begin a run of them. A run of R pages makes R over the longest write's,
    /// rounded up: `1 / (1 - d^K)` in the mean for a longest of K.
    fn checkpointed(&self, stay: f64, between: f64, pages_max: u32) -> Written {
        if between <= 0.0 {
            return Written::default();
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
        Written { pages, runs: Runs { writes: pages * share, changed, both_sides: false } }
    }
}

/// The mean number of pages of a run that goes from one page to both sides, each next page with the chance `next`, up to
/// `pages_max`.
fn run_both_sides(next: f64, pages_max: u32) -> f64 {
    let (mut pages, mut reached) = (1.0, 1.0);
    for further in 1..pages_max {
        reached *= next;
        // The chance that both sides together go so far.
        let more = reached * (1.0 + f64::from(further) * (1.0 - next));
        if more < 1e-12 {
            break;
        }
        pages += more;
    }
    pages
}

/// The time, in transactions, for which a page stays without a visit; without end where all fit.
fn stay(kinds: &[Kind], room: f64) -> f64 {
    let held = |stay: f64| -> f64 {
        kinds.iter().map(|kind| -kind.pages * libm::expm1(-kind.page_visits() * stay)).sum()
    };
    let all: f64 = kinds.iter().map(|kind| kind.pages).sum();
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
mod tests {
    use std::collections::BTreeMap;

    use super::super::PageClass;
    use super::super::transactions::tests::transactions;
    use super::*;
    use crate::rng::StreamKey;
    use crate::units::{Duration, Ratio};

    /// A page of a kind.
    type Page = (usize, u64);

    /// A least recently used buffer, page by page.
    #[derive(Default)]
    struct Buffer {
        /// The last visit of each page that is held.
        last: BTreeMap<Page, u64>,
        /// The pages that are held, in the order of their last visits, and whether each is changed.
        held: BTreeMap<u64, (Page, bool)>,
    }

    impl Buffer {
        /// Cleans a page; whether it was changed.
        fn clean(&mut self, page: Page) -> bool {
            let held = self.last.get(&page).and_then(|visit| self.held.get_mut(visit));
            held.is_some_and(|(_, changed)| std::mem::take(changed))
        }

        /// Drops the page whose last visit is longest ago; the pages that are written with it.
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

    /// Reads, writes and pages written of a transaction that visits each kind's pages so often, counted page by page.
    fn count(kinds: &[(u64, u32, f64)], room: usize, pages_max: u64) -> (f64, f64, f64) {
        let mut rng = Rng::new(StreamKey::from_seed(3));
        let mut buffer = Buffer::default();
        let (mut visits, mut reads, mut writes, mut pages, mut counted) =
            (0u64, 0u64, 0u64, 0u64, 0u64);
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

    fn near(seen: f64, law: f64, within: f64) {
        assert!((law / seen - 1.0).abs() < within, "{law} by the law, {seen} counted");
    }

    #[test]
    fn the_buffer_misses_and_drops_as_the_law_says() {
        let own = Transactions { checkpoint: Duration::ZERO, ..transactions() };
        let law = own.buffer_use(Bytes::kibi(8), 1000.0);
        let (reads, writes, _) = count(&[(8 * 128, 3, 0.5), (48 * 128, 1, 1.0)], 16 * 128, 1);
        near(reads, law.reads, 0.02);
        near(writes, law.writes, 0.02);
        near(1.0 - reads / 4.0, law.hit_ratio.unwrap(), 0.01);
    }

    /// The law takes neighbours as independent of each other, which they are not quite: a write leaves a run of unchanged pages.
    #[test]
    fn neighbours_go_with_a_dropped_page_as_the_law_says() {
        for (buffer, shares) in
            [(16, (0.5, 1.0)), (32, (0.5, 1.0)), (48, (1.0, 1.0)), (24, (0.2, 0.1))]
        {
            for pages_max in [2, 8, 128] {
                let mut own = Transactions { checkpoint: Duration::ZERO, ..transactions() };
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

    /// Hot pages that nobody changes are never dropped and never written, however small the chance of either gets.
    #[test]
    fn pages_that_nobody_changes_are_not_written() {
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
    fn what_fits_is_not_read_and_is_written_at_checkpoints() {
        let own = Transactions { buffer: Bytes::mebi(64), ..transactions() };
        let law = own.buffer_use(Bytes::kibi(8), 10_000.0);
        assert_eq!((law.reads, law.hit_ratio), (0.0, Some(1.0)));
        // In a minute every page is changed: 7168 writes for 600,000 transactions.
        near(7168.0, law.writes * 600_000.0, 1e-4);
        // All of them changed are as many writes as the longest write makes of them.
        let gathered = Transactions { gather: Bytes::kibi(256), ..own.clone() };
        let law = gathered.buffer_use(Bytes::kibi(8), 10_000.0);
        near(7168.0 / 32.0, law.writes * 600_000.0, 1e-3);
        let mut rng = Rng::new(StreamKey::from_seed(5));
        assert_eq!(law.draw_pages(&mut rng), 32);
        let never = Transactions { checkpoint: Duration::ZERO, ..own };
        assert_eq!(never.buffer_use(Bytes::kibi(8), 10_000.0).writes, 0.0);
    }

    /// A checkpoint that finds few pages changed writes runs of them, each of its length at once.
    #[test]
    fn a_checkpoint_writes_runs_of_changed_pages() {
        let mut own = Transactions { buffer: Bytes::mebi(64), ..transactions() };
        own.pages.truncate(1);
        own.gather = Bytes::kibi(64);
        own.checkpoint = Duration::from_microseconds(1_000_000);
        // 1.5 changes of 1,024 pages a transaction, 700 of them: 64% are changed when the checkpoint comes.
        let law = own.buffer_use(Bytes::kibi(8), 700.0);
        let mut rng = Rng::new(StreamKey::from_seed(3));
        let (mut writes, mut pages) = (0, 0);
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

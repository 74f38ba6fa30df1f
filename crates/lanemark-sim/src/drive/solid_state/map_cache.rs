//! A map that is only partly in memory (DFTL: Gupta, Kim and Urgaonkar, ASPLOS 2009).
//!
//! The map contains 4 bytes per 4 KiB of the drive, in pages of 4 KiB; each page covers 4 MiB. The second-chance rule
//! (CLOCK) selects the page in memory that is replaced. A page that is not in the drive's memory is read from the host
//! memory buffer (NVMe 1.2, section 8.9) if that contains it, and otherwise from flash. A changed page is stored when
//! it is evicted. The die of a page in flash is `page mod dies`; garbage collection of the map's own blocks is not
//! modelled.

use crate::engine::table::HashTable;
use crate::spec::{MapSpec, SLOT};
use lanemark_schema::result::Reserve;

/// Number of slots that a page of the map covers.
const SLOTS_PER_PAGE: u64 = 1024;

/// The memory in which a page of the map was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapLocation {
    /// In the drive's memory.
    AtHand,
    /// In the host's memory.
    InHost,
    InFlash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapLookup {
    /// The memory that contained the page.
    pub found: MapLocation,
    /// An evicted changed page that must be stored.
    pub stores: Option<u32>,
}

/// The pages of the map in memory.
#[derive(Clone, Debug)]
pub(crate) struct MapCache {
    drive: SecondChanceCache,
    host: Option<SecondChanceCache>,
}

/// Pages in one memory, with the second-chance rule.
#[derive(Clone, Debug)]
struct SecondChanceCache {
    capacity: usize,
    pages: Vec<CachedPage>,
    index: HashTable<u32>,
    hand: usize,
}

#[derive(Clone, Copy, Debug)]
struct CachedPage {
    number: u32,
    used: bool,
    changed: bool,
}

impl MapCache {
    /// Creates a cache without pages.
    pub(crate) fn new(spec: MapSpec) -> Self {
        let pages = |bytes: lanemark_schema::units::Bytes| (bytes.get() / SLOT.get()) as usize;
        let host = pages(spec.in_host);
        Self {
            drive: SecondChanceCache::new(pages(spec.cached).max(1)),
            host: (host > 0).then(|| SecondChanceCache::new(host)),
        }
    }

    /// Returns the pages of the map for the slots from `first` up to `end`.
    pub(crate) fn pages(first: u64, end: u64) -> std::ops::Range<u32> {
        (first / SLOTS_PER_PAGE) as u32..end.div_ceil(SLOTS_PER_PAGE) as u32
    }

    /// Appends the numbers of pages that still fit into the drive's memory and into the host's memory.
    pub(crate) fn reserves(&self, left: &mut Vec<(Reserve, u64)>) {
        let room = |clock: &SecondChanceCache| (clock.capacity - clock.pages.len()) as u64;
        left.push((Reserve::DriveMap, room(&self.drive)));
        left.extend(self.host.as_ref().map(|host| (Reserve::HostMap, room(host))));
    }

    /// Looks up `page`, and marks the page as changed if `changes` is true. Afterwards the page is in memory.
    pub(crate) fn look(&mut self, page: u32, changes: bool) -> MapLookup {
        if self.drive.touch(page, changes) {
            return MapLookup { found: MapLocation::AtHand, stores: None };
        }
        let evicted = self.drive.insert(CachedPage { number: page, used: true, changed: changes });
        let Some(host) = &mut self.host else {
            let stores = evicted.filter(|page| page.changed).map(|page| page.number);
            return MapLookup { found: MapLocation::InFlash, stores };
        };
        let found =
            if host.touch(page, false) { MapLocation::InHost } else { MapLocation::InFlash };
        // A page that is evicted from the drive moves to the host, and a page that is evicted from the host moves to
        // flash.
        let evicted = evicted.and_then(|page| {
            if host.touch(page.number, page.changed) { None } else { host.insert(page) }
        });
        MapLookup { found, stores: evicted.filter(|page| page.changed).map(|page| page.number) }
    }
}

impl SecondChanceCache {
    fn new(capacity: usize) -> Self {
        Self { capacity, pages: Vec::new(), index: HashTable::new(), hand: 0 }
    }

    fn touch(&mut self, number: u32, changes: bool) -> bool {
        let Some(&place) = self.index.get(number) else { return false };
        let page = &mut self.pages[place as usize];
        page.used = true;
        page.changed |= changes;
        true
    }

    fn insert(&mut self, page: CachedPage) -> Option<CachedPage> {
        if self.pages.len() < self.capacity {
            self.index.insert(page.number, self.pages.len() as u32);
            self.pages.push(page);
            return None;
        }
        while std::mem::take(&mut self.pages[self.hand].used) {
            self.hand = (self.hand + 1) % self.capacity;
        }
        let evicted = std::mem::replace(&mut self.pages[self.hand], page);
        self.index.remove(evicted.number);
        self.index.insert(page.number, self.hand as u32);
        self.hand = (self.hand + 1) % self.capacity;
        Some(evicted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::units::Bytes;

    fn cache(cached: u64, in_host: u64) -> MapCache {
        MapCache::new(MapSpec {
            cached: Bytes::kibi(4 * cached),
            in_host: Bytes::kibi(4 * in_host),
        })
    }

    #[test]
    fn a_page_of_the_map_covers_4_mib() {
        for (first, end, pages) in [
            (0, 1, 0..1),
            (1023, 1024, 0..1),
            (1023, 1025, 0..2),
            (1024, 1025, 1..2),
            (0, 2048, 0..2),
            (0, 2049, 0..3),
        ] {
            assert_eq!(MapCache::pages(first, end), pages, "{first}..{end}");
        }
    }

    /// The second-chance rule as a queue: a used page at the front loses its mark and moves to the end.
    #[derive(Default)]
    struct Queue(Vec<CachedPage>);

    impl Queue {
        fn touch(&mut self, number: u32, changes: bool) -> bool {
            let page = self.0.iter_mut().find(|page| page.number == number);
            let Some(page) = page else { return false };
            (page.used, page.changed) = (true, page.changed | changes);
            true
        }

        fn insert(&mut self, capacity: u64, page: CachedPage) -> Option<CachedPage> {
            let mut leaves = None;
            if self.0.len() as u64 == capacity {
                while self.0[0].used {
                    let used = self.0.remove(0);
                    self.0.push(CachedPage { used: false, ..used });
                }
                leaves = Some(self.0.remove(0));
            }
            self.0.push(page);
            leaves
        }
    }

    proptest::proptest! {
        #[test]
        fn pages_leave_by_second_chance_and_changed_ones_are_stored(
            cached in 1u64..6, in_host in 0u64..6,
            looks in proptest::collection::vec((0u32..14, proptest::bool::ANY), 1..200),
        ) {
            let mut cache = cache(cached, in_host);
            let mut drive = Queue::default();
            let mut host = Queue::default();
            for (number, changes) in looks {
                let seen = cache.look(number, changes);
                if drive.touch(number, changes) {
                    proptest::prop_assert_eq!(seen, MapLookup { found: MapLocation::AtHand, stores: None });
                    continue;
                }
                let page = CachedPage { number, used: true, changed: changes };
                let mut leaves = drive.insert(cached, page);
                let mut found = MapLocation::InFlash;
                if in_host > 0 {
                    if host.touch(number, false) {
                        found = MapLocation::InHost;
                    }
                    leaves = leaves.and_then(|page| if host.touch(page.number, page.changed) { None } else { host.insert(in_host, page) });
                }
                let stores = leaves.filter(|page| page.changed).map(|page| page.number);
                proptest::prop_assert_eq!(seen, MapLookup { found, stores });
            }
        }
    }
}

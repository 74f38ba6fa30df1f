//! Requests that only the page cache accepts, converted to the requests that the page cache sends to the device.
//!
//! A device transfers whole sectors. Therefore a request of 2,300 B goes through the page cache, and the kernel
//! transfers every page that the request touches (Linux, `Documentation/admin-guide/sysctl/vm.rst`, on write-back by
//! pages). A request of `l` bytes that begins `r` bytes after the start of a page touches `ceil((r + l) / 4096)` pages.
//! The offsets of a test are multiples of its alignment `a`, so `r` takes each multiple of `gcd(a, 4096)` equally
//! often. This determines the share of requests that touch one page, two pages and so on.
//!
//! The test in pages has as many requests as the original test. Not modelled: a page that is partly written and must
//! first be read because it is not in the cache; a page that the next sequential request writes again (here it writes
//! the next page); several requests that are written back together.

use super::bound::SIZES;
use super::{SECTOR, SizeShare, Test, Workload};
use crate::units::Bytes;

/// The page of the page cache.
pub const PAGE: Bytes = Bytes::kibi(4);

impl Test {
    /// Returns whether the length or the offset of any request is not a multiple of 512 B, so that the request must go
    /// through the page cache.
    pub fn needs_page_cache(&self) -> bool {
        let sizes = self.mix().sizes.iter().map(|size| size.block);
        let mut all = sizes.chain([self.block, self.alignment(), self.offset]);
        self.requests().is_some() && all.any(|bytes| !bytes.get().is_multiple_of(SECTOR.get()))
    }

    /// Returns the test with the requests that the page cache sends; unchanged if the test does not need the page
    /// cache.
    #[must_use]
    pub fn in_pages(&self) -> Self {
        let Some(requests) = self.requests().filter(|_| self.needs_page_cache()) else {
            return self.clone();
        };
        let single = [SizeShare { block: self.block, share: 1.0 }];
        let requested =
            if requests.mix.sizes.is_empty() { &single[..] } else { &requests.mix.sizes };
        let step = gcd(requests.alignment.get(), PAGE.get());
        let first = self.offset.get() % step;
        let sizes = touched_pages(requested, step, first);
        let block = sizes.iter().map(|size| size.block).max().unwrap_or(PAGE);
        let in_order = requests.is_in_order();
        let mut paged = Self { block, ..self.clone() }.with(|settings| {
            let one_size = sizes.len() == 1;
            settings.alignment = if in_order && one_size { block } else { PAGE };
            settings.mix.written_back = settings.mix.flush_every.is_some();
            settings.mix.sizes = if one_size { Vec::new() } else { sizes };
        });
        paged.offset = Bytes(self.offset.get() / PAGE.get() * PAGE.get());
        let least = block.get() * if in_order { u64::from(self.threads) } else { 1 };
        let end = self.span_end().get().next_multiple_of(PAGE.get());
        paged.span = Bytes((end - paged.offset.get()).max(least));
        let longer = paged.block_mean() / self.block_mean();
        paged.volume =
            self.volume.map(|volume| Bytes((volume.get() as f64 * longer).round() as u64));
        paged
    }
}

impl Workload {
    /// Replaces the requests of each test that needs the page cache with requests for whole pages. Returns whether
    /// there was such a test.
    pub fn take_pages(&mut self) -> bool {
        let mut any = false;
        for test in self.tests.iter_mut().filter(|test| test.needs_page_cache()) {
            *test = test.in_pages();
            any = true;
        }
        any
    }
}

/// Returns the numbers of pages that requests of `sizes` touch, as sizes with their shares. Requests begin `first`
/// bytes after a multiple of `step`.
fn touched_pages(sizes: &[SizeShare], step: u64, first: u64) -> Vec<SizeShare> {
    let mut found: Vec<SizeShare> = Vec::new();
    let positions = PAGE.get() / step;
    for size in sizes {
        let whole_pages = |index: u64| {
            let end = (first + index * step) % PAGE.get() + size.block.get();
            Bytes(end.next_multiple_of(PAGE.get()))
        };
        for index in 0..positions {
            let block = whole_pages(index);
            let share = size.share / positions as f64;
            match found.iter_mut().find(|known| known.block == block) {
                Some(known) => known.share += share,
                None => found.push(SizeShare { block, share }),
            }
        }
    }
    found.sort_by_key(|size| size.block);
    // Each size touches one of two numbers of pages. If there is no space for all numbers, the smaller number is
    // counted as the larger one.
    while found.len() > SIZES.max {
        let SizeShare { share, .. } = found.remove(0);
        found[0].share += share;
    }
    found
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::random_read;
    use crate::workload::{Pattern, RequestMix};

    /// Returns sequential requests of `block` bytes over 22 MiB.
    fn in_order(block: u64) -> Test {
        Test {
            block: Bytes(block),
            span: Bytes::mebi(22),
            volume: Some(Bytes(block * 1000)),
            ..random_read()
        }
        .with(|requests| {
            requests.pattern = Pattern::Sequential;
            requests.alignment = Bytes(block);
        })
    }

    #[test]
    fn requests_touch_the_pages_that_an_enumeration_says() {
        for block in [1, 2300, 4097, 6000] {
            let paged = in_order(block).in_pages();
            assert_eq!(paged.check(), Ok(()), "{block}");
            assert!(!paged.needs_page_cache());
            // 4,096 successive requests begin at every possible offset in a page.
            let pages = |at: u64| (at * block + block).div_ceil(4096) - at * block / 4096;
            let mean = (0..4096).map(|at| pages(at) as f64 * 4096.0).sum::<f64>() / 4096.0;
            assert!(
                (paged.block_mean() - mean).abs() < 1e-6,
                "{block}: {} {mean}",
                paged.block_mean()
            );
            let requests = paged.volume.unwrap().get() as f64 / paged.block_mean();
            assert!((requests - 1000.0).abs() < 0.01, "{block}: {requests} requests");
        }
    }

    #[test]
    fn random_places_and_several_sizes_are_rounded_out_too() {
        let sizes = [(1000, 0.5), (8192, 0.5)];
        let sizes = sizes.map(|(block, share)| SizeShare { block: Bytes(block), share });
        let test = Test { block: Bytes(8192), ..random_read() }.with(|requests| {
            requests.alignment = Bytes(1000);
            requests.mix = RequestMix { sizes: sizes.to_vec(), ..RequestMix::PLAIN };
        });
        let paged = test.in_pages();
        assert_eq!((paged.check(), paged.alignment()), (Ok(()), PAGE));
        let blocks: Vec<u64> =
            paged.mix().sizes.iter().map(|size| size.block.get() / 4096).collect();
        assert_eq!(blocks, [1, 2, 3]);
    }

    #[test]
    fn a_test_that_needs_no_page_cache_is_unchanged() {
        let test = random_read();
        assert_eq!(test.in_pages(), test);
        let mut odd = in_order(2300);
        assert_eq!(odd.check().unwrap_err().field, "block");
        assert_eq!(odd.check_through_cache(), Ok(()));
        odd.offset = Bytes(100);
        assert_eq!(odd.in_pages().offset, Bytes::ZERO);
    }
}

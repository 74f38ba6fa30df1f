//! The offsets of a test, drawn from its seed. Simulated and real runs share this source.
//!
//! A thread's stream depends only on (seed, test, repeat, thread) and not on events during the test. Therefore a faster
//! target receives the same offsets in the same order.

use super::addresses::{AddressRule, ThreadRegion};
use super::{RequestMix, SyntheticRequests, Test};
use crate::rng::{Rng, StreamKey};
use crate::units::{Bytes, Ratio};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The target transfers data to memory.
    Read,
    /// Memory transfers data to the target.
    Write,
    /// Earlier writes become durable: they survive a power failure. A flush has neither data nor an offset.
    Flush,
    /// The host no longer needs the data in the range (DATA SET MANAGEMENT, Deallocate, discard). A trim does not
    /// transfer data.
    Trim,
}

impl Operation {
    /// Returns whether the operation transfers the host's data.
    #[inline]
    pub fn moves_data(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// A request of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Operation of the request.
    pub operation: Operation,
    /// Start of the request on the target.
    pub offset: Bytes,
    /// Length of the request.
    pub length: Bytes,
}

/// The endless stream of requests of one thread of a test. For a copy, the stream contains only the reads, and the
/// caller writes each block after reading it.
#[derive(Clone, Debug)]
pub struct Accesses {
    rng: Rng,
    rule: AddressRule,
    read_share: f64,
    trim_share: f64,
    block: Bytes,
    /// The sizes of a mix, each with its cumulative share: the share of requests of this size or of an earlier size in
    /// the list.
    sizes: Box<[(f64, Bytes)]>,
    start: u64,
    step: u64,
    /// Number of writes between two flushes, if flushes are requested.
    flush_every: Option<u32>,
    written: u32,
    /// Whether the caller writes the data of each read, as in a copy.
    copies: bool,
}

impl Accesses {
    /// Creates the stream of thread `key.thread` of `test`, which must have passed [`Test::check`]. Returns `None` if
    /// the test does not draw its requests.
    pub fn new(test: &Test, key: StreamKey) -> Option<Self> {
        Some(Self::for_thread(test, test.requests()?, key))
    }

    /// Creates the stream of thread `key.thread` for the `requests` of `test`.
    pub fn for_thread(test: &Test, requests: &SyntheticRequests, key: StreamKey) -> Self {
        let ThreadRegion { start, step, rule } = ThreadRegion::for_thread(test, requests, key);
        Self {
            rng: Rng::new(key),
            rule,
            read_share: requests.read_share.get(),
            trim_share: requests.mix.trim_share.get(),
            block: test.block,
            sizes: cumulative(&requests.mix),
            start,
            step,
            flush_every: requests.mix.flush_every,
            written: 0,
            copies: requests.mix.copy_to.is_some(),
        }
    }

    /// Returns the next request; the stream never ends.
    #[inline]
    pub fn next_access(&mut self) -> Access {
        if self.is_flush_next() {
            self.written = 0;
            return Access {
                operation: Operation::Flush,
                offset: Bytes::ZERO,
                length: Bytes::ZERO,
            };
        }
        let length = self.length();
        let address = self.rule.next(&mut self.rng, length.get());
        let operation = self.operation();
        self.written += u32::from(operation == Operation::Write && self.flush_every.is_some());
        Access { operation, offset: Bytes(self.start + address * self.step), length }
    }

    /// Returns whether the next request is a flush. A flush immediately follows the writes before it, and does not have
    /// a scheduled time in an open loop.
    #[inline]
    pub fn is_flush_next(&self) -> bool {
        self.flush_every.is_some_and(|every| self.written >= every)
    }

    #[inline]
    fn length(&mut self) -> Bytes {
        if self.sizes.is_empty() {
            return self.block;
        }
        let drawn = self.rng.unit();
        let found = self.sizes.iter().find(|(up_to, _)| drawn < *up_to);
        // Rounding may make the last sum smaller than one.
        found.or(self.sizes.last()).map_or(self.block, |(_, size)| *size)
    }

    #[inline]
    fn operation(&mut self) -> Operation {
        if self.copies {
            return Operation::Read;
        }
        if self.trim_share > 0.0 && self.rng.chance(self.trim_share) {
            return Operation::Trim;
        }
        // Tests that only read or only write do not draw a random number for the direction, so reads and writes have
        // equal offsets.
        let reads = self.read_share >= Ratio::ONE.get()
            || (self.read_share > 0.0 && self.rng.chance(self.read_share));
        if reads { Operation::Read } else { Operation::Write }
    }
}

fn cumulative(mix: &RequestMix) -> Box<[(f64, Bytes)]> {
    let sum: f64 = mix.sizes.iter().map(|size| size.share).sum();
    let mut up_to = 0.0;
    let cumulated = |size: &super::SizeShare| {
        up_to += size.share / sum;
        (up_to, size.block)
    };
    mix.sizes.iter().map(cumulated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::random_read;
    use crate::workload::{Pattern, PatternZone, RequestMix, SizeShare};
    use proptest::prelude::*;

    fn key() -> StreamKey {
        StreamKey::from_seed(1)
    }

    #[test]
    fn sequential_threads_share_the_span_and_start_over() {
        let test = Test { threads: 2, span: Bytes::kibi(16), ..random_read() }
            .with(|requests| requests.pattern = Pattern::Sequential);
        let offsets = |thread| {
            let mut stream = Accesses::new(&test, StreamKey { thread, ..key() }).unwrap();
            (0..3).map(|_| stream.next_access().offset.get()).collect::<Vec<_>>()
        };
        assert_eq!(offsets(0), [0, 4096, 0]);
        assert_eq!(offsets(1), [8192, 12_288, 8192]);
    }

    #[test]
    fn a_sequential_step_that_is_rounded_up_to_the_alignment_must_fit_the_span() {
        let test = Test { threads: 2, span: Bytes(8192), ..random_read() }.with(|requests| {
            requests.pattern = Pattern::Sequential;
            requests.alignment = Bytes(3072);
        });
        assert_eq!(test.check().unwrap_err().field, "span");
    }

    #[test]
    fn the_mix_keeps_its_share() {
        let test = random_read().with(|requests| requests.read_share = Ratio::new(0.7).unwrap());
        let mut stream = Accesses::new(&test, key()).unwrap();
        let reads =
            (0..100_000).filter(|_| stream.next_access().operation == Operation::Read).count();
        assert!((69_300..70_700).contains(&reads), "{reads} reads of 100000");
    }

    fn thirds() -> Vec<PatternZone> {
        let zone = |share, span| PatternZone {
            share: Ratio::new(share).unwrap(),
            span: Ratio::new(span).unwrap(),
        };
        vec![zone(0.5, 0.05), zone(0.3, 0.15), zone(0.2, 0.8)]
    }

    #[test]
    fn sizes_come_in_their_shares_and_sequential_ones_follow_each_other() {
        let size = |kibi, share| SizeShare { block: Bytes::kibi(kibi), share };
        let mix = RequestMix { sizes: vec![size(4, 3.0), size(16, 1.0)], ..RequestMix::default() };
        let test = Test { block: Bytes::kibi(16), ..random_read() }.with(|requests| {
            requests.mix = mix;
            requests.pattern = Pattern::Sequential;
        });
        assert_eq!((test.check(), test.block_mean()), (Ok(()), 7168.0));
        let mut stream = Accesses::new(&test, key()).unwrap();
        let mut at = 0;
        let mut small = 0;
        for _ in 0..10_000 {
            let access = stream.next_access();
            assert_eq!(access.offset.get(), at);
            at += access.length.get();
            small += u32::from(access.length == Bytes::kibi(4));
        }
        assert!((7_300..7_700).contains(&small), "{small} small of 10000");
    }

    #[test]
    fn flushes_follow_n_writes_and_trims_take_their_share() {
        let mix = RequestMix {
            flush_every: Some(4),
            trim_share: Ratio::new(0.25).unwrap(),
            ..RequestMix::default()
        };
        let test = random_read().with(|requests| {
            requests.mix = mix;
            requests.read_share = Ratio::ZERO;
        });
        let mut stream = Accesses::new(&test, key()).unwrap();
        let mut writes = 0u32;
        let mut trims = 0u32;
        let mut flushes = 0u32;
        for _ in 0..10_000 {
            match stream.next_access().operation {
                Operation::Write => writes += 1,
                Operation::Trim => trims += 1,
                Operation::Flush => {
                    flushes += 1;
                    assert_eq!(writes, 4 * flushes);
                }
                Operation::Read => panic!("a test that only writes reads"),
            }
        }
        let share = f64::from(trims) / f64::from(writes + trims);
        assert!(flushes > 1000 && (share - 0.25).abs() < 0.02, "{trims} trims of {writes}");
    }

    proptest! {
        #[test]
        fn every_request_lies_inside_the_span(
            blocks in 1u64..64, span_blocks in 1u64..5000, offset in 0u64..1000, align in 1u64..16,
            threads in 1u32..4, kind in 0..9, small in 1u64..8, seed: u64,
        ) {
            let pattern = match kind {
                0 => Pattern::Sequential,
                1 => Pattern::Uniform,
                2 => Pattern::Zipf { theta: 0.99 },
                3 => Pattern::Backward,
                4 => Pattern::Shuffled,
                5 => Pattern::Pareto { h: 0.2 },
                6 => Pattern::Normal { deviation: Ratio::new(0.3).unwrap() },
                7 => Pattern::Zones { zones: thirds() },
                _ => Pattern::HotCold {
                    hot_span: Ratio::new(0.1).unwrap(), hot_share: Ratio::new(0.9).unwrap(),
                },
            };
            let block = Bytes(blocks * 512);
            let alignment = Bytes(align * 512);
            let mut requests = SyntheticRequests { pattern, ..SyntheticRequests::aligned_to(alignment) };
            if small < 4 {
                let size = |block: Bytes| SizeShare { block, share: 0.5 };
                let smaller = Bytes(small.min(blocks) * 512);
                requests.mix.sizes = vec![size(smaller), size(block)];
            }
            let least = requests.step(block).max(block.get()) * u64::from(threads);
            let test = Test {
                block,
                threads,
                span: Bytes(least + span_blocks * 512),
                offset: Bytes(offset * 512),
                asks: requests.into(),
                ..random_read()
            };
            prop_assert_eq!(test.check(), Ok(()));
            for thread in 0..threads {
                let key = StreamKey { seed, test: 0, repeat: 0, thread };
                let mut stream = Accesses::new(&test, key).unwrap();
                for _ in 0..200 {
                    let access = stream.next_access();
                    prop_assert!(access.offset >= test.offset);
                    prop_assert!(access.offset + access.length <= test.end());
                    prop_assert_eq!((access.offset - test.offset).get() % alignment.get(), 0);
                }
            }
        }
    }
}

//! The offsets of a test, drawn from its seed: the one source that simulated and real runs share.
//!
//! A thread's stream depends on (seed, test, repeat, thread) and on nothing that happens while the
//! test runs, so a faster target is asked for the same places in the same order.

use super::{Pattern, Test};
use crate::rng::{Rng, StreamKey, Zipf};
use crate::units::{Bytes, Ratio};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// From the target to memory.
    Read,
    /// From memory to the target.
    Write,
    /// Everything that was written before is to outlast a loss of power. Has no data and no place.
    Flush,
    /// What lies there is needed no longer (DATA SET MANAGEMENT, Deallocate, discard). Has no data.
    Trim,
}

impl Operation {
    /// Whether it moves data of the host's.
    pub fn moves_data(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// One request of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub operation: Operation,
    /// Where it begins on the target.
    pub offset: Bytes,
    /// How long it is.
    pub length: Bytes,
}

/// The endless stream of requests of one thread of a test.
#[derive(Clone, Debug)]
pub struct Accesses {
    rng: Rng,
    places: Places,
    read_share: f64,
    block: Bytes,
    start: u64,
    step: u64,
}

/// How the next place, counted in steps from the start, is found.
#[derive(Clone, Debug)]
enum Places {
    Sequential { next: u64, count: u64 },
    Uniform { count: u64 },
    Zipf { ranks: Zipf, count: u64 },
    HotCold { hot: u64, count: u64, hot_share: f64 },
}

impl Accesses {
    /// The stream of thread `key.thread` of `test`, which must have passed [`Test::check`].
    pub fn new(test: &Test, key: StreamKey) -> Self {
        let threads = u64::from(test.threads);
        let block = test.block.get();
        let step = test.step();
        // A place may hold a whole block only if the block ends inside the span.
        let count = match test.pattern {
            Pattern::Sequential => test.span.get() / step / threads,
            _ => (test.span.get() - block) / step + 1,
        };
        let start = match test.pattern {
            Pattern::Sequential => test.offset.get() + u64::from(key.thread) * count * step,
            _ => test.offset.get(),
        };
        let places = match test.pattern {
            Pattern::Sequential => Places::Sequential { next: 0, count },
            // The places of a trace are in the trace, so `Test::check` refuses it.
            Pattern::Uniform | Pattern::Trace => Places::Uniform { count },
            Pattern::Zipf { theta } => Places::Zipf { ranks: Zipf::new(count, theta), count },
            Pattern::HotCold { hot_span, hot_share } => Places::HotCold {
                hot: ((count as f64 * hot_span.get()) as u64).clamp(1, count),
                count,
                hot_share: hot_share.get(),
            },
        };
        let read_share = test.read_share.get();
        Self { rng: Rng::new(key), places, read_share, block: test.block, start, step }
    }

    /// The next request; the stream never ends.
    pub fn next_access(&mut self) -> Access {
        let place = self.places.next(&mut self.rng);
        // Pure tests draw nothing for the direction, so their offsets are alike in both.
        let reads = self.read_share >= Ratio::ONE.get()
            || (self.read_share > 0.0 && self.rng.chance(self.read_share));
        let operation = if reads { Operation::Read } else { Operation::Write };
        Access { operation, offset: Bytes(self.start + place * self.step), length: self.block }
    }
}

impl Places {
    fn next(&mut self, rng: &mut Rng) -> u64 {
        match self {
            Self::Sequential { next, count } => {
                let place = *next;
                *next = if place + 1 == *count { 0 } else { place + 1 };
                place
            }
            Self::Uniform { count } => rng.below(*count),
            Self::Zipf { ranks, count } => scatter(ranks.sample(rng) - 1, *count),
            Self::HotCold { hot, count, hot_share } => {
                let cold = *count - *hot;
                if cold == 0 || rng.chance(*hot_share) {
                    rng.below(*hot)
                } else {
                    *hot + rng.below(cold)
                }
            }
        }
    }
}

/// Spreads neighbouring ranks over the span, one to one: an odd multiplier walked until it lands
/// inside, as in format-preserving encryption by cycle walking.
fn scatter(rank: u64, count: u64) -> u64 {
    let mask = count.next_power_of_two() - 1;
    let mut place = rank;
    loop {
        place = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
        place = (place ^ (place >> (mask.count_ones() / 2 + 1))) & mask;
        if place < count {
            return place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::random_read;
    use proptest::prelude::*;

    fn key() -> StreamKey {
        StreamKey::from_seed(1)
    }

    #[test]
    fn sequential_threads_share_the_span_and_start_over() {
        let test = Test {
            pattern: Pattern::Sequential,
            threads: 2,
            span: Bytes::kibi(16),
            ..random_read()
        };
        let offsets = |thread| {
            let mut stream = Accesses::new(&test, StreamKey { thread, ..key() });
            (0..3).map(|_| stream.next_access().offset.get()).collect::<Vec<_>>()
        };
        assert_eq!(offsets(0), [0, 4096, 0]);
        assert_eq!(offsets(1), [8192, 12_288, 8192]);
    }

    #[test]
    fn a_sequential_step_that_is_rounded_up_to_the_alignment_must_fit_the_span() {
        let test = Test {
            pattern: Pattern::Sequential,
            alignment: Bytes(3072),
            threads: 2,
            span: Bytes(8192),
            ..random_read()
        };
        assert_eq!(test.check().unwrap_err().field, "span");
    }

    #[test]
    fn the_mix_keeps_its_share() {
        let test = Test { read_share: Ratio::new(0.7).unwrap(), ..random_read() };
        let mut stream = Accesses::new(&test, key());
        let reads =
            (0..100_000).filter(|_| stream.next_access().operation == Operation::Read).count();
        assert!((69_300..70_700).contains(&reads), "{reads} reads of 100000");
    }

    #[test]
    fn the_hot_part_gets_its_share() {
        let pattern = Pattern::HotCold {
            hot_span: Ratio::new(0.05).unwrap(),
            hot_share: Ratio::new(0.5).unwrap(),
        };
        let test = Test { pattern, ..random_read() };
        let mut stream = Accesses::new(&test, key());
        let edge = test.span.get() / 20;
        let hot = (0..100_000).filter(|_| stream.next_access().offset.get() < edge).count();
        assert!((49_000..51_000).contains(&hot), "{hot} hot of 100000");
    }

    proptest! {
        #[test]
        fn every_request_lies_inside_the_span(
            blocks in 1u64..64, span_blocks in 1u64..5000, offset in 0u64..1000, align in 1u64..16,
            threads in 1u32..4, kind in 0..4, seed: u64,
        ) {
            let pattern = match kind {
                0 => Pattern::Sequential,
                1 => Pattern::Uniform,
                2 => Pattern::Zipf { theta: 0.99 },
                _ => Pattern::HotCold {
                    hot_span: Ratio::new(0.1).unwrap(), hot_share: Ratio::new(0.9).unwrap(),
                },
            };
            let block = Bytes(blocks * 512);
            let alignment = Bytes(align * 512);
            let test = Test {
                block, alignment, pattern, threads, offset: Bytes(offset * 512), ..random_read()
            };
            let least = test.step().max(block.get()) * u64::from(threads);
            let test = Test { span: Bytes(least + span_blocks * 512), ..test };
            prop_assert_eq!(test.check(), Ok(()));
            for thread in 0..threads {
                let mut stream = Accesses::new(&test, StreamKey { seed, test: 0, repeat: 0, thread });
                for _ in 0..200 {
                    let access = stream.next_access();
                    prop_assert!(access.offset >= test.offset);
                    prop_assert!(access.offset + access.length <= test.end());
                    prop_assert_eq!((access.offset - test.offset).get() % alignment.get(), 0);
                }
            }
        }

        #[test]
        fn scattering_doubles_no_place(count in 1u64..3000) {
            let mut places: Vec<u64> = (0..count).map(|rank| scatter(rank, count)).collect();
            places.sort_unstable();
            prop_assert!(places.iter().copied().eq(0..count));
        }
    }
}

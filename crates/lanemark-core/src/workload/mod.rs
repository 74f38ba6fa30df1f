//! The workload of a target: tests of one block size, pattern, mix and depth each.
//!
//! A [`Workload`] is a named list of [`Test`]s, as a benchmark program runs them. The same value is
//! given to a modelled drive and to a real one, and [`Accesses`] turns it into the same offsets for
//! both. Load is closed-loop, where each thread keeps `queue_depth` requests outstanding and issues the next
//! one `think` after a completion, or open-loop, where requests have times of their own ([`Load`]).
//!
//! A recorded trace is a stream of [`Arrival`]s instead; a [`Test`] of the pattern [`Pattern::Trace`] sums it
//! up in a result.
//!
//! Not modelled: jobs that wait for another one's requests.

mod accesses;
mod arrival;
mod builder;
mod check;
mod data;
mod database;
pub mod fault;
mod load;
mod mix;
mod places;
mod rounds;
mod transactions;

pub use accesses::{Access, Accesses, Operation};
pub use arrival::Arrival;
pub use builder::{CheckedTest, Quantity, TestBuilder};
pub use data::fill_random;
pub use database::{DatabaseUsers, Profile, TransactionKind, USERS_MAX, WAREHOUSES_MAX};
pub use fault::{Fault, FaultKind};
pub use load::{Load, Process, RATE_MAX, Schedule};
pub use mix::{Mix, SIZES_MAX, SizeShare, Start};
pub use rounds::{Interval, ROUND_MAX, Rounds, Tracked};
pub use transactions::{
    BufferUse, Counted, Log, PAGE_CLASSES_MAX, PageClass, Transactions, VISITS_MAX,
};

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Duration, Ratio};

/// The smallest unit that a drive addresses.
pub const SECTOR: Bytes = Bytes(512);
/// Greatest number of requests that one thread may keep outstanding: the depth of one NVMe queue.
pub const QUEUE_DEPTH_MAX: u32 = 65_536;
/// Greatest number of threads of a test.
pub const THREADS_MAX: u32 = 1024;
/// The largest block of a request.
pub const BLOCK_MAX: Bytes = Bytes::mebi(64);

/// A named list of tests that run one after the other on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the workload's file in the library, `crystaldiskmark-8`.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Number of times that each test is run.
    pub repeats: u32,
    /// Average by which the repeats become one figure.
    pub average: Average,
    /// Order in which tests and repeats are measured.
    #[serde(default)]
    pub order: Order,
    /// Faults in each repeat of each test, which only a simulation can inject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The tests, in the order in which they run.
    pub tests: Vec<Test>,
}

/// The order in which the tests of a workload are measured. A simulation has none: each of its runs is alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A test with all its repeats, then the next.
    #[default]
    Listed,
    /// Every test once in a random order, then again in another, so that drift (heat, other load, a filling cache) does
    /// not fall on one test alone.
    Shuffled,
}

/// The average by which repeats become one figure. There is no best-of-N: it grows with N on any noisy target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Average {
    /// The arithmetic mean.
    Mean,
    /// The middle value, or the mean of the middle two.
    Median,
}

/// A test: a pattern of requests that stays the same until its limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The name for people, `RND4K Q32T1 read`.
    pub name: String,
    /// The size of each request, or of the largest in a mix.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// Order of the requests' addresses.
    pub pattern: Pattern,
    /// The share of requests that are reads.
    pub read_share: Ratio,
    /// Requests outstanding per thread.
    pub queue_depth: u32,
    /// Threads, each with its own queue.
    pub threads: u32,
    /// Size of the range of the target that is used, from [`Test::offset`] on.
    #[serde(rename = "span_bytes")]
    pub span: Bytes,
    /// Start of the span on the target.
    #[serde(rename = "offset_bytes")]
    pub offset: Bytes,
    /// Every request starts at a multiple of this within the span.
    #[serde(rename = "alignment_bytes")]
    pub alignment: Bytes,
    /// Stop after this much data, where given.
    #[serde(rename = "volume_bytes")]
    pub volume: Option<Bytes>,
    /// Stop after this time, where given.
    #[serde(rename = "duration_ns")]
    pub duration: Option<Duration>,
    /// Stop when the figures of rounds are steady, where given; then neither volume nor duration is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// The intervals of the sample's series, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Time that the load runs before anything is counted.
    #[serde(rename = "ramp_ns")]
    pub ramp: Duration,
    /// Time that a thread waits between a completion and its next request.
    #[serde(rename = "think_ns")]
    pub think: Duration,
    /// The share of each written 4 KiB that is zeros, and so can be compressed away.
    pub compressibility: Ratio,
    /// Requests beside reads and writes of one size.
    #[serde(default, skip_serializing_if = "Mix::is_plain")]
    pub mix: Mix,
    /// Arrival of the requests.
    #[serde(default, skip_serializing_if = "Load::is_closed")]
    pub load: Load,
    /// Start of the test.
    #[serde(default, skip_serializing_if = "Start::is_plain")]
    pub start: Start,
}

/// A part of the span in [`Pattern::Zones`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// The share of requests that go there.
    pub share: Ratio,
    /// Share of the span that the zone covers.
    pub span: Ratio,
}

/// The order of the addresses of a test's requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Requests follow one another; each thread has an equal part of the span and starts over at its end.
    Sequential,
    /// Requests run from the end of the thread's part of the span to its beginning.
    Backward,
    /// Requests go anywhere in the span, with equal probability.
    Uniform,
    /// Requests go to each block of the span once in a random order, then again in another.
    Shuffled,
    /// Requests go to scattered blocks by a power law: `h` = 0.2 sends 80% of the requests to 20% of the places.
    Pareto {
        /// Above 0 and below 1.
        h: f64,
    },
    /// Requests go to normally distributed addresses around the middle of the span.
    Normal {
        /// The standard deviation as a share of the span.
        deviation: Ratio,
    },
    /// Requests go to zones, parts of the span one after the other, by their shares.
    Zones {
        /// Zones of the span; shares and spans are taken in proportion.
        zones: Vec<Zone>,
    },
    /// Requests go to the block of rank r, scattered over the span, with probability proportional to `r^-theta`.
    Zipf {
        /// The exponent; 0.99 is the YCSB habit.
        theta: f64,
    },
    /// Requests go more often to a hot first part of the span.
    HotCold {
        /// The part of the span that is hot.
        hot_span: Ratio,
        /// The share of requests that go there.
        hot_share: Ratio,
    },
    /// Requests go to the addresses of a recorded trace. Such a test tells what was replayed and cannot be run again by
    /// itself: its block is the mean of the requests, its span ends with the last byte that they touched.
    Trace,
}

/// A value of a test that no target can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {bound}")]
pub struct TestError {
    /// The field's name in a workload file.
    pub field: &'static str,
    /// The value as given.
    pub value: String,
    /// The values that are accepted.
    pub bound: String,
}

impl Test {
    /// Returns the distance between the addresses of requests: sequential blocks begin at the next multiple of the
    /// alignment, others at any.
    pub(crate) fn step(&self) -> u64 {
        match self.pattern {
            Pattern::Sequential | Pattern::Backward => {
                self.block.get().next_multiple_of(self.alignment.get())
            }
            _ => self.alignment.get(),
        }
    }

    /// The least length of a request.
    pub fn block_least(&self) -> Bytes {
        self.mix.sizes.iter().map(|size| size.block).min().unwrap_or(self.block)
    }

    /// The mean length of a request.
    pub fn block_mean(&self) -> f64 {
        let sum: f64 = self.mix.sizes.iter().map(|size| size.share).sum();
        match self.mix.sizes.is_empty() {
            true => self.block.get() as f64,
            false => {
                let parts = self.mix.sizes.iter();
                parts.map(|size| size.block.get() as f64 * size.share / sum).sum()
            }
        }
    }

    /// Whether the test trims.
    pub fn trims(&self) -> bool {
        self.mix.trim_share > Ratio::ZERO
    }

    /// Whether requests of a thread follow each other on the target.
    pub fn is_in_order(&self) -> bool {
        matches!(self.pattern, Pattern::Sequential | Pattern::Backward)
    }

    /// Whether the test writes at all.
    pub fn writes(&self) -> bool {
        self.read_share < Ratio::ONE && self.mix.trim_share < Ratio::ONE
    }

    /// Whether the test reads at all.
    pub fn reads(&self) -> bool {
        self.read_share > Ratio::ZERO && self.mix.trim_share < Ratio::ONE
    }

    /// Whether what lies on the target is lost.
    pub fn destroys(&self) -> bool {
        self.writes() || self.trims()
    }

    /// Requests outstanding over all threads.
    pub fn population(&self) -> u64 {
        u64::from(self.queue_depth) * u64::from(self.threads)
    }

    /// The end of the part of the target that is used.
    pub fn end(&self) -> Bytes {
        Bytes(self.offset.get().saturating_add(self.span.get()))
    }
}

impl Zone {
    fn is_used(&self) -> bool {
        self.share > Ratio::ZERO && self.span > Ratio::ZERO
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 4 KiB uniform random reads over 1 GiB, one at a time.
    pub(crate) fn random_read() -> Test {
        Test {
            name: "RND4K Q1T1 read".to_owned(),
            volume: Some(Bytes::mebi(16)),
            ..Test::of_blocks(Bytes::kibi(4))
        }
    }

    #[test]
    fn a_plain_test_is_accepted() {
        assert_eq!(random_read().check(), Ok(()));
    }

    #[test]
    fn each_bound_is_named() {
        let cases: [(&str, fn(&mut Test)); 9] = [
            ("block", |t| t.block = Bytes(1000)),
            ("block", |t| t.block = Bytes::mebi(65)),
            ("alignment", |t| t.alignment = Bytes::ZERO),
            ("queue_depth", |t| t.queue_depth = 0),
            ("threads", |t| t.threads = 5000),
            ("volume", |t| t.volume = None),
            ("span", |t| t.span = Bytes(512)),
            ("theta", |t| t.pattern = Pattern::Zipf { theta: 0.0 }),
            ("hot_span", |t| {
                t.pattern = Pattern::HotCold { hot_span: Ratio::ZERO, hot_share: Ratio::ONE };
            }),
        ];
        for (field, spoil) in cases {
            let mut test = random_read();
            spoil(&mut test);
            assert_eq!(test.check().unwrap_err().field, field);
        }
    }
}

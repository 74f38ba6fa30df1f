//! The workload of a target: tests that each ask it for one thing until a limit.
//!
//! A [`Workload`] is a named list of [`Test`]s, as a benchmark program runs them. The same value is
//! given to a modelled drive and to a real one, and [`Accesses`] turns it into the same offsets for
//! both. Load is closed-loop, where each thread keeps `queue_depth` requests outstanding and issues the next
//! one `think` after a completion, or open-loop, where requests have times of their own ([`Load`]).
//!
//! What all tests have is in [`Test`], and what each asks for in [`Asks`]: requests of its own, or a database's
//! transactions. A recorded trace is a stream of [`Arrival`]s instead; a [`Test`] of [`Asks::Trace`] sums it up in a
//! result.
//!
//! Not modelled: jobs that wait for another one's requests.

mod accesses;
mod arrival;
mod asks;
mod builder;
mod check;
mod data;
mod database;
pub mod fault;
mod load;
mod mix;
mod places;
mod requests;
mod rounds;
mod saved;
mod transactions;

pub use accesses::{Access, Accesses, Operation};
pub use arrival::Arrival;
pub use asks::{Asks, TraceSummary};
pub use builder::{CheckedTest, Quantity, TestBuilder};
pub use data::fill_random;
pub use database::{DatabaseUsers, Profile, TransactionKind};
pub(crate) use database::{USERS_MAX, WAREHOUSES_MAX};
pub use fault::{Fault, FaultKind};
pub(crate) use load::RATE_MAX;
pub use load::{Load, Process, Schedule};
pub use mix::{Mix, SIZES_MAX, SizeShare, Start};
pub use requests::Requests;
pub(crate) use rounds::ROUND_MAX;
pub use rounds::{Interval, Rounds, Tracked};
pub use transactions::{BufferUse, Counted, Log, PageClass, Transactions};

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

/// A test: what is asked of a target, the same until a limit, and how long.
///
/// Each kind of test has its own values in [`Test::asks`]; the others are those that all kinds have.
///
/// ```
/// use lanemark_core::units::{Bytes, Duration, Ratio};
/// use lanemark_core::workload::{Asks, Pattern, Test};
///
/// let reads = Test { duration: Some(Duration::from_seconds(2)), ..Test::of_blocks(Bytes::kibi(4)) };
/// let mixed = reads.clone().with(|asked| {
///     asked.pattern = Pattern::Sequential;
///     asked.read_share = Ratio::new(0.7).unwrap_or_default();
/// });
/// assert!(reads.reads() && !reads.writes());
/// assert!(mixed.writes() && mixed.is_in_order());
/// assert!(matches!(mixed.asks, Asks::Requests(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "saved::SavedTest", into = "saved::SavedTest")]
pub struct Test {
    /// The name for people, `RND4K Q32T1 read`.
    pub name: String,
    /// The size of each request, or of the largest in a mix; the page of a database; the mean of a trace.
    pub block: Bytes,
    /// Threads, each with its own queue, or users of a database.
    pub threads: u32,
    /// Size of the range of the target that is used, from [`Test::offset`] on.
    pub span: Bytes,
    /// Start of the span on the target.
    pub offset: Bytes,
    /// Stop after this much data, where given.
    pub volume: Option<Bytes>,
    /// Stop after this time, where given.
    pub duration: Option<Duration>,
    /// Stop when the figures of rounds are steady, where given; then neither volume nor duration is.
    pub rounds: Option<Rounds>,
    /// The intervals of the sample's series, where given.
    pub interval: Option<Interval>,
    /// Time that the load runs before anything is counted.
    pub ramp: Duration,
    /// The share of each written 4 KiB that is zeros, and so can be compressed away.
    pub compressibility: Ratio,
    /// Start of the test.
    pub start: Start,
    /// What the target is asked for.
    pub asks: Asks,
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
#[derive(Clone, Debug, PartialEq)]
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

    fn asked(test: &mut Test) -> &mut Requests {
        test.requests_mut().unwrap()
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
            ("alignment", |t| asked(t).alignment = Bytes::ZERO),
            ("queue_depth", |t| asked(t).queue_depth = 0),
            ("threads", |t| t.threads = 5000),
            ("volume", |t| t.volume = None),
            ("span", |t| t.span = Bytes(512)),
            ("theta", |t| asked(t).pattern = Pattern::Zipf { theta: 0.0 }),
            ("hot_span", |t| {
                asked(t).pattern =
                    Pattern::HotCold { hot_span: Ratio::ZERO, hot_share: Ratio::ONE };
            }),
        ];
        for (field, spoil) in cases {
            let mut test = random_read();
            spoil(&mut test);
            assert_eq!(test.check().unwrap_err().field, field);
        }
    }
}

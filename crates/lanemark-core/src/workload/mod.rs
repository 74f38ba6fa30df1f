//! The workload of a target: tests that each ask it for one thing until a limit.
//!
//! A [`Workload`] is a named list of [`Test`]s, as a benchmark program runs them. The same value is
//! given to a modelled drive and to a real one, and [`Accesses`] turns it into the same offsets for
//! both. Load is closed-loop, where each thread keeps `queue_depth` requests outstanding and issues the next
//! one `think` after a completion, or open-loop, where requests have times of their own ([`Load`]).
//!
//! Settings that all tests have are in [`Test`], and those of one kind in [`Asks`]: requests of its own, or a database's
//! transactions. A recorded trace is a stream of [`Arrival`]s instead; a [`Test`] of [`Asks::Trace`] sums it up in a
//! result.
//!
//! Not modelled: jobs that wait for another one's requests. A copy is one job, whose writes wait for its reads.

mod accesses;
mod arrival;
mod asks;
mod buffer;
mod builder;
mod check;
mod data;
mod database;
mod error;
pub mod fault;
mod load;
mod mix;
mod pattern;
mod places;
mod requests;
mod rounds;
mod saved;
mod schedule;
mod transactions;

pub use accesses::{Access, Accesses, Operation};
pub use arrival::Arrival;
pub use asks::{Asks, TraceSummary};
pub(crate) use buffer::BufferLaw;
pub use buffer::BufferUse;
pub use builder::{CheckedTest, Quantity, TestBuilder};
pub use data::fill_random;
pub use database::{DatabaseUsers, Profile, TransactionKind};
pub(crate) use database::{USERS_MAX, WAREHOUSES_MAX};
pub use error::TestError;
pub use fault::{Fault, FaultKind};
pub(crate) use load::RATE_MAX;
pub use load::{Load, Process};
pub use mix::{Mix, SIZES_MAX, SizeShare, Start};
pub use pattern::{Pattern, Zone};
pub use requests::Requests;
pub(crate) use rounds::ROUND_MAX;
pub use rounds::{Interval, Rounds, Tracked};
pub use schedule::Schedule;
pub use transactions::{Counted, Log, PageClass, Transactions};

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Duration, Ratio};

/// The smallest unit that a drive addresses.
pub const SECTOR: Bytes = Bytes(512);
/// Greatest number of requests that one thread may keep outstanding: the depth of one NVMe queue.
pub const QUEUE_DEPTH_MAX: u32 = 65_536;
/// Greatest number of threads of a test.
pub const THREADS_MAX: u32 = 1024;
/// The mix of a test that asks for no requests by itself.
const PLAIN: &Mix = &Mix::PLAIN;
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

impl Workload {
    /// The groups of tests that run beside each other, by their numbers, in order. A test that starts after the one
    /// before it begins a group, and so does the first whatever it says.
    pub fn groups(&self) -> Vec<Range<usize>> {
        let begins = |index: &usize| *index == 0 || !self.tests[*index].start.beside;
        let firsts: Vec<usize> = (0..self.tests.len()).filter(begins).collect();
        let ends = firsts.iter().skip(1).copied().chain([self.tests.len()]);
        firsts.iter().zip(ends).map(|(&first, end)| first..end).collect()
    }

    /// Whether no other test runs beside `test`, which is one of these by its name.
    pub fn runs_alone(&self, test: &Test) -> bool {
        let place = self.tests.iter().position(|own| own.name == test.name);
        place.is_none_or(|place| self.is_alone(place))
    }

    /// Whether no other test runs beside the test of this number.
    pub fn is_alone(&self, test: usize) -> bool {
        let beside = |index: usize| self.tests.get(index).is_some_and(|test| test.start.beside);
        (test == 0 || !beside(test)) && !beside(test + 1)
    }
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
    /// Requests or transactions of the test.
    pub asks: Asks,
}

impl Test {
    /// The requests that the test asks for by itself, where it does.
    pub fn requests(&self) -> Option<&Requests> {
        match &self.asks {
            Asks::Requests(requests) => Some(requests),
            _ => None,
        }
    }

    /// The requests that the test asks for by itself, to be changed.
    pub fn requests_mut(&mut self) -> Option<&mut Requests> {
        match &mut self.asks {
            Asks::Requests(requests) => Some(requests),
            _ => None,
        }
    }

    /// The test with its requests changed. A test that asks for something else stays as it is.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Requests)) -> Self {
        self.requests_mut().map(change);
        self
    }

    /// Requests outstanding per thread; a database's user waits for each of its own.
    pub fn queue_depth(&self) -> u32 {
        match &self.asks {
            Asks::Requests(requests) => requests.queue_depth,
            Asks::Trace(trace) => trace.queue_depth,
            Asks::Transactions(_) | Asks::Database(_) => 1,
        }
    }

    /// The share of requests that are reads. That of a database follows from its buffer as it runs, and is taken as a
    /// half.
    pub fn read_share(&self) -> Ratio {
        match &self.asks {
            Asks::Requests(requests) => requests.read_share,
            Asks::Trace(trace) => trace.read_share,
            Asks::Transactions(_) | Asks::Database(_) => Ratio::HALF,
        }
    }

    /// The distance of which all places of requests are multiples; in a database a page.
    pub fn alignment(&self) -> Bytes {
        match &self.asks {
            Asks::Requests(requests) => requests.alignment,
            Asks::Trace(trace) => trace.alignment,
            Asks::Transactions(_) | Asks::Database(_) => self.block,
        }
    }

    /// The order of the requests' places, where the test draws them.
    pub fn pattern(&self) -> Option<&Pattern> {
        self.requests().map(|requests| &requests.pattern)
    }

    /// The requests beside reads and writes of one size: none where the test asks for no requests by itself.
    pub fn mix(&self) -> &Mix {
        self.requests().map_or(PLAIN, |requests| &requests.mix)
    }

    /// Time that a thread waits between a completion and its next request. That of a database's users is theirs.
    pub fn think(&self) -> Duration {
        self.requests().map_or(Duration::ZERO, |requests| requests.think)
    }

    /// Whether every place of the span is as likely as any other. The pages of a database are, for one.
    pub(crate) fn is_uniform(&self) -> bool {
        match &self.asks {
            Asks::Requests(requests) => requests.pattern == Pattern::Uniform,
            Asks::Transactions(_) | Asks::Database(_) => true,
            Asks::Trace(_) => false,
        }
    }

    /// Whether the test asks for requests by itself, and for the next when one is complete.
    pub fn is_closed(&self) -> bool {
        self.requests().is_some_and(|requests| requests.load.is_closed())
    }

    /// Whether requests of a thread follow each other on the target.
    pub fn is_in_order(&self) -> bool {
        self.requests().is_some_and(Requests::is_in_order)
    }

    /// Whether the test replays a recorded trace.
    pub fn is_trace(&self) -> bool {
        matches!(self.asks, Asks::Trace(_))
    }

    /// The least length of a request.
    pub fn block_least(&self) -> Bytes {
        self.mix().sizes.iter().map(|size| size.block).min().unwrap_or(self.block)
    }

    /// The mean length of a request.
    pub fn block_mean(&self) -> f64 {
        self.mix().block_mean(self.block)
    }

    /// Whether the test trims.
    pub fn trims(&self) -> bool {
        self.mix().trim_share > Ratio::ZERO
    }

    /// Whether the test writes at all.
    pub fn writes(&self) -> bool {
        self.read_share() < Ratio::ONE && self.mix().trim_share < Ratio::ONE
    }

    /// Whether the test reads at all.
    pub fn reads(&self) -> bool {
        self.read_share() > Ratio::ZERO && self.mix().trim_share < Ratio::ONE
    }

    /// Whether what lies on the target is lost.
    pub fn destroys(&self) -> bool {
        self.writes() || self.trims()
    }

    /// Requests outstanding over all threads.
    pub fn population(&self) -> u64 {
        u64::from(self.queue_depth()) * u64::from(self.threads)
    }

    /// The end of the span.
    pub fn span_end(&self) -> Bytes {
        Bytes(self.offset.get().saturating_add(self.span.get()))
    }

    /// The end of the part of the target that is used: of the span, or of its copy.
    pub fn end(&self) -> Bytes {
        let copy = self.mix().copy_to.map(|to| to.get().saturating_add(self.span.get()));
        self.span_end().max(Bytes(copy.unwrap_or(0)))
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

//! The workload of a target: tests that each apply one load until a limit is reached.
//!
//! A [`Workload`] is a named list of [`Test`]s, as a benchmark program runs them. Modelled and real drives receive the
//! same value, and [`Accesses`] turns it into the same offsets for both. In a closed loop each thread keeps
//! `queue_depth` requests outstanding and issues the next request `think` after a completion. In an open loop requests
//! have scheduled times ([`Load`]).
//!
//! [`Test`] contains the settings that all tests share. [`LoadKind`] contains the settings of one kind of test: drawn
//! requests, or a database's transactions. A recorded trace is a stream of [`TraceArrival`]s instead; a [`Test`] of
//! [`LoadKind::Trace`] summarises it in a result.
//!
//! Not modelled: jobs that wait for another job's requests. A copy is one job whose writes wait for its reads.

mod accesses;
mod addresses;
mod arrival;
pub mod bound;
mod buffer;
mod builder;
mod check;
mod data;
mod database;
mod error;
pub mod fault;
mod load;
mod load_kind;
mod mix;
pub mod one_pass;
mod paged;
mod pattern;
mod requests;
mod rounds;
mod saved;
mod schedule;
mod transactions;

pub use accesses::{Access, Accesses, Operation};
pub use arrival::TraceArrival;
pub use buffer::BufferModel;
pub use buffer::BufferTraffic;
pub use builder::{CheckedTest, IntoQuantity, TestBuilder};
pub use data::fill_random;
pub use database::{DatabaseUsers, TransactionKind, TransactionProfile};
pub use error::TestError;
pub use fault::{Fault, FaultKind};
pub use load::{ArrivalProcess, Load};
pub use load_kind::{LoadKind, PartialRequests, TraceSummary};
pub use mix::{RequestMix, SizeShare, TestStart};
pub use paged::PAGE;
pub use pattern::{Pattern, PatternZone};
pub use requests::SyntheticRequests;
pub use rounds::{RoundSettings, SeriesInterval, TrackedFigure};
pub use schedule::ArrivalSchedule;
pub use transactions::{DatabaseLog, PageClass, RequestsPerTransaction, TransactionLoad};

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::named_enum;
use crate::units::{Bytes, Duration, Ratio};

/// The smallest unit that a drive addresses.
pub const SECTOR: Bytes = Bytes(512);
/// The mix of a test that does not draw its requests.
const PLAIN: &RequestMix = &RequestMix::PLAIN;

/// A named list of tests that run in succession on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the workload's file in the library, such as `crystaldiskmark-8`.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Number of times that each test is run.
    pub repeats: u32,
    /// Method for averaging the repeats into one figure.
    pub average: AverageMethod,
    /// Order in which tests and repeats are measured.
    #[serde(default)]
    pub order: TestOrder,
    /// State of the drive that the tests require; a modelled drive is in this state, unless its own state is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<Precondition>,
    /// Faults in each repeat of each test, which only a simulation can inject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The tests, in the order in which they run.
    pub tests: Vec<Test>,
}

impl Workload {
    /// Creates a workload that runs one test once, without faults.
    pub fn of_test(id: &str, name: &str, test: Test) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            repeats: 1,
            average: AverageMethod::Mean,
            order: TestOrder::Listed,
            precondition: None,
            faults: Vec::new(),
            tests: vec![test],
        }
    }

    /// Returns the groups of tests that run in parallel, as ranges of their indices, in order. A test that starts after
    /// the previous test begins a group. The first test always begins a group.
    pub fn groups(&self) -> Vec<Range<usize>> {
        let begins_group = |index: &usize| *index == 0 || !self.tests[*index].start.beside;
        let firsts: Vec<usize> = (0..self.tests.len()).filter(begins_group).collect();
        let ends = firsts.iter().skip(1).copied().chain([self.tests.len()]);
        firsts.iter().zip(ends).map(|(&first, end)| first..end).collect()
    }

    /// Returns whether no other test runs in parallel with `test`, which the function identifies by its name.
    pub fn runs_alone(&self, test: &Test) -> bool {
        let index = self.tests.iter().position(|listed| listed.name == test.name);
        index.is_none_or(|index| self.is_alone(index))
    }

    /// Returns whether no other test runs in parallel with the test at the index `test`.
    pub fn is_alone(&self, test: usize) -> bool {
        let starts_beside =
            |index: usize| self.tests.get(index).is_some_and(|test| test.start.beside);
        (test == 0 || !starts_beside(test)) && !starts_beside(test + 1)
    }
}

named_enum! {
    /// The state of a drive that was written before the tests of a workload.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Precondition {
        /// The whole drive was written sequentially.
        Sequential = "sequential",
        /// The test itself, or random writes, ran until the state of the drive was steady.
        Random = "random",
    }
}

named_enum! {
    /// The order in which the tests of a workload are measured. The order does not affect a simulation, whose runs are
    /// independent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum TestOrder {
        /// Each test with all its repeats, then the next test.
        #[default]
        Listed = "listed",
        /// Every test once in a random order, then again in a different random order, so that drift (heat, other
        /// programs, a filling cache) does not affect only one test.
        Shuffled = "shuffled",
    }
}

named_enum! {
    /// The method for averaging repeats into one figure. There is no best-of-N, because it grows with N on any noisy
    /// target.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum AverageMethod {
        /// The arithmetic mean.
        Mean = "mean",
        /// The middle value, or the mean of the two middle values.
        Median = "median",
    }
}

/// A test: one load and its limit.
///
/// [`Test::asks`] contains the values of one kind of test; the other fields apply to all kinds.
///
/// ```
/// use lanemark_schema::units::{Bytes, Duration, Ratio};
/// use lanemark_schema::workload::{LoadKind, Pattern, Test};
///
/// let reads = Test { duration: Some(Duration::from_seconds(2)), ..Test::of_blocks(Bytes::kibi(4)) };
/// let mixed = reads.clone().with(|test| {
///     test.pattern = Pattern::Sequential;
///     test.read_share = Ratio::new(0.7).unwrap_or_default();
/// });
/// assert!(reads.reads() && !reads.writes());
/// assert!(mixed.writes() && mixed.is_in_order());
/// assert!(matches!(mixed.asks, LoadKind::Requests(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "saved::SavedTest", into = "saved::SavedTest")]
pub struct Test {
    /// Display name, such as `RND4K Q32T1 read`.
    pub name: String,
    /// The size of each request; in a mix, the maximum size; for a database, the page size; for a trace, the mean size.
    pub block: Bytes,
    /// Number of threads, each with its own queue, or number of users of a database.
    pub threads: u32,
    /// Size of the used range of the target, which starts at [`Test::offset`].
    pub span: Bytes,
    /// Start of the span on the target.
    pub offset: Bytes,
    /// The test stops after this much data, if given.
    pub volume: Option<Bytes>,
    /// The test stops after this time, if given.
    pub duration: Option<Duration>,
    /// If given, the test stops when the figures of its rounds are steady, and neither a volume nor a duration is
    /// given.
    pub rounds: Option<RoundSettings>,
    /// The intervals of the sample's series, if given.
    pub interval: Option<SeriesInterval>,
    /// Time for which the load runs before requests are counted.
    pub ramp: Duration,
    /// The share of zeros in each written 4 KiB, which a drive can compress.
    pub compressibility: Ratio,
    /// The start time of the test.
    pub start: TestStart,
    /// Requests or transactions of the test.
    pub asks: LoadKind,
}

impl Test {
    /// Returns the drawn requests of the test, or `None` if the test does not draw its requests.
    pub fn requests(&self) -> Option<&SyntheticRequests> {
        if let LoadKind::Requests(requests) = &self.asks { Some(requests) } else { None }
    }

    /// Returns the drawn requests of the test for modification.
    pub fn requests_mut(&mut self) -> Option<&mut SyntheticRequests> {
        if let LoadKind::Requests(requests) = &mut self.asks { Some(requests) } else { None }
    }

    /// Returns the test with changed requests. A test without drawn requests stays unchanged.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut SyntheticRequests)) -> Self {
        self.requests_mut().map(change);
        self
    }

    /// Returns the number of requests outstanding per thread; `None` for a database, whose users determine it, and if
    /// the source of a result does not state it.
    pub fn queue_depth(&self) -> Option<u32> {
        match &self.asks {
            LoadKind::Requests(requests) => Some(requests.queue_depth),
            LoadKind::Trace(trace) => Some(trace.queue_depth),
            LoadKind::PartlyStated(stated) => stated.queue_depth,
            LoadKind::Transactions(_) | LoadKind::Database(_) => None,
        }
    }

    /// Returns the number of requests that an engine keeps outstanding per thread: the queue depth of the test, and 1
    /// for a test without one.
    pub fn issue_depth(&self) -> u32 {
        self.queue_depth().unwrap_or(1)
    }

    /// Returns the share of requests that are reads; `None` for a database, whose buffer determines it during the run.
    pub fn read_share(&self) -> Option<Ratio> {
        match &self.asks {
            LoadKind::Requests(requests) => Some(requests.read_share),
            LoadKind::Trace(trace) => Some(trace.read_share),
            LoadKind::PartlyStated(stated) => Some(stated.read_share),
            LoadKind::Transactions(_) | LoadKind::Database(_) => None,
        }
    }

    /// Returns the share of reads for which ceilings are computed: the test's share, and one half for a database, which
    /// reads and writes.
    pub fn ceiling_read_share(&self) -> Ratio {
        self.read_share().unwrap_or(Ratio::HALF)
    }

    /// Returns the alignment of the requests' offsets; for a database, the page size.
    pub fn alignment(&self) -> Bytes {
        match &self.asks {
            LoadKind::Requests(requests) => requests.alignment,
            LoadKind::Trace(trace) => trace.alignment,
            LoadKind::PartlyStated(stated) => stated.alignment,
            LoadKind::Transactions(_) | LoadKind::Database(_) => self.block,
        }
    }

    /// Returns the order of the requests' positions, if the test draws them and states the order.
    pub fn pattern(&self) -> Option<&Pattern> {
        if let LoadKind::PartlyStated(stated) = &self.asks {
            stated.pattern.as_ref()
        } else {
            self.requests().map(|requests| &requests.pattern)
        }
    }

    /// Returns the settings that the source of a result does not state, each with the option of `lanemark report` that
    /// supplies it.
    pub fn unstated(&self) -> Vec<(&'static str, &'static str)> {
        if let LoadKind::PartlyStated(stated) = &self.asks { stated.missing() } else { Vec::new() }
    }

    /// Returns the requests in addition to reads and writes of one size; empty if the test does not draw its requests.
    pub fn mix(&self) -> &RequestMix {
        self.requests().map_or(PLAIN, |requests| &requests.mix)
    }

    /// Returns the time for which a thread waits between a completion and its next request. The users of a database
    /// have a separate think time.
    pub fn think(&self) -> Duration {
        self.requests().map_or(Duration::ZERO, |requests| requests.think)
    }

    /// Returns whether every offset of the span is equally likely. This includes the pages of a database.
    pub fn is_uniform(&self) -> bool {
        match &self.asks {
            LoadKind::Requests(requests) => requests.pattern == Pattern::Uniform,
            LoadKind::Transactions(_) | LoadKind::Database(_) => true,
            LoadKind::Trace(_) | LoadKind::PartlyStated(_) => false,
        }
    }

    /// Returns whether the test draws its requests, in a closed loop.
    pub fn is_closed(&self) -> bool {
        self.requests().is_some_and(|requests| requests.load.is_closed())
    }

    /// Returns whether successive requests of a thread are adjacent on the target.
    pub fn is_in_order(&self) -> bool {
        self.requests().is_some_and(SyntheticRequests::is_in_order)
    }

    /// Returns the order of the offsets in a word, `sequential` or `random`; `None` if it is not stated, or a trace's.
    pub fn order_word(&self) -> Option<&'static str> {
        match &self.asks {
            LoadKind::Trace(_) => None,
            LoadKind::Transactions(_) | LoadKind::Database(_) => Some("random"),
            LoadKind::PartlyStated(PartialRequests { pattern: None, .. }) => None,
            LoadKind::PartlyStated(PartialRequests { pattern: Some(pattern), .. }) => {
                Some(if *pattern == Pattern::Sequential { "sequential" } else { "random" })
            }
            LoadKind::Requests(requests) => {
                Some(if requests.is_in_order() { "sequential" } else { "random" })
            }
        }
    }

    /// Returns whether the test replays a recorded trace.
    pub fn is_trace(&self) -> bool {
        matches!(self.asks, LoadKind::Trace(_))
    }

    /// Returns the minimum length of a request.
    pub fn block_least(&self) -> Bytes {
        self.mix().sizes.iter().map(|size| size.block).min().unwrap_or(self.block)
    }

    /// Returns the mean length of a request.
    pub fn block_mean(&self) -> f64 {
        self.mix().block_mean(self.block)
    }

    /// Returns whether the test trims.
    pub fn trims(&self) -> bool {
        self.mix().trim_share > Ratio::ZERO
    }

    /// Returns whether the test writes.
    pub fn writes(&self) -> bool {
        self.read_share() != Some(Ratio::ONE) && self.mix().trim_share < Ratio::ONE
    }

    /// Returns whether the test reads.
    pub fn reads(&self) -> bool {
        self.read_share() != Some(Ratio::ZERO) && self.mix().trim_share < Ratio::ONE
    }

    /// Returns whether the test destroys the data on the target.
    pub fn destroys(&self) -> bool {
        self.writes() || self.trims()
    }

    /// Returns the number of requests outstanding over all threads.
    pub fn population(&self) -> u64 {
        u64::from(self.issue_depth()) * u64::from(self.threads)
    }

    /// Returns the end of the span.
    pub fn span_end(&self) -> Bytes {
        Bytes(self.offset.get().saturating_add(self.span.get()))
    }

    /// Returns the end of the used part of the target: the end of the span, or of its copy.
    pub fn end(&self) -> Bytes {
        let copy = self.mix().copy_to.map(|to| to.get().saturating_add(self.span.get()));
        self.span_end().max(Bytes(copy.unwrap_or(0)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns 4 KiB uniform random reads over 1 GiB, at queue depth 1.
    pub(crate) fn random_read() -> Test {
        Test {
            name: "RND4K Q1T1 read".to_owned(),
            volume: Some(Bytes::mebi(16)),
            ..Test::of_blocks(Bytes::kibi(4))
        }
    }

    fn requests_of(test: &mut Test) -> &mut SyntheticRequests {
        test.requests_mut().unwrap()
    }

    #[test]
    fn each_bound_is_named() {
        assert_eq!(random_read().check(), Ok(()));
        let cases: [(&str, fn(&mut Test)); 9] = [
            ("block", |t| t.block = Bytes(1000)),
            ("block", |t| t.block = Bytes::mebi(65)),
            ("alignment", |t| requests_of(t).alignment = Bytes::ZERO),
            ("queue_depth", |t| requests_of(t).queue_depth = 0),
            ("threads", |t| t.threads = 5000),
            ("volume", |t| t.volume = None),
            ("span", |t| t.span = Bytes(512)),
            ("theta", |t| requests_of(t).pattern = Pattern::Zipf { theta: 0.0 }),
            ("hot_span", |t| {
                requests_of(t).pattern =
                    Pattern::HotCold { hot_span: Ratio::ZERO, hot_share: Ratio::ONE };
            }),
        ];
        for (field, spoil) in cases {
            let mut test = random_read();
            spoil(&mut test);
            assert_eq!(test.check().unwrap_err().field, field);
        }
    }

    #[test]
    fn a_copy_is_a_closed_loop_of_reads_and_writes_only() {
        let copy = || {
            random_read().with(|requests| {
                requests.read_share = Ratio::HALF;
                requests.mix.copy_to = Some(Bytes::mebi(4096));
            })
        };
        assert_eq!(copy().check(), Ok(()));
        let cases: [(&str, fn(&mut SyntheticRequests)); 6] = [
            ("copy_to", |settings| settings.mix.copy_to = Some(Bytes(4096 * 1024 + 1))),
            ("copy_to", |settings| settings.mix.copy_to = Some(Bytes::kibi(4))),
            ("read", |settings| settings.read_share = Ratio::ONE),
            ("trim", |settings| settings.mix.trim_share = Ratio::HALF),
            ("flush_every", |settings| settings.mix.flush_every = Some(8)),
            ("rate", |settings| {
                settings.load =
                    Load::Open { rate_per_second: 1e3, process: ArrivalProcess::Poisson };
            }),
        ];
        for (field, spoil) in cases {
            let error = copy().with(spoil).check().unwrap_err();
            assert_eq!(error.field, field, "{error}");
        }
        // A copy may begin at the end of the span that it reads.
        let end = copy().span_end();
        assert_eq!(copy().with(|settings| settings.mix.copy_to = Some(end)).check(), Ok(()));
    }
}

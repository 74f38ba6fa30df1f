//! What a test asks its target for, and what can be said of every test, whatever it asks for.

use super::{DatabaseUsers, Mix, Pattern, Requests, Test, Transactions};
use crate::units::{Bytes, Duration, Ratio};

static PLAIN: Mix = Mix::PLAIN;

/// The kind of load of a [`Test`], with the values that only this kind has.
#[derive(Clone, Debug, PartialEq)]
pub enum Asks {
    /// Requests at places of their own, as a benchmark program makes them.
    Requests(Requests),
    /// Simulated transactions of a database; each thread is a user. A real database is measured by what asks it for
    /// real transactions.
    Transactions(Box<Transactions>),
    /// The users of a real database; each thread is a user, a page is the block, and the loaded data is the span. Such a
    /// test tells what was run and cannot be asked of a drive or a model.
    Database(DatabaseUsers),
    /// The requests of a recorded trace. Such a test tells what was replayed and cannot be run again by itself: its
    /// block is the mean of the requests, its span ends with the last byte that they touched.
    Trace(TraceSummary),
}

/// What a recorded trace asked for, in the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSummary {
    /// The share of requests that read.
    pub read_share: Ratio,
    /// The most requests that were outstanding, or that the replay was allowed.
    pub queue_depth: u32,
    /// Every request starts at a multiple of this.
    pub alignment: Bytes,
}

impl From<Requests> for Asks {
    fn from(requests: Requests) -> Self {
        Self::Requests(requests)
    }
}

impl From<Transactions> for Asks {
    fn from(transactions: Transactions) -> Self {
        Self::Transactions(Box::new(transactions))
    }
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
        self.requests().map_or(&PLAIN, |requests| &requests.mix)
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
}

//! A test as it lies in result files: one flat table for all kinds of tests.
//!
//! A kind of test that lacks a value writes what it has always written there: a database asks for one request at a
//! time, half of them reads, anywhere in the span, and a trace has neither a mix nor a think time. These values are not
//! kept when such a test is read.

use serde::{Deserialize, Serialize};

use super::{
    Asks, DatabaseUsers, Interval, Load, Mix, Pattern, Process, Requests, Rounds, Start, Test,
    TestError, TraceSummary, Transactions, Zone,
};
use crate::units::{Bytes, Duration, Ratio};

/// A test's table.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Test")]
pub(super) struct SavedTest {
    name: String,
    block_bytes: Bytes,
    pattern: SavedPattern,
    read_share: Ratio,
    queue_depth: u32,
    threads: u32,
    span_bytes: Bytes,
    offset_bytes: Bytes,
    alignment_bytes: Bytes,
    volume_bytes: Option<Bytes>,
    duration_ns: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rounds: Option<Rounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<Interval>,
    ramp_ns: Duration,
    think_ns: Duration,
    compressibility: Ratio,
    #[serde(default, skip_serializing_if = "Mix::is_plain")]
    mix: Mix,
    #[serde(default, skip_serializing_if = "SavedLoad::is_closed")]
    load: SavedLoad,
    #[serde(default, skip_serializing_if = "Start::is_plain")]
    start: Start,
}

/// The order of the requests' places, or that they are a trace's.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Pattern", rename_all = "kebab-case")]
enum SavedPattern {
    Sequential,
    Backward,
    Uniform,
    Shuffled,
    Pareto { h: f64 },
    Normal { deviation: Ratio },
    Zones { zones: Vec<Zone> },
    Zipf { theta: f64 },
    HotCold { hot_span: Ratio, hot_share: Ratio },
    Trace,
}

/// The rule by which requests come, or who asks for them.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename = "Load", tag = "loop", rename_all = "kebab-case")]
enum SavedLoad {
    #[default]
    Closed,
    Open {
        rate_per_second: f64,
        process: Process,
    },
    Transactions(Box<Transactions>),
    Database(DatabaseUsers),
}

impl SavedLoad {
    fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

impl SavedPattern {
    /// The pattern by which places are drawn; none for a trace's.
    fn drawn(self) -> Option<Pattern> {
        Some(match self {
            Self::Sequential => Pattern::Sequential,
            Self::Backward => Pattern::Backward,
            Self::Uniform => Pattern::Uniform,
            Self::Shuffled => Pattern::Shuffled,
            Self::Pareto { h } => Pattern::Pareto { h },
            Self::Normal { deviation } => Pattern::Normal { deviation },
            Self::Zones { zones } => Pattern::Zones { zones },
            Self::Zipf { theta } => Pattern::Zipf { theta },
            Self::HotCold { hot_span, hot_share } => Pattern::HotCold { hot_span, hot_share },
            Self::Trace => return None,
        })
    }
}

impl From<Pattern> for SavedPattern {
    fn from(pattern: Pattern) -> Self {
        match pattern {
            Pattern::Sequential => Self::Sequential,
            Pattern::Backward => Self::Backward,
            Pattern::Uniform => Self::Uniform,
            Pattern::Shuffled => Self::Shuffled,
            Pattern::Pareto { h } => Self::Pareto { h },
            Pattern::Normal { deviation } => Self::Normal { deviation },
            Pattern::Zones { zones } => Self::Zones { zones },
            Pattern::Zipf { theta } => Self::Zipf { theta },
            Pattern::HotCold { hot_span, hot_share } => Self::HotCold { hot_span, hot_share },
        }
    }
}

impl TryFrom<SavedTest> for Test {
    type Error = TestError;

    /// Refuses a trace that is also a database's load.
    fn try_from(saved: SavedTest) -> Result<Self, TestError> {
        let SavedTest { read_share, queue_depth, alignment_bytes: alignment, .. } = saved;
        let requests = |pattern, load| {
            let (think, mix) = (saved.think_ns, saved.mix);
            Requests { pattern, read_share, queue_depth, alignment, think, mix, load }.into()
        };
        let trace = |error: &str| TestError {
            field: "pattern",
            value: "trace".to_owned(),
            bound: format!("none beside a load of {error}"),
        };
        let asks = match (saved.pattern.drawn(), saved.load) {
            (Some(pattern), SavedLoad::Closed) => requests(pattern, Load::Closed),
            (Some(pattern), SavedLoad::Open { rate_per_second, process }) => {
                requests(pattern, Load::Open { rate_per_second, process })
            }
            (Some(_), SavedLoad::Transactions(transactions)) => Asks::Transactions(transactions),
            (Some(_), SavedLoad::Database(users)) => Asks::Database(users),
            (None, SavedLoad::Closed) => {
                Asks::Trace(TraceSummary { read_share, queue_depth, alignment })
            }
            (None, SavedLoad::Open { .. }) => return Err(trace("an open loop")),
            (None, SavedLoad::Transactions(_)) => return Err(trace("transactions")),
            (None, SavedLoad::Database(_)) => return Err(trace("a database")),
        };
        Ok(Self {
            name: saved.name,
            block: saved.block_bytes,
            threads: saved.threads,
            span: saved.span_bytes,
            offset: saved.offset_bytes,
            volume: saved.volume_bytes,
            duration: saved.duration_ns,
            rounds: saved.rounds,
            interval: saved.interval,
            ramp: saved.ramp_ns,
            compressibility: saved.compressibility,
            start: saved.start,
            asks,
        })
    }
}

impl From<Test> for SavedTest {
    fn from(test: Test) -> Self {
        let (read_share, queue_depth) = (test.read_share(), test.queue_depth());
        let (alignment_bytes, think_ns) = (test.alignment(), test.think());
        let (pattern, mix, load) = match test.asks {
            Asks::Requests(Requests { pattern, mix, load, .. }) => {
                (pattern.into(), mix, load.into())
            }
            Asks::Transactions(load) => {
                (SavedPattern::Uniform, Mix::PLAIN, SavedLoad::Transactions(load))
            }
            Asks::Database(users) => {
                (SavedPattern::Uniform, Mix::PLAIN, SavedLoad::Database(users))
            }
            Asks::Trace(_) => (SavedPattern::Trace, Mix::PLAIN, SavedLoad::Closed),
        };
        Self {
            name: test.name,
            block_bytes: test.block,
            pattern,
            read_share,
            queue_depth,
            threads: test.threads,
            span_bytes: test.span,
            offset_bytes: test.offset,
            alignment_bytes,
            volume_bytes: test.volume,
            duration_ns: test.duration,
            rounds: test.rounds,
            interval: test.interval,
            ramp_ns: test.ramp,
            think_ns,
            compressibility: test.compressibility,
            mix,
            load,
            start: test.start,
        }
    }
}

impl From<Load> for SavedLoad {
    fn from(load: Load) -> Self {
        match load {
            Load::Closed => Self::Closed,
            Load::Open { rate_per_second, process } => Self::Open { rate_per_second, process },
        }
    }
}

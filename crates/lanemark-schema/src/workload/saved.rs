//! A test in result files: one flat table for all kinds of tests.
//!
//! For compatibility, a test that lacks such a value is saved with a fixed value: a database submits one random request
//! at a time, half of them reads, and a trace has neither a mix nor a think time. These values are ignored when such a
//! test is read.

use serde::{Deserialize, Serialize};

use super::{
    ArrivalProcess, DatabaseUsers, Load, LoadKind, PartialRequests, Pattern, PatternZone,
    RequestMix, RoundSettings, SeriesInterval, SyntheticRequests, Test, TestError, TestStart,
    TraceSummary, TransactionLoad,
};
use crate::units::{Bytes, Duration, Ratio};

#[derive(Serialize, Deserialize)]
#[serde(rename = "Test")]
pub(super) struct SavedTest {
    name: String,
    block_bytes: Bytes,
    pattern: SavedPattern,
    /// Absent for a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_share: Option<Ratio>,
    /// Null for a database, and if the source of the result does not state it.
    #[serde(deserialize_with = "Option::deserialize")]
    queue_depth: Option<u32>,
    threads: u32,
    span_bytes: Bytes,
    offset_bytes: Bytes,
    alignment_bytes: Bytes,
    volume_bytes: Option<Bytes>,
    duration_ns: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rounds: Option<RoundSettings>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<SeriesInterval>,
    ramp_ns: Duration,
    think_ns: Duration,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    burst: u32,
    compressibility: Ratio,
    #[serde(default, skip_serializing_if = "RequestMix::is_plain")]
    mix: RequestMix,
    #[serde(default, skip_serializing_if = "SavedLoad::is_closed")]
    load: SavedLoad,
    #[serde(default, skip_serializing_if = "TestStart::is_plain")]
    start: TestStart,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(burst: &u32) -> bool {
    *burst == 1
}

/// The order of the requests' offsets, or the mark of a trace.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Pattern", rename_all = "kebab-case")]
enum SavedPattern {
    Sequential,
    Backward,
    Uniform,
    Shuffled,
    Pareto { h: f64 },
    Normal { deviation: Ratio },
    Zones { zones: Vec<PatternZone> },
    Zipf { theta: f64 },
    PartlyRandom { random_share: Ratio },
    HotCold { hot_span: Ratio, hot_share: Ratio },
    Trace,
    NotStated,
}

/// The arrival of the requests, or the mark of a database.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename = "Load", tag = "loop", rename_all = "kebab-case")]
enum SavedLoad {
    #[default]
    Closed,
    Open {
        rate_per_second: f64,
        process: ArrivalProcess,
    },
    Transactions(Box<TransactionLoad>),
    Database(DatabaseUsers),
}

impl SavedLoad {
    fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

impl SavedPattern {
    /// Returns the pattern that draws the positions; `None` for a trace, or if the pattern is not stated.
    fn stated_pattern(self) -> Option<Pattern> {
        Some(match self {
            Self::Sequential => Pattern::Sequential,
            Self::Backward => Pattern::Backward,
            Self::Uniform => Pattern::Uniform,
            Self::Shuffled => Pattern::Shuffled,
            Self::Pareto { h } => Pattern::Pareto { h },
            Self::Normal { deviation } => Pattern::Normal { deviation },
            Self::Zones { zones } => Pattern::Zones { zones },
            Self::Zipf { theta } => Pattern::Zipf { theta },
            Self::PartlyRandom { random_share } => Pattern::PartlyRandom { random_share },
            Self::HotCold { hot_span, hot_share } => Pattern::HotCold { hot_span, hot_share },
            Self::Trace | Self::NotStated => return None,
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
            Pattern::PartlyRandom { random_share } => Self::PartlyRandom { random_share },
            Pattern::HotCold { hot_span, hot_share } => Self::HotCold { hot_span, hot_share },
        }
    }
}

impl TryFrom<SavedTest> for Test {
    type Error = TestError;

    /// Rejects a trace that is also a database's load, and requests without a property that only a database lacks.
    fn try_from(saved: SavedTest) -> Result<Self, TestError> {
        let SavedTest { read_share, queue_depth, alignment_bytes: alignment, .. } = saved;
        let is_trace = matches!(saved.pattern, SavedPattern::Trace);
        let not_stated = |field: &'static str| TestError {
            field,
            value: "not stated".to_owned(),
            bound: "a number, unless the load is a database's".to_owned(),
        };
        let trace = |error: &str| TestError {
            field: "pattern",
            value: "trace".to_owned(),
            bound: format!("not together with {error}"),
        };
        let share = || read_share.ok_or_else(|| not_stated("read_share"));
        let depth = || queue_depth.ok_or_else(|| not_stated("queue_depth"));
        let asks = match (saved.pattern.stated_pattern(), saved.load) {
            (_, SavedLoad::Transactions(_)) if is_trace => return Err(trace("transactions")),
            (_, SavedLoad::Database(_)) if is_trace => return Err(trace("a database")),
            (_, SavedLoad::Open { .. }) if is_trace => return Err(trace("an open loop")),
            (_, SavedLoad::Transactions(transactions)) => LoadKind::Transactions(transactions),
            (_, SavedLoad::Database(users)) => LoadKind::Database(users),
            (_, SavedLoad::Closed) if is_trace => LoadKind::Trace(TraceSummary {
                read_share: share()?,
                queue_depth: depth()?,
                alignment,
            }),
            (None, SavedLoad::Open { .. }) => return Err(not_stated("pattern")),
            (pattern, SavedLoad::Closed) if pattern.is_none() || queue_depth.is_none() => {
                LoadKind::PartlyStated(PartialRequests {
                    pattern,
                    read_share: share()?,
                    queue_depth,
                    alignment,
                })
            }
            (Some(pattern), load) => SyntheticRequests {
                pattern,
                read_share: share()?,
                queue_depth: depth()?,
                alignment,
                think: saved.think_ns,
                burst: saved.burst,
                mix: saved.mix,
                load: match load {
                    SavedLoad::Open { rate_per_second, process } => {
                        Load::Open { rate_per_second, process }
                    }
                    SavedLoad::Closed | SavedLoad::Transactions(_) | SavedLoad::Database(_) => {
                        Load::Closed
                    }
                },
            }
            .into(),
            (None, SavedLoad::Closed) => return Err(not_stated("pattern")),
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
        let read_share = test.read_share();
        let queue_depth = test.queue_depth();
        let alignment_bytes = test.alignment();
        let think_ns = test.think();
        let burst = test.requests().map_or(1, |requests| requests.burst);
        let (pattern, mix, load) = match test.asks {
            LoadKind::Requests(SyntheticRequests { pattern, mix, load, .. }) => {
                (pattern.into(), mix, load.into())
            }
            LoadKind::Transactions(load) => {
                (SavedPattern::Uniform, RequestMix::PLAIN, SavedLoad::Transactions(load))
            }
            LoadKind::Database(users) => {
                (SavedPattern::Uniform, RequestMix::PLAIN, SavedLoad::Database(users))
            }
            LoadKind::Trace(_) => (SavedPattern::Trace, RequestMix::PLAIN, SavedLoad::Closed),
            LoadKind::PartlyStated(stated) => {
                let pattern = stated.pattern.map_or(SavedPattern::NotStated, Into::into);
                (pattern, RequestMix::PLAIN, SavedLoad::Closed)
            }
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
            burst,
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

#[cfg(test)]
mod tests {
    use super::super::tests::random_read;
    use super::super::transactions::tests::{transactions, users};
    use super::super::{SizeShare, TransactionProfile};
    use super::*;

    fn database() -> LoadKind {
        LoadKind::Database(DatabaseUsers {
            profile: TransactionProfile::Tpcc,
            warehouses: 10,
            divisor: 1,
            contents_seed: 1,
            think_times: true,
            pause: Duration::ZERO,
        })
    }

    fn trace() -> LoadKind {
        LoadKind::Trace(TraceSummary {
            read_share: Ratio::new(0.25).unwrap(),
            queue_depth: 7,
            alignment: Bytes(512),
        })
    }

    fn patterns() -> Vec<Pattern> {
        let third = Ratio::new(1.0 / 3.0).unwrap();
        vec![
            Pattern::Sequential,
            Pattern::Backward,
            Pattern::Uniform,
            Pattern::Shuffled,
            Pattern::Pareto { h: 0.2 },
            Pattern::Normal { deviation: third },
            Pattern::Zones { zones: vec![PatternZone { share: third, span: third }] },
            Pattern::Zipf { theta: 0.99 },
            Pattern::PartlyRandom { random_share: third },
            Pattern::HotCold { hot_span: third, hot_share: Ratio::HALF },
        ]
    }

    #[test]
    fn every_kind_of_test_comes_back_as_it_was() {
        let mixed = random_read().with(|requests| {
            requests.load = Load::Open { rate_per_second: 500.0, process: ArrivalProcess::Poisson };
            requests.mix.sizes = vec![SizeShare { block: Bytes::kibi(4), share: 1.0 }];
            requests.mix.flush_every = Some(8);
            requests.think = Duration::from_microseconds(5);
        });
        let mut all: Vec<Test> = patterns()
            .into_iter()
            .map(|pattern| random_read().with(|requests| requests.pattern = pattern))
            .collect();
        all.extend([mixed, users(transactions())]);
        all.extend([database(), trace()].map(|asks| Test { asks, ..random_read() }));
        for test in all {
            let text = serde_json::to_string(&test).unwrap();
            let read: Test = serde_json::from_str(&text).unwrap();
            assert_eq!(read, test, "{text}");
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }

    #[test]
    fn files_have_the_keys_of_their_kind_of_test() {
        let head = r#"{"name":"RND4K Q1T1 read","block_bytes":4096,"pattern":"#;
        let range = r#""threads":1,"span_bytes":1073741824,"offset_bytes":0,"#;
        let end = r#""volume_bytes":16777216,"duration_ns":null,"ramp_ns":0.0,"think_ns":0.0,"compressibility":0.0"#;
        let database_load = r#","load":{"loop":"database","profile":"tpcc","warehouses":10,"divisor":1,"contents_seed":1,"think_times":true}"#;
        let traced = r#""trace","read_share":0.25,"queue_depth":7,"#;
        // The users and the buffer of a database determine its depth and its share of reads.
        for (test, keys, alignment, load) in [
            (random_read(), r#""uniform","read_share":1.0,"queue_depth":1,"#, 4096, ""),
            (Test { asks: trace(), ..random_read() }, traced, 512, ""),
            (
                Test { asks: database(), ..random_read() },
                r#""uniform","queue_depth":null,"#,
                4096,
                database_load,
            ),
        ] {
            let text = format!(r#"{head}{keys}{range}"alignment_bytes":{alignment},{end}{load}}}"#);
            assert_eq!(serde_json::to_string(&test).unwrap(), text);
            assert_eq!(serde_json::from_str::<Test>(&text).unwrap(), test);
        }
    }

    #[test]
    fn unstated_settings_are_read_back_as_unstated() {
        let read_share = Ratio::new(0.75).unwrap();
        for (pattern, queue_depth) in
            [(None, None), (None, Some(8)), (Some(Pattern::Uniform), None)]
        {
            let alignment = Bytes(4096);
            let stated = PartialRequests { pattern, read_share, queue_depth, alignment };
            let test = Test { asks: LoadKind::PartlyStated(stated), ..random_read() };
            let text = serde_json::to_string(&test).unwrap();
            assert_eq!(text.contains(r#""pattern":"not-stated""#), test.pattern().is_none());
            assert_eq!(text.contains(r#""queue_depth":null"#), queue_depth.is_none());
            assert_eq!(serde_json::from_str::<Test>(&text).unwrap(), test);
            let error = test.checked().unwrap_err().to_string();
            assert!(error.contains("not stated") && error.contains("lanemark report"), "{error}");
        }
    }

    #[test]
    fn a_trace_is_not_a_separate_load() {
        let text = serde_json::to_string(&users(transactions())).unwrap();
        let spoilt = text.replace("\"uniform\"", "\"trace\"");
        let error = serde_json::from_str::<Test>(&spoilt).unwrap_err().to_string();
        assert!(error.starts_with("pattern = trace: not together with transactions"), "{error}");
        let unknown = text.replace("\"uniform\"", "\"sideways\"");
        let error = serde_json::from_str::<Test>(&unknown).unwrap_err().to_string();
        assert!(error.starts_with("unknown variant `sideways`, expected one of"), "{error}");
        let text = serde_json::to_string(&random_read()).unwrap();
        for (key, wanted) in [
            ("\"queue_depth\":1,", "missing field `queue_depth`"),
            ("\"read_share\":1.0,", "read_share = not stated"),
        ] {
            let less = text.replace(key, "");
            let error = serde_json::from_str::<Test>(&less).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}

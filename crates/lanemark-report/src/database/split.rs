//! The parts of a transaction's time, for the text and the page of a run.

use lanemark_schema::result::{SessionProcessorTime, TestResult, TransactionFigures, WaitClass};

/// The parts of a transaction's mean time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimeSplit {
    /// The source of the parts, such as `from 400 samples of sessions`.
    pub(crate) source: String,
    /// Mean time on a processor and mean time ready to run, both measured and in ms, if the parts come from samples.
    pub(crate) measured: Option<(f64, f64)>,
    pub(crate) parts: Vec<TimePart>,
}

/// One part of a transaction's time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimePart {
    /// Number of the part's wait class, which is the same in all runs.
    pub(crate) class: usize,
    pub(crate) name: &'static str,
    pub(crate) ms: f64,
    /// Share of the response time.
    pub(crate) share: f64,
    /// The error of a sampled share, or an explanation of the part.
    pub(crate) note: String,
}

/// The class of the time ready to run, which is not a wait class.
const READY: usize = WaitClass::ALL.len();
/// The class of waiting time whose wait class is not known.
const WAITING: usize = READY + 1;

impl TimeSplit {
    /// Returns the parts of the transactions of `test`, from samples of the server if available, otherwise from the
    /// states of the users' threads; `None` if neither source is available.
    pub(crate) fn from_test(test: &TestResult) -> Option<Self> {
        let response_ms = test.of_transactions(TransactionFigures::response_ms)?.value;
        let part = |class: usize, name: &'static str, ms: f64, note: String| TimePart {
            class,
            name,
            ms,
            share: ms / response_ms.max(1e-9),
            note,
        };
        let sessions = |part: fn(&SessionProcessorTime) -> f64| {
            let each = |all: &TransactionFigures| {
                all.per_transaction(1e3 * part(all.processor_time.as_ref()?.sessions.as_ref()?))
            };
            test.of_transactions(each).map(|statistic| statistic.value)
        };
        let measured = sessions(|used| used.running_s).zip(sessions(|used| used.ready_s));
        let samples = test.of_transactions(|all| Some(all.waits.as_ref()?.total() as f64));
        let Some(samples) = samples else {
            let (running, ready) = measured?;
            let waiting = (response_ms - running - ready).max(0.0);
            let what = "for the file, a flush or another user".to_owned();
            let parts = vec![
                part(0, "on a processor", running, String::new()),
                part(READY, "ready for one", ready, String::new()),
                part(WAITING, "waiting", waiting, what),
            ];
            return Some(Self { source: "by its user's thread".to_owned(), measured: None, parts });
        };
        let all = samples.value * f64::from(samples.count);
        let mut parts = Vec::new();
        for (index, class) in WaitClass::ALL.into_iter().enumerate() {
            let share = |all: &TransactionFigures| Some(all.waits.as_ref()?.share(class)?.0);
            // The share is computed over the samples of all repeats together; repeats have nearly equal numbers of
            // samples.
            let share = test.of_transactions(share).map(|statistic| statistic.value);
            let Some(share) = share.filter(|share| *share > 0.0) else { continue };
            let error = (share * (1.0 - share) / all.max(1.0)).sqrt();
            let note = format!("± {:.1} points", 100.0 * error);
            parts.push(part(index, class.name(), share * response_ms, note));
        }
        Some(Self { source: format!("from {all:.0} samples of sessions"), measured, parts })
    }

    /// Returns the sum of the parts in ms.
    pub(crate) fn total_ms(&self) -> f64 {
        self.parts.iter().map(|part| part.ms).sum()
    }
}

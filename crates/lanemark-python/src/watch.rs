//! Work without the interpreter's lock, which Ctrl-C ends immediately.
//!
//! Python handles signals only in its main thread, and only between its own instructions. A run reports its progress to
//! the calling thread ten times a second, and that thread then checks for signals. Other work reports less often; it
//! runs in a separate thread while the calling thread checks for signals. In both cases the calling thread forwards
//! progress, and cancels the work if a signal handler or the progress callback raises an exception.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lanemark_lab::{Event, TestPosition};
use pyo3::prelude::*;

/// Interval between two checks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A cancellation signal that other threads can hold.
#[pyclass(frozen, module = "lanemark._lanemark")]
#[derive(Default)]
pub(crate) struct Cancel(pub(crate) lanemark_lab::CancelFlag);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn cancel(&self) {
        self.0.cancel();
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// The finished pieces of work, and the total number of pieces.
#[derive(Default)]
pub(crate) struct Progress(Mutex<ProgressCounts>);

#[derive(Default)]
struct ProgressCounts {
    ended: usize,
    total: usize,
    /// The share of each running repeat that is done.
    running: BTreeMap<TestPosition, f64>,
    /// The largest number that was reported, because a share may decrease while a test converges.
    reported: f64,
}

impl Progress {
    /// Creates a progress record for this number of pieces.
    pub(crate) fn with_total(total: usize) -> Self {
        Self(Mutex::new(ProgressCounts { total, ..ProgressCounts::default() }))
    }

    fn counted(&self) -> MutexGuard<'_, ProgressCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an event of the laboratory.
    pub(crate) fn note(&self, event: &Event<'_>) {
        match event {
            Event::Advanced(at, so_far) => {
                self.counted().running.insert(*at, so_far.share.unwrap_or_default().min(1.0));
            }
            Event::Sampled(at, _) => {
                let mut counted = self.counted();
                counted.running.remove(at);
                counted.ended += 1;
            }
            Event::SensitivityRun { ended, total } | Event::Drawn { ended, total } => {
                self.set(*ended, *total);
            }
            _ => {}
        }
    }

    /// Records the number of finished pieces.
    pub(crate) fn set(&self, ended: usize, total: usize) {
        *self.counted() = ProgressCounts { ended, total, ..ProgressCounts::default() };
    }

    /// Returns the number of finished pieces, with the finished shares of others, and the total number.
    fn counts(&self) -> (f64, usize) {
        let mut counted = self.counted();
        let running: f64 = counted.running.values().sum();
        counted.reported = counted.reported.max(counted.ended as f64 + running);
        (counted.reported, counted.total)
    }
}

/// Checks for signals and reports progress at intervals; used by work that runs on the calling thread.
pub(crate) struct SignalWatch<'l> {
    cancel: &'l lanemark_lab::CancelFlag,
    progress: &'l Progress,
    on_progress: Option<&'l Py<PyAny>>,
    reported: Option<(f64, usize)>,
    last: Option<Instant>,
    raised: Option<PyErr>,
}

impl<'l> SignalWatch<'l> {
    /// Creates a check that uses `cancel` and `progress`.
    pub(crate) fn new(
        cancel: &'l lanemark_lab::CancelFlag,
        progress: &'l Progress,
        on_progress: Option<&'l Py<PyAny>>,
    ) -> Self {
        Self { cancel, progress, on_progress, reported: None, last: None, raised: None }
    }

    /// Checks for signals and reports progress, unless the last check was very recent. An exception cancels the work.
    pub(crate) fn look(&mut self) {
        let early = self.last.is_some_and(|last| last.elapsed() < LOOK_EVERY);
        // Short work reports only its end, and may end before a signal is handled.
        if self.last.is_none() {
            self.last = Some(Instant::now());
        } else if !early && self.raised.is_none() {
            self.last = Some(Instant::now());
            let now = self.progress.counts();
            let news = self.on_progress.filter(|_| self.reported != Some(now));
            self.reported = Some(now);
            let look = |py: Python<'_>| {
                py.check_signals()?;
                news.map_or(Ok(()), |on| on.call1(py, now).map(drop))
            };
            self.raised = Python::attach(look).err();
            if self.raised.is_some() {
                self.cancel.cancel();
            }
        }
    }

    /// Returns the outcome of the finished work, or the exception that was raised during the work, after a final
    /// progress report.
    pub(crate) fn finish<R>(self, outcome: R) -> PyResult<R> {
        let now = self.progress.counts();
        match (self.raised, self.on_progress.filter(|_| self.reported != Some(now))) {
            (Some(raised), _) => Err(raised),
            (None, Some(on)) => Python::attach(|py| on.call1(py, now)).map(|_| outcome),
            (None, None) => Ok(outcome),
        }
    }
}

/// Runs `work` in a separate thread, because it reports too rarely for signal checks. An exception from a signal
/// handler or from `on_progress` cancels the work through `cancel`, and is raised after the work has ended.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    cancel: &lanemark_lab::CancelFlag,
    progress: &Progress,
    on_progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    py.detach(move || {
        let mut look = SignalWatch::new(cancel, progress, on_progress);
        let (done, ended) = sync_channel::<()>(0);
        let outcome = thread::scope(|scope| {
            let at_work = scope.spawn(move || {
                let _done = done;
                work()
            });
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                look.look();
            }
            at_work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        look.finish(outcome)
    })
}

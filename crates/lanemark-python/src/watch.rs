//! Work without the interpreter's lock, which Ctrl-C ends at once.
//!
//! Python hears signals in its main thread alone, and only between its own instructions. A run tells its calling thread
//! how it goes on, ten times a second, and that thread looks for signals then. Other work tells less and goes to a thread
//! of its own, while the calling one looks. Either passes progress on, and asks for the end where a signal or the progress
//! raises.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use lanemark_lab::Event;
use pyo3::prelude::*;

/// Interval at which signals are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A wish to end what is under way, which other threads can have.
#[pyclass(frozen, module = "lanemark._lanemark")]
#[derive(Default)]
pub(crate) struct Cancel(pub(crate) lanemark_lab::Cancel);

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

/// How many pieces of the work have ended, of how many.
#[derive(Default)]
pub(crate) struct Progress {
    ended: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// Notes a number of pieces.
    pub(crate) fn of(total: usize) -> Self {
        Self { ended: AtomicUsize::new(0), total: AtomicUsize::new(total) }
    }

    /// Notes what the laboratory tells.
    pub(crate) fn note(&self, event: &Event<'_>) {
        match event {
            Event::Sampled(..) => {
                self.ended.fetch_add(1, Ordering::Relaxed);
            }
            Event::Asked { ended, total } | Event::Drawn { ended, total } => {
                self.set(*ended, *total);
            }
            _ => {}
        }
    }

    /// Notes that so many have ended.
    pub(crate) fn set(&self, ended: usize, total: usize) {
        self.ended.store(ended, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    fn told(&self) -> (usize, usize) {
        (self.ended.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Looks for signals and tells of progress, now and then, for work whose calling thread comes by.
pub(crate) struct Look<'l> {
    cancel: &'l lanemark_lab::Cancel,
    progress: &'l Progress,
    on_progress: Option<&'l Py<PyAny>>,
    told: Option<(usize, usize)>,
    last: Option<Instant>,
    raised: Option<PyErr>,
}

impl<'l> Look<'l> {
    /// Looks by `cancel` and `progress`.
    pub(crate) fn new(
        cancel: &'l lanemark_lab::Cancel,
        progress: &'l Progress,
        on_progress: Option<&'l Py<PyAny>>,
    ) -> Self {
        Self { cancel, progress, on_progress, told: None, last: None, raised: None }
    }

    /// Looks, unless it has just looked. What is raised asks for the end.
    pub(crate) fn look(&mut self) {
        let early = self.last.is_some_and(|last| last.elapsed() < LOOK_EVERY);
        // What is short tells of its end alone, and no signal has time to come.
        if self.last.is_none() {
            self.last = Some(Instant::now());
        } else if !early && self.raised.is_none() {
            self.last = Some(Instant::now());
            let now = self.progress.told();
            let news = self.on_progress.filter(|_| self.told != Some(now));
            self.told = Some(now);
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

    /// Returns the outcome of the work that has ended, or what was raised meanwhile, with the last of the progress told.
    pub(crate) fn ended<R>(self, outcome: R) -> PyResult<R> {
        let now = self.progress.told();
        match (self.raised, self.on_progress.filter(|_| self.told != Some(now))) {
            (Some(raised), _) => Err(raised),
            (None, Some(on)) => Python::attach(|py| on.call1(py, now)).map(|_| outcome),
            (None, None) => Ok(outcome),
        }
    }
}

/// Does `work` that tells too little to look meanwhile, in a thread of its own. A signal's exception, or one that
/// `on_progress` raises, asks for the end by `cancel` and is raised once the work has come to it.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    cancel: &lanemark_lab::Cancel,
    progress: &Progress,
    on_progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    py.detach(move || {
        let mut look = Look::new(cancel, progress, on_progress);
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
        look.ended(outcome)
    })
}

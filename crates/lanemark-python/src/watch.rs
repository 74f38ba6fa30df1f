//! Work without the interpreter's lock, which Ctrl-C ends at once.
//!
//! Python hears signals in its main thread alone, and only between its own instructions. The work goes to a thread of
//! its own; the calling one looks for signals meanwhile, passes progress on, and asks for the end where a signal or the
//! progress raises.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

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
            Event::Asked { ended, total } => self.set(*ended, *total),
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

/// Does `work`, and tells `on_progress` of its progress. A signal's exception, or one that `on_progress` raises, asks
/// for the end by `cancel` and is raised once the work has come to it.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    cancel: &lanemark_lab::Cancel,
    progress: &Progress,
    on_progress: Option<Py<PyAny>>,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    py.detach(move || {
        let (done, ended) = sync_channel::<()>(0);
        thread::scope(|scope| {
            let at_work = scope.spawn(move || {
                let _done = done;
                work()
            });
            let (mut raised, mut told) = (None, None);
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if raised.is_some() {
                    continue;
                }
                let now = progress.told();
                let news = on_progress.as_ref().filter(|_| told != Some(now));
                told = Some(now);
                let look = |py: Python<'_>| {
                    py.check_signals()?;
                    news.map_or(Ok(()), |on| on.call1(py, now).map(drop))
                };
                raised = Python::attach(look).err();
                if raised.is_some() {
                    cancel.cancel();
                }
            }
            let outcome = at_work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (raised, on_progress) {
                (Some(raised), _) => Err(raised),
                (None, Some(on)) if told != Some(progress.told()) => {
                    Python::attach(|py| on.call1(py, progress.told())).map(|_| outcome)
                }
                (None, _) => Ok(outcome),
            }
        })
    })
}

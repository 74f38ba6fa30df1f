//! A simulation as the body of a response: one line of JSON per step, until the simulation ends or the client
//! disconnects.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::Frame;
use lanemark_lab::{CancelFlag, LabError, Pool};
use lanemark_study::Library;
use tokio::sync::mpsc;

use crate::curve::CurveJob;
use crate::jobs::{Job, Jobs};
use crate::simulation::{Simulation, StepReport};
use crate::suite::WorkloadRun;

/// Maximum number of lines that wait for the client. Simulations never have more lines, so they never wait for a slow
/// client.
const LINES_MAX: usize = 64;

/// Work that is done in steps.
#[derive(Debug)]
pub enum SteppedWork {
    One(Box<Simulation>),
    Suite(Box<WorkloadRun>),
    /// A curve over queue depth.
    Curve(Box<CurveJob>),
}

/// The lines of a job. The connection owns it; dropping it cancels the job.
struct JobLines {
    lines: mpsc::Receiver<Bytes>,
    cancel: CancelFlag,
}

impl Drop for JobLines {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl HttpBody for JobLines {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.lines.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}

/// The report of a step and the remaining work; `None` if the work was cancelled.
type StepOutcome = Option<(StepReport, (SteppedWork, Library))>;

impl SteppedWork {
    /// Returns whether the next step can use several cores.
    fn is_wide(&self) -> bool {
        matches!(self, Self::One(simulation) if simulation.is_at_interval())
    }

    fn step(&mut self, library: &Library, pool: Pool) -> Result<Option<StepReport>, LabError> {
        match self {
            Self::One(simulation) => simulation.step(library, pool),
            Self::Suite(suite) => suite.step(),
            Self::Curve(curve) => curve.step(),
        }
    }
}

/// Begins a job whose steps are created by `begin`, and returns its lines. All work, including the assembly of the
/// system, is done in steps that wait for their turn.
pub fn begin(
    job: Job,
    jobs: Arc<Jobs>,
    library: Library,
    begin: impl FnOnce(&Library, CancelFlag, Instant) -> Result<SteppedWork, LabError> + Send + 'static,
) -> Body {
    let (sender, lines) = mpsc::channel(LINES_MAX);
    let cancel = job.cancel().clone();
    let body = Body::new(JobLines { lines, cancel: cancel.clone() });
    tokio::spawn(async move {
        let began = Instant::now();
        let mut begin = Some(begin);
        let mut state: Option<(SteppedWork, Library)> = None;
        let mut library = Some(library);
        loop {
            let Some(permit) = jobs.permit().await else { return };
            if cancel.is_cancelled() {
                return;
            }
            let own = state.take();
            let cancel = cancel.clone();
            let make = begin.take();
            let lent = library.take();
            // The interval requires many short tests, which use the free cores.
            let is_wide = own.as_ref().is_some_and(|(steps, _)| steps.is_wide());
            let more = if is_wide { jobs.more_permits() } else { Vec::new() };
            let pool = Pool::new(NonZeroUsize::MIN.saturating_add(more.len()));
            let step = tokio::task::spawn_blocking(move || -> Result<StepOutcome, LabError> {
                let (mut steps, library) = match (own, make, lent) {
                    (Some(state), _, _) => state,
                    (None, Some(make), Some(library)) => {
                        let steps = make(&library, cancel, began)?;
                        (steps, library)
                    }
                    _ => return Ok(None),
                };
                let report = steps.step(&library, pool)?;
                Ok(report.map(|report| (report, (steps, library))))
            });
            let outcome = step.await;
            drop((permit, more));
            let (report, is_over) = match outcome {
                Ok(Ok(Some((report, next)))) => {
                    state = Some(next);
                    let is_over = matches!(report, StepReport::Done { .. });
                    (report, is_over)
                }
                Ok(Ok(None)) => return,
                Ok(Err(error)) => (StepReport::from(error), true),
                Err(_) => {
                    (StepReport::from(LabError::run("the simulation stopped unexpectedly")), true)
                }
            };
            let mut line = serde_json::to_vec(&report).unwrap_or_default();
            line.push(b'\n');
            if sender.send(Bytes::from(line)).await.is_err() {
                return;
            }
            if is_over {
                job.finish();
                return;
            }
        }
    });
    body
}

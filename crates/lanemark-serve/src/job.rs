//! A request of a client as the engine's work: what is done with its data when the model says that it is complete.

use std::sync::Arc;

use lanemark_core::result::ErrorKind;
use lanemark_core::sim::Status;

use crate::clock::Clock;
use crate::data::Data;
use crate::delivered::{Delivered, Due};
use crate::engine::{Step, Work};
use crate::nbd::NbdError;
use crate::nbd::transmission::{Header, Writer};
use crate::outbox::Outbox;
use crate::storing::{Both, Storing};

/// The most data that the engine's thread writes by itself; longer writes are for the connection's thread.
const AT_ONCE_MAX: usize = 256 << 10;

/// Context of an answer besides its request.
#[derive(Clone)]
pub(crate) struct Around {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) data: Arc<Data>,
    pub(crate) storing: Arc<Storing>,
    pub(crate) delivered: Arc<Delivered>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) writer: Writer,
}

/// A request under way.
pub(crate) struct Job {
    pub(crate) around: Around,
    pub(crate) header: Header,
    /// Weight that it was let in with.
    pub(crate) weight: u64,
    pub(crate) task: Task,
}

/// Work left to do with a request's data.
pub(crate) enum Task {
    /// The answer lies ready.
    Read(Vec<u8>),
    /// The answer of a read that failed in the file behind.
    Failed(NbdError),
    /// The data is written.
    Write { payload: Vec<u8>, stored: bool },
    /// The range reads as zeroes, as a hole or not.
    Zero { hole: bool, stored: bool },
    /// Nothing.
    Nothing,
    /// The data is being stored for real.
    Stored(Arc<Both>),
}

impl Job {
    fn answer(self, outcome: Result<(), NbdError>) {
        let Self { around, header, weight, task } = self;
        let bytes = match (outcome, task) {
            (Ok(()), Task::Read(bytes)) => bytes,
            (Ok(()), Task::Failed(error)) | (Err(error), _) => {
                let mut bytes = Vec::with_capacity(64);
                around.writer.failed(&header, error, &mut bytes);
                bytes
            }
            (Ok(()), _) => {
                let mut bytes = Vec::with_capacity(32);
                around.writer.done(&header, &mut bytes);
                bytes
            }
        };
        around.outbox.answer(bytes, weight);
    }

    /// Changes the data, and says whether the answer waits until it is stored.
    fn change(&self) -> Result<bool, NbdError> {
        let Header { offset, length, .. } = self.header;
        let data = &self.around.data;
        match &self.task {
            Task::Write { payload, stored } => data.write(offset, payload).map(|()| *stored),
            Task::Zero { hole, stored } => data.zero(offset, length, *hole).map(|()| *stored),
            _ => Ok(false),
        }
        .map_err(NbdError::from)
    }

    /// Changes the data in the engine's thread.
    fn change_now(mut self) -> Step {
        match self.change() {
            Ok(true) => {
                let around = &self.around;
                self.task = Task::Stored(around.storing.store(around.data.mark()));
                Step::Flush(Box::new(self))
            }
            outcome => {
                self.answer(outcome.map(|_| ()));
                Step::Answered
            }
        }
    }

    /// Changes the data in the connection's thread.
    fn change_later(self, stored: bool, due: &Due) -> Step {
        let (around, header, weight, due) = (self.around.clone(), self.header, self.weight, *due);
        let outbox = Arc::clone(&around.outbox);
        if !stored {
            outbox.later(Box::new(move || {
                let outcome = self.change().map(|_| ());
                self.answer(outcome);
                around.delivered.count(&due, &*around.clock);
            }));
            return Step::Later;
        }
        let both = Arc::new(Both::default());
        let task = Task::Stored(Arc::clone(&both));
        let flushing = Self { around, header, weight, task };
        outbox.later(Box::new(move || match self.change() {
            Ok(_) => self.around.storing.store_for(self.around.data.mark(), &both),
            Err(error) => both.real(Err(error)),
        }));
        Step::Flush(Box::new(flushing))
    }
}

impl Work for Job {
    fn completed(self: Box<Self>, status: Status, due: &Due) -> Step {
        if let Status::Failed(kind) = status {
            if let (ErrorKind::DeviceGone, Task::Write { payload, .. }) = (kind, &self.task) {
                // What cannot be torn for real is not there, which is as good.
                let _ = self.around.data.tear(self.header.offset, payload);
            }
            self.answer(Err(kind.into()));
            return Step::Answered;
        }
        match &self.task {
            Task::Write { payload, stored } if payload.len() > AT_ONCE_MAX => {
                let stored = *stored;
                self.change_later(stored, due)
            }
            Task::Write { .. } | Task::Zero { .. } => self.change_now(),
            Task::Stored(both) => {
                let (both, due) = (Arc::clone(both), *due);
                let mut waiting = Some(self);
                let outcome = both.modelled(|| {
                    let job = waiting.take();
                    Box::new(move |outcome| {
                        let Some(job) = job else { return };
                        let around = job.around.clone();
                        job.answer(outcome);
                        around.delivered.count(&due, &*around.clock);
                    })
                });
                let (Some(outcome), Some(job)) = (outcome, waiting) else { return Step::Later };
                job.answer(outcome);
                Step::Answered
            }
            Task::Read(_) | Task::Failed(_) | Task::Nothing => {
                self.answer(Ok(()));
                Step::Answered
            }
        }
    }
}

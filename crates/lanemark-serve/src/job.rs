//! A request as the engine's work: what is done with its data when the model says that it is complete.

use std::sync::Arc;

use lanemark_core::result::ErrorKind;
use lanemark_core::sim::Status;

use crate::clock::Clock;
use crate::data::Data;
use crate::delivered::{Delivered, Due};
use crate::engine::{Step, Work};
use crate::nbd::NbdError;
use crate::storing::{Both, Storing};

/// The most data that the engine's thread writes by itself; longer writes are for a helper.
const AT_ONCE_MAX: usize = 256 << 10;

/// Whoever asked, and gets the answer: a client, or a program that has the file open.
pub(crate) trait Asker: Send + 'static {
    /// Answers, with the data of a read. Never waits.
    fn answer(self, outcome: Result<Option<Vec<u8>>, NbdError>);

    /// The thread beside the engine's that does what takes long.
    fn helper(&self) -> Arc<dyn Helper>;
}

/// A thread that does what takes long, one task after the other.
pub(crate) trait Helper {
    /// Lets the thread do `task`.
    fn later(&self, task: Box<dyn FnOnce() + Send>);
}

/// Context of requests beside themselves.
#[derive(Clone)]
pub(crate) struct Around {
    pub(crate) data: Arc<Data>,
    pub(crate) storing: Arc<Storing>,
    pub(crate) delivered: Arc<Delivered>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A request under way.
pub(crate) struct Job<A> {
    pub(crate) around: Around,
    pub(crate) asker: A,
    /// First byte and length.
    pub(crate) range: (u64, u64),
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

impl Task {
    /// Changes the data, and says whether the answer waits until it is stored.
    pub(crate) fn change(
        &self,
        (offset, length): (u64, u64),
        data: &Data,
    ) -> Result<bool, NbdError> {
        match self {
            Self::Write { payload, stored } => data.write(offset, payload).map(|()| *stored),
            Self::Zero { hole, stored } => data.zero(offset, length, *hole).map(|()| *stored),
            _ => Ok(false),
        }
        .map_err(NbdError::from)
    }
}

impl<A: Asker> Job<A> {
    fn answer(self, outcome: Result<(), NbdError>) {
        self.asker.answer(match (outcome, self.task) {
            (Ok(()), Task::Read(bytes)) => Ok(Some(bytes)),
            (Ok(()), Task::Failed(error)) | (Err(error), _) => Err(error),
            (Ok(()), _) => Ok(None),
        });
    }

    /// Changes the data in the engine's thread.
    fn change_now(mut self) -> Step {
        match self.task.change(self.range, &self.around.data) {
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

    /// Changes the data in a helper's thread.
    fn change_later(mut self, stored: bool, due: &Due) -> Step {
        let (helper, due) = (self.asker.helper(), *due);
        if !stored {
            helper.later(Box::new(move || {
                let around = self.around.clone();
                let outcome = self.task.change(self.range, &around.data);
                self.answer(outcome.map(|_| ()));
                around.delivered.count(&due, &*around.clock);
            }));
            return Step::Later;
        }
        let both = Arc::new(Both::default());
        let task = std::mem::replace(&mut self.task, Task::Stored(Arc::clone(&both)));
        let (around, range) = (self.around.clone(), self.range);
        helper.later(Box::new(move || match task.change(range, &around.data) {
            Ok(_) => around.storing.store_for(around.data.mark(), &both),
            Err(error) => both.real(Err(error)),
        }));
        Step::Flush(Box::new(self))
    }
}

impl<A: Asker> Work for Job<A> {
    fn completed(self: Box<Self>, status: Status, due: &Due) -> Step {
        if let Status::Failed(kind) = status {
            if let (ErrorKind::DeviceGone, Task::Write { payload, .. }) = (kind, &self.task) {
                // What cannot be torn for real is not there, which is as good.
                let _ = self.around.data.tear(self.range.0, payload);
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

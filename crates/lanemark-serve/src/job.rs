//! A request as work for the engine, with the operation on its data to perform when the model completes the request.

use std::sync::Arc;

use lanemark_schema::result::ErrorKind;
use lanemark_schema::workload::FaultKind;
use lanemark_sim::virtual_drive::{flip_bits, misdirected_offset};
use lanemark_sim::{RequestStatus, SilentDamage};

use crate::clock::Clock;
use crate::data::ExportData;
use crate::delivered::{AnswerFailure, DeliveryCounts, DueCompletion};
use crate::engine::{CompletionStep, RequestOwner};
use crate::nbd::NbdError;
use crate::storing::{FlushCompletion, StoringThread, flush_data};

/// Maximum number of bytes that the engine's thread writes itself; a helper thread writes longer data.
const AT_ONCE_MAX: usize = 256 << 10;

/// The requester that receives the reply: a client, or a program that has the file open.
pub(crate) trait Requester: Send + 'static {
    /// Sends the reply, with the data of a read. The function never waits.
    fn answer(self, outcome: Result<Option<Vec<u8>>, NbdError>);

    /// Returns the thread for long tasks, which runs in parallel with the engine's thread.
    fn helper(&self) -> Arc<dyn TaskThread>;
}

/// A thread that runs long tasks, one after the other.
pub(crate) trait TaskThread {
    /// Queues `task` for the thread.
    fn later(&self, task: Box<dyn FnOnce() + Send>);
}

/// The context that all requests share.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) data: Arc<ExportData>,
    pub(crate) storing: Arc<StoringThread>,
    pub(crate) delivered: Arc<DeliveryCounts>,
    pub(crate) clock: Arc<dyn Clock>,
}

pub(crate) struct RequestJob<A> {
    pub(crate) around: RequestContext,
    pub(crate) asker: A,
    /// Offset and length of the range.
    pub(crate) range: (u64, u64),
    pub(crate) task: DataTask,
}

/// The remaining work on a request's data.
pub(crate) enum DataTask {
    /// The data of the reply is ready.
    Read(Vec<u8>),
    /// The reply to a read that failed in the underlying file.
    Failed(NbdError),
    Write {
        payload: Vec<u8>,
        stored: bool,
    },
    /// The range will read as zeroes, as a hole or with allocated space.
    Zero {
        hole: bool,
        stored: bool,
    },
    /// No work.
    Nothing,
    /// The data is being stored on the host.
    Stored(Arc<FlushCompletion>),
}

impl DataTask {
    /// Changes the data, and returns whether the reply must wait until the data is stored.
    pub(crate) fn change(&self, range: (u64, u64), data: &ExportData) -> Result<bool, NbdError> {
        let (offset, length) = range;
        match self {
            Self::Write { payload, stored } => data.write(offset, payload).map(|()| *stored),
            Self::Zero { hole, stored } => data.zero(offset, length, *hole).map(|()| *stored),
            _ => Ok(false),
        }
        .map_err(NbdError::from)
    }
}

impl DataTask {
    /// Discards the change of a write or zeroing, and returns the length that remains: 0, or `length` for any other
    /// task.
    fn drop_change(&mut self, length: u64) -> u64 {
        match self {
            Self::Write { payload, .. } => payload.clear(),
            Self::Zero { .. } => {}
            Self::Read(_) | Self::Failed(_) | Self::Nothing | Self::Stored(_) => return length,
        }
        0
    }
}

impl<A: Requester> RequestJob<A> {
    /// Sends the reply to a request that the model completed. An error is an error of this machine, and is counted.
    fn answer(self, outcome: Result<(), AnswerFailure>, due: &DueCompletion) -> CompletionStep {
        let sent = self.around.clock.now();
        let answer = match (outcome, self.task) {
            (Ok(()), DataTask::Read(bytes)) => Ok(Some(bytes)),
            (Ok(()), DataTask::Failed(error)) => Err(error.into()),
            (Err(failure), _) => Err(failure),
            (Ok(()), _) => Ok(None),
        };
        let step = match &answer {
            Ok(_) => CompletionStep::Answered(Some(sent)),
            Err(failure) => {
                // The count precedes the reply, so that a client that has the reply finds it in the figures.
                self.around.delivered.count_failure(due, *failure);
                CompletionStep::Failed
            }
        };
        self.asker.answer(answer.map_err(AnswerFailure::error));
        step
    }

    /// Sends the reply from another thread than the engine's thread, and counts it.
    fn answer_elsewhere(self, outcome: Result<(), AnswerFailure>, due: &DueCompletion) {
        let around = self.around.clone();
        if let CompletionStep::Answered(sent) = self.answer(outcome, due) {
            around.delivered.count(due, sent, &*around.clock);
        }
    }

    /// Applies the damage of a silent fault to the request.
    fn apply_damage(&mut self, damage: &SilentDamage) {
        let (offset, length) = self.range;
        let size = self.around.data.size();
        match (damage.kind, &mut self.task) {
            (FaultKind::BitFlips { bits, .. }, DataTask::Read(bytes)) => {
                // The head of a reply precedes its data.
                let head = bytes.len().saturating_sub(length as usize);
                flip_bits(&mut bytes[head..], bits, damage.draw);
            }
            (FaultKind::LostWrite { .. }, task) => self.range.1 = task.drop_change(length),
            (FaultKind::MisdirectedWrite { .. }, task) => {
                match misdirected_offset(offset, length, size, damage.draw) {
                    Some(other) => self.range.0 = other,
                    None => self.range.1 = task.drop_change(length),
                }
            }
            _ => {}
        }
    }

    /// Changes the data in the engine's thread.
    fn change_now(mut self, due: &DueCompletion) -> CompletionStep {
        match self.task.change(self.range, &self.around.data) {
            Ok(true) => {
                let around = &self.around;
                self.task = DataTask::Stored(around.storing.store(around.data.mark()));
                CompletionStep::Flush(Box::new(self))
            }
            outcome => self.answer(outcome.map(|_| ()).map_err(AnswerFailure::from), due),
        }
    }

    /// Changes the data in a helper thread.
    fn change_later(mut self, stored: bool, due: &DueCompletion) -> CompletionStep {
        let helper = self.asker.helper();
        let due = *due;
        if !stored {
            helper.later(Box::new(move || {
                let outcome = self.task.change(self.range, &self.around.data);
                self.answer_elsewhere(outcome.map(|_| ()).map_err(AnswerFailure::from), &due);
            }));
            return CompletionStep::Later;
        }
        let both = Arc::new(FlushCompletion::default());
        let task = std::mem::replace(&mut self.task, DataTask::Stored(Arc::clone(&both)));
        let around = self.around.clone();
        let range = self.range;
        helper.later(Box::new(move || match task.change(range, &around.data) {
            Ok(_) => around.storing.store_for(around.data.mark(), &both),
            Err(error) => both.real(Err(error)),
        }));
        CompletionStep::Flush(Box::new(self))
    }
}

impl<A: Requester> RequestOwner for RequestJob<A> {
    fn completed(
        mut self: Box<Self>,
        status: RequestStatus,
        due: &DueCompletion,
    ) -> CompletionStep {
        if let RequestStatus::Failed(kind) = status {
            if let (ErrorKind::DeviceGone, DataTask::Write { payload, .. }) = (kind, &self.task) {
                // An error is ignored: sectors that cannot be stored remain unwritten, which is also a valid outcome of
                // a power cut.
                let _ = self.around.data.tear(self.range.0, payload);
            }
            let sent = self.around.clock.now();
            self.asker.answer(Err(kind.into()));
            return CompletionStep::Answered(Some(sent));
        }
        if let Some(damage) = &due.damage {
            self.apply_damage(damage);
        }
        let stores = due.damage.is_none_or(|damage| damage.kind != FaultKind::LyingFlush);
        match &self.task {
            DataTask::Write { payload, stored } if payload.len() > AT_ONCE_MAX => {
                let stored = *stored;
                self.change_later(stored, due)
            }
            DataTask::Write { .. } | DataTask::Zero { .. } => self.change_now(due),
            DataTask::Stored(both) => {
                let both = Arc::clone(both);
                let due = *due;
                let mut waiting = Some(self);
                let outcome = both.modelled(|| {
                    let job = waiting.take();
                    Box::new(move |outcome| {
                        let Some(job) = job else { return };
                        let ended = outcome
                            .map_err(AnswerFailure::from)
                            .and_then(|mark| flush_data(&job.around.data, mark, stores));
                        job.answer_elsewhere(ended, &due);
                    })
                });
                let (Some(outcome), Some(job)) = (outcome, waiting) else {
                    return CompletionStep::Later;
                };
                let ended = outcome
                    .map_err(AnswerFailure::from)
                    .and_then(|mark| flush_data(&job.around.data, mark, stores));
                job.answer(ended, &due)
            }
            DataTask::Read(_) | DataTask::Failed(_) | DataTask::Nothing => self.answer(Ok(()), due),
        }
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;

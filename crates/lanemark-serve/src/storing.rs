//! The thread that stores data on the host while the model simulates the flush.
//!
//! Flushes are stored in the order of their arrival. A flush of data in memory finishes immediately.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::data::{ExportData, FlushCoverage, FlushOutcome};
use crate::delivered::AnswerFailure;
use crate::nbd::NbdError;

/// The completion of a flush in the model and in the file. The later of the two sends the reply.
#[derive(Default)]
pub(crate) struct FlushCompletion(Mutex<BothEnds>);

/// The outcome of storing on the host: the writes that the flush covers, or an error.
type SyncOutcome = Result<FlushCoverage, NbdError>;

/// The function that sends the reply when both the model and the file have completed the flush.
type ReplyFunction = Box<dyn FnOnce(SyncOutcome) + Send>;

#[derive(Default)]
struct BothEnds {
    real: Option<SyncOutcome>,
    /// The function that sends the reply, if the model completed the flush first.
    modelled: Option<ReplyFunction>,
}

impl FlushCompletion {
    /// Records that the file has completed the flush.
    pub(crate) fn real(&self, outcome: SyncOutcome) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(answerer) = ends.modelled.take() else {
            ends.real = Some(outcome);
            return;
        };
        drop(ends);
        answerer(outcome);
    }

    /// Records that the model has completed the flush. Returns the outcome if the file completed it first; otherwise
    /// the function from `answerer` receives the outcome later.
    pub(crate) fn modelled(&self, answerer: impl FnOnce() -> ReplyFunction) -> Option<SyncOutcome> {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ends.real.is_none() {
            ends.modelled = Some(answerer());
        }
        ends.real.take()
    }
}

pub(crate) struct StoringThread {
    queue: Mutex<Option<Sender<(FlushCoverage, Arc<FlushCompletion>)>>>,
    data: Arc<ExportData>,
}

impl StoringThread {
    pub(crate) fn start(data: Arc<ExportData>) -> std::io::Result<(Arc<Self>, JoinHandle<()>)> {
        let (queue, receiver) = channel::<(FlushCoverage, Arc<FlushCompletion>)>();
        let shared = Arc::clone(&data);
        let thread = std::thread::Builder::new().name("storing".to_owned()).spawn(move || {
            for (mark, both) in receiver {
                both.real(sync_data(&shared, mark));
            }
        })?;
        Ok((Arc::new(Self { queue: Mutex::new(Some(queue)), data }), thread))
    }

    /// Begins to store the writes before `mark`.
    pub(crate) fn store(&self, mark: FlushCoverage) -> Arc<FlushCompletion> {
        let both = Arc::new(FlushCompletion::default());
        self.store_for(mark, &both);
        both
    }

    /// Begins to store the writes before `mark`, and records the completion in the file in `both`.
    pub(crate) fn store_for(&self, mark: FlushCoverage, both: &Arc<FlushCompletion>) {
        if self.data.is_memory() {
            return both.real(sync_data(&self.data, mark));
        }
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = queue.as_ref().map(|queue| queue.send((mark, Arc::clone(both))));
        if !matches!(sent, Some(Ok(()))) {
            both.real(Err(NbdError::Shutdown));
        }
    }

    /// Ends the thread after all requested data is stored.
    pub(crate) fn end(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Stores all data on the host.
fn sync_data(data: &ExportData, mark: FlushCoverage) -> SyncOutcome {
    data.sync().map(|()| mark).map_err(NbdError::from)
}

/// Ends a flush of the drive, which `stores` the writes before `mark` unless the drive lies. A power cut since the
/// mark, and a loss that the client does not know, are errors.
pub(crate) fn flush_data(
    data: &ExportData,
    mark: FlushCoverage,
    stores: bool,
) -> Result<(), AnswerFailure> {
    match data.finish_flush(mark, stores) {
        FlushOutcome::Stored => Ok(()),
        FlushOutcome::Interrupted => Err(AnswerFailure::PowerLoss(NbdError::Shutdown)),
        FlushOutcome::WritesLost => Err(AnswerFailure::PowerLoss(NbdError::Io)),
    }
}

/// Stores the writes before `mark`; a power cut since the mark is an error.
pub(crate) fn store_data(data: &ExportData, mark: FlushCoverage) -> Result<(), NbdError> {
    flush_data(data, sync_data(data, mark)?, true).map_err(AnswerFailure::error)
}

//! The thread that stores data for real, while the model's flush takes its time.
//!
//! Flushes are stored in the order in which they came. One whose data is in memory is over at once.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::data::{Data, Mark};
use crate::nbd::NbdError;

/// The two ends of a flush: the model's, and that of the file. The later one answers.
#[derive(Default)]
pub(crate) struct Both(Mutex<Ends>);

/// Whoever answers when both ends have come.
type Answerer = Box<dyn FnOnce(Result<(), NbdError>) + Send>;

#[derive(Default)]
struct Ends {
    real: Option<Result<(), NbdError>>,
    /// Whoever answers, where the model was first.
    modelled: Option<Answerer>,
}

impl Both {
    /// The file's end has come.
    pub(crate) fn real(&self, outcome: Result<(), NbdError>) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(answerer) = ends.modelled.take() else {
            ends.real = Some(outcome);
            return;
        };
        drop(ends);
        answerer(outcome);
    }

    /// The model's end has come. Returns the outcome where the file's came before; else `answerer` gets it.
    pub(crate) fn modelled(
        &self,
        answerer: impl FnOnce() -> Answerer,
    ) -> Option<Result<(), NbdError>> {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ends.real.is_none() {
            ends.modelled = Some(answerer());
        }
        ends.real.take()
    }
}

/// The way to the thread that stores.
pub(crate) struct Storing {
    queue: Mutex<Option<Sender<(Mark, Arc<Both>)>>>,
    data: Arc<Data>,
    /// Whether whoever asks waits until all is stored.
    is_at_once: bool,
}

impl Storing {
    /// Starts the thread.
    pub(crate) fn start(data: Arc<Data>) -> std::io::Result<(Arc<Self>, JoinHandle<()>)> {
        let (queue, asked) = channel::<(Mark, Arc<Both>)>();
        let own = Arc::clone(&data);
        let thread = std::thread::Builder::new().name("storing".to_owned()).spawn(move || {
            for (mark, both) in asked {
                both.real(stored(&own, mark));
            }
        })?;
        let (queue, is_at_once) = (Mutex::new(Some(queue)), false);
        Ok((Arc::new(Self { queue, data, is_at_once }), thread))
    }

    /// Stores without a thread, while whoever asks waits: in virtual time that takes none.
    #[cfg(feature = "exact")]
    pub(crate) fn at_once(data: Arc<Data>) -> Arc<Self> {
        Arc::new(Self { queue: Mutex::new(None), data, is_at_once: true })
    }

    /// Begins to store what was written before `mark`.
    pub(crate) fn store(&self, mark: Mark) -> Arc<Both> {
        let both = Arc::new(Both::default());
        self.store_for(mark, &both);
        both
    }

    /// Begins to store what was written before `mark`, for these ends.
    pub(crate) fn store_for(&self, mark: Mark, both: &Arc<Both>) {
        if self.is_at_once || self.data.is_memory() {
            return both.real(stored(&self.data, mark));
        }
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = queue.as_ref().map(|queue| queue.send((mark, Arc::clone(both))));
        if !matches!(asked, Some(Ok(()))) {
            both.real(Err(NbdError::Shutdown));
        }
    }

    /// Lets the thread end when it has stored what it was asked for.
    pub(crate) fn end(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Stores what was written before `mark`; a power cut in between is an error.
pub(crate) fn stored(data: &Data, mark: Mark) -> Result<(), NbdError> {
    match data.flush(mark) {
        Ok(true) => Ok(()),
        Ok(false) => Err(NbdError::Shutdown),
        Err(error) => Err(error.into()),
    }
}

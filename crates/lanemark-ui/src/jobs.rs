//! The running simulations: how many run at the same time, and which of them no longer have a client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lanemark_lab::CancelFlag;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The recipient of an answer: a page, identified by the name that it chose, and one of the systems on the page.
pub type AnswerDestination = (String, u8);

#[derive(Debug)]
pub struct Jobs {
    permits: Arc<Semaphore>,
    newest: Mutex<HashMap<AnswerDestination, (u64, CancelFlag)>>,
    begun: AtomicU64,
    ended: AtomicU64,
    cancelled: AtomicU64,
}

/// Numbers of jobs since the server started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Jobs that have begun.
    pub begun: u64,
    /// Jobs that have ended, including cancelled jobs.
    pub ended: u64,
    /// Jobs that were cancelled before their end.
    pub cancelled: u64,
}

/// A job, which lasts until it is dropped.
#[derive(Debug)]
pub struct Job {
    jobs: Arc<Jobs>,
    asker: AnswerDestination,
    number: u64,
    cancel: CancelFlag,
    is_whole: bool,
}

impl Jobs {
    /// Creates an empty list of jobs; up to `threads` steps can run at the same time.
    pub fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(threads)),
            newest: Mutex::default(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        })
    }

    /// Begins a job, and cancels the previous job for the same recipient.
    pub fn begin(self: &Arc<Self>, asker: AnswerDestination) -> Job {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let cancel = CancelFlag::default();
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, before)) = newest.insert(asker.clone(), (number, cancel.clone())) {
            before.cancel();
        }
        Job { jobs: Arc::clone(self), asker, number, cancel, is_whole: false }
    }

    /// Waits for permission to run a step. Waiting jobs are served in order, so a first answer precedes the refinement
    /// of another answer.
    pub async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Takes the remaining permits, if no other job waits for them.
    pub fn more_permits(&self) -> Vec<OwnedSemaphorePermit> {
        let take = || Arc::clone(&self.permits).try_acquire_owned().ok();
        std::iter::from_fn(take).collect()
    }

    /// Returns the counts up to now.
    pub fn counts(&self) -> Counts {
        let count_of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            begun: count_of(&self.begun),
            ended: count_of(&self.ended),
            cancelled: count_of(&self.cancelled),
        }
    }
}

impl Job {
    /// Returns the signal that cancels the job.
    pub fn cancel(&self) -> &CancelFlag {
        &self.cancel
    }

    /// Marks the job as complete.
    pub fn finish(mut self) {
        self.is_whole = true;
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let mut newest = self.jobs.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.get(&self.asker).is_some_and(|(number, _)| *number == self.number) {
            newest.remove(&self.asker);
        }
        drop(newest);
        if !self.is_whole {
            self.jobs.cancelled.fetch_add(1, Ordering::Relaxed);
        }
        self.jobs.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_job_of_the_same_asker_cancels_the_older() {
        let jobs = Jobs::new(1);
        let asker = |page: &str, slot| (page.to_owned(), slot);
        let old = jobs.begin(asker("a", 0));
        let others = [jobs.begin(asker("a", 1)), jobs.begin(asker("b", 0))];
        assert!(!old.cancel().is_cancelled());
        let new = jobs.begin(asker("a", 0));
        assert!(old.cancel().is_cancelled() && !new.cancel().is_cancelled());
        drop(old);
        assert!(others.iter().all(|job| !job.cancel().is_cancelled()));
        // The job that ended was not the newest job, whose entry remains.
        let newer = jobs.begin(asker("a", 0));
        assert!(new.cancel().is_cancelled());
        newer.finish();
        drop((new, others));
        assert_eq!(jobs.counts(), Counts { begun: 5, ended: 5, cancelled: 4 });
        assert!(jobs.newest.lock().unwrap().is_empty());
    }
}

//! Submits the requests of a lane: the first requests, and the requests that follow completions.

use lanemark_schema::units::Instant;
use lanemark_schema::workload::{Access, Operation};

use super::{LaneTag, TestLane};
use crate::fault::RequestStatus;
use crate::simulator::{Completion, SimError};
use crate::spec::submission::Submission;
use crate::storage::Storage;

impl TestLane {
    /// Submits the first requests of all threads.
    pub(in super::super) fn fill_queues(&mut self, storage: &mut Storage) -> Result<(), SimError> {
        let begin = Instant::ZERO + self.place.from;
        for slot in 0..self.queue_depth {
            for thread in 0..self.threads.len() as u32 {
                match self.open {
                    Some(_) => {
                        self.submit_when_due(storage, begin, thread * self.queue_depth + slot)?;
                    }
                    None if self.bursts.as_ref().is_none_or(|all| all.is_in_burst(thread)) => {
                        self.submit(storage, begin, thread, thread)?;
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Submits the request that follows a completion: the write of copied data, or the next request.
    pub(in super::super) fn submit_next(
        &mut self,
        storage: &mut Storage,
        completion: &Completion,
    ) -> Result<(), SimError> {
        let tag = LaneTag::decode(completion.tag).slot;
        if let (Some((from, to)), Access { operation: Operation::Read, offset, length }) =
            (self.copied, completion.access)
            && completion.status == RequestStatus::Good
        {
            let offset = offset - from + to;
            let write = Access { operation: Operation::Write, offset, length };
            return self.give(storage, completion.completed, write, tag, tag);
        }
        match self.open {
            Some(_) => self.submit_when_due(storage, completion.completed, tag),
            None if self.bursts.is_some() => self.submit_burst(storage, completion.completed, tag),
            None => self.submit(storage, completion.completed, tag, tag),
        }
    }

    /// Submits the requests of a thread that follow a completion: the next request of its burst, or the next burst.
    fn submit_burst(
        &mut self,
        storage: &mut Storage,
        completed: Instant,
        thread: u32,
    ) -> Result<(), SimError> {
        let Some(bursts) = &mut self.bursts else { return Ok(()) };
        let Some(at) = bursts.next_at(completed, thread) else { return Ok(()) };
        let count = if at == completed { 1 } else { self.queue_depth };
        for _ in 0..count {
            if self.bursts.as_ref().is_some_and(|all| all.is_in_burst(thread)) {
                self.submit(storage, at, thread, thread)?;
            }
        }
        Ok(())
    }

    /// Submits the next request of the open loop in a slot that is free from `free` onward.
    fn submit_when_due(
        &mut self,
        storage: &mut Storage,
        free: Instant,
        slot: u32,
    ) -> Result<(), SimError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let thread = open.thread(slot);
        let at = if self.threads[thread as usize].is_flush_next() {
            open.at_once(slot, free)
        } else {
            open.next(slot, free)
        };
        self.submit(storage, at, thread, slot)
    }

    /// Submits a thread's next request, unless the volume is used up.
    fn submit(
        &mut self,
        storage: &mut Storage,
        at: Instant,
        thread: u32,
        tag: u32,
    ) -> Result<(), SimError> {
        if self.volume_left == 0 {
            return Ok(());
        }
        let access = self.threads[thread as usize].next_access();
        if let Some(bursts) = &mut self.bursts {
            bursts.submit(thread, access.operation);
        }
        if at >= self.counting_from {
            self.volume_left = self.volume_left.saturating_sub(access.length.get());
        }
        self.give(storage, at, access, thread, tag)
    }

    fn give(
        &mut self,
        storage: &mut Storage,
        at: Instant,
        access: Access,
        thread: u32,
        tag: u32,
    ) -> Result<(), SimError> {
        self.submitted += 1;
        self.outstanding += 1;
        let target = (thread / self.threads_per_target) as u16;
        let tag = LaneTag { lane: self.place.number, slot: tag }.number();
        storage.submit(
            Submission::new(at, access)
                .to(target)
                .by(self.place.threads_before + thread)
                .tagged(tag),
        )
    }
}

//! The completion of a command: the interrupt, the work on a core, and the release of the slot for the next command.

use super::{AttachedDrive, Command, Completion, SimError, Simulator};
use crate::drive::media::media;
use crate::drive::medium::Medium;
use crate::engine::budget::{Budget, Hop};
use crate::engine::event::Event;
use crate::engine::slab::CommandHandle;
use crate::fault::RequestStatus;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation};

impl Completion {
    /// A placeholder that does not belong to any request.
    pub(super) const NONE: Self = Self {
        tag: 0,
        access: Access { operation: Operation::Read, offset: Bytes::ZERO, length: Bytes::ZERO },
        submitted: Instant::ZERO,
        completed: Instant::ZERO,
        status: RequestStatus::Good,
        budget: Budget::NONE,
    };

    /// Checks that the completion is not after the end of simulated time.
    ///
    /// # Errors
    /// Returns [`SimError::NeverEnds`] if the completion is after the end of simulated time.
    pub(crate) fn check_end(&self) -> Result<(), SimError> {
        if self.completed <= Instant::END { Ok(()) } else { Err(SimError::NeverEnds) }
    }
}

impl Simulator {
    /// Handles a completion that has reached the host.
    #[inline]
    pub(super) fn on_notified(&mut self, handle: CommandHandle) {
        if !(self.commands[handle].in_cache) {
            self.note_answer(self.commands[handle].drive);
        } else if self.commands[handle].is_of_cache() {
            return self.on_cache_write_done(handle);
        }
        if self.faults.is_some() && self.loses_answer(handle) {
            return;
        }
        let command = &self.commands[handle];
        let AttachedDrive { protocol, .. } = &mut self.attachments[usize::from(command.drive)];
        let core = protocol.completion_core(command.thread);
        let interrupt_time = protocol.interrupt(self.now);
        self.take_completion(handle, core, interrupt_time);
    }

    /// Makes a core handle the completion of a command and its interrupt.
    #[inline]
    pub(super) fn take_completion(
        &mut self,
        handle: CommandHandle,
        core: u32,
        interrupt_time: Duration,
    ) {
        let command = &mut self.commands[handle];
        let protocol = &mut self.attachments[usize::from(command.drive)].protocol;
        let pays = command.alone || {
            let request = &mut self.requests[command.request];
            request.unnotified -= 1;
            request.unnotified == 0 && request.is_first
        };
        let request_time = if pays { self.request_complete } else { Duration::ZERO };
        let complete_time = protocol.complete_time(command.operation);
        let core = core as usize % self.cores.len();
        // A sleeping core must wake first; completions that arrive during the wake-up do not wait for another wake-up.
        let sleeps = self.cores[core].free_at() + self.idle_after < self.now;
        let ready = if sleeps { self.now + self.wake } else { self.now };
        let span = self.cores[core].serve(ready, interrupt_time + complete_time + request_time);
        protocol.handles_until(span.end);
        command.trace.account_service(Hop::Cpu as usize, span);
        let at = self.end_of_data_work(handle, Operation::Read, span.end);
        self.events.schedule(at, Event::Completed(handle));
    }

    /// Ends the completion of a command on its core. Returns whether its request is complete.
    #[inline]
    pub(super) fn finish_on_core(&mut self, handle: CommandHandle) -> bool {
        let Command { request, drive, thread, queue, operation, harm, .. } = self.commands[handle];
        let protocol = &mut self.attachments[usize::from(drive)].protocol;
        protocol.give_slot(queue, operation);
        while let Some(waiting) =
            self.attachments[usize::from(drive)].protocol.next_with_slot(&mut self.commands, queue)
        {
            self.resume(waiting, thread);
        }
        let media = &mut self.attachments[usize::from(drive)].drive.media;
        if let Some(at) = media!(media, media => media.note_answered(self.now)) {
            self.events.schedule(at, Event::Idle(drive));
        }
        let pending = &mut self.requests[request];
        if harm.status != RequestStatus::Good {
            (pending.status, pending.fault) = (harm.status, harm.fault);
        }
        pending.incomplete -= 1;
        if pending.incomplete > 0 {
            self.commands.free(handle);
            return false;
        }
        self.ended = Completion {
            tag: pending.tag,
            access: pending.access,
            submitted: pending.submitted,
            completed: self.now,
            status: pending.status,
            budget: self.commands[handle].trace.budget(),
        };
        if let Some(faults) = &mut self.faults {
            faults.note_answer(request, pending.status);
        }
        // A flush that does not reach the drive provides no information about the drive.
        let is_of_host = operation == Operation::Flush
            && self.attachments[usize::from(drive)].takes_no_flush
            && pending.status == RequestStatus::Good;
        if let Some(faults) = self.faults.as_mut().filter(|_| !is_of_host) {
            faults.record_outcome(
                drive,
                pending.status,
                pending.fault,
                pending.submitted,
                self.now,
            );
        }
        self.commands.free(handle);
        self.requests.free(request);
        // Callers read the busy times only between completions.
        for AttachedDrive { drive, .. } in &mut self.attachments {
            drive.front_end.catch_up(self.now, &mut self.commands, &mut self.events);
        }
        true
    }

    /// Resumes a command that has received the slot for which it waited, or that keeps its slot and is sent again.
    pub(super) fn resume(&mut self, handle: CommandHandle, core_of: u32) {
        let core = core_of as usize % self.cores.len();
        let command = &mut self.commands[handle];
        command.trace.account_wait(Hop::Protocol, self.now);
        let protocol = &self.attachments[usize::from(command.drive)].protocol;
        let span = self.cores[core].serve(self.now, protocol.submit_time(command.operation));
        command.trace.account_service(Hop::Cpu as usize, span);
        let at = self.end_of_data_work(handle, Operation::Write, span.end);
        self.events.schedule(at, Event::Submitted(handle));
    }
}

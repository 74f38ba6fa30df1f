//! Effects of faults on commands that reach the media.
//!
//! An *unreadable range* delays a read for the time of the drive's retries, and then makes it fail without data; an
//! *unwritable range* has the same effect on a write. In a range that *heals*, bytes that were written after the fault
//! began are readable. A *read-only* drive rejects writes and trims after it has decoded them. *Latency* and a *pause*
//! delay commands. A *silent* fault makes the data of a request wrong without a change of its time, except that a lying
//! drive acknowledges a flush as soon as it has decoded the flush.
//!
//! Not modelled: a write that heals a range and whose data is then lost in a power cut.

use super::command::{CommandDamage, HostStep};
use super::{Command, Simulator};
use crate::engine::budget::Hop;
use crate::engine::event::Event;
use crate::engine::slab::CommandHandle;
use crate::fault::{FaultEffect, MediaAccess, RequestStatus};
use crate::spec::ProtocolKind;
use lanemark_schema::result::ErrorKind;
use lanemark_schema::workload::Operation;

impl Simulator {
    fn media_access(&self, handle: CommandHandle) -> MediaAccess {
        let Command { request, drive, operation, offset, length, .. } = self.commands[handle];
        MediaAccess { request, drive, operation, start: offset, end: offset + length }
    }

    /// Records that the media execute a command. Returns whether the command is a flush that is acknowledged but does
    /// not store any data.
    pub(super) fn is_lying_flush(&mut self, handle: CommandHandle) -> bool {
        let access = self.media_access(handle);
        let is_lie = self.faults.as_mut().is_some_and(|faults| faults.execute(&access));
        if is_lie {
            self.acknowledge(handle);
        }
        is_lie
    }

    /// Returns whether a fault prevents a command from reaching the media now.
    pub(super) fn meets_fault(&mut self, handle: CommandHandle) -> bool {
        let access = self.media_access(handle);
        let Some(faults) = &mut self.faults else { return false };
        let command = &mut self.commands[handle];
        let drive = &self.attachments[usize::from(command.drive)].drive;
        let effect = faults.effect_on(self.now, &access, || drive.usage().host_written);
        match effect {
            FaultEffect::Nothing => return false,
            FaultEffect::Stuck(fault) => {
                faults.record_delay(fault);
                let status = RequestStatus::Failed(ErrorKind::Timeout);
                command.harm =
                    CommandDamage { status, then: HostStep::Unstick, fault, ..command.harm };
                let stuck = faults.stuck(fault);
                let attachment = &faults.system.attachments[usize::from(command.drive)];
                let patience = match stuck.abort {
                    Some(abort) => stuck.timeout + abort,
                    None if attachment.protocol.kind == ProtocolKind::Nvme => stuck.timeout * 2,
                    None => stuck.timeout,
                };
                let at = (command.sent + patience).max(self.now);
                self.events.schedule(at, Event::TimedOut(handle));
            }
            FaultEffect::Held { until, error, fault } => {
                if let Some(kind) = error {
                    command.harm = CommandDamage {
                        status: RequestStatus::Failed(kind),
                        fault,
                        ..command.harm
                    };
                }
                if until > self.now {
                    faults.record_delay(fault);
                    self.events.schedule(until, Event::Held(handle));
                } else if error.is_none() {
                    return false;
                } else {
                    self.refuse(handle);
                }
            }
        }
        true
    }

    /// Continues a command that a fault has delayed: it reaches the media, or fails there.
    pub(super) fn goes_on(&mut self, handle: CommandHandle) {
        let command = &mut self.commands[handle];
        command.trace.account_wait(Hop::Die, self.now);
        // Another pause may have begun while the command was delayed.
        if let Some(faults) = &mut self.faults
            && let Some((pause, over)) = faults.paused(command.drive)
            && over > self.now
        {
            faults.record_delay(pause);
            self.events.schedule(over, Event::Held(handle));
            return;
        }
        match command.harm.status {
            RequestStatus::Good => self.use_media(handle),
            RequestStatus::Failed(_) => self.refuse(handle),
        }
    }

    /// Ends a command with an error and without data: over SATA with a Register frame.
    fn refuse(&mut self, handle: CommandHandle) {
        let Command { drive, port_path, trace, .. } = &mut self.commands[handle];
        let port_path = self.attachments[usize::from(*drive)].path.port_path(*port_path);
        let notified = port_path.complete(&mut self.shared, self.now, Operation::Flush, trace);
        self.events.schedule(notified, Event::Notified(handle));
    }
}

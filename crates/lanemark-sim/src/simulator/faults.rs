//! Effects of faults on commands and requests, and the host's reaction.
//!
//! The rules of the host follow Linux. A *command timeout* (30 s) begins when a command is sent. When the timer
//! expires, the host aborts the command or resets the drive. A reset takes a configured time. During the reset the
//! drive receives no commands, and all outstanding commands are sent again or fail (SCSI error handling,
//! `Documentation/scsi/scsi_eh.rst`; libata, which resets the port at once, `Documentation/driver-api/libata.rst`).
//! Over NVMe, the host sends an Abort after the first timeout, and resets the controller after a second timeout of the
//! same length (`nvme_timeout` in `drivers/nvme/host/pci.c`). A lost *port* no longer answers
//! ([`multipath`](crate::path::multipath)). A command that a *link* has corrupted is sent again up to [`LINK_RETRIES`]
//! times; over SATA, the drive ends all commands that were queued together with this command (Serial ATA 3.2, native
//! command queuing), and the host sends them all again.
//!
//! Rules of the drive: [`at_media`](super::at_media) describes the faults of the media. A *power cut* ends all work in
//! progress: requests on the drive fail immediately, and written data that was not stored is lost unless the buffer is
//! protected ([`Medium::power_cut`]). The drive restarts with an empty cache. If the whole system loses its power, the
//! host is also down and does not submit requests until it has started; if only a drive loses its power, the host waits
//! for the drive.
//!
//! Not modelled: a drive that drops its current work at a reset (it finishes the work, and a repeated write is written
//! twice); back-off between retries; the power of drives while they are off and while they start.

use super::command::{CommandDamage, HostStep};
use super::{AttachedDrive, Completion, Simulator};
use crate::drive::media::media;
use crate::drive::medium::Medium;
use crate::engine::budget::{Budget, Hop};
use crate::engine::event::Event;
use crate::engine::number::{DriveNumber, PathNumber, drives};
use crate::engine::slab::{CommandHandle, RequestHandle};
use crate::fault::{
    FaultClearError, FaultNumber, FaultState, Faults, LINK_RETRIES, REFUSAL, RequestStatus,
    SilentDamage, standing_retries,
};
use crate::link::{Link, LinkModel};
use crate::path::shared::port_of;
use crate::spec::{AttachmentSpec, PortPathSpec, ProtocolKind, SystemSpec};
use lanemark_schema::result::{ErrorKind, FaultImpact};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::fault::{COMMAND_TIMEOUT, Fault, FaultKind, LinkSelector};

impl Simulator {
    /// Returns the outcome of each fault that has begun.
    pub fn fault_uses(&self) -> Vec<FaultImpact> {
        self.faults.as_ref().map_or(Vec::new(), |faults| faults.uses(self.now))
    }

    /// Returns the damage of the request that completed last, if a silent fault made its data wrong. A request on a
    /// volume has the damage of its last part.
    pub fn damage(&self) -> Option<SilentDamage> {
        self.faults.as_ref().and_then(|faults| faults.damage())
    }

    /// Returns all faults with their states at `now`.
    pub(in super::super) fn faults(&self, now: Instant) -> Vec<FaultState> {
        self.faults.as_ref().map_or(Vec::new(), |faults| faults.list(now))
    }

    /// Ends a fault at `at`, which must not be in the past, or removes the fault if it begins later.
    ///
    /// # Errors
    /// Returns the reason if the fault cannot be cleared.
    pub(in super::super) fn clear_fault(
        &mut self,
        number: FaultNumber,
        at: Instant,
    ) -> Result<(), FaultClearError> {
        self.faults.as_mut().ok_or(FaultClearError::Unknown)?.clear(number, at)?;
        self.events.schedule(at, Event::Fault(number, true));
        Ok(())
    }

    /// Returns whether a fault can be cleared at `at`.
    ///
    /// # Errors
    /// Returns the reason if the fault cannot be cleared.
    pub(in super::super) fn check_clear(
        &self,
        number: FaultNumber,
        at: Instant,
    ) -> Result<(), FaultClearError> {
        let faults = self.faults.as_ref().ok_or(FaultClearError::Unknown)?;
        faults.check_clear(number, at).map(drop)
    }

    /// Adds a fault that begins at its time, which must be after time zero and not in the past. `system` must have been
    /// checked with the fault. Returns the fault's number.
    pub(in super::super) fn add_fault(&mut self, system: &SystemSpec, fault: Fault) -> FaultNumber {
        let at = fault.at;
        let over = fault.over_at();
        let number = match &mut self.faults {
            Some(faults) => faults.add(fault),
            // If there are no other faults, the plan contains only this fault.
            None => {
                self.faults = Faults::for_system(system, self.key);
                0
            }
        };
        self.events.schedule(at, Event::Fault(number, false));
        if let Some(over) = over {
            self.events.schedule(over, Event::Fault(number, true));
        }
        number
    }

    /// Schedules all faults at their times.
    pub(super) fn plan_faults(&mut self, all: &[Fault]) {
        for fault in all {
            let Some(retries) = standing_retries(fault) else { continue };
            for (attachment, _) in self.affected_drives(fault) {
                media!(&mut attachment.drive.media, media => media.set_retries(Some(retries)));
            }
        }
        let Some(faults) = &self.faults else { return };
        for (fault, number) in faults.plan().iter().zip(0..) {
            self.events.schedule(fault.at, Event::Fault(number, false));
            if let Some(over) = fault.over_at() {
                self.events.schedule(over, Event::Fault(number, true));
            }
        }
    }

    /// Returns the drives that a fault affects, each with its number.
    fn affected_drives(
        &mut self,
        fault: &Fault,
    ) -> impl Iterator<Item = (&mut AttachedDrive, DriveNumber)> {
        let numbered_drives = self.attachments.iter_mut().zip((0..).map(DriveNumber));
        numbered_drives.filter(|(_, drive)| fault.hurts(drive.0))
    }

    /// Begins or ends a fault.
    pub(super) fn fault(&mut self, number: FaultNumber, over: bool) {
        let now = self.now;
        let Some(faults) = &mut self.faults else { return };
        if faults.is_removed(number) {
            return;
        }
        if !over {
            faults.begin(number);
        }
        let fault = faults.fault(number).clone();
        match fault.kind {
            FaultKind::PowerCut { .. } if over => self.power_up(&fault),
            FaultKind::PowerCut { .. } => self.power_cut(number, &fault),
            FaultKind::PortLoss { port, .. } => self.look_at_port(&fault, port),
            FaultKind::Retrain { link, .. } | FaultKind::LinkErrors { link, .. } => {
                for drive in drives(self.attachments.len()) {
                    if fault.hurts(drive.0) {
                        self.look_at_link(drive, link, &fault.kind);
                    }
                }
            }
            FaultKind::ReadRetries(_) => {
                for drive in drives(self.attachments.len()) {
                    self.look_at_retries(drive);
                }
            }
            FaultKind::MediaError { .. }
            | FaultKind::WriteError { .. }
            | FaultKind::BitFlips { .. }
            | FaultKind::LostWrite { .. }
            | FaultKind::MisdirectedWrite { .. }
            | FaultKind::LyingFlush
            | FaultKind::Latency { .. }
            | FaultKind::Pause
            | FaultKind::Stuck(_)
            | FaultKind::ReadOnly { .. } => {
                for drive in drives(self.attachments.len()).filter(|drive| fault.hurts(drive.0)) {
                    if over {
                        faults.end_stuck(drive, number);
                    }
                    faults.look(drive, now, (!over).then_some(number));
                }
            }
        }
    }

    /// Sets the rule for repeating flash reads: the rule of the last active fault or, if there is no such fault, the
    /// rule of the drive.
    fn look_at_retries(&mut self, drive: DriveNumber) {
        let Some(faults) = &self.faults else { return };
        let last = faults.last(drive, self.now, |kind| matches!(kind, FaultKind::ReadRetries(_)));
        let standing = faults.system.faults.iter().filter(|fault| fault.hurts(drive.0));
        let retries = match last.map(|number| faults.fault(number).kind) {
            Some(FaultKind::ReadRetries(retries)) => Some(retries),
            _ => standing.filter_map(standing_retries).next_back(),
        };
        let media = &mut self.attachments[usize::from(drive)].drive.media;
        media!(media, media => media.set_retries(retries));
    }

    /// Trains a link, or sets its bit errors, as the last active fault of this kind states.
    fn look_at_link(&mut self, drive: DriveNumber, place: LinkSelector, kind: &FaultKind) {
        let Some(faults) = &self.faults else { return };
        let attachment = &faults.system.attachments[usize::from(drive)];
        let Some(port_path) = attachment.port_paths().nth(place.port.into()) else { return };
        let number = number_of(port_path, place);
        let Some(model) = faults.system.links(port_path).nth(number).map(|spec| spec.model) else {
            return;
        };
        let key =
            StreamKey { thread: LINK_STREAM | u32::from(drive.0) << 5 | number as u32, ..self.key };
        // A link has several names: with or without its number, and under each drive that shares it.
        let link = link_of(&faults.system, drive, place);
        let is_of_link = |fault: &Fault, place: LinkSelector| {
            let affected = drives(self.attachments.len()).filter(|drive| fault.hurts(drive.0));
            affected.map(|drive| link_of(&faults.system, drive, place)).any(|other| other == link)
        };
        if matches!(kind, FaultKind::Retrain { .. }) {
            let last = faults.last_of_any(self.now, |fault| {
                if let FaultKind::Retrain { link, .. } = fault.kind {
                    is_of_link(fault, link)
                } else {
                    false
                }
            });
            let trained: Option<LinkModel> = match last.map(|number| faults.fault(number).kind) {
                Some(FaultKind::Retrain { to, .. }) => model.trained(to),
                _ => Some(model),
            };
            let model = trained.unwrap_or(model);
            self.link(drive, place.port, number).train(model);
        } else {
            let last = faults.last_of_any(self.now, |fault| {
                if let FaultKind::LinkErrors { link, .. } = fault.kind {
                    is_of_link(fault, link)
                } else {
                    false
                }
            });
            let rate = match last.map(|number| faults.fault(number).kind) {
                Some(FaultKind::LinkErrors { rate, .. }) => Some(rate),
                _ => None,
            };
            self.link(drive, place.port, number).set_bit_error_rate(rate, Rng::new(key));
        }
    }

    /// Returns the link with number `number` on the path to a port.
    fn link(&mut self, drive: DriveNumber, port: u8, number: usize) -> &mut Link {
        let port_path = self.attachments[usize::from(drive)].path.port_path(PathNumber(port));
        match number.checked_sub(port_path.shared()) {
            Some(own) => port_path.link(own),
            None => &mut self.shared[number],
        }
    }

    /// Marks a port as lost while a fault of the port is active, and otherwise as working.
    fn look_at_port(&mut self, fault: &Fault, port: u8) {
        let Some(faults) = &mut self.faults else { return };
        let numbered_drives = self.attachments.iter_mut().zip((0..).map(DriveNumber));
        for (attachment, drive) in numbered_drives.filter(|(_, drive)| fault.hurts(drive.0)) {
            let lost = faults.last(drive, self.now, |kind| loses_port(kind, port)).is_some();
            attachment.port_paths.lose(PathNumber(port), lost);
            if !lost {
                faults.drive(drive).gone = None;
            }
        }
    }

    /// Returns whether a command cannot be sent now, because its drive is being reset or is gone. The command then
    /// waits or fails.
    pub(super) fn keeps_from_drive(&mut self, handle: CommandHandle) -> bool {
        let Some(faults) = &mut self.faults else { return false };
        let command = &mut self.commands[handle];
        let drive = faults.drive(command.drive);
        if let Some(fault) = drive.gone {
            let status = RequestStatus::Failed(ErrorKind::DeviceGone);
            command.harm = CommandDamage { status, then: HostStep::Fail, fault, ..command.harm };
            self.events.schedule(self.now + REFUSAL, Event::TimedOut(handle));
            return true;
        }
        let Some(reset) = drive.reset.filter(|reset| self.now < reset.until) else { return false };
        faults.record_delay(reset.fault);
        self.events.schedule(reset.until, Event::Submitted(handle));
        true
    }

    /// Records that a command must be repeated if a link has corrupted its data.
    pub(super) fn look_for_spoilt(&mut self, handle: CommandHandle) {
        let command = &mut self.commands[handle];
        let path = &mut self.attachments[usize::from(command.drive)].path;
        if !path.port_path(command.port_path).take_spoilt() {
            return;
        }
        command.harm.spoilt = true;
        let Some(faults) = &self.faults else { return };
        // The fault may have ended when the answer arrives.
        let spoils = |kind: &FaultKind| matches!(kind, FaultKind::LinkErrors { .. });
        if let Some(fault) = faults.last(command.drive, self.now, spoils) {
            command.harm.fault = fault;
        }
    }

    /// Returns whether the answer to a command does not reach the host, or requires the host to send the command again.
    pub(super) fn loses_answer(&mut self, handle: CommandHandle) -> bool {
        let Some(faults) = &mut self.faults else { return false };
        let command = &mut self.commands[handle];
        let index = command.drive;
        let AttachedDrive { port_paths, .. } = &self.attachments[usize::from(index)];
        let (harm, at) = if port_paths.is_lost(command.port_path) {
            // The host's timer may have expired already.
            let status = RequestStatus::Failed(ErrorKind::Timeout);
            let loses_this_port = |kind: &FaultKind| loses_port(kind, command.port_path.0);
            let fault = faults.last(index, self.now, loses_this_port).unwrap_or_default();
            let timeout = if let FaultKind::PortLoss { timeout: Some(timeout), .. } =
                faults.fault(fault).kind
            {
                timeout
            } else {
                COMMAND_TIMEOUT
            };
            let harm = CommandDamage { status, then: HostStep::OtherWay, fault, ..command.harm };
            (harm, command.sent + timeout)
        } else if let Some(reset) =
            faults.drive(index).reset.filter(|reset| command.sent < reset.at)
        {
            let next_step = if reset.again { HostStep::Again } else { HostStep::Fail };
            let status = RequestStatus::Failed(ErrorKind::Aborted);
            (
                CommandDamage { status, then: next_step, fault: reset.fault, ..command.harm },
                reset.until,
            )
        } else if command.harm.spoilt {
            let fault = command.harm.fault;
            let status = RequestStatus::Failed(ErrorKind::Link);
            let tries = command.harm.tries + 1;
            command.harm =
                CommandDamage { status, then: HostStep::Again, tries, fault, spoilt: false };
            if tries > LINK_RETRIES {
                return false;
            }
            let FaultKind::LinkErrors { recovery, .. } = faults.fault(fault).kind else {
                return false;
            };
            let until = self.now + recovery;
            let queued = faults.system.attachments[usize::from(index)].protocol.kind;
            if queued == ProtocolKind::Ahci {
                faults.drive(index).begin_reset(self.now, until, true, fault);
            }
            (command.harm, until)
        } else {
            return false;
        };
        faults.record_delay(harm.fault);
        command.harm = harm;
        self.events.schedule(at.max(self.now), Event::TimedOut(handle));
        true
    }

    pub(super) fn timed_out(&mut self, handle: CommandHandle) {
        let Some(faults) = &mut self.faults else { return };
        let command = &mut self.commands[handle];
        let index = command.drive;
        let fault = command.harm.fault;
        let thread = command.thread;
        command.trace.account_wait(Hop::Protocol, self.now);
        let again = match command.harm.then {
            HostStep::Again => true,
            HostStep::Fail => false,
            HostStep::OtherWay => {
                let lost = self.attachments[usize::from(index)].port_paths.are_lost();
                if lost {
                    faults.drive(index).gone = Some(fault);
                }
                !lost
            }
            HostStep::Unstick => {
                let stuck = faults.stuck(fault);
                command.harm.then = if stuck.again { HostStep::Again } else { HostStep::Fail };
                if stuck.abort.is_none() {
                    let until = self.now + stuck.reset;
                    faults.drive(index).begin_reset(self.now, until, stuck.again, fault);
                    self.events.schedule(until, Event::TimedOut(handle));
                    self.note_answer(index);
                    return;
                }
                self.note_answer(index);
                stuck.again
            }
        };
        if again {
            let command = &mut self.commands[handle];
            command.announced = false;
            (command.harm.status, command.harm.spoilt) = (RequestStatus::Good, false);
            self.resume(handle, thread);
        } else {
            let protocol = &self.attachments[usize::from(index)].protocol;
            let core = protocol.completion_core(thread);
            self.take_completion(handle, core, Duration::ZERO);
        }
    }

    /// Cuts the power of a drive, or of all drives and the host.
    fn power_cut(&mut self, number: FaultNumber, fault: &Fault) {
        let Some(faults) = &mut self.faults else { return };
        let Some(up) = fault.over_at() else { return };
        let now = self.now;
        let hurts = |drive: DriveNumber| fault.hurts(drive.0);
        let Self { commands, transfers, write_bursts, .. } = self;
        self.events.forget(|event, of_burst| {
            let drive = match event {
                Event::Submit(_) | Event::Fault(..) | Event::Failed(_) | Event::SharedFree(_) => {
                    return false;
                }
                Event::EngineFree(drive) | Event::Media(drive, _) | Event::Idle(drive) => drive,
                Event::AtShared(transfer) => {
                    let drive = commands[transfers[transfer].command].drive;
                    if hurts(drive) {
                        transfers.free(transfer);
                    }
                    drive
                }
                Event::DataIn(burst) => {
                    let drive = commands[write_bursts[burst].command].drive;
                    if hurts(drive) {
                        write_bursts.free(burst);
                    }
                    drive
                }
                Event::FromBuffer(burst) | Event::OffMedia(burst) => {
                    commands[of_burst(burst)].drive
                }
                Event::Submitted(command)
                | Event::Fetched(command)
                | Event::Admitted(command)
                | Event::Cached(command)
                | Event::Bridged(command)
                | Event::Arrived(command)
                | Event::Awake(command)
                | Event::Decoded(command)
                | Event::MapHere(command)
                | Event::Missed(command)
                | Event::RangesIn(command)
                | Event::Notified(command)
                | Event::TimedOut(command)
                | Event::Held(command)
                | Event::Completed(command) => commands[command].drive,
            };
            hurts(drive)
        });
        for (attachment, drive) in
            self.attachments.iter_mut().zip((0..).map(DriveNumber)).filter(|(_, one)| hurts(*one))
        {
            let spec = &faults.system.attachments[usize::from(drive)];
            for turns in &mut self.turns {
                for port_path in [0, 1] {
                    turns.forget(transfers, port_of(drive, PathNumber(port_path)));
                }
            }
            while let Some(burst) = attachment.drive.buffer.next_waiting() {
                write_bursts.free(burst);
            }
            faults.add_lost_bytes(number, attachment.lose_power(now, spec));
            faults.drive(drive).begin_reset(now, up, true, number);
        }
        for command in commands.handles() {
            if hurts(commands[command].drive) {
                commands.free(command);
            }
        }
        for request in self.requests.handles() {
            let one = &mut self.requests[request];
            if one.incomplete > 0 && hurts(DriveNumber(one.target)) {
                (one.status, one.fault) = (RequestStatus::Failed(ErrorKind::DeviceGone), number);
                one.incomplete = 0;
                self.events.schedule(now, Event::Failed(request));
            }
        }
        if fault.drive.is_none() {
            faults.host_up = faults.host_up.max(up);
        }
    }

    /// Starts drives that had lost their power.
    fn power_up(&mut self, fault: &Fault) {
        let Some(faults) = &mut self.faults else { return };
        for (attachment, drive) in self.attachments.iter_mut().zip((0..).map(DriveNumber)) {
            // A reset by the host, or another cut, may last longer than the start of the drive.
            let is_power_cut = |kind: &FaultKind| matches!(kind, FaultKind::PowerCut { .. });
            let is_up = faults.last(drive, self.now, is_power_cut).is_none();
            if is_up && fault.hurts(drive.0) {
                let media = &mut attachment.drive.media;
                let events = &mut self.events;
                media!(media, media => media.power_up(self.now, events));
            }
        }
    }

    /// Ends a request that has failed because of its drive.
    pub(super) fn fail_request(&mut self, handle: RequestHandle) -> Completion {
        let super::Request { target, tag, access, submitted, status, fault, .. } =
            self.requests[handle];
        self.requests.free(handle);
        if let Some(faults) = &mut self.faults {
            faults.note_answer(handle, status);
            faults.record_outcome(DriveNumber(target), status, fault, submitted, self.now);
        }
        let mut budget = Budget::default();
        budget.wait_more(Hop::Protocol as usize, self.now.since(submitted));
        Completion { tag, access, submitted, completed: self.now, status, budget }
    }
}

/// Base of the random streams for link errors, separate from the streams of threads and drives.
const LINK_STREAM: u32 = 3 << 30;

fn loses_port(kind: &FaultKind, port: u8) -> bool {
    matches!(kind, FaultKind::PortLoss { port: lost, .. } if *lost == port)
}

/// A link of a system: the port to which the link belongs (`None` if drives share it), and its number on the path.
type FaultedLink = (Option<(DriveNumber, u8)>, usize);

/// Returns the link of a drive at `place`, or `None` if the drive does not have this port.
fn link_of(system: &SystemSpec, drive: DriveNumber, place: LinkSelector) -> Option<FaultedLink> {
    let port_path = system.attachments[usize::from(drive)].port_paths().nth(place.port.into())?;
    let number = number_of(port_path, place);
    Some(((number >= port_path.trunk).then_some((drive, place.port)), number))
}

/// Returns the number of a link on its path: the last link if `place` lacks a number.
fn number_of(port_path: &PortPathSpec, place: LinkSelector) -> usize {
    place.number.map_or(port_path.trunk + port_path.links.len() - 1, usize::from)
}

impl AttachedDrive {
    /// Discards all work in progress, and returns the number of acknowledged bytes that were lost.
    fn lose_power(&mut self, now: Instant, spec: &AttachmentSpec) -> Bytes {
        self.protocol.restart();
        if let Some(meter) = &mut self.meter {
            meter.restart(now);
        }
        self.drive.power_cut(now, spec)
    }
}

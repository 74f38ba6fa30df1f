//! The fault plan during a run: the active faults, and the outcome of each fault.
//!
//! [`lanemark_schema::workload::fault`] lists the kinds of faults. An event begins each fault at its time, and another
//! event ends it. In between the simulator queries [`Faults`] at three points of a command's life (when it is sent,
//! when it reaches the media, when its answer arrives), and never in a run without faults.

use crate::engine::number::DriveNumber;
use crate::spec::SystemSpec;
use lanemark_schema::result::{ErrorKind, FaultUse};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::Operation;
use lanemark_schema::workload::fault::{Fault, FaultKind, ReadRetries, StuckCommands};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// The request succeeded.
    #[default]
    Good,
    /// The request failed.
    Failed(ErrorKind),
}

/// The number of a fault in its plan.
pub(super) type FaultNumber = u16;

/// The faults of a running system.
pub(super) struct Faults {
    /// The system as it was built; links return to this state.
    pub system: SystemSpec,
    /// The faults of the plan, in the order of their times.
    plan: Vec<Fault>,
    uses: Vec<FaultUse>,
    /// Faults that have begun, without a successful request since.
    unrecovered: Vec<FaultNumber>,
    drives: Vec<DriveFaults>,
    /// Instant until which the host is down.
    pub host_up: Instant,
}

/// The active faults of one drive.
#[derive(Clone, Debug, Default)]
pub(super) struct DriveFaults {
    unreadable: Vec<FaultNumber>,
    latency: Option<FaultNumber>,
    paused: Option<FaultNumber>,
    read_only: Option<FaultNumber>,
    /// Number of commands that will be stuck.
    stuck: u32,
    stuck_by: FaultNumber,
    /// The host's last reset of the drive, after lost answers.
    pub reset: Option<Reset>,
    /// The fault that made the host abandon the drive, because no port answers.
    pub gone: Option<FaultNumber>,
}

/// A drive that does not accept commands for some time. Answers to commands that were sent before the reset began are
/// lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reset {
    /// Instant at which the reset began.
    pub at: Instant,
    /// Instant at which the reset ends.
    pub until: Instant,
    /// Whether outstanding commands are sent again, or fail.
    pub again: bool,
    /// The fault that caused the reset.
    pub fault: FaultNumber,
}

/// The effect of the active faults on a command that reaches the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultEffect {
    /// No effect.
    Nothing,
    /// The command receives no answer.
    Stuck(FaultNumber),
    /// The command continues later, and fails if there is a kind of error.
    Held {
        /// Instant at which the command continues.
        until: Instant,
        /// Error of the command, if it fails.
        error: Option<ErrorKind>,
        /// The fault that delays the command.
        fault: FaultNumber,
    },
}

impl Faults {
    /// Returns the faults of `system` before any of them has begun. Returns `None` if the system has no faults, except
    /// for reads that are repeated from the start, which are a property of the drive.
    pub(super) fn of(system: &SystemSpec) -> Option<Box<Self>> {
        let mut plan: Vec<Fault> = system.faults.clone();
        plan.retain(|fault| standing_retries(fault).is_none());
        if plan.is_empty() {
            return None;
        }
        plan.sort_by_key(|fault| fault.at);
        Some(Box::new(Self {
            system: system.clone(),
            uses: plan.iter().map(unused).collect(),
            plan,
            unrecovered: Vec::new(),
            drives: vec![DriveFaults::default(); system.drives()],
            host_up: Instant::ZERO,
        }))
    }

    /// Adds a fault after the faults of the plan, and returns its number.
    pub(super) fn add(&mut self, fault: Fault) -> FaultNumber {
        self.uses.push(unused(&fault));
        self.plan.push(fault);
        (self.plan.len() - 1) as FaultNumber
    }

    /// Returns the plan in the order of times.
    pub(super) fn plan(&self) -> &[Fault] {
        &self.plan
    }

    /// Returns the outcome of each fault that has begun by `now`.
    pub(super) fn uses(&self, now: Instant) -> Vec<FaultUse> {
        let begun = self.plan.iter().zip(&self.uses).filter(|(fault, _)| fault.at <= now);
        begun.map(|(_, one)| one.clone()).collect()
    }

    /// Returns the active faults of a drive.
    #[inline]
    pub(super) fn drive(&mut self, drive: DriveNumber) -> &mut DriveFaults {
        &mut self.drives[usize::from(drive)]
    }

    /// Records that a fault has begun.
    pub(super) fn begin(&mut self, number: FaultNumber) {
        self.unrecovered.push(number);
    }

    pub(super) fn fault(&self, number: FaultNumber) -> &Fault {
        &self.plan[usize::from(number)]
    }

    /// Returns the stuck commands of a fault, or the default for a fault of another kind.
    pub(super) fn stuck(&self, number: FaultNumber) -> StuckCommands {
        match self.fault(number).kind {
            FaultKind::Stuck(stuck) => stuck,
            _ => StuckCommands::default(),
        }
    }

    /// Records a command that a fault delayed.
    pub(super) fn held(&mut self, number: FaultNumber) {
        self.uses[usize::from(number)].held += 1;
    }

    pub(super) fn lost(&mut self, number: FaultNumber, bytes: Bytes) {
        self.uses[usize::from(number)].lost += bytes;
    }

    /// Records how a request on `drive` ended.
    pub(super) fn ended(
        &mut self,
        drive: DriveNumber,
        status: Status,
        fault: FaultNumber,
        submitted: Instant,
        completed: Instant,
    ) {
        if let Status::Failed(_) = status {
            self.uses[usize::from(fault)].failed += 1;
            return;
        }
        let Self { plan, uses, unrecovered, .. } = self;
        unrecovered.retain(|&number| {
            let fault = &plan[usize::from(number)];
            let recovered = submitted >= fault.at && fault.hurts(drive.0);
            if recovered {
                uses[usize::from(number)].recovery = Some(completed.since(fault.at));
            }
            !recovered
        });
    }

    /// Returns the last fault for which `of` returns true and which has begun but is not over at `now`.
    pub(super) fn last(
        &self,
        drive: DriveNumber,
        now: Instant,
        of: impl Fn(&FaultKind) -> bool,
    ) -> Option<FaultNumber> {
        self.last_of_any(now, |fault| fault.hurts(drive.0) && of(&fault.kind))
    }

    /// Returns the last fault on any drive for which `of` returns true and which has begun but is not over at `now`.
    /// Faults that are added to a run may begin before faults that were added earlier.
    pub(super) fn last_of_any(
        &self,
        now: Instant,
        of: impl Fn(&Fault) -> bool,
    ) -> Option<FaultNumber> {
        self.holding(now, of).max_by_key(|&number| self.fault(number).at)
    }

    fn holding(
        &self,
        now: Instant,
        of: impl Fn(&Fault) -> bool,
    ) -> impl Iterator<Item = FaultNumber> {
        let holds = move |fault: &Fault| {
            fault.at <= now && fault.over_at().is_none_or(|over| now < over) && of(fault)
        };
        let numbered = self.plan.iter().zip(0..);
        numbered.filter(move |(fault, _)| holds(fault)).map(|(_, number)| number)
    }

    /// Recomputes the active faults of a drive's media; a fault that makes commands stuck begins with `begins`.
    pub(super) fn look(&mut self, drive: DriveNumber, now: Instant, begins: Option<FaultNumber>) {
        let own = |fault: &Fault| fault.hurts(drive.0);
        let unreadable: Vec<FaultNumber> = self
            .holding(now, |fault| own(fault) && matches!(fault.kind, FaultKind::MediaError { .. }))
            .collect();
        let latency = self.last(drive, now, |kind| matches!(kind, FaultKind::Latency { .. }));
        let pauses = self.holding(now, |fault| own(fault) && fault.kind == FaultKind::Pause);
        let paused = pauses.max_by_key(|&number| self.fault(number).over_at());
        // The first fault that refuses a write, because the drive has accepted more data at every later time.
        let limit = |fault: &Fault| match fault.kind {
            FaultKind::ReadOnly { written } => Some(written),
            _ => None,
        };
        let read_only = self
            .holding(now, |fault| own(fault) && limit(fault).is_some())
            .min_by_key(|&number| limit(self.fault(number)));
        let stuck = begins.map(|number| (number, self.fault(number).kind));
        let own = self.drive(drive);
        (own.unreadable, own.latency, own.paused) = (unreadable, latency, paused);
        own.read_only = read_only;
        if let Some((number, FaultKind::Stuck(stuck))) = stuck {
            (own.stuck, own.stuck_by) = (stuck.commands, number);
        }
    }

    /// Returns the active pause of a drive's media that lasts longest, and its end.
    pub(super) fn paused(&self, drive: DriveNumber) -> Option<(FaultNumber, Instant)> {
        let number = self.drives[usize::from(drive)].paused?;
        Some((number, self.fault(number).over_at()?))
    }

    /// Ends the stuck commands of a fault that is over.
    pub(super) fn end_stuck(&mut self, drive: DriveNumber, number: FaultNumber) {
        let own = self.drive(drive);
        if own.stuck_by == number {
            own.stuck = 0;
        }
    }

    /// Returns the effect of faults on a command that reaches the media. `written` is the data that the host has
    /// written to the drive.
    pub(super) fn meet(
        &mut self,
        now: Instant,
        drive: DriveNumber,
        operation: Operation,
        start: Bytes,
        end: Bytes,
        written: impl Fn() -> Bytes,
    ) -> FaultEffect {
        let own = self.drive(drive);
        if own.stuck > 0 {
            own.stuck -= 1;
            return FaultEffect::Stuck(own.stuck_by);
        }
        let own = &self.drives[usize::from(drive)];
        let (mut until, mut error, mut by) = (now, None, None);
        if let Some(over) = own.paused.and_then(|number| self.fault(number).over_at()) {
            (until, by) = (over, own.paused);
        }
        if let Some(number) = own.latency
            && let FaultKind::Latency { extra } = self.fault(number).kind
        {
            (until, by) = (until + extra, Some(number));
        }
        match operation {
            Operation::Read => {
                let bad = own.unreadable.iter().find_map(|&number| match self.fault(number).kind {
                    FaultKind::MediaError { start: first, end: last, recovery } => {
                        (first < end && start < last).then_some((number, recovery))
                    }
                    _ => None,
                });
                if let Some((number, recovery)) = bad {
                    (until, by) = (until + recovery, Some(number));
                    error = Some(ErrorKind::Media);
                }
            }
            Operation::Write | Operation::Trim => {
                if let Some(number) = own.read_only
                    && let FaultKind::ReadOnly { written: limit } = self.fault(number).kind
                    && (limit == Bytes::ZERO || written() >= limit)
                {
                    (error, by) = (Some(ErrorKind::ReadOnly), Some(number));
                }
            }
            Operation::Flush => {}
        }
        match by {
            None => FaultEffect::Nothing,
            Some(fault) => FaultEffect::Held { until, error, fault },
        }
    }
}

/// Returns the outcome of a fault that has not begun.
fn unused(fault: &Fault) -> FaultUse {
    FaultUse {
        fault: fault.to_string(),
        at: fault.at.since(Instant::ZERO),
        failed: 0,
        held: 0,
        lost: Bytes::ZERO,
        recovery: None,
    }
}

impl DriveFaults {
    /// Discards the answers to commands from before `now`, and makes the drive refuse commands until `until`.
    pub(super) fn begin_reset(
        &mut self,
        now: Instant,
        until: Instant,
        again: bool,
        fault: FaultNumber,
    ) {
        let until = self.reset.map_or(until, |before| before.until.max(until));
        self.reset = Some(Reset { at: now, until, again, fault });
    }
}

/// Returns the reads that are repeated from the start of a run to its end.
pub(super) fn standing_retries(fault: &Fault) -> Option<ReadRetries> {
    match fault.kind {
        FaultKind::ReadRetries(retries) if fault.at == Instant::ZERO && fault.length.is_none() => {
            Some(retries)
        }
        _ => None,
    }
}

/// Time that a host waits before it fails a request whose drive is gone: long enough for time to advance.
pub(super) const REFUSAL: Duration = Duration::from_microseconds(1);
/// Maximum number of times that a host repeats a command whose data a link has corrupted: `SD_MAX_RETRIES` of Linux's
/// SCSI disks.
pub(super) const LINK_RETRIES: u8 = 5;

#[cfg(test)]
mod tests;

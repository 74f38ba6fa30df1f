//! The plan of faults at work: which of them hold now, and what came of each.
//!
//! The kinds of faults are listed in [`crate::workload::fault`]. An event begins each at its time, and another one
//! ends it; in between the simulator asks [`Faults`] at three places of a command's life (where it is sent, where it
//! gets to the media, where its answer comes), and nowhere in a run without faults.

use crate::result::{ErrorKind, FaultUse};
use crate::sim::number::DriveNumber;
use crate::sim::spec::SystemSpec;
use crate::units::{Bytes, Duration, Instant};
use crate::workload::Operation;
use crate::workload::fault::{Fault, FaultKind, LinkPlace, ReadRetries, Stuck};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// The request did what it was asked for.
    #[default]
    Good,
    /// The request failed.
    Failed(ErrorKind),
}

/// The number of a fault in its plan.
pub(super) type FaultNumber = u16;

/// The faults of a system at work.
pub(super) struct Faults {
    /// The system as it was built: links go back to what they were.
    pub system: SystemSpec,
    /// The faults of the plan in the order of their times.
    plan: Vec<Fault>,
    uses: Vec<FaultUse>,
    /// Faults that have begun, and since which no request has succeeded.
    unrecovered: Vec<FaultNumber>,
    drives: Vec<DriveFaults>,
    /// Instant until which the host is down.
    pub host_up: Instant,
}

/// The faults of one drive that hold now.
#[derive(Clone, Debug, Default)]
pub(super) struct DriveFaults {
    unreadable: Vec<FaultNumber>,
    latency: Option<FaultNumber>,
    paused: Option<FaultNumber>,
    read_only: Option<FaultNumber>,
    /// Commands that will be stuck.
    stuck: u32,
    stuck_by: FaultNumber,
    /// Last reset of the drive by the host, after lost answers.
    pub reset: Option<Reset>,
    /// The fault for which the host has given the drive up, since no port of it answers.
    pub gone: Option<FaultNumber>,
}

/// A drive that takes no commands for a while. Answers to commands that were sent before it began are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reset {
    /// Instant at which the reset began.
    pub at: Instant,
    /// Instant at which the reset is over.
    pub until: Instant,
    /// Whether outstanding commands are sent again, or fail.
    pub again: bool,
    /// The fault that caused the reset.
    pub fault: FaultNumber,
}

/// The effect of the present faults on a command that gets to the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encounter {
    /// No effect.
    Nothing,
    /// The command is not answered.
    Stuck(FaultNumber),
    /// The command goes on later, and fails where there is a kind of error.
    Held {
        /// Instant at which the command goes on.
        until: Instant,
        /// Error that the command fails with, where it fails.
        error: Option<ErrorKind>,
        /// The fault that holds the command.
        fault: FaultNumber,
    },
}

impl Faults {
    /// The faults of `system`, of which none has begun; nothing where it has none but reads that are repeated from the
    /// start on, which is what the drive is like.
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

    /// Adds a fault behind those of the plan, and returns its number.
    pub(super) fn add(&mut self, fault: Fault) -> FaultNumber {
        self.uses.push(unused(&fault));
        self.plan.push(fault);
        (self.plan.len() - 1) as FaultNumber
    }

    /// The plan in the order of times.
    pub(super) fn plan(&self) -> &[Fault] {
        &self.plan
    }

    /// Returns the outcome of each fault that has begun until `now`.
    pub(super) fn uses(&self, now: Instant) -> Vec<FaultUse> {
        let begun = self.plan.iter().zip(&self.uses).filter(|(fault, _)| fault.at <= now);
        begun.map(|(_, one)| one.clone()).collect()
    }

    /// Returns the faults of a drive that hold now.
    #[inline]
    pub(super) fn drive(&mut self, drive: DriveNumber) -> &mut DriveFaults {
        &mut self.drives[usize::from(drive)]
    }

    /// Takes note that a fault has begun.
    pub(super) fn begin(&mut self, number: FaultNumber) {
        self.unrecovered.push(number);
    }

    /// The fault of this plan.
    pub(super) fn fault(&self, number: FaultNumber) -> &Fault {
        &self.plan[usize::from(number)]
    }

    /// The commands of a fault that makes them stuck.
    pub(super) fn stuck(&self, number: FaultNumber) -> Stuck {
        match self.fault(number).kind {
            FaultKind::Stuck(stuck) => stuck,
            _ => Stuck::default(),
        }
    }

    /// Takes note of a command that a fault held up.
    pub(super) fn held(&mut self, number: FaultNumber) {
        self.uses[usize::from(number)].held += 1;
    }

    /// Takes note of data that a fault took.
    pub(super) fn lost(&mut self, number: FaultNumber, bytes: Bytes) {
        self.uses[usize::from(number)].lost += bytes;
    }

    /// Takes note of how a request on `drive` ended.
    pub(super) fn ended(
        &mut self,
        drive: DriveNumber,
        status: Status,
        fault: FaultNumber,
        (submitted, completed): (Instant, Instant),
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

    /// The last fault for which `of` holds that has begun and is not over at `now`.
    pub(super) fn last(
        &self,
        drive: DriveNumber,
        now: Instant,
        of: impl Fn(&FaultKind) -> bool,
    ) -> Option<FaultNumber> {
        self.holding(drive, now, of).last()
    }

    fn holding(
        &self,
        drive: DriveNumber,
        now: Instant,
        of: impl Fn(&FaultKind) -> bool,
    ) -> impl Iterator<Item = FaultNumber> {
        let holds = move |fault: &Fault| {
            fault.at <= now
                && fault.over_at().is_none_or(|over| now < over)
                && fault.hurts(drive.0)
                && of(&fault.kind)
        };
        let numbered = self.plan.iter().zip(0..);
        numbered.filter(move |(fault, _)| holds(fault)).map(|(_, number)| number)
    }

    /// The last fault of this link for which `of` holds now.
    pub(super) fn last_of_link(
        &self,
        drive: DriveNumber,
        now: Instant,
        link: LinkPlace,
        of: impl Fn(&FaultKind) -> Option<LinkPlace>,
    ) -> Option<FaultNumber> {
        self.last(drive, now, |kind| of(kind) == Some(link))
    }

    /// Looks again at what is wrong with the media of a drive; a fault that makes commands stuck begins with `begins`.
    pub(super) fn look(&mut self, drive: DriveNumber, now: Instant, begins: Option<FaultNumber>) {
        let unreadable: Vec<FaultNumber> =
            self.holding(drive, now, |kind| matches!(kind, FaultKind::MediaError { .. })).collect();
        let latency = self.last(drive, now, |kind| matches!(kind, FaultKind::Latency { .. }));
        let pauses = self.holding(drive, now, |kind| matches!(kind, FaultKind::Pause));
        let paused = pauses.max_by_key(|&number| self.fault(number).over_at());
        let read_only = self.last(drive, now, |kind| matches!(kind, FaultKind::ReadOnly { .. }));
        let stuck = begins.map(|number| (number, self.fault(number).kind));
        let own = self.drive(drive);
        (own.unreadable, own.latency, own.paused) = (unreadable, latency, paused);
        own.read_only = read_only;
        if let Some((number, FaultKind::Stuck(stuck))) = stuck {
            (own.stuck, own.stuck_by) = (stuck.commands, number);
        }
    }

    /// Ends the stuck commands of a fault that is over.
    pub(super) fn end_stuck(&mut self, drive: DriveNumber, number: FaultNumber) {
        let own = self.drive(drive);
        if own.stuck_by == number {
            own.stuck = 0;
        }
    }

    /// Returns the effect of faults on a command that gets to the media. `written` is the data that the drive has taken
    /// of the host.
    pub(super) fn meet(
        &mut self,
        now: Instant,
        drive: DriveNumber,
        operation: Operation,
        (start, end): (Bytes, Bytes),
        written: impl Fn() -> Bytes,
    ) -> Encounter {
        let own = self.drive(drive);
        if own.stuck > 0 {
            own.stuck -= 1;
            return Encounter::Stuck(own.stuck_by);
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
            None => Encounter::Nothing,
            Some(fault) => Encounter::Held { until, error, fault },
        }
    }
}

/// The outcome of a fault that has not begun.
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
    /// Lets answers to what was sent before `now` be lost, and the drive take nothing until `until`.
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

/// Reads that are repeated from the start of a run to its end.
pub(super) fn standing_retries(fault: &Fault) -> Option<ReadRetries> {
    match fault.kind {
        FaultKind::ReadRetries(retries) if fault.at == Instant::ZERO && fault.length.is_none() => {
            Some(retries)
        }
        _ => None,
    }
}

/// Time that a host waits before it tells a request that its drive is gone: long enough for time to go on.
pub(super) const REFUSAL: Duration = Duration::from_microseconds(1);
/// Number of times that a host sends a command again that a link has spoilt: `SD_MAX_RETRIES` of Linux's SCSI disks.
pub(super) const LINK_RETRIES: u8 = 5;

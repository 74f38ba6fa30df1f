//! The fault plan during a run: the active faults, and the outcome of each fault.
//!
//! [`lanemark_schema::workload::fault`] lists the kinds of faults. One event begins each fault at its time, and another
//! event ends it. While there are faults, the simulator queries [`Faults`] at three points of a command's life: when
//! the command is sent, when it reaches the media, and when its answer arrives. In a run without faults, there are no
//! queries.
//!
//! A fault with a share makes one random draw for each request, from a stream whose key is derived from the run's key,
//! the fault's number and the request's position in the order of submission (`marks`). The draws apply to whole
//! requests and not to individual commands.

mod bad_ranges;
mod listed;
mod marks;

use std::collections::BTreeMap;

use crate::engine::number::DriveNumber;
use crate::engine::slab::RequestHandle;
use crate::spec::SystemSpec;
use bad_ranges::BadRanges;
use lanemark_schema::result::{ErrorKind, FaultImpact};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::Operation;
use lanemark_schema::workload::fault::{ByteRange, Fault, FaultKind, ReadRetries, StuckCommands};
pub use listed::{FaultClearError, FaultPhase, FaultState};
pub(super) use marks::FaultNumber;
use marks::RequestMarks;

/// The outcome of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestStatus {
    /// The request succeeded.
    #[default]
    Good,
    /// The request failed.
    Failed(ErrorKind),
}

/// Damage to the data of a request that succeeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SilentDamage {
    /// The silent fault.
    pub kind: FaultKind,
    /// A random number that determines the details of the damage.
    pub draw: u64,
}

/// A command that reaches the media.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaAccess {
    pub request: RequestHandle,
    pub drive: DriveNumber,
    pub operation: Operation,
    /// First byte of the command.
    pub start: Bytes,
    /// First byte after the command.
    pub end: Bytes,
}

/// The faults of a running system.
pub(super) struct Faults {
    /// The system in its original state, to which links return.
    pub system: SystemSpec,
    /// The faults of the plan, in the order of their times.
    plan: Vec<Fault>,
    uses: Vec<FaultImpact>,
    /// Faults that were removed before they began.
    removed: Vec<FaultNumber>,
    /// Faults that have begun and after which no request has succeeded yet.
    unrecovered: Vec<FaultNumber>,
    drives: Vec<DriveFaults>,
    marks: RequestMarks,
    /// Damage of the request that ended last.
    damage: Option<SilentDamage>,
    /// The run's key, which determines all draws.
    key: StreamKey,
    /// Instant until which the host is down.
    pub host_up: Instant,
}

#[derive(Clone, Debug, Default)]
pub(super) struct DriveFaults {
    unreadable: Vec<FaultNumber>,
    unwritable: Vec<FaultNumber>,
    /// Active faults that delay commands, the latest first.
    slow: Vec<FaultNumber>,
    /// Active silent faults, the latest first.
    silent: Vec<FaultNumber>,
    /// The bad bytes of each fault that is healed by writes.
    healing: BTreeMap<FaultNumber, BadRanges>,
    paused: Option<FaultNumber>,
    read_only: Option<FaultNumber>,
    /// Number of upcoming commands that will be stuck.
    stuck: u32,
    stuck_by: FaultNumber,
    /// The host's last reset of the drive, after answers were lost.
    pub reset: Option<DriveReset>,
    /// The fault that made the host abandon the drive when no port answered.
    pub gone: Option<FaultNumber>,
}

/// A reset, during which a drive does not accept commands. Answers to commands that were sent before the reset began
/// are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DriveReset {
    /// Instant at which the reset began.
    pub at: Instant,
    /// Instant at which the reset ends.
    pub until: Instant,
    /// Whether outstanding commands are sent again; otherwise they fail.
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
    /// The command continues later, and fails if `error` is set.
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
    /// Returns the faults of `system` before any of them has begun, or `None` for a system without faults. Read retries
    /// that last for the whole run do not count as a fault here: they are a property of the drive.
    pub(super) fn for_system(system: &SystemSpec, key: StreamKey) -> Option<Box<Self>> {
        let mut plan: Vec<Fault> = system.faults.clone();
        plan.retain(|fault| standing_retries(fault).is_none());
        if plan.is_empty() {
            return None;
        }
        plan.sort_by_key(|fault| fault.at);
        Some(Box::new(Self {
            system: system.clone(),
            uses: plan.iter().map(unused_fault_impact).collect(),
            plan,
            removed: Vec::new(),
            unrecovered: Vec::new(),
            drives: vec![DriveFaults::default(); system.drives()],
            marks: RequestMarks::default(),
            damage: None,
            key,
            host_up: Instant::ZERO,
        }))
    }

    /// Adds a fault after the faults of the plan, and returns its number.
    pub(super) fn add(&mut self, fault: Fault) -> FaultNumber {
        self.uses.push(unused_fault_impact(&fault));
        self.plan.push(fault);
        (self.plan.len() - 1) as FaultNumber
    }

    /// Returns the faults of the plan by their numbers.
    pub(super) fn plan(&self) -> &[Fault] {
        &self.plan
    }

    /// Returns the outcome of each fault that has begun by `now`.
    pub(super) fn uses(&self, now: Instant) -> Vec<FaultImpact> {
        let begun =
            |&number: &FaultNumber| self.fault(number).at <= now && !self.is_removed(number);
        let begun = self.uses.iter().zip(0..).filter(|(_, number)| begun(number));
        begun.map(|(one, _)| one.clone()).collect()
    }

    /// Returns whether a fault was removed before it began.
    pub(super) fn is_removed(&self, number: FaultNumber) -> bool {
        self.removed.contains(&number)
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

    /// Returns the parameters of a fault that makes commands stuck, or the default for a fault of another kind.
    pub(super) fn stuck(&self, number: FaultNumber) -> StuckCommands {
        if let FaultKind::Stuck(stuck) = self.fault(number).kind {
            stuck
        } else {
            StuckCommands::default()
        }
    }

    /// Records a command that a fault delayed.
    pub(super) fn record_delay(&mut self, number: FaultNumber) {
        self.uses[usize::from(number)].held += 1;
    }

    pub(super) fn add_lost_bytes(&mut self, number: FaultNumber, bytes: Bytes) {
        self.uses[usize::from(number)].lost += bytes;
    }

    /// Records that a request is submitted.
    pub(super) fn note_submission(&mut self, request: RequestHandle) {
        self.marks.note_submission(request);
    }

    /// Returns the damage of the request that ended last.
    pub(super) fn damage(&self) -> Option<SilentDamage> {
        self.damage
    }

    /// Records that a request has ended, and counts it if its data is wrong without an error.
    pub(super) fn note_answer(&mut self, request: RequestHandle, status: RequestStatus) {
        let deceived = self.marks.deceived_by(request).filter(|_| status == RequestStatus::Good);
        self.damage = deceived.zip(self.marks.order(request)).map(|(number, order)| {
            let mut draws = self.draws(number, order);
            // The first random number has decided whether the fault affects the request.
            draws.next_u64();
            SilentDamage { kind: self.fault(number).kind, draw: draws.next_u64() }
        });
        if let Some(number) = deceived {
            self.uses[usize::from(number)].silent += 1;
        }
    }

    /// Returns the random numbers of a fault for the request at this position in the order of submission.
    fn draws(&self, number: FaultNumber, order: u64) -> Rng {
        let seed = self.key.seed ^ order.wrapping_mul(SPREAD);
        Rng::new(StreamKey { seed, thread: SHARE_STREAM | u32::from(number), ..self.key })
    }

    /// Returns whether a fault affects a request, according to the fault's share.
    fn affects(&self, number: FaultNumber, request: RequestHandle) -> bool {
        let Some(share) = self.fault(number).share else { return true };
        let order = self.marks.order(request);
        order.is_some_and(|order| self.draws(number, order).chance(share.get()))
    }

    /// Records the outcome of a request on `drive`.
    pub(super) fn record_outcome(
        &mut self,
        drive: DriveNumber,
        status: RequestStatus,
        fault: FaultNumber,
        submitted: Instant,
        completed: Instant,
    ) {
        if let RequestStatus::Failed(_) = status {
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

    /// Returns the last fault that is active at `now` and for which `of` returns true.
    pub(super) fn last(
        &self,
        drive: DriveNumber,
        now: Instant,
        of: impl Fn(&FaultKind) -> bool,
    ) -> Option<FaultNumber> {
        self.last_of_any(now, |fault| fault.hurts(drive.0) && of(&fault.kind))
    }

    /// Returns the last fault on any drive that is active at `now` and for which `of` returns true. A fault that is
    /// added to a run may begin before faults that were added earlier.
    pub(super) fn last_of_any(
        &self,
        now: Instant,
        of: impl Fn(&Fault) -> bool,
    ) -> Option<FaultNumber> {
        self.select_active(now, of).max_by_key(|&number| self.fault(number).at)
    }

    fn select_active(
        &self,
        now: Instant,
        of: impl Fn(&Fault) -> bool,
    ) -> impl Iterator<Item = FaultNumber> {
        let is_in_effect = move |fault: &Fault| {
            fault.at <= now && fault.over_at().is_none_or(|over| now < over) && of(fault)
        };
        let numbered = self.plan.iter().zip(0..);
        let active =
            numbered.filter(move |(fault, _)| is_in_effect(fault)).map(|(_, number)| number);
        active.filter(|number| !self.is_removed(*number))
    }

    /// Recomputes the active faults of a drive's media. `begins` is the fault that begins now, if any.
    pub(super) fn look(&mut self, drive: DriveNumber, now: Instant, begins: Option<FaultNumber>) {
        let own = |fault: &Fault| fault.hurts(drive.0);
        let active = |of: fn(&FaultKind) -> bool| -> Vec<FaultNumber> {
            self.select_active(now, |fault| own(fault) && of(&fault.kind)).collect()
        };
        let last_first = |of: fn(&FaultKind) -> bool| {
            let mut all = active(of);
            all.sort_by_key(|&number| (self.fault(number).at, number));
            all.reverse();
            all
        };
        let unreadable = active(|kind| matches!(kind, FaultKind::MediaError { .. }));
        let unwritable = active(|kind| matches!(kind, FaultKind::WriteError { .. }));
        let slow = last_first(|kind| matches!(kind, FaultKind::Latency { .. }));
        let silent = last_first(FaultKind::is_silent);
        let pauses = self.select_active(now, |fault| own(fault) && fault.kind == FaultKind::Pause);
        let paused = pauses.max_by_key(|&number| self.fault(number).over_at());
        // The fault with the lowest limit rejects writes first.
        let limit = |fault: &Fault| {
            if let FaultKind::ReadOnly { written } = fault.kind { Some(written) } else { None }
        };
        let read_only = self
            .select_active(now, |fault| own(fault) && limit(fault).is_some())
            .min_by_key(|&number| limit(self.fault(number)));
        let begins = begins.map(|number| (number, self.fault(number).kind));
        let own = self.drive(drive);
        (own.unreadable, own.unwritable, own.paused) = (unreadable, unwritable, paused);
        (own.slow, own.silent, own.read_only) = (slow, silent, read_only);
        match begins {
            Some((number, FaultKind::Stuck(stuck))) => {
                (own.stuck, own.stuck_by) = (stuck.commands, number);
            }
            Some((number, FaultKind::MediaError { range, heals: true, .. })) => {
                own.healing.insert(number, BadRanges::new(range.unwrap_or(ByteRange::WHOLE)));
            }
            // All kinds are named, so that adding a kind is a compile error here.
            None
            | Some((
                _,
                FaultKind::ReadRetries(_)
                | FaultKind::MediaError { .. }
                | FaultKind::WriteError { .. }
                | FaultKind::BitFlips { .. }
                | FaultKind::LostWrite { .. }
                | FaultKind::MisdirectedWrite { .. }
                | FaultKind::LyingFlush
                | FaultKind::Latency { .. }
                | FaultKind::Pause
                | FaultKind::LinkErrors { .. }
                | FaultKind::Retrain { .. }
                | FaultKind::PortLoss { .. }
                | FaultKind::ReadOnly { .. }
                | FaultKind::PowerCut { .. },
            )) => {}
        }
    }

    /// Returns the active pause of a drive's media that ends last, and its end.
    pub(super) fn paused(&self, drive: DriveNumber) -> Option<(FaultNumber, Instant)> {
        let number = self.drives[usize::from(drive)].paused?;
        Some((number, self.fault(number).over_at()?))
    }

    /// Stops a fault that has ended from making more commands stuck.
    pub(super) fn end_stuck(&mut self, drive: DriveNumber, number: FaultNumber) {
        let drive_faults = self.drive(drive);
        if drive_faults.stuck_by == number {
            drive_faults.stuck = 0;
        }
    }

    /// Returns the effect of faults on a command that reaches the media. `written` is the amount of data that the host
    /// has written to the drive.
    pub(super) fn effect_on(
        &mut self,
        now: Instant,
        access: &MediaAccess,
        written: impl Fn() -> Bytes,
    ) -> FaultEffect {
        let MediaAccess { request, drive, operation, .. } = *access;
        let drive_faults = self.drive(drive);
        if drive_faults.stuck > 0 {
            drive_faults.stuck -= 1;
            return FaultEffect::Stuck(drive_faults.stuck_by);
        }
        let drive_faults = &self.drives[usize::from(drive)];
        let mut until = now;
        let mut error = None;
        let mut by = None;
        if let Some(over) = drive_faults.paused.and_then(|number| self.fault(number).over_at()) {
            (until, by) = (over, drive_faults.paused);
        }
        let slow = drive_faults.slow.iter().copied().find(|&number| self.affects(number, request));
        if let Some(number) = slow
            && let FaultKind::Latency { extra } = self.fault(number).kind
        {
            (until, by) = (until + extra, Some(number));
        }
        let changes = matches!(operation, Operation::Write | Operation::Trim);
        if changes
            && let Some(number) = drive_faults.read_only
            && let FaultKind::ReadOnly { written: limit } = self.fault(number).kind
            && (limit == Bytes::ZERO || written() >= limit)
        {
            (error, by) = (Some(ErrorKind::ReadOnly), Some(number));
        } else if let Some((number, recovery)) = self.failing(access) {
            (until, by) = (until + recovery, Some(number));
            error = Some(ErrorKind::Media);
        }
        match by {
            None => FaultEffect::Nothing,
            Some(fault) => FaultEffect::Held { until, error, fault },
        }
    }

    /// Returns the media fault that makes a command fail, and the time for which the drive retries before it reports
    /// the error.
    fn failing(&self, access: &MediaAccess) -> Option<(FaultNumber, Duration)> {
        let drive = &self.drives[usize::from(access.drive)];
        let bad_ranges = match access.operation {
            Operation::Read => &drive.unreadable,
            Operation::Write => &drive.unwritable,
            Operation::Trim | Operation::Flush => return None,
        };
        bad_ranges.iter().find_map(|&number| {
            let kind = self.fault(number).kind;
            let (FaultKind::MediaError { recovery, .. } | FaultKind::WriteError { recovery, .. }) =
                kind
            else {
                return None;
            };
            let is_bad = match drive.healing.get(&number) {
                Some(bad) => bad.touch(access.start, access.end),
                None => access.touches(&kind),
            };
            (is_bad && self.affects(number, access.request)).then_some((number, recovery))
        })
    }

    /// Records that the media execute a command: a write heals its bytes, unless a silent fault affects the request.
    /// Returns whether the command is a flush that is acknowledged but does not store any data.
    pub(super) fn execute(&mut self, access: &MediaAccess) -> bool {
        let drive = &self.drives[usize::from(access.drive)];
        if let Some(number) = drive.silent.iter().copied().find(|&one| self.deceives(one, access)) {
            self.marks.mark_wrong_data(access.request, number);
            return access.operation == Operation::Flush;
        }
        if access.operation == Operation::Write {
            let bad_ranges = self.drive(access.drive).healing.values_mut();
            bad_ranges.for_each(|bad| bad.mark_good(access.start, access.end));
        }
        false
    }

    /// Returns whether a silent fault affects a command.
    fn deceives(&self, number: FaultNumber, access: &MediaAccess) -> bool {
        let kind = self.fault(number).kind;
        let operation = match kind {
            FaultKind::BitFlips { .. } => Operation::Read,
            FaultKind::LostWrite { .. } | FaultKind::MisdirectedWrite { .. } => Operation::Write,
            FaultKind::LyingFlush => Operation::Flush,
            FaultKind::ReadRetries(_)
            | FaultKind::MediaError { .. }
            | FaultKind::WriteError { .. }
            | FaultKind::Latency { .. }
            | FaultKind::Pause
            | FaultKind::Stuck(_)
            | FaultKind::LinkErrors { .. }
            | FaultKind::Retrain { .. }
            | FaultKind::PortLoss { .. }
            | FaultKind::ReadOnly { .. }
            | FaultKind::PowerCut { .. } => return false,
        };
        access.operation == operation
            && (operation == Operation::Flush || access.touches(&kind))
            && self.marks.order(access.request).is_some()
            && self.affects(number, access.request)
    }
}

impl MediaAccess {
    /// Returns whether the command is in the range of a fault.
    fn touches(&self, kind: &FaultKind) -> bool {
        kind.range().unwrap_or(ByteRange::WHOLE).overlaps(self.start, self.end)
    }
}

/// Returns the outcome of a fault that has not begun.
fn unused_fault_impact(fault: &Fault) -> FaultImpact {
    FaultImpact {
        fault: fault.to_string(),
        at: fault.at.since(Instant::ZERO),
        failed: 0,
        held: 0,
        silent: 0,
        lost: Bytes::ZERO,
        recovery: None,
    }
}

impl DriveFaults {
    /// Discards the answers to commands sent before `now`, and makes the drive reject commands until `until`.
    pub(super) fn begin_reset(
        &mut self,
        now: Instant,
        until: Instant,
        again: bool,
        fault: FaultNumber,
    ) {
        let until = self.reset.map_or(until, |before| before.until.max(until));
        self.reset = Some(DriveReset { at: now, until, again, fault });
    }
}

/// Returns the rule for repeating reads if it applies from the start of a run to its end.
pub(crate) fn standing_retries(fault: &Fault) -> Option<ReadRetries> {
    if let FaultKind::ReadRetries(retries) = fault.kind
        && fault.at == Instant::ZERO
        && fault.length.is_none()
    {
        Some(retries)
    } else {
        None
    }
}

/// Number of the random stream for requests, separate from the streams of threads, drives and links.
const SHARE_STREAM: u32 = 7 << 28;
/// An odd number that spreads positions over all bits of a seed: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Time after which a host fails a request whose drive is gone: above zero, so that simulated time advances.
pub(super) const REFUSAL: Duration = Duration::from_microseconds(1);
/// Maximum number of times that a host repeats a command whose data a link has corrupted: `SD_MAX_RETRIES` of Linux's
/// SCSI disks.
pub(super) const LINK_RETRIES: u8 = 5;

#[cfg(test)]
mod tests;

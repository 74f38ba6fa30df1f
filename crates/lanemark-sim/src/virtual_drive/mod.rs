//! A drive with data, for the simulation tests of other programs.
//!
//! A [`VirtualDrive`] is a modelled system with one drive and the data that programs write to it. A program submits
//! requests at simulated times and advances the drive to their completions. Completion times, faults, and the sectors
//! that a power cut reverts are functions of the system, the requests and one seed. The drive uses no clock, thread or
//! file.
//!
//! ```
//! use lanemark_sim::virtual_drive::{Bytes, DriveRequest, Duration, Instant, SystemSpec, VirtualDrive};
//!
//! let system = SystemSpec::example().checked()?;
//! let mut drive = VirtualDrive::new(&system, 42)?;
//!
//! // One request at a time: each call returns when the request is complete.
//! let write = DriveRequest::Write { offset: Bytes::ZERO, data: vec![7; 4096] };
//! let written = drive.perform(Instant::ZERO, write)?;
//! assert_eq!(written.data, Ok(Vec::new()));
//! let flushed = drive.perform(written.completed, DriveRequest::Flush)?;
//!
//! // Without a second flush, this write is stored, lost or torn, depending on the seed.
//! let write = DriveRequest::Write { offset: Bytes::kibi(64), data: vec![8; 4096] };
//! let later = drive.perform(flushed.completed, write)?;
//! let cut = later.completed + Duration::from_microseconds(1);
//! drive.cut_power(cut, Duration::from_microseconds(1_000)).expect("the power is on");
//!
//! let read = DriveRequest::Read { offset: Bytes::ZERO, length: Bytes::kibi(4) };
//! assert_eq!(drive.perform(cut, read)?.data, Ok(vec![7; 4096]));
//! assert_eq!(drive.power_cuts()[0].writes, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To keep several requests in flight, call [`VirtualDrive::submit`] for each, and then
//! [`VirtualDrive::advance_until`] for the completions in the order of their times. Requests must be submitted in the
//! order of their times.
//!
//! The data of a write changes when the write completes, and a read returns the data at its completion. A power cut
//! affects the writes that no flush has made durable (`revertible`). A write that was in flight fails, and a random
//! part of its sectors is stored.
//!
//! Not modelled: volumes of several drives, and a power cut that corrupts sectors. The drive determines lost data from
//! its data and not from its flash, so the lost bytes differ from `lost` in the results of simulations.

mod drive_content;
mod revertible;
mod silent_damage;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use crate::fault::{RequestStatus, SilentDamage};
use crate::run::live::LiveSystem;
use crate::simulator::{Completion, SimError};
use crate::spec::submission::Submission;
use crate::spec::{CheckedSystem, SpecError};
use drive_content::DriveContent;
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::workload::{Access, Operation};

pub use crate::spec::{SystemSpec, WriteCacheMode};
pub use lanemark_schema::result::ErrorKind;
pub use lanemark_schema::units::{Bytes, Duration, Instant};
pub use lanemark_schema::workload::{Fault, FaultKind};
pub use revertible::{PowerCutLoss, RevertibleWrites, SECTOR, power_cut_random, tear};
pub use silent_damage::{flip_bits, misdirected_offset};

/// Maximum length of a read or write.
pub const REQUEST_MAX: Bytes = Bytes::mebi(64);

/// A drive in a modelled system, with its data.
pub struct VirtualDrive {
    live: LiveSystem,
    capacity: Bytes,
    content: DriveContent,
    /// Writes that a power cut may revert, if the drive's cache is volatile.
    revertible: Option<RevertibleWrites>,
    random: Rng,
    in_flight: BTreeMap<u64, RequestTask>,
    next: u64,
    /// Completions that no call has returned yet, in the order of their times.
    ready: VecDeque<DriveCompletion>,
    /// The future power cuts, the latest first.
    cuts: Vec<Instant>,
    losses: Vec<PowerCutLoss>,
}

/// A request to a virtual drive. Offsets and lengths are whole sectors of 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveRequest {
    /// Reads a range of up to [`REQUEST_MAX`].
    Read {
        /// First byte of the range.
        offset: Bytes,
        /// Length of the range.
        length: Bytes,
    },
    /// Writes up to [`REQUEST_MAX`].
    Write {
        /// First byte of the range.
        offset: Bytes,
        /// The bytes to write.
        data: Vec<u8>,
    },
    /// Makes all writes durable that are complete when the flush is submitted.
    Flush,
    /// Discards a range, which then reads as zeroes.
    Trim {
        /// First byte of the range.
        offset: Bytes,
        /// Length of the range.
        length: Bytes,
    },
}

/// A completed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveCompletion {
    /// The number that [`VirtualDrive::submit`] returned.
    pub number: u64,
    /// Instant at which the request was submitted.
    pub submitted: Instant,
    /// Instant at which the request was complete.
    pub completed: Instant,
    /// The data of a read, which is empty for other operations; or the error that the host reports.
    pub data: Result<Vec<u8>, ErrorKind>,
}

/// A request that the drive does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveRequestError {
    /// The range is not made of whole sectors, or its length is out of bounds.
    #[error("a request at {offset} of {length}: use whole sectors of 512 B, and 512 B to {most}")]
    Range {
        /// Offset of the request.
        offset: Bytes,
        /// Length of the request.
        length: Bytes,
        /// Maximum length.
        most: Bytes,
    },
    /// The simulator does not accept the request.
    #[error(transparent)]
    Simulation(#[from] SimError),
}

/// The effect of a request on the data.
enum RequestTask {
    Read,
    Write(Vec<u8>),
    /// The flush of all writes before this mark.
    Flush(u64),
    Trim,
}

impl VirtualDrive {
    /// Creates an empty drive with the faults of the system's plan. `seed` determines all random events.
    ///
    /// # Errors
    /// Returns an error if the system does not contain exactly one drive.
    pub fn new(system: &CheckedSystem, seed: u64) -> Result<Self, SpecError> {
        if system.drives() != 1 {
            let value = system.drives().to_string();
            return Err(SpecError { field: "drives", value, bound: "one drive".to_owned() });
        }
        let mut drive = Self {
            live: LiveSystem::new(system, Bytes::ZERO.into(), StreamKey::from_seed(seed)),
            capacity: system.first().drive.capacity,
            content: DriveContent::default(),
            revertible: system.volatile_cache().map(|size| RevertibleWrites::new(size.get())),
            random: power_cut_random(seed),
            in_flight: BTreeMap::new(),
            next: 0,
            ready: VecDeque::new(),
            cuts: Vec::new(),
            losses: Vec::new(),
        };
        system.faults.iter().for_each(|fault| drive.note_cut(fault, fault.at));
        Ok(drive)
    }

    /// Returns the capacity.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Returns the simulated time: the instant of the last event.
    pub fn now(&self) -> Instant {
        self.live.now()
    }

    /// Returns the instant of the next event: a completion, a power cut, or internal work of the drive. A driver in an
    /// event loop sleeps until this instant and then calls [`VirtualDrive::advance_until`].
    pub fn next_at(&self) -> Option<Instant> {
        let ready = self.ready.front().map(|completion| completion.completed);
        [ready, self.live.next_at(), self.cuts.last().copied()].into_iter().flatten().min()
    }

    /// Submits a request at `at`, or now if that is in the past, and returns the request's number. Events up to `at`
    /// happen first.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the request is not within the drive, or simulated time has ended.
    pub fn submit(&mut self, at: Instant, request: DriveRequest) -> Result<u64, DriveRequestError> {
        let access = self.checked(&request)?;
        if at >= Instant::END {
            return Err(SimError::NeverEnds.into());
        }
        while let Some(completion) = self.next_completion(at) {
            self.ready.push_back(completion);
        }
        let number = self.next;
        self.live.submit(Submission::new(at, access).tagged(number))?;
        self.next += 1;
        let task = match request {
            DriveRequest::Read { .. } => RequestTask::Read,
            DriveRequest::Write { data, .. } => RequestTask::Write(data),
            DriveRequest::Flush => {
                RequestTask::Flush(self.revertible.as_ref().map_or(0, RevertibleWrites::mark))
            }
            DriveRequest::Trim { .. } => RequestTask::Trim,
        };
        self.in_flight.insert(number, task);
        Ok(number)
    }

    /// Advances to the next completion no later than `limit`; returns `None` if there is no such completion.
    pub fn advance_until(&mut self, limit: Instant) -> Option<DriveCompletion> {
        match self.ready.front() {
            Some(completion) if completion.completed > limit => None,
            Some(_) => self.ready.pop_front(),
            None => self.next_completion(limit),
        }
    }

    /// Submits a request and advances to its completion. The completions of other requests remain available to
    /// [`VirtualDrive::advance_until`].
    ///
    /// # Errors
    /// Returns the errors of [`VirtualDrive::submit`], or [`SimError::NeverEnds`] if the request is not complete when
    /// simulated time ends.
    pub fn perform(
        &mut self,
        at: Instant,
        request: DriveRequest,
    ) -> Result<DriveCompletion, DriveRequestError> {
        let number = self.submit(at, request)?;
        while let Some(completion) = self.next_completion(Instant::END) {
            if completion.number == number {
                return Ok(completion);
            }
            self.ready.push_back(completion);
        }
        Err(SimError::NeverEnds.into())
    }

    /// Adds a fault that begins at its time, or now if that is in the past. A fault can be read from text such as
    /// `media-error at=3ms range=1MiB..2MiB` or `lost-write at=0s share=1%`.
    ///
    /// # Errors
    /// Returns the errors, each with the accepted values, if the system does not support the fault.
    pub fn add_fault(&mut self, fault: Fault) -> Result<(), Vec<SpecError>> {
        let at = fault.at.max(self.now()).max(Instant::from_picoseconds(1));
        let noted = fault.clone();
        self.live.add_fault(fault)?;
        self.note_cut(&noted, at);
        Ok(())
    }

    /// Cuts the power at `at`, or now if that is in the past; the power returns immediately. Outstanding requests fail
    /// with [`ErrorKind::DeviceGone`], and the drive accepts requests again after the time `boot`.
    ///
    /// # Errors
    /// Returns the errors of [`VirtualDrive::add_fault`].
    pub fn cut_power(&mut self, at: Instant, boot: Duration) -> Result<(), Vec<SpecError>> {
        self.add_fault(Fault::at(at.since(Instant::ZERO), FaultKind::PowerCut { boot }))
    }

    /// Returns the losses of all power cuts so far. Writes that were in flight at a power cut are not included.
    pub fn power_cuts(&self) -> &[PowerCutLoss] {
        &self.losses
    }

    /// Returns the data of a range without a request. Bytes after the end of the drive are omitted.
    pub fn peek(&self, offset: Bytes, length: Bytes) -> Vec<u8> {
        let capacity = self.capacity.get();
        let start = offset.get().min(capacity);
        let end = offset.get().saturating_add(length.get()).min(capacity);
        self.content.read(start, end - start)
    }

    /// Returns the access of a request whose range is valid.
    fn checked(&self, request: &DriveRequest) -> Result<Access, DriveRequestError> {
        let (operation, offset, length, most) = match *request {
            DriveRequest::Read { offset, length } => (Operation::Read, offset, length, REQUEST_MAX),
            DriveRequest::Write { offset, ref data } => {
                (Operation::Write, offset, Bytes(data.len() as u64), REQUEST_MAX)
            }
            DriveRequest::Trim { offset, length } => {
                (Operation::Trim, offset, length, self.capacity)
            }
            DriveRequest::Flush => {
                let nothing = Bytes::ZERO;
                return Ok(Access {
                    operation: Operation::Flush,
                    offset: nothing,
                    length: nothing,
                });
            }
        };
        let is_whole = |bytes: Bytes| bytes.get().is_multiple_of(SECTOR);
        if !is_whole(offset) || !is_whole(length) || length == Bytes::ZERO || length > most {
            return Err(DriveRequestError::Range { offset, length, most });
        }
        Ok(Access { operation, offset, length })
    }

    fn note_cut(&mut self, fault: &Fault, at: Instant) {
        if let FaultKind::PowerCut { .. } = fault.kind {
            self.cuts.push(at);
            self.cuts.sort_unstable_by(|one, other| other.cmp(one));
        }
    }

    /// Advances to the next completion of the simulator no later than `limit`. Completions at the instant of a power
    /// cut count as after the cut.
    fn next_completion(&mut self, limit: Instant) -> Option<DriveCompletion> {
        loop {
            let cut = self.cuts.last().copied().filter(|cut| *cut <= limit);
            let before_cut =
                |cut: Instant| Instant::from_picoseconds(cut.picoseconds().saturating_sub(1));
            if let Some(completion) = self.live.advance_until(cut.map_or(limit, before_cut)) {
                return Some(self.finish(&completion));
            }
            cut?;
            self.cuts.pop();
            self.lose_writes();
        }
    }

    /// Reverts the writes that a power cut loses.
    fn lose_writes(&mut self) {
        let Self { revertible, random, content, .. } = self;
        let loss = revertible.as_mut().map(|writes| {
            let restore = |offset, before: &[u8]| {
                content.write(offset, before);
                Ok::<(), std::convert::Infallible>(())
            };
            writes.power_cut(random, restore).unwrap_or_default()
        });
        self.losses.push(loss.unwrap_or_default());
    }

    /// Applies a completed request to the data.
    fn finish(&mut self, completion: &Completion) -> DriveCompletion {
        let Completion { tag, access, submitted, completed, status, .. } = *completion;
        let task = self.in_flight.remove(&tag);
        let data = match (status, task) {
            (RequestStatus::Failed(kind), task) => {
                if let (ErrorKind::DeviceGone, Some(RequestTask::Write(data))) = (kind, task) {
                    self.tear_write(access.offset.get(), &data);
                }
                Err(kind)
            }
            (RequestStatus::Good, Some(task)) => Ok(self.apply(access, task)),
            (RequestStatus::Good, None) => Ok(Vec::new()),
        };
        DriveCompletion { number: tag, submitted, completed, data }
    }

    /// Performs the task of a request that succeeded, and returns the data of a read.
    fn apply(&mut self, access: Access, task: RequestTask) -> Vec<u8> {
        let damage = self.live.damage();
        let offset = access.offset.get();
        let length = access.length.get();
        match task {
            RequestTask::Read => {
                let mut bytes = self.content.read(offset, length);
                if let Some(SilentDamage { kind: FaultKind::BitFlips { bits, .. }, draw }) = damage
                {
                    flip_bits(&mut bytes, bits, draw);
                }
                return bytes;
            }
            RequestTask::Write(data) => {
                if let Some(offset) = self.written_offset(offset, length, damage) {
                    self.write(offset, &data);
                }
            }
            RequestTask::Trim => {
                let settle = |writes: &mut RevertibleWrites| {
                    writes.record_settled_range(offset, length);
                };
                self.revertible.iter_mut().for_each(settle);
                self.content.zero(offset, length);
            }
            RequestTask::Flush(mark) => {
                let lies = damage.is_some_and(|damage| damage.kind == FaultKind::LyingFlush);
                if !lies {
                    self.revertible.iter_mut().for_each(|writes| writes.remove_before(mark));
                }
            }
        }
        Vec::new()
    }

    /// Returns the offset that a write really changes; `None` if a silent fault loses the write.
    fn written_offset(
        &self,
        offset: u64,
        length: u64,
        damage: Option<SilentDamage>,
    ) -> Option<u64> {
        let Some(SilentDamage { kind, draw }) = damage else { return Some(offset) };
        if let FaultKind::MisdirectedWrite { .. } = kind {
            return misdirected_offset(offset, length, self.capacity.get(), draw);
        }
        (!matches!(kind, FaultKind::LostWrite { .. })).then_some(offset)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        if let Some(writes) = &mut self.revertible {
            writes.record_write(offset, self.content.read(offset, bytes.len() as u64));
        }
        self.content.write(offset, bytes);
    }

    /// Stores a random part of a write that a power cut interrupted.
    fn tear_write(&mut self, offset: u64, bytes: &[u8]) {
        let Self { random, content, .. } = self;
        let store = |offset, sector: &[u8]| {
            content.write(offset, sector);
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = tear(random, offset, bytes, store);
    }
}

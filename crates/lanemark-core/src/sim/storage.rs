//! The drives of a system, or the volume over them, as requests are submitted to it.
//!
//! A layer above the [`Simulator`]. Without a volume it hands everything through. A request on a volume becomes
//! requests on its drives ([`VolumeSpec::parts`]), all submitted at once, and is complete when the last of them
//! is. Its latency is that of the last, and so is its time budget: what the others waited for is off its critical
//! path, as with the commands of a request. Over a file system with a journal a flush takes several steps, one after the
//! other.

use super::fault::Status;
use super::journal::{Journal, Step};
use super::simulator::{Completion, SimError, Simulator};
use super::slab::{PartHandle, Parts, Slab, VolumeRequestHandle, VolumeRequests};
use super::spec::{CheckedSystem, Content, VolumeSpec};
use super::target::Target;
use super::volume::Part;
use crate::rng::StreamKey;
use crate::units::{Bytes, Instant};
use crate::workload::{Access, Fault, Operation};

/// A system at work, with the volume over its drives where it has one.
pub struct Storage {
    simulator: Simulator,
    volume: Option<Volume>,
    /// Journal of the host's file system, where it has one.
    journal: Option<Journal>,
}

/// A volume at work.
struct Volume {
    spec: VolumeSpec,
    capacity: Bytes,
    /// Requests that each drive has not completed.
    outstanding: Vec<u32>,
    /// The drive that a mirror reads from where all have as many.
    turn: usize,
    requests: Slab<Request, VolumeRequests>,
    parts: Slab<PartOf, Parts>,
}

/// A request on the volume.
struct Request {
    tag: u64,
    access: Access,
    parts_left: u32,
    status: Status,
}

/// A request on a drive, for one on the volume.
struct PartOf {
    request: VolumeRequestHandle,
    drive: u16,
}

impl Storage {
    /// An idle system whose volume, or each of whose namespaces, holds `content`. What happens by chance inside
    /// the drives follows from `key`, whose thread is ignored.
    pub fn new(spec: &CheckedSystem, content: Content, key: StreamKey) -> Self {
        let drives = spec.drives();
        let volume = spec.volume.map(|volume| Volume {
            spec: volume,
            capacity: spec.volume_capacity().unwrap_or_default(),
            outstanding: vec![0; drives],
            turn: 0,
            requests: Slab::new(),
            parts: Slab::new(),
        });
        let content = match spec.volume {
            Some(volume) => volume.content(drives as u16, content),
            None => content,
        };
        Self { simulator: Simulator::new(spec, content, key), volume, journal: Journal::of(spec) }
    }

    /// The drives below.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// Adds a fault that `system`, the same one with it, was checked with.
    pub(super) fn add_fault(&mut self, system: &CheckedSystem, fault: Fault) {
        self.simulator.add_fault(system, fault);
    }

    /// The simulated time.
    pub fn now(&self) -> Instant {
        self.simulator.now()
    }

    /// Submits a request of `thread` at `at`, which must not lie in the past: to the volume, which is the one
    /// target of its system, else to a drive or namespace. `tag` comes back with its completion. The drive that
    /// a mirror reads from is chosen by what is outstanding now.
    ///
    /// # Errors
    /// As [`Simulator::submit`], and [`SimError::OutOfVolume`].
    pub fn submit(
        &mut self,
        at: Instant,
        target: Target,
        access: Access,
        thread: u32,
        tag: u64,
    ) -> Result<(), SimError> {
        let Some(journal) = &mut self.journal else {
            return self.submit_below(at, target, access, thread, tag);
        };
        let step = journal.begin(at, target, access, (thread, tag));
        let begun = self.submit_step(at, step);
        if let (Err(_), Some(journal)) = (&begun, &mut self.journal) {
            journal.forget(step.tag);
        }
        begun
    }

    /// Submits a step of a journal.
    fn submit_step(&mut self, at: Instant, step: Step) -> Result<(), SimError> {
        let Step { target, access, thread, tag } = step;
        self.submit_below(at, target, access, thread, tag)
    }

    /// Submits a request to the volume, or to a drive where there is no volume.
    #[inline]
    fn submit_below(
        &mut self,
        at: Instant,
        target: Target,
        access: Access,
        thread: u32,
        tag: u64,
    ) -> Result<(), SimError> {
        let Some(volume) = &mut self.volume else {
            return self.simulator.submit(at, target, access, thread, tag);
        };
        if target != Target::default() {
            return Err(SimError::NoTarget { target });
        }
        let Access { operation, offset, length } = access;
        if offset.get().saturating_add(length.get()) > volume.capacity.get() {
            let capacity = volume.capacity;
            return Err(SimError::OutOfVolume { offset, length, capacity });
        }
        if let Some(part) = volume.part_of(access) {
            let request = volume.requests.insert(Request {
                tag,
                access,
                parts_left: 1,
                status: Status::Good,
            });
            return self.submit_part(at, (request, operation), part, thread, true);
        }
        let parts = volume.parts_of(access);
        let parts_left = parts.clone().count() as u32;
        let request =
            volume.requests.insert(Request { tag, access, parts_left, status: Status::Good });
        for (index, part) in parts.enumerate() {
            self.submit_part(at, (request, operation), part, thread, index == 0)?;
        }
        Ok(())
    }

    /// Submits a part of a request on the volume to its drive.
    #[inline]
    fn submit_part(
        &mut self,
        at: Instant,
        (request, operation): (VolumeRequestHandle, Operation),
        Part { drive, offset, length }: Part,
        thread: u32,
        is_first: bool,
    ) -> Result<(), SimError> {
        let Some(volume) = &mut self.volume else { return Ok(()) };
        let tag = volume.parts.insert(PartOf { request, drive }).number().into();
        volume.outstanding[usize::from(drive)] += 1;
        let access = Access { operation, offset, length };
        self.simulator.submit_part(at, drive.into(), access, thread, tag, is_first)
    }

    /// Goes on to the next completion; `None` when nothing is under way any more.
    pub fn advance(&mut self) -> Option<Completion> {
        self.advance_until(Instant::from_picoseconds(u64::MAX))
    }

    /// Goes on to the next completion that comes no later than `limit`; `None` where there is none.
    pub fn advance_until(&mut self, limit: Instant) -> Option<Completion> {
        if self.journal.is_none() {
            return self.advance_below(limit);
        }
        loop {
            let mut completion = self.advance_below(limit)?;
            let Some(journal) = &mut self.journal else { return Some(completion) };
            let Some(step) = journal.next_step(&mut completion) else { return Some(completion) };
            let begun = self.submit_step(completion.completed, step);
            debug_assert_eq!(begun, Ok(()), "the journal lies within its target");
        }
    }

    /// Goes on to the next completion of the volume, or of a drive where there is no volume.
    #[inline]
    fn advance_below(&mut self, limit: Instant) -> Option<Completion> {
        let Some(volume) = &mut self.volume else { return self.simulator.advance_until(limit) };
        loop {
            if !self.simulator.goes_on_until(limit) {
                return None;
            }
            if let Some((tag, access, status)) = volume.completes(self.simulator.ended()) {
                return Some(Completion { tag, access, status, ..*self.simulator.ended() });
            }
        }
    }
}

impl Volume {
    /// Returns the only part of a request within a chunk of a stripe, which most small requests are.
    fn part_of(&self, Access { operation, offset, length }: Access) -> Option<Part> {
        let drives = self.outstanding.len() as u16;
        match operation {
            Operation::Flush => None,
            _ => self.spec.within_chunk(drives, offset, length),
        }
    }

    /// Returns the parts of a request on the drives: a flush has one on each, and no request is without any.
    fn parts_of(&mut self, access: Access) -> impl Iterator<Item = Part> + Clone + use<> {
        let drives = self.outstanding.len() as u16;
        let Access { operation, offset, length } = access;
        let (spec, offset, length) = match operation == Operation::Flush || length == Bytes::ZERO {
            true => (VolumeSpec::Mirror, Bytes::ZERO, Bytes::ZERO),
            false => (self.spec, offset, length),
        };
        // A mirror writes to all and reads from one.
        let one =
            (spec == VolumeSpec::Mirror && operation == Operation::Read && length > Bytes::ZERO)
                .then(|| self.least_busy());
        let asked = move |part: &Part| one.is_none_or(|one| one == part.drive);
        spec.parts(drives, offset, length).filter(asked)
    }

    /// The drive with the fewest requests outstanding, in turn where several have as few.
    fn least_busy(&mut self) -> u16 {
        let count = self.outstanding.len();
        let in_turn = (0..count).map(|step| (self.turn + step) % count);
        let drive = in_turn.min_by_key(|&drive| self.outstanding[drive]).unwrap_or(0);
        self.turn = (drive + 1) % count;
        drive as u16
    }

    /// A drive has done its part: where it was the last, the number of the whole, its place and its outcome.
    #[inline]
    fn completes(&mut self, completion: &Completion) -> Option<(u64, Access, Status)> {
        let part = PartHandle::of(completion.tag as u32);
        let PartOf { request, drive } = self.parts[part];
        self.parts.free(part);
        self.outstanding[usize::from(drive)] -= 1;
        let whole = &mut self.requests[request];
        whole.parts_left -= 1;
        if completion.status != Status::Good {
            whole.status = completion.status;
        }
        if whole.parts_left > 0 {
            return None;
        }
        let Request { tag, access, status, .. } = *whole;
        self.requests.free(request);
        Some((tag, access, status))
    }
}

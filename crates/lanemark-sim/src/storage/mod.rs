//! The drives of a system, or the volume over them, as the target of requests.
//!
//! This is a layer above the [`Simulator`]. Without a volume, it passes all requests to the simulator unchanged. A
//! request on a volume becomes requests on the drives ([`VolumeSpec::parts`]), which are all submitted at once. The
//! request is complete when the last of these parts is complete. The last part determines the latency and the time
//! budget of the request, because the waits of the other parts are not on the critical path, like the waits of the
//! other commands of a request. If a file system with a journal is in use, a flush consists of several successive
//! steps.

pub(crate) mod journal;
pub(crate) mod volume;

use std::collections::BTreeMap;

use crate::engine::slab::{PartHandle, Parts, Slab, VolumeRequestHandle, VolumeRequests};
use crate::fault::{FaultClearError, FaultNumber, RequestStatus};
use crate::simulator::{Completion, SimError, Simulator};
use crate::spec::submission::Submission;
use crate::spec::{CheckedSystem, PriorContent, VolumeSpec};
use crate::storage::journal::Journal;
use crate::storage::volume::VolumePart;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Access, Fault, Operation};

/// A running system, including the volume over its drives if there is one.
pub struct Storage {
    simulator: Simulator,
    volume: Option<Volume>,
    /// Journal of the host's file system, if it has one.
    journal: Option<Journal>,
    /// Maximum memory of the simulated drives.
    memory: Bytes,
}

struct Volume {
    spec: VolumeSpec,
    capacity: Bytes,
    /// Number of requests that each drive has not completed.
    outstanding: Vec<u32>,
    /// The drive from which a mirror reads next if all drives have the same number of requests.
    turn: usize,
    requests: Slab<VolumeRequest, VolumeRequests>,
    parts: Slab<VolumeRequestPart, Parts>,
}

struct VolumeRequest {
    tag: u64,
    access: Access,
    parts_left: u32,
    status: RequestStatus,
}

/// A request on a drive that is part of a request on the volume.
struct VolumeRequestPart {
    request: VolumeRequestHandle,
    drive: u16,
}

impl Storage {
    /// Creates an idle system whose volume, or each of whose drives, contains `content`. `key` determines random
    /// events inside the drives; its thread is ignored.
    pub fn new(spec: &CheckedSystem, content: PriorContent, key: StreamKey) -> Self {
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
        Self {
            simulator: Simulator::new(spec, content, key),
            volume,
            journal: Journal::for_system(spec),
            memory: spec.memory(),
        }
    }

    /// Returns an error if the simulated drives take more memory than the system's simulations may take, or will take
    /// it soon. A run calls this function every few thousand events.
    pub(super) fn check_memory(&self) -> Result<(), SimError> {
        self.check_needed(Bytes(self.simulator.bytes()))
    }

    /// Returns an error if a run needs more memory than the system's simulations may take.
    pub(super) fn check_needed(&self, needed: Bytes) -> Result<(), SimError> {
        let limit = self.memory;
        if needed > limit { Err(SimError::Memory { needed, limit }) } else { Ok(()) }
    }

    /// Returns the simulator of the drives.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// Adds a fault and returns its number. `system` must be the same system, checked with the fault.
    pub(super) fn add_fault(&mut self, system: &CheckedSystem, fault: Fault) -> FaultNumber {
        self.simulator.add_fault(system, fault)
    }

    /// Ends a fault at `at`, or removes it if it begins later.
    ///
    /// # Errors
    /// Returns the reason if the fault cannot be cleared.
    pub(super) fn clear_fault(
        &mut self,
        number: FaultNumber,
        at: Instant,
    ) -> Result<(), FaultClearError> {
        self.simulator.clear_fault(number, at)
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Instant {
        self.simulator.now()
    }

    /// Returns the tag of each request that has not completed, and the instant of its submission, which is in the
    /// future for a request that is not submitted yet.
    pub(super) fn in_flight(&self) -> Vec<(u64, Instant)> {
        let drive_requests = self.simulator.in_flight();
        let mut found: Vec<(u64, Instant)> = match &self.volume {
            None => drive_requests.collect(),
            Some(volume) => {
                // All parts of a request are submitted at the same instant.
                let mut first = BTreeMap::new();
                for (part, submitted) in drive_requests {
                    let request = volume.parts[PartHandle::from_number(part as u32)].request;
                    first
                        .entry(request.number())
                        .or_insert((volume.requests[request].tag, submitted));
                }
                first.into_values().collect()
            }
        };
        if let Some(journal) = &self.journal {
            for (tag, submitted) in &mut found {
                (*tag, *submitted) = journal.request_of(*tag, *submitted);
            }
        }
        found
    }

    /// Submits a request to the volume, which is the only target of its system, or to a drive. The current numbers
    /// of outstanding requests determine the drive from which a mirror reads.
    ///
    /// # Errors
    /// Returns the errors of [`Simulator::submit`], or [`SimError::OutOfVolume`].
    pub fn submit(&mut self, submission: Submission) -> Result<(), SimError> {
        let Some(journal) = &mut self.journal else { return self.submit_below(submission) };
        let step = journal.accept(submission);
        let begun = self.submit_below(step);
        if let (Err(_), Some(journal)) = (&begun, &mut self.journal) {
            journal.forget(step.tag);
        }
        begun
    }

    /// Submits a request to the volume, or to a drive if there is no volume.
    #[inline]
    fn submit_below(&mut self, submission: Submission) -> Result<(), SimError> {
        let Some(volume) = &mut self.volume else { return self.simulator.submit(submission) };
        let Submission { target, access, tag, .. } = submission;
        if target != 0 {
            return Err(SimError::NoTarget { target });
        }
        let Access { offset, length, .. } = access;
        if offset.get().saturating_add(length.get()) > volume.capacity.get() {
            let capacity = volume.capacity;
            return Err(SimError::OutOfVolume { offset, length, capacity });
        }
        if let Some(part) = volume.part_of(access) {
            let request = volume.requests.insert(VolumeRequest {
                tag,
                access,
                parts_left: 1,
                status: RequestStatus::Good,
            });
            return self.submit_part(&submission, request, part, true);
        }
        let parts = volume.parts_of(access);
        let parts_left = parts.clone().count() as u32;
        let request = volume.requests.insert(VolumeRequest {
            tag,
            access,
            parts_left,
            status: RequestStatus::Good,
        });
        for (index, part) in parts.enumerate() {
            self.submit_part(&submission, request, part, index == 0)?;
        }
        Ok(())
    }

    /// Submits a part of a request on the volume to its drive.
    #[inline]
    fn submit_part(
        &mut self,
        whole: &Submission,
        request: VolumeRequestHandle,
        VolumePart { drive, offset, length }: VolumePart,
        is_first: bool,
    ) -> Result<(), SimError> {
        let Some(volume) = &mut self.volume else { return Ok(()) };
        let tag = volume.parts.insert(VolumeRequestPart { request, drive }).number().into();
        volume.outstanding[usize::from(drive)] += 1;
        let access = Access { offset, length, ..whole.access };
        let part = Submission { target: drive, access, tag, ..*whole };
        self.simulator.submit_part(part, is_first)
    }

    /// Advances to the next completion; returns `None` if no request is in flight.
    pub fn advance(&mut self) -> Option<Completion> {
        self.advance_until(Instant::from_picoseconds(u64::MAX))
    }

    /// Advances to the next completion no later than `limit`; returns `None` if there is no such completion.
    pub fn advance_until(&mut self, limit: Instant) -> Option<Completion> {
        if self.journal.is_none() {
            return self.advance_below(limit);
        }
        loop {
            let mut completion = self.advance_below(limit)?;
            let Some(journal) = &mut self.journal else { return Some(completion) };
            let Some(step) = journal.next_step(&mut completion) else { return Some(completion) };
            let begun = self.submit_below(step);
            debug_assert_eq!(begun, Ok(()), "the journal is within its target");
        }
    }

    /// Advances to the next completion of the volume, or of a drive if there is no volume.
    #[inline]
    fn advance_below(&mut self, limit: Instant) -> Option<Completion> {
        let Some(volume) = &mut self.volume else { return self.simulator.advance_until(limit) };
        loop {
            if !self.simulator.goes_on_until(limit) {
                return None;
            }
            if let Some((tag, access, status)) = volume.completes(self.simulator.last_completion())
            {
                return Some(Completion {
                    tag,
                    access,
                    status,
                    ..*self.simulator.last_completion()
                });
            }
        }
    }
}

impl Volume {
    /// Returns the part of a request that is entirely within one chunk of a stripe. This is the most frequent case for
    /// small requests.
    fn part_of(&self, Access { operation, offset, length }: Access) -> Option<VolumePart> {
        let drives = self.outstanding.len() as u16;
        if operation == Operation::Flush {
            None
        } else {
            self.spec.within_chunk(drives, offset, length)
        }
    }

    /// Returns the parts of a request on the drives. A flush has a part on each drive, and every request has one part
    /// or more.
    fn parts_of(&mut self, access: Access) -> impl Iterator<Item = VolumePart> + Clone + use<> {
        let drives = self.outstanding.len() as u16;
        let Access { operation, offset, length } = access;
        let (spec, offset, length) = if operation == Operation::Flush || length == Bytes::ZERO {
            (VolumeSpec::Mirror, Bytes::ZERO, Bytes::ZERO)
        } else {
            (self.spec, offset, length)
        };
        // A mirror writes to all drives and reads from one.
        let one =
            (spec == VolumeSpec::Mirror && operation == Operation::Read && length > Bytes::ZERO)
                .then(|| self.least_busy());
        let is_requested = move |part: &VolumePart| one.is_none_or(|one| one == part.drive);
        spec.parts(drives, offset, length).filter(is_requested)
    }

    /// Returns the drive with the fewest outstanding requests; drives with equal numbers take turns.
    fn least_busy(&mut self) -> u16 {
        let count = self.outstanding.len();
        let in_turn = (0..count).map(|step| (self.turn + step) % count);
        let drive = in_turn.min_by_key(|&drive| self.outstanding[drive]).unwrap_or(0);
        self.turn = (drive + 1) % count;
        drive as u16
    }

    /// Records that a drive has completed its part of a request. If this was the last part, returns the tag, the range
    /// and the outcome of the whole request.
    #[inline]
    fn completes(&mut self, completion: &Completion) -> Option<(u64, Access, RequestStatus)> {
        let part = PartHandle::from_number(completion.tag as u32);
        let VolumeRequestPart { request, drive } = self.parts[part];
        self.parts.free(part);
        self.outstanding[usize::from(drive)] -= 1;
        let whole = &mut self.requests[request];
        whole.parts_left -= 1;
        if completion.status != RequestStatus::Good {
            whole.status = completion.status;
        }
        if whole.parts_left > 0 {
            return None;
        }
        let VolumeRequest { tag, access, status, .. } = *whole;
        self.requests.free(request);
        Some((tag, access, status))
    }
}

//! The arm of a hard disk, and the choice of its next operation.
//!
//! [`super`] describes the model: shortest positioning time first, with a bound on waiting.

use super::Disk;
use super::arm_state::{ArmWork, ReadAheadStream};
use super::geometry::Track;
use super::operation::{DiskOperation, bursts};
use super::sweep::SectorSweep;
use crate::engine::event::Event;
use crate::engine::schedule::{DataBurst, EventSchedule};
use crate::engine::slab::{Handle, OperationHandle};
use lanemark_schema::units::{Bytes, Instant};

impl Disk {
    /// Ends the arm's operation, which left the arm at `end`, starts the next operation, and returns the ended
    /// operation.
    pub(super) fn finish(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        end: SectorSweep,
        events: &mut EventSchedule,
    ) -> DiskOperation {
        let operation = self.operations[handle];
        self.operations.free(handle);
        self.busy += now.since(operation.begun);
        self.worked.count(&operation, now);
        self.arm = ArmWork::Resting(end.track);
        self.ended = operation.end;
        if operation.writes {
            self.written += operation.bytes;
            if operation.command == Handle::NONE {
                self.dirty -= 1;
                self.dirty_room = self.dirty_room - operation.room;
            }
        } else {
            let segment = self.segments.take(operation.first);
            self.segments.fill(segment, operation.end);
            self.arm = ArmWork::Streaming(ReadAheadStream {
                sweep: end,
                segment,
                limit: self.limit_behind(operation.end),
                promised: operation.end,
                promised_at: now,
                accounted: now,
            });
        }
        self.serve(now, events);
        operation
    }

    /// Starts the next operation if the arm is free.
    pub(super) fn serve(&mut self, now: Instant, events: &mut EventSchedule) {
        while !self.waiting.is_empty() {
            self.catch_up(now);
            let track = match self.arm {
                ArmWork::Working { .. } => return,
                ArmWork::Streaming(stream) if now < stream.promised_at => return,
                ArmWork::Streaming(stream) => stream.sweep.track,
                ArmWork::Resting(track) => track,
            };
            let Some(place) = self.choose(now, &track) else { return };
            let handle = self.waiting.remove(place);
            let DiskOperation { command, writes, first, end, bytes, .. } = self.operations[handle];
            let held = self.segments.held_from(first).is_some_and(|(_, held)| held >= end);
            if !writes && held {
                // The data was read ahead while the operation waited.
                bursts(first, end, bytes, |_, bytes| {
                    events.schedule_burst(
                        now,
                        DataBurst { command, bytes: Bytes(bytes.into()) },
                        Event::OffMedia,
                    );
                });
                self.operations.free(handle);
                continue;
            }
            self.begin(now, handle, &track, events);
            return;
        }
    }

    /// Starts an operation: moves the arm to its first sector.
    fn begin(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        from: &Track,
        events: &mut EventSchedule,
    ) {
        let operation = &mut self.operations[handle];
        operation.begun = now;
        let DiskOperation { command, writes, first, end, bytes, .. } = *operation;
        let mut sweep = self.mechanics.reach(now, from, first, writes);
        operation.moved = now + self.mechanics.motion(from, &sweep.track, writes);
        operation.reached = sweep.at;
        if !writes {
            bursts(first, end, bytes, |to, bytes| {
                let at = self.mechanics.pass(&mut sweep, to);
                if to < end {
                    events.schedule_burst(
                        at,
                        DataBurst { command, bytes: Bytes(bytes.into()) },
                        Event::OffMedia,
                    );
                }
            });
        }
        let done = self.mechanics.pass(&mut sweep, end);
        events.schedule(done, Event::Media(self.drive, handle));
        self.arm = ArmWork::Working { operation: handle, end: sweep };
    }

    /// Returns the index of the waiting operation that the arm serves next.
    fn choose(&self, now: Instant, track: &Track) -> Option<usize> {
        // A flush waits only for operations that arrived before it.
        let before = self.flushes.first().map_or(u64::MAX, |&(_, before)| before);
        let pressed = self.dirty_room >= self.pressing || before < u64::MAX;
        let operation = |handle: OperationHandle| &self.operations[handle];
        let is_asked = |&handle: &OperationHandle| operation(handle).command != Handle::NONE;
        // The operations are in the order of arrival, so the first has waited longest.
        let oldest = self.waiting.iter().position(is_asked);
        if let Some(place) = oldest
            && now.since(operation(self.waiting[place]).waits_since) >= self.spec.age_max
        {
            return Some(place);
        }
        let mut window = if pressed || oldest.is_none() { self.spec.destage_window } else { 0 };
        let mut nearest: Option<(Instant, usize)> = None;
        for (place, &handle) in self.waiting.iter().enumerate() {
            let operation = operation(handle);
            if operation.command == Handle::NONE {
                if window == 0 || operation.sequence >= before {
                    continue;
                }
                window -= 1;
            }
            if operation.first == self.ended {
                return Some(place);
            }
            let at = self.foreseen(now, track, operation);
            if nearest.is_none_or(|(soonest, _)| at < soonest) {
                nearest = Some((at, place));
            }
        }
        nearest.map(|(_, place)| place)
    }

    /// Returns the instant at which the firmware expects the head at the first sector of an operation. If the arm would
    /// reach the track with less than the margin to spare, this instant is one revolution later.
    fn foreseen(&self, now: Instant, track: &Track, operation: &DiskOperation) -> Instant {
        let sweep = self.mechanics.reach(now, track, operation.first, operation.writes);
        let on_track = now + self.mechanics.motion(track, &sweep.track, operation.writes);
        if sweep.at.since(on_track) < self.spec.reorder_margin {
            sweep.at + self.spec.revolution()
        } else {
            sweep.at
        }
    }
}

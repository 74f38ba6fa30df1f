//! Read-ahead: sectors that pass after a read, and commands that take these sectors as they pass.

use std::ops::Range;

use super::Disk;
use super::arm_state::ArmWork;
use super::operation::bursts;
use super::sweep::SectorSweep;
use crate::engine::event::Event;
use crate::engine::schedule::{DataBurst, EventSchedule};
use crate::engine::slab::CommandHandle;
use lanemark_schema::units::{Bytes, Instant};

impl Disk {
    /// Makes a command take sectors as they are read ahead, if these sectors are next and no operation waits for the
    /// arm. Returns whether the command takes them.
    pub(super) fn join(
        &mut self,
        now: Instant,
        command: CommandHandle,
        sectors: Range<u64>,
        length: Bytes,
        events: &mut EventSchedule,
    ) -> bool {
        let Range { start: first, end } = sectors;
        let ArmWork::Streaming(mut stream) = self.arm else { return false };
        if self.read_ahead == 0 || !self.waiting.is_empty() {
            return false;
        }
        if first < stream.sweep.sector || first > stream.sweep.sector.max(stream.promised) {
            return false;
        }
        if stream.sweep.sector >= stream.limit {
            stream.sweep =
                self.mechanics.reach(now, &stream.sweep.track, stream.sweep.sector, false);
            stream.accounted = now;
        }
        stream.limit = stream.limit.max(self.limit_behind(end));
        let mut sweep = stream.sweep;
        bursts(first, end, length, |to, bytes| {
            let at = self.mechanics.pass(&mut sweep, to);
            events.schedule_burst(
                at,
                DataBurst { command, bytes: Bytes(bytes.into()) },
                Event::OffMedia,
            );
        });
        stream.promised = end;
        stream.promised_at = sweep.at;
        let passes = sweep.at.since(stream.accounted.min(sweep.at));
        self.busy += passes;
        self.worked.transfer += passes;
        stream.accounted = stream.accounted.max(sweep.at);
        self.segments.touch(stream.segment);
        self.arm = ArmWork::Streaming(stream);
        true
    }

    /// Records that commands have taken the data of a segment up to `end`. A disk that reads ahead into this segment
    /// may then continue.
    pub(super) fn record_read(&mut self, now: Instant, segment: usize, end: u64) {
        let limit = self.limit_behind(end);
        let ArmWork::Streaming(stream) = &mut self.arm else { return };
        if stream.segment != segment || limit <= stream.limit || !self.waiting.is_empty() {
            return;
        }
        if stream.sweep.sector < stream.limit {
            stream.limit = limit;
        } else if stream.sweep.sector.saturating_sub(end) <= self.read_ahead / 2 {
            stream.limit = limit;
            let SectorSweep { track, sector, .. } = stream.sweep;
            stream.sweep = self.mechanics.reach(now, &track, sector, false);
            stream.accounted = now;
        }
    }

    /// Advances the read-ahead to the current time.
    pub(super) fn catch_up(&mut self, now: Instant) {
        if let ArmWork::Streaming(stream) = &mut self.arm {
            self.mechanics.catch_up(&mut stream.sweep, stream.limit, now);
            self.segments.fill(stream.segment, stream.sweep.sector);
        }
    }

    /// Returns the sector at which the read-ahead stops after a read that ends at `end`.
    pub(super) fn limit_behind(&self, end: u64) -> u64 {
        (end + self.read_ahead).min(self.sectors.max(end))
    }
}

//! A cloud volume as the medium of a drive.

use super::account::SequentialRun;
use super::bucket::TokenBucket;
use super::{Cloud, CloudOperation};
use crate::drive::buffer::buffered_bytes;
use crate::drive::medium::{Medium, PowerCutData, WriteBurst};
use crate::drive::outcome::{DriveOutcome, OutcomeQueue};
use crate::engine::budget::{HOPS, Hop};
use crate::engine::event::Event;
use crate::engine::schedule::EventSchedule;
use crate::engine::slab::{CommandHandle, Handle, OperationHandle, Slab};
use crate::engine::station::ServiceSpan;
use crate::engine::trace::MediaTimes;
use lanemark_schema::result::{CreditUse, DriveUse, Reserve};
use lanemark_schema::units::{Bytes, Duration, Instant};

impl Medium for Cloud {
    fn read(
        &mut self,
        now: Instant,
        command: CommandHandle,
        offset: Bytes,
        length: Bytes,
        events: &mut EventSchedule,
    ) -> u32 {
        self.run.command = Handle::NONE;
        let charge = self.run.charge(&self.spec, false, offset, length, false);
        let latency = self.draw(self.spec.read_latency);
        let start = self.admit(now, charge);
        let span = ServiceSpan { start, end: start + latency };
        let room = Bytes::ZERO;
        self.begin(CloudOperation { command, writes: false, bytes: length, room, span }, events);
        1
    }

    /// Counts the bursts of a write as one request with one latency.
    fn write(
        &mut self,
        now: Instant,
        burst: WriteBurst,
        events: &mut EventSchedule,
        _outcomes: &mut OutcomeQueue,
    ) {
        let WriteBurst { command, offset, length, last } = burst;
        let is_same = self.run.continues(command);
        let charge = self.run.charge(&self.spec, true, offset, length, is_same);
        let latency = if is_same { self.run.latency } else { self.draw(self.spec.write_latency) };
        self.run.command = if last { Handle::NONE } else { command };
        self.run.latency = latency;
        let start = self.admit(now, charge);
        let span = ServiceSpan { start, end: start + latency };
        let room = buffered_bytes(offset, length);
        self.begin(CloudOperation { command, writes: true, bytes: length, room, span }, events);
    }

    /// Completes a flush immediately: every completed write is stored.
    fn flush(
        &mut self,
        _now: Instant,
        command: CommandHandle,
        _events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) {
        outcomes.emit(DriveOutcome::Done(command));
    }

    fn step(
        &mut self,
        _now: Instant,
        handle: OperationHandle,
        _events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) -> Option<DriveOutcome> {
        let CloudOperation { command, writes, bytes, room, span } = self.operations[handle];
        self.operations.free(handle);
        if !writes {
            return Some(DriveOutcome::Data { command, bytes, passage: MediaTimes::Span(span) });
        }
        self.written += bytes;
        outcomes.emit(DriveOutcome::Room(room));
        Some(DriveOutcome::Stored { command, span })
    }

    /// Discards the requests in progress. No completed write is lost, and the credits do not change.
    fn power_cut(&mut self, _now: Instant) -> PowerCutData {
        self.operations = Slab::new();
        self.run = SequentialRun::NONE;
        PowerCutData::default()
    }

    fn usage(&self) -> DriveUse {
        DriveUse { host_written: self.written, ..DriveUse::default() }
    }

    fn reserves(&self, left: &mut Vec<(Reserve, u64)>) {
        let credits = |bucket: &Option<TokenBucket>| bucket.as_ref().and_then(TokenBucket::left);
        left.extend(credits(&self.iops).map(|left| (Reserve::OperationCredits, left)));
        left.extend(credits(&self.throughput).map(|left| (Reserve::ThroughputCredits, left)));
    }

    fn credits(&self) -> Vec<CreditUse> {
        let credit_use =
            |bucket: &Option<TokenBucket>, reserve| bucket.as_ref()?.credit_use(reserve);
        let operations = credit_use(&self.iops, Reserve::OperationCredits);
        let bytes = credit_use(&self.throughput, Reserve::ThroughputCredits);
        operations.into_iter().chain(bytes).collect()
    }

    fn is_working(&self, _now: Instant) -> bool {
        self.operations.live() > 0
    }

    /// Returns an empty list, because the host does not supply the power of a volume.
    fn worked(&self, _at: Instant) -> Vec<Duration> {
        Vec::new()
    }

    fn add_busy(&self, now: Instant, busy: &mut [Vec<Duration>; HOPS]) {
        busy[Hop::Die as usize].push(self.busy.saturating_sub(self.busy_until.since_or_zero(now)));
    }
}

impl Cloud {
    fn begin(&mut self, operation: CloudOperation, events: &mut EventSchedule) {
        let end = operation.span.end;
        let handle = self.operations.insert(operation);
        events.schedule(end, Event::Media(self.drive, handle));
    }
}

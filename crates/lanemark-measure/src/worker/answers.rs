//! Handles completions: counts successful and failed requests separately.

use super::*;

impl<E: Engine, C: ThreadClock> Worker<'_, E, C> {
    /// Takes the available completions, and counts the completions in the window.
    pub(super) fn reap(&mut self, now: u64) {
        self.integrate_outstanding(now);
        while let Some((slot, result)) = self.engine.next_completion() {
            match self.answer(slot, result) {
                EngineAnswer::Whole => {
                    self.level -= 1;
                    self.count(slot, now);
                    self.resting.push_back((self.rests_until(now), slot));
                }
                EngineAnswer::Part => self.push(slot),
                EngineAnswer::Failed(errno) => self.fail(slot, errno, now),
            }
        }
        if let Some(burst) = &mut self.burst
            && burst.left == 0
            && self.engine.outstanding() == 0
        {
            burst.begin_next(now);
        }
        self.progress.bytes.store(self.quota.counted, Ordering::Relaxed);
        self.progress.requests.store(self.quota.requests, Ordering::Relaxed);
    }

    /// Returns the time since which a slot is free, for an open loop.
    pub(super) fn rests_until(&self, now: u64) -> u64 {
        if self.open { now } else { 0 }
    }

    pub(super) fn count(&mut self, slot: u32, now: u64) {
        let RequestSlot { operation, length, asked_ns, .. } = self.slots[slot as usize];
        let length = u64::from(length);
        self.quota.outstanding -= length;
        if operation.moves_data() {
            self.moved += length;
        }
        if !self.window.counts() {
            return;
        }
        self.counted_ns = now;
        let request =
            CountedRequest { operation, length, latency_ns: now.saturating_sub(asked_ns) };
        self.tally.count(request);
        if let Some(series) = &mut self.series {
            record(series, Duration::from_nanoseconds(now - self.window.opens_ns), request);
        }
        self.quota.counted += length;
        self.quota.requests += 1;
        if self.quota.counted >= self.quota.bytes {
            self.close(now);
        }
    }

    /// Interprets the answer to a slot's request: the number of bytes moved, or a negative error number.
    pub(super) fn answer(&mut self, slot: u32, result: i32) -> EngineAnswer {
        let entry = &mut self.slots[slot as usize];
        match u32::try_from(result) {
            Ok(_) if !entry.operation.moves_data() => EngineAnswer::Whole,
            Ok(0) => EngineAnswer::Failed(None),
            Ok(moved) => {
                entry.done += moved;
                if entry.done >= entry.length { EngineAnswer::Whole } else { EngineAnswer::Part }
            }
            // The kernel was interrupted or short of memory, and did not move data.
            Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => EngineAnswer::Part,
            Err(_) => EngineAnswer::Failed(Some(result.unsigned_abs())),
        }
    }

    /// Releases a slot whose request failed, and ends the run if the settings require it.
    #[cold]
    pub(super) fn fail(&mut self, slot: u32, errno: Option<u32>, now: u64) {
        let RequestSlot { operation, offset, length, done, asked_ns, .. } =
            self.slots[slot as usize];
        self.level -= 1;
        self.quota.outstanding -= u64::from(length);
        self.moved += u64::from(done);
        if self.window.counts() {
            self.tally.failed_ns += now.saturating_sub(asked_ns);
        }
        let path = self.shared.path.to_owned();
        let offset = Bytes(offset);
        let length = Bytes(length.into());
        let error = match errno {
            None => MeasureError::Ended { path, operation, offset },
            Some(errno) => {
                let source = io::Error::from_raw_os_error(errno.cast_signed());
                MeasureError::Request { path, operation, offset, length, source }
            }
        };
        let achieved = self.moved + self.quota.counted;
        match self.failures.take(errno, error, achieved, now) {
            FailureAction::GoesOn => self.resting.push_back((self.rests_until(now), slot)),
            FailureAction::RestsUntil(until_ns) => self.failures.pause_slot(until_ns, slot),
            FailureAction::Ends => {
                self.resting.push_back((self.rests_until(now), slot));
                self.shared.abort.store(true, Ordering::Relaxed);
                self.turn_window(now);
            }
        }
    }
}

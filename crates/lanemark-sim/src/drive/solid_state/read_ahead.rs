//! Read-ahead: the drive reads data into its memory before a sequential reader is expected to request it.
//!
//! A read that begins at the end of an earlier read belongs to the same *stream*. From the second read of a stream
//! onward, the drive keeps the next `window` bytes of the stream in transit or in memory, in *stretches*, one for each
//! flash read. A read finds its data in stretches that have arrived, waits for stretches in transit, and reads the rest
//! from flash. A write invalidates only the slots that it changes. The stream continues, and a later read of these
//! slots reads their new content. The drive tracks a few streams at once; a new stream replaces the least recently used
//! stream.
//!
//! At high queue depths, commands may overtake each other. A read that begins within the window continues the stream
//! and leaves a *gap*, whose stretches are kept until the overtaken reads have arrived, or until the stream has
//! advanced by a window.

use std::collections::VecDeque;
use std::ops::Range;

use crate::engine::slab::{CommandHandle, Slab, StretchHandle, Stretches};
use lanemark_schema::units::Bytes;

const STREAMS: usize = 8;
/// Number of reads of a stream after which the drive reads ahead.
const SURE: u32 = 2;

/// A stretch of data that was read ahead.
#[derive(Clone, Debug)]
pub(crate) struct ReadAheadRange {
    /// First slot of the stretch.
    first: u64,
    /// Slot after the last slot of the stretch.
    end: u64,
    here: bool,
    /// Whether reads will no longer request the stretch.
    dropped: bool,
    /// Waiting commands, each with the number of bytes that it reads from the stretch.
    waiting: Vec<(CommandHandle, Bytes)>,
}

#[derive(Clone, Debug, Default)]
struct ReadStream {
    next: u64,
    ahead: u64,
    reads: u32,
    used: u64,
    stretches: VecDeque<StretchHandle>,
    /// Ranges of slots before `next` that no read has requested yet.
    gaps: VecDeque<Range<u64>>,
    /// Slots of the stretches that were written or trimmed after their read began: disjoint ranges in ascending order.
    changed: Vec<Range<u64>>,
}

/// Streams and the data read ahead of them.
#[derive(Clone, Debug)]
pub(crate) struct ReadAhead {
    window: u64,
    streams: Vec<ReadStream>,
    stretches: Slab<ReadAheadRange, Stretches>,
    clock: u64,
}

/// The part of a read that was read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadAheadHit {
    /// The data is in memory up to this slot.
    Here(u64),
    /// The data is in transit up to this slot, in this stretch.
    Coming(u64, StretchHandle),
    /// The data up to this slot was not read ahead, or has changed since, and must be read from its current location.
    Not(u64),
}

impl ReadAhead {
    /// Creates a read-ahead of `window` slots, without streams.
    pub(crate) fn new(window: u64) -> Self {
        Self {
            window,
            streams: vec![ReadStream::default(); STREAMS],
            stretches: Slab::new(),
            clock: 0,
        }
    }

    /// Returns a read-ahead with the same window and without streams.
    #[must_use]
    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.window)
    }

    /// Begins a read of the slots from `first` up to `end`, and returns the stream that it continues.
    pub(crate) fn stream(&mut self, first: u64, end: u64) -> Option<usize> {
        self.clock += 1;
        let known = self.streams.iter().position(|stream| stream.reads > 0 && stream.next == first);
        if let Some(index) = known.or_else(|| self.out_of_order(first, end)) {
            let stream = &mut self.streams[index];
            stream.reads += 1;
            stream.next = stream.next.max(end);
            stream.used = self.clock;
            return Some(index);
        }
        let (oldest, _) = self.streams.iter().enumerate().min_by_key(|(_, stream)| stream.used)?;
        self.end_stream(oldest);
        // The data read ahead and the gaps of the previous stream are dropped.
        let stream = &mut self.streams[oldest];
        (stream.next, stream.ahead) = (end, end);
        (stream.reads, stream.used) = (1, self.clock);
        None
    }

    /// Returns the stream whose reads overtook a read of the slots from `first` up to `end`, or were overtaken by it.
    fn out_of_order(&mut self, first: u64, end: u64) -> Option<usize> {
        let index = self.streams.iter().position(|stream| {
            let overtakes = stream.next < first && first < stream.ahead;
            stream.reads >= SURE
                && (overtakes || stream.gaps.iter().any(|gap| gap.contains(&first)))
        })?;
        let stream = &mut self.streams[index];
        if stream.next < first {
            stream.gaps.push_back(stream.next..first);
            return Some(index);
        }
        let at = stream.gaps.iter().position(|gap| gap.contains(&first))?;
        let gap = stream.gaps.remove(at)?;
        for left in [end.min(gap.end)..gap.end, gap.start..first] {
            if !left.is_empty() {
                stream.gaps.insert(at, left);
            }
        }
        Some(index)
    }

    /// Returns the part of the slots from `slot` up to `end` that was read ahead for a stream.
    pub(crate) fn find(&self, stream: usize, slot: u64, end: u64) -> ReadAheadHit {
        let ReadStream { stretches, changed, .. } = &self.streams[stream];
        let mut end = end;
        let next = changed.partition_point(|range| range.end <= slot);
        if let Some(range) = changed.get(next) {
            if range.start <= slot {
                return ReadAheadHit::Not(range.end.min(end));
            }
            end = end.min(range.start);
        }
        let found = stretches.iter().find_map(|&handle| {
            let stretch = &self.stretches[handle];
            let holds = stretch.first <= slot && slot < stretch.end;
            holds.then(|| {
                if stretch.here {
                    ReadAheadHit::Here(stretch.end.min(end))
                } else {
                    ReadAheadHit::Coming(stretch.end.min(end), handle)
                }
            })
        });
        found.unwrap_or(ReadAheadHit::Not(end))
    }

    /// Returns whether `slot` has been read ahead or is being read ahead.
    pub(crate) fn holds(&self, slot: u64) -> bool {
        let of = |handle: &StretchHandle| {
            let stretch = &self.stretches[*handle];
            stretch.first <= slot && slot < stretch.end
        };
        self.streams.iter().any(|stream| {
            stream.stretches.iter().any(of)
                && !stream.changed.iter().any(|range| range.contains(&slot))
        })
    }

    /// Makes `command` wait for `bytes` of a stretch.
    pub(crate) fn wait(&mut self, stretch: StretchHandle, command: CommandHandle, bytes: Bytes) {
        self.stretches[stretch].waiting.push((command, bytes));
    }

    /// Returns the slots to read ahead for a stream now, up to `last`.
    pub(crate) fn slots_to_read_ahead(&mut self, stream: usize, last: u64) -> Range<u64> {
        let read_stream = &mut self.streams[stream];
        let next = read_stream.next;
        read_stream.gaps.retain(|gap| gap.end + self.window > next);
        let first_requested = read_stream.gaps.iter().map(|gap| gap.start).fold(next, u64::min);
        while let Some(&handle) = self.streams[stream].stretches.front() {
            if self.stretches[handle].end > first_requested {
                break;
            }
            self.streams[stream].stretches.pop_front();
            self.drop_stretch(handle);
        }
        self.forget_changes(stream);
        let stream = &self.streams[stream];
        if stream.reads < SURE {
            return next..next;
        }
        stream.ahead.max(next)..(next + self.window).min(last)
    }

    /// Records that the slots from `first` up to `end` are being read ahead for a stream.
    pub(crate) fn begin(&mut self, stream: usize, first: u64, end: u64) -> StretchHandle {
        let handle = self.stretches.insert(ReadAheadRange {
            first,
            end,
            here: false,
            dropped: false,
            waiting: Vec::new(),
        });
        self.streams[stream].stretches.push_back(handle);
        self.streams[stream].ahead = end;
        handle
    }

    /// Records that a stretch has arrived, and returns the commands that wait for it.
    pub(crate) fn on_stretch_arrived(
        &mut self,
        handle: StretchHandle,
    ) -> Vec<(CommandHandle, Bytes)> {
        let stretch = &mut self.stretches[handle];
        stretch.here = true;
        let waiting = std::mem::take(&mut stretch.waiting);
        if stretch.dropped {
            self.stretches.free(handle);
        }
        waiting
    }

    /// Records that the slots from `first` up to `end` are written or trimmed. Their content in the stretches is no
    /// longer valid. A command that waits for a stretch arrived before the change, and receives the earlier content.
    pub(crate) fn note_changed_slots(&mut self, first: u64, end: u64) {
        for stream in &mut self.streams {
            let Some(&handle) = stream.stretches.front() else { continue };
            let mut range = first.max(self.stretches[handle].first)..end.min(stream.ahead);
            if range.is_empty() {
                continue;
            }
            // Ranges that overlap or touch the new range are merged with it.
            let changed = &mut stream.changed;
            let from = changed.partition_point(|earlier| earlier.end < range.start);
            let to = changed.partition_point(|earlier| earlier.start <= range.end);
            for earlier in &changed[from..to] {
                range = range.start.min(earlier.start)..range.end.max(earlier.end);
            }
            changed.splice(from..to, [range]);
        }
    }

    /// Forgets the changes to slots that are no longer in the stretches of a stream.
    fn forget_changes(&mut self, stream: usize) {
        let ReadStream { stretches, changed, .. } = &mut self.streams[stream];
        if changed.is_empty() {
            return;
        }
        let kept = stretches.front().map_or(u64::MAX, |&handle| self.stretches[handle].first);
        let past = changed.partition_point(|range| range.end <= kept);
        changed.drain(..past);
    }

    fn end_stream(&mut self, index: usize) {
        self.streams[index].gaps.clear();
        self.streams[index].changed.clear();
        self.streams[index].reads = 0;
        while let Some(handle) = self.streams[index].stretches.pop_front() {
            self.drop_stretch(handle);
        }
    }

    fn drop_stretch(&mut self, handle: StretchHandle) {
        if self.stretches[handle].here {
            self.stretches.free(handle);
        } else {
            self.stretches[handle].dropped = true;
        }
    }
}

#[cfg(test)]
#[path = "read_ahead_tests.rs"]
mod tests;

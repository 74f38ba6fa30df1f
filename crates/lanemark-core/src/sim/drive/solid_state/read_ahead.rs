//! Reading ahead: data that a sequential reader will ask for next is brought into the drive's memory.
//!
//! A read that begins where an earlier one ended belongs to its *stream*. From the second such read on the
//! drive keeps `window` bytes ahead of the stream under way or in memory, in *stretches*, one for each flash
//! read. A read finds its data in stretches that have come, waits for those under way, and reads the rest
//! from flash. A write into the window ends the stream. A few streams are followed at once, the one that was
//! longest idle makes way for a new one.
//!
//! Commands of a deep queue may overtake each other on their way. A read that begins within the window goes on with
//! the stream and leaves a *gap*, whose stretches are kept until the reads that were overtaken have come, or the stream is
//! a window further.

use std::collections::VecDeque;
use std::ops::Range;

use crate::sim::slab::{CommandHandle, Slab, StretchHandle, Stretches};
use crate::units::Bytes;

const STREAMS: usize = 8;
/// A stream's reads before it is read ahead.
const SURE: u32 = 2;

/// A stretch of data that was read ahead.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    /// The slots that the stretch holds.
    first: u64,
    end: u64,
    here: bool,
    /// Whether nothing will ask for the stretch any more.
    dropped: bool,
    /// Commands that wait for so many bytes of it.
    waiting: Vec<(CommandHandle, Bytes)>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    next: u64,
    ahead: u64,
    reads: u32,
    used: u64,
    stretches: VecDeque<StretchHandle>,
    /// Slots before `next` that no read has asked for yet.
    gaps: VecDeque<Range<u64>>,
}

/// Streams and what was read ahead of them.
#[derive(Clone, Debug)]
pub(crate) struct ReadAhead {
    window: u64,
    streams: Vec<Stream>,
    stretches: Slab<Stretch, Stretches>,
    clock: u64,
}

/// The part of a read that was read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// In memory up to this slot.
    Here(u64),
    /// Under way up to this slot, with this stretch.
    Coming(u64, StretchHandle),
    /// Nothing: the data must be read.
    Not,
}

impl ReadAhead {
    /// Read-ahead without any stream yet; `window` slots are kept ahead.
    pub(crate) fn new(window: u64) -> Self {
        Self { window, streams: vec![Stream::default(); STREAMS], stretches: Slab::new(), clock: 0 }
    }

    /// The read-ahead without any stream, as before the first.
    #[must_use]
    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.window)
    }

    /// A read of the slots from `first` up to `end` begins: the stream that it goes on with.
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
        // What it had ahead and its gaps are gone with the stream before.
        let stream = &mut self.streams[oldest];
        (stream.next, stream.ahead) = (end, end);
        (stream.reads, stream.used) = (1, self.clock);
        None
    }

    /// The stream that a read of the slots from `first` up to `end` overtook reads of, or whose reads overtook it.
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

    /// Returns the part of the slots from `slot` up to `end` that was read ahead of a stream.
    pub(crate) fn find(&self, stream: usize, slot: u64, end: u64) -> Ahead {
        let found = self.streams[stream].stretches.iter().find_map(|&handle| {
            let stretch = &self.stretches[handle];
            let holds = stretch.first <= slot && slot < stretch.end;
            holds.then(|| match stretch.here {
                true => Ahead::Here(stretch.end.min(end)),
                false => Ahead::Coming(stretch.end.min(end), handle),
            })
        });
        found.unwrap_or(Ahead::Not)
    }

    /// Whether `slot` was read ahead of a stream, or is being read ahead.
    pub(crate) fn holds(&self, slot: u64) -> bool {
        let of = |handle: &StretchHandle| {
            let stretch = &self.stretches[*handle];
            stretch.first <= slot && slot < stretch.end
        };
        self.streams.iter().any(|stream| stream.stretches.iter().any(of))
    }

    /// `command` waits for so many bytes of a stretch.
    pub(crate) fn wait(&mut self, stretch: StretchHandle, command: CommandHandle, bytes: Bytes) {
        self.stretches[stretch].waiting.push((command, bytes));
    }

    /// The slots to read ahead of a stream now, up to `last` at most.
    pub(crate) fn wanted(&mut self, stream: usize, last: u64) -> Range<u64> {
        let own = &mut self.streams[stream];
        let next = own.next;
        own.gaps.retain(|gap| gap.end + self.window > next);
        let asked = own.gaps.iter().map(|gap| gap.start).fold(next, u64::min);
        while let Some(&handle) = self.streams[stream].stretches.front() {
            if self.stretches[handle].end > asked {
                break;
            }
            self.streams[stream].stretches.pop_front();
            self.drop_stretch(handle);
        }
        let stream = &self.streams[stream];
        if stream.reads < SURE {
            return next..next;
        }
        stream.ahead.max(next)..(next + self.window).min(last)
    }

    /// The slots from `first` up to `end` are being read ahead of a stream.
    pub(crate) fn begin(&mut self, stream: usize, first: u64, end: u64) -> StretchHandle {
        let handle = self.stretches.insert(Stretch {
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

    /// A stretch has come: the commands that wait for it.
    pub(crate) fn here(&mut self, handle: StretchHandle) -> Vec<(CommandHandle, Bytes)> {
        let stretch = &mut self.stretches[handle];
        stretch.here = true;
        let waiting = std::mem::take(&mut stretch.waiting);
        if stretch.dropped {
            self.stretches.free(handle);
        }
        waiting
    }

    /// The slots from `first` up to `end` are written or trimmed.
    pub(crate) fn changed(&mut self, first: u64, end: u64) {
        for index in 0..STREAMS {
            let stream = &self.streams[index];
            let from = stream.stretches.front().map(|&handle| self.stretches[handle].first);
            if from.is_some_and(|from| first < stream.ahead && from < end) {
                self.end_stream(index);
            }
        }
    }

    fn end_stream(&mut self, index: usize) {
        self.streams[index].gaps.clear();
        self.streams[index].reads = 0;
        while let Some(handle) = self.streams[index].stretches.pop_front() {
            self.drop_stretch(handle);
        }
    }

    fn drop_stretch(&mut self, handle: StretchHandle) {
        match self.stretches[handle].here {
            true => self.stretches.free(handle),
            false => self.stretches[handle].dropped = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_read_in_a_row_is_read_ahead_and_a_write_ends_it() {
        let mut ahead = ReadAhead::new(64);
        assert_eq!(ahead.stream(0, 8), None);
        let stream = ahead.stream(8, 16).unwrap();
        assert_eq!(ahead.find(stream, 8, 16), Ahead::Not);
        assert_eq!(ahead.wanted(stream, 1000), 16..80);
        let stretch = ahead.begin(stream, 16, 24);
        assert_eq!(ahead.stream(16, 20), Some(stream));
        assert_eq!(ahead.find(stream, 16, 20), Ahead::Coming(20, stretch));
        ahead.wait(stretch, CommandHandle::of(5), Bytes(4096));
        assert_eq!(ahead.here(stretch), [(CommandHandle::of(5), Bytes(4096))]);
        assert_eq!(ahead.find(stream, 20, 28), Ahead::Here(24));
        ahead.changed(22, 23);
        assert_eq!(ahead.stream(20, 24), None, "the stream is forgotten");
    }

    /// Reads that overtake each other are one stream: nothing that was read ahead for them is read again.
    #[test]
    fn reads_that_overtake_each_other_stay_in_their_stream() {
        let mut ahead = ReadAhead::new(64);
        ahead.stream(0, 8);
        let stream = ahead.stream(8, 16).unwrap();
        assert_eq!(ahead.wanted(stream, 1000), 16..80);
        let stretches: Vec<_> =
            (16..80).step_by(8).map(|first| ahead.begin(stream, first, first + 8)).collect();
        // Those from 16 and from 24 are late.
        assert_eq!(ahead.stream(32, 40), Some(stream));
        assert_eq!(ahead.wanted(stream, 1000), 80..104);
        assert_eq!(ahead.find(stream, 32, 40), Ahead::Coming(40, stretches[2]));
        assert_eq!(ahead.stream(24, 32), Some(stream));
        assert_eq!(ahead.find(stream, 24, 32), Ahead::Coming(32, stretches[1]));
        assert_eq!(ahead.streams[stream].gaps.front(), Some(&(16..24)));
        assert_eq!(ahead.stream(16, 24), Some(stream));
        assert_eq!(ahead.find(stream, 16, 24), Ahead::Coming(24, stretches[0]));
        assert!(ahead.streams[stream].gaps.is_empty());
        ahead.wanted(stream, 1000);
        assert_eq!(ahead.find(stream, 16, 24), Ahead::Not, "read once, it is dropped");
        assert_eq!(ahead.stream(16, 24), None, "a second read of it is not of the stream");
    }

    /// A read that never comes keeps nothing for longer than a window.
    #[test]
    fn a_gap_that_is_never_read_is_given_up() {
        let mut ahead = ReadAhead::new(64);
        ahead.stream(0, 8);
        let stream = ahead.stream(8, 16).unwrap();
        let mut next = 16;
        for read in 0..100 {
            let wanted = ahead.wanted(stream, 1 << 20);
            if !wanted.is_empty() {
                ahead.begin(stream, wanted.start, wanted.end);
            }
            // Every tenth read is left out.
            next += if read % 10 == 9 { 16 } else { 8 };
            assert_eq!(ahead.stream(next - 8, next), Some(stream));
            assert!(ahead.streams[stream].gaps.len() <= 2);
            assert!(ahead.streams[stream].stretches.len() <= 17);
        }
    }

    #[test]
    fn nothing_is_read_ahead_behind_the_end_of_the_drive() {
        let mut ahead = ReadAhead::new(64);
        ahead.stream(0, 8);
        let stream = ahead.stream(8, 16).unwrap();
        assert_eq!(ahead.wanted(stream, 40), 16..40);
    }
}

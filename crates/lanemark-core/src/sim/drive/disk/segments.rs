//! The read cache of a disk: segments, each of which holds one run of sectors.
//!
//! Law (Seagate, *Cheetah 15K.7 SAS Product Manual*, section 4.5): a read fills a segment and what is read ahead
//! goes behind it; when a segment is full, its oldest sectors go. A read that begins where a segment ends goes on
//! with that one, and any other takes the one that has not been used for longest. What is overwritten is dropped.
//!
//! Not modelled: written data that is kept for reading after it is on the media, segments whose size adapts.

use crate::sim::spec::DiskSpec;
use crate::workload::SECTOR;

/// The read cache of a disk.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    segments: Vec<Segment>,
    /// Sectors that a segment has room for.
    room: u64,
    /// Uses so far.
    uses: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    first: u64,
    end: u64,
    used: u64,
}

impl Segments {
    /// Empty segments.
    pub(crate) fn new(spec: &DiskSpec) -> Self {
        Self {
            segments: vec![Segment::default(); spec.segments as usize],
            room: spec.segment.get() / SECTOR.get(),
            uses: 0,
        }
    }

    /// The sector up to which a segment holds everything from `sector` on, and the segment.
    pub(crate) fn held_from(&self, sector: u64) -> Option<(usize, u64)> {
        let holds = |segment: &Segment| segment.first <= sector && sector < segment.end;
        let index = self.segments.iter().position(holds)?;
        Some((index, self.segments[index].end))
    }

    /// Takes a segment for data from `sector` on.
    pub(crate) fn take(&mut self, sector: u64) -> usize {
        let continued = |segment: &Segment| segment.first < segment.end && segment.end == sector;
        let index = self.segments.iter().position(continued).unwrap_or_else(|| {
            let oldest = (0..self.segments.len()).min_by_key(|&index| self.segments[index].used);
            let index = oldest.unwrap_or(0);
            self.segments[index].first = sector;
            self.segments[index].end = sector;
            index
        });
        self.touch(index);
        index
    }

    /// A segment is used.
    pub(crate) fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.segments[index].used = self.uses;
    }

    /// A segment has been filled up to `end`.
    pub(crate) fn fill(&mut self, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.first = segment.first.max(segment.end.saturating_sub(self.room));
    }

    /// A segment that was to go on from `sector`, and of which the end was dropped, begins anew there.
    pub(crate) fn restart_unless_current(&mut self, index: usize, sector: u64) {
        let segment = &mut self.segments[index];
        if segment.end != sector {
            (segment.first, segment.end) = (sector, sector);
        }
    }

    /// The sectors from `first` up to `end` are overwritten.
    pub(crate) fn forget(&mut self, first: u64, end: u64) {
        for segment in &mut self.segments {
            if segment.first < end && first < segment.end {
                segment.end = first.max(segment.first);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::small_disk;
    use super::*;

    #[test]
    fn a_segment_keeps_the_latest_and_the_least_used_goes() {
        let spec = small_disk();
        let room = spec.segment.get() / SECTOR.get();
        let mut segments = Segments::new(&spec);
        let first = segments.take(100);
        segments.fill(first, 100 + room);
        assert_eq!(segments.held_from(100), Some((first, 100 + room)));
        segments.fill(first, 110 + room);
        assert_eq!(segments.held_from(109), None);
        assert_eq!(segments.take(110 + room), first, "the run goes on");
        let places: Vec<usize> = (0..spec.segments as u64 - 1)
            .map(|place| {
                let index = segments.take(1_000_000 * (place + 1));
                segments.fill(index, 1_000_000 * (place + 1) + 8);
                index
            })
            .collect();
        assert!(!places.contains(&first));
        segments.touch(first);
        assert_eq!(segments.take(5), places[0]);
    }

    #[test]
    fn what_is_overwritten_is_no_longer_held() {
        let mut segments = Segments::new(&small_disk());
        let index = segments.take(0);
        segments.fill(index, 64);
        segments.forget(16, 24);
        assert_eq!(segments.held_from(0), Some((index, 16)));
        assert_eq!(segments.held_from(20), None);
        segments.forget(0, 8);
        assert_eq!(segments.held_from(0), None);
    }
}

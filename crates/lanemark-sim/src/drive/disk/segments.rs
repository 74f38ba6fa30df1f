//! The read cache of a disk: segments that each contain one run of sectors.
//!
//! Model (Seagate, *Cheetah 15K.7 SAS Product Manual*, section 4.5): a read fills a segment, and the sectors that are
//! read ahead follow in the same segment; a full segment drops its oldest sectors. A read that begins at the end of a
//! segment continues that segment, and any other read takes the least recently used segment. Overwritten sectors are
//! dropped.
//!
//! Not modelled: written data that is kept for reading after it is on the media, and segments with adaptive sizes.

use crate::spec::DiskSpec;
use lanemark_schema::workload::SECTOR;

#[derive(Clone, Debug)]
pub(crate) struct CacheSegments {
    segments: Vec<CacheSegment>,
    /// Capacity of a segment in sectors.
    room: u64,
    /// Number of uses so far.
    uses: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct CacheSegment {
    first: u64,
    end: u64,
    used: u64,
}

impl CacheSegments {
    pub(crate) fn new(spec: &DiskSpec) -> Self {
        Self {
            segments: vec![CacheSegment::default(); spec.segments as usize],
            room: spec.segment.get() / SECTOR.get(),
            uses: 0,
        }
    }

    /// Returns the segment that contains `sector`, and the end of its run.
    pub(crate) fn held_from(&self, sector: u64) -> Option<(usize, u64)> {
        let holds_sector = |segment: &CacheSegment| segment.first <= sector && sector < segment.end;
        let index = self.segments.iter().position(holds_sector)?;
        Some((index, self.segments[index].end))
    }

    /// Reassigns the least recently used segment to data from `sector` onward, and returns its index.
    pub(crate) fn take(&mut self, sector: u64) -> usize {
        let continued =
            |segment: &CacheSegment| segment.first < segment.end && segment.end == sector;
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

    /// Records a use of a segment.
    pub(crate) fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.segments[index].used = self.uses;
    }

    /// Records that a segment has been filled up to `end`.
    pub(crate) fn fill(&mut self, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.first = segment.first.max(segment.end.saturating_sub(self.room));
    }

    /// Restarts a segment at `sector` unless its run still ends there, because the end may have been dropped.
    pub(crate) fn restart_unless_current(&mut self, index: usize, sector: u64) {
        let segment = &mut self.segments[index];
        if segment.end != sector {
            (segment.first, segment.end) = (sector, sector);
        }
    }

    /// Drops the sectors from `first` up to `end`, which were overwritten.
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
    use super::*;
    use lanemark_schema::units::Bytes;
    use proptest::prelude::*;

    #[test]
    fn a_segment_keeps_recent_data_and_evicts_unused_data() {
        let spec = DiskSpec::example();
        let room = spec.segment.get() / SECTOR.get();
        let mut segments = CacheSegments::new(&spec);
        let first = segments.take(100);
        segments.fill(first, 100 + room);
        assert_eq!(segments.held_from(100), Some((first, 100 + room)));
        segments.fill(first, 110 + room);
        assert_eq!(segments.held_from(109), None);
        assert_eq!(segments.take(110 + room), first, "the run continues");
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

    proptest! {
        /// Compares the segments with a simple list of runs. The least recently used run is evicted; each run keeps the
        /// latest sectors that fit, and drops overwritten sectors.
        #[test]
        fn segments_hold_the_latest_reads(
            steps in proptest::collection::vec((0u64..6, 1u64..40, 0u32..8), 1..120), count in 1u32..5,
        ) {
            let spec = DiskSpec { segments: count, segment: Bytes::kibi(16), ..DiskSpec::example() };
            let room = 32;
            let mut segments = CacheSegments::new(&spec);
            // Runs, with the most recently used run at the end.
            let mut model: Vec<(u64, u64)> = vec![(0, 0); count as usize];
            for (region, length, kind) in steps {
                let start = region * 100_000;
                let known = model.iter().position(|run| run.0 / 100_000 == region && run.0 < run.1);
                let at = known.map_or(start, |known| model[known].1);
                if kind == 0 {
                    let first = at.saturating_sub(length);
                    let end = at + 1;
                    segments.forget(first, end);
                    for run in &mut model {
                        if run.0 < end && first < run.1 {
                            run.1 = run.0.max(first);
                        }
                    }
                } else {
                    let index = segments.take(at);
                    segments.fill(index, at + length);
                    let mut run = model.remove(known.unwrap_or(0));
                    if known.is_none() {
                        run = (at, at);
                    }
                    run.1 += length;
                    run.0 = run.0.max(run.1.saturating_sub(room));
                    model.push(run);
                }
                let bounds = model.iter().flat_map(|run| [run.0.saturating_sub(1), run.0, run.1 - u64::from(run.0 < run.1), run.1]);
                for sector in bounds {
                    let run = model.iter().find(|run| run.0 <= sector && sector < run.1);
                    let held = segments.held_from(sector).map(|(_, end)| end);
                    prop_assert_eq!(held, run.map(|run| run.1), "sector {}", sector);
                }
            }
        }
    }
}

//! A drive's volatile write cache: the writes that a power cut may still revert.
//!
//! An acknowledged write without a flush is already in the drive's content; this module keeps the data that it
//! replaced, up to the size of the drive's buffer. The oldest writes above that size are assumed to be stored. At a
//! power cut, a random draw for each write, from the newest to the oldest, decides whether the write was stored, lost
//! or torn; for a torn write, each sector is drawn. A lost sector returns to its content before that write; a stored
//! sector keeps its content even if older writes are lost. After a flush, no earlier write can be reverted; after a
//! trim or zeroing of a range, no earlier write to that range can be reverted.
//!
//! The rule follows JEDEC and T13: a write to a volatile cache reaches the media in any order or not at all until a
//! flush (ATA ACS-4, 7.10 FLUSH CACHE; NVM Express 1.4, 6.8), and each sector is written completely.
//!
//! Not modelled: corrupted data, and changes to sectors that were not written. If a cache holds several versions of a
//! sector, either the newest or an older version is stored.

use std::collections::{BTreeSet, VecDeque};

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::workload;

/// Size of a sector in bytes. A sector is written completely or not at all.
pub const SECTOR: u64 = workload::SECTOR.get();
/// Number of the random stream of power cuts, which no thread of a run uses.
const CUT_STREAM: u32 = 5 << 28;
/// Memory for the bookkeeping of an entry, counted in addition to its data.
const ENTRY: u64 = 64;

/// The writes that a power cut may revert, the oldest first.
#[derive(Debug)]
pub struct RevertibleWrites {
    entries: VecDeque<RevertibleWrite>,
    /// Total size of all entries, in bytes.
    held: u64,
    /// Maximum of `held`.
    most: u64,
    /// The number of the next entry.
    next: u64,
}

#[derive(Debug)]
struct RevertibleWrite {
    number: u64,
    /// Offset of the first byte of the range.
    offset: u64,
    change: RevertibleChange,
}

#[derive(Debug)]
enum RevertibleChange {
    /// Data that a write replaced.
    Wrote(Vec<u8>),
    /// A range that keeps its content regardless of earlier writes.
    Settled(u64),
}

/// Writes that a power cut affected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerCutLoss {
    /// Writes that were acknowledged but not flushed.
    pub writes: u64,
    /// Writes without a stored sector.
    pub lost: u64,
    /// Writes that were stored only in part.
    pub torn: u64,
    /// Ranges that were reverted to their previous data, each with its length, in order of offsets.
    pub ranges: Vec<(u64, u64)>,
}

impl PowerCutLoss {
    /// Returns the number of bytes that were reverted to their previous data.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|(_, length)| length).sum()
    }
}

impl RevertibleWrites {
    /// Creates an empty cache with a capacity of `most` bytes.
    pub fn new(most: u64) -> Self {
        Self { entries: VecDeque::new(), held: 0, most, next: 0 }
    }

    /// Records a write to `offset` that replaces `before`.
    pub fn record_write(&mut self, offset: u64, before: Vec<u8>) {
        self.push(offset, RevertibleChange::Wrote(before));
    }

    /// Records that no power cut can change the content of a range.
    pub fn record_settled_range(&mut self, offset: u64, length: u64) {
        if !self.entries.is_empty() {
            self.push(offset, RevertibleChange::Settled(length));
        }
    }

    fn push(&mut self, offset: u64, change: RevertibleChange) {
        self.held += change.size();
        self.entries.push_back(RevertibleWrite { number: self.next, offset, change });
        self.next += 1;
        while self.held > self.most {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.held -= oldest.change.size();
        }
    }

    /// Returns a mark after the newest write, for [`RevertibleWrites::remove_before`].
    pub fn mark(&self) -> u64 {
        self.next
    }

    /// Removes the writes before `mark`, which have been stored.
    pub fn remove_before(&mut self, mark: u64) {
        while let Some(oldest) = self.entries.front()
            && oldest.number < mark
        {
            self.held -= oldest.change.size();
            self.entries.pop_front();
        }
    }

    /// Applies a power cut with random draws from `random`; `restore` receives the offsets and previous data of lost
    /// sectors. The cache is empty afterwards.
    ///
    /// # Errors
    /// Returns the error of `restore`.
    pub fn power_cut<E>(
        &mut self,
        random: &mut Rng,
        mut restore: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<PowerCutLoss, E> {
        let mut loss = PowerCutLoss::default();
        let mut kept: BTreeSet<u64> = BTreeSet::new();
        let mut settled: Vec<(u64, u64)> = Vec::new();
        let mut lost: Vec<(u64, u64)> = Vec::new();
        self.held = 0;
        while let Some(RevertibleWrite { offset, change, .. }) = self.entries.pop_back() {
            let before = match change {
                RevertibleChange::Settled(length) => {
                    settled.push((offset, offset + length));
                    continue;
                }
                RevertibleChange::Wrote(before) => before,
            };
            let fate = PowerCutFate::draw(random);
            let end = offset + before.len() as u64;
            let mut sectors_kept = 0;
            let mut sectors_lost = 0;
            let mut at = offset;
            while at < end {
                let sector_end = ((at / SECTOR + 1) * SECTOR).min(end);
                let stays = fate.keeps(random);
                sectors_kept += u64::from(stays);
                sectors_lost += u64::from(!stays);
                let sector = at / SECTOR;
                if stays {
                    kept.insert(sector);
                } else if !kept.contains(&sector)
                    && !settled.iter().any(|(from, to)| *from < sector_end && at < *to)
                {
                    restore(at, &before[(at - offset) as usize..(sector_end - offset) as usize])?;
                    lost.push((at, sector_end));
                }
                at = sector_end;
            }
            loss.writes += 1;
            loss.lost += u64::from(sectors_kept == 0);
            loss.torn += u64::from(sectors_kept > 0 && sectors_lost > 0);
        }
        loss.ranges = merged_ranges(lost);
        Ok(loss)
    }
}

impl RevertibleChange {
    fn size(&self) -> u64 {
        match self {
            Self::Wrote(before) => before.len() as u64 + ENTRY,
            Self::Settled(_) => ENTRY,
        }
    }
}

/// The fate of a write in a power cut.
#[derive(Clone, Copy, Debug)]
enum PowerCutFate {
    Stored,
    Lost,
    Torn,
}

impl PowerCutFate {
    fn draw(random: &mut Rng) -> Self {
        match random.below(3) {
            0 => Self::Stored,
            1 => Self::Lost,
            _ => Self::Torn,
        }
    }

    /// Draws whether the next sector of a torn write was stored.
    fn keeps(self, random: &mut Rng) -> bool {
        match self {
            Self::Stored => true,
            Self::Lost => false,
            Self::Torn => random.chance(0.5),
        }
    }
}

/// Returns the random numbers of a drive's power cuts.
pub fn power_cut_random(seed: u64) -> Rng {
    Rng::new(StreamKey { thread: CUT_STREAM, ..StreamKey::from_seed(seed) })
}

/// Stores a random part of the sectors of a write that a power cut interrupted; the part may be all sectors or no
/// sector. `store` receives the offset and the data of each stored sector.
///
/// # Errors
/// Returns the error of `store`.
pub fn tear<E>(
    random: &mut Rng,
    offset: u64,
    bytes: &[u8],
    mut store: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let fate = PowerCutFate::draw(random);
    let mut rest = bytes;
    let mut at = offset;
    while !rest.is_empty() {
        let length = (SECTOR - at % SECTOR).min(rest.len() as u64);
        let (sector, after) = rest.split_at(length as usize);
        if fate.keeps(random) {
            store(at, sector)?;
        }
        (at, rest) = (at + length, after);
    }
    Ok(())
}

/// Merges ranges (start, end) into disjoint ranges (start, length) that do not touch each other.
fn merged_ranges(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges {
        match all.last_mut() {
            Some((_, before)) if start <= *before => *before = end.max(*before),
            _ => all.push((start, end)),
        }
    }
    all.into_iter().map(|(start, end)| (start, end - start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SECTORS: u64 = 64;

    fn random(seed: u64) -> Rng {
        Rng::new(StreamKey::from_seed(seed))
    }

    /// Sectors of one byte, written through a cache, with the set of contents that each sector may have after a power
    /// cut.
    struct Model {
        disk: Vec<u8>,
        may: Vec<BTreeSet<u8>>,
        cache: RevertibleWrites,
    }

    impl Model {
        fn new(most: u64) -> Self {
            Self {
                disk: vec![0; SECTORS as usize],
                may: vec![BTreeSet::from([0]); SECTORS as usize],
                cache: RevertibleWrites::new(most),
            }
        }

        fn write(&mut self, sector: u64, sectors: u64, value: u8) {
            let before = (sector..sector + sectors)
                .flat_map(|at| vec![self.disk[at as usize]; SECTOR as usize])
                .collect();
            self.cache.record_write(sector * SECTOR, before);
            for at in sector..sector + sectors {
                self.disk[at as usize] = value;
                self.may[at as usize].insert(value);
            }
        }

        fn settle(&mut self) {
            for (may, now) in self.may.iter_mut().zip(&self.disk) {
                *may = BTreeSet::from([*now]);
            }
        }

        fn cut(&mut self, random: &mut Rng) -> PowerCutLoss {
            let Self { disk, cache, .. } = self;
            let restore = |offset: u64, bytes: &[u8]| {
                assert!(offset.is_multiple_of(SECTOR) && bytes.len() as u64 == SECTOR);
                disk[(offset / SECTOR) as usize] = bytes[0];
                Ok::<(), ()>(())
            };
            cache.power_cut(random, restore).unwrap()
        }
    }

    #[test]
    fn a_settled_range_survives_every_cut() {
        for seed in 0..60 {
            let mut model = Model::new(1 << 20);
            model.write(3, 4, 7);
            model.cache.record_settled_range(4 * SECTOR, 2 * SECTOR);
            model.write(9, 1, 8);
            model.cut(&mut random(seed));
            assert_eq!(model.disk[4..6], [7, 7], "seed {seed}");
        }
        let mut empty = RevertibleWrites::new(1 << 20);
        for sector in 0..1_000 {
            empty.record_settled_range(sector * SECTOR, SECTOR);
        }
        assert!(empty.entries.is_empty() && empty.held == 0);
    }

    #[test]
    fn after_a_cut_each_sector_holds_something_that_was_written_since_the_flush_or_was_there() {
        let mut seen_lost = 0;
        for seed in 0..300 {
            let mut random = random(seed);
            let mut model = Model::new(1 << 20);
            for value in 1..40 {
                let sector = random.below(SECTORS - 8);
                let sectors = 1 + random.below(8);
                model.write(sector, sectors, value);
                if random.chance(0.1) {
                    let mark = model.cache.mark();
                    model.cache.remove_before(mark);
                    model.settle();
                }
            }
            let loss = model.cut(&mut random);
            for (sector, (may, now)) in model.may.iter().zip(&model.disk).enumerate() {
                assert!(may.contains(now), "seed {seed}, sector {sector}: {now} of {may:?}");
            }
            seen_lost += loss.ranges.len();
            assert!(model.cache.entries.is_empty() && model.cache.held == 0);
            assert_eq!(model.cut(&mut random), PowerCutLoss::default());
        }
        assert!(seen_lost > 300);
    }

    #[test]
    fn cuts_store_lose_and_tear_by_their_seed_and_the_same_seed_does_the_same() {
        let cut = |seed| {
            let mut model = Model::new(1 << 20);
            (0..8).for_each(|at| model.write(at * 8, 8, 1));
            (model.cut(&mut random(seed)), model.disk)
        };
        assert_eq!(cut(5), cut(5));
        let losses: Vec<PowerCutLoss> = (0..20).map(|seed| cut(seed).0).collect();
        let sum = |of: fn(&PowerCutLoss) -> u64| losses.iter().map(of).sum::<u64>();
        assert_eq!(sum(|loss| loss.writes), 160);
        for counted in [sum(|loss| loss.lost), sum(|loss| loss.torn)] {
            assert!((30..80).contains(&counted), "{counted}");
        }
    }

    #[test]
    fn data_beyond_the_buffer_is_stored() {
        let mut model = Model::new(4 * (SECTOR + ENTRY));
        (0..SECTORS).for_each(|at| model.write(at, 1, 1));
        assert_eq!(model.cut(&mut random(1)).writes, 4);
        assert!(model.disk[..SECTORS as usize - 4].iter().all(|now| *now == 1));
    }

    #[test]
    fn a_trimmed_range_stays_trimmed() {
        for seed in 0..50 {
            let mut model = Model::new(1 << 20);
            model.write(0, 16, 1);
            model.disk[4..8].fill(0);
            model.cache.record_settled_range(4 * SECTOR, 4 * SECTOR);
            model.write(6, 1, 2);
            model.cut(&mut random(seed));
            assert!(model.disk[4..6].iter().all(|now| *now == 0) && model.disk[7] == 0);
            assert!([0, 2].contains(&model.disk[6]));
        }
    }

    #[test]
    fn a_flush_stores_only_data_before_its_mark() {
        let mut model = Model::new(1 << 20);
        model.write(0, 1, 1);
        let mark = model.cache.mark();
        model.write(1, 1, 1);
        model.cache.remove_before(mark);
        assert_eq!(model.cut(&mut random(1)).writes, 1);
        assert_eq!(model.disk[0], 1);
    }
}

//! A simulated device in memory, for trials. Between the submission and the answer of requests, it executes them sector
//! by sector in any order. It keeps executed changes in a volatile cache until a flush.
//!
//! The device remembers every version of every sector, so that a trial can later inject a fault of a real device. For
//! example, a write is dropped by removing its versions.

use lanemark_schema::rng::Rng;

use super::unit::SECTOR;

/// A change that was requested but not yet answered.
#[derive(Clone, Debug)]
pub(super) struct InFlightWrite {
    pub(super) generation: u64,
    offset: usize,
    data: Vec<u8>,
    /// Sectors of the change that are not executed yet.
    left: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct SectorVersion {
    /// Generation of the change that wrote the version; zero for the initial content.
    pub(super) generation: u64,
    pub(super) data: Vec<u8>,
}

/// A device that remembers every version.
#[derive(Debug)]
pub(super) struct VersionedDevice {
    /// Versions of each sector, in the order in which they became visible.
    pub(super) sectors: Vec<Vec<SectorVersion>>,
    /// Number of versions of each sector that are on the media.
    kept: Vec<usize>,
    pub(super) under_way: Vec<InFlightWrite>,
}

impl VersionedDevice {
    /// Creates a device with content that no run wrote.
    pub(super) fn new(size: usize, rng: &mut Rng) -> Self {
        let former = rng.next_u64() as u8;
        let version = SectorVersion { generation: 0, data: vec![former; SECTOR] };
        let count = size / SECTOR;
        Self { sectors: vec![vec![version]; count], kept: vec![1; count], under_way: Vec::new() }
    }

    pub(super) fn ask(&mut self, generation: u64, offset: u64, data: Vec<u8>) {
        let offset = offset as usize;
        let left = (0..data.len() / SECTOR).collect();
        self.under_way.push(InFlightWrite { generation, offset, data, left });
    }

    /// Executes some sectors of a random change in flight.
    pub(super) fn execute_some(&mut self, rng: &mut Rng) {
        if self.under_way.is_empty() {
            return;
        }
        let chosen = rng.below(self.under_way.len() as u64) as usize;
        for _ in 0..=rng.below(4) {
            self.do_sector(chosen, rng);
        }
    }

    /// Executes the rest of a change, so that it can be answered.
    pub(super) fn complete(&mut self, index: usize, rng: &mut Rng) -> u64 {
        while self.do_sector(index, rng) {}
        self.give_up(index)
    }

    /// Abandons the rest of a change.
    pub(super) fn give_up(&mut self, index: usize) -> u64 {
        self.under_way.swap_remove(index).generation
    }

    fn do_sector(&mut self, index: usize, rng: &mut Rng) -> bool {
        let change = &mut self.under_way[index];
        if change.left.is_empty() {
            return false;
        }
        let sector = change.left.swap_remove(rng.below(change.left.len() as u64) as usize);
        let data = change.data[sector * SECTOR..(sector + 1) * SECTOR].to_vec();
        let version = SectorVersion { generation: change.generation, data };
        self.sectors[change.offset / SECTOR + sector].push(version);
        true
    }

    /// Moves all versions of each sector, up to the last version of a `settled` change, to the media.
    pub(super) fn keep(&mut self, settled: &dyn Fn(u64) -> bool) {
        for (kept, versions) in self.kept.iter_mut().zip(&self.sectors) {
            let last = versions.iter().rposition(|version| settled(version.generation));
            *kept = (*kept).max(last.map_or(0, |last| last + 1));
        }
    }

    /// Reduces each sector to the version on the media or to a random later version.
    pub(super) fn cut_power(&mut self, rng: &mut Rng) {
        for (kept, versions) in self.kept.iter().zip(&mut self.sectors) {
            let unsure = (versions.len() - kept) as u64;
            versions.truncate(kept + rng.below(unsure + 1) as usize);
        }
    }

    /// Returns the current content.
    pub(super) fn content(&self) -> Vec<u8> {
        let last_data = |versions: &Vec<SectorVersion>| versions[versions.len() - 1].data.clone();
        self.sectors.iter().flat_map(last_data).collect()
    }
}

//! Injects faults of a device into the data of a correct run.
//!
//! A unit is corrupted only if exactly one change may be in it, according to the run and not to the judge: a change
//! that was acknowledged, is durable if the power was cut, and came after all other changes.

use lanemark_schema::result::DamageKind;
use lanemark_schema::rng::{Rng, StreamKey};

use super::run::{GroundTruthWrite, TrialRun};
use crate::device::SectorVersion;
use crate::unit::{SECTOR, Stamp};

/// A device's content with an injected fault.
pub(super) struct FaultyContent {
    pub(super) content: Vec<u8>,
    /// The damaged units.
    pub(super) units: Vec<u32>,
    /// Kinds of damage that may be reported.
    pub(super) kinds: Vec<DamageKind>,
}

/// Returns the content of `run` with a fault of this kind, if one is possible.
pub(super) fn inject_fault(run: &TrialRun, kind: u64) -> Option<FaultyContent> {
    let rng = Rng::new(StreamKey::from_seed(run.seed ^ 0xfa17));
    let mut fault = InjectedFault { run, rng, content: run.device.content(), units: Vec::new() };
    let kinds = match kind {
        0 => fault.flip_bits(),
        1 => fault.drop_write(),
        2 => fault.bring_back_old(),
        3 => fault.misplace(),
        4 => fault.tear_write(),
        5 => fault.tear_unit(),
        6 => fault.replay(),
        _ => fault.insert_foreign_unit(),
    }?;
    fault.units.sort_unstable();
    let InjectedFault { content, units, .. } = fault;
    Some(FaultyContent { content, units, kinds })
}

struct InjectedFault<'a> {
    run: &'a TrialRun,
    rng: Rng,
    content: Vec<u8>,
    units: Vec<u32>,
}

impl InjectedFault<'_> {
    fn unit(&self) -> usize {
        self.run.header.unit as usize
    }

    fn count(&self) -> u32 {
        (self.content.len() / self.unit()) as u32
    }

    fn units_of(&self, change: &GroundTruthWrite) -> std::ops::Range<u32> {
        let first = ((change.offset - self.run.header.from) / self.unit() as u64) as u32;
        first..first + change.length / self.run.header.unit
    }

    /// Returns the change that must be in a unit, if exactly one change may be there.
    fn sole(&self, unit: u32) -> Option<u64> {
        let at = unit as usize * self.unit() / SECTOR;
        let sectors = &self.run.device.sectors[at..at + self.unit() / SECTOR];
        let generation = sectors[0].last()?.generation;
        let same =
            |one: &Vec<SectorVersion>| one.last().is_some_and(|one| one.generation == generation);
        let newest = self.run.changes.get(&generation)?;
        let cut = self.run.header.sync;
        let acknowledged = newest.acknowledged?;
        let durable =
            !cut || newest.durable || self.run.flushes.iter().any(|&flush| flush > acknowledged);
        let touching =
            self.run.changes.iter().filter(|(_, one)| self.units_of(one).contains(&unit));
        let mut others = touching.filter(|(number, _)| **number != generation);
        let before = others.all(|(_, one)| {
            one.acknowledged.is_some_and(|acknowledged| acknowledged < newest.submitted)
        });
        (durable && before && sectors.iter().all(same)).then_some(generation)
    }

    /// Returns each unit that has exactly one allowed change, paired with that change, in random order.
    fn candidates(&mut self) -> Vec<(u32, u64)> {
        let mut all: Vec<(u32, u64)> =
            (0..self.count()).filter_map(|unit| Some((unit, self.sole(unit)?))).collect();
        for last in (1..all.len()).rev() {
            all.swap(last, self.rng.below(last as u64 + 1) as usize);
        }
        all
    }

    /// Returns, in random order, each change that is the only allowed change in every unit that it covers.
    fn whole_changes(&mut self) -> Vec<u64> {
        let candidates = self.candidates();
        let whole = |generation: u64| {
            let change = &self.run.changes[&generation];
            self.units_of(change).all(|unit| self.sole(unit) == Some(generation))
        };
        let mut found: Vec<u64> = Vec::new();
        for (_, generation) in candidates {
            if !found.contains(&generation) && whole(generation) {
                found.push(generation);
            }
        }
        found
    }

    fn bytes(&mut self, unit: u32) -> &mut [u8] {
        let size = self.unit();
        &mut self.content[unit as usize * size..(unit as usize + 1) * size]
    }

    /// Replaces the content of a unit; returns false if the content is the same.
    fn put(&mut self, unit: u32, bytes: &[u8]) -> bool {
        let current = self.bytes(unit);
        let differs = current != bytes;
        current.copy_from_slice(bytes);
        if differs {
            self.units.push(unit);
        }
        differs
    }

    /// Returns the content of a unit before a change was executed, and whether one change had written the whole
    /// content.
    fn before(&self, unit: u32, generation: u64) -> Option<(Vec<u8>, bool)> {
        let at = unit as usize * self.unit() / SECTOR;
        let mut bytes = Vec::new();
        let mut writers = Vec::new();
        for versions in &self.run.device.sectors[at..at + self.unit() / SECTOR] {
            let index = versions
                .iter()
                .rposition(|is_one_writer| is_one_writer.generation == generation)?;
            let version = versions.get(index.checked_sub(1)?)?;
            bytes.extend_from_slice(&version.data);
            writers.push(version.generation);
        }
        let is_one_writer = writers.iter().all(|writer| *writer == writers[0] && *writer > 0);
        Some((bytes, is_one_writer))
    }

    fn flip_bits(&mut self) -> Option<Vec<DamageKind>> {
        let (unit, _) = *self.candidates().first()?;
        let bits = self.unit() * 8;
        let count = 1 + self.rng.below(8);
        let mut flipped: Vec<usize> = Vec::new();
        while flipped.len() < count as usize {
            let bit = self.rng.below(bits as u64) as usize;
            if !flipped.contains(&bit) {
                self.bytes(unit)[bit / 8] ^= 1 << (bit % 8);
                flipped.push(bit);
            }
        }
        self.units.push(unit);
        Some(vec![DamageKind::Corrupt])
    }

    /// Drops an acknowledged write completely.
    fn drop_write(&mut self) -> Option<Vec<DamageKind>> {
        for generation in self.whole_changes() {
            let units = self.units_of(&self.run.changes[&generation]);
            let before: Option<Vec<_>> =
                units.clone().map(|unit| self.before(unit, generation)).collect();
            let Some(before) = before else { continue };
            // Zeros that replace zeros are not a loss.
            let clear = before.iter().zip(units.clone()).all(|((bytes, one), unit)| {
                let size = self.unit();
                *one && self.content[unit as usize * size..(unit as usize + 1) * size] != **bytes
            });
            if clear {
                for ((bytes, _), unit) in before.iter().zip(units) {
                    self.put(unit, bytes);
                }
                return Some(vec![DamageKind::Lost]);
            }
        }
        None
    }

    /// Restores a version that is two or more versions older than the newest version.
    fn bring_back_old(&mut self) -> Option<Vec<DamageKind>> {
        for (unit, newest) in self.candidates() {
            let changes = &self.run.changes;
            let here: Vec<(u64, &GroundTruthWrite)> = changes
                .iter()
                .filter(|(number, one)| **number != newest && self.units_of(one).contains(&unit))
                .map(|(number, one)| (*number, one))
                .collect();
            let old = here.iter().find(|(_, one)| {
                let over = |other: &GroundTruthWrite| {
                    one.acknowledged.is_some_and(|acknowledged| acknowledged < other.submitted)
                        && other.acknowledged.is_some()
                };
                !one.trim && here.iter().any(|(_, other)| over(other))
            });
            let Some(&(generation, change)) = old else { continue };
            let alone = changes[&newest].length == self.run.header.unit;
            let bytes = self.written(unit, generation, change);
            self.put(unit, &bytes);
            return Some(if alone {
                vec![DamageKind::Stale]
            } else {
                vec![DamageKind::Stale, DamageKind::Torn]
            });
        }
        None
    }

    /// Returns the content that a unit would have if all of it came from `change`.
    fn written(&self, unit: u32, generation: u64, change: &GroundTruthWrite) -> Vec<u8> {
        let mut bytes = vec![0; self.unit()];
        let header = &self.run.header;
        let offset = header.from + u64::from(unit) * u64::from(header.unit);
        let place = (offset - change.offset) as u32;
        Stamp { run: header.run, offset, generation, place, length: change.length }
            .write(&mut bytes);
        bytes
    }

    /// Moves a write, or the start of a write, to another offset.
    fn misplace(&mut self) -> Option<Vec<DamageKind>> {
        let candidates = self.candidates();
        let (source, _) = *candidates.iter().find(|(_, number)| !self.run.changes[number].trim)?;
        let (target, _) = *candidates.iter().find(|(unit, _)| *unit != source)?;
        let bytes = self.bytes(source).to_vec();
        self.put(target, &bytes);
        Some(vec![DamageKind::Misplaced])
    }

    /// Keeps some units of a write and drops the others.
    fn tear_write(&mut self) -> Option<Vec<DamageKind>> {
        for generation in self.whole_changes() {
            let change = &self.run.changes[&generation];
            let units: Vec<u32> = self.units_of(change).collect();
            if units.len() < 2 || change.trim {
                continue;
            }
            let torn = 1 + self.rng.below(units.len() as u64 - 1) as usize;
            let units =
                if self.rng.chance(0.5) { &units[..torn] } else { &units[units.len() - torn..] };
            let before: Option<Vec<_>> =
                units.iter().map(|&unit| self.before(unit, generation)).collect();
            let Some(before) = before else { continue };
            if before.iter().all(|(_, one)| *one) {
                for ((bytes, _), &unit) in before.iter().zip(units) {
                    self.put(unit, bytes);
                }
                return Some(vec![DamageKind::Torn]);
            }
        }
        None
    }

    /// Keeps some sectors of a unit and drops the others.
    fn tear_unit(&mut self) -> Option<Vec<DamageKind>> {
        for (unit, generation) in self.candidates() {
            let sectors = self.unit() / SECTOR;
            let Some((mut bytes, one)) = self.before(unit, generation) else { continue };
            if sectors < 2 || !one || self.run.changes[&generation].trim {
                continue;
            }
            let kept = 1 + self.rng.below(sectors as u64 - 1) as usize;
            let current = self.bytes(unit).to_vec();
            let range = if self.rng.chance(0.5) { 0..kept } else { sectors - kept..sectors };
            let range = range.start * SECTOR..range.end * SECTOR;
            bytes[range.clone()].copy_from_slice(&current[range]);
            if self.put(unit, &bytes) {
                return Some(vec![DamageKind::Torn]);
            }
        }
        None
    }

    /// Executes an old write again, over newer writes.
    fn replay(&mut self) -> Option<Vec<DamageKind>> {
        for (generation, change) in &self.run.changes {
            if change.trim || self.rng.chance(0.7) {
                continue;
            }
            let all: Vec<u32> = self.units_of(change).collect();
            // The fault must cover the whole write, because content that is allowed anyway would not be a fault.
            let over: Option<Vec<u64>> = all.iter().map(|&unit| self.sole(unit)).collect();
            let Some(over) = over else { continue };
            if over.contains(generation) {
                continue;
            }
            for unit in all {
                let bytes = self.written(unit, *generation, change);
                self.put(unit, &bytes);
            }
            return Some(vec![DamageKind::Lost, DamageKind::Stale, DamageKind::Torn]);
        }
        None
    }

    /// Inserts a unit that another run wrote.
    fn insert_foreign_unit(&mut self) -> Option<Vec<DamageKind>> {
        let (unit, generation) = *self.candidates().first()?;
        let mut bytes = vec![0; self.unit()];
        let header = &self.run.header;
        let offset = header.from + u64::from(unit) * u64::from(header.unit);
        Stamp { run: header.run ^ 1, offset, generation, place: 0, length: header.unit }
            .write(&mut bytes);
        self.put(unit, &bytes);
        Some(vec![DamageKind::Foreign])
    }
}

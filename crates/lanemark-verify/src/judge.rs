//! Judges one unit: determines the data that the unit may contain, and the damage if it contains other data.
//!
//! Of the acknowledged changes to a unit, let N be the change that was **requested** last. The allowed changes are the
//! changes that had not ended when N began: N itself, any change in flight at the same time (in either order), any
//! change that was requested later, and any open change. A change that was acknowledged before N was requested is not
//! allowed. The content from before the run is allowed only if no change was acknowledged.
//!
//! If a cache may have lost its content, the same rule applies, but N is the last of the durable changes: the changes
//! that were followed by an acknowledged flush or were marked durable. Content that only this second rule allows is
//! *unflushed*.
//!
//! After concurrent requests to a unit, or a request that a power cut interrupted, the unit may contain sectors (512 B)
//! of several changes. Therefore each sector of an incomplete unit is compared with the data that each allowed change
//! would have written to it.
//!
//! A trim leaves zeros, as `fallocate` promises for files and devices. Zeros that no trim explains are *corrupt*: a
//! file that was created for the run initially contained zeros, but so does media that lost its content.

use lanemark_schema::result::{DamageKind, FoundData};
use lanemark_schema::units::Bytes;

use super::history::{Change, History};
use super::unit::{SECTOR, Stamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitVerdict {
    /// The unit contains allowed data: only data of the change with this number, or sectors of several changes.
    Intact(Option<u32>),
    /// The unit may have any content, and its content is unknown.
    Unjudged,
    /// The acknowledged change with this number is missing and was never flushed, which is allowed.
    Unflushed(u32, FoundData),
    /// The unit contains a change whose record was in the lost end of the journal.
    Unjournalled,
    Wrong(UnitDamage),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnitDamage {
    pub(super) kind: DamageKind,
    /// The number of the newest required change.
    pub(super) expected: Option<u32>,
    pub(super) found: FoundData,
}

/// Judges units according to a history.
pub(super) struct Judge<'a> {
    pub(super) history: &'a History,
    /// Whether unflushed changes may be missing.
    pub(super) volatile: bool,
}

/// The newest required change, which determines the allowed changes.
#[derive(Clone, Copy)]
struct RequiredChange<'a> {
    newest: Option<(u32, &'a Change)>,
}

impl RequiredChange<'_> {
    fn allows(&self, change: &Change) -> bool {
        self.newest.is_none_or(|(_, newest)| !change.is_before(newest))
    }

    /// Returns whether the content from before the run is allowed.
    fn allows_former(&self) -> bool {
        self.newest.is_none()
    }
}

impl Judge<'_> {
    /// Judges the unit with this number, which cannot be read. The unit is damaged unless no change was required.
    pub(super) fn unreadable(&self, number: u32) -> UnitVerdict {
        let unit = JudgedUnit { judge: self, number, offset: 0, bytes: &[] };
        if unit.firm().allows_former() {
            unit.unflushed(FoundData::Error)
        } else {
            unit.wrong(DamageKind::Unreadable, FoundData::Error)
        }
    }

    /// Judges the unit with this number, which is past the end of the target. The unit is lost unless zeros are
    /// allowed.
    pub(super) fn gone(&self, number: u32, zeros: &[u8]) -> UnitVerdict {
        match self.judge(number, zeros) {
            UnitVerdict::Wrong(wrong) => {
                UnitVerdict::Wrong(UnitDamage { kind: DamageKind::Lost, ..wrong })
            }
            allowed => allowed,
        }
    }

    /// Judges the unit with this number and the content `bytes`.
    pub(super) fn judge(&self, number: u32, bytes: &[u8]) -> UnitVerdict {
        let header = &self.history.header;
        let offset = header.from + u64::from(number) * u64::from(header.unit);
        let unit = JudgedUnit { judge: self, number, offset, bytes };
        match Stamp::read(bytes) {
            Some(stamp) if stamp.run != header.run => unit.foreign(stamp),
            Some(stamp) if stamp.offset != offset => unit.wrong(
                DamageKind::Misplaced,
                FoundData::Elsewhere {
                    offset_bytes: Bytes(stamp.offset),
                    generation: stamp.generation,
                },
            ),
            Some(stamp) => unit.stamped(stamp),
            None if bytes.iter().all(|&byte| byte == 0) => unit.zeros(),
            None => unit.by_sectors(),
        }
    }
}

/// A unit being judged.
struct JudgedUnit<'a> {
    judge: &'a Judge<'a>,
    number: u32,
    offset: u64,
    bytes: &'a [u8],
}

impl<'a> JudgedUnit<'a> {
    fn history(&self) -> &'a History {
        self.judge.history
    }

    fn changes(&self) -> impl DoubleEndedIterator<Item = (u32, &'a Change)> + Clone {
        let history = self.history();
        history.at(self.number).map(|number| (number, history.change(number)))
    }

    /// Returns the newest change whose data must be present if no change was lost.
    fn acknowledged(&self) -> RequiredChange<'a> {
        RequiredChange { newest: self.changes().rev().find(|(_, change)| change.is_acknowledged()) }
    }

    /// Returns the newest change whose data must be present in every case.
    fn firm(&self) -> RequiredChange<'a> {
        if self.judge.volatile {
            RequiredChange {
                newest: self.changes().rev().find(|(_, change)| self.history().is_durable(change)),
            }
        } else {
            self.acknowledged()
        }
    }

    /// Returns the change that was required immediately before the newest required change.
    fn previous(&self) -> RequiredChange<'a> {
        let Some((last, _)) = self.firm().newest else { return RequiredChange { newest: None } };
        let mut earlier = self.changes().rev().skip_while(|(number, _)| *number >= last);
        RequiredChange { newest: earlier.find(|(_, change)| change.is_acknowledged()) }
    }

    fn wrong(&self, kind: DamageKind, found_data: FoundData) -> UnitVerdict {
        let expected = self.firm().newest.map(|(number, _)| number);
        UnitVerdict::Wrong(UnitDamage { kind, expected, found: found_data })
    }

    /// Returns the verdict for an acknowledged change that is missing and was not flushed, which `firm` allows.
    fn unflushed(&self, found_data: FoundData) -> UnitVerdict {
        match self.acknowledged().newest {
            Some((number, _)) => UnitVerdict::Unflushed(number, found_data),
            None => UnitVerdict::Unjudged,
        }
    }

    /// Judges a complete unit with the stamp of this run and offset.
    fn stamped(&self, stamp: Stamp) -> UnitVerdict {
        let found = FoundData::Generation(stamp.generation);
        let is_stamped_change =
            |change: &Change| change.generation == stamp.generation && !change.trim;
        let Some((number, change)) = self.changes().find(|(_, change)| is_stamped_change(change))
        else {
            let later = stamp.generation > self.history().generation_last;
            return if later && self.history().tail_missing {
                UnitVerdict::Unjournalled
            } else {
                self.wrong(DamageKind::Unrecorded, found)
            };
        };
        if (stamp.place, stamp.length) != ((self.offset - change.offset) as u32, change.length) {
            self.wrong(DamageKind::Unrecorded, found)
        } else if self.acknowledged().allows(change) {
            UnitVerdict::Intact(Some(number))
        } else if self.firm().allows(change) {
            self.unflushed(found)
        } else if self.previous().allows(change) {
            self.wrong(DamageKind::Lost, found)
        } else {
            self.wrong(DamageKind::Stale, found)
        }
    }

    fn zeros(&self) -> UnitVerdict {
        let mut trims = self.changes().rev().filter(|(_, change)| change.trim);
        let acknowledged = self.acknowledged();
        let firm = self.firm();
        let previous = self.previous();
        let allowed_trim =
            |bar: &RequiredChange<'_>| trims.clone().find(|(_, change)| bar.allows(change));
        if let Some((number, _)) = allowed_trim(&acknowledged) {
            UnitVerdict::Intact(Some(number))
        } else if acknowledged.allows_former() {
            UnitVerdict::Unjudged
        } else if firm.allows_former() || allowed_trim(&firm).is_some() {
            self.unflushed(FoundData::Zeros)
        } else if previous.allows_former() || allowed_trim(&previous).is_some() {
            self.wrong(DamageKind::Lost, FoundData::Zeros)
        } else if trims.next().is_some() {
            self.wrong(DamageKind::Stale, FoundData::Zeros)
        } else {
            self.wrong(DamageKind::Corrupt, FoundData::Zeros)
        }
    }

    fn foreign(&self, stamp: Stamp) -> UnitVerdict {
        let found = FoundData::Foreign { run: stamp.run };
        if self.firm().allows_former() {
            self.unflushed(found)
        } else {
            self.wrong(DamageKind::Foreign, found)
        }
    }

    /// Judges an incomplete unit: each sector must come from an allowed change.
    fn by_sectors(&self) -> UnitVerdict {
        let sectors = self.bytes.len() / SECTOR;
        let acknowledged = self.acknowledged();
        let firm = self.firm();
        let newest = firm.newest.map(|(number, _)| number);
        // Whether each sector is allowed, is allowed if unflushed changes may be missing, and is known.
        let mut known = vec![[false; 3]; sectors];
        let mut newest_there = false;
        let mut expected = vec![0; self.bytes.len()];
        for (number, change) in self.changes() {
            self.write_expected(change, &mut expected);
            let pairs = self.bytes.chunks(SECTOR).zip(expected.chunks(SECTOR));
            for (known, (found, expected)) in known.iter_mut().zip(pairs) {
                if found == expected {
                    known[0] |= acknowledged.allows(change);
                    known[1] |= firm.allows(change);
                    known[2] = true;
                    newest_there |= newest == Some(number);
                }
            }
        }
        // Content from before the run does not contain this run's mark.
        let claimed = Stamp::claimed(self.bytes).filter(|one| one.run == self.history().header.run);
        let changed = claimed.is_some() && !known[0][2];
        let all_sectors = |which: usize| known.iter().all(|sector| sector[which]);
        if all_sectors(0) {
            UnitVerdict::Intact(None)
        } else if acknowledged.allows_former() && !changed {
            UnitVerdict::Unjudged
        } else if all_sectors(1) || (firm.allows_former() && !changed) {
            self.unflushed(FoundData::Sectors)
        } else if all_sectors(2) {
            let kind = if newest_there { DamageKind::Torn } else { DamageKind::Stale };
            self.wrong(kind, FoundData::Sectors)
        } else {
            let found = claimed.map_or(FoundData::Unknown, |stamp| {
                let generation = stamp.generation;
                FoundData::Changed { generation }
            });
            self.wrong(DamageKind::Corrupt, found)
        }
    }

    /// Writes to `bytes` the content that the unit would have if all of it came from `change`.
    fn write_expected(&self, change: &Change, bytes: &mut [u8]) {
        if change.trim {
            bytes.fill(0);
            return;
        }
        let stamp = Stamp {
            run: self.history().header.run,
            offset: self.offset,
            generation: change.generation,
            place: (self.offset - change.offset) as u32,
            length: change.length,
        };
        stamp.write(bytes);
    }
}

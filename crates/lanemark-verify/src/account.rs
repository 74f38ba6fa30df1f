//! Adds up the verdicts on all units: finds ranges with the same damage, and writes that are present only in part.

use lanemark_schema::result::{DamageKind, DamagedRange, FoundData, RequestCounts, UnitCounts};
use lanemark_schema::units::Bytes;

use super::history::History;
use super::judge::{UnitDamage, UnitVerdict};

/// Maximum number of ranges of each kind that are kept; other ranges are only counted.
const RANGES_MAX: usize = 65_536;

/// Adjacent units with the same verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VerdictRange {
    first: u32,
    count: u32,
    wrong: UnitDamage,
}

/// The verdicts so far.
pub(super) struct VerdictCounts<'a> {
    history: &'a History,
    units: UnitCounts,
    /// Number of units that contain each change.
    held: Vec<u32>,
    wrong: VerdictRanges,
    unflushed: VerdictRanges,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct VerdictSum {
    pub(super) units: UnitCounts,
    pub(super) requests: RequestCounts,
    pub(super) damage: Vec<DamagedRange>,
    pub(super) damage_more: u64,
    pub(super) unflushed: Vec<DamagedRange>,
}

#[derive(Default)]
struct VerdictRanges {
    kept: Vec<VerdictRange>,
    more: u64,
}

impl<'a> VerdictCounts<'a> {
    pub(super) fn new(history: &'a History) -> Self {
        let held = vec![0; history.changes.len()];
        Self {
            history,
            units: UnitCounts::default(),
            held,
            wrong: VerdictRanges::default(),
            unflushed: VerdictRanges::default(),
        }
    }

    /// Adds the verdict on the unit with this number; units are passed in order.
    pub(super) fn take(&mut self, number: u32, verdict: UnitVerdict) {
        let units = &mut self.units;
        units.read += 1;
        match verdict {
            UnitVerdict::Intact(change) => {
                units.intact += 1;
                match change {
                    Some(change) => self.held[change as usize] += 1,
                    None => units.mixed += 1,
                }
            }
            UnitVerdict::Unjudged => units.unjudged += 1,
            UnitVerdict::Unjournalled => units.unjournalled += 1,
            UnitVerdict::Unflushed(newest, found) => {
                units.unflushed += 1;
                self.unflushed.add(
                    number,
                    UnitDamage { kind: DamageKind::Lost, expected: Some(newest), found },
                );
            }
            UnitVerdict::Wrong(wrong) => {
                units.wrong += 1;
                self.wrong.add(number, wrong);
            }
        }
    }

    /// Adds up the verdicts. If a change is present in some units, its other units are torn.
    pub(super) fn finish(self) -> VerdictSum {
        let Self { history, units, held, wrong, unflushed } = self;
        let torn = |range: VerdictRange| {
            let late = matches!(range.wrong.kind, DamageKind::Lost | DamageKind::Stale);
            let there = range.wrong.expected.is_some_and(|change| held[change as usize] > 0);
            let kind = if late && there { DamageKind::Torn } else { range.wrong.kind };
            VerdictRange { wrong: UnitDamage { kind, ..range.wrong }, ..range }
        };
        let converted = |range: VerdictRange| {
            let unit = u64::from(history.header.unit);
            DamagedRange {
                kind: range.wrong.kind,
                offset_bytes: Bytes(history.header.from + u64::from(range.first) * unit),
                length_bytes: Bytes(u64::from(range.count) * unit),
                expected: range.wrong.expected.map(|change| history.acknowledged(change)),
                found: range.wrong.found,
            }
        };
        VerdictSum {
            units,
            requests: history.counts(&held),
            damage: wrong.kept.into_iter().map(|range| converted(torn(range))).collect(),
            damage_more: wrong.more,
            unflushed: unflushed.kept.into_iter().map(converted).collect(),
        }
    }
}

impl VerdictRanges {
    fn add(&mut self, number: u32, wrong: UnitDamage) {
        let full = self.kept.len() == RANGES_MAX;
        match self.kept.last_mut() {
            Some(last) if last.goes_on_with(number, &wrong) => last.count += 1,
            _ if full => self.more += 1,
            _ => self.kept.push(VerdictRange { first: number, count: 1, wrong }),
        }
    }
}

impl VerdictRange {
    /// Returns whether the unit extends the range.
    fn goes_on_with(&self, number: u32, wrong: &UnitDamage) -> bool {
        let length = u64::from(number - self.first);
        let alike = match (self.wrong.found, wrong.found) {
            // In a write at another offset, each unit follows the previous unit.
            (
                FoundData::Elsewhere { generation: one, .. },
                FoundData::Elsewhere { generation: other, .. },
            ) => one == other,
            (one, other) => one == other,
        };
        u64::from(self.count) == length
            && alike
            && (self.wrong.kind, self.wrong.expected) == (wrong.kind, wrong.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_continues_only_with_the_next_unit_and_the_same_damage() {
        let lost = UnitDamage {
            kind: DamageKind::Lost,
            expected: Some(3),
            found: FoundData::Generation(7),
        };
        let other = UnitDamage { found: FoundData::Generation(8), ..lost };
        let misplaced = |offset, generation| UnitDamage {
            kind: DamageKind::Lost,
            found: FoundData::Elsewhere { offset_bytes: Bytes(offset), generation },
            ..lost
        };
        for (what, first, number, next, count) in [
            ("the next unit", lost, 6, lost, 2),
            ("a gap", lost, 7, lost, 1),
            ("other data", lost, 6, other, 1),
            ("another write", lost, 6, UnitDamage { expected: Some(4), ..lost }, 1),
            ("the next part of a misplaced write", misplaced(0, 9), 6, misplaced(4096, 9), 2),
            ("another misplaced write", misplaced(0, 9), 6, misplaced(4096, 10), 1),
        ] {
            let mut ranges = VerdictRanges::default();
            ranges.add(5, first);
            ranges.add(number, next);
            assert_eq!(ranges.kept[0].count, count, "{what}");
            assert_eq!(ranges.kept.len(), 3 - count as usize, "{what}");
        }
    }
}

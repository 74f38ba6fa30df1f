//! Seeded trials: runs on a device in memory, which are judged with the journals that they leave.
//!
//! Clean trials include several threads, queue depth, overlapping changes, answers that reach the journal late, failed
//! requests, and kills and power cuts at any moment; the judge must not find damage in them. Corrupted trials also
//! include one fault; the judge must find exactly the corrupted units, with the correct kind of damage.

mod fault;
mod run;

use std::collections::BTreeMap;
use std::path::Path;

use lanemark_schema::result::DamageKind;

use super::account::{VerdictCounts, VerdictSum};
use super::error::VerifyError;
use super::history::{History, HistoryReader};
use super::journal::{read_header, read_records};
use super::judge::Judge;
use run::{RunEnd, TrialRun};

const TRIALS: u64 = 1000;

/// Reads the history in the journal bytes.
fn history(journal: &[u8], cut: bool) -> Result<History, VerifyError> {
    let mut bytes = journal;
    let path = Path::new("journal");
    let header = read_header(&mut bytes, path)?;
    let mut reading = HistoryReader::new(header, path);
    read_records(bytes, path, &header, cut, &mut |position, record| {
        reading.take(position, record)
    })?;
    Ok(reading.finish(cut && !header.sync))
}

/// Judges the content of a device with a journal.
fn judged(journal: &[u8], content: &[u8], cut: bool) -> VerdictSum {
    let history = history(journal, cut).unwrap();
    let judge = Judge { history: &history, volatile: cut };
    let mut account = VerdictCounts::new(&history);
    for (number, unit) in (0u32..).zip(content.chunks(history.header.unit as usize)) {
        account.take(number, judge.judge(number, unit));
    }
    account.finish()
}

/// Returns every damaged unit with its kind of damage.
fn wrong(sum: &VerdictSum, from: u64, unit: u64) -> BTreeMap<u32, DamageKind> {
    let mut units = BTreeMap::new();
    for damage in &sum.damage {
        let first = ((damage.offset_bytes.get() - from) / unit) as u32;
        let count = (damage.length_bytes.get() / unit) as u32;
        units.extend((first..first + count).map(|unit| (unit, damage.kind)));
    }
    units
}

#[test]
fn no_false_alarm_in_a_thousand_clean_trials() {
    let mut totals = [0u64; 5];
    for seed in 0..TRIALS {
        let end = [RunEnd::Whole, RunEnd::Kill, RunEnd::PowerCut][seed as usize % 3];
        let run = TrialRun::new(seed, end);
        let sum = judged(&run.journal, &run.device.content(), end == RunEnd::PowerCut);
        assert_eq!(sum.damage, [], "seed {seed}, {end:?}");
        let units = sum.units;
        assert_eq!(units.wrong + units.unjournalled, 0, "seed {seed}: {units:?}");
        assert!(end == RunEnd::PowerCut || units.unflushed == 0, "seed {seed}: {units:?}");
        let requests = sum.requests;
        let partly = requests.unacknowledged_partly;
        for (total, count) in totals.iter_mut().zip([
            units.read,
            units.mixed,
            units.unflushed,
            partly,
            requests.submitted - requests.acknowledged,
        ]) {
            *total += count;
        }
    }
    // The trials must cover the cases that they test.
    eprintln!("units, mixed, unflushed, partly there, unanswered: {totals:?}");
    assert!(totals.iter().all(|&total| total > 300), "{totals:?}");
}

#[test]
fn every_fault_of_a_thousand_is_found_at_its_position_with_its_kind() {
    let mut met: BTreeMap<DamageKind, u64> = BTreeMap::new();
    let mut tried = 0;
    for number in 0..TRIALS {
        let end = [RunEnd::Whole, RunEnd::Kill, RunEnd::PowerCut][(number / 8) as usize % 3];
        // Runs that do not allow a fault of this kind are skipped.
        let (run, spoilt) = (0..400)
            .find_map(|attempt| {
                tried += 1;
                let run = TrialRun::new(1_000_000 + number * 1000 + attempt, end);
                let spoilt = fault::inject_fault(&run, number % 8)?;
                Some((run, spoilt))
            })
            .unwrap_or_else(|| panic!("fault {} was possible in no run", number % 8));
        let sum = judged(&run.journal, &spoilt.content, end == RunEnd::PowerCut);
        let found = wrong(&sum, run.header.from, run.header.unit.into());
        let units: Vec<u32> = found.keys().copied().collect();
        assert_eq!(units, spoilt.units, "trial {number}, {end:?}: {:?}", sum.damage);
        for (unit, kind) in &found {
            assert!(
                spoilt.kinds.contains(kind),
                "trial {number}, {end:?}, unit {unit}: {kind:?} and not {:?}",
                spoilt.kinds
            );
            *met.entry(*kind).or_default() += 1;
        }
    }
    eprintln!("{tried} runs for {TRIALS} faults; units by kind: {met:?}");
    for (_, kind) in DamageKind::NAMES {
        let possible = !matches!(kind, DamageKind::Unrecorded | DamageKind::Unreadable);
        assert_eq!(met.contains_key(&kind), possible, "{kind:?}: {met:?}");
    }
}

mod hostile {
    //! Bytes that no run wrote.

    use super::super::journal::Header;
    use super::super::record::{Record, RecordKind};
    use super::super::unit::stamp_write;
    use super::*;
    use proptest::prelude::*;

    fn header(sync: bool) -> Header {
        Header {
            run: 5,
            unit: 512,
            from: 4096,
            to: 4096 + 16 * 512,
            begun_unix_ns: 0,
            boot: 0,
            sync,
            write_through: false,
        }
    }

    fn any_record() -> impl Strategy<Value = Record> {
        let kinds = [
            RecordKind::Write,
            RecordKind::Write,
            RecordKind::DurableWrite,
            RecordKind::Trim,
            RecordKind::Flush,
            RecordKind::Acknowledged,
            RecordKind::Acknowledged,
            RecordKind::Failed,
            RecordKind::End,
        ];
        let offset = prop_oneof![(8u64..24).prop_map(|unit| unit * 512), any::<u64>()];
        let length = prop_oneof![(1u32..5).prop_map(|units| units * 512), any::<u32>()];
        (prop::sample::select(kinds.to_vec()), 0u64..6, offset, length).prop_map(
            |(kind, generation, offset, length)| Record {
                kind,
                generation,
                offset,
                length,
                thread: 0,
                at_ns: 0,
            },
        )
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_as_a_journal_are_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..4096), cut: bool,
        ) {
            prop_assert!(history(&bytes, cut).is_err());
        }

        #[test]
        fn a_journal_that_was_damaged_or_is_nonsense_is_refused_or_read_to_its_end(
            records in prop::collection::vec(any_record(), 0..40), sync: bool, cut: bool,
            damage in prop::option::of((any::<prop::sample::Index>(), 1u8..)),
            end in any::<prop::sample::Index>(), whole: bool,
            content in prop::collection::vec(any::<u8>(), 16 * 512),
            generation in 0u64..6,
        ) {
            let header = header(sync);
            let mut bytes = header.encode().to_vec();
            for (number, record) in (0u64..).zip(&records) {
                bytes.extend(record.encode(header.run, number, number / 2));
            }
            if let Some((position, mask)) = damage {
                let position = position.index(bytes.len());
                bytes[position] ^= mask;
            }
            if !whole {
                bytes.truncate(end.index(bytes.len()));
            }
            if let Ok(history) = history(&bytes, cut) {
                prop_assert!(history.changes.len() <= records.len());
                let mut content = content;
                stamp_write(&mut content[..2048], 512, header.run, header.from, generation);
                let judge = Judge { history: &history, volatile: cut };
                let mut account = VerdictCounts::new(&history);
                for (number, unit) in (0u32..).zip(content.chunks(512)) {
                    account.take(number, judge.judge(number, unit));
                }
                let units = account.finish().units;
                let sum = units.intact + units.unjudged + units.unflushed + units.unjournalled;
                prop_assert_eq!(sum + units.wrong, 16);
            }
        }
    }

    #[test]
    fn a_journal_with_a_hole_is_refused_unless_a_cut_explains_it() {
        let record = |generation| Record {
            kind: RecordKind::Write,
            generation,
            offset: 4096,
            length: 512,
            thread: 0,
            at_ns: 0,
        };
        for (sync, cut, synced, accepted) in [
            (false, false, 0, false),
            (false, true, 0, true),
            (true, true, 0, true),
            (true, true, 2, false),
            (true, false, 2, false),
        ] {
            let header = header(sync);
            let mut bytes = header.encode().to_vec();
            bytes.extend(record(1).encode(header.run, 0, 0));
            bytes.extend([0; 48]);
            bytes.extend(record(3).encode(header.run, 2, synced));
            let history = history(&bytes, cut);
            assert_eq!(history.is_ok(), accepted, "sync {sync}, cut {cut}, synced {synced}");
            if let Ok(history) = history {
                assert_eq!(history.changes.len(), 1);
            }
        }
    }
}

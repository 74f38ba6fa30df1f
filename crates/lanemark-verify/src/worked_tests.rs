//! Tests a run whose history, verdicts and sums were worked out by hand, and the limits of journals and their records.

use std::path::Path;

use lanemark_schema::result::{
    AcknowledgedChange, DamageKind, DamagedRange, FoundData, RequestCounts, UnitCounts,
};
use lanemark_schema::units::{Bytes, Duration};

use crate::account::{VerdictCounts, VerdictSum};
use crate::error::VerifyError;
use crate::history::{History, HistoryReader};
use crate::journal::{Header, JournalEnd, read_header, read_records};
use crate::judge::{Judge, UnitDamage, UnitVerdict};
use crate::record::{RECORD, Record, RecordKind};
use crate::unit::{SECTOR, Stamp};

const UNIT: u32 = 1024;
const FROM: u64 = 4096;

/// A range of eight units of two sectors each.
const HEADER: Header = Header {
    run: 5,
    unit: UNIT,
    from: FROM,
    to: FROM + 8 * UNIT as u64,
    begun_unix_ns: 11,
    boot: 12,
    sync: false,
    write_through: false,
};

/// Returns a record about `units` units from `first`. An answer arrives at 100 ns times its generation.
fn record(kind: RecordKind, generation: u64, first: u64, units: u32) -> Record {
    Record {
        kind,
        generation,
        offset: FROM + first * u64::from(UNIT),
        length: units * UNIT,
        thread: 0,
        at_ns: 100 * generation,
    }
}

fn acknowledged(generation: u64) -> Record {
    record(RecordKind::Acknowledged, generation, 0, 0)
}

/// Returns the records of the run. Units 0 and 1 are written together and flushed; unit 0 is also written once more
/// before the flush and once after it. The writes of units 2 and 3 are never acknowledged, unit 4 is trimmed, unit 5 is
/// written durably, the write of unit 6 fails, and unit 7 is not changed.
fn records() -> Vec<Record> {
    vec![
        record(RecordKind::Write, 1, 0, 2),
        acknowledged(1),
        record(RecordKind::Write, 2, 0, 1),
        acknowledged(2),
        record(RecordKind::Flush, 3, 0, 0),
        acknowledged(3),
        record(RecordKind::Write, 4, 0, 1),
        acknowledged(4),
        record(RecordKind::Write, 5, 2, 2),
        record(RecordKind::Trim, 6, 4, 1),
        acknowledged(6),
        record(RecordKind::DurableWrite, 7, 5, 1),
        acknowledged(7),
        record(RecordKind::Write, 8, 6, 1),
        record(RecordKind::Failed, 8, 0, 0),
    ]
}

fn history(records: &[Record], tail_missing: bool) -> History {
    let mut reader = HistoryReader::new(HEADER, Path::new("journal"));
    for (position, record) in (0..).zip(records) {
        reader.take(position, *record).unwrap();
    }
    reader.finish(tail_missing)
}

/// Returns the content of a unit after a write of `units` units from unit `first`.
fn content_of(run: u64, generation: u64, unit: u64, first: u64, units: u32) -> Vec<u8> {
    let mut bytes = vec![0; UNIT as usize];
    let place = (unit - first) as u32 * UNIT;
    let offset = FROM + unit * u64::from(UNIT);
    Stamp { run, offset, generation, place, length: units * UNIT }.write(&mut bytes);
    bytes
}

fn own(generation: u64, unit: u64, first: u64, units: u32) -> Vec<u8> {
    content_of(HEADER.run, generation, unit, first, units)
}

/// Returns a unit with the first sector of one unit and the second sector of another.
fn sectors(first: &[u8], second: &[u8]) -> Vec<u8> {
    [&first[..SECTOR], &second[SECTOR..]].concat()
}

fn flipped(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    bytes[at] ^= 1;
    bytes
}

fn wrong(kind: DamageKind, expected: Option<u32>, found: FoundData) -> UnitVerdict {
    UnitVerdict::Wrong(UnitDamage { kind, expected, found })
}

#[test]
fn a_history_knows_the_changes_of_each_unit_and_their_durability() {
    let history = history(&records(), true);
    let at: Vec<Vec<u32>> = (0..9).map(|unit| history.at(unit).collect()).collect();
    assert_eq!(
        at,
        [vec![0, 1, 2], vec![0], vec![3], vec![3], vec![4], vec![5], vec![6], vec![], vec![]]
    );
    let state = |change: &crate::history::Change| {
        (change.generation, change.is_acknowledged(), history.is_durable(change))
    };
    let states: Vec<(u64, bool, bool)> = history.changes.iter().map(state).collect();
    assert_eq!(
        states,
        [
            (1, true, true),
            (2, true, true),
            (4, true, false),
            (5, false, false),
            (6, true, false),
            (7, true, true),
            (8, false, false),
        ]
    );
    assert_eq!((history.generation_last, history.ended, history.tail_missing), (8, false, true));
    let before: Vec<bool> = [(0, 1), (1, 2), (1, 1), (1, 0), (3, 4)]
        .map(|(one, other)| history.change(one).is_before(history.change(other)))
        .to_vec();
    assert_eq!(before, [true, true, false, false, false]);
    // A run that reached its end has not lost a record.
    let ended = [records(), vec![record(RecordKind::End, 0, 0, 0)]].concat();
    let ended = self::history(&ended, true);
    assert_eq!((ended.ended, ended.tail_missing), (true, false));
    // A change is absent, present in part, or completely present; a trim without an answer is not counted.
    let open = [
        record(RecordKind::Write, 1, 0, 2),
        record(RecordKind::Write, 2, 2, 2),
        record(RecordKind::Write, 3, 4, 2),
        record(RecordKind::Trim, 4, 6, 2),
    ];
    let counts = self::history(&open, false).counts(&[0, 1, 2, 0]);
    let expected = RequestCounts {
        submitted: 4,
        unacknowledged_absent: 1,
        unacknowledged_partly: 1,
        unacknowledged_whole: 1,
        ..RequestCounts::default()
    };
    assert_eq!(counts, expected);
}

/// Returns the generations of the changes that survive a loss of power.
fn durable(records: &[Record]) -> Vec<u64> {
    let history = history(records, false);
    let durable = history.changes.iter().filter(|change| history.is_durable(change));
    durable.map(|change| change.generation).collect()
}

#[test]
fn a_flush_covers_the_writes_that_were_acknowledged_before_its_request() {
    let write = |generation| record(RecordKind::Write, generation, generation, 1);
    let flush = |generation| record(RecordKind::Flush, generation, 0, 0);
    let failed = |generation| record(RecordKind::Failed, generation, 0, 0);
    // Of two crossing flushes, the one that was requested last covers more, in whichever order they end.
    let crossing = [write(1), acknowledged(1), flush(2), write(3), acknowledged(3), flush(4)];
    let ends = |first, second| [crossing.as_slice(), &[first, second]].concat();
    assert_eq!(durable(&ends(acknowledged(2), acknowledged(4))), [1, 3]);
    assert_eq!(durable(&ends(acknowledged(4), acknowledged(2))), [1, 3]);
    assert_eq!(durable(&ends(acknowledged(2), failed(4))), [1]);
    assert_eq!(durable(&ends(failed(2), acknowledged(4))), [1, 3]);
    assert_eq!(durable(&ends(failed(4), failed(2))), []);
    assert_eq!(durable(&crossing), []);
    // A write that ends while the flush is under way is not covered.
    let during = [write(1), flush(2), acknowledged(1), write(3), acknowledged(3), acknowledged(2)];
    assert_eq!(durable(&during), []);
}

#[test]
fn every_content_of_a_unit_has_its_verdict() {
    use DamageKind::{Corrupt, Foreign, Lost, Misplaced, Stale, Torn, Unrecorded};
    use FoundData::{Changed, Elsewhere, Generation, Sectors, Unknown, Zeros};
    use UnitVerdict::{Intact, Unflushed, Unjudged};
    let history = history(&records(), false);
    let first = own(1, 0, 0, 2);
    let second = own(2, 0, 0, 1);
    let third = own(4, 0, 0, 1);
    let other = own(1, 1, 0, 2);
    let durable = own(7, 5, 5, 1);
    let zeros = vec![0; UNIT as usize];
    let noise = vec![0x5a; UNIT as usize];
    let elsewhere = Elsewhere { offset_bytes: Bytes(FROM), generation: 4 };
    // Each case is a unit, its content, the verdict if caches keep their content, and the verdict if they may lose it.
    for (unit, content, kept, lost) in [
        (0, third.clone(), Intact(Some(2)), Intact(Some(2))),
        (0, second.clone(), wrong(Lost, Some(2), Generation(2)), Unflushed(2, Generation(2))),
        (
            0,
            first.clone(),
            wrong(Stale, Some(2), Generation(1)),
            wrong(Lost, Some(1), Generation(1)),
        ),
        (0, zeros.clone(), wrong(Corrupt, Some(2), Zeros), wrong(Corrupt, Some(1), Zeros)),
        (0, sectors(&third, &second), wrong(Torn, Some(2), Sectors), Unflushed(2, Sectors)),
        (
            0,
            sectors(&second, &first),
            wrong(Stale, Some(2), Sectors),
            wrong(Torn, Some(1), Sectors),
        ),
        (0, noise.clone(), wrong(Corrupt, Some(2), Unknown), wrong(Corrupt, Some(1), Unknown)),
        (1, other.clone(), Intact(Some(0)), Intact(Some(0))),
        (1, zeros.clone(), wrong(Lost, Some(0), Zeros), wrong(Lost, Some(0), Zeros)),
        (1, third, wrong(Misplaced, Some(0), elsewhere), wrong(Misplaced, Some(0), elsewhere)),
        // The position and the length of the write are wrong.
        (
            1,
            own(1, 1, 1, 2),
            wrong(Unrecorded, Some(0), Generation(1)),
            wrong(Unrecorded, Some(0), Generation(1)),
        ),
        (
            1,
            own(1, 1, 0, 3),
            wrong(Unrecorded, Some(0), Generation(1)),
            wrong(Unrecorded, Some(0), Generation(1)),
        ),
        (2, own(5, 2, 2, 2), Intact(Some(3)), Intact(Some(3))),
        (3, own(5, 3, 2, 2), Intact(Some(3)), Intact(Some(3))),
        (3, noise.clone(), Unjudged, Unjudged),
        (3, zeros.clone(), Unjudged, Unjudged),
        // The content counts as data of this run only if the first sector is changed.
        (3, flipped(own(5, 3, 2, 2), 700), Unjudged, Unjudged),
        (
            3,
            flipped(own(5, 3, 2, 2), 100),
            wrong(Corrupt, None, Changed { generation: 5 }),
            wrong(Corrupt, None, Changed { generation: 5 }),
        ),
        (4, zeros.clone(), Intact(Some(4)), Intact(Some(4))),
        (4, noise.clone(), wrong(Corrupt, Some(4), Unknown), Unflushed(4, Sectors)),
        (
            4,
            content_of(6, 6, 4, 4, 1),
            wrong(Foreign, Some(4), FoundData::Foreign { run: 6 }),
            Unflushed(4, FoundData::Foreign { run: 6 }),
        ),
        (5, durable.clone(), Intact(Some(5)), Intact(Some(5))),
        (5, zeros.clone(), wrong(Lost, Some(5), Zeros), wrong(Lost, Some(5), Zeros)),
        (
            5,
            sectors(&durable, &noise),
            wrong(Corrupt, Some(5), Changed { generation: 7 }),
            wrong(Corrupt, Some(5), Changed { generation: 7 }),
        ),
        (6, own(8, 6, 6, 1), Intact(Some(6)), Intact(Some(6))),
        (7, zeros.clone(), Unjudged, Unjudged),
        (
            7,
            own(9, 7, 7, 1),
            wrong(Unrecorded, None, Generation(9)),
            wrong(Unrecorded, None, Generation(9)),
        ),
    ] {
        for (volatile, expected) in [(false, kept), (true, lost)] {
            let found = Judge { history: &history, volatile }.judge(unit, &content);
            assert_eq!(found, expected, "unit {unit}, volatile {volatile}: {:?}", &content[..48]);
        }
    }
}

#[test]
fn units_that_cannot_be_read_and_units_beyond_the_end_have_their_verdicts() {
    use DamageKind::{Lost, Unreadable};
    let whole = history(&records(), false);
    let zeros = vec![0; UNIT as usize];
    for (unit, volatile, unreadable, gone) in [
        (
            0,
            false,
            wrong(Unreadable, Some(2), FoundData::Error),
            wrong(Lost, Some(2), FoundData::Zeros),
        ),
        (
            0,
            true,
            wrong(Unreadable, Some(1), FoundData::Error),
            wrong(Lost, Some(1), FoundData::Zeros),
        ),
        (3, false, UnitVerdict::Unjudged, UnitVerdict::Unjudged),
        (4, false, wrong(Unreadable, Some(4), FoundData::Error), UnitVerdict::Intact(Some(4))),
        (4, true, UnitVerdict::Unflushed(4, FoundData::Error), UnitVerdict::Intact(Some(4))),
        (7, true, UnitVerdict::Unjudged, UnitVerdict::Unjudged),
    ] {
        let judge = Judge { history: &whole, volatile };
        assert_eq!(judge.unreadable(unit), unreadable, "unit {unit}, volatile {volatile}");
        assert_eq!(judge.gone(unit, &zeros), gone, "unit {unit}, volatile {volatile}");
    }
    // A journal without its end may lack the record of a later change, but not of an earlier change.
    let cut = history(&records(), true);
    let judge = Judge { history: &cut, volatile: true };
    assert_eq!(judge.judge(7, &own(9, 7, 7, 1)), UnitVerdict::Unjournalled);
    let earlier = wrong(DamageKind::Unrecorded, None, FoundData::Generation(8));
    assert_eq!(judge.judge(7, &own(8, 7, 7, 1)), earlier);
}

/// Returns the sum of the verdicts on these units.
fn sum(history: &History, contents: &[Vec<u8>]) -> VerdictSum {
    let judge = Judge { history, volatile: false };
    let mut counts = VerdictCounts::new(history);
    for (number, content) in (0..).zip(contents) {
        counts.take(number, judge.judge(number, content));
    }
    counts.finish()
}

#[test]
fn verdicts_add_up_to_ranges_with_their_expected_changes() {
    let history = history(&records(), false);
    let zeros = vec![0; UNIT as usize];
    let found = sum(
        &history,
        &[
            own(4, 0, 0, 1),
            zeros.clone(),
            own(5, 2, 2, 2),
            vec![0x5a; UNIT as usize],
            zeros.clone(),
            content_of(6, 7, 5, 5, 1),
            own(8, 6, 6, 1),
            own(9, 7, 7, 1),
        ],
    );
    let change = |generation: u64, first: u64, units: u64| AcknowledgedChange {
        generation,
        offset_bytes: Bytes(FROM + first * 1024),
        length_bytes: Bytes(units * 1024),
        trim: false,
        durable: true,
        acknowledged: Duration::from_nanoseconds(100 * generation),
    };
    let damage =
        |kind: DamageKind, unit: u64, expected: Option<AcknowledgedChange>, found: FoundData| {
            let offset_bytes = Bytes(FROM + unit * 1024);
            DamagedRange { kind, offset_bytes, length_bytes: Bytes(1024), expected, found }
        };
    let expected = VerdictSum {
        units: UnitCounts { read: 8, intact: 4, unjudged: 1, wrong: 3, ..UnitCounts::default() },
        requests: RequestCounts {
            submitted: 7,
            acknowledged: 5,
            flushed: 3,
            unacknowledged_absent: 0,
            unacknowledged_partly: 1,
            unacknowledged_whole: 1,
        },
        damage: vec![
            damage(DamageKind::Lost, 1, Some(change(1, 0, 2)), FoundData::Zeros),
            damage(DamageKind::Foreign, 5, Some(change(7, 5, 1)), FoundData::Foreign { run: 6 }),
            damage(DamageKind::Unrecorded, 7, None, FoundData::Generation(9)),
        ],
        damage_more: 0,
        unflushed: Vec::new(),
    };
    assert_eq!(found, expected);

    // In a write of three units, the two missing units are torn if the third is present, and lost otherwise.
    let write = [record(RecordKind::Write, 1, 0, 3), acknowledged(1)];
    let write = self::history(&write, false);
    for (third, kind, units) in
        [(own(1, 2, 0, 3), DamageKind::Torn, 2), (zeros.clone(), DamageKind::Lost, 3)]
    {
        let found = sum(&write, &[zeros.clone(), zeros.clone(), third]);
        let ranges: Vec<(DamageKind, u64, u64)> = found
            .damage
            .iter()
            .map(|damage| (damage.kind, damage.offset_bytes.get(), damage.length_bytes.get()))
            .collect();
        assert_eq!(ranges, [(kind, FROM, units * 1024)]);
    }
}

#[test]
fn records_that_no_run_writes_are_refused_at_their_position() {
    let write =
        |offset: u64, length: u32| Record { offset, length, ..record(RecordKind::Write, 1, 0, 1) };
    for (records, accepted) in [
        (vec![write(FROM, 8 * UNIT)], true),
        (vec![write(FROM + 7 * 1024, UNIT)], true),
        (vec![write(FROM, 9 * UNIT)], false),
        (vec![write(FROM + 7 * 1024, 2 * UNIT)], false),
        (vec![write(FROM + 8 * 1024, UNIT)], false),
        (vec![write(FROM + 9 * 1024, UNIT)], false),
        (vec![write(FROM - 1024, UNIT)], false),
        (vec![write(FROM + 512, UNIT)], false),
        (vec![write(FROM, 0)], false),
        (vec![write(FROM, 512)], false),
        (vec![acknowledged(1)], false),
        (vec![record(RecordKind::Failed, 1, 0, 0)], false),
        (vec![record(RecordKind::Flush, 1, 0, 0), acknowledged(1)], true),
        (vec![record(RecordKind::Flush, 1, 0, 0), acknowledged(1), acknowledged(1)], false),
        (vec![record(RecordKind::Write, 1, 0, 1), record(RecordKind::Write, 1, 1, 1)], false),
        (vec![record(RecordKind::Write, 1, 0, 1), record(RecordKind::Flush, 1, 0, 0)], false),
        (vec![record(RecordKind::Write, 1, 0, 1), record(RecordKind::Write, 2, 0, 1)], true),
    ] {
        let mut reader = HistoryReader::new(HEADER, Path::new("journal"));
        let count = records.len() as u64;
        let mut results: Vec<Result<(), VerifyError>> =
            (0..).zip(&records).map(|(position, record)| reader.take(position, *record)).collect();
        let last = results.pop().unwrap();
        assert!(results.iter().all(Result::is_ok), "{records:?}");
        match last {
            Ok(()) => assert!(accepted, "{records:?}"),
            Err(VerifyError::JournalDamaged { record, .. }) => {
                assert!(!accepted && record == count - 1, "{records:?}");
            }
            Err(other) => panic!("{records:?}: {other}"),
        }
    }
}

#[test]
fn a_header_comes_back_and_its_values_have_their_bounds() {
    let read =
        |header: &Header| read_header(&mut header.encode().as_slice(), Path::new("journal")).ok();
    for (sync, write_through) in [(false, false), (false, true), (true, false), (true, true)] {
        let header = Header { sync, write_through, ..HEADER };
        assert_eq!(read(&header), Some(header));
    }
    let most = u64::from(u32::MAX);
    for (header, accepted) in [
        (Header { unit: 512, ..HEADER }, true),
        (Header { unit: 4096, ..HEADER }, true),
        (Header { unit: 0, ..HEADER }, false),
        (Header { unit: 256, ..HEADER }, false),
        (Header { unit: 8192, ..HEADER }, false),
        (Header { unit: 768, to: FROM + 7680, ..HEADER }, false),
        (Header { unit: 1536, to: FROM + 15_360, ..HEADER }, true),
        (Header { to: FROM, ..HEADER }, false),
        (Header { to: FROM - 1024, ..HEADER }, false),
        (Header { to: FROM + 1024, ..HEADER }, true),
        (Header { to: FROM + 1536, ..HEADER }, false),
        (Header { from: FROM + 100, to: FROM + 100 + 1024, ..HEADER }, false),
        (Header { from: FROM + 512, to: FROM + 1536, ..HEADER }, true),
        (Header { from: 0, to: (most - 1) * 1024, ..HEADER }, true),
        (Header { from: 0, to: most * 1024, ..HEADER }, false),
    ] {
        assert_eq!(read(&header), Some(header).filter(|_| accepted), "{header:?}");
    }
    let whole = HEADER.encode();
    for at in 0..whole.len() {
        let bytes = flipped(whole.to_vec(), at);
        let path = Path::new("journal");
        assert!(read_header(&mut bytes.as_slice(), path).is_err(), "byte {at}");
        assert!(read_header(&mut &whole[..at], path).is_err(), "{at} bytes");
    }
}

#[test]
fn a_journal_ends_at_its_first_invalid_record() {
    /// Returns a journal with two records, an invalid record, a later record that states `synced`, and ten more bytes.
    fn with_hole(
        sync: bool,
        cut: bool,
        synced: u64,
    ) -> Result<(Vec<u64>, JournalEnd), VerifyError> {
        let header = Header { sync, ..HEADER };
        let write = |generation: u64| record(RecordKind::Write, generation, 0, 1);
        let mut bytes = Vec::new();
        bytes.extend(write(1).encode(header.run, 0, 0));
        bytes.extend(write(2).encode(header.run, 1, 0));
        bytes.extend([0; RECORD]);
        bytes.extend(write(4).encode(header.run, 3, synced));
        bytes.extend([7; 10]);
        let mut taken = Vec::new();
        let end = read_records(
            bytes.as_slice(),
            Path::new("journal"),
            &header,
            cut,
            &mut |at, record| {
                assert_eq!(at + 1, record.generation);
                taken.push(at);
                Ok(())
            },
        )?;
        Ok((taken, end))
    }
    for (sync, cut, synced, accepted) in [
        (true, true, 0, true),
        (true, false, 2, true),
        (true, true, 3, false),
        (true, false, 3, false),
        (false, true, 3, true),
        (false, false, 0, false),
    ] {
        match with_hole(sync, cut, synced) {
            Ok((taken, end)) => {
                assert!(accepted, "sync {sync}, cut {cut}, synced {synced}");
                let tail = 2 * RECORD as u64 + 10;
                assert_eq!((taken, end), (vec![0, 1], JournalEnd { tail, records: 2 }));
            }
            Err(VerifyError::JournalDamaged { record, .. }) => {
                assert!(!accepted && record == 2, "sync {sync}, cut {cut}, synced {synced}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    for length in [0, 1, RECORD - 1, RECORD, RECORD + 1, 2 * RECORD] {
        let bytes =
            [0, 1].map(|number| acknowledged(number).encode(HEADER.run, number, 0)).concat();
        let end = read_records(
            &bytes[..length],
            Path::new("journal"),
            &HEADER,
            false,
            &mut |_, _| Ok(()),
        );
        let records = length / RECORD;
        let tail = length % RECORD;
        let wanted = JournalEnd { tail: tail as u64, records: records as u64 };
        assert_eq!(end.unwrap(), wanted, "{length} bytes");
    }
}

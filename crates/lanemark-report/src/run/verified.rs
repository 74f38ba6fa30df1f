//! The write phase of a verification, and the check of the written data, as text.
//!
//! Offsets and lengths are printed in exact bytes, for a reader who wants to examine the location.

use lanemark_schema::result::{
    AcknowledgedChange, DamageKind, DamagedRange, FoundData, InterveningEvent, VerificationResult,
    VerificationWrites, VerifyWarning,
};

use crate::terminal::{Style, TerminalText};
use crate::text::number::{ABSENT, fixed, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// Maximum number of ranges that are listed.
const SHOWN: usize = 20;

/// Writes a summary of the written data, and the command that checks it.
pub fn written_text(written: &VerificationWrites, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    let seconds = written.elapsed.as_seconds();
    let rate = written.load_bytes.get() as f64 / 1e6 / seconds.max(1e-9);
    sheet.paragraph(&format!(
        "{}: {} writes ({} MB), {} flushes and {} trims acknowledged on {}; the load itself took {} s at {} MB/s.",
        written.workload,
        written.writes,
        significant(written.written_bytes.get() as f64 / 1e6),
        written.flushes,
        written.trims,
        written.path,
        fixed(seconds, 1),
        significant(rate),
    ));
    if !written.complete {
        sheet.paragraph("The load was stopped early; the written data can still be checked.");
    }
    sheet.paragraph(&format!(
        "Check it with: lanemark verify check {} --journal {}",
        written.path, written.journal
    ));
    write_warnings(&mut sheet, &written.warnings);
    sheet.finish()
}

/// Writes the damaged ranges, and the counts of units and requests.
pub fn verified_text(verified: &VerificationResult, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.heading(&verdict(verified));
    sheet.blank();
    if !verified.damage.is_empty() {
        sheet.table(&ranges(&verified.damage));
        let more = verified.damage.len().saturating_sub(SHOWN) as u64 + verified.damage_more;
        if more > 0 {
            sheet.minor_paragraph(&format!("and {more} more ranges; --json lists them"));
        }
        sheet.blank();
        sheet.paragraph(&kinds(&verified.damage));
    }
    if !verified.unflushed.is_empty() {
        sheet.table(&ranges(&verified.unflushed));
        sheet.minor_paragraph(
            "Acknowledged, never flushed, and lost, which is allowed after a power cut:",
        );
        sheet.blank();
    }
    sheet.paragraph(&units(verified));
    sheet.paragraph(&requests(verified));
    write_warnings(&mut sheet, &verified.warnings);
    sheet.finish()
}

fn verdict(verified: &VerificationResult) -> String {
    let since = match verified.since {
        InterveningEvent::Kill => "all acknowledged data must be present",
        InterveningEvent::PowerCut if verified.volatile_cache => {
            "after a power cut, acknowledged data that was not flushed may be missing"
        }
        InterveningEvent::PowerCut => {
            "after a power cut; the device reports no volatile cache, so all acknowledged data must be present"
        }
    };
    if verified.is_intact() {
        format!("{}: intact ({since})", verified.path)
    } else {
        format!("{}: {} units are wrong ({since})", verified.path, verified.units.wrong)
    }
}

fn ranges(damage: &[DamagedRange]) -> Table {
    let mut table = Table::new(vec![
        Column::text("what"),
        Column::number("offset", "B"),
        Column::number("length", "B"),
        Column::text("acknowledged last"),
        Column::text("found"),
    ]);
    for entry in damage.iter().take(SHOWN) {
        table.push(vec![
            Cell::inked(entry.kind.name(), CellEmphasis::Warning),
            Cell::plain(entry.offset_bytes.get().to_string()),
            Cell::plain(entry.length_bytes.get().to_string()),
            Cell::plain(
                entry.expected.map_or_else(|| ABSENT.to_owned(), |entry| expected_text(&entry)),
            ),
            Cell::plain(found_data_text(entry.found)),
        ]);
    }
    table
}

fn expected_text(change: &AcknowledgedChange) -> String {
    format!(
        "{} {} at {} s, {}",
        if change.trim { "trim" } else { "write" },
        change.generation,
        fixed(change.acknowledged.as_seconds(), 3),
        if change.durable { "flushed" } else { "not flushed" },
    )
}

fn found_data_text(found_data: FoundData) -> String {
    match found_data {
        FoundData::Zeros => "zeros".to_owned(),
        FoundData::Generation(generation) => format!("write {generation}"),
        FoundData::Elsewhere { offset_bytes, generation } => {
            format!("write {generation} of {}", offset_bytes.get())
        }
        FoundData::Foreign { run } => format!("run {run:016x}"),
        FoundData::Sectors => "sectors of several writes".to_owned(),
        FoundData::Changed { generation } => format!("write {generation}, changed"),
        FoundData::Unknown => "nothing known".to_owned(),
        FoundData::Error => "a read error".to_owned(),
    }
}

/// Explains the types of damage that the table lists.
fn kinds(damage: &[DamagedRange]) -> String {
    let meaning = |kind| match kind {
        DamageKind::Lost => "the data from right before the last acknowledged write",
        DamageKind::Stale => "older than that",
        DamageKind::Torn => "only a part of the last acknowledged write is present",
        DamageKind::Misplaced => "data that belongs elsewhere",
        DamageKind::Corrupt => "data that was never written",
        DamageKind::Foreign => "data from another run",
        DamageKind::Unrecorded => "a write that the journal does not contain",
        DamageKind::Unreadable => "the device reports an error",
    };
    let there =
        DamageKind::NAMES.iter().filter(|(_, kind)| damage.iter().any(|entry| entry.kind == *kind));
    let meanings: Vec<String> =
        there.map(|(name, kind)| format!("{name}: {}", meaning(*kind))).collect();
    meanings.join("; ")
}

fn units(verified: &VerificationResult) -> String {
    let units = &verified.units;
    let mut text = format!(
        "Of {} units of {} B, {} are correct",
        units.read,
        verified.unit_bytes.get(),
        units.intact
    );
    for (count, what) in [
        (units.mixed, "mixed by concurrent writes"),
        (units.unflushed, "lost without a flush, which is allowed"),
        (units.unjournalled, "whose writes were recorded in the missing tail of the journal"),
        (units.unjudged, "without an acknowledged write"),
        (units.wrong, "wrong"),
    ] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text + "."
}

fn requests(verified: &VerificationResult) -> String {
    let requests = &verified.requests;
    let open = requests.submitted - requests.acknowledged;
    let mut text = format!(
        "Of {} writes and trims, {} were acknowledged, {} of those then flushed",
        requests.submitted, requests.acknowledged, requests.flushed
    );
    if open > 0 {
        text += &format!(
            "; of {open} not acknowledged, {} are present in full, {} in part, {} not at all",
            requests.unacknowledged_whole,
            requests.unacknowledged_partly,
            requests.unacknowledged_absent
        );
    }
    text + "."
}

fn write_warnings(sheet: &mut TerminalText, warnings: &[VerifyWarning]) {
    if !warnings.is_empty() {
        sheet.blank();
    }
    for warning in warnings {
        sheet.item("! ", &warning.text(), CellEmphasis::Warning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::result::{RequestCounts, UnitCounts};
    use lanemark_schema::units::{Bytes, Duration};

    #[test]
    fn damage_is_reported_with_its_offset_and_its_write() {
        let write = AcknowledgedChange {
            generation: 77,
            offset_bytes: Bytes(8192),
            length_bytes: Bytes(4096),
            trim: false,
            durable: true,
            acknowledged: Duration::from_microseconds(1_500_000),
        };
        let damage = DamagedRange {
            kind: DamageKind::Lost,
            offset_bytes: Bytes(8192),
            length_bytes: Bytes(4096),
            expected: Some(write),
            found: FoundData::Generation(12),
        };
        let verified = VerificationResult {
            path: "/dev/sdz".to_owned(),
            journal: "journal".to_owned(),
            run: 1,
            begun_unix_s: 0,
            unit_bytes: Bytes(4096),
            since: InterveningEvent::Kill,
            volatile_cache: false,
            units: UnitCounts { read: 10, intact: 9, wrong: 1, ..UnitCounts::default() },
            requests: RequestCounts { submitted: 90, acknowledged: 88, ..RequestCounts::default() },
            damage: vec![damage],
            damage_more: 0,
            unflushed: Vec::new(),
            warnings: vec![VerifyWarning::NotEnded],
        };
        let text = verified_text(&verified, &Style { width: 100, colour: false });
        for part in
            ["1 units are wrong", "write 77 at 1.500 s, flushed", "write 12", "8,192", "lost:"]
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(text.contains("of 2 not acknowledged"), "{text}");
        let all = RequestCounts { submitted: 88, acknowledged: 88, ..RequestCounts::default() };
        let sound = VerificationResult { damage: Vec::new(), requests: all, ..verified };
        let text = verified_text(&sound, &Style { width: 100, colour: false });
        assert!(!text.contains("not acknowledged"), "{text}");
        assert!(verified_text(&sound, &Style { width: 100, colour: false }).contains("intact"));
    }
}

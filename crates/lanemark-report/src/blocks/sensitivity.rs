//! The bottleneck of a test as text: the gain from doubling the speed of each hop, and from doubling the load.
//!
//! The text shows the values of the result, in which gains that are classified as noise are already zero.

use lanemark_schema::result::{ChangeGain, RunResult, Sensitivity, SystemChange};

use crate::terminal::{Style, TerminalText};
use crate::text::block::Block;
use crate::text::number::{ABSENT, fixed, or_absent, percent_whole};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// Writes the bottlenecks of all tests of several systems, one line each; empty if no run contains them.
pub fn bottlenecks(systems: &[(&str, &RunResult)], style: &Style) -> String {
    let mut table = Table::new(vec![
        Column::name("system"),
        Column::name("test"),
        Column::text("bottleneck"),
        Column::number("busy", "").optional(2),
        Column::number("hop x2", ""),
        Column::number("queue x2", ""),
    ]);
    for (label, run) in systems {
        let mut repeated = false;
        for test in &run.tests {
            let Some(sensitivity) = &test.sensitivity else { continue };
            let most = sensitivity.bottleneck();
            let depth = sensitivity.load().find(|gain| gain.id == SystemChange::QueueDepth);
            table.push(vec![
                Cell::plain(*label).repeating(repeated),
                Cell::plain(&test.test.name),
                Cell::strong(most.map_or("no single hop", |gain| &gain.hop)),
                Cell::plain(or_absent(most.and_then(|gain| gain.utilisation), percent_whole)),
                Cell::plain(or_absent(most.map(|gain| gain.throughput_gain), signed)),
                Cell::plain(or_absent(depth.map(|gain| gain.throughput_gain), signed)),
            ]);
            repeated = true;
        }
    }
    if table.rows.is_empty() {
        return String::new();
    }
    let mut sheet = TerminalText::new(style);
    sheet.heading("Bottlenecks: the gain from doubling the speed of one hop");
    sheet.blank();
    sheet.table(&table);
    sheet.finish()
}

/// Returns the bottleneck of a test as a sentence, and all gains as a table.
pub(crate) fn blocks(sensitivity: &Sensitivity) -> [Block<'_>; 2] {
    [Block::Text(sentence(sensitivity)), Block::Table("Gains", table(sensitivity))]
}

/// Returns a sentence such as `SATA 6 Gb/s, 97% busy: a link twice as fast would change the throughput by +85%; twice
/// the queue depth +0%`.
pub(crate) fn sentence(sensitivity: &Sensitivity) -> String {
    let load: Vec<String> = sensitivity
        .load()
        .map(|gain| format!("twice the {} {}", gain.hop, signed(gain.throughput_gain)))
        .collect();
    let load = if load.is_empty() { String::new() } else { format!("; {}", load.join(", ")) };
    let Some(most) = sensitivity.bottleneck() else {
        return format!(
            "No single hop is the bottleneck: doubling the speed of any hop gains less than 1%{load}."
        );
    };
    let busy =
        most.utilisation.map_or(String::new(), |share| format!(", {} busy", percent_whole(share)));
    let given = if most.throughput_gain > 0.0 {
        format!("would change the throughput by {}", signed(most.throughput_gain))
    } else {
        format!("would reduce the latency by {}", percent_whole(most.latency_gain))
    };
    format!("{}{busy}: {} {given}{load}.", most.hop, most.change)
}

/// Builds the table of all gains; the bottleneck is highlighted.
fn table(sensitivity: &Sensitivity) -> Table {
    let mut table = Table::new(vec![
        Column::name("changed"),
        Column::name("to"),
        Column::number("busy", "").optional(1),
        Column::number("throughput", ""),
        Column::number("latency", ""),
    ]);
    let mut ruled = false;
    for (index, gain) in sensitivity.gains.iter().enumerate() {
        let ink = if sensitivity.bottleneck == Some(index) {
            CellEmphasis::Strong
        } else {
            CellEmphasis::Plain
        };
        let cells = [
            label(sensitivity, index),
            gain.change.clone(),
            or_absent(gain.utilisation, percent_whole),
            signed(gain.throughput_gain),
            latency(gain),
        ];
        let cells = cells.map(|text| Cell::inked(text, ink)).to_vec();
        if gain.id.is_load() && !ruled {
            table.push_ruled(cells);
        } else {
            table.push(cells);
        }
        ruled |= gain.id.is_load();
    }
    table
}

/// Returns a hop's name, with a number if an earlier hop has the same name.
pub(crate) fn label(sensitivity: &Sensitivity, index: usize) -> String {
    let name = &sensitivity.gains[index].hop;
    match sensitivity.gains[..index].iter().filter(|gain| gain.hop == *name).count() {
        0 => name.clone(),
        before => format!("{name} ({})", before + 1),
    }
}

/// Formats the change of the mean latency.
pub(crate) fn latency(gain: &ChangeGain) -> String {
    signed(-gain.latency_gain)
}

/// Formats a gain as a whole percentage with its sign; `+0%` means no gain.
pub(crate) fn signed(gain: f64) -> String {
    if !gain.is_finite() {
        return ABSENT.to_owned();
    }
    match fixed(gain * 100.0, 0) {
        text if text.starts_with('-') => format!("{text}%"),
        text => format!("+{text}%"),
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::HopId;

    use super::*;

    fn gain(
        hop: &str,
        change: &str,
        load: bool,
        throughput_gain: f64,
        latency_gain: f64,
    ) -> ChangeGain {
        let utilisation = (!load).then_some(0.97);
        let id = if load { SystemChange::QueueDepth } else { SystemChange::Hop(HopId::Link(0)) };
        ChangeGain {
            id,
            hop: hop.to_owned(),
            change: change.to_owned(),
            utilisation,
            throughput_gain,
            latency_gain,
        }
    }

    #[test]
    fn the_sentence_names_hop_change_and_load() {
        let link = gain("SATA 6 Gb/s", "a link twice as fast", false, 0.852, 0.46);
        let depth = gain("queue depth", "64 in place of 32", true, 0.0, -1.0);
        let text = sentence(&Sensitivity::new(vec![link.clone(), depth.clone()]));
        assert_eq!(
            text,
            "SATA 6 Gb/s, 97% busy: a link twice as fast would change the throughput by +85%; twice the queue depth +0%."
        );
        let timed = ChangeGain { throughput_gain: 0.0, ..link };
        let text = sentence(&Sensitivity::new(vec![timed]));
        assert_eq!(
            text,
            "SATA 6 Gb/s, 97% busy: a link twice as fast would reduce the latency by 46%."
        );
        let none = sentence(&Sensitivity::new(vec![depth]));
        assert!(none.starts_with("No single hop"), "{none}");
    }

    #[test]
    fn a_gain_has_a_sign() {
        assert_eq!([0.0, 0.004, 1.18, -0.031].map(signed), ["+0%", "+0%", "+118%", "-3%"]);
        assert_eq!(signed(-0.001), "+0%");
    }
}

//! The comparison of another path with the present path.

use lanemark_schema::result::{WhatIf, WhatIfFigures, WhatIfTest};

use crate::Style;
use crate::number::{ABSENT, fixed, is_wide, percent_signed, percent_whole, significant};
use crate::path::lost;
use crate::run_table::widest_of;
use crate::table::{Cell, Column, Ink, Table};
use crate::terminal::Sheet;
use crate::test_detail::path_limit;

/// Writes both systems test by test, and the bottleneck of each.
pub fn whatif_text(whatif: &WhatIf, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    match whatif.other == whatif.present {
        true => sheet.heading(&format!("{} with other values", whatif.other)),
        false => sheet.heading(&format!("{} instead of {}", whatif.other, whatif.present)),
    }
    for changed in &whatif.changed {
        sheet.item("SystemChange: ", changed, Ink::Plain);
    }
    sheet.blank();
    if let Some(answer) = unchanged(whatif) {
        sheet.paragraph(answer);
        sheet.blank();
    }
    let measured = whatif.measured.is_some();
    let mut columns = vec![Column::name("test")];
    if measured {
        columns.push(Column::number("measured", ""));
    }
    columns.extend([
        Column::number("model now", ""),
        Column::number("then", ""),
        Column::text("unit"),
        Column::number("change", ""),
        Column::text("80% in").optional(1),
        Column::number("mean now", "us"),
        Column::number("then", "us"),
    ]);
    let mut table = Table::new(columns);
    for test in &whatif.tests {
        table.push(cells(test, measured));
    }
    sheet.table(&table.without_empty_columns());
    sheet.blank();
    for test in &whatif.tests {
        sheet.item("- ", &told(test), Ink::Plain);
    }
    if let Some(name) = &whatif.measured {
        let scaled = |test: &&WhatIfTest| test.carried.is_some();
        sheet.blank();
        sheet.paragraph(&match whatif.tests.iter().filter(scaled).count() {
            0 => format!("The limit of every test moves to a part that was not measured, so \"then\" is the model's figure and does not use the measured one ({name})."),
            _ => format!(
                "\"then\" is the model's figure times measured ({name}) over modelled now, which \
                 removes the error of the present system's model, limited by the other links. For \
                 five or more tests that differ only in depth and threads, this correction is a \
                 smooth mean. If the limit moves to a part of the path that limited no such test, \
                 \"then\" is the model's figure."
            ),
        });
    }
    if let Some(widest) = widest(whatif) {
        sheet.blank();
        sheet.paragraph(&widest);
    }
    let shortened = whatif.tests.iter().filter_map(|test| test.shortened_to);
    if let Some(most) = shortened.clone().max() {
        let (count, all) = (shortened.count(), whatif.tests.len());
        sheet.paragraph(&format!(
            "{count} of {all} tests were simulated in shortened form, with at most {most} counted requests."
        ));
    }
    sheet.finish()
}

/// Returns the answer if nothing changes: no test gains or loses enough to be shown, in throughput or in mean latency.
fn unchanged(whatif: &WhatIf) -> Option<&'static str> {
    let is_same = |test: &WhatIfTest| {
        let (now, then) = (&test.present, &test.other);
        let waits = then.latency_mean_ns / now.latency_mean_ns - 1.0;
        [test.change(), waits].iter().all(|change| percent_whole(change.abs()) == "0%")
    };
    if whatif.tests.is_empty() || !whatif.tests.iter().all(is_same) {
        return None;
    }
    Some(match whatif.other == whatif.present && whatif.changed.is_empty() {
        true => "Nothing changes: both are the same system with the same values.",
        false => "Nothing changes: no test gains or loses as much as 0.5%.",
    })
}

fn cells(test: &WhatIfTest, measured: bool) -> Vec<Cell> {
    let rate = |bytes: f64, iops: f64| match test.random {
        true => fixed(iops, 0),
        false => significant(bytes / 1e6),
    };
    let of = |outlook: &WhatIfFigures| rate(outlook.bytes_per_second, outlook.iops);
    let us = |outlook: &WhatIfFigures| significant(outlook.latency_mean_ns / 1e3);
    let mut cells = vec![Cell::plain(&test.test)];
    if measured {
        let told = test.measured.as_ref().map(of);
        cells.push(Cell::plain(told.unwrap_or_else(|| ABSENT.to_owned())));
    }
    let expected = test.expected();
    // Requests have the same size on both systems, so their rate is proportional to the data rate.
    let requests = test.other.iops * expected / test.other.bytes_per_second;
    let inside = test.interval.as_ref().map_or(ABSENT.to_owned(), |interval| {
        let at = |ratio: f64| rate(expected * ratio, requests * ratio);
        let mark = if is_wide(interval.low_ratio, interval.high_ratio) { " !" } else { "" };
        format!("{}–{}{mark}", at(interval.low_ratio), at(interval.high_ratio))
    });
    cells.extend([
        Cell::plain(of(&test.present)),
        Cell::strong(rate(expected, requests)),
        Cell::inked(if test.random { "IOPS" } else { "MB/s" }, Ink::Faint),
        Cell::strong(percent_signed(test.change())),
        Cell::inked(inside, Ink::Faint),
        Cell::plain(us(&test.present)),
        Cell::plain(us(&test.other)),
    ]);
    cells
}

/// `SEQ1M Q8T1 read: you lose 41%. Now … Then … You lose 41% to DMI 3.0, which 2 drives share: …`
fn told(test: &WhatIfTest) -> String {
    let change = test.change();
    let answer = match percent_whole(change.abs()) {
        none if none == "0%" || !change.is_finite() => "you neither gain nor lose".to_owned(),
        share if change > 0.0 => format!("you gain {share}"),
        share => format!("you lose {share}"),
    };
    let mut text = format!("{}: {answer}.", test.test);
    if let Some(assumed) = &test.other.assumed {
        text += &format!(" It is then {assumed}; {}.", assumed.advice());
    }
    for (when, outlook) in [("Now", &test.present), ("Then", &test.other)] {
        let limit = outlook.path.as_ref().and_then(path_limit);
        let limit = limit.unwrap_or_else(|| "its hops are not known".to_owned());
        text += &format!(" {when}: {limit}.");
    }
    if let Some(loss) = test.other.path.as_ref().and_then(|path| path.loss.as_ref()) {
        text += &format!(" {}", lost(loss, test.random));
    }
    text
}

/// Names the value that widens the intervals most, in a sentence.
fn widest(whatif: &WhatIf) -> Option<String> {
    widest_of(whatif.tests.iter().filter_map(|test| test.interval.as_ref()))
}

//! The comparison of another path with the present one.

use lanemark_core::result::{Outlook, WhatIf, WhatIfTest};

use crate::Style;
use crate::number::{ABSENT, percent_signed, percent_whole, significant};
use crate::run_table::widest_of;
use crate::table::{Cell, Column, Ink, Table};
use crate::terminal::Sheet;

/// Utilisation from which on the busiest hop is called the bottleneck.
const BUSY: f64 = 0.8;

/// Writes both systems test by test, and the bottleneck of each.
pub fn whatif_text(whatif: &WhatIf, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(&format!("{} instead of {}", whatif.other, whatif.present));
    sheet.blank();
    let measured = whatif.measured.is_some();
    let mut columns = vec![Column::name("test")];
    if measured {
        columns.push(Column::number("measured", "MB/s"));
    }
    columns.extend([
        Column::number("model now", "MB/s"),
        Column::number("then", "MB/s"),
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
        sheet.item("- ", &bottleneck(test), Ink::Faint);
    }
    if let Some(name) = &whatif.measured {
        let scaled = |test: &&WhatIfTest| test.measured.is_some() && test.limit_stays();
        sheet.blank();
        sheet.paragraph(&match whatif.tests.iter().filter(scaled).count() {
            0 => format!("The limit of every test moves, so \"then\" is the model's figure and not the measured one ({name})."),
            _ => format!(
                "\"then\" is the measured figure ({name}) times the ratio of both models, which takes out the error of the \
                 present system's model, and at most what the other links carry. Where the limit moves from one part of \
                 the path to another it is the model's figure."
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
            "{count} of {all} tests were simulated shortened, to at most {most} requests that count."
        ));
    }
    sheet.finish()
}

fn cells(test: &WhatIfTest, measured: bool) -> Vec<Cell> {
    let megabytes = |bytes: f64| significant(bytes / 1e6);
    let us = |outlook: &Outlook| significant(outlook.latency_mean_ns / 1e3);
    let mut cells = vec![Cell::plain(&test.test)];
    if measured {
        let told = test.measured.as_ref().map(|one| megabytes(one.bytes_per_second));
        cells.push(Cell::plain(told.unwrap_or_else(|| ABSENT.to_owned())));
    }
    let expected = test.expected();
    let inside = test.interval.as_ref().map_or(ABSENT.to_owned(), |interval| {
        let at = |ratio: f64| megabytes(expected * ratio);
        format!("{}–{}", at(interval.low_ratio), at(interval.high_ratio))
    });
    cells.extend([
        Cell::plain(megabytes(test.present.bytes_per_second)),
        Cell::strong(megabytes(expected)),
        Cell::strong(percent_signed(test.change())),
        Cell::inked(inside, Ink::Faint),
        Cell::plain(us(&test.present)),
        Cell::plain(us(&test.other)),
    ]);
    cells
}

/// `SEQ1M Q8T1 read: now SATA 6 Gb/s is the limit (97% busy); then data path is the limit (100% busy)`
fn bottleneck(test: &WhatIfTest) -> String {
    let told = |outlook: &Outlook| match &outlook.busiest {
        Some((hop, busy)) if *busy >= BUSY => {
            format!("{hop} limits ({} busy)", percent_whole(*busy))
        }
        Some((hop, busy)) => {
            format!("no hop is busy, the most is {hop} ({})", percent_whole(*busy))
        }
        None => "nothing is known of its hops".to_owned(),
    };
    format!("{}: now {}; then {}", test.test, told(&test.present), told(&test.other))
}

/// Returns the value that widens the intervals most, in a sentence.
fn widest(whatif: &WhatIf) -> Option<String> {
    widest_of(whatif.tests.iter().filter_map(|test| test.interval.as_ref()))
}

//! A plan with all its steps, and the interfaces that carry a stream.

use lanemark_plan::{Carrier, Plan};

use crate::terminal::{Style, TerminalText};
use crate::text::number::significant;
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// Writes the answer of a plan, its steps, and the effects that it omits.
pub fn plan_text(plan: &Plan, carriers: &[Carrier], style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&plan.answer);
    sheet.heading(&plan.question);
    sheet.blank();
    let mut table = Table::new(vec![
        Column::name("step"),
        Column::text("from"),
        Column::number("is", ""),
        Column::text("unit"),
    ]);
    for step in &plan.steps {
        table.push(vec![
            Cell::plain(&step.name),
            Cell::inked(&step.formula, CellEmphasis::Faint),
            Cell::strong(whole_or_significant(step.value)),
            Cell::plain(&step.unit),
        ]);
    }
    sheet.table(&table);
    sheet.blank();
    if !carriers.is_empty() {
        sheet.table(&interfaces(carriers));
        sheet.blank();
    }
    let examples = "These values were not given; the document's example values are used:";
    let lists = [
        ("Based on:", &plan.sources),
        (examples, &plan.of_example),
        ("Not included:", &plan.left_out),
    ];
    for (index, (title, items)) in lists.iter().filter(|(_, items)| !items.is_empty()).enumerate() {
        if index > 0 {
            sheet.blank();
        }
        sheet.paragraph(title);
        for item in items.iter() {
            sheet.item("- ", item, CellEmphasis::Faint);
        }
    }
    sheet.finish()
}

/// Builds the table of the slowest interface that carries the stream, all slower interfaces, and a few faster
/// interfaces.
fn interfaces(carriers: &[Carrier]) -> Table {
    let mut table = Table::new(vec![
        Column::name("interface"),
        Column::number("carries", "MB/s"),
        Column::number("streams", ""),
        Column::text(""),
    ]);
    for carrier in carriers {
        let whole = carrier.streams.floor();
        table.push(vec![
            Cell::plain(&carrier.name),
            Cell::plain(significant(carrier.rate.as_megabytes())),
            Cell::strong(format!("{whole:.0}")),
            Cell::plain(if whole >= 1.0 { "carries it" } else { "too slow" }),
        ]);
    }
    table
}

fn whole_or_significant(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        significant(value)
    }
}

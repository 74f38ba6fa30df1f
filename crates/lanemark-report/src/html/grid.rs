//! A [`Table`] as an HTML table that scrolls by itself where the page is narrow.
//!
//! Numbers stand at their points by figure spaces, which are as wide as a digit. All columns are shown;
//! names are not shortened.

use maud::{Markup, html};

use crate::number::grouped;
use crate::table::{Cell, Column, ColumnKind, Ink, Row, Table, point};

/// A space as wide as a digit.
const FIGURE_SPACE: char = '\u{2007}';
/// A space as wide as a point.
const PUNCTUATION_SPACE: char = '\u{2008}';

/// Columns from the last on that a table can say to have text.
const COUNTED: usize = 12;

/// `table` under the name `label`, which is read out and not shown.
pub(crate) fn grid(table: &Table, label: &str) -> Markup {
    let tails: Vec<String> = (0..table.columns.len()).map(|column| tail(table, column)).collect();
    let texts: Vec<Option<String>> =
        (0..table.columns.len()).map(|column| text_class(table, column)).collect();
    let said = texts.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    html! {
        div class="scroll" role="region" aria-label=(label) tabindex="0" {
            table class=[(!said.is_empty()).then_some(said)] {
                thead { tr { @for column in &table.columns { (header(column)) } } }
                tbody {
                    @for (index, row) in table.rows.iter().enumerate() {
                        (body_row(table, index, row, (&tails, &texts)))
                    }
                }
            }
        }
    }
}

/// Returns the text with the signs that type has and terminals may not: for our own words, not for names.
pub(crate) fn typeset(text: &str) -> String {
    match text {
        "us" => "µs".to_owned(),
        _ => text.replace("10^6", "10⁶").replace(", us", ", µs"),
    }
}

fn header(column: &Column) -> Markup {
    let number = column.kind == ColumnKind::Number;
    html! {
        th scope="col" class=[number.then_some("number")] {
            (column.name.replace('\n', " "))
            @if !column.unit.is_empty() { span class="unit" { (typeset(column.unit)) } }
        }
    }
}

fn body_row(
    table: &Table,
    index: usize,
    row: &Row,
    (tails, texts): (&[String], &[Option<String>]),
) -> Markup {
    html! {
        tr {
            @for (column, cell) in row.cells.iter().enumerate() {
                @if !cell.repeated {
                    @let rows = span(table, index, column);
                    @let rowspan = (rows > 1).then(|| rows.to_string());
                    @if column == 0 {
                        th scope=(if rows > 1 { "rowgroup" } else { "row" }) rowspan=[rowspan]
                            class=[class(cell, false)] { (inked(cell, &cell.text)) }
                    } @else if table.columns[column].kind == ColumnKind::Number {
                        td rowspan=[rowspan] class=[class(cell, false)] {
                            (inked(cell, &aligned(&cell.text, &tails[column])))
                        }
                    } @else {
                        td rowspan=[rowspan] class=[class(cell, texts[column].is_none())] { (inked(cell, &cell.text)) }
                    }
                }
            }
        }
    }
}

/// The class by which a table says that the column, counted from the last, has text: its cells then need not. None where
/// cells are left out behind it, so that they cannot be counted.
fn text_class(table: &Table, column: usize) -> Option<String> {
    let left = table.columns.len() - column;
    let whole = |row: &Row| row.cells[column + 1..].iter().all(|cell| !cell.repeated);
    let is_text = table.columns[column].kind != ColumnKind::Number;
    (column > 0 && is_text && left <= COUNTED && table.rows.iter().all(whole))
        .then(|| format!("text{left}"))
}

/// The text of a cell, which is strong where it matters.
fn inked(cell: &Cell, text: &str) -> Markup {
    html! { @if cell.ink == Ink::Strong { b { (text) } } @else { (text) } }
}

/// The class of a cell. Numbers are most and have none.
fn class(cell: &Cell, text: bool) -> Option<String> {
    let ink = match cell.ink {
        Ink::Plain | Ink::Strong => None,
        Ink::Faint => Some("faint"),
        Ink::Doubt => Some("doubt"),
    };
    let classes: Vec<&str> = text.then_some("text").into_iter().chain(ink).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// Returns the number of rows that the cell stands for: itself and those below that repeat it.
fn span(table: &Table, index: usize, column: usize) -> usize {
    1 + table.rows[index + 1..].iter().take_while(|row| row.cells[column].repeated).count()
}

/// The longest part from the point on of any number in the column.
fn tail(table: &Table, column: usize) -> String {
    let tails =
        table.rows.iter().map(|row| &row.cells[column].text).map(|text| &text[point(text)..]);
    tails.max_by_key(|tail| tail.chars().count()).unwrap_or("").to_owned()
}

/// `text` padded to where the column's longest number ends, with a true minus sign.
fn aligned(text: &str, longest: &str) -> String {
    let own = text[point(text)..].chars().count();
    let padding = longest.chars().skip(own).map(|character| match character {
        '.' => PUNCTUATION_SPACE,
        _ => FIGURE_SPACE,
    });
    // Without a point of its own the number lacks the column's, which is narrower than a digit.
    let padding: String = if own == 0 && longest.starts_with('.') {
        std::iter::once(PUNCTUATION_SPACE)
            .chain(longest.chars().skip(1).map(|_| FIGURE_SPACE))
            .collect()
    } else {
        padding.collect()
    };
    format!("{}{padding}", grouped(text).replace('-', "−"))
}

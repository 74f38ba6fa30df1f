//! A [`Table`] as an HTML table that scrolls separately if the page is narrow.
//!
//! Numbers are aligned at their decimal points with figure spaces, which are as wide as a digit. All columns are shown;
//! names are not shortened.

use maud::{Markup, html};

use crate::number::grouped;
use crate::table::{Cell, CellEmphasis, Column, ColumnKind, Row, Table, point};

/// A space as wide as a digit.
const FIGURE_SPACE: char = '\u{2007}';
/// A space as wide as a decimal point.
const PUNCTUATION_SPACE: char = '\u{2008}';

/// Number of columns, counted from the last, that a table can mark as text.
const COUNTED: usize = 12;

/// Writes `table` under the name `label`, which is read out and not shown.
pub(crate) fn grid(table: &Table, label: &str) -> Markup {
    let tails: Vec<String> = (0..table.columns.len()).map(|column| tail(table, column)).collect();
    let texts: Vec<Option<String>> =
        (0..table.columns.len()).map(|column| text_class(table, column)).collect();
    let classes = texts.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    html! {
        div class="scroll" role="region" aria-label=(label) tabindex="0" {
            table class=[(!classes.is_empty()).then_some(classes)] {
                thead { tr { @for column in &table.columns { (header(column)) } } }
                tbody {
                    @for (index, row) in table.rows.iter().enumerate() {
                        (body_row(table, index, row, &tails, &texts))
                    }
                }
            }
        }
    }
}

/// Replaces plain signs with typographic signs that a terminal may not display. Only this crate's text is changed, not
/// names.
pub(crate) fn typeset(text: &str) -> String {
    text.replace("10^6", "10⁶")
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
    tails: &[String],
    texts: &[Option<String>],
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

/// Returns the class with which a table marks a column as text, so that the column's cells need no class. Columns are
/// counted from the last. Returns `None` if cells after the column are omitted, because it cannot be counted then.
fn text_class(table: &Table, column: usize) -> Option<String> {
    let left = table.columns.len() - column;
    let whole = |row: &Row| row.cells[column + 1..].iter().all(|cell| !cell.repeated);
    let is_text = table.columns[column].kind != ColumnKind::Number;
    (column > 0 && is_text && left <= COUNTED && table.rows.iter().all(whole))
        .then(|| format!("text{left}"))
}

/// Writes the text of a cell, strong if it is important.
fn inked(cell: &Cell, text: &str) -> Markup {
    html! { @if cell.ink == CellEmphasis::Strong { b { (text) } } @else { (text) } }
}

/// Returns the class of a cell. Most cells are numbers and have no class.
fn class(cell: &Cell, text: bool) -> Option<String> {
    let ink = match cell.ink {
        CellEmphasis::Plain | CellEmphasis::Strong => None,
        CellEmphasis::Faint => Some("faint"),
        CellEmphasis::Warning => Some("warning"),
    };
    let classes: Vec<&str> = text.then_some("text").into_iter().chain(ink).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// Returns the number of rows that the cell spans: itself and the cells below that repeat it.
fn span(table: &Table, index: usize, column: usize) -> usize {
    1 + table.rows[index + 1..].iter().take_while(|row| row.cells[column].repeated).count()
}

/// Returns the longest fractional part, including the point, of any number in the column.
fn tail(table: &Table, column: usize) -> String {
    let tails =
        table.rows.iter().map(|row| &row.cells[column].text).map(|text| &text[point(text)..]);
    tails.max_by_key(|tail| tail.chars().count()).unwrap_or("").to_owned()
}

/// Pads `text` to the end of the column's longest number, and writes a true minus sign.
fn aligned(text: &str, longest: &str) -> String {
    let decimals = text[point(text)..].chars().count();
    let padding = longest.chars().skip(decimals).map(|character| match character {
        '.' => PUNCTUATION_SPACE,
        _ => FIGURE_SPACE,
    });
    // A number without a point must also be padded for the point, which is narrower than a digit.
    let padding: String = if decimals == 0 && longest.starts_with('.') {
        std::iter::once(PUNCTUATION_SPACE)
            .chain(longest.chars().skip(1).map(|_| FIGURE_SPACE))
            .collect()
    } else {
        padding.collect()
    };
    format!("{}{padding}", grouped(text).replace('-', "−"))
}

//! A [`Table`] as an HTML table that scrolls on its own if the page is narrow.
//!
//! Numbers are aligned at their decimal points with figure spaces, which are as wide as a digit. All columns are shown,
//! and names are not shortened.

use maud::{Markup, html};

use crate::text::number::grouped;
use crate::text::table::{Cell, CellEmphasis, Column, ColumnKind, Row, Table, point};

/// A space as wide as a digit.
const FIGURE_SPACE: char = '\u{2007}';
/// A space as wide as a decimal point.
const PUNCTUATION_SPACE: char = '\u{2008}';

/// Number of columns, counted from the last, that a table's class can mark as text.
const COUNTED: usize = 12;

/// Writes `table` with the name `label`, which screen readers read out and the page does not show.
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

/// Replaces plain signs with typographic signs that a terminal may not display. Only text of this crate is changed;
/// names are not.
pub(crate) fn typeset(text: &str) -> String {
    text.replace("10^6", "10⁶")
}

fn header(column: &Column) -> Markup {
    let number = column.kind == ColumnKind::Number;
    if column.name.is_empty() && column.unit.is_empty() {
        // A screen reader would announce an empty heading.
        return html! { td {} };
    }
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
                            class=[class(cell, false)] { (emphasised(cell, &cell.text)) }
                    } @else if table.columns[column].kind == ColumnKind::Number {
                        td rowspan=[rowspan] class=[class(cell, false)] {
                            (emphasised(cell, &aligned_number(&cell.text, &tails[column])))
                        }
                    } @else {
                        td rowspan=[rowspan] class=[class(cell, texts[column].is_none())] { (emphasised(cell, &cell.text)) }
                    }
                }
            }
        }
    }
}

/// Returns the class with which a table marks a column as text, so that the cells of the column do not need a class.
/// Columns are counted from the last. Returns `None` if a row omits cells after the column, because the column cannot
/// be counted then.
fn text_class(table: &Table, column: usize) -> Option<String> {
    let left = table.columns.len() - column;
    let whole = |row: &Row| row.cells[column + 1..].iter().all(|cell| !cell.repeated);
    let is_text = table.columns[column].kind != ColumnKind::Number;
    (column > 0 && is_text && left <= COUNTED && table.rows.iter().all(whole))
        .then(|| format!("text{left}"))
}

/// Writes the text of a cell, in bold if the cell is important.
fn emphasised(cell: &Cell, text: &str) -> Markup {
    html! { @if cell.ink == CellEmphasis::Strong { b { (text) } } @else { (text) } }
}

/// Returns the class of a cell; `None` for a plain number, which is the most frequent kind of cell.
fn class(cell: &Cell, text: bool) -> Option<String> {
    let ink = match cell.ink {
        CellEmphasis::Plain | CellEmphasis::Strong => None,
        CellEmphasis::Faint => Some("faint"),
        CellEmphasis::Warning => Some("warning"),
    };
    let classes: Vec<&str> = text.then_some("text").into_iter().chain(ink).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// Returns the number of rows that the cell spans: its own row, and the rows below in which it is repeated.
fn span(table: &Table, index: usize, column: usize) -> usize {
    1 + table.rows[index + 1..].iter().take_while(|row| row.cells[column].repeated).count()
}

/// Returns the longest fractional part of any number in the column, including the point.
fn tail(table: &Table, column: usize) -> String {
    let tails =
        table.rows.iter().map(|row| &row.cells[column].text).map(|text| &text[point(text)..]);
    tails.max_by_key(|tail| tail.chars().count()).unwrap_or("").to_owned()
}

/// Pads `text` to the length of the column's longest fractional part, and writes a true minus sign.
fn aligned_number(text: &str, longest: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 3]]) -> Table {
        let columns =
            vec![Column::name("name"), Column::number("rate", "MB/s"), Column::text("note")];
        let mut table = Table::new(columns);
        for row in rows {
            table.push(row.iter().map(|text| Cell::plain(*text)).collect());
        }
        table
    }

    #[test]
    fn numbers_are_padded_to_the_longest_fraction_of_their_column() {
        let table = table(&[["a", "12.5", ""], ["b", "-3", ""], ["c", "1234.125", ""]]);
        assert_eq!((tail(&table, 1).as_str(), tail(&table, 0).as_str()), (".125", ""));
        // The padding is a figure space per digit, and a narrower space for the point.
        for (text, wanted) in [
            ("12.5", "12.5\u{2007}\u{2007}"),
            ("-3", "−3\u{2008}\u{2007}\u{2007}\u{2007}"),
            ("1234.125", "1,234.125"),
        ] {
            assert_eq!(aligned_number(text, ".125"), wanted, "{text}");
        }
        assert_eq!(aligned_number("7", ""), "7");
    }

    #[test]
    fn repeated_cells_are_joined_into_the_cell_above() {
        let mut table =
            table(&[["a", "1", "x"], ["a", "2", "x"], ["a", "3", "y"], ["b", "4", "y"]]);
        for row in [1, 2] {
            table.rows[row].cells[0].repeated = true;
        }
        assert_eq!([0, 1, 2, 3].map(|row| span(&table, row, 0)), [3, 2, 1, 1]);
        assert_eq!(span(&table, 0, 1), 1);
        let text = grid(&table, "L").into_string();
        assert_eq!(text.matches("<tr>").count(), 5);
        assert_eq!(
            text.matches("<th scope=\"rowgroup\" rowspan=\"3\">a</th>").count(),
            1,
            "{text}"
        );
        assert_eq!(text.matches("<th scope=\"row\">b</th>").count(), 1, "{text}");
        assert!(text.contains("role=\"region\" aria-label=\"L\""), "{text}");
        assert!(text.contains(
            "<th scope=\"col\" class=\"number\">rate<span class=\"unit\">MB/s</span></th>"
        ));
        // The last column is text for the whole table, so its cells do not have a class.
        assert!(text.contains("<table class=\"text1\">") && text.contains("<td>x</td>"), "{text}");
        table.rows[1].cells[2].repeated = true;
        assert_eq!(text_class(&table, 2).as_deref(), Some("text1"));
        assert_eq!([0, 1].map(|column| text_class(&table, column)), [None, None]);
    }

    #[test]
    fn a_column_before_omitted_cells_marks_its_cells() {
        let columns = vec![Column::name("name"), Column::text("note"), Column::text("more")];
        let mut table = Table::new(columns);
        for _ in 0..2 {
            table.push(["a", "b", "c"].map(Cell::plain).into());
        }
        assert_eq!(text_class(&table, 1).as_deref(), Some("text2"));
        table.rows[1].cells[2].repeated = true;
        assert_eq!(text_class(&table, 1), None);
        let text = grid(&table, "L").into_string();
        assert!(text.contains("<td class=\"text\">b</td>"), "{text}");
        assert!(text.contains("<td rowspan=\"2\">c</td>"), "{text}");
        let wide = |count: usize| {
            let columns = (0..count).map(|_| Column::text("note")).collect();
            text_class(&Table::new(columns), 1)
        };
        assert_eq!((wide(13).as_deref(), wide(14)), (Some("text12"), None));
    }

    #[test]
    fn inks_are_classes_and_strong_cells_are_bold() {
        let cell = |ink| Cell::inked("t", ink);
        for (ink, plain, text) in [
            (CellEmphasis::Plain, None, Some("text")),
            (CellEmphasis::Strong, None, Some("text")),
            (CellEmphasis::Faint, Some("faint"), Some("text faint")),
            (CellEmphasis::Warning, Some("warning"), Some("text warning")),
        ] {
            assert_eq!(class(&cell(ink), false).as_deref(), plain);
            assert_eq!(class(&cell(ink), true).as_deref(), text);
        }
        assert_eq!(emphasised(&cell(CellEmphasis::Strong), "t").into_string(), "<b>t</b>");
        assert_eq!(emphasised(&cell(CellEmphasis::Faint), "t").into_string(), "t");
        assert_eq!(typeset("10^6 IOPS"), "10⁶ IOPS");
    }
}

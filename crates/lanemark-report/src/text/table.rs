//! A table that both views draw: columns with one unit each, and rows of cells, each cell with its importance.
//!
//! A table does not contain a layout: [`crate::terminal`] computes widths, and [`crate::html`] writes markup.

use super::number::{ABSENT, NO_SPREAD, grouped};

/// Rows under named columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) kind: ColumnKind,
    /// Rank among the optional columns. If a table is too wide, the column with the highest rank is omitted first; a
    /// column of rank 0 is never omitted.
    pub(crate) optional: u8,
}

/// The type of a column's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Names, which may be shortened.
    Name,
    /// Text that is never shortened.
    Text,
    /// Numbers, aligned at their points.
    Number,
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// Whether a line separates the row from the row above.
    pub(crate) ruled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) ink: CellEmphasis,
    /// Whether the content equals the content of the cell above.
    pub(crate) repeated: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CellEmphasis {
    #[default]
    Plain,
    Strong,
    Faint,
    /// A value that a reader should distrust.
    Warning,
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row, which must have a cell for each column.
    pub(crate) fn push(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(Row { cells, ruled: false });
    }

    /// Adds a row below a line.
    pub(crate) fn push_ruled(&mut self, cells: Vec<Cell>) {
        self.push(cells);
        if let Some(row) = self.rows.last_mut() {
            row.ruled = true;
        }
    }

    /// Removes the columns that contain no information: each of their cells is empty, absent, or a spread below the
    /// shown digits. The first column contains the names of the rows and is never removed.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        if self.rows.is_empty() {
            return self;
        }
        let is_silent = |cell: &Cell| [ABSENT, NO_SPREAD, ""].contains(&cell.text.trim());
        let silent = |index: usize| self.rows.iter().all(|row| is_silent(&row.cells[index]));
        let kept: Vec<bool> =
            (0..self.columns.len()).map(|index| index == 0 || !silent(index)).collect();
        let mut keep = kept.iter();
        self.columns.retain(|_| *keep.next().unwrap_or(&true));
        for row in &mut self.rows {
            let mut keep = kept.iter();
            row.cells.retain(|_| *keep.next().unwrap_or(&true));
        }
        self
    }

    /// Adds commas between the thousands of all numbers.
    pub(crate) fn with_grouped_numbers(mut self) -> Self {
        for row in &mut self.rows {
            for (cell, column) in row.cells.iter_mut().zip(&self.columns) {
                if column.kind == ColumnKind::Number {
                    cell.text = grouped(&cell.text);
                }
            }
        }
        self
    }
}

impl Column {
    fn new(name: &str, unit: &'static str, kind: ColumnKind) -> Self {
        Self { name: name.to_owned(), unit, kind, optional: 0 }
    }

    pub(crate) fn name(name: &str) -> Self {
        Self::new(name, "", ColumnKind::Name)
    }

    /// Creates a column of short text.
    pub(crate) fn text(name: &str) -> Self {
        Self::new(name, "", ColumnKind::Text)
    }

    /// Creates a column of numbers in `unit`.
    pub(crate) fn number(name: &str, unit: &'static str) -> Self {
        Self::new(name, unit, ColumnKind::Number)
    }

    /// Makes the column optional. If a table is too wide, optional columns are omitted, beginning with the highest
    /// `rank`.
    pub(crate) fn optional(self, rank: u8) -> Self {
        Self { optional: rank, ..self }
    }
}

impl Cell {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::inked(text, CellEmphasis::Plain)
    }

    pub(crate) fn strong(text: impl Into<String>) -> Self {
        Self::inked(text, CellEmphasis::Strong)
    }

    pub(crate) fn inked(text: impl Into<String>, ink: CellEmphasis) -> Self {
        Self { text: text.into(), ink, repeated: false }
    }

    /// Marks the cell as a repetition of the cell above if `repeated` is true.
    pub(crate) fn repeating(self, repeated: bool) -> Self {
        Self { repeated, ..self }
    }
}

/// Returns the end of the integer part of a number: its point, or the end of its last digit. The rest is padded to the
/// same length in the whole column, so that decimal points are aligned.
pub(crate) fn point(text: &str) -> usize {
    let after_digits = || text.rfind(|c: char| c.is_ascii_digit()).map(|last| last + 1);
    // A dash is aligned with the last digit of the integer part.
    text.find('.').or_else(after_digits).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_breaks_at_its_point_or_after_its_digits() {
        for (text, tail) in [("37.2", ".2"), ("1610", ""), ("(+4%)", "%)"), ("–", ""), ("", "")] {
            assert_eq!(&text[point(text)..], tail);
        }
    }

    #[test]
    fn columns_that_say_nothing_go_and_the_names_stay() {
        let names = ["name", "rate", "spread", "error", "mark", "few"];
        let mut table = Table::new(names.map(|name| Column::number(name, "")).to_vec());
        for few in [ABSENT, "±1.0%"] {
            table.push(["", "1", NO_SPREAD, ABSENT, "", few].map(Cell::plain).to_vec());
        }
        let table = table.without_empty_columns();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["name", "rate", "few"]);
        assert!(table.rows.iter().all(|row| row.cells.len() == 3));
    }
}

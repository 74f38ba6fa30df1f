//! Terminal text: headings, wrapped paragraphs and aligned tables within a width.
//!
//! If a table is too wide, its names are shortened first; then optional columns are omitted, and listed below the
//! table. Names that shortening would make equal continue on the next line instead. Lines do not have trailing spaces.
//! Control characters in names are replaced, so a result file cannot write escape sequences to a terminal.

mod sparkline;
mod style;
pub(crate) mod warnings;

use std::borrow::Cow;
use std::collections::BTreeSet;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::text::block::Block;
use crate::text::table::{Cell, CellEmphasis, Column, ColumnKind, Table, point};
use sparkline::sparkline;

pub use style::Style;

/// Minimum width at which a table is readable.
const WIDTH_MIN: usize = 60;
/// Minimum width of a name as long as there are optional columns that can be omitted.
const NAME_FAIR: usize = 14;
/// Minimum width of a name.
const NAME_MIN: usize = 3;
/// Number of spaces between two columns of a table.
const GAP: usize = 2;

/// Terminal text under construction.
pub(crate) struct TerminalText {
    text: String,
    width: usize,
    colour: bool,
}

/// The columns of a table that fit, and the width of each.
struct TableLayout {
    kept: Vec<usize>,
    widths: Vec<usize>,
    /// For each column, the maximum length of a number after its integer part.
    tails: Vec<usize>,
}

impl TerminalText {
    pub(crate) fn new(style: &Style) -> Self {
        Self { text: String::new(), width: style.width.max(WIDTH_MIN), colour: style.colour }
    }

    /// Returns the maximum number of columns in a line.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Writes the answer, followed by an empty line.
    pub(crate) fn answer(&mut self, text: &str) {
        self.wrapped(text, "", "", CellEmphasis::Strong);
        self.blank();
    }

    /// Writes a heading line.
    pub(crate) fn heading(&mut self, text: &str) {
        self.wrapped(text, "", "", CellEmphasis::Strong);
    }

    /// Writes a paragraph over the full width.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.wrapped(text, "", "", CellEmphasis::Plain);
    }

    /// Writes a paragraph of lower importance.
    pub(crate) fn minor_paragraph(&mut self, text: &str) {
        self.wrapped(text, "", "", CellEmphasis::Faint);
    }

    /// Writes a paragraph after `mark`; the later lines are aligned with the text in the first line.
    pub(crate) fn item(&mut self, mark: &str, text: &str, ink: CellEmphasis) {
        let indent = " ".repeat(mark.width());
        self.wrapped(text, mark, &indent, ink);
    }

    /// Writes an empty line.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes an empty line, unless the text is empty or ends with an empty line.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.blank();
        }
    }

    /// Writes groups of blocks, with an empty line after each group, and around tables.
    pub(crate) fn blocks(&mut self, groups: &[Vec<Block<'_>>]) {
        for group in groups {
            group.iter().for_each(|block| self.block(block));
            self.gap();
        }
    }

    fn block(&mut self, block: &Block<'_>) {
        match block {
            Block::Text(text) => self.paragraph(text),
            Block::List(items) => {
                items.iter().for_each(|item| self.item("- ", item, CellEmphasis::Faint));
            }
            Block::Table(_, table) => {
                self.gap();
                self.table(table);
                self.gap();
            }
            Block::Rates(series) => {
                self.gap();
                let bars = sparkline(series, self.width);
                bars.iter().for_each(|bars| self.paragraph(bars));
            }
        }
    }

    /// Writes a table without its empty columns, followed by the names of the columns that did not fit.
    pub(crate) fn table(&mut self, table: &Table) {
        let table = &table.clone().without_empty_columns().with_grouped_numbers();
        let layout = TableLayout::fit(table, self.width);
        for line in header_lines(table, &layout) {
            self.line(&[(line, CellEmphasis::Faint)]);
        }
        self.rule(&layout);
        for row in &table.rows {
            if row.ruled {
                self.rule(&layout);
            }
            let cells: Vec<Vec<String>> = (0..layout.kept.len())
                .map(|column| layout.lines(table, &row.cells[layout.kept[column]], column))
                .collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let piece = |column: usize| {
                    let text = cells[column].get(line).map_or("", String::as_str);
                    layout.padded(table, text, &row.cells[layout.kept[column]], column)
                };
                let pieces: Vec<(String, CellEmphasis)> = (0..cells.len()).map(piece).collect();
                self.line(&pieces);
            }
        }
        let dropped: Vec<String> = (0..table.columns.len())
            .filter(|index| !layout.kept.contains(index))
            .map(|index| table.columns[index].name.replace('\n', " "))
            .collect();
        if !dropped.is_empty() {
            self.minor_paragraph(&format!("no room for: {}", dropped.join(", ")));
        }
    }

    /// Returns the text, which ends with exactly one newline.
    pub(crate) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text.push('\n');
        self.text
    }

    fn rule(&mut self, layout: &TableLayout) {
        let width = layout.total();
        self.line(&[("─".repeat(width), CellEmphasis::Faint)]);
    }

    fn wrapped(&mut self, text: &str, first: &str, rest: &str, ink: CellEmphasis) {
        let room = self.width.saturating_sub(first.width()).max(1);
        for (index, line) in wrap(&without_styles(text), room).into_iter().enumerate() {
            let indent = if index == 0 { first } else { rest };
            self.line(&[(indent.to_owned(), CellEmphasis::Faint), (line, ink)]);
        }
    }

    /// Writes one line that consists of pieces, without trailing spaces inside or outside coloured text.
    pub(crate) fn line(&mut self, pieces: &[(String, CellEmphasis)]) {
        let end = pieces.iter().rposition(|(text, _)| !text.trim_end().is_empty());
        for (index, (text, ink)) in pieces.iter().enumerate().take(end.map_or(0, |end| end + 1)) {
            let visible = if Some(index) == end { text.trim_end() } else { text.as_str() };
            let body = visible.trim_start_matches(' ');
            let tail = body.trim_end_matches(' ');
            self.text.push_str(&visible[..visible.len() - body.len()]);
            match code(*ink) {
                Some(code) if self.colour && !tail.is_empty() => {
                    self.text.push_str(&format!("\x1b[{code}m{tail}\x1b[0m"));
                }
                _ => self.text.push_str(tail),
            }
            self.text.push_str(&body[tail.len()..]);
        }
        self.text.push('\n');
    }
}

/// Writes a paragraph over the full width.
pub fn paragraph(text: &str, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.paragraph(text);
    sheet.finish()
}

/// Writes a table of figures. The first column contains names and the last column text; the columns between them
/// contain numbers. A row that contains only a name is a heading.
pub fn figure_rows(columns: &[&str], rows: &[Vec<String>], style: &Style) -> String {
    let last = columns.len().saturating_sub(1);
    let column = |(index, name): (usize, &&str)| match index {
        0 => Column::name(name),
        index if index == last => Column::text(name),
        _ => Column::number(name, ""),
    };
    let mut table = Table::new(columns.iter().enumerate().map(column).collect());
    for row in rows {
        let cell = |index: usize| Cell::plain(row.get(index).map_or("", String::as_str));
        table.push((0..columns.len()).map(cell).collect());
    }
    let mut sheet = TerminalText::new(style);
    sheet.table(&table);
    sheet.finish()
}

impl TableLayout {
    /// Returns the first layout that fits: the complete table, then shorter names, then fewer columns.
    fn fit(table: &Table, width: usize) -> Self {
        let mut ranks: Vec<u8> = table.columns.iter().map(|column| column.optional).collect();
        ranks.sort_unstable();
        ranks.dedup();
        for rank in ranks.iter().rev() {
            let layout = Self::natural(table, *rank).shortened(table, width, NAME_FAIR);
            if layout.total() <= width {
                return layout;
            }
        }
        Self::natural(table, 0).shortened(table, width, NAME_MIN)
    }

    fn natural(table: &Table, rank_max: u8) -> Self {
        let kept: Vec<usize> = (0..table.columns.len())
            .filter(|&index| table.columns[index].optional <= rank_max)
            .collect();
        let tails: Vec<usize> = kept.iter().map(|&index| tail_width(table, index)).collect();
        let widths = kept
            .iter()
            .zip(&tails)
            .map(|(&index, &tail)| {
                let cells = table.rows.iter().map(|row| &row.cells[index]);
                let body = match table.columns[index].kind {
                    ColumnKind::Number => {
                        tail + cells.map(|cell| whole(&cell.text).width()).max().unwrap_or(0)
                    }
                    ColumnKind::Name | ColumnKind::Text => {
                        cells.map(|cell| without_styles(&cell.text).width()).max().unwrap_or(0)
                    }
                };
                body.max(
                    header(&table.columns[index])
                        .iter()
                        .map(|line| line.width())
                        .max()
                        .unwrap_or(0),
                )
            })
            .collect();
        Self { kept, widths, tails }
    }

    /// Returns the layout with the longest names shortened until the table fits, or until no name is longer than
    /// `least`.
    fn shortened(mut self, table: &Table, width: usize, least: usize) -> Self {
        while self.total() > width {
            let longest = (0..self.kept.len())
                .filter(|&index| table.columns[self.kept[index]].kind == ColumnKind::Name)
                .max_by_key(|&index| self.widths[index]);
            match longest {
                Some(index) if self.widths[index] > least => self.widths[index] -= 1,
                _ => break,
            }
        }
        self
    }

    fn total(&self) -> usize {
        self.widths.iter().sum::<usize>() + GAP * self.widths.len().saturating_sub(1)
    }

    /// Returns whether two names in the column at `index` would become equal if they were shortened to its width.
    fn is_ambiguous(&self, table: &Table, index: usize) -> bool {
        let texts = table.rows.iter().map(|row| row.cells[self.kept[index]].text.as_str());
        let names: BTreeSet<&str> = texts.collect();
        let short: BTreeSet<String> =
            names.iter().map(|name| shorten(&without_styles(name), self.widths[index])).collect();
        short.len() < names.len()
    }

    /// Returns the lines of a cell in the column at `index`: one line, unless the shortened name would equal another
    /// row's name.
    fn lines(&self, table: &Table, cell: &Cell, index: usize) -> Vec<String> {
        let width = self.widths[index];
        let text = without_styles(&cell.text);
        match table.columns[self.kept[index]].kind {
            _ if cell.repeated => vec![String::new()],
            ColumnKind::Name if text.width() > width && self.is_ambiguous(table, index) => {
                wrap(&text, width)
            }
            ColumnKind::Name | ColumnKind::Text => vec![shorten(&text, width)],
            ColumnKind::Number => vec![text],
        }
    }

    /// Returns a padded line of a cell in the column at `index`, preceded by the gap.
    fn padded(
        &self,
        table: &Table,
        text: &str,
        cell: &Cell,
        index: usize,
    ) -> (String, CellEmphasis) {
        let width = self.widths[index];
        let gap = if index == 0 { 0 } else { GAP };
        let padded = match table.columns[self.kept[index]].kind {
            ColumnKind::Number => {
                let tail = text[point(text)..].width();
                let text = format!("{text}{}", " ".repeat(self.tails[index].saturating_sub(tail)));
                pad_left(&text, width + gap)
            }
            ColumnKind::Name | ColumnKind::Text => {
                format!("{}{}", " ".repeat(gap), pad_right(text, width))
            }
        };
        (padded, cell.ink)
    }
}

/// Returns the lines of all column headers: first the names, then the units in the last line.
fn header_lines(table: &Table, layout: &TableLayout) -> Vec<String> {
    let headers: Vec<Vec<String>> =
        layout.kept.iter().map(|&index| header(&table.columns[index])).collect();
    let height = headers.iter().map(Vec::len).max().unwrap_or(0);
    (0..height)
        .map(|line| {
            let mut text = String::new();
            for (column, lines) in headers.iter().enumerate() {
                let gap = if column == 0 { 0 } else { GAP };
                let above = height - lines.len();
                let name = line.checked_sub(above).map_or("", |line| lines[line].as_str());
                let width = layout.widths[column];
                text.push_str(&match table.columns[layout.kept[column]].kind {
                    ColumnKind::Number => pad_left(name, width + gap),
                    ColumnKind::Name | ColumnKind::Text => {
                        format!("{}{}", " ".repeat(gap), pad_right(&shorten(name, width), width))
                    }
                });
            }
            text
        })
        .collect()
}

fn header(column: &Column) -> Vec<String> {
    let mut lines: Vec<String> = column.name.split('\n').map(without_styles).collect();
    if !column.unit.is_empty() {
        lines.push(column.unit.to_owned());
    }
    lines
}

fn tail_width(table: &Table, index: usize) -> usize {
    if table.columns[index].kind != ColumnKind::Number {
        return 0;
    }
    let tails = table.rows.iter().map(|row| &row.cells[index].text);
    tails.map(|text| text[point(text)..].width()).max().unwrap_or(0)
}

fn whole(text: &str) -> &str {
    &text[..point(text)]
}

fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Cuts `text` to `width` columns by omitting its middle, because names that begin alike differ at their ends.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let kept_width = width.saturating_sub(1);
    let start = cut_to_width(text, kept_width.div_ceil(2));
    let mut end = text.len();
    for (index, character) in text.char_indices().rev() {
        if text[index..].width() + start.width() > kept_width {
            break;
        }
        // A combining mark does not occupy a column and belongs to the character before it.
        if character.width() != Some(0) {
            end = index;
        }
    }
    format!("{}…{}", start.trim_end(), text[end..].trim_start())
}

/// Returns the longest prefix of `text` that fits into `width` columns.
fn cut_to_width(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (index, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > width {
            return &text[..index];
        }
    }
    text
}

/// Returns the options for wrapping text into lines of up to `width` columns: lines break at spaces, and a word that is
/// too long is split.
pub(crate) fn lines_of(width: usize) -> Options<'static> {
    Options::new(width)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
}

/// Wraps `text` into lines of up to `width` columns, with single spaces between words.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    textwrap::wrap(&words, lines_of(width)).into_iter().map(Cow::into_owned).collect()
}

/// Removes the characters of `text` that control a terminal or change the writing direction.
pub(crate) fn without_styles(text: &str) -> String {
    lanemark_schema::text::shown(text).into_owned()
}

fn code(ink: CellEmphasis) -> Option<&'static str> {
    match ink {
        CellEmphasis::Plain => None,
        CellEmphasis::Strong => Some("1"),
        CellEmphasis::Faint => Some("2"),
        CellEmphasis::Warning => Some("33"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_and_long_words_break() {
        assert_eq!(wrap("aa bb ccccccc d", 5), ["aa bb", "ccccc", "cc d"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn names_are_cut_by_columns_not_bytes() {
        assert_eq!(shorten("Plextor M6e in slot", 13), "Plexto…n slot");
        assert_eq!(shorten("Plextor M6e über alles", 9), "Plex…lles");
        assert_eq!(shorten("数据读取", 5), "数…取");
        assert_eq!(shorten("short", 5), "short");
    }

    #[test]
    fn names_that_would_be_shortened_alike_continue_on_the_next_line() {
        let name = |depth: u32| format!("RND4K Q{depth}T1 on a long path read");
        let mut table = Table::new(vec![Column::name("test"), Column::number("MB/s", "")]);
        for depth in [32, 12] {
            table.push(vec![Cell::plain(name(depth)), Cell::plain("x".repeat(45))]);
        }
        let drawn = |table: &Table| {
            let mut sheet = TerminalText::new(&Style { width: 60, colour: false });
            sheet.table(table);
            sheet.finish()
        };
        let text = drawn(&table);
        let lines: Vec<&str> =
            text.lines().skip(2).map(|line| &line[..13.min(line.len())]).collect();
        assert_eq!(lines[..3], ["RND4K Q32T1  ", "on a long", "path read"], "{text}");
        assert!(text.lines().all(|line| line.width() <= 60) && !text.contains('…'), "{text}");
        // A shortened name that is still distinct may be used.
        table.rows.pop();
        assert!(drawn(&table).contains('…'), "{}", drawn(&table));
    }

    #[test]
    fn colour_encloses_text_and_no_spaces() {
        let mut sheet = TerminalText::new(&Style { width: 80, colour: true });
        sheet.line(&[
            ("  a ".to_owned(), CellEmphasis::Strong),
            ("  ".to_owned(), CellEmphasis::Faint),
        ]);
        assert_eq!(sheet.finish(), "  \x1b[1ma\x1b[0m\n");
    }
}

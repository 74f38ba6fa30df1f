//! Reads lines whose columns are known: from the first line of a file with comma-separated values, from the user, or
//! from the documentation of a tool.
//!
//! | column | contents |
//! |---|---|
//! | `time_ps`, `time_ns`, `time_us`, `time_ms` or `time_s` | time, with or without decimals, since any origin |
//! | `operation` or `op` | read, write, flush or trim, or the first letter; sync and discard are also accepted |
//! | `is_read`, `is_write` | 1 or 0; instead of `operation` |
//! | `offset`, `sector` | offset of the first byte, or of the first sector of 512 bytes |
//! | `length` or `size`, `sectors` | number of bytes, or of sectors of 512 bytes |
//! | `device` | any name; optional |
//! | `thread` | a number; optional |
//!
//! Names are case-insensitive, `_bytes` may follow offset and length, and columns with other names are ignored. A list
//! from the user may contain `operation=read` instead of a column, for a trace of one kind of request. A trace without
//! a time column can only be replayed as fast as possible. Lines that begin with `#` are comments. The columns are
//! separated by semicolons, or by commas if the line does not contain a semicolon, or otherwise by white space. Decimal
//! commas are accepted.
//!
//! Separators or line ends in quotes are not supported. A unit is stated by the name of its column,
//! and never guessed from the numbers.

use std::str::FromStr;

use lanemark_schema::workload::Operation;

use crate::field::{Field, FieldError, Fields, shown_text};
use crate::mqsim::sectors;
use crate::parsed::{ParsedLine, RecordedRequest};
use crate::rwbs;

const HINT: &str = "for example time_us,operation,offset,length; or state the columns, such as \
                    --trace-format sector,sectors,time_s,operation=read";

const COLUMNS_MAX: usize = 256;
/// Maximum number of columns in a list.
const LISTED_MAX: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// The time in a unit.
    Time(TimeUnit),
    Operation,
    IsRead,
    IsWrite,
    /// All requests have this operation; there is no such column in the lines.
    Every(Operation),
    Offset,
    Sector,
    Length,
    Sectors,
    Device,
    Thread,
    Other,
}

/// The unit of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Picosecond,
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
}

impl TimeUnit {
    fn picoseconds(self) -> u64 {
        match self {
            Self::Picosecond => 1,
            Self::Nanosecond => 1_000,
            Self::Microsecond => 1_000_000,
            Self::Millisecond => 1_000_000_000,
            Self::Second => SECOND,
        }
    }
}

/// The purpose of a column. A line has at most one column for each purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnRole {
    Time,
    Operation,
    Offset,
    Length,
    Device,
    Thread,
    Ignored,
}

impl Column {
    fn role(self) -> ColumnRole {
        match self {
            Self::Time(_) => ColumnRole::Time,
            Self::Operation | Self::IsRead | Self::IsWrite | Self::Every(_) => {
                ColumnRole::Operation
            }
            Self::Offset | Self::Sector => ColumnRole::Offset,
            Self::Length | Self::Sectors => ColumnRole::Length,
            Self::Device => ColumnRole::Device,
            Self::Thread => ColumnRole::Thread,
            Self::Other => ColumnRole::Ignored,
        }
    }
}

/// The columns of a trace, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnList {
    columns: [Column; LISTED_MAX],
    count: usize,
    /// Whether more columns may follow, which are ignored.
    more: bool,
}

impl ColumnList {
    /// Returns a list of a tool's columns.
    pub(crate) fn of(listed: &[Column], more: bool) -> Self {
        let mut columns = [Column::Other; LISTED_MAX];
        let count = listed.len().min(LISTED_MAX);
        columns[..count].copy_from_slice(&listed[..count]);
        Self { columns, count, more }
    }

    fn all(&self) -> &[Column] {
        &self.columns[..self.count]
    }
}

impl FromStr for ColumnList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut listed = Vec::new();
        for name in text.split(',') {
            let name = name.trim().to_ascii_lowercase();
            let column = match name.split_once('=') {
                Some(("operation" | "op", word)) => {
                    let field = Field { name: "operation", text: word.as_bytes(), start: 0 };
                    Column::Every(operation(field).map_err(|error| error.message)?.1)
                }
                Some(_) => return Err(format!("`{name}`: only operation=read, =write or =trim")),
                None if matches!(name.as_str(), "time" | "timestamp") => {
                    return Err(format!(
                        "`{name}` does not state its unit: time_s, time_ms, time_us, time_ns or time_ps"
                    ));
                }
                None => named(name.as_bytes()),
            };
            if listed.len() == LISTED_MAX {
                return Err(format!("more than {LISTED_MAX} columns"));
            }
            listed.push(column);
        }
        check(&listed)?;
        Ok(Self::of(&listed, false))
    }
}

/// Checks that all needed columns exist, and that no column occurs twice.
fn check(columns: &[Column]) -> Result<(), String> {
    let roles = |role: ColumnRole| columns.iter().filter(|column| column.role() == role).count();
    for (role, names) in [
        (ColumnRole::Operation, "operation"),
        (ColumnRole::Offset, "offset or sector"),
        (ColumnRole::Length, "length or sectors"),
    ] {
        if roles(role) == 0 {
            return Err(format!("there is no column {names}"));
        }
    }
    let single = [
        ColumnRole::Time,
        ColumnRole::Operation,
        ColumnRole::Offset,
        ColumnRole::Length,
        ColumnRole::Device,
        ColumnRole::Thread,
    ];
    if single.into_iter().any(|role| roles(role) > 1) {
        return Err("two columns have the same purpose".to_owned());
    }
    Ok(())
}

/// The state of a reader of this format.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnsParser {
    /// The columns; empty before the first line of a file that names them.
    columns: Vec<Column>,
    /// Whether more columns may follow.
    more: bool,
    /// Whether the columns do not come from the file, whose first line may still name them.
    may_have_heading: bool,
}

impl ColumnsParser {
    /// Creates a parser of lines with known columns.
    pub(crate) fn of(list: &ColumnList) -> Self {
        Self { columns: list.all().to_vec(), more: list.more, may_have_heading: true }
    }

    pub(crate) fn parse<'l>(&mut self, line: &'l [u8]) -> Result<ParsedLine<'l>, FieldError> {
        if self.columns.is_empty() {
            self.columns = header(line)?;
            return Ok(ParsedLine::Nothing);
        }
        if std::mem::take(&mut self.may_have_heading) && is_heading(line) {
            return Ok(ParsedLine::Nothing);
        }
        let mut cells = Cells::new(line);
        let mut request = RecordedRequest {
            time: None,
            device: b"",
            thread: 0,
            operation: Operation::Read,
            offset: 0,
            length: 0,
            flush_first: false,
        };
        let mut offset = None;
        let mut length = None;
        for column in &self.columns {
            match column {
                Column::Time(unit) => {
                    request.time = Some(cells.next("time")?.decimal(unit.picoseconds())?);
                }
                Column::Operation => {
                    (request.flush_first, request.operation) = operation(cells.next("operation")?)?;
                }
                Column::IsRead => {
                    request.operation = flag(cells.next("is_read")?, Operation::Read)?;
                }
                Column::IsWrite => {
                    request.operation = flag(cells.next("is_write")?, Operation::Write)?;
                }
                Column::Every(operation) => request.operation = *operation,
                Column::Offset => offset = Some((cells.next("offset")?, false)),
                Column::Sector => offset = Some((cells.next("sector")?, true)),
                Column::Length => length = Some((cells.next("length")?, false)),
                Column::Sectors => length = Some((cells.next("sectors")?, true)),
                Column::Device => request.device = cells.next("device")?.text,
                Column::Thread => {
                    let field = cells.next("thread")?;
                    request.thread = u32::try_from(field.integer()?)
                        .map_err(|_| field.fault("a number below 2^32"))?;
                }
                Column::Other => {
                    cells.next("a column")?;
                }
            }
        }
        if !self.more {
            cells.end(self.columns.len())?;
        }
        // A flush does not have an offset or a length, so both fields may be empty.
        if let (Some(offset), Some(length)) = (offset, length)
            && request.operation != Operation::Flush
        {
            request.offset = bytes(&offset.0, offset.1)?;
            request.length = bytes(&length.0, length.1)?;
        }
        Ok(ParsedLine::Request(request))
    }
}

/// The cells of a line, separated by semicolons, by commas or by white space.
struct Cells<'l> {
    fields: Fields<'l>,
    has_separator: bool,
}

impl<'l> Cells<'l> {
    fn new(line: &'l [u8]) -> Self {
        let fields = Fields::with_semicolons(line);
        Self { has_separator: fields.has_cells(), fields }
    }

    fn next(&mut self, name: &'static str) -> Result<Field<'l>, FieldError> {
        let field =
            if self.has_separator { self.fields.cell(name) } else { self.fields.word(name) };
        field.map(unquoted)
    }

    fn end(&mut self, count: usize) -> Result<(), FieldError> {
        if self.has_separator { self.fields.cells_end(count) } else { self.fields.words_end(count) }
    }
}

fn bytes(field: &Field<'_>, in_sectors: bool) -> Result<u64, FieldError> {
    if in_sectors { sectors(field) } else { field.integer() }
}

/// Returns `operation` for 1, and the other of read and write for 0.
fn flag(field: Field<'_>, operation: Operation) -> Result<Operation, FieldError> {
    let is_read = operation == Operation::Read;
    match field.text {
        b"1" => Ok(operation),
        b"0" => Ok(if is_read { Operation::Write } else { Operation::Read }),
        _ => Err(field.fault("0 or 1")),
    }
}

/// Returns whether a line has names instead of numbers.
fn is_heading(line: &[u8]) -> bool {
    let mut cells = Cells::new(line);
    let first_letters = std::iter::from_fn(|| cells.next("a name").ok()).take(COLUMNS_MAX);
    let mut first_letters = first_letters.filter_map(|cell| cell.text.first().copied());
    !first_letters.any(|letter| letter.is_ascii_digit() || letter == b'-')
}

/// Returns whether a line names enough columns to be the first line of a file in this format.
pub(crate) fn is_header(line: &[u8]) -> bool {
    header(line).is_ok()
}

/// Returns whether a line consists of names that a list of columns must translate.
pub(crate) fn is_unknown_heading(line: &[u8]) -> bool {
    line.iter().any(|byte| b",;".contains(byte)) && is_heading(line)
}

fn header(line: &[u8]) -> Result<Vec<Column>, FieldError> {
    let mut cells = Cells::new(line);
    let mut columns: Vec<Column> = Vec::new();
    while let Ok(field) = cells.next("a column's name") {
        let column = column(field)?;
        let is_same_column = |other: &Column| other.role() == column.role();
        if column != Column::Other && columns.iter().any(is_same_column) {
            return Err(field.fault("one column of each kind").hint(HINT));
        }
        if columns.len() == COLUMNS_MAX {
            return Err(field.fault("at most 256 columns"));
        }
        columns.push(column);
    }
    check(&columns).map_err(|wrong| {
        let message = format!("the first line, `{}`: {wrong}", shown_text(line));
        FieldError::line(message).hint(HINT)
    })?;
    Ok(columns)
}

fn column(field: Field<'_>) -> Result<Column, FieldError> {
    let name = field.text.to_ascii_lowercase();
    match name.as_slice() {
        b"time" | b"timestamp" => Err(field
            .fault("a time with its unit")
            .hint("name it time_ps, time_ns, time_us, time_ms or time_s")),
        name => Ok(named(name)),
    }
}

/// Returns the column with a name in lower case.
fn named(name: &[u8]) -> Column {
    match name {
        b"time_ps" => Column::Time(TimeUnit::Picosecond),
        b"time_ns" => Column::Time(TimeUnit::Nanosecond),
        b"time_us" => Column::Time(TimeUnit::Microsecond),
        b"time_ms" => Column::Time(TimeUnit::Millisecond),
        b"time_s" => Column::Time(TimeUnit::Second),
        b"operation" | b"op" => Column::Operation,
        b"is_read" => Column::IsRead,
        b"is_write" => Column::IsWrite,
        b"offset" | b"offset_bytes" => Column::Offset,
        b"sector" => Column::Sector,
        b"length" | b"size" | b"length_bytes" | b"size_bytes" => Column::Length,
        b"sectors" => Column::Sectors,
        b"device" => Column::Device,
        b"thread" => Column::Thread,
        _ => Column::Other,
    }
}

/// Number of picoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000_000;

/// Returns whether a flush precedes the request, and its operation: a word, or a kind in the kernel's letters (RWBS).
fn operation(field: Field<'_>) -> Result<(bool, Operation), FieldError> {
    const WORDS: [(&[u8], Operation); 10] = [
        (b"read", Operation::Read),
        (b"write", Operation::Write),
        (b"r", Operation::Read),
        (b"w", Operation::Write),
        (b"flush", Operation::Flush),
        (b"f", Operation::Flush),
        (b"sync", Operation::Flush),
        (b"trim", Operation::Trim),
        (b"t", Operation::Trim),
        (b"discard", Operation::Trim),
    ];
    if let Some((_, word)) = WORDS.iter().find(|(word, _)| field.text.eq_ignore_ascii_case(word)) {
        return Ok((false, *word));
    }
    let of_kernel = rwbs::is_kind(field.text).then(|| rwbs::direction(field.text));
    match of_kernel {
        Some((flush_first, Some(operation))) => Ok((flush_first, operation)),
        Some((true, None)) => Ok((false, Operation::Flush)),
        Some((false, None)) | None => Err(field.fault("read, write, flush or trim")),
    }
}

/// Returns the field without quotes, which some programs put around every field.
fn unquoted(field: Field<'_>) -> Field<'_> {
    match field.text {
        [b'"', inner @ .., b'"'] => Field { text: inner, start: field.start + 1, ..field },
        _ => field,
    }
}

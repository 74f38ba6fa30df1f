//! Reads plain comma-separated values whose first line names the columns.
//!
//! | column | contents |
//! |---|---|
//! | `time_ps`, `time_ns`, `time_us`, `time_ms` or `time_s` | time, with or without decimals, since any origin |
//! | `operation` or `op` | read, write, flush or trim, or the first letter; sync and discard are also accepted |
//! | `offset` | offset of the first byte |
//! | `length` or `size` | number of bytes |
//! | `device` | any name; optional |
//! | `thread` | a number; optional |
//!
//! Names are case-insensitive, `_bytes` may follow offset and length, and columns with other names are ignored. A trace
//! without a time column can only be replayed as fast as possible. Lines that begin with `#` are comments. The format
//! is specific to Lanemark; it is intended for tools that can be adapted to write it.
//!
//! Commas or line ends in quotes, and separators other than the comma, are not supported.

use lanemark_schema::workload::Operation;

use crate::field::{Field, FieldError, Fields, shown_text};
use crate::parsed::{ParsedLine, RecordedRequest};

const HINT: &str = "for example time_us,operation,offset,length";

const COLUMNS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// The time; the number is the picoseconds in its unit.
    Time(u64),
    Operation,
    Offset,
    Length,
    Device,
    Thread,
    Other,
}

/// The state of a reader of this format.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnsParser {
    /// The columns; empty before the first line.
    columns: Vec<Column>,
}

impl ColumnsParser {
    pub(crate) fn parse<'l>(&mut self, line: &'l [u8]) -> Result<ParsedLine<'l>, FieldError> {
        if self.columns.is_empty() {
            self.columns = header(line)?;
            return Ok(ParsedLine::Nothing);
        }
        let mut fields = Fields::new(line);
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
                    request.time = Some(unquoted(fields.cell("time")?).decimal(*unit)?);
                }
                Column::Operation => {
                    request.operation = operation(unquoted(fields.cell("operation")?))?;
                }
                Column::Offset => offset = Some(unquoted(fields.cell("offset")?)),
                Column::Length => length = Some(unquoted(fields.cell("length")?)),
                Column::Device => request.device = unquoted(fields.cell("device")?).text,
                Column::Thread => {
                    let field = unquoted(fields.cell("thread")?);
                    request.thread = u32::try_from(field.integer()?)
                        .map_err(|_| field.fault("a number below 2^32"))?;
                }
                Column::Other => {
                    fields.cell("a column")?;
                }
            }
        }
        fields.cells_end(self.columns.len())?;
        // A flush does not have an offset or a length, so both fields may be empty.
        if let (Some(offset), Some(length)) = (offset, length)
            && request.operation != Operation::Flush
        {
            (request.offset, request.length) = (offset.integer()?, length.integer()?);
        }
        Ok(ParsedLine::Request(request))
    }
}

/// Returns whether a line names enough columns to be the first line of a file in this format.
pub(crate) fn is_header(line: &[u8]) -> bool {
    header(line).is_ok()
}

fn header(line: &[u8]) -> Result<Vec<Column>, FieldError> {
    let mut fields = Fields::new(line);
    let mut columns: Vec<Column> = Vec::new();
    while let Some(field) = fields.optional_cell("a column's name") {
        let column = column(unquoted(field))?;
        let is_same_column =
            |other: &Column| std::mem::discriminant(other) == std::mem::discriminant(&column);
        if column != Column::Other && columns.iter().any(is_same_column) {
            return Err(field.fault("one column of each kind").hint(HINT));
        }
        if columns.len() == COLUMNS_MAX {
            return Err(field.fault("at most 256 columns"));
        }
        columns.push(column);
    }
    let needed =
        [(Column::Operation, "operation"), (Column::Offset, "offset"), (Column::Length, "length")];
    for (column, name) in needed {
        if !columns.contains(&column) {
            let message =
                format!("the first line, `{}`, does not name the column {name}", shown_text(line));
            return Err(FieldError::line(message).hint(HINT));
        }
    }
    Ok(columns)
}

fn column(field: Field<'_>) -> Result<Column, FieldError> {
    let name = field.text.to_ascii_lowercase();
    Ok(match name.as_slice() {
        b"time_ps" => Column::Time(1),
        b"time_ns" => Column::Time(1_000),
        b"time_us" => Column::Time(1_000_000),
        b"time_ms" => Column::Time(1_000_000_000),
        b"time_s" => Column::Time(1_000_000_000_000),
        b"time" | b"timestamp" => {
            return Err(field
                .fault("a time with its unit")
                .hint("name it time_ps, time_ns, time_us, time_ms or time_s"));
        }
        b"operation" | b"op" => Column::Operation,
        b"offset" | b"offset_bytes" => Column::Offset,
        b"length" | b"size" | b"length_bytes" | b"size_bytes" => Column::Length,
        b"device" => Column::Device,
        b"thread" => Column::Thread,
        _ => Column::Other,
    })
}

fn operation(field: Field<'_>) -> Result<Operation, FieldError> {
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
    let known = WORDS.iter().find(|(word, _)| field.text.eq_ignore_ascii_case(word));
    known.map(|(_, operation)| *operation).ok_or_else(|| field.fault("read, write, flush or trim"))
}

/// Returns the field without quotes, which some programs put around every field.
fn unquoted(field: Field<'_>) -> Field<'_> {
    match field.text {
        [b'"', inner @ .., b'"'] => Field { text: inner, start: field.start + 1, ..field },
        _ => field,
    }
}

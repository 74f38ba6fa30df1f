//! Reads the MSR Cambridge traces, which have seven columns of comma-separated values.
//!
//! The columns are `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, as the notes on the traces state
//! (SNIA IOTTA repository, trace set 388; Narayanan, Donnelly and Rowstron, "Write Off-Loading", FAST 2008). Timestamp
//! is a Windows file time, in units of 100 ns since 1601; Type is Read or Write; Offset and Size are in bytes. The
//! lines are nearly in order of time. The first line may contain the names of the columns. A device is a disk of a
//! host, and its name is the text of both columns, such as `hm,1`.
//!
//! The ResponseTime, which is the latency on the recorded system, is not read. The column must still exist, so that a
//! truncated line is detected.

use lanemark_schema::workload::Operation;

use crate::field::{FieldError, Fields};
use crate::parsed::{ParsedLine, RecordedRequest};

/// Number of picoseconds in 100 ns.
const TICK: u128 = 100_000;

/// First word of the line with the names of the columns.
pub(crate) const HEADER: &[u8] = b"Timestamp";

pub(crate) fn parse(line: &[u8]) -> Result<ParsedLine<'_>, FieldError> {
    let mut fields = Fields::new(line);
    let timestamp = fields.cell("Timestamp")?;
    if timestamp.text.eq_ignore_ascii_case(HEADER) {
        return Ok(ParsedLine::Nothing);
    }
    let time = u128::from(timestamp.integer()?) * TICK;
    let host = fields.cell("Hostname")?;
    let disk = fields.cell("DiskNumber")?;
    let kind = fields.cell("Type")?;
    let operation = match kind.text {
        b"Read" => Operation::Read,
        b"Write" => Operation::Write,
        other if other.eq_ignore_ascii_case(b"read") => Operation::Read,
        other if other.eq_ignore_ascii_case(b"write") => Operation::Write,
        _ => return Err(kind.fault("Read or Write")),
    };
    let offset = fields.cell("Offset")?.integer()?;
    let length = fields.cell("Size")?.integer()?;
    fields.cell("ResponseTime")?;
    fields.cells_end(7)?;
    Ok(ParsedLine::Request(RecordedRequest {
        time: Some(time),
        device: fields.between(&host, &disk),
        thread: 0,
        operation,
        offset,
        length,
        flush_first: false,
    }))
}

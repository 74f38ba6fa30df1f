//! MQSim's ASCII traces: five numbers a line.
//!
//! Arrival time, device, first sector, length in sectors, and 0 for a write or 1 for a read, between white
//! space (MQSim, README.md, "Defining a Trace-based Workload", and `src/host/ASCII_Trace_Definition.h`).
//! Sectors hold 512 bytes. Times are nanoseconds, MQSim's default; its workload file can say otherwise,
//! which a trace does not tell: use a speed of `1000x` for one in picoseconds.
//!
//! Comments: lines that begin with `#` are left out, which MQSim itself would not do.

use lanemark_core::workload::{Operation, SECTOR};

use crate::field::{Fault, Field, Fields};
use crate::parsed::{Parsed, Request};

/// Picoseconds in a nanosecond.
const NANOSECOND: u128 = 1_000;

pub(crate) fn parse(line: &[u8]) -> Result<Parsed<'_>, Fault> {
    let mut fields = Fields::new(line);
    let time = u128::from(fields.word("arrival time")?.integer()?) * NANOSECOND;
    let device = fields.word("device")?;
    device.integer()?;
    let offset = sectors(&fields.word("first sector")?)?;
    let length = sectors(&fields.word("length")?)?;
    let kind = fields.word("type")?;
    let operation = match kind.text {
        b"0" => Operation::Write,
        b"1" => Operation::Read,
        _ => return Err(kind.fault("0 for a write or 1 for a read")),
    };
    fields.words_end(5)?;
    Ok(Parsed::Request(Request {
        time: Some(time),
        device: device.text,
        thread: 0,
        operation,
        offset,
        length,
        flush_first: false,
    }))
}

/// Reads a number of sectors, in bytes.
pub(crate) fn sectors(field: &Field<'_>) -> Result<u64, Fault> {
    let bytes = field.integer()?.checked_mul(SECTOR.get());
    bytes.ok_or_else(|| field.fault("a number of sectors below 2^55"))
}

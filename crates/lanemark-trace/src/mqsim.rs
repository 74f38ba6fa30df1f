//! Reads MQSim's ASCII traces, which have five numbers per line.
//!
//! The numbers are the arrival time, the device, the first sector, the length in sectors, and 0 for a write or 1 for a
//! read, separated by white space (MQSim, README.md, "Defining a Trace-based Workload", and
//! `src/host/ASCII_Trace_Definition.h`). Sectors have 512 bytes. Times are in nanoseconds, which is MQSim's default.
//! MQSim's workload file can set another unit, which the trace does not state; a trace in picoseconds needs a speed of
//! `1000x`.
//!
//! DiskSim's traces have the same five columns, but with times in milliseconds. Whole numbers are read as an MQSim
//! trace only if the times in the first lines are more than [`GAP_LEAST`] apart on average; in milliseconds, this would
//! be more than a minute between requests. Otherwise the user must state the format.
//!
//! Lines that begin with `#` are comments and are skipped, which MQSim itself does not do.

use lanemark_schema::workload::{Operation, SECTOR};

use crate::field::{Field, FieldError, Fields};
use crate::parsed::{ParsedLine, RecordedRequest};

/// Number of picoseconds in a nanosecond.
const NANOSECOND: u128 = 1_000;

/// Mean distance between requests, in the unit of the trace's times, above which the unit cannot be milliseconds.
const GAP_LEAST: u64 = 60_000;

/// Returns whether arrival times are in nanoseconds rather than in milliseconds.
pub(crate) fn are_nanoseconds(times: &[u64]) -> bool {
    let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else { return false };
    let gaps = times.len() as u64 - 1;
    gaps > 0 && (last - first) / gaps >= GAP_LEAST
}

pub(crate) fn parse(line: &[u8]) -> Result<ParsedLine<'_>, FieldError> {
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
    Ok(ParsedLine::Request(RecordedRequest {
        time: Some(time),
        device: device.text,
        thread: 0,
        operation,
        offset,
        length,
        flush_first: false,
    }))
}

/// Reads a number of sectors, and returns it in bytes.
pub(crate) fn sectors(field: &Field<'_>) -> Result<u64, FieldError> {
    let bytes = field.integer()?.checked_mul(SECTOR.get());
    bytes.ok_or_else(|| field.fault("a number of sectors below 2^55"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_far_apart_are_nanoseconds() {
        for (times, wanted) in [
            (&[][..], false),
            (&[5], false),
            (&[0, GAP_LEAST - 1], false),
            (&[0, GAP_LEAST], true),
            // There are two gaps, regardless of the order of the times.
            (&[2 * GAP_LEAST, 0, 7], true),
            (&[2 * GAP_LEAST - 1, 0, 7], false),
        ] {
            assert_eq!(are_nanoseconds(times), wanted, "{times:?}");
        }
    }
}

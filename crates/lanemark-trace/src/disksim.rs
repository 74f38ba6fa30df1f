//! Reads DiskSim's ASCII traces, which have five numbers per line.
//!
//! The numbers are the arrival time in milliseconds with or without decimals, the device, the first block, the length
//! in blocks, and hexadecimal flags, separated by white space (Bucy et al., "The DiskSim Simulation Environment Version
//! 4.0 Reference Manual", CMU-PDL-08-101, section 5.1, the format `ascii`). Blocks have 512 bytes. Bit 0 of the flags
//! is set for a read and clear for a write.
//!
//! Lines that begin with `#` are comments and are skipped, which DiskSim itself does not do. The other bits of the
//! flags, which state the urgency of a request, are not read. DiskSim's other formats are not supported.

use lanemark_schema::workload::Operation;

use crate::field::{Field, FieldError, Fields};
use crate::mqsim::sectors;
use crate::parsed::{ParsedLine, RecordedRequest};

/// Number of picoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000_000;
/// The bit of the flags that is set for a read.
const READ: u32 = 1;

pub(crate) fn parse(line: &[u8]) -> Result<ParsedLine<'_>, FieldError> {
    let mut fields = Fields::new(line);
    let time = fields.word("arrival time")?.decimal(MILLISECOND)?;
    let device = fields.word("device")?;
    device.integer()?;
    let offset = sectors(&fields.word("first block")?)?;
    let length = sectors(&fields.word("length")?)?;
    let flags = flags(&fields.word("flags")?)?;
    fields.words_end(5)?;
    let operation = if flags & READ == 0 { Operation::Write } else { Operation::Read };
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

/// Returns whether `words` are a line of this format. Its time must have decimals, because MQSim's times do not have
/// any.
pub(crate) fn is_line(words: &[Field<'_>]) -> bool {
    let [time, device, block, length, kind] = words else { return false };
    let is_integer = |field: &Field<'_>| field.integer().is_ok();
    time.text.contains(&b'.')
        && time.decimal(MILLISECOND).is_ok()
        && [device, block, length].into_iter().all(is_integer)
        && flags(kind).is_ok()
}

/// Reads hexadecimal flags, with or without `0x`.
fn flags(field: &Field<'_>) -> Result<u32, FieldError> {
    let digits = field.text.strip_prefix(b"0x").unwrap_or(field.text);
    let plain = digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| plain);
    text.and_then(|text| u32::from_str_radix(text, 16).ok())
        .ok_or_else(|| field.fault("flags in hexadecimal, with bit 0 set for a read"))
}

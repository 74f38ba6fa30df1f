//! Traces of fixed columns without a first line that names them.
//!
//! | format | columns, in order | source |
//! |---|---|---|
//! | `alibaba` | device, R or W, offset and length in bytes, time in µs | README of alibaba/block-traces |
//! | `spc` | unit, sector, bytes, r or w, time in s | SPC trace file format, revision 1.0.1 (UMass) |
//! | `fiu` | time in ns, process, name, sector, sectors, R or W, major, minor, MD5 | SNIA IOTTA, trace set 390 |
//! | `biosnoop` | time in s, name, process, disk, RWBS, sector, bytes, latency | bcc's and libbpf's `biosnoop` |

use crate::columns::{Column, ColumnList, TimeUnit};
use crate::field::{Field, Fields};
use crate::rwbs;

use Column::{Device, Length, Offset, Operation, Other, Sector, Sectors, Time};

/// The names of Alibaba's columns in its README, which some people add as a first line.
const ALIBABA: &[u8] = b"device_id,opcode,offset,length,timestamp";
/// The heading of biosnoop's first column.
const BIOSNOOP: &[u8] = b"TIME(s)";

/// Returns the columns of the traces of Alibaba's cloud.
pub(crate) fn alibaba() -> ColumnList {
    ColumnList::of(&[Device, Operation, Offset, Length, Time(TimeUnit::Microsecond)], false)
}

/// Returns the columns of traces in the format of the Storage Performance Council.
pub(crate) fn spc() -> ColumnList {
    ColumnList::of(&[Device, Sector, Length, Operation, Time(TimeUnit::Second)], true)
}

/// Returns the columns of the traces of FIU.
pub(crate) fn fiu() -> ColumnList {
    ColumnList::of(
        &[Time(TimeUnit::Nanosecond), Other, Other, Sector, Sectors, Operation, Device],
        true,
    )
}

/// Returns the columns of biosnoop, whose latencies follow.
pub(crate) fn biosnoop() -> ColumnList {
    ColumnList::of(&[Time(TimeUnit::Second), Other, Other, Device, Operation, Sector, Length], true)
}

/// Returns whether the cells of a line are a line of Alibaba's traces.
pub(crate) fn is_alibaba(line: &[u8]) -> bool {
    if line.eq_ignore_ascii_case(ALIBABA) {
        return true;
    }
    let cells = cells(line);
    let [device, operation, rest @ ..] = cells.as_slice() else { return false };
    cells.len() == 5 && is_whole(device) && is_direction(operation) && rest.iter().all(is_whole)
}

/// Returns whether the cells of a line are a line in the format of the Storage Performance Council.
pub(crate) fn is_spc(line: &[u8]) -> bool {
    let cells = cells(line);
    let [unit, sector, length, operation, time] = cells.as_slice() else { return false };
    [unit, sector, length].into_iter().all(is_whole) && is_direction(operation) && is_time(time)
}

/// Returns whether the words are a line of FIU's traces.
pub(crate) fn is_fiu(words: &[Field<'_>]) -> bool {
    let [time, process, _, sector, sectors, operation, major, minor, digest] = words else {
        return false;
    };
    [time, process, sector, sectors, major, minor].into_iter().all(is_whole)
        && is_direction(operation)
        && digest.text.len() == 32
        && digest.text.iter().all(u8::is_ascii_hexdigit)
}

/// Returns whether the words are the heading or a line of biosnoop.
pub(crate) fn is_biosnoop(words: &[Field<'_>]) -> bool {
    if words.first().is_some_and(|word| word.text == BIOSNOOP) {
        return true;
    }
    let [time, _, process, disk, operation, sector, length, latency, ..] = words else {
        return false;
    };
    is_time(time)
        && [process, sector, length].into_iter().all(is_whole)
        && !is_whole(disk)
        && rwbs::is_kind(operation.text)
        && latency.decimal(1).is_ok()
}

fn cells(line: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Fields::new(line);
    std::iter::from_fn(|| fields.optional_cell("cell")).take(7).collect()
}

fn is_whole(field: &Field<'_>) -> bool {
    field.integer().is_ok()
}

/// Returns whether a field is a number with decimals.
fn is_time(field: &Field<'_>) -> bool {
    field.text.contains(&b'.') && field.decimal(1).is_ok()
}

fn is_direction(field: &Field<'_>) -> bool {
    matches!(field.text, b"R" | b"W" | b"r" | b"w")
}

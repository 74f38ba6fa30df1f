//! Programs that print one table: kbench, pg_test_fsync, elbencho and spdk_nvme_perf.
//!
//! | file | program |
//! |---|---|
//! | `kbench` | the summary and the comparison of Longhorn's kbench |
//! | `pg_test_fsync` | PostgreSQL's comparison of the ways to flush a write |
//! | `elbencho` | the table of elbencho, with `IOPS`, throughput and latencies of each phase |
//! | `spdk` | the table of `spdk_nvme_perf` |

mod elbencho;
mod kbench;
mod pg_test_fsync;
mod spdk;

use crate::error::FormatError;
use crate::stated::ReportedRun;

/// A program that prints one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// The summary or comparison of kbench.
    Kbench,
    /// The output of `pg_test_fsync`.
    PgTestFsync,
    /// The table of elbencho.
    Elbencho,
    /// The table of `spdk_nvme_perf`.
    Spdk,
}

type Recogniser = fn(&str) -> bool;

/// Returns the format of a text, if it is the table of a supported program.
pub(crate) fn recognise(text: &str) -> Option<TableFormat> {
    let all: [(Recogniser, TableFormat); 4] = [
        (kbench::is_ours, TableFormat::Kbench),
        (pg_test_fsync::is_ours, TableFormat::PgTestFsync),
        (elbencho::is_ours, TableFormat::Elbencho),
        (spdk::is_ours, TableFormat::Spdk),
    ];
    all.iter().find(|(is_ours, _)| is_ours(text)).map(|(_, format)| *format)
}

/// Reads the runs in a text. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error if a line of figures cannot be read.
pub(crate) fn read(
    format: TableFormat,
    text: &str,
    file: &str,
) -> Result<Vec<ReportedRun>, FormatError> {
    match format {
        TableFormat::Kbench => kbench::read(text, file),
        TableFormat::PgTestFsync => Ok(vec![pg_test_fsync::read(text, file)?]),
        TableFormat::Elbencho => Ok(vec![elbencho::read(text, file)?]),
        TableFormat::Spdk => Ok(vec![spdk::read(text, file)?]),
    }
}

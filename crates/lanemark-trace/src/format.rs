//! The trace formats, and their detection from the first line of a trace.

use std::fmt;
use std::str::FromStr;

use crate::blkparse::is_device;
use crate::columns::{ColumnList, is_header, is_unknown_heading};
use crate::field::{Field, Fields};
use crate::{disksim, ftrace, iolog, listed, msr};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// MSR Cambridge traces, with comma-separated values.
    Msr,
    /// The text that blkparse prints by default.
    Blkparse,
    /// fio's iolog, version 2 or 3.
    Iolog,
    /// MQSim's traces, with five columns.
    Mqsim,
    /// DiskSim's traces, with five columns.
    Disksim,
    /// Traces of Alibaba's cloud block storage.
    Alibaba,
    /// Traces in the format of the Storage Performance Council, such as UMass's.
    Spc,
    /// Traces of Florida International University.
    Fiu,
    /// The table of bcc's biosnoop.
    Biosnoop,
    /// Block events of the kernel, from trace-cmd, perf or tracefs.
    Ftrace,
    /// Comma-separated values, with the names of the columns in the first line.
    Csv,
    /// Columns that the user named.
    Columns(ColumnList),
}

/// The formats to which the first line of a trace may belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatCandidates {
    /// The line belongs to this format.
    Of(Format),
    /// The line has five whole numbers, as in MQSim's traces with times in nanoseconds or in DiskSim's traces with
    /// times in milliseconds. Other lines determine the format.
    FiveNumbers,
    /// The line has five numbers, and the first has decimals: a time in milliseconds in DiskSim's traces, and in
    /// seconds in others. The line does not state the unit.
    FiveDecimals,
    /// The line has names of columns that are not known.
    Heading,
    /// The line does not belong to a known format.
    Unknown,
}

impl Format {
    /// All formats with a name.
    pub const ALL: [Self; 11] = [
        Self::Msr,
        Self::Blkparse,
        Self::Iolog,
        Self::Mqsim,
        Self::Disksim,
        Self::Alibaba,
        Self::Spc,
        Self::Fiu,
        Self::Biosnoop,
        Self::Ftrace,
        Self::Csv,
    ];

    /// Returns the format's name for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Blkparse => "blkparse",
            Self::Iolog => "iolog",
            Self::Mqsim => "mqsim",
            Self::Disksim => "disksim",
            Self::Alibaba => "alibaba",
            Self::Spc => "spc",
            Self::Fiu => "fiu",
            Self::Biosnoop => "biosnoop",
            Self::Ftrace => "ftrace",
            Self::Csv => "csv",
            Self::Columns(_) => "columns",
        }
    }

    /// Returns the formats to which `line`, the first line of a trace, may belong.
    pub(crate) fn recognise(line: &[u8]) -> FormatCandidates {
        let text = line.trim_ascii_start();
        let words: Vec<Field<'_>> = {
            let mut fields = Fields::new(line);
            std::iter::from_fn(|| fields.optional_word("word")).take(10).collect()
        };
        let is_whole = |word: &Field<'_>| word.integer().is_ok();
        FormatCandidates::Of(if text.starts_with(iolog::HEADER) || iolog::is_line(line) {
            Self::Iolog
        } else if ftrace::is_line(line) {
            Self::Ftrace
        } else if text.starts_with(b"Input file ") || is_event(&words) {
            Self::Blkparse
        } else if is_msr(line) {
            Self::Msr
        } else if words.len() == 5 && words.iter().all(is_whole) {
            return FormatCandidates::FiveNumbers;
        } else if disksim::is_line(&words) {
            return FormatCandidates::FiveDecimals;
        } else if listed::is_alibaba(line) {
            Self::Alibaba
        } else if listed::is_spc(line) {
            Self::Spc
        } else if listed::is_fiu(&words) {
            Self::Fiu
        } else if listed::is_biosnoop(&words) {
            Self::Biosnoop
        } else if is_header(line) {
            Self::Csv
        } else if is_unknown_heading(line) {
            return FormatCandidates::Heading;
        } else {
            return FormatCandidates::Unknown;
        })
    }

    /// Returns whether a tracer prints the format, which may print messages before its first line.
    pub(crate) fn has_messages(self) -> bool {
        matches!(self, Self::Blkparse | Self::Biosnoop | Self::Ftrace)
    }

    /// Returns whether a line that begins with `#` is a comment.
    pub(crate) fn has_comments(self) -> bool {
        match self {
            Self::Blkparse | Self::Iolog => false,
            Self::Msr
            | Self::Mqsim
            | Self::Disksim
            | Self::Alibaba
            | Self::Spc
            | Self::Fiu
            | Self::Biosnoop
            | Self::Ftrace
            | Self::Csv
            | Self::Columns(_) => true,
        }
    }
}

/// Returns whether the words are a blkparse event: the first is a device, and the fourth is a time.
fn is_event(words: &[Field<'_>]) -> bool {
    words.len() >= 6 && is_device(words[0].text) && words[3].decimal(1).is_ok()
}

/// Returns whether the line has seven columns that begin with a number, or the names of these columns.
fn is_msr(line: &[u8]) -> bool {
    let mut fields = Fields::new(line);
    let first = fields.optional_cell("Timestamp");
    let count = std::iter::from_fn(|| fields.optional_cell("column")).take(7).count() + 1;
    first.is_some_and(|first| {
        count == 7 && (first.integer().is_ok() || first.text.eq_ignore_ascii_case(msr::HEADER))
    })
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(',') {
            return text.parse().map(Self::Columns);
        }
        let known = Self::ALL.into_iter().find(|format| format.name() == text);
        known.ok_or_else(|| {
            format!("expected one of {}, or the columns: {COLUMNS_EXAMPLE}", names())
        })
    }
}

/// A list of columns for messages.
pub(crate) const COLUMNS_EXAMPLE: &str = "time_s,operation,sector,sectors";

pub(crate) fn names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::FormatCandidates::{FiveDecimals, FiveNumbers, Heading, Of, Unknown};
    use super::*;

    #[test]
    fn the_first_line_determines_the_format() {
        let cases: [(&[u8], FormatCandidates); 14] = [
            (b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime", Of(Format::Msr)),
            (b"Input file sda.blktrace.0 added", Of(Format::Blkparse)),
            (b"11413000 0 657728 16 1", FiveNumbers),
            (b"11.413000 0 657728 16 1", FiveDecimals),
            (b"/dev/sdx add", Of(Format::Iolog)),
            (b"12 /dev/sdx read 0 4096", Of(Format::Iolog)),
            (b"/dev/sdx write 512 4096", Of(Format::Iolog)),
            (b"TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)", Of(Format::Biosnoop)),
            (
                b"a b-1 [003] d..1. 7.5: block_rq_issue: 8,0 R 4096 () 64 + 8 [a]",
                Of(Format::Ftrace),
            ),
            (b"11.413000 0 657728 16 x", Unknown),
            (b"time,op,offset,size", Heading),
            (b"offset,size", Heading),
            (b"1,2,3,4,5", Unknown),
            (b"hello", Unknown),
        ];
        for (line, expected) in cases {
            assert_eq!(Format::recognise(line), expected, "{}", String::from_utf8_lossy(line));
        }
    }
}

//! The trace formats, and their detection from the first line of a trace.

use std::fmt;
use std::str::FromStr;

use crate::blkparse::is_device;
use crate::columns::is_header;
use crate::field::{Field, Fields};
use crate::{disksim, iolog, msr};

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
    /// Comma-separated values, with the names of the columns in the first line.
    Csv,
}

/// The formats to which the first line of a trace may belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatCandidates {
    /// The line belongs to this format.
    Of(Format),
    /// The line has five whole numbers, as in MQSim's traces with times in nanoseconds or in DiskSim's traces with
    /// times in milliseconds. Other lines determine the format.
    FiveNumbers,
    /// The line does not belong to a known format.
    Unknown,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] =
        [Self::Msr, Self::Blkparse, Self::Iolog, Self::Mqsim, Self::Disksim, Self::Csv];

    /// Returns the format's name for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Blkparse => "blkparse",
            Self::Iolog => "iolog",
            Self::Mqsim => "mqsim",
            Self::Disksim => "disksim",
            Self::Csv => "csv",
        }
    }

    /// Returns the formats to which `line`, the first line of a trace, may belong.
    pub(crate) fn recognise(line: &[u8]) -> FormatCandidates {
        let text = line.trim_ascii_start();
        let words: Vec<Field<'_>> = {
            let mut fields = Fields::new(line);
            std::iter::from_fn(|| fields.optional_word("word")).take(8).collect()
        };
        let is_whole = |word: &Field<'_>| word.integer().is_ok();
        FormatCandidates::Of(if text.starts_with(iolog::HEADER) {
            Self::Iolog
        } else if text.starts_with(b"Input file ") || is_event(&words) {
            Self::Blkparse
        } else if is_msr(line) {
            Self::Msr
        } else if words.len() == 5 && words.iter().all(is_whole) {
            return FormatCandidates::FiveNumbers;
        } else if disksim::is_line(&words) {
            Self::Disksim
        } else if is_header(line) {
            Self::Csv
        } else {
            return FormatCandidates::Unknown;
        })
    }

    /// Returns whether a line that begins with `#` is a comment.
    pub(crate) fn has_comments(self) -> bool {
        matches!(self, Self::Msr | Self::Mqsim | Self::Disksim | Self::Csv)
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
        let known = Self::ALL.into_iter().find(|format| format.name() == text);
        known.ok_or_else(|| format!("expected one of {}", names()))
    }
}

pub(crate) fn names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_determines_the_format() {
        let cases: [(&[u8], FormatCandidates); 13] = [
            (b"fio version 3 iolog", FormatCandidates::Of(Format::Iolog)),
            (
                b"128166372003061629,hm,1,Read,383496192,32768,113736",
                FormatCandidates::Of(Format::Msr),
            ),
            (
                b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
                FormatCandidates::Of(Format::Msr),
            ),
            (
                b"  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [x]",
                FormatCandidates::Of(Format::Blkparse),
            ),
            (b"Input file sda.blktrace.0 added", FormatCandidates::Of(Format::Blkparse)),
            (b"11413000 0 657728 16 1", FormatCandidates::FiveNumbers),
            (b"11.413000 0 657728 16 1", FormatCandidates::Of(Format::Disksim)),
            (b"11.413000 0 657728 16 x", FormatCandidates::Unknown),
            (b"time_us,op,offset,size", FormatCandidates::Of(Format::Csv)),
            (b"time,op,offset,size", FormatCandidates::Unknown),
            (b"offset,size", FormatCandidates::Unknown),
            (b"1,2,3,4,5", FormatCandidates::Unknown),
            (b"hello", FormatCandidates::Unknown),
        ];
        for (line, expected) in cases {
            assert_eq!(Format::recognise(line), expected, "{}", String::from_utf8_lossy(line));
        }
    }
}

//! Recognises the format of a text by its contents.
//!
//! If a format is known but not supported, the error names it and suggests an alternative.

use lanemark_schema::pasted::restored;

use crate::known::{INSPECT, KnownFormat, WORKLOAD};
use crate::tables::{self, TableFormat};
use crate::{drives, fio_log, known};

/// A supported result format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    /// fio's JSON, possibly after messages.
    FioJson,
    /// fio's normal output.
    FioText,
    /// fio's terse output.
    FioTerse,
    /// A log that fio wrote during a run.
    FioLog,
    /// The text of CrystalDiskMark or KDiskMark.
    CrystalDiskMark,
    /// diskspd's text.
    Diskspd,
    /// diskspd's XML.
    DiskspdXml,
    /// Iometer's results file.
    Iometer,
    /// The table of another program.
    Table(TableFormat),
}

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecognisedFormat {
    /// A result in a supported format.
    Result(ResultFormat),
    /// A text in a known but unsupported format.
    Known(KnownFormat),
    /// A text in an unknown format.
    Unknown,
}

/// Advice for a text in an unknown format.
pub(crate) const READ: &str = "accepted formats: results of Lanemark; fio's JSON, normal and terse output; texts of CrystalDiskMark 3 and \
     later and of KDiskMark; diskspd's text and XML; Iometer's results CSV; the tables of kbench, pg_test_fsync, elbencho \
     and spdk_nvme_perf; fio's logs";

/// Returns the format of a text.
pub fn recognise(text: &str) -> RecognisedFormat {
    use ResultFormat as F;
    let text = &*restored(text);
    if text.contains("\"fio version\"") {
        return RecognisedFormat::Result(F::FioJson);
    }
    if crate::fio_text::is_terse(text) {
        return RecognisedFormat::Result(F::FioTerse);
    }
    let is_json = is_json(text.trim_start());
    if !is_json {
        let readers: [(fn(&str) -> bool, F); 5] = [
            (crate::fio_text::is_normal, F::FioText),
            (crate::iometer::is_results, F::Iometer),
            (crate::diskspd::is_xml, F::DiskspdXml),
            (crate::diskspd::is_text, F::Diskspd),
            (crate::crystaldiskmark::is_ours, F::CrystalDiskMark),
        ];
        if let Some((_, format)) = readers.iter().find(|(is_it, _)| is_it(text)) {
            return RecognisedFormat::Result(*format);
        }
        if let Some(format) = tables::recognise(text) {
            return RecognisedFormat::Result(F::Table(format));
        }
        if fio_log::is_ours(text) {
            return RecognisedFormat::Result(F::FioLog);
        }
        if crate::fio_text::is_terse_2(text) {
            return RecognisedFormat::Known(KnownFormat {
                name: "version 2 of fio's terse output",
                advice: "run fio with --output-format=json+, or with --terse-version=3",
            });
        }
    }
    let first = text.trim_start().lines().next().unwrap_or_default();
    let named = |name, advice| Some(KnownFormat { name, advice });
    let known = if !is_json && crate::fio::is_job_file(text) {
        named("a fio job file", WORKLOAD)
    } else if let Some(known) = known::find_result(text) {
        Some(known)
    } else if drives::is_ours(text) {
        named("another program's text about drives", INSPECT)
    } else if let Some(known) = known::find(text) {
        Some(known)
    } else if !is_json && crate::command_lines::is_command(first) {
        named("a command line", "it is a workload: `lanemark sim SYSTEM -- fio …`")
    } else {
        None
    };
    match known {
        Some(known) => RecognisedFormat::Known(known),
        None if is_json => RecognisedFormat::Result(F::FioJson),
        None => RecognisedFormat::Unknown,
    }
}

/// Returns whether the text begins like JSON. A section in other formats also begins with a bracket.
fn is_json(text: &str) -> bool {
    match text.strip_prefix('[') {
        Some(rest) => rest.trim_start().starts_with(['{', '[', '"', ']']),
        None => text.starts_with('{'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_content() {
        let format = |text: &str| match recognise(text) {
            RecognisedFormat::Result(format) => format!("{format:?}"),
            RecognisedFormat::Known(known) => known.name.to_owned(),
            RecognisedFormat::Unknown => "unknown".to_owned(),
        };
        for (text, expected) in [
            ("fio: warning\n{ \"fio version\" : \"fio-3.36\" }", "FioJson"),
            ("{}", "FioJson"),
            ("3;fio-3.33;a;0;0;4096", "FioTerse"),
            ("a: (groupid=0, jobs=1): err= 0: pid=1: Mon", "FioText"),
            ("x\n[Read]\n  SEQ    1MiB (Q=  8, T= 1):   1.0 MB/s", "CrystalDiskMark"),
            ("[Read]\n  RND    4KiB (Q=  8, T= 1):   1.0 MB/s", "CrystalDiskMark"),
            ("{\"blockdevices\": []}", "lsblk's JSON"),
            ("AS SSD Benchmark 2.0\nName: x", "an AS SSD Benchmark result"),
            ("1024+0 records in\n1024+0 records out\n", "dd's output"),
            ("smartctl 7.3\n=== START OF\n", "another program's text about drives"),
            ("01:00.0 Non-Volatile memory controller: Samsung", "lspci's output"),
            ("fio --rw=read", "a command line"),
            ("; a job\n[seq]\nrw=read\nbs=1m\n", "a fio job file"),
            ("#!/usr/bin/env fio\n# fio job\n[a]\nrw=read\nbs=1m\n", "a fio job file"),
            (
                "smartctl 7.3\nx\n$ df\nFilesystem Mounted on\n",
                "another program's text about drives",
            ),
            ("", "unknown"),
            ("hello", "unknown"),
        ] {
            assert_eq!(format(text), expected, "{text}");
        }
    }
}

//! Recognises the format of a text by its contents.
//!
//! If a format is known but not supported, the error names it and suggests an alternative.

use lanemark_schema::pasted::restored;

use crate::drives;
use crate::tables::{self, TableFormat};

/// A supported result format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    /// fio's JSON, possibly after messages.
    FioJson,
    /// fio's normal output.
    FioText,
    /// fio's terse output.
    FioTerse,
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

/// A known format that cannot be read as a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFormat {
    /// The name of the format, with its article.
    pub name: &'static str,
    /// An alternative to the unsupported format.
    pub advice: &'static str,
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

const MEASURE: &str =
    "measure the same with `lanemark bench`, fio, CrystalDiskMark, KDiskMark or diskspd";
const FIO: &str = "run the same load with `fio --output-format=json+`, and read that output with `lanemark report`; it has the counts and settings";
const METADATA: &str = "it measures operations on names, which are not modelled";
const DATABASE: &str = "`lanemark oltp` runs a database's transactions and measures its storage";
const INSPECT: &str = "it describes a machine: `lanemark inspect FILE` shows its drives";
/// A text that [`drives`] reads.
const DRIVES: KnownFormat =
    KnownFormat { name: "another program's text about drives", advice: INSPECT };
const REPLAY: &str = "it is a trace: `lanemark sim` and `lanemark bench` replay it";
const LOAD: &str = "it describes a load: `lanemark sim SYSTEM FILE` runs the load on another drive";
const WORKLOAD: &str = "it is a workload: use it with `lanemark sim` or `lanemark bench`";

/// Formats, each identified by strings that must all occur in the text.
const KNOWN: &[(&[&str], &str, &str)] = &[
    (&["\"schema_version\"", "\"provenance\""], "a Lanemark result", "it needs no conversion"),
    (&["\"json_format_version\"", "\"smartctl\""], "smartctl's JSON", INSPECT),
    (&["\"json_format_version\"", "\"model_name\""], "smartctl's JSON", INSPECT),
    (&["\"Devices\"", "\"ModelNumber\""], "the JSON of `nvme list`", INSPECT),
    (&["\"blockdevices\""], "lsblk's JSON", INSPECT),
    (&["<topology"], "lstopo's XML", INSPECT),
    (&["LnkSta:", "LnkCap:"], "lspci's output", INSPECT),
    (&[" Non-Volatile memory controller: "], "lspci's output", INSPECT),
    (&[" SATA controller: "], "lspci's output", INSPECT),
    (&["iolog", "fio version 2"], "a fio trace", REPLAY),
    (&["'TEST SETUP"], "Iometer's settings", WORKLOAD),
    (&["AS SSD Benchmark"], "an AS SSD Benchmark result", MEASURE),
    (&["ATTO"], "an ATTO Disk Benchmark result", MEASURE),
    (&["HD Tune"], "an HD Tune result", MEASURE),
    (&["Anvil"], "a result from Anvil's Storage Utilities", MEASURE),
    (&["Timing buffered disk reads"], "hdparm's output", MEASURE),
    (&["Timing O_DIRECT disk reads"], "hdparm's output", MEASURE),
    (&["records in", "records out"], "dd's output", MEASURE),
    (&["sysbench", "File operations"], "sysbench's output", MEASURE),
    (&["Iozone"], "iozone's output", MEASURE),
    (&["Bonnie++"], "bonnie++'s output", MEASURE),
    (&["ioping statistics"], "ioping's output", MEASURE),
    (&["Vdbench"], "vdbench's output", MEASURE),
    (&["vdbench"], "vdbench's output", MEASURE),
    (&["IOS/call=", "IOPS="], "the output of fio's t/io_uring", FIO),
    (&["<PhoronixTestSuite"], "a result of the Phoronix Test Suite", FIO),
    (&["Queue Depth/Thread", "Write %"], "a table of ezFIO", FIO),
    (&["IOR-", "Max Write"], "IOR's output", MEASURE),
    (&["mdtest-", "SUMMARY rate"], "mdtest's output", METADATA),
    (&["fio Disk Speed Tests"], "the output of YABS", FIO),
    (&["I/O Speed(1st run)"], "the output of bench.sh, which runs dd", MEASURE),
    (&["Windows System Assessment Tool"], "the output of winsat", MEASURE),
    (&["number of transactions actually processed", "tps ="], "pgbench's output", DATABASE),
    (&["filebench", "IO Summary"], "Filebench's output", MEASURE),
    (&["%util", "r/s"], "iostat's output", LOAD),
    (&["\"sysstat\"", "\"disk_device\""], "iostat's output", LOAD),
    (
        &["kB_read/s", "tps"],
        "iostat's output without -x, which does not state reads, writes and their sizes",
        "use the output of `iostat -x 1`",
    ),
];

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
        if crate::fio_text::is_terse_2(text) {
            return RecognisedFormat::Known(KnownFormat {
                name: "version 2 of fio's terse output",
                advice: "run fio with --output-format=json+, or with --terse-version=3",
            });
        }
        let first = text.trim_start().lines().next().unwrap_or_default();
        if crate::command_lines::is_command(first) {
            return RecognisedFormat::Known(KnownFormat {
                name: "a command line",
                advice: "it is a workload: `lanemark sim SYSTEM -- fio …`",
            });
        }
        if crate::fio::is_job_file(text) {
            return RecognisedFormat::Known(KnownFormat {
                name: "a fio job file",
                advice: WORKLOAD,
            });
        }
    }
    let head: &str = text.char_indices().nth(1 << 20).map_or(text, |(end, _)| &text[..end]);
    let known =
        KNOWN.iter().find(|(needles, ..)| needles.iter().all(|needle| head.contains(needle)));
    match known {
        Some(&(_, name, advice)) => RecognisedFormat::Known(KnownFormat { name, advice }),
        None if drives::is_ours(text) => RecognisedFormat::Known(DRIVES),
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
            ("", "unknown"),
            ("hello", "unknown"),
        ] {
            assert_eq!(format(text), expected, "{text}");
        }
    }
}

//! Writes a result in the format of the text that CrystalDiskMark 8 copies to the clipboard.
//!
//! Each line contains the kind of test, its size, depth and threads, MB/s of 10^6 bytes, requests a second, and the
//! mean latency. CrystalDiskMark prints the best of its repeats, and the best latency separately. Here each figure is
//! the median of the repeats, as the head of the text states.
//!
//! The comment, the fill level of the drive and the operating system are not written, because a result does not contain
//! them.

mod read;

use std::fmt::Write as _;

use lanemark_schema::result::{RunResult, Sample, Statistic, Target, TestResult};
use lanemark_schema::text::shown;
use lanemark_schema::workload::AverageMethod;

pub(crate) use read::{is_ours, read};

/// The line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// Carriage return and line feed, as CrystalDiskMark writes them.
    #[default]
    CrLf,
    /// Line feed, as on Unix.
    Lf,
}

const RULE: &str = "------------------------------------------------------------------------------";

/// Returns the result in CrystalDiskMark's layout.
pub fn write(run: &RunResult, end: LineEnd) -> String {
    let mut out = String::new();
    let repeats = run.tests.iter().map(|test| test.samples.len()).max().unwrap_or(0);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{RULE}");
    let _ = writeln!(
        out,
        "Lanemark {}, in the layout of CrystalDiskMark 8",
        shown(&run.provenance.version)
    );
    let _ = writeln!(out, "{RULE}");
    let _ = writeln!(out, "* Each figure is the median of the repeats, not the best of them");
    let _ = writeln!(out, "* MB/s = 1,000,000 bytes/s; KiB = 1024 bytes");
    let parts: [(&str, fn(&TestResult) -> bool); 3] = [
        ("Read", |result| result.test.reads() && !result.test.writes()),
        ("Write", |result| result.test.writes() && !result.test.reads()),
        ("Mix", |result| result.test.reads() && result.test.writes()),
    ];
    for (title, belongs) in parts {
        let mut tests = run.tests.iter().filter(|result| belongs(result)).peekable();
        let Some(first) = tests.peek() else { continue };
        let shares =
            first.test.read_share().filter(|_| title == "Mix").map(|share| 100.0 * share.get());
        let suffix =
            shares.map_or(String::new(), |share| format!(" R{share:.0}%/W{:.0}%", 100.0 - share));
        let _ = writeln!(out, "\n[{title}]{suffix}");
        for result in tests {
            let _ = writeln!(out, "{}", line(result));
        }
    }
    let target = match &run.target {
        Target::Measured(target) => {
            let size = target.size_bytes.map_or(String::new(), |size| format!(", {size}"));
            target.path.clone() + &size
        }
        Target::Simulated(target) => format!("{} (simulated)", target.system),
        Target::Database(target) => target.name.clone(),
    };
    let span = run.tests.iter().map(|result| result.test.span).max();
    let span = span.map_or(String::new(), |span| span.to_string());
    let _ = writeln!(out, "\nProfile: {}", shown(&run.workload.name));
    let _ = writeln!(out, "   Test: {span} (x{repeats}) [{}]", shown(&target));
    let _ = writeln!(out, "   Date: {}", shown(&run.provenance.started_at));
    match end {
        LineEnd::CrLf => out.replace('\n', "\r\n"),
        LineEnd::Lf => out,
    }
}

/// Returns a line such as `  SEQ    1MiB (Q=  8, T= 1):   561.163 MB/s [    535.2 IOPS] < 14911.81 us>`.
fn line(result: &TestResult) -> String {
    let test = &result.test;
    let median = |of: fn(&Sample) -> f64| {
        let values: Vec<f64> = result.samples.iter().map(of).collect();
        Statistic::from_values(&values, AverageMethod::Median).value
    };
    // The format cannot state that a value is unknown, so the columns are blank or contain a question mark.
    let kind = match test.order_word() {
        Some("sequential") => "SEQ",
        Some(_) => "RND",
        None => "   ",
    };
    let depth = test.queue_depth().map_or("?".to_owned(), |depth| depth.to_string());
    let block = test.block.get();
    let (size, unit) = match block {
        _ if block.is_multiple_of(1 << 20) => (block >> 20, "MiB"),
        _ if block.is_multiple_of(1 << 10) => (block >> 10, "KiB"),
        _ => (block, "B  "),
    };
    format!(
        "  {kind} {size:>4}{unit} (Q={depth:>3}, T={:>2}): {:>9.3} MB/s [{:>9.1} IOPS] <{:>9.2} us>",
        test.threads,
        median(|sample| sample.throughput().0 as f64 / 1e6),
        median(Sample::iops),
        median(|sample| sample.latency().mean_ns() / 1e3),
    )
}

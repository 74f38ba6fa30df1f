//! The output of `pg_test_fsync`, with which PostgreSQL compares ways to write durably.
//!
//! A line states the operations a second and, from version 9.5, their mean time. An operation consists of one or two
//! writes and the call that flushes them; the time of only the call is not printed. Each line becomes a test whose
//! request is one operation with all its bytes.

use lanemark_schema::result::{Sample, Warning};
use lanemark_schema::units::{Bytes, Duration, Ratio};

use crate::error::{FormatError, shown};
use crate::stated::{RATES_FOR, ReportedRun, ReportedTest, direction, nanoseconds, of_mean, time};
use crate::words::{number, whole_number};

/// Returns whether the text contains a table of `pg_test_fsync`.
pub(super) fn is_ours(text: &str) -> bool {
    text.contains("ops/sec")
        && ["Compare file sync methods", "Compare open_sync with different write sizes"]
            .iter()
            .any(|title| text.contains(title))
}

/// The writes of an operation.
#[derive(Clone, Copy, Debug)]
struct Writes {
    count: u32,
    kib: u32,
}

pub(super) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    let mut run = ReportedRun::new(file, "pg_test_fsync");
    let seconds = text.lines().find_map(|line| line.trim().strip_suffix("seconds per test"));
    let seconds = seconds.and_then(number).map(|(seconds, _)| seconds).filter(|all| *all >= 1.0);
    let stated = seconds.and_then(|seconds| time(seconds, 1.0).ok());
    let stated = stated.filter(|time| *time <= Duration::INPUT_MAX);
    let elapsed = stated.unwrap_or(RATES_FOR);
    let mut heading = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(writes) = heading_of(line) {
            heading = writes;
            continue;
        }
        let Some((label, rate)) = figures(line) else { continue };
        let wrong = |message: String| FormatError::at(file, index as u64 + 1, message);
        let Some(writes) = writes_of(label).or(heading) else { continue };
        let bytes = f64::from(writes.count) * f64::from(writes.kib) * 1024.0;
        let seconds = elapsed.as_seconds();
        let mean = line.split_once("ops/sec").and_then(|(_, rest)| number(rest));
        let mean = mean.filter(|(_, unit)| unit.trim_start().starts_with("usecs/op"));
        let mean_ns = mean.and_then(|(us, _)| nanoseconds(us, 1e3));
        let side = direction(rate * seconds * bytes, rate * seconds, |count| {
            of_mean(count, mean_ns, None, None)
        })
        .map_err(wrong)?;
        let sample = Sample { elapsed, writes: side, ..Sample::empty() };
        run.add(ReportedTest {
            read_share: Some(Ratio::ZERO),
            block: Some(Bytes(bytes as u64)),
            threads: Some(1),
            queue_depth: Some(1),
            duration: stated,
            ..ReportedTest::new(name(label, writes), sample)
        })?;
    }
    let program = "pg_test_fsync".to_owned();
    run.warnings.push(Warning::RatesOnly { program, time: elapsed });
    let note = "each request is an operation: the writes of a line and the call that flushes them";
    run.warnings.push(Warning::Imported { note: note.to_owned() });
    Ok(run)
}

/// Returns the writes of the lines below a heading; the inner value is absent below other headings.
fn heading_of(line: &str) -> Option<Option<Writes>> {
    if let Some((_, rest)) = line.split_once("Compare file sync methods using ") {
        let (count, rest) = rest.split_once(' ')?;
        let count = match count {
            "one" => 1,
            "two" => 2,
            _ => return Some(None),
        };
        return Some(kib(rest).map(|kib| Writes { count, kib }));
    }
    if let Some((_, rest)) = line.split_once("Non-sync'ed ") {
        return Some(kib(rest).map(|kib| Writes { count: 1, kib }));
    }
    let other = ["Compare open_sync", "Test if fsync on non-write"];
    if let Some(rest) = other.iter().find_map(|title| line.strip_prefix(title)) {
        // The lines of the last comparison write 8 KiB and flush through another descriptor.
        let writes = rest.contains("descriptor").then_some(Writes { count: 1, kib: 8 });
        return Some(writes);
    }
    None
}

/// Returns the size in `8kB write`, which is in units of 1024 bytes.
fn kib(text: &str) -> Option<u32> {
    let size = whole_number(text).filter(|kib| (1..=1024).contains(kib))?;
    text.trim_start()
        .trim_start_matches(|letter: char| letter.is_ascii_digit())
        .starts_with("kB")
        .then_some(size)
}

/// Returns the writes in a label such as `2 *  8kB open_sync writes`.
fn writes_of(label: &str) -> Option<Writes> {
    let (count, rest) = label.split_once('*')?;
    let count = count.trim().parse().ok().filter(|count| (1..=64).contains(count))?;
    Some(Writes { count, kib: kib(rest)? })
}

/// Returns the label and the operations a second in a line; `None` for a method that is not available.
fn figures(line: &str) -> Option<(&str, f64)> {
    let (before, _) = line.split_once("ops/sec")?;
    let (label, rate) = before.trim_end().rsplit_once(char::is_whitespace)?;
    let (rate, rest) = number(rate)?;
    (rest.is_empty() && !label.trim().is_empty()).then_some((label.trim(), rate))
}

/// Returns a name such as `8K write, fdatasync`.
fn name(label: &str, writes: Writes) -> String {
    let Writes { count, kib } = writes;
    match (label, count) {
        (label, _) if label.contains('*') => {
            shown(&label.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        ("write", _) => format!("{kib}K write, not flushed"),
        (label, 1) => format!("{kib}K write, {}", shown(label)),
        (label, count) => format!("{count} x {kib}K writes, {}", shown(label)),
    }
}

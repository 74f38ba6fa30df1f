//! Reads diskspd's text output.
//!
//! The tables `Total IO`, `Read IO` and `Write IO` end with a row `total:`; the head of the table names its columns.
//! The table of percentiles has rows for the minimum, the maximum, `25th` to `99th`, and `3-nines` for 99.9%.

use lanemark_schema::result::{DirectionResult, LatencyHistogram, Sample};
use lanemark_schema::units::Bytes;

use super::settings::TimeSpanSettings;
use crate::error::{FormatError, shown};
use crate::stated::{ReportedRun, ReportedTest, direction, nanoseconds, of_mean, time};
use crate::words::{number, size, utc};

/// Maximum number of percentiles that are read; the program prints up to 13.
const PERCENTILES_MAX: usize = 100;

/// Maximum number of files of one time span.
const FILES_MAX: usize = 1024;

/// The row `total:` of a table.
#[derive(Clone, Copy, Debug, Default)]
struct TotalRow {
    bytes: f64,
    requests: f64,
    mean_ns: Option<f64>,
}

/// Latencies in ns from one column of the table of percentiles.
#[derive(Clone, Debug, Default)]
struct LatencyColumn {
    min: Option<f64>,
    max: Option<f64>,
    stated: Vec<(f64, f64)>,
}

/// Returns whether the text is diskspd's output.
pub(crate) fn is_ours(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("Results for timespan")) && text.contains("Total IO")
}

/// Reads the text. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error if a time span does not state its time, or if figures cannot be read.
pub(crate) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    let mut run = ReportedRun::new(file, "diskspd");
    let command = text.lines().find_map(|line| line.trim_start().strip_prefix("Command Line:"));
    let (head, mut spans) = text.split_once("Results for timespan").unwrap_or((text, ""));
    let listed: Vec<Option<TimeSpanSettings>> = match head.split_once("Input parameters:") {
        Some((_, list)) => list.split("timespan:").skip(1).map(TimeSpanSettings::of_list).collect(),
        None => Vec::new(),
    };
    run.timestamp = head
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("start time:"))
        .filter(|time| time.contains("UTC"))
        .and_then(utc);
    let mut at = head.lines().count().max(1) as u64;
    for index in 0.. {
        let (span, rest) = spans.split_once("Results for timespan").unwrap_or((spans, ""));
        if span.trim().is_empty() {
            break;
        }
        let wrong = |message: String| FormatError::at(file, at, message);
        let settings = match listed.get(index) {
            Some(Some(settings)) => Some(settings.clone()),
            _ => command.map(TimeSpanSettings::of_command),
        };
        let sample = sample(span, settings.as_ref()).map_err(wrong)?;
        let mut test = ReportedTest::new(format!("timespan {}", index + 1), sample);
        let sizes = file_sizes(span);
        test.span = sizes.filter(|_| settings.is_none());
        if let Some(mut settings) = settings {
            settings.span = settings.span.or(sizes.map(|sizes| sizes.get() as f64));
            settings.describe(&mut test);
            settings.apply_to_run(&mut run);
            test.name = super::text::name(&settings, index);
        }
        run.add(test)?;
        at += span.lines().count().saturating_sub(1) as u64;
        spans = rest;
    }
    Ok(run)
}

/// Returns the name of a test in the form that the library's workloads use, such as `RND4K Q8T4 read`.
pub(super) fn name(settings: &TimeSpanSettings, index: usize) -> String {
    use lanemark_schema::workload::Pattern;
    let kind = match &settings.pattern {
        Some(Pattern::Sequential) => "SEQ",
        Some(_) => "RND",
        None => return format!("timespan {}", index + 1),
    };
    let (Some(block), Some(writes)) = (settings.block, settings.writes) else {
        return format!("timespan {}", index + 1);
    };
    let size = match block {
        _ if block % 1_048_576.0 == 0.0 => format!("{}M", block / 1_048_576.0),
        _ => format!("{}K", block / 1024.0),
    };
    let direction = match writes {
        0.0 => "read".to_owned(),
        100.0 => "write".to_owned(),
        writes => format!("R{}W{writes}", 100.0 - writes),
    };
    let queues = settings.depth.map_or(String::new(), |depth| format!("Q{depth}"));
    let threads = settings.threads.map_or(String::new(), |threads| format!("T{threads}"));
    format!("{kind}{size} {queues}{threads} {direction}")
}

fn sample(span: &str, settings: Option<&TimeSpanSettings>) -> Result<Sample, String> {
    let elapsed = span
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("actual test time:"))
        .and_then(number)
        .ok_or("a time span does not state `actual test time`")?;
    let mut sample = Sample { elapsed: time(elapsed.0, 1.0)?, ..Sample::empty() };
    let [total, reads, writes] =
        ["Total IO", "Read IO", "Write IO"].map(|title| table(span, title));
    let columns = percentiles(span)?;
    let side = |total: Option<Result<TotalRow, String>>, column: &str| {
        let Some(total) = total.transpose()? else { return Ok(None) };
        let latency_ms =
            columns.iter().find(|(name, _)| name == column).map(|(_, latency_ms)| latency_ms);
        direction(total.bytes, total.requests, |count| histogram(count, total.mean_ns, latency_ms))
    };
    if reads.is_some() || writes.is_some() {
        sample.reads = side(reads, "Read")?;
        sample.writes = side(writes, "Write")?;
    } else {
        let total: Option<DirectionResult> = side(total, "Total")?;
        match settings.and_then(|settings| settings.writes) {
            Some(0.0) => sample.reads = total,
            Some(100.0) => sample.writes = total,
            _ => sample.unified = total,
        }
    }
    match sample.operations() {
        0 => Err("a time span contains no requests".to_owned()),
        _ => Ok(sample),
    }
}

pub(super) fn histogram_of(
    count: u64,
    mean_ns: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    stated: &[(f64, f64)],
) -> LatencyHistogram {
    let (Some(mean), Some(min), Some(max)) = (mean_ns.filter(|mean| *mean > 0.0), min, max) else {
        return of_mean(count, mean_ns, min, max);
    };
    if stated.is_empty() || max <= 0.0 {
        return of_mean(count, mean_ns, Some(min), Some(max));
    }
    let stated: Vec<(f64, u64)> = stated.iter().map(|(at, ns)| (*at, *ns as u64)).collect();
    let min = min.min(mean).floor() as u64;
    let max = max.max(mean).ceil() as u64;
    LatencyHistogram::from_percentiles(stated, count, mean, min, max)
}

fn histogram(count: u64, mean_ns: Option<f64>, column: Option<&LatencyColumn>) -> LatencyHistogram {
    match column {
        None => of_mean(count, mean_ns, None, None),
        Some(column) => histogram_of(count, mean_ns, column.min, column.max, &column.stated),
    }
}

/// Returns the sum of the sizes of the files, which the rows of a time span name as in `test.dat (64GiB)`.
fn file_sizes(span: &str) -> Option<Bytes> {
    let mut files: Vec<(&str, u64)> = Vec::new();
    for line in span.lines().filter(|line| line.contains('|')) {
        let Some((name, bytes)) = line.rsplit('|').next().and_then(file_size) else { continue };
        if files.iter().all(|(other, _)| *other != name) && files.len() < FILES_MAX {
            files.push((name, bytes));
        }
    }
    let sum = files.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    (sum > 0).then_some(Bytes(sum))
}

/// Returns the name and the size in a cell such as `test.dat (64GiB)`.
fn file_size(cell: &str) -> Option<(&str, u64)> {
    let (name, bytes) = cell.trim().strip_suffix(')')?.rsplit_once(" (")?;
    let (bytes, rest) = size(bytes, false)?;
    (rest.is_empty() && (512.0..1e15).contains(&bytes)).then_some((name, bytes as u64))
}

/// Returns the row `total:` of the table with this title.
fn table(span: &str, title: &str) -> Option<Result<TotalRow, String>> {
    let mut lines = span.lines().map(str::trim).skip_while(|line| *line != title).skip(1);
    let head: Vec<&str> =
        lines.find(|line| line.contains('|'))?.split('|').map(str::trim).collect();
    let total =
        lines.take_while(|line| !line.is_empty()).find(|line| line.starts_with("total:"))?;
    let total = total.replacen(':', "|", 1);
    let cells: Vec<&str> = total.split('|').map(str::trim).collect();
    let cell = |name: &str| {
        let at = head.iter().position(|column| column.starts_with(name))?;
        number(cells.get(at)?).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number)
    };
    let both = cell("bytes").zip(cell("I/Os"));
    Some(
        both.ok_or_else(|| format!("`{}` of {title} does not contain figures", shown(&total))).map(
            |(bytes, requests)| {
                let mean_ns = cell("AvgLat").and_then(|ms| nanoseconds(ms, 1e6));
                TotalRow { bytes, requests, mean_ns }
            },
        ),
    )
}

/// Returns the columns of the last table of percentiles, each with the first word of its name.
fn percentiles(span: &str) -> Result<Vec<(String, LatencyColumn)>, String> {
    let lines: Vec<&str> = span.lines().map(str::trim).collect();
    let Some(head) = lines.iter().rposition(|line| line.starts_with("%-ile")) else {
        return Ok(Vec::new());
    };
    let names = lines[head].split('|').skip(1);
    let mut all: Vec<(String, LatencyColumn)> = names
        .take(8)
        .map(|name| {
            (name.split_whitespace().next().unwrap_or("").to_owned(), LatencyColumn::default())
        })
        .collect();
    for line in &lines[head + 1..] {
        if line.starts_with("--") {
            continue;
        }
        let mut cells = line.split('|').map(str::trim);
        let (Some(name), true) = (cells.next(), line.contains('|')) else { break };
        for ((_, column), cell) in all.iter_mut().zip(cells) {
            // A column without requests contains N/A.
            let Some((ms, _)) = number(cell) else { continue };
            let ns =
                nanoseconds(ms, 1e6).ok_or_else(|| format!("`{}` is not a time", shown(line)))?;
            match (name, percent(name)) {
                ("min", _) => column.min = Some(ns),
                ("max", _) => column.max = Some(ns),
                (_, Some(at)) if column.stated.len() < PERCENTILES_MAX => {
                    if column.stated.last().is_none_or(|(last, _)| *last < at) {
                        column.stated.push((at, ns));
                    }
                }
                _ => return Err(format!("`{}` is not a percentile", shown(name))),
            }
        }
    }
    Ok(all)
}

/// Returns the percentage in `25th` or `3-nines`.
fn percent(name: &str) -> Option<f64> {
    if let Some(nines) = name.strip_suffix("-nines") {
        let nines: i32 = nines.parse().ok().filter(|nines| (2..=12).contains(nines))?;
        return Some(100.0 - 100.0 * 10_f64.powi(-nines));
    }
    name.strip_suffix("th")?.parse().ok().filter(|percent| (0.0..100.0).contains(percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_are_percentages() {
        assert_eq!(percent("25th"), Some(25.0));
        assert!((percent("3-nines").unwrap() - 99.9).abs() < 1e-9);
        for name in ["max", "-1th", "99-nines", "x-nines", "100th", "th"] {
            assert_eq!(percent(name), None, "{name}");
        }
    }
}

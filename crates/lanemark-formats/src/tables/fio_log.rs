//! The logs that fio writes during a run (`write_bw_log`, `write_iops_log`, `write_lat_log`).
//!
//! A line contains the time in ms, a value, the direction, the size of the request and its offset. The name of the file
//! states the meaning of the value: KiB a second in `NAME_bw.1.log`, requests a second in `NAME_iops.1.log`, and ns in
//! `NAME_lat.1.log`, `NAME_clat.1.log` and `NAME_slat.1.log` (µs before version 3). A line of a rate is the mean over
//! the time since the previous line, or one request; a line of a latency is one request. With `log_avg_msec`, latencies
//! are means over an unknown number of requests and have the size 0; they are refused.

use lanemark_schema::pasted::after_prompt;
use lanemark_schema::result::{
    DirectionResult, LatencyHistogram, RatePhase, Sample, Series, SeriesPoint, Warning,
};
use lanemark_schema::units::{Bytes, Duration};

use crate::error::{FormatError, shown};
use crate::stated::{ReportedRun, ReportedTest, direction, time};

/// Maximum number of lines that are read.
const LINES_MAX: usize = 10_000_000;
/// Maximum number of points of the series.
const POINTS_MAX: usize = 1000;
/// The share of the logged rate that the sizes of the lines reach if each line is a request.
const EACH_REQUEST: f64 = 0.3;
/// Maximum value of a latency in ns: 200 days.
const NS_MAX: u64 = 200 * 86_400 * 1_000_000_000;

/// The meaning of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogKind {
    Bandwidth,
    Iops,
    Latency,
}

#[derive(Clone, Copy, Debug)]
struct LogLine {
    milliseconds: u64,
    value: u64,
    direction: usize,
    block: u64,
    /// Whether the line has four fields, as in fio 2, whose latencies are in µs.
    is_old: bool,
}

/// The bytes and requests that a line adds to its instant.
#[derive(Clone, Copy, Debug)]
struct Amount {
    seconds: f64,
    bytes: f64,
    requests: f64,
    latency_ns: Option<u64>,
}

/// Returns whether the first lines are lines of a log.
pub(super) fn is_ours(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !is_aside(line)).take(20).peekable();
    lines.peek().is_some() && lines.all(|line| LogLine::read(line).is_some())
}

/// Returns whether a line is empty or the command that printed the log on a terminal.
fn is_aside(line: &str) -> bool {
    line.trim().is_empty() || after_prompt(line).is_some()
}

/// Reads the text. `file` determines the meaning of the values.
pub(super) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    let kind = kind(file).ok_or_else(|| {
        FormatError::file(file, "is a log of fio, whose name states neither `bw`, `iops` nor `lat`")
            .hint("name it as fio does, such as NAME_bw.1.log, or read the JSON of the run")
    })?;
    let mut lines: Vec<LogLine> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !is_aside(line)) {
        let wrong = |message: String| FormatError::at(file, index as u64 + 1, message);
        let line = LogLine::read(line)
            .ok_or_else(|| wrong(format!("`{}` is not a line of a log of fio", shown(line))))?;
        if lines.len() >= LINES_MAX {
            return Err(wrong(format!("more than {LINES_MAX} lines")));
        }
        lines.push(line);
    }
    if kind == LogKind::Latency && lines.iter().any(|line| line.block == 0) {
        let error =
            FormatError::file(file, "its latencies are means over intervals (log_avg_msec)");
        return Err(error.hint("read the JSON of the run, which has the numbers of requests"));
    }
    if lines.iter().all(|line| line.block == 0) {
        let error = FormatError::file(file, "it does not state the sizes of the requests");
        return Err(error.hint("read the JSON of the run, or write the log without log_avg_msec"));
    }
    lines.sort_by_key(|line| line.milliseconds);
    let sample = sample(&lines, kind).map_err(|message| FormatError::file(file, message))?;
    let mut run = ReportedRun::new(file, "fio");
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    run.add(ReportedTest::new(shown(name), sample))?;
    let what = match kind {
        LogKind::Bandwidth => "rates; numbers of requests are computed from the request size",
        LogKind::Iops => "requests a second; bytes are computed from the request size",
        LogKind::Latency => "each request with its latency",
    };
    let note = format!("a log of one job over time: {what}");
    run.warnings.push(Warning::Imported { note });
    Ok(run)
}

/// Returns the meaning of the values from a name such as `fio_bw.1.log`.
fn kind(file: &str) -> Option<LogKind> {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.rev().find_map(|word| match word {
        "bw" => Some(LogKind::Bandwidth),
        "iops" => Some(LogKind::Iops),
        "lat" | "clat" | "slat" => Some(LogKind::Latency),
        _ => None,
    })
}

impl LogLine {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split(',').map(str::trim);
        let mut number = || fields.next()?.parse::<u64>().ok();
        let milliseconds = number()?;
        let value = number()?;
        let direction = number()?;
        let block = number()?;
        // The offset, the priority and the time of issue follow since version 3.
        let further = fields.count();
        let fits = direction <= 2 && milliseconds <= 17_280_000_000 && block <= 1 << 40;
        (fits && further <= 4).then_some(Self {
            milliseconds,
            value,
            direction: direction as usize,
            block,
            is_old: further == 0,
        })
    }
}

fn sample(lines: &[LogLine], kind: LogKind) -> Result<Sample, String> {
    let end = lines.last().map_or(0, |line| line.milliseconds);
    let elapsed = time(end.max(1) as f64, 1e-3)?;
    let sides: Vec<Vec<Amount>> = (0..3)
        .map(|side| {
            let own: Vec<LogLine> =
                lines.iter().filter(|line| line.direction == side).copied().collect();
            amounts(&own, kind, elapsed.as_seconds())
        })
        .collect();
    let mut results = Vec::new();
    for side in &sides {
        results.push(total(side)?);
    }
    let series = series(&sides, elapsed);
    let mut results = results.into_iter();
    let mut next = || results.next().flatten();
    let reads = next();
    let writes = next();
    let phases = series.as_ref().map_or_else(Vec::new, phases);
    Ok(Sample { elapsed, reads, writes, trims: next(), series, phases, ..Sample::empty() })
}

/// Minimum number of points of a phase.
const PHASE_POINTS: usize = 2;
/// Minimum ratio of the rates of two phases.
const PHASE_RATIO: f64 = 1.5;
/// Minimum share of the variance of the rate that two phases must explain.
const PHASE_SHARE: f64 = 0.75;

/// Returns the time before and the time after the largest step of the rate; empty if the step is not clear. The step
/// is at the point that minimises the variance within the two phases.
fn phases(series: &Series) -> Vec<RatePhase> {
    let rates: Vec<f64> = series.points.iter().map(|point| point.requests() as f64).collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let count = rates.len();
    let all = mean(&rates);
    let total: f64 = rates.iter().map(|rate| (rate - all).powi(2)).sum();
    let mut sum: f64 = rates.iter().take(PHASE_POINTS.saturating_sub(1)).sum();
    let mut best = (0.0, 0);
    for at in PHASE_POINTS..count.saturating_sub(PHASE_POINTS - 1) {
        sum += rates[at - 1];
        let before = sum / at as f64;
        let after = (all * count as f64 - sum) / (count - at) as f64;
        let explained =
            at as f64 * (before - all).powi(2) + (count - at) as f64 * (after - all).powi(2);
        if explained > best.0 {
            best = (explained, at);
        }
    }
    let (explained, at) = best;
    if at == 0 || explained < PHASE_SHARE * total {
        return Vec::new();
    }
    let before = mean(&rates[..at]);
    let after = mean(&rates[at..]);
    if before.max(after) < PHASE_RATIO * before.min(after) {
        return Vec::new();
    }
    let seconds = series.interval.as_seconds();
    let until = Duration::from_picoseconds(series.interval.picoseconds() * at as u64);
    [(until, before), (series.elapsed(), after)]
        .map(|(until, requests)| RatePhase { until, iops: requests / seconds, ended_by: None })
        .to_vec()
}

/// Returns the amounts of the lines of one direction.
fn amounts(lines: &[LogLine], kind: LogKind, seconds: f64) -> Vec<Amount> {
    let mut before = 0;
    let mut all: Vec<(f64, LogLine)> = Vec::with_capacity(lines.len());
    for line in lines {
        all.push(((line.milliseconds - before) as f64 / 1e3, *line));
        before = line.milliseconds;
    }
    let rate = |(over, line): &(f64, LogLine)| line.value as f64 * over;
    let logged: f64 = all.iter().map(rate).sum::<f64>() / seconds;
    let (of_lines, logged) = match kind {
        LogKind::Bandwidth => {
            (lines.iter().map(|line| line.block as f64).sum::<f64>() / seconds, logged * 1024.0)
        }
        LogKind::Iops => (lines.len() as f64 / seconds, logged),
        LogKind::Latency => (1.0, 1.0),
    };
    let each = of_lines >= EACH_REQUEST * logged;
    let amount = |(over, line): (f64, LogLine)| {
        let block = line.block as f64;
        let at = line.milliseconds as f64 / 1e3;
        let ns = line.value.saturating_mul(if line.is_old { 1000 } else { 1 });
        let latency_ns = (kind == LogKind::Latency).then_some(ns);
        if each {
            return Amount { seconds: at, bytes: block, requests: 1.0, latency_ns };
        }
        let (bytes, requests) = match kind {
            LogKind::Bandwidth => {
                let bytes = line.value as f64 * 1024.0 * over;
                (bytes, if line.block > 0 { bytes / block } else { 0.0 })
            }
            LogKind::Iops | LogKind::Latency => {
                let requests = line.value as f64 * over;
                (requests * block, requests)
            }
        };
        Amount { seconds: at, bytes, requests, latency_ns }
    };
    all.into_iter().map(amount).collect()
}

fn total(side: &[Amount]) -> Result<Option<DirectionResult>, String> {
    if side.is_empty() {
        return Ok(None);
    }
    let bytes: f64 = side.iter().map(|amount| amount.bytes).sum();
    let requests: f64 = side.iter().map(|amount| amount.requests).sum();
    if requests < 0.5 && bytes > 0.0 {
        return Err("the log states no request sizes, so its requests cannot be counted".to_owned());
    }
    if side.iter().any(|amount| amount.latency_ns.is_some_and(|ns| ns > NS_MAX)) {
        return Err("a latency is longer than 200 days".to_owned());
    }
    direction(bytes, requests, |count| {
        if side.iter().all(|amount| amount.latency_ns.is_none()) {
            return LatencyHistogram::unmeasured(count);
        }
        let latencies = || side.iter().filter_map(|amount| amount.latency_ns);
        let mean = latencies().map(|ns| ns as f64).sum::<f64>() / count.max(1) as f64;
        let least = latencies().min().unwrap_or(0);
        let most = latencies().max().unwrap_or(0);
        LatencyHistogram::from_bins(latencies().map(|ns| (ns, 1)), mean, least, most)
    })
}

/// Returns the amounts of both directions in equal intervals; `None` if there is only one line.
fn series(sides: &[Vec<Amount>], elapsed: Duration) -> Option<Series> {
    let lines = sides[..2].iter().map(Vec::len).max().unwrap_or(0);
    let count = lines.min(POINTS_MAX);
    if count < 2 {
        return None;
    }
    let interval = Duration::from_picoseconds(elapsed.picoseconds().div_ceil(count as u64));
    let mut points = vec![SeriesPoint::default(); count];
    let mut sums = vec![0.0; count];
    for (side, amounts) in sides[..2].iter().enumerate() {
        // Rounding each sum instead of each amount keeps the total.
        let mut bytes = vec![0.0; count];
        let mut requests = vec![0.0; count];
        for amount in amounts {
            // A line ends its interval.
            let at = (amount.seconds / interval.as_seconds()).ceil() as usize;
            let at = at.clamp(1, count) - 1;
            bytes[at] += amount.bytes;
            requests[at] += amount.requests;
            if let Some(ns) = amount.latency_ns {
                sums[at] += ns as f64;
                points[at].latency_max_ns = points[at].latency_max_ns.max(ns);
            }
        }
        for (at, point) in points.iter_mut().enumerate() {
            let bytes = Bytes(bytes[at].round() as u64);
            let requests = requests[at].round() as u64;
            if side == 0 {
                point.read_bytes = bytes;
                point.reads = requests;
            } else {
                point.written_bytes = bytes;
                point.writes = requests;
            }
        }
    }
    for (point, sum) in points.iter_mut().zip(sums) {
        if point.requests() > 0 {
            point.latency_mean_ns = sum / point.requests() as f64;
        }
    }
    let before = interval.picoseconds().saturating_mul(count as u64 - 1);
    let last = Duration::from_picoseconds(elapsed.picoseconds().saturating_sub(before).max(1));
    Some(Series { interval, last, points })
}

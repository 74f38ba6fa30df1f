//! The logs that fio writes during a run (`write_bw_log`, `write_iops_log`, `write_lat_log`).
//!
//! A line contains the time in ms, a value, the direction, the size of the request and its offset. The name of the file
//! states the meaning of the value: KiB a second in `NAME_bw.1.log`, requests a second in `NAME_iops.1.log`, and ns in
//! `NAME_lat.1.log`, `NAME_clat.1.log` and `NAME_slat.1.log` (µs before version 3). A line of a rate is the mean over
//! the time since the previous line, or one request; a line of a latency is one request. With `log_avg_msec`, each line
//! is a mean over an interval and has the size 0. Such logs are read only together: `bw` has the bytes, `iops` the
//! requests, and `lat` or `clat`, if there is one, their latency.

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
/// Minimum interval of a log of mean latencies, in ms.
const REGULAR_MS: u64 = 100;
/// Maximum value of a latency in ns: 200 days.
const NS_MAX: u64 = 200 * 86_400 * 1_000_000_000;

/// The meaning of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogKind {
    Bandwidth,
    Iops,
    Latency(LatencyPart),
}

/// The part of a request that a log of latencies measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LatencyPart {
    Total,
    Completion,
    Submission,
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
    /// Whether the latency is a mean.
    is_mean: bool,
}

/// Returns whether a file has the name of a log.
pub(crate) fn is_name(file: &str) -> bool {
    file.ends_with(".log") && kind_and_job(file).is_some()
}

/// Returns whether the first lines are lines of a log.
pub(crate) fn is_ours(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !is_aside(line)).take(20).peekable();
    lines.peek().is_some() && lines.all(|line| LogLine::read(line).is_some())
}

/// Returns whether a line is empty or the command that printed the log on a terminal.
fn is_aside(line: &str) -> bool {
    line.trim().is_empty() || after_prompt(line).is_some()
}

/// A log of one job.
#[derive(Clone, Debug)]
pub(crate) struct FioLog {
    file: String,
    kind: LogKind,
    /// In the order of their times.
    lines: Vec<LogLine>,
}

impl FioLog {
    /// Reads the text. `file` determines the meaning of the values.
    pub(crate) fn read(text: &str, file: &str) -> Result<Self, FormatError> {
        let (kind, _) = kind_and_job(file).ok_or_else(|| {
            let message = "is a log of fio, whose name states neither `bw`, `iops` nor `lat`";
            FormatError::file(file, message)
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
        lines.sort_by_key(|line| line.milliseconds);
        Ok(Self { file: file.to_owned(), kind, lines })
    }

    /// Returns the name of the file without the kind, which the logs of one job share.
    fn job(&self) -> String {
        kind_and_job(&self.file).map_or_else(String::new, |(_, job)| job)
    }

    /// Returns whether the lines are means over intervals, and therefore do not state the requests.
    fn is_averaged(&self) -> bool {
        match self.kind {
            LogKind::Bandwidth | LogKind::Iops => self.lines.iter().all(|line| line.block == 0),
            LogKind::Latency(_) => {
                self.lines.iter().any(|line| line.block == 0)
                    || (0..3).all(|side| {
                        let own = self.of_direction(side);
                        own.is_empty() || is_regular(&own)
                    })
            }
        }
    }

    /// Returns the lines of one direction.
    fn of_direction(&self, side: usize) -> Vec<LogLine> {
        self.lines.iter().filter(|line| line.direction == side).copied().collect()
    }
}

/// Returns whether lines of one direction are at the multiples of an interval, as with `log_avg_msec`.
fn is_regular(lines: &[LogLine]) -> bool {
    let step = lines.first().map_or(0, |line| line.milliseconds);
    let is_due = |(at, line): (usize, &LogLine)| {
        line.milliseconds.abs_diff((at as u64 + 1) * step) <= step / 50
    };
    step >= REGULAR_MS && lines.len() > 1 && lines.iter().enumerate().all(is_due)
}

/// Returns the line whose time is nearest. `lines` is sorted.
fn nearest(lines: &[LogLine], milliseconds: u64) -> Option<&LogLine> {
    let after = lines.partition_point(|line| line.milliseconds < milliseconds);
    let both = lines[after.saturating_sub(1)..].iter().take(2);
    both.min_by_key(|line| line.milliseconds.abs_diff(milliseconds))
}

/// Returns the runs that logs describe: the averaged logs of one job form one run, any other log is a run by itself.
///
/// # Errors
/// Returns an error for each averaged log without the other logs of its job.
pub(crate) fn runs(logs: Vec<FioLog>) -> Vec<Result<ReportedRun, FormatError>> {
    let mut jobs: Vec<Vec<FioLog>> = Vec::new();
    for log in logs {
        match jobs.iter_mut().find(|job| job[0].job() == log.job()) {
            Some(job) => job.push(log),
            None => jobs.push(vec![log]),
        }
    }
    let runs = jobs.into_iter().flat_map(|logs| {
        let (empty, job): (Vec<FioLog>, Vec<FioLog>) =
            logs.into_iter().partition(|log| log.lines.is_empty());
        if job.is_empty() {
            return empty.iter().map(|log| Err(FormatError::empty(&log.file))).collect();
        }
        if job.iter().any(FioLog::is_averaged) {
            return vec![averaged_run(&job)];
        }
        job.iter().map(log_run).collect()
    });
    runs.collect()
}

/// Returns the run of a log that states the requests.
fn log_run(log: &FioLog) -> Result<ReportedRun, FormatError> {
    let what = match log.kind {
        LogKind::Bandwidth => "rates; numbers of requests are computed from the request size",
        LogKind::Iops => "requests a second; bytes are computed from the request size",
        LogKind::Latency(LatencyPart::Submission) => {
            let error = FormatError::file(&log.file, "states only the times of submission");
            return Err(error.hint("read the log of latencies, NAME_lat.1.log or NAME_clat.1.log"));
        }
        LogKind::Latency(LatencyPart::Total | LatencyPart::Completion) => {
            "each request with its latency"
        }
    };
    let sides = [0, 1, 2].map(|side| amounts(&log.of_direction(side), log.kind));
    run(&log.file, &log.lines, &sides, what)
}

/// Returns the run of the averaged logs of one job.
fn averaged_run(job: &[FioLog]) -> Result<ReportedRun, FormatError> {
    let of = |kind: LogKind| job.iter().find(|log| log.kind == kind);
    let (Some(bandwidth), Some(iops)) = (of(LogKind::Bandwidth), of(LogKind::Iops)) else {
        let message =
            "its lines are means over intervals (log_avg_msec), so both logs of rates are required";
        let hint = "name both logs of the run, such as `lanemark report NAME_bw.1.log \
                    NAME_iops.1.log`, or read the JSON of the run";
        return Err(FormatError::file(&job[0].file, message).hint(hint));
    };
    let latency = of(LogKind::Latency(LatencyPart::Total))
        .or_else(|| of(LogKind::Latency(LatencyPart::Completion)));
    let sides = [0, 1, 2].map(|side| {
        let bytes = bandwidth.of_direction(side);
        let latencies = latency.map_or_else(Vec::new, |log| log.of_direction(side));
        let amount = |(over, line): (f64, LogLine)| Amount {
            seconds: line.milliseconds as f64 / 1e3,
            bytes: nearest(&bytes, line.milliseconds)
                .map_or(0.0, |near| near.value as f64 * 1024.0 * over),
            requests: line.value as f64 * over,
            latency_ns: nearest(&latencies, line.milliseconds).map(LogLine::latency_ns),
            is_mean: true,
        };
        with_time_since(iops.of_direction(side).into_iter()).map(amount).collect()
    });
    let all = run(&iops.file, &iops.lines, &sides, "means over intervals")?;
    let used = [Some(bandwidth), latency].into_iter().flatten();
    Ok(ReportedRun { further_files: used.map(|log| log.file.clone()).collect(), ..all })
}

fn run(
    file: &str,
    lines: &[LogLine],
    sides: &[Vec<Amount>; 3],
    what: &str,
) -> Result<ReportedRun, FormatError> {
    let sample = sample(lines, sides).map_err(|message| FormatError::file(file, message))?;
    let mut run = ReportedRun::new(file, "fio");
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    run.add(ReportedTest::new(shown(name), sample))?;
    let note = format!("a log of one job over time: {what}");
    run.warnings.push(Warning::Imported { note });
    Ok(run)
}

/// Returns the meaning of the values from a name such as `fio_bw.1.log`, and the name without it.
fn kind_and_job(file: &str) -> Option<(LogKind, String)> {
    let folder = file.len() - file.rsplit(['/', '\\']).next().unwrap_or(file).len();
    let words = file[folder..].split(|letter: char| !letter.is_ascii_alphanumeric());
    words.rev().find_map(|word| {
        let kind = match word {
            "bw" => LogKind::Bandwidth,
            "iops" => LogKind::Iops,
            "lat" => LogKind::Latency(LatencyPart::Total),
            "clat" => LogKind::Latency(LatencyPart::Completion),
            "slat" => LogKind::Latency(LatencyPart::Submission),
            _ => return None,
        };
        let at = word.as_ptr() as usize - file.as_ptr() as usize;
        Some((kind, format!("{}{}", &file[..at], &file[at + word.len()..])))
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

    fn latency_ns(&self) -> u64 {
        self.value.saturating_mul(if self.is_old { 1000 } else { 1 })
    }
}

fn sample(lines: &[LogLine], sides: &[Vec<Amount>; 3]) -> Result<Sample, String> {
    let end = lines.last().map_or(0, |line| line.milliseconds);
    let elapsed = time(end.max(1) as f64, 1e-3)?;
    let mut results = Vec::new();
    for side in sides {
        results.push(total(side)?);
    }
    let series = series(sides, elapsed);
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
fn amounts(lines: &[LogLine], kind: LogKind) -> Vec<Amount> {
    let all: Vec<(f64, LogLine)> = with_time_since(lines.iter().copied()).collect();
    // The lines of a log without averaging are requests. A bandwidth is then the request's bytes over its own latency.
    let each = match kind {
        LogKind::Bandwidth => !is_regular(lines),
        LogKind::Iops => lines.iter().all(|line| line.value <= 1),
        LogKind::Latency(_) => true,
    };
    let amount = |(over, line): (f64, LogLine)| {
        let block = line.block as f64;
        let at = line.milliseconds as f64 / 1e3;
        if each {
            let latency_ns = matches!(kind, LogKind::Latency(_)).then(|| line.latency_ns());
            return Amount { seconds: at, bytes: block, requests: 1.0, latency_ns, is_mean: false };
        }
        let (bytes, requests) = match kind {
            LogKind::Bandwidth => {
                let bytes = line.value as f64 * 1024.0 * over;
                (bytes, if line.block > 0 { bytes / block } else { 0.0 })
            }
            LogKind::Iops | LogKind::Latency(_) => {
                let requests = line.value as f64 * over;
                (requests * block, requests)
            }
        };
        Amount { seconds: at, bytes, requests, latency_ns: None, is_mean: false }
    };
    all.into_iter().map(amount).collect()
}

/// Returns lines of one direction, each with the seconds since the previous line.
fn with_time_since(lines: impl Iterator<Item = LogLine>) -> impl Iterator<Item = (f64, LogLine)> {
    lines.scan(0, |before, line| {
        let over = (line.milliseconds - *before) as f64 / 1e3;
        *before = line.milliseconds;
        Some((over, line))
    })
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
        let timed = side.iter().filter_map(|one| Some((one.latency_ns? as f64, one.requests)));
        let (sum, timed) = timed.fold((0.0, 0.0), |(sum, timed), (ns, requests)| {
            (sum + ns * requests, timed + requests)
        });
        let mean = sum / timed.max(1.0);
        if side.iter().any(|amount| amount.is_mean) {
            return LatencyHistogram::from_mean(count, mean, None, None);
        }
        let latencies = || side.iter().filter_map(|amount| amount.latency_ns);
        let least = latencies().min().unwrap_or(0);
        let most = latencies().max().unwrap_or(0);
        LatencyHistogram::from_bins(latencies().map(|ns| (ns, 1)), mean, least, most)
    })
}

/// Returns the amounts of both directions in equal intervals, unless there is only one line.
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
                sums[at] += ns as f64 * amount.requests;
                if !amount.is_mean {
                    points[at].latency_max_ns = points[at].latency_max_ns.max(ns);
                }
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

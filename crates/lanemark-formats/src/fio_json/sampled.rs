//! The figures of a job in fio's JSON, of version 2 or 3, as a sample.
//!
//! Version 3 counts bytes in `io_bytes` and nanoseconds in `clat_ns`; version 2 counts KiB in `io_bytes` and
//! microseconds in `clat`. A direction's latencies are its `lat_ns` if that has bins or percentiles
//! (`lat_percentiles=1`). Otherwise they are its `clat_ns`, which does not include the time in which a request is
//! submitted.

use lanemark_schema::result::{
    CpuUse, DirectionResult, ErrorCount, ErrorKind, LatencyHistogram, RequestErrors, Sample,
};
use lanemark_schema::units::{Bytes, Duration};
use serde_json::Value;

/// Counts beyond this are not counts of requests.
const COUNT_MAX: u64 = 1 << 53;
/// One exbibyte, so that the sum of reads and writes does not overflow.
const BYTES_MAX: u64 = 1 << 60;

/// A direction as read.
struct Direction {
    result: DirectionResult,
    runtime: Duration,
    /// The mean time of submission, if the latencies do not include it.
    submission_ns: Option<f64>,
}

/// The content of one entry of `jobs`.
pub(super) struct Sampled {
    pub(super) sample: Sample,
    /// The maximum mean time of submission that the latencies do not include.
    pub(super) submission_ns: Option<f64>,
    /// Whether processor time is a share of the time of one clone, as in versions before 3.5.
    pub(super) cpu_of_one: bool,
}

/// Reads an entry of `jobs`; the error names the key of an invalid value.
pub(super) fn read(job: &Value) -> Result<Sampled, String> {
    let side = |name: &str| match job.get(name) {
        None => Ok(None),
        Some(value) => direction(value).map_err(|wrong| format!("{name}: {wrong}")),
    };
    let (reads, writes, trims) = (side("read")?, side("write")?, side("trim")?);
    let unified = side("mixed")?;
    let flushes = flushes(job).map_err(|wrong| format!("sync: {wrong}"))?;
    if ["read", "write", "mixed"].iter().all(|key| job.get(key).is_none()) {
        return Err("it contains neither read nor write".to_owned());
    }
    // With unified_rw_reporting=both fio prints the directions and their sum.
    let unified = unified.filter(|_| reads.is_none() && writes.is_none());
    let all = || [&reads, &writes, &unified, &trims].into_iter().flatten();
    let elapsed = all().map(|side| side.runtime).max().unwrap_or(Duration::ZERO);
    let submission_ns = all().filter_map(|side| side.submission_ns).max_by(f64::total_cmp);
    let failed = job.get("error").and_then(Value::as_i64).is_some_and(|error| error != 0);
    let mut sample =
        Sample { elapsed, flushes, errors: errors(job)?, complete: !failed, ..Sample::empty() };
    [sample.reads, sample.writes, sample.unified, sample.trims] =
        [reads, writes, unified, trims].map(|side| side.map(|side| side.result));
    sample.cpu = cpu(job, &sample);
    let cpu_of_one = job.get("job_runtime").is_none();
    Ok(Sampled { sample, submission_ns, cpu_of_one })
}

/// Returns the failed requests. If a job continues after errors (`continue_on_error`), fio prints their count and only
/// the number of the first error. Otherwise it prints the error that ended the job.
fn errors(job: &Value) -> Result<RequestErrors, String> {
    let number = |key: &str| match job.get(key) {
        None => Ok(0),
        Some(value) => {
            let number = value.as_i64().map(i64::unsigned_abs);
            number
                .filter(|number| *number <= COUNT_MAX)
                .ok_or_else(|| format!("{key}: not a count"))
        }
    };
    let (ended, first) = (number("error")?, number("first_error")?);
    let requests = number("total_err")?.max(u64::from(ended > 0));
    let mut errors = RequestErrors::default();
    if requests > 0 {
        let errno = [first, ended].into_iter().find(|&errno| errno > 0);
        let errno = errno.and_then(|errno| u32::try_from(errno).ok());
        let kind = errno.map_or(ErrorKind::Other, ErrorKind::of_errno);
        errors.add(ErrorCount { kind, errno, requests });
    }
    Ok(errors)
}

/// Adds the figures of a clone.
pub(crate) fn add(sample: &mut Sample, other: &Sample) {
    let operations = (sample.operations() as f64, other.operations() as f64);
    sample.cpu = match (sample.cpu, other.cpu) {
        (Some(a), Some(b)) if operations.0 + operations.1 > 0.0 => {
            let mean = |a: f64, b: f64| {
                (a * operations.0 + b * operations.1) / (operations.0 + operations.1)
            };
            Some(CpuUse {
                user_ns_per_request: mean(a.user_ns_per_request, b.user_ns_per_request),
                system_ns_per_request: mean(a.system_ns_per_request, b.system_ns_per_request),
            })
        }
        (a, b) => a.or(b),
    };
    sample.elapsed = sample.elapsed.max(other.elapsed);
    sample.complete &= other.complete;
    sample.errors.merge(&other.errors);
    for (sum, more) in [
        (&mut sample.reads, &other.reads),
        (&mut sample.writes, &other.writes),
        (&mut sample.unified, &other.unified),
        (&mut sample.trims, &other.trims),
        (&mut sample.flushes, &other.flushes),
    ] {
        match (sum, more) {
            (Some(sum), Some(more)) => {
                sum.bytes = Bytes((sum.bytes.get() + more.bytes.get()).min(BYTES_MAX));
                sum.latency.merge(&more.latency);
            }
            (sum @ None, Some(more)) => *sum = Some(more.clone()),
            (_, None) => {}
        }
    }
}

fn direction(value: &Value) -> Result<Option<Direction>, String> {
    let count = match whole(value, "total_ios")? {
        Some(count) => count,
        None => [value.get("clat_ns"), value.get("clat")]
            .into_iter()
            .flatten()
            .find_map(|clat| whole(clat, "N").ok().flatten())
            .unwrap_or(0),
    };
    if count == 0 {
        return Ok(None);
    }
    let kib = value.get("io_kbytes").is_none() && value.get("clat_ns").is_none();
    let bytes = whole(value, "io_bytes")?.ok_or("`io_bytes` is missing")?;
    let bytes = if kib { bytes.saturating_mul(1024) } else { bytes };
    if bytes > BYTES_MAX {
        return Err("io_bytes: is impossibly large".to_owned());
    }
    let runtime = whole(value, "runtime")?.unwrap_or(0);
    let runtime = runtime.checked_mul(1_000_000_000).ok_or("runtime: is longer than 200 days")?;
    let latency = latency(value, count)?;
    Ok(Some(Direction {
        result: DirectionResult { bytes: Bytes(bytes), latency: latency.histogram },
        runtime: Duration::from_picoseconds(runtime),
        submission_ns: latency.submission_ns,
    }))
}

struct Latency {
    histogram: LatencyHistogram,
    submission_ns: Option<f64>,
}

fn latency(value: &Value, count: u64) -> Result<Latency, String> {
    // The key, its unit in ns, and whether its time begins at the submission.
    let kinds =
        [("lat_ns", 1.0, true), ("lat", 1e3, true), ("clat_ns", 1.0, false), ("clat", 1e3, false)];
    let has = |(key, ..): &(&str, f64, bool), part: &str| {
        let part = value.get(key).and_then(|kind| kind.get(part)).and_then(Value::as_object);
        part.is_some_and(|part| !part.is_empty())
    };
    // fio prints zeros for a kind that was not measured (gtod_reduce, disable_lat, disable_clat).
    let measured = |(key, ..): &(&str, f64, bool)| {
        let most = value.get(key).and_then(|kind| kind.get("max")).and_then(Value::as_f64);
        most.is_some_and(|most| most > 0.0)
    };
    let with = |part: &str| kinds.iter().find(|kind| has(kind, part) && measured(kind));
    let of = with("bins").or_else(|| with("percentile"));
    let of = of.or_else(|| kinds.iter().find(|kind| measured(kind)));
    let of = of.or_else(|| kinds.iter().find(|(key, ..)| value.get(key).is_some()));
    let Some(&(key, unit, from_submission)) = of else {
        return Err("clat_ns, lat_ns, clat and lat are missing".to_owned());
    };
    let part = &value[key];
    let number = |name: &str| {
        let number = part.get(name).and_then(Value::as_f64).filter(|number| *number >= 0.0);
        number.map(|number| number * unit).ok_or(format!("{key}.{name}: is not a time"))
    };
    let (least, most) = (number("min")? as u64, number("max")? as u64);
    let mean = number("mean")?;
    if most == 0 && mean == 0.0 {
        return Ok(Latency { histogram: LatencyHistogram::unmeasured(count), submission_ns: None });
    }
    let (least, most) = (least.min(most), most);
    let mean = mean.clamp(least as f64, most as f64);
    let submission = value.get("slat_ns").and_then(|slat| slat.get("mean")).and_then(Value::as_f64);
    let submission_ns = submission.filter(|slat| !from_submission && *slat > 0.0);
    let stated = percentiles(part, unit);
    let histogram = match part.get("bins") {
        Some(Value::Object(bins)) if !bins.is_empty() => {
            let bins = whole_bins(bins, key, unit)?.into_iter();
            let bins = bins.map(|(latency, count)| (latency.clamp(least, most), count));
            LatencyHistogram::from_bins(bins, mean, least, most).with_stated(stated)
        }
        _ => LatencyHistogram::from_percentiles(stated, count, mean, least, most),
    };
    if histogram.count() == 0 {
        return Err(format!("{key}.bins: is empty, but total_ios is {count}"));
    }
    Ok(Latency { histogram, submission_ns })
}

/// Returns the bins of json+: the latency in the middle of each, and its count.
fn whole_bins(
    bins: &serde_json::Map<String, Value>,
    key: &str,
    unit: f64,
) -> Result<Vec<(u64, u64)>, String> {
    let mut all = Vec::new();
    let mut sum: u64 = 0;
    for (latency, count) in bins {
        let read = latency.parse::<u64>().ok().zip(count.as_u64());
        let Some((latency, count)) = read.filter(|(_, count)| *count <= COUNT_MAX) else {
            let message = format!("{key}.bins: {}: is not a latency with a count", shown(latency));
            return Err(message);
        };
        sum = sum.saturating_add(count);
        all.push(((latency as f64 * unit) as u64, count));
    }
    match sum <= COUNT_MAX {
        true => Ok(all),
        false => Err(format!("{key}.bins: contains impossibly many requests")),
    }
}

fn shown(text: &str) -> String {
    crate::error::shown(text)
}

/// Maximum number of percentiles that are read; fio's own bound is 20.
const PERCENTILES_MAX: usize = 100;

/// Returns the known percentiles in ascending order, each with its latency in ns.
fn percentiles(part: &Value, unit: f64) -> Vec<(f64, u64)> {
    let Some(Value::Object(percentiles)) = part.get("percentile") else { return Vec::new() };
    let percentile = |(percent, latency): (&String, &Value)| {
        let percent: f64 =
            percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))?;
        Some((percent, (latency.as_f64().filter(|latency| *latency >= 0.0)? * unit) as u64))
    };
    let mut all: Vec<(f64, u64)> = percentiles.iter().filter_map(percentile).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Old versions fill unrequested percentiles with zeros.
    all.retain(|(percent, _)| *percent > 0.0);
    all.dedup_by(|later, first| (later.0 - first.0).abs() < 1e-9);
    all.truncate(PERCENTILES_MAX);
    all
}

fn flushes(job: &Value) -> Result<Option<DirectionResult>, String> {
    let Some(sync) = job.get("sync") else { return Ok(None) };
    let count = whole(sync, "total_ios")?.unwrap_or(0);
    if count == 0 || sync.get("lat_ns").is_none() {
        return Ok(None);
    }
    let latency = latency(sync, count)?.histogram;
    Ok(Some(DirectionResult { bytes: Bytes::ZERO, latency }))
}

/// Returns the processor time, which fio prints in per cent of `job_runtime`, the sum of the clones' times. Old
/// versions do not print it; the time of a job with one clone is then the time of its requests.
fn cpu(job: &Value, sample: &Sample) -> Option<CpuUse> {
    let number = |key: &str| {
        job.get(key).and_then(Value::as_f64).filter(|number| number.is_finite() && *number >= 0.0)
    };
    let runtime_ns = match job.get("job_runtime") {
        Some(_) => number("job_runtime")? * 1e6,
        None => sample.elapsed.as_seconds() * 1e9,
    };
    let requests = sample.operations() as f64;
    if requests == 0.0 {
        return None;
    }
    let spent = |percent: f64| percent / 100.0 * runtime_ns / requests;
    Some(CpuUse {
        user_ns_per_request: spent(number("usr_cpu")?),
        system_ns_per_request: spent(number("sys_cpu")?),
    })
}

/// Returns a count; a value that is not a count is an error.
fn whole(value: &Value, key: &str) -> Result<Option<u64>, String> {
    match value.get(key) {
        None => Ok(None),
        Some(number) => match number.as_u64().filter(|number| *number <= COUNT_MAX) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{key}: {} is not a count", shown(&number.to_string()))),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the histogram of ten requests from 100 to 900 ns whose median is 300 ns.
    fn read(bins: Value) -> Result<LatencyHistogram, String> {
        let mut part =
            json!({"min": 100, "max": 900, "mean": 400.0, "percentile": {"50.000000": 300}});
        part["bins"] = bins;
        latency(&json!({"clat_ns": part}), 10).map(|latency| latency.histogram)
    }

    #[test]
    fn absent_bins_in_every_spelling_leave_the_percentiles() {
        for none in [Value::Null, json!({}), json!([]), json!("none")] {
            let latency = read(none.clone()).unwrap_or_else(|error| panic!("{none}: {error}"));
            assert_eq!((latency.count(), latency.percentile_ns(50.0)), (10, Some(300)), "{none}");
            assert_eq!((latency.min_ns(), latency.max_ns()), (Some(100), Some(900)), "{none}");
        }
    }

    #[test]
    fn bins_count_the_requests_and_stay_between_the_ends() {
        // The middle of the first bin is below the minimum, and the middle of the last is above the maximum.
        let latency = read(json!({"90": 3, "300": 4, "960": 2})).unwrap();
        let bins: Vec<(u64, u64)> = latency.bins().collect();
        assert_eq!(bins, [(100, 3), (300, 4), (900, 2)]);
        let empty = read(json!({"300": 0})).unwrap_err();
        assert!(empty.contains("clat_ns.bins: is empty, but total_ios is 10"), "{empty}");
        for bad in
            [json!({"x": 1}), json!({"-1": 1}), json!({"300": -1}), json!({"300": COUNT_MAX + 1})]
        {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
        assert!(read(json!({"300": COUNT_MAX, "301": 1})).is_err());
    }
}

//! The figures of a job in fio's JSON, of version 2 or 3, as a sample.
//!
//! Version 3 counts bytes in `io_bytes` and nanoseconds in `clat_ns`; version 2 counts KiB in `io_bytes` and
//! microseconds in `clat`. A direction's latencies are its `lat_ns` where that has bins or percentiles
//! (`lat_percentiles=1`), else its `clat_ns`, which leave out the time in which a request is submitted.

use lanemark_core::result::{
    CpuUse, DirectionResult, ErrorCount, ErrorKind, LatencyHistogram, RequestErrors, Sample,
};
use lanemark_core::units::{Bytes, Duration};
use serde_json::Value;

/// Counts beyond this are no counts of requests.
const COUNT_MAX: u64 = 1 << 53;
/// An exbibyte: reads and writes together are still a number of bytes.
const BYTES_MAX: u64 = 1 << 60;

/// The degree to which the latencies of a direction are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Latencies are known by bins.
    Whole,
    /// Latencies are known by that many percentiles.
    Percentiles(u32),
}

/// A direction as it was read.
struct Direction {
    result: DirectionResult,
    known: Known,
    runtime: Duration,
    /// The mean time of submission, where the latencies leave it out.
    submission_ns: Option<f64>,
}

/// The content of one entry of `jobs`.
pub(super) struct Sampled {
    pub(super) sample: Sample,
    /// Least degree to which the latencies of any direction are known.
    pub(super) known: Known,
    /// The greatest mean time of submission that the latencies leave out.
    pub(super) submission_ns: Option<f64>,
    /// Whether processor time is told as a share of the time of one clone, as versions before 3.5 do.
    pub(super) cpu_of_one: bool,
}

/// Reads an entry of `jobs`; what is wrong is told by its key.
pub(super) fn read(job: &Value) -> Result<Sampled, String> {
    let side = |name: &str| match job.get(name) {
        None => Ok(None),
        Some(value) => direction(value).map_err(|wrong| format!("{name}: {wrong}")),
    };
    let (reads, writes, trims) = (side("read")?, side("write")?, side("trim")?);
    let flushes = flushes(job).map_err(|wrong| format!("sync: {wrong}"))?;
    if job.get("read").is_none() && job.get("write").is_none() {
        return Err("there is neither read nor write in it".to_owned());
    }
    let all = || [&reads, &writes, &trims].into_iter().flatten();
    let elapsed = all().map(|side| side.runtime).max().unwrap_or(Duration::ZERO);
    let known = all().map(|side| side.known).fold(Known::Whole, |least, one| match (least, one) {
        (Known::Percentiles(a), Known::Percentiles(b)) => Known::Percentiles(a.min(b)),
        (Known::Whole, one) => one,
        (least, Known::Whole) => least,
    });
    let submission_ns = all().filter_map(|side| side.submission_ns).max_by(f64::total_cmp);
    let failed = job.get("error").and_then(Value::as_i64).is_some_and(|error| error != 0);
    let mut sample = Sample {
        elapsed,
        reads: None,
        writes: None,
        flushes,
        trims: None,
        errors: errors(job)?,
        faults: Vec::new(),
        cpu: None,
        evidence: None,
        punctuality: None,
        path: None,
        drive: None,
        energy: None,
        live: None,
        replay: None,
        series: None,
        steady: None,
        transactions: None,
        complete: !failed,
    };
    [sample.reads, sample.writes, sample.trims] =
        [reads, writes, trims].map(|side| side.map(|side| side.result));
    sample.cpu = cpu(job, &sample);
    let cpu_of_one = job.get("job_runtime").is_none();
    Ok(Sampled { sample, known, submission_ns, cpu_of_one })
}

/// The requests that failed: fio counts them where a job goes on after errors (`continue_on_error`), and tells the
/// number of the first error alone; else the one that ended the job is told.
fn errors(job: &Value) -> Result<RequestErrors, String> {
    let number = |key: &str| match job.get(key) {
        None => Ok(0),
        Some(value) => {
            let number = value.as_i64().map(i64::unsigned_abs);
            number.filter(|number| *number <= COUNT_MAX).ok_or_else(|| format!("{key}: no count"))
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
pub(super) fn add(sample: &mut Sample, other: &Sample) {
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
    for (own, more) in [
        (&mut sample.reads, &other.reads),
        (&mut sample.writes, &other.writes),
        (&mut sample.trims, &other.trims),
        (&mut sample.flushes, &other.flushes),
    ] {
        match (own, more) {
            (Some(own), Some(more)) => {
                own.bytes = Bytes((own.bytes.get() + more.bytes.get()).min(BYTES_MAX));
                own.latency.merge(&more.latency);
            }
            (own @ None, Some(more)) => *own = Some(more.clone()),
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
    let bytes = whole(value, "io_bytes")?.ok_or("there is no io_bytes")?;
    let bytes = if kib { bytes.saturating_mul(1024) } else { bytes };
    if bytes > BYTES_MAX {
        return Err("io_bytes: is more than can be".to_owned());
    }
    let runtime = whole(value, "runtime")?.unwrap_or(0);
    let runtime = runtime.checked_mul(1_000_000_000).ok_or("runtime: is longer than 200 days")?;
    let latency = latency(value, count)?;
    Ok(Some(Direction {
        result: DirectionResult { bytes: Bytes(bytes), latency: latency.histogram },
        known: latency.known,
        runtime: Duration::from_picoseconds(runtime),
        submission_ns: latency.submission_ns,
    }))
}

struct Latency {
    histogram: LatencyHistogram,
    known: Known,
    submission_ns: Option<f64>,
}

fn latency(value: &Value, count: u64) -> Result<Latency, String> {
    // The key, its unit in ns, and whether it begins with the submission.
    let kinds =
        [("lat_ns", 1.0, true), ("lat", 1e3, true), ("clat_ns", 1.0, false), ("clat", 1e3, false)];
    let has = |(key, ..): &(&str, f64, bool), part: &str| {
        value.get(key).and_then(|kind| kind.get(part)).is_some_and(|part| part.is_object())
    };
    let told = |part: &str| kinds.iter().find(|kind| has(kind, part));
    let of = told("bins").or_else(|| told("percentile"));
    let of = of.or_else(|| kinds.iter().find(|(key, ..)| value.get(key).is_some()));
    let Some(&(key, unit, from_submission)) = of else {
        return Err("there is no clat_ns, lat_ns, clat or lat".to_owned());
    };
    let part = &value[key];
    let number = |name: &str| {
        let number = part.get(name).and_then(Value::as_f64).filter(|number| *number >= 0.0);
        number.map(|number| number * unit).ok_or(format!("{key}.{name}: is no time"))
    };
    let (least, most) = (number("min")? as u64, number("max")? as u64);
    let (least, most) = (least.min(most), most);
    let mean = number("mean")?.clamp(least as f64, most as f64);
    let submission = value.get("slat_ns").and_then(|slat| slat.get("mean")).and_then(Value::as_f64);
    let submission_ns = submission.filter(|slat| !from_submission && *slat > 0.0);
    let (bins, known) = if let Some(Value::Object(bins)) = part.get("bins") {
        (whole_bins(bins, key, unit)?, Known::Whole)
    } else {
        let percentiles = percentiles(part, unit);
        let known = Known::Percentiles(percentiles.len() as u32);
        (between(&percentiles, count, (least, mean as u64, most)), known)
    };
    let bins = bins.into_iter().map(|(latency, count)| (latency.clamp(least, most), count));
    let histogram = LatencyHistogram::from_bins(bins, mean, (least, most));
    if histogram.count() == 0 {
        return Err(format!("{key}.bins: is empty, and total_ios is {count}"));
    }
    Ok(Latency { histogram, known, submission_ns })
}

/// The bins of json+: the latency in the middle of each, and its count.
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
            let message = format!("{key}.bins: {}: is no latency with a count", shown(latency));
            return Err(message);
        };
        sum = sum.saturating_add(count);
        all.push(((latency as f64 * unit) as u64, count));
    }
    match sum <= COUNT_MAX {
        true => Ok(all),
        false => Err(format!("{key}.bins: are more requests than can be")),
    }
}

fn shown(text: &str) -> String {
    crate::error::shown(text)
}

/// The percentiles that are there, from the least, each with its latency in ns.
fn percentiles(part: &Value, unit: f64) -> Vec<(f64, u64)> {
    let Some(Value::Object(told)) = part.get("percentile") else { return Vec::new() };
    let one = |(percent, latency): (&String, &Value)| {
        let percent: f64 =
            percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))?;
        Some((percent, (latency.as_f64().filter(|latency| *latency >= 0.0)? * unit) as u64))
    };
    let mut all: Vec<(f64, u64)> = told.iter().filter_map(one).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Old versions fill up with zeros what was not asked for.
    all.retain(|(percent, _)| *percent > 0.0);
    all
}

/// A histogram in steps: between two percentiles all latencies are the upper one's. Without any they are the mean.
fn between(
    percentiles: &[(f64, u64)],
    count: u64,
    (least, mean, most): (u64, u64, u64),
) -> Vec<(u64, u64)> {
    let mut bins = vec![(least, 1)];
    let mut counted: u64 = 1;
    for (percent, latency) in percentiles {
        let up_to = (count as f64 * percent / 100.0).round() as u64;
        let up_to = up_to.min(count.saturating_sub(1));
        bins.push((*latency, up_to.saturating_sub(counted)));
        counted = counted.max(up_to);
    }
    let rest = if percentiles.is_empty() { mean } else { most };
    bins.push((rest, count.saturating_sub(1).saturating_sub(counted)));
    bins.push((most, u64::from(count > 1)));
    bins.retain(|(_, count)| *count > 0);
    bins
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

/// Processor time, told in percent of `job_runtime`, the sum of the clones' times. Old versions leave it out, and
/// the time of a job that is one clone is that of its requests.
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

/// A count; one that is there and none is an error.
fn whole(value: &Value, key: &str) -> Result<Option<u64>, String> {
    match value.get(key) {
        None => Ok(None),
        Some(number) => match number.as_u64().filter(|number| *number <= COUNT_MAX) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{key}: {} is no count", shown(&number.to_string()))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_make_steps_that_give_the_same_percentiles() {
        let told = [(50.0, 100_000), (90.0, 200_000), (99.0, 400_000)];
        let bins = between(&told, 10_000, (50_000, 120_000, 900_000));
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), 10_000);
        let histogram = LatencyHistogram::from_bins(bins, 120_000.0, (50_000, 900_000));
        for (percent, latency) in told {
            let seen = histogram.percentile_ns(percent).unwrap() as f64;
            assert!((seen / latency as f64 - 1.0).abs() < 0.001, "p{percent}: {seen}");
        }
        assert_eq!(histogram.mean_ns(), 120_000.0);
        for count in 1..5 {
            let bins = between(&told, count, (1, 2, 3));
            assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), count);
        }
    }
}

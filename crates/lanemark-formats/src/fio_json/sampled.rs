//! Reads the figures of a job in fio's JSON, version 2 or 3, as a sample.
//!
//! Version 3 counts bytes in `io_bytes` and nanoseconds in `clat_ns`; version 2 counts KiB in `io_bytes` and
//! microseconds in `clat`. The latencies of a direction are in `lat_ns` if this key has bins or percentiles
//! (`lat_percentiles=1`). Otherwise they are in `clat_ns`, which does not include the time for submitting a request.

use lanemark_schema::result::{
    CpuUse, DirectionResult, ErrorCount, ErrorKind, LatencyHistogram, RequestErrors, Sample,
};
use lanemark_schema::units::{Bytes, Duration};
use serde_json::Value;

/// Maximum count; a larger number cannot be a number of requests.
const COUNT_MAX: u64 = 1 << 53;
/// Maximum number of bytes, one exbibyte, so that the sum of reads and writes does not overflow.
const BYTES_MAX: u64 = 1 << 60;

struct JsonDirection {
    result: DirectionResult,
    runtime: Duration,
    /// The mean time of submission, if the latencies do not include that time.
    submission_ns: Option<f64>,
}

/// The content of an entry in `jobs`.
pub(super) struct JobSample {
    pub(super) sample: Sample,
    /// The run times of reads, writes and trims.
    pub(super) times: [Duration; 3],
    /// The maximum mean time of submission among latencies that do not include that time.
    pub(super) submission_ns: Option<f64>,
    /// Whether the processor time is a share of the time of a single clone, as in versions before 3.5.
    pub(super) cpu_of_one: bool,
}

/// Reads an entry in `jobs`. An error names the key of the invalid value.
pub(super) fn read(job: &Value) -> Result<JobSample, String> {
    let side = |name: &str| match job.get(name) {
        None => Ok(None),
        Some(value) => direction(value).map_err(|wrong| format!("{name}: {wrong}")),
    };
    let reads = side("read")?;
    let writes = side("write")?;
    let trims = side("trim")?;
    let unified = side("mixed")?;
    let flushes = flushes(job).map_err(|wrong| format!("sync: {wrong}"))?;
    if ["read", "write", "mixed"].iter().all(|key| job.get(key).is_none()) {
        return Err("it does not contain read or write".to_owned());
    }
    // With unified_rw_reporting=both, fio prints both directions and their sum.
    let unified = unified.filter(|_| reads.is_none() && writes.is_none());
    let all_directions = || [&reads, &writes, &unified, &trims].into_iter().flatten();
    let elapsed = all_directions().map(|side| side.runtime).max().unwrap_or(Duration::ZERO);
    let submission_ns =
        all_directions().filter_map(|side| side.submission_ns).max_by(f64::total_cmp);
    let times = [&reads, &writes, &trims]
        .map(|side| side.as_ref().map_or(Duration::ZERO, |side| side.runtime));
    let failed = job.get("error").and_then(Value::as_i64).is_some_and(|error| error != 0);
    let mut sample =
        Sample { elapsed, flushes, errors: errors(job)?, complete: !failed, ..Sample::empty() };
    [sample.reads, sample.writes, sample.unified, sample.trims] =
        [reads, writes, unified, trims].map(|side| side.map(|side| side.result));
    sample.cpu = cpu(job, &sample);
    let cpu_of_one = job.get("job_runtime").is_none();
    Ok(JobSample { sample, times, submission_ns, cpu_of_one })
}

/// Returns the failed requests. If a job continues after errors (`continue_on_error`), fio prints their count, and the
/// number of only the first error. Otherwise it prints the error that ended the job.
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
    let ended = number("error")?;
    let first = number("first_error")?;
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

fn direction(value: &Value) -> Result<Option<JsonDirection>, String> {
    let count = match integer_value(value, "total_ios")? {
        Some(count) => count,
        None => [value.get("clat_ns"), value.get("clat")]
            .into_iter()
            .flatten()
            .find_map(|clat| integer_value(clat, "N").ok().flatten())
            .unwrap_or(0),
    };
    if count == 0 {
        return Ok(None);
    }
    let kib = value.get("io_kbytes").is_none() && value.get("clat_ns").is_none();
    let bytes = integer_value(value, "io_bytes")?.ok_or("`io_bytes` is missing")?;
    let bytes = if kib { bytes.saturating_mul(1024) } else { bytes };
    if bytes > BYTES_MAX {
        return Err("io_bytes: impossibly large".to_owned());
    }
    let runtime = integer_value(value, "runtime")?.unwrap_or(0);
    let runtime = runtime.checked_mul(1_000_000_000).ok_or("runtime: longer than 200 days")?;
    let latency = latency(value, count)?;
    Ok(Some(JsonDirection {
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
    // Each key, its unit in ns, and whether its time begins at submission.
    let kinds =
        [("lat_ns", 1.0, true), ("lat", 1e3, true), ("clat_ns", 1.0, false), ("clat", 1e3, false)];
    let has_part = |(key, ..): &(&str, f64, bool), part: &str| {
        let part = value.get(key).and_then(|kind| kind.get(part)).and_then(Value::as_object);
        part.is_some_and(|part| !part.is_empty())
    };
    // fio prints zeros for a kind that was not measured (gtod_reduce, disable_lat, disable_clat).
    let is_measured = |(key, ..): &(&str, f64, bool)| {
        let most = value.get(key).and_then(|kind| kind.get("max")).and_then(Value::as_f64);
        most.is_some_and(|most| most > 0.0)
    };
    let kind_with =
        |part: &str| kinds.iter().find(|kind| has_part(kind, part) && is_measured(kind));
    let of = kind_with("bins").or_else(|| kind_with("percentile"));
    let of = of.or_else(|| kinds.iter().find(|kind| is_measured(kind)));
    let of = of.or_else(|| kinds.iter().find(|(key, ..)| value.get(key).is_some()));
    let Some(&(key, unit, from_submission)) = of else {
        return Err("clat_ns, lat_ns, clat and lat are missing".to_owned());
    };
    let part = &value[key];
    let number = |name: &str| {
        let number = part.get(name).and_then(Value::as_f64).filter(|number| *number >= 0.0);
        number.map(|number| number * unit).ok_or(format!("{key}.{name}: not a time"))
    };
    let least = number("min")? as u64;
    let most = number("max")? as u64;
    let mean = number("mean")?;
    if most == 0 && mean == 0.0 {
        return Ok(Latency { histogram: LatencyHistogram::unmeasured(count), submission_ns: None });
    }
    let least = least.min(most);
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
        return Err(format!("{key}.bins: empty, but total_ios is {count}"));
    }
    Ok(Latency { histogram, submission_ns })
}

/// Returns the bins of json+: the latency in the middle of each bin, and the bin's count.
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
            let message =
                format!("{key}.bins: {} is not a latency with a count", quoted_excerpt(latency));
            return Err(message);
        };
        sum = sum.saturating_add(count);
        all.push(((latency as f64 * unit) as u64, count));
    }
    if sum <= COUNT_MAX { Ok(all) } else { Err(format!("{key}.bins: impossibly many requests")) }
}

fn quoted_excerpt(text: &str) -> String {
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
    let Some(latencies) = sync.get("lat_ns") else { return Ok(None) };
    // fio counts only calls of fsync in `total_ios`; the latencies also count calls of fdatasync.
    let counted = integer_value(sync, "total_ios")?.unwrap_or(0);
    let count = counted.max(integer_value(latencies, "N")?.unwrap_or(0));
    if count == 0 {
        return Ok(None);
    }
    let latency = latency(sync, count)?.histogram;
    Ok(Some(DirectionResult { bytes: Bytes::ZERO, latency }))
}

/// Returns the processor time, which fio prints in per cent of `job_runtime`, the sum of the clones' times. Old
/// versions do not print `job_runtime`; for a job with one clone, the time of the requests is used instead.
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
    let ns_per_request = |percent: f64| percent / 100.0 * runtime_ns / requests;
    Some(CpuUse {
        user_ns_per_request: ns_per_request(number("usr_cpu")?),
        system_ns_per_request: ns_per_request(number("sys_cpu")?),
    })
}

/// Returns the count at `key`, if the key exists. Returns an error if the value is not a count.
fn integer_value(value: &Value, key: &str) -> Result<Option<u64>, String> {
    match value.get(key) {
        None => Ok(None),
        Some(number) => match number.as_u64().filter(|number| *number <= COUNT_MAX) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{key}: {} is not a count", quoted_excerpt(&number.to_string()))),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a histogram of ten requests between 100 and 900 ns with a median of 300 ns.
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
        assert!(empty.contains("clat_ns.bins: empty, but total_ios is 10"), "{empty}");
        for bad in
            [json!({"x": 1}), json!({"-1": 1}), json!({"300": -1}), json!({"300": COUNT_MAX + 1})]
        {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
        assert!(read(json!({"300": COUNT_MAX, "301": 1})).is_err());
    }

    #[test]
    fn percentiles_are_in_order_and_each_once() {
        let part = json!({"percentile": {
            "99.000000": 900, "50.000000": 300.5, "0.000000": 0, "50.0": 300.5, "101.0": 1, "x": 1, "90.0": -1,
        }});
        assert_eq!(percentiles(&part, 1e3), [(50.0, 300_500), (99.0, 900_000)]);
        assert_eq!(percentiles(&json!({"percentile": []}), 1.0), []);
        let many = (1..=150).map(|at| (format!("{}", f64::from(at) / 2.0), json!(at)));
        let part = json!({"percentile": many.collect::<serde_json::Map<_, _>>()});
        assert_eq!(percentiles(&part, 1.0).len(), PERCENTILES_MAX);
    }

    #[test]
    fn the_best_kind_of_latency_is_read_in_its_unit() {
        let kind = |max: u64| json!({"min": 100, "max": max, "mean": 400.0});
        let with = |max: u64, part: &str, key: &str| {
            let mut kind = kind(max);
            kind[part] = json!({key: 5});
            kind
        };
        let read = |value: Value| {
            let latency = latency(&value, 5).unwrap();
            (latency.histogram.max_ns(), latency.submission_ns)
        };
        let slat = json!({"mean": 70.0});
        // The whole latency includes the time of submission.
        let all = json!({"lat_ns": kind(800), "clat_ns": kind(700), "slat_ns": slat});
        assert_eq!(read(all), (Some(800), None));
        let completion = json!({"clat_ns": kind(700), "slat_ns": slat});
        assert_eq!(read(completion), (Some(700), Some(70.0)));
        let none = json!({"clat_ns": kind(700), "slat_ns": json!({"mean": 0.0})});
        assert_eq!(read(none), (Some(700), None));
        assert_eq!(read(json!({"lat": kind(800), "clat": kind(700)})), (Some(800_000), None));
        assert_eq!(read(json!({"clat": kind(700)})), (Some(700_000), None));
        // Percentiles are preferred to the minimum and maximum, and bins are preferred to percentiles.
        let percent = with(700, "percentile", "50.0");
        let value = json!({"lat_ns": kind(800), "clat_ns": percent});
        assert_eq!(read(value), (Some(700), None));
        let value =
            json!({"lat_ns": with(800, "percentile", "50.0"), "clat_ns": with(700, "bins", "300")});
        assert_eq!(read(value), (Some(700), None));
        // fio prints zeros for a kind of latency that was not measured.
        let zeros = json!({"min": 0, "max": 0, "mean": 0.0});
        assert_eq!(read(json!({"lat_ns": zeros, "clat_ns": kind(700)})), (Some(700), None));
        let unmeasured = latency(&json!({"clat_ns": zeros}), 5).unwrap().histogram;
        assert_eq!((unmeasured.count(), unmeasured.max_ns()), (5, None));
        for bad in [json!({}), json!({"clat_ns": {"min": -1, "max": 7, "mean": 5.0}})] {
            assert!(latency(&bad, 5).is_err(), "{bad}");
        }
    }

    fn job() -> Value {
        let side = |ios: u64, bytes: u64, ms: u64, ns: u64| {
            let latency = json!({"min": ns, "max": ns, "mean": ns as f64});
            json!({"total_ios": ios, "io_bytes": bytes, "io_kbytes": bytes >> 10, "runtime": ms, "lat_ns": latency})
        };
        json!({
            "read": side(60, 245_760, 2_000, 500),
            "write": side(20, 163_840, 3_000, 900),
            "sync": {"total_ios": 7, "lat_ns": {"min": 40, "max": 60, "mean": 50.0}},
            "job_runtime": 4_000,
            "usr_cpu": 25.0,
            "sys_cpu": 50.0,
        })
    }

    #[test]
    fn a_job_has_its_directions_its_flushes_and_its_processor_time() {
        let JobSample { sample, submission_ns, cpu_of_one, .. } = super::read(&job()).unwrap();
        assert_eq!(sample.elapsed, Duration::from_seconds(3));
        let reads = sample.reads.unwrap();
        let writes = sample.writes.unwrap();
        assert_eq!((reads.bytes.get(), reads.latency.count()), (245_760, 60));
        assert_eq!((writes.bytes.get(), writes.latency.count()), (163_840, 20));
        assert_eq!((reads.latency.mean_ns(), writes.latency.mean_ns()), (500.0, 900.0));
        let flushes = sample.flushes.unwrap();
        assert_eq!((flushes.latency.count(), flushes.latency.mean_ns()), (7, 50.0));
        // The processor time is a quarter and a half of four seconds, for 80 requests.
        let cpu = sample.cpu.unwrap();
        assert_eq!((cpu.user_ns_per_request, cpu.system_ns_per_request), (12.5e6, 25e6));
        assert_eq!((submission_ns, cpu_of_one, sample.complete), (None, false, true));
        // A job that does not state its time took as long as its requests.
        let mut old = job();
        old.as_object_mut().unwrap().remove("job_runtime");
        let old = super::read(&old).unwrap();
        assert!(old.cpu_of_one);
        assert_eq!(old.sample.cpu.unwrap().user_ns_per_request, 0.25 * 3e9 / 80.0);
        for (key, value) in
            [("usr_cpu", json!(-1.0)), ("sys_cpu", json!(null)), ("job_runtime", json!("x"))]
        {
            let mut job = job();
            job[key] = value;
            assert_eq!(super::read(&job).unwrap().sample.cpu, None, "{key}");
        }
        for key in ["lat_ns", "total_ios"] {
            let mut job = job();
            job["sync"].as_object_mut().unwrap().remove(key);
            assert_eq!(super::read(&job).unwrap().sample.flushes, None, "{key}");
        }
        // Calls of fdatasync are not in `total_ios`.
        let mut data_only = job();
        data_only["sync"]["total_ios"] = json!(0);
        data_only["sync"]["lat_ns"]["N"] = json!(19);
        let flushes = super::read(&data_only).unwrap().sample.flushes.unwrap();
        assert_eq!((flushes.latency.count(), flushes.latency.mean_ns()), (19, 50.0));
    }

    #[test]
    fn a_sum_of_both_directions_counts_only_without_them() {
        let mut both = job();
        both["mixed"] = both["read"].clone();
        let sample = super::read(&both).unwrap().sample;
        assert_eq!((sample.unified.is_some(), sample.reads.is_some()), (false, true));
        both["read"]["total_ios"] = json!(0);
        assert!(super::read(&both).unwrap().sample.unified.is_none());
        both["write"]["total_ios"] = json!(0);
        let sample = super::read(&both).unwrap().sample;
        assert_eq!(sample.unified.unwrap().latency.count(), 60);
        assert!(super::read(&json!({"sync": {}})).is_err());
        for key in ["read", "write", "mixed"] {
            assert!(super::read(&json!({key: {"total_ios": 0}})).is_ok(), "{key}");
        }
    }

    #[test]
    fn old_versions_count_kib_and_print_the_number_of_latencies() {
        let clat = json!({"N": 3, "min": 5, "max": 9, "mean": 7.0});
        let direction = |value: Value| {
            direction(&value)
                .unwrap()
                .map(|side| (side.result.bytes.get(), side.result.latency.count()))
        };
        let old = json!({"io_bytes": 12, "runtime": 5, "clat": clat});
        assert_eq!(direction(old.clone()), Some((12 << 10, 3)));
        let mut new = old.clone();
        new["io_kbytes"] = json!(1);
        assert_eq!(direction(new), Some((12, 3)));
        let mut new = json!({"io_bytes": 12, "total_ios": 4, "clat_ns": clat});
        assert_eq!(direction(new.clone()), Some((12, 4)));
        new["total_ios"] = json!(0);
        assert_eq!(direction(new.clone()), None);
        new["total_ios"] = json!(4);
        for (key, value) in [
            ("io_bytes", json!(null)),
            ("io_bytes", json!(BYTES_MAX + 1)),
            ("total_ios", json!(-1)),
            ("runtime", json!(u64::MAX / 2)),
        ] {
            let mut bad = new.clone();
            bad[key] = value;
            assert!(super::direction(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn errors_are_counted_once_with_the_first_number() {
        let of = |value: Value| {
            let errors = errors(&value).ok()?;
            let first = errors.counts().first().and_then(|count| count.errno);
            Some((errors.total(), first))
        };
        assert_eq!(of(json!({})), Some((0, None)));
        assert_eq!(of(json!({"error": 5})), Some((1, Some(5))));
        assert_eq!(of(json!({"error": 5, "first_error": 61, "total_err": 9})), Some((9, Some(61))));
        assert_eq!(of(json!({"total_err": 3})), Some((3, None)));
        assert_eq!(of(json!({"error": -28})), Some((1, Some(28))));
        assert_eq!(of(json!({"total_err": "x"})), None);
        assert_eq!(of(json!({"total_err": COUNT_MAX})), Some((COUNT_MAX, None)));
        assert_eq!(of(json!({"total_err": COUNT_MAX + 1})), None);
    }

    #[test]
    fn a_clone_without_requests_changes_nothing() {
        let one = super::read(&job()).unwrap().sample;
        let mut idle = Sample::empty();
        add(&mut idle, &one);
        assert_eq!((idle.cpu, idle.reads.clone()), (one.cpu, one.reads.clone()));
        add(&mut idle, &Sample::empty());
        assert_eq!(idle.reads, one.reads);
    }
}

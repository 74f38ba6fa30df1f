//! A result in the format in which fio prints it with `--output-format=json+`.
//!
//! One entry in `jobs` is one test with all its repeats. Data, requests, latencies and times are summed, so `bw` and
//! `iops` are means over the whole test. `iops_mean` and related keys are computed over the intervals of a series if
//! there is one, and otherwise over the repeats. Latency is measured from submission, like fio's `lat_ns`. The time of
//! submission is not known, so `clat_ns` has the same values, with percentiles and bins, and `slat_ns` is empty.
//! `iodepth_level` contains the requested depth.
//!
//! The key `lanemark` of an entry contains the repeats and names the statistic (see `lanemark_keys`).
//!
//! Unknown values are zero, because readers of this format expect every key. Unknown percentiles are omitted, in the
//! same way as percentiles that fio's `percentile_list` does not contain.

use lanemark_schema::result::{
    DirectionResult, LatencyDetail, LatencyHistogram, RunResult, Sample, Statistic, Target,
    TestResult,
};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{AverageMethod, Test};

use super::lanemark_keys::LanemarkKey;
use super::layout::{Json, object};
use super::options::options;
use crate::imported::NOT_STATED;
use Json::{Integer, Object, Real, Text};

/// The version of fio that has this layout; programs that read the output check the number.
const VERSION: &str = "fio-3.33";
/// fio's default percentiles.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];
/// The upper bounds of fio's latency buckets, in each of fio's units.
const CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// Returns the result as fio's JSON, including a line end. `timestamp` is the start of the run in seconds since 1970.
pub fn write(run: &RunResult, timestamp: u64) -> String {
    let jobs = run.tests.iter().enumerate().map(|(index, test)| job(run, index, test));
    let document = object([
        ("fio version", Text(VERSION.to_owned())),
        ("timestamp", Integer(timestamp)),
        ("timestamp_ms", Integer(timestamp.saturating_mul(1000))),
        ("time", Text(run.provenance.started_at.clone())),
        ("jobs", Json::List(jobs.collect())),
        ("disk_util", Json::List(disk_util(run))),
    ]);
    format!("{document}\n")
}

/// The repeats of a test, merged into one sample.
struct MergedRepeats<'t> {
    result: &'t TestResult,
    elapsed: Duration,
    reads: DirectionResult,
    writes: DirectionResult,
    unified: DirectionResult,
    trims: DirectionResult,
    flushes: DirectionResult,
}

impl<'t> MergedRepeats<'t> {
    fn from_result(result: &'t TestResult) -> Self {
        let merged_direction = |of: fn(&Sample) -> &Option<DirectionResult>| {
            let mut sum = DirectionResult::new();
            for direction in result.samples.iter().filter_map(|sample| of(sample).as_ref()) {
                sum.bytes += direction.bytes;
                sum.latency.merge(&direction.latency);
            }
            sum
        };
        Self {
            result,
            elapsed: result.samples.iter().map(|sample| sample.elapsed).sum(),
            reads: merged_direction(|sample| &sample.reads),
            writes: merged_direction(|sample| &sample.writes),
            unified: merged_direction(|sample| &sample.unified),
            trims: merged_direction(|sample| &sample.trims),
            flushes: merged_direction(|sample| &sample.flushes),
        }
    }
}

fn job(run: &RunResult, index: usize, result: &TestResult) -> Json {
    let merged = MergedRepeats::from_result(result);
    let test = &result.test;
    let seconds = merged.elapsed.as_seconds();
    let sides = [&merged.reads, &merged.writes, &merged.unified];
    let requests: u64 = sides.iter().map(|side| side.latency.count()).sum();
    let share = |of: fn(&Sample) -> Option<f64>| {
        let spent = |sample: &Sample| of(sample).unwrap_or(0.0) * sample.operations() as f64;
        let spent: f64 = result.samples.iter().map(spent).sum();
        if seconds > 0.0 { spent / 1e9 / seconds / f64::from(test.threads) * 100.0 } else { 0.0 }
    };
    let switches: u64 = (result.samples.iter())
        .filter_map(|sample| sample.evidence.as_ref()?.threads)
        .map(|threads| threads.switches_voluntary + threads.switches_involuntary)
        .sum();
    let mut latency = LatencyHistogram::new();
    sides.iter().for_each(|side| latency.merge(&side.latency));
    let [ns, us, ms] = classes(&latency);
    let flushes = &merged.flushes.latency;
    let direction = |of: &DirectionResult, per: fn(&Sample) -> &Option<DirectionResult>| {
        direction(&merged, of, per)
    };
    let errors = result.errors();
    let first = u64::from(errors.counts().iter().find_map(|count| count.errno).unwrap_or(0));
    // The entry of a job states the number of the error that ended the job.
    let ended_by = if result.samples.iter().all(|sample| sample.complete) { 0 } else { first };
    let mut pairs = vec![
        ("jobname", Text(test.name.clone())),
        ("groupid", Integer(index as u64)),
        ("error", Integer(ended_by)),
        ("eta", Integer(0)),
        ("elapsed", Integer(seconds.ceil() as u64)),
        ("job options", job_options(run, test)),
        ("read", direction(&merged.reads, |sample| &sample.reads)),
        ("write", direction(&merged.writes, |sample| &sample.writes)),
        ("trim", direction(&merged.trims, |sample| &sample.trims)),
        (
            "sync",
            object([
                ("total_ios", Integer(flushes.count())),
                ("lat_ns", latency_of(flushes, flushes.count() > 0)),
            ]),
        ),
        ("job_runtime", Integer(milliseconds(merged.elapsed) * u64::from(test.threads))),
        ("usr_cpu", Real(share(|sample| Some(sample.cpu?.user_ns_per_request)))),
        ("sys_cpu", Real(share(|sample| Some(sample.cpu?.system_ns_per_request)))),
        ("ctx", Integer(switches)),
        ("majf", Integer(0)),
        ("minf", Integer(0)),
        ("iodepth_level", levels(["1", "2", "4", "8", "16", "32", ">=64"], test, requests)),
        ("iodepth_submit", zeros(["0", "4", "8", "16", "32", "64", ">=64"])),
        ("iodepth_complete", zeros(["0", "4", "8", "16", "32", "64", ">=64"])),
        ("latency_ns", ns),
        ("latency_us", us),
        ("latency_ms", ms),
    ];
    // fio prints this entry with unified_rw_reporting=both.
    if merged.unified.latency.count() > 0 {
        pairs.push(("mixed", direction(&merged.unified, |sample| &sample.unified)));
    }
    // fio prints the following keys only if a job continues after errors.
    if !errors.is_empty() {
        pairs.push(("total_err", Integer(errors.total())));
        pairs.push(("first_error", Integer(first)));
    }
    let own = LanemarkKey::from_result(result, run.workload.average);
    pairs.push(("lanemark", Json::Raw(serde_json::to_string(&own).unwrap_or_default())));
    pairs.extend([
        ("latency_depth", Integer(u64::from(test.issue_depth()))),
        ("latency_target", Integer(0)),
        ("latency_percentile", Real(100.0)),
        ("latency_window", Integer(0)),
    ]);
    Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn job_options(run: &RunResult, test: &Test) -> Json {
    let mut pairs = options(test);
    if let Target::Measured(target) = &run.target {
        pairs.push(("filename".to_owned(), target.path.clone()));
        // The engine of an imported result follows the name of the program.
        let engine = target.engine.rsplit(", ").next().unwrap_or(&target.engine);
        if engine != NOT_STATED {
            pairs.push(("ioengine".to_owned(), engine.to_owned()));
        }
        if let Some(direct) = target.direct {
            pairs.push(("direct".to_owned(), u8::from(direct).to_string()));
        }
    } else if let Target::Simulated(_) = &run.target {
        // Modelled requests are submitted with io_uring and bypass the page cache.
        pairs.push(("ioengine".to_owned(), "io_uring".to_owned()));
        pairs.push(("direct".to_owned(), "1".to_owned()));
    }
    Object(pairs.into_iter().map(|(name, value)| (name, Text(value))).collect())
}

fn direction(
    merged: &MergedRepeats<'_>,
    of: &DirectionResult,
    per: fn(&Sample) -> &Option<DirectionResult>,
) -> Json {
    let count = of.latency.count();
    let seconds = merged.elapsed.as_seconds();
    let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let bytes = of.bytes.get();
    let (kib, requests) = over_time(merged.result, per);
    let runtime = if count > 0 { milliseconds(merged.elapsed) } else { 0 };
    object([
        ("io_bytes", Integer(bytes)),
        ("io_kbytes", Integer(bytes >> 10)),
        ("bw_bytes", Integer(rate(bytes as f64) as u64)),
        ("bw", Integer(rate(bytes as f64 / 1024.0) as u64)),
        ("iops", Real(rate(count as f64))),
        ("runtime", Integer(runtime)),
        ("total_ios", Integer(count)),
        ("short_ios", Integer(0)),
        ("drop_ios", Integer(0)),
        ("slat_ns", latency_of(&LatencyHistogram::new(), false)),
        ("clat_ns", latency_of(&of.latency, count > 0)),
        ("lat_ns", latency_of(&of.latency, false)),
        ("bw_min", Integer(kib.min as u64)),
        ("bw_max", Integer(kib.max as u64)),
        ("bw_agg", Real(if kib.count > 0 { 100.0 } else { 0.0 })),
        ("bw_mean", Real(kib.value)),
        ("bw_dev", Real(kib.deviation.unwrap_or(0.0))),
        ("bw_samples", Integer(u64::from(kib.count))),
        ("iops_min", Integer(requests.min as u64)),
        ("iops_max", Integer(requests.max as u64)),
        ("iops_mean", Real(requests.value)),
        ("iops_stddev", Real(requests.deviation.unwrap_or(0.0))),
        ("iops_samples", Integer(u64::from(requests.count))),
    ])
}

/// Returns the KiB a second and the requests a second of each repeat that has requests.
fn over_time(
    result: &TestResult,
    per: fn(&Sample) -> &Option<DirectionResult>,
) -> (Statistic, Statistic) {
    let mut kib = Vec::new();
    let mut requests = Vec::new();
    for sample in &result.samples {
        let seconds = sample.elapsed.as_seconds();
        let Some(of) = per(sample).as_ref().filter(|of| of.latency.count() > 0 && seconds > 0.0)
        else {
            continue;
        };
        // A series counts both directions together, so it can be used only for a test with one direction.
        let alone = sample.operations() == of.latency.count();
        if let Some(series) =
            sample.series.as_ref().filter(|series| alone && series.points.len() > 1)
        {
            kib.extend((0..series.points.len()).map(|at| series.throughput(at) / 1024.0));
            requests.extend((0..series.points.len()).map(|at| series.iops(at)));
        } else {
            kib.push(of.bytes.get() as f64 / 1024.0 / seconds);
            requests.push(of.latency.count() as f64 / seconds);
        }
    }
    (
        Statistic::from_values(&kib, AverageMethod::Mean),
        Statistic::from_values(&requests, AverageMethod::Mean),
    )
}

fn latency_of(histogram: &LatencyHistogram, whole: bool) -> Json {
    let mut pairs = vec![
        ("min".to_owned(), Integer(histogram.min_ns().unwrap_or(0))),
        ("max".to_owned(), Integer(histogram.max_ns().unwrap_or(0))),
        ("mean".to_owned(), Real(histogram.mean_ns())),
        ("stddev".to_owned(), Real(histogram.deviation_ns())),
        ("N".to_owned(), Integer(histogram.count())),
    ];
    if whole {
        let stated = histogram.stated().iter().map(|(percentile, _)| *percentile);
        let mut percentiles: Vec<f64> = PERCENTILES.into_iter().chain(stated).collect();
        percentiles.sort_by(f64::total_cmp);
        percentiles.dedup();
        let percentile_entry = |percentile: f64| {
            let known = histogram.percentile_ns(percentile)?;
            Some((format!("{percentile:.6}"), Integer(known)))
        };
        let percentiles = percentiles.into_iter().filter_map(percentile_entry).collect();
        pairs.push(("percentile".to_owned(), Object(percentiles)));
        if histogram.detail() == LatencyDetail::Distribution {
            pairs.push(("bins".to_owned(), Object(bins(histogram))));
        }
    }
    Object(pairs)
}

/// Returns each latency and its count. fio's own bins are wider, but readers accept any width.
fn bins(histogram: &LatencyHistogram) -> Vec<(String, Json)> {
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (latency, count) in histogram.bins() {
        match merged.last_mut() {
            Some((last, sum)) if *last == latency => *sum += count,
            _ => merged.push((latency, count)),
        }
    }
    merged.into_iter().map(|(latency, count)| (latency.to_string(), Integer(count))).collect()
}

/// Returns the shares of the latencies below each upper end, in ns, us and ms.
fn classes(histogram: &LatencyHistogram) -> [Json; 3] {
    let mut counts = [[0u64; 12]; 3];
    for (latency, count) in histogram.bins() {
        let (unit, value) = match latency {
            0..1_000 => (0, latency),
            1_000..1_000_000 => (1, latency / 1_000),
            _ => (2, latency / 1_000_000),
        };
        let class = CLASSES.iter().position(|&end| value < end);
        let class = class.unwrap_or(if value < 2000 { 10 } else { 11 });
        counts[unit][class] += count;
    }
    let total_count = histogram.count().max(1) as f64;
    let shares = |unit: usize, ends: &[&str]| {
        let share = |(at, end): (usize, &&str)| {
            ((*end).to_owned(), Real(100.0 * counts[unit][at] as f64 / total_count))
        };
        Object(ends.iter().enumerate().map(share).collect())
    };
    let ends = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
    [shares(0, &ends[..10]), shares(1, &ends[..10]), shares(2, &ends)]
}

fn levels<const N: usize>(names: [&str; N], test: &Test, requests: u64) -> Json {
    let level = (test.issue_depth().max(1).ilog2() as usize).min(N - 1);
    let share = |(at, name): (usize, &str)| {
        (name.to_owned(), Real(if at == level && requests > 0 { 100.0 } else { 0.0 }))
    };
    Object(names.into_iter().enumerate().map(share).collect())
}

fn zeros<const N: usize>(names: [&str; N]) -> Json {
    Object(names.into_iter().map(|name| (name.to_owned(), Real(0.0))).collect())
}

/// Returns the counts of the block layer over all samples, one entry per device.
fn disk_util(run: &RunResult) -> Vec<Json> {
    let samples = run.tests.iter().flat_map(|test| &test.samples);
    let uses = samples.filter_map(|sample| sample.evidence.as_ref()?.device.as_ref());
    let mut devices: Vec<lanemark_schema::result::DeviceUse> = Vec::new();
    for usage in uses {
        match devices.iter_mut().find(|device| device.name == usage.name) {
            Some(device) => {
                device.reads += usage.reads;
                device.writes += usage.writes;
                device.read_time += usage.read_time;
                device.write_time += usage.write_time;
                device.busy += usage.busy;
                device.elapsed += usage.elapsed;
            }
            None => devices.push(usage.clone()),
        }
    }
    let entry = |device: &lanemark_schema::result::DeviceUse| {
        let reads = milliseconds(device.read_time);
        let writes = milliseconds(device.write_time);
        object([
            ("name", Text(device.name.clone())),
            ("read_ios", Integer(device.reads)),
            ("write_ios", Integer(device.writes)),
            ("read_merges", Integer(0)),
            ("write_merges", Integer(0)),
            ("read_ticks", Integer(reads)),
            ("write_ticks", Integer(writes)),
            ("in_queue", Integer(reads + writes)),
            ("util", Real(100.0 * device.busy_share())),
        ])
    };
    devices.iter().map(entry).collect()
}

fn milliseconds(time: Duration) -> u64 {
    time.nanoseconds() / 1_000_000
}

#[cfg(test)]
mod tests;

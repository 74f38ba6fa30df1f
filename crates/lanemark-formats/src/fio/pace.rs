//! `rate`, `thinktime`, `runtime`, `loops` and `steadystate`: the arrival times of requests, and the end of a job.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{
    ArrivalProcess, Load, RoundSettings, SeriesInterval, SyntheticRequests, Test, TrackedFigure,
};

use super::direction::RwOption;
use super::job::{Job, JobProblems};
use super::number::{self, DefaultTimeUnit, WrittenSize};
use super::range::{JobRange, is_strided};
use crate::error::SupportLevel;

/// Number of rounds in the window in which a test must be steady.
const WINDOW: u64 = 5;

/// Sets the limits of `test` from the options of `job`.
pub(crate) fn apply_limits(
    job: &Job,
    placed: &JobRange,
    test: &mut Test,
    findings: &mut JobProblems,
) {
    let runtime = job
        .time("runtime", DefaultTimeUnit::Seconds, findings)
        .filter(|&time| time > Duration::ZERO);
    let time_based = job.flag("time_based", findings).unwrap_or(false);
    if time_based && runtime.is_none() {
        job.note(
            "time_based",
            findings,
            SupportLevel::Needless,
            "fio ignores it without a runtime",
        );
    }
    // The visits of zones already transfer the data of all passes.
    let of_all = |name: &str| !is_strided(job) && job.has(name);
    let loops = job.integer("loops", findings).filter(|_| of_all("loops")).unwrap_or(1).max(1);
    let each = match job.size("io_size", findings).filter(|_| of_all("io_size")) {
        Some(WrittenSize::Bytes(bytes)) => bytes,
        Some(WrittenSize::Share(share)) => (placed.each.get() as f64 * share) as u64,
        None => placed.each.get(),
    };
    let requests = job.integer("number_ios", findings).filter(|&count| count > 0);
    if requests.is_some() && !test.mix().sizes.is_empty() {
        job.note(
            "number_ios",
            findings,
            SupportLevel::Nearly,
            "the amount of data that this number of requests transfers on average",
        );
    }
    let each = requests.map_or(each, |count| {
        let bytes = (count as f64 * test.block_mean()) as u64;
        if job.has("size") || job.has("io_size") { each.min(bytes) } else { bytes }
    });
    let volume = each.saturating_mul(loops).saturating_mul(u64::from(test.threads));
    test.duration = runtime;
    test.volume = if time_based && runtime.is_some() {
        None
    } else {
        Some(Bytes(volume.max(test.block.get())))
    };
    test.ramp = job.time("ramp_time", DefaultTimeUnit::Seconds, findings).unwrap_or(Duration::ZERO);
    apply_steady_state(job, test, findings);
    apply_log_interval(job, test, findings);
}

/// Returns whether a job ends only when it has transferred as much data as its target contains.
pub(crate) fn is_sized_by_target(job: &Job) -> bool {
    let ends =
        ["size", "filesize", "io_size", "number_ios", "runtime", "fill_device", "steadystate"];
    !ends.iter().any(|name| job.has(name))
}

/// Sets the rounds of `test`. fio stops when a figure is steady by one criterion, but Lanemark applies SNIA's rule,
/// which has two criteria.
fn apply_steady_state(job: &Job, test: &mut Test, findings: &mut JobProblems) {
    const EXPECTED: &str =
        "iops, iops_slope, bw, bw_slope, lat or lat_slope with a limit, iops:10%";
    let tracked = job.parsed("steadystate", findings, |text| {
        let (word, limit) = text.split_once(':').ok_or(EXPECTED)?;
        let number = limit.trim().trim_end_matches('%');
        number.parse::<f64>().map_err(|_| EXPECTED)?;
        match word.trim() {
            "iops" | "iops_slope" => Ok(TrackedFigure::Iops),
            "bw" | "bw_slope" => Ok(TrackedFigure::Throughput),
            "lat" | "lat_slope" => Ok(TrackedFigure::Latency),
            _ => Err(EXPECTED),
        }
    });
    let window = job.time("steadystate_duration", DefaultTimeUnit::Seconds, findings);
    let ramp = job.time("steadystate_ramp_time", DefaultTimeUnit::Seconds, findings);
    let Some(tracked) = tracked else { return };
    let Some(window) = window.filter(|&window| window > Duration::ZERO) else {
        return findings
            .add_error(job.error("steadystate_duration", "the length of a window, such as 30s"));
    };
    let reason = "SNIA's rule applies: five rounds, each a fifth of the window, within 20% and with a slope of up to 10%";
    job.note("steadystate", findings, SupportLevel::Nearly, reason);
    test.rounds = Some(RoundSettings { length: window / WINDOW, tracked });
    test.ramp += ramp.unwrap_or(Duration::ZERO);
    if test.duration.take().is_some() {
        job.note(
            "runtime",
            findings,
            SupportLevel::Nearly,
            "a test that runs in rounds ends after up to 25 rounds",
        );
    }
    test.volume = None;
}

/// Sets the interval of `test`. fio's logs over time become a series in the sample.
fn apply_log_interval(job: &Job, test: &mut Test, findings: &mut JobProblems) {
    let step = job.time("log_avg_msec", DefaultTimeUnit::Milliseconds, findings);
    let step = step.filter(|&step| step > Duration::ZERO);
    let logs = ["write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log"];
    let mut is_limited = false;
    for log in logs.into_iter().filter(|log| job.has(log)) {
        is_limited = true;
        let reason = "a series of equal intervals in the result instead of a separate file";
        job.note(log, findings, SupportLevel::Nearly, reason);
    }
    if is_limited || step.is_some() {
        test.interval = Some(
            step.map_or(SeriesInterval::Automatic, |interval| SeriesInterval::Fixed { interval }),
        );
    }
}

/// Sets the arrival times of `requests`. The test has this number of clones, and its requests have a mean length of
/// `mean` bytes.
pub(crate) fn arrivals(
    job: &Job,
    direction: RwOption,
    mean: f64,
    threads: u32,
    requests: &mut SyntheticRequests,
    findings: &mut JobProblems,
) {
    let base = job.kb_base();
    let bytes = job.read_per_direction("rate", findings, |text| number::bytes(text, base));
    let counts = job.read_per_direction("rate_iops", findings, |text| number::integer(text, base));
    let process = job.parsed("rate_process", findings, |text| match text.trim() {
        "linear" => Ok(ArrivalProcess::Even),
        "poisson" => Ok(ArrivalProcess::Poisson),
        _ => Err("linear or poisson"),
    });
    let mut rate = f64::INFINITY;
    let reads = requests.read_share.get();
    let trims = requests.mix.trim_share.get();
    let shares = [reads * (1.0 - trims), (1.0 - reads) * (1.0 - trims), trims];
    let rate_of = |kind: usize| {
        let of_direction =
            |list: &Option<[Option<u64>; 3]>| list.as_ref().and_then(|list| list[kind]);
        let limits = [
            of_direction(&bytes).map(|bytes| bytes as f64 / mean),
            of_direction(&counts).map(|n| n as f64),
        ];
        limits.into_iter().flatten().filter(|&limit| limit > 0.0).reduce(f64::min)
    };
    // The rate applies to each clone.
    let arrival = |rate: f64| Load::Open {
        rate_per_second: rate * f64::from(threads),
        process: process.unwrap_or_default(),
    };
    // Separate rates of reads and writes override the mix of the test.
    if let (true, true, false, Some(reads), Some(writes)) =
        (direction.reads, direction.writes, direction.trims, rate_of(0), rate_of(1))
    {
        requests.read_share = Ratio::new(reads / (reads + writes)).unwrap_or(requests.read_share);
        let name = if job.has("rate_iops") { "rate_iops" } else { "rate" };
        let reason = "reads and writes are drawn from one stream in proportion to their rates";
        job.note(name, findings, SupportLevel::Nearly, reason);
        return open(job, name, arrival(reads + writes), requests, findings);
    }
    for kind in direction.kinds() {
        let share = shares[kind].max(f64::MIN_POSITIVE);
        rate = rate_of(kind).map_or(rate, |limit| rate.min(limit / share));
    }
    if rate.is_finite() {
        let name = if job.has("rate_iops") { "rate_iops" } else { "rate" };
        if direction.only().is_none() {
            let reason = "the slowest direction limits the others, so that the shares are kept";
            job.note(name, findings, SupportLevel::Nearly, reason);
        }
        return open(job, name, arrival(rate), requests, findings);
    }
    if process.is_some() {
        job.note("rate_process", findings, SupportLevel::Needless, "fio ignores it without a rate");
    }
    apply_think_time(job, requests, findings);
}

/// Makes `requests` an open loop.
fn open(
    job: &Job,
    name: &str,
    load: Load,
    requests: &mut SyntheticRequests,
    findings: &mut JobProblems,
) {
    let reason = "each request has its own due time, from which its latency counts";
    job.note(name, findings, SupportLevel::Nearly, reason);
    requests.load = load;
    apply_think_time(job, requests, findings);
}

fn apply_think_time(job: &Job, requests: &mut SyntheticRequests, findings: &mut JobProblems) {
    let think =
        job.time("thinktime", DefaultTimeUnit::Microseconds, findings).unwrap_or(Duration::ZERO);
    let blocks = job.integer("thinktime_blocks", findings).unwrap_or(1).max(1);
    if think == Duration::ZERO {
        return;
    }
    if !requests.load.is_closed() {
        let error = job.error("thinktime", "no think time together with a rate");
        return findings.add_error(error.hint("remove one of them"));
    }
    if blocks > 1 && blocks < u64::from(requests.queue_depth) {
        let reason =
            "the job waits after this number of submitted requests; fio counts completed requests";
        job.note("thinktime_blocks", findings, SupportLevel::Nearly, reason);
    }
    requests.think = think;
    requests.burst = u32::try_from(blocks).unwrap_or(u32::MAX);
}

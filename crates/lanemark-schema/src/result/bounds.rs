//! The bounds of the result schema: the values that a result can contain.
//!
//! A file may come from any program. A value outside these bounds is not a valid result, but views would display it
//! like a valid result. Examples are a hop with a utilisation of -7, a zero-length sample with requests, and byte
//! counts whose sum overflows. Readers check the results that they read. Writers check the results that they write, so
//! that every saved result can be read again.

use super::range::{
    FIGURE_MAX, RangeCheck, TIME_MAX_NS, ValuePath, check_bytes, check_count, check_each,
    check_if_some, check_share, check_time, check_within, count,
};
use super::series::POINTS_MAX;
use super::{
    DeliveryEvidence, DirectionFigures, DirectionResult, DriveUse, EnergyUse, Evidence,
    FaultImpact, HopId, LatencyHistogram, LiveDelivery, PathUse, PredictionInterval, ProcessorUse,
    ProgramRun, QueueDepthProbe, RequestErrors, RunResult, Sample, Series, Statistic, SteadyState,
    Sweep, SweepFigures, TestResult, TransactionFigures,
};
use crate::units::{Bytes, Duration};
use crate::workload::bound::{QUEUE_DEPTH, THREADS, USERS, WAREHOUSES};
use crate::workload::{Fault, LoadKind, Test};

/// Maximum logarithm of the ratio of a draw's rate to the rate with the values in the files.
const LOG_MAX: f64 = 100.0;

/// Maximum number of counts, one per kind and error number; error numbers end at 4,095 (Linux's `MAX_ERRNO`).
const ERRORS_MAX: usize = 8192;

impl RunResult {
    /// Checks that every value of the result is within its bounds.
    ///
    /// # Errors
    /// Returns the first value that is out of range.
    pub fn check(&self) -> RangeCheck {
        let at = ValuePath::from_root("");
        count(&at.key("tests"), self.tests.len())?;
        check_if_some(&at.key("target.served"), self.target.served(), |at, served| {
            check_within(&at.key("time_scale"), served.time_scale, FIGURE_MAX)
        })?;
        check_each(&at.key("workload.tests"), &self.workload.tests, requested_test)?;
        check_each(&at.key("tests"), &self.tests, test_result)?;
        count(&at.key("power_cuts"), self.power_cuts.len())?;
        check_each(&at.key("power_cuts"), &self.power_cuts, |at, cut| {
            check_within(&at.key("after_s"), cut.after_s, FIGURE_MAX)
        })
    }
}

impl Sweep {
    /// Checks that the figures of all points are within their bounds.
    ///
    /// # Errors
    /// Returns the first value that is out of range.
    pub fn check(&self) -> RangeCheck {
        self.points.iter().try_for_each(|point| match &point.outcome {
            Ok(figures) => {
                sweep_figures(&ValuePath::from_root(&format!("point {}", point.number)), figures)
            }
            Err(_) => Ok(()),
        })
    }
}

fn sweep_figures(at: &ValuePath, figures: &SweepFigures) -> RangeCheck {
    check_within(&at.key("iops"), figures.iops, FIGURE_MAX)?;
    check_within(&at.key("bytes_per_second"), figures.bytes_per_second, FIGURE_MAX)?;
    check_within(&at.key("latency_mean_us"), figures.latency_mean_us, TIME_MAX_NS)?;
    let others = figures.latency_percentiles_us.iter().chain([&figures.latency_max_us]).flatten();
    others.copied().try_for_each(|us| check_within(&at.key("latency_us"), us, TIME_MAX_NS))?;
    for (key, direction) in [("read", &figures.reads), ("write", &figures.writes)] {
        if let Some(direction) = direction {
            direction_figures(&at.key(key), direction)?;
        }
    }
    let amplification = figures.write_amplification.unwrap_or_default();
    check_within(&at.key("write_amplification"), amplification, FIGURE_MAX)?;
    figures.busiest.as_ref().map_or(Ok(()), |(_, busy)| check_share(&at.key("utilisation"), *busy))
}

fn direction_figures(at: &ValuePath, figures: &DirectionFigures) -> RangeCheck {
    check_within(&at.key("iops"), figures.iops, FIGURE_MAX)?;
    check_within(&at.key("bytes_per_second"), figures.bytes_per_second, FIGURE_MAX)?;
    check_within(&at.key("latency_mean_us"), figures.latency_mean_us, TIME_MAX_NS)?;
    let others = figures.latency_percentiles_us.iter().chain([&figures.latency_max_us]).flatten();
    others.copied().try_for_each(|us| check_within(&at.key("latency_us"), us, TIME_MAX_NS))
}

fn requested_test(at: &ValuePath, test: &Test) -> RangeCheck {
    let depth = test.issue_depth();
    if !QUEUE_DEPTH.contains(&depth) {
        return at.key("queue_depth").fail(depth, QUEUE_DEPTH);
    }
    let threads = match test.asks {
        LoadKind::Database(_) => USERS,
        LoadKind::Requests(_)
        | LoadKind::Transactions(_)
        | LoadKind::Trace(_)
        | LoadKind::PartlyStated(_) => THREADS,
    };
    if !threads.contains(&test.threads) {
        return at.key("threads").fail(test.threads, threads);
    }
    if let LoadKind::Database(users) = &test.asks
        && !(WAREHOUSES.contains(&users.warehouses) && WAREHOUSES.contains(&users.divisor))
    {
        let found = format!("{} with a divisor of {}", users.warehouses, users.divisor);
        return at.key("load.warehouses").fail(found, format!("both {WAREHOUSES}"));
    }
    if test.block == Bytes::ZERO {
        return at.key("block").fail(test.block, "above 0");
    }
    check_bytes(&at.key("block"), test.block)?;
    check_time(&at.key("duration_ns"), test.duration.unwrap_or_default())?;
    check_time(&at.key("ramp_ns"), test.ramp)?;
    check_time(&at.key("think_ns"), test.think())?;
    check_bytes(&at.key("span"), test.span)?;
    check_bytes(&at.key("offset"), test.offset)?;
    match test.read_share() {
        Some(share) => check_share(&at.key("read_share"), share.get()),
        None => Ok(()),
    }
}

fn test_result(at: &ValuePath, test: &TestResult) -> RangeCheck {
    requested_test(&at.key("test"), &test.test)?;
    if test.samples.is_empty() {
        return at.key("samples").fail("empty", "at least one sample");
    }
    check_each(&at.key("samples"), &test.samples, sample)?;
    statistic(&at.key("throughput_bytes_per_second"), &test.throughput_bytes_per_second)?;
    statistic(&at.key("iops"), &test.iops)?;
    statistic(&at.key("latency_mean_ns"), &test.latency_mean_ns)?;
    if let Some(interval) = &test.interval {
        prediction_interval(&at.key("interval"), interval)?;
    }
    if let Some(rates) = &test.drawn {
        check_each(&at.key("drawn"), rates.logs(), drawn)?;
    }
    if let Some(probe) = &test.queue_probe {
        queue_probe(&at.key("queue_probe"), probe)?;
    }
    Ok(())
}

fn drawn(at: &ValuePath, log: &Option<f64>) -> RangeCheck {
    match log {
        Some(log) if !(-LOG_MAX..=LOG_MAX).contains(log) => {
            at.fail(log, format!("from -{LOG_MAX} to {LOG_MAX}"))
        }
        Some(_) | None => Ok(()),
    }
}

fn prediction_interval(at: &ValuePath, interval: &PredictionInterval) -> RangeCheck {
    check_ratios(at, interval.low_ratio, interval.high_ratio)?;
    if let Some(widest) = &interval.widest {
        check_share(&at.key("widest.share"), widest.share)?;
    }
    check_each(&at.key("percentiles"), &interval.percentiles, |at, one| {
        check_within(&at.key("percentile"), one.percentile, 100.0)?;
        check_ratios(at, one.low_ratio, one.high_ratio)
    })
}

/// Checks the bounds of an interval around 1.
fn check_ratios(at: &ValuePath, low: f64, high: f64) -> RangeCheck {
    check_share(&at.key("low_ratio"), low)?;
    if (1.0..=FIGURE_MAX).contains(&high) {
        Ok(())
    } else {
        at.key("high_ratio").fail(high, "at least 1")
    }
}

fn queue_probe(at: &ValuePath, probe: &QueueDepthProbe) -> RangeCheck {
    check_within(&at.key("iops"), probe.iops, FIGURE_MAX)?;
    check_within(&at.key("iops_doubled"), probe.iops_doubled, FIGURE_MAX)?;
    check_within(&at.key("core_wait"), probe.core_wait.unwrap_or(0.0), 1e9)?;
    probe.processors.map_or(Ok(()), |used| processors(&at.key("processors"), &used))
}

fn statistic(at: &ValuePath, statistic: &Statistic) -> RangeCheck {
    for (key, value) in [("value", statistic.value), ("min", statistic.min), ("max", statistic.max)]
    {
        check_within(&at.key(key), value, FIGURE_MAX)?;
    }
    check_within(&at.key("deviation"), statistic.deviation.unwrap_or(0.0), FIGURE_MAX)?;
    let (low, high) = statistic.interval_95.unwrap_or_default();
    check_within(&at.key("interval_95"), low, FIGURE_MAX)?;
    check_within(&at.key("interval_95"), high, FIGURE_MAX)?;
    // Means are rounded, so they may exceed the bounds slightly.
    let slack = statistic.max.abs() * 1e-6;
    if statistic.min <= statistic.value + slack && statistic.value <= statistic.max + slack {
        Ok(())
    } else {
        at.key("value")
            .fail(statistic.value, format!("from {} to {}", statistic.min, statistic.max))
    }
}

fn sample(at: &ValuePath, sample: &Sample) -> RangeCheck {
    if let Some(in_flight) = &sample.in_flight {
        check_time(&at.key("in_flight.age_max_ns"), in_flight.age_max)?;
    }
    check_time(&at.key("elapsed_ns"), sample.elapsed)?;
    for (key, direction) in [
        ("reads", &sample.reads),
        ("writes", &sample.writes),
        ("flushes", &sample.flushes),
        ("trims", &sample.trims),
    ] {
        check_if_some(&at.key(key), direction.as_ref(), direction_result)?;
    }
    if sample.elapsed == Duration::ZERO && sample.complete && sample.operations() > 1 {
        let requests = sample.operations();
        return at.key("elapsed_ns").fail(0, format!("above 0, since {requests} requests ended"));
    }
    check_errors(&at.key("errors"), &sample.errors)?;
    check_each(&at.key("faults"), &sample.faults, check_fault)?;
    if let Some(cpu) = &sample.cpu {
        check_within(&at.key("cpu.user_ns_per_request"), cpu.user_ns_per_request, TIME_MAX_NS)?;
        check_within(&at.key("cpu.system_ns_per_request"), cpu.system_ns_per_request, TIME_MAX_NS)?;
    }
    if let Some(punctuality) = &sample.punctuality {
        let at = at.key("punctuality");
        check_latency(&at.key("lateness"), &punctuality.lateness)?;
        check_latency(&at.key("own_lateness"), &punctuality.own_lateness)?;
    }
    check_if_some(&at.key("evidence"), sample.evidence.as_ref(), evidence)?;
    check_if_some(&at.key("path"), sample.path.as_ref(), check_path)?;
    check_if_some(&at.key("drive"), sample.drive.as_ref(), check_drive)?;
    check_if_some(&at.key("energy"), sample.energy.as_ref(), check_energy)?;
    check_if_some(&at.key("series"), sample.series.as_ref(), check_series)?;
    check_if_some(&at.key("steady"), sample.steady.as_ref(), check_steady)?;
    check_if_some(&at.key("live"), sample.live.as_ref(), check_live)?;
    sample.converged.as_ref().map_or(Ok(()), |converged| converged.check(at))?;
    sample.similar.as_ref().map_or(Ok(()), |similar| similar.check(at))?;
    count(&at.key("phases"), sample.phases.len())?;
    sample.phases.iter().try_for_each(|phase| phase.check(&at.key("phases")))?;
    count(&at.key("credits"), sample.credits.len())?;
    sample.credits.iter().try_for_each(|credits| credits.check(&at.key("credits")))?;
    check_if_some(&at.key("transactions"), sample.transactions.as_ref(), transactions)
}

/// Checks the delivery of a served system.
fn check_live(at: &ValuePath, live: &LiveDelivery) -> RangeCheck {
    check_within(&at.key("time_scale"), live.time_scale, FIGURE_MAX)?;
    check_time(&at.key("served_ns"), live.served)?;
    check_latency(&at.key("lateness"), &live.lateness)?;
    check_if_some(&at.key("reads"), live.reads.as_ref(), direction_result)?;
    check_if_some(&at.key("writes"), live.writes.as_ref(), direction_result)?;
    check_errors(&at.key("host_errors"), &live.host_errors)?;
    delivery_evidence(&at.key("evidence"), &live.evidence)?;
    check_if_some(&at.key("content"), live.content.as_ref(), |at, live| {
        check_bytes(&at.key("written_bytes"), live.written_bytes)
    })?;
    check_within(&at.key("processor_s"), live.processor_s, FIGURE_MAX)?;
    check_time(&at.key("busy_ns"), live.busy)?;
    check_if_some(&at.key("program"), live.program.as_ref(), program)
}

/// Checks the program that used a served system.
fn program(at: &ValuePath, program: &ProgramRun) -> RangeCheck {
    check_time(&at.key("wall_ns"), program.wall)?;
    check_time(&at.key("busy_ns"), program.busy)?;
    check_time(&at.key("sync_ns"), program.sync)?;
    check_within(&at.key("processor_s"), program.processor_s, FIGURE_MAX)
}

fn delivery_evidence(at: &ValuePath, evidence: &DeliveryEvidence) -> RangeCheck {
    check_time(&at.key("modelled_p50_ns"), evidence.modelled_p50)?;
    check_time(&at.key("modelled_p99_ns"), evidence.modelled_p99)?;
    check_time(&at.key("modelled_mean_ns"), evidence.modelled_mean)?;
    check_within(
        &at.key("modelled_total_ns"),
        evidence.modelled_total.as_seconds() * 1e9,
        FIGURE_MAX,
    )?;
    check_if_some(&at.key("outside"), evidence.outside.as_ref(), |at, evidence| {
        check_time(&at.key("client_ns"), evidence.client)?;
        check_time(&at.key("host_ns"), evidence.host)
    })?;
    check_time(&at.key("unread_ns"), evidence.unread)?;
    check_share(&at.key("drive_busy"), evidence.drive_busy)?;
    check_share(&at.key("server_busy"), evidence.server_busy)
}

fn direction_result(at: &ValuePath, direction: &DirectionResult) -> RangeCheck {
    check_bytes(&at.key("bytes"), direction.bytes)?;
    check_latency(&at.key("latency"), &direction.latency)
}

/// Checks the outcome of a fault: its text and its times.
fn check_fault(at: &ValuePath, fault_use: &FaultImpact) -> RangeCheck {
    let text = at.key("fault");
    match fault_use.fault.parse::<Fault>() {
        Ok(_) => {}
        Err(error) => text.fail(&fault_use.fault, format!("a fault: {error}"))?,
    }
    let times = [("at_ns", Some(fault_use.at)), ("recovery_ns", fault_use.recovery)];
    times.into_iter().try_for_each(|(key, time)| {
        check_within(&at.key(key), time.unwrap_or_default().as_seconds() * 1e9, TIME_MAX_NS)
    })
}

fn check_errors(at: &ValuePath, all: &RequestErrors) -> RangeCheck {
    let counts = all.counts();
    if counts.len() > ERRORS_MAX {
        return at.fail(format!("{} entries", counts.len()), format!("at most {ERRORS_MAX}"));
    }
    check_each(at, counts, |at, count| match count.requests {
        0 => at.key("requests").fail(0, "above 0"),
        requests => check_count(&at.key("requests"), requests),
    })?;
    if counts.windows(2).all(|pair| (pair[0].kind, pair[0].errno) < (pair[1].kind, pair[1].errno)) {
        Ok(())
    } else {
        at.fail("out of order", "each once, in order of kind and error number")
    }
}

fn check_latency(at: &ValuePath, histogram: &LatencyHistogram) -> RangeCheck {
    histogram.check(at)
}

fn check_path(at: &ValuePath, path: &PathUse) -> RangeCheck {
    let mut ids: Vec<HopId> = path.hops.iter().map(|hop| hop.id).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return at.key("hops").fail(format!("a list with {} twice", twice[0]), "each hop once");
    }
    check_each(&at.key("hops"), &path.hops, |at, hop| {
        check_share(&at.key("utilisation"), hop.utilisation)?;
        check_within(&at.key("wait_ns"), hop.wait_ns, TIME_MAX_NS)?;
        check_within(&at.key("service_ns"), hop.service_ns, TIME_MAX_NS)
    })
}

fn check_drive(at: &ValuePath, drive: &DriveUse) -> RangeCheck {
    for (key, value) in [
        ("host_written_bytes", drive.host_written),
        ("moved_bytes", drive.moved),
        ("folded_bytes", drive.folded),
        ("padded_bytes", drive.padded),
        ("map_written_bytes", drive.map_written),
        ("erased_used_bytes", drive.erased_used),
    ] {
        check_bytes(&at.key(key), value)?;
    }
    check_count(&at.key("superblocks_erased"), drive.superblocks_erased)
}

fn check_energy(at: &ValuePath, energy: &EnergyUse) -> RangeCheck {
    check_time(&at.key("elapsed_ns"), energy.elapsed)?;
    check_within(&at.key("energy_joules"), energy.energy_joules, FIGURE_MAX)?;
    check_within(&at.key("power_mean_watts"), energy.power_mean_watts, FIGURE_MAX)?;
    check_each(&at.key("parts"), &energy.parts, |at, part| {
        check_within(&at.key("energy_joules"), part.energy_joules, FIGURE_MAX)
    })?;
    check_each(&at.key("states"), &energy.states, |at, state| {
        check_time(&at.key("time_ns"), state.time)
    })
}

fn check_series(at: &ValuePath, series: &Series) -> RangeCheck {
    if series.points.len() > POINTS_MAX {
        let points = series.points.len();
        return at.key("points").fail(format!("{points} points"), format!("at most {POINTS_MAX}"));
    }
    let whole = series.interval.picoseconds() as f64 / 1e3 * series.points.len() as f64;
    check_within(&at.key("interval_ns"), whole, 2.0 * TIME_MAX_NS)?;
    if series.interval == Duration::ZERO && series.points.len() > 1 {
        return at.key("interval_ns").fail(0, "above 0");
    }
    check_time(&at.key("last_ns"), series.last)?;
    // The sum of reads and writes over all points must fit in 64 bits.
    let most = u64::MAX / 4 / series.points.len().max(1) as u64;
    count(&at.key("points"), series.points.len())?;
    series.points.iter().enumerate().try_for_each(|(index, point)| {
        let at = at.key(&format!("points[{index}]"));
        for (key, value) in [
            ("reads", point.reads),
            ("writes", point.writes),
            ("read_bytes", point.read_bytes.get()),
            ("written_bytes", point.written_bytes.get()),
        ] {
            if value > most {
                return at.key(key).fail(value, format!("at most {most}"));
            }
        }
        check_within(&at.key("latency_mean_ns"), point.latency_mean_ns, TIME_MAX_NS)?;
        let steps = &point.latency_steps;
        let requests = point.requests();
        if !steps.is_empty() && !steps.counts_all(requests) {
            let rule = format!("steps in ascending order, of {requests} requests in all");
            return at.key("latency_steps").fail("invalid", rule);
        }
        check_within(&at.key("latency_max_ns"), point.latency_max_ns as f64, TIME_MAX_NS)
    })
}

fn check_steady(at: &ValuePath, steady: &SteadyState) -> RangeCheck {
    check_each(&at.key("rounds"), &steady.rounds, |at, round| {
        check_within(&at.key("iops"), round.iops, FIGURE_MAX)?;
        let rate = round.throughput_bytes_per_second;
        check_within(&at.key("throughput_bytes_per_second"), rate, FIGURE_MAX)?;
        check_within(&at.key("latency_mean_ns"), round.latency_mean_ns, TIME_MAX_NS)
    })
}

fn transactions(at: &ValuePath, transactions: &TransactionFigures) -> RangeCheck {
    check_count(&at.key("count"), transactions.count)?;
    check_count(&at.key("looked_on"), transactions.looked_on)?;
    for (key, value) in [
        ("per_minute", Some(transactions.per_minute)),
        ("new_orders_per_minute", transactions.new_orders_per_minute),
        ("counted_per_minute", transactions.counted_per_minute),
        ("page_reads", transactions.page_reads),
        ("page_writes", transactions.page_writes),
        ("log_writes", transactions.log_writes),
        ("log_bytes", transactions.log_bytes),
        ("log_flushes", transactions.log_flushes),
        ("commits_per_log_write", transactions.commits_per_log_write),
    ] {
        check_within(&at.key(key), value.unwrap_or(0.0), FIGURE_MAX)?;
    }
    for (key, value) in [
        ("processor_busy", transactions.processor_busy),
        ("processor_others", transactions.processor_others),
        ("buffer_hit_ratio", transactions.buffer_hit_ratio),
    ] {
        check_share(&at.key(key), value.unwrap_or(0.0))?;
    }
    if let Some(time) = &transactions.processor_time {
        let at = at.key("processor_time");
        let sessions = time.sessions.unwrap_or_default();
        for (key, seconds) in [
            ("server_s", time.server_s),
            ("driver_s", time.driver_s),
            ("sessions.running_s", Some(sessions.running_s)),
            ("sessions.ready_s", Some(sessions.ready_s)),
        ] {
            check_within(&at.key(key), seconds.unwrap_or(0.0), FIGURE_MAX)?;
        }
    }
    for (counter, value) in transactions.counters.iter() {
        check_count(&at.key(&format!("counters.{counter:?}")), value)?;
    }
    if let Some(waits) = &transactions.waits {
        let at = at.key("waits");
        check_count(&at.key("looks"), waits.looks)?;
        waits.samples.values().try_for_each(|&samples| check_count(&at.key("samples"), samples))?;
    }
    for (kind, used) in &transactions.kinds {
        let at = at.key(&format!("kinds.{}", kind.name()));
        for (key, value) in
            [("count", used.count), ("rolled_back", used.rolled_back), ("retries", used.retries)]
        {
            check_count(&at.key(key), value)?;
        }
        if used.rolled_back > used.count {
            return at.key("rolled_back").fail(used.rolled_back, format!("at most {}", used.count));
        }
        check_latency(&at.key("latency"), &used.latency)?;
    }
    check_latency(&at.key("response"), &transactions.response)
}

fn evidence(at: &ValuePath, evidence: &Evidence) -> RangeCheck {
    if let Some(device) = &evidence.device {
        let at = at.key("device");
        check_bytes(&at.key("read_bytes"), device.read_bytes)?;
        check_bytes(&at.key("written_bytes"), device.written_bytes)?;
        for (key, count) in
            [("reads", device.reads), ("writes", device.writes), ("flushes", device.flushes)]
        {
            check_count(&at.key(key), count)?;
        }
        check_time(&at.key("busy_ns"), device.busy)?;
        check_time(&at.key("elapsed_ns"), device.elapsed)?;
    }
    if let Some(temperatures) = &evidence.temperatures {
        let at = at.key("temperatures");
        check_within(
            &at.key("limit_celsius"),
            temperatures.limit_celsius.unwrap_or(0.0).abs(),
            1e4,
        )?;
        for reading in &temperatures.readings {
            check_time(&at.key("at_ns"), reading.at)?;
            check_within(&at.key("celsius"), reading.celsius.abs(), 1e4)?;
        }
    }
    if let Some(used) = &evidence.processors {
        processors(&at.key("processors"), used)?;
    }
    if let Some(threads) = &evidence.threads {
        check_within(&at.key("threads.busiest"), threads.busiest, 1e9)?;
        check_within(&at.key("threads.core_wait"), threads.core_wait.unwrap_or(0.0), 1e9)?;
    }
    Ok(())
}

fn processors(at: &ValuePath, used: &ProcessorUse) -> RangeCheck {
    for (key, cores) in [
        ("user", used.user),
        ("system", used.system),
        ("interrupts", used.interrupts),
        ("stolen", used.stolen),
        ("idle", used.idle),
        ("own", used.own.unwrap_or(0.0)),
        ("kernel", used.kernel.unwrap_or(0.0)),
    ] {
        check_within(&at.key(key), cores, 1e9)?;
    }
    check_within(&at.key("wakes"), used.wakes.unwrap_or(0.0), 1e12)
}

#[cfg(test)]
mod tests;

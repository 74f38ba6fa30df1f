//! The fio options that are equivalent to a test.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{ArrivalProcess, Load, Pattern, SyntheticRequests, Test};

/// Returns the options for `test` in their customary order.
pub(super) fn options(test: &Test) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| all.push((name.to_owned(), value));
    add("name", test.name.clone());
    if test.pattern().is_some() || test.unstated().is_empty() {
        add("rw", direction(test));
    }
    add("bs", size(test.block));
    if let Some(depth) = test.queue_depth() {
        add("iodepth", depth.to_string());
    }
    add("numjobs", test.threads.to_string());
    add("size", size(test.span));
    if test.mix().sizes.len() > 1 {
        let sum: f64 = test.mix().sizes.iter().map(|size| size.share).sum();
        let size_list = test
            .mix()
            .sizes
            .iter()
            .map(|part| format!("{}/{:.0}", size(part.block), 100.0 * part.share / sum));
        add("bssplit", size_list.collect::<Vec<_>>().join(":"));
    }
    if test.offset > Bytes::ZERO {
        add("offset", size(test.offset));
    }
    if let Some(share) = test.read_share().filter(|_| test.reads() && test.writes()) {
        add("rwmixread", format!("{:.0}", 100.0 * share.get()));
    }
    if test.alignment() != test.block_least() && !test.is_in_order() {
        add("blockalign", size(test.alignment()));
    }
    match test.pattern() {
        Some(Pattern::Uniform) => add("norandommap", "1".to_owned()),
        Some(Pattern::Zipf { theta }) => add("random_distribution", format!("zipf:{theta}")),
        Some(Pattern::Pareto { h }) => add("random_distribution", format!("pareto:{h}")),
        Some(Pattern::Normal { deviation }) => {
            add(
                "random_distribution",
                format!("normal:{:.0}", 100.0 * crate::fio::normal_for(deviation.get())),
            );
        }
        Some(Pattern::Zones { zones }) => {
            add("random_distribution", zoned(zones.iter().map(|zone| (zone.share, zone.span))));
        }
        Some(Pattern::PartlyRandom { random_share }) => {
            add("percentage_random", format!("{:.0}", 100.0 * random_share.get()));
        }
        Some(Pattern::HotCold { hot_span, hot_share }) => {
            let complement = |ratio: &Ratio| Ratio::new(1.0 - ratio.get()).unwrap_or(Ratio::ZERO);
            let cold = (complement(hot_share), complement(hot_span));
            add("random_distribution", zoned([(*hot_share, *hot_span), cold].into_iter()));
        }
        Some(Pattern::Sequential | Pattern::Backward | Pattern::Shuffled) | None => {}
    }
    if let Some(every) = test.mix().flush_every {
        add("fsync", every.to_string());
    }
    if let Some(&SyntheticRequests { load: Load::Open { rate_per_second, process }, .. }) =
        test.requests()
    {
        let rate_per_thread = rate_per_second / f64::from(test.threads);
        add("rate_iops", format!("{rate_per_thread:.0}"));
        if process == ArrivalProcess::Poisson {
            add("rate_process", "poisson".to_owned());
        }
    }
    if test.think() > Duration::ZERO {
        add("thinktime", format!("{:.0}", test.think().as_microseconds()));
        if let Some(burst) = test.requests().map(|requests| requests.burst).filter(|n| *n > 1) {
            add("thinktime_blocks", burst.to_string());
        }
    }
    if let Some(duration) = test.duration {
        add("runtime", format!("{:.0}", duration.as_seconds().ceil()));
        if test.volume.is_none() {
            add("time_based", "1".to_owned());
        }
    }
    if test.ramp > Duration::ZERO {
        add("ramp_time", format!("{:.0}", test.ramp.as_seconds().ceil()));
    }
    if test.compressibility > Ratio::ZERO {
        let share = 100.0 * test.compressibility.get();
        add("buffer_compress_percentage", format!("{share:.0}"));
    }
    all
}

fn direction(test: &Test) -> String {
    let word = match (test.reads(), test.writes(), test.trims()) {
        (_, true, true) => "trimwrite",
        (_, _, true) => "trim",
        (true, true, _) => "rw",
        (true, _, _) => "read",
        _ => "write",
    };
    match test.pattern() {
        Some(Pattern::Sequential) if test.alignment() > test.block => {
            format!("{word}:{}", size(Bytes(test.alignment().get() - test.block.get())))
        }
        Some(Pattern::Backward) => {
            let back = test.block.get().next_multiple_of(test.alignment().get());
            format!("{word}:-{}", size(Bytes(back + test.block.get())))
        }
        Some(Pattern::Sequential) => word.to_owned(),
        _ => format!("rand{word}"),
    }
}

fn zoned(zones: impl Iterator<Item = (Ratio, Ratio)>) -> String {
    let parts =
        zones.map(|(share, span)| format!("{:.0}/{:.0}", 100.0 * share.get(), 100.0 * span.get()));
    format!("zoned:{}", parts.collect::<Vec<_>>().join(":"))
}

/// Returns a size such as `4k`, `1m` or `512`: the shortest text that fio reads as this size.
fn size(bytes: Bytes) -> String {
    let count = bytes.get();
    for (shift, letter) in [(40, 't'), (30, 'g'), (20, 'm'), (10, 'k')] {
        if count > 0 && count.trailing_zeros() >= shift {
            return format!("{}{letter}", count >> shift);
        }
    }
    count.to_string()
}

#[cfg(test)]
mod tests;

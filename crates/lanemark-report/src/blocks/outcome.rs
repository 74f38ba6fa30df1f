//! The outcome of a test in sentences: its rates, its failures, its faults, its replay, and its delivery.

use lanemark_schema::result::{
    ClientDeviation, DeliveryEvidence, LatencyHistogram, LiveDelivery, LiveVerdict, ReplayCounts,
    StartContent, TestResult,
};
use lanemark_schema::units::Bytes;

use super::{faults, wrong};
use crate::text::block::Block;
use crate::text::number::{
    ABSENT, NO_SPREAD, cpu_ns, fixed, known_value, or_absent, percent, percent_whole, significant,
    spread,
};

/// Returns the sentences about a test as a whole.
pub(super) fn blocks(test: &TestResult) -> Vec<Block<'_>> {
    let replays = test.samples.iter().filter_map(|sample| sample.replay.as_ref());
    let deliveries = test.samples.iter().filter_map(|sample| sample.live.as_ref());
    let sentences = std::iter::once(figures(test))
        .chain(failure_text(test))
        .chain(faults::sentences(test))
        .chain(replays.map(replay_text))
        .chain(deliveries.map(served_text));
    sentences.map(Block::Text).collect()
}

/// Describes throughput, requests and processor time in a sentence.
fn figures(test: &TestResult) -> String {
    let throughput = &test.throughput_bytes_per_second;
    let rate = or_absent(known_value(throughput), |bytes| significant(bytes / 1e6));
    let iops = or_absent(known_value(&test.iops), |iops| fixed(iops, 0));
    let spread = match spread(throughput) {
        spread if spread == ABSENT || spread == NO_SPREAD => String::new(),
        spread => format!(" {spread}"),
    };
    let repeats = match test.samples.len() {
        1 => "1 repeat".to_owned(),
        count => format!("{count} repeats"),
    };
    let cpu = cpu_ns(test).map_or(String::new(), |ns| {
        format!(", {} µs of processor time per request", significant(ns / 1e3))
    });
    let sure = throughput.interval_95.filter(|(low, high)| low < high);
    let sure = sure.map_or(String::new(), |(low, high)| {
        format!(" (95% confident: {} to {})", significant(low / 1e6), significant(high / 1e6))
    });
    format!("{rate} MB/s{spread}{sure}, {iops} requests a second over {repeats}{cpu}.")
}

/// Returns the number of failed requests by type, and their share of all requests.
fn failure_text(test: &TestResult) -> Option<String> {
    let errors = test.errors();
    let share = wrong::failed_share(test).unwrap_or(0.0);
    (!errors.is_empty()).then(|| {
        let requests = if errors.total() == 1 { "request" } else { "requests" };
        format!("{} {requests} failed, {} of all: {errors}.", errors.total(), percent(share))
    })
}

/// Describes the replay of a trace in a sentence.
fn replay_text(replay: &ReplayCounts) -> String {
    let pace = match (replay.speed, replay.span) {
        (Some(speed), Some(span)) => {
            let speed = match speed {
                1.0 => "as recorded".to_owned(),
                speed => format!("{speed} times as fast as recorded"),
            };
            format!("{speed}, over {} s", significant(span.as_seconds()))
        }
        _ => "as fast as possible".to_owned(),
    };
    let requests = match replay.requests {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    };
    format!(
        "{requests} of the trace, {pace}: {} outstanding on average, {} at most.",
        significant(replay.outstanding_mean),
        replay.outstanding_max
    )
}

/// Describes in a few sentences how a served system delivered its answers.
fn served_text(live: &LiveDelivery) -> String {
    let us = |latency: &LatencyHistogram, percentile| {
        let ns = latency.percentile_ns(percentile);
        ns.map_or("–".to_owned(), |ns| format!("{} µs", significant(ns as f64 / 1e3)))
    };
    let late = &live.lateness;
    let mut text = format!(
        "Served for {} s; a simulated second took {} s. Answers were {} late at the median, {} at \
         p99 and {} at p99.9.",
        significant(live.served.as_seconds()),
        significant(live.time_scale),
        us(late, 50.0),
        us(late, 99.0),
        us(late, 99.9),
    );
    text.extend(verdict(live));
    text.extend(live.content.map(content));
    for (name, direction) in [("Reads", &live.reads), ("Writes", &live.writes)] {
        if let Some(direction) = direction {
            let p50 = us(&direction.latency, 50.0);
            let p99 = us(&direction.latency, 99.0);
            text.push_str(&format!(
                " {name} were delivered within {p50} at the median and {p99} at p99."
            ));
        }
    }
    text
}

/// Returns the verdict, such as `The run is valid. A request's time at a client differed from the model's by +3% on
/// average and +4% at the median; …`.
fn verdict(live: &LiveDelivery) -> Option<String> {
    let ClientDeviation { median, mean } = live.deviation()?;
    let percent = |share: f64| match (share * 100.0).round() as i64 {
        0 => "0%".to_owned(),
        percent => format!("{percent:+}%"),
    };
    let DeliveryEvidence { drive_busy, server_busy, outside, .. } = live.evidence;
    let verdict = match live.verdict() {
        LiveVerdict::Valid if live.tail_holds() => "valid",
        LiveVerdict::Valid => "valid except for its 99th percentile",
        LiveVerdict::Late => "invalid, because answers were late",
        LiveVerdict::Early => "invalid, because answers were early",
        LiveVerdict::Saturated => "invalid, because the server was saturated",
    };
    let measured_at = if outside.is_some() { "at a client" } else { "in the server" };
    Some(format!(
        " The run is {verdict}. A request's time {measured_at} differed from the model's by {} on average \
         and {} at the median; the drive was busy for {} of the time, and the server for {}.",
        percent(mean),
        percent(median),
        percent_whole(drive_busy),
        percent_whole(server_busy),
    ))
}

/// Describes the initial content of the drive, such as `The drive started with 8 GiB of data, just written`.
fn content(start: StartContent) -> String {
    let StartContent { written_bytes, is_just_written } = start;
    match (written_bytes, is_just_written) {
        (Bytes::ZERO, _) => " The drive started empty.".to_owned(),
        (bytes, true) => format!(" The drive started with {bytes} of data, just written."),
        (bytes, false) => format!(" The drive started with {bytes} of data, written long before."),
    }
}

//! The figures of a session as text: OpenMetrics for programs, and a line of text for display.
//!
//! The format is OpenMetrics 1.0: counters end in `_total`, times are in seconds, and `# EOF` is the last line.

use std::fmt::Write;

use lanemark_schema::result::{DirectionResult, LatencyHistogram, LiveDelivery, Sample};

use crate::session::SessionFigures;

/// The quantiles of summaries.
const QUANTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// Writes all figures as OpenMetrics.
pub fn text(figures: &SessionFigures) -> String {
    let mut out = String::new();
    let SessionFigures { sample, outstanding, connections, lost, .. } = figures;
    write_model(&mut out, sample);
    if let Some(live) = &sample.live {
        write_delivery(&mut out, live);
    }
    write_head(&mut out, "outstanding", "gauge", "Requests in progress.");
    write_line(&mut out, "outstanding", "", *outstanding as f64);
    write_head(&mut out, "connections", "gauge", "Connections that are open.");
    write_line(&mut out, "connections", "", *connections as f64);
    write_head(&mut out, "power_cuts", "counter", "Power cuts since the start of the session.");
    write_line(&mut out, "power_cuts_total", "", lost.len() as f64);
    if let Some(path) = &sample.path {
        write_head(
            &mut out,
            "hop_busy_ratio",
            "gauge",
            "Share of the time in which a hop was busy.",
        );
        for hop in &path.hops {
            write_line(
                &mut out,
                "hop_busy_ratio",
                &format!("hop=\"{}\"", escaped(&hop.name)),
                hop.utilisation,
            );
        }
    }
    out.push_str("# EOF\n");
    out
}

/// Writes the figures of the model.
fn write_model(out: &mut String, sample: &Sample) {
    let directions = [
        ("read", &sample.reads),
        ("write", &sample.writes),
        ("flush", &sample.flushes),
        ("trim", &sample.trims),
    ];
    write_head(out, "requests", "counter", "Requests that the model has completed.");
    for (name, direction) in directions {
        let count = direction.as_ref().map_or(0, |direction| direction.latency.count());
        write_line(out, "requests_total", &format!("operation=\"{name}\""), count as f64);
    }
    write_head(out, "bytes", "counter", "Bytes read, written or trimmed by completed requests.");
    for (name, direction) in directions {
        let bytes = direction.as_ref().map_or(0, |direction| direction.bytes.get());
        write_line(out, "bytes_total", &format!("operation=\"{name}\""), bytes as f64);
    }
    write_head(out, "errors", "counter", "Requests that have failed.");
    write_line(out, "errors_total", "", sample.errors.total() as f64);
    write_head(
        out,
        "modelled_latency_seconds",
        "summary",
        "Modelled latency of requests, in simulated time.",
    );
    for (name, direction) in directions {
        write_summary(out, "modelled_latency_seconds", name, direction.as_ref());
    }
}

/// Writes the figures of the answers as this machine delivered them.
fn write_delivery(out: &mut String, live: &LiveDelivery) {
    write_head(
        out,
        "delivered_latency_seconds",
        "summary",
        "Latency of requests as delivered, in wall-clock time.",
    );
    for (name, direction) in [("read", &live.reads), ("write", &live.writes)] {
        write_summary(out, "delivered_latency_seconds", name, direction.as_ref());
    }
    write_head(
        out,
        "lateness_seconds",
        "summary",
        "Delay of answers relative to their modelled instant.",
    );
    write_quantiles(out, "lateness_seconds", "", &live.lateness);
    write_head(
        out,
        "host_errors",
        "counter",
        "Requests that the model completed and this machine could not execute.",
    );
    write_line(out, "host_errors_total", "", live.host_errors.total() as f64);
    write_head(
        out,
        "within_bounds",
        "gauge",
        "1 if clients see the rate and the median latency of the model.",
    );
    write_line(out, "within_bounds", "", f64::from(u8::from(live.holds())));
    write_head(out, "processor_seconds", "counter", "Processor time of the server.");
    write_line(out, "processor_seconds_total", "", live.processor_s);
    write_head(
        out,
        "busy_seconds",
        "counter",
        "Simulated time with one or more outstanding requests.",
    );
    write_line(out, "busy_seconds_total", "", live.busy.as_seconds());
}

/// Describes in one line the activity since `before`, which was read `seconds` earlier.
pub fn line_of(figures: &SessionFigures, before: &SessionFigures, seconds: f64) -> String {
    let rate =
        |of: fn(&SessionFigures) -> f64| (of(figures) - of(before)).max(0.0) / seconds.max(1e-9);
    let delivered_bytes = |figures: &SessionFigures, write: bool| {
        let live = figures.sample.live.as_ref();
        let direction =
            live.and_then(|live| if write { live.writes.as_ref() } else { live.reads.as_ref() });
        direction.map_or(0.0, |direction| direction.bytes.get() as f64 / 1e6)
    };
    let requests = rate(|figures| figures.sample.operations() as f64);
    let read =
        (delivered_bytes(figures, false) - delivered_bytes(before, false)) / seconds.max(1e-9);
    let write =
        (delivered_bytes(figures, true) - delivered_bytes(before, true)) / seconds.max(1e-9);
    let mut line = format!("{requests:.0} requests/s, read {read:.1} MB/s, write {write:.1} MB/s");
    if let Some(live) = &figures.sample.live
        && let (Some(p50), Some(p99)) =
            (live.lateness.percentile_ns(50.0), live.lateness.percentile_ns(99.0))
    {
        let p50 = p50 as f64 / 1e3;
        let p99 = p99 as f64 / 1e3;
        let _ = write!(line, ", late p50 {p50:.0} µs, p99 {p99:.0} µs");
        if !live.holds() {
            let _ = write!(line, " (INVALID: {})", live.verdict().word());
        }
    }
    if let Some((name, busy)) = busiest(&figures.sample) {
        let _ = write!(line, ", {name} busy {:.0}%", busy * 100.0);
    }
    let _ =
        write!(line, ", {} in progress, {} connected", figures.outstanding, figures.connections);
    line
}

fn busiest(sample: &Sample) -> Option<(&str, f64)> {
    let hops = sample.path.as_ref()?.hops.iter();
    let most = hops.max_by(|one, other| one.utilisation.total_cmp(&other.utilisation))?;
    Some((most.name.as_str(), most.utilisation))
}

fn write_head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# TYPE lanemark_{name} {kind}\n# HELP lanemark_{name} {help}");
}

fn write_line(out: &mut String, name: &str, labels: &str, value: f64) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    let _ = writeln!(out, "lanemark_{name}{labels} {value}");
}

fn write_summary(
    out: &mut String,
    name: &str,
    operation: &str,
    direction: Option<&DirectionResult>,
) {
    if let Some(direction) = direction {
        write_quantiles(out, name, &format!("operation=\"{operation}\""), &direction.latency);
    }
}

fn write_quantiles(out: &mut String, name: &str, labels: &str, latency: &LatencyHistogram) {
    let comma = if labels.is_empty() { "" } else { "," };
    for quantile in QUANTILES {
        if let Some(ns) = latency.percentile_ns(quantile) {
            let labels =
                format!("{labels}{comma}quantile=\"{}\"", (quantile * 10.0).round() / 1000.0);
            write_line(out, name, &labels, ns as f64 / 1e9);
        }
    }
    write_line(out, &format!("{name}_count"), labels, latency.count() as f64);
    write_line(
        out,
        &format!("{name}_sum"),
        labels,
        latency.mean_ns() * latency.count() as f64 / 1e9,
    );
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{DeliveryEvidence, DirectionResult, LiveDelivery};
    use lanemark_schema::units::{Bytes, Duration};

    use super::*;

    #[test]
    fn a_summary_has_quantiles_their_count_and_their_sum_in_seconds() {
        // 98 requests of 500 µs and two of 1,500 µs take 520 µs on average and 52 ms in total.
        let latency = LatencyHistogram::from_bins(
            [(500_000, 98), (1_500_000, 2)],
            520_000.0,
            500_000,
            1_500_000,
        );
        let mut out = String::new();
        write_quantiles(&mut out, "x", "", &latency);
        write_quantiles(&mut out, "x", "operation=\"read\"", &latency);
        let value = |label: &str| -> f64 {
            let line =
                out.lines().find_map(|line| line.strip_prefix(&format!("lanemark_x{label} ")));
            line.unwrap_or_else(|| panic!("{label} in {out}")).parse().unwrap()
        };
        for (label, wanted) in [
            ("{quantile=\"0.5\"}", 500e-6),
            ("{quantile=\"0.99\"}", 1500e-6),
            ("{operation=\"read\",quantile=\"0.5\"}", 500e-6),
            ("{operation=\"read\",quantile=\"0.99\"}", 1500e-6),
            ("_count", 100.0),
            ("_count{operation=\"read\"}", 100.0),
            ("_sum", 0.052),
            ("_sum{operation=\"read\"}", 0.052),
        ] {
            let found = value(label);
            assert!((found / wanted - 1.0).abs() < 2e-3, "{label}: {found} for {wanted}");
        }
        let mut none = String::new();
        write_quantiles(&mut none, "x", "", &LatencyHistogram::new());
        assert_eq!(none, "lanemark_x_count 0\nlanemark_x_sum 0\n");
    }

    #[test]
    fn a_label_is_on_one_line_and_its_marks_are_escaped() {
        assert_eq!(escaped("a \"b\" \\ c\nd"), "a \\\"b\\\" \\\\ c d");
    }

    #[test]
    fn a_line_states_rates_over_its_interval() {
        let figures = |reads: u64, writes: u64| {
            let direction = |count: u64, length: Bytes| {
                let mut direction = DirectionResult::new();
                (0..count).for_each(|_| direction.record(length, Duration::from_microseconds(10)));
                direction
            };
            let reads = direction(reads, Bytes(1_000_000));
            let writes = direction(writes, Bytes(2_000_000));
            let live = LiveDelivery {
                time_scale: 1.0,
                host_errors: Default::default(),
                served: Duration::from_seconds(1),
                lateness: LatencyHistogram::new(),
                reads: Some(reads.clone()),
                writes: Some(writes.clone()),
                evidence: DeliveryEvidence::default(),
                content: None,
                processor_s: 0.0,
                busy: Duration::ZERO,
                program: None,
            };
            let sample = Sample {
                reads: Some(reads),
                writes: Some(writes),
                live: Some(live),
                ..Sample::empty()
            };
            SessionFigures {
                sample,
                test: None,
                lost: Vec::new(),
                notes: Vec::new(),
                outstanding: 3,
                connections: 2,
            }
        };
        let line = line_of(&figures(110, 60), &figures(10, 20), 4.0);
        let wanted = "35 requests/s, read 25.0 MB/s, write 20.0 MB/s, 3 in progress, 2 connected";
        assert_eq!(line, wanted);
    }
}

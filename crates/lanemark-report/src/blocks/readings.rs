//! The machine's readings during a measured test: the device, the processors, the threads, and the times of submission.

use lanemark_schema::result::{Evidence, ProcessorUse, Punctuality, TestResult};
use lanemark_schema::units::{Bytes, Duration};

use crate::text::number::{fixed, percent_whole, significant};

/// Returns the sentences about a test, over all its repeats; empty if there are no readings.
pub(crate) fn sentences(test: &TestResult) -> Vec<String> {
    let evidence: Vec<&Evidence> =
        test.samples.iter().filter_map(|sample| sample.evidence.as_ref()).collect();
    let kept = test.samples.iter().filter_map(|sample| sample.punctuality.as_ref());
    let kept: Vec<&Punctuality> = kept.collect();
    [
        device_sentence(&evidence),
        health_sentence(&evidence),
        processors(&evidence),
        threads(test, &evidence),
        punctuality(&kept),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns a sentence such as `vda was busy 97% of the time: 12,000 reads of 4.10 kB, 81.2 us each`.
fn device_sentence(evidence: &[&Evidence]) -> Option<String> {
    let name = &evidence.first()?.device.as_ref()?.name;
    let device_uses = || evidence.iter().filter_map(|record| record.device.as_ref());
    let elapsed: Duration = device_uses().map(|record| record.elapsed).sum();
    let busy: Duration = device_uses().map(|record| record.busy).sum();
    let share = (busy.as_seconds() / elapsed.as_seconds().max(1e-12)).min(1.0);
    let bytes = |of: fn(&lanemark_schema::result::DeviceUse) -> Bytes| {
        device_uses().map(of).fold(Bytes::ZERO, |sum, record| sum + record).get() as f64
    };
    let request_phrase = |count: u64, bytes: f64, time: Duration, what: &str| {
        (count > 0).then(|| {
            let kb_per_request = bytes / count as f64 / 1e3;
            let time = time.as_microseconds() / count as f64;
            format!(
                "{count} {what} of {} kB, {} µs each",
                significant(kb_per_request),
                significant(time)
            )
        })
    };
    let parts = [
        request_phrase(
            device_uses().map(|record| record.reads).sum(),
            bytes(|record| record.read_bytes),
            device_uses().map(|record| record.read_time).sum(),
            "reads",
        ),
        request_phrase(
            device_uses().map(|record| record.writes).sum(),
            bytes(|record| record.written_bytes),
            device_uses().map(|record| record.write_time).sum(),
            "writes",
        ),
        Some(device_uses().map(|record| record.flushes).sum::<u64>())
            .filter(|&flushes| flushes > 0)
            .map(|flushes| format!("{flushes} flushes")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let parts =
        if parts.is_empty() { "it received no requests".to_owned() } else { parts.join("; ") };
    let hot = temperature_phrase(evidence);
    Some(format!("{name} was busy {} of the time{hot}: {parts}.", percent_whole(share)))
}

/// Returns a phrase such as `, at 41 to 78 °C`.
fn temperature_phrase(evidence: &[&Evidence]) -> String {
    let readings = evidence.iter().filter_map(|record| record.temperatures.as_ref());
    let readings = readings.flat_map(|temperatures| &temperatures.readings);
    let readings = readings.map(|reading| reading.celsius);
    let last = evidence.iter().rev().find_map(|record| record.temperature_celsius);
    let low = readings.clone().reduce(f64::min).map(|low| fixed(low, 0));
    let high = readings.reduce(f64::max).map(|high| fixed(high, 0));
    match (low.zip(high), last) {
        (Some((low, high)), _) if low == high => format!(", at {low} °C"),
        (Some((low, high)), _) => format!(", at {low} to {high} °C"),
        (None, Some(last)) => format!(", at {} °C at the end", fixed(last, 0)),
        (None, None) => String::new(),
    }
}

/// Returns a sentence such as `The drive reports that 7% of its life is used and 100% of its spare is left; 12.3 TB
/// were written to it`.
fn health_sentence(evidence: &[&Evidence]) -> Option<String> {
    let health = evidence.iter().rev().find_map(|record| record.health.as_ref())?;
    let warnings = match (health.warnings, health.media_errors) {
        (0, 0) => String::new(),
        (0, errors) => format!(" It failed to return data {errors} times."),
        (bits, errors) => {
            format!(" It warns (critical warning {bits:#04x}); {errors} media errors.")
        }
    };
    Some(format!(
        "The drive reports that {}% of its life is used and {}% of its spare is left; {} TB were written to it.{warnings}",
        health.used_percent,
        health.spare_percent,
        significant(health.written.get() as f64 / 1e12),
    ))
}

/// Returns a sentence such as `The machine used 0.84 of 2 cores: 0.05 in programs, 0.71 in the kernel, 0.08 in
/// interrupts`.
fn processors(evidence: &[&Evidence]) -> Option<String> {
    let all: Vec<ProcessorUse> = evidence.iter().filter_map(|record| record.processors).collect();
    let mean = |of: fn(&ProcessorUse) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let first = all.first()?;
    let parts = [
        mean(|record| record.user),
        mean(|record| record.system),
        mean(|record| record.interrupts),
    ];
    let stolen = mean(|record| record.stolen);
    let stolen = if stolen >= 0.005 {
        format!("; the hypervisor took {}", fixed(stolen, 2))
    } else {
        String::new()
    };
    Some(format!(
        "The machine used {} of {} cores: {} in programs, {} in the kernel, {} in interrupts{stolen}.",
        fixed(parts.iter().sum(), 2),
        first.cores,
        fixed(parts[0], 2),
        fixed(parts[1], 2),
        fixed(parts[2], 2),
    ))
}

/// Returns a sentence such as `The busiest thread took 43% of a core; threads slept 0.21 times per request`.
fn threads(test: &TestResult, evidence: &[&Evidence]) -> Option<String> {
    let thread_uses = || evidence.iter().filter_map(|record| record.threads);
    let busiest = thread_uses().map(|record| record.busiest).fold(f64::NAN, f64::max);
    let requests: u64 = test.samples.iter().map(|sample| sample.operations()).sum();
    let waits: u64 = thread_uses().map(|record| record.switches_voluntary).sum();
    (requests > 0 && busiest.is_finite()).then(|| {
        format!(
            "The busiest thread took {} of a core; threads slept {} times per request.",
            percent_whole(busiest.min(1.0)),
            significant(waits as f64 / requests as f64),
        )
    })
}

/// Returns a sentence such as `At the median, requests were submitted 4.2 µs after their due time; 3 of 1,000 had to
/// wait for others`.
fn punctuality(records: &[&Punctuality]) -> Option<String> {
    let mut lateness = records.first()?.lateness.clone();
    records[1..].iter().for_each(|record| lateness.merge(&record.lateness));
    let median = lateness.percentile_ns(50.0)? as f64 / 1e3;
    let held_back: u64 = records.iter().map(|record| record.held_back).sum();
    let left: u64 = records.iter().map(|record| record.unsubmitted).sum();
    let left = match left {
        0 => String::new(),
        left => format!(" {left} more were due but never submitted, and no figure includes them."),
    };
    Some(format!(
        "At the median, requests were submitted {} µs after their due time; {held_back} of {} had to wait for other requests. Latencies are measured from the due time.{left}",
        significant(median),
        lateness.count(),
    ))
}

#[cfg(test)]
mod tests;

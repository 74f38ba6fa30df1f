//! Faults of a test as text: failed requests, lost data and recovery.

use lanemark_report::range;
use lanemark_schema::result::{FaultImpact, Sample};
use lanemark_schema::text::latency_text;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Fault;
use serde::{Deserialize, Serialize};

/// The outcome of a fault over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultReport {
    /// The kind, settings and time of the fault, such as `Power cut (boot 10ms) at 20 ms`.
    pub title: String,
    /// Whether requests failed (including silently), data was lost, or no later request succeeded.
    pub is_severe: bool,
    /// The outcome, as separate sentences.
    pub sentences: Vec<String>,
}

/// Returns the outcome of each fault of `faults`, in order of time.
pub fn reports(faults: &[Fault], samples: &[Sample]) -> Vec<FaultReport> {
    let simulated = samples.iter().map(|sample| sample.elapsed).max().unwrap_or_default();
    let mut faults: Vec<&Fault> = faults.iter().collect();
    faults.sort_by_key(|fault| fault.at);
    let report = |fault: &&Fault| {
        let text = fault.to_string();
        let uses: Vec<&FaultImpact> = samples
            .iter()
            .flat_map(|sample| &sample.faults)
            .filter(|usage| usage.fault == text)
            .collect();
        if uses.is_empty() {
            FaultReport {
                title: title(&text),
                is_severe: false,
                sentences: vec![format!(
                    "Not reached: the test ended after {}. Set an earlier time or a longer duration.",
                    time_text(simulated)
                )],
            }
        } else {
            report_fault(&text, &uses, simulated)
        }
    };
    faults.iter().map(report).collect()
}

/// Returns the outcome of a fault in a test that lasts `simulated`.
fn report_fault(text: &str, uses: &[&FaultImpact], simulated: Duration) -> FaultReport {
    let values_of = |of: fn(&FaultImpact) -> u64| uses.iter().map(move |usage| of(usage));
    let failed = values_of(|usage| usage.failed).max().unwrap_or(0);
    let held = values_of(|usage| usage.held).max().unwrap_or(0);
    let lost = uses.iter().map(|usage| usage.lost).max().unwrap_or_default();
    // A request that succeeded after the end of the test is not counted in any figure.
    let recovery =
        |usage: &&FaultImpact| usage.recovery.filter(|time| usage.at + *time <= simulated);
    let recovery: Option<Vec<Duration>> = uses.iter().map(recovery).collect();
    let mut sentences = vec![match failed {
        0 => "No request failed.".to_owned(),
        1 => "1 request failed.".to_owned(),
        _ => format!("{} requests failed.", range(values_of(|usage| usage.failed))),
    }];
    if held > 0 {
        sentences.push(match held {
            1 => "1 command was delayed or sent again.".to_owned(),
            _ => format!(
                "{} commands were delayed or sent again.",
                range(values_of(|usage| usage.held))
            ),
        });
    }
    let silent = values_of(|usage| usage.silent).max().unwrap_or(0);
    if silent > 0 {
        sentences.push(match silent {
            1 => "1 request failed silently.".to_owned(),
            _ => format!("{} requests failed silently.", range(values_of(|usage| usage.silent))),
        });
    }
    sentences.push(match lost {
        Bytes::ZERO => "No acknowledged data was lost.".to_owned(),
        _ => {
            format!("{} of acknowledged data was lost.", range(uses.iter().map(|usage| usage.lost)))
        }
    });
    let is_dead = recovery.is_none();
    sentences.push(match recovery {
        None => {
            let end = time_text(simulated);
            format!("No later request succeeded before the test ended after {end}.")
        }
        Some(times) => {
            let ends = [times.iter().min(), times.iter().max()];
            let mut ends: Vec<String> =
                ends.into_iter().flatten().map(|time| time_text(*time)).collect();
            ends.dedup();
            let after = ends.join(" to ");
            format!("The first later request succeeded {after} after the fault began.")
        }
    });
    let is_severe = failed > 0 || silent > 0 || lost > Bytes::ZERO || is_dead;
    FaultReport { title: title(text), is_severe, sentences }
}

fn time_text(time: Duration) -> String {
    latency_text(time.nanoseconds() as f64)
}

/// Returns `Power cut (boot 10ms) at 20 ms` for `power-cut boot=10ms at=20ms`.
fn title(text: &str) -> String {
    let mut words = text.split(' ');
    let kind = words.next().unwrap_or_default().replace('-', " ");
    let mut letters = kind.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let mut at = String::new();
    let mut settings = Vec::new();
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        match key {
            "at" => at = value.to_owned(),
            _ => settings.push(format!("{key} {value}")),
        }
    }
    let settings = match settings.as_slice() {
        [] => String::new(),
        all => format!(" ({})", all.join(", ")),
    };
    let at = match at.as_str() {
        "" | "0s" | "0ps" | "0" => " from the start".to_owned(),
        at => format!(" at {at}"),
    };
    format!("{first}{}{settings}{at}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Fault {
        text.parse().unwrap()
    }

    fn sample(uses: Vec<FaultImpact>) -> Sample {
        Sample { faults: uses, elapsed: Duration::from_seconds(1), ..Sample::empty() }
    }

    #[test]
    fn a_fault_is_reported_with_failures_losses_and_recovery() {
        let cut = fault("power-cut at=20ms boot=10ms");
        let mut usage = FaultImpact {
            fault: cut.to_string(),
            at: Duration::from_microseconds(20_000),
            failed: 32,
            held: 0,
            silent: 0,
            lost: Bytes::kibi(64),
            recovery: Some(Duration::from_microseconds(161_234)),
        };
        let report = &reports(std::slice::from_ref(&cut), &[sample(vec![usage.clone()])])[0];
        assert!(report.title.starts_with("Power cut (boot 10"), "{}", report.title);
        assert!(report.title.ends_with("at 20ms") || report.title.ends_with("at 20 ms"));
        assert!(report.is_severe);
        assert_eq!(
            report.sentences,
            [
                "32 requests failed.",
                "64 KiB of acknowledged data was lost.",
                "The first later request succeeded 161 ms after the fault began."
            ]
        );
        let other =
            FaultImpact { failed: 1, held: 3, lost: Bytes::ZERO, recovery: None, ..usage.clone() };
        let late = FaultImpact { recovery: Some(Duration::from_seconds(10)), ..usage.clone() };
        let late = &reports(std::slice::from_ref(&cut), &[sample(vec![late])])[0];
        assert_eq!(
            late.sentences[2],
            "No later request succeeded before the test ended after 1.00 s."
        );
        let both = reports(
            std::slice::from_ref(&cut),
            &[sample(vec![usage.clone()]), sample(vec![other])],
        );
        assert_eq!(both[0].sentences[0], "1 to 32 requests failed.");
        assert_eq!(both[0].sentences[3], late.sentences[2]);
        (usage.failed, usage.lost, usage.silent) = (0, Bytes::ZERO, 2);
        let report = &reports(std::slice::from_ref(&cut), &[sample(vec![usage.clone()])])[0];
        assert!(report.is_severe && report.sentences[1] == "2 requests failed silently.");
        usage.silent = 0;
        let report = &reports(std::slice::from_ref(&cut), &[sample(vec![usage])])[0];
        assert!(!report.is_severe && report.sentences[0] == "No request failed.");
    }

    #[test]
    fn a_fault_after_the_end_of_the_test_is_reported_as_not_reached() {
        let late = fault("latency extra=1ms at=9s for=1s");
        let report = &reports(&[late], &[sample(Vec::new())])[0];
        assert!(report.sentences[0].starts_with("Not reached: the test ended after 1.00 s."));
        assert!(reports(&[], &[sample(Vec::new())]).is_empty());
    }
}

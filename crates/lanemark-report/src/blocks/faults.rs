//! The faults of a simulated test in order of time, and their effects on the host's requests.

use std::fmt::Display;

use lanemark_schema::result::{FaultImpact, TestResult};
use lanemark_schema::units::Duration;

/// Returns a sentence for each fault, over all repeats in which the fault began.
pub(crate) fn sentences(test: &TestResult) -> Vec<String> {
    let mut found: Vec<Vec<&FaultImpact>> = Vec::new();
    for fault_use in test.samples.iter().flat_map(|sample| &sample.faults) {
        let is_same_fault = |other: &Vec<&FaultImpact>| {
            other[0].fault == fault_use.fault && other[0].at == fault_use.at
        };
        match found.iter_mut().find(|other| is_same_fault(other)) {
            Some(repeats) => repeats.push(fault_use),
            None => found.push(vec![fault_use]),
        }
    }
    found.iter().map(|repeats| sentence(repeats)).collect()
}

/// Describes the effects of one fault in `repeats`, which must not be empty.
fn sentence(repeats: &[&FaultImpact]) -> String {
    let FaultImpact { fault, at, .. } = repeats[0];
    let failed = range(repeats.iter().map(|repeat| repeat.failed));
    let held = range(repeats.iter().map(|repeat| repeat.held));
    let silent = match range(repeats.iter().map(|repeat| repeat.silent)).as_str() {
        "0" => String::new(),
        silent => format!("; requests that failed silently: {silent}"),
    };
    let lost = match range(repeats.iter().map(|repeat| repeat.lost)).as_str() {
        "0 B" => String::new(),
        lost => format!("; acknowledged data lost: {lost}"),
    };
    let recovery: Option<Vec<Duration>> = repeats.iter().map(|repeat| repeat.recovery).collect();
    let recovery = recovery.map_or_else(
        || "no later request succeeded".to_owned(),
        |times| {
            format!(
                "the first successful later request completed after {}",
                range(times.into_iter())
            )
        },
    );
    // The sentence begins with the time, so the fault's description omits it.
    let fault: Vec<&str> = fault.split(' ').filter(|word| !word.starts_with("at=")).collect();
    let at = match *at {
        Duration::ZERO => "From the start".to_owned(),
        at => format!("At {at}"),
    };
    let fault = fault.join(" ");
    format!(
        "{at}, {fault}: requests failed: {failed}; commands delayed or sent again: {held}{silent}{lost}; {recovery}."
    )
}

/// Formats the minimum and the maximum of `values`, or only one value if they are equal.
pub fn range<T: Ord + Copy + Display>(values: impl Iterator<Item = T> + Clone) -> String {
    match (values.clone().min(), values.max()) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
        (least, _) => least.map_or_else(String::new, |one| one.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Bytes;

    use super::*;

    #[test]
    fn a_fault_is_reported_with_its_time_and_its_outcome() {
        let mut one = FaultImpact {
            fault: "power-cut boot=5s at=2s".to_owned(),
            at: Duration::from_seconds(2),
            failed: 1,
            held: 0,
            silent: 0,
            lost: Bytes::kibi(64),
            recovery: Some(Duration::from_seconds(5)),
        };
        assert_eq!(
            sentence(&[&one]),
            "At 2 s, power-cut boot=5s: requests failed: 1; commands delayed or sent again: 0; \
             acknowledged data lost: 64 KiB; the first successful later request completed after 5 s."
        );
        let other =
            FaultImpact { failed: 3, recovery: Some(Duration::from_seconds(6)), ..one.clone() };
        let both = sentence(&[&one, &other]);
        assert!(
            both.contains("requests failed: 1 to 3;") && both.contains("after 5 s to 6 s"),
            "{both}"
        );
        let silent = FaultImpact { silent: 12, lost: Bytes::ZERO, ..one.clone() };
        assert!(
            sentence(&[&silent]).contains("again: 0; requests that failed silently: 12; the first")
        );
        one.at = Duration::ZERO;
        (one.failed, one.lost, one.recovery) = (2, Bytes::ZERO, None);
        assert_eq!(
            sentence(&[&one]),
            "From the start, power-cut boot=5s: requests failed: 2; commands delayed or sent \
             again: 0; no later request succeeded."
        );
    }
}

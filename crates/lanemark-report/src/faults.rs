//! The faults of a simulated test in the order of times, with their effect on the host's requests.

use lanemark_core::result::{FaultUse, RunResult, TestResult};
use lanemark_core::units::{Bytes, Duration};
use maud::{Markup, html};

/// A sentence for each fault of each repeat.
pub(crate) fn sentences(test: &TestResult) -> Vec<String> {
    let repeats = test.samples.iter().zip(1..);
    let all =
        repeats.flat_map(|(sample, repeat)| sample.faults.iter().map(move |one| (repeat, one)));
    let sentence = |(repeat, one): (u32, &FaultUse)| match test.samples.len() {
        1 => sentence(one),
        _ => format!("Repeat {repeat}. {}", sentence(one)),
    };
    all.map(sentence).collect()
}

fn sentence(one: &FaultUse) -> String {
    let FaultUse { fault, at, failed, held, lost, recovery } = one;
    let failed = format!("{failed} request{} failed", if *failed == 1 { "" } else { "s" });
    let held = format!("{held} command{} held up or sent again", if *held == 1 { "" } else { "s" });
    let lost = match *lost {
        Bytes::ZERO => String::new(),
        lost => format!(", {lost} of acknowledged data lost"),
    };
    let recovery = recovery.map_or_else(
        || "no later request succeeded".to_owned(),
        |time| format!("a later request succeeded first after {time}"),
    );
    // The time stands before it, in words.
    let fault: Vec<&str> = fault.split(' ').filter(|word| !word.starts_with("at=")).collect();
    let (fault, at) = match *at {
        Duration::ZERO => (fault.join(" "), "From the start".to_owned()),
        at => (fault.join(" "), format!("At {at}")),
    };
    format!("{at}, {fault}: {failed}, {held}{lost}; {recovery}.")
}

/// The section of a page, or `None` where nothing went wrong.
pub(crate) fn events(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let tests =
        runs.iter().flat_map(|(system, run)| run.tests.iter().map(move |test| (system, test)));
    let all: Vec<(String, Vec<String>)> = tests
        .map(|(system, test)| (format!("{}: {system}", test.test.name), sentences(test)))
        .filter(|(_, sentences)| !sentences.is_empty())
        .collect();
    (!all.is_empty()).then(|| {
        html! {
            @for (caption, sentences) in &all {
                h3 { (caption) }
                ol { @for sentence in sentences { li { (sentence) } } }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_with_its_time_and_what_came_of_it() {
        let mut one = FaultUse {
            fault: "power-cut boot=5s at=2s".to_owned(),
            at: Duration::from_seconds(2),
            failed: 1,
            held: 0,
            lost: Bytes::kibi(64),
            recovery: Some(Duration::from_seconds(5)),
        };
        assert_eq!(
            sentence(&one),
            "At 2 s, power-cut boot=5s: 1 request failed, 0 commands held up or sent again, 64 KiB of \
             acknowledged data lost; a later request succeeded first after 5 s."
        );
        one.at = Duration::ZERO;
        assert!(sentence(&one).starts_with("From the start, power-cut boot=5s: "));
        (one.failed, one.lost, one.recovery) = (2, Bytes::ZERO, None);
        assert!(sentence(&one).ends_with(
            "2 requests failed, 0 commands held up or sent again; no later request succeeded."
        ));
    }
}

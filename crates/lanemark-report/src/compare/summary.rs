//! Summary of several runs in one sentence, which is the first line of their page.

use lanemark_schema::result::{RatioVerdict, RunResult};

use super::answer::answer;
use super::pair::throughput_ratio;
use crate::run::lead;

/// Returns one sentence about these runs; `None` if no test has ended. Two runs are compared as by `compare`.
pub(crate) fn summary(runs: &[(&str, &RunResult)]) -> Option<String> {
    match runs {
        [] => None,
        [(_, run)] => (!run.tests.is_empty()).then(|| lead::run(run)),
        [a, b] => Some(answer(*a, *b)),
        several => comparison_summary(several),
    }
}

/// States which run is the fastest in how many of the common tests. A run is the fastest if the interval of its ratio
/// to each other run is above 1.
fn comparison_summary(runs: &[(&str, &RunResult)]) -> Option<String> {
    let (_, first) = runs.first()?;
    let is_common = |name: &str| {
        runs.iter().all(|(_, run)| run.test(name).is_some_and(|test| test.iops.value > 0.0))
    };
    let names = first.tests.iter().map(|test| test.test.name.as_str());
    let names: Vec<&str> = names.filter(|name| is_common(name)).collect();
    let is_fastest = |at: usize, name: &str| {
        let others = runs.iter().enumerate().filter(|(other, _)| *other != at);
        others.into_iter().all(|(_, (_, other))| {
            let ratio = throughput_ratio(other, runs[at].1, name);
            ratio.is_some_and(|ratio| ratio.verdict() == RatioVerdict::Higher)
        })
    };
    let wins = |at: usize| names.iter().filter(|name| is_fastest(at, name)).count();
    let wins: Vec<(&str, usize)> =
        runs.iter().enumerate().map(|(at, (label, _))| (*label, wins(at))).collect();
    let tests = names.len();
    let common = match tests {
        0 => return Some(format!("No test is in all {} runs.", runs.len())),
        1 => format!("the one test that all {} runs contain", runs.len()),
        _ => format!("the {tests} tests that all {} runs contain", runs.len()),
    };
    let open = tests - wins.iter().map(|(_, won)| won).sum::<usize>();
    let rest = match open {
        0 => String::new(),
        open if open == tests => {
            return Some(format!("In {common}, no run is shown to be the fastest."));
        }
        open => format!("; in {open}, no run is shown to be the fastest"),
    };
    let leaders: Vec<String> = wins
        .iter()
        .filter(|(_, won)| *won > 0)
        .map(|(label, won)| match (*won, tests) {
            (_, 1) => format!("{label} is the fastest in "),
            (won, tests) if won == tests => format!("{label} is the fastest in each of "),
            (won, _) => format!("{label} is the fastest in {won} of "),
        })
        .collect();
    match leaders.as_slice() {
        [one] => Some(format!("{one}{common}{rest}.")),
        [one, other] => {
            let other = other.trim_end_matches("of ").trim_end();
            Some(format!("{one}{common}, {other}{rest}."))
        }
        several => {
            let most = wins.iter().map(|(_, won)| *won).max()?;
            Some(format!(
                "{} runs are each the fastest in some of {common}, each in up to {most}{rest}.",
                several.len()
            ))
        }
    }
}

#[cfg(test)]
mod tests;

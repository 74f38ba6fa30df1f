//! Summary of several runs in one sentence, which is the first line of their page.

use lanemark_schema::result::{RunResult, Statistic};

use crate::lead;
use crate::number::known_value;

/// Returns one sentence about these runs; `None` if no test has ended.
pub(crate) fn summary(runs: &[(&str, &RunResult)]) -> Option<String> {
    match runs {
        [] => None,
        [(_, run)] => (!run.tests.is_empty()).then(|| lead::run(run)),
        several => comparison_summary(several),
    }
}

/// The minimum ratio by which a run leads if it has a single repeat, and therefore no spread.
const ALONE: f64 = 1.01;

/// States which run leads in throughput by more than the spread of repeats, and in how many of the common tests.
fn comparison_summary(runs: &[(&str, &RunResult)]) -> Option<String> {
    let (_, first) = runs.first()?;
    let mut wins = vec![0usize; runs.len()];
    let mut tests = 0;
    for test in &first.tests {
        let rates: Option<Vec<&Statistic>> = runs
            .iter()
            .map(|(_, run)| Some(&run.test(&test.test.name)?.throughput_bytes_per_second))
            .collect();
        let Some(rates) =
            rates.filter(|rates| rates.iter().all(|rate| known_value(rate).is_some()))
        else {
            continue;
        };
        tests += 1;
        if let Some(ahead) = (0..rates.len()).find(|one| is_ahead(&rates, *one)) {
            wins[ahead] += 1;
        }
    }
    let both = if runs.len() == 2 { "both".to_owned() } else { format!("all {}", runs.len()) };
    let common = match tests {
        0 => return Some(format!("{} runs that share no test.", runs.len())),
        1 => format!("the one test that {both} runs contain"),
        _ => format!("the {tests} tests that {both} runs contain"),
    };
    let sentences: Vec<String> = runs
        .iter()
        .zip(&wins)
        .filter(|&(_, &won)| won > 0)
        .map(|((label, _), won)| match (*won, tests) {
            (_, 1) => format!("{label} moves the most data in "),
            (won, tests) if won == tests => format!("{label} moves the most data in each of "),
            (won, _) => format!("{label} moves the most data in {won} of "),
        })
        .collect();
    let ties = tests - wins.iter().sum::<usize>();
    let even = match ties {
        0 => String::new(),
        ties if ties == tests => {
            return Some(format!("In {common}, no run leads by more than its spread."));
        }
        1 => "; in one, no run leads by more than its spread".to_owned(),
        ties => format!("; in {ties}, no run leads by more than its spread"),
    };
    let most = *wins.iter().max()?;
    match sentences.as_slice() {
        [one] => Some(format!("{one}{common}{even}.")),
        [one, other] => {
            let other = other.trim_end_matches("of ").trim_end();
            Some(format!("{one}{common}, {other}{even}."))
        }
        several => Some(format!(
            "{} runs each move the most data in some of {common}, each in up to {most}{even}.",
            several.len()
        )),
    }
}

/// Returns whether a rate is above all others, by more than the spread of repeats if there is a spread.
fn is_ahead(rates: &[&Statistic], one: usize) -> bool {
    let rate = rates[one];
    rates.iter().enumerate().filter(|(other, _)| *other != one).all(|(_, other)| {
        let least = if rate.has_range() && other.has_range() {
            rate.ratio_range(other).0
        } else {
            rate.value / other.value / ALONE
        };
        least > 1.0
    })
}

#[cfg(test)]
mod tests;

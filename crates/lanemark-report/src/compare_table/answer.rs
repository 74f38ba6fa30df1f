//! The answer of a comparison: which run is faster, in how many tests and by how much.

use lanemark_schema::result::{FigureMetric, RunResult, Target, TestResult};

use super::{FigurePair, FigureVerdict, TestPair, figure, shared_tests};
use crate::number::ratio;

/// Returns a sentence such as `Samsung SSD 950 PRO 512GB is faster than Samsung SSD 850 PRO 1TB in 6 of 6 tests, 1.19x
/// (…) to 4.37x (…)`.
pub(super) fn answer(a: (&str, &RunResult), b: (&str, &RunResult)) -> String {
    if a.1 == b.1 {
        return format!("{} and {} are the same result.", a.0, b.0);
    }
    let [one, other] = distinguishing_names([a, b]);
    let shared = shared_tests(a.1, b.1);
    if shared.is_empty() {
        return format!("{other} and {one} share no test.");
    }
    if let Some(reason) = unranked(a, b, &shared) {
        return format!("{other} and {one} cannot be ranked: {reason}.");
    }
    let transactions = shared.iter().all(|(a, b)| a.has_transactions() && b.has_transactions());
    let metric = if transactions { FigureMetric::Transactions } else { FigureMetric::Throughput };
    let pairs: Vec<(&str, FigurePair)> = shared
        .iter()
        .map(|(a, b)| {
            let pair = FigurePair { a: figure(metric, a), b: figure(metric, b) };
            (a.test.name.as_str(), pair)
        })
        .collect();
    let all = pairs.len();
    let tests = |count: usize| match (count, all) {
        (1, 1) => "the one common test".to_owned(),
        (count, all) => format!("{count} of {all} tests"),
    };
    // A single repeat does not have a spread, so a ratio counts as a difference if its shown digits differ from 1.
    let direction = |pair: &FigurePair| match (pair.verdict(), pair.ratio()) {
        (FigureVerdict::Higher, _) => 1,
        (FigureVerdict::Lower, _) => -1,
        (FigureVerdict::NoSpread, Some(value)) => match ratio(value).as_str() {
            "1.00x" => 0,
            _ if value > 1.0 => 1,
            _ => -1,
        },
        _ => 0,
    };
    let pairs_in_direction = |wanted: i32| {
        let wanted_pairs = pairs.iter().filter(|(_, pair)| direction(pair) == wanted);
        let mut wanted_pairs: Vec<(&str, f64)> =
            wanted_pairs.filter_map(|(name, pair)| Some((*name, pair.ratio()?))).collect();
        wanted_pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
        wanted_pairs
    };
    let range = |wanted_pairs: &[(&str, f64)]| match wanted_pairs {
        [] => String::new(),
        [(name, value)] if all == 1 => format!(", {} ({name})", ratio(*value)),
        [(name, value)] => format!(" ({name}, {})", ratio(*value)),
        [(low, least), .., (high, most)] => {
            format!(", {} ({low}) to {} ({high})", ratio(*least), ratio(*most))
        }
    };
    let faster = pairs_in_direction(1);
    let slower = pairs_in_direction(-1);
    let equal = all - faster.len() - slower.len();
    let mut text = match (faster.as_slice(), slower.as_slice()) {
        ([], []) => {
            return format!(
                "{other} is as fast as {one} in {}: no difference is larger than the spread{}.",
                tests(all),
                range(&pairs_in_direction(0))
            );
        }
        ([], slower) => {
            format!("{other} is slower than {one} in {}{}", tests(slower.len()), range(slower))
        }
        (faster, []) => {
            format!("{other} is faster than {one} in {}{}", tests(faster.len()), range(faster))
        }
        (faster, slower) => format!(
            "{other} is faster than {one} in {}{}; slower in {}{}",
            tests(faster.len()),
            range(faster),
            slower.len(),
            range(slower)
        ),
    };
    if equal > 0 {
        text += &format!("; no difference in {equal}");
    }
    text + "."
}

/// Returns the reason why the figures of two runs on served systems cannot be attributed to the systems, if there is
/// one.
fn unranked(
    a: (&str, &RunResult),
    b: (&str, &RunResult),
    shared: &[TestPair<'_>],
) -> Option<String> {
    let scale = |run: &RunResult| run.target.served().map_or(1.0, |served| served.time_scale);
    let own = scale(a.1);
    let other = scale(b.1);
    if own != other {
        return Some(format!("A was measured at a time scale of {own}, and B at {other}"));
    }
    let host_errors =
        |test: &TestResult| test.samples.iter().find_map(|sample| sample.host_errors().cloned());
    let failed = |(own, other): &TestPair<'_>| match (host_errors(own), host_errors(other)) {
        (Some(errors), _) => Some(("A", own.test.name.clone(), errors)),
        (None, Some(errors)) => Some(("B", other.test.name.clone(), errors)),
        (None, None) => None,
    };
    if let Some((side, test, errors)) = shared.iter().find_map(failed) {
        let server = format!("the machine of {side}'s server");
        return Some(format!(
            "{server} failed requests that the drive completed in {test}: {errors}"
        ));
    }
    let is_late = |test: &TestResult| test.samples.iter().any(|sample| !sample.is_served_in_time());
    let late = |(own, other): &TestPair<'_>| match (is_late(own), is_late(other)) {
        (true, _) => Some(("A", own.test.name.clone())),
        (false, true) => Some(("B", other.test.name.clone())),
        (false, false) => None,
    };
    let (side, test) = shared.iter().find_map(late)?;
    Some(format!("the server of {side} did not keep to its model's times in {test}"))
}

/// Returns names that distinguish two runs: their targets, or their files if the targets have the same name.
fn distinguishing_names(runs: [(&str, &RunResult); 2]) -> [String; 2] {
    let short_name = |(_, run): (&str, &RunResult)| match (
        &run.provenance.name,
        &run.target,
        run.target.served(),
    ) {
        (None, Target::Simulated(target), _) => target.drive.clone(),
        (None, _, Some(served)) => served.drive.clone(),
        _ => run.target_name(),
    };
    for name in [short_name as fn((&str, &RunResult)) -> String, |(_, run)| run.target_name()] {
        let names = runs.map(name);
        if names[0] != names[1] {
            return names;
        }
    }
    runs.map(|(file, _)| file.to_owned())
}

#[cfg(test)]
mod tests;

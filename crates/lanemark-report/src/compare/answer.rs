//! The answer of a comparison: which run is faster, in how many tests and by how much.

use lanemark_schema::result::{
    FigureMetric, RatioEstimate, RatioVerdict, RunResult, Target, TestResult,
};

use super::pair::{RunPair, TestPair, shared_tests, why_none_is_shared};
use crate::text::verdict::{ratio_in_test, ratio_with_interval};

/// Returns a sentence such as `Samsung SSD 950 PRO 512GB is faster than Samsung SSD 850 PRO 1TB in 6 of 6 tests, 1.19x
/// (…) to 4.37x (…)`.
pub(crate) fn answer(a: (&str, &RunResult), b: (&str, &RunResult)) -> String {
    if a.1 == b.1 {
        return format!("{} and {} are the same result.", a.0, b.0);
    }
    let [one, other] = distinguishing_names([a, b]);
    let shared = shared_tests(a.1, b.1);
    if shared.is_empty() {
        return format!("{other} and {one} share no test{}.", why_none_is_shared(a.1, b.1));
    }
    if let Some(reason) = unranked(a, b, &shared) {
        return format!("{other} and {one} cannot be ranked: {reason}.");
    }
    let transactions = shared.iter().all(|(a, b)| a.has_transactions() && b.has_transactions());
    let metric = if transactions { FigureMetric::Transactions } else { FigureMetric::Throughput };
    let runs = RunPair::new(a.1, b.1);
    let pairs: Vec<(&str, RatioEstimate)> = shared
        .iter()
        .filter_map(|(a, b)| {
            let ratio = runs.figures(metric, a, b).ratio?;
            Some((a.test.name.as_str(), ratio))
        })
        .collect();
    if pairs.is_empty() {
        return format!("{other} and {one} share no figure.");
    }
    format!("{}.", clauses(&one, &other, &pairs).join("; "))
}

/// Returns the verdicts on the ratios of the tests, as clauses of one sentence. The first clause names both runs.
pub(crate) fn clauses(one: &str, other: &str, pairs: &[(&str, RatioEstimate)]) -> Vec<String> {
    let with_verdict = |verdict: RatioVerdict, has_interval: bool| {
        let is_wanted = |ratio: RatioEstimate| {
            // The ratio of a system to itself is the same without an interval.
            let is_known = ratio.interval_80().is_some() || verdict != RatioVerdict::NotShown;
            ratio.verdict() == verdict && is_known == has_interval
        };
        let mut wanted: Vec<(&str, RatioEstimate)> =
            pairs.iter().copied().filter(|(_, ratio)| is_wanted(*ratio)).collect();
        wanted.sort_by(|a, b| a.1.ratio().total_cmp(&b.1.ratio()));
        wanted
    };
    let tests = |wanted: &[(&str, RatioEstimate)]| match (wanted.len(), pairs.len()) {
        (1, 1) => format!("the one common test, {}", wanted[0].0),
        (count, all) => format!("{count} of {all} tests"),
    };
    let in_tests = |wanted: &[(&str, RatioEstimate)]| match wanted {
        [] => String::new(),
        [(_, value)] if pairs.len() == 1 => {
            format!("{} in {}", ratio_with_interval(*value), tests(wanted))
        }
        [(name, value)] => format!("{} in {}", ratio_in_test(*value, name), tests(wanted)),
        [(low, least), .., (high, most)] => format!(
            "{} to {} in {}",
            ratio_in_test(*least, low),
            ratio_in_test(*most, high),
            tests(wanted)
        ),
    };
    let shows = [
        (RatioVerdict::Higher, format!("{other} is faster than {one}, "), "faster, ".to_owned()),
        (RatioVerdict::Lower, format!("{other} is slower than {one}, "), "slower, ".to_owned()),
        (
            RatioVerdict::Same,
            format!("{other} is as fast as {one}, within 3%: "),
            "the same within 3%, ".to_owned(),
        ),
        (
            RatioVerdict::NotShown,
            format!("no difference shown between {other} and {one}, "),
            "no difference shown, ".to_owned(),
        ),
    ];
    let mut clauses: Vec<String> = Vec::new();
    for (verdict, first, next) in shows {
        let wanted = with_verdict(verdict, true);
        if !wanted.is_empty() {
            let start = if clauses.is_empty() { first } else { next };
            clauses.push(format!("{start}{}", in_tests(&wanted)));
        }
    }
    let unknown = with_verdict(RatioVerdict::NotShown, false);
    if !unknown.is_empty() {
        let ratios = in_tests(&unknown);
        let why = "a figure has neither repeats nor an interval";
        clauses.push(if clauses.is_empty() {
            format!("{other} against {one}: {ratios}; no difference can be shown, because {why}")
        } else {
            format!("not known, because {why}: {ratios}")
        });
    }
    clauses
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

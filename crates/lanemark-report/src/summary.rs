//! Summary of runs in one sentence: the first line of their page.

use lanemark_core::result::{RunResult, TestResult};

use crate::number::{grouped, significant};

/// One sentence of these runs; `None` where no test has ended.
pub(crate) fn summary(runs: &[(&str, &RunResult)]) -> Option<String> {
    match runs {
        [] => None,
        [(_, run)] => alone(run),
        several => compared(several),
    }
}

fn alone(run: &RunResult) -> Option<String> {
    if let Some((test, rate)) =
        run.tests.iter().find_map(|test| Some((test, test.transactions_per_minute()?)))
    {
        let rate = grouped(&significant(rate.value));
        return Some(format!("{}: {rate} transactions a minute.", test.test.name));
    }
    let rate = |test: &&TestResult| test.megabytes_per_second();
    let known = run.tests.iter().filter(|test| rate(test).is_finite() && rate(test) > 0.0);
    let fastest = known.max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    let mut told = format!(
        "{} moves the most data, {} MB/s",
        fastest.test.name,
        grouped(&significant(rate(&fastest)))
    );
    let median = |test: &TestResult| test.latency().percentile_ns(50.0);
    let prompt =
        run.tests.iter().filter_map(|test| Some((median(test)?, test))).min_by_key(|one| one.0);
    if let Some((median, test)) = prompt {
        told += &format!(
            "; {} answers soonest: half of its requests within {}",
            test.test.name,
            time(median)
        );
        if let Some(tail) = test.latency().percentile_ns(99.0) {
            told += &format!(", 99% within {}", time(tail));
        }
    }
    Some(told + ".")
}

fn time(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{} µs", significant(ns as f64 / 1e3)),
        _ => format!("{} ms", grouped(&significant(ns as f64 / 1e6))),
    }
}

/// Says which run has the most throughput in how many of the tests that all have.
fn compared(runs: &[(&str, &RunResult)]) -> Option<String> {
    let (_, first) = runs.first()?;
    let mut wins = vec![0usize; runs.len()];
    let mut tests = 0;
    for test in &first.tests {
        let rates: Option<Vec<f64>> = runs
            .iter()
            .map(|(_, run)| run.test(&test.test.name).map(TestResult::megabytes_per_second))
            .collect();
        let Some(rates) = rates.filter(|rates| rates.iter().all(|rate| rate.is_finite())) else {
            continue;
        };
        tests += 1;
        let most = rates.iter().copied().fold(0.0, f64::max);
        for (wins, rate) in wins.iter_mut().zip(&rates) {
            *wins += usize::from(*rate == most);
        }
    }
    let most = *wins.iter().max()?;
    let ahead: Vec<&str> = runs
        .iter()
        .zip(&wins)
        .filter(|&(_, &won)| won == most)
        .map(|((label, _), _)| *label)
        .collect();
    match (tests, ahead.as_slice()) {
        (0, _) => Some(format!("{} runs that have no test in common.", runs.len())),
        (_, [label]) => {
            let share = match (tests, most) {
                (1, _) => "the one test".to_owned(),
                (_, most) if most == tests => format!("each of the {tests} tests"),
                _ => format!("{most} of the {tests} tests"),
            };
            let all =
                if runs.len() == 2 { "both".to_owned() } else { format!("all {}", runs.len()) };
            Some(format!("{label} moves the most data in {share} that {all} runs have."))
        }
        (_, labels) => Some(format!(
            "No run is ahead: {} of {} runs move the most data in {most} of {tests} common tests each.",
            labels.len(),
            runs.len()
        )),
    }
}

//! The starting points of a fit. Asymptotic bounds suggest which limits apply, and several guesses are tried.
//!
//! The slope of a limit that another limit hides is zero, so a gradient search would never find it. Asymptotic bounds
//! find it: the maximum observed rate of requests bounds the time of the drive's processor, and the maximum throughput
//! bounds its data path and its dies. The cost decides whether the processor or the dies limit reads, and whether the
//! data path or the programs limit writes.

use lanemark_schema::result::FigureKind;

use super::engine::TrialSimulator;
use super::parameter::{Parameter, ParameterUnit, flash};
use super::solve::{SearchResult, search};
use super::trials::Trial;
use crate::PredictError;

/// The number of guesses from which a search starts.
const FOLLOWED: usize = 6;

/// Fits the reads, starting from the best guesses.
pub(super) fn reads(
    engine: &TrialSimulator,
    free: &[usize],
    trials: &[usize],
) -> Result<SearchResult, PredictError> {
    let engines = f64::from(engine.base.attachments[0].drive.front_end.engines);
    let random = fastest(engine, trials, |trial| !trial.test.is_in_order(), Trial::iops);
    let ordered = fastest(engine, trials, |trial| trial.test.is_in_order(), Trial::throughput);
    let bounds = [
        ("drive.front_end.read_time", engines / random * 1e6),
        ("drive.data_path.read", ordered / 1e6),
    ];
    let senses = ["drive.pseudo_slc.read", "drive.disk.read_seek.average"];
    let sense = senses.into_iter().find(|name| engine.index_of(name).is_some());
    let sense = sense.unwrap_or("drive.flash.read");
    let mut guesses = bound_combinations(engine, &engine.priors, &bounds);
    for logs in &mut guesses {
        set_start_latency(engine, logs, trials, sense, FigureKind::ReadMean)?;
    }
    search_best_guesses(engine, guesses, free, trials)
}

/// Fits the writes, starting from the best guesses. All other values are taken from `logs`.
pub(super) fn writes(
    engine: &TrialSimulator,
    logs: &[f64],
    free: &[usize],
    trials: &[usize],
) -> Result<SearchResult, PredictError> {
    if trials.is_empty() {
        return Ok(SearchResult { logs: logs.to_vec(), cost: engine.prior_cost(logs) });
    }
    let engines = f64::from(engine.base.attachments[0].drive.front_end.engines);
    let random = fastest(engine, trials, |trial| !trial.test.is_in_order(), Trial::iops);
    let any = fastest(engine, trials, |_| true, Trial::throughput);
    let unit = flash(&engine.base.attachments[0].drive)
        .map_or(0.0, |flash| flash.unit().get() as f64 * flash.dies() as f64);
    let program = match engine.index_of("drive.pseudo_slc.program") {
        Some(_) => "drive.pseudo_slc.program",
        None => "drive.flash.program",
    };
    let bounds = [
        ("drive.front_end.write_time", engines / random * 1e6),
        ("drive.data_path.write", any / 1e6),
        (program, unit / any * 1e6),
    ];
    let mut guesses = bound_combinations(engine, logs, &bounds);
    for logs in &mut guesses {
        set_start_latency(
            engine,
            logs,
            trials,
            "drive.front_end.write_latency",
            FigureKind::WriteMean,
        )?;
    }
    search_best_guesses(engine, guesses, free, trials)
}

/// Returns the maximum of a figure over the `wanted` trials.
fn fastest(
    engine: &TrialSimulator,
    trials: &[usize],
    wanted: impl Fn(&Trial) -> bool,
    figure: fn(&Trial) -> f64,
) -> f64 {
    let those = trials.iter().map(|&trial| &engine.trials[trial]).filter(|trial| wanted(trial));
    those.map(figure).fold(0.0, f64::max)
}

/// Returns a guess for each subset of `bounds`. The parameters of the subset are at their bounds, and all others are
/// taken from `logs`.
fn bound_combinations(
    engine: &TrialSimulator,
    logs: &[f64],
    bounds: &[(&str, f64)],
) -> Vec<Vec<f64>> {
    let subsets = 0..1_u32 << bounds.len();
    let guess = subsets.map(|subset| {
        let mut logs = logs.to_vec();
        for (bit, (name, value)) in bounds.iter().enumerate() {
            put(engine, &mut logs, name, *value, subset >> bit & 1 == 1);
        }
        logs
    });
    guess.collect()
}

/// Sets a parameter to its bound if `taken` is true. Otherwise the parameter is moved away from the bound, but only if
/// the value of its prior contradicts the bound.
fn put(engine: &TrialSimulator, logs: &mut [f64], name: &str, bound: f64, taken: bool) {
    let Some(index) = engine.index_of(name) else { return };
    if !bound.is_finite() || bound <= 0.0 {
        return;
    }
    let parameter: &Parameter = &engine.parameters[index];
    let log = parameter.log(bound);
    logs[index] = match (taken, parameter.unit) {
        (true, _) => log,
        (false, ParameterUnit::Microseconds) => logs[index].min(log - 0.3),
        (false, ParameterUnit::Megabytes | ParameterUnit::Percent | ParameterUnit::Count) => {
            logs[index].max(log + 0.3)
        }
    };
}

/// Changes a time so that the latency of one request at a time equals the measured latency.
fn set_start_latency(
    engine: &TrialSimulator,
    logs: &mut [f64],
    trials: &[usize],
    name: &str,
    kind: FigureKind,
) -> Result<(), PredictError> {
    let is_alone = |&&trial: &&usize| {
        let trial: &Trial = &engine.trials[trial];
        trial.outstanding() == 1 && !trial.test.is_in_order() && trial.figure(kind).is_some()
    };
    let least =
        trials.iter().filter(is_alone).min_by_key(|&&trial| engine.trials[trial].test.block);
    let (Some(&trial), Some(position)) = (least, engine.index_of(name)) else { return Ok(()) };
    let figures = engine.tell(&[engine.system(logs)], &[(0, trial)])?;
    let index = engine.trials[trial].figures.iter().position(|figure| figure.kind == kind);
    let modelled = index.and_then(|index| *figures.first()?.get(index)?);
    let (Some(modelled), Some(measured)) = (modelled, engine.trials[trial].figure(kind)) else {
        return Ok(());
    };
    let parameter = &engine.parameters[position];
    let value = parameter.value(logs[position]) + (measured - modelled) / 1e3;
    logs[position] = parameter.log(value.max(parameter.bounds.0.max(1e-3)));
    Ok(())
}

/// Removes duplicate guesses, which are caused by bounds that do not have an effect.
fn distinct(guesses: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = Vec::new();
    for guess in guesses {
        if !found.contains(&guess) {
            found.push(guess);
        }
    }
    found
}

/// Searches from the guesses with the lowest cost.
fn search_best_guesses(
    engine: &TrialSimulator,
    guesses: Vec<Vec<f64>>,
    free: &[usize],
    trials: &[usize],
) -> Result<SearchResult, PredictError> {
    let mut judged = Vec::new();
    for logs in distinct(guesses) {
        judged.push((engine.cost(&logs, trials)?, logs));
    }
    judged.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (cost, logs) = judged[0].clone();
    let mut best = SearchResult { logs, cost };
    for (_, logs) in judged.into_iter().take(FOLLOWED) {
        if engine.budget.is_spent() {
            break;
        }
        let found = search(engine, &logs, free, trials, 1)?;
        if found.cost < best.cost {
            best = found;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::engine::tests::engine;
    use super::super::trials::MeasuredFigure;
    use super::*;

    #[test]
    fn every_subset_of_bounds_is_a_guess() {
        let engine = engine("samsung-950-pro-512gb");
        // The second parameter is a rate, and the other parameters are times.
        let bounds = [
            ("drive.front_end.write_time", 3.0),
            ("drive.data_path.write", 900.0),
            ("drive.flash.program", 400.0),
        ];
        for count in 0..=bounds.len() {
            let bounds = &bounds[..count];
            let guesses = bound_combinations(&engine, &engine.priors, bounds);
            assert_eq!(guesses.len(), 1 << count);
            let mut subsets = BTreeSet::new();
            for guess in &guesses {
                let at_bound = |(name, value): &(&str, f64)| {
                    let index = engine.index_of(name).unwrap();
                    guess[index] == engine.parameters[index].log(*value)
                };
                subsets.insert(bounds.iter().map(at_bound).collect::<Vec<_>>());
                let bounded: Vec<usize> =
                    bounds.iter().filter_map(|(name, _)| engine.index_of(name)).collect();
                for (index, (log, prior)) in guess.iter().zip(&engine.priors).enumerate() {
                    assert!(bounded.contains(&index) || log == prior, "{index}");
                }
            }
            assert_eq!(subsets.len(), 1 << count, "{subsets:?}");
        }
    }

    #[test]
    fn a_bound_that_is_not_taken_does_not_limit() {
        let engine = engine("samsung-950-pro-512gb");
        for (name, value, is_time) in
            [("drive.front_end.write_time", 3.0, true), ("drive.data_path.write", 900.0, false)]
        {
            let index = engine.index_of(name).unwrap();
            let bound = engine.parameters[index].log(value);
            for (before, wanted) in [(bound - 2.0, 0), (bound, 1), (bound + 2.0, 2)] {
                let mut logs = engine.priors.clone();
                logs[index] = before;
                put(&engine, &mut logs, name, value, false);
                // A time below its bound, or a rate above its bound, does not change.
                let kept = if is_time { wanted == 0 } else { wanted == 2 };
                let moved = if is_time { bound - 0.3 } else { bound + 0.3 };
                let expected = if kept { before } else { moved };
                assert!((logs[index] - expected).abs() < 1e-12, "{name}: {before}");
            }
            for none in [0.0, f64::INFINITY, f64::NAN] {
                let mut logs = engine.priors.clone();
                put(&engine, &mut logs, name, none, true);
                assert_eq!(logs, engine.priors);
            }
        }
    }

    #[test]
    fn a_start_meets_the_smallest_read_of_one_at_a_time() {
        let mut engine = engine("samsung-950-pro-512gb");
        let trial = |block: &str, depth: u32, read_us: f64| {
            let test = lanemark_schema::workload::Test::random_read(block).queue_depth(depth);
            let test = test.span("1 GiB").volume("2 MiB").build().unwrap().into_test();
            let figure =
                MeasuredFigure { kind: FigureKind::ReadMean, value: read_us * 1e3, sd: 0.1 };
            Trial { short: test.clone(), test, figures: vec![figure] }
        };
        engine.trials =
            vec![trial("4 KiB", 8, 900.0), trial("4 KiB", 1, 200.0), trial("64 KiB", 1, 500.0)];
        let mut logs = engine.priors.clone();
        let trials = [0, 1, 2];
        set_start_latency(&engine, &mut logs, &trials, "drive.flash.read", FigureKind::ReadMean)
            .unwrap();
        let figures = engine.tell(&[engine.system(&logs)], &[(0, 1)]).unwrap();
        let read_ns = figures[0][0].unwrap();
        assert!((read_ns / 200e3 - 1.0).abs() < 0.02, "{read_ns} ns");
        // Without such a read, the prior remains.
        let mut logs = engine.priors.clone();
        set_start_latency(&engine, &mut logs, &[0], "drive.flash.read", FigureKind::ReadMean)
            .unwrap();
        assert_eq!(logs, engine.priors);
    }
}

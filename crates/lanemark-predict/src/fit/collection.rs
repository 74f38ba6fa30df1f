//! Collection during random writes: a limit of the flash that must not be mistaken for a limit of the drive's
//! processor.
//!
//! A used drive collects while it writes at random, and its dies then limit writes that the processor of a fresh drive
//! would limit. Both limit small writes to the same rate. Request lengths distinguish them, since collection limits
//! bytes and the processor limits commands. Depths distinguish them too, since a buffer accepts a single write
//! immediately. If neither was measured, a processor or program time above [`PLAUSIBLE`] times the template's is
//! rejected.

use lanemark_schema::units::Duration;
use lanemark_sim::spec::{Condition, DriveSpec};

use super::engine::{TrialSimulator, enough};
use super::parameter::{COLLECTION, Parameter, flash};
use super::solve::{SearchResult, search};
use super::trials::Trial;
use crate::PredictError;

/// The improvement of the fit that justifies another value, as a difference in the sum of squares: 95% of a chi-square
/// with one degree of freedom.
const WORTH: f64 = 3.84;
/// The share of the sequential rate below which random writes are examined.
const SLOWER: f64 = 0.7;
/// The maximum plausible ratio of the time of a processor command or a program to the template's time.
const PLAUSIBLE: f64 = 2.0;

/// Tests whether collection explains the writes better than `fresh`, the fit without it. If so, the engine gets another
/// parameter at the end. If the writes do not decide, the engine gets the parameter, and the rejected times are fixed
/// at the template's values.
pub(super) fn explore(
    engine: &mut TrialSimulator,
    fresh: SearchResult,
    writing: &[usize],
    trials: &[usize],
) -> Result<SearchResult, PredictError> {
    let random = fastest(engine, trials, false);
    let ordered = fastest(engine, trials, true);
    // Sequential writes determine the time of a program.
    let times = match ordered > 0.0 {
        true => &["drive.front_end.write_time"][..],
        false => &["drive.front_end.write_time", "drive.flash.program"],
    };
    let indices: Vec<usize> = times.iter().filter_map(|name| engine.index_of(name)).collect();
    let is_believed = |&&index: &&usize| {
        let parameter: &Parameter = &engine.parameters[index];
        let usual = parameter.value(engine.priors[index]);
        parameter.value(fresh.logs[index]) <= PLAUSIBLE * usual
    };
    let uncertain: Vec<usize> =
        indices.iter().filter(|index| !is_believed(index)).copied().collect();
    let is_slow = ordered > 0.0 && random < SLOWER * ordered;
    let drive = &engine.base.attachments[0].drive;
    if random == 0.0 || uncertain.is_empty() && !is_slow || !is_identifiable(drive) {
        return Ok(fresh);
    }
    fill_buffers(engine, trials, random);
    let fresh = SearchResult { cost: engine.cost(&fresh.logs, trials)?, ..fresh };
    let drive = &engine.base.attachments[0].drive;
    let capable = rate_of_dies(drive, engine, &fresh.logs, ordered > 0.0).max(ordered);
    let share = engine.parameters.len();
    engine.parameters.push(COLLECTION);
    // The prior is a drive without collection.
    engine.priors.push(COLLECTION.log(100.0));
    let free: Vec<usize> = writing.iter().copied().chain([share]).collect();
    let without: Vec<usize> =
        free.iter().copied().filter(|index| !indices.contains(index)).collect();
    let mut best: Option<SearchResult> = None;
    for times in [1.0, 0.6] {
        let mut logs = fresh.logs.clone();
        logs.push(COLLECTION.log((100.0 * times * random / capable).clamp(2.0, 95.0)));
        indices.iter().for_each(|&index| logs[index] = engine.priors[index]);
        // The first search keeps those times fixed, because otherwise they would follow their slopes.
        let found = search(engine, &logs, &without, trials, 1)?;
        if best.as_ref().is_none_or(|best| found.cost < best.cost) {
            best = Some(found);
        }
    }
    let Some(held) = best else { return Ok(fresh) };
    let found = search(engine, &held.logs, &free, trials, 1)?;
    if found.cost + WORTH < fresh.cost {
        return Ok(found);
    }
    if !uncertain.is_empty() && held.cost <= fresh.cost + WORTH {
        engine.held = indices;
        return Ok(held);
    }
    engine.parameters.pop();
    engine.priors.pop();
    Ok(fresh)
}

/// Returns whether collection during writes can be a value of the drive. The flash must not be written in place. The
/// drive must not have a pseudo-SLC cache, because the cache takes the writes of a short test. The drive must not be in
/// a condition in which collection is simulated.
fn is_identifiable(drive: &DriveSpec) -> bool {
    flash(drive).is_some_and(|flash| {
        !flash.technology.in_place()
            && flash.translation.pseudo_slc.is_none()
            && flash.translation.beside_collection.is_none()
            && matches!(flash.condition, Condition::Fresh | Condition::Purged)
    })
}

/// Fills the buffer before random writes that are near the fastest rate, since the dies may be their limit.
fn fill_buffers(engine: &mut TrialSimulator, trials: &[usize], random: f64) {
    let buffer = enough(&engine.base.attachments[0].drive).get() as f64;
    for &trial in trials {
        let trial = &mut engine.trials[trial];
        let rate = trial.throughput();
        if !trial.reads() && !trial.test.is_in_order() && rate > random / 2.0 {
            let time = 4.0 * buffer / rate;
            trial.short.ramp += Duration::from_picoseconds((time * 1e12) as u64);
        }
    }
}

/// Returns the maximum rate of pure writes, sequential or random.
fn fastest(engine: &TrialSimulator, trials: &[usize], in_order: bool) -> f64 {
    let those = trials.iter().map(|&trial| &engine.trials[trial]);
    let those = those.filter(|trial| !trial.reads() && trial.test.is_in_order() == in_order);
    those.map(Trial::throughput).fold(0.0, f64::max)
}

/// Returns the rate at which all dies program: with the program time in `logs` if the writes determine it, otherwise
/// with the template's.
fn rate_of_dies(drive: &DriveSpec, engine: &TrialSimulator, logs: &[f64], is_known: bool) -> f64 {
    let Some(flash) = flash(drive) else { return 0.0 };
    let program = match engine.index_of("drive.flash.program").filter(|_| is_known) {
        Some(index) => engine.parameters[index].value(logs[index]) / 1e6,
        None => flash.program.mean().as_seconds(),
    };
    flash.unit().get() as f64 * flash.dies() as f64 / program.max(1e-9)
}

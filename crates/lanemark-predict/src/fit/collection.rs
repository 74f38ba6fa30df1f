//! Collection beside random writes: a limit of the flash that must not be taken for one of the drive's processor.
//!
//! A used drive collects while it writes in no order, and its dies then are the limit where a fresh one's processor would be.
//! Both bound small writes alike. Lengths tell them apart, since collection's limit is of bytes and the processor's of
//! commands, and so do depths: a buffer takes one write at once whatever its dies do. Where neither was measured, a processor
//! or a program that would take more than [`PLAUSIBLE`] times as long as the template's is not believed.

use lanemark_core::sim::spec::{Condition, DriveSpec};
use lanemark_core::units::Duration;

use super::engine::{Engine, enough};
use super::measured::Trial;
use super::parameter::{COLLECTION, Parameter, flash};
use super::solve::{Found, search};
use crate::PredictError;

/// Difference of the sum of squares that a value more must be worth: 95% of a chi-square with one degree of freedom.
const WORTH: f64 = 3.84;
/// The share of the rate in order below which random writes are worth a look.
const SLOWER: f64 = 0.7;
/// Times the template's that a processor may take for a command, or a die for a program.
const PLAUSIBLE: f64 = 2.0;

/// Tries whether collection explains the writes better than `fresh`, the fit without it. Where it does, the engine has one
/// parameter more at the end; where the writes do not tell, it has that parameter, and the times that are not believed are
/// held.
pub(super) fn explore(
    engine: &mut Engine,
    fresh: Found,
    writing: &[usize],
    trials: &[usize],
) -> Result<Found, PredictError> {
    let random = fastest(engine, trials, false);
    let ordered = fastest(engine, trials, true);
    // Writes in order tell how long a program takes.
    let times = match ordered > 0.0 {
        true => &["drive.front_end.write_time"][..],
        false => &["drive.front_end.write_time", "drive.flash.program"],
    };
    let places: Vec<usize> = times.iter().filter_map(|name| engine.place(name)).collect();
    let is_believed = |&&place: &&usize| {
        let parameter: &Parameter = &engine.parameters[place];
        let usual = parameter.value(engine.priors[place]);
        parameter.value(fresh.logs[place]) <= PLAUSIBLE * usual
    };
    let doubtful: Vec<usize> = places.iter().filter(|place| !is_believed(place)).copied().collect();
    let is_slow = ordered > 0.0 && random < SLOWER * ordered;
    let drive = &engine.base.attachments[0].drive;
    if random == 0.0 || doubtful.is_empty() && !is_slow || !can_be_told(drive) {
        return Ok(fresh);
    }
    fill_buffers(engine, trials, random);
    let fresh = Found { cost: engine.cost(&fresh.logs, trials)?, ..fresh };
    let drive = &engine.base.attachments[0].drive;
    let capable = rate_of_dies(drive, engine, &fresh.logs, ordered > 0.0).max(ordered);
    let share = engine.parameters.len();
    engine.parameters.push(COLLECTION);
    // Before anything is known nothing is collected.
    engine.priors.push(COLLECTION.log(100.0));
    let free: Vec<usize> = writing.iter().copied().chain([share]).collect();
    let without: Vec<usize> =
        free.iter().copied().filter(|place| !places.contains(place)).collect();
    let mut best: Option<Found> = None;
    for times in [1.0, 0.6] {
        let mut logs = fresh.logs.clone();
        logs.push(COLLECTION.log((100.0 * times * random / capable).clamp(2.0, 95.0)));
        places.iter().for_each(|&place| logs[place] = engine.priors[place]);
        // First with those times held, which else follow the slopes that they have.
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
    if !doubtful.is_empty() && held.cost <= fresh.cost + WORTH {
        engine.held = places;
        return Ok(held);
    }
    engine.parameters.pop();
    engine.priors.pop();
    Ok(fresh)
}

/// Whether collection beside writes can be a value of the drive: of flash that is not written in place, without a
/// pseudo-SLC cache, which takes the writes of a short test, and in a condition of which collection is not simulated.
fn can_be_told(drive: &DriveSpec) -> bool {
    flash(drive).is_some_and(|flash| {
        !flash.technology.in_place()
            && flash.translation.pseudo_slc.is_none()
            && flash.translation.beside_collection.is_none()
            && matches!(flash.condition, Condition::Fresh | Condition::Purged)
    })
}

/// Begins the tests of random writes that come near the fastest with a full buffer, since the dies may be their limit.
fn fill_buffers(engine: &mut Engine, trials: &[usize], random: f64) {
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

/// The highest rate of writes alone, in order or in none.
fn fastest(engine: &Engine, trials: &[usize], in_order: bool) -> f64 {
    let those = trials.iter().map(|&trial| &engine.trials[trial]);
    let those = those.filter(|trial| !trial.reads() && trial.test.is_in_order() == in_order);
    those.map(Trial::throughput).fold(0.0, f64::max)
}

/// The rate at which all dies program: with the program of `logs` where that is `told`, else with the template's.
fn rate_of_dies(drive: &DriveSpec, engine: &Engine, logs: &[f64], told: bool) -> f64 {
    let Some(flash) = flash(drive) else { return 0.0 };
    let program = match engine.place("drive.flash.program").filter(|_| told) {
        Some(place) => engine.parameters[place].value(logs[place]) / 1e6,
        None => flash.program.mean().as_seconds(),
    };
    flash.unit().get() as f64 * flash.dies() as f64 / program.max(1e-9)
}

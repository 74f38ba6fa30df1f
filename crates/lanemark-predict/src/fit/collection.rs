//! Collection during random writes: a limit of the flash that must not be attributed to the drive's processor.
//!
//! While a used drive is written at random, collection occupies its dies, which then limit writes that only the
//! processor would limit in a fresh drive. Both limits can cause the same rate of small writes. Request lengths
//! distinguish the two, because collection limits bytes and the processor limits commands. Queue depths also
//! distinguish them, because a buffer accepts a single write immediately. If neither was varied in the measurements, a
//! processor or program time of more than [`PLAUSIBLE`] times the template's time is rejected.

use lanemark_schema::units::Duration;
use lanemark_sim::spec::{DriveCondition, DriveSpec};

use super::engine::{TrialSimulator, busy_buffer_bytes};
use super::parameter::{COLLECTION, Parameter, flash};
use super::solve::{SearchResult, search};
use super::trials::Trial;
use crate::PredictError;

/// The improvement of the fit that justifies an additional value, as a difference in the sum of squares: 95% of a
/// chi-square distribution with one degree of freedom.
const WORTH: f64 = 3.84;
/// The share of the sequential rate below which random writes are examined for collection.
const SLOWER: f64 = 0.7;
/// The maximum plausible ratio between a fitted processor or program time and the template's time.
const PLAUSIBLE: f64 = 2.0;

/// Tests whether collection explains the writes better than `fresh`, the fit without collection. If it does, the engine
/// receives an additional parameter at the end. If the writes are not decisive, the engine also receives the parameter,
/// and the rejected times are fixed at the template's values.
pub(super) fn explore(
    engine: &mut TrialSimulator,
    fresh: SearchResult,
    writing: &[usize],
    trials: &[usize],
) -> Result<SearchResult, PredictError> {
    let random = fastest(engine, trials, false);
    let ordered = fastest(engine, trials, true);
    // Sequential writes determine the program time.
    let times = if ordered > 0.0 {
        &["drive.front_end.write_time"][..]
    } else {
        &["drive.front_end.write_time", "drive.flash.program"]
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
    // The middle of the prior is a drive without collection.
    engine.priors.push(COLLECTION.log(100.0));
    let free: Vec<usize> = writing.iter().copied().chain([share]).collect();
    let without: Vec<usize> =
        free.iter().copied().filter(|index| !indices.contains(index)).collect();
    let mut best: Option<SearchResult> = None;
    for times in [1.0, 0.6] {
        let mut logs = fresh.logs.clone();
        logs.push(COLLECTION.log((100.0 * times * random / capable).clamp(2.0, 95.0)));
        indices.iter().for_each(|&index| logs[index] = engine.priors[index]);
        // The first search keeps these times fixed, because otherwise they would change along with their slopes.
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

/// Returns whether collection during writes can be identified. Flash that is written in place does not need collection.
/// A pseudo-SLC cache would store all writes of a short test. If the drive is in a condition in which collection is
/// simulated, the parameter is not needed.
fn is_identifiable(drive: &DriveSpec) -> bool {
    flash(drive).is_some_and(|flash| {
        !flash.technology.in_place()
            && flash.translation.pseudo_slc.is_none()
            && flash.translation.beside_collection.is_none()
            && matches!(flash.condition, DriveCondition::Fresh | DriveCondition::Purged)
    })
}

/// Fills the buffer before random writes whose rate is near the maximum, because the dies may limit them.
fn fill_buffers(engine: &mut TrialSimulator, trials: &[usize], random: f64) {
    let buffer = busy_buffer_bytes(&engine.base.attachments[0].drive).get() as f64;
    for &trial in trials {
        let trial = &mut engine.trials[trial];
        let rate = trial.throughput();
        if !trial.reads() && !trial.test.is_in_order() && rate > random / 2.0 {
            let time = 4.0 * buffer / rate;
            trial.short.ramp += Duration::from_picoseconds((time * 1e12) as u64);
        }
    }
}

/// Returns the maximum rate of tests that only write, sequentially or at random.
fn fastest(engine: &TrialSimulator, trials: &[usize], in_order: bool) -> f64 {
    let those = trials.iter().map(|&trial| &engine.trials[trial]);
    let those = those.filter(|trial| !trial.reads() && trial.test.is_in_order() == in_order);
    those.map(Trial::throughput).fold(0.0, f64::max)
}

/// Returns the rate at which all dies together program. The program time is the value in `logs` if the writes determine
/// it, otherwise the template's time.
fn rate_of_dies(drive: &DriveSpec, engine: &TrialSimulator, logs: &[f64], is_known: bool) -> f64 {
    let Some(flash) = flash(drive) else { return 0.0 };
    let program = match engine.index_of("drive.flash.program").filter(|_| is_known) {
        Some(index) => engine.parameters[index].value(logs[index]) / 1e6,
        None => flash.program.mean().as_seconds(),
    };
    flash.unit().get() as f64 * flash.dies() as f64 / program.max(1e-9)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::FigureKind;
    use lanemark_schema::units::Ratio;
    use lanemark_schema::workload::Test;
    use lanemark_sim::spec::{FlashSpec, PseudoSlcSpec};

    use super::super::engine::tests::engine;
    use super::super::parameter::change;
    use super::super::trials::MeasuredFigure;
    use super::*;

    /// Returns a trial with this throughput in MB/s.
    fn trial(test: lanemark_schema::workload::TestBuilder, megabytes: f64) -> Trial {
        let test = test.duration("1 s").build().unwrap().into_test();
        let value = megabytes * 1e6;
        let figures = vec![MeasuredFigure { kind: FigureKind::Throughput, value, sd: 0.1 }];
        Trial { short: test.clone(), test, figures }
    }

    fn with_trials() -> (TrialSimulator, Vec<usize>) {
        let mut engine = engine("samsung-950-pro-512gb");
        engine.trials = vec![
            trial(Test::random_write("4 KiB"), 200.0),
            trial(Test::random_write("64 KiB"), 400.0),
            trial(Test::random_write("64 KiB"), 201.0),
            trial(Test::random_read("4 KiB"), 800.0),
            trial(Test::sequential_write("1 MiB"), 900.0),
            trial(Test::sequential_read("1 MiB"), 2_000.0),
            trial(Test::random_write("4 KiB").read_share("50%"), 700.0),
            trial(Test::random_write("4 KiB"), 999.0),
        ];
        // The last trial is not used.
        (engine, (0..7).collect())
    }

    #[test]
    fn the_fastest_rates_match_pure_writes() {
        let (engine, trials) = with_trials();
        assert_eq!(fastest(&engine, &trials, false), 400e6);
        assert_eq!(fastest(&engine, &trials, true), 900e6);
        assert_eq!(fastest(&engine, &[3, 5, 6], true), 0.0);
    }

    #[test]
    fn random_writes_above_half_of_the_fastest_rate_fill_the_buffer_four_times() {
        let (mut engine, trials) = with_trials();
        let buffer = busy_buffer_bytes(&engine.base.attachments[0].drive).get() as f64;
        fill_buffers(&mut engine, &trials, 400e6);
        let ramps: Vec<f64> =
            engine.trials.iter().map(|trial| trial.short.ramp.as_seconds()).collect();
        let filled = |rate: f64| 4.0 * buffer / rate;
        let wanted = [0.0, filled(400e6), filled(201e6), 0.0, 0.0, 0.0, 0.0, 0.0];
        for (number, (ramp, wanted)) in ramps.iter().zip(wanted).enumerate() {
            assert!((ramp - wanted).abs() < 1e-9, "{number}: {ramp}, expected {wanted}");
        }
        assert!(filled(400e6) > 1e-3);
    }

    #[test]
    fn collection_is_a_value_of_fresh_flash_without_a_cache() {
        let drive = engine("samsung-950-pro-512gb").base.attachments[0].drive.clone();
        let fresh = |drive: &mut DriveSpec| {
            change(drive, |flash| {
                flash.condition = DriveCondition::Fresh;
                flash.translation.pseudo_slc = None;
                flash.translation.beside_collection = None;
            });
        };
        let with = |how: fn(&mut FlashSpec)| {
            let mut drive = drive.clone();
            fresh(&mut drive);
            change(&mut drive, how);
            is_identifiable(&drive)
        };
        assert!(with(|_| ()) && with(|flash| flash.condition = DriveCondition::Purged));
        assert!(!with(|flash| flash.condition = DriveCondition::Sequential));
        assert!(!with(|flash| flash.translation.beside_collection = Ratio::new(0.5)));
        assert!(!with(|flash| flash.technology = lanemark_sim::spec::Technology::XPoint));
        assert!(!with(|flash| {
            flash.translation.pseudo_slc = Some(PseudoSlcSpec {
                capacity: lanemark_schema::units::Bytes::mebi(1024),
                growth: lanemark_schema::units::Bytes::ZERO,
                read: Duration::from_microseconds(30),
                program: Duration::from_microseconds(200),
                fold_when_full: false,
                emptied_when_idle: false,
            });
        }));
    }

    #[test]
    fn all_dies_program_a_unit_in_each_program_time() {
        let engine = engine("samsung-950-pro-512gb");
        let drive = &engine.base.attachments[0].drive;
        let own = flash(drive).unwrap();
        let data = own.unit().get() as f64 * own.dies() as f64;
        let template = data / own.program.mean().as_seconds();
        let mut logs = engine.priors.clone();
        let index = engine.index_of("drive.flash.program").unwrap();
        logs[index] = engine.parameters[index].log(500.0);
        let rate = |is_known| rate_of_dies(drive, &engine, &logs, is_known);
        assert!((rate(false) / template - 1.0).abs() < 1e-9);
        assert!((rate(true) / (data / 500e-6) - 1.0).abs() < 1e-9);
    }

    /// A drive whose flash is written in place does not collect, however slow its random writes are.
    #[test]
    fn collection_is_examined_only_if_the_flash_may_collect() {
        for technology in
            [lanemark_sim::spec::Technology::XPoint, lanemark_sim::spec::Technology::Mlc]
        {
            let (mut engine, trials) = with_trials();
            change(&mut engine.base.attachments[0].drive, |flash| {
                flash.condition = DriveCondition::Fresh;
                flash.translation.pseudo_slc = None;
                flash.translation.beside_collection = None;
                flash.technology = technology;
            });
            let fresh = SearchResult { logs: engine.priors.clone(), cost: 0.0 };
            for trial in &mut engine.trials {
                trial.short.duration = Some(Duration::from_microseconds(2_000));
            }
            let program: Vec<usize> = engine.index_of("drive.flash.program").into_iter().collect();
            // Random writes reach a small part of the sequential rate.
            explore(&mut engine, fresh, &program, &[trials[0], trials[4]]).unwrap();
            // An examination first lets the writes fill the buffer.
            let is_examined = engine.trials[0].short.ramp > Duration::ZERO;
            assert_eq!(is_examined, technology != lanemark_sim::spec::Technology::XPoint);
        }
    }
}

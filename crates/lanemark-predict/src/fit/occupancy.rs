//! Occupancy times of the controller's command engines that the measurements do not determine.
//!
//! A command occupies an engine for the *occupancy* and then waits for a latency. With one request at a time, only the
//! sum of the two can be measured; the sum is an upper bound for the occupancy. With more outstanding requests, the
//! occupancy can be measured only if the engines limit the rate. If the links, the host or the flash are the limit, a
//! drive with zero occupancy and a longer latency has the same rates. The occupancy is then fixed at the template's
//! value, or at the maximum value that the measured rates allow, and has the range of its prior.

use lanemark_schema::result::FigureKind;
use lanemark_schema::workload::Test;

use super::engine::TrialSimulator;
use super::solve::{SearchResult, search};
use crate::PredictError;

/// If the rate without occupancy exceeds the rate with occupancy by more than this factor, the measurements determine
/// the occupancy.
const SHOWN: f64 = 1.02;
/// The share of the maximum rate above which a rate is near a limit. Below this share, the rates of short queues depend
/// on both times.
const NEAR: f64 = 0.8;
/// The maximum size of requests whose rate the controller may limit, in bytes.
const SMALL: f64 = 16_384.0;

/// The names of each occupancy and of the latency that follows it, and whether they affect reads.
const TIMES: [(&str, &str, bool); 2] = [
    ("drive.front_end.read_time", "drive.front_end.read_latency", true),
    ("drive.front_end.write_time", "drive.front_end.write_latency", false),
];

/// Fixes each occupancy that `trials` do not determine, and fits the other values again.
pub(super) fn fix_occupancy(
    engine: &mut TrialSimulator,
    search_result: SearchResult,
    trials: &[usize],
) -> Result<SearchResult, PredictError> {
    let mut logs = search_result.logs.clone();
    let mut is_changed = false;
    for (name, latency, reads) in TIMES {
        let (Some(index), Some(latency)) = (engine.index_of(name), engine.index_of(latency)) else {
            continue;
        };
        let is_own = |trial: usize| is_of_occupancy(&engine.trials[trial].test, reads);
        let own_trials: Vec<usize> =
            trials.iter().copied().filter(|&trial| is_own(trial)).collect();
        if own_trials.is_empty()
            || engine.held.contains(&index)
            || is_shown(engine, &search_result.logs, index, latency, &own_trials)?
        {
            continue;
        }
        let engines = f64::from(engine.base.attachments[0].drive.front_end.engines);
        let fastest =
            own_trials.iter().map(|&trial| engine.trials[trial].iops()).fold(1e-9, f64::max);
        let most = engine.parameters[index].log(1e6 * engines / fastest);
        logs[index] = engine.priors[index].min(most);
        engine.held.push(index);
        is_changed = true;
    }
    if is_changed {
        search(engine, &logs, &engine.free_parameters(), trials, 1)
    } else {
        Ok(search_result)
    }
}

/// Returns whether the rate of a test depends on the occupancy of reads, or of writes: its requests are small and
/// random, and all of them have this direction.
fn is_of_occupancy(test: &Test, reads: bool) -> bool {
    (if reads { !test.writes() } else { !test.reads() })
        && test.block_mean() <= SMALL
        && !test.is_in_order()
}

/// Returns the latency after the occupancy beyond `least` was added to it.
fn latency_with_occupancy(latency: f64, occupancy: f64, least: f64) -> f64 {
    latency + (occupancy - least)
}

/// Returns whether any rate in `trials` would be higher if the occupancy were a part of the latency.
fn is_shown(
    engine: &TrialSimulator,
    logs: &[f64],
    index: usize,
    latency: usize,
    trials: &[usize],
) -> Result<bool, PredictError> {
    let parameters = &engine.parameters;
    let mut without = logs.to_vec();
    let occupancy = parameters[index].value(logs[index]);
    let least = parameters[index].bounds.0;
    without[index] = parameters[index].log(least);
    let longer = latency_with_occupancy(parameters[latency].value(logs[latency]), occupancy, least);
    without[latency] = parameters[latency].log(longer);
    let fastest = trials.iter().map(|&trial| engine.trials[trial].iops()).fold(0.0, f64::max);
    let jobs: Vec<(usize, usize)> = trials
        .iter()
        .filter(|&&trial| {
            let trial = &engine.trials[trial];
            trial.outstanding() > 1 && trial.iops() >= NEAR * fastest
        })
        .flat_map(|&trial| [(0, trial), (1, trial)])
        .collect();
    let modelled = engine.tell(&[engine.system(logs), engine.system(&without)], &jobs)?;
    let rate = |at: usize| {
        let figures = &engine.trials[jobs[at].1].figures;
        let index = figures.iter().position(|figure| figure.kind == FigureKind::Throughput)?;
        modelled[at][index]
    };
    Ok((0..jobs.len())
        .step_by(2)
        .any(|at| rate(at).zip(rate(at + 1)).is_some_and(|(with, without)| without > SHOWN * with)))
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Ratio;
    use lanemark_schema::workload::TestBuilder;

    use super::*;

    #[test]
    fn a_request_takes_as_long_with_its_occupancy_in_its_latency() {
        let latency = 80.0;
        let occupancy = 12.0;
        let least = 0.5;
        assert_eq!(latency_with_occupancy(latency, occupancy, least) + least, latency + occupancy);
    }

    #[test]
    fn small_random_requests_of_one_direction_depend_on_its_occupancy() {
        let of = |builder: TestBuilder| {
            let test = builder.duration("1 s").build().unwrap().into_test();
            [true, false].map(|reads| is_of_occupancy(&test, reads))
        };
        let of_reads = [true, false];
        let of_writes = [false, true];
        let of_neither = [false, false];
        for block in ["512 B", "4 KiB", "16 KiB"] {
            assert_eq!(of(Test::random_read(block)), of_reads, "{block}");
            assert_eq!(of(Test::random_write(block)), of_writes, "{block}");
            assert_eq!(of(Test::sequential_read(block)), of_neither, "{block}");
            assert_eq!(of(Test::sequential_write(block)), of_neither, "{block}");
        }
        for block in ["16896 B", "32 KiB", "1 MiB"] {
            assert_eq!(of(Test::random_read(block)), of_neither, "{block}");
            assert_eq!(of(Test::random_write(block)), of_neither, "{block}");
        }
        let half = Ratio::new(0.5).unwrap();
        let test = Test::random_read("4 KiB").duration("1 s").build().unwrap().into_test();
        let mixed = test.with(|requests| requests.read_share = half);
        assert_eq!([true, false].map(|reads| is_of_occupancy(&mixed, reads)), of_neither);
    }
}

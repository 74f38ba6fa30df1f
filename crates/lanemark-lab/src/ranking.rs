//! Systems ranked by their rate for a workload.
//!
//! All systems are drawn together, so a value that several systems share does not affect their order. A system has a
//! later rank than another system only if the 80% interval of their ratio excludes 1; otherwise both have the same
//! rank. The chance of the first place is the share of the draws in which the system is the fastest, with random
//! effects of the size of the effects that the model omits.
//!
//! Only tests whose rate a short run shows are ranked: traces and parallel tests are not.

use lanemark_schema::result::{
    ChangeKind, DrawnRates, PredictionInterval, Provenance, RatioEstimate, RatioVerdict,
    RequestGroup, SIDES_80, TestResult, changed_share, changes, omitted_factor,
};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::workload::{Test, Workload};
use lanemark_study::System;

use crate::error::LabError;
use crate::event::EventObserver;
use crate::interval::{DRAWS, DrawnSystem, is_same_system, may_be_drawn};
use crate::lab::{Lab, LabRun};

/// Number of random effects per draw that determine the chance of the first place.
const EFFECTS: u32 = 32;
/// The stream of the random effects.
const EFFECT_STREAM: u32 = u32::MAX - 1;

/// The systems, the fastest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The names of the ranked tests.
    pub tests: Vec<String>,
    /// The systems in the order of their rates.
    pub systems: Vec<RankedSystem>,
}

/// A system in a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedSystem {
    /// The name, `drive@platform:port`.
    pub name: String,
    /// The rank, starting at 1. Systems whose difference is not shown have the same rank.
    pub rank: usize,
    /// The predicted results, in the order of [`Ranking::tests`].
    pub results: Vec<TestResult>,
    /// The geometric mean of the rates of all tests, in requests a second.
    pub rate: f64,
    /// The interval of the rate and of the latency percentiles, if the ranking has one test.
    pub interval: Option<PredictionInterval>,
    /// This system's rate divided by the rate of the next system; `None` for the last system.
    pub to_next: Option<RatioEstimate>,
    /// The chance that this system is the fastest.
    pub first_chance: f64,
}

/// A system before it is ranked.
struct Candidate {
    name: String,
    system: System,
    results: Vec<TestResult>,
    /// The logarithm of the geometric mean of the data rates. Every system runs the same tests, and their numbers of
    /// requests are rounded.
    log: f64,
    interval: Option<PredictionInterval>,
    /// The geometric mean of the rates in all draws; `None` if too few draws result in valid systems.
    rates: Option<DrawnRates>,
}

impl Candidate {
    /// Returns the geometric mean of the rates in requests a second.
    fn requests_per_second(&self) -> f64 {
        let logs = self.results.iter().map(|test| test.iops.value.ln());
        (logs.sum::<f64>() / self.results.len().max(1) as f64).exp()
    }
}

impl Lab {
    /// Ranks `systems` by the geometric mean of their rates in the tests of `workload`. The tests run until their rates
    /// have converged, and also their percentiles if `with_percentiles` is true. Returns `None` if the run is
    /// cancelled.
    ///
    /// # Errors
    /// Returns an error if a system cannot be assembled, if a test does not fit a system, or if no test can be ranked.
    pub fn rank(
        &self,
        systems: &[DrawnSystem<'_>],
        workload: &Workload,
        with_percentiles: bool,
        seed: u64,
        watch: &mut EventObserver<'_>,
    ) -> Result<Option<Ranking>, LabError> {
        // Simulated repeats differ only in their offsets.
        let workload = Workload { repeats: 1, ..workload.clone() };
        let assembled: Vec<System> =
            systems.iter().map(DrawnSystem::system).collect::<Result<_, _>>()?;
        let works: Vec<LabRun<'_>> =
            assembled.iter().map(|system| LabRun { system, workload: &workload }).collect();
        let provenance = Provenance { seed, ..Provenance::default() };
        let mut lab = self.clone();
        if !with_percentiles {
            lab.length = self.length.without_percentiles();
        }
        let runs = lab.run_all(&works, &provenance, watch)?;
        if !runs.iter().all(|run| run.complete) {
            return Ok(None);
        }
        let is_ranked = |at: usize| runs.iter().all(|run| may_be_drawn(&workload, &run.tests[at]));
        let ranked: Vec<usize> = (0..workload.tests.len()).filter(|&at| is_ranked(at)).collect();
        if ranked.is_empty() {
            return Err(LabError::input("the workload does not contain a test that can be ranked")
                .hint("use tests that run separately, and that are not traces"));
        }
        let predicted: Vec<Vec<(Test, f64)>> = runs
            .iter()
            .map(|run| {
                let tests = ranked.iter().map(|&at| &run.tests[at]);
                tests.map(|test| (test.test.clone(), test.iops.value)).collect()
            })
            .collect();
        let sides: Vec<_> =
            systems.iter().zip(&predicted).map(|(one, tests)| (*one, tests.as_slice())).collect();
        let draws = lab.draws(&sides, seed, watch)?;
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        let names = systems.iter().map(|subject| subject.name.to_owned());
        let candidates = names.zip(assembled).zip(runs).enumerate();
        let candidates = candidates.map(|(side, ((name, system), run))| {
            let results: Vec<TestResult> = ranked.iter().map(|&at| run.tests[at].clone()).collect();
            let logs = results.iter().map(|test| test.throughput_bytes_per_second.value.ln());
            let log = logs.sum::<f64>() / ranked.len() as f64;
            let rates = (0..ranked.len()).map(|test| draws.rates(side, test)).collect();
            let interval = if ranked.len() == 1 { draws.interval(side, 0) } else { None };
            Candidate { name, system, results, log, interval, rates: DrawnRates::mean(rates) }
        });
        Ok(Some(ranking(candidates.collect(), seed)))
    }
}

/// Orders the systems, and compares each with the next one.
fn ranking(mut candidates: Vec<Candidate>, seed: u64) -> Ranking {
    candidates.sort_by(|one, two| two.log.total_cmp(&one.log).then(one.name.cmp(&two.name)));
    let chances = first_chances(&candidates, seed);
    let tests = candidates.first().map_or_else(Vec::new, |first| {
        first.results.iter().map(|result| result.test.name.clone()).collect()
    });
    let mut leader = 0;
    let mut systems: Vec<RankedSystem> = Vec::with_capacity(candidates.len());
    for (at, candidate) in candidates.iter().enumerate() {
        let of_leader = compare(candidate, &candidates[leader]);
        if of_leader.verdict() == RatioVerdict::Higher {
            leader = at;
        }
        systems.push(RankedSystem {
            name: candidate.name.clone(),
            rank: leader + 1,
            results: candidate.results.clone(),
            rate: candidate.requests_per_second(),
            interval: candidate.interval.clone(),
            to_next: candidates.get(at + 1).map(|next| compare(next, candidate)),
            first_chance: chances[at],
        });
    }
    Ranking { tests, systems }
}

/// Returns the kinds of changes between two systems, and the kind of their requests.
fn difference(one: &Candidate, two: &Candidate) -> (Vec<ChangeKind>, RequestGroup) {
    let pairs = one.results.iter().zip(&two.results).map(|(one, two)| [&one.test, &two.test]);
    let kinds =
        pairs.clone().flat_map(|tests| changes([&one.system.target, &two.system.target], tests));
    let mut kinds: Vec<ChangeKind> = kinds.collect();
    kinds.sort_unstable();
    kinds.dedup();
    // The tests that are the hardest to predict determine the group.
    let group = pairs.map(RequestGroup::of).max();
    (kinds, group.unwrap_or(RequestGroup::Plain))
}

/// Returns the logarithm of the factor for omitted effects in the ratio of two systems.
fn omitted(one: &Candidate, two: &Candidate) -> f64 {
    let (kinds, group) = difference(one, two);
    let pairs = one.results.iter().zip(&two.results);
    let shares = pairs.map(|(one, two)| {
        changed_share([one, two].map(|result| result.samples.first()?.path.as_ref()))
    });
    omitted_factor(&kinds, group, shares.fold(0.0, f64::max)).ln()
}

/// Returns `two / one`.
fn compare(one: &Candidate, two: &Candidate) -> RatioEstimate {
    if is_same_system(&one.system, &two.system) {
        return RatioEstimate::Identical;
    }
    let ratio = (two.log - one.log).exp();
    match (&one.rates, &two.rates) {
        (Some(of_one), Some(of_two)) => of_one.ratio_to(of_two, ratio, omitted(one, two).exp()),
        _ => RatioEstimate::Uncertain { ratio, interval_80: None },
    }
}

/// Returns the chance of the first place for each system. Equal systems share the first place.
fn first_chances(candidates: &[Candidate], seed: u64) -> Vec<f64> {
    let Some(first) = candidates.first() else { return Vec::new() };
    // The effects of a pair have the sum of the variances of both systems.
    let spreads = candidates.iter().map(|one| omitted(first, one) / SIDES_80 / 2.0_f64.sqrt());
    let mut spreads: Vec<f64> = spreads.collect();
    spreads[0] = spreads.iter().copied().fold(0.0, f64::max);
    let mut firsts = vec![0.0; candidates.len()];
    for (draw, effect) in (0..DRAWS).flat_map(|draw| (0..EFFECTS).map(move |at| (draw, at))) {
        let thread = effect;
        let key = StreamKey { seed, test: EFFECT_STREAM, repeat: draw as u32, thread };
        let mut rng = Rng::new(key);
        let logs = candidates.iter().zip(&spreads).map(|(candidate, spread)| {
            let drawn = candidate.rates.as_ref().and_then(|rates| rates.log_ratio(draw));
            candidate.log + drawn.unwrap_or_default() + spread * rng.normal()
        });
        let logs: Vec<f64> = logs.collect();
        let best = logs.iter().enumerate().max_by(|one, two| one.1.total_cmp(two.1));
        if let Some((best, _)) = best {
            firsts[best] += 1.0;
        }
    }
    let all = (DRAWS as u32 * EFFECTS) as f64;
    firsts.iter().map(|count| count / all).collect()
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::{Bytes, Duration};
    use lanemark_study::Library;

    use super::*;
    use crate::CancelFlag;

    fn workload() -> Workload {
        let library = Library::built_in();
        let mut workload = lanemark_study::workload::open(&library, "data-sheet").unwrap();
        let test =
            Test { duration: Some(Duration::from_seconds(1)), ..Test::of_blocks(Bytes::kibi(4)) };
        workload.tests = vec![test];
        workload
    }

    fn rank(names: &[&str]) -> Ranking {
        let library = Library::built_in();
        let subject = |name| DrawnSystem { library: &library, name, settings: &[], ranges: &[] };
        let systems: Vec<_> = names.iter().map(|name| subject(*name)).collect();
        Lab::default().rank(&systems, &workload(), false, 1, &mut |_| {}).unwrap().unwrap()
    }

    const FAST: &str = "samsung-990-pro-2tb@workstation-x570:m2";
    const SLOW: &str = "samsung-850-pro-1tb@workstation-x570:sata";
    const DISK: &str = "seagate-barracuda-1tb@workstation-x570:sata";

    #[test]
    fn systems_are_ranked_with_ratios_and_chances() {
        let ranking = rank(&[DISK, FAST, SLOW]);
        let names: Vec<&str> = ranking.systems.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, [FAST, SLOW, DISK]);
        let ranks: Vec<usize> = ranking.systems.iter().map(|one| one.rank).collect();
        assert_eq!(ranks, [1, 2, 3]);
        let [first, second, last] = ranking.systems.as_slice() else { panic!() };
        let ratio = first.to_next.unwrap();
        let rate = |system: &RankedSystem| system.results[0].throughput_bytes_per_second.value;
        assert!((ratio.ratio() / (rate(first) / rate(second)) - 1.0).abs() < 1e-9, "{ratio:?}");
        assert_eq!(first.rate, first.results[0].iops.value.ln().exp());
        assert_eq!(ratio.verdict(), RatioVerdict::Higher);
        assert_eq!((last.to_next, last.first_chance), (None, 0.0));
        let chances: f64 = ranking.systems.iter().map(|one| one.first_chance).sum();
        assert!((chances - 1.0).abs() < 1e-9 && first.first_chance > 0.8, "{ranking:?}");
    }

    #[test]
    fn equal_systems_share_a_rank_and_the_chance() {
        let ranking = rank(&[SLOW, DISK, SLOW]);
        let ranks: Vec<usize> = ranking.systems.iter().map(|one| one.rank).collect();
        assert_eq!(ranks, [1, 1, 3]);
        assert_eq!(ranking.systems[0].to_next, Some(RatioEstimate::Identical));
    }

    #[test]
    fn a_cancelled_ranking_is_empty() {
        let lab = Lab { cancel: CancelFlag::default(), ..Lab::default() };
        lab.cancel.cancel();
        let library = Library::built_in();
        let systems = [DrawnSystem { library: &library, name: SLOW, settings: &[], ranges: &[] }];
        assert_eq!(lab.rank(&systems, &workload(), false, 1, &mut |_| {}).unwrap(), None);
    }
}

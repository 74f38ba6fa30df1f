//! The figures of each test of a what-if, and whether a measurement contradicts the model of the current system.

use lanemark_schema::result::{
    ChangeKind, Contradiction, ContradictionCause, PathSection, PathUse, PredictionInterval,
    RatioEstimate, RequestGroup, RunResult, SIDES_80, Target, TestResult, WhatIfFigures,
    WhatIfTest, changed_share, changes, omitted_factor,
};
use lanemark_study::System;
use lanemark_study::path::is_random;

use super::deviation::{CarriedDeviation, MeasuredDeviation, carried_deviation};
use crate::interval::{
    self, IntervalDraws, carried_share, host_share, is_same_system, may_be_drawn,
};

/// The share of the stated outstanding requests below which a measurement did not have the stated depth.
const OUTSTANDING_MIN: f64 = 0.7;

/// Everything that is known about the tests of two systems.
pub(super) struct Evidence<'e> {
    systems: [&'e System; 2],
    runs: [&'e RunResult; 2],
    measured: Option<&'e RunResult>,
    draws: Option<&'e IntervalDraws>,
    /// The deviation of each test from its measurement.
    seen: Vec<Option<MeasuredDeviation<'e>>>,
}

impl<'e> Evidence<'e> {
    /// Creates the evidence of two simulated `runs` with equal tests. The first run may have been `measured`.
    pub(super) fn new(
        systems: [&'e System; 2],
        runs: [&'e RunResult; 2],
        measured: Option<&'e RunResult>,
        draws: Option<&'e IntervalDraws>,
    ) -> Self {
        let tests = runs[0].tests.iter();
        let seen = tests.map(|test| {
            measured_deviation(test, measured.and_then(|run| run.test(&test.test.name)))
        });
        Self { systems, runs, measured, draws, seen: seen.collect() }
    }

    fn pair(&self, place: usize) -> [&'e TestResult; 2] {
        self.runs.map(|run| &run.tests[place])
    }

    fn measured(&self, place: usize) -> Option<&'e TestResult> {
        self.measured.and_then(|run| run.test(&self.pair(place)[0].test.name))
    }

    fn changes(&self, place: usize) -> Vec<ChangeKind> {
        changes(
            self.systems.map(|system| &system.target),
            self.pair(place).map(|result| &result.test),
        )
    }

    fn is_identical(&self, place: usize) -> bool {
        let [one, two] = self.pair(place);
        is_same_system(self.systems[0], self.systems[1]) && one.test == two.test
    }

    fn draws(&self, place: usize) -> Option<&'e IntervalDraws> {
        self.draws.filter(|_| may_be_drawn(&self.runs[0].workload, self.pair(place)[0]))
    }

    /// Returns the figures of test `place` on both systems, and their ratio.
    pub(super) fn test(&self, place: usize) -> WhatIfTest {
        let [one, two] = self.pair(place);
        let mut other = WhatIfFigures::from_result(two);
        let sample = two.samples.first();
        other.assumed = sample.and_then(|sample| self.systems[1].assumed_limit(&two.test, sample));
        let carried = self.carried(place, other.limit);
        let mut test = WhatIfTest {
            test: one.test.name.clone(),
            random: is_random(&one.test),
            measured: self.measured(place).map(WhatIfFigures::from_result),
            present: WhatIfFigures::from_result(one),
            other,
            interval: None,
            change: RatioEstimate::Identical,
            carried: carried.map(|carried| carried.log.exp()),
            shortened_to: None,
        };
        test.interval = self.interval(place, &test, carried);
        if !self.is_identical(place) {
            test.change = self.change(place, &test);
        }
        test
    }

    /// Returns the part of the measured deviation that applies to the other system, whose limit is `limit`.
    fn carried(&self, place: usize, limit: Option<PathSection>) -> Option<CarriedDeviation> {
        // The deviation of the same system is the measurement itself, not a mean over similar tests.
        if self.is_identical(place) {
            let own = self.seen[place].as_ref();
            return own.map(|own| CarriedDeviation { log: own.log, chance: None });
        }
        let share = carried_share(&self.changes(place), host_share_of(self.pair(place)[0]));
        carried_deviation(&self.seen, place, limit).and_then(|all| all.part(share))
    }

    /// Returns the factor for the effects that the model omits in the ratio of both systems.
    fn omitted(&self, place: usize) -> f64 {
        let group = RequestGroup::of(self.pair(place).map(|result| &result.test));
        omitted_factor(&self.changes(place), group, changed_share(self.pair(place).map(path)))
    }

    /// Returns the interval of the expected throughput on the other system.
    fn interval(
        &self,
        place: usize,
        test: &WhatIfTest,
        carried: Option<CarriedDeviation>,
    ) -> Option<PredictionInterval> {
        let draws = self.draws(place)?;
        let Some(carried) = carried else { return draws.interval(1, place) };
        let chance = (SIDES_80 * carried.chance.unwrap_or_default()).exp();
        let omitted = self.omitted(place).ln().hypot(chance.ln()).exp();
        let is_whole = self.is_identical(place) || carried_share(&self.changes(place), 0.0) == 1.0;
        let interval = if !is_whole {
            // A part of the deviation is known, so the other part has its own spread.
            draws.interval(1, place).map(|own| widened(own, chance))
        } else if test.limit_stays() {
            draws.paired_interval(place, omitted)
        } else {
            draws.interval_with(place, omitted)
        };
        let above = interval::formula_margin(&self.systems[1].spec) * chance;
        interval.map(|interval| capped(interval, test, above))
    }

    /// Returns the change from the current to the other system, with the interval of the ratio.
    fn change(&self, place: usize, test: &WhatIfTest) -> RatioEstimate {
        let ratio = test.expected() / test.present_bytes_per_second();
        if test.measured.is_none() {
            let rates = |side| self.draws(place).and_then(|draws| draws.rates(side, place));
            return match (rates(0), rates(1)) {
                (Some(one), Some(two)) => one.ratio_to(&two, ratio, self.omitted(place)),
                _ => RatioEstimate::Uncertain { ratio, interval_80: None },
            };
        }
        // A measured figure is fixed, so only the other system's figure is uncertain.
        let ends = |interval: &PredictionInterval| {
            (ratio * interval.low_ratio, ratio * interval.high_ratio)
        };
        RatioEstimate::Uncertain { ratio, interval_80: test.interval.as_ref().map(ends) }
    }

    /// Returns the contradiction between the measurement of test `place` and the model of the current system, if the
    /// measured rate is outside the interval of the modelled rate by more than its own interval.
    pub(super) fn contradiction(&self, place: usize) -> Option<Contradiction> {
        let result = self.pair(place)[0];
        let measured = self.measured(place)?;
        let seen = self.seen[place].as_ref()?;
        let interval = self.draws(place)?.interval(0, place)?;
        let own = measured.throughput_bytes_per_second.spread();
        let beyond = if seen.log > 0.0 {
            seen.log - interval.high_ratio.ln()
        } else {
            interval.low_ratio.ln() - seen.log
        };
        let figures = WhatIfFigures::from_result(result);
        (beyond > own).then(|| Contradiction {
            test: result.test.name.clone(),
            random: is_random(&result.test),
            cause: cause(self.measured, measured, result, &figures),
            measured: WhatIfFigures::from_result(measured),
            present: figures,
            interval,
        })
    }
}

/// Returns what probably differs between a measurement and the model of its system.
fn cause(
    run: Option<&RunResult>,
    measured: &TestResult,
    modelled: &TestResult,
    figures: &WhatIfFigures,
) -> ContradictionCause {
    let [rate, model] = [measured, modelled].map(|result| result.throughput_bytes_per_second.value);
    let stated = measured
        .test
        .requests()
        .map(|requests| u64::from(requests.queue_depth) * u64::from(measured.test.threads));
    // Little's law: the mean number of outstanding requests is the rate times the mean latency.
    let mean = measured.iops.value * measured.latency_mean_ns.value * 1e-9;
    if let Some(stated) = stated.filter(|_| measured.test.is_closed() && rate < model)
        && mean > 0.0
        && mean < OUTSTANDING_MIN * stated as f64
    {
        return ContradictionCause::Outstanding { mean, stated };
    }
    let is_buffered = run.is_some_and(|run| match &run.target {
        Target::Measured(target) => target.direct == Some(false),
        Target::Simulated(_) | Target::Database(_) => false,
    });
    if is_buffered {
        return ContradictionCause::PageCache;
    }
    if figures.links_bytes_per_second.is_some_and(|links| rate > links) {
        return ContradictionCause::AboveLinks;
    }
    figures.limit.map_or(ContradictionCause::Unknown, ContradictionCause::Section)
}

/// Returns a test of the current system together with its measurement.
fn measured_deviation<'t>(
    test_result: &'t TestResult,
    measured: Option<&TestResult>,
) -> Option<MeasuredDeviation<'t>> {
    let measured = measured?.throughput_bytes_per_second.value;
    let log = (measured / test_result.throughput_bytes_per_second.value).ln();
    let limit = WhatIfFigures::from_result(test_result).limit;
    log.is_finite().then_some(MeasuredDeviation { test: &test_result.test, limit, log })
}

fn path(result: &TestResult) -> Option<&PathUse> {
    result.samples.first().and_then(|sample| sample.path.as_ref())
}

/// Returns the share of a request's time for which the host works on it.
fn host_share_of(result: &TestResult) -> f64 {
    path(result).map_or(0.0, host_share)
}

/// Returns an interval to which an independent error up to `factor` is added.
fn widened(interval: PredictionInterval, factor: f64) -> PredictionInterval {
    let low_ratio = (-interval.low_ratio.ln().hypot(factor.ln())).exp();
    let high_ratio = interval.high_ratio.ln().hypot(factor.ln()).exp();
    PredictionInterval { low_ratio, high_ratio, ..interval }
}

/// Returns the interval of a measured figure on a different path, limited to `above` times the throughput of that
/// path's links.
fn capped(interval: PredictionInterval, test: &WhatIfTest, above: f64) -> PredictionInterval {
    let carried = test.other.links_bytes_per_second.unwrap_or(f64::INFINITY);
    let most = (above * carried / test.expected()).max(1.0);
    PredictionInterval { high_ratio: interval.high_ratio.min(most), ..interval }
}

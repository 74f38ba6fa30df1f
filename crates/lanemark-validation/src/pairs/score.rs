//! The scores of predicted ratios by kind of change.

use std::collections::BTreeMap;

use lanemark_schema::result::RatioVerdict;
use lanemark_schema::result::{ChangeKind, RequestGroup};
use lanemark_schema::rng::{Rng, StreamKey};

use super::MeasuredPair;
use crate::corpus::CorpusSet;
use crate::score::{median_and_mean, percent, weighted};

/// Logarithm of the ratio up to which two predictions count as equal.
const TIE: f64 = 0.01;
/// The seed of the omitted effects of synthetic truths.
const SYNTHETIC_SEED: u64 = 53;
/// The smallest measured ratio whose direction is judged.
const JUDGED: f64 = 1.10;
/// The smallest measured ratio for which a claim is expected.
const LARGE: f64 = 1.25;

/// The score of a kind of change in a set of the corpus.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRow {
    pub set: CorpusSet,
    pub kind: ChangeKind,
    /// The kind of requests; `None` for all requests.
    pub group: Option<RequestGroup>,
    pub score: PairScore,
    /// The order of the drives, for the kind [`ChangeKind::Drive`].
    pub rank: Option<RankScore>,
    /// Predictions from a measurement of the other system; `None` if only the requests differ.
    pub carried: Option<CarriedScore>,
    /// The learned factor for omitted effects, for each kind of requests of the training set.
    pub omitted: Option<f64>,
}

/// The errors of predicted ratios. Percentages refer to the pairs of the row, if nothing else is stated. In factors and
/// in the coverage, each drive, or each publication for pairs of different drives, has the same weight.
#[derive(Clone, Debug, PartialEq)]
pub struct PairScore {
    pub pairs: usize,
    /// Number of drives, or of publications.
    pub units: usize,
    /// Pairs that differ by 10% or more.
    pub judged: usize,
    /// Share of the judged pairs whose direction is right; equal predictions count as wrong.
    pub right_percent: f64,
    /// This share for the rule of thumb.
    pub rule_right_percent: f64,
    /// Geometric mean of the factors between predicted and measured ratio; each factor is 1 or more.
    pub factor: f64,
    /// Median of these factors.
    pub median_factor: f64,
    /// Geometric mean of the factors of the rule of thumb.
    pub rule_factor: f64,
    /// Geometric mean of the factors if every ratio is predicted as 1.
    pub equal_factor: f64,
    /// Share of the pairs whose measured ratio is in the 80% interval.
    pub coverage_percent: Option<f64>,
    /// Median width of the intervals: the upper bound divided by the lower bound.
    pub width: Option<f64>,
    /// Share of the true ratios in the 80% interval, if the ranges of the model determine the truth.
    pub synthetic_percent: Option<f64>,
    /// Pairs for which the interval claims that one figure is higher.
    pub claims: usize,
    /// Share of the claims whose direction is right.
    pub claims_right_percent: Option<f64>,
    /// Pairs that differ by more than 25%.
    pub large: usize,
    /// Share of these pairs for which there is a claim.
    pub large_claimed_percent: Option<f64>,
}

/// The order of two drives in one machine and test.
#[derive(Clone, Debug, PartialEq)]
pub struct RankScore {
    /// Share of the pairs in the measured order.
    pub right_percent: f64,
    /// Share of the pairs in the opposite order; the other predictions are equal.
    pub wrong_percent: f64,
    /// These shares for the rule of thumb.
    pub rule_right_percent: f64,
    pub rule_wrong_percent: f64,
}

/// Predictions of one system from a measurement of the other system. Each pair results in two predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedScore {
    /// Median of the factors between prediction and measurement.
    pub median_factor: f64,
    /// Share of the measurements in the 80% interval.
    pub coverage_percent: f64,
}

impl PairScore {
    /// Returns the score of `pairs`.
    pub fn from_pairs(pairs: &[&MeasuredPair<'_>]) -> Self {
        let mut units: BTreeMap<&str, f64> = BTreeMap::new();
        for pair in pairs {
            *units.entry(pair.unit()).or_insert(0.0) += pair.weight;
        }
        let weight = |pair: &MeasuredPair<'_>| pair.weight / units[pair.unit()];
        let factors = |of: fn(&MeasuredPair<'_>) -> f64| {
            let error = |pair: &&MeasuredPair<'_>| (of(pair) - pair.measured()).abs();
            let (median, mean) =
                weighted(pairs.iter().map(|pair| (error(pair), weight(pair))).collect());
            (median.exp(), mean.exp())
        };
        let (median_factor, factor) = factors(|pair| pair.predicted());
        let judged: Vec<&&MeasuredPair<'_>> =
            pairs.iter().filter(|pair| pair.measured().abs() >= JUDGED.ln()).collect();
        let right = |of: fn(&MeasuredPair<'_>) -> f64| {
            let right =
                judged.iter().filter(|pair| order(of(pair), pair.measured()) == Order::Right);
            percent(right.count(), judged.len())
        };
        let estimates: Vec<_> =
            pairs.iter().map(|pair| (pair.estimate(), pair.measured())).collect();
        let intervals: Vec<((f64, f64), &MeasuredPair<'_>)> =
            pairs.iter().filter_map(|pair| Some((pair.estimate().interval_80()?, *pair))).collect();
        let covered = intervals.iter().map(|((low, high), pair)| {
            let ratio = pair.measured().exp();
            (f64::from(u8::from(*low <= ratio && ratio <= *high)), weight(pair))
        });
        let coverage = weighted(covered.collect()).1;
        let widths: Vec<f64> = intervals.iter().map(|((low, high), _)| high / low).collect();
        let is_claim =
            |verdict: RatioVerdict| matches!(verdict, RatioVerdict::Higher | RatioVerdict::Lower);
        let claims: Vec<bool> = estimates
            .iter()
            .filter(|(estimate, _)| is_claim(estimate.verdict()))
            .map(|(estimate, measured)| {
                (estimate.verdict() == RatioVerdict::Higher) == (*measured > 0.0)
            })
            .collect();
        let claims_right = claims.iter().filter(|right| **right).count();
        let large: Vec<bool> = estimates
            .iter()
            .filter(|(_, measured)| measured.abs() > LARGE.ln())
            .map(|(estimate, _)| is_claim(estimate.verdict()))
            .collect();
        let large_claimed = large.iter().filter(|claimed| **claimed).count();
        let mut rng = Rng::new(StreamKey::from_seed(SYNTHETIC_SEED));
        let synthetic = pairs.iter().map(|pair| pair.synthetic_coverage(&mut rng));
        let synthetic = synthetic.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let share = |count, all| (all > 0).then(|| percent(count, all));
        Self {
            pairs: pairs.len(),
            units: units.len(),
            judged: judged.len(),
            right_percent: right(|pair| pair.predicted()),
            rule_right_percent: right(|pair| pair.rule()),
            factor,
            median_factor,
            rule_factor: factors(|pair| pair.rule()).1,
            equal_factor: factors(|_| 0.0).1,
            coverage_percent: (!intervals.is_empty()).then_some(100.0 * coverage),
            width: (!widths.is_empty()).then(|| median_and_mean(widths).0),
            synthetic_percent: share(synthetic.0, synthetic.1),
            claims: claims.len(),
            claims_right_percent: share(claims_right, claims.len()),
            large: large.len(),
            large_claimed_percent: share(large_claimed, large.len()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Right,
    Wrong,
    Tied,
}

/// Compares the direction of a predicted ratio with the measured ratio, both as logarithms.
fn order(predicted: f64, measured: f64) -> Order {
    if predicted.abs() < TIE {
        Order::Tied
    } else if predicted * measured > 0.0 {
        Order::Right
    } else {
        Order::Wrong
    }
}

impl RankScore {
    /// Returns the shares of drives in the right and in the wrong order.
    pub fn from_pairs(pairs: &[&MeasuredPair<'_>]) -> Self {
        let share = |of: fn(&MeasuredPair<'_>) -> f64, wanted: Order| {
            let found = pairs.iter().filter(|pair| order(of(pair), pair.measured()) == wanted);
            percent(found.count(), pairs.len())
        };
        Self {
            right_percent: share(|pair| pair.predicted(), Order::Right),
            wrong_percent: share(|pair| pair.predicted(), Order::Wrong),
            rule_right_percent: share(|pair| pair.rule(), Order::Right),
            rule_wrong_percent: share(|pair| pair.rule(), Order::Wrong),
        }
    }
}

impl CarriedScore {
    /// Returns the score of each figure predicted from the other; `None` without intervals.
    pub fn from_pairs(pairs: &[&MeasuredPair<'_>]) -> Option<Self> {
        let both = pairs.iter().flat_map(|pair| [**pair, pair.reversed()]);
        let cases: Vec<(f64, bool)> = both
            .filter_map(|pair| {
                let (log, (low, high)) = pair.carried()?;
                let truth = pair.two.measured();
                Some(((log - truth).abs(), low <= truth && truth <= high))
            })
            .collect();
        let covered = cases.iter().filter(|(_, covered)| *covered).count();
        (!cases.is_empty()).then(|| Self {
            median_factor: median_and_mean(cases.iter().map(|(error, _)| *error).collect()).0.exp(),
            coverage_percent: percent(covered, cases.len()),
        })
    }
}

impl PairRow {
    /// Returns the scores of a set by kind, and by kind and requests.
    pub fn of_set(
        set: CorpusSet,
        pairs: &[MeasuredPair<'_>],
        omitted: &[(ChangeKind, RequestGroup, f64)],
    ) -> Vec<Self> {
        let groups = || [None].into_iter().chain(RequestGroup::ALL.map(Some));
        let cells = ChangeKind::ALL.into_iter().flat_map(|kind| groups().map(move |of| (kind, of)));
        let row = |(kind, group): (ChangeKind, Option<RequestGroup>)| {
            let is_of = |pair: &&MeasuredPair<'_>| {
                pair.kind == kind && group.is_none_or(|group| pair.group == group)
            };
            let of_row: Vec<&MeasuredPair<'_>> = pairs.iter().filter(is_of).collect();
            let learned = omitted.iter().find(|(of, requests, _)| {
                set == CorpusSet::Training && *of == kind && Some(*requests) == group
            });
            let is_of_systems = !kind.is_of_requests();
            Self {
                set,
                kind,
                group,
                score: PairScore::from_pairs(&of_row),
                rank: (kind == ChangeKind::Drive).then(|| RankScore::from_pairs(&of_row)),
                carried: CarriedScore::from_pairs(&of_row).filter(|_| is_of_systems),
                omitted: learned.map(|(.., factor)| *factor),
            }
        };
        cells.map(row).filter(|row| row.score.pairs > 0 || row.omitted.is_some()).collect()
    }
}

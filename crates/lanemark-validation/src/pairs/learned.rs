//! The factors for the effects that the model omits in a ratio, learned from the training pairs.
//!
//! A pair needs the factor with which its interval just contains the measured ratio: the squares of the spread of the
//! draws and of the factor's logarithm add up to the square of the error. Pairs of one drive share most of the omitted
//! effects, so each drive has the same weight, however many pairs it forms. The pairs of different drives form the
//! unit of their publication instead. The factor of a kind is the value that suffices for 80% of its units and of one
//! further unit, and not below [`LEAST`]. A kind with fewer than [`UNITS_MIN`] units has the factor of all pairs that
//! keep the drive and have the same group of requests. If these have fewer units too, no further unit is counted: 80%
//! of five units and a sixth are all five, and the largest of a few errors is not a percentile.

use std::collections::BTreeMap;

use lanemark_schema::result::{ChangeKind, LEAST, RequestGroup};

use super::MeasuredPair;

/// The number of drives or publications from which a kind has its own factor.
pub const UNITS_MIN: usize = 8;

/// The factor that a pair needs.
struct NeededFactor<'p> {
    /// The drive, or the publication.
    unit: &'p str,
    log: f64,
    weight: f64,
}

/// Returns the factor of each kind and group that occur in the training pairs or have a pooled factor.
pub fn learned_factors(training: &[MeasuredPair<'_>]) -> Vec<(ChangeKind, RequestGroup, f64)> {
    let kinds = ChangeKind::ALL.into_iter();
    let cells = kinds.flat_map(|kind| RequestGroup::ALL.map(|group| (kind, group)));
    cells
        .filter_map(|(kind, group)| Some((kind, group, learned_factor(training, kind, group)?)))
        .collect()
}

fn learned_factor(
    training: &[MeasuredPair<'_>],
    kind: ChangeKind,
    group: RequestGroup,
) -> Option<f64> {
    let of_group = || training.iter().filter(move |pair| pair.group == group);
    let own: Vec<NeededFactor<'_>> =
        of_group().filter(|pair| pair.kind == kind).filter_map(needed).collect();
    if units(&own).len() >= UNITS_MIN {
        return sufficient(own).map(|log| log.exp().max(LEAST));
    }
    let pooled = of_group().filter(|pair| pair.kind != ChangeKind::Drive).filter_map(needed);
    sufficient(pooled.collect()).map(|log| log.exp().max(LEAST))
}

fn needed<'p>(pair: &'p MeasuredPair<'_>) -> Option<NeededFactor<'p>> {
    let (low, high) = pair.estimate_with(1.0).interval_80()?;
    let error = pair.measured() - pair.predicted();
    let end = if error > 0.0 { high } else { low };
    let spread = end.ln() - pair.predicted();
    let log = (error * error - spread * spread).max(0.0).sqrt();
    Some(NeededFactor { unit: pair.unit(), log, weight: pair.weight })
}

/// Returns the weight of each unit.
fn units<'p>(factors: &[NeededFactor<'p>]) -> BTreeMap<&'p str, f64> {
    let mut units = BTreeMap::new();
    for factor in factors {
        *units.entry(factor.unit).or_insert(0.0) += factor.weight;
    }
    units
}

/// Returns the smallest logarithm that suffices for 80% of the units, and of one further unit if there are enough.
fn sufficient(mut factors: Vec<NeededFactor<'_>>) -> Option<f64> {
    factors.sort_by(|one, two| one.log.total_cmp(&two.log));
    let units = units(&factors);
    let counted = if units.len() < UNITS_MIN { units.len() } else { units.len() + 1 };
    let wanted = 0.8 * counted as f64;
    let mut sum = 0.0;
    for factor in &factors {
        sum += factor.weight / units[factor.unit];
        if sum >= wanted - 1e-9 {
            return Some(factor.log);
        }
    }
    factors.last().map(|factor| factor.log)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(unit: &str, log: f64) -> NeededFactor<'_> {
        NeededFactor { unit, log, weight: 1.0 }
    }

    #[test]
    fn a_factor_suffices_for_units_instead_of_pairs() {
        let names: Vec<String> = (0..9).map(|number| number.to_string()).collect();
        let each = || names.iter().zip(1..).map(|(name, log)| needs(name, f64::from(log)));
        // Eight of nine units and a further one are 80% of ten.
        assert_eq!(sufficient(each().collect()), Some(8.0));
        // Ninety pairs of one unit count as much as one pair of another.
        let many = each().chain((0..90).map(|_| needs("0", 1.0)));
        assert_eq!(sufficient(many.collect()), Some(8.0));
        // Of seven units, six are 80%.
        assert_eq!(sufficient(each().take(7).collect()), Some(6.0));
        assert_eq!(sufficient(Vec::new()), None);
    }
}

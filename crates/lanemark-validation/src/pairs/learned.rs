//! The factors for the effects that the model omits in a ratio, learned from the training pairs.
//!
//! A pair needs the factor with which its interval just contains the measured ratio: the squares of the spread of the
//! draws and of the factor's logarithm add up to the square of the error. The factor of a kind is the value that
//! suffices for 80% of its pairs, but at least [`LEAST`]. A kind with fewer than [`LEARNED_MIN`] independent ratios has
//! the factor of all pairs that keep the drive and have the same group of requests.

use lanemark_schema::result::{ChangeKind, LEAST, RequestGroup};

use super::MeasuredPair;

/// The number of independent ratios from which a kind has its own factor.
pub const LEARNED_MIN: f64 = 20.0;

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
    let own: Vec<(f64, f64)> =
        of_group().filter(|pair| pair.kind == kind).filter_map(needed).collect();
    let weight: f64 = own.iter().map(|(_, weight)| weight).sum();
    if weight >= LEARNED_MIN {
        return weighted_quantile(own).map(|log| log.exp().max(LEAST));
    }
    let pooled = of_group().filter(|pair| pair.kind != ChangeKind::Drive).filter_map(needed);
    weighted_quantile(pooled.collect()).map(|log| log.exp().max(LEAST))
}

/// Returns the logarithm of the factor that a pair needs, and its weight.
fn needed(pair: &MeasuredPair<'_>) -> Option<(f64, f64)> {
    let (low, high) = pair.estimate_with(1.0).interval_80()?;
    let error = pair.measured() - pair.predicted();
    let end = if error > 0.0 { high } else { low };
    let spread = end.ln() - pair.predicted();
    Some(((error * error - spread * spread).max(0.0).sqrt(), pair.weight))
}

/// Returns the smallest value up to which the values have 80% of the weight.
fn weighted_quantile(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_by(|one, two| one.0.total_cmp(&two.0));
    let wanted = 0.8 * values.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    for (value, weight) in values {
        sum += weight;
        if sum >= wanted {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_counts_weights_instead_of_values() {
        let equal: Vec<(f64, f64)> = (1..=10).map(|value| (f64::from(value), 0.5)).collect();
        assert_eq!(weighted_quantile(equal), Some(8.0));
        // Ninety pairs of one group count as much as ten others.
        let mut values = vec![(1.0, 0.1); 90];
        values.extend((0..9).map(|value| (f64::from(value) + 2.0, 1.0)));
        assert_eq!(weighted_quantile(values), Some(7.0));
        assert_eq!(weighted_quantile(Vec::new()), None);
    }
}

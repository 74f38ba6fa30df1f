//! The summary of draws: the interval of a prediction, and the value that contributes most to its width.

use lanemark_schema::result::{MainUncertainty, PredictionInterval, interval_80};

use super::unmodelled::UnmodelledFactors;

/// Returns the interval of the drawn results relative to the middle, widened by the factors for unmodelled effects.
/// Each result is paired with its deviations.
pub(super) fn summary(
    drawn: &[(f64, &Vec<f64>)],
    parameters: &[String],
    left_out: UnmodelledFactors,
) -> PredictionInterval {
    let logs: Vec<f64> = drawn.iter().map(|(ratio, _)| libm::log(*ratio)).collect();
    let count = logs.len().max(1) as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / count;
    let share = |column: usize| {
        let covariance: f64 =
            drawn.iter().zip(&logs).map(|((_, row), log)| row[column] * (log - mean)).sum::<f64>()
                / count;
        let own: f64 = drawn.iter().map(|(_, row)| row[column].powi(2)).sum::<f64>() / count;
        covariance.powi(2) / (own * variance).max(1e-30)
    };
    let widest = (variance > 1e-6)
        .then(|| (0..parameters.len()).rev().map(|column| (column, share(column))))
        .and_then(|shares| shares.max_by(|one, two| one.1.total_cmp(&two.1)))
        .map(|(column, share)| MainUncertainty {
            parameter: parameters[column].clone(),
            share: share.min(1.0),
        });
    let (low_ratio, high_ratio) = interval_80(logs, [left_out.low, left_out.high]);
    PredictionInterval { low_ratio, high_ratio, widest, percentiles: Vec::new() }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::SIDES_80;
    use lanemark_schema::rng::{Rng, StreamKey};

    use super::*;

    const DRAWS: usize = 32;

    /// A predicted rate that depends on two uncertain values and on unmodelled effects.
    struct SyntheticRate {
        rng: Rng,
        /// The deviation of the rate's logarithm that each value and the unmodelled effects cause.
        spread: [f64; 3],
    }

    impl SyntheticRate {
        fn draws(&mut self, count: usize) -> Vec<(f64, Vec<f64>)> {
            let mut drawn: Vec<(f64, Vec<f64>)> = Vec::with_capacity(count);
            for draw in 0..count {
                // Every second draw negates the previous draw.
                let row = match drawn.last() {
                    Some((_, before)) if draw % 2 == 1 => before.iter().map(|one| -one).collect(),
                    _ => vec![self.rng.normal(), self.rng.normal()],
                };
                let log = self.spread[0] * row[0] + self.spread[1] * row[1];
                drawn.push((libm::exp(log), row));
            }
            drawn
        }

        fn truth(&mut self) -> f64 {
            let logs = self.spread.map(|spread| spread * self.rng.normal());
            libm::exp(logs.iter().sum::<f64>())
        }
    }

    fn parameters() -> [String; 2] {
        ["drive.flash.read", "drive.front_end.read_time"].map(str::to_owned)
    }

    /// Returns the shares of true values that are below and above their 80% intervals.
    fn missed(count: usize, spread: [f64; 3]) -> [f64; 2] {
        const TRIALS: u32 = 6000;
        let mut world = SyntheticRate { rng: Rng::new(StreamKey::from_seed(count as u64)), spread };
        let left_out = UnmodelledFactors::on_either_side(libm::exp(SIDES_80 * spread[2]));
        let parameters = parameters();
        let mut missed = [0, 0];
        for _ in 0..TRIALS {
            let drawn = world.draws(count);
            let drawn: Vec<(f64, &Vec<f64>)> =
                drawn.iter().map(|(rate, row)| (*rate, row)).collect();
            let interval = summary(&drawn, &parameters, left_out);
            let truth = world.truth();
            missed[0] += u32::from(truth < interval.low_ratio);
            missed[1] += u32::from(truth > interval.high_ratio);
        }
        missed.map(|missed| f64::from(missed) / f64::from(TRIALS))
    }

    #[test]
    fn intervals_of_predictions_hold_eight_of_ten_truths() {
        // The cases are only uncertain values, only unmodelled effects, and both; each with all draws and with half of
        // the draws.
        for count in [DRAWS, DRAWS / 2] {
            for spread in [[0.3, 0.1, 0.0], [0.0, 0.0, 0.2], [0.1, 0.1, 0.15]] {
                let [below, above] = missed(count, spread);
                let held = 1.0 - below - above;
                // With sixteen draws, the bounds of the interval are between the first two of eight pairs, so the
                // interval covers slightly more.
                let most = if count == DRAWS { 0.83 } else { 0.85 };
                assert!((0.775..=most).contains(&held), "{count} draws, {spread:?}: {held}");
                for end in [below, above] {
                    assert!((0.07..=0.12).contains(&end), "{count} draws, {spread:?}: {end}");
                }
            }
        }
    }

    #[test]
    fn the_widest_value_has_the_largest_share_of_the_spread() {
        let mut world =
            SyntheticRate { rng: Rng::new(StreamKey::from_seed(1)), spread: [0.1, 0.3, 0.0] };
        let drawn = world.draws(2000);
        let drawn: Vec<(f64, &Vec<f64>)> = drawn.iter().map(|(rate, row)| (*rate, row)).collect();
        let widest =
            summary(&drawn, &parameters(), UnmodelledFactors::on_either_side(1.1)).widest.unwrap();
        assert_eq!(widest.parameter, "drive.front_end.read_time");
        // The expected share is the share of 0.3^2 in 0.1^2 + 0.3^2.
        assert!((widest.share - 0.9).abs() < 0.02, "{}", widest.share);
        // The rows do not differ.
        let row = vec![1.0, 1.0];
        let same = [(1.0, &row), (1.0, &row)];
        assert_eq!(
            summary(&same, &parameters(), UnmodelledFactors::on_either_side(1.1)).widest,
            None
        );
    }

    #[test]
    fn unmodelled_effects_widen_each_end_by_its_own_factor() {
        let row = vec![0.0, 0.0];
        let same = [(1.0, &row), (1.0, &row)];
        let interval = summary(&same, &parameters(), UnmodelledFactors { low: 0.5, high: 1.25 });
        assert!((interval.low_ratio - 0.5).abs() < 1e-12);
        assert!((interval.high_ratio - 1.25).abs() < 1e-12);
        // An interval contains the prediction itself, regardless of the draws.
        let faster = [(1.2, &row), (1.3, &row)];
        let interval = summary(&faster, &parameters(), UnmodelledFactors::on_either_side(1.0));
        assert_eq!(interval.low_ratio, 1.0);
        let slower = [(0.7, &row), (0.8, &row)];
        let interval = summary(&slower, &parameters(), UnmodelledFactors::on_either_side(1.0));
        assert_eq!(interval.high_ratio, 1.0);
    }
}

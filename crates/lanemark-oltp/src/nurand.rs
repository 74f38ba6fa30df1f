//! Non-uniform random numbers (TPC-C 5.11, clause 2.1.6).

use lanemark_schema::rng::{Rng, StreamKey};

use crate::text::between;

/// Number of the random stream from which the constants are drawn.
const STREAM: u32 = 200;

/// Draws `NURand(A, x, y)`: `(((random(0, A) | random(x, y)) + C) % (y - x + 1)) + x`.
pub fn nurand(rng: &mut Rng, a: i64, c: i64, x: i64, y: i64) -> i64 {
    (((between(rng, 0, a) | between(rng, x, y)) + c) % (y - x + 1)) + x
}

/// The constants C of a loaded database and of the runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NurandConstants {
    /// Constant for last names while loading.
    pub last_load: i64,
    /// Constant for last names while running; its distance from `last_load` satisfies clause 2.1.6.1.
    pub last_run: i64,
    pub customer: i64,
    pub item: i64,
}

impl NurandConstants {
    /// Returns the constants for the contents that are generated from `seed`.
    pub fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(StreamKey { test: STREAM, ..StreamKey::from_seed(seed) });
        let last_load = between(&mut rng, 0, 255);
        let is_allowed_constant = |last: i64| {
            let delta = (last - last_load).abs();
            (65..=119).contains(&delta) && delta != 96 && delta != 112
        };
        // There is always a value from 0 to 255 at a distance from 65 to 119.
        let last_run = loop {
            let last = between(&mut rng, 0, 255);
            if is_allowed_constant(last) {
                break last;
            }
        };
        let customer = between(&mut rng, 0, 1_023);
        Self { last_load, last_run, customer, item: between(&mut rng, 0, 8_191) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_keep_the_distance_of_the_specification() {
        for seed in 0..2_000 {
            let constants = NurandConstants::from_seed(seed);
            let delta = (constants.last_run - constants.last_load).abs();
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{constants:?}");
            assert_eq!(constants, NurandConstants::from_seed(seed));
        }
    }

    /// Returns the exact distribution, which is computed by counting every pair of random numbers in the definition.
    fn expected(a: i64, c: i64, x: i64, y: i64) -> Vec<f64> {
        let mut counts = vec![0.0; (y + 1) as usize];
        for left in 0..=a {
            for right in x..=y {
                counts[((((left | right) + c) % (y - x + 1)) + x) as usize] += 1.0;
            }
        }
        let pairs = ((a + 1) * (y - x + 1)) as f64;
        counts.iter().map(|count| count / pairs).collect()
    }

    #[test]
    fn draws_follow_the_definition() {
        for (a, c, x, y) in [(255, 173, 0, 999), (1_023, 259, 1, 3_000)] {
            let mut rng = Rng::new(StreamKey::from_seed(5));
            let draws = 1_000_000.0;
            let law = expected(a, c, x, y);
            let mut counts = vec![0.0; law.len()];
            for _ in 0..1_000_000 {
                counts[nurand(&mut rng, a, c, x, y) as usize] += 1.0;
            }
            let cells = law.iter().filter(|&&share| share > 0.0).count() as f64;
            let chi: f64 = law
                .iter()
                .zip(&counts)
                .filter(|(share, _)| **share > 0.0)
                .map(|(share, counts)| (counts - share * draws).powi(2) / (share * draws))
                .sum();
            // The mean of chi squared is the number of cells minus one, and its standard deviation is the square root
            // of twice the mean.
            let bound = cells - 1.0 + 4.0 * (2.0 * (cells - 1.0)).sqrt();
            assert!(chi < bound, "NURand({a}): chi squared {chi} of {cells} cells");
            let outside =
                law.iter().zip(&counts).filter(|(share, counts)| **share == 0.0 && **counts > 0.0);
            assert_eq!(outside.count(), 0);
        }
    }
}

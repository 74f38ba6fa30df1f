//! Writes that bring flash into the steady state of uniform random writes in one pass.
//!
//! In the steady state, a superblock at the share x of the flash, from the newest to the oldest, has kept the share
//! exp(-c x) of its data, where c = r (1 - exp(-c)) and r is the flash divided by the data (Desnoyers, "Analytic Models
//! of SSD Write Performance", ACM Transactions on Storage 8(2), 2012, doi 10.1145/2133360.2133364). The pass writes the
//! flash once, region by region, from the oldest to the newest. Each region first overwrites the share of the region
//! before it that the steady state has lost there, and otherwise writes positions that are new. fio's `sprandom` has
//! the same method. A drive does not collect during the pass if its spare flash is as large as stated.

use super::addresses::permuted;
use crate::rng::Rng;

/// Minimum number of regions. The share of valid data is constant within a region.
const REGIONS: u64 = 256;
/// Maximum number of writes in a region, whose positions are in memory.
const REGION_MAX: u64 = 1 << 22;

/// The positions of a pass in order. Each position occurs once or more.
#[derive(Debug)]
pub struct OnePass {
    /// Number of positions with data.
    count: u64,
    key: u64,
    rng: Rng,
    decay: f64,
    /// Number of writes, and of writes in each region except the last.
    writes: u64,
    region: u64,
    /// Number of positions that were written, and number of finished regions.
    used: u64,
    regions: u64,
    /// The remaining positions of the current region, and the positions that the next region overwrites.
    current: Vec<u64>,
    overwritten: Vec<u64>,
}

impl OnePass {
    /// Returns a pass over `count` positions on flash with room for `spare` times as many further positions.
    pub fn new(count: u64, spare: f64, mut rng: Rng) -> Self {
        let ratio = 1.0 + spare;
        let writes = (count as f64 * ratio) as u64;
        let key = rng.next_u64();
        let region = writes.div_ceil(REGIONS).clamp(1, REGION_MAX);
        let decay = decay(ratio);
        let (used, regions, current, overwritten) = Default::default();
        Self { count, key, rng, decay, writes, region, used, regions, current, overwritten }
    }

    /// Returns the approximate number of writes.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Fills the next region.
    fn begin_region(&mut self) {
        self.current.append(&mut self.overwritten);
        let new = self.region.saturating_sub(self.current.len() as u64).max(1);
        let end = self.count.min(self.used + new);
        self.current.extend((self.used..end).map(|index| permuted(index, self.count, self.key)));
        self.used = end;
        self.shuffle();
        self.regions += 1;
        if self.used < self.count {
            let age = 1.0 - (self.regions as f64 - 0.5) * self.region as f64 / self.writes as f64;
            let lost = 1.0 - libm::exp(-self.decay * age.max(0.0));
            let lost = libm::round(lost * self.current.len() as f64) as usize;
            self.overwritten.extend_from_slice(&self.current[..lost]);
            // A superblock can be smaller than a region, and the lost data must not be in one part of the region.
            self.shuffle();
        }
    }

    fn shuffle(&mut self) {
        for last in (1..self.current.len()).rev() {
            self.current.swap(last, self.rng.below(last as u64 + 1) as usize);
        }
    }
}

impl Iterator for OnePass {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.current.is_empty() && (self.used < self.count || !self.overwritten.is_empty()) {
            self.begin_region();
        }
        self.current.pop()
    }
}

/// Returns the exponent c of the steady state for `ratio`, the flash divided by the data, which must be above 1.
pub fn decay(ratio: f64) -> f64 {
    // This finds the positive root of c = r (1 - exp(-c)). The right side is concave, so Newton's method approaches the
    // root from above without crossing it.
    let mut c = ratio;
    for _ in 0..64 {
        let value = c - ratio * (1.0 - libm::exp(-c));
        let slope = 1.0 - ratio * libm::exp(-c);
        let next = c - value / slope;
        if (next - c).abs() < 1e-14 * c || next <= 0.0 {
            break;
        }
        c = next;
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, StreamKey};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pass_writes_every_position_and_the_stated_number(count in 1u64..20_000, percent in 1u8..=100) {
            let pass = OnePass::new(count, f64::from(percent) / 100.0, Rng::new(StreamKey::from_seed(1)));
            let stated = pass.writes();
            let written: Vec<u64> = pass.collect();
            let mut positions = written.clone();
            positions.sort_unstable();
            positions.dedup();
            prop_assert!(positions.into_iter().eq(0..count));
            prop_assert!(written.len().abs_diff(stated as usize) as f64 <= 0.02 * stated as f64 + 300.0);
        }
    }
}

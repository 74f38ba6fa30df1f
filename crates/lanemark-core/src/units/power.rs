//! Power and energy.
//!
//! Power is a whole number of microwatts and energy of attojoules (10^-18 J), so that power times a time in
//! picoseconds is exact: what a drive took in all is the sum of what its parts took, to the last step.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use super::Duration;

/// Power in microwatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Watts(u64);

/// Energy in attojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Joules(u128);

/// Attojoules in a microjoule, the step in which energy is written.
const ATTOJOULES_PER_MICROJOULE: u128 = 1_000_000_000_000;

impl Watts {
    /// No power at all.
    pub const ZERO: Self = Self(0);

    /// A power of so many microwatts.
    pub(crate) const fn from_microwatts(microwatts: u64) -> Self {
        Self(microwatts)
    }

    /// A power of so many milliwatts.
    pub const fn from_milliwatts(milliwatts: u64) -> Self {
        Self(milliwatts * 1_000)
    }

    /// Microwatts, exactly.
    pub(crate) const fn microwatts(self) -> u64 {
        self.0
    }

    /// Watts, for people and plots.
    pub fn as_watts(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Joules {
    /// No energy at all.
    pub const ZERO: Self = Self(0);

    /// An energy of so many microjoules.
    pub const fn from_microjoules(microjoules: u64) -> Self {
        Self(microjoules as u128 * ATTOJOULES_PER_MICROJOULE)
    }

    /// Microjoules, rounded to the nearest; the most there are where it is more.
    pub(super) fn microjoules(self) -> u64 {
        let rounded = (self.0 + ATTOJOULES_PER_MICROJOULE / 2) / ATTOJOULES_PER_MICROJOULE;
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }

    /// Joules, for people and plots.
    pub(crate) fn as_joules(self) -> f64 {
        self.0 as f64 / 1e18
    }
}

impl Mul<Duration> for Watts {
    type Output = Joules;
    fn mul(self, rhs: Duration) -> Joules {
        Joules(u128::from(self.0) * u128::from(rhs.picoseconds()))
    }
}

impl Div<Duration> for Joules {
    type Output = Watts;
    /// The mean power to the nearest microwatt; zero for an empty duration, where none is known.
    fn div(self, rhs: Duration) -> Watts {
        match u128::from(rhs.picoseconds()) {
            0 => Watts::ZERO,
            time => Watts(u64::try_from((self.0 + time / 2) / time).unwrap_or(u64::MAX)),
        }
    }
}

impl Add for Watts {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl Add for Joules {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Joules {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Joules {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Sum for Joules {
    fn sum<I: Iterator<Item = Self>>(energies: I) -> Self {
        energies.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_times_time_is_exact_and_comes_back() {
        let power = Watts::from_microwatts(2_500_001);
        let time = Duration::from_picoseconds(3_000_000_000_007);
        assert_eq!((power * time).0, 2_500_001 * 3_000_000_000_007);
        assert_eq!(power * time / time, power);
        assert_eq!(power * time / Duration::ZERO, Watts::ZERO);
        assert_eq!(
            (Watts::from_milliwatts(9_600) * Duration::MAX) / Duration::MAX,
            Watts(9_600_000)
        );
    }
}

//! Power and energy.
//!
//! Power is a whole number of microwatts, and energy is a whole number of attojoules (10^-18 J), so that power
//! multiplied by a time in picoseconds is exact. Therefore the energy of a drive equals the sum of the energies of its
//! parts, to the last digit.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use super::Duration;

/// Power in microwatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Watts(u64);

/// Energy in attojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Joules(u128);

/// Attojoules in a microjoule, which is the step in which energy is written.
const ATTOJOULES_PER_MICROJOULE: u128 = 1_000_000_000_000;

impl Watts {
    /// The power 0.
    pub const ZERO: Self = Self(0);

    /// Returns a power in microwatts.
    pub(crate) const fn from_microwatts(microwatts: u64) -> Self {
        Self(microwatts)
    }

    /// Returns a power in milliwatts.
    pub const fn from_milliwatts(milliwatts: u64) -> Self {
        Self(milliwatts * 1_000)
    }

    pub(crate) const fn microwatts(self) -> u64 {
        self.0
    }

    /// Returns the watts, for display and plots.
    pub fn as_watts(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Joules {
    /// The energy 0.
    pub const ZERO: Self = Self(0);

    /// Returns an energy in microjoules.
    pub const fn from_microjoules(microjoules: u64) -> Self {
        Self(microjoules as u128 * ATTOJOULES_PER_MICROJOULE)
    }

    /// Returns the microjoules, rounded to the nearest and clamped to the maximum.
    pub(super) fn microjoules(self) -> u64 {
        let rounded = (self.0 + ATTOJOULES_PER_MICROJOULE / 2) / ATTOJOULES_PER_MICROJOULE;
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }

    /// Returns the joules, for display and plots.
    pub fn as_joules(self) -> f64 {
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
    /// Returns the mean power to the nearest microwatt; zero for an empty duration, whose power is unknown.
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

    #[test]
    fn powers_and_energies_add_up() {
        let one = Watts::from_milliwatts(700);
        let two = Watts::from_milliwatts(1_400);
        assert_eq!(one + two, Watts::from_milliwatts(2_100));
        let second = Duration::from_seconds(1);
        let mut sum = one * second + two * second;
        sum += one * second;
        assert_eq!(sum, Watts::from_milliwatts(2_800) * second);
        assert_eq!(sum.as_joules(), 2.8);
    }
}

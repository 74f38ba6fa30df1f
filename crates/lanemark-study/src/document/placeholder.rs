//! Stand-ins for missing or invalid values of a file, which are used until the whole file is read.

use lanemark_schema::units::{
    BitsPerSecond, Bytes, BytesPerSecond, Duration, Joules, Ratio, Watts,
};

/// A type with a value that nearly every key accepts.
pub trait PlaceholderValue {
    /// Returns a value that nearly every key accepts. This value is never part of a result.
    fn stand_in() -> Self;
}

impl PlaceholderValue for Duration {
    fn stand_in() -> Self {
        Self::from_microseconds(1)
    }
}

impl PlaceholderValue for Bytes {
    fn stand_in() -> Self {
        Self::kibi(4)
    }
}

impl PlaceholderValue for BytesPerSecond {
    fn stand_in() -> Self {
        Self(1_000_000_000)
    }
}

impl PlaceholderValue for BitsPerSecond {
    fn stand_in() -> Self {
        Self(6_000_000_000)
    }
}

impl PlaceholderValue for Ratio {
    fn stand_in() -> Self {
        Self::ONE
    }
}

impl PlaceholderValue for Watts {
    fn stand_in() -> Self {
        Self::from_milliwatts(1)
    }
}

impl PlaceholderValue for Joules {
    fn stand_in() -> Self {
        Self::from_microjoules(1)
    }
}

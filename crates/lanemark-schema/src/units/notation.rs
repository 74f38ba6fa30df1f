//! Quantities as text: parses `"115 us"` and prints `115 us`.
//!
//! A value is parsed exactly, in whole steps of its quantity (picoseconds, bytes, bits a second, microwatts,
//! microjoules), without floating-point numbers. All quantities except for bytes may be rounded to the nearest step.

use std::fmt;
use std::str::FromStr;

use super::{
    BitsPerSecond, Bytes, BytesPerSecond, Duration, Joules, PICOSECONDS_PER_SECOND, Ratio, Watts,
};

/// The reason why a string is not the expected quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The string does not start with a number.
    #[error("`{text}` does not start with a number")]
    NoNumber {
        /// The text as the user wrote it.
        text: String,
    },
    /// The number lacks a unit.
    #[error("`{text}` lacks a unit; write it with one of {units}")]
    NoUnit {
        /// The text as the user wrote it.
        text: String,
        /// The accepted units.
        units: &'static str,
    },
    /// The unit is unknown or belongs to a different quantity.
    #[error("`{unit}` is not a unit of {quantity}; use one of {units}")]
    WrongUnit {
        /// The unit as the user wrote it.
        unit: String,
        /// The quantity that was expected.
        quantity: &'static str,
        /// The accepted units.
        units: &'static str,
    },
    /// The value exceeds the maximum.
    #[error("`{text}` is too large for {quantity}: the maximum is {most}")]
    TooLarge {
        /// The text as the user wrote it.
        text: String,
        /// The quantity that was expected.
        quantity: &'static str,
        /// The maximum value.
        most: &'static str,
    },
    /// The value is between two of the smallest steps, so rounding would change it.
    #[error("`{text}` is not a whole number of {step}")]
    NotWhole {
        /// The text as the user wrote it.
        text: String,
        /// The smallest step of the quantity.
        step: &'static str,
    },
}

/// The notation of one quantity as text: its units, each with its number of base steps.
struct Notation {
    quantity: &'static str,
    step: &'static str,
    /// Whether a value between two steps may be rounded to the nearest step.
    rounds: bool,
    /// The maximum value in base steps, and its text.
    most: (u64, &'static str),
    listed: &'static str,
    units: &'static [(&'static str, u64)],
}

impl Notation {
    fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        let end = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(end);
        let unit = unit.trim();
        let number = number.replace('_', "");
        let no_number = || QuantityError::NoNumber { text: text.to_owned() };
        let (most, most_text) = self.most;
        let too_large = || QuantityError::TooLarge {
            text: text.to_owned(),
            quantity: self.quantity,
            most: most_text,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
            return Err(no_number());
        }
        if unit.is_empty() {
            return Err(QuantityError::NoUnit { text: text.to_owned(), units: self.listed });
        }
        let Some(&(_, steps)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(QuantityError::WrongUnit {
                unit: unit.to_owned(),
                quantity: self.quantity,
                units: self.listed,
            });
        };
        let fraction = fraction.trim_end_matches('0');
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
        let exponent = u32::try_from(fraction.len()).map_err(|_| too_large())?;
        let divisor = 10u128.checked_pow(exponent).ok_or_else(too_large)?;
        let scaled = digits.checked_mul(u128::from(steps)).ok_or_else(too_large)?;
        if !self.rounds && scaled % divisor != 0 {
            return Err(QuantityError::NotWhole { text: text.to_owned(), step: self.step });
        }
        let steps = u64::try_from((scaled + divisor / 2) / divisor).map_err(|_| too_large())?;
        if steps > most { Err(too_large()) } else { Ok(steps) }
    }
}

const DURATION: Notation = Notation {
    quantity: "time",
    step: "picoseconds",
    rounds: true,
    most: (Duration::INPUT_MAX.picoseconds(), "1000 h"),
    listed: "ps, ns, us, ms, s, min, h",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", PICOSECONDS_PER_SECOND),
        ("min", 60 * PICOSECONDS_PER_SECOND),
        ("h", 3600 * PICOSECONDS_PER_SECOND),
    ],
};

const BYTES: Notation = Notation {
    quantity: "data",
    step: "bytes",
    rounds: false,
    most: (1 << 60, "1048576 TiB"),
    listed: "B, kB, MB, GB, TB (powers of ten), KiB, MiB, GiB, TiB (powers of two)",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

const BYTES_PER_SECOND: Notation = Notation {
    quantity: "data rate",
    step: "bytes a second",
    rounds: true,
    most: (1_000_000_000_000_000, "1000000 GB/s"),
    listed: "B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s",
    units: &[
        ("B/s", 1),
        ("kB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
    ],
};

const BITS_PER_SECOND: Notation = Notation {
    quantity: "line rate",
    step: "bits a second",
    rounds: true,
    most: (1_000_000_000_000_000, "1000000 Gb/s"),
    listed: "Mb/s, Gb/s",
    units: &[("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)],
};

const WATTS: Notation = Notation {
    quantity: "power",
    step: "microwatts",
    rounds: true,
    most: (1_000_000_000_000, "1000 kW"),
    listed: "uW, mW, W, kW",
    units: &[("uW", 1), ("mW", 1_000), ("W", 1_000_000), ("kW", 1_000_000_000)],
};

const JOULES: Notation = Notation {
    quantity: "energy",
    step: "microjoules",
    rounds: true,
    most: (1_000_000_000_000_000_000, "1000000 MJ"),
    listed: "uJ, mJ, J, kJ, MJ, mWh, Wh, kWh",
    units: &[
        ("uJ", 1),
        ("mJ", 1_000),
        ("J", 1_000_000),
        ("kJ", 1_000_000_000),
        ("MJ", 1_000_000_000_000),
        ("mWh", 3_600_000),
        ("Wh", 3_600_000_000),
        ("kWh", 3_600_000_000_000),
    ],
};

impl FromStr for Duration {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        DURATION.parse(text).map(Self)
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        BYTES.parse(text).map(Self)
    }
}

impl FromStr for BytesPerSecond {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        BYTES_PER_SECOND.parse(text).map(Self)
    }
}

impl FromStr for BitsPerSecond {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        BITS_PER_SECOND.parse(text).map(Self)
    }
}

impl FromStr for Watts {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        WATTS.parse(text).map(Self::from_microwatts)
    }
}

impl FromStr for Joules {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        JOULES.parse(text).map(Self::from_microjoules)
    }
}

impl FromStr for Ratio {
    type Err = QuantityError;
    /// Parses a percentage, such as `"70%"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const PERCENT: Notation = Notation {
            quantity: "share",
            step: "billionths",
            rounds: true,
            most: (1_000_000_000, "100%"),
            listed: "%",
            units: &[("%", 10_000_000)],
        };
        PERCENT.parse(text).map(|billionths| Self(billionths as f64 / 1e9))
    }
}

/// Writes `value`, in base steps, in the largest unit in which it is 1 or more, with three decimals.
fn write_scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&'static str, u64)],
) -> fmt::Result {
    let (name, steps) = units.iter().rev().find(|(_, steps)| value >= *steps).unwrap_or(&units[0]);
    let text = format!("{:.3}", value as f64 / *steps as f64);
    write!(f, "{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: [(&str, u64); 5] = [
            ("ps", 1),
            ("ns", 1_000),
            ("us", 1_000_000),
            ("ms", 1_000_000_000),
            ("s", PICOSECONDS_PER_SECOND),
        ];
        write_scaled(f, self.0, &SHOWN)
    }
}

impl fmt::Display for Bytes {
    /// Writes a short whole number in a unit that is a power of two if possible, and in powers of ten otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = &BYTES.units[5..];
        let whole = |(_, steps): &&(&str, u64)| self.0 >= *steps && self.0.is_multiple_of(*steps);
        match binary.iter().rev().find(whole) {
            Some((name, steps)) if self.0 / steps < 100_000 => {
                write!(f, "{} {name}", self.0 / steps)
            }
            _ => write_scaled(f, self.0, &BYTES.units[..5]),
        }
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &BYTES_PER_SECOND.units[..4])
    }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, BITS_PER_SECOND.units)
    }
}

impl fmt::Display for Watts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.microwatts(), WATTS.units)
    }
}

impl fmt::Display for Joules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.microjoules(), &JOULES.units[..5])
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.2}", self.0 * 100.0);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_with_their_unit() {
        assert_eq!("115 us".parse(), Ok(Duration::from_microseconds(115)));
        assert_eq!("0.5us".parse(), Ok(Duration::from_nanoseconds(500)));
        assert_eq!("16 KiB".parse(), Ok(Bytes(16_384)));
        assert_eq!("7 MB".parse(), Ok(Bytes(7_000_000)));
        assert_eq!("1.2 TB".parse(), Ok(Bytes(1_200_000_000_000)));
        assert_eq!("6 Gb/s".parse(), Ok(BitsPerSecond(6_000_000_000)));
        assert_eq!("520 MB/s".parse(), Ok(BytesPerSecond(520_000_000)));
        assert_eq!("70%".parse::<Ratio>().map(Ratio::get), Ok(0.7));
        assert_eq!("2.5 mW".parse(), Ok(Watts::from_microwatts(2_500)));
        assert_eq!("5.7 W".parse(), Ok(Watts::from_milliwatts(5_700)));
        assert_eq!("50 Wh".parse::<Joules>(), "180 kJ".parse());
    }

    #[test]
    fn a_bare_number_is_an_error_that_lists_the_units() {
        let error = "115".parse::<Duration>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`115` lacks a unit; write it with one of ps, ns, us, ms, s, min, h"
        );
    }

    #[test]
    fn wrong_units_overflow_and_fractions_are_errors() {
        assert!(matches!("5 KiB".parse::<Duration>(), Err(QuantityError::WrongUnit { .. })));
        assert!(matches!("9e9 s".parse::<Duration>(), Err(QuantityError::WrongUnit { .. })));
        assert!(matches!(
            "99999999999999999999 s".parse::<Duration>(),
            Err(QuantityError::TooLarge { .. })
        ));
        let most = Duration::INPUT_MAX;
        assert_eq!("1000 h".parse(), Ok(most));
        let error = "18446744073709551615 ps".parse::<Duration>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`18446744073709551615 ps` is too large for time: the maximum is 1000 h"
        );
        assert!(matches!("1000.1 h".parse::<Duration>(), Err(QuantityError::TooLarge { .. })));
        assert!(matches!("2000000 TiB".parse::<Bytes>(), Err(QuantityError::TooLarge { .. })));
        assert!(matches!("0.3 B".parse::<Bytes>(), Err(QuantityError::NotWhole { .. })));
        assert!(matches!("5 W".parse::<Joules>(), Err(QuantityError::WrongUnit { .. })));
        assert!(matches!("1 Wh".parse::<Watts>(), Err(QuantityError::WrongUnit { .. })));
        assert!(matches!("-5 us".parse::<Duration>(), Err(QuantityError::NoNumber { .. })));
        assert!(matches!("1.2.3 us".parse::<Duration>(), Err(QuantityError::NoNumber { .. })));
        assert!(matches!("101%".parse::<Ratio>(), Err(QuantityError::TooLarge { .. })));
    }

    #[test]
    fn printed_quantities_read_back() {
        for text in ["115 us", "6.667 ns", "1.5 s"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
        for text in ["70 mW", "5.7 W", "2.5 mW", "0 uW"] {
            assert_eq!(text.parse::<Watts>().unwrap().to_string(), text);
        }
        for text in ["180 kJ", "1.5 mJ"] {
            assert_eq!(text.parse::<Joules>().unwrap().to_string(), text);
        }
        for text in ["16 KiB", "1000 MiB", "1.2 TB", "0 B"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
    }
}

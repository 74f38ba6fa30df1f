//! The origin of model values, and values that override library values.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};

use crate::error::{Location, StudyError};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A publication states the value.
    Sourced(String),
    /// The value is computed from published values.
    Derived(String),
    /// The value is not published. The text, if present, states the reason for it.
    Assumed(Option<String>),
    /// A study or the command line overrides the value.
    Overridden,
}

impl Origin {
    /// Returns the name of the kind of origin.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sourced(_) => "sourced",
            Self::Derived(_) => "derived",
            Self::Assumed(_) => "assumed",
            Self::Overridden => "set",
        }
    }

    /// Returns the source or the reason, if the file states it.
    pub fn note(&self) -> Option<&str> {
        match self {
            Self::Sourced(text) | Self::Derived(text) | Self::Assumed(Some(text)) => Some(text),
            Self::Assumed(None) | Self::Overridden => None,
        }
    }

    /// Returns whether the source states that the value of `key` was found in no opened publication: with the clause
    /// `unverified`, or `unverified: random_read, random_write` for some keys.
    pub fn is_unverified(&self, key: &str) -> bool {
        let Self::Sourced(source) = self else { return false };
        source.split("; ").any(|clause| match clause.strip_prefix("unverified") {
            Some("") => true,
            Some(keys) => keys.trim_start_matches(':').split(',').any(|one| one.trim() == key),
            None => false,
        })
    }
}

/// A model value as read.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueRecord {
    /// Path of the value, such as `drive.front_end.read_latency`.
    pub parameter: String,
    /// The value as written.
    pub text: String,
    /// Origin of the value.
    pub origin: Origin,
    /// The range that contains 80% of comparable values, if the file states it.
    pub range: Option<ValueRange>,
}

/// The range that contains 80% of comparable values. The bounds are ratios to the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    /// Ratio of the low bound to the value, up to 1.
    pub low: f64,
    /// Ratio of the high bound to the value, 1 or more.
    pub high: f64,
}

impl ValueRange {
    /// Reads the range of `value` from its bounds, all written with units.
    ///
    /// # Errors
    /// Returns a message that describes the error in the bounds.
    pub(crate) fn read(value: &str, ends: &[String; 2]) -> Result<Self, String> {
        let number = |text: &str| {
            magnitude(text).ok_or_else(|| format!("{text}: not a quantity above zero"))
        };
        let (middle, kind) = number(value)?;
        let [low, high] = [number(&ends[0])?, number(&ends[1])?];
        if low.1 != kind || high.1 != kind {
            return Err(format!(
                "{} and {} do not have the same unit as {value}",
                ends[0], ends[1]
            ));
        }
        let range = Self { low: low.0 / middle, high: high.0 / middle };
        if range.low <= 1.0 + 1e-9 && range.high >= 1.0 - 1e-9 {
            Ok(range)
        } else {
            Err(format!("{value} is not between {} and {}", ends[0], ends[1]))
        }
    }
}

/// A value that is known only within a range; the range determines the intervals of predictions.
#[derive(Clone, Debug, PartialEq)]
pub struct UncertainValue {
    /// Path of the value, such as `drive.flash.read`.
    pub parameter: String,
    /// The value as written.
    pub text: String,
    /// The range that contains 80% of comparable values.
    pub range: ValueRange,
}

/// Factor up and down by which an assumed time varies if its file does not state a range.
const TIME_SPREAD: f64 = 1.4;
/// Factor up and down by which an assumed rate varies if its file does not state a range.
const RATE_SPREAD: f64 = 1.2;

impl ValueRecord {
    /// Returns the value with its range. An assumed time or rate without a range has the usual range.
    pub(crate) fn uncertain(&self) -> Option<UncertainValue> {
        let usual_range = || {
            let assumed = matches!(self.origin, Origin::Assumed(Some(_)));
            let spread = match magnitude(&self.text).filter(|_| assumed)?.1 {
                0 => TIME_SPREAD,
                1 => RATE_SPREAD,
                _ => return None,
            };
            Some(ValueRange { low: 1.0 / spread, high: spread })
        };
        let range = self.range.or_else(usual_range)?;
        (range.low < range.high).then(|| UncertainValue {
            parameter: self.parameter.clone(),
            text: self.text.clone(),
            range,
        })
    }
}

/// Rounds the number in a value with a unit to three significant digits.
fn three_digits(text: &str) -> String {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number = number.parse::<f64>().unwrap_or_default();
    let digits = (2 - number.abs().max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
    let number = format!("{number:.digits$}");
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number.as_str()
    };
    format!("{number} {unit}").trim_end().to_owned()
}

impl UncertainValue {
    /// Returns the value `text` of `parameter` with its range; the bounds are written with units. Returns `None` if the
    /// bounds do not form a range above zero that contains the value.
    #[must_use]
    pub fn within(parameter: &str, text: &str, [low, high]: [&str; 2]) -> Option<Self> {
        let range = ValueRange::read(text, &[low.to_owned(), high.to_owned()]).ok()?;
        (range.low < range.high).then_some(Self {
            parameter: parameter.to_owned(),
            text: text.to_owned(),
            range,
        })
    }

    /// Returns the bounds of the range, with their units.
    #[must_use]
    pub fn ends(&self) -> (String, String) {
        const END: f64 = 1.2816;
        (three_digits(&self.at(-END)), three_digits(&self.at(END)))
    }

    /// Returns the value with three significant digits and its unit.
    #[must_use]
    pub fn shown(&self) -> String {
        three_digits(&self.at(0.0))
    }

    /// Returns the value at `deviations` standard deviations from the median of a log-normal distribution. The bounds
    /// of the range are 1.2816 deviations away, so that the range contains 80%.
    #[must_use]
    pub fn at(&self, deviations: f64) -> String {
        const END: f64 = 1.2816;
        let end = if deviations < 0.0 { 1.0 / self.range.low } else { self.range.high };
        let factor = libm::exp(deviations / END * libm::log(end));
        let digits = self.text.find(|c: char| !(c.is_ascii_digit() || ".+-_e".contains(c)));
        let (number, unit) = self.text.split_at(digits.unwrap_or(self.text.len()));
        let number: f64 = number.replace('_', "").parse().unwrap_or(1.0);
        match unit.trim() {
            "" => format!("{:.0}", (number * factor).max(1.0)),
            // A share cannot exceed 100%.
            "%" if number <= 100.0 => format!("{:.3} %", (number * factor).min(100.0)),
            unit @ ("ns" | "%") => format!("{:.3} {unit}", number * factor),
            unit @ ("ps" | "B" | "KiB" | "MiB" | "GiB") => format!("{:.0} {unit}", number * factor),
            unit => format!("{:.6} {unit}", number * factor),
        }
    }
}

/// Returns a quantity above zero in its smallest unit, and a number that identifies the kind of quantity.
fn magnitude(text: &str) -> Option<(f64, u8)> {
    let found = if let Ok(time) = text.parse::<Duration>() {
        (time.picoseconds() as f64, 0)
    } else if let Ok(rate) = text.parse::<BytesPerSecond>() {
        (rate.0 as f64, 1)
    } else if let Ok(size) = text.parse::<Bytes>() {
        (size.get() as f64, 2)
    } else if let Ok(share) = text.parse::<Ratio>() {
        (share.get(), 3)
    } else {
        (text.replace('_', "").parse().ok()?, 4)
    };
    (found.0.is_finite() && found.0 > 0.0).then_some(found)
}

/// The model values of a system: those that were read, and the names of all that can be set.
#[derive(Debug, Default)]
pub struct Ledger {
    records: RefCell<Vec<ValueRecord>>,
    known: RefCell<BTreeSet<String>>,
}

impl Ledger {
    /// Records a value.
    pub fn record(&self, record: ValueRecord) {
        self.records.borrow_mut().push(record);
    }

    /// Records that a file may contain a value at `parameter`.
    pub fn register(&self, parameter: &str) {
        if !self.known.borrow().contains(parameter) {
            self.known.borrow_mut().insert(parameter.to_owned());
        }
    }

    /// Returns the values in the order in which they were read.
    pub fn records(&self) -> Vec<ValueRecord> {
        self.records.borrow().clone()
    }
}

/// Values that replace library values.
#[derive(Debug, Default)]
pub struct Overrides(Vec<Override>);

#[derive(Debug)]
struct Override {
    parameter: String,
    text: String,
    location: Location,
    used: Cell<bool>,
}

impl Overrides {
    /// Sets `parameter` to `text`; a later call replaces an earlier one.
    pub fn set(&mut self, parameter: &str, text: &str, location: Location) {
        self.0.retain(|existing| existing.parameter != parameter);
        self.0.push(Override {
            parameter: parameter.to_owned(),
            text: text.to_owned(),
            location,
            used: Cell::new(false),
        });
    }

    /// Returns the text to which `parameter` is set.
    pub fn get(&self, parameter: &str) -> Option<(&str, Location)> {
        let found = self.0.iter().find(|existing| existing.parameter == parameter)?;
        found.used.set(true);
        Some((&found.text, found.location.clone()))
    }

    /// Returns whether `parameter` is set.
    pub fn has(&self, parameter: &str) -> bool {
        self.0.iter().any(|existing| existing.parameter == parameter)
    }

    /// Returns whether any parameter in `table` is set.
    pub fn reach_into(&self, table: &str) -> bool {
        let within = |existing: &Override| {
            existing.parameter.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
        };
        self.0.iter().any(within)
    }

    /// Checks that each override was applied to a parameter.
    ///
    /// # Errors
    /// Returns the first override that was not applied, with the most similar parameters of `ledger`.
    pub fn check_used(&self, ledger: &Ledger) -> Result<(), StudyError> {
        let Some(unused) = self.0.iter().find(|existing| !existing.used.get()) else {
            return Ok(());
        };
        let known = ledger.known.borrow();
        let known = known.iter().map(String::as_str);
        Err(StudyError::unknown(unused.location.clone(), "parameter", &unused.parameter, known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, low: f64, high: f64) -> UncertainValue {
        let range = ValueRange { low, high };
        UncertainValue { parameter: "p".to_owned(), text: text.to_owned(), range }
    }

    #[test]
    fn a_clause_names_the_ratings_that_are_not_verified() {
        let of = |source: &str, key| Origin::Sourced(source.to_owned()).is_unverified(key);
        assert!(of("a data sheet; unverified", "read"));
        assert!(of("a data sheet; unverified: read, write", "write"));
        assert!(!of("a data sheet; unverified: read, write", "random_write"));
        assert!(!of("a data sheet, unverified by others", "read"));
        assert!(!Origin::Derived("unverified".to_owned()).is_unverified("read"));
    }

    #[test]
    fn a_range_is_read_as_ratios_of_its_value() {
        let read = |value: &str, low: &str, high: &str| {
            ValueRange::read(value, &[low.to_owned(), high.to_owned()])
        };
        for (middle, low, high, ratios) in [
            ("50 us", "25 us", "0.2 ms", (0.5, 4.0)),
            ("400 MB/s", "300 MB/s", "1.2 GB/s", (0.75, 3.0)),
            ("64 MiB", "16 MiB", "256 MiB", (0.25, 4.0)),
            ("20%", "10%", "80%", (0.5, 4.0)),
            ("1_000", "500", "1000", (0.5, 1.0)),
            ("50 us", "50 us", "50 us", (1.0, 1.0)),
        ] {
            let range = read(middle, low, high).unwrap();
            assert!((range.low - ratios.0).abs() < 1e-9, "{middle}: {range:?}");
            assert!((range.high - ratios.1).abs() < 1e-9, "{middle}: {range:?}");
        }
        for (middle, low, high, error) in [
            ("50 us", "60 us", "70 us", "50 us is not between 60 us and 70 us"),
            ("50 us", "10 us", "40 us", "50 us is not between 10 us and 40 us"),
            ("50 us", "10 us", "90 MB/s", "10 us and 90 MB/s do not have the same unit as 50 us"),
            ("50 us", "1 MiB", "90 us", "1 MiB and 90 us do not have the same unit as 50 us"),
            ("50 us", "0 us", "90 us", "0 us: not a quantity above zero"),
            ("fast", "1", "2", "fast: not a quantity above zero"),
        ] {
            assert_eq!(read(middle, low, high), Err(error.to_owned()));
        }
        let within = UncertainValue::within("p", "50 us", ["25 us", "100 us"]);
        assert_eq!(within, Some(value("50 us", 0.5, 2.0)));
        assert_eq!(UncertainValue::within("p", "50 us", ["50 us", "50 us"]), None);
        assert_eq!(UncertainValue::within("p", "50 us", ["60 us", "70 us"]), None);
    }

    #[test]
    fn a_draw_of_no_deviation_is_the_value_and_one_of_80_percent_is_an_end() {
        const END: f64 = 1.2816;
        for (text, low, middle, high) in [
            ("50 us", "25.000000 us", "50.000000 us", "200.000000 us"),
            ("1_000 ns", "500.000 ns", "1000.000 ns", "4000.000 ns"),
            ("12 %", "6.000 %", "12.000 %", "48.000 %"),
            ("40%", "20.000 %", "40.000 %", "100.000 %"),
            ("200 %", "100.000 %", "200.000 %", "800.000 %"),
            ("64 MiB", "32 MiB", "64 MiB", "256 MiB"),
            ("4 ps", "2 ps", "4 ps", "16 ps"),
            ("400 MB/s", "200.000000 MB/s", "400.000000 MB/s", "1600.000000 MB/s"),
            ("16", "8", "16", "64"),
            ("1", "1", "1", "4"),
        ] {
            let value = value(text, 0.5, 4.0);
            let drawn = [-END, 0.0, END].map(|deviations| value.at(deviations));
            assert_eq!(drawn, [low, middle, high], "{text}");
        }
        // Twice as many deviations square the ratio.
        assert_eq!(value("50 us", 0.5, 4.0).at(2.0 * END), "800.000000 us");
        assert_eq!(value("50 us", 0.5, 4.0).at(-2.0 * END), "12.500000 us");
    }

    #[test]
    fn the_ends_of_a_range_have_three_digits() {
        for (text, low, high, ends) in [
            ("50 us", 0.5, 4.0, ("25 us", "200 us")),
            ("3.3333 us", 0.5, 2.0, ("1.67 us", "6.67 us")),
            ("0.04 us", 0.5, 2.0, ("0.02 us", "0.08 us")),
            ("1234.5 MB/s", 0.9, 1.1, ("1111 MB/s", "1358 MB/s")),
            ("64 MiB", 0.25, 2.0, ("16 MiB", "128 MiB")),
            ("16", 0.5, 2.0, ("8", "32")),
        ] {
            let (least, most) = value(text, low, high).ends();
            assert_eq!((least.as_str(), most.as_str()), ends, "{text}");
        }
    }

    #[test]
    fn assumed_times_and_rates_without_a_range_have_the_usual_one() {
        let record = |text: &str, origin: Origin, range| {
            let parameter = "p".to_owned();
            ValueRecord { parameter, text: text.to_owned(), origin, range }.uncertain()
        };
        let assumed = || Origin::Assumed(Some("why".to_owned()));
        let usual = |text: &str| record(text, assumed(), None).map(|value| value.range);
        assert_eq!(usual("5 us"), Some(ValueRange { low: 1.0 / 1.4, high: 1.4 }));
        assert_eq!(usual("5 MB/s"), Some(ValueRange { low: 1.0 / 1.2, high: 1.2 }));
        for text in ["5 MiB", "5%", "5", "yes", "0 us"] {
            assert_eq!(usual(text), None, "{text}");
        }
        assert_eq!(record("5 us", Origin::Assumed(None), None), None);
        let own = ValueRange { low: 0.5, high: 1.0 };
        let stated = record("5 MiB", Origin::Assumed(None), Some(own)).unwrap();
        assert_eq!((stated.parameter.as_str(), stated.text.as_str()), ("p", "5 MiB"));
        assert_eq!(stated.range, own);
        let level = ValueRange { low: 1.0, high: 1.0 };
        assert_eq!(record("5 us", assumed(), Some(level)), None);
    }

    #[test]
    fn values_that_replace_others_are_found_and_must_be_used() {
        let at = || Location::file("--set");
        let mut overrides = Overrides::default();
        overrides.set("drive.flash.read", "1 us", at());
        overrides.set("drive.flashy", "2", at());
        overrides.set("drive.flash.read", "3 us", at());
        assert!(overrides.has("drive.flash.read") && !overrides.has("drive.flash"));
        assert!(overrides.reach_into("drive.flash") && overrides.reach_into("drive"));
        assert!(!overrides.reach_into("drive.flashy") && !overrides.reach_into("flash"));
        assert_eq!(overrides.get("drive.flash.read").unwrap().0, "3 us");
        assert_eq!(overrides.get("drive.flash.program").map(|found| found.0), None);
        let ledger = Ledger::default();
        ledger.register("drive.flash.read");
        let error = overrides.check_used(&ledger).unwrap_err().to_string();
        assert!(error.contains("drive.flashy"), "{error}");
        overrides.get("drive.flashy");
        assert!(overrides.check_used(&ledger).is_ok());
    }
}

//! The origin of model values, and values that override the library's.

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
    /// The value is not published. The text, if there is one, is the reason for it.
    Assumed(Option<String>),
    /// A study or the command line set it.
    Overridden,
}

/// A model value as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Path of the value, `drive.front_end.read_latency`.
    pub parameter: String,
    /// The value as written.
    pub text: String,
    /// Origin of the value.
    pub origin: Origin,
    /// The range that contains 80% of such values, if the file states it.
    pub range: Option<Range>,
}

/// The range that contains 80% of such values. Both ends are ratios to the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The ratio of the low end to the value, up to 1.
    pub low: f64,
    /// The ratio of the high end to the value, 1 or more.
    pub high: f64,
}

impl Range {
    /// Reads the range of `value` from both ends, all as written with their units.
    ///
    /// # Errors
    /// Returns a message that describes the error in the ends.
    pub(crate) fn read(value: &str, ends: &[String; 2]) -> Result<Self, String> {
        let number = |text: &str| {
            magnitude(text).ok_or_else(|| format!("{text}: is not a quantity above zero"))
        };
        let ((middle, kind), [low, high]) =
            (number(value)?, [number(&ends[0])?, number(&ends[1])?]);
        if low.1 != kind || high.1 != kind {
            return Err(format!("{} and {} do not have the unit of {value}", ends[0], ends[1]));
        }
        let range = Self { low: low.0 / middle, high: high.0 / middle };
        match range.low <= 1.0 + 1e-9 && range.high >= 1.0 - 1e-9 {
            true => Ok(range),
            false => Err(format!("{value} is not from {} to {}", ends[0], ends[1])),
        }
    }
}

/// A value that is known only within a range, which gives predictions their intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct UncertainValue {
    /// Path of the value, `drive.flash.read`.
    pub parameter: String,
    /// The value as written.
    pub text: String,
    /// The range that contains 80% of such values.
    pub range: Range,
}

/// Factors up and down by which assumed times and rates vary if their file states no range.
const TIME_SPREAD: f64 = 1.4;
const RATE_SPREAD: f64 = 1.2;

impl Record {
    /// Returns the value with its range. An assumed time or rate without a range gets the usual one.
    pub(crate) fn uncertain(&self) -> Option<UncertainValue> {
        let usual = || {
            let assumed = matches!(self.origin, Origin::Assumed(Some(_)));
            let spread = match magnitude(&self.text).filter(|_| assumed)?.1 {
                0 => TIME_SPREAD,
                1 => RATE_SPREAD,
                _ => return None,
            };
            Some(Range { low: 1.0 / spread, high: spread })
        };
        let range = self.range.or_else(usual)?;
        (range.low < range.high).then(|| {
            let (parameter, text) = (self.parameter.clone(), self.text.clone());
            UncertainValue { parameter, text, range }
        })
    }
}

impl UncertainValue {
    /// Returns the value `text` of `parameter`, with the ends of its range as they were written, with their units.
    /// Returns `None` if the ends are not a range above zero that contains the value.
    #[must_use]
    pub fn within(parameter: &str, text: &str, [low, high]: [&str; 2]) -> Option<Self> {
        let range = Range::read(text, &[low.to_owned(), high.to_owned()]).ok()?;
        let (parameter, text) = (parameter.to_owned(), text.to_owned());
        (range.low < range.high).then_some(Self { parameter, text, range })
    }

    /// Returns both ends of the range, with their units.
    #[must_use]
    pub fn ends(&self) -> (String, String) {
        const END: f64 = 1.2816;
        let short = |text: String| {
            let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
            let number = number.parse::<f64>().unwrap_or_default();
            let digits = (2 - number.abs().max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
            let number = format!("{number:.digits$}");
            let number = match number.contains('.') {
                true => number.trim_end_matches('0').trim_end_matches('.'),
                false => number.as_str(),
            };
            format!("{number} {unit}").trim_end().to_owned()
        };
        (short(self.at(-END)), short(self.at(END)))
    }

    /// Returns the value at `deviations` of a normal distribution from the middle, on the scale of ratios. The ends of
    /// the range are 1.2816 deviations away, so that they contain 80%.
    #[must_use]
    pub fn at(&self, deviations: f64) -> String {
        const END: f64 = 1.2816;
        let end = if deviations < 0.0 { 1.0 / self.range.low } else { self.range.high };
        let factor = (deviations / END * end.ln()).exp();
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

/// Returns a quantity above zero in its smallest unit, and the number of its kind.
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

/// The model values of a system: all values that were read, and all that can be set.
#[derive(Debug, Default)]
pub struct Ledger {
    records: RefCell<Vec<Record>>,
    known: RefCell<BTreeSet<String>>,
}

impl Ledger {
    /// Records a value.
    pub fn record(&self, record: Record) {
        self.records.borrow_mut().push(record);
    }

    /// Records that a file may have a value at `parameter`.
    pub fn know(&self, parameter: &str) {
        if !self.known.borrow().contains(parameter) {
            self.known.borrow_mut().insert(parameter.to_owned());
        }
    }

    /// Returns the values in the order in which they were read.
    pub fn records(&self) -> Vec<Record> {
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

    /// Returns whether any parameter within `table` is set.
    pub fn reach_into(&self, table: &str) -> bool {
        let within = |existing: &Override| {
            existing.parameter.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
        };
        self.0.iter().any(within)
    }

    /// Checks that each override applied to a parameter.
    ///
    /// # Errors
    /// Returns the first override that did not apply to any, with the most similar parameters of `ledger`.
    pub fn check_used(&self, ledger: &Ledger) -> Result<(), StudyError> {
        let Some(unused) = self.0.iter().find(|existing| !existing.used.get()) else {
            return Ok(());
        };
        let known = ledger.known.borrow();
        let known = known.iter().map(String::as_str);
        Err(StudyError::unknown(unused.location.clone(), "parameter", &unused.parameter, known))
    }
}

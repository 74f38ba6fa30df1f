//! An axis of a sweep: the name of a parameter, and its values.
//!
//! Values are written as lists and ranges: `4,8,16`, `1..256*2` (each value is twice the previous one), `10..50+10`
//! (each is ten more), `1..8` (each is one more), `4KiB..1MiB*4`. A list may contain ranges. The last value of a range
//! is the last one that does not exceed the range's upper bound. Both bounds have the same unit, or units of the same
//! quantity.

use std::fmt::Display;
use std::str::FromStr;

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};

use super::POINTS_MAX;
use crate::error::{Location, StudyError};

/// A swept parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The name of the axis: a parameter of a workload such as `queue_depth`; `drive`, `platform` or `port`; or a model
    /// value such as `drive.flash.channels`.
    pub name: String,
    /// Values of the axis in order, as written.
    pub values: Vec<String>,
    /// Location of the axis in the file or on the command line.
    pub location: Location,
}

#[derive(Clone, Copy)]
enum RangeStep {
    By(f64),
    Times(f64),
}

impl Axis {
    /// Creates the axis `name` with the values of `texts`.
    ///
    /// # Errors
    /// Returns an error if there is no value, if a value appears twice, or if a range cannot be parsed.
    pub fn new(name: &str, texts: &[String], location: Location) -> Result<Self, StudyError> {
        let fail = |message: String| {
            StudyError::new(location.clone(), format!("axis `{name}`: {message}"))
                .hint("write values and ranges: 4,8,16 or 1..256*2 or 10..50+10")
        };
        let mut values: Vec<String> = Vec::new();
        for text in texts {
            values.extend(expand_values(text.trim()).map_err(fail)?);
        }
        if values.is_empty() || values.iter().any(String::is_empty) {
            return Err(fail("no values".to_owned()));
        }
        let mut sorted: Vec<&String> = values.iter().collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(fail(format!("`{}` is given twice", twice[0])));
        }
        Ok(Self { name: name.to_owned(), values, location })
    }

    /// Parses `name=values`.
    ///
    /// # Errors
    /// Returns an error if the text does not have this form.
    pub fn parse(text: &str) -> Result<Self, StudyError> {
        let location = Location::file(format!("--axis {text}"));
        let Some((name, values)) = text.split_once('=') else {
            return Err(StudyError::new(location, "expected NAME=VALUES")
                .hint("for example --axis queue_depth=1..256*2"));
        };
        let texts: Vec<String> = values.split(',').map(str::to_owned).collect();
        Self::new(name.trim(), &texts, location)
    }
}

/// Returns the values of a range, or the single value `text`.
fn expand_values(text: &str) -> Result<Vec<String>, String> {
    let Some((from, rest)) = text.split_once("..") else { return Ok(vec![text.to_owned()]) };
    let (to, step) = match rest.split_once(['*', '+']) {
        None => (rest, RangeStep::By(1.0)),
        Some((to, number)) => {
            let (value, unit) = split(number);
            let value = value.ok_or_else(|| format!("`{text}`: `{number}` is not a step"))?;
            if !rest.contains('*') {
                return range(text, from.trim(), to.trim(), RangeStep::By(value), unit);
            } else if unit.is_empty() {
                (to, RangeStep::Times(value))
            } else {
                return Err(format!("`{text}`: a factor must not have a unit"));
            }
        }
    };
    range(text, from.trim(), to.trim(), step, "")
}

fn range(
    text: &str,
    from: &str,
    to: &str,
    step: RangeStep,
    unit: &str,
) -> Result<Vec<String>, String> {
    let ((Some(low), from_unit), (Some(high), to_unit)) = (split(from), split(to)) else {
        return Err(format!("`{text}`: both ends of a range must be numbers"));
    };
    let step_unit = if unit.is_empty() { to_unit } else { unit };
    if (from_unit.is_empty() || from_unit == to_unit) && step_unit == to_unit {
        let values = numbers(text, low, high, step)?;
        return Ok(values.into_iter().map(|value| written(value, to_unit)).collect());
    }
    let texts = |step: &str| [from.to_owned(), to.to_owned(), step.to_owned()];
    let step_text = match step {
        RangeStep::By(value) => written(value, step_unit),
        RangeStep::Times(_) => to.to_owned(),
    };
    let ends = texts(&step_text);
    quantities::<Bytes>(text, &ends, step, |bytes| bytes.get(), Bytes)
        .or_else(|| {
            let value = |duration: Duration| duration.picoseconds();
            quantities(text, &ends, step, value, Duration::from_picoseconds)
        })
        .or_else(|| quantities(text, &ends, step, |rate: BytesPerSecond| rate.0, BytesPerSecond))
        .unwrap_or_else(|| Err(format!("`{text}`: both ends need units of the same quantity")))
}

/// Returns the values of the range, if both bounds and the step are quantities of one kind.
fn quantities<T: FromStr + Display>(
    text: &str,
    ends: &[String; 3],
    step: RangeStep,
    value: impl Fn(T) -> u64,
    quantity: impl Fn(u64) -> T,
) -> Option<Result<Vec<String>, String>> {
    let [low, high, by] = ends.each_ref().map(|end| end.parse::<T>().ok().map(&value));
    let low = low? as f64;
    let high = high? as f64;
    let by = by? as f64;
    let step = match step {
        RangeStep::By(_) => RangeStep::By(by),
        RangeStep::Times(_) => step,
    };
    let value_texts = |values: Vec<f64>| {
        values.into_iter().map(|value| quantity(value.round() as u64).to_string()).collect()
    };
    Some(numbers(text, low, high, step).map(value_texts))
}

fn numbers(text: &str, low: f64, high: f64, step: RangeStep) -> Result<Vec<f64>, String> {
    if low > high {
        return Err(format!("`{text}`: the range ends below its start"));
    }
    let value: Box<dyn Fn(usize) -> f64> = match step {
        RangeStep::By(by) if by > 0.0 => Box::new(move |index| low + by * index as f64),
        RangeStep::By(_) => return Err(format!("`{text}`: the step must be above zero")),
        RangeStep::Times(factor) if factor > 1.0 && low > 0.0 => {
            Box::new(move |index| low * factor.powi(index.min(1 << 20) as i32))
        }
        RangeStep::Times(factor) if factor > 1.0 => {
            return Err(format!("`{text}`: a range with a factor must begin above zero"));
        }
        RangeStep::Times(_) => return Err(format!("`{text}`: the factor must be above 1")),
    };
    // A value that exceeds the upper bound only because of rounding still belongs to the range.
    let most = high * (1.0 + 1e-9);
    let values: Vec<f64> =
        (0..=POINTS_MAX as usize).map(value).take_while(|&value| value <= most).collect();
    if values.len() as u64 > POINTS_MAX {
        Err(format!("`{text}`: more than {POINTS_MAX} values"))
    } else {
        Ok(values)
    }
}

/// Returns the number at the start of a text, and the unit that follows it.
fn split(text: &str) -> (Option<f64>, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number.replace('_', "").parse().ok(), unit.trim())
}

/// Returns a number without rounding errors, and its unit.
fn written(value: f64, unit: &str) -> String {
    let text = format!("{value:.9}");
    let number = text.trim_end_matches('0').trim_end_matches('.');
    match unit {
        "" | "%" | "/s" => format!("{number}{unit}"),
        unit => format!("{number} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Axis::parse(&format!("any={text}")).unwrap().values
    }

    #[test]
    fn lists_and_ranges_are_read() {
        assert_eq!(values("4,8, 16"), ["4", "8", "16"]);
        assert_eq!(values("1..20*2"), ["1", "2", "4", "8", "16"]);
        assert_eq!(values("10..35+10"), ["10", "20", "30"]);
        assert_eq!(values("1..3"), ["1", "2", "3"]);
        assert_eq!(values("0.1..0.3+0.1"), ["0.1", "0.2", "0.3"]);
        assert_eq!(values("50..60%+5%"), ["50%", "55%", "60%"]);
        assert_eq!(values("4KiB..16KiB*2"), ["4 KiB", "8 KiB", "16 KiB"]);
        assert_eq!(values("512KiB..2MiB*2"), ["512 KiB", "1 MiB", "2 MiB"]);
        assert_eq!(values("500 us..2 ms+500us"), ["500 us", "1 ms", "1.5 ms", "2 ms"]);
        assert_eq!(values("1000..4000/s*2"), ["1000/s", "2000/s", "4000/s"]);
        assert_eq!(values("1,3..4,zipf"), ["1", "3", "4", "zipf"]);
    }

    #[test]
    fn an_invalid_range_is_an_error() {
        for (text, message) in [
            ("", "no values"),
            ("1,,2", "no values"),
            ("4,4", "twice"),
            ("8..4", "below its start"),
            ("0..4*2", "above zero"),
            ("1..4*1", "above 1"),
            ("1..4+0", "above zero"),
            ("a..b", "number"),
            ("1..4*x", "step"),
            ("1 KiB..4 us*2", "same quantity"),
            ("1..9999999", "more than"),
            ("1..4*2KiB", "must not have a unit"),
        ] {
            let error = Axis::parse(&format!("any={text}")).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error}");
        }
        assert!(Axis::parse("queue_depth").unwrap_err().hint.is_some());
    }
}

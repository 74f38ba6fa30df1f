//! Numbers for readers, with three significant digits and a fixed mark for absent values.
//!
//! Column headers contain the units, and all numbers of a column have the same unit. Numbers are therefore written
//! without a unit, except for the percent sign and the `x` of a ratio. They are written without exponents, and with
//! commas between thousands.

use lanemark_schema::result::{LatencyHistogram, Sample, Statistic, TestResult};
pub(crate) use lanemark_schema::text::{ABSENT, grouped, latency_text, rate_text, significant};

/// The spread of figures whose shown digits are equal.
pub(crate) const NO_SPREAD: &str = "±<0.1%";

/// The relative error above which a figure is marked.
pub(crate) const ERROR_LARGE: f64 = 0.15;

/// Formats a published value with exactly the published digits.
pub(crate) fn published(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { ABSENT.to_owned() }
}

/// Formats `value` with `decimals` decimals and with commas between thousands; a negative zero is written as zero.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) => digits.to_owned(),
        _ => grouped(&text),
    }
}

/// Formats a share as a percentage with one decimal.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{}%", fixed(share * 100.0, 1)) } else { ABSENT.to_owned() }
}

/// Formats a share as a whole percentage, for running text.
pub(crate) fn percent_whole(share: f64) -> String {
    if share.is_finite() { format!("{}%", fixed(share * 100.0, 0)) } else { ABSENT.to_owned() }
}

/// Formats a deviation as a signed percentage.
pub(crate) fn percent_signed(deviation: f64) -> String {
    let text = percent(deviation);
    match text.as_str() {
        ABSENT | "0.0%" => text,
        _ if deviation > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// Formats a ratio with two decimals, `3.02x`, and a ratio below 0.1 with two digits, `0.00052x`.
pub(crate) fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{}x", ratio_number(value)) } else { ABSENT.to_owned() }
}

/// Formats a ratio like [`ratio`], without its unit.
pub(crate) fn ratio_number(value: f64) -> String {
    let decimals = if value > 0.0 && value < 0.1 { 1.0 - value.log10().floor() } else { 2.0 };
    fixed(value, decimals.min(9.0) as usize)
}

/// Ratio of an interval's bounds above which the interval predicts little.
const WIDE: f64 = 10.0;

/// Returns whether an interval is so wide that views mark it.
pub(crate) fn is_wide(low: f64, high: f64) -> bool {
    low.partial_cmp(&(high / WIDE)).is_none_or(|order| order.is_lt())
}

/// Formats an interval, such as `1.2–3.4`; an interval that spans more than a factor of ten is marked, as in `0.1–3.4
/// !`.
pub(crate) fn interval_text(low: f64, high: f64, text: impl Fn(f64) -> String) -> String {
    let mark = if is_wide(low, high) { " !" } else { "" };
    format!("{}–{}{mark}", text(low), text(high))
}

/// Formats a number that may be absent.
pub(crate) fn or_absent(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), text)
}

/// Returns the value of a figure; `None` if there are no repeats.
pub(crate) fn known_value(statistic: &Statistic) -> Option<f64> {
    (statistic.count > 0 && statistic.value.is_finite()).then_some(statistic.value)
}

/// Formats the spread of a figure, such as `±1.2%`; absent if there are neither repeats nor an interval.
pub(crate) fn spread(statistic: &Statistic) -> String {
    let is_known = statistic.has_range() && statistic.value != 0.0;
    or_absent(is_known.then(|| statistic.spread()).filter(|spread| spread.is_finite()), |spread| {
        match percent(spread).as_str() {
            "0.0%" => NO_SPREAD.to_owned(),
            percent => format!("±{percent}"),
        }
    })
}

/// Returns the mean latency in ns; `None` if no request was counted.
pub(crate) fn latency_mean_ns(latency: &LatencyHistogram) -> Option<f64> {
    latency.mean_known_ns()
}

/// Returns whether a latency of the test was measured, either per request or by the device.
pub(crate) fn has_latency(result: &TestResult) -> bool {
    let measured = |sample: &Sample| sample.operations() > 0 && !sample.lacks_latencies();
    result.samples.iter().any(measured)
}

/// Returns the processor time per request in ns, averaged over the repeats in which it is known.
pub(crate) fn cpu_ns(result: &TestResult) -> Option<f64> {
    let known: Vec<f64> = result
        .samples
        .iter()
        .filter_map(|sample| sample.cpu)
        .map(|cpu| cpu.user_ns_per_request + cpu.system_ns_per_request)
        .collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// The unit of the latencies in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatencyUnit {
    Microseconds,
    Milliseconds,
}

impl LatencyUnit {
    /// Returns milliseconds if the smallest latency is 1 ms or more, or the largest is 100 ms or more; otherwise
    /// microseconds.
    pub(crate) fn fitting(latencies_ns: impl Iterator<Item = f64>) -> Self {
        let known = latencies_ns.filter(|ns| ns.is_finite() && *ns > 0.0);
        let (least, greatest) = known.fold((f64::INFINITY, 0.0_f64), |(least, greatest), ns| {
            (least.min(ns), greatest.max(ns))
        });
        if least.is_finite() && (least >= 1e6 || greatest >= 1e8) {
            Self::Milliseconds
        } else {
            Self::Microseconds
        }
    }

    /// Returns the unit's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
        }
    }

    /// Converts `ns` to this unit.
    pub(crate) fn convert(self, ns: f64) -> f64 {
        match self {
            Self::Microseconds => ns / 1e3,
            Self::Milliseconds => ns / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::workload::AverageMethod;

    #[test]
    fn signs_are_shown_except_for_zero() {
        assert_eq!(percent_signed(0.032), "+3.2%");
        assert_eq!(percent_signed(-0.032), "-3.2%");
        assert_eq!(percent_signed(-0.0001), "0.0%");
        assert_eq!(percent_signed(f64::INFINITY), ABSENT);
    }

    #[test]
    fn a_single_repeat_lacks_a_spread() {
        assert_eq!(spread(&Statistic::from_values(&[5.0], AverageMethod::Mean)), ABSENT);
        assert_eq!(spread(&Statistic::from_values(&[9.0, 11.0], AverageMethod::Mean)), "±10.0%");
        assert_eq!(spread(&Statistic::default()), ABSENT);
    }

    #[test]
    fn the_latency_unit_fits_minimum_and_maximum() {
        let fitting = |ns: &[f64]| LatencyUnit::fitting(ns.iter().copied());
        assert_eq!(fitting(&[25e3, 15e6]), LatencyUnit::Microseconds);
        assert_eq!(fitting(&[2e6, 15e6]), LatencyUnit::Milliseconds);
        assert_eq!(fitting(&[25e3, 150e6]), LatencyUnit::Milliseconds);
        assert_eq!(fitting(&[]), LatencyUnit::Microseconds);
    }
}

//! Numbers for readers: three significant digits, and a fixed mark for absent values.
//!
//! Units are in column headers and are the same for a whole column, so no number has a unit except the percent sign and
//! the `x` of a ratio. Numbers have no exponents. A page groups digits with [`grouped`], a terminal does not.

use lanemark_schema::result::{LatencyHistogram, Sample, Statistic, TestResult};

/// Text that replaces an absent value.
pub(crate) const ABSENT: &str = "–";

/// The spread of figures that differ by less than the shown digits.
pub(crate) const NO_SPREAD: &str = "±<0.1%";

/// The error above which a figure is marked as missed.
pub(crate) const ERROR_LARGE: f64 = 0.15;

/// Formats `value` with three significant digits, all digits of the whole part, and up to three decimals.
pub(crate) fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        ABSENT.to_owned()
    } else if magnitude == 0.0 {
        "0".to_owned()
    } else if magnitude < 0.0005 {
        "<0.001".to_owned()
    } else {
        // At these limits, rounding to fewer decimals would carry into one more digit.
        let decimals = match magnitude {
            m if m >= 99.95 => 0,
            m if m >= 9.995 => 1,
            m if m >= 0.9995 => 2,
            _ => 3,
        };
        format!("{value:.decimals$}")
    }
}

/// Formats a published value with exactly the published digits.
pub(crate) fn published(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { ABSENT.to_owned() }
}

/// Formats `value` with `decimals` decimals, and never as a negative zero.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

/// Groups the digits of a number with commas between thousands, as pages show it.
pub(crate) fn grouped(text: &str) -> String {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).count();
    let start = text.find(|character: char| character.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(&text[start..]);
    let mut shown = text[..start].to_owned();
    for (place, digit) in text[start..start + whole].chars().enumerate() {
        if place > 0 && (whole - place) % 3 == 0 {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown + &text[start + whole..]
}

/// Formats a share as a percentage with one decimal.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{}%", fixed(share * 100.0, 1)) } else { ABSENT.to_owned() }
}

/// Formats a share as a whole percentage, for running text.
pub(crate) fn percent_whole(share: f64) -> String {
    if share.is_finite() { format!("{}%", fixed(share * 100.0, 0)) } else { ABSENT.to_owned() }
}

/// Formats a deviation as a percentage with its sign.
pub(crate) fn percent_signed(deviation: f64) -> String {
    let text = percent(deviation);
    match text.as_str() {
        ABSENT | "0.0%" => text,
        _ if deviation > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// Formats a ratio with two decimals, `3.02x`.
pub(crate) fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{}x", fixed(value, 2)) } else { ABSENT.to_owned() }
}

/// Ratio of an interval's ends above which the interval predicts little.
const WIDE: f64 = 10.0;

/// Returns whether an interval is so wide that views mark it.
pub(crate) fn is_wide(low: f64, high: f64) -> bool {
    low.partial_cmp(&(high / WIDE)).is_none_or(|order| order.is_lt())
}

/// Formats an interval, `1.2–3.4`; an interval that spans more than a factor of ten is marked, `0.1–3.4 !`.
pub(crate) fn interval_text(low: f64, high: f64, text: impl Fn(f64) -> String) -> String {
    let mark = if is_wide(low, high) { " !" } else { "" };
    format!("{}–{}{mark}", text(low), text(high))
}

/// Formats a number that may be absent.
pub(crate) fn or_absent(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), text)
}

/// Returns a figure; absent without repeats.
pub(crate) fn known(statistic: &Statistic) -> Option<f64> {
    (statistic.count > 0 && statistic.value.is_finite()).then_some(statistic.value)
}

/// Formats the spread of a figure, `±1.2%`; absent if neither repeats nor an interval give one.
pub(crate) fn spread(statistic: &Statistic) -> String {
    let told = statistic.has_range() && statistic.value != 0.0;
    or_absent(told.then(|| statistic.spread()).filter(|spread| spread.is_finite()), |spread| {
        match percent(spread).as_str() {
            "0.0%" => NO_SPREAD.to_owned(),
            percent => format!("±{percent}"),
        }
    })
}

/// Returns the mean latency in ns; absent if no request was counted.
pub(crate) fn latency_mean_ns(latency: &LatencyHistogram) -> Option<f64> {
    latency.mean_known_ns()
}

/// Returns whether the latency of any request of a test was measured, per request or by the device.
pub(crate) fn has_latency(result: &TestResult) -> bool {
    let measured = |sample: &Sample| sample.operations() > 0 && !sample.lacks_latencies();
    result.samples.iter().any(measured)
}

/// The unit of the latencies in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatencyUnit {
    Microseconds,
    Milliseconds,
}

impl LatencyUnit {
    /// Returns milliseconds if the minimum latency is at least one or the maximum at least a hundred of them, otherwise
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
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
        }
    }

    /// Converts `ns` to this unit.
    pub(crate) fn of(self, ns: f64) -> f64 {
        match self {
            Self::Microseconds => ns / 1e3,
            Self::Milliseconds => ns / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::workload::Average;

    #[test]
    fn thousands_are_apart() {
        let told = ["12", "1610", "-1234567.25", "(0.12345)", "–"].map(grouped);
        assert_eq!(told, ["12", "1,610", "-1,234,567.25", "(0.12345)", "–"]);
    }

    #[test]
    fn three_digits_are_significant() {
        let cases = [
            (1610.4, "1610"),
            (99.96, "100"),
            (37.24, "37.2"),
            (9.996, "10.0"),
            (2.345, "2.35"),
            (0.0251, "0.025"),
            (0.0001, "<0.001"),
            (0.0, "0"),
            (-37.24, "-37.2"),
            (f64::NAN, ABSENT),
            (f64::INFINITY, ABSENT),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn signs_are_shown_and_zero_has_none() {
        assert_eq!(percent_signed(0.032), "+3.2%");
        assert_eq!(percent_signed(-0.032), "-3.2%");
        assert_eq!(percent_signed(-0.0001), "0.0%");
        assert_eq!(percent_signed(f64::INFINITY), ABSENT);
    }

    #[test]
    fn a_single_repeat_has_no_spread() {
        assert_eq!(spread(&Statistic::of(&[5.0], Average::Mean)), ABSENT);
        assert_eq!(spread(&Statistic::of(&[9.0, 11.0], Average::Mean)), "±10.0%");
        assert_eq!(spread(&Statistic::default()), ABSENT);
    }

    #[test]
    fn the_latency_unit_fits_least_and_greatest() {
        let fitting = |ns: &[f64]| LatencyUnit::fitting(ns.iter().copied());
        assert_eq!(fitting(&[25e3, 15e6]), LatencyUnit::Microseconds);
        assert_eq!(fitting(&[2e6, 15e6]), LatencyUnit::Milliseconds);
        assert_eq!(fitting(&[25e3, 150e6]), LatencyUnit::Milliseconds);
        assert_eq!(fitting(&[]), LatencyUnit::Microseconds);
    }
}

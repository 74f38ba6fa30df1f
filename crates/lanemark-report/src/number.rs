//! Numbers as people read them: three significant digits, a fixed mark for what is absent.
//!
//! Units stand in column headers and are the same down a column, so no number here carries one but the
//! percent sign and the `x` of a ratio. No exponents; a page groups digits with [`grouped`], a terminal
//! does not.

use lanemark_core::result::{LatencyHistogram, Statistic, TestResult};

/// Text shown where a result has no value.
pub(crate) const ABSENT: &str = "–";

/// The error above which a figure is marked as missed.
pub(crate) const ERROR_DOUBTFUL: f64 = 0.15;

/// `value` with three significant digits, all digits of the whole part, and at most three decimals.
pub(crate) fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        ABSENT.to_owned()
    } else if magnitude == 0.0 {
        "0".to_owned()
    } else if magnitude < 0.0005 {
        "<0.001".to_owned()
    } else {
        // The edges are where rounding to fewer decimals would carry into one more digit.
        let decimals = match magnitude {
            m if m >= 99.95 => 0,
            m if m >= 9.995 => 1,
            m if m >= 0.9995 => 2,
            _ => 3,
        };
        format!("{value:.decimals$}")
    }
}

/// A published value with the digits that were published and no others.
pub(crate) fn published(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { ABSENT.to_owned() }
}

/// `value` with so many decimals, and never a negative zero.
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

/// The text of a number with commas between thousands, as pages show it.
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

/// A share as a percentage with one decimal.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{}%", fixed(share * 100.0, 1)) } else { ABSENT.to_owned() }
}

/// A share as a whole percentage, for running text.
pub(crate) fn percent_whole(share: f64) -> String {
    if share.is_finite() { format!("{}%", fixed(share * 100.0, 0)) } else { ABSENT.to_owned() }
}

/// A deviation as a percentage with its sign.
pub(crate) fn percent_signed(deviation: f64) -> String {
    let text = percent(deviation);
    match text.as_str() {
        ABSENT | "0.0%" => text,
        _ if deviation > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// A ratio with two decimals, `3.02x`.
pub(crate) fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{}x", fixed(value, 2)) } else { ABSENT.to_owned() }
}

/// The text of a number that may be absent.
pub(crate) fn or_absent(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), text)
}

/// A figure, absent where no repeat stands behind it.
pub(crate) fn known(statistic: &Statistic) -> Option<f64> {
    (statistic.count > 0 && statistic.value.is_finite()).then_some(statistic.value)
}

/// The spread of a figure over its repeats, `±1.2%`; absent below two repeats, where there is none.
pub(crate) fn spread(statistic: &Statistic) -> String {
    let told = statistic.count > 1 && statistic.value != 0.0;
    or_absent(told.then(|| statistic.spread()).filter(|spread| spread.is_finite()), |spread| {
        format!("±{}", percent(spread))
    })
}

/// The mean latency in ns, absent where no request was counted.
pub(crate) fn latency_mean_ns(latency: &LatencyHistogram) -> Option<f64> {
    (latency.count() > 0).then(|| latency.mean_ns())
}

/// Whether any request of a test was counted, by itself or by the device, so that its mean latency means something.
pub(crate) fn has_latency(result: &TestResult) -> bool {
    result.samples.iter().any(|sample| sample.operations() > 0)
}

/// The unit in which the latencies of one table are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatencyUnit {
    Microseconds,
    Milliseconds,
}

impl LatencyUnit {
    /// Milliseconds where the least latency has one or the greatest a hundred, microseconds otherwise.
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

    /// `ns` in this unit.
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
    use lanemark_core::workload::Average;

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

//! The words for a ratio: its interval and its verdict.

use lanemark_schema::result::{RatioEstimate, RatioVerdict};

use super::number::{fixed, grouped, percent_signed, ratio, ratio_number};

/// The clause for two figures whose interval is within 3% of 1.
pub(crate) const SAME: &str = "the same within 3%";
/// The clause for two figures whose interval contains 1.
pub(crate) const NOT_SHOWN: &str = "no difference shown";

/// Returns a change with its 80% interval, such as `20% (12 to 29%)` for a ratio of 1.2 or of 0.8. The direction is in
/// the sentence around it.
pub(crate) fn size_of_change(change: RatioEstimate) -> String {
    let share = |ratio: f64| grouped(&fixed((ratio - 1.0).abs() * 100.0, 0));
    let size = share(change.ratio());
    match change.interval_80() {
        Some((low, high)) => {
            let near = if change.ratio() < 1.0 { high } else { low };
            let far = if change.ratio() < 1.0 { low } else { high };
            format!("{size}% ({} to {}%)", share(near), share(far))
        }
        None => format!("{size}% (interval not known)"),
    }
}

/// Returns the 80% interval of a change for a table, such as `+12% to +29%`.
pub(crate) fn interval_of_change(change: RatioEstimate) -> Option<String> {
    let (low, high) = change.interval_80()?;
    let end = |ratio: f64| percent_signed(ratio - 1.0);
    Some(format!("{} to {}", end(low), end(high)))
}

/// Returns a ratio with its 80% interval, such as `1.50x (1.25 to 2.00)`.
pub(crate) fn ratio_with_interval(estimate: RatioEstimate) -> String {
    match estimate.interval_80() {
        Some((low, high)) => {
            format!("{} ({} to {})", ratio(estimate.ratio()), ratio_number(low), ratio_number(high))
        }
        None => ratio(estimate.ratio()),
    }
}

/// Returns a ratio with its 80% interval and its test, such as `1.50x (1.25 to 2.00; SEQ1M)`.
pub(crate) fn ratio_in_test(estimate: RatioEstimate, test: &str) -> String {
    match estimate.interval_80() {
        Some((low, high)) => {
            format!(
                "{} ({} to {}; {test})",
                ratio(estimate.ratio()),
                ratio_number(low),
                ratio_number(high)
            )
        }
        None => format!("{} ({test})", ratio(estimate.ratio())),
    }
}

/// Returns whether the interval shows a difference.
pub(crate) fn is_shown(estimate: RatioEstimate) -> bool {
    matches!(estimate.verdict(), RatioVerdict::Higher | RatioVerdict::Lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_stated_with_the_interval_of_the_change() {
        let gain = RatioEstimate::within(1.2, 1.12, 1.29);
        let loss = RatioEstimate::within(0.8, 0.7, 0.95);
        assert_eq!(size_of_change(gain), "20% (12 to 29%)");
        assert_eq!(size_of_change(loss), "20% (5 to 30%)");
        assert_eq!(interval_of_change(loss).unwrap(), "-30.0% to -5.0%");
        assert_eq!(ratio_with_interval(gain), "1.20x (1.12 to 1.29)");
        let tiny = RatioEstimate::within(0.000_52, 0.000_41, 0.11);
        assert_eq!(ratio_with_interval(tiny), "0.00052x (0.00041 to 0.11)");
        let unknown = RatioEstimate::Uncertain { ratio: 12.0, interval_80: None };
        assert_eq!(size_of_change(unknown), "1,100% (interval not known)");
        assert!([gain, loss].into_iter().all(is_shown) && !is_shown(unknown));
    }
}

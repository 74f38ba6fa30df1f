//! The burst credits of a cloud volume under the load of a sample.

use serde::{Deserialize, Serialize};

use super::range::{COUNT_MAX, FIGURE_MAX, RangeCheck, TIME_MAX_NS, ValuePath, check_within};
use super::rate_phase::Reserve;
use crate::units::Duration;

/// The burst credits of a cloud volume under the load of a sample. Credits are operations or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CreditUse {
    /// The credits: [`Reserve::OperationCredits`] or [`Reserve::ThroughputCredits`].
    pub reserve: Reserve,
    /// Credits at the start.
    pub at_start: u64,
    /// Credits that the load uses a second, until they run out.
    pub used_per_second: f64,
    /// Credits that are refilled a second, which is also the rate of the volume without credits.
    pub refill_per_second: u64,
    /// Time at which the credits run out at this load, after its first request; absent if the refill is sufficient.
    #[serde(rename = "end_ns", default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Duration>,
    /// Whether the simulation reached that time. Otherwise the time is the credits divided by the load minus the
    /// refill.
    pub is_simulated: bool,
}

impl CreditUse {
    pub(super) fn check(&self, at: &ValuePath) -> RangeCheck {
        if !matches!(self.reserve, Reserve::OperationCredits | Reserve::ThroughputCredits) {
            let found = format!("{:?}", self.reserve);
            return at.key("reserve").fail(found, "operation_credits or throughput_credits");
        }
        check_within(&at.key("at_start"), self.at_start as f64, COUNT_MAX as f64)?;
        check_within(&at.key("used_per_second"), self.used_per_second, FIGURE_MAX)?;
        check_within(
            &at.key("refill_per_second"),
            self.refill_per_second as f64,
            COUNT_MAX as f64,
        )?;
        let end = self.end.unwrap_or_default();
        check_within(&at.key("end_ns"), end.nanoseconds() as f64, TIME_MAX_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_that_no_volume_has_are_rejected() {
        let credits = CreditUse {
            reserve: Reserve::OperationCredits,
            at_start: 5_400_000,
            used_per_second: 3_000.0,
            refill_per_second: 300,
            end: Some(Duration::from_seconds(2_000)),
            is_simulated: false,
        };
        let error_path = |credits: CreditUse| {
            credits.check(&ValuePath::from_root("credits")).map_err(|e| e.path)
        };
        assert_eq!(error_path(credits), Ok(()));
        assert_eq!(error_path(CreditUse { end: None, ..credits }), Ok(()));
        let wrong = |key: &str| Err(format!("credits.{key}"));
        assert_eq!(
            error_path(CreditUse { reserve: Reserve::PseudoSlc, ..credits }),
            wrong("reserve")
        );
        assert_eq!(error_path(CreditUse { at_start: u64::MAX, ..credits }), wrong("at_start"));
        for rate in [-1.0, f64::NAN, f64::INFINITY] {
            let credits = CreditUse { used_per_second: rate, ..credits };
            assert_eq!(error_path(credits), wrong("used_per_second"), "{rate}");
        }
        let credits = CreditUse { refill_per_second: u64::MAX, ..credits };
        assert_eq!(error_path(credits), wrong("refill_per_second"));
    }
}

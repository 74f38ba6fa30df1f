//! Samples that were only partly simulated, because their figures had converged.

use serde::{Deserialize, Serialize};

use super::range::{RangeCheck, TIME_MAX_NS, ValuePath, check_within};
use crate::units::Duration;

/// A test that was simulated until its figures had converged, or a complete test whose rate has a known precision.
///
/// The counts of the sample cover only the simulated part, so a percentile never depends on requests that were not
/// simulated. The start of the test, before the steady part, has the same weight in the sample as in the whole test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvergedTest {
    /// Number of simulated requests.
    pub simulated: u64,
    /// Expected number of requests of the whole test at this rate; if the test is complete, the number of simulated
    /// requests.
    pub requests: u64,
    /// Length of the whole test.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Duration,
    /// Beginning of the steady part, counted from the start of the sample.
    #[serde(rename = "steady_from_ns")]
    pub steady_from: Duration,
    /// Half the width of the rate's 95% confidence interval, as a share of the rate.
    pub half_width: f64,
}

impl ConvergedTest {
    pub(super) fn check(&self, at: &ValuePath) -> RangeCheck {
        let at = at.key("converged");
        if self.simulated == 0 || self.requests < self.simulated {
            let bound =
                format!("from 1 to the number of requests of the whole test, {}", self.requests);
            return at.key("simulated").fail(self.simulated, bound);
        }
        check_within(&at.key("elapsed_ns"), self.elapsed.nanoseconds() as f64, TIME_MAX_NS)?;
        check_within(
            &at.key("steady_from_ns"),
            self.steady_from.nanoseconds() as f64,
            TIME_MAX_NS,
        )?;
        check_within(&at.key("half_width"), self.half_width, 1.0)
    }
}

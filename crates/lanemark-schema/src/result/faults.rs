//! The outcome of the faults of a simulated run.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Duration};

/// A fault and its effect on the host's requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultImpact {
    /// The fault as text, such as `power-cut boot=10s at=2s`.
    pub fault: String,
    /// Time at which the fault began.
    #[serde(rename = "at_ns")]
    pub at: Duration,
    /// Requests that failed because of the fault.
    pub failed: u64,
    /// Commands that were delayed or sent again because of the fault.
    pub held: u64,
    /// Requests that succeeded with wrong, lost or misdirected data, and flushes that stored nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub silent: u64,
    /// Acknowledged data that is lost.
    #[serde(rename = "lost_bytes")]
    pub lost: Bytes,
    /// Time from the beginning of the fault to the completion of the first successful request that was submitted after
    /// it; absent if no later request succeeded.
    #[serde(rename = "recovery_ns", default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Duration>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

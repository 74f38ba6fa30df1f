//! Values out of bounds, and the bounds that several specifications share.

use lanemark_schema::units::{BytesPerSecond, Duration};

/// A value that is impossible in a system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {bound}")]
pub struct SpecError {
    /// Path of the field, `drive.flash.planes`.
    pub field: &'static str,
    /// The value.
    pub value: String,
    /// The accepted values.
    pub bound: String,
}

/// The longest time that one step of a request can take: a core, a link's latency, a firmware, a die. It is far above
/// the time of any real step, and small enough that the summed times of all outstanding requests do not overflow.
pub const STEP_TIME_MAX: Duration = Duration::from_seconds(60);

/// Rejects the first of these times that is too long for a step of a request.
pub(super) fn check_step_times(
    times: impl IntoIterator<Item = (&'static str, Duration)>,
) -> Result<(), SpecError> {
    match times.into_iter().find(|(_, time)| *time > STEP_TIME_MAX) {
        None => Ok(()),
        Some((field, time)) => {
            let bound = format!("at most {STEP_TIME_MAX}");
            Err(SpecError { field, value: time.to_string(), bound })
        }
    }
}

/// Rejects a number outside the range from `low` to `high`.
pub(super) fn within(
    field: &'static str,
    value: u64,
    low: u64,
    high: u64,
) -> Result<(), SpecError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(SpecError { field, value: value.to_string(), bound: format!("from {low} to {high}") })
}

/// Checks that a rate is plausible.
///
/// # Errors
/// Returns an error if the rate is below 1 MB/s.
pub(super) fn check_rate(field: &'static str, rate: BytesPerSecond) -> Result<(), SpecError> {
    match rate.0 {
        0..1_000_000 => {
            Err(SpecError { field, value: rate.to_string(), bound: "at least 1 MB/s".to_owned() })
        }
        _ => Ok(()),
    }
}

//! Values out of bounds, and the bounds that several specifications share.

use lanemark_schema::units::{BytesPerSecond, Duration};

/// An invalid value of a system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {bound}")]
pub struct SpecError {
    /// Path of the field, such as `drive.flash.planes`.
    pub field: &'static str,
    /// The value.
    pub value: String,
    /// The accepted values.
    pub bound: String,
}

/// The maximum time of one step of a request: on a core, over a link, in firmware, or in a die. This limit is far above
/// the time of any real step, and low enough that the summed times of all outstanding requests do not overflow.
pub const STEP_TIME_MAX: Duration = Duration::from_seconds(60);

/// Returns an error for the first of these times that is too long for a step of a request.
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

/// Returns an error if a number is outside the range from `low` to `high`.
pub(super) fn check_within(
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

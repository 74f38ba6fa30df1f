//! The processor of a host bus adapter.

use super::bounds::{SpecError, check_step_times, within};
use crate::units::Duration;

/// The processor of a host bus adapter, through which the commands for all drives behind it go, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterSpec {
    /// Time that a command keeps the adapter's processor, from the request to its completion: the adapter's limit in
    /// commands a second.
    pub command_time: Duration,
    /// Number of commands outstanding above which the adapter is crowded; none where no number crowds it.
    pub crowded: Option<Crowded>,
}

/// The cost of commands at an adapter that holds too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowded {
    /// The most commands outstanding that do not crowd the adapter.
    pub above: u32,
    /// Time of a command while more are outstanding.
    pub command_time: Duration,
}

/// The most commands that can be said not to crowd an adapter.
pub const CROWDED_MAX: u32 = 65_536;

impl AdapterSpec {
    /// Checks what the simulator relies on.
    ///
    /// # Errors
    /// A value out of its bound.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        check_step_times([("adapter.command_time", self.command_time)])?;
        let Some(Crowded { above, command_time }) = self.crowded else { return Ok(()) };
        within("adapter.crowded", above.into(), 1, CROWDED_MAX.into())?;
        check_step_times([("adapter.crowded_time", command_time)])?;
        match command_time < self.command_time {
            true => Err(SpecError {
                field: "adapter.crowded_time",
                value: command_time.to_string(),
                bound: format!(
                    "at least the {} of an adapter with few commands",
                    self.command_time
                ),
            }),
            false => Ok(()),
        }
    }

    /// Time of a command while so many are outstanding.
    pub fn time(&self, outstanding: u32) -> Duration {
        match self.crowded {
            Some(Crowded { above, command_time }) if outstanding > above => command_time,
            _ => self.command_time,
        }
    }
}

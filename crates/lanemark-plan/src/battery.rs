//! Race to idle: the effect on battery life if a drive completes the same work sooner, or with less power.

use super::{Plan, PlanError, not_negative, number_text, positive};

/// A battery-powered computer with one drive, and a replacement for the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Battery {
    /// Mean power of the whole computer with the first drive, in W.
    pub system_watts: f64,
    /// Battery life with that power, in hours.
    pub hours: f64,
    /// Mean power of the first drive, in W.
    pub drive_watts: f64,
    /// Mean power of the other drive for the same work in the same time, in W.
    pub other_watts: f64,
}

impl Battery {
    /// Computes the gain in battery life from the other drive.
    ///
    /// # Errors
    /// Returns an error for an input that is not a power or a time, or for a drive's power that exceeds the power of
    /// the whole computer.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        let system = positive("system power", self.system_watts)?;
        let hours = positive("battery life", self.hours)?;
        let drive = not_negative("power of the drive", self.drive_watts)?;
        let other_drive_watts = not_negative("power of the other drive", self.other_watts)?;
        if drive >= system {
            let value = drive.to_string();
            let bound = "less than the system's power, which includes it";
            return Err(PlanError { input: "power of the drive", value, bound });
        }
        let mut plan = Plan::new("How much longer does a battery last with another drive?");
        let energy = plan.step(
            "energy of the battery",
            format!("{} W x {} h", number_text(system), number_text(hours)),
            system * hours,
            "Wh",
        );
        let rest = plan.step(
            "all but the drive",
            format!("{} - {} W", number_text(system), number_text(drive)),
            system - drive,
            "W",
        );
        let total_watts = plan.step(
            "with the other drive",
            format!("{rest:.3} + {} W", number_text(other_drive_watts)),
            rest + other_drive_watts,
            "W",
        );
        let lasts = plan.step(
            "new battery life",
            format!("{energy:.2} Wh / {total_watts:.3} W"),
            energy / total_watts,
            "h",
        );
        let gain = plan.step(
            "difference",
            format!("({lasts:.3} - {} h) x 60", number_text(hours)),
            (lasts - hours) * 60.0,
            "min",
        );
        plan.answer = format!(
            "The battery lasts {lasts:.2} h instead of {hours:.2} h: {} minutes {}.",
            gain.abs().round(),
            if gain < 0.0 { "less" } else { "more" }
        );
        plan.leave_out(&[
            "earlier sleep of the rest of the computer with a faster drive",
            "losses of converters, and the lower capacity of a battery at a higher load",
            "the power of the link: a link that wakes slowly keeps the processor out of deep sleep states",
        ]);
        Ok(plan)
    }
}

//! The energy of the drives of a simulated system, by part and by power state.

use serde::{Deserialize, Serialize};

use crate::units::Duration;

/// The energy of all drives of a system. The energies of the parts sum to the total. For each drive, the times of its
/// states sum to the elapsed time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyUse {
    /// Time during which the energy was metered.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Duration,
    /// Number of drives.
    pub drives: u32,
    /// Energy of all parts together, in J.
    pub energy_joules: f64,
    /// Mean power of the drives over the elapsed time, in W.
    pub power_mean_watts: f64,
    /// Energy by part of the drives.
    pub parts: Vec<EnergyPart>,
    /// Time of the drives in each power state.
    pub states: Vec<PowerStateUse>,
    /// Power of the whole platform, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformPower>,
}

/// The energy of one part of the drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyPart {
    /// Name of the part, such as `idle`, `controller` or `flash read`.
    pub name: String,
    /// Energy of the part, in J.
    pub energy_joules: f64,
}

/// The time of drives in a power state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerStateUse {
    /// `working`, `idle`, the name of a power state, or `waking`.
    pub name: String,
    /// Time in the state, summed over all drives.
    #[serde(rename = "time_ns")]
    pub time: Duration,
    /// Number of times that the drives entered the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
}

/// The power of a platform, and its battery life.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatformPower {
    /// Power of the platform without the drives, in W.
    pub base_watts: f64,
    /// Battery life with these drives, in hours, if the platform has a battery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub battery_hours: Option<f64>,
}

impl EnergyUse {
    /// Returns the share of the drives' time in a state.
    pub fn share(&self, state: &PowerStateUse) -> f64 {
        state.time.as_seconds() / (self.elapsed.as_seconds() * f64::from(self.drives))
    }
}

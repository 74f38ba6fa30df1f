//! The energy of the drives of a simulated system, by part and by power state.

use serde::{Deserialize, Serialize};

use super::{Sample, Statistic, TestResult};
use crate::units::Duration;
use crate::workload::Average;

/// The energy of all drives of a system. Parts sum to the whole; the times of states sum to the elapsed time once for
/// each drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyUse {
    /// The time over which it was metered.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Duration,
    /// Number of drives.
    pub drives: u32,
    /// Everything together.
    pub energy_joules: f64,
    /// Mean power of the drives over the elapsed time, in W.
    pub power_mean_watts: f64,
    /// Energy by part of the drives.
    pub parts: Vec<EnergyPart>,
    /// Time of the drives in each power state.
    pub states: Vec<PowerStateUse>,
    /// Power of the whole platform, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformPower>,
}

/// The energy of one part of the drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyPart {
    /// `idle`, `controller`, `flash read` and so on.
    pub name: String,
    /// Energy of the part, in J.
    pub energy_joules: f64,
}

/// The time of drives in a power state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerStateUse {
    /// `working`, `idle`, a state by its name, or `waking`.
    pub name: String,
    /// Time in the state, summed over all drives.
    #[serde(rename = "time_ns")]
    pub time: Duration,
    /// Number of times that the state was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
}

/// The power of a platform, and how long its battery lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatformPower {
    /// Everything but the drives.
    pub base_watts: f64,
    /// Battery life with these drives, in hours, where there is a battery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub battery_hours: Option<f64>,
}

impl EnergyUse {
    /// The share of the drives' time in a state.
    pub fn share(&self, state: &PowerStateUse) -> f64 {
        state.time.as_seconds() / (self.elapsed.as_seconds() * f64::from(self.drives))
    }
}

impl Sample {
    /// Joules for 10^9 bytes, where what the drives took is known and anything was moved.
    pub fn joules_per_gigabyte(&self) -> Option<f64> {
        let rate = self.throughput().0 as f64 / 1e9;
        let watts = self.energy.as_ref()?.power_mean_watts;
        (rate > 0.0).then(|| watts / rate)
    }

    /// Requests a second for each watt, where what the drives took is known and above zero.
    pub fn iops_per_watt(&self) -> Option<f64> {
        let watts = self.energy.as_ref()?.power_mean_watts;
        (watts > 0.0).then(|| self.iops() / watts)
    }
}

impl TestResult {
    /// The mean power of the drives over the repeats, where each knows it.
    pub fn power_mean_watts(&self) -> Option<Statistic> {
        self.over(|sample| Some(sample.energy.as_ref()?.power_mean_watts))
    }

    /// Joules for 10^9 bytes over the repeats, where each knows it.
    pub fn joules_per_gigabyte(&self) -> Option<Statistic> {
        self.over(Sample::joules_per_gigabyte)
    }

    /// Requests a second for each watt over the repeats, where each knows it.
    pub fn iops_per_watt(&self) -> Option<Statistic> {
        self.over(Sample::iops_per_watt)
    }

    /// Returns the battery life of the platform, in hours, over the repeats, where each knows it.
    pub fn battery_hours(&self) -> Option<Statistic> {
        self.over(|sample| sample.energy.as_ref()?.platform?.battery_hours)
    }

    fn over(&self, value: impl Fn(&Sample) -> Option<f64>) -> Option<Statistic> {
        let values: Option<Vec<f64>> = self.samples.iter().map(value).collect();
        values
            .filter(|values| !values.is_empty())
            .map(|values| Statistic::of(&values, Average::Mean))
    }
}

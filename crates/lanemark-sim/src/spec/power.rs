//! The power of a drive, and the states that it enters when it is idle.
//!
//! NAND data sheets state the current of a die while it senses (ICC1), programs (ICC2) and erases (ICC3), and the
//! current of its pins while data moves (ICC4). Each current multiplied by the supply voltage is a power. A hard disk
//! constantly rotates its platters, and draws additional power while it moves its arm and while it reads or writes. The
//! other parts (controller and memory) draw one power while there is work, and another power otherwise.
//!
//! States are ordered by depth: Partial, Slumber and DevSleep of Serial ATA 3.2, the power states of NVM Express with
//! their entry and exit latencies, and the standby state of a disk, in which the platters do not turn.

use super::bounds::SpecError;
use super::media::MediaSpec;
use lanemark_schema::units::{Duration, Joules, Watts};

/// Maximum number of states of a drive: the limit of an NVMe controller (NVM Express 1.2, 5.11.2).
pub const POWER_STATES_MAX: usize = 32;
/// Maximum accepted power, which exceeds the power of any drive or platform.
pub const POWER_MAX: Watts = Watts::from_milliwatts(10_000_000);
/// Maximum idle time before a state, and maximum duration of its transitions.
pub const POWER_TIME_MAX: Duration = Duration::from_seconds(3600);

/// The power of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerSpec {
    /// Power of a drive that is awake without work; for a disk, with spinning platters.
    pub idle: Watts,
    /// Additional power of controller and memory while there is work, above `idle`.
    pub controller: Watts,
    /// Additional power of busy media, above `idle`.
    pub media: MediaPower,
    /// Power states that the drive enters when it is idle, the shallowest first.
    pub states: Vec<PowerState>,
}

/// Power of busy media, for each busy part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaPower {
    /// Flash.
    Flash {
        /// Power of a die that senses.
        read: Watts,
        /// Power of a die that programs.
        program: Watts,
        /// Power of a die that erases.
        erase: Watts,
        /// Power of a channel that moves data.
        channel: Watts,
    },
    /// A hard disk.
    Disk {
        /// Power while the arm moves.
        seek: Watts,
        /// Power while sectors are read or written.
        transfer: Watts,
    },
}

/// A part of the media that has its own power while it is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MediaPart {
    /// The part's name in results.
    pub name: &'static str,
    /// Key of the part's power in a drive's file.
    pub field: &'static str,
    /// Power of the part while it is busy.
    pub power: Watts,
}

/// A power state, in which the drive draws less power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerState {
    /// Name of the state, such as `slumber`.
    pub name: String,
    /// Power of the drive in the state.
    pub power: Watts,
    /// Time without work before the drive enters the state.
    pub after: Duration,
    /// Time of the entry.
    pub entry: Duration,
    /// Time of the exit; the command that wakes the drive waits for this time.
    pub exit: Duration,
    /// Power during the exit, which is higher for platters that start to turn.
    pub exit_power: Watts,
}

/// Power of a platform without its drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPower {
    /// Power of all parts of the platform except the drives.
    pub base: Watts,
    /// Capacity of the battery, if there is one.
    pub battery: Option<Joules>,
}

impl MediaPower {
    /// Returns the parts of the media, in the order in which the media report their busy times.
    pub(crate) fn parts(&self) -> Vec<MediaPart> {
        let media_part = |name, field, power| MediaPart { name, field, power };
        match *self {
            Self::Flash { read, program, erase, channel } => vec![
                media_part("flash read", "drive.power.read", read),
                media_part("flash program", "drive.power.program", program),
                media_part("flash erase", "drive.power.erase", erase),
                media_part("flash channels", "drive.power.channel", channel),
            ],
            Self::Disk { seek, transfer } => vec![
                media_part("arm", "drive.power.seek", seek),
                media_part("heads", "drive.power.transfer", transfer),
            ],
        }
    }
}

impl PowerState {
    /// Returns the idle time after which the drive is in the state.
    pub(crate) fn reached_after(&self) -> Duration {
        self.after + self.entry
    }
}

impl HostPower {
    /// Returns the battery life in hours if the drives draw `drives` W on average.
    pub fn battery_hours(&self, drives: f64) -> Option<f64> {
        let watts = self.base.as_watts() + drives;
        self.battery.map(|battery| battery.as_joules() / watts / 3600.0)
    }
}

impl PowerSpec {
    pub(super) fn check(&self, media: &MediaSpec) -> Result<(), SpecError> {
        if !media.fits_power(&self.media) {
            let bound = "the power of the drive's own media".to_owned();
            return Err(SpecError { field: "drive.power", value: "other media".to_owned(), bound });
        }
        let at_most = |field, value: Watts, most: Watts| {
            if value <= most {
                Ok(())
            } else {
                Err(SpecError { field, value: value.to_string(), bound: format!("at most {most}") })
            }
        };
        at_most("drive.power.idle", self.idle, POWER_MAX)?;
        at_most("drive.power.controller", self.controller, POWER_MAX)?;
        let parts = self.media.parts();
        parts.into_iter().try_for_each(|part| at_most(part.field, part.power, POWER_MAX))?;
        if self.states.len() > POWER_STATES_MAX {
            let bound = format!("at most {POWER_STATES_MAX} states");
            let value = self.states.len().to_string();
            return Err(SpecError { field: "drive.power.state", value, bound });
        }
        let mut power = self.idle;
        let mut reached = Duration::ZERO;
        for state in &self.states {
            at_most("drive.power.state.power", state.power, power)?;
            at_most("drive.power.state.exit_power", state.exit_power, POWER_MAX)?;
            for (field, time) in [
                ("drive.power.state.after", state.after),
                ("drive.power.state.entry", state.entry),
                ("drive.power.state.exit", state.exit),
            ] {
                if time > POWER_TIME_MAX {
                    let bound = format!("at most {POWER_TIME_MAX}");
                    return Err(SpecError { field, value: time.to_string(), bound });
                }
            }
            if state.after < reached {
                let bound = format!("at least {reached}, when the state before it is reached");
                let value = state.after.to_string();
                return Err(SpecError { field: "drive.power.state.after", value, bound });
            }
            power = state.power;
            reached = state.reached_after();
        }
        Ok(())
    }
}

impl HostPower {
    /// Checks the power of the platform against its bounds.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        let fail = |field, value: String, bound: String| Err(SpecError { field, value, bound });
        if self.base > POWER_MAX {
            let bound = format!("at most {POWER_MAX}");
            return fail("platform.power.base", self.base.to_string(), bound);
        }
        match self.battery {
            Some(battery) if battery == Joules::ZERO => {
                fail("platform.power.battery", battery.to_string(), "above zero".to_owned())
            }
            _ => Ok(()),
        }
    }
}

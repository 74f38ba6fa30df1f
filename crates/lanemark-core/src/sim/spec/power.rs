//! What a drive takes, and the states that it goes to when nothing is asked of it.
//!
//! NAND data sheets give the current of a die while it senses (ICC1), programs (ICC2) and erases (ICC3), and that
//! of its pins while data moves (ICC4): times the supply voltage that is the power of each. A hard disk turns its
//! platters all the time, moves its arm and reads or writes. Everything else, controller and memory, is one power
//! while there is work and another while there is none.
//!
//! States are ordered by depth: Partial, Slumber and DevSleep of Serial ATA 3.2, the power states of NVM Express
//! with their entry and exit latencies, standby of a disk whose platters stand still.

use super::super::spec::{DriveSpec, MediaSpec, SpecError, SystemSpec};
use crate::units::{Duration, Joules, Watts};

/// The most states of a drive: those of an NVMe controller (NVM Express 1.2, 5.11.2).
pub const POWER_STATES_MAX: usize = 32;
/// More than any drive or platform takes.
pub const POWER_MAX: Watts = Watts::from_milliwatts(10_000_000);
/// The longest time until a state and through its transitions.
pub const POWER_TIME_MAX: Duration = Duration::from_seconds(3600);

/// What a drive takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerSpec {
    /// Awake without anything to do; of a disk, with turning platters.
    pub idle: Watts,
    /// Controller and memory while there is work, above `idle`.
    pub controller: Watts,
    /// The media at work, above `idle`.
    pub media: MediaPower,
    /// What it goes to without work, the least deep first.
    pub states: Vec<PowerState>,
}

/// What media take while they work, for each part that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaPower {
    /// Flash.
    Flash {
        /// A die that senses.
        read: Watts,
        /// A die that programs.
        program: Watts,
        /// A die that erases.
        erase: Watts,
        /// A channel that moves data.
        channel: Watts,
    },
    /// A hard disk.
    Disk {
        /// While the arm moves.
        seek: Watts,
        /// While sectors are read or written.
        transfer: Watts,
    },
}

/// A state that takes less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerState {
    /// Its name, `slumber`.
    pub name: String,
    /// What the drive takes in it.
    pub power: Watts,
    /// How long nothing is asked before it goes there.
    pub after: Duration,
    /// How long it takes to get there.
    pub entry: Duration,
    /// How long it takes back, which the command that wakes it waits for.
    pub exit: Duration,
    /// What it takes on the way back: platters that start to turn take more than those that do.
    pub exit_power: Watts,
}

/// What a platform takes besides its drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPower {
    /// Everything but the drives.
    pub base: Watts,
    /// What its battery holds, where it has one.
    pub battery: Option<Joules>,
}

impl PowerState {
    /// How long nothing is asked before the drive is there.
    pub(crate) fn reached_after(&self) -> Duration {
        self.after + self.entry
    }
}

impl HostPower {
    /// How long the battery lasts, in hours, with drives that take `drives` on average.
    pub fn battery_hours(&self, drives: f64) -> Option<f64> {
        let watts = self.base.as_watts() + drives;
        self.battery.map(|battery| battery.as_joules() / watts / 3600.0)
    }
}

impl DriveSpec {
    /// Checks what it takes.
    pub(in super::super) fn check_power(&self) -> Result<(), SpecError> {
        let Some(spec) = &self.power else { return Ok(()) };
        let fits = matches!(
            (&self.media, spec.media),
            (MediaSpec::Flash(_), MediaPower::Flash { .. })
                | (MediaSpec::Disk(_), MediaPower::Disk { .. })
        );
        if !fits {
            let bound = "the power of the drive's own media".to_owned();
            return Err(SpecError { field: "drive.power", value: "other media".to_owned(), bound });
        }
        let at_most = |field, value: Watts, most: Watts| match value <= most {
            true => Ok(()),
            false => {
                let (value, bound) = (value.to_string(), format!("at most {most}"));
                Err(SpecError { field, value, bound })
            }
        };
        at_most("drive.power.idle", spec.idle, POWER_MAX)?;
        at_most("drive.power.controller", spec.controller, POWER_MAX)?;
        let parts = match spec.media {
            MediaPower::Flash { read, program, erase, channel } => vec![
                ("drive.power.read", read),
                ("drive.power.program", program),
                ("drive.power.erase", erase),
                ("drive.power.channel", channel),
            ],
            MediaPower::Disk { seek, transfer } => {
                vec![("drive.power.seek", seek), ("drive.power.transfer", transfer)]
            }
        };
        parts.into_iter().try_for_each(|(field, power)| at_most(field, power, POWER_MAX))?;
        if spec.states.len() > POWER_STATES_MAX {
            let bound = format!("at most {POWER_STATES_MAX} states");
            let value = spec.states.len().to_string();
            return Err(SpecError { field: "drive.power.state", value, bound });
        }
        let mut power = spec.idle;
        let mut reached = Duration::ZERO;
        for state in &spec.states {
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

impl SystemSpec {
    /// All its drives.
    pub(crate) fn drive_specs(&self) -> impl Iterator<Item = &DriveSpec> {
        self.attachments.iter().map(|attachment| &attachment.drive)
    }

    /// Whether what each of its drives takes is known.
    pub fn knows_power(&self) -> bool {
        self.drive_specs().all(|drive| drive.power.is_some())
    }
}

impl HostPower {
    /// Checks it.
    pub(in super::super) fn check(&self) -> Result<(), SpecError> {
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

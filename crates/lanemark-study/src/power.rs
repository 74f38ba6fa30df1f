//! The `[power]` tables of a drive and of a platform.

use lanemark_schema::units::Duration;
use lanemark_sim::spec::{HostPower, MediaPower, PowerSpec, PowerState};

use crate::document::Section;
use crate::error::StudyError;

/// Reads the power of a drive, if its file states it. The model checks whether the values are in bounds.
///
/// # Errors
/// Returns the first error in the table.
pub(crate) fn drive(root: &Section<'_>, is_disk: bool) -> Result<Option<PowerSpec>, StudyError> {
    let Some(section) = root.optional_table("power")? else { return Ok(None) };
    let media = if is_disk {
        MediaPower::Disk {
            seek: section.quantity("seek")?,
            transfer: section.quantity("transfer")?,
        }
    } else {
        MediaPower::Flash {
            read: section.quantity("read")?,
            program: section.quantity("program")?,
            erase: section.quantity("erase")?,
            channel: section.quantity("channel")?,
        }
    };
    let mut spec = PowerSpec {
        idle: section.quantity("idle")?,
        controller: section.quantity("controller")?,
        media,
        states: Vec::new(),
    };
    for state in section.tables("state")? {
        let read = state_of(&state, &spec)?;
        spec.states.push(read);
    }
    section.finish()?;
    Ok(Some(spec))
}

fn state_of(section: &Section<'_>, spec: &PowerSpec) -> Result<PowerState, StudyError> {
    let name = section.text("name")?;
    let taken = ["working", "idle", "waking"];
    if taken.contains(&name.as_str()) || spec.states.iter().any(|other| other.name == name) {
        return Err(section
            .error("name", format!("state `{name}` is defined twice"))
            .hint("`working`, `idle` and `waking` are reserved names"));
    }
    let latency = |key| section.optional_quantity::<Duration>(key);
    let state = PowerState {
        power: section.quantity("power")?,
        after: section.quantity("after")?,
        entry: latency("entry")?.unwrap_or_default(),
        exit: latency("exit")?.unwrap_or_default(),
        exit_power: section.optional_quantity("exit_power")?.unwrap_or(spec.idle),
        name,
    };
    section.finish()?;
    Ok(state)
}

/// Reads the power of a platform without its drives, if its file states it.
///
/// # Errors
/// Returns the first error in the table.
pub(crate) fn host(root: &Section<'_>) -> Result<Option<HostPower>, StudyError> {
    let Some(section) = root.optional_table("power")? else { return Ok(None) };
    let power = HostPower {
        base: section.quantity("base")?,
        battery: section.optional_quantity("battery")?,
    };
    section.finish()?;
    Ok(Some(power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use lanemark_schema::units::{Joules, Watts};

    fn drive_of(text: &str) -> Result<Option<PowerSpec>, String> {
        let document = Document::parse("d.toml", text).unwrap();
        let root = document.root("drive", None);
        drive(&root, false).map_err(|error| error.to_string())
    }

    const FLASH: &str = "[power]\nidle = \"70 mW\"\ncontroller = \"2 W\"\nread = \"80 mW\"\n\
                         program = \"90 mW\"\nerase = \"70 mW\"\nchannel = \"50 mW\"\n";

    #[test]
    fn states_are_read_in_order_without_empty_ones() {
        assert_eq!(drive_of("[drive]\n"), Ok(None));
        let states = "[[power.state]]\nname = \"PS3\"\npower = \"40 mW\"\nafter = \"275 ms\"\n\
                      entry = \"500 us\"\nexit = \"5 ms\"\n\
                      [[power.state]]\nname = \"PS4\"\npower = \"5 mW\"\nafter = \"1.2 s\"\n\
                      exit_power = \"1 W\"\n";
        let spec = drive_of(&format!("{FLASH}{states}")).unwrap().unwrap();
        assert_eq!(spec.idle, Watts::from_milliwatts(70));
        let [first, second] = spec.states.as_slice() else { panic!("two states") };
        assert_eq!((first.name.as_str(), first.entry), ("PS3", Duration::from_microseconds(500)));
        assert_eq!((first.exit_power, second.exit), (spec.idle, Duration::ZERO));
        assert_eq!(second.exit_power, Watts::from_milliwatts(1_000));
    }

    #[test]
    fn errors_are_reported() {
        assert!(drive_of("[power]\nidle = \"1 W\"\n").unwrap_err().contains("`read` is missing"));
        assert!(drive_of(&format!("{FLASH}seek = \"1 W\"\n")).unwrap_err().contains("seek"));
    }

    #[test]
    fn a_battery_of_a_platform_is_optional() {
        let host_of = |text: &str| {
            let document = Document::parse("p.toml", text).unwrap();
            host(&document.root("platform", None)).map_err(|error| error.to_string())
        };
        let base = Watts::from_milliwatts(8_200);
        let with = host_of("[power]\nbase = \"8.2 W\"\nbattery = \"50 Wh\"\n");
        let battery = Some(Joules::from_microjoules(180_000_000_000));
        assert_eq!(with, Ok(Some(HostPower { base, battery })));
        let without = host_of("[power]\nbase = \"8.2 W\"\n");
        assert_eq!(without, Ok(Some(HostPower { base, battery: None })));
        assert_eq!(host_of("[cpu]\n"), Ok(None));
    }
}

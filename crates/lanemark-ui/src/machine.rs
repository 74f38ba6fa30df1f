//! The machine on which `lanemark ui` ran, as one of the platforms: the command puts its file into the page.

use lanemark_study::system::SystemName;

/// The name of this machine in the list of platforms.
pub const NAME: &str = "this-machine";
/// The name of the machine's file on a command line or in a study.
pub const FILE: &str = "this-machine.toml";

/// Names a system of this machine by the platform's file, as a command line or a study does; `None` if the system uses
/// only the library.
pub fn by_file(system: &str) -> Option<String> {
    let mut name = SystemName::parse(system).ok()?;
    let rest = name.platform.strip_prefix(NAME)?;
    if !rest.is_empty() && !rest.starts_with(',') {
        return None;
    }
    name.platform = format!("{FILE}{rest}");
    Some(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_of_this_machine_are_named_by_its_file() {
        let own = |system: &str| by_file(system);
        assert_eq!(own("a@this-machine:nvme0n1").unwrap(), "a@this-machine.toml:nvme0n1");
        let volume = own("stripe-64KiB:a@this-machine,linux-fsync:sda+b:sdb").unwrap();
        assert_eq!(volume, "stripe-64KiB:a@this-machine.toml,linux-fsync:sda+b:sdb");
        for other in ["a@workstation-z170:m2", "a@this-machine-2:m2", "nonsense"] {
            assert_eq!(own(other), None, "{other}");
        }
    }
}

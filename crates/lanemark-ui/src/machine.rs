//! This machine as one of the platforms. It is read like `inspect --as-platform` when a page requests it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lanemark_lab::{LabError, machine};
use lanemark_study::document::Document;
use lanemark_study::inspected::InspectedPlatform;
use lanemark_study::system::SystemName;
use tokio::sync::Semaphore;

/// The name of this machine in the list of platforms.
pub const NAME: &str = "this-machine";
/// The display name.
const LABEL: &str = "This machine";
/// The name of the machine's file on a command line or in a study.
pub const FILE: &str = "this-machine.toml";
/// Time limit for reading the machine, because a failing device can block the reading of its files.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct MachineSource {
    path: PathBuf,
    /// Permits one reader at a time, so that a file that blocks forever occupies only one thread.
    reader: Arc<Semaphore>,
}

impl Default for MachineSource {
    fn default() -> Self {
        Self::at(machine::SYSFS.into())
    }
}

impl MachineSource {
    /// Uses the machine whose sysfs, or a capture of it, is at `path`.
    pub fn at(path: PathBuf) -> Self {
        Self { path, reader: Arc::new(Semaphore::new(1)) }
    }

    /// Reads the machine now.
    ///
    /// # Errors
    /// Returns an error if the machine cannot be read in time, or if no drive is on a link that a port could represent.
    pub async fn read(&self) -> Result<(Document, InspectedPlatform), LabError> {
        let broke = || LabError::run("this machine could not be read");
        let work = async {
            let reader = Arc::clone(&self.reader).acquire_owned().await.map_err(|_| broke())?;
            let path = self.path.clone();
            let read = tokio::task::spawn_blocking(move || {
                let _reader = reader;
                let made = machine::platform(&path, LABEL)?;
                Ok((Document::parse(FILE, &made.text)?, made))
            });
            read.await.map_err(|_| broke())?
        };
        let late = |_| {
            let seconds = PATIENCE.as_secs();
            LabError::run(format!("this machine could not be read within {seconds} s"))
                .hint("run `lanemark inspect` in a terminal to see the cause")
        };
        tokio::time::timeout(PATIENCE, work).await.map_err(late)?
    }
}

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

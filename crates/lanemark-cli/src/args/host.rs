//! The arguments of `lanemark host`, and the option `--host` of other commands.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use lanemark_lab::results;
use lanemark_schema::result::{RunResult, Target};
use lanemark_schema::units::Duration;
use lanemark_study::document::Document;
use lanemark_study::library::LibraryKind;
use lanemark_study::{Library, host};

use crate::failure::Failure;

/// Characters that separate the parts of a system, and that the name of a host therefore must not contain.
const NOT_IN_SYSTEMS: [char; 5] = [',', ':', '+', '|', '@'];

#[derive(Debug, ClapArgs)]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    pub(crate) command: HostCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostCommand {
    /// Measure the processor time of requests on this machine, and write it as a host file
    Measure(HostMeasureArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Without TARGET the driver's time is not measured, and the platform's value applies.
`lanemark sim SYSTEM WORKLOAD --host FILE` simulates a system with the measured host.")]
pub(crate) struct HostMeasureArgs {
    /// Block device, which is only read, or folder on the file system to measure
    pub(crate) target: Option<PathBuf>,
    /// Write the host to this file
    #[arg(long, value_name = "FILE", default_value = "measured-host.toml")]
    pub(crate) out: PathBuf,
    /// Name of the host in reports
    #[arg(long, default_value = "Measured host")]
    pub(crate) name: String,
    /// Duration of the measurement
    #[arg(long, default_value = "10s")]
    pub(crate) duration: Duration,
}

#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct HostOption {
    /// Host file from `lanemark host measure`, result of `lanemark bench` with a measured host, or library host, that
    /// replaces the platform's processor times
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
}

impl HostOption {
    /// Adds the measured host of a result to `library`, if the option names a result.
    pub(crate) fn add_to(&self, library: &mut Library) -> Result<(), Failure> {
        let Some(name) = self.host.as_deref().filter(|name| is_result(name)) else { return Ok(()) };
        let run = results::load_run(name)?;
        let Some(text) = host_of(&run) else {
            return Err(Failure::input(format!("--host {name}: the result lacks a measured host"))
                .hint("`lanemark bench` measures the host in runs of 20 s or longer"));
        };
        add(library, name, text)
    }

    /// Returns this option, or, if it is absent, the measured host of the result `run` in the file `name`. That host is
    /// added to `library`.
    pub(crate) fn or_measured(
        &self,
        name: &str,
        run: &RunResult,
        library: &mut Library,
    ) -> Result<Self, Failure> {
        let is_possible = self.host.is_none() && !name.contains(NOT_IN_SYSTEMS);
        match host_of(run).filter(|_| is_possible) {
            None => Ok(self.clone()),
            Some(text) => {
                add(library, name, text)?;
                Ok(Self { host: Some(name.to_owned()) })
            }
        }
    }

    /// Returns a system, `DRIVE@PLATFORM:PORT`, with the host from the option.
    pub(crate) fn of_system(&self, system: &str) -> Result<String, Failure> {
        let Some((drive, rest)) = system.split_once('@') else {
            // The system's own error is clearer.
            return Ok(system.to_owned());
        };
        Ok(format!("{drive}@{}", self.of_port(rest)?))
    }

    /// Returns a port, `PLATFORM:PORT`, with the host from the option.
    pub(crate) fn of_port(&self, port: &str) -> Result<String, Failure> {
        let Some(host) = &self.host else { return Ok(port.to_owned()) };
        // Additional drives of a system follow after `+` and name ports of the same platform.
        let first = port.split('+').next().unwrap_or_default();
        let platform = first.rsplit_once(':').map_or(first, |(platform, _)| platform);
        self.of_platform(platform)
            .map(|hosted| format!("{hosted}{}", &port[platform.len()..]))
            .map_err(|failure| {
                failure.hint(format!("omit `--host {host}`, or the host in the system"))
            })
    }

    /// Returns a platform with the host from the option.
    pub(crate) fn of_platform(&self, platform: &str) -> Result<String, Failure> {
        let Some(host) = &self.host else { return Ok(platform.to_owned()) };
        if let Some((_, own)) = platform.split_once(',') {
            let message = format!("--host {host}: the system already names the host `{own}`");
            return Err(Failure::input(message));
        }
        if let Some(wrong) = host.chars().find(|c| NOT_IN_SYSTEMS.contains(c)) {
            let message = format!("--host {host}: expected a path without `{wrong}`");
            return Err(Failure::input(message));
        }
        Ok(format!("{platform},{host}"))
    }
}

/// Returns whether a host is named by the path of a result.
fn is_result(name: &str) -> bool {
    let file = name.split('#').next().unwrap_or_default();
    Path::new(file).extension().is_some_and(|extension| extension == "json")
}

/// Returns the measured host of a result.
fn host_of(run: &RunResult) -> Option<&str> {
    match &run.target {
        Target::Measured(target) => target.host.as_deref(),
        _ => None,
    }
}

/// Adds the host file `text` from the result `name` to `library`.
fn add(library: &mut Library, name: &str, text: &str) -> Result<(), Failure> {
    let file = Document::parse(name, text)?;
    host::values(&file)?;
    library.add(LibraryKind::Host, name, file);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(host: Option<&str>) -> HostOption {
        HostOption { host: host.map(str::to_owned) }
    }

    #[test]
    fn a_host_follows_the_platform() {
        let host = option(Some("./h.toml"));
        for (system, wanted) in [
            ("d@p:m2", "d@p,./h.toml:m2"),
            ("./d.toml@./p.toml:m2+m2b+e:sata", "./d.toml@./p.toml,./h.toml:m2+m2b+e:sata"),
            ("stripe:d@p:a|b", "stripe:d@p,./h.toml:a|b"),
            ("d", "d"),
        ] {
            assert_eq!(host.of_system(system).unwrap(), wanted);
            assert_eq!(option(None).of_system(system).unwrap(), system);
        }
        assert_eq!(host.of_port("p:m2").unwrap(), "p,./h.toml:m2");
    }

    #[test]
    fn two_hosts_and_paths_that_a_system_cannot_contain_are_refused() {
        let failed = |host: &str, system: &str| {
            option(Some(host)).of_system(system).unwrap_err().to_string()
        };
        assert!(failed("h.toml", "d@p,other:m2").contains("already names the host `other`"));
        assert!(failed("a:b.toml", "d@p:m2").contains("a path without `:`"));
    }
}

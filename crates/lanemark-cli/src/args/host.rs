//! The arguments of `lanemark host`, and the option `--host` of other commands.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use lanemark_schema::units::Duration;

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

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct HostOption {
    /// Host file from `lanemark host measure`, or library host, that replaces the platform's processor times
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
}

impl HostOption {
    /// Returns a system, `DRIVE@PLATFORM:PORT`, with the host from the option.
    pub(crate) fn of_system(&self, system: &str) -> Result<String, crate::failure::Failure> {
        let Some((drive, rest)) = system.split_once('@') else {
            // The system's own error is clearer.
            return Ok(system.to_owned());
        };
        Ok(format!("{drive}@{}", self.of_port(rest)?))
    }

    /// Returns a port, `PLATFORM:PORT`, with the host from the option.
    pub(crate) fn of_port(&self, port: &str) -> Result<String, crate::failure::Failure> {
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
    pub(crate) fn of_platform(&self, platform: &str) -> Result<String, crate::failure::Failure> {
        let Some(host) = &self.host else { return Ok(platform.to_owned()) };
        if let Some((_, own)) = platform.split_once(',') {
            let message = format!("--host {host}: the system already names the host `{own}`");
            return Err(crate::failure::Failure::input(message));
        }
        if let Some(wrong) = host.chars().find(|c| [',', ':', '+', '|', '@'].contains(c)) {
            let message = format!("--host {host}: expected a path without `{wrong}`");
            return Err(crate::failure::Failure::input(message));
        }
        Ok(format!("{platform},{host}"))
    }
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

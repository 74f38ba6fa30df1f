//! The option `--host` of several commands.

use std::path::Path;

use clap::Args as ClapArgs;
use lanemark_lab::results;
use lanemark_study::Library;
use lanemark_study::host::{SEPARATORS, hosted};

use crate::output::failure::Failure;

#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct HostOption {
    /// Host file from `lanemark bench --host-only`, result of `lanemark bench` with a measured host, or library host,
    /// that replaces the platform's processor times
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
}

impl HostOption {
    /// Adds the measured host of a result to `library`, if the option names a result.
    pub(crate) fn add_to(&self, library: &mut Library) -> Result<(), Failure> {
        let Some(name) = self.host.as_deref().filter(|name| is_result(name)) else { return Ok(()) };
        let run = results::load_run(name)?;
        let Some(text) = run.measured_host() else {
            return Err(Failure::input(format!("--host {name}: the result lacks a measured host"))
                .hint("`lanemark bench` measures the host in runs of 20 s or longer"));
        };
        Ok(library.add_host(name, text)?)
    }

    /// Returns a system, `DRIVE@PLATFORM:PORT`, with the host from the option.
    pub(crate) fn of_system(&self, system: &str) -> Result<String, Failure> {
        if system.contains('@') {
            self.of_port(system)
        } else {
            // The system's own error is clearer.
            Ok(system.to_owned())
        }
    }

    /// Returns a port, `PLATFORM:PORT`, or a system with the host from the option.
    pub(crate) fn of_port(&self, port: &str) -> Result<String, Failure> {
        let Some(host) = &self.host else { return Ok(port.to_owned()) };
        hosted(port, host).ok_or_else(|| {
            let message = match host.chars().find(|c| SEPARATORS.contains(c)) {
                Some(wrong) => format!("--host {host}: expected a path without `{wrong}`"),
                None => {
                    let rest = port.split_once(',').map_or("", |(_, rest)| rest);
                    let own = rest.split([':', '+', '|']).next().unwrap_or_default();
                    format!("--host {host}: the system already names the host `{own}`")
                }
            };
            let hint = format!("omit `--host {host}`, or the host in the system");
            Failure::input(message).hint(hint)
        })
    }
}

/// Returns whether a host is named by the path of a result.
fn is_result(name: &str) -> bool {
    let file = name.split('#').next().unwrap_or_default();
    Path::new(file).extension().is_some_and(|extension| extension == "json")
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
        for system in ["d@p,other:m2", "stripe:d@p,other:a|b", "d@p,other:a+b"] {
            assert!(failed("h.toml", system).contains("already names the host `other`"));
        }
        assert!(failed("a:b.toml", "d@p:m2").contains("a path without `:`"));
    }
}

//! The ways to the ports of a drive.

use super::bounds::SpecError;
use crate::sim::link::LinkSpec;
use crate::units::Duration;

/// The links from the host to a port.
#[derive(Clone, Debug, PartialEq)]
pub struct WaySpec {
    /// Number of links of the trunk, counted from the host, that the way begins with.
    pub trunk: usize,
    /// The way's own links behind those, nearest to the host first.
    pub links: Vec<LinkSpec>,
}

/// The choice between the two ways of a drive for each command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Multipath {
    /// Each way in turn.
    #[default]
    RoundRobin,
    /// The first way for all commands, as long as it works.
    Failover,
}

/// The second port of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondPort {
    /// The way to the second port.
    pub way: WaySpec,
    /// Choice between both ports for each command.
    pub multipath: Multipath,
    /// Time that the host waits for an answer over a way that has failed.
    pub path_timeout: Duration,
}

impl SecondPort {
    /// Checks what the simulator relies on.
    ///
    /// # Errors
    /// A value out of its bound.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        let (value, bound) = ("0".to_owned(), "at least one of the port's own".to_owned());
        match self.way.links.is_empty() {
            true => Err(SpecError { field: "links of the second port", value, bound }),
            false => Ok(()),
        }
    }
}

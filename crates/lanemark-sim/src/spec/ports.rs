//! The paths to the ports of a drive.

use super::bounds::SpecError;
use crate::link::LinkSpec;

/// The links from the host to a port.
#[derive(Clone, Debug, PartialEq)]
pub struct PortPathSpec {
    /// Number of trunk links with which the path begins, counted from the host.
    pub trunk: usize,
    /// The path's own links after the trunk, the nearest to the host first.
    pub links: Vec<LinkSpec>,
}

/// The second port of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondPort {
    /// The path to the second port.
    pub port_path: PortPathSpec,
}

impl SecondPort {
    /// Checks the bounds on which the simulator relies.
    ///
    /// # Errors
    /// Returns an error if a value is out of bounds.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        let value = "0".to_owned();
        let bound = "1 or more of the port's own links".to_owned();
        if self.port_path.links.is_empty() {
            Err(SpecError { field: "links of the second port", value, bound })
        } else {
            Ok(())
        }
    }
}

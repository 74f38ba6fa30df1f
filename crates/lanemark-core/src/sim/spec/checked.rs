//! A system that passed its check: what the simulator, a test's driver and a replay take.

use std::ops::Deref;

use super::{SpecError, SystemSpec};
use crate::workload::Fault;

/// A system whose every value is within the bounds that the simulator relies on. It is read as the [`SystemSpec`]
/// that it was made of; one that is changed is checked anew.
///
/// ```
/// use lanemark_core::sim::SystemSpec;
///
/// let mut spec = SystemSpec::example();
/// let system = spec.clone().checked()?;
/// assert_eq!(system.drives(), 1);
///
/// spec.cpu.cores = 0;
/// let error = spec.checked().unwrap_err();
/// assert_eq!(error.to_string(), "platform.cpu.cores = 0: from 1 to 1024");
/// # Ok::<(), lanemark_core::sim::spec::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedSystem(SystemSpec);

impl SystemSpec {
    /// The system, if it can be.
    ///
    /// # Errors
    /// As [`SystemSpec::check`].
    pub fn checked(self) -> Result<CheckedSystem, SpecError> {
        self.check()?;
        Ok(CheckedSystem(self))
    }
}

impl CheckedSystem {
    /// The system with these faults besides its own.
    ///
    /// # Errors
    /// All faults that the system cannot have, each with what would be accepted.
    pub fn with_faults(&self, faults: &[Fault]) -> Result<Self, Vec<SpecError>> {
        let mut spec = self.0.clone();
        spec.faults.extend_from_slice(faults);
        let errors = spec.fault_errors();
        if errors.is_empty() { Ok(Self(spec)) } else { Err(errors) }
    }

    /// The plain values, to be changed.
    pub fn into_spec(self) -> SystemSpec {
        self.0
    }
}

impl Deref for CheckedSystem {
    type Target = SystemSpec;

    fn deref(&self) -> &SystemSpec {
        &self.0
    }
}

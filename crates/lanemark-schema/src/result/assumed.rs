//! An unpublished value that determines a simulated figure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The bottleneck of a simulated test, whose speed is determined by an assumed value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssumedLimit {
    /// Name of the bottleneck, such as `CPU core`.
    pub hop: String,
    /// Path of the value, such as `platform.cpu.request_submit`.
    pub parameter: String,
    /// The value with its unit.
    pub value: String,
    /// Lower and upper bound of the range that contains 80% of values of this kind, with their units.
    pub range: (String, String),
}

impl AssumedLimit {
    /// Whether the value belongs to the host instead of the drive.
    pub fn is_of_host(&self) -> bool {
        self.parameter.starts_with("platform.")
    }

    /// Returns how the user can replace the assumption.
    pub fn advice(&self) -> &'static str {
        if self.is_of_host() {
            "measure your host with `lanemark bench PATH --host-only measured-host.toml`, and use it with `--host measured-host.toml`"
        } else {
            "measure the drive with `lanemark bench` and fit it with `lanemark drive --from`"
        }
    }
}

impl fmt::Display for AssumedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hop, parameter, value, range: (low, high) } = self;
        if self.is_of_host() {
            write!(f, "limited by the host's time per request, which is assumed")?;
        } else {
            write!(f, "limited by {hop}, whose speed is assumed")?;
        }
        write!(f, ": {parameter} = {value}, {low} to {high}")
    }
}

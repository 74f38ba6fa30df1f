//! The target of a run: a modelled system, a file or device, or a database.

use serde::{Deserialize, Serialize};

use super::live::ServedTarget;
use super::transactions::DatabaseTarget;
use crate::units::Bytes;

/// The target on which a workload ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// A modelled drive in a port of a modelled platform.
    Simulated(SimulatedTarget),
    /// A file or block device of this machine.
    Measured(MeasuredTarget),
    /// A real database on which users ran transactions.
    Database(DatabaseTarget),
}

impl Target {
    /// Returns the modelled system that another process served as this target.
    pub fn served(&self) -> Option<&ServedTarget> {
        match self {
            Self::Simulated(_) => None,
            Self::Measured(target) => target.served.as_ref(),
            Self::Database(target) => target.served.as_ref(),
        }
    }
}

/// A modelled system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedTarget {
    /// `drive@platform:port`, or the name that a study uses for the system.
    pub system: String,
    /// Display name of the drive.
    pub drive: String,
    /// Display name of the platform.
    pub platform: String,
    /// Name of the port.
    pub port: String,
    /// Number of the model's values that have a source.
    pub values_sourced: u32,
    /// Number of values that were derived from sourced values.
    pub values_derived: u32,
    /// The unpublished values, by their paths in the library files.
    pub values_assumed: Vec<String>,
    /// The values that differ from the library.
    pub overrides: Vec<ParameterOverride>,
}

/// A real target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTarget {
    /// The path as the user wrote it.
    pub path: String,
    /// Whether the target is a block device rather than a file; absent if the source of the result does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<bool>,
    /// Size of the target while it was measured; absent if the source of the result does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<Bytes>,
    /// Type of the file system that contains the file, such as `ext4`.
    pub file_system: Option<String>,
    /// The block device that contains the target, such as `vda`.
    pub block_device: Option<String>,
    /// The engine, such as `io_uring`, or a note that the source of the result does not state it.
    pub engine: String,
    /// Whether the page cache was bypassed; absent if the source of the result does not state it.
    #[serde(default)]
    pub direct: Option<bool>,
    /// The modelled system that another process served as this target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedTarget>,
    /// The processor times of the machine, measured after the tests: the text of a host file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// A model value that differs from the library, and the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterOverride {
    /// Path of the value, such as `drive.front_end.read_latency`.
    pub parameter: String,
    /// The value, with its unit.
    pub value: String,
    /// The published figure that determined the value; absent for a what-if.
    pub figure: Option<String>,
    /// Reason why this parameter determines that figure.
    pub reason: Option<String>,
}

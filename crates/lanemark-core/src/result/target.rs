//! The target of a run: a modelled system, a file or device, or a database.

use serde::{Deserialize, Serialize};

use super::transactions::DatabaseTarget;
use crate::units::Bytes;

/// The target that a workload ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// A modelled drive in a port of a modelled platform.
    Simulated(SimulatedTarget),
    /// A file or block device of this machine.
    Measured(MeasuredTarget),
    /// A real database, whose users did transactions.
    Database(DatabaseTarget),
}

/// A modelled system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedTarget {
    /// `drive@platform:port`, or the name that a study gives it.
    pub system: String,
    /// The drive's name for people.
    pub drive: String,
    /// The platform's name for people.
    pub platform: String,
    /// Name of the port.
    pub port: String,
    /// Number of the model's values that have a source.
    pub values_sourced: u32,
    /// Number of values that were derived by us from sourced ones.
    pub values_derived: u32,
    /// The values that nobody published, by their place in the library file.
    pub values_assumed: Vec<String>,
    /// The values that were set otherwise than the library has them.
    pub overrides: Vec<Calibration>,
}

/// A real target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTarget {
    /// The path as given.
    pub path: String,
    /// File or block device.
    pub device: bool,
    /// Size of the target while it was measured.
    pub size_bytes: Bytes,
    /// The kind of file system that a file lies on, `ext4`.
    pub file_system: Option<String>,
    /// The block device that holds it, `vda`.
    pub block_device: Option<String>,
    /// The engine, `io_uring`.
    pub engine: String,
    /// Whether the page cache was bypassed.
    pub direct: bool,
}

/// A model value that was set otherwise than the library has it, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Path of the value, `drive.front_end.read_latency`.
    pub parameter: String,
    /// The value, with its unit.
    pub value: String,
    /// The published figure that it was set from; absent for a what-if.
    pub figure: Option<String>,
    /// Reason why this parameter answers for that figure.
    pub reason: Option<String>,
}

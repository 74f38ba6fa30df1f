//! The heart of Lanemark: units, workloads, results and the storage-path simulator.
//!
//! Everything here is a pure function of its arguments. There is no file system, no network, no
//! thread, no clock and no environment, so a run is repeated bit for bit anywhere.

pub mod plan;
pub mod result;
pub mod rng;
pub mod sim;
pub mod text;
pub mod units;
pub mod workload;

//! The types of requests and results of a storage path: units, workloads and results.
//!
//! A [`workload::Test`] is one load. A [`result::RunResult`] records a measurement, a simulation or an import, and can
//! be saved in a file. The simulator, the measuring engine, imports, reports and Python all use these types.
//!
//! Every function is a pure function of its arguments. The crate does not use files, networks, threads, clocks or the
//! environment.
//!
//! ```
//! use lanemark_schema::workload::Test;
//!
//! let test = Test::random_read("4 KiB").queue_depth(32).span("32 MiB").duration("20 ms").build()?;
//! assert_eq!(test.queue_depth(), Some(32));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod pasted;
pub mod result;
pub mod rng;
pub mod text;
pub mod units;
pub mod workload;

//! The types of requests and results of a storage path: units, workloads and results.
//!
//! A [`workload::Test`] is one load. A [`result::RunResult`] is the record of a measurement, a simulation or an import,
//! and files contain it. The simulator, the measuring engine, imports, reports and Python all use these types.
//!
//! Everything here is a pure function of its arguments. There is no file system, network, thread, clock or environment.
//!
//! ```
//! use lanemark_schema::workload::Test;
//!
//! let test = Test::random_read("4 KiB").queue_depth(32).span("32 MiB").duration("20 ms").build()?;
//! assert_eq!(test.queue_depth(), 32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod result;
pub mod rng;
pub mod text;
pub mod units;
pub mod workload;

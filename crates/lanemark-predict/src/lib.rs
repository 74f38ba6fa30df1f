//! Models from measurements, and what they say about other paths.
//!
//! | module | what it does |
//! |---|---|
//! | [`mod@fit`] | a drive's model from the results of a workload on it |
//!
//! Everything here runs the simulator many times over short tests; nothing reads a clock or touches a file.
//! Threads share the work, and the outcome does not depend on how many there are.

mod error;
pub mod fit;

pub use error::PredictError;
pub use fit::{Fit, Job, REQUESTS, fit};

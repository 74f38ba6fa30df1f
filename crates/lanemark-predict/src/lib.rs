//! Models of drives, made from measurements, which predict other paths.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@fit`] | a drive's model from the results of a workload on it |
//!
//! The crate runs the simulator many times over short tests. It does not read clocks or access files. Threads share the
//! work, and the result does not depend on their number.

mod error;
pub mod fit;

pub use error::PredictError;
pub use fit::{Fit, FitInput, REQUESTS, WORK_MAX, fit};

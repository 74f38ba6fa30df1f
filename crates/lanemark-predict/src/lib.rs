//! Drive models that are fitted to measurements, and that predict the drive's performance on other paths.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@fit`] | a drive's model, fitted to the results of a workload on the drive |
//!
//! The crate runs the simulator many times for short tests. It does not read clocks or access files. Threads share the
//! work, and the result does not depend on the number of threads.

mod error;
pub mod fit;

pub use error::PredictError;
pub use fit::{Fit, FitInput, REQUESTS, WORK_MAX, fit};

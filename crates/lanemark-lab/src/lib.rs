//! The laboratory, which all user interfaces use: it assembles systems, runs tests, answers questions and stores
//! results.
//!
//! | file | contents |
//! |---|---|
//! | [`lab`] | assembles systems, and runs workloads on them |
//! | [`opened`], [`scale`] | workloads by name or file, and their changes for a run |
//! | [`bottleneck`], [`loss`], [`study`], [`whatif`], [`sweep`] | the questions that such runs answer |
//! | [`interfaces`] | the throughput of each SATA, SAS and PCIe interface |
//! | [`machine`] | a real machine as a platform |
//! | [`described`] | drives and paths in texts of other programs |
//! | [`measured`] | the result of a measurement, with the path to its target and an explanation |
//! | [`foreign`] | results from other programs |
//! | [`columns`] | results as columns for tabular formats |
//! | [`interval`] | the uncertainty of a prediction: short runs with values drawn from their ranges |
//! | [`ratings`] | rated drives compared with their ratings |
//! | [`pool`] | the threads of all runs |
//! | [`clock`], [`encoding`] | the time, and texts of any program |
//! | [`cancel`], [`event`] | cancellation of a run, and its events |
//! | [`default_folder`] | the folder of results, used if no path is requested |
//! | [`result_set`] | the results that a user names |
//! | [`results`], [`reserved`], [`input`], [`json`] | reserved names, and files that are written completely |
//! | [`error`] | the error type |
//!
//! Without the feature `machine`, the crate contains only the modules that need no files and no measurements. The page
//! uses it in this form, as a module of a browser.
//!
//! The functions of this crate do not print, end the program, read its arguments or catch signals. A command, a server
//! or a binding does that, based on the values that it receives. The result is identical to the byte for any number of
//! threads.
//!
//! A test on a named system, with the built-in library:
//!
//! ```
//! use lanemark_lab::{Event, Lab, LabError, assemble};
//! use lanemark_study::{Library, workload};
//!
//! # fn main() -> Result<(), LabError> {
//! let library = Library::built_in();
//! let system = assemble(&library, "samsung-950-pro-512gb@workstation-z170:pcie-slot", &[])?;
//! let mut workload = workload::open(&library, "crystaldiskmark-8:rnd4k-q32t1-read")?;
//! workload.repeats = 1;
//! let result = Lab::default().run(&system, &workload, &Default::default(), &mut |event| {
//!     if let Event::Advanced(at, so_far) = event {
//!         println!("test {}: {} requests so far", at.test, so_far.requests);
//!     }
//! })?;
//! let test = &result.tests[0];
//! println!("{}: {:.0} IOPS", test.test.name, test.iops.value);
//! assert!(test.iops.value > 100_000.0);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

pub mod bottleneck;
pub mod cancel;
pub mod clock;
pub mod columns;
#[cfg(feature = "machine")]
pub mod default_folder;
pub mod described;
pub mod encoding;
pub mod error;
pub mod event;
pub mod foreign;
#[cfg(feature = "machine")]
pub mod input;
pub mod interfaces;
pub mod interval;
pub mod json;
pub mod lab;
pub mod loss;
#[cfg(feature = "machine")]
pub mod machine;
#[cfg(feature = "machine")]
pub mod measured;
#[cfg(feature = "machine")]
pub mod opened;
pub mod pool;
pub mod ranking;
pub mod ratings;
#[cfg(feature = "machine")]
pub mod reserved;
#[cfg(feature = "machine")]
pub mod result_set;
pub mod results;
pub mod scale;
pub mod study;
#[cfg(feature = "machine")]
pub mod sweep;
pub mod weight;
pub mod whatif;

pub use cancel::CancelFlag;
pub use error::{ErrorCause, LabError};
pub use event::{Event, EventObserver, TestPosition};
pub use lab::{Lab, LabRun, assemble, check_faults, open_library, setting, settings};
pub use lanemark_sim::RunLength;
pub use pool::Pool;
pub use ranking::{RankedSystem, Ranking};
#[cfg(feature = "machine")]
pub use result_set::ResultSet;
#[cfg(feature = "machine")]
pub use sweep::{ChunkRunner, SweepFile};
pub use whatif::{WhatIfJob, WhatIfSide};

/// The pages with Rust code, which is compiled and run with the examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tasks/rust.md")]
#[doc = include_str!("../../../docs/tasks/simulation-tests.md")]
#[doc = include_str!("../../lanemark-sim/README.md")]
mod book {}

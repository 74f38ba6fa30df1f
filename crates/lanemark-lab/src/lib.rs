//! The laboratory behind every front end: systems are assembled, tests run, questions asked and results kept.
//!
//! | file | what it does |
//! |---|---|
//! | [`lab`] | assembles systems, and runs workloads on them |
//! | [`opened`], [`scale`] | workloads by name or file, and their changes for a run |
//! | [`bottleneck`], [`loss`], [`study`], [`whatif`], [`sweep`] | what is asked of such runs |
//! | [`machine`] | a real machine as a platform |
//! | [`measured`] | what is made of a measurement: its result with the path and the explanation |
//! | [`columns`] | results as columns, for whoever keeps tables |
//! | [`interval`] | how sure a prediction is: short runs with values drawn from their ranges |
//! | [`ratings`] | drives of their ratings, held against them |
//! | [`pool`] | the threads of all of these |
//! | [`cancel`], [`event`] | how a run is ended from outside, and what it tells meanwhile |
//! | [`results`], [`reserved`], [`input`], [`json`] | the folder of results: names that are taken, files that are written whole |
//! | [`error`] | what may go wrong |
//!
//! Nothing here prints, ends the program, reads its arguments or catches signals: a command, a server or a binding does
//! that with what it is told. Whatever the number of threads, the outcome is the same to the byte.

//!
//! A test on a named system, with the library that is built in:
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

pub mod bottleneck;
pub mod cancel;
pub mod columns;
pub mod error;
pub mod event;
pub mod input;
pub mod interval;
pub mod json;
pub mod lab;
pub mod loss;
pub mod machine;
pub mod measured;
pub mod opened;
pub mod pool;
pub mod ratings;
pub mod reserved;
pub mod results;
pub mod scale;
pub mod study;
pub mod sweep;
pub mod weight;
pub mod whatif;

pub use cancel::Cancel;
pub use error::{Cause, LabError};
pub use event::{At, Event, Watch};
pub use lab::{Lab, Work, assemble, open_library, setting, settings};
pub use pool::Pool;
pub use sweep::{Chunks, SweepFile, merge};
pub use whatif::{Side, WhatIfJob};

/// The page of the book on the library in Rust, whose code is compiled and run with the examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tasks/rust.md")]
mod book {}

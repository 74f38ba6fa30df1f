//! The laboratory behind every front end: systems are assembled, tests run, questions asked and results kept.
//!
//! | file | what it does |
//! |---|---|
//! | [`lab`] | assembles systems, and runs workloads on them |
//! | [`bottleneck`], [`study`], [`whatif`], [`sweep`] | what is asked of such runs |
//! | [`pool`] | the threads of all of these |
//! | [`cancel`], [`event`] | how a run is ended from outside, and what it tells meanwhile |
//! | [`results`], [`reserved`], [`input`], [`json`] | the folder of results: names that are taken, files that are written whole |
//! | [`error`] | what may go wrong |
//!
//! Nothing here prints, ends the program, reads its arguments or catches signals: a command, a server or a binding does
//! that with what it is told. Whatever the number of threads, the outcome is the same to the byte.

pub mod bottleneck;
pub mod cancel;
pub mod error;
pub mod event;
pub mod input;
pub mod json;
pub mod lab;
pub mod pool;
pub mod reserved;
pub mod results;
pub mod study;
pub mod sweep;
pub mod whatif;

pub use cancel::Cancel;
pub use error::{Fault, LabError};
pub use event::{At, Event, Watch};
pub use lab::{Lab, Work, assemble, setting, settings};
pub use pool::Pool;
pub use sweep::{SweepFile, merge};
pub use whatif::{Side, WhatIfJob};

//! Trials: programs and databases on served systems, with power cuts.
//!
//! | file | contents |
//! |---|---|
//! | [`trial`] | runs and times a program on several systems in turn, and cuts the power |
//! | [`database`] | runs a database study with a real database on served disks |
//! | [`server`] | the checks, the result and the control socket of a served system |
//! | [`served_target`] | a measured target that is a served system |
//! | [`event`] | the events of a trial, for an observer |
//! | [`file_system`] | the file systems of a trial |
//! | [`warden`] | the process that cleans up after a killed trial |
//! | [`error`] | errors of servers and databases as errors of the laboratory |
//!
//! Like the laboratory, the crate does not print, read arguments or catch signals. A flag stops a trial, and an
//! observer receives its events. A trial runs on its own thread, so that the mount namespace of its disks does not
//! become the namespace of the caller.

#![warn(missing_docs)]

pub mod database;
pub mod error;
pub mod event;
pub mod file_system;
mod marked;
mod own_program;
mod own_thread;
mod served_disk;
pub mod served_target;
pub mod server;
pub mod trial;
pub mod warden;

pub use event::{TrialEvent, TrialObserver};
pub use file_system::FileSystem;
pub use trial::{Trial, TrialOutcome, TrialPlan};

//! The reader of model files, from TOML to checked values: drives, platforms, workloads, systems and studies.
//!
//! | file | contents |
//! |---|---|
//! | [`document`] | any TOML file: values with units, their sources, errors with line and column |
//! | [`library`] | the folder of library files, and the built-in copies |
//! | [`drive`], [`disk`], [`platform`], [`workload`] | `library/<kind>/*.toml` |
//! | [`plug`], [`system`] | drives in ports of a platform |
//! | [`path`] | the hops of a system with their ceilings, and the tree of its platform |
//! | [`inspected`] | a platform file for an inspected machine |
//! | [`model_names`] | library drives by the model names that drives report |
//! | [`catalogue`] | the heads of library files, for a list of them |
//! | [`search`] | search for systems by free text |
//! | [`endurance`] | `reference/endurance.csv`: the data that a host may write to a drive |
//! | [`ratings`] | `reference/drive-ratings.toml`: ratings of drives, and the model's figures for them |
//! | [`sweep`] | one test on one system at many points: axes, points, rows of CSV |
//! | [`study`] | `studies/*.toml`: systems, tests and the published figures with which they are compared |
//! | [`studies`] | the built-in studies |
//!
//! Every model value is `{ value, source }`, `{ value, derived }`, `{ value, assumed }` or a bare string. A bare value
//! has the `source` of its table, and is assumed if the table does not state a source. Every result contains the origin
//! of each value.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod assumed;
mod attached;
pub mod catalogue;
mod cloud;
pub mod disk;
pub mod document;
pub mod drive;
pub mod endurance;
pub mod error;
mod flash;
pub mod host;
pub mod inspected;
pub mod library;
pub mod links;
pub mod model_names;
pub mod origin;
pub mod path;
pub mod platform;
pub mod plug;
mod power;
pub mod processors;
pub mod rated;
pub mod ratings;
mod roomier;
pub mod search;
pub mod studies;
pub mod study;
pub mod sweep;
pub mod system;
mod topology;
mod tree;
mod usb;
pub mod workload;
mod written_answer;

pub use error::{Location, StudyError};
pub use library::Library;
pub use origin::{Ledger, Origin, Overrides, UncertainValue, ValueRecord};
pub use study::Study;
pub use sweep::Sweep;
pub use system::System;

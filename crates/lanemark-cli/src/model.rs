//! The commands that model: simulations, comparisons, drives, the library and plans.

pub(crate) mod compare;
pub(crate) mod drive;
mod fit;
pub(crate) mod library;
pub(crate) mod path;
pub(crate) mod plan;
pub(crate) mod replay;
mod request_rows;
mod samples;
pub(crate) mod sim;
pub(crate) mod study;
pub(crate) mod sweep;
mod trace_file;

//! The commands that measure: real targets, machines and databases.

pub(crate) mod bench;
mod host;
pub(crate) mod inspect;
pub(crate) mod oltp;
mod trace;
pub(crate) mod verify;

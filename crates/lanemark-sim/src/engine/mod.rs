//! The machinery of a run: events in order of time, objects in flight by handle, first-in-first-out stations, and the
//! time budget of each request.

pub(crate) mod budget;
pub(crate) mod event;
pub(crate) mod kernel;
pub(crate) mod memo;
pub(crate) mod number;
pub(crate) mod schedule;
pub(crate) mod slab;
pub(crate) mod station;
pub(crate) mod table;
pub(crate) mod trace;

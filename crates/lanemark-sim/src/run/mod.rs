//! Runs of a system (tests in closed and open loops, replays, live systems) and their results (energy, ceilings of
//! hops, sensitivity).

pub(crate) mod ceiling;
pub(crate) mod driver;
pub(crate) mod energy;
pub(crate) mod hops;
pub(crate) mod live;
pub(crate) mod memory;
pub(crate) mod path_use;
pub(crate) mod progress;
pub mod replay;
pub mod sensitivity;

pub use replay::replay;
pub use sensitivity::sensitivity;

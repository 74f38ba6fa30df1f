//! The simulator: a drive on a platform's port, event by event.
//!
//! Open to others are [`Simulator`] and [`Storage`], [`run_test`], [`replay()`], [`ceilings`] and
//! [`sensitivity()`], and what these take and give: [`spec`], [`link`] and the names below. All else is its own:
//!
//! | file | what it is |
//! |---|---|
//! | [`spec`] | what a system is made of |
//! | `kernel`, `schedule`, `slab`, `station` | events, things in flight, first-in-first-out servers |
//! | `memo`, `table`, `number` | the last answer of a law, things by number, numbers of drives and dies |
//! | [`link`] | the law of each kind of link |
//! | `protocol`, `path`, `shared`, `drive` | the parts of a system |
//! | `arbitration`, `coalescing` | NVMe: which queue is served next, what an interrupt announces |
//! | `multipath` | drives with two ports |
//! | `target` | drives and namespaces that requests go to |
//! | `volume`, `storage` | drives striped or mirrored, and the layer that does so |
//! | `simulator` | the life of a request through them |
//! | `budget`, `trace` | where its time went |
//! | `hops` | the hops of a system with their names |
//! | `energy` | what drives took |
//! | `fault` | what goes wrong |
//! | `ceiling` | what each hop can carry by its law |
//! | `driver` | a test run in closed loop |
//! | `progress` | how far a test is, for whoever may end it |
//! | `live` | a system that is served, and counts what it does |
//! | [`sensitivity`](mod@sensitivity) | what one hop at twice its speed would give |
//! | [`replay`](mod@replay) | a recorded trace, in open or closed loop |
//!
//! Stations are passive: they keep the instant at which they are free, and the simulator asks them in
//! order of time. A request costs an event at each place where the order of arrivals can change, and
//! none where it cannot. There is no allocation and no hashing per event once a run is under way.

mod adapter;
mod adapter_cache;
mod arbitration;
mod budget;
mod ceiling;
mod coalescing;
mod drive;
mod driver;
mod energy;
mod fault;
mod hops;
mod journal;
mod kernel;
pub mod link;
mod live;
mod memo;
mod multipath;
mod number;
mod path;
mod progress;
mod protocol;
pub mod replay;
mod schedule;
pub mod sensitivity;
mod shared;
mod simulator;
mod slab;
pub mod spec;
mod station;
mod storage;
mod table;
mod target;
mod trace;
mod volume;

pub use budget::{Budget, HOPS, Hop};
pub use ceiling::{Ceiling, ceilings, over_link};
pub use driver::{run_beside_watched, run_test, run_test_watched};
pub use fault::Status;
pub use live::Live;
pub use progress::Progress;
pub use replay::replay;
pub use sensitivity::sensitivity;
pub(crate) use simulator::Event;
pub use simulator::{Completion, SimError, Simulator};
pub use spec::{CHUNK, CheckedSystem, Content, Multipath, SecondPort, SystemSpec, VolumeSpec};
pub use storage::Storage;
pub use target::{Extent, NAMESPACES_MAX, Target, extents};

#[cfg(test)]
mod adapter_cache_tests;
#[cfg(test)]
mod adapter_tests;
#[cfg(test)]
mod beside_tests;
#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod drive_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod journal_tests;
#[cfg(test)]
mod latency_tests;
#[cfg(test)]
mod link_tests;
#[cfg(test)]
mod power_tests;
#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod replay_tests;
#[cfg(test)]
mod sensitivity_tests;
#[cfg(test)]
mod steady_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod theory_tests;
#[cfg(test)]
mod timing_tests;
#[cfg(test)]
mod trajectory_tests;
#[cfg(test)]
mod transactions_tests;
#[cfg(test)]
mod volume_tests;
#[cfg(test)]
mod watch_tests;

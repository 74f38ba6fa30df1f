//! The simulator: a drive in a port of a platform, event by event.
//!
//! A system ([`SystemSpec`]) and a test ([`lanemark_schema::workload::Test`]) are plain values; a run requires that
//! both have been checked. [`run_test`] simulates the test and returns a [`lanemark_schema::result::Sample`]:
//!
//! ```
//! use lanemark_schema::rng::StreamKey;
//! use lanemark_schema::workload::Test;
//! use lanemark_sim::{SystemSpec, run_test};
//!
//! let system = SystemSpec::example().checked()?;
//! let test = Test::random_read("4 KiB").queue_depth(32).span("32 MiB").duration("20 ms").build()?;
//! let sample = run_test(&system, &test, StreamKey::from_seed(1))?;
//!
//! // Four dies that sense for 50 µs each carry less than 80,000 reads a second.
//! assert!((60_000.0..80_000.0).contains(&sample.iops()));
//! assert!(sample.latency().percentile_ns(99.0) > Some(400_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To describe a custom system, change parts of the example, or state every part:
//!
//! ```
//! use lanemark_schema::units::{Bytes, Duration};
//! use lanemark_schema::workload::Test;
//! use lanemark_sim::link::{LinkModel, LinkSpec, Pcie, PcieGeneration};
//! use lanemark_sim::spec::{DriveSpec, PortPathSpec};
//! use lanemark_sim::{SystemSpec, ceilings};
//!
//! let mut drive = DriveSpec { buffer: "16 MiB".parse()?, ..DriveSpec::example() };
//! drive.flash_mut().channels = 4;
//! drive.capacity = "128 MiB".parse()?;
//! let link = LinkSpec {
//!     name: "PCIe 4.0 x4".to_owned(),
//!     model: LinkModel::Pcie(Pcie::new(PcieGeneration::Four, 4, Bytes(256), Bytes(512))),
//!     latency: Duration::from_nanoseconds(150),
//!     speed: 1,
//! };
//! let mut spec = SystemSpec::example();
//! spec.first_mut().drive = drive;
//! spec.first_mut().port_path = PortPathSpec { trunk: 0, links: vec![link] };
//! let system = spec.checked()?;
//!
//! let test = Test::sequential_read("128 KiB").volume("64 MiB").span("64 MiB").build()?;
//! let link = ceilings(&system, &test).into_iter().find(|hop| hop.name == "PCIe 4.0 x4");
//! assert!(link.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For the storage of a simulation test, with data that a power cut may revert, use [`virtual_drive`]. For a load that
//! a test cannot describe, write a program that submits its own requests, like the example of [`Simulator`] or
//! `examples/own_load.rs`.
//!
//! Rooms, from the lowest layer; each room imports only the rooms listed above it in this table:
//!
//! | room | contents |
//! |---|---|
//! | `engine` | events and their queue, objects in flight, first-in-first-out stations, time budgets |
//! | [`link`] | the formulas of each kind of link |
//! | [`spec`] | the parts of a system, and the targets of requests |
//! | `fault` | faults and their effects on commands |
//! | `drive` | the controller, its queues, the media |
//! | `path` | the links between host and drive, links that several drives share, drives with two ports |
//! | `host` | protocols, host bus adapters and their caches |
//! | `simulator` | the life of a request across all these rooms |
//! | `storage` | striped and mirrored volumes, the journal |
//! | `run` | runs of tests, replays, live systems, energy, ceilings, [`sensitivity`](mod@sensitivity) |
//! | [`virtual_drive`] | a drive with data, for simulation tests |
//!
//! Stations are passive: each keeps the instant at which it is next free, and the simulator queries the stations in
//! order of time. A request costs one event at each point at which the order of arrivals can change. Once a run is in
//! progress, events neither allocate memory nor compute hashes. All functions here are pure, so every run is
//! reproducible bit for bit on any machine.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod drive;
mod engine;
mod fault;
mod host;
pub mod link;
mod path;
mod run;
mod simulator;
pub mod spec;
mod storage;
#[cfg(test)]
mod tests;
pub mod virtual_drive;

pub use engine::budget::{Budget, HOPS, Hop};
pub use fault::{FaultClearError, FaultPhase, FaultState, RequestStatus, SilentDamage};
pub use run::ceiling::{Ceiling, ceilings, over_link};
pub use run::driver::{
    RunLength, is_shortened, may_converge, run_beside_watched, run_length_watched, run_test,
    run_test_watched,
};
pub use run::live::LiveSystem;
pub use run::memory::memory_needed;
pub use run::progress::Progress;
pub use run::{replay, sensitivity};
pub use simulator::{Completion, SimError, Simulator};
pub use spec::submission::Submission;
pub use spec::{CHUNK, CheckedSystem, MEMORY, PriorContent, SecondPort, SystemSpec, VolumeSpec};
pub use storage::Storage;

//! The heart of Lanemark: units, workloads, results and the storage-path simulator.
//!
//! Everything here is a pure function of its arguments. There is no file system, no network, no
//! thread, no clock and no environment, so a run is repeated bit for bit anywhere.
//!
//! A system ([`sim::SystemSpec`]) and a test ([`workload::Test`]) are plain values; what runs takes them checked. With
//! both, [`sim::run_test`] gives a [`result::Sample`]:
//!
//! ```
//! use lanemark_core::rng::StreamKey;
//! use lanemark_core::sim::{SystemSpec, run_test};
//! use lanemark_core::workload::Test;
//!
//! let system = SystemSpec::example().checked()?;
//! let test = Test::random_read("4 KiB").queue_depth(32).span("32 MiB").duration("20 ms").build()?;
//! let sample = run_test(&system, &test, StreamKey::from_seed(1))?;
//!
//! // Four dies that sense for 50 us each carry less than 80,000 reads a second.
//! assert!((60_000.0..80_000.0).contains(&sample.iops()));
//! assert!(sample.latency().percentile_ns(99.0) > Some(400_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A system of one's own changes the parts of the example, or names all of them:
//!
//! ```
//! use lanemark_core::sim::link::{LinkLaw, LinkSpec, Pcie, PcieGeneration};
//! use lanemark_core::sim::spec::{DriveSpec, WaySpec};
//! use lanemark_core::sim::{SystemSpec, ceilings};
//! use lanemark_core::units::{Bytes, Duration};
//! use lanemark_core::workload::Test;
//!
//! let mut drive = DriveSpec { buffer: "16 MiB".parse()?, ..DriveSpec::example() };
//! drive.flash_mut().channels = 4;
//! drive.capacity = "128 MiB".parse()?;
//! let link = LinkSpec {
//!     name: "PCIe 4.0 x4".to_owned(),
//!     law: LinkLaw::Pcie(Pcie::new(PcieGeneration::Four, 4, Bytes(256), Bytes(512))),
//!     latency: Duration::from_nanoseconds(150),
//!     speed: 1,
//! };
//! let mut spec = SystemSpec::example();
//! spec.first_mut().drive = drive;
//! spec.first_mut().way = WaySpec { trunk: 0, links: vec![link] };
//! let system = spec.checked()?;
//!
//! let test = Test::sequential_read("128 KiB").volume("64 MiB").span("64 MiB").build()?;
//! let link = ceilings(&system, &test).into_iter().find(|hop| hop.name == "PCIe 4.0 x4");
//! assert!(link.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A load that no test describes is a program that submits requests by itself, as the example does that is shown with
//! [`sim::Simulator`], and as `examples/own_load.rs` does. Saved results are read with [`result::RunResult`].

pub mod plan;
pub mod result;
pub mod rng;
pub mod sim;
pub mod text;
pub mod units;
pub mod workload;

//! A modelled system as a block device with real data and with the timing and faults of the model.
//!
//! | file | purpose |
//! |---|---|
//! | [`session`] | combines all files below: a system that is served |
//! | [`clock`] | ties simulated time to the wall clock |
//! | [`engine`] | owns the simulated system, and delivers completions at their instants |
//! | [`data`] | stores the data: in memory, in a sparse file, or over an image |
//! | [`delivered`] | counts how late completions were, and the evidence for the verdict |
//! | [`reading`], [`registry`] | the counters between two instants, and the servers of this machine |
//! | `arrival` | estimates when requests arrived |
//! | [`selftest`], [`needs`] | the speed of this machine, and the rate and latency of the drive |
//! | [`query_server`], [`metrics`] | control and figures, at separate sockets |
//! | [`nbd`] | the protocol, as pure functions of bytes |
//! | [`socket`], [`server`], `clients`, `connection`, `outbox` | clients: access, threads and replies |
//! | `file_to_socket` | long data from a file to a socket, past this process |
//! | `tls` | TLS in front of connections; feature `full` |
//! | `mount`, `attach` | the system as a file, and as a disk |
//! | `vhost` | the system as a disk of virtual machines |
//! | `exact` | programs in a kernel whose clock is the simulator's |
//! | `undo` | removes mounts and disks before the process ends |
//! | `job`, `storing`, `silent_faults` | the effect of a request on the data, when the data is stored, and wrong data |
//!
//! The crate does not print, read arguments or catch signals.

mod arrival;
pub mod attach;
mod clients;
pub mod clock;
mod connection;
pub mod data;
pub mod delivered;
pub mod engine;
pub mod exact;
mod file_to_socket;
mod job;
pub mod metrics;
pub mod mount;
pub mod nbd;
pub mod needs;
mod outbox;
pub mod query_server;
pub mod reading;
pub mod registry;
pub mod selftest;
pub mod server;
pub mod session;
mod silent_faults;
pub mod socket;
mod storing;
#[cfg(feature = "full")]
pub mod tls;
pub mod undo;
pub mod vhost;

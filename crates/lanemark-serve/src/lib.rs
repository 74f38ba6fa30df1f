//! A modelled system as a block device with real data and with the timing and faults of the model.
//!
//! | file | purpose |
//! |---|---|
//! | [`session`] | a system that is served: combines the following files |
//! | [`clock`] | ties simulated time to the wall clock |
//! | [`engine`] | owns the simulated system, and delivers completions at their instants |
//! | [`data`] | stores the data: in memory, in a sparse file, or over an image |
//! | [`delivered`] | records the lateness of completions, and the evidence for the verdict |
//! | [`reading`], [`registry`] | the counters between two instants, and the list of servers on this machine |
//! | `arrival` | estimates when requests arrived |
//! | [`selftest`], [`needs`] | the speed of this machine, and the required rate and latency |
//! | [`query_server`], [`control`], [`metrics`] | the sockets for control and figures, and their texts |
//! | [`nbd`] | the protocol, as pure functions of bytes |
//! | [`socket`], [`server`], `clients`, `connection`, `outbox` | the clients' access, threads and replies |
//! | `file_to_socket` | sends long data from a file to a socket without a copy in this process |
//! | `mount`, `attach` | the system as a file, and as a disk |
//! | `undo` | removes mounts and disks before the process ends |
//! | `job`, `storing` | the effect of a request on the data, and the time at which data is stored |
//!
//! The crate does not print, read arguments or catch signals.

mod arrival;
pub mod attach;
mod clients;
pub mod clock;
mod connection;
pub mod control;
pub mod data;
pub mod delivered;
pub mod engine;
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
pub mod socket;
mod storing;
pub mod undo;

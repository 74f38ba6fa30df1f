//! A modelled system as a block device with real data, the model's timing, and its faults.
//!
//! | file | what it does |
//! |---|---|
//! | [`session`] | all of the below as one: a system that is served |
//! | [`clock`] | ties simulated time to the wall clock |
//! | [`engine`] | owns the simulated system, and hands completions out at their instants |
//! | [`data`] | holds the data: in memory, a sparse file, or over an image |
//! | [`delivered`] | counts how late completions were |
//! | [`desk`], [`metrics`] | control and figures, at sockets of their own |
//! | [`nbd`] | the protocol, as pure functions of bytes |
//! | [`socket`], [`server`], `connection`, `outbox` | clients: who may connect, their threads, and their answers |
//! | `passing` | long data from a file to a socket, past this process |
//! | `tls` | TLS in front of connections; feature `tls` |
//! | `mount`, `attach` | the system as a file, and as a disk; feature `fuse` |
//! | `vhost` | the system as a disk of virtual machines; features `vhost-user` and `exact` |
//! | `exact` | programs in a kernel whose clock is the simulator's; feature `exact` |
//! | `undo` | takes both away before the process ends |
//! | `job`, `storing` | what a request does to the data, and when that is stored |
//!
//! Nothing here prints, reads arguments or catches signals.

#[cfg(feature = "fuse")]
pub mod attach;
pub mod clock;
mod connection;
pub mod data;
pub mod delivered;
pub mod desk;
pub mod engine;
#[cfg(feature = "exact")]
pub mod exact;
mod job;
pub mod metrics;
#[cfg(feature = "fuse")]
pub mod mount;
pub mod nbd;
mod outbox;
mod passing;
pub mod server;
pub mod session;
pub mod socket;
mod storing;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "fuse")]
pub mod undo;
#[cfg(any(feature = "exact", feature = "vhost-user"))]
pub mod vhost;
